"""Numbers in sentences."""

from __future__ import annotations

from stakes.report import Interval

__all__ = ["chance", "money", "percent", "quantity", "span"]


def quantity(value: float) -> str:
    """Four significant digits.

    >>> quantity(0.123456), quantity(1234.5), quantity(0.0)
    ('0.1235', '1234', '0')
    """
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:,.0f}"


def money(value: float, unit: str | None) -> str:
    """A cost with its unit.

    >>> money(3.25, "EUR")
    '3.25 EUR'
    """
    return f"{quantity(value)} {unit}" if unit else quantity(value)


def percent(share: float) -> str:
    """A share in percent, never 0 % or 100 % unless it is.

    >>> percent(0.9996), percent(1.0), percent(0.25), chance(1.0)
    ('> 99.9 %', '100 %', '25 %', '> 99.9 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    return f"{100 * share:.3g} %"


def chance(share: float) -> str:
    """A probability that redraws estimate; none of them shows that it is 0 or 1."""
    return percent(min(max(share, 1e-9), 1 - 1e-9))


def span(interval: Interval, level: float) -> str:
    """The ends of an interval.

    >>> span(Interval(0.5, 0.25, 0.75), 0.95)
    '95 % interval 0.25 to 0.75'
    """
    return f"{100 * level:.3g} % interval {quantity(interval.low)} to {quantity(interval.high)}"
