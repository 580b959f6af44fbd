"""Sections and tables of text, with long names shortened and wide tables folded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from textwrap import shorten

from stakes._check import require
from stakes._text import PAD, one_line
from stakes.render.line_picture import LinePicture

WIDTH = 96  # columns of text
PAGE_WIDTH = 120  # characters of a table that fits a sheet of paper
_GAP = 2  # spaces between two columns of a table
NAME = 30  # most characters of a name in a cell
_MOST_TOGETHER = 5  # names in a sentence
_PERCENT = r"(?<=\d) (?=%)|(?<=[<>]) (?=\d)"
_TIE = "\u00a0"  # no-break space
_SPACES = str.maketrans({_TIE: " ", PAD: " "})


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the row.

    Examples
    --------
    >>> from stakes.render import section_text
    >>> table = Table(("system", "cost"), (("forest", "0.4"), ("tree", "0.6")))
    >>> print(section_text(Section("Costs", table=table)))
    Costs
    =====
    system  cost
    forest   0.4
    tree     0.6
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and optionally a table and a picture.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> from stakes.render import sections
    >>> report = evaluate([0, 0, 1, 1] * 25, {"net": [0, 0, 1, 1] * 25}, Problem.zero_one(2))
    >>> [part.title for part in sections(report)][:2]
    ['Verdict', 'Cost of each system']
    """

    title: str
    sentences: tuple[str, ...] = ()
    table: Table | None = None
    picture: LinePicture | None = None  # for pages


def middle(text: str, room: int) -> str:
    """A long name with its middle cut out, because similar names differ at their ends.

    >>> middle("gradient boosted model, wide", 20)
    'gradient … odel, wide'
    >>> middle("forest", 20)
    'forest'
    """
    if len(text) <= room:
        return text
    tail = room // 2
    head = text[: room - 1 - tail].rstrip()
    return f"{head} … {text[-tail:].lstrip()}" if " " in text else f"{head}…{text[-tail:]}"


def few_names(names: Iterable[object], room: int) -> str:
    """Names separated by commas, or only the first where there are many.

    >>> few_names(["a", "b"], 9), few_names(["a", "b", "c", "d"], 9), few_names([], 9)
    ('a, b', 'a and 3 more', '–')
    """
    texts = [middle(str(name), room) for name in names]
    if len(texts) > 2 or len(", ".join(texts)) > 2 * room:
        return f"{texts[0]} and {len(texts) - 1} more" if len(texts) > 1 else texts[0]
    return ", ".join(texts) or "–"


def together(names: Sequence[str]) -> str:
    """Names in a sentence, or their number where there are many.

    >>> together(["a"]), together(["a", "b", "c"]), together(list("abcdefg"))
    ('a', 'a, b and c', '7 other models')
    """
    if len(names) > _MOST_TOGETHER:
        return f"{len(names)} other models"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def cleaned(part: Section, unit: str | None) -> Section:
    """The section with line breaks and control characters of names as their escapes."""

    def clean(text: str) -> str:
        return tied(one_line(text).strip(" "), unit)

    table = part.table
    if table is not None:
        rows = tuple(tuple(map(clean, row)) for row in table.rows)
        table = Table(tuple(map(clean, table.header)), rows)
    sentences = tuple(map(clean, part.sentences))
    return replace(part, title=clean(part.title), sentences=sentences, table=table)


def tied(text: str, unit: str | None) -> str:
    """The text with no-break spaces between a number and its unit or percent sign.

    >>> tied("> 99 % of 3.1 EUR in 5 weeks", "EUR").replace("\u00a0", "_")
    '>_99_% of 3.1_EUR in 5 weeks'
    """
    before_unit = rf"|(?<=[\d∞]) (?={re.escape(unit)}(?!\w))" if unit else ""
    return re.sub(_PERCENT + before_unit, _TIE, text)


def plain_spaces(text: str) -> str:
    """The text with ordinary spaces only, for use after its lines have been broken.

    Parameters
    ----------
    text : str
        May hold no-break spaces and padding.

    Returns
    -------
    str
        The same text with ordinary spaces.

    Examples
    --------
    >>> plain_spaces("95\u00a0%")
    '95 %'
    """
    require("text", text, str)
    return text.translate(_SPACES)


def shortened(text: str, room: int) -> str:
    """The first words of a text, as many as fit.

    >>> shortened("too few cases to say", 12)
    'too few …'
    """
    return shorten(text, room, placeholder=" …")


def width_of(table: Table) -> int:
    """The width of a table, in characters."""
    columns = zip(table.header, *table.rows, strict=True)
    return sum(max(map(len, column)) + _GAP for column in columns) - _GAP


def filled(table: Table) -> Table:
    """The table without empty columns."""
    columns = list(zip(table.header, *table.rows, strict=True))
    used = [columns[0], *(column for column in columns[1:] if set(column[1:]) - {"", "–"})]
    header, *rows = zip(*used, strict=True)
    return Table(tuple(header), tuple(rows))


def folded(part: Section, width: int) -> Iterator[Section]:
    """Split a section so that each table fits the width; each repeats the first column."""
    if part.table is None or not part.table.rows:
        yield part
        return
    columns = list(zip(part.table.header, *part.table.rows, strict=True))
    title, sentences, picture = part.title, part.sentences, part.picture
    for group in _groups(columns, width):
        header, *rows = zip(columns[0], *group, strict=True)
        rows = [row for row in rows if any(row[1:])]  # rows that are empty in these columns
        yield Section(title, sentences, Table(tuple(header), tuple(rows)), picture)
        title, sentences, picture = f"{part.title}, continued", (), None


def _groups(columns: Sequence[tuple[str, ...]], most: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield the columns after the first in groups that fit beside it, at least one in each."""
    first, *others = [max(map(len, column)) for column in columns]
    group: list[tuple[str, ...]] = []
    used = first
    for column, width in zip(columns[1:], others, strict=True):
        if group and used + _GAP + width > most:
            yield group
            group, used = [], first
        group.append(column)
        used += _GAP + width
    yield group
