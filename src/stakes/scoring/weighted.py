r"""Proper rules for two classes as weighted sums over cost proportions; regular ones all are.

At every cost proportion c, a forecast q of the positive class leads to a decision: the positive one
if q > c. The loss adds up what these decisions cost, with a weight on every c (Buja, Stuetzle and
Shen, 2005; hernandez-orallo, section 4.2).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes._value import record
from stakes.errors import InputError
from stakes.scoring.rules import ScoringRule

_STEPS = 10_000
_DONE = 1e-15
_UNDERFLOW = float(np.log(np.finfo(np.float64).tiny))


def incomplete_beta(x: FloatArray, complement: FloatArray, a: float, b: float) -> FloatArray:
    r"""Integral :math:`\int_0^x c^{a-1} (1-c)^{b-1} dc` for a > 0, b > −1; inf at x = 1 when b ≤ 0.

    The complement 1 − x is an argument, because the caller knows it to full precision: for b < 1
    the result depends on how close x is to one.
    """
    from scipy.special import beta, betainc

    # SciPy's regularised integral needs b > 0, and takes no complement, which matters for b < 1.
    if b >= 1:
        return np.asarray(beta(a, b) * betainc(a, b, x))
    # Below this point the continued fraction converges quickly, above it the series does.
    split = (a + 1) / (a + b + 2)
    low = x < split
    from_zero = _fraction(np.where(low, x, split), np.where(low, complement, 1 - split), a, b)
    if low.all():
        return from_zero
    from_zero[~low] += _series(complement[~low], 1 - split, a, b)
    return from_zero


def _fraction(x: FloatArray, complement: FloatArray, a: float, b: float) -> FloatArray:
    """The integral from zero to x, by Gauss's continued fraction and Lentz's recurrence."""
    front = np.ones_like(x)
    back = 1 / (1 - (a + b) * x / (a + 1))
    value = back
    for m in range(1, _STEPS):
        for factor in (
            m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            back = 1 / (1 + factor * x * back)
            front = 1 + factor * x / front
            change = back * front
            value = value * change
        if np.abs(change - 1).max(initial=0.0) < _DONE:
            break
    return np.asarray(x**a * complement**b / a * value)


def _series(v: FloatArray, w: float, a: float, b: float) -> FloatArray:
    r"""The integral :math:`\int_v^w u^{b-1} (1-u)^{a-1} du`, by powers of u; v ≤ w ≤ 2/3."""
    with np.errstate(divide="ignore"):
        log_ratio = np.log(v / w)
    result = np.zeros_like(v)
    coefficient = 1.0
    for n in range(_STEPS):
        if abs(coefficient) * w**n < _DONE / 1000:
            break
        power = n + b
        # (w**power - v**power) / power, which is log(w / v) at power 0 and close to it nearby
        reach = np.expm1(power * log_ratio) / -power if power else -log_ratio
        result += coefficient * w**power * reach
        coefficient *= (n + 1 - a) / (n + 1)
    return result


class BinaryRule(ScoringRule):
    """A rule for two classes, defined by its loss for each of them.

    Examples
    --------
    The Brier score of two classes, loss by loss:

    >>> class Squared(BinaryRule):
    ...     def negative_loss(self, negative, positive):
    ...         return positive**2
    ...     def positive_loss(self, negative, positive):
    ...         return negative**2
    >>> Squared().losses(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([0, 1]))
    array([0.25, 0.81])
    """

    @abstractmethod
    def negative_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:
        """Loss when the negative class is true.

        Parameters
        ----------
        negative, positive : posteriors of both classes

        Returns
        -------
        losses, of the same shape

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> CostWeighted(Uniform()).negative_loss(np.array([0.5]), np.array([0.5]))
        array([0.25])
        """

    @abstractmethod
    def positive_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:
        """Loss when the positive class is true.

        Parameters
        ----------
        negative, positive : posteriors of both classes

        Returns
        -------
        losses, of the same shape

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> CostWeighted(Uniform()).positive_loss(np.array([0.5]), np.array([0.5]))
        array([0.25])
        """

    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:  # noqa: D102
        _check.shapes("n K, n", posteriors=posteriors, codes=codes)
        if posteriors.shape[1] != 2:
            raise InputError(
                f"rule must be one for {posteriors.shape[1]} classes; {type(self).__name__} is for "
                f"two. LogLoss, Brier and Spherical take any number of classes."
            )
        result = np.empty(len(posteriors))
        for code, loss in ((0, self.negative_loss), (1, self.positive_loss)):
            of_class = codes == code
            result[of_class] = loss(posteriors[of_class, 0], posteriors[of_class, 1])
        return result


@record
class BetaScore(BinaryRule):
    r"""The Beta family, with the weight :math:`\omega(c) = c^{\alpha-1} (1-c)^{\beta-1}`.

    .. math:: L_1 = \int_q^1 (1-c)\,\omega(c)\,dc, \qquad L_0 = \int_0^q c\,\omega(c)\,dc

    The weight is not normalised, so that parameters down to −1 (not included) make sense: log loss
    is (0, 0), boosting loss (−½, −½), `HalfBrier` divided by two is (1, 1), and large equal
    parameters, normalised, come close to the 0-1 loss. The loss is infinite for a forecast that
    rules out what happened when the parameter of that side is 0 or less. Parameters so large that
    the losses fall below the smallest number (500 each is still fine) are refused; CostWeighted of
    a Beta distribution, which is normalised, takes them.

    Parameters
    ----------
    alpha : first exponent, plus one
    beta : second exponent, plus one

    Examples
    --------
    >>> from stakes.scoring import LogLoss, mean_score
    >>> mean_score([0, 1], [0.25, 0.5], BetaScore(0, 0)), mean_score([0, 1], [0.25, 0.5], LogLoss())
    (0.4904, 0.4904)
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        from scipy.special import betaln

        alpha, beta = _check.number("alpha", self.alpha), _check.number("beta", self.beta)
        if not (alpha > -1 and beta > -1):
            raise InputError(
                f"alpha and beta must be above -1; got {alpha:g} and {beta:g}. "
                f"At -1 the loss of almost every forecast is infinite."
            )
        # The complete beta function bounds every loss of its side. Below the smallest number all
        # losses would be zero, and all forecasts equally good.
        for exponent, other in ((alpha, beta), (beta, alpha)):
            if exponent > 0 and betaln(exponent, other + 1) < _UNDERFLOW:
                raise InputError(
                    f"alpha and beta must leave losses that are numbers; with {alpha:g} and "
                    f"{beta:g} the largest is below 1e-307. The same rule, normalised, is "
                    f"CostWeighted(Beta(alpha, beta))."
                )
        self._fill({"alpha": alpha, "beta": beta})

    def negative_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return incomplete_beta(positive, negative, self.alpha + 1, self.beta)

    def positive_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return incomplete_beta(negative, positive, self.beta + 1, self.alpha)


class PartialMoments(Protocol):
    """What a rule needs of a distribution of cost proportions: its partial moments."""

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        r"""Partial moment :math:`\int_{[low, high)} c^{order}\,dW(c)`, elementwise."""

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:
        r"""Partial moment :math:`\int_{[low, 1]} (1 - c)\,dW(c)`, elementwise."""


@record
class CostWeighted(BinaryRule):
    r"""Expected cost of deciding by the forecast, over a distribution W of cost proportions.

    .. math:: L_1 = 2 \int_{c \ge q} (1-c)\,dW(c), \qquad L_0 = 2 \int_{c < q} c\,dW(c)

    The factor 2 is the one of hernandez-orallo: the uniform distribution gives `HalfBrier`, and all
    weight on ½ gives the error rate of decisions at ½. The mean over cases is the expected loss of
    the score-driven method. Proper for every W, and strictly so when W spreads over all of [0, 1].

    Parameters
    ----------
    distribution : any object with partial moments, such as Uniform, Beta, Points or Mixture

    Examples
    --------
    >>> from stakes.conditions import Uniform
    >>> from stakes.scoring import mean_score
    >>> mean_score([0, 1], [0.25, 0.5], CostWeighted(Uniform()))
    0.15625
    """

    distribution: PartialMoments

    def __post_init__(self) -> None:
        try:
            mass = float(_moments(self.distribution)(0, -np.inf, np.inf))
        except (AttributeError, TypeError, ValueError):
            mass = np.nan
        if not abs(mass - 1) < 1e-6:
            raise InputError(
                f"distribution must have partial moments that add up to one, as the distributions "
                f"of stakes.conditions have; got {self.distribution!r}. "
                f"Continuous(…) makes one of a frozen SciPy distribution."
            )

    def negative_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return 2 * self.distribution.moment(1, -np.inf, positive)

    def positive_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return 2 * self.distribution.upper_moment(positive)


def _moments(distribution: Any) -> Any:
    return distribution.moment
