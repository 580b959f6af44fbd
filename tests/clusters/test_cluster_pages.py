"""The command that needs a cluster, with a folder and a local master in place of one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner

import stakes
from page_blocks import blocks_of
from stakes.cli.commands import stakes as command
from test_docs import load

ON_THE_CLUSTER = "hdfs:///predictions/2026/*.parquet"
PROBLEM = stakes.Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": 25},
        "fraud": {"approve": 180, "review": 8, "block": 0},
    }
)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The columns that the command names, in a file of four hundred rows."""
    places = range(400)
    columns: dict[str, list[Any]] = {
        "label": ["fraud" if i % 4 == 0 else "legit" for i in places],
        "p_new": [0.1 + 0.7 * (i % 4 == 0) - 0.001 * (i % 7) for i in places],
        "customer": [i // 4 for i in places],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    PROBLEM.to_toml(tmp_path / "fraud.toml")
    monkeypatch.chdir(tmp_path)
    return str(tmp_path / "*.parquet")


def test_the_command_on_files_of_the_cluster(spark, files):
    """A session on a local master is active; the command takes it as it is."""
    ((words,),) = [block.commands for block in blocks_of("spark.md", "")]
    local = {"yarn": "local[2]", ON_THE_CLUSTER: files}
    done = CliRunner().invoke(command, [local.get(word, word) for word in words[1:]])
    assert done.exit_code == 0, done.output
    assert "new" in done.stdout


def test_the_tutorial_prints_what_was_recorded(spark):
    """It gets the session of the tests, and leaves it open."""
    recorded = load("recorded")
    for name in recorded.NEEDS_SPARK:
        assert recorded.outputs(name) == recorded.recorded(name)
