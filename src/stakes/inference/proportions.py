"""Effective counts of independent cases, and the score interval of a ratio of two proportions."""

from __future__ import annotations

import numpy as np

from stakes._arithmetic import ratio
from stakes._check import BoolArray, FloatArray, shapes
from stakes.inference.effective_cases import effective_factors
from stakes.inference.schemes import Clusters
from stakes.inference.supports import sampled_cells
from stakes.tally import Counts

_STEPS = 60  # bisections of an interval of logarithms: down to the last digit
_LARGEST_LOG_RATIO = (
    60.0  # logarithm of a ratio of proportions that no table of float64 cases reaches
)


def effective_counts(
    counts: Counts, values: FloatArray, *, squares: object = None, scheme: Clusters | None = None
) -> tuple[FloatArray, FloatArray]:
    """Effective counts (…, K, M), as if of independent cases, and the degrees of freedom (…).

    How many cases weights and clusters are worth depends on the question: `values` (K, M) is what a
    case of each cell adds to the estimate, to first order. Whole cases drawn one by one are left
    as they are; see `profile_interval` for squares and scheme.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    values : what a case of each cell adds to the estimate, to first order, (K, M)
    squares : the same sums with squared weights; None for cases that count once
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    counts, (…, K, M), and degrees of freedom, (…)

    Examples
    --------
    >>> doubled = Counts([[6.0, 2.0], [1.0, 3.0]])
    >>> hits = np.array([[0.0, 0.0], [0.0, 1.0]])
    >>> table, degrees = effective_counts(doubled, hits, squares=2 * doubled.values)
    >>> table[1], float(degrees)
    (array([0.5, 1.5]), inf)
    """
    shapes(f"… {counts.n_classes} {counts.n_decisions}", values=values)
    cells = sampled_cells(counts, squares, scheme)
    factors = effective_factors(cells, values.reshape(1, -1), None, by_class=True)[..., 0, :]
    shape = (*cells.weights.shape[:-1], counts.n_classes, counts.n_decisions)
    return cells.weights.reshape(shape) * factors[..., None], cells.most_degrees


def ratio_of_proportions_bounds(
    hits: FloatArray, cases: FloatArray, threshold: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Koopman's score interval (…) of the ratio of two independent proportions, first over second.

    All ratios φ that the score test does not reject: the squared difference
    :math:`(p_1 - \varphi p_2)^2` over its variance under the most likely proportions that have the
    ratio φ (Koopman 1984). It works for few hits too: without hits of the first the lower bound is
    zero, without hits of the second the upper bound is infinite, and without cases of either both.

    Parameters
    ----------
    hits, cases : (…, 2)
    threshold : (…) square of the quantile

    Returns
    -------
    lower and upper bound, each (…)

    Examples
    --------
    >>> low, high = ratio_of_proportions_bounds(
    ...     np.array([28.0, 72.0]), np.array([51.0, 2752.0]), np.array(3.841459))
    >>> float(low.round(2)), float(high.round(2))
    (14.68, 28.86)
    """
    shapes("… 2, … 2", hits=hits, cases=cases)
    share = ratio(hits, cases)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.log(share[..., 0]) - np.log(share[..., 1])
    # Without hits of one the ratio is 0 or infinite, and the search starts at that end.
    start = np.nan_to_num(np.clip(centre, -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO))
    low, high = (
        np.exp(
            _crossing(hits, cases, threshold, start, np.full_like(start, side * _LARGEST_LOG_RATIO))
        )
        for side in (-1, 1)
    )
    nothing = np.isinf(threshold) | ~(cases > 0).all(axis=-1)
    low = np.where(nothing | (hits[..., 0] == 0), 0.0, low)
    high = np.where(nothing | (hits[..., 1] == 0), np.inf, high)
    return low, high


def _crossing(
    hits: FloatArray, cases: FloatArray, threshold: FloatArray, inside: FloatArray, out: FloatArray
) -> FloatArray:
    """The log ratio, between one that is accepted and one beyond, where the test rejects."""
    for _ in range(_STEPS):
        middle = (inside + out) / 2
        fine = _accepts(hits, cases, threshold, middle)
        inside, out = np.where(fine, middle, inside), np.where(fine, out, middle)
    return np.asarray((inside + out) / 2)


def _accepts(
    hits: FloatArray, cases: FloatArray, threshold: FloatArray, log_ratio: FloatArray
) -> BoolArray:
    """Whether the score test accepts a ratio, given by its logarithm."""
    x, y = hits[..., 0], hits[..., 1]
    m, n = cases[..., 0], cases[..., 1]
    phi = np.exp(log_ratio)
    # The most likely second proportion q when the first is φ q: a root of a q² − b q + c.
    a, b, c = phi * (m + n), phi * (m + y) + x + n, x + y
    with np.errstate(divide="ignore", invalid="ignore"):
        q = 2 * c / (b + np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0)))
        variance = phi * q * (1 - phi * q) / m + phi**2 * q * (1 - q) / n
        distance = (x / m - phi * y / n) ** 2
    return np.asarray(distance <= threshold * np.maximum(variance, 0.0))
