"""The sentences of a verdict and of the rules of systems."""

from __future__ import annotations

from math import isclose, isfinite, isnan
from typing import Any

import numpy as np

from stakes._text import (
    cases,
    in_unit,
    number,
    percent,
    probability,
    prose,
    reads_as_zero,
    small_amount,
    whole_percent,
)
from stakes._value import record
from stakes.evaluation.cases import Operation, money, rounded, span
from stakes.evaluation.evidence import NO_MODEL, Evidence
from stakes.inference import Measured
from stakes.limits import LimitCheck
from stakes.problem import Problem
from stakes.report import (
    AS_DECIDED,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    Baseline,
    NaiveDecision,
    System,
)

# -------------------------------------------------------------------------------------------------
# The rule of a system in words that can be followed: its decisions, and where they change.


def rule_in_words(system: System, problem: Problem) -> str:
    """How a system decides, with cuts of what its model gives wherever there are some.

    Parameters
    ----------
    system : the system
    problem : what is at stake

    Returns
    -------
    the words

    Examples
    --------
    >>> from stakes import evaluate
    >>> y, p = [0, 0, 0, 1] * 50, [0.02, 0.05, 0.3, 0.6] * 50
    >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
    >>> rule_in_words(evaluate(y, p, problem, calibrator=None).systems[0], problem)
    'with Bayes decisions (treat above 10 %)'
    """
    if system.rule == AS_DECIDED:
        return "with its own decisions"
    article = "a " if system.rule.startswith("threshold") else ""
    priced = problem.limits and system.rule in POSTERIOR_RULES
    cuts = _cuts(system)
    limits = ", under the limits" if priced else ""
    return f"with {article}{system.rule}{limits}{f' ({cuts})' if cuts else ''}"


def _cuts(system: System) -> str:
    """The decisions between the cuts, and of what these are cuts."""
    corrects = system.rule in (MOVED, RECALIBRATED)
    taken = system.taken
    by_corrected = f"by the corrected probability, as report.rule({system.name!r}) does"
    if not taken:
        return by_corrected if corrects else ""
    if len(taken) == 1:
        return f"always {taken[0][0]}"
    if not system.on_own_column:
        return f"{by_corrected}: {_listed(system, '')}"
    if not corrects:
        return _listed(system, "")
    ends = [high for _, high in taken[:-1]]  # a decision that no score receives has no cut
    pairs = zip(system.corrected, system.changes, strict=True)
    known = [probability(share) for share, cut in pairs if cut in ends and isfinite(share)]
    noun = "corrected probability" if len(known) == 1 else "corrected probabilities"
    return f"{_listed(system, f' where {system.model} is')}; {noun} {' and '.join(known)}"


def _listed(system: System, where: str) -> str:
    """Each decision with its highest score; of two, the one above the threshold alone."""
    *low, (last, _) = system.taken
    if system.threshold is not None:
        return f"{last}{where} above {system.cut_text(system.threshold)}"
    parts = [f"{decision} up to {system.cut_text(high)}" for decision, high in low]
    if where:
        first, high = low[0]
        parts[0] = f"{first}{where} up to {system.cut_text(high)}"
    return f"{', '.join(parts)}, {last} above"


# The sentences of a verdict, from what is expected of the best system ----------------------------


@record
class Findings:
    """What is expected of the best system, and how it compares with the incumbent."""

    expected: Measured
    normalized: Measured
    saving: Measured
    share: Measured | None = None
    difference: Measured | None = None
    beyond: Measured | None = None
    better: bool = False  # than the incumbent, or no worse by the margin

    def compared(self) -> dict[str, Any]:
        """The fields of a verdict that hold these numbers."""
        return {
            "cost": self.expected,
            "normalized": self.normalized,
            "saving_over_naive": self.saving,
            "share": self.share,
            "difference": self.difference,
            "beyond_margin": self.beyond,
        }


@record
class VerdictWords:
    """What the sentences of a verdict are made from, and the sentences."""

    problem: Problem
    level: float
    naive: NaiveDecision  # the decision without a model with which systems are compared
    rivals: list[System]  # systems that may win
    contenders: tuple[System, ...]  # indistinguishable from the cheapest, which is the first
    blind_breaks: bool  # whether every decision without a model breaks a limit
    drawn: str  # what was drawn at random: cases or clusters

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

    def close_call(self) -> str:
        """Which models, or which rules of one model, are statistically indistinguishable."""
        if len(self.contenders) < 2:
            return ""
        models = list(dict.fromkeys(system.model for system in self.contenders))
        if len(models) > 1:
            return f"The data cannot tell which model is the cheapest: {_in_words(models)}."
        names = [system.name for system in self.contenders]
        return f"The data cannot tell which of these rules is the cheapest: {_in_words(names)}."

    def doubt(self, unkept: LimitCheck | None, *, pays: bool) -> str | None:
        """What is not shown of the best system; None if it can be deployed."""
        limit = "" if unkept is None else f"keep a limit ({unkept.limit})"
        if pays:
            return f"not shown to {limit}" if limit else None
        return "not yet shown to pay" + (f", nor to {limit}" if limit else "")

    def recommend(self, best: System, expected: Measured, doubt: str | None) -> str:
        """What to deploy or to try, and at what cost."""
        how = f"{best.model} {rule_in_words(best, self.problem)}"
        corrected = is_corrected(best, expected)
        costs = f"{'expect it to cost' if corrected else 'it costs'} {self._cost(expected)}"
        chosen = f" {self._chosen(best, expected)}" if corrected else ""
        if doubt is None:
            return f"Deploy {how}: {costs}.{chosen}"
        return f"Try {how}: {doubt}. {costs[0].upper()}{costs[1:]}.{chosen}"

    def _chosen(self, best: System, expected: Measured) -> str:
        """Why a system is expected to cost more than it cost on these cases."""
        observed = money(best.cost.value, self.problem.unit, expected)
        n = len(self.rivals)
        first = all(best.cost.value <= rival.cost.value for rival in self.rivals)
        chosen = "the cheapest" if first else "one of the cheapest"
        against = f"as {chosen} of {n} systems" if n > 1 else f"against {self._always}"
        return f"On these cases {best.name} cost {observed}, but it was chosen on them, {against}."

    def saves(self, best: System, findings: Findings, needed: float | None) -> str:
        """What that saves against deciding without looking, and as a share of the cost of that."""
        if self.blind_breaks:
            return "Nothing that needs no model keeps the limits."
        saving = findings.saving
        if saving.value <= 0:  # it saved something on these cases, and no more than luck explains
            return (
                f"Against {self._always}, which costs {self._blind(best)}, expect it to save "
                f"nothing{self._span(saving)}: that it was cheaper on these cases may be luck."
            )
        amount = self._amount(saving, best.cost.value)
        share = "" if findings.share is None else f", {_share_in_words(findings.share)} of that"
        sure = "" if not saving.low <= 0 else ", but the data cannot rule out that it saves nothing"
        return (
            f"Against {self._always}, which costs {self._blind(best)}, it saves "
            f"{amount} per case{self._span(saving)}{share}{sure}{self._settled(needed)}."
        )

    def _settled(self, needed: float | None) -> str:
        """How many cases would settle it, to two digits."""
        if needed is None:
            return ""
        return f"; about {number(float(f'{needed:.2g}'))} {self.drawn} like these would settle it"

    def against_incumbent(self, best: System, findings: Findings, baseline: Baseline | None) -> str:
        """How the best system compares with the incumbent."""
        if baseline is None or findings.difference is None or isnan(findings.difference.value):
            return ""
        if baseline.paired and findings.difference == Measured(0.0, 0.0, 0.0):
            return ""
        name, gap, beyond = _incumbent(baseline), as_saving(findings.difference), findings.beyond
        if gap.value < 0:
            amount = in_unit(rounded(-gap.value, gap), self.problem.unit)
            allowed = beyond is not None and baseline.margin > 0 and beyond.high <= 0
            why = "which is within the margin" if allowed else f"but {name} clearly breaks a limit"
            return (
                f"{best.name} is expected to cost {amount} more per case than {name}"
                f"{self._span(findings.difference)}, {why}."
            )
        amount = self._amount(gap, baseline.cost.value)
        within = f", and clearly costs at most {_margin(baseline, self.problem)} more"
        shown = within if baseline.margin and gap.low <= 0 else ""
        return f"Against {name}, {best.name} saves {amount} per case{self._span(gap)}{shown}."

    def kept(
        self,
        best: System,
        findings: Findings,
        baseline: Baseline,
        needed: float | None,
        *,
        is_cheapest: bool,
    ) -> tuple[str, ...]:
        """Why the incumbent stays, which may be the best system itself."""
        name = _incumbent(baseline)
        cost = f"{name} costs {self._cost(baseline.cost)}."
        blind = f"{self._always[0].upper()}{self._always[1:]} costs {self._blind(best)}"
        pays = findings.saving.value > 0 or self.blind_breaks
        doubt = [] if pays else [f"{blind}, not clearly less than {name}."]
        if findings.difference is None or (baseline.paired and best.name == baseline.system):
            visibly = "" if is_cheapest else " by more than 1 % of what it saves"
            return f"Keep {name}: no other system is cheaper on these cases{visibly}.", cost, *doubt
        gap = as_saving(findings.difference)
        margin = f", or at most {_margin(baseline, self.problem)} more" if baseline.margin else ""
        reason = f"Keep {name}: it is not shown that {best.name} costs less{margin}."
        if gap.value > 0:
            amount = self._amount(gap, baseline.cost.value)
            change = f"{best.name} is expected to save {amount} per case{self._span(gap)}"
        else:
            amount = in_unit(rounded(-gap.value, gap), self.problem.unit)
            more = self._span(findings.difference)
            change = f"{best.name} is expected to cost {amount} more per case{more}"
        return reason, f"{change}{self._settled(needed)}.", cost, *doubt

    def unseen(self, evidence: Evidence) -> str:
        """For which classes the verdict cannot speak: without a prior, those that have no cases."""
        if self.problem.prior is not None or evidence.all_break:
            return ""
        sizes = zip(self.problem.classes, evidence.sample.sizes, strict=True)
        absent = [str(label) for label, size in sizes if not size]
        which = _in_words(absent) if len(absent) > 1 else "".join(absent)
        return which and f"There is no case of {which} here: this holds for as long as none comes."

    def all_misordered(self) -> str:
        """Why nothing is recommended where all posteriors seem to belong to other classes."""
        whose = "all models" if self.several else self.rivals[0].model
        return (
            f"Deploy none: the posteriors of {whose} seem to belong to other classes than they are "
            f"read for. Name the classes of their columns first."
        )

    def all_break(self) -> str:
        """Why nothing is recommended where every system breaks a limit."""
        every = "every system" if len(self.rivals) > 1 else self.rivals[0].model
        return f"Deploy none: {every} clearly breaks a limit."

    def totals(self, operation: Operation, cost: Measured, saving: Measured, *, named: bool) -> str:
        """Cost and saving for all cases of the period."""
        a_period = f" a {operation.period}" if operation.period else ""
        every = f"For {cases(operation.volume or 0.0)}{a_period}"
        if not named:
            blind = money((operation.volume or 0.0) * self.naive.cost, self.problem.unit, cost)
            return f"{every}, {self._always} costs {blind}{a_period}."
        spent = f"{every}, it costs {self._money(cost)}{a_period}{self._span(cost)}"
        if saving.value <= 0:
            return f"{spent}."
        return f"{spent} and saves {self._amount(saving, cost.value)}{self._span(saving)}."

    def none(self, best: System, saving: Measured) -> str:
        """Why nothing is deployed."""
        if isnan(saving.value):
            return (
                "Deploy none: a class that the prior expects has no cases here, so that the cost "
                "of every model is undefined."
            )
        which, price = "Deploy none", self._blind(best)
        even = isclose(best.cost.value, self.naive.cost, rel_tol=1e-12)
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
        how = rule_in_words(best, self.problem)
        first = f"The best of them, {best.model} {how}," if self.several else f"At best, {how}, it"
        costs = "will cost about" if is_corrected(best, expected) else "costs"
        sentence = f"{first} {costs} {self._cost(expected)}"
        if saving.value == 0:
            return f"{sentence}."
        more = as_saving(saving)
        doubt = "; the data cannot rule out that it is cheaper" if more.low <= 0 else ""
        return f"{sentence}, {self._amount(more, best.cost.value)} more{self._span(more)}{doubt}."

    def against_rival(self, best: System, rival: System, more: Measured, *, here: bool) -> str:
        """How the runner-up compares with the best, and whether that is clear.

        That is on these cases, and said where the best is expected to cost more than it did `here`.
        """
        clearly = not any(system is rival for system in self.contenders)
        if more.value == 0:
            return f"The runner-up, {rival.name}, costs the same."
        if more.value < 0:
            less = self._amount(as_saving(more), best.cost.value)
            return (
                f"The runner-up, {rival.name}, costs {less} less per case on these cases"
                f"{self._span(as_saving(more))}, under 1 % of the saving: the simpler rule is "
                f"named."
            )
        on_these = " on these cases" if here else ""
        statement = "it clearly costs more" if clearly else "the data cannot tell the two apart"
        first = all(best.cost.value <= system.cost.value for system in self.rivals)
        adjusted = ", adjusted for all comparisons" if first and len(self.rivals) > 2 else ""
        interval = "" if isnan(more.low) else f" ({span(more, self.level)}{adjusted})"
        amount = f"{self._amount(more, best.cost.value)} more per case{on_these}{interval}"
        return f"The runner-up, {rival.name}, costs {amount}: {statement}."


def _incumbent(baseline: Baseline) -> str:
    """The name of the incumbent; one of an earlier report may have a namesake here."""
    return baseline.system if baseline.paired else f"the earlier {baseline.system}"


def is_corrected(best: System, expected: Measured) -> bool:
    """Whether a system is expected to cost visibly more than it cost on these cases."""
    return rounded(best.cost.value, expected) != rounded(expected.value, expected)


def _bounded(share: float) -> str:
    """A share in whole percent, with words in place of signs.

    >>> _bounded(0.004), _bounded(0.35), _bounded(0.996)
    ('less than 1 %', '35 %', 'more than 99 %')
    """
    return whole_percent(share).replace("< ", "less than ").replace("> ", "more than ")


def _share_in_words(share: Measured) -> str:
    """A share with its interval, in whole percent.

    >>> _share_in_words(Measured(0.353, 0.29, 0.441)), _share_in_words(Measured(0.1, -0.05, 0.4))
    ('35 % (29 to 44 %)', '10 % (−5 to 40 %)')
    """
    if not np.isfinite([share.low, share.high]).all():
        return _bounded(share.value)
    # A bound that rounds to zero has no sign.
    low, high = (f"{round(100 * bound) + 0}".replace("-", "−") for bound in (share.low, share.high))
    return f"{_bounded(share.value)} ({low} to {high} %)"


def as_saving(gap: Measured) -> Measured:
    """A cost more as a saving."""
    return Measured(-gap.value, -gap.high, -gap.low)


def _margin(baseline: Baseline, problem: Problem) -> str:
    if baseline.relative:
        return percent(baseline.margin)
    return in_unit(prose(baseline.margin), problem.unit)


def _in_words(names: list[str]) -> str:
    """Names joined by "or"; of more than six, only the first five.

    >>> _in_words(["a", "b", "c"]), _in_words(list("abcdefgh"))
    ('a, b or c', 'a, b, c, d, e or 3 others')
    """
    shown = names if len(names) <= 6 else [*names[:5], f"{len(names) - 5} others"]
    return f"{', '.join(shown[:-1])} or {shown[-1]}"
