"""Where nearly concave bounds first exceed zero, against plain loops and dense grids."""

import numpy as np
import pytest

from stakes.inference.contender_exits import Pieces, envelopes, first_roots

SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 10))]
CLOSE = 1e-6  # relative width of the bracket of a root


def crossing_lines(rng, n, n_lines):
    """Lines (N, 2 n_lines) that rise or fall, their least one highest somewhere in each piece."""
    low = rng.integers(0, 2, n) * rng.random(n)
    span = 10 ** rng.uniform(-2, 1.3, n)
    early, anywhere = 10 ** rng.uniform(-4, 0, n), rng.random(n)
    share = np.where(rng.random(n) < 0.5, early, anywhere)
    top = rng.choice([-1, 1, 1], n) * 10 ** rng.uniform(-4, 0, n)
    rises = 10 ** rng.uniform(-1, 1, (n, n_lines)) / (share * span)[:, None]
    falls = 10 ** rng.uniform(-1, 1.5, (n, n_lines)) / ((1 - share) * span)[:, None]
    slopes = np.concatenate([rises, -falls], axis=1)
    slack = rng.exponential(0.3, slopes.shape) * rng.integers(0, 2, slopes.shape)
    starts = (top - slopes.T * (low + share * span)).T + slack
    return low, low + span, starts, slopes


def pieces_of(rng, low, high, slopes):
    """Pieces along which the estimates rise less than their bounds may, or even fall."""
    none, gain = np.zeros(len(low), int), slopes.max(axis=1) * rng.uniform(-0.3, 1.5, len(low))
    return Pieces(none, none, none, none, low, high, gain)


def excess(low, high, starts, slopes):
    """From where to where the least of some lines exceeds zero, in plain loops; None for never."""
    first, last = low, high
    for start, slope in zip(starts, slopes, strict=True):
        if slope > 0:
            first = max(first, -start / slope)
        if slope < 0:
            last = min(last, -start / slope)
    return (first, last) if first < last else None


@pytest.mark.parametrize("n_lines", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_root_of_the_least_of_some_lines_is_that_of_plain_loops(seed, n_lines):
    rng = np.random.default_rng(seed)
    n = 2000
    low, high, starts, slopes = crossing_lines(rng, n, n_lines)
    pieces = pieces_of(rng, low, high, slopes)

    def bound(some, away):
        return np.min(starts[some] + slopes[some] * away[:, None], axis=1)

    rows, close = rng.permutation(n)[: n - 5], np.full(n, CLOSE)
    roots, n_found = first_roots(bound, rows, pieces, low, close), 0
    for row, root in zip(rows, roots, strict=True):
        place = excess(low[row], high[row], starts[row], slopes[row])
        if place is None:
            assert root == np.inf
            continue
        first, last = place
        short = max(CLOSE * first, 1e-9)
        if last - first > 3 * short:  # what is narrower need not be found
            n_found += 1
            assert abs(root - first) <= 3 * short, row
    assert n_found > n / 2


@pytest.mark.parametrize("ripple", [1e-9, 1e-4, 0.01])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_excess_clearly_higher_than_what_is_not_concave_about_a_bound_is_found(seed, ripple):
    """Rounded corners, and waves of a share of the range; a dense grid says where it exceeds."""
    rng = np.random.default_rng(seed)
    n = 500
    low, high, starts, slopes = crossing_lines(rng, n, 1)
    pieces, soft = pieces_of(rng, low, high, slopes), 10 ** rng.uniform(-3, -0.5, n)
    waves, phase = 2 * np.pi * rng.uniform(0.5, 4, n) / (high - low), rng.uniform(0, 6, n)
    height = np.zeros(n)

    def bound(some, away):
        lines = starts[some] + slopes[some] * away[:, None]
        least = lines.min(axis=1)
        heaped = np.exp((least[:, None] - lines) / soft[some][:, None]).sum(axis=1)
        rippled = height[some] * np.sin(waves[some] * away + phase[some])
        return least - soft[some] * np.log(heaped) + rippled

    rows = np.arange(n)
    shares = np.sort(np.concatenate([np.geomspace(1e-6, 1, 300), np.linspace(0, 1, 300)]))
    grids = low[:, None] + (high - low)[:, None] * shares
    repeated = np.repeat(rows, shares.size)
    height = ripple * np.ptp(bound(repeated, grids.ravel()).reshape(grids.shape), axis=1)
    values = bound(repeated, grids.ravel()).reshape(grids.shape)
    roots, n_found = first_roots(bound, rows, pieces, low, np.full(n, CLOSE)), 0
    for row, root in enumerate(roots):
        clear = grids[row][values[row] > 6 * height[row]]
        short = max(CLOSE * min(root, high[row]), 1e-9)
        if clear.size and clear[-1] - clear[0] > 3 * short:
            n_found += 1
            assert root <= clear[0] + 3 * short
        if np.isfinite(root):
            around = bound(np.full(9, row), root + short * np.arange(-4, 5))
            assert around.max() > 0
            assert around.min() <= 0 or root == low[row]
    assert n_found > 0.1 * n


def test_a_bound_far_below_zero_is_given_up_in_its_middle():
    """Start and end do not tell that nothing exceeds zero in between; the middle does."""
    n, asked = 50, []
    rng = np.random.default_rng(0)
    slopes, bend = rng.integers(-1, 2, (n, 1)), rng.integers(0, 2, n)
    pieces = pieces_of(rng, np.zeros(n), np.ones(n), slopes)._replace(gain=slopes[:, 0])

    def bound(some, away):
        asked.append(away)
        return -5 + slopes[some, 0] * away - bend[some] * away**2

    roots = first_roots(bound, np.arange(n), pieces, pieces.low, np.full(n, CLOSE))
    assert (roots == np.inf).all()
    assert [np.unique(away).tolist() for away in asked] == [[0.0], [1.0], [0.5]]


def test_a_kink_where_secants_come_to_a_halt_is_left_by_bisection():
    """Secants between a steep line before the kink and a flat one behind it advance by inches."""
    none, unit = np.zeros(1, int), np.ones(1)
    pieces = Pieces(none, none, none, none, low=0 * unit, high=unit, gain=unit)
    steps = []

    def bound(some, away):
        steps.append(away)
        return np.minimum(450 * (away - 0.0137), 0.7 * (away - 0.0135))

    (root,) = first_roots(bound, none, pieces, unit, CLOSE * unit)
    assert root == pytest.approx(0.0137, abs=1e-7)
    assert len(steps) < 60


def test_of_lines_that_are_one_but_for_rounding_the_first_takes_over():
    slopes = np.array([[0.0, -1.0, -1.0 - 1e-14, 2.0]])
    _, lines, _, highs = envelopes(np.array([[0.0, 3.0, 3.0, 0.5]]), slopes)
    assert lines[:2].tolist() == [0, 1]
    assert highs[0] == pytest.approx(3.0)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_lowest_of_some_lines_is_that_of_plain_loops(seed):
    rng = np.random.default_rng(seed)
    starts, slopes = rng.integers(0, 9, (30, 4)), rng.integers(-4, 5, (30, 4))
    rows, lines, lows, highs = envelopes(starts.astype(float), slopes.astype(float))
    for row in range(30):
        for x in rng.uniform(0, 12, 20):
            place = np.flatnonzero((rows == row) & (lows < x) & (x <= highs))
            assert place.size == 1
            least = min(starts[row, j] + slopes[row, j] * x for j in range(4))
            line = lines[place[0]]
            assert starts[row, line] + slopes[row, line] * x == pytest.approx(least)
