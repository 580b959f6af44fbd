"""Fitted maps from scores to posteriors, the base classes of calibrators, and `Identity`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeGuard, TypeVar

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._files import parsed, sealed, verify, write_whole
from stakes._value import Value, record
from stakes.decide import shift_prior
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores, read_posteriors
from stakes.scoring import class_labels, column_classes, n_columns, shape_of

# Fitted maps from scores to posteriors, which can be stored as JSON ------------------------------
#
# A map holds only numbers and labels, so that it can be shipped as JSON and never as a pickle.
# Fields that are read from JSON are checked against the rules of their map, each with its own
# message.

_FORMAT = "stakes.calibration"
_VERSION = 1
_WHAT = "a calibration map"
_MOST = 1e200  # largest number in a map: products of larger ones overflow
# Entries that are not fields of a map; `prior` is written by the command line.
_AROUND = {"format", "version", "checksum", "prior"}
_REMEDY = "Fit again, or pass the text as to_json wrote it."


class AffineLogs(NamedTuple):
    r"""Posteriors :math:`p_k \propto \exp(b_k + \sum_j W_{kj} \log q_j)` of posteriors q.

    Attributes
    ----------
    matrix : (K, K) W
    intercepts : (K,) b
    limit : logarithms below −limit count as −limit

    Examples
    --------
    >>> from stakes.calibration import Temperature
    >>> fitted = Temperature().fit([0.2, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> (fitted.affine_logs.matrix * fitted.temperature).round(9).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    matrix: FloatArray
    intercepts: FloatArray
    limit: float


class CalibrationMap(Value, ABC):
    """A fitted map from scores to posteriors; subclasses are frozen dataclasses of plain parts.

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> fitted([0.3, 0.95]).tolist()
    [0.33333333333333326, 1.0]
    """

    kind: ClassVar[str]
    _monotone_of_two: ClassVar[bool] = False  # whether maps of two classes are monotonic
    # Fields that may be arrays (n,) in `_at`, one number for each case; none where they may not.
    _by_case: ClassVar[tuple[str, ...]] = ()
    classes: Labels
    converged: bool

    def __init_subclass__(cls) -> None:
        kind = vars(cls).get("kind")
        if not isinstance(kind, str):
            raise InputError(
                f"kind must be a str, which names the map in JSON; {cls.__name__} has none of its "
                f'own. Write kind: ClassVar[str] = "…".'
            )
        known = _KINDS.setdefault(kind, cls)
        if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
            raise InputError(
                f"kind must be new; {kind!r} is that of {known.__name__} already. "
                f"Give {cls.__name__} another one."
            )
        _KINDS[kind] = cls

    @property
    def monotone(self) -> bool:
        """Whether P(second class) of two is a monotonic function of the score."""
        return self._monotone_of_two and len(self.classes) == 2

    @property
    def affine_logs(self) -> AffineLogs | None:
        """The map as an affine one of log-posteriors; None where it is not."""
        return None

    @abstractmethod
    def __call__(self, scores: object) -> FloatArray:
        """Calibrated posteriors of new scores."""

    def _at(self, scores: FloatArray) -> FloatArray:
        """P(second class), (n,), from one score for each case, (n,), that was checked before."""
        return self(scores)

    @classmethod
    def _at_each(cls, maps: Sequence[Self], scores: FloatArray, which: IntArray) -> FloatArray:
        """`_at` of maps of this class: `which` (n,) is the position of the map of each case."""
        if cls._by_case:

            def by_case(name: str) -> FloatArray:
                return np.array([getattr(each, name) for each in maps])[which]

            return cls._trusted(**{name: by_case(name) for name in cls._by_case})._at(scores)
        posteriors = np.empty(scores.shape)
        for place, each in enumerate(maps):
            some = np.flatnonzero(which == place)
            posteriors[some] = each._at(scores[some])
        return posteriors

    def _checked(self) -> Self:
        """The map itself, after a check that the fields read from JSON are consistent."""
        return self

    def relabelled(self, classes: Labels) -> Self:
        """The same map with other names for its classes.

        Parameters
        ----------
        classes : the new labels

        Returns
        -------
        the map

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
        >>> fitted.relabelled(("well", "ill")).classes
        ('well', 'ill')
        """
        return self._but(classes=classes)

    def to_json(self, path: str | Path | None = None) -> str:
        """The map as text, written to a file when a path is given; `from_json` reads it back.

        Parameters
        ----------
        path : where to write it; None does not

        Returns
        -------
        the JSON

        Examples
        --------
        >>> from stakes.calibration import Isotonic, from_json
        >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
        >>> from_json(fitted.to_json()) == fitted
        True
        """
        return sealed_map(self, {}, path)


_KINDS: dict[str, type[CalibrationMap]] = {}


def sealed_map(fitted: CalibrationMap, notes: dict[str, Any], path: str | Path | None) -> str:
    """A map as JSON with a checksum, and with notes that `from_json` ignores.

    Parameters
    ----------
    fitted : the map
    notes : further entries
    path : file to write; None writes none

    Returns
    -------
    the JSON

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> from_json(sealed_map(fitted, {"prior": [0.7, 0.3]}, None)) == fitted
    True
    """
    text = sealed({"format": _FORMAT, "version": _VERSION, **encoded_map(fitted), **notes})
    if path is not None:
        write_whole(path, text)
    return text


def encoded_map(part: CalibrationMap) -> dict[str, Any]:
    """The fields of a map as values for JSON.

    Parameters
    ----------
    part : the map

    Returns
    -------
    a dictionary with the kind of the map and its fields

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> encoded_map(Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]))["kind"]
    'isotonic'
    """
    _check.require("part", part, CalibrationMap)
    body = {field.name: _plain(getattr(part, field.name)) for field in fields(part)}
    return {"kind": part.kind, **body}


def _plain(part: Any) -> Any:
    if isinstance(part, CalibrationMap):
        return encoded_map(part)
    if isinstance(part, np.ndarray):
        return part.tolist()
    return [_plain(item) for item in part] if isinstance(part, tuple) else part


def from_json(text: str | Path) -> CalibrationMap:
    """Read a map that `CalibrationMap.to_json` wrote: its text, or the path of a file.

    Parameters
    ----------
    text : the JSON, or the path of a file that has it

    Returns
    -------
    the map, as it was fitted

    Examples
    --------
    >>> from stakes.calibration import Logistic
    >>> fitted = Logistic().fit([-1.0, 0.5, 0.2, 2.0], [0, 0, 1, 1])
    >>> from_json(fitted.to_json()) == fitted
    True
    """
    body = parsed("text", text, _WHAT, form=_FORMAT, version=_VERSION)
    content = {key: part for key, part in body.items() if key not in _AROUND}
    fitted = decoded_map(content)  # before the checksum, because its messages are more specific
    verify("text", body, _WHAT)
    return fitted


def decoded_map(body: object) -> CalibrationMap:
    """A calibration map from its fields, which are checked.

    Parameters
    ----------
    body : the dictionary of `encoded_map`, as read from JSON

    Returns
    -------
    the map

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> fitted = Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> decoded_map(encoded_map(fitted)) == fitted
    True
    """
    if not isinstance(body, dict):
        raise InputError(f"a map must be an object; got {body!r}. Pass what to_json wrote.")
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(
            f"kind must be one of {', '.join(sorted(_KINDS))}; got {kind!r}. "
            f"A newer release of stakes may know it."
        )
    cls = _KINDS[kind]
    expected = {field.name: str(field.type) for field in fields(cls)}
    if set(expected) != set(body) - {"kind"}:
        odd = sorted(set(expected) ^ (set(body) - {"kind"}))
        raise InputError(
            f"a {kind} map must have {sorted(expected)}; {odd[0]!r} is odd. Fit again."
        )
    parts = {name: _part(name, body[name], type_) for name, type_ in expected.items()}
    if len(parts["classes"]) < 2:
        raise InputError(
            f"classes must be 2 labels or more; got {len(parts['classes'])}. Fit again."
        )
    return cls._trusted(**parts)._checked()


def _part(name: str, value: Any, type_: str) -> Any:
    """The value of a field from JSON, by the type of the field; numbers must be finite."""
    if type_.startswith("tuple"):
        if not isinstance(value, list):
            raise InputError(f"{name} must be a list of maps; got {value!r}. {_REMEDY}")
        return tuple(decoded_map(item) for item in value)
    if type_ == "bool":
        if not isinstance(value, bool):
            raise InputError(f"{name} must be true or false; got {value!r}. {_REMEDY}")
        return value
    if type_ == "Labels":
        if not isinstance(value, list):
            raise InputError(f"{name} must be a list of labels; got {value!r}. {_REMEDY}")
        return _check.labels(name, value)
    if isinstance(value, bool) or not isinstance(value, int | float | list):
        raise InputError(f"{name} must hold numbers; got {value!r}. {_REMEDY}")
    if type_ == "float":
        return _check.number(name, value, low=-_MOST, high=_MOST)
    array = _check.floats(name, value)
    return array if array.ndim else array[None]  # a check of its shape will refuse a single number


# Checks of fields --------------------------------------------------------------------------------


def require_two(classes: Labels) -> None:
    """Refuse another number of classes than two."""
    if len(classes) != 2:
        raise InputError(f"classes must be 2 labels; got {len(classes)}. {_REMEDY}")


def require_positive(name: str, value: float) -> None:
    """Refuse numbers that are not positive."""
    if not value > 0:
        raise InputError(f"{name} must be above zero; got {value:g}. {_REMEDY}")


def require_shape(name: str, array: FloatArray, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape."""
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}; it has {array.shape}. {_REMEDY}")


def require_increasing(name: str, array: FloatArray) -> None:
    """Refuse numbers that are not strictly increasing."""
    if array.ndim != 1 or not (array[1:] > array[:-1]).all():
        raise InputError(f"{name} must be increasing; these are not. {_REMEDY}")


def require_rising(names: str, array: FloatArray) -> None:
    """Refuse numbers that decrease somewhere."""
    if not (np.diff(array) >= 0).all():
        raise InputError(f"{names} must not fall; these do. {_REMEDY}")


# The base classes of calibrators, how they read the scores of cases, and `Identity` --------------

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
