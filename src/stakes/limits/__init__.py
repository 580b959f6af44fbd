"""Limits on decisions, kept at the least cost: each limit has a price that is added to the costs.

Takes rows.
"""

from stakes.limits.batch_counts import keep_counts, read_counts
from stakes.limits.capacity import (
    CapacityCurve,
    CoverageCurve,
    capacity_curve,
    capacity_of,
    costs_by_class,
    coverage_curve,
    coverage_of,
    coverage_points,
    limited_column,
)
from stakes.limits.deployed_cases import SHARE_ROUNDING, deployed_cases, refuse_lost
from stakes.limits.exact_prices import Breakpoints, grouped_breakpoints, leaving_prices, price_at
from stakes.limits.fitted_prices import FittedPrices
from stakes.limits.priced import LimitCheck, PricedLimits, plus, price_limits, priced_cases

__all__ = [
    "SHARE_ROUNDING",
    "Breakpoints",
    "CapacityCurve",
    "CoverageCurve",
    "FittedPrices",
    "LimitCheck",
    "PricedLimits",
    "capacity_curve",
    "capacity_of",
    "costs_by_class",
    "coverage_curve",
    "coverage_of",
    "coverage_points",
    "deployed_cases",
    "grouped_breakpoints",
    "keep_counts",
    "leaving_prices",
    "limited_column",
    "plus",
    "price_at",
    "price_limits",
    "priced_cases",
    "read_counts",
    "refuse_lost",
]
