"""Intervals of costs by profile likelihood: deterministic, from the tally alone.

The derivation is in `likelihood`. Many systems or pairs at once, at any threshold, are
`profile_bounds` of what `supports` makes of their tallies. Normalised costs are ratios to the cost
of blind decisions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray
from stakes.errors import InputError
from stakes.inference.effective_cases import Cells, effective_factors
from stakes.inference.estimate import Interval
from stakes.inference.likelihood import Support, profile_bounds, widened
from stakes.inference.normals import t_quantile
from stakes.inference.schemes import Clusters
from stakes.inference.supports import (
    checked_reachable,
    cost_range,
    cost_support,
    difference_support,
    sampled_cells,
)
from stakes.inference.tilted_shares import costliest_shares, pseudo_cases
from stakes.measures import prior_of
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts, JointTally

_STEPS = 50  # Dinkelbach's method needs about six
_LARGEST_RATIO = 1e12  # times the largest ratio of two costs; bounds beyond are infinite
MOST_BLIND = 256  # blind decisions considered; if there are more, the cheapest ones on these data


def profile_interval(
    tally: Counts | JointCounts,
    problem: Problem,
    level: float = 0.95,
    *,
    reachable: object = None,
    squares: object = None,
    scheme: Clusters | None = None,
) -> Interval:
    """Interval of the expected cost of a model, or of the difference of two on the same cases.

    The likelihood-ratio interval over all possible costs, with up to 0.4 of a case added at the
    costliest (see `likelihood`). It allows for mistakes that no case shows. Without a stated prior
    the class shares vary with the sample; with one, each class is a sample of its own, and a class
    without cases may cost anything that its decisions cost. A class of prior zero is ignored.

    Parameters
    ----------
    tally : Counts (…, K, M), or JointCounts of two models: the cost of the first minus the second's
    problem : what is at stake: costs, prior, labels
    level : confidence level, such as 0.95
    reachable : (M,) or, for two models, (2, M) of bool, optional
        The decisions that the rule can take at all: one that it cannot take does not raise the
        upper bound. All of them by default; a decision that occurs in the tally is reachable.
    squares : like the weights of the tally, optional
        Sums of squared weights, or `WeightStrata`: the rows by their weight, of which each is a
        sample of its own. Needed for tallies that were made with ``weights=``, whole or not.
    scheme : Clusters(), optional
        The first leading axis holds clusters that were drawn as a whole. Counts are divided by the
        design effect, and Student's t takes the place of the normal quantile; with one cluster the
        interval is the range of the costs. With fewer than six clusters it relies on cluster
        effects that are normal.

    Returns
    -------
    Interval of shape (…): always within the range of the costs, and around the estimate.

    Examples
    --------
    >>> problem = Problem([[0, 3, 25], [180, 8, 0]])
    >>> print(profile_interval(Counts([[900, 60, 20], [2, 8, 10]]), problem))
    95% 0.7118 to 1.93
    >>> print(profile_interval(Counts([[940, 20, 20], [0, 10, 10]]), problem))
    95% 0.4452 to 1.232
    >>> joint = JointCounts.from_decisions(
    ...     [0, 0, 1, 1] * 25, {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25},
    ...     Problem.zero_one(2))
    >>> print(profile_interval(joint, Problem.zero_one(2)))
    95% 0.1719 to 0.3405
    """
    level = _check.level(level)
    if isinstance(tally, JointTally):
        if len(tally.models) != 2:
            raise InputError(
                f"tally must hold two models whose costs are compared; it holds {tally.models}. "
                f"Take one with joint.model(name), or many pairs with difference_support."
            )
        only = ((0, 1),)
        support = difference_support(
            tally, problem, only, reachable=reachable, squares=squares, scheme=scheme
        ).of_quantity(0)
    else:
        _check.require("tally", tally, Counts)
        support = cost_support(tally, problem, reachable=reachable, squares=squares, scheme=scheme)
    return _interval(*support_bounds(support, level), level)


def profile_normalized_interval(
    counts: Counts,
    problem: Problem,
    level: float = 0.95,
    *,
    reachable: object = None,
    squares: object = None,
    scheme: Clusters | None = None,
    added: FloatArray | float = 0.0,
    estimate: FloatArray | float = 0.0,
    variance: FloatArray | float = 0.0,
) -> Interval:
    r"""Interval of the normalised cost, where 0 is perfect and 1 is the best blind decision.

    With a stated prior, the cost of the best blind decision is known, and the interval is that of
    the cost in these units. Otherwise the normalised cost is the largest, over blind decisions d,
    of :math:`\rho_d = E[r] / E[r_d]`, with the regrets r of the model and :math:`r_d` of d. For
    each d the test of :math:`E[r - \rho\, r_d] = 0` is inverted, and the bounds are the largest of
    the lower and the largest of the upper bounds, so that ties between blind decisions do no harm.
    Where a class has no cases a blind decision may be perfect, and the upper bound is infinite.

    With clusters a stated prior leaves a cost, with the degrees of freedom of costs. A ratio has
    the most that clusters have, one less than their number; its numbers of cases are the more
    cautious ones of two design effects. A further error of the estimate widens the bounds at the
    threshold that they were made with.

    nan where some decision is the best one for every class: it is perfect without looking. `added`
    (…) is what a system costs per case besides its decisions; the other arguments are those of
    `profile_interval`.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels
    level : confidence level, such as 0.95
    reachable : which decisions each system can take at all; None for all of them
    squares : the same sums with squared weights; None for cases that count once
    scheme : what was drawn at random; None takes it from the tally
    added : costs per case besides those of decisions, by system
    estimate, variance : (…)
        The normalised cost, and the variance of a further error that it has, if any; see `widened`.

    Returns
    -------
    interval of shape (…)

    Examples
    --------
    >>> finley = Counts([[2680, 72], [23, 28]])
    >>> print(profile_normalized_interval(finley, Problem.zero_one(2)))
    95% 1.415 to 2.494
    >>> print(profile_normalized_interval(Counts([[95, 5], [0, 0]]), Problem.zero_one(2)))
    95% 1.453 to inf
    """
    _check.require("problem", problem, Problem)
    more = _check.reals("estimate", estimate), _check.reals("variance", variance)
    level = _check.level(level)
    added = _check.floats("added", added)
    regret = problem.regret()
    if regret.prior is not None:
        support = cost_support(counts, regret, reachable=reachable, squares=squares, scheme=scheme)
        threshold = profile_threshold(level, support.degrees)
        naive = (regret.prior @ regret.costs).min()
        unit = naive if naive > 0 else np.nan
        low, high = ((end + added) / unit for end in profile_bounds(support, threshold))
    else:
        prior_of(counts, problem)  # refuses other labels
        cells = sampled_cells(counts, squares, scheme)
        able = checked_reachable(reachable, (*cells.weights.shape[:-1], counts.n_decisions))
        threshold = profile_threshold(level, cells.most_degrees)
        low, high = normalized_bounds(cells, able, regret.costs, threshold, np.asarray(added))
    return _interval(*widened(more[0], (low, high), threshold, more[1]), level)


def support_bounds(
    support: Support,
    level: float,
    estimate: FloatArray | float = 0.0,
    variance: FloatArray | float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bound (…) of means at a confidence level, by `profile_bounds`.

    Parameters
    ----------
    support : what the means can be made of, with their degrees of freedom
    level : confidence level, such as 0.95
    estimate, variance : (…)
        The estimate, and the variance of a further error that it has, if any; see `widened`.

    Returns
    -------
    lower and upper bound, each (…)

    Examples
    --------
    >>> support = cost_support(Counts([[100, 0]]), Problem([[0, 1]]))
    >>> [float(bound.round(3)) for bound in support_bounds(support, 0.95)]
    [0.0, 0.031]
    """
    return profile_bounds(support, profile_threshold(level, support.degrees), estimate, variance)


def profile_threshold(level: float, degrees: FloatArray) -> FloatArray:
    """The square of Student's t at a level, for degrees of freedom that may be infinite.

    Without a degree of freedom it is infinite: one cluster says nothing about others.

    Parameters
    ----------
    level : confidence level, such as 0.95
    degrees : degrees of freedom, which may be infinite

    Returns
    -------
    the threshold, of the shape of `degrees`

    Examples
    --------
    >>> profile_threshold(0.95, np.array([np.inf, 5, 0])).round(2)
    array([3.84, 6.61,  inf])
    """
    _check.shapes("…", degrees=degrees)
    some = degrees >= 1
    quantile = t_quantile(np.where(some, degrees, 1.0), (1 + level) / 2)
    return np.asarray(np.where(some, quantile, np.inf) ** 2)


def _interval(low: FloatArray, high: FloatArray, level: float) -> Interval:
    return Interval._trusted(low=np.array(low), high=np.array(high), level=level)


# Ratios to the cost of blind decisions -----------------------------------------------------------


def normalized_bounds(
    cells: Cells, able: BoolArray, regrets: FloatArray, threshold: FloatArray, added: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The largest of the bounds over blind decisions, (…); regrets are (K, M), `added` (…).

    The normalised cost divides by the cost of the cheapest blind decision: it is the largest of the
    ratios to all of them, and its bounds are the largest of theirs.
    """
    # Ratios have no unit; the products of very large or small costs could over- or underflow.
    power = np.frexp(regrets.max())[1]
    regrets, added = np.ldexp(regrets, -power), np.ldexp(added, -power)
    cells, regret, possible = _pooled(cells, regrets, able)
    more = added[..., None, None]
    losses = regret + more
    per_class = _blind_regrets(cells, regrets)
    blind = per_class[:, cells.classes]  # (D, C): of decision d in each cell
    weights = cells.weights[..., None, :]
    of_model, of_blind = np.sum(weights * losses, axis=-1), np.sum(weights * blind, axis=-1)
    some = of_blind > 0
    counts = weights
    if not cells.plain:
        ends = cost_range(regrets, able[..., None, None, :])
        low, high = (_influence(end + more, per_class, of_model, of_blind) for end in ends)
        values = _influence(losses, blind, of_model, of_blind)
        factors = effective_factors(cells, values, (low, high), by_class=False)
        if cells.clusters is not None:
            # A rare class that is in few clusters says little about its own design effect; that of
            # the cost rests on more cases. The smaller factor, the more cautious one, is taken.
            of_cost = effective_factors(cells, regret, ends, by_class=False)
            factors = np.minimum(factors, of_cost)
        counts = weights * factors
    possible = possible[..., None, :] | (counts > 0)
    # Where a blind decision was perfect, the observed ratio is infinite, and the search starts from
    # a finite one that is large enough for the first step to be defined.
    top = 1 + losses.max() / regrets.min(initial=np.inf, where=regrets > 0)
    ratio = np.where(some, of_model / np.where(some, of_blind, 1.0), top)
    known = np.isfinite(threshold)[..., None]
    goal = np.broadcast_to(np.where(known, threshold[..., None], 1.0), ratio.shape)
    low = -_greatest_ratio(-losses, blind, counts, possible, -ratio, goal)
    high = _greatest_ratio(losses, blind, counts, possible, ratio, goal)
    # Clusters that say next to nothing have no upper bound; where nothing but rounding bounds the
    # ratio, it must not exclude what was observed.
    bounded = known & some & (high <= _LARGEST_RATIO * top)
    high = np.where(bounded, np.maximum(high, ratio), np.inf)
    low = np.where(known, np.where(some, np.minimum(low, ratio), low), 0.0)
    undefined = (regrets.max(axis=0) == 0).any()
    largest = low.max(axis=-1), high.max(axis=-1)
    return tuple(  # type: ignore[return-value]
        np.where(undefined, np.nan, bound) for bound in largest
    )


def _influence(
    losses: FloatArray, blind: FloatArray, of_model: FloatArray, of_blind: FloatArray
) -> FloatArray:
    r"""What a case adds to the ratio of two sums (…, D), to first order and up to a factor.

    The design effect of weights is that of the ratio, not that of the cost: a class that is
    weighted up may decide about the cost and cancel in the ratio. With clusters both count. Where a
    blind decision was perfect, the cases that were seen have :math:`r - \rho\, r_d = r`, whatever
    the ratio.
    """
    linear = losses * of_blind[..., None] - blind * of_model[..., None]
    return np.where(of_blind[..., None] > 0, linear, losses)


def _pooled(
    cells: Cells, regrets: FloatArray, able: BoolArray
) -> tuple[Cells, FloatArray, BoolArray]:
    """Pool cells of equal class and regret: cells, regrets (1, C) and which are possible (…, C).

    A blind decision costs the same in all cells of a class, so that cells of equal class and regret
    are interchangeable.
    """
    n_classes, n_decisions = regrets.shape
    order = np.argsort(regrets, axis=1, kind="stable")
    order += n_decisions * np.arange(n_classes)[:, None]
    order = order.ravel()
    order = order.astype(np.int32) if order.size < 2**31 else order  # half the memory
    sorted_regrets = regrets.ravel()[order]
    starts = np.ones(sorted_regrets.size, dtype=np.bool_)
    np.not_equal(sorted_regrets[1:], sorted_regrets[:-1], out=starts[1:])
    starts[::n_decisions] = True
    first = np.flatnonzero(starts)
    sorted_regrets = sorted_regrets[first]

    def pooled(weights: FloatArray | None) -> Any:
        return None if weights is None else np.add.reduceat(weights[..., order], first, axis=-1)

    parts = (pooled(part) for part in (cells.weights, cells.squares, cells.clusters))
    weights, squares, clusters = parts
    possible = np.logical_or.reduceat(able[..., order % n_decisions], first, axis=-1)
    classes = order[first] // n_decisions
    return Cells(weights, classes, n_classes, squares, clusters), sorted_regrets[None], possible


def _blind_regrets(cells: Cells, regrets: FloatArray) -> FloatArray:
    """Regrets (D, K) of all blind decisions, or of the cheapest `MOST_BLIND` of them."""
    if regrets.shape[1] <= MOST_BLIND:
        return regrets.T
    seen = cells.weights.reshape(-1, cells.classes.size).sum(axis=0)
    costs = np.bincount(cells.classes, seen, cells.n_classes) @ regrets
    return regrets.T[np.sort(np.argpartition(costs, MOST_BLIND)[:MOST_BLIND])]


def _greatest_ratio(
    losses: FloatArray,
    blind: FloatArray,
    counts: FloatArray,
    possible: BoolArray,
    ratio: FloatArray,
    threshold: FloatArray,
) -> FloatArray:
    r"""The greatest :math:`E[r] / E[r_d]` (…, D) within the threshold (Dinkelbach 1967).

    The greatest mean of :math:`r - \rho\, r_d` falls with ρ and is convex in it, being a maximum of
    linear functions; a Newton step towards its zero goes to the ratio at its maximum. The
    pseudo-case is in the costliest possible cell. Since it changes a little with ρ, the step is
    divided by a secant slope, which the last two steps give.
    """
    # All blind decisions of all systems are iterated together; those that have converged stay put.
    before, move_before, slant = ratio, np.zeros_like(ratio), None
    tiny = np.finfo(np.float64).eps
    for _ in range(_STEPS):
        values = np.where(possible, losses - ratio[..., None] * blind, -np.inf)
        highest = values.max(axis=-1, keepdims=True)
        gaps = np.where(possible, highest - values, 0.0)
        at_costliest = np.arange(losses.shape[-1]) == values.argmax(axis=-1)[..., None]
        extra = at_costliest * pseudo_cases(gaps[..., None, :], counts[..., None, :])
        costliest = costliest_shares(
            gaps[..., None, :], (counts + extra)[..., None, :], threshold, slant
        )
        shares, slant = costliest.shares[..., 0, :], costliest.slant
        above = np.sum(shares * losses, axis=-1)
        # Where a class has next to no weight, the first order exceeds the mean, and means nothing.
        above = above + np.where(np.abs(costliest.missed) <= np.abs(above), costliest.missed, 0.0)
        below = np.sum(shares * blind, axis=-1)
        # Where all the weight is on cases that cost nothing, either way, the ratio is rounding.
        some = (below > tiny * blind.max()) | (np.abs(above) > tiny * np.abs(losses).max())
        step = np.divide(above, below, out=ratio.copy(), where=some & (below > 0))
        move = step - ratio
        # The first step has no predecessor: its slope is then 0, and the plain step is taken.
        apart = np.where(ratio != before, ratio - before, np.inf)
        slope = (move_before - move) / apart  # one, if the pseudo-case did not change
        sound = (slope > 1 / 2) & (slope < 2)
        before, move_before = ratio, move
        ratio = ratio + move / np.where(sound, slope, 1.0)
        if np.abs(move).max() <= 1e-12 * np.abs(step).max():
            break
    return ratio
