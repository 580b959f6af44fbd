r"""How narrow intervals can be at all, where all depends on about three rare and costly mistakes.

Of n cases each costs one of a few values or nothing, and the true cost moves along the exponential
family :math:`p_i(t) \propto p_i e^{t v_i}`, in which the total T of the values says all that the
data say. Whoever does not know that costs lie in this family can only do worse.

The expected width of an interval is the integral over all costs θ of the probability that θ is
accepted, here under the design (Pratt 1961). Each θ must be accepted with a certain probability if
it is true, and by the lemma of Neyman and Pearson it is best rejected where T is low if θ lies
above the cost of the design, and where T is high if below: a rule may know the design. One whose
ends rise with T, and each err with a certain probability, rejects where T is lowest and where it is
highest. Randomised rules meet the probabilities exactly, so that these are bounds for all others.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from coverage_study.intervals import LEAST_SHARE, LEVEL
from coverage_study.populations import FloatArray
from coverage_study.tables import Pair, World
from stakes.inference import Support, profile_bounds, profile_threshold

__all__ = ["DESIGNS", "RareCosts", "percentile_ends", "row_of", "support_of"]

PREVALENCE, CASES = 0.002, 10_000  # where widths miss their goal
FARTHEST, STEPS = 25.0, 600  # costs that are looked at, in misses from the true one, and how many
MOST_TOTAL = 128.0  # in misses; the law of the total is computed up to here, on either side


@dataclass(frozen=True)
class RareCosts:
    """Cases that cost one of some values, in tenths of a miss, or nothing."""

    n_cases: int
    values: tuple[int, ...]
    shares: tuple[float, ...]

    @property
    def cost(self) -> float:
        """The mean of the total, in misses."""
        return self.n_cases * float(np.dot(self.shares, self.values)) / 10

    def law(self) -> FloatArray:
        """Probabilities of the totals from −MOST_TOTAL to MOST_TOTAL, in tenths, by Fourier."""
        reach = round(10 * MOST_TOTAL)
        size = 2 * reach + 1
        turns = np.exp(-2j * np.pi / size * np.outer(np.arange(size), self.values))
        each = 1 + (turns - 1) @ np.array(self.shares)
        return np.roll(np.fft.ifft(each**self.n_cases).real.clip(min=0.0), reach)

    def with_shares(self, shares: FloatArray) -> RareCosts:
        """The same values with other shares."""
        return replace(self, shares=tuple(shares.tolist()))

    def moved(self, t: float) -> RareCosts:
        """The member t of the exponential family."""
        shares = np.array(self.shares) * np.exp(t * np.array(self.values) / 10)
        return self.with_shares(shares / (shares.sum() + 1 - sum(self.shares)))

    def draw(self, samples: int, rng: np.random.Generator) -> FloatArray:
        """How many cases cost each of the values, (samples, V)."""
        every = [*self.shares, 1 - sum(self.shares)]
        return rng.multinomial(self.n_cases, every, size=samples)[:, :-1].astype(np.float64)


def least_width(design: RareCosts, spent: dict[int, tuple[float, float]]) -> float:
    """The least expected width of an interval, in misses.

    A true cost is rejected if the total is among the lowest or among the highest, with
    probabilities `spent[-1]` if it is below the cost of the design, and `spent[1]` if above.
    """
    here, width = design.law(), 0.0
    for side, (low, high) in spent.items():
        there = [design.moved(side * t) for t in np.geomspace(1e-3, 12.0, STEPS)]
        there = [other for other in there if abs(other.cost - design.cost) < FARTHEST]
        costs = np.array([design.cost, *(other.cost for other in there)])
        laws = [other.law() for other in there]
        kept = [1 - _among(law, here, low) - _among(law[::-1], here[::-1], high) for law in laws]
        # Acceptance falls away from the true cost, so that the sum over farther ends is too small.
        width += float(np.sum(np.abs(np.diff(costs)) * kept))
    return width


def _among(there: FloatArray, here: FloatArray, share: float) -> float:
    """The probability under one law of the lowest totals, which have a share under another."""
    if share == 0:
        return 0.0
    place = int(np.searchsorted(np.cumsum(there), share))
    part = (share - there[:place].sum()) / there[place]
    return float(here[:place].sum() + part * here[place])


def row_of(design: RareCosts, samples: int, seed: int) -> dict[str, Any]:
    """Mean widths over that of the percentile bootstrap: the least ones, and of our intervals."""
    counts = design.draw(samples, np.random.default_rng(seed))
    low, high = percentile_ends(design, counts)
    usual = float(np.mean(high - low))
    threshold = profile_threshold(LEVEL, np.asarray(np.inf))
    ends = profile_bounds(support_of(design, counts), threshold)
    tail = 1 - LEAST_SHARE
    least = {
        "known": {-1: (0.0, tail), 1: (tail, 0.0)},
        "halves": dict.fromkeys((-1, 1), (tail / 2, tail / 2)),
        "level": dict.fromkeys((-1, 1), ((1 - LEVEL) / 2, (1 - LEVEL) / 2)),
    }
    widths = {name: least_width(design, spent) / usual for name, spent in least.items()}
    covers = 100 * float(np.mean((low <= design.cost) & (design.cost <= high)))
    ours = design.n_cases * float(np.mean(ends[1] - ends[0])) / usual
    return {"percentile": covers, **widths, "ours": ours}


def support_of(design: RareCosts, counts: FloatArray) -> Support:
    """The supports of samples, with so many cases of each value (samples, V)."""
    values = np.array([0, *design.values]) / 10
    table = np.concatenate([design.n_cases - counts.sum(axis=1, keepdims=True), counts], axis=1)
    grid = np.broadcast_to(values, (len(counts), 1, values.size))
    return Support(grid, table[:, None], grid.min(axis=-1), grid.max(axis=-1))


def percentile_ends(design: RareCosts, counts: FloatArray) -> FloatArray:
    """Both ends (2, samples) of the percentile bootstrap, in misses, without simulation error."""
    laws = [np.cumsum(design.with_shares(row / design.n_cases).law()) for row in counts]
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    return np.stack([np.searchsorted(law, tails) / 10 - MOST_TOTAL for law in laws], axis=1)


def _designs() -> dict[str, RareCosts]:
    """The designs of `intervals.subjects` whose widths miss the goal, without the frequent class.

    What that class costs varies far less. With a stated prior the cases of the rare class are a
    sample of their own.
    """
    rare = round(PREVALENCE * CASES)
    world = World(PREVALENCE)
    decided = world.decided(world.population).values[1] / PREVALENCE
    costs = (10 * world.problem.costs[1] / world.problem.costs[1].max()).round().astype(int)
    pairs = (Pair(PREVALENCE).cells[1] / PREVALENCE).ravel()
    gaps = (costs[:, None] - costs).ravel()
    single = tuple(costs[:2].tolist()), decided[:2]
    both = tuple(gaps[gaps != 0].tolist()), pairs[gaps != 0]
    return {
        name: RareCosts(n_cases, values, tuple((shares * rare / n_cases).tolist()))
        for name, n_cases, (values, shares) in (
            ("EC", CASES, single),
            ("EC difference", CASES, both),
            ("EC difference, prior stated", rare, both),
        )
    }


DESIGNS = _designs()
