"""The verdict, in plain sentences."""

from __future__ import annotations

from stakes.evaluation.uncertainty import Costs
from stakes.evaluation.words import money, percent, quantity, span
from stakes.problem import Problem
from stakes.report import Interval, NaiveDecision, System, Verdict

__all__ = ["verdict_of"]


def verdict_of(
    systems: tuple[System, ...], costs: Costs, naive: NaiveDecision, problem: Problem
) -> Verdict:
    """The cheapest system that may win, against not looking and against the runner-up."""
    ranked = sorted(
        (system for system in systems if system.candidate),
        key=lambda system: (system.cost.value != system.cost.value, system.cost.value),
    )
    best = ranked[0]
    rivals = [system for system in ranked[1:] if system.cost.value == system.cost.value]
    runner_up = rivals[0] if rivals else None
    over_naive = costs.saving(None, best.name)
    over_rival = None if runner_up is None else costs.saving(runner_up.name, best.name)
    apart = None if over_rival is None else over_rival.low > 0
    sentences = [
        _deploy(best, problem, costs.level),
        _against_naive(best, over_naive, naive, problem, costs.level),
    ]
    if runner_up is not None and over_rival is not None:
        sentences.append(_against_rival(best, runner_up, over_rival, bool(apart), problem, costs))
    return Verdict(
        cheapest=best.name,
        runner_up=None if runner_up is None else runner_up.name,
        saving_over_naive=over_naive,
        saving_over_runner_up=over_rival,
        probability_cheapest=best.probability_cheapest,
        told_apart=apart,
        sentences=tuple(sentences),
    )


def _deploy(best: System, problem: Problem, level: float) -> str:
    if best.cost.value != best.cost.value:
        return (
            "No model can be recommended: a class that the prior expects has no cases here, so "
            "every cost is undefined."
        )
    rule = best.rule
    if best.threshold is not None:
        decision = problem.decisions[-1]
        rule += f" ({decision} above {quantity(best.threshold)})"
    return (
        f"Deploy {best.model} with {rule}: it costs {money(best.cost.value, problem.unit)} per "
        f"case ({span(best.cost, level)})."
    )


def _against_naive(
    best: System, saving: Interval, naive: NaiveDecision, problem: Problem, level: float
) -> str:
    always = f"always deciding {naive.decision}, which costs {money(naive.cost, problem.unit)}"
    if saving.value != saving.value:
        return f"The best decision without looking at the case is {always} per case."
    if saving.value <= 0:
        return (
            f"It is no better than {always} per case: not looking at the case saves "
            f"{money(-saving.value, problem.unit)} per case."
        )
    sure = "" if saving.low > 0 else ", but the data cannot rule out that it saves nothing"
    return (
        f"Against {always} per case, it saves {money(saving.value, problem.unit)} per case "
        f"({span(saving, level)}){sure}; its normalised cost is {quantity(best.normalized.value)}."
    )


def _against_rival(
    best: System, rival: System, saving: Interval, apart: bool, problem: Problem, costs: Costs
) -> str:
    told = "the data tell the two apart" if apart else "the data cannot tell the two apart"
    return (
        f"The runner-up, {rival.name}, costs {money(saving.value, problem.unit)} more per case "
        f"({span(saving, costs.level)}): {told}. The probability that {best.name} is the cheapest "
        f"of all is {percent(best.probability_cheapest)}."
    )
