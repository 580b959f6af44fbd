"""Cost and results of the mis-ranking studies, with as many pairs as the paper draws.

Prints the tables of claims D9 and D10 beside the values that they should have, and what ten to the
six pairs cost against the drawing of their random numbers: three times as much is the goal. Exits
with 1 when a value is more than four standard errors off; a missed goal is printed.

"The drawing" has two readings, and both are printed:

- *samplers*: the calls of the samplers that the study makes, which turn uniform and normal numbers
  into utilities, rates and errors and draw some of them again. The limit applies here.
- *bare generator*: the least numbers that a pair needs, drawn and thrown away. This ratio is for
  information only: the study also makes the distributions, and it is above three.

    python benchmarks/audit.py [pairs]
"""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping

import numpy as np

from stakes.audit import (
    FAMILIAR,
    AssessmentError,
    Metric,
    Misranking,
    Setting,
    exact_misranking,
    gaussian_setting,
    misranking,
    uniform_setting,
)

SETTINGS: Mapping[str, Callable[[], Setting]] = {
    "uniform": uniform_setting,
    "gaussian": gaussian_setting,
}
NAMES = ("recall", "precision", "balanced accuracy", "MCC", "Fowlkes-Mallows", "F1", "accuracy")
METRICS: Mapping[str, Metric] = {name: FAMILIAR[name] for name in NAMES}
LINEAR = ("recall", "balanced accuracy", "accuracy")

# Claims D9 and D10, in per cent: exact for the linear metrics, drawn from 10**6 for the others.
FIGURE_6 = {
    "uniform": (25, 21.26, 15.8845, 11.13, 10.40, 9.75, 8.767406, 3.99),
    "gaussian": (25, 20.88, 14.5343, 8.37, 7.40, 6.55, 4.86881, 2.49),
}
FIGURE_7 = {
    "uniform": {0.05: 2.06, 0.1: 3.70, 0.15: 5.10, 0.2: 6.36, 0.25: 7.54, 0.3: 8.54},
    "gaussian": {0.05: 1.13, 0.1: 2.26, 0.15: 3.42, 0.2: 4.62, 0.25: 5.76, 0.3: 6.72},
}
BLOCK = 1 << 15
REPEATS = 5


def compare(study: Misranking, name: str, printed: float) -> bool:
    """Print a value beside the published one; return whether they agree to four standard errors."""
    share = study.share(name)
    claim = printed / 100
    drawn = 0.0 if name in LINEAR else 1e-6
    error = np.sqrt(claim * (1 - claim) * (1 / study.pairs + drawn))
    rounding = 5e-5
    gap = abs(share - claim)
    verdict = "" if gap <= 4 * error + rounding else "   FAR OFF"
    print(f"  {name:20s} {share:9.4%}  claim {printed:9.6g} %  {gap / error:5.2f} errors{verdict}")
    return not verdict


def values(pairs: int) -> bool:
    """The tables of figures 6 and 7."""
    good = True
    for setting, make in SETTINGS.items():
        errors = {"error 0.11": AssessmentError(0.11)}
        errors.update({f"error {sd}": AssessmentError(sd) for sd in FIGURE_7[setting]})
        rng = np.random.default_rng(20230221)
        study = misranking(METRICS, **make(), error=errors, pairs=pairs, rng=rng)
        print(f"\nD9, {setting}, {pairs} pairs")
        for name, printed in zip((*NAMES, "error 0.11"), FIGURE_6[setting], strict=True):
            good &= compare(study, name, printed)
        for name in LINEAR:
            print(f"  {name:20s} {exact_misranking(METRICS[name], **make()):14.10%}  exact")
        print(f"D10, {setting}")
        for sd, printed in FIGURE_7[setting].items():
            good &= compare(study, f"error {sd}", printed)
    return good


def seconds(work: Callable[[], object]) -> float:
    """Least processor time of several runs: the others only add noise from the machine."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def cost(pairs: int) -> bool:
    """Eight criteria against the drawing of the same random numbers, through the same samplers."""
    good = True
    error = AssessmentError(0.11)
    for setting, make in SETTINGS.items():
        world, rng = make(), np.random.default_rng(1)

        def draw(world: Setting = world, rng: np.random.Generator = rng) -> None:
            for start in range(0, pairs, BLOCK):
                size = min(BLOCK, pairs - start)
                true = world["utilities"](rng, size)
                world["class_share"](rng, (size,))
                world["rates"](rng, (2, 2, size))
                error(rng, true)

        def study(world: Setting = world, rng: np.random.Generator = rng) -> Misranking:
            return misranking(METRICS, **world, error={"error": error}, pairs=pairs, rng=rng)

        drawing, whole = seconds(draw), seconds(study)
        raw = seconds(lambda rng=rng: _raw(rng, pairs))  # type: ignore[misc]
        tracemalloc.start()
        study()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"\ncost, {setting}, {pairs} pairs x 8 criteria: {whole:.3f} s, "
            f"peak memory {peak / 2**20:.1f} MiB\n"
            f"  against its samplers          {drawing:.3f} s: {whole / drawing:5.2f} times, "
            f"at most 3 wanted\n"
            f"  against bare generator calls  {raw:.3f} s: {whole / raw:5.2f} times, no limit"
        )
        good &= whole <= 3 * drawing
    return good


def _raw(rng: np.random.Generator, pairs: int) -> None:
    """The least that could be drawn: eight uniforms and four normals for each pair, unused."""
    for start in range(0, pairs, BLOCK):
        size = min(BLOCK, pairs - start)
        rng.random((8, size))
        rng.standard_normal((4, size))


if __name__ == "__main__":
    n_pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 10**6
    correct, cheap = values(n_pairs), cost(10**6)
    print(f"\nvalues {'reproduced' if correct else 'OFF'}; cost {'kept' if cheap else 'EXCEEDED'}")
    sys.exit(not correct)
