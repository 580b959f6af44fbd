r"""A piecewise curve that can be evaluated anywhere and integrated exactly, without a grid.

Loss curves are constant, linear or quadratic between their knots, net benefit is linear in the
odds :math:`x/(1-x)`; all of them may jump. A `Curve` keeps the knots and, for each piece, the
coefficients, so that areas, expectations and crossing points are sums and roots, not
approximations.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray
from stakes._value import Value, record
from stakes.errors import InputError

__all__ = ["Curve", "Moments"]


class Moments(Protocol):
    """What a curve needs of a distribution: partial moments over half-open intervals.

    Examples
    --------
    Every distribution of `stakes.conditions` has them. The line y = x has the mean of x:

    >>> from stakes.conditions import Point, Uniform
    >>> line = Curve([0, 1], [[0, 1]])
    >>> line.expectation(Uniform()), line.expectation(Point(0.3))
    (0.5, 0.3)
    """

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        """Integral of ``x ** order`` over ``low <= x < high``, elementwise.

        Parameters
        ----------
        order : the power
        low, high : limits of the interval

        Returns
        -------
        partial moments, elementwise

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> float(Uniform().moment(1, 0, 0.5))
        0.125
        """
        ...


@record(init=False)
class Curve(Value):
    r"""A real function on an interval, made of consecutive pieces that may jump.

    On the piece that starts at the knot :math:`k` the value is

    .. math:: y(x) = a + b\,(x - k) + c\,(x - k)^2 + d\,\frac{x}{1 - x}

    Piece i applies to ``knots[i] <= x < knots[i + 1]``, the last piece also to the last knot: at a
    jump the curve has the value on the right. Outside the knots it is nan. A last piece of width
    zero gives the last knot its own value; a first piece of width zero only adds a corner for
    drawing.

    Parameters
    ----------
    knots : (P + 1,), never decreasing
    coefficients : (P, 1) to (P, 4), the a, b, c and d of each piece; columns left out are zero

    Examples
    --------
    A curve of two linear pieces that jumps from 0.2 to 0.3 at x = 0.5:

    >>> curve = Curve([0, 0.5, 1], [[0, 0.4], [0.3, -0.6]])
    >>> curve([0.25, 0.5, 2]).tolist()
    [0.1, 0.3, nan]
    >>> round(float(curve.integral()), 3)
    0.125
    >>> curve.columns()["x"].tolist()
    [0.0, 0.5, 0.5, 1.0]
    """

    knots: FloatArray
    coefficients: FloatArray

    def __init__(self, knots: npt.ArrayLike, coefficients: npt.ArrayLike) -> None:
        places = _check.floats("knots", knots, ndim=1)
        pieces = _check.floats("coefficients", coefficients, ndim=2)
        if places.size < 2 or np.any(np.diff(places) < 0):
            raise InputError(
                f"knots must be two or more numbers that never decrease; got {places.size}, "
                f"{places[:5].tolist()} first. Sort them together with their pieces."
            )
        if pieces.shape[0] != places.size - 1 or not 1 <= pieces.shape[1] <= 4:
            raise InputError(
                f"coefficients must have one row for each of the {places.size - 1} pieces and one "
                f"to four columns; its shape is {pieces.shape}. The columns are constant, linear, "
                f"quadratic and odds."
            )
        padded = np.zeros((pieces.shape[0], 4))
        padded[:, : pieces.shape[1]] = pieces
        self._fill({"knots": places, "coefficients": padded})

    @classmethod
    def through(cls, x: npt.ArrayLike, y: npt.ArrayLike) -> Curve:
        """Straight lines through corners in order of x; where x repeats, the curve jumps.

        Parameters
        ----------
        x : corners, not decreasing
        y : values there

        Returns
        -------
        the curve

        Examples
        --------
        >>> Curve.through([0, 0, 1], [0, 0.5, 1])([0, 0.5, 1]).tolist()
        [0.5, 0.75, 1.0]
        """
        knots = _check.floats("x", x, ndim=1)
        values = _check.floats("y", y, ndim=1)
        _check.same_length(x=knots, y=values)
        if knots.size < 2 or np.any(np.diff(knots) < 0):
            raise InputError(
                f"x must be two or more numbers that never decrease; got {knots.size}, "
                f"{knots[:5].tolist()} first. Sort the corners by x."
            )
        width, rise = np.diff(knots), np.diff(values)
        slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
        left, right = values[:-1], values[1:]
        at_end = (width == 0) & (knots[:-1] == knots[-1])  # the last point keeps its own value
        return cls(knots, np.stack([np.where(at_end, right, left), slope], axis=1))

    @classmethod
    def undefined(cls, low: float, high: float) -> Curve:
        """Return the curve that is nan everywhere on [low, high].

        Parameters
        ----------
        low : where the domain begins
        high : where it ends

        Returns
        -------
        the curve

        Examples
        --------
        >>> Curve.undefined(0.0, 1.0)(0.5)
        array(nan)
        """
        return cls._trusted(
            knots=np.array([_check.number("low", low), _check.number("high", high)]),
            coefficients=np.array([[np.nan, 0.0, 0.0, 0.0]]),
        )

    @property
    def domain(self) -> tuple[float, float]:
        """The first and the last knot."""
        return float(self.knots[0]), float(self.knots[-1])

    def __call__(self, x: npt.ArrayLike) -> FloatArray:
        """Value at x, elementwise; nan outside the domain."""
        points = _check.reals("x", x)
        low, high = self.domain
        inside = (points >= low) & (points <= high)
        within = np.where(inside, points, low)
        return np.where(inside, self._on_piece(self._piece_at(within), within), np.nan)

    def integral(self, low: float | None = None, high: float | None = None) -> float:
        """Area under the curve from low to high, by default over the whole domain.

        nan when [low, high] extends beyond the domain; infinite when a piece that is linear in the
        odds extends to x = 1.

        Parameters
        ----------
        low : from here; None for the beginning
        high : to here; None for the end

        Returns
        -------
        the area

        Examples
        --------
        >>> Curve([0, 1], [[0, 0, 3]]).integral(0, 0.5)
        0.125
        """
        if low is not None:
            _check.one_number("low", low)
        if high is not None:
            _check.one_number("high", high)
        first, last = self.domain
        low, high = float(first if low is None else low), float(last if high is None else high)
        if not first <= low <= high <= last:
            return float("nan")
        knots = np.clip(self.knots, low, high)
        left, right = knots[:-1] - self.knots[:-1], knots[1:] - self.knots[:-1]
        a, b, c, d = self.coefficients.T
        width = right - left
        # The difference of two antiderivatives, with the width factored out so that narrow pieces
        # do not lose digits.
        areas = width * (a + b * (left + right) / 2 + c * (left**2 + left * right + right**2) / 3)
        used = (d != 0) & (width > 0)
        odds = d[used] * (_odds_integral(knots[1:][used]) - _odds_integral(knots[:-1][used]))
        return float(np.sum(areas[width > 0]) + np.sum(odds))

    def expectation(self, distribution: Moments) -> float:
        r"""Mean value at a random point, :math:`\int y(x)\,dW(x)`, including atoms.

        nan when the distribution has mass outside the domain. Pieces linear in the odds have no
        closed form here and are refused.

        Parameters
        ----------
        distribution : distribution of the point

        Returns
        -------
        the mean

        Examples
        --------
        >>> from stakes.conditions import Point
        >>> Curve([0, 0.5, 1], [[0, 0.4], [0.3, -0.6]]).expectation(Point(0.5))
        0.3
        """
        _check.require("distribution", distribution, Moments)
        if np.any(self.coefficients[:, 3] != 0):
            raise InputError(
                "expectation needs pieces that are constant, linear or quadratic; this curve has "
                "pieces linear in the odds. Use integral, which handles them."
            )
        edges = self.knots.copy()
        edges[-1] = np.nextafter(edges[-1], np.inf)  # the last piece includes the last knot
        low, high, origin = edges[:-1], edges[1:], self.knots[:-1]
        outside = distribution.moment(0, -np.inf, edges[0]) + distribution.moment(
            0, edges[-1], np.inf
        )
        m0, m1, m2 = (distribution.moment(order, low, high) for order in range(3))
        a, b, c, _ = self.coefficients.T
        # Coefficients refer to the distance from the start of a piece, moments to x itself.
        total = a * m0 + b * (m1 - origin * m0) + c * (m2 - origin * (2 * m1 - origin * m0))
        return float("nan") if outside > 0 else float(np.sum(total))

    def columns(self) -> dict[str, FloatArray]:
        """Return the corners: both ends of every piece, with x repeated where the curve jumps.

        Straight lines between them draw constant and linear pieces exactly; for curves with
        quadratic or odds pieces see `points`.

        Returns
        -------
        ``x`` and ``y`` of the corners

        Examples
        --------
        >>> Curve.through([0, 1, 2], [0, 2, 0]).columns()["y"].tolist()
        [0.0, 2.0, 0.0]
        """
        return self.points(2)

    def points(self, per_piece: int) -> dict[str, FloatArray]:
        """Return per_piece evenly spaced points of each piece, both ends included, for drawing.

        Parameters
        ----------
        per_piece : how many points for each piece

        Returns
        -------
        ``x`` and ``y`` of the points

        Examples
        --------
        >>> Curve([0, 1], [[0, 0, 1]]).points(3)["y"].tolist()
        [0.0, 0.25, 1.0]
        """
        count = _check.whole("per_piece", per_piece, low=0, high=10**6)
        steps = np.linspace(0.0, 1.0, max(count, 2))
        left, right = self.knots[:-1, None], self.knots[1:, None]
        x = np.where(steps == 1, right, left + steps * (right - left))  # ends without rounding
        y = self._on_piece(np.broadcast_to(np.arange(len(x))[:, None], x.shape), x)
        x, y = x.ravel(), y.ravel()
        repeated = (np.diff(x) == 0) & np.isclose(y[1:], y[:-1], rtol=1e-12, atol=1e-15)
        keep = np.concatenate([[True], ~repeated])
        return {"x": x[keep], "y": y[keep]}

    def crossings(self, other: Curve) -> FloatArray:
        """Return the points that divide the common domain into intervals where one curve is lower.

        These are, in increasing order, the roots of self - other, the jumps at which it changes
        sign, and the limits of pieces on which the two coincide. Between neighbouring points the
        sign does not change.

        Parameters
        ----------
        other : another curve

        Returns
        -------
        increasing points

        Examples
        --------
        >>> flat, rising = Curve([0, 1], [[0.25]]), Curve([0, 1], [[0, 0, 1]])
        >>> rising.crossings(flat).tolist()
        [0.5]
        """
        difference = self._minus(other)
        left, right = difference.knots[:-1], difference.knots[1:]
        equal = np.all(difference.coefficients == 0, axis=1)
        sign = np.sign(difference._ends)
        # The difference may change its sign in a jump, without a root on either side.
        jumped = sign[:-1, 1] * sign[1:, 0] < 0
        parting = [difference._roots(), left[equal], right[equal], right[:-1][jumped]]
        points = np.unique(np.concatenate(parting))
        # A root at a knot is found from both pieces, a rounding error apart.
        apart = np.diff(points, prepend=-np.inf) > 4 * np.spacing(np.abs(points))
        return points[apart]

    def __add__(self, other: Curve) -> Curve:
        """Sum on the common domain."""
        if not isinstance(other, Curve):
            return NotImplemented
        knots = _merged_knots(self, other)
        coefficients = self._at_knots(knots) + other._at_knots(knots)
        return Curve._trusted(knots=knots, coefficients=coefficients)

    def __sub__(self, other: Curve) -> Curve:
        """Difference on the common domain."""
        if not isinstance(other, Curve):
            return NotImplemented
        return self + (-1.0) * other

    def __mul__(self, factor: float) -> Curve:
        """Curve scaled by a number."""
        scaled = self.coefficients * _check.number("factor", factor)
        return Curve._trusted(knots=self.knots, coefficients=scaled)

    __rmul__ = __mul__

    @property
    def _ends(self) -> FloatArray:
        """Values (P, 2) at the left and the right end of each piece."""
        pieces = np.arange(len(self.coefficients))
        corners = [self._on_piece(pieces, self.knots[:-1]), self._on_piece(pieces, self.knots[1:])]
        return np.stack(corners, axis=1)

    def _piece_at(self, x: FloatArray) -> npt.NDArray[np.intp]:
        index = np.searchsorted(self.knots, x, side="right") - 1
        return np.clip(index, 0, len(self.coefficients) - 1)

    def _on_piece(self, piece: npt.NDArray[np.intp], x: FloatArray) -> FloatArray:
        a, b, c, d = np.moveaxis(self.coefficients[piece], -1, 0)
        step = x - self.knots[piece]
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(d == 0, 0.0, d * (x / (1 - x)))
        return np.asarray(a + step * (b + step * c) + odds)

    def _at_knots(self, knots: FloatArray) -> FloatArray:
        """Coefficients (P', 4) of the same function on pieces that start at finer knots."""
        piece = self._piece_at(knots[:-1])
        if knots[0] == knots[1]:  # a first piece of width zero starts from the very first corner
            corner = int(np.searchsorted(self.knots, knots[0], side="left"))
            corner -= self.knots[corner] > knots[0]
            piece[0] = min(max(corner, 0), len(self.coefficients) - 1)
        a, b, c, d = self.coefficients[piece].T
        step = knots[:-1] - self.knots[piece]
        return np.stack([a + step * (b + step * c), b + 2 * step * c, c, d], axis=1)

    def _minus(self, other: Curve) -> Curve:
        """Difference in which coefficients that differ only by rounding cancel."""
        _check.require("other", other, Curve)
        knots = _merged_knots(self, other)
        mine, theirs = self._at_knots(knots), other._at_knots(knots)
        # Equal curves on different knots differ by rounding, which must not make a crossing.
        noise = 8 * np.finfo(np.float64).eps * (np.abs(mine) + np.abs(theirs))
        difference = np.where(np.abs(mine - theirs) <= noise, 0.0, mine - theirs)
        return Curve._trusted(knots=knots, coefficients=difference)

    def _roots(self) -> FloatArray:
        """Roots of all pieces, in closed form where there are no odds."""
        a, b, c, d = self.coefficients.T
        width = np.diff(self.knots)
        slack = 4 * np.spacing(np.abs(self.knots[1:]))
        bare = (d != 0) & (b == 0) & (c == 0)  # constant and odds: one root, in closed form
        with np.errstate(all="ignore"):
            # Compute the root of larger magnitude first, and the other one from their product: the
            # usual formula would subtract nearly equal numbers.
            larger = -(b + np.copysign(np.sqrt(b * b - 4 * a * c), b)) / 2
            steps = np.where(d == 0, np.stack([larger / c, a / larger]), np.nan)
            steps[0] = np.where(bare, a / (a - d) - self.knots[:-1], steps[0])
            inside = (steps >= -slack) & (steps <= width + slack)
        roots = (self.knots[:-1] + np.clip(steps, 0, width))[inside]
        mixed = [self._odds_roots(int(piece)) for piece in np.flatnonzero((d != 0) & ~bare)]
        return np.concatenate([roots, *mixed])

    def _odds_roots(self, piece: int) -> FloatArray:
        """Roots of one piece with odds: the piece times 1 − x is a cubic."""
        low, high = self.knots[piece], self.knots[piece + 1]
        a, b, c, d = self.coefficients[piece]
        p0, p1, p2 = a - b * low + c * low * low, b - 2 * c * low, c
        roots = np.roots([-p2, p2 - p1, p1 - p0 + d, p0])
        real = np.real(roots[np.abs(np.imag(roots)) < 1e-12])
        slack = 4 * np.spacing(high)
        inside = (real >= low - slack) & (real <= high + slack)
        return np.asarray(np.clip(real[inside], low, high), dtype=np.float64)


def _odds_integral(x: FloatArray) -> FloatArray:
    """Antiderivative of x / (1 - x)."""
    with np.errstate(divide="ignore"):
        return -x - np.log1p(-x)


def _merged_knots(first: Curve, second: Curve) -> FloatArray:
    """The knots of both curves within their common domain."""
    low = max(first.domain[0], second.domain[0])
    high = min(first.domain[1], second.domain[1])
    if low > high:
        raise InputError(
            f"curves must have a common domain; one covers {first.domain}, the other "
            f"{second.domain}. Move one of them."
        )
    inner = np.unique(np.concatenate([first.knots, second.knots]))
    inner = inner[(inner > low) & (inner < high)]
    # A piece of width zero at a limit of the domain is a jump, which np.unique would remove.
    start = any(curve.knots[0] == curve.knots[1] == low for curve in (first, second))
    end = any(curve.knots[-2] == curve.knots[-1] == high for curve in (first, second))
    return np.concatenate([[low] * (1 + start), inner, [high] * (1 + end)])
