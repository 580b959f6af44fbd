"""The contracts of tallies: what inference, folds and engines may use of any of them.

A `Tally` is a sum over cases: it merges with ``+``, carries leading axes, can be reweighted to a
prior and summed over clusters. A `CellTally` is one whose sums are the weights of cells, each of
one class: its cases can be resampled. A `JointTally` is a cell tally of several models on the same
cases.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels, Numbers
from stakes._value import Value
from stakes.errors import InputError

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
        raise InputError(f"{expected}; got {type(models).__name__}. Name at least one model.")
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
