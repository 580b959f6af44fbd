"""What the page holds: the tallies and the numbers of a report, as plain parts of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stakes._check import FloatArray
from stakes.decide import bayes_decision_indices, shift_prior
from stakes.report import Interval, ModelQuality, Report, Slice, System
from stakes.tally import ScoreTable

__all__ = ["MOST_BINS", "page_data"]

MOST_BINS = 1024  # scores of one model that the page holds; more are pooled

# How the page decides again when the stakes move; all other rules stay as they were tallied.
MOVED = "Bayes decisions, posteriors moved to the prior"
WAYS = {"Bayes decisions": "as is", MOVED: "moved", "threshold tuned on these cases": "tuned"}


def page_data(report: Report) -> dict[str, Any]:
    """All that the page's script reads; numbers without bounds are left to the writer of JSON."""
    problem, made = report.problem, report.assumptions
    return {
        "problem": {
            "costs": problem.costs,
            "classes": _texts(problem.classes),
            "decisions": _texts(problem.decisions),
            "unit": problem.unit,
        },
        "prior": made.prior,
        "holds_for": made.posterior_prior,
        "level": made.level,
        "told_apart": report.verdict.told_apart,
        "saving": _ends(report.verdict.saving_over_naive),
        "cheapest": [one.name for one in report.systems].index(report.verdict.cheapest),
        "systems": [_system(report, one, added=added) for one, added in _systems(report)],
        "models": [_model(report, one) for one in report.models],
        "disagreement": _disagreement(report),
        "slice_systems": [one.name for one in report.systems],
        "slices": [_slice(report, one) for one in report.slices],
    }


def _systems(report: Report) -> Iterator[tuple[System, bool]]:
    """All systems, and those that come into being once the prior is moved away from the data's."""
    known = {(one.model, one.rule) for one in report.systems}
    movable = report.problem.n_classes == 2 and min(report.assumptions.posterior_prior) > 0
    for one in report.systems:
        yield one, False
        if movable and WAYS.get(one.rule) == "as is" and (one.model, MOVED) not in known:
            fields = {**vars(one), "name": f"{one.model}, moved", "rule": MOVED}
            yield System._trusted(**fields), True


def _system(report: Report, one: System, *, added: bool) -> dict[str, Any]:
    models = [model.model for model in report.models]
    place = models.index(one.model)
    has_table = report.models[place].table is not None
    return {
        "name": one.name,
        "model": place,
        "rule": one.rule,
        "way": WAYS.get(one.rule, "fixed") if has_table else "fixed",
        "added": added,
        "candidate": one.candidate,
        "threshold": one.threshold,
        "counts": one.counts.values,
        "cost": _ends(one.cost),
        "normalized": _ends(one.normalized),
        "chance": one.probability_cheapest,
    }


def _model(report: Report, one: ModelQuality) -> dict[str, Any]:
    return {
        "name": one.model,
        "kind": one.kind,
        "auc": None if one.auc is None else _ends(one.auc),
        "h": one.h,
        "log_loss": one.normalized_log_loss,
        "brier": one.normalized_brier,
        "wasted": one.calibration_cost,
        "losses": one.expected_losses,
        "advice": one.advice,
        "table": None if one.table is None else _table(report, one, one.table),
    }


def _disagreement(report: Report) -> dict[str, Any] | None:
    found = report.disagreement
    if found is None or not found.metrics:
        return None
    return {
        "metrics": found.metrics,
        "models": _texts(found.models),
        "values": found.values,
        "picks": found.picks,
    }


def _slice(report: Report, one: Slice) -> dict[str, Any]:
    names = [system.name for system in report.systems]
    costs = {part.system: _ends(part.cost) for part in one.costs}
    return {
        "group": str(one.group),
        "cases": one.n_cases,
        "cheapest": None if one.cheapest is None else names.index(one.cheapest),
        "costs": [costs[name] for name in names],
        "note": one.note,
    }


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.value, interval.low, interval.high


def _texts(labels: tuple[Any, ...]) -> list[str]:
    return [str(label) for label in labels]


# Scores ------------------------------------------------------------------------------------------


def _table(report: Report, model: ModelQuality, table: ScoreTable) -> dict[str, Any]:
    """The scores that the page holds, pooled where there are too many of them."""
    binned = table.scores.size > MOST_BINS
    held = _pooled(table, _kept_cuts(report, model, table)) if binned else table
    return {
        "scores": held.scores,
        "negatives": _short(held.weights[:, 0], binned),
        "positives": _short(held.weights[:, 1], binned),
        "binned": binned,
    }


def _pooled(table: ScoreTable, kept: FloatArray) -> ScoreTable:
    """At most 1,024 bins that part both classes evenly; some cuts are kept exactly."""
    mass = table.weights / np.maximum(table.weights.sum(axis=0), 1e-300)
    reached = np.cumsum(mass.sum(axis=1))
    wanted = np.linspace(0, reached[-1], MOST_BINS - kept.size + 1)[1:-1]
    edges = table.scores[np.minimum(np.searchsorted(reached, wanted), table.scores.size - 1)]
    return table.binned(np.union1d(edges, kept))


def _kept_cuts(report: Report, model: ModelQuality, table: ScoreTable) -> FloatArray:
    """Scores at which the report's own decisions end, so that the page begins with these."""
    made, cuts = report.assumptions, [np.array([0.5])]
    for one in report.systems:
        way = WAYS.get(one.rule) if one.model == model.model else None
        if way == "tuned":
            cuts.append(np.array([one.threshold]))
        elif way is not None:
            rows = table.scores
            if way == "moved":
                rows = shift_prior(rows, made.posterior_prior, made.prior)
            decided = bayes_decision_indices(rows, report.problem)
            cuts.append(table.scores[:-1][np.diff(decided) != 0])
    found: FloatArray = np.unique(np.concatenate(cuts))
    return np.asarray(found[np.isfinite(found)])


def _short(weights: FloatArray, pooled: bool) -> list[Any]:
    """Whole weights as whole numbers; sums of fractional ones to twelve digits, to save room."""
    if (weights == np.floor(weights)).all():
        return list(map(int, weights.tolist()))
    return [float(f"{w:.12g}") if pooled else w for w in weights.tolist()]
