"""Models like A and B: a naive Bayes and a decision tree, scored on cases they did not see.

The paper's data are not published. These data and the size of the tree were chosen so that the
pair disagrees as the paper's does; that it does is no evidence, what follows from it is.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import stakes
from stakes.conditions import Condition
from stakes.tally import JointScores

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
def joint_scores(split: int = 0) -> JointScores:
    """Scores of both models on half of the digits; those from five on are the positive class."""
    data = load_digits()
    high = data.target >= 5
    seen, new, y_seen, y_new = train_test_split(
        data.data, high, test_size=0.5, random_state=split, stratify=high
    )
    estimators = {"A": GaussianNB(), "B": DecisionTreeClassifier(max_leaf_nodes=4, random_state=0)}
    scores = {name: m.fit(seen, y_seen).predict_proba(new)[:, 1] for name, m in estimators.items()}
    return JointScores.from_scores(y_new, scores)


def models(split: int = 0) -> dict[str, stakes.ScoreTable]:
    """The table of scores of each model."""
    return {name: joint_scores(split).table(name) for name in "AB"}


def kind(method: str, table: stakes.ScoreTable) -> str:
    """What the threshold of a method follows: nothing, the operating condition, or chance."""
    chosen = [float(METHODS[method].threshold(table, c)) for c in np.linspace(0.05, 0.95, 10)]
    if np.isnan(chosen).all():
        return "chosen uniformly"
    return "fixed" if np.ptp(chosen) == 0 else "driven"


def loss(table: stakes.ScoreTable, method: str, over: Condition = UNIFORM) -> float:
    """Expected loss of a method by its name; uniform cost proportions unless said otherwise."""
    return float(stakes.expected_loss(table, METHODS[method], over))
