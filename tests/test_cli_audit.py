"""``stakes audit --misranking``: the study of the paper from the command line."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")

from click.testing import CliRunner, Result

from stakes import Problem, ScoreTable
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
