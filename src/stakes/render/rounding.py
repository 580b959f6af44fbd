"""Rounding of the numbers of a report, and the order of its systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isfinite, isnan, nan

from stakes import _text
from stakes.inference import Measured
from stakes.report import Report, System

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
