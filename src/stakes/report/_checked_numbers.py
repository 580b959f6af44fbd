"""Checks that the numbers of a report which was read from text do not contradict each other.

What can be worked out again from other numbers of the report must come out as it says, up to
rounding. Somebody who changes all of them alike is not noticed: that takes a signature.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from stakes._value import Value
from stakes.inference import Measured
from stakes.limits import LimitCheck
from stakes.ranking import auc
from stakes.report._report import Report, System

_CLOSE = 1e-6  # how far a number that is worked out again may be off, relative to its size

#: Fields that hold a share, a number of things or the like: the least and the largest value.
RANGES: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("level", "probability_cheapest", "holds"), (0, 1)),
    **dict.fromkeys(("n_cases", "n_rows", "clusters", "replicates", "draws"), (0, math.inf)),
    **dict.fromkeys(("n_scores", "n_recalibrated", "margin", "volume"), (0, math.inf)),
}


def number_faults(report: Report) -> Iterator[str]:
    """Everything that contradicts itself."""
    for checks in (_ranges, _costs, _blind, _verdict, _rules, _qualities):
        yield from checks(report)


def _ranges(report: Report) -> Iterator[str]:
    assumptions = report.assumptions
    if not (0 < assumptions.level < 1 and 0 < assumptions.n_cases < math.inf):
        yield "assumptions must have a level between 0 and 1, and cases"
    if not 0 < assumptions.n_rows < math.inf:
        yield f"assumptions.n_rows must be one or more, not {assumptions.n_rows}"
    for where, name, value in _parts(report, "report"):
        low, high = RANGES.get(name, (-math.inf, math.inf))
        if isinstance(value, int | float) and (value < low or value > high):
            limits = f"between {low:g} and {high:g}" if high < math.inf else "zero or more"
            yield f"{where} must be {limits}, not {value:g}"
        if isinstance(value, Measured | LimitCheck) and (
            value.low > value.value or value.value > value.high
        ):
            yield f"{where} must lie in its interval; {value.value:g} is not in " + (
                f"[{value.low:g}, {value.high:g}]"
            )


def _parts(value: Any, where: str) -> Iterator[tuple[str, str, Any]]:
    """Every part of a value: where it is, the name of its field, and the part itself."""
    if isinstance(value, tuple):
        for place, part in enumerate(value):
            yield from _parts(part, f"{where}[{place}]")
    if not isinstance(value, Value) or not is_dataclass(value):
        return
    for field in fields(value):
        part, at = getattr(value, field.name), f"{where}.{field.name}"
        yield at, field.name, part
        yield from _parts(part, at)


def _costs(report: Report) -> Iterator[str]:
    """Costs are counts times costs; what is normalised, or of a volume, is the same costs."""
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
        if _differ(cost - perfect, share, size + abs(naive) + abs(perfect)):
            yield f"normalized of {name} must be its cost in units of naive.cost"
        if (
            system.total is not None
            and volume is not None
            and _differ(system.total.value, cost * volume, size * volume)
        ):
            yield f"total of {name} must be its cost times the volume"


def _size(report: Report, system: System) -> float:
    """The size of the numbers that a cost is a sum of."""
    sums = report.problem.costs if system.spent is None else system.spent
    return float(np.abs(sums).max(initial=0.0)) + abs(system.running_cost)


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
    named = (None, None) if deploy is None else (deploy.name, deploy.model)
    if (verdict.cheapest, verdict.model) != named:
        yield "verdict.cheapest and verdict.model must be those of verdict.deploy"
    if deploy is not None:
        if deploy not in report.systems:
            yield f"verdict.deploy must be one of the systems; {deploy.name!r} differs from it"
        if verdict.contenders and verdict.contenders[0] != deploy.name:
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
    """Rules are those of the systems, made of the same rows."""
    assumptions, systems = report.assumptions, {system.name: system for system in report.systems}
    for name, rule in report.rules.items():
        if rule.system != name:
            yield f"rules must be named after their systems; {name!r} is that of {rule.system!r}"
        threshold = systems[name].threshold
        if rule.threshold is not None and rule.threshold != threshold:
            yield f"rules must have the thresholds of their systems; that of {name!r} is another"
        origin = rule.origin
        if origin is None:
            continue
        stated = (origin.n_rows, origin.n_cases, origin.seed, origin.version)
        if stated != (
            *(assumptions.n_rows, assumptions.n_cases, assumptions.seed, assumptions.version),
        ):
            yield f"rules must be made of the rows of the report; the origin of {name!r} differs"


def _qualities(report: Report) -> Iterator[str]:
    """Areas under curves are shares, and those of the tables that the report holds."""
    for model in report.models:
        area, table = model.auc, model.table
        if area is not None and not (0 <= area.value <= 1 or math.isnan(area.value)):
            yield f"auc of {model.model!r} must lie between 0 and 1"
        for scores, number in ((table, model.n_scores), (model.recalibrated, model.n_recalibrated)):
            if scores is not None and number is not None and number < scores.scores.size:
                yield f"models must have as many scores as their tables; {model.model!r} has fewer"
        is_whole = table is not None and model.n_scores == table.scores.size
        if area is None or table is None or not is_whole:
            continue
        if _differ(area.value, float(auc(table))):
            yield f"auc of {model.model!r} must be that of its scores"
