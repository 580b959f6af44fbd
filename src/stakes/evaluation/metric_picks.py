"""Which familiar metrics would have picked another model."""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from stakes.audit import FAMILIAR, FAMILIAR_MULTICLASS, Disagreement
from stakes.evaluation.cost_intervals import Costs
from stakes.evaluation.evidence import Evidence, ModelTallies
from stakes.inference import Measured
from stakes.report import ModelQuality, Pick, System, cheapest_of
from stakes.scoring import mean_over_classes

_LOG_LOSS, _BRIER, _SUMMED = "log loss", "Brier score", "summed Brier score"
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
    models = evidence.models
    if len(models) < 2:
        return None
    pairs = zip(models, qualities, strict=True)
    metric_values = [_values(tallied, quality, evidence) for tallied, quality in pairs]
    rows = {
        name: np.array([values.get(name, nan) for values in metric_values])
        for name in dict.fromkeys(name for values in metric_values for name in values)
        if sum(name in values for values in metric_values) > 1
    }
    rows = {name: row for name, row in rows.items() if not np.isnan(row).all()}
    if not rows:
        return None
    costs = np.array([_least_cost(tallied.model, systems) for tallied in models])
    values = {name: (row, -row if name in _LOSSES else row) for name, row in rows.items()}
    names = tuple(tallied.model for tallied in models)
    return Disagreement.of(names, costs, values, evidence.problem.unit)


def _least_cost(model: str, systems: tuple[System, ...]) -> float:
    candidates = [system for system in systems if system.model == model]
    return cheapest_of(candidates).cost.value if candidates else nan


def picks_of(
    disagreement: Disagreement | None, systems: tuple[System, ...], costs: Costs
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
    metric: str, model: str | None, best: System, systems: tuple[System, ...], costs: Costs
) -> Pick:
    candidates = [system for system in systems if system.model == model]
    if not candidates or isnan(best.cost.value):
        return Pick(metric, model, Measured(nan, nan, nan), None)
    system = cheapest_of(candidates)
    if system.name == best.name:
        return Pick(metric, model, Measured(0.0, 0.0, 0.0), None)
    if system.name not in costs.choice.names:  # it breaks a limit, and was not compared
        more = costs.saving(system.name, best.name)
        return Pick(metric, model, more, more.low > 0)
    return Pick(metric, model, costs.more(system.name), not costs.is_contender(system.name))


def _values(tallied: ModelTallies, quality: ModelQuality, evidence: Evidence) -> dict[str, float]:
    """The value of every familiar metric that is defined for this model."""
    values: dict[str, float] = {}
    if tallied.predicted is not None:
        familiar = FAMILIAR if evidence.problem.n_classes == 2 else FAMILIAR_MULTICLASS
        values.update((name, float(metric(tallied.predicted))) for name, metric in familiar.items())
    if quality.auc is not None:
        values["AUC"] = quality.auc.value
    if tallied.losses is not None:
        log_loss, summed = mean_over_classes(tallied.losses, evidence.shares).tolist()
        brier = {_BRIER: summed / 2} if evidence.problem.n_classes == 2 else {_SUMMED: summed}
        values |= {_LOG_LOSS: log_loss, **brier}
    return values
