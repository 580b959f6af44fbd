"""Limits on decisions, kept at the least cost: each limit has a price that is added to the costs.

Takes rows.
"""

from stakes.limits.deployed_cases import (
    SHARE_ROUNDING,
    CapacityCurve,
    CoverageCurve,
    capacity_curve,
    capacity_of,
    costs_by_class,
    coverage_curve,
    coverage_of,
    coverage_points,
    deployed_cases,
    keep_counts,
    limited_column,
    read_counts,
    refuse_lost,
)
from stakes.limits.priced import (
    Breakpoints,
    FittedPrices,
    LimitCheck,
    PricedLimits,
    grouped_breakpoints,
    leaving_prices,
    plus,
    price_at,
    price_limits,
    priced_cases,
)

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
