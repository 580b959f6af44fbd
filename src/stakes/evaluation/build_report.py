"""From evidence to the report: nothing here reads rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from stakes._version import __version__
from stakes.evaluation.caveats import caveats_of
from stakes.evaluation.charging import NO_MODEL
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.frozen import case_margins, case_regions
from stakes.evaluation.metric_picks import disagreement_of, picks_of
from stakes.evaluation.miscalibration import Miscalibration, miscalibration_of
from stakes.evaluation.operation import Operation
from stakes.evaluation.quality import quality_of
from stakes.evaluation.score_bins import held_table
from stakes.evaluation.shipping import shipped_rules
from stakes.evaluation.slice_costs import slices_of
from stakes.evaluation.uncertainty import Costs, LossCosts, costs_of
from stakes.evaluation.verdict import verdict_of
from stakes.problem import Problem
from stakes.regions import (
    CostProportion,
    CostRatio,
    Margin,
    Prior,
    Regions,
    cheapest_regions,
    constant_rules,
    decision_regions,
    sensitivity,
)
from stakes.report import (
    BAYES,
    MOVED,
    RECALIBRATED,
    Assumptions,
    NaiveDecision,
    Report,
    System,
    cheapest_of,
)
from stakes.tally import Counts, ScoreTable

__all__ = ["report_of"]


def report_of(
    evidence: Evidence,
    *,
    replicates: int,
    seed: int,
    rng: np.random.Generator,
    level: float = 0.95,
    library: str | None = None,
    operation: Operation | None = None,
) -> Report:
    """All that the evidence says; `rng` was made from the seed, and may have been used.

    `library` is that of the frames that were given.
    """
    if operation is not None:
        evidence = replace(evidence, operation=operation)
    problem = evidence.problem
    costs = costs_of(evidence.sample, problem, evidence, level)
    systems = _systems(evidence, costs)
    tables = {one.model: held_table(one, evidence) for one in evidence.models}
    miscalibrations = _miscalibrations(evidence, tables, replicates, rng)
    models = tuple(
        quality_of(
            one,
            evidence,
            _own(systems, one.model),
            costs,
            held=tables[one.model],
            miscalibration=miscalibrations.get(one.model),
        )
        for one in evidence.models
    )
    naive = _naive(evidence, costs)
    verdict = verdict_of(systems, costs, naive, evidence)
    disagreement = disagreement_of(evidence, systems, models)
    return Report(
        problem=problem,
        verdict=verdict,
        assumptions=_assumptions(evidence, replicates, seed, level, library),
        naive=naive,
        perfect_cost=costs.perfect,
        systems=systems,
        models=models,
        regions=_regions(systems, evidence),
        margins=_margins(systems, evidence),
        disagreement=disagreement,
        picks=picks_of(disagreement, systems, costs),
        caveats=caveats_of(evidence, systems, models, verdict, costs, miscalibrations),
        slices=slices_of(evidence, cheapest_of(systems).name, level=level),
        rules=shipped_rules(evidence, seed),
        no_model=_no_model(evidence, costs),
    )


def _systems(evidence: Evidence, costs: Costs) -> tuple[System, ...]:
    rules, joint, problem = evidence.rules, evidence.sample.pooled, evidence.problem
    many = problem.n_classes == 2 and problem.n_decisions > 2 and not problem.columns
    charges, running = evidence.sample.charges, evidence.operation.running_costs
    cuts = tuple(decision_regions(problem).crossings.tolist()) if many else ()
    return tuple(
        System(
            name=name,
            model=one.model,
            rule=one.name,
            threshold=one.threshold,
            cuts=cuts if one.name in (BAYES, MOVED, RECALIBRATED) else (),
            candidate=one.eligible,
            counts=joint.model(name),
            cost=costs.cost(name),
            normalized=costs.normalized(name),
            probability_cheapest=costs.chances.get(name, float("nan")),
            spent=None if charges is None else charges.spent[name],
            running_cost=running.get(one.model, 0.0),
            total=evidence.operation.total(costs.cost(name)),
        )
        for name, one in rules.items()
    )


def _no_model(evidence: Evidence, costs: Costs) -> System | None:
    """What the costs of each case and the prior decide alone; None where costs are the same."""
    charges, problem = evidence.sample.charges, evidence.problem
    if charges is None:
        return None
    truth, weights, size = charges.losses.truth, charges.losses.weights, problem.n_decisions
    cells = np.bincount(truth * size + charges.blind, weights, size * problem.n_classes)
    table = cells.reshape(problem.n_classes, size)
    return System(
        name=NO_MODEL,
        model=NO_MODEL,
        rule=NO_MODEL,
        threshold=None,
        cuts=(),
        candidate=False,
        counts=Counts(table, classes=problem.classes, decisions=problem.decisions),
        cost=costs.cost(NO_MODEL),
        normalized=costs.normalized(NO_MODEL),
        probability_cheapest=float("nan"),
        spent=charges.spent[NO_MODEL],
        total=evidence.operation.total(costs.cost(NO_MODEL)),
    )


def _miscalibrations(
    evidence: Evidence,
    tables: dict[str, ScoreTable | None],
    replicates: int,
    rng: np.random.Generator,
) -> dict[str, Miscalibration | None]:
    """What calibration costs each model, where no calibrator says so.

    All models have the same random numbers, so that equal ones have equal results.
    """
    if evidence.calibrator is not None:
        return {}
    (seed,) = rng.bit_generator.seed_seq.spawn(1)  # type: ignore[attr-defined]
    return {
        one.model: miscalibration_of(
            one,
            tables[one.model],
            evidence,
            replicates=replicates,
            rng=np.random.default_rng(seed),
        )
        for one in evidence.models
    }


def _own(systems: tuple[System, ...], model: str) -> dict[str, str]:
    """The systems of one model, by their rules."""
    return {system.rule: system.name for system in systems if system.model == model}


def _naive(evidence: Evidence, costs: Costs) -> NaiveDecision:
    if isinstance(costs, LossCosts):
        return NaiveDecision(*costs.constant(evidence.problem.decisions))
    found = evidence.problem.with_prior(evidence.prior).naive
    return NaiveDecision(found.decision, found.cost, found.tied)


def _rivals(systems: tuple[System, ...], problem: Problem) -> dict[Any, Counts]:
    """All that could be deployed: every decision made blindly, which wins ties, and the systems."""
    own: dict[Any, Counts] = {one.name: one.counts for one in systems if one.candidate}
    return {**constant_rules(systems[0].counts, problem), **own}


def _regions(systems: tuple[System, ...], evidence: Evidence) -> tuple[Regions, ...]:
    """Where each system wins, its decisions as they are: over costs and over the last prior."""
    problem = evidence.problem
    if not (evidence.shares > 0).all():
        return ()
    if problem.columns or evidence.operation.running_costs:
        return case_regions(systems, evidence)
    over_prior = Prior(problem, problem.classes[-1])
    over_costs = (CostProportion(evidence.prior), CostRatio(evidence.prior))
    axes = (*over_costs, over_prior) if problem.costs.shape == (2, 2) else (over_prior,)
    rivals = _rivals(systems, problem)
    return tuple(cheapest_regions(rivals, axis) for axis in axes)


def _margins(systems: tuple[System, ...], evidence: Evidence) -> tuple[Margin, ...]:
    if not (evidence.shares > 0).all():
        return ()
    if evidence.problem.columns or evidence.operation.running_costs:
        return case_margins(systems, evidence)
    found = sensitivity(_rivals(systems, evidence.problem), evidence.problem)
    return (*found.costs, *found.priors)


def _assumptions(
    evidence: Evidence, replicates: int, seed: int, level: float, library: str | None
) -> Assumptions:
    return Assumptions(
        n_cases=float(evidence.sample.pooled.n_cases),
        n_rows=evidence.n_rows,
        weighted=evidence.weighted,
        prior=tuple(evidence.prior.tolist()),
        prior_stated=evidence.problem.prior is not None,
        posterior_prior=tuple(evidence.posterior_prior.tolist()),
        calibrator=evidence.calibrator,
        clusters=evidence.sample.clusters,
        replicates=replicates,
        seed=seed,
        level=level,
        version=__version__,
        frame_library=library,
        running_costs=tuple(evidence.operation.running_costs.items()),
        volume=evidence.operation.volume,
        period=evidence.operation.period,
    )
