"""What depends on ranks alone: ROC, its convex hull, areas, operating points, maps of scores.

Every function reads a `ScoreTable`; scores may be any real number or infinite, because only their
order matters. Measures are nan where a class that they need is absent. They do not depend on the
class shares, except `weighted_auc`, `average_precision`, `precision_at_recall` and
`recall_at_precision`; ``table.with_prior(p)`` gives their values in deployment.

Takes tallies.
"""

from stakes.ranking.convex_hull import Hull, hull, hull_cuts, single
from stakes.ranking.rescaling import convexified, evenly_spaced, isotonic, midpoint_spaced
from stakes.ranking.roc import (
    Roc,
    auc,
    auc_of_hull,
    average_precision,
    equal_error_rate,
    gini,
    is_convex,
    kendall_distance,
    kolmogorov_smirnov,
    mann_whitney_u,
    partial_auc,
    precision_at_recall,
    recall_at_precision,
    roc,
    roc_hull,
    sensitivity_at_specificity,
    specificity_at_sensitivity,
    standardized_partial_auc,
    weighted_auc,
    weights_above,
)
from stakes.ranking.score_ranges import Certified, certified, exact_bins

__all__ = [
    "Certified",
    "Hull",
    "Roc",
    "auc",
    "auc_of_hull",
    "average_precision",
    "certified",
    "convexified",
    "equal_error_rate",
    "evenly_spaced",
    "exact_bins",
    "gini",
    "hull",
    "hull_cuts",
    "is_convex",
    "isotonic",
    "kendall_distance",
    "kolmogorov_smirnov",
    "mann_whitney_u",
    "midpoint_spaced",
    "partial_auc",
    "precision_at_recall",
    "recall_at_precision",
    "roc",
    "roc_hull",
    "sensitivity_at_specificity",
    "single",
    "specificity_at_sensitivity",
    "standardized_partial_auc",
    "weighted_auc",
    "weights_above",
]
