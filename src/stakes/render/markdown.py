"""A report as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from stakes._files import write_whole
from stakes.render.against import brief_sections
from stakes.render.layout import Section, Table
from stakes.render.tables import sections, stakes_sections
from stakes.report import Report


def to_markdown(report: Report, path: str | Path | None = None, *, brief: bool = False) -> str:
    """The report as Markdown, also written to a file if a path is passed.

    Parameters
    ----------
    report : the report
    path : file to write; None writes none
    brief : whether to write only about ten lines, for a pull request

    Returns
    -------
    str
        The Markdown, with tables in the dialect of GitHub.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p}, Problem.zero_one(2), calibrator=None)
    >>> print(to_markdown(report, brief=True).splitlines()[0])
    ### Deploy new (as is)
    """
    parts = (*stakes_sections(report.problem), *sections(report))
    text = "\n\n".join(["# What the decisions cost", *map(_section, parts)]) + "\n"
    if brief:
        text = _brief(report)
    if path is not None:
        write_whole(path, text)
    return text


def _brief(report: Report) -> str:
    """A comment for a pull request, of at most ten non-empty lines."""
    heading, verdict, table, last = brief_sections(report)
    texts = (" ".join(text.split()) for text in last)
    parts = [f"### {_escaped(heading)}", _escaped(verdict), _table(table), *map(_escaped, texts)]
    return "\n\n".join(parts) + "\n"


def _section(part: Section) -> str:
    lines = [f"## {_escaped(part.title)}", *(f"{_escaped(text)}" for text in part.sentences)]
    if part.table is not None:
        lines.append(_table(part.table))
    return "\n\n".join(lines)


def _table(table: Table) -> str:
    rule = ["---", *("---:" for _ in table.header[1:])]
    return "\n".join(_row(row) for row in (table.header, rule, *table.rows))


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(_escaped(cell) for cell in cells) + " |"


def _escaped(text: str) -> str:
    """Text with all characters escaped that Markdown would interpret."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)
