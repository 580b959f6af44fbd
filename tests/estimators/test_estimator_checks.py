"""scikit-learn's own checks of estimators, with no failure that is expected."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from stakes.sklearn import BayesDecisionClassifier

CHECKS = parametrize_with_checks([BayesDecisionClassifier(LogisticRegression())])
NAMES, CASES = CHECKS.args  # before scikit-learn 1.8 an iterator, which pytest 9 deprecates


@pytest.mark.parametrize(NAMES, list(CASES), **CHECKS.kwargs)
def test_scikit_learn_accepts_the_classifier(
    estimator: Any, check: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # without it, a check of numpy arrays is skipped
    check(estimator)
