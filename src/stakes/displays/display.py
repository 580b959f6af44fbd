"""The base classes of displays: figures of estimators or predictions, and their numbers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stakes._check import FloatArray
from stakes._value import Value, record
from stakes.adapters.frame import frame_of
from stakes.displays.scored_cases import predictions_of
from stakes.plot import MOST_BANDS, BandedLine, banded_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
