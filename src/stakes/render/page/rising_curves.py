"""The calibration map of a rule as points, from which a page finds the scores of other cuts."""

from __future__ import annotations

from typing import Any

import numpy as np

from stakes._check import FloatArray
from stakes.calibration import log_odds
from stakes.rows import POSTERIORS, Posteriors
from stakes.rule import Rule

_REACH, _POINTS = 40.0, 2001  # of log-odds: beyond them a probability is 0 or 1 up to rounding
_STRAIGHT = 1e-9  # difference of two slopes, relative, that is only rounding


def rising_curve(rule: Rule | None) -> dict[str, Any] | None:
    """Points between which a map of two classes is a line, on scales that are named.

    Isotonic maps are lines between their knots; lines in log-odds have two points; other maps have
    so many that scores found between them are right to four digits.

    Parameters
    ----------
    rule : the rule of a system

    Returns
    -------
    the points, and whether scores and values are log-odds; None where there is no rising map

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.calibration import Isotonic
    >>> problem, fitted = Problem.zero_one(2), Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> curve = rising_curve(Rule(problem, map=fitted))
    >>> curve["scores"], curve["values"]
    ([0.1, 0.4, 0.6, 0.9], [0.0, 0.5, 0.5, 1.0])
    """
    if rule is None or rule.map is None or rule.cuts is None:
        return None
    curve = _curve(rule.map, rule.takes)
    if curve is None or rule.from_prior is None:
        return curve
    return {
        **curve,
        "holds_for": rule.from_prior.tolist(),
    }  # where the rule moves what the map gives


def _curve(of: Any, takes: str) -> dict[str, Any] | None:
    if of.kind == "isotonic":
        return _points(of.knots, of.values, of_odds=False, odds=False)
    if takes == POSTERIORS:
        limit = getattr(of, "limit", _REACH)
        grid = np.union1d(np.linspace(-_REACH, _REACH, _POINTS), [-limit, limit])
        shares = 1 / (1 + np.exp(-np.stack([-grid, grid], axis=1)))
        values = log_odds(of(Posteriors(shares)))
        return _points(grid, values, of_odds=True, odds=True)
    if of.kind == "logistic" and of.slope:
        ends = np.array([-_REACH, _REACH])
        return _points((ends - of.intercept) / of.slope, ends, of_odds=False, odds=True)
    return None


def _points(
    scores: FloatArray, values: FloatArray, *, of_odds: bool, odds: bool
) -> dict[str, Any] | None:
    """The points without those that lie on the line between their neighbours."""
    finite = np.isfinite(scores) & np.isfinite(values)
    scores, values = scores[finite], values[finite]
    if not scores.size or values[0] > values[-1]:
        return None
    slopes = np.diff(values) / np.diff(scores)
    bends = np.abs(np.diff(slopes)) > _STRAIGHT * (np.abs(slopes[1:]) + np.abs(slopes[:-1]))
    kept = np.concatenate([[True], bends, [True]])[: scores.size]
    return {
        "scores": _written(scores[kept]),
        "values": _written(values[kept]),
        "of_odds": of_odds,
        "odds": odds,
    }


def _written(values: FloatArray) -> list[float]:
    """To more digits than a page shows, to save room."""
    return [float(f"{value:.9g}") for value in values.tolist()]
