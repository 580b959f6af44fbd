"""Costs of systems where every case has its own costs, and normalised costs: ratios of two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.inference.estimate import Measured
from stakes.inference.likelihood import Support, upper_bound, widened
from stakes.inference.loss_bins import N_BINS, bin_codes, times
from stakes.inference.losses import LossSample
from stakes.inference.profile import profile_threshold
from stakes.inference.sampled_costs import SampledCosts
from stakes.inference.sampling import CostErrors, checked_added
from stakes.inference.selection import checked_names, contenders_among
from stakes.problem import Problem

_STEPS = 40  # of regula falsi, which needs about ten, and of doublings in search of a bracket


@record
class LossCosts(SampledCosts):
    """Costs of systems from what each case costs; `loss_costs` makes it.

    Attributes
    ----------
    losses : above `base`: of systems, of what needs no model and, last, of constant decisions
    problem, base, unaided, alternative, choice, level, added, constant : as in `SampledCosts`

    Examples
    --------
    Two decisions about cases of which half cost 4 if they are missed:

    >>> y, most = np.array([0, 1] * 50), np.array([1.0, 4.0] * 50)
    >>> losses = np.stack([np.tile([0.0, 0, 1, 0], 25), np.where(y, 4.0, 0), np.where(y, 0, 1.0)])
    >>> names = ("new", "always 0", "always 1")
    >>> sample = LossSample(names, losses, most, 0 * most, y, 2, None, None, True, None, unaided=2)
    >>> costs = loss_costs(sample, Problem.zero_one(2))
    >>> costs.cost("new").value, costs.unaided, costs.normalized("new").value
    (0.25, 'always 1', 0.5)
    """

    losses: LossSample

    @property
    def best_constant(self) -> str:
        """The name of the cheapest constant decision."""
        return min(self.constant, key=self._value)

    def cheapest_constant(self) -> tuple[Label, float, Labels]:
        """The cheapest constant decision, its cost per case, and those that tie with it.

        Returns
        -------
        the first decision, its cost, and all that cost as little

        Examples
        --------
        >>> y, most = np.array([0, 1] * 50), np.array([1.0, 4.0] * 50)
        >>> losses = np.stack([np.zeros(100), np.where(y, 4.0, 0), np.where(y, 0, 1.0)])
        >>> names = ("new", "always 0", "always 1")
        >>> sample = LossSample(names, losses, most, 0 * most, y, 2, None, None, True, None, 2)
        >>> loss_costs(sample, Problem.zero_one(2)).cheapest_constant()
        (1, 0.5, (1,))
        """
        decisions, costs = self.problem.decisions, [self._value(name) for name in self.constant]
        # Costs were rounded themselves, and again when the base was subtracted.
        rounding = 1e-12 * (max(costs) - self._perfect)
        rounding += 4 * np.finfo(np.float64).eps * abs(self.base)
        tied = [
            d for d, cost in zip(decisions, costs, strict=True) if cost <= min(costs) + rounding
        ]
        return tied[0], min(costs) + self.base, tuple(tied)

    # Internals -----------------------------------------------------------------------------------

    @property
    def _perfect(self) -> float:
        return self.losses.mean(self.losses.perfect)

    def _pair_support(self, first: str, second: str, factor: float) -> Support:
        return self.losses.difference_support(first, second, factor)

    def _decides_alike(self, first: str, second: str) -> bool:
        return np.array_equal(self.losses.loss(first), self.losses.loss(second))

    @cached_property
    def _bounds(self) -> dict[str, tuple[float, float, float]]:
        bounds = {}
        for name in self._systems:
            support = self.losses.cost_support(name).shifted(self._running(name))
            bounded = self._bounded(self._value(name), support, self._fitted(name))
            bounds[name] = bounded.low, bounded.high, float(support.highest.sum())
        return bounds

    @cached_property
    def _normalized(self) -> dict[str, Measured]:
        losses = self.losses
        below = losses.possible_loss(self.best_constant) - losses.possible.perfect
        unit = losses.mean(below[: losses.truth.size])
        # A ratio has the most degrees of freedom, as in `profile_normalized_interval`.
        threshold = profile_threshold(self.level, np.asarray(losses.most_degrees))
        intervals = {}
        for name in self._systems:
            above = losses.loss(name) - losses.perfect + self._running(name)
            with np.errstate(divide="ignore", invalid="ignore"):
                value = np.asarray(np.divide(losses.mean(above), unit))
            low, high = ratio_bounds(losses, above, below, float(threshold), losses.most(name))
            more = np.asarray(self._fitted(name) / (unit**2 if unit > 0 else np.inf))
            bounds = np.asarray(low), np.asarray(high)
            low, high = map(float, widened(value, bounds, threshold, more))
            intervals[name] = Measured(float(value), max(low, 0.0), high)
        return intervals

    def _fitted(self, name: str) -> float:
        """The variance that fitting adds to the cost of a system."""
        return float(self._fitting((name,))[0, 0])


def loss_costs(
    losses: LossSample,
    problem: Problem,
    *,
    base: float = 0.0,
    level: float = 0.95,
    among: object = None,
    unaided: object = None,
    fitting: FloatArray | None = None,
    added: object = None,
) -> LossCosts:
    """Costs of all systems, compared with each other and with the best that needs no model.

    Parameters
    ----------
    losses : above `base`: of systems, of what else needs no model, and of constant decisions
        The last systems are the constant decisions, in the order of the problem.
    problem : the prior and the decisions; what each case costs is known from its losses
    base : what was subtracted from all losses
    level : confidence level of all intervals
    among : the systems that may win; all that need predictions without it
    unaided : what needs no model and may be taken; all that `losses` hold without it
        If that is nothing, systems are compared with the cheapest of all.
    fitting : (J, J) covariance that fitting adds to the costs, as `fitting_covariance` has it
    added : (J,) what each system costs per case besides its decisions, such as to run it

    Returns
    -------
    the costs, which answer with intervals, savings and what may be the cheapest

    Examples
    --------
    Running the new model costs 0.2 a case, so that it saves 0.05 instead of 0.25:

    >>> y, most = np.array([0, 1] * 50), np.array([1.0, 4.0] * 50)
    >>> losses = np.stack([np.tile([0.0, 0, 1, 0], 25), np.where(y, 4.0, 0), np.where(y, 0, 1.0)])
    >>> names = ("new", "always 0", "always 1")
    >>> sample = LossSample(names, losses, most, 0 * most, y, 2, None, None, True, None, unaided=2)
    >>> costs = loss_costs(sample, Problem.zero_one(2), added=[0.2, 0, 0])
    >>> round(costs.saving("new").value, 2), costs.possible
    (0.05, ('new', 'always 1'))
    """
    losses, names = replace(losses, prior=problem.prior), losses.names
    running = checked_added(added, names)
    errors = losses.errors(fitting, running)
    predicting = names[: len(names) - losses.unaided]
    rivals = errors.among(checked_names(names, predicting if among is None else among))
    constant = tuple(map(str, names[-problem.n_decisions :]))
    allowed = None if unaided is None else _check.labels("unaided", unaided)
    simplest = _cheapest_unaided(errors, constant, losses.unaided, allowed)
    choice = contenders_among(
        rivals,
        errors,
        lambda first: losses.differences(rivals.names, first),
        level=level,
        reach=losses.beyond_all,
        added=running,
        unaided=simplest,
    )
    return LossCosts(
        losses=losses,
        problem=problem,
        base=base,
        choice=choice,
        unaided=simplest,
        alternative=simplest if allowed is None or simplest in allowed else None,
        level=choice.level,
        added=running,
        constant=constant,
    )


def _cheapest_unaided(
    errors: CostErrors, constant: tuple[str, ...], n_unaided: int, allowed: Labels | None
) -> str:
    """The cheapest of what needs no model: of all, or of what is allowed if that is any."""
    others = errors.names[len(errors.names) - n_unaided : len(errors.names) - len(constant)]
    names = (*constant, *map(str, others))  # a constant decision wins ties: it is the simpler one
    if allowed is not None:
        names = tuple(name for name in names if name in allowed) or names
    return min(names, key=lambda name: errors.costs[errors.names.index(name)])


# Normalised costs: the ratio of two mean losses ---------------------------------------------------


def ratio_bounds(
    sample: LossSample,
    above: FloatArray,
    below: FloatArray,
    threshold: float,
    most: FloatArray | None = None,
) -> tuple[float, float]:
    r"""Confidence bounds of a ratio of mean losses, E[above] / E[below], by profile likelihood.

    The test of :math:`E[a - \rho\, b] = 0` is inverted; an upper bound that no ratio reaches is
    infinite, and so is that of a constant decision that was perfect, if it would not be in a class
    without cases. nan where the ratio is undefined.

    Parameters
    ----------
    sample : losses of all cases
    above : (n,) numerator
    below : denominator in each case and each stand-in
        Both are losses above perfect decisions, and not negative.
    threshold : quantile that the likelihood ratio may reach
    most : the most that the decisions of `above` can cost each case and each stand-in; by default
        the costliest

    Returns
    -------
    lower and upper bound

    Examples
    --------
    >>> losses = np.array([[0.0, 1.0, 0.0, 2.0]])
    >>> sample = LossSample(
    ...     names=("a",), losses=losses, costliest=np.full(4, 3.0), perfect=np.zeros(4),
    ...     truth=np.array([0, 0, 1, 1]), n_classes=2, prior=None, weights=None, whole=True,
    ...     clusters=None)
    >>> low, high = ratio_bounds(sample, losses[0], np.ones(4), 3.84)
    >>> round(low, 2), round(high, 2)
    (0.15, 4.16)
    """
    _check.shapes(f"{sample.truth.size}, {sample.possible.perfect.size}", above=above, below=below)
    unit, highest = sample.mean(below[: above.size]), sample.largest(below)
    if np.isnan(unit) or not (highest * sample.shares).any():
        return np.nan, np.nan
    if not np.isfinite(threshold):
        return 0.0, np.inf
    reach = (sample.possible.costliest if most is None else most) - sample.possible.perfect
    a, b, counts = _cells(sample, above, below, reach)
    costly, shares = sample._beyond(above, reach), sample.shares
    q = np.asarray(threshold)

    def greatest_mean(values: FloatArray, top: FloatArray) -> float:
        limits = values.min(axis=1) * shares, np.maximum(top, values.max(axis=1)) * shares
        return float(upper_bound(Support(values * shares[:, None], counts, *limits), q))

    def upper(ratio: float) -> float:
        return greatest_mean(a - ratio * b, costly)

    def lower(ratio: float) -> float:
        return greatest_mean(ratio * b - a, ratio * highest)

    # Both functions are positive at the estimate and fall away from it, which gives brackets.
    # A ratio is accepted as long as some mean of a − ratio · b within the threshold reaches zero.
    if not unit > 0:  # the constant decision was perfect: a case of an absent class shows it is not
        start = _beyond_root(lambda ratio: -lower(ratio), 0.0)
        return 0.0 if lower(0.0) >= 0 else _root(lower, 0.0, start), np.inf
    start = sample.mean(above) / unit
    low = 0.0 if lower(0.0) >= 0 else _root(lower, 0.0, start)
    return low, _root(upper, start, _beyond_root(upper, start))


def _cells(
    sample: LossSample, above: FloatArray, below: FloatArray, reach: FloatArray
) -> list[FloatArray]:
    """Means of two losses and counts, (R, C) each, in bins of the error of their ratio."""
    seen = below[: above.size]
    unit = sample.mean(seen)
    ratio = sample.mean(above) / unit if unit > 0 else 0.0
    linear = above - ratio * seen
    factors, parts = sample._factors(linear, (-ratio * below, reach - ratio * below)), []
    if sample.clusters is not None:  # the more cautious one of two design effects
        factors = np.minimum(factors, sample._factors(above, (0 * below, reach)))
    for rows, factor in zip(sample._strata, factors, strict=True):
        codes = _pair_codes(linear[rows], seen[rows], sample._repeats(rows))
        weights = sample._own(rows)
        mass = np.bincount(codes, weights).astype(np.float64)
        safe = np.where(mass > 0, mass, 1.0)
        means = [np.bincount(codes, times(loss[rows], weights)) / safe for loss in (above, seen)]
        parts.append([*means, mass * factor])
    size = max(len(part[0]) for part in parts)
    return [
        np.stack([np.pad(part[i], (0, size - len(part[i]))) for part in parts]) for i in range(3)
    ]


def _pair_codes(linear: FloatArray, below: FloatArray, repeats: FloatArray | None) -> IntArray:
    """A bin for each error of a ratio; in small samples, for each with its denominator.

    Where the ratio is 0 or 1, cases of different losses may have the same error.
    """
    codes = bin_codes(linear, repeats)
    if (below.size if repeats is None else repeats.sum()) > N_BINS:
        return codes
    pairs = np.column_stack([codes, below])
    return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1)


def _beyond_root(falling: Callable[[float], float], start: float) -> float:
    """A number at which a falling function is no longer positive; inf if none is found."""
    step = max(start, 0.1)
    for _ in range(_STEPS):
        if falling(start + step) <= 0:
            return start + step
        step *= 2
    return np.inf


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function changes its sign, by regula falsi with the Illinois correction."""
    if not high < np.inf:
        return high
    at_low, at_high = function(low), function(high)
    for _ in range(_STEPS):
        if high - low <= 1e-7 * max(abs(high), 1e-9) or at_low == at_high:
            break
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        value = function(middle)
        if abs(value) <= 1e-9 * max(abs(at_low), abs(at_high)):
            return middle
        if (value > 0) == (at_high > 0):
            high, at_high, at_low = middle, value, at_low / 2
        else:
            low, at_low, at_high = middle, value, at_high / 2
    return (low + high) / 2
