"""Clusters that were drawn as a whole: sparse tallies of them, and how few of them count."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import (
    Counts,
    InputError,
    JointCounts,
    LossMoments,
    Problem,
    ScoreTable,
    expected_cost,
    normalized_cost,
)
from stakes.inference import (
    AllCases,
    BayesianBootstrap,
    BCa,
    Clusters,
    ExpandedPercentile,
    Percentile,
    PoissonWeights,
    WithinClasses,
    bootstrap,
    bootstrap_bca,
    bootstrap_problems,
    bootstrap_t,
    compare,
    compare_costs,
    contenders,
    delong,
    expected_cost_error,
    jackknife,
    profile_interval,
    resample,
)
from stakes.inference.estimate import cluster_count
from stakes.inference.profile import cost_support
from stakes.inference.schemes import cluster_influence
from stakes.ranking import auc
from stakes.tally import CellTally, JointScores

ZERO_ONE = Problem.zero_one(2)


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def scored(
    n: int = 90, cluster_count: int = 12, seed: int = 1
) -> tuple[np.ndarray, dict, np.ndarray]:
    """Classes, tied scores of two models and the clusters of n cases."""
    rng = generator(seed)
    y, cluster = rng.integers(0, 2, n), rng.integers(0, cluster_count, n)
    return y, {m: np.round(rng.normal(y, 1), 1) for m in "ab"}, cluster


def area(joint: JointScores) -> np.ndarray:
    return auc(joint.table("a"))


# Clusters beside the tuples ----------------------------------------------------------------------


def test_clusters_beside_the_tuples_are_resampled_as_an_axis_of_clusters_does():
    y, scores, cluster = scored()
    axis = JointScores.from_scores(y, scores, by=cluster)
    beside = JointScores.from_scores(y, scores, clusters=cluster)
    assert beside.weights.ndim == 1
    assert beside.table("b") == ScoreTable.from_scores(y, scores["b"])
    dense, sparse = (
        resample(j, Clusters(), replicates=20, rng=generator()) for j in (axis, beside)
    )
    for model in "ab":
        assert dense.table(model) == sparse.table(model)
    for make in (bootstrap, bootstrap_bca):
        first, second = (
            make(area, joint, replicates=50, rng=generator(), scheme=Clusters())
            for joint in (axis, beside)
        )
        np.testing.assert_allclose(first.replicates, second.replicates, rtol=1e-12)
        ends, twins = first.interval(0.9), second.interval(0.9)
        np.testing.assert_allclose([ends.low, ends.high], [twins.low, twins.high], rtol=1e-9)


def test_a_replicate_of_clusters_takes_every_case_of_a_cluster_as_often_as_the_cluster():
    """Slow twin: rows of the clusters, one after the other."""
    y, scores, cluster = scored(cluster_count=5)
    times = generator(2).integers(0, 3, (4, 5)).astype(float)
    joint = JointScores.from_scores(y, scores, clusters=cluster)
    table = joint.sum_clusters(times).table("a")
    for d in range(4):
        rows = [
            i
            for u in range(5)
            for _ in range(int(times[d, u]))
            for i in np.flatnonzero(cluster == u)
        ]
        twin = ScoreTable.from_scores(y[rows], scores["a"][rows])
        kept = table[d].weights.sum(axis=1) > 0
        assert np.array_equal(table.scores[kept], twin.scores)
        assert np.array_equal(table[d].weights[kept], twin.weights)


def test_clusters_and_groups_stand_side_by_side():
    y, scores, cluster = scored(400, 40)
    group = np.where(cluster % 2, "odd", "even")  # clusters lie within groups
    joint = JointScores.from_scores(y, scores, by=group, clusters=cluster)
    estimate = bootstrap(area, joint, replicates=400, rng=generator(), scheme=Clusters())
    assert joint.groups == ("even", "odd")
    assert estimate.value.shape == (2,)
    for place, name in enumerate(joint.groups):
        members = group == name
        table = ScoreTable.from_scores(y[members], scores["a"][members])
        assert float(estimate.value[place]) == pytest.approx(float(auc(table)))


@pytest.mark.parametrize(
    "scheme", [AllCases(), WithinClasses(), PoissonWeights(), BayesianBootstrap()]
)
def test_cases_that_came_in_clusters_are_not_taken_for_independent(scheme):
    y, scores, cluster = scored()
    joint = JointScores.from_scores(y, scores, clusters=cluster)
    refusals: list[Callable[[], object]] = [
        lambda: resample(joint, scheme, replicates=5, rng=generator()),
        lambda: bootstrap(area, joint, replicates=5, rng=generator(), scheme=scheme),
        lambda: jackknife(area, joint, scheme=scheme, rng=generator()),
        lambda: delong(joint),
    ]
    for refused in refusals:
        with pytest.raises(
            InputError, match=r"not name clusters here.*scheme=Clusters\(\).*without cl"
        ):
            refused()


def test_scores_with_clusters_are_values():
    y, scores, cluster = scored()
    joint = JointScores.from_scores(y, scores, clusters=cluster)
    assert joint == JointScores.from_scores(
        y[::-1], {m: s[::-1] for m, s in scores.items()}, clusters=cluster[::-1]
    )
    assert joint != JointScores.from_scores(y, scores)
    assert hash(joint) != hash(JointScores.from_scores(y, scores))
    with pytest.raises(InputError, match="same cases"):
        JointScores.from_scores(y, scores, clusters=cluster[1:])
    sites = cluster.astype(object)
    sites[3] = "north"
    gaps = np.where(cluster > 3, np.nan, cluster)
    told = ("one label for every case", "missing, the first", "of mixed types")
    for wrong, rule in zip((cluster[:, None], gaps, sites), told, strict=True):
        with pytest.raises(InputError, match=rule):
            JointScores.from_scores(y, scores, clusters=wrong)


def test_memory_stays_flat_in_the_number_of_clusters(monkeypatch):
    """Two thousand clusters of twenty thousand scores would be 640 MB as a dense table."""
    rng = generator()
    y, cluster = rng.integers(0, 2, 20_000), rng.integers(0, 2000, 20_000)
    score = rng.normal(y, 1)
    tracemalloc.start()
    joint = JointScores.from_scores(y, {"a": score}, clusters=cluster)
    estimate = bootstrap(area, joint, replicates=60, rng=rng, scheme=Clusters())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6
    assert float(estimate.value) == pytest.approx(float(auc(ScoreTable.from_scores(y, score))))
    with pytest.raises(InputError, match=r"2,000 of them, each of 40,000 numbers, take 0\.64 GB"):
        ScoreTable.from_scores(y, score, by=cluster)
    monkeypatch.setattr(sys.modules["stakes.tally.base"], "MOST_CELLS", 1 << 20)
    with pytest.raises(InputError, match=r"100 of them, each of 20,000 numbers"):
        JointScores.from_scores(y, {"a": score}, by=cluster % 100)


def test_a_single_cluster_is_refused():
    y, scores, _ = scored()
    with pytest.raises(InputError, match=r"at least two clusters.*clusters="):
        cluster_count(JointScores.from_scores(y, scores, clusters=np.zeros(90, dtype=int)))


# How few clusters count --------------------------------------------------------------------------


def slow_count(influence: list[float], count: int) -> float:
    """Satterthwaite: 2 V² / Var(V) for the variance V that clusters or groups of them give."""
    total = sum(d * d for d in influence)
    if total == 0:
        return float(count)
    kurtosis = len(influence) * sum(d**4 for d in influence) / total**2
    of_units = 3 + (kurtosis - 3) * count / len(
        influence
    )  # the sum of g clusters is g times less peaked
    effective = 2 * count / (of_units - 1) if of_units > 1 else float(count)
    return min(max(effective, 2.0), float(count))


@given(
    st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=12), st.sampled_from([1, 2, 10])
)
def test_the_effective_number_of_clusters_is_satterthwaites(influence, per_group):
    count = per_group * len(influence)
    shape = ExpandedPercentile(count, np.array(influence))
    assert float(shape.effective_count(())) == pytest.approx(slow_count(influence, count))


def test_clusters_that_pull_alike_all_count_and_a_lone_one_counts_as_two():
    normal = generator().normal(size=2000)
    alike = ExpandedPercentile(2000, normal).effective_count(())
    assert float(alike) == pytest.approx(2000, rel=0.15)
    alone = ExpandedPercentile(2000, np.eye(2000)[0]).effective_count(())
    assert float(alone) == pytest.approx(2, abs=0.01)
    rare = np.where(np.arange(2000) % 100 == 0, 1.0, 0.0)  # 20 of them hold all mistakes
    assert float(ExpandedPercentile(2000, rare).effective_count(())) == pytest.approx(40, rel=0.05)
    constant = ExpandedPercentile(9, np.zeros(9))
    assert float(constant.effective_count(())) == 9
    undefined = ExpandedPercentile(9, np.full(9, np.nan))
    assert float(undefined.effective_count(())) == 2


def test_the_fewer_clusters_count_the_wider_the_interval():
    shares = np.arange(1, 10_000) / 10_000
    estimate = bootstrap(
        lambda c: expected_cost(c, ZERO_ONE),
        Counts(generator(3).integers(0, 9, (10, 2, 2))),
        replicates=9,
        rng=generator(),
        scheme=Clusters(),
    )
    estimate = estimate._trusted(**{**vars(estimate), "replicates": shares})
    widths = [
        float(estimate.with_intervals(kind).interval(0.9).width)
        for kind in (
            Percentile(),
            ExpandedPercentile(50),
            ExpandedPercentile(50, np.where(np.arange(50) < 5, 1.0, 0.0)),
        )
    ]
    assert widths == sorted(widths)
    assert len(set(widths)) == 3


def test_influences_are_the_differences_that_leaving_out_a_cluster_makes():
    counts = Counts(generator().integers(0, 6, (12, 2, 2)))
    cost = lambda c: expected_cost(c, ZERO_ONE)  # noqa: E731
    left = [float(cost(Counts(counts.values.sum(axis=0) - cluster))) for cluster in counts.values]
    influence = cluster_influence(cost, counts, generator())
    np.testing.assert_allclose(influence, np.mean(left) - np.array(left), atol=1e-14)
    estimate = bootstrap(cost, counts, replicates=99, rng=generator(), scheme=Clusters())
    assert estimate.intervals == ExpandedPercentile(12, influence)


def test_a_ratio_that_one_cluster_keeps_finite_counts_as_two():
    counts = Counts([[[4, 1], [0, 0]], [[3, 2], [0, 0]], [[5, 0], [1, 2]]])
    odds = lambda c: normalized_cost(c, Problem.zero_one(2))  # noqa: E731
    estimate = bootstrap(odds, counts, replicates=99, rng=generator(), scheme=Clusters())
    assert isinstance(estimate.intervals, ExpandedPercentile)
    assert float(estimate.intervals.effective_count(())) == 2


def test_groups_of_many_clusters_tell_the_same_effective_number():
    rng = generator()
    cluster = np.repeat(np.arange(3000), 2)
    y = (rng.random(6000) < 0.02).astype(int)
    decided = np.where(rng.random(6000) < 0.8, y, 1 - y)
    counts = Counts.from_decisions(y, decided, ZERO_ONE, by=cluster)
    cost = lambda c: c.values[..., 1, 0] / c.n_cases  # noqa: E731
    total = counts.values.sum(axis=0)
    exact = np.array(
        [float(cost(Counts(total - counts_of_cluster))) for counts_of_cluster in counts.values]
    )
    wanted = ExpandedPercentile(3000, exact.mean() - exact).effective_count(())
    influence = cluster_influence(cost, counts, rng)
    assert len(influence) == 200
    effective = ExpandedPercentile(3000, influence).effective_count(())
    assert 20 < float(wanted) < 100
    assert float(effective) == pytest.approx(float(wanted), rel=0.4)


def test_a_difference_has_an_effective_number_of_its_own():
    y = np.tile([0, 1], 100)
    cluster = np.repeat(np.arange(40), 5)
    wrong = np.where(cluster % 3 == 0, 1 - y, y)
    almost = np.where(cluster == 7, 1 - wrong, wrong)  # differs from the other on one cluster
    joint = JointCounts.from_decisions(y, {"a": wrong, "b": almost}, ZERO_ONE, by=cluster)
    comparison = compare_costs(joint, ZERO_ONE, replicates=99, rng=generator(), scheme=Clusters())
    alone = [comparison.estimate(m).intervals.effective_count(()) for m in "ab"]
    both = comparison.difference("a", "b").intervals.effective_count(())
    assert min(float(value) for value in alone) > 20
    assert float(both) < 3


def test_an_estimate_of_another_shape_goes_by_the_number_of_clusters():
    kind = ExpandedPercentile(30, generator().normal(size=(30, 4)))
    assert kind.effective_count(()).tolist() == 30
    assert kind.effective_count((4,)).shape == (4,)
    assert kind.along(np.ones(3)) is kind
    assert kind.along(np.array([1.0, 0, 0, -1])).influence.shape == (30,)
    assert Percentile().along(np.ones(3)) == Percentile()


def test_one_known_problem_is_read_as_the_plain_bootstrap_of_clusters_reads_it():
    counts = Counts(generator(3).integers(1, 9, (10, 2, 2)))
    how: Any = {"replicates": 99, "scheme": Clusters()}
    cost = lambda c: expected_cost(c, ZERO_ONE)  # noqa: E731
    plain = bootstrap(cost, counts, rng=generator(), **how)
    estimate = bootstrap_problems(expected_cost, counts, [ZERO_ONE], rng=generator(), **how)
    assert estimate.intervals == plain.intervals
    assert estimate.interval(0.9) == plain.interval(0.9)


def test_under_several_problems_a_cluster_pulls_at_the_mean_over_them():
    """Slow twin: leave out each cluster, and average the cost over the problems."""
    counts = Counts(generator(3).integers(1, 9, (10, 2, 2)))
    problems = [Problem.binary(false_alarm=1, miss=m) for m in (1, 4, 30)]
    estimate = bootstrap_problems(
        expected_cost, counts, problems, replicates=30, rng=generator(), scheme=Clusters()
    )
    total = counts.values.sum(axis=0)
    left = np.array(
        [
            np.mean(
                [float(expected_cost(Counts(total - cluster), problem)) for problem in problems]
            )
            for cluster in counts.values
        ]
    )
    assert isinstance(estimate.intervals, ExpandedPercentile)
    np.testing.assert_allclose(estimate.intervals.influence, left.mean() - left, atol=1e-12)


def test_the_jackknife_takes_clusters_beside_the_tuples():
    y, scores, cluster = scored()
    axis = JointScores.from_scores(y, scores, by=cluster)
    beside = JointScores.from_scores(y, scores, clusters=cluster)
    first, second = (jackknife(area, j, scheme=Clusters(), rng=generator()) for j in (axis, beside))
    assert float(first.standard_error) == pytest.approx(float(second.standard_error))
    assert float(first.acceleration) == pytest.approx(float(second.acceleration))
    estimate = bootstrap_bca(area, beside, replicates=99, rng=generator(), scheme=Clusters())
    assert isinstance(estimate.intervals, BCa)


def test_the_studentised_bootstrap_does_not_take_clusters_for_cases():
    counts = Counts(generator(3).integers(1, 9, (10, 2, 2)))
    with pytest.raises(
        InputError, match=r"resample cases here.*bootstrap\(…, scheme=Clusters\(\)\)"
    ):
        bootstrap_t(
            lambda c: expected_cost(c, ZERO_ONE),
            lambda c: expected_cost_error(c, ZERO_ONE),
            counts,
            replicates=9,
            rng=generator(),
            scheme=Clusters(),
        )


# The order of rows -------------------------------------------------------------------------------


def tallies_of_units(order: np.ndarray) -> dict[str, Any]:
    y, scores, cluster = (part for part in scored(120, 15, 4))
    site = np.array([f"s{u}" for u in cluster])[order]
    y, a, b = y[order], scores["a"][order], scores["b"][order]
    decided = {"a": (a > 0.5).astype(int), "b": (b > 0.5).astype(int)}
    both = {"a": a, "b": b}
    return {
        "counts": Counts.from_decisions(y, decided["a"], ZERO_ONE, by=site),
        "joint": JointCounts.from_decisions(y, decided, ZERO_ONE, by=site),
        "scores": ScoreTable.from_scores(y, a, by=site),
        "moments": LossMoments.from_losses(y, np.stack([a, b], axis=1), by=site),
        "paired scores": JointScores.from_scores(y, both, by=site),
        "sparse scores": JointScores.from_scores(y, both, clusters=site),
    }


def first_sums(tally: Any) -> np.ndarray:
    """Three of the numbers that add up in a tally."""
    sums = tally.cell_weights if isinstance(tally, CellTally) else tally.sums
    return sums.reshape(*tally.leading, -1)[..., :3]


@pytest.mark.parametrize("kind", sorted(tallies_of_units(np.arange(120))))
def test_replicates_of_clusters_do_not_depend_on_the_order_of_rows(kind):
    first, second = (
        bootstrap(
            first_sums,
            tallies_of_units(order)[kind],
            replicates=30,
            rng=generator(),
            scheme=Clusters(),
        )
        for order in (np.arange(120), generator(3).permutation(120))
    )
    np.testing.assert_allclose(first.replicates, second.replicates, rtol=1e-12, atol=1e-12)
    ends, twins = first.interval(0.9), second.interval(0.9)
    np.testing.assert_allclose([ends.low, ends.high], [twins.low, twins.high], rtol=1e-9)
    assert first.replicates.std() > 0


def test_a_comparison_of_areas_takes_clusters_beside_the_tuples():
    y, scores, cluster = scored(300, 60)
    joint = JointScores.from_scores(y, scores, clusters=cluster)
    areas = lambda j: np.stack([auc(j.table(m)) for m in "ab"], axis=-1)  # noqa: E731
    comparison = compare(
        areas, joint, ["a", "b"], replicates=200, rng=generator(), scheme=Clusters()
    )
    np.testing.assert_allclose(comparison.values, delong(JointScores.from_scores(y, scores)).values)
    assert np.isfinite(comparison.difference("a", "b").interval(0.95).width)


# Degrees of freedom ------------------------------------------------------------------------------


def slow_degrees(clusters: np.ndarray, costs: np.ndarray, prior: np.ndarray | None) -> float:
    """Satterthwaite's degrees of freedom of a cost, from clusters (G, K, M), in plain loops."""
    count, classes, _ = clusters.shape
    total, spent = clusters.sum(), (clusters * costs).sum()
    parts, holders = [], []
    for k in range(classes):
        size = clusters[:, k].sum()
        stratum = clusters[:, k].sum(axis=1) if prior is not None else clusters.sum(axis=(1, 2))
        mean = (clusters[:, k] * costs[k]).sum() / size if prior is not None else spent / total
        scale = prior[k] / size if prior is not None else 1 / total
        part = 0.0
        for g in range(count):
            moved = sum(w * (c - mean) for w, c in zip(clusters[g, k], costs[k], strict=True))
            part += (scale * moved / (1 - stratum[g] / stratum.sum())) ** 2
        parts.append(part)
        holders.append(sum(clusters[g, k].any() for g in range(count)) - (prior is not None))
    inverse = sum((part / sum(parts)) ** 2 / few for part, few in zip(parts, holders, strict=True))
    return min(1 / inverse, count - 1)


def few_of_a_class(seed: int) -> np.ndarray:
    """Twelve clusters, three of which hold the second class, and one both classes."""
    clusters = np.random.default_rng(seed).integers(1, 20, (12, 2, 3)).astype(float)
    clusters[3:, 1] = 0.0
    clusters[:2, 0] = 0.0
    return clusters


@pytest.mark.parametrize("prior", [None, [0.7, 0.3]])
@pytest.mark.parametrize("seed", range(5))
def test_a_class_that_few_clusters_hold_leaves_few_degrees_of_freedom(seed, prior):
    clusters = few_of_a_class(seed)
    problem = Problem([[0, 1, 3], [9, 4, 0]], prior=prior)
    support = cost_support(Counts(clusters), problem, scheme=Clusters())
    wanted = slow_degrees(clusters, problem.costs, problem.prior)
    assert 1 < wanted < 10
    assert float(support.degrees) == pytest.approx(wanted, rel=1e-12)
    alike = cost_support(Counts(clusters[:1].repeat(12, axis=0) + 1.0), problem, scheme=Clusters())
    assert float(alike.degrees) == 11  # nothing but rounding is between them


@pytest.mark.parametrize("prior", [None, [0.7, 0.3]])
def test_the_difference_of_two_systems_is_the_same_wherever_it_is_asked_for(prior):
    rng = np.random.default_rng(3)
    owner = np.repeat(np.arange(14), 9)
    y = np.isin(owner, [2, 5, 9]).astype(int)  # clusters of one class each
    rates = {"first": 0.2, "second": 0.4}
    decided = {name: np.where(rng.random(y.size) < rate, 1 - y, y) for name, rate in rates.items()}
    problem = Problem([[0, 1], [5, 0]], prior=prior)
    joint = JointCounts.from_decisions(y, decided, problem, clusters=owner)
    choice = contenders(joint, problem, level=0.95)
    place = 1 - choice.cheapest
    order = [str(choice.names[place]), str(choice.names[choice.cheapest])]
    pair = JointCounts.from_decisions(
        y, {name: decided[name] for name in order}, problem, clusters=owner
    )
    interval = profile_interval(pair, problem, 0.95, scheme=Clusters())
    assert choice.errors.degrees < 9
    assert choice.low[place] == pytest.approx(float(interval.low), rel=1e-9)
    assert choice.high[place] == pytest.approx(float(interval.high), rel=1e-9)


def test_a_class_that_no_cluster_shows_may_fill_whole_clusters():
    """Where clusters have one class each, so may those of a class that was not drawn."""
    problem = Problem([[0, 1], [9, 0]])
    alone = np.zeros((10, 2, 2))
    alone[:, 0] = [45, 5]
    interval = profile_interval(Counts(alone), problem, 0.95, scheme=Clusters())
    as_cases = profile_interval(Counts(alone.sum(axis=0)), problem, 0.95)
    few = profile_interval(Counts([[9, 1], [0, 0]]), problem, 0.95)  # a case for each cluster
    assert float(as_cases.high) < 0.3
    assert float(interval.high) > 0.8 * float(few.high)
    mixed = np.zeros((10, 3, 2))
    mixed[:, :2] = [[20, 5], [5, 20]]  # classes that come together everywhere
    three = Problem([[0, 1], [9, 0], [9, 9]])
    interval = profile_interval(Counts(mixed), three, 0.95, scheme=Clusters())
    as_cases = profile_interval(Counts(mixed.sum(axis=0)), three, 0.95)
    assert float(interval.high - interval.low) < 2 * float(as_cases.high - as_cases.low)


@pytest.mark.parametrize("scale", [100.0, 0.01, 1e-6])
def test_a_class_that_no_cluster_shows_does_not_see_the_unit_of_the_weights(scale):
    clusters = np.zeros((12, 3, 2))
    clusters[:, :2] = np.random.default_rng(1).integers(1, 10, (12, 2, 2))
    problem = Problem([[0, 1], [9, 0], [20, 20]])
    plain, scaled = (
        profile_interval(
            Counts(clusters * by), problem, squares=clusters * by**2, scheme=Clusters()
        )
        for by in (1.0, scale)
    )
    assert float(scaled.low) == pytest.approx(float(plain.low), rel=1e-9)
    assert float(scaled.high) == pytest.approx(float(plain.high), rel=1e-9)


def test_one_case_of_a_further_class_hardly_widens_an_interval():
    """Were a site full of it allowed for, the interval would be fourteen times as wide."""
    rng = np.random.default_rng(4)
    site = np.repeat(np.arange(30), 300)
    y = (rng.random(9000) < 0.2).astype(int)
    decided = np.where(rng.random(9000) < 0.1, 1 - y, y)
    problem = Problem([[0, 1, 1], [5, 0, 1], [5, 1, 0]])
    widths = []
    for strays in (0, 1):
        y[:strays], decided[:strays] = 2, 0
        tally = Counts.from_decisions(y, decided, problem, clusters=site)
        widths.append(profile_interval(tally, problem, scheme=Clusters()).width)
    assert widths[1] == pytest.approx(widths[0], rel=0.05)
