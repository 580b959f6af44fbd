"""Which familiar numbers would have picked another model."""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from stakes.audit import FAMILIAR, FAMILIAR_MULTICLASS, Disagreement
from stakes.evaluation.cost_intervals import Costs
from stakes.evaluation.evidence import Evidence, ModelTallies
from stakes.report import Interval, ModelQuality, Pick, System, cheapest_of
from stakes.scoring import mean_over_classes

_LOG_LOSS, _BRIER, _SUMMED = "log loss", "Brier score", "summed Brier score"
_LOSSES = (_LOG_LOSS, _BRIER, _SUMMED)  # lower is better


def disagreement_of(
    evidence: Evidence, systems: tuple[System, ...], qualities: tuple[ModelQuality, ...]
) -> Disagreement | None:
    """What each metric says of each model, which it picks, and what the pick costs.

    Metrics are computed as people compute them: on the data at hand, the most probable class for a
    decision. A pick is charged with the cheapest system of the model that it picks. A metric that
    only one model has, as the AUC beside a model of mere decisions, compares nothing and is left
    out; one that is undefined for some of those that have it is kept, and never picks these. The
    Brier score of two classes is the mean squared error of P(second class), as everywhere; that of
    more classes is the sum over them, and is called so.
    """
    models = evidence.models
    if len(models) < 2:
        return None
    pairs = zip(models, qualities, strict=True)
    found = [_values(one, quality, evidence) for one, quality in pairs]
    rows = {
        name: np.array([values.get(name, nan) for values in found])
        for name in dict.fromkeys(name for values in found for name in values)
        if sum(name in values for values in found) > 1
    }
    rows = {name: row for name, row in rows.items() if not np.isnan(row).all()}
    if not rows:
        return None
    costs = np.array([_least_cost(one.model, systems) for one in models])
    values = {name: (row, -row if name in _LOSSES else row) for name, row in rows.items()}
    names = tuple(one.model for one in models)
    return Disagreement.of(names, costs, values, evidence.problem.unit)


def _least_cost(model: str, systems: tuple[System, ...]) -> float:
    own = [system for system in systems if system.model == model]
    return cheapest_of(own).cost.value if own else nan


def picks_of(
    found: Disagreement | None, systems: tuple[System, ...], costs: Costs
) -> tuple[Pick, ...]:
    """What each metric's pick costs above the cheapest model, with the interval."""
    if found is None:
        return ()
    best = cheapest_of(systems)
    dearest_first = np.argsort(-np.where(np.isnan(found.costs), np.inf, found.costs), kind="stable")
    picks = []
    for metric, chosen in zip(found.metrics, found.picks, strict=True):
        taken = [str(found.models[j]) for j in dearest_first if chosen[j]]
        picks.append(_pick(metric, taken[0] if taken else None, best, systems, costs))
    return tuple(picks)


def _pick(
    metric: str, model: str | None, best: System, systems: tuple[System, ...], costs: Costs
) -> Pick:
    own = [system for system in systems if system.model == model]
    if not own or isnan(best.cost.value):
        return Pick(metric, model, Interval(nan, nan, nan), None)
    system = cheapest_of(own)
    if system.name == best.name:
        return Pick(metric, model, Interval(0.0, 0.0, 0.0), None)
    if system.name not in costs.choice.names:  # it breaks a limit, and is no rival
        more = costs.saving(system.name, best.name)
        return Pick(metric, model, more, more.low > 0)
    return Pick(metric, model, costs.more(system.name), not costs.is_contender(system.name))


def _values(one: ModelTallies, quality: ModelQuality, evidence: Evidence) -> dict[str, float]:
    """Every familiar number that this model has."""
    found: dict[str, float] = {}
    if one.predicted is not None:
        familiar = FAMILIAR if evidence.problem.n_classes == 2 else FAMILIAR_MULTICLASS
        found.update((name, float(metric(one.predicted))) for name, metric in familiar.items())
    if quality.auc is not None:
        found["AUC"] = quality.auc.value
    if one.losses is not None:
        log_loss, summed = mean_over_classes(one.losses, evidence.shares).tolist()
        brier = {_BRIER: summed / 2} if evidence.problem.n_classes == 2 else {_SUMMED: summed}
        found |= {_LOG_LOSS: log_loss, **brier}
    return found
