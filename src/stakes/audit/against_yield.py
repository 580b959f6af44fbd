"""Metrics against the utility yield, table by table, and the tables that they rank in reverse."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes._value import Value, record
from stakes.audit.metric import Metric, by_position, of_each
from stakes.errors import InputError
from stakes.measures import utility_yield
from stakes.problem import Problem
from stakes.tally import Counts

_TIE = 1e-12  # relative: differences below this are rounding errors
_ROWS = 256  # tables compared with all others at a time, which bounds the memory


@record
class AgainstYield(Value):
    """Metrics and utility yields of many tables, as in figures 2 and 3 of dyrland.

    Attributes
    ----------
    metrics : Q names
    yields : (n,) utility yield of each table
    values : (Q, n) the metrics
    goodness : (Q, n) the same, with signs such that higher is better

    Examples
    --------
    The first table is more accurate; its five misses cost 20 each, the false alarms 1:

    >>> from stakes import Counts, Problem
    >>> from stakes.audit import FAMILIAR, against_yield
    >>> tables = Counts([[[70, 20], [5, 5]], [[50, 40], [1, 9]]])
    >>> problem = Problem.binary(false_alarm=1, miss=20)
    >>> points = against_yield(tables, problem, metrics={"accuracy": FAMILIAR["accuracy"]})
    >>> points.yields.round(6), points.values.round(6)
    (array([-1.2, -0.6]), array([[0.75, 0.59]]))
    """

    metrics: tuple[str, ...]
    yields: FloatArray
    values: FloatArray
    goodness: FloatArray

    def reversed_share(self, metric: str) -> float:
        """Share of the pairs of tables that the metric ranks in reverse to the yield.

        Values that differ only by rounding are ties.

        Parameters
        ----------
        metric : name of the metric

        Returns
        -------
        the share

        Examples
        --------
        >>> from stakes.audit import FAMILIAR, against_yield
        >>> from stakes.problem import Problem
        >>> from stakes.tally import Counts
        >>> factory = Problem.from_utilities([[165, -335], [-35, 15]])
        >>> tables = Counts([[[0.35, 0.15], [0.23, 0.27]], [[0.32, 0.18], [0.07, 0.43]]])
        >>> float(against_yield(tables, factory, metrics=FAMILIAR).reversed_share("F1"))
        1.0
        """
        good, worth = self._ranks(metric)
        n_tables = worth.size
        opposite = sum(
            np.count_nonzero(
                np.subtract.outer(worth[first : first + _ROWS], worth)
                * np.subtract.outer(good[first : first + _ROWS], good)
                < 0
            )
            for first in range(0, n_tables, _ROWS)
        )
        return opposite / (n_tables * (n_tables - 1)) if n_tables > 1 else float("nan")

    def reversed_chain(self, metric: str) -> IntArray:
        """The longest chain of tables that the metric ranks in completely reverse order.

        The tables are listed from the lowest yield to the highest; the metric falls from each to
        the next. For a metric that is never wrong, the chain is a single table.

        Parameters
        ----------
        metric : name of the metric

        Returns
        -------
        positions of the tables

        Examples
        --------
        >>> from stakes.audit import FAMILIAR, against_yield
        >>> from stakes.problem import Problem
        >>> from stakes.tally import Counts
        >>> factory = Problem.from_utilities([[165, -335], [-35, 15]])
        >>> tables = Counts([[[0.35, 0.15], [0.23, 0.27]], [[0.32, 0.18], [0.07, 0.43]]])
        >>> against_yield(tables, factory, metrics=FAMILIAR).reversed_chain("F1")
        array([1, 0])
        """
        good, worth = self._ranks(metric)
        known = np.flatnonzero(~np.isnan(good) & ~np.isnan(worth))
        # Sorted by rising goodness, tables of equal yield cannot follow each other in a chain.
        order = known[np.lexsort((good[known], worth[known]))]
        return _falling(order, good)

    def _ranks(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """Ranks (n,) of the tables by a metric and by the yield."""
        place = _check.one_of("metric", metric, self.metrics, "metrics")
        return _ranked(self.goodness[place]), _ranked(self.yields)


def _ranked(values: FloatArray) -> FloatArray:
    """Ranks from 0; values that differ only by rounding share a rank, and nan stays nan."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    largest = np.abs(values).max(initial=0.0, where=np.isfinite(values))
    with np.errstate(invalid="ignore"):
        rises = np.diff(ascending) > _TIE * largest
    ranks = np.empty(values.size)
    ranks[order] = np.concatenate([[0.0], np.cumsum(rises)])[: values.size]
    ranks[np.isnan(values)] = np.nan
    return ranks


def _falling(order: IntArray, good: FloatArray) -> IntArray:
    """Positions of the longest strictly falling subsequence, by patience sorting."""
    tops: list[float] = []
    last: list[int] = []
    before = np.full(good.size, -1, dtype=np.intp)
    for position in order.tolist():
        pile = bisect_left(tops, -good[position])
        before[position] = last[pile - 1] if pile else -1
        tops[pile : pile + 1] = [-good[position]]
        last[pile : pile + 1] = [position]
    chain = [last[-1]] if last else []
    while chain and before[chain[-1]] >= 0:
        chain.append(int(before[chain[-1]]))
    return np.array(chain[::-1], dtype=np.intp)


def against_yield(
    counts: Counts, problem: Problem, *, metrics: Mapping[str, Metric]
) -> AgainstYield:
    """Metrics of many tables against their utility yield (dyrland, figures 2 and 3).

    Unless the points of a metric lie on a single rising curve, it ranks some tables wrongly. The
    tables, of shape (n, K, M), should have the same class shares, as models that were tested on one
    data set have.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels
    metrics : metrics by name

    Returns
    -------
    values of the metrics beside the utility yield, table by table

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, against_yield
    >>> from stakes.problem import Problem
    >>> from stakes.tally import Counts
    >>> factory = Problem.from_utilities([[165, -335], [-35, 15]])
    >>> tables = Counts([[[0.35, 0.15], [0.23, 0.27]], [[0.32, 0.18], [0.07, 0.43]]])
    >>> points = against_yield(tables, factory, metrics=FAMILIAR)
    >>> points.yields.round(9), points.reversed_chain("F1")
    (array([ 3.5, -3.5]), array([1, 0]))
    """
    _check.require("counts", counts, Counts)
    _check.mapping_of("metrics", metrics, Metric)
    names = tuple(map(str, metrics))
    if counts.values.ndim != 3:
        raise InputError(
            f"counts must hold many tables along one axis, of shape (n, K, M); the shape is "
            f"{counts.values.shape}. Flatten the leading axes, or stack single tables."
        )
    plain = by_position(counts)
    both = list(of_each(metrics, lambda metric: (metric(plain), metric.goodness(plain))))
    values, goodness = np.moveaxis(np.reshape(both, (len(names), 2, len(plain.values))), 1, 0)
    return AgainstYield._trusted(
        metrics=names,
        yields=utility_yield(counts, problem),
        values=values,
        goodness=goodness,
    )
