"""Decision curves: net benefit, its differences, and interventions avoided."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label
from stakes.displays.display import THRESHOLDS, CurvesDisplay, extent
from stakes.displays.scored_cases import ScoredCases, grid_of, read_two_classes
from stakes.errors import InputError
from stakes.plot import BandedLine, short_names

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
