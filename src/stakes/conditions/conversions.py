r"""Conversions between the words of several fields: cost proportion, skew, net benefit, value.

The cost proportion :math:`c = c_{FA} / (c_{FA} + c_{miss})` is the clinician's threshold
probability; the skew also includes the prevalence. Here a false alarm costs c, a miss 1 − c, and a
right decision nothing. All functions work elementwise and come in pairs that undo each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray, Numbers, unwrapped


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
