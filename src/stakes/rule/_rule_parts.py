"""The parts of a rule: whether they fit together, what they take, and numbers in JSON."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes.decide import label_array
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import DECISIONS, POSTERIORS, SCORES, WRAPPERS, Predicted, Scores


def refuse_unusable(
    problem: Problem, takes: str, map: Any, threshold: float | None, priors: Any
) -> None:
    """Refuse parts that do not make up a rule."""
    _check.require("problem", problem, Problem)
    if threshold is not None:
        _check.one_number("threshold", threshold)
    shape, faults = (problem.n_classes, problem.n_decisions), []
    if takes == SCORES and shape[0] != 2:
        faults.append("scores are for two classes")
    if takes == SCORES and map is None and threshold is None:
        faults.append("scores need a map or a threshold")
    if takes == SCORES and map is not None and shape[0] == 2 and not _takes_scores(map):
        faults.append("its map takes probabilities, for which takes is 'posteriors'")
    if threshold is not None and (shape != (2, 2) or np.isnan(float(threshold))):
        faults.append("a threshold is a number between two decisions about two classes")
    steps = [step is not None for step in (map, threshold, priors)]
    if any(steps) and (takes == DECISIONS or (threshold is not None and sum(steps) > 1)):
        faults.append("a threshold allows neither map nor priors, and decisions none of the three")
    if faults:
        raise InputError(
            f"a rule must be able to decide; this one takes {takes}, and {faults[0]}. Remove what "
            f"is superfluous, or add what is missing.",
            argument="takes",
        )


def _takes_scores(map: Any) -> bool:
    try:
        map(Scores(np.array([-1.0, 2.0])))
    except InputError:
        return False
    return True


def refuse_unpriced(problem: Problem, added: FloatArray | None) -> None:
    """Refuse limits without prices, and prices without their limits."""
    limits, shape = problem.limits, (problem.n_classes, problem.n_decisions)
    if added is not None and added.shape != (len(limits), *shape):
        raise InputError(
            f"added must have shape ({len(limits)}, {shape[0]}, {shape[1]}), a table for each "
            f"limit of the problem; its shape is {added.shape}. Pass what price_limits found."
        )
    if limits and added is None:
        raise InputError(
            f"a rule must have prices for the limits of its problem; {str(limits[0])!r} has none. "
            f"Write Rule.keeping(price_limits(posteriors, problem)), take report.rule(), or pass "
            f"problem.with_limits(None) and keep counts with decide(batch, limits=[…]).",
            argument="problem",
        )


def plain_number(value: float | None) -> float | str | None:
    """A number as JSON can hold it: infinities become text."""
    return str(value) if value is not None and math.isinf(value) else value


def number_of(value: float | str | None) -> float | None:
    """The number that `plain_number` wrote."""
    return None if value is None else float(value)


def as_ruled(predictions: Any, takes: str) -> Predicted:
    """The predictions as the kind that a rule takes; other kinds are refused."""
    values = predictions.values if isinstance(predictions, Predicted) else predictions
    _check.refuse_lazy("predictions", values)
    if not isinstance(predictions, Predicted):
        if takes == POSTERIORS and not hasattr(values, "columns"):
            _refuse_labels(values)
        return WRAPPERS[takes](values)
    if not isinstance(predictions, WRAPPERS[takes]):
        raise InputError(
            f"predictions must be {takes}, which the rule takes; got "
            f"{type(predictions).__name__}. Pass what the model gave when it was evaluated."
        )
    return predictions


def _refuse_labels(predictions: object) -> None:
    """Refuse labels and whole numbers, which are what ``predict`` returns, not probabilities."""
    if _check.array("predictions", predictions).dtype.kind not in "fO":
        raise InputError(
            "predictions must be posteriors, which are numbers with a fraction; these are labels "
            "or whole numbers. Pass predict_proba, not predict, or wrap them in Posteriors."
        )


def in_kind(predictions: Any, places: IntArray, decisions: Labels) -> Any:
    """Decisions as a series of the library that the predictions came from, else as an array."""
    labels = label_array(decisions)[places]
    values = predictions.values if isinstance(predictions, Predicted) else predictions
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        kind = type(values.iloc[:, 0]) if values.ndim == 2 else type(values)
        return kind(labels, index=values.index, name="decision")
    if library in ("polars", "pyarrow"):
        _check.refuse_mixed(decisions)
    if library == "polars":
        kind = type(values.to_series(0)) if hasattr(values, "columns") else type(values)
        return kind("decision", labels)
    return sys.modules["pyarrow"].array(labels) if library == "pyarrow" else labels
