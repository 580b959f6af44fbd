"""Bounds of normalised costs: ratios to the cost of blind decisions, by profile likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes._check import BoolArray, FloatArray
from stakes.inference.effective_cases import Cells, effective_factors
from stakes.inference.tilted_shares import costliest_shares, pseudo_cases

_STEPS = 50  # Dinkelbach's method needs about six
MOST_BLIND = 256  # blind decisions considered; if there are more, the cheapest ones on these data


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
    losses = regret + added[..., None, None]
    blind = _blind_regrets(cells, regrets)[:, cells.classes]  # (D, C): of decision d in each cell
    weights = cells.weights[..., None, :]
    of_model, of_blind = np.sum(weights * losses, axis=-1), np.sum(weights * blind, axis=-1)
    # What a case adds to the ratio, to first order and up to a factor: the design effect of weights
    # and clusters is that of the ratio.
    linear = losses * of_blind[..., None] - blind * of_model[..., None]
    # A rare class that is in few clusters says little about its own design effect; that of the cost
    # itself rests on more cases. The smaller factor, which is the more cautious one, is taken.
    factors = (effective_factors(cells, v, by_class=False) for v in (linear, regret))
    counts = weights * np.minimum(*factors)
    possible = possible[..., None, :] | (counts > 0)
    # Where a blind decision was perfect, the observed ratio is infinite, and the search starts from
    # a finite one that is large enough for the first step to be defined.
    some = of_blind > 0
    top = 1 + losses.max() / regrets.min(initial=np.inf, where=regrets > 0)
    ratio = np.where(some, of_model / np.where(some, of_blind, 1.0), top)
    known = np.isfinite(threshold)[..., None]
    goal = np.broadcast_to(np.where(known, threshold[..., None], 1.0), ratio.shape)
    low = -_greatest_ratio(-losses, blind, counts, possible, -ratio, goal)
    high = _greatest_ratio(losses, blind, counts, possible, ratio, goal)
    low, high = np.where(known, low, 0.0), np.where(known & some, high, np.inf)
    undefined = (regrets.max(axis=0) == 0).any()
    bounds = low.max(axis=-1), high.max(axis=-1)
    return tuple(  # type: ignore[return-value]
        np.where(undefined, np.nan, bound) for bound in bounds
    )


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
    before, move_before, tilt = ratio, np.zeros_like(ratio), None
    for _ in range(_STEPS):
        values = np.where(possible, losses - ratio[..., None] * blind, -np.inf)
        highest = values.max(axis=-1, keepdims=True)
        gaps = np.where(possible, highest - values, 0.0)
        at_costliest = np.arange(losses.shape[-1]) == values.argmax(axis=-1)[..., None]
        extra = at_costliest * pseudo_cases(gaps[..., None, :], counts[..., None, :])
        costliest = costliest_shares(
            gaps[..., None, :], (counts + extra)[..., None, :], threshold, tilt
        )
        shares, tilt = costliest.shares[..., 0, :], costliest.tilt
        above = np.sum(shares * losses, axis=-1)
        # Where a class has next to no weight, the first order exceeds the mean, and means nothing.
        above = above + np.where(np.abs(costliest.missed) <= np.abs(above), costliest.missed, 0.0)
        below = np.sum(shares * blind, axis=-1)
        step = np.divide(above, below, out=ratio.copy(), where=below > 0)
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
