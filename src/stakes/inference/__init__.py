"""Uncertainty: intervals, resampled tallies, and paired comparison of models.

Everything starts from tallies. Costs have intervals that hold in small samples and for rare classes
too, without random numbers: `profile_interval`, `contenders` and `selection_effect`, which are what
`evaluate` prints. For any other measure `bootstrap` resamples tallies under a `Scheme`, which says
what was drawn at random; formulas serve where they exist (`delta_expected_cost`, `wilson_rates`,
`delong_auc`). These make an `Estimate`, which answers with an interval, a standard error or its
replicates. Models are compared on the same cases: `compare_costs`, `compare_problems`, `delong`,
`mcnemar`, `max_t`.

Takes tallies.
"""

from stakes.inference.bootstrap import (
    bootstrap,
    bootstrap_bca,
    bootstrap_t,
    estimate_of,
    pooled_runs,
)
from stakes.inference.comparison import (
    Comparison,
    compare,
    compare_costs,
    compare_losses,
    delta_compare_costs,
    p_value,
)
from stakes.inference.contender_exits import FARTHEST, MOST_RIVALS, Move, leaving_points
from stakes.inference.counted_costs import CountedCosts, system_costs
from stakes.inference.delong import auc_error, delong, delong_auc
from stakes.inference.delta import (
    cost_moments,
    delta_expected_cost,
    delta_normalized_cost,
    delta_rates,
    expected_cost_error,
    mean_covariance,
    normalized_cost_error,
    rate_error,
    wilson_rates,
)
from stakes.inference.deployment import (
    Dirichlet,
    Sampler,
    bootstrap_problems,
    compare_problems,
    uncertain_problems,
)
from stakes.inference.estimate import Estimate, Interval, IntervalType, Measured
from stakes.inference.intervals import (
    BCa,
    ExpandedPercentile,
    Logit,
    Normal,
    Percentile,
    Studentised,
    Wilson,
    wilson_bounds,
)
from stakes.inference.jackknife import Jackknife, jackknife
from stakes.inference.likelihood import Support, profile_bounds, profile_ratio, widened
from stakes.inference.loss_costs import LossCosts, loss_costs, ratio_bounds
from stakes.inference.losses import LossSample
from stakes.inference.mcnemar import McNemar, mcnemar
from stakes.inference.multiplicity import Pairwise, holm, holm_pairs, max_t
from stakes.inference.planning import (
    assumed_net_benefit,
    assumed_net_benefit_difference,
    cases_for_half_width,
    cases_to_detect,
    minimal_detectable_difference,
)
from stakes.inference.profile import (
    MOST_BLIND,
    profile_interval,
    profile_normalized_interval,
    profile_threshold,
    support_bounds,
)
from stakes.inference.proportions import effective_counts, ratio_of_proportions_bounds
from stakes.inference.sampled_costs import SampledCosts
from stakes.inference.sampling import (
    CostErrors,
    cost_errors,
    fitting_covariance,
    refit_covariance,
)
from stakes.inference.schemes import (
    AllCases,
    BayesianBootstrap,
    Clusters,
    PoissonWeights,
    Scheme,
    WithinClasses,
    checked_scheme,
    resample,
    scheme_of,
)
from stakes.inference.selection import (
    Contenders,
    contenders,
    contenders_among,
    cost_spread,
    with_blind,
)
from stakes.inference.slices import Slices, few_of_classes, slices
from stakes.inference.straight_moves import envelopes
from stakes.inference.supports import (
    cost_support,
    difference_support,
    unchecked_cost_support,
)
from stakes.inference.system_costs import SystemCosts
from stakes.inference.tally_checks import Measure, each
from stakes.inference.weight_strata import (
    MOST_STRATA,
    WeightStrata,
    few_weights,
    stratum_of,
    summed,
)
from stakes.inference.winner import (
    SelectionEffect,
    probability_cheapest,
    selection_effect,
)

__all__ = [
    "FARTHEST",
    "MOST_BLIND",
    "MOST_RIVALS",
    "MOST_STRATA",
    "AllCases",
    "BCa",
    "BayesianBootstrap",
    "Clusters",
    "Comparison",
    "Contenders",
    "CostErrors",
    "CountedCosts",
    "Dirichlet",
    "Estimate",
    "ExpandedPercentile",
    "Interval",
    "IntervalType",
    "Jackknife",
    "Logit",
    "LossCosts",
    "LossSample",
    "McNemar",
    "Measure",
    "Measured",
    "Move",
    "Normal",
    "Pairwise",
    "Percentile",
    "PoissonWeights",
    "SampledCosts",
    "Sampler",
    "Scheme",
    "SelectionEffect",
    "Slices",
    "Studentised",
    "Support",
    "SystemCosts",
    "WeightStrata",
    "Wilson",
    "WithinClasses",
    "assumed_net_benefit",
    "assumed_net_benefit_difference",
    "auc_error",
    "bootstrap",
    "bootstrap_bca",
    "bootstrap_problems",
    "bootstrap_t",
    "cases_for_half_width",
    "cases_to_detect",
    "checked_scheme",
    "compare",
    "compare_costs",
    "compare_losses",
    "compare_problems",
    "contenders",
    "contenders_among",
    "cost_errors",
    "cost_moments",
    "cost_spread",
    "cost_support",
    "delong",
    "delong_auc",
    "delta_compare_costs",
    "delta_expected_cost",
    "delta_normalized_cost",
    "delta_rates",
    "difference_support",
    "each",
    "effective_counts",
    "envelopes",
    "estimate_of",
    "expected_cost_error",
    "few_of_classes",
    "few_weights",
    "fitting_covariance",
    "holm",
    "holm_pairs",
    "jackknife",
    "leaving_points",
    "loss_costs",
    "max_t",
    "mcnemar",
    "mean_covariance",
    "minimal_detectable_difference",
    "normalized_cost_error",
    "p_value",
    "pooled_runs",
    "probability_cheapest",
    "profile_bounds",
    "profile_interval",
    "profile_normalized_interval",
    "profile_ratio",
    "profile_threshold",
    "rate_error",
    "ratio_bounds",
    "ratio_of_proportions_bounds",
    "refit_covariance",
    "resample",
    "scheme_of",
    "selection_effect",
    "slices",
    "stratum_of",
    "summed",
    "support_bounds",
    "system_costs",
    "uncertain_problems",
    "unchecked_cost_support",
    "widened",
    "wilson_bounds",
    "wilson_rates",
    "with_blind",
]
