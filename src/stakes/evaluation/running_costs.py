"""What models cost to run, and how many cases will be decided."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from stakes import _check
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.evaluation.cases import LARGEST_COST
from stakes.inference import Measured


@record
class Operation(Value):
    """Running costs of each model per case scored, and the number of cases in a period."""

    running_costs: Mapping[str, float] = field(default_factory=dict)
    volume: float | None = None
    period: str | None = None

    def total(self, cost: Measured | None) -> Measured | None:
        """A cost per case times the number of cases; None where that number is not stated."""
        if cost is None or self.volume is None:
            return None
        return Measured(*(self.volume * part for part in (cost.value, cost.low, cost.high)))


def read_operation(
    running_costs: object, volume: object, period: object, models: Collection[str]
) -> Operation:
    """Check running costs, volume and period.

    Parameters
    ----------
    running_costs, volume, period : as in `evaluate`
    models : the names of the models

    Returns
    -------
    running costs, volume and period

    Examples
    --------
    >>> read_operation({"forest": 0.02}, 250_000, "year", ["forest", "rules"]).running_costs
    {'forest': 0.02}
    """
    running = {} if running_costs is None else running_costs
    if not isinstance(running, Mapping):
        raise InputError(
            f"running_costs must be a mapping from model to cost per case; got "
            f"{type(running).__name__}. Write {{{next(iter(models), 'model')!r}: 0.02}}."
        )
    # A misspelt model would otherwise run for free.
    unknown = [name for name in running if name not in models]
    if unknown:
        raise InputError(
            f"running_costs must name models; {unknown[0]!r} is none of them. The models are "
            f"{', '.join(map(repr, models))}: write one of these names."
        )
    if period is not None and not (isinstance(period, str) and period.strip()):
        raise InputError(
            f"period must be a word such as 'year'; got {period!r}. Name the time in which the "
            f"cases come."
        )
    if period is not None and volume is None:
        raise InputError(
            f"period must come with a volume; got {period!r} alone. State the number of cases "
            f"in it, too."
        )
    return Operation(
        {
            str(name): _check.number(f"running_costs[{name!r}]", cost, low=0, high=LARGEST_COST)
            for name, cost in running.items()
        },
        None if volume is None else _volume(volume),
        None if period is None else _check.writable("period", str(period)),
    )


def _volume(value: object) -> float:
    volume = _check.number("volume", value, low=0)
    if not 0 < volume <= LARGEST_COST:
        raise InputError(
            f"volume must be above zero and at most {LARGEST_COST:g}; got {volume:g}. Leave it "
            f"out, or state how many cases will come."
        )
    return volume
