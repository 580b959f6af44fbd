"""Problems whose costs may differ from case to case."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes._expression import column_text
from stakes._value import Value
from stakes.errors import InputError
from stakes.problem._belief import Beliefs
from stakes.problem._cases import CaseCosts, array_costs, column_costs
from stakes.problem._cost_table import CostTerms, Expressions, column_names, cost_terms, read_table


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
