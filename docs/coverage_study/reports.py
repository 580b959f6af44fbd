"""How often the numbers that `evaluate` prints contain the true value.

Every data set goes through the parts of `evaluate` that make these numbers: rows, predictions,
evidence, costs, systems and verdict. The rest of a report (curves, regions, caveats) is left out
to save time; a test compares both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import ndtri

from coverage_study.populations import CUTS, Design, FloatArray, Rows
from stakes.calibration import Select
from stakes.decide import cheapest_decisions
from stakes.evaluation import CrossFitted
from stakes.evaluation.build_report import _naive, _systems, shipped_rules
from stakes.evaluation.cases import read_cases, read_models
from stakes.evaluation.evidence import costs_of, with_fold_costs
from stakes.evaluation.predictions import Folds, hashed_columns, read_predictions, with_fit
from stakes.evaluation.tally_rows import evidence_of
from stakes.evaluation.verdict import verdict_of
from stakes.inference import Measured, SampledCosts
from stakes.report import RECALIBRATED, TUNED_APART, System, Verdict

__all__ = ["COLUMNS", "Printed", "printed", "row_of", "shares_right", "varied"]

LEVEL = 0.95
FINE = 5_000  # scores of each class that stand for all, where a fitted map decides
BINS = np.array([0.0, 0.25, 0.5, 0.75, 0.9, 1.0 + 1e-9])
COLUMNS = ("cost", "NEC", "saving", "difference", "winner", "winner's NEC", "set")  # coverages


@dataclass(frozen=True)
class Printed:
    """The numbers of a report that are looked at here."""

    systems: tuple[System, ...]
    verdict: Verdict
    costs: SampledCosts


def printed(
    design: Design, rows: Rows, *, crossed: CrossFitted | None = None, chances: bool = True
) -> Printed:
    """What `evaluate` says about these rows; without chances, which are slow, they are left out."""
    calibrator = Select() if design.kind == "recalibrated" else None
    about = rows.weights, None, rows.cluster, None, rows.copies
    cases = read_cases(rows.y, design.problem, *about)
    models = read_models(rows.models, cases.n_rows).items()
    read = partial(read_predictions, cases=cases, posterior_prior=None)
    came = [read(name, wrapped) for name, wrapped in models]
    folds = Folds(cases, 0, hashed_columns(came))  # as `evaluate` with seed 0
    predictions = [with_fit(each, folds, calibrator) for each in came]
    evidence = evidence_of(cases, predictions, posterior_prior=None, calibrator=None, folds=folds)
    evidence = with_fold_costs(evidence, crossed, cases, read)
    costs = costs_of(evidence.sample, design.problem, evidence, LEVEL)
    if not chances:
        vars(costs)["chances"] = {}
    systems = _systems(evidence, costs, shipped_rules(evidence, 0))
    return Printed(systems, verdict_of(systems, costs, _naive(evidence, costs), evidence), costs)


def true_costs(design: Design, rows: Rows, systems: tuple[System, ...]) -> dict[str, float]:
    """Cost on all cases to come of each candidate; that of a fitted rule, fitted on all rows."""
    names = list(rows.models)
    return {
        system.name: _true_cost(design, rows, system, names.index(system.model))
        for system in systems
        if system.candidate
    }


def _true_cost(design: Design, rows: Rows, system: System, place: int) -> float:
    if design.kind == "decisions":
        return design.cost_of_cuts(place, CUTS)
    if design.kind == "rare misses":
        return float(design.shares[1] * design.miss_rate * design.problem.costs[1, 0])
    if system.rule == TUNED_APART:
        assert system.threshold is not None
        return design.cost_of_cuts(place, np.array([system.threshold]))
    normal = ndtri((np.arange(FINE) + 0.5) / FINE)
    posterior = design.posterior(place, normal + np.array([[0.0], [design.skill[place]]]))
    if system.rule == RECALIBRATED:
        options = {"weights": rows.weights, "prior": design.problem.prior, "clusters": rows.cluster}
        fitted = Select().fit(rows.models[system.model], rows.y, classes=range(2), **options)
        posterior = fitted(posterior.ravel()).reshape(posterior.shape)
    both = np.stack([1 - posterior, posterior], axis=-1).reshape(-1, 2)
    second = cheapest_decisions(both, design.problem.costs).reshape(posterior.shape).mean(axis=1)
    taken = np.stack([1 - second, second], axis=1)
    return float(design.shares @ np.sum(taken * design.problem.costs, axis=1))


def _holds(interval: Measured | None, truth: float) -> float:
    return np.nan if interval is None else float(interval.low <= truth <= interval.high)


def checked(design: Design, rng: np.random.Generator, chances: bool) -> dict[str, float]:
    """One data set: which intervals cover, and what else the table shows."""
    rows = design.draw(rng)
    summary = printed(design, rows, chances=chances)
    truth = true_costs(design, rows, summary.systems)
    candidates = [system for system in summary.systems if system.candidate]
    choice, verdict = summary.costs.choice, summary.verdict
    chosen = summary.costs.cheapest or candidates[0].name
    least = min(truth.values())
    best = [name for name, cost in truth.items() if cost <= least + 1e-12]
    decision = summary.costs.constant.index(summary.costs.unaided)
    rival = verdict.runner_up
    return {
        "cost": np.mean([_holds(system.cost, truth[system.name]) for system in candidates]),
        "NEC": np.mean(
            [_holds(s.normalized, truth[s.name] / design.blind.min()) for s in candidates]
        ),
        "saving": _holds(verdict.saving_over_naive, design.blind[decision] - truth[chosen]),
        "difference": np.nan
        if rival is None
        else _holds(verdict.saving_over_runner_up, truth[rival] - truth[chosen]),
        "winner": _holds(verdict.cost, truth[chosen]),
        "winner's NEC": _holds(verdict.normalized, truth[chosen] / design.blind.min()),
        "set": float(np.mean([name in choice.contenders for name in best])),
        "size": float(len(choice.contenders)),
        "bias": verdict.cost.value - truth[chosen],
        "plain bias": next(s.cost.value for s in candidates if s.name == chosen) - truth[chosen],
        "error": candidates[0].cost.value - truth[candidates[0].name],
        "width": (verdict.cost.high - verdict.cost.low) / design.blind.min(),
        "said": summary.costs.chances.get(chosen, np.nan),
        "right": float(chosen in best) / len(best),
    }


def row_of(design: Design, samples: int, seed: int) -> dict[str, Any]:
    """One line of the table: coverages in % with their simulation error, and the rest."""
    rng = np.random.default_rng(seed)
    each = [checked(design, rng, number % 3 == 0) for number in range(samples)]
    table = {key: np.array([result[key] for result in each]) for key in each[0]}
    row: dict[str, Any] = {}
    for key in COLUMNS:
        known = table[key][~np.isnan(table[key])]
        row[key] = None if not known.size else 100 * float(known.mean())
        row[f"{key}, error"] = 100 * float(known.std() / np.sqrt(known.size)) if known.size else 0.0
    unit = float(np.std(table["error"])) or 1.0
    for key in ("bias", "plain bias"):
        row[key] = float(table[key].mean()) / unit
    row["bias, error"] = float(table["bias"].std() / unit / np.sqrt(samples))
    row["size"], row["width"] = float(table["size"].mean()), float(np.median(table["width"]))
    row["said"] = _binned(table["said"], table["right"])
    return row


def _binned(claimed: FloatArray, right: FloatArray) -> list[list[float]]:
    """For each bin of the stated probability: data sets, its sum, and how many were right."""
    part = np.where(np.isnan(claimed), -1, np.digitize(claimed, BINS[1:-1]))
    return [
        [float(in_bin.sum()), float(claimed[in_bin].sum()), float(right[in_bin].sum())]
        for in_bin in (part == place for place in range(len(BINS) - 1))
    ]


def varied(prevalence: float, samples: int, seed: int) -> list[list[float]]:
    """The bins of data sets of 2, 4 or 12 systems, with new skills for each of them."""
    rng, each = np.random.default_rng(seed), []
    for number in range(samples):
        systems, size = (2, 4, 12)[number % 3], (200, 1_000)[number % 2]
        skills = 1.2 + rng.choice([0.03, 0.1, 0.3]) * rng.standard_normal(systems)
        design = Design(systems, "varied", size, prevalence, varied_skills=tuple(skills.tolist()))
        each.append(checked(design, rng, chances=True))
    claimed, right = (np.array([result[key] for result in each]) for key in ("said", "right"))
    return _binned(claimed, right)


def shares_right(rows: list[dict[str, Any]]) -> FloatArray:
    """For each bin of the shrunk probability: data sets, its mean, share of right ones, (B, 3)."""
    sums = np.sum([row["said"] for row in rows], axis=0)
    with np.errstate(invalid="ignore"):
        return np.column_stack([sums[:, 0], sums[:, 1] / sums[:, 0], sums[:, 2] / sums[:, 0]])
