"""One word for one thing: synonyms that the style bans stay out of what users see first.

Public names, their parameters and the first sentence of every docstring are read. What is listed
as `LEFT` is to be renamed; a name that has gone must leave the list, and none may join it.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from test_docs import reference_pages

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
}
LEFT = {
    "stakes.problem.Limit.rate(given)",  # of a class: the word of conditional probability
    "stakes.rows.as_predictions(given)",
    "stakes.rows.read_posteriors(given)",
}
BANNED_IN_SENTENCES = re.compile(
    r"\b(redraw\w*|(?:told|tells?) apart|nought|dear(?:er|est)?|hence|trusted|unheld|hangs on"
    r"|thereof|lest|aught|promis\w+)\b"
)
ROOMS = [room for room in reference_pages.rooms() if room not in ("sklearn", "torch")]


def with_methods(path: str, thing: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield path, thing
    if inspect.isclass(thing):
        for name, member in vars(thing).items():
            method = getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(method):
                yield f"{path}.{name}", method


@cache
def public() -> dict[str, Callable[..., Any]]:
    """Every public class, function and method, by its path; each where it lives."""
    things: dict[str, Callable[..., Any]] = {}
    for room in ROOMS:
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
