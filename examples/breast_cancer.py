"""From estimators to a report and a decision rule: breast cancer in fifteen lines."""

from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from stakes import Problem
from stakes.sklearn import BayesDecisionClassifier, evaluate_estimators

X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant, 1 is benign
decisions = ["operate", "biopsy", "discharge"]
problem = Problem([[0, 3, 60], [10, 1, 0]], decisions=decisions, unit="days")
line = LogisticRegression(solver="liblinear")
models = {"line": line, "tree": DecisionTreeClassifier(max_depth=4, random_state=0)}
report = evaluate_estimators(models, X, y, problem, cv=5)
print(report)
best = models[report.best.model].fit(X, y)
clf = BayesDecisionClassifier.from_rule(report.rule(), best)
print(clf.rule_, clf.predict(X[:5]), clf.predict_proba(X[:5]).round(3), sep="\n")
