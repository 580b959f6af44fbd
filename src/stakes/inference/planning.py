"""How much data: what a sample can tell apart, and how large it must be."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.inference.estimate import Estimate
from stakes.inference.student import student_quantile


def minimal_detectable_difference(
    estimate: Estimate, *, level: float = 0.95, power: float
) -> FloatArray:
    r"""The smallest difference that a sample like this one would find, of the estimate's shape.

    .. math:: (z_{(1+level)/2} + z_{power})\, se

    A true difference of that size makes the interval of that level exclude zero with the
    probability `power`. Pass the paired difference of two models. Of resampled clusters z is
    Student's quantile, as in `ExpandedPercentile`, here and in the functions below.

    Examples
    --------
    >>> from stakes.inference import Normal
    >>> difference = Estimate(0.01, 0.02, np.empty(0), Normal(), "delta method")
    >>> float(minimal_detectable_difference(difference, level=0.95, power=0.8).round(4))
    0.056
    """
    return np.asarray(_reach(estimate, level, power) * estimate.standard_error)


def cases_to_detect(
    estimate: Estimate, n_cases: object, *, difference: object, level: float = 0.95, power: float
) -> FloatArray:
    r"""Cases needed to find a difference of this size, rounded up.

    .. math:: n \left(\frac{(z_{(1+level)/2} + z_{power})\, se}{difference}\right)^2

    The estimate came from n cases; more of them shrink its standard error by the root of their
    number, with the classes in the same shares. For clusters, pass and get numbers of clusters; how
    little few clusters tell about the spread stays in the answer, which is then on the safe side.

    Examples
    --------
    >>> from stakes.inference import Normal
    >>> pilot = Estimate(0.01, 0.02, np.empty(0), Normal(), "delta method")
    >>> float(cases_to_detect(pilot, 1000, difference=0.028, level=0.95, power=0.8))
    4005.0
    """
    wanted = np.abs(_check.floats("difference", difference))
    return _scaled(estimate, n_cases, _reach(estimate, level, power), wanted, "difference")


def cases_for_half_width(
    estimate: Estimate, n_cases: object, *, half_width: object, level: float = 0.95
) -> FloatArray:
    r"""Cases needed for an interval of value ± half_width, rounded up.

    .. math:: n \left(\frac{z_{(1+level)/2}\, se}{half\ width}\right)^2

    Examples
    --------
    >>> from stakes.inference import Normal
    >>> pilot = Estimate(0.2, 0.04, np.empty(0), Normal(), "delta method")
    >>> float(cases_for_half_width(pilot, 100, half_width=0.02, level=0.95))
    1537.0
    """
    wanted = _check.floats("half_width", half_width)
    reach = _quantile(estimate, (1 + _check.level(level)) / 2)
    return _scaled(estimate, n_cases, reach, wanted, "half_width")


def _reach(estimate: Estimate, level: float, power: float) -> FloatArray:
    level, power = _check.level(level), _check.level(power, "power", 0.8)
    if power <= (1 - level) / 2:
        raise InputError(
            f"power must be above {(1 - level) / 2:.4g}, (1 − level)/2; got {power:g}. An interval "
            f"of that level lies above zero as often without any difference. 0.8 is usual."
        )
    return _quantile(estimate, (1 + level) / 2) + _quantile(estimate, power)


def _quantile(estimate: Estimate, share: float) -> FloatArray:
    return student_quantile(estimate.intervals.effective_count(estimate.value.shape), share)


def _scaled(
    estimate: Estimate, n_cases: object, reach: FloatArray, wanted: FloatArray, name: str
) -> FloatArray:
    if not (wanted > 0).all():
        raise InputError(
            f"{name} must be above zero; the smallest is {wanted.min():g}. Pass the smallest that "
            f"matters to you."
        )
    given = _check.floats("n_cases", n_cases)
    if not (given > 0).all():
        raise InputError(
            f"n_cases must be above zero; the smallest is {given.min():g}. Pass the number of "
            f"cases behind the estimate."
        )
    return np.asarray(np.ceil(given * (reach * estimate.standard_error / wanted) ** 2))
