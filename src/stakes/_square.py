"""Square tables: decisions that answer classes, the diagonal and the entries off it."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.errors import InputError
from stakes.tally import Counts

__all__ = ["answer_columns", "diagonal", "elsewhere", "off_diagonal", "scaled", "square"]


def square(counts: Counts) -> FloatArray:
    """Table (..., K, K) of counts, column k counting the decisions that answer class k.

    Decisions answer classes by label, else by position; other tables are refused.
    """
    _check.require("counts", counts, Counts)
    if counts.n_classes != counts.n_decisions:
        raise InputError(
            f"counts must have one decision for every class, in the same order; it has "
            f"{counts.n_classes} classes and {counts.n_decisions} decisions. Measure decisions "
            f"that are no class with expected_cost, or say which class each answers: "
            f"counts.answering(problem), where the problem has answers."
        )
    if counts.classes is None or counts.decisions is None or counts.classes == counts.decisions:
        return counts.values
    order = answer_columns(counts.classes, counts.decisions)
    return counts.values[..., order]


def answer_columns(classes: Labels, decisions: Labels) -> list[int]:
    """The decision that answers each class of a square table."""
    answers = _check.answers(classes, decisions)
    if None in answers:
        raise InputError(
            f"decisions must answer the classes {classes}, by their labels or by their places; of "
            f"{decisions} some are labels of classes in other places. Name all decisions after "
            f"classes, or none, or say which answers which: Problem(…, answers={{…}})."
        )
    return [answers.index(label) for label in classes]


def scaled(values: FloatArray) -> FloatArray:
    """The table times a power of two that makes its total about one: exact, and products fit."""
    _, exponent = np.frexp(values.sum(axis=(-2, -1), keepdims=True))
    return np.asarray(np.ldexp(values, -exponent))


def diagonal(values: FloatArray) -> FloatArray:
    """Right decisions of each class, (..., K)."""
    return np.diagonal(values, axis1=-2, axis2=-1)


def off_diagonal(values: FloatArray) -> FloatArray:
    """Wrong decisions, (..., K, K); selected, not multiplied by zero, which would keep a nan."""
    return np.where(np.eye(values.shape[-1], dtype=bool), 0.0, values)


def elsewhere(values: FloatArray) -> FloatArray:
    """The sum of all other entries along the last axis, (..., K), without any subtraction.

    An empty sum is then exactly zero, also with fractional weights.
    """
    if values.shape[-1] == 2:  # the same as below, without a product of tiny matrices
        return values[..., ::-1]
    return np.asarray(values @ (1 - np.eye(values.shape[-1])))
