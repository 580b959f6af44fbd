"""Decision rules: what can be done with the predictions of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.report import AS_DECIDED, BAYES, MOVED, RECALIBRATED, TUNED, TUNED_APART
from stakes.rows import DECISIONS, POSTERIORS
from stakes.tally import ScoreTable
from stakes.thresholds import StakesTable, best_threshold

_TAGS = {
    AS_DECIDED: "as decided",
    BAYES: "as is",
    MOVED: "moved",
    RECALIBRATED: "recalibrated",
    TUNED: "tuned",
    TUNED_APART: "tuned out of fold",
}


@dataclass(frozen=True)
class DecisionRule:
    """A model with a way to decide."""

    model: str
    name: str
    threshold: float | None = None  # above which the second of two decisions is taken
    eligible: bool = True  # a rule tuned on these very cases is shown, but cannot win
    prices: tuple[float, ...] = ()  # of the limits of the problem, fitted to all cases
    added: FloatArray | None = None  # (L, K, M), what they add to the costs
    capacity: tuple[tuple[float, float, float], ...] = ()  # share, cost and price of other limits
    rounding_loss: float | None = None  # what it costs that it decides no case by chance


def rules_of(
    model: str,
    kind: str,
    problem: Problem,
    *,
    table: ScoreTable | None,
    stakes: StakesTable | None = None,
    movable: bool,
    recalibrated: bool,
    tuned_apart: bool,
) -> Iterator[DecisionRule]:
    """Every rule that a model allows, the plainest first.

    `stakes` are the scores weighed by the costs of every case, where these differ.

    A threshold that was tuned on the very cases that measure it is shown, but can win only for
    want of any other rule.
    """
    if kind == DECISIONS:
        yield DecisionRule(model, AS_DECIDED)
        return
    binary = (problem.n_classes, problem.n_decisions) == (2, 2)
    threshold = problem.threshold if binary and not problem.columns else None
    if kind == POSTERIORS:
        yield DecisionRule(model, BAYES, threshold)
        if movable:
            yield DecisionRule(model, MOVED, threshold)
    if recalibrated:
        yield DecisionRule(model, RECALIBRATED, threshold)
    if problem.columns:
        table, problem = (None, problem) if stakes is None else stakes
    if binary and table is not None:
        best = best_threshold(table, problem).threshold
        if not np.isnan(best):
            honest = kind == POSTERIORS or recalibrated or tuned_apart
            if tuned_apart:
                yield DecisionRule(model, TUNED_APART, float(best))
            if not problem.limits:  # which the best threshold would not keep
                yield DecisionRule(model, TUNED, float(best), eligible=not honest)


def is_movable(held: FloatArray, prior: FloatArray) -> bool:
    """Whether posteriors that hold for one prior can and must be moved to another."""
    lost = (held == 0) & (prior > 0)
    return bool(np.abs(held - prior).max() > 1e-9 and not lost.any())


def named(rules: Iterable[DecisionRule], problem: Problem) -> dict[str, DecisionRule]:
    """Rules by the name of their system: the model's, and the rule's in brackets."""
    listed = list(rules)
    if not listed:
        raise InputError(
            "models must allow at least one decision rule; raw scores alone allow none for "
            f"{problem.n_decisions} decisions. Recalibrate them, say by isotonic regression.",
            argument="models",
        )
    systems = [f"{rule.model} ({_TAGS[rule.name]})" for rule in listed]
    models = dict.fromkeys(rule.model for rule in listed)
    _check.labels("the names of models with their rules", [*models, *systems])
    return dict(zip(systems, listed, strict=True))
