"""A report as plain text."""

from __future__ import annotations

import textwrap

from stakes._text import text_table
from stakes.render.tables import Section, sections
from stakes.report import Report

__all__ = ["to_text"]

_WIDTH = 96


def to_text(report: Report) -> str:
    """All sections, one below the other."""
    problem = str(report.problem)
    return "\n\n".join([problem, *(_section(part) for part in sections(report))])


def _section(part: Section) -> str:
    lines = [part.title, "=" * len(part.title)]
    lines += [textwrap.fill(text, _WIDTH) for text in part.sentences]
    if part.table is not None:
        lines.append(text_table(part.table.header, part.table.rows))
    return "\n".join(lines)
