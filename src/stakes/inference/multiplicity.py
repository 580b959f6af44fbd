"""Many comparisons at once: what remains significant when all of them are looked at."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label, Labels
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.comparison import Comparison, p_value
from stakes.inference.estimate import counted
from stakes.inference.intervals import quantile
from stakes.inference.normals import normal_scores, student_quantile

_FEW = 30  # with fewer clusters, correlations between pairs are too poorly known to use


def holm(p_values: object) -> FloatArray:
    r"""Holm's adjusted p-values (1979), in the order given.

    .. math:: \tilde p_{(i)} = \max_{j \le i} \min\{1, (m - j + 1)\, p_{(j)}\}

    Those up to α may be called significant with a chance of at most α of any false alarm, however
    the tests depend on each other. nan stays nan and does not count.

    Parameters
    ----------
    p_values : p-values of all tests

    Returns
    -------
    adjusted p-values, in the same order

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = _check.reals("p_values", p_values)
    if values.ndim != 1:
        raise InputError(
            f"p_values must be one row of numbers; the shape is {values.shape}. Pass a flat list."
        )
    defined = np.flatnonzero(~np.isnan(values))
    _check.probabilities("p_values", values[defined])
    order = defined[np.argsort(values[defined], kind="stable")]
    factors = np.arange(order.size, 0, -1)
    adjusted = np.full(values.shape, np.nan)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * values[order]))
    return adjusted


@record(repr=False)
class Pairwise(Value):
    """Differences of many pairs, with intervals and p-values that hold for all at once.

    Attributes
    ----------
    pairs : P pairs of names; a difference is first minus second
    differences, low, high, p_values : (P,)
    level : at which all intervals together contain the true differences
    method : in words

    Examples
    --------
    >>> from stakes.inference import delta_compare_costs
    >>> from stakes import JointCounts, Problem
    >>> y = [0, 0, 1, 1] * 25
    >>> decided = {"a": y, "b": [0, 1, 1, 1] * 25, "c": [0, 1, 1, 0] * 25}
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2))
    >>> holm_pairs(delta_compare_costs(joint, Problem.zero_one(2)))
    Holm over 3 pairs, delta method
           difference  95% low     high          p
    a − b       -0.25  -0.3542  -0.1458  1.843e-08
    a − c        -0.5  -0.6203  -0.3797  7.575e-23
    b − c       -0.25  -0.3542  -0.1458  1.843e-08
    """

    pairs: tuple[tuple[Label, Label], ...]
    differences: FloatArray
    low: FloatArray
    high: FloatArray
    p_values: FloatArray
    level: float
    method: str

    def __str__(self) -> str:
        header = ["", "difference", f"{100 * self.level:.4g}% low", "high", "p"]
        parts = zip(self.differences, self.low, self.high, self.p_values, strict=True)
        rows = [
            [f"{first} − {second}", *(f"{part:.4g}" for part in row)]
            for (first, second), row in zip(self.pairs, parts, strict=True)
        ]
        return f"{self.method}\n{text_table(header, rows)}"

    __repr__ = __str__


def max_t(
    comparison: Comparison,
    *,
    level: float = 0.95,
    pairs: Sequence[tuple[Label, Label]] | None = None,
) -> Pairwise:
    r"""Differences of all pairs (or of those given), corrected by their joint replicates.

    With :math:`t_p = |d_p| / se_p` and :math:`t^*_p = |d^*_p - d_p| / se_p` in each replicate, the
    intervals are :math:`d_p \pm se_p\, q`, q the quantile of :math:`\max_p t^*_p`, and the
    p-values are those of the step-down procedure (Westfall and Young 1993; Romano and Wolf 2005).
    Sharper than `holm` where the differences depend on each other. A pair whose standard error is
    zero is nan and takes no part.

    Where clusters were resampled, q and t are converted from the normal distribution to Student's
    with the same tail, its degrees of freedom being those of the clusters that count for the pair.
    Fewer than thirty clusters do not show how the pairs depend on each other: such a pair gets no
    narrower interval than Bonferroni's and no smaller p-value than that of `holm`.

    Parameters
    ----------
    comparison : estimates of all models with their joint replicates or covariances
    level : confidence level, such as 0.95
    pairs : pairs of models; None for all

    Returns
    -------
    differences of the pairs, with adjusted p-values and intervals

    Examples
    --------
    >>> from stakes.inference import compare_costs
    >>> from stakes import JointCounts, Problem
    >>> y = [0, 0, 1, 1] * 25
    >>> decided = {"a": y, "b": [0, 1, 1, 1] * 25, "c": [0, 1, 1, 0] * 25}
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2))
    >>> comparison = compare_costs(joint, Problem.zero_one(2), replicates=999,
    ...                            rng=np.random.default_rng(1))
    >>> max_t(comparison, level=0.95).differences.tolist()
    [-0.25, -0.5, -0.25]
    """
    level = _check.level(level)
    chosen = _chosen_pairs(comparison, pairs)
    if not len(comparison.replicates):
        raise InputError(
            f"comparison must hold replicates, whose joint tails correct it; this one has none "
            f"({comparison.method}). Make it with compare_costs, call drawn(replicates=…, rng=…), "
            f"or take holm_pairs."
        )
    differences = [comparison.difference(first, second) for first, second in chosen]
    value = np.array([float(difference.value) for difference in differences])
    error = np.array([float(difference.standard_error) for difference in differences])
    count = np.array(
        [float(difference.intervals.effective_count(())) for difference in differences]
    )
    drawn = np.stack([difference.replicates for difference in differences], axis=1)
    # A replicate counts for all pairs or for none: the maximum is over pairs of the same replicate.
    drawn = drawn[~np.isnan(drawn).any(axis=1)]
    # Two models that decide alike differ by exactly zero; the pair has nothing to test.
    error = np.where(error > 0, error, np.nan)
    distance = np.nan_to_num(np.abs(drawn - value) / error, nan=-np.inf)
    furthest = quantile(distance.max(axis=1), np.asarray(level))
    reach = _student_reach(count, furthest, (1 - level) / max(1, np.isfinite(error).sum())) * error
    # The replicates are compared on the normal scale, to which Student's t is converted.
    scores = normal_scores(count, np.abs(value) / error)
    safe = holm([float(p_value(difference, null=0.0)) for difference in differences])
    return Pairwise._trusted(
        pairs=chosen,
        differences=value,
        low=value - reach,
        high=value + reach,
        p_values=np.maximum(_step_down(scores, distance), np.where(count < _FEW, safe, 0.0)),
        level=level,
        method=f"max-T over {counted(len(chosen), 'pair')}, {comparison.method}",
    )


def _chosen_pairs(comparison: Comparison, pairs: object) -> tuple[tuple[Label, Label], ...]:
    """All pairs of the models, or those that were passed."""
    _check.require("comparison", comparison, Comparison)
    if len(comparison.names) < 2:
        raise InputError(
            f"comparison must hold at least two models; it holds {comparison.names}. Compare "
            f"several on the same cases, as compare_costs does."
        )
    if pairs is None:
        return comparison.pairs
    listed = tuple(pairs) if isinstance(pairs, list | tuple) else ()
    if not listed or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in listed):
        raise InputError(
            f"pairs must be a list of pairs of models; got {pairs!r}. Write [(first, second), …]."
        )
    return tuple((first, second) for first, second in listed)


def _student_reach(count: FloatArray, furthest: FloatArray, share: float) -> FloatArray:
    """How far the intervals reach, in standard errors of replicates.

    `share` is Bonferroni's share of the error probability, that of a single pair.
    """
    from scipy.special import ndtr

    tail = ndtr(-furthest)
    # With few clusters the largest of the replicates is too small; Bonferroni is the safe bound.
    tail = np.where(count < _FEW, np.minimum(tail, share / 2), tail)
    return np.where(np.isinf(count), furthest, -student_quantile(count, tail))


def _step_down(observed: FloatArray, drawn: FloatArray) -> FloatArray:
    """Adjusted p-values: each test against the maximum over itself and all less extreme ones."""
    adjusted = np.full(observed.shape, np.nan)
    order = [int(i) for i in np.argsort(-observed) if not np.isnan(observed[i])]
    floor = 0.0
    for step, place in enumerate(order):
        rivals = drawn[:, order[step:]].max(axis=1)
        # The observed sample counts as one of the draws (Davison and Hinkley 1997): no p-value is
        # zero.
        floor = max(floor, float((1 + np.sum(rivals >= observed[place])) / (1 + len(drawn))))
        adjusted[place] = floor
    return adjusted


def holm_pairs(comparison: Comparison, *, level: float = 0.95) -> Pairwise:
    """Differences of all pairs with normal tests and Holm's correction.

    The p-values are Holm's; the intervals are Bonferroni's, because Holm's procedure has none of
    its own. For comparisons by formula; `max_t` is sharper where there are replicates.

    Parameters
    ----------
    comparison : estimates of all models with their joint replicates or covariances
    level : confidence level, such as 0.95

    Returns
    -------
    differences of all pairs, with adjusted p-values

    Examples
    --------
    >>> from stakes.inference import delta_compare_costs
    >>> from stakes import JointCounts, Problem
    >>> y = [0, 0, 1, 1] * 25
    >>> joint = JointCounts.from_decisions(y, {"a": y, "b": [0, 1, 1, 1] * 25}, Problem.zero_one(2))
    >>> print(holm_pairs(delta_compare_costs(joint, Problem.zero_one(2)), level=0.95))
    Holm over 1 pair, delta method
           difference  95% low     high          p
    a − b       -0.25  -0.3353  -0.1647  9.216e-09
    """
    level = _check.level(level)
    differences = [comparison.difference(*pair) for pair in _chosen_pairs(comparison, None)]
    each = 1 - (1 - level) / len(differences)  # Bonferroni: the level of all of them together
    intervals = [difference.interval(each) for difference in differences]
    labels: Labels = comparison.names
    return Pairwise._trusted(
        pairs=comparison.pairs,
        differences=np.array([float(difference.value) for difference in differences]),
        low=np.array([float(interval.low) for interval in intervals]),
        high=np.array([float(interval.high) for interval in intervals]),
        p_values=holm([float(p_value(difference, null=0.0)) for difference in differences]),
        level=level,
        method=f"Holm over {counted(len(differences), 'pair')}, {comparison.method}"
        + (f" of {len(labels)} models" if len(labels) > 3 else ""),
    )
