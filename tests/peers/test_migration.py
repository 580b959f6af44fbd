"""Calls of other packages and ours agree, and the page of the comparison has these very calls."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = spec_from_file_location("migration", ROOT / "benchmarks" / "migration.py")
assert spec is not None
assert spec.loader is not None
migration = sys.modules["migration"] = module_from_spec(spec)
spec.loader.exec_module(migration)

# The others need environments of their own: `python benchmarks/migration.py` there.
HERE = {"scikit-learn", "empulse", "hmeasure", "dcurves", "model-diagnostics"}
MOVES = [move for move in migration.MOVES if move.package in HERE]


@pytest.mark.filterwarnings("ignore::Warning")  # theirs
@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.theirs)
def test_their_call_and_ours_give_the_same_number(move):
    assert migration.difference(move) < 1e-9


def test_a_call_of_theirs_that_fails_is_named_and_the_next_one_runs(monkeypatch, capsys):
    moves = [migration.Move("nobody", theirs, "1") for theirs in ("1 / 0", "1")]
    monkeypatch.setattr(migration, "MOVES", moves)
    migration.main([])
    results = [line.split(" | ")[3] for line in capsys.readouterr().out.splitlines()[2:]]
    assert results == ["failed: ZeroDivisionError: division by zero |", "0e+00 |"]


def test_an_error_of_ours_is_raised_as_it_is():
    with pytest.raises(ZeroDivisionError):
        migration.difference(migration.Move("nobody", "1", "1 / 0"))


def test_the_page_has_every_call_and_no_other():
    page = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    table = page.split("## Their call, and ours")[1].split("\n## ")[0]
    rows = [line.split(" | ") for line in table.splitlines() if line.startswith("| ")][1:]
    told = [(row[0].strip("| "), row[1].strip("`"), row[2].strip("`")) for row in rows]
    assert told == [tuple(move) for move in migration.MOVES]
