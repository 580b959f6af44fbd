"""Where each model wins if it decides anew: exact lines that jump, against plain loops."""

import numpy as np
import pytest

from stakes import Counts, InputError, Problem, ScoreTable
from stakes.regions import (
    CostProportion,
    CostRatio,
    DecidedAnew,
    Prior,
    cheapest_regions,
    constant_rules,
    cost_curves,
    sensitivity,
)

RNG = np.random.default_rng(8)
TABLES = {
    name: ScoreTable(np.sort(RNG.random(9)).round(2), RNG.integers(0, 6, (9, 2)) + base)
    for name, base in (("a", np.eye(9, 2)), ("b", np.eye(9, 2)))
}
TABLES["b"] = ScoreTable(TABLES["b"].scores, TABLES["a"].weights[RNG.permutation(9)])
PROBLEM = Problem(
    [[0, 3, 9], [14, 5, 1]], classes=[0, 1], decisions=["wait", "test", "treat"], prior=[0.7, 0.3]
)


def plain_cost(table, holds_for, costs, prior):
    """Every score decides by itself, its posterior moved to the prior: plain loops."""
    total = 0.0
    sizes = table.weights.sum(axis=0)
    for score, weights in zip(table.scores, table.weights, strict=True):
        worth = [(1 - score) * prior[0] / holds_for[0], score * prior[1] / holds_for[1]]
        expected = [worth[0] * costs[0][d] + worth[1] * costs[1][d] for d in range(len(costs[0]))]
        d = expected.index(min(expected))
        total += sum(prior[k] * weights[k] / sizes[k] * costs[k][d] for k in (0, 1))
    return total


@pytest.mark.parametrize("holds_for", [None, (0.8, 0.2), {0: 0.8, 1: 0.2}])
def test_the_cost_over_the_prior_is_that_of_decisions_made_anew(holds_for):
    table = TABLES["a"]
    prior_of_posteriors = table.shares if holds_for is None else holds_for
    curve = cost_curves({"a": DecidedAnew(table, holds_for)}, Prior(PROBLEM, 1))["a"]
    for x in np.linspace(0.003, 0.997, 41):
        wanted = plain_cost(table, prior_of_posteriors, PROBLEM.costs, [1 - x, x])
        assert float(curve(x)) == pytest.approx(wanted, abs=1e-12)
    back = cost_curves({"a": DecidedAnew(table, holds_for)}, Prior(PROBLEM, 0))["a"]
    assert float(back(0.3)) == pytest.approx(float(curve(0.7)), abs=1e-12)


def test_the_cost_over_the_proportion_is_that_of_decisions_made_anew():
    table, prior = TABLES["a"], [0.6, 0.4]
    curve = cost_curves({"a": DecidedAnew(table)}, CostProportion(prior))["a"]
    for c in np.linspace(0.003, 0.997, 41):
        wanted = plain_cost(table, table.shares, [[0, 2 * c], [2 * (1 - c), 0]], prior)
        assert float(curve(c)) == pytest.approx(wanted, abs=1e-12)


def test_regions_of_both_readings_stand_side_by_side():
    """The decisions of one model as they are, and made anew: there, the latter cost no more."""
    scores = np.linspace(0.05, 0.95, 10)
    weights = np.stack([10 * (1 - scores), 10 * scores], axis=1)  # calibrated
    table = ScoreTable(scores, weights)
    kept = Counts([[weights[:5, 0].sum(), weights[5:, 0].sum()],
                   [weights[:5, 1].sum(), weights[5:, 1].sum()]])  # fmt: skip
    models = {"kept": kept, "anew": DecidedAnew(table)}
    regions = cheapest_regions(models, CostProportion())
    assert all("anew" in part.cheapest for part in regions.parts)
    assert any("kept" in part.cheapest for part in regions.parts)
    ratios = cheapest_regions(models, CostRatio())
    assert [part.cheapest for part in ratios.parts] == [part.cheapest for part in regions.parts]


def test_margins_of_decisions_made_anew_are_where_loops_see_another_win():
    table = TABLES["a"]
    models = {name: DecidedAnew(table) for name, table in TABLES.items()}
    sizes = table.weights.sum(axis=0)
    blind = constant_rules(Counts(np.outer(sizes, [1, 0, 0]), decisions=PROBLEM.decisions), PROBLEM)
    margins = sensitivity({**models, **blind}, PROBLEM)
    assert [margin.what for margin in margins.priors] == ["prior of 1"]
    assert len(margins.costs) == 6
    seen = 0
    for place, margin in enumerate((*margins.costs, *margins.priors)):
        assert margin.low >= 0 or np.isinf(margin.low)
        for end, inner in ((margin.low, 1 - 1e-6), (margin.high, 1 - 1e-6)):
            if np.isfinite(end):
                seen += 1
                for part, stays in ((inner, True), (1 + 1e-6, False)):
                    value = margin.value + part * (end - margin.value)
                    assert (winner(place, value) == margins.cheapest) is stays, margin
    assert seen >= 6


def winner(place, value):
    """The cheapest of the models and of the constant decisions, by loops."""
    costs, prior = PROBLEM.costs.copy(), np.array([0.7, 0.3])
    if place == 6:
        prior = np.array([1 - value, value])
    else:
        costs[place // 3, place % 3] = value
    spent = {name: plain_cost(table, table.shares, costs, prior) for name, table in TABLES.items()}
    for d, decision in enumerate(PROBLEM.decisions):
        spent[f"always {decision}"] = prior @ costs[:, d]
    return min(spent, key=spent.__getitem__)


def test_what_cannot_decide_anew_is_refused():
    raw = ScoreTable([-1.0, 3.0], [[1, 2], [2, 1]])
    with pytest.raises(InputError, match=r"posterior probabilities.*-1.*Calibrate"):
        cheapest_regions({"raw": DecidedAnew(raw)}, CostProportion())
    few = ScoreTable([0.2, 0.3], [[1, 2], [2, 9]])
    with pytest.raises(InputError, match="same cases"):
        cheapest_regions({"a": DecidedAnew(TABLES["a"]), "b": DecidedAnew(few)}, CostProportion())
    three = Problem.zero_one(3)
    with pytest.raises(InputError, match="two classes where decisions are made anew"):
        cheapest_regions({"a": DecidedAnew(TABLES["a"])}, Prior(three, 2))
    with pytest.raises(InputError, match="holds_for must be positive"):
        sensitivity({"a": DecidedAnew(TABLES["a"], [1, 0])}, PROBLEM)
