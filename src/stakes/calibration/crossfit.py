"""Posteriors of cases that their own map has not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.calibration.contract import Calibrator, read_cases
from stakes.calibration.reading import is_one_column, is_posteriors, n_classes_of
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores, read_posteriors
from stakes.scoring.arguments import require, require_rng
from stakes.scoring.rows import class_labels, column_classes

__all__ = ["cross_calibrate", "fold_numbers"]


def cross_calibrate(
    scores: object,
    y: object,
    calibrator: Calibrator,
    folds: int,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
    groups: object = None,
    rng: np.random.Generator,
) -> FloatArray:
    """Out-of-fold posteriors: each case is mapped by a map fitted on the other folds.

    Folds are drawn at random, with each class spread over them as evenly as possible. Cases of one
    group stay in one fold. Every class must occur in two folds at least.

    Parameters
    ----------
    scores : (n,) or (n, K), what the calibrator takes; posteriors that name their classes go by
        the names
    folds : number of folds, 2 or more
    classes, weights, prior : as in ``calibrator.fit``
    groups : labels, one per case, of cases that belong together

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
    """
    require("calibrator", calibrator, Calibrator, "Write Isotonic(), Affine() or another.")
    require_rng(rng)
    _check.aligned(scores=scores, y=y, weights=weights, groups=groups)
    rows, size, names, part = _read_rows(scores, y, classes)
    names = read_cases(rows, y, size, names, weights, prior)[1].classes
    codes = _check.codes("y", y, names)
    weight = _check.weights("weights", weights, len(rows), of="y")
    shares = None if prior is None else _check.prior("prior", prior, names)
    number = fold_numbers(codes, folds, groups=groups, rng=rng)
    _refuse_lonely(codes[weight > 0], number[weight > 0], names)
    result: FloatArray | None = None
    for fold in range(int(folds)):
        held = number == fold
        fitted = calibrator.fit(
            part(rows[~held]),
            codes[~held],
            classes=range(size),
            weights=weight[~held],
            prior=shares,
        )
        posteriors = fitted(part(rows[held]))
        if result is None:
            result = np.empty((len(rows), *posteriors.shape[1:]))
        result[held] = posteriors
    assert result is not None  # there are two folds at least
    return result


def _read_rows(
    scores: object, y: object, classes: object
) -> tuple[npt.NDArray[Any], int, object, Callable[[FloatArray], object]]:
    """Scores as rows, the number of classes, their labels, and what to make of some rows."""
    if is_posteriors(scores):
        stated = column_classes("scores", scores) if classes is None else classes
        size = n_classes_of(scores)
        names = None if stated is None else class_labels(y, stated, size, name="y")
        rows = read_posteriors("scores", scores, names or tuple(range(size)))
        if is_one_column(scores):
            return rows[:, 1], 2, names, lambda some: some
        return rows, size, names, lambda some: Posteriors(some, classes=range(size))
    bare = np.asarray(scores.values if isinstance(scores, Scores) else scores)
    if bare.ndim not in (1, 2):
        raise InputError(
            f"scores must have one entry or one row for every case; the shape is {bare.shape}. "
            f"Pass (n,) scores, or (n, K) posteriors."
        )
    return bare, n_classes_of(bare), classes, lambda some: some


def fold_numbers(
    codes: IntArray, folds: int, *, groups: object = None, rng: np.random.Generator
) -> IntArray:
    """Fold of every case, (n,): dealt out at random, class after class, group by group.

    A group counts as one of its rarest class, so that rare classes are spread first.
    """
    count = _check.number("folds", folds, low=2)
    unit = np.arange(codes.size)
    if groups is not None:
        unit = _check.groups("groups", groups).codes
        _check.same_length(y=codes, groups=unit)
    n_units = int(unit.max(initial=-1)) + 1
    if not (count.is_integer() and count <= n_units):
        raise InputError(
            f"folds must be a whole number, at most the {n_units} "
            f"{'cases' if groups is None else 'groups'} there are; got {folds!r}. Use fewer folds."
        )
    sizes = np.bincount(codes)
    rarity = np.empty(sizes.size, dtype=np.intp)
    rarity[np.argsort(sizes, kind="stable")] = np.arange(sizes.size)
    stratum = np.full(n_units, sizes.size)
    np.minimum.at(stratum, unit, rarity[codes])
    order = np.lexsort((rng.random(n_units), stratum))
    number = np.empty(n_units, dtype=np.intp)
    number[order] = np.arange(n_units) % int(count)
    return np.asarray(number[unit])


def _refuse_lonely(codes: IntArray, number: IntArray, classes: tuple[object, ...]) -> None:
    """A class whose cases all lie in one fold is unknown to the map of that fold."""
    for k, label in enumerate(classes):
        found = np.unique(number[codes == k])
        if found.size < 2:
            raise InputError(
                f"every class must occur in two folds at least; the cases of {label!r} are all in "
                f"one. Gather more of them, or cut their groups smaller."
            )
