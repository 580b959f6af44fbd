"""A table of costs as it is written: labels, numbers, uncertain costs, expressions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label, Labels
from stakes._expression import Expression, parse
from stakes._text import number
from stakes._value import Value, record
from stakes.errors import InputError

# Uncertain costs: a distribution in place of a number --------------------------------------------

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


# A table of costs as it is written: its labels, its numbers, and expressions of columns ----------

_MOST_CLASSES = 10_000


def axis_names(what: str, labels: object, size: int, default: Labels) -> Labels:
    """The labels of one axis of the costs."""
    if labels is None:
        return default
    names = _check.labels(what, labels)
    if len(names) != size:
        raise InputError(
            f"{what} must name each of the {size} {'rows' if what == 'classes' else 'columns'} of "
            f"costs; {len(names)} are named. Rows are classes, columns are decisions; transpose "
            f"costs that are the other way round."
        )
    return names


def answered(answers: object, classes: Labels, decisions: Labels) -> tuple[Label | None, ...]:
    """The class that each decision stands for, None for one that stands for none."""
    if answers is None:
        return _check.answers(classes, decisions)
    if not isinstance(answers, Mapping):
        raise InputError(
            f"answers must be a mapping from decision to class; got {type(answers).__name__}. "
            f"Write {{{decisions[0]!r}: {classes[0]!r}, …}}."
        )
    stated = {decision: label for decision, label in answers.items() if label is not None}
    for what, used, known in (
        ("decisions", stated.keys(), decisions),
        ("classes", stated.values(), classes),
    ):
        unknown = [label for label in used if label not in known]
        if unknown:
            raise InputError(
                f"answers must map decisions to classes; {unknown[0]!r} is none of the {what} "
                f"{known}. {_check.meant(unknown[0], known)}"
            )
    places = (stated.get(decision) for decision in decisions)
    return tuple(None if answer is None else classes[classes.index(answer)] for answer in places)


def class_names(classes: Any) -> Labels:
    """The labels, or 0, 1, … for a number of classes."""
    listed = isinstance(classes, bool | np.ndarray) or _check.is_listed(classes)
    if listed or not hasattr(classes, "__index__"):
        names = _check.labels("classes", classes)
        refuse_large_table(len(names))
        return names
    refuse_large_table(int(classes))
    return tuple(range(int(classes)))


def refuse_large_table(size: int) -> None:
    """Refuse a cost table that would not fit into memory, before it is made."""
    if size < 1:
        raise InputError(f"classes must be one or more; got {size}. Pass a number, or labels.")
    if size > _MOST_CLASSES:
        shown = f"{size:,}" if size <= 10**12 else "more than 10¹²"
        gigabytes = 8 * _MOST_CLASSES**2 / 2**30
        raise InputError(
            f"classes must be at most {_MOST_CLASSES:,}, whose table of costs takes "
            f"{gigabytes:.1f} GiB; got {shown}. Merge classes that are treated alike."
        )


def named_table(table: Any) -> Any:
    """A frame with an index as a mapping row → column → number, and other containers as arrays."""
    _check.refuse_lazy("costs", table)
    if hasattr(table, "columns") and hasattr(table, "index"):
        _check.labels("the index of costs", table.index)  # a label that appears twice would be lost
        _check.labels("the columns of costs", table.columns)
        return table.to_dict("index")
    if hasattr(table, "columns"):
        raise InputError(
            "a frame of costs must name its rows, and this library's frames have no index. "
            "Write a mapping {class: {decision: cost, …}, …}, or pass an array."
        )
    plain = isinstance(table, np.ndarray) or not hasattr(table, "__array__")
    return table if plain else _check.as_array("costs", table)


def from_mapping(
    table: Mapping[Any, Any], classes: object, decisions: object, *, gains: bool = False
) -> tuple[Labels, Labels, list[list[Any]]]:
    """Labels and rows of a mapping class → decision → cost.

    Decisions whose order is not stated stand in that of the first row, or else in that of the
    classes, where each class has a decision of its own; see `by_suited_class`.
    """
    rows_of = _check.labels("classes", table if classes is None else classes)
    rows = _check.by_label("costs", table, rows_of)
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            "costs must map every class to a mapping from decision to cost; it does not. "
            "Write {class: {decision: cost, …}, …}."
        )
    written_first = next(iter(table.values()))
    names = _check.labels("decisions", written_first if decisions is None else decisions)
    cells = [_check.by_label("costs", row, names) for row in rows]
    if decisions is None:
        order = by_suited_class(cells, gains=gains)
        names = tuple(names[d] for d in order)
        cells = [[row[d] for d in order] for row in cells]
    return rows_of, names, cells


def by_suited_class(cells: list[list[Any]], *, gains: bool = False) -> list[int]:
    """The order of the decisions in which each class has the one that suits it at its own place.

    That is the cheapest decision of the class, or with `gains` the one of the largest gain. The
    order stays where two classes share a decision, where one has several, and where there are not
    as many decisions as classes. Expressions are compared where every column is 1.
    """
    order = list(range(len(cells[0])))
    if len(order) != len(cells):
        return order
    costs = np.array([[_typical(cell) for cell in row] for row in cells])
    costs = -costs if gains else costs
    suited = costs.argmin(axis=1)
    alone = (costs == costs.min(axis=1, keepdims=True)).sum(axis=1) == 1  # nan equals nothing
    return suited.tolist() if alone.all() and len({*suited}) == len(order) else order


def _typical(cell: Any) -> float:
    """A cost as a number: the mean of a distribution; nan for what is refused where it is read."""
    with suppress(InputError, TypeError, ValueError, ArithmeticError):
        if isinstance(cell, str):
            expression = parse(cell.strip())
            with np.errstate(all="ignore"):
                return float(np.ravel(expression({n: np.ones(1) for n in expression.names}))[0])
        [[mean]], _ = split_beliefs([[cell]])
        return float(mean)
    return np.nan


def unit_name(unit: object) -> str | None:
    """What costs are counted in, if that is stated."""
    if unit is None:
        return None
    _check.require("unit", unit, str, "It names what costs are counted in, such as 'EUR'.")
    return _check.writable("unit", str(unit))


LARGEST = 1e100  # largest cost: its products with counts and other costs do not overflow

Expressions = tuple[tuple[Expression | None, ...], ...]  # K rows of M; () where all are numbers


def has_text(costs: Any) -> bool:
    """Whether some entry of a table is text, which is an expression then."""
    if isinstance(costs, np.ndarray) and costs.dtype.kind in "biuf":
        return False
    try:
        cells = np.array(costs, dtype=object)
    except ValueError:  # rows of different lengths
        return False
    return cells.ndim == 2 and any(isinstance(cell, str) for cell in cells.flat)


def read_table(costs: Any, classes: Labels, decisions: Labels) -> tuple[FloatArray, Expressions]:
    """Numbers (K, M), with nan where a cost depends on columns, and the expressions of these."""
    if not has_text(costs):
        constants = _check.floats("costs", costs)
        _refuse_unusable(constants, ())
        return constants, ()
    taken = {str(label) for label in classes}
    numbers: list[list[Any]] = []
    read: list[tuple[Expression | None, ...]] = []
    for label, row in zip(classes, np.array(costs, dtype=object).tolist(), strict=True):
        cells = [
            _cell(cost, label, decision, taken)
            for cost, decision in zip(row, decisions, strict=True)
        ]
        numbers.append([number for number, _ in cells])
        read.append(tuple(expression for _, expression in cells))
    some = any(cell is not None for row in read for cell in row)
    expressions = tuple(read) if some else ()
    constants = _check.reals("costs", numbers)
    _refuse_unusable(constants, expressions)
    return constants, expressions


def _cell(
    cost: Any, label: Label, decision: Label, taken: set[str]
) -> tuple[Any, Expression | None]:
    if not isinstance(cost, str):
        return cost, None
    what = f"costs[{label!r}][{decision!r}]"
    try:
        expression = parse(cost.strip(), what=what)
    except InputError as error:
        raise InputError(str(error), argument="costs") from None
    value = _tried(expression, what)
    if not expression.names:
        return float(value), None
    for name in expression.names:
        if str(name) in taken:
            raise InputError(
                f"{what} must be an expression of columns; {str(name)!r} is a class. Rename the "
                f"column, or the class.",
                argument="costs",
            )
    return np.nan, expression


def _tried(expression: Expression, what: str) -> Any:
    """The value where all columns are 1; refused where constants alone make it undefined."""
    try:
        with np.errstate(all="ignore"):  # what columns make undefined is refused with their rows
            return expression({name: np.ones(1) for name in expression.names})
    except InputError:
        raise InputError(
            f"{what} must be a number; {expression.text!r} is undefined whatever the columns hold, "
            f"because its constants divide by zero or are too large. Correct them.",
            argument="costs",
        ) from None


def column_names(expressions: Expressions) -> tuple[str, ...]:
    """The columns that expressions need, in the order in which they are written."""
    cells = (cell for row in expressions for cell in row if cell is not None)
    return tuple(dict.fromkeys(name.name for cell in cells for name in cell.names))


class CostTerms(NamedTuple):
    """What costs are linear in: columns, other parts of expressions, and the constant "1"."""

    names: tuple[str, ...]  # T, each an expression; "1" is the first
    coefficients: FloatArray  # (K, M, T), nan where a cost does not have the term


def cost_terms(constants: FloatArray, expressions: Expressions) -> CostTerms:
    """The terms of all costs in the order in which they are written, and their coefficients."""
    if not expressions:
        return CostTerms(("1",), constants[..., None])
    cells = [
        [
            {"1": float(cost)} if expression is None else expression.terms
            for cost, expression in zip(*row, strict=True)
        ]
        for row in zip(constants, expressions, strict=True)
    ]
    names = tuple(dict.fromkeys(["1", *(term for row in cells for cell in row for term in cell)]))
    coefficients = [[[cell.get(term, np.nan) for term in names] for cell in row] for row in cells]
    return CostTerms(names, np.array(coefficients))


def negated(costs: Any) -> Any:
    """A table with the opposite signs, expressions of columns included."""
    cells = np.array(costs, dtype=object)
    if not (has_text(costs) or any(map(is_belief, cells.flat))):
        return 0.0 - _check.floats("utilities", costs, ndim=2)
    return [[_negated(cell) for cell in row] for row in cells.tolist()]


def _negated(cell: Any) -> Any:
    if is_belief(cell):
        return negated_cell(cell)
    return f"-({cell})" if isinstance(cell, str) else 0.0 - cell


def table_shape(costs: Any) -> tuple[int, int]:
    """K and M of a table of costs; anything else is refused."""
    array: Any = costs
    if not (isinstance(costs, np.ndarray) and costs.dtype.kind in "biuf"):
        array = np.array(costs, dtype=object) if has_text(costs) else _check.floats("costs", costs)
    if array.ndim != 2 or 0 in array.shape:
        raise InputError(
            f"costs must be a table of classes (rows) by decisions (columns); its shape is "
            f"{array.shape}. Per-case costs go to evaluate, bayes_decisions and metrics as "
            f"case_costs."
        )
    return int(array.shape[0]), int(array.shape[1])


def _refuse_unusable(costs: FloatArray, expressions: Expressions) -> None:
    """Refuse costs that are too large, or that are not numbers and have no expression."""
    if expressions:
        written = np.array([[cell is not None for cell in row] for row in expressions])
        costs = _check.floats("costs", np.where(written, 0.0, costs))
    refuse_large("costs", costs)


def refuse_large(name: str, costs: FloatArray) -> None:
    """Refuse costs whose products might overflow."""
    extremes = float(costs.min(initial=0.0)), float(costs.max(initial=0.0))
    if (largest := max(map(abs, extremes))) > LARGEST:
        raise InputError(
            f"{name} must lie within {LARGEST:g} of zero; the largest is {largest:g}. "
            f"Choose a larger unit."
        )
