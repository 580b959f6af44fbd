"""The joint decisions of all systems about the rows of a lazy frame, tallied by its engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import combinations
from math import inf, prod

import narwhals.stable.v2 as nw
import numpy as np

from stakes import _check
from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray, Label
from stakes._value import record
from stakes.adapters.lazy import (
    CLUSTER,
    ROWS,
    TRUTH,
    WEIGHT,
    Arrays,
    Facts,
    ScoreGrid,
    by_code,
    first_place,
    grouped,
    high_of,
    sum_of,
    whether,
)
from stakes.adapters.lazy_models import (
    ALL,
    BLIND,
    PERFECT,
    SQUARES,
    WIDTHS,
    LazyModel,
    Tallied,
    cheapest_by,
    cost_column,
    group_charges,
    pooled_terms,
    term_sums,
    with_bins,
    with_constants,
)
from stakes.adapters.refits import ClassMaps, Refit
from stakes.adapters.sources import Lazy
from stakes.decide import class_ratios
from stakes.errors import InputError
from stakes.evaluation import (
    Charges,
    DecisionRule,
    JointSample,
    hardness_unit,
    pair_counts,
    source_size,
)
from stakes.inference import WeightStrata
from stakes.limits import coverage_points
from stakes.problem import Problem
from stakes.report import (
    BAYES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    CurvePoints,
    DecisionSource,
    PairCounts,
)
from stakes.tally import BitGrid, JointCounts

_HARD, _MASS, _SPENT, _BIN = "hardness", "mass", "spent", "bin"


def coverage_in_engine(
    rows: Lazy,
    posteriors: Sequence[str],
    decided: str,
    problem: Problem,
    ratios: FloatArray,
) -> CurvePoints:
    """What a Bayes rule costs where hard cases are left undecided; equal to `coverage_of_rows`.

    `ratios` are the weights of the classes at the prior of deployment.
    """
    classes, decisions = range(problem.n_classes), range(problem.n_decisions)

    def cost(k: int, d: int) -> nw.Expr:
        return nw.col(cost_column(k, d)) if problem.columns else nw.lit(float(problem.costs[k, d]))

    means = [sum_of([nw.col(p) * cost(k, d) for k, p in enumerate(posteriors)]) for d in decisions]
    counts = by_code(nw.col(TRUTH), ratios.tolist()) * nw.col(WEIGHT)
    each = [by_code(nw.col(decided), [cost(k, d) for d in decisions]) for k in classes]
    spent = by_code(nw.col(TRUTH), each)
    rows = rows.with_columns(**{_HARD: nw.min_horizontal(*means), _MASS: counts, _SPENT: spent})
    largest = float(rows.select(nw.col(_HARD).abs().max().alias(_HARD)).collect()[_HARD][0])
    rows = ScoreGrid(0.0, hardness_unit(largest)).binned(rows, _HARD, _BIN)
    sizes = {_BIN: BitGrid.N_BINS}
    sums = {_MASS: nw.col(_MASS), _SPENT: nw.col(_MASS) * nw.col(_SPENT)}
    tallied = grouped(rows, sizes, sums, ranges=[_HARD])
    order = np.argsort(tallied[_BIN])
    return coverage_points(*(tallied[name][order] for name in (high_of(_HARD), _MASS, _SPENT)))


STRATUM = "stratum"  # the place of the weight of a row among the different ones

Refits = Mapping[tuple[str, str], Refit | ClassMaps]  # by model and rule


@record
class Joint:
    """Cells (R, 1 + J) of class and decisions with the sums over each, by group and cluster.

    Where every row has its own costs, a cell occurs several times, once for each bin of costs.
    """

    problem: Problem
    rules: dict[str, DecisionRule]
    cells: IntArray
    sums: Arrays
    limit: int
    facts: Facts

    @property
    def systems(self) -> tuple[str, ...]:
        """Names of the systems that decide."""
        return tuple(self.rules)

    @property
    def whole(self) -> bool:
        """Whether rows were counted, not weighted; all groups are treated alike."""
        return not self.facts.weighted

    @property
    def counts_cases(self) -> bool:
        """Whether weights are numbers of independent cases, which cost what their cell costs."""
        return self.whole and CLUSTER not in self.sums and not self.problem.columns

    @cached_property
    def charges(self) -> Charges | None:
        """What every system costs, where every row has its own costs."""
        if not self.problem.columns:
            return None
        decided = dict(zip(self.systems, self.cells.T[1:], strict=True))
        bayes = {name for name, rule in self.rules.items() if rule.name in POSTERIOR_RULES}
        bayes_rules = frozenset(bayes)
        return group_charges(self.problem, self.sums, decided, bayes_rules, self.facts, self.owners)

    @cached_property
    def owners(self) -> IntArray | None:
        """The cluster of each cell."""
        return _check.clusters(self.sums[CLUSTER]).codes if CLUSTER in self.sums else None

    def sample(self, some: IntArray | None = None) -> JointSample:
        """The joint decisions of all rows, or of those at some positions."""
        kept: IntArray | slice = slice(None) if some is None else some
        cells, where = np.unique(self.cells[kept], axis=0, return_inverse=True)
        codes, shape = [where.reshape(-1)], [len(cells)]
        if self.owners is not None:
            present, owners = np.unique(self.owners[kept], return_inverse=True)
            codes, shape = [owners.reshape(-1), *codes], [len(present), *shape]
        # The table of clusters by cells is dense, and may be far larger than the cells that occur.
        _refuse_large(8 * prod(shape), self.limit)

        def total(name: str) -> FloatArray:
            return table_of(self.sums[name][kept], codes, shape)

        joint = JointCounts._of_cells(cells, total(WEIGHT), self.systems, self.problem)
        size, charges = self.sums[WEIGHT if self.whole else ROWS][kept], self.charges
        return JointSample(
            joint=joint._but(weighted=not self.whole),
            sizes=np.bincount(self.cells[kept][:, 0], size, self.problem.n_classes),
            squares=None if self.whole else total(SQUARES),
            charges=charges if charges is None or some is None else charges.only(some),
            strata=self._strata(kept, codes[-1], len(cells)),
        )

    def _strata(self, kept: IntArray | slice, cell: IntArray, size: int) -> WeightStrata | None:
        """How many rows of each weight lie in each cell; None where this was not counted."""
        weights = self.facts.weights
        if weights is None or STRATUM not in self.sums:
            return None
        present, stratum = np.unique(self.sums[STRATUM][kept], return_inverse=True)
        codes = [stratum.reshape(-1), cell]
        rows = table_of(self.sums[ROWS][kept], codes, [len(present), size])
        return WeightStrata(weights[present], rows)

    def slices(self, column: str, argument: str) -> Iterator[tuple[Label, JointSample]]:
        """The joint decisions of every group, in order; cases without a group come last."""
        groups = _check.groups(argument, self.sums[column])
        for label, rows in groups.rows():
            yield label, self.sample(rows)


def joint_decisions(
    rows: Lazy,
    more: Sequence[str],
    models: Sequence[LazyModel],
    rules: dict[str, DecisionRule],
    refits: Refits,
    facts: Facts,
    limit: int,
) -> Joint:
    """Group rows by class, decisions of all systems, and more columns: groups and clusters.

    Where every row has its own costs, rows are also grouped by bins of these, as fine as the limit
    allows.
    """
    problem = models[0].problem
    rows = with_systems(rows, models, rules, refits)
    sizes = {TRUTH: problem.n_classes}
    sizes |= {system_column(place): problem.n_decisions for place in range(len(rules))}
    weight = nw.col(WEIGHT)
    sums = {
        WEIGHT: weight,
        SQUARES: weight * weight,
    }
    if problem.columns:
        prior = problem.prior_or(facts.shares)
        rows = with_constants(rows, problem, prior)
        tallied = _by_costs(rows, problem, sizes, sums, more, facts, limit)
    else:
        # A group takes 8 bytes for each code and about 64 for each text. One group beyond the limit
        # is enough to know that they do not fit; the others stay in the engine.
        each = 8 * (len(sizes) + 8 * len(more))
        keys = dict(sizes)
        if facts.weights is not None and CLUSTER not in more:
            lighter = [nw.col(WEIGHT) < weight for weight in facts.weights[1:].tolist()]
            rows = rows.with_columns(first_place(lighter).alias(STRATUM))
            keys[STRATUM] = len(facts.weights)
        tallied = grouped(rows, keys, sums, more, most=limit // each + 1 if more else None)
        if more:
            _refuse_large(len(tallied[WEIGHT]) * each, limit)
    cells = np.stack([tallied[name] for name in sizes], axis=1)
    return Joint(problem, rules, cells, tallied, limit, facts)


def system_column(place: int) -> str:
    """The column of the decisions of a system."""
    return f"system_{place}"


def with_systems(
    rows: Lazy,
    models: Sequence[LazyModel],
    rules: dict[str, DecisionRule],
    refits: Refits,
) -> Lazy:
    """Add the decisions of all systems."""
    by_name = {model.name: model for model in models}
    for model in models:
        rows = model.with_decisions(rows)
    for place, rule in enumerate(rules.values()):
        model = by_name[rule.model]
        if rule.name == TUNED:
            score, threshold = nw.col(model.score), rule.threshold
            is_always = threshold == -inf  # which is below a score of -inf, too
            decided = whether(score >= threshold if is_always else score > threshold)
        elif (refit := refits.get((rule.model, rule.name))) is not None:
            rows, decided = _refitted_decisions(rows, refit, model)
        else:
            decided = nw.col(model.decided(rule.name))
        rows = rows.with_columns(decided.alias(system_column(place)))
    return rows


def coverages(
    rows: Lazy,
    models: Sequence[LazyModel],
    rules: dict[str, DecisionRule],
    refits: Refits,
    facts: Facts,
) -> Iterator[tuple[str, Callable[[], CurvePoints]]]:
    """For each Bayes rule, a function that gives its costs where hard cases are left undecided.

    There is none where score tables suffice: for two classes, without costs of their own for every
    row. As in memory, they do not suffice for posteriors of single precision as they came, and
    there is none under limits.
    """
    problem = models[0].problem
    if problem.limits:
        return
    tables = problem.n_classes == 2 and not problem.columns
    by_name = {model.name: model for model in models}
    prior = problem.prior_or(facts.shares)
    for name, rule in rules.items():
        model = by_name[rule.model]
        exact = not model.single or rule.name == RECALIBRATED
        if rule.name not in POSTERIOR_RULES or (tables and exact):
            continue
        believed = {BAYES: model.posteriors, MOVED: model.moved, RECALIBRATED: model.repaired}
        decided = with_systems(rows, [model], {name: rule}, refits)
        yield (
            name,
            partial(
                coverage_in_engine,
                decided,
                believed[rule.name],
                system_column(0),
                problem,
                class_ratios(facts.shares, prior),
            ),
        )


def _refitted_decisions(
    rows: Lazy, refit: Refit | ClassMaps, model: LazyModel
) -> tuple[Lazy, nw.Expr]:
    """The rows with all columns needed, and the decisions of a rule that was fitted out of fold."""
    if isinstance(refit, Refit) and refit.decides:
        return rows, refit.expression()
    names, decided = model.repaired, f"repaired_{model.place}"
    rows = refit.with_posteriors(rows, model.posteriors, names)
    return cheapest_by(rows, names, model.problem, decided), nw.col(decided)


def _by_costs(
    rows: Lazy,
    problem: Problem,
    sizes: Mapping[str, int],
    sums: Mapping[str, nw.Expr],
    more: Sequence[str],
    facts: Facts,
    limit: int,
) -> Arrays:
    """Groups by bins of the costs and of the weights as well."""
    terms, many = pooled_terms(problem), problem.n_decisions
    binned = [*terms, WEIGHT] if facts.weighted or facts.copied else terms
    summed = {**sums, **term_sums(problem)}
    # Of a group: codes, the number of rows, sums and ranges; then the means of terms, and costs.
    numbers = len(sizes) + 2 + len(binned) + 1 + len(summed) + 2 * len(terms)
    numbers += len(terms) + 1 + problem.n_classes * many
    each = 8 * numbers + 64 * len(more)
    # Wider bins make fewer groups, with more spread within each. Widths are tried from the finest,
    # until the groups fit.
    for width in (*WIDTHS, ALL) if CLUSTER in more else WIDTHS:
        wide, bins = with_bins(rows, binned, facts.ranges, width)
        keys = {**sizes, BLIND: many, PERFECT: many, **bins}
        tallied = grouped(wide, keys, summed, more, terms, limit // each + 1)
        if len(tallied[WEIGHT]) * each <= limit:
            return tallied
    _refuse_large(len(tallied[WEIGHT]) * each, limit)
    return tallied


def _refuse_large(needed: int, limit: int) -> None:
    if needed > limit:
        raise InputError(
            f"memory_limit must leave room for the tally of decisions, by groups and clusters if "
            f"there are some: it needs {needed:,} bytes or more, and the limit is {limit:,}. Raise "
            f"it, or name coarser groups and clusters."
        )


_MOST_CELLS = 1 << 20  # cells of all sources at once, beyond which each pair takes a pass


@record
class PairBins:
    """Prepared rows, and all that is needed to find the bins of each."""

    rows: Lazy
    models: Sequence[LazyModel]
    rules: dict[str, DecisionRule]
    refits: Refits
    tallied: Mapping[str, Tallied]

    def __call__(
        self, sources: Sequence[DecisionSource], edges: Sequence[FloatArray]
    ) -> dict[tuple[int, int], PairCounts]:
        """The cases in bins of each pair of sources; see `stakes.evaluation.PairsOf`."""
        problem = self.models[0].problem
        sizes = [source_size(source, problem) for source in sources]
        rows = with_systems(self.rows, self.models, self.rules, self.refits)
        codes = map(self._code, sources, edges)
        rows = rows.with_columns(**{_column(place): code for place, code in enumerate(codes)})
        pairs: dict[tuple[int, int], PairCounts] = {}
        for places in _passes(sizes, problem.n_classes):
            keys = {TRUTH: problem.n_classes, **{_column(place): sizes[place] for place in places}}
            cells = grouped(rows, keys, {WEIGHT: nw.col(WEIGHT)})
            known = {place: cells[_column(place)] for place in places}
            pairs |= pair_counts(cells[TRUTH], cells[WEIGHT], known, sizes, problem.n_classes)
        return pairs

    def _code(self, source: DecisionSource, edges: FloatArray) -> nw.Expr:
        """The bin of every row, as an expression."""
        if source.system is not None:
            return nw.col(system_column(list(self.rules).index(source.system)))
        if source.recalibrated:
            refit = self.refits[source.model, RECALIBRATED]
            assert isinstance(refit, Refit)
            posteriors = np.asarray(refit.fitted.predictions)[:, 1]
            return replace(refit, predictions=np.searchsorted(edges, posteriors)).expression()
        (model,) = (each for each in self.models if each.name == source.model)
        bins = self.tallied[source.model].bins
        # Where scores were binned, edges are means of bins, which include rows up to their end.
        highest = edges if bins is None else map(bins.threshold, edges)
        return first_place([nw.col(model.score) <= float(score) for score in highest])


def _column(place: int) -> str:
    return f"code_{place}"


def _passes(sizes: Sequence[int], n_classes: int) -> Iterator[tuple[int, ...]]:
    """The sources that are counted together: all of them, or two at a time.

    >>> list(_passes([2, 3, 4], 2)), list(_passes([2, 3, 10**9], 2)), list(_passes([2], 2))
    ([(0, 1, 2)], [(0, 1), (0, 2), (1, 2)], [])
    """
    if len(sizes) > 1 and n_classes * prod(sizes) <= _MOST_CELLS:
        yield tuple(range(len(sizes)))
    else:
        yield from combinations(range(len(sizes)), 2)
