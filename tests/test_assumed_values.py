"""Sample sizes from assumed values: simulations have the power that they state."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes import Counts, InputError, Problem
from stakes.inference import (
    assumed_net_benefit,
    assumed_net_benefit_difference,
    cases_for_half_width,
    cases_to_detect,
    expected_cost_error,
    profile_interval,
)

ONE: dict[str, Any] = {
    **{"sensitivity": 0.8, "specificity": 0.85, "prevalence": 0.15, "threshold": 0.2}
}
TWO: dict[str, Any] = {
    **{"sensitivity": (0.85, 0.8), "specificity": (0.85, 0.83), "both_positive": (0.73, 0.1)},
    **{"prevalence": 0.3, "threshold": 0.2},
}
GAINS = Problem([[0, 0.25], [0, -1]])  # costs whose negative is net benefit at 0.2


def shares(assumed: dict[str, Any]) -> np.ndarray:
    pi, se, sp = (assumed[name] for name in ("prevalence", "sensitivity", "specificity"))
    return np.array([[(1 - pi) * sp, (1 - pi) * (1 - sp)], [pi * (1 - se), pi * se]])


def joint_shares() -> dict[tuple[int, int, int], float]:
    """Probability of each (class, first test, second test)."""
    shares = {}
    rates = {0: [1 - sp for sp in TWO["specificity"]], 1: TWO["sensitivity"]}
    for k, (first, second) in rates.items():
        both = TWO["both_positive"][1 - k]
        weight = TWO["prevalence"] if k else 1 - TWO["prevalence"]
        shares[k, 1, 1] = weight * both
        shares[k, 1, 0] = weight * (first - both)
        shares[k, 0, 1] = weight * (second - both)
        shares[k, 0, 0] = weight * (1 - first - second + both)
    return shares


def gain(k: int, decision: int) -> float:
    return -float(GAINS.costs[k, decision])


def test_value_and_error_of_one_case_are_moments_of_its_gain():
    assumed = assumed_net_benefit(**ONE)
    cells = list(itertools.product((0, 1), (0, 1)))
    first = sum(shares(ONE)[cell] * gain(*cell) for cell in cells)
    second = sum(shares(ONE)[cell] * gain(*cell) ** 2 for cell in cells)
    assert_allclose(assumed.value, first)
    assert_allclose(assumed.standard_error**2, second - first**2)


def test_the_difference_of_one_case_has_the_moments_of_its_joint_distribution():
    assumed = assumed_net_benefit_difference(**TWO)
    gains = {cell: gain(cell[0], cell[1]) - gain(cell[0], cell[2]) for cell in joint_shares()}
    first = sum(share * gains[cell] for cell, share in joint_shares().items())
    second = sum(share * gains[cell] ** 2 for cell, share in joint_shares().items())
    assert_allclose(assumed.value, first)
    assert_allclose(assumed.standard_error**2, second - first**2)


def test_the_wanted_half_width_comes_out():
    """400 samples of the planned size: by formula within 1 %, by profile likelihood within 5 %."""
    n = int(cases_for_half_width(assumed_net_benefit(**ONE), 1, half_width=0.02))
    drawn = np.random.default_rng(0).multinomial(n, shares(ONE).ravel(), size=400)
    counts = Counts(drawn.reshape(400, 2, 2))
    half = 1.959964 * expected_cost_error(counts, GAINS)
    assert half.mean() == pytest.approx(0.02, rel=0.01)
    profile = profile_interval(Counts(counts.values[:40]), GAINS).width / 2
    assert profile.mean() == pytest.approx(0.02, rel=0.05)


def test_the_wanted_power_comes_out():
    """2000 samples of the planned size find the difference in 80 %, by paired z-tests."""
    assumed = assumed_net_benefit_difference(**TWO)
    n = int(cases_to_detect(assumed, 1, difference=assumed.value, power=0.8))
    cells, chances = zip(*joint_shares().items(), strict=True)
    gains = np.array([gain(k, a) - gain(k, b) for k, a, b in cells])
    drawn = np.random.default_rng(1).multinomial(n, chances, size=2000)
    mean = drawn @ gains / n
    error = np.sqrt((drawn @ gains**2 / n - mean**2) / (n - 1))
    assert np.mean(mean / error > 1.959964) == pytest.approx(0.8, abs=3 * np.sqrt(0.16 / 2000))


def test_agreement_saves_cases():
    agreeing = assumed_net_benefit_difference(**TWO)
    alone = {**TWO, "both_positive": (0.85 * 0.8, 0.15 * 0.17)}
    assert agreeing.standard_error < assumed_net_benefit_difference(**alone).standard_error


def test_impossible_assumptions_are_refused():
    with pytest.raises(InputError, match=r"among positive cases .* 0\.65 to 0\.8; got 0\.9"):
        assumed_net_benefit_difference(**{**TWO, "both_positive": (0.9, 0.1)})
    with pytest.raises(InputError, match="sensitivity must be two numbers"):
        assumed_net_benefit_difference(**{**TWO, "sensitivity": (0.8,)})
    with pytest.raises(InputError, match="threshold must lie strictly"):
        assumed_net_benefit(**{**ONE, "threshold": 1})
    with pytest.raises(InputError, match="prevalence"):
        assumed_net_benefit(**{**ONE, "prevalence": 15})
