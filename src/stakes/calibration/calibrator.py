"""The base classes of calibrators, how they read the scores of cases, and `Identity`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeGuard, TypeVar

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._value import Value, record
from stakes.calibration.maps import CalibrationMap
from stakes.decide import shift_prior
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores, read_posteriors
from stakes.scoring import class_labels, column_classes, n_columns, shape_of

CERTAIN = 53 * float(np.log(2))  # log-odds of the largest float64 below 1


class Calibrator(Value, ABC):
    """A method that turns scores into posteriors; subclasses are frozen dataclasses.

    Examples
    --------
    Isotonic regression pools 0.2 and 0.3, which are in the wrong order: one of the two is positive.

    >>> from stakes.calibration import Identity, Isotonic
    >>> for calibrator in (Identity(), Isotonic()):
    ...     print(calibrator, calibrator.fit([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1])([0.25]))
    Identity() [0.25]
    Isotonic() [0.5]
    """

    @abstractmethod
    def fit(
        self,
        scores: object,
        y: object,
        *,
        classes: object = None,
        weights: object = None,
        prior: object = None,
    ) -> CalibrationMap:
        """Learn the map from scores of cases whose classes are known.

        Parameters
        ----------
        scores : one entry or row for every case. Columns of posteriors go by position, but those of
            a frame by their names, as do those of `stakes.Posteriors` with classes.
        y : labels of the classes, (n,)
        classes : the labels in the order of the posteriors, the positive class of two being the
            second; may be left out for labels 0 … K − 1, for booleans, and where the scores name
            their classes
        weights : (n,) weights of the cases
        prior : shares of the classes for which the posteriors shall hold; the classes of the data
            are weighted accordingly. Without it, posteriors hold for the shares of the data.

        Returns
        -------
        the fitted map

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])([0.5]).tolist()
        [0.5]
        """

    def _fit_each(
        self, rows: Any, parts: BoolArray, clusters: IntArray | None
    ) -> list[CalibrationMap]:
        """Learn the map of each part, masks (F, n), of `CheckedRows`; its classes are positions.

        A calibrator that needs folds uses those of the rows, or draws folds of whole clusters; all
        others ignore both.
        """
        return [rows.fit(self, part) for part in parts]

    def _fit_parts(
        self, scores: object, negative: FloatArray, positive: FloatArray
    ) -> list[CalibrationMap | None]:
        """The maps of F parts of the cases of two classes; None where a part must be fitted alone.

        There is one score for each case. A case has the weights (F, n) in the parts, as one of
        either class. Classes are called 0 and 1.
        """
        return [None] * len(negative)


class CalibrationCases(NamedTuple):
    """Encoded cases of positive weight; the weights already follow the prior."""

    classes: Labels
    codes: IntArray
    weights: FloatArray
    shares: FloatArray  # class shares of the data, before weights follow the prior
    prior: FloatArray | None

    @property
    def by_class(self) -> tuple[FloatArray, FloatArray]:
        """The weights of negatives and of positives, for two classes; 0 for cases of the other."""
        positive = self.weights * self.codes
        return self.weights - positive, positive


FittedMap = TypeVar("FittedMap", bound=CalibrationMap)


class CheckedCalibrator(Calibrator, Generic[FittedMap]):
    """A calibrator defined by how it reads scores (`_read`) and fits checked cases (`_fitted`)."""

    def fit(  # noqa: D102
        self,
        scores: object,
        y: object,
        *,
        classes: object = None,
        weights: object = None,
        prior: object = None,
    ) -> FittedMap:
        _check.aligned(scores=scores, y=y, weights=weights)
        return self._fitted(*self._read(scores, y, classes, weights, prior))

    @staticmethod
    @abstractmethod
    def _read(
        scores: object, y: object, classes: object, weights: object, prior: object
    ) -> tuple[FloatArray, CalibrationCases]:
        """Read the scores and the cases, without those of weight 0."""

    @abstractmethod
    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedMap:
        """Learn the map from cases of positive weight."""


def read_fit_cases(
    scores: FloatArray, y: object, size: int, classes: object, weights: object, prior: object
) -> tuple[FloatArray, CalibrationCases]:
    """Scores, (n,) or (n, K), and the cases, without those of weight 0.

    Labels, weights and prior are checked; every class must occur, since a map cannot be learnt for
    one without cases.
    """
    names, codes = _read_labels(y, size, classes)
    _check.same_length(scores=scores, y=codes)
    weight = _check.weights("weights", weights, len(scores), of="y")
    if weights is not None and not weight.all():
        weighted = np.flatnonzero(weight)
        scores, codes, weight = scores[weighted], codes[weighted], weight[weighted]
    mass = np.bincount(codes, weights=None if weights is None else weight, minlength=size)
    _refuse_absent(names, mass)
    shares = mass / mass.sum()
    target = None if prior is None else _positive_prior(prior, names)
    # Reweighting the classes to the prior is the same as fitting to data with these shares.
    if target is not None:
        weight = weight * (target / shares)[codes]
    return scores, CalibrationCases(names, codes, weight, shares, target)


def _read_labels(y: object, size: int, classes: object) -> tuple[Labels, IntArray]:
    """The labels of the classes and the position of the class of each case."""
    names: Labels = (0, 1)
    if classes is not None or size > 2:
        names = class_labels(y, classes, size, name="y")
    try:
        return names, _check.codes("y", y, names)
    except InputError:
        if classes is None:
            class_labels(y, None, size, name="y")  # raises the error that asks for classes
        raise


def _positive_prior(prior: object, names: Labels) -> FloatArray:
    """The prior, after a check that every class has a positive share."""
    target = _check.prior("prior", prior, names)
    if not (target > 0).all():
        raise InputError(
            "prior must be positive for every class; one share is zero. "
            "Leave the cases and the label of that class out instead."
        )
    return target


def _refuse_absent(names: Labels, mass: Any) -> None:
    """Refuse data that lack a class."""
    absent = [name for name, weight in zip(names, mass, strict=True) if not weight > 0]
    if absent:
        raise InputError(
            f"y must hold cases of every class; there is none of {absent[0]!r}. How often a class "
            f"occurs at a score cannot be learnt without it: gather such cases, or leave the "
            f"label out of classes."
        )


# Forms of scores ----------------------------------------------------------------------------------


def is_posteriors(scores: object) -> bool:
    """Whether the scores are marked as posteriors, by a wrapper or by the columns of a frame."""
    _check.refuse_lazy("scores", scores)
    return isinstance(scores, Posteriors) or hasattr(scores, "columns")


def are_probabilities(scores: object) -> TypeGuard[FloatArray]:
    """Whether checked scores of two classes (n,) are probabilities, and not marked as raw."""
    return isinstance(scores, np.ndarray) and bool(scores.min() >= 0 and scores.max() <= 1)


def is_one_column(scores: object) -> bool:
    """Whether posteriors of two classes are one column with P(second class)."""
    values: Any = scores.values if isinstance(scores, Posteriors) else scores
    return not hasattr(values, "columns") and _check.array("scores", values).ndim == 1


def n_classes_of(scores: object) -> int:
    """The number of classes of posteriors, at least 2."""
    named = column_classes("scores", scores)
    size = n_columns("scores", scores) if named is None else len(named)
    if size < 2:
        raise InputError(
            f"scores must have a column for each of two or more classes; there is {size}. "
            f"Pass an (n,) array for P(second class) of two."
        )
    return size


def read_posterior_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, CalibrationCases]:
    """Posteriors (n, K) of any number of classes, and the cases, without those of weight 0."""
    return _read_posteriors(scores, y, n_classes_of(scores), classes, weights, prior)


def read_pair_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, CalibrationCases]:
    """Posteriors (n, 2) of two classes, and the cases, without those of weight 0."""
    return _read_posteriors(scores, y, 2, classes, weights, prior)


def _read_posteriors(
    scores: object, y: object, size: int, classes: object, weights: object, prior: object
) -> tuple[FloatArray, CalibrationCases]:
    """Posteriors (n, K) and the cases; classes may be named by the columns."""
    stated = column_classes("scores", scores) if classes is None else classes
    names: Labels = tuple(range(size))
    if stated is not None:
        names = class_labels(y, stated, size, name="y")
    rows = read_posteriors("scores", scores, names)
    return read_fit_cases(rows, y, size, None if stated is None else names, weights, prior)


def one_score_each(scores: object, classes: Labels | None) -> FloatArray:
    """One real or infinite score for each case; for named posteriors, P(second class)."""
    if isinstance(scores, Scores):
        return scores.read("scores")
    if is_posteriors(scores):
        return read_posteriors("scores", scores, classes or (0, 1))[:, 1]
    shape = shape_of("scores", scores)
    if len(shape) == 2:
        raise InputError(
            f"scores must be one number for each case; their shape is {shape}. "
            f"Of posteriors pass column 1, P(second class), or Posteriors(…, classes=…)."
        )
    return _check.real_scores("scores", scores)


def read_score_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, CalibrationCases]:
    """Real or infinite scores (n,) of two classes, and the cases, without those of weight 0."""
    values, names = _scores_and_names(scores, y, classes)
    return read_fit_cases(values, y, 2, names, weights, prior)


def read_finite_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, CalibrationCases]:
    """Finite scores (n,) of two classes, and the cases; scores of weight 0 must be finite too."""
    values, names = _scores_and_names(scores, y, classes)
    return read_fit_cases(_check.floats("scores", values), y, 2, names, weights, prior)


def _scores_and_names(
    scores: object, y: object, classes: object
) -> tuple[FloatArray, Labels | None]:
    stated = column_classes("scores", scores) if classes is None else classes
    names = None if stated is None else class_labels(y, stated, 2, name="y")
    return one_score_each(scores, names), names


def in_shape_of(scores: object, posteriors: FloatArray) -> FloatArray:
    """Posteriors (n, K), or P(second class) alone if the scores were one column."""
    return np.asarray(posteriors[:, 1]) if is_one_column(scores) else posteriors


# Logarithms of posteriors -------------------------------------------------------------------------


def largest_finite(values: FloatArray) -> float:
    """The size that replaces infinite log-odds: the largest finite one, or 53 bits if that is less.

    Parameters
    ----------
    values : log-odds, which may be infinite

    Returns
    -------
    a positive number

    Examples
    --------
    >>> largest_finite(np.array([-2.0, np.inf, 50.0]))
    50.0
    """
    low, high = values.min(initial=-CERTAIN), values.max(initial=CERTAIN)
    if np.isinf(high - low):
        return largest_finite(values[np.isfinite(values)])
    return float(max(-low, high))


def log_odds(pairs: FloatArray) -> FloatArray:
    """Log-odds (n,) of posteriors (n, 2), infinite for certainty.

    Parameters
    ----------
    pairs : posteriors of both classes, (n, 2)

    Returns
    -------
    log-odds, (n,)

    Examples
    --------
    >>> log_odds(np.array([[0.5, 0.5], [0.0, 1.0]]))
    array([ 0., inf])
    """
    _check.shapes("n 2", pairs=pairs)
    with np.errstate(divide="ignore"):
        log_negative, log_positive = np.log(pairs).T  # in one call: strided columns are slower
    return np.asarray(log_positive - log_negative)


def finite_logs(rows: FloatArray) -> tuple[FloatArray, float]:
    """Logarithms of posteriors and their lower limit, which replaces the logarithm of 0."""
    with np.errstate(divide="ignore"):
        logs = np.log(rows)
    limit = largest_finite(logs)
    return np.maximum(logs, -limit, out=logs), limit


def bounded_logs(rows: FloatArray, limit: float) -> FloatArray:
    """Logarithms of posteriors, at least −limit."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(rows), -limit)


@record
class FittedIdentity(CalibrationMap):
    """Leaves posteriors unchanged, or moves them from one prior to another."""

    kind: ClassVar[str] = "identity"
    _monotone_of_two = True

    from_prior: FloatArray
    to_prior: FloatArray
    classes: Labels
    converged: bool

    def _checked(self) -> Self:
        for name in ("from_prior", "to_prior"):
            if not (_check.prior(name, getattr(self, name), self.classes) > 0).all():
                raise InputError(f"{name} must be above zero for every class. Fit again.")
        return self

    def __call__(self, scores: object) -> FloatArray:
        """Posteriors, (n,) or (n, K), from posteriors of the same shape."""
        rows = read_posteriors("scores", scores, self.classes)
        if not np.array_equal(self.from_prior, self.to_prior):
            rows = shift_prior(rows, self.from_prior, self.to_prior)
        return in_shape_of(scores, rows)


@record
class Identity(CheckedCalibrator[FittedIdentity]):
    """Leaves posteriors unchanged: for calibrated ones, or to turn calibration off.

    With a prior, posteriors are moved from the shares of the data to it. Raw scores are refused:
    they are no posteriors.

    Examples
    --------
    >>> Identity().fit([0.2, 0.9], [0, 1])([0.25, 0.5])
    array([0.25, 0.5 ])
    >>> Identity().fit([0.2, 0.9], [0, 1], prior=[0.9, 0.1])([0.25, 0.5])
    array([0.0357, 0.1   ])
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedIdentity:
        prior = cases.shares if cases.prior is None else cases.prior
        return FittedIdentity._trusted(
            from_prior=cases.shares, to_prior=prior, classes=cases.classes, converged=True
        )
