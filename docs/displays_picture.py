"""Draws the picture of docs/displays.md; needs scikit-learn."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stakes import Problem
from stakes.displays import (
    CostByThresholdDisplay,
    DecisionCurveDisplay,
    ReliabilityDisplay,
    SystemCostsDisplay,
)

PICTURE = Path(__file__).with_name("displays.png")


def main() -> None:
    """Fit two models and draw four displays of them."""
    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"})
    X_train, X, y_train, y = train_test_split(
        data.data.iloc[:, :4], y, test_size=0.5, random_state=0
    )
    models = {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "naive Bayes": GaussianNB(),
    }
    models = {name: model.fit(X_train, y_train) for name, model in models.items()}
    problem = Problem.binary(
        false_alarm=1, miss=10, unit="biopsies", classes=["benign", "malignant"]
    )
    figure = Figure(figsize=(11, 7), dpi=90, layout="constrained")
    axes = figure.subplots(2, 2)
    shown = (
        DecisionCurveDisplay.from_estimator(models, X, y, positive="malignant"),
        ReliabilityDisplay.from_estimator(models, X, y, positive="malignant"),
        CostByThresholdDisplay.from_estimator(models, X, y, problem),
        SystemCostsDisplay.from_estimator(models, X, y, problem, calibrator=None),
    )
    for ax, display in zip(axes.flat, shown, strict=True):
        display.plot(ax)
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
