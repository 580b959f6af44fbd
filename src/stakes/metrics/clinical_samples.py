"""Cases that several diagnostic tests were tried on, and paired differences of two tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label
from stakes._value import record
from stakes.errors import InputError
from stakes.inference import difference_support, profile_bounds, profile_threshold
from stakes.measures import expected_cost
from stakes.metrics.metric_rows import MetricRow
from stakes.problem import Problem
from stakes.rows import Decisions
from stakes.tally import Counts, JointCounts

Bounds = tuple[FloatArray, FloatArray]
ALONE = "test"  # the name of a single test
CLINICAL_METRICS = (
    *("sensitivity", "specificity", "PPV", "NPV", "LR+", "LR−", "net benefit"),
    *("interventions avoided", "NNS", "NNT"),
)


def metric_row(name: Label, metric: str, value: float, bounds: Bounds) -> MetricRow:
    """A row of the table; where the value is undefined, so is its interval."""
    low, high = (np.nan if np.isnan(value) else float(bound) for bound in bounds)
    return MetricRow(name, metric, value, low, high)


@record
class TestedCases:
    """Joint counts of the tests, and how the cases were drawn."""

    joint: JointCounts
    squares: JointCounts | None
    problem: Problem
    level: float

    @property
    def prior(self) -> FloatArray | None:
        """The prior of the problem; None where it states none."""
        return self.problem.prior

    @classmethod
    def of(
        cls,
        y_true: object,
        tests: Mapping[Any, object],
        problem: Problem,
        weights: object,
        clusters: object,
        level: float,
    ) -> TestedCases:
        """Read the cases, with the names of `clinical_table` in every message."""
        models = _check.labels("the tests", tests)
        names = {name: f"decisions[{name!r}]" for name in tests}
        if models == (ALONE,):
            names = {ALONE: "decisions"}
        _check.aligned(
            y_true=y_true,
            **{names[name]: column for name, column in tests.items()},
            sample_weight=weights,
            clusters=clusters,
        )
        columns = {"y_true": _check.codes("y_true", y_true, problem.classes)}
        for name, decisions in tests.items():
            columns[names[name]] = _coded(names[name], decisions, problem)
        n_cases = _check.same_length(**columns)
        mass = (
            None if weights is None else _check.sampling_weights("sample_weight", weights, n_cases)
        )
        _refuse_one_cluster(clusters)
        joint = JointCounts._of_codes(columns, models, problem, mass, None, clusters)
        squares = None
        if joint.weighted:
            squares = JointCounts._of_codes(
                columns, models, problem, mass, None, clusters, squared=True
            )
        return cls(joint, squares, problem, level)

    def model(self, name: Label) -> tuple[Counts, FloatArray | None]:
        """Counts of a test, with clusters where there are some, and their squared weights."""
        squares = None if self.squares is None else self.squares.model(name).values
        return self.joint.model(name), squares

    def counts(self, name: Label) -> Counts:
        """Counts of all clusters under the stated prevalence."""
        return at_prevalence(self.joint.model(name).pooled(), self.prior)

    def threshold(self, degrees: FloatArray) -> FloatArray:
        """Square of the normal or Student's quantile."""
        return profile_threshold(self.level, degrees)


def _coded(name: str, decisions: Any, problem: Problem) -> IntArray:
    """Positions of decisions; probabilities are refused with a message of their own."""
    values = decisions.values if isinstance(decisions, Decisions) else decisions
    array = _check.array(name, values)
    if array.dtype.kind == "f" and not np.isin(array, [0, 1]).all():
        raise InputError(
            f"{name} must hold decisions; these are probabilities or other numbers. Cut them at a "
            f"threshold, or pass probabilities through bayes_decisions first.",
            argument="decisions",
        )
    return _check.decisions(name, values, problem.decisions)


def _refuse_one_cluster(clusters: object) -> None:
    if clusters is not None and len(_check.clusters(clusters).labels) == 1:
        raise InputError(
            "clusters must be two or more; there is one, which says nothing about how clusters "
            "differ. Leave clusters out where cases were drawn one by one."
        )


def at_prevalence(counts: Counts, prior: FloatArray | None) -> Counts:
    """The table under a prior, without labels: its second row and column are positive."""
    moved = counts if prior is None else counts.with_prior(prior)
    return Counts._unlabelled(moved.values)


def difference_rows(
    sample: TestedCases,
    first: Label,
    second: Label,
    gains: dict[str, Problem],
    of_tests: dict[Label, list[MetricRow]],
) -> list[MetricRow]:
    """First minus second, paired."""
    name = f"{first} − {second}"
    joint, models = sample.joint, sample.joint.models
    squares = None if sample.squares is None else sample.squares.weights
    places = [(models.index(first), models.index(second))]
    rows = {}
    for metric, gain in gains.items():
        support = difference_support(joint, gain, places, squares=squares)
        support = support.of_quantity(0)
        low, high = profile_bounds(support, sample.threshold(support.degrees))
        of_first, of_second = (
            float(expected_cost(joint.model(test).pooled(), gain)) for test in (first, second)
        )
        rows[metric] = metric_row(name, metric, of_second - of_first, (0.0 - high, 0.0 - low))
    for metric in _JOINED:
        first_row, second_row = (
            next(row for row in of_tests[test] if row.metric == metric) for test in (first, second)
        )
        rows[metric] = _joined(
            name, first_row, second_row, _correlation(sample, first, second, metric)
        )
    return [rows[metric] for metric in CLINICAL_METRICS]


def _joined(name: str, first: MetricRow, second: MetricRow, correlation: float) -> MetricRow:
    """First minus second, from the intervals of both and their correlation (Zou and Donner 2008).

    Where a value is infinite, the interval holds all differences between the two intervals.
    """

    def reach(left: float, right: float) -> FloatArray:
        if np.isinf(left) or np.isinf(right):
            return np.asarray(np.inf)
        square = left**2 + right**2 - 2 * correlation * left * right
        return np.asarray(np.sqrt(np.maximum(square, 0.0)))

    with np.errstate(invalid="ignore"):
        value = float(np.subtract(first.value, second.value))
    if np.isinf(value):
        low, high = np.asarray(first.low - second.high), np.asarray(first.high - second.low)
        return metric_row(name, first.metric, value, (low, high))
    low = value - reach(first.value - first.low, second.high - second.value)
    high = value + reach(first.high - first.value, second.value - second.low)
    return metric_row(name, first.metric, value, (low, high))


def _correlation(sample: TestedCases, first: Label, second: Label, metric: str) -> float:
    """Correlation of the estimates of a metric of two tests, after half a case is added per cell.

    The half cases keep two tests that agree on all of these cases from looking like the same test.
    With clusters it is the smaller of the correlations by cases and by clusters: with few clusters,
    the latter may be high by chance.
    """
    joint, columns = sample.joint, [0, *(1 + sample.joint.models.index(t) for t in (first, second))]
    of_pair = np.eye(8)[joint.cells[:, columns] @ [4, 2, 1]]
    sums = (joint.weights @ of_pair).reshape(-1, 8)  # a row for each cluster, or one
    squared = sums if sample.squares is None else (sample.squares.weights @ of_pair).reshape(-1, 8)
    size = squared.sum() / sums.sum()
    table, added = sums.sum(axis=0) + size / 2, np.full(8, size**2 / 2)
    of_test, stated = _JOINED[metric], sample.prior is not None
    influence = np.stack([of_test(table.reshape(2, 2, 2), test, stated).ravel() for test in (1, 2)])
    covariances = [(influence * (squared.sum(axis=0) + added)) @ influence.T]
    if joint.has_clusters:
        totals = sums @ influence.T
        covariances.append(totals.T @ totals + (influence * added) @ influence.T)
    return min(float(c[0, 1] / np.sqrt(c[0, 0] * c[1, 1])) for c in covariances)


# Influence functions: how a case of each cell (2, 2, 2), class by decisions, moves a metric of a
# test. Their scale does not matter, because only their correlation is used.


def _predictive_influence(place: int, table: FloatArray, test: int, stated: bool) -> FloatArray:
    """Influence on PPV (place 1) or NPV (0); under a stated prevalence, on the likelihood ratio."""
    if stated:
        return _ratio_influence(place, table, test, stated)
    index = np.indices(table.shape)
    decided = index[test] == place
    within = np.sum(table * decided, axis=(1, 2))
    return np.asarray(decided * (index[0] - within[1] / within.sum()))


def _ratio_influence(place: int, table: FloatArray, test: int, stated: bool) -> FloatArray:
    """Influence on the logarithm of LR+ (place 1) or LR− (0)."""
    index = np.indices(table.shape)
    decided = index[test] == place
    within = np.sum(table * decided, axis=(1, 2))
    rates = decided / within[index[0]] - 1 / table.sum(axis=(1, 2))[index[0]]
    return np.asarray(np.where(index[0] == 1, rates, -rates))


def _detection_influence(table: FloatArray, test: int, stated: bool) -> FloatArray:
    """Influence on the share of cases that are true positives; under a prior, on sensitivity."""
    index = np.indices(table.shape)
    among = (index[0] == 1) | (not stated)
    hits = ((index[0] == 1) & (index[test] == 1)).astype(np.float64)
    return np.asarray(among * (hits - np.sum(table * hits) / np.sum(table * among)))


_JOINED: dict[str, Callable[[FloatArray, int, bool], FloatArray]] = {
    "PPV": partial(_predictive_influence, 1),
    "NPV": partial(_predictive_influence, 0),
    "LR+": partial(_ratio_influence, 1),
    "LR−": partial(_ratio_influence, 0),
    "NNS": _detection_influence,  # numbers needed are reciprocals
    "NNT": partial(_predictive_influence, 1),
}
