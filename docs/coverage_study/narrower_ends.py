r"""What narrower intervals would cost, where all depends on about three rare and costly mistakes.

The likelihood ratio of this library with other errors at its ends. *Equal*: each end errs in some
share of samples. *Unequal*, for differences: a difference of θ mistakes is missed in more samples
whose total is too low, :math:`(2.5 + a \tanh(\theta / 2))` %, and in fewer whose total is too high,
:math:`(2.5 - b \tanh(\theta / 2))` %, so that intervals of systems that are about equally good are
narrow, and others wide. These shares are nominal; what becomes of them is computed over all numbers
of mistakes of one kind, or of two kinds that differ in sign, at many rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from scipy.stats import norm, poisson

from coverage_study.intervals import MANY_CASES
from coverage_study.least_widths import DESIGNS, percentile_ends, support_of
from coverage_study.populations import FloatArray
from stakes.inference import Support, profile_bounds

__all__ = ["RULES", "Ends", "row_of"]

MOST = 48  # mistakes of a kind in one sample; more have a chance below 1e-6 at all rates
ONE_KIND = np.arange(0.02, 20.0, 0.02)
TWO_KINDS = np.concatenate([[0.01, 0.05], np.arange(0.1, 9.05, 0.1)])
STEPS = 60  # towards the ends, whose errors depend on where they are


@dataclass(frozen=True)
class Ends:
    """How often each end errs, nominally: the same everywhere, or it depends on the true mean."""

    name: str
    share: float = 0.025
    more: float = 0.0  # in samples whose total is too low, if the mean is large
    less: float = 0.0  # in samples whose total is too high

    @property
    def equal(self) -> bool:
        """Whether both ends err equally often."""
        return self.more == self.less == 0

    def bounds(self, support: Support, n_cases: float) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends, in mistakes."""
        return -self._upper(support.negated(), n_cases), self._upper(support, n_cases)

    def _upper(self, support: Support, n_cases: float) -> FloatArray:
        end = np.zeros(support.lowest.shape[:-1])
        for _ in range(1 if self.equal else STEPS):
            end = n_cases * profile_bounds(support, self.threshold(end))[1]
        return end

    def threshold(self, end: FloatArray) -> FloatArray:
        """Of the likelihood ratio at an upper end, in mistakes."""
        far = np.tanh(end / 2)
        share = self.share + np.where(far > 0, self.more, self.less) * far
        return np.asarray(norm.isf(share) ** 2)

    @property
    def of_many(self) -> float:
        """The width where systems clearly differ in many cases, over that with equal errors."""
        ends = norm.isf([self.share + self.more, self.share - self.less])
        return float(ends.sum() / (2 * norm.isf(0.025)))

    @property
    def of_all(self) -> float:
        """The nominal coverage there, in %."""
        return 100 * (1 - 2 * self.share - self.more + self.less)


RULES = {
    ends.name: ends
    for ends in (
        Ends("2.5 % at each end (ours)"),
        Ends("3 % at each end", 0.03),
        Ends("3.5 % at each end", 0.035),
        Ends("2.5 ± 1 tanh(θ / 2) %", 0.025, 0.01, 0.01),
        Ends("2.5 ± 2 tanh(θ / 2) %", 0.025, 0.02, 0.02),
        Ends("2.5 ± 2.4 tanh(θ / 2) %", 0.025, 0.024, 0.024),
        Ends("2.5 + 2.5 or − 1.5 tanh(θ / 2) %", 0.025, 0.025, 0.015),
        Ends("3.5 ± 3 tanh(θ / 2) %", 0.035, 0.03, 0.03),
    )
}


def row_of(ends: Ends, samples: int, seed: int) -> dict[str, Any]:
    """Median widths over those of the percentile bootstrap, and coverage at the worst rates."""
    row: dict[str, Any] = {"many": ends.of_many, "nominal": ends.of_all}
    for name, design in DESIGNS.items():
        if name == "EC" and not ends.equal:
            continue  # costs have no natural zero
        counts = design.draw(samples, np.random.default_rng(seed))
        low, high = ends.bounds(support_of(design, counts), design.n_cases)
        usual = percentile_ends(design, counts)
        row[name] = float(np.median(high - low) / np.median(usual[1] - usual[0]))
    if ends.equal:
        row["one kind"] = 100 * worst(ends, (1.0,), [(rate,) for rate in ONE_KIND])
    pairs = list(combinations_with_replacement(TWO_KINDS.tolist(), 2))
    return row | {"two kinds": 100 * worst(ends, (1.0, -1.0), pairs)}


def worst(ends: Ends, values: tuple[float, ...], rates: Sequence[tuple[float, ...]]) -> float:
    """The least coverage over rates of mistakes, whose numbers are Poisson distributed."""
    numbers = np.indices((MOST,) * len(values)).reshape(len(values), -1).T.astype(np.float64)
    usual = MANY_CASES - numbers.sum(axis=1, keepdims=True)
    every = np.array([0.0, *values])
    grid = np.broadcast_to(every, (len(numbers), 1, every.size))
    table = np.concatenate([usual, numbers], axis=1)[:, None]
    support = Support(grid, table, grid.min(axis=-1), grid.max(axis=-1))
    low, high = ends.bounds(support, MANY_CASES)
    truths = np.array(rates) @ np.array(values)
    chances = (poisson.pmf(numbers, each).prod(axis=1) for each in rates)
    return min(
        float(chance @ ((low <= truth) & (truth <= high)))
        for chance, truth in zip(chances, truths, strict=True)
    )
