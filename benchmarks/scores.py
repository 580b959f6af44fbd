"""What all seven expected losses cost beside building the table: ``python benchmarks/scores.py``.

Ten million distinct scores, all cost proportions equally likely. The losses together may take as
long as the table did; prints seconds and the ratio, and fails when it is above one.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np

import stakes

METHODS = (
    stakes.ScoreFixed(0.5),
    stakes.RateFixed(0.5),
    stakes.ScoreUniform(),
    stakes.RateUniform(),
    stakes.ScoreDriven(),
    stakes.RateDriven(),
    stakes.Optimal(),
)


def main(n_cases: int) -> int:
    """Build one table, compute all losses, compare."""
    rng = np.random.default_rng(0)
    scores = rng.random(n_cases)
    positive = rng.random(n_cases) < scores
    start = perf_counter()
    table = stakes.ScoreTable.from_scores(positive, scores)
    built = perf_counter()
    for method in METHODS:
        stakes.expected_loss(table, method, stakes.CostProportions())
    done = perf_counter()
    ratio = (done - built) / (built - start)
    print(f"table {built - start:.2f} s, seven losses {done - built:.2f} s, ratio {ratio:.2f}")
    return int(ratio > 1)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000))
