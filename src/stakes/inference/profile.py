"""Intervals of costs by profile likelihood: deterministic, from the tally alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import BoolArray, FloatArray, IntArray, shapes
from stakes.errors import InputError
from stakes.inference.estimate import (
    Interval,
    cells_of,
    refuse_other_labels,
    t_quantile,
    whole_cells,
)
from stakes.inference.likelihood import (
    StratumRule,
    Support,
    WeightStrata,
    checked_squares,
    combined,
    costliest_shares,
    profile_bounds,
    pseudo_cases,
    stratum_rule,
    widened,
)
from stakes.inference.sampling import Cells, effective_degrees, effective_factors
from stakes.inference.schemes import Clusters
from stakes.measures import prior_of
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts, JointTally

# What the costs of a tally can be, and how often each of them was seen ---------------------------
#
# `cost_support` and `difference_support` read tallies of many systems or pairs into the supports
# that likelihoods are made of. What weights and clusters do to the numbers of cases is in
# `sampling`.

_REMEDY = "pass squares=, the sums of the squared weights of each cell."
_DENSE = 1 << 16  # cells of a table of two models; larger tables would be mostly empty
_AT_ONCE = 1 << 14  # tuples of several pairs that are counted together


def cost_support(
    counts: Counts,
    problem: Problem,
    *,
    reachable: object = None,
    squares: object = None,
    scheme: Clusters | None = None,
) -> Support:
    """What the costs of systems can be and how often that was seen, for `profile_bounds`.

    Leading axes of the counts (…, K, M) stay, apart from that of clusters: systems side by side are
    one call. `reachable` is (…, M); the rest is as in `profile_interval`.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels
    reachable : which decisions each system can take at all; None for all of them
    squares : the same sums with squared weights, or `WeightStrata`; None for cases that count once
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    possible costs and how often each was seen

    Examples
    --------
    >>> support = cost_support(Counts([[80, 20], [3, 7]]), Problem.binary(false_alarm=1, miss=9))
    >>> support.values.tolist(), support.counts.tolist()
    ([[0.0, 1.0, 9.0]], [[87.0, 20.0, 3.0]])
    """
    prior_of(counts, problem)  # refuses other labels
    return unchecked_cost_support(
        counts, problem.costs, problem.prior, reachable=reachable, squares=squares, scheme=scheme
    )


def unchecked_cost_support(
    counts: Counts,
    costs: FloatArray,
    prior: FloatArray | None,
    *,
    reachable: object = None,
    squares: object = None,
    scheme: Clusters | None = None,
) -> Support:
    """The support that `cost_support` makes, for costs (…, K, M) that differ between systems.

    Two models on the same cases are one system that decides in pairs: counts (…, K, M²), and the
    costs are differences.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    costs : costs of each decision, (K, M), or (…, K, M) where they differ between systems
    prior : class shares, (K,) or by label; None takes those of the data
    reachable : which decisions each system can take at all; None for all of them
    squares : the same sums with squared weights, or `WeightStrata`; None for cases that count once
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    possible costs and how often each was seen

    Examples
    --------
    >>> counts, costs = Counts([[80, 20], [3, 7]]), np.array([[0.0, 1.0], [9.0, 0.0]])
    >>> unchecked_cost_support(counts, costs, None).highest.tolist()
    [9.0]
    """
    _check.shapes(" ".join(map(str, counts.values.shape[-np.ndim(costs) :])), costs=costs)
    cells = sampled_cells(counts, squares, scheme)
    able = checked_reachable(reachable, (*cells.weights.shape[:-1], counts.n_decisions))
    if prior is None and (strata := known_strata(cells)) is not None:
        alone = [_of_cells(_equal(cells, rows), costs, None, able) for rows in strata.rows]
        return combined(alone, strata.weights)
    return _of_cells(cells, costs, prior, able)


def _of_cells(
    cells: Cells, costs: FloatArray, prior: FloatArray | None, able: BoolArray
) -> Support:
    """`unchecked_cost_support` of cells in the order of tables (…, K, M)."""
    costs = costs if costs.ndim == 2 else costs[..., None, :, :]
    bounds = cost_range(costs, able[..., None, None, :])
    values = costs.reshape(*costs.shape[:-2], -1) if costs.ndim > 2 else costs.reshape(1, -1)
    return _support(cells, values, cells.weights[..., None, :], costs, bounds, prior).of_quantity(0)


def difference_support(
    joint: JointCounts,
    problem: Problem,
    pairs: Iterable[tuple[int, int]],
    *,
    reachable: object = None,
    squares: object = None,
    scheme: Clusters | None = None,
    factor: float = 1.0,
) -> Support:
    """Support of the differences of costs of P pairs of models, first minus second.

    `pairs` are positions of models, `reachable` is (M,) or (J, M). The pairs are the last leading
    axis (…, P). Tuples are summed into one table for each pair, so that the result grows with
    the number of pairs, not with that of tuples. A `factor` multiplies the costs of the second.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problem : what is at stake: costs, prior, labels
    pairs : P pairs of positions of models
    reachable : which decisions each system can take at all; None for all of them
    squares : the same sums with squared weights, or `WeightStrata`; None for cases that count once
    scheme : what was drawn at random; None takes it from the tally
    factor : what the costs of the second model are multiplied by

    Returns
    -------
    possible differences and how often each was seen

    Examples
    --------
    >>> joint = JointCounts.from_decisions(
    ...     [0, 0, 1, 1], {"old": [0, 1, 1, 0], "new": [0, 0, 1, 0]}, Problem.zero_one(2))
    >>> support = difference_support(joint, Problem.zero_one(2), [(0, 1)]).of_quantity(0)
    >>> support.values.tolist(), support.counts.tolist()
    ([[0.0, 1.0]], [[3.0, 1.0]])
    """
    refuse_other_labels(joint, problem)
    able = checked_reachable(reachable, (len(joint.models), problem.n_decisions))
    places = _checked_pairs(pairs, len(joint.models))
    return pair_support(
        joint,
        sampled_cells(joint, squares, scheme),
        problem.costs,
        problem.prior,
        places,
        able,
        factor=_check.number("factor", factor, low=0),
    )


def pair_support(
    joint: JointCounts,
    cells: Cells,
    costs: FloatArray,
    prior: FloatArray | None,
    pairs: IntArray,
    able: BoolArray,
    *,
    factor: float = 1.0,
) -> Support:
    """`difference_support` of pairs (P, 2), unchecked; each may have its own costs and prior.

    `cells` are the `sampled_cells` of the tally.
    """
    if prior is None and (strata := known_strata(cells)) is not None:
        possible = _possible_pairs(strata, cells.rule, pairs, able, costs.shape[-2:])
        alone = [
            _of_pairs(joint, _equal(cells, rows), costs, None, pairs, able, factor, may)
            for rows, may in zip(strata.rows, possible, strict=True)
        ]
        return combined(alone, strata.weights)
    return _of_pairs(joint, cells, costs, prior, pairs, able, factor, None)


def _of_pairs(
    joint: JointCounts,
    cells: Cells,
    costs: FloatArray,
    prior: FloatArray | None,
    pairs: IntArray,
    able: BoolArray,
    factor: float,
    possible: BoolArray | None,
) -> Support:
    """`pair_support` of cells, of which some pairs of decisions (P, M M) may be impossible."""
    first, second = pairs.T
    low, high = cost_range(costs[..., None, :, :], able[pairs][:, :, None, :])  # (P, 2, K)
    values = np.zeros((len(first), 1))  # unused where each case counts as one
    dense = costs.shape[-2] * costs.shape[-1] ** 2 <= max(_DENSE, len(joint.cells))
    if not (cells.plain and dense):
        every = np.broadcast_to(costs, (len(first), *costs.shape[-2:]))
        cell_index = np.arange(len(first))[:, None], joint.cells[:, 0]
        values = every[(*cell_index, joint.cells[:, 1 + first].T)]
        values = values - factor * every[(*cell_index, joint.cells[:, 1 + second].T)]
    bounds = low[:, 0] - factor * high[:, 1], high[:, 0] - factor * low[:, 1]
    # A table of all pairs of decisions is small for few decisions, and equal pairs are summed in
    # it; for many decisions most of its cells would be empty.
    if dense:
        grid = (costs[..., :, None] - factor * costs[..., None, :]).reshape(*costs.shape[:-1], -1)
        tables = _pair_tables(cells.weights, joint.cells, first, second, costs.shape[-2:])
        if possible is not None:
            either = able[first][:, :, None] & able[second][:, None, :]
            bounds = cost_range(grid, (possible & either.reshape(possible.shape))[:, None])
    else:
        grid, tables = _tuple_tables(cells, values, by_class=prior is not None)
    return _support(cells, values, tables, grid, bounds, prior)


# Strata of rows of equal weight -------------------------------------------------------------------


def known_strata(cells: Cells) -> WeightStrata | None:
    """The strata of a sample, where the likelihood of each is known; see `likelihood`."""
    strata = cells.strata
    if strata is None or cells.clusters is not None:
        return None
    sizes = strata.rows.reshape(len(strata.rows), -1, cells.classes.size).sum(axis=1)
    n_strata = (sizes @ cells.indicator(by_class=True) > 0).sum(
        axis=0
    )  # strata that hold each class
    return None if (n_strata <= 1).all() else strata


def _equal(cells: Cells, rows: FloatArray) -> Cells:
    """The same cells with the rows of one stratum, in which each counts once."""
    return Cells(rows, cells.classes, cells.n_classes)


def _possible_pairs(
    strata: WeightStrata,
    design: StratumRule | None,
    pairs: IntArray,
    able: BoolArray,
    shape: tuple[int, ...],
) -> Sequence[BoolArray | None]:
    """Which pairs of decisions can be taken in each stratum, (P, M M) each; None: all of them."""
    size = shape[-1]
    if design is None or design.strata.size * len(pairs) * size**2 > _DENSE * len(pairs):
        return [None] * len(strata.rows)
    return list(design.possible(pairs, able, len(strata.rows)).reshape(-1, len(pairs), size**2))


# From tallies to what a likelihood needs ---------------------------------------------------------


def _support(
    cells: Cells,
    values: FloatArray,
    tables: FloatArray,
    grid: FloatArray,
    bounds: tuple[FloatArray, FloatArray],
    prior: FloatArray | None,
) -> Support:
    """Supports of P quantities: values (P, C) of cells, grid (K, Q) or (P, K, Q) of tables."""
    if prior is not None:
        grid = grid * prior[..., None]
        values = values if cells.plain else values * prior[..., cells.classes]
        bounds = bounds[0] * prior, bounds[1] * prior
    factors = effective_factors(cells, values, bounds, by_class=prior is not None)
    lowest, highest = bounds  # (…, P, K)
    if prior is None:  # all classes are one stratum
        grid = grid.reshape(*grid.shape[:-2], 1, -1)
        lowest, highest = lowest.min(-1, keepdims=True), highest.max(-1, keepdims=True)
    tables = tables.reshape(*tables.shape[:-1], *grid.shape[-2:])
    if grid.ndim == 2:
        grid, tables = _merged(grid, tables)
    grids = np.broadcast_to(grid, tables.shape)
    return Support(
        values=grids,
        counts=tables * factors[..., None],
        lowest=grids.min(axis=-1, initial=np.inf, where=tables > 0).clip(max=lowest),
        highest=grids.max(axis=-1, initial=-np.inf, where=tables > 0).clip(min=highest),
        degrees=effective_degrees(cells, values, by_class=prior is not None),
    )


def _merged(grid: FloatArray, tables: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values (R, C) and their weights (…, R, C), equal values together and without empty ones."""
    some = tables.any(axis=tuple(range(tables.ndim - 1)))
    grid, tables = grid[:, some], tables[..., some]
    # Merging equal values does not change the likelihood and leaves far fewer cells to tilt.
    if len(grid) == 1 and some.any():
        order = np.argsort(grid[0], kind="stable")
        first = np.flatnonzero(np.diff(grid[0, order], prepend=np.nan) != 0)
        grid, tables = grid[:, order[first]], np.add.reduceat(tables[..., order], first, axis=-1)
    return grid, tables


def sampled_cells(tally: Counts | JointCounts, squares: object, scheme: Clusters | None) -> Cells:
    """The cells of a tally; weights must come with their squares, or the rows by their weight."""
    if not (scheme is None or isinstance(scheme, Clusters)):
        raise InputError(
            f"scheme must be Clusters() or None; got {scheme!r}. The likelihood knows how cases "
            f"are drawn; Clusters() says that the first leading axis of the tally holds clusters."
        )
    weights = whole_cells(tally, _REMEDY) if squares is None else cells_of(tally).cell_weights
    classes, size = tally.cell_classes, len(tally.class_names)
    squared = None
    if squares is not None:
        squared = checked_squares(squares, tally.weights_shape).reshape(weights.shape)
    if scheme is None and not tally.has_clusters:
        if not isinstance(squares, WeightStrata):
            return Cells(weights, classes, size, squared)
        rows = squares.rows.reshape(len(squares.weights), *weights.shape)
        strata = WeightStrata(squares.weights, rows)
        rule = stratum_rule(strata, tally) if isinstance(tally, JointCounts) else None
        return Cells(weights, classes, size, squared, strata=strata, rule=rule)
    if weights.ndim < 2:
        raise InputError(
            "tally must have a leading axis of clusters to go with Clusters(); it has none. Make "
            "it with clusters=, the label of each case's cluster."
        )
    clusters = np.moveaxis(weights, 0, -2)
    pooled = None if squared is None else squared.sum(axis=0)
    return Cells(weights.sum(axis=0), classes, size, pooled, clusters)


def cost_range(costs: FloatArray, able: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Least and greatest cost (…, K) of the decisions that are possible."""
    every = np.broadcast_to(costs, np.broadcast_shapes(costs.shape, able.shape))
    low = np.min(every, axis=-1, where=able, initial=np.inf)
    return low, np.max(every, axis=-1, where=able, initial=-np.inf)


def _pair_tables(
    weights: FloatArray,
    cells: IntArray,
    first: IntArray,
    second: IntArray,
    shape: tuple[int, ...],
) -> FloatArray:
    """Weights (…, T) of tuples summed into tables (…, P, K M M) of pairs of models."""
    size = shape[0] * shape[1] ** 2
    rows = weights.reshape(-1, weights.shape[-1])
    sums = np.empty((len(rows), len(first), size))
    block = max(1, _AT_ONCE // len(cells)) if len(cells) else len(first)
    for start in range(0, len(first), block):
        left, right = first[start : start + block], second[start : start + block]
        # The code of a tuple is class · M² + first · M + second, after those of the pairs before.
        codes = cells[:, :1] * shape[1] ** 2 + cells[:, 1 + left] * shape[1] + cells[:, 1 + right]
        codes = (codes + size * np.arange(len(left))).ravel()
        for row, row_weights in enumerate(rows):
            counted = np.bincount(codes, np.repeat(row_weights, len(left)), size * len(left))
            sums[row, start : start + block] = counted.reshape(-1, size)
    return sums.reshape(*weights.shape[:-1], len(first), size)


def _tuple_tables(
    cells: Cells, values: FloatArray, *, by_class: bool
) -> tuple[FloatArray, FloatArray]:
    """Values (P, R, Q) and weights (…, P, R Q) of the tuples themselves, class by class if asked.

    With many classes, tables of all pairs of decisions would be nearly empty.
    """
    rows = cells.classes if by_class else np.zeros_like(cells.classes)
    order = np.argsort(rows, kind="stable")
    sizes = np.bincount(rows, minlength=cells.n_classes if by_class else 1)
    slots = np.empty_like(rows)
    slots[order] = np.arange(rows.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    shape = (sizes.size, sizes.max(initial=1))
    grid, tables = np.zeros((len(values), *shape)), np.zeros((*cells.weights.shape[:-1], 1, *shape))
    grid[:, rows, slots] = values
    tables[..., 0, rows, slots] = cells.weights
    flat = tables.reshape(*tables.shape[:-2], -1)
    return grid, np.broadcast_to(flat, (*flat.shape[:-2], len(values), flat.shape[-1]))


def checked_reachable(reachable: object, shape: tuple[int, ...]) -> BoolArray:
    """Which decisions can be taken, broadcast to a shape whose last axis is decisions."""
    if reachable is None:
        return np.ones(shape, dtype=np.bool_)
    able = _check.array("reachable", reachable)
    fits = able.dtype == np.bool_ and able.ndim > 0 and able.shape[-1] == shape[-1]
    if not (fits and able.any(axis=-1).all()):
        raise InputError(
            f"reachable must say of each of the {shape[-1]} decisions whether it can be taken, by "
            f"booleans, and some must be true; got {able.dtype} of shape {able.shape}. Leave it "
            f"out for all decisions."
        )
    return np.broadcast_to(able, shape)


def _checked_pairs(pairs: Iterable[tuple[int, int]], size: int) -> IntArray:
    """Pairs of positions of models, (P, 2)."""
    positions = _check.floats("pairs", list(pairs), ndim=2)
    if positions.shape[1] != 2 or not np.isin(positions, np.arange(size)).all():
        raise InputError(
            f"pairs must hold positions of two models each, whole numbers from 0 below {size}; got "
            f"{positions.tolist()}. itertools.combinations(range({size}), 2) has all of them."
        )
    return positions.astype(np.intp)


# -------------------------------------------------------------------------------------------------
# Effective counts of independent cases, and the score interval of a ratio of two proportions.

_STEPS = 60  # bisections of an interval of logarithms: down to the last digit
_LARGEST_LOG_RATIO = (
    60.0  # logarithm of a ratio of proportions that no table of float64 cases reaches
)


def effective_counts(
    counts: Counts, values: FloatArray, *, squares: object = None, scheme: Clusters | None = None
) -> tuple[FloatArray, FloatArray]:
    """Effective counts (…, K, M), as if of independent cases, and the degrees of freedom (…).

    How many cases weights and clusters are worth depends on the question: `values` (K, M) is what a
    case of each cell adds to the estimate, to first order. Whole cases drawn one by one are left
    as they are; see `profile_interval` for squares and scheme.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    values : what a case of each cell adds to the estimate, to first order, (K, M)
    squares : the same sums with squared weights; None for cases that count once
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    counts, (…, K, M), and degrees of freedom, (…)

    Examples
    --------
    >>> doubled = Counts([[6.0, 2.0], [1.0, 3.0]])
    >>> hits = np.array([[0.0, 0.0], [0.0, 1.0]])
    >>> table, degrees = effective_counts(doubled, hits, squares=2 * doubled.values)
    >>> table[1], float(degrees)
    (array([0.5, 1.5]), inf)
    """
    shapes(f"… {counts.n_classes} {counts.n_decisions}", values=values)
    cells = sampled_cells(counts, squares, scheme)
    factors = effective_factors(cells, values.reshape(1, -1), None, by_class=True)[..., 0, :]
    shape = (*cells.weights.shape[:-1], counts.n_classes, counts.n_decisions)
    return cells.weights.reshape(shape) * factors[..., None], cells.most_degrees


def ratio_of_proportions_bounds(
    hits: FloatArray, cases: FloatArray, threshold: FloatArray
) -> tuple[FloatArray, FloatArray]:
    r"""Koopman's score interval (…) of the ratio of two independent proportions, first over second.

    All ratios φ that the score test does not reject: the squared difference
    :math:`(p_1 - \varphi p_2)^2` over its variance under the most likely proportions that have the
    ratio φ (Koopman 1984). It works for few hits too: without hits of the first the lower bound is
    zero, without hits of the second the upper bound is infinite, and without cases of either both.

    Parameters
    ----------
    hits, cases : (…, 2)
    threshold : (…) square of the quantile

    Returns
    -------
    lower and upper bound, each (…)

    Examples
    --------
    >>> low, high = ratio_of_proportions_bounds(
    ...     np.array([28.0, 72.0]), np.array([51.0, 2752.0]), np.array(3.841459))
    >>> float(low.round(2)), float(high.round(2))
    (14.68, 28.86)
    """
    shapes("… 2, … 2", hits=hits, cases=cases)
    share = ratio(hits, cases)
    with np.errstate(divide="ignore", invalid="ignore"):
        centre = np.log(share[..., 0]) - np.log(share[..., 1])
    # Without hits of one the ratio is 0 or infinite, and the search starts at that end.
    start = np.nan_to_num(np.clip(centre, -_LARGEST_LOG_RATIO, _LARGEST_LOG_RATIO))
    low, high = (
        np.exp(
            _crossing(hits, cases, threshold, start, np.full_like(start, side * _LARGEST_LOG_RATIO))
        )
        for side in (-1, 1)
    )
    nothing = np.isinf(threshold) | ~(cases > 0).all(axis=-1)
    low = np.where(nothing | (hits[..., 0] == 0), 0.0, low)
    high = np.where(nothing | (hits[..., 1] == 0), np.inf, high)
    return low, high


def _crossing(
    hits: FloatArray, cases: FloatArray, threshold: FloatArray, inside: FloatArray, out: FloatArray
) -> FloatArray:
    """The log ratio, between one that is accepted and one beyond, where the test rejects."""
    for _ in range(_STEPS):
        middle = (inside + out) / 2
        fine = _accepts(hits, cases, threshold, middle)
        inside, out = np.where(fine, middle, inside), np.where(fine, out, middle)
    return np.asarray((inside + out) / 2)


def _accepts(
    hits: FloatArray, cases: FloatArray, threshold: FloatArray, log_ratio: FloatArray
) -> BoolArray:
    """Whether the score test accepts a ratio, given by its logarithm."""
    x, y = hits[..., 0], hits[..., 1]
    m, n = cases[..., 0], cases[..., 1]
    phi = np.exp(log_ratio)
    # The most likely second proportion q when the first is φ q: a root of a q² − b q + c.
    a, b, c = phi * (m + n), phi * (m + y) + x + n, x + y
    with np.errstate(divide="ignore", invalid="ignore"):
        q = 2 * c / (b + np.sqrt(np.maximum(b**2 - 4 * a * c, 0.0)))
        variance = phi * q * (1 - phi * q) / m + phi**2 * q * (1 - q) / n
        distance = (x / m - phi * y / n) ** 2
    return np.asarray(distance <= threshold * np.maximum(variance, 0.0))


# Intervals of costs by profile likelihood: deterministic, from the tally alone -------------------
#
# The derivation is in `likelihood`. Many systems or pairs at once, at any threshold, are
# `profile_bounds` of what `supports` makes of their tallies. Normalised costs are ratios to the
# cost of blind decisions.

_MOST_STEPS = 50  # Dinkelbach's method needs about six
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
    for _ in range(_MOST_STEPS):
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
