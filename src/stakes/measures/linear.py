r"""Costs that are linear in terms: sums of the terms over cases stand for the cases.

With :math:`c_{kd}(x) = \sum_t a_{kdt}\, z_t(x)` for a case x, the sums of :math:`z_t` over the
cases of each class that get each decision say what these decisions cost under any coefficients a.
The first term is the constant 1, so that its sums are the weights of the cases.
"""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray, Numbers, unwrapped
from stakes.errors import InputError
from stakes.problem import Problem

__all__ = ["coefficients_on", "constant_sums", "term_cost"]


def coefficients_on(terms: tuple[str, ...], problem: Problem) -> FloatArray:
    """The coefficients (K, M, T) of these terms in the costs of a problem, 0 where there is none.

    A problem whose costs have another term is refused.

    Parameters
    ----------
    terms : names of the terms
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    coefficients, (K, M, T)

    Examples
    --------
    >>> coefficients_on(("1", "amount"), Problem([[0, "5 + 0.02*amount"], [3, 0]]))[0]
    array([[0.  , 0.  ],
           [5.  , 0.02]])
    """
    names, coefficients = problem.terms
    if unknown := [name for name in names if name not in terms]:
        raise InputError(
            f"problem must have costs that are linear in the terms whose sums are known, "
            f"{', '.join(terms)}; they depend on {unknown[0]}, too. Evaluate again with these "
            f"costs.",
            argument="problem",
        )
    by_term = np.zeros((*coefficients.shape[:2], len(terms)))
    by_term[..., [terms.index(name) for name in names]] = np.nan_to_num(coefficients)
    return by_term


def term_cost(sums: FloatArray, coefficients: FloatArray, prior: FloatArray | None) -> Numbers:
    r"""Cost per case (…) of costs made of terms, from the sums (…, K, M, T) of the terms.

    .. math:: \sum_k \pi_k \frac{\sum_{dt} a_{kdt} S_{kdt}}{\sum_d S_{kd1}}

    Without a prior the classes have their shares of the cases. A class of prior zero is ignored;
    one that the prior expects but that has no cases makes the answer nan.

    Parameters
    ----------
    sums : sums of the terms over the cases of each cell, (…, K, M, T)
    coefficients : of the terms in the costs, (K, M, T)
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    cost per case, (…)

    Examples
    --------
    >>> sums = np.array([[[8, 400], [2, 300]], [[1, 90], [4, 200]]])   # cases, amounts
    >>> float(term_cost(sums, np.array([[[0, 0], [5, 0.02]], [[0, 1], [0, 0]]]), None).round(3))
    7.067
    """
    mass = sums[..., 0].sum(axis=-1)
    shares = mass / mass.sum(axis=-1, keepdims=True) if prior is None else prior
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.einsum("...kdt,kdt->...k", sums, coefficients) / mass
    return unwrapped(np.sum(shares * np.where(shares > 0, each, 0.0), axis=-1))


def constant_sums(sums: FloatArray) -> FloatArray:
    """Sums (M, K, M, T) of every constant decision, by those (K, M, T) of any decisions.

    Parameters
    ----------
    sums : sums of the terms over the cases of each cell, (…, K, M, T)

    Returns
    -------
    sums of the constant decisions, (M, K, M, T)

    Examples
    --------
    >>> constant_sums(np.ones((2, 3, 1))).shape
    (3, 2, 3, 1)
    """
    chosen = np.eye(sums.shape[1])[:, None, :, None]
    return np.asarray(chosen * sums.sum(axis=1, keepdims=True))
