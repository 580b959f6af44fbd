"""An amount that all losses share costs their variances no digits; a twin counts in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import InputError, JointCounts, LossMoments, Problem
from stakes.inference import compare_losses, cost_moments, mean_covariance

SHARED = [0.0, -7.25, 1e7, -1e9]
#: Multiples of 2⁻⁸, which 10⁹ can be added to without rounding.
losses = st.integers(-512, 512).map(lambda part: part / 256)
rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(1, 4), losses, losses),
    min_size=2,
    max_size=25,
)


def exact_scatter(
    table: Sequence[Sequence[float]], times: Sequence[float]
) -> list[list[Fraction | int]]:
    """Sums of products of the distances from the mean, of fractions and in plain loops."""
    total = sum(map(Fraction, times), Fraction(0))
    width = range(len(table[0]) if table else 2)
    mean = [
        sum(
            (Fraction(t) * Fraction(row[i]) for t, row in zip(times, table, strict=True)),
            Fraction(0),
        )
        / (total or 1)
        for i in width
    ]
    away = [[Fraction(row[i]) - mean[i] for i in width] for row in table]
    return [
        [sum(Fraction(t) * r[i] * r[j] for t, r in zip(times, away, strict=True)) for j in width]
        for i in width
    ]


def close(actual: Any, exact: list[list[Fraction | int]], off: float = 0, weight: int = 0) -> None:
    """Within 1e-9 of the product of the standard deviations, or of means that may be `off`."""
    twin = np.array(exact, dtype=float)
    size = np.sqrt(np.diagonal(twin))
    of_means = off * np.sqrt(weight) * np.add.outer(size, size) + off**2 * weight
    assert np.all(np.abs(actual - twin) <= 1e-9 * np.outer(size, size) + of_means)


@given(rows, st.sampled_from(SHARED), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_the_scatter_is_that_of_fractions_whatever_amount_is_shared(cases, shared, often):
    y, by, weights, old, new = zip(*cases, strict=True)
    table = np.array([old, new]).T + shared

    def of(**options: Any) -> LossMoments:
        return LossMoments.from_losses(y, table, classes=["a", "b"], weights=weights, **options)

    def twin(times: Sequence[float], label: str | None = None) -> list[list[Fraction | int]]:
        kept = [k for k in range(len(y)) if (label is None or y[k] == label) and times[k]]
        return exact_scatter([table[k].tolist() for k in kept], [times[k] for k in kept])

    whole, grouped = of(), of(by=by)
    halves = [
        LossMoments.from_losses(y[part], table[part], classes=["a", "b"], weights=weights[part])
        for part in (slice(0, 1), slice(1, None))
    ]
    counted = dict(zip(grouped.groups or (), often, strict=False))
    times = [weight * counted[group] for weight, group in zip(weights, by, strict=True)]
    drawn = grouped.sum_clusters(np.array([list(counted.values()), [1.0] * len(counted)]))
    # Tallies are merged by their means, which are rounded; means that differ by less are equal.
    rounded = 64 * np.finfo(float).eps * (abs(shared) + 2), 3 * sum(weights)
    for k, label in enumerate("ab"):
        close(whole.scatter[k], twin(weights, label))
        for moments in (halves[0] + halves[1], reduce(add, grouped), drawn[1]):
            close(moments.scatter[k], twin(weights, label), *rounded)
        close(drawn[0].scatter[k], twin(times, label), *rounded)
    for moments in (whole, halves[0] + halves[1], drawn[1]):
        close(moments.total_scatter, twin(weights), *rounded)
    close(drawn[0].total_scatter, twin(times), *rounded)


@given(rows)
def test_a_shared_amount_moves_means_and_leaves_covariances(cases):
    y, by, weights, old, new = zip(*cases, strict=True)
    plain = LossMoments.from_losses(y, {"old": old, "new": new}, by=by, weights=weights)
    more = {"old": np.add(old, 1e9), "new": np.add(new, 1e9)}
    moved = LossMoments.from_losses(y, more, by=by, weights=weights)
    assert moved.means == pytest.approx(plain.means + 1e9, rel=1e-15, nan_ok=True)
    # Classes are pooled by their means, which are rounded to the last digit of the amount.
    rounding = 4 * np.finfo(float).eps * 1e9 * np.ptp([*old, *new])
    for prior in (None, np.full(len(plain.classes), 1 / len(plain.classes))):
        covariance = mean_covariance(plain, prior)
        np.testing.assert_allclose(mean_covariance(moved, prior), covariance, 1e-6, rounding)


@pytest.mark.parametrize("loss", [0.1, 1e9 / 3, -1e-80])
def test_equal_losses_have_exactly_no_scatter(loss):
    y, by = np.arange(700) % 2, np.arange(700) % 7
    table, weights = np.full((700, 2), loss), 0.1 + np.arange(700) % 11
    grouped = LossMoments.from_losses(y, table, by=by, weights=weights)
    whole = LossMoments.from_losses(y, table, weights=weights)
    for moments in (grouped, whole, reduce(add, grouped), grouped.sum_clusters(np.ones((3, 7)))):
        assert not moments.scatter.any()
        assert not moments.total_scatter.any()
        assert not moments.covariances.any()
    assert not LossMoments.from_losses(y, table).total_scatter.any()


def test_a_sample_without_the_far_cluster_keeps_its_own_scatter():
    """Most clusters are near 0, one is at 10⁹: samples that lack it have a small variance."""
    near = np.arange(30) % 5 - 2.0
    losses, by = np.append(near, [1e9, 1e9]), np.append(np.arange(30) % 3, [3, 3])
    moments = LossMoments.from_losses(np.zeros(32), losses[:, None], by=by)
    times = np.array([[1.0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 2]])
    scatter = moments.sum_clusters(times).scatter[:, 0, 0, 0]
    whole = float(exact_scatter(losses[:, None].tolist(), [1] * 32)[0][0])
    assert scatter[1] == pytest.approx(whole, rel=1e-12)
    assert scatter[0] == pytest.approx(near.var() * 30, rel=1e-12)
    assert scatter[2] == 0


@pytest.mark.parametrize("place", [0, 7, 30])
@pytest.mark.parametrize("grouped", [False, True])
def test_a_far_loss_of_next_to_no_weight_costs_no_digits(place, grouped):
    near = np.arange(30) % 5 - 2.0
    losses, weights = np.insert(near, place, 1e9), np.insert(1.0 + np.arange(30) % 3, place, 1e-40)
    by = np.zeros(31) if grouped else None
    moments = LossMoments.from_losses(np.zeros(31), losses[:, None], weights=weights, by=by)
    exact = float(exact_scatter(losses[:, None].tolist(), weights.tolist())[0][0])
    assert moments.scatter.item() == pytest.approx(exact, rel=1e-12)


def test_standard_errors_of_costs_that_share_an_amount():
    rng = np.random.default_rng(4)
    y, losses = rng.integers(0, 2, 200), np.round(rng.normal(size=(200, 2)), 3)
    plain = compare_losses(LossMoments.from_losses(y, losses), prior=None)
    moved = compare_losses(LossMoments.from_losses(y, losses + 1e9), prior=None)
    for first, second in ((0, 1), (1, 0)):
        expected = float(plain.difference(first, second).standard_error)
        assert float(moved.difference(first, second).standard_error) == pytest.approx(
            expected, 1e-6
        )
    names = {"old": rng.integers(0, 2, 200), "new": rng.integers(0, 2, 200)}
    costs = np.array([[0.0, 3.0], [25.0, 1.0]])
    plain_costs, moved_costs = Problem(costs), Problem(costs + 1e9)
    joint = JointCounts.from_decisions(y, names, plain_costs, by=np.arange(200) % 4)
    few, many = cost_moments(joint, plain_costs), cost_moments(joint, moved_costs)
    np.testing.assert_allclose(many.scatter, few.scatter, rtol=1e-6)
    np.testing.assert_allclose(many.total_scatter, few.total_scatter, rtol=1e-6)


def test_losses_whose_squares_are_no_numbers_are_refused():
    for losses in ({"m": [1e101, 0]}, [[-1e101], [0]]):
        with pytest.raises(InputError, match=r"^losses.* must hold numbers of size up to 1e\+100"):
            LossMoments.from_losses([0, 1], losses)
    assert LossMoments.from_losses([0, 0], {"m": [1e100, -1e100]}).covariances.item() == 1e200
