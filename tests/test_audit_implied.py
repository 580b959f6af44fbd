"""The costs that a metric's favourite threshold implies."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes.audit import (
    FAMILIAR,
    Gain,
    LogOdds,
    Loss,
    PositiveClass,
    Probabilities,
    RawScores,
    costs_of_threshold,
    implied_costs,
    implied_costs_of_replicates,
)
from stakes.audit.suitability import _on_the_line
from stakes.errors import InputError
from stakes.inference import AllCases, resample
from stakes.measures import error_rate, expected_cost, f_beta, informedness, normalized_cost
from stakes.problem import Problem
from stakes.simulate import gaussian_classes
from stakes.tally import ScoreTable
from stakes.thresholds import ScoreFixed


def population(variance, step=1e-3, reach=9.0):
    """ferrer-ec, figure 1, without sampling: log-odds in narrow cells with their exact weights.

    Features of the classes are normal about 0 and 1, P2 = 0.2, so that the log-odds are
    log(0.2/0.8) + (x − 1/2)/variance.
    """
    from scipy.special import ndtr

    edges = np.arange(-reach, reach + step / 2, step)
    x = 0.5 + variance * (edges - math.log(0.2 / 0.8))
    sd = math.sqrt(variance)
    below = np.stack([ndtr(x / sd), ndtr((x - 1) / sd)], axis=-1)
    below[0], below[-1] = 0, 1
    weights = np.diff(below, axis=0) * [0.8, 0.2]
    return ScoreTable(edges[1:], weights)  # the last score of a cell is its upper end


# E19 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variance", "name", "threshold", "ratio"),
    [  # claims.md, E20
        (0.20, "F1", -0.499197, 1.647398),
        (0.20, "MCC", -0.342164, math.exp(0.342164)),
        (0.06, "F1", -0.0793176, 1.082548),
    ],
)
def test_E19_the_best_threshold_of_a_metric_tells_the_costs_it_implies(
    variance, name, threshold, ratio
):
    implied = implied_costs(population(variance), FAMILIAR[name], scale=LogOdds())
    (optimum,) = implied.optima
    assert abs(optimum.threshold - threshold) < 2e-3  # two cells
    np.testing.assert_allclose(optimum.bayes.cost_ratio, ratio, rtol=3e-3)
    np.testing.assert_allclose(
        optimum.bayes.cost_ratio[::-1], np.exp([-optimum.threshold, -optimum.below])
    )
    # The scores are calibrated, so that both readings agree.
    np.testing.assert_allclose(optimum.empirical.cost_ratio, ratio, rtol=3e-3)


@pytest.mark.parametrize("miss", [1, 4, 16])
def test_E19_a_cost_implies_itself(miss):
    problem = Problem.binary(false_alarm=1, miss=miss)
    metric = Loss(partial(normalized_cost, problem=problem))
    (optimum,) = implied_costs(population(0.2), metric, scale=LogOdds()).optima
    np.testing.assert_allclose(optimum.bayes.cost_ratio, miss, rtol=3e-3)
    low, high = optimum.empirical.cost_ratio
    assert low <= miss <= high


def test_E19_youden_and_balanced_accuracy_imply_the_inverse_of_the_shares():
    for metric in (FAMILIAR["balanced accuracy"], Gain(PositiveClass(informedness))):
        (optimum,) = implied_costs(population(0.2), metric, scale=LogOdds()).optima
        np.testing.assert_allclose(optimum.bayes.cost_ratio, 0.8 / 0.2, rtol=3e-3)
        np.testing.assert_allclose(optimum.bayes.skew, 0.5, atol=1e-3)


def test_E19_accuracy_implies_equal_costs_and_so_does_a_threshold_of_one_half():
    (optimum,) = implied_costs(population(0.2), FAMILIAR["accuracy"], scale=LogOdds()).optima
    np.testing.assert_allclose(optimum.bayes.cost_ratio, 1, rtol=3e-3)
    table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    half = costs_of_threshold(table, 0.5, scale=Probabilities())
    assert (half.threshold, half.below) == (0.3, 0.6)
    low, high = half.bayes.cost_ratio
    assert low < 1 < high


@pytest.mark.parametrize("beta", [0.5, 2])
def test_E19_f_beta_implies_costs_that_change_with_the_data(beta):
    metric = Gain(PositiveClass(partial(f_beta, beta=beta)))
    hard, easy = (
        implied_costs(population(variance), metric, scale=LogOdds()).optima[0].bayes.cost_ratio[0]
        for variance in (0.2, 0.06)
    )
    assert abs(hard / easy - 1) > 0.05


def test_E19_the_answer_across_replicates_shows_its_instability():
    sample = gaussian_classes(400, prior=[0.8, 0.2], variance=0.2, rng=np.random.default_rng(1))
    table = sample_table(sample)
    rng = np.random.default_rng(2)
    resampled = resample(table, AllCases(), replicates=60, rng=rng)
    spread = implied_costs_of_replicates(resampled, FAMILIAR["F1"], scale=LogOdds())
    assert spread.threshold.shape == (60,)
    np.testing.assert_allclose(spread.cost_ratio, np.exp(-spread.threshold))
    low, high = np.quantile(spread.cost_ratio, [0.05, 0.95])
    assert high > 1.5 * low
    first = implied_costs(resampled[0], FAMILIAR["F1"], scale=LogOdds())
    assert spread.threshold[0] == first.optima[0].threshold
    assert spread.value[0] == first.value
    assert spread.ties[0] == len(first.optima)
    assert 0 <= spread.off_hull < 1


def sample_table(sample):
    odds = np.log(sample.posteriors[:, 1]) - np.log(sample.posteriors[:, 0])
    return ScoreTable.from_scores(sample.y_true, odds)


# Slow twin ---------------------------------------------------------------------------------------

weights = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=6).filter(
    lambda rows: any(a for a, _ in rows) and any(b for _, b in rows)
)


def loss_at(rows, cut, c):
    """Of giving the positive decision to scores[cut:]."""
    return c * sum(a for a, _ in rows[cut:]) + (1 - c) * sum(b for _, b in rows[:cut])


def shares_of_runs(rows):
    """Every cost proportion at which some two cuts cost the same."""
    shares = {0.0, 1.0}
    for start in range(len(rows)):
        for end in range(start + 1, len(rows) + 1):
            total = sum(a + b for a, b in rows[start:end])
            if total:
                shares.add(sum(b for _, b in rows[start:end]) / total)
    return sorted(shares)


@given(weights)
def test_empirical_costs_are_those_for_which_no_other_cut_is_cheaper(rows):
    table = ScoreTable(np.arange(len(rows)), rows)
    corners = shares_of_runs(rows)
    middles = [(a + b) / 2 for a, b in pairwise(corners)]
    for cut, threshold in enumerate([-0.5, *range(len(rows))]):
        cheapest = [
            c
            for c in sorted(corners + middles)
            if all(
                loss_at(rows, cut, c) <= loss_at(rows, other, c) + 1e-9
                for other in range(len(rows) + 1)
            )
        ]
        interval = costs_of_threshold(table, threshold, scale=RawScores()).empirical
        if cheapest:
            np.testing.assert_allclose(
                interval.cost_proportion, [min(cheapest), max(cheapest)], atol=1e-12
            )
            assert interval.reason == ""
        else:
            assert interval.is_empty
            assert "below the convex hull" in interval.reason


@given(weights)
def test_the_optima_are_the_best_of_all_cuts(rows):
    table = ScoreTable(np.arange(len(rows)), rows)
    problem = Problem.binary(false_alarm=2, miss=3)
    implied = implied_costs(table, Loss(partial(expected_cost, problem=problem)), scale=RawScores())
    size = sum(a + b for a, b in rows)
    losses = [5 * loss_at(rows, cut, 0.4) / size for cut in range(len(rows) + 1)]
    assert implied.value == pytest.approx(min(losses))
    kept = [cut for cut in range(len(rows)) if sum(rows[cut])]
    distinct = [0, *(cut + 1 for cut in kept)]  # cuts at scores without cases decide as others do
    best = [table.thresholds[cut] for cut in distinct if losses[cut] <= min(losses) + 1e-9]
    assert [optimum.threshold for optimum in implied.optima] == best
    for optimum in implied.optima:
        low, high = optimum.empirical.cost_proportion
        assert low - 1e-12 <= 0.4 <= high + 1e-12


# Single questions --------------------------------------------------------------------------------

TABLE = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])


def test_a_threshold_off_the_hull_is_right_for_no_costs():
    table = ScoreTable([1, 2, 3, 4], [[3, 0], [1, 2], [2, 1], [0, 4]])
    implied = costs_of_threshold(table, 2, scale=RawScores())
    assert implied.empirical.is_empty
    assert np.isnan(implied.empirical.cost_ratio).all()
    assert implied.empirical.reason == (
        "the threshold lies below the convex hull of the ROC curve: "
        "whatever the costs, 1 or 3 is cheaper"
    )
    assert implied.bayes.is_empty
    assert implied.bayes.reason == "raw scores have no Bayes threshold"


def test_a_threshold_on_a_straight_piece_of_the_hull_is_right_for_one_ratio():
    table = ScoreTable([1, 2, 3], [[3, 0], [2, 1], [2, 1]])
    implied = costs_of_threshold(table, 2, scale=RawScores())
    np.testing.assert_allclose(implied.empirical.cost_ratio, [2, 2])


def test_extreme_thresholds_are_right_for_extreme_costs():
    all_positive = costs_of_threshold(TABLE, -1, scale=Probabilities())
    assert all_positive.threshold == -np.inf
    np.testing.assert_array_equal(all_positive.bayes.cost_ratio, [9, np.inf])
    assert all_positive.empirical.cost_ratio[1] == np.inf
    none = costs_of_threshold(TABLE, 0.9, scale=Probabilities())
    assert none.below == np.inf
    np.testing.assert_allclose(none.empirical.cost_ratio, [0, 1 / 9])
    assert LogOdds().cost_proportion(-np.inf) == 0
    assert LogOdds().cost_proportion(np.inf) == 1


def test_other_class_shares_come_in_through_the_table():
    even = TABLE.with_prior([0.5, 0.5])
    ours, theirs = (
        costs_of_threshold(table, 0.3, scale=RawScores()).empirical for table in (TABLE, even)
    )
    np.testing.assert_allclose(ours.skew, theirs.skew)
    np.testing.assert_allclose(theirs.skew, theirs.cost_proportion)


def test_tied_optima_are_all_listed():
    table = ScoreTable([1, 2, 3], [[1, 0], [1, 1], [0, 1]])
    implied = implied_costs(table, Loss(error_rate), scale=RawScores())
    assert [optimum.threshold for optimum in implied.optima] == [1, 2]
    assert [optimum.below for optimum in implied.optima] == [2, 3]


def chooses(cut):
    """A metric whose favourite is the cut that gives the positive decision to this many cases."""
    return Gain(lambda counts: -np.abs(counts.values[..., 1].sum(axis=-1) - cut))


def test_the_share_off_the_hull_is_counted_among_the_replicates_with_an_optimum():
    bent = [[3, 0], [1, 2], [2, 1], [0, 4]]  # between the second and third score below the hull
    convex = [[3, 0], [2, 1], [1, 2], [0, 4]]
    lost = [[0, 0], [0, 0], [0, 0], [1, 0]]
    table = ScoreTable([1, 2, 3, 4], [bent, convex, bent, bent, lost])
    metric = Gain(
        lambda counts: np.where(
            counts.n_cases > 1, chooses(7)(counts), np.full(counts.values.shape[:-2], np.nan)
        )
    )
    spread = implied_costs_of_replicates(table, metric, scale=RawScores())
    assert spread.threshold[:4].tolist() == [2, 2, 2, 2]
    assert spread.off_hull == 0.75
    np.testing.assert_allclose(spread.empirical[1], [1 / 3, 2 / 3])
    assert repr(spread) == "ImpliedCostsOfReplicates of 5: no cost ratio; off the hull in 75.0%"


def test_replicates_print_the_quantiles_of_the_cost_ratio():
    scores = [0.2, 0.5, 0.8]
    table = ScoreTable(scores, [[[2, 0], [1, 1], [0, 2]]] * 3 + [[[3, 0], [0, 1], [0, 2]]])
    spread = implied_costs_of_replicates(table, chooses(3), scale=Probabilities())
    np.testing.assert_allclose(spread.cost_ratio, 4)
    assert "a miss costs 4 false alarms (5 % to 95 %: 4 to 4)" in repr(spread)


def test_implied_costs_print_their_thresholds_and_costs():
    implied = implied_costs(TABLE, FAMILIAR["F1"], scale=Probabilities())
    head, _, row = repr(implied).splitlines()
    assert head.startswith("ImpliedCosts: 0.7451 at best")
    assert row.split() == ["0.3", "0.6667", "to", "2.333", "0.5", "to", "2"]
    raw = implied_costs(TABLE, FAMILIAR["F1"], scale=RawScores())
    assert "no costs" in repr(raw)


def test_a_threshold_that_was_asked_for_is_kept_beside_those_that_decide_alike():
    implied = costs_of_threshold(TABLE, 0.5, scale=Probabilities())
    assert (implied.asked, implied.cost_proportion, implied.cost_ratio) == (0.5, 0.5, 1)
    assert (implied.threshold, implied.below) == (0.3, 0.6)
    odd = costs_of_threshold(TABLE, 0.4, scale=Probabilities())
    assert odd.cost_ratio == pytest.approx(1.5)
    assert odd.bayes == implied.bayes
    assert odd != implied
    assert np.isnan(costs_of_threshold(TABLE, 0.5, scale=RawScores()).cost_ratio)
    assert costs_of_threshold(TABLE, -1, scale=Probabilities()).cost_ratio == np.inf


def test_probabilities_lie_between_0_and_1():
    odds = ScoreTable([-2, 0.5, 3], [[3, 1], [1, 1], [1, 4]])
    message = r"must lie in \[0, 1\]; 2 of 3 do not, the first being -2. Calibrate .* Affine or Iso"
    for question in (
        lambda: implied_costs(odds, FAMILIAR["F1"], scale=Probabilities()),
        lambda: costs_of_threshold(odds, 0.5, scale=Probabilities()),
        lambda: implied_costs_of_replicates(
            ScoreTable(odds.scores, odds.weights[None]), FAMILIAR["F1"], scale=Probabilities()
        ),
    ):
        with pytest.raises(InputError, match=message):
            question()
    endless = ScoreTable([-np.inf, 0.5, np.inf], [[3, 1], [1, 1], [1, 4]])
    assert implied_costs(endless, FAMILIAR["F1"], scale=Probabilities()).optima


@pytest.mark.parametrize("scale", [Probabilities, "probabilities", None])
def test_a_scale_is_no_class_and_no_string(scale):
    with pytest.raises(InputError, match=r"scale must be a ScoreScale; got .*Probabilities\(\)"):
        implied_costs(TABLE, FAMILIAR["F1"], scale=scale)
    with pytest.raises(InputError, match="scale must be"):
        costs_of_threshold(TABLE, 0.5, scale=scale)


def test_bare_functions_do_not_say_which_way_is_better():
    bare: Any = error_rate
    for table, question in (
        (TABLE, implied_costs),
        (ScoreTable(TABLE.scores, TABLE.weights[None]), implied_costs_of_replicates),
    ):
        with pytest.raises(InputError, match=r"metric must be a Metric; .*where higher"):
            question(table, bare, scale=RawScores())


def test_thresholds_need_scores():
    counts: Any = TABLE.counts()[0]
    with pytest.raises(InputError, match="table must be a ScoreTable; got Counts"):
        implied_costs(counts, FAMILIAR["F1"], scale=RawScores())


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("weights", [[[1, 0], [2, 0]], [[0, 1], [0, 2]]])
def test_tables_of_one_class_answer_without_warnings(weights):
    table = ScoreTable([0, 1], weights)
    for metric in FAMILIAR.values():
        for optimum in implied_costs(table, metric, scale=Probabilities()).optima:
            for costs in (optimum.bayes, optimum.empirical):
                assert costs.cost_ratio.shape == costs.skew.shape == (2,)


def test_a_metric_that_is_undefined_everywhere_has_no_optimum():
    implied = implied_costs(
        ScoreTable([1, 2], [[1, 0], [1, 0]]), FAMILIAR["MCC"], scale=RawScores()
    )
    assert np.isnan(implied.value)
    assert implied.optima == ()
    lost = ScoreTable([1, 2], [[[1, 0], [1, 0]], [[1, 0], [0, 1]]])
    spread = implied_costs_of_replicates(lost, FAMILIAR["MCC"], scale=RawScores())
    assert np.isnan(spread.threshold).tolist() == [True, False]
    assert spread.off_hull == 0
    assert np.isnan(
        implied_costs_of_replicates(lost[:1], FAMILIAR["MCC"], scale=RawScores()).off_hull
    )


def test_tables_with_and_without_leading_axes_have_functions_of_their_own():
    stacked = ScoreTable([1, 2], [[[1, 0], [1, 1]]])
    with pytest.raises(InputError, match="table must have no leading axes here"):
        implied_costs(stacked, FAMILIAR["F1"], scale=RawScores())
    with pytest.raises(InputError, match="replicates must have one leading axis"):
        implied_costs_of_replicates(TABLE, FAMILIAR["F1"], scale=RawScores())
    with pytest.raises(InputError, match="table must hold cases"):
        implied_costs(ScoreTable([1], [[0, 0]]), FAMILIAR["F1"], scale=RawScores())


@pytest.mark.parametrize(
    ("first", "second", "straight"),
    [
        ((0, 3), (0, 2), True),
        ((3, 0), (2, 0), True),
        ((1, 2), (2, 4), True),
        ((1, 2), (2, 3), False),
    ],
)
def test_parts_of_a_segment_are_on_its_line_also_where_it_is_vertical(first, second, straight):
    cuts: Any = SimpleNamespace(between=lambda start, end: second if start else first)
    assert _on_the_line(cuts, 0, 1, 2) is straight


def test_scores_of_minus_infinity_are_cut_off_by_the_lowest_finite_number():
    """Only the threshold that takes all cases is -inf; the table has the same thresholds."""
    table = ScoreTable.from_scores([0, 1, 1], [-np.inf, 0, 1])
    (optimum,) = implied_costs(table, FAMILIAR["accuracy"], scale=LogOdds()).optima
    assert optimum.threshold == table.thresholds[1] == -np.finfo(np.float64).max
    assert ScoreFixed(optimum.threshold).expected_counts(table).values.tolist() == [[1, 0], [0, 2]]
    always = costs_of_threshold(table, -np.inf, scale=LogOdds())
    assert (always.threshold, always.below) == (-np.inf, -np.finfo(np.float64).max)
