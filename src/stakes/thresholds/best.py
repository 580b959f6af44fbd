"""The best threshold for known costs, and the line that touches the ROC hull there.

For two decisions about cases with their own costs, scores are weighted by what is at stake.
"""

from __future__ import annotations

from math import isnan, nan
from typing import NamedTuple

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, same_labels
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.measures import coefficients_on, decision_rates, expected_cost, prior_of, term_cost
from stakes.problem import CaseCosts, Problem
from stakes.ranking import hull, single
from stakes.tally import Counts, ScoreTable
from stakes.thresholds.methods import threshold_of_cut

# What rounding may do to equal regrets: sums of positive terms have no cancellation.
_TIE = 16 * np.finfo(np.float64).eps


@record
class BestThreshold(Value):
    """The threshold of least expected cost on a table of scores.

    Attributes
    ----------
    threshold : the positive decision is taken for scores above it; -inf: for all
    cost : expected cost per case, in the problem's unit
    counts : the decisions at this threshold
    slope, intercept : the line hit rate = intercept + slope × false-alarm rate that touches the
        ROC hull there; of several models under one problem, the highest intercept is the
        cheapest. nan where undefined, the intercept also when the slope is infinite

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> table = ScoreTable([0.2, 0.6, 0.9], [[40, 5], [30, 25], [10, 40]])
    >>> float(best_threshold(table, Problem.binary(false_alarm=1, miss=4)).threshold)
    0.2
    """

    threshold: float
    cost: float
    counts: Counts
    slope: float
    intercept: float


def best_threshold(table: ScoreTable, problem: Problem) -> BestThreshold:
    r"""Threshold at which the decisions cost least, and its tangent to the convex hull.

    The tangent has the slope :math:`a\,\pi_0 / (b\,\pi_1)`, where a false alarm costs a and a
    miss b more than the right decision, and the shares are the problem's prior, else the
    table's (dyrland, eq 24 and 25). What decides between models is the height of the tangent, not
    the area under the ROC curve. A threshold never separates equal scores; where several tie, it
    is the highest, with the fewest positive decisions. It is nan when the decision does not
    matter or when a class of positive prior has no cases. Where every case has its own costs,
    `stakes_table` makes the table and the problem.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    the threshold, its cost and its tangent

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.3, 0.5, 0.6, 0.9])
    >>> best = best_threshold(table, Problem.binary(false_alarm=1, miss=5))
    >>> best.threshold, best.slope
    (0.1, 0.2)
    >>> round(best.cost, 3), round(best.intercept, 3)
    (0.333, 0.867)
    """
    _check.require("problem", problem, Problem)
    single(table, "the best threshold")
    matters = not isnan(problem.threshold)
    # Only vertices of the hull can be the best for some costs, and they are far fewer.
    cuts = hull(table).cuts
    counts = _counts_at(table, problem)
    regrets = expected_cost(counts, problem.regret())
    low = np.min(regrets)
    if isnan(low) or not matters:
        undefined = Counts._trusted(
            values=np.full((2, 2), nan),
            classes=problem.classes,
            decisions=problem.decisions,
            groups=None,
        )
        cost = float(np.min(expected_cost(counts, problem)))
        return BestThreshold(nan, cost, undefined, nan, nan)
    best = int(np.flatnonzero(regrets <= low * (1 + _TIE))[-1])
    slope, intercept = _tangent(counts[best], problem)
    threshold = float(threshold_of_cut(table, cuts[best]))
    cost = float(expected_cost(counts[best], problem))
    return BestThreshold(threshold, cost, counts[best], slope, intercept)


def _counts_at(table: ScoreTable, problem: Problem) -> Counts:
    """Counts (V, 2, 2) of the decisions at the vertices of the hull, from all positive to none."""
    segments = hull(table).segments
    below = np.pad(np.cumsum(segments, axis=0), ((1, 0), (0, 0)))
    above = np.pad(np.cumsum(segments[::-1], axis=0)[::-1], ((0, 1), (0, 0)))
    return Counts._trusted(
        values=np.stack([below, above], axis=-1),
        classes=same_labels("the classes of table and problem", table.classes, problem.classes),
        decisions=problem.decisions,
        groups=None,
    )


def _tangent(counts: Counts, problem: Problem) -> tuple[float, float]:
    (correct, false_alarm), (miss, hit) = problem.costs.tolist()
    negative, positive = prior_of(counts, problem).tolist()
    rates = decision_rates(counts)[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.divide((false_alarm - correct) * negative, (miss - hit) * positive)
        intercept = rates[1] - slope * rates[0]
    return float(slope), float(intercept if np.isfinite(slope) else nan)


class StakesTable(NamedTuple):
    """A score table and a problem with constant costs, equivalent to cases with their own costs.

    Examples
    --------
    A case weighs what is at stake in it:

    >>> problem = Problem([[0, 5], ["amount", 0]])
    >>> weighted = stakes_table([0, 1, 1], [0.1, 0.2, 0.4], problem, data={"amount": [9, 2, 50]})
    >>> weighted.table.weights
    array([[ 5.,  0.],
           [ 0.,  2.],
           [ 0., 50.]])
    """

    table: ScoreTable
    problem: Problem


@record
class ByThreshold(Value):
    """Sums of the terms of the costs by score, for two decisions about cases with their own costs.

    The second decision is taken for scores above one of the thresholds, the first of which is −inf.
    `sums` holds the sums over the cases with scores above each threshold, up to the next one, class
    by class.

    Examples
    --------
    One negative at 0.3, one positive at 0.6. Between them no decision is wrong:

    >>> sums = np.array([[[1.0], [0.0]], [[0.0], [1.0]]])
    >>> by_threshold = ByThreshold(np.array([-np.inf, 0.3, 0.6]), sums, ("1",))
    >>> by_threshold.costs(Problem.binary(false_alarm=1, miss=9))
    array([0.5, 0. , 4.5])
    """

    thresholds: FloatArray  # (S + 1,)
    sums: FloatArray  # (S, 2, T)
    terms: tuple[str, ...]  # T, as problem.terms names them; the first is "1"

    def costs(self, problem: Problem) -> FloatArray:
        """Cost per case of the second decision above each threshold, (S + 1,).

        The problem may have other coefficients than the one whose terms were summed; a problem with
        other terms is refused. The running costs of the model are not included.

        Parameters
        ----------
        problem : the costs, linear in the terms that were summed

        Returns
        -------
        costs per case, (S + 1,)

        Examples
        --------
        >>> sums = np.array([[[1.0], [0.0]], [[0.0], [1.0]]])  # one case at each of two scores
        >>> cuts = ByThreshold(np.array([-np.inf, 0.3, 0.6]), sums, ("1",))
        >>> cuts.costs(Problem.binary(false_alarm=1, miss=9))
        array([0.5, 0. , 4.5])
        """
        _refuse_other_shapes((problem.n_classes, problem.n_decisions))
        coefficients = coefficients_on(self.terms, problem)
        below = np.concatenate([np.zeros((1, *self.sums.shape[1:])), np.cumsum(self.sums, axis=0)])
        sums = np.stack([below, below[-1] - below], axis=-2)
        return np.asarray(term_cost(sums, coefficients, problem.prior))


def stakes_table(
    y_true: object,
    scores: object,
    problem: Problem,
    *,
    data: object = None,
    case_costs: object = None,
    weights: object = None,
) -> StakesTable:
    r"""Scores of two classes, weighted by how much the decision about each case matters.

    Let :math:`\Delta_i` be what the second decision costs more than the first for case i, given its
    class. The case gets the weight :math:`|\Delta_i|`; its class in the table is the decision that
    is right for it, the first if :math:`\Delta_i > 0` and the second otherwise. Everything that can
    be computed from a score table (cost curves, the best threshold, the hull) is then exact for the
    costs of the cases: at every threshold, ``expected_cost`` is the mean cost per case. A prior
    that the problem states is included in the weights.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    scores : scores of the cases
    problem : what is at stake: costs, prior, labels
    data : columns that the costs name, by their names
    case_costs : costs of every case, (n, K, M), in place of the problem's
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    scores with what is at stake at each

    Examples
    --------
    >>> from stakes import best_threshold
    >>> problem = Problem([[0, 5], ["amount", 0]], classes=["legit", "fraud"],
    ...                   decisions=["approve", "block"])
    >>> y, scores = ["legit", "fraud", "legit", "fraud"], [0.1, 0.2, 0.3, 0.4]
    >>> best = best_threshold(*stakes_table(y, scores, problem, data={"amount": [9, 2, 9, 50]}))
    >>> best.threshold, round(best.cost, 9)
    (0.3, 0.5)
    """
    _check.require("problem", problem, Problem)
    _check.aligned(y_true=y_true, scores=scores, data=data, weights=weights)
    costs = problem.charged(data, case_costs)
    if costs is None:
        costs = _constant(problem, _check.real_scores("scores", scores, borrowed=True).size)
    truth = _check.codes("y_true", y_true, problem.classes)
    score = _check.real_scores("scores", scores)
    of_costs = np.empty(costs.n_cases, dtype=np.bool_)
    n_cases = _check.same_length(y_true=truth, scores=score, data=of_costs)
    weight = _check.weights("weights", weights, n_cases)
    table = weighed(truth, score, weight, costs, problem)
    if table is None:
        raise InputError(
            "costs must differ between the two decisions in some case; they do not. Nothing is at "
            "stake: either decision will do.",
            argument="problem",
        )
    return table


def _constant(problem: Problem, n_cases: int) -> CaseCosts:
    return CaseCosts(
        n_cases,
        problem.classes,
        problem.decisions,
        problem.costs,
        tuple((None,) * problem.n_decisions for _ in problem.classes),
        {},
    )


def weighed(
    truth: IntArray,
    scores: FloatArray,
    weights: FloatArray | None,
    costs: CaseCosts,
    problem: Problem,
) -> StakesTable | None:
    """`stakes_table` for cases that were checked before; None where no decision matters.

    Parameters
    ----------
    truth : position of the true class of each case, (n,)
    scores : scores of the cases
    weights : weight of each case, (n,); None counts each once
    costs : costs of each decision, (K, M), or of every case
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    the same table, or None where no decision matters

    Examples
    --------
    >>> from stakes.problem import CaseCosts
    >>> problem = Problem.binary(false_alarm=1, miss=4)
    >>> costs = _constant(problem, 3)
    >>> weighed(np.array([0, 1, 1]), np.array([0.2, 0.4, 0.9]), None, costs, problem).table.weights
    array([[1., 0.],
           [0., 4.],
           [0., 4.]])
    """
    _check.shapes("n, n, n", truth=truth, scores=scores, weights=weights)
    _refuse_other_shapes(costs.shape)
    weight = np.ones(truth.size) if weights is None else weights
    if problem.prior is not None:
        mass = np.bincount(truth, weight, 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = weight * np.where(mass > 0, problem.prior * mass.sum() / mass, 0.0)[truth]
    difference, least = np.empty(truth.size), 0.0
    for rows, costs_of_block in costs.of_class(truth):
        difference[rows] = costs_of_block[1] - costs_of_block[0]
        least += float(weight[rows] @ costs_of_block.min(axis=0))
    stake = np.abs(difference) * weight
    if not stake.any():
        return None
    names = problem.decisions
    table = ScoreTable._of_codes((difference < 0).astype(np.intp), scores, stake, names)
    # A right decision costs what the cheaper one costs on average; a wrong one adds the mean stake.
    base, scale = least / weight.sum(), stake.sum() / weight.sum()
    equivalent = Problem(
        [[base, base + scale], [base + scale, base]], classes=names, decisions=names
    )
    return StakesTable(table, equivalent)


def _refuse_other_shapes(shape: tuple[int, int]) -> None:
    if shape != (2, 2):
        raise InputError(
            f"a threshold needs two classes and two decisions; this problem has {shape[0]} "
            f"and {shape[1]}. bayes_decisions works for any shape.",
            argument="problem",
        )
