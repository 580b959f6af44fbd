"""Columns that nobody used and whose values repeat: rows of one value may not be independent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from math import nan, sqrt
from typing import NamedTuple

import numpy as np

from stakes._check import ClusterLabels, FloatArray, Groups, IntArray
from stakes._text import always, in_unit, measured, number, percent
from stakes._value import record
from stakes.decide import cheapest_decisions
from stakes.evaluation.cases import Cases
from stakes.evaluation.cost_intervals import costs_of
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.predictions import Predictions
from stakes.evaluation.tally_rows import evidence_of
from stakes.inference import Measured, SampledCosts
from stakes.report import BAYES, Caveat, Report
from stakes.rows import DECISIONS

_FEWEST_VALUES = 100  # of a column whose rows may be clusters
_LARGEST = 0.02  # share of the rows that one value may have
_BINS = 20  # of a number, whose means are no matter of clusters
_EFFECT = 1.5  # variance of the saving, over that of independent rows, from which a caveat is due
_MOST_NAMED = 3  # other columns that the caveat lists
_SURE = 4.0  # standard errors of that by chance


class RepeatedColumn(NamedTuple):
    """A column of the sample that nobody used.

    Examples
    --------
    >>> RepeatedColumn(np.array([0, 1, 0]), None).values is None
    True
    """

    codes: IntArray  # (n,) of its values; −1 where there is none
    values: FloatArray | None  # (n,) of numbers


def design_effect(off: FloatArray, column: RepeatedColumn) -> tuple[float, float]:
    r"""Variance of a mean where rows of one value belong together, over that of independent rows.

    .. math:: \sum_c \Big(\sum_{i \in c} e_i\Big)^2 \Big/ \sum_i e_i^2

    Of a number, the means of twenty quantile bins are taken out first: that the saving depends on
    it does not make rows of one value alike. The second number is the standard error of the effect
    where values say nothing. Both are nan for columns that are no clusters: of fewer than a hundred
    values, with one in more than 2 % of the rows, or where none repeats.

    Parameters
    ----------
    off : what each row adds to the error of the mean, (n,)
    column : its values

    Returns
    -------
    the effect, and its standard error by chance

    Examples
    --------
    Two hundred customers, of ten rows that are copies of each other:

    >>> customers = np.arange(2000) % 200
    >>> off = np.where(customers % 2, 1.0, -1.0)
    >>> design_effect(off, RepeatedColumn(customers, None))[0]
    10.0
    """
    known = column.codes >= 0
    codes, n_rows = column.codes[known], column.codes.size
    sizes = np.bincount(codes).astype(np.float64)
    pairs = float(sizes @ (sizes - 1))
    if np.count_nonzero(sizes) < _FEWEST_VALUES or sizes.max() > _LARGEST * n_rows or not pairs:
        return nan, nan
    if column.values is not None:
        edges = np.unique(np.quantile(column.values[known], np.arange(1, _BINS) / _BINS))
        bins = np.searchsorted(edges, np.where(known, column.values, edges[0]), side="right")
        off = off - (np.bincount(bins, off) / np.maximum(np.bincount(bins), 1))[bins]
    total = float(off @ off)
    if not total > 0:
        return nan, nan
    within = np.bincount(codes, off[known])
    alone = off[~known]
    return float(within @ within + alone @ alone) / total, sqrt(2 * pairs) / n_rows


def repeats_caveat(
    report: Report,
    cases: Cases,
    decide: Callable[[str], IntArray],
    columns: Mapping[str, RepeatedColumn],
    growth: Callable[[str], float],
) -> Caveat | None:
    """A caveat where rows that share a value of an unused column are clearly alike.

    Parameters
    ----------
    report : the report of all rows
    cases : some of the rows, or all
    decide : what a system decides about them, (n,), by its name
    columns : columns of these rows that nobody used, by name
    growth : of a column, how many pairs of rows share a value among all rows, for each row, over
        the same among these

    Returns
    -------
    the caveat about the column of the largest design effect; None where there is none

    Examples
    --------
    Two hundred customers with ten rows each, which all have the class of their customer:

    >>> from stakes import Problem, evaluate
    >>> from stakes.evaluation import read_cases
    >>> problem, customers = Problem.binary(false_alarm=1, miss=3), np.arange(2000) % 200
    >>> truth = (customers % 3 == 0).astype(int)
    >>> report = evaluate(truth, np.where(customers % 4 == 0, 0.6, 0.1), problem, calibrator=None)
    >>> cases = read_cases(truth, problem, None, None, None)
    >>> columns = {"customer": RepeatedColumn(customers, None)}
    >>> def decide(system):
    ...     return (customers % 4 == 0).astype(int)
    >>> repeats_caveat(report, cases, decide, columns, lambda column: 1.0).kind
    'repeated values'
    """
    saving, cheapest = report.verdict.saving_over_naive, report.verdict.cheapest
    best = report.best if cheapest is None else report.system(cheapest)
    if report.verdict.unaided is None or not saving.low < saving.high:
        return None
    # A map for new cases takes a fit to all cases, which is worth it only once something is wrong.
    plain = (s for s in report.systems if (s.model, s.rule) == (best.model, BAYES))
    first = _Judged(cases, decide(next(plain, best).name), report.assumptions.level)
    if first.varies and not _large(first.errors(report.verdict.unaided), columns, growth):
        return None
    sample = _Judged(cases, decide(best.name), report.assumptions.level)
    effects = _large(sample.errors(report.verdict.unaided), columns, growth)
    if not effects:
        return None
    name = max(effects, key=effects.__getitem__)
    whole = cases.n_rows == report.assumptions.n_rows
    with_clusters = _clustered(saving, sample, columns[name].codes, effects[name], whole)
    also = [column for column in effects if column != name]
    others = f" (or of {', '.join(also[:_MOST_NAMED])})" * bool(also)
    return Caveat(
        "repeated values",
        f"Rows that share a value of {name}, a column that nobody used, are alike: the saving of "
        f"{best.name} has {number(effects[name], 2)} times the variance that independent rows "
        f"would give it. Its {percent(report.assumptions.level)} interval is "
        f"{_bounds(saving, report)} as reported, and {_bounds(with_clusters, report)} with these "
        f"clusters. If values of {name}{others} were drawn rather than single rows, pass "
        f'clusters="{name}" (--clusters {name}).',
    )


def _large(
    off: FloatArray, columns: Mapping[str, RepeatedColumn], growth: Callable[[str], float]
) -> dict[str, float]:
    """Design effects of the columns for which they are large, among all rows."""
    effects = {}
    for name, column in columns.items():
        effect, error = design_effect(off, column._replace(values=None))
        if effect - 1 > _SURE * error and column.values is not None:
            effect, error = design_effect(off, column)  # bins take longer
        if effect - 1 > _SURE * error:
            effects[name] = 1 + (effect - 1) * growth(name)
    return {name: effect for name, effect in effects.items() if effect > _EFFECT}


def _bounds(interval: Measured, report: Report) -> str:
    _, low, high = measured(interval.value, interval.low, interval.high)
    return in_unit(f"{low} to {high}", report.problem.unit)


def _clustered(
    saving: Measured, sample: _Judged, clusters: IntArray, effect: float, whole: bool
) -> Measured:
    """The interval of the saving with clusters; of more rows than the sample, by the effect."""
    if not whole:
        low, high = saving.value - saving.low, saving.high - saving.value
        return Measured(
            saving.value, saving.value - sqrt(effect) * low, saving.value + sqrt(effect) * high
        )
    alone = np.flatnonzero(clusters < 0)
    codes = clusters.copy()
    codes[alone] = clusters.max() + 1 + np.arange(alone.size)
    labels, codes = np.unique(codes, return_inverse=True)
    groups = Groups(ClusterLabels(labels.tolist()), codes)
    again = sample.with_clusters(groups).saving
    # The report may decide these cases by maps of other folds, which save somewhat less.
    shift = saving.value - again.value
    return Measured(saving.value, again.low + shift, again.high + shift)


@record
class _Judged:
    """Cases with the decisions of one system."""

    cases: Cases
    codes: IntArray
    level: float

    @cached_property
    def evidence(self) -> Evidence:
        model = Predictions("system", DECISIONS, decided=self.codes)
        return evidence_of(self.cases, [model], posterior_prior=None, calibrator=None)

    @cached_property
    def costs(self) -> SampledCosts:
        return costs_of(self.evidence.sample, self.cases.problem, self.evidence, self.level)

    @property
    def saving(self) -> Measured:
        return self.costs.expected_saving(next(iter(self.evidence.rules)))

    def with_clusters(self, clusters: Groups) -> _Judged:
        return _Judged(replace(self.cases, clusters=clusters), self.codes, self.level)

    @property
    def varies(self) -> bool:
        """Whether there are several decisions: one alone would say nothing of the others."""
        return bool((self.codes != self.codes[0]).any())

    def errors(self, unaided: str) -> FloatArray:
        """What each case adds to the error of the mean saving over what needs no model, (n,)."""
        cases, problem = self.cases, self.cases.problem
        constant = {always(label): d for d, label in enumerate(problem.decisions)}
        if unaided in constant:
            blind = np.full(self.codes.size, constant[unaided])
        else:  # by the costs of each case and the prior
            prior = np.broadcast_to(cases.prior, (self.codes.size, problem.n_classes))
            blind = cheapest_decisions(prior, cases.charges)
        saved = cases.losses(blind, cases.charges) - cases.losses(self.codes, cases.charges)
        # With a stated prior, only differences within a class are errors.
        mass = cases.mass
        strata = np.zeros_like(cases.truth) if problem.prior is None else cases.truth
        total = np.bincount(strata, mass)
        means = np.bincount(strata, mass * saved) / np.where(total > 0, total, 1.0)
        return np.asarray(mass * (saved - means[strata]))
