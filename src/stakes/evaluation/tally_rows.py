"""From rows to evidence: every tally that the report needs, in one pass each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from math import isnan, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stakes._arithmetic import places_among, table_of
from stakes._check import FloatArray, IntArray, Label
from stakes.decide import cheapest_decisions, class_ratios, mean_costs, moved_rows
from stakes.errors import InputError
from stakes.evaluation.cases import Cases, clusters_of, groups_of_clusters, left_out
from stakes.evaluation.evidence import (
    FEW_SOURCES,
    RULES,
    Charges,
    ColumnOrder,
    Evidence,
    JointSample,
    ModelTallies,
    PairsOf,
    better_order,
    charges_of,
    weighted_terms,
)
from stakes.evaluation.limited_rules import LimitedRule, limited_blind, limited_rule, priced_on_all
from stakes.evaluation.predictions import (
    DecisionRule,
    FitOnAll,
    Folds,
    Predictions,
    is_turned,
    rules_by_system,
    rules_of,
)
from stakes.evaluation.suspect_columns import class_leads, ranks_of_rows
from stakes.inference import SampledCosts, WeightStrata, few_weights, stratum_of
from stakes.limits import coverage_points
from stakes.problem import Problem
from stakes.report import (
    BAYES,
    FEWER_BINS,
    MOST_BINS,
    MOST_SCORES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Caveat,
    CurvePoints,
    DecisionSource,
    JointBins,
    ModelQuality,
    PairCounts,
    System,
)
from stakes.rows import POSTERIORS
from stakes.scoring import class_means, posterior_pairs
from stakes.tally import BitGrid, Counts, JointCounts, ScoreTable
from stakes.thresholds import ByThreshold, StakesTable, weighed

# -------------------------------------------------------------------------------------------------
# Score tables with few enough bins for a report, in which the report's decisions stay exact.

_STRIDE = 1 << 12  # distance of the scores that are first probed for a change of the decision


def shown_table_of(tallied: ModelTallies, evidence: Evidence) -> ScoreTable | None:
    """The score table of a model, pooled where it has too many scores."""
    table = tallied.table
    if table is None or table.scores.size <= MOST_SCORES:
        return table
    return table.binned(_shown_edges(tallied, table, evidence))


def shown_sums(tallied: ModelTallies, evidence: Evidence) -> ByThreshold | None:
    """Sums of the terms of the costs in the same bins, where every case has its own costs."""
    table = tallied.table
    if table is None or tallied.term_sums is None:
        return None
    few = table.scores.size <= MOST_SCORES
    edges = table.scores if few else _shown_edges(tallied, table, evidence)
    sums = tallied.term_sums(edges)
    if not (sums.size and np.isfinite(sums).all()):
        return None
    occupied = sums[..., 0].any(axis=1)
    highest = np.append(edges, table.scores[-1])[occupied]
    above = np.maximum(highest, np.finfo(np.float64).min)  # −inf is the threshold below all scores
    return ByThreshold(np.append(-np.inf, above), sums[occupied], evidence.problem.terms.names)


def _shown_edges(tallied: ModelTallies, table: ScoreTable, evidence: Evidence) -> FloatArray:
    cuts = np.concatenate(list(_decision_cuts(tallied, table.scores, evidence)))
    return _edges(table, cuts, MOST_BINS)


def shown_recalibrated(tallied: ModelTallies, evidence: Evidence) -> ScoreTable | None:
    """The recalibrated score table of a model, pooled where it has too many scores."""
    table = tallied.recalibrated
    if table is None or table.scores.size <= MOST_SCORES:
        return table
    changes = () if evidence.problem.columns else decision_changes(table.scores, evidence.problem)
    cuts = np.concatenate([np.empty(0), *changes])
    return table.binned(_edges(table, cuts, FEWER_BINS))


def _decision_cuts(
    tallied: ModelTallies, scores: FloatArray, evidence: Evidence
) -> Iterator[FloatArray]:
    """Scores at which decisions of the report change, at which bins must end."""
    rules = [rule for rule in evidence.rules.values() if rule.model == tallied.model]
    yield np.array([rule.threshold for rule in rules if rule.name == TUNED], dtype=np.float64)
    if tallied.kind == POSTERIORS:
        yield np.array([0.5])
        if evidence.problem.columns:  # decisions depend on the costs of each case, too
            return
        yield from decision_changes(scores, evidence.problem)
        if tallied.moving is not None:
            yield from decision_changes(scores, evidence.problem, tallied.moving)


def decision_changes(
    scores: FloatArray, problem: Problem, moving: tuple[FloatArray, FloatArray] | None = None
) -> Iterator[FloatArray]:
    """The last score before each change of the Bayes decision, by posteriors that may be moved.

    Each decision is the best on one interval of probabilities, so that no change can lie between
    two scores with the same decision.
    """
    ratios = None if moving is None else class_ratios(*moving)

    def decided(some: FloatArray) -> IntArray:
        return cheapest_decisions(posterior_pairs(some), problem.costs, ratios=ratios)

    milestones = np.append(np.arange(0, len(scores) - 1, _STRIDE), len(scores) - 1)
    for i in np.flatnonzero(np.diff(decided(scores[milestones]))):
        part = scores[milestones[i] : milestones[i + 1] + 1]
        yield part[:-1][np.diff(decided(part)) != 0]


def _edges(table: ScoreTable, exact_cuts: FloatArray, most: int) -> FloatArray:
    """Edges of bins that divide both classes evenly; the exact cuts are among them."""
    exact_cuts = np.unique(exact_cuts[np.isfinite(exact_cuts)])
    places = even_places(table, most - exact_cuts.size)
    edges = table.scores[np.minimum(places, table.scores.size - 1)]
    return np.union1d(edges, exact_cuts)


def even_places(table: ScoreTable, n_bins: int) -> IntArray:
    """Positions in a table of scores at which bins end that divide both classes evenly.

    Both classes count alike, so that a rare class gets as many bins as a common one.
    """
    first, second = (table.weights / np.maximum(table.class_weights, 1e-300)).T
    reached = np.cumsum(first + second)
    return np.searchsorted(reached, np.linspace(0, reached[-1], n_bins + 1)[1:-1])


# -------------------------------------------------------------------------------------------------
# Joint counts of the scores of two systems in bins, from which a page can compare them later.

_WHOLE = 1_000_000  # most cells of one pair, including empty ones
_CELLS = 9000  # most occupied cells of all pairs of sources with many bins: room on a page
_ALL_CELLS = 100_000  # and of all pairs, if there are more sources: a page on many models is large
_BINS = 8, 24  # fewest and most bins of one source


def joint_bins_of(
    systems: tuple[System, ...],
    models: tuple[ModelQuality, ...],
    evidence: Evidence,
    costs: SampledCosts,
) -> JointBins | None:
    """Joint bins of the cheapest systems; None where pairs cannot be counted, or need too much.

    Beyond the first few, the bins of a source are the decisions of the report: enough to know at
    its stakes which systems cannot be told from the cheapest.
    """
    if evidence.pairs is None:
        return None
    rivals = [entry for entry in systems if entry.candidate and not isnan(entry.cost.value)]
    rivals.sort(key=lambda entry: entry.cost.value)
    named = {entry.model: entry for entry in models}
    keys = dict.fromkeys(_key(entry, named[entry.model]) for entry in rivals)
    wanted = list(keys)[: evidence.most_sources]
    size = max(min(len(wanted), FEW_SOURCES), 2)
    most = int(np.clip(sqrt(_CELLS / (size * (size - 1))), *_BINS))
    sources: list[DecisionSource] = []
    all_edges = []
    for model, recalibrated, system in wanted:
        table = named[model].recalibrated if recalibrated else named[model].table
        stops, edges = np.empty(0, np.intp), np.empty(0)
        if system is None and table is not None:
            cuts = _cuts(table, model, recalibrated, systems)
            fine = len(sources) < FEW_SOURCES
            stops = _stops(table, most, cuts) if fine else np.array([*cuts, table.scores.size])
            edges = _bin_edges(table, stops, _raw(evidence, model, recalibrated=recalibrated))
        sources.append(DecisionSource(model, recalibrated, system, stops))
        all_edges.append(edges)
    largest = max((source_size(entry, evidence.problem) for entry in sources), default=0)
    if evidence.problem.n_classes * largest**2 > _WHOLE:
        return None
    names = tuple(entry.name for entry in systems)
    fitting = costs.choice.errors.among(names).fitting
    tables = evidence.pairs(sources, all_edges)
    n_sources = _n_kept(tables, len(sources))
    kept = tuple(tables[pair] for pair in combinations(range(n_sources), 2))
    return JointBins(tuple(sources[:n_sources]), kept, fitting)


def _n_kept(tables: Mapping[tuple[int, int], PairCounts], n_sources: int) -> int:
    """How many sources there is room for, the first ones; two always."""
    # Fewer sources rather than coarser bins: bins must keep the cuts of the decisions exactly.
    added = [sum(tables[i, j].places.size for i in range(j)) for j in range(n_sources)]
    total = np.cumsum(added)
    n_fine = max(2, int(np.count_nonzero(total[:FEW_SOURCES] <= _CELLS)))
    n_all = int(np.count_nonzero(total <= _ALL_CELLS)) if n_fine == FEW_SOURCES else n_fine
    return min(n_sources, max(n_fine, n_all))


def source_size(source: DecisionSource, problem: Problem) -> int:
    """The number of bins of a source.

    Parameters
    ----------
    source : what systems decide by
    problem : the problem, whose decisions are the bins of a source without scores

    Returns
    -------
    the number of bins

    Examples
    --------
    >>> source = DecisionSource("net", False, None, np.array([4, 9]))
    >>> source_size(source, Problem.zero_one(3))
    2
    """
    return source.ends.size or problem.n_decisions


def pair_counts(
    truth: IntArray,
    weights: FloatArray | None,
    codes: Mapping[int, IntArray],
    sizes: Sequence[int],
    n_classes: int,
) -> dict[tuple[int, int], PairCounts]:
    """Cases (n,) of each class in bins of each pair of the sources that have codes.

    Parameters
    ----------
    truth : true classes, (n,)
    weights : what each case counts, (n,)
    codes : bins of the cases, (n,), by the position of the source
    sizes : how many bins each source has
    n_classes : how many classes there are

    Returns
    -------
    the counts by the positions of the two sources

    Examples
    --------
    >>> truth, codes = np.array([0, 1, 1]), {0: np.array([0, 1, 1]), 1: np.array([0, 0, 1])}
    >>> pairs = pair_counts(truth, None, codes, [2, 2], 2)
    >>> pairs[0, 1].places, pairs[0, 1].weights
    (array([0, 6, 7]), array([1., 1., 1.]))
    """
    pairs = {}
    for first, second in combinations(codes, 2):
        shape = n_classes, sizes[first], sizes[second]
        table = table_of(weights, [truth, codes[first], codes[second]], shape).ravel()
        places = np.flatnonzero(table)
        pairs[first, second] = PairCounts(places, table[places])
    return pairs


def _key(system: System, model: ModelQuality) -> tuple[str, bool, str | None]:
    """What a system decides by: model, whether recalibrated, and its name if it has no scores."""
    if system.rule in POSTERIOR_RULES and model.table_of(system.rule) is not None:
        return system.model, system.rule == RECALIBRATED, None
    return system.model, False, system.name


def _cuts(
    table: ScoreTable, model: str, recalibrated: bool, systems: tuple[System, ...]
) -> list[int]:
    """Positions in the table at which decisions of the report change; bins must end there."""
    positions: set[int] = set()
    below = np.concatenate([[0.0], table.weights.sum(axis=1).cumsum()])
    for system in systems:
        rules = (RECALIBRATED,) if recalibrated else (BAYES, MOVED)
        if system.model == model and system.rule in rules:
            for size in _runs(system):
                positions.add(int(np.argmin(np.abs(below - size))))
    return sorted(positions - {0, table.scores.size})


def _runs(system: System) -> Iterator[float]:
    """How many cases lie below each change of decision, with decisions ordered by score."""
    # Higher scores go with a larger share of the second class, which gives the order of decisions.
    cases = system.counts.values.sum(axis=0)
    tilt = system.counts.values[1] / np.maximum(cases, 1e-300)
    yield from np.cumsum(cases[np.argsort(tilt, kind="stable")])


def _stops(table: ScoreTable, most: int, cuts: list[int]) -> IntArray:
    """Ends of bins that divide both classes evenly, cuts included."""
    even = even_places(table, max(most - len(cuts), 2)) + 1
    inner = {*even.tolist(), *cuts} - {0, table.scores.size}
    return np.array([*sorted(inner), table.scores.size], dtype=np.intp)


def _raw(evidence: Evidence, model: str, *, recalibrated: bool) -> ScoreTable:
    """The table with all distinct scores, where that of the report is pooled."""
    tallied = evidence.model(model)
    table = tallied.recalibrated if recalibrated else tallied.table
    assert table is not None
    return table


def _bin_edges(table: ScoreTable, stops: IntArray, raw: ScoreTable) -> FloatArray:
    """The highest score in every bin but the last, as cases have it."""
    below = table.weights.sum(axis=1).cumsum()[stops[:-1] - 1]
    # Weights are whole numbers here, so that half a case of slack absorbs rounding.
    place = np.searchsorted(raw.weights.sum(axis=1).cumsum(), below - 0.5)
    return np.asarray(raw.scores[place])


# From rows to evidence: every tally that the report needs, in one pass each ----------------------

_NO_FOLDS = (
    "to fit prices on some and use them on others; they were fitted to these very cases, which "
    "keep the limits better than others will."
)

CLASS_BINS = 10  # bins of the probability of each class
_FIRST = 1000  # rows that settle most questions about all
_MOST_SOURCES = 128  # of decisions whose pairs are counted
_VISITS = 100_000_000  # of cases, to count all pairs: about a second
_OFF = 1 + 0.381966 / BitGrid.RUN  # moves the edges of bins away from round numbers


def evidence_of(
    cases: Cases,
    predictions: Sequence[Predictions],
    *,
    posterior_prior: FloatArray | None,
    calibrator: str | None,
    folds: Folds | None = None,
) -> Evidence:
    """Tally the cases and the predictions of every model; prices of limits need the folds."""
    problem = cases.problem
    folds = Folds(cases, seed=0) if folds is None else folds
    models = tuple(_tallies(model, cases) for model in predictions)
    listed = [
        (model, rule)
        for model, tallied in zip(predictions, models, strict=True)
        for rule in rules_of(
            model.model,
            model.kind,
            problem,
            table=tallied.table,
            stakes=_stakes(model, cases),
            movable=model.moving is not None,
            recalibrated=model.recalibrated is not None,
            tuned_apart=model.tuned_apart is not None,
        )
    ]
    outcomes, unlimited = decided_by_rules(listed, cases, folds)
    rules = rules_by_system((each.rule for each in outcomes), problem)
    by_name = dict(zip(rules, outcomes, strict=True))
    small = np.min_scalar_type(-problem.n_decisions)  # one byte a case, for most problems
    decided = {name: each.codes.astype(small) for name, each in by_name.items()}
    bayes = frozenset(name for name, rule in rules.items() if rule.name in POSTERIOR_RULES)
    # Under limits even the decisions without a model need prices; else `charges_of` makes them.
    blind = limited_blind(folds).decided if problem.limits and cases.costs is not None else None
    charges = None if cases.costs is None else charges_of(cases, decided, bayes, blind)
    return Evidence(
        problem=problem,
        n_rows=cases.n_rows,
        sample=sample_of(cases, decided, charges),
        rules=rules,
        models=models,
        slices=tuple(_slices(cases, decided, charges)),
        posterior_prior=cases.shares if posterior_prior is None else posterior_prior,
        **_weighing(cases),
        calibrator=calibrator,
        partition_costs={n: each.costs for n, each in by_name.items() if each.costs is not None},
        left_out=(*(caveat for model in predictions for caveat in model.left_out), *unlimited),
        maps=dict(_maps_of_all(predictions)),
        repriced=_repriced(cases) if problem.limits else None,
        coverage=dict(_coverages(listed, decided, cases)),
        pairs=_pairs(cases, predictions, decided),
        most_sources=_most_sources(cases.truth.size),
        column_ranks=ranks_of_rows(cases, predictions, models),
    )


def _weighing(cases: Cases) -> dict[str, Any]:
    """What the numbers of the rows are: weights, perhaps whole ones, or copies."""
    return {
        "weighted": cases.weights is not None,
        "whole_weights": cases.whole_weights,
        "copied": cases.copied,
    }


def _maps_of_all(predictions: Sequence[Predictions]) -> Iterator[tuple[str, FitOnAll]]:
    """The maps of the models that were recalibrated, fitted to all cases when they are called."""
    for model in predictions:
        if model.fitted is not None and model.fitted.on_all is not None:
            yield model.model, model.fitted.on_all


def _most_sources(n_cases: int) -> int:
    """How many sources of decisions have pairs that are counted quickly."""
    return max(FEW_SOURCES, min(_MOST_SOURCES, math.isqrt(_VISITS // max(n_cases, 1))))


def _pairs(
    cases: Cases, predictions: Sequence[Predictions], decided: dict[str, IntArray]
) -> PairsOf | None:
    """A function that counts rows in bins of pairs of systems.

    None where there are clusters, weights, limits or costs of every case.
    """
    problem = cases.problem
    if cases.clusters is not None or not cases.whole or cases.costs is not None or problem.limits:
        return None
    models = {model.model: model for model in predictions}

    def codes(source: DecisionSource, edges: FloatArray) -> IntArray:
        if source.system is not None:
            return decided[source.system].astype(np.intp)
        model = models[source.model]
        scores = np.asarray(model.recalibrated)[:, 1] if source.recalibrated else model.scores
        return places_among(edges, np.asarray(scores))

    def pairs(
        sources: Sequence[DecisionSource], edges: Sequence[FloatArray]
    ) -> dict[tuple[int, int], PairCounts]:
        known = dict(enumerate(map(codes, sources, edges)))
        sizes = [source_size(source, problem) for source in sources]
        return pair_counts(cases.truth, cases.weights, known, sizes, problem.n_classes)

    return pairs


def _repriced(cases: Cases) -> Callable[[str, FloatArray], FloatArray]:
    # A copy: prices are fitted when a rule is asked for, and the caller may change y_true by then.
    priced = priced_on_all(replace(cases, truth=cases.truth.copy(), by=()))
    return lambda model, rows: priced(rows)


class _Decided(NamedTuple):
    """A rule, the codes of its decisions, and its cost in each partition (P,) if it was fitted."""

    rule: DecisionRule
    codes: IntArray
    costs: FloatArray | None


def decided_by_rules(
    listed: list[tuple[Predictions, DecisionRule]], cases: Cases, folds: Folds
) -> tuple[list[_Decided], list[Caveat]]:
    """What every rule decides; rules that use posteriors keep the limits.

    Parameters
    ----------
    listed : models, each with one of its rules
    cases : the cases
    folds : their partitions, on which prices are fitted

    Returns
    -------
    the rule with its prices, decisions and costs, for every rule that can keep the limits, and a
    caveat for each that cannot

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.evaluation import DecisionRule, Folds, read_cases
    >>> cases = read_cases([0, 1, 1], Problem.zero_one(2), None, None, None)
    >>> model = Predictions("net", "decisions", decided=np.array([0, 1, 0]))
    >>> listed = [(model, DecisionRule("net", "as decided"))]
    >>> decided, caveats = decided_by_rules(listed, cases, Folds(cases, seed=0))
    >>> decided[0].codes, caveats
    (array([0, 1, 0]), [])
    """
    decided: list[_Decided] = []
    lost: list[Caveat] = []
    for model, rule in listed:
        if not cases.problem.limits or rule.name not in POSTERIOR_RULES:
            fitted = model.fitted if rule.name in (RECALIBRATED, TUNED_APART) else None
            costs = None if fitted is None else fitted.costs
            decided.append(_Decided(rule, model.decisions(rule, cases.charges), costs))
            continue
        try:
            limited = limited_rule(model, rule.name, folds)
        except InputError as error:
            if len(listed) == 1:
                raise
            lost.append(left_out(model.model, f"{rule.name} cannot keep the limits: {error}"))
            continue
        if not limited.apart:
            lost.append(left_out(model.model, f"{rule.name}: {folds.scarcity} {_NO_FOLDS}"))
        decided.append(_Decided(_priced(rule, limited, cases), limited.decided, limited.costs))
    if not decided and lost:
        raise InputError(lost[-1].text, argument="problem")
    return decided, lost


def _priced(rule: DecisionRule, limited: LimitedRule, cases: Cases) -> DecisionRule:
    """The rule with its prices, and the threshold that follows from them."""
    prices, threshold = limited.whole, rule.threshold
    if threshold is not None:  # it follows from the costs, to which prices are added
        priced = cases.problem.plus(prices.added.sum(axis=0))
        threshold = None if is_turned(priced.costs) else priced.threshold
    return replace(
        rule,
        threshold=threshold,
        prices=tuple(prices.prices.tolist()),
        added=prices.added,
        capacity=limited.capacity,
        rounding_loss=prices.rounding_loss,
    )


def _coverages(
    listed: list[tuple[Predictions, DecisionRule]], decided: dict[str, IntArray], cases: Cases
) -> Iterator[tuple[str, Callable[[], CurvePoints]]]:
    """For each Bayes rule, a function that gives its costs where hard cases are left undecided.

    Rules whose score tables suffice are left out, and so are all rules under limits. Tables do not
    suffice for posteriors of single precision, because ties depend on the rounding of each case;
    recalibrated ones are doubles.
    """
    if cases.problem.limits:
        return
    tables = cases.problem.n_classes == 2 and cases.costs is None
    for (model, rule), (name, codes) in zip(listed, decided.items(), strict=True):
        exact = model.rounding is None or rule.name == RECALIBRATED
        if rule.name in POSTERIOR_RULES and not (tables and exact):
            yield name, partial(_coverage, model, rule.name, codes, cases)


def _coverage(model: Predictions, rule: str, codes: IntArray, cases: Cases) -> CurvePoints:
    hardness = mean_costs(model.posteriors_of(rule), cases.charges).min(axis=1)
    losses = cases.losses(codes, cases.charges)
    return coverage_of_rows(hardness, cases.mass, cases.mass * losses)


def _stakes(model: Predictions, cases: Cases) -> StakesTable | None:
    """The scores of two classes weighted by the costs of each case, for two decisions."""
    problem = cases.problem
    if cases.costs is None or model.scores is None or not problem.is_binary:
        return None
    return weighed(cases.truth, model.scores, cases.weights, cases.costs, problem)


def sample_of(
    cases: Cases,
    decided: dict[str, IntArray],
    charges: Charges | None,
    rows: IntArray | None = None,
) -> JointSample:
    """The joint decisions of all systems on all cases, or on those at some positions."""

    def part(column: Any) -> Any:
        return column if column is None or rows is None else column[rows]

    truth, weights = part(cases.truth), part(cases.weights)
    columns = {"y_true": truth, **{name: part(codes) for name, codes in decided.items()}}
    apart = clusters_of(cases, rows)
    clusters = None if apart is None else groups_of_clusters(apart, columns, cases.problem)
    masses = None
    if apart is not None and clusters is not apart:
        masses = np.bincount(apart.codes, weights).astype(np.float64)
    names, problem = tuple(decided), cases.problem
    joint = JointCounts._of_codes(columns, names, problem, weights, clusters=clusters)
    joint = joint._but(weighted=not cases.whole)
    charged = charges if charges is None or rows is None else charges.only(rows)
    if cases.whole:
        sizes = np.bincount(truth, weights, problem.n_classes)
        return JointSample(joint, sizes, None, charged, cluster_masses=masses)
    # Weights are not numbers of cases: variances need their squares, sizes count rows.
    squares = JointCounts._of_codes(
        columns, names, problem, weights, clusters=clusters, squared=True
    )
    return JointSample(
        joint,
        np.bincount(truth, None, problem.n_classes),
        squares.weights,
        charged,
        None if clusters is not None else _rows_by_weight(columns, names, weights, cases),
        masses,
    )


def _rows_by_weight(
    columns: dict[str, Any], names: tuple[str, ...], weights: FloatArray, cases: Cases
) -> WeightStrata | None:
    """How many rows of each weight lie in each cell; None where too many weights differ."""
    distinct = few_weights(weights)
    if distinct is None:
        return None
    stratum = stratum_of(weights, distinct)
    by_weight = JointCounts._of_codes(columns, names, cases.problem, None, by=stratum)
    return WeightStrata(distinct, by_weight.weights)


def _slices(
    cases: Cases, decided: dict[str, IntArray], charges: Charges | None
) -> Iterator[tuple[str | None, Label, JointSample]]:
    # Decisions are those of rules fitted to all cases: a group is decided about, not fitted to.
    for name, groups in cases.by:
        for label, rows in groups.rows():
            yield name, label, sample_of(cases, decided, charges, rows)


def _tallies(model: Predictions, cases: Cases) -> ModelTallies:
    """The tallies of one model."""
    table = None if model.scores is None else _score_table(model.scores, cases)
    losses = None if model.posteriors is None else _losses(model.posteriors, cases)
    repaired = model.recalibrated if cases.problem.n_classes == 2 else None
    # Raw scores have no probabilities at the prior of the report until they are recalibrated.
    moved = model.moved if model.kind == POSTERIORS else model.recalibrated
    return ModelTallies(
        model=model.model,
        kind=model.kind,
        table=table,
        deployed=None if table is None else _deployed(table, moved, cases),
        recalibrated=None if repaired is None else _score_table(repaired[:, 1], cases),
        losses=losses,
        deployed_losses=losses if moved is None else _losses(moved, cases),
        moving=model.moving,
        predicted=_predicted(model, cases),
        leads=None
        if model.posteriors is None or table is not None
        else class_leads(model.posteriors, cases),
        named=model.named,
        order=_order(model, cases),
        certain=model.posteriors is not None and _is_certain(model.posteriors),
        off_sum=model.off_sum,
        term_sums=_term_sums(model, cases),
        class_bins=_class_bins(model.posteriors, cases),
        recalibrated_bins=_class_bins(_for_shares(model.recalibrated, cases), cases),
    )


def _is_certain(posteriors: FloatArray) -> bool:
    """Whether all posteriors are 0 or 1; a look at the first row is enough for most."""
    return all(
        bool(((part == 0) | (part == 1)).all())
        for part in (posteriors[:1], posteriors[:_FIRST], posteriors)
    )


def _order(model: Predictions, cases: Cases) -> ColumnOrder | None:
    """Of two classes, ranks say whether columns are in order."""
    if model.posteriors is None or model.named or cases.problem.n_classes == 2:
        return None
    return better_order(model.posteriors, cases)


def _for_shares(posteriors: FloatArray | None, cases: Cases) -> FloatArray | None:
    """Recalibrated posteriors, which are for the prior of the report, for the class shares."""
    if posteriors is None or cases.problem.prior is None:
        return posteriors
    return moved_rows(posteriors, cases.prior, cases.shares)


def _class_bins(posteriors: FloatArray | None, cases: Cases) -> FloatArray | None:
    """Weight of all cases, of those of the class, and weighted sum of probabilities, (K, 10, 3).

    A bin contains its lower edge; the last one also contains a probability of one. None for two
    classes, which have a score table.
    """
    if posteriors is None or cases.problem.n_classes == 2:
        return None
    sums = np.empty((cases.problem.n_classes, CLASS_BINS, 3))
    for k, probabilities in enumerate(posteriors.T):
        places = np.minimum((probabilities * CLASS_BINS).astype(np.intp), CLASS_BINS - 1)
        weights = np.ones(places.size) if cases.weights is None else cases.weights
        parts = weights, weights * (cases.truth == k), weights * probabilities
        sums[k] = np.stack([np.bincount(places, part, CLASS_BINS) for part in parts], axis=1)
    return sums


def _term_sums(model: Predictions, cases: Cases) -> Callable[[FloatArray], FloatArray] | None:
    """A function that sums the terms of the costs between scores, for two classes and decisions."""
    scores = model.scores
    if cases.costs is None or scores is None or cases.costs.shape != (2, 2):
        return None

    def summed(edges: FloatArray) -> FloatArray:
        # Called once the edges are known: the bins of the table decide where the sums are cut.
        codes, shape = [places_among(edges, scores), cases.truth], (edges.size + 1, 2)
        sums = [table_of(term, codes, shape) for term in weighted_terms(cases)]
        return np.stack(sums, axis=-1) if sums else np.empty((*shape, 0))

    return summed


def _losses(rows: FloatArray, cases: Cases) -> FloatArray:
    """Mean log loss and Brier score of each class, (2, K)."""
    return class_means(rows, cases.truth, RULES, cases.problem.n_classes, cases.weights)[1]


def _score_table(scores: FloatArray, cases: Cases) -> ScoreTable:
    """For each distinct score of two classes, the weight of each class."""
    return ScoreTable._of_codes(cases.truth, scores, cases.weights, cases.problem.classes)


def _deployed(table: ScoreTable, moved: FloatArray | None, cases: Cases) -> ScoreTable:
    """The score table in deployment: scores and class shares for the prior of the report."""
    deployed = table if moved is None else _score_table(moved[:, 1], cases)
    return deployed if cases.problem.prior is None else deployed.with_prior(cases.prior)


def _predicted(model: Predictions, cases: Cases) -> Counts | None:
    """Counts of predicted classes: the most probable ones, or decisions that stand for classes."""
    place, size = cases.problem.answered, cases.problem.n_classes
    if model.posteriors is not None:
        decided: Any = _most_probable(model.posteriors)
    elif model.decided is None or place is None:
        return None
    else:
        decided = place[model.decided]
    table = table_of(cases.weights, [cases.truth, decided], (size, size))
    return Counts(table, classes=range(size), decisions=range(size))


def _most_probable(rows: FloatArray) -> npt.NDArray[Any]:
    """The first of the most probable classes; with two classes a comparison is faster."""
    return rows[:, 1] > rows[:, 0] if rows.shape[1] == 2 else rows.argmax(axis=1)


# Cost against coverage, from bins of hardness ----------------------------------------------------


def hardness_unit(largest: float) -> float:
    """Where the innermost run of bins ends, for hardness up to some distance from zero.

    Engines round sums of products differently, by a few units in the last place. The hardness of
    many cases is a round number. If bins had round edges, such cases would fall into one bin in one
    engine and into its neighbour in another.

    Parameters
    ----------
    largest : the largest hardness, regardless of its sign

    Returns
    -------
    slightly less than a power of two

    Examples
    --------
    >>> round(hardness_unit(3.0) * 2.0**31, 2)
    4.0
    """
    # Not smaller than that where all hardness is zero: the inverse would be infinite.
    return float(2.0 ** (math.frexp(max(largest * _OFF, 2.0**-900))[1] - 31)) / _OFF


def coverage_of_rows(hardness: FloatArray, mass: FloatArray, spent: FloatArray) -> CurvePoints:
    """Points of cost against coverage; cases of nearly the same hardness form one group.

    `hardness` (n,) is the expected cost of the cheapest decision, `mass` (n,) the weight of each
    case, and `spent` (n,) what its decision cost, times its weight.
    """
    grid = BitGrid(probabilities=False)
    unit = hardness_unit(float(np.abs(hardness).max()))
    codes = grid.bins(hardness / (unit * grid.scale))
    used, codes = np.unique(codes, return_inverse=True)
    codes = codes.reshape(-1)
    hardest = np.full(used.size, -np.inf)
    np.maximum.at(hardest, codes, hardness)
    sums = (np.bincount(codes, column).astype(np.float64) for column in (mass, spent))
    return coverage_points(hardest, *sums)
