"""Measures: pure functions of counts (and of a problem), one formula each.

`cost` holds expected cost and related measures, also as sums of terms; `confusion` the familiar
metrics of a square table, agreement beyond chance among them; `clinical` the measures of diagnostic
tests. Leading axes are carried through; undefined is nan.

Takes tallies.
"""

from stakes._check import guard
from stakes.measures.clinical import (
    diagnostic_odds_ratio,
    informedness,
    likelihood_ratio_negative,
    likelihood_ratio_positive,
    markedness,
    multiclass_net_benefit,
    net_benefit,
    standardized_net_benefit,
)
from stakes.measures.confusion import (
    abstention_rate,
    accuracy,
    balanced_accuracy,
    balanced_error_rate,
    best_naive_f_beta,
    cohen_kappa,
    coverage,
    error_rate,
    f_beta,
    f_beta_of_averages,
    fowlkes_mallows,
    jaccard,
    macro_f_beta,
    mcc,
    negative_predictive_value,
    one_vs_rest,
    precision,
    recall,
    specificity,
    weighted_kappa,
)
from stakes.measures.cost import (
    coefficients_on,
    constant_sums,
    cost_shares,
    decision_rates,
    expected_cost,
    expected_cost_per_class,
    naive_cost,
    normalized_cost,
    perfect_cost,
    prior_of,
    relative_economic_value,
    term_cost,
    utility_yield,
)

__all__ = [
    "abstention_rate",
    "accuracy",
    "balanced_accuracy",
    "balanced_error_rate",
    "best_naive_f_beta",
    "coefficients_on",
    "cohen_kappa",
    "constant_sums",
    "cost_shares",
    "coverage",
    "decision_rates",
    "diagnostic_odds_ratio",
    "error_rate",
    "expected_cost",
    "expected_cost_per_class",
    "f_beta",
    "f_beta_of_averages",
    "fowlkes_mallows",
    "informedness",
    "jaccard",
    "likelihood_ratio_negative",
    "likelihood_ratio_positive",
    "macro_f_beta",
    "markedness",
    "mcc",
    "multiclass_net_benefit",
    "naive_cost",
    "negative_predictive_value",
    "net_benefit",
    "normalized_cost",
    "one_vs_rest",
    "perfect_cost",
    "precision",
    "prior_of",
    "recall",
    "relative_economic_value",
    "specificity",
    "standardized_net_benefit",
    "term_cost",
    "utility_yield",
    "weighted_kappa",
]

guard(__name__)
