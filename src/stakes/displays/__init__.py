"""Displays: one call from an estimator, or from predictions, to a figure for a paper.

Each display has ``from_estimator`` and ``from_predictions``; ``plot(ax=None)``, which returns the
Axes; and ``columns()`` and ``frame()``, the numbers that are drawn. Bands are pointwise confidence
intervals, and the figure says so. Needs the extra ``plot``, and ``frames`` for frames. Scikit-learn
is not imported.
"""

from stakes.displays.capacity_displays import CapacityDisplay, CoverageDisplay
from stakes.displays.cost_displays import (
    BrierCurveDisplay,
    CostByThresholdDisplay,
    CostCurveDisplay,
    DecisionCurveDisplay,
    InterventionsAvoidedDisplay,
    NetBenefitDifferenceDisplay,
    RateDrivenCurveDisplay,
    SystemCostsDisplay,
)
from stakes.displays.display import CurvesDisplay, Display
from stakes.displays.reliability_display import ReliabilityDisplay

__all__ = [
    "BrierCurveDisplay",
    "CapacityDisplay",
    "CostByThresholdDisplay",
    "CostCurveDisplay",
    "CoverageDisplay",
    "CurvesDisplay",
    "DecisionCurveDisplay",
    "Display",
    "InterventionsAvoidedDisplay",
    "NetBenefitDifferenceDisplay",
    "RateDrivenCurveDisplay",
    "ReliabilityDisplay",
    "SystemCostsDisplay",
]
