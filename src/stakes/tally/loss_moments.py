"""LossMoments: weight, sums and scatter of per-case losses, class by class.

Sums of plain products would cancel: of losses that share a large amount, nothing of the variance
is left. Products are therefore summed about the loss of the heaviest case, and kept about the mean
(Chan, Golub and LeVeque 1983).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes._value import record
from stakes.errors import InputError
from stakes.tally.base import Rows, Tally, cell_sums, leading_index, read_rows

_ROUNDING = 64 * np.finfo(np.float64).eps  # by how much means of equal losses may differ


@record(repr=False)
class LossMoments(Tally):
    """Weight, sums and scatter of J losses of every case, class by class.

    This is the tally for proper scores, for costs that differ from case to case, and for their
    paired differences: means, standard errors and covariances of the losses are functions of it.
    It is made by `from_losses`. An amount that all losses share is not squared; tallies that are
    merged lose the digits of the scatter between them that their means have lost.

    Attributes
    ----------
    weight : (…, K)
    sums : (…, K, J)
    scatter : (…, K, J, J), sums of products of the losses' distances from their means
    names : J names of the losses, or None
    classes : K labels
    groups : labels of the first leading axis, when made with by=, else None

    Examples
    --------
    >>> moments = LossMoments.from_losses([0, 0, 1], {"old": [0, 2, 5], "new": [1, 1, 3]})
    >>> moments.means
    array([[1., 1.],
           [5., 3.]])
    >>> moments.mean([0.5, 0.5])
    array([3., 2.])
    """

    weight: FloatArray
    sums: FloatArray
    scatter: FloatArray
    names: Labels | None
    classes: Labels
    groups: Labels | None
    weighted: bool = False

    @classmethod
    def from_losses(
        cls,
        y_true: object,
        losses: object,
        *,
        classes: object = None,
        weights: object = None,
        by: object = None,
        clusters: object = None,
        copies: object = None,
    ) -> Self:
        """Sum the losses and the products of their distances from the mean, class by class.

        Pass `classes` if a prior will be an array: classes that are found in `y_true` are sorted,
        and then a prior must be a mapping, unless they are 0 … K − 1 or booleans. With `by` or
        `clusters`, the tally gets a leading axis of slices or clusters.

        Parameters
        ----------
        y_true : true class of every case, (n,)
        losses : name → loss of every case, (n,), or an array (n, J); of size up to 1e100
        classes : labels of the classes; None sorts those that occur
        weights : sampling weight of each case; None counts each once
        by : labels, one per case, of slices
        clusters : labels, one per case, of what was sampled together
        copies : how often each case occurred, whole numbers; None: once

        Returns
        -------
        the moments

        Examples
        --------
        >>> LossMoments.from_losses([0, 0, 1], {"old": [0, 2, 5], "new": [1, 1, 3]}).names
        ('old', 'new')
        """
        labels: Labels = (
            _check.distinct("y_true", y_true)
            if classes is None
            else _check.labels("classes", classes)
        )
        named = losses if isinstance(losses, Mapping) else {}
        columns = {f"losses[{name!r}]": column for name, column in named.items()}
        _check.aligned(
            y_true=y_true,
            losses=losses,
            **columns,
            weights=weights,
            copies=copies,
            by=by,
            clusters=clusters,
        )
        names, matrix = _loss_matrix(losses)
        truth = _check.codes("y_true", y_true, labels)
        columns = {"y_true": truth, "losses": matrix}
        rows = read_rows(columns, weights, by, clusters, copies=copies)
        code, loss = rows.columns
        if classes is None and len(code) < len(truth):  # labels of weight zero are absent
            present, code = np.unique(code, return_inverse=True)
            labels = _check.FoundLabels(labels[place] for place in present)
        weight = cell_sums(rows, code, (len(labels),))
        centre, parts = _distances(rows, code, loss, weight)
        sums = np.stack([_sums(rows, code, part, len(labels)) for part in parts], axis=-1)
        products = np.empty((*sums.shape, len(parts)))
        for i, first in enumerate(parts):
            for j, second in enumerate(parts[: i + 1]):
                product = _sums(rows, code, first * second, len(labels))
                products[..., i, j] = products[..., j, i] = product
        moments = cls._about(centre, weight, sums, products, names, labels, rows.groups)
        return moments._but(weighted=rows.weighted)

    @classmethod
    def _about(
        cls,
        centre: FloatArray,
        weight: FloatArray,
        sums: FloatArray,
        products: FloatArray,
        names: Labels | None,
        classes: Labels,
        groups: Labels | None,
    ) -> Self:
        """The moments, from sums and products of the distances from a centre (…, K, J)."""
        return cls._trusted(
            weight=weight,
            sums=weight[..., None] * centre + sums,
            scatter=_about_mean(weight, sums, products),
            names=names,
            classes=classes,
            groups=groups,
        )

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        y_true: str,
        losses: str | Sequence[str] | Mapping[str, str],
        classes: object = None,
        weights: str | None = None,
        by: str | None = None,
    ) -> LossMoments:
        """Sum the losses in columns of a frame, in the engine that holds the frame.

        Losses of a class and group that differ by less than a tenth of their size are summed about
        their mean, in one more pass over the rows; of more than 500 such groups, those that differ
        least.

        Parameters
        ----------
        frame : a frame of pandas, Polars (eager or lazy), PyArrow, Dask or Spark, a data set of
            PyArrow, a DuckDB relation, or the path of a file, a glob, or a list of paths
        y_true : the column of the true classes, which match by text
        losses : the column of the losses, several of them, or a mapping from name to column; what
            is missing, or no number of size up to 1e100, is counted and refused
        classes : labels of the classes; by default those that are found, sorted
        weights : the column of the weights
        by : a column of groups, which are the leading axis; rows without a group are the last one

        Returns
        -------
        the moments

        Examples
        --------
        >>> import duckdb
        >>> rows = duckdb.sql("SELECT * FROM (VALUES (0, 0.5), (0, 1.5), (1, 4.0)) AS t(y, loss)")
        >>> LossMoments.from_frame(rows, y_true="y", losses="loss").means
        array([[1.],
               [4.]])
        """
        from stakes.adapters.frame_tallies import frame_losses

        return frame_losses(frame, y_true, losses, classes, weights, by)

    @property
    def class_weights(self) -> FloatArray:  # noqa: D102
        return self.weight

    @property
    def size(self) -> int:  # noqa: D102
        return self.weight.size + self.sums.size + self.scatter.size

    @property
    def means(self) -> FloatArray:
        """Mean of each loss within each class, of shape (…, K, J); nan for an absent class."""
        with np.errstate(invalid="ignore"):
            return self.sums / self.weight[..., None]

    @property
    def covariances(self) -> FloatArray:
        """Covariances of the losses within each class, of shape (…, K, J, J), divided by weight."""
        with np.errstate(invalid="ignore"):
            return self.scatter / self.weight[..., None, None]

    @property
    def total_scatter(self) -> FloatArray:
        """The scatter of the cases of all classes about their common mean, of shape (…, J, J)."""
        parts = enumerate((self.weight, self.sums, self.scatter), start=1)
        first = (np.moveaxis(part, -axes, 0) for axes, part in parts)
        return np.asarray(_pooled(np.ones((1, len(self.classes))), *first)[2][0])

    def mean(self, prior: object = None) -> FloatArray:
        """Mean of each loss per case, of shape (…, J), under a prior or the shares of the data.

        It is nan if a class of positive prior has no cases; classes of prior zero are ignored.

        Parameters
        ----------
        prior : class shares; None for those of the data

        Returns
        -------
        means, (…, J)

        Examples
        --------
        >>> moments = LossMoments.from_losses([0, 0, 1], {"old": [0, 2, 5], "new": [1, 1, 3]})
        >>> moments.mean([0.5, 0.5]).tolist()
        [3.0, 2.0]
        """
        shares = self.shares if prior is None else _check.prior("prior", prior, self.classes)
        weighted = np.where(shares[..., None] > 0, self.means, 0.0) * shares[..., None]
        return np.asarray(weighted.sum(axis=-2))

    def _times(self, factors: FloatArray) -> Self:
        with np.errstate(invalid="ignore"):
            return self._but(
                weight=self.weight * factors,
                sums=self.sums * factors[..., None],
                scatter=self.scatter * factors[..., None, None],
            )

    def __getitem__(self, index: Any) -> Self:
        """Index the leading axes; losses and classes stay."""
        parts = ("weight", 1), ("sums", 2), ("scatter", 3)
        chosen = {name: leading_index(getattr(self, name), axes, index) for name, axes in parts}
        return self._but(groups=None, **chosen)

    def sum_clusters(self, times: FloatArray) -> Self:  # noqa: D102
        _check.shapes(f"… {len(self.weight)}", times=times)
        weight, sums, scatter = _pooled(times, self.weight, self.sums, self.scatter)
        return self._but(weight=weight, sums=sums, scatter=scatter, groups=None)

    def __add__(self, other: Self) -> Self:
        """Tallies of two sets of cases as the tally of all."""
        if not isinstance(other, LossMoments):
            return NotImplemented
        if self.sums.shape != other.sums.shape:
            raise InputError(
                f"both LossMoments must have one shape; they have {self.sums.shape} and "
                f"{other.sums.shape}. Name all classes in both with classes=."
            )
        both = ((self.weight, other.weight), (self.sums, other.sums), (self.scatter, other.scatter))
        weight, sums, scatter = _pooled(np.ones((1, 2)), *map(np.stack, both))
        parts = {"weight": weight[0], "sums": sums[0], "scatter": scatter[0]}
        return self._trusted(**parts, **self._shared(other, "names", "classes"))

    def __repr__(self) -> str:
        names = "" if self.names is None else " " + ", ".join(map(str, self.names))
        return f"LossMoments of {self.sums.shape[-1]} losses{names} in {len(self.classes)} classes"


def _distances(
    rows: Rows, code: IntArray, losses: FloatArray, weight: FloatArray
) -> tuple[FloatArray, list[FloatArray]]:
    """The losses of the heaviest case of each cell (…, K, J), and the distances (n,) from them."""
    cell = code if rows.group is None else rows.group * weight.shape[-1] + code
    heaviest = np.zeros(weight.size, dtype=np.intp)
    heaviest[cell] = np.arange(len(cell))
    if rows.weights is not None:
        most = np.zeros(weight.size)
        np.maximum.at(most, cell, rows.weights)
        candidates = np.flatnonzero(rows.weights == most[cell])
        heaviest[cell[candidates]] = candidates
    centre = np.where(weight.reshape(-1, 1) > 0, losses[heaviest], 0.0)
    columns = zip(losses.T, centre.T, strict=True)
    parts = [column - np.take(about, cell) for column, about in columns]
    return centre.reshape(*weight.shape, -1), parts


def _sums(rows: Rows, code: IntArray, column: FloatArray, n_classes: int) -> FloatArray:
    """The weighted sum of one column within each class, and within each group if there are any."""
    weighted = column if rows.weights is None else column * rows.weights
    return cell_sums(rows._replace(weights=weighted), code, (n_classes,))


def _about_mean(weight: FloatArray, sums: FloatArray, products: FloatArray) -> FloatArray:
    """The scatter (…, J, J), from sums (…, J) and products of the distances from any centre.

    The products about the loss of the heaviest case are at most as many times the scatter as there
    are cases, so that the difference keeps its leading digits.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(weight[..., None] == 0, 0.0, sums / weight[..., None])
    scatter = products - sums[..., :, None] * means[..., None, :]
    # What rounding leaves of equal losses would have a square root that is no longer tiny.
    return np.where(np.abs(scatter) <= 1e-14 * np.abs(products), 0.0, scatter)


def _pooled(
    times: FloatArray, weight: FloatArray, sums: FloatArray, scatter: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight, sums and scatter of all tallies along the first axis, u being there times[…, u]."""

    def total(part: FloatArray) -> FloatArray:
        return np.tensordot(times, part, axes=1)

    ever = times.reshape(-1, len(weight)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = sums / weight[..., None]
        centre = np.tensordot(ever, sums, axes=1) / np.tensordot(ever, weight, axes=1)[..., None]
    away = means - centre
    # Means of equal losses differ by rounding, which is no scatter; the mean of no case is nan.
    away = np.where(np.abs(away) > _ROUNDING * np.abs(centre), away, 0.0)
    moved = weight[..., None] * away
    pooled = total(weight)
    # Apart from the scatter within, which loses nothing where the tallies are far from each other.
    between = _about_mean(pooled, total(moved), total(moved[..., :, None] * away[..., None, :]))
    return pooled, total(sums), total(scatter) + between


def _loss_matrix(losses: object) -> tuple[Labels | None, FloatArray]:
    """The names of the losses, or None, and the losses as an (n, J) array."""
    if isinstance(losses, Mapping):
        names = _check.labels("the names of the losses", losses)
        columns = {
            f"losses[{name!r}]": _check.squarable(f"losses[{name!r}]", column, ndim=1)
            for name, column in zip(names, losses.values(), strict=True)
        }
        _refuse_none(len(columns))
        _check.same_length(**columns)
        return names, np.stack(list(columns.values()), axis=1)
    matrix = _check.squarable("losses", losses, ndim=2)
    _refuse_none(matrix.shape[1])
    return None, matrix


def _refuse_none(number: int) -> None:
    if not number:
        raise InputError("losses must hold at least one loss; there are none. Add one.")
