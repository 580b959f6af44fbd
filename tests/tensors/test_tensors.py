"""Tallies of tensors are those of numpy, to the last bit; bad entries are refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stakes import (
    Beta,
    Counts,
    InputError,
    LossMoments,
    Problem,
    ScoreTable,
    auc,
    bayes_decision_indices,
    best_threshold,
    h_measure,
)
from stakes.ranking import roc_hull
from stakes.scoring import brier, log_loss
from stakes.tally import BitGrid
from stakes.torch import (
    Scale,
    bayes_decisions,
    counts,
    loss_moments,
    score_auc,
    score_bins,
    score_hull,
    score_table,
)
from stakes.torch import device_cases as cases_room
from stakes.torch import device_scores as exact_room
from stakes.torch.device_scores import bit_places

UNIT, REAL = BitGrid(probabilities=True), BitGrid(probabilities=False)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
BINARY = Problem.binary(false_alarm=1, miss=9)
THREE = Problem([[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"], decisions=["a", "r", "b"])
N = 100_000
RNG = np.random.default_rng(21)


def nasty(size: int = N) -> np.ndarray:
    """Scores with ties, zeros of both signs, subnormal and infinite ones."""
    spread = RNG.standard_normal(size) * 10.0 ** RNG.uniform(-44, 38, size)
    special = np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 1e-310, 1.0, 0.5, 3e38])
    chosen = [spread, RNG.choice(special, size), RNG.integers(-20, 20, size) / 16]
    return np.choose(RNG.integers(0, 4, size), [*chosen, RNG.random(size)])


NASTY = nasty()
TRUTH = RNG.random(N) < 0.3
TIMES = RNG.integers(0, 4, N).astype(float)
FRACTIONS = TIMES * RNG.random(N)
PROBABLE = np.where(RNG.random(N) < 0.5, RNG.random(N) ** 9, RNG.integers(0, 17, N) / 16)


def tensor(values: np.ndarray, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.tensor(values).to(dtype)


def same_table(actual: ScoreTable, expected: ScoreTable, *, exact: bool = True) -> None:
    np.testing.assert_array_equal(actual.scores, expected.scores)
    same = np.testing.assert_array_equal if exact else np.testing.assert_allclose
    same(actual.weights, expected.weights)


# Bins --------------------------------------------------------------------------------------------


@given(st.lists(st.floats(0, 1, width=32), min_size=1, max_size=30))
def test_probabilities_of_any_precision_have_the_bins_of_numpy(scores):
    for dtype in (torch.float32, torch.float64):
        bins, rest = bit_places(torch.tensor(scores, dtype=dtype) + 0.0, UNIT)
        expected = UNIT.places(np.array(scores) + 0.0)
        np.testing.assert_array_equal(bins, expected[0])
        np.testing.assert_array_equal(rest, expected[1])


@given(st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=30))
def test_numbers_of_any_precision_have_the_bins_of_numpy(scores):
    for dtype in (torch.float32, torch.float64):
        bins, rest = bit_places(torch.tensor(scores, dtype=dtype), REAL)
        expected = REAL.places(np.array(scores))
        np.testing.assert_array_equal(bins, expected[0])
        np.testing.assert_array_equal(rest, expected[1])


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weights", [None, TIMES, FRACTIONS], ids=["alike", "whole", "fractional"])
def test_bins_hold_every_case_and_the_auc_lies_within_their_bound(dtype, weights):
    scores = tensor(NASTY, dtype)
    weight = None if weights is None else tensor(weights)
    bins = score_bins(scores, torch.tensor(TRUTH), weight)
    table = ScoreTable.from_scores(TRUTH, scores.double().numpy(), weights=weights)
    np.testing.assert_allclose(bins.table.class_weights, table.class_weights)
    assert abs(bins.auc - float(auc(table))) <= bins.auc_error + 1e-14
    assert bins.auc_error < 0.05
    for low, high in zip(bins.bins.low, bins.bins.high, strict=True):
        assert low <= high
    middle = np.searchsorted(table.scores, bins.bins.high, side="right")
    below = np.concatenate([[[0, 0]], np.cumsum(table.weights, axis=0)])[middle]
    np.testing.assert_allclose(np.cumsum(bins.bins.weights, axis=0), below)


def test_bins_of_half_precision_are_exact():
    for dtype in (torch.float16, torch.bfloat16):
        scores = tensor(PROBABLE, dtype)
        bins = score_bins(scores, torch.tensor(TRUTH), scale=Scale.PROBABILITIES)
        kept = bins.bins.low[bins.bins.low != bins.bins.high]
        assert (kept < 2.0**-31).all()  # what is closer to zero than the first run
    assert score_bins(tensor(PROBABLE.round(3), torch.float16), torch.tensor(TRUTH)).exact


def test_few_scores_have_an_exact_table_and_so_has_their_mean():
    scores = RNG.integers(0, 300, N) / 299
    for dtype in (torch.float32, torch.float64):
        values = tensor(scores, dtype)
        bins = score_bins(values, torch.tensor(TRUTH), scale=Scale.PROBABILITIES)
        assert bins.exact
        assert bins.auc_error == 0
        same_table(bins.table, ScoreTable.from_scores(TRUTH, values.double().numpy()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weights", [None, FRACTIONS], ids=["alike", "fractional"])
def test_losses_of_bins_are_those_of_single_cases(dtype, weights):
    scores = tensor(PROBABLE.clip(1e-30, 1 - 1e-7), dtype)
    weight = None if weights is None else tensor(weights)
    table = ScoreTable.from_scores(TRUTH, scores.double().numpy(), weights=weights)
    bins = score_bins(scores, torch.tensor(TRUTH), weight, scale=Scale.PROBABILITIES)
    np.testing.assert_allclose(bins.log_loss, log_loss(table), rtol=1e-12)
    np.testing.assert_allclose(bins.brier, brier(table), rtol=1e-12)
    exact = scores.double()
    odds = torch.log(exact) - torch.log1p(-exact)
    logits = score_bins(odds, torch.tensor(TRUTH), weight, scale=Scale.LOGITS)
    np.testing.assert_allclose(logits.log_loss, bins.log_loss, rtol=1e-9)
    np.testing.assert_allclose(logits.brier, bins.brier, rtol=1e-9)
    assert np.isnan(score_bins(odds, torch.tensor(TRUTH)).brier)


def test_what_rules_out_the_truth_has_an_infinite_log_loss_with_weight_only():
    scores, truth = torch.tensor([0.0, 1.0, 0.5]), torch.tensor([1, 1, 0])
    assert score_bins(scores, truth, scale=Scale.PROBABILITIES).log_loss == np.inf
    kept = torch.tensor([0, 1, 1])
    assert np.isfinite(score_bins(scores, truth, kept, scale=Scale.PROBABILITIES).log_loss)


def test_the_least_cost_of_any_threshold_lies_within_the_bound_of_bins():
    scores = torch.tensor(RNG.random(N).astype(np.float32) / 4 + 0.4)
    truth = torch.tensor(RNG.random(N) < scores.numpy())
    bins = score_bins(scores, truth)
    table = ScoreTable.from_scores(truth.numpy(), scores.numpy())
    exact, binned = (best_threshold(tally, BINARY).cost for tally in (table, bins.table))
    assert exact <= binned + 1e-12 <= exact + bins.cost_error(BINARY) + 2e-12
    assert not bins.exact


# Exact tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("weights", [None, TIMES, FRACTIONS], ids=["alike", "whole", "fractional"])
def test_the_table_of_a_tensor_is_that_of_numpy(dtype, weights):
    scores, weight = tensor(NASTY, dtype), None if weights is None else tensor(weights)
    expected = ScoreTable.from_scores(TRUTH, scores.double().numpy(), weights=weights)
    same_table(score_table(scores, torch.tensor(TRUTH), weight), expected)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("block", [977, 1 << 26])
def test_sorted_keys_make_the_table_of_numpy_in_blocks_of_any_size(dtype, block, monkeypatch):
    """The code of GPUs, run on the CPU."""
    monkeypatch.setattr(exact_room, "_BLOCK", block)
    for scores in (tensor(NASTY[:9000], dtype), tensor(np.abs(NASTY[:9000]), dtype)):
        truth = torch.tensor(TRUTH[:9000])
        expected = ScoreTable.from_scores(truth.numpy(), scores.double().numpy())
        result = exact_room._unweighted(scores, truth)
        same_table(ScoreTable(*result), expected)
        times = torch.tensor(FRACTIONS[:9000])
        heavy = ScoreTable.from_scores(truth.numpy(), scores.double().numpy(), weights=times)
        result = exact_room._weighted(scores, truth, times)
        same_table(ScoreTable(*result), heavy, exact=False)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("block", [977, 1 << 26])
def test_the_hull_of_a_tensor_is_that_of_its_table(dtype, block, monkeypatch):
    monkeypatch.setattr(exact_room, "_BLOCK", block)
    monkeypatch.setattr(exact_room, "_SMALL", 100)
    monkeypatch.setattr(exact_room, "_SAMPLE", 40)
    for scores in (np.abs(NASTY), PROBABLE, RNG.random(N) + TRUTH):
        values = tensor(scores, dtype)
        result = score_hull(values, torch.tensor(TRUTH))
        table = ScoreTable.from_scores(TRUTH, values.double().numpy())
        assert result.n_scores == table.scores.size
        assert result.auc == pytest.approx(float(auc(table)), abs=1e-15)
        assert score_auc(values, torch.tensor(TRUTH)) == result.auc
        hull = roc_hull(table)
        np.testing.assert_array_equal(hull.thresholds[1:-1], result.table.scores[:-1])
        assert result.table.scores[-1] == table.scores[-1]
        for problem in (BINARY, Problem.binary(false_alarm=7, miss=2)):
            assert vars(best_threshold(result.table, problem))["threshold"] == pytest.approx(
                best_threshold(table, problem).threshold
            )
    costs = Beta(2, 2)
    assert h_measure(result.table, costs) == pytest.approx(h_measure(table, costs), rel=1e-12)


def test_the_hull_of_scores_of_one_class_or_one_value_has_one_segment():
    hull = score_hull(torch.tensor([0.2, 0.7, 0.7]), torch.tensor([1, 1, 1]))
    assert np.isnan(hull.auc)
    assert hull.table.weights.tolist() == [[0, 3]]
    tied = score_hull(torch.tensor([0.5, 0.5, 0.5]), torch.tensor([0, 1, 1]))
    assert tied.auc == 0.5
    assert tied.table.weights.tolist() == [[1, 2]]


# Decisions and losses ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_bayes_decisions_are_those_of_numpy_at_ties_too(dtype):
    at_cut = np.where(RNG.random(N) < 0.3, 3 / 185, np.round(PROBABLE, 1))
    for problem, rows in ((THREE, at_cut), (BINARY, np.where(at_cut == 0.5, 0.1, at_cut))):
        posteriors = tensor(rows, dtype)
        expected = bayes_decision_indices(posteriors.numpy(), problem)
        np.testing.assert_array_equal(bayes_decisions(posteriors, problem), expected)
        on_device = cases_room._cheapest(posteriors, problem.costs, False)  # what GPUs run
        np.testing.assert_array_equal(on_device, expected)


def test_posteriors_that_are_not_numbers_get_no_decision_on_any_device():
    rows = torch.softmax(torch.arange(12.0).view(4, 3) % 5, dim=1)
    rows[1, 2], rows[3, 0] = torch.nan, torch.inf
    problem = Problem(RNG.integers(0, 30, (3, 4)))
    for values, of in ((rows, problem), (torch.tensor([0.2, -0.1, 0.9, torch.inf]), THREE)):
        decided = bayes_decisions(values, of)
        assert (decided < 0).tolist() == [False, True, False, True]
        np.testing.assert_array_equal(cases_room._cheapest(values, of.costs, False), decided)
    nan = torch.tensor([0.0, torch.nan])
    assert bayes_decisions(nan, THREE, logits=True).tolist() == [1, -1]


@pytest.mark.parametrize("size", [4, 30])
def test_bayes_decisions_of_many_classes_are_those_of_numpy(size):
    problem = Problem(RNG.integers(0, 30, (size, size + 1)))
    rows = RNG.dirichlet(np.ones(size), 5000)
    expected = bayes_decision_indices(rows, problem)
    np.testing.assert_array_equal(bayes_decisions(torch.tensor(rows), problem), expected)
    logits = torch.log(torch.tensor(rows)) + 3
    np.testing.assert_array_equal(bayes_decisions(logits, problem, logits=True), expected)
    for values, are_logits in ((torch.tensor(rows), False), (logits, True)):
        on_device = cases_room._cheapest(values, problem.costs, are_logits)
        np.testing.assert_array_equal(on_device, expected)


def test_logits_of_two_classes_are_log_odds():
    odds = torch.tensor([-5.0, -2.0, 3.0])
    chances = torch.sigmoid(odds.double())
    decided = bayes_decisions(odds, THREE, logits=True)
    assert decided.tolist() == bayes_decisions(chances, THREE).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8])
@pytest.mark.parametrize("weights", [None, TIMES, FRACTIONS], ids=["alike", "whole", "fractional"])
def test_counts_of_tensors_are_those_of_numpy(kind, weights, monkeypatch):
    decided = RNG.integers(0, 3, N)
    expected = Counts.from_decisions(
        np.array(THREE.classes)[TRUTH.astype(int)],
        np.array(THREE.decisions)[decided],
        THREE,
        weights=weights,
    )
    weight = None if weights is None else tensor(weights)
    result = counts(torch.tensor(decided).to(kind), torch.tensor(TRUTH), THREE, weight)
    assert result.classes == THREE.classes
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-12)
    monkeypatch.setattr(cases_room, "within", lambda *_: False)  # what GPUs run
    result = counts(torch.tensor(decided).to(kind), torch.tensor(TRUTH), THREE, weight)
    np.testing.assert_allclose(result.values, expected.values, rtol=1e-12)


@pytest.mark.parametrize("shared", [0.0, 1e9])
@pytest.mark.parametrize("weights", [None, FRACTIONS], ids=["alike", "fractional"])
def test_moments_of_tensors_are_those_of_numpy(weights, shared):
    """An amount that all losses share costs variances no digits; GPUs sum about the least loss."""
    truth, losses = RNG.integers(0, 3, N), shared + RNG.standard_normal((N, 2))
    expected = LossMoments.from_losses(truth, losses, classes=range(3), weights=weights)
    weight = None if weights is None else tensor(weights)
    columns = {"old": tensor(losses[:, 0]), "new": tensor(losses[:, 1])}
    moments = loss_moments(torch.tensor(truth), columns, classes=(0, 1, 2), weights=weight)
    assert moments.names == ("old", "new")
    on_device = cases_room._moments_on_device(
        torch.tensor(truth), list(columns.values()), weight, 3
    )
    summed = LossMoments._about(*on_device, None, (0, 1, 2), None)
    for name in ("weight", "sums", "scatter"):
        np.testing.assert_allclose(getattr(moments, name), getattr(expected, name), atol=1e-9)
        np.testing.assert_allclose(getattr(summed, name), getattr(expected, name), atol=1e-9)
    whole = loss_moments(
        torch.tensor(truth), tensor(losses), classes=("a", "b", "c"), weights=weight
    )
    np.testing.assert_array_equal(whole.scatter, moments.scatter)


# What cannot be used -----------------------------------------------------------------------------

P, Y = torch.tensor([0.1, 0.9, 0.5]), torch.tensor([0, 1, 1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: score_bins(P * torch.nan, Y), r"scores must hold numbers .* 3 entries do not"),
        (lambda: score_table(P * torch.nan, Y), r"scores must hold numbers"),
        (
            lambda: score_bins(P * 2, Y, scale=Scale.PROBABILITIES),
            r"scores must .* in \[0, 1\]; 1 entry does",
        ),
        (lambda: score_bins(P, Y + 1), r"y_true must hold positions of classes, 0 … K − 1; 2"),
        (lambda: score_hull(P, Y - 1), r"y_true must hold positions"),
        (lambda: score_bins(P, Y, -P), r"weights must hold finite numbers"),
        (lambda: score_table(P, Y, P * torch.inf), r"weights must hold finite numbers"),
        (lambda: score_bins(P, Y[:2]), r"y_true must have one entry for each of the 3 cases"),
        (
            lambda: score_bins(P, Y.float()),
            r"y_true must hold whole numbers or booleans; .*float32",
        ),
        (lambda: score_bins(Y, Y), r"scores must hold floats; its dtype is torch.int64"),
        (
            lambda: score_bins(P[:, None], Y),
            r"scores must have shape \(n,\); its shape is \(3, 1\)",
        ),
        (lambda: score_bins([0.5], Y), r"scores must be a tensor; got list"),
        (lambda: score_bins(P[:0], Y[:0]), r"scores must hold at least one case"),
        (lambda: score_table(P[:0], Y[:0]), r"scores must hold at least one case"),
        (
            lambda: score_bins(P, Y.to("meta")),
            r"y_true must be on the device of scores, cpu; it is",
        ),
        (
            lambda: score_hull(P.double() - 1, Y),
            r"scores must be zero or more, or single precision",
        ),
        (lambda: counts(Y + 2, Y, THREE), r"decisions must hold positions of decisions.*; 2 ent"),
        (lambda: counts(Y, Y - 1, THREE), r"y_true must hold positions"),
        (lambda: counts(bayes_decisions(P + 1, THREE), Y, THREE), r"-1 stands for posteriors"),
        (lambda: bayes_decisions(P[:, None], THREE), r"one column for each of the 2 classes"),
        (lambda: loss_moments(Y, P[:, None] / 0, classes=(0, 1)), r"losses must hold finite"),
        (lambda: loss_moments(Y, {}, classes=(0, 1)), r"losses must hold at least one loss"),
        (lambda: loss_moments(Y, torch.zeros(3, 0), classes=(0, 1)), r"losses must hold at least"),
        (
            lambda: loss_moments(Y, {"a": P[:2]}, classes=(0, 1)),
            r"losses\['a'\] must have one entr",
        ),
        (lambda: loss_moments(Y - 1, P[:, None], classes=(0, 1)), r"y_true must hold labels among"),
        (lambda: score_bins(P.to_sparse(), Y), r"scores must be a dense tensor; it is torch.spars"),
        (lambda: counts(Y, Y.to_sparse(), THREE), r"y_true must be a dense tensor"),
        (lambda: score_bins(P, Y, P.to(torch.complex64)), r"weights must hold real numbers; its d"),
        (lambda: score_bins(P, Y, scale="logits"), r"scale must be a Scale; got str 'logits'"),
        (lambda: counts(Y, Y, [[0, 1], [9, 0]]), r"problem must be a Problem; got list"),
        (lambda: bayes_decisions(P, None), r"problem must be a Problem; got NoneType"),
        (lambda: bayes_decisions(P, THREE, logits="yes"), r"logits must be a bool; got str"),
        (lambda: score_table(P, Y, classes=("a",)), r"classes must be two labels, neg.* got 1"),
        (lambda: score_hull(P, Y, classes="ab"), r"classes must be a sequence of labels"),
        (lambda: score_bins(P, Y, classes=(1, 1)), r"classes must be distinct"),
        (lambda: score_bins(P, Y).cost_error(THREE), r"a threshold needs two classes and two dec"),
        (lambda: score_bins(P, Y).cost_error(None), r"problem must be a Problem"),
    ],
)
def test_bad_input_is_an_input_error(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_entries_that_moments_cannot_use_are_refused_on_a_device():
    for truth, losses, weight, message in (
        (Y - 1, P, None, "y_true must hold positions"),
        (Y, P / 0, None, "losses must hold finite numbers .*; 3 entries do not"),
        (Y, P, -P, "weights must hold finite numbers"),
    ):
        with pytest.raises(InputError, match=message):
            cases_room._moments_on_device(truth, [losses], weight, 2)


def test_bins_are_shown_in_one_line():
    assert repr(score_bins(P, Y)) == (
        "BinnedScores of Scale.SCORES: ScoreTable of 3 cases, 2 positive, 3 distinct scores from "
        "0.1 to 0.9"
    )


def test_more_cases_than_one_sort_can_number_are_refused_before_it():
    many = torch.zeros(1, dtype=torch.int8).expand(1 << 31)
    scores = torch.zeros(1).expand(1 << 31)
    with pytest.raises(InputError, match="the cases of one sort must be fewer than 2³¹"):
        score_hull(scores, many)


def test_more_cells_than_can_be_numbered_are_refused():
    with pytest.raises(InputError, match="cells of classes and decisions must be fewer than 2³¹"):
        cases_room.add_cells(Y, Y, None, (1 << 16, 1 << 16), P, Y)


def test_a_table_that_does_not_fit_names_the_hull(monkeypatch):
    monkeypatch.setattr(exact_room, "_MOST_SCORES", 2)
    with pytest.raises(InputError, match="Use score_hull, which is exact too"):
        exact_room._unweighted(P, Y)


def test_tensors_in_a_graph_are_read_and_left_alone():
    logits = torch.tensor([-2.0, 0.5, 1.0], requires_grad=True)
    bins = score_bins(torch.sigmoid(logits), Y, scale=Scale.PROBABILITIES)
    assert bins.auc == 1
    assert not bayes_decisions(torch.sigmoid(logits), THREE).requires_grad
    assert logits.grad is None


def test_there_are_as_many_cells_as_bins_of_two_classes():
    bins, _ = bit_places(torch.tensor([0.0, 1.0]), UNIT)
    assert bins.tolist() == [0, BitGrid.N_BINS - 1]
