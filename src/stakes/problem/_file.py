"""Problem files: TOML of costs or utilities, labels, prior, answers, unit and limits."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from stakes import _check
from stakes._check import Label
from stakes._files import checked_path, write_whole
from stakes.errors import InputError
from stakes.problem._cost_table import LARGEST, by_suited_class, negated_cell
from stakes.problem._limit import Limit

_KEYS = {"unit", "classes", "decisions", "costs", "utilities", "prior", "answers", "limits"}
_DEEPEST = 1000  # parts of a key such as a.b.c
_LABELS = ("decision", "given")  # entries of a limit
_LIMIT = (*_LABELS, "at_most", "at_least")


def read(path: str | Path) -> dict[str, Any]:
    """The keywords of Problem that the file states; its labels match by text."""
    stated = _parsed(path)
    unknown = sorted(set(stated) - _KEYS)
    n_tables = len({"costs", "utilities"} & set(stated))
    if unknown or n_tables != 1:
        fault = "it holds both. Remove one." if n_tables else "it holds neither. Add one."
        if unknown:
            fault = f"it holds {unknown[0]!r}. Remove it, or correct its name."
        raise InputError(
            f"{path} must hold [costs] or [utilities], and beside them only classes, decisions, "
            f"prior, answers, limits and unit; {fault}"
        )
    sign = 1 if "costs" in stated else -1
    table = stated.get("costs", stated.get("utilities"))
    nested = isinstance(table, Mapping) and all(isinstance(r, Mapping) for r in table.values())
    if not nested or not table:
        raise InputError(
            f"{path}: costs must be a table class → decision → cost; it is not. Write a line for "
            f"each class, such as ill = {{ wait = 9, treat = 1 }}."
        )
    for name in ("classes", "decisions"):
        if name in stated and not (isinstance(stated[name], list) and stated[name]):
            raise InputError(
                f"{path}: {name} must be a list of labels; it is {stated[name]!r}. Write "
                f'{name} = ["a", "b"].'
            )
    classes = stated.get("classes", list(table))
    decisions, costs = _costs(path, table, classes, stated.get("decisions"), sign)
    prior = stated.get("prior")
    if isinstance(prior, Mapping):
        prior = _by_text(path, "prior", prior, classes)
    return {
        "costs": costs,
        "classes": classes,
        "decisions": decisions,
        "prior": prior,
        "unit": stated.get("unit"),
        "answers": _answers(path, stated.get("answers"), classes, decisions),
        "limits": _limits(path, stated.get("limits", []), classes, decisions),
    }


def _costs(
    path: str | Path, table: Mapping[str, Any], classes: list[Label], stated: Any, sign: int
) -> tuple[list[Label], list[list[Any]]]:
    """The decisions in the order that is stated, or else in that of the classes; the costs."""
    rows = _by_text(path, "costs", table, classes)
    decisions = list(next(iter(table.values()))) if stated is None else stated
    pairs = zip(classes, rows, strict=True)
    costs = [_row(path, _text(label), row, decisions, sign) for label, row in pairs]
    if stated is not None:
        return decisions, costs
    order = by_suited_class(costs)
    return [decisions[d] for d in order], [[row[d] for d in order] for row in costs]


def _parsed(path: str | Path) -> dict[str, Any]:
    """What a TOML file states; every fault of the file is an `InputError`."""
    import tomllib

    checked_path(path)
    if Path(path).exists() and not Path(path).is_file():
        raise InputError(f"{path} must be a file; it is a folder, a pipe or a device. Name a file.")
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")  # with a mark or without
        # Python takes time that grows with the square of the parts of a key.
        if any(part.count(".") > _DEEPEST for part in re.split(r"[\n=,\[\]{}]", text)):
            raise RecursionError
        return tomllib.loads(text)
    except UnicodeDecodeError:
        raise InputError(
            f"{path} must be a TOML file in UTF-8; it is not text. Save it as UTF-8."
        ) from None
    except RecursionError:
        raise InputError(
            f"{path} must be TOML that can be read; it is too deep. Write it flat."
        ) from None
    except ValueError as error:  # TOMLDecodeError, or a number of thousands of digits
        raise InputError(f"{path} must be TOML; it is not: {error}. Correct that line.") from None


def _limits(
    path: str | Path, stated: Any, classes: list[Label], decisions: list[Label]
) -> list[Limit]:
    """The limits of the file, each a table; labels match by text."""
    if not isinstance(stated, list) or not all(isinstance(table, Mapping) for table in stated):
        raise InputError(
            f"{path}: limits must be tables, [[limits]]; they are not. Write [[limits]] above each."
        )
    limits = []
    for table in stated:
        unknown = sorted(set(table) - set(_LIMIT))
        if unknown or "decision" not in table:
            fault = f"one holds {unknown[0]!r}" if unknown else "one has no decision"
            raise InputError(
                f"{path}: every limit must have a decision, at_most or at_least, and given where "
                f"it is a rate within a class; {fault}. Correct it."
            )
        known = {"decision": decisions, "given": classes}
        labels = {
            name: _known(path, name, table[name], labels_of_kind)
            for name, labels_of_kind in known.items()
            if name in table
        }
        try:
            limits.append(Limit(**{**table, **labels}))
        except InputError as error:
            named = f"{path}: the limit on {labels['decision']!r}"
            raise InputError(f"{named}: {error}") from None
    return limits


def _known(path: str | Path, what: str, stated: Any, labels: list[Label]) -> Label:
    """The label whose text stands in the file."""
    known = {_text(label): label for label in labels}
    if _text(stated) not in known:
        raise InputError(
            f"{path}: {what} of a limit must be one of {', '.join(known)}; it is {stated!r}. "
            f"Labels match by text."
        )
    return known[_text(stated)]


def _answers(
    path: str | Path, stated: Any, classes: list[Label], decisions: list[Label]
) -> dict[Label, Label] | None:
    """The class that each decision answers, where the file says so; both match by text."""
    if stated is None:
        return None
    if not isinstance(stated, Mapping):
        raise InputError(
            f"{path}: answers must be a table decision → class; it is {stated!r}. Write a line for "
            f'each decision below [answers], such as treat = "ill".'
        )
    known = (
        {_text(decision): decision for decision in decisions},
        {_text(decision): decision for decision in classes},
    )
    for labels, texts in zip(known, (stated, map(_text, stated.values())), strict=True):
        unknown = [text for text in texts if text not in labels]
        if unknown:
            raise InputError(
                f"{path}: answers must map decisions to classes; {unknown[0]!r} is none of "
                f"{', '.join(labels)}. Labels match by text."
            )
    return {known[0][decision]: known[1][_text(label)] for decision, label in stated.items()}


def _row(path: str | Path, label: str, row: Any, decisions: list[Label], sign: int) -> list[Any]:
    """The costs of a class, in the order of the decisions."""
    costs = _by_text(path, f"the row of class {label!r}", row, decisions)
    return [
        _signed(f"{path}: the cost of {_text(decision)!r} in class {label!r}", cost, sign)
        for decision, cost in zip(decisions, costs, strict=True)
    ]


def _signed(what: str, cost: Any, sign: int) -> float | str | Mapping[str, Any]:
    if isinstance(cost, Mapping):  # a distribution
        return cost if sign > 0 else negated_cell(cost)
    if isinstance(cost, str):  # an expression of columns
        return cost if sign > 0 else f"-({cost})"
    if isinstance(cost, int | float) and not isinstance(cost, bool) and abs(cost) <= LARGEST:
        return sign * cost
    raise InputError(  # also for nan
        f"{what} must be a number within {LARGEST:g} of zero, or an expression of columns; it "
        f"is {cost!r}. Correct that cost, or choose another unit."
    )


def _by_text(
    path: str | Path, what: str, table: Mapping[str, Any], labels: list[Label]
) -> list[Any]:
    """Entries in the order of the labels, whose text is the key."""
    keys = [_text(label) for label in labels]
    missing = [key for key in keys if key not in table]
    unknown = [key for key in table if key not in keys]
    if missing or unknown:
        fault = f"lacks {missing[0]!r}" if missing else f"holds {unknown[0]!r}"
        raise InputError(
            f"{path}: {what} must have one entry for each of {', '.join(keys)}; it "
            f"{fault}. Add it, or correct its name."
        )
    return [table[key] for key in keys]


def _text(label: object) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def write(path: str | Path, parts: Mapping[str, Any]) -> None:
    """Write the file in one piece; `parts` are those of `Problem.plain`."""
    classes, decisions, answers = parts["classes"], parts["decisions"], parts["answers"]
    for labels in (classes, decisions):
        if len({_text(label) for label in labels}) < len(labels):
            raise InputError(
                f"labels must differ as text to be written to a file; {tuple(labels)} do not. "
                f"Rename those that look alike."
            )
    lines = [] if parts["unit"] is None else [f"unit = {_string(parts['unit'])}"]
    lines += [f"classes = {_array(classes)}", f"decisions = {_array(decisions)}", "", "[costs]"]
    for label, row in zip(classes, parts["costs"], strict=True):
        cells = _pairs(decisions, map(_cell, row))
        lines.append(f"{_quoted(label)} = {{ {', '.join(cells)} }}")
    if parts["prior"] is not None:
        lines += ["", "[prior]", *_pairs(classes, map(repr, parts["prior"]))]
    if tuple(answers) != _check.answers(tuple(classes), tuple(decisions)):
        stated = {d: _quoted(a) for d, a in zip(decisions, answers, strict=True) if a is not None}
        lines += ["", "[answers]", *_pairs(stated, stated.values())]
    for limit in parts.get("limits", ()):
        known = {name: limit[name] for name in _LIMIT if limit[name] is not None}
        lines += ["", "[[limits]]"]
        lines += [f"{n} = {_quoted(x) if n in _LABELS else repr(x)}" for n, x in known.items()]
    write_whole(path, "\n".join(lines) + "\n")


def _pairs(labels: Iterable[Label], values: Iterable[str]) -> list[str]:
    return [f"{_quoted(label)} = {value}" for label, value in zip(labels, values, strict=True)]


def _cell(cost: float | str | Mapping[str, Any]) -> str:
    if isinstance(cost, Mapping):
        parts = (f"{key} = {json.dumps(value)}" for key, value in cost.items())
        return f"{{ {', '.join(parts)} }}"
    return _string(cost) if isinstance(cost, str) else repr(cost)


def _quoted(label: Label) -> str:
    return _string(_text(label))


def _string(text: str) -> str:
    """A TOML basic string: that of JSON, in which DEL is escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _array(labels: list[Label]) -> str:
    written = (_string(x) if isinstance(x, str) else json.dumps(x) for x in labels)
    return f"[{', '.join(written)}]"
