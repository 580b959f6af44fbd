"""The rule of a system in words that can be followed: its decisions, and where they change."""

from __future__ import annotations

from math import isfinite

from stakes._text import probability
from stakes.problem import Problem
from stakes.report import AS_DECIDED, MOVED, POSTERIOR_RULES, RECALIBRATED, System

_CORRECTED = "the corrected probability, as report.rule() and --rule-out do"


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
    if not taken:
        return f"by {_CORRECTED}" if corrects else ""
    if len(taken) == 1:
        return f"always {taken[0][0]}"
    if not system.on_own_column:
        return f"by {_CORRECTED}: {_listed(system, '')}"
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
