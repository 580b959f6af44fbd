"""Small tables as plain text and as HTML, for the reprs of values."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["html_table", "text_table"]


def text_table(header: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """Columns aligned by width; the first to the left, the others to the right.

    >>> print(text_table(["", "approve", "block"], [["legit", "0", "25"], ["fraud", "180", "0"]]))
           approve  block
    legit        0     25
    fraud      180      0
    """
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if position == 0 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
    return "\n".join(line.rstrip() for line in lines)


def html_table(header: Sequence[object], rows: Sequence[Sequence[object]], caption: str) -> str:
    """The same as an HTML table; every text is escaped.

    >>> html_table(["", "<b>"], [["x", 1]], "")
    '<table><tr><th></th><th>&lt;b&gt;</th></tr><tr><th>x</th><td>1</td></tr></table>'
    """
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>"
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in others)
        + "</tr>"
        for first, *others in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<tr>{head}</tr>{body}</table>"
