"""Scores sorted in buckets, against sorts that take no short cut, bit for bit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy import inf

from stakes._check import FloatArray, IntArray
from stakes.tally import ScoreTable, SortedRuns
from stakes.tally import score_table as bucket_sort
from stakes.tally import score_table as distinct_scores

TINY = 5e-324
MEASURE = bucket_sort.sort_times.__wrapped__  # without the memory of an earlier call
MACHINES = {
    "buckets": (1.0, 12.0, 0.5),
    "rows": (1.0, 5.0, 3.0),
    "numpy": (3.0, 4.0, 2.0),
    "slow rows": (4.0, 7.0, 0.25),  # which would have to be sorted twice
}


@pytest.fixture(params=["buckets", "numpy"], autouse=True)
def machine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which buckets pay, and one on which numpy's sort is faster."""
    times = bucket_sort.SortTimes(*MACHINES[request.param])
    monkeypatch.setattr(bucket_sort, "sort_times", lambda: times)
    sizes = {"_MANY": 32, "_BUCKET": 4, "_ROW": 16, "_SLICE": 40}
    for name, value in {**sizes, "_CELLS": 8, "_PROBES": 16, "_PROBED": 4}.items():
        monkeypatch.setattr(bucket_sort, name, value)


def nasty(rng: np.random.Generator, n: int) -> dict[str, FloatArray]:
    """Scores that are hard to put into buckets of equal size."""
    smooth = rng.normal(size=n)
    return {
        "smooth": smooth,
        "probabilities": rng.random(n),
        "ties": smooth.round(1),
        "two values": rng.choice([0.25, 0.75], n),
        "all equal": np.full(n, 0.3),
        "zeros of both signs": rng.choice([-0.0, 0.0, 1.0], n),
        "next to each other": 1.0 + rng.integers(0, 9, n) * 2.0**-52,
        "denormal": rng.integers(-20, 20, n) * TINY,
        "infinite": np.where(rng.random(n) < 0.2, rng.choice([-inf, inf], n), smooth),
        "wider than floats": rng.choice([-1.7e308, 0.1, 1.7e308], n) * rng.random(n),
        "skewed": rng.beta(0.1, 9, n),
        "skewed to one": 1 - rng.beta(0.1, 9, n),
        "outliers": np.append(smooth[1:], 1e300),
        "every magnitude": np.exp2(rng.uniform(-1070, 1020, n)),
        "negative of every magnitude": -np.exp2(rng.uniform(-1070, 1020, n)),
        "in order": np.sort(smooth),
        "in reverse": np.sort(smooth)[::-1],
        "one low and many high": np.append(smooth[1:] * 1e-9 + 5.0, -1e9),
    }


NASTY = tuple(nasty(np.random.default_rng(1), 2))


def slow_table(
    y: IntArray, scores: FloatArray, weights: FloatArray | None
) -> tuple[list[float], list[list[float]]]:
    """Distinct scores in order and the sums of both classes, added row by row."""
    sums: dict[float, list[float]] = {}
    for place, score in enumerate(scores.tolist()):
        weight = 1.0 if weights is None else float(weights[place])
        sums.setdefault(score + 0.0, [0.0, 0.0])[int(y[place])] += weight
    return sorted(sums), [sums[score] for score in sorted(sums)]


def assert_same_bits(table: ScoreTable, scores: list[float], weights: list[list[float]]) -> None:
    assert np.array_equal(table.scores.view(np.uint64), np.array(scores).view(np.uint64))
    assert np.array_equal(table.weights, weights)


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("n", [31, 32, 47, 48, 49, 500, 2000])
@pytest.mark.parametrize("weighted", [False, True])
def test_tables_are_those_of_a_plain_sort_bit_for_bit(name: str, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(n)
    scores, y = nasty(rng, n)[name], rng.integers(0, 2, n)
    weights = rng.random(n) + 0.5 if weighted else None
    before = scores.copy()
    table = ScoreTable.from_scores(y, scores, weights=weights)
    assert_same_bits(table, *slow_table(y, scores, weights))
    assert np.array_equal(scores.view(np.uint64), before.view(np.uint64))


@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.floats(allow_nan=False), st.floats(0.1, 9)), min_size=32
    )
)
def test_tables_of_any_floats_are_those_of_a_plain_sort(
    rows: list[tuple[int, float, float]],
) -> None:
    y, scores, weights = (np.array(column) for column in zip(*rows, strict=True))
    for weight in (None, weights):
        table = ScoreTable.from_scores(y, scores, weights=weight)
        assert_same_bits(table, *slow_table(y, scores, weight))


@pytest.mark.parametrize("name", ["smooth", "ties", "every magnitude", "infinite"])
def test_sorted_runs_hold_what_a_plain_sort_does(name: str) -> None:
    rng = np.random.default_rng(4)
    scores, y = nasty(rng, 700)[name], rng.integers(0, 2, 700)
    runs = SortedRuns()
    for part in np.array_split(np.arange(700), 3):
        runs.add(y[part], scores[part])
    tables = list(runs.tables())
    distinct, weights = slow_table(y, scores, None)
    assert np.concatenate([table.scores for table in tables]).tolist() == distinct
    assert np.concatenate([table.weights for table in tables]).tolist() == weights


def test_what_a_bucket_holds_is_divided_a_few_times_at_most() -> None:
    """Otherwise, scores of every magnitude would be scattered once for each of them."""
    scores = np.exp2(np.random.default_rng(5).uniform(-1070, 1020, 3000))
    sizes: list[int] = []

    def counted(entries: FloatArray) -> FloatArray:
        sizes.append(entries.size)
        return entries

    ordered = bucket_sort._in_rows(scores.copy(), counted, np.ndarray.sort)
    assert np.array_equal(ordered, np.sort(scores))
    assert sum(sizes) <= 3 * bucket_sort._LEVELS * scores.size


@pytest.mark.parametrize(
    ("name", "rows_pay", "buckets_pay"),
    [
        ("buckets", True, True),
        ("rows", True, False),
        ("numpy", False, False),
        ("slow rows", False, False),
    ],
)
def test_buckets_and_rows_are_chosen_where_they_are_faster(
    name: str, rows_pay: bool, buckets_pay: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short rows, a long array and a running sum take turns; each stops the clock at its end."""
    steps = itertools.chain.from_iterable((0.0, seconds) for seconds in MACHINES[name])
    clock = itertools.accumulate(itertools.cycle(steps))
    monkeypatch.setattr(bucket_sort, "perf_counter", lambda: next(clock))
    times = MEASURE()
    assert times == MACHINES[name]
    assert (times.rows_pay, times.buckets_pay) == (rows_pay, buckets_pay)


@pytest.mark.parametrize("mirrored", [False, True])
def test_keys_know_their_scores(mirrored: bool) -> None:
    scores = np.array([TINY, 0.3, 1.0, 1e308, inf]) * (-1 if mirrored else 1)
    keys = distinct_scores.packed_scores(np.array([0, 1, 1, 0, 1]), scores, mirrored=mirrored)
    assert bucket_sort.scores_of(keys, mirrored=mirrored).tolist() == scores.tolist()
