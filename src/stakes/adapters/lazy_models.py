"""Tallies of the predictions of one model in a lazy frame, made by its engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._arithmetic import ratio, table_of
from stakes._check import FloatArray, IntArray
from stakes._expression import Name, parse
from stakes._value import record
from stakes.adapters.columns import prediction_columns
from stakes.adapters.frame_tallies import (
    HALF_SINGLE,
    Add,
    PosteriorSums,
    can_stream,
    decision_steps,
    pooled_stream,
    score_stream,
)
from stakes.adapters.lazy import (
    FOLD,
    ROWS,
    TOTAL,
    TRUTH,
    WEIGHT,
    Arrays,
    Check,
    Facts,
    Grid,
    ScoreGrid,
    UnitGrid,
    by_code,
    cheapest,
    cheapest_of_each,
    column_of,
    data_column,
    finer,
    first_place,
    grouped,
    high_of,
    log_losses,
    low_of,
    most_probable,
    moved,
    number_check,
    pooled_bins,
    squared_errors,
    stepped,
    sum_of,
)
from stakes.adapters.lazy_decisions import COLUMN_FUNCTIONS, as_expr, cost_columns
from stakes.adapters.sources import Lazy
from stakes.decide import class_ratios, shift_prior
from stakes.evaluation import (
    MOST_TERMS,
    Cases,
    Charges,
    Folds,
    ModelTallies,
    charges_of,
    mean_losses,
    used_folds,
)
from stakes.problem import LARGEST, CaseCosts, Problem
from stakes.report import AS_DECIDED, BAYES, MOVED
from stakes.rows import DECISIONS, POSTERIORS, SCORES, Decisions, Posteriors, Predicted, Scores
from stakes.tally import Bins, BitGrid, Counts, ScoreTable
from stakes.thresholds import StakesTable, weighed

# Rows whose costs differ from case to case, pooled by their engine -------------------------------
#
# The engine decides every row by its own costs. What leaves it are groups of rows of one class
# with the same decisions and nearly the same costs. Costs are linear in a few terms, and rows
# whose terms share a bin form a group, which keeps their number, the sum of their weights and of
# each term. Sums are therefore exact. Intervals ignore the spread within a group, which is zero
# where its rows are equal, and less than a thousandth of the cost in the finest bins.

BLIND, PERFECT, SQUARES = "blind", "perfect", "squares"
WIDTHS = (0, 4, 7)  # 2**width bins are merged into one; wider ones where groups are too many
ALL = 40  # a width at which all bins are merged into one


def cost_column(k: int, d: int) -> str:
    """The name of the column of the cost of a decision for a class."""
    return f"cost_{k}_{d}"


def term_column(place: int) -> str:
    """The name of the column of a term of the costs."""
    return f"term_{place}"


def cost_names(problem: Problem) -> list[list[str]]:
    """Names of the columns of costs, class by decision."""
    return [[cost_column(k, d) for d in range(problem.n_decisions)] for k in _classes(problem)]


def with_costs(frame: Lazy, problem: Problem) -> Lazy:
    """Add the costs of every row and their terms, unless all rows have the same costs."""
    if not problem.columns:
        return frame
    values = _values(problem)
    cells = zip(cost_columns(problem, values), cost_names(problem), strict=True)
    columns = {
        name: as_expr(cost) for line, names in cells for cost, name in zip(line, names, strict=True)
    }
    columns |= {
        term_column(place): parse(term)(values, COLUMN_FUNCTIONS)
        for place, term in enumerate(problem.terms.names[1:], start=1)
    }
    return frame.with_columns(**columns)


def cheapest_by(
    rows: Lazy,
    posteriors: Sequence[str],
    problem: Problem,
    name: str,
    rounding: Sequence[nw.Expr] = (),
    ratios: FloatArray | None = None,
) -> Lazy:
    """Add the cheapest decisions, by the costs of the problem or by those of every row."""
    if problem.columns:
        return cheapest_of_each(rows, posteriors, cost_names(problem), name, rounding, ratios)
    return cheapest(rows, posteriors, problem.costs, name, rounding, ratios)


def cost_checks(rows: Lazy, problem: Problem) -> Iterator[tuple[str, Check]]:
    """Yield checks of the columns that costs depend on, and of the costs that follow from them."""
    for place, column in enumerate(problem.columns):
        name, argument = data_column(place), f"data[{column!r}]"
        yield argument, number_check(rows, {name: _is_cost(name)}, argument, *_COLUMN)
    for k, d in np.ndindex(problem.n_classes, problem.n_decisions):
        if isinstance(text := problem.written[k][d], str):
            name = cost_column(k, d)
            which = f"that of {problem.decisions[d]!r} for {problem.classes[k]!r}, {text!r},"
            rule = f"must be numbers in every row, within {LARGEST:g} of zero, as {which} is not"
            yield name, number_check(rows, {name: _is_cost(name)}, "costs", rule, _ASK)
    for place, text in enumerate(problem.terms.names):
        if place and text not in problem.columns:
            column = term_column(place)
            rule = f"must have parts that are numbers in every row, as {text!r} is not"
            yield column, number_check(rows, {column: _is_cost(column)}, "costs", rule, _ASK)


_COLUMN = (
    f"must hold a number for every case, within {LARGEST:g} of zero",
    "A cost that is not known is not zero: fill it in, or leave these rows out.",
)
_ASK = "Ask first, as in where(amount > 0, 5 / amount, 0), or leave these rows out."


def _is_cost(column: str) -> nw.Expr:
    return nw.col(column).abs() <= LARGEST


def with_constants(frame: Lazy, problem: Problem, prior: FloatArray) -> Lazy:
    """Add the decisions by costs and prior alone, and the cheapest ones given the class."""
    shares = [f"prior_{k}" for k in _classes(problem)]
    frame = frame.with_columns(**dict(zip(shares, map(nw.lit, prior.tolist()), strict=True)))
    frame = cheapest_of_each(frame, shares, cost_names(problem), BLIND)
    return with_perfect(frame, problem)


def _values(problem: Problem) -> dict[Name, nw.Expr]:
    return {Name(column): nw.col(data_column(k)) for k, column in enumerate(problem.columns)}


def _classes(problem: Problem) -> range:
    return range(problem.n_classes)


def own_cost(problem: Problem, d: int) -> nw.Expr:
    """What a decision costs in each row, given its class."""
    return by_code(nw.col(TRUTH), [nw.col(cost_column(k, d)) for k in _classes(problem)])


def with_perfect(frame: Lazy, problem: Problem) -> Lazy:
    """Add the position of the cheapest decision given the class."""
    costs = {f"own_{d}": own_cost(problem, d) for d in range(problem.n_decisions)}
    frame = frame.with_columns(**costs)
    frame = frame.with_columns(nw.min_horizontal(*map(nw.col, costs)).alias("least"))
    # The first of those that tie; the last decision is left where no other one is the cheapest.
    least = [nw.col(name) <= nw.col("least") for name in list(costs)[:-1]]
    return frame.with_columns(first_place(least).alias(PERFECT))


# Groups ------------------------------------------------------------------------------------------


def pooled_terms(problem: Problem) -> list[str]:
    """The columns of the terms, whose entries are equal, or nearly so, within a group."""
    return [term_column(place) for place in range(1, len(problem.terms.names))]


def term_sums(problem: Problem) -> dict[str, nw.Expr]:
    """What is summed over each group: weight times each term."""
    return {f"sum {term}": nw.col(WEIGHT) * nw.col(term) for term in pooled_terms(problem)}


def with_bins(
    frame: Lazy, columns: Sequence[str], ranges: Mapping[str, tuple[float, float]], width: int
) -> tuple[Lazy, dict[str, int]]:
    """Add the bin of each of some columns, and return how many bins each has.

    `ranges` are the least and largest entries; 2**width bins of the grid are merged into one.
    """
    sizes = {}
    for column in columns:
        name = f"bin {column}"
        frame = zero_grid(*ranges[column]).binned(frame, column, name)
        if width:
            coarse = (nw.col(name) * 2.0**-width).floor().cast(nw.Int64)
            frame = frame.with_columns(coarse.alias(name))
        sizes[name] = (BitGrid.N_BINS >> width) + 1
    return frame, sizes


def zero_grid(low: float, high: float) -> ScoreGrid:
    """Bins of entries in a range, finest at zero, or at the amount that all of them share.

    Bins are a thousandth as wide as their distance from there. About zero, entries that differ by
    less than a thousandth would share a bin, and intervals would ignore how they differ.

    >>> zero_grid(-3.0, 5.0).centre, zero_grid(1e8, 1e8 + 2).centre, zero_grid(-5.0, -4.0).centre
    (0.0, 100000000.0, -4.0)
    >>> [zero_grid(*ends).unit * 2**31 for ends in ((0.0, 2.5), (1e8, 1e8 + 2.5), (-5.0, -2.0))]
    [4.0, 4.0, 8.0]
    """
    centre = low if high < 2 * low else high if 2 * high < low else 0.0
    largest = max(abs(low - centre), abs(high - centre))
    # Not smaller than that where all entries are equal: the inverse would be infinite.
    return ScoreGrid(centre, 2.0 ** (math.frexp(max(largest, 2.0**-900))[1] - 31))


def pooled_costs(problem: Problem, groups: Arrays) -> CaseCosts:
    """The mean costs of the rows of every group."""
    weight, names = groups[WEIGHT], problem.terms.names
    terms = np.stack(
        [np.ones(weight.size), *(_means(groups, term, weight) for term in pooled_terms(problem))]
    )
    coefficients = np.nan_to_num(problem.terms.coefficients, nan=0.0)
    return CaseCosts(
        weight.size,
        problem.classes,
        problem.decisions,
        array=np.moveaxis(np.tensordot(coefficients, terms, axes=1), -1, 0),
        columns={Name(name): values for name, values in zip(names, terms, strict=True)},
    )


def _means(groups: Arrays, column: str, weight: FloatArray) -> FloatArray:
    """The mean of each group, exact to the last bit where its rows are equal."""
    low, high = groups[low_of(column)], groups[high_of(column)]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Rounding must not give a group a mean outside the range of its rows.
        mean = np.clip(groups[f"sum {column}"] / weight, low, high)
    return np.asarray(np.where(low == high, low, mean))


def group_charges(
    problem: Problem,
    groups: Arrays,
    decided: Mapping[str, IntArray],
    bayes: frozenset[str],
    facts: Facts,
    clusters: IntArray | None,
) -> Charges:
    """What every system costs in every group of rows."""
    cases = group_cases(problem, groups, facts.shares)
    charges = charges_of(cases, decided, bayes, groups[BLIND])
    losses = replace(
        charges.losses,
        whole=not facts.weighted,
        clusters=clusters,
        repeats=groups[WEIGHT if facts.copied else ROWS],
        squared=groups[SQUARES],
    )
    return replace(charges, losses=losses)


def key_folds(cases: Cases, groups: Arrays) -> Folds:
    """The folds of groups of rows; keys state them, so that nothing is drawn."""
    return Folds(cases, 0, by_key=used_folds(groups[FOLD]))


def group_cases(
    problem: Problem, groups: Arrays, shares: FloatArray, *, charged: bool = True
) -> Cases:
    """Groups of rows as cases, each with the weight of its rows; by default with their costs."""
    return Cases(
        problem=problem,
        n_rows=len(groups[WEIGHT]),
        kept=None,
        truth=groups[TRUTH],
        weights=groups[WEIGHT],
        by=(),
        clusters=None,
        shares=shares,
        costs=pooled_costs(problem, groups) if problem.columns and charged else None,
    )


def between_scores(
    problem: Problem, groups: Arrays, scores: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """A function that sums the terms of the costs between scores; groups begin at `scores`."""
    columns = [groups[WEIGHT], *(groups[name] for name in term_sums(problem))]
    columns = columns if len(columns) <= MOST_TERMS else []

    def summed(edges: FloatArray) -> FloatArray:
        codes, shape = [np.searchsorted(edges, scores), groups[TRUTH]], (edges.size + 1, 2)
        sums = [table_of(column, codes, shape) for column in columns]
        return np.stack(sums, axis=-1) if sums else np.empty((*shape, 0))

    return summed


def widest(problem: Problem, groups: Arrays) -> float:
    """By how much, at most, a term differs within a group, as a share of its largest entry."""
    return max((_width(groups, term) for term in pooled_terms(problem)), default=0.0)


def _width(groups: Arrays, column: str) -> float:
    low, high = groups[low_of(column)], groups[high_of(column)]
    size = np.maximum(np.abs(low), np.abs(high))
    return float(np.max((high - low) / np.where(size > 0, size, 1.0), initial=0.0))


def narrowed(problem: Problem, groups: Arrays) -> float:
    """By which share, at most, intervals of a term within a class ignore how its rows differ.

    The variance within a group is at most (high − mean)·(mean − low) (Bhatia and Davis 2000).
    """
    return max((_ignored(groups, term) for term in pooled_terms(problem)), default=0.0)


def _ignored(groups: Arrays, column: str) -> float:
    weight, truth = groups[WEIGHT], groups[TRUTH]
    low, high, mean = (
        groups[low_of(column)],
        groups[high_of(column)],
        _means(groups, column, weight),
    )

    def by_class(values: FloatArray) -> FloatArray:
        return np.bincount(truth, weight * values).astype(np.float64)

    within = by_class((high - mean) * (mean - low))
    away = mean - (by_class(mean) / np.maximum(by_class(np.ones(mean.size)), 1e-300))[truth]
    kept = ratio(by_class(away**2), by_class(away**2) + within)
    return float(1 - np.sqrt(np.nanmin(kept, initial=1.0)))


# Tallies of the predictions of one model in a lazy frame, made by its engine ---------------------

_PREDICTED, _BIN = "predicted", "bin"


@record
class Tallied:
    """The tallies of a model, and the bins behind its score table."""

    tallies: ModelTallies
    bins: Bins | None
    stakes: StakesTable | None = None  # scores weighted by the costs of every row


@record
class LazyModel:
    """A model whose predictions are columns of a prepared frame."""

    place: int
    name: str
    predictions: Predicted
    problem: Problem
    moving: tuple[FloatArray, FloatArray] | None  # the priors from and to which posteriors move
    off_sum: tuple[int, float] | None
    weighted: bool
    exact: bool  # whether ranks are computed from single scores where rows come as a stream
    single: bool = False  # whether its posteriors come in single precision
    stuck: bool = False  # whether posteriors cannot be moved to the prior

    def _columns(self, tag: str) -> list[str]:
        return [f"{tag}_{self.place}_{k}" for k in range(self.problem.n_classes)]

    @property
    def posteriors(self) -> list[str]:
        """Names of the columns of the original posteriors, which `with_decisions` adds."""
        return self._columns("posterior")

    @property
    def moved(self) -> list[str]:
        """Names of the columns of the posteriors for the prior of the report."""
        return self._columns("moved")

    @property
    def repaired(self) -> list[str]:
        """Names of the columns of the recalibrated posteriors."""
        return self._columns("repaired")

    @property
    def score(self) -> str:
        """Name of the column of P(second class) or of raw scores."""
        is_probable = isinstance(self.predictions, Posteriors)
        return self.posteriors[1] if is_probable else column_of(self.place)

    def decided(self, rule: str) -> str:
        """Name of the column of the decisions by a rule."""
        if rule == AS_DECIDED:
            return column_of(self.place)
        return f"{'bayes' if rule == BAYES else 'shifted'}_{self.place}"

    def with_decisions(self, frame: Lazy) -> Lazy:
        """Add the original posteriors, those for the new prior, and the Bayes decisions of both."""
        if not isinstance(self.predictions, Posteriors):
            return frame
        off = self._rounding()
        rows = self._with_posteriors(frame)
        if self.moving is not None:
            rows = moved(rows, self.posteriors, class_ratios(*self.moving), self.moved)
        if self._one_column and not self.problem.columns:
            return self._with_steps(rows)
        for rule, moving in self._movings.items():
            ratio = None if moving is None else class_ratios(*moving)
            rows = cheapest_by(rows, self.posteriors, self.problem, self.decided(rule), off, ratio)
        return rows

    @property
    def _one_column(self) -> bool:
        """Whether the posteriors are one column with P(second class)."""
        return (
            isinstance(self.predictions, Posteriors)
            and len(prediction_columns(self.predictions)) < self.problem.n_classes
        )

    @property
    def _movings(self) -> dict[str, tuple[FloatArray, FloatArray] | None]:
        """Bayes rules of the model, and the priors between which they move posteriors."""
        return {BAYES: None} if self.moving is None else {BAYES: None, MOVED: self.moving}

    def _steps(self) -> dict[str, list[tuple[float, int]]]:
        """The decisions of every rule as steps of P(second class); empty if rows have own costs."""
        if self.problem.columns:
            return {}
        return {
            rule: decision_steps(self.problem, moving, single=self.single)
            for rule, moving in self._movings.items()
        }

    def _with_steps(self, frame: Lazy) -> Lazy:
        """Add decisions by comparing P(second class) with the ends of steps, which is fast."""
        score = nw.col(column_of(self.place))
        for rule, steps in self._steps().items():
            ends, codes = zip(*steps, strict=True)
            frame = frame.with_columns(stepped(score, ends[:-1], codes).alias(self.decided(rule)))
        return frame

    def with_scores(self, frame: Lazy) -> Lazy:
        """Add the column `score`."""
        return self._with_posteriors(frame) if isinstance(self.predictions, Posteriors) else frame

    def _rounding(self) -> list[nw.Expr]:
        """Bounds on the rounding error of posteriors of single precision, one for each class."""
        columns = range(len(prediction_columns(self.predictions)) if self.single else 0)
        off = [nw.col(column_of(self.place, k)) * HALF_SINGLE for k in columns]
        return off * 2 if self._one_column else off

    def _with_posteriors(self, frame: Lazy) -> Lazy:
        """Add posteriors of all classes, divided by their sum where some rows do not sum to 1."""
        rows = [
            nw.col(column_of(self.place, k))
            for k in range(len(prediction_columns(self.predictions)))
        ]
        if self._one_column:
            rows = [1.0 - rows[0], rows[0]]
        elif self.off_sum is not None:
            rows = [column / sum_of(rows) for column in rows]
        return frame.with_columns(**dict(zip(self.posteriors, rows, strict=True)))

    def is_stuck(self, frame: Lazy) -> bool:
        """Whether some posteriors give probability 1 to classes whose new prior is 0."""
        assert self.moving is not None
        _, new = self.moving
        possible = [
            nw.col(column) for column, share in zip(self.posteriors, new, strict=True) if share > 0
        ]
        lost = self._with_posteriors(frame).filter(sum_of(possible) <= 0.0)
        return len(lost.select(TRUTH).head(1).collect()) > 0

    # Tallies -------------------------------------------------------------------------------------

    def tallied(self, frame: Lazy, masses: FloatArray) -> Tallied:
        """The tallies of the model; `masses` are the total weights of the classes."""
        if isinstance(self.predictions, Decisions):
            return Tallied(self._of_decisions(frame), None)
        if isinstance(self.predictions, Scores):
            return self._with_table(ModelTallies(self.name, SCORES), self._score_bins(frame))
        streams = self._one_column and can_stream(frame)
        return self._streamed(frame, masses) if streams else self._summed(frame, masses)

    def _with_table(self, tallies: ModelTallies, bins: Bins | None) -> Tallied:
        """The tallies with the score table of bins, if there are any."""
        if bins is None:
            return Tallied(tallies, None)
        table = bins.table(self.problem.classes)
        deployed, shift = self.deployed(table), bins.auc_shift
        certain = tallies.kind == POSTERIORS and bool(np.isin(table.scores, (0.0, 1.0)).all())
        tallies = replace(tallies, table=table, deployed=deployed, certain=certain)
        return Tallied(replace(tallies, auc_shift=shift), bins)

    @property
    def weighs(self) -> bool:
        """Whether scores decide between two decisions, and every row has its own costs."""
        problem = self.problem
        two = (problem.n_classes, problem.n_decisions) == (2, 2)
        return bool(problem.columns) and two and not isinstance(self.predictions, Decisions)

    def charged(self, frame: Lazy, tallied: Tallied, shares: FloatArray) -> Tallied:
        """The tallies with scores weighted by the costs of every row."""
        problem = self.problem
        grid: Grid = UnitGrid()
        if isinstance(self.predictions, Scores):
            bins = tallied.bins
            grid = ScoreGrid() if bins is None or bins.exact else finer(bins)
        frame = with_perfect(self.with_scores(frame), problem)
        frame = grid.binned(frame, self.score, _BIN)
        sizes = {TRUTH: 2, PERFECT: 2, _BIN: BitGrid.N_BINS}
        sums = {WEIGHT: nw.col(WEIGHT), **term_sums(problem)}
        groups = grouped(frame, sizes, sums, ranges=[self.score, *pooled_terms(problem)])
        # All groups of a bin get its highest score, so that no threshold splits a bin.
        high = np.full(BitGrid.N_BINS, -np.inf)
        np.maximum.at(high, groups[_BIN], groups[high_of(self.score)])
        cases = group_cases(problem, groups, shares)
        assert cases.costs is not None
        scores = high[groups[_BIN]] + 0.0
        stakes = weighed(cases.truth, scores, cases.weights, cases.costs, problem)
        between = between_scores(problem, groups, groups[low_of(self.score)])
        return replace(tallied, tallies=replace(tallied.tallies, term_sums=between), stakes=stakes)

    def _score_bins(self, frame: Lazy) -> Bins:
        """The bins of raw scores; if they are not exact, a second pass refines the middle half."""
        if self.exact and can_stream(frame):
            stream = score_stream(frame, self.score, weighted=self.weighted)
            return pooled_stream(stream, BitGrid(probabilities=False), np.empty(0), exact=True)
        bins = pooled_bins(self._binned(frame, ScoreGrid()), self.score)
        if bins.exact:
            return bins
        return pooled_bins(self._binned(frame, finer(bins)), self.score)

    def _of_decisions(self, frame: Lazy) -> ModelTallies:
        answered, name = self.problem.answered, column_of(self.place)
        if answered is None:
            return ModelTallies(self.name, DECISIONS)
        size = self.problem.n_classes
        sizes = {TRUTH: size, name: self.problem.n_decisions}
        sums = grouped(frame, sizes, {WEIGHT: nw.col(WEIGHT)})
        predicted = _counts(sums, answered[sums[name]], size)
        return ModelTallies(self.name, DECISIONS, predicted=predicted)

    def _summed(self, frame: Lazy, masses: FloatArray) -> Tallied:
        """Tallies from sums of the engine by bins and decisions."""
        size = self.problem.n_classes
        sums = self._binned(self.with_decisions(frame), UnitGrid())
        losses = _losses(sums, masses, "as given")
        moved = losses if self.moving is None else _losses(sums, masses, "moved")
        tallies = self._posterior_tallies(losses, moved, _counts(sums, sums[_PREDICTED], size))
        return self._with_table(tallies, pooled_bins(sums, self.score) if size == 2 else None)

    def _posterior_tallies(
        self, losses: FloatArray, moved: FloatArray, predicted: Counts
    ) -> ModelTallies:
        return ModelTallies(
            self.name,
            POSTERIORS,
            losses=losses,
            deployed_losses=moved,
            moving=self.moving,
            predicted=predicted,
            named=isinstance(self.predictions, Posteriors) and self.predictions.is_named,
            off_sum=self.off_sum,
        )

    def _streamed(self, frame: Lazy, masses: FloatArray) -> Tallied:
        """The same tallies from a stream of P(second class)."""
        sums = PosteriorSums(self.moving)
        scores = score_stream(frame, column_of(self.place), weighted=self.weighted)

        def stream(add: Add) -> None:
            def both(truth: IntArray, score: FloatArray, weights: FloatArray | None) -> None:
                sums.add(truth, score, weights)
                add(truth, score, weights)

            scores(both)

        stops = [end for steps in self._steps().values() for end, _ in steps[:-1]]
        # Bins split here keep the counts of decisions and of most probable classes exact.
        borders = np.unique([0.5, *stops])
        bins = pooled_stream(stream, BitGrid(probabilities=True), borders, exact=self.exact)
        with np.errstate(invalid="ignore"):
            losses, moved = np.asarray(sums.losses / masses), np.asarray(sums.moved / masses)
        predicted = Counts(sums.predicted, classes=range(2), decisions=range(2))
        moved = losses if self.moving is None else moved
        return self._with_table(self._posterior_tallies(losses, moved, predicted), bins)

    def _binned(self, frame: Lazy, grid: Grid) -> Arrays:
        """Sums of weights and losses by class, decisions and, for two classes, bin of scores."""
        size, sizes, sums = self.problem.n_classes, {}, {WEIGHT: nw.col(WEIGHT)}
        sizes[TRUTH] = size
        if isinstance(self.predictions, Posteriors):
            frame = most_probable(frame, self.posteriors, _PREDICTED)
            sizes[_PREDICTED] = size
            sums |= _loss_sums(self.posteriors, "as given")
            if self.moving is not None:
                sums |= _loss_sums(self.moved, "moved")
        if size == 2:
            frame = grid.binned(frame, self.score, _BIN)
            # The sum of scores gives the mean of each bin.
            sizes |= self._cuts() | {_BIN: BitGrid.N_BINS}
            sums[TOTAL] = nw.col(WEIGHT) * nw.col(self.score)
        return grouped(frame, sizes, sums, ranges=[self.score] if size == 2 else [])

    def _cuts(self) -> dict[str, int]:
        """Decisions that split bins, so that score tables keep the counts of decisions exactly."""
        if not isinstance(self.predictions, Posteriors) or self.problem.columns:
            return {}
        return {self.decided(rule): self.problem.n_decisions for rule in self._movings}

    def deployed(self, table: ScoreTable) -> ScoreTable:
        """The score table with scores and class shares for the prior of the report."""
        if self.moving is not None:
            table = table._at(shift_prior(table.scores, *self.moving))
        prior = self.problem.prior
        return table if prior is None else table.with_prior(prior)


def _loss_sums(posteriors: list[str], tag: str) -> dict[str, nw.Expr]:
    truth, weight = nw.col(TRUTH), nw.col(WEIGHT)
    rows = [nw.col(column) for column in posteriors]
    surprise, ruled_out = log_losses(truth, rows)
    return {
        f"{tag} log": weight * surprise,
        f"{tag} ruled out": weight * ruled_out,
        f"{tag} Brier": weight * squared_errors(truth, rows),
    }


def _losses(arrays: Arrays, masses: FloatArray, tag: str) -> FloatArray:
    """Mean losses of each class, (2, K): log loss and Brier score."""
    # Infinite losses are counted apart, because engines treat inf in sums differently.
    sums = [arrays[f"{tag} {name}"] for name in ("log", "Brier", "ruled out")]
    by_class = [table_of(each, [arrays[TRUTH]], masses.shape) for each in sums]
    return mean_losses(np.stack(by_class), masses)


def _counts(sums: Arrays, decided: Any, size: int) -> Counts:
    values = table_of(sums[WEIGHT], [sums[TRUTH], decided], (size, size))
    return Counts(values, classes=range(size), decisions=range(size))
