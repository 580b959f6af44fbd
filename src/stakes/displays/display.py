"""The base classes of displays: figures of estimators or predictions, and their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import ClusterLabels, FloatArray, IntArray, Label, Labels
from stakes._value import Value, record
from stakes.adapters.frame import frame_of
from stakes.errors import InputError
from stakes.evaluation import (
    Cases,
    better_order,
    frame_library,
    read_cases,
    read_models,
    refuse_misaligned,
    refuse_needless,
)
from stakes.inference import support_bounds, unchecked_cost_support
from stakes.measures import decision_rates, prior_of
from stakes.plot import MOST_BANDS, BandedLine, banded_lines
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors, Scores
from stakes.tally import Counts, ScoreTable, two_classes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Cases with the scores of several models, and their means at thresholds with intervals -----------


@record
class DecisionScores(Scores):
    """Scores of a ``decision_function``; higher scores favour the second of `classes`."""

    classes: Any = None


def towards(predictions: Any, positive: Label) -> Any:
    """The predictions; of a ``decision_function``, high scores are made to favour a class."""
    if not isinstance(predictions, DecisionScores):
        return predictions
    first, _ = _check.labels("the classes of the estimator", predictions.classes)
    return Scores(np.negative(predictions.values) if positive == first else predictions.values)


def predictions_of(estimators: Any, X: Any) -> dict[str, Posteriors | DecisionScores]:
    """Predictions by the name of their estimator; a single estimator is named after its type."""
    if not isinstance(estimators, Mapping):
        return {_type_name(estimators): _predicted("estimator", estimators, X)}
    return {
        str(name): _predicted(f"estimator[{name!r}]", estimator, X)
        for name, estimator in estimators.items()
    }


def _type_name(estimator: Any) -> str:
    """The name of the type of an estimator; for a pipeline, that of its last step."""
    steps = getattr(estimator, "steps", None)
    return _type_name(steps[-1][1]) if steps else type(estimator).__name__


def _predicted(argument: str, estimator: Any, X: Any) -> Posteriors | DecisionScores:
    classes = getattr(estimator, "classes_", None)
    if isinstance(estimator, type) or classes is None:
        is_class = isinstance(estimator, type)
        got = f"the class {estimator.__name__}" if is_class else type(estimator).__name__
        raise InputError(
            f"{argument} must be a fitted classifier, which has classes_; got {got}, which has "
            f"none. Fit an instance first, or pass predictions to from_predictions."
        )
    if hasattr(estimator, "predict_proba"):
        return Posteriors(_check.array(argument, estimator.predict_proba(X)), classes=list(classes))
    if hasattr(estimator, "decision_function") and len(classes) == 2:
        return DecisionScores(_check.array(argument, estimator.decision_function(X)), list(classes))
    raise InputError(
        f"{argument} must have predict_proba or, for two classes, decision_function; "
        f"{type(estimator).__name__} with {len(classes)} classes has neither. "
        f"Wrap it in a calibrated classifier, which has probabilities."
    )


@record
class PointwiseMean:
    """Means (P,) over cases at the points of a curve, and the limits of their intervals."""

    value: FloatArray
    low: FloatArray
    high: FloatArray

    def line(self, name: str, x: FloatArray, **style: Any) -> BandedLine:
        """The means as a line with its band."""
        return BandedLine(name, x, self.value, self.low, self.high, **style)


@record
class ScoredCases:
    """Cases of two classes and the scores of each model.

    Attributes
    ----------
    cases : truth, weights, clusters, and the problem with its prior
    scores : for each model P(second class), or a raw score, of every case
    library : the library of the frames or series that were passed
    """

    cases: Cases
    scores: dict[str, FloatArray]
    library: str | None

    @property
    def prevalence(self) -> float:
        """Share of the second class: as the problem states it, or else in the cases."""
        return float(self.cases.prior[1])

    @cached_property
    def note(self) -> str:
        """The prevalence and where it comes from, for the note of a figure."""
        stated = self.cases.problem.prior is not None
        origin = "as stated" if stated else f"in {len(self.cases.truth)} cases"
        return f"prevalence {self.prevalence:.3g} {origin}"

    def table(self, model: str) -> ScoreTable:
        """The score table of one model, under the prior of the problem."""
        problem = self.cases.problem
        table = ScoreTable._of_codes(
            self.cases.truth, self.scores[model], self.cases.weights, problem.classes
        )
        return table if problem.prior is None else table.with_prior(problem.prior)

    def mean_at(
        self, models: Sequence[str], thresholds: FloatArray, values: FloatArray, level: float
    ) -> PointwiseMean:
        """Mean value per case of decisions at non-decreasing thresholds (P,).

        `values` are (P, 2, 2), class by decision; for two models they are (P, 2, 4), class by pair
        of decisions. The pointwise intervals are those of `profile_interval`, by profile likelihood
        and without random numbers.
        """
        bins = [np.searchsorted(thresholds, self.scores[model], side="left") for model in models]
        counts = self._counts(bins, thresholds.size, self.cases.weights)
        squares = None
        if not self.cases.whole and self.cases.weights is not None:
            squares = self._counts(bins, thresholds.size, self.cases.weights**2).values
        return pointwise_mean(counts, values, self.cases.problem.prior, level, squares)

    def _counts(self, bins: list[IntArray], size: int, weights: FloatArray | None) -> Counts:
        """Counts (P, 2, M) of decisions at all thresholds; clusters add a leading axis.

        `bins` hold for every model how many thresholds each score exceeds. Cases with the same bins
        are pooled first, so that the loop over thresholds costs the number of distinct bins.
        """
        owner, n_owners = owners_of(self.cases)
        shape = (n_owners, 2, *(size + 1 for _ in bins))
        cells = np.ravel_multi_index((owner, self.cases.truth, *bins), shape)
        used, place = np.unique(cells, return_inverse=True)
        mass = np.bincount(place, weights, used.size)
        codes = np.unravel_index(used, shape)
        stem = (codes[0] * 2 + codes[1]) * 2 ** len(bins)
        values = np.empty((n_owners, size, 2, 2 ** len(bins)))
        for point in range(size):
            code = stem.copy()
            for bit, exceeded in enumerate(reversed(codes[2:])):
                code += (exceeded > point) << bit
            sums = np.bincount(code, mass, minlength=values[:, 0].size)
            values[:, point] = sums.reshape(values[:, 0].shape)
        return cluster_counts(values, self.cases)


def pointwise_mean(
    counts: Counts,
    values: FloatArray,
    prior: FloatArray | None,
    level: float,
    squares: FloatArray | None,
) -> PointwiseMean:
    """Mean value per case of decisions from counts (P, K, M), or (G, P, K, M) with clusters.

    `squares` are sums of squared weights where weights are not counts.
    """
    support = unchecked_cost_support(counts, values, prior, squares=squares)
    low, high = support_bounds(support, level)
    totals = counts.values if counts.groups is None else counts.values.sum(axis=0)
    pooled = Counts._unlabelled(totals)
    shares = prior_of(pooled, Problem(np.zeros(totals.shape[-2:]), prior=prior))[..., None]
    rates = np.where(shares > 0, decision_rates(pooled), 0.0)
    return PointwiseMean(np.sum(shares * rates * values, axis=(-2, -1)), low, high)


def owners_of(cases: Cases) -> tuple[IntArray, int]:
    """The cluster of every case, and the number of clusters; without clusters there is one."""
    if cases.clusters is None:
        return np.zeros_like(cases.truth), 1
    return cases.clusters.codes, len(cases.clusters.labels)


def cluster_counts(values: FloatArray, cases: Cases) -> Counts:
    """Counts of tables (G, …), one for each cluster; without clusters there is only the first."""
    by, names = (values[0], None) if cases.clusters is None else (values, cases.clusters.labels)
    return Counts._unlabelled(by, None if names is None else ClusterLabels(names))


def read_named(
    y_true: Any,
    models: Any,
    problem: Problem,
    weights: object,
    clusters: object,
    data: object = None,
) -> tuple[Cases, dict[str, Any]]:
    """The cases, and the predictions of every model."""
    refuse_needless(data, problem)
    cases = read_cases(y_true, problem, weights, None, clusters, data)
    named = read_models(models, cases.n_rows)
    refuse_misaligned(y_true, named, weights, None, clusters, data)
    return cases, named


def read_scored(
    y_true: Any,
    models: Any,
    problem: Problem,
    *,
    weights: object,
    clusters: object,
    probabilities: bool,
    data: object = None,
) -> ScoredCases:
    """Read and check cases of two classes; raw scores are refused if probabilities are needed."""
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes here; it has {problem.n_classes}. For one class "
            f"against the rest pass y_true == label, and the probabilities of that class."
        )
    cases, named = read_named(y_true, models, problem, weights, clusters, data)
    scores = {
        name: cases.rows(_score(f"models[{name!r}]", predictions, problem.classes, probabilities))
        for name, predictions in named.items()
    }
    return ScoredCases(cases, scores, frame_library(y_true, models))


def read_two_classes(
    y_true: Any,
    models: Any,
    positive: Label | None,
    prevalence: float | None,
    weights: object,
    clusters: object,
    *,
    probabilities: bool,
) -> ScoredCases:
    """Read and check cases whose problem is that of two classes, at a prevalence if stated."""
    problem = two_class_problem(y_true, models, positive, prevalence)
    return read_scored(
        y_true, models, problem, weights=weights, clusters=clusters, probabilities=probabilities
    )


def _score(name: str, predictions: Any, classes: Labels, probabilities: bool) -> FloatArray:
    """One number for each case; higher ones favour the second class."""
    if isinstance(predictions, Decisions):
        raise InputError(
            f"{name} must hold probabilities{' or Scores' * (not probabilities)}; these are whole "
            f"numbers, booleans or labels, which are read as decisions. Pass what the model says "
            f"before it decides, as floats."
        )
    if not isinstance(predictions, Scores):
        return np.asarray(predictions.read(name, classes)[:, 1])
    if probabilities:
        raise InputError(
            f"{name} must hold probabilities here, to be compared with threshold probabilities; "
            f"these are raw scores. Calibrate them first, for example with "
            f"stakes.calibration.cross_calibrate."
        )
    return np.asarray(towards(predictions, classes[1]).read(name))


def only_posteriors(
    name: str, predictions: Any, cases: Cases, why: str, *, named: bool = False
) -> FloatArray:
    """Posteriors (n, K) of a model; scores and decisions are refused.

    So are columns of three classes or more that fit clearly better in another order, unless it was
    `named` which class each belongs to.
    """
    if not isinstance(predictions, Posteriors):
        raise InputError(
            f"{name} must hold posteriors, {why}; these are {type(predictions).__name__.lower()}. "
            f"Calibrate raw scores first; decisions have none.",
            argument="models",
        )
    classes = cases.problem.classes
    rows: FloatArray = cases.rows(predictions.read(name, classes))
    if named or predictions.is_named or len(classes) == 2:
        return rows
    if (order := better_order(rows, cases)) is not None:
        better = [classes[order.columns.index(k)] for k in range(len(classes))]
        raise InputError(
            f"columns of {name} must be in the order of the classes, {_first(classes)}; the order "
            f"{_first(better)} fits clearly better (log loss {order.reordered:.3g} in place of "
            f"{order.as_given:.3g}). Write Posteriors(values, classes=model.classes_).",
            argument="models",
        )
    return rows


def _first(labels: Sequence[Label]) -> str:
    return ", ".join(map(str, labels[:6])) + ", …" * (len(labels) > 6)


def _refuse_unnamed_columns(models: Any, classes: Labels) -> None:
    """Refuse two columns without names where the positive class is not the last in sorted order.

    Scikit-learn sorts classes; here the positive class is the second.
    """
    named = models if isinstance(models, Mapping) else {"model": models}
    for name, predictions in named.items():
        values = predictions.values if isinstance(predictions, Posteriors) else predictions
        known = _check.frame_columns(values) or getattr(predictions, "classes", None)
        is_table = known is None and _check.array(f"models[{name!r}]", values).ndim == 2
        if is_table and not _sorted(*classes):
            raise InputError(
                f"columns of models[{name!r}] must be named where the positive class "
                f"{classes[1]!r} is not the last by its label: scikit-learn sorts classes, and a "
                f"bare array does not say. Write Posteriors(values, classes=model.classes_), or "
                f"pass the probabilities of {classes[1]!r} alone.",
                argument="models",
            )


def _sorted(first: Any, second: Any) -> bool:
    """Whether scikit-learn would list two classes in this order."""
    return type(first) is type(second) and bool(first < second)


def two_class_problem(
    y_true: object, models: Any, positive: Label | None, prevalence: object
) -> Problem:
    """The zero-one problem of two classes, the positive one second, with a prevalence or None.

    Models whose columns could be in another order are refused.
    """
    names, _ = two_classes(y_true, positive)
    classes: tuple[Any, ...] = names or (f"not {positive}", positive)
    _refuse_unnamed_columns(models, classes)
    prior = None
    if prevalence is not None:
        share = _check.number("prevalence", prevalence, low=0, high=1)
        prior = np.array([1 - share, share])
    return Problem.zero_one(classes, prior=prior)


def grid_of(name: str, points: object, usual: FloatArray, *, inside: bool) -> FloatArray:
    """Increasing probabilities at which a curve is drawn, strictly in (0, 1) if `inside`."""
    if points is None:
        return usual
    grid = _check.probabilities(name, points, ndim=1)
    allowed = "strictly between 0 and 1" if inside else "within [0, 1]"
    if (
        grid.size < 2
        or not (np.diff(grid) > 0).all()
        or (inside and not 0 < grid[0] < grid[-1] < 1)
    ):
        raise InputError(
            f"{name} must be two or more increasing numbers {allowed}; got {grid.size}, "
            f"{grid[:4].tolist()} first. Write np.linspace(0.05, 0.5, 46)."
        )
    return grid


# The base classes of displays: figures of estimators or predictions, and their numbers -----------

COST_PROPORTIONS = np.linspace(0, 1, 101)
THRESHOLDS = np.arange(1, 100) / 100


class Display(Value, ABC):
    """A figure and its numbers; subclasses are frozen dataclasses with `from_predictions`.

    Examples
    --------
    Whatever a display draws can also be had as columns, or as a frame:

    >>> from stakes.displays import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     [0, 1] * 9, [0.2, 0.7] * 9, thresholds=[0.4, 0.5])
    >>> display
    DecisionCurveDisplay of model; draw it with plot()
    >>> display.columns()["model"][::2], display.columns()["net_benefit"][1::2].tolist()
    (['model', 'treat all', 'treat none'], [0.5, 0.0, 0.0])
    """

    library: str | None  # the library of the frames or series that were passed
    models: tuple[str, ...]

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(self.models))
        shown = names if len(names) <= 60 else f"{names[:59]}…"
        return f"{type(self).__name__} of {shown}; draw it with plot()"

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *problem: Any, **options: Any) -> Self:
        """Make the display for fitted classifiers.

        Parameters
        ----------
        estimator : a fitted classifier, or a mapping from name to classifier
            Anything with ``classes_`` and ``predict_proba``, or ``decision_function`` where raw
            scores will do. Probabilities go by the names in ``classes_``.
        X : features of the cases
        y : labels of their true classes, (n,)
        problem, options : all other arguments of `from_predictions`, in the same order

        Returns
        -------
        Display
            The display, ready to plot.

        Examples
        --------
        >>> import numpy as np
        >>> from stakes.displays import BrierCurveDisplay
        >>> class Ready:  # any fitted classifier of scikit-learn
        ...     classes_ = np.array(["ill", "well"])
        ...     def predict_proba(self, X):
        ...         return np.column_stack([X, 1 - X])
        >>> y, X = np.array(["well", "well", "ill"] * 9), np.array([0.1, 0.2, 0.7] * 9)
        >>> BrierCurveDisplay.from_estimator({"new": Ready()}, X, y, positive="ill")
        BrierCurveDisplay of new; draw it with plot()
        """
        return cls.from_predictions(y, predictions_of(estimator, X), *problem, **options)

    @classmethod
    @abstractmethod
    def from_predictions(cls, y_true: Any, models: Any, *args: Any, **options: Any) -> Self:
        """Make the display for predictions.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : an array of predictions, or a mapping from name to array
        args, options : further arguments; see the displays

        Returns
        -------
        Display
            The display, ready to plot.

        Examples
        --------
        >>> from stakes.displays import BrierCurveDisplay
        >>> BrierCurveDisplay.from_predictions([0, 0, 1] * 9, [0.1, 0.2, 0.7] * 9)
        BrierCurveDisplay of model; draw it with plot()
        """

    @abstractmethod
    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw into the Axes, or into a new figure: ``display.plot().figure.savefig(path)``.

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
        >>> from stakes.displays import BrierCurveDisplay
        >>> display = BrierCurveDisplay.from_predictions([0, 0, 1] * 9, [0.1, 0.2, 0.7] * 9)
        >>> display.plot(Figure().subplots()).get_xlabel()
        'cost proportion c (a false alarm costs 2c, a miss 2 − 2c)'
        """

    @abstractmethod
    def columns(self) -> dict[str, Any]:
        """The numbers of the figure as columns of equal length; nan where there is none.

        Returns
        -------
        dict
            From the name of a column to its values.

        Examples
        --------
        >>> from stakes.displays import BrierCurveDisplay
        >>> display = BrierCurveDisplay.from_predictions([0, 0, 1] * 9, [0.1, 0.2, 0.7] * 9)
        >>> sorted(display.columns())
        ['cost_proportion', 'high', 'loss', 'low', 'model']
        """

    def frame(self, library: Any = None) -> Any:
        """The numbers of the figure as a frame.

        Parameters
        ----------
        library : pandas, polars or pyarrow
            The module or its name; by default the library of the frames or series that were
            passed.

        Returns
        -------
        frame
            The columns of `columns`.

        Examples
        --------
        >>> from stakes.displays import BrierCurveDisplay
        >>> display = BrierCurveDisplay.from_predictions([0, 0, 1] * 9, [0.1, 0.2, 0.7] * 9)
        >>> display.frame("polars").columns
        ['model', 'cost_proportion', 'loss', 'low', 'high']
        """
        return frame_of(self.columns(), library, self.library)


@record(repr=False)
class CurvesDisplay(Display):
    """A line with a pointwise band for each model, and reference lines without a model.

    Bands of more than six models would hide each other, so that none is drawn; `columns` has the
    limits of their intervals.

    Attributes
    ----------
    lines : one for each model, then the reference lines
    level : confidence level of each interval, for one point of one line
    note : what the figure says about bands and cases
    limits : lower and upper limit of the vertical axis
    library : the library of the frames or series that were passed

    Examples
    --------
    >>> from stakes.displays import DecisionCurveDisplay
    >>> display = DecisionCurveDisplay.from_predictions(
    ...     [0, 1] * 9, [0.2, 0.7] * 9, thresholds=[0.4, 0.5])
    >>> [line.name for line in display.lines], display.models
    (['model', 'treat all', 'treat none'], ('model',))
    >>> display.lines[0].x.tolist(), display.lines[0].y.tolist()
    ([0.4, 0.5], [0.5, 0.5])
    """

    lines: tuple[BandedLine, ...]
    level: float
    note: str
    limits: tuple[float, float]
    library: str | None

    x_column: ClassVar[str]
    y_column: ClassVar[str]
    x_label: ClassVar[str]
    y_label: ClassVar[str]

    @property
    def models(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the models."""
        return tuple(line.name for line in self.lines if not line.reference)

    @classmethod
    def _of_lines(
        cls,
        lines: Sequence[BandedLine],
        without_model: Mapping[str, FloatArray],
        limits: tuple[float, float],
        level: float,
        library: str | None,
        note: str,
        *more_fields: Any,
        method: str = "",
    ) -> Self:
        """The display of the lines of the models, beside those of what needs no model."""
        unaided = [
            BandedLine(name, lines[0].x, values, reference=True)
            for name, values in without_model.items()
        ]
        how = f" ({method})" if method else ""
        bands = f"bands: {level_text(level)} intervals, pointwise{how}"
        if len(lines) > MOST_BANDS:
            bands = f"no bands of more than {MOST_BANDS} models"
        return cls((*lines, *unaided), level, f"{bands} · {note}", limits, library, *more_fields)

    def columns(self) -> dict[str, Any]:
        """Model, point, value, and the limits of the interval; nan for reference lines.

        Returns
        -------
        dict
            From the name of a column to its values.
        """
        return {
            "model": [line.name for line in self.lines for _ in line.x],
            self.x_column: np.concatenate([line.x for line in self.lines]),
            self.y_column: np.concatenate([line.y for line in self.lines]),
            "low": np.concatenate([_or_nan(line.low, line.x) for line in self.lines]),
            "high": np.concatenate([_or_nan(line.high, line.x) for line in self.lines]),
        }

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw lines, bands and names.

        Parameters
        ----------
        ax : matplotlib Axes
            Axes to draw into; None makes a new figure.

        Returns
        -------
        matplotlib Axes
            The axes that were passed or made.
        """
        return banded_lines(
            self.lines,
            x=self._x_label(),
            y=self._y_label(),
            note=self.note,
            ylim=self.limits,
            verticals=self._verticals(),
            ax=ax,
        )

    def _x_label(self) -> str:
        return self.x_label

    def _y_label(self) -> str:
        return self.y_label

    def _verticals(self) -> dict[str, float]:
        """Values of x to mark, by name."""
        return {}


def limits_around(lines: Sequence[BandedLine]) -> tuple[float, float]:
    """Limits of the vertical axis that leave some room around all bands."""
    low, high = extent([b for line in lines for b in (line.low, line.high) if b is not None])
    size = max(abs(low), abs(high))
    room = 0.05 * (high - low if high - low > 1e-9 * size else size or 1.0)
    return low - room, high + room


def level_text(level: float) -> str:
    """A confidence level as a percentage, as in "95 %"."""
    return f"{100 * level:.4g} %"


def extent(parts: Sequence[FloatArray]) -> tuple[float, float]:
    """The smallest and largest finite number of several arrays; 0 and 1 where there is none.

    >>> extent([np.array([2.0, np.inf]), np.array([5.0, np.nan])]), extent([np.array([np.nan])])
    ((2.0, 5.0), (0.0, 1.0))
    """
    numbers = np.concatenate(parts)
    numbers = numbers[np.isfinite(numbers)]
    return (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 1.0)


def _or_nan(bounds: FloatArray | None, like: FloatArray) -> FloatArray:
    return np.full(like.shape, np.nan) if bounds is None else bounds
