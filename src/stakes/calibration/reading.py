"""Scores of cases, as the calibrators take them: posteriors of all classes, or real numbers.

Posteriors that name their classes (`stakes.Posteriors`, frames) go by these names, so that columns
which scikit-learn has sorted cannot be read in another order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.calibration.contract import Cases, read_cases
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores, read_posteriors
from stakes.scoring.rows import class_labels, column_classes, n_columns, shape_of


def is_posteriors(scores: object) -> bool:
    """Whether the scores say that they are posteriors: a wrapper or a frame."""
    return isinstance(scores, Posteriors) or hasattr(scores, "columns")


def is_one_column(scores: object) -> bool:
    """Whether posteriors of two classes came as P(second class)."""
    given: Any = scores.values if isinstance(scores, Posteriors) else scores
    return not hasattr(given, "columns") and np.ndim(given) == 1


def n_classes_of(scores: object) -> int:
    """How many classes posteriors have, two or more."""
    named = column_classes("scores", scores)
    size = n_columns("scores", scores) if named is None else len(named)
    if size < 2:
        raise InputError(
            f"scores must have a column for each of two or more classes; there is {size}. "
            f"Pass an (n,) array for P(second class) of two."
        )
    return size


def read_posterior_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, Cases]:
    """Posteriors (n, K) of cases of any number of classes, and these; only those with weight."""
    return _read_posteriors(scores, y, n_classes_of(scores), classes, weights, prior)


def read_pair_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, Cases]:
    """Posteriors (n, 2) of cases of two classes, and these; only those with weight."""
    return _read_posteriors(scores, y, 2, classes, weights, prior)


def _read_posteriors(
    scores: object, y: object, size: int, classes: object, weights: object, prior: object
) -> tuple[FloatArray, Cases]:
    stated = column_classes("scores", scores) if classes is None else classes
    names: Labels = tuple(range(size))
    if stated is not None:
        names = class_labels(y, stated, size, name="y")
    rows = read_posteriors("scores", scores, names)
    return read_cases(rows, y, size, None if stated is None else names, weights, prior)


def real_scores(scores: object, classes: Labels | None) -> FloatArray:
    """One real or infinite score for each case; of named posteriors, P(second class)."""
    if isinstance(scores, Scores):
        return scores.read("scores")
    if is_posteriors(scores):
        return read_posteriors("scores", scores, classes or (0, 1))[:, 1]
    shape = shape_of("scores", scores)
    if len(shape) == 2:
        raise InputError(
            f"scores must be one number for each case; their shape is {shape}. "
            f"Of posteriors pass column 1, P(second class), or Posteriors(…, classes=…)."
        )
    return _check.real_scores("scores", scores)


def read_score_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, Cases]:
    """Real or infinite scores (n,) of cases of two classes, and these; only those with weight."""
    values, names = _scores_and_names(scores, y, classes)
    return read_cases(values, y, 2, names, weights, prior)


def read_finite_cases(
    scores: object, y: object, classes: object, weights: object, prior: object
) -> tuple[FloatArray, Cases]:
    """The same, of scores that are finite, those without weight too."""
    values, names = _scores_and_names(scores, y, classes)
    return read_cases(_check.floats("scores", values), y, 2, names, weights, prior)


def _scores_and_names(
    scores: object, y: object, classes: object
) -> tuple[FloatArray, Labels | None]:
    stated = column_classes("scores", scores) if classes is None else classes
    names = None if stated is None else class_labels(y, stated, 2, name="y")
    return real_scores(scores, names), names


def in_shape_of(scores: object, posteriors: FloatArray) -> FloatArray:
    """Posteriors (n, K), or P(second class) when the scores came as such."""
    return np.asarray(posteriors[:, 1]) if is_one_column(scores) else posteriors
