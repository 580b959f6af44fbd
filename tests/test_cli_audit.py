"""``stakes audit --misranking``: the study of the paper from the command line."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")

from click.testing import CliRunner, Result

from stakes import Limit, Problem, ScoreTable
from stakes.audit import (
    FAMILIAR,
    AssessmentError,
    RawScores,
    implied_costs,
    misranking,
    uniform_setting,
)
from stakes.cli.audit import _reading
from stakes.cli.commands import stakes as command
from stakes.cli.output import Terminal

PAIRS = 70_000  # three blocks


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """A folder with a problem and predictions, which is also the current one."""
    monkeypatch.chdir(tmp_path)
    Problem.binary(false_alarm=1, miss=4, classes=["ham", "spam"]).to_toml("two.toml")
    rows = ["truth,a,b", "ham,0.1,0.3", "spam,0.8,0.4", "ham,0.4,0.2", "spam,0.6,0.9"]
    Path("rows.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return tmp_path


def run(*arguments: object) -> Result:
    models = ("--model", "a", "--model", "b")
    words = ["audit", "rows.csv", "-p", "two.toml", *models, *map(str, arguments)]
    return CliRunner().invoke(command, words)


def test_the_study_is_printed_with_its_standard_errors():
    done = run("--misranking", PAIRS, "--seed", 5)
    assert done.exit_code == 0, done.output
    study = misranking(
        FAMILIAR,
        **uniform_setting(),
        error={"costs with 10 % error": AssessmentError(0.1)},
        pairs=PAIRS,
        rng=np.random.default_rng(5),
    )
    assert repr(study) in done.output
    assert "standard error" in done.output
    assert "(seed 5)" in done.output


def test_without_the_option_nothing_is_drawn():
    done = run()
    assert done.exit_code == 0, done.output
    assert "Misranking" not in done.output


def test_the_bar_is_moved_by_every_block_up_to_the_end(monkeypatch):
    moves: dict[str, list[int]] = {}

    @contextmanager
    def working(self, what, n_rows, *, steps=True):
        assert what != "drawing pairs" or (n_rows, steps) == (PAIRS, True)
        yield moves.setdefault(what, []).append

    monkeypatch.setattr(Terminal, "working", working)
    assert run("--misranking", PAIRS).exit_code == 0
    assert sum(moves["drawing pairs"]) == PAIRS
    assert len(moves["drawing pairs"]) > 1


@pytest.mark.parametrize("pairs", ["0", "-3", "many", str(10**12)])
def test_pairs_are_a_positive_whole_number_that_can_be_waited_for(pairs):
    done = run("--misranking", pairs)
    assert done.exit_code == 2
    assert "--misranking" in done.output
    assert "cheapest" not in done.output  # refused before anything is read


def test_thresholds_that_tie_are_counted():
    table = ScoreTable([1, 2, 3, 4], [[1, 0], [0, 1], [1, 0], [0, 1]])
    implied = implied_costs(table, FAMILIAR["accuracy"], scale=RawScores())
    assert len(implied.optima) == 2
    assert _reading(implied)[0] == "1 (and 1 more)"


# Sentences ---------------------------------------------------------------------------------------


def test_sentences_are_as_wide_as_those_of_a_report():
    Problem.binary(false_alarm=1, miss=9, classes=["ham", "spam"]).to_toml("two.toml")
    names = ["a model with quite a long name", "another model with quite a long name"]
    lines = ["ham,ham,ham", *["ham,spam,ham"] * 2, "spam,spam,spam", "spam,spam,ham"] * 40
    Path("rows.csv").write_text("\n".join([",".join(["truth", *names]), *lines]), encoding="utf-8")
    models = [word for name in names for word in ("--model", name)]
    done = CliRunner().invoke(command, ["audit", "rows.csv", "-p", "two.toml", *models])
    assert done.exit_code == 0, done.output
    _, told = done.stdout.split("\nThe cheapest system is ")
    told = told.split("\n\n")[0]
    assert len(told) > 96
    assert "\n" in told
    assert all(len(line) <= 96 for line in told.splitlines())


def test_what_is_odd_about_a_problem_is_as_wide_as_a_report():
    decisions = [
        f"{act} the payment until somebody has called the bank" for act in ("stop", "hold")
    ]
    Problem([[0, 1], [0, 2]], decisions=decisions, prior=[0.9, 0.1]).to_toml("odd.toml")
    done = CliRunner().invoke(command, ["problem", "check", "odd.toml"])
    assert "whatever the class." in " ".join(done.output.split())
    assert all(len(line) <= 96 for line in done.output.splitlines())
    done = CliRunner().invoke(command, ["problem", "show", "odd.toml"])
    told = done.output[done.output.index("Without looking") :]
    assert all(len(line) <= 96 for line in told.splitlines())


# Limits on decisions beyond the limit of memory --------------------------------------------------


def limited_rows(n: int = 400) -> None:
    """More rows than a kilobyte holds, whose scores are few, and a problem with a limit."""
    problem = Problem.from_toml(Path("two.toml"))
    problem.with_limits([Limit.share("spam", at_most=0.3)]).to_toml("two.toml")
    rng = np.random.default_rng(3)
    spam = rng.random(n) < 0.4
    scores = np.clip(0.3 + 0.3 * spam + rng.normal(0, 0.2, (2, n)), 0, 1).round(1)
    rows = zip(np.where(spam, "spam", "ham"), *scores, range(n), strict=True)
    lines = ["truth,a,b,id", *(",".join(map(str, row)) for row in rows)]
    Path("rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_beyond_the_limit_of_memory_limits_on_decisions_need_a_key_which_audit_takes():
    limited_rows()
    refused = run("--memory-limit", "6k", "--calibrate", "none")
    assert refused.exit_code == 2
    assert (
        "by folds of a key there, and none is named. Raise it, name a column of whole numbers "
        in (refused.output)
    )
    assert "with --key, evaluate a sample, or leave the limits out of the problem file." in (
        refused.output
    )
    assert "with_limits" not in refused.output
    assert "key=" not in refused.output
    done = run("--memory-limit", "6k", "--calibrate", "none", "--key", "id")
    assert done.exit_code == 0, done.output
    assert "tallied inside the engine" in done.output
    assert "The cheapest system is" in done.output


def test_the_help_names_only_options_that_the_command_has():
    """--help of fit spoke of evaluate and audit, and that of audit of --key, which it lacked."""
    for name in ("evaluate", "audit"):
        shown = CliRunner().invoke(command, [name, "--help"]).output
        assert "--key COLUMN" in shown
    shown = " ".join(CliRunner().invoke(command, ["calibrate", "fit", "--help"]).output.split())
    assert "Rows that need more are refused." in shown
    for other in ("evaluate and audit", "engine", "--key"):
        assert other not in shown
