"""The tallies of all models of a lazy frame, and what is fitted to them out of fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray, Numbers
from stakes._text import number
from stakes.adapters.class_maps import ClassMaps, fitted_maps
from stakes.adapters.columns import Columns
from stakes.adapters.engine_work import Passes
from stakes.adapters.expressions import by_code, floored_log, grouped
from stakes.adapters.lazy import CLUSTER, TRUTH, WEIGHT, Facts
from stakes.adapters.lazy_models import LazyModel, Tallied
from stakes.adapters.partitions import stacked_rows
from stakes.adapters.refits import LimitedModel, Refit, limited_model, refitted, score_cells
from stakes.adapters.sources import Lazy
from stakes.calibration import CalibrationMap, Calibrator
from stakes.conditions import Beta, CostProportions
from stakes.decide import class_ratios
from stakes.evaluation import (
    CLASS_BINS,
    FLOOR,
    DecisionRule,
    JointSample,
    ModelTallies,
    leads_in_sample,
    left_out,
    no_decision,
    no_move,
    order_in_sample,
    rules_of,
)
from stakes.ranking import certified
from stakes.report import LEFT_OUT, POSTERIOR_RULES, RECALIBRATED, TUNED, TUNED_APART, Caveat
from stakes.rows import Decisions, Posteriors, Scores
from stakes.tally import Bins, ScoreTable
from stakes.thresholds import Optimal, expected_loss, h_measure

_CLASS, _CHANCE, _BIN, _TOTAL, _SQUARES = "class", "chance", "bin", "total", "squares"
_LOGS, _OFF = "logs", "off"


class ClassSums(NamedTuple):
    """Sums over the posteriors of each class."""

    leads: FloatArray  # (3, K), those of `leads_in_sample`
    logs: FloatArray  # (K, K), of their logarithms, column by class


def class_tallies(
    model: LazyModel, rows: Lazy, maps: ClassMaps | None
) -> tuple[FloatArray, FloatArray | None, ClassSums]:
    """The bins (K, 10, 3) of `ModelQuality`, and sums over the posteriors of each class.

    The bins are those of the posteriors as they came, and of the recalibrated ones where there are
    maps. Rows are repeated for each class, with the posterior of that class.
    """
    size, weight, chance = model.problem.n_classes, nw.col(WEIGHT), nw.col(_CHANCE)
    rows, columns = model.with_scores(rows), list(model.posteriors)
    if maps is not None:
        rows = maps.with_posteriors(rows, model.posteriors, model.repaired)
        columns += model.repaired
    # One grouping of so many times as many rows needs a single pass, many groupings need many.
    parts = (
        rows.select(TRUTH, WEIGHT, nw.lit(k).alias(_CLASS), nw.col(name).alias(_CHANCE))
        for k, name in enumerate(columns)
    )
    tenth, last = (chance * float(CLASS_BINS)).floor(), float(CLASS_BINS - 1)
    in_range = nw.when(tenth < last).then(tenth).otherwise(nw.lit(last))
    rows = stacked_rows(parts).with_columns(in_range.alias(_BIN))
    sizes = {_CLASS: len(columns), TRUTH: size, _BIN: CLASS_BINS}
    sums = {WEIGHT: weight, _TOTAL: weight * chance, _SQUARES: weight * chance * chance}
    sums[_LOGS] = weight * floored_log(chance, FLOOR)
    tallied = grouped(rows, sizes, sums)
    is_true = tallied[TRUTH] == tallied[_CLASS] % size

    def summed(values: FloatArray, *codes: str) -> FloatArray:
        return table_of(values, [tallied[code] for code in codes], [sizes[c] for c in codes])

    mass, total = tallied[WEIGHT], tallied[_TOTAL]
    sums_of = [summed(part, _CLASS, _BIN) for part in (mass, mass * is_true, total)]
    leads = [summed(part, _CLASS)[:size] for part in (total * is_true, total, tallied[_SQUARES])]
    bins = np.stack(sums_of, axis=-1)
    logs = summed(tallied[_LOGS], _CLASS, TRUTH)[:size]
    repaired = bins[size:] if len(columns) > size else None
    return bins[:size], repaired, ClassSums(np.stack(leads), logs)


class EngineFits:
    """The tallies of all models, the rules fitted out of fold, and what was left out."""

    def __init__(
        self,
        columns: Columns,
        facts: Facts,
        limit: int,
        passes: Passes,
        calibrator: Calibrator | None,
        unfitted: str | None,
    ) -> None:
        self.columns, self.facts, self.limit, self.calibrator = columns, facts, limit, calibrator
        self.unfitted, self.passes = unfitted, passes
        self.tallied: dict[str, Tallied] = {}
        self.refits: dict[str, Refit | ClassMaps] = {}
        self.class_sums: dict[str, ClassSums] = {}
        self.unnamed: dict[str, tuple[LazyModel, Lazy]] = {}
        self.limited: dict[str, LimitedModel] = {}
        self.lost = [] if unfitted is None else [Caveat(LEFT_OUT, unfitted)]

    def add(self, model: LazyModel, live: Lazy) -> None:
        """Tally a model, and fit a map or a threshold if possible."""
        self.passes.next(f"model {model.name}")
        tallied = model.tallied(live, self.facts.masses)
        if model.weighs:
            self.passes.next(f"model {model.name}, by costs")
            tallied = model.charged(live, tallied, self.facts.shares)
        fits, maps = self.columns.key is not None and model.problem.n_classes == 2, None
        if fits and not isinstance(model.predictions, Decisions):
            tallied = self._refitted(model, live, tallied)
        elif self.calibrator is not None and isinstance(model.predictions, Posteriors):
            self.passes.next(f"maps of model {model.name}")
            maps, lost = fitted_maps(
                model, live, self.calibrator, self.facts.shares, self.passes.step
            )
            if maps is not None:
                shares = self.facts.shares
                ratios = class_ratios(shares, model.problem.prior_or(shares))
                self.refits[model.name] = maps.moved(ratios)
            self.lost += lost
        if model.problem.n_classes > 2 and isinstance(model.predictions, Posteriors):
            self.passes.next(f"model {model.name}, class by class")
            bins, repaired, sums = class_tallies(model, live, maps)
            self.class_sums[model.name] = sums
            if not tallied.tallies.named:
                self.unnamed[model.name] = model, live
            _, total, squares = sums.leads  # p² is p for 0 and 1 alone
            certain = bool(np.allclose(total, squares, rtol=1e-12, atol=0))
            tallies = replace(
                tallied.tallies, class_bins=bins, recalibrated_bins=repaired, certain=certain
            )
            tallied = replace(tallied, tallies=tallies)
        self.tallied[model.name] = tallied

    def _refitted(self, model: LazyModel, live: Lazy, tallied: Tallied) -> Tallied:
        """The tallies, once rules were fitted out of fold to cells of score, class and fold."""
        raw, limits = isinstance(model.predictions, Scores), model.problem.limits
        if self.calibrator is None and not raw and not limits:
            return tallied
        self.passes.next(f"model {model.name}, by folds")
        cells, shares = score_cells(model, live, self.limit), self.facts.shares
        tallied, refit, lost = refitted(model, cells, tallied, self.calibrator, shares)
        self.refits |= {} if refit is None else {model.name: refit}
        self.lost += lost
        if limits:
            rules = self._rules(model, tallied)
            self.limited[model.name] = limited_model(model, cells, refit, shares, rules)
            self.lost += self.limited[model.name].left_out
        return tallied

    def models(self, sample: JointSample) -> Iterator[ModelTallies]:
        """The tallies of all models; errors of class leads depend on the sample."""
        for name, tallied in self.tallied.items():
            sums, order = self.class_sums.get(name), None
            leads = None if sums is None else leads_in_sample(sums.leads, sample)
            if sums is not None and name in self.unnamed:
                variance = partial(self._variance, *self.unnamed[name], sample)
                order = order_in_sample(sums.logs, sample, variance)
            yield replace(tallied.tallies, leads=leads, order=order)

    def _variance(
        self, model: LazyModel, live: Lazy, sample: JointSample, *gains: FloatArray | IntArray
    ) -> float:
        """The variance of what another order of the columns gains, in a pass of its own."""
        columns, means, shares = (part.tolist() for part in gains)
        rows, truth, weight = model.with_scores(live), nw.col(TRUTH), nw.col(WEIGHT)
        logs = [floored_log(nw.col(name), FLOOR) for name in model.posteriors]
        pairs = [logs[column] - log for column, log in zip(columns, logs, strict=True)]
        off = (by_code(truth, pairs) - by_code(truth, means)) * by_code(truth, shares)
        rows = rows.with_columns((off * weight).alias(_OFF))
        if sample.clusters is not None:
            sums = rows.group_by(CLUSTER).agg(nw.col(_OFF).sum())
        else:
            squared = nw.col(_OFF) * nw.col(_OFF) / (weight if sample.whole else 1.0)
            sums = rows.select(squared.sum().alias(_OFF))
        what = f"the order of the columns of {model.name}"
        totals = np.array(self.passes.later(what, sums.collect)[_OFF], dtype=np.float64)
        return float((totals**2).sum() if sample.clusters is not None else totals[0])

    def rules(self, model: LazyModel) -> Iterator[DecisionRule]:
        """Yield the decision rules of a model, with the prices of limits."""
        limited = self.limited.get(model.name)
        for rule in self._rules(model, self.tallied[model.name]):
            if limited is None or rule.name not in POSTERIOR_RULES:
                yield rule
            elif rule.name in limited.rules:
                yield limited.rules[rule.name]

    def _rules(self, model: LazyModel, tallied: Tallied) -> Iterator[DecisionRule]:
        refit = self.refits.get(model.name)
        for rule in rules_of(
            model.name,
            tallied.tallies.kind,
            model.problem,
            table=tallied.tallies.table,
            stakes=tallied.stakes,
            movable=model.moving is not None,
            recalibrated=refit is not None and refit.rule == RECALIBRATED,
            tuned_apart=refit is not None and refit.rule == TUNED_APART,
        ):
            yield _at_edge(rule, tallied.bins)

    @property
    def deciders(self) -> dict[tuple[str, str], Refit | ClassMaps]:
        """Fitted rules, which decide instead of the original posteriors, by model and rule."""
        fitted = {(name, refit.rule): refit for name, refit in self.refits.items()}
        limited = {
            (name, rule): decides
            for name, model in self.limited.items()
            for rule, decides in model.decided.items()
        }
        return {**fitted, **limited}

    @property
    def repriced(self) -> Callable[[str, FloatArray], FloatArray] | None:
        """See `Evidence.repriced`."""
        if not self.limited:
            return None
        return lambda model, rows: self.limited[model].repriced(rows)

    @property
    def described(self) -> str | None:
        """A description of the calibrator and of its folds, or None."""
        if self.calibrator is None:
            return None
        counts = [
            len(np.unique(refit.folds))
            for refit in self.refits.values()
            if refit.rule == RECALIBRATED
        ]
        if not counts:
            return f"{self.calibrator!r} could not be fitted"
        return f"{self.calibrator!r}, out of fold ({max(counts)} folds by key)"

    @property
    def maps(self) -> dict[str, Callable[[], CalibrationMap]]:
        """The maps that were fitted on all rows, by the names of their models."""
        on_all = {name: refit.on_all for name, refit in self.refits.items()}
        return {name: fitted for name, fitted in on_all.items() if fitted is not None}

    def left_out(self, models: Sequence[LazyModel]) -> Iterator[Caveat]:
        """Caveats about what only a report on rows in memory would show."""
        yield from self.lost
        for model in models:
            yield from _lost(model, self.tallied[model.name], fitted=model.name in self.refits)


def _at_edge(rule: DecisionRule, bins: Bins | None) -> DecisionRule:
    """Move a tuned threshold to the end of its bin, so that it does not split the bin."""
    if bins is None or rule.name != TUNED or rule.threshold is None:
        return rule
    return replace(rule, threshold=bins.threshold(rule.threshold))


# What was left out -------------------------------------------------------------------------------


def _lost(model: LazyModel, tallied: Tallied, *, fitted: bool) -> Iterator[Caveat]:
    """Caveats about what only a report on rows in memory would show of this model."""
    name, problem = model.name, model.problem
    if model.stuck:
        yield no_move(name)
    if isinstance(model.predictions, Scores) and not fitted:
        text = (
            "thresholds tuned on other folds need a key of the rows where these stay in "
            "their engine; there is only the one that was tuned on all rows."
        )
        yield no_decision(name, problem) if problem.n_decisions > 2 else left_out(name, text)
    if tallied.bins is not None and tallied.bins.inside is None and not tallied.bins.exact:
        yield left_out(name, _sure(tallied.bins, model))


def _sure(bins: Bins, model: LazyModel) -> str:
    """A sentence about the largest error of measures that were computed from bins."""
    prior = model.problem.prior

    def once_deployed(table: ScoreTable) -> ScoreTable:
        return table if prior is None else table.with_prior(prior)

    def h(table: ScoreTable) -> Numbers:
        ranks = once_deployed(table)
        return h_measure(ranks, Beta.severity(ranks.shares))

    def loss(table: ScoreTable) -> Numbers:
        return expected_loss(once_deployed(table), Optimal(), CostProportions())

    # Without cases of both classes H and the losses are undefined.
    text = ""
    if bins.weights.any(axis=0).all():
        certain = [certified(measure, bins) for measure in (h, loss)]
        lines = [f"{_below(bounds.low)} and {-_below(-bounds.high)}" for bounds in certain]
        text = f", H lies between {lines[0]}, the loss of optimal thresholds between {lines[1]}"
    return (
        f"single scores stay in the engine. The AUC, H and expected losses come from "
        f"{bins.mean.size:,} bins of them; for certain the AUC is off by at most "
        f"{number(1.001 * bins.auc_error)}{text}. Costs and proper scores are exact."
    )


def _below(end: float) -> float:
    """The number rounded down to six decimals."""
    return float(np.floor(end * 1e6) / 1e6)
