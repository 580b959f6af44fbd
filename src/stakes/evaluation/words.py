"""Numbers in sentences."""

from __future__ import annotations

from stakes._text import chance, number, percent
from stakes.report import Interval

__all__ = ["chance", "money", "percent", "quantity", "span"]


def quantity(value: float) -> str:
    """Four significant digits, as everywhere in a report.

    >>> quantity(0.123456), quantity(12345.0), quantity(0.0)
    ('0.1235', '12,345', '0')
    """
    return number(value)


def money(value: float, unit: str | None) -> str:
    """A cost with its unit.

    >>> money(3.25, "EUR")
    '3.25 EUR'
    """
    return f"{quantity(value)} {unit}" if unit else quantity(value)


def span(interval: Interval, level: float) -> str:
    """The ends of an interval.

    >>> span(Interval(0.5, 0.25, 0.75), 0.95)
    '95 % interval 0.25 to 0.75'
    """
    return f"{percent(level)} interval {quantity(interval.low)} to {quantity(interval.high)}"
