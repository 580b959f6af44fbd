"""Models like A and B: a naive Bayes and a decision tree, scored on cases they did not see.

The paper's data are not published. The features and the size of the tree were chosen so that the
pair disagrees as the paper's does; that it does is no evidence, what follows from it is.
"""

from __future__ import annotations

from functools import cache

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import stakes
from stakes.conditions import Condition

FEATURES = (
    "texture error",
    "smoothness error",
    "concavity error",
    "concave points error",
    "symmetry error",
    "fractal dimension error",
)
METHODS = {
    "score-fixed": stakes.ScoreFixed(0.5),
    "score-uniform": stakes.ScoreUniform(),
    "score-driven": stakes.ScoreDriven(),
    "rate-fixed": stakes.RateFixed(0.5),
    "rate-uniform": stakes.RateUniform(),
    "rate-driven": stakes.RateDriven(),
    "optimal": stakes.Optimal(),
}


@cache
def models() -> dict[str, stakes.ScoreTable]:
    """Scores of both models on half of the breast cancer data; benign is the positive class."""
    data = load_breast_cancer()
    columns = [list(data.feature_names).index(name) for name in FEATURES]
    seen, new, y_seen, y_new = train_test_split(
        data.data[:, columns], data.target, test_size=0.5, random_state=0, stratify=data.target
    )
    fitted = {
        "A": GaussianNB().fit(seen, y_seen),
        "B": DecisionTreeClassifier(max_leaf_nodes=8, random_state=0).fit(seen, y_seen),
    }
    return {
        name: stakes.ScoreTable.from_scores(y_new, model.predict_proba(new)[:, 1])
        for name, model in fitted.items()
    }


def loss(
    table: stakes.ScoreTable,
    method: str,
    condition: Condition | None = None,
) -> float:
    """Expected loss of a method by its name; uniform cost proportions unless said otherwise."""
    over = stakes.CostProportions() if condition is None else condition
    return float(stakes.expected_loss(table, METHODS[method], over))
