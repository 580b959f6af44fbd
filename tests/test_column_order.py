"""Posteriors whose columns are in another order than the classes of the problem."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

from stakes import InputError, Posteriors, Problem, Report, Scores, evaluate, evaluate_frame
from stakes._check import FloatArray, IntArray
from stakes.evaluation import better_order, read_cases

CLASSES = ("low", "mid", "high")
PROBLEM = Problem(
    {
        "low": {"wait": 0, "call": 1, "send": 3, "stop": 9},
        "mid": {"wait": 2, "call": 0, "send": 1, "stop": 4},
        "high": {"wait": 5, "call": 2, "send": 0, "stop": 1},
    }
)
SORTED = ["high", "low", "mid"]  # the order of scikit-learn
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 20}


def three_classes(
    n_cases: int = 600, seed: int = 0, prior: tuple[float, ...] = (0.5, 0.3, 0.2), apart: float = 2
) -> tuple[IntArray, FloatArray]:
    """Positions of classes, and calibrated posteriors."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n_cases, p=prior)
    x = np.eye(3)[truth] * apart + rng.normal(size=(n_cases, 3))
    scores = x * apart + np.log(prior)
    rows = np.exp(scores - scores.max(axis=1, keepdims=True))
    return truth, rows / rows.sum(axis=1, keepdims=True)


def sorted_columns() -> tuple[list[str], FloatArray]:
    """Labels, and posteriors as scikit-learn orders them."""
    truth, rows = three_classes()
    return [CLASSES[k] for k in truth], rows[:, [2, 0, 1]]


def test_another_order_is_said_first_and_nothing_is_deployed():
    y, rows = sorted_columns()
    right = evaluate(y, Posteriors(rows, classes=SORTED), PROBLEM, **QUICK)
    report = evaluate(y, rows, PROBLEM, **QUICK)
    assert report.best.cost.value > 2 * right.best.cost.value  # what would have been deployed
    assert report.verdict.deploy is None
    assert report.verdict.reason.startswith("Deploy none: the posteriors of model seem to belong")
    first = report.caveats[0]
    assert first.kind == "order of classes"
    assert "column 2 for low, 3 for mid, 1 for high" in first.text
    assert "classes=model.classes_" in first.text
    assert Report.from_json(report.to_json()) == report
    for medium in (str(report), report.to_markdown()):
        assert "fit the classes clearly better in another order" in " ".join(medium.split())


def test_classes_that_are_named_are_never_doubted():
    """By name the columns match; a statement that contradicts the data is taken all the same."""
    y, rows = sorted_columns()
    named = evaluate(y, Posteriors(rows, classes=SORTED), PROBLEM, **QUICK)
    assert named.verdict.deploy is not None
    stubborn = evaluate(y, Posteriors(rows, classes=CLASSES), PROBLEM, calibrator=None)
    assert "seem to belong" not in stubborn.verdict.reason
    assert all(caveat.kind != "order of classes" for caveat in stubborn.caveats)


def test_only_the_model_in_doubt_is_kept_out():
    y, rows = sorted_columns()
    models = {"astray": rows, "named": Posteriors(rows, classes=SORTED)}
    report = evaluate(y, models, PROBLEM, **QUICK)
    assert report.verdict.model == "named"
    assert report.caveats[0].kind == "order of classes"
    assert [system.candidate for system in report.systems] == [False, True]


def test_where_no_other_system_could_win_nothing_is_deployed():
    """Raw scores allow no decision among three; the only other model ranks backwards."""
    rng = np.random.default_rng(4)
    truth = (rng.random(300) < 0.3).astype(int)
    p = np.where(truth == 1, rng.beta(2, 4, 300), rng.beta(4, 2, 300))
    problem = Problem([[0, 3, 25], [90, 8, 0]])
    report = evaluate(truth, {"m": p, "raw": Scores(1 - p)}, problem, calibrator=None)
    assert report.verdict.deploy is None
    assert "seem to belong to other classes" in report.verdict.reason


def test_two_classes_that_rank_backwards_are_treated_alike():
    rng = np.random.default_rng(2)
    truth = (rng.random(300) < 0.3).astype(int)
    p = np.where(truth == 1, rng.beta(2, 4, 300), rng.beta(4, 2, 300))
    problem = Problem.binary(false_alarm=1, miss=3)
    for bare in (p, np.column_stack([1 - p, p])):
        report = evaluate(truth, bare, problem, **QUICK)
        assert (report.caveats[0].kind, report.verdict.deploy) == ("ranks backwards", None)
        assert "until its classes are named" in report.caveats[0].text
    turned = evaluate(truth, Posteriors(p, classes=[1, 0]), problem, **QUICK)
    assert turned.verdict.deploy is not None
    stated = evaluate(truth, Posteriors(p, classes=[0, 1]), problem, **QUICK)
    assert "classes are named" in stated.caveats[0].text
    assert "seem to belong" not in stated.verdict.reason


def slow_order(truth: IntArray, rows: FloatArray, size: int) -> tuple[int, ...]:
    """All orders, one by one: the log loss of each class, averaged over classes."""
    best, least = tuple(range(size)), np.inf
    for columns in permutations(range(size)):
        losses = []
        for k in range(size):
            mine = [-np.log(max(rows[i, columns[k]], 1e-6)) for i in np.flatnonzero(truth == k)]
            losses.append(sum(mine) / len(mine))
        if sum(losses) / size < least - 1e-12:
            best, least = columns, sum(losses) / size
    return best


@pytest.mark.parametrize("seed", range(4))
def test_the_order_is_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 400)
    scores = np.eye(4)[truth] * 2 + rng.normal(size=(400, 4))
    rows = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    rows = rows[:, rng.permutation(4)]
    cases = read_cases(truth, Problem.zero_one(4), None, None, None)
    order, slow = better_order(rows, cases), slow_order(truth, rows, 4)
    assert (tuple(range(4)) if order is None else order.columns) == slow


def test_log_losses_are_means_over_the_classes_that_move():
    truth, rows = three_classes()
    turned = rows[:, [1, 0, 2]]
    order = better_order(turned, read_cases(truth, Problem.zero_one(3), None, None, None))
    assert order is not None
    assert (order.columns, order.moved.tolist()) == ((1, 0, 2), [True, True, False])
    for value, table in ((order.as_given, turned), (order.reordered, rows)):
        means = [np.mean(-np.log(np.maximum(table[truth == k, k], 1e-6))) for k in (0, 1)]
        assert value == pytest.approx(np.mean(means))


@pytest.mark.parametrize("shift", [(0.01, 0.09, 0.9), (0.9, 0.09, 0.01)])
def test_posteriors_for_another_prior_are_not_doubted(shift):
    """Of weak posteriors the log loss is best in the order of the shares, which tells nothing."""
    truth, rows = three_classes(3000, apart=0.5)
    moved = rows * np.array(shift) / np.array([0.5, 0.3, 0.2])
    moved /= moved.sum(axis=1, keepdims=True)
    cases = read_cases(truth, Problem.zero_one(3), None, None, None)
    assert better_order(moved, cases) is None
    order = better_order(moved[:, [1, 2, 0]], cases)
    assert order is not None
    assert order.columns == (2, 0, 1)


def test_few_cases_and_copies_of_them_are_no_evidence():
    truth, rows = three_classes(12, seed=3)
    turned, problem = rows[:, [2, 0, 1]], Problem.zero_one(3)
    assert better_order(turned, read_cases(truth, problem, None, None, None)) is None
    copies = np.tile(np.arange(12), 50)
    many = read_cases(np.tile(truth, 50), problem, None, None, copies)
    assert better_order(np.tile(turned, (50, 1)), many) is None
    alone = read_cases(np.tile(truth, 50), problem, None, None, None)
    assert better_order(np.tile(turned, (50, 1)), alone) is not None


def test_random_posteriors_are_hardly_ever_doubted():
    """Of 200 models, useless to good ones, with noise, other priors and other sharpness."""
    rng, doubted = np.random.default_rng(5), 0
    for _ in range(200):
        size, n_cases = int(rng.integers(3, 7)), int(rng.integers(60, 800))
        truth = rng.choice(size, n_cases, p=rng.dirichlet(np.full(size, 2.0)))
        centres = rng.normal(size=(size, 3)) * rng.choice([0.0, 0.3, 1.0, 2.0])
        x = centres[truth] + rng.normal(size=(n_cases, 3))
        scores = -0.5 * ((x[:, None] - centres) ** 2).sum(axis=2) * rng.choice([0.5, 1.0, 2.0])
        scores += np.log(rng.dirichlet(np.full(size, 2.0)) + 0.01)
        scores += rng.normal(size=scores.shape) * rng.choice([0.0, 0.5, 2.0])
        rows = np.exp(scores - scores.max(axis=1, keepdims=True))
        cases = read_cases(truth, Problem.zero_one(size), None, None, None)
        doubted += better_order(rows / rows.sum(axis=1, keepdims=True), cases) is not None
    assert doubted <= 1


@pytest.mark.parametrize("options", [{}, {"clusters": "site"}, {"weights": "w"}])
def test_every_engine_says_the_same(options):
    pl = pytest.importorskip("polars")
    y, rows = sorted_columns()
    rng = np.random.default_rng(1)
    columns = {"y": y, "site": rng.integers(0, 60, len(y)), "w": rng.random(len(y)) + 0.5}
    frame = pl.DataFrame({**columns, **{f"c{k}": rows[:, k] for k in range(3)}})
    texts = []
    for source, engine in ((frame, None), (frame, "duckdb"), (frame.lazy(), "polars")):
        call: dict[str, Any] = {"y_true": "y", "engine": engine, "calibrator": None, **options}
        bare = {"m": Posteriors(("c0", "c1", "c2"))}
        report = evaluate_frame(source, PROBLEM, models=bare, **call)
        assert report.verdict.deploy is None
        texts.append(report.caveats[0].text)
        named = {"m": Posteriors(("c0", "c1", "c2"), classes=SORTED)}
        assert evaluate_frame(source, PROBLEM, models=named, **call).verdict.deploy is not None
    assert len(set(texts)) == 1
    assert "order" in texts[0]


@pytest.mark.parametrize("engine", [None, "duckdb"])
def test_columns_that_are_named_after_the_classes_are_named(engine):
    pl = pytest.importorskip("polars")
    y, rows = sorted_columns()
    turned = {"p_low": rows[:, 0], "p_mid": rows[:, 1], "p_high": rows[:, 2]}
    frame = pl.DataFrame({"y": y, **turned})
    models = {"m": Posteriors(tuple(turned))}
    call: dict[str, Any] = {"y_true": "y", "engine": engine, "calibrator": None}
    report = evaluate_frame(frame, PROBLEM, models=models, **call)
    assert "seem to belong" not in report.verdict.reason


def test_a_single_column_that_is_stated_for_the_first_class_is_refused():
    pa = pytest.importorskip("pyarrow")
    frame = pa.table({"y": [0, 1] * 20, "p": [0.2, 0.7] * 20})
    model = {"m": Posteriors("p", classes=[1, 0])}
    with pytest.raises(InputError, match=r"must be P\(1\); 'p' is P\(0\) .* Add a column with 1"):
        evaluate_frame(frame, Problem.zero_one(2), y_true="y", models=model)


def test_displays_refuse_another_order_of_three_classes():
    pytest.importorskip("matplotlib")
    from stakes.displays import CapacityDisplay, ReliabilityDisplay

    y, rows = sorted_columns()
    for display in (
        lambda models: CapacityDisplay.from_predictions(y, models, PROBLEM, decision="stop"),
        lambda models: ReliabilityDisplay.from_predictions(
            np.array([2, 0, 1])[[CLASSES.index(label) for label in y]], models
        ),
    ):
        with pytest.raises(InputError, match=r"fits clearly better .* Write Posteriors"):
            display(rows[:, [1, 0, 2]])
