"""Whether a metric is a utility in disguise.

A metric complies with decision theory when it ranks tables as some fixed utility matrix does
(dyrland, eq 17): moving cases from one decision to another is then an improvement everywhere or
nowhere. The test computes the gradient of the metric, in the space of tables, at many tables of
many class shares. If all gradients have the same direction, it gives the utilities, and the metric
must also rank pairs of distant tables as these do. If two directions differ, some change is an
improvement at one table and a deterioration at the other. Such a change is the witness, and it is
checked by evaluating the metric itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes._value import Value, record
from stakes.audit.metric import Metric
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts

_TABLES = 200  # at which the gradient of the metric is computed
_MOST_CELLS = 400  # of a table: a GiB for its changes at all tables
_PAIRS = 2000  # of distant tables, ranked by the metric and by the utilities
_CASES = 1000.0  # in each table of a witness
_PARALLEL = 1e-6  # directions closer than this are one direction
_CLEAR = 1e-6  # larger differences of utilities have a certain sign, despite numerical errors
_REAL = 1e-11  # differences, relative to the metric, above this are not rounding errors
_STENCIL = np.array([-2.0, -1.0, 1.0, 2.0])  # steps of the central difference of fourth order
_SLOPE = np.array([1.0, -8.0, 8.0, -1.0]) / 12  # and its weights


@record(repr=False)
class Witness(Value):
    """Two pairs of tables that no single utility matrix can rank as the metric does.

    Both pairs make the same change, up to a positive factor: the second table of each differs from
    the first by a multiple of one matrix. Each pair keeps its class shares.

    Attributes
    ----------
    better : Counts (2, K, M): the metric says that the second table is better
    worse : Counts (2, K, M): the metric says that the second table is worse
    better_values, worse_values : (2,) the metric at these tables

    Examples
    --------
    The two pairs make the same change; F1 calls it better in the one and worse in the other:

    >>> from stakes.audit import FAMILIAR
    >>> witness = compliance(FAMILIAR["F1"], shape=(2, 2), rng=np.random.default_rng(1)).witness
    >>> better, worse = witness.better.values, witness.worse.values
    >>> bool(np.allclose(better[1] - better[0], worse[1] - worse[0]))
    True
    >>> np.diff(witness.better_values) > 0, np.diff(witness.worse_values) < 0
    (array([ True]), array([ True]))
    """

    better: Counts
    worse: Counts
    better_values: FloatArray
    worse_values: FloatArray

    def __repr__(self) -> str:
        parts = (
            ("better", self.better, self.better_values),
            ("worse", self.worse, self.worse_values),
        )
        shown = [
            f"{word}, from {values[0]:.6g} to {values[1]:.6g}:\n{_side_by_side(pair)}"
            for word, pair, values in parts
        ]
        return "Witness: the same change makes one table " + "\nand another ".join(shown)


@record(repr=False)
class Compliance(Value):
    """Whether a metric is a utility in disguise.

    Attributes
    ----------
    utilities : (K, M) the utility matrix that ranks as the metric does, to about nine digits; the
        least entry of each row is 0 and the largest of all 1; None when there is none
    witness : what proves that there is none; None when the metric complies
    reason : in words

    Examples
    --------
    Accuracy is the utility of one for each right decision:

    >>> from stakes.audit import FAMILIAR
    >>> answer = compliance(FAMILIAR["accuracy"], shape=(2, 2), rng=np.random.default_rng(1))
    >>> answer.complies, answer.utilities.tolist()
    (True, [[1.0, 0.0], [0.0, 1.0]])
    """

    utilities: FloatArray | None
    witness: Witness | None
    reason: str

    @property
    def complies(self) -> bool:
        """Whether some utility matrix ranks all tables as the metric does."""
        return self.utilities is not None

    @property
    def problem(self) -> Problem:
        """The problem that the metric assumes."""
        if self.utilities is None:
            raise InputError(f"the metric assumes no problem: {self.reason}.")
        return Problem.from_utilities(self.utilities)

    def __repr__(self) -> str:
        summary = f"Compliance: {'yes' if self.complies else 'no'}, {self.reason}"
        shown = [] if self.witness is None else [str(self.witness)]
        shown = shown if self.utilities is None else _row_texts(self.utilities)
        return "\n".join([summary, *shown])


def _row_texts(table: FloatArray) -> list[str]:
    """Rows of a matrix, with columns of one width."""
    cells = [[f"{cell:.6g}" for cell in row] for row in table.tolist()]
    width = max(len(cell) for row in cells for cell in row)
    return ["  ".join(cell.rjust(width) for cell in row) for row in cells]


def _side_by_side(pair: Counts) -> str:
    """Two tables, the second to the right of the first."""
    first, second = (_row_texts(table) for table in pair.values)
    middle = ["->"] + ["  "] * (len(first) - 1)
    lines = zip(first, middle, second, strict=True)
    return "\n".join("  " + "   ".join(line) for line in lines)


def compliance(
    metric: Metric,
    *,
    shape: tuple[int, int],
    rng: np.random.Generator,
    shares: object = None,
) -> Compliance:
    """Whether some utility matrix ranks all tables as a metric does, and which one.

    Precision, F-beta, MCC, kappa and Fowlkes-Mallows do not comply. Balanced accuracy complies
    on any one test set, but with utilities that change from test set to test set. Monotonic
    functions of a compliant metric comply. The answer is yes when many tables, drawn with `rng`,
    show nothing to the contrary; a no usually comes with a witness that proves it.
    Reference: dyrland, section 3.3.

    Parameters
    ----------
    metric : a `Gain` or a `Loss`; it sees tables of positive counts
    shape : numbers of classes and decisions, such as (2, 2)
    rng : the generator that draws
    shares : class shares, when only one test set is in question; None: they vary

    Returns
    -------
    whether there are such utilities, and which

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, compliance
    >>> rng = np.random.default_rng(1)
    >>> compliance(FAMILIAR["recall"], shape=(2, 2), rng=rng).utilities
    array([[0., 0.],
           [0., 1.]])
    >>> answer = compliance(FAMILIAR["F1"], shape=(2, 2), rng=rng)
    >>> answer.complies, answer.witness is None
    (False, False)
    """
    _check.require("metric", metric, Metric)
    shape = _read_shape(shape)
    fixed = None if shares is None else _check.prior("shares", shares, tuple(range(shape[0])))
    tables = _random_tables(rng, _TABLES, shape, fixed)
    directions, moving = _directions(metric, tables)
    tables, directions = tables[moving], directions[moving]
    for first, second in _by_angle(directions):
        change = np.tensordot(directions[first] - directions[second], _moves(shape), 1)
        witness = _witness(metric, tables[first], tables[second], change, whole=fixed is None)
        if witness is not None:
            return _refuted(witness)
    if not moving.all():
        return Compliance(
            utilities=None,
            witness=None,
            reason="the metric is flat or undefined at some tables of positive counts, so that it "
            "ties tables that every utility matrix distinguishes",
        )
    utilities = _as_utilities(directions.mean(axis=0), shape)
    pairs = _random_pairs(rng, shape, fixed)
    return _confirmed(metric, utilities, pairs, tables[0])


def _read_shape(shape: tuple[int, int]) -> tuple[int, int]:
    sizes = _check.floats("shape", shape, ndim=1)
    if sizes.shape != (2,) or not np.all((sizes >= (1, 2)) & (sizes == np.round(sizes))):
        raise InputError(
            f"shape must be the numbers of classes and of decisions, at least one and two; "
            f"got {shape!r}. Two classes and two decisions are (2, 2)."
        )
    cells = float(sizes[0]) * float(sizes[1])  # inf, without a warning
    if cells > _MOST_CELLS:
        raise InputError(
            f"shape must have at most {_MOST_CELLS} cells, classes times decisions; {shape!r} has "
            f"{cells:.4g}. Ask about fewer classes: metrics do the same to small tables."
        )
    return int(sizes[0]), int(sizes[1])


def _refuted(witness: Witness) -> Compliance:
    return Compliance(
        utilities=None,
        witness=witness,
        reason="the same change of the table is an improvement at one table and a deterioration at "
        "another",
    )


def _confirmed(
    metric: Metric, utilities: FloatArray, pairs: FloatArray, table: FloatArray
) -> Compliance:
    """Compare the metric with the utilities on pairs (P, 2, K, M) of distant tables."""
    change = pairs[:, 1] - pairs[:, 0]
    worth = np.einsum("pkm,km->p", change, utilities)
    values = _evaluate(metric, pairs)
    gain = values[:, 1] - values[:, 0]
    clear = np.abs(worth) > _CLEAR
    rounding = _REAL * np.abs(values).max(axis=1)
    opposite = np.flatnonzero(clear & (np.abs(gain) > rounding) & (gain * worth < 0))
    for p in opposite[:_TABLES].tolist():
        turn = np.sign(worth[p])  # so that the change is for the better, by the utilities
        start, end = pairs[p] if turn > 0 else pairs[p, ::-1]
        witness = _witness_against(metric, table, start, end)
        if witness is not None:
            return _refuted(witness)
    if opposite.size or not np.all(np.abs(gain[clear]) > 0):
        return Compliance(
            utilities=None,
            witness=None,
            reason="the metric ties, or jumps between, tables that its own gradient distinguishes",
        )
    return Compliance(
        utilities=utilities,
        witness=None,
        reason=f"it ranks {len(pairs)} pairs of tables as these utilities do",
    )


# Tables ------------------------------------------------------------------------------------------


def _random_tables(
    rng: np.random.Generator, size: int, shape: tuple[int, int], shares: FloatArray | None
) -> FloatArray:
    """Tables (size, K, M) of shares of cases, every cell well above zero."""
    _check.generator(rng)
    n_classes, n_decisions = shape
    rates = rng.dirichlet(np.ones(n_decisions), (size, n_classes))
    # Away from the edges, where derivatives of metrics explode and steps would leave the tables.
    rates = 0.7 * rates + 0.3 / n_decisions
    if shares is None:
        drawn = rng.dirichlet(np.ones(n_classes), size)
        shares = 0.9 * drawn + 0.1 / n_classes
    return np.asarray(rates * shares[..., None])


def _evaluate(metric: Metric, tables: FloatArray) -> FloatArray:
    return metric.goodness(Counts._unlabelled(tables * _CASES))


def _random_pairs(
    rng: np.random.Generator, shape: tuple[int, int], shares: FloatArray | None
) -> FloatArray:
    """Pairs (P, 2, K, M) of tables, near and far, both of a pair with the same class shares."""
    per_class = _random_tables(rng, _PAIRS, shape, shares).sum(axis=-1)[:, None, :, None]
    rates = rng.dirichlet(np.full(shape[1], 0.5), (_PAIRS, 2, shape[0]))
    # A metric may agree with utilities on small changes but not on large ones, or vice versa.
    distance = rng.choice([1.0, 0.1, 0.01], (_PAIRS, 1, 1))
    rates[:, 1] = rates[:, 0] + distance * (rates[:, 1] - rates[:, 0])
    return np.asarray(per_class * rates)


# Directions --------------------------------------------------------------------------------------


def _moves(shape: tuple[int, int]) -> FloatArray:
    """Changes (K(M − 1), K, M): in one class, cases move from the first decision to another."""
    n_classes, n_decisions = shape
    moves = np.zeros((n_classes, n_decisions - 1, n_classes, n_decisions))
    for k in range(n_classes):
        moves[k, :, k, 0] = -1
        moves[k, np.arange(n_decisions - 1), k, np.arange(1, n_decisions)] = 1
    return moves.reshape(-1, n_classes, n_decisions)


def _directions(metric: Metric, tables: FloatArray) -> tuple[FloatArray, _check.BoolArray]:
    """Unit vectors (T, K(M − 1)) in which the metric rises fastest, and where it moves at all.

    Slopes are taken by a rule of fourth order, so that smooth metrics lose nothing to the step.
    """
    moves = _moves((tables.shape[-2], tables.shape[-1]))
    # Twice this step still leaves every cell positive.
    step = 0.01 * tables.min(axis=(-2, -1))[:, None, None, None]
    shifts = step[..., None] * (_STENCIL[:, None, None] * moves[:, None])
    values = _evaluate(metric, tables[:, None, None] + shifts)
    slopes = values @ _SLOPE / step[..., 0, 0]
    size = np.sqrt(np.sum(slopes**2, axis=-1, keepdims=True))
    scale = np.abs(values).max(axis=(1, 2))[:, None]
    moving = size * step[..., 0, 0] > _REAL * scale
    return np.divide(slopes, size, out=np.full_like(slopes, np.nan), where=moving), moving[:, 0]


def _by_angle(directions: FloatArray) -> Iterator[tuple[int, int]]:
    """Each table with the one whose direction differs most; the largest angles come first."""
    if len(directions) == 0:
        return
    # Directions have length one, so that this is half their squared distance.
    gaps = 1 - directions @ directions.T
    partner = gaps.argmax(axis=1)
    angle = np.sqrt(2 * np.maximum(gaps[np.arange(len(gaps)), partner], 0))
    for first in np.argsort(-angle, kind="stable").tolist():
        if angle[first] < _PARALLEL:
            return
        yield first, int(partner[first])


def _as_utilities(direction: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Utilities of all decisions, from those relative to the first; each row starts at 0."""
    relative = np.concatenate([np.zeros((shape[0], 1)), direction.reshape(shape[0], -1)], axis=1)
    # Utilities are free up to a constant for each class and a common factor; these are chosen so
    # that the worst of each class is 0 and the largest is 1.
    regret = relative - relative.min(axis=1, keepdims=True)
    return np.asarray(np.round(regret / regret.max(), 9) + 0.0)


# Witnesses ---------------------------------------------------------------------------------------


def _witness(
    metric: Metric, good: FloatArray, bad: FloatArray, change: FloatArray, *, whole: bool
) -> Witness | None:
    """Make a change that is an improvement at one table and a deterioration at another.

    Counts of whole cases are tried first, large changes before small ones, to be easy to read.
    """
    starts = np.stack([good, bad]) * _CASES
    unit = change / np.abs(change).max()
    sizes = (100.0, 50.0, 20.0, 10.0, 5.0, 2.0)
    if whole:
        for size in sizes:
            steps = np.round(size * unit[:, 1:])  # the first decision balances each class
            step = np.concatenate([-steps.sum(axis=1, keepdims=True), steps], axis=1)
            witness = _checked(metric, np.maximum(np.round(starts), 1.0), step)
            if witness is not None:
                return witness
    for size in (*sizes, 1.0, 0.1, 0.01):
        witness = _checked(metric, starts, size * unit)
        if witness is not None:
            return witness
    return None


def _checked(metric: Metric, starts: FloatArray, step: FloatArray) -> Witness | None:
    """The witness, if the tables are possible and the metric says what it should say."""
    moved = starts + step
    if not (np.all(moved >= 0) and np.any(step)):
        return None
    tables = np.stack([starts, moved], axis=1)
    return _judged(metric, tables[0], tables[1])


def _witness_against(
    metric: Metric, table: FloatArray, start: FloatArray, end: FloatArray
) -> Witness | None:
    """A pair that the metric ranks wrongly, and a smaller such change that it ranks rightly."""
    worse = np.stack([start, end]) * _CASES
    for share in (0.5, 0.1, 0.01, 0.001):
        moved = table + share * (end - start)
        if np.all(moved >= 0):
            witness = _judged(metric, np.stack([table, moved]) * _CASES, worse)
            if witness is not None:
                return witness
    return None


def _judged(metric: Metric, better: FloatArray, worse: FloatArray) -> Witness | None:
    values = _evaluate(metric, np.stack([better, worse]) / _CASES)
    gain = values[:, 1] - values[:, 0]
    rounding = _REAL * np.abs(values).max()
    if not (gain[0] > rounding and gain[1] < -rounding):
        return None
    first, second = (Counts._unlabelled(table) for table in (better, worse))
    return Witness._trusted(
        better=first, worse=second, better_values=metric(first), worse_values=metric(second)
    )
