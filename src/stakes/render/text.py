"""A report as plain text."""

from __future__ import annotations

import textwrap

from stakes._text import text_table
from stakes.render.layout import WIDTH, Section
from stakes.render.tables import sections, stakes_sections
from stakes.report import Report

__all__ = ["to_text"]


def to_text(report: Report) -> str:
    """All sections, one below the other."""
    parts = (*stakes_sections(report.problem), *sections(report))
    return "\n\n".join(map(_section, parts))


def _section(part: Section) -> str:
    title = textwrap.shorten(part.title, WIDTH, placeholder=" …")
    lines = [title, "=" * len(title)]
    lines += [textwrap.fill(text, WIDTH) for text in part.sentences]
    if part.table is not None:
        lines.append(text_table(part.table.header, part.table.rows))
    return "\n".join(lines)
