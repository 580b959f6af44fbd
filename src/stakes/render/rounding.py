"""How the numbers of a report are rounded, and which of its systems comes first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isfinite, isnan, nan

from stakes import _text
from stakes.report import Interval, Report, System

Triple = tuple[float, float, float]


def ranked(report: Report) -> list[System]:
    """The systems that may be deployed, the best first; undefined costs come last."""
    best = report.best.name

    def place(one: System) -> tuple[bool, bool, float]:
        return one.name != best, isnan(one.cost.value), one.cost.value

    return sorted((one for one in report.systems if one.candidate), key=place)


def triple(interval: Interval | None) -> Triple:
    """A number and its ends; nan where there is none."""
    return (nan, nan, nan) if interval is None else (interval.value, interval.low, interval.high)


def ends(interval: Triple, written: tuple[str, str, str], missing: str = "–") -> str:
    """The ends of an interval, as they are written beside its number."""
    return f"{written[1]} to {written[2]}" if isfinite(interval[1] + interval[2]) else missing


def cell(value: float | None, text: str) -> str:
    """A dash where there is no number."""
    return "–" if value is None or isnan(value) else text


def cost(value: float | None, report: Report) -> str:
    """A cost per case without an interval, rounded as that of the best system is."""
    if value is None:
        return "–"
    places = _text.supported(*triple(report.best.cost))
    value = _text.settled(value, report.naive.cost)
    return _text.number(value) if places is None else _text.fixed(value, places)


def metric(value: float | None, report: Report, size: float = 1.0) -> str:
    """A number without an interval, rounded to what so many cases can support: size / √n."""
    n_cases = max(report.assumptions.n_cases, report.assumptions.n_rows, 1)
    if value is None or size <= 0:
        return "–" if value is None else _text.number(value)
    return _text.fixed(value, _text.decimals(size / n_cases**0.5))


def aligned(columns: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Rows of cells, padded so that the decimal points of each column are in line."""
    padded = []
    for column in columns:
        decimals = [len(cell) - cell.find(".") if "." in cell else 0 for cell in column]
        padded.append(
            [
                cell + _text.PAD * (max(decimals) - own if any(map(str.isdigit, cell)) else 0)
                for cell, own in zip(column, decimals, strict=True)
            ]
        )
    return list(zip(*padded, strict=True))


def told(clear: bool | None) -> str:
    """Whether the data can tell; nothing where there is nothing to tell."""
    return "" if clear is None else "yes" if clear else "no"


def flip(where: float, now: float, scale: float) -> str:
    """Where a verdict flips, with two significant digits of the way to there from now.

    What would read as 0, or is below 1 and would read as 1, keeps digits of its own.
    """
    way = abs(where - now)
    if not 1e-12 * scale < way < inf:
        return _text.number(_text.settled(where, scale))
    text, zero, one = (_text.fixed(value, _text.decimals(way)) for value in (where, 0, 1))
    hidden = _text.settled(where, scale) if text == zero else text == one and where < 1
    return _text.point(where, 2) if hidden else text
