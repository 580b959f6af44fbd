"""The verdict, in plain sentences."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, isnan

import numpy as np

from stakes.evaluation.evidence import Evidence
from stakes.evaluation.uncertainty import Costs
from stakes.evaluation.unseen import unseen_against
from stakes.evaluation.words import chance, money, point, rounded, span
from stakes.problem import Problem
from stakes.regions import decision_regions
from stakes.report import AS_DECIDED, Interval, NaiveDecision, System, Verdict, cheapest_of

__all__ = ["verdict_of"]


def verdict_of(
    systems: tuple[System, ...], costs: Costs, naive: NaiveDecision, evidence: Evidence
) -> Verdict:
    """Whether the cheapest system that may win beats not looking, and how sure that is.

    A system that costs exactly as much as a blind decision is not deployed: it saves nothing, and
    running a model is never free.
    """
    rivals = [system for system in systems if system.candidate]
    best = cheapest_of(rivals)
    saving = _untied(costs.saving(None, best.name), naive.cost, costs.perfect)
    words = _Words(evidence.problem, costs.level, naive, len({one.model for one in rivals}) > 1)
    own = best.probability_cheapest
    if words.several:
        own = sum(one.probability_cheapest for one in rivals if one.model == best.model)
    if saving.value > 0:
        return _deployed(best, rivals, saving, own, costs, evidence, words)
    sentences = [words.none(best, saving), words.at_best(best, saving)]
    if not isnan(saving.value):
        likely = costs.probability_of_saving([one.name for one in rivals])
        sentences.append(words.any_saves(best, likely))
    return Verdict(
        deploy=None,
        model=None,
        reason=sentences[0],
        cheapest=None,
        runner_up=None,
        saving_over_naive=saving,
        saving_over_runner_up=None,
        probability_cheapest=own,
        told_apart=None,
        sentences=tuple(sentences),
    )


def _deployed(
    best: System,
    rivals: list[System],
    saving: Interval,
    own: float,
    costs: Costs,
    evidence: Evidence,
    words: _Words,
) -> Verdict:
    """Deploy the best system; the runner-up is one of another model where there are several."""
    others = [one for one in rivals if one.model != best.model or not words.several]
    others = [one for one in others if one is not best and not isnan(one.cost.value)]
    rival = cheapest_of(others) if others else None
    sentences = [words.deploy(best), words.saves(best, saving)]
    over_rival, apart = None, None
    if rival is not None:
        over_rival = _untied(costs.saving(rival.name, best.name), best.cost.value, costs.perfect)
        unseen = unseen_against(best.name, rival.name, evidence)
        apart = over_rival.low > (0.0 if unseen is None else unseen.cost)
        sentences.append(words.against_rival(rival, over_rival, apart))
        sentences.append(words.probability(best.model if words.several else best.name, own))
    return Verdict(
        deploy=best,
        model=best.model,
        reason=sentences[1],
        cheapest=best.name,
        runner_up=None if rival is None else rival.name,
        saving_over_naive=saving,
        saving_over_runner_up=over_rival,
        probability_cheapest=own,
        told_apart=apart,
        sentences=tuple(sentences),
    )


def _untied(saving: Interval, cost: float, perfect: float) -> Interval:
    """A saving that is rounding alone is none."""
    rounding = 1e-12 * abs(cost - perfect) + 4 * np.finfo(np.float64).eps * abs(cost)
    if abs(saving.value) > rounding or isnan(saving.value):
        return saving
    return Interval(0.0, saving.low, saving.high)


@dataclass(frozen=True)
class _Words:
    problem: Problem
    level: float
    naive: NaiveDecision
    several: bool  # models

    def _money(self, interval: Interval) -> str:
        return money(interval.value, self.problem.unit, interval)

    def _blind(self, best: System) -> str:
        """What the blind decision costs, rounded as the cost beside it."""
        return f"{money(self.naive.cost, self.problem.unit, best.cost)} per case"

    def _span(self, interval: Interval) -> str:
        """The interval in brackets after a space, or nothing where there is none."""
        return "" if isnan(interval.low) else f" ({span(interval, self.level)})"

    def _cost(self, system: System) -> str:
        return f"{self._money(system.cost)} per case{self._span(system.cost)}"

    @property
    def _always(self) -> str:
        return f"always deciding {self.naive.decision}"

    def deploy(self, best: System) -> str:
        """What to deploy, at which cost."""
        return f"Deploy {best.model} {_how(best, self.problem)}: it costs {self._cost(best)}."

    def saves(self, best: System, saving: Interval) -> str:
        """What that saves against not looking."""
        sure = "" if not saving.low <= 0 else ", but the data cannot rule out that it saves nothing"
        return (
            f"Against {self._always}, which costs {self._blind(best)}, it saves "
            f"{self._money(saving)} per case{self._span(saving)}{sure}; its normalised cost is "
            f"{rounded(best.normalized.value, best.normalized)}."
        )

    def none(self, best: System, saving: Interval) -> str:
        """Why nothing is deployed."""
        if isnan(saving.value):
            return (
                "No model can be recommended: a class that the prior expects has no cases here, so "
                "the cost of every model is undefined."
            )
        which = "Deploy none of these models" if self.several else f"Do not deploy {best.model}"
        price = self._blind(best)
        if saving.value < 0:
            return f"{which}: {self._always}, which costs {price}, is cheaper."
        return f"{which}: {self._always} costs as little, {price}, and needs no model."

    def at_best(self, best: System, saving: Interval) -> str:
        """What the best of the systems would cost, if none is deployed."""
        if isnan(saving.value):
            return (
                f"The best decision without looking at the case is {self._always}, which costs "
                f"{self._blind(best)}."
            )
        how = _how(best, self.problem)
        first = f"The best of them, {best.model} {how}," if self.several else f"At best, {how}, it"
        said = f"{first} costs {self._cost(best)}"
        if saving.value == 0:
            return f"{said}."
        more = Interval(-saving.value, -saving.high, -saving.low)
        doubt = "; the data cannot rule out that it is cheaper" if more.low <= 0 else ""
        return f"{said}, {self._money(more)} more{self._span(more)}{doubt}."

    def any_saves(self, best: System, chance_of_saving: float) -> str:
        """How often replicates of the cases speak for a model after all."""
        whose = "any of them" if self.several else best.model
        return self._likely(f"{whose} is cheaper than not looking", chance_of_saving)

    def against_rival(self, rival: System, saving: Interval, apart: bool) -> str:
        """Whether the data tell the first two apart."""
        told = "the data tell the two apart" if apart else "the data cannot tell the two apart"
        if saving.value == 0:
            return f"The runner-up, {rival.name}, costs the same: {told}."
        return (
            f"The runner-up, {rival.name}, costs {self._money(saving)} more per "
            f"case{self._span(saving)}: {told}."
        )

    def probability(self, name: str, own: float) -> str:
        """How often replicates of the cases agree."""
        return self._likely(f"{name} is the cheapest of all", own)

    @staticmethod
    def _likely(what: str, own: float) -> str:
        if isnan(own):
            return "How sure that is cannot be said."
        return f"The probability that {what} is {chance(own)}."


def _how(system: System, problem: Problem) -> str:
    """The rule of a system, with its threshold or its thresholds."""
    if system.rule == AS_DECIDED:
        return "with its own decisions"
    cut = ""
    if system.threshold is not None and isfinite(system.threshold):
        cut = f" ({problem.decisions[-1]} above {point(system.threshold, 4)})"
    elif system.cuts:
        parts = [(part.cheapest[0], part.high) for part in decision_regions(problem).parts]
        low = (f"{decision} up to {point(high, 4)}" for decision, high in parts[:-1])
        cut = f" ({', '.join([*low, f'{parts[-1][0]} above'])})"
    article = "a " if system.rule.startswith("threshold") else ""
    return f"with {article}{system.rule}{cut}"
