"""How large the largest of many standardised differences becomes by chance alone.

Critical values and adjusted p-values of simultaneous comparisons come from this distribution. It is
integrated over fixed directions, so that results are reproducible.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes._value import record
from stakes.inference.comparison import triangular_root
from stakes.inference.normals import chi_square_tail, directions, t_quantile, t_tail
from stakes.inference.sampling import CostErrors

_DIRECTIONS = 1024  # along which errors are integrated: fixed, so that results are reproducible
FEW_DEGREES = 29.0  # with fewer degrees of freedom, correlations of errors are too poorly known
_AS_NORMAL = 1e10  # degrees of freedom with which Student's t is nearly normal
_CACHED = 1 << 15  # numbers of a block that stays in the cache of the processor


@record
class MaxLaw:
    """The distribution of the largest standardised difference of each system, by its square.

    A normal error is a direction times a length. Along each of R directions the largest difference
    of system i is `extent` times the length, whose distribution is known: its square is χ² with as
    many degrees of freedom as the errors have dimensions, or a multiple of F if their scale is
    estimated.
    """

    extent: FloatArray  # (R, J); no rows where the bound of Bonferroni is used instead
    rank: int  # dimensions of the errors
    degrees: float  # degrees of freedom of their scale
    comparisons: int  # of one system with those that differ from it

    def beyond(self, square: FloatArray) -> FloatArray:
        """The chance (J,) of a larger square, between that of one comparison and Bonferroni's."""
        # The integral over fixed directions is approximate; these bounds always hold.
        tail = 2 * t_tail(min(self.degrees, _AS_NORMAL), np.sqrt(square))
        most = np.minimum(1.0, max(1, self.comparisons) * tail)
        if not len(self.extent):
            return most
        return np.clip(self._mean_tail(square), tail, most)

    def quantile(self, share: float) -> FloatArray:
        """The square (J,) beyond which `beyond` is smaller than the share."""
        size = self.extent.shape[1]
        single = np.full(size, self._student(share / 2) ** 2)
        most = np.full(size, self._student(share / 2 / max(1, self.comparisons)) ** 2)
        if not len(self.extent):
            return most
        last, square = single, most
        before, now = (np.log(self._mean_tail(end) / share) for end in (last, square))
        for _ in range(20):  # the secant method for the logarithm, which is nearly linear
            apart = (now != before) & (square != last)
            slope = np.where(apart, now - before, -1.0) / np.where(apart, square - last, 1.0)
            last, before = square, now
            square = np.clip(square - np.where(apart, now / slope, 0.0), single, most)
            if (np.abs(last - square) <= 1e-9 * square).all():
                break
            now = np.log(self._mean_tail(square) / share)
        return square

    def _student(self, share: float) -> float:
        return float(-t_quantile(min(self.degrees, _AS_NORMAL), share))

    def _mean_tail(self, square: FloatArray) -> FloatArray:
        """The chance (J,) of a larger square, averaged over the directions."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(square > 0, square / self.extent**2, 0.0)
        if np.isinf(self.degrees):
            return np.asarray(chi_square_tail(self.rank, ratio).mean(axis=0))
        from scipy.special import betainc

        share = self.degrees / (self.degrees + ratio)
        return np.asarray(betainc(self.degrees / 2, self.rank / 2, share).mean(axis=0))


def _n_distinct(errors: CostErrors) -> int:
    """How many systems are distinct: they differ from all before them in cost or in decisions."""
    apart = errors.variances > 0
    scale = np.abs(errors.costs).max()
    apart |= np.abs(errors.costs[:, None] - errors.costs) > 1e-12 * scale
    return sum(bool(apart[place, :place].all()) for place in range(len(apart)))


def max_law(errors: CostErrors, rows: Iterable[int] | None = None) -> MaxLaw:
    """The distribution of the largest differences of all systems, or of those in some rows."""
    variances, size, comparisons = errors.variances, len(errors.names), _n_distinct(errors) - 1
    order = canonical_order(errors)
    first = order[0]
    # Only differences matter: relative to one system the errors have one dimension less, and what
    # all systems have in common is gone.
    # cov(Dᵢ − D₁, Dⱼ − D₁) = (var(Dᵢ − D₁) + var(Dⱼ − D₁) − var(Dᵢ − Dⱼ)) / 2.
    relative = (variances[:, [first]] + variances[first] - variances) / 2
    root = triangular_root(relative[np.ix_(order, order)])
    root = root[:, root.any(axis=0)]
    rank = root.shape[1]
    looked_at = range(size) if rows is None else list(rows)
    # A single comparison has Student's t distribution, which needs no integration; with few
    # clusters the correlations are too poorly known to use.
    if not rank or comparisons < 2 or errors.degrees < FEW_DEGREES:
        return MaxLaw(np.empty((0, len(looked_at))), rank, errors.degrees, comparisons)
    # One system after another in memory: comparisons of a few systems would otherwise take longer.
    drawn = np.empty((_DIRECTIONS, size), order="F")
    drawn[:, order] = directions(_DIRECTIONS, rank) @ root.T
    scale = np.divide(1.0, np.sqrt(variances), where=variances > 0, out=np.zeros(variances.shape))
    return MaxLaw(_largest_gaps(drawn, scale, looked_at), rank, errors.degrees, comparisons)


def bonferroni_law(degrees: float, comparisons: int) -> MaxLaw:
    """A bound on the distribution of the largest of so many differences, however dependent."""
    return MaxLaw(np.empty((0, 1)), 0, degrees, comparisons)


def first_quantiles(laws: Sequence[MaxLaw], share: float) -> FloatArray:
    """The quantile of the first system of each law, (len(laws),).

    Laws of one kind are searched together. Without a degree of freedom the quantile is infinite.
    """
    squares = np.full(len(laws), np.inf)
    kinds = [(len(law.extent), law.rank, law.degrees, law.comparisons) for law in laws]
    for kind in set(kinds):
        places = [place for place, other in enumerate(kinds) if other == kind]
        _, rank, degrees, comparisons = kind
        if degrees > 0:
            extent = np.concatenate([laws[place].extent[:, :1] for place in places], axis=1)
            squares[places] = MaxLaw(extent, rank, degrees, comparisons).quantile(share)
    return squares


def _largest_gaps(drawn: FloatArray, scale: FloatArray, rows: Sequence[int]) -> FloatArray:
    """The largest |drawn_i − drawn_j| · scale_ij over j, (R, len(rows)), of draws (R, J)."""
    gaps, step = np.empty((len(drawn), len(rows))), max(1, _CACHED // drawn.shape[1])
    for start in range(0, len(drawn), step):
        part = drawn[start : start + step]
        apart = np.empty_like(part)
        for place, i in enumerate(rows):
            np.subtract(part[:, [i]], part, out=apart)
            np.multiply(np.abs(apart, out=apart), scale[i], out=apart)
            gaps[start : start + step, place] = apart.max(axis=1)
    return gaps


def canonical_ranks(errors: CostErrors) -> IntArray:
    """Ranks (J,) of the systems that do not depend on the order in which they were passed.

    Systems that differ neither in their cost nor in their errors, nor in how far they are from the
    systems of each rank, have the same rank.
    """
    alone, apart = np.diagonal(errors.covariance), _rounded(errors.variances)
    keys = np.column_stack([errors.costs, np.sort(errors.variances, axis=1), alone])
    before, ranks = -1, _ranks(_rounded(keys))
    while before < ranks.max() < ranks.size - 1:  # until no more are told apart
        before = ranks.max()
        ranks = _ranks(np.column_stack([ranks, np.sort(2 * ranks + apart, axis=1)]))
    return ranks


def _ranks(keys: FloatArray) -> IntArray:
    """The rank of each row among the distinct rows."""
    order = np.lexsort(keys.T[::-1])
    differs = (keys[order[1:]] != keys[order[:-1]]).any(axis=1)
    ranks = np.zeros(len(keys), dtype=np.intp)
    ranks[order[1:]] = np.cumsum(differs)
    return ranks


def canonical_order(errors: CostErrors) -> IntArray:
    """Positions (J,) of the systems in an order that does not depend on how they were passed.

    Systems that share a rank are ordered by how far they are from those before them. The first of
    them is any: where they are interchangeable, the order of the others is the same from each.
    """
    ranks, variances = canonical_ranks(errors), _rounded(errors.variances)
    while (shared := np.flatnonzero(np.bincount(ranks)[ranks] > 1)).size:
        first = shared[np.argmin(ranks[shared])]
        apart = variances[first].copy()
        apart[first] = -1.0  # before those that decide alike
        order = np.lexsort([apart, ranks])
        is_next = (np.diff(ranks[order]) != 0) | (np.diff(apart[order]) != 0)
        ranks[order] = np.append(0, np.cumsum(is_next))
    return np.argsort(ranks)


def _rounded(keys: FloatArray) -> FloatArray:
    """Columns relative to their largest entry, without the digits that rounding may change."""
    scale = np.abs(keys).max(axis=0)
    return np.asarray(np.round(keys / np.where(scale > 0, scale, 1.0), 9))
