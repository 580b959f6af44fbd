r"""Conditions: what a distribution on [0, 1] is about, cost proportions or skews; conversions.

Conversions between the words of several fields work elementwise and come in pairs that undo each
other. The cost proportion :math:`c = c_{FA} / (c_{FA} + c_{miss})` is the clinician's threshold
probability; the skew also includes the prevalence. Here a false alarm costs c, a miss 1 − c, and a
right decision nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import field

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.conditions.distributions import Distribution, Point, Sample, Uniform, as_distribution
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import ScoreTable


@record
class Condition(Value, ABC):
    """Which quantity a distribution is about; see `CostProportions` and `Skews`.

    Examples
    --------
    Skews allow for the class shares themselves, so that losses are those of balanced classes:

    >>> from stakes import CostProportions, ScoreTable, Skews
    >>> table = ScoreTable([0.2, 0.7], [[3, 0], [1, 1]])
    >>> [over.population(table).shares.tolist() for over in (CostProportions, Skews)]
    [[0.8, 0.2], [0.5, 0.5]]
    """

    distribution: Distribution = field(default_factory=Uniform)

    def __post_init__(self) -> None:
        self._fill({"distribution": as_distribution("distribution", self.distribution)})

    @classmethod
    @abstractmethod
    def population(cls, table: ScoreTable) -> ScoreTable:
        """Return the table whose class shares enter the losses.

        Parameters
        ----------
        table : distinct scores and the weight of each class at them

        Returns
        -------
        the same scores, with the class shares that the condition assumes

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> Skews().population(ScoreTable([0.2, 0.7], [[3, 0], [1, 1]])).shares.tolist()
        [0.5, 0.5]
        """


@record
class CostProportions(Condition):
    r"""The cost proportion is uncertain, the class shares are those of the table.

    .. math:: Q(t; c) = 2\{c\,\pi_0\,FPR(t) + (1-c)\,\pi_1\,FNR(t)\}

    The factor 2 makes the loss at c = 1/2 the error rate (hernandez-orallo, eq 3).

    Parameters
    ----------
    distribution : distribution of c; uniform unless stated

    Examples
    --------
    >>> CostProportions(Uniform(0, 0.2)).distribution.mean  # a miss costs at least four alarms
    0.1
    """

    @classmethod
    def population(cls, table: ScoreTable) -> ScoreTable:
        """Return the table as it is."""
        return table

    @classmethod
    def of(cls, problem: Problem) -> CostProportions:
        """The cost proportion of a problem with two classes and two decisions.

        Parameters
        ----------
        problem : two classes and two decisions

        Returns
        -------
        the condition, a single point

        Examples
        --------
        >>> CostProportions.of(Problem.binary(false_alarm=1, miss=9)).distribution
        Point(value=0.1)
        """
        _check.require("problem", problem, Problem)
        if not 0 <= problem.threshold <= 1:
            raise InputError(
                f"problem must weigh false alarms against misses; its threshold is "
                f"{problem.threshold:g}, so that one decision is always right. Take that decision; "
                f"no scores are needed."
            )
        return cls(Point(problem.threshold))

    @classmethod
    def from_costs(cls, false_alarm: npt.ArrayLike, miss: npt.ArrayLike) -> CostProportions:
        r"""The cost proportions of draws of both costs, weighted by the sums of the costs.

        Where costs are high, losses count for more: the expected loss in the unit of the costs is
        half the mean sum of both costs times the expected loss under this condition
        (hernandez-orallo, appendix A). A draw in which both costs are zero does not count.

        Parameters
        ----------
        false_alarm : draws of the cost of a false alarm
        miss : draws of the cost of a miss

        Returns
        -------
        the condition

        Examples
        --------
        The first draw has costs of 10 and 1, the second of 5 and 50. Proportions are listed in
        increasing order; the second draw comes first and weighs five times as much:

        >>> condition = CostProportions.from_costs([10, 5], [1, 50])
        >>> [round(float(w), 4) for w in condition.distribution.weights]
        [0.8333, 0.1667]
        """
        alarms = _check.non_negative("false_alarm", false_alarm, ndim=1)
        misses = _check.non_negative("miss", miss, ndim=1)
        _check.same_length(false_alarm=alarms, miss=misses)
        with np.errstate(over="ignore"):
            magnitude = alarms + misses
            total = float(magnitude.sum())
        if total and not 1e-150 < total < 1e150:
            raise InputError(
                f"false_alarm and miss must have a total between 1e-150 and 1e+150; it is "
                f"{total:g}. Choose another unit.",
                argument="false_alarm",
            )
        positive = magnitude > 0
        if not positive.any():
            raise InputError(
                f"false_alarm and miss must not be zero in every draw; all {positive.size} are. "
                f"Without costs nothing is at stake."
            )
        return cls(Sample(alarms[positive] / magnitude[positive], magnitude[positive]))


@record
class Skews(Condition):
    r"""Cost proportion and class shares are uncertain together, through the skew.

    .. math:: Q_z(t; z) = z\,FPR(t) + (1-z)\,FNR(t)

    This is `CostProportions` on a table whose classes have equal shares (hernandez-orallo,
    lemma 2). Rates, such as the share of positive decisions, are those of that population.

    Parameters
    ----------
    distribution : distribution of z; uniform unless stated

    Examples
    --------
    >>> Skews().distribution
    Uniform(low=0.0, high=1.0)
    """

    @classmethod
    def population(cls, table: ScoreTable) -> ScoreTable:
        """Return the table with equal class shares."""
        _check.require("table", table, ScoreTable)
        return table.with_prior([0.5, 0.5])


# Conversions -------------------------------------------------------------------------------------


def skew_from_cost_proportion(cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike) -> Numbers:
    r"""The skew :math:`z = c\pi_0 / (c\pi_0 + (1-c)\pi_1)`; nan where nothing is at stake.

    Parameters
    ----------
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    skew, elementwise

    Examples
    --------
    >>> float(skew_from_cost_proportion(0.1, prevalence=0.1))
    0.5
    """
    false_alarm, miss = _blind_costs(cost_proportion, prevalence)
    return ratio(false_alarm, false_alarm + miss)


def cost_proportion_from_skew(skew: npt.ArrayLike, prevalence: npt.ArrayLike) -> Numbers:
    r"""The cost proportion :math:`c = z\pi_1 / (z\pi_1 + (1-z)\pi_0)` of a skew.

    nan where every cost proportion has this skew: 1 at prevalence 0, and 0 at prevalence 1.

    Parameters
    ----------
    skew : the cost proportion combined with the class shares, z
    prevalence : share of positives

    Returns
    -------
    cost proportion, elementwise

    Examples
    --------
    >>> float(cost_proportion_from_skew(0.5, prevalence=0.1).round(9))
    0.1
    """
    z, positive = _check.probabilities("skew", skew), _check.probabilities("prevalence", prevalence)
    return ratio(z * positive, z * positive + (1 - z) * (1 - positive))


def cost_from_net_benefit(
    net_benefit: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    r"""Expected cost :math:`(1 - c)(\pi_1 - NB)` per case (ferrer-ec, eq 27).

    Parameters
    ----------
    net_benefit : true positives per case, net of false alarms
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives, π₁

    Returns
    -------
    expected cost, elementwise

    Examples
    --------
    Treating nobody misses everybody who is ill:

    >>> float(cost_from_net_benefit(0.0, 0.2, prevalence=0.1).round(9))
    0.08
    """
    c, positive = _checked(cost_proportion, prevalence)
    return unwrapped((1 - c) * (positive - _check.floats("net_benefit", net_benefit)))


def net_benefit_from_cost(
    cost: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    r"""Net benefit :math:`\pi_1 - EC / (1 - c)` of an expected cost; undefined at c = 1.

    Parameters
    ----------
    cost : expected cost per case
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    net benefit, elementwise

    Examples
    --------
    >>> float(net_benefit_from_cost(0.0, 0.2, prevalence=0.1).round(9))
    0.1
    """
    c, positive = _checked(cost_proportion, prevalence)
    per_miss = ratio(_check.floats("cost", cost), np.where(c < 1, 1 - c, np.nan))
    return unwrapped(positive - per_miss)


def relative_value_from_net_benefit(
    net_benefit: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    r"""Relative economic value: the share of what a perfect forecast would save that is saved.

    .. math:: 1 - \frac{(1 - c)(\pi_1 - NB)}{\min(c\pi_0,\, (1-c)\pi_1)}

    One is perfect; zero is as good as the better of treating everybody and treating nobody.
    Meteorologists draw it over the cost-loss ratio, which is c. Where treating everybody or nobody
    is already perfect, it is nan, or -inf for a net benefit that is less than perfect.

    Parameters
    ----------
    net_benefit : true positives per case, net of false alarms
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    relative value, elementwise

    Examples
    --------
    >>> float(relative_value_from_net_benefit(0.06, 0.1, prevalence=0.1).round(3))
    0.6
    """
    naive = np.minimum(*_blind_costs(cost_proportion, prevalence))
    cost = cost_from_net_benefit(net_benefit, cost_proportion, prevalence)
    return unwrapped(1 - ratio(cost, naive))


def net_benefit_from_relative_value(
    relative_value: npt.ArrayLike, cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> Numbers:
    """The net benefit of a relative economic value; undefined at c = 1.

    Parameters
    ----------
    relative_value : share of what perfect decisions would save
    cost_proportion : cost of a false alarm over the sum of both mistakes, c
    prevalence : share of positives

    Returns
    -------
    net benefit, elementwise

    Examples
    --------
    >>> float(net_benefit_from_relative_value(0.6, 0.1, prevalence=0.1).round(3))
    0.06
    """
    naive = np.minimum(*_blind_costs(cost_proportion, prevalence))
    lost = 1 - _check.floats("relative_value", relative_value)
    return net_benefit_from_cost(lost * naive, cost_proportion, prevalence)


def _checked(
    cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    c = _check.probabilities("cost_proportion", cost_proportion)
    return c, _check.probabilities("prevalence", prevalence)


def _blind_costs(
    cost_proportion: npt.ArrayLike, prevalence: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """What treating everybody costs, and what treating nobody costs."""
    c, positive = _checked(cost_proportion, prevalence)
    return np.asarray(c * (1 - positive)), np.asarray((1 - c) * positive)
