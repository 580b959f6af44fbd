"""evaluate: rows in, a report out."""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes import _check
from stakes._version import __version__
from stakes.calibration import Calibrator
from stakes.errors import InputError
from stakes.evaluation.cases import Cases, read_cases, read_models
from stakes.evaluation.caveats import caveats_of
from stakes.evaluation.disagreement import disagreement_of
from stakes.evaluation.quality import quality_of
from stakes.evaluation.slices import slices_of
from stakes.evaluation.systems import (
    TAGS,
    Candidate,
    Predictions,
    candidates_of,
    read_predictions,
)
from stakes.evaluation.uncertainty import Costs, costs_of, joint_counts, scheme_for
from stakes.evaluation.verdict import verdict_of
from stakes.problem import Problem
from stakes.regions import (
    Margin,
    Regions,
    as_cost_ratios,
    cost_proportion_regions,
    prior_regions,
    sensitivity,
)
from stakes.report import Assumptions, NaiveDecision, Report, System
from stakes.tally import Counts, JointCounts

__all__ = ["evaluate"]

_LEVEL = 0.95


def evaluate(
    y_true: object,
    models: Any,
    problem: Problem,
    *,
    weights: object = None,
    by: object = None,
    cluster: object = None,
    posterior_prior: object = None,
    calibrator: Calibrator | None = None,
    replicates: int = 2000,
    seed: int = 0,
) -> Report:
    """What the decisions of these models cost, which to deploy, and how sure one can be.

    Parameters
    ----------
    y_true : labels of the true classes, (n,)
    models : predictions of one model, or a mapping from name to predictions
        `Posteriors`, `Decisions` or `Scores`; a bare float array is posteriors, a bare array of
        ints, booleans or text is decisions.
    problem : what is at stake
    weights : (n,) weights of the cases
    by : labels, one per case; the report has a slice for each of them
    cluster : labels, one per case, of units that were sampled together (patients, sites)
    posterior_prior : the prior for which posteriors hold; by default the shares of the data
    calibrator : a calibrator of `stakes.calibration`; recalibrated posteriors are made out of fold
    replicates : redraws behind every interval
    seed : of the random numbers; the report prints it

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p, "old": [0.1] * 100}, problem)
    >>> report.verdict.cheapest, report.system("new, as is").cost.value
    ('new, as is', 0.25)
    """
    cases = read_cases(y_true, problem, weights, by, cluster)
    held = (
        None
        if posterior_prior is None
        else _check.prior("posterior_prior", posterior_prior, problem.classes)
    )
    rng = np.random.default_rng(seed)
    predictions = [
        read_predictions(name, given, cases, posterior_prior=held, calibrator=calibrator, rng=rng)
        for name, given in read_models(models, len(cases.truth)).items()
    ]
    decided = _systems(predictions, cases)
    joint = joint_counts(cases, {name: one.decided for name, one in decided.items()})
    scheme = scheme_for(cases)
    costs = costs_of(joint, problem, scheme, replicates=replicates, rng=rng, level=_LEVEL)
    pooled = joint if cases.cluster is None else scheme.whole(joint)
    systems = _rows(decided, costs, pooled)
    spent = _spent(systems)
    qualities = tuple(
        quality_of(one, cases, spent.get(one.model, {}), _LEVEL) for one in predictions
    )
    naive = _naive(cases)
    return Report(
        problem=problem,
        verdict=verdict_of(systems, costs, naive, problem),
        assumptions=_assumptions(cases, held, calibrator, replicates, seed),
        naive=naive,
        perfect_cost=float(cases.prior @ problem.costs.min(axis=1)),
        systems=systems,
        models=qualities,
        regions=_regions(systems, cases),
        margins=_margins(systems, cases),
        disagreement=disagreement_of(cases, predictions, systems, qualities),
        caveats=caveats_of(cases, predictions, systems, qualities, costs),
        slices=slices_of(cases, decided, replicates=replicates, rng=rng, level=_LEVEL),
    )


def _systems(predictions: list[Predictions], cases: Cases) -> dict[str, Candidate]:
    """All systems by name: the model's alone where it has one rule, else with the rule's tag."""
    decided: dict[str, Candidate] = {}
    for one in predictions:
        own = list(candidates_of(one, cases))
        for candidate in own:
            name = one.model if len(own) == 1 else f"{one.model}, {TAGS[candidate.rule]}"
            decided[name] = candidate
    if not decided:
        raise InputError(
            "models must allow at least one decision rule; raw scores alone allow none for "
            f"{cases.problem.n_decisions} decisions. Pass a calibrator, such as Isotonic()."
        )
    return decided


def _rows(decided: dict[str, Candidate], costs: Costs, joint: JointCounts) -> tuple[System, ...]:
    chances = costs.probability_cheapest([name for name, one in decided.items() if one.eligible])
    return tuple(
        System(
            name=name,
            model=one.model,
            rule=one.rule,
            threshold=one.threshold,
            candidate=one.eligible,
            counts=joint.model(name),
            cost=costs.cost(name),
            normalized=costs.normalized(name),
            probability_cheapest=chances.get(name, float("nan")),
        )
        for name, one in decided.items()
    )


def _spent(systems: tuple[System, ...]) -> dict[str, dict[str, float]]:
    """Cost of every rule of every model."""
    spent: dict[str, dict[str, float]] = {}
    for system in systems:
        spent.setdefault(system.model, {})[system.rule] = system.cost.value
    return spent


def _naive(cases: Cases) -> NaiveDecision:
    found = cases.problem.with_prior(cases.prior).naive
    return NaiveDecision(found.decision, found.cost, found.tied)


def _counts(systems: tuple[System, ...]) -> dict[Any, Counts]:
    return {system.name: system.counts for system in systems if system.candidate}


def _regions(systems: tuple[System, ...], cases: Cases) -> tuple[Regions, ...]:
    """Where each system wins, its decisions as they are: over costs and over the last prior."""
    problem, counts = cases.problem, _counts(systems)
    if not (cases.shares > 0).all():
        return ()
    over_prior = prior_regions(counts, problem, problem.classes[-1])
    if problem.costs.shape != (2, 2):
        return (over_prior,)
    over_costs = cost_proportion_regions(counts, prior=cases.prior)
    return (over_costs, as_cost_ratios(over_costs), over_prior)


def _margins(systems: tuple[System, ...], cases: Cases) -> tuple[Margin, ...]:
    counts = _counts(systems)
    if len(counts) < 2 or not (cases.shares > 0).all():
        return ()
    found = sensitivity(counts, cases.problem)
    return (*found.costs, *found.priors)


def _assumptions(
    cases: Cases, held: Any, calibrator: Calibrator | None, replicates: int, seed: int
) -> Assumptions:
    weights = cases.weights
    posterior_prior = cases.shares if held is None else held
    return Assumptions(
        n_cases=float(len(cases.truth) if weights is None else weights.sum()),
        n_rows=len(cases.truth),
        weighted=weights is not None,
        prior=tuple(cases.prior.tolist()),
        prior_stated=cases.problem.prior is not None,
        posterior_prior=tuple(posterior_prior.tolist()),
        calibrator=None if calibrator is None else repr(calibrator),
        clusters=cases.n_clusters,
        replicates=replicates,
        seed=seed,
        level=_LEVEL,
        version=__version__,
    )
