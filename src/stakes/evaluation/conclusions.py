"""From evidence to the report: nothing here reads rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes._version import __version__
from stakes.evaluation.caveats import caveats_of
from stakes.evaluation.disagreement import disagreement_of
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.hindsight import Hindsight, hindsight_of
from stakes.evaluation.pooling import held_table
from stakes.evaluation.quality import quality_of
from stakes.evaluation.slices import slices_of
from stakes.evaluation.uncertainty import Costs, costs_of
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
from stakes.report import BAYES, MOVED, RECALIBRATED, Assumptions, NaiveDecision, Report, System
from stakes.tally import Counts, ScoreTable

__all__ = ["report_of"]

_LEVEL = 0.95


def report_of(
    evidence: Evidence,
    *,
    replicates: int,
    seed: int,
    rng: np.random.Generator,
    library: str | None = None,
) -> Report:
    """All that the evidence says; `rng` was made from the seed, and may have been used.

    `library` is that of the frames that were given.
    """
    problem, prior = evidence.problem, evidence.prior
    drawing: dict[str, Any] = {"replicates": replicates, "rng": rng, "level": _LEVEL}
    costs = costs_of(evidence.sample, problem, **drawing)
    systems = _systems(evidence, costs)
    tables = {one.model: held_table(one, evidence) for one in evidence.models}
    hindsight = _hindsight(evidence, tables, rng)
    models = tuple(
        quality_of(
            one,
            evidence,
            _own(systems, one.model),
            costs,
            held=tables[one.model],
            hindsight=hindsight.get(one.model),
        )
        for one in evidence.models
    )
    naive = _naive(evidence)
    verdict = verdict_of(systems, costs, naive, evidence)
    return Report(
        problem=problem,
        verdict=verdict,
        assumptions=_assumptions(evidence, replicates, seed, library),
        naive=naive,
        perfect_cost=float(prior @ problem.costs.min(axis=1)),
        systems=systems,
        models=models,
        regions=_regions(systems, evidence),
        margins=_margins(systems, evidence),
        disagreement=disagreement_of(evidence, systems, models),
        caveats=caveats_of(evidence, systems, models, verdict, costs, hindsight),
        slices=slices_of(evidence, **drawing),
    )


def _systems(evidence: Evidence, costs: Costs) -> tuple[System, ...]:
    rules, joint, problem = evidence.rules, evidence.sample.pooled, evidence.problem
    many = problem.n_classes == 2 and problem.n_decisions > 2
    cuts = tuple(decision_regions(problem).crossings.tolist()) if many else ()
    chances = costs.probability_cheapest([name for name, one in rules.items() if one.eligible])
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
            probability_cheapest=chances.get(name, float("nan")),
        )
        for name, one in rules.items()
    )


def _hindsight(
    evidence: Evidence, tables: dict[str, ScoreTable | None], rng: np.random.Generator
) -> dict[str, Hindsight | None]:
    """What calibration costs each model, where no calibrator says so."""
    if evidence.calibrator is not None:
        return {}
    (apart,) = rng.spawn(1)
    return {
        one.model: hindsight_of(one, tables[one.model], evidence, apart) for one in evidence.models
    }


def _own(systems: tuple[System, ...], model: str) -> dict[str, str]:
    """The systems of one model, by their rules."""
    return {system.rule: system.name for system in systems if system.model == model}


def _naive(evidence: Evidence) -> NaiveDecision:
    found = evidence.problem.with_prior(evidence.prior).naive
    return NaiveDecision(found.decision, found.cost, found.tied)


def _rivals(systems: tuple[System, ...], problem: Problem) -> dict[Any, Counts]:
    """All that could be deployed: the systems that may win, and every decision made blindly."""
    own: dict[Any, Counts] = {one.name: one.counts for one in systems if one.candidate}
    blind = constant_rules(systems[0].counts, problem)
    return own | {name: counts for name, counts in blind.items() if name not in own}


def _regions(systems: tuple[System, ...], evidence: Evidence) -> tuple[Regions, ...]:
    """Where each system wins, its decisions as they are: over costs and over the last prior."""
    problem = evidence.problem
    if not (evidence.shares > 0).all():
        return ()
    over_prior = Prior(problem, problem.classes[-1])
    over_costs = (CostProportion(evidence.prior), CostRatio(evidence.prior))
    axes = (*over_costs, over_prior) if problem.costs.shape == (2, 2) else (over_prior,)
    rivals = _rivals(systems, problem)
    return tuple(cheapest_regions(rivals, axis) for axis in axes)


def _margins(systems: tuple[System, ...], evidence: Evidence) -> tuple[Margin, ...]:
    if not (evidence.shares > 0).all():
        return ()
    found = sensitivity(_rivals(systems, evidence.problem), evidence.problem)
    return (*found.costs, *found.priors)


def _assumptions(
    evidence: Evidence, replicates: int, seed: int, library: str | None
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
        level=_LEVEL,
        version=__version__,
        frame_library=library,
    )
