"""Tallies of tensors on a CPU beside those of arrays; milliseconds of one core, and their ratio.

Run with torch, as in ``OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/torch_cpu.py 1e6``. Both
paths take turns; medians of 21 turns are printed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

try:
    import torch
except ImportError:
    sys.exit(print("needs torch, which is not installed here"))

from stakes import Counts, LossMoments, Problem, ScoreTable, auc, bayes_decision_indices
from stakes.torch import bayes_decisions, counts, loss_moments, score_auc, score_table

Work = Callable[[], object]


def works(size: int) -> dict[str, tuple[Work, Work]]:
    """The same work for arrays and for tensors."""
    rng = np.random.default_rng(0)
    three, four = Problem([[0, 3, 25], [180, 8, 0]]), Problem(rng.integers(0, 30, (4, 5)))
    p, weights = rng.random(size) ** 2, rng.random(size)
    single = p.astype(np.float32)
    truth = (rng.random(size) < p).astype(np.int64)
    classes, decided = rng.integers(0, 4, size), rng.integers(0, 3, size)
    rows, losses = rng.dirichlet(np.ones(4), size), rng.standard_normal((size, 2))
    y, d, k, w = (torch.from_numpy(part) for part in (truth, decided, classes, weights))
    p64, p32, r, x = (torch.from_numpy(part) for part in (p, single, rows, losses))

    def table(scores: np.ndarray, mass: np.ndarray | None = None) -> ScoreTable:
        return ScoreTable.from_scores(truth, scores, weights=mass)

    def moments(mass: np.ndarray | None) -> LossMoments:
        return LossMoments.from_losses(classes, losses, classes=range(4), weights=mass)

    return {
        "exact table, float32": (lambda: table(single), lambda: score_table(p32, y)),
        "exact table, float64, weights": (
            lambda: table(p, weights),
            lambda: score_table(p64, y, w),
        ),
        "exact AUC, float32": (lambda: auc(table(single)), lambda: score_auc(p32, y)),
        "counts": (
            lambda: Counts.from_decisions(truth, decided, three),
            lambda: counts(d, y, three),
        ),
        "counts, weights": (
            lambda: Counts.from_decisions(truth, decided, three, weights=weights),
            lambda: counts(d, y, three, w),
        ),
        "Bayes decisions (n,), float32": (
            lambda: bayes_decision_indices(single, three),
            lambda: bayes_decisions(p32, three),
        ),
        "Bayes decisions (n,), float64": (
            lambda: bayes_decision_indices(p, three),
            lambda: bayes_decisions(p64, three),
        ),
        "Bayes decisions (n, 4), float64": (
            lambda: bayes_decision_indices(rows, four),
            lambda: bayes_decisions(r, four),
        ),
        "moments of two losses": (
            lambda: moments(None),
            lambda: loss_moments(k, x, classes=(0, 1, 2, 3)),
        ),
        "moments of two losses, weights": (
            lambda: moments(weights),
            lambda: loss_moments(k, x, classes=(0, 1, 2, 3), weights=w),
        ),
    }


def milliseconds(work: Work) -> float:
    """Processor time of one call."""
    start = time.process_time()
    work()
    return 1e3 * (time.process_time() - start)


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("| work | numpy | torch | ratio |\n|---|---|---|---|")
    for name, pair in works(int(float(sys.argv[1] if len(sys.argv) > 1 else 1e6))).items():
        rounds = np.array([[milliseconds(work) for work in pair] for _ in range(21)])
        arrays, tensors = np.median(rounds, axis=0)
        ratio = np.median(rounds[:, 1] / rounds[:, 0])
        print(f"| {name} | {arrays:.1f} | {tensors:.1f} | {ratio:.2f} |")
