"""Models like A and B: a naive Bayes and a decision tree, scored on cases they did not see.

The paper's data are not published. The features and the size of the tree were chosen so that the
pair disagrees as the paper's does; that it does is no evidence, what follows from it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np
from page import Page
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import stakes
from stakes.conditions import Condition

ERRORS = "texture", "smoothness", "concavity", "concave points", "symmetry", "fractal dimension"
METHODS = {
    "score-fixed": stakes.ScoreFixed(0.5),
    "score-uniform": stakes.ScoreUniform(),
    "score-driven": stakes.ScoreDriven(),
    "rate-fixed": stakes.RateFixed(0.5),
    "rate-uniform": stakes.RateUniform(),
    "rate-driven": stakes.RateDriven(),
    "optimal": stakes.Optimal(),
}
UNIFORM = stakes.CostProportions()


@cache
def models() -> dict[str, stakes.ScoreTable]:
    """Scores of both models on half of the breast cancer data; benign is the positive class."""
    data = load_breast_cancer()
    features = data.data[:, np.isin(data.feature_names, [f"{name} error" for name in ERRORS])]
    seen, new, y_seen, y_new = train_test_split(
        features, data.target, test_size=0.5, random_state=0, stratify=data.target
    )
    made = {"A": GaussianNB(), "B": DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)}
    return {
        name: stakes.ScoreTable.from_scores(y_new, model.fit(seen, y_seen).predict_proba(new)[:, 1])
        for name, model in made.items()
    }


def loss(table: stakes.ScoreTable, method: str, over: Condition = UNIFORM) -> float:
    """Expected loss of a method by its name; uniform cost proportions unless said otherwise."""
    return float(stakes.expected_loss(table, METHODS[method], over))


def show_beside(page: Page, paper: Mapping[str, list], here: Mapping[str, list]) -> None:
    """Add a table of A and B: what the paper prints, and what comes out here."""
    rows = [(name, *map(str, paper[name]), *here[name]) for name in paper]
    page.rows(("", "paper, A", "paper, B", "here, A", "here, B"), rows, decimals=3)
