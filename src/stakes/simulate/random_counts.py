"""Random confusion tables of two classes, as dyrland draws them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.tally import Counts

ProbabilitySampler = Callable[["np.random.Generator", tuple[int, ...]], FloatArray]
"""Draws an array of the given shape. A scipy distribution becomes one by
``lambda rng, size: distribution.rvs(size=size, random_state=rng)``."""


_MOST = 10**8  # tables of one sample


def random_confusion(
    n_problems: int,
    n_models: int,
    *,
    share: ProbabilitySampler,
    correct_rates: ProbabilitySampler,
    rng: np.random.Generator,
) -> Counts:
    r"""Draw confusion tables of two classes: one class share per problem, rates for each model.

    .. math:: C_{kk} = \pi_k r_k, \qquad C_{k,1-k} = \pi_k (1 - r_k)

    Models of one problem are seen on the same data, so they have its class share in common
    (dyrland, section 4.2, step 3). Each table sums to one. A share of exactly 0 or 1 leaves a class
    without cases.

    Parameters
    ----------
    n_problems, n_models : int
    share : callable (rng, size) → probabilities
        Draws the share of the positive class, shape (n_problems,): `uniform_shares` in dyrland's
        figures 6 and 7, ``fixed(0.5)`` in figure 2.
    correct_rates : callable (rng, size) → probabilities
        Draws the rates of correct decisions, shape (n_problems, n_models, 2): of the negative class
        (specificity), then of the positive one (sensitivity). `rising_rates` in all of dyrland.
    rng : the generator that draws

    Returns
    -------
    Counts of shape (n_problems, n_models, 2, 2)

    Examples
    --------
    How often does F1 rank two models the other way than accuracy does?

    >>> rng = np.random.default_rng(1)
    >>> counts = random_confusion(
    ...     10_000, 2, share=uniform_shares, correct_rates=rising_rates, rng=rng
    ... )
    >>> tn, fp, fn, tp = np.moveaxis(counts.values.reshape(-1, 2, 4), -1, 0)
    >>> f1, accuracy = 2 * tp / (2 * tp + fp + fn), tp + tn
    >>> float(np.mean(np.diff(f1) * np.diff(accuracy) < 0).round(2))
    0.05
    """
    _check.a_function("share", share)
    _check.a_function("correct_rates", correct_rates)
    problems = _check.draws("n_problems", n_problems, low=1)
    models = _check.whole("n_models", n_models, low=1, high=_MOST // problems)
    positive = _drawn("share", share, rng, (problems,))
    correct = _drawn("correct_rates", correct_rates, rng, (problems, models, 2))
    shares = np.stack([1 - positive, positive], axis=-1)[:, None, :]
    values = np.empty((problems, models, 2, 2))
    values[..., (0, 1), (0, 1)] = shares * correct
    values[..., (0, 1), (1, 0)] = shares * (1 - correct)
    return Counts._unlabelled(values)


def rising_rates(rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
    r"""Rates with density :math:`8(r - \tfrac12)` on [½, 1]: dyrland's "generally good" models.

    Median 0.854, quartiles 0.75 and 0.933.

    Parameters
    ----------
    rng : the generator that draws
    size : shape of the array to draw

    Returns
    -------
    rates, of the wanted shape

    Examples
    --------
    >>> rates = rising_rates(np.random.default_rng(0), (1000,))
    >>> bool(rates.min() >= 0.5), rates.shape
    (True, (1000,))
    """
    _check.generator(rng)
    _check.a_shape("size", size)
    return np.asarray(0.5 + 0.5 * np.sqrt(rng.random(size)))


def uniform_shares(rng: np.random.Generator, size: tuple[int, ...]) -> FloatArray:
    """Shares that are uniform on [0, 1): imbalance is as common as balance.

    Parameters
    ----------
    rng : the generator that draws
    size : shape of the array to draw

    Returns
    -------
    shares, of the wanted shape

    Examples
    --------
    >>> uniform_shares(np.random.default_rng(0), (2, 3)).shape
    (2, 3)
    """
    _check.generator(rng)
    _check.a_shape("size", size)
    return np.asarray(rng.random(size))


def fixed(value: float) -> ProbabilitySampler:
    """Make a sampler that always draws this probability.

    Parameters
    ----------
    value : the probability

    Returns
    -------
    a function that draws

    Examples
    --------
    >>> fixed(0.3)(np.random.default_rng(0), (2,))
    array([0.3, 0.3])
    """
    known = _check.number("value", value, low=0, high=1)
    return lambda rng, size: np.full(size, known)


def _drawn(
    name: str, sampler: ProbabilitySampler, rng: np.random.Generator, size: tuple[int, ...]
) -> FloatArray:
    """What a sampler draws, checked at the border."""
    draws = _check.probabilities(name, sampler(rng, size))
    if draws.shape != size:
        raise InputError(
            f"{name} must draw an array of the shape that it is asked for, {size}; it drew "
            f"{draws.shape}. Pass the shape on to the generator."
        )
    return draws
