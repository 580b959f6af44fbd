"""Where in cost space each model wins, how sure the borders are, and what flips the verdict.

`cost_proportion_regions` and `prior_regions` take decisions as they are; `classifier_regions` takes
scores, each with its own threshold-choice method. The ``bootstrap_…_crossings`` give the borders
intervals. `sensitivity` says how far each cost and each prior may move.
"""

from stakes.regions.classifiers import (
    classifier_curves,
    classifier_regions,
    skews_as_cost_proportions,
    skews_as_priors,
)
from stakes.regions.crossings import (
    cost_proportion_crossing,
    cost_ratio_crossing,
    prior_crossing,
)
from stakes.regions.decisions import (
    as_cost_ratios,
    constant_rules,
    cost_proportion_curves,
    cost_proportion_regions,
    decision_regions,
    prior_curves,
    prior_regions,
)
from stakes.regions.partition import Region, Regions, dominance, lowest
from stakes.regions.sensitivity import Margin, Sensitivity, sensitivity
from stakes.regions.uncertainty import (
    Crossing,
    bootstrap_classifier_crossings,
    bootstrap_cost_proportion_crossings,
    bootstrap_cost_ratio_crossings,
    bootstrap_prior_crossings,
    probability_cheapest,
)

__all__ = [
    "Crossing",
    "Margin",
    "Region",
    "Regions",
    "Sensitivity",
    "as_cost_ratios",
    "bootstrap_classifier_crossings",
    "bootstrap_cost_proportion_crossings",
    "bootstrap_cost_ratio_crossings",
    "bootstrap_prior_crossings",
    "classifier_curves",
    "classifier_regions",
    "constant_rules",
    "cost_proportion_crossing",
    "cost_proportion_curves",
    "cost_proportion_regions",
    "cost_ratio_crossing",
    "decision_regions",
    "dominance",
    "lowest",
    "prior_crossing",
    "prior_curves",
    "prior_regions",
    "probability_cheapest",
    "sensitivity",
    "skews_as_cost_proportions",
    "skews_as_priors",
]
