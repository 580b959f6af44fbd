"""Tallies of the predictions of one model in a lazy frame, made by its engine."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray
from stakes._value import record
from stakes.adapters.case_costs import (
    PERFECT,
    between_scores,
    cheapest_by,
    group_cases,
    pooled_terms,
    term_sums,
    with_perfect,
)
from stakes.adapters.columns import prediction_columns
from stakes.adapters.expressions import (
    Arrays,
    grouped,
    high_of,
    log_losses,
    low_of,
    most_probable,
    moved,
    squared_errors,
    stepped,
    sum_of,
)
from stakes.adapters.lazy import TRUTH, WEIGHT, column_of
from stakes.adapters.sources import Lazy
from stakes.adapters.streamed_scores import (
    HALF_SINGLE,
    Add,
    PosteriorSums,
    can_stream,
    decision_steps,
    pooled_stream,
    score_stream,
)
from stakes.adapters.zoom_bins import TOTAL, Grid, ScoreGrid, UnitGrid, finer, pooled_bins
from stakes.decide import class_ratios, shift_prior
from stakes.evaluation import ModelTallies, mean_losses
from stakes.problem import Problem
from stakes.report import AS_DECIDED, BAYES, MOVED
from stakes.rows import DECISIONS, POSTERIORS, SCORES, Decisions, Posteriors, Predicted, Scores
from stakes.tally import Bins, BitGrid, Counts, ScoreTable
from stakes.thresholds import StakesTable, weighed

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
