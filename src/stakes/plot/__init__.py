"""Figures of curves and tables on matplotlib Axes.

There is one function for each curve and table. They only draw; `stakes.displays` computes what it
draws and then calls them. Every function takes ``ax=`` and returns the Axes. Without ``ax`` it
makes a new figure outside pyplot's global state, so that ``plot.roc(...).figure.savefig(path)``
works anywhere. Needs the extra ``plot``.
"""

from stakes.plot._figures import (
    BandedLine,
    CostRow,
    ReliabilityPanel,
    banded_lines,
    break_even_curves,
    capacity_curves,
    cost_curves,
    cost_rows,
    coverage_curves,
    decision_curves,
    decision_table,
    detection_error_tradeoff,
    gains,
    metric_disagreement,
    precision_recall,
    regions_map,
    reliability,
    reliability_panels,
    roc,
    score_histogram,
    utility_hexagon,
)
from stakes.plot._style import MOST_BANDS, short_names

__all__ = [
    "MOST_BANDS",
    "BandedLine",
    "CostRow",
    "ReliabilityPanel",
    "banded_lines",
    "break_even_curves",
    "capacity_curves",
    "cost_curves",
    "cost_rows",
    "coverage_curves",
    "decision_curves",
    "decision_table",
    "detection_error_tradeoff",
    "gains",
    "metric_disagreement",
    "precision_recall",
    "regions_map",
    "reliability",
    "reliability_panels",
    "roc",
    "score_histogram",
    "short_names",
    "utility_hexagon",
]
