"""Sections and tables of text, rounded numbers, and lines as pictures."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from math import ceil, floor, inf, isfinite, isnan, log10, nan
from textwrap import shorten

from stakes import _text
from stakes._check import require
from stakes._text import PAD, number, one_line, rounded_to
from stakes._value import record
from stakes.inference import Measured
from stakes.report import Report, System

# Lines through a few points as inline SVG, for pages without a script ----------------------------

_WIDTH, _HEIGHT = 440, 230
_RIGHT, _TOP, _BOTTOM = 412, 26, 186  # the edges of the area in which lines are drawn
_LEFT = 56  # its left edge, farther inside where ticks have long names
_DIGIT = 6.5  # pixels of a digit of a tick
_NAME = 165  # pixels reserved for the name of a line
_ABOVE, _BELOW = 9, 16  # pixels from a line to the baseline of its name, above and below it
_STEPS = (1, 2, 2.5, 5, 10)  # distances of ticks, times a power of ten
_SAMPLE = 22  # pixels of a line beside its name in a corner
_SAMPLED = 20  # steps in which the heights of a line are compared with those of a name
_FLAT = 1e-9  # relative range below which a line is horizontal up to rounding


LinePoints = tuple[tuple[float, float], ...]


@record
class LinePicture:
    """Lines through points, over shares from 0 to 1, with marked shares.

    >>> line = (0.0, 3.0), (0.5, 1.0)
    >>> drawn = LinePicture("Cost", {"": line}, "capacity", "cost", {0.1: "limit"}).svg()
    >>> drawn.startswith('<svg class="chart"'), drawn.count("<circle")
    (True, 2)
    """

    title: str
    lines: Mapping[str, LinePoints]  # by their names; two, the upper one first
    x_name: str
    y_name: str
    marks: Mapping[float, str] = field(default_factory=dict)

    def svg(self) -> str:
        """The picture as SVG with escaped text."""
        points = [point for line in self.lines.values() for point in line]
        across = _ticks(*_range([x for x, _ in points] + [*self.marks]))
        up = _ticks(*_range([y for _, y in points]))
        left = max(_LEFT, 10 + _DIGIT * max(map(len, _tick_names(up))))
        frame = _Frame((across[0], across[-1]), (up[0], up[-1]), left)
        looks = list(zip(self.lines.items(), (("m0", False), ("m1", True)), strict=False))
        drawn = [frame.line(line, look) for (_, line), (look, _) in looks]
        names_taken: list[_Spot] = []
        for (name, line), (look, lower) in looks:
            if name:
                lines = [line, *(other for other in self.lines.values() if other is not line)]
                names_taken.append(frame.spot(lines, lower, names_taken))
                drawn.append(names_taken[-1].svg(name, look))
        marks = [frame.mark(x, name) for x, name in self.marks.items()]
        names = (
            _text_at("axis-name", _RIGHT, _BOTTOM + 36, self.x_name, "end"),
            _text_at("axis-name", 2, 12, self.y_name, "start"),
        )
        head = f'class="chart" role="img" aria-label="{escape(self.title)}"'
        size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        parts = "".join([frame.axes(across, up), *names, *marks, *drawn])
        return f"<svg {head} {size}>{parts}</svg>"


@record
class _Spot:
    """A place for the name of a line."""

    x: float
    y: float
    anchor: str
    area: tuple[float, float]  # what the name takes across
    in_corner: bool = False  # away from its line, so that it needs a piece of it

    def svg(self, name: str, look: str) -> str:
        """The name in this place."""
        label = _text_at(f"line-name {look}", self.x, self.y, name, self.anchor)
        sample = (
            f'<path class="line {look}" d="M{self.x - _SAMPLE - 6:g} {self.y - 4:g}h{_SAMPLE}"/>'
        )
        return sample + label if self.in_corner else label


@record
class _Frame:
    """The map from values to pixels."""

    across: tuple[float, float]
    up: tuple[float, float]
    left: float  # pixels to the area in which lines are drawn

    def x(self, value: float) -> float:
        """Pixels from the left."""
        low, high = self.across
        return self.left + (value - low) / (high - low) * (_RIGHT - self.left)

    def y(self, value: float) -> float:
        """Pixels from the top."""
        low, high = self.up
        return _BOTTOM - (value - low) / (high - low) * (_BOTTOM - _TOP)

    def axes(self, across: list[float], up: list[float]) -> str:
        """Ticks with their values, shares in percent."""
        rules = [_line("rule", self.left, self.y(y), _RIGHT, self.y(y)) for y in up]
        names = zip(up, _tick_names(up), strict=True)
        heights = [(self.left - 6, self.y(y) + 4, name) for y, name in names]
        shares = [(self.x(x), _BOTTOM + 16, f"{number(100 * x)} %") for x in across]
        axis = _line("axis", self.left, _BOTTOM, _RIGHT, _BOTTOM)
        return "".join([*rules, _ticks_svg(heights, "end"), _ticks_svg(shares, "middle"), axis])

    def line(self, points: LinePoints, look: str) -> str:
        """A line with its points."""
        places = [(self.x(x), self.y(y)) for x, y in points]
        path = "L".join(f"{_short(x)} {_short(y)}" for x, y in places)
        dots = "".join(f'<circle cx="{_short(x)}" cy="{_short(y)}"/>' for x, y in places)
        return f'<path class="line {look}" d="M{path}"/><g class="dot {look}">{dots}</g>'

    def spot(self, lines: list[LinePoints], lower: bool, taken: list[_Spot]) -> _Spot:
        """Where the name of the first of these lines covers the least of all of them.

        Near one of its ends, above or below it; the last end and the side away from the other line
        come first. The upper left corner, with a piece of the line, comes last. A name never
        stands among the ticks.
        """
        first, last = (self.x(lines[0][place][0]) for place in (0, -1))
        spots = []
        for x, anchor, area in (
            (last, "end", (last - _NAME, last)),
            (first, "start", (first, first + _NAME)),
        ):
            heights = self._heights(lines[0], area)
            sides = [min(heights) - _ABOVE, max(heights) + _BELOW]
            sides = sides[::-1] if lower else sides
            spots += [_Spot(x, y, anchor, area) for y in sides if _TOP - 6 < y < _BOTTOM]
        start = self.left + _SAMPLE + 10.0
        spots.append(_Spot(start, _TOP + 14.0, "start", (self.left, start + _NAME), in_corner=True))
        return min(spots, key=lambda spot: self._covered(lines, spot, taken))

    def _covered(self, lines: list[LinePoints], spot: _Spot, taken: list[_Spot]) -> int:
        """At how many places a name would cover a line, or another name."""
        heights = [y for line in lines for y in self._heights(line, spot.area)]
        names = sum(
            abs(other.y - spot.y) < 15
            and other.area[0] < spot.area[1]
            and spot.area[0] < other.area[1]
            for other in taken
        )
        return sum(spot.y - 13 < y < spot.y + 7 for y in heights) + 100 * names

    def _heights(self, points: LinePoints, area: tuple[float, float]) -> list[float]:
        """Heights in pixels of a line at a few places between two abscissae."""
        places = sorted((self.x(x), self.y(y)) for x, y in points)
        xs, ys = zip(*places, strict=True)
        low, high = max(area[0], xs[0]), min(area[1], xs[-1])
        steps = [low + (high - low) * i / _SAMPLED for i in range(_SAMPLED + 1)]
        return [_height(xs, ys, x) for x in steps] if high >= low else []

    def mark(self, value: float, name: str) -> str:
        """A vertical line with its name."""
        x = self.x(value)
        side, shift = ("end", -5) if x > 0.6 * _WIDTH else ("start", 5)
        label = _text_at("mark-name", x + shift, _TOP + 8, name, side)
        return _line("mark", x, _TOP, x, _BOTTOM) + label


def _height(xs: Sequence[float], ys: Sequence[float], x: float) -> float:
    """The height of a line at x, by interpolation between its points."""
    if len(xs) < 2:
        return ys[0]
    after = max(1, min(bisect_left(xs, x), len(xs) - 1))
    (x0, x1), (y0, y1) = xs[after - 1 : after + 1], ys[after - 1 : after + 1]
    return y0 if x1 <= x0 else y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def _short(place: float) -> str:
    return f"{place:.1f}".removesuffix(".0")


def _line(look: str, x1: float, y1: float, x2: float, y2: float) -> str:
    ends = f'x1="{_short(x1)}" y1="{_short(y1)}" x2="{_short(x2)}" y2="{_short(y2)}"'
    return f'<line class="{look}" {ends}/>'


def _text_at(look: str, x: float, y: float, text: str, anchor: str) -> str:
    place = f'x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}"'
    return f'<text class="{look}" {place}>{escape(text)}</text>'


def _ticks_svg(ticks: Iterable[tuple[float, float, str]], anchor: str) -> str:
    """The names of the ticks of an axis, each in its place."""
    names = (f'<text x="{_short(x)}" y="{_short(y)}">{name}</text>' for x, y, name in ticks)
    return f'<g class="tick" text-anchor="{anchor}">{"".join(names)}</g>'


def _range(values: list[float]) -> tuple[float, float]:
    """The range of values, with 0 included where it is near."""
    low, high = min(values), max(values)
    low = 0.0 if 0 < low < 0.6 * high else low
    if high - low > _FLAT * max(abs(low), abs(high)):
        return low, high
    return low - 0.5 * abs(low), low + (0.5 * abs(low) or 1.0)


def _tick_names(ticks: list[float]) -> list[str]:
    """Ticks as text, with enough digits to distinguish them.

    >>> _tick_names([0.0, 2.5, 5.0]), _tick_names([20000.1, 20000.2])
    (['0', '2.5', '5'], ['20,000.10', '20,000.20'])
    """
    names = [number(tick) for tick in ticks]
    if len(set(names)) == len(names):
        return names
    return [rounded_to(tick, 1 - floor(log10(ticks[1] - ticks[0] + 1e-300))) for tick in ticks]


def _ticks(low: float, high: float) -> list[float]:
    """About five round numbers that enclose a range.

    >>> _ticks(0.0, 0.37), _ticks(3.0, 21.0)
    ([0.0, 0.1, 0.2, 0.3, 0.4], [0.0, 5.0, 10.0, 15.0, 20.0, 25.0])
    """
    power = 10.0 ** floor(log10((high - low) / 5))
    step = next(power * unit for unit in _STEPS if power * unit >= 0.999 * (high - low) / 5)
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    return [float(f"{i * step:.12g}") for i in range(first, last + 1)]


# Sections and tables of text, with long names shortened and wide tables folded -------------------

WIDTH = 96  # columns of text
PAGE_WIDTH = 120  # characters of a table that fits a sheet of paper
_GAP = 2  # spaces between two columns of a table
NAME = 30  # most characters of a name in a cell
_MOST_TOGETHER = 5  # names in a sentence
_PERCENT = r"(?<=\d) (?=%)|(?<=[<>]) (?=\d)"
_TIE = "\u00a0"  # no-break space
_SPACES = str.maketrans({_TIE: " ", PAD: " "})


@dataclass(frozen=True)
class Table:
    """Cells as text; the first column names the row.

    Examples
    --------
    >>> from stakes.render import section_text
    >>> table = Table(("system", "cost"), (("forest", "0.4"), ("tree", "0.6")))
    >>> print(section_text(Section("Costs", table=table)))
    Costs
    =====
    system  cost
    forest   0.4
    tree     0.6
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """A heading, sentences, and optionally a table and a picture.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> from stakes.render import sections
    >>> report = evaluate([0, 0, 1, 1] * 25, {"net": [0, 0, 1, 1] * 25}, Problem.zero_one(2))
    >>> [part.title for part in sections(report)][:2]
    ['Verdict', 'Cost of each system']
    """

    title: str
    sentences: tuple[str, ...] = ()
    table: Table | None = None
    picture: LinePicture | None = None  # for pages


def middle(text: str, room: int) -> str:
    """A long name with its middle cut out, because similar names differ at their ends.

    >>> middle("gradient boosted model, wide", 20)
    'gradient … odel, wide'
    >>> middle("forest", 20)
    'forest'
    """
    if len(text) <= room:
        return text
    tail = room // 2
    head = text[: room - 1 - tail].rstrip()
    return f"{head} … {text[-tail:].lstrip()}" if " " in text else f"{head}…{text[-tail:]}"


def few_names(names: Iterable[object], room: int) -> str:
    """Names separated by commas, or only the first where there are many.

    >>> few_names(["a", "b"], 9), few_names(["a", "b", "c", "d"], 9), few_names([], 9)
    ('a, b', 'a and 3 more', '–')
    """
    texts = [middle(str(name), room) for name in names]
    if len(texts) > 2 or len(", ".join(texts)) > 2 * room:
        return f"{texts[0]} and {len(texts) - 1} more" if len(texts) > 1 else texts[0]
    return ", ".join(texts) or "–"


def together(names: Sequence[str]) -> str:
    """Names in a sentence, or their number where there are many.

    >>> together(["a"]), together(["a", "b", "c"]), together(list("abcdefg"))
    ('a', 'a, b and c', '7 other models')
    """
    if len(names) > _MOST_TOGETHER:
        return f"{len(names)} other models"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def cleaned(part: Section, unit: str | None) -> Section:
    """The section with line breaks and control characters of names as their escapes."""

    def clean(text: str) -> str:
        return tied(one_line(text).strip(" "), unit)

    table = part.table
    if table is not None:
        rows = tuple(tuple(map(clean, row)) for row in table.rows)
        table = Table(tuple(map(clean, table.header)), rows)
    sentences = tuple(map(clean, part.sentences))
    return replace(part, title=clean(part.title), sentences=sentences, table=table)


def tied(text: str, unit: str | None) -> str:
    """The text with no-break spaces between a number and its unit or percent sign.

    >>> tied("> 99 % of 3.1 EUR in 5 weeks", "EUR").replace("\u00a0", "_")
    '>_99_% of 3.1_EUR in 5 weeks'
    """
    before_unit = rf"|(?<=[\d∞]) (?={re.escape(unit)}(?!\w))" if unit else ""
    return re.sub(_PERCENT + before_unit, _TIE, text)


def plain_spaces(text: str) -> str:
    """The text with ordinary spaces only, for use after its lines have been broken.

    Parameters
    ----------
    text : str
        May hold no-break spaces and padding.

    Returns
    -------
    str
        The same text with ordinary spaces.

    Examples
    --------
    >>> plain_spaces("95\u00a0%")
    '95 %'
    """
    require("text", text, str)
    return text.translate(_SPACES)


def shortened(text: str, room: int) -> str:
    """The first words of a text, as many as fit.

    >>> shortened("too few cases to say", 12)
    'too few …'
    """
    return shorten(text, room, placeholder=" …")


def width_of(table: Table) -> int:
    """The width of a table, in characters."""
    columns = zip(table.header, *table.rows, strict=True)
    return sum(max(map(len, column)) + _GAP for column in columns) - _GAP


def filled(table: Table) -> Table:
    """The table without empty columns."""
    columns = list(zip(table.header, *table.rows, strict=True))
    used = [columns[0], *(column for column in columns[1:] if set(column[1:]) - {"", "–"})]
    header, *rows = zip(*used, strict=True)
    return Table(tuple(header), tuple(rows))


def folded(part: Section, width: int) -> Iterator[Section]:
    """Split a section so that each table fits the width; each repeats the first column."""
    if part.table is None or not part.table.rows:
        yield part
        return
    columns = list(zip(part.table.header, *part.table.rows, strict=True))
    title, sentences, picture = part.title, part.sentences, part.picture
    for group in _groups(columns, width):
        header, *rows = zip(columns[0], *group, strict=True)
        rows = [row for row in rows if any(row[1:])]  # rows that are empty in these columns
        yield Section(title, sentences, Table(tuple(header), tuple(rows)), picture)
        title, sentences, picture = f"{part.title}, continued", (), None


def _groups(columns: Sequence[tuple[str, ...]], most: int) -> Iterator[list[tuple[str, ...]]]:
    """Yield the columns after the first in groups that fit beside it, at least one in each."""
    first, *others = [max(map(len, column)) for column in columns]
    group: list[tuple[str, ...]] = []
    used = first
    for column, width in zip(columns[1:], others, strict=True):
        if group and used + _GAP + width > most:
            yield group
            group, used = [], first
        group.append(column)
        used += _GAP + width
    yield group


# Rounding of the numbers of a report, and the order of its systems -------------------------------

Triple = tuple[float, float, float]


def ranked(report: Report) -> list[System]:
    """The systems that may be deployed, the best first; undefined costs come last."""
    best = report.best.name

    def place(system: System) -> tuple[bool, bool, float]:
        return system.name != best, isnan(system.cost.value), system.cost.value

    return sorted((system for system in report.systems if system.candidate), key=place)


def triple(interval: Measured | None) -> Triple:
    """The value and the limits of an interval; nan where there is none."""
    return (nan, nan, nan) if interval is None else (interval.value, interval.low, interval.high)


def bounds_text(interval: Triple, written: tuple[str, str, str], missing: str = "–") -> str:
    """The limits of an interval as text."""
    return f"{written[1]} to {written[2]}" if isfinite(interval[1] + interval[2]) else missing


def cell(value: float | None, text: str) -> str:
    """The text of a number, or a dash where there is none."""
    return "–" if value is None or isnan(value) else text


def cost(value: float | None, report: Report) -> str:
    """A cost per case without an interval, rounded like that of the best system."""
    if value is None:
        return "–"
    places = _text.supported(*triple(report.best.cost))
    value = _text.settled(value, report.naive.cost)
    return _text.number(value) if places is None else _text.rounded_to(value, places)


def metric(value: float | None, report: Report, size: float = 1.0) -> str:
    """A number without an interval, rounded to the order of its standard error, size / √n."""
    n_cases = max(report.assumptions.n_cases, report.assumptions.n_rows, 1)
    if value is None or size <= 0:
        return "–" if value is None else _text.number(value)
    return _text.rounded_to(value, _text.decimals(size / n_cases**0.5))


def points_aligned(columns: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Rows of cells, padded so that the decimal points of each column are aligned."""
    padded = []
    for column in columns:
        decimals = [len(cell) - cell.find(".") if "." in cell else 0 for cell in column]
        padded.append(
            [
                cell
                + _text.PAD * (max(decimals) - n_decimals if any(map(str.isdigit, cell)) else 0)
                for cell, n_decimals in zip(column, decimals, strict=True)
            ]
        )
    return list(zip(*padded, strict=True))


def clear_text(clear: bool | None) -> str:
    """Whether a difference is clear, as a word; empty where there is none."""
    return "" if clear is None else "yes" if clear else "no"


def flip(where: float, now: float, scale: float) -> str:
    """The value at which a verdict flips, with two significant digits of its distance from now.

    More digits are shown where it would otherwise read as 0, or as 1 although it is below 1.
    """
    way = abs(where - now)
    if not 1e-12 * scale < way < inf:
        return _text.number(_text.settled(where, scale))
    text, zero, unit = (_text.rounded_to(value, _text.decimals(way)) for value in (where, 0, 1))
    hidden = _text.settled(where, scale) if text == zero else text == unit and where < 1
    return _text.point(where, 2) if hidden else text
