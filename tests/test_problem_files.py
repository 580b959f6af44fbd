"""Problem files with a fault: the message names the file, the class, the decision and a remedy."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stakes import InputError, Problem

GOOD = "[costs]\nwell = { wait = 0, treat = 1 }\nill = { wait = 5, treat = 0 }\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("5", "true", "the cost of 'wait' in class 'ill' must be a number .*; it is True. Correct"),
        ("5", "nan", "the cost of 'wait' in class 'ill' must be a number .*; it is nan. Correct"),
        ("5", "-inf", "the cost of 'wait' in class 'ill' must be a number .*; it is -inf. Correct"),
        ("5", "1e101", "the cost of 'wait' in class 'ill' must be a number within 1e"),
        ("5", "[1]", "the cost of 'wait' in class 'ill' must be .*; it is \\[1\\]. Correct"),
        ("wait = 5,", "", "the row of class 'ill' must have one .*it lacks 'wait'. Add it, or"),
        ("wait = 5", "wat = 5, wait = 5", "class 'ill' must .*; it holds 'wat'. Add it, or cor"),
        ("[costs]", "prior = [0.5, 0.6]\n[costs]", "prior must sum to one; it sums to 1.1. Div"),
        ("[costs]", "unit = 5\n[costs]", "unit must be a str; got int 5. It names"),
        (
            "[costs]",
            "[[limits]]\ndecision = 'treat'\nat_most = 'x'\n[costs]",
            "the limit on 'treat': at_most must be one real number .*; got str 'x'. Pass",
        ),
    ],
)
def test_a_faulty_problem_file_is_refused_with_the_place_and_a_remedy(tmp_path, old, new, message):
    path = tmp_path / "p.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=f"^{path}: .*{message}"):
        Problem.from_toml(path)


def test_a_byte_order_mark_is_no_fault_and_other_bytes_are_one(tmp_path):
    path = tmp_path / "p.toml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert Problem.from_toml(path).costs.tolist() == [[0, 1], [5, 0]]
    path.write_bytes(GOOD.encode("utf-16"))
    with pytest.raises(InputError, match=r"must be a TOML file in UTF-8; .* Save it as UTF-8"):
        Problem.from_toml(path)


def test_what_replaces_a_part_of_the_file_is_blamed_under_its_own_name(tmp_path):
    (tmp_path / "p.toml").write_text(GOOD, encoding="utf-8")
    with pytest.raises(InputError, match=r"^prior must sum to one"):
        Problem.from_toml(tmp_path / "p.toml", prior=[0.5, 0.6])


def test_the_largest_cost_can_be_read(tmp_path):
    problem = Problem([[0, 1e100], [-1e100, 0]])
    problem.to_toml(tmp_path / "p.toml")
    assert Problem.from_toml(tmp_path / "p.toml") == problem


def test_a_terminal_does_not_obey_units():
    problem = Problem([[0, 1], [5, 0]], unit="\x1b[31m", decisions=["\x9b", "b"])
    assert "\x1b" not in str(problem)
    assert "\\x1b[31m" in str(problem)
    assert "\x9b" not in str(problem)


@pytest.mark.parametrize("cost", ["1e60", "1e-120"])
def test_problem_check_refuses_costs_that_evaluate_refuses(tmp_path, cost):
    runner = pytest.importorskip("click.testing").CliRunner()
    command = pytest.importorskip("stakes.cli.problem").problem
    path = tmp_path / "p.toml"
    path.write_text(GOOD.replace("1", cost).replace("5", "0"), encoding="utf-8")
    error = runner.invoke(command, ["check", str(path)]).exception
    assert isinstance(error, InputError)
    assert "from 1e-100 to 1e+40; the largest is" in str(error)
    path.write_text(GOOD.replace("treat", '""'), encoding="utf-8")
    output = runner.invoke(command, ["check", str(path)]).output
    assert "one of the decisions has an empty name" in output


@pytest.mark.parametrize("cost", ["p=nan", "p=-1", "p=inf", "p=", "=3"])
def test_a_running_cost_is_blamed_as_it_was_written(cost):
    read = pytest.importorskip("stakes.cli.options").numbers_by_name
    with pytest.raises(
        InputError, match=rf"^--running-cost must .*; '{cost}' is not a cost\. Write"
    ):
        read("--running-cost", (cost,), ("model", "cost"), "new=0.02")


def test_a_folder_that_was_removed_is_what_the_command_blames(tmp_path):
    commands = pytest.importorskip("stakes.cli.commands")
    (tmp_path / "gone").mkdir()
    before = Path.cwd()
    try:
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        with pytest.raises(InputError, match="the current folder must be there; it was removed"):
            commands._refuse_lost_folder()
    finally:
        os.chdir(before)
    commands._refuse_lost_folder()  # nothing to refuse
