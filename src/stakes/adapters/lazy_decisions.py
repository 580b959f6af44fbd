"""Decisions as a new column of a frame, by expressions of its engine; lazy frames stay lazy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from stakes.errors import InputError, extra

with extra("frames", "a frame"):  # before the files of this room that need it, too
    import narwhals.stable.v2 as nw

from stakes import _check
from stakes._check import FloatArray
from stakes._expression import Functions, Name, parse
from stakes._value import record
from stakes.adapters.columns import named_after_classes, spellings
from stakes.adapters.frame_tallies import HALF_SINGLE
from stakes.adapters.lazy import (
    WORKING,
    by_code,
    cheapest,
    cheapest_of_each,
    code_of,
    first_of,
    moved,
    stepped,
    sum_of,
    with_complement,
)
from stakes.adapters.sources import Lazy, Source, frame_source
from stakes.calibration import AffineLogs, CalibrationMap
from stakes.decide import class_ratios, refuse_limits
from stakes.problem import LARGEST, Problem
from stakes.rows import DECISIONS, POSTERIORS, ROUNDED, UNNORMALISED
from stakes.rule import Rule

# Calibration maps as expressions of columns, which engines compute row by row --------------------
#
# Maps are distinguished by their `kind`, as in JSON. Those of more than two classes are built in
# steps, as columns of the frame, because an engine would otherwise compute common parts
# repeatedly.

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


# -------------------------------------------------------------------------------------------------
# Decisions as a new column of a frame, by expressions of its engine; a lazy frame stays lazy.
#
# A row that `decide` would refuse, such as one with a missing probability, gets a missing
# decision.


DECISION = "decision"
_OWN, _MAPPED, _CODE, _COST = (WORKING + of for of in ("posterior_", "mapped_", "code", "cost_"))
_LARGEST = float(np.finfo(np.float64).max)

COLUMN_FUNCTIONS: Functions = {  # the functions of cost expressions, for an engine
    "min": lambda *parts: reduce(lambda a, b: nw.when(as_expr(a) <= b).then(a).otherwise(b), parts),
    "max": lambda *parts: reduce(lambda a, b: nw.when(as_expr(a) >= b).then(a).otherwise(b), parts),
    "abs": lambda part: as_expr(part).abs(),
    "where": lambda condition, then, otherwise: (
        nw.when(condition).then(as_expr(then)).otherwise(as_expr(otherwise))
    ),
    "not": lambda condition: ~condition,
}


def bayes_column(frame: Any, problem: Problem, columns: str | Sequence[str] | None) -> Any:
    """The frame with a column of Bayes decisions; see `stakes.bayes_decisions`.

    >>> import polars as pl
    >>> from stakes import bayes_decisions
    >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
    >>> frame = pl.LazyFrame({"case": [1, 2], "p": [0.05, 0.2]})
    >>> bayes_decisions(frame, problem, columns="p").collect()["decision"].to_list()
    ['wait', 'treat']
    """
    refuse_limits(problem)
    source = _opened(frame, "posteriors")
    return _decided(source, Rule(problem), _listed(source, columns, POSTERIORS, problem))


def rule_column(frame: Any, rule: Rule, columns: str | Sequence[str] | None) -> Any:
    """The frame with a column of the decisions of a rule; see `stakes.Rule.decide`."""
    source = _opened(frame, "predictions")
    if columns is None and rule.origin is not None:
        known = rule.origin.columns
        columns = known if known and set(known) <= set(source.types) else None
    return _decided(source, rule, _listed(source, columns, rule.takes, rule.problem))


def _opened(frame: Any, argument: str) -> Source:
    source = frame_source(frame, argument=argument)
    for column in source.types:  # some engines do not tell names apart that differ by case
        name = str(column).lower()
        if name == DECISION or name.startswith(WORKING):
            added = f"{DECISION!r} is to be added, and {WORKING}… is used on the way to it"
            raise InputError(
                f"the frame must have no column {column!r} yet: {added}. Rename it.",
                argument=argument,
            )
    return source


def _listed(
    source: Source, columns: str | Sequence[str] | None, takes: str, problem: Problem
) -> tuple[str, ...]:
    """The columns of the predictions, by default those named after the classes."""
    if columns is None and takes == POSTERIORS:
        names = tuple(map(str, problem.classes))
        second = problem.n_classes == 2 and names[0] not in source.types
        columns = names[1:] if second else names
        if not set(columns) <= set(source.types):
            raise InputError(
                f"columns must be named where the frame has none for the classes "
                f"{', '.join(names)}; it has {source.listed}. Write columns=…."
            )
    if columns is None:
        raise InputError(f"columns must be named: the rule takes {takes}. Write columns='…'.")
    listed: tuple[Any, ...] = (columns,)
    if not isinstance(columns, str):
        listed = _check.labels("columns", columns)
    sizes = {problem.n_classes, 1 if problem.n_classes == 2 else problem.n_classes}
    if len(listed) not in (sizes if takes == POSTERIORS else {1}):
        raise InputError(
            f"columns must be one for each class, or that of the second of two; "
            f"{', '.join(map(str, listed))} is {len(listed)}. Name others."
        )
    require = source.require if takes == DECISIONS else source.require_number
    remedy = "Name the columns of the predictions with columns=."
    for column in listed:
        source.require(column, "columns", remedy=remedy)
        require(column)
    return named_after_classes(listed, problem) if takes == POSTERIORS else listed


def _decided(source: Source, rule: Rule, columns: tuple[str, ...]) -> Any:
    source.require_costs(rule.problem)
    rows: Lazy = source.frame.lazy()
    if rule.takes == DECISIONS:
        text = source.text(columns[0])
        coded = rows.with_columns(code_of(text, spellings(rule.problem.decisions)).alias(_CODE))
        labelled = coded, nw.col(_CODE) >= 0
    else:
        predicted = _RuleColumns(source, rule, columns)
        labelled = predicted.coded(rows), predicted.usable
    frame, usable = labelled
    _check.refuse_mixed(rule.problem.decisions)
    label = by_code(nw.col(_CODE), rule.problem.decisions)
    frame = frame.with_columns(nw.when(usable).then(label).alias(DECISION))
    decided = frame.select(nw.col(*source.types), DECISION)
    with source.engine_errors():
        if source.passed is None:
            return (decided.collect() if source.in_memory else decided).to_native()
        return source.passed.with_columns(decided.collect()[DECISION]).to_native()


@record
class _RuleColumns:
    """Posteriors or scores in columns of a lazy frame, and the rule that decides by them."""

    source: Source
    rule: Rule
    columns: tuple[str, ...]

    @property
    def usable(self) -> nw.Expr:
        """Whether the predictions and costs of a row are valid."""
        values = [nw.col(column).cast(nw.Float64) for column in self.columns]
        # DuckDB believes the statistics of Parquet files, which leave nan out, and may not see it
        # in a comparison; arithmetic shows it.
        finite = [value - value == 0.0 for value in values]
        if self.rule.takes != POSTERIORS:
            infinite = (values[0].abs() > _LARGEST) & (1.0 / values[0] == 0.0)
            return finite[0] | infinite
        tests = [*finite, *((value >= 0.0) & (value <= 1.0) for value in values)]
        if len(values) == self.rule.problem.n_classes:
            tests.append((sum_of(values) - 1.0).abs() <= UNNORMALISED)
        sizes = [nw.col(name).abs() for line in self._cost_names for name in line]
        return reduce(and_, [*tests, *(size <= LARGEST for size in sizes)])

    @property
    def _cost_names(self) -> list[list[str]]:
        """The columns of the costs of every row, class by decision; none where rows share them."""
        problem = self.rule.problem
        if not problem.columns or self.rule.threshold is not None:
            return []
        decisions = range(problem.n_decisions)
        return [[f"{_COST}{k}_{d}" for d in decisions] for k in range(problem.n_classes)]

    def coded(self, rows: Lazy) -> Lazy:
        """Add the position of the decision."""
        rule = self.rule
        on_line = rule.map is not None or rule.threshold is not None
        # Cuts were found for doubles; single precision needs its rounding error in the comparison.
        single = self.source.is_single(self.columns)
        on_line = on_line or (len(self.columns) == 1 and not single)
        if on_line and rule.cuts is not None:
            score = nw.col(self.columns[-1]).cast(nw.Float64)
            below = stepped(score, rule.cuts.at.tolist(), rule.cuts.decisions.tolist())
            return rows.with_columns(below.alias(_CODE))
        if rule.map is not None and n_steps(rule.map) > MOST_STEPS:
            raise InputError(
                f"the map of {rule.system} must have at most {MOST_STEPS} steps to be an "
                f"expression of columns; it is of the kind {rule.map.kind} and has more. Collect "
                f"the frame, and decide on arrays.",
                argument="predictions",
            )
        return self._cheapest(rows, single)

    def _cheapest(self, rows: Lazy, single: bool) -> Lazy:
        problem = self.rule.problem
        posteriors = [nw.col(column).cast(nw.Float64) for column in self.columns]
        rounding = [p * HALF_SINGLE for p in posteriors] if single else []
        if (
            len(posteriors) == problem.n_classes
        ):  # sums that miss one by more than rounding are divided out
            total = sum_of(posteriors)
            divisor = nw.when((total - 1.0).abs() > ROUNDED).then(total).otherwise(nw.lit(1.0))
            posteriors = [p / divisor for p in posteriors]
        if self.rule.map is not None and self.rule.takes != POSTERIORS:
            (score,) = posteriors
            # Logistic maps take finite scores only; the largest double ranks as infinity does.
            finite = [_LARGEST, -_LARGEST, score]
            posteriors = [first_of([score > _LARGEST, score < -_LARGEST], finite)]
        if len(posteriors) < problem.n_classes:
            posteriors, rounding = [1.0 - posteriors[0], posteriors[0]], rounding * 2
        names = [f"{_OWN}{k}" for k in range(len(posteriors))]
        rows = rows.with_columns(**dict(zip(names, posteriors, strict=True)))
        if self.rule.map is not None:
            columns, names = names, [f"{_MAPPED}{k}" for k in range(len(names))]
            rows, rounding = with_mapped(rows, self.rule.map, columns, names), []
        old, new = self.rule.from_prior, self.rule.to_prior
        ratios = None if old is None or new is None else class_ratios(old, new)
        shape = (problem.n_classes, problem.n_decisions)
        prices = np.zeros(shape) if self.rule.added is None else self.rule.added.sum(axis=0)
        charged = self._cost_names
        if not charged:
            return cheapest(rows, names, problem.costs + prices, _CODE, rounding, ratios)
        values = {Name(column): nw.col(column).cast(nw.Float64) for column in problem.columns}
        rows = rows.with_columns(
            (as_expr(cost) + price).alias(name)
            for parts in zip(cost_columns(problem, values), charged, prices.tolist(), strict=True)
            for cost, name, price in zip(*parts, strict=True)
        )
        return cheapest_of_each(rows, names, charged, _CODE, rounding, ratios)


def cost_columns(problem: Problem, values: dict[Name, nw.Expr]) -> list[list[Any]]:
    """The costs of every row, class by decision, as numbers or expressions of columns."""
    return [
        [parse(cost)(values, COLUMN_FUNCTIONS) if isinstance(cost, str) else cost for cost in line]
        for line in problem.written
    ]


def as_expr(part: Any) -> nw.Expr:
    """A number as an expression of columns; an expression stays as it is."""
    return part if isinstance(part, nw.Expr) else nw.lit(float(part))
