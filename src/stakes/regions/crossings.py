"""Where two models cost the same: crossing points as measures of what they decided."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.regions.decisions import line_ends, prior_line_ends
from stakes.tally import JointCounts

__all__ = [
    "Ends",
    "as_ratio",
    "cost_proportion_crossing",
    "cost_ratio_crossing",
    "prior_crossing",
    "prior_ends",
    "proportion_ends",
    "refuse_separate",
    "rising_root",
    "shares_of",
]

# What a first model costs above a second at both ends of an axis.
Ends = tuple[FloatArray, FloatArray]


def _root(ends: Ends) -> FloatArray:
    """Where a line from the first number at 0 to the second at 1 crosses zero; nan if nowhere."""
    start, end = ends
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(start * end < 0, start / (start - end), np.nan)


def rising_root(ends: Ends) -> FloatArray:
    """Where the line crosses zero from below: the first model is the cheaper one before it."""
    return np.where(ends[0] < 0, _root(ends), np.nan)


def proportion_ends(
    joint: JointCounts, first: Label, second: Label, shares: FloatArray | None
) -> Ends:
    """Loss of the first above the second at cost proportions 0 and 1."""
    (start, end), (other_start, other_end) = (
        line_ends(joint.model(model), shares) for model in (first, second)
    )
    return start - other_start, end - other_end


def prior_ends(
    joint: JointCounts, problem: Problem, label: Label, first: Label, second: Label
) -> Ends:
    """Cost of the first above the second at priors 0 and 1 of one class."""
    (start, end), (other_start, other_end) = (
        prior_line_ends(joint.model(model), problem, label) for model in (first, second)
    )
    return start - other_start, end - other_end


def as_ratio(proportion: FloatArray) -> FloatArray:
    """Cost proportions as ratios false alarm : miss."""
    return np.asarray(proportion / (1 - proportion))


def cost_proportion_crossing(
    joint: JointCounts, first: Label, second: Label, *, prior: object
) -> FloatArray:
    """Cost proportion (…) at which two models cost the same; nan where one is always cheaper.

    A measure of JointCounts, so that `bootstrap` takes it.

    Examples
    --------
    >>> joint = JointCounts.from_decisions(
    ...     [0] * 10 + [1] * 10,
    ...     {"a": [0] * 6 + [1] * 14, "b": [0] * 9 + [1] * 1 + [0] * 2 + [1] * 8},
    ...     Problem.zero_one(2))
    >>> float(cost_proportion_crossing(joint, "a", "b", prior=None).round(4))
    0.4
    """
    return _root(proportion_ends(joint, first, second, shares_of(joint, prior)))


def cost_ratio_crossing(
    joint: JointCounts, first: Label, second: Label, *, prior: object
) -> FloatArray:
    """Ratio false alarm : miss (…) at which two models cost the same; nan where they never do.

    The c/(1 − c) of `cost_proportion_crossing`, a measure too.
    """
    return as_ratio(cost_proportion_crossing(joint, first, second, prior=prior))


def prior_crossing(
    joint: JointCounts, problem: Problem, label: Label, first: Label, second: Label
) -> FloatArray:
    """Prior (…) of one class at which two models cost the same; nan where they never do.

    The other classes keep their proportions; a measure, as `cost_proportion_crossing` is.
    """
    return _root(prior_ends(joint, problem, label, first, second))


def shares_of(joint: JointCounts, prior: object) -> FloatArray | None:
    """The prior, checked against the classes of the models, if one is stated."""
    refuse_separate(joint)
    return None if prior is None else _check.prior("prior", prior, joint.classes)


def refuse_separate(joint: object) -> None:
    """Refuse all but decisions about the same cases: only these can be redrawn together."""
    if not isinstance(joint, JointCounts):
        raise InputError(
            f"joint must be JointCounts; got {type(joint).__name__}. Tally the decisions of all "
            f"models together with JointCounts.from_decisions."
        )
