"""Proper scoring rules: what probability forecasts cost, for cases and for tables.

- rules for any number of classes: `LogLoss`, `Brier`, `HalfBrier`, `Spherical`, and
  `RankedProbability` for ordered ones;
- rules for two classes, by a weight on cost proportions: `BetaScore`, `CostWeighted`;
- of cases: `case_scores`, `mean_score`, `normalized_score`, `score_moments`, and
  `one_vs_one_auc`;
- of tables: `table_score`, `normalized_table_score`, `brier`, `log_loss`, `mean_absolute_error`,
  `calibration_loss`, `refinement_loss` over bins; `cllr`, `min_cllr` of log-likelihood ratios.

Takes rows where a function is about cases, and tallies where it is about tables.
"""

from __future__ import annotations

from stakes.scoring.rules import (
    BetaScore,
    BinaryRule,
    Brier,
    CostWeighted,
    HalfBrier,
    LogLoss,
    RankedProbability,
    ScoringRule,
    Spherical,
    case_scores,
    class_labels,
    class_means,
    column_classes,
    expected_score,
    mean_over_classes,
    mean_score,
    n_columns,
    normalized_score,
    read_forecasts,
    score_moments,
    shape_of,
)
from stakes.scoring.table_scores import (
    Binning,
    CutBins,
    EachScore,
    Edges,
    EqualMass,
    EqualWidth,
    HullBins,
    bin_sums,
    brier,
    calibration_loss,
    cllr,
    log_loss,
    mean_absolute_error,
    min_cllr,
    normalized_table_score,
    one_vs_one_auc,
    posterior_pairs,
    probability_scores,
    refinement_loss,
    table_score,
)

__all__ = [
    "BetaScore",
    "BinaryRule",
    "Binning",
    "Brier",
    "CostWeighted",
    "CutBins",
    "EachScore",
    "Edges",
    "EqualMass",
    "EqualWidth",
    "HalfBrier",
    "HullBins",
    "LogLoss",
    "RankedProbability",
    "ScoringRule",
    "Spherical",
    "bin_sums",
    "brier",
    "calibration_loss",
    "case_scores",
    "class_labels",
    "class_means",
    "cllr",
    "column_classes",
    "expected_score",
    "log_loss",
    "mean_absolute_error",
    "mean_over_classes",
    "mean_score",
    "min_cllr",
    "n_columns",
    "normalized_score",
    "normalized_table_score",
    "one_vs_one_auc",
    "posterior_pairs",
    "probability_scores",
    "read_forecasts",
    "refinement_loss",
    "score_moments",
    "shape_of",
    "table_score",
]
