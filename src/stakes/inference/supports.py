"""What the costs of a tally can be, and how often each of them was seen.

`cost_support` and `difference_support` read tallies of many systems or pairs into the supports that
likelihoods are made of. What weights and clusters do to the numbers of cases is in
`effective_cases`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray
from stakes.errors import InputError
from stakes.inference.effective_cases import Cells, effective_degrees, effective_factors
from stakes.inference.likelihood import Support
from stakes.inference.schemes import Clusters
from stakes.inference.tally_checks import cells_of, refuse_other_labels, whole_cells
from stakes.inference.weight_strata import (
    StratumRule,
    WeightStrata,
    checked_squares,
    combined,
    stratum_rule,
)
from stakes.measures import prior_of
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts

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
    """The strata of a sample, where the likelihood of each is known; see `weight_strata`."""
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
