"""The verdict: whether to deploy a system, to try it, or none of them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from math import hypot, isnan
from typing import Any, NamedTuple

import numpy as np

from stakes import _text
from stakes._check import FloatArray
from stakes._text import always, cases, in_unit, number, percent, prose
from stakes._value import record
from stakes.errors import InputError
from stakes.evaluation.cases import Operation
from stakes.evaluation.evidence import NO_MODEL, Evidence, blind_counts
from stakes.evaluation.predictions import DecisionRule, may_name
from stakes.evaluation.verdict_words import Findings, VerdictWords, as_saving, is_corrected
from stakes.inference import (
    Clusters,
    Estimate,
    Measured,
    Normal,
    SampledCosts,
    cases_to_detect,
    cost_support,
    summed,
    support_bounds,
)
from stakes.limits import LimitCheck
from stakes.measures import expected_cost
from stakes.problem import Limit, Problem, cell_text
from stakes.report import (
    POSTERIOR_RULES,
    Baseline,
    NaiveDecision,
    Report,
    System,
    Verdict,
    cheapest_of,
)
from stakes.tally import Counts

# The incumbent: what every system is compared with, one pair at a time ---------------------------

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


# Whether systems keep the limits once deployed, and what that means, in plain sentences ----------


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


# The verdict: whether to deploy a system, to try it, or none of them -----------------------------

_POWER = 0.8  # chance with which a difference is to be shown by more cases


def verdict_of(
    systems: tuple[System, ...],
    costs: SampledCosts,
    naive: NaiveDecision,
    evidence: Evidence,
    baseline: Baseline | None = None,
) -> Verdict:
    """Which system to deploy or to try, if any, and how surely it pays.

    A system is deployed where the data show what it saves: against the incumbent, if there is one,
    and else against the best decision without a model. Cost and saving are those to expect in
    deployment: corrected for the choice of the system on the cases that measure them, and of taking
    one at all. That choice goes by the costs on these cases, and is not made again.
    """
    named = {system.name: system for system in systems}
    best = named[_simplest(costs, evidence)] if costs.cheapest else cheapest_of(systems)
    unaided = _naive_of(naive, costs)
    rivals = [named[str(name)] for name in costs.choice.names]
    contenders = [named[str(name)] for name in costs.choice.contenders]
    first_of_all = sorted(contenders, key=lambda system: system is not best)
    blind_breaks = evidence.unaided == frozenset()
    words = VerdictWords(
        evidence.problem,
        costs.level,
        unaided,
        rivals,
        tuple(first_of_all),
        blind_breaks,
        "cases" if evidence.sample.clusters is None else "clusters",
    )
    findings = _findings(best, costs, evidence, baseline)
    if evidence.all_break or evidence.all_misordered:
        verdict = _none(best, findings, costs, words, evidence)
    elif _stays(findings, baseline, costs, words, evidence):
        verdict = _kept(best, findings, baseline, costs, words, evidence)
    elif costs.saves or blind_breaks:
        verdict = _recommended(best, findings, baseline, costs, words, evidence)
    else:
        verdict = _none(best, findings, costs, words, evidence, baseline)
    return _completed(verdict, evidence, words)


def _simplest(costs: SampledCosts, evidence: Evidence) -> str:
    """The cheapest system, or a simpler rule of its model that is as good."""
    model = evidence.rules[str(costs.cheapest)].model
    rivals = {str(name) for name in costs.choice.names}
    rules = evidence.rules.items()
    return costs.simplest([n for n, rule in rules if rule.model == model and n in rivals])


def _findings(
    best: System, costs: SampledCosts, evidence: Evidence, baseline: Baseline | None
) -> Findings:
    name = best.name
    expected, normalized = costs.expected(name), costs.expected_normalized(name)
    if costs.is_unaided(name):  # it makes the blind decision: the choice adds no bias
        expected, normalized = costs.cost(name), costs.normalized(name)
    saving = costs.expected_saving(name)
    # A share makes sense of a positive cost only.
    share = costs.expected_share(name) if 0 < saving.value <= costs.unaided_cost else None
    findings = Findings(expected, normalized, saving, share)
    if baseline is None:
        return findings
    difference, beyond = chosen_differences(name, expected, baseline, costs)
    better = difference.high < 0 or (baseline.margin > 0 and beyond.high <= 0)
    is_other = not (baseline.paired and name == baseline.system)
    return replace(findings, difference=difference, beyond=beyond, better=bool(better and is_other))


def _stays(
    findings: Findings,
    baseline: Baseline | None,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
) -> bool:
    """Whether the incumbent stays: unless another system is shown to be better, or no worse.

    What needs no model replaces it only where it is clearly cheaper, or cheaper than a system that
    is shown to be better. An incumbent that clearly breaks a limit does not stay.
    """
    if baseline is None or isnan(findings.expected.value) or findings.better:
        return False
    if baseline.paired and _breaks_limits(baseline.system, evidence):
        return False
    if words.blind_breaks:
        return True
    blind = costs.unaided
    if baseline.paired:
        return not costs.difference(blind, baseline.system).high < 0
    return not unpaired(_cost_of_unaided(costs), baseline.cost).high < 0


def _breaks_limits(name: str, evidence: Evidence) -> bool:
    return any(check.breaks for check in evidence.checks.get(name, ()))


def _cost_of_unaided(costs: SampledCosts) -> Measured:
    """What needs no model, with an interval: without a stated prior, class shares are estimates."""
    from scipy.special import ndtri

    errors, value = costs.choice.errors, costs.unaided_cost
    place = errors.names.index(costs.unaided)
    reach = float(ndtri((1 + costs.level) / 2) * np.sqrt(errors.covariance[place, place]))
    return Measured(value, value - reach, value + reach)


def _none(
    best: System,
    findings: Findings,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
    baseline: Baseline | None = None,
) -> Verdict:
    """A verdict that recommends no system."""
    if evidence.all_misordered:
        sentences: tuple[str, ...] = (words.all_misordered(),)
    elif evidence.all_break:
        limits = limit_sentences(best, evidence, costs.level, named=len(words.rivals) > 1)
        sentences = (words.all_break(), *limits)
    else:
        at_best = words.at_best(best, findings.expected, findings.saving)
        reason = words.none(best, findings.saving)
        compared = words.against_incumbent(best, findings, baseline) if findings.better else ""
        sentences = (reason, *filter(None, (at_best, compared)))
    verdict = _without_system(findings, sentences, costs, words)
    return replace(verdict, doubted=evidence.all_misordered)


def _kept(
    best: System,
    findings: Findings,
    baseline: Baseline | None,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
) -> Verdict:
    """A verdict that keeps the incumbent."""
    assert baseline is not None
    assert findings.difference is not None
    needed = None
    is_other = not (baseline.paired and best.name == baseline.system)
    if is_other:
        needed = _cases_to_settle(as_saving(findings.difference), costs.level, evidence)
    sentences = words.kept(
        best, findings, baseline, needed, is_cheapest=best.name == costs.cheapest
    )
    verdict = _without_system(findings, sentences, costs, words)
    return replace(verdict, keep=baseline.system, cases_to_settle=needed)


def _without_system(
    findings: Findings, sentences: tuple[str, ...], costs: SampledCosts, words: VerdictWords
) -> Verdict:
    return Verdict(
        deploy=None,
        model=None,
        reason=sentences[0],
        cheapest=None,
        contenders=(),
        runner_up=None,
        saving_over_runner_up=None,
        told_apart=None,
        sentences=sentences,
        unaided=None if words.blind_breaks else costs.unaided,
        **findings.compared(),
    )


def _completed(verdict: Verdict, evidence: Evidence, words: VerdictWords) -> Verdict:
    """The verdict with classes that have no cases, and cost and saving for the stated volume."""
    if unseen := words.unseen(evidence):
        first, *rest = verdict.sentences
        verdict = replace(verdict, sentences=(first, unseen, *rest))
    operation = evidence.operation
    cost, saving = map(operation.total, (verdict.cost, verdict.saving_over_naive))
    if cost is None or saving is None or isnan(cost.value):
        return verdict
    verdict = replace(verdict, total_cost=cost, total_saving=saving)
    if verdict.keep is not None:  # these are totals of another system than the incumbent
        return verdict
    totals = words.totals(operation, cost, saving, named=verdict.cheapest is not None)
    return replace(verdict, sentences=(*verdict.sentences, totals))


def _recommended(
    best: System,
    findings: Findings,
    baseline: Baseline | None,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
) -> Verdict:
    """A verdict that deploys the best system, or tries it where something is not shown.

    Where there are several models, the runner-up is a system of another model.
    """
    others = [system for system in words.rivals if system.model != best.model or not words.several]
    others = [system for system in others if system is not best and not isnan(system.cost.value)]
    rival = cheapest_of(others) if others else None
    over_rival = None if rival is None else _more(rival.name, best.name, costs)
    # A bad incumbent does not make a system worth running that saves nothing against no model.
    better = findings.better and findings.saving.value > 0
    pays = findings.saving.low > 0 or words.blind_breaks or better
    unkept, needed = unkept_rate(best), None
    if not pays:
        needed = _cases_to_settle(findings.saving, costs.level, evidence)
    doubt = words.doubt(unkept, pays=pays)
    saves = words.saves(best, findings, needed)
    sentences = [
        words.recommend(best, findings.expected, doubt),
        saves,
        words.against_incumbent(best, findings, baseline),
        words.close_call(),
    ]
    if rival is not None and over_rival is not None:
        here = is_corrected(best, findings.expected)
        sentences.append(words.against_rival(best, rival, over_rival, here=here))
    sentences += limit_sentences(best, evidence, costs.level, named=rival is not None)
    apart = None if rival is None else not words.other_contenders(best)
    return Verdict(
        deploy=best if doubt is None else None,
        model=best.model,
        reason=saves if doubt is None else sentences[0],
        cheapest=best.name,
        contenders=tuple(system.name for system in words.contenders),
        runner_up=None if rival is None else rival.name,
        saving_over_runner_up=over_rival,
        told_apart=apart,
        sentences=tuple(sentence for sentence in sentences if sentence),
        unaided=None if words.blind_breaks else costs.unaided,
        doubt=doubt,
        cases_to_settle=needed,
        **findings.compared(),
    )


def _more(rival: str, best: str, costs: SampledCosts) -> Measured:
    """Cost of a rival above the system that the verdict names, which may be a simpler rule."""
    return costs.more(rival) if best == costs.cheapest else costs.difference(rival, best)


def _cases_to_settle(gap: Measured, level: float, evidence: Evidence) -> float | None:
    """About how many cases, or clusters, would show a saving of the expected size.

    None where nothing is expected to be saved, or the saving has no interval.
    """
    from scipy.special import ndtri

    if not (gap.value > 0 and np.isfinite(gap.low)):
        return None
    # The half of the interval on the side of zero, which more cases have to shorten.
    error = (gap.value - gap.low) / float(ndtri((1 + level) / 2))
    size = evidence.sample.clusters or float(evidence.sample.sizes.sum())
    seen = Estimate(gap.value, error, np.empty(0), Normal(), "half of the interval")
    wanted = cases_to_detect(seen, size, difference=gap.value, level=level, power=_POWER)
    return float(wanted)


def _naive_of(naive: NaiveDecision, costs: SampledCosts) -> NaiveDecision:
    """The decision without a model: a constant one, or by each case's costs if that is cheaper."""
    constant = {always(decision): decision for decision in costs.problem.decisions}
    decision = constant.get(costs.unaided, NO_MODEL)
    if decision in naive.tied:
        return naive
    return NaiveDecision(decision, costs.unaided_cost, (decision,))
