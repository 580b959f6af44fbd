"""Uncertain costs: a distribution in place of a number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes._text import number
from stakes._value import Value, record
from stakes.errors import InputError

_FORMS = "Between(80, 300), a frozen distribution of scipy.stats, or {'between': [80, 300]}"


@record
class Between(Value):
    """A cost that lies somewhere between two amounts, all of them equally likely.

    Decisions use the mean; `evaluate` says over how much of the range its verdict holds, and what
    it would be worth to know the cost.

    Parameters
    ----------
    low, high : the limits of the range

    Examples
    --------
    >>> from stakes import Between, Problem
    >>> problem = Problem({"legit": {"approve": 0, "block": 25},
    ...                    "fraud": {"approve": Between(80, 300), "block": 0}}, unit="EUR")
    >>> float(problem.costs[1, 0])
    190.0
    >>> problem
    Problem: cost in EUR of each decision, class by class
               approve  block
    legit            0     25
    fraud    80 to 300      0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low, high = _check.number("low", self.low), _check.number("high", self.high)
        if not low < high:
            remedy = f"Write {low:g}" if low == high else f"Write Between({high:g}, {low:g})"
            raise InputError(f"low must be below high; got {low:g} and {high:g}. {remedy}.")
        self._fill({"low": low, "high": high})

    @property
    def mean(self) -> float:
        """The middle."""
        return (self.low + self.high) / 2

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Quantiles of the cost: the amounts below which it lies with these probabilities.

        Parameters
        ----------
        shares : probabilities

        Returns
        -------
        amounts, of the same shape

        Examples
        --------
        >>> Between(80, 300).quantiles(np.array([0.0, 0.5])).tolist()
        [80.0, 190.0]
        """
        return self.low + shares * (self.high - self.low)

    @property
    def written(self) -> dict[str, Any]:
        """The form that files and JSON have."""
        return {"between": [self.low, self.high]}


@record
class Distributed(Value):
    """A cost with a distribution of scipy.stats, by its name and parameters."""

    name: str
    arguments: tuple[float, ...] = ()
    keywords: tuple[tuple[str, float], ...] = ()

    @property
    def frozen(self) -> Any:
        """The distribution itself."""
        from scipy import stats

        family = getattr(stats, self.name, None)
        if not isinstance(family, stats.rv_continuous | stats.rv_discrete):
            raise InputError(
                f"a cost must have a distribution that scipy.stats names; {self.name!r} is none. "
                f"Write {_FORMS}.",
                argument="costs",
            )
        try:
            return family(*self.arguments, **dict(self.keywords))
        except TypeError as error:
            raise InputError(
                f"a cost must have the parameters of {self.name}; {error}. Correct them.",
                argument="costs",
            ) from None

    @property
    def mean(self) -> float:
        """Its mean, which must be a number."""
        mean = float(self.frozen.mean())
        if not np.isfinite(mean):
            raise InputError(
                f"a cost must have a distribution with a mean; that of {self.name} is {mean:g}. "
                f"Choose its parameters, or write {_FORMS}.",
                argument="costs",
            )
        return mean

    def quantiles(self, shares: FloatArray) -> FloatArray:
        """Quantiles of the cost: the amounts below which it lies with these probabilities."""
        return np.array(self.frozen.ppf(shares), dtype=np.float64)

    @property
    def written(self) -> dict[str, Any]:
        """The form that files and JSON have."""
        return {"distribution": self.name, "args": list(self.arguments), **dict(self.keywords)}


Belief = Between | Distributed
Beliefs = tuple[tuple[int, int, Belief], ...]  # row, column and what is believed of the cost there


def split_beliefs(costs: Any) -> tuple[Any, Beliefs]:
    """Costs with means in place of distributions, and the distributions with their positions."""
    if isinstance(costs, np.ndarray) and costs.dtype.kind in "biuf":
        return costs, ()  # numbers are no beliefs
    try:
        cells = np.array(costs, dtype=object)
    except ValueError:  # rows of different lengths, which are refused elsewhere
        return costs, ()
    if cells.ndim != 2 or not any(map(is_belief, cells.flat)):
        return costs, ()
    rows, beliefs = cells.tolist(), []
    for k, d in np.ndindex(cells.shape):
        if is_belief(rows[k][d]):
            belief = _of_cell(rows[k][d])
            beliefs.append((k, d, belief))
            rows[k][d] = belief.mean
    return rows, tuple(beliefs)


def cell_text(cost: float | str | Mapping[str, Any], digits: int = 7) -> str:
    """A cost as it is written, for people.

    Parameters
    ----------
    cost : a number, an expression or a distribution
    digits : significant digits

    Returns
    -------
    the text

    Examples
    --------
    >>> cell_text(3.0), cell_text("2*amount"), cell_text({"between": [80.0, 300.0]})
    ('3', '2*amount', '80 to 300')
    >>> cell_text({"distribution": "gamma", "args": [2.0], "scale": 50.0})
    'gamma(2, scale=50)'
    """
    if isinstance(cost, str):
        return cost
    if not isinstance(cost, Mapping):
        return f"{cost:.7g}" if digits == 7 else number(cost, digits)
    if "between" in cost:
        return " to ".join(number(bound) for bound in cost["between"])
    parts = [f"{argument:g}" for argument in cost.get("args", ())]
    parts += [f"{k}={v:g}" for k, v in cost.items() if k not in ("distribution", "args")]
    return f"{cost['distribution']}({', '.join(parts)})"


def negated_cell(utility: Any) -> dict[str, Any]:
    """The cost of a utility between two amounts; other distributions are refused."""
    belief = _belief(utility)
    if not isinstance(belief, Between):
        raise InputError(
            f"a utility must be a number, an expression or a range; one is "
            f"{cell_text(belief.written)}. Write costs instead of utilities.",
            argument="costs",
        )
    return Between(-belief.high, -belief.low).written


def is_belief(cell: object) -> bool:
    frozen = hasattr(cell, "ppf") and hasattr(cell, "dist")
    return frozen or isinstance(cell, Between | Distributed | Mapping)


def _of_cell(cell: Any) -> Belief:
    """The distribution of a cost; errors name the argument costs."""
    try:
        return _belief(cell)
    except InputError as error:
        raise InputError(str(error), argument="costs") from None


def _belief(cell: Any) -> Belief:
    """The distribution of a cost that is written in any of the accepted forms."""
    if isinstance(cell, Between | Distributed):
        return cell
    if not isinstance(cell, Mapping):
        belief = _distributed(cell.dist.name, cell.args, cell.kwds)
        belief.frozen  # noqa: B018 - refused where it cannot be written down
        return belief
    if set(cell) == {"between"}:
        return Between(*_range(cell["between"]))
    if "distribution" in cell:
        keywords = {k: v for k, v in cell.items() if k not in ("distribution", "args")}
        return _distributed(str(cell["distribution"]), cell.get("args", ()), keywords)
    raise InputError(
        f"a cost must be a number, an expression or a distribution; one is {dict(cell)!r}. Write "
        f"{_FORMS}.",
        argument="costs",
    )


def _distributed(name: str, arguments: Any, keywords: Mapping[str, Any]) -> Distributed:
    try:
        numbers = tuple(map(float, arguments))
        return Distributed(name, numbers, tuple((k, float(v)) for k, v in keywords.items()))
    except (TypeError, ValueError):
        stated = {**({"args": arguments} if np.size(arguments) else {}), **keywords}
        raise InputError(
            f"the parameters of a distribution must be numbers; those of {name} are {stated}. "
            f"Write {_FORMS}.",
            argument="costs",
        ) from None


def _range(amounts: Any) -> tuple[float, float]:
    two = isinstance(amounts, list | tuple) and len(amounts) == 2
    low, high = (_check.number("between", amount) for amount in (amounts if two else (80, 300)))
    if not two or low > high:
        raise InputError(
            f"between must hold two amounts, the lower one first; got {amounts!r}. Write "
            f"[{min(low, high):g}, {max(low, high):g}].",
            argument="costs",
        )
    return amounts[0], amounts[1]
