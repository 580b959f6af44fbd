r"""Axes: the quantity that varies while models are compared.

An axis turns the decisions or scores of each model into a curve of its cost. `CostProportion`,
`CostRatio` and `Prior` keep the decisions fixed: their cost is linear in every cost and, along a
line of priors, in the prior. `Classifiers` keep the scores fixed, and each has its own
threshold-choice method (hernandez-orallo, section 1 and table 2: a model that loses with one
method may win with another).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, Label, Labels
from stakes._value import Value, record
from stakes.conditions import Condition
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.inference import AllCases, Scheme, WithinClasses, each
from stakes.measures import decision_rates, expected_cost_per_class
from stakes.problem import Problem
from stakes.regions.lines import StakeLine, prior_line
from stakes.regions.partition import Regions, lowest
from stakes.regions.remade import DecidedAnew, remade_curve
from stakes.tally import Counts, JointCounts, JointScores, JointTally, ScoreTable, tallies_by_model
from stakes.thresholds import Method

T = TypeVar("T", Counts, ScoreTable)

Models = JointCounts | Mapping[Any, Any]  # to Counts, or to DecidedAnew of two classes
Tables = JointScores | Mapping[Any, ScoreTable]
EndpointCosts = tuple[FloatArray, FloatArray]  # costs at 0 and at 1 of an axis
Border = tuple[Label, Label]  # the cheapest model below a border, and the one above it


class Axis(Value, ABC):
    """A number of the problem that varies, and what each model costs along it.

    Examples
    --------
    Fewer misses pay where a false alarm is cheap, fewer false alarms where it is expensive:

    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> for axis in (CostProportion(), CostRatio()):
    ...     print(axis.name, axis.regions(models).crossings.round(3))
    cost proportion [0.333]
    false alarm : miss [0.5]
    """

    kind: ClassVar[type[JointTally]] = JointCounts  # what all models are tallied in

    @property
    @abstractmethod
    def name(self) -> str:
        """What varies, in words."""

    @property
    def scheme(self) -> Scheme:
        """What bootstrap replicates resample by default."""
        return AllCases()

    @abstractmethod
    def curves(self, models: Any) -> dict[Label, Curve]:
        """What each model costs along the axis.

        Parameters
        ----------
        models : tallies of the models, of the kind that the axis takes

        Returns
        -------
        a curve of the cost for each model

        Examples
        --------
        >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
        >>> round(float(CostProportion().curves(models)["bold"](0.5)), 3)
        0.15
        """

    def regions(self, models: Any) -> Regions:
        """Where each model is the cheapest.

        Parameters
        ----------
        models : tallies of the models, as in `curves`

        Returns
        -------
        intervals of the axis and the cheapest models in each

        Examples
        --------
        >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
        >>> CostProportion().regions(models).crossings.round(3)
        array([0.333])
        """
        return lowest(self.curves(models), axis=self.name)

    def checked(self, tally: Any) -> Any:
        """Return the tally of all models if it is of the axis's kind, and refuse any other.

        Parameters
        ----------
        tally : the joint tally of all models

        Returns
        -------
        the same tally

        Examples
        --------
        >>> decided = {"careful": [0, 1, 1, 1], "bold": [0, 0, 1, 0]}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2))
        >>> CostProportion().checked(joint) is joint
        True
        """
        if not isinstance(tally, self.kind):
            raise InputError(
                f"tally must be {self.kind.__name__}; got {type(tally).__name__}. Tally all models "
                f"together, by JointCounts.from_decisions or JointScores.from_scores."
            )
        return tally

    @abstractmethod
    def located(self, tally: Any, borders: list[Border], near: FloatArray) -> FloatArray:
        """Where along the axis the two models of each border cost the same, (…, B); else nan.

        Parameters
        ----------
        tally : the joint tally of all models, perhaps with a leading axis of replicates
        borders : pairs of models: the cheapest below the border, and the cheapest above it
        near : (B,) borders of the whole data; curves may cross several times, and the crossing of a
            replicate that is nearest to its border counts

        Returns
        -------
        positions, (…, B)

        Examples
        --------
        >>> decided = {"careful": [0, 1, 1, 1], "bold": [0, 0, 1, 0]}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2))
        >>> CostProportion().located(joint, [("careful", "bold")], np.array([0.5]))
        array([0.5])
        """


class StraightAxis(Axis):
    """An axis along which the cost of fixed decisions is a straight line.

    Examples
    --------
    The costs at both ends say everything about fixed decisions:

    >>> counts = Counts([[60, 40], [5, 95]])
    >>> low, high = CostProportion().endpoint_costs(counts)
    >>> curve = CostProportion().curves({"careful": counts})["careful"]
    >>> float(curve(0.25)), float(0.75 * low + 0.25 * high)
    (0.1375, 0.1375)
    """

    @abstractmethod
    def endpoint_costs(self, counts: Counts) -> EndpointCosts:
        """Costs (…) of one model at 0 and at 1.

        Parameters
        ----------
        counts : decisions of the model, (…, K, M)

        Returns
        -------
        costs at 0 and at 1, each (…)

        Examples
        --------
        >>> [float(cost) for cost in CostProportion().endpoint_costs(Counts([[60, 40], [5, 95]]))]
        [0.05, 0.4]
        """

    def mark(self, place: FloatArray) -> FloatArray:
        """Convert positions between 0 and 1 to the scale of the axis.

        Parameters
        ----------
        place : positions between 0 and 1

        Returns
        -------
        the values of the axis there

        Examples
        --------
        >>> CostRatio().mark(np.array([0.2, 0.5]))
        array([0.25, 1.  ])
        """
        return place

    @abstractmethod
    def moving(self, shares: FloatArray) -> StakeLine:
        """How costs and prior vary for decisions that follow them; for two classes.

        Parameters
        ----------
        shares : (2,) class shares of the data

        Returns
        -------
        the line along which the costs or the prior vary

        Examples
        --------
        >>> CostProportion().moving(np.array([0.9, 0.1])).bounds
        (0.0, 1.0)
        """

    def curves(self, models: Models) -> dict[Label, Curve]:
        """Straight lines for fixed decisions; lines with jumps for decisions that are made anew.

        Examples
        --------
        >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
        >>> CostProportion().curves(models)["bold"].knots
        array([0., 1.])
        """
        fixed, anew = separated(models)
        curves = {model: _line(self.endpoint_costs(counts)) for model, counts in fixed.items()}
        for model, model_anew in anew.items():
            curves[model] = remade_curve(model_anew, self.moving(model_anew.table.shares))
        # Models keep the order in which they were passed, whatever their kind.
        order: Any = models if anew else curves
        return {model: curves[model] for model in order}

    def regions(self, models: Models) -> Regions:  # noqa: D102
        return super().regions(models).mapped(lambda x: float(self.mark(np.asarray(x))), self.name)

    def gap(self, joint: JointCounts, first: Label, second: Label) -> EndpointCosts:
        """What the first model costs more than the second at 0 and at 1, (…).

        Parameters
        ----------
        joint : joint counts of all models
        first, second : labels of two models

        Returns
        -------
        differences of their costs at 0 and at 1, each (…)

        Examples
        --------
        >>> decided = {"careful": [0, 1, 1, 1], "bold": [0, 0, 1, 0]}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, Problem.zero_one(2))
        >>> [float(gap) for gap in CostProportion().gap(joint, "careful", "bold")]
        [-0.5, 0.5]
        """
        (start, end), (other_start, other_end) = (
            self.endpoint_costs(joint.model(model)) for model in (first, second)
        )
        return start - other_start, end - other_end

    def located(  # noqa: D102
        self, tally: JointCounts, borders: list[Border], near: FloatArray
    ) -> FloatArray:
        gaps = [self.gap(tally, *border) for border in borders]
        # A replicate in which the two models have swapped sides has no border of this kind.
        rising = [np.where(gap[0] < 0, root(gap), np.nan) for gap in gaps]
        return self.mark(np.stack(rising, axis=-1))


def root(costs: EndpointCosts) -> FloatArray:
    """Where a line from the first number at 0 to the second at 1 crosses zero; nan if nowhere."""
    start, end = costs
    # A line that only touches zero at an endpoint does not change sign: that is no crossing.
    return np.where(start * end < 0, ratio(start, start - end), np.nan)


@record
class CostProportion(StraightAxis):
    r"""The cost of a false alarm over the sum of the costs of both mistakes, from 0 to 1.

    For two classes and two decisions. Under a prior (None: the class shares of the data) the loss
    of fixed decisions is :math:`2\{c\,\pi_0 FPR + (1-c)\,\pi_1 FNR\}`.

    Parameters
    ----------
    prior : class shares; None for those of the data

    Examples
    --------
    >>> CostProportion([0.9, 0.1])
    CostProportion(prior=[0.9, 0.1])
    """

    prior: Any = None

    @property
    def name(self) -> str:  # noqa: D102
        return "cost proportion"

    @property
    def scheme(self) -> Scheme:
        """Cases within classes where a prior is stated, else all cases."""
        return AllCases() if self.prior is None else WithinClasses()

    def moving(self, shares: FloatArray) -> StakeLine:  # noqa: D102
        prior = shares if self.prior is None else _check.prior("prior", self.prior, (0, 1))
        # The factor 2 is that of hernandez-orallo: a uniform distribution of c then gives the
        # Brier score.
        costs, slope = np.array([[0.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 2.0], [-2.0, 0.0]])
        return StakeLine(costs, slope, prior, np.zeros(2), (0.0, 1.0))

    def endpoint_costs(self, counts: Counts) -> EndpointCosts:
        r"""Losses :math:`2\pi_1 FNR` and :math:`2\pi_0 FPR`; nan where a class has no cases.

        Examples
        --------
        >>> start, end = CostProportion([0.9, 0.1]).endpoint_costs(Counts([[60, 40], [5, 95]]))
        >>> round(float(start), 3), round(float(end), 3)
        (0.01, 0.72)
        """
        if counts.values.shape[-2:] != (2, 2):
            raise InputError(
                f"a cost proportion needs two classes and two decisions; the counts are "
                f"{counts.n_classes} by {counts.n_decisions}. sensitivity works for any shape."
            )
        shares = counts.shares
        if self.prior is not None:
            shares = _check.prior("prior", self.prior, counts.classes or (0, 1))
        rates = decision_rates(counts)
        # A class without cases has rates of nan, which must not reach the sum if its share is zero.
        misses = np.where(shares[..., 1] > 0, shares[..., 1] * rates[..., 1, 0], 0.0)
        alarms = np.where(shares[..., 0] > 0, shares[..., 0] * rates[..., 0, 1], 0.0)
        return 2 * misses, 2 * alarms


@record
class CostRatio(CostProportion):
    """The ratio false alarm : miss, from 0 to infinity.

    Curves are drawn over the cost proportion, whose scale is finite; regions and crossings are
    those of the ratio c / (1 − c).

    Parameters
    ----------
    prior : class shares; None for those of the data

    Examples
    --------
    The bold model is better once two false alarms cost as much as a miss:

    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> print(CostRatio().regions(models))
    false alarm : miss  cheapest
    0 to 0.5             careful
    0.5 to inf              bold
    """

    @property
    def name(self) -> str:  # noqa: D102
        return "false alarm : miss"

    def mark(self, place: FloatArray) -> FloatArray:  # noqa: D102
        with np.errstate(divide="ignore"):
            return np.asarray(place / (1 - place))


@record
class Prior(StraightAxis):
    """The prior of one class, from 0 to 1, at the costs of a problem.

    The other classes keep their proportions to each other: those of the problem's prior, or of the
    data where it states none.

    Parameters
    ----------
    problem : the costs
    label : the class whose share varies

    Examples
    --------
    The careful model costs 0.4 at any prior, the bold one 0.1 for the well and 1.6 for the ill:

    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
    >>> print(Prior(problem, "ill").regions(models))
    prior of ill  cheapest
    0 to 0.2          bold
    0.2 to 1       careful
    """

    problem: Problem
    label: Label

    @property
    def name(self) -> str:  # noqa: D102
        return f"prior of {self.label}"

    @property
    def scheme(self) -> Scheme:
        """Cases within classes: the prior varies, so that class sizes of the data do not matter."""
        return WithinClasses()

    def moving(self, shares: FloatArray) -> StakeLine:  # noqa: D102
        problem = self.problem
        if problem.n_classes != 2:
            raise InputError(
                f"problem must have two classes where decisions are made anew; it has "
                f"{problem.n_classes}. Pass Counts of decisions that stay as they are."
            )
        return prior_line(problem.costs, shares, self._place)

    def endpoint_costs(self, counts: Counts) -> EndpointCosts:
        """Expected costs at priors 0 and 1; nan where a class of positive prior has no cases.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
        >>> Prior(problem, "ill").endpoint_costs(Counts([[60, 40], [5, 95]]))
        (array(0.4), array(0.4))
        """
        problem, place = self.problem, self._place
        per_class = expected_cost_per_class(counts, problem)
        prior = problem.prior_or(counts.shares)
        # While the prior of one class moves from 0 to 1, the others keep their proportions.
        other_shares = np.delete(prior, place, axis=-1)
        with np.errstate(invalid="ignore"):
            other_shares = other_shares / other_shares.sum(axis=-1, keepdims=True)
        # A class without cases costs nan, which must not reach the sum if its share is zero.
        costs = np.where(other_shares == 0, 0.0, np.delete(per_class, place, axis=-1))
        return np.asarray(np.sum(other_shares * costs, axis=-1)), per_class[..., place]

    @property
    def _place(self) -> int:
        """The place of the class whose share varies."""
        classes = self.problem.classes
        if self.label not in classes:
            raise InputError(f"label must be one of the classes {classes}; got {self.label!r}.")
        return classes.index(self.label)


@record
class Classifiers(Axis):
    """The cost proportion or the skew, for pairs of a model and a threshold-choice method.

    Parameters
    ----------
    pairs : mapping from a name to a model and a method, such as ``("forest", Optimal())``
    over : `CostProportions` or `Skews`

    Examples
    --------
    One model with two thresholds. Where misses are expensive, one half is too high:

    >>> from stakes import CostProportions, ScoreDriven, ScoreFixed, ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.7, 0.9])
    >>> pairs = {"at one half": ("m", ScoreFixed(0.5)), "at the costs": ("m", ScoreDriven())}
    >>> Classifiers(pairs, CostProportions).regions({"m": table}).at(0.2)
    ('at the costs',)
    """

    kind = JointScores

    pairs: Mapping[Any, tuple[Label, Method]]
    over: Condition | type[Condition]

    @property
    def name(self) -> str:  # noqa: D102
        name = getattr(self.over, "__name__", type(self.over).__name__)
        return {"CostProportions": "cost proportion", "Skews": "skew"}.get(name, name)

    def curves(self, models: Tables) -> dict[Label, Curve]:
        """The exact loss of each classifier as a curve.

        Examples
        --------
        >>> from stakes import CostProportions, Optimal, ScoreTable
        >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        >>> axis = Classifiers({"best": ("m", Optimal())}, CostProportions)
        >>> round(float(axis.curves({"m": table})["best"](0.5)), 3)
        0.25
        """
        self._refuse_odd_pairs()
        tables = _same_cases(models, ScoreTable, "ScoreTable.from_scores")
        return {
            name: method.loss_curve(_named(tables, model), self.over)
            for name, (model, method) in self.pairs.items()
        }

    def located(  # noqa: D102
        self, tally: JointScores, borders: list[Border], near: FloatArray
    ) -> FloatArray:
        def nearest(scores: JointScores) -> FloatArray:
            """The nearest border between the same two models, in the same order."""
            regions = self.regions(scores)
            pairs = list(zip(borders_of(regions), regions.crossings, strict=True))
            same = [[at for border, at in pairs if border == wanted] for wanted in borders]
            return np.array(
                [
                    at[int(np.argmin(np.abs(np.subtract(at, place))))] if at else np.nan
                    for at, place in zip(same, near, strict=True)
                ]
            )

        return np.asarray(each(nearest)(tally)) if tally.weights.ndim > 1 else nearest(tally)

    def _refuse_odd_pairs(self) -> None:
        for name, pair in self.pairs.items():
            if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[1], Method)):
                raise InputError(
                    f"pairs must map names to a model and a method; that of {name!r} is {pair!r}. "
                    f"Pass pairs such as ('forest', Optimal()), the method being a value and not "
                    f"its class."
                )


def borders_of(regions: Regions) -> list[Border]:
    """The cheapest model on either side of every border; of several, one that differs.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each

    Returns
    -------
    the borders, from left to right

    Examples
    --------
    >>> from stakes.regions import decision_regions
    >>> borders_of(decision_regions(Problem([[0, 3, 25], [180, 8, 0]])))
    [(0, 1), (1, 2)]
    """
    _check.require("regions", regions, Regions)
    borders = []
    for below, above in zip(regions.parts[:-1], regions.parts[1:], strict=True):
        # Where models tie on one side, the border is where one of them stops being the cheapest.
        lost = [m for m in below.cheapest if m not in above.cheapest] or list(below.cheapest)
        won = [m for m in above.cheapest if m not in below.cheapest] or list(above.cheapest)
        # A part in which every curve is undefined has no cheapest model.
        borders.append((lost[0], won[0]) if lost and won else ("", ""))
    return borders


def separated(models: Any) -> tuple[dict[Label, Counts], dict[Label, DecidedAnew]]:
    """Models with fixed decisions, and models that decide anew; all on the same cases."""
    anew = {}
    if isinstance(models, Mapping):
        anew = {name: tally for name, tally in models.items() if isinstance(tally, DecidedAnew)}
    if not anew:
        return _single(models), {}
    mapping = {name: tally for name, tally in models.items() if name not in anew}
    fixed = _single(mapping) if mapping else {}
    shares = [
        tally.shares for tally in (*fixed.values(), *(tally.table for tally in anew.values()))
    ]
    if not _one_set_of_shares(shares):
        _refuse_other_cases()
    return fixed, anew


def counts_of(models: Models) -> dict[Label, Counts]:
    """The counts of every model, whose cases must be the same."""
    tables = _same_cases(models, Counts, "Counts.from_decisions")
    first = next(iter(tables.values()))
    decisions: Labels | None = None
    for counts in tables.values():
        decisions = _check.same_labels("the decisions of the models", decisions, counts.decisions)
        if counts.values.shape != first.values.shape:
            _refuse_other_cases()
    return tables


def _same_cases(models: object, kind: type[T], remedy: str) -> dict[Label, T]:
    """Tallies by model: of one kind, with the same classes in the same shares."""
    tallies = tallies_by_model(models, kind, remedy)
    classes: Labels | None = None
    for tally in tallies.values():
        classes = _check.same_labels("the classes of the models", classes, tally.classes)
    if not _one_set_of_shares([tally.shares for tally in tallies.values()]):
        _refuse_other_cases()
    return tallies


def _one_set_of_shares(shares: list[FloatArray]) -> bool:
    """Whether all models have the same class shares, of one shape."""
    first = shares[0]
    return all(
        part.shape == first.shape and np.allclose(part, first, rtol=0, atol=1e-9, equal_nan=True)
        for part in shares
    )


def _refuse_other_cases() -> None:
    raise InputError(
        "models must describe the same cases; one has another shape or other class shares than the "
        "first. Tally all models on one data set, or reweight them with with_prior."
    )


def _named(tables: dict[Label, ScoreTable], model: Label) -> ScoreTable:
    _check.one_of("a model", model, tuple(tables), "models")
    return tables[model]


def _single(models: Models) -> dict[Label, Counts]:
    """Counts without leading axes."""
    tables = counts_of(models)
    for counts in tables.values():
        _check.no_leading_axes("models", counts.leading, remedy="Index one group.")
    return tables


def _line(costs: EndpointCosts) -> Curve:
    start, end = map(float, costs)
    if np.isnan(start) or np.isnan(end):
        return Curve.undefined(0.0, 1.0)
    return Curve([0.0, 1.0], [[start, end - start]])
