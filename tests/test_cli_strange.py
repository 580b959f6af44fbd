"""Every option and argument of every command, one after the other, with strange text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

import click
from click.testing import CliRunner

from stakes import Problem, evaluate
from stakes.cli.commands import stakes as front

SEPARATE: Any = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
PROBLEM = Problem(
    [[0, 25], [180, 0]], classes=["legit", "fraud"], decisions=["approve", "block"], unit="EUR"
)
P = [0.05, 0.2, 0.7, 0.1] * 10
TRUTH = ["legit", "legit", "fraud", "fraud"] * 10
QUICK = ("--calibrate", "none", "--replicates", "5")
# Arguments with which each command works.
WORKS = {
    ("evaluate",): ("rows.csv", "-p", "p.toml", *QUICK),
    ("diff",): ("report.json", "report.json"),
    ("decide",): ("rows.csv", "-p", "p.toml", "--model", "p", "-o", "decided.csv"),
    ("calibrate", "fit"): ("rows.csv", "-p", "p.toml", "--model", "p", "-o", "made.json"),
    ("calibrate", "apply"): (
        *("rows.csv", "-p", "p.toml", "--model", "p", "--map", "map.json", "-o", "mapped.csv"),
    ),
    ("audit",): ("rows.csv", "-p", "p.toml", "--calibrate", "none"),
    ("problem", "show"): ("p.toml",),
    ("problem", "check"): ("p.toml",),
    ("problem", "new"): ("new.toml",),
    ("schema",): (),
    ("demo",): ("--html", "demo.html"),
}
STRANGE = (
    *("", " ", "-", "--", "-1", "0", "0.5", "1e308", "1e-320", "nan", "inf", "-inf", "1_000", "٣"),
    *(
        "9" * 400,
        "x",
        "x" * 5000,
        "None",
        "true",
        "=",
        "=p",
        "p=",
        "a=b=c",
        "p=p",
        "p,p",
        ",",
        "%s",
    ),
    *(
        "p=1",
        "p=nan",
        "p=9e999",
        "legit=1,fraud=0",
        "legit=.5",
        "truth",
        "TRUTH",
        "p",
        "{}",
        "[",
        "*",
    ),
    *("\x1b[31m", "\u202ep", "p\ud800", "p\udcff", "a\x00b", "a\nb"),
    *("'; drop table rows; --", '"', "*.csv"),
    *("rows.csv", "p.toml", "map.json", "report.json", "nothing.csv", "/", "..", "/nowhere/x"),
    *("cost > 1", "cost > ", "cost(" * 99, "no-worse", "better:p", "1e9GiB", "-3MB", "select"),
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PROBLEM.to_toml("p.toml")
    rows = "".join(f"{label},{p}\n" for label, p in zip(TRUTH, P, strict=True))
    Path("rows.csv").write_text(f"truth,p\n{rows}")
    report = evaluate(TRUTH, {"p": P}, PROBLEM, calibrator=None, replicates=5)
    report.to_json("report.json")
    fit = ["calibrate", "fit", "rows.csv", "-p", "p.toml", "--model", "p", "-o", "map.json"]
    assert CliRunner().invoke(front, fit).exit_code == 0
    return tmp_path


def commands(
    group: Any = front, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The commands that are no groups, by the words that they are called with."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


def lines(command: Any, works: tuple[str, ...]) -> Iterator[list[str]]:
    """Arguments of a command, one of which is strange in each."""
    places = [place for place, word in enumerate(works) if not word.startswith("-")]
    flags = [option for option in command.params if isinstance(option, click.Option)]
    for value in STRANGE:
        for place in places:
            yield [*works[:place], value, *works[place + 1 :]]
        for option in flags:
            name = option.opts[0]
            yield [*works, *([name] if option.is_flag else [name, value])]


def fault(words: list[str], before: dict[str, bytes]) -> str | None:
    """What is wrong with how the command ends, if anything is."""
    done = CliRunner(**SEPARATE).invoke(front, words, input="")
    files = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for name in files.keys() - before.keys():
        Path(name).unlink()
    gated = {"--fail-if", "--gate"} & set(words)
    if done.exit_code not in ((0, 1, 2) if gated or words[0] == "diff" else (0, 2)):
        return f"exit code {done.exit_code}: {done.stderr[-300:]}"
    if "Traceback" in done.stderr + done.stdout:
        return "a traceback"
    changed = [name for name in before if files.get(name) != before[name]]
    for name in changed:
        Path(name).write_bytes(before[name])
    if any(words.count(name) != 1 for name in changed):  # once: the file that an output replaces
        return f"an input was changed: {changed}"
    if any(name.endswith(".part") for name in files):
        return "a part of a file was left"
    if {"\x1b", "\u202e"} & set(done.stdout + done.stderr):
        return "a terminal would obey what was printed"
    last = (done.stderr.splitlines() or [""])[-1]
    printed = bool(done.stdout) and "--rule-out" not in words  # the report says why there is none
    if done.exit_code == 2 and (printed or not last.startswith("stakes: ")):
        return f"no sentence: {done.stdout[-80:]!r} {last!r}"
    if done.exit_code == 2 and files.keys() != before.keys():
        return f"refused, and yet written: {files.keys() - before.keys()}"
    return None


def leaks(chosen: list[list[str]]) -> list[str]:
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    faults = ((words, fault(words, before)) for words in chosen)
    return [f"{words}: {leak}" for words, leak in faults if leak]


def test_every_command_has_arguments_with_which_it_works():
    assert {path for path, _ in commands()} == set(WORKS)
    for path, works in WORKS.items():
        done = CliRunner(**SEPARATE).invoke(front, [*path, *works], input="")
        assert done.exit_code == (2 if path == ("problem", "new") else 0), done.stderr


@pytest.mark.parametrize(
    "share", [0.006, pytest.param(0.06, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_strange_options_end_every_command_with_a_code_of_the_contract_and_a_sentence(share):
    drawn = random.Random(22)
    chosen = [
        [*path, *words]
        for path, command in commands()
        for words in lines(command, WORKS[path])
        if drawn.random() < share
    ]
    assert len(chosen) > 25
    assert leaks(chosen) == []
