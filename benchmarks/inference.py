"""Time replicates of tallies against replicates of rows.

``python benchmarks/inference.py`` prints a table. Replicates of rows are slow, so only a few
are timed and the time of all is extrapolated; the table says from how many. Runs of both sides
alternate, and the fastest of each counts. Times are processor times, so that other work on the
machine matters little; nothing here runs on more than one core.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np
from sklearn.metrics import roc_auc_score

from stakes import Counts, Problem, ScoreTable, expected_cost
from stakes.inference import (
    Clusters,
    bootstrap,
    bootstrap_bca,
    compare_costs,
    delong,
    delong_auc,
    pooled_runs,
)
from stakes.ranking import auc
from stakes.tally import JointCounts, JointScores

REPLICATES = 2000
REPEATS = 3


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call."""
    start = process_time()
    call()
    return process_time() - start


def side_by_side(
    ours: Callable[[], object], rows: Callable[[], object], sampled: int
) -> tuple[float, float]:
    """The fastest of several alternating runs; for rows, extrapolated to all replicates."""
    mine, theirs = [], []
    for _ in range(REPEATS):
        mine.append(seconds(ours))
        theirs.append(seconds(lambda: [rows() for _ in range(sampled)]) * REPLICATES / sampled)
    return min(mine), min(theirs)


def expected_cost_of_many_rows(n: int) -> tuple[str, float, float]:
    """Expected cost of three decisions."""
    rng = np.random.default_rng(1)
    problem = Problem([[0, 3, 25], [180, 8, 0]], prior=None)
    y = (rng.random(n) < 0.05).astype(np.intp)
    decided = rng.integers(0, 3, n)

    def ours() -> object:
        counts = Counts.from_decisions(y, decided, problem)  # reading the rows counts too
        return bootstrap(
            lambda c: expected_cost(c, problem), counts, replicates=REPLICATES, rng=rng
        )

    def rows() -> float:
        drawn = rng.integers(0, n, n)
        return float(problem.costs[y[drawn], decided[drawn]].mean())

    return f"expected cost, n = {n:,}", *side_by_side(ours, rows, 10)


def area_of_many_rows(
    n: int, prepared: Callable[[ScoreTable], ScoreTable], how: str
) -> tuple[str, float, float]:
    """Area under the ROC curve of continuous scores: as many cells as cases, unless pooled."""
    rng = np.random.default_rng(1)
    y = (rng.random(n) < 0.3).astype(np.intp)
    score = rng.normal(y, 1.0)

    def ours() -> object:
        table = prepared(ScoreTable.from_scores(y, score))
        return bootstrap(auc, table, replicates=REPLICATES, rng=rng)

    def rows() -> float:
        drawn = rng.integers(0, n, n)
        return float(roc_auc_score(y[drawn], score[drawn]))

    return f"AUC, n = {n:,}, {how}", *side_by_side(ours, rows, 10)


def others() -> list[tuple[str, float]]:
    """Times of work that is not compared with anything here."""
    rng = np.random.default_rng(1)
    n = 1_000_000
    y = (rng.random(n) < 0.05).astype(np.intp)
    score = rng.normal(y, 1.0)
    twin = score + rng.normal(size=n)
    problem = Problem.binary(false_alarm=1, miss=9)
    decided = {"a": (score > 0.5).astype(int), "b": (twin > 0.5).astype(int)}
    coarse = ScoreTable.from_scores(y, np.round(score, 2))
    table = ScoreTable.from_scores(y, score)
    joint = JointCounts.from_decisions(y, decided, problem)
    some = slice(20_000)
    clusters = rng.integers(0, 2000, 20_000)
    clustered = JointScores.from_scores(y[some], {"a": score[some]}, clusters=clusters)
    return [
        (
            f"AUC, n = {n:,}, {coarse.scores.size} distinct scores",
            seconds(lambda: bootstrap(auc, coarse, replicates=REPLICATES, rng=rng)),
        ),
        (
            f"the same, BCa ({coarse.scores.size} scores)",
            seconds(lambda: bootstrap_bca(auc, coarse, replicates=REPLICATES, rng=rng)),
        ),
        (
            f"paired costs of two models, n = {n:,}",
            seconds(lambda: compare_costs(joint, problem, replicates=REPLICATES, rng=rng)),
        ),
        (
            "AUC, 2,000 clusters of 20,000 distinct scores",
            seconds(
                lambda: bootstrap(
                    lambda scores: auc(scores.table("a")),
                    clustered,
                    replicates=REPLICATES,
                    rng=rng,
                    scheme=Clusters(),
                )
            ),
        ),
        (f"DeLong, one table of {n:,} distinct scores", seconds(lambda: delong_auc(table))),
        (
            f"DeLong, two models, n = {n:,}, rows included",
            seconds(lambda: delong(JointScores.from_scores(y, {"a": score, "b": twin}))),
        ),
    ]


def main() -> None:
    """Print the table."""
    print(
        f"| {REPLICATES} replicates | replicates of the tally | replicates of rows, from 10 | "
        f"ratio |"
    )
    print("|---|---|---|---|")
    for name, ours, rows in (
        expected_cost_of_many_rows(1_000_000),
        area_of_many_rows(100_000, pooled_runs, "pooled_runs"),
        area_of_many_rows(100_000, lambda table: table, "all scores distinct"),
    ):
        print(f"| {name} | {ours:.3f} s | {rows:.1f} s | {rows / ours:.0f} |")
    for name, ours in others():
        print(f"| {name} | {ours:.3f} s | | |")


if __name__ == "__main__":
    main()
