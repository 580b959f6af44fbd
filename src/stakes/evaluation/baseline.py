"""The incumbent: what every system is compared with, one pair at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from math import hypot
from typing import NamedTuple

import numpy as np

from stakes import _text
from stakes._value import record
from stakes.errors import InputError
from stakes.evaluation.decision_rules import DecisionRule, may_name
from stakes.evaluation.evidence import Evidence
from stakes.inference import Measured, SampledCosts
from stakes.problem import Problem, cell_text
from stakes.report import Baseline, Report, System

_PAIRED = (
    "Differences are costs less that of {name}, on the same cases. Each interval is for its own "
    "pair, not adjusted for the number of systems: another model would not change it."
)
_UNPAIRED = (
    "Differences are costs less that of {name} in an earlier report, on other cases: they are "
    "unpaired, and less certain than those on the same cases would be. Each interval is for its "
    "own pair, not adjusted for the number of systems."
)


class Allowance(NamedTuple):
    """The margin of "no worse": an amount per case above the baseline, or a share of its cost."""

    value: float
    relative: bool


@record
class Incumbent:
    """A baseline that was named and exists: a system of these cases, or of an earlier report."""

    system: str
    margin: Allowance
    report: Report | None = None  # the earlier one


def refuse_stranger(baseline: object, models: Collection[str]) -> None:
    """Refuse a baseline that is no report, and names no model and no system of one."""
    if baseline is None or isinstance(baseline, Report) or may_name(baseline, models):
        return
    got = repr(baseline) if isinstance(baseline, str) else type(baseline).__name__
    raise InputError(
        f"baseline must be the name of a model or of a system, or an earlier report; got {got}. "
        f"Write one of the models {', '.join(map(repr, models))}, or a system: a model with its "
        f"rule, as in '{next(iter(models))} (as is)'."
    )


def read_incumbent(
    baseline: object,
    margin: object,
    evidence: Evidence,
    level: float,
) -> Incumbent | None:
    """Check the baseline and its margin; None where no baseline is named.

    What names no model was refused before.
    """
    rules = evidence.rules
    if baseline is None:
        if margin is not None:
            raise InputError(
                f"margin must come with a baseline; got {margin!r} alone. Name the baseline, too."
            )
        return None
    allowed = read_margin(margin)
    if isinstance(baseline, Report):
        return Incumbent(_deployed(baseline, evidence.problem, level), allowed, baseline)
    # The name of a system wins over that of a model; of a model, the simplest rule is taken.
    matches = [name for name, rule in rules.items() if baseline in (name, rule.model)]
    exact = [name for name in matches if name == baseline]
    plain = [name for name in matches if rules[name].eligible]  # the simplest rule comes first
    if not matches:
        texts = (caveat.text for caveat in evidence.left_out)
        why = " ".join(text for text in texts if text.startswith(f"{baseline}: "))
        others = f"The systems are {', '.join(map(repr, rules))}."
        raise InputError(
            f"baseline must be a system of this report, or a model that has one; {baseline!r} is "
            f"none here. {why or others}"
        )
    return Incumbent((exact or plain or matches)[0], allowed)


def read_margin(margin: object) -> Allowance:
    """The margin: an amount per case, or text such as "2%" for a share of the baseline's cost.

    >>> read_margin("2%"), read_margin(0.5), read_margin(None)
    (Allowance(value=0.02, relative=True), Allowance(value=0.5, relative=False), \
Allowance(value=0.0, relative=False))
    """
    text = margin.strip() if isinstance(margin, str) else ""
    relative = text.endswith("%")
    try:
        value = float(text.removesuffix("%")) if text else 0.0 if margin is None else margin
    except ValueError:
        value = np.nan
    if not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise InputError(
            f"margin must be an amount per case, or a share of what the baseline costs such as "
            f"'2%', and not below zero; got {margin!r}. Leave it out for none."
        )
    return Allowance(float(value) / 100 if relative else float(value), relative)


def compared(
    systems: tuple[System, ...],
    costs: SampledCosts,
    incumbent: Incumbent | None,
    rules: Mapping[str, DecisionRule],
) -> tuple[Baseline | None, tuple[System, ...]]:
    """The baseline, if there is one, and the systems with their differences to it."""
    if incumbent is None:
        return None, systems
    earlier, name, margin = incumbent.report, incumbent.system, incumbent.margin
    if earlier is None:
        rule = rules[name]
        cost, model, rule_name = costs.cost(name), rule.model, rule.name
    else:
        old = earlier.system(name)
        # The cost of the verdict is corrected for the choice on the cases of the earlier report.
        chosen = name == earlier.verdict.cheapest
        cost, model, rule_name = earlier.verdict.cost if chosen else old.cost, old.model, old.rule
    if margin.relative and not cost.value > 0:
        raise InputError(
            f"margin must be an amount per case, because {name} costs {cost.value:.4g} per case, "
            f"and a share of that is no margin. Write a number, such as 0.1."
        )
    known = Baseline(
        system=name,
        model=model,
        rule=rule_name,
        cost=cost,
        paired=earlier is None,
        margin=margin.value,
        relative=margin.relative,
        sentences=_sentences(name, margin, earlier),
    )
    return known, tuple(_with_differences(system, known, costs) for system in systems)


def unpaired(first: Measured, second: Measured, factor: float = 1.0) -> Measured:
    r"""A cost on some cases less a factor times a cost on other cases, from their two intervals.

    The bounds of independent intervals are combined by their distances from the estimates (Zou and
    Donner 2008): the lower bound is
    :math:`x - f y - \sqrt{(x - l_x)^2 + f^2 (u_y - y)^2}`, the upper one its mirror image.

    >>> unpaired(Measured(5.0, 2.0, 9.0), Measured(3.0, 1.0, 7.0))
    Measured(value=2.0, low=-3.0, high=6.472135954999579)
    """
    value = first.value - factor * second.value
    low = value - hypot(first.value - first.low, factor * (second.high - second.value))
    high = value + hypot(first.high - first.value, factor * (second.value - second.low))
    return Measured(value, low, high)


def problem_differences(old: Problem, new: Problem) -> tuple[str, ...]:
    """Why costs under two problems cannot be compared, in words; empty where they can."""
    parts = ("classes", "decisions", "unit")
    differences = [
        f"{name}: {getattr(old, name)} before, {getattr(new, name)} now"
        for name in parts
        if getattr(old, name) != getattr(new, name)
    ]
    if not differences and old.written != new.written:
        cells = [
            f"cost of {decision} for {label}: {cell_text(was)} before, {cell_text(now)} now"
            for label, row, new_row in zip(old.classes, old.written, new.written, strict=True)
            for decision, was, now in zip(old.decisions, row, new_row, strict=True)
            if was != now
        ]
        differences += cells
    shares = [None if part.prior is None else part.prior.tolist() for part in (old, new)]
    if shares[0] != shares[1]:
        texts = ["shares of the cases" if part is None else str(part) for part in shares]
        differences.append(f"prior: {texts[0]} before, {texts[1]} now")
    if set(old.limits) != set(new.limits):
        texts = ["; ".join(map(str, part.limits)) or "none" for part in (old, new)]
        differences.append(f"limits: {texts[0]} before, {texts[1]} now")
    return tuple(differences)


def _deployed(earlier: Report, problem: Problem, level: float) -> str:
    """The system that an earlier report deploys; reports that cannot be compared are refused."""
    differ = problem_differences(earlier.problem, problem)
    if differ:
        raise InputError(
            f"baseline must be a report about the same problem; they differ in {len(differ)} "
            f"things, the first being {differ[0]}. Evaluate the old predictions under it."
        )
    if earlier.assumptions.level != level:
        raise InputError(
            f"baseline must be a report with intervals of the same level; its level is "
            f"{earlier.assumptions.level:g}, and {level:g} was asked for.",
            remedy=f"Pass level={earlier.assumptions.level:g}.",
        )
    known = [system.name for system in earlier.systems]
    name = earlier.verdict.cheapest or earlier.verdict.keep
    if name is None or name not in known:
        raise InputError(
            f"baseline must be a report that deploys a system; this one deploys none. "
            f"{earlier.verdict.reason} Name a system of these cases instead."
        )
    return name


def _with_differences(system: System, baseline: Baseline, costs: SampledCosts) -> System:
    if baseline.paired and system.name == baseline.system:  # it is zero, whatever the cases
        left, cost = -baseline.margin * baseline.relative, baseline.cost
        amount = 0.0 if baseline.relative else baseline.margin
        # What is left is not positive, so that the higher bound gives the lower one here.
        bounds = (cost.value, cost.high, cost.low)
        beyond = Measured(*(left * bound - amount for bound in bounds))
        return system._but(difference=Measured(0.0, 0.0, 0.0), beyond_margin=beyond)
    plain, beyond = _differences(system.cost, baseline, partial(costs.difference, system.name))
    return system._but(difference=plain, beyond_margin=beyond)


def chosen_differences(
    name: str, cost: Measured, baseline: Baseline, costs: SampledCosts
) -> tuple[Measured, Measured]:
    """What the chosen system is expected to cost less the baseline, and beyond the margin.

    Both are corrected for its choice on these cases; `cost` is what it is expected to cost.
    """
    return _differences(cost, baseline, partial(costs.expected_difference, name))


def _differences(
    cost: Measured, baseline: Baseline, paired: Callable[[str, float], Measured]
) -> tuple[Measured, Measured]:
    """A cost less that of the baseline, and less that and the margin."""
    factor = 1 + baseline.margin * baseline.relative

    def less(factor: float) -> Measured:
        if baseline.paired:
            return paired(baseline.system, factor)
        return unpaired(cost, baseline.cost, factor)

    plain = less(1.0)
    beyond = plain if factor == 1 else less(factor)
    amount = 0.0 if baseline.relative else baseline.margin
    return plain, Measured(beyond.value - amount, beyond.low - amount, beyond.high - amount)


def _sentences(name: str, margin: Allowance, earlier: Report | None) -> tuple[str, ...]:
    text = (_PAIRED if earlier is None else _UNPAIRED).format(name=name)
    if not margin.value:
        return (text,)
    if margin.relative:
        return (
            text,
            f"No worse: clearly at most {_text.percent(margin.value)} costlier than {name}.",
        )
    amount = _text.prose(margin.value)
    return (text, f"No worse: clearly at most {amount} per case costlier than {name}.")
