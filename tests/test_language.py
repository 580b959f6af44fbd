"""One word for one thing: synonyms that the style bans stay out of what users see first.

Public names, their parameters and the first sentence of every docstring are read. What is listed
as `LEFT` is to be renamed; a name that has gone must leave the list, and none may join it. Local
names say what they hold in the library and in every other script: tests, benchmarks, examples,
tutorials, papers and the scripts of the documentation.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import CodeType
from typing import Any

import pytest

from test_docs import ROOT, SOURCE, reference_pages

# Parts of a name, and what to write instead.
BANNED_IN_NAMES = {
    "redraw": "replicate, resample",
    "redrawn": "replicate, resample",
    "action": "decision",
    "actions": "decisions",
    "output": "decision, posterior",
    "compute": "the quantity itself",
    "manager": "what it holds",
    "utils": "what it holds",
    "helpers": "what it holds",
    "impl": "what it does",
    "ends": "interval, bounds",
    "promise": "coverage",
    "found": "what was found",
    "made": "what was made",
    "own": "whose it is",
    "given": "what was passed",
    "held": "what is held",
    "said": "sentence, text, predictions",
}
LEFT = {
    "stakes.problem.Limit.rate(given)",  # of a class: the word of conditional probability
}
# Names of local variables and parameters that say nothing about what they hold, and how many of
# them each room may still have. Numbers may fall; none may rise, and no room may join.
NAMES_THAT_SAY_NOTHING = {"found", "made", "own", "given", "held", "one", "said"}
NO_CODE = re.compile(
    r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*'
    r"|from hypothesis import [^\n]*",
    re.DOTALL,
)
AS_A_NAME = re.compile(rf"(?<![\w.@])(?:{'|'.join(NAMES_THAT_SAY_NOTHING)})(?![\w=])")
ROOMS_TO_EDIT = {
    "problem": 1,  # Limit.rate(given), see above
}
BANNED_IN_SENTENCES = re.compile(
    r"\b(redraw\w*|(?:told|tells?) apart|nought|dear(?:er|est)?|hence|trusted|unheld|hangs on"
    r"|thereof|lest|aught|promis\w+)\b"
)
# Scripts beside the library, and words that neither their names nor their sentences may have.
SCRIPTS = ("tests", "benchmarks", "docs", "examples", "papers")
ARCHAIC = re.compile(
    r"(?<![^\W_])(nought|dear(?:er)?|hence|thereof|lest|aught|unheld|seldom|hangs[ _]on)(?![^\W_])"
)
# Those of torch are read where torch is: `make test-torch` runs its examples.
ROOMS = tuple(room for room in reference_pages.rooms() if room not in ("sklearn", "torch"))


def with_methods(path: str, thing: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield path, thing
    if inspect.isclass(thing):
        fields = getattr(thing, "__dataclass_fields__", {})  # whose defaults may be functions
        for name, member in vars(thing).items():
            method = getattr(member, "__func__", member)
            if not name.startswith("_") and name not in fields and inspect.isfunction(method):
                yield f"{path}.{name}", method


@cache
def public(rooms: tuple[str, ...] = ROOMS) -> dict[str, Callable[..., Any]]:
    """Every public class, function and method, by its path; each where it lives."""
    things: dict[str, Callable[..., Any]] = {}
    for room in rooms:
        module = import_module(f"stakes.{room}")
        for name in reference_pages.public_names(room):
            thing = getattr(module, name, None)
            home = str(getattr(thing, "__module__", ""))
            if callable(thing) and home.startswith(f"stakes.{room}"):
                things |= dict(with_methods(f"stakes.{room}.{name}", thing))
    return things


def parts(name: str) -> set[str]:
    """The words of a name, whether in snake_case or in CamelCase."""
    return set(re.findall(r"[a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


def banned_names() -> set[str]:
    names = set()
    for path, thing in public().items():
        if parts(path.split(".")[-1]) & BANNED_IN_NAMES.keys():
            names.add(path)
        if not inspect.isclass(thing):
            names |= {
                f"{path}({parameter})"
                for parameter in inspect.signature(thing).parameters
                if parts(parameter) & BANNED_IN_NAMES.keys()
            }
    return names


def test_no_public_name_is_a_banned_synonym():
    assert banned_names() - LEFT == set()


def test_names_that_have_gone_have_left_the_list():
    assert LEFT - banned_names() == set()


def first_sentence(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def test_no_first_sentence_has_a_banned_synonym():
    sentences = {path: first_sentence(thing) for path, thing in public().items()}
    banned = {p: line for p, line in sentences.items() if BANNED_IN_SENTENCES.search(line)}
    assert banned == {}


@pytest.mark.parametrize("name", ["redraw_counts", "RedrawnCounts", "n_actions"])
def test_the_words_of_a_name_are_seen_in_both_spellings(name):
    assert parts(name) & BANNED_IN_NAMES.keys()


def local_names(code: CodeType) -> Iterator[tuple[str, str]]:
    """Each function with its name, parameters and variables, those of comprehensions among them."""
    function = re.sub(r"\.<locals>\.<(?:\w+comp|genexpr)>", "", code.co_qualname)
    yield from ((function, name) for name in (code.co_name, *code.co_varnames, *code.co_cellvars))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from local_names(constant)


def names_that_say_nothing(source: str) -> int:
    if not AS_A_NAME.search(NO_CODE.sub("", source)):  # most files, in a fraction of the time
        return 0
    # Compiled, not parsed: code objects list local names, which is faster than walking a tree.
    names = set(local_names(compile(source, "source", "exec")))
    return sum(name in NAMES_THAT_SAY_NOTHING for _, name in names)


def test_local_names_say_what_they_hold():
    counts: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        counts[path.relative_to(SOURCE).parts[0]] += names_that_say_nothing(path.read_text("utf-8"))
    excess = {room: n for room, n in counts.items() if n > ROOMS_TO_EDIT.get(room, 0)}
    assert excess == {}


def scripts() -> dict[str, str]:
    """Every script beside the library, by its path in the repository."""
    paths = (path for folder in SCRIPTS for path in (ROOT / folder).rglob("*.py"))
    made_by_sphinx = ("docs/_build/", "docs/gallery/")
    texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}
    return {path: text for path, text in texts.items() if not path.startswith(made_by_sphinx)}


def test_local_names_of_scripts_say_what_they_hold():
    counts = {path: names_that_say_nothing(text) for path, text in scripts().items()}
    assert {path for path, count in counts.items() if count} == set()


def sources_and_pages() -> dict[str, str]:
    """Every module of the library and every page of prose, by its path in the repository."""
    pages = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"))
    paths = (*SOURCE.rglob("*.py"), *pages)
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


@pytest.mark.parametrize("texts", [scripts, sources_and_pages], ids=lambda texts: texts.__name__)
def test_nothing_has_an_archaic_word(texts):
    words = {path: {*ARCHAIC.findall(text)} for path, text in texts().items()}
    words.pop("tests/test_language.py", None)
    assert {path: archaic for path, archaic in words.items() if archaic} == {}


@pytest.mark.parametrize("text", ["a_dear_case", "# nought", "test_it_hangs_on", '"hence"'])
def test_archaic_words_are_seen_in_names_and_sentences(text):
    assert ARCHAIC.search(text)
    assert not ARCHAIC.search(text.replace("_", "x").replace(" ", "x").replace('"', "x"))


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("def f(own): return [one for one in own]", 2),
        ("def made(): return 1", 1),
        ("def f(said): return said.upper()", 1),
        ("def f(x):\n    def g(given): return given\n    return g", 1),
        ("g = lambda one: one", 1),
        ("def f(ownership): return ownership.one", 0),
    ],
)
def test_parameters_comprehensions_and_lambdas_are_counted(source, count):
    assert names_that_say_nothing(source) == count


def script_names_that_say_nothing(script: str) -> list[str]:
    """Variables, parameters and keys of objects; comments and strings are left out."""
    code = re.sub(r"/\*.*?\*/", "", script, flags=re.DOTALL)
    code = re.sub(r"(?m)(?:^|\s)//.*$|\"[^\"\n]*\"", "", code)
    names = "|".join(sorted(NAMES_THAT_SAY_NOTHING))
    declared = (
        rf"\b(?:const|let|var|function\*?)\s+({names})\b"  # const one = …, function given(…)
        rf"|[(,{{\[]\s*(?:\.\.\.)?({names})\s*(?=[,)\]}}=])"  # (one, …), { own }, [found = 0]
        rf"|(?<![.\w$])({names})\s*(?:=>|:)"  # one => …, given: …
        rf"|:\s*({names})\s*(?=[,)\]}}=])"  # { rows: own }
    )
    return ["".join(groups) for groups in re.findall(declared, code)]


def test_names_in_the_scripts_of_the_page_say_what_they_hold():
    scripts = {path.name: path.read_text("utf-8") for path in SOURCE.rglob("*.js")}
    assert "page.js" in scripts
    names = {file: script_names_that_say_nothing(text) for file, text in scripts.items()}
    assert {file: banned for file, banned in names.items() if banned} == {}


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("const one = 1;", ["one"]),
        ("let found;", ["found"]),
        ("const { said } = unaided;", ["said"]),
        ("const f = (own, i) => own + i;", ["own"]),
        ("rows.map((row, given) => given)", ["given"]),
        ("const { rows: made } = table;", ["made"]),
        ("const [first, held] = pair;", ["held"]),
        ("for (const one of all) add(one.cost);", ["one"]),
        ("function* given(value) {}", ["given"]),
        ("const move = { given: (value) => value };", ["given"]),
        ('f("one", "(one)"); // the one (one) that\n/** one => */ g(x.found, x.own);', []),
        ("const ownership = stone;", []),
    ],
)
def test_declared_names_of_scripts_are_seen(script, names):
    assert script_names_that_say_nothing(script) == names


def documented(path: str) -> str:
    """The docstring of a function; of a method also that of the method which it overrides.

    An override says only what is different, unless it adds parameters.
    """
    _, room, name, *method = path.split(".")
    thing = getattr(import_module(f"stakes.{room}"), name)
    if not method:
        return inspect.getdoc(thing) or ""
    kinds = [kind for kind in thing.__mro__ if method[0] in vars(kind)][:2]
    return "\n\n".join(inspect.getdoc(getattr(kind, method[0])) or "" for kind in kinds)


def missing_sections(path: str, function: Callable[..., Any]) -> set[str]:
    text, signature = documented(path), inspect.signature(function)
    sections = set(re.findall(r"^(\w+)\n-+$", text, re.MULTILINE))
    if ">>> " not in text:
        sections.discard("Examples")
    wanted = {"Examples"}
    if set(signature.parameters) - {"self", "cls"}:
        wanted.add("Parameters")
    if signature.return_annotation not in (None, "None") and "Yields" not in sections:
        wanted.add("Returns")
    return (wanted - sections) | (set(signature.parameters) - {"self", "cls"} - described(text))


def described(text: str) -> set[str]:
    """The parameters that a docstring describes: "first, second : what they are"."""
    sections = re.findall(r"^Parameters\n-+\n(.*?)(?=\n\n\w+\n-+\n|\Z)", text, re.M | re.S)
    lines = (line for section in sections for line in section.splitlines())
    heads = (line.split(" : ")[0] for line in lines if re.match(r"\S.* : ", line))
    return {name.strip().lstrip("*") for head in heads for name in head.split(",")}


@pytest.mark.parametrize("room", [*ROOMS, pytest.param("sklearn", marks=pytest.mark.slow)])
def test_public_functions_and_methods_have_their_parameters_returns_and_examples(room):
    functions = {
        path: function
        for path, function in public(ROOMS if room in ROOMS else (room,)).items()
        if path.split(".")[1] == room and inspect.isfunction(function)
    }
    missing = {path: missing_sections(path, function) for path, function in functions.items()}
    assert {path: sections for path, sections in missing.items() if sections} == {}


@pytest.mark.parametrize("room", [*ROOMS, pytest.param("sklearn", marks=pytest.mark.slow)])
def test_every_public_class_has_an_example(room):
    without = {
        path
        for path, thing in public(ROOMS if room in ROOMS else (room,)).items()
        if path.split(".")[1] == room
        and inspect.isclass(thing)
        and ">>> " not in (thing.__doc__ or "")
    }
    assert without == set()
