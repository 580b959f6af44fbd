"""Data with a known truth: a gaussian world whose population values are exact, random tables.

Two simulators of the papers, and what can be known about them without simulating:

- :func:`gaussian_classes` draws cases as ferrer-ec, appendix D, does; the :class:`GaussianWorld`
  behind them knows its exact posteriors and the confusion table of the whole population.
- :func:`random_confusion` draws confusion tables as dyrland, section 4.2, does.
"""

from __future__ import annotations

from stakes.simulate.gaussian import GaussianWorld, SimulatedCases, gaussian_classes
from stakes.simulate.random_counts import (
    ProbabilitySampler,
    fixed,
    random_confusion,
    rising_rates,
    uniform_shares,
)

__all__ = [
    "GaussianWorld",
    "ProbabilitySampler",
    "SimulatedCases",
    "fixed",
    "gaussian_classes",
    "random_confusion",
    "rising_rates",
    "uniform_shares",
]
