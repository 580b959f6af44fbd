"""The fuzzer: what it calls, that it finds leaks, and that it finds no new ones."""

from __future__ import annotations

import re
import signal

import numpy as np
import pytest

import fuzz
import stakes
from fuzz import Leaks, _too_long, fault, one_at_a_time, pairs
from fuzz_calls import Call, all_calls, call_of, left_out, public, rooms
from fuzz_functions import Mine, functions_of, strange_functions
from fuzz_representations import differences
from fuzz_shapes import handed_calls, shape_leaks, shapes
from stakes import InputError


@pytest.fixture(autouse=True)
def _watch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of the calls write files
    before = signal.signal(signal.SIGVTALRM, _too_long)
    yield
    signal.signal(signal.SIGVTALRM, before)


def _leaky(x):
    return x + 1


def _writing(x):
    x[:] = 0


def test_another_error_than_an_input_error_and_a_changed_argument_are_leaks():
    assert "TypeError" in str(fault(Call("leaky", _leaky, {"x": 1}, ()), {"x": None}))
    assert fault(Call("leaky", _leaky, {"x": 1}, ()), {"x": 2.0}) is None
    assert "changed" in str(fault(Call("writing", _writing, {"x": 1}, ()), {"x": np.ones(3)}))


def _blaming(other, x):
    raise InputError("other must be a number; got 1. Pass one.")


def test_a_message_about_another_argument_is_a_leak_unless_the_two_may_disagree():
    call = Call("blaming", _blaming, {"other": 1, "x": 2}, ())
    assert "blames other" in str(fault(call, {"x": None}))
    assert fault(call, {"x": 3}) is None  # a number like 2: either may be at fault
    assert fault(call, {"other": None}) is None


def test_every_room_is_called_or_left_out_with_a_reason():
    assert {*rooms(), *left_out(), "adapters", "errors", "evaluation"} >= set(stakes._ROOMS)
    assert all(left_out().values())


def test_calls_that_work_write_nothing_into_the_current_folder(tmp_path):
    calls, _, _ = all_calls(["problem", "render", "rule"])
    assert any(call.name == "problem.Problem.to_toml" for call in calls)
    assert list(tmp_path.iterdir()) == []


def test_equal_rows_in_other_containers_give_equal_answers_and_stay_as_they_are():
    calls, differing = differences()
    assert calls > 200  # more where pandas and Polars are installed
    assert differing == []


def _trusting(function, x):
    return function(x) + 1


def test_a_function_that_answers_with_nonsense_must_be_named_and_its_own_errors_pass():
    call = Call("trusting", _trusting, {"function": float, "x": 1}, ())
    assert [name for name, _ in functions_of(call)] == []  # a class is no function
    call = Call("trusting", _trusting, {"function": abs, "x": 1}, ())
    count, leaks = strange_functions([call], fault)
    assert count == 3 * 21
    assert "trusting(function gives None after 0): TypeError" in leaks[0]
    assert not any("an error" in leak for leak in leaks)
    with pytest.raises(Mine):
        call.run({name: make(Mine, 0) for name, make in functions_of(call)})


def test_strange_functions_are_refused_by_the_name_of_their_argument():
    wanted = {"inference.jackknife", "inference.bootstrap_t", "audit.disagreement"}
    calls = [call_of(name, kind) for name, kind in public() if name in wanted]
    count, leaks = strange_functions([call for call in calls if call], fault)
    assert count == 4 * 3 * 21
    assert leaks == []


def test_arrays_of_another_shape_are_refused_by_name():
    calls, without = handed_calls(["measures", "ranking", "decide"])
    assert without == []
    assert len(calls) > 10
    count, leaks = shape_leaks(calls, fault)
    assert count > 200
    assert leaks == []


def _summing(x, y):
    return (x @ y).sum()


def test_what_another_shape_breaks_is_a_leak():
    x = np.ones((2, 3))
    count, leaks = shape_leaks([Call("summing", _summing, {"x": x, "y": x.T}, ())], fault)
    assert count == 2 * len(shapes(x))
    assert any("summing(x) a column less: ValueError" in leak for leak in leaks)


def test_a_run_keeps_to_its_time_and_says_how_far_it_is(monkeypatch, capsys):
    call = Call("adding", _leaky, {"x": 1, "y": 2}, ())
    late = Leaks(seconds=0)
    assert one_at_a_time([call], late) == 0
    pairs([call], late, 10, seed=0)
    assert strange_functions([call], fault, late=late.late) == (0, [])
    assert late.calls == 0
    monkeypatch.setattr(fuzz, "_OFTEN", -1)
    assert one_at_a_time([call], leaks := Leaks()) == 1
    assert re.search(r"0 s: \d+ calls, \d+ leaks", capsys.readouterr().err)
    assert leaks.calls > 50


@pytest.mark.slow
def test_no_callable_that_takes_a_function_leaks_when_it_is_strange():
    calls, _, _ = all_calls()
    count, leaks = strange_functions(calls, fault)
    assert count > 2000
    assert leaks == []


@pytest.mark.slow
def test_no_callable_leaks_when_an_array_has_another_shape():
    calls, without = handed_calls()
    assert without == []
    count, leaks = shape_leaks(calls, fault)
    assert count > 1500
    assert leaks == []


@pytest.mark.slow
def test_no_public_callable_leaks_when_one_argument_is_strange():
    calls, inside, unknown = all_calls()
    assert unknown == []
    assert len(calls) > 450
    assert all(inside.values())
    leaks = Leaks()
    long = [call for call in calls if re.search("evaluat|displays|sklearn|to_html", call.name)]
    one_at_a_time([call for call in calls if call not in long], leaks)
    one_at_a_time(long, leaks, step=10)  # the whole is `make fuzz`
    assert not leaks.times, str(leaks)
