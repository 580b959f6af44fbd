"""Where each model is the cheapest along an axis, and how certain the borders are."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import least_shares, mean_defined
from stakes._check import FloatArray, Label
from stakes._text import always
from stakes._value import Value, record, remembered
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.inference import Clusters, Estimate, Scheme, bootstrap, checked_scheme, estimate_of
from stakes.problem import Problem
from stakes.regions.axes import Axis, CostProportion, StraightAxis, borders_of, root
from stakes.regions.partition import Regions, lowest
from stakes.tally import Counts, JointCounts, Tally


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
