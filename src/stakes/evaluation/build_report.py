"""The report, made from evidence alone: nothing in this module reads rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np

from stakes import _check, _text
from stakes._check import FloatArray, Labels
from stakes._value import record
from stakes._version import __version__
from stakes.decide import cheapest_decisions
from stakes.errors import InputError
from stakes.evaluation.beliefs import Uncertain, Unknown, read_uncertain
from stakes.evaluation.cases import Operation, read_operation
from stakes.evaluation.caveats import caveats_of
from stakes.evaluation.evidence import NO_MODEL, Evidence, blind_counts, costs_of, slices_of
from stakes.evaluation.flips import flips_of, rivals_of
from stakes.evaluation.information import Remake, uncertainty_of
from stakes.evaluation.moved_limits import MovedLimits, flips_under_limits
from stakes.evaluation.predictions import DecisionRule, is_turned
from stakes.evaluation.quality import (
    Miscalibration,
    disagreement_of,
    miscalibration_of,
    picks_of,
    quality_of,
    without_misordered,
)
from stakes.evaluation.tally_rows import joint_bins_of, shown_table_of
from stakes.evaluation.verdict import (
    checked_limits,
    compared,
    read_incumbent,
    refuse_stranger,
    verdict_of,
)
from stakes.inference import LossCosts, SampledCosts
from stakes.limits import coverage_points
from stakes.problem import Problem
from stakes.regions import decision_regions
from stakes.report import (
    BAYES,
    CORRECTED,
    MOVED,
    OWN_COLUMN,
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

# What a report is asked for, besides the evidence: checked once, before any work is done ---------

MOST_REPLICATES = 100_000  # they know a share to 0.2 %; more would only take time


@record
class ReportOptions:
    """The options of a report; see `evaluate`.

    Examples
    --------
    >>> options = ReportOptions(level=0.9, replicates=20, seed=0)
    >>> options.level, options.operation.volume, options.baseline
    (0.9, None, None)
    """

    level: float
    replicates: int
    seed: int
    operation: Operation = field(default_factory=Operation)
    baseline: object = None  # a report or a name; compared once the systems are known
    margin: object = None
    uncertain: Uncertain | None = None

    @classmethod
    def read(
        cls,
        problem: Problem,
        models: Collection[str],
        *,
        level: object,
        replicates: object,
        seed: object,
        running_costs: object,
        volume: object,
        period: object,
        baseline: object,
        margin: object,
        uncertain: object,
    ) -> ReportOptions:
        """Check the options.

        Parameters
        ----------
        problem : what is at stake
        models : the names of the models
        level, replicates, seed, running_costs, volume, period, baseline, margin, uncertain : as in
            `evaluate`

        Returns
        -------
        the options; the baseline is read later, once the systems are known

        Examples
        --------
        >>> asked = dict.fromkeys(["running_costs", "volume", "period", "baseline", "margin"])
        >>> asked |= {"level": 0.9, "replicates": 20, "seed": 0, "uncertain": None}
        >>> ReportOptions.read(Problem.zero_one(2), ["net"], **asked).replicates
        20
        """
        refuse_stranger(baseline, models)
        return cls(
            level=_check.level(level),
            replicates=_check.whole("replicates", replicates, low=2, high=MOST_REPLICATES),
            seed=_seed(seed),
            operation=read_operation(running_costs, volume, period, models),
            baseline=baseline,
            margin=margin,
            uncertain=read_uncertain(uncertain, problem),
        )

    def unknown(self, problem: Problem, prior: FloatArray) -> Unknown | None:
        """All that is uncertain about a problem.

        Parameters
        ----------
        problem : what is at stake
        prior : (K,) class shares that apply where no prior is drawn

        Returns
        -------
        the unknowns; None where everything is known

        Examples
        --------
        >>> problem = Problem.zero_one(2, prior=[0.5, 0.5])
        >>> print(ReportOptions(0.95, 20, 0).unknown(problem, problem.prior))
        None
        """
        if self.uncertain is None:
            return None
        return Unknown(problem, prior, *self.uncertain, self.level)


def _seed(seed: Any) -> int:
    _check.whole("seed", seed, low=0)
    exact = int(seed)  # where a double cannot hold it
    if exact >= 2**63:
        raise InputError(f"seed must be below 2^63, as reports hold it; got {exact}. Take another.")
    return exact


# At which scores, or at which probabilities, each system changes its decision --------------------

_FEWEST, _MOST = 3, 17  # significant digits of a cut; 17 tell all numbers apart


class SystemCuts(NamedTuple):
    """The fields of a `System` that say where it changes its decision.

    Examples
    --------
    >>> SystemCuts(0.261, decided=("wait", "treat"), scale=OWN_COLUMN).cuts
    ()
    """

    threshold: float | None = None
    cuts: tuple[float, ...] = ()
    decided: Labels = ()
    corrected: tuple[float, ...] = ()
    scale: str | None = None
    digits: int = _FEWEST


def cuts_of_system(
    name: str, rule: DecisionRule, rules: Rules, problem: Problem, table: ScoreTable | None
) -> SystemCuts:
    """The cuts of a system: those of its rule, which decides new cases by the same column.

    Corrected posteriors are no column of anybody's. Where they rise with the column, the cuts are
    the scores at which they pass the probabilities that follow from the costs; they exist for two
    classes whose cases share their costs, and need the map that is fitted to all cases.

    Parameters
    ----------
    name : the name of the system
    rule : how it was decided
    rules : the rules that decide new cases
    problem : what is at stake
    table : the scores of the model, of two classes

    Returns
    -------
    the cuts; none where no single number decides

    Examples
    --------
    Posteriors that hold for 50 % of positives are moved to 10 %, where 0.5 is 0.1:

    >>> from stakes.report import MOVED
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> rules = Rules({"net (moved)": Rule(problem, from_prior=[0.5, 0.5], to_prior=[0.9, 0.1])})
    >>> cuts = cuts_of_system("net (moved)", DecisionRule("net", MOVED), rules, problem, None)
    >>> round(cuts.threshold, 9), cuts.corrected, cuts.scale
    (0.5, (0.1,), 'own column')
    """
    if rule.name in (TUNED, TUNED_APART):
        assert rule.threshold is not None
        digits = _digits((rule.threshold,), table)
        return SystemCuts(rule.threshold, (), problem.decisions, (), OWN_COLUMN, digits)
    if rule.name not in POSTERIOR_RULES or problem.n_classes != 2 or problem.columns:
        return SystemCuts()
    shipped = rules.if_fitted(name)
    added = None if shipped is None else shipped.added
    priced = problem.with_limits(None) if added is None else problem.plus(added.sum(axis=0))
    if problem.is_binary and is_turned(priced.costs):
        return SystemCuts()
    probabilities, decided = _of_costs(priced)
    at = None if shipped is None else _on_column(shipped, decided)
    if at is None:
        cuts = SystemCuts(cuts=probabilities, decided=decided, scale=CORRECTED)
    else:
        corrected = () if rule.name == BAYES else probabilities
        cuts = SystemCuts(None, at, decided, corrected, OWN_COLUMN, _digits(at, table))
    return cuts._replace(threshold=cuts.cuts[0], cuts=()) if problem.is_binary else cuts


def _of_costs(problem: Problem) -> tuple[tuple[float, ...], Labels]:
    """The probabilities at which decisions change, and the decisions between them."""
    if problem.is_binary:
        return (problem.threshold,), problem.decisions
    regions = decision_regions(problem)
    return tuple(regions.crossings.tolist()), tuple(part.cheapest[0] for part in regions.parts)


def _on_column(rule: Rule, decided: Labels) -> tuple[float, ...] | None:
    """The highest score of each decision but the last; None where decisions come in another order.

    A decision that no score receives has the highest score of the one before it: −∞ for the first.
    """
    if rule.cuts is None:
        return None
    places: list[int] = []
    for label in (rule.problem.decisions[place] for place in rule.cuts.decisions.tolist()):
        # A decision that ties at one point only has a part as wide as a rounding error.
        places.append(decided.index(label) if label in decided else max(places, default=0))
    if places != sorted(places):
        return None
    ends = np.array([-np.inf, *rule.cuts.at.tolist(), np.inf])
    return tuple(ends[np.searchsorted(places, range(len(decided) - 1), side="right")].tolist())


def _digits(cuts: tuple[float, ...], table: ScoreTable | None) -> int:
    """The fewest digits to which cuts can be rounded so that they decide all scores alike."""
    finite = [cut for cut in cuts if np.isfinite(cut)]
    if table is None or not finite:
        return _FEWEST
    places = np.searchsorted(table.scores, finite, side="right")
    # A cut on a score such as 1/3 needs nearly all digits: rounded down it would decide that score
    # as those above it.
    for digits in range(_FEWEST, _MOST):
        rounded = [_text.number_in(_text.point(cut, digits)) for cut in finite]
        if (np.searchsorted(table.scores, rounded, side="right") == places).all():
            return digits
    return _MOST


# The report, made from evidence alone: nothing in this module reads rows -------------------------

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
