"""Numbers of a file that cannot be used, told by the name of their column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stakes._check import FloatArray
from stakes.cli.columns import Key, Kind, Plan
from stakes.errors import InputError

__all__ = ["refuse_gaps", "refuse_unusable"]


def refuse_unusable(source: str, plan: Plan, numbers: Mapping[Key, FloatArray]) -> None:
    """Gaps in columns of numbers, and probabilities that are none."""
    for key, columns in plan.numbers().items():
        refuse_gaps(source, columns, numbers[key])
    for model in plan.models:
        if model.kind is Kind.POSTERIORS:
            _refuse_beyond(source, model.name, model.columns, numbers["model", model.name])


def refuse_gaps(source: str, columns: tuple[str, ...], values: FloatArray, before: int = 0) -> None:
    """Rows (n,) or (n, K) without a number; `before` of the file came before these."""
    for column, own in zip(columns, _apart(values), strict=True):
        gaps = np.flatnonzero(np.isnan(own))
        if gaps.size:
            raise InputError(
                f"column {column!r} of {source} must hold a number in every row; {gaps.size} of "
                f"{len(own)} are missing (empty or nan), the first in row {before + gaps[0] + 1}. "
                f"Remove these rows, or fill them in."
            )


def _refuse_beyond(source: str, name: str, columns: tuple[str, ...], values: FloatArray) -> None:
    for column, own in zip(columns, _apart(values), strict=True):
        beyond = np.flatnonzero((own < 0) | (own > 1))
        if beyond.size:
            raw = f" If these are raw scores, say --scores {name}={column}." * (len(columns) == 1)
            raise InputError(
                f"column {column!r} of {source} must hold probabilities in [0, 1]; {beyond.size} "
                f"of {len(own)} rows do not, the first being {own[beyond[0]]:g} in row "
                f"{beyond[0] + 1}.{raw or ' Mend them, or name other columns.'}"
            )


def _apart(values: FloatArray) -> FloatArray:
    """One array for each column."""
    return values.reshape(len(values), -1).T
