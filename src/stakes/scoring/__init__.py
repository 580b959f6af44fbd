"""Proper scoring rules: what probability forecasts cost, for cases and for tables.

- rules for any number of classes: `LogLoss`, `Brier`, `HalfBrier`, `Spherical`;
- rules for two classes, by a weight on cost proportions: `BetaScore`, `CostWeighted`;
- of cases: `case_scores`, `mean_score`, `normalized_score`, `score_moments`;
- of tables: `table_score`, `normalized_table_score`, `brier`, `log_loss`, `mean_absolute_error`,
  `calibration_loss`, `refinement_loss` over bins.
"""

from __future__ import annotations

from stakes.scoring.bins import Bins, EachScore, Edges, EqualMass, EqualWidth, HullBins
from stakes.scoring.case_scores import case_scores, mean_score, normalized_score, score_moments
from stakes.scoring.rules import Brier, HalfBrier, LogLoss, ScoringRule, Spherical
from stakes.scoring.table_scores import (
    brier,
    calibration_loss,
    log_loss,
    mean_absolute_error,
    normalized_table_score,
    refinement_loss,
    table_score,
)
from stakes.scoring.weighted import BetaScore, BinaryRule, CostWeighted

__all__ = [
    "BetaScore",
    "BinaryRule",
    "Bins",
    "Brier",
    "CostWeighted",
    "EachScore",
    "Edges",
    "EqualMass",
    "EqualWidth",
    "HalfBrier",
    "HullBins",
    "LogLoss",
    "ScoringRule",
    "Spherical",
    "brier",
    "calibration_loss",
    "case_scores",
    "log_loss",
    "mean_absolute_error",
    "mean_score",
    "normalized_score",
    "normalized_table_score",
    "refinement_loss",
    "score_moments",
    "table_score",
]
