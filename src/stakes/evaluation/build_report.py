"""The report, made from evidence alone: nothing in this module reads rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stakes._version import __version__
from stakes.decide import cheapest_decisions
from stakes.evaluation.baseline import compared, read_incumbent
from stakes.evaluation.case_charges import NO_MODEL, blind_counts
from stakes.evaluation.caveats import caveats_of
from stakes.evaluation.cost_intervals import costs_of
from stakes.evaluation.decision_rules import DecisionRule
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.flips import flips_of, rivals_of
from stakes.evaluation.information import Remake, uncertainty_of
from stakes.evaluation.joint_bins import joint_bins_of
from stakes.evaluation.limit_checks import checked_limits
from stakes.evaluation.metric_picks import disagreement_of, picks_of
from stakes.evaluation.miscalibration import Miscalibration, miscalibration_of
from stakes.evaluation.moved_limits import MovedLimits, flips_under_limits
from stakes.evaluation.quality import quality_of, without_misordered
from stakes.evaluation.report_options import ReportOptions
from stakes.evaluation.score_bins import shown_table_of
from stakes.evaluation.slice_costs import slices_of
from stakes.evaluation.system_cuts import cuts_of_system
from stakes.evaluation.verdict import verdict_of
from stakes.inference import LossCosts, SampledCosts
from stakes.limits import coverage_points
from stakes.report import (
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Assumptions,
    CurvePoints,
    ModelQuality,
    NaiveDecision,
    Report,
    System,
    Verdict,
    cheapest_of,
)
from stakes.rows import SCORES, Posteriors, Scores
from stakes.rule import Origin, Rule, Rules
from stakes.tally import ScoreTable

_BLOCK = 1 << 16  # scores that fit into the cache


def report_of(
    evidence: Evidence,
    options: ReportOptions,
    *,
    library: str | None = None,
    remake: Remake | None = None,
    engine: str = "numpy",
    moved_limits: MovedLimits | None = None,
) -> Report:
    """Make the report from the evidence.

    Parameters
    ----------
    evidence : the tallies
    options : what the report is asked for
    library : the library of the frames that were passed
    remake : remakes the rules for other costs, where the rows are available
    engine : the name of the engine that tallied the rows
    moved_limits : decides the rows again under other limits, where there are limits and rows

    Returns
    -------
    the report

    Examples
    --------
    `evaluate` makes the evidence from rows and calls this; engines make it from files:

    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> report = evaluate([0, 1] * 50, [0.1, 0.8] * 50, problem, calibrator=None, replicates=20)
    >>> report.assumptions.engine
    'numpy'
    """
    unchecked = without_misordered(replace(evidence, operation=options.operation))
    evidence, level = checked_limits(unchecked, options.level), options.level
    problem, rules = evidence.problem, shipped_rules(evidence, options.seed)
    incumbent = read_incumbent(options.baseline, options.margin, evidence, level)
    costs = costs_of(evidence.sample, problem, evidence, level)
    known, systems = compared(_systems(evidence, costs, rules), costs, incumbent, evidence.rules)
    tables = {tallied.model: shown_table_of(tallied, evidence) for tallied in evidence.models}
    miscalibrations = _miscalibrations(evidence, tables, options)
    models = _qualities(evidence, costs, tables, miscalibrations)
    naive = _naive(evidence, costs)
    verdict = verdict_of(systems, costs, naive, evidence, known)
    named = {system.name: system for system in systems}
    best = named.get(verdict.cheapest or "", cheapest_of(systems))
    disagreement = disagreement_of(evidence, systems, models)
    chosen, unknown = _chosen(verdict, named, costs), options.unknown(problem, evidence.prior)
    regions, margins = flips_of(systems, evidence, costs, chosen)
    no_model = _no_model(evidence, costs)
    uncertainty = None
    if unknown is not None:
        rivals = rivals_of(systems, evidence, chosen)
        # Under limits, prices would have to be fitted again in every world: that takes too long.
        again = None if problem.limits else remake
        uncertainty = uncertainty_of(unknown, rivals, chosen, options.seed, again)
    return Report(
        problem=problem,
        verdict=verdict,
        assumptions=_assumptions(evidence, options, library, engine),
        naive=naive,
        perfect_cost=costs.perfect,
        systems=systems,
        models=models,
        regions=regions,
        margins=margins,
        disagreement=disagreement,
        picks=picks_of(disagreement, systems, costs),
        caveats=caveats_of(evidence, systems, models, verdict, costs, miscalibrations),
        slices=slices_of(evidence, best.name, level=level),
        rules=rules,
        no_model=no_model,
        baseline=known,
        uncertainty=uncertainty,
        coverage=_coverage(evidence, best),
        joint=joint_bins_of(systems, models, evidence, costs),
        flips_under_limits=flips_under_limits(moved_limits, unchecked, evidence, chosen, level),
    )


def _chosen(verdict: Verdict, named: Mapping[str, System], costs: SampledCosts) -> str:
    """What is done after the verdict: a system, the incumbent, or what needs no model."""
    if verdict.keep is not None and verdict.keep not in named:  # it is of an earlier report
        return costs.cheapest or costs.unaided
    return verdict.cheapest or verdict.keep or costs.unaided


def _qualities(
    evidence: Evidence,
    costs: SampledCosts,
    tables: dict[str, ScoreTable | None],
    miscalibrations: dict[str, Miscalibration | None],
) -> tuple[ModelQuality, ...]:
    return tuple(
        quality_of(
            tallied,
            evidence,
            costs,
            shown_table=tables[tallied.model],
            miscalibration=miscalibrations.get(tallied.model),
        )
        for tallied in evidence.models
    )


def _systems(evidence: Evidence, costs: SampledCosts, shipped: Rules) -> tuple[System, ...]:
    charges, running = evidence.sample.charges, evidence.operation.running_costs
    problem, joint = evidence.problem, evidence.sample.pooled

    def cuts(name: str, rule: DecisionRule) -> dict[str, Any]:
        table = evidence.model(rule.model).table
        return cuts_of_system(name, rule, shipped, problem, table)._asdict()

    return tuple(
        System(
            name=name,
            model=rule.model,
            rule=rule.name,
            **cuts(name, rule),
            candidate=rule.eligible,
            counts=joint.model(name),
            cost=costs.cost(name),
            normalized=costs.normalized(name),
            probability_cheapest=costs.chances.get(name, float("nan")),
            spent=None if charges is None else charges.spent[name],
            sums=None if charges is None else charges.sums.get(name),
            running_cost=running.get(rule.model, 0.0),
            total=evidence.operation.total(costs.cost(name)),
            limits=evidence.checks.get(name, ()),
            rounding_loss=rule.rounding_loss,
        )
        for name, rule in evidence.rules.items()
    )


def _no_model(evidence: Evidence, costs: SampledCosts) -> System | None:
    """The rule without a model, by costs and prior; None where all cases have the same costs."""
    charges = evidence.sample.charges
    if charges is None:
        return None
    return System(
        name=NO_MODEL,
        model=NO_MODEL,
        rule=NO_MODEL,
        threshold=None,
        cuts=(),
        candidate=False,
        counts=blind_counts(charges, evidence.problem, charges.losses.weights),
        cost=costs.cost(NO_MODEL),
        normalized=costs.normalized(NO_MODEL),
        probability_cheapest=float("nan"),
        spent=charges.spent[NO_MODEL],
        sums=charges.sums.get(NO_MODEL),
        total=evidence.operation.total(costs.cost(NO_MODEL)),
        limits=evidence.checks.get(NO_MODEL, ()),
    )


def _coverage(evidence: Evidence, best: System) -> CurvePoints:
    """What the best system costs per decided case, as ever more hard cases are left undecided."""
    problem = evidence.problem
    if best.name in evidence.coverage:
        return evidence.coverage[best.name]()
    if problem.limits or problem.columns or best.rule not in POSTERIOR_RULES:
        return ()
    table = evidence.model(best.model).table_of(best.rule)
    if table is None:
        return ()
    weights = table.with_prior(evidence.prior).weights
    hardness, mass, spent = np.empty((3, table.scores.size))
    for start in range(0, table.scores.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        negatives, positives = weights[block].T
        posteriors = np.stack([1 - table.scores[block], table.scores[block]])
        # Classes are the first axis: sums over rows of two numbers would be far slower.
        first, second = problem.costs.take(cheapest_decisions(posteriors.T, problem.costs), axis=1)
        hardness[block] = first * posteriors[0] + second * posteriors[1]
        mass[block] = negatives + positives
        spent[block] = negatives * first + positives * second
    return coverage_points(hardness, mass, spent)


def _miscalibrations(
    evidence: Evidence,
    tables: dict[str, ScoreTable | None],
    options: ReportOptions,
) -> dict[str, Miscalibration | None]:
    """What miscalibration costs each model, where there is no calibrator to measure it with.

    All models use the same random numbers, so that equal models have equal results.
    """
    if evidence.calibrator is not None:
        return {}
    (stream,) = np.random.SeedSequence(options.seed).spawn(1)
    return {
        tallied.model: miscalibration_of(
            tallied,
            tables[tallied.model],
            evidence,
            replicates=options.replicates,
            rng=np.random.default_rng(stream),
        )
        for tallied in evidence.models
    }


def _naive(evidence: Evidence, costs: SampledCosts) -> NaiveDecision:
    if isinstance(costs, LossCosts):
        return NaiveDecision(*costs.cheapest_constant())
    naive = evidence.problem.with_prior(evidence.prior).naive
    return NaiveDecision(naive.decision, naive.cost, naive.tied)


def _assumptions(
    evidence: Evidence, options: ReportOptions, library: str | None, engine: str
) -> Assumptions:
    return Assumptions(
        n_cases=float(evidence.sample.pooled.n_cases),
        n_rows=evidence.n_rows,
        weighted=evidence.weighted,
        copied=evidence.copied,
        prior=tuple(evidence.prior.tolist()),
        prior_stated=evidence.problem.prior is not None,
        posterior_prior=tuple(evidence.posterior_prior.tolist()),
        calibrator=evidence.calibrator,
        clusters=evidence.sample.clusters,
        replicates=options.replicates,
        seed=options.seed,
        level=options.level,
        version=__version__,
        frame_library=library,
        running_costs=tuple(evidence.operation.running_costs.items()),
        volume=evidence.operation.volume,
        period=evidence.operation.period,
        engine=engine,
    )


# Rules that decide new cases ---------------------------------------------------------------------


def shipped_rules(evidence: Evidence, seed: int) -> Rules:
    """A rule for every system that can decide new cases; maps are fitted when they are needed."""
    origin = Origin(
        version=__version__,
        seed=seed,
        n_rows=evidence.n_rows,
        n_cases=float(evidence.sample.pooled.n_cases),
        prior=tuple(evidence.prior.tolist()),
    )
    return Rules(
        {name: _rule(name, rule, evidence, origin) for name, rule in evidence.rules.items()}
    )


def _rule(
    name: str, rule: DecisionRule, evidence: Evidence, origin: Origin
) -> Rule | Callable[[], Rule]:
    tallied = evidence.model(rule.model)
    common: dict[str, Any] = {
        "problem": evidence.problem,
        "takes": tallied.kind,
        "system": name,
        "model": rule.model,
        "origin": origin,
    }
    if rule.name == RECALIBRATED:
        # A fit to all cases takes time, and most reports are read without deciding new cases.
        fit = evidence.maps[rule.model]
        if evidence.problem.prior is not None:
            common |= {"from_prior": evidence.shares, "to_prior": evidence.prior}
        if rule.added is None:
            return lambda: Rule(map=fit(), **common)
        return lambda: _repriced(fit, evidence, common)
    if rule.name in (TUNED, TUNED_APART):
        return Rule(threshold=rule.threshold, **common)
    if rule.name == MOVED and tallied.moving is not None:
        from_prior, prior = tallied.moving
        return Rule(from_prior=from_prior, to_prior=prior, added=rule.added, **common)
    return Rule(added=rule.added, **common)


def _repriced(fit: Any, evidence: Evidence, common: dict[str, Any]) -> Rule:
    """The rule with the map fitted to all cases, and prices fitted to its posteriors."""
    assert evidence.repriced is not None
    # Prices are fitted to the posteriors of the map, which a rule without limits gives.
    free = {**common, "problem": evidence.problem.with_limits(None)}
    rule = Rule(map=fit(), **free)
    wrapper = Scores if rule.takes == SCORES else Posteriors
    added = evidence.repriced(rule.model, rule.posteriors(wrapper(fit.rows.scores)))
    return Rule(map=rule.map, added=added, **common)
