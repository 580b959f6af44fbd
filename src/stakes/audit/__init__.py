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

from stakes.audit.against_yield import AgainstYield, against_yield
from stakes.audit.compliance import Compliance, Witness, compliance
from stakes.audit.disagreement import Disagreement, disagreement
from stakes.audit.exact_misranking import exact_misranking
from stakes.audit.implied_costs import (
    CostRange,
    ImpliedCosts,
    ImpliedCostsOfReplicates,
    LogOdds,
    Optimum,
    Probabilities,
    RawScores,
    ScoreScale,
    ThresholdCosts,
    costs_of_threshold,
    implied_costs,
    implied_costs_of_replicates,
)
from stakes.audit.metric import (
    FAMILIAR,
    FAMILIAR_MULTICLASS,
    Gain,
    Loss,
    Metric,
    PositiveClass,
    familiar_metrics,
)
from stakes.audit.misranking import (
    AssessmentError,
    Misranking,
    RateDistribution,
    RisingRates,
    Setting,
    ShareDistribution,
    UniformShares,
    gaussian_setting,
    misranking,
    uniform_setting,
)
from stakes.audit.suitability import Suitability, suitability
from stakes.audit.utility_space import (
    HEXAGON,
    NormalUtilities,
    UniformUtilities,
    UtilityDistribution,
    is_admissible,
    utilities_at,
    utility_coordinates,
)
from stakes.audit.wrong_picks import WrongPicks, wrong_picks

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
