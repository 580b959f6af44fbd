"""What all calibrators share: the contract, the reading of cases, and maps that travel as JSON.

A calibrator is a value without data; ``fit(scores, y)`` makes a map of it, also a value; calling
the map turns new scores into posteriors. A map is plain numbers and labels, so that it is shipped
as JSON and never as a pickle.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes._value import Value
from stakes.calibration.parts import read_part
from stakes.errors import InputError
from stakes.scoring.rows import class_labels

_FORMAT = "stakes.calibration"
_VERSION = 1


class CalibrationMap(Value, ABC):
    """A fitted map from scores to posteriors; subclasses are frozen dataclasses of plain parts."""

    kind: ClassVar[str]
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

    @abstractmethod
    def __call__(self, scores: object) -> FloatArray:
        """Posteriors of new scores."""

    def _checked(self) -> Self:
        """Return the map if its parts, which came as text, fit together; others are refused."""
        return self

    def to_json(self) -> str:
        """Write the map as text; `from_json` reads it back, exactly."""
        return json.dumps({"format": _FORMAT, "version": _VERSION, **_encoded(self)})


_KINDS: dict[str, type[CalibrationMap]] = {}


class Calibrator(Value, ABC):
    """A way to make posteriors of scores; subclasses are frozen dataclasses."""

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
        """

    def _fit_in_groups(
        self, scores: object, y: object, groups: IntArray | None, **options: Any
    ) -> CalibrationMap:
        """Learn the map; a calibrator that deals the cases into folds keeps these groups whole."""
        return self.fit(scores, y, **options)


class Cases(NamedTuple):
    """Encoded cases of positive weight; the weights already follow the prior."""

    classes: Labels
    codes: IntArray
    weights: FloatArray
    shares: FloatArray  # of the classes in the data as they came
    prior: FloatArray | None

    @property
    def by_class(self) -> tuple[FloatArray, FloatArray]:
        """Weights as negatives and as positives, when there are two classes."""
        positive = self.weights * self.codes
        return self.weights - positive, positive


Fitted = TypeVar("Fitted", bound=CalibrationMap)


class CheckedCalibrator(Calibrator, Generic[Fitted]):
    """A calibrator that says how it reads scores, and what it makes of cases that were checked."""

    def fit(  # noqa: D102
        self,
        scores: object,
        y: object,
        *,
        classes: object = None,
        weights: object = None,
        prior: object = None,
    ) -> Fitted:
        _check.aligned(scores=scores, y=y, weights=weights)
        return self._fitted(*self._read(scores, y, classes, weights, prior))

    @staticmethod
    @abstractmethod
    def _read(
        scores: object, y: object, classes: object, weights: object, prior: object
    ) -> tuple[FloatArray, Cases]:
        """Scores of the cases that have weight, and these cases."""

    @abstractmethod
    def _fitted(self, scores: FloatArray, cases: Cases) -> Fitted:
        """Learn the map from cases that have weight."""


def read_cases(
    scores: FloatArray, y: object, size: int, classes: object, weights: object, prior: object
) -> tuple[FloatArray, Cases]:
    """Scores, (n,) or (n, K), of the cases that have weight, and these cases.

    Labels, weights and prior are checked; every class must occur, or nothing is known about it.
    """
    names, codes = _read_labels(y, size, classes)
    _check.same_length(scores=scores, y=codes)
    weight = _check.weights("weights", weights, len(scores), of="y")
    if weights is not None and not weight.all():
        kept = np.flatnonzero(weight)
        scores, codes, weight = scores[kept], codes[kept], weight[kept]
    mass = np.bincount(codes, weights=None if weights is None else weight, minlength=size)
    _refuse_absent(names, mass)
    shares = mass / mass.sum()
    target = None if prior is None else _positive_prior(prior, names)
    if target is not None:
        weight = weight * (target / shares)[codes]
    return scores, Cases(names, codes, weight, shares, target)


def _read_labels(y: object, size: int, classes: object) -> tuple[Labels, IntArray]:
    names: Labels = (0, 1)
    if classes is not None or size > 2:
        names = class_labels(y, classes, size, name="y")
    try:
        return names, _check.codes("y", y, names)
    except InputError:
        if classes is None:
            class_labels(y, None, size, name="y")  # says that classes must be stated
        raise


def _positive_prior(prior: object, names: Labels) -> FloatArray:
    target = _check.prior("prior", prior, names)
    if not (target > 0).all():
        raise InputError(
            "prior must be positive for every class; one share is zero. "
            "Leave the cases and the label of that class out instead."
        )
    return target


def _refuse_absent(names: Labels, mass: Any) -> None:
    absent = [name for name, one in zip(names, mass, strict=True) if not one > 0]
    if absent:
        raise InputError(
            f"y must hold cases of every class; there is none of {absent[0]!r}. How often a class "
            f"occurs at a score cannot be learnt without it: gather such cases, or leave the "
            f"label out of classes."
        )


# Maps as text ------------------------------------------------------------------------------------


def _encoded(part: CalibrationMap) -> dict[str, Any]:
    body = {field.name: _plain(getattr(part, field.name)) for field in fields(part)}  # type: ignore[arg-type]
    return {"kind": part.kind, **body}


def _plain(part: Any) -> Any:
    if isinstance(part, CalibrationMap):
        return _encoded(part)
    if isinstance(part, np.ndarray):
        return part.tolist()
    return [_plain(item) for item in part] if isinstance(part, tuple) else part


def from_json(text: str) -> CalibrationMap:
    """Read a map that `CalibrationMap.to_json` wrote.

    Examples
    --------
    >>> from stakes.calibration import Logistic
    >>> fitted = Logistic().fit([-1.0, 0.5, 0.2, 2.0], [0, 0, 1, 1])
    >>> from_json(fitted.to_json()) == fitted
    True
    """
    if not isinstance(text, str):
        raise InputError(
            f"text must be a str; got {type(text).__name__}. Pass what to_json wrote, and read a "
            f"file by Path.read_text."
        )
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(
            f"text must be JSON; it is not: {fault}. Pass what to_json wrote."
        ) from None
    if not isinstance(body, dict) or body.pop("format", None) != _FORMAT:
        raise InputError(
            f"text must be a calibration map; its format is not {_FORMAT!r}. "
            f"Pass what to_json wrote."
        )
    version = body.pop("version", None)
    if version is True or version != _VERSION:
        raise InputError(
            f"text must be of version {_VERSION}; it is of version {version!r}. "
            f"Read it with the release of stakes that wrote it, or fit again."
        )
    body.pop("prior", None)  # a note of the command line, for which prior it was fitted
    return _decoded(body)


def _decoded(body: object) -> CalibrationMap:
    if not isinstance(body, dict):
        raise InputError(f"a map must be an object; got {body!r}. Pass what to_json wrote.")
    kind = body.get("kind")
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(
            f"kind must be one of {', '.join(sorted(_KINDS))}; got {kind!r}. "
            f"A newer release of stakes may know it."
        )
    cls = _KINDS[kind]
    wanted = {field.name: str(field.type) for field in fields(cls)}  # type: ignore[arg-type]
    if set(wanted) != set(body) - {"kind"}:
        odd = sorted(set(wanted) ^ (set(body) - {"kind"}))
        raise InputError(f"a {kind} map must have {sorted(wanted)}; {odd[0]!r} is odd. Fit again.")
    found = {name: _part(name, body[name], type_) for name, type_ in wanted.items()}
    if len(found["classes"]) < 2:
        raise InputError(
            f"classes must be 2 labels or more; got {len(found['classes'])}. Fit again."
        )
    return cls._trusted(**found)._checked()


def _part(name: str, value: Any, type_: str) -> Any:
    if not type_.startswith("tuple"):
        return read_part(name, value, type_)
    if not isinstance(value, list):
        raise InputError(f"{name} must be a list of maps; got {value!r}. Pass what to_json wrote.")
    return tuple(_decoded(item) for item in value)
