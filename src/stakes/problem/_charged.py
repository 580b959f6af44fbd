"""Costs of every case, and problems whose costs may differ from case to case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._expression import Name, column_text, parse
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.problem._cost_table import (
    LARGEST,
    Beliefs,
    CostTerms,
    Expressions,
    column_names,
    cost_terms,
    read_table,
    refuse_large,
)

# Costs of every case: expressions of columns, or a matrix for each case, read in blocks ----------
#
# Inside, the cases are the last axis, (K, M, B): sums and minima over classes and decisions then
# run along whole columns.

CASE_BLOCK = 1 << 15  # cases at a time, so that memory stays flat


@record
class CaseCosts:
    """The costs of every case: expressions and the columns that they need, or one large array.

    Examples
    --------
    A miss costs the amount of the case, an alarm always costs 2:

    >>> from stakes import Problem
    >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
    >>> costs = problem.charged({"amount": [5, 70, 8]}, None)
    >>> costs.n_cases, costs.cell(1, 0, slice(None)), costs.cell(0, 1, slice(None))
    (3, array([ 5., 70.,  8.]), 2.0)
    """

    n_cases: int
    classes: Labels
    decisions: Labels
    constants: FloatArray | None = None  # (K, M)
    expressions: Expressions = ()
    columns: Mapping[Name, FloatArray] | None = None
    array: FloatArray | None = None  # (n, K, M)
    added: FloatArray | None = None  # (K, M), to the costs of every case: prices of limits

    @property
    def shape(self) -> tuple[int, int]:
        """K and M."""
        return len(self.classes), len(self.decisions)

    def block(self, rows: slice) -> FloatArray:
        """Costs (K, M, B) of some cases.

        Parameters
        ----------
        rows : a slice of the cases

        Returns
        -------
        costs, (K, M, B)

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
        >>> costs = problem.charged({"amount": [5, 70, 8]}, None)
        >>> costs.block(slice(0, 2))
        array([[[ 0.,  0.],
                [ 2.,  2.]],
        <BLANKLINE>
               [[ 5., 70.],
                [ 0.,  0.]]])
        """
        if self.array is not None and self.added is None:
            return np.ascontiguousarray(np.moveaxis(self.array[rows], 0, -1))
        start, stop, _ = rows.indices(self.n_cases)
        costs = np.empty((*self.shape, stop - start))
        for k, d in np.ndindex(*self.shape):
            costs[k, d] = self.cell(k, d, rows)
        return costs

    def cell(self, k: int, d: int, rows: Any) -> FloatArray | float:
        """What decision d costs in cases of class k: one number, or (B,) of these cases.

        Parameters
        ----------
        k, d : positions of the class and of the decision
        rows : a slice of the cases, or an index

        Returns
        -------
        one number where all cases share it, else (B,)

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
        >>> costs = problem.charged({"amount": [5, 70, 8]}, None)
        >>> costs.cell(1, 0, slice(None)), costs.cell(0, 1, slice(None))
        (array([ 5., 70.,  8.]), 2.0)
        """
        cost = self._unpriced(k, d, rows)
        return cost if self.added is None else cost + float(self.added[k, d])

    def _unpriced(self, k: int, d: int, rows: Any) -> FloatArray | float:
        if self.array is not None:
            return np.asarray(self.array[rows, k, d])
        expression = self.expressions[k][d]
        if expression is None:
            assert self.constants is not None
            return float(self.constants[k, d])
        assert self.columns is not None
        with np.errstate(all="ignore"):  # what is undefined is refused, with its row
            return np.asarray(
                expression({name: self.columns[name][rows] for name in expression.names})
            )

    def term(self, text: str) -> FloatArray:
        """The values (n,) of a term of the costs, which is an expression of the columns.

        Parameters
        ----------
        text : the term, as in ``problem.terms``

        Returns
        -------
        values, (n,)

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
        >>> problem.charged({"amount": [5, 70, 8]}, None).term("amount")
        array([ 5., 70.,  8.])
        """
        if self.array is not None and self.columns:  # groups of cases have the terms as columns
            return self.columns[Name(text)]
        term, columns = parse(text), self.columns or {}
        with np.errstate(all="ignore"):  # what is no number is not summed
            return np.asarray(term({name: columns[name] for name in term.names}))

    def blocks(self) -> Iterator[tuple[slice, FloatArray]]:
        """Costs (K, M, B), a block of cases at a time.

        Yields
        ------
        slices of cases, each with their costs (K, M, B)

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
        >>> costs = problem.charged({"amount": [5, 70, 8]}, None)
        >>> [(rows, block.shape) for rows, block in costs.blocks()]
        [(slice(0, 3, None), (2, 2, 3))]
        """
        for start in range(0, self.n_cases, CASE_BLOCK):
            rows = slice(start, min(start + CASE_BLOCK, self.n_cases))
            yield rows, self.block(rows)

    def of_class(self, truth: IntArray) -> Iterator[tuple[slice, FloatArray]]:
        """What every decision costs given the class of each case, (M, B), block by block.

        Parameters
        ----------
        truth : position of the true class of each case, (n,)

        Yields
        ------
        slices of cases, each with the costs (M, B) of their decisions

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
        >>> costs = problem.charged({"amount": [5, 70, 8]}, None)
        >>> [charged.tolist() for rows, charged in costs.of_class(np.array([0, 1, 1]))]
        [[[0.0, 70.0, 8.0], [2.0, 0.0, 0.0]]]
        """
        for rows, costs in self.blocks():
            yield rows, costs_of_class(costs, truth[rows])

    def plus(self, amounts: FloatArray) -> CaseCosts:
        """Costs with an amount added to those of every case.

        Parameters
        ----------
        amounts : (K, M) what is added

        Returns
        -------
        the new costs

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
        >>> costs = problem.charged({"amount": [5, 70, 8]}, None)
        >>> costs.plus(np.array([[0.0, 1.0], [0.0, 1.0]])).block(slice(0, 1))[..., 0]
        array([[0., 3.],
               [5., 1.]])
        """
        return replace(self, added=amounts if self.added is None else self.added + amounts)

    def only(self, rows: BoolArray | IntArray | None) -> CaseCosts:
        """The costs of some of the cases.

        Parameters
        ----------
        rows : (n,) booleans, or positions; None for all cases

        Returns
        -------
        their costs

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem({"ok": {"pass": 0, "stop": 2}, "bad": {"pass": "amount", "stop": 0}})
        >>> costs = problem.charged({"amount": [5, 70, 8]}, None)
        >>> costs.only(np.array([True, False, True])).term("amount")
        array([5., 8.])
        """
        if rows is None:
            return self
        return replace(
            self,
            n_cases=int(np.count_nonzero(rows)) if rows.dtype == np.bool_ else rows.size,
            columns={name: column[rows] for name, column in (self.columns or {}).items()},
            array=None if self.array is None else self.array[rows],
        )


def costs_of_class(costs: FloatArray, truth: IntArray) -> FloatArray:
    """What every decision costs given the class of each case, (M, B), of costs (K, M, B).

    Parameters
    ----------
    costs : costs of each decision in a block of cases, (K, M, B)
    truth : position of the true class of each case, (B,)

    Returns
    -------
    costs, (M, B)

    Examples
    --------
    >>> costs = np.arange(12.0).reshape(2, 2, 3)      # K, M, three cases
    >>> costs_of_class(costs, np.array([0, 1, 1]))
    array([[ 0.,  7.,  8.],
           [ 3., 10., 11.]])
    """
    _check.shapes("K M B, B", costs=costs, truth=truth)
    _check.known_places("truth", truth, len(costs))
    if len(costs) == 2:  # where is faster than fancy indexing
        return np.asarray(np.where(truth == 1, costs[1], costs[0]))
    return np.asarray(costs[truth, :, np.arange(truth.size)].T)


def array_costs(case_costs: object, classes: Labels, decisions: Labels) -> CaseCosts:
    """Costs that came as one array of shape (n, K, M)."""
    costs = _check.floats("case_costs", case_costs)
    shape = (len(classes), len(decisions))
    if costs.ndim != 3 or costs.shape[1:] != shape:
        raise InputError(
            f"case_costs must have shape (n, {shape[0]}, {shape[1]}), one matrix of classes (rows) "
            f"by decisions (columns) for each case; its shape is {costs.shape}. Transpose or stack "
            f"the matrices."
        )
    refuse_large("case_costs", costs)
    return CaseCosts(len(costs), classes, decisions, array=costs)


def column_costs(
    data: Any, constants: FloatArray, expressions: Expressions, classes: Labels, decisions: Labels
) -> CaseCosts:
    """Costs as expressions of the columns of a frame or mapping; undefined ones are refused."""
    columns = {Name(name): _column(data, name) for name in column_names(expressions)}
    _check.aligned(data=data)
    n_cases = _check.same_length(
        **{f"data[{str(name)!r}]": column for name, column in columns.items()}
    )
    costs = CaseCosts(n_cases, classes, decisions, constants, expressions, columns)
    for k, d in np.ndindex(*costs.shape):
        expression = expressions[k][d]
        if expression is None or expression.text.isidentifier():
            continue  # a number, or a column, and these were looked at
        bad = [rows.start + _bad(costs.cell(k, d, rows)) for rows in _slices(n_cases)]
        if any(map(len, bad)):
            _refuse_undefined(costs, k, d, np.concatenate(bad))
    return costs


def _slices(n_cases: int) -> Iterator[slice]:
    return (slice(start, start + CASE_BLOCK) for start in range(0, n_cases, CASE_BLOCK))


def _bad(values: Any) -> IntArray:
    return np.flatnonzero(~(np.abs(values) <= LARGEST))  # nan is bad too


def _refuse_undefined(costs: CaseCosts, k: int, d: int, rows: IntArray) -> None:
    expression, columns = costs.expressions[k][d], costs.columns or {}
    assert expression is not None
    first = int(rows[0])
    value = float(np.asarray(costs.cell(k, d, slice(first, first + 1)))[0])
    evidence = ", ".join(f"{name} = {columns[name][first]:g}" for name in expression.names)
    raise InputError(
        f"costs must be numbers in every row, within {LARGEST:g} of zero; that of "
        f"{costs.decisions[d]!r} for {costs.classes[k]!r}, {expression.text!r}, is not in "
        f"{rows.size} of {costs.n_cases} rows, the first being {value:g} in row {first} "
        f"(counted from 0; {evidence}). "
        f"Ask first, as in where(amount > 0, 5 / amount, 0), or leave these rows out.",
        argument="data",
    )


def _column(data: Any, name: str) -> FloatArray:
    """One column of numbers; text and missing entries are refused."""
    _check.refuse_lazy("data", data)
    names = list(data) if isinstance(data, Mapping) else _check.frame_columns(data)
    if names is None:
        raise InputError(
            f"data must be a frame or a mapping from column to numbers; got "
            f"{type(data).__name__}. Write {{{name!r}: […]}}."
        )
    if name not in names:
        listed = ", ".join(map(repr, names[:8])) + ", …" * (len(names) > 8)
        raise InputError(
            f"data must have the column {name!r}, which the costs need; it has {listed or 'none'}. "
            f"Add it, or write the costs with another."
        )
    argument, column = f"data[{name!r}]", data[name]
    try:
        numbers = _check.floats(argument, column, ndim=1)
    except InputError as error:
        _refuse_missing(argument, column)
        _refuse_text(argument, column)
        raise InputError(str(error), argument="data") from None
    refuse_large(argument, numbers)
    return numbers


def _refuse_missing(argument: str, column: Any) -> None:
    """Refuse missing entries and name the first row; other faults are left to other checks."""
    try:
        gaps = _check.absent(argument, column)
    except InputError:
        return
    if gaps.any():
        raise InputError(
            f"{argument} must hold a number for every case; "
            f"{_check.those(int(gaps.sum()), gaps.size)} missing, the first in row "
            f"{int(np.argmax(gaps))} (counted from 0). A cost that is not known is not zero: fill "
            f"it in, or leave these rows out.",
            argument="data",
        )


def _refuse_text(argument: str, column: Any) -> None:
    """Refuse text and name the first row; other faults are left to other checks."""
    cells = np.asarray(column, dtype=object).ravel().tolist()
    texts = [row for row, cell in enumerate(cells) if isinstance(cell, str)]
    if texts:
        raise InputError(
            f"{argument} must hold a number for every case; "
            f"{_check.those(len(texts), len(cells))} text, the first being "
            f"{cells[texts[0]][:60]!r} in row {texts[0]} (counted from 0). Turn "
            f"them into numbers, or write the costs with another column.",
            argument="data",
        )


# Problems whose costs may differ from case to case -----------------------------------------------


class Charged(Value):
    """What a problem knows about the costs of single cases."""

    _constants: FloatArray
    _expressions: Expressions
    _beliefs: Beliefs
    classes: Labels
    decisions: Labels

    @property
    def beliefs(self) -> Beliefs:
        """Row, column and distribution of every uncertain cost; else ()."""
        return self._beliefs

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the costs are expressions of; none where all costs are numbers."""
        return column_names(self._expressions)

    @property
    def costs(self) -> FloatArray:
        """The costs (K, M); refused where they differ from case to case."""
        if not self._expressions:
            return self._constants
        names = ", ".join(map(repr, self.columns))
        first = self.columns[0] if self.columns[0].isidentifier() else "column"
        raise InputError(
            f"problem must have one cost for each class and decision here; its costs depend on the "
            f"columns of each case: {names}. Take problem.at({first}=…) for the costs of one kind "
            f"of case or problem.mean(data) for mean costs; evaluate, bayes_decisions and metrics "
            f"charge every case its own costs with data=, and stakes_table weighs scores by them."
        )

    @property
    def written(self) -> tuple[tuple[float | str | dict[str, Any], ...], ...]:
        """The costs as they are written: numbers, the text of expressions, and distributions."""
        rows: list[list[Any]] = self._constants.tolist()
        for row, expressions in zip(rows, self._expressions, strict=False):
            row[:] = [
                cost if expression is None else expression.text
                for cost, expression in zip(row, expressions, strict=True)
            ]
        for k, d, belief in self._beliefs:
            rows[k][d] = belief.written
        return tuple(map(tuple, rows))

    @property
    def terms(self) -> CostTerms:
        """What the costs are linear in, and the coefficient of each term in each cost.

        >>> from stakes.problem import Problem
        >>> Problem([[0, "5 + 0.02*amount"], ["amount", 0]]).terms.names
        ('1', 'amount')
        """
        return cost_terms(self._constants, self._expressions)

    def case_costs(self, data: object) -> FloatArray:
        """The costs of every case, of shape (n, K, M), from the columns of a frame or mapping.

        Parameters
        ----------
        data : a frame, or a mapping from column to numbers

        Returns
        -------
        costs, (n, K, M)

        Examples
        --------
        >>> from stakes.problem import Problem
        >>> Problem([[0, 5], ["amount", 0]]).case_costs({"amount": [10, 200]})[:, 1, 0]
        array([ 10., 200.])
        """
        costs = self._of_columns(data)
        array = np.empty((costs.n_cases, *costs.shape))
        for rows, block in costs.blocks():
            array[rows] = np.moveaxis(block, -1, 0)
        return array

    def at(self, **values: float) -> Self:
        """The problem of cases with these values, whose costs are numbers.

        Names that are not identifiers are passed as ``problem.at(**{"loan amount": 500})``.

        Parameters
        ----------
        values : a number for each of ``problem.columns``

        Returns
        -------
        the problem with these costs
        """
        unknown = [name for name in values if name not in self.columns]
        missing = [name for name in self.columns if name not in values]
        if unknown or missing:
            fault = f"{unknown[0]!r} is none of them" if unknown else f"{missing[0]!r} is missing"
            call = ", ".join(f"{name!r}: …" for name in self.columns)
            raise InputError(
                f"values must be one for each of the columns of the costs, "
                f"{', '.join(map(repr, self.columns)) or 'of which there are none'}; {fault}. "
                f"Write problem.at(**{{{call}}})."
            )
        checked = {name: [_check.number(name, value)] for name, value in values.items()}
        return self._with_costs(self.case_costs(checked)[0]) if self.columns else self

    def mean(self, data: object, *, weights: object = None) -> Self:
        """The problem with the mean costs of these cases: one cost matrix for all of them.

        The cheapest system under the mean costs need not be the cheapest under the costs of each
        case.

        Parameters
        ----------
        data : a frame, or a mapping from column to numbers
        weights : weight of each case; None counts each once

        Returns
        -------
        the problem with mean costs
        """
        costs = self._of_columns(data)
        shares = _check.weights("weights", weights, costs.n_cases, of="data")
        sums = sum(block @ shares[rows] for rows, block in costs.blocks())
        return self._with_costs(np.asarray(sums) / shares.sum())

    def charged(self, data: object, case_costs: object) -> CaseCosts | None:
        """The costs of every case, from columns or from an array; None if all share one matrix.

        One of the two is required if the costs depend on columns.

        Parameters
        ----------
        data : a frame, or a mapping from column to numbers; None where costs are numbers
        case_costs : (n, K, M) costs of every case, or None

        Returns
        -------
        the costs of every case; None where all cases share one matrix
        """
        if case_costs is not None:
            if data is not None and self.columns:
                raise InputError(
                    "case_costs and data must not both be given: each says what every case costs. "
                    "Leave one out.",
                    argument="case_costs",
                )
            return array_costs(case_costs, self.classes, self.decisions)
        if not self._expressions:
            return None
        if data is None:
            names = ", ".join(map(repr, self.columns))
            raise InputError(
                f"data must hold the columns that the costs depend on: {names}. Pass data=, a "
                f"frame or a mapping with them, or case_costs=."
            )
        return self._of_columns(data)

    def by_case(self, case_costs: object, data: object) -> tuple[Self, dict[str, FloatArray]]:
        """The problem with an array (n, K, M) of costs as new columns, and these columns.

        Costs that are the same for every case stay numbers.

        Parameters
        ----------
        case_costs : (n, K, M) costs of every case
        data : must be None where the problem has columns

        Returns
        -------
        the problem whose costs are expressions of new columns, and these columns
        """
        costs = self.charged(data, case_costs)
        if costs is None or costs.array is None:
            raise InputError(
                "case_costs must hold a cost for every case, class and decision; there are none. "
                "Pass an array (n, K, M)."
            )
        columns: dict[str, FloatArray] = {}
        written = []
        for k, label in enumerate(self.classes):
            row: list[float | str] = []
            for d, decision in enumerate(self.decisions):
                cost, name = costs.array[:, k, d], f"cost of {decision} for {label}"
                same = cost.size > 0 and bool((cost == cost[0]).all())
                row.append(float(cost[0]) if same else column_text(name))
                columns |= {} if same else {name: cost}
            written.append(row)
        constants, expressions = read_table(written, self.classes, self.decisions)
        return self._but(_constants=constants, _expressions=expressions), columns

    def plus(self, amounts: FloatArray) -> Self:
        """The problem with an amount (K, M) added to each cost, and without limits.

        Parameters
        ----------
        amounts : (K, M) what is added

        Returns
        -------
        the problem, without limits

        Examples
        --------
        >>> from stakes.problem import Problem
        >>> Problem([[0, 3], ["amount", 0]]).plus([[0, 2], [0.5, 0]]).written
        ((0.0, 5.0), ('(amount) + 0.5', 0.0))
        """
        added = _check.floats("amounts", amounts, ndim=2)
        known = np.where(np.isnan(self._constants), 0.0, self._constants) + added
        written = [
            [
                (f"({cost}) + {more!r}" if more else cost) if isinstance(cost, str) else total
                for cost, more, total in zip(*row, strict=True)
            ]
            for row in zip(self.written, added.tolist(), known.tolist(), strict=True)
        ]
        constants, expressions = read_table(written, self.classes, self.decisions)
        return self._but(_constants=constants, _expressions=expressions, limits=())

    def _of_columns(self, data: object) -> CaseCosts:
        if not self._expressions:
            raise InputError(
                "problem must have costs that are expressions of columns; all of these are "
                "numbers, the same for every case. Use problem.costs."
            )
        return column_costs(data, self._constants, self._expressions, self.classes, self.decisions)

    def _with_costs(self, costs: FloatArray) -> Self:
        return self._but(_constants=costs, _expressions=())

    def _but(self, **changes: Any) -> Self:
        if "_constants" in changes:  # the distributions were those of the old costs
            changes = {"_beliefs": (), **changes}
        return super()._but(**changes)
