"""Frames where one column is needed, and rows that are still in an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stakes._check.kinds import described
from stakes.errors import InputError


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
