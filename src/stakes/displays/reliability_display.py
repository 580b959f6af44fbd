r"""Reliability diagrams: bins with intervals, a smooth line with its band, and case counts.

The smooth line is the flexible calibration curve of Van Calster et al. (2016): the log-odds of the
class are a restricted cubic spline (Harrell 2015, section 2.4.5) of the log-odds of the score, with
knots at quantiles of the scores, two to four of them by the number of cases of the rarer class; two
make a straight line. The fit is Firth's (1993), which adds half the leverage of each case to either
class: where all cases of a region are of one class, the line and its interval stay finite.
Intervals are normal on the scale of log-odds (Student's with clusters).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stakes import _check
from stakes._arithmetic import round_above, table_of
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.calibration import coefficient_variances
from stakes.displays.display import (
    Display,
    PointwiseMean,
    cluster_counts,
    level_text,
    only_posteriors,
    owners_of,
    pointwise_mean,
    read_named,
    two_class_problem,
)
from stakes.errors import InputError
from stakes.evaluation import Cases, frame_library
from stakes.inference import profile_threshold
from stakes.plot import ReliabilityPanel, reliability_panels
from stakes.problem import Problem
from stakes.rows import Posteriors
from stakes.scoring import Binning, Edges, EqualWidth
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
        bins : by default ten of equal width, up to 1 or a round number above all probabilities
            Not `HullBins`, which the classes themselves choose.
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
        _refuse_unfit(bins)
        level = _check.level(level)
        problem = _problem(y_true, models, positive, classes)
        cases, named = read_named(y_true, models, problem, weights, clusters)
        shown = range(1, 2) if problem.n_classes == 2 else range(problem.n_classes)
        panels, why = [], "to be compared with shares"
        posteriors = {
            name: only_posteriors(f"models[{name!r}]", rows, cases, why, named=classes is not None)
            for name, rows in named.items()
        }
        end = round_above(max(float(rows[:, shown].max()) for rows in posteriors.values()))
        for name, rows in posteriors.items():
            for k in shown:
                label = problem.classes[k] if len(shown) > 1 else None
                title = _title(name, label, len(named) > 1)
                panels.append(_panel(title, cases, k, rows[:, k], bins or _tenths(end), end, level))
        names = tuple(name for name in named for _ in shown)
        labels = tuple(problem.classes[k] for k in shown) * len(named)
        return cls(tuple(panels), names, labels, level, frame_library(y_true, models))

    @property
    def note(self) -> str:
        """The note above the figure."""
        return f"dots and bands: {level_text(self.level)} intervals, pointwise · bars: cases"

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


def _tenths(end: float) -> Binning:
    """Ten bins of equal width below a round number that no probability exceeds."""
    return EqualWidth(10) if end == 1 else Edges(end * np.arange(1, 10) / 10)


def _refuse_unfit(bins: Binning | None) -> None:
    if bins is not None:
        _check.require("bins", bins, Binning)
    if bins is not None and bins.follow_classes:
        raise InputError(
            f"bins must not depend on the classes, because their intervals would not hold; got "
            f"{bins!r}. Write EqualMass(10), or draw the curve of HullBins with "
            f"stakes.plot.reliability."
        )


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
    title: str, cases: Cases, k: int, scores: FloatArray, bins: Binning, end: float, level: float
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
    smooth = smooth_line(cases, positive, scores, at, level, end)
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
    return cluster_counts(values[..., None], cases)


def _title(model: str, label: Label | None, several: bool) -> str:
    if label is None:
        return model
    name = label if isinstance(label, str) else f"class {label}"
    return f"{model}: {name}" if several else name


# The smooth line ---------------------------------------------------------------------------------

_CLIP = 1e-3  # of the axis: probabilities are clipped here, which a figure does not show
_STEPS, _STILL = 100, 1e-8  # most steps of Newton's method, and the change that ends it
_LONGEST = 3.0  # longest step, in log-odds: keeps Newton's method from overshooting
# Least number of cases of the rarer class, and the quantiles of the knots.
_KNOTS = ((100, (0.05, 0.35, 0.65, 0.95)), (40, (0.1, 0.5, 0.9)), (0, (0.1, 0.9)))


def smooth_line(
    cases: Cases,
    positive: IntArray,
    scores: FloatArray,
    at: FloatArray,
    level: float,
    end: float = 1.0,
) -> PointwiseMean:
    """Smooth share of positives at scores (P,), with pointwise intervals.

    It is nan where a class is absent and where all scores are equal.

    Parameters
    ----------
    cases : the cases, with weights and clusters
    positive : (n,) 1 for each positive case, 0 for others
    scores : (n,) probabilities of the cases
    at : (P,) probabilities at which the line is drawn
    level : confidence level
    end : where the axis of probabilities ends

    Returns
    -------
    PointwiseMean
        The line and the limits of its band, (P,).
    """
    from scipy.special import expit

    weights = np.ones(scores.size) if cases.weights is None else cases.weights
    if not cases.whole:
        weights = weights / weights.mean()  # Firth's penalty must not depend on their scale
    x = _log_odds(scores, end)
    counts = np.bincount(positive, minlength=2)
    if not counts.all() or x.min() == x.max():
        undefined = np.full(at.shape, np.nan)
        return PointwiseMean(undefined, undefined, undefined)
    knots = _knots(x, positive, next(q for least, q in _KNOTS if counts.min() >= least))
    at_cases, at_points = (
        np.vstack([np.ones_like(z), _spline(z, knots)]) for z in (x, _log_odds(at, end))
    )
    slopes = _firth(at_cases, positive, weights)
    owner, degrees = _owners(cases)
    residual = positive - expit(slopes @ at_cases)
    variance = coefficient_variances(at_cases, residual, weights, at_points, owner=owner)
    error = np.sqrt(profile_threshold(level, np.asarray(degrees)) * np.maximum(variance, 0.0))
    middle = slopes @ at_points
    return PointwiseMean(expit(middle), expit(middle - error), expit(middle + error))


def _firth(design: FloatArray, positive: IntArray, weights: FloatArray) -> FloatArray:
    """Coefficients of Firth's logistic regression, by Newton's method with bounded steps."""
    from scipy.special import expit

    slopes = np.zeros(len(design))
    for _ in range(_STEPS):
        chance = expit(slopes @ design)
        spread = weights * chance * (1 - chance)
        # The pseudo-inverse also serves features that are collinear in this sample.
        inverse = np.linalg.pinv((design * spread) @ design.T)
        leverage = spread * np.sum(design * (inverse @ design), axis=0)
        # The gradient of Firth's penalised likelihood: each case adds half its leverage to both
        # classes, so that coefficients stay finite where a score separates them.
        gradient = design @ (weights * (positive - chance) + leverage * (0.5 - chance))
        step = inverse @ gradient
        size = np.abs(step @ design).max()
        slopes = slopes + step * min(1.0, _LONGEST / max(size, 1e-300))
        if size < _STILL:
            break
    return slopes


def _knots(x: FloatArray, positive: IntArray, shares: tuple[float, ...]) -> FloatArray:
    """Knots: the mean of the quantiles of both classes.

    Quantiles of all cases could lie where a rare class has no cases to fit a bend.
    """
    both = [np.quantile(x[positive == k], shares) for k in (0, 1)]
    return np.unique(np.mean(both, axis=0))


def _log_odds(scores: FloatArray, end: float) -> FloatArray:
    from scipy.special import logit

    return np.asarray(logit(np.clip(scores, _CLIP * end, 1 - _CLIP)))


def _spline(x: FloatArray, knots: FloatArray) -> FloatArray:
    """Features (d, n): x and, with three knots or more, restricted cubic splines, linear beyond."""
    if knots.size < 3:
        return x[None]
    *first, before, last = knots
    width = (last - knots[0]) ** 2

    def cube(knot: float) -> FloatArray:
        return np.asarray(np.maximum(x - knot, 0) ** 3)

    bends = [
        cube(knot)
        - cube(before) * (last - knot) / (last - before)
        + cube(last) * (before - knot) / (last - before)
        for knot in first
    ]
    return np.stack([x, *(bend / width for bend in bends)])


def _owners(cases: Cases) -> tuple[IntArray | None, float]:
    """The sampling unit of each case, None if cases are, and the degrees of freedom."""
    if cases.clusters is not None:
        return cases.clusters.codes, len(cases.clusters.labels) - 1.0
    return (None if cases.whole else np.arange(len(cases.truth))), np.inf
