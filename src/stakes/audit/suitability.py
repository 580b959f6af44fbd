"""What a metric prefers: its properties, reversed pairs of tables, implied costs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Mapping
from itertools import permutations
from typing import Self

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._text import html_table, text_table
from stakes._value import Value, record
from stakes.agreement import perfect_relabelling
from stakes.audit.utility_space import (
    Metric,
    ModelTables,
    by_position,
    of_each,
    picked,
    read_model_tables,
)
from stakes.errors import InputError
from stakes.measures import expected_cost, utility_yield
from stakes.problem import Problem
from stakes.ranking import hull_cuts, weights_above
from stakes.tally import Counts, ScoreTable

# -------------------------------------------------------------------------------------------------
# Which of the five properties of a suitable multi-class metric hold (itai-katz, section 3.1).
#
# A suitable metric (1) lies between −1 and 1, (2) does not depend on the order of the classes, (3)
# does not change when truth and decisions change places, (4) is one for a perfect fit, and (5)
# only for a perfect fit. One that lacks (5), but is one only where relabelling the decisions makes
# the fit perfect, is semi-suitable.

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


# -------------------------------------------------------------------------------------------------
# Metrics against the utility yield, table by table, and the tables that they rank in reverse.

_TIE = 1e-12  # relative: differences below this are rounding errors
_ROWS = 256  # tables compared with all others at a time, which bounds the memory


@record
class AgainstYield(Value):
    """Metrics and utility yields of many tables, as in figures 2 and 3 of dyrland.

    Attributes
    ----------
    metrics : Q names
    yields : (n,) utility yield of each table
    values : (Q, n) the metrics
    goodness : (Q, n) the same, with signs such that higher is better

    Examples
    --------
    The first table is more accurate; its five misses cost 20 each, the false alarms 1:

    >>> from stakes import Counts, Problem
    >>> from stakes.audit import FAMILIAR, against_yield
    >>> tables = Counts([[[70, 20], [5, 5]], [[50, 40], [1, 9]]])
    >>> problem = Problem.binary(false_alarm=1, miss=20)
    >>> points = against_yield(tables, problem, metrics={"accuracy": FAMILIAR["accuracy"]})
    >>> points.yields.round(6), points.values.round(6)
    (array([-1.2, -0.6]), array([[0.75, 0.59]]))
    """

    metrics: tuple[str, ...]
    yields: FloatArray
    values: FloatArray
    goodness: FloatArray

    def reversed_share(self, metric: str) -> float:
        """Share of the pairs of tables that the metric ranks in reverse to the yield.

        Values that differ only by rounding are ties.

        Parameters
        ----------
        metric : name of the metric

        Returns
        -------
        the share

        Examples
        --------
        >>> from stakes.audit import FAMILIAR, against_yield
        >>> from stakes.problem import Problem
        >>> from stakes.tally import Counts
        >>> factory = Problem.from_utilities([[165, -335], [-35, 15]])
        >>> tables = Counts([[[0.35, 0.15], [0.23, 0.27]], [[0.32, 0.18], [0.07, 0.43]]])
        >>> float(against_yield(tables, factory, metrics=FAMILIAR).reversed_share("F1"))
        1.0
        """
        good, worth = self._ranks(metric)
        n_tables = worth.size
        opposite = sum(
            np.count_nonzero(
                np.subtract.outer(worth[first : first + _ROWS], worth)
                * np.subtract.outer(good[first : first + _ROWS], good)
                < 0
            )
            for first in range(0, n_tables, _ROWS)
        )
        return opposite / (n_tables * (n_tables - 1)) if n_tables > 1 else float("nan")

    def reversed_chain(self, metric: str) -> IntArray:
        """The longest chain of tables that the metric ranks in completely reverse order.

        The tables are listed from the lowest yield to the highest; the metric falls from each to
        the next. For a metric that is never wrong, the chain is a single table.

        Parameters
        ----------
        metric : name of the metric

        Returns
        -------
        positions of the tables

        Examples
        --------
        >>> from stakes.audit import FAMILIAR, against_yield
        >>> from stakes.problem import Problem
        >>> from stakes.tally import Counts
        >>> factory = Problem.from_utilities([[165, -335], [-35, 15]])
        >>> tables = Counts([[[0.35, 0.15], [0.23, 0.27]], [[0.32, 0.18], [0.07, 0.43]]])
        >>> against_yield(tables, factory, metrics=FAMILIAR).reversed_chain("F1")
        array([1, 0])
        """
        good, worth = self._ranks(metric)
        known = np.flatnonzero(~np.isnan(good) & ~np.isnan(worth))
        # Sorted by rising goodness, tables of equal yield cannot follow each other in a chain.
        order = known[np.lexsort((good[known], worth[known]))]
        return _falling(order, good)

    def _ranks(self, metric: str) -> tuple[FloatArray, FloatArray]:
        """Ranks (n,) of the tables by a metric and by the yield."""
        place = _check.one_of("metric", metric, self.metrics, "metrics")
        return _ranked(self.goodness[place]), _ranked(self.yields)


def _ranked(values: FloatArray) -> FloatArray:
    """Ranks from 0; values that differ only by rounding share a rank, and nan stays nan."""
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    largest = np.abs(values).max(initial=0.0, where=np.isfinite(values))
    with np.errstate(invalid="ignore"):
        rises = np.diff(ascending) > _TIE * largest
    ranks = np.empty(values.size)
    ranks[order] = np.concatenate([[0.0], np.cumsum(rises)])[: values.size]
    ranks[np.isnan(values)] = np.nan
    return ranks


def _falling(order: IntArray, good: FloatArray) -> IntArray:
    """Positions of the longest strictly falling subsequence, by patience sorting."""
    tops: list[float] = []
    last: list[int] = []
    before = np.full(good.size, -1, dtype=np.intp)
    for position in order.tolist():
        pile = bisect_left(tops, -good[position])
        before[position] = last[pile - 1] if pile else -1
        tops[pile : pile + 1] = [-good[position]]
        last[pile : pile + 1] = [position]
    chain = [last[-1]] if last else []
    while chain and before[chain[-1]] >= 0:
        chain.append(int(before[chain[-1]]))
    return np.array(chain[::-1], dtype=np.intp)


def against_yield(
    counts: Counts, problem: Problem, *, metrics: Mapping[str, Metric]
) -> AgainstYield:
    """Metrics of many tables against their utility yield (dyrland, figures 2 and 3).

    Unless the points of a metric lie on a single rising curve, it ranks some tables wrongly. The
    tables, of shape (n, K, M), should have the same class shares, as models that were tested on one
    data set have.

    Parameters
    ----------
    counts : cases by true class and decision, (…, K, M)
    problem : what is at stake: costs, prior, labels
    metrics : metrics by name

    Returns
    -------
    values of the metrics beside the utility yield, table by table

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, against_yield
    >>> from stakes.problem import Problem
    >>> from stakes.tally import Counts
    >>> factory = Problem.from_utilities([[165, -335], [-35, 15]])
    >>> tables = Counts([[[0.35, 0.15], [0.23, 0.27]], [[0.32, 0.18], [0.07, 0.43]]])
    >>> points = against_yield(tables, factory, metrics=FAMILIAR)
    >>> points.yields.round(9), points.reversed_chain("F1")
    (array([ 3.5, -3.5]), array([1, 0]))
    """
    _check.require("counts", counts, Counts)
    _check.mapping_of("metrics", metrics, Metric)
    names = tuple(map(str, metrics))
    if counts.values.ndim != 3:
        raise InputError(
            f"counts must hold many tables along one axis, of shape (n, K, M); the shape is "
            f"{counts.values.shape}. Flatten the leading axes, or stack single tables."
        )
    plain = by_position(counts)
    both = list(of_each(metrics, lambda metric: (metric(plain), metric.goodness(plain))))
    values, goodness = np.moveaxis(np.reshape(both, (len(names), 2, len(plain.values))), 1, 0)
    return AgainstYield._trusted(
        metrics=names,
        yields=utility_yield(counts, problem),
        values=values,
        goodness=goodness,
    )


# Which metrics would have picked another model, and what that costs ------------------------------


@record(repr=False)
class Disagreement(Value):
    """The value of each metric for each model, the model that it picks, and what the pick costs.

    Attributes
    ----------
    models : J names
    metrics : Q names
    costs : (…, J) expected cost per case, in the unit of the problem
    best : (…, J) the models of least cost, ties included
    values : (…, Q, J) the metrics
    picks : (…, Q, J) the models that each metric puts first, ties included

    Examples
    --------
    The second model has a better F1 and costs 1 more per case:

    >>> import numpy as np
    >>> f1 = np.array([0.7, 0.8])
    >>> table = Disagreement.of(("A", "B"), np.array([2.0, 3.0]), {"F1": (f1, f1)}, "EUR")
    >>> table.picks_of("F1"), table.regret, table.misled
    (('B',), array([1.]), array([ True]))
    """

    models: Labels
    metrics: tuple[str, ...]
    costs: FloatArray
    best: BoolArray
    values: FloatArray
    picks: BoolArray
    unit: str | None

    @classmethod
    def of(
        cls,
        models: Labels,
        costs: FloatArray,
        values: Mapping[str, tuple[FloatArray, FloatArray]],
        unit: str | None,
    ) -> Self:
        """Make the table from costs, and from the values of each metric.

        Parameters
        ----------
        models : J labels
        costs : (…, J) expected costs
        values : for each metric its values (…, J), and the same with signs such that higher is
            better
        unit : the unit of the costs, or None

        Returns
        -------
        the table

        Examples
        --------
        >>> import numpy as np
        >>> costs, f1 = np.array([2.0, 1.0]), np.array([0.8, 0.7])
        >>> print(Disagreement.of(("old", "new"), costs, {"F1": (f1, f1)}, "EUR"))
        Disagreement: cost per case in EUR, and metrics
                       old  new  picks  costs more
        expected cost    2    1    new           0
        F1             0.8  0.7    old           1
        """
        _check.shapes(f"… {len(models)}", costs=costs)
        shape = (*costs.shape[:-1], len(values), len(models))
        parts = [part for part, _ in values.values()]
        picks = [picked(goodness) for _, goodness in values.values()]
        return cls._trusted(
            models=models,
            metrics=tuple(values),
            costs=np.array(costs),  # values make their arrays read-only, not those of a caller
            best=picked(-costs),
            values=np.stack(parts, axis=-2) if parts else np.empty(shape),
            picks=np.stack(picks, axis=-2) if picks else np.empty(shape, dtype=bool),
            unit=unit,
        )

    @property
    def excess(self) -> FloatArray:
        """What each model costs per case above the best one, (…, J)."""
        least = np.where(self.best, self.costs, np.inf).min(axis=-1, keepdims=True)
        return np.where(self.best, 0.0, self.costs - np.where(np.isinf(least), np.nan, least))

    @property
    def regret(self) -> FloatArray:
        """What following each metric costs per case above the best model, (…, Q).

        Where a metric ties several models this is the costliest of them, since the metric gives no
        reason to avoid it. nan where the metric is undefined for all models, or the cost of a pick
        is undefined.
        """
        of_picks = np.where(self.picks, self.excess[..., None, :], -np.inf).max(axis=-1)
        return np.where(self.picks.any(axis=-1), of_picks, np.nan)

    @property
    def misled(self) -> BoolArray:
        """Whether a model that costs more than the best is among the picks of each metric, (…, Q).

        A model whose cost is undefined does not count: it may be the best.
        """
        return np.asarray((self.picks & (self.excess[..., None, :] > 0)).any(axis=-1))

    def picks_of(self, metric: str) -> tuple[Label, ...]:
        """The models that one metric puts first, for tables without leading axes.

        Parameters
        ----------
        metric : name of the metric

        Returns
        -------
        labels of the models

        Examples
        --------
        >>> import numpy as np
        >>> costs, f1 = np.array([2.0, 1.0]), np.array([0.8, 0.7])
        >>> table = Disagreement.of(("old", "new"), costs, {"F1": (f1, f1)}, "EUR")
        >>> table.picks_of("F1")
        ('old',)
        """
        return self._names(self.picks[_check.one_of("metric", metric, self.metrics, "metrics")])

    def columns(self) -> dict[str, list[object]]:
        """What the table shows, by column, for tables without leading axes.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> import numpy as np
        >>> costs, f1 = np.array([2.0, 1.0]), np.array([0.8, 0.7])
        >>> table = Disagreement.of(("old", "new"), costs, {"F1": (f1, f1)}, "EUR")
        >>> sorted(table.columns())
        ['costs more', 'metric', 'new', 'old', 'picks']
        """
        table: dict[str, list[object]] = {"metric": ["expected cost", *self.metrics]}
        for j, model in enumerate(self.models):
            table[str(model)] = [float(self.costs[j]), *self.values[:, j].tolist()]
        chosen = (self.best, *self.picks)
        table["picks"] = [", ".join(map(str, self._names(row))) for row in chosen]
        table["costs more"] = [0.0 if self.best.any() else float("nan"), *self.regret.tolist()]
        return table

    def _names(self, chosen: BoolArray) -> tuple[Label, ...]:
        return tuple(model for model, taken in zip(self.models, chosen, strict=True) if taken)

    def _table(self) -> tuple[list[object], list[list[object]], str]:
        columns = self.columns()
        rows = [
            [f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        unit = f" in {self.unit}" if self.unit else ""
        return ["", *list(columns)[1:]], rows, f"Disagreement: cost per case{unit}, and metrics"

    def __repr__(self) -> str:
        if self.costs.ndim > 1:
            return (
                f"Disagreement of shape {self.costs.shape[:-1]} x "
                f"{len(self.metrics)} metrics x {len(self.models)} models"
            )
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>" if self.costs.ndim > 1 else html_table(*self._table())


def disagreement(
    models: ModelTables, problem: Problem, *, metrics: Mapping[str, Metric]
) -> Disagreement:
    """Which metrics would have picked another model, and what that choice costs per case.

    The cost is that of deployment: the problem's prior replaces the shares of the data. The metrics
    are computed as people compute them, on the data at hand; pass ``counts.with_prior(prior)`` to
    give them the prior too. Values within 1e-12 of the best tie with it. Leading axes, such as
    replicates, are carried through. Reference: dyrland, section 0.

    Parameters
    ----------
    models : tables by name, joint counts, or counts whose first leading axis is the models
    problem : what is at stake: costs, prior, labels
    metrics : name → metric, such as `FAMILIAR` or ``familiar_metrics(problem)``

    Returns
    -------
    what each metric picks, and what that costs

    Examples
    --------
    The factory of dyrland's introduction, with "long" durability as the positive class: all metrics
    but one recommend B, which loses 3.5 $ per component where A earns 3.5 $.

    >>> from stakes.audit import FAMILIAR, disagreement
    >>> from stakes.problem import Problem
    >>> from stakes.tally import Counts
    >>> factory = Problem.from_utilities(
    ...     [[165, -335], [-35, 15]], classes=["short", "long"], unit="$")
    >>> A, B = Counts([[0.35, 0.15], [0.23, 0.27]]), Counts([[0.32, 0.18], [0.07, 0.43]])
    >>> disagreement({"A": A, "B": B}, factory, metrics=FAMILIAR)
    Disagreement: cost per case in $, and metrics
                            A       B  picks  costs more
    expected cost        -3.5     3.5      A           0
    accuracy             0.62    0.75      B           7
    balanced accuracy    0.62    0.75      B           7
    precision          0.6429  0.7049      B           7
    recall               0.54    0.86      B           7
    specificity           0.7    0.64      A           0
    F1                  0.587  0.7748      B           7
    MCC                0.2431  0.5126      B           7
    Cohen's kappa        0.24     0.5      B           7
    Fowlkes-Mallows    0.5892  0.7786      B           7
    """
    _check.mapping_of("metrics", metrics, Metric)
    names = tuple(map(str, metrics))
    labels, tables = read_model_tables(models)
    costs = np.asarray(expected_cost(tables, problem))
    plain = by_position(tables)
    values = of_each(metrics, lambda metric: (metric(plain), metric.goodness(plain)))
    return Disagreement.of(labels, costs, dict(zip(names, values, strict=True)), problem.unit)


# -------------------------------------------------------------------------------------------------
# The costs that a metric implies: those for which its best threshold would be the right one.
#
# To choose a threshold, or to let a metric choose it, is to choose costs. There are two readings:
#
# - *Bayes*: if the scores are calibrated, the threshold is right for one cost proportion, which is
#   the threshold itself on the scale of probabilities (ferrer-ec, section 4.1).
# - *empirical*: on these data the threshold is the cheapest for an interval of cost proportions,
#   given by the two segments of the ROC hull that meet there; for none if it is below the hull.
#
# Cost proportions c, cost ratios (1 − c)/c (what a miss costs, in false alarms) and skews are
# three ways to write the same quantity.

_STRAIGHT = 1e-12  # relative distance from the hull that may come from rounding


class ScoreScale(Value, ABC):
    """What a score means, and so for which cost proportion a threshold is the Bayes threshold.

    Examples
    --------
    The score 0 is a probability of nothing, even odds, or no more than a rank:

    >>> [scale.cost_proportion(0.0) for scale in (Probabilities(), LogOdds(), RawScores())]
    [0.0, 0.5, nan]
    """

    @abstractmethod
    def cost_proportion(self, threshold: float) -> float:
        """Cost proportion whose Bayes threshold this is; nan when scores are on no such scale.

        Parameters
        ----------
        threshold : a threshold on this scale

        Returns
        -------
        the cost proportion, or nan

        Examples
        --------
        >>> Probabilities().cost_proportion(0.2), LogOdds().cost_proportion(0.0)
        (0.2, 0.5)
        """

    def refuse(self, scores: FloatArray) -> None:
        """Raise InputError when scores cannot be on this scale; by default any can.

        Parameters
        ----------
        scores : the scores

        Examples
        --------
        >>> import numpy as np
        >>> RawScores().refuse(np.array([-3.0, 8.5]))
        """


@record
class Probabilities(ScoreScale):
    """Scores are probabilities of the positive class; −inf and inf lie beyond 0 and 1.

    Examples
    --------
    >>> Probabilities().cost_proportion(0.8), Probabilities().cost_proportion(float("inf"))
    (0.8, 1.0)
    """

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        _check.one_number("threshold", threshold)
        return min(max(threshold, 0.0), 1.0)

    def refuse(self, scores: FloatArray) -> None:  # noqa: D102
        bad = np.flatnonzero(np.isfinite(scores) & ~((scores >= 0) & (scores <= 1)))
        if bad.size:
            raise InputError(
                f"scores on the scale Probabilities() must lie in [0, 1]; {bad.size} of "
                f"{scores.size} do not, the first being {scores[bad[0]]:g}. Calibrate them first, "
                f"with Affine or Isotonic from stakes.calibration, or read them as LogOdds() or "
                f"RawScores()."
            )


@record
class LogOdds(ScoreScale):
    """Scores are log-odds of the positive class.

    Examples
    --------
    At log-odds of log 4 the probability is 4/5:

    >>> round(LogOdds().cost_proportion(np.log(4)), 6)
    0.8
    """

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        _check.one_number("threshold", threshold)
        from scipy.special import expit

        return float(expit(float(threshold)))


@record
class RawScores(ScoreScale):
    """Scores only rank; there is no Bayes threshold on them.

    Examples
    --------
    >>> RawScores().cost_proportion(0.8)
    nan
    """

    def cost_proportion(self, threshold: float) -> float:  # noqa: D102
        return float("nan")


# Results -----------------------------------------------------------------------------------------


@record
class CostRange(Value):
    """An interval of cost proportions, also as cost ratios and as skews; nan when it is empty.

    Attributes
    ----------
    cost_proportion : (2,) lowest and highest c
    shares : (2,) class shares that make skews of them
    reason : why the interval is empty; "" otherwise

    Examples
    --------
    A miss costs between four and nine times as much as a false alarm:

    >>> CostRange(np.array([0.1, 0.2]), np.array([0.5, 0.5]), "").cost_ratio
    array([4., 9.])
    """

    cost_proportion: FloatArray
    shares: FloatArray
    reason: str

    @property
    def is_empty(self) -> bool:
        """Whether there are no such costs."""
        return bool(np.isnan(self.cost_proportion).any())

    @property
    def cost_ratio(self) -> FloatArray:
        """Cost of a miss over that of a false alarm, lowest and highest."""
        with np.errstate(divide="ignore"):
            return np.asarray((1 - self.cost_proportion) / self.cost_proportion)[::-1]

    @property
    def skew(self) -> FloatArray:
        """Lowest and highest cπ₀/(cπ₀ + (1−c)π₁); nan for 0/0, which a single class may have."""
        false_alarm = self.cost_proportion * self.shares[0]
        total = false_alarm + (1 - self.cost_proportion) * self.shares[1]
        return np.asarray(ratio(false_alarm, total))


@record
class Optimum(Value):
    """A threshold, and the costs for which it is right.

    Attributes
    ----------
    threshold : the lowest threshold that takes these decisions; -inf: all positive
    below : any threshold in [threshold, below) takes the same decisions
    bayes : costs for which some such threshold is the Bayes threshold
    empirical : costs for which no other threshold is cheaper on these data

    Examples
    --------
    Accuracy is best between 0.3 and 0.6, where a miss and a false alarm cost about the same:

    >>> from stakes.audit import FAMILIAR
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> (optimum,) = implied_costs(table, FAMILIAR["accuracy"], scale=Probabilities()).optima
    >>> optimum.threshold, optimum.below, optimum.bayes.cost_ratio.round(2)
    (0.3, 0.6, array([0.67, 2.33]))
    """

    threshold: float
    below: float
    bayes: CostRange
    empirical: CostRange


@record
class ThresholdCosts(Optimum):
    """A given threshold, and the interval of thresholds that take the same decisions.

    Attributes
    ----------
    asked : the threshold itself, in [threshold, below)
    cost_proportion : the one whose Bayes threshold it is; nan for raw scores

    Examples
    --------
    At 0.2 it takes four false alarms to outweigh a miss:

    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> costs = costs_of_threshold(table, 0.2, scale=Probabilities())
    >>> costs.cost_ratio, costs.threshold, costs.below
    (4.0, 0.1, 0.3)
    """

    asked: float
    cost_proportion: float

    @property
    def cost_ratio(self) -> float:
        """Cost of a miss over that of a false alarm, if `asked` is the Bayes threshold."""
        with np.errstate(divide="ignore"):
            return float(np.divide(1 - self.cost_proportion, self.cost_proportion))


@record(repr=False)
class ImpliedCosts(Value):
    """The best value of a metric, and the thresholds that reach it, several if they tie.

    `value` is nan, and there is no optimum, where the metric is undefined at every threshold.

    Parameters
    ----------
    value : the best value of the metric
    optima : thresholds that reach it, with the costs that they imply

    Examples
    --------
    To maximise accuracy on these scores is to say that a miss costs about one false alarm:

    >>> from stakes.audit import FAMILIAR
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> implied_costs(table, FAMILIAR["accuracy"], scale=Probabilities())
    ImpliedCosts: 0.8415 at best; costs of a miss in false alarms
    threshold  right if a miss costs  on these data
    0.3              0.6667 to 2.333       0.5 to 2
    """

    value: float
    optima: tuple[Optimum, ...]

    def __repr__(self) -> str:
        if not self.optima:
            return "ImpliedCosts: the metric is undefined at every threshold"
        header = ["threshold", "right if a miss costs", "on these data"]
        rows = [
            [f"{optimum.threshold:.4g}", _range_text(optimum.bayes), _range_text(optimum.empirical)]
            for optimum in self.optima
        ]
        caption = f"ImpliedCosts: {self.value:.4g} at best; costs of a miss in false alarms"
        return text_table(header, rows, caption)


def _range_text(costs: CostRange) -> str:
    low, high = costs.cost_ratio.tolist()
    return "no costs" if costs.is_empty else f"{low:.4g} to {high:.4g}"


@record(repr=False)
class ImpliedCostsOfReplicates(Value):
    """Implied costs in each of R replicates of the data, to show how stable they are.

    Where several thresholds tie, the lowest counts. Undefined is nan.

    Attributes
    ----------
    threshold, value, ties : (R,)
    bayes, empirical : (R, 2) cost proportions; the latter nan where the threshold is off the hull
    shares : (R, 2)

    Examples
    --------
    In the second replicate most cases above 0.2 are negative, and it is best to call none positive:

    >>> from stakes.audit import FAMILIAR
    >>> weights = [[[40, 2], [5, 10]], [[35, 4], [40, 10]]]
    >>> replicates = ScoreTable([0.2, 0.7], [[40, 2], [5, 10]]).with_weights(weights)
    >>> study = implied_costs_of_replicates(replicates, FAMILIAR["accuracy"], scale=Probabilities())
    >>> study.threshold, study.value.round(3)
    (array([0.2, 0.7]), array([0.877, 0.843]))
    """

    threshold: FloatArray
    value: FloatArray
    ties: IntArray
    bayes: FloatArray
    empirical: FloatArray
    shares: FloatArray

    @property
    def cost_ratio(self) -> FloatArray:
        """Cost ratio whose Bayes threshold the metric's is, (R,): e^(−threshold) on log-odds."""
        with np.errstate(divide="ignore"):
            return np.asarray((1 - self.bayes[:, 0]) / self.bayes[:, 0])

    @property
    def off_hull(self) -> float:
        """Share of the replicates in which the threshold of the metric is right for no costs."""
        defined = ~np.isnan(self.threshold)
        empty = np.isnan(self.empirical[:, 0]) & defined
        return float(empty.sum() / defined.sum()) if defined.any() else float("nan")

    def __repr__(self) -> str:
        known = self.cost_ratio[~np.isnan(self.cost_ratio)]
        summary = "no cost ratio"
        if known.size:  # order statistics, because a ratio may be infinite
            low, middle, high = np.quantile(known, [0.05, 0.5, 0.95], method="inverted_cdf")
            summary = (
                f"a miss costs {middle:.4g} false alarms (5 % to 95 %: {low:.4g} to {high:.4g})"
            )
        size = self.threshold.size
        return f"ImpliedCostsOfReplicates of {size}: {summary}; off the hull in {self.off_hull:.1%}"


# Questions ---------------------------------------------------------------------------------------


def implied_costs(table: ScoreTable, metric: Metric, *, scale: ScoreScale) -> ImpliedCosts:
    r"""Thresholds that are best for a metric, and the costs for which they would be right.

    On calibrated log-odds the threshold :math:`t_o` is the Bayes threshold when a miss costs
    :math:`e^{-t_o}` false alarms (ferrer-ec, section 4.1). All thresholds between two neighbouring
    scores take the same decisions, so that the costs are intervals. Pass
    ``table.with_prior(prior)`` for other class shares.

    Parameters
    ----------
    table : a single table, without leading axes
    metric : any function of counts, such as ``FAMILIAR["F1"]``
    scale : `Probabilities`, `LogOdds` or `RawScores`

    Returns
    -------
    the best thresholds and the costs that they imply

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, Probabilities, implied_costs
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> (optimum,) = implied_costs(table, FAMILIAR["F1"], scale=Probabilities()).optima
    >>> optimum.threshold, optimum.below
    (0.3, 0.6)
    >>> optimum.bayes.cost_ratio.round(2), optimum.empirical.cost_ratio.round(2)
    (array([0.67, 2.33]), array([0.5, 2. ]))
    """
    _check.require("metric", metric, Metric)
    cuts = _cuts(table, scale)
    counts = cuts.counts()
    best = np.flatnonzero(picked(metric.goodness(counts)))
    if not best.size:
        return ImpliedCosts(value=float("nan"), optima=())
    return ImpliedCosts(
        value=float(metric(counts)[best[0]]),
        optima=tuple(_optimum(cuts, cut, scale) for cut in best.tolist()),
    )


def costs_of_threshold(table: ScoreTable, threshold: float, *, scale: ScoreScale) -> ThresholdCosts:
    """The costs for which a given threshold is right.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    threshold : the threshold, such as 0.5
    scale : what the scores mean: `Probabilities()`, `LogOdds()` or `RawScores()`

    Returns
    -------
    the costs for which the threshold, and all that take the same decisions, are right

    Examples
    --------
    >>> from stakes.audit import Probabilities, costs_of_threshold
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.1, 0.3, 0.6, 0.9], [[40, 2], [10, 5], [5, 10], [1, 9]])
    >>> costs = costs_of_threshold(table, 0.5, scale=Probabilities())
    >>> costs.asked, costs.cost_ratio, costs.empirical.cost_ratio.round(2)
    (0.5, 1.0, array([0.5, 2. ]))
    """
    (score,) = _check.real_scores("threshold", [threshold]).tolist()
    cuts = _cuts(table, scale)
    cut = int(np.searchsorted(cuts.below[:-1], score, side="right"))
    alike = _optimum(cuts, cut, scale)
    return ThresholdCosts._trusted(
        threshold=alike.threshold,
        below=alike.below,
        bayes=alike.bayes,
        empirical=alike.empirical,
        asked=score,
        cost_proportion=scale.cost_proportion(score),
    )


def implied_costs_of_replicates(
    replicates: ScoreTable, metric: Metric, *, scale: ScoreScale
) -> ImpliedCostsOfReplicates:
    """Implied costs in each replicate of a table, to show how stable they are.

    Parameters
    ----------
    replicates : a table with one leading axis, (R, S, 2), such as a bootstrap makes
    metric : any function of counts, such as ``FAMILIAR["F1"]``
    scale : `Probabilities`, `LogOdds` or `RawScores`

    Returns
    -------
    implied costs, replicate by replicate

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, Probabilities
    >>> weights = [[[40, 2], [5, 10]], [[35, 4], [8, 10]]]
    >>> replicates = ScoreTable([0.2, 0.7], [[40, 2], [5, 10]]).with_weights(weights)
    >>> implied_costs_of_replicates(replicates, FAMILIAR["F1"], scale=Probabilities()).threshold
    array([0.2, 0.2])
    """
    _check.require("replicates", replicates, ScoreTable)
    if replicates.weights.ndim != 3:
        raise InputError(
            f"replicates must have one leading axis; its weights have shape "
            f"{replicates.weights.shape}. implied_costs reads a single table."
        )
    size = len(replicates.weights)
    each = [implied_costs(replicates[r], metric, scale=scale) for r in range(size)]
    nan, none = float("nan"), np.full(2, np.nan)
    first = [costs.optima[0] if costs.optima else None for costs in each]
    return ImpliedCostsOfReplicates._trusted(
        threshold=np.array([nan if o is None else o.threshold for o in first]),
        value=np.array([costs.value for costs in each]),
        ties=np.array([len(costs.optima) for costs in each], dtype=np.intp),
        bayes=np.array([none if o is None else o.bayes.cost_proportion for o in first]),
        empirical=np.array([none if o is None else o.empirical.cost_proportion for o in first]),
        shares=replicates.shares,
    )


# Internals ---------------------------------------------------------------------------------------


@record
class _Cuts:
    """All cuts of a table: the decisions at each of them, and which are vertices of the hull."""

    thresholds: FloatArray  # (S + 1,) the lowest that makes this cut
    below: FloatArray  # (S + 1,) all thresholds below this make the same cut
    above: FloatArray  # (S + 1, 2) weight of each class with the positive decision
    vertices: IntArray
    shares: FloatArray

    def counts(self) -> Counts:
        """Decisions (S + 1, 2, 2), stored cell by cell, so that metrics read contiguous memory."""
        positive = self.above.T
        # The decisions at all cuts as one tally, so that the metric is called once.
        cells = np.stack([positive[:, :1] - positive, positive], axis=1)  # class, decision, cut
        values = np.moveaxis(cells, -1, 0)
        return Counts._unlabelled(values)

    def between(self, first: int, last: int) -> tuple[float, float]:
        """Weight of negatives and positives between two cuts."""
        negatives, positives = (self.above[first] - self.above[last]).tolist()
        return negatives, positives

    def positive_share(self, first: int, last: int) -> float:
        """Share of positives between two cuts."""
        negatives, positives = self.between(first, last)
        return positives / (negatives + positives)


def _cuts(table: ScoreTable, scale: ScoreScale) -> _Cuts:
    """The cuts of a table; scores without cases are left out, so that no two cuts are the same."""
    _check.require("table", table, ScoreTable)
    _check.require("scale", scale, ScoreScale)
    remedy = "implied_costs_of_replicates reads a leading axis of replicates."
    _check.no_leading_axes("table", table.leading, remedy=remedy)
    occupied = table.weights.sum(axis=-1) > 0
    if not occupied.any():
        raise InputError(
            "table must hold cases; none of its scores has a positive weight. "
            "A prior for a class without cases leaves no weight."
        )
    scores, weights = table.scores[occupied], table.weights[occupied]
    scale.refuse(scores)
    # As in `ScoreTable.thresholds`, so that only the first cut is at -inf.
    scores = np.maximum(scores, np.finfo(np.float64).min)
    return _Cuts(
        thresholds=np.concatenate([[-np.inf], scores]),
        below=np.concatenate([scores, [np.inf]]),
        above=weights_above(weights),
        vertices=hull_cuts(weights),
        shares=table.shares,
    )


def _optimum(cuts: _Cuts, cut: int, scale: ScoreScale) -> Optimum:
    threshold, below = float(cuts.thresholds[cut]), float(cuts.below[cut])
    proportions = np.array([scale.cost_proportion(threshold), scale.cost_proportion(below)])
    reason = "raw scores have no Bayes threshold" if np.isnan(proportions).any() else ""
    return Optimum(
        threshold=threshold,
        below=below,
        bayes=CostRange._trusted(cost_proportion=proportions, shares=cuts.shares, reason=reason),
        empirical=_empirical(cuts, cut),
    )


def _empirical(cuts: _Cuts, cut: int) -> CostRange:
    """Cost proportions between the shares of positives just below and just above the cut."""
    vertices = cuts.vertices
    after = int(np.searchsorted(vertices, cut))
    low, high, reason = 0.0, 1.0, ""
    if vertices[after] == cut:
        if after > 0:
            low = cuts.positive_share(vertices[after - 1], cut)
        if after + 1 < vertices.size:
            high = cuts.positive_share(cut, vertices[after + 1])
    else:
        start, end = int(vertices[after - 1]), int(vertices[after])
        # Inside a segment of the hull a threshold is best for at most one cost proportion, that of
        # the slope of the segment, and only if it lies on the segment.
        low = high = cuts.positive_share(start, end)
        if not _on_the_line(cuts, start, cut, end):
            low = high = float("nan")
            reason = (
                f"the threshold lies below the convex hull of the ROC curve: whatever the costs, "
                f"{cuts.thresholds[start]:g} or {cuts.thresholds[end]:g} is cheaper"
            )
    return CostRange._trusted(
        cost_proportion=np.array([low, high]), shares=cuts.shares, reason=reason
    )


def _on_the_line(cuts: _Cuts, start: int, cut: int, end: int) -> bool:
    """Whether both parts of a segment of the hull have the same share of positives."""
    (n0, p0), (n1, p1) = cuts.between(start, cut), cuts.between(cut, end)
    # Slopes compared by a product: a division would fail where a segment is vertical.
    return bool(abs(p0 * n1 - n0 * p1) <= _STRAIGHT * (n0 + n1) * (p0 + p1))
