"""Contenders: the systems that the data cannot distinguish from the cheapest.

One procedure stands behind four statements, so that no two of them can disagree: a system is
clearly the cheapest; it is the only contender; every simultaneous interval of a difference to it
excludes zero; the adjusted p-values of all others are below 1 − level.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._text import always, text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.likelihood import Support, profile_bounds, profile_ratio
from stakes.inference.max_law import bonferroni_law, max_law
from stakes.inference.profile import MOST_BLIND
from stakes.inference.sampling import CostErrors, checked_added, cost_errors
from stakes.inference.schemes import Clusters
from stakes.inference.supports import difference_support
from stakes.inference.weight_strata import WeightStrata
from stakes.problem import Problem
from stakes.tally import JointCounts


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
    system to the cheapest one has (see `effective_cases`), and the likelihood is that of the cases
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
