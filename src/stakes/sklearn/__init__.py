"""Cost-aware decisions for scikit-learn.

- `BayesDecisionClassifier`: fits a classifier, calibrates it out of fold, and takes the decisions
  with the least expected cost;
- `make_scorer`: the metrics of `stakes.metrics` and proper scores for ``scoring=``;
- `evaluate_estimators`: the report on estimators by cross-validation.

Classes are matched by their labels everywhere, whatever their order in scikit-learn or in the
problem; labels that do not match are an error.

Needs the extra ``sklearn`` (scikit-learn 1.7 or newer).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from stakes.errors import extra

if TYPE_CHECKING:
    from stakes.sklearn.bayes_classifier import BayesDecisionClassifier
    from stakes.sklearn.estimator_report import evaluate_estimators, make_scorer

_HOME = {
    "BayesDecisionClassifier": "bayes_classifier",
    "evaluate_estimators": "estimator_report",
    "make_scorer": "estimator_report",
}

__all__ = ["BayesDecisionClassifier", "evaluate_estimators", "make_scorer"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'stakes.sklearn' has no attribute {name!r}")
    with extra("sklearn", f"stakes.sklearn.{name}"):
        value = getattr(import_module(f"stakes.sklearn.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
