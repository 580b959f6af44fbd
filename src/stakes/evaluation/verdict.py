"""The verdict, in plain sentences."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan

import numpy as np

from stakes.evaluation.evidence import Evidence
from stakes.evaluation.uncertainty import Costs
from stakes.evaluation.unseen import unseen_against
from stakes.evaluation.words import chance, money, number, span
from stakes.measures.table import least
from stakes.problem import Problem
from stakes.regions import decision_regions
from stakes.report import AS_DECIDED, Interval, NaiveDecision, System, Verdict

__all__ = ["verdict_of"]


def verdict_of(
    systems: tuple[System, ...], costs: Costs, naive: NaiveDecision, evidence: Evidence
) -> Verdict:
    """The cheapest system that may win, against not looking and against the runner-up."""
    rivals = [system for system in systems if system.candidate]
    best = _cheapest(rivals)
    others = [one for one in rivals if one.model != best.model] or rivals
    others = [one for one in others if one is not best and not isnan(one.cost.value)]
    rival = _cheapest(others) if others else None
    words = _Words(evidence.problem.unit, costs.level)
    over_naive = _untied(costs.saving(None, best.name), naive.cost)
    over_rival, apart = None, None
    if rival is not None:
        over_rival = _untied(costs.saving(rival.name, best.name), best.cost.value)
        unseen = unseen_against(best.name, rival.name, evidence)
        apart = over_rival.low > (0.0 if unseen is None else unseen.cost)
    several = len({one.model for one in rivals}) > 1
    own = best.probability_cheapest
    if several:
        own = sum(one.probability_cheapest for one in rivals if one.model == best.model)
    sentences = [*words.deploy(best, over_naive, naive, evidence.problem)]
    if rival is not None and over_rival is not None:
        sentences.append(words.against_rival(best, rival, over_rival, bool(apart)))
        sentences.append(words.probability(best.model if several else best.name, own))
    return Verdict(
        cheapest=best.name,
        runner_up=None if rival is None else rival.name,
        saving_over_naive=over_naive,
        saving_over_runner_up=over_rival,
        probability_cheapest=own,
        told_apart=apart,
        sentences=tuple(sentences),
    )


def _cheapest(systems: list[System]) -> System:
    """The first of those that are equally cheap."""
    return systems[int(np.argmax(least(np.array([one.cost.value for one in systems]))))]


def _untied(saving: Interval, scale: float) -> Interval:
    """A saving that is rounding alone is none."""
    if abs(saving.value) > 1e-12 * abs(scale) or isnan(saving.value):
        return saving
    return Interval(0.0, saving.low, saving.high)


@dataclass(frozen=True)
class _Words:
    unit: str | None
    level: float

    def _money(self, value: float) -> str:
        return money(value, self.unit)

    def _span(self, interval: Interval) -> str:
        """The interval in brackets after a space, or nothing where there is none."""
        return "" if isnan(interval.low) else f" ({span(interval, self.level)})"

    def deploy(
        self, best: System, saving: Interval, naive: NaiveDecision, problem: Problem
    ) -> tuple[str, ...]:
        """What to deploy, at which cost, and what that saves against not looking."""
        cost = f"{self._money(best.cost.value)} per case{self._span(best.cost)}"
        always = f"always deciding {naive.decision}, which costs {self._money(naive.cost)}"
        how = f"{best.model} {_how(best, problem)}"
        if isnan(best.cost.value):
            return (
                "No model can be recommended: a class that the prior expects has no cases here, so "
                "every cost is undefined.",
                f"The best decision without looking at the case is {always} per case.",
            )
        if saving.value < 0:
            return (
                f"Deploy none of these models: {always} per case, is cheaper.",
                f"The best of them, {how}, costs {cost}, {self._money(-saving.value)} "
                f"more{self._span(Interval(-saving.value, -saving.high, -saving.low))}.",
            )
        first = f"Deploy {how}: it costs {cost}."
        if saving.value == 0:
            return first, f"It saves nothing against {always} per case."
        sure = "" if not saving.low <= 0 else ", but the data cannot rule out that it saves nothing"
        return first, (
            f"Against {always} per case, it saves {self._money(saving.value)} per "
            f"case{self._span(saving)}{sure}; its normalised cost is "
            f"{number(best.normalized.value)}."
        )

    def against_rival(self, best: System, rival: System, saving: Interval, apart: bool) -> str:
        """Whether the data tell the first two apart."""
        told = "the data tell the two apart" if apart else "the data cannot tell the two apart"
        if saving.value == 0:
            return f"The runner-up, {rival.name}, costs the same: {told}."
        return (
            f"The runner-up, {rival.name}, costs {self._money(saving.value)} more per "
            f"case{self._span(saving)}: {told}."
        )

    def probability(self, name: str, own: float) -> str:
        """How often redraws of the cases agree."""
        if isnan(own):
            return "How sure that is cannot be said."
        return f"The probability that {name} is the cheapest of all is {chance(own)}."


def _how(system: System, problem: Problem) -> str:
    """The rule of a system, with its threshold or its thresholds."""
    if system.rule == AS_DECIDED:
        return "with its own decisions"
    cut = ""
    if system.threshold is not None and isfinite(system.threshold):
        cut = f" ({problem.decisions[-1]} above {number(system.threshold)})"
    elif system.cuts:
        parts = [(part.cheapest[0], part.high) for part in decision_regions(problem).parts]
        low = (f"{decision} up to {number(high)}" for decision, high in parts[:-1])
        cut = f" ({', '.join([*low, f'{parts[-1][0]} above'])})"
    return f"with {system.rule}{cut}"
