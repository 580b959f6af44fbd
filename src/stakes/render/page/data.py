"""What the page holds: the tallies and the numbers of a report, as plain parts of JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stakes._check import FloatArray
from stakes.decide import bayes_decision_indices, reachable_decisions, shift_prior
from stakes.render.systems import in_order, rules_explained
from stakes.report import (
    AS_DECIDED,
    BAYES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    Interval,
    ModelQuality,
    Report,
    Slice,
    System,
)
from stakes.tally import ScoreTable
from stakes.thresholds import ByThreshold

# How the page decides again when the stakes move; all other rules stay as they were tallied.
WAYS = {BAYES: "as is", MOVED: "moved", RECALIBRATED: "recalibrated", TUNED: "tuned"}


def page_data(report: Report) -> dict[str, Any]:
    """All that the page's script reads; numbers without bounds are left to the writer of JSON."""
    problem, made = report.problem, report.assumptions
    return {
        "problem": {
            "costs": problem.terms.coefficients if problem.columns else problem.costs,
            "terms": problem.terms.names if problem.columns else None,
            "beliefs": [[k, d, belief.written] for k, d, belief in problem.beliefs],
            "classes": _texts(problem.classes),
            "decisions": _texts(problem.decisions),
            "unit": problem.unit,
        },
        "prior": made.prior,
        "prior_stated": made.prior_stated,
        "perfect": report.perfect_cost,
        "volume": made.volume,
        "period": made.period,
        "holds_for": made.posterior_prior,
        "level": made.level,
        "cases": max(made.n_cases, made.n_rows, 1),
        "as_decided": AS_DECIDED,
        "rules": _rules(report),
        "version": made.version,
        "verdict": {
            "deploy": report.verdict.cheapest,
            "model": report.verdict.model,
            "reason": report.verdict.reason,
        },
        "told_apart": report.verdict.told_apart,
        "contenders": report.verdict.contenders,
        "expected": _ends(report.verdict.cost),
        "normalized": _ends(report.verdict.normalized),
        "saving": _ends(report.verdict.saving_over_naive),
        "cheapest": [one.name for one in report.systems].index(report.best.name),
        "systems": [_system(report, one, added=added) for one, added in _systems(report)],
        "no_model": None if report.no_model is None else _charged(report.no_model),
        "models": [_model(report, one) for one in report.models],
        "disagreement": _disagreement(report),
        "slice_systems": [one.name for one in report.systems],
        "slices": [_slice(report, one) for one in in_order(report.slices)],
        "joint": _joint(report),
        "clustered": made.clusters is not None,
    }


def _rules(report: Report) -> dict[str, str]:
    """What every rule of the report means; moved posteriors come with a moved prior."""
    rules = {one.rule: one for one, _ in _systems(report) if one.name != one.model}
    return {rule: " ".join(rules_explained([one])) for rule, one in rules.items()}


def _joint(report: Report) -> dict[str, Any] | None:
    """Joint bins: of every pair, steps from one filled cell to the next, each with its cases."""
    joint, models = report.joint, [one.model for one in report.models]
    if joint is None or report.problem.columns:
        return None
    packed = []
    for pair in joint.pairs:
        steps = np.diff(pair.places, prepend=-1)
        packed.append(np.stack([steps, pair.weights], axis=1).astype(np.int64).ravel().tolist())
    return {
        "sources": [
            {
                "model": models.index(one.model),
                "recalibrated": one.recalibrated,
                "system": one.system,
                "ends": one.ends,
            }
            for one in joint.sources
        ],
        "pairs": packed,
        "fitting": joint.fitting,
        "reachable": reachable_decisions(report.problem.with_limits(None)),
    }


def _systems(report: Report) -> Iterator[tuple[System, bool]]:
    """All systems, and those that come into being once the prior is moved away from the data's."""
    known = {(one.model, one.rule) for one in report.systems}
    remade = report.problem.n_classes == 2 and not report.problem.columns
    movable = remade and min(report.assumptions.posterior_prior) > 0
    for one in report.systems:
        yield one, False
        if movable and WAYS.get(one.rule) == "as is" and (one.model, MOVED) not in known:
            fields = {**vars(one), "name": f"{one.model} (moved)", "rule": MOVED}
            yield System._trusted(**fields), True


def _system(report: Report, one: System, *, added: bool) -> dict[str, Any]:
    place = [model.model for model in report.models].index(one.model)
    model = report.models[place]
    table = model.recalibrated if one.rule == RECALIBRATED else model.table
    fixed = table is None or bool(report.problem.columns)
    return {
        "model": place,
        "rule": one.rule,
        "way": "fixed" if fixed else WAYS.get(one.rule, "fixed"),
        "posterior": one.rule in POSTERIOR_RULES,
        "added": added,
        "candidate": one.candidate,
        "threshold": one.threshold,
        "chance": one.probability_cheapest,
        "running": one.running_cost,
        **_charged(one),
    }


def _charged(one: System) -> dict[str, Any]:
    """What was decided, and what that cost."""
    return {
        "name": one.name,
        "counts": one.counts.values,
        "sums": one.sums,
        "cost": _ends(one.cost),
        "normalized": _ends(one.normalized),
    }


def _model(report: Report, one: ModelQuality) -> dict[str, Any]:
    own = [system for system in report.systems if system.model == one.model]
    repaired = [system for system in own if system.rule == RECALIBRATED]
    others = [system for system in own if system.rule in (BAYES, MOVED)]
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
        "table": _table(one.table, one.n_scores, report, others),
        "recalibrated": _table(one.recalibrated, one.n_recalibrated, report, repaired),
        "by_threshold": None if one.by_threshold is None else _stakes(one.by_threshold),
        "class_bins": _class_bins(report, one),
    }


_MOST_BINNED = 12  # models whose probabilities of many classes the page holds


def _class_bins(report: Report, model: ModelQuality) -> list[Any] | None:
    """Bins of the probability of each class, of the cheapest models where there are many.

    A row for each bin with cases: its number, the cases, those of the class, the mean probability.
    """
    if model.class_bins is None:
        return None
    by_cost = sorted(report.systems, key=lambda system: system.cost.value)
    cheapest = list(dict.fromkeys(system.model for system in by_cost if system.candidate))
    if model.model not in cheapest[:_MOST_BINNED] and len(report.models) > _MOST_BINNED:
        return None
    return [
        [
            [b, *_short(bins[b, :2], 7), float(f"{bins[b, 2] / bins[b, 0]:.4g}")]
            for b in np.flatnonzero(bins[:, 0] > 0).tolist()
        ]
        for bins in model.class_bins
    ]


def _disagreement(report: Report) -> dict[str, Any] | None:
    found = report.disagreement
    if found is None or not found.metrics:
        return None
    return {
        "metrics": found.metrics,
        "models": _texts(found.models),
        "values": found.values,
        "picks": found.picks,
        "more": [_ends(pick.costs_more) for pick in report.picks],
        "clear": [pick.clear for pick in report.picks],
    }


def _slice(report: Report, one: Slice) -> dict[str, Any]:
    names = [system.name for system in report.systems]
    costs = {part.system: _ends(part.cost) for part in one.costs}
    return {
        "group": one.name,
        "cases": one.n_cases,
        "cheapest": None if one.cheapest is None else names.index(one.cheapest),
        "clear": one.clear,
        "costs": [costs[name] for name in names],
        "note": one.note,
    }


def _ends(interval: Interval) -> tuple[float, float, float]:
    return interval.value, interval.low, interval.high


def _texts(labels: tuple[Any, ...]) -> list[str]:
    return [str(label) for label in labels]


# Scores ------------------------------------------------------------------------------------------


def _table(
    table: ScoreTable | None, n_scores: int | None, report: Report, own: list[System]
) -> dict[str, Any] | None:
    """The scores that the page holds; a report pools them where there are too many."""
    if table is None or n_scores is None:
        return None
    pooled = n_scores > table.scores.size
    digits = 5 if pooled else 17  # of weights that are no whole numbers
    return {
        "scores": _rounded(table, report, own),
        "negatives": _packed(_short(table.weights[:, 0], digits)),
        "positives": _packed(_short(table.weights[:, 1], digits)),
        "binned": pooled,
    }


def _packed(cases: list[Any]) -> list[Any] | str:
    """Numbers of cases as one text of digits where each has a single one."""
    few = all(isinstance(one, int) and one < 10 for one in cases)
    return "".join(map(str, cases)) if few else cases


def _rounded(table: ScoreTable, report: Report, own: list[System]) -> list[Any]:
    """Scores to few digits, if these keep them apart and decide as the systems of the report do."""
    for digits in (7, 9):
        made = _short(table.scores, digits)
        alike = all(_decides_alike(np.array(made), table, report, one) for one in own)
        if alike and len(set(made)) == len(made):
            return made
    return list(table.scores.tolist())


def _decides_alike(scores: FloatArray, table: ScoreTable, report: Report, one: System) -> bool:
    problem, made = report.problem, report.assumptions
    if problem.columns or problem.limits:
        return True  # no score decides alone
    if one.rule == MOVED:
        scores = shift_prior(scores, made.posterior_prior, made.prior)
    chosen = np.eye(problem.n_decisions)[bayes_decision_indices(scores, problem)]
    return bool(np.allclose(table.weights.T @ chosen, one.counts.values, rtol=1e-12))


def _stakes(found: ByThreshold) -> dict[str, Any]:
    """Sums of the terms by score, to the digits that a page can show."""
    sums = np.reshape(_short(found.sums.ravel(), 13), found.sums.shape)
    return {"thresholds": found.thresholds, "sums": sums.tolist()}


def _short(values: FloatArray, digits: int) -> list[Any]:
    """Whole numbers as such, fractions to so many digits, to save room."""
    if (values == np.floor(values)).all() and np.isfinite(values).all():
        return [int(value) for value in values.tolist()]
    return [float(f"{value:.{digits}g}") for value in values.tolist()]
