"""Row-level functions in scikit-learn's convention: ``f(y_true, y_pred or y_proba, *, …)``.

Each is a few lines over a tally, so ``sklearn.metrics.make_scorer`` and everything else that
expects this convention can use them. Lower is better unless the name says otherwise.

`clinical_table` and `calibration_table` make tables with intervals, as papers print them.

Takes rows.
"""

from stakes.metrics.metric_tables import MetricRow, MetricTable, calibration_table, clinical_table
from stakes.metrics.row_costs import (
    bayes_cost,
    expected_cost,
    normalized_bayes_cost,
    normalized_cost,
    utility_yield,
)

__all__ = [
    "MetricRow",
    "MetricTable",
    "bayes_cost",
    "calibration_table",
    "clinical_table",
    "expected_cost",
    "normalized_bayes_cost",
    "normalized_cost",
    "utility_yield",
]
