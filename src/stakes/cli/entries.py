"""Numbers of a file that cannot be used, told by the name of their column."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stakes._check import FloatArray
from stakes.cli.columns import Key, Plan
from stakes.cli.guessing import NOT_MEANT
from stakes.cli.models import Kind
from stakes.errors import InputError


def refuse_unusable(source: str, plan: Plan, numbers: Mapping[Key, FloatArray]) -> None:
    """Gaps in columns of numbers, and probabilities that are none."""
    try:
        for key, columns in plan.numbers().items():
            refuse_gaps(source, columns, numbers[key])
        for model in plan.models:
            if model.kind is Kind.POSTERIORS:
                _refuse_beyond(source, model.name, model.columns, numbers["model", model.name])
    except InputError as error:
        raise InputError(f"{error}{NOT_MEANT if plan.models_guessed else ''}") from None


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
            raise InputError(
                f"column {column!r} of {source} must hold probabilities in [0, 1]; {beyond.size} "
                f"of {len(own)} rows do not, the first being {own[beyond[0]]:g} in row "
                f"{beyond[0] + 1}. {_remedy(name, columns, own)}"
            )


def _remedy(name: str, columns: tuple[str, ...], own: FloatArray) -> str:
    """What may be meant by numbers that are no probabilities."""
    if len(columns) > 1:
        return "Mend them, or name other columns."
    percent = own.min() >= 0 and 10 < own.max() <= 100
    divide = "If these are percentages, divide them by 100. " if percent else ""
    return f"{divide}If these are raw scores, say --scores {name}={columns[0]}."


def _apart(values: FloatArray) -> FloatArray:
    """One array for each column."""
    return values.reshape(len(values), -1).T
