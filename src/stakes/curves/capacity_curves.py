"""Cost against capacity and against coverage, for the scores of two classes."""

from __future__ import annotations

import numpy as np

from stakes._check import FloatArray, IntArray, Label
from stakes.errors import InputError
from stakes.limits import CapacityCurve, CoverageCurve
from stakes.limits import capacity_curve as capacity_of_rows
from stakes.limits import coverage_curve as coverage_of_rows
from stakes.problem import Problem
from stakes.ranking import single
from stakes.scoring import probability_scores
from stakes.tally import ScoreTable


def capacity_curve(table: ScoreTable, problem: Problem, decision: Label) -> CapacityCurve:
    """Cost per case against the share of cases that may get a decision, on labelled cases.

    Scores are probabilities of the second class; the cases that save the most get the decision
    first. `stakes.limits.capacity_curve` takes rows instead, with any number of classes, and costs
    that differ from case to case.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    problem : what is at stake: costs, prior, labels
    decision : label of the decision whose share is bounded

    Returns
    -------
    cost against the share of cases, with the price at each

    Examples
    --------
    >>> table = ScoreTable([0.1, 0.2, 0.9], [[9, 1], [8, 2], [1, 9]])
    >>> problem = Problem([[0, 3, 25], [180, 8, 0]])
    >>> capacity_curve(table, problem, 1).cost([0, 1]).round(3).tolist()
    [13.5, 3.333]
    """
    scores, truth, weights = _rows(table, problem)
    labels = np.array(problem.classes, dtype=object)[truth]
    return capacity_of_rows(scores, problem, decision, y_true=labels, weights=weights)


def coverage_curve(table: ScoreTable, problem: Problem) -> CoverageCurve:
    """Cost against the share of cases that are decided, the hardest being left undecided.

    Scores are probabilities of the second class. `stakes.limits.coverage_curve` takes rows.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    cost against the share of cases that are decided

    Examples
    --------
    >>> table = ScoreTable([0.1, 0.6, 0.9], [[9, 1], [4, 6], [1, 9]])
    >>> coverage_curve(table, Problem.zero_one(2)).selective_cost([2 / 3, 1]).round(3).tolist()
    [0.1, 0.2]
    """
    scores, truth, weights = _rows(table, problem)
    labels = np.array(problem.classes, dtype=object)[truth]
    return coverage_of_rows(scores, problem, y_true=labels, weights=weights)


def _rows(table: ScoreTable, problem: Problem) -> tuple[FloatArray, IntArray, FloatArray]:
    """Scores, classes and weights of a table as rows, one for each score and class."""
    if problem.n_classes != 2:
        raise InputError(
            f"problem must have two classes, those of table; it has {problem.n_classes}. "
            f"stakes.limits has curves of rows of any number of classes."
        )
    weights = single(table, "a capacity curve")
    # Each cell of the table becomes one weighted row, for the functions that take rows.
    scores = np.repeat(probability_scores(table), 2)
    truth = np.tile([0, 1], len(weights))
    occupied = weights.ravel() > 0
    return scores[occupied], truth[occupied], weights.ravel()[occupied]
