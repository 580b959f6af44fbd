"""Posteriors of cases, moved to the prior of deployment and weighed as cases will come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes.decide import cheapest_decisions, class_ratios, costs_of_cases, shift_prior
from stakes.errors import InputError
from stakes.problem import CaseCosts, Problem
from stakes.rows import Posteriors


@dataclass(frozen=True, eq=False)
class DeployedCases:
    """What is known about cases, as if they came at the prior of deployment.

    Attributes
    ----------
    rows : (n, K) posteriors for that prior
    mass : (n,) what each case counts
    prior, from_prior : (K,) that prior, and the one from which posteriors were moved, if they were
    costs : (K, M) of all cases, or those of every case
    truth : (n,) classes, where they are known
    posteriors : (n, K) posteriors as they came, on which a rule decides
    rounding : (n, K) by how much posteriors of single precision may be off
    """

    rows: FloatArray
    mass: FloatArray
    prior: FloatArray
    from_prior: FloatArray | None
    costs: FloatArray | CaseCosts
    truth: IntArray | None
    posteriors: FloatArray
    rounding: FloatArray | None

    def decide(self, costs: FloatArray | CaseCosts) -> IntArray:
        """The cheapest decisions (n,), by the arithmetic of a `Rule`, so that ties fall alike."""
        start = self.from_prior
        ratios = None if start is None else class_ratios(start, self.prior)
        return cheapest_decisions(self.posteriors, costs, self.rounding, ratios)


def read_deployed(
    posteriors: object,
    problem: Problem,
    y_true: object,
    data: object,
    weights: object,
    posterior_prior: object,
) -> DeployedCases:
    """Check posteriors and move them to the prior of deployment; labels are optional."""
    _check.aligned(posteriors=posteriors, data=data, y_true=y_true, weights=weights)
    wrapped = posteriors if isinstance(posteriors, Posteriors) else Posteriors(posteriors)
    rows = wrapped.read("posteriors", problem.classes)
    if not len(rows):
        raise InputError(
            "posteriors must hold at least one case; there are none. Pass some rows.",
            argument="posteriors",
        )
    truth = None if y_true is None else _check.codes("y_true", y_true, problem.classes)
    if truth is not None:
        _check.same_length(posteriors=rows, y_true=truth)
    checked = _check.weights("weights", weights, len(rows), of="posteriors")
    shares = _shares(rows, problem, truth, checked)
    # Without a stated prior the posteriors are taken to hold for the shares of these cases.
    start = shares
    if posterior_prior is not None:
        start = _check.prior("posterior_prior", posterior_prior, problem.classes)
        shares = start if truth is None else shares
    prior = shares if problem.prior is None else problem.prior
    _refuse_lost(shares, prior, problem, labelled=truth is not None)
    # Cases of class k stand for prior over share as many cases to come; an unlabelled case is of
    # each class with its posterior probability.
    ratio = class_ratios(shares, prior)
    mass = checked * (rows @ ratio if truth is None else ratio[truth])
    costs, is_moved = costs_of_cases(rows, problem, data, None), _differ(start, prior)
    return DeployedCases(
        rows=_moved(rows, start, prior) if is_moved else rows,
        mass=mass,
        prior=prior,
        from_prior=start if is_moved else None,
        costs=costs,
        truth=truth,
        posteriors=rows,
        rounding=wrapped.rounding("posteriors", problem.classes),
    )


def _shares(
    rows: FloatArray, problem: Problem, truth: IntArray | None, weights: FloatArray
) -> FloatArray:
    """Class shares of the cases: by their labels, else by the mean of their posteriors."""
    if truth is None:
        return np.asarray(weights @ rows / weights.sum())
    sums = np.bincount(truth, weights, problem.n_classes)
    return np.asarray(sums / sums.sum())


def _differ(start: FloatArray, prior: FloatArray) -> bool:
    # Shares are quotients of sums. A difference in the last digits must not move posteriors,
    # because moved ones would break ties in another way.
    return bool(np.abs(start - prior).max() > 1e-12)


def _refuse_lost(
    shares: FloatArray, prior: FloatArray, problem: Problem, *, labelled: bool
) -> None:
    lost = (shares == 0) & (prior > 0)
    if lost.any():
        label = problem.classes[int(np.argmax(lost))]
        raise InputError(
            f"{'y_true' if labelled else 'posteriors'} must hold cases of every class that the "
            f"prior expects; {label!r} has none, so that "
            f"its rates are unknown. Add cases of it, or set its prior to zero.",
            argument="y_true" if labelled else "posteriors",
        )


def _moved(rows: FloatArray, start: FloatArray, prior: FloatArray) -> FloatArray:
    moved = shift_prior(rows, start, prior)
    if np.isnan(moved).any():
        raise InputError(
            "posteriors must leave a class that the prior expects; some are certain of classes "
            "that it rules out. Leave these cases out, or correct the prior.",
            argument="posteriors",
        )
    return moved
