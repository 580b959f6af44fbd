"""Where in cost space and prior space each model is the cheapest, its decisions as they are.

Decisions that are fixed cost an amount that is linear in every cost and, along a line of priors, in
the prior; so the regions are exact intervals between crossing points of straight lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.measures.cost import expected_cost_per_class
from stakes.problem import Problem
from stakes.regions.partition import Regions, lowest
from stakes.tally import Counts, JointCounts

__all__ = [
    "Models",
    "as_cost_ratios",
    "constant_rules",
    "cost_proportion_curves",
    "cost_proportion_regions",
    "counts_of",
    "decision_regions",
    "line_ends",
    "prior_curves",
    "prior_line_ends",
    "prior_regions",
]

Models = JointCounts | Mapping[Any, Counts]


def counts_of(models: Models) -> dict[Label, Counts]:
    """The counts of every model, whose cases must be the same."""
    if isinstance(models, JointCounts):
        return {model: models.model(model) for model in models.models}
    if not isinstance(models, Mapping) or not models:
        raise InputError(
            f"models must be JointCounts, or a mapping from model to Counts; got "
            f"{type(models).__name__}. Name at least one model."
        )
    for model, counts in models.items():
        if not isinstance(counts, Counts):
            raise InputError(
                f"models must be JointCounts, or a mapping from model to Counts; that of {model!r} "
                f"is {type(counts).__name__}. Tally its decisions with Counts.from_decisions."
            )
    first = next(iter(models.values()))
    classes, decisions = first.classes, first.decisions
    for model, counts in models.items():
        classes = _check.same_labels("the classes of the models", classes, counts.classes)
        decisions = _check.same_labels("the decisions of the models", decisions, counts.decisions)
        if counts.values.shape != first.values.shape or not np.allclose(
            counts.shares, first.shares, rtol=0, atol=1e-9, equal_nan=True
        ):
            raise InputError(
                f"models must have decided about the same cases; the counts of {model!r} have "
                f"another shape or other class shares than the first. Tally all models on one "
                f"data set, or reweight them with with_prior."
            )
    return dict(models)


# Cost proportion ---------------------------------------------------------------------------------


def line_ends(counts: Counts, prior: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    r"""Loss (…) at cost proportions 0 and 1: :math:`2\pi_1 FNR` and :math:`2\pi_0 FPR`.

    For two classes and two decisions; between the ends the loss is linear. nan where a class that
    counts has no cases.
    """
    if counts.values.shape[-2:] != (2, 2):
        raise InputError(
            f"a cost proportion needs two classes and two decisions; the counts are "
            f"{counts.n_classes} by {counts.n_decisions}. sensitivity works for any shape."
        )
    shares = counts.shares if prior is None else prior
    with np.errstate(invalid="ignore"):
        rates = counts.values / counts.values.sum(axis=-1, keepdims=True)
    misses = np.where(shares[..., 1] > 0, shares[..., 1] * rates[..., 1, 0], 0.0)
    alarms = np.where(shares[..., 0] > 0, shares[..., 0] * rates[..., 0, 1], 0.0)
    return 2 * misses, 2 * alarms


def cost_proportion_curves(models: Models, *, prior: object) -> dict[Label, Curve]:
    """Loss 2{c π₀ FPR + (1 − c) π₁ FNR} of every model at every cost proportion c."""
    counts = _single(counts_of(models))
    classes = next((one.classes for one in counts.values() if one.classes), (0, 1))
    shares = None if prior is None else _check.prior("prior", prior, classes)
    return {
        model: _line(*(float(end) for end in line_ends(one, shares)))
        for model, one in counts.items()
    }


def cost_proportion_regions(models: Models, *, prior: object) -> Regions:
    r"""Intervals of the cost proportion in which each model is the cheapest, as it decides now.

    The cost proportion c is the cost of a false alarm over that of a false alarm and a miss
    together. Under a prior (None: the shares of the data) the loss is linear in c, and the regions
    lie between the crossing points of straight lines.

    Examples
    --------
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> print(cost_proportion_regions(models, prior=None))
    cost proportion  cheapest
    0 to 0.3333       careful
    0.3333 to 1          bold
    """
    return lowest(cost_proportion_curves(models, prior=prior), axis="cost proportion")


def as_cost_ratios(regions: Regions) -> Regions:
    """Regions of the cost proportion as regions of the ratio false alarm : miss, 0 to inf.

    Regions of anything else are refused.

    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> print(as_cost_ratios(cost_proportion_regions(models, prior=None)))
    false alarm : miss  cheapest
    0 to 0.5             careful
    0.5 to inf              bold
    """
    if regions.axis != "cost proportion":
        raise InputError(
            f"regions must be those of the cost proportion; these are of the {regions.axis}. Make "
            f"them with cost_proportion_regions, or skews_as_cost_proportions for skews."
        )
    return regions.mapped(lambda c: c / (1 - c) if c < 1 else np.inf, "false alarm : miss")


# Prior -------------------------------------------------------------------------------------------


def prior_line_ends(
    counts: Counts, problem: Problem, label: Label
) -> tuple[FloatArray, FloatArray]:
    """Expected cost (…) at priors 0 and 1 of one class; the other classes move in proportion.

    Their proportions are those of the problem's prior, or of the data where it states none. nan
    where a class that counts has no cases.
    """
    if label not in problem.classes:
        raise InputError(f"label must be one of the classes {problem.classes}; got {label!r}.")
    place = problem.classes.index(label)
    per_class = expected_cost_per_class(counts, problem)
    prior = counts.shares if problem.prior is None else problem.prior
    others = np.delete(prior, place, axis=-1)
    with np.errstate(invalid="ignore"):
        others = others / others.sum(axis=-1, keepdims=True)
    costs = np.where(others == 0, 0.0, np.delete(per_class, place, axis=-1))
    return np.asarray(np.sum(others * costs, axis=-1)), per_class[..., place]


def prior_curves(models: Models, problem: Problem, label: Label) -> dict[Label, Curve]:
    """Expected cost of every model at every prior of one class."""
    return {
        model: _line(*(float(end) for end in prior_line_ends(counts, problem, label)))
        for model, counts in _single(counts_of(models)).items()
    }


def prior_regions(models: Models, problem: Problem, label: Label) -> Regions:
    """Intervals of the prior of one class in which each model is the cheapest.

    The costs are the problem's, the decisions stay as they are, the other classes keep their
    proportions to each other.

    Examples
    --------
    >>> models = {"careful": Counts([[60, 40], [5, 95]]), "bold": Counts([[90, 10], [20, 80]])}
    >>> problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
    >>> print(prior_regions(models, problem, "ill"))
    prior of ill  cheapest
    0 to 0.2          bold
    0.2 to 1       careful
    """
    return lowest(prior_curves(models, problem, label), axis=f"prior of {label}")


def decision_regions(problem: Problem) -> Regions:
    """Intervals of the probability of the second class in which each decision is the cheapest.

    For two classes and any number of decisions: where the Bayes decision changes.

    Examples
    --------
    >>> print(decision_regions(Problem({"good": {"grant": 0, "review": 0.3, "decline": 1},
    ...                                 "bad": {"grant": 5, "review": 0.3, "decline": 0}})))
    P(bad)       cheapest
    0 to 0.06       grant
    0.06 to 0.7    review
    0.7 to 1      decline
    """
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes, so that one probability decides; it has "
            f"{problem.n_classes}. bayes_decisions takes any number of them."
        )
    lines = {
        decision: _line(*costs)
        for decision, costs in zip(problem.decisions, problem.costs.T.tolist(), strict=True)
    }
    return lowest(lines, axis=f"P({problem.classes[1]})")


def constant_rules(counts: Counts, problem: Problem) -> dict[Label, Counts]:
    """The rules that take one decision about every case, as candidates beside the models.

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["pass", "stop"])
    >>> rules = constant_rules(Counts([[8, 2], [1, 4]]), problem)
    >>> {rule: counts.values.tolist() for rule, counts in rules.items()}
    {'always pass': [[10.0, 0.0], [5.0, 0.0]], 'always stop': [[0.0, 10.0], [0.0, 5.0]]}
    """
    sizes = counts.values.sum(axis=-1)
    rules: dict[Label, Counts] = {}
    for place, decision in enumerate(problem.decisions):
        values = np.zeros(counts.values.shape)
        values[..., place] = sizes
        rules[f"always {decision}"] = Counts(
            values, classes=counts.classes, decisions=counts.decisions
        )
    return rules


def _single(models: dict[Label, Counts]) -> dict[Label, Counts]:
    for counts in models.values():
        if counts.values.ndim != 2:
            raise InputError(
                f"models must have no leading axes; theirs are {counts.values.shape[:-2]}. "
                f"Index one group."
            )
    return models


def _line(start: float, end: float) -> Curve:
    if np.isnan(start) or np.isnan(end):
        return Curve.undefined(0.0, 1.0)
    return Curve([0.0, 1.0], [[start, end - start]])
