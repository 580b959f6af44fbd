"""Numbers in sentences."""

from __future__ import annotations

from stakes._text import chance, number, percent
from stakes.report import Interval

__all__ = ["chance", "money", "number", "percent", "span"]


def money(value: float, unit: str | None) -> str:
    """A cost with its unit.

    >>> money(3.25, "EUR")
    '3.25 EUR'
    """
    return f"{number(value)} {unit}" if unit else number(value)


def span(interval: Interval, level: float) -> str:
    """The ends of an interval.

    >>> span(Interval(0.5, 0.25, 0.75), 0.95)
    '95 % interval 0.25 to 0.75'
    """
    return f"{percent(level)} interval {number(interval.low)} to {number(interval.high)}"
