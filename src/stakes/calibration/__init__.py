"""Calibrators, and measures of calibration.

Calibrators turn scores into calibrated posteriors: ``Isotonic().fit(scores, y)(new_scores)``.

- real scores of two classes: `Isotonic`, `Logistic`, `Platt`, `Histogram`;
- posteriors of two classes: these, and `BetaMap`;
- posteriors of any number of classes: `Affine`, `Temperature`, `VectorScaling`, `FullAffine`,
  `OneVsRestIsotonic`;
- `Select` chooses among several of them; `Identity` leaves posteriors as they are;
- `cross_calibrate` gives out-of-fold posteriors; fitted maps are stored with ``to_json`` and
  `from_json`.

Measures say what miscalibration costs: `decompose` for any proper score, `cost_of_miscalibration`
in the currency of a problem; `reliability` with bands, the `calibration_error` of bins, and quick
tests.

Takes rows, except functions whose name or first argument says that they take a score table.
"""

from __future__ import annotations

from stakes.calibration.affine import (
    Affine,
    BetaMap,
    FullAffine,
    Logistic,
    Platt,
    Temperature,
    VectorScaling,
)
from stakes.calibration.calibrator import (
    AffineLogs,
    CalibrationMap,
    Calibrator,
    Identity,
    decoded_map,
    encoded_map,
    from_json,
    largest_finite,
    log_odds,
    sealed_map,
)
from stakes.calibration.crossfit import CheckedRows, cross_calibrate, hashed_folds, most_folds
from stakes.calibration.logistic import coefficient_variances
from stakes.calibration.reliability import (
    Band,
    CalibrationLine,
    CalibrationTest,
    CostOfMiscalibration,
    Decomposition,
    Reliability,
    calibration_error,
    calibration_in_the_large,
    calibration_line,
    class_tables,
    confidence_band,
    consistency_band,
    cost_of_miscalibration,
    decompose,
    decompose_by_cross_calibration,
    decompose_by_recalibration,
    finite_log_odds,
    lowess_distances,
    mean_score_gap,
    reliability,
    smooth_calibration_errors,
    smooth_curve,
    spiegelhalter,
    table_cost_of_miscalibration,
    top_label_table,
)
from stakes.calibration.select import Select
from stakes.calibration.step_maps import Histogram, Isotonic, OneVsRestIsotonic

__all__ = [
    "Affine",
    "AffineLogs",
    "Band",
    "BetaMap",
    "CalibrationLine",
    "CalibrationMap",
    "CalibrationTest",
    "Calibrator",
    "CheckedRows",
    "CostOfMiscalibration",
    "Decomposition",
    "FullAffine",
    "Histogram",
    "Identity",
    "Isotonic",
    "Logistic",
    "OneVsRestIsotonic",
    "Platt",
    "Reliability",
    "Select",
    "Temperature",
    "VectorScaling",
    "calibration_error",
    "calibration_in_the_large",
    "calibration_line",
    "class_tables",
    "coefficient_variances",
    "confidence_band",
    "consistency_band",
    "cost_of_miscalibration",
    "cross_calibrate",
    "decoded_map",
    "decompose",
    "decompose_by_cross_calibration",
    "decompose_by_recalibration",
    "encoded_map",
    "finite_log_odds",
    "from_json",
    "hashed_folds",
    "largest_finite",
    "log_odds",
    "lowess_distances",
    "mean_score_gap",
    "most_folds",
    "reliability",
    "sealed_map",
    "smooth_calibration_errors",
    "smooth_curve",
    "spiegelhalter",
    "table_cost_of_miscalibration",
    "top_label_table",
]
