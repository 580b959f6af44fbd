"""From rows to evidence: every tally that the report needs, in one pass each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from stakes._arithmetic import places_among, table_of
from stakes._check import FloatArray, IntArray, Label
from stakes.decide import mean_costs, moved_rows
from stakes.errors import InputError
from stakes.evaluation.backwards import class_leads
from stakes.evaluation.case_charges import Charges, charges_of, weighted_terms
from stakes.evaluation.cases import Cases
from stakes.evaluation.cluster_groups import clusters_of, groups_of_clusters
from stakes.evaluation.column_order import ColumnOrder, better_order
from stakes.evaluation.column_ranks import ranks_of_rows
from stakes.evaluation.decision_rules import DecisionRule, is_turned, rules_by_system, rules_of
from stakes.evaluation.evidence import (
    FEW_SOURCES,
    RULES,
    Evidence,
    JointSample,
    ModelTallies,
    PairsOf,
)
from stakes.evaluation.folds import FitOnAll, Folds
from stakes.evaluation.joint_bins import pair_counts, source_size
from stakes.evaluation.limited_rules import LimitedRule, limited_blind, limited_rule, priced_on_all
from stakes.evaluation.predictions import Predictions
from stakes.evaluation.sentences import left_out
from stakes.inference import WeightStrata, few_weights, stratum_of
from stakes.limits import coverage_points
from stakes.report import (
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED_APART,
    Caveat,
    CurvePoints,
    DecisionSource,
    PairCounts,
)
from stakes.rows import POSTERIORS
from stakes.scoring import class_means
from stakes.tally import BitGrid, Counts, JointCounts, ScoreTable
from stakes.thresholds import StakesTable, weighed

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
