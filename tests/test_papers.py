"""The papers' tables and figures, in their fast variant: what must agree with the print agrees."""

from __future__ import annotations

import ast
import copy
import importlib
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

FOLDER = Path(__file__).parents[1] / "papers"
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))
run = importlib.import_module("run")

ITEMS = [(paper, item) for paper, items in run.PAPERS.items() for item in items]
SCRIPTS = sorted(FOLDER.glob("*/*.py"))


@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_what_must_agree_with_the_print_agrees(paper, item, tmp_path):
    page = run.build(paper, item, fast=True, pictures=tmp_path / "figures")
    bad = [one for one in page.comparisons if not one.good]
    assert page.comparisons
    assert not bad
    assert (tmp_path / "figures").exists() == ("![" in page.text())


@pytest.mark.parametrize(
    ("paper", "item", "path", "wrong"),
    [
        ("ferrer-ec", "figure-1", ("f1_cost",), 2.4),
        ("ferrer-ec", "table-1", ("NEC", "Cimb"), [1.00, 0.37, 0.12]),
        ("ferrer-ec", "table-1", ("naive_decisions",), ["H1", "any", "H1", "abstain", "H1"]),
        ("ferrer-analysis", "table-1", ("rows", 3, 7), 0.59),
        ("itai-katz", "clinic", ("detected",), 991),
        ("dyrland", "table-1", ("stories", 0, "yields"), [3.5, 3.5]),
        ("dyrland", "compliance", ("yes",), ["accuracy", "recall", "specificity", "F1"]),
        ("hernandez-orallo", "table-2", ("rate_driven",), [0.189, 0.248]),
    ],
)
def test_a_wrong_print_is_noticed(paper, item, path, wrong, tmp_path, monkeypatch):
    changed = copy.deepcopy(run.PRINTED)
    place = changed[paper][item]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = wrong
    monkeypatch.setattr(run, "PRINTED", changed)
    assert not run.build(paper, item, fast=True, pictures=tmp_path).good


@pytest.mark.parametrize(
    ("paper", "item", "path", "right"),
    [
        ("itai-katz", "clinic", ("false_alarms",), 490),
        ("itai-katz", "three-classes", ("determinant",), 0.226),
    ],
)
def test_a_misprint_that_no_longer_differs_is_noticed(
    paper, item, path, right, tmp_path, monkeypatch
):
    changed = copy.deepcopy(run.PRINTED)
    changed[paper][item][path[0]] = right
    monkeypatch.setattr(run, "PRINTED", changed)
    page = run.build(paper, item, fast=True, pictures=tmp_path)
    assert not page.good
    assert "thought to be a misprint" in page.text()


def test_every_item_has_a_script_and_a_place_in_the_paper():
    for paper, items in run.PAPERS.items():
        stated = {key for key, value in run.PRINTED[paper].items() if isinstance(value, dict)}
        assert stated == set(items)
        assert all(run.PRINTED[paper][item]["where"] for item in items)
        assert all((FOLDER / run.source(paper, item)).is_file() for item in items)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_scripts_use_the_public_functions_only(script):
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stakes"):
            assert not any(part.startswith("_") for part in (node.module or "").split("."))
            room = importlib.import_module(node.module or "")
            assert all(alias.name in room.__all__ for alias in node.names), node.module
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr.startswith("__")


def test_the_page_shows_every_item_and_every_picture():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for paper, item in ITEMS:
        assert f"### {paper}, {run.title(paper, item)}" in text
    shown = set(re.findall(r"!\[[^\]]*\]\((figures/[^)]+)\)", text))
    drawn = {f"figures/{path.name}" for path in (FOLDER / "figures").glob("*.svg")}
    assert shown == drawn
    assert sum((FOLDER / name).stat().st_size for name in drawn) < 3_000_000
    assert "NO, but it must" not in text


def test_an_unknown_item_is_an_error_and_a_known_one_exits_with_zero(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "HERE", tmp_path / "papers")
    monkeypatch.setattr(sys, "argv", ["run.py", "itai-katz", "clinic"])
    assert run.main() == 0
    assert "clinic: agrees" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["run.py", "itai-katz", "table-9"])
    with pytest.raises(SystemExit) as stopped:
        run.main()
    assert stopped.value.code == 2
