"""Figures of curves and tables on matplotlib Axes.

There is one function for each curve and table. They only draw; `stakes.displays` computes what it
draws and then calls them. Every function takes ``ax=`` and returns the Axes. Without ``ax`` it
makes a new figure outside pyplot's global state, so that ``plot.roc(...).figure.savefig(path)``
works anywhere. Needs the extra ``plot``.
"""

from stakes.plot._style import MOST_BANDS, short_names
from stakes.plot.band_plots import (
    BandedLine,
    CostRow,
    ReliabilityPanel,
    banded_lines,
    cost_rows,
    reliability_panels,
)
from stakes.plot.curve_plots import (
    break_even_curves,
    capacity_curves,
    cost_curves,
    coverage_curves,
    decision_curves,
    detection_error_tradeoff,
    gains,
    precision_recall,
    reliability,
    roc,
    score_histogram,
)
from stakes.plot.table_plots import (
    decision_table,
    metric_disagreement,
    regions_map,
    utility_hexagon,
)

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
