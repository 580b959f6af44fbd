"""Whether systems keep the limits once deployed, and what that means, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np

from stakes._check import FloatArray
from stakes._text import always, cases, in_unit, number, percent, prose
from stakes.errors import InputError
from stakes.evaluation.case_charges import NO_MODEL, blind_counts
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.running_costs import Operation
from stakes.inference import Clusters, cost_support, summed, support_bounds
from stakes.limits import LimitCheck
from stakes.measures import expected_cost
from stakes.problem import Limit, Problem
from stakes.report import POSTERIOR_RULES, System
from stakes.tally import Counts


def checked_limits(evidence: Evidence, level: float) -> Evidence:
    """The evidence with a check of every system; those that clearly break a limit cannot win.

    Where all of them do, all remain eligible: the verdict then says so, and recommends none.
    """
    if not evidence.problem.limits:
        return evidence
    _refuse_unpriced(evidence)
    names = [*evidence.rules, *([] if evidence.sample.charges is None else [NO_MODEL])]
    checks = {name: checks_of(name, evidence, level) for name in names}
    keeping = {name for name, rule in evidence.rules.items() if not _breaks(checks[name])}
    rules = evidence.rules
    # If every system breaks a limit, their costs are still compared: the report needs a cheapest
    # system to show, although the verdict does not recommend it.
    if any(rules[name].eligible for name in keeping):
        rules = {
            name: replace(rule, eligible=rule.eligible and name in keeping)
            for name, rule in rules.items()
        }
    return replace(evidence, rules=rules, checks=checks, unaided=_unaided(evidence, checks))


def checks_of(name: str, evidence: Evidence, level: float) -> tuple[LimitCheck, ...]:
    """How a system, or the rule without a model, meets every limit."""
    by_rule = name in evidence.rules
    return tuple(_checks(name, evidence, level) if by_rule else _of_no_model(evidence, level))


def _refuse_unpriced(evidence: Evidence) -> None:
    rules = evidence.rules.values()
    if any(rule.name in POSTERIOR_RULES and rule.added is None for rule in rules):
        raise InputError(
            "problem must have no limits where cases are tallied without their rows: prices are "
            "fitted to rows. Call stakes.evaluate with rows, or take problem.with_limits(None)."
        )


def _breaks(checks: tuple[LimitCheck, ...]) -> bool:
    return any(check.breaks for check in checks)


def _unaided(evidence: Evidence, checks: Mapping[str, tuple[LimitCheck, ...]]) -> frozenset[str]:
    """What needs no model and keeps the limits: constant decisions, and costs and prior alone."""
    problem = evidence.problem
    constant = {
        always(decision)
        for decision in problem.decisions
        if all(limit.excess(float(limit.decision == decision)) <= 0 for limit in problem.limits)
    }
    blind = {NO_MODEL} if NO_MODEL in checks and not _breaks(checks[NO_MODEL]) else set()
    return frozenset(constant | blind)


def _counted(limit: Limit, problem: Problem) -> Problem:
    """A problem whose expected cost is the share or rate of the limit."""
    row = None if limit.given is None else problem.classes.index(limit.given)
    prior: FloatArray | None = problem.prior
    if row is not None:
        prior = (np.arange(problem.n_classes) == row).astype(np.float64)
    cells = np.zeros((problem.n_classes, problem.n_decisions))
    cells[slice(None) if row is None else row, problem.decisions.index(limit.decision)] = 1.0
    return Problem(cells, classes=problem.classes, decisions=problem.decisions, prior=prior)


def _checks(name: str, evidence: Evidence, level: float) -> Iterator[LimitCheck]:
    """The share or rate of each limit at deployment, with the interval of a mean cost."""
    sample, rule = evidence.sample, evidence.rules[name]
    squares = summed(sample.design, lambda q: sample.joint.with_cell_weights(q).model(name).values)
    design = {"squares": squares, "scheme": Clusters() if sample.clusters is not None else None}
    shares = _shares(sample.joint.model(name), sample.pooled.model(name), evidence, level, design)
    volume = evidence.operation.volume
    for place, check in enumerate(shares):
        price = rule.prices[place] if rule.prices else None
        total = None if price is None or volume is None else 0.01 * volume * price
        yield replace(check, price=price, total=total, capacity=rule.capacity)


def _of_no_model(evidence: Evidence, level: float) -> Iterator[LimitCheck]:
    """Checks of the rule without a model, as if cases were independent: clusters are ignored."""
    charges, problem = evidence.sample.charges, evidence.problem
    assert charges is not None
    weights = charges.losses.weights
    counts = blind_counts(charges, problem, weights)
    squares = None
    if not evidence.sample.whole and weights is not None:
        squares = blind_counts(charges, problem, weights**2).values
    yield from _shares(counts, counts, evidence, level, {"squares": squares})


def _shares(
    counts: Counts, pooled: Counts, evidence: Evidence, level: float, design: dict[str, Any]
) -> Iterator[LimitCheck]:
    """The share or rate of each limit, with the bounds of its interval."""
    for limit in evidence.problem.limits:
        counted = _counted(limit, evidence.problem)
        value = float(expected_cost(pooled, counted))
        support = cost_support(counts, counted, **design)
        # A share is the mean of costs of zero and one, so that the interval of a mean cost serves,
        # with clusters and weights treated in the same way.
        low, high = support_bounds(support, level, value)
        yield LimitCheck(limit, value, float(low), float(high))


def unkept_rate(system: System) -> LimitCheck | None:
    """The first limit on the rate of a class that a system is not shown to keep.

    Such a limit is a promise about people or cases of a class. One on a share of all cases is a
    workload, which is planned for and not promised.
    """
    rates = (check for check in system.limits if check.limit.given is not None)
    return next((check for check in rates if not check.keeps), None)


# In plain sentences ------------------------------------------------------------------------------


def limit_sentences(system: System, evidence: Evidence, level: float, *, named: bool) -> list[str]:
    """How a system meets every limit, and what a slightly looser limit would save.

    It is `named` where the sentence before speaks of others.
    """
    sentences = []
    for place, check in enumerate(system.limits):
        sentences.append(_stands(check, level, system.name if named and not place else "It"))
        sentences += _worth(check, evidence.problem, evidence.operation)
    priced = any(check.price for check in system.limits)
    sentences += _exchange(system, evidence) if priced else []
    return sentences


def _stands(check: LimitCheck, level: float, subject: str) -> str:
    value, low, high = check.interval
    decision, base = check.limit.decision, check.limit.base
    bound = f"{'at most' if check.limit.sign > 0 else 'at least'} {percent(check.limit.bound)}"
    if isnan(check.value):
        whose = "it" if subject == "It" else subject
        return (
            f"Whether {whose} decides {decision} for {bound} of {base} is unknown: there is no "
            f"case of {base}."
        )
    share = f"{subject} decides {decision} for {value} of {base}"
    interval = f" ({percent(level)} interval {low.removesuffix(' %')} to {high})"
    beyond = ", which it clearly breaks" if check.breaks else ""
    if not (check.breaks or check.keeps):
        beyond = ", neither clearly kept nor clearly broken"
    return f"{share}{interval if low != high else ''}; the limit is {bound}{beyond}."


def _worth(check: LimitCheck, problem: Problem, operation: Operation) -> Iterator[str]:
    """What a looser limit would save."""
    if not check.price:
        return
    unit, limit = problem.unit, check.limit
    if limit.given is None:
        more = f"One more {limit.decision}" if limit.sign > 0 else f"One {limit.decision} fewer"
        sentence = f"{more} saves {_price(check.price, unit)} by its probabilities, at the margin"
    else:
        looser = (
            f"A limit on {limit.decision} for {limit.given} that is one percentage point looser"
        )
        saved = _price(0.01 * check.price, unit)
        sentence = f"{looser} saves {saved} per case by its probabilities, at the margin"
    if check.total is not None and operation.volume is not None:
        a_period = f" a {operation.period}" if operation.period else ""
        about = float(f"{check.total:.3g}")  # no more digits than the word "about" allows
        total = f"{in_unit(number(about, 3), unit)}{a_period}"
        point = f"one percentage point, {cases(0.01 * operation.volume, 4)}{a_period}, "
        sentence += f"; {point if limit.given is None else 'that '}is worth about {total}"
    yield f"{sentence}."


def _price(value: float, unit: str | None) -> str:
    """A price with its unit, to three digits: it is an estimate."""
    return in_unit(prose(value, 3), unit)


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
