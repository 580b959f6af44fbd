"""The table of a diagnostic test: rates, predictive values, likelihood ratios and net benefit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, Label
from stakes.errors import InputError
from stakes.inference import (
    effective_counts,
    profile_interval,
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
from stakes.metrics.clinical_samples import (
    ALONE,
    CLINICAL_METRICS,
    Bounds,
    TestedCases,
    at_prevalence,
    difference_rows,
    metric_row,
)
from stakes.metrics.metric_rows import MetricRow, MetricTable
from stakes.problem import Problem
from stakes.tally import Counts


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
