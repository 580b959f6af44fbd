"""The reference names every public object, and every page of the site can be reached."""

from __future__ import annotations

import json
import re
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

import stakes
from stakes.calibration import CalibrationMap

pytest.importorskip("click", reason="the command line has a page of its own")
ROOT = Path(__file__).parents[1]
SOURCE, DOCS = ROOT / "src" / "stakes", ROOT / "docs"


def load(name: str) -> ModuleType:
    spec = spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


reference_pages = load("reference_pages")


def exported(room: str) -> set[str]:
    """What a room exports; adapters are entered by the front door alone."""
    front = {name for name, home in stakes._ROOM_OF.items() if home.split(".")[0] == room}
    return front | set(getattr(import_module(f"stakes.{room}"), "__all__", ()))


def source_rooms() -> list[str]:
    folders = [path.parent.name for path in SOURCE.glob("*/__init__.py")]
    return sorted(
        name
        for name in (*folders, *(path.stem for path in SOURCE.glob("*.py")))
        if not name.startswith("_")
    )


def test_every_room_has_a_page() -> None:
    assert sorted(reference_pages.rooms()) == source_rooms()


ROOMS = [
    pytest.param(room, marks=[pytest.mark.slow] if room == "sklearn" else [])  # takes long to load
    for room in source_rooms()
]


@pytest.mark.parametrize("room", ROOMS)
def test_the_page_of_a_room_names_everything_that_the_room_exports(room: str) -> None:
    page = reference_pages.room_page(room)
    named = set(re.findall(r"^(?:\.\. (?:auto|py:)\w+:: [\w.]*?|``)(\w+)(?:``|$)", page, re.M))
    assert exported(room)
    assert exported(room) - named == set()


def test_the_front_page_of_the_reference_names_everything_that_stakes_offers() -> None:
    page = reference_pages.index_page()
    assert {name for name in stakes.__all__ if f"`~stakes.{name}`" not in page} == set()


def test_the_page_of_the_command_line_has_the_help_of_every_command() -> None:
    page = reference_pages.command_line_page()
    for command in ("audit", "calibrate", "decide", "demo", "diff", "evaluate", "schema"):
        assert f"Usage: stakes {command}" in page
    assert "--fail-if EXPR" in page


def test_the_page_of_the_schema_has_the_fields_of_a_report() -> None:
    assert '"verdict"' in reference_pages.schema_page()


def test_the_page_of_the_rule_has_every_key_of_a_rule() -> None:
    rule = stakes.Rule(stakes.Problem.binary(false_alarm=1, miss=9))
    assert set(json.loads(rule.to_json())) == set(reference_pages.RULE_KEYS)
    assert all(f"``{key}``" in reference_pages.rule_page() for key in reference_pages.RULE_KEYS)


def test_the_page_of_maps_has_every_kind_of_map() -> None:
    kinds = {kind.kind for kind in CalibrationMap.__subclasses__()}
    assert "isotonic" in kinds
    assert {kind for kind in kinds if f"``{kind}``" not in reference_pages.map_page()} == set()


def contents(page: Path) -> set[str]:
    """The pages that the tables of contents of one page name."""
    trees = re.findall(r"```\{toctree\}\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    return {line.strip() for tree in trees for line in tree.splitlines() if line[:1].isalpha()}


def test_every_page_of_prose_is_in_a_table_of_contents() -> None:
    written = {path.stem for path in DOCS.glob("*.md")}
    reference = set(re.findall(r"^   /(\w+)$", reference_pages.index_page(), re.M))
    assert written - reference.union(*map(contents, DOCS.glob("*.md"))) == {"index"}


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_to_files_of_the_repository(page: Path) -> None:
    """So that they work on GitHub, too, where what Sphinx generates does not exist."""
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if not re.match(r"https?:|mailto:", link)]
    generated = [link for link in local if re.match(r"gallery|reference|_build", link)]
    assert generated == []
    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize(
    ("link", "is_fine"),
    [
        ('<a href="#here">', True),
        ('<a href="other.html#there">', True),
        ('<a href="https://doi.org/10.1">', True),
        ('<a href="#there">', False),
        ('<a href="other.html#here">', False),
        ('<a href="none.html">', False),
        ('<img src="https://doi.org/10.1">', False),
    ],
)
def test_a_dead_link_of_the_site_is_found(link: str, is_fine: bool, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(f'<p id="here">{link}', encoding="utf-8")
    (tmp_path / "other.html").write_text('<p id="there">', encoding="utf-8")
    assert (load("site_links").faults(tmp_path.resolve()) == []) == is_fine


CITED = re.compile(r"\b([A-ZÀ-Ž][\w-]+)(?:'s)?(?: and others| et al\.)?,? \(?((?:19|20)\d\d)\b")


def test_every_work_that_a_docstring_cites_is_in_the_bibliography() -> None:
    known = (DOCS / "bibliography.md").read_text(encoding="utf-8")
    cited = {
        (name, year)
        for path in SOURCE.rglob("*.py")
        for name, year in CITED.findall(" ".join(path.read_text(encoding="utf-8").split()))
    }
    assert ("Koopman", "1984") in cited
    unknown = {
        work
        for work in cited
        if not re.search(rf"{work[0]}\b[^\n]*\b{work[1]}\b|\b{work[1]}\b[^\n]*{work[0]}", known)
    }
    assert unknown == set()


def test_the_drawing_of_the_floor_plan_is_that_of_the_plan() -> None:
    floor_plan = load("floor_plan")
    drawn = (DOCS / "images" / "floor_plan.svg").read_text(encoding="utf-8")
    assert drawn == floor_plan.drawing(floor_plan.read_plan())


def executed_pages() -> set[str]:
    """Pages whose examples run: with the suite, with the site, or in environments of their own."""
    targets = (ROOT / "Makefile").read_text(encoding="utf-8")
    suite = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    with_site = re.search(r"^PAGES := (.*?)\)\n", targets, re.M | re.S)
    assert with_site is not None
    return set(re.findall(r"\w+\.md", with_site[1])) | set(
        re.findall(r"--doctest-glob=(\w+\.md)", suite + targets)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_are_executed(page: Path) -> None:
    """Blocks that are no doctests are those of test_page_blocks."""
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", page.read_text(encoding="utf-8"), re.M | re.S)
    examples = [block for block in blocks if block.lstrip().startswith(">>>")]
    assert not examples or page.name in executed_pages()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_has_an_example_or_a_table_before_a_wall_of_text(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    first = re.search(r"^(```|\||!\[)", text, re.M)
    assert first is not None
    assert len(text[: first.start()].split()) <= 110


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_whose_examples_use_pandas_says_so(page: Path) -> None:
    """No extra installs it, because any other library of frames will do."""
    text = page.read_text("utf-8")
    examples = "".join(re.findall(r"```python\n.*?```", text, re.DOTALL))
    if re.search(r"import pandas|as_frame=True|set_output", examples):
        assert "pandas" in re.sub(r"```python\n.*?```", "", text, flags=re.DOTALL)
