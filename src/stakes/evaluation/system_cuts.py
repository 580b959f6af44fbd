"""At which scores, or at which probabilities, each system changes its decision."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stakes import _text
from stakes._check import Labels
from stakes.evaluation.decision_rules import DecisionRule, is_turned
from stakes.problem import Problem
from stakes.regions import decision_regions
from stakes.report import BAYES, CORRECTED, OWN_COLUMN, POSTERIOR_RULES, TUNED, TUNED_APART
from stakes.rule import Rule, Rules
from stakes.tally import ScoreTable

_FEWEST, _MOST = 3, 17  # significant digits of a cut; 17 tell all numbers apart


class SystemCuts(NamedTuple):
    """The fields of a `System` that say where it changes its decision.

    Examples
    --------
    >>> SystemCuts(0.261, decided=("wait", "treat"), scale=OWN_COLUMN).cuts
    ()
    """

    threshold: float | None = None
    cuts: tuple[float, ...] = ()
    decided: Labels = ()
    corrected: tuple[float, ...] = ()
    scale: str | None = None
    digits: int = _FEWEST


def cuts_of_system(
    name: str, rule: DecisionRule, rules: Rules, problem: Problem, table: ScoreTable | None
) -> SystemCuts:
    """The cuts of a system: those of its rule, which decides new cases by the same column.

    Corrected posteriors are no column of anybody's. Where they rise with the column, the cuts are
    the scores at which they pass the probabilities that follow from the costs; they exist for two
    classes whose cases share their costs, and need the map that is fitted to all cases.

    Parameters
    ----------
    name : the name of the system
    rule : how it was decided
    rules : the rules that decide new cases
    problem : what is at stake
    table : the scores of the model, of two classes

    Returns
    -------
    the cuts; none where no single number decides

    Examples
    --------
    Posteriors that hold for 50 % of positives are moved to 10 %, where 0.5 is 0.1:

    >>> from stakes.report import MOVED
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> rules = Rules({"net (moved)": Rule(problem, from_prior=[0.5, 0.5], to_prior=[0.9, 0.1])})
    >>> cuts = cuts_of_system("net (moved)", DecisionRule("net", MOVED), rules, problem, None)
    >>> round(cuts.threshold, 9), cuts.corrected, cuts.scale
    (0.5, (0.1,), 'own column')
    """
    if rule.name in (TUNED, TUNED_APART):
        assert rule.threshold is not None
        digits = _digits((rule.threshold,), table)
        return SystemCuts(rule.threshold, (), problem.decisions, (), OWN_COLUMN, digits)
    if rule.name not in POSTERIOR_RULES or problem.n_classes != 2 or problem.columns:
        return SystemCuts()
    shipped = rules.if_fitted(name)
    added = None if shipped is None else shipped.added
    priced = problem.with_limits(None) if added is None else problem.plus(added.sum(axis=0))
    if problem.is_binary and is_turned(priced.costs):
        return SystemCuts()
    probabilities, decided = _of_costs(priced)
    at = None if shipped is None else _on_column(shipped, decided)
    if at is None:
        cuts = SystemCuts(cuts=probabilities, decided=decided, scale=CORRECTED)
    else:
        corrected = () if rule.name == BAYES else probabilities
        cuts = SystemCuts(None, at, decided, corrected, OWN_COLUMN, _digits(at, table))
    return cuts._replace(threshold=cuts.cuts[0], cuts=()) if problem.is_binary else cuts


def _of_costs(problem: Problem) -> tuple[tuple[float, ...], Labels]:
    """The probabilities at which decisions change, and the decisions between them."""
    if problem.is_binary:
        return (problem.threshold,), problem.decisions
    regions = decision_regions(problem)
    return tuple(regions.crossings.tolist()), tuple(part.cheapest[0] for part in regions.parts)


def _on_column(rule: Rule, decided: Labels) -> tuple[float, ...] | None:
    """The highest score of each decision but the last; None where decisions come in another order.

    A decision that no score receives has the highest score of the one before it: −∞ for the first.
    """
    if rule.cuts is None:
        return None
    places: list[int] = []
    for label in (rule.problem.decisions[place] for place in rule.cuts.decisions.tolist()):
        # A decision that ties at one point only has a part as wide as a rounding error.
        places.append(decided.index(label) if label in decided else max(places, default=0))
    if places != sorted(places):
        return None
    ends = np.array([-np.inf, *rule.cuts.at.tolist(), np.inf])
    return tuple(ends[np.searchsorted(places, range(len(decided) - 1), side="right")].tolist())


def _digits(cuts: tuple[float, ...], table: ScoreTable | None) -> int:
    """The fewest digits to which cuts can be rounded so that they decide all scores alike."""
    finite = [cut for cut in cuts if np.isfinite(cut)]
    if table is None or not finite:
        return _FEWEST
    places = np.searchsorted(table.scores, finite, side="right")
    # A cut on a score such as 1/3 needs nearly all digits: rounded down it would decide that score
    # as those above it.
    for digits in range(_FEWEST, _MOST):
        rounded = [_text.number_in(_text.point(cut, digits)) for cut in finite]
        if (np.searchsorted(table.scores, rounded, side="right") == places).all():
            return digits
    return _MOST
