"""Numbers and small tables as plain text and as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from math import isfinite, isinf, isnan

__all__ = [
    "PAD",
    "always",
    "cases",
    "chance",
    "decimals",
    "html_table",
    "in_unit",
    "measured",
    "measured_column",
    "number",
    "number_in",
    "one_line",
    "percent",
    "point",
    "printable",
    "probability",
    "proportion",
    "prose",
    "reads_as_zero",
    "rounded_to",
    "settled",
    "small_amount",
    "supported",
    "text_table",
    "whole_percent",
]

PAD = "\u2007"  # a space as wide as a digit, which aligns decimal points
_MINUS = str.maketrans("-", "−")
_GROUPED, _POWERS = Decimal(10_000), Decimal(10**15)
_SMALL, _SMALLEST_PLAIN = Decimal("0.0001"), Decimal("1e-9")
_NOISE = 1e-12  # relative to the scale of a table: smaller numbers are rounding errors
_NEAR_ZERO = 1e-9  # of the width of an interval: a bound that is nearer to zero may be zero
_TINIEST, _LARGEST = 1e-60, 1e15  # between them a number can be written without powers of ten
# What a terminal would interpret: control characters, text directions, halves of characters.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
# Whatever a program sets for its own decimals, such as their precision, changes no number here:
# operations are told this context, or use none.
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP, traps=[])


def number(value: float, digits: int = 4) -> str:
    """A number with significant digits; from 10,000 on whole, with thousands separators.

    Halves are rounded away from zero, as in a browser, so that a page and a text agree.

    >>> number(0.123456), number(1234.5), number(-0.0125), number(12345), number(9999.6)
    ('0.1235', '1235', '−0.0125', '12,345', '10,000')
    >>> number(0.0), number(1.5e-7), number(2e20), number(float("nan")), number(float("-inf"))
    ('0', '1.5e−7', '2e20', 'undefined', '−∞')
    """
    if isnan(value):
        return "undefined"
    if isinf(value):
        return "∞" if value > 0 else "−∞"
    rounded = _rounded(value, digits)
    size = rounded.copy_abs()
    if not size:
        return "0"
    if _GROUPED <= size < _POWERS:
        text = f"{Decimal.from_float(float(value)).quantize(Decimal(1), context=_EXACT):,}"
    elif _SMALL <= size < _GROUPED:
        text = f"{rounded.normalize(_EXACT):f}"
    else:
        text = _power(rounded.normalize(_EXACT))
    return text.translate(_MINUS)


def _rounded(value: float, digits: int) -> Decimal:
    """A number with so many significant digits."""
    context = Context(prec=digits, rounding=ROUND_HALF_UP, traps=[])
    return context.plus(Decimal.from_float(float(value)))


def prose(value: float, digits: int = 4) -> str:
    """A number for a sentence: as `number`, but as a decimal down to a billionth.

    >>> prose(0.000041234, 2), prose(1.5e-7), prose(-0.00002), prose(12345), prose(3e-10)
    ('0.000041', '0.00000015', '−0.00002', '12,345', '3e−10')
    """
    if not isfinite(value):
        return number(value)
    rounded = _rounded(value, digits)
    if _SMALLEST_PLAIN <= rounded.copy_abs() < _SMALL:
        return f"{rounded.normalize(_EXACT):f}".translate(_MINUS)
    return number(value, digits)


def small_amount(amount: float, cost: float) -> str:
    """An amount too small for the decimals of the cost that it stands beside.

    It has two significant digits, unless even four digits of the cost would not show it.

    >>> small_amount(0.00044, 0.1574), small_amount(0.00004, 0.1574), small_amount(0.0, 0.1574)
    ('0.00044', 'less than 0.0001', '0')
    """
    last_digit = 10.0 ** (_rounded(cost, 18).adjusted() - 3) if isfinite(cost) and cost else 0.0
    return f"less than {prose(last_digit, 1)}" if 0 < amount < last_digit else prose(amount, 2)


def rounded_to(value: float, decimals: int) -> str:
    """A number with fixed decimals; a negative number of them rounds to tens, hundreds, ….

    Where more than six decimals are asked for, a number below 0.0001 has a power of ten. Halves
    are those of the fifteen digits that a float has to show, so that 3.505 and a million times it
    are rounded alike.

    >>> rounded_to(3.505, 2), rounded_to(1e6 * 3.505, -4)
    ('3.51', '3,510,000')
    >>> rounded_to(0.1574, 3), rounded_to(2, 3), rounded_to(-0.0004, 3)
    ('0.157', '2.000', '0.000')
    >>> rounded_to(12345.6, -2), rounded_to(1.571e-7, 9)
    ('12,300', '1.57e−7')
    >>> rounded_to(0.0000157, 6), rounded_to(0.0000157, 7)
    ('0.000016', '1.57e−5')
    """
    if not isfinite(value) or abs(value) >= _LARGEST:
        return number(value)
    shown = Decimal(f"{value:.15g}")
    decimals = min(decimals, 14 - shown.adjusted())
    rounded = shown.quantize(Decimal(1).scaleb(-decimals, _EXACT), context=_EXACT)
    size = rounded.copy_abs()
    if decimals > 6 and size < _SMALL:
        return _power(rounded).translate(_MINUS) if size else "0"
    if not size:
        return f"{0:.{max(decimals, 0)}f}"
    return (f"{rounded:,f}" if size >= _GROUPED else f"{rounded:f}").translate(_MINUS)


def _power(rounded: Decimal) -> str:
    power = rounded.adjusted()
    return f"{rounded.scaleb(-power, _EXACT):f}e{power}"


# What an interval supports -----------------------------------------------------------------------


def decimals(half_width: float) -> int:
    """Decimals that show two significant digits of half the width of an interval.

    >>> decimals(0.0155), decimals(0.0996), decimals(15), decimals(1500)
    (3, 2, 0, -2)
    """
    return 1 - _rounded(half_width, 2).adjusted()


def supported(value: float, low: float, high: float) -> int | None:
    """Decimals of a number that its interval supports; None where that cannot be said.

    It cannot be said where a bound is undefined or infinite, and where the interval has no width.
    Where an interval has one sign, a bound that is far away, because next to nothing is known on
    that side, does not round the number to zero: half the width counts up to ten times the number.

    >>> supported(0.698, 0.03, 1.4), supported(0.698, 0.03, 8285.0)
    (2, 1)
    """
    half, size = (high - low) / 2, max(abs(low), abs(high), abs(value) if isfinite(value) else 0.0)
    if value and low <= value <= high and (low >= 0 or high <= 0):
        half = min(half, 10 * abs(value))
    if not (isfinite(half) and half > max(_NOISE * size, _TINIEST) and size < _LARGEST):
        return None
    return decimals(half)


def measured(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A number and the bounds of its interval, rounded to what the interval supports.

    All three have as many decimals as show two significant digits of half the interval's width;
    where there is no such width, four significant digits. A bound that this would round to zero,
    and so hide on which side of zero it is, keeps a digit.

    >>> measured(0.15743, 0.1418, 0.1728), measured(0.0019, -0.0142, 0.018)
    (('0.157', '0.142', '0.173'), ('0.002', '−0.014', '0.018'))
    >>> measured(12345.6, 9876.5, 14_400.2), measured(0.25, float("nan"), float("nan"))
    (('12,300', '9900', '14,400'), ('0.25', 'undefined', 'undefined'))
    >>> measured(0.14, 0.00196, 0.39), measured(0.58, -3.3, 454_613)
    (('0.14', '0.002', '0.39'), ('0', '−3', '450,000'))
    """
    places = supported(value, low, high)
    if places is None:
        return number(value), number(low), number(high)
    least = _NEAR_ZERO * (high - low)
    first, second, third = (rounded_to(part, places) for part in (value, low, high))
    return first, _nonzero(second, low, least), _nonzero(third, high, least)


def _nonzero(text: str, bound: float, least: float) -> str:
    """The text of a bound, with a digit where it reads as zero although it is none."""
    return prose(bound, 1) if reads_as_zero(text) and abs(bound) > least else text


def reads_as_zero(text: str) -> bool:
    """Whether the text of a number has no digit but zeros.

    >>> reads_as_zero("−0.00"), reads_as_zero("0.01"), reads_as_zero("undefined")
    (True, False, False)
    """
    return not text.strip("−0.,")


def measured_column(rows: Sequence[tuple[float, float, float]]) -> list[tuple[str, str, str]]:
    """`measured` for a column of numbers, with aligned decimal points.

    All have the decimals of the first that has an interval, except those whose own intervals are
    wider or narrower by more than a power of ten, which keep their own. A number without an
    interval has the decimals of the first.

    >>> measured_column([(0.15743, 0.1418, 0.1728), (0.281, 0.2763, 0.2858), (0.25, 0.25, 0.25)])
    [('0.157', '0.142', '0.173'), ('0.281', '0.276', '0.286'), ('0.250', '0.250', '0.250')]
    >>> measured_column([(0.15743, 0.1418, 0.1728), (25, 10, 40)])[1]
    ('25\u2007\u2007\u2007\u2007', '10\u2007\u2007\u2007\u2007', '40\u2007\u2007\u2007\u2007')
    >>> measured_column([(25, 10, 40), (300, 285, 315)])
    [('25', '10', '40'), ('300', '285', '315')]
    """
    supported_places = [supported(*row) for row in rows]
    first = next((places for places in supported_places if places is not None), None)
    if first is None:
        return [measured(*row) for row in rows]
    shown_places = [
        first if part is None or abs(part - first) <= 1 else part for part in supported_places
    ]
    widest = max(0, *shown_places)
    shown = []
    for row, places in zip(rows, shown_places, strict=True):
        missing = widest - max(places, 0)
        pad = PAD * (missing + (missing > 0 and places <= 0))
        value, low, high = (rounded_to(part, places) + pad for part in row)
        shown.append((value, low, high))
    return shown


def settled(value: float, scale: float) -> float:
    """The number, or zero where it is rounding error beside numbers of this size.

    >>> settled(5.684e-14, 180.0), settled(5.684e-14, 1e-6)
    (0.0, 5.684e-14)
    """
    return 0.0 if abs(value) <= _NOISE * abs(scale) else value


# Shares ------------------------------------------------------------------------------------------


def proportion(share: float, digits: int = 3) -> str:
    """A share of one, with this many significant digits of it or of its distance to one.

    >>> proportion(0.0377341), proportion(0.99986), proportion(0.5), proportion(1.0)
    ('0.0377', '0.99986', '0.5', '1')
    """
    missing = min(share, 1 - share)
    if not (missing > _TINIEST and share > 0.5):
        return number(share, digits)
    text = rounded_to(share, min(digits - 1 - _rounded(missing, digits).adjusted(), 15))
    return text.rstrip("0").rstrip(".")


def point(value: float, digits: int) -> str:
    """A threshold or a border, which may be a share, a ratio or a score.

    >>> point(0.99986, 3), point(-2.2387, 4)
    ('0.99986', '−2.239')
    """
    return proportion(value, digits) if 0 < value < 1 else number(value, digits)


def number_in(text: str) -> float:
    """The number that `number`, `proportion` or `point` wrote.

    >>> number_in(point(-12345.6, 3)), number_in(point(1.5e-7, 3))
    (-12346.0, 1.5e-07)
    """
    return float(text.replace("−", "-").replace(",", "").replace("∞", "inf"))


def cases(volume: float, digits: int = 7) -> str:
    """How many cases: `number` with its noun.

    >>> cases(1), cases(250_000)
    ('1 case', '250,000 cases')
    """
    return f"{number(volume, digits)} case{'s' * (volume != 1)}"


def in_unit(text: str, unit: str | None, words: str = " ") -> str:
    """A text with its unit, if there is one, and the words between them.

    >>> in_unit("2.50", "EUR"), in_unit("2.50", None), in_unit("costs", "EUR", ", in ")
    ('2.50 EUR', '2.50', 'costs, in EUR')
    """
    return f"{text}{words}{unit}" if unit else text


def percent(share: float) -> str:
    """A stated share in percent; 0 % and 100 % are written only if they are exact.

    >>> percent(0.9996), percent(1.0), percent(0.25), percent(0.005), percent(0.0002)
    ('> 99.9 %', '100 %', '25 %', '0.5 %', '< 0.1 %')
    >>> percent(0.999), percent(0.001)
    ('99.9 %', '0.1 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return number(share) if isnan(share) or isinf(share) else f"{number(100 * share, 3)} %"


def probability(share: float, digits: int = 3) -> str:
    """A probability in percent, with so many digits of it or of its distance to 100 %.

    >>> probability(0.06), probability(3 / 175), probability(0.7), probability(0.99986)
    ('6 %', '1.71 %', '70 %', '99.986 %')
    >>> probability(4e-7), probability(1.0), probability(0.0171428, 5)
    ('0.00004 %', '100 %', '1.7143 %')
    """
    if not 0 < share < 1:
        return f"{number(100 * share)} %" if isfinite(share) else number(share)
    written = Decimal(proportion(share, digits).replace("−", "-"))
    return f"{written.scaleb(2, _EXACT).normalize(_EXACT):f} %"


def whole_percent(share: float) -> str:
    """An estimated share in whole percent; 0 % and 100 % are written only if they are exact.

    >>> whole_percent(0.437), whole_percent(0.996), whole_percent(0.004), whole_percent(0.0)
    ('44 %', '> 99 %', '< 1 %', '0 %')
    >>> whole_percent(1.0)
    '100 %'
    """
    if 0 < share < 0.01:
        return "< 1 %"
    if 0.99 < share < 1:
        return "> 99 %"
    return f"{rounded_to(100 * share, 0)} %" if isfinite(share) else number(share)


def part(share: float) -> str:
    """A part of a total in percent, with a digit more below one percent.

    >>> part(0.437), part(0.0071), part(0.0002), part(0.0)
    ('44 %', '0.7 %', '< 0.1 %', '0 %')
    """
    if not 0 < share < 0.0095:
        return whole_percent(share)
    return "< 0.1 %" if share < 0.0005 else f"{rounded_to(100 * share, 1)} %"


def chance(share: float) -> str:
    """An estimated probability; no sample shows that it is 0 or 1.

    >>> chance(1.0), chance(0.0), chance(0.254)
    ('> 99 %', '< 1 %', '25 %')
    """
    return whole_percent(min(max(share, 1e-9), 1 - 1e-9))


# Text that others wrote --------------------------------------------------------------------------


def printable(text: str) -> str:
    r"""Text in which everything is escaped that a terminal would interpret instead of showing it.

    >>> printable("model \x1b[31m\u202e, one\nline"), printable("half \ud800")
    ('model \\x1b[31m\\u202e, one\nline', 'half \\ud800')
    """
    return _OBEYED.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def one_line(text: str) -> str:
    r"""Printable text with line breaks and tabs as their escapes, so that no name begins a line.

    >>> one_line("approve\nExit code 0.")
    'approve\\nExit code 0.'
    """
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


# Tables ------------------------------------------------------------------------------------------


def always(decision: object) -> str:
    """The name of the rule that takes one decision about every case.

    >>> always("block")
    'always block'
    """
    return f"always {decision}"


def text_table(
    header: Sequence[object], rows: Sequence[Sequence[object]], caption: str = ""
) -> str:
    """A table of text; the first column is aligned to the left, the others to the right.

    >>> print(text_table(["", "approve", "block"], [["legit", "0", "25"], ["fraud", "180", "0"]]))
           approve  block
    legit        0     25
    fraud      180      0
    """
    cells = [[one_line(str(cell)) for cell in row] for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = (
        "  ".join(
            cell.ljust(width) if position == 0 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in cells
    )
    return "\n".join([one_line(caption)] * bool(caption) + [line.rstrip() for line in lines])


def html_table(header: Sequence[object], rows: Sequence[Sequence[object]], caption: str) -> str:
    """An HTML table; every text is escaped.

    >>> html_table(["", "<b>"], [["x", 1]], "")
    '<table><tr><th></th><th>&lt;b&gt;</th></tr><tr><th>x</th><td>1</td></tr></table>'
    """
    from html import escape

    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in header)
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>"
        + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells)
        + "</tr>"
        for first, *cells in rows
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<tr>{head}</tr>{body}</table>"
