"""Reports from cross-validation: what the intervals of `evaluate_estimators` cover.

Two classes of normal features; a logistic regression, which is right about them, and a tree, whose
fits differ much from sample to sample. Three truths can be meant: the mean cost of the very fits of
the folds ("fits"), the cost to expect of fits to other data sets of that size ("procedure"), and
the cost of the one fit to all cases ("all"). Each is measured on a large sample of the population.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from coverage_study.populations import FloatArray, Rows
from coverage_study.reports import printed
from stakes import Posteriors, Problem, Rule
from stakes.calibration import Select
from stakes.evaluation import CrossFitted

__all__ = ["LEARNERS", "TRUTHS", "Fitting", "learners", "looked_at", "row_of"]

LARGE = 20_000  # cases of each class that stand for all
FOLDS = 5
LEARNERS = ("line", "tree", "difference")  # what the tree costs more
TRUTHS = ("fits", "procedure", "all")
WITHIN = 0.3  # share of the variance of a feature that the cases of a cluster share


@dataclass(frozen=True)
class Fitting:
    """A population, and how many cases are drawn from it; `kind` is that of reports."""

    size: int
    prevalence: float
    clusters: int | None = None
    kind: str = "decisions"  # as they are; or "recalibrated"

    @property
    def title(self) -> str:
        """How the cases were drawn, and what was done with the posteriors, in words."""
        drawn = f"{self.clusters} clusters" if self.clusters else "cases"
        return f"{drawn}{', recalibrated' if self.kind == 'recalibrated' else ''}"

    @cached_property
    def problem(self) -> Problem:
        """Three decisions; misses cost as much more as they are rarer."""
        return Problem([[0, 1, 4], [4 / self.prevalence, 0.6 / self.prevalence, 0]],
                       decisions=["clear", "ask", "act"])  # fmt: skip

    def features(self, y: Any, rng: np.random.Generator, owner: Any = None) -> FloatArray:
        """Five of them, three of which separate the classes."""
        noise = rng.standard_normal((len(y), 5))
        if owner is not None:
            shared = rng.standard_normal((owner.max() + 1, 5))[owner]
            noise = np.sqrt(WITHIN) * shared + np.sqrt(1 - WITHIN) * noise
        return np.asarray(noise + y[:, None] * [1.0, 0.6, 0.3, 0.0, 0.0])

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, Any, Any]:
        """Features and classes of a data set, and its clusters."""
        owner = None
        if self.clusters is not None:
            owner = np.arange(self.size) * self.clusters // self.size
        y = (rng.random(self.size) < self.prevalence).astype(int)
        return self.features(y, rng, owner), y, owner

    @cached_property
    def fresh(self) -> FloatArray:
        """Features (2, LARGE, 5) of new cases of both classes."""
        rng = np.random.default_rng(7)
        return np.stack([self.features(np.full(LARGE, k), rng) for k in range(2)])

    def cost(self, fitted: Any, rule: Rule) -> float:
        """What a rule on a fitted learner costs in the population."""
        shares, total = (1 - self.prevalence, self.prevalence), 0.0
        for k in range(2):
            decided = rule.decision_indices(fitted.predict_proba(self.fresh[k]))
            total += shares[k] * float(self.problem.costs[k, decided].mean())
        return total


def row_of(design: Fitting, samples: int, seed: int) -> dict[str, Any]:
    """Coverages in %, by learner and truth, of intervals of this many data sets."""
    rng = np.random.default_rng(seed)
    results = [looked_at(design, *design.draw(rng)) for _ in range(samples)]
    ends = np.array([result[0] for result in results])  # (sample, learner, value low high)
    truths = np.array([result[1] for result in results])  # (sample, learner, truth)
    truths[:, :, 1] = truths[:, :, 0 if design.kind == "decisions" else 2].mean(axis=0)
    inside = (ends[:, :, 1, None] <= truths) & (truths <= ends[:, :, 2, None])
    row: dict[str, Any] = {}
    for i, learner in enumerate(LEARNERS):
        for j, truth in enumerate(TRUTHS):
            known = design.kind == "decisions" or truth != "fits"
            share = 100 * float(inside[:, i, j].mean())
            row[f"{learner}, {truth}"] = share if known else None
        off = ends[:, i, 0] - truths[:, i, 2]
        row[f"{learner}, above all"] = float(off.mean())
        row[f"{learner}, spread"] = float(ends[:, i, 0].std())
    return row


def learners() -> dict[str, Any]:
    """A stable learner, and one whose fits vary."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)
    return {"line": LogisticRegression(), "tree": tree}


def looked_at(design: Fitting, X: FloatArray, y: Any, owner: Any) -> tuple[FloatArray, FloatArray]:
    """Intervals (learner, value low high) of one data set, and truths (learner, truth)."""
    from sklearn.base import clone

    from stakes.sklearn.responses import by_every_fit, fold_of_cases, read_splits, splitter

    splits = read_splits(splitter(FOLDS, y, y, owner, (0, 1)), X, y, y, (0, 1), owner)
    request = X, y, splits, "posteriors", design.problem
    answers = {
        name: by_every_fit(learner, *request, fit_params={}) for name, learner in learners().items()
    }
    wrapped = {name: list(map(Posteriors, each)) for name, each in answers.items()}
    crossed = CrossFitted(wrapped, fold_of_cases(splits))
    predictions = {name: each.values for name, each in crossed.out_of_fold.items()}
    report = printed(design, Rows(y, predictions, None, owner), crossed=crossed, chances=False)  # type: ignore[arg-type]
    tag = "recalibrated" if design.kind == "recalibrated" else "as is"
    cost = {system.name: system.cost for system in report.systems}
    names = [f"{name} ({tag})" for name in predictions]
    intervals = [cost[name] for name in names] + [report.costs.difference(names[1], names[0])]
    truths = []
    for name, learner in learners().items():
        fits = [clone(learner).fit(X[train], y[train]) for train, _ in splits]
        plain, rule = Rule(design.problem), Rule(design.problem)
        if design.kind == "recalibrated":
            rule = Rule(design.problem, map=Select().fit(predictions[name][:, 1], y))
        each = float(np.mean([design.cost(fit, plain) for fit in fits]))
        truths.append([each, np.nan, design.cost(clone(learner).fit(X, y), rule)])
    truths.append([b - a for a, b in zip(*truths, strict=True)])
    ends = np.array([[interval.value, interval.low, interval.high] for interval in intervals])
    return ends, np.array(truths)
