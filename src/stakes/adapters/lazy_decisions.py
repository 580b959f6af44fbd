"""Decisions as a new column of a frame, by expressions of its engine; a lazy frame stays lazy.

A row that `decide` would refuse, such as one with a missing probability, gets a missing decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

import numpy as np

from stakes._value import record
from stakes.errors import InputError, extra

with extra("frames", "a frame"):  # before the files of this room that need it, too
    import narwhals.stable.v2 as nw

from stakes import _check
from stakes._expression import Functions, Name, parse
from stakes.adapters.columns import named_after_classes
from stakes.adapters.expressions import (
    WORKING,
    by_code,
    cheapest,
    cheapest_of_each,
    code_of,
    first_of,
    stepped,
    sum_of,
)
from stakes.adapters.label_texts import spellings
from stakes.adapters.map_columns import MOST_STEPS, n_steps, with_mapped
from stakes.adapters.sources import Lazy, Source, frame_source
from stakes.adapters.streamed_scores import HALF_SINGLE
from stakes.decide import class_ratios, refuse_limits
from stakes.problem import LARGEST, Problem
from stakes.rows import DECISIONS, POSTERIORS, ROUNDED, UNNORMALISED
from stakes.rule import Rule

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
