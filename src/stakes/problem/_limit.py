"""Limits on decisions, and what follows from costs alone."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan, log, nan
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label, Labels
from stakes._text import number, percent
from stakes._value import Value, record
from stakes.errors import InputError

# Limit: a bound on how often a decision may, or must, be taken -----------------------------------

_ROUNDING = 1e-12  # rounding error of sums of shares


@record(repr=False)
class Limit(Value):
    """A bound on the share of a decision, on its rate within a class, or on its count in a batch.

    It is made by `Limit.share`, `Limit.rate` or `Limit.count`. Shares and rates are those under the
    prior of deployment, and belong to a problem. Counts belong to one batch, in ``rule.decide``.

    Parameters
    ----------
    decision : label of the decision
    given : class within which it is counted; None for all cases
    at_most : upper bound
    at_least : lower bound
    counted : whether the bounds are counts of a batch

    Examples
    --------
    >>> print(Limit.share("review", at_most=0.05))
    review: at most 5 % of cases
    >>> print(Limit.rate("approve", given="fraud", at_most=0.1))
    approve: at most 10 % of fraud
    >>> print(Limit.count("review", 200))
    review: at most 200 cases
    """

    decision: Label
    given: Label | None = None  # the class within which a rate is counted
    at_most: float | None = None
    at_least: float | None = None
    counted: bool = False  # whether bounds are numbers of cases of a batch, and not shares

    def __post_init__(self) -> None:
        (decision,) = _check.labels("decision", (self.decision,))
        within = None if self.given is None else _check.labels("given", (self.given,))[0]
        self._refuse_mixed(decision)
        stated = [name for name in ("at_most", "at_least") if getattr(self, name) is not None]
        if not stated or (len(stated) > 1 and not self.counted):
            example = "at_most=200" if self.counted else "at_most=0.05"
            raise InputError(
                f"at_most or at_least must be stated, one of them; the limit on {decision!r} has "
                + ("both. Write two limits for a range." if stated else f"neither. Write {example}")
                + ("" if stated else ", say."),
            )
        high = np.inf if self.counted else 1.0
        bounds = {
            name: _check.number(name, getattr(self, name), low=0, high=high) for name in stated
        }
        if self.counted:
            bounds = {name: _check.whole(name, bound, low=0) for name, bound in bounds.items()}
        if bounds.get("at_least", 0) > bounds.get("at_most", np.inf):
            raise InputError(
                f"at_least must not exceed at_most; got {bounds['at_least']:g} and "
                f"{bounds['at_most']:g} for {decision!r}. Exchange them."
            )
        self._fill({"decision": decision, "given": within, **bounds})

    def _refuse_mixed(self, decision: Label) -> None:
        if not isinstance(self.counted, bool):
            raise InputError(
                f"counted must be True or False; got {self.counted!r}. Write Limit.count, "
                f"Limit.share or Limit.rate."
            )
        if self.counted and self.given is not None:
            raise InputError(
                f"given must be left out of a count, because the classes of a batch are not known; "
                f"the one on {decision!r} has {self.given!r}. Write Limit.rate, or leave it out."
            )

    @classmethod
    def share(
        cls, decision: Label, *, at_most: float | None = None, at_least: float | None = None
    ) -> Self:
        """A bound on the share of all cases that get a decision, once deployed.

        Parameters
        ----------
        decision : a decision of the problem
        at_most, at_least : one of them, within [0, 1]

        Returns
        -------
        Limit

        Examples
        --------
        >>> Limit.share("review", at_most=0.05).bound
        0.05
        """
        return cls(decision, None, at_most, at_least)

    @classmethod
    def rate(
        cls,
        decision: Label,
        *,
        given: Label,
        at_most: float | None = None,
        at_least: float | None = None,
    ) -> Self:
        """A bound on the share of the cases of one class that get a decision.

        Parameters
        ----------
        decision : a decision of the problem
        given : the class
        at_most, at_least : one of them, within [0, 1]

        Returns
        -------
        Limit

        Examples
        --------
        A recall of 90 % leaves at most a tenth of the ill without treatment:

        >>> print(Limit.rate("treat", given="ill", at_least=0.9))
        treat: at least 90 % of ill
        """
        if given is None:
            raise InputError(
                "given must be a class of the problem; got None. Write Limit.share for a share of "
                "all cases."
            )
        return cls(decision, given, at_most, at_least)

    @classmethod
    def count(
        cls, decision: Label, at_most: int | None = None, *, at_least: int | None = None
    ) -> Self:
        """A bound on how many cases of one batch get a decision, for ``rule.decide``.

        Parameters
        ----------
        decision : a decision of the problem
        at_most, at_least : one of them or both, whole numbers; equal ones fix the count

        Returns
        -------
        Limit

        Examples
        --------
        >>> print(Limit.count("review", 200, at_least=200))
        review: exactly 200 cases
        """
        return cls(decision, None, at_most, at_least, counted=True)

    @property
    def bound(self) -> float:
        """The share, rate or count that must not be exceeded, or that must be reached."""
        return float(self.at_most if self.at_most is not None else self.at_least or 0.0)

    @property
    def sign(self) -> float:
        """1 for an upper bound, −1 for a lower one."""
        return 1.0 if self.at_most is not None else -1.0

    def excess(self, value: Any) -> Any:
        """By how much a share or rate exceeds the limit; negative where the limit is kept.

        Parameters
        ----------
        value : the share or rate

        Returns
        -------
        the excess, of the shape of `value`

        Examples
        --------
        >>> round(Limit.share("review", at_most=0.05).excess(0.08), 3)
        0.03
        """
        return self.sign * (value - self.bound)

    def cells(self, classes: Labels, decisions: Labels, prior: FloatArray) -> FloatArray:
        """What the limit counts: the weight (K, M) of each cell of a table of joint shares.

        Parameters
        ----------
        classes : labels of the classes
        decisions : labels of the decisions
        prior : class shares, (K,)

        Returns
        -------
        weights, (K, M)

        Examples
        --------
        >>> import numpy as np
        >>> limit = Limit.rate("approve", given="fraud", at_most=0.1)
        >>> limit.cells(("legit", "fraud"), ("approve", "block"), np.array([0.9, 0.1]))
        array([[ 0.,  0.],
               [10.,  0.]])
        """
        _check.shapes(f"{len(classes)}", prior=prior)
        counted = np.zeros((len(classes), len(decisions)))
        column = decisions.index(self.decision)
        if self.given is None:
            counted[:, column] = 1.0
            return counted
        row = classes.index(self.given)
        if not prior[row] > 0:
            raise InputError(
                f"limits must be on classes that occur; the share of {self.given!r} is zero, so "
                f"that its rate is undefined. Gather cases of it, or leave this limit out."
            )
        counted[row, column] = 1 / prior[row]
        return counted

    def __str__(self) -> str:
        if self.counted:
            last = self.at_least if self.at_most is None else self.at_most
            return f"{self.decision}: {self._counts()} {'case' if last == 1 else 'cases'}"
        word = "at most" if self.sign > 0 else "at least"
        return f"{self.decision}: {word} {_exact_percent(self.bound)} of {self.base}"

    @property
    def base(self) -> str:
        """What a share is a part of, in words."""
        return "cases" if self.given is None else str(self.given)

    def _counts(self) -> str:
        if self.at_most == self.at_least:
            return f"exactly {self.at_most:g}"
        words = (("at least", self.at_least), ("at most", self.at_most))
        return " and ".join(f"{word} {bound:g}" for word, bound in words if bound is not None)

    def __repr__(self) -> str:
        kind = "count" if self.counted else "share" if self.given is None else "rate"
        parts = [repr(self.decision)] + [
            f"{name}={value!r}"
            for name in ("given", "at_most", "at_least")
            if (value := getattr(self, name)) is not None
        ]
        return f"Limit.{kind}({', '.join(parts)})"


def _exact_percent(share: float) -> str:
    """A stated bound in percent, without rounding to "less than 0.1 %" or the like."""
    return (
        f"{number(100 * share, 6)} %" if 0 < share < 0.001 or 0.999 < share < 1 else percent(share)
    )


def listed_limits(limits: object, example: str) -> tuple[Limit, ...]:
    """The limits as a tuple; anything that is not a `Limit`, or a list of them, is refused.

    Parameters
    ----------
    limits : a `Limit`, or several
    example : what a correct call looks like, for the message

    Returns
    -------
    the limits

    Examples
    --------
    >>> listed_limits([Limit.share("review", at_most=0.05)], "limits=[…]")
    (Limit.share('review', at_most=0.05),)
    """
    if isinstance(limits, Limit):
        return (limits,)
    fault = None
    if isinstance(limits, str | Mapping) or not _check.is_listed(limits):
        fault = f"got {type(limits).__name__}"
    listed: tuple[Any, ...] = () if fault else tuple(limits)  # type: ignore[arg-type]
    strange = [limit for limit in listed if not isinstance(limit, Limit)]
    if strange:
        fault = f"one is {type(strange[0]).__name__}"
    if fault:
        raise InputError(f"limits must be a list of Limit; {fault}. Write [{example}].")
    return listed


def read_limits(limits: object, classes: Labels, decisions: Labels) -> tuple[Limit, ...]:
    """The limits of a problem, which must name its labels and must not contradict each other."""
    if limits is None:
        return ()
    listed = listed_limits(limits, f"Limit.share({decisions[0]!r}, at_most=0.05)")
    for limit in listed:
        if limit.counted:
            raise InputError(
                f"limits of a problem must be shares or rates; {str(limit)!r} counts cases of one "
                f"batch. Pass it to rule.decide(batch, limits=[…]), or write Limit.share.",
                argument="limits",
            )
        for name, label, known in (
            ("decision", limit.decision, decisions),
            ("class", limit.given, classes),
        ):
            if label is not None and label not in known:
                raise InputError(
                    f"limits must name a {name} of the problem; {label!r} is none of {known}. "
                    f"{_check.meant(label, known)}",
                    argument="limits",
                )
    _refuse_contradictions(listed, decisions)
    return listed


def _refuse_contradictions(limits: tuple[Limit, ...], decisions: Labels) -> None:
    """Refuse bounds that no decisions can keep, because shares of the same cases sum to one."""
    for base in dict.fromkeys(limit.given for limit in limits):
        of_base = [limit for limit in limits if limit.given == base]
        low, high = dict.fromkeys(decisions, 0.0), dict.fromkeys(decisions, 1.0)
        for limit in of_base:
            if limit.sign > 0:
                high[limit.decision] = min(high[limit.decision], limit.bound)
            else:
                low[limit.decision] = max(low[limit.decision], limit.bound)
            rest_low = sum(low.values()) - low[limit.decision]
            rest_high = sum(high.values()) - high[limit.decision]
            feasible = (1 - rest_high, high[limit.decision], 1 - rest_low)
            bad_low = limit.sign < 0 and low[limit.decision] > min(feasible[1:]) + _ROUNDING
            bad_high = limit.sign > 0 and (
                high[limit.decision] < max(low[limit.decision], feasible[0]) - _ROUNDING
            )
            if bad_low or bad_high:
                closest = min(feasible[1:]) if bad_low else max(low[limit.decision], feasible[0])
                raise infeasible(limit, closest)


def infeasible(limit: Limit, closest: float, because: str = "the limits before it") -> InputError:
    """The error about a limit that cannot be kept, with the closest value that can.

    Parameters
    ----------
    limit : the limit
    closest : the closest value that can be kept
    because : what stands in the way

    Returns
    -------
    the error to raise

    Examples
    --------
    >>> error = infeasible(Limit.share("review", at_most=0.05), 0.1, "the other limits allow")
    >>> type(error).__name__
    'InputError'
    """
    _check.require("limit", limit, Limit)
    _check.one_number("closest", closest)
    word = "at_most" if limit.sign > 0 else "at_least"
    return InputError(
        f"limits must be such that some rule keeps all of them; {str(limit)!r} cannot be kept: "
        f"the closest value that {because} allow is {closest:.6g}. Write {word}={closest:.6g}, or "
        f"loosen another limit."
    )


# -------------------------------------------------------------------------------------------------
# What follows from costs alone: the best constant decision, thresholds, equivalent problems.

TIE = 1e-12  # relative to the largest cost: what rounding may do to equal costs


@record
class Naive(Value):
    """The best decision made without looking at the case.

    `decision` is the first of the `tied` ones in the problem's order; `cost` is per case.

    Parameters
    ----------
    decision : its label
    cost : what it costs per case
    tied : decisions that cost the same

    Examples
    --------
    One case in twenty is positive, so that never raising an alarm costs 9/20 per case:

    >>> from stakes import Problem
    >>> naive = Problem.binary(false_alarm=1, miss=9, prior=[0.95, 0.05]).naive
    >>> naive.decision, naive.cost, naive.tied
    (0, 0.45, (0,))
    """

    decision: Label
    cost: float
    tied: Labels


def naive_of(prior: FloatArray, costs: FloatArray, decisions: Labels) -> Naive:
    """The decision of the least cost under a prior (K,), of costs (K, M)."""
    # Regrets, because an amount that all decisions about a class share would hide differences.
    regret = costs - costs.min(axis=1, keepdims=True)
    above = prior @ regret
    rounding = 2 * np.finfo(np.float64).eps * float(np.abs(costs).max())
    tied = np.flatnonzero(above <= above.min() + TIE * float(regret.max()) + rounding)
    return Naive(
        decision=decisions[tied[0]],
        cost=float((prior @ costs).min()),
        tied=tuple(decisions[j] for j in tied),
    )


def excess(costs: FloatArray) -> tuple[float, float]:
    """What a false alarm and a miss cost more than the right decision (ferrer-ec, eq 18)."""
    if costs.shape != (2, 2):
        raise InputError(
            f"a threshold needs two classes and two decisions; this problem has "
            f"{costs.shape[0]} and {costs.shape[1]}. bayes_decisions works for any shape."
        )
    (c00, c01), (c10, c11) = costs.tolist()
    a, b = c01 - c00, c10 - c11
    if a < 0 and b < 0:
        raise InputError(
            "decisions must be in the order of the classes they suit; here each class is "
            "served best by the other's decision. Swap the decisions."
        )
    return a, b


def bayes_threshold(a: float, b: float) -> float:
    """The probability above which the positive decision is cheaper: a/(a + b)."""
    if min(a, b) >= 0:
        return a / (a + b) if a + b > 0 else nan
    return -inf if a < 0 else inf


def log_odds_threshold(a: float, b: float) -> float:
    """The Bayes threshold on log-odds: log(a/b)."""
    if min(a, b) > 0:
        return log(a) - log(b)
    threshold = bayes_threshold(a, b)
    return nan if isnan(threshold) else (-inf if threshold <= 0 else inf)


def same_prior(ours: FloatArray | None, theirs: FloatArray | None) -> None:
    """Refuse stated priors that differ."""
    if ours is None and theirs is None:
        return
    if ours is None or theirs is None or not np.allclose(ours, theirs, rtol=0, atol=1e-12):
        raise InputError(
            "problems must state one prior, or all none; two of them differ. "
            "Decide on the deployment prior first, with with_prior."
        )


def same_limits(ours: tuple[Limit, ...], theirs: tuple[Limit, ...]) -> None:
    """Refuse limits that differ."""
    if set(ours) != set(theirs):
        raise InputError(
            "problems must have the same limits, or none; two of them differ. "
            "Decide on the limits first, with with_limits."
        )


def proportional(
    ours: FloatArray, theirs: FloatArray, *, noise: tuple[FloatArray, FloatArray]
) -> bool:
    """Whether one is a positive multiple of the other, entry by entry and to rounding.

    `noise` bounds what rounding may have done to the entries of each.
    """
    largest = np.unravel_index(np.argmax(np.abs(ours)), ours.shape)
    if ours[largest] == 0 or theirs[largest] == 0:
        return bool(not ours.any() and not theirs.any())
    factor = theirs[largest] / ours[largest]
    slack = 1e-9 * np.abs(theirs) + noise[1] + abs(factor) * noise[0]
    return bool(factor > 0 and (np.abs(factor * ours - theirs) <= slack).all())


def noise(costs: FloatArray) -> FloatArray:
    """Bounds on the rounding errors of differences within each class, (K, 1)."""
    return np.asarray(8 * np.finfo(np.float64).eps * np.abs(costs).max(axis=1, keepdims=True))
