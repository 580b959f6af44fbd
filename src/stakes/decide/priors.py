"""Posteriors from log-odds and likelihoods, and moved to another prior."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes._value import Value, record
from stakes.decide.bayes_rows import row_blocks
from stakes.errors import InputError

_LARGEST = 1e300  # largest ratio of a new share to an old one; sums of larger ones would overflow


def posteriors_from_log_odds(log_odds: object) -> FloatArray:
    """P(second class), of shape (n,), from log(P(second)/P(first)); ±inf means certainty.

    Parameters
    ----------
    log_odds : log(P(second)/P(first)) of every case, (n,)

    Returns
    -------
    P(second class), (n,)

    Examples
    --------
    >>> posteriors_from_log_odds([0.0, float("inf")])
    array([0.5, 1. ])
    """
    from scipy.special import expit

    return np.asarray(expit(_check.real_scores("log_odds", log_odds)))


def posteriors_from_log_likelihoods(log_likelihoods: object, prior: object) -> FloatArray:
    r"""Posteriors of shape (n, K) from log P(x | k), up to a constant per case, and a prior.

    A class of prior zero gets posterior zero. A case is nan if all classes that it may belong to
    have a prior of zero.

    Parameters
    ----------
    log_likelihoods : log P(x | k), up to a constant per case, (n, K)
    prior : class shares, (K,)

    Returns
    -------
    posteriors, (n, K)

    Examples
    --------
    >>> posteriors_from_log_likelihoods([[0.0, 0.0]], [0.7, 0.3])
    array([[0.7, 0.3]])
    """
    from scipy.special import softmax

    values = _check.reals("log_likelihoods", log_likelihoods, ndim=2)
    if not (values.max(axis=1, initial=-np.inf) > -np.inf).all() or not (values < np.inf).all():
        raise InputError(
            "log_likelihoods must be numbers, or -inf where a class is ruled out, and some class "
            "must be possible in every row; some are nan or inf, or a row is all -inf. "
            "Remove these rows, or repair the densities."
        )
    shares = _check.prior("prior", prior, tuple(range(values.shape[1])))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(softmax(values + np.log(shares), axis=1))


def log_likelihood_ratios(posteriors: object, prior: object) -> FloatArray:
    r"""Log-likelihoods relative to the first class, from posteriors and the prior they hold for.

    .. math:: \log \frac{P(k \mid x)}{P(0 \mid x)} - \log \frac{\pi_k}{\pi_0}

    Posteriors of shape (n,) give (n,); (n, K) give (n, K), whose first column is zero.
    `posteriors_from_log_likelihoods` is the inverse. Certainty gives ±inf; nan where the prior of a
    class is zero, or where both posteriors are.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    prior : the class shares for which the posteriors hold

    Returns
    -------
    log-likelihood ratios, (n,) of the second class or (n, K); infinite for certainty

    Examples
    --------
    >>> log_likelihood_ratios([0.3], [0.7, 0.3])
    array([0.])
    """
    rows, single = _read(posteriors)
    shares = _check.prior("prior", prior, tuple(range(rows.shape[1])))
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.log(rows) - np.log(shares)
        ratios = scaled - scaled[:, :1]
    # Where the first class is impossible, −inf minus −inf would be nan.
    ratios[:, 0] = 0.0
    return np.asarray(ratios[:, 1] if single else ratios)


def shift_prior(posteriors: object, from_prior: object, to_prior: object) -> FloatArray:
    r"""Move posteriors that hold for one prior to another; the likelihoods stay the same.

    .. math:: P'(k \mid x) \propto P(k \mid x)\, \pi'_k / \pi_k

    The shape stays the same: (n,) or (n, K). It is an error if a class of old prior zero has a
    positive new prior, because its posterior cannot be recovered. A case is nan if all classes that
    it may belong to have a new prior of zero.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    from_prior : the class shares for which the posteriors hold
    to_prior : the class shares to move to

    Returns
    -------
    posteriors under the new prior, of the shape they came in

    Examples
    --------
    >>> shift_prior([0.5], from_prior=[0.5, 0.5], to_prior=[0.9, 0.1])
    array([0.1])
    """
    rows, single = _read(posteriors)
    names: Labels = tuple(range(rows.shape[1]))
    old = _check.prior("from_prior", from_prior, names)
    new = _check.prior("to_prior", to_prior, names)
    lost = np.flatnonzero((old == 0) & (new > 0))
    if lost.size:
        raise InputError(
            f"from_prior must be positive where to_prior is; class number {lost[0]} has 0 and "
            f"{new[lost[0]]:g}. Posteriors say nothing about a class that they rule out."
        )
    moved = moved_rows(rows, old, new)
    return np.asarray(moved[:, 1] if single else moved)


def class_ratios(old: FloatArray, new: FloatArray) -> FloatArray:
    """The ratio of a new prior to an old one for each class; 0 where the old one is zero.

    Parameters
    ----------
    old : class shares, (K,)
    new : class shares to move to, (K,)

    Returns
    -------
    one factor for each class, (K,)

    Examples
    --------
    >>> class_ratios(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([1.8, 0.2])
    """
    _check.shapes("k, k", old=old, new=new)
    with np.errstate(over="ignore"):
        ratios = np.divide(new, old, out=np.zeros(old.size), where=old > 0)
    return np.minimum(ratios, _LARGEST)


def moved_rows(rows: FloatArray, old: FloatArray, new: FloatArray) -> FloatArray:
    """`shift_prior` for checked posteriors (n, K) and priors.

    Parameters
    ----------
    rows : P(class) for every case, (n, K)
    old : class shares for which they hold, (K,)
    new : class shares to move to, (K,), zero where the old ones are

    Returns
    -------
    posteriors under the new prior, (n, K)

    Examples
    --------
    >>> moved_rows(np.array([[0.5, 0.5]]), np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    array([[0.9, 0.1]])
    """
    _check.shapes("n k, k, k", rows=rows, old=old, new=new)
    scaled = rows * class_ratios(old, new)
    with np.errstate(invalid="ignore"):
        return np.asarray(scaled / scaled.sum(axis=1, keepdims=True))


@record
class PriorEstimate(Value):
    """An estimated prior, the number of steps, and whether they converged.

    Parameters
    ----------
    prior : class shares, (K,)
    iterations : how many steps it took
    converged : whether the last step changed no share by more than the tolerance

    Examples
    --------
    >>> estimate = estimate_prior([0.01] * 90 + [0.99] * 10, from_prior=[0.5, 0.5])
    >>> estimate.prior.round(2), estimate.converged
    (array([0.91, 0.09]), True)
    """

    prior: FloatArray
    iterations: int
    converged: bool


def estimate_prior(
    posteriors: object,
    from_prior: object,
    *,
    tolerance: float = 1e-10,
    max_iterations: int = 10_000,
) -> PriorEstimate:
    """Class shares of new, unlabelled cases, by the EM algorithm of Saerens and others (2002).

    The posteriors hold for `from_prior`. Each step moves them to the current estimate and takes
    their mean as the next one. The result is the maximum-likelihood prior of the new cases, if the
    posteriors are calibrated and only the class shares have changed.

    Parameters
    ----------
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    from_prior : the class shares for which the posteriors hold
    tolerance : largest change of a share at which to stop
    max_iterations : largest number of steps

    Returns
    -------
    the class shares and how they were reached

    Examples
    --------
    >>> sure = [0.01] * 90 + [0.99] * 10
    >>> estimate_prior(sure, from_prior=[0.5, 0.5]).prior.round(3)
    array([0.908, 0.092])
    """
    rows, _ = _read(posteriors)
    size = rows.shape[1]
    if len(rows) == 0:
        raise InputError("posteriors must hold at least one case; there are none. Pass some.")
    tolerance = _check.number("tolerance", tolerance, low=0)
    most = _check.whole("max_iterations", max_iterations, low=1)
    old = _check.prior("from_prior", from_prior, tuple(range(size)))
    if not (old > 0).all():
        raise InputError("from_prior must be positive for every class; one is zero. Leave it out.")
    estimate, change, iterations = old, np.inf, 0
    # Posteriors divided by their prior are likelihoods, up to a factor that cancels.
    likelihoods = rows / old
    # A step of EM never lowers the likelihood, so that no step size has to be chosen.
    while change > tolerance and iterations < most:
        total = np.zeros(size)
        for block in row_blocks(len(rows)):
            part = likelihoods[block]
            total += (1 / (part @ estimate)) @ part  # one matrix product each way, no large copies
        step = estimate * total / len(rows)
        change = float(np.abs(step - estimate).max())
        estimate, iterations = step, iterations + 1
    return PriorEstimate._trusted(
        prior=estimate, iterations=iterations, converged=change <= tolerance
    )


def _read(posteriors: object) -> tuple[FloatArray, bool]:
    """Posteriors of shape (n, K), and whether they came as P(second class)."""
    array = _check.array("posteriors", posteriors)
    size = array.shape[1] if array.ndim == 2 else 2
    return _check.posteriors("posteriors", posteriors, size), array.ndim == 1
