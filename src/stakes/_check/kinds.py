"""Kinds of arrays, frames and labels, and how messages show them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes.errors import InputError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
# A number for each table: an array, or an np.float64 for a single table. Any stands for the latter,
# so that typed code can index such an array and call float() on one without a cast.
Numbers = FloatArray | Any
Label = str | int | bool
Labels = tuple[Label, ...]
# How one comes by values of the library, which messages advise.
_MADE_BY = {
    "Axis": "Pass one, such as CostProportion().",
    "Band": "consistency_band(table, bins, …) makes one.",
    "Binning": "Write EqualWidth(10), EqualMass(10) or HullBins().",
    "CalibrationMap": "Fit one with stakes.calibration.",
    "Calibrator": "Write Isotonic(), Affine() or another.",
    "Comparison": "compare_costs and related functions make one.",
    "Contenders": "contenders(joint, problem) makes one.",
    "Counts": "Counts(table) wraps a table, Counts.from_decisions makes one of rows.",
    "Curve": "cost_curve and related functions make one, as does Curve(knots, coefficients).",
    "Estimate": "bootstrap and the functions delta_… make one.",
    "JointCounts": "JointCounts.from_decisions(y_true, models, problem) makes one of rows.",
    "JointScores": "JointScores.from_scores(y_true, models) makes one of rows.",
    "LossMoments": "LossMoments.from_losses(y_true, losses) makes one of rows.",
    "Metric": "Wrap it: Gain(measure) where higher is better, Loss(measure) where lower is.",
    "Origin": "Take that of another rule, or None.",
    "PricedLimits": "Call price_limits(posteriors, problem).",
    "Problem": "Write Problem(costs), rows being classes.",
    "Regions": "cheapest_regions makes them.",
    "Report": "Write evaluate(y_true, models, problem).",
    "Rule": "Report.rule() makes one, and Rule.from_json(text) reads one.",
    "ScoreTable": "ScoreTable.from_scores(y_true, scores) makes one of rows.",
    "StraightAxis": "Write CostProportion(…), CostRatio(…) or Prior(…); on other axes curves may "
    "cross several times: call cheapest_regions.",
    "BestThreshold": "best_threshold(table, problem) makes one.",
    "CapacityCurve": "capacity_curve(posteriors, problem, decision) makes one.",
    "CoverageCurve": "coverage_curve(posteriors, problem) makes one.",
    "DecisionCurve": "decision_curve(table) makes one.",
    "DetectionErrorTradeoff": "detection_error_tradeoff(table) makes one.",
    "Disagreement": "disagreement(models, problem, metrics) makes one.",
    "Distribution": "Write Uniform(), Beta(2, 2) or another.",
    "Limit": "Write Limit.share(…) or Limit.rate(…).",
    "Margin": "sensitivity(tally, problem) makes them.",
    "Method": "Write ScoreDriven(), Optimal() or another.",
    "PrecisionRecall": "precision_recall(table) makes one.",
    "Reliability": "reliability(table, bins) makes one.",
    "ScoreScale": "Write Probabilities() or LogOdds().",
    "str": "Write it in quotes.",
}
# Protocols, and the class that a message names in their place: the usual one that satisfies them.
_KNOWN_AS = {"Answering": "Problem", "Labelled": "Problem", "Moments": "Distribution"}
_MOST_ROWS = 10**9  # entries of a range that are read; numpy would list any number of them


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the same array, made read-only."""
    array.setflags(write=False)
    return array


def described(values: object) -> str:
    """The type of a value and its text, on one line and truncated; of a named column its name."""
    name = getattr(values, "name", None)
    is_column = hasattr(values, "dtype") and isinstance(name, str)
    return f"{type(values).__name__} {_cut(shown(name if is_column else values))}"


def shown(value: object) -> str:
    """The repr of a value, or a substitute: the `__repr__` of a class may fail."""
    try:
        return repr(value)
    except Exception:
        return "(whose text cannot be shown)"


def _cut(text: str, room: int = 60) -> str:
    """A text on one line of at most `room` characters."""
    text = " ".join(text.split())
    return text if len(text) <= room else f"{text[: room - 3]}..."


def those(some: int, of: int) -> str:
    """How many there are of all, with the verb.

    >>> those(1, 3000), those(2, 3000)
    ('1 of 3000 is', '2 of 3000 are')
    """
    return f"{some} of {of} {'is' if some == 1 else 'are'}"


def listed(names: Sequence[object]) -> str:
    first = ", ".join(shown(name) for name in names[:8])
    return first + (f", … ({len(names)} in all)" if len(names) > 8 else "")


def meant(value: object, names: Sequence[object]) -> str:
    """A remedy for what is none of the names: the one that is probably meant."""
    if any(shown(name) in (f"'{shown(value)}'", shown(value).strip("'")) for name in names):
        return "Labels match by equality: 1 and '1' are different labels."
    texts = [name for name in names[:1000] if isinstance(name, str)]
    if isinstance(value, str) and len(value) < 100:
        from difflib import get_close_matches  # for messages alone

        for close in get_close_matches(value, texts, 1):
            return f"Write {shown(close)}, if that is meant."
    return f"Write one of these, such as {shown(names[0])}." if names else "There are none."


def one_of(name: str, value: Any, names: Labels, what: str = "labels") -> int:
    """The position of a value among labels, or among names; others are refused."""
    try:
        place = _places(tuple(names)).get(value, -1)
    except TypeError:  # a list, an array: no label
        place = -1
    if place < 0:
        raise InputError(
            f"{name} must be one of the {what} {listed(names)}; got {described(value)}. "
            f"{meant(value, names)}",
            argument=name,
        )
    return place


def refuse_mixed(names: Labels) -> None:
    """Refuse decisions of several types, or beyond 64 bits, which no column holds."""
    wide = any(isinstance(label, int) and not -(2**63) <= label < 2**63 for label in names)
    if wide or len({type(label) for label in names}) > 1:
        raise InputError(
            f"the decisions must be of one type to stand in a column, numbers within 64 bits; "
            f"{names} are not. Write all of them as text in the problem."
        )


@lru_cache(maxsize=8)  # many values are usually looked up among the same labels
def _places(names: Labels) -> dict[Any, int]:
    return {label: place for place, label in enumerate(names)}


@contextmanager
def renamed(**names: str) -> Iterator[None]:
    """Rename arguments in the messages of functions that are called in this context.

    >>> with renamed(scores="posteriors"):
    ...     raise InputError("scores must be numbers; got 'a'. Pass numbers.", argument="scores")
    Traceback (most recent call last):
    stakes.errors.InputError: posteriors must be numbers; got 'a'. Pass numbers.
    """
    try:
        yield
    except InputError as error:
        words = re.compile(rf"\b({'|'.join(names)})\b(?!=)")
        message = words.sub(lambda match: names[match[0]], error.complaint)
        argument = error.argument and names.get(error.argument, error.argument)
        raise InputError(message, argument=argument, remedy=error.remedy) from None


def as_array(name: str, values: object) -> npt.NDArray[Any]:
    """The values as an array; a ValueError says that rows differ in length.

    Tensors with a gradient, on another device or of a type that numpy lacks are refused.
    """
    if isinstance(values, range) and values[_MOST_ROWS:]:
        raise InputError(
            f"{name} must have at most {_MOST_ROWS:,} entries; got {values!r}. Pass a part of it.",
            argument=name,
        )
    is_numpy = isinstance(values, np.ndarray)  # whose dtype takes long to write
    # Of Polars: numpy drops the names of their fields.
    if not is_numpy and str(getattr(values, "dtype", "")).startswith("Struct("):
        raise InputError(
            f"{name} must be an array, or one column; got a column of structs, whose fields have "
            f"names. Pass a frame of them: column.struct.unnest().",
            argument=name,
        )
    try:
        return np.asarray(_without_dictionary(values))
    except Exception as error:
        if not (isinstance(error, RuntimeError | TypeError) or _has_no_array(error)):
            raise
        raise InputError(
            f"{name} must be an array, or what numpy can read as one; got {described(values)}. "
            f"Pass an array; of a tensor, tensor.detach().cpu().double().numpy().",
            argument=name,
        ) from None


def _has_no_array(error: Exception) -> bool:
    """Whether Polars or Arrow says that numpy has nothing like a column: 128 bits, broken text."""
    package = type(error).__module__.partition(".")[0]
    return package in ("polars", "pyarrow") and not isinstance(error, ValueError | MemoryError)


def _without_dictionary(values: Any) -> Any:
    """A chunked array of Arrow without its dictionary, of which numpy would lose the gaps."""
    kind: Any = getattr(values, "type", None)
    chunked = hasattr(values, "chunks") and hasattr(kind, "index_type")
    return values.cast(kind.value_type) if chunked else values


def writable(name: str, text: str, what: str = "text") -> str:
    """The text; half of a character (a lone surrogate), which no file can hold, is refused."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError(
            f"{name} must be {what} that can be written as UTF-8; {text!r} holds half of a "
            f"character. Read it again with the right encoding, or rename it.",
            argument=name,
        )
    return text


def require(name: str, value: object, kind: type, remedy: str = "") -> None:
    """Refuse what is not an instance of this class; the message says if the class was passed.

    A protocol is met by what has all its attributes. It is called by the name of the class that
    usually satisfies it, and the remedy says how one comes by such a value.
    """
    is_contract = getattr(kind, "_is_protocol", False)
    if _answers(kind, value) if is_contract else isinstance(value, kind):
        return
    known = _KNOWN_AS.get(kind.__name__, kind.__name__)
    remedy = remedy or _MADE_BY.get(known, "Pass one.")
    evidence = described(value)
    if isinstance(value, type):
        evidence = _cut(f"the class {value.__name__}")
        if not is_contract and issubclass(value, kind) and _needs_nothing(value):
            remedy = f"Write {value.__name__}()."
    is_plural = known.endswith("s") and not known.endswith("is")  # an axis is one
    wanted = known if is_plural else f"{'an' if known[0] in 'AEIOU' else 'a'} {known}"
    raise InputError(f"{name} must be {wanted}; got {evidence}. {remedy}", argument=name)


def mapping_of(name: str, values: Mapping[str, Any], kind: type) -> None:
    """Refuse anything but a mapping from names to instances of this class."""
    known = _KNOWN_AS.get(kind.__name__, kind.__name__)
    if not isinstance(values, Mapping):
        raise InputError(
            f"{name} must be a mapping from name to {known}; got {described(values)}. "
            f"Write {{name: {known}, …}}.",
            argument=name,
        )
    for key, value in values.items():
        require(f"{name}[{key!r}]", value, kind)


def list_of(name: str, values: Sequence[Any], kind: type) -> None:
    """Refuse anything but a list of instances of this class."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Sequence):
        known = _KNOWN_AS.get(kind.__name__, kind.__name__)
        raise InputError(
            f"{name} must be a list of {known}; got {described(values)}. "
            f"Pass a list, also of a single one.",
            argument=name,
        )
    for place, value in enumerate(values):
        require(f"{name}[{place}]", value, kind)


def not_empty(name: str, values: Sequence[Any] | Mapping[str, Any]) -> None:
    """Refuse a collection that holds nothing."""
    if not values:
        raise InputError(f"{name} must hold at least one; it is empty. Add one.", argument=name)


def _answers(contract: type, value: object) -> bool:
    """Whether a value has all public attributes of a protocol."""
    asked = {*vars(contract), *getattr(contract, "__annotations__", {})}
    return not isinstance(value, type) and all(
        getattr(value, attribute, None) is not None
        for attribute in asked
        if attribute == "__call__" or attribute[0] != "_"
    )


def _needs_nothing(kind: type) -> bool:
    """Whether an instance can be made without arguments."""
    needed = signature(kind).parameters.values()
    return all(
        parameter.default is not parameter.empty or parameter.kind is parameter.VAR_KEYWORD
        for parameter in needed
    )


def in_columns(values: object, columns: object = None, **beside: object) -> bool:
    """Whether predictions are columns of a frame, which gets one more column with the decisions.

    They are if the rows of the frame are still in an engine, or if columns are named. No other rows
    can be aligned with such a frame.
    """
    if _in_engine(values) or (columns is not None and _is_frame(values)):
        _refuse_beside(**beside)
        return True
    if columns is not None:
        raise InputError(
            f"columns must be left out unless the predictions are in a frame; got "
            f"{described(values)}. Pass the columns themselves, or a frame; files become one by "
            f"polars.scan_parquet or duckdb.read_parquet."
        )
    return False


def _is_frame(values: object) -> bool:
    kinds = {(kind.__module__.partition(".")[0], kind.__name__) for kind in type(values).__mro__}
    return bool(kinds & {("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")})


def _in_engine(values: object) -> bool:
    kind = type(values)
    home = kind.__module__.partition(".")[0]
    if home in ("pyspark", "dask"):
        return hasattr(kind, "columns")
    return kind.__name__ in ("LazyFrame", "DuckDBPyRelation")


def refuse_lazy(name: str, values: Any) -> None:
    """Refuse rows that are still in an engine."""
    if _in_engine(values) or hasattr(values, "collect"):
        raise InputError(
            f"{name} must hold rows; got a lazy {type(values).__name__}, whose rows were not read "
            f"yet. Collect it first, or name its columns in evaluate_frame.",
            argument=name,
        )


def _refuse_beside(**arguments: object) -> None:
    """Refuse rows that would have to be aligned with those of a frame."""
    for name, values in arguments.items():
        if values is not None:
            raise InputError(
                f"{name} must be left out where the predictions are columns of a frame: what the "
                f"costs depend on are columns of the same frame. Join them first, or pass the "
                f"predictions themselves.",
                argument=name,
            )


def refuse_frames(name: str, values: Any) -> None:
    """Refuse anything but a column: frames, text, mappings and rows that are still in an engine."""
    refuse_lazy(name, values)
    if hasattr(values, "__dataframe__") or hasattr(values, "columns"):
        raise InputError(
            f"{name} must hold one label for every case; got a {type(values).__name__}. "
            f"Pass one of its columns.",
            argument=name,
        )
    if isinstance(values, str | bytes | Mapping):
        raise InputError(
            f"{name} must hold one label for every case; got {described(values)}. "
            f"Pass a list or an array.",
            argument=name,
        )
