"""How far a cost or a prior must move before another model becomes the cheapest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import inf, isfinite, isnan, log, nan
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import least, least_shares, mean_defined
from stakes._check import FloatArray, Label, Labels
from stakes._text import always, text_table
from stakes._value import Value, record, remembered
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.inference import (
    Clusters,
    Estimate,
    Scheme,
    bootstrap,
    checked_scheme,
    envelopes,
    estimate_of,
)
from stakes.measures import decision_rates, expected_cost_per_class
from stakes.problem import Problem
from stakes.regions.axes import (
    PRIOR,
    Axis,
    CostProportion,
    DecidedAnew,
    Models,
    Regions,
    Stake,
    StakeLine,
    StraightAxis,
    borders_of,
    lowest,
    remade_curve,
    root,
    separated,
    stakes_in,
)
from stakes.tally import Counts, JointCounts, Tally

# Where each model is the cheapest along an axis, and how certain the borders are -----------------


@remembered
def decision_regions(problem: Problem) -> Regions:
    """Intervals of the probability of the second class in which each decision is the cheapest.

    For two classes and any number of decisions: where the Bayes decision changes.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    intervals of the probability and the decision in each

    Examples
    --------
    >>> print(decision_regions(Problem({"good": {"grant": 0, "review": 0.3, "decline": 1},
    ...                                 "bad": {"grant": 5, "review": 0.3, "decline": 0}})))
    P(bad)       cheapest
    0 to 0.06       grant
    0.06 to 0.7    review
    0.7 to 1      decline
    """
    _check.require("problem", problem, Problem)
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes, so that one probability decides; it has "
            f"{problem.n_classes}. bayes_decisions takes any number of them."
        )
    lines = {
        decision: Curve([0.0, 1.0], [[costs[0], costs[1] - costs[0]]])
        for decision, costs in zip(problem.decisions, problem.costs.T.tolist(), strict=True)
    }
    return lowest(lines, axis=f"P({problem.classes[1]})")


def constant_rules(counts: Counts, problem: Problem) -> dict[Label, Counts]:
    """The rules that take the same decision about every case, to be compared with models.

    Parameters
    ----------
    counts : counts of any system on the cases
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    name of the rule, such as "always stop" → its counts

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["pass", "stop"])
    >>> rules = constant_rules(Counts([[8, 2], [1, 4]]), problem)
    >>> {rule: counts.values.tolist() for rule, counts in rules.items()}
    {'always pass': [[10.0, 0.0], [5.0, 0.0]], 'always stop': [[0.0, 10.0], [0.0, 5.0]]}
    """
    _check.require("counts", counts, Counts)
    _check.require("problem", problem, Problem)
    if counts.n_decisions != problem.n_decisions:
        raise InputError(
            f"counts and problem must have the same decisions; counts have {counts.n_decisions}, "
            f"the problem {problem.n_decisions}. Tally the decisions with this problem."
        )
    sizes = counts.values.sum(axis=-1)
    rules: dict[Label, Counts] = {}
    for place, decision in enumerate(problem.decisions):
        values = np.zeros(counts.values.shape)
        values[..., place] = sizes
        rules[always(decision)] = Counts(values, classes=counts.classes, decisions=counts.decisions)
    return rules


def cost_curves(models: Any, axis: Axis) -> dict[Label, Curve]:
    """What each model costs along the axis.

    Parameters
    ----------
    models : `JointCounts`, or a mapping from model to `Counts` (fixed decisions) or `DecidedAnew`
        (decisions that follow the axis); for `Classifiers`, `JointScores` or a mapping from model
        to `ScoreTable`
    axis : `CostProportion`, `CostRatio`, `Prior` or `Classifiers`

    Returns
    -------
    model → its `Curve`

    Examples
    --------
    >>> from stakes import Counts
    >>> curves = cost_curves({"careful": Counts([[60, 40], [5, 95]])}, CostProportion())
    >>> float(curves["careful"](0.5))
    0.225
    """
    _check.require("axis", axis, Axis)
    return axis.curves(models)


def cheapest_regions(models: Any, axis: Axis) -> Regions:
    """The exact intervals of the axis in which each model is the cheapest.

    Parameters
    ----------
    models : as in `cost_curves`
    axis : the axis to vary

    Returns
    -------
    intervals and the model that wins in each

    Examples
    --------
    >>> from stakes import Counts, Problem
    >>> from stakes.regions import CostRatio, Prior
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> print(cheapest_regions(models, CostProportion()))
    cost proportion  cheapest
    0 to 0.3333       careful
    0.3333 to 1          bold
    >>> print(cheapest_regions(models, CostRatio()))
    false alarm : miss  cheapest
    0 to 0.5             careful
    0.5 to inf              bold
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
    >>> print(cheapest_regions(models, Prior(problem, "ill")))
    prior of ill  cheapest
    0 to 0.2          bold
    0.2 to 1       careful

    A classifier is a model with a threshold-choice method:

    >>> from stakes import CostProportions, ScoreDriven, ScoreFixed, ScoreTable
    >>> from stakes.regions import Classifiers
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.7, 0.9])
    >>> methods = {"at one half": ("m", ScoreFixed(0.5)), "at the costs": ("m", ScoreDriven())}
    >>> print(cheapest_regions({"m": table}, Classifiers(methods, CostProportions)))
    cost proportion                    cheapest
    0 to 0.35                      at the costs
    0.35 to 0.6      at one half, at the costs
    0.6 to 1                       at the costs
    """
    _check.require("axis", axis, Axis)
    return axis.regions(models)


def crossing(joint: JointCounts, first: Label, second: Label, axis: StraightAxis) -> FloatArray:
    """Where along the axis two models cost the same, (…); nan where one is always cheaper.

    A measure of JointCounts, so that `bootstrap` takes it. Not for `Classifiers`, whose curves may
    cross several times: see `cheapest_regions`.

    Parameters
    ----------
    joint : cases by true class and the decisions of both models
    first : label of the first model
    second : label of the second model
    axis : the axis to vary

    Returns
    -------
    positions, (…)

    Examples
    --------
    >>> from stakes import Problem
    >>> joint = JointCounts.from_decisions(
    ...     [0] * 10 + [1] * 10,
    ...     {"a": [0] * 6 + [1] * 14, "b": [0] * 9 + [1] * 1 + [0] * 2 + [1] * 8},
    ...     Problem.zero_one(2))
    >>> float(crossing(joint, "a", "b", CostProportion()).round(4))
    0.4
    """
    _check.require("joint", joint, JointCounts)
    _check.require("axis", axis, StraightAxis)
    _check.one_of("first", first, joint.models, "models")
    _check.one_of("second", second, joint.models, "models")
    return axis.mark(root(axis.gap(axis.checked(joint), first, second)))


@record
class Crossing(Value):
    """A border between two regions, with its interval.

    `below` is the cheapest model on its lower side, `above` on its upper side. Replicates in which
    the two do not cross, or cross in the other direction, are nan: they are counted and shown, but
    left out of the interval. If there are many, one of the two may be cheaper everywhere.

    Parameters
    ----------
    below : model that is cheaper below it
    above : model that is cheaper above it
    at : position of the border, with its interval

    Examples
    --------
    At a cost proportion of 1/3, 30 more false alarms cost as much as 15 more misses:

    >>> from stakes import Problem
    >>> decided = {"careful": [0] * 60 + [1] * 135 + [0] * 5,
    ...            "bold": [0] * 90 + [1] * 10 + [0] * 20 + [1] * 80}
    >>> joint = JointCounts.from_decisions([0] * 100 + [1] * 100, decided, Problem.zero_one(2))
    >>> rng = np.random.default_rng(0)
    >>> (border,) = bootstrap_crossings(joint, CostProportion(), replicates=99, rng=rng)
    >>> border.below, border.above, round(float(border.at.value), 3)
    ('careful', 'bold', 0.333)
    """

    below: Label
    above: Label
    at: Estimate

    def __str__(self) -> str:
        return f"{self.below} | {self.above} at {self.at}"


def bootstrap_crossings(
    tally: Any,
    axis: Axis,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> tuple[Crossing, ...]:
    """The borders of `cheapest_regions`, each with a bootstrap interval.

    Parameters
    ----------
    tally : `JointCounts`; for `Classifiers`, `JointScores`
    axis : the axis to vary
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : what is resampled; by default clusters where the tally has them, else cases, within
        classes where the axis states a prior or varies it

    Returns
    -------
    borders with their intervals

    Examples
    --------
    >>> from stakes import Problem
    >>> y = [0] * 200 + [1] * 200
    >>> careful = [0] * 120 + [1] * 270 + [0] * 10
    >>> bold = [0] * 180 + [1] * 20 + [0] * 40 + [1] * 160
    >>> joint = JointCounts.from_decisions(y, {"careful": careful, "bold": bold},
    ...                                    Problem.zero_one(2))
    >>> for border in bootstrap_crossings(joint, CostProportion(), replicates=999,
    ...                                   rng=np.random.default_rng(0)):
    ...     print(border)
    careful | bold at 0.3333 (95% 0.2083 to 0.4444, 999 bootstrap replicates)
    """
    _check.require("axis", axis, Axis)
    chosen = _scheme(scheme, axis, axis.checked(tally))
    on_all = axis.regions(chosen.whole(tally))
    borders = borders_of(on_all)
    if not borders:
        return ()

    def measure(resampled: Any) -> FloatArray:
        # The borders of the whole data are located in every replicate, because the regions of
        # different replicates could not be matched with each other.
        return axis.located(resampled, borders, on_all.crossings)

    estimate = bootstrap(measure, tally, replicates=replicates, rng=rng, scheme=chosen)
    return tuple(
        Crossing(
            below,
            above,
            estimate_of(
                estimate.value[place], estimate.replicates[:, place], estimate.intervals.along(unit)
            ),
        )
        for place, ((below, above), unit) in enumerate(
            zip(borders, np.eye(len(borders)), strict=True)
        )
    )


def share_cheapest(
    joint: JointCounts,
    cost_proportions: npt.ArrayLike,
    *,
    prior: object,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> FloatArray:
    """Share of bootstrap replicates (C, J) in which each model is the cheapest.

    There is one row for each cost proportion. Ties are split equally; replicates in which the cost
    of a model is undefined are left out. Without a scheme, cases are resampled within classes when
    a prior is stated, else over all cases.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    cost_proportions : (C,) each between 0 and 1
    prior : class shares, (K,) or by label; None takes those of the data
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    shares, (C, J)

    Examples
    --------
    >>> from stakes import Problem
    >>> y = [0] * 200 + [1] * 200
    >>> careful = [0] * 120 + [1] * 270 + [0] * 10
    >>> bold = [0] * 180 + [1] * 20 + [0] * 40 + [1] * 160
    >>> joint = JointCounts.from_decisions(y, {"careful": careful, "bold": bold},
    ...                                    Problem.zero_one(2))
    >>> share_cheapest(joint, [0.1, 0.35, 0.9], prior=None, replicates=500,
    ...                      rng=np.random.default_rng(0)).round(1)
    array([[1. , 0. ],
           [0.4, 0.6],
           [0. , 1. ]])
    """
    _check.require("joint", joint, JointCounts)
    at = _check.probabilities("cost_proportions", cost_proportions, ndim=1)
    axis = CostProportion(prior)
    axis.checked(joint)

    def measure(resampled: JointCounts) -> FloatArray:
        endpoints = [axis.endpoint_costs(resampled.model(model)) for model in joint.models]
        lines = [start[..., None] * (1 - at) + end[..., None] * at for start, end in endpoints]
        return least_shares(np.stack(lines, axis=-1))

    chosen = _scheme(scheme, axis, joint)
    estimate = bootstrap(measure, joint, replicates=replicates, rng=rng, scheme=chosen)
    return mean_defined(estimate.replicates)


def _scheme(scheme: Scheme | None, axis: Axis, tally: Tally) -> Scheme:
    if scheme is None:
        return Clusters() if tally.has_clusters else axis.scheme
    return checked_scheme(scheme)


# How far a cost or a prior must move before another model becomes the cheapest -------------------

_EDGE = 1e-12  # closer to the end of its range than this, a flip may be a rounding error


@record
class Margin(Value):
    """One number of the problem, and how far it may move before the verdict flips.

    Attributes
    ----------
    what : the number, in words
    value : its present value
    low, high : where another model becomes as cheap; infinite where none does, nan where unknown
    low_rival, high_rival : that model, or None
    clear_low, clear_high : where what a report recommends is clearly not the cheapest: it
        has left the contenders, or clearly costs more than a constant decision; infinite where
        neither happens up to 20 times the largest cost, nan where only counts are known (see
        `leaving_points`)

    Examples
    --------
    The bold model is the cheapest as long as less than a fifth are ill:

    >>> from stakes import Counts
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"], prior=[0.9, 0.1])
    >>> (margin,) = sensitivity(models, problem).priors
    >>> margin.what, margin.value, round(margin.high, 6), margin.high_rival
    ('prior of ill', 0.1, 0.2, 'careful')
    """

    what: str
    value: float
    low: float
    high: float
    low_rival: Label | None
    high_rival: Label | None
    clear_low: float = np.nan
    clear_high: float = np.nan

    @property
    def distance(self) -> float:
        """The distance to the nearer of the two flips."""
        return min(self.value - self.low, self.high - self.value)

    @property
    def rival(self) -> Label | None:
        """The model that is as cheap at the nearer of the two flips."""
        down = self.value - self.low <= self.high - self.value
        return self.low_rival if down else self.high_rival

    @property
    def is_prior(self) -> bool:
        """Whether the number is the prior of a class."""
        return self.what.startswith(PRIOR)

    @property
    def log_factor(self) -> float:
        """How far the nearer flip is, as the logarithm of a factor on the number.

        For a prior, it is the factor on the share or on the rest to 1, whichever moves more. No
        factor leads from zero, to zero or across it: that is infinitely far.
        """
        return min(self._log_factor_to(end) for end in (self.low, self.high))

    def _log_factor_to(self, end: float) -> float:
        pairs = [(self.value, end), (1 - self.value, 1 - end)][: 1 + self.is_prior]
        if not all(now * then > 0 and isfinite(then) for now, then in pairs):
            return inf
        return max(abs(log(then / now)) for now, then in pairs)


@record(repr=False)
class Sensitivity(Value):
    """The verdict and its margins.

    Attributes
    ----------
    cheapest : the model with the least expected cost, the first of those that tie
    expected_costs : (J,) of all models
    models : J names
    costs : a margin for each cell of the cost table, class by class
    priors : a margin for the prior of each class; the others move in proportion. Of two classes
        one prior determines both: there is one margin, for the second

    Examples
    --------
    >>> from stakes import Counts
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"], prior=[0.9, 0.1])
    >>> answer = sensitivity(models, problem)
    >>> answer.cheapest, answer.expected_costs.round(6), answer.weakest_prior.what
    ('bold', array([0.4 , 0.25]), 'prior of ill')
    """

    cheapest: Label
    expected_costs: FloatArray
    models: Labels
    costs: tuple[Margin, ...]
    priors: tuple[Margin, ...]

    @property
    def weakest_cost(self) -> Margin:
        """The cost that flips the verdict by the smallest factor."""
        return nearest_first(self.costs)[0]

    @property
    def weakest_prior(self) -> Margin:
        """The prior that flips the verdict by the smallest factor on it, or on the rest to 1."""
        return nearest_first(self.priors)[0]

    def __str__(self) -> str:
        rows = [
            [margin.what, f"{margin.value:.4g}", *_shown(margin)]
            for margin in (*self.costs, *self.priors)
        ]
        header = [f"cheapest: {self.cheapest}", "now", "flips below", "to", "flips above", "to"]
        return text_table(header, rows)

    __repr__ = __str__


def sensitivity(models: Models, problem: Problem) -> Sensitivity:
    r"""How far every cost and every prior may move before another model is the cheapest.

    The answer is exact, for one number at a time. Let :math:`D_j` be the expected cost of model j
    above that of the cheapest model b. If the cost :math:`c_{kd}` changes by t, :math:`D_j` changes
    by :math:`t\,\pi_k (P_j(d \mid k) - P_b(d \mid k))`. It is also linear in the prior of one
    class, while the other classes keep their proportions to each other. Decisions are fixed.

    No cost goes below zero, unless the problem states gains. Rules such as `constant_rules` may be
    among the models. A model that is `DecidedAnew` takes the Bayes decisions for the changed costs
    or prior. Its cost jumps where a case is decided differently, so that the nearest flip may be
    spurious: `Report.flips` says where a flip is statistically clear. With such models no cost goes
    beyond 20 times the largest.

    Parameters
    ----------
    models : counts by model
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    ranges of costs and priors within which the same model is the cheapest

    Examples
    --------
    >>> from stakes import Counts
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"],
    ...                          decisions=["home", "treat"], prior=[0.9, 0.1])
    >>> print(sensitivity(models, problem))
    cheapest: bold           now  flips below       to  flips above       to
    cost of home for well      0        never                0.5556  careful
    cost of treat for well     1       0.4444  careful        never
    cost of home for ill       8        never                    18  careful
    cost of treat for ill      0        never                 never
    prior of ill             0.1        never                   0.2  careful
    """
    fixed, anew = separated(models)
    _check.require("problem", problem, Problem)
    tallies: Any = [*fixed.values(), *(model.table for model in anew.values())]
    _check.no_leading_axes("models", tallies[0].leading, remedy="Index one group.")
    for counts in fixed.values():
        expected_cost_per_class(counts, problem)  # refuses a problem of other classes
    stakes = stakes_in(problem, problem.prior_or(tallies[0].shares))
    listed: Any = models if anew else fixed
    names: Labels = tuple(listed)
    if anew:
        costs, best, margins = _remade_margins(names, fixed, anew, stakes)
    else:
        kept, prior = KeptDecisions.of(fixed), stakes[0].prior
        regret = problem.regret().costs
        best, _ = kept._lead(regret, prior)
        costs = kept.costs(regret, prior) + prior @ problem.costs.min(axis=1)
        margins = kept.margins(stakes, regret)
    return Sensitivity._trusted(
        cheapest=names[best],
        expected_costs=costs,
        models=names,
        costs=margins[: problem.costs.size],
        priors=margins[problem.costs.size :],
    )


# Decisions that stay -----------------------------------------------------------------------------


@record
class KeptDecisions:
    """What models cost at any stakes while their decisions stay: amounts times costs times prior.

    Examples
    --------
    >>> from stakes import Counts
    >>> kept = KeptDecisions.of({"net": Counts([[3, 1], [2, 2]])})
    >>> kept.costs(np.array([[0.0, 1.0], [9.0, 0.0]]), np.array([0.9, 0.1]))
    array([0.675])
    """

    names: Labels
    amounts: FloatArray  # (J, K, M) by class: shares of decisions, or what was charged for them
    running: FloatArray  # (J,) costs per case, besides
    rounding: float = 0.0  # costs that differ by no more are equal

    @classmethod
    def of(cls, counts: Mapping[Any, Counts]) -> KeptDecisions:
        """The decisions of models on the same cases.

        Parameters
        ----------
        counts : the decisions of each model

        Returns
        -------
        the shares of these decisions within each class

        Examples
        --------
        >>> from stakes import Counts
        >>> KeptDecisions.of({"net": Counts([[3, 1], [2, 2]])}).amounts.tolist()
        [[[0.75, 0.25], [0.5, 0.5]]]
        """
        rates = np.stack([decision_rates(table) for table in counts.values()])
        return cls(tuple(counts), rates, np.zeros(len(rates)))

    def costs(self, costs: FloatArray, prior: FloatArray) -> FloatArray:
        """What each model costs at some stakes; nan where a class without cases has a prior.

        Parameters
        ----------
        costs : (…, K, M)
        prior : (…, K)

        Returns
        -------
        costs per case, (…, J)

        Examples
        --------
        >>> from stakes import Counts
        >>> kept = KeptDecisions.of({"net": Counts([[3, 1], [0, 0]])})
        >>> kept.costs(np.array([[0, 4], [9, 0]]), np.array([[1.0, 0.0], [0.9, 0.1]])).tolist()
        [[1.0], [nan]]
        """
        return self.running + self._charged(costs, prior)

    def curves(self, line: StakeLine) -> dict[Label, Curve]:
        """What each model costs along a line of problems.

        Parameters
        ----------
        line : the line

        Returns
        -------
        a straight line for each model

        Examples
        --------
        >>> from stakes import Counts
        >>> kept = KeptDecisions.of({"net": Counts([[3, 1], [2, 2]])})
        >>> *_, rare = stakes_in(Problem.zero_one(2), np.array([0.9, 0.1]))
        >>> float(kept.curves(rare.line)["net"](0.2))
        0.3
        """
        start, (low, high) = self.costs(line.costs, line.prior), line.bounds
        slope = self._charged(line.costs, line.prior_slope)
        slope = slope + self._charged(line.cost_slope, line.prior)
        pieces = np.stack([start + slope * low, slope], axis=1)
        return {
            name: Curve.undefined(low, high)
            if np.isnan(piece).any()
            else Curve([low, high], [piece])
            for name, piece in zip(self.names, pieces, strict=True)
        }

    def margins(
        self, stakes: Sequence[Stake], costs: FloatArray, chosen: Label | None = None
    ) -> tuple[Margin, ...]:
        """How far each number of a problem may move before another model is as cheap.

        Parameters
        ----------
        stakes : the numbers
        costs : (K, M) of the problem; less what all decisions about a class share, where models
            differ in decisions alone: that makes no difference, and would take digits
        chosen : what is chosen today, where that is not the cheapest; what is cheaper already is
            then no rival

        Returns
        -------
        their margins; nan where a class without cases would get a prior

        Examples
        --------
        >>> from stakes import Counts
        >>> kept = KeptDecisions.of({"a": Counts([[3, 1], [2, 2]]), "b": Counts([[4, 0], [3, 1]])})
        >>> problem = Problem.binary(false_alarm=1, miss=2)
        >>> *_, rare = kept.margins(stakes_in(problem, np.array([0.9, 0.1])), problem.costs)
        >>> rare.what, round(rare.high, 6), rare.high_rival
        ('prior of 1', 0.333333, 'a')
        """
        problem = stakes[0].problem
        best, excess = self._lead(costs, stakes[0].prior)
        best = self.names.index(chosen) if chosen in self.names else best
        rivals = excess >= excess[best]
        slopes = np.stack([self._slopes(stake, costs) for stake in stakes])
        slopes = np.where(rivals, slopes - slopes[:, [best]], 0.0)
        excess = np.where(rivals, excess - excess[best], 0.0)
        unknown = np.isnan(slopes).any(axis=1, keepdims=True) & (len(self.names) > 1)
        slopes = np.where((np.abs(slopes) > self.rounding) & ~unknown, slopes, 0.0)
        below, above = (_overtaken(excess, sign * slopes) for sign in (-1, 1))
        of_costs = (-inf if problem.has_gains else 0.0), inf, float(np.abs(problem.costs).max())
        margins = []
        for stake, hidden, *sides in zip(stakes, unknown.ravel(), below, above, strict=True):
            low, high, size = (0.0, 1.0, 1.0) if stake.d is None else of_costs
            ends: list[tuple[float, Label | None]] = []
            for sign, limit, (move, rival) in zip((-1, 1), (low, high), sides, strict=True):
                point = stake.value + sign * move
                # Closer to the end of its range, a flip may be a rounding error.
                reached = isfinite(point) and sign * (limit - point) > _EDGE * size
                far = nan if hidden else sign * inf
                ends.append((point, self.names[rival]) if reached else (far, None))
            (low, low_rival), (high, high_rival) = ends
            margins.append(Margin(stake.what, stake.value, low, high, low_rival, high_rival))
        return tuple(margins)

    # Internals -----------------------------------------------------------------------------------

    def _charged(self, costs: FloatArray, prior: FloatArray) -> FloatArray:
        absent = np.atleast_1d(np.isnan(self.amounts).any(axis=(0, 2)))
        known = np.where(absent[:, None], 0.0, self.amounts)
        charged = np.einsum("jkm,...km->...j", known, prior[..., None] * costs)
        undefined = (prior[..., absent] != 0).any(axis=-1)[..., None]
        return np.asarray(np.where(undefined, np.nan, charged))

    def _lead(self, costs: FloatArray, prior: FloatArray) -> tuple[int, FloatArray]:
        """The place of the first of the cheapest, and what each costs more than that one, (J,)."""
        totals = self.costs(costs, prior)
        if np.isnan(totals).any():
            raise InputError(
                "models must have cases of every class that the prior expects; one has none, and "
                "its cost is undefined. Add cases, or set that prior to zero."
            )
        # Models that tie but for rounding get an excess of exactly zero: any change may flip them.
        tied = least(totals) | (totals <= totals.min() + self.rounding)
        best = int(np.argmax(tied))
        return best, np.where(tied, 0.0, totals - totals[best])

    def _slopes(self, stake: Stake, costs: FloatArray) -> FloatArray:
        """How costs (J,) rise with a number."""
        if stake.d is not None:
            share = stake.prior[stake.k]
            return share * self.amounts[:, stake.k, stake.d] if share else np.zeros(len(self.names))
        if stake.value == 1 and len(stake.prior) > 2:
            # Nothing says how several others would share the rest.
            return np.full(len(self.names), np.nan)
        return self._charged(costs, stake.line.prior_slope)


def _overtaken(excess: FloatArray, slopes: FloatArray) -> Iterator[tuple[float, int]]:
    """How far each number moves until another is as cheap, and which of J is the cheapest then."""
    starts = np.broadcast_to(excess, slopes.shape)
    _, lowest_line, _, ends = envelopes(starts, slopes)
    moves, later = ends[: len(slopes)].tolist(), iter(lowest_line[len(slopes) :].tolist())
    return ((move, next(later) if isfinite(move) else 0) for move in moves)


def nearest_first(margins: Sequence[Margin]) -> list[Margin]:
    """Margins by the factor that leads to their nearer flip.

    Those that no factor leads to, such as costs of zero, come last: by their distance relative to
    the largest of the numbers, priors relative to 1.

    Parameters
    ----------
    margins : of costs, of factors on costs, or of priors

    Returns
    -------
    the same margins, the nearest first

    Examples
    --------
    A cost has to double, and the rare class to become a fifth as rare:

    >>> cost = Margin("cost of review for legit", 3.0, -np.inf, 6.0, None, "careful")
    >>> prior = Margin("prior of fraud", 0.01, -np.inf, 0.05, None, "careful")
    >>> [margin.what for margin in nearest_first([prior, cost])]
    ['cost of review for legit', 'prior of fraud']
    """
    _check.list_of("margins", margins, Margin)
    costs = [abs(margin.value) for margin in margins if not margin.is_prior]
    largest = max(costs, default=1.0) or 1.0

    def closeness(margin: Margin) -> tuple[float, float]:
        distance = margin.distance / (1.0 if margin.is_prior else largest)
        return margin.log_factor, inf if isnan(distance) else distance

    return sorted(margins, key=closeness)


def _shown(margin: Margin) -> list[str]:
    shown = []
    for end, rival in ((margin.low, margin.low_rival), (margin.high, margin.high_rival)):
        shown += ["never" if np.isinf(end) else f"{end:.4g}", "" if rival is None else str(rival)]
    return shown


# Decisions made anew -----------------------------------------------------------------------------


def _remade_margins(
    names: Labels,
    fixed: dict[Label, Counts],
    anew: dict[Label, DecidedAnew],
    stakes: Sequence[Stake],
) -> tuple[FloatArray, int, tuple[Margin, ...]]:
    """What models cost now (J,), the place of the cheapest, and the margins of all numbers."""
    by_stake = [_remade_curves(names, fixed, anew, stake.line) for stake in stakes]
    costs = np.array([float(curve(stakes[0].value)) for curve in by_stake[0].values()])
    best = int(np.argmax(least(costs)))
    return (
        costs,
        best,
        tuple(
            _remade_margin(stake, lowest(curves, axis=stake.what), names[best])
            for stake, curves in zip(stakes, by_stake, strict=True)
        ),
    )


def _remade_curves(
    names: Labels, fixed: dict[Label, Counts], anew: dict[Label, DecidedAnew], line: StakeLine
) -> dict[Label, Curve]:
    """What each model costs along a line."""
    curves = KeptDecisions.of(fixed).curves(line) if fixed else {}
    curves |= {name: remade_curve(model, line) for name, model in anew.items()}
    return {name: curves[name] for name in names}


def _remade_margin(stake: Stake, regions: Regions, best: Label) -> Margin:
    """The margin of a number: how far around it the best model stays the cheapest."""
    parts, value = regions.parts, stake.value
    holders = [i for i, part in enumerate(parts) if part.low <= value <= part.high]
    present = next((i for i in holders if best in parts[i].cheapest), holders[0])
    bounds: list[tuple[float, Label | None]] = []
    for side in (-1, 1):
        place = present
        while 0 <= place < len(parts) and best in parts[place].cheapest:
            place += side
        if not 0 <= place < len(parts):
            bounds.append((side * np.inf, None))
            continue
        point = parts[place].high if side < 0 else parts[place].low
        bounds.append((point, next(iter(parts[place].cheapest), None)))
    (low, low_rival), (high, high_rival) = bounds
    return Margin(stake.what, value, low, high, low_rival, high_rival)
