"""Which familiar metrics would have picked another model."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan, nan

import numpy as np

from stakes.audit import FAMILIAR, FAMILIAR_MULTICLASS, Disagreement
from stakes.evaluation.evidence import Evidence
from stakes.inference import Measured, SampledCosts
from stakes.report import ModelQuality, Pick, System, cheapest_of
from stakes.scoring import mean_over_classes
from stakes.tally import Counts

_LOG_LOSS, _BRIER, _SUMMED = "log loss", "Brier score", "summed Brier score"
_AT_ONCE = 1 << 20  # most numbers in the tables of a block of models: 8 MiB of doubles
_LOSSES = (_LOG_LOSS, _BRIER, _SUMMED)  # lower is better


def disagreement_of(
    evidence: Evidence, systems: tuple[System, ...], qualities: tuple[ModelQuality, ...]
) -> Disagreement | None:
    """The value of each metric for each model, which model it picks, and what the pick costs.

    Metrics are computed as usual: on the data at hand, and with the most probable class as the
    decision. A pick costs what the cheapest system of the picked model costs. A metric that only
    one model has, such as the AUC where all others are decisions, compares nothing and is left out.
    A metric that is nan for some models is kept, and never picks these. The Brier score of two
    classes is the mean squared error of P(second class), as is usual; that of more classes is the
    sum over them, and is named so.
    """
    names = tuple(tallied.model for tallied in evidence.models)
    if len(names) < 2:
        return None
    rows = {
        metric: np.array([of.get(name, nan) for name in names])
        for metric, of in _values(evidence, qualities).items()
        if len(of) > 1
    }
    rows = {metric: row for metric, row in rows.items() if not np.isnan(row).all()}
    if not rows:
        return None
    costs = np.array([_least_cost(name, systems) for name in names])
    values = {metric: (row, -row if metric in _LOSSES else row) for metric, row in rows.items()}
    return Disagreement.of(names, costs, values, evidence.problem.unit)


def _least_cost(model: str, systems: tuple[System, ...]) -> float:
    candidates = [system for system in systems if system.model == model]
    return cheapest_of(candidates).cost.value if candidates else nan


def picks_of(
    disagreement: Disagreement | None, systems: tuple[System, ...], costs: SampledCosts
) -> tuple[Pick, ...]:
    """What the pick of each metric costs above the cheapest model, with its interval."""
    if disagreement is None:
        return ()
    best = cheapest_of(systems)
    # Of models that tie in a metric, the costliest counts: the metric cannot rule it out.
    known = np.where(np.isnan(disagreement.costs), np.inf, disagreement.costs)
    costliest_first = np.argsort(-known, kind="stable")
    picks = []
    for metric, chosen in zip(disagreement.metrics, disagreement.picks, strict=True):
        taken = [str(disagreement.models[j]) for j in costliest_first if chosen[j]]
        picks.append(_pick(metric, taken[0] if taken else None, best, systems, costs))
    return tuple(picks)


def _pick(
    metric: str, model: str | None, best: System, systems: tuple[System, ...], costs: SampledCosts
) -> Pick:
    candidates = [system for system in systems if system.model == model]
    if not candidates or isnan(best.cost.value):
        return Pick(metric, model, Measured(nan, nan, nan), None)
    system = cheapest_of(candidates)
    if system.name == best.name:
        return Pick(metric, model, Measured(0.0, 0.0, 0.0), None)
    if system.name not in costs.choice.names:  # it breaks a limit, and was not compared
        more = costs.difference(system.name, best.name)
        return Pick(metric, model, more, more.low > 0)
    return Pick(metric, model, costs.more(system.name), system.name not in costs.contenders)


def _values(evidence: Evidence, qualities: tuple[ModelQuality, ...]) -> dict[str, dict[str, float]]:
    """The value of every familiar metric, by the names of the models that have one."""
    two = evidence.problem.n_classes == 2
    predicted = {t.model: t.predicted for t in evidence.models if t.predicted is not None}
    losses = {
        t.model: mean_over_classes(t.losses, evidence.shares).tolist()
        for t in evidence.models
        if t.losses is not None
    }
    values: dict[str, dict[str, float]] = {}
    for names, counts in _blocks(predicted):
        for name, metric in (FAMILIAR if two else FAMILIAR_MULTICLASS).items():
            of_models = zip(names, metric(counts).tolist(), strict=True)
            values.setdefault(name, {}).update(of_models)
    values["AUC"] = {q.model: q.auc.value for q in qualities if q.auc is not None}
    values[_LOG_LOSS] = {model: log_loss for model, (log_loss, _) in losses.items()}
    brier = {model: summed / (1 + two) for model, (_, summed) in losses.items()}
    return values | {_BRIER if two else _SUMMED: brier}


def _blocks(predicted: dict[str, Counts]) -> Iterator[tuple[tuple[str, ...], Counts]]:
    """Models, and their counts (J, K, K), as many at a time as take little memory."""
    names, tables = tuple(predicted), [table.values for table in predicted.values()]
    size = max(1, _AT_ONCE // tables[0].size) if tables else 1
    for first in range(0, len(names), size):
        some = slice(first, first + size)
        stacked = tables[first][None] if size == 1 else np.stack(tables[some])
        yield names[some], Counts._unlabelled(stacked)
