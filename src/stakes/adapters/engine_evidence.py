"""The evidence of a report from a lazy frame: only tallies leave its engine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from stakes import _check
from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray, Label, Numbers
from stakes._text import number
from stakes.adapters.columns import Columns
from stakes.adapters.engine_work import Passes
from stakes.adapters.frame_tallies import EXACT_BYTES
from stakes.adapters.joint_decisions import Joint, PairBins, coverages, joint_decisions
from stakes.adapters.lazy import (
    CLUSTER,
    TRUTH,
    WEIGHT,
    Facts,
    by_code,
    by_column,
    data_column,
    facts_of,
    floored_log,
    grouped,
    prepared,
)
from stakes.adapters.lazy_models import (
    LazyModel,
    Tallied,
    cost_checks,
    narrowed,
    pooled_terms,
    widest,
    with_costs,
)
from stakes.adapters.refits import (
    ClassMaps,
    LimitedModel,
    Refit,
    fitted_maps,
    limited_model,
    refitted,
    score_cells,
    why_none,
)
from stakes.adapters.sources import Lazy, stacked_rows
from stakes.calibration import CalibrationMap, Calibrator
from stakes.conditions import Beta, CostProportions
from stakes.decide import class_ratios
from stakes.errors import InputError
from stakes.evaluation import (
    CLASS_BINS,
    FLOOR,
    ColumnRank,
    DecisionRule,
    Evidence,
    JointSample,
    ModelTallies,
    PairsOf,
    column_ranks,
    is_movable,
    leads_in_sample,
    left_out,
    no_decision,
    no_move,
    order_in_sample,
    refuse_unknown,
    rules_by_system,
    rules_of,
)
from stakes.problem import Problem
from stakes.ranking import auc, certified
from stakes.report import (
    LEFT_OUT,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    TUNED_APART,
    Caveat,
    DecisionSource,
    PairCounts,
)
from stakes.rows import Decisions, Posteriors, Scores
from stakes.tally import Bins, ScoreTable
from stakes.thresholds import Optimal, expected_loss, h_measure

# The tallies of all models of a lazy frame, and what is fitted to them out of fold ---------------

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


# -------------------------------------------------------------------------------------------------
# The evidence of a report from a lazy frame: its engine makes the tallies, and only they
# leave it.
#
# The numbers are those that `stakes.evaluation.tally_rows` computes from arrays. Score tables of
# two classes may be in bins; measures of ranks then have an error, which is bounded, and zero
# where every bin holds a single score. Counts, costs and proper scores are exact.


def tallied_evidence(
    frame: Lazy,
    columns: Columns,
    problem: Problem,
    *,
    source: str,
    singles: Collection[str],
    posterior_prior: object,
    calibrator: Calibrator | None,
    limit: int,
    passes: Passes,
    seed: int = 0,
) -> Evidence:
    """Tally the rows of a frame, as a source provides it, inside its engine.

    Messages call the rows `source`; `singles` are the models whose columns are of single precision.
    The calibrator needs a key of the rows; where it cannot be fitted, a caveat says so. `limit` is
    the largest size of a tally in bytes. `passes` reports every pass, and runs those that the
    report asks for later. `seed` is that of the folds.
    """
    rows = with_costs(prepared(frame, columns, problem, seed, problem.columns), problem)
    checks = dict(cost_checks(rows, problem)) if problem.columns else {}
    ranges = [*pooled_terms(problem), WEIGHT] if problem.columns else []
    passes.next("what cannot be used")
    facts = facts_of(frame, rows, columns, problem, source, checks, ranges)
    if problem.columns:
        refuse_unknown(facts.masses, problem)
    from_prior = facts.shares
    if posterior_prior is not None:
        from_prior = _check.prior("posterior_prior", posterior_prior, problem.classes)
    # Ranks are exact where all scores fit into memory.
    exact = EXACT_BYTES[facts.weighted or facts.copied] * facts.n_rows <= limit
    models = _models(rows, columns, problem, facts, from_prior, singles, exact)
    # Only the checks see rows of weight zero; nothing else counts them.
    live = rows.filter(nw.col(WEIGHT) > 0.0) if columns.multiplier else rows
    if columns.weights is not None and not facts.weighted:  # of one value, which is as good as none
        live = live.with_columns(nw.lit(1.0).alias(WEIGHT))
    fits = EngineFits(columns, facts, limit, passes, *_calibrates(models, columns, calibrator))
    for model in models:
        fits.add(model, live)
    rules = _rules(models, fits, problem)
    joints = list(_joints(live, columns, models, rules, fits))
    sample = joints[0].sample()
    return Evidence(
        problem=problem,
        n_rows=facts.n_rows,
        sample=sample,
        rules=rules,
        models=tuple(fits.models(sample)),
        slices=tuple(_slices(columns, joints)),
        posterior_prior=from_prior,
        weighted=facts.weighted or facts.copied,
        whole_weights=facts.whole_weights,
        copied=facts.copied,
        calibrator=fits.described,
        left_out=(*fits.left_out(models), *_lost_of_all(joints[0])),
        maps=fits.maps,
        repriced=fits.repriced,
        coverage={
            name: partial(passes.later, f"cost against coverage of {name}", points)
            for name, points in coverages(live, models, rules, fits.deciders, facts)
        },
        pairs=_pairs(live, models, rules, fits, joints[0]),
        column_ranks=_column_ranks(live, problem, fits),
    )


def n_passes(columns: Columns, problem: Problem, calibrator: Calibrator | None) -> int:
    """The number of passes of the engine over the rows; an iterative fit counts as one."""
    many, by_row = problem.n_classes > 2, bool(problem.columns)
    two = (problem.n_classes, problem.n_decisions) == (2, 2)
    # One that checks the rows, joint decisions for each column of groups, and perhaps coverage.
    passes = 1 + max(1, len(columns.by)) + (many or by_row) + (columns.weights is not None)
    paired = not (by_row or columns.clusters or problem.limits)
    passes += len(problem.columns) if not many else 0
    passes += paired and (len(columns.models) > 1 or columns.key is not None)
    for predictions in columns.models.values():
        posteriors = isinstance(predictions, Posteriors)
        scored = posteriors or isinstance(predictions, Scores)
        fitted = calibrator is not None or not posteriors or bool(problem.limits)
        passes += 1 + (scored and by_row and two) + (many and posteriors)
        passes += scored and fitted and columns.key is not None
    return passes


def _pairs(
    live: Lazy,
    models: Sequence[LazyModel],
    rules: dict[str, DecisionRule],
    fits: EngineFits,
    joint: Joint,
) -> PairsOf | None:
    """A function that counts cases in bins of pairs of systems; None where it cannot."""
    if not joint.counts_cases or joint.problem.limits:
        return None
    bins = PairBins(live, models, rules, fits.deciders, fits.tallied)

    def pairs(
        sources: Sequence[DecisionSource], edges: Sequence[FloatArray]
    ) -> Mapping[tuple[int, int], PairCounts]:
        if len(sources) < 2:
            return {}
        return fits.passes.later("pairs of systems", partial(bins, sources, edges))

    return pairs


def _column_ranks(live: Lazy, problem: Problem, fits: EngineFits) -> tuple[ColumnRank, ...]:
    """Columns of the costs beside the best model; beyond memory, of two classes only."""
    if problem.n_classes != 2:
        return ()
    areas, first = {}, len(fits.tallied)
    for place, column in enumerate(problem.columns):
        fits.passes.next(f"column {column}")
        model = LazyModel(
            first + place, column, Scores(column), problem, None, None, fits.facts.weighted, False
        )
        rows = live.with_columns(nw.col(data_column(place)).alias(model.score))
        tallies = model.tallied(rows, fits.facts.masses).tallies
        if tallies.table is not None:
            areas[column] = float(auc(tallies.table)) + tallies.auc_shift
    models = [tallied.tallies for tallied in fits.tallied.values()]
    return column_ranks(areas, models, problem)


def _calibrates(
    models: Sequence[LazyModel], columns: Columns, calibrator: Calibrator | None
) -> tuple[Calibrator | None, str | None]:
    """The calibrator if it can be fitted beyond memory, or else the reason why it cannot."""
    decided = all(isinstance(model.predictions, Decisions) for model in models)
    if calibrator is None or decided or models[0].problem.n_classes == 1:
        return None, None  # there is nothing to recalibrate
    why = why_none(calibrator, columns.key, models[0].problem.n_classes)
    return (calibrator, None) if why is None else (None, why)


def _joints(
    live: Lazy,
    columns: Columns,
    models: Sequence[LazyModel],
    rules: dict[str, DecisionRule],
    fits: EngineFits,
) -> Iterator[Joint]:
    """The joint decisions within each column of groups, or of all rows where there is none."""
    clusters = [CLUSTER] if columns.clusters else []
    # One query for each column of groups: all at once would multiply their groups.
    for groups in [[by_column(place)] for place in range(len(columns.by))] or [[]]:
        fits.passes.next("the decisions of all systems")
        more = [*groups, *clusters]
        yield joint_decisions(live, more, models, rules, fits.deciders, fits.facts, fits.limit)


def _slices(columns: Columns, joints: Sequence[Joint]) -> Iterator[tuple[str, Label, JointSample]]:
    """The name of each column of groups, with every group and its sample."""
    for place, (name, joint) in enumerate(zip(columns.by, joints, strict=False)):
        for part in joint.slices(by_column(place), f"by[{name!r}]"):
            yield (name, *part)


def _models(
    rows: Lazy,
    columns: Columns,
    problem: Problem,
    facts: Facts,
    from_prior: FloatArray,
    singles: Collection[str],
    exact: bool,
) -> list[LazyModel]:
    prior = problem.prior_or(facts.shares)
    moving = (from_prior, prior) if is_movable(from_prior, prior) else None
    models = []
    for place, (name, predictions) in enumerate(columns.models.items()):
        moves = moving if isinstance(predictions, Posteriors) else None
        model = LazyModel(
            place,
            name,
            predictions,
            problem,
            moves,
            facts.off_sums.get(place),
            facts.weighted or facts.copied,
            exact,
            single=name in singles,
        )
        # Only a class of prior 0 can make the new posteriors 0/0; checking takes a pass.
        stuck = moves is not None and not prior.all() and model.is_stuck(rows)
        models.append(replace(model, moving=None, stuck=True) if stuck else model)
    return models


def _rules(
    models: Sequence[LazyModel], fits: EngineFits, problem: Problem
) -> dict[str, DecisionRule]:
    """The decision rules of all models by the names of their systems."""
    rules = [rule for model in models for rule in fits.rules(model)]
    if not rules and fits.unfitted is not None:
        raise InputError(
            f"models must allow at least one decision rule: raw scores allow none for "
            f"{problem.n_decisions} decisions unless they are recalibrated. {fits.unfitted}"
        )
    return rules_by_system(rules, problem)


NARROW = 0.01  # a share of an interval that is worth a sentence
MOVED_LIMITS = (
    "What other limits would make best was left out: prices are fitted again for each, which needs "
    "the rows in memory. Evaluate a sample of them, or evaluate again with other limits."
)


def _lost_of_all(joint: Joint) -> Iterator[Caveat]:
    """Caveats about other limits, and about the spread of costs within groups of rows."""
    if joint.problem.limits:
        yield Caveat(LEFT_OUT, MOVED_LIMITS)
    wide = widest(joint.problem, joint.sums) if joint.problem.columns else 0.0
    if wide > 0:
        text = (
            f"The costs of single rows stay in the engine. Sums and means of costs are exact; "
            f"intervals come from {len(joint.cells):,} groups of rows, within which terms of the "
            f"costs differ by at most {number(wide)} of the largest."
        )
        if (share := narrowed(joint.problem, joint.sums)) > NARROW:
            text += (
                f" An interval for the cost of a class in which all pay such a term may be too "
                f"narrow, by {100 * share:.2g} % at most: subtract what these costs share."
            )
        yield Caveat(LEFT_OUT, text)
