"""Sample sizes: which differences a sample can detect, and how large it must be."""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.inference.estimate import Estimate, Normal, student_quantile


def minimal_detectable_difference(
    estimate: Estimate, *, level: float = 0.95, power: float
) -> FloatArray:
    r"""The smallest difference that a sample like this one would find, of the estimate's shape.

    .. math:: (z_{(1+level)/2} + z_{power})\, se

    A true difference of that size makes the interval of that level exclude zero with the
    probability `power`. Pass the paired difference of two models. Of resampled clusters z is
    Student's quantile, as in `ExpandedPercentile`, here and in the functions below.

    Parameters
    ----------
    estimate : an estimate with its standard error
    level : confidence level, such as 0.95
    power : chance of finding the difference

    Returns
    -------
    difference, of the estimate's shape

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
    number, with the classes in the same shares. For clusters, pass and get numbers of clusters; the
    answer keeps Student's quantile for the clusters at hand, which is on the safe side if it asks
    for more of them.

    Parameters
    ----------
    estimate : an estimate with its standard error
    n_cases : number of cases
    difference : size of the difference to find
    level : confidence level, such as 0.95
    power : chance of finding the difference

    Returns
    -------
    number of cases, of the estimate's shape

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

    Parameters
    ----------
    estimate : an estimate with its standard error
    n_cases : number of cases
    half_width : half the width that the interval is to have
    level : confidence level, such as 0.95

    Returns
    -------
    number of cases, of the estimate's shape

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
    """The sum of both quantiles: how many standard errors a difference must measure."""
    level, power = _check.level(level), _check.level(power, "power", 0.8)
    if power <= (1 - level) / 2:
        raise InputError(
            f"power must be above {(1 - level) / 2:.4g}, (1 − level)/2; got {power:g}. An interval "
            f"of that level lies above zero as often without any difference. 0.8 is usual."
        )
    # The usual formula: the test rejects beyond the first quantile of zero, and finds the
    # difference unless the estimate falls short by more than the second.
    return _quantile(estimate, (1 + level) / 2) + _quantile(estimate, power)


def _quantile(estimate: Estimate, share: float) -> FloatArray:
    _check.require("estimate", estimate, Estimate)
    return student_quantile(estimate.intervals.effective_count(estimate.value.shape), share)


def _scaled(
    estimate: Estimate, n_cases: object, reach: FloatArray, wanted: FloatArray, name: str
) -> FloatArray:
    """The number of cases at which `reach` standard errors shrink to the wanted size."""
    if not (wanted > 0).all():
        raise InputError(
            f"{name} must be above zero; the smallest is {wanted.min():g}. Pass the smallest that "
            f"matters to you."
        )
    cases = _check.floats("n_cases", n_cases)
    if not (cases > 0).all():
        raise InputError(
            f"n_cases must be above zero; the smallest is {cases.min():g}. Pass the number of "
            f"cases behind the estimate."
        )
    try:
        np.broadcast_shapes(cases.shape, wanted.shape, estimate.value.shape)
    except ValueError:
        raise InputError(
            f"n_cases and {name} must be numbers, or arrays whose shapes go together; they have "
            f"{cases.shape} and {wanted.shape}. Pass one number for each.",
            argument="n_cases",
        ) from None
    with np.errstate(over="ignore"):
        return np.asarray(np.ceil(cases * (reach * estimate.standard_error / wanted) ** 2))


# From assumed values ------------------------------------------------------------------------------


def assumed_net_benefit(
    *, sensitivity: float, specificity: float, prevalence: float, threshold: float
) -> Estimate:
    r"""The net benefit of an assumed test, with the standard error of a sample of one case.

    .. math:: NB = \pi_1 Se - w \pi_0 (1 - Sp), \quad
        se^2 = \pi_1 Se + w^2 \pi_0 (1 - Sp) - NB^2, \quad w = \frac{p}{1-p}

    It serves as a pilot study of one case: ``cases_for_half_width(assumed, 1, half_width=…)`` says
    how many are needed. The cases are a random sample, so that its prevalence varies too.

    Parameters
    ----------
    sensitivity : sensitivity that the test is assumed to have
    specificity : specificity that the test is assumed to have
    prevalence : share of positives
    threshold : threshold probability at which one acts

    Returns
    -------
    net benefit with the standard error of one case

    Examples
    --------
    >>> assumed = assumed_net_benefit(
    ...     sensitivity=0.8, specificity=0.9, prevalence=0.2, threshold=0.1)
    >>> float(assumed.value.round(4))
    0.1511
    >>> float(cases_for_half_width(assumed, 1, half_width=0.03))
    590.0
    """
    chances = [
        _chance(name, value)
        for name, value in (
            ("sensitivity", sensitivity),
            ("specificity", specificity),
            ("prevalence", prevalence),
        )
    ]
    hits, alarms = chances[0], 1 - chances[1]
    odds = _odds(threshold)
    value = chances[2] * hits - odds * (1 - chances[2]) * alarms
    square = chances[2] * hits + odds**2 * (1 - chances[2]) * alarms
    return _of_one_case(value, square)


def assumed_net_benefit_difference(
    *,
    sensitivity: tuple[float, float],
    specificity: tuple[float, float],
    both_positive: tuple[float, float],
    prevalence: float,
    threshold: float,
) -> Estimate:
    r"""Difference in net benefit of two assumed tests on the same cases, first minus second.

    The tests are paired: `both_positive` is how often both are positive, among positive and among
    negative cases. For tests that are independent within a class these are the products of their
    rates; the more the tests agree, the fewer cases are needed. As in `assumed_net_benefit` the
    standard error is that of one case:
    ``cases_to_detect(assumed, 1, difference=assumed.value, power=0.8)``.

    Parameters
    ----------
    sensitivity : sensitivities of the first and the second test
    specificity : specificities of the first and the second test
    both_positive : how often both tests are positive, among the ill and among the healthy
    prevalence : share of positives
    threshold : threshold probability at which one acts

    Returns
    -------
    difference with the standard error of one case

    Examples
    --------
    >>> assumed = assumed_net_benefit_difference(
    ...     sensitivity=(0.85, 0.75), specificity=(0.9, 0.9), both_positive=(0.7, 0.05),
    ...     prevalence=0.2, threshold=0.1)
    >>> float(assumed.value.round(4))
    0.02
    >>> float(cases_to_detect(assumed, 1, difference=assumed.value, power=0.8))
    797.0
    """
    positive, odds = _chance("prevalence", prevalence), _odds(threshold)
    hits, right = _pair("sensitivity", sensitivity), _pair("specificity", specificity)
    both, alarms = _pair("both_positive", both_positive), 1 - right
    apart = []
    for name, rates, shared in (("positive", hits, both[0]), ("negative", alarms, both[1])):
        # Fréchet's bounds: what two rates leave possible for both at once.
        low, high = max(0.0, rates.sum() - 1), rates.min()
        if not low - 1e-12 <= shared <= high + 1e-12:
            raise InputError(
                f"both_positive must be possible: among {name} cases the tests are positive in "
                f"{rates[0]:g} and {rates[1]:g}, so both in {low:g} to {high:g}; got {shared:g}. "
                f"Tests that know nothing of each other have {rates.prod():g}."
            )
        apart.append(rates.sum() - 2 * shared)
    value = positive * (hits[0] - hits[1]) - odds * (1 - positive) * (alarms[0] - alarms[1])
    return _of_one_case(value, positive * apart[0] + odds**2 * (1 - positive) * apart[1])


def _of_one_case(value: float, square: float) -> Estimate:
    # Rounding may take the difference below zero where the variance is zero.
    error = np.sqrt(max(square - value**2, 0.0))
    return Estimate(value, error, np.empty(0), Normal(), "assumed values, one case")


def _odds(threshold: object) -> float:
    p = _check.level(threshold, "threshold", 0.1)
    return p / (1 - p)


def _chance(name: str, value: object) -> float:
    return _check.number(name, value, low=0, high=1)


def _pair(name: str, values: object) -> FloatArray:
    """Two probabilities, one for each test."""
    pair = _check.probabilities(name, values)
    if pair.shape != (2,):
        raise InputError(
            f"{name} must be two numbers, one for each test; the shape is {pair.shape}. "
            f"Write ({name} of the first, {name} of the second)."
        )
    return pair
