"""A report as text: plain, as Markdown, and as static tables for a notebook."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path

from stakes._check import a_switch, require, whole
from stakes._files import write_whole
from stakes._text import html_table, one_line, text_table
from stakes.render.layout import WIDTH, Section, Table, plain_spaces
from stakes.render.system_tables import brief_sections, gated_heading
from stakes.render.tables import sections, stakes_sections
from stakes.report import Report


def to_text(report: Report) -> str:
    """The report as plain text.

    Parameters
    ----------
    report : the report

    Returns
    -------
    str
        All sections, one below the other.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p}, Problem.zero_one(2), calibrator=None)
    >>> to_text(report).splitlines()[0]
    'The stakes'
    """
    require("report", report, Report)
    parts = (*stakes_sections(report.problem), *sections(report))
    return "\n\n".join(map(section_text, parts))


def wrapped(text: str, width: int = WIDTH) -> str:
    """Break a text into lines, but not between a number and its unit or percent sign.

    Parameters
    ----------
    text : the text
    width : most characters of a line; by default as in reports

    Returns
    -------
    str
        The text with line breaks.

    Examples
    --------
    >>> wrapped("It costs 0.93 EUR per case.", 16).splitlines()
    ['It costs 0.93', 'EUR per case.']
    """
    require("text", text, str)
    return plain_spaces(textwrap.fill(text, whole("width", width, low=1)))


def section_text(part: Section) -> str:
    """A section as plain text.

    Parameters
    ----------
    part : the section

    Returns
    -------
    str
        The heading, the sentences and the table, one below the other.

    Examples
    --------
    >>> print(section_text(Section("Verdict", ("Deploy forest.",))))
    Verdict
    =======
    Deploy forest.
    """
    require("part", part, Section)
    title = plain_spaces(textwrap.shorten(part.title, WIDTH, placeholder=" …"))
    lines = [title, "=" * len(title)]
    lines += [wrapped(text) for text in part.sentences]
    if part.table is not None:
        table = plain_spaces(text_table(part.table.header, part.table.rows))
        lines += [line.rstrip() for line in table.splitlines()]
    return "\n".join(lines)


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
    require("report", report, Report)
    a_switch("brief", brief)
    parts = (*stakes_sections(report.problem), *sections(report))
    title = f"# What the decisions cost: {_escaped(gated_heading(report))}"
    text = "\n\n".join([title, *map(_section, parts)]) + "\n"
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
    """Text with all characters escaped that Markdown or a terminal would interpret."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", one_line(text))


def to_notebook(report: Report) -> str:
    """The report as HTML without styles or scripts.

    Parameters
    ----------
    report : the report

    Returns
    -------
    str
        Headings, sentences and tables.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p}, Problem.zero_one(2), calibrator=None)
    >>> "<h4>Verdict</h4>" in to_notebook(report)
    True
    """
    require("report", report, Report)
    parts = [report.problem._repr_html_()]
    for part in sections(report):
        parts.append(f"<h4>{escape(part.title)}</h4>")
        parts += [f"<p>{escape(text)}</p>" for text in part.sentences]
        if part.table is not None:
            parts.append(html_table(part.table.header, part.table.rows, ""))
    return "".join(parts)
