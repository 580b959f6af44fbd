"""Modules of torchmetrics: the numbers of numpy, however the cases came in and were merged."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as distributed
import torch.multiprocessing as multiprocessing
from torchmetrics import MetricCollection

from stakes import (
    Counts,
    InputError,
    Problem,
    ScoreTable,
    auc,
    bayes_decision_indices,
    best_threshold,
    evaluate,
    expected_cost,
    normalized_cost,
)
from stakes.torch import BayesCost, Evaluation, ExpectedCost, NormalizedCost, Scale, ScoreBins

RNG = np.random.default_rng(22)
N = 6000
TWO = Problem([[0, 3, 25], [180, 8, 0]], prior=[0.9, 0.1])
BINARY = Problem.binary(false_alarm=1, miss=9)
FOUR = Problem(RNG.integers(0, 30, (4, 5)))
P = (RNG.random(N) ** 2).astype(np.float32)
Y = RNG.random(N) < P
ROWS = RNG.dirichlet(np.ones(4), N)
CLASS = np.array([RNG.choice(4, p=row) for row in ROWS])
WEIGHTS = RNG.random(N) * 3
TEXT: Any = "logits"  # what no setting is
NUMBER: Any = 3
BATCHES = [slice(start, start + 700) for start in range(0, N, 700)]


def fed(metric, *columns):
    """The metric after all batches."""
    for batch in BATCHES:
        metric.update(*(torch.tensor(column[batch]) for column in columns))
    return metric


def bayes_counts(rows, truth, problem, weights=None) -> Counts:
    return Counts.from_decisions(
        truth, bayes_decision_indices(rows, problem), problem, weights=weights
    )


@pytest.mark.parametrize("weights", [(), (WEIGHTS,)], ids=["alike", "weighted"])
def test_costs_are_those_of_numpy(weights):
    weight = weights[0] if weights else None
    for problem, rows, truth in ((TWO, P, Y), (FOUR, ROWS, CLASS)):
        decided = bayes_decision_indices(rows, problem)
        counts = bayes_counts(rows, truth.astype(int), problem, weight)
        truth = truth.astype(np.int64)
        by_rule = fed(BayesCost(problem), rows, truth, *weights)
        cost = float(expected_cost(counts, problem))
        assert float(by_rule.compute()) == pytest.approx(cost, rel=1e-12)
        metric = fed(ExpectedCost(problem), decided, truth, *weights)
        assert float(metric.compute()) == pytest.approx(cost, rel=1e-12)
        np.testing.assert_allclose(metric.counts().values, counts.values)
        naive = fed(NormalizedCost(problem), decided, truth, *weights)
        expected = float(normalized_cost(counts, problem))
        assert float(naive.compute()) == pytest.approx(expected, rel=1e-12)


def test_bins_of_batches_are_the_bins_of_all():
    metric = fed(ScoreBins(), P, Y)
    whole = ScoreBins()
    whole.update(torch.tensor(P), torch.tensor(Y))
    table = ScoreTable.from_scores(Y, P)
    same(metric.compute(), whole.compute())
    assert abs(float(metric.compute()["auc"]) - float(auc(table))) <= metric.binned().auc_error
    best = best_threshold(metric.binned().table, BINARY)
    gap = metric.binned().cost_error(BINARY)
    exact = best_threshold(table, BINARY).cost
    assert exact - 1e-12 <= best.cost <= exact + gap + 1e-12


def every_metric() -> dict:
    return {
        "cost": (BayesCost(BINARY), P),
        "given": (ExpectedCost(BINARY), (P > 0.1).astype(int)),
        "naive": (NormalizedCost(BINARY), (P > 0.1).astype(int)),
        "bins": (ScoreBins(), P),
        "logits": (ScoreBins(Scale.LOGITS), np.log(P / (1 - P))),
        "epoch": (Evaluation(BINARY), P),
        "epoch of logits": (Evaluation(BINARY, logits=True), np.log(P / (1 - P))),
    }


def same(first, second) -> None:
    if isinstance(first, dict):
        assert first.keys() == second.keys()
        for name in first:
            assert float(first[name]) == pytest.approx(float(second[name]), rel=1e-12)
    else:
        assert float(first) == pytest.approx(float(second), rel=1e-12)


@pytest.mark.parametrize("name", every_metric())
def test_states_merge_and_are_kept_and_reset_and_the_forward_pass_sees_one_batch(name, tmp_path):
    metric, batch = every_metric()[name]
    whole = fed(metric, batch, Y).compute()
    halves = [every_metric()[name][0] for _ in range(2)]
    for half, part in zip(halves, (slice(0, 900), slice(900, N)), strict=True):
        half.update(torch.tensor(batch[part]), torch.tensor(Y[part]))
    first = halves[0].compute()
    halves[0].merge_state(halves[1])
    same(halves[0].compute(), whole)

    forward = every_metric()[name][0]
    same(forward(torch.tensor(batch[:900]), torch.tensor(Y[:900])), first)
    forward(torch.tensor(batch[900:]), torch.tensor(Y[900:]))
    same(forward.compute(), whole)

    metric.persistent(True)
    torch.save(metric.state_dict(), tmp_path / "tallies.pt")
    fresh = every_metric()[name][0]
    fresh.persistent(True)
    fresh.load_state_dict(torch.load(tmp_path / "tallies.pt"))
    same(fresh.compute(), whole)

    metric.half()  # as a model does with all its parts; the states stay in double precision
    assert all(getattr(metric, state).dtype != torch.float16 for state in metric._defaults)
    metric.reset()
    same(fed(metric, batch, Y).compute(), whole)


def test_a_collection_shares_states_of_metrics_that_decide_alike_only():
    """In the first batch both rules decide alike; costs differ in the second."""
    other = Problem.binary(false_alarm=1, miss=4)
    together = MetricCollection(
        {
            "nine": BayesCost(BINARY),
            "four": BayesCost(other),
            "again": BayesCost(BINARY),
            "bins": ScoreBins(),
        }
    )
    together.update(torch.tensor([0.01, 0.99]), torch.tensor([0, 1]))
    together.update(torch.tensor([0.15, 0.15]), torch.tensor([0, 1]))
    values = together.compute()
    assert float(values["nine"]) == float(values["again"]) == 0.25
    assert float(values["four"]) == 1.0
    assert float(values["auc"]) == 0.875
    groups = sorted(sorted(group) for group in together.compute_groups.values())
    assert groups == [["again", "nine"], ["bins"], ["four"]]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_mixed_precision_is_read_as_it_is(dtype):
    scores = torch.tensor(P).to(dtype)
    metric = ScoreBins()
    metric.update(scores, torch.tensor(Y))
    table = ScoreTable.from_scores(Y, scores.double().numpy())
    values = metric.compute()
    assert abs(float(values["auc"]) - float(auc(table))) <= float(values["auc_error"]) + 1e-14
    costs = BayesCost(BINARY)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        costs.update(scores, torch.tensor(Y))
    if dtype != torch.bfloat16:  # which numpy does not have
        counts = bayes_counts(scores.numpy(), Y.astype(int), BINARY)
        np.testing.assert_array_equal(costs.counts().values, counts.values)


def test_bad_entries_are_refused_at_compute_and_shapes_at_once():
    metric = BayesCost(FOUR)
    rows = torch.tensor(ROWS[:4])
    metric.update(rows, torch.tensor([0, 1, 2, 3]))
    metric.update(rows * 1.1, torch.tensor([0, 1, 2, 3]))
    with pytest.raises(InputError, match="preds must sum to one in every row; 4 entries do"):
        metric.compute()
    metric.reset()
    metric.update(rows, torch.tensor([0, 1, 2, 4]))
    with pytest.raises(InputError, match="target must hold positions of classes"):
        metric.counts()
    bins = ScoreBins()
    bins.update(torch.tensor([0.5, torch.nan]), torch.tensor([0, 1]))
    with pytest.raises(InputError, match="preds must hold probabilities"):
        bins.compute()
    with pytest.raises(
        InputError, match="target must have one entry for each of the 2 cases of preds"
    ):
        bins.update(torch.tensor([0.5, 0.5]), torch.tensor([1]))
    epoch = Evaluation(BINARY, logits=True)
    epoch.update(torch.tensor([0.5, torch.nan]), torch.tensor([0, 1]))
    with pytest.raises(InputError, match="1 entry does not"):
        epoch.report()
    with pytest.raises(InputError, match="preds must hold at least one case"):
        ScoreBins().binned()


@pytest.mark.parametrize("metric", [Evaluation(BINARY), Evaluation(FOUR), BayesCost(BINARY)])
def test_every_bad_entry_is_counted_once(metric):
    rows = torch.full((3, metric.problem.n_classes), 1 / metric.problem.n_classes)
    metric.update(rows, torch.tensor([0, 1, 9]))
    with pytest.raises(InputError, match=r"target must hold positions .*; 1 entry does not"):
        metric.compute()
    metric.reset()
    metric.update(rows, torch.tensor([0, 1, 1]), -torch.ones(3))
    with pytest.raises(InputError, match=r"weights must .*; 3 entries do not"):
        metric.compute()


@pytest.mark.parametrize("name", every_metric())
def test_a_batch_on_another_device_than_the_metric_says_how_to_move_it(name):
    metric, batch = every_metric()[name]
    with pytest.raises(InputError, match=r"device of the metric, cpu; it is on meta.*metric\.to"):
        metric.update(torch.tensor(batch).to("meta"), torch.tensor(Y).to("meta"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BayesCost(BINARY, logits=TEXT), "logits must be a bool"),
        (lambda: Evaluation(BINARY, logits=NUMBER), "logits must be a bool"),
        (lambda: Evaluation(TEXT), "problem must be a Problem"),
        (lambda: ScoreBins(TEXT), "scale must be a Scale"),
        (lambda: ScoreBins(classes=(1, 2, 3)), "classes must be two labels"),
        (
            lambda: Evaluation(FOUR).update(torch.tensor(P), torch.tensor(Y)),
            "preds must have one c",
        ),
        (
            lambda: ExpectedCost(FOUR).update(torch.tensor(P), torch.tensor(Y)),
            "preds must hold who",
        ),
        (lambda: Evaluation(BINARY).report(NUMBER), "name must be a str"),
        (lambda: Evaluation(BINARY).report(seed=-1), "seed must be one real number"),
    ],
)
def test_bad_settings_are_input_errors(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.parametrize(
    "different",
    [
        lambda: (Evaluation(BINARY), Evaluation(Problem.binary(false_alarm=1, miss=4))),
        lambda: (ScoreBins(Scale.SCORES), ScoreBins(Scale.LOGITS)),
        lambda: (
            BayesCost(Problem([[0, 1e-9], [9e-9, 0]])),
            BayesCost(Problem([[0, 1e-9], [4e-9, 0]])),
        ),
    ],
    ids=["costs", "scales", "tiny costs"],
)
def test_no_metric_shares_the_states_of_one_with_other_settings(different):
    """After an empty batch all sums are equal; a collection compares them with a tolerance."""
    apart = different()
    together = MetricCollection(dict(zip("ab", different(), strict=True)))
    empty = torch.zeros(0), torch.zeros(0, dtype=torch.int64)
    together.update(*empty)
    together.update(torch.tensor([0.15, 0.15, 0.9]), torch.tensor([0, 1, 1]))
    for name, alone in zip("ab", apart, strict=True):
        alone.update(torch.tensor([0.15, 0.15, 0.9]), torch.tensor([0, 1, 1]))
        same(together[name].compute(), alone.compute())


# Reports -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [(), (WEIGHTS,)], ids=["alike", "weighted"])
@pytest.mark.parametrize(
    ("problem", "rows", "truth"),
    [(BINARY, P, Y), (TWO.with_prior(None), P, Y), (FOUR, ROWS, CLASS)],
    ids=["binary", "rectangle", "four"],
)
def test_the_report_of_an_epoch_is_that_of_its_rows(problem, rows, truth, weights):
    truth = truth.astype(np.int64)
    report = fed(Evaluation(problem), rows, truth, *weights).report("net")
    weight = weights[0] if weights else None
    expected = evaluate(truth, {"net": rows}, problem, calibrator=None, weights=weight)
    ours, theirs = (r.system("net (as is)") for r in (report, expected))
    np.testing.assert_allclose(ours.counts.values, theirs.counts.values)
    assert ours.cost.value == pytest.approx(theirs.cost.value)
    assert (ours.cost.low, ours.cost.high) == pytest.approx((theirs.cost.low, theirs.cost.high))
    mine, model = report.models[0], expected.models[0]
    assert mine.normalized_log_loss == pytest.approx(model.normalized_log_loss, rel=1e-6)
    assert mine.normalized_brier == pytest.approx(model.normalized_brier, rel=1e-6)
    if mine.auc is not None and model.auc is not None:
        assert problem.n_classes == 2
        assert mine.auc.value == pytest.approx(model.auc.value, abs=1e-4)
        assert mine.h == pytest.approx(model.h, abs=1e-3)
    assert report.assumptions.n_rows == N
    assert any("keeps tallies only" in caveat.text for caveat in report.caveats)
    assert "net (as is)" in str(report)


def test_logits_and_pairs_of_columns_make_the_report_of_probabilities():
    exact = P.astype(float).clip(1e-6, 1 - 1e-6)
    odds = np.log(exact / (1 - exact))
    rows = np.stack([1 - exact, exact], axis=1)
    reports = [
        fed(Evaluation(BINARY), exact, Y).report(),
        fed(Evaluation(BINARY), rows, Y).report(),
        fed(Evaluation(BINARY, logits=True), odds, Y).report(),
        fed(Evaluation(BINARY, logits=True), np.stack([-odds, odds], axis=1) / 2, Y).report(),
    ]
    costs = [report.system("model (as is)").cost.value for report in reports]
    assert costs == pytest.approx([costs[0]] * 4, rel=2e-3)
    areas = [report.models[0].auc.value for report in reports]
    assert areas == pytest.approx([areas[0]] * 4, abs=1e-4)


def test_a_report_without_cases_or_for_another_prior_says_so():
    with pytest.raises(InputError, match="at least one case"):
        Evaluation(FOUR).report()
    report = fed(Evaluation(TWO), P, Y).report()
    assert any("were not moved to the prior" in caveat.text for caveat in report.caveats)


# Two processes -----------------------------------------------------------------------------------


def _process(rank: int, path: str) -> None:
    distributed.init_process_group(
        "gloo", init_method=f"file://{path}/meet", rank=rank, world_size=2
    )
    half = slice(rank, None, 2)
    bins, cost, epoch = ScoreBins(), BayesCost(BINARY), Evaluation(BINARY)
    for metric in (bins, cost, epoch):
        metric.update(torch.tensor(P[half]), torch.tensor(Y[half]))
    numbers = {"cost": cost.compute(), **bins.compute(), **epoch.compute()}
    numbers["counts"] = torch.tensor(cost.counts().values)
    if rank == 0:  # what need not be summed waits for nobody
        alone = Evaluation(BINARY, sync_on_compute=False)
        alone.update(torch.tensor(P[half]), torch.tensor(Y[half]))
        assert alone.report().assumptions.n_rows == len(P[half])
    numbers["report"] = torch.tensor(epoch.report().assumptions.n_rows)
    torch.save(numbers, f"{path}/{rank}.pt")
    distributed.destroy_process_group()


@pytest.mark.filterwarnings("ignore")
def test_two_processes_have_the_numbers_of_one(tmp_path):
    other = multiprocessing.get_context("spawn").Process(target=_process, args=(1, str(tmp_path)))
    other.start()  # the first process is this one, which has imported everything before
    _process(0, str(tmp_path))
    other.join()
    assert other.exitcode == 0
    first, second = (torch.load(tmp_path / f"{rank}.pt") for rank in range(2))
    expected = {"cost": fed(BayesCost(BINARY), P, Y).compute(), **fed(ScoreBins(), P, Y).compute()}
    for numbers in (first, second):
        np.testing.assert_array_equal(
            numbers["counts"], fed(BayesCost(BINARY), P, Y).counts().values
        )
        assert int(numbers["report"]) == N
        for name, value in expected.items():
            assert float(numbers[name]) == pytest.approx(float(value), rel=1e-12)
        assert float(numbers["expected_cost"]) == pytest.approx(float(numbers["cost"]))


# The example -------------------------------------------------------------------------------------


def test_the_training_loop_learns_and_reports(capsys):
    example = Path(__file__).parents[2] / "examples" / "training_loop.py"
    runpy.run_path(str(example), run_name="__main__")
    printed = capsys.readouterr().out
    costs = [float(line.split()[2]) for line in printed.splitlines() if line[:5] == "epoch"]
    assert len(costs) == 5
    assert costs[-1] < 0.8 * costs[0]
    assert "linear (as is)" in printed


@pytest.mark.parametrize("kind", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("scale", list(Scale))
def test_numbers_of_the_device_are_those_of_the_table(kind, scale):
    """Bins in which the classes overlap, lie apart either way, or share one score."""
    rng = np.random.default_rng(3)
    scores = rng.choice([0.0, 0.125, 0.5, 1.0], 900)
    fine = rng.random(900) < 0.7
    scores[fine] = 0.5 + 1e-5 * rng.random(int(fine.sum()))  # many to a bin
    truth = torch.tensor(rng.random(900) < 0.3)
    for weight in (
        None,
        torch.tensor(rng.integers(0, 3, 900)),
        torch.tensor(1e90 * WEIGHTS[:900]),
    ):
        metric = ScoreBins(scale)
        metric.update(torch.tensor(scores).to(kind), truth, weight)
        values, table = metric.compute(), metric.binned()
        assert float(values["auc"]) == pytest.approx(table.auc, rel=1e-14)
        assert float(values["auc_error"]) == pytest.approx(table.auc_error, rel=1e-12, abs=1e-300)
        assert (kind == torch.float16) == (table.auc_error == 0)
        if scale is not Scale.SCORES:
            assert float(values["log_loss"]) == pytest.approx(table.log_loss, rel=1e-13)
            assert float(values["brier"]) == pytest.approx(table.brier, rel=1e-13)


def test_the_auc_of_one_class_is_undefined():
    metric = ScoreBins()
    metric.update(torch.tensor([0.2, 0.4]), torch.tensor([1, 1]))
    values = metric.compute()
    assert np.isnan(float(values["auc"]))
    assert float(values["auc_error"]) == 0
