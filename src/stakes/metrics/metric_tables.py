"""Tables of metrics with intervals: diagnostic tests, and the calibration of risk models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, IntArray, Label
from stakes._text import html_table, number, text_table
from stakes._value import Value, record
from stakes.calibration import (
    calibration_in_the_large,
    calibration_line,
    coefficient_variances,
    finite_log_odds,
    lowess_distances,
    smooth_calibration_errors,
    smooth_curve,
)
from stakes.errors import InputError
from stakes.inference import (
    Estimate,
    ExpandedPercentile,
    bootstrap,
    difference_support,
    effective_counts,
    profile_bounds,
    profile_interval,
    profile_threshold,
    ratio_of_proportions_bounds,
    wilson_bounds,
)
from stakes.measures import (
    expected_cost,
    likelihood_ratio_negative,
    likelihood_ratio_positive,
    negative_predictive_value,
    precision,
    recall,
    specificity,
)
from stakes.problem import Problem
from stakes.rows import Decisions
from stakes.tally import Counts, JointCounts, ScoreTable, two_classes

# A table of metrics with intervals: what a paper prints, as a value ------------------------------


class MetricRow(NamedTuple):
    """One metric of one test or model, and its interval; nan where undefined.

    Parameters
    ----------
    name : label of the test or model
    metric : name of the metric
    value : its value
    low : lower limit of the interval
    high : upper limit of the interval

    Examples
    --------
    Three of four positives are found, and one of four negatives is a false alarm:

    >>> from stakes import Problem
    >>> from stakes.metrics import clinical_table
    >>> y, decided = [0, 0, 0, 0, 1, 1, 1, 1] * 9, [0, 0, 0, 1, 0, 1, 1, 1] * 9
    >>> row = clinical_table(y, decided, Problem.zero_one(2))["sensitivity"]
    >>> row.metric, row.value, round(row.low, 2), round(row.high, 2)
    ('sensitivity', 0.75, 0.59, 0.86)
    """

    name: Label  # of the test, or "new − old" for a difference
    metric: str
    value: float
    low: float
    high: float


@record(repr=False)
class MetricTable(Value):
    """Metrics with intervals of one or several tests.

    Attributes
    ----------
    title : what was assumed, in words
    rows : a MetricRow for every metric of every test
    level : confidence level of the intervals

    ``table["sensitivity"]`` is the row of a table of one test; ``table["new", "sensitivity"]``
    that of one among several.

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.metrics import clinical_table
    >>> y, new, old = [0, 0, 1, 1] * 9, [0, 0, 0, 1] * 9, [0, 1, 0, 1] * 9
    >>> table = clinical_table(y, {"new": new, "old": old}, Problem.zero_one(2))
    >>> table["new", "specificity"].value, table["old", "specificity"].value
    (1.0, 0.5)
    """

    title: str
    rows: tuple[MetricRow, ...]
    level: float

    def __getitem__(self, key: str | tuple[Label, str]) -> MetricRow:
        valid = isinstance(key, str) or (
            isinstance(key, tuple) and [isinstance(part, Label) for part in key] == [True, True]
        )
        wanted = key if isinstance(key, tuple) else (None, key)
        matches = [
            row
            for row in self.rows
            if valid and wanted[0] in (None, row.name) and row.metric == wanted[1]
        ]
        if len(matches) == 1:
            return matches[0]
        names = ", ".join(dict.fromkeys(repr(row.name) for row in self.rows))
        metrics = ", ".join(dict.fromkeys(repr(row.metric) for row in self.rows))
        raise InputError(
            f"key must name one row; the table has {len(matches)} rows for "
            f"{' '.join(repr(key).split())}. "
            f"Ask for table[metric], or for "
            f"table[name, metric] where there are several names; names are {names}, metrics "
            f"{metrics}."
        )

    def frame(self, library: Any = None) -> Any:
        """The rows as a frame of pandas, Polars or PyArrow.

        Columns are name, metric, value, low and high.

        Parameters
        ----------
        library : ``"pandas"``, ``"polars"`` or ``"pyarrow"``; None: the first that is installed

        Returns
        -------
        the rows as a frame

        Examples
        --------
        >>> table = MetricTable("one test", (MetricRow("", "sensitivity", 0.8, 0.7, 0.9),), 0.95)
        >>> table.frame("pyarrow").column_names
        ['name', 'metric', 'value', 'low', 'high']
        """
        from stakes.adapters.frame import frame_of

        return frame_of(self._columns(), library, None)

    def _columns(self) -> dict[str, list[Any]]:
        columns = {part: [getattr(row, part) for row in self.rows] for part in MetricRow._fields}
        return {**columns, "name": [str(name) for name in columns["name"]]}

    def _table(self) -> tuple[list[object], list[list[object]]]:
        several = len({row.name for row in self.rows}) > 1
        header: list[object] = ["", "value", f"{100 * self.level:g}% low", "high"]
        rows: list[list[object]] = []
        previous: Label | None = None
        for row in self.rows:
            if several and row.name != previous:
                rows.append([row.name, "", "", ""])
            previous = row.name
            numbers = (number(part, 3) for part in (row.value, row.low, row.high))
            rows.append(["  " * several + row.metric, *numbers])
        return header, rows

    def __repr__(self) -> str:
        return f"{self.title}\n{text_table(*self._table())}"

    def _repr_html_(self) -> str:
        return html_table(*self._table(), self.title)


# Cases that several diagnostic tests were tried on, and paired differences of two tests ----------

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


# -------------------------------------------------------------------------------------------------
# The table of a diagnostic test: rates, predictive values, likelihood ratios and net benefit.


def clinical_table(
    y_true: object,
    decisions: object,
    problem: Problem,
    *,
    sample_weight: object = None,
    clusters: object = None,
    level: float = 0.95,
) -> MetricTable:
    r"""Everything that a diagnostic paper prints about a test, at the stated prevalence.

    Sensitivity, specificity, PPV and NPV, LR+ and LR−, net benefit and interventions avoided at the
    threshold probability p of the problem, and the numbers needed to screen and to treat:

    .. math:: NB = \pi_1 Se - \frac{p}{1-p} \pi_0 (1 - Sp), \quad
        IA = \pi_0 Sp - \frac{1-p}{p} \pi_1 (1 - Se), \quad
        NNS = \frac{1}{\pi_1 Se}, \quad NNT = \frac{1}{PPV}

    The prevalence :math:`\pi_1` is the problem's prior, which is taken as known, or else that of
    the cases, which varies with the sample. Interventions avoided are per case, compared with
    treating everybody. NNS is the number of cases tested for each true positive, NNT the number of
    positive decisions for each true positive. If a treatment helps only a share of these, divide
    NNT by that share.

    Intervals: Wilson's for proportions; Koopman's for likelihood ratios, and through them for PPV
    and NPV under a stated prevalence; profile likelihood for net benefit, interventions avoided and
    NNS (`stakes.inference.profile_interval`). A test that treats nobody is what net benefit is
    measured from, and one that treats everybody what interventions avoided are: these are zero
    whatever the cases, and so are both bounds. Fractional weights and clusters leave fewer
    effective cases; with clusters, Student's t replaces the normal distribution.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    decisions : array_like of shape (n,), or a mapping from the names of tests to such arrays
        Labels of ``problem.decisions``. If there are several tests of the same cases, each is also
        compared with the first. Intervals of these paired differences are by profile likelihood;
        those of PPV, NPV, LR+, LR−, NNS and NNT combine the intervals of both tests with the
        correlation of the estimates (Zou and Donner 2008).
    problem : of two classes and two decisions, the second of each being the positive one
    sample_weight : (n,), optional
    clusters : (n,) labels of what was sampled as a whole, such as patients with several lesions
    level : confidence level, such as 0.95

    Returns
    -------
    values with intervals, row by row, and those of differences

    Examples
    --------
    Finley's tornado forecasts of 1884, for people who take shelter at a risk of one in ten:

    >>> y = ["calm"] * 2752 + ["tornado"] * 51
    >>> forecast = ["stay"] * 2680 + ["shelter"] * 72 + ["stay"] * 23 + ["shelter"] * 28
    >>> problem = Problem([[0, 1], [9, 0]], classes=["calm", "tornado"],
    ...                   decisions=["stay", "shelter"])
    >>> clinical_table(y, forecast, problem)
    1 test, prevalence 0.0182 (of the cases), threshold 0.1
                             value  95% low    high
    sensitivity              0.549    0.414   0.677
    specificity              0.974    0.967   0.979
    PPV                       0.28    0.201   0.375
    NPV                      0.991    0.987   0.994
    LR+                         21     14.7    28.9
    LR−                      0.463    0.331   0.602
    net benefit            0.00714   0.0038  0.0113
    interventions avoided    0.882    0.844   0.912
    NNS                        100     70.8     148
    NNT                       3.57     2.67    4.97
    """
    threshold = _checked_threshold(problem)
    level = _check.level(level)
    tests = decisions if isinstance(decisions, Mapping) else {ALONE: decisions}
    if not tests:
        raise InputError("decisions must hold one test at least; the mapping is empty. Add one.")
    sample = TestedCases.of(y_true, tests, problem, sample_weight, clusters, level)
    gains = _gains(problem, threshold)
    first, *others = sample.joint.models
    with _check.renamed(tally="sample_weight"):
        of_tests = {name: _of_test(sample, name, gains) for name in sample.joint.models}
    rows = [row for test in of_tests.values() for row in test]
    for other in others:
        rows += difference_rows(sample, other, first, gains, of_tests)
    count = f"{len(tests)} test{'s' * (len(tests) != 1)}"
    shares = problem.prior_or(sample.counts(first).shares)
    known = "stated" if problem.prior is not None else "of the cases"
    return MetricTable(
        f"{count}, prevalence {shares[1]:.3g} ({known}), threshold {threshold:.3g}",
        tuple(rows),
        level,
    )


def _checked_threshold(problem: Problem) -> float:
    _check.require("problem", problem, Problem)
    if problem.costs.shape != (2, 2):
        raise InputError(
            f"problem must have two classes and two decisions, the second of each positive; it has "
            f"{problem.n_classes} classes and {problem.n_decisions} decisions. Make a table for "
            f"each class against the rest, or measure the costs with expected_cost."
        )
    if not 0 < problem.threshold < 1:
        raise InputError(
            f"problem must weigh false alarms against misses; its threshold is "
            f"{problem.threshold:g}, so that one decision is always right and there is nothing to "
            f"test. Problem.from_threshold(p) states a threshold probability."
        )
    return problem.threshold


def _gains(problem: Problem, p: float) -> dict[str, Problem]:
    """Quantities that are means over cases, as problems whose costs are their negatives."""
    labels: dict[str, Any] = {"classes": problem.classes, "decisions": problem.decisions}
    deployed = {**labels, "prior": problem.prior}
    return {
        "sensitivity": Problem([[0, 0], [0, -1]], **labels, prior=[0, 1]),
        "specificity": Problem([[-1, 0], [0, 0]], **labels, prior=[1, 0]),
        "net benefit": Problem([[0, p / (1 - p)], [0, -1]], **deployed),
        "interventions avoided": Problem([[-1, 0], [(1 - p) / p, 0]], **deployed),
        "true positives": Problem([[0, 0], [0, -1]], **deployed),
    }


# One test ----------------------------------------------------------------------------------------

_PREDICTIVE: dict[str, Callable[[Counts], FloatArray]] = {
    "PPV": precision,
    "NPV": negative_predictive_value,
}
_REFERENCES = {"net benefit": 0, "interventions avoided": 1}  # zero if it is always decided so
_RATIOS = ("LR+", likelihood_ratio_positive, 1), ("LR−", likelihood_ratio_negative, 0)


def _of_test(sample: TestedCases, name: Label, gains: dict[str, Problem]) -> list[MetricRow]:
    """All rows of one test."""
    counts, squares = sample.model(name)
    table, studied = sample.counts(name), at_prevalence(counts.pooled(), None)
    values: dict[str, tuple[float, Bounds]] = {}
    for metric, rate, place in (("sensitivity", recall, 1), ("specificity", specificity, 0)):
        bounds = _proportion(sample, counts, squares, place, place)
        values[metric] = float(rate(studied)[1]), bounds
    ratios = {
        metric: (float(measure(studied)[1]), _ratio_bounds(sample, counts, squares, column))
        for metric, measure, column in _RATIOS
    }
    for place, (metric, measure) in zip((1, 0), _PREDICTIVE.items(), strict=True):
        if sample.prior is None:
            flipped = counts._but(values=np.swapaxes(counts.values, -1, -2))
            flipped_squares = None if squares is None else np.swapaxes(squares, -1, -2)
            bounds = _proportion(sample, flipped, flipped_squares, place, place)
        else:
            bounds = _posterior_bounds(sample.prior, ratios["LR+" if place else "LR−"][1], place)
        values[metric] = float(measure(table)[1]), bounds
    values |= ratios
    for metric in ("net benefit", "interventions avoided", "true positives"):
        values[metric] = _mean(sample, counts, squares, gains[metric])
    for metric, place in _REFERENCES.items():
        if values[metric][0] == 0 and not table.values[:, 1 - place].any():
            values[metric] = 0.0, (np.zeros(()), np.zeros(()))
    values["NNS"] = _reciprocal(values.pop("true positives"))
    values["NNT"] = _reciprocal(values["PPV"])
    return [metric_row(name, metric, *values[metric]) for metric in CLINICAL_METRICS]


def _proportion(
    sample: TestedCases, counts: Counts, squares: FloatArray | None, row: int, column: int
) -> Bounds:
    """Wilson's interval of the share that a column has in its row."""
    hit = np.zeros((2, 2))
    hit[row, column] = 1.0
    table, degrees = effective_counts(counts, hit, squares=squares)
    row_counts = counts.pooled().values[row]
    return wilson_bounds(
        ratio(row_counts[column], row_counts.sum()), table[row].sum(), sample.threshold(degrees)
    )


def _ratio_bounds(
    sample: TestedCases, counts: Counts, squares: FloatArray | None, column: int
) -> Bounds:
    """Interval of the rate of a decision among the positives over that among the negatives."""
    cells = counts.pooled().values
    # Half a case is added to each cell, so that the linearisation exists at rates of zero and one.
    rates = (cells[:, column] + 0.5) / (cells.sum(axis=-1) + 1)
    influence = np.zeros((2, 2))
    influence[:, column] = -1 / rates[0], 1 / rates[1]  # on the logarithm of the ratio
    table, degrees = effective_counts(counts, influence, squares=squares)
    return ratio_of_proportions_bounds(
        table[::-1, column], table[::-1].sum(axis=-1), sample.threshold(degrees)
    )


def _posterior_bounds(prior: FloatArray, bounds: Bounds, place: int) -> Bounds:
    """Bounds of PPV from those of LR+, and of NPV from those of LR−, by Bayes' theorem."""
    if not prior.all():
        known = np.asarray(prior[place])
        return known, known
    with np.errstate(divide="ignore"):
        low, high = (
            np.asarray(prior[1] / (prior[1] + prior[0] / np.asarray(bound))) for bound in bounds
        )
    return (low, high) if place else (1 - high, 1 - low)


def _mean(
    sample: TestedCases, counts: Counts, squares: FloatArray | None, gain: Problem
) -> tuple[float, Bounds]:
    interval = profile_interval(counts, gain, sample.level, squares=squares)
    # Not a minus sign: a mean of zero would become −0.0, which prints as such.
    value = 0.0 - float(expected_cost(counts.pooled(), gain))
    return value, (0.0 - interval.high, 0.0 - interval.low)


def _reciprocal(part: tuple[float, Bounds]) -> tuple[float, Bounds]:
    value, (low, high) = part
    with np.errstate(divide="ignore"):
        bounds = tuple(np.maximum(1 / np.maximum(np.asarray(b), 0.0), 0.0) for b in (high, low))
        return float(np.divide(1.0, value)), bounds  # type: ignore[return-value]


# -------------------------------------------------------------------------------------------------
# The calibration of a risk model as a table: intercept and slope, in the large, smooth
# errors.

_SMOOTH = "ICI", "E50", "E90", "Emax"
_FEWEST = 10  # clusters: fewer do not show how much clusters differ


def calibration_table(
    y_true: object,
    y_proba: object,
    *,
    positive: Label | None = None,
    sample_weight: object = None,
    clusters: object = None,
    level: float = 0.95,
    replicates: int,
    rng: np.random.Generator,
) -> MetricTable:
    r"""Calibration as clinical papers report it, with intervals.

    - intercept and slope of the class on the log-odds of the score, `calibration_line`: Cox's
      recalibration, and "Intercept" and "Slope" of ``rms::val.prob``; 0 and 1 are calibrated;
    - calibration in the large: the intercept when the slope is held at one;
    - ICI, E50, E90 and Emax, `smooth_calibration_errors`: mean, median, ninth decile and maximum of
      the distance from a lowess curve.

    Intervals of intercept and slope are those of the logistic regression. With weights
    or clusters, the sandwich estimator replaces them where it is wider. They are nan where the
    scores separate the classes. Calibration in the large takes the sandwich estimator wherever it
    is wider: if the slope is not one, outcomes vary by more or less than the regression assumes.

    ICI, E50, E90 and Emax are positive in every sample, even for a calibrated model, and larger
    still in its resamples, so that percentile intervals would miss a true value of zero. The upper
    bound is the quantile of the bootstrap. The lower bound is zero where calibrated scores could
    have errors as large, and otherwise the reflected quantile. To learn how large these could be,
    outcomes are drawn from the scores, case by case. With clusters or weights,
    replicates resample whole clusters or cases, and for calibrated scores the residuals of each
    change their sign at random (wild bootstrap). Fewer than ten clusters do not show how much
    clusters differ: the intervals of these four are then nan, and the title says so. Where all
    scores are equal, slope and intercept are nan.

    Parameters
    ----------
    y_true : (n,) labels of the true classes
    y_proba : (n,) probabilities of the positive class
    positive : label of the positive class; may be left out for labels 0/1 and booleans
    sample_weight : (n,), optional
    clusters : (n,) labels of what was sampled as a whole, such as patients with several lesions
    level : confidence level of the intervals
    replicates, rng : for ICI, E50, E90 and Emax; a few hundred replicates for a paper

    Returns
    -------
    values with intervals, row by row

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> risk = rng.beta(1.5, 3, 400).round(2)
    >>> ill = (rng.random(400) < risk**1.5).astype(int)
    >>> calibration_table(ill, risk, replicates=40, rng=rng)
    400 cases, 78 positive
                               value  95% low    high
    intercept                 −0.755    −1.05  −0.464
    slope                       1.12    0.803    1.43
    calibration in the large  −0.795    −1.06  −0.527
    ICI                        0.123   0.0877   0.159
    E50                        0.151    0.122    0.18
    E90                         0.17   0.0414   0.299
    Emax                       0.175        0   0.425
    """
    level = _check.level(level)
    scores = _check.probabilities("y_proba", y_proba, ndim=1)
    with _check.renamed(weights="sample_weight", scores="y_proba"):
        sample_weight = _check.sampling_weights("weights", sample_weight, scores.size)
        table = ScoreTable.from_scores(y_true, scores, positive=positive, weights=sample_weight)
    cases = _read(table, y_true, scores, positive, sample_weight, clusters)
    errors = smooth_calibration_errors(table)
    with _check.renamed(tally="sample_weight"):
        low, high = _smooth_bounds(table, cases, errors, level, replicates, rng)
    rows = _lines(table, cases, level)
    rows += [
        MetricRow("model", metric, *map(float, numbers))
        for metric, *numbers in zip(_SMOOTH, errors, low, high, strict=True)
    ]
    count = f"{table.n_cases:g} cases, {table.class_weights[1]:g} positive"
    if cases.few:
        count += f"; {cases.degrees + 1:g} clusters: too few for intervals of ICI, E50, E90, Emax"
    return MetricTable(count, tuple(rows), level)


class _Cases(NamedTuple):
    """Cases of positive weight: position of the score in the table, log-odds, class, weight."""

    place: IntArray
    odds: FloatArray
    positive: IntArray
    weights: FloatArray
    owner: IntArray | None  # the cluster, or the case itself; None: cases drawn one by one
    degrees: float

    @property
    def few(self) -> bool:
        """Whether clusters are too few for the intervals of the four distances."""
        return self.degrees + 1 < _FEWEST

    def weights_by_score(
        self, table: ScoreTable, times: FloatArray, hits: FloatArray
    ) -> FloatArray:
        """Weights (S, 2) if each case counts this many times; outcomes may be fractions."""
        mass, size = self.weights * times, table.scores.size
        parts = [np.bincount(self.place, mass * part, size) for part in (1 - hits, hits)]
        return np.stack(parts, axis=-1)


def _read(
    table: ScoreTable,
    y_true: object,
    scores: FloatArray,
    positive: Label | None,
    sample_weight: object,
    clusters: object,
) -> _Cases:
    """The rows behind the table, which has checked them."""
    truth = two_classes(y_true, positive)[1]
    weights = _check.weights("sample_weight", sample_weight, scores.size)
    owner, degrees = None, np.inf
    if clusters is not None:
        groups = _check.clusters(clusters)
        _check.same_length(y_true=truth, clusters=groups.codes)
        owner, degrees = groups.codes, len(np.unique(groups.codes[weights > 0])) - 1.0
    elif table.weighted:
        owner = np.arange(scores.size)
    weighted = weights > 0
    place = np.searchsorted(table.scores, scores[weighted])
    cluster = None if owner is None else np.unique(owner[weighted], return_inverse=True)[1]
    odds = finite_log_odds(table)[place]
    return _Cases(place, odds, truth[weighted], weights[weighted], cluster, degrees)


def _lines(table: ScoreTable, cases: _Cases, level: float) -> list[MetricRow]:
    """Intercept and slope, and the intercept at slope one."""
    line, shift = calibration_line(table), float(calibration_in_the_large(table))
    level_only = np.ptp(cases.odds) == 0  # one score has a level and no slope
    pair = np.full(2, np.nan) if level_only else np.array([line.intercept, line.slope])
    ones = np.ones(cases.odds.size)
    errors = _errors(cases, np.stack([ones, cases.odds]), pair @ np.stack([ones, cases.odds]))
    errors = errors if line.converged else np.full(2, np.nan)
    error = _error_in_the_large(cases, cases.odds + shift)
    names = "intercept", "slope", "calibration in the large"
    reach = float(np.sqrt(profile_threshold(level, np.asarray(cases.degrees))))
    return [
        MetricRow("model", name, float(value), float(value - reach * se), float(value + reach * se))
        for name, value, se in zip(names, [*pair, shift], [*errors, *error], strict=True)
    ]


def _errors(cases: _Cases, design: FloatArray, odds: FloatArray) -> FloatArray:
    from scipy.special import expit

    if np.isnan(odds).any():
        return np.full(len(design), np.nan)
    residual = cases.positive - expit(odds)
    return np.sqrt(
        coefficient_variances(
            design, residual, cases.weights, np.eye(len(design)), owner=cases.owner
        )
    )


def _error_in_the_large(cases: _Cases, odds: FloatArray) -> FloatArray:
    """Standard error of calibration in the large: the larger of the binomial and the sandwich.

    If the slope is not one, the binomial variance of the shifted scores is wrong; the squared
    residuals show how much the outcomes really vary.
    """
    from scipy.special import expit

    error = _errors(cases, np.ones((1, cases.odds.size)), odds)
    if cases.owner is not None:
        return error
    chance = expit(odds)
    squares = np.sum(cases.weights * (cases.positive - chance) ** 2)
    sandwich = np.sqrt(squares) / np.sum(cases.weights * chance * (1 - chance))
    return np.asarray(np.maximum(error, sandwich))


def _smooth_bounds(
    table: ScoreTable,
    cases: _Cases,
    errors: FloatArray,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Lower and upper bounds, (4,) each, of the four distances."""
    if cases.owner is None:
        estimate = bootstrap(smooth_calibration_errors, table, replicates=replicates, rng=rng)
        high = np.asarray(estimate.interval(level).high)
        plausible = np.quantile(_calibrated(table, replicates, rng), (1 + level) / 2, axis=0)
    else:
        count = _check.draws("replicates", replicates, low=2)
        if cases.few:
            return np.full(4, np.nan), np.full(4, np.nan)
        high, plausible = _clustered_bounds(table, cases, errors, level, count, rng)
    # Resampling inflates these distances about as much as sampling did: the quantile is reflected.
    low = np.where(errors <= plausible, 0.0, np.maximum(2 * errors - high, 0.0))
    return low, np.maximum(high, errors)


def _calibrated(table: ScoreTable, replicates: int, rng: np.random.Generator) -> FloatArray:
    """The four distances (R, 4) of whole cases whose scores are their probabilities."""
    mass, distances = table.weights.sum(axis=1), []
    for _ in range(replicates):  # one by one, so that memory stays flat
        hits = rng.binomial(mass.astype(np.int64), table.scores)
        distances.append(lowess_distances(table.scores, np.stack([mass - hits, hits], axis=-1)))
    return np.array(distances)


def _clustered_bounds(
    table: ScoreTable,
    cases: _Cases,
    errors: FloatArray,
    level: float,
    replicates: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Upper bounds, and the largest errors that calibrated scores could plausibly have, (4,)."""
    assert cases.owner is not None
    count, scores = int(cases.owner.max()) + 1, table.scores
    residual = cases.positive - smooth_curve(table)[cases.place]
    residual *= np.sqrt(count / (count - 1))  # Bessel's correction, for clusters
    ones, hits = np.ones(residual.size), cases.positive.astype(np.float64)
    resampled, calibrated = [], []
    for _ in range(replicates):
        times = rng.multinomial(count, np.full(count, 1 / count)).astype(np.float64)
        weights = cases.weights_by_score(table, times[cases.owner], hits)
        resampled.append(lowess_distances(scores, weights))
        # Wild bootstrap: all residuals of a cluster flip together, which keeps their correlation.
        sign = rng.choice([-1.0, 1.0], count)[cases.owner]
        weights = cases.weights_by_score(table, ones, scores[cases.place] + sign * residual)
        calibrated.append(lowess_distances(scores, weights))
    return _upper(errors, np.array(resampled), count, level), _upper(
        np.mean(calibrated, axis=0), np.array(calibrated), count, level
    )


def _upper(value: FloatArray, replicates: FloatArray, count: int, level: float) -> FloatArray:
    """The upper bound of an interval from replicates, wider where there are few clusters."""
    error = replicates.std(axis=0, ddof=1)
    estimate = Estimate(value, error, replicates, ExpandedPercentile(count), "clusters")
    return np.asarray(estimate.interval(level).high)
