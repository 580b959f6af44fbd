"""Expected costs against MCC and F1 over all tables of two classes (ferrer-analysis, figure 1)."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
import pytest

from stakes import Problem
from stakes._check import BoolArray, FloatArray
from stakes.measures import f_beta, mcc, normalized_cost
from stakes.tally import Counts

STEPS = 20
BALANCED, IMBALANCED = (500, 500), (900, 100)

both_sizes = pytest.mark.parametrize("sizes", [BALANCED, IMBALANCED])


def all_tables(sizes: tuple[int, int]) -> Counts:
    """Every number of false alarms with every number of misses, (21, 21, 2, 2)."""
    tables = [
        [
            [[sizes[0] - alarms, alarms], [misses, sizes[1] - misses]]
            for misses in np.linspace(0, sizes[1], STEPS + 1)
        ]
        for alarms in np.linspace(0, sizes[0], STEPS + 1)
    ]
    return Counts(tables)


def cost(counts: Counts, miss: float = 1, prior: tuple[float, float] | None = None) -> FloatArray:
    return normalized_cost(counts, Problem.binary(false_alarm=1, miss=miss, prior=prior))


def f1(counts: Counts) -> FloatArray:
    return f_beta(counts, 1)[..., 1]


def detected(counts: Counts) -> FloatArray:
    """Share of positive decisions."""
    return np.asarray(counts.values[..., 1].sum(axis=-1) / counts.n_cases)


def correlation(x: FloatArray, y: FloatArray, where: BoolArray) -> float:
    known = where & np.isfinite(x + y)
    return float(np.corrcoef(x[known], y[known])[0, 1])


@both_sizes
def test_A2_costs_mcc_and_f1_of_all_441_tables_are_those_of_their_definitions(sizes):
    """Sections 3, 5 and 6 in plain loops; EC_1.5 for 1.5, and for √2, which was printed."""
    counts = all_tables(sizes)
    columns = {
        "EC_nb": cost(counts, prior=(0.5, 0.5)),
        "EC_1": cost(counts),
        "EC_1.5": cost(counts, miss=1.5),
        "EC_1.5 as printed": cost(counts, miss=sqrt(2)),
        "MCC": mcc(counts),
        "F1": f1(counts),
    }
    n1, n2 = sizes
    for place in np.ndindex(STEPS + 1, STEPS + 1):
        k12, k21 = place[0] * n1 / STEPS, place[1] * n2 / STEPS
        k11, k22 = n1 - k12, n2 - k21
        margins = (k11 + k21) * n1 * (k22 + k12) * n2
        expected = (
            k12 / n1 + k21 / n2,
            (k12 + k21) / min(n1, n2),
            (k12 + 1.5 * k21) / min(n1, 1.5 * n2),
            (k12 + sqrt(2) * k21) / min(n1, sqrt(2) * n2),
            (k11 * k22 - k12 * k21) / sqrt(margins) if margins else nan,
            2 * k22 / (2 * k22 + k12 + k21),
        )
        results = [values[place] for values in columns.values()]
        np.testing.assert_allclose(results, expected, rtol=1e-12, atol=1e-12, err_msg=str(place))


def test_A2_mcc_follows_the_balanced_cost_and_best_where_the_classes_are_balanced():
    correlations = []
    for sizes in (BALANCED, IMBALANCED):
        counts = all_tables(sizes)
        balanced_cost, some = cost(counts, prior=(0.5, 0.5)), np.isfinite(mcc(counts))
        correlations.append(correlation(balanced_cost, mcc(counts), some))
        sign = np.sign(np.round(1 - balanced_cost, 12))
        np.testing.assert_array_equal(np.sign(np.round(mcc(counts), 12))[some], sign[some])
    assert correlations == pytest.approx([-0.9962, -0.9648], abs=1e-4)


@both_sizes
def test_A2_of_tables_with_one_balanced_cost_mcc_prefers_the_least_balanced_decisions(sizes):
    counts = all_tables(sizes)
    steps = np.add.outer(np.arange(STEPS + 1), np.arange(STEPS + 1))  # the balanced cost, in 1/20
    balance = detected(counts) * (1 - detected(counts))
    for level in range(1, STEPS):
        order = np.argsort(balance[steps == level], kind="stable")
        np.testing.assert_allclose(cost(counts, prior=(0.5, 0.5))[steps == level], level / STEPS)
        assert (np.diff(mcc(counts)[steps == level][order]) <= 1e-12).all()


@both_sizes
def test_A2_f1_follows_a_cost_that_minds_misses_more_better_than_one_that_does_not(sizes):
    """Among systems that are better than naive, as the text has it, and among all."""
    counts = all_tables(sizes)
    for which in (cost(counts) < 1, cost(counts, miss=1.5) < 1, cost(counts) <= np.inf):
        plain = correlation(cost(counts), f1(counts), which)
        for miss in (1.5, sqrt(2)):
            assert correlation(cost(counts, miss), f1(counts), which) < plain - 0.02


def test_A2_at_one_cost_f1_prefers_whoever_detects_more():
    counts = all_tables(BALANCED)
    errors = np.add.outer(np.arange(STEPS + 1), np.arange(STEPS + 1))
    for level in range(1, 2 * STEPS):
        order = np.argsort(detected(counts)[errors == level])
        np.testing.assert_allclose(cost(counts)[errors == level], level / STEPS)
        rising = f1(counts)[errors == level][order]
        assert (np.diff(rising) > 0).all() or rising.max() == 0


def test_A2_f1_does_not_say_that_a_system_has_become_useless():
    """Naive by either cost, F1 still takes values around 0.6; by the first, all down to 0."""
    counts = all_tables(BALANCED)
    for miss, least in ((1, 0.0), (1.5, 6 / 13)):
        useless = f1(counts)[np.abs(cost(counts, miss) - 1) < 0.05]
        assert useless.min() == pytest.approx(least)
        assert useless.max() == pytest.approx(2 / 3)
