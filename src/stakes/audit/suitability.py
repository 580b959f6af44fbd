"""Which of the five properties of a suitable multi-class metric hold (itai-katz, section 3.1).

A suitable metric (1) lies between −1 and 1, (2) does not depend on the order of the classes,
(3) does not change when truth and decisions change places, (4) is one for a perfect fit, and
(5) only for a perfect fit. One that lacks (5), but is one only where relabelling the decisions
makes the fit perfect, is semi-suitable.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray
from stakes._text import html_table, text_table
from stakes._value import Value, record
from stakes.agreement import perfect_relabelling
from stakes.audit.metric import Metric
from stakes.tally import Counts

_ROUNDING = 1e-9  # rounding errors of roots and determinants of counts
_RANDOM = 2000  # random tables of each kind
_SMALL = 20_000  # largest number of tables of small whole numbers
_ORDERS = 24  # largest number of orders of the classes

BOUNDED = "between -1 and 1"
ORDER = "same in any order of the classes"
FLIP = "same when truth and decisions change places"
PERFECT_IS_ONE = "one for a perfect fit"
ONLY_PERFECT = "one only for a perfect fit"


@record
class Counterexample(Value):
    """A table, or a table and its twin, that shows that a property fails.

    Attributes
    ----------
    table : Counts
    value : the metric there
    twin : the table that should have the same value, for the two invariances; None otherwise
    twin_value : the metric there; None without a twin
    """

    table: Counts
    value: float
    twin: Counts | None
    twin_value: float | None


@record(repr=False)
class Suitability(Value):
    """The five properties of a metric, each with a counterexample or None.

    Attributes
    ----------
    n_classes : how many classes the tables had
    properties : five names
    counterexamples : five, None where the search found none
    relabellings_only : whether all imperfect tables of value one become perfect by relabelling

    Examples
    --------
    >>> from stakes.audit import FAMILIAR_MULTICLASS
    >>> suitability(FAMILIAR_MULTICLASS["accuracy"], n_classes=3, rng=np.random.default_rng(1))
    Suitability: suitable
                                                 3 classes
    between -1 and 1                                   yes
    same in any order of the classes                   yes
    same when truth and decisions change places        yes
    one for a perfect fit                              yes
    one only for a perfect fit                         yes
    """

    n_classes: int
    properties: tuple[str, ...]
    counterexamples: tuple[Counterexample | None, ...]
    relabellings_only: bool

    @property
    def holds(self) -> tuple[bool, ...]:
        """Whether each property holds."""
        return tuple(example is None for example in self.counterexamples)

    @property
    def suitable(self) -> bool:
        """Whether all five hold."""
        return all(self.holds)

    @property
    def semi_suitable(self) -> bool:
        """Whether the first four hold, and the fifth fails for relabelled perfect fits only."""
        return all(self.holds[:4]) and not self.holds[4] and self.relabellings_only

    def _table(self) -> tuple[list[object], list[list[object]]]:
        rows: list[list[object]] = [
            [name, "yes" if example is None else f"no: {_shown(example)}"]
            for name, example in zip(self.properties, self.counterexamples, strict=True)
        ]
        return ["", f"{self.n_classes} classes"], rows

    def __repr__(self) -> str:
        kind = "suitable" if self.suitable else "semi-suitable" if self.semi_suitable else "neither"
        return f"Suitability: {kind}\n" + text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table(), "Suitability")


def _shown(example: Counterexample) -> str:
    text = f"{example.value:.4g} at {example.table.values.round(3).tolist()}"
    if example.twin_value is None:
        return text
    return f"{text}, {example.twin_value:.4g} at its twin"


def suitability(metric: Metric, *, n_classes: int, rng: np.random.Generator) -> Suitability:
    """Which of the five properties of a suitable metric hold, with a witness where one fails.

    Tables of small whole numbers, sparse and dense random tables, relabelled and nearly perfect
    ones are tried; a property holds when none of them is a counterexample. Undefined values violate
    neither the bounds nor the fifth property, but a metric that is undefined at a table and defined
    at its transpose or reordering is not invariant. Reference: itai-katz, section 3.1.

    Parameters
    ----------
    metric : the metric to examine
    n_classes : number of classes, K
    rng : the generator that draws

    Returns
    -------
    the properties, each with a witness where it fails

    Examples
    --------
    >>> from functools import partial
    >>> from stakes.agreement import determinant_mcc, general_f1
    >>> from stakes.audit import Gain, suitability
    >>> rng = np.random.default_rng(1)
    >>> suitability(Gain(partial(general_f1, average=1)), n_classes=3, rng=rng).suitable
    True
    >>> answer = suitability(Gain(determinant_mcc), n_classes=3, rng=rng)
    >>> answer.semi_suitable, answer.holds
    (True, (True, True, True, True, False))
    """
    _check.require("metric", metric, Metric)
    size = _check.whole("n_classes", n_classes, low=2, high=100)
    tables = _tables(rng, size)
    values = _evaluate(metric, tables)
    perfect = (tables * (1 - np.eye(size))).sum(axis=(1, 2)) == 0
    full = perfect & (np.diagonal(tables, axis1=1, axis2=2) > 0).all(axis=1)
    too_good = ~perfect & (values >= 1 - _ROUNDING)
    flipped = np.swapaxes(tables, 1, 2)
    examples = (
        _single(tables, values, np.abs(values) > 1 + _ROUNDING),
        _orders(metric, tables, values, rng),
        _twin(tables, values, flipped, _evaluate(metric, flipped)),
        _single(tables, values, full & ~(np.abs(values - 1) <= _ROUNDING)),
        _single(tables, values, too_good),
    )
    return Suitability(
        n_classes=size,
        properties=(BOUNDED, ORDER, FLIP, PERFECT_IS_ONE, ONLY_PERFECT),
        counterexamples=examples,
        relabellings_only=all(
            perfect_relabelling(Counts._unlabelled(table)) is not None for table in tables[too_good]
        ),
    )


def _evaluate(metric: Metric, tables: FloatArray) -> FloatArray:
    return metric(Counts._unlabelled(tables))


# Where to look -----------------------------------------------------------------------------------


def _tables(rng: np.random.Generator, size: int) -> FloatArray:
    """Tables (T, K, K) that are likely to be counterexamples; simple ones first."""
    _check.generator(rng)
    shape = (_RANDOM, size, size)
    sparse = rng.integers(1, 20, shape) * (rng.random(shape) < 0.4)
    skewed = np.floor(np.exp(rng.uniform(0, 9, shape)))
    diagonal = np.eye(size) * rng.integers(1, 50, (_RANDOM // 10, size))[:, None]
    near = diagonal + (rng.random((_RANDOM // 10, size, size)) < 0.2)
    relabelled = np.array([np.eye(size)[list(order)] for order in _orders_of(rng, size)])
    relabelled = relabelled * rng.integers(1, 50, (len(relabelled), size))[..., None]
    tables = np.concatenate([_small(size), relabelled, diagonal, near, sparse, skewed])
    return np.asarray(tables[tables.sum(axis=(1, 2)) > 0], dtype=np.float64)


def _small(size: int) -> FloatArray:
    """All tables of small whole numbers, as far as the search can hold them; else the identity."""
    cells = size * size
    base = 2
    while (base + 1) ** cells <= _SMALL:
        base += 1
    if base**cells > _SMALL:
        return np.eye(size)[None]
    numbers = np.arange(1, base**cells)
    digits = numbers[:, None] // base ** np.arange(cells)[::-1] % base
    return digits.reshape(-1, size, size).astype(np.float64)


def _orders_of(rng: np.random.Generator, size: int) -> list[tuple[int, ...]]:
    """Other orders of the classes: all, or some of many."""
    if size <= 4:
        return list(permutations(range(size)))[1:]
    drawn = [tuple(rng.permutation(size).tolist()) for _ in range(_ORDERS)]
    exchange = (1, 0, *range(2, size))
    return [exchange, *(order for order in drawn if order != tuple(range(size)))]


# What fails --------------------------------------------------------------------------------------


def _single(tables: FloatArray, values: FloatArray, fails: BoolArray) -> Counterexample | None:
    failing = np.flatnonzero(fails)
    if not failing.size:
        return None
    return Counterexample(
        table=Counts._unlabelled(tables[failing[0]]),
        value=float(values[failing[0]]),
        twin=None,
        twin_value=None,
    )


def _twin(
    tables: FloatArray, values: FloatArray, twins: FloatArray, twin_values: FloatArray
) -> Counterexample | None:
    """The first table whose twin has a different value; nan is equal to nan only."""
    same = np.isclose(values, twin_values, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True)
    differing = np.flatnonzero(~same)
    if not differing.size:
        return None
    first = differing[0]
    return Counterexample(
        table=Counts._unlabelled(tables[first]),
        value=float(values[first]),
        twin=Counts._unlabelled(twins[first]),
        twin_value=float(twin_values[first]),
    )


def _orders(
    metric: Metric, tables: FloatArray, values: FloatArray, rng: np.random.Generator
) -> Counterexample | None:
    for order in _orders_of(rng, tables.shape[-1]):
        listed = list(order)
        twins = tables[:, listed][:, :, listed]
        example = _twin(tables, values, twins, _evaluate(metric, twins))
        if example is not None:
            return example
    return None
