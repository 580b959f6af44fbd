"""Square tables: decisions that answer classes, the diagonal and what is off it."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.errors import InputError
from stakes.tally import Counts


def square(counts: Counts) -> FloatArray:
    """Table (..., K, K) of counts, column k counting the decisions that answer class k.

    Decisions answer classes by their labels, else by their places; others are refused.
    """
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
    """The table times a power of two that brings its total near one: exact, and products fit."""
    _, exponent = np.frexp(values.sum(axis=(-2, -1), keepdims=True))
    return np.asarray(np.ldexp(values, -exponent))


def diagonal(values: FloatArray) -> FloatArray:
    """Right decisions of each class, (..., K)."""
    return np.diagonal(values, axis1=-2, axis2=-1)


def off_diagonal(values: FloatArray) -> FloatArray:
    """Wrong decisions, (..., K, K): chosen, not multiplied by zero, so that nan is left out too."""
    return np.where(np.eye(values.shape[-1], dtype=bool), 0.0, values)


def elsewhere(values: FloatArray) -> FloatArray:
    """Along the last axis the sum of all other entries, (..., K), summed and never subtracted.

    What is empty is then exactly zero, fractional weights or not.
    """
    if values.shape[-1] == 2:  # the same as below, without a product of tiny matrices
        return values[..., ::-1]
    return np.asarray(values @ (1 - np.eye(values.shape[-1])))
