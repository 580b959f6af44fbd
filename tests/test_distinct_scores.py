"""The table of scores, sorted as whole numbers, against a slow twin; bit for bit."""

import numpy as np
import pytest

from stakes import ScoreTable

NASTY = np.array(
    [-np.inf, -1e308, -2.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 2.2e-308, 1e-300, 0.1, 0.1 + 1e-17,
     0.3, np.nextafter(0.3, 1), 1.0, np.nextafter(1.0, 2), 2.0, 2.5, 1e308, np.inf]
)  # fmt: skip


def slow_table(y, scores, weights=None):
    """Distinct scores by a set, sums in the order of the rows."""
    weights = np.ones(len(y)) if weights is None else weights
    sums: dict[float, list[float]] = {}
    for label, score, weight in zip(y, scores, weights, strict=True):
        sums.setdefault(float(score) + 0.0, [0.0, 0.0])[label] += weight
    distinct = sorted(sums)
    return np.array(distinct), np.array([sums[score] for score in distinct])


def nasty_rows(rng):
    """Scores of one sign or of both, with and without ties, of two classes or of one."""
    n = int(rng.integers(1, 40))
    kind = rng.integers(5)
    scores = rng.choice(NASTY, n) if kind < 3 else rng.integers(0, 2**64, n, np.uint64).view(float)
    scores = np.where(np.isnan(scores), 0.5, scores)
    scores = np.abs(scores) if kind in (1, 3) else -np.abs(scores) if kind == 2 else scores
    return rng.integers(0, 2, n) if rng.random() < 0.8 else np.full(n, rng.integers(2)), scores


def same_bits(table, expected):
    scores, weights = expected
    return (
        table.scores.tobytes() == scores.tobytes() and table.weights.tobytes() == weights.tobytes()
    )


@pytest.mark.parametrize("many", [600, pytest.param(6000, marks=pytest.mark.slow)])
def test_tables_of_nasty_scores_are_those_of_a_slow_twin_bit_for_bit(many):
    rng = np.random.default_rng(20)
    for _ in range(many):
        y, scores = nasty_rows(rng)
        assert same_bits(ScoreTable.from_scores(y, scores), slow_table(y, scores)), (y, scores)


@pytest.mark.parametrize("many", [400, pytest.param(6000, marks=pytest.mark.slow)])
def test_weighted_tables_of_nasty_scores_are_those_of_a_slow_twin_bit_for_bit(many):
    rng = np.random.default_rng(21)
    for _ in range(many):
        y, scores = nasty_rows(rng)
        weights = 10.0 ** rng.integers(-8, 8, len(y))
        table = ScoreTable.from_scores(y, scores, weights=weights)
        assert same_bits(table, slow_table(y, scores, weights)), (y, scores, weights)


def many_rows(shape, rng, n=40_000):
    scores = {
        "distinct": lambda: rng.normal(size=n),
        "one tie": lambda: np.append(rng.normal(size=n - 2), [0.5, 0.5]),
        "tied": lambda: np.round(rng.normal(size=n), 2),
        "skewed": lambda: rng.lognormal(sigma=6, size=n),
        "nearly all alike": lambda: np.where(rng.random(n) < 0.99, 0.25, rng.random(n)),
        "one score": lambda: np.full(n, -0.5),
        "huge and infinite": lambda: np.append(rng.normal(size=n - 3) * 1e307, [-np.inf, 1, 1e308]),
    }[shape]()
    return rng.integers(0, 2, n), scores


@pytest.mark.parametrize(
    "shape",
    [
        "distinct",
        "one tie",
        "tied",
        "skewed",
        "nearly all alike",
        "one score",
        "huge and infinite",
    ],
)
def test_tables_that_are_sorted_in_two_stages_are_those_of_numpy_bit_for_bit(shape):
    rng = np.random.default_rng(22)
    y, scores = many_rows(shape, rng)
    distinct, place = np.unique(scores + 0.0, return_inverse=True)  # one zero only
    for weights in (None, 10.0 ** rng.integers(-8, 8, len(y))):
        sums = np.bincount(2 * place + y, weights, minlength=2 * distinct.size).astype(float)
        table = ScoreTable.from_scores(y, scores, weights=weights)
        assert same_bits(table, (distinct, sums.reshape(-1, 2)))


def test_the_rows_of_the_caller_stay_as_they_are():
    y, scores, weights = np.array([1, 0, 1]), np.array([-0.0, 2.0, -3.0]), np.array([1.0, 2, 3])
    for weight in (None, weights):
        ScoreTable.from_scores(y, scores, weights=weight)
    assert y.tolist() == [1, 0, 1]
    assert np.signbit(scores).tolist() == [True, False, True]
    assert all(column.flags.writeable for column in (y, scores, weights))


def test_a_table_of_few_distinct_scores_does_not_keep_the_memory_of_all_cases():
    y, scores = many_rows("nearly all alike", np.random.default_rng(23))
    for weights in (None, np.full(len(y), 0.5)):
        table = ScoreTable.from_scores(y, scores, weights=weights)
        for part in (table.scores, table.weights):
            memory = part if part.base is None else part.base
            assert memory.nbytes <= 16 * table.scores.size
