"""Checks that a report which was read from text is consistent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import fields
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from stakes._text import always
from stakes._value import Value
from stakes.errors import InputError
from stakes.inference import Measured
from stakes.limits import LimitCheck
from stakes.ranking import auc
from stakes.report._report import Report
from stakes.report._systems import CORRECTED, OWN_COLUMN, DecisionSource, PairCounts, System
from stakes.rule import Rule

_CLOSE = 1e-6  # relative tolerance for numbers that are computed again
_ROUNDING = 1e-12  # of the largest cost, or of 1: by how much a number may lie beside its interval
_TOTALS = ("total", "total_cost", "total_saving")  # costs of all cases of the volume

#: Fields that hold a share, a number of things or the like: the least and the largest value.
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("level", "probability_cheapest", "holds"), (0, 1)),
    **dict.fromkeys(("n_cases", "n_rows", "clusters", "replicates", "draws"), (0, math.inf)),
    **dict.fromkeys(("n_scores", "n_recalibrated", "margin", "volume"), (0, math.inf)),
}


def _ranges(report: Report) -> Iterator[str]:
    assumptions = report.assumptions
    if not (0 < assumptions.level < 1 and 0 < assumptions.n_cases < math.inf):
        yield "assumptions must have a level between 0 and 1, and cases"
    if not 0 < assumptions.n_rows < math.inf:
        yield f"assumptions.n_rows must be one or more, not {assumptions.n_rows}"
    most = max((_size(report, system) for system in report.systems), default=0.0)
    units = {"normalized": 1.0, **dict.fromkeys(_TOTALS, most * (assumptions.volume or 1.0))}
    for where, name, value in _parts(report, "report"):
        low, high = RANGES.get(name, (-math.inf, math.inf))
        if isinstance(value, int | float) and (value < low - _ROUNDING or value > high + _ROUNDING):
            limits = f"between {low:g} and {high:g}" if high < math.inf else "zero or more"
            yield f"{where} must be {limits}, not {value:g}"
        slack = _ROUNDING * units.get(name, most)
        if isinstance(value, Measured | LimitCheck) and (
            value.low > value.value + slack or value.value > value.high + slack
        ):
            yield f"{where} must lie in its interval; {value.value:g} is not in " + (
                f"[{value.low:g}, {value.high:g}]"
            )


def _parts(value: Any, where: str) -> Iterator[tuple[str, str, Any]]:
    """Every part of a value: where it is, the name of its field, and the part itself."""
    if isinstance(value, tuple):
        for place, part in enumerate(value):
            yield from _parts(part, f"{where}[{place}]")
    if not isinstance(value, Value):
        return
    for field in fields(value):
        part, at = getattr(value, field.name), f"{where}.{field.name}"
        yield at, field.name, part
        yield from _parts(part, at)


def _costs(report: Report) -> Iterator[str]:
    """Costs must follow from counts; normalised costs and totals must follow from costs."""
    naive, perfect = report.naive.cost, report.perfect_cost
    volume = report.assumptions.volume
    for system in [*report.systems, *([report.no_model] if report.no_model else [])]:
        cost, name = system.cost.value, repr(system.name)
        if _differ(system.counts.values.sum(), report.assumptions.n_cases):
            yield f"counts of {name} must add up to assumptions.n_cases"
        size = _size(report, system)
        if not math.isfinite(system.running_cost):
            yield "running_cost must be finite"
        if _differ(cost, _counted_cost(report, system), size):
            yield f"the cost of {name} must be that of its counts"
        share = system.normalized.value * (naive - perfect)
        # Where perfect decisions cost nearly as much, most digits of the difference are rounding.
        lost = 1 + 1e-15 / _CLOSE * abs(system.normalized.value)
        if _differ(cost - perfect, share, size + lost * (abs(naive) + abs(perfect))):
            yield f"normalized of {name} must be its cost in units of naive.cost"
        if (
            system.total is not None
            and volume is not None
            and _differ(system.total.value, cost * volume, size * volume)
        ):
            yield f"total of {name} must be its cost times the volume"


def _size(report: Report, system: System) -> float:
    """The magnitude of the numbers whose sum a cost is.

    Costs of single cases may cancel in their sum, but not in the width of its interval.
    """
    sums = report.problem.costs if system.spent is None else system.spent
    width = system.cost.high - system.cost.low
    spread = width if system.spent is not None and math.isfinite(width) else 0.0
    return float(np.abs(sums).max(initial=0.0)) + abs(system.running_cost) + spread


def _counted_cost(report: Report, system: System) -> float:
    """Cost per case under the prior of the report, from counts or from what was charged."""
    cases = system.counts.values
    charged = cases * report.problem.costs if system.spent is None else system.spent
    prior, of_class = np.array(report.assumptions.prior), cases.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = charged.sum(axis=1) / of_class
    return float(np.where(prior > 0, prior * means, 0.0).sum()) + system.running_cost


def _differ(stated: float, computed: float, size: float = 0.0) -> bool:
    """Whether two defined numbers are not the same up to rounding."""
    if not (math.isfinite(stated) and math.isfinite(computed)):
        return False
    return abs(stated - computed) > _CLOSE * max(abs(stated), abs(computed), size)


def _blind(report: Report) -> Iterator[str]:
    """What the best constant decision and perfect decisions cost."""
    problem = report.problem
    if problem.columns:
        return
    costs, prior = problem.costs, np.array(report.assumptions.prior)
    size = float(np.abs(costs).max(initial=0.0))
    constant = prior @ costs
    if _differ(report.naive.cost, float(constant.min()), size):
        yield "naive.cost must be that of the cheapest constant decision"
    for decision in (report.naive.decision, *report.naive.tied):
        if _differ(float(constant[problem.decisions.index(decision)]), float(constant.min()), size):
            yield f"naive must name the cheapest constant decision; {decision!r} costs more"
    if _differ(report.perfect_cost, float(prior @ costs.min(axis=1)), size):
        yield "perfect_cost must be that of the cheapest decision for each class"


def _verdict(report: Report) -> Iterator[str]:
    verdict, baseline = report.verdict, report.baseline
    deploy = verdict.deploy
    if deploy is not None and (verdict.cheapest, verdict.model) != (deploy.name, deploy.model):
        yield "verdict.cheapest and verdict.model must be those of verdict.deploy"
    if (verdict.kind == "try") != (verdict.doubt is not None):
        yield "verdict.doubt must be stated of a system to try, and of no other"
    if verdict.keep is not None and (baseline is None or verdict.cheapest is not None):
        yield "verdict.keep must be the baseline of a report that names no other system"
    if deploy is not None and deploy not in report.systems:
        yield f"verdict.deploy must be one of the systems; {deploy.name!r} differs from it"
    if verdict.contenders and verdict.contenders[0] != verdict.cheapest:
        yield "verdict.contenders must begin with verdict.cheapest"
    if baseline is None or not baseline.paired:
        return
    for system in report.systems:
        if system.name == baseline.system and system.cost != baseline.cost:
            yield "baseline.cost must be that of its system"
        if system.difference is not None and _differ(
            system.difference.value, system.cost.value - baseline.cost.value, _size(report, system)
        ):
            yield f"difference of {system.name!r} must be its cost less that of the baseline"


def _rules(report: Report) -> Iterator[str]:
    """Rules must be those of the systems, made from the same rows."""
    assumptions, systems = report.assumptions, {system.name: system for system in report.systems}
    for name, rule in report.rules.items():
        if rule.system != name:
            yield f"rules must be named after their systems; {name!r} is that of {rule.system!r}"
        threshold = systems[name].threshold
        if rule.threshold is not None and rule.threshold != threshold:
            yield f"rules must have the thresholds of their systems; that of {name!r} is another"
        if systems[name].scale == OWN_COLUMN and not _cut_alike(systems[name], rule):
            yield f"rules must have the cuts of their systems; those of {name!r} are others"
        origin = rule.origin
        if origin is None:
            continue
        same = ("n_rows", "n_cases", "seed", "version")
        if any(getattr(origin, name) != getattr(assumptions, name) for name in same):
            yield f"rules must be made of the rows of the report; the origin of {name!r} differs"


def _cut_alike(system: System, rule: Rule) -> bool:
    """Whether a rule cuts the column of its model where its system says."""
    if rule.threshold is not None:
        return True  # compared before, to the last digit
    known = [] if rule.cuts is None else rule.cuts.at.tolist()
    finite = [cut for cut in system.changes if math.isfinite(cut)]
    return all(any(not _differ(cut, other) for other in known) for cut in finite)


def _qualities(report: Report) -> Iterator[str]:
    """Areas under curves must agree with the score tables of the report, and bins with classes."""
    for model in report.models:
        area, table = model.auc, model.table
        if area is not None and (abs(area.value - 0.5) > 0.5 + _ROUNDING):
            yield f"auc of {model.model!r} must lie between 0 and 1"
        for scores, number in ((table, model.n_scores), (model.recalibrated, model.n_recalibrated)):
            if scores is not None and number is not None and number < scores.scores.size:
                yield f"models must have as many scores as their tables; {model.model!r} has fewer"
        shape = (report.problem.n_classes, 10, 3)
        for name in ("class_bins", "recalibrated_bins"):
            bins = getattr(model, name)
            if bins is not None and not (bins.shape == shape and (bins >= 0).all()):
                yield f"{name} of {model.model!r} must hold sums of shape {shape}"
        is_whole = table is not None and model.n_scores == table.scores.size
        if area is None or table is None or not is_whole:
            continue
        if _differ(area.value, float(auc(table))):
            yield f"auc of {model.model!r} must be that of its scores"


def refuse_inconsistent(report: Report) -> None:
    """Refuse a report whose parts belong to different problems, systems or models.

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
    parts = (_faults, _system_faults, _cut_faults, _model_faults, _table_faults, _joint_faults)
    numbers = (_ranges, _costs, _blind, _verdict, _rules, _qualities)  # that contradict others
    for checks in (*parts, *numbers):
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
    yield from _unknown("verdict.model", [verdict.model], models)
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
    return list(map(always, report.problem.decisions))


def _unknown(where: str, named: Iterable[Any], known: Iterable[Any]) -> Iterator[str]:
    strange = [name for name in named if name is not None and name not in set(known)]
    if strange:
        yield f"{where} must name what the report holds; {strange[0]!r} is unknown"


def _system_faults(report: Report) -> Iterator[str]:
    """Counts and sums whose rows are not the classes, or whose columns are not the decisions."""
    problem = report.problem
    shape = (problem.n_classes, problem.n_decisions)
    for system in (*report.systems, report.no_model, report.verdict.deploy):
        if system is None:
            continue
        arrays = {"counts": system.counts.values, "spent": system.spent, "sums": system.sums}
        for name, array in arrays.items():
            wanted = (*shape, len(problem.terms.names)) if name == "sums" else shape
            if array is not None and array.shape != wanted:
                yield f"{name} of {system.name!r} must have shape {wanted}, not {array.shape}"
        labels = system.counts.classes, system.counts.decisions
        if labels != (problem.classes, problem.decisions):
            yield f"counts of {system.name!r} must have the labels of the problem"


def _cut_faults(report: Report) -> Iterator[str]:
    """Cuts without the decisions between them, or of what nobody has."""
    for system in report.systems:
        n_cuts, order = len(system.changes), system.decided
        if order and (len(order) != n_cuts + 1 or not set(order) <= set(report.problem.decisions)):
            yield f"decided of {system.name!r} must be the decisions between its cuts"
        if system.corrected and len(system.corrected) != n_cuts:
            yield f"corrected of {system.name!r} must have a probability for each cut"
        if any(low > high for low, high in pairwise(system.cuts)):
            yield f"cuts of {system.name!r} must not decrease"
        if system.scale not in (None, OWN_COLUMN, CORRECTED):
            yield f"scale of {system.name!r} must be {OWN_COLUMN!r} or {CORRECTED!r}"


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
        n_metrics, n_models = len(disagreement.metrics), len(disagreement.models)
        tables = (disagreement.costs, disagreement.best, disagreement.values, disagreement.picks)
        wanted = [(n_models,), (n_models,), (n_metrics, n_models), (n_metrics, n_models)]
        if [table.shape for table in tables] != wanted or not disagreement.models:
            yield "disagreement must have a number for each metric and each model"
    metrics = () if disagreement is None else disagreement.metrics
    if tuple(pick.metric for pick in report.picks) != tuple(metrics):
        yield "picks must be those of the metrics of the disagreement, one for each"
    for regions in report.regions:
        limits = [(part.low, part.high) for part in regions.parts]
        if any(low > high for low, high in limits) or any(
            first[1] != second[0] for first, second in pairwise(limits)
        ):
            yield "regions must have parts that begin where the last one ends"
        for part in regions.parts:
            yield from _unknown("regions", part.cheapest, regions.models)


def _joint_faults(report: Report) -> Iterator[str]:
    """Sources must refer to the report; pairs and covariances must match their number."""
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
        cases = [system.counts.values.sum() for system in report.systems]
        if all(_differ(pair.weights.sum(), number) for number in cases):
            yield "joint.pairs must have weights that add up to the cases of the systems"
    shape = (len(names), len(names))
    if joint.fitting.shape != shape or not np.isfinite(joint.fitting).all():
        yield f"joint.fitting must hold finite covariances of the systems, of shape {shape}"


def _n_bins(source: DecisionSource, report: Report) -> int:
    return source.ends.size or report.problem.n_decisions


def _source_faults(source: DecisionSource, report: Report) -> Iterator[str]:
    """Bins must end at scores of the table of the source; decisions without scores have none."""
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
