"""What limits mean for a system, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator

from stakes._text import number, percent, plain
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.running_costs import Operation
from stakes.limits import LimitCheck
from stakes.problem import Problem
from stakes.report import System


def limit_sentences(system: System, evidence: Evidence, level: float) -> list[str]:
    """How a system meets every limit, and what a slightly looser limit would save."""
    sentences = []
    for check in system.limits:
        sentences.append(_stands(check, level))
        sentences += _worth(check, evidence.problem, evidence.operation)
    priced = any(check.price for check in system.limits)
    sentences += _exchange(system, evidence) if priced else []
    return sentences


def _stands(check: LimitCheck, level: float) -> str:
    value, low, high = check.interval
    bound = f"{'at most' if check.limit.sign > 0 else 'at least'} {percent(check.limit.bound)}"
    share = f"It decides {check.limit.decision} for {value} of {check.limit.base}"
    interval = f" ({percent(level)} interval {low.removesuffix(' %')} to {high})"
    broken = ", which it clearly breaks" if check.breaks else ""
    return f"{share}{interval if low != high else ''}; the limit is {bound}{broken}."


def _worth(check: LimitCheck, problem: Problem, operation: Operation) -> Iterator[str]:
    """What a looser limit would save."""
    if not check.price:
        return
    unit, limit = problem.unit, check.limit
    if limit.given is None:
        more = f"One more {limit.decision}" if limit.sign > 0 else f"One {limit.decision} fewer"
        sentence = f"{more} saves {_price(check.price, unit)}, at the margin"
    else:
        looser = (
            f"A limit on {limit.decision} for {limit.given} that is one percentage point looser"
        )
        sentence = f"{looser} saves {_price(0.01 * check.price, unit)} per case, at the margin"
    if check.total is not None and operation.volume is not None:
        a_period = f" a {operation.period}" if operation.period else ""
        about = float(f"{check.total:.3g}")  # no more digits than the word "about" allows
        total = f"{number(about, 3)}{f' {unit}' if unit else ''}{a_period}"
        cases = f"one percentage point, {number(0.01 * operation.volume, 4)} cases{a_period}, "
        sentence += f"; {cases if limit.given is None else 'that '}is worth about {total}"
    yield f"{sentence}."


def _price(value: float, unit: str | None) -> str:
    """A price with its unit, to three digits: it is an estimate."""
    return f"{plain(value, 3)} {unit}" if unit else plain(value, 3)


def _exchange(system: System, evidence: Evidence) -> list[str]:
    """For two decisions about two classes, what the limit makes a miss worth in false alarms."""
    rule, problem = evidence.rules[system.name], evidence.problem
    if rule.added is None or rule.threshold is None or not 0 < rule.threshold < 1:
        return []
    # At a threshold t, a miss counts as much as (1 − t) / t false alarms.
    worth = (1 - rule.threshold) / rule.threshold
    free = (1 - problem.threshold) / problem.threshold
    decision, label = problem.decisions[0], problem.classes[1]
    return [
        f"Under the limits, {decision} for {label} counts {number(worth, 3)} times as much as "
        f"{problem.decisions[1]} for {problem.classes[0]}; by the costs alone, "
        f"{number(free, 3)} times."
    ]
