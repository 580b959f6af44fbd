"""The pages of the reference: one for each room, the command line, and the formats of JSON.

`conf.py` has them written into ``docs/reference`` before Sphinx reads the sources. They name every
public object; what they say about it is its docstring. Nothing here needs Sphinx, so that the
suite can check that no name is missing.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from types import GenericAlias, ModuleType
from typing import Any

import stakes
from stakes import MissingExtraError

SHELVES = {
    "What is asked and answered": "evaluation adapters problem rows report rule render cli errors",
    "From rows to sums to numbers": "tally decide measures agreement metrics",
    "Scores and probabilities": "ranking curve curves conditions thresholds scoring calibration",
    "Choosing": "inference regions audit limits simulate",
    "Other libraries": "sklearn torch plot displays",
}


def rooms() -> tuple[str, ...]:
    """Every public room, in the order of the shelves."""
    return tuple(room for shelf in SHELVES.values() for room in shelf.split())


def public_names(room: str) -> tuple[str, ...]:
    """What a room exports, names of the front door first; a room may hold only those."""
    module = import_module(f"stakes.{room}")
    front = [name for name, home in stakes._ROOM_OF.items() if home.split(".")[0] == room]
    offered = getattr(module, "__all__", front)
    return tuple(sorted(offered, key=lambda name: (name not in stakes.__all__, name.lower())))


def pages() -> Iterator[tuple[str, str]]:
    """The name and the text of every page, as reStructuredText."""
    yield "index", index_page()
    for room in rooms():
        yield room, room_page(room)
    yield "command_line", command_line_page()
    yield "schema", schema_page()
    yield "rule_format", rule_page()
    yield "map_format", map_page()


def write(folder: Path) -> None:
    """Write pages that have changed, so that Sphinx reads only these again."""
    folder.mkdir(exist_ok=True)
    for name, text in pages():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def heading(text: str, line: str = "=") -> str:
    """A heading of reStructuredText."""
    return f"{text}\n{line * len(text)}\n"


def room_page(room: str) -> str:
    """What the room is for, then its classes, functions and constants."""
    module = import_module(f"stakes.{room}")
    parts = [heading(f"stakes.{room}"), f".. automodule:: stakes.{room}\n   :no-members:\n"]
    parts += [entry(module, name) for name in public_names(room)]
    return "\n".join(parts)


def entry(module: ModuleType, name: str) -> str:
    """The directive that documents one name where it lives, or a pointer to where that is."""
    home = home_of(module, name)
    if home.split(".")[1] != module.__name__.split(".")[1]:
        return f"``{name}`` is :py:obj:`{home}.{name}`.\n"
    where = module.__name__ if hasattr(module, "__all__") else home
    thing = thing_at(where, name)
    if inspect.isclass(thing) or (name[0].isupper() and thing is None):
        return f".. autoclass:: {where}.{name}\n   :members:\n"
    alias = isinstance(thing, GenericAlias)  # ``tuple[float, ...]`` can be called, too
    if thing is None or (callable(thing) and not alias):
        return f".. autofunction:: {where}.{name}\n"
    return f".. py:data:: {where}.{name}\n\n   {constant(where, name)}\n"


def constant(where: str, name: str) -> str:
    """The comment at a constant in the source, if it has one, and its value where that is short."""
    thing = thing_at(where, name)
    module = import_module(where)
    source = Path(str(module.__file__))
    files = source.parent.glob("*.py") if source.name == "__init__.py" else [source]
    above = rf"^#: ?(.*)\n{name}\b"
    beside = rf"^(?:\w+, )*{name}(?:, \w+)* = .*?  # (.*)$"
    comments = (
        match[1]
        for file in sorted(files)
        for form in (above, beside)
        if (match := re.search(form, file.read_text(encoding="utf-8"), flags=re.MULTILINE))
    )
    comment = next(comments, "")
    sentence = f"{comment[:1].upper()}{comment[1:].rstrip('.')}. " if comment else ""
    short = isinstance(thing, str | float | int | tuple)
    return f"{sentence}``{thing!r}``" if short else sentence or f"An alias of ``{thing}``."


def thing_at(where: str, name: str) -> object:
    """The object itself, or None where its library is not installed."""
    try:
        return getattr(import_module(where), name)
    except (ImportError, MissingExtraError):
        return None


def home_of(module: ModuleType, name: str) -> str:
    """The room that an object comes from; aliases and constants belong to the room itself."""
    if not hasattr(module, "__all__"):
        return f"stakes.{stakes._ROOM_OF[name]}"
    thing = thing_at(module.__name__, name)
    has_home = isinstance(thing, type) or inspect.isfunction(thing)
    home = str(getattr(thing, "__module__", "")) if has_home else module.__name__
    parts = home.split(".")
    is_ours = parts[0] == "stakes" and len(parts) > 1 and not parts[1].startswith("_")
    return ".".join(parts[:2]) if is_ours else module.__name__


def first_line(text: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    return " ".join((text or "").strip().split("\n\n")[0].split())


def index_page() -> str:
    """The rooms on their shelves, and where every name of the front door is described."""
    parts = [
        heading("Reference"),
        "Every public name, with its docstring. Examples in docstrings run as tests.\n",
        "``import stakes`` offers: "
        + ", ".join(f":py:obj:`~stakes.{name}`" for name in stakes.__all__)
        + ".\n",
    ]
    for shelf, names in SHELVES.items():
        parts += [heading(shelf, "-"), ".. list-table::\n   :widths: 25 75\n"]
        for room in names.split():
            summary = first_line(import_module(f"stakes.{room}").__doc__)
            parts += [f"   * - :doc:`stakes.{room} <{room}>`\n     - {summary}"]
        parts += ["", ".. toctree::\n   :hidden:\n", *(f"   {room}" for room in names.split()), ""]
    formats = "   command_line\n   schema\n   rule_format\n   map_format\n"
    parts += [heading("Formats", "-"), ".. toctree::\n", formats]
    parts += [
        "The TOML of a problem has :doc:`a page with every key </problem_file>`.\n",
        heading("Words and sources", "-"),
        ".. toctree::\n",
        "   /glossary\n   /comparison\n   /bibliography\n   /claims\n",
    ]
    return "\n".join(parts)


def indented(text: str, by: int = 3) -> str:
    """Lines with spaces before them."""
    return "\n".join(" " * by + line if line.strip() else "" for line in text.splitlines())


def command_line_page() -> str:
    """The help of every command, as click prints it."""
    import click

    front = import_module("stakes.cli.commands").stakes
    parts = [
        heading("The command line"),
        "``pip install 'stakes[cli]'`` installs the command ``stakes``. What follows is printed "
        "by ``stakes COMMAND --help``.\n",
    ]

    def helped(command: click.Command, path: str, above: click.Context | None) -> None:
        context = click.Context(command, info_name=path.split()[-1], parent=above)
        context.max_content_width = context.terminal_width = 80
        text = indented(command.get_help(context))
        parts.extend([heading(path, "-"), f".. code-block:: text\n\n{text}\n"])
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                below = command.get_command(context, name)
                assert below is not None
                helped(below, f"{path} {name}", context)

    helped(front, "stakes", None)
    return "\n".join(parts)


def schema_page() -> str:
    """The JSON Schema of a report."""
    from stakes.render import report_schema

    text = json.dumps(report_schema(), indent=2, ensure_ascii=False)
    return "\n".join(
        [
            heading("The JSON of a report"),
            "``report.to_json()`` and ``stakes evaluate --json`` write JSON that obeys this "
            "schema; ``stakes schema`` prints it. The field ``schema`` of a report is the version "
            "of the format: a new field keeps the version, anything else raises it, and older "
            "reports can still be read.\n",
            f".. code-block:: json\n\n{indented(text)}\n",
        ]
    )


RULE_KEYS = {
    "format": "``stakes.rule``, so that no other file is taken for a rule",
    "version": "of the format; a library refuses rules of a newer one",
    "system": "name of the system in the report",
    "model": "name of the model in the report",
    "takes": "what the model gives: ``posteriors``, ``scores`` or ``decisions``",
    "problem": "costs, classes, decisions, prior, unit and answers, as numbers and labels",
    "map": "the fitted calibration map, or null",
    "from_prior": "class shares for which the posteriors hold, or null",
    "to_prior": "class shares to which they are moved, or null",
    "threshold": "of raw scores; the second decision is taken above it; or null",
    "origin": "release, seed, rows, cases, class shares and columns of the report, or null",
    "checksum": "SHA-256 of everything else; a file that was edited is refused",
}


def rule_page() -> str:
    """The JSON of a rule: every key, and an example."""
    from stakes import Problem, Rule

    problem = Problem(
        {"well": {"wait": 0, "treat": 1}, "ill": {"wait": 9, "treat": 0}}, unit="days"
    )
    text = json.dumps(json.loads(Rule(problem).to_json()), indent=2, ensure_ascii=False)
    rows = "\n".join(f"   * - ``{key}``\n     - {meaning}" for key, meaning in RULE_KEYS.items())
    return "\n".join(
        [
            heading("The JSON of a rule"),
            "``rule.to_json()`` and ``stakes evaluate --rule-out`` write a rule; ``Rule.from_json``"
            " and ``stakes decide --rule`` read it.\n",
            f".. code-block:: json\n\n{indented(text)}\n",
            f".. list-table::\n   :widths: 20 80\n\n{rows}\n",
            "Rules under limits have two more keys: ``limits`` in the problem, and ``added``, what "
            "the price of each limit adds to the costs. Costs that are expressions are text.\n",
        ]
    )


def map_page() -> str:
    """The JSON of a calibration map: an example, and the fields of every kind."""
    from stakes.calibration import Affine, CalibrationMap

    fitted = Affine().fit([0.2, 0.4, 0.5, 0.7], [0, 1, 0, 1], classes=[0, 1])
    text = json.dumps(json.loads(fitted.to_json()), indent=2, ensure_ascii=False)
    kinds: list[Any] = sorted(CalibrationMap.__subclasses__(), key=lambda kind: kind.kind)
    rows = "\n".join(
        f"   * - ``{kind.kind}``\n"
        f"     - {', '.join(f'``{field.name}``' for field in fields(kind))}\n"
        f"     - {first_line(kind.__doc__)}"
        for kind in kinds
    )
    return "\n".join(
        [
            heading("The JSON of a calibration map"),
            "``map.to_json()`` and ``stakes calibrate fit`` write a fitted map; "
            "``stakes.calibration.from_json``, ``stakes calibrate apply`` and ``stakes decide "
            "--map`` read it. A rule holds its map in the same form.\n",
            f".. code-block:: json\n\n{indented(text)}\n",
            "``format``, ``version`` and ``checksum`` are those of the file; a file that was edited"
            " is refused. The command line adds ``prior``, the class shares for which the "
            "posteriors hold. The other keys depend on the kind:\n",
            f".. list-table::\n   :widths: 20 30 50\n   :header-rows: 1\n\n"
            f"   * - kind\n     - keys\n     - what it is\n{rows}\n",
        ]
    )
