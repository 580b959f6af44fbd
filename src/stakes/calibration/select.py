"""A calibrator that chooses among others by their out-of-fold log loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray
from stakes._hashing import Hashes, distinct_hashes, number_hashes, salted
from stakes._value import record
from stakes.calibration.affine import Affine, Logistic, Temperature, VectorScaling
from stakes.calibration.calibrator import CalibrationMap, Calibrator, are_probabilities
from stakes.calibration.crossfit import (
    CheckedRows,
    hashed_folds,
    most_folds,
    read_checked_rows,
    read_clusters,
)
from stakes.calibration.step_maps import Isotonic, OneVsRestIsotonic
from stakes.errors import InputError
from stakes.rows import Scores
from stakes.tally import BitGrid

_FOLDS, _FEWER_FOLDS = 5, 3  # for two classes, and for more, whose fits take longer
_MOST = 1 << 15  # most cases of a class that take part in the choice
_COSTLIER = 8  # times the number of classes, divides `_MOST` for more than two classes
_FEW = 4096  # most cases of two classes for a choice by single scores; beyond, by bins
_BINS = 512  # bins of the scores
_FEW_AT_ONCE = 8192  # most cases to parts of which maps are fitted at once
_FEW_FOR_SLOPES = 200  # cases of the rarest class below which its own slope is mostly noise
_MANY_SLOPES, _MANY_OFFSETS = 16, 32  # classes from which slopes, and intercepts, cost too much


@record(repr=False)
class Select(Calibrator):
    """The candidate with the least out-of-fold log loss, fitted to all cases.

    The choice is part of the fit: the cases are split into folds by hashes, so that their order
    does not matter, and each candidate is fitted to all folds but one and judged on that one.
    `cross_calibrate` therefore judges choice and fit together. The map is that of the chosen
    candidate. Candidates that cannot be fitted are dropped; where a class has only one case, the
    first that can be fitted is chosen.

    Posteriors of 0 and 1, as isotonic regression gives them, are judged as if half a case
    contradicted them. With more than a few thousand cases, the choice uses bins of the scores (two
    classes) or some of the cases (more classes; all of them where the folds are stated); the chosen
    map is fitted to all cases.

    Parameters
    ----------
    candidates : calibrators, the simplest first; by default `Affine` and `Isotonic` for posteriors
        of two classes, `Logistic` and `Isotonic` for `Scores` and all other numbers, and for more
        classes `Affine` and, where every class has 200 cases, `VectorScaling`; with 16 classes or
        more `Affine` alone, with 32 or more `Temperature` alone, because the time of a fit grows
        with the square of the number of classes

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p
    >>> Select().fit(p**4 / (p**4 + (1 - p) ** 4), y).kind
    'affine'
    >>> Select().fit(np.where(p < 0.5, p**8, p), y).kind
    'isotonic'
    """

    candidates: Sequence[Calibrator] | None = None

    def __post_init__(self) -> None:
        if self.candidates is None:
            return
        listed = self.candidates if isinstance(self.candidates, list | tuple) else (None,)
        for candidate in listed or (None,):
            _check.require(
                "candidates", candidate, Calibrator, "Write Select([Affine(), Isotonic()])."
            )
        self._fill({"candidates": tuple(listed)})

    def __repr__(self) -> str:
        return f"Select({'' if self.candidates is None else list(self.candidates)})"

    def _among(self, n_classes: int, rarest: float) -> tuple[Calibrator, ...]:
        """Candidates for more than two classes, of which the rarest has `rarest` cases."""
        if self.candidates is not None:
            return tuple(self.candidates)
        if n_classes >= _MANY_OFFSETS:
            return (Temperature(),)
        few = n_classes >= _MANY_SLOPES or rarest < _FEW_FOR_SLOPES
        return (Affine(),) if few else (Affine(), VectorScaling())

    def fit(
        self,
        scores: object,
        y: object,
        *,
        classes: object = None,
        weights: object = None,
        prior: object = None,
        clusters: object = None,
    ) -> CalibrationMap:
        """Choose and learn the map; arguments as for `Calibrator.fit`.

        Cases of one cluster (a patient, a site) stay in one fold of the choice.

        Parameters
        ----------
        scores : scores or posteriors, (n,) or (n, K)
        y : true class of every case, (n,)
        classes : labels of the classes
        weights : weight of each case
        prior : class shares to calibrate for
        clusters : labels of cases that stay in one fold

        Returns
        -------
        the map of the best candidate
        """
        rows, labels = read_checked_rows(scores, y, classes, weights, prior)
        owners = None if clusters is None else read_clusters(clusters, rows.codes)
        everything = np.ones(len(rows.codes), dtype=bool)
        return rows.fitted(self, everything, owners).relabelled(labels)

    def _fit_each(
        self, rows: CheckedRows, parts: BoolArray, clusters: IntArray | None
    ) -> list[CalibrationMap]:
        """The map of the best candidate for each part, judged on stated folds or by hashes."""
        ranked = []
        for part in parts:
            owners = None if clusters is None else _renumbered(clusters[part])
            ranked.append(self._ranked(rows.part(part), owners))
        maps: dict[int, CalibrationMap] = {}
        for order in dict.fromkeys(ranked):
            places = [place for place, other in enumerate(ranked) if other == order]
            maps |= zip(places, _first_fitted(order, rows, parts[places]), strict=True)
        return [maps[place] for place in range(len(parts))]

    def _ranked(self, rows: CheckedRows, clusters: IntArray | None) -> tuple[Calibrator, ...]:
        """The candidates in the order of their out-of-fold loss."""
        candidates = tuple(self.candidates or _usual(rows))
        return candidates if len(candidates) == 1 else _sorted(candidates, rows, clusters)


_FAULTS = (InputError, np.linalg.LinAlgError, FloatingPointError)


def _usual(rows: CheckedRows) -> tuple[Calibrator, ...]:
    """The default candidates for these scores, the simplest first."""
    size, scores = rows.n_classes, rows.scores
    if scores.ndim == 1:
        return (Affine() if are_probabilities(rows.wrapped(scores)) else Logistic()), Isotonic()
    if size == 2:
        return Affine(), OneVsRestIsotonic()
    return Select()._among(size, np.bincount(rows.codes, minlength=size).min())


def _first_fitted(
    candidates: tuple[Calibrator, ...], rows: CheckedRows, parts: BoolArray
) -> list[CalibrationMap]:
    """The map of each part by the first candidate that can be fitted to it."""
    faults = []
    for candidate in candidates:
        try:
            return parts_fitted(candidate, rows, parts)
        except _FAULTS as fault:
            if len(parts) > 1:  # it is the fault of some of them
                return [_first_fitted(candidates, rows, part[None])[0] for part in parts]
            faults.append(f"{candidate!r}: {fault}")
    raise InputError(
        f"scores must be such that one of the candidates can be fitted; none can. "
        f"{' '.join(faults)}"
    )


def _sorted(
    candidates: tuple[Calibrator, ...], rows: CheckedRows, clusters: IntArray | None
) -> tuple[Calibrator, ...]:
    if rows.weights is not None and not rows.weights.all():
        weighted = rows.weights > 0
        rows, clusters = rows.part(weighted), None if clusters is None else clusters[weighted]
    if rows.folds is not None:
        n_cases = len(rows.codes) if rows.weights is None else float(rows.weights.sum())
        number = _renumbered(rows.folds)
        if rows.scores.ndim == 1:
            rows, number = _binned_by_fold(rows, number)
    else:
        rows, clusters, hashes = _thinned(rows, clusters)
        n_cases, number = len(rows.codes), _hashed_folds(rows, clusters, hashes)
        # Fits to 512 bins take a fraction of the time and rank candidates in nearly the same way.
        if rows.n_classes == 2 and n_cases > _FEW:
            rows, number = _binned(rows, number)
    losses = [_loss(candidate, rows, number, 0.5 / n_cases) for candidate in candidates]
    return tuple(candidates[place] for place in np.argsort(losses, kind="stable"))


def _renumbered(numbers: IntArray) -> IntArray:
    """Numbers without gaps, in the same order."""
    return np.unique(numbers, return_inverse=True)[1].reshape(-1)


def _hashed_folds(rows: CheckedRows, clusters: IntArray | None, hashes: Hashes) -> IntArray:
    """The fold of each case; a single one where a class cannot be spread over more."""
    most = most_folds(rows.codes, clusters, rows.n_classes)
    folds = min(_FOLDS if rows.n_classes == 2 else _FEWER_FOLDS, most)
    if folds < 2:
        return np.zeros(len(rows.codes), dtype=np.intp)
    if clusters is not None:
        hashes = number_hashes("cluster", np.arange(int(clusters.max()) + 1), 0)
    return hashed_folds(rows.codes, folds, salted(hashes, "folds of a choice"), clusters)


def _binned_by_fold(rows: CheckedRows, folds: IntArray) -> tuple[CheckedRows, IntArray]:
    """Cases of one fold and class whose scores share a bin, as one case of their mean score.

    The bins follow from the scores alone, so that the choice is the same wherever the rows are.
    """
    scores = rows.scores
    probable = rows.wrapped is not Scores and bool(scores.min() >= 0 and scores.max() <= 1)
    size = BitGrid.N_BINS
    cell = (folds * size + BitGrid(probable).bins(scores + 0.0)) * 2 + rows.codes
    used, cell = np.unique(cell, return_inverse=True)
    cell = cell.reshape(-1)
    mass = np.bincount(cell, rows.weights).astype(np.float64)
    low, high = np.full(used.size, np.inf), np.full(used.size, -np.inf)
    np.minimum.at(low, cell, scores)
    np.maximum.at(high, cell, scores)
    sums = np.bincount(cell, scores if rows.weights is None else scores * rows.weights)
    pooled = replace(
        rows,
        scores=np.where(low == high, low, np.clip(sums / mass, low, high)),
        codes=used % 2,
        weights=mass,
        folds=None,
    )
    return pooled, used // (2 * size)


def _loss(calibrator: Calibrator, rows: CheckedRows, number: IntArray, least: float) -> float:
    """Mean out-of-fold log loss, with posteriors of at least `least`.

    It is infinite where a map cannot be fitted. A fold is skipped if the others lack a class.
    """
    codes, n_folds = rows.codes, int(number.max()) + 1
    sizes = np.bincount(number * rows.n_classes + codes, minlength=n_folds * rows.n_classes)
    sizes = sizes.reshape(n_folds, rows.n_classes)
    known = (sizes < sizes.sum(axis=0)).all(axis=1)
    if not known.any():
        return 0.0
    which, judged = (np.cumsum(known) - 1)[number], known[number]
    chances = np.ones(len(codes))
    try:
        maps = parts_fitted(calibrator, rows, number != np.flatnonzero(known)[:, None])
        posteriors = rows.part(judged).mapped(maps, which[judged])
    except _FAULTS:
        return float("inf")
    chances[judged] = _true(posteriors, codes[judged])
    # Posteriors are bounded by half a case: a single case must not make the loss infinite.
    (weights,) = rows.weights_in(np.ones((1, len(codes)), dtype=bool))
    return -float(weights @ np.log(np.maximum(chances, least))) / float(weights.sum())


def parts_fitted(
    calibrator: Calibrator, rows: CheckedRows, parts: BoolArray
) -> list[CalibrationMap]:
    """The map of each part of the cases, masks (F, n), at once where that is faster and possible.

    It is faster for a few thousand cases, whose single fits would mostly be overhead.
    """
    if rows.scores.ndim > 1 or len(parts) < 2 or len(rows.codes) > _FEW_AT_ONCE:
        return [rows.fit(calibrator, part) for part in parts]
    maps = calibrator._fit_parts(rows.wrapped(rows.scores), *rows.by_class(parts))
    return [
        rows.fit(calibrator, part) if fitted is None else fitted
        for part, fitted in zip(parts, maps, strict=True)
    ]


def _true(posteriors: FloatArray, codes: IntArray) -> FloatArray:
    """Posteriors of the true classes."""
    if posteriors.ndim == 1:
        return np.where(codes == 1, posteriors, 1 - posteriors)
    return np.asarray(posteriors[np.arange(len(codes)), codes])


def _thinned(
    rows: CheckedRows, clusters: IntArray | None
) -> tuple[CheckedRows, IntArray | None, Hashes]:
    """A sample of each class that has very many cases, with weights to match, and its hashes.

    Hashes draw it, so that it does not depend on the order of the cases.
    """
    hashes = _hashes(rows, clusters)
    most = _MOST // (1 if rows.n_classes == 2 else rows.n_classes * _COSTLIER)
    sizes = np.bincount(rows.codes, minlength=rows.n_classes)
    if sizes.max() <= most:
        return rows, clusters, hashes
    steps = np.maximum(-(-sizes // most), 1)
    kept = -(-sizes // steps)
    each = [_least(hashes, rows.codes == k, size) for k, size in enumerate(kept)]
    some = np.sort(np.concatenate(each))
    rows, hashes = rows.part(some), hashes[some]
    weights = (sizes / np.maximum(kept, 1))[rows.codes]  # each case stands for those left out
    rows = replace(rows, weights=weights if rows.weights is None else weights * rows.weights)
    return rows, None if clusters is None else _renumbered(clusters[some]), hashes


def _least(hashes: Hashes, among: BoolArray, count: np.int64) -> IntArray:
    """The positions of the cases with the smallest hashes among some."""
    places = np.flatnonzero(among)
    if count == places.size:
        return places
    return np.asarray(places[np.argpartition(hashes[places], count)[:count]])


def _hashes(rows: CheckedRows, clusters: IntArray | None) -> Hashes:
    """The hash of each case by all that is known of it, and of its number among equal cases."""
    if rows.hashes is not None:
        return rows.hashes
    columns = [rows.codes, *rows.scores.reshape(len(rows.codes), -1).T, rows.weights, clusters]
    known = [(str(place), column) for place, column in enumerate(columns) if column is not None]
    return distinct_hashes(
        lambda dropped: (number_hashes(name, column, dropped) for name, column in known)
    )


def _binned(rows: CheckedRows, number: IntArray) -> tuple[CheckedRows, IntArray]:
    """Pool cases of a fold and class with nearly the same score into one case of their weight.

    Edges are quantiles of a sample with equal parts of both classes; each bin gets the score in its
    middle.
    """
    scores = rows.scores if rows.scores.ndim == 1 else rows.scores[:, 1]
    classes = [scores[rows.codes == k] for k in range(2)]
    # A rare class would hardly affect the quantiles of all scores, but decides the fit as much.
    sample = np.sort(
        np.concatenate([np.sort(column)[:: -(-column.size // (8 * _BINS))] for column in classes])
    )
    step = -(-sample.size // _BINS)
    edges = sample[step::step]
    size = len(edges) + 1
    cell = (number * size + np.searchsorted(edges, scores)) * 2 + rows.codes
    mass = np.bincount(cell, rows.weights)
    used = np.flatnonzero(mass)
    middle = sample[np.minimum(np.arange(size) * step + step // 2, sample.size - 1)]
    pooled = middle[used // 2 % size]
    binned = replace(
        rows,
        scores=pooled if rows.scores.ndim == 1 else np.stack([1 - pooled, pooled], axis=1),
        codes=used % 2,
        weights=mass[used].astype(np.float64),
    )
    return binned, used // (2 * size)
