"""Fits of calibrators next to their counterparts in scikit-learn, side by side.

Run ``python benchmarks/calibration.py [cases]``. Both sides take turns on the same cases; the best
of several runs counts, in wall-clock time. With ``OPENBLAS_NUM_THREADS=1`` a busy machine disturbs
less.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from stakes.calibration import Affine, Isotonic, Logistic, Platt

_RUNS = 7


def best_times(*tasks: Callable[[], Any]) -> list[float]:
    """Least wall-clock seconds of each task, the tasks taking turns."""
    seconds = [np.inf] * len(tasks)
    for _ in range(_RUNS):
        for k, task in enumerate(tasks):
            begin = time.perf_counter()
            task()
            seconds[k] = min(seconds[k], time.perf_counter() - begin)
    return seconds


def main(n_cases: int) -> None:
    """Print one line for each pair."""
    rng = np.random.default_rng(0)
    odds = rng.normal(scale=2.0, size=n_cases)
    y = (rng.random(n_cases) < 1 / (1 + np.exp(-(0.7 * odds - 0.5)))).astype(int)
    posteriors = 1 / (1 + np.exp(-odds))
    column = odds[:, None]
    scorer = FrozenEstimator(LogisticRegression().fit(column[:1000], y[:1000]))
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "Isotonic / IsotonicRegression": (
            lambda: Isotonic().fit(posteriors, y),
            lambda: IsotonicRegression(out_of_bounds="clip").fit(posteriors, y),
        ),
        "Affine / LogisticRegression(C=inf) on log-odds": (
            lambda: Affine().fit(posteriors, y),
            lambda: LogisticRegression(C=np.inf).fit(
                np.log(posteriors / (1 - posteriors))[:, None], y
            ),
        ),
        "Logistic / LogisticRegression(C=inf)": (
            lambda: Logistic().fit(odds, y),
            lambda: LogisticRegression(C=np.inf).fit(column, y),
        ),
        "Platt / CalibratedClassifierCV(sigmoid)": (
            lambda: Platt().fit(odds, y),
            lambda: CalibratedClassifierCV(scorer, method="sigmoid", ensemble=False, cv=2).fit(
                column, y
            ),
        ),
    }
    print(f"{n_cases} cases, best of {_RUNS} runs, milliseconds")
    for name, tasks in pairs.items():
        ours, theirs = best_times(*tasks)
        print(f"{name:<50}{1e3 * ours:9.0f}{1e3 * theirs:9.0f}{theirs / ours:7.1f} x as fast")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
