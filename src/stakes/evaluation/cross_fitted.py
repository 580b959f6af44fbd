"""Models that were fitted once for each fold of a cross-validation, and how much their fits differ.

The cases are decided by the fits that have not seen them. What the others decide about them is only
used to see how much the cost depends on which cases a model was fitted to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stakes._check import FloatArray, IntArray
from stakes._value import record
from stakes.evaluation.cases import Cases
from stakes.evaluation.decision_rules import DecisionRule
from stakes.evaluation.evidence import Evidence, FoldCosts
from stakes.evaluation.predictions import Predictions
from stakes.inference import fitting_covariance, refit_covariance
from stakes.limits import costs_by_class
from stakes.report import AS_DECIDED, BAYES, MOVED
from stakes.rows import Predicted

_UNFITTED = (AS_DECIDED, BAYES, MOVED)  # rules that fit nothing to what the folds predict


@record
class CrossFitted:
    """The predictions of cross-validated models, to be passed to `evaluate` as its models.

    Attributes
    ----------
    fits : by model, what the K fits predict, each about all n cases
    folds : (n,) position of the fit that has not seen the case

    Examples
    --------
    >>> from stakes.rows import Scores
    >>> fits = {"net": [Scores(np.array([0.1, 0.2])), Scores(np.array([0.3, 0.4]))]}
    >>> CrossFitted(fits, np.array([1, 0])).out_of_fold["net"].values
    array([0.3, 0.2])
    """

    fits: Mapping[str, Sequence[Predicted]]
    folds: IntArray

    @property
    def out_of_fold(self) -> dict[str, Predicted]:
        """Predictions of each case by the fit that has not seen it."""
        cases = np.arange(self.folds.size)
        return {
            name: replace(fits[0], values=np.stack([fit.values for fit in fits])[self.folds, cases])
            for name, fits in self.fits.items()
        }

    def fold_costs(
        self, rules: Mapping[str, DecisionRule], cases: Cases, read: Callable[..., Predictions]
    ) -> FoldCosts:
        """What each fit costs on the cases of each fold, by system.

        Rules that are fitted to what the folds predict are left out: fitting has its own share in
        their intervals.

        Parameters
        ----------
        rules : by the name of the system
        cases : the cases
        read : makes `Predictions` from the name of a model and what it predicts

        Returns
        -------
        the costs, and the weights of the folds

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.evaluation import read_cases
        >>> from stakes.rows import Decisions
        >>> cases = read_cases([0, 1], Problem.zero_one(2), None, None, None)
        >>> crossed = CrossFitted({"net": [Decisions([0, 0]), Decisions([0, 1])]}, np.array([1, 0]))
        >>> def read(model, fit):
        ...     return Predictions(model, "decisions", decided=np.array(fit.values))
        >>> rules = {"net (as decided)": DecisionRule("net", "as decided")}
        >>> crossed.fold_costs(rules, cases, read).sums["net (as decided)"]
        array([[1., 0.],
               [0., 0.]])
        """
        charged, folds = costs_by_class(cases.charges, cases.truth), cases.rows(self.folds)
        rows, size, mass = np.arange(folds.size), int(self.folds.max()) + 1, cases.mass

        def summed(decided: IntArray) -> FloatArray:
            return np.asarray(np.bincount(folds, mass * charged[rows, decided], size), np.float64)

        sums = {}
        for name, rule in rules.items():
            if rule.name in _UNFITTED:
                fits = (read(rule.model, fit) for fit in self.fits[rule.model])
                sums[name] = np.stack([summed(fit.decisions(rule, cases.charges)) for fit in fits])
        return FoldCosts(sums, np.bincount(folds, mass, size).astype(np.float64))


def out_of_fold(models: Any) -> Any:
    """Predictions of each case by fits that have not seen it; others than cross-validated as is."""
    return models.out_of_fold if isinstance(models, CrossFitted) else models


def with_fold_costs(
    evidence: Evidence, models: object, cases: Cases, read: Callable[..., Predictions]
) -> Evidence:
    """The evidence, with what each fit costs on each fold if the models were cross-validated."""
    if not isinstance(models, CrossFitted):
        return evidence
    return replace(evidence, fold_costs=models.fold_costs(evidence.rules, cases, read))


def fitting_of(evidence: Evidence, size: int) -> FloatArray | None:
    """The covariance that fitting adds to the costs of all systems; zero for blind decisions."""
    rules = _by_system(evidence.partition_costs, evidence, size)
    folds = evidence.fold_costs or FoldCosts({}, np.empty(0))
    models = _by_system(folds.sums, evidence, size)
    added = np.zeros((size, size))
    if rules is not None and len(rules) > 1:
        added += fitting_covariance(rules)
    if models is not None:
        added += refit_covariance(models, folds.weights)
    return added if added.any() else None


def _by_system(costs: Mapping[str, FloatArray], evidence: Evidence, size: int) -> FloatArray | None:
    """Costs (…, J) of all systems; zero for those that have none, None if no system has any."""
    shapes = [costs[name].shape for name in evidence.rules if name in costs]
    if not shapes:
        return None
    table = np.zeros((*max(shapes), size))
    for place, name in enumerate(evidence.rules):
        if name in costs:
            table[..., place] = costs[name]
    return table
