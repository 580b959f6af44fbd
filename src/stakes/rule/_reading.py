"""Predictions as a rule takes them, and answers in the library that they came from."""

from __future__ import annotations

import sys
from typing import Any

import numpy.typing as npt

from stakes import _check
from stakes.errors import InputError
from stakes.rows import DECISIONS, POSTERIORS, SCORES, Decisions, Posteriors, Scores

Predicted = Posteriors | Scores | Decisions
WRAPPERS: dict[str, type[Predicted]] = {
    POSTERIORS: Posteriors,
    SCORES: Scores,
    DECISIONS: Decisions,
}


def wrapped(predictions: Any, takes: str) -> Predicted:
    """The predictions as what a rule takes; others are refused."""
    values = predictions.values if isinstance(predictions, Predicted) else predictions
    _check.refuse_lazy("predictions", values)
    if not isinstance(predictions, Predicted):
        if takes == POSTERIORS and not hasattr(values, "columns"):
            _refuse_labels(values)
        return WRAPPERS[takes](values)
    if not isinstance(predictions, WRAPPERS[takes]):
        raise InputError(
            f"predictions must be {takes}, which the rule takes; got "
            f"{type(predictions).__name__}. Pass what the model gave when it was evaluated.",
            argument="predictions",
        )
    return predictions


def _refuse_labels(predictions: object) -> None:
    """Whole numbers are rarely probabilities: they are what ``predict`` gives."""
    if _check.array("predictions", predictions).dtype.kind not in "fO":
        raise InputError(
            "predictions must be posteriors, which are numbers with a fraction; these are labels "
            "or whole numbers. Pass predict_proba, not predict, or wrap them in Posteriors.",
            argument="predictions",
        )


def in_kind(predictions: Any, labels: npt.NDArray[Any]) -> Any:
    """Labels as a series of the library that the predictions came from, else as an array."""
    values = predictions.values if isinstance(predictions, Predicted) else predictions
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        kind = type(values.iloc[:, 0]) if values.ndim == 2 else type(values)
        return kind(labels, index=values.index, name="decision")
    if library == "polars":
        kind = type(values.to_series(0)) if hasattr(values, "columns") else type(values)
        return kind("decision", labels)
    return sys.modules["pyarrow"].array(labels) if library == "pyarrow" else labels
