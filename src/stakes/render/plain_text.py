"""A report as plain text."""

from __future__ import annotations

import textwrap

from stakes._text import text_table
from stakes.render.layout import WIDTH, Section, plain
from stakes.render.tables import sections, stakes_sections
from stakes.report import Report


def to_text(report: Report) -> str:
    """All sections, one below the other."""
    parts = (*stakes_sections(report.problem), *sections(report))
    return "\n\n".join(map(section_text, parts))


def wrapped(text: str, width: int) -> str:
    """Lines of at most so many characters; none ends inside 95 % or before a unit.

    Examples
    --------
    >>> wrapped("It costs 0.93 EUR per case.", 16).splitlines()
    ['It costs 0.93', 'EUR per case.']
    """
    return plain(textwrap.fill(text, width))


def section_text(part: Section) -> str:
    """A heading, sentences and a table, one below the other."""
    title = plain(textwrap.shorten(part.title, WIDTH, placeholder=" …"))
    lines = [title, "=" * len(title)]
    lines += [wrapped(text, WIDTH) for text in part.sentences]
    if part.table is not None:
        table = plain(text_table(part.table.header, part.table.rows))
        lines += [line.rstrip() for line in table.splitlines()]
    return "\n".join(lines)
