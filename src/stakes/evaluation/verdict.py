"""The verdict, in plain sentences."""

from __future__ import annotations

from dataclasses import replace
from math import isclose, isfinite, isnan

from stakes._text import (
    always,
    cases,
    in_unit,
    point,
    probability,
    reads_as_zero,
    small_amount,
    whole_percent,
)
from stakes._value import record
from stakes.evaluation.case_charges import NO_MODEL
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.limit_checks import limit_sentences
from stakes.evaluation.running_costs import Operation
from stakes.evaluation.sentences import money, rounded, span
from stakes.inference import Measured, SampledCosts
from stakes.problem import Problem
from stakes.regions import decision_regions
from stakes.report import AS_DECIDED, POSTERIOR_RULES, NaiveDecision, System, Verdict, cheapest_of


def verdict_of(
    systems: tuple[System, ...], costs: SampledCosts, naive: NaiveDecision, evidence: Evidence
) -> Verdict:
    """Whether the cheapest system that may win beats deciding without looking, and how surely.

    A system that costs exactly as much as a blind decision is not deployed: it saves nothing, and
    running a model is never free. Cost and saving are those to expect in deployment: corrected for
    the choice of the system on the cases that measure them.
    """
    named = {system.name: system for system in systems}
    best = named[costs.cheapest] if costs.cheapest else cheapest_of(systems)
    unaided = _unaided(naive, costs)
    saving = costs.expected_saving(best.name)
    rivals = [named[str(name)] for name in costs.choice.names]
    contenders = tuple(named[str(name)] for name in costs.choice.contenders)
    blind_breaks = evidence.unaided == frozenset()
    words = _Words(evidence.problem, costs.level, unaided, rivals, contenders, blind_breaks)
    expected, share = costs.expected(best.name), costs.expected_normalized(best.name)
    if costs.is_unaided(best.name):  # it makes the blind decision: the choice adds no bias
        expected, share = costs.cost(best.name), costs.normalized(best.name)
    if not evidence.all_break and (saving.value > 0 or blind_breaks):
        verdict = _deployed(best, expected, share, saving, costs, words, evidence)
        return _completed(verdict, evidence, words)
    if evidence.all_break:
        limits = limit_sentences(best, evidence, costs.level, named=len(words.rivals) > 1)
        sentences = (words.all_break(best), *limits)
    else:
        at_best = words.at_best(best, expected, saving)
        sentences = (words.none(best, expected, saving), *([at_best] if at_best else []))
    verdict = Verdict(
        deploy=None,
        model=None,
        reason=sentences[0],
        cheapest=None,
        cost=expected,
        normalized=share,
        contenders=(),
        runner_up=None,
        saving_over_naive=saving,
        saving_over_runner_up=None,
        told_apart=None,
        sentences=sentences,
        unaided=None if words.blind_breaks else costs.unaided,
    )
    return _completed(verdict, evidence, words)


def _completed(verdict: Verdict, evidence: Evidence, words: _Words) -> Verdict:
    """The verdict with classes that have no cases, and cost and saving for the stated volume."""
    if unseen := words.unseen(evidence):
        first, *rest = verdict.sentences
        verdict = replace(verdict, sentences=(first, unseen, *rest))
    operation = evidence.operation
    cost, saving = map(operation.total, (verdict.cost, verdict.saving_over_naive))
    if cost is None or saving is None or isnan(cost.value):
        return verdict
    totals = words.totals(operation, cost, saving, deployed=verdict.deploy is not None)
    sentences = (*verdict.sentences, totals)
    return replace(verdict, total_cost=cost, total_saving=saving, sentences=sentences)


def _deployed(
    best: System,
    expected: Measured,
    share: Measured,
    saving: Measured,
    costs: SampledCosts,
    words: _Words,
    evidence: Evidence,
) -> Verdict:
    """A verdict that deploys the best system.

    Where there are several models, the runner-up is a system of another model.
    """
    others = [system for system in words.rivals if system.model != best.model or not words.several]
    others = [system for system in others if system is not best and not isnan(system.cost.value)]
    rival = cheapest_of(others) if others else None
    over_rival = None if rival is None else costs.more(rival.name)
    saves = words.saves(best, saving)
    sentences = [words.close_call(saving), words.deploy(best, expected), saves]
    if rival is not None and over_rival is not None:
        here = _is_corrected(best, expected)
        sentences.append(words.against_rival(best, rival, over_rival, here=here))
    sentences += limit_sentences(best, evidence, costs.level, named=rival is not None)
    apart = None if rival is None else not words.other_contenders(best)
    return Verdict(
        deploy=best,
        model=best.model,
        reason=saves,
        cheapest=best.name,
        cost=expected,
        normalized=share,
        contenders=tuple(system.name for system in words.contenders),
        runner_up=None if rival is None else rival.name,
        saving_over_naive=saving,
        saving_over_runner_up=over_rival,
        told_apart=apart,
        sentences=tuple(sentence for sentence in sentences if sentence),
        unaided=None if words.blind_breaks else costs.unaided,
    )


def _unaided(naive: NaiveDecision, costs: SampledCosts) -> NaiveDecision:
    """The decision without a model: a constant one, or by each case's costs if that is cheaper."""
    constant = {always(decision): decision for decision in costs.problem.decisions}
    decision = constant.get(costs.unaided, NO_MODEL)
    if decision in naive.tied:
        return naive
    return NaiveDecision(decision, costs.unaided_cost, (decision,))


@record
class _Words:
    """What the sentences of a verdict are made from, and the sentences."""

    problem: Problem
    level: float
    naive: NaiveDecision  # the decision without a model with which systems are compared
    rivals: list[System]  # systems that may win
    contenders: tuple[System, ...]  # indistinguishable from the cheapest, which is the first
    blind_breaks: bool  # whether every decision without a model breaks a limit

    @property
    def several(self) -> bool:
        """Whether there are several models."""
        return len({system.model for system in self.rivals}) > 1

    def other_contenders(self, best: System) -> bool:
        """Whether another model is a contender; for a single model, whether another rule is."""
        return any(
            system.model != best.model if self.several else system is not best
            for system in self.contenders
        )

    def _money(self, interval: Measured) -> str:
        return money(interval.value, self.problem.unit, interval)

    def _amount(self, difference: Measured, cost: float) -> str:
        """A difference beside a cost; one above zero does not read as zero."""
        text = rounded(difference.value, difference)
        if difference.value > 0 and reads_as_zero(text):
            text = small_amount(difference.value, cost)
        return in_unit(text, self.problem.unit)

    def _blind(self, best: System) -> str:
        """What the blind decision costs, rounded like the cost beside it."""
        return f"{money(self.naive.cost, self.problem.unit, best.cost)} per case"

    def _span(self, interval: Measured) -> str:
        """The interval in brackets after a space, or nothing where there is none."""
        return "" if isnan(interval.low) else f" ({span(interval, self.level)})"

    def _cost(self, expected: Measured) -> str:
        return f"{self._money(expected)} per case{self._span(expected)}"

    @property
    def _always(self) -> str:
        if self.naive.decision == NO_MODEL:
            return "deciding without a model by each case's costs and the prior"
        return f"always deciding {self.naive.decision}"

    def close_call(self, saving: Measured) -> str:
        """Which models, or which rules of one model, are statistically indistinguishable."""
        if len(self.contenders) < 2:
            return ""
        models = list(dict.fromkeys(system.model for system in self.contenders))
        which, names = "which", models
        if len(models) == 1:
            which, names = "which of these rules", [system.name for system in self.contenders]
        spared = self._spared(saving, names)
        return f"{_listed(names)}: the data cannot tell {which} is the cheapest{spared}."

    def _spared(self, saving: Measured, names: list[str]) -> str:
        """What the first contender is expected to save, and the others at least on these cases.

        The first is expected to save less than it saved on these cases, because it was chosen for
        that; by the same luck none of the others is said to save more.
        """
        blind, saved = self.naive.cost, dict[str, float]()
        for system in self.contenders:  # the cheapest of each model
            name = system.name if system.name in names else system.model
            saved.setdefault(name, blind - system.cost.value)
        if not 0 < saving.value <= blind:
            return ""
        most = saving.value / blind
        least = min(most, *(amount / blind for amount in list(saved.values())[1:]))
        what, two = f"of the cost of {self._always}", len(names) == 2
        if self.naive.decision != NO_MODEL:
            what = f"of what {self._always} costs"
        if least <= 0:
            rest = names[1] if two else "some of the others"
            share = _share_in_words(most, most)
            return f"; {names[0]} saves {share} {what}, {rest} nothing on these cases"
        share = _share_in_words(least, most)
        return f"; {'either' if two else 'each of them'} saves {share} {what}"

    def deploy(self, best: System, expected: Measured) -> str:
        """What to deploy, and at what cost."""
        first = f"Deploy {best.model} {_how(best, self.problem)}: "
        if not _is_corrected(best, expected):
            return f"{first}it costs {self._cost(expected)}."
        return f"{first}expect it to cost {self._cost(expected)}. {self._chosen(best, expected)}"

    def _chosen(self, best: System, expected: Measured) -> str:
        """Why a system is expected to cost more than it cost on these cases."""
        observed = money(best.cost.value, self.problem.unit, expected)
        return (
            f"On these cases {best.name} cost {observed}, but it was chosen on them, as the "
            f"cheapest of {len(self.rivals)} systems."
        )

    def saves(self, best: System, saving: Measured) -> str:
        """What that saves against deciding without looking, and as a share of the cost of that."""
        if self.blind_breaks:
            return "Nothing that needs no model keeps the limits."
        blind = self.naive.cost
        part = 0 < saving.value <= blind  # a share makes sense of a positive cost only
        share = f", {_bounded(saving.value / blind)} of that" if part else ""
        amount = self._amount(saving, best.cost.value)
        sure = "" if not saving.low <= 0 else ", but the data cannot rule out that it saves nothing"
        return (
            f"Against {self._always}, which costs {self._blind(best)}, it saves "
            f"{amount} per case{self._span(saving)}{share}{sure}."
        )

    def unseen(self, evidence: Evidence) -> str:
        """For which classes the verdict cannot speak: without a prior, those that have no cases."""
        if self.problem.prior is not None or evidence.all_break:
            return ""
        sizes = zip(self.problem.classes, evidence.sample.sizes, strict=True)
        absent = [str(label) for label, size in sizes if not size]
        which = _listed(absent) if len(absent) > 1 else "".join(absent)
        return which and f"There is no case of {which} here: this holds for as long as none comes."

    def all_break(self, best: System) -> str:
        """Why nothing is recommended where every system breaks a limit."""
        which = "Deploy none of these models" if self.several else f"Do not deploy {best.model}"
        every = "every system" if self.several or len(self.rivals) > 1 else "it"
        return f"{which}: {every} clearly breaks a limit."

    def totals(
        self, operation: Operation, cost: Measured, saving: Measured, *, deployed: bool
    ) -> str:
        """Cost and saving for all cases of the period."""
        a_period = f" a {operation.period}" if operation.period else ""
        every = f"For {cases(operation.volume or 0.0)}{a_period}"
        if not deployed:
            blind = money((operation.volume or 0.0) * self.naive.cost, self.problem.unit, cost)
            return f"{every}, {self._always} costs {blind}{a_period}."
        return (
            f"{every}, it costs {self._money(cost)}{a_period}{self._span(cost)} and saves "
            f"{self._amount(saving, cost.value)}{self._span(saving)}."
        )

    def none(self, best: System, expected: Measured, saving: Measured) -> str:
        """Why nothing is deployed."""
        if isnan(saving.value):
            return (
                "No model can be recommended: a class that the prior expects has no cases here, so "
                "the cost of every model is undefined."
            )
        which = "Deploy none of these models" if self.several else f"Do not deploy {best.model}"
        price = self._blind(best)
        even = isclose(best.cost.value, self.naive.cost, rel_tol=1e-12)
        if saving.value < 0 and best.cost.value < self.naive.cost and not even:
            them = "them" if self.several else "it"
            return (
                f"{which}: expect {them} to cost more than {self._always}, which costs {price}. "
                f"{self._chosen(best, expected)}"
            )
        if saving.value < 0 and not even:
            clearly = "" if saving.high < 0 else " on these cases, though not clearly"
            return f"{which}: {self._always}, which costs {price}, is cheaper{clearly}."
        here = " on these cases" if saving.value < 0 else ""
        return f"{which}: {self._always} costs as little{here}, {price}, and needs no model."

    def at_best(self, best: System, expected: Measured, saving: Measured) -> str:
        """What the best of the systems would cost, where none is deployed."""
        if isnan(self.naive.cost):
            return ""
        if isnan(saving.value):
            return (
                f"The best decision without looking at the case is {self._always}, which costs "
                f"{self._blind(best)}."
            )
        how = _how(best, self.problem)
        first = f"The best of them, {best.model} {how}," if self.several else f"At best, {how}, it"
        costs = "will cost about" if _is_corrected(best, expected) else "costs"
        sentence = f"{first} {costs} {self._cost(expected)}"
        if saving.value == 0:
            return f"{sentence}."
        more = Measured(-saving.value, -saving.high, -saving.low)
        doubt = "; the data cannot rule out that it is cheaper" if more.low <= 0 else ""
        return f"{sentence}, {self._amount(more, best.cost.value)} more{self._span(more)}{doubt}."

    def against_rival(self, best: System, rival: System, more: Measured, *, here: bool) -> str:
        """How the runner-up compares with the best, and whether that is clear.

        That is on these cases, and said where the best is expected to cost more than it did `here`.
        """
        clearly = not any(system is rival for system in self.contenders)
        if more.value == 0:
            return f"The runner-up, {rival.name}, costs the same."
        on_these = " on these cases" if here else ""
        statement = "it clearly costs more" if clearly else "the data cannot tell the two apart"
        adjusted = ", adjusted for all comparisons" if len(self.rivals) > 2 else ""
        interval = "" if isnan(more.low) else f" ({span(more, self.level)}{adjusted})"
        amount = f"{self._amount(more, best.cost.value)} more per case{on_these}{interval}"
        return f"The runner-up, {rival.name}, costs {amount}: {statement}."


def _is_corrected(best: System, expected: Measured) -> bool:
    """Whether a system is expected to cost visibly more than it cost on these cases."""
    return rounded(best.cost.value, expected) != rounded(expected.value, expected)


def _bounded(share: float) -> str:
    """A share in whole percent, with words in place of signs.

    >>> _bounded(0.004), _bounded(0.35), _bounded(0.996)
    ('less than 1 %', '35 %', 'more than 99 %')
    """
    return whole_percent(share).replace("< ", "less than ").replace("> ", "more than ")


def _share_in_words(least: float, most: float) -> str:
    """One share or two in a sentence.

    >>> _share_in_words(0.28, 0.35), _share_in_words(0.35, 0.35), _share_in_words(0.004, 0.005)
    ('about 28 % to 35 %', 'about 35 %', 'less than 1 %')
    >>> _share_in_words(0.004, 0.3)
    'up to about 30 %'
    """
    low, high = _bounded(least), _bounded(most)
    if low == high:
        return f"about {low}" if low[0].isdigit() else low
    if low[0].isdigit():
        return f"about {low} to {high}"
    return f"up to about {high}" if high[0].isdigit() else f"{low} to {high}"


def _listed(names: list[str]) -> str:
    """Names joined by "or"; of more than six, only the first five.

    >>> _listed(["a", "b", "c"]), _listed(list("abcdefgh"))
    ('a, b or c', 'a, b, c, d, e or 3 others')
    """
    shown = names if len(names) <= 6 else [*names[:5], f"{len(names) - 5} others"]
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def _how(system: System, problem: Problem) -> str:
    """The rule of a system, with its threshold or its thresholds."""
    if system.rule == AS_DECIDED:
        return "with its own decisions"
    cut = ""
    if system.threshold is not None and isfinite(system.threshold):
        on_posteriors = system.rule in POSTERIOR_RULES  # else on raw scores, of any scale
        where = probability(system.threshold) if on_posteriors else point(system.threshold, 4)
        cut = f" ({problem.decisions[-1]} above {where})"
    elif system.cuts:
        parts = [(part.cheapest[0], part.high) for part in decision_regions(problem).parts]
        low = (f"{decision} up to {probability(high)}" for decision, high in parts[:-1])
        cut = f" ({', '.join([*low, f'{parts[-1][0]} above'])})"
    article = "a " if system.rule.startswith("threshold") else ""
    priced = problem.limits and system.rule in POSTERIOR_RULES
    return f"with {article}{system.rule}{', under the limits' if priced else ''}{cut}"
