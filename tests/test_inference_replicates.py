"""Replicates of tallies: what they keep, what they vary, and what they refuse."""

from __future__ import annotations

import sys
import tracemalloc
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
    Clusters,
    PoissonWeights,
    WithinClasses,
    bootstrap,
    bootstrap_bca,
    bootstrap_problems,
    bootstrap_t,
    compare_costs,
    compare_problems,
    delta_compare_costs,
    each,
    expected_cost_error,
    jackknife,
    pooled_runs,
    resample,
    scheme_of,
)
from stakes.inference.schemes import _without_strays
from stakes.measures import decision_rates
from stakes.ranking import auc, auc_of_hull, equal_error_rate
from stakes.scoring import brier
from stakes.tally import CellTally, JointScores

PROBLEM = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"], decisions=["a", "b", "c"])
STATED = PROBLEM.with_prior([0.9, 0.1])


def cells_of(tally: Any) -> Any:
    """All the sums of a tally, (…, C)."""
    if isinstance(tally, CellTally):
        return tally.cell_weights
    about_zero = tally.sums[..., :, None] * np.nan_to_num(tally.means)[..., None, :]
    parts = (tally.weight, tally.sums, tally.scatter + about_zero)
    return np.concatenate([part.reshape(*tally.leading, -1) for part in parts], axis=-1)


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Classes, decisions of two models and tied scores of n cases, in no order."""
    rng = generator(seed)
    y = (rng.random(n) < 0.3).astype(int)
    decided = rng.integers(0, 3, (n, 2))
    return y, decided, np.round(rng.normal(y, 1), 1)


def tallies(n: int = 60, seed: int = 1) -> dict[str, Any]:
    y, decided, score = rows(n, seed)
    labels = np.array(PROBLEM.classes)[y]
    names = np.array(PROBLEM.decisions)[decided]
    return {
        "counts": Counts.from_decisions(labels, names[:, 0], PROBLEM),
        "joint": JointCounts.from_decisions(labels, {"m": names[:, 0], "n": names[:, 1]}, PROBLEM),
        "scores": ScoreTable.from_scores(y, score),
        "paired scores": JointScores.from_scores(y, {"m": score, "n": decided[:, 0]}),
    }


KINDS = sorted(tallies())


@pytest.mark.parametrize("kind", KINDS)
def test_a_replicate_of_all_cases_keeps_their_number_and_fills_no_empty_cell(kind):
    tally = tallies()[kind]
    drawn = resample(tally, AllCases(), replicates=50, rng=generator())
    cells = cells_of(drawn)
    assert cells.shape == (50, *cells_of(tally).shape)
    assert (cells.sum(axis=-1) == 60).all()
    assert (cells[:, cells_of(tally) == 0] == 0).all()
    assert (cells == np.floor(cells)).all()
    assert len(np.unique(cells, axis=0)) > 40


@pytest.mark.parametrize("kind", KINDS)
def test_a_replicate_within_classes_keeps_the_size_of_every_class(kind):
    tally = tallies()[kind]
    drawn = resample(tally, WithinClasses(), replicates=50, rng=generator())
    assert (sizes_of(drawn) == np.bincount(rows(60, 1)[0])).all()
    assert (cells_of(drawn)[:, cells_of(tally) == 0] == 0).all()
    assert len(np.unique(cells_of(drawn), axis=0)) > 40


def sizes_of(tally: Any) -> np.ndarray:
    """Cases of each class, (…, 2), as each tally keeps them."""
    if isinstance(tally, Counts):
        return tally.values.sum(axis=-1)
    if isinstance(tally, ScoreTable):
        return tally.weights.sum(axis=-2)
    return np.stack([tally.weights[..., tally.cells[:, 0] == k].sum(-1) for k in (0, 1)], axis=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_cells_stand_class_after_class(kind):
    tally = tallies()[kind]
    owner = tally.cell_classes
    assert (np.diff(owner) >= 0).all()
    sums = [cells_of(tally)[owner == k].sum() for k in (0, 1)]
    assert sums == sizes_of(tally).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_replicates_have_the_moments_of_the_multinomial(kind):
    cells = cells_of(tallies()[kind])
    drawn = cells_of(resample(tallies()[kind], AllCases(), replicates=20_000, rng=generator()))
    spread = np.diag(cells) - np.outer(cells, cells) / cells.sum()
    error = np.sqrt(np.diag(spread) / 20_000)
    assert (np.abs(drawn.mean(axis=0) - cells) <= 5 * error).all()
    assert np.abs(np.cov(drawn, rowvar=False) - spread).max() <= 0.15 * cells.max()


def test_many_cases_in_few_cells_and_few_cases_in_many_are_drawn_alike():
    """Two ways of drawing, chosen by size, must be one distribution."""
    many, few = Counts([[6000.0, 3000.0, 1000.0]]), Counts([[6.0, 3.0, 1.0]])
    for counts, n in ((many, 10_000), (few, 10)):
        drawn = resample(counts, AllCases(), replicates=20_000, rng=generator()).values[:, 0]
        p = np.array([0.6, 0.3, 0.1])
        assert np.abs(drawn.mean(axis=0) / n - p).max() < 5 * np.sqrt(0.24 / n / 20_000)
        np.testing.assert_allclose(drawn.var(axis=0) / n, p * (1 - p), rtol=0.05)


def test_leading_axes_are_resampled_each_with_its_own_size():
    counts = Counts([[[5, 0, 2], [1, 1, 0]], [[50, 7, 0], [0, 0, 0]]])
    drawn = resample(counts, AllCases(), replicates=200, rng=generator()).values
    assert drawn.shape == (200, 2, 2, 3)
    assert (drawn.sum(axis=(-2, -1)) == [9, 57]).all()
    assert (drawn[:, counts.values == 0] == 0).all()
    within = resample(counts, WithinClasses(), replicates=200, rng=generator()).values
    assert (within.sum(axis=-1) == counts.values.sum(axis=-1)).all()


@pytest.mark.parametrize("scheme", [AllCases(), WithinClasses()])
def test_groups_of_mostly_empty_cells_are_drawn_as_each_group_alone(scheme):
    """Twenty cases of a group in sixty cells: what `by=` makes of continuous scores."""
    y, _, _ = rows(60, 1)
    score, group = generator(2).permutation(60), np.arange(60) % 3
    table = ScoreTable.from_scores(y, score, by=group)
    drawn = resample(table, scheme, replicates=20_000, rng=generator()).weights
    assert (drawn[:, table.weights == 0] == 0).all()
    axes = (-2, -1) if scheme == AllCases() else -2
    assert (drawn.sum(axis=axes) == table.weights.sum(axis=axes)).all()
    for k in (0, 1):
        occupied = table.weights[..., k] > 0
        total = 20 if scheme == AllCases() else table.weights[..., k].sum(axis=-1)
        share = np.broadcast_to(1 / np.asarray(total)[..., None], occupied.shape)[occupied]
        values = drawn[..., k][:, occupied]
        assert (np.abs(values.mean(axis=0) - 1) < 5 / np.sqrt(20_000)).all()
        np.testing.assert_allclose(values.var(axis=0), 1 - share, atol=0.06)


def test_what_rounding_leaves_over_never_lands_in_an_empty_cell():
    shares = np.array([0.1] * 3 + [0.0])
    cells = np.broadcast_to(shares * 10_000_000_000_000 / 3, (2, 4)).round()
    drawn = cells_of(resample(Counts(cells[:, None]), AllCases(), replicates=500, rng=generator()))
    assert (drawn[..., -1] == 0).all()
    assert (drawn.sum(axis=-1) == cells.sum(axis=-1)).all()
    weights, counts = np.array([[3.0, 5.0, 0.0]]), np.array([[[2.0, 5.0, 1.0]], [[4.0, 4.0, 0.0]]])
    assert _without_strays(counts, weights).tolist() == [[[2, 6, 0]], [[4, 4, 0]]]


@pytest.mark.parametrize("kind", KINDS)
def test_poisson_replicates_vary_cell_by_cell(kind):
    cells = cells_of(tallies()[kind])
    drawn = cells_of(resample(tallies()[kind], PoissonWeights(), replicates=4000, rng=generator()))
    assert (np.abs(drawn.mean(axis=0) - cells) <= 5 * np.sqrt(cells / 4000)).all()
    np.testing.assert_allclose(drawn.var(axis=0), cells, atol=0.2, rtol=0.2)


def test_poisson_replicates_of_the_chunks_of_a_stream_add_up():
    y, decided, _ = rows(4000, 3)
    labels, names = np.array(PROBLEM.classes)[y], np.array(PROBLEM.decisions)[decided[:, 0]]
    rng = generator()
    running: Any = None
    for chunk in np.split(np.arange(4000), 8):
        part = Counts.from_decisions(labels[chunk], names[chunk], PROBLEM)
        drawn = resample(part, PoissonWeights(), replicates=2000, rng=rng)
        running = drawn if running is None else running + drawn
    whole = Counts.from_decisions(labels, names, PROBLEM)
    error = np.std(expected_cost(running, PROBLEM), ddof=1)
    assert error == pytest.approx(float(expected_cost_error(whole, PROBLEM)), rel=0.1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_bayesian_bootstrap_draws_shares_from_a_dirichlet(kind):
    cells = cells_of(tallies()[kind])
    drawn = cells_of(
        resample(tallies()[kind], BayesianBootstrap(), replicates=4000, rng=generator())
    )
    np.testing.assert_allclose(drawn.sum(axis=-1), cells.sum())
    share = cells / cells.sum()
    spread = share * (1 - share) / (cells.sum() + 1)
    assert (np.abs(drawn.mean(axis=0) / 60 - share) <= 5 * np.sqrt(spread / 4000)).all()
    np.testing.assert_allclose((drawn / 60).var(axis=0), spread, atol=2e-4, rtol=0.2)
    assert (drawn[:, cells == 0] == 0).all()


# Clusters ----------------------------------------------------------------------------------------


def unit_tallies() -> dict[str, Any]:
    y, decided, score = rows(200, 4)
    unit = generator(5).integers(0, 30, 200)
    weights = generator(6).random(200)
    labels, names = np.array(PROBLEM.classes)[y], np.array(PROBLEM.decisions)[decided]
    both = {"m": names[:, 0], "n": names[:, 1]}
    return {
        "counts": Counts.from_decisions(labels, names[:, 0], PROBLEM, by=unit, weights=weights),
        "joint": JointCounts.from_decisions(labels, both, PROBLEM, by=unit, weights=weights),
        "scores": ScoreTable.from_scores(y, score, by=unit, weights=weights),
        "moments": LossMoments.from_losses(y, decided, by=unit, weights=weights),
    }


@pytest.mark.parametrize("kind", sorted(unit_tallies()))
def test_clusters_are_resampled_whole_whatever_their_weights(kind):
    tally = unit_tallies()[kind]
    rows_ = cells_of(tally)
    whole = cells_of(Clusters().whole(tally))
    np.testing.assert_allclose(whole, rows_.sum(axis=0))
    drawn = cells_of(resample(tally, Clusters(), replicates=40, rng=generator()))
    assert drawn.shape == (40, rows_.shape[1])
    chosen = generator().integers(0, len(rows_), (40, len(rows_)))  # as many units as there are
    twin = [sum(rows_[unit] for unit in units) for units in chosen]
    np.testing.assert_allclose(drawn, twin)


def test_the_spread_over_clusters_is_that_of_cluster_totals():
    y = np.repeat([0, 0, 1, 1], 25)
    unit = np.repeat(np.arange(20), 5)
    decided = np.where(unit % 4 == 0, 1 - y, y)  # whole units go wrong together
    counts = Counts.from_decisions(y, decided, Problem.zero_one(2), by=unit)
    estimate = bootstrap(
        lambda c: expected_cost(c, Problem.zero_one(2)),
        counts,
        replicates=20_000,
        rng=generator(),
        scheme=Clusters(),
    )
    assert float(estimate.value) == pytest.approx(0.25)
    assert float(estimate.standard_error) == pytest.approx(np.sqrt(0.25 * 0.75 / 20), rel=0.03)


def test_clusters_need_a_leading_axis():
    with pytest.raises(
        InputError, match=r"at least two clusters; its leading axes are \(\).*clusters="
    ):
        resample(Counts([[3, 1], [1, 4]]), Clusters(), replicates=5, rng=generator())


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", [AllCases(), WithinClasses(), PoissonWeights()])
def test_fractional_weights_are_refused_with_the_ways_out(scheme):
    half = Counts([[3, 0.5], [1, 4]])
    with pytest.raises(InputError, match=r"1 of its 4 weights are fractional.*clusters="):
        resample(half, scheme, replicates=5, rng=generator())
    resample(half, BayesianBootstrap(), replicates=5, rng=generator())


def test_a_reweighted_tally_is_refused_and_the_measure_reweights_instead():
    counts = Counts([[30, 10], [5, 15]])
    zero_one = Problem.zero_one(2)
    with pytest.raises(InputError, match="call with_prior inside the measure"):
        bootstrap(
            lambda c: expected_cost(c, zero_one),
            counts.with_prior([0.9, 0.1]),
            replicates=9,
            rng=generator(),
        )
    inside = bootstrap(
        lambda c: expected_cost(c.with_prior([0.9, 0.1]), zero_one),
        counts,
        replicates=400,
        rng=generator(),
    )
    stated = bootstrap(
        lambda c: expected_cost(c, zero_one.with_prior([0.9, 0.1])),
        counts,
        replicates=400,
        rng=generator(),
    )
    np.testing.assert_allclose(inside.replicates, stated.replicates)


def test_moments_hold_no_cases_and_are_refused_without_clusters():
    moments = LossMoments.from_losses([0, 1], [[1.0], [2.0]])
    with pytest.raises(InputError, match="LossMoments hold sums of losses"):
        resample(moments, AllCases(), replicates=5, rng=generator())


@pytest.mark.parametrize("replicates", [1, 2.5, "many"])
def test_a_strange_number_of_replicates_is_refused(replicates):
    with pytest.raises(InputError, match="replicates"):
        resample(Counts([[1, 2]]), AllCases(), replicates=replicates, rng=generator())


def test_a_measure_that_drops_leading_axes_is_refused_and_each_repairs_it():
    table = ScoreTable.from_scores(*[rows(60, 1)[i] for i in (0, 2)])
    for dropping in (lambda t: np.ones(()), lambda t: np.ones(3)):
        with pytest.raises(InputError, match=r"carry leading axes.*each\(measure\)"):
            bootstrap(dropping, table, replicates=5, rng=generator())
    looped = bootstrap(each(auc), table, replicates=50, rng=generator())
    at_once = bootstrap(auc, table, replicates=50, rng=generator())
    np.testing.assert_allclose(looped.replicates, at_once.replicates)
    assert (bootstrap(auc_of_hull, table, replicates=20, rng=generator()).replicates > 0).all()


@pytest.mark.parametrize("value", [None, "x", {"a": 1}, [1, [2, 3]], 1j])
def test_a_measure_that_gives_no_numbers_is_refused(value):
    with pytest.raises(InputError, match="measure must give a number or an array of numbers"):
        bootstrap(lambda c: value, Counts([[3, 1]]), replicates=5, rng=generator())


def test_a_looped_measure_of_many_shapes_is_refused():
    sizes = iter(range(1, 100))
    with pytest.raises(InputError, match="one shape for every tally"):
        bootstrap(
            each(lambda c: np.ones(next(sizes))), Counts([[3, 1]]), replicates=5, rng=generator()
        )


def test_a_standard_error_of_another_shape_than_the_measure_is_refused():
    with pytest.raises(InputError, match="measure and standard_error must give one shape"):
        bootstrap_t(
            lambda c: c.n_cases,
            lambda c: c.shares,
            Counts([[3, 1], [2, 2]]),
            replicates=5,
            rng=generator(),
        )


def resampling() -> dict[str, Any]:
    """Everything that takes a scheme and a generator, by what it does with a tally."""
    cost = lambda c: expected_cost(c, Problem.zero_one(2))  # noqa: E731
    return {
        "bootstrap": lambda t, **how: bootstrap(cost, t, replicates=5, **how),
        "bootstrap_bca": lambda t, **how: bootstrap_bca(cost, t, replicates=5, **how),
        "bootstrap_t": lambda t, **how: bootstrap_t(cost, cost, t, replicates=5, **how),
        "replicates": lambda t, scheme, rng: resample(t, scheme, replicates=5, rng=rng),
        "jackknife": lambda t, **how: jackknife(cost, t, **how),
        "problems": lambda t, **how: bootstrap_problems(
            expected_cost, t, [Problem.zero_one(2)], replicates=5, **how
        ),
    }


@pytest.mark.parametrize("act", sorted(resampling()))
def test_a_seed_a_class_of_schemes_and_rows_are_refused(act):
    make, counts = resampling()[act], Counts([[3, 1], [2, 2]])
    for seed in (7, None, np.random.RandomState(7)):
        number = seed if isinstance(seed, int) else 0
        wanted = rf"rng must be a numpy Generator.*Write rng=np.random.default_rng\({number}\)"
        with pytest.raises(InputError, match=wanted):
            make(counts, scheme=AllCases(), rng=seed)
    with pytest.raises(
        InputError, match=r"got the class AllCases\. Pass one, such as AllCases\(\)"
    ):
        make(counts, scheme=AllCases, rng=generator())
    with pytest.raises(InputError, match="scheme must be a scheme; got 'all'"):
        make(counts, scheme="all", rng=generator())
    for rows_ in ([0, 1, 1], np.ones((2, 2))):
        for scheme in (AllCases(), Clusters()):
            with pytest.raises(InputError, match=r"tally must be Counts.*Tally the rows first"):
                make(rows_, scheme=scheme, rng=generator())


def test_leaving_out_cases_of_fractional_weight_is_refused_with_another_way_out():
    half = Counts([[3, 0.5], [1, 4]])
    cost = lambda c: expected_cost(c, Problem.zero_one(2))  # noqa: E731
    with pytest.raises(InputError, match=r"as BCa.*scheme=BayesianBootstrap\(\)\), or make"):
        bootstrap_bca(cost, half, replicates=9, rng=generator(), scheme=BayesianBootstrap())
    whole = bootstrap_bca(
        cost,
        Counts([[30, 5], [10, 40]]),
        replicates=99,
        rng=generator(),
        scheme=BayesianBootstrap(),
    )
    assert np.isfinite(whole.interval(0.9).low)


# The bootstrap -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scheme", [AllCases(), WithinClasses(), PoissonWeights(), BayesianBootstrap()]
)
def test_one_case_does_not_tell_how_cases_vary(scheme):
    cost = lambda c: expected_cost(c, Problem.zero_one(2))  # noqa: E731
    estimate = bootstrap(
        cost, Counts([[0, 1], [0, 0]]), replicates=20, rng=generator(), scheme=scheme
    )
    assert float(estimate.value) == 1.0
    assert np.isnan(estimate.standard_error)
    assert np.isnan(estimate.interval(0.9).low)
    assert int(estimate.n_undefined) == 20
    groups = Counts([[[0, 1], [0, 0]], [[3, 1], [2, 2]]])
    both = bootstrap(cost, groups, replicates=20, rng=generator(), scheme=scheme)
    assert np.isnan(both.standard_error).tolist() == [True, False]


def test_scheme_of_a_problem_resamples_within_classes_when_a_prior_is_stated():
    counts = Counts([[8, 2, 1], [1, 1, 2]])
    assert scheme_of(counts) == scheme_of(counts, PROBLEM) == AllCases()
    assert scheme_of(counts, STATED) == WithinClasses()
    how: dict[str, Any] = {"replicates": 50, "rng": generator()}
    for problem, words in ((PROBLEM, "of all cases"), (STATED, "within classes")):
        assert bootstrap(expected_cost, counts, problem, **how).method.endswith(words)
    first = bootstrap(expected_cost, counts, STATED, replicates=50, rng=generator())
    by_hand = bootstrap(
        lambda c: expected_cost(c, STATED),
        counts,
        replicates=50,
        rng=generator(),
        scheme=WithinClasses(),
    )
    np.testing.assert_array_equal(first.replicates, by_hand.replicates)


def test_tallies_that_were_read_with_clusters_are_resampled_cluster_by_cluster():
    y, decided, _ = rows(60, 2)
    labels, names = np.array(PROBLEM.classes)[y], np.array(PROBLEM.decisions)[decided[:, 0]]
    cluster = np.arange(60) // 7
    counts = Counts.from_decisions(labels, names, PROBLEM, clusters=cluster)
    slices = Counts.from_decisions(labels, names, PROBLEM, by=cluster)
    assert counts == slices
    assert scheme_of(counts, STATED) == Clusters()
    assert scheme_of(slices, STATED) == WithinClasses()
    estimate = bootstrap(expected_cost, counts, PROBLEM, replicates=50, rng=generator())
    told = bootstrap(
        expected_cost, slices, PROBLEM, replicates=50, rng=generator(), scheme=Clusters()
    )
    np.testing.assert_array_equal(estimate.replicates, told.replicates)
    assert estimate.value.shape == ()
    with pytest.raises(InputError, match="by and clusters cannot both be the leading axis"):
        Counts.from_decisions(labels, names, PROBLEM, clusters=cluster, by=cluster)
    with pytest.raises(InputError, match="clusters must hold a label for every case; 1 of 60"):
        Counts.from_decisions(labels, names, PROBLEM, clusters=[None, *cluster[1:]])


def test_replicates_of_tables_are_replicates_of_rows():
    """The slow twin draws rows with replacement and counts them again."""
    y, decided, _ = rows(80, 9)
    labels, names = np.array(PROBLEM.classes)[y], np.array(PROBLEM.decisions)[decided[:, 0]]
    counts = Counts.from_decisions(labels, names, PROBLEM)
    estimate = bootstrap(
        lambda c: expected_cost(c, PROBLEM), counts, replicates=4000, rng=generator()
    )
    rng = generator(1)
    twin = []
    for _ in range(2000):
        i = rng.integers(0, 80, 80)
        twin.append(float(PROBLEM.costs[y[i], decided[i, 0]].mean()))
    assert np.mean(estimate.replicates) == pytest.approx(
        float(np.mean(twin)), abs=5 * float(np.std(twin)) / 40
    )
    for share in (0.05, 0.25, 0.5, 0.75, 0.95):
        low, high = np.quantile(twin, [max(share - 0.04, 0), min(share + 0.04, 1)])
        assert low <= np.quantile(estimate.replicates, share) <= high


@pytest.mark.parametrize(
    "scheme", [AllCases(), WithinClasses(), PoissonWeights(), BayesianBootstrap()]
)
@pytest.mark.parametrize("kind", KINDS)
def test_results_do_not_depend_on_the_order_of_rows(kind, scheme):
    y, decided, score = rows(60, 1)
    order = generator(3).permutation(60)
    labels, names = np.array(PROBLEM.classes)[y], np.array(PROBLEM.decisions)[decided]
    shuffled: dict[str, Any] = {
        "counts": Counts.from_decisions(labels[order], names[order, 0], PROBLEM),
        "joint": JointCounts.from_decisions(
            labels[order], {"m": names[order, 0], "n": names[order, 1]}, PROBLEM
        ),
        "scores": ScoreTable.from_scores(y[order], score[order]),
        "paired scores": JointScores.from_scores(
            y[order], {"m": score[order], "n": decided[order, 0]}
        ),
    }
    assert shuffled[kind] == tallies()[kind]
    first, second = (
        bootstrap(
            lambda t: cells_of(t)[..., :4], tally, replicates=30, rng=generator(), scheme=scheme
        )
        for tally in (tallies()[kind], shuffled[kind])
    )
    assert first == second
    assert first.replicates.std() > 0


def test_the_same_generator_gives_the_same_numbers_everywhere():
    """Golden: numpy 1.26.0 and 2.4.6 on Linux x86-64, PCG64 with seed 7."""
    counts = Counts([[2680, 72], [23, 28]])
    table = ScoreTable([1, 2, 3, 4], [[3, 0], [1, 2], [2, 1], [0, 4]])
    cost = lambda c: normalized_cost(c, Problem.binary(false_alarm=1, miss=20))  # noqa: E731
    area = lambda j: auc(j.table("m"))  # noqa: E731
    units = Counts([[[8, 2], [1, 3]], [[5, 0], [2, 2]], [[9, 1], [0, 4]], [[3, 3], [1, 1]]])
    sparse = JointScores.from_scores(
        [0, 1] * 10, {"m": [(7 * k) % 11 for k in range(20)]}, clusters=[k % 6 for k in range(20)]
    )
    stack = Counts([[[2680, 72], [23, 28]], [[90, 10], [3, 7]]])
    compared = delta_compare_costs(tallies()["joint"], PROBLEM)
    results = {
        "cases": bootstrap(cost, counts, replicates=100, rng=generator()),
        "classes": bootstrap(cost, counts, replicates=100, rng=generator(), scheme=WithinClasses()),
        "few": bootstrap(auc, table, replicates=100, rng=generator()),
        "poisson": bootstrap(auc, table, replicates=100, rng=generator(), scheme=PoissonWeights()),
        "bayes": bootstrap(auc, table, replicates=100, rng=generator(), scheme=BayesianBootstrap()),
        "units": bootstrap(cost, units, replicates=100, rng=generator(), scheme=Clusters()),
        "many units": bootstrap(area, sparse, replicates=100, rng=generator(), scheme=Clusters()),
        "tables": bootstrap(cost, stack, replicates=100, rng=generator()),
        "normal": compared.drawn(replicates=100, rng=generator()).estimate("n"),
    }
    sums = {name: float(np.nansum(estimate.replicates)) for name, estimate in results.items()}
    assert sums == pytest.approx(GOLDEN, rel=1e-12)


GOLDEN = {
    "cases": 52.65001249276007,
    "classes": 52.09901960784313,
    "few": 85.70698051948052,
    "poisson": 82.9810987425273,
    "bayes": 84.4376189914978,
    "units": 283.0602560292287,
    "many units": 53.162114223311704,
    "tables": 123.76700527464821,
    "normal": 2340.942034952621,
}


def test_blocks_do_not_change_the_numbers(monkeypatch):
    table = tallies()["scores"]
    whole = bootstrap(auc, table, replicates=64, rng=generator())
    module = sys.modules["stakes.inference.comparison"]
    monkeypatch.setattr(module, "_BLOCK", cells_of(table).size * 5)
    assert bootstrap(auc, table, replicates=64, rng=generator()) == whole


def test_memory_stays_flat_in_the_number_of_replicates():
    n = 20_000
    table = ScoreTable(np.arange(n), np.stack([np.ones(n), np.arange(n) % 2], axis=1))
    peaks = []
    for replicates in (20, 100):
        tracemalloc.start()
        bootstrap(auc, table, replicates=replicates, rng=generator())
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def test_groups_are_estimated_side_by_side():
    y, decided, _ = rows(600, 2)
    labels, names = np.array(PROBLEM.classes)[y], np.array(PROBLEM.decisions)[decided[:, 0]]
    group = np.array(["north", "south", "west"])[generator(8).integers(0, 3, 600)]
    counts = Counts.from_decisions(labels, names, PROBLEM, by=group)
    estimate = bootstrap(
        expected_cost,
        counts,
        STATED,
        replicates=3000,
        rng=generator(),
    )
    assert estimate.value.shape == (3,)
    np.testing.assert_allclose(
        estimate.standard_error, expected_cost_error(counts, STATED), rtol=0.08
    )


def test_a_measure_may_have_axes_of_its_own():
    estimate = bootstrap(
        lambda c: c.shares, Counts([[8, 2, 1], [1, 1, 2]]), replicates=100, rng=generator()
    )
    assert estimate.value.shape == (2,)
    assert estimate.replicates.shape == (100, 2)
    np.testing.assert_allclose(estimate.replicates.sum(axis=-1), 1)


def test_replicates_that_lose_a_class_are_counted_shown_and_left_out():
    table = ScoreTable.from_scores([0] * 40 + [1] * 2, list(range(42)))
    estimate = bootstrap(auc, table, replicates=2000, rng=generator())
    expected = 2000 * (1 - 2 / 42) ** 42  # no positive case among 42 draws
    assert int(estimate.n_undefined) == pytest.approx(expected, abs=5 * np.sqrt(expected))
    assert f"{int(estimate.n_undefined)} of them undefined" in str(estimate)
    assert np.isfinite(estimate.interval(0.95).low)
    within = bootstrap(auc, table, replicates=200, rng=generator(), scheme=WithinClasses())
    assert int(within.n_undefined) == 0


def test_brier_scores_are_resampled_from_the_table():
    y, _, score = rows(400, 6)
    table = ScoreTable.from_scores(y, np.round(1 / (1 + np.exp(-score)), 2))
    estimate = bootstrap(brier, table, replicates=4000, rng=generator())
    losses = (np.round(1 / (1 + np.exp(-score)), 2) - y) ** 2
    assert float(estimate.value) == pytest.approx(losses.mean())
    assert float(estimate.standard_error) == pytest.approx(losses.std(ddof=1) / 20, rel=0.05)


def test_the_studentised_bootstrap_keeps_the_formula_for_its_standard_error():
    counts = Counts([[80, 15, 5], [6, 9, 25]])
    estimate = bootstrap_t(
        lambda c: expected_cost(c, PROBLEM.with_prior(None)),
        lambda c: expected_cost_error(c, PROBLEM),
        counts,
        replicates=500,
        rng=generator(),
    )
    assert float(estimate.standard_error) == float(expected_cost_error(counts, PROBLEM))
    ends = estimate.interval(0.9)
    assert ends.low < estimate.value < ends.high


@given(st.integers(0, 2**32), st.integers(2, 30))
def test_every_bootstrap_value_is_the_measure_of_the_whole_tally(seed, n):
    _, decided, _ = rows(n, seed)
    counts = Counts.from_labels(decided[:, 0], decided[:, 1], labels=[0, 1, 2])
    zero_one = Problem.zero_one(3)
    for make in (bootstrap, bootstrap_bca):
        estimate = make(
            lambda c: expected_cost(c, zero_one), counts, replicates=10, rng=generator(seed)
        )
        assert float(estimate.value) == pytest.approx(
            float(np.mean(decided[:, 0] != decided[:, 1]))
        )
        assert estimate.replicates.shape == (10,)


def test_cells_come_back_as_the_tally_they_were():
    for tally in (*tallies().values(), *unit_tallies().values()):
        if not isinstance(tally, CellTally):
            continue
        back = tally.with_cell_weights(np.array(cells_of(tally)))
        assert np.array_equal(cells_of(back), cells_of(tally))
        assert type(back) is type(tally)


# Fewer scores ------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.integers(1, 40))
def test_pooled_runs_leave_the_roc_curve_of_every_replicate_as_it_is(seed, levels):
    rng = generator(seed)
    y = rng.integers(0, 2, 40)
    table = ScoreTable.from_scores(y, rng.integers(0, levels, 40))
    pooled = pooled_runs(table)
    assert pooled.n_cases == table.n_cases
    assert set(pooled.scores) <= set(table.scores)
    drawn = resample(table, AllCases(), replicates=20, rng=rng)
    same = ScoreTable(
        pooled.scores,
        np.add.reduceat(
            drawn.weights,
            np.searchsorted(pooled.scores, table.scores).searchsorted(
                np.arange(pooled.scores.size)
            ),
            axis=-2,
        ),
    )
    for measure in (auc, auc_of_hull, equal_error_rate):
        np.testing.assert_allclose(measure(same), measure(drawn), atol=1e-12)
        np.testing.assert_allclose(measure(pooled), measure(table), atol=1e-12)


def test_runs_are_pooled_where_all_groups_agree():
    table = ScoreTable(
        [1, 2, 3, 4], [[[1, 0], [2, 0], [0, 0], [0, 1]], [[1, 0], [0, 0], [1, 1], [0, 2]]]
    )
    pooled = pooled_runs(table)
    assert pooled.scores.tolist() == [2, 3, 4]
    assert pooled.weights[0].tolist() == [[3, 0], [0, 0], [0, 1]]
    rare = ScoreTable(np.arange(1000), np.eye(2)[(np.arange(1000) % 100 == 0).astype(int)])
    assert pooled_runs(rare).scores.size == 20


# One case of a class -----------------------------------------------------------------------------


def test_one_case_of_a_class_does_not_tell_how_its_cases_vary():
    stated = Problem.binary(false_alarm=1, miss=5, prior=[0.5, 0.5])
    counts = Counts([[90, 10], [1, 0]])
    cost = lambda c: expected_cost(c, stated)  # noqa: E731
    for make in (bootstrap, bootstrap_bca):
        estimate = make(cost, counts, replicates=50, rng=generator(), scheme=WithinClasses())
        assert np.isnan(estimate.standard_error)
        assert np.isnan(estimate.interval(0.95).high)
        assert int(estimate.n_undefined) == 50
    two = bootstrap(
        cost, Counts([[90, 10], [1, 1]]), replicates=50, rng=generator(), scheme=WithinClasses()
    )
    assert int(two.n_undefined) == 0
    joint = JointCounts.from_decisions(
        [0] * 9 + [1], {"m": [0] * 9 + [0], "n": [1] * 3 + [0] * 7}, stated
    )
    compared = compare_costs(joint, stated, replicates=50, rng=generator())
    assert np.isnan(compared.difference("m", "n").standard_error)
    assert np.isnan(compared.probability_lowest()).all()
    problems = compare_problems(joint, [stated, stated], replicates=50, rng=generator())
    assert np.isnan(problems.difference("m", "n").standard_error)


def test_one_case_of_a_class_that_does_not_matter_is_left_alone():
    """A class of prior zero, the rates of the other class, and the other groups."""
    counts = Counts([[90, 10], [1, 0]])
    how: Any = {"replicates": 50, "rng": generator(), "scheme": WithinClasses()}
    ignored = Problem.binary(false_alarm=1, miss=5, prior=[1.0, 0.0])
    assert np.isfinite(bootstrap(lambda c: expected_cost(c, ignored), counts, **how).standard_error)
    rates = bootstrap(decision_rates, counts, **how)
    assert np.isfinite(rates.standard_error).tolist() == [[True, True], [False, False]]
    stated = Problem.binary(false_alarm=1, miss=5, prior=[0.5, 0.5])
    groups = Counts([[[90, 10], [1, 0]], [[90, 10], [3, 2]]])
    estimate = bootstrap(lambda c: expected_cost(c, stated), groups, **how)
    assert np.isfinite(estimate.standard_error).tolist() == [False, True]


def test_a_measure_that_refuses_an_empty_class_depends_on_its_only_case():
    def strict(counts: Counts) -> np.ndarray:
        if (counts.values.sum(axis=-1) == 0).any():
            raise InputError("no empty class here")
        return counts.values[..., 0, 0]

    estimate = bootstrap(
        strict, Counts([[5, 4], [1, 0]]), replicates=9, rng=generator(), scheme=WithinClasses()
    )
    assert int(estimate.n_undefined) == 9
