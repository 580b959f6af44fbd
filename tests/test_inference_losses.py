"""Losses of single cases: errors, bins and likelihoods against tables and plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stakes import Decisions, Problem, evaluate
from stakes.inference import (
    Clusters,
    LossSample,
    SampledCosts,
    contenders,
    cost_errors,
    cost_support,
    loss_costs,
    profile_bounds,
    profile_threshold,
    ratio_bounds,
    system_costs,
)
from stakes.inference.losses import bin_codes, bins_of, value_at_rank
from stakes.inference.system_costs import _beyond_root
from stakes.tally import JointCounts

PROBLEM = Problem([[0, 3, 25], [180, 8, 0]])


def drawn(
    n: int,
    *,
    seed: int = 0,
    weights: str = "",
    clusters: int | None = None,
    prior=None,
    share: float = 0.3,
):
    """The same cases as losses and as a table of joint decisions."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < share).astype(np.intp)
    decided = {
        name: np.clip(rng.normal(2.0 * truth, spread) + 0.3, 0, 2).astype(np.intp)
        for name, spread in (("a", 0.6), ("b", 0.9))
    }
    weight = {
        "": None,
        "whole": rng.integers(1, 4, n).astype(float),
        "fractional": rng.lognormal(0, 0.5, n),
    }[weights]
    codes = None if clusters is None else rng.integers(0, clusters, n)
    problem = PROBLEM.with_prior(prior)
    costs = problem.costs[truth]
    losses = np.stack([costs[np.arange(n), codes] for codes in decided.values()])
    sample = LossSample(
        names=tuple(decided),
        losses=losses,
        costliest=costs.max(axis=1),
        perfect=costs.min(axis=1),
        truth=truth,
        n_classes=2,
        prior=problem.prior,
        weights=weight,
        whole=weights != "fractional",
        clusters=codes,
    )
    columns = {"y_true": truth, **decided}
    joint = JointCounts._of_codes(columns, tuple(decided), problem, weight, clusters=codes)
    joint = joint._but(weighted=weights == "fractional")
    squares = None
    if weights == "fractional":
        assert weight is not None
        both = JointCounts._of_codes(columns, tuple(decided), problem, weight**2, clusters=codes)
        squares = both.weights
    return sample, joint, problem, squares


@pytest.mark.parametrize("prior", [None, [0.8, 0.2]])
@pytest.mark.parametrize("clusters", [None, 12])
@pytest.mark.parametrize("weights", ["", "whole", "fractional"])
def test_errors_of_losses_are_those_of_the_table_where_costs_are_constant(weights, clusters, prior):
    sample, joint, problem, squares = drawn(400, weights=weights, clusters=clusters, prior=prior)
    running = np.linspace(0.0, 0.1, len(sample.names))
    errors = sample.errors(None, running)
    expected = cost_errors(joint, problem, squares=squares, added=running)
    np.testing.assert_allclose(errors.costs, expected.costs, rtol=1e-9)
    np.testing.assert_allclose(errors.covariance, expected.covariance, rtol=1e-9)
    assert errors.degrees == expected.degrees


@pytest.mark.parametrize("prior", [None, [0.8, 0.2]])
@pytest.mark.parametrize("weights", ["", "whole"])
def test_an_amount_that_all_losses_share_does_not_change_their_errors(weights, prior):
    """Whole numbers, so that losses with the amount are exact."""
    sample, *_ = drawn(400, weights=weights, prior=prior)
    moved = LossSample(**{**vars(sample), "losses": sample.losses + 2.0**50})
    np.testing.assert_allclose(
        moved.errors(None).covariance, sample.errors(None).covariance, rtol=1e-12, atol=0
    )


@pytest.mark.parametrize("prior", [None, [0.8, 0.2]])
@pytest.mark.parametrize(("weights", "clusters"), [("", None), ("fractional", None), ("", 12)])
def test_intervals_of_losses_are_those_of_the_table_where_costs_are_constant(
    weights, clusters, prior
):
    """Up to where the pseudo-case stands, which a table knows and losses do not."""
    sample, joint, problem, squares = drawn(2000, weights=weights, clusters=clusters, prior=prior)
    support = sample.cost_support("a")
    threshold = profile_threshold(0.95, support.degrees)
    low, high = profile_bounds(support, threshold)
    counts = joint.model("a")
    table = None if squares is None else joint.with_cell_weights(squares).model("a").values
    scheme = None if clusters is None else Clusters()
    known = cost_support(counts, problem, squares=table, scheme=scheme)
    expected = profile_bounds(known, threshold)
    np.testing.assert_allclose((low, high), expected, rtol=0.01)


@pytest.mark.parametrize("weights", ["", "whole", "fractional"])
def test_a_class_that_few_clusters_hold_counts_in_losses_as_in_the_table(weights):
    sample, joint, problem, squares = drawn(300, weights=weights, clusters=20, share=0.015)
    assert 1 < len(set(sample.clusters[sample.truth == 1])) < 6
    loss, most = sample.loss("a"), sample.most("a")
    counts = joint.model("a")
    table = None if squares is None else joint.with_cell_weights(squares).model("a").values
    known = cost_support(counts, problem, squares=table, scheme=Clusters())
    mass = sample.truth.size if sample.weights is None else sample.weights.sum()
    factors = sample._factors(loss, (sample.perfect, most))
    np.testing.assert_allclose(known.counts.sum(), factors * mass, rtol=1e-9)


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
@pytest.mark.parametrize("kind", ["table", "losses"])
def test_fitting_widens_a_normalised_cost_at_the_threshold_that_its_bounds_were_made_with(
    kind, prior
):
    """That of all clusters for a ratio, that of the cost where a table has a stated prior."""
    sample, joint, problem, _ = drawn(400, clusters=20, share=0.02, prior=prior)
    degrees, fitting = np.array(19.0), np.array([0.04, 0.0])
    pair: list[SampledCosts]
    if kind == "table":
        pair = [system_costs(joint, problem, fitting=extra) for extra in (None, np.diag(fitting))]
        if prior is not None:
            known = cost_support(joint.model("a"), problem.regret(), scheme=Clusters())
            degrees = known.degrees
            assert 1 <= degrees < 17
    else:
        constant = problem.costs[sample.truth].T
        whole = replace(
            sample,
            names=("a", "b", "always 0", "always 1", "always 2"),
            losses=np.concatenate([sample.losses, constant]),
            unaided=3,
        )
        added = np.diag([*fitting, 0, 0, 0])
        pair = [loss_costs(whole, problem, fitting=extra) for extra in (None, added)]
    plain, wide = pair
    narrow, wider = plain.normalized("a"), wide.normalized("a")
    reach = fitting[0] * profile_threshold(0.95, degrees) / plain._span**2
    assert plain.choice.errors.degrees < 17
    assert wider.high - wider.value == pytest.approx(
        np.hypot(narrow.high - narrow.value, np.sqrt(reach)), rel=1e-9
    )


@pytest.mark.parametrize("decided", ["all right", "like the best constant decision"])
def test_a_ratio_of_0_or_1_keeps_cases_apart_that_cost_different_amounts_as_a_table_does(decided):
    """Their errors of the ratio are the same, namely none."""
    rng = np.random.default_rng(17)
    problem, truth = Problem([[0, 1], [9, 0]]), np.arange(17) % 3 // 2
    clusters = np.append(np.arange(8), rng.integers(0, 8, 9))
    codes = truth if decided == "all right" else np.ones(17, dtype=np.intp)
    joint = JointCounts.from_decisions(truth, {"a": codes}, problem, clusters=clusters)
    costs = problem.costs[truth]
    sample = LossSample(
        names=("a", "always 0", "always 1"),
        losses=np.stack([costs[np.arange(17), codes], *costs.T]),
        costliest=costs.max(axis=1),
        perfect=costs.min(axis=1),
        truth=truth,
        n_classes=2,
        prior=None,
        weights=None,
        whole=True,
        clusters=clusters,
        unaided=2,
    )
    ours, theirs = (
        costs.normalized("a")
        for costs in (loss_costs(sample, problem), system_costs(joint, problem))
    )
    assert ours.value == theirs.value == (0 if decided == "all right" else 1)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-5)


@pytest.mark.parametrize("clusters", [None, np.arange(300) // 10])
def test_a_ratio_allows_for_heavy_mistakes_that_were_not_seen(clusters):
    """Ten cases of a class with tenfold weights, or of one cluster, and not a mistake in them."""
    truth = (np.arange(300) < 10).astype(int)
    losses = np.where(truth == 0, np.arange(300) % 7 == 0, 0.0)
    weights = np.where(truth == 1, 10.0, 1.0) if clusters is None else np.ones(300)
    sample = LossSample(
        names=("a",),
        losses=losses[None],
        perfect=np.zeros(300),
        truth=truth,
        costliest=np.where(truth == 1, 20.0, 1.0),
        n_classes=2,
        prior=None,
        weights=weights,
        whole=clusters is not None,
        clusters=clusters,
    )
    blind = np.where(truth == 0, 1.0, 0.0)
    _, high = ratio_bounds(sample, losses, blind, 3.84)
    # One of them that is missed adds this much; the rule of three allows for about three of ten.
    missed = 20 * (10 if clusters is None else 1) / 290
    assert high > losses.sum() / 290 + (1.5 if clusters is None else 5) * missed


@pytest.mark.parametrize("prior", [None, [0.8, 0.2]])
def test_what_a_case_costs_whatever_is_decided_moves_no_difference_and_no_ratio(prior):
    sample, *_ = drawn(300, prior=prior)
    rng = np.random.default_rng(3)
    whatever = np.where(sample.truth == 1, 1000 * rng.lognormal(0, 1, 300), 0.0)
    parts = {name: vars(sample)[name] + whatever for name in ("losses", "costliest", "perfect")}
    moved = LossSample(**{**vars(sample), **parts})
    q = profile_threshold(0.95, np.asarray(np.inf))

    def ends(losses: LossSample):
        above, below = losses.loss("a") - losses.perfect, losses.costliest - losses.perfect
        ratio = ratio_bounds(losses, above, below, float(q))
        return (*profile_bounds(losses.difference_support("a", "b"), q), *ratio)

    np.testing.assert_allclose(ends(moved), ends(sample), rtol=1e-6)


@pytest.mark.parametrize("prior", [None, [0.8, 0.2]])
def test_constant_expressions_have_the_intervals_of_their_numbers(prior):
    """Also where a class costs something whatever is decided, and against a constant decision."""
    rng = np.random.default_rng(5)
    y = (rng.random(300) < 0.2).astype(int)
    wrong = rng.random((2, 300)) < [[0.1], [0.2]]
    models = {"a": Decisions(y ^ wrong[0]), "b": Decisions(y * ~wrong[1])}
    table = [[0, 2], [50, 20]]
    written = [[f"{cost} + 0*amount" for cost in row] for row in table]
    known = evaluate(y, models, Problem(table, prior=prior))
    report = evaluate(y, models, Problem(written, prior=prior), data={"amount": rng.random(300)})
    for system, other in zip(known.systems, report.systems, strict=True):
        assert ends_of(other.cost) == pytest.approx(ends_of(system.cost), rel=1e-6)
    saved, saves = known.verdict.saving_over_naive, report.verdict.saving_over_naive
    assert ends_of(saves) == pytest.approx(ends_of(saved), rel=1e-6)


def ends_of(interval):
    return interval.value, interval.low, interval.high


def test_a_class_in_one_cluster_leaves_errors_unknown():
    sample, *_ = drawn(60, clusters=5, prior=[0.5, 0.5])
    alone = np.where(sample.truth == 1, 0, sample.clusters)
    errors = LossSample(**{**vars(sample), "clusters": alone}).errors(None)
    assert errors.degrees == 0
    assert np.isnan(errors.covariance).all()


@pytest.mark.parametrize("n", [40, 3000])
def test_bins_keep_the_sum_and_nearly_all_of_the_variance(n):
    rng = np.random.default_rng(1)
    values = np.where(rng.random(n) < 0.7, 0.0, rng.lognormal(3, 1.5, n))
    weights = rng.random(n)
    means, counts = bins_of(values, weights)
    assert counts.sum() == pytest.approx(weights.sum())
    assert counts @ means == pytest.approx(weights @ values)
    spread = [np.average((v - weights @ values / weights.sum()) ** 2, weights=w)
              for v, w in ((means, counts), (values, weights))]  # fmt: skip
    assert spread[0] == pytest.approx(spread[1], rel=2e-3)
    assert means.max() == values.max()
    assert len(means) <= 512
    assert len(np.unique(bin_codes(np.zeros(n)))) == 1


def test_the_ends_of_a_ratio_are_where_its_test_changes():
    rng = np.random.default_rng(2)
    above, below = rng.lognormal(0, 0.5, 300), rng.lognormal(1, 0.5, 300)
    sample = LossSample(**{**vars(drawn(300)[0]), "costliest": above})
    q = float(profile_threshold(0.95, np.asarray(np.inf)))
    low, high = ratio_bounds(sample, above, below, q)
    value = above.mean() / below.mean()
    assert low < value < high
    # the plain Wald interval of a ratio is near by
    error = np.std(above - value * below) / below.mean() / np.sqrt(300)
    assert (low, high) == pytest.approx((value - 1.96 * error, value + 1.96 * error), rel=0.25)
    assert ratio_bounds(sample, above, 0 * below, q) == pytest.approx((np.nan, np.nan), nan_ok=True)


def test_cases_that_come_in_fours_make_a_ratio_no_surer():
    rng = np.random.default_rng(3)
    above, below = rng.lognormal(0, 0.5, 300), rng.lognormal(1, 0.5, 300)
    single = vars(drawn(300)[0])
    fourfold = {
        name: np.repeat(part, 4, axis=-1)
        for name, part in single.items()
        if isinstance(part, np.ndarray) and part.shape[-1] == 300
    }
    clusters = np.repeat(np.arange(300), 4)
    once = LossSample(**{**single, "costliest": above})
    four = {**single, **fourfold, "costliest": np.repeat(above, 4), "clusters": clusters}
    q = float(profile_threshold(0.95, np.asarray(np.inf)))
    alone = ratio_bounds(once, above, below, q)
    together = ratio_bounds(LossSample(**four), np.repeat(above, 4), np.repeat(below, 4), q)
    assert together == pytest.approx(alone, rel=0.01)


def test_known_costs_beside_the_decisions_move_differences_and_nothing_else():
    _, joint, problem, _ = drawn(400)
    plain = contenders(joint, problem, level=0.95)
    added = contenders(joint, problem, level=0.95, added=np.array([1.5, 1.5]))
    np.testing.assert_allclose(added.costs, plain.costs + 1.5)
    np.testing.assert_allclose(added.low, plain.low, rtol=1e-6, atol=1e-9)
    gap = plain.costs[1] - plain.costs[0]
    turned = contenders(joint, problem, level=0.95, added=np.array([gap, 0.0]) * 2)
    assert turned.cheapest != plain.cheapest
    np.testing.assert_allclose(turned.differences.max(), abs(gap))


def test_a_mistake_that_no_case_shows_is_inside_the_interval():
    sample, *_ = drawn(200)
    nothing = LossSample(**{**vars(sample), "losses": 0 * sample.losses})
    threshold = profile_threshold(0.95, np.asarray(np.inf))
    low, high = profile_bounds(nothing.cost_support("a"), threshold)
    assert low == 0
    assert 1 < high < 3 / 200 * 2 * 180


@pytest.mark.parametrize("size", [600, 5000, 300_000])
def test_outer_losses_are_found_as_if_all_were_in_order(size):
    """Ties, most values equal, a sample that misses all of the small ones, sorted values."""
    rng = np.random.default_rng(size)
    rare = np.where(rng.random(size) < 70 / size, -rng.random(size), 1.0)
    columns = (
        rng.lognormal(0, 2, size),
        rng.integers(0, 4, size) * 1.0,
        rare,
        np.arange(size) * 1.0,
    )
    for values in columns:
        for place in (0, 64):
            assert value_at_rank(values, place) == np.sort(values)[place]


@pytest.mark.parametrize("clusters", [None, 12])
@pytest.mark.parametrize("weights", ["", "whole", "fractional"])
def test_equal_cases_may_stand_as_one_with_the_weight_of_all(weights, clusters):
    """Errors, likelihoods and ratios of groups of equal cases are those of the cases."""
    sample, *_ = drawn(700, weights=weights, clusters=clusters, prior=[0.8, 0.2])
    rng = np.random.default_rng(3)
    extra = rng.random(700)  # too many losses for a bin each
    single = LossSample(**{**vars(sample), "losses": sample.losses + extra,
                           "costliest": sample.costliest + extra})  # fmt: skip
    times = rng.integers(1, 4, 700)
    repeated = single.only(np.repeat(np.arange(700), times))
    each = np.ones(700) if single.weights is None else single.weights
    pooled = LossSample(
        **{
            **vars(single),
            "weights": each * times,
            "squared": each**2 * times,
            "repeats": times.astype(float),
        }
    )
    mine, yours = pooled.errors(None), repeated.errors(None)
    assert mine.costs == pytest.approx(yours.costs, rel=1e-12)
    assert mine.covariance == pytest.approx(yours.covariance, rel=1e-10)
    for make in (
        lambda losses: losses.cost_support("a"),
        lambda losses: losses.difference_support("a", "b"),
    ):
        supports = [make(losses) for losses in (pooled, repeated)]
        q = profile_threshold(0.95, supports[0].degrees)
        ends = [np.ravel(profile_bounds(support, q, np.nan, 0.0)) for support in supports]
        assert ends[0] == pytest.approx(ends[1], rel=1e-9)
    ratios = [
        ratio_bounds(losses, losses.loss("a"), losses.loss("b"), 3.84)
        for losses in (pooled, repeated)
    ]
    assert ratios[0] == pytest.approx(ratios[1], rel=1e-6)


@pytest.mark.parametrize("root", [0.6, 3.0, 4.9, 5.0, 100.0])
def test_the_end_of_a_search_lies_beyond_the_root(root):
    assert _beyond_root(lambda x: root - x, 0.5) >= root


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_loss_that_was_seen_once_is_possible_whatever_the_bounds_say(sign):
    values, truth = sign * np.array([0.0, 2.0, 0.0]), np.zeros(3, dtype=np.intp)
    most = np.zeros(3)
    sample = LossSample(("a",), values[None], most, most, truth, 1, None, None, True, None)
    support = sample._support(values, np.zeros(1), 0.0, (values, values))
    assert (support.lowest.item(), support.highest.item()) == (min(0, 2 * sign), max(0, 2 * sign))


def test_a_new_case_may_cost_a_system_more_than_any_seen_unless_it_needs_no_predictions():
    losses, truth, most = np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros(2, np.intp), np.full(2, 9.0)
    parts = (("m", "always"), losses, most, 0 * most, truth, 1, None, None, True, None)
    predicted, known = LossSample(*parts), LossSample(*parts, unaided=1)
    assert predicted.difference_support("m", "always").lowest.tolist() == [-9.0]
    assert known.difference_support("m", "always").lowest.tolist() == [-1.0]
