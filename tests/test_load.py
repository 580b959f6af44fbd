"""Many classes, threads and processes, and numbers of draws that nobody can wait for."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from stakes import Counts, Decisions, InputError, JointCounts, Problem, Report, evaluate
from stakes.evaluation import caveats, evaluate_rows, flips
from stakes.inference import (
    bootstrap,
    comparison,
    contender_exits,
    contenders,
    profile,
    profile_interval,
    profile_normalized_interval,
    selection,
    uncertain_problems,
    with_blind,
)
from stakes.inference import profile as supports
from stakes.inference import selection as max_law
from stakes.inference.comparison import triangular_root
from stakes.measures import accuracy
from stakes.render import json as render_json

RNG = np.random.default_rng(5)
COSTS = [[0, 1, 4, 2], [3, 0, 1, 1], [9, 5, 0, 2]]  # three classes, four decisions
N = 400
Y = RNG.integers(3, size=N)
MODELS = {
    name: np.where(RNG.random(N) < right, Y, RNG.integers(4, size=N))
    for name, right in (("a", 0.7), ("b", 0.6))
}


@pytest.mark.parametrize("prior", [None, [0.5, 0.3, 0.2]])
@pytest.mark.parametrize("weighted", [False, True])
def test_tuples_as_they_are_give_the_intervals_of_tables(monkeypatch, prior, weighted):
    problem = Problem(COSTS, prior=prior)
    weights = 0.5 + RNG.random(N) if weighted else None
    joint = JointCounts.from_decisions(Y, MODELS, problem, weights=weights)
    squares = None
    if weights is not None:
        squares = JointCounts.from_decisions(Y, MODELS, problem, weights=weights**2).weights
    dense = profile_interval(joint, problem, squares=squares)
    monkeypatch.setattr(supports, "_DENSE", 0)
    assert len(joint.cells) < 3 * 4 * 4
    sparse = profile_interval(joint, problem, squares=squares)
    assert sparse.low == pytest.approx(dense.low, rel=1e-10)
    assert sparse.high == pytest.approx(dense.high, rel=1e-10)


def test_the_cheapest_blind_decisions_alone_give_the_normalised_interval(monkeypatch):
    problem = Problem(COSTS)
    counts = Counts.from_decisions(Y, MODELS["a"], problem)
    every = profile_normalized_interval(counts, problem)
    monkeypatch.setattr(profile, "MOST_BLIND", 2)
    some = profile_normalized_interval(counts, problem)
    assert float(some.low) == pytest.approx(float(every.low))
    assert float(some.high) == pytest.approx(float(every.high))
    cells = supports.sampled_cells(counts, None, None)
    assert profile._blind_regrets(cells, problem.regret().costs).shape == (2, 3)


def test_of_many_blind_decisions_the_cheapest_and_the_named_one_are_kept(monkeypatch):
    problem = Problem(COSTS)
    joint = JointCounts.from_decisions(Y, MODELS, problem)
    costs = np.bincount(Y, minlength=3) @ np.array(COSTS)
    monkeypatch.setattr(selection, "MOST_BLIND", 2)
    wider, reachable = with_blind(joint, problem, problem.decisions[int(np.argmax(costs))])
    kept = sorted([int(np.argmin(costs)), int(np.argmax(costs))])
    assert wider.models == ("a", "b", *(f"always {problem.decisions[place]}" for place in kept))
    assert reachable[2:].tolist() == np.eye(4, dtype=bool)[kept].tolist()
    assert (wider.cells[:, 3:] == kept).all()
    assert contenders(wider, problem).costs[2] == pytest.approx(costs[kept[0]] / N)


@pytest.mark.parametrize("absurd", [10**7 + 1, 10**12, 2**70, 1e308])
def test_more_draws_than_anybody_can_wait_for_are_refused_at_once(absurd):
    rng, problem = np.random.default_rng(0), Problem(COSTS)
    counts = Counts.from_decisions(Y, MODELS["a"], problem)
    with pytest.raises(InputError, match=r"replicates must be .*1e\+07"):
        bootstrap(accuracy, Counts([[5, 2], [3, 4]]), replicates=absurd, rng=rng)
    with pytest.raises(InputError, match=r"draws must be .*1e\+07"):
        uncertain_problems(problem, draws=absurd, rng=rng)
    with pytest.raises(InputError, match=r"replicates must be .*100000\]"):
        evaluate(Y, {"a": Decisions(MODELS["a"])}, problem, replicates=absurd)
    assert counts.n_cases == N


def test_what_does_not_fit_is_refused_before_it_starts_with_the_size_that_would(monkeypatch):
    monkeypatch.setattr(evaluate_rows, "memory_bytes", lambda: 2**20)
    monkeypatch.setattr(evaluate_rows, "_FEW", 0)
    y = RNG.integers(200, size=50)
    problem = Problem.zero_one(200)
    with pytest.raises(InputError, match=r"classes than 200: .* About \d+ classes would"):
        evaluate(y, {"a": Decisions(y)}, problem)
    needed = evaluate_rows.needed_bytes
    assert needed(200, 200, [0]) > 2**20 > needed(50, 50, [0])
    assert evaluate_rows.needed_bytes(50, 50, [10**6]) > 10**9
    with pytest.raises(InputError, match=r"classes must be at most 10,000"):
        Problem.zero_one(10**5)


@pytest.mark.parametrize("n_cases", [0, 10, 100_000])
def test_the_number_of_classes_that_would_fit_does_and_one_more_does_not(n_cases):
    """5,000 classes of 10⁵ posteriors take 17 GiB, most of it for rows, which grow with classes."""
    available = 8 << 30 if n_cases > 10 else 1 << 30
    fitting = evaluate_rows._fitting(5000, 10_000, [n_cases], available)
    assert evaluate_rows.needed_bytes(fitting, 2 * fitting, [n_cases]) <= available
    assert evaluate_rows.needed_bytes(fitting + 1, 2 * fitting + 2, [n_cases]) > available


def test_posteriors_of_five_thousand_classes_are_refused_with_the_number_that_would_fit(
    monkeypatch,
):
    problem = Problem.zero_one(5000)
    monkeypatch.setattr(evaluate_rows, "memory_bytes", lambda: 8 << 30)
    with pytest.raises(InputError, match=r"17\.1 GiB, and there are 8\.0 GiB. About 2,[0-9]{3} c"):
        evaluate_rows.refuse_too_large(problem, {"a": object()}, 100_000)
    monkeypatch.setattr(evaluate_rows, "memory_bytes", lambda: 32 << 30)
    evaluate_rows.refuse_too_large(problem, {"a": object()}, 100_000)


def test_rows_of_many_models_that_do_not_fit_are_refused_without_advice_about_classes(monkeypatch):
    """Each model has numbers of its own for every row: ten of them take ten times as much."""
    rows, needed = 10**8, evaluate_rows.needed_bytes
    assert needed(2, 2, [rows] * 10) > 5 * needed(2, 2, [rows])
    problem = Problem.binary(false_alarm=1, miss=9)
    monkeypatch.setattr(evaluate_rows, "memory_bytes", lambda: 32 << 30)
    with pytest.raises(
        InputError, match=r"models and y_true must fit into memory; 10 models and 1"
    ):
        evaluate_rows.refuse_too_large(problem, dict.fromkeys("abcdefghij", object()), rows)
    evaluate_rows.refuse_too_large(problem, {"a": object()}, rows)


@pytest.mark.parametrize("text", ["max\n", f"{2**40}\n"])
def test_memory_is_that_of_the_group_of_processes_where_that_is_limited(
    text, tmp_path, monkeypatch
):
    (tmp_path / "memory.max").write_text("3145728\n")
    (tmp_path / "unlimited").write_text(text)
    missing, no_file = tmp_path / "missing", tmp_path  # neither can be read
    monkeypatch.setattr(evaluate_rows, "_GROUPS", (missing, no_file, tmp_path / "unlimited"))
    assert evaluate_rows.memory_bytes() > 3 << 20
    monkeypatch.setattr(evaluate_rows, "_GROUPS", (missing, no_file, tmp_path / "memory.max"))
    assert evaluate_rows.memory_bytes() == 3 << 20


@pytest.mark.slow
@pytest.mark.parametrize(("models", "classes", "n"), [(1, 2, 10**6), (4, 10, 10**5)])
def test_the_memory_that_rows_take_is_foreseen(models, classes, n):
    """Measured in a fresh process; what it had before the evaluation is taken off."""
    code = f"""
import numpy as np
from pathlib import Path
from stakes import Problem, evaluate
from stakes.evaluation.evaluate_rows import needed_bytes
rng = np.random.default_rng(0)
def some(n):
    y = rng.integers({classes}, size=n)
    rows = rng.random((n, {classes})) + 2 * np.eye({classes})[y]
    rows /= rows.sum(axis=1, keepdims=True)
    rows = rows if {classes} > 2 else rows[:, 1]
    return y, {{f"m{{k}}": np.roll(rows, k, axis=0) for k in range({models})}}
def peak():  # ru_maxrss would hold the parent's memory
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])
problem = Problem.zero_one({classes})
evaluate(*some(1000), problem)
y, models = some({n})
before = peak()
evaluate(y, models, problem)
print((peak() - before) / needed_bytes({classes}, {classes}, [{n}] * {models}))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert 0.4 < float(run.stdout) < 2


@pytest.mark.slow
@pytest.mark.parametrize(("size", "n", "gibibytes"), [(1000, 20_000, 1), (5000, 100_000, 2)])
def test_thousands_of_classes_are_evaluated_within_two_gibibytes(size, n, gibibytes):
    """ImageNet-1k is ordinary; a table of class by pairs of decisions would take 8 GB."""
    code = (
        f"rng, size, n = np.random.default_rng(0), {size}, {n}"
        + """
y = rng.integers(size, size=n)
models = {k: Decisions(np.where(rng.random(n) < 0.7, y, rng.integers(size, size=n))) for k in "ab"}
report = evaluate(y, models, Problem.zero_one(size), calibrator=None, replicates=50)
truth = {k: np.mean(m.values != y) for k, m in models.items()}
for k, error in truth.items():
    cost = report.system(k).cost
    assert abs(cost.value - error) < 1e-12 and cost.low < error < cost.high
assert len(str(report)) < 200_000
assert any(f"{size * size:,}" in one.text for one in report.caveats)
status = Path("/proc/self/status").read_text()
print(status.split("VmHWM:")[1].split()[0])  # kibibytes; ru_maxrss would hold the parent's memory
"""
    )
    imports = (
        "import numpy as np\n"
        "from pathlib import Path\n"
        "from stakes import Decisions, Problem, evaluate\n"
    )
    command = [sys.executable, "-c", imports + code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert int(done.stdout) < gibibytes << 20


def test_a_report_of_too_many_cells_is_not_written_and_says_what_can_be_done(monkeypatch):
    problem = Problem(COSTS)
    models = {name: Decisions(decided) for name, decided in MODELS.items()}
    report = evaluate(Y, models, problem, calibrator=None, replicates=20)
    numbers = render_json._numbers(report)
    assert 2 * 12 <= numbers < len(report.to_json())
    monkeypatch.setattr(render_json, "_MOST_NUMBERS", numbers + 3 * 12)
    assert Report.from_json(report.to_json()) == report
    monkeypatch.setattr(render_json, "_MOST_NUMBERS", numbers + 3 * 12 - 1)
    for write in (report.to_json, report.to_html):
        with pytest.raises(InputError, match=r"with 3 classes and 2 systems .* Print it, take"):
            write()
    assert "Deploy" in str(report)


def _json(seed: int) -> str:
    rng = np.random.default_rng(7)
    y = (rng.random(300) < 0.3).astype(int)
    p = np.clip(0.3 + 0.4 * (y - 0.3) + rng.normal(0, 0.2, 300), 0.01, 0.99)
    problem = Problem.binary(false_alarm=1, miss=5)
    return evaluate(y, {"p": p}, problem, replicates=50, seed=seed).to_json()


@pytest.mark.slow
def test_eight_threads_forks_and_spawned_processes_write_the_same_reports():
    seeds = [0, 1, 2, 0]
    expected = [_json(seed) for seed in seeds]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(_json, seeds * 2)) == expected * 2
    kinds: list[Any] = ["spawn", *({"fork"} & set(multiprocessing.get_all_start_methods()))]
    for kind in kinds:
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(kind)) as pool:
            assert list(pool.map(_json, seeds)) == expected, kind


def _many_models(size: int, n_cases: int, problem: Problem) -> tuple[Any, dict[str, Decisions]]:
    rng, n_classes = np.random.default_rng(3), problem.n_classes
    y = rng.integers(n_classes, size=n_cases)
    return y, {
        f"m{k:04d}": Decisions(
            np.where(
                rng.random(n_cases) < 0.5 + 0.4 * k / size, y, rng.integers(n_classes, size=n_cases)
            )
        )
        for k in range(size)
    }


def test_of_more_than_a_hundred_systems_flips_are_clear_by_bonferroni_and_the_report_says_so(
    monkeypatch,
):
    problem = Problem([[0, 1], [5, 0]])
    y, models = _many_models(5, 300, problem)
    quick: dict[str, Any] = {"calibrator": None, "replicates": 20}
    exact = evaluate(y, models, problem, **quick)
    for room in (contender_exits, flips, caveats):
        monkeypatch.setattr(room, "MOST_RIVALS", 4)
    bounded = evaluate(y, models, problem, **quick)
    assert any("somewhat wider than necessary" in caveat.text for caveat in bounded.caveats)
    assert not any("wider than necessary" in caveat.text for caveat in exact.caveats)
    wider = 0
    for inner, outer in zip(exact.regions, bounded.regions, strict=True):
        assert outer.parts == inner.parts
        for (low, high), (lower, higher) in zip(inner.unclear, outer.unclear, strict=True):
            assert lower <= low * (1 + 1e-5)
            assert high <= higher * (1 + 1e-5)
            wider += lower < low
    assert wider


def test_the_root_of_a_large_covariance_does_not_depend_on_the_size_of_panels(monkeypatch):
    drawn = np.random.default_rng(0).normal(size=(9, 5))
    covariance = drawn @ drawn.T  # of rank five
    whole = triangular_root(covariance)
    monkeypatch.setattr(comparison, "_PANEL", 2)
    parted = triangular_root(covariance)
    assert (np.abs(whole).sum(axis=0) > 0).sum() == 5
    np.testing.assert_allclose(parted @ parted.T, covariance, atol=1e-12)
    np.testing.assert_allclose(parted, whole, atol=1e-7)


def test_the_largest_gaps_are_those_of_plain_loops(monkeypatch):
    rng = np.random.default_rng(1)
    drawn, scale = rng.normal(size=(7, 4)), rng.random((4, 4))
    monkeypatch.setattr(max_law, "_CACHED", 8)
    plain = [
        [max(abs(row[i] - row[j]) * scale[i, j] for j in range(4)) for i in (2, 0)] for row in drawn
    ]
    assert max_law._largest_gaps(drawn, scale, [2, 0]).tolist() == plain


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_thousand_models_are_compared(n_classes):
    problem = Problem([[0, 1], [5, 0]]) if n_classes == 2 else Problem.zero_one(5)
    y, models = _many_models(1000, 10_000, problem)
    report = evaluate(y, models, problem, calibrator=None)
    cheapest = min(models, key=lambda name: np.sum(problem.costs[y, models[name].values]))
    assert report.verdict.cheapest == f"{cheapest} (as decided)"
    assert len(report.systems) == 1000
    assert any("1000 systems are compared" in caveat.text for caveat in report.caveats)
    assert len(report.to_html()) < 8_000_000


@pytest.mark.slow
def test_a_report_of_two_hundred_slices_is_made_and_read_again():
    rng = np.random.default_rng(4)
    y = (rng.random(10_000) < 0.3).astype(int)
    p = np.clip(0.3 + 0.4 * (y - 0.3) + rng.normal(0, 0.2, y.size), 0.01, 0.99)
    groups = np.array([f"town {k % 200:03d}" for k in range(y.size)])
    models = {"p": p, "d": Decisions(p > 0.6)}
    problem = Problem.binary(false_alarm=1, miss=5)
    report = evaluate(y, models, problem, by=groups, calibrator=None, replicates=50)
    page, text = report.to_html(), report.to_json()
    assert [group.group for group in report.slices] == sorted(set(groups))
    assert Report.from_json(text) == report
    assert "town 199" in page
    assert "town 199" in str(report)
    assert len(page) < 3_000_000
