"""Checks that the parts of a report which was read from text fit together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from stakes.errors import InputError
from stakes.report._checked_numbers import number_faults
from stakes.report._joint_bins import DecisionSource, PairCounts
from stakes.report._report import Report, System


def refuse_inconsistent(report: Report) -> None:
    """Refuse a report whose parts speak of different problems, systems or models.

    Parameters
    ----------
    report : a report that was read from JSON

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> report = evaluate([0, 1] * 50, [0.1, 0.8] * 50, problem, calibrator=None, replicates=20)
    >>> refuse_inconsistent(report)  # nothing to refuse
    """
    every = _faults, _system_faults, _model_faults, _table_faults, _joint_faults, number_faults
    for checks in every:
        for fault in checks(report):
            raise InputError(f"{fault}.")


def _faults(report: Report) -> Iterator[str]:
    """Names of systems, models and decisions that the report does not hold."""
    names = [system.name for system in report.systems]
    if not names or len(set(names)) < len(names):
        yield "systems must be one or more, with a name of its own each"
    yield from _unknown("rules", report.rules, names)
    models = [entry.model for entry in report.models]
    yield from _unknown("systems", [system.model for system in report.systems], models)
    verdict = report.verdict
    if verdict.deploy is not None:
        yield from _unknown("verdict.deploy", [verdict.deploy.name], names)
        yield from _unknown("verdict.deploy", [verdict.deploy.model], models)
    named = [*verdict.contenders, verdict.cheapest, verdict.runner_up]
    yield from _unknown("verdict", named, [*names, *_constants(report)])
    blind_rule = [] if report.no_model is None else [report.no_model.name]
    yield from _unknown("verdict.unaided", [verdict.unaided], [*blind_rule, *_constants(report)])
    for group in report.slices:
        yield from _unknown("slices", [entry.system for entry in group.costs], names)
    blind = report.naive
    yield from _unknown("naive", [blind.decision, *blind.tied], report.problem.decisions)
    for prior in (report.assumptions.prior, report.assumptions.posterior_prior):
        if len(prior) != report.problem.n_classes:
            yield "assumptions.prior must have a share for each class"
        elif min(prior) < 0 or abs(sum(prior) - 1) > 1e-6:
            yield "assumptions.prior must hold shares that add up to one"
    for name, rule in report.rules.items() if not report.problem.columns else ():
        if not np.array_equal(rule.problem.costs, report.problem.costs):
            yield f"rules must have the costs of the problem; that of {name!r} has others"


def _constants(report: Report) -> list[str]:
    return [f"always {decision}" for decision in report.problem.decisions]


def _unknown(where: str, named: Iterable[Any], known: Iterable[Any]) -> Iterator[str]:
    strange = [name for name in named if name is not None and name not in set(known)]
    if strange:
        yield f"{where} must name what the report holds; {strange[0]!r} is unknown"


def _system_faults(report: Report) -> Iterator[str]:
    """Counts and sums whose rows are not the classes, or whose columns are not the decisions."""
    problem = report.problem
    shape = (problem.n_classes, problem.n_decisions)
    extra = report.no_model, report.verdict.deploy
    for system in [
        *report.systems,
        *(system_or_none for system_or_none in extra if system_or_none is not None),
    ]:
        for name, array, wanted in _arrays(system, shape, problem):
            if array is not None and array.shape != wanted:
                yield f"{name} of {system.name!r} must have shape {wanted}, not {array.shape}"
        labels = system.counts.classes, system.counts.decisions
        if labels != (problem.classes, problem.decisions):
            yield f"counts of {system.name!r} must have the labels of the problem"


def _arrays(system: System, shape: tuple[int, int], problem: Any) -> Iterator[tuple[str, Any, Any]]:
    yield "counts", system.counts.values, shape
    yield "spent", system.spent, shape
    if system.sums is not None:
        yield "sums", system.sums, (*shape, len(problem.terms.names))


def _model_faults(report: Report) -> Iterator[str]:
    for model in report.models:
        by = model.by_threshold
        if by is not None and (
            by.thresholds.ndim != 1
            or by.sums.shape != (by.thresholds.size - 1, 2, len(by.terms))
            or not by.terms
        ):
            yield f"by_threshold of {model.model!r} must have sums for each of its thresholds"


def _table_faults(report: Report) -> Iterator[str]:
    disagreement = report.disagreement
    if disagreement is not None:
        models, both = (
            (len(disagreement.models),),
            (len(disagreement.metrics), len(disagreement.models)),
        )
        shapes = (
            disagreement.costs.shape,
            disagreement.best.shape,
            disagreement.values.shape,
            disagreement.picks.shape,
        )
        if shapes != (models, models, both, both) or not disagreement.models:
            yield "disagreement must have a number for each metric and each model"
    metrics = () if disagreement is None else disagreement.metrics
    yield from _unknown("picks", [pick.metric for pick in report.picks], metrics)
    for regions in report.regions:
        ends = [(part.low, part.high) for part in regions.parts]
        if any(low > high for low, high in ends) or any(
            first[1] != second[0] for first, second in pairwise(ends)
        ):
            yield "regions must have parts that begin where the last one ends"
        for part in regions.parts:
            yield from _unknown("regions", part.cheapest, regions.models)


def _joint_faults(report: Report) -> Iterator[str]:
    """Sources decide by what the report holds; pairs and covariances are as many as there are."""
    joint = report.joint
    if joint is None:
        return
    names = [system.name for system in report.systems]
    yield from _unknown("joint.sources", [source.system for source in joint.sources], names)
    for source in joint.sources:
        yield from _source_faults(source, report)
    pairs = list(combinations([_n_bins(source, report) for source in joint.sources], 2))
    if len(joint.pairs) != len(pairs):
        yield f"joint.pairs must be {len(pairs)}, one for each pair of joint.sources"
    for pair, (first, second) in zip(joint.pairs, pairs, strict=False):
        yield from _pair_faults(pair, report.problem.n_classes * first * second)
    shape = (len(names), len(names))
    if joint.fitting.shape != shape or not np.isfinite(joint.fitting).all():
        yield f"joint.fitting must hold finite covariances of the systems, of shape {shape}"


def _n_bins(source: DecisionSource, report: Report) -> int:
    return source.ends.size or report.problem.n_decisions


def _source_faults(source: DecisionSource, report: Report) -> Iterator[str]:
    """Bins end at scores of the table that the source decides by; mere decisions have none."""
    models = [model for model in report.models if model.model == source.model]
    yield from _unknown("joint.sources", [source.model], [model.model for model in models])
    tables = [m.recalibrated if source.recalibrated else m.table for m in models]
    size = next((table.scores.size for table in tables if table is not None), 0)
    stops = source.ends
    if source.system is not None and stops.size:
        yield "joint.sources must have no bins where they name a system, whose decisions stay"
    if source.system is None and (
        stops.ndim != 1
        or not stops.size
        or stops[-1] != size
        or (np.diff(stops, prepend=0) <= 0).any()
    ):
        yield f"joint.sources must have bins whose ends grow up to the {size} scores of the model"


def _pair_faults(pair: PairCounts, size: int) -> Iterator[str]:
    places, weights = pair.places, pair.weights
    if places.ndim != 1 or places.shape != weights.shape:
        yield "joint.pairs must have a weight for each of its places"
    elif ((places < 0) | (places >= size)).any() or np.unique(places).size < places.size:
        yield f"joint.pairs must have places from 0 to {size - 1}, each once"
    elif not (np.isfinite(weights) & (weights >= 0)).all():
        yield "joint.pairs must have weights that are finite and not negative"
