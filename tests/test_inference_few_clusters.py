"""Few clusters: Student's t wherever an interval, a test or a plan is derived from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from stakes import Counts, InputError
from stakes.inference import (
    Clusters,
    Comparison,
    Estimate,
    ExpandedPercentile,
    Normal,
    Percentile,
    cases_for_half_width,
    cases_to_detect,
    compare,
    estimate_of,
    holm,
    holm_pairs,
    max_t,
    minimal_detectable_difference,
    p_value,
)
from stakes.inference.estimate import normal_scores, student_quantile, student_tail
from stakes.inference.sampling import CostErrors
from stakes.inference.selection import max_law


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def compared(values: np.ndarray, rng: np.random.Generator, replicates: int = 199) -> Comparison:
    """Means (J,) of what each cluster (N, J) adds, as models are compared."""
    clusters = Counts(values[:, None, :] + 50)  # far above zero, as weights must be
    names = list("abcdef"[: values.shape[1]])
    mean = lambda c: c.values[..., 0, :] / len(values)  # noqa: E731
    return compare(mean, clusters, names, replicates=replicates, rng=rng, scheme=Clusters())


def close(actual: float, samples: int) -> bool:
    """95 % within four standard errors of a share of this many samples."""
    return abs(actual - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / samples)


# Student's t -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2.0, 3.7, 12.0, 400.0])
@pytest.mark.parametrize("share", [0.6, 0.975, 0.9999])
def test_quantiles_and_tails_are_students_and_undo_each_other(n, share):
    reach = float(student_quantile(np.array(n), share))
    assert reach == pytest.approx(np.sqrt(n / (n - 1)) * stats.t.ppf(share, n - 1))
    assert float(student_tail(np.array(n), np.array(reach))) == pytest.approx(1 - share)
    assert float(normal_scores(np.array(n), np.array(reach))) == pytest.approx(
        stats.norm.ppf(share)
    )


def test_infinitely_many_things_give_the_normal_back():
    many = np.array(np.inf)
    assert float(student_quantile(many, 0.975)) == pytest.approx(stats.norm.ppf(0.975))
    assert float(student_tail(many, np.array(1.3))) == pytest.approx(stats.norm.sf(1.3))
    assert float(normal_scores(many, np.array(40.0))) == 40.0
    for kind in (Percentile(), Normal()):
        assert np.isinf(kind.effective_count((3,))).all()


# Intervals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("replicates", [99, 5000])
def test_fewer_than_six_clusters_have_students_interval_whatever_the_replicates(n, replicates):
    values = generator(n).normal(size=(n, 1))
    estimate = compared(values, generator(), replicates).estimate("a")
    assert isinstance(estimate.intervals, ExpandedPercentile)
    count = float(estimate.intervals.effective_count(()))
    reach = np.sqrt(count / (count - 1)) * stats.t.ppf(0.975, count - 1)
    ends = estimate.interval(0.95)
    np.testing.assert_allclose(ends.high - estimate.value, reach * estimate.standard_error)
    np.testing.assert_allclose(estimate.value - ends.low, reach * estimate.standard_error)


def test_an_end_beyond_the_outermost_replicate_is_students_too():
    drawn = np.stack([np.linspace(-1, 1, 99), np.linspace(-1, 1, 99)], axis=1)
    two = np.where(np.arange(50) < 2, 1.0, 0.0)
    influence = np.stack([two, generator().normal(size=50)], axis=1)
    estimate = estimate_of(np.zeros(2), drawn, ExpandedPercentile(50, influence))
    n = estimate.intervals.effective_count((2,))
    ends = estimate.interval(0.9)
    reach = student_quantile(n, 0.95) * estimate.standard_error
    assert ends.high[0] == pytest.approx(reach[0])  # two clusters count for all
    assert ends.high[0] > 1
    skewed = np.where(drawn == 1.0, 1e3, drawn)  # one replicate is further out than Student's
    far = estimate_of(np.zeros(2), skewed, ExpandedPercentile(50, influence)).interval(0.9)
    assert far.high[0] == 1e3
    assert far.low[0] < -1
    assert ends.high[1] == pytest.approx(
        np.quantile(drawn[:, 1], stats.norm.cdf(reach[1] / estimate.standard_error[1])), abs=0.03
    )


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_intervals_of_few_clusters_cover(n):
    rng, covered, samples = generator(n), 0, 300
    for _ in range(samples):
        gap = compared(rng.normal(size=(n, 2)), rng).difference("a", "b")
        covered += bool(gap.interval(0.95).covers(0.0))
    assert close(covered / samples, samples)


# Tests -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 8])
def test_p_values_of_clusters_are_students(n):
    """With the replicates' error in place of the sample's this is the paired t-test, nearly."""
    values = generator(n).normal([0.0, 1.0], 1.0, (n, 2))
    gap = compared(values, generator(), 20_000).difference("a", "b")
    count = float(gap.intervals.effective_count(()))
    twin = stats.ttest_1samp(values[:, 0] - values[:, 1], 0.0)
    ratio = abs(float(gap.value / gap.standard_error)) * np.sqrt((count - 1) / count)
    assert float(p_value(gap, null=0)) == pytest.approx(2 * stats.t.sf(ratio, count - 1))
    if count == n:
        assert float(p_value(gap, null=0)) == pytest.approx(twin.pvalue, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("n", [4, 12, 40])
def test_many_pairs_of_few_clusters_hold_all_at_once(n):
    """Four models of equal cost, six pairs: intervals and p-values of both corrections."""
    rng, covered, samples = generator(n), np.zeros(4), 250
    for _ in range(samples):
        comparison = compared(rng.normal(size=(n, 4)), rng)
        for place, pairs in enumerate(
            (max_t(comparison, level=0.95), holm_pairs(comparison, level=0.95))
        ):
            covered[2 * place] += bool(((pairs.low <= 0) & (pairs.high >= 0)).all())
            covered[2 * place + 1] += bool(pairs.p_values.min() > 0.05)
    assert (covered / samples > 0.95 - 4 * np.sqrt(0.95 * 0.05 / samples)).all(), covered / samples


def test_max_t_of_few_clusters_is_no_surer_than_holm():
    comparison = compared(generator(1).normal([0, 1, 3], 1.0, (9, 3)), generator())
    pairs, safe = max_t(comparison, level=0.9), holm_pairs(comparison, level=0.9)
    alone = [float(p_value(comparison.difference(*pair), null=0)) for pair in comparison.pairs]
    assert (pairs.p_values >= holm(alone) - 1e-12).all()
    np.testing.assert_allclose(safe.p_values, holm(alone))
    errors = np.array(
        [float(comparison.difference(*pair).standard_error) for pair in comparison.pairs]
    )
    count = np.array(
        [float(comparison.difference(*p).intervals.effective_count(())) for p in comparison.pairs]
    )
    reach = student_quantile(count, 1 - 0.1 / 3 / 2) * errors
    assert (pairs.high - pairs.differences >= reach - 1e-12).all()


# Plans -------------------------------------------------------------------------------------------


def test_the_minimal_difference_of_few_clusters_is_found_with_the_stated_power():
    rng, detected, samples = generator(), 0, 400
    n = 6
    for _ in range(samples):
        pilot = Estimate(0.0, np.sqrt((n - 1) / n / n), np.empty(0), ExpandedPercentile(n), "")
        gap = float(minimal_detectable_difference(pilot, level=0.95, power=0.8))
        detected += bool(stats.ttest_1samp(rng.normal(gap, 1, n), 0.0).pvalue < 0.05)
    assert detected / samples == pytest.approx(0.8, abs=4 * 0.02)


def test_plans_of_clusters_undo_each_other():
    pilot = Estimate(0.1, 0.03, np.empty(0), ExpandedPercentile(7), "")
    gap = float(minimal_detectable_difference(pilot, level=0.95, power=0.8))
    needed = cases_to_detect(pilot, 7, difference=gap * 1.000001, level=0.95, power=0.8)
    assert float(needed) == 7
    width = float(student_quantile(np.array(7.0), 0.975)) * 0.03
    assert float(cases_for_half_width(pilot, 7, half_width=width * 1.000001, level=0.95)) == 7


@pytest.mark.parametrize("power", [0.01, 0.025])
def test_a_power_that_no_difference_at_all_has_is_refused(power):
    estimate = Estimate(0.0, 0.03, np.empty(0), Normal(), "")
    with pytest.raises(InputError, match=r"power must be above 0\.025, \(1 − level\)/2; got"):
        minimal_detectable_difference(estimate, level=0.95, power=power)
    with pytest.raises(InputError, match="power must be above"):
        cases_to_detect(estimate, 10, difference=1.0, level=0.95, power=power)


@pytest.mark.parametrize(("clusters", "known"), [(29, False), (30, True)])
def test_thirty_clusters_are_needed_to_use_how_differences_depend_on_each_other(clusters, known):
    """With fewer, the bound of Bonferroni stands for the distribution of the largest."""
    covariance = 0.01 * (np.eye(3) + 0.5)
    costs, names = np.array([1.0, 1.1, 1.2]), ("a", "b", "c")
    errors = CostErrors(names, costs, covariance, clusters - 1.0, np.zeros((3, 3)))
    bound = stats.t.isf(0.025 / 2, clusters - 1.0) ** 2
    squares = max_law(errors).quantile(0.05)
    assert (squares < 0.999 * bound).all() if known else squares == pytest.approx(bound)
