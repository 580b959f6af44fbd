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


def require(
    name: str, value: object, kind: type, remedy: str, *, known_as: str | None = None
) -> None:
    """Refuse what is not an instance of this class; the message says if the class was passed.

    A protocol is called by the name of the class that usually satisfies it, `known_as`.
    """
    if known_as is None and isinstance(value, kind):
        return
    evidence = described(value)
    if isinstance(value, type):
        evidence = _cut(f"the class {value.__name__}")
        if _is_subclass(value, kind) and _needs_nothing(value):
            remedy = f"Write {value.__name__}()."
    known = known_as or kind.__name__
    wanted = known if known.endswith("s") else f"{'an' if known[0] in 'AEIOU' else 'a'} {known}"
    raise InputError(f"{name} must be {wanted}; got {evidence}. {remedy}", argument=name)


def _is_subclass(value: type, kind: type) -> bool:
    return not getattr(kind, "_is_protocol", False) and issubclass(value, kind)


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
