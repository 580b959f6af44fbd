r"""The exact share of wrongly ranked pairs, for metrics that are linear at each class share.

Let :math:`d_0, d_1` be the differences of two classifiers in their rates of right decisions. The
utilities prefer the second classifier when :math:`u_0 d_0 + u_1 d_1 > 0`, with
:math:`u = (a \pi_0, b \pi_1)` and the gains a, b of being right; a linear metric does when
:math:`v_0 d_0 + v_1 d_1 > 0`. Both differences are symmetric about zero. The probability that the
two disagree therefore depends only on the directions of u and v, through the distribution function
G of the ratio of the gaps :math:`|d_1|/|d_0|`. If a direction has the position

.. math:: T(v) = \tfrac12 (1 - G(v_0/v_1)) \text{ in the first quadrant, and so on,}

on a circle of circumference 2, this probability is the distance between T(u) and T(v). What remains
is an integral over the cost proportion and the class share, which is smooth between known kinks if
both are written as log-odds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.audit.metric import Metric
from stakes.audit.misranking import (
    RateDistribution,
    RateSampler,
    ShareDistribution,
    ShareSampler,
    UtilitySampler,
)
from stakes.audit.utility_space import UtilityDistribution
from stakes.errors import InputError
from stakes.tally import Counts

_REACH = 36.0  # log-odds beyond which a bounded density has no mass: e**-36 < 3e-16
_LINEAR = 1e-9  # largest deviation from linearity, relative to the weights of a metric
_MASS = 1e-9  # largest deviation of the integral of a density from one


# Panels are at most two log-odds wide and shrink towards equal costs, where beliefs concentrate.
_SIDE = np.concatenate([2.0 ** np.arange(-40, 1), np.arange(2.0, _REACH + 1, 2.0)])
_GRID = np.concatenate([-_SIDE[::-1], [0.0], _SIDE])


def exact_misranking(
    metric: Metric,
    *,
    utilities: UtilitySampler,
    class_share: ShareSampler,
    rates: RateSampler,
) -> float:
    """Share of pairs that a metric ranks wrongly, by integration, to about 1e-10.

    For metrics that are linear in the rates of right decisions at each class share, such as
    accuracy, recall, balanced accuracy and any fixed cost matrix; nan for the others. The arguments
    are those of `misranking`, but must be distributions with known densities. The densities are
    integrated by the same quadrature rule; one whose integral is not 1 within 1e-9 is refused,
    because it is too narrow or too rough for the rule. Reference: dyrland, figures 6 and 7.

    Parameters
    ----------
    metric : a function of `Counts`
    utilities : distribution of utility matrices, such as `UniformUtilities()`
    class_share : distribution of the share of positives
    rates : distribution of the rates of right decisions

    Returns
    -------
    share of pairs, or nan where the metric is not linear

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, uniform_setting
    >>> print(f"{exact_misranking(FAMILIAR['accuracy'], **uniform_setting()):.6%}")
    8.767406%
    """
    if not isinstance(utilities, UtilityDistribution):
        raise _unknown("utilities", "UniformUtilities or NormalUtilities")
    if not isinstance(class_share, ShareDistribution):
        raise _unknown("class_share", "UniformShares")
    if not isinstance(rates, RateDistribution):
        raise _unknown("rates", "RisingRates")
    at = partial(_wrong_at, metric=metric, utilities=utilities, rates=rates)

    def integrand(log_odds: float) -> FloatArray:
        """Density of the share, and what of it is ranked wrongly."""
        share = _shares_at(log_odds)
        density = float(class_share.density(share[1])) * float(share[0] * share[1])
        return np.array([density, density * at(log_odds, share) if density else 0.0])

    low, high = _log_odds(class_share.support)
    if np.isnan(at(0.3, _shares_at(0.3))):
        return float("nan")
    mass, wrong = _integral(integrand, low, high)
    _refuse_unresolved("class_share", mass)
    return wrong


def _integral(
    integrand: Callable[[float], FloatArray], low: float, high: float
) -> tuple[float, float]:
    """Both integrals by one adaptive rule, split at 0, where most metrics have a kink."""
    from scipy.integrate import quad_vec

    edges = np.unique(np.clip([low, 0.0, high], low, high)).tolist()
    first, second = np.sum(
        [
            quad_vec(integrand, start, end, epsabs=1e-12, epsrel=0.0, norm="max", limit=500)[0]
            for start, end in pairwise(edges)
        ],
        axis=0,
    )
    return float(first), float(second)


def _log_odds(support: tuple[float, float]) -> FloatArray:
    """The bounds of the support as log-odds, cut off at the reach."""
    bounds = _check.probabilities("the support of class_share", support, ndim=1)
    if bounds.shape != (2,) or not bounds[0] < bounds[1]:
        raise InputError(
            f"the support of class_share must be two rising shares; got {support!r}. "
            f"A known share needs no distribution."
        )
    from scipy.special import logit

    return np.asarray(np.clip(logit(bounds), -_REACH, _REACH))


def _refuse_unresolved(name: str, mass: float) -> None:
    if not abs(mass - 1) <= _MASS:
        raise InputError(
            f"the density of {name} must integrate to 1 for an exact value; the rule finds "
            f"{mass:.10g}. It is no density, or too narrow or too rough to be resolved: state a "
            f"narrow support, or estimate the value with misranking."
        )


def _unknown(name: str, known: str) -> InputError:
    return InputError(
        f"{name} must be a distribution with a known density for an exact value; it is a sampler. "
        f"Use {known}, or estimate the value with misranking."
    )


def _shares_at(log_odds: float | FloatArray) -> FloatArray:
    """Shares of both classes, or of both costs, along the first axis."""
    from scipy.special import expit

    return np.asarray(expit([-log_odds, log_odds]))


def _wrong_at(
    share_log_odds: float,
    share: FloatArray,
    *,
    metric: Metric,
    utilities: UtilityDistribution,
    rates: RateDistribution,
) -> float:
    """Probability of a wrong order at one class share (2,)."""
    weight = _linear_weights(metric, share)
    if weight is None:
        return np.nan
    with np.errstate(divide="ignore"):
        kink = share_log_odds + np.log(np.abs(weight[0])) - np.log(np.abs(weight[1]))
    breaks = np.clip([share_log_odds, kink], -_REACH, _REACH)
    edges = np.unique(np.concatenate([_GRID, breaks]))
    half = np.diff(edges)[:, None] / 2
    nodes, weights = np.polynomial.legendre.leggauss(16)
    cost = edges[:-1, None] + half * (nodes + 1)
    rest, proportion = _shares_at(cost)
    position = _position(np.exp(cost - share_log_odds), np.array(1.0), rates)
    distance = np.abs(position - _position(weight[0], weight[1], rates))
    wrong = np.minimum(distance, 2 - distance)
    density = utilities.cost_proportion_density(proportion) * proportion * rest
    measure = half * weights * density
    _refuse_unresolved("utilities", float(np.sum(measure)))
    return float(np.sum(measure * wrong))


def _position(first: FloatArray, second: FloatArray, rates: RateDistribution) -> FloatArray:
    """Where a direction lies on the circle of circumference 2 that starts at (1, 0)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = rates.gap_ratio_cdf(np.asarray(np.abs(first) / np.abs(second)))
    from_first_axis = (1 - spread) / 2
    upper = np.where(first >= 0, from_first_axis, 1 - from_first_axis)
    return np.where(second >= 0, upper, 2 - upper)


def _linear_weights(metric: Metric, share: FloatArray) -> FloatArray | None:
    """The weight of each rate of right decisions in a metric; None unless it is linear in them.

    It is also None where the metric is constant, because then it ranks nothing.
    """
    # Three points determine a plane; the other four, in general position, must lie on it.
    _check.require("metric", metric, Metric)
    rates = np.array([[0, 0], [1, 0], [0, 1], [1, 1], [0.75, 0.5], [0.5, 0.875], [0.6, 0.6]])
    tables = np.empty((len(rates), 2, 2))
    for k in range(2):
        tables[:, k, k], tables[:, k, 1 - k] = share[k] * rates[:, k], share[k] * (1 - rates[:, k])
    counts = Counts._unlabelled(tables)
    value = metric.goodness(counts)
    weights = value[1:3] - value[0]
    bend = np.abs(value[0] + rates @ weights - value)
    size = np.abs(weights).max()
    return weights if size > 0 and np.all(bend <= _LINEAR * size) else None
