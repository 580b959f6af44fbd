"""Calibration maps as expressions of columns, which engines compute row by row.

Maps are distinguished by their `kind`, as in JSON. Those of more than two classes are built in
steps, as columns of the frame, because an engine would otherwise compute common parts repeatedly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import FloatArray
from stakes.adapters.expressions import first_of, moved, stepped, sum_of, with_complement
from stakes.adapters.sources import Lazy
from stakes.calibration import AffineLogs, CalibrationMap
from stakes.decide import class_ratios

MOST_STEPS = 2000  # most comparisons in an expression that goes to the engine
_LOG, _VALUE, _TOTAL = "log {}", "{} value", "{} total"
_DEEPEST = 745.0  # no logarithm of a double is below minus this


def n_steps(fitted: CalibrationMap) -> float:
    """The number of comparisons in the expression of a map; infinite where it has none.

    Examples
    --------
    >>> from stakes.calibration import Isotonic, Logistic
    >>> n_steps(Isotonic().fit([1, 2, 3], [0, 1, 1])), n_steps(Logistic().fit([1, 2, 1], [0, 1, 1]))
    (3, 0)
    """
    each: Any = fitted
    sizes: dict[str, Callable[[], float]] = {
        "isotonic": lambda: each.knots.size,
        "histogram": lambda: each.cuts.size,
        "one vs rest isotonic": lambda: sum(map(n_steps, each.maps)),
    }
    if fitted.affine_logs is not None or fitted.kind in ("affine", "logistic", "identity"):
        return 0
    return sizes[fitted.kind]() if fitted.kind in sizes else np.inf


def with_mapped(
    rows: Lazy, fitted: CalibrationMap, columns: Sequence[str], names: Sequence[str]
) -> Lazy:
    """Add the posteriors of a map as columns with these names.

    Parameters
    ----------
    rows : the frame
    fitted : a map whose `n_steps` are finite
    columns : columns of the posteriors of all classes; for two classes only the last one is used,
        and may hold raw scores
    names : names of the new columns, one for each class

    Returns
    -------
    the frame with the new columns

    Examples
    --------
    >>> import polars as pl
    >>> from stakes.calibration import Logistic
    >>> fitted = Logistic().fit([1, 2, 3, 4], [0, 1, 0, 1])
    >>> rows = nw.from_native(pl.LazyFrame({"s": [1.0, 4.0]}))
    >>> with_mapped(rows, fitted, ["s"], ["no", "yes"]).collect()["yes"].round(3).to_list()
    [0.204, 0.796]
    >>> fitted([1, 4]).round(3).tolist()
    [0.204, 0.796]
    """
    if fitted.kind == "one vs rest isotonic":
        return _each_apart(rows, fitted, columns, names)
    if fitted.kind == "identity" and len(names) > 2:
        of: Any = fitted
        return moved(rows, columns, of.to_prior / of.from_prior, names)
    if fitted.affine_logs is not None and len(names) > 2:
        return with_affine(rows, [fitted.affine_logs], [], columns, names)
    return with_complement(rows, second_class(fitted, nw.col(columns[-1])), names)


def second_class(fitted: CalibrationMap, score: nw.Expr) -> nw.Expr:
    """P(second class) by a map of two classes, from a finite score or from P(second class)."""
    of: Any = fitted
    if fitted.kind == "isotonic":
        return _interpolated(of, score)
    if fitted.kind == "histogram":
        return stepped(score, of.cuts.tolist(), of.values.tolist())
    if fitted.kind == "identity":
        return moved_second(score, class_ratios(of.from_prior, of.to_prior))
    return _expit(_log_odds(fitted, score))


def moved_second(posterior: nw.Expr, ratios: FloatArray) -> nw.Expr:
    """P(second class) for another prior; `ratios` (2,) are its shares over the others."""
    first, second = (1.0 - posterior) * float(ratios[0]), posterior * float(ratios[1])
    return second / (first + second)


def _log_odds(fitted: Any, score: nw.Expr) -> nw.Expr:
    if fitted.kind in ("logistic", "affine"):
        line = score if fitted.kind == "logistic" else _bounded_log_odds(score, fitted.limit)
        return line * float(fitted.slope) + float(fitted.intercept)
    matrix, intercepts, limit = fitted.affine_logs
    slopes, intercept = matrix[1] - matrix[0], float(intercepts[1] - intercepts[0])
    logs = logarithm(1.0 - score, limit), logarithm(score, limit)
    return logs[0] * float(slopes[0]) + logs[1] * float(slopes[1]) + intercept


def _bounded_log_odds(score: nw.Expr, limit: float) -> nw.Expr:
    odds = logarithm(score, _DEEPEST) - logarithm(1.0 - score, _DEEPEST)
    return first_of([odds < -limit, odds > limit], [-limit, limit, odds])


def _expit(odds: nw.Expr) -> nw.Expr:
    # The exponent is never positive, because engines disagree on overflow.
    small = (odds.abs() * -1.0).exp()
    return nw.when(odds >= 0.0).then(nw.lit(1.0)).otherwise(small) / (small + 1.0)


def _interpolated(fitted: Any, score: nw.Expr) -> nw.Expr:
    """The map of isotonic regression: constant or linear between knots, flat outside."""
    knots, values = fitted.knots.tolist(), fitted.values.tolist()
    if not knots:  # all scores of the fit were infinite
        return first_of([score < 0.0], [fitted.below, fitted.above])
    parts: list[Any] = [values[0]]
    for left, right, low, high in zip(knots, knots[1:], values, values[1:], strict=False):
        with np.errstate(over="ignore"):
            slope = float(np.divide(high - low, right - left))
        # Between knots so close that the slope is beyond all numbers, the upper one counts.
        sound = 0 < slope < np.inf
        parts.append((score - left) * slope + low if sound else high)
    return stepped(score, knots, [*parts, values[-1]])


def _each_apart(rows: Lazy, fitted: Any, columns: Sequence[str], names: Sequence[str]) -> Lazy:
    """Each class by its isotonic map, divided by the sum; uniform where that is zero."""
    values = [_VALUE.format(name) for name in names]
    total = _TOTAL.format(names[0])
    scores = [nw.col(column) for column in columns]
    if len(scores) == 1:
        scores = [1.0 - scores[0], scores[0]]
    mapped = map(_interpolated, fitted.maps, scores)
    rows = rows.with_columns(**dict(zip(values, mapped, strict=True)))
    rows = rows.with_columns(sum_of([nw.col(value) for value in values]).alias(total))
    known = nw.col(total) > 0.0
    divisor = nw.when(known).then(nw.col(total)).otherwise(nw.lit(float(len(names))))
    return rows.with_columns(
        (nw.when(known).then(nw.col(value)).otherwise(nw.lit(1.0)) / divisor).alias(name)
        for value, name in zip(values, names, strict=True)
    )


# Affine maps of logarithms -----------------------------------------------------------------------


def with_affine(
    rows: Lazy,
    maps: Sequence[AffineLogs],
    conditions: Sequence[nw.Expr],
    columns: Sequence[str],
    names: Sequence[str],
) -> Lazy:
    """Add posteriors by the map of the first condition that holds, else by the last map."""
    logs = [_LOG.format(name) for name in names]
    rows = rows.with_columns(
        first_of(conditions, [logarithm(nw.col(column), of.limit) for of in maps]).alias(log)
        for column, log in zip(columns, logs, strict=True)
    )
    rows = rows.with_columns(
        first_of(conditions, [logit_of(logs, m.matrix[k], m.intercepts[k]) for m in maps]).alias(
            name
        )
        for k, name in enumerate(names)
    )
    return softmax(rows, [names])


def logarithm(posterior: nw.Expr, limit: float) -> nw.Expr:
    """The logarithm of a posterior, at least −limit."""
    known = posterior > np.exp(-limit) if limit < _DEEPEST else posterior > 0.0
    return nw.when(known).then(posterior).otherwise(nw.lit(1.0)).log() - nw.when(known).then(
        nw.lit(0.0)
    ).otherwise(nw.lit(limit))


def logit_of(logs: Sequence[str], slopes: FloatArray, intercept: float) -> nw.Expr:
    """A logit as a sum of logarithms, which are columns."""
    pairs = zip(logs, slopes.tolist(), strict=True)
    terms = [nw.col(log) * slope for log, slope in pairs if slope]
    return sum_of([*terms, nw.lit(float(intercept))])


def softmax(rows: Lazy, groups: Sequence[Sequence[str]]) -> Lazy:
    """Turn groups of columns of logits into posteriors, in place.

    All groups share each step, because an engine plans the query again with every step.
    """
    highest, total = "{} highest", "{} sum"
    firsts = [(names[0], names) for names in groups]
    pairs = [(first, name) for first, names in firsts for name in names]
    rows = rows.with_columns(
        nw.max_horizontal(*map(nw.col, names)).alias(highest.format(first))
        for first, names in firsts
    )
    rows = rows.with_columns(
        (nw.col(name) - nw.col(highest.format(first))).exp().alias(name) for first, name in pairs
    )
    rows = rows.with_columns(
        sum_of([nw.col(name) for name in names]).alias(total.format(first))
        for first, names in firsts
    )
    return rows.with_columns(
        (nw.col(name) / nw.col(total.format(first))).alias(name) for first, name in pairs
    )
