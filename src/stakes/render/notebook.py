"""A report inside a notebook: static tables, every text escaped."""

from __future__ import annotations

from html import escape

from stakes._text import html_table
from stakes.render.tables import sections
from stakes.report import Report


def to_notebook(report: Report) -> str:
    """Headings, sentences and tables as HTML without styles or scripts."""
    parts = [report.problem._repr_html_()]
    for part in sections(report):
        parts.append(f"<h4>{escape(part.title)}</h4>")
        parts += [f"<p>{escape(text)}</p>" for text in part.sentences]
        if part.table is not None:
            parts.append(html_table(part.table.header, part.table.rows, ""))
    return "".join(parts)
