"""Out-of-fold posteriors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._hashing import Hashes, even_parts
from stakes._value import record
from stakes.calibration.calibrator import (
    CalibrationMap,
    Calibrator,
    is_one_column,
    is_posteriors,
    n_classes_of,
    read_fit_cases,
)
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores, read_posteriors
from stakes.scoring import class_labels, column_classes

_DEALT = 1000  # cases of a class, or clusters that hold it, up to which they are dealt in turn


def cross_calibrate(
    scores: object,
    y: object,
    calibrator: Calibrator,
    folds: object,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
    clusters: object = None,
    rng: np.random.Generator | None = None,
) -> FloatArray:
    """Out-of-fold posteriors: each case is mapped by a map fitted on the other folds.

    Folds are drawn at random, with each class spread over them as evenly as possible, or stated,
    so that several models can share them. Cases of one cluster stay in one fold. Every class must
    occur in two folds at least.

    Parameters
    ----------
    scores : (n,) or (n, K), what the calibrator takes; posteriors that name their classes go by
        the names
    y : true class of every case, (n,)
    calibrator : the calibrator to fit, such as `Isotonic()`
    folds : number of folds, 2 or more, which are drawn; or labels, one per case, of its fold
    classes, weights, prior : as in ``calibrator.fit``
    clusters : labels, one per case, of cases that belong together
    rng : draws the folds; must be passed unless they are stated

    Returns
    -------
    (n,) or (n, K) posteriors, as the fitted maps give them

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(1000) < 0.3
    >>> cross_calibrate(rng.random(1000), y, Isotonic(), 5, rng=rng).shape
    (1000,)
    >>> cross_calibrate(rng.random(1000), y, Isotonic(), np.arange(1000) % 4).shape
    (1000,)
    """
    _check.require("calibrator", calibrator, Calibrator)
    if rng is None and _check.array("folds", folds).ndim == 0:
        raise InputError(
            f"rng must be passed where folds are drawn, as {folds} folds are; it was "
            f"left out. Write rng=np.random.default_rng(0), or state the fold of every case in "
            f"folds, as in np.arange(n) % 5.",
            argument="rng",
        )
    _check.aligned(scores=scores, y=y, weights=weights, clusters=clusters)
    rows, names = read_checked_rows(scores, y, classes, weights, prior)
    owners = None if clusters is None else read_clusters(clusters, rows.codes)
    number = _numbers(folds, rows.codes, owners, rng)
    weighted = slice(None) if rows.weights is None else rows.weights > 0
    _refuse_lonely(rows.codes[weighted], number[weighted], names)
    return rows.out_of_fold(calibrator, number, owners)


@record
class CheckedRows:
    """Scores and classes of cases, checked once, from which a calibrator can take parts.

    Parameters
    ----------
    scores : (n,) or (n, K)
    codes : position of the class of each case, (n,)
    weights : weight of each case, or None
    prior : class shares to calibrate for, or None
    n_classes : number of classes
    wrapped : wraps scores to say what they are, such as `Posteriors`
    folds : fold of each case, (n,), for calibrators that need folds; None lets them make some
    hashes : of each case, (n,), from which they make them, so that models share them; None takes
        those of scores, classes and weights

    Examples
    --------
    >>> rows = CheckedRows(np.array([0.1, 0.4, 0.9]), np.array([0, 1, 1]), None, None, n_classes=2)
    >>> rows.part(rows.codes == 1).scores
    array([0.4, 0.9])
    """

    scores: npt.NDArray[Any]
    codes: IntArray
    weights: FloatArray | None
    prior: FloatArray | None
    n_classes: int
    wrapped: Callable[[Any], object] = lambda some: some
    folds: IntArray | None = None
    hashes: Hashes | None = None

    def part(self, some: Any) -> CheckedRows:
        """Select cases.

        Parameters
        ----------
        some : a mask, positions or a slice

        Returns
        -------
        CheckedRows
            The selected cases.

        Examples
        --------
        >>> rows = CheckedRows(np.array([0.1, 0.4, 0.9]), np.array([0, 1, 1]), None, None, 2)
        >>> rows.part(slice(2)).scores
        array([0.1, 0.4])
        """
        if isinstance(some, np.ndarray) and some.dtype == np.bool_:
            if some.all():
                return self
            some = np.flatnonzero(some)  # several columns are selected, which a mask does slowly
        return replace(
            self,
            scores=self.scores[some],
            codes=self.codes[some],
            weights=None if self.weights is None else self.weights[some],
            folds=None if self.folds is None else self.folds[some],
            hashes=None if self.hashes is None else self.hashes[some],
        )

    def fitted(
        self, calibrator: Calibrator, some: BoolArray, clusters: IntArray | None
    ) -> CalibrationMap:
        """Fit a calibrator to some of the cases.

        Parameters
        ----------
        calibrator : the calibrator
        some : mask of the cases, (n,)
        clusters : cluster of each case, (n,), or None

        Returns
        -------
        CalibrationMap
            The map, whose classes are positions 0 … K − 1.

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> rows = CheckedRows(np.array([0.1, 0.4, 0.9]), np.array([0, 1, 1]), None, None, 2)
        >>> rows.fitted(Isotonic(), np.array([True, True, True]), None)([0.05, 0.6])
        array([0., 1.])
        """
        (fitted,) = calibrator._fit_each(self, some[None], clusters)
        return fitted

    def fit(self, calibrator: Calibrator, some: BoolArray) -> CalibrationMap:
        """Fit a calibrator, which needs no folds, to some of the cases.

        Parameters
        ----------
        calibrator : the calibrator
        some : mask of the cases, (n,)

        Returns
        -------
        CalibrationMap
            The map, whose classes are positions 0 … K − 1.

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> rows = CheckedRows(np.array([0.1, 0.4, 0.9]), np.array([0, 1, 1]), None, None, 2)
        >>> rows.fit(Isotonic(), np.array([True, True, True]))([0.05, 0.6])
        array([0., 1.])
        """
        rows = self.part(some)
        return calibrator.fit(
            self.wrapped(rows.scores),
            rows.codes,
            classes=range(self.n_classes),
            weights=rows.weights,
            prior=self.prior,
        )

    def by_class(self, parts: BoolArray) -> tuple[FloatArray, FloatArray]:
        """The weights of two classes in parts of the cases, following the prior.

        Parameters
        ----------
        parts : masks of the cases, (F, n)

        Returns
        -------
        weights of negatives and of positives, (F, n) each

        Examples
        --------
        >>> rows = CheckedRows(np.array([0.1, 0.4, 0.9]), np.array([0, 1, 1]), None, None, 2)
        >>> rows.by_class(np.array([[True, True, False]]))
        (array([[1., 0., 0.]]), array([[0., 1., 0.]]))
        """
        weights = self.weights_in(parts)
        return weights * (self.codes == 0), weights * (self.codes == 1)

    def weights_in(self, parts: BoolArray) -> FloatArray:
        """The weights of the cases in parts of them, following the prior; zero outside.

        Parameters
        ----------
        parts : masks of the cases, (F, n)

        Returns
        -------
        weights, (F, n)

        Examples
        --------
        >>> shares = np.array([0.5, 0.5])
        >>> rows = CheckedRows(np.array([0.1, 0.4, 0.9]), np.array([0, 1, 1]), None, shares, 2)
        >>> rows.weights_in(np.array([[True, True, True]]))
        array([[1.5 , 0.75, 0.75]])
        """
        weights = parts * (1.0 if self.weights is None else self.weights)
        if self.prior is None:
            return np.asarray(weights)
        classes = range(self.n_classes)
        sizes = np.stack([weights @ (self.codes == k) for k in classes], axis=1)
        factors = self.prior * (sizes.sum(axis=1, keepdims=True) / sizes)
        return np.asarray(weights * factors[:, self.codes])

    def out_of_fold(
        self, calibrator: Calibrator, number: IntArray, clusters: IntArray | None
    ) -> FloatArray:
        """Posteriors of the cases of every fold by a map fitted to all others.

        Parameters
        ----------
        calibrator : the calibrator
        number : fold of each case, (n,), from 0
        clusters : cluster of each case, (n,), or None

        Returns
        -------
        posteriors, (n,) or (n, K)

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> scores, codes = np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1])
        >>> rows = CheckedRows(scores, codes, None, None, 2)
        >>> rows.out_of_fold(Isotonic(), np.array([0, 1, 0, 1]), None).round(3)
        array([0.   , 0.143, 0.857, 1.   ])
        """
        return self.mapped(self.fold_maps(calibrator, number, clusters), number)

    def fold_maps(
        self, calibrator: Calibrator, number: IntArray, clusters: IntArray | None
    ) -> tuple[CalibrationMap, ...]:
        """The map of every fold, fitted to all others.

        Parameters
        ----------
        calibrator : the calibrator
        number : fold of each case, (n,), from 0
        clusters : cluster of each case, (n,), or None

        Returns
        -------
        maps, one for each fold

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> scores, codes = np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1])
        >>> rows = CheckedRows(scores, codes, None, None, 2)
        >>> [each.kind for each in rows.fold_maps(Isotonic(), np.array([0, 1, 0, 1]), None)]
        ['isotonic', 'isotonic']
        """
        _check.require("calibrator", calibrator, Calibrator)
        folds = np.arange(int(number.max()) + 1)
        return tuple(calibrator._fit_each(self, number != folds[:, None], clusters))

    def mapped(self, maps: Sequence[CalibrationMap], number: IntArray) -> FloatArray:
        """Posteriors, (n,) or (n, K), of the cases of every fold by the map of that fold.

        Parameters
        ----------
        maps : one for each fold
        number : fold of each case, (n,), from 0

        Returns
        -------
        posteriors, (n,) or (n, K)

        Examples
        --------
        >>> from stakes.calibration import Isotonic
        >>> scores, codes = np.array([0.1, 0.2, 0.8, 0.9]), np.array([0, 0, 1, 1])
        >>> rows, number = CheckedRows(scores, codes, None, None, 2), np.array([0, 1, 0, 1])
        >>> rows.mapped(rows.fold_maps(Isotonic(), number, None), number).round(3)
        array([0.   , 0.143, 0.857, 1.   ])
        """
        if self.scores.ndim == 1:  # the scores of two classes, which need no further check
            kinds = {type(each) for each in maps}
            kind = kinds.pop() if len(kinds) == 1 else CalibrationMap
            return kind._at_each(maps, self.scores, number)
        masks = [number == fold for fold in range(len(maps))]
        parts = [
            each(self.wrapped(self.scores[mask])) for each, mask in zip(maps, masks, strict=True)
        ]
        result = np.empty((len(self.codes), *parts[0].shape[1:]))
        for mask, part in zip(masks, parts, strict=True):
            result[mask] = part
        return result


def read_checked_rows(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[CheckedRows, Labels]:
    """Check cases as every calibrator does, and return them with the labels of their classes."""
    bare, size, names, wrapped = _read_scores(scores, y, classes)
    labels = read_fit_cases(bare, y, size, names, weights, prior)[1].classes
    rows = CheckedRows(
        scores=bare,
        codes=_check.codes("y", y, labels),
        weights=None if weights is None else _check.weights("weights", weights, len(bare), of="y"),
        prior=None if prior is None else _check.prior("prior", prior, labels),
        n_classes=size,
        wrapped=wrapped,
    )
    return rows, labels


def _read_scores(
    scores: object, y: object, classes: object
) -> tuple[npt.NDArray[Any], int, object, Callable[[Any], object]]:
    """Scores as an array, the number of classes, their labels, and a wrapper for the scores."""
    if is_posteriors(scores):
        stated = column_classes("scores", scores) if classes is None else classes
        size = n_classes_of(scores)
        names = None if stated is None else class_labels(y, stated, size, name="y")
        rows = read_posteriors("scores", scores, names or tuple(range(size)))
        if is_one_column(scores):
            return rows[:, 1], 2, names, lambda some: some
        return rows, size, names, lambda some: Posteriors(some, classes=range(size))
    values = scores.values if isinstance(scores, Scores) else scores
    bare = _check.reals("scores", values)
    if bare.ndim not in (1, 2):
        raise InputError(
            f"scores must have one entry or one row for every case; the shape is {bare.shape}. "
            f"Pass (n,) scores, or (n, K) posteriors."
        )
    if np.ma.is_masked(values):
        masked = int(np.sum(np.ma.getmaskarray(np.ma.asarray(values))))
        raise InputError(
            f"scores must hold a number for every case; "
            f"{_check.those(masked, bare.size)} masked. Remove these cases first."
        )
    wrapped = Scores if isinstance(scores, Scores) else lambda some: some
    return bare, n_classes_of(bare), classes, wrapped


def read_clusters(clusters: object, codes: IntArray) -> IntArray:
    """The position of the cluster of each case among the distinct clusters."""
    owners = _check.clusters(clusters).codes
    _check.same_length(y=codes, clusters=owners)
    return owners


def _numbers(
    folds: Any, codes: IntArray, clusters: IntArray | None, rng: np.random.Generator | None
) -> IntArray:
    """The fold of every case, drawn at random or as stated."""
    if _check.array("folds", folds).ndim == 0:
        _check.generator(rng)
        assert rng is not None
        return fold_numbers(codes, folds, clusters=clusters, rng=rng)
    names = _check.distinct("folds", folds)
    number = _check.codes("folds", folds, names)
    _check.same_length(y=codes, folds=number)
    if len(names) < 2:
        raise InputError(
            f"folds must be 2 or more; all cases are in fold {names[0]!r}. Part them, or pass the "
            f"number of folds."
        )
    # More pairs of cluster and fold than clusters: some cluster is in two folds.
    if clusters is not None and len(np.unique(clusters * len(names) + number)) > clusters.max() + 1:
        raise InputError(
            "folds must keep clusters whole; some cluster has cases in two of them. Part the "
            "clusters into folds, or pass the number of folds."
        )
    return number


def most_folds(codes: IntArray, clusters: IntArray | None, size: int) -> int:
    """The most folds over which every class can be spread.

    It is the least number of cases of a class, or of clusters with cases of it.

    Parameters
    ----------
    codes : position of the class of each case, (n,)
    clusters : position of the cluster of each case, (n,), or None
    size : number of classes

    Returns
    -------
    number of folds

    Examples
    --------
    >>> most_folds(np.array([0, 0, 1, 1, 1]), None, 2)
    2
    """
    _check.shapes("n", codes=codes)
    if clusters is None:
        return int(np.bincount(codes, minlength=size).min())
    return min(len(np.unique(clusters[codes == k])) for k in range(size))


def fold_numbers(
    codes: IntArray, folds: object, *, clusters: IntArray | None = None, rng: np.random.Generator
) -> IntArray:
    """Random folds, stratified by class, that keep clusters whole.

    A cluster counts as a case of its rarest class, so that rare classes are spread first.

    Parameters
    ----------
    codes : position of the class of each case, (n,)
    folds : number of folds, at least 2
    clusters : position of the cluster of each case, (n,), from 0, or None
    rng : the generator that draws

    Returns
    -------
    number of the fold of each case, (n,)

    Examples
    --------
    >>> fold_numbers(np.array([0, 0, 1, 1]), 2, rng=np.random.default_rng(0)).shape
    (4,)
    """
    _check.shapes("n", codes=codes)
    count = _check.whole("folds", folds, low=2)
    n_clusters = codes.size if clusters is None else int(clusters.max(initial=-1)) + 1
    if count > n_clusters:
        raise InputError(
            f"folds must be at most the {n_clusters} "
            f"{'cases' if clusters is None else 'clusters'} there are; got {folds!r}. Use fewer "
            f"folds."
        )
    stratum, _ = _strata(codes, clusters)
    order = [rng.permutation(np.flatnonzero(stratum == k)) for k in range(int(codes.max()) + 2)]
    number = np.empty(n_clusters, dtype=np.intp)
    # The count goes on from class to class, which keeps the folds equal in size as well.
    number[np.concatenate(order)] = np.arange(n_clusters) % count
    return number if clusters is None else np.asarray(number[clusters])


def hashed_folds(
    codes: IntArray, count: int, hashes: Hashes, clusters: IntArray | None = None
) -> IntArray:
    """Folds that follow from hashes, whatever the order of the cases; clusters stay whole.

    A hash says by itself to which fold a case belongs. Only the cases of a class with at most a
    thousand of them are dealt in the order of their hashes, so that every fold gets its share. The
    same goes for clusters: those that hold a class, where these are at most a thousand, and all of
    them, where there are no more.

    Parameters
    ----------
    codes : position of the class of each case, (n,)
    count : number of folds
    hashes : of each case, (n,); of each cluster, (U,), where there are clusters
    clusters : position of the cluster of each case, (n,), from 0, or None

    Returns
    -------
    number of the fold of each case, (n,)

    Examples
    --------
    >>> hashes = np.array([30, 10, 20, 40], dtype=np.uint64)
    >>> hashed_folds(np.array([0, 0, 0, 1]), 2, hashes)
    array([1, 1, 0, 0])
    """
    _check.shapes(
        "n, n", codes=codes, **({"hashes": hashes} if clusters is None else {"clusters": clusters})
    )
    stratum, holders = _strata(codes, clusters)
    few = (holders <= _DEALT) | (clusters is not None and hashes.size <= _DEALT)
    dealt = np.flatnonzero(few[stratum])
    number = even_parts(hashes, count)
    order = dealt[np.lexsort((hashes[dealt], stratum[dealt]))]
    number[order] = np.arange(order.size) % count
    return number if clusters is None else np.asarray(number[clusters])


def _strata(codes: IntArray, clusters: IntArray | None) -> tuple[IntArray, IntArray]:
    """The class of each case, or the rarest one in each cluster, and how many hold each class.

    Classes are numbered by how many cases they have, the rarest first.
    """
    sizes = np.bincount(codes)
    rarity = np.empty(sizes.size, dtype=np.intp)
    rarity[np.argsort(sizes, kind="stable")] = np.arange(sizes.size)
    of_cases = rarity[codes]
    if clusters is None:
        return of_cases, np.sort(sizes, kind="stable")
    n_clusters = int(clusters.max(initial=-1)) + 1
    stratum = np.full(n_clusters, sizes.size)
    np.minimum.at(stratum, clusters, of_cases)
    pairs = np.unique(of_cases * n_clusters + clusters)
    return stratum, np.bincount(pairs // n_clusters, minlength=sizes.size + 1)


def _refuse_lonely(codes: IntArray, number: IntArray, classes: tuple[object, ...]) -> None:
    """Refuse folds that hold all cases of a class: the map for that fold could not learn it."""
    for k, label in enumerate(classes):
        occupied = np.unique(number[codes == k])
        if occupied.size < 2:
            raise InputError(
                f"folds must have each class in two of them at least; the cases of {label!r} are "
                f"all in one. Gather more of them, or cut their clusters smaller."
            )
