"""Contenders, and what the cheapest of several systems costs after it was chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import least, least_shares, ratio
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._text import always, text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.comparison import triangular_root
from stakes.inference.estimate import (
    Measured,
    chi_square_tail,
    directions,
    fixed_normals,
    t_quantile,
    t_tail,
)
from stakes.inference.likelihood import Support, WeightStrata, profile_bounds, profile_ratio
from stakes.inference.profile import MOST_BLIND, difference_support
from stakes.inference.sampling import CostErrors, checked_added, cost_errors
from stakes.inference.schemes import Clusters
from stakes.problem import Problem
from stakes.tally import JointCounts

# How large the largest of many standardised differences becomes by chance alone ------------------
#
# Critical values and adjusted p-values of simultaneous comparisons come from this distribution. It
# is integrated over fixed directions, so that results are reproducible.

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


# Contenders: the systems that the data cannot distinguish from the cheapest ----------------------
#
# One procedure stands behind four statements, so that no two of them can disagree: a system is
# clearly the cheapest; it is the only contender; every simultaneous interval of a difference to it
# excludes zero; the adjusted p-values of all others are below 1 − level.


@record(repr=False)
class Contenders(Value):
    """Which systems may be the cheapest, and how each compares with the cheapest in the sample.

    Attributes
    ----------
    names : J systems
    costs : (J,)
    cheapest : position of the lowest cost, the first of those that tie; −1 if costs are undefined
    differences, low, high : (J,)
        Cost minus that of the cheapest, with intervals that hold for all differences of a system
        at once.
    tied : (T,)
        Positions of the systems that tie for the cheapest, one for each way to decide; `cheapest`
        is the first.
    standard_errors : (T, J)
        Of the differences to each of those that tie, by the lower half of the interval that each
        alone would have; unlike those of `errors` they allow for mistakes that no case shows.
    p_values : (J,) adjusted: 1 − the lowest level at which a system is among the contenders
    critical : (J,) the critical values of the intervals; their squares are likelihood thresholds
    level : at which the set is meant to contain the system that is truly the cheapest
    errors : costs and sampling errors of all systems of the tally, compared or not

    Examples
    --------
    Two systems have an error in one case of four, though not in the same one:

    >>> from stakes import JointCounts, Problem
    >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25, "alt": [0, 1, 1, 1] * 25}
    >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
    >>> choice = contenders(joint, Problem.zero_one(2))
    >>> choice.costs.tolist(), choice.contenders, choice.clear
    ([0.5, 0.25, 0.25], ('new', 'alt'), False)
    """

    names: Labels
    costs: FloatArray
    cheapest: int
    differences: FloatArray
    low: FloatArray
    high: FloatArray
    tied: IntArray
    standard_errors: FloatArray
    p_values: FloatArray
    critical: FloatArray
    level: float
    errors: CostErrors

    @property
    def contenders(self) -> Labels:
        """The contenders, cheapest first."""
        return self.at(self.level)

    @property
    def clear(self) -> bool:
        """Whether one system is clearly the cheapest: it is the only contender."""
        return self.cheapest >= 0 and len(self.contenders) == 1

    @property
    def p_value(self) -> float:
        """P-value of the claim that the cheapest is clearly so: the largest of the others'."""
        if self.cheapest < 0:
            return 1.0
        return float(np.delete(self.p_values, self.cheapest).max(initial=0.0))

    def at(self, level: float) -> Labels:
        """The contenders at another level, cheapest first.

        Parameters
        ----------
        level : confidence level

        Returns
        -------
        labels of the contenders

        Examples
        --------
        >>> from stakes import JointCounts, Problem
        >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> contenders(joint, Problem.zero_one(2)).at(0.9)
        ('new',)
        """
        stays = np.flatnonzero(self._stays(_check.level(level)))
        scale = np.abs(self.differences).max(initial=0.0)
        rounded = np.round(self.differences / (scale or 1.0), 9)  # equal costs keep their order
        order = np.lexsort([rounded[stays], stays != self.cheapest])
        return tuple(self.names[i] for i in stays[order])

    def _stays(self, level: float) -> BoolArray:
        return np.asarray(~(self.p_values < 1 - level))

    def __str__(self) -> str:
        header = ["", "cost", "more", f"{100 * self.level:.4g}% low", "high", "p", ""]
        stays = self._stays(self.level)
        parts = zip(self.differences, self.low, self.high, self.p_values, strict=True)
        rows = [
            [name, f"{cost:.4g}", *(f"{part:.4g}" for part in row), "contender" * bool(stay)]
            for name, cost, row, stay in zip(self.names, self.costs, parts, stays, strict=True)
        ]
        return text_table(header, rows)

    __repr__ = __str__


def contenders(
    joint: JointCounts,
    problem: Problem,
    *,
    level: float = 0.95,
    among: object = None,
    reachable: object = None,
    squares: FloatArray | WeightStrata | None = None,
    fitting: FloatArray | None = None,
    added: object = None,
    unaided: Label | None = None,
) -> Contenders:
    r"""The systems that are not clearly more expensive than the cheapest, j.

    System i leaves when the profile likelihood interval of its difference to j lies above zero at
    the threshold :math:`c_i^2`, where :math:`c_i` is the quantile of

    .. math:: \max_k |D_i - D_k| / sd_{ik}

    for normal errors D with the covariance of the costs: a *simultaneous* interval, because which
    system is the cheapest was not known beforehand. The set contains the system that is truly the
    cheapest with about the probability `level`, or more (Hsu 1981; Gupta 1965). Deterministic: the
    errors are taken along fixed directions, and their length is integrated by formula; for two
    systems the interval is that of the difference alone. Systems that decide alike stay together.

    With clusters D is Student's t with the fewest degrees of freedom that the difference of a
    system to the cheapest one has (see `sampling`), and the likelihood is that of the cases
    divided by the design effect. Fewer than 29 degrees do not show how the differences depend on
    each other; the correction is then Bonferroni's. With one cluster all systems stay.

    Parameters
    ----------
    joint : without leading axis, or with one of clusters
    problem : what is at stake: costs, prior, labels
    level : confidence level, such as 0.95
    among : the systems that are compared; all without it
    reachable : (M,) or (J, M) of bool, the decisions that systems can take; all without it
    squares : sums of squared weights, like the weights of joint, or the rows by their weight
    fitting : (J, J) covariance that fitting adds to the costs, as `fitting_covariance` has it
    added : (J,) what each system costs per case besides its decisions, such as to run it
    unaided : a system of the tally; of those that tie, one that decides as it does is the cheapest

    Returns
    -------
    the cheapest system and those that cannot be distinguished from it

    Examples
    --------
    >>> y = [0, 0, 1, 1] * 25
    >>> decided = {"a": y, "b": [0, 1, 1, 1] * 25, "c": [0, 0, 1, 1] * 24 + [0, 1, 1, 0]}
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2))
    >>> contenders(joint, Problem.zero_one(2), level=0.95)
       cost  more   95% low     high         p
    a     0     0         0        0         1  contender
    b  0.25  0.25    0.1679    0.346  7.33e-09
    c  0.02  0.02  -0.01912  0.07173    0.3644  contender
    """
    errors = cost_errors(joint, problem, squares=squares, fitting=fitting, added=added)
    rivals = errors.among(checked_names(joint.models, among))
    design = {"reachable": reachable, "squares": squares}
    return contenders_among(
        rivals,
        errors,
        lambda base: _support(joint, problem, rivals, base, **design),
        level=level,
        reach=cost_spread(problem),
        added=added,
        unaided=unaided,
    )


def contenders_among(
    rivals: CostErrors,
    errors: CostErrors,
    support_of: Callable[[Label], Support],
    *,
    level: float,
    reach: float,
    added: object = None,
    unaided: Label | None = None,
) -> Contenders:
    """The contenders among rivals, from the errors of their costs and the range of differences.

    Parameters
    ----------
    rivals : costs and errors of the systems that are compared
    errors : costs and errors of all systems
    support_of : gives, for one rival, the support (J,) of the differences of all rivals to it
    level : confidence level, such as 0.95
    reach : the largest difference that the decisions about one case can make
    added : (J,) known costs per case besides decisions, of all systems
        `rivals` and `errors` include them, `support_of` does not.
    unaided : a system of `errors`; of those that tie, one that decides as it does is the cheapest

    Returns
    -------
    the cheapest system and those that cannot be distinguished from it

    Examples
    --------
    >>> from stakes.inference import cost_errors
    >>> problem, y = Problem.zero_one(2), [0, 0, 1, 1] * 25
    >>> decided = {"a": y, "b": [0, 1, 1, 1] * 25}
    >>> joint = JointCounts.from_decisions(y, decided, problem)
    >>> errors = cost_errors(joint, problem)
    >>> chosen = contenders_among(
    ...     errors, errors, lambda base: _support(joint, problem, errors, base),
    ...     level=0.95, reach=1.0)
    >>> chosen.contenders
    ('a',)
    """
    level = _check.level(level)
    places = [errors.names.index(name) for name in rivals.names]
    running = checked_added(added, errors.names)[places]
    ties = least(rivals.costs)
    if np.isnan(rivals.costs).any() or rivals.degrees == 0:
        return _undecided(rivals, level, errors, reach)
    # Every system that ties for the cheapest is a base of comparison, and a rival stays if it stays
    # against any of them: the order of the tied systems must not matter. Those that decide alike
    # are one base.
    tied = _distinct(np.flatnonzero(ties), rivals)
    if unaided is not None and tied.size > 1:
        tied = _simplest_first(tied, rivals, errors, unaided)
    supports = [support_of(rivals.names[place]).shifted(running - running[place]) for place in tied]
    differences = [np.where(ties, 0.0, rivals.costs - rivals.costs[place]) for place in tied]
    tests = list(zip(supports, differences, rivals.added[tied], strict=True))
    zero = np.zeros(rivals.costs.shape)
    ratio = np.min([profile_ratio(support, zero, *rest) for support, *rest in tests], axis=0)
    ratio[ties] = 0.0
    law = max_law(rivals)
    p_values = law.beyond(ratio)
    alone = bonferroni_law(rivals.degrees, 1).quantile(1 - level)
    thresholds = np.stack(np.broadcast_arrays(law.quantile(1 - level), alone))
    intervals = [profile_bounds(support, thresholds, *rest) for support, *rest in tests]
    # Bounds and p-values come from separate searches. Where they disagree by rounding, the p-value
    # decides: a contender's interval reaches down to zero.
    lows, highs = intervals[0]
    stays = ~(p_values < 1 - level)
    is_base = np.arange(ratio.size) == tied[:, None]
    apart = np.stack(differences) - np.stack([low[1] for low, _ in intervals])
    return Contenders._trusted(
        names=rivals.names,
        costs=rivals.costs,
        cheapest=int(tied[0]),
        differences=differences[0],
        low=np.where(is_base[0], 0.0, np.where(stays, np.minimum(lows[0], 0.0), lows[0])),
        high=np.where(is_base[0], 0.0, highs[0]),
        tied=tied,
        standard_errors=np.where(is_base, 0.0, apart / np.sqrt(alone)),
        p_values=p_values,
        critical=np.sqrt(thresholds[0]),
        level=level,
        errors=errors,
    )


def _distinct(places: IntArray, rivals: CostErrors) -> IntArray:
    """Of systems that cost the same, the first of each group that decides alike."""
    alike = rivals.variances[np.ix_(places, places)] == 0
    first: IntArray = places[np.argmax(alike, axis=1) == np.arange(places.size)]
    return first


def _simplest_first(
    places: IntArray, rivals: CostErrors, errors: CostErrors, unaided: Label
) -> IntArray:
    """Systems that cost the same, that first which decides as the unaided one does, if any."""
    simplest = errors.names.index(unaided)
    tied = [errors.names.index(rivals.names[place]) for place in places]
    costs, cost = errors.costs[tied], errors.costs[simplest]
    alike = (errors.variances[tied, simplest] == 0) & (np.abs(costs - cost) <= 1e-12 * abs(cost))
    return places[np.argsort(~alike, kind="stable")]


def _undecided(rivals: CostErrors, level: float, errors: CostErrors, reach: float) -> Contenders:
    """The result where all systems stay: costs are undefined, or there is a single cluster.

    The interval of a difference is then the whole range that decisions can make.
    """
    known = least(rivals.costs)
    cheapest = int(np.argmax(known)) if known.any() else -1
    apart = np.where(np.isnan(rivals.costs), np.nan, reach)
    apart[cheapest] *= 0.0  # nan stays
    return Contenders._trusted(
        names=rivals.names,
        costs=rivals.costs,
        cheapest=cheapest,
        differences=rivals.costs - rivals.costs[cheapest],
        low=0.0 - apart,
        high=apart,
        tied=np.flatnonzero(known)[:1],
        standard_errors=np.full((1, known.size), np.nan),
        p_values=np.ones(known.shape),
        critical=np.full(known.shape, np.inf),
        level=level,
        errors=errors,
    )


def cost_spread(problem: Problem) -> float:
    """The largest difference between the costs of two systems: that of one case, or under a prior.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    the difference per case

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> cost_spread(problem), cost_spread(problem.with_prior([0.9, 0.1]))
    (9.0, 1.8)
    """
    _check.require("problem", problem, Problem)
    spread = np.ptp(problem.costs, axis=1)
    return float(spread.max() if problem.prior is None else problem.prior @ spread)


def with_blind(
    joint: JointCounts, problem: Problem, named: Label | None = None
) -> tuple[JointCounts, BoolArray]:
    """The tally with the blind decisions as further systems, and what all can reach, (J + M, M).

    They are called "always DECISION". Such a system can take only one decision, which its data
    alone would not prove; the others are assumed to be able to take every decision. Of more than
    256 decisions only those that are the cheapest for these cases are added, and the one that is
    `named`.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problem : what is at stake: costs, prior, labels
    named : a blind decision that is taken whatever it costs, or None

    Returns
    -------
    the joint counts, and which decisions each system can take, (J + M, M)

    Examples
    --------
    >>> joint = JointCounts.from_decisions([0, 1], {"a": [0, 1]}, Problem.zero_one(2))
    >>> joint, reachable = with_blind(joint, Problem.zero_one(2))
    >>> joint.models
    ('a', 'always 0', 'always 1')
    >>> reachable
    array([[ True,  True],
           [ True, False],
           [False,  True]])
    """
    _check.require("joint", joint, JointCounts)
    places = _cheapest_blind(joint, problem, named)
    names = tuple(always(problem.decisions[place]) for place in places)
    constant = np.broadcast_to(places, (len(joint.cells), len(places)))
    wider = joint._but(
        cells=np.concatenate([joint.cells.T, constant.T]).T,  # columns are what will be read
        models=_check.labels("models", (*joint.models, *names)),
    )
    every = np.ones((len(joint.models), problem.n_decisions), dtype=np.bool_)
    return wider, np.concatenate([every, np.eye(problem.n_decisions, dtype=np.bool_)[places]])


def _cheapest_blind(joint: JointCounts, problem: Problem, named: Label | None) -> IntArray:
    """Positions of the blind decisions that take part, in the order of the problem."""
    _check.require("problem", problem, Problem)
    if problem.n_decisions <= MOST_BLIND:
        return np.arange(problem.n_decisions)
    weights = joint.weights.reshape(-1, len(joint.cells)).sum(axis=0)
    shares = np.bincount(joint.cells[:, 0], weights, problem.n_classes)
    costs = (shares if problem.prior is None else problem.prior) @ problem.costs
    if named is not None:
        costs[problem.decisions.index(named)] = -np.inf
    return np.sort(np.argsort(costs, kind="stable")[:MOST_BLIND])


def checked_names(known: Labels, among: object) -> Labels:
    """The systems that are compared: all that are known, or some of these."""
    if among is None:
        return known
    names = _check.labels("among", among)
    strangers = [name for name in names if name not in known]
    if strangers or not names:
        evidence = f"{strangers[0]!r} is none" if strangers else "it names none"
        raise InputError(
            f"among must name systems of the tally, {known}; {evidence}. "
            f"Leave it out to compare all."
        )
    return names


def _support(
    joint: JointCounts, problem: Problem, rivals: CostErrors, base: Label, **design: Any
) -> Support:
    """Support of the costs of systems less that of a base system."""
    pairs = [(joint.models.index(name), joint.models.index(base)) for name in rivals.names]
    scheme = Clusters() if joint.weights.ndim == 2 else None
    return difference_support(joint, problem, pairs, scheme=scheme, **design)


# -------------------------------------------------------------------------------------------------
# The winner: what the cheapest of several systems costs, after it was chosen on the same
# cases.
#
# The lowest of several costs is low partly because its system is good and partly by luck.
# Simulation says how much is luck: the costs of the contenders are shrunk towards their mean, to
# undo the spread that is due to noise, and get new errors; the mean error of the cheapest is the
# bias. No decision costs less than the best one, so that where expensive mistakes are rare the
# cheapest cannot have been as lucky as normal errors would make it.

_DRAWS = 2048  # of fixed normal numbers, so that the result is deterministic
_SHRINKAGES = 64  # points of the integral over the shrinkage


@record
class SelectionEffect(Value):
    r"""How choosing the cheapest biases its cost, or what it saves; zero where there is no choice.

    Attributes
    ----------
    bias : how much too cheap the cheapest looks on average, ≥ 0
    reach : how far the upper bound of its cost has to move up to allow for the choice, ≥ 0
    shrinkage : from 0 (noise explains how the contenders differ) to 1 (it does not)

    Examples
    --------
    Two systems err in 10 of 100 cases each, never together: the standard error of their difference
    is 0.045. If they are equally good, the better one looks too cheap by :math:`se / \sqrt{2\pi}`:

    >>> from stakes import JointCounts, Problem
    >>> from stakes.inference import contenders
    >>> decided = {"a": [0, 1] * 40 + [1, 1] * 10, "b": [1, 1] * 10 + [0, 1] * 40}
    >>> joint = JointCounts.from_decisions([0, 1] * 50, decided, Problem.zero_one(2))
    >>> effect = selection_effect(contenders(joint, Problem.zero_one(2)))
    >>> round(effect.bias, 3), effect.shrinkage
    (0.018, 0.0)
    """

    bias: float
    reach: float
    shrinkage: float

    def cost(self, value: float, low: float, high: float, *, most: float) -> Measured:
        """The cost of the winner, from its interval without the correction.

        Parameters
        ----------
        value, low, high : the cost and its interval, without the correction
        most : what the winner can cost; the corrected interval does not go beyond

        Returns
        -------
        the corrected cost and interval

        Examples
        --------
        >>> effect = SelectionEffect(bias=0.1, reach=0.3, shrinkage=0.0)
        >>> effect.cost(2.0, 1.5, 2.5, most=9.0)
        Measured(value=2.1, low=1.5, high=2.8)
        """
        value, low, high, most = _numbers(value=value, low=low, high=high, most=most)
        farther = max(high, min(high + self.reach, most))  # an interval never shrinks
        return Measured(min(value + self.bias, farther), low, farther)

    def saving(self, value: float, low: float, high: float, *, least: float) -> Measured:
        """What the winner saves against another, from its interval without the correction.

        Parameters
        ----------
        value, low, high : the saving and its interval, without the correction
        least : the saving that there is at the worst; the corrected interval does not go beyond

        Returns
        -------
        the corrected saving and interval

        Examples
        --------
        >>> effect = SelectionEffect(bias=0.1, reach=0.3, shrinkage=0.0)
        >>> effect.saving(2.0, 1.5, 2.5, least=-9.0)
        Measured(value=1.9, low=1.2, high=2.5)
        """
        value, low, high, least = _numbers(value=value, low=low, high=high, least=least)
        farther = min(low, max(low - self.reach, least))
        return Measured(max(value - self.bias, farther), farther, high)


def _numbers(**named: float) -> list[float]:
    """A value and its bounds, each checked to be one number."""
    return [float(_check.reals(name, number, ndim=0)) for name, number in named.items()]


def selection_effect(
    choice: Contenders, *, against: Label | None = None, alternative: Label | None = None
) -> SelectionEffect:
    r"""What choosing the cheapest does to its cost, or to what it saves against a fixed system.

    With the costs :math:`X_K` of the contenders, their mean, and errors D of their covariance
    (fixed normal numbers),

    .. math::

        f^2 &= \max\{0, 1 - \mathrm{E} \sum_K (D_i - \bar D)^2 / \sum_K (X_i - \bar X)^2\} \\
        Z &= \bar X + f (X_K - \bar X) + D, \quad i = \arg\min Z, \quad e = D_i

    the bias is the mean of −e, where no cost Z falls below that of the best decision about every
    case: the errors of rare expensive mistakes are not normal, and fewer than none cannot be seen.
    The upper limit moves by as much as the lower quantile of e is beyond that of the cheapest
    alone, times Student's quantile over the normal one for clusters.
    Shrinkage is within the contenders only: a system that is out of the running says nothing about
    how close the others are.

    Where there is an alternative u, whether to take any system is a choice, too, even if there is a
    single contender. What each of them saves is shrunk by itself, because noise that spreads the
    contenders says nothing about that:

    .. math::

        g_i = X_u - X_i, \quad f_i^2 = \max\{0, 1 - \mathrm{E} (D_u - D_i)^2 / g_i^2\}, \quad
        f_i g_i + D_u - D_i > 0

    says whether a draw takes its cheapest system i. Mean and quantile of e are then those of the
    draws that end as these cases did: with a system, or without one. What is said of a system is
    read where it is taken, so it must be right on average over the samples that take it. On average
    over all samples a smaller correction would do, because those in which the system looks too
    expensive, and is not taken, make up for the others.

    Against a fixed system e is the error of the difference, :math:`D_i - D_u` if that is the
    alternative, which looks more expensive than it is where a system is taken. Nothing moves where
    there is no choice: one contender and no alternative. A contender that decides as the
    alternative does and costs the same is that alternative.

    Parameters
    ----------
    choice : the contenders, from `contenders`
    against : a system of the tally that was not chosen, such as a blind decision; the effect is
        then that on the difference to it
    alternative : a system of the tally that is taken if it is cheaper, such as a blind decision

    Returns
    -------
    by how much the observed cost is too low, and how much farther up it may lie

    Examples
    --------
    >>> from stakes import JointCounts, Problem
    >>> from stakes.inference import contenders, with_blind
    >>> y = [0, 0, 1, 1] * 25
    >>> decided = {"a": [0, 0, 1, 1] * 24 + [0, 1, 1, 1], "b": [0, 0, 1, 1] * 24 + [0, 1, 1, 0]}
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2))
    >>> effect = selection_effect(contenders(joint, Problem.zero_one(2)))
    >>> round(effect.bias, 4), effect.shrinkage
    (0.0029, 0.0)

    A single model errs in 48 of 100 cases, and always to decide the same in 50. Its difference has
    a standard error of 0.1, so that it is taken by luck, and its cost is corrected for that:

    >>> decided = {"a": [0, 1, 1, 0] * 24 + [0, 0, 1, 1]}
    >>> joint, _ = with_blind(JointCounts.from_decisions(y, decided, Problem.zero_one(2)),
    ...                       Problem.zero_one(2))
    >>> choice = contenders(joint, Problem.zero_one(2), among=["a"])
    >>> round(selection_effect(choice, alternative="always 0").bias, 3)
    0.028
    """
    names, winner = _rivals(choice, against, alternative), choice.names[choice.cheapest]
    fixed = tuple(name for name in dict.fromkeys((alternative, against)) if name is not None)
    errors = choice.errors.among((*names, *fixed))
    f = _kept(errors.among(names)) if len(names) > 1 else 1.0
    is_choice = winner in names and len(names) + (alternative is not None) > 1
    if not is_choice or errors.degrees == 0 or np.isnan(errors.costs).any():
        return SelectionEffect(0.0, 0.0, f)
    again = _chosen_again(errors, names, f, winner, alternative)
    other = -again.best if against is None else again.errors[:, errors.names.index(against)]
    error = (again.errors[again.places] - other)[again.alike]
    bias = max(0.0, -float(np.mean(error + again.missing[again.alike])))
    # How much lower the error of the chosen system may be than that of a system fixed in advance.
    share = (1 - choice.level) / 2
    before = float(np.quantile(again.errors[:, names.index(winner)] - other, share))
    beyond = max(0.0, before - float(np.quantile(error, share)))
    # The draws are normal; with few clusters Student's tails are wider by this factor.
    normal, student = (float(t_quantile(degrees, share)) for degrees in (np.inf, errors.degrees))
    return SelectionEffect(bias, student / normal * beyond, f)


@record
class _Again:
    """The choice made again in R draws of the errors of J systems.

    `errors` (R, J) are above those of the best decisions, `best` (R,); `places` finds the error of
    the chosen system, `missing` (R,) is how far its cost would fall below that of the best
    decisions, and `alike` (R,) says which draws end as the data did: with a system, or without.
    """

    errors: FloatArray
    best: FloatArray
    places: tuple[IntArray, IntArray]
    missing: FloatArray
    alike: BoolArray


def _chosen_again(
    errors: CostErrors, names: Labels, f: float, winner: Label, alternative: Label | None
) -> _Again:
    """The choice among the first systems, and that of the next one as an alternative, if any."""
    size = len(names)
    drawn, best = _errors_above_best(errors, size)
    # From costs that are shrunk towards each other: as observed they differ by noise as well as by
    # merit.
    costs, centre = errors.costs[:size], errors.costs[:size].mean()
    shrunk = centre + f * (costs - centre) + drawn[:, :size]
    places = np.arange(_DRAWS), np.argmin(shrunk, axis=1)
    alike, missing = np.ones(_DRAWS, dtype=np.bool_), np.zeros(_DRAWS)
    if alternative is not None:
        gained = _kept_gaps(errors, size)[places[1]] + drawn[:, size] - drawn[places]
        is_taken = not least(errors.costs[[names.index(winner), size]])[1]
        alike = (gained > 0) == is_taken
    if errors.least is not None:
        missing = np.maximum(errors.least[places[1]] - shrunk[places], 0.0)
    return _Again(drawn, best, places, missing, alike)


def probability_cheapest(choice: Contenders) -> FloatArray:
    r"""A shrunk probability (J,) that each system is the cheapest, for tables.

    No such number is right for every truth: that of a bootstrap says about 40 % of the first of
    twelve equal systems, where 8 % are right, because noise has spread the costs. Here the spread
    is shrunk by f = √(1 − b), averaged over what the costs say about b, with weights
    :math:`b^{(\nu - 1) / 2} e^{-bq/2}`, ν the effective number of dimensions of the errors and
    q = ν · spread / noise; right on average over many
    comparisons. Systems that are no contenders have 0. Two systems in few clusters: Student's
    :math:`T_\delta(gap / se)` with the degrees of freedom δ of `contenders`.

    A standard error knows nothing of expensive mistakes that no case shows, and the intervals do.
    An error is therefore never smaller than that of the interval (`Contenders.standard_errors`),
    and chances do not contradict the intervals. With two or three clusters, whose intervals are
    nearly as wide as the costs allow, they may: a contender may have next to no chance.

    Parameters
    ----------
    choice : the systems, their costs and the covariance of their errors

    Returns
    -------
    probabilities, (J,), which add up to 1

    Examples
    --------
    >>> from stakes import JointCounts, Problem
    >>> from stakes.inference import contenders
    >>> y = [0, 0, 1, 1] * 25
    >>> decided = {"a": [0, 0, 1, 1] * 24 + [0, 1, 1, 1], "b": [0, 0, 1, 1] * 24 + [0, 1, 1, 0]}
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2))
    >>> probability_cheapest(contenders(joint, Problem.zero_one(2))).round(2).tolist()
    [0.7, 0.3]
    """
    _check.require("choice", choice, Contenders)
    if np.isnan(choice.standard_errors).any():  # costs or errors are undefined
        return np.full(len(choice.names), np.nan)
    rivals = _widened(choice, choice.errors.among(_rivals(choice, None, None)))
    costs, degrees, size = rivals.costs, rivals.degrees, len(rivals.names)
    places = [choice.names.index(name) for name in rivals.names]
    chances = np.zeros(len(choice.names))
    covariance = _centred(rivals.covariance)
    noise = float(np.trace(covariance))
    if not noise > 1e-12 * float(np.trace(rivals.covariance)):  # one, or all decide alike
        chances[places] = 1 / size
        return chances
    # The draws below are normal, and few clusters have wider tails; for two systems there is a
    # formula.
    if size == 2 and degrees < FEW_DEGREES:
        t = (costs[1] - costs[0]) / np.sqrt(rivals.variances[0, 1])
        chances[places] = t_tail(degrees, np.array([-t, t]))
        return chances
    centred, drawn = costs - costs.mean(), _errors(rivals.covariance, canonical_order(rivals))
    # The unit keeps squares from over- and underflowing; as a power of two it rounds nothing.
    unit = 2.0 ** (np.frexp(noise)[1] // 2)
    noise, covariance = noise / unit**2, covariance / unit**2
    # Satterthwaite's number of dimensions: correlated errors count for fewer than J − 1.
    dimensions = noise**2 / float(np.sum(covariance**2))
    q = dimensions * float(np.sum((centred / unit) ** 2)) / noise
    b = (np.arange(_SHRINKAGES) + 0.5) / _SHRINKAGES
    log_weight = (dimensions - 1) / 2 * np.log(b) - b * q / 2
    weight = np.exp(log_weight - log_weight.max())  # the largest is 1, so that none overflows
    for part, f in zip(weight / weight.sum(), np.sqrt(1 - b), strict=True):
        # Systems that decide alike share what they win.
        chances[places] += part * least_shares(f * centred + drawn).mean(axis=0)
    # Systems that differ in nothing but their draws have the same chance.
    ranks = canonical_ranks(rivals)
    chances[places] = (np.bincount(ranks, chances[places]) / np.bincount(ranks))[ranks]
    return chances


def _rivals(choice: Contenders, against: Label | None, alternative: Label | None) -> Labels:
    """The contenders in their order, without the fixed systems, which must be in the tally."""
    _check.require("choice", choice, Contenders)
    errors = choice.errors
    for argument, name in (("against", against), ("alternative", alternative)):
        if name is None:
            continue
        _check.a_label(argument, name)
        if name not in errors.names:
            raise InputError(
                f"{argument} must be a system of the tally, {errors.names}; got {name!r}. "
                f"with_blind adds the blind decisions."
            )
    in_running = choice.contenders
    names = (name for name in choice.names if name in in_running and name != against)
    if alternative is None:
        return tuple(names)
    other = errors.names.index(alternative)
    apart = np.abs(errors.costs - errors.costs[other])
    same = (errors.variances[other] == 0) & (apart <= 1e-12 * abs(errors.costs[other]))
    return tuple(name for name in names if not same[errors.names.index(name)])


def _widened(choice: Contenders, rivals: CostErrors) -> CostErrors:
    """Errors as wide as the interval of each difference, or wider.

    Half of what is missing is an error of the cheapest, shared by all differences, and half is one
    of the rival: where nothing is known about any of them, all have the same chance. Systems that
    decide alike share their errors. Where several tie for the cheapest, what is added is the mean
    over them, times the factor with which no difference to any of them falls short.
    """
    places = [choice.names.index(name) for name in rivals.names]
    tied = [places.index(place) for place in choice.tied]
    variances = rivals.variances
    known = variances[tied]
    differs = (known > 0) | (choice.differences[places] != 0)
    missing = np.sqrt(np.maximum(choice.standard_errors[:, places] ** 2 - known, 0.0)) * differs
    alike = variances == 0  # as each is with itself
    added = missing.T @ missing * (1 + alike) / (2 * len(tied))
    reached = rivals._but(covariance=added).variances[tied]
    factor = np.max(ratio(missing**2, reached), where=reached > 0, initial=1.0)
    return rivals._but(covariance=rivals.covariance + factor * added)


def _kept(rivals: CostErrors) -> float:
    """The factor f by which the costs of the rivals are shrunk towards their mean."""
    spread = float(np.sum((rivals.costs - rivals.costs.mean()) ** 2))
    noise = float(np.trace(_centred(rivals.covariance)))
    return float(np.sqrt(max(0.0, 1 - noise / spread))) if spread > 0 else 0.0


def _centred(covariance: FloatArray) -> FloatArray:
    """The covariance of errors less their mean."""
    rows = covariance - covariance.mean(axis=0)
    return np.asarray(rows - rows.mean(axis=1, keepdims=True))


def _kept_gaps(errors: CostErrors, size: int) -> FloatArray:
    """What each of the first systems saves against the next one, shrunk towards zero, (size,)."""
    gaps = errors.costs[size] - errors.costs[:size]
    noise = np.minimum(ratio(np.sqrt(errors.variances[:size, size]), np.abs(gaps)), 1.0)
    return np.asarray(np.where(gaps == 0, 0.0, gaps * np.sqrt(1 - noise**2)))


def _errors_above_best(errors: CostErrors, size: int) -> tuple[FloatArray, FloatArray]:
    """Errors (R, J) of costs above those of the best decisions, and errors (R,) of the latter.

    The first `size` are rivals; those after them do not change their errors, and neither do the
    best decisions, which cost as much for all systems.
    """
    above, covariance = errors.above_least, errors.covariance
    order = [*canonical_order(above.among(errors.names[:size])), *range(size, len(errors.names))]
    if errors.shared is None:
        return _errors(covariance, np.array(order)), np.zeros(_DRAWS)
    with_best, variance = errors.shared[:-1] - errors.shared[-1], errors.shared[-1]
    covariance = np.block([[above.covariance, with_best[:, None]], [with_best, variance]])
    drawn = _errors(covariance, np.array([*order, len(order)]))
    return drawn[:, :-1], drawn[:, -1]


def _errors(covariance: FloatArray, order: IntArray) -> FloatArray:
    """Errors (R, J) with a covariance: fixed normals, centred, so that none is off on average.

    Those that come later in the order do not change the errors of those before them.
    """
    root = triangular_root(covariance[np.ix_(order, order)])
    root = root[:, root.any(axis=0)]
    # The same numbers every time make a report reproducible; centred, their mean adds no bias.
    numbers = fixed_normals(_DRAWS, root.shape[1])
    # One system after another in memory, because a few systems are compared in many draws.
    drawn = np.empty((_DRAWS, order.size), order="F")
    drawn[:, order] = (numbers - numbers.mean(axis=0)) @ root.T
    return drawn
