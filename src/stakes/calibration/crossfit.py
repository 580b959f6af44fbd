"""Posteriors of cases that their own map has not seen."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.calibration.contract import Calibrator, read_cases
from stakes.errors import InputError

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
    scores : (n,) or (n, K), what the calibrator takes
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
    rows = np.asarray(scores)
    if rows.ndim not in (1, 2):
        raise InputError(
            f"scores must have one entry or one row for every case; the shape is {rows.shape}."
        )
    size = rows.shape[1] if rows.ndim == 2 else 2
    names = read_cases(y, size, len(rows), classes, weights, prior).classes
    codes = _check.codes("y", y, names)
    weight = _check.weights("weights", weights, len(rows))
    shares = None if prior is None else _check.prior("prior", prior, names)
    number = fold_numbers(codes, folds, groups=groups, rng=rng)
    _refuse_lonely(codes[weight > 0], number[weight > 0], names)
    result: FloatArray | None = None
    for fold in range(int(folds)):
        held = number == fold
        fitted = calibrator.fit(
            rows[~held],
            codes[~held],
            classes=range(size),
            weights=weight[~held],
            prior=shares,
        )
        posteriors = fitted(rows[held])
        if result is None:
            result = np.empty((len(rows), *posteriors.shape[1:]))
        result[held] = posteriors
    assert result is not None  # there are two folds at least
    return result


def fold_numbers(
    codes: IntArray, folds: int, *, groups: object = None, rng: np.random.Generator
) -> IntArray:
    """Fold of every case, (n,): dealt out at random, class after class, group by group.

    A group counts as one of its rarest class, so that rare classes are spread first.
    """
    count = _check.number("folds", folds, low=2)
    unit = np.arange(codes.size)
    if groups is not None:
        names = _check.distinct("groups", groups)
        unit = _check.codes("groups", groups, names)
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
