"""The registry of laws: what every tally, and every measure of a tally, must obey.

A *subject* is one kind of tally: it draws cases, tallies them (with the library, and once more in
plain loops), stacks tallies along leading axes, and lists their classes in another order. A *law*
registers one measure of a subject with its slow twin: the definition, in plain Python loops, on the
tally as nested lists.

Each room registers its measures in a file of its own, ``laws_<room>.py``, which holds ``ROOMS``
(the modules whose public functions must all be there) and ``LAWS``. ``test_laws.py`` finds the
files and checks every law; a public function of those rooms that no law speaks of fails a test.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from stakes.problem import Problem
from stakes.tally import Counts, JointCounts, JointScores, LossMoments, ScoreTable

Case = tuple[Any, ...]
Order = tuple[Any, ...]
nan, inf = math.nan, math.inf

#: Weights of cases: absent, whole and fractional; halves and quarters add up without rounding.
WEIGHTS = st.sampled_from([1, 1, 1, 2, 3, 40, 0, 0.5, 2.25])
WHOLE_WEIGHTS = st.sampled_from([1, 1, 2, 3, 0])


def weights_of(cases: Sequence[Case], weights: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """One weight for every case, not all of them zero."""
    return st.tuples(*[weights] * len(cases)).filter(any)


def repeated(cases: Sequence[Case], weights: Sequence[int]) -> list[Case]:
    return [case for case, weight in zip(cases, weights, strict=True) for _ in range(weight)]


def priors(size: int) -> st.SearchStrategy[list[float] | None]:
    """A prior for this many classes, with zeros among its entries, or none."""
    parts = st.tuples(*[st.integers(0, 5)] * size).filter(any)
    return st.none() | parts.map(lambda values: [value / sum(values) for value in values])


def problems(n_classes: int, n_decisions: int) -> st.SearchStrategy[Problem]:
    """Whole costs, some of them gains; decisions are no classes, even where there are as many."""
    names = {"classes": tuple("abcdef"[:n_classes]), "decisions": tuple("stuvwx"[:n_decisions])}
    costs = st.tuples(*[st.integers(-2, 9)] * (n_classes * n_decisions))
    tables = costs.map(lambda flat: np.reshape(flat, (n_classes, n_decisions)))
    return st.builds(
        Problem, tables, prior=priors(n_classes), **{k: st.just(v) for k, v in names.items()}
    )


def reordered(problem: Problem, rows: Sequence[int], columns: Sequence[int]) -> Problem:
    """The same problem, its classes and decisions listed in another order."""
    return Problem(
        problem.costs[np.ix_(rows, columns)],
        classes=[problem.classes[row] for row in rows],
        decisions=[problem.decisions[column] for column in columns],
        prior=None if problem.prior is None else problem.prior[list(rows)],
    )


def permutations(size: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.permutations(range(size)).map(tuple)


def as_floats(row: Sequence[Any]) -> list[float]:
    return [float(each) for each in row]


def rebuilt(tally: Any, **parts: Any) -> Any:
    """The tally with some of its parts replaced, for tallies that have no public constructor."""
    kept = {field.name: getattr(tally, field.name) for field in fields(tally)}
    return tally._trusted(**{**kept, **parts})


# Subjects ----------------------------------------------------------------------------------------


class Subject(ABC):
    """One kind of tally. A *world* is what all tallies of an example share."""

    kind: type
    weighable = True

    @abstractmethod
    def worlds(self) -> st.SearchStrategy[Any]: ...

    @abstractmethod
    def cases(self, world: Any) -> st.SearchStrategy[list[Case]]: ...

    @abstractmethod
    def tally(self, world: Any, cases: Sequence[Case], weights: Any = None, by: Any = None) -> Any:
        """The library's tally of the cases, with a leading axis of groups where `by` names them."""

    @abstractmethod
    def slow(self, world: Any, cases: Sequence[Case], weights: Sequence[float]) -> Any:
        """The same in plain loops, in the form that `plain` gives."""

    @abstractmethod
    def plain(self, tally: Any) -> Any:
        """What the tally holds, as nested lists."""

    def same(self, first: Any, second: Any) -> None:
        """Assert that two tallies, or two of what `plain` gives, are equal."""
        assert first == second

    @abstractmethod
    def stacked(self, tallies: Sequence[Any], shape: tuple[int, ...]) -> Any:
        """Several tallies of one world as one tally with leading axes."""

    @abstractmethod
    def orders(self, world: Any) -> st.SearchStrategy[Order]:
        """Ways to list the classes in another order."""

    @abstractmethod
    def reordered_world(self, world: Any, order: Order) -> Any: ...

    def reordered_cases(self, cases: Sequence[Case], order: Order) -> Sequence[Case]:
        """Cases name their class by its label, so that the order does not matter to most."""
        return cases

    @abstractmethod
    def reordered_tally(self, tally: Any, order: Order) -> Any: ...


class CountsOf(Subject):
    """Counts with classes and decisions from these ranges of numbers."""

    kind = Counts

    def __init__(self, name: str, classes: tuple[int, int], decisions: tuple[int, int] | None):
        self.name, self.n_classes, self.n_decisions = name, classes, decisions

    def worlds(self):
        classes = st.integers(*self.n_classes)
        if self.n_decisions is None:
            return classes.map(lambda size: Problem.zero_one(tuple("abcdef"[:size])))
        sizes = st.tuples(classes, st.integers(*self.n_decisions))
        return sizes.flatmap(lambda size: problems(*size))

    def cases(self, world):
        case = st.sampled_from(list(product(world.classes, world.decisions)))
        return st.lists(case, min_size=1, max_size=12)

    def tally(self, world, cases, weights=None, by=None):
        truth, decided = zip(*cases, strict=True)
        return Counts.from_decisions(truth, decided, world, weights=weights, by=by)

    def slow(self, world, cases, weights):
        table = [[0.0] * len(world.decisions) for _ in world.classes]
        for (truth, decided), weight in zip(cases, weights, strict=True):
            table[world.classes.index(truth)][world.decisions.index(decided)] += weight
        return table

    def plain(self, tally):
        return tally.values.tolist()

    def stacked(self, tallies, shape):
        values = np.stack([tally.values for tally in tallies])
        first = tallies[0]
        return Counts(
            values.reshape(*shape, *first.values.shape),
            classes=first.classes,
            decisions=first.decisions,
        )

    def orders(self, world):
        rows = permutations(world.n_classes)
        if self.n_decisions is None:
            return rows.map(lambda order: (order, order))
        return st.tuples(rows, permutations(world.n_decisions))

    def reordered_world(self, world, order):
        return reordered(world, *order)

    def reordered_tally(self, tally, order):
        rows, columns = order
        return Counts(
            tally.values[np.ix_(rows, columns)],
            classes=[tally.classes[row] for row in rows],
            decisions=[tally.decisions[column] for column in columns],
        )


class JointCountsOf(Subject):
    """JointCounts of two models."""

    kind = JointCounts

    def worlds(self):
        sizes = st.tuples(st.integers(1, 3), st.integers(1, 4))
        return sizes.flatmap(lambda size: problems(*size))

    def cases(self, world):
        case = st.sampled_from(list(product(world.classes, world.decisions, world.decisions)))
        return st.lists(case, min_size=1, max_size=12)

    def tally(self, world, cases, weights=None, by=None):
        truth, old, new = zip(*cases, strict=True)
        decided = {"old": old, "new": new}
        return JointCounts.from_decisions(truth, decided, world, weights=weights, by=by)

    def slow(self, world, cases, weights):
        sums: dict[tuple[int, ...], float] = {}
        for (truth, *decided), weight in zip(cases, weights, strict=True):
            cell = (world.classes.index(truth), *map(world.decisions.index, decided))
            sums[cell] = sums.get(cell, 0.0) + weight
        kept = sorted(cell for cell in sums if sums[cell] > 0)
        return [[list(cell) for cell in kept], [sums[cell] for cell in kept]]

    def plain(self, tally):
        """Tuples of weight zero, which groups and stacks share, are no tuples of this tally."""
        kept = tally.weights > 0
        return [tally.cells[kept].tolist(), tally.weights[kept].tolist()]

    def stacked(self, tallies, shape):
        total = tallies[0]
        for tally in tallies[1:]:
            total = total + tally
        cells = [tuple(cell) for cell in total.cells.tolist()]
        weights = np.zeros((len(tallies), len(cells)))
        for row, tally in zip(weights, tallies, strict=True):
            for cell, weight in zip(tally.cells.tolist(), tally.weights, strict=True):
                row[cells.index(tuple(cell))] = weight
        return total.with_cell_weights(weights.reshape(*shape, len(cells)))

    def orders(self, world):
        return st.tuples(permutations(world.n_classes), permutations(world.n_decisions))

    def reordered_world(self, world, order):
        return reordered(world, *order)

    def reordered_tally(self, tally, order):
        rows, columns = (np.argsort(part) for part in order)  # where each old position went
        cells = np.column_stack([rows[tally.cells[:, 0]], columns[tally.cells[:, 1:]]])
        sort = np.lexsort(cells.T[::-1])
        return rebuilt(
            tally,
            cells=cells[sort],
            weights=tally.weights[sort],
            classes=tuple(tally.classes[row] for row in order[0]),
            decisions=tuple(tally.decisions[column] for column in order[1]),
        )


class ScoreTableOf(Subject):
    """Tables of scores with ties and infinities; a world is the label of the positive class.

    Listing the classes the other way round turns the scores round as well.
    """

    kind = ScoreTable
    case = st.sampled_from(
        list(product(["no", "yes"], [-inf, -1.5, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, inf]))
    )

    def worlds(self):
        return st.sampled_from(["no", "yes"])

    def cases(self, world):
        return st.lists(self.case, min_size=1, max_size=12)

    def tally(self, world, cases, weights=None, by=None):
        # One case of each class, of weight zero, so that both labels are known.
        truth, scores = zip(("no", 0.0), ("yes", 0.0), *cases, strict=True)
        weight = [0, 0, *([1] * len(cases) if weights is None else weights)]
        group = None if by is None else [by[0], by[0], *by]
        return ScoreTable.from_scores(truth, scores, positive=world, weights=weight, by=group)

    def slow(self, world, cases, weights):
        sums: dict[float, list[float]] = {}
        for (truth, score), weight in zip(cases, weights, strict=True):
            if weight > 0:
                sums.setdefault(score, [0.0, 0.0])[truth == world] += weight
        return [[score, *sums[score]] for score in sorted(sums)]

    def plain(self, tally):
        """Scores of weight zero, which groups and stacks share, are no scores of this table."""
        rows = zip(tally.scores.tolist(), tally.weights.tolist(), strict=True)
        return [[score, *weights] for score, weights in rows if any(weights)]

    def stacked(self, tallies, shape):
        scores = sorted({score for tally in tallies for score in tally.scores.tolist()})
        weights = np.zeros((len(tallies), len(scores), 2))
        for part, tally in zip(weights, tallies, strict=True):
            for score, weight in zip(tally.scores.tolist(), tally.weights, strict=True):
                part[scores.index(score)] = weight
        classes = tallies[0].classes
        return ScoreTable(scores, weights.reshape(*shape, len(scores), 2), classes=classes)

    def orders(self, world):
        return st.sampled_from([(0, 1), (1, 0)])

    def reordered_world(self, world, order):
        return world if order == (0, 1) else {"no": "yes", "yes": "no"}[world]

    def reordered_cases(self, cases, order):
        return [(truth, score if order == (0, 1) else -score) for truth, score in cases]

    def reordered_tally(self, tally, order):
        if order == (0, 1):
            return tally
        scores = -tally.scores[::-1]
        return ScoreTable(scores, tally.weights[::-1, ::-1], classes=tally.classes[::-1])


class JointScoresOf(Subject):
    """JointScores of two models; a world is the label of the positive class."""

    kind = JointScores
    case = st.sampled_from(list(product(["no", "yes"], [-inf, 0.0, 0.5, 2.0], [-1.0, 0.25, inf])))

    def worlds(self):
        return st.sampled_from(["no", "yes"])

    def cases(self, world):
        return st.lists(self.case, min_size=1, max_size=12)

    def tally(self, world, cases, weights=None, by=None):
        # One case of each class, of weight zero, so that both labels are known.
        truth, old, new = zip(("no", 0.0, 0.25), ("yes", 0.0, 0.25), *cases, strict=True)
        weight = [0, 0, *([1] * len(cases) if weights is None else weights)]
        group = None if by is None else [by[0], by[0], *by]
        scores = {"old": old, "new": new}
        return JointScores.from_scores(truth, scores, positive=world, weights=weight, by=group)

    def slow(self, world, cases, weights):
        sums: dict[tuple[Any, ...], float] = {}
        for (truth, *scores), weight in zip(cases, weights, strict=True):
            if weight > 0:
                cell = (float(truth == world), *scores)
                sums[cell] = sums.get(cell, 0.0) + weight
        return [[*cell, sums[cell]] for cell in sorted(sums)]

    def plain(self, tally):
        """Tuples with their scores, whatever other scores other tallies have."""
        named = [
            [
                float(k),
                *(float(scores[place]) for scores, place in zip(tally.scores, at, strict=True)),
            ]
            for k, *at in tally.cells.tolist()
        ]
        rows = zip(named, tally.weights.tolist(), strict=True)
        return sorted([*cell, weight] for cell, weight in rows if weight > 0)

    def stacked(self, tallies, shape):
        total = sum(tallies[1:], tallies[0])
        known = [tuple(row[:-1]) for row in self.plain(total)]
        weights = np.zeros((len(tallies), len(known)))
        for part, tally in zip(weights, tallies, strict=True):
            for *cell, weight in self.plain(tally):
                part[known.index(tuple(cell))] = weight
        return total.with_cell_weights(weights.reshape(*shape, len(known)))

    def orders(self, world):
        return st.sampled_from([(0, 1), (1, 0)])

    def reordered_world(self, world, order):
        return world if order == (0, 1) else {"no": "yes", "yes": "no"}[world]

    def reordered_cases(self, cases, order):
        sign = 1.0 if order == (0, 1) else -1.0
        return [(truth, sign * old, sign * new) for truth, old, new in cases]

    def reordered_tally(self, tally, order):
        if order == (0, 1):
            return tally
        sizes = [2, *(scores.size for scores in tally.scores)]
        cells = np.array(sizes) - 1 - tally.cells
        return rebuilt(
            tally,
            cells=cells[::-1],
            weights=tally.weights[::-1],
            scores=tuple(0.0 - scores[::-1] for scores in tally.scores),
            classes=tally.classes[::-1],
        )


class LossMomentsOf(Subject):
    """LossMoments of two losses; a world is the labels of the classes."""

    kind = LossMoments

    def worlds(self):
        return st.integers(1, 4).map(lambda size: tuple("abcd"[:size]))

    def cases(self, world):
        case = st.sampled_from(list(product(world, [-3, 0, 1, 5], [-1, 0, 2])))
        return st.lists(case, min_size=1, max_size=12)

    def tally(self, world, cases, weights=None, by=None):
        truth, old, new = zip(*cases, strict=True)
        losses = {"old": old, "new": new}
        return LossMoments.from_losses(truth, losses, classes=world, weights=weights, by=by)

    def slow(self, world, cases, weights):
        """Exact: sums of fractions, and of products of distances from their mean."""
        parts = []
        for label in world:
            rows = [
                (Fraction(times), [Fraction(loss) for loss in losses])
                for (truth, *losses), times in zip(cases, weights, strict=True)
                if truth == label and times
            ]
            weight = sum(times for times, _ in rows)
            sums = [sum(times * losses[i] for times, losses in rows) for i in range(2)]
            mean = [each / weight if weight else 0 for each in sums]
            scatter = [
                [
                    sum(t * (loss[i] - mean[i]) * (loss[j] - mean[j]) for t, loss in rows)
                    for j in range(2)
                ]
                for i in range(2)
            ]
            parts.append((float(weight), as_floats(sums), [as_floats(row) for row in scatter]))
        return [list(part) for part in zip(*parts, strict=True)]

    def same(self, first, second):
        """The scatter about a mean that is no short number in binary is rounded."""
        if not isinstance(first, list):
            assert rebuilt(first, scatter=second.scatter) == second
            first, second = self.plain(first), self.plain(second)
        assert first[:2] == second[:2]
        agree(np.array(first[2]), np.array(second[2]))

    def plain(self, tally):
        return [tally.weight.tolist(), tally.sums.tolist(), tally.scatter.tolist()]

    def stacked(self, tallies, shape):
        first = tallies[0]
        parts = {
            name: np.stack([getattr(tally, name) for tally in tallies]).reshape(
                *shape, *getattr(first, name).shape
            )
            for name in ("weight", "sums", "scatter")
        }
        return rebuilt(first, **parts)

    def orders(self, world):
        return permutations(len(world)).map(lambda order: (order,))

    def reordered_world(self, world, order):
        return tuple(world[k] for k in order[0])

    def reordered_tally(self, tally, order):
        rows = list(order[0])
        return rebuilt(
            tally,
            weight=tally.weight[rows],
            sums=tally.sums[rows],
            scatter=tally.scatter[rows],
            classes=tuple(tally.classes[k] for k in rows),
        )


class Values(Subject):
    """Plain numbers, for what averages them; no tally, and no weights."""

    kind = list
    weighable = False
    numbers = st.sampled_from([0.0, 0.001, 0.1, 0.25, 0.5, 0.5, 1.0, 3.0, 100.0, -1.0, nan])

    def worlds(self):
        return st.integers(1, 5)

    def cases(self, world):
        return st.lists(st.tuples(self.numbers), min_size=world, max_size=world)

    def tally(self, world, cases, weights=None, by=None):
        return np.array([number for (number,) in cases])

    def slow(self, world, cases, weights):
        return [number for (number,) in cases]

    def plain(self, tally):
        return tally.tolist()

    def stacked(self, tallies, shape):
        return np.stack(tallies).reshape(*shape, -1)

    def orders(self, world):
        return permutations(world).map(lambda order: (order,))

    def reordered_world(self, world, order):
        return world

    def reordered_tally(self, tally, order):
        return tally[list(order[0])]


SQUARE = CountsOf("square", (1, 4), None)
RECTANGULAR = CountsOf("rectangular", (1, 4), (1, 4))
BINARY = CountsOf("binary", (2, 2), (2, 2))
JOINT = JointCountsOf()
SCORES = ScoreTableOf()
JOINT_SCORES = JointScoresOf()
LOSSES = LossMomentsOf()
VALUES = Values()

#: Every tally of the library, drawn in all its shapes.
TALLIES: tuple[Subject, ...] = (SQUARE, RECTANGULAR, BINARY, JOINT, SCORES, JOINT_SCORES, LOSSES)


# Laws --------------------------------------------------------------------------------------------


def no_arguments(world: Any) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.just(())


def the_problem(world: Problem) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.just((world,))


def invariant(value: Any, order: Order) -> Any:
    return value


def per_class(value: Any, order: Order) -> Any:
    return value[..., list(order[0])]


def per_pair(value: Any, order: Order) -> Any:
    return value[(..., *np.ix_(order[0], order[0]))]


def per_cell(value: Any, order: Order) -> Any:
    return value[(..., *np.ix_(*order))]


def reordered_argument(argument: Any, order: Order) -> Any:
    """Arguments that name no class stay as they are."""
    return reordered(argument, *order) if isinstance(argument, Problem) else argument


@dataclass(frozen=True)
class Law:
    """A measure, what it measures, and the definition in plain loops.

    `twin(plain_tally, *arguments)` is the definition. `arguments(world)` draws what the measure
    takes beside the tally. `call(tally, *arguments)` calls the measure, where that needs words.
    `moves(value, order)` says what becomes of the value when the classes are listed in another
    order; None for a measure that has a positive class and therefore no such law.
    """

    measure: Callable[..., Any]
    subject: Subject
    twin: Callable[..., Any]
    arguments: Callable[[Any], st.SearchStrategy[tuple[Any, ...]]] = no_arguments
    call: Callable[..., Any] | None = None
    moves: Callable[[Any, Order], Any] | None = invariant

    @property
    def name(self) -> str:
        return self.measure.__name__

    def __call__(self, tally: Any, *arguments: Any) -> Any:
        return np.asarray((self.call or self.measure)(tally, *arguments))


# For slow twins ----------------------------------------------------------------------------------


def divide(part: float, whole: float) -> float:
    """0/0 is nan, x/0 an infinity."""
    if whole != 0 or math.isnan(part):
        return part / whole if whole != 0 else nan
    return nan if part == 0 else math.copysign(inf, part)


def root(value: float) -> float:
    return math.sqrt(value) if value >= 0 else nan


def mean(values: Sequence[float]) -> float:
    return divide(sum(values), len(values))


def agree(actual: Any, expected: Any) -> None:
    """Equal to rounding; nan is nan, and infinities have their sign."""
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-11, equal_nan=True)
