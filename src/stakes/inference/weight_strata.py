r"""Rows of equal weight: the strata of a sample whose rows stand for different numbers of cases.

An audit checks all flagged cases and one in ten of the others; its rows weigh 1 and 10. The rows of
one weight are a sample of their own, in which every row counts once, and the estimate is the mean
of their means :math:`m_h`, with shares :math:`W_h = w_h n_h / \sum_g w_g n_g` of all weight: a
likelihood with several strata, see `likelihood`. How much an unseen mistake could change the
estimate thus depends on the stratum that it would be in, and a mistake of a heavy row is not spread
over the light ones, as it is where a design effect divides all numbers of cases alike.

The shares are estimated from the rows as well. Where each case got into the sample with the
probability :math:`1/w_h`, independently of the others, they add

.. math:: \frac{\sum_h n_h w_h^2 (m_h - \theta)^2}{(\sum_h n_h w_h)^2}

to the variance of the estimate: together with the variance within the strata this is that of a
weighted mean, which takes each row as drawn by itself. Where exactly one in ten was checked, the
shares are known better than that, and intervals are somewhat wider than necessary.

Often decisions say which stratum a case is in: what one of two systems flagged was checked. Where
each decision of a system, or pair of decisions of two, that was seen lies in a single stratum, and
not by chance, the stratum is taken to be a function of it, and differences between systems are
compared among the decisions that are then possible in a stratum: where both systems passed all
cases, they do not differ, and the interval is as narrow as with all labels. A decision that was
seen nowhere stays possible everywhere. Without such a rule, all decisions are possible in every
stratum.

Where each class lies in one stratum, as where one in twenty negatives was kept, the strata do not
say how often a mistake was possible in each, and the design effect of `effective_cases` remains, as
it does for clusters, for a stated prior, whose classes have shares of their own, and for more than
twenty different weights.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.likelihood import Support
from stakes.tally import JointCounts

MOST_STRATA = 20  # different weights; beyond, strata of few rows say little about their means
_ROUNDING = 1e-9  # relative, of weights that are equal
_BY_CHANCE = 1e-6  # probability that decisions lie in one stratum each without a rule
_MOST_SYSTEMS = 40  # of which all pairs are looked at


@record
class WeightStrata(Value):
    """How many rows of each weight there are in each cell of a tally.

    Attributes
    ----------
    weights : (H,) different weights
    rows : (H, …) numbers of rows, behind the first axis of the shape of the weights of the tally

    Examples
    --------
    Of ten rows in the first cell one stands for ten cases:

    >>> strata = WeightStrata(np.array([1.0, 10.0]), np.array([[9.0, 2.0], [1.0, 0.0]]))
    >>> strata.squares
    array([109.,   2.])
    """

    weights: FloatArray
    rows: FloatArray

    @property
    def squares(self) -> FloatArray:
        """The sums of squared weights, of the shape of the weights of the tally."""
        return np.asarray(np.tensordot(self.weights**2, self.rows, axes=1))


def few_weights(weights: FloatArray) -> FloatArray | None:
    """The different weights in increasing order; None where there are more than twenty.

    Weights that differ by rounding are one, the least of them.

    Parameters
    ----------
    weights : (n,) positive weights

    Returns
    -------
    the different weights, (H,), or None

    Examples
    --------
    >>> few_weights(np.array([10.0, 1.0, 10.0]))
    array([ 1., 10.])
    """
    distinct = np.unique(weights)
    distinct = distinct[np.diff(distinct, prepend=0.0) > _ROUNDING * distinct]
    return distinct if distinct.size <= MOST_STRATA else None


def stratum_of(weights: FloatArray, distinct: FloatArray) -> IntArray:
    """The position (n,) of each weight among the `few_weights`.

    Parameters
    ----------
    weights : (n,) positive weights
    distinct : (H,) the different ones

    Returns
    -------
    positions, (n,)

    Examples
    --------
    >>> stratum_of(np.array([10.0, 1.0, 10.0]), np.array([1.0, 10.0]))
    array([1, 0, 1])
    """
    _check.shapes("h", distinct=distinct)
    return np.searchsorted(distinct, weights, side="right") - 1


def summed(
    squares: FloatArray | WeightStrata | None, sums: Callable[[FloatArray], FloatArray]
) -> FloatArray | WeightStrata | None:
    """What is known of the weights of cells, summed into other cells.

    Parameters
    ----------
    squares : sums of squared weights, or the rows by their weight; None for cases
    sums : sums numbers of the cells (…, C) into others

    Returns
    -------
    the same for the other cells

    Examples
    --------
    >>> strata = WeightStrata(np.array([1.0, 10.0]), np.array([[9.0, 2.0], [1.0, 0.0]]))
    >>> summed(strata, lambda cells: cells.sum(axis=-1, keepdims=True)).squares
    array([111.])
    """
    if squares is None:
        return None
    if isinstance(squares, WeightStrata):
        return WeightStrata(squares.weights, sums(squares.rows))
    return sums(squares)


def checked_squares(squares: object, shape: tuple[int, ...]) -> FloatArray:
    """Sums of squared weights, one for each weight of a tally of this shape."""
    squared = squares.squares if isinstance(squares, WeightStrata) else squares
    squared = _check.non_negative("squares", squared)
    if squared.shape != shape:
        raise InputError(
            f"squares must have the shape {shape} of the weights of the tally, a sum of squared "
            f"weights for each; the shape is {squared.shape}. Add them up as the weights."
        )
    return squared


def combined(supports: list[Support], weights: FloatArray) -> Support:
    """The support of a mean over strata, from that of each stratum by itself.

    Parameters
    ----------
    supports : of H strata whose rows count once each
    weights : (H,) how many cases a row of each stratum stands for

    Returns
    -------
    the support of the mean over all strata

    Examples
    --------
    Nine rows without a mistake and one with, which stands for ten cases:

    >>> values, ends = np.array([[0.0, 1.0]]), (np.zeros(1), np.ones(1))
    >>> parts = [Support(values, np.array([n]), *ends) for n in ([9.0, 0.0], [0.0, 1.0])]
    >>> both = combined(parts, np.array([1.0, 10.0]))
    >>> both.highest.round(3), round(float(both.mean), 3), round(float(both.between), 3)
    (array([0.474, 0.526]), 0.526, 0.069)
    """
    size = max(support.values.shape[-1] for support in supports)

    def joined(name: str) -> FloatArray:
        parts = [getattr(support, name) for support in supports]
        if name in ("values", "counts"):  # cells that a stratum lacks have no count
            parts = [
                np.pad(part, [(0, 0)] * (part.ndim - 1) + [(0, size - part.shape[-1])])
                for part in parts
            ]
            return np.concatenate(np.broadcast_arrays(*parts), axis=-2)
        return np.concatenate(np.broadcast_arrays(*parts), axis=-1)

    values, counts = joined("values"), joined("counts")
    rows = counts.sum(axis=-1)  # (…, H)
    mass = rows * weights
    shares = mass / mass.sum(axis=-1, keepdims=True)
    means = (counts * values).sum(axis=-1) / np.where(rows > 0, rows, 1.0)
    apart = means - np.sum(shares * means, axis=-1, keepdims=True)
    return Support(
        values=values * shares[..., None],
        counts=counts,
        lowest=joined("lowest") * shares,
        highest=joined("highest") * shares,
        between=np.asarray(np.sum(shares * weights * apart**2, axis=-1) / mass.sum(axis=-1)),
    )


@record
class StratumRule:
    """How the decisions of one system, or of two, say which stratum a case is in.

    Attributes
    ----------
    systems : positions of the systems
    strata : (M,) or (M, M) the stratum of each decision, or pair of decisions; −1: seen nowhere
    """

    systems: tuple[int, ...]
    strata: IntArray

    def possible(self, pairs: IntArray, able: BoolArray, n_strata: int) -> BoolArray:
        """Which pairs of decisions two systems can take in each stratum, (H, P, M, M).

        Parameters
        ----------
        pairs : (P, 2) positions of systems
        able : (J, M) which decisions each system can take at all
        n_strata : H

        Returns
        -------
        booleans, (H, P, M, M)

        Examples
        --------
        Cases that the first system flags are in the first stratum; the second one may flag any:

        >>> rule = StratumRule((0,), np.array([1, 0]))
        >>> rule.possible(np.array([[0, 1]]), np.ones((2, 2), dtype=bool), 2)[1, 0]
        array([[ True,  True],
               [False, False]])
        """
        size = able.shape[-1]
        possible = np.zeros((n_strata, len(pairs), size, size), dtype=np.bool_)
        for decided in np.ndindex(*self.strata.shape):
            if not able[self.systems, decided].all():
                continue
            agrees = np.ones((len(pairs), size, size), dtype=np.bool_)
            for system, decision in zip(self.systems, decided, strict=True):
                taken = np.arange(size) == decision
                agrees &= ((pairs[:, :1] != system) | taken)[:, :, None]
                agrees &= ((pairs[:, 1:] != system) | taken)[:, None, :]
            stratum = int(self.strata[decided])
            possible[stratum if stratum >= 0 else slice(None)] |= agrees
        return possible


def stratum_rule(strata: WeightStrata, joint: JointCounts) -> StratumRule | None:
    """The rule by which decisions say which stratum a case is in; None where they do not.

    Parameters
    ----------
    strata : rows of each weight, (H, …, T)
    joint : the tuples of decisions

    Returns
    -------
    the rule, or None

    Examples
    --------
    >>> from stakes import Problem
    >>> flagged = [0] * 30 + [1] * 20
    >>> joint = JointCounts.from_decisions([0, 1] * 25, {"old": flagged}, Problem.zero_one(2))
    >>> rows = np.array([[0.0, 10.0, 0.0, 10.0], [15.0, 0.0, 15.0, 0.0]])
    >>> stratum_rule(WeightStrata(np.array([1.0, 10.0]), rows), joint).strata
    array([1, 0])
    """
    size, columns = len(joint.decisions), joint.cells.T[1:]
    rows = strata.rows.reshape(len(strata.rows), -1, len(joint.cells)).max(axis=1)
    total = rows.sum(axis=1)
    with np.errstate(divide="ignore"):
        log_share = np.log(total / total.sum())
    for n_systems in (1, 2) if len(columns) <= _MOST_SYSTEMS else ():
        for systems in combinations(range(len(columns)), n_systems):
            code = np.ravel_multi_index([columns[j] for j in systems], (size,) * n_systems)
            table = np.stack([np.bincount(code, row, size**n_systems) for row in rows])
            if ((table > 0).sum(axis=0) > 1).any():
                continue
            places = np.where(table.any(axis=0), table.argmax(axis=0), -1)
            seen = places >= 0
            # The first row of each decision is in some stratum; all others must follow it.
            others = table.sum(axis=0)[seen] - 1
            if others @ log_share[places[seen]] < np.log(_BY_CHANCE):
                return StratumRule(systems, places.reshape((size,) * n_systems))
    return None
