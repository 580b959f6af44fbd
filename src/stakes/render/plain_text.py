"""A report as plain text."""

from __future__ import annotations

import textwrap

from stakes._check import whole
from stakes._text import text_table
from stakes.render.layout import WIDTH, Section, plain
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
    parts = (*stakes_sections(report.problem), *sections(report))
    return "\n\n".join(map(section_text, parts))


def wrapped(text: str, width: int) -> str:
    """Break a text into lines, but not between a number and its unit or percent sign.

    Parameters
    ----------
    text : the text
    width : most characters of a line

    Returns
    -------
    str
        The text with line breaks.

    Examples
    --------
    >>> wrapped("It costs 0.93 EUR per case.", 16).splitlines()
    ['It costs 0.93', 'EUR per case.']
    """
    return plain(textwrap.fill(text, whole("width", width, low=1)))


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
    title = plain(textwrap.shorten(part.title, WIDTH, placeholder=" …"))
    lines = [title, "=" * len(title)]
    lines += [wrapped(text, WIDTH) for text in part.sentences]
    if part.table is not None:
        table = plain(text_table(part.table.header, part.table.rows))
        lines += [line.rstrip() for line in table.splitlines()]
    return "\n".join(lines)
