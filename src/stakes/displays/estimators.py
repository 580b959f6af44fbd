"""Predictions of fitted estimators, without an import of scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import Label
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores


@dataclass(frozen=True, eq=False)
class DecisionScores(Scores):
    """Scores of a ``decision_function``; higher scores favour the second of `classes`."""

    classes: Any = None

    def towards(self, positive: Label) -> Scores:
        """The scores with their sign chosen so that higher ones favour the class `positive`."""
        first, _ = _check.labels("the classes of the estimator", self.classes)
        return Scores(np.negative(self.values) if positive == first else self.values)


def predictions_of(estimators: Any, X: Any) -> dict[str, Posteriors | DecisionScores]:
    """Predictions by the name of their estimator; a single estimator is named after its type."""
    if not isinstance(estimators, Mapping):
        return {_type_name(estimators): _predicted("estimator", estimators, X)}
    return {
        str(name): _predicted(f"estimator[{name!r}]", estimator, X)
        for name, estimator in estimators.items()
    }


def _type_name(estimator: Any) -> str:
    """The name of the type of an estimator; for a pipeline, that of its last step."""
    steps = getattr(estimator, "steps", None)
    return _type_name(steps[-1][1]) if steps else type(estimator).__name__


def _predicted(argument: str, estimator: Any, X: Any) -> Posteriors | DecisionScores:
    classes = getattr(estimator, "classes_", None)
    if isinstance(estimator, type) or classes is None:
        got = f"the class {estimator.__name__}" if isinstance(estimator, type) else "one without"
        raise InputError(
            f"{argument} must be a fitted classifier, which has classes_; got {got} "
            f"({type(estimator).__name__}). Fit it first, or pass predictions to from_predictions.",
            argument=argument,
        )
    if hasattr(estimator, "predict_proba"):
        return Posteriors(_check.array(argument, estimator.predict_proba(X)), classes=list(classes))
    if hasattr(estimator, "decision_function") and len(classes) == 2:
        return DecisionScores(_check.array(argument, estimator.decision_function(X)), list(classes))
    raise InputError(
        f"{argument} must have predict_proba or, for two classes, decision_function; "
        f"{type(estimator).__name__} with {len(classes)} classes has neither. "
        f"Wrap it in a calibrated classifier, which has probabilities.",
        argument=argument,
    )
