"""Where in cost space each model wins, how sure the borders are, and what flips the verdict.

What varies is an axis: `CostProportion`, `CostRatio`, `Prior` (for decisions) or `Classifiers` (for
scores, each with its own threshold-choice method). Three functions take any of them: `cost_curves`,
`cheapest_regions` and `bootstrap_crossings`; `crossing` takes the first three. `sensitivity` says
how far each cost and each prior may move.

Models are `Counts` of fixed decisions, or `DecidedAnew`: posteriors of two classes, whose Bayes
decisions follow the costs and the prior. Both kinds can be compared with each other.

Takes tallies.
"""

from stakes.regions.axes import (
    Axis,
    Classifiers,
    CostProportion,
    CostRatio,
    DecidedAnew,
    Prior,
    Region,
    Regions,
    Stake,
    StakeLine,
    StraightAxis,
    as_cost_ratios,
    borders_of,
    dominance,
    lowest,
    skews_as_cost_proportions,
    skews_as_priors,
    stakes_in,
)
from stakes.regions.sensitivity import (
    Crossing,
    KeptDecisions,
    Margin,
    Sensitivity,
    bootstrap_crossings,
    cheapest_regions,
    constant_rules,
    cost_curves,
    crossing,
    decision_regions,
    nearest_first,
    sensitivity,
    share_cheapest,
)

__all__ = [
    "Axis",
    "Classifiers",
    "CostProportion",
    "CostRatio",
    "Crossing",
    "DecidedAnew",
    "KeptDecisions",
    "Margin",
    "Prior",
    "Region",
    "Regions",
    "Sensitivity",
    "Stake",
    "StakeLine",
    "StraightAxis",
    "as_cost_ratios",
    "bootstrap_crossings",
    "borders_of",
    "cheapest_regions",
    "constant_rules",
    "cost_curves",
    "crossing",
    "decision_regions",
    "dominance",
    "lowest",
    "nearest_first",
    "sensitivity",
    "share_cheapest",
    "skews_as_cost_proportions",
    "skews_as_priors",
    "stakes_in",
]
