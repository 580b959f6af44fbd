"""Which familiar numbers would have picked another model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from stakes.audit import FAMILIAR, FAMILIAR_MULTICLASS, Disagreement
from stakes.audit.models import picked
from stakes.evaluation.cases import Cases
from stakes.evaluation.systems import Predictions
from stakes.ranking import auc
from stakes.report import System
from stakes.scoring import Brier, LogLoss, ScoringRule, mean_score
from stakes.tally import Counts

__all__ = ["disagreement_of"]


def disagreement_of(
    cases: Cases, predictions: list[Predictions], systems: tuple[System, ...]
) -> Disagreement | None:
    """What each metric says of each model, which it picks, and what the pick costs.

    Metrics are computed as people compute them: on the data at hand, the most probable class for a
    decision. A pick is charged with the cheapest system of the model that it picks.
    """
    if len(predictions) < 2:
        return None
    rows: dict[str, list[float]] = {}
    signs: dict[str, int] = {}
    for name, sign, value in _metrics(cases):
        values = [value(one) for one in predictions]
        if np.sum(~np.isnan(values)) > 1:
            rows[name], signs[name] = values, sign
    costs = np.array([_least_cost(one.model, systems) for one in predictions])
    goodness = [signs[name] * np.array(values) for name, values in rows.items()]
    empty = np.empty((0, len(predictions)))
    return Disagreement._trusted(
        models=tuple(one.model for one in predictions),
        metrics=tuple(rows),
        costs=costs,
        best=picked(-costs),
        values=np.array(list(rows.values())) if rows else empty,
        picks=np.array([picked(good) for good in goodness]) if rows else empty.astype(bool),
        unit=cases.problem.unit,
    )


def _least_cost(model: str, systems: tuple[System, ...]) -> float:
    own = [system.cost.value for system in systems if system.model == model and system.candidate]
    return min((cost for cost in own if cost == cost), default=float("nan"))


def _metrics(cases: Cases) -> list[tuple[str, int, Callable[[Predictions], float]]]:
    """Name, +1 where higher is better, and the value for one model (nan where it has none)."""
    familiar = FAMILIAR if cases.problem.n_classes == 2 else FAMILIAR_MULTICLASS
    found: list[tuple[str, int, Callable[[Predictions], float]]] = [
        (name, 1, lambda one, metric=metric: _of_counts(one, cases, metric))  # type: ignore[misc]
        for name, metric in familiar.items()
    ]
    found.append(("AUC", 1, lambda one: _auc(one)))
    for name, rule in (("log loss", LogLoss()), ("Brier score", Brier())):
        found.append((name, -1, lambda one, rule=rule: _proper(one, cases, rule)))  # type: ignore[misc]
    return found


def _of_counts(one: Predictions, cases: Cases, metric: Callable[[Counts], object]) -> float:
    decided = one.decided
    if one.posteriors is not None:
        decided = np.argmax(one.posteriors, axis=1)
    elif cases.problem.n_decisions != cases.problem.n_classes:
        return float("nan")
    if decided is None:
        return float("nan")
    counts = Counts.from_labels(
        cases.truth, decided, labels=range(cases.problem.n_classes), weights=cases.weights
    )
    return float(np.asarray(metric(counts)))


def _auc(one: Predictions) -> float:
    return float("nan") if one.table is None else float(auc(one.table))


def _proper(one: Predictions, cases: Cases, rule: ScoringRule) -> float:
    if one.posteriors is None:
        return float("nan")
    classes = cases.problem.classes
    return mean_score(cases.labels, one.posteriors, rule, classes=classes, weights=cases.weights)
