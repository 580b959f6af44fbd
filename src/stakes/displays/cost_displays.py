"""Displays of decisions and their costs: decision curves, cost curves, thresholds, systems."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stakes import _check
from stakes._arithmetic import above
from stakes._check import FloatArray, Label, require
from stakes._text import always, in_unit, number
from stakes._value import record
from stakes.conditions import CostProportions
from stakes.displays.display import (
    COST_PROPORTIONS,
    THRESHOLDS,
    CurvesDisplay,
    Display,
    PointwiseMean,
    ScoredCases,
    extent,
    grid_of,
    level_text,
    limits_around,
    read_scored,
    read_two_classes,
    towards,
)
from stakes.errors import InputError
from stakes.evaluation import charges_of, evaluate
from stakes.inference import support_bounds
from stakes.plot import BandedLine, CostRow, cost_rows, short_names
from stakes.problem import Problem
from stakes.report import Report, System
from stakes.scoring import HullBins, bin_sums
from stakes.thresholds import BestThreshold, Optimal, RateDriven, best_threshold, weighed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Decision curves: net benefit, its differences, and interventions avoided ------------------------

_NO_MODEL = ("treat all", "treat none")


class DecisionCurveDisplay(CurvesDisplay):
    """Net benefit over the threshold probability, beside treating all and treating nobody.

    See `stakes.curves.decision_curve` for the formula. Higher is better. A model is worth using
    at thresholds where it lies above both reference lines. To compare models, draw
    `NetBenefitDifferenceDisplay`, whose intervals are paired.

    Examples
    --------
    At the threshold 1/2 a false positive offsets a true positive, so that treating all patients of
    whom one in four is ill does harm:

    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> display = DecisionCurveDisplay.from_predictions(y, p, thresholds=[0.2, 0.5])
    >>> {line.name: float(line.y[-1]) for line in display.lines}
    {'model': 0.25, 'treat all': -0.5, 'treat none': 0.0}
    """

    x_column, y_column = "threshold", "net_benefit"
    x_label = "threshold probability"
    y_label = "net benefit (true positives per case)"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        *,
        positive: Label | None = None,
        prevalence: float | None = None,
        thresholds: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for probabilities.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : probabilities of one model, or a mapping from name to probabilities
            P(positive class), (n,), or `Posteriors`, whose columns go by their names
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        prevalence : share of positives where the models are to be used, as for case-control data;
            by default that of the cases
        thresholds : threshold probabilities, increasing; by default 0.01, 0.02, …, 0.99
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : confidence level of the intervals

        Returns
        -------
        DecisionCurveDisplay
            The display, ready to plot.

        Examples
        --------
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> display = DecisionCurveDisplay.from_predictions(y, p, thresholds=[0.1, 0.2, 0.4])
        >>> display.columns()["net_benefit"][:3].round(3).tolist()
        [0.222, 0.188, 0.25]
        """
        cases, grid = _read(y_true, models, positive, prevalence, thresholds, weights, clusters)
        values, level = cls._values(grid), _check.level(level)
        lines = [
            cases.mean_at([name], grid, values, level).line(name, grid) for name in cases.scores
        ]
        unaided = cls._without_model(cases.prevalence, grid)
        return cls._of_lines(lines, unaided, _from_below(lines), level, cases.library, cases.note)

    @classmethod
    def _values(cls, grid: FloatArray) -> FloatArray:
        """What each decision is worth for each class at every threshold, (P, 2, 2)."""
        return _benefits(grid)

    @classmethod
    def _without_model(cls, share: float, grid: FloatArray) -> dict[str, FloatArray]:
        """The lines of what needs no model."""
        treat_all = share - (1 - share) * grid / (1 - grid)
        return {"treat all": treat_all, "treat none": np.zeros_like(grid)}


class NetBenefitDifferenceDisplay(CurvesDisplay):
    """Net benefit of each model minus that of a reference, with paired intervals.

    Examples
    --------
    At the threshold 1/2 the old model has one false positive in four cases, the new one none:

    >>> y = [0, 0, 0, 1] * 25
    >>> models = {"new": [0.1, 0.1, 0.3, 0.6] * 25, "old": [0.1, 0.1, 0.6, 0.7] * 25}
    >>> display = NetBenefitDifferenceDisplay.from_predictions(
    ...     y, models, reference="old", thresholds=[0.4, 0.5])
    >>> display.lines[0].name, float(display.lines[0].y[-1])
    ('new', 0.25)
    """

    x_column, y_column = "threshold", "difference"
    x_label = "threshold probability"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        *,
        reference: str,
        positive: Label | None = None,
        prevalence: float | None = None,
        thresholds: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for differences of net benefit.

        Parameters
        ----------
        reference : the name of one of the models, "treat all" or "treat none"
        y_true, models, positive, prevalence, thresholds, weights, clusters, level : as in
            `DecisionCurveDisplay`

        Returns
        -------
        NetBenefitDifferenceDisplay
            The display, ready to plot.

        Examples
        --------
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> display = NetBenefitDifferenceDisplay.from_predictions(
        ...     y, p, reference="treat all", thresholds=[0.1, 0.2, 0.4])
        >>> display.columns()["difference"][:3].round(3).tolist()
        [0.056, 0.125, 0.5]
        """
        cases, grid = _read(y_true, models, positive, prevalence, thresholds, weights, clusters)
        others = _with_no_model(cases)
        if not isinstance(reference, str) or reference not in others.scores:
            raise InputError(
                f"reference must be one of {', '.join(map(repr, others.scores))}; got "
                f"{reference!r}. Name the model that the others are compared with."
            )
        if set(cases.scores) == {reference}:
            raise InputError(
                f"models must hold a model besides the reference {reference!r}; it is the only "
                f"one. Add another, or compare with 'treat all'."
            )
        value, level = _benefits(grid), _check.level(level)
        pairs = (value[..., :, None] - value[..., None, :]).reshape(*value.shape[:-1], -1)
        lines = [
            others.mean_at([name, reference], grid, pairs, level).line(name, grid, place=place)
            for place, name in enumerate(cases.scores)
            if name != reference
        ]
        zero, limits = {reference: np.zeros_like(grid)}, _around_zero(lines, cases.prevalence)
        notes = cases.library, cases.note
        return cls._of_lines(lines, zero, limits, level, *notes, method="paired")

    def _y_label(self) -> str:
        *_, reference = short_names(line.name for line in self.lines)
        return f"net benefit less that of\n{reference}\n(true positives per case)"


class InterventionsAvoidedDisplay(DecisionCurveDisplay):
    """Net interventions avoided per 100 cases compared with treating all; higher is better.

    Each missed positive counts as (1 − threshold) / threshold interventions; see
    `DecisionCurve.interventions_avoided`.

    Examples
    --------
    At the threshold 1/2 three in four patients are healthy and are spared; nobody is missed:

    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> display = InterventionsAvoidedDisplay.from_predictions(y, p, thresholds=[0.2, 0.5])
    >>> float(display.lines[0].y[-1])
    75.0
    """

    x_column, y_column = "threshold", "interventions_avoided"
    y_label = "net interventions avoided\nper 100 cases"

    @classmethod
    def _values(cls, grid: FloatArray) -> FloatArray:
        values = np.zeros((grid.size, 2, 2))
        values[:, 0, 0], values[:, 1, 0] = 100.0, -100 * (1 - grid) / grid
        return values

    @classmethod
    def _without_model(cls, share: float, grid: FloatArray) -> dict[str, FloatArray]:
        return {"treat all": np.zeros_like(grid)}


def _read(
    y_true: Any,
    models: Any,
    positive: Label | None,
    prevalence: float | None,
    thresholds: object,
    weights: object,
    clusters: object,
) -> tuple[ScoredCases, FloatArray]:
    """Cases of two classes with probabilities, and the thresholds at which a curve is drawn."""
    cases = read_two_classes(
        y_true, models, positive, prevalence, weights, clusters, probabilities=True
    )
    reserved = [name for name in _NO_MODEL if name in cases.scores]
    if reserved:
        raise InputError(
            f"models must not be called {reserved[0]!r}, which is the line of no model. Rename it."
        )
    return cases, grid_of("thresholds", thresholds, THRESHOLDS, inside=True)


def _benefits(grid: FloatArray) -> FloatArray:
    """Net benefit (P, 2, 2) of each decision for each class, in true positives."""
    values = np.zeros((grid.size, 2, 2))
    values[:, 0, 1], values[:, 1, 1] = -grid / (1 - grid), 1.0
    return values


def _with_no_model(cases: ScoredCases) -> ScoredCases:
    """The same cases with treating all and treating nobody as additional models."""
    n_cases = len(cases.cases.truth)
    extra = {"treat all": np.full(n_cases, np.inf), "treat none": np.full(n_cases, -np.inf)}
    return ScoredCases(cases.cases, {**cases.scores, **extra}, cases.library)


def _from_below(lines: list[BandedLine]) -> tuple[float, float]:
    """Limits of the vertical axis from a little below 0.

    At extreme thresholds the loss of bad decisions is unbounded and would fill the figure.
    """
    _, top = extent([line.y for line in lines])
    _, reach = extent([line.high for line in lines if line.high is not None])
    top = top if top > 0 else max(reach, 1e-3)
    return -0.25 * top, max(1.05 * top, min(1.05 * reach, 1.4 * top))


def _around_zero(lines: list[BandedLine], prevalence: float) -> tuple[float, float]:
    """Limits of the vertical axis around all differences, at most ± the prevalence."""
    bands = [bounds for line in lines for bounds in (line.low, line.high) if bounds is not None]
    (low, high), most = extent(bands), max(prevalence, 1e-3)
    room = 0.05 * most
    return max(low, -most) - room, min(high, most) + room


# Loss over the cost proportion, for three ways of choosing the threshold -------------------------


class LossDisplay(CurvesDisplay):
    """Expected loss of each model over the cost proportion, beside deciding without a model.

    At the cost proportion c a false alarm costs 2c and a miss 2(1 − c), so that the two sum to 2.
    """

    x_column, y_column = "cost_proportion", "loss"
    x_label = "cost proportion c (a false alarm costs 2c, a miss 2 − 2c)"
    y_label = "expected loss per case"

    probabilities: ClassVar[bool] = False

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        *,
        positive: Label | None = None,
        prevalence: float | None = None,
        cost_proportions: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for the loss of probabilities or scores at each cost proportion.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : predictions of one model, or a mapping from name to predictions
            P(positive class), (n,), or `Posteriors`; also raw `Scores`, except for the Brier curve
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        prevalence : share of positives where the models are to be used; by default that of the
            cases
        cost_proportions : increasing, within [0, 1]; by default 0, 0.01, …, 1
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : confidence level of the intervals

        Returns
        -------
        LossDisplay
            The display, ready to plot.
        """
        needed = cls.probabilities
        cases = read_two_classes(
            y_true, models, positive, prevalence, weights, clusters, probabilities=needed
        )
        grid = grid_of("cost_proportions", cost_proportions, COST_PROPORTIONS, inside=False)
        level = _check.level(level)
        lines = [cls._mean(cases, name, grid, level).line(name, grid) for name in cases.scores]
        share = cases.prevalence
        blind = 2 * np.minimum(grid * (1 - share), (1 - grid) * share)
        unaided, limits = {"no model": blind}, _limits(lines, blind)
        return cls._of_lines(lines, unaided, limits, level, cases.library, cases.note)

    @classmethod
    @abstractmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        """Loss of one model with its interval."""


class CostCurveDisplay(LossDisplay):
    """The cost curve: loss of the best threshold at each cost proportion (Drummond and Holte).

    It is the lower envelope of the cost lines of all thresholds. Since the threshold is chosen on
    the cases that measure its loss, the curve is a little too low in small samples; its interval is
    that of the chosen threshold.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = CostCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"].round(3).tolist()
    [0.2, 0.25, 0.3, 0.25]
    """

    @classmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        best = Optimal().threshold(cases.table(model), grid)
        return cases.mean_at([model], best, _losses(grid), level)


class BrierCurveDisplay(LossDisplay):
    """The Brier curve: loss when the cost proportion is the threshold; the area is the Brier score.

    The distance above the cost curve is the loss due to bad calibration.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = BrierCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"][:2].round(3).tolist()
    [0.2, 0.25]
    """

    probabilities = True

    @classmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        return cases.mean_at([model], grid, _losses(grid), level)


class RateDrivenCurveDisplay(LossDisplay):
    r"""The rate-driven curve: the share 1 − c of the cases gets the positive decision.

    The area is π₀π₁(1 − 2 AUC) + 1/3. The threshold depends on all cases: with the share p of
    positives at the threshold, as isotonic regression estimates it, the loss is to first order a
    mean over cases,

    .. math:: Q(c) = 2c(1 - c) + 2\,E\{[y = 1]\,([s \le t] - c) - p\,([s \le t] - c)\}

    and has the interval of such a mean.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = RateDrivenCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"][:2].round(3).tolist()
    [0.22, 0.5]
    """

    @classmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        table = cases.table(model)
        exact = RateDriven().loss_curve(table, CostProportions)(grid)
        threshold = RateDriven().threshold(table, grid)
        pooled = bin_sums(table, HullBins())
        # A threshold above all scores belongs to the last bin.
        at = np.searchsorted(table.scores, threshold).clip(max=table.scores.size - 1)
        share = pooled.shares[pooled.numbers[at]]
        below = np.array([1.0, 0.0]) - grid[:, None]  # by decision: negative, positive
        values = (np.array([0.0, 1.0]) - share[:, None])[..., None] * below[:, None, :]
        mean = cases.mean_at([model], threshold, 2 * values, level)
        shift = exact - mean.value  # 2c(1 − c), and the remainder of tied scores
        return PointwiseMean(exact, mean.low + shift, mean.high + shift)


def _losses(grid: FloatArray) -> FloatArray:
    """Costs (P, 2, 2) of each class and decision at cost proportions."""
    values = np.zeros((grid.size, 2, 2))
    values[:, 0, 1], values[:, 1, 0] = 2 * grid, 2 * (1 - grid)
    return values


def _limits(lines: list[BandedLine], blind: FloatArray) -> tuple[float, float]:
    """Limits of the vertical axis around all bands.

    The line of no model is included unless it would make the bands less than 1/1.7 of the height.
    """
    _, top = extent([line.high for line in lines if line.high is not None])
    return 0.0, max(1.05 * top, min(1.05 * float(blind.max()), 1.7 * top), 1e-9)


# Costs of all systems of a report, with their intervals ------------------------------------------


@record(repr=False)
class SystemCostsDisplay(Display):
    """Costs per case of the systems of a report with intervals, the cheapest first.

    A system is a model with a decision rule. Vertical lines mark the best decision made without
    looking at the case, and perfect decisions. The system to deploy is in bold. An open circle
    marks a system that cannot be recommended: it was tuned on these very cases, or breaks a limit.

    Attributes
    ----------
    systems : the systems in the order of their costs
    report : the report that they come from

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> report = evaluate([0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25, problem, calibrator=None)
    >>> display = SystemCostsDisplay.from_report(report)
    >>> [(system.name, system.cost.value) for system in display.systems]
    [('model (tuned)', 0.0), ('model (as is)', 0.25)]
    """

    systems: tuple[System, ...]
    report: Report

    @classmethod
    def from_report(cls, report: Report) -> Self:
        """Make the display for the systems of a report.

        Parameters
        ----------
        report : Report
            As `stakes.evaluate` returns it.

        Returns
        -------
        SystemCostsDisplay
            The display, ready to plot.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> report = evaluate(y, {"new": p, "old": [0.1] * 100}, problem, calibrator=None)
        >>> SystemCostsDisplay.from_report(report).columns()["cost"].tolist()
        [0.0, 0.25, 0.75, 2.25]
        """
        require("report", report, Report)
        every = [*report.systems, *([report.no_model] if report.no_model else [])]
        costs = [system.cost.value for system in every]
        order = np.argsort(np.where(np.isnan(costs), np.inf, costs), kind="stable")
        return cls(tuple(every[k] for k in order), report)

    @classmethod
    def from_predictions(cls, y_true: Any, models: Any, problem: Problem, **options: Any) -> Self:
        """Evaluate predictions, and make the display for the systems of the report.

        Parameters
        ----------
        y_true, models, problem, options : as in `stakes.evaluate`

        Returns
        -------
        SystemCostsDisplay
            The display, ready to plot.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> SystemCostsDisplay.from_predictions(
        ...     [0, 0, 0, 1] * 25, {"new": [0.02, 0.05, 0.3, 0.6] * 25}, problem, calibrator=None)
        SystemCostsDisplay of new; draw it with plot()
        """
        require("problem", problem, Problem)
        if isinstance(models, dict):
            models = {name: towards(of, problem.classes[-1]) for name, of in models.items()}
        return cls.from_report(evaluate(y_true, models, problem, **options))

    @property
    def models(self) -> tuple[str, ...]:  # type: ignore[override]
        """The model of each system."""
        return tuple(system.model for system in self.systems)

    @property
    def library(self) -> str | None:  # type: ignore[override]
        """The library of the frames or series that were evaluated."""
        return self.report.assumptions.frame_library

    @property
    def note(self) -> str:
        """The note above the figure."""
        report = self.report.assumptions
        bars = f"bars: {level_text(report.level)} intervals · {report.n_cases:.7g} cases"
        parts = []
        if any(system.name == self.report.verdict.cheapest for system in self.systems):
            parts.append(f"bold: to {self.report.verdict.kind}")
        open_circles = [system for system in self.systems if not system.candidate]
        if any(not system.breaks_limit for system in open_circles):
            parts.append("open circle: tuned on these cases")
        elif open_circles:
            parts.append("open circle: breaks a limit")
        if self.report.verdict.doubted:
            parts.append("posteriors seem to belong to other classes: name them")
        return "\n".join([bars, " · ".join(parts)] if parts else [bars])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the costs.

        Parameters
        ----------
        ax : matplotlib Axes
            Axes to draw into; None makes a new figure.

        Returns
        -------
        matplotlib Axes
            The axes that were passed or made.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> display = SystemCostsDisplay.from_predictions(
        ...     [0, 0, 0, 1] * 25, {"new": [0.02, 0.05, 0.3, 0.6] * 25}, problem, calibrator=None)
        >>> display.plot(Figure().subplots()).get_xlabel()
        'expected cost per case, EUR'
        """
        report, unit = self.report, self.report.problem.unit
        deployed = report.verdict.cheapest
        rows = [
            CostRow(
                system.name,
                system.cost.value,
                system.cost.low,
                system.cost.high,
                best=system.name == deployed,
                candidate=system.candidate,
            )
            for system in self.systems
        ]
        blind = always(report.naive.decision)
        return cost_rows(
            rows,
            x=in_unit("expected cost per case", unit, ", "),
            note=self.note,
            references={blind: report.naive.cost, "perfect decisions": report.perfect_cost},
            ax=ax,
        )

    def columns(self) -> dict[str, Any]:
        """System, model, rule, whether it is a candidate, cost, and the limits of its interval.

        Returns
        -------
        dict
            From the name of a column to its values.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> display = SystemCostsDisplay.from_predictions(
        ...     [0, 0, 0, 1] * 25, {"new": [0.02, 0.05, 0.3, 0.6] * 25}, problem, calibrator=None)
        >>> display.columns()["system"]
        ['new (tuned)', 'new (as is)']
        """
        systems = self.systems
        return {
            "system": [system.name for system in systems],
            "model": [system.model for system in systems],
            "rule": [system.rule for system in systems],
            "candidate": [system.candidate for system in systems],
            "cost": np.array([system.cost.value for system in systems]),
            "low": np.array([system.cost.low for system in systems]),
            "high": np.array([system.cost.high for system in systems]),
        }


# Cost as a function of the threshold, with the best and the Bayes threshold ----------------------

_POINTS = 201  # thresholds at which a cost is drawn
_BLOCK = 1 << 21  # entries of (thresholds, cases) held in memory at a time


@record(repr=False)
class CostByThresholdDisplay(CurvesDisplay):
    """Expected cost per case over the threshold, with the best and the Bayes threshold.

    A dot marks the best threshold on these cases, see `best_threshold`; there is none where one
    decision about all cases is the best. The vertical line marks the Bayes threshold, which is the
    best for calibrated probabilities. A dot far from the line is a sign of bad calibration, or of a
    flat minimum. Where every case has its own costs, it also has its own Bayes threshold, and there
    is no such line; `SystemCostsDisplay` then shows what Bayes decisions cost.

    Attributes
    ----------
    bayes : the Bayes threshold; nan for raw scores and where every case has its own costs
    best : the best threshold of each model
    unit : unit of the costs

    Examples
    --------
    A false alarm costs a ninth of a miss, but these scores put all positives above 0.3:

    >>> y, p = [0, 0, 1] * 30, [0.1, 0.3, 0.6] * 30
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> display = CostByThresholdDisplay.from_predictions(y, p, problem)
    >>> display.bayes, display.best
    (0.1, (0.3,))
    """

    bayes: float
    best: tuple[float, ...]
    unit: str | None

    x_column, y_column = "threshold", "cost"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        problem: Problem,
        *,
        data: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for the cost at every threshold.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : predictions of one model, or a mapping from name to predictions
            P(second class), (n,), or `Posteriors` or raw `Scores`
        problem : of two classes and two decisions; a prior that it states is that of deployment
        data : frame, or mapping from column to numbers, that the costs depend on where they do
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : confidence level of the intervals

        Returns
        -------
        CostByThresholdDisplay
            The display, ready to plot.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> display = CostByThresholdDisplay.from_predictions(y, p, problem)
        >>> display.bayes, display.best
        (0.1, (0.3,))

        A missed case costs what is at stake in it:

        >>> problem = Problem([[0, 1], ["amount", 0]], unit="EUR")
        >>> amounts = {"amount": [9, 9, 9, 0.5] * 25}
        >>> display = CostByThresholdDisplay.from_predictions(y, p, problem, data=amounts)
        >>> display.columns()["cost"][[0, -1]].tolist()
        [0.75, 0.125]
        """
        _refuse_other_problems(problem)
        cases = read_scored(
            y_true,
            models,
            problem,
            data=data,
            weights=weights,
            clusters=clusters,
            probabilities=False,
        )
        level = _check.level(level)
        chances = all(((s >= 0) & (s <= 1)).all() for s in cases.scores.values())
        bayes = problem.threshold if chances and not problem.columns else float("nan")
        lines_and_best = [_cost_line(cases, name, chances, bayes, level) for name in cases.scores]
        lines, best = zip(*lines_and_best, strict=True)
        note = cases.note + " · every case at its own costs" * bool(problem.columns)
        around, library = limits_around(lines), cases.library
        return cls._of_lines(lines, {}, around, level, library, note, bayes, best, problem.unit)

    def _x_label(self) -> str:
        chances = all(line.x[0] == 0 and line.x[-1] == 1 for line in self.lines)
        return "threshold probability" if chances else "threshold of the score"

    def _y_label(self) -> str:
        return in_unit("expected cost per case", self.unit, ", ")

    def _verticals(self) -> dict[str, float]:
        if not np.isfinite(self.bayes):
            return {}
        return {f"Bayes threshold {self.bayes:.3g}": self.bayes}


def _refuse_other_problems(problem: Problem) -> None:
    _check.require("problem", problem, Problem)
    if (problem.n_classes, problem.n_decisions) != (2, 2):
        raise InputError(
            f"problem must have two classes and two decisions, for a threshold to decide; it "
            f"has {problem.n_classes} and {problem.n_decisions}. SystemCostsDisplay takes any."
        )


def _cost_line(
    cases: ScoredCases, name: str, chances: bool, bayes: float, level: float
) -> tuple[BandedLine, float]:
    """The cost of one model on a grid with its best and the Bayes threshold, and the best."""
    best = _best(cases, name)
    usual = np.linspace(0, 1, _POINTS) if chances else _quantiles(cases.scores[name])
    # The grid contains the marked thresholds, so that dot and line meet exactly.
    extra = [at for at in (best.threshold, bayes) if usual[0] < at < usual[-1]]
    grid = np.unique(np.concatenate([usual, extra]))
    if cases.cases.costs is None:
        values = np.broadcast_to(cases.cases.problem.costs, (grid.size, 2, 2))
        mean = cases.mean_at([name], grid, values, level)
    else:
        mean = _charged_mean(cases, name, grid, level)
    return mean.line(name, grid, **_best_words(cases, name, best)), best.threshold


def _best_words(cases: ScoredCases, name: str, best: BestThreshold) -> dict[str, Any]:
    """The mark and the name of the best threshold, or the one decision that is the best."""
    if np.isnan(best.threshold):
        return {}
    taken = np.unique(above(cases.scores[name], best.threshold))
    if taken.size == 2:
        detail = f", best at {number(best.threshold, 3)}"
        return {"mark": (best.threshold, best.cost), "detail": detail}
    [decision] = short_names([cases.cases.problem.decisions[int(taken[0])]])
    return {"detail": f", best: {always(decision)}"}


def _best(cases: ScoredCases, name: str) -> BestThreshold:
    rows, problem = cases.cases, cases.cases.problem
    if rows.costs is None:
        return best_threshold(cases.table(name), problem)
    weighed_scores = weighed(rows.truth, cases.scores[name], rows.weights, rows.costs, problem)
    if weighed_scores is None:
        raise InputError(
            "problem must have decisions that cost differently in some case; here they do not. "
            "Nothing is at stake."
        )
    return best_threshold(*weighed_scores)


def _charged_mean(
    cases: ScoredCases, name: str, thresholds: FloatArray, level: float
) -> PointwiseMean:
    """Mean cost at each threshold where every case has its own costs, in blocks of thresholds."""
    scores, parts = cases.scores[name], []
    size = max(_BLOCK // scores.size, 1)
    for start in range(0, thresholds.size, size):
        some = thresholds[start : start + size]
        decided = {str(k): above(scores, at).astype(np.intp) for k, at in enumerate(some)}
        charges = charges_of(cases.cases, decided)
        losses, base = charges.losses, charges.base
        support = losses.costs_support(tuple(decided))
        means = [losses.mean(losses.loss(threshold)) for threshold in decided]
        parts.append(np.array([means, *support_bounds(support, level)]) + base)
    return PointwiseMean(*np.concatenate(parts, axis=1))


def _quantiles(scores: FloatArray) -> FloatArray:
    """Thresholds along raw scores: as many between any two as there are cases."""
    finite = np.unique(scores[np.isfinite(scores)])
    if finite.size < 2:
        middle = finite[0] if finite.size else 0.0
        return np.array([middle - 1, middle, middle + 1])
    return np.unique(np.quantile(finite, np.linspace(0, 1, _POINTS)))
