"""Scores of more cases than a table holds: tables of ranges, exact ranks, sure bins."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest

from stakes import Beta, Problem, ScoreTable, auc, best_threshold, h_measure
from stakes.conditions import CostProportions
from stakes.inference import delong_auc
from stakes.ranking import certified, exact_bins, roc_hull
from stakes.tally import BinSums, BitGrid, SortedRuns
from stakes.tally import binned_scores as sorted_runs
from stakes.thresholds import Optimal, RateDriven, expected_loss

NASTY = np.array(
    [0.0, -0.0, 5e-324, -5e-324, 1.0, np.nextafter(1.0, 0), -1.0, 2.0**-1022, 1e308, -1e308]
)
EXTREME = np.append(NASTY, [np.inf, -np.inf])
COST = Problem.binary(false_alarm=1, miss=7)


def drawn(kind: str, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and scores; both classes are there."""
    rng = np.random.default_rng(3)
    y = (rng.random(n) < 0.3).astype(np.int8)
    y[:2] = 0, 1
    kinds = {
        "ties": lambda: rng.integers(0, 40, n) / 40,
        "one score": lambda: np.full(n, 0.25),
        "unit": lambda: np.clip(rng.beta(2 + 2 * y, 5), 0, 1),
        "in order": lambda: np.sort(rng.random(n)),
        "mixed signs": lambda: rng.normal(y, 2),
        "below zero": lambda: -np.exp(rng.normal(-y, 3)),
        "nasty": lambda: rng.choice(NASTY, n),
        "infinite": lambda: rng.choice(EXTREME, n),
    }
    return y, np.asarray(kinds[kind](), dtype=np.float64)


KINDS = ("ties", "one score", "unit", "in order", "mixed signs", "below zero", "nasty", "infinite")


def in_runs(y, scores, weights=None, blocks=7):
    """The cases, some at a time."""
    runs = SortedRuns()
    for some in np.array_split(np.arange(len(y)), blocks):
        runs.add(y[some], scores[some], None if weights is None else weights[some])
    return runs


@pytest.fixture
def small_pieces(monkeypatch):
    """Runs and ranges of a few cases, so that there are many of both."""
    monkeypatch.setattr(sorted_runs, "_RUN", 90)
    monkeypatch.setattr(sorted_runs, "_RANGE", 64)
    monkeypatch.setattr(sorted_runs, "_SAMPLES", 8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_tables_of_ranges_are_in_order_and_together_those_of_a_slow_twin(
    kind, weighted, small_pieces
):
    y, scores = drawn(kind, 1500)
    weights = np.random.default_rng(1).integers(1, 9, 1500) / 4.0 if weighted else None
    twin: dict[float, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for place, (label, score) in enumerate(zip(y, scores, strict=True)):
        twin[float(score) + 0.0][label] += 1.0 if weights is None else weights[place]
    tables = list(in_runs(y, scores, weights).tables())
    merged = {
        s: w
        for table in tables
        for s, w in zip(table.scores.tolist(), table.weights.tolist(), strict=True)
    }
    assert merged == dict(twin)
    assert list(merged) == sorted(merged)
    assert all(low.scores[-1] < high.scores[0] for low, high in pairwise(tables))
    assert not any(np.signbit(table.scores[table.scores == 0]).any() for table in tables)


def test_ranges_are_even_whatever_the_order_of_the_cases(small_pieces):
    y, scores = drawn("in order", 5000)
    sizes = [table.n_cases for table in in_runs(y, scores).tables()]
    assert max(sizes) <= 3 * 64


def test_a_score_of_very_many_cases_is_pooled_some_at_a_time(small_pieces):
    y, scores = drawn("one score", 2000)
    (table,) = in_runs(y, scores, blocks=40).tables()
    assert table.weights.tolist() == [[float((y == 0).sum()), float(y.sum())]]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_ranks_of_ranges_are_those_of_the_whole_table(kind, weighted, small_pieces, monkeypatch):
    monkeypatch.setattr("stakes.ranking._EACH", 16)
    y, scores = drawn(kind, 1500)
    weights = np.random.default_rng(1).integers(1, 9, 1500) / 4.0 if weighted else None
    table = ScoreTable.from_scores(y, scores, weights=weights)
    grid = BitGrid(probabilities=kind in ("ties", "one score", "unit", "in order"))
    bins = exact_bins(in_runs(y, scores, weights), grid, np.array([0.2, 0.3]))
    area = certified(auc, bins)
    assert area.low == area.value == area.high == pytest.approx(float(auc(table)), abs=1e-14)
    hull, expected = roc_hull(bins.ranks((0, 1))), roc_hull(table)
    for name in ("thresholds", "false_alarm_rate", "hit_rate"):
        assert getattr(hull, name) == pytest.approx(getattr(expected, name), abs=1e-14)
    best, other = best_threshold(bins.ranks((0, 1)), COST), best_threshold(table, COST)
    assert best.threshold == other.threshold
    assert best.cost == pytest.approx(other.cost, rel=1e-14)
    exact_h = float(h_measure(table, Beta(2, 2)))
    assert float(h_measure(bins.ranks(), Beta(2, 2))) == pytest.approx(exact_h, abs=1e-13)
    for border in (0.2, 0.3):
        assert not ((bins.low <= border) & (bins.high > border)).any()
    assert ((bins.low <= bins.mean) & (bins.mean <= bins.high)).all()


def test_the_mean_of_a_bin_counts_every_score_as_often_as_it_occurs(monkeypatch):
    monkeypatch.setattr("stakes.ranking._EACH", 2)
    scores = 0.51 + 1e-9 * np.array([0, 1, 1, 1, 2])
    bins = exact_bins(in_runs(np.array([1, 1, 0, 0, 0]), scores), BitGrid(True), np.empty(0))
    sums = bins.mean * bins.weights.sum(axis=1)
    assert len(bins.mean) == 1
    assert float(sums.sum()) == pytest.approx(float(scores.sum()), rel=1e-15)


def test_the_mean_of_a_bin_is_weighted_even_if_weights_average_one(monkeypatch):
    monkeypatch.setattr("stakes.ranking._EACH", 2)
    scores, weights = 0.51 + 1e-6 * np.arange(4), np.array([0.25, 0.25, 1.75, 1.75])
    runs = in_runs(np.array([1, 1, 0, 0]), scores, weights)
    bins = exact_bins(runs, BitGrid(True), np.empty(0))
    assert bins.mean.tolist() == [pytest.approx(np.average(scores, weights=weights), rel=1e-14)]


def test_scores_that_lie_close_together_do_not_fall_into_one_bin():
    """A report takes the interval of the AUC and rate-driven losses from the bins."""
    rng = np.random.default_rng(4)
    u = rng.random(50_000)
    y = (rng.random(u.size) < 0.2 + 0.3 * u).astype(int)
    scores = 0.3 + 1e-7 * u
    table = ScoreTable.from_scores(y, scores)
    ranks = exact_bins(in_runs(y, scores), BitGrid(True), np.empty(0)).ranks()
    wanted = float(delong_auc(table).standard_error)
    assert float(delong_auc(ranks).standard_error) == pytest.approx(wanted, rel=1e-3)
    losses = [expected_loss(each, RateDriven(), CostProportions()) for each in (ranks, table)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def optimal_loss(table):
    return expected_loss(table, Optimal(), CostProportions())


MEASURES = {
    "AUC": auc,
    "H": lambda table: h_measure(table, Beta(2, 2)),
    "loss of optimal thresholds": optimal_loss,
    "least cost": lambda table: best_threshold(table, COST).cost,
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("kind", KINDS)
def test_the_certified_ends_hold_the_value_of_the_single_scores(kind, measure, weighted):
    y, scores = drawn(kind, 3000)
    weights = np.random.default_rng(1).random(3000) + 0.5 if weighted else None
    probable = kind in ("ties", "one score", "unit", "in order")
    if probable:  # so close that every bin holds many
        scores = 0.3 + scores / 400
    sums = BinSums(BitGrid(probabilities=probable), np.array([0.301]))
    for some in np.array_split(np.arange(3000), 5):
        sums.add(y[some], scores[some], None if weights is None else weights[some])
    bins = sums.bins()
    exact = ScoreTable.from_scores(y, scores, weights=weights)
    sure = certified(MEASURES[measure], bins)
    value = float(MEASURES[measure](exact))
    assert sure.low - 1e-12 <= value <= sure.high + 1e-12
    assert sure.low - 1e-12 <= sure.value <= sure.high + 1e-12
    assert (sure.high - sure.low < 1e-12) or kind not in ("one score",)
    assert (sure.high - sure.low > 1e-3) or kind not in ("unit", "in order")
    if measure == "AUC":
        assert sure.high - sure.low == pytest.approx(2 * bins.auc_error, abs=1e-12)
    assert not ((bins.low <= 0.301) & (bins.high > 0.301)).any()


@pytest.mark.parametrize("probabilities", [False, True])
def test_bins_and_cuts_of_blocks_are_those_of_single_scores(probabilities):
    rng = np.random.default_rng(5)
    spread = rng.normal(size=40_000) * np.exp(6 * rng.normal(size=40_000))
    edges = np.ldexp(1.0, np.arange(-40, 20))
    near = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 9), EXTREME])
    scores = np.concatenate([spread, near, -near])
    if probabilities:
        scores = np.abs(scores)
        scores = np.concatenate([scores[scores <= 1], 1 - scores[scores <= 1], [0.5]])
    grid = BitGrid(probabilities)
    assert np.array_equal(grid.bins(scores), grid.places(scores)[0])
    for some in (scores, scores[:50], rng.permutation(scores)[:300], np.linspace(0.4, 0.6, 9999)):
        ordered = np.unique(some + 0.0)
        changes = np.flatnonzero(np.diff(grid.places(ordered)[0])) + 1
        assert np.array_equal(grid.cuts(ordered), changes)
