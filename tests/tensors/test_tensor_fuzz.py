"""Strange arguments of everything in `stakes.torch`; the whole is `tests/fuzz.py … torch`."""

from __future__ import annotations

import signal
from typing import Any

import numpy as np
import pytest
import torch

from fuzz import Leaks, _too_long, fault, one_at_a_time, pairs
from fuzz_calls import Call, all_calls
from stakes import InputError, Problem, ScoreTable, evaluate
from stakes.torch import BayesCost, Evaluation, ExpectedCost, counts, score_bins

TRUTH = torch.tensor([0, 1, 0, 1])
P = torch.tensor([0.1, 0.9, 0.4, 0.6])


@pytest.fixture(autouse=True)
def _watch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of the calls write files
    before = signal.signal(signal.SIGVTALRM, _too_long)
    yield
    signal.signal(signal.SIGVTALRM, before)


def test_no_callable_of_tensors_leaks_when_arguments_are_strange():
    calls, _, unknown = all_calls(["torch"])
    assert unknown == []
    assert len(calls) > 20
    leaks = Leaks()
    assert one_at_a_time(calls, leaks) == len(calls)
    single = leaks.calls
    pairs(calls, leaks, single + 1000, seed=22)
    assert single > 4000
    assert not leaks.times, str(leaks)


def test_a_changed_tensor_is_a_leak():
    def writing(x):
        x.zero_()

    assert "changed" in str(fault(Call("writing", writing, {"x": 1}, ()), {"x": torch.ones(3)}))


def test_arrays_are_asked_for_where_numpy_cannot_read_a_tensor():
    learning = P.clone().requires_grad_()
    for scores in (learning, P.bfloat16(), [learning[0]] * 4):
        with pytest.raises(InputError, match=r"^scores must be an array.*detach\(\)"):
            ScoreTable.from_scores([0, 1, 0, 1], scores)
    problem = Problem.zero_one(2)
    with pytest.raises(InputError, match=r"detach\(\)") as refused:
        evaluate(TRUTH, {"net": learning}, problem)
    assert refused.value.argument == "models['net']"
    known = evaluate(TRUTH, {"net": learning.detach()}, problem, calibrator=None, replicates=5)
    assert known.system("net (as is)").cost.value == 0.0


@pytest.mark.parametrize(
    "state", [None, {}, {"cells": 1}, ExpectedCost(Problem.zero_one(3)), Evaluation]
)
def test_only_states_of_such_a_metric_are_merged(state):
    metric = ExpectedCost(Problem.zero_one(2))
    metric.update(TRUTH, TRUTH)
    with pytest.raises(InputError, match=r"^incoming_state must be a metric like this one"):
        metric.merge_state(state)
    assert float(metric.compute()) == 0.0


def test_a_total_of_weights_that_is_no_number_is_refused_by_counts_as_by_bins():
    heavy = torch.full((4,), 1e308, dtype=torch.float64)
    metric = BayesCost(Problem.zero_one(2))
    metric.update(P, TRUTH, heavy)
    for call in (
        metric.compute,
        lambda: counts(TRUTH, TRUTH, Problem.zero_one(2), heavy),
        lambda: score_bins(P, TRUTH, heavy),
    ):
        with pytest.raises(InputError, match="weights must have a total that is a number"):
            call()


def test_the_seed_of_a_report_is_a_whole_number_and_its_name_can_be_written():
    metric = Evaluation(Problem.zero_one(2))
    metric.update(torch.cat([P] * 5), torch.cat([TRUTH] * 5))
    whole: Any = np.float64(3)
    assert metric.report(seed=whole).to_json() == metric.report(seed=3).to_json()
    with pytest.raises(InputError, match=r"^name must be text that can be written"):
        metric.report("half \ud800")
