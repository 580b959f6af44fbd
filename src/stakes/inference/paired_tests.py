"""Tests of two models on the same cases, and of many pairs at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.comparison import Comparison, p_value
from stakes.inference.estimate import (
    Estimate,
    Normal,
    counted,
    normal_scores,
    quantile,
    student_quantile,
    whole_cells,
)
from stakes.problem import Problem
from stakes.ranking import auc
from stakes.tally import JointCounts, JointScores, ScoreTable

# McNemar's test: which of two models is wrong more often on the same cases -----------------------


@record
class McNemar(Value):
    """The cases on which exactly one of two models is wrong, and what they say.

    The paired comparison of costs in the special case of 0-1 costs: the difference of the error
    rates is (first_wrong − second_wrong) / n. Without such cases all p-values are 1.

    Attributes
    ----------
    first_wrong, second_wrong : (…) cases in which only the first, only the second model is wrong
    n_cases : (…)

    Examples
    --------
    The first model is wrong in all five cases on which the two disagree: five heads of a fair coin.

    >>> test = McNemar(np.array(5.0), np.array(0.0), np.array(100.0))
    >>> float(test.difference), float(test.exact_p), float(test.mid_p)
    (0.05, 0.0625, 0.03125)
    """

    first_wrong: FloatArray
    second_wrong: FloatArray
    n_cases: FloatArray

    @property
    def difference(self) -> FloatArray:
        """Error rate of the first model minus that of the second."""
        return np.asarray((self.first_wrong - self.second_wrong) / self.n_cases)

    @property
    def statistic(self) -> FloatArray:
        """McNemar's χ² with one degree of freedom, without correction; nan without such cases."""
        discordant = self.first_wrong + self.second_wrong
        square = (self.first_wrong - self.second_wrong) ** 2
        nowhere = np.full(discordant.shape, np.nan)
        return np.asarray(np.divide(square, discordant, out=nowhere, where=discordant > 0))

    @property
    def chi2_p(self) -> FloatArray:
        """Two-sided p-value of the χ² statistic; for 25 such cases and more."""
        from scipy.special import chdtrc

        return np.where(np.isnan(self.statistic), 1.0, chdtrc(1, np.nan_to_num(self.statistic)))

    @property
    def exact_p(self) -> FloatArray:
        """Two-sided p-value of the binomial test: never too small, often too large."""
        from scipy.special import betainc

        fewer, more = self._sorted()
        tied = fewer == more
        # P(X <= fewer) of a binomial with probability one half, by the incomplete beta function
        tail = betainc(np.where(tied, 1.0, more), fewer + 1, 0.5)
        return np.where(tied, 1.0, 2 * tail)

    @property
    def mid_p(self) -> FloatArray:
        """The binomial p-value with half the probability of what was observed; the one to use.

        Fagerland et al. 2013 recommend it: its size is close to nominal with few cases too.
        """
        from scipy.special import gammaln

        fewer, more = self._sorted()
        total = fewer + more
        chance = gammaln(total + 1) - gammaln(fewer + 1) - gammaln(more + 1) - total * np.log(2)
        seen = np.where(total > 0, np.exp(chance), 0.0)
        return np.asarray(self.exact_p - np.where(fewer == more, seen / 2, seen))

    def _sorted(self) -> tuple[FloatArray, FloatArray]:
        pair = (self.first_wrong, self.second_wrong)
        return np.minimum(*pair), np.maximum(*pair)


def mcnemar(
    joint: JointCounts, first: Label, second: Label, *, problem: Problem | None = None
) -> McNemar:
    """Count the cases on which exactly one of two models decides for the true class.

    A decision answers the class of the same label; without equal labels, the class at the same
    position if there are as many decisions as classes. A problem may say otherwise.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    first : label of the first model
    second : label of the second model
    problem : says which decision answers which class; None where the labels do

    Returns
    -------
    the discordant cases, with p-values

    Examples
    --------
    >>> from stakes import Problem
    >>> y = [0] * 30
    >>> a, b = [1] * 10 + [0] * 20, [0] * 10 + [1] * 3 + [0] * 17
    >>> joint = JointCounts.from_decisions(y, {"a": a, "b": b}, Problem.zero_one(2))
    >>> test = mcnemar(joint, "a", "b")
    >>> float(test.first_wrong), float(test.second_wrong)
    (10.0, 3.0)
    >>> float(test.exact_p.round(4)), float(test.mid_p.round(4))
    (0.0923, 0.0574)
    """
    _check.require("joint", joint, JointCounts)
    whole_cells(joint)
    answered = _answered(joint, problem)
    wrong = [
        answered[joint.cells[:, 1 + _check.one_of(name, model, joint.models, "models")]]
        != joint.cells[:, 0]
        for name, model in (("first", first), ("second", second))
    ]
    return McNemar._trusted(
        first_wrong=np.asarray(joint.weights @ (wrong[0] & ~wrong[1]).astype(np.float64)),
        second_wrong=np.asarray(joint.weights @ (wrong[1] & ~wrong[0]).astype(np.float64)),
        n_cases=joint.n_cases,
    )


def _answered(joint: JointCounts, problem: Problem | None) -> IntArray:
    """Position of the class that each decision answers, (M,)."""
    if problem is not None:
        _check.require("problem", problem, Problem)
    answers = _check.answers(joint.classes, joint.decisions)
    if problem is not None:
        _check.same_names("joint and problem", joint, problem)
        answers = problem.answers
    if None in answers:
        raise InputError(
            f"joint must hold decisions that answer the classes {joint.classes}; not all of "
            f"{joint.decisions} do. Pass the problem, which says so: Problem(…, answers={{…}}); "
            f"compare_costs weighs any decisions by their costs."
        )
    return np.array([joint.classes.index(label) for label in answers if label is not None])


# Standard errors of areas under the ROC curve, single and paired (DeLong et al. 1988) ------------
#
# The placement of a positive case is the share of negatives that it outscores, ties counting one
# half; the area is the mean placement, and its variance follows from those of the placements. On a
# sorted table they are running sums (the midranks of Sun and Xu 2014), so that n cases cost n log
# n.

_PIECE = 1 << 16  # scores that fit into the cache


def _placements(weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Placements of a negative and of a positive case at each score, for weights (…, S, 2).

    A negative's placement is the share of positives that outscore it, a positive's the share of
    negatives that it outscores. Both have the area for their mean.
    """
    return _placement(weights, 0), _placement(weights, 1)


def _placement(weights: FloatArray, k: int) -> FloatArray:
    """The placement of a case of class k at each score among the cases of the other class."""
    # Computed in place, because a table may have ten million scores.
    other = weights[..., 1 - k]
    cumulative = np.cumsum(other, axis=-1)
    cumulative -= other / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        cumulative /= other.sum(axis=-1, keepdims=True)
    return cumulative if k == 1 else np.asarray(1 - cumulative)


def auc_error(table: ScoreTable) -> FloatArray:
    r"""Standard error of the area under the ROC curve, of shape (…).

    .. math:: se^2 = S_0 / n_0 + S_1 / n_1

    with the variances S of the placements of each class, divided by n − 1. A measure: weights are
    numbers of cases. nan where a class has less than two cases.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    standard error, (…)

    Examples
    --------
    >>> float(auc_error(ScoreTable.from_scores([0, 1, 0, 1, 1], [1, 2, 2, 3, 1])).round(4))
    0.2764
    """
    return _area_and_error(table)[1]


def _area_and_error(table: ScoreTable) -> tuple[FloatArray, FloatArray]:
    """The area under the ROC curve and its standard error, (…)."""
    _check.require("table", table, ScoreTable)
    counts = np.asarray(table.class_weights)
    below, scatter = np.zeros(counts.shape), np.zeros(counts.shape)
    # The mean placement of either class is the area.
    value = np.asarray(auc(table))
    area = value[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, table.scores.size, _PIECE):
            weights = table.weights[..., start : start + _PIECE, :]
            for k, mean in enumerate((1 - area, area)):
                # As in `_placement`, which a table of ten million scores would take from memory.
                other = weights[..., 1 - k]
                placement = np.cumsum(other, axis=-1)
                placement += below[..., [1 - k]]
                placement -= other / 2
                placement /= counts[..., [1 - k]]
                placement -= mean
                placement *= placement
                scatter[..., k] += np.einsum("...s,...s->...", weights[..., k], placement)
            below += weights.sum(axis=-2)
        square = np.where(counts > 1, scatter / (counts * (counts - 1)), np.nan)
    return value, np.asarray(np.sqrt(square.sum(axis=-1)))


def delong_auc(table: ScoreTable) -> Estimate:
    """Area under the ROC curve with DeLong's standard error and normal intervals.

    Near an area of 1, or with few cases of a class, ``.with_intervals(Logit())`` covers better.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)

    Returns
    -------
    area with its standard error

    Examples
    --------
    >>> from stakes.inference import Logit
    >>> table = ScoreTable.from_scores([0, 1] * 20, [k % 7 + k % 2 for k in range(40)])
    >>> print(delong_auc(table))
    0.6288 (95% 0.4557 to 0.8018, DeLong)
    >>> print(delong_auc(table).with_intervals(Logit()).interval(0.95))
    95% 0.4466 to 0.7804
    """
    _check.require("table", table, ScoreTable)
    whole_cells(table)
    value, error = _area_and_error(table)
    return Estimate(value, error, np.empty((0, *value.shape)), Normal(), "DeLong")


def delong(scores: JointScores) -> Comparison:
    """Areas under the ROC curve of several models on the same cases, with their covariances.

    The formula takes cases as independent; scores that name clusters are refused, and
    ``compare(…, scheme=Clusters())`` is the way to compare these.

    Parameters
    ----------
    scores : scores of the cases

    Returns
    -------
    areas of all models and their covariances

    Examples
    --------
    >>> joint = JointScores.from_scores([0, 1] * 20, {"a": [k % 7 + k % 2 for k in range(40)],
    ...                                               "b": [k % 5 + k % 2 for k in range(40)]})
    >>> print(delong(joint).difference("a", "b"))
    -0.05125 (95% -0.2772 to 0.1747, DeLong)
    """
    _check.require("scores", scores, JointScores)
    whole_cells(scores)
    _check.no_leading_axes("scores", scores.leading)
    tables = [scores.table(model) for model in scores.models]
    placements = [_placements(table.weights) for table in tables]
    covariance = np.zeros((len(tables), len(tables)))
    for k in (0, 1):
        of_class = scores.cells[:, 0] == k
        weight = scores.weights[of_class]
        columns = [pair[k][scores.cells[of_class, 1 + j]] for j, pair in enumerate(placements)]
        covariance = covariance + _spread(np.stack(columns, axis=1), weight)
    return Comparison._trusted(
        names=scores.models,
        values=np.array([float(auc(table)) for table in tables]),
        covariance=covariance,
        replicates=np.empty((0, len(tables))),
        intervals=Normal(),
        method="DeLong",
    )


def _spread(placements: FloatArray, weight: FloatArray) -> FloatArray:
    """Covariances (J, J) of the mean placements; nan with less than two cases."""
    count = weight.sum()
    if not count > 1:
        return np.full((placements.shape[1],) * 2, np.nan)
    centred = placements - weight @ placements / count
    return np.asarray((centred * weight[:, None]).T @ centred / (count * (count - 1)))


# Many comparisons at once: what remains significant when all of them are looked at ---------------

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
