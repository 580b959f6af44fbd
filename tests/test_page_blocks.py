"""Every block of a page runs: examples as doctests, and here what no doctest can be.

Commands run in a folder that has the files they name. What is only shown is listed with a reason.
"""

from __future__ import annotations

import doctest
import math
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
duckdb = pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

from click.testing import CliRunner  # noqa: E402

from laws_measures import ProblemLaw, expected_cost_per_class  # noqa: E402
from page_blocks import ROOT, Block, blocks, blocks_of  # noqa: E402
from stakes import Counts, Problem  # noqa: E402
from stakes.cli.commands import stakes as command  # noqa: E402

# Commands of other programs: what they install or run is checked below, and CI runs all targets.
PROGRAMS = {"stakes", "pip", "make", ".venv/bin/python"}
# Blocks that need a cluster run in tests/clusters, with its files in place of the cluster's.
ON_A_CLUSTER = {("spark.md", "")}
# Blocks that are no doctests, by page and language, and where they run.
RUN_HERE = {
    ("README.md", "toml"),
    ("README.md", ""),
    ("CONTRIBUTING.md", ""),
    ("add_a_measure.md", "python"),
    ("add_a_measure.md", ""),
    ("add_a_tally.md", ""),
    ("incumbent.md", ""),
    ("incumbent.md", "yaml"),
    ("index.md", "python"),
    ("limits.md", "toml"),
    ("problem_file.md", "toml"),
    ("ship_a_rule.md", ""),
    ("start.md", ""),
}
TUMOURS = Problem({"benign": {"wait": 0, "operate": 1}, "malignant": {"wait": 9, "operate": 0}})


def is_doctest(block: Block) -> bool:
    return block.language == "python" and block.text.lstrip().startswith(">>>")


def test_every_block_runs_somewhere():
    shown = {(block.page, block.language) for block in blocks() if not is_doctest(block)}
    assert shown == RUN_HERE | ON_A_CLUSTER
    programs = {words[0] for b in blocks() if b.language == "" for words in b.commands}
    assert programs <= PROGRAMS


def problem_text(page: str) -> str:
    return blocks_of(page, "toml")[0].text


def write(file: str, first: str, other: str, columns: str) -> None:
    """A hundred and twenty rows, of which one in four is of the first class."""
    label = f"CASE WHEN i % 4 = 0 THEN '{first}' ELSE '{other}' END AS label"
    duckdb.sql(f"COPY (SELECT {label}, {columns} FROM range(120) AS rows(i)) TO '{file}'")


@pytest.fixture
def loans(folder: Path) -> Path:
    """The files of the page about rules: its own problem, and the data that it reads."""
    page = (ROOT / "docs" / "ship_a_rule.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(page)[:6]:  # up to the problem
        exec(example.source, names)
    names["problem"].to_toml("loans.toml")
    data = files("stakes") / "data" / "german_credit.csv"
    for file in ("past", "new"):
        duckdb.sql(f"COPY (FROM '{data}') TO '{file}.parquet'")
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that commands of the pages name, with a few rows each."""
    monkeypatch.chdir(tmp_path)
    Path("fraud.toml").write_text(problem_text("README.md"), encoding="utf-8")
    TUMOURS.to_toml("tumours.toml")
    scores = "0.1 + 0.7 * (i % 4 = 0)::INT AS p_new, 0.3 AS p_old, 50 + i % 7 AS amount"
    for file in ("predictions", "new"):
        write(f"{file}.parquet", "fraud", "legit", scores)
    write("predictions.csv", "malignant", "benign", "0.1 + 0.7 * (i % 4 = 0)::INT AS p_logistic")
    return tmp_path


def run(words: list[str]) -> None:
    if words[0] == "stakes" and words[1:] != ["demo"]:  # test_demo runs that one
        done = CliRunner().invoke(command, words[1:])
        assert done.exit_code == 0, done.output


WITH_FILES = [
    ("README.md", "folder"),
    ("incumbent.md", "folder"),
    ("ship_a_rule.md", "loans"),
    ("start.md", "folder"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("page", "files_of"), WITH_FILES)
def test_commands_of_a_page_run_in_a_folder_that_has_their_files(page, files_of, request):
    folder, outputs = request.getfixturevalue(files_of), set()
    for block in blocks_of(page, ""):
        for words in block.commands:
            run(words)
            named = (words[place + 1] for place, word in enumerate(words) if word in OUTPUTS)
            outputs |= set(named)
    assert outputs
    assert {name for name in outputs if not (folder / name).exists()} == set()


OUTPUTS = {"--html", "--json", "--markdown", "--rule-out", "--out"}


@pytest.mark.slow
def test_the_steps_of_github_actions_run(folder):
    (block,) = blocks_of("incumbent.md", "yaml")
    steps = re.findall(r"run: (?:>\n)?(.*?)(?=\n- |\Z)", block.text, re.DOTALL)
    words = " ".join(steps[1].split()).split()
    assert words[:2] == ["stakes", "evaluate"]
    run(words)
    assert (folder / "comment.md").exists()  # which the last step shows


def test_a_folder_without_the_files_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        run(blocks_of("README.md", "")[2].commands[1])  # after the installation


def test_problem_files_of_the_pages_are_read(tmp_path):
    """The limits are a part of a file, which ends with them."""
    for page in ("README.md", "problem_file.md"):
        (tmp_path / page).write_text(problem_text(page), encoding="utf-8")
        assert Problem.from_toml(tmp_path / page).classes == ("legit", "fraud")
    text = problem_text("problem_file.md") + problem_text("limits.md")
    (tmp_path / "limits").write_text(text, encoding="utf-8")
    assert len(Problem.from_toml(tmp_path / "limits").limits) == 2


@pytest.mark.slow
def test_the_first_page_runs_with_labels_and_probabilities(folder):
    (block,) = blocks_of("index.md", "python")
    y_true = ["legit", "legit", "fraud"] * 12
    named = {"p_forest": [0.05, 0.1, 0.8] * 12, "p_logistic": [0.1, 0.4, 0.3] * 12}
    exec(block.text, {"y_true": y_true, **named})
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_the_line_of_the_register_is_a_law_of_the_measure_on_its_page():
    page = (ROOT / "docs" / "add_a_measure.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(page)[:4]:  # up to the function
        exec(example.source, names)
    measure: Any = names["worst_class_cost"]
    twin, line = (b for b in blocks_of("add_a_measure.md", "python") if not is_doctest(b))
    register: dict[str, object] = {
        "cost": SimpleNamespace(worst_class_cost=measure),
        "expected_cost_per_class": expected_cost_per_class,
        "math": math,
        "ProblemLaw": ProblemLaw,
    }
    exec(twin.text, register)
    law: Any = eval(line.text.strip(), register)
    problem, row, empty = Problem([[0, 3, 25], [180, 8, 0]]), [70, 20, 10], [0, 0, 0]
    assert law.measure is measure
    for table in ([row, [5, 1, 4]], [row, empty], [empty, row]):
        value = float(measure(Counts(table), problem))
        assert np.isclose(value, law.twin(table, problem), equal_nan=True)


def test_what_the_pages_install_and_make_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):.*##", makefile, re.MULTILINE))
    shell = [words for block in blocks() if block.language == "" for words in block.commands]
    named = {words[1] for words in shell if words[0] == "make"}
    assert named
    assert named <= targets
    installed = " ".join(" ".join(words) for words in shell if words[0] == "pip")
    extras = {name for group in re.findall(r"\[([\w,]+)\]", installed) for name in group.split(",")}
    assert extras
    assert extras <= set(project["optional-dependencies"])
