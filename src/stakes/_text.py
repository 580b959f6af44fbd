"""Numbers and small tables as plain text and as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from html import escape
from math import isinf, isnan

__all__ = ["chance", "html_table", "number", "percent", "text_table"]

_MINUS = str.maketrans("-", "−")
_GROUPED, _POWERS = Decimal(10_000), Decimal(10**15)


def number(value: float, digits: int = 4) -> str:
    """So many significant digits; whole numbers with thousands separators from 10,000 on.

    Halves go away from zero, as they do in a browser, so that a page and a text agree.

    >>> number(0.123456), number(1234.5), number(-0.0125), number(12345), number(9999.6)
    ('0.1235', '1235', '−0.0125', '12,345', '10,000')
    >>> number(0.0), number(1.5e-7), number(2e20), number(float("nan")), number(float("-inf"))
    ('0', '1.5e−7', '2e20', 'undefined', '−∞')
    """
    if isnan(value):
        return "undefined"
    if isinf(value):
        return "∞" if value > 0 else "−∞"
    given = Decimal(float(value))
    rounded = Context(prec=digits, rounding=ROUND_HALF_UP).plus(given)
    size = abs(rounded)
    if not size:
        return "0"
    if _GROUPED <= size < _POWERS:
        text = f"{given.quantize(Decimal(1), ROUND_HALF_UP):,}"
    elif Decimal("0.0001") <= size < _GROUPED:
        text = f"{rounded.normalize():f}"
    else:
        power = rounded.adjusted()
        text = f"{rounded.scaleb(-power).normalize():f}e{power}"
    return text.translate(_MINUS)


def percent(share: float) -> str:
    """A share in percent, never 0 % or 100 % unless it is.

    >>> percent(0.9996), percent(1.0), percent(0.25), percent(0.0002)
    ('> 99.9 %', '100 %', '25 %', '< 0.1 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return number(share) if isnan(share) or isinf(share) else f"{number(100 * share, 3)} %"


def chance(share: float) -> str:
    """A probability that redraws estimate; none of them shows that it is 0 or 1.

    >>> chance(1.0), chance(0.0), chance(0.25)
    ('> 99.9 %', '< 0.1 %', '25 %')
    """
    return percent(min(max(share, 1e-9), 1 - 1e-9))


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
