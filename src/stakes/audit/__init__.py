"""The audit: what a metric assumes, and how often it picks the wrong model.

- `disagreement`: which metrics would have picked another model, and what that costs per case.
- `implied_costs`: the costs for which a metric's favourite threshold would be the right one.
- `compliance`: whether a metric is a utility in disguise, and which; otherwise a witness.
- `misranking`, `exact_misranking`: how often metrics err over many problems and classifiers.
- `wrong_picks`: how likely they err on your models, given what you do not know.
- `against_yield`: metrics against the utility yield, and the tables they put in reverse order.
- `suitability`: which of five properties a multi-class metric has.
- the space of binary utility matrices: `HEXAGON`, `utilities_at`, `utility_coordinates`.

Takes tallies.
"""

from stakes.audit.misranking import (
    AssessmentError,
    Misranking,
    RateDistribution,
    RisingRates,
    Setting,
    ShareDistribution,
    UniformShares,
    WrongPicks,
    exact_misranking,
    gaussian_setting,
    misranking,
    uniform_setting,
    wrong_picks,
)
from stakes.audit.suitability import (
    AgainstYield,
    CostRange,
    Disagreement,
    ImpliedCosts,
    ImpliedCostsOfReplicates,
    LogOdds,
    Optimum,
    Probabilities,
    RawScores,
    ScoreScale,
    Suitability,
    ThresholdCosts,
    against_yield,
    costs_of_threshold,
    disagreement,
    implied_costs,
    implied_costs_of_replicates,
    suitability,
)
from stakes.audit.utility_space import (
    FAMILIAR,
    FAMILIAR_MULTICLASS,
    HEXAGON,
    Compliance,
    Gain,
    Loss,
    Metric,
    NormalUtilities,
    PositiveClass,
    UniformUtilities,
    UtilityDistribution,
    Witness,
    compliance,
    familiar_metrics,
    is_admissible,
    utilities_at,
    utility_coordinates,
)

__all__ = [
    "FAMILIAR",
    "FAMILIAR_MULTICLASS",
    "HEXAGON",
    "AgainstYield",
    "AssessmentError",
    "Compliance",
    "CostRange",
    "Disagreement",
    "Gain",
    "ImpliedCosts",
    "ImpliedCostsOfReplicates",
    "LogOdds",
    "Loss",
    "Metric",
    "Misranking",
    "NormalUtilities",
    "Optimum",
    "PositiveClass",
    "Probabilities",
    "RateDistribution",
    "RawScores",
    "RisingRates",
    "ScoreScale",
    "Setting",
    "ShareDistribution",
    "Suitability",
    "ThresholdCosts",
    "UniformShares",
    "UniformUtilities",
    "UtilityDistribution",
    "Witness",
    "WrongPicks",
    "against_yield",
    "compliance",
    "costs_of_threshold",
    "disagreement",
    "exact_misranking",
    "familiar_metrics",
    "gaussian_setting",
    "implied_costs",
    "implied_costs_of_replicates",
    "is_admissible",
    "misranking",
    "suitability",
    "uniform_setting",
    "utilities_at",
    "utility_coordinates",
    "wrong_picks",
]
