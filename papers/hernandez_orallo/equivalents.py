"""The last column of Table 4: metrics that say the same, and the expected loss that they imply."""

from __future__ import annotations

from hernandez_orallo.models import METHODS

from stakes import CostProportions, ScoreTable, Uniform, h_measure
from stakes.curves import cost_curve
from stakes.ranking import gini, kendall_distance, mann_whitney_u, weighted_auc


def mean_scores(table: ScoreTable) -> tuple[float, float]:
    """The terms π₀ s̄₀ and π₁ (1 − s̄₁): what the scores of both classes are off in the mean."""
    low, high = (table.weights / table.n_cases).T
    return float(low @ table.scores), float(high @ (1 - table.scores))


def equivalents(table: ScoreTable) -> list[tuple[str, float, str, float]]:
    """Name and value of each metric, the method it belongs to, and the loss computed from it."""
    pi, pairs = float(table.shares.prod()), float(table.weights.sum(axis=0).prod())
    tau, g = float(kendall_distance(table)), float(gini(table))
    u, w = float(mann_whitney_u(table)), float(weighted_auc(table))
    h = float(h_measure(table, Uniform()))
    area = float(cost_curve(table, METHODS["optimal"], CostProportions).integral())
    rows = [
        ("average scores, π₀s̄₀ + π₁(1 − s̄₁)", sum(mean_scores(table)), "score-uniform", 0.0),
        ("Gini coefficient", g, "rate-uniform", 1 / 2 - pi * g),
        ("Kendall tau distance", tau, "rate-uniform", 1 / 2 - pi * (1 - 2 * tau)),
        ("Wilcoxon-Mann-Whitney", u, "rate-uniform", 1 / 2 + pi * (1 - 2 * u / pairs)),
        ("weighted AUC", w, "rate-driven", 1 / 3 + pi - 2 * w),
        ("Hand's H, uniform costs", h, "optimal", pi * (1 - h)),
        ("area under the cost curve", area, "optimal", area),
    ]
    return [(name, value, method, again or value) for name, value, method, again in rows]
