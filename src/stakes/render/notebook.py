"""A report in a notebook, as static tables with escaped text."""

from __future__ import annotations

from html import escape

from stakes._text import html_table
from stakes.render.tables import sections
from stakes.report import Report


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
    parts = [report.problem._repr_html_()]
    for part in sections(report):
        parts.append(f"<h4>{escape(part.title)}</h4>")
        parts += [f"<p>{escape(text)}</p>" for text in part.sentences]
        if part.table is not None:
            parts.append(html_table(part.table.header, part.table.rows, ""))
    return "".join(parts)
