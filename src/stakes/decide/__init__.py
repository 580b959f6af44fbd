"""Decisions from posteriors, and posteriors from log-odds, likelihoods or another prior.

Nothing here reads ``problem.prior``: posteriors hold for some prior, and `shift_prior` moves them
to another one.

Takes rows.
"""

from stakes.decide.bayes_rows import (
    MOST_WHOLE,
    ROUNDING,
    bayes_decision_indices,
    bayes_decisions,
    cheapest_decisions,
    costs_of_cases,
    expected_costs,
    label_array,
    mean_costs,
    reachable_decisions,
    refuse_limits,
    regrets,
    tie_slack,
)
from stakes.decide.priors import (
    PriorEstimate,
    class_ratios,
    estimate_prior,
    log_likelihood_ratios,
    moved_rows,
    posteriors_from_log_likelihoods,
    posteriors_from_log_odds,
    shift_prior,
)

__all__ = [
    "MOST_WHOLE",
    "ROUNDING",
    "PriorEstimate",
    "bayes_decision_indices",
    "bayes_decisions",
    "cheapest_decisions",
    "class_ratios",
    "costs_of_cases",
    "estimate_prior",
    "expected_costs",
    "label_array",
    "log_likelihood_ratios",
    "mean_costs",
    "moved_rows",
    "posteriors_from_log_likelihoods",
    "posteriors_from_log_odds",
    "reachable_decisions",
    "refuse_limits",
    "regrets",
    "shift_prior",
    "tie_slack",
]
