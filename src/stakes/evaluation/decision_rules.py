"""Decision rules: what can be done with the predictions of a model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes._value import Value, record
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


@record
class DecisionRule(Value):
    """A model with a way to turn its predictions into decisions.

    Examples
    --------
    Where a miss costs nine times as much as a false alarm, one chance in ten is enough to act:

    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> [rule] = rules_of("forest", "posteriors", problem, table=None, movable=False,
    ...                   recalibrated=False, tuned_apart=False)
    >>> rule.name, rule.threshold
    ('Bayes decisions', 0.1)
    """

    model: str
    name: str
    threshold: float | None = None  # above which the second of two decisions is taken
    eligible: bool = True  # one tuned on these very cases wins only where the model has no other
    prices: tuple[float, ...] = ()  # of the limits of the problem, fitted to all cases
    added: FloatArray | None = None  # (L, K, M), what these prices add to the costs
    capacity: tuple[tuple[float, float, float], ...] = ()  # share, cost and price of other limits
    rounding_loss: float | None = None  # what it costs to decide every case without randomising


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
    """Every rule that the predictions of a model allow, the simplest first.

    A threshold that was tuned on the same cases that measure its cost is shown, but can win only
    where the model has no other rule.

    Parameters
    ----------
    model : the name of the model
    kind : "posteriors", "scores" or "decisions"
    problem : what is at stake
    table : scores of two classes; None where there are none
    stakes : scores weighted by the costs of every case, where these differ
    movable : whether posteriors can be moved to the prior of the problem
    recalibrated : whether there are recalibrated posteriors
    tuned_apart : whether there are decisions by thresholds tuned on other folds

    Yields
    ------
    the rules

    Examples
    --------
    >>> from stakes import Problem
    >>> rules = rules_of("forest", "posteriors", Problem.zero_one(3), table=None, movable=False,
    ...                  recalibrated=True, tuned_apart=False)
    >>> [rule.name for rule in rules]
    ['Bayes decisions', 'Bayes decisions, recalibrated']
    """
    if kind == DECISIONS:
        yield DecisionRule(model, AS_DECIDED)
        return
    threshold = problem.threshold if problem.is_binary and not problem.columns else None
    if kind == POSTERIORS:
        yield DecisionRule(model, BAYES, threshold)
        if movable:
            yield DecisionRule(model, MOVED, threshold)
    if recalibrated:
        yield DecisionRule(model, RECALIBRATED, threshold)
    binary = problem.is_binary
    if problem.columns:
        table, problem = (None, problem) if stakes is None else stakes
    if binary and table is not None:
        best = best_threshold(table, problem).threshold
        if not np.isnan(best):
            honest = kind == POSTERIORS or recalibrated or tuned_apart
            if tuned_apart:
                yield DecisionRule(model, TUNED_APART, float(best))
            if not problem.limits:  # the best threshold would ignore them
                yield DecisionRule(model, TUNED, float(best), eligible=not honest)


def is_turned(costs: FloatArray) -> bool:
    """Whether each of two classes is served best by the other's decision, as prices may make it.

    No threshold above which the second decision is taken says so.
    """
    (right, wrong), (miss, hit) = costs
    return bool(wrong < right and miss < hit)


def is_movable(from_prior: FloatArray, to_prior: FloatArray) -> bool:
    """Whether posteriors that hold for one prior need to be moved to another, and can be.

    Parameters
    ----------
    from_prior : (K,) the prior for which the posteriors hold
    to_prior : (K,) the prior of deployment

    Returns
    -------
    False where the two are equal, or where the first rules out a class that the second expects

    Examples
    --------
    >>> is_movable(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    True
    """
    lost = (from_prior == 0) & (to_prior > 0)
    # Shares that were summed in another order differ in their last digits, but not as priors.
    return bool(np.abs(from_prior - to_prior).max() > 1e-9 and not lost.any())


def may_name(asked: object, models: Iterable[str]) -> bool:
    """Whether a text is the name of a model, or may be that of one of its systems.

    Parameters
    ----------
    asked : what was asked for
    models : the names of the models

    Returns
    -------
    False where no report on these models has a system of that name

    Examples
    --------
    >>> [may_name(text, ["net"]) for text in ("net", "net (as is)", "net (raw)", "raw")]
    [True, True, False, False]
    """
    known = (name for model in models for name in (model, *(_named(model, rule) for rule in _TAGS)))
    return isinstance(asked, str) and asked in known


def _named(model: str, rule: str) -> str:
    return f"{model} ({_TAGS[rule]})"


def rules_by_system(rules: Iterable[DecisionRule], problem: Problem) -> dict[str, DecisionRule]:
    """Rules by the name of their system: the name of the model, and the rule in brackets.

    Parameters
    ----------
    rules : the rules of all models; at least one
    problem : what is at stake, for the message where there is no rule

    Returns
    -------
    rules by the name of their system, in the same order

    Examples
    --------
    >>> from stakes import Problem
    >>> list(rules_by_system([DecisionRule("forest", "Bayes decisions")], Problem.zero_one(2)))
    ['forest (as is)']
    """
    listed = list(rules)
    if not listed:
        raise InputError(
            "models must allow at least one decision rule; raw scores alone allow none for "
            f"{problem.n_decisions} decisions. Recalibrate them, say by isotonic regression."
        )
    systems = [_named(rule.model, rule.name) for rule in listed]
    models = dict.fromkeys(rule.model for rule in listed)
    _check.labels("the names of models with their rules", [*models, *systems])
    return dict(zip(systems, listed, strict=True))
