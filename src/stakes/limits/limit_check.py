"""LimitCheck: whether a system keeps a limit."""

from __future__ import annotations

from dataclasses import dataclass

from stakes._text import measured, percent
from stakes._value import Value
from stakes.limits.deployed_cases import ROUNDING
from stakes.problem import Limit


@dataclass(frozen=True, eq=False)
class LimitCheck(Value):
    """The share or rate of a system in deployment, with its interval, and the price of the limit.

    `price` is what one more unit of the limit saves at the margin, in the problem's unit: for a
    share, what one more case with the decision saves; for a rate, what loosening the rate by one
    saves per case. It is None where the system cannot follow a limit. `total` is what loosening the
    limit by one percentage point saves at the stated volume. If the only limit is an upper bound on
    a share, `capacity` says what other shares would cost per case on these cases.

    Examples
    --------
    >>> from stakes import Limit
    >>> check = LimitCheck(Limit.share("review", at_most=0.05), 0.08, 0.07, 0.09)
    >>> check.keeps, check.breaks, check.outcome
    (False, True, 'breaks')
    """

    limit: Limit
    value: float
    low: float
    high: float
    price: float | None = None
    total: float | None = None
    capacity: tuple[tuple[float, float, float], ...] = ()  # share, cost per case, price there

    @property
    def keeps(self) -> bool:
        """Whether the limit is kept on these cases."""
        return bool(self.limit.excess(self.value) <= ROUNDING)

    @property
    def breaks(self) -> bool:
        """Whether the limit is clearly broken: the whole interval lies beyond it."""
        nearest = self.low if self.limit.sign > 0 else self.high
        return bool(self.limit.excess(nearest) > ROUNDING)

    @property
    def outcome(self) -> str:
        """Whether the system keeps or breaks the limit, in words."""
        if self.breaks:
            return "breaks"
        return "keeps" if self.keeps else "within noise"

    @property
    def interval(self) -> tuple[str, str, str]:
        """Value, lower and upper bound in percent, with the digits that the interval supports."""
        texts = measured(100 * self.value, 100 * self.low, 100 * self.high)
        return tuple(f"{text} %" for text in texts) if self.low < self.high else self._exact  # type: ignore[return-value]

    @property
    def _exact(self) -> tuple[str, str, str]:
        return percent(self.value), percent(self.low), percent(self.high)
