"""Reliability diagrams: bins with intervals, a smooth line with its band, and case counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stakes import _check
from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.displays.display import Display, percent
from stakes.displays.scored_cases import (
    counts_of,
    owners_of,
    pointwise_mean,
    read_named,
    read_posteriors,
    two_class_problem,
)
from stakes.displays.smooth_line import smooth_line
from stakes.errors import InputError
from stakes.evaluation import Cases, frame_library
from stakes.plot import ReliabilityPanel, reliability_panels
from stakes.problem import Problem
from stakes.rows import Posteriors
from stakes.scoring import Binning, EqualWidth
from stakes.tally import Counts, ScoreTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 101  # points of a smooth line
_SHOWN = (0.005, 0.995)  # quantiles of the scores between which the smooth line is drawn


@record(repr=False)
class ReliabilityDisplay(Display):
    """Observed share of each class against its predicted probability.

    Dots are bins with the interval of their share; the line is a smooth curve (logistic regression
    on a spline of the log-odds) in its band; bars say how many cases a bin holds. Calibrated
    probabilities lie on the diagonal. Two classes make one panel for each model, that of the
    positive class; more make one for each model and class.

    Attributes
    ----------
    panels : one for each model and class
    models, classes : model and class of each panel
    level : confidence level of each interval, for one bin or one point
    library : the library of the frames or series that were passed

    Examples
    --------
    Probabilities of 0.2 are calibrated here, those of 0.9 are too high:

    >>> y, p = [0, 0, 0, 0, 1, 1, 0, 1] * 10, [0.2] * 5 + [0.9] * 3
    >>> panel = ReliabilityDisplay.from_predictions(y, p * 10, bins=EqualWidth(2)).panels[0]
    >>> panel.scores.round(2).tolist(), panel.shares.round(2).tolist()
    ([0.2, 0.9], [0.2, 0.67])
    """

    panels: tuple[ReliabilityPanel, ...]
    models: tuple[str, ...]
    classes: Labels
    level: float
    library: str | None

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        *,
        positive: Label | None = None,
        classes: object = None,
        bins: Binning | None = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for the reliability of probabilities.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : probabilities of one model, or a mapping from name to probabilities
            (n,) of the positive class, or (n, K) of all classes; `Posteriors` names its columns
        positive : label of the positive class of two; may be left out for labels 0/1 and booleans
        classes : labels of the columns of bare arrays (n, K)
            By default the labels of `Posteriors` or of a frame, or else those of y_true, sorted
        bins : by default `EqualWidth(10)`; not `HullBins`, which the classes themselves choose
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : confidence level of the intervals

        Returns
        -------
        ReliabilityDisplay
            The display, ready to plot.

        Examples
        --------
        >>> from stakes.scoring import EqualWidth
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> display = ReliabilityDisplay.from_predictions(y, p, bins=EqualWidth(2))
        >>> panel = display.panels[0]
        >>> panel.shares.round(3).tolist(), panel.weights.tolist(), panel.low.round(2).tolist()
        ([0.0, 1.0], [75.0, 25.0], [0.0, 0.88])
        """
        bins = _checked_bins(bins)
        level = _check.level(level)
        problem = _problem(y_true, models, positive, classes)
        cases, named = read_named(y_true, models, problem, weights, clusters)
        shown = range(1, 2) if problem.n_classes == 2 else range(problem.n_classes)
        panels = []
        for name, predictions in named.items():
            argument, why = f"models[{name!r}]", "to be compared with shares"
            rows = cases.rows(read_posteriors(argument, predictions, problem.classes, why))
            for k in shown:
                label = problem.classes[k] if len(shown) > 1 else None
                title = _title(name, label, len(named) > 1)
                panels.append(_panel(title, cases, k, rows[:, k], bins, level))
        names = tuple(name for name in named for _ in shown)
        labels = tuple(problem.classes[k] for k in shown) * len(named)
        return cls(tuple(panels), names, labels, level, frame_library(y_true, models))

    @property
    def note(self) -> str:
        """The note above the figure."""
        return f"dots and bands: {percent(self.level)} intervals, pointwise · bars: cases"

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the panels.

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
        >>> from stakes.scoring import EqualWidth
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> display = ReliabilityDisplay.from_predictions(y, p, bins=EqualWidth(2))
        >>> display.plot(Figure().subplots()).get_xlabel()
        'predicted probability'
        """
        return reliability_panels(self.panels, note=self.note, ax=ax)

    def columns(self) -> dict[str, Any]:
        """Bins, then points of the smooth line, panel by panel; `weight` is nan for points.

        Returns
        -------
        dict
            From the name of a column to its values.

        Examples
        --------
        >>> from stakes.scoring import EqualWidth
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> ReliabilityDisplay.from_predictions(y, p, bins=EqualWidth(2)).columns()["weight"][:2]
        array([75., 25.])
        """
        nowhere = np.full(_POINTS, np.nan)
        parts, texts = [], []
        for model, label, p in zip(self.models, self.classes, self.panels, strict=True):
            parts.append((p.scores, p.shares, p.low, p.high, p.weights))
            parts.append((p.smooth_scores, p.smooth, p.smooth_low, p.smooth_high, nowhere))
            kinds = ["bin"] * len(p.scores) + ["smooth"] * len(p.smooth_scores)
            texts += [(model, str(label), kind) for kind in kinds]
        numbers = [np.concatenate(column) for column in zip(*parts, strict=True)]
        columns = [*map(list, zip(*texts, strict=True)), *numbers]
        names = ("model", "class", "kind", "score", "observed", "low", "high", "weight")
        return dict(zip(names, columns, strict=True))


def _checked_bins(bins: Binning | None) -> Binning:
    if bins is None:
        return EqualWidth(10)
    if bins.follow_classes:
        raise InputError(
            f"bins must not depend on the classes, because their intervals would not hold; got "
            f"{bins!r}. Write EqualMass(10), or draw the curve of HullBins with "
            f"stakes.plot.reliability."
        )
    return bins


def _problem(y_true: Any, models: Any, positive: Label | None, classes: object) -> Problem:
    """The zero-one problem with the classes in the order of the columns of bare arrays."""
    first = next(iter(models.values()), None) if isinstance(models, Mapping) else models
    named = first.classes if isinstance(first, Posteriors) else _check.frame_columns(first)
    values = first.values if isinstance(first, Posteriors) else first
    shape: tuple[int, ...] = _check.array("models", values).shape
    size = shape[-1] if len(shape) == 2 else 2
    if size == 2 and classes is None:
        return two_class_problem(y_true, models, positive, None)
    stated = classes if classes is not None else named
    labels = _check.labels(
        "classes", _check.distinct("y_true", y_true) if stated is None else stated
    )
    if stated is None and len(labels) != size:
        raise InputError(
            f"classes must be stated where y_true does not hold cases of every class; it holds "
            f"{len(labels)}, and there are {size} columns. Pass classes=model.classes_."
        )
    return Problem.zero_one(labels)


def _panel(
    title: str, cases: Cases, k: int, scores: FloatArray, bins: Binning, level: float
) -> ReliabilityPanel:
    positive = (cases.truth == k).astype(np.intp)
    table = ScoreTable._of_codes(positive, scores, cases.weights, (0, 1))
    where = bins.numbers(table)[np.searchsorted(table.scores, scores)]
    weights = np.ones(scores.size) if cases.weights is None else cases.weights
    used, place = np.unique(where, return_inverse=True)
    mass = np.bincount(place, weights).astype(np.float64)
    means = np.bincount(place, weights * scores) / mass
    counts = _bin_counts(cases, positive, place, used.size, weights)
    squares = None
    if not cases.whole:
        squares = _bin_counts(cases, positive, place, used.size, weights**2).values
    share = np.broadcast_to([[0.0], [1.0]], (used.size, 2, 1))
    mean = pointwise_mean(counts, share, None, level, squares)
    # Beyond these quantiles the line would be an extrapolation.
    first, last = np.quantile(scores, _SHOWN).tolist()
    at = np.linspace(first, last, _POINTS)
    smooth = smooth_line(cases, positive, scores, at, level)
    return ReliabilityPanel(
        title,
        means,
        mean.value,
        mean.low,
        mean.high,
        mass,
        at,
        smooth.value,
        smooth.low,
        smooth.high,
    )


def _bin_counts(
    cases: Cases, positive: IntArray, place: IntArray, size: int, weights: FloatArray
) -> Counts:
    """Counts (B, 2, 1) of cases by bin and class; clusters add a leading axis."""
    owner, n_owners = owners_of(cases)
    values = table_of(weights, [owner, place, positive], (n_owners, size, 2))
    return counts_of(values[..., None], cases)


def _title(model: str, label: Label | None, several: bool) -> str:
    if label is None:
        return model
    name = label if isinstance(label, str) else f"class {label}"
    return f"{model}: {name}" if several else name
