"""The winner: what the cheapest of several systems costs, after it was chosen on the same cases.

The lowest of several costs is low partly because its system is good and partly by luck. Simulation
says how much is luck: the costs of the contenders are shrunk towards their mean, to undo the spread
that is due to noise, and get new errors; the mean error of the cheapest is the bias. No decision
costs less than the best one, so that where expensive mistakes are rare the cheapest cannot have
been as lucky as normal errors would make it.
"""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._arithmetic import least, least_shares, ratio
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.comparison import triangular_root
from stakes.inference.estimate import Measured
from stakes.inference.max_law import FEW_DEGREES, canonical_order, canonical_ranks
from stakes.inference.normals import fixed_normals, t_quantile, t_tail
from stakes.inference.sampling import CostErrors
from stakes.inference.selection import Contenders

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
