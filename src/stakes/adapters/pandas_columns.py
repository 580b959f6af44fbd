"""Columns of pandas that Arrow has no type for, or would hold as something else."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any

import numpy as np

from stakes import _check
from stakes.errors import InputError, extra

with extra("frames", "a frame"):
    import narwhals.stable.v2 as nw

# What pandas calls the values of columns that are the same in Arrow, and of categories that are.
_VALUES = {"string", "empty", "integer", "boolean", "decimal", "floating", "mixed-integer-float"}
_VALUES |= {"date", "time", "bytes"}
_CATEGORIES = _VALUES - {"floating"} | {"datetime", "datetime64"}


def with_decimals(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Decimals of pandas, which has no type for them, as numbers like those of other libraries.

    So are sparse columns, whose type narwhals does not know.
    """
    frame = _dense(frame)
    objects = [name for name, kind in frame.schema.items() if kind == nw.Object]
    known = ((name, frame[name].to_native()) for name in objects)
    decimals = [name for name, values in known if _kind(values) == "decimal" and _exact(values)]
    numbers = [nw.col(name).cast(nw.Float64) for name in decimals]
    return frame.with_columns(numbers) if numbers else frame


def _dense(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The frame with plain columns in the place of sparse ones."""
    unknown = [name for name, kind in frame.schema.items() if kind == nw.Unknown]
    columns: dict[str, Any] = {name: frame[name].to_native() for name in unknown}
    sparse = sys.modules["pandas"].SparseDtype
    plain = [
        nw.from_native(column.sparse.to_dense(), series_only=True)
        for column in columns.values()
        if isinstance(column.dtype, sparse)
    ]
    return frame.with_columns(plain) if plain else frame


def _exact(decimals: Any) -> bool:
    """Whether doubles hold the whole part of decimals; others are labels, such as long numbers."""
    values = [value for value in decimals if isinstance(value, Decimal)]
    return all(value.adjusted() < 15 and not value.is_snan() for value in values)


def for_arrow(frame: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """The frame with text for periods, intervals, times of nanoseconds and such categories.

    Arrow makes numbers or pairs of the former and rounds the latter; the text is that of slices.
    """
    rows: Any = frame.to_native()
    columns = {name: _as_categories(rows[name]) for name in rows.columns}
    others = {name: column for name, column in columns.items() if column is not None}
    changed: nw.DataFrame[Any] = nw.from_native(rows.assign(**others) if others else rows)
    return changed


def _as_categories(values: Any) -> Any:
    """The groups of a column as categories of text; None if Arrow holds them as they are.

    Also None where they cannot be text: what cannot be a group is refused when it is used as one.
    """
    pandas = sys.modules["pandas"]
    is_category = isinstance(values.dtype, pandas.CategoricalDtype)
    kind = _kind(values.cat.categories if is_category else values)
    if kind in (_CATEGORIES if is_category else _VALUES):
        return None
    try:
        groups = _check.groups("the column", values)
    except InputError:
        return None
    gaps = np.asarray(values.isna())
    texts = groups.labels[:-1] if gaps.any() else groups.labels
    if not all(isinstance(text, str) for text in texts):
        return None
    codes = np.where(gaps, -1, groups.codes)
    return pandas.Series(pandas.Categorical.from_codes(codes, list(texts)), index=values.index)


def _kind(values: Any) -> str:
    """What pandas calls the values of a column; those of a plain type are all called "string"."""
    pandas = sys.modules["pandas"]
    if isinstance(values.dtype, pandas.ArrowDtype) or values.dtype.kind not in "Of":
        return {"M": "datetime64", "m": "timedelta"}.get(values.dtype.kind, "string")
    return str(pandas.api.types.infer_dtype(values))
