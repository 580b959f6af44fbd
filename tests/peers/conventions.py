"""How other packages count, translated into our conventions, in one place.

=================  ==========================================  ====================================
package            theirs                                      ours
=================  ==========================================  ====================================
scikit-learn       positive where score >= threshold           positive where score > threshold
scikit-learn       ROC from (0, 0) to (1, 1)                   from (1, 1) to (0, 0)
scikit-learn       precision 1 without positive decisions      nan
scikit-learn       ``roc_auc_score(max_fpr=m)`` standardises   `standardized_partial_auc`
scikit-learn       ``det_curve`` drops its trivial ends        all thresholds
hmeasure           severity ratio, negative for the other      Beta(2, 1 + 1/ratio); `Beta.severity`
                   default                                     and `Beta.hand`
dcurves            positive where risk >= p                    positive where score > p
dcurves            prevalence for case-control data            ``table.with_prior``
=================  ==========================================  ====================================

Each function returns what the other package says, in our order and under our names.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from dcurves import dca
from hmeasure import h_score
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

from stakes._check import FloatArray, IntArray
from stakes.conditions import Beta

__all__ = [
    "Cases",
    "cases",
    "cuts_at_or_above",
    "dcurves_table",
    "hmeasure_default",
    "hmeasure_score",
    "just_below",
    "sklearn_average_precision",
    "sklearn_det",
    "sklearn_isotonic",
    "sklearn_precision_recall",
    "sklearn_roc",
    "sklearn_roc_auc",
    "sklearn_standardized_partial_auc",
]

Cases = tuple[IntArray, FloatArray, FloatArray]


def cases(seed: int, *, whole: bool = False) -> Cases:
    """Classes, scores in [0, 1] and weights; heavy ties and imbalance in two seeds of three."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(5, 400))
    share = (0.5, 0.9, 0.02)[seed % 3]
    y = (rng.random(size) < share).astype(np.intp)
    y[:2] = 0, 1
    signal = rng.normal(0.3 + 0.1 * (seed % 4) * y, 0.2)
    scores = np.clip(np.round(signal, 6 if seed % 3 == 0 else 1), 0, 1)
    weights = np.ones(size) if whole else rng.choice([0.25, 1.0, 3.0, 40.0], size)
    return y, scores, weights


# scikit-learn ------------------------------------------------------------------------------------


def cuts_at_or_above(scores: FloatArray, thresholds: FloatArray) -> IntArray:
    """Cut whose positive decisions are the scores at or above the threshold."""
    return np.asarray(np.searchsorted(scores, thresholds, side="left"), dtype=np.intp)


def sklearn_roc(
    y: IntArray, scores: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """False-alarm and hit rate from the lowest threshold to the highest."""
    alarm, hit, _ = metrics.roc_curve(y, scores, sample_weight=weights, drop_intermediate=False)
    return alarm[::-1], hit[::-1]


def sklearn_roc_auc(y: IntArray, scores: FloatArray, weights: FloatArray) -> float:
    return float(metrics.roc_auc_score(y, scores, sample_weight=weights))


def sklearn_standardized_partial_auc(
    y: IntArray, scores: FloatArray, weights: FloatArray, limit: float
) -> float:
    return float(metrics.roc_auc_score(y, scores, sample_weight=weights, max_fpr=limit))


def sklearn_average_precision(y: IntArray, scores: FloatArray, weights: FloatArray) -> float:
    return float(metrics.average_precision_score(y, scores, sample_weight=weights))


def sklearn_precision_recall(
    y: IntArray, scores: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Precision and recall from the lowest threshold to the highest, the last without decisions."""
    precision, recall, _ = metrics.precision_recall_curve(y, scores, sample_weight=weights)
    return np.append(precision[:-1], np.nan), recall


def sklearn_det(
    y: IntArray, scores: FloatArray, weights: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Cuts that they keep, with false-alarm and miss rates."""
    alarm, miss, thresholds = metrics.det_curve(y, scores, sample_weight=weights)
    return cuts_at_or_above(np.unique(scores), thresholds), alarm, miss


def sklearn_isotonic(y: IntArray, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Calibrated probability of every case."""
    fitted = IsotonicRegression().fit_transform(scores, y, sample_weight=weights)
    return np.asarray(fitted, dtype=np.float64)


# hmeasure ----------------------------------------------------------------------------------------


def hmeasure_score(y: IntArray, scores: FloatArray, ratio: float) -> tuple[float, Beta]:
    """H for a severity ratio, and the distribution of cost proportions that it means."""
    return float(h_score(y, scores, severity_ratio=ratio)), Beta(2, 1 + 1 / ratio)


def hmeasure_default(y: IntArray, scores: FloatArray) -> tuple[float, float]:
    """H under `Beta.severity` and under `Beta.hand`, the two defaults that they know."""
    return float(h_score(y, scores)), float(h_score(y, scores, severity_ratio=-1.0))


# dcurves -----------------------------------------------------------------------------------------


def just_below(p: FloatArray) -> FloatArray:
    """Threshold probabilities at which our > decides as their >= does at p."""
    return np.nextafter(p, -np.inf)


def dcurves_table(
    y: IntArray, scores: FloatArray, p: FloatArray, prevalence: float | None = None
) -> dict[str, FloatArray]:
    """Net benefit of the model, of treating all and none, and the interventions avoided."""
    frame = pd.DataFrame({"y": y.astype(bool), "model": scores})
    table = dca(
        frame, outcome="y", modelnames=["model"], thresholds=p.tolist(), prevalence=prevalence
    )
    columns = {
        f"{name}_net_benefit": table[table["model"] == name]["net_benefit"].to_numpy(float)
        for name in ("model", "all", "none")
    }
    avoided = table[table["model"] == "model"]["net_intervention_avoided"].to_numpy(float)
    return {**columns, "interventions_avoided": avoided}
