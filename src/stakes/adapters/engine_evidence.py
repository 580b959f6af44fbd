"""The evidence of a report from a lazy frame: its engine makes the tallies, and only they leave it.

The numbers are those that `stakes.evaluation.tally_rows` computes from arrays. Score tables of two
classes may be in bins; measures of ranks then have an error, which is bounded, and zero where every
bin holds a single score. Counts, costs and proper scores are exact.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import narwhals.stable.v2 as nw

from stakes import _check
from stakes._check import FloatArray, Label
from stakes._text import number
from stakes.adapters.case_costs import cost_checks, narrowed, pooled_terms, widest, with_costs
from stakes.adapters.columns import Columns
from stakes.adapters.engine_fits import EngineFits
from stakes.adapters.engine_work import Passes
from stakes.adapters.joint_decisions import Joint, PairBins, coverages, joint_decisions
from stakes.adapters.lazy import (
    CLUSTER,
    WEIGHT,
    Facts,
    by_column,
    data_column,
    facts_of,
    prepared,
)
from stakes.adapters.lazy_models import LazyModel
from stakes.adapters.refits import why_none
from stakes.adapters.sources import Lazy
from stakes.adapters.streamed_scores import EXACT_BYTES
from stakes.calibration import Calibrator
from stakes.errors import InputError
from stakes.evaluation import (
    ColumnRank,
    DecisionRule,
    Evidence,
    JointSample,
    PairsOf,
    column_ranks,
    is_movable,
    refuse_unknown,
    rules_by_system,
)
from stakes.problem import Problem
from stakes.ranking import auc
from stakes.report import LEFT_OUT, Caveat, DecisionSource, PairCounts
from stakes.rows import Decisions, Posteriors, Scores


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
