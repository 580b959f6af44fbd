"""The papers' tables and figures, in their fast variant: what must agree with the print agrees."""

from __future__ import annotations

import ast
import copy
import importlib
import io
import re
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("sklearn")

FOLDER = Path(__file__).parents[1] / "papers"
if str(FOLDER) not in sys.path:
    sys.path.insert(0, str(FOLDER))
run = importlib.import_module("run")
page = importlib.import_module("page")

ITEMS = [(paper, item) for paper, items in run.PAPERS.items() for item in items]
SCRIPTS = sorted(FOLDER.glob("*/*.py"))
PLACE = r"(section|appendi|equation|theorem|Table|Figure)\D* \d|appendix [A-Z]"
MOST_LINES = 36


@pytest.mark.parametrize(("paper", "item"), ITEMS)
def test_what_must_agree_with_the_print_agrees(paper, item, tmp_path):
    built = run.build(paper, item, fast=True, pictures=tmp_path / "figures")
    bad = [one for one in built.comparisons if not one.good]
    assert built.comparisons
    assert not bad
    assert (tmp_path / "figures").exists() == ("![" in built.text())
    if "page.fast" not in (FOLDER / run.source(paper, item)).read_text(encoding="utf-8"):
        shown = (FOLDER / "README.md").read_text(encoding="utf-8")
        new = [one.what for one in built.comparisons if f"| {one.what} " not in shown]
        assert not new, "run make papers: papers/README.md lacks these comparisons"


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
        ("hernandez-orallo", "table-2", ("losses", "rate-driven"), [0.189, 0.248]),
        ("hernandez-orallo", "table-6", ("methods", "fixed"), ["score-fixed"]),
        ("hernandez-orallo", "figure-4", ("boxes", 0, "losses", "rate-driven"), 0.084),
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
    built = run.build(paper, item, fast=True, pictures=tmp_path)
    assert not built.good
    assert "thought to be a misprint" in built.text()


def test_every_item_has_a_script_and_a_place_in_the_paper():
    for paper, items in run.PAPERS.items():
        stated = {key for key, value in run.PRINTED[paper].items() if isinstance(value, dict)}
        assert stated == set(items)
        for item in items:
            assert re.search(PLACE, run.PRINTED[paper][item]["where"]), (paper, item)
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


def code_lines(source: str) -> int:
    """Lines of code beside imports, docstrings and functions that draw."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            beside = node.name.lstrip("_").startswith("draw")
        else:
            words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            beside = words or isinstance(node, ast.Import | ast.ImportFrom)
        if beside and isinstance(node, ast.stmt):
            lines.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(lines)


NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER),
    *(tokenize.INDENT, tokenize.DEDENT),
}


def test_scripts_are_short_beside_the_drawing():
    lines = {
        f"{path.parent.name}/{path.name}": code_lines(path.read_text("utf-8")) for path in SCRIPTS
    }
    long = {name: number for name, number in lines.items() if number > MOST_LINES}
    assert not long, f"more than {MOST_LINES} lines of code beside the drawing: {long}"


def test_lines_of_code_are_counted_without_imports_words_and_drawing():
    source = '''"""Words.

    More words."""

import os
from os import (
    path,
)

MANY = (
    1,
)  # four lines so far, with the next one


def build():
    """Words."""
    # a remark
    return f"""{MANY}
    and more"""


def _draw():
    return 1
'''
    assert code_lines(source) == 6


def test_numbers_that_differ_or_are_undefined_are_not_equal(tmp_path):
    made = page.Page(printed={}, paper={}, fast=True, pictures=tmp_path)
    made.equal("the same", [1.0, 2.0], [1.0, 2.0 + 1e-13])
    made.check_equal("not the same", [1.0, 2.0], [1.0, 2.0 + 1e-9])
    made.equal("undefined", [1.0, np.nan], 1.0)
    assert [one.good for one in made.comparisons] == [True, False, False]


def test_printed_values_agree_to_half_a_unit_and_four_standard_errors(tmp_path):
    made = page.Page(printed={}, paper={}, fast=True, pictures=tmp_path)
    for here, error in ((0.645, 0.0), (0.646, 0.0), (0.685, 0.01), (0.686, 0.01)):
        made.compare("x", page.Printed("0.64"), here, standard_error=error)
    assert [one.good for one in made.comparisons] == [True, False, True, False]
    made.compare("few", [1, 2], [1.004, 2.02], decimals=2, standard_error=[0.0, 0.01])
    assert made.comparisons[-1].printed == "1, 2"
    assert made.comparisons[-1].here == "1.0040, 2.0200 ± 0.01"
    made.compare("many", np.arange(6), np.arange(6) + 0.2)
    assert made.comparisons[-1].here == "6 agree, to 0.2"


def test_prints_keep_their_digits_and_fractions_are_met_exactly(tmp_path):
    made = page.Page(printed={}, paper={}, fast=True, pictures=tmp_path)
    kept = copy.deepcopy([page.Printed("-0.60"), "1/12"])
    assert kept[0] == -0.6
    made.compare("digits", kept, [-0.604, 1 / 12])
    assert made.comparisons[-1].good
    assert made.comparisons[-1].printed == "-0.60, 1/12"
    made.compare("off", kept, [-0.606, 1 / 12])
    made.compare("off", kept, [-0.604, 0.08333])
    assert not any(one.good for one in made.comparisons[1:])
    assert page.cell(kept[0], 4) == "-0.60"


def test_a_drawn_print_agrees_unless_it_is_rarely_as_far_out(tmp_path):
    made = page.Page(printed={}, paper={}, fast=True, pictures=tmp_path)
    draws = np.repeat([0.4, 0.5, 0.6, 0.7], [20, 960, 20, 1])
    for printed in ("0.5", "0.6", "0.7"):
        made.drawn("x", page.Printed(printed), draws)
    assert [one.good for one in made.comparisons] == [True, True, False]
    assert made.comparisons[1].here == "2.0% of 1,001 draws; as far out: 4.1%"


def test_choices_and_prints_against_prints_are_told_apart_from_agreement(tmp_path):
    made = page.Page(printed={}, paper={}, fast=True, pictures=tmp_path)
    made.chosen("order", "+0.1", "+0.2", True)
    made.compare("twice", page.Printed("0.1"), 0.1, kind=page.Kind.PRINT)
    made.claim("words", "so", True)
    assert [one.verdict for one in made.comparisons] == ["by choice", "yes", "yes"]
    assert made.text().count("print against print") == 1
    counted = run.overview({("itai-katz", "clinic"): made}).splitlines()[-1]
    assert [cell.strip() for cell in counted.split("|")[4:8]] == ["–", "1", "–", "–"]


def test_tables_say_truth_in_words_and_undefined_as_a_dash():
    columns = {"a": [True, False], "b": np.array([np.nan, 0.25]), "c": [3, "x"]}
    lines = page.markdown_table(columns, 1).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert cells[2:] == [["yes", "–", "3"], ["no", "0.2", "x"]]


def test_the_page_shows_every_item_and_every_picture():
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    for paper, item in ITEMS:
        assert f"### {run.heading(paper, item)}\n" in text
    headings = {run.anchor(words) for words in re.findall(r"^### (.*)$", text, re.MULTILINE)}
    assert set(re.findall(r"\(#([^)]*)\)", text)) == headings
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
