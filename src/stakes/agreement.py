"""How well classes and decisions agree when no class comes first: the metrics of itai-katz.

All of them use one matrix, the mean of "decided j given class i" and "class i given decision j" for
every pair (eq 8), and power means, whose order p runs from the smallest value (-inf) through the
harmonic (-1), geometric (0) and arithmetic (1) mean to the largest (inf). None of them uses costs.
Higher is better; undefined is nan; leading axes are carried through.

Takes tallies.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, Label, Numbers, described, number, reals, unwrapped, whole
from stakes._square import answer_columns, diagonal, elsewhere, off_diagonal, scaled, square
from stakes.errors import InputError
from stakes.tally import Counts

__all__ = [
    "all_against_all",
    "association_matrix",
    "cramers_phi",
    "determinant_mcc",
    "f1_of_negatives",
    "general_f1",
    "general_fowlkes_mallows",
    "mean_of_four_rates",
    "pairwise",
    "perfect_relabelling",
    "power_mean",
]

_GEOMETRIC = 1e-100  # orders below this differ from the geometric mean by less than rounding


def _order(name: str, p: float) -> float:
    """Order of a power mean: a real number or an infinity."""
    return p if isinstance(p, float) and math.isinf(p) else number(name, p)


def _inner_order(p: float) -> float:
    """Order of a mean that never exceeds the arithmetic one, as the bounds of eq 9-14 need."""
    order = _order("mean", p)
    if order > 1:
        raise InputError(
            f"mean must be an order of at most 1, the arithmetic mean; got {p!r}. "
            f"Larger means can exceed what the margins allow; 0 is the geometric mean."
        )
    return order


# Power means -------------------------------------------------------------------------------------


def power_mean(values: npt.ArrayLike, p: float, *, axis: int = -1) -> Numbers:
    r"""Mean of order p along an axis.

    .. math:: \Bigl(\frac1n \sum_i x_i^p\Bigr)^{1/p}

    -1 is the harmonic, 0 the geometric and 1 the arithmetic mean, -inf the minimum and inf the
    maximum; it grows with p. A zero among the values gives 0 for every p ≤ 0. Undefined for
    negative values, except at p = 1, -inf and inf, and for no values at all. Any p is safe: no
    intermediate result overflows. Reference: itai-katz, eq 4, 5.

    Parameters
    ----------
    values : what is averaged, nonnegative
    p : order of the mean
    axis : the axis to average over

    Returns
    -------
    the mean along the axis

    Examples
    --------
    >>> [float(power_mean([0.5, 1.0], p).round(3)) for p in (-np.inf, -1, 0, 1, np.inf)]
    [0.5, 0.667, 0.707, 0.75, 1.0]
    """
    order = _order("p", p)
    numbers = reals("values", values)
    if not numbers.ndim:
        raise InputError(f"values must be several numbers; got {described(values)}. Pass a list.")
    if not -numbers.ndim <= whole("axis", axis, low=-64) < numbers.ndim:
        raise InputError(
            f"axis must be one of the {numbers.ndim} axes of values; got {axis}. -1 is the last."
        )
    array = np.moveaxis(numbers, axis, -1)
    if array.shape[-1] == 0:
        return unwrapped(np.full(array.shape[:-1], np.nan))
    if order == 1:
        top = np.max(np.abs(array), initial=0.0)
        scale = 2.0**-64 if top > 1e150 else 1.0  # so that no sum overflows
        return unwrapped(np.mean(array * scale, axis=-1) / scale)
    if math.isinf(order):
        return unwrapped(np.max(array, axis=-1) if order > 0 else np.min(array, axis=-1))
    mean = _power_mean_of_positives(array, order)
    return unwrapped(np.where(np.any(array < 0, axis=-1), np.nan, mean))


def _power_mean_of_positives(array: FloatArray, p: float) -> FloatArray:
    """Power mean relative to the value that dominates it, on the scale of logarithms."""
    low, high = np.min(array, axis=-1), np.max(array, axis=-1)
    top = low if p < 0 else high
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        gaps = np.log(array) - np.log(top)[..., None]  # times p never positive
        if abs(p) < _GEOMETRIC:
            log_mean = np.mean(gaps, axis=-1)
        else:
            log_mean = np.log1p(np.mean(np.expm1(p * gaps), axis=-1)) / p
        mean = top * np.exp(log_mean)
    mean = np.where((top == 0) | np.isinf(top), top, mean)
    return np.where((low == 0) & (p <= 0), 0.0, mean)


def association_matrix(counts: Counts, *, mean: float) -> FloatArray:
    r"""Mean, of order `mean`, of "decided j given class i" and "class i given decision j".

    .. math:: M_{ij} = \phi^p\bigl(N_{ij}/N_{i*},\, N_{ij}/N_{*j}\bigr)
        = N_{ij} / \phi^{-p}(N_{i*}, N_{*j})

    The order is at most 1. With 0, the geometric mean, the squares sum to :math:`1 + \chi^2/N`.
    By counts: below order 0 an entry is undefined only where both of its margins are empty, from
    0 on where one is. Shape (..., K, M), square or not. Reference: itai-katz, eq 8.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    mean : order of the power mean: 1 arithmetic, 0 geometric, −1 harmonic

    Returns
    -------
    association of each class and decision, (…, K, M)

    Examples
    --------
    >>> association_matrix(Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]]), mean=0).round(3)
    array([[0.358, 0.416, 0.116],
           [0.113, 0.436, 0.501],
           [0.462, 0.112, 0.466]])
    """
    _check.require("counts", counts, Counts)
    return _associations(counts.values, mean)


def _associations(table: FloatArray, mean: float) -> FloatArray:
    """`association_matrix` of plain tables (…, K, M)."""
    order, values = _inner_order(mean), scaled(table)
    rows, columns = values.sum(axis=-1)[..., :, None], values.sum(axis=-2)[..., None, :]
    if order == 0:  # the paper's own case, and much cheaper than logarithms
        return ratio(values, np.sqrt(rows * columns))
    margins = np.stack(np.broadcast_arrays(rows, columns), axis=-1)
    return ratio(values, power_mean(margins, -order))


# Averages over classes ---------------------------------------------------------------------------


def _class_means(counts: Counts, mean: float) -> FloatArray:
    """Mean of recall and precision of each class, (..., K)."""
    return diagonal(_associations(square(counts), mean))


def general_f1(counts: Counts, *, average: float, mean: float = -1) -> Numbers:
    r"""Power mean, of order `average`, of the F1 scores of all classes.

    .. math:: \phi^{a}(H_1, \dots, H_K), \qquad
        H_k = \phi^{-1}\bigl(N_{kk}/N_{k*},\, N_{kk}/N_{*k}\bigr)

    `mean` is the inner order, of recall and precision, at most 1: -1 makes F1 scores, 0
    Fowlkes-Mallows indices. Undefined when any class is (see `association_matrix`). Shape (...).
    Reference: itai-katz, section 3.2.2.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    average : order of the power mean over classes: 1 arithmetic, 0 geometric, −1 harmonic
    mean : order of the power mean of recall and precision within a class; −1 makes F1 scores

    Returns
    -------
    mean of the F1 scores, (…)

    Examples
    --------
    >>> table = Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]])
    >>> float(general_f1(table, average=-1).round(9))
    0.413080895
    """
    return power_mean(_class_means(counts, mean), _order("average", average))


def general_fowlkes_mallows(counts: Counts, *, average: float) -> Numbers:
    r"""Power mean, of order `average`, of the Fowlkes-Mallows indices of all classes.

    .. math:: \phi^{a}(G_1, \dots, G_K), \qquad G_k = N_{kk} / \sqrt{N_{k*} N_{*k}}

    Never below `general_f1`. Undefined when a class is absent or never decided. Shape (...).
    Reference: itai-katz, section 3.2.2.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    average : order of the power mean over classes: 1 arithmetic, 0 geometric, −1 harmonic

    Returns
    -------
    mean of the indices, (…)

    Examples
    --------
    >>> table = Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]])
    >>> float(general_fowlkes_mallows(table, average=1).round(3))
    0.42
    """
    return power_mean(_class_means(counts, 0), _order("average", average))


def _true_negatives(values: FloatArray) -> FloatArray:
    """True negatives of each class, (..., K): cases outside it that get another decision."""
    return np.asarray(off_diagonal(elsewhere(values)).sum(axis=-2))


def f1_of_negatives(counts: Counts) -> FloatArray:
    r"""F1 score of "not this class": harmonic mean of specificity and negative predictive value.

    .. math:: F_{1\text{-}0} = \frac{2\,TN_k}{2\,TN_k + FP_k + FN_k}

    For two classes it is the F1 score of the other class. By counts: undefined only when every
    case is of the class and gets that decision. Shape (..., K). Reference: itai-katz, section 2.1
    (which says sensitivity for negative predictive value).

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    F1 score for each class, (…, K)

    Examples
    --------
    >>> f1_of_negatives(Counts([[2680, 72], [23, 28]])).round(3)
    array([0.371, 0.983])
    """
    values = square(counts)
    right, errors = 2 * _true_negatives(values), off_diagonal(values)
    return ratio(right, right + errors.sum(axis=-1) + errors.sum(axis=-2))


def mean_of_four_rates(counts: Counts, *, mean: float) -> FloatArray:
    r"""Power mean of sensitivity, precision, specificity and negative predictive value.

    .. math:: \phi^p\Bigl(\frac{TP_k}{TP_k+FN_k}, \frac{TP_k}{TP_k+FP_k},
        \frac{TN_k}{TN_k+FP_k}, \frac{TN_k}{TN_k+FN_k}\Bigr)

    The order `mean` is at most 1; the harmonic mean is known as P4. Undefined when any of the four
    is. Shape (..., K). Reference: itai-katz, section 2.1.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    mean : order of the power mean: 1 arithmetic, 0 geometric, −1 harmonic

    Returns
    -------
    mean for each class, (…, K)

    Examples
    --------
    >>> mean_of_four_rates(Counts([[2680, 72], [23, 28]]), mean=-1).round(3)
    array([0.538, 0.538])
    """
    order = _inner_order(mean)
    values = square(counts)
    hits, rejections = diagonal(values), _true_negatives(values)
    errors = off_diagonal(values)
    misses, false_alarms = errors.sum(axis=-1), errors.sum(axis=-2)
    right = np.stack([hits, hits, rejections, rejections], axis=-1)
    wrong = np.stack([misses, false_alarms, false_alarms, misses], axis=-1)
    return power_mean(ratio(right, right + wrong), order)


# The whole table ---------------------------------------------------------------------------------


def determinant_mcc(counts: Counts, *, mean: float = 0) -> Numbers:
    r"""Matthews' correlation for K classes: the determinant of the association matrix.

    .. math:: \det M, \qquad M_{ij} = N_{ij} / \sqrt{N_{i*} N_{*j}}

    For two classes this is `mcc`. Between -1 and 1; these two are reached by perfect decisions
    under permuted names, which `perfect_relabelling` finds. Unchanged when the classes are
    renamed, or truth and decisions swapped. `mean` may be any order up to 1. Undefined when a class
    is absent or never decided; `Counts.smoothed` avoids that. Shape (...). Reference:
    itai-katz, section 3.2.4.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    mean : order of the power mean: 1 arithmetic, 0 geometric, −1 harmonic

    Returns
    -------
    correlation, (…), between −1 and 1

    Examples
    --------
    The third class is hardly ever decided, and the volume is small:

    >>> float(determinant_mcc(Counts([[20, 6, 0], [2, 20, 0], [12, 12, 8]])).round(9))
    0.225669288
    """
    values = square(counts)
    matrix = _associations(values, mean)
    undefined = _has_empty_margin(values) | np.any(np.isnan(matrix), axis=(-2, -1))
    matrix = np.where(undefined[..., None, None], np.eye(counts.n_classes), matrix)
    return unwrapped(np.where(undefined, np.nan, np.linalg.det(matrix)))


def _has_empty_margin(values: FloatArray) -> npt.NDArray[np.bool_]:
    """Whether a class is absent or a decision never taken, (...)."""
    rows, columns = values.sum(axis=-1), values.sum(axis=-2)
    return np.asarray(np.any(rows == 0, axis=-1) | np.any(columns == 0, axis=-1))


def cramers_phi(counts: Counts) -> Numbers:
    r"""Cramér's φ: association between classes and decisions, whatever their names.

    .. math:: \sqrt{\frac{\chi^2}{N (k - 1)}}, \qquad k = \min(K, M)

    Between 0 and 1; for two classes and two decisions the absolute value of `mcc`. Decisions need
    not be classes. Undefined when a class is absent or a decision never taken, and for k = 1.
    Shape (...). Reference: itai-katz, section 3.2.3 (its program is right, its formula is not).

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    association, (…), between 0 and 1

    Examples
    --------
    >>> float(cramers_phi(Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]])).round(9))
    0.3252513
    """
    _check.require("counts", counts, Counts)
    values = counts.values
    joint = ratio(values, np.asarray(counts.n_cases)[..., None, None])
    rows, columns = joint.sum(axis=-1, keepdims=True), joint.sum(axis=-2, keepdims=True)
    expected = rows * columns
    per_case = np.sum(ratio((joint - expected) ** 2, expected), axis=(-2, -1))
    most = min(counts.n_classes, counts.n_decisions) - 1
    undefined = _has_empty_margin(values) | (most == 0)
    return unwrapped(np.where(undefined, np.nan, np.sqrt(ratio(per_case, most))))


def perfect_relabelling(counts: Counts) -> dict[Label, Label] | None:
    """Say which class each decision stands for, if renaming them makes every decision right.

    Such tables are the ones whose `determinant_mcc` is 1 (an even permutation) or -1 (an odd one):
    one entry in every row and in every column. The answer maps decisions to classes; without
    labels, positions stand for them. None if there is no such renaming. Takes one table.
    Reference: itai-katz, section 3.2.4.

    Parameters
    ----------
    counts : cases by true class and decision, (K, K)

    Returns
    -------
    decision → class, or None where no renaming does it

    Examples
    --------
    Everything is wrong, and nothing is lost:

    >>> perfect_relabelling(Counts([[0, 0, 7], [4, 0, 0], [0, 5, 0]]))
    {0: 1, 1: 2, 2: 0}
    """
    values = square(counts)
    _check.no_leading_axes("counts", counts.leading)
    present = values > 0
    if not (np.all(present.sum(axis=0) == 1) and np.all(present.sum(axis=1) == 1)):
        return None
    names = counts.classes or counts.decisions or tuple(range(counts.n_classes))
    decided = counts.decisions or names
    order = answer_columns(names, decided)
    return {decided[order[j]]: names[int(i)] for j, i in enumerate(np.argmax(present, axis=0))}


# Pairs of classes --------------------------------------------------------------------------------


def pairwise(metric: Callable[[Counts], Numbers], counts: Counts) -> FloatArray:
    """Evaluate a metric on every pair of classes, all other classes and decisions left out.

    Entry (i, j) is the metric of the table with rows and columns i, j alone, j being the second
    and so the positive class. For a metric that knows no positive class the answer is symmetric.
    The diagonal is nan. The metric gives one value for every table; of those that give one for
    every class, pick one: ``lambda pair: f_beta(pair, 1)[..., 1]``. Shape (..., K, K). Reference:
    itai-katz, section 3.2.1.

    Parameters
    ----------
    metric : a function of `Counts`
    counts : cases by true class and decision, (…, K, M)

    Returns
    -------
    the metric of each pair, (…, K, K), nan on the diagonal

    Examples
    --------
    >>> table = Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]])
    >>> pairwise(determinant_mcc, table).round(3)
    array([[  nan, 0.27 , 0.243],
           [0.27 ,   nan, 0.265],
           [0.243, 0.265,   nan]])
    """
    _check.a_function("metric", metric)
    values = square(counts)
    size = counts.n_classes
    first, second = np.nonzero(~np.eye(size, dtype=bool))
    pair = np.stack([first, second], axis=-1)
    tables = Counts._unlabelled(values[..., pair[:, :, None], pair[:, None, :]], counts.groups)
    remedy = "Measures of stakes.measures do so."
    of_pairs = _check.returned("metric", metric(tables), remedy)
    if of_pairs.shape != tables.values.shape[:-2]:
        raise InputError(
            f"metric must give one value for every table; for tables of shape "
            f"{tables.values.shape} it gave shape {of_pairs.shape}. "
            f"Pick a class, as in lambda pair: recall(pair)[..., 1]."
        )
    result = np.full(values.shape, np.nan)
    result[..., first, second] = of_pairs
    return result


def all_against_all(
    metric: Callable[[Counts], Numbers], counts: Counts, *, average: float
) -> Numbers:
    """Power mean, of order `average`, of a metric over all pairs of classes.

    Both orders of a pair enter, so that renaming classes changes nothing even when the metric
    has a positive class; otherwise either order would do. Undefined when any pair is, for a
    single class, and (see `power_mean`) for negative values unless the order is 1 or infinite.
    Shape (...). Reference: itai-katz, section 3.2.1.

    Parameters
    ----------
    metric : a function of `Counts`
    counts : cases by true class and decision, (…, K, M)
    average : order of the power mean over classes: 1 arithmetic, 0 geometric, −1 harmonic

    Returns
    -------
    mean of the metric over pairs, (…)

    Examples
    --------
    >>> table = Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]])
    >>> float(all_against_all(determinant_mcc, table, average=1).round(4))
    0.2591
    """
    table = pairwise(metric, counts)
    pairs = ~np.eye(counts.n_classes, dtype=bool)
    return power_mean(table[..., pairs], _order("average", average))
