"""What all tallies share when rows are read: codes, weights, groups, and counting in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, Groups, IntArray, Label, Labels
from stakes.errors import InputError

MOST_CELLS = 1 << 26  # half a gibibyte of weights
MERGE = (
    "Put whole clusters together, as in clusters % 50_000 where they are whole numbers (of so many "
    "groups intervals are as good), or pass fewer models at a time."
)
ROUND = (
    "Round the scores, or name fewer groups; clusters of scores belong in "
    "stakes.tally.JointScores.from_scores(…, clusters=…)."
)
_LARGEST_CODE = 1 << 62  # twice a code below this, plus one, is still an int64
_BLOCK = 1 << 15  # rows that are counted at a time, so that they stay in the cache
_DENSE_CELLS = 1 << 20  # up to this many cells, counting is faster than sorting


class Labelled(Protocol):
    """Anything that names classes and decisions, such as a Problem.

    Examples
    --------
    A `Problem` is one, and so is any object with these two attributes:

    >>> from types import SimpleNamespace
    >>> from stakes.tally import Counts
    >>> names = SimpleNamespace(classes=("well", "ill"), decisions=("home", "treat"))
    >>> Counts.from_decisions(["well", "ill"], ["home", "home"], names).values.tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """

    @property
    def classes(self) -> Labels:
        """K labels."""
        ...

    @property
    def decisions(self) -> Labels:
        """M labels."""
        ...


class Answering(Labelled, Protocol):
    """Anything that also says which class each decision stands for, such as a Problem."""

    @property
    def answers(self) -> tuple[Label | None, ...]:
        """M labels of classes; None for a decision that stands for none."""
        ...


class Rows(NamedTuple):
    """Encoded rows of positive weight."""

    columns: tuple[npt.NDArray[Any], ...]
    weights: FloatArray | None  # None: every case counts once
    group: IntArray | None
    groups: Labels | None
    copied: bool = False  # whether the weights are numbers of equal cases

    @property
    def weighted(self) -> bool:
        """Whether some case has a weight other than one: then sums are no numbers of cases."""
        return not (self.copied or self.weights is None or bool((self.weights == 1).all()))


def read_rows(
    columns: dict[str, npt.NDArray[Any]],
    weights: object,
    by: object = None,
    clusters: object = None,
    *,
    copies: object = None,
    weights_name: str = "weights",
) -> Rows:
    """Check that the columns describe the same cases; drop the cases of weight zero.

    Parameters
    ----------
    columns : columns of the rows, by name
    weights : weight of each case, (n,); None counts each once
    by : labels, one per case, of slices
    clusters : labels, one per case, of what was sampled together, or `Groups` that were read
    copies : how often each case occurred, (n,); None: once
    weights_name : what to call the weights in messages

    Returns
    -------
    checked columns, weights and groups

    Examples
    --------
    >>> rows = read_rows({"y_true": np.array([0, 1, 1])}, [1.0, 0.0, 2.0], None)
    >>> rows.columns[0], rows.weights
    (array([0, 1]), array([1., 2.]))
    """
    n_cases = _check.same_length(**columns)
    parts = tuple(columns.values())
    keep, weight, copied = None, None, copies is not None
    if copied:
        if weights is not None:
            raise InputError(
                f"{weights_name} and copies must not both be stated: weights say how many cases a "
                f"row stands for, copies how often it occurred. Pass one of them.",
                argument="copies",
            )
        weights, weights_name = _check.copies("copies", copies, n_cases), "copies"
    if weights is not None or n_cases == 0:
        weight = _check.weights(weights_name, weights, n_cases, of=next(iter(columns)))
        keep = None if weight.all() else weight > 0
    if keep is not None:
        parts = tuple(part[keep] for part in parts)
    if weight is not None and keep is not None:
        weight = weight[keep]
    if by is None and clusters is None:
        return Rows(parts, weight, None, None, copied)
    if by is not None and clusters is not None:
        raise InputError(
            "by and clusters cannot both be the leading axis of a tally; pass one of them. For "
            "clusters within slices tally every slice by itself."
        )
    name = "clusters" if by is None else "by"
    if isinstance(clusters, Groups):
        groups = clusters
    else:
        groups = _check.clusters(clusters) if by is None else _check.groups("by", by)
    _check.same_length(**columns, **{name: groups.codes})
    groups = groups.only(keep)
    return Rows(parts, weight, groups.codes, groups.labels, copied)


def refuse_too_many(groups: int, cells: int, remedy: str = MERGE) -> None:
    """Refuse a tally by groups that would not fit into memory, before it is made.

    Parameters
    ----------
    groups : number of groups
    cells : cells of each group
    remedy : what to do about it

    Examples
    --------
    >>> refuse_too_many(groups=10, cells=1000)
    """
    if groups * cells > MOST_CELLS:
        raise InputError(
            f"clusters or by must leave a tally that fits into memory; {groups:,} of them, each of "
            f"{cells:,} numbers, take {8e-9 * groups * cells:.2g} GB, where "
            f"{8e-9 * MOST_CELLS:.2g} is the most.",
            remedy=remedy,
        )


def pair_sums(rows: Rows, shape: tuple[int, int]) -> FloatArray:
    """The weight of every pair of positions, for rows of two columns."""
    first, second = rows.columns
    if rows.group is not None:
        return cell_sums(rows, first * shape[1] + second, shape)
    # In blocks, because the codes of a block stay in the cache and those of all rows would not.
    # Rounding errors of weights are those of a block, and do not grow with the number of rows.
    sums = np.zeros(prod(shape))
    for start in range(0, len(first), _BLOCK):
        block = slice(start, start + _BLOCK)
        if shape == (2, 2) and rows.weights is None:
            sums += _binary_pairs(first[block], second[block])
            continue
        cell = first[block] * shape[1]
        cell += second[block]
        weights = None if rows.weights is None else rows.weights[block]
        sums += np.bincount(cell, weights, sums.size)
    return sums.reshape(shape)


def _binary_pairs(first: IntArray, second: IntArray) -> tuple[int, int, int, int]:
    """How often 00, 01, 10 and 11 occur; `bincount` is slower, as it adds to few numbers."""
    both = first & second
    of_first, of_second, of_both = (int(np.count_nonzero(each)) for each in (first, second, both))
    neither = len(first) - of_first - of_second + of_both
    return neither, of_second - of_both, of_first - of_both, of_both


def cell_sums(rows: Rows, cell: IntArray, shape: tuple[int, ...]) -> FloatArray:
    """The weight of every cell, with a leading axis of groups when there are groups."""
    if rows.group is not None and rows.groups is not None:
        cell = rows.group * int(np.prod(shape)) + cell
        shape = (len(rows.groups), *shape)
    sums = np.bincount(cell, weights=rows.weights, minlength=int(np.prod(shape)))
    return sums.astype(np.float64).reshape(shape)


def distinct_cells(rows: Rows, sizes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
    """The tuples that occur, (T, columns) in lexical order, and their weights (…, T)."""
    if prod(sizes) <= _DENSE_CELLS:
        code = np.ravel_multi_index(rows.columns, sizes).astype(np.intp)
        occurs = np.bincount(code, minlength=prod(sizes)) > 0
        cells = np.stack(np.unravel_index(np.flatnonzero(occurs), sizes), axis=1)
        where = (np.cumsum(occurs) - 1)[code]
    else:
        code = packed(rows.columns, sizes)
        _, first, where = np.unique(code, return_index=True, return_inverse=True)
        cells, where = np.stack([column[first] for column in rows.columns], axis=1), where.ravel()
    refuse_too_many(len(rows.groups or ()), len(cells))
    return cells.astype(np.intp), cell_sums(rows, where, (len(cells),))


def packed(columns: Sequence[npt.NDArray[Any]], sizes: Sequence[int]) -> IntArray:
    """One number for each tuple (n,), equal for equal tuples and in their lexical order.

    Sorting numbers is many times as fast as sorting tuples. Where the numbers would grow too large,
    they are replaced by their ranks.
    """
    code, span = columns[0].astype(np.int64), int(sizes[0])
    for column, size in zip(columns[1:], sizes[1:], strict=True):
        if span * size > _LARGEST_CODE:
            code = np.unique(code, return_inverse=True)[1].ravel()
            span = int(code.max(initial=0)) + 1
        code, span = code * size + column, span * size
    return code
