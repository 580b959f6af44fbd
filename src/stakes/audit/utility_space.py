"""The space of binary utility matrices: a hexagon of two coordinates, and distributions on it.

Once the best utility is 1 and the worst is 0, two numbers are left (dyrland, eq 13 and figure 1):

- x says whether being right about the second class (x > 0) or the first (x < 0) is worth more;
- y says whether being wrong about the second class (y > 0) or the first (y < 0) hurts less.

Rows are classes and columns decisions here; dyrland prints the transpose. The coordinates are for
pictures: distances have no meaning, and a mean of points is not the point of the mean utilities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import pi, sqrt

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import BoolArray, FloatArray, frozen
from stakes._value import Value, record
from stakes.errors import InputError

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
    x, y = np.broadcast_arrays(_check.reals("x", x), _check.reals("y", y))
    return np.where(is_admissible(x, y)[..., None, None], _matrices(x, y), np.nan)


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
