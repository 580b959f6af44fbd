"""The named curves of a score table: functions that can be evaluated anywhere, or columns to draw.

Loss curves, ROC, gains and net benefit are exact `Curve` values: pieces with their true corners
and jumps, not a grid. Curves that are not made of such pieces (precision and recall, DET, lift)
come as columns, one entry for each threshold, and carry leading axes. The area under a loss curve
is the expected loss of its method under uniform conditions.

Takes tallies.
"""

from stakes.curves.bayes_error import BayesErrorPlot, BayesErrorRate, bayes_error_plot
from stakes.curves.cost_curves import (
    CostLines,
    DecisionCurve,
    brier_curve,
    capacity_curve,
    cost_curve,
    cost_line,
    cost_lines,
    coverage_curve,
    decision_curve,
    optimal_curve,
    rate_driven_curve,
)
from stakes.curves.ranks import (
    DetectionErrorTradeoff,
    Lift,
    PrecisionRecall,
    detection_error_tradeoff,
    gains_curve,
    hull_curve,
    lift,
    precision_recall,
    roc_curve,
)

__all__ = [
    "BayesErrorPlot",
    "BayesErrorRate",
    "CostLines",
    "DecisionCurve",
    "DetectionErrorTradeoff",
    "Lift",
    "PrecisionRecall",
    "bayes_error_plot",
    "brier_curve",
    "capacity_curve",
    "cost_curve",
    "cost_line",
    "cost_lines",
    "coverage_curve",
    "decision_curve",
    "detection_error_tradeoff",
    "gains_curve",
    "hull_curve",
    "lift",
    "optimal_curve",
    "precision_recall",
    "rate_driven_curve",
    "roc_curve",
]
