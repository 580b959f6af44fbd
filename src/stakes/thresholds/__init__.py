"""Threshold-choice methods, their losses over operating conditions, and the best threshold.

A method says which threshold is used at each cost proportion. Its loss curve is made of pieces,
and its expected loss over any distribution of conditions is a sum, never a grid
(hernandez-orallo; dyrland, section 5).

Takes tallies.
"""

from stakes.thresholds.best import (
    BestThreshold,
    ByThreshold,
    StakesTable,
    best_threshold,
    stakes_table,
    weighed,
)
from stakes.thresholds.methods import (
    Method,
    Optimal,
    RateDriven,
    RateFixed,
    RateUniform,
    ScoreDriven,
    ScoreFixed,
    ScoreUniform,
    expected_loss,
    h_measure,
    population_of,
)

__all__ = [
    "BestThreshold",
    "ByThreshold",
    "Method",
    "Optimal",
    "RateDriven",
    "RateFixed",
    "RateUniform",
    "ScoreDriven",
    "ScoreFixed",
    "ScoreUniform",
    "StakesTable",
    "best_threshold",
    "expected_loss",
    "h_measure",
    "population_of",
    "stakes_table",
    "weighed",
]
