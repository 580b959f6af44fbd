"""The papers' tables and figures, in their fast variant: what must agree with the print agrees."""

from __future__ import annotations

import ast
import copy
import importlib
import io
import os
import re
import subprocess
import sys
import tokenize
from pathlib import Path

import numpy as np
import pytest

import stakes

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
QUICK = [(paper, item) for paper, item in ITEMS if item[:5] == "table" and paper != "ferrer-ec"]


@pytest.mark.parametrize(
    ("paper", "item"),
    [pytest.param(*item, marks=[] if item in QUICK else [pytest.mark.slow]) for item in ITEMS],
)
def test_what_must_agree_with_the_print_agrees(paper, item, tmp_path):
    built = build(paper, item, tmp_path)
    bad = [comparison for comparison in built.comparisons if not comparison.good]
    assert built.comparisons
    assert not bad
    assert (tmp_path / "figures" / f"{paper}-{item}.svg").exists() == ("![" in built.text())
    shown = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert run.origin(paper, item) in shown
    counts = cells(run.overview({(paper, item): built}).splitlines()[-1])
    assert counts in map(cells, shown.splitlines()), "run make papers: the overview is old"
    if not built.sized:
        assert built.text() in shown, "run make papers: papers/README.md is old"


def build(paper, item, folder):
    """The page of one item in the fast run."""
    return run.build(paper, item, fast=True, pictures=folder / "figures", base=folder)


def cells(line: str) -> list[str]:
    """The cells of one line of a table."""
    return [cell.strip() for cell in line.split("|")[1:-1]]


def empty_page(folder):
    """A page with nothing on it."""
    return page.Page("x", {}, {}, fast=True, pictures=folder, base=folder)


@pytest.mark.slow
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
    assert not build(paper, item, tmp_path).good


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
    built = build(paper, item, tmp_path)
    assert not built.good
    assert "thought to be a misprint" in built.text()


@pytest.mark.parametrize("here", [0.9, np.nan])
def test_a_misprint_does_not_excuse_every_value(here, tmp_path):
    empty = empty_page(tmp_path)
    reason = {"misprint": "it is 0.226", "right": page.Printed("0.226")}
    empty.compare("x", page.Printed("0.235"), here, **reason)
    assert not empty.good
    assert empty.comparisons[-1].printed == "ought to be 0.226"
    empty.comparisons.clear()
    empty.compare("x", page.Printed("0.235"), 0.2257, **reason)
    assert empty.good


def test_what_is_undefined_is_no_misprint(tmp_path):
    empty = empty_page(tmp_path)
    empty.equal("differs", 1.0, 2.0, misprint="so it does")
    empty.equal("undefined", [1.0, np.nan], 2.0, misprint="so it does")
    empty.drawn("undefined", page.Printed("0.5"), [0.1, np.nan], misprint="so it does")
    assert [comparison.good for comparison in empty.comparisons] == [True, False, False]
    assert empty.comparisons[0].here == "off by 1"


def test_a_claim_that_fails_does_not_say_yes(tmp_path):
    empty = empty_page(tmp_path)
    empty.claim("holds", None, True)
    empty.claim("fails", None, False)
    assert [comparison.here for comparison in empty.comparisons] == ["yes", "no"]


def test_an_item_that_asks_for_a_size_is_known_to_differ_in_the_fast_run(tmp_path):
    empty = empty_page(tmp_path)
    assert not empty.sized
    assert empty.size(1000, 10) == 10
    assert empty.sized
    sources = [path.read_text(encoding="utf-8") for path in SCRIPTS]
    assert not any("page.fast" in source for source in sources)


def test_every_item_has_a_script_and_a_place_in_the_paper():
    for paper, items in run.PAPERS.items():
        stated = [key for key, value in run.PRINTED[paper].items() if isinstance(value, dict)]
        assert stated == list(items)
        for item in items:
            assert re.search(PLACE, run.PRINTED[paper][item]["where"]), (paper, item)
        assert all((FOLDER / run.source(paper, item)).is_file() for item in items)
    assert list(run.PRINTED) == ["page", *run.PAPERS]


@pytest.mark.parametrize("paper", run.PAPERS)
def test_every_printed_value_is_read_by_a_script(paper):
    folder = FOLDER / paper.replace("-", "_")
    source = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.py"))
    for item in run.PAPERS[paper]:
        keys = set(run.PRINTED[paper][item]) - {"where"}
        assert not {key for key in keys if f'"{key}"' not in source}


@pytest.mark.parametrize("script", [*SCRIPTS, FOLDER / "draws.py"], ids=lambda path: path.stem)
def test_scripts_use_the_public_functions_only(script):
    assert private_names(script.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "import stakes._check",
        "import stakes.audit.utility_space as space",
        "import numpy, stakes.tally",
        "from stakes._check import floats",
        "from stakes.audit.utility_space import HEXAGON",
        "from stakes import _check",
        "from stakes.measures import no_such_measure",
        "stakes._check",
        "stakes.audit.utility_space.HEXAGON",
    ],
)
def test_a_private_name_is_noticed(line):
    assert private_names(line)


def private_names(source: str) -> list[str]:
    """What a script takes from stakes beside `stakes.NAME` and `stakes.ROOM.NAME` as exported."""
    names_found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
            names_found += [name for name in names if name.startswith("stakes.")]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stakes"):
            room = node.module or ""
            public = importlib.import_module(room).__all__ if room.count(".") < 2 else []
            names_found += [
                room for alias in node.names if alias.name not in public or "._" in room
            ]
        elif isinstance(node, ast.Attribute):
            path = ast.unparse(node)
            hidden = node.attr.startswith("_") and not node.attr.startswith("__")
            rooms = path.startswith("stakes.") and path.split(".")[1] not in stakes.__all__
            names_found += [path] * (hidden or rooms)
    return names_found


def code_lines(source: str) -> int:
    """Lines of code beside imports, docstrings and functions called `_draw…`."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            beside = node.name.startswith("_draw")
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


def _draw_more():
    return 1


def drawn():
    return 2
'''
    assert code_lines(source) == 8


def test_numbers_that_differ_or_are_undefined_are_not_equal(tmp_path):
    empty = empty_page(tmp_path)
    empty.equal("the same", [1.0, 2.0], [1.0, 2.0 + 1e-13])
    empty.check_equal("not the same", [1.0, 2.0], [1.0, 2.0 + 1e-9])
    empty.equal("undefined", [1.0, np.nan], 1.0)
    assert [comparison.good for comparison in empty.comparisons] == [True, False, False]


def test_printed_values_agree_to_half_a_unit_and_four_standard_errors(tmp_path):
    empty = empty_page(tmp_path)
    for here, error in ((0.645, 0.0), (0.646, 0.0), (0.685, 0.01), (0.686, 0.01)):
        empty.compare("x", page.Printed("0.64"), here, standard_error=error)
    assert [comparison.good for comparison in empty.comparisons] == [True, False, True, False]
    empty.compare("few", [1, 2], [1.004, 2.02], decimals=2, standard_error=[0.0, 0.01])
    assert empty.comparisons[-1].printed == "1, 2"
    assert empty.comparisons[-1].here == "1.0040, 2.0200 ± 0.01"
    empty.compare("many", np.arange(6), np.arange(6) + 0.2)
    assert empty.comparisons[-1].here == "6 agree, to 0.2"


def test_prints_keep_their_digits_and_fractions_are_met_exactly(tmp_path):
    empty = empty_page(tmp_path)
    kept = copy.deepcopy([page.Printed("-0.60"), "1/12"])
    assert kept[0] == -0.6
    empty.compare("digits", kept, [-0.604, 1 / 12])
    assert empty.comparisons[-1].good
    assert empty.comparisons[-1].printed == "-0.60, 1/12"
    empty.compare("off", kept, [-0.606, 1 / 12])
    empty.compare("off", kept, [-0.604, 0.08333])
    assert not any(comparison.good for comparison in empty.comparisons[1:])
    assert page.cell(kept[0], 4) == "-0.60"


def test_a_drawn_print_agrees_unless_it_is_rarely_as_far_out(tmp_path):
    empty = empty_page(tmp_path)
    draws = np.repeat([0.4, 0.5, 0.6, 0.7], [20, 960, 20, 1])
    for printed in ("0.5", "0.6", "0.7"):
        empty.drawn("x", page.Printed(printed), draws)
    assert [comparison.good for comparison in empty.comparisons] == [True, True, False]
    assert empty.comparisons[1].here == "2.0% of 1,001 draws; as far out: 4.1%"


def test_choices_and_prints_against_prints_are_distinguished_from_agreement(tmp_path):
    empty = empty_page(tmp_path)
    empty.chosen("order", "+0.1", "+0.2", True)
    empty.compare("twice", page.Printed("0.1"), 0.1, kind=page.Kind.PRINT)
    empty.claim("words", "so", True)
    assert [comparison.verdict for comparison in empty.comparisons] == ["by choice", "yes", "yes"]
    assert empty.text().count("print against print") == 1
    empty.compare("misprint", page.Printed("0.1"), 0.2, misprint="known")
    empty.compare("thought so", page.Printed("0.1"), 0.1, misprint="not true")
    empty.claim("fails", None, False)
    counted = cells(run.overview({("itai-katz", "clinic"): empty}).splitlines()[-1])
    assert counted[:2] == ["itai-katz", "clinic"]
    assert counted[4:] == ["–", "1", "–", "1", "2"]


def test_tables_say_truth_in_words_and_undefined_as_a_dash():
    columns = {"a": [True, False], "b": np.array([np.nan, 0.25]), "c": [3, "x"]}
    lines = page.markdown_table(columns, 1).splitlines()
    assert [cells(line) for line in lines[2:]] == [["yes", "–", "3"], ["no", "0.2", "x"]]


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
    assert "thought to be a misprint" not in text


def test_an_unknown_item_is_an_error_and_a_known_one_exits_with_zero(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "HERE", tmp_path / "papers")
    monkeypatch.setattr(sys, "argv", ["run.py", "itai-katz", "clinic"])
    assert run.main() == 0
    assert "clinic: agrees" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["run.py", "itai-katz", "table-9"])
    with pytest.raises(SystemExit) as stopped:
        run.main()
    assert stopped.value.code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dyrland", "figure-1", "--all"], "not both"),
        ([], "name a paper or ask for --all"),
        (["dyrland", "--into", "x"], "--into goes with --all"),
        (["dyrland", "figure-9"], "items of dyrland are table-1"),
    ],
)
def test_what_the_command_line_cannot_do_is_an_error(arguments, message, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["run.py", *arguments])
    with pytest.raises(SystemExit):
        run.main()
    assert message in capsys.readouterr().err


def test_the_picture_of_a_shown_item_is_where_the_text_says(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "HERE", tmp_path / "papers")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["run.py", "itai-katz", "means"])
    assert run.main() == 0
    link = re.search(r"!\[[^\]]*\]\(([^)]+)\)", capsys.readouterr().out)
    assert link is not None
    assert (tmp_path / link[1]).is_file()


def test_pictures_do_not_carry_a_date_or_a_version():
    for path in (FOLDER / "figures").glob("*.svg"):
        head = path.read_text(encoding="utf-8")[:3000]
        assert "<dc:date>" not in head
        assert "<dc:creator>" not in head


@pytest.mark.slow
def test_a_missing_package_and_a_closed_pipe_end_without_a_traceback(tmp_path):
    command = [sys.executable, "-S", "-E", str(FOLDER / "run.py"), "dyrland"]
    bare = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert bare.returncode == 1
    assert "`make papers` installs" in bare.stderr
    assert "Traceback" not in bare.stderr
    command = [sys.executable, str(FOLDER / "run.py"), "itai-katz", "clinic"]
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as closed:
        cut = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert cut.returncode == 1
    assert "Traceback" not in cut.stderr
