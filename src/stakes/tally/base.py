"""The contracts of tallies: what inference, folds and engines may use of any of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, Groups, IntArray, Label, Labels, Numbers
from stakes._value import Value
from stakes.errors import InputError

# The contracts of tallies: what inference, folds and engines may use of any of them --------------
#
# A `Tally` is a sum over cases: it merges with ``+``, carries leading axes, can be reweighted to a
# prior and summed over clusters. A `CellTally` is one whose sums are the weights of cells, each of
# one class: its cases can be resampled. A `JointTally` is a cell tally of several models on the
# same cases.

T = TypeVar("T", bound="Tally")


class Tally(Value, ABC):
    """Sums over cases; the first leading axis may have labels, its groups or clusters.

    Examples
    --------
    The tallies of two parts of the data add up to the tally of all:

    >>> from stakes.tally import Counts
    >>> first, second = Counts.from_labels([0, 0, 1], [0, 1, 1]), Counts.from_labels([0, 1], [0, 0])
    >>> first + second == Counts.from_labels([0, 0, 1, 0, 1], [0, 1, 1, 0, 0])
    True
    >>> float((first + second).n_cases), (first + second).shares.tolist()
    (5.0, [0.6, 0.4])
    """

    groups: Labels | None
    # Whether the sums are of sampling weights; else they are numbers of cases, or of copies.
    weighted: bool = False

    @property
    @abstractmethod
    def class_weights(self) -> FloatArray:
        """Weight of the cases of each class, of shape (…, K)."""

    @property
    def leading(self) -> tuple[int, ...]:
        """The sizes of the leading axes."""
        return self.class_weights.shape[:-1]

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers the tally holds, over all leading axes."""

    @property
    def n_cases(self) -> Numbers:
        """Total weight, of shape (…)."""
        return self.class_weights.sum(axis=-1)

    @property
    def shares(self) -> FloatArray:
        """Share of each class, of shape (…, K); nan without cases."""
        weight = self.class_weights
        with np.errstate(invalid="ignore"):
            return np.asarray(weight / weight.sum(axis=-1, keepdims=True))

    @property
    def class_names(self) -> Labels:
        """The labels of the classes; 0 … K − 1 where the tally has none."""
        return getattr(self, "classes", None) or tuple(range(self.class_weights.shape[-1]))

    @abstractmethod
    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all."""

    def _shared(self, other: Self, *labels: str) -> dict[str, Any]:
        """The labels and groups that two tallies share; others, or other axes, are refused."""
        shared = {
            name: _check.same_labels(f"the {name}", getattr(self, name), getattr(other, name))
            for name in (*labels, "groups")
        }
        if self.leading != other.leading:
            raise InputError(
                f"both {type(self).__name__} must have the same leading axes; they have "
                f"{self.leading} and {other.leading}. Name all groups in both."
            )
        return {**shared, "weighted": self.weighted or other.weighted}

    def __radd__(self, other: object) -> Self:
        """Let ``sum(tallies)`` start from nothing."""
        # ``sum`` starts from the number 0; there is no empty tally to start from, because a tally
        # has classes.
        return self if other == 0 else NotImplemented

    @abstractmethod
    def __getitem__(self, index: Any) -> Self:
        """Index the leading axes."""

    def __iter__(self) -> Iterator[Self]:
        """The tallies along the first leading axis."""
        for place in range(len(self)):
            yield self[place]

    def __len__(self) -> int:
        if not self.leading:
            raise TypeError(f"a single {type(self).__name__} has no length and no parts")
        return self.leading[0]

    def group(self, label: Label) -> Self:
        """The tally of one group.

        Parameters
        ----------
        label : label of the group

        Returns
        -------
        its tally

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> counts = Counts.from_labels([0, 1, 1], [0, 1, 0], by=["DE", "FR", "FR"])
        >>> counts.group("FR").values.tolist()
        [[0.0, 0.0], [1.0, 1.0]]
        """
        groups = self.groups or ()
        if not groups:
            raise InputError(
                f"label must be one of the groups, and there are none; got {label!r}. "
                f"Groups come from by= when rows are read."
            )
        return self[_check.one_of("label", label, groups, "groups")]

    def with_prior(self, prior: object) -> Self:
        """Reweight the classes to these shares, so that every measure is that of deployment.

        The total weight stays the same. A class of positive prior without cases becomes nan.

        Parameters
        ----------
        prior : class shares, (K,) or by label

        Returns
        -------
        the reweighted tally

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> Counts([[6, 2], [1, 1]]).with_prior([0.5, 0.5]).values.round(2).tolist()
        [[3.75, 1.25], [2.5, 2.5]]
        """
        shares = _check.prior("prior", prior, self.class_names)
        return self._times(class_factors(shares, self.class_weights))

    @abstractmethod
    def _times(self, factors: FloatArray) -> Self:
        """The tally with the cases of each class multiplied by a factor, (…, K)."""

    @property
    def has_clusters(self) -> bool:
        """Whether the cases were read with ``clusters=``, the units that were sampled."""
        return isinstance(self.groups, _check.ClusterLabels)

    @property
    def names_clusters(self) -> bool:
        """Whether each cell names its cluster; otherwise clusters are the first leading axis."""
        return False

    @property
    def n_clusters(self) -> int:
        """How many clusters the tally holds, along its first leading axis; 0 without one."""
        return self.leading[0] if self.leading else 0

    @abstractmethod
    def sum_clusters(self, times: FloatArray) -> Self:
        """The tallies (D, …) of all clusters, in which cluster u occurs ``times[d, u]`` times.

        Clusters are the first leading axis.

        Parameters
        ----------
        times : how often each cluster occurs, (D, U)

        Returns
        -------
        tallies with a leading axis of D

        Examples
        --------
        >>> import numpy as np
        >>> from stakes.tally import Counts
        >>> sites = Counts([[[8, 2], [1, 9]], [[4, 0], [2, 4]]])
        >>> sites.sum_clusters(np.array([[1.0, 1.0], [0.0, 2.0]])).n_cases
        array([30., 20.])
        """

    def pooled(self) -> Self:
        """The tally of all clusters together; a tally without clusters is the same.

        Returns
        -------
        the sum along the first leading axis

        Examples
        --------
        >>> from stakes.tally import Counts
        >>> Counts([[[8, 2], [1, 9]], [[4, 0], [2, 4]]]).pooled().values.tolist()
        [[12.0, 2.0], [3.0, 13.0]]
        """
        # As a replicate in which each cluster occurs once, so that value and replicates are summed
        # by the same code and round alike.
        count = self.n_clusters
        return self.sum_clusters(np.ones((1, count)))[0] if count else self


class CellTally(Tally):
    """A tally whose sums are the weights of cells, each of one class.

    Examples
    --------
    New weights for the same cells, here each case twice:

    >>> from stakes.tally import Counts
    >>> counts = Counts([[8, 2], [1, 9]])
    >>> counts.cell_weights, counts.cell_classes
    (array([8., 2., 1., 9.]), array([0, 0, 1, 1]))
    >>> float(counts.with_cell_weights(2 * counts.cell_weights).n_cases)
    40.0
    """

    @property
    @abstractmethod
    def cell_weights(self) -> FloatArray:
        """The weight of every cell, of shape (…, C), class after class."""

    @property
    @abstractmethod
    def cell_classes(self) -> IntArray:
        """The position (C,) of the class of each cell, in increasing order."""

    @abstractmethod
    def with_cell_weights(self, weights: FloatArray) -> Self:
        """The same cells with new weights (…, C), such as resampled ones.

        Parameters
        ----------
        weights : new weights, (…, C)

        Returns
        -------
        the tally with them

        Examples
        --------
        >>> import numpy as np
        >>> from stakes.tally import Counts
        >>> Counts([[8, 2], [1, 9]]).with_cell_weights(np.array([7.0, 3.0, 0.0, 10.0]))
        Counts of 20 cases
           0   1
        0  7   3
        1  0  10
        """

    @property
    def leading(self) -> tuple[int, ...]:
        """The sizes of the leading axes."""
        return self.cell_weights.shape[:-1]

    @property
    def size(self) -> int:
        """How many cells there are, in all leading axes."""
        return int(np.prod(self.leading)) * self.cell_classes.size

    def __getitem__(self, index: Any) -> Self:
        """Index the leading axes; the cells stay."""
        chosen = leading_index(self.cell_weights, 1, index)
        return self.with_cell_weights(chosen)._but(groups=None)

    def _times(self, factors: FloatArray) -> Self:
        with np.errstate(invalid="ignore"):
            return self.with_cell_weights(self.cell_weights * factors[..., self.cell_classes])

    @property
    def weights_shape(self) -> tuple[int, ...]:
        """The shape of the weights as the tally holds them."""
        return self.cell_weights.shape

    def sum_clusters(self, times: FloatArray) -> Self:  # noqa: D102
        _check.shapes(f"d {len(self.cell_weights)}", times=times)
        return self.with_cell_weights(_summed(times, self.cell_weights))


class JointTally(CellTally):
    """What several models said about the same cases: distinct tuples and their weights.

    Attributes
    ----------
    cells : (T, 1 + J) the position of the class, and of what each model said
    weights : (…, T)
    models : J names

    Examples
    --------
    >>> from stakes.tally import JointScores
    >>> joint = JointScores.from_scores([0, 0, 1], {"a": [1, 2, 2], "b": [5, 6, 8]})
    >>> joint.models, joint.cell_classes.tolist()
    (('a', 'b'), [0, 0, 1])
    """

    cells: IntArray
    weights: FloatArray
    models: Labels

    @property
    def cell_weights(self) -> FloatArray:  # noqa: D102
        return self.weights

    @property
    def cell_classes(self) -> IntArray:  # noqa: D102
        return self.cells[:, 0]

    def with_cell_weights(self, weights: FloatArray) -> Self:
        """The same tuples with other weights of shape (…, T), such as resampled ones.

        Examples
        --------
        >>> from stakes.tally import JointScores
        >>> joint = JointScores.from_scores([0, 0, 1], {"a": [1, 2, 2], "b": [5, 6, 8]})
        >>> joint.with_cell_weights(np.array([2.0, 0.0, 3.0])).table("a").weights
        array([[2., 0.],
               [0., 3.]])
        """
        groups = self.groups if weights.shape == self.weights.shape else None
        return self._but(weights=weights.view(), groups=groups)

    @abstractmethod
    def by_model(self) -> dict[Label, Any]:
        """The tally of each model, with the leading axes of the weights.

        Returns
        -------
        model → its tally

        Examples
        --------
        >>> from stakes.tally import JointScores
        >>> JointScores.from_scores([0, 0, 1], {"a": [1, 2, 2]}).by_model()
        {'a': ScoreTable of 3 cases, 1 positive, 2 distinct scores from 1 to 2}
        """

    def __repr__(self) -> str:
        shown = ", ".join(map(str, self.models))
        size = f"shape {self.leading}" if self.leading else f"{self.n_cases:.7g} cases"
        name, tuples = type(self).__name__, len(self.cells)
        return f"{name} of {size}, models {shown}, {tuples} distinct tuples"


def tallies_by_model(models: object, kind: type[T], remedy: str) -> dict[Label, T]:
    """The tally of each model: of a joint tally, a mapping, or along a leading axis of models.

    Parameters
    ----------
    models : a joint tally, model → tally, or a tally whose first leading axis is the models
    kind : what the tally of each model must be
    remedy : what makes such a tally of rows, for messages

    Returns
    -------
    model → its tally

    Examples
    --------
    >>> from stakes.tally import Counts
    >>> both = Counts([[[8, 2], [1, 9]], [[9, 1], [3, 7]]])
    >>> tallies_by_model(both, Counts, "Counts.from_decisions")[1].values.tolist()
    [[9.0, 1.0], [3.0, 7.0]]
    """
    tallies = models
    if isinstance(models, JointTally):
        tallies = models.by_model()
    elif isinstance(models, kind) and models.leading:
        tallies = dict(zip(models.groups or range(len(models)), models, strict=True))
    expected = (
        f"models must be a joint tally, a mapping from model to {kind.__name__}, or a "
        f"{kind.__name__} with a leading axis of models"
    )
    if not isinstance(tallies, Mapping) or not tallies:
        raise InputError(
            f"{expected}; got {type(models).__name__}. Write {{name: {kind.__name__}, …}}."
        )
    for model, tally in tallies.items():
        if not isinstance(tally, kind):
            raise InputError(
                f"{expected}; that of {model!r} is {type(tally).__name__}. Tally its cases with "
                f"{remedy}."
            )
    return dict(zip(_check.labels("the models", tallies), tallies.values(), strict=True))


def _summed(times: FloatArray, part: FloatArray) -> FloatArray:
    """Sums (D, …) over the first axis, whose entry u counts ``times[d, u]`` times."""
    return (times @ part.reshape(len(part), -1)).reshape(len(times), *part.shape[1:])


def leading_index(part: Any, trailing: int, index: Any) -> Any:
    """Index the leading axes of an array, but not the trailing ones."""
    leading, trailing_shape = part.shape[: part.ndim - trailing], part.shape[part.ndim - trailing :]
    # An array of positions is indexed first, so that an index with too many parts is an error.
    place = np.arange(int(np.prod(leading))).reshape(leading)[index]
    return part.reshape(-1, *trailing_shape)[place]


def class_factors(prior: FloatArray, per_class: FloatArray) -> FloatArray:
    """The factor of each class that turns its share into the prior and keeps the total.

    A class of positive prior without cases gets inf, and inf × 0 is nan: how its cases would have
    been decided is unknown.
    """
    cases = per_class.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        factors = np.where(prior > 0, prior * cases / per_class, 0.0)
    if np.any(np.isinf(factors) & (per_class > 0)):
        raise InputError(
            "prior must be within reach of the weights of the classes; one weighs so little that "
            "the factor it needs is no number. Scale the weights of its cases up."
        )
    return factors


# -------------------------------------------------------------------------------------------------
# What all tallies share when rows are read: codes, weights, groups, and counting in one pass.

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
