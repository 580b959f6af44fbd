"""Tallies on a GPU beside torchmetrics and the floor: a copy, a sort and a bincount.

Run with a torch for CUDA, torchmetrics and scipy, say ``PYTHONPATH=src python
benchmarks/torch_cuda.py 1e9``, where the argument is the largest number of cases to time. First,
tallies on the GPU are compared with those of numpy on hard cases; then the times follow, in
milliseconds by CUDA events, each the minimum of several runs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

try:
    import torch
    import torchmetrics
except ImportError:
    sys.exit(print("needs torch for CUDA and torchmetrics, which are not installed here"))
if not torch.cuda.is_available():
    sys.exit(print("needs a GPU, and there is none"))

from torchmetrics.functional.classification import (
    binary_auroc,
    binary_calibration_error,
    binary_confusion_matrix,
)

from stakes import Counts, Problem, ScoreTable, auc, bayes_decision_indices, best_threshold
from stakes.ranking import roc_hull
from stakes.torch import (
    BayesCost,
    Evaluation,
    ExpectedCost,
    Scale,
    ScoreBins,
    bayes_decisions,
    counts,
    loss_moments,
    score_auc,
    score_bins,
    score_hull,
    score_table,
)
from stakes.torch.device_scores import DeviceBins

GPU = torch.device("cuda")
PROBLEM = Problem.binary(false_alarm=1, miss=9)
THREE = Problem([[0, 3, 25], [180, 8, 0]])
STATES = ("cells", "rests", "low", "high", "faults")


# Equality ----------------------------------------------------------------------------------------


def nasty(rng: np.random.Generator, size: int) -> np.ndarray:
    """Scores with ties, zeros of both signs, subnormal and infinite values."""
    spread = rng.standard_normal(size) * 10.0 ** rng.uniform(-44, 38, size)
    special = np.array([0.0, -0.0, np.inf, -np.inf, 1e-45, -1e-45, 1e-310, 1.0, 0.5, 3e38])
    kind = rng.integers(0, 4, size)
    ties = rng.integers(-20, 20, size) / 16
    chosen = [spread, special[rng.integers(0, len(special), size)], ties, rng.random(size)]
    return np.choose(kind, chosen)


def check_scores(size: int) -> None:
    """Tables, hulls and bins of all precisions."""
    rng = np.random.default_rng(7)
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for scale in Scale:
            base = nasty(rng, size)
            if scale is Scale.PROBABILITIES:
                base = np.where(
                    rng.random(size) < 0.5,
                    rng.random(size),
                    np.nan_to_num(np.abs(base), posinf=1.0) % 1.0,
                )
            with np.errstate(over="ignore"):
                scores = torch.tensor(base).to(dtype)
            positive = rng.random(size) < 0.3
            times = rng.integers(0, 4, size).astype(float)
            for weights in (None, times, times * rng.random(size)):
                whole = weights is None or bool((weights == np.floor(weights)).all())
                _compare(scores, positive, weights, scale, whole)
    print(f"scores: {size:,} hard cases, all precisions: tables, hulls and bins agree")


def _compare(scores: Any, positive: Any, weights: Any, scale: Scale, whole: bool) -> None:
    truth = torch.tensor(positive)
    weight = None if weights is None else torch.tensor(weights)
    there = (scores.to(GPU), truth.to(GPU), None if weight is None else weight.to(GPU))
    expected = ScoreTable.from_scores(positive, scores.double().numpy(), weights=weights)
    table = score_table(*there)
    np.testing.assert_array_equal(table.scores, expected.scores)
    same = np.testing.assert_array_equal if whole else np.testing.assert_allclose
    same(table.weights, expected.weights)
    sums = [DeviceBins.empty(torch.device("cpu")), DeviceBins.empty(GPU)]
    sums[0].add(scores, truth, weight, scale)
    sums[1].add(*there, scale)
    for name in STATES:
        parts = [getattr(part, name).cpu().numpy() for part in sums]
        same = np.testing.assert_allclose if name == "rests" and not whole else same
        same(*parts)
    np.testing.assert_allclose(sums[0].losses.cpu(), sums[1].losses.cpu(), rtol=1e-12)
    binned = sums[1].binned(scale, (0, 1))
    assert abs(binned.auc - float(auc(expected))) <= binned.auc_error + 1e-12
    if scores.dtype in (torch.float16,) and scale is Scale.PROBABILITIES:
        assert binned.exact
    if weights is None and (scores.dtype != torch.float64 or scale is Scale.PROBABILITIES):
        hull = score_hull(*there[:2])
        assert abs(hull.auc - float(auc(expected))) < 1e-14
        assert score_auc(*there[:2]) == hull.auc == score_auc(scores, truth)
        np.testing.assert_array_equal(roc_hull(expected).thresholds[1:-1], hull.table.scores[:-1])


def check_decisions(size: int) -> None:
    """Bayes decisions, counts and moments."""
    rng = np.random.default_rng(8)
    four = Problem(rng.integers(0, 30, (4, 5)))
    rows = rng.dirichlet(np.ones(4), size)
    single = np.where(rng.random(size) < 0.3, 3 / 185, rng.random(size))
    for problem, base in ((four, rows), (THREE, single), (PROBLEM, np.round(single, 1))):
        for dtype in (torch.float32, torch.float64):
            posteriors = torch.tensor(base).to(dtype)
            expected = bayes_decision_indices(posteriors.numpy(), problem)
            decided = bayes_decisions(posteriors.to(GPU), problem)
            here = bayes_decisions(posteriors, problem)
            np.testing.assert_array_equal(decided.cpu(), here)
            np.testing.assert_array_equal(here, expected)
            truth = rng.integers(0, problem.n_classes, size)
            for weights in (None, rng.integers(0, 5, size)):
                table = Counts.from_decisions(truth, expected, problem, weights=weights)
                weight = None if weights is None else torch.tensor(weights, device=GPU)
                tally = counts(decided, torch.tensor(truth, device=GPU), problem, weight)
                np.testing.assert_array_equal(tally.values, table.values)
            check_updates(problem, posteriors, torch.tensor(truth))
    losses = torch.tensor(rng.random((size, 3)))
    truth = torch.tensor(rng.integers(0, 4, size))
    two = [
        loss_moments(truth.to(to), losses.to(to), classes=range(4)).scatter for to in ("cpu", GPU)
    ]
    # Sums of products around the means are near zero where losses are unrelated, so that their
    # last digits depend on the order of the additions.
    np.testing.assert_allclose(two[0], two[1], rtol=1e-12, atol=1e-9)
    print(f"decisions: {size:,} cases: CPU, GPU and numpy agree")


def check_updates(problem: Problem, posteriors: Any, truth: Any) -> None:
    """Compare states of modules on both devices, for posteriors and logits, in all precisions."""
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        for times in (1, 8, 3000):  # logits, some of which are nearly certain
            logits = times > 1
            inputs = (times * (posteriors - 0.5) if logits else posteriors).to(dtype)
            metrics = [Evaluation(problem, logits=logits).to(device) for device in ("cpu", GPU)]
            metrics += [BayesCost(problem, logits=logits).to(device) for device in ("cpu", GPU)]
            for metric in metrics:
                metric.update(inputs.to(metric.device), truth.to(metric.device))
            for here, there in (metrics[:2], metrics[2:]):
                for name in here._defaults:
                    ours, theirs = (getattr(metric, name).cpu().numpy() for metric in (here, there))
                    near = 1e-12 if name in ("proper", "losses") else 0.0
                    np.testing.assert_allclose(ours, theirs, rtol=near, atol=0.0)


# Time --------------------------------------------------------------------------------------------


def milliseconds(work: Callable[[], object], runs: int = 5) -> float:
    """The least time between two events, after a warm-up."""
    work()
    best = float("inf")
    for _ in range(runs):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        first.record()
        work()
        last.record()
        last.synchronize()
        best = min(best, first.elapsed_time(last))
    return best


def show(text: str, ours: float, theirs: float | None = None) -> None:
    """One line of the table."""
    beside = "" if theirs is None else f"{theirs:10.2f}  {theirs / ours:8.1f} ×"
    print(f"  {text:<58}{ours:10.3f}{beside}", flush=True)


def measure(size: int) -> None:
    """The table of one number of cases."""
    generator = torch.Generator(GPU).manual_seed(0)
    scores = torch.sigmoid(torch.randn(size, device=GPU, generator=generator) * 2 - 2)
    truth = torch.rand(size, device=GPU, generator=generator) < scores
    print(f"{size:,} cases: ms, torchmetrics ms, ratio")
    copy, sort, count = _floor(scores, truth)
    _bins(scores, truth, 1.5 * (count + copy))
    torch.cuda.empty_cache()
    _exact(scores, truth, 2 * sort)
    torch.cuda.empty_cache()
    _decisions(scores, truth)


def _floor(scores: Any, truth: Any) -> tuple[float, float, float]:
    copy = milliseconds(scores.clone)
    show("copying the scores", copy)
    keys = (scores.view(torch.int32) << 1) + truth
    sort = milliseconds(lambda: torch.sort(keys))
    show("torch.sort of the key (bits << 1) + label", sort)
    top = scores.view(torch.int32) >> 14
    count = milliseconds(lambda: torch.bincount(top, minlength=65025))
    show("torch.bincount of the top bits", count)
    return copy, sort, count


def _bins(scores: Any, truth: Any, goal: float) -> None:
    scale, sums = Scale.PROBABILITIES, DeviceBins.empty(GPU)
    small = len(scores) <= 10**8
    labels = truth.int() if small else truth
    ours = milliseconds(lambda: sums.add(scores, truth, None, scale))
    theirs = (
        milliseconds(lambda: binary_auroc(scores, labels, thresholds=1000), 1) if small else None
    )
    show("bins on the device", ours, theirs)
    metric = ScoreBins().to(GPU)

    def numbers() -> None:
        metric.reset()
        metric.update(scores, truth)
        metric.compute()

    show("ScoreBins: AUC, bound, Brier, log loss", milliseconds(numbers), theirs)
    print(f"    goal 1.5 × (bincount + copy) = {goal:.2f}")
    whole = milliseconds(lambda: score_bins(scores, truth, scale=scale).auc, 3)
    show("bins: the whole, with the table on the host", whole, theirs)
    if small:
        theirs = milliseconds(lambda: binary_calibration_error(scores, labels, 15), 2)
        show("calibration error: bins on the device", ours, theirs)
        error = float(binary_calibration_error(scores, labels, 15))
        ours_error = calibration(score_bins(scores, truth, scale=scale).table)
        print(f"    torchmetrics {error:.7f}, from our table {ours_error:.7f}")


def _exact(scores: Any, truth: Any, goal: float) -> None:
    small = len(scores) <= 10**8
    theirs = milliseconds(lambda: binary_auroc(scores, truth.int()), 2) if small else None
    show("exact AUC", milliseconds(lambda: score_auc(scores, truth)), theirs)
    ours = milliseconds(lambda: best_threshold(score_hull(scores, truth).table, PROBLEM), 3)
    show("exact AUC, hull and best threshold", ours, theirs)
    hull = score_hull(scores, truth)
    bins = score_bins(scores, truth, scale=Scale.PROBABILITIES)
    print(
        f"    goal 2 × sort = {goal:.2f}; AUC {hull.auc:.9f}, bins {bins.auc:.9f} ± "
        f"{bins.auc_error:.1e}, {hull.n_scores:,} scores, {len(hull.table.scores):,} segments"
    )
    if small:
        print(f"    AUC of torchmetrics {float(binary_auroc(scores, truth.int())):.9f}")


def _decisions(scores: Any, truth: Any) -> None:
    decided, labels = (scores > 0.1).long(), truth.long()
    small = len(scores) <= 10**8
    theirs = milliseconds(lambda: binary_confusion_matrix(decided, labels), 2) if small else None
    show(
        "counts of decisions (int64)",
        milliseconds(lambda: counts(decided, labels, PROBLEM)),
        theirs,
    )
    show("Bayes decisions of three", milliseconds(lambda: bayes_decisions(scores, THREE), 2))


def calibration(table: ScoreTable) -> float:
    """Expected calibration error of 15 equal bins, as torchmetrics has it."""
    where = np.minimum((table.scores * 15).astype(int), 14)
    sums = [np.bincount(where, part, 15) for part in table.weights.T]
    scores = np.bincount(where, table.weights.sum(axis=1) * table.scores, 15)
    return float(np.abs(sums[1] - scores).sum() / table.n_cases)


def measure_updates(size: int) -> None:
    """Time one call of update."""
    print(f"update of {size:,} cases: ms of the device, ms until the call returns")
    scores = torch.rand(size, device=GPU)
    truth, decided = torch.rand(size, device=GPU) < scores, (scores > 0.1).long()
    posteriors = torch.stack([1 - scores, scores], dim=1)
    for name, metric, inputs in (
        ("ScoreBins", ScoreBins(), scores),
        ("ExpectedCost", ExpectedCost(PROBLEM), decided),
        ("BayesCost, (n,)", BayesCost(PROBLEM), scores),
        ("BayesCost, (n, 2)", BayesCost(PROBLEM), posteriors),
        ("Evaluation", Evaluation(PROBLEM), scores),
    ):
        metric.to(GPU)
        device = milliseconds(partial(metric.update, inputs, truth), 20)
        torch.cuda.set_sync_debug_mode("error")  # an update that waits for the device fails
        start = time.perf_counter()
        for _ in range(20):
            metric.update(inputs, truth)
        returned = (time.perf_counter() - start) * 50
        torch.cuda.set_sync_debug_mode("default")
        print(f"  {name:<58}{device:10.3f}{returned:10.3f}", flush=True)


def main() -> None:
    """Compare, then measure."""
    most = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**9
    print(
        torch.cuda.get_device_name(),
        "torch",
        torch.__version__,
        "torchmetrics",
        torchmetrics.__version__,
    )
    check_scores(100_000)
    check_decisions(100_000)
    measure_updates(10**6)
    for size in (10**7, 10**8, 10**9):
        if size <= most:
            measure(size)
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
