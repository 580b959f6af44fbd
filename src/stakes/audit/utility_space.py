"""Whether a metric is a utility in disguise, and the space of binary utility matrices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from math import pi, sqrt
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from stakes import _check, agreement, measures
from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray, Labels, Numbers, frozen
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts, tallies_by_model

# Metrics that rank models, and whether higher is better; models as one stack of tables -----------

T = TypeVar("T")
TableMeasure = Callable[[Counts], Numbers]
#: Tables by name, joint counts, or counts whose first leading axis is the models.
ModelTables = Mapping[Any, Counts] | JointCounts | Counts
_REMEDY = (
    "Take one class of a per-class measure with PositiveClass(measure), and carry leading axes "
    "through."
)
_EACH_CLASS = "Measures such as recall do; leave PositiveClass out for one number of all classes."


@record
class Metric(Value, ABC):
    """A function of counts that ranks models; `Gain` and `Loss` say whether higher is better.

    The function takes Counts of shape (…, K, M) and gives one number for each table, (…); nan where
    it is undefined. It must carry leading axes through, as all measures of this library do.

    Examples
    --------
    A metric is called like its function; models are ranked by `goodness`:

    >>> from stakes.measures import error_rate
    >>> metric, counts = Loss(error_rate), Counts([[8, 2], [1, 9]])
    >>> float(metric(counts)), float(metric.goodness(counts))
    (0.15, -0.15)
    """

    measure: TableMeasure

    def __call__(self, counts: Counts) -> FloatArray:
        """Values of the metric, of shape (…)."""
        values = _check.returned("metric", self.measure(counts), _REMEDY)
        leading = counts.values.shape[:-2]
        if values.shape != leading:
            raise InputError(
                f"metric must give one number for each table; for tables of shape {leading} "
                f"{self.measure!r} gave {values.shape}. {_REMEDY}"
            )
        return values

    @abstractmethod
    def goodness(self, counts: Counts) -> FloatArray:
        """The metric, with its sign such that higher is better.

        Parameters
        ----------
        counts : cases by true class and decision, (…, K, M)

        Returns
        -------
        values, (…)

        Examples
        --------
        >>> from stakes.measures import accuracy
        >>> float(Gain(accuracy).goodness(Counts([[8, 2], [1, 9]])))
        0.85
        """


@record
class Gain(Metric):
    """A metric whose higher values are better.

    Parameters
    ----------
    measure : a function of `Counts`

    Examples
    --------
    >>> from stakes.measures import accuracy
    >>> float(Gain(accuracy).goodness(Counts([[8, 2], [1, 9]])))
    0.85
    """

    def goodness(self, counts: Counts) -> FloatArray:  # noqa: D102
        return self(counts)


@record
class Loss(Metric):
    """A metric whose lower values are better.

    Parameters
    ----------
    measure : a function of `Counts`

    Examples
    --------
    >>> from stakes.measures import error_rate
    >>> float(Loss(error_rate).goodness(Counts([[8, 2], [1, 9]])))
    -0.15
    """

    def goodness(self, counts: Counts) -> FloatArray:  # noqa: D102
        return -self(counts)


@record
class PositiveClass(Value):
    """The value that a per-class measure gives to the positive class, the last one.

    Parameters
    ----------
    measure : a function of `Counts` with a value for each class

    Examples
    --------
    >>> from stakes.measures import recall
    >>> float(PositiveClass(recall)(Counts([[8, 2], [1, 9]])))
    0.9
    """

    measure: TableMeasure

    def __call__(self, counts: Counts) -> FloatArray:
        """Last entry of the measure, of shape (…)."""
        values = _check.returned("metric", self.measure(counts), _EACH_CLASS)
        if not values.ndim:
            raise InputError(f"metric must give one number for each class; got one. {_EACH_CLASS}")
        return np.asarray(values[..., -1])


#: Common metrics for two classes and two decisions, by their usual names.
FAMILIAR: Mapping[str, Metric] = MappingProxyType(
    {
        "accuracy": Gain(measures.accuracy),
        "balanced accuracy": Gain(measures.balanced_accuracy),
        "precision": Gain(PositiveClass(measures.precision)),
        "recall": Gain(PositiveClass(measures.recall)),
        "specificity": Gain(PositiveClass(measures.specificity)),
        "F1": Gain(PositiveClass(partial(measures.f_beta, beta=1))),
        "MCC": Gain(measures.mcc),
        "Cohen's kappa": Gain(measures.cohen_kappa),
        "Fowlkes-Mallows": Gain(PositiveClass(measures.fowlkes_mallows)),
    }
)

#: Common metrics for any number of classes, none of which is the positive one.
FAMILIAR_MULTICLASS: Mapping[str, Metric] = MappingProxyType(
    {
        "accuracy": Gain(measures.accuracy),
        "balanced accuracy": Gain(measures.balanced_accuracy),
        "macro F1": Gain(partial(measures.macro_f_beta, beta=1)),
        "MCC": Gain(measures.mcc),
        "Cohen's kappa": Gain(measures.cohen_kappa),
        "Fowlkes-Mallows": Gain(partial(agreement.general_fowlkes_mallows, average=1)),
        "determinant MCC": Gain(agreement.determinant_mcc),
        "Cramér's phi": Gain(agreement.cramers_phi),
    }
)


def familiar_metrics(problem: Problem) -> Mapping[str, Metric]:
    """The familiar metrics that this problem allows.

    `FAMILIAR` for two classes and two decisions, `FAMILIAR_MULTICLASS` where each decision stands
    for one class, and none otherwise: a decision that stands for no class has a cost but no recall.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    name → metric

    Examples
    --------
    >>> len(familiar_metrics(Problem([[0, 3, 25], [180, 8, 0]])))
    0
    """
    _check.require("problem", problem, Problem)
    if problem.costs.shape == (2, 2):
        return FAMILIAR
    return FAMILIAR_MULTICLASS if problem.answers == problem.classes else {}


def of_each(metrics: Mapping[str, Metric], function: Callable[[Metric], T]) -> Iterator[T]:
    """The result of a function for each metric; errors show the metric's name in the mapping."""
    for name, metric in metrics.items():
        with _check.renamed(metric=f"metrics[{name!r}]"):
            value = function(metric)
        yield value


def read_model_tables(models: ModelTables) -> tuple[Labels, Counts]:
    """Names of J models and their counts, of shape (…, J, K, M).

    Two classes and two decisions match by position, whatever the decisions are called: the metrics
    then read the second decision as the positive one.
    """
    by_model = tallies_by_model(models, Counts, "Counts.from_decisions")
    names, tables = tuple(by_model), tuple(by_model.values())
    first = tables[0]
    for table in tables[1:]:
        if table.values.shape != first.values.shape:
            raise InputError(
                f"models must have tables of one shape; {names[0]!r} has {first.values.shape}, "
                f"another {table.values.shape}. Evaluate all of them on the same classes."
            )
        _check.same_names("the models", first, table)
    values = np.stack([table.values for table in tables], axis=-3)
    return names, first._but(values=values, groups=None)


def by_position(counts: Counts) -> Counts:
    """Counts for metrics of square tables: two decisions stand for the two classes."""
    if counts.values.shape[-2:] != (2, 2):
        return counts
    return Counts._unlabelled(counts.values)


def picked(goodness: FloatArray) -> BoolArray:
    """The best along the last axis, with all that tie with it; undefined is never picked."""
    return least(-goodness)


# -------------------------------------------------------------------------------------------------
# The space of binary utility matrices: a hexagon of two coordinates, and distributions on it.
#
# Once the best utility is 1 and the worst is 0, two numbers are left (dyrland, eq 13 and figure
# 1):
#
# - x says whether being right about the second class (x > 0) or the first (x < 0) is worth more;
# - y says whether being wrong about the second class (y > 0) or the first (y < 0) hurts less.
#
# Rows are classes and columns decisions here; dyrland prints the transpose. The coordinates are
# for pictures: distances have no meaning, and a mean of points is not the point of the mean
# utilities.

#: Corners of the admissible set abs(x), abs(y), abs(y - x) ≤ 1, anticlockwise from (1, 0).
HEXAGON: FloatArray = frozen(
    np.array([[1, 0], [1, 1], [0, 1], [-1, 0], [-1, -1], [0, -1]], dtype=np.float64)
)


def is_admissible(x: npt.ArrayLike, y: npt.ArrayLike) -> npt.NDArray[np.bool_]:
    """Whether a point lies in the hexagon, where being right never hurts.

    Parameters
    ----------
    x : first coordinate: which class it is worth more to be right about
    y : second coordinate: which mistake hurts less

    Returns
    -------
    one boolean for each point

    Examples
    --------
    >>> is_admissible([0.3, 0.9, -0.8], [-0.6, -0.6, 0.1]).tolist()
    [True, False, True]
    """
    x, y = _check.reals("x", x), _check.reals("y", y)
    _check.elementwise(x=x, y=y)
    with np.errstate(invalid="ignore"):  # of two infinities
        return np.asarray((np.abs(x) <= 1) & (np.abs(y) <= 1) & (np.abs(y - x) <= 1))


def utilities_at(x: npt.ArrayLike, y: npt.ArrayLike) -> FloatArray:
    r"""Utility matrices of shape (…, 2, 2) at points of the space.

    .. math:: \begin{pmatrix} 1 - x^+ & (-y)^+ \\ y^+ & 1 - (-x)^+ \end{pmatrix}

    Undefined (nan) outside the hexagon. Reference: dyrland, eq 13.

    Parameters
    ----------
    x : first coordinate: which class it is worth more to be right about
    y : second coordinate: which mistake hurts less

    Returns
    -------
    matrices, (…, 2, 2); nan outside the hexagon

    Examples
    --------
    The factory of dyrland's story:

    >>> utilities_at(0.3, -0.6)
    array([[0.7, 0.6],
           [0. , 1. ]])
    """
    admissible = is_admissible(x, y)
    x, y = np.broadcast_arrays(_check.reals("x", x), _check.reals("y", y))
    return np.where(admissible[..., None, None], _matrices(x, y), np.nan)


def _matrices(x: FloatArray, y: FloatArray) -> FloatArray:
    """Matrices (…, 2, 2), stored as (2, 2, …) so that each cell is contiguous in memory."""
    cells = np.empty((2, 2, *x.shape))
    cells[0, 0], cells[1, 1] = 1 - np.maximum(x, 0), 1 + np.minimum(x, 0)
    cells[0, 1], cells[1, 0] = np.maximum(-y, 0), np.maximum(y, 0)
    return np.moveaxis(cells, (0, 1), (-2, -1))


def utility_coordinates(utilities: npt.ArrayLike) -> FloatArray:
    r"""Points (…, 2) of utility matrices (…, 2, 2), which do not depend on their zero and unit.

    .. math:: x = \frac{U_{11} - U_{00}}{\max U - \min U}, \quad
              y = \frac{U_{10} - U_{01}}{\max U - \min U}

    Undefined (nan) where all utilities are equal, and where being right about a class is worth
    less than being wrong. `Problem.utility_coordinates` is the same for one problem.
    Reference: dyrland, eq 12, 13.

    Parameters
    ----------
    utilities : utility matrices, (…, 2, 2), rows being classes

    Returns
    -------
    points, (…, 2)

    Examples
    --------
    >>> utility_coordinates([[15, -35], [-335, 165]])
    array([ 0.3, -0.6])
    """
    table = _check.floats("utilities", utilities)
    if table.shape[-2:] != (2, 2):
        raise InputError(
            f"utilities must be matrices of two classes and two decisions; the shape is "
            f"{table.shape}. Larger problems have no plane to be drawn in."
        )
    span = np.ptp(table, axis=(-2, -1))
    right = np.diagonal(table, axis1=-2, axis2=-1)
    wrong = np.stack([table[..., 0, 1], table[..., 1, 0]], axis=-1)
    admissible = np.all(right >= wrong, axis=-1) & (span > 0)
    steps = np.stack([right[..., 1] - right[..., 0], wrong[..., 1] - wrong[..., 0]], axis=-1)
    points = np.full(steps.shape, np.nan)
    np.divide(steps, span[..., None], out=points, where=admissible[..., None])
    return points


# Distributions -----------------------------------------------------------------------------------


class UtilityDistribution(Value, ABC):
    """A distribution of unknown utilities: draws, and exact values of the distribution.

    Examples
    --------
    Draws average to the expected matrix:

    >>> drawn = UniformUtilities()(np.random.default_rng(0), 100_000)
    >>> drawn.mean(axis=0).round(2).tolist(), UniformUtilities().expected.round(2).tolist()
    ([[0.78, 0.22], [0.22, 0.78]], [[0.78, 0.22], [0.22, 0.78]])
    """

    @abstractmethod
    def __call__(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw utility matrices, of shape (size, 2, 2)."""

    @property
    @abstractmethod
    def expected(self) -> FloatArray:
        """The expected utility matrix: the one to use (dyrland, eq 18)."""

    @abstractmethod
    def cost_proportion_density(self, c: FloatArray) -> FloatArray:
        r"""Density of the cost proportion :math:`a/(a+b)`, a and b the gains of being right.

        The ranking of two classifiers depends on a utility matrix through this number alone. The
        distributions here treat the classes alike, so that it is symmetric about ½.

        Parameters
        ----------
        c : cost proportions

        Returns
        -------
        densities, elementwise

        Examples
        --------
        >>> UniformUtilities().cost_proportion_density(np.array([0.25, 0.5])).round(3)
        array([0.988, 1.333])
        """


def _mirrored(density_of_ratio: FloatArray, c: FloatArray) -> FloatArray:
    """Density of the proportion, from that of the ratio at min(c, 1 - c)/max(c, 1 - c)."""
    return np.asarray(density_of_ratio / np.maximum(c, 1 - c) ** 2)


@record
class UniformUtilities(UtilityDistribution):
    """All points of the hexagon are equally likely: nothing is known (dyrland, section 4.2).

    Examples
    --------
    The expected utilities are those of accuracy, up to scale:

    >>> UniformUtilities().expected * 9
    array([[7., 2.],
           [2., 7.]])
    """

    def __call__(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw matrices at points of the hexagon."""
        return _matrices(*_uniform_points(rng, size))

    @property
    def expected(self) -> FloatArray:  # noqa: D102
        return np.array([[7.0, 2.0], [2.0, 7.0]]) / 9

    def cost_proportion_density(self, c: FloatArray) -> FloatArray:  # noqa: D102
        ratio = np.minimum(c, 1 - c) / np.maximum(c, 1 - c)
        return _mirrored((2 - ratio) / 3, c)


def _uniform_points(rng: np.random.Generator, size: int) -> FloatArray:
    """Points (2, size) of the hexagon: two unit squares, and a third cut into two triangles."""
    # The three parts have equal areas, so that no draw has to be rejected.
    _check.generator(rng)
    x, y, part = rng.random((3, size))
    np.negative(y, out=y, where=part < 1 / 3)  # the corner x > 0 > y, whose far half …
    beyond = x - y > 1  # … moves to the corner x < 0 < y
    np.subtract(x, 1, out=x, where=beyond)
    np.add(y, 1, out=y, where=beyond)
    turned = part > 2 / 3
    np.negative(x, out=x, where=turned)
    np.negative(y, out=y, where=turned)
    return np.stack([x, y])


@record
class NormalUtilities(UtilityDistribution):
    """Normal x and y about the identity, truncated to the hexagon (dyrland, figure 4: sd = 1/3).

    Parameters
    ----------
    sd : standard deviation of x and y

    Examples
    --------
    >>> NormalUtilities(sd=1 / 3).expected.round(4)
    array([[0.8731, 0.1269],
           [0.1269, 0.8731]])
    """

    sd: float

    def __post_init__(self) -> None:
        if not _check.number("sd", self.sd, low=0) > 0:
            raise InputError("sd must be positive; it is 0. A known problem needs no distribution.")

    def __call__(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw from the truncated normal by rejection.

        A narrow normal is drawn and rejected outside the hexagon. A wide one would rarely hit the
        hexagon, so that uniform points of the hexagon are drawn instead and accepted with a
        probability proportional to the normal density, at least exp(-1/sd²).
        """
        proposed = self._thinned if self.sd >= 1 else self._cut
        (x, y), accepted = proposed(rng, size)
        outside = np.flatnonzero(~accepted)
        while outside.size:
            again, accepted = proposed(rng, outside.size)
            x[outside], y[outside] = again
            outside = outside[~accepted]
        return _matrices(x, y)

    @property
    def expected(self) -> FloatArray:  # noqa: D102
        from scipy.special import ndtr

        x, weights = _unit_interval_rule()
        column = _normal_density(x, self.sd) * (ndtr(1 / self.sd) - ndtr((x - 1) / self.sd))
        shortfall = float(weights @ (x * column)) / self._mass()
        return np.array([[1 - shortfall, shortfall], [shortfall, 1 - shortfall]])

    def _cut(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, BoolArray]:
        """Points (2, size) of the normal, and which of them are accepted."""
        points = rng.standard_normal((2, size)) * self.sd
        return points, is_admissible(*points)

    def _thinned(self, rng: np.random.Generator, size: int) -> tuple[FloatArray, BoolArray]:
        """Points (2, size) of the hexagon, and which of them the normal density accepts."""
        points = _uniform_points(rng, size)
        height = np.exp(-0.5 * np.sum((points / self.sd) ** 2, axis=0))
        return points, np.asarray(rng.random(size) < height)

    def cost_proportion_density(self, c: FloatArray) -> FloatArray:  # noqa: D102
        ratio = np.minimum(c, 1 - c) / np.maximum(c, 1 - c)
        return _mirrored(self._ratio_density(ratio), c) / self._mass()

    def _mass(self) -> float:
        """Probability of the hexagon under the full normal: twice that of gain ratios below one."""
        ratio, weights = _unit_interval_rule()
        return 2 * float(weights @ self._ratio_density(ratio))

    def _ratio_density(self, ratio: FloatArray) -> FloatArray:
        """Density, under the full normal, of the ratio of the smaller gain a to the larger b.

        Where x and y have the same sign, (a, b) = (1 - x, 1 - y) or (1 + y, 1 + x); where their
        signs differ, b = 1 and 1 - a is the sum of two positive parts.
        """
        from scipy.special import erf, ndtr

        curvature = 1 + ratio**2
        mean, spread = (1 + ratio) / curvature, self.sd / np.sqrt(curvature)
        densities = np.exp(-0.5 * (mean / spread) ** 2) - np.exp(-0.5 * ((1 - mean) / spread) ** 2)
        inside = ndtr((1 - mean) / spread) - ndtr(-mean / spread)
        line = spread**2 * densities + mean * spread * sqrt(2 * pi) * inside
        height = np.exp(-0.5 * ((1 - ratio) / (self.sd * np.sqrt(curvature))) ** 2)
        one_sign = height * line / (2 * pi * self.sd**2)
        parts = 1 - ratio
        two_signs = _normal_density(parts, sqrt(2) * self.sd) * erf(parts / (2 * self.sd))
        return np.asarray(2 * one_sign + two_signs)


def _normal_density(x: FloatArray, sd: float) -> FloatArray:
    return np.asarray(np.exp(-0.5 * (x / sd) ** 2) / (sd * sqrt(2 * pi)))


def _unit_interval_rule() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights that integrate smooth functions over [0, 1]; peaks may be at either end."""
    node, weight = np.polynomial.legendre.leggauss(20)
    steps = 2.0 ** -np.arange(1, 41)
    edges = np.concatenate([[0], steps[::-1], 1 - steps[1:], [1]])
    width = np.diff(edges)[:, None]
    nodes = edges[:-1, None] + width * (node + 1) / 2
    return nodes.ravel(), np.asarray(width * weight / 2).ravel()


# Whether a metric is a utility in disguise -------------------------------------------------------
#
# A metric complies with decision theory when it ranks tables as some fixed utility matrix does
# (dyrland, eq 17): moving cases from one decision to another is then an improvement everywhere or
# nowhere. The test computes the gradient of the metric, in the space of tables, at many tables of
# many class shares. If all gradients have the same direction, it gives the utilities, and the
# metric must also rank pairs of distant tables as these do. If two directions differ, some change
# is an improvement at one table and a deterioration at the other. Such a change is the witness,
# and it is checked by evaluating the metric itself.

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
