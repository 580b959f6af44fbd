"""Uncertain costs: where the verdict holds, and what certainty is worth."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from scipy import stats

import stakes
from stakes import Between, Decisions, InputError, Problem, Report, bayes_decisions
from stakes.evaluation.beliefs import Unknown, Worlds, _quantiles, read_uncertain
from stakes.evaluation.cases import Operation, read_cases
from stakes.evaluation.flips import Rivals
from stakes.evaluation.information import Remake, _worth_remade
from stakes.evaluation.predictions import Fitted, Folds, Predictions
from stakes.evaluation.remade_decisions import remake_of
from stakes.evaluation.tally_rows import evidence_of
from stakes.inference import Dirichlet
from stakes.regions import KeptDecisions
from tamper import sealed_again

evaluate: Any = stakes.evaluate
QUICK: Any = {"calibrator": None, "replicates": 10}
N = 400
RNG = np.random.default_rng(0)
Y = (RNG.random(N) < 0.3).astype(int)
SIGNAL = RNG.normal(2.5 * Y - 1.2, 1)
P = 1 / (1 + np.exp(1 - 2 * SIGNAL))
RULES = {
    "bold": Decisions((SIGNAL > 0.8).astype(int)),
    "shy": Decisions((SIGNAL > -0.8).astype(int)),
}


def lines() -> tuple[float, float, float, float]:
    """What bold and shy cost where false alarms cost 1: a constant, and a slope in a miss."""
    breaks = []
    for cut in (0.8, -0.8):
        alarms = np.mean((cut < SIGNAL) & (Y == 0))
        misses = np.mean((cut >= SIGNAL) & (Y == 1))
        breaks += [float(alarms), float(misses)]
    return breaks[0], breaks[1], breaks[2], breaks[3]


def unknown_of(uncertain: object, problem: Problem, shares: Any) -> Unknown:
    """The unknowns of a problem; ranges are shown at 95 %."""
    known = read_uncertain(uncertain, problem)
    assert known is not None
    return Unknown(problem, shares, *known, 0.95)


def of_miss(cost: object) -> Report:
    return evaluate(Y, RULES, Problem([[0, 1], [cost, 0]], unit="EUR"), **QUICK)


@pytest.fixture(scope="module")
def report() -> Report:
    a0, a1, b0, b1 = lines()
    cross = (b0 - a0) / (a1 - b1)
    return of_miss(Between(cross * 0.4, cross * 1.3))


# Closed forms ------------------------------------------------------------------------------------


def test_over_a_range_the_values_are_those_of_two_straight_lines(report):
    a0, a1, b0, b1 = lines()
    cross = (b0 - a0) / (a1 - b1)
    low, high = cross * 0.4, cross * 1.3
    worth = report.uncertainty
    assert worth.choice == "bold (as decided)"  # the mean is below the crossing
    assert worth.holds == pytest.approx((cross - low) / (high - low), abs=1 / worth.draws)
    expected = (a1 - b1) * (high - cross) ** 2 / (2 * (high - low))
    assert worth.evpi == pytest.approx(expected, rel=1e-4)
    (part,) = worth.parts
    assert part.evppi == pytest.approx(expected, rel=1e-4)  # there is nothing else to know
    assert part.mean == pytest.approx((low + high) / 2)
    assert dict(worth.cheapest)["shy (as decided)"] == pytest.approx(1 - worth.holds, abs=1e-3)


@pytest.mark.slow
def test_of_an_exponential_cost_the_value_has_its_closed_form():
    a0, a1, b0, b1 = lines()
    cross = (b0 - a0) / (a1 - b1)
    scale = cross / 1.5
    worth = of_miss(stats.expon(scale=scale)).uncertainty
    always = np.mean(Y)  # what never acting costs per unit of a miss: the cheapest for small costs
    assert worth is not None
    draws = scale * -np.log1p(-(np.arange(200_000) + 0.5) / 200_000)
    options = np.stack(
        [a0 + a1 * draws, b0 + b1 * draws, always * draws, 0 * draws + np.mean(1 - Y)]
    )
    chosen = options[options.mean(axis=1).argmin()]
    assert worth.evpi == pytest.approx(float((chosen - options.min(axis=0)).mean()), rel=1e-3)


@pytest.mark.parametrize(
    "belief", [Between(2, 9), pytest.param(stats.lognorm(2), marks=pytest.mark.slow)]
)
def test_equally_likely_amounts_have_the_mean_and_the_partial_means_of_the_distribution(belief):
    ((_, _, known),) = Problem([[0, 1], [belief, 0]]).beliefs
    points = _quantiles(known, 4096)
    assert np.all(np.diff(points) >= 0)
    assert points.mean() == pytest.approx(known.mean)
    frozen = stats.uniform(2, 7) if isinstance(belief, Between) else belief
    for share in (0.3, 0.6, 0.9):
        cut = float(frozen.ppf(share))
        above = frozen.expect(lambda x: x, lb=cut)
        assert points[points > cut].sum() / 4096 == pytest.approx(above, rel=2e-3, abs=1e-3)


def test_decisions_use_the_mean_and_nothing_else_changes(report):
    a0, a1, b0, b1 = lines()
    cross = (b0 - a0) / (a1 - b1)
    plain = of_miss(cross * 0.85)
    assert [system.cost for system in plain.systems] == [system.cost for system in report.systems]
    assert plain.uncertainty is None


# Brute force -------------------------------------------------------------------------------------

COSTS = [[0, 3, Between(10, 60)], [Between(40, 400), stats.gamma(4, scale=3), 0]]
PRIOR = [0.8, 0.2]


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    costs = np.array([[0, 3, rng.uniform(10, 60)], [rng.uniform(40, 400), rng.gamma(4, 3), 0.0]])
    return costs, rng.dirichlet([80, 20])


def mean_cost(decided: np.ndarray, costs: np.ndarray, prior: np.ndarray) -> float:
    """Prior times the mean cost within each class."""
    return sum(prior[k] * np.mean([costs[k, d] for d in decided[k == Y]]) for k in (0, 1))


@pytest.mark.slow
def test_values_are_those_of_brute_force_with_costs_and_prior_unknown():
    problem = Problem(COSTS, prior=PRIOR)
    models = {"good": P, "poor": P**3}
    worth = evaluate(Y, models, problem, uncertain=Dirichlet([80, 20]), **QUICK).uncertainty
    rng, shares = np.random.default_rng(1), np.array([1 - Y.mean(), Y.mean()])
    fixed = {f"always {d}": np.full(N, d) for d in range(3)}
    for name, p in models.items():
        moved = stakes.shift_prior(p, shares, PRIOR)
        fixed[f"{name} (as is)"] = bayes_decisions(p, problem)
        fixed[f"{name} (moved)"] = bayes_decisions(moved, problem)
    today, again, holds = [], [], []
    for _ in range(600):
        costs, prior = drawn(rng)
        known = Problem(costs, prior=prior)
        each = {name: mean_cost(codes, costs, prior) for name, codes in fixed.items()}
        remade = [
            mean_cost(bayes_decisions(stakes.shift_prior(p, shares, prior), known), costs, prior)
            for p in models.values()
        ]
        today.append(each[worth.choice] - min(each.values()))
        again.append(each[worth.choice] - min(*each.values(), *remade))
        holds.append(each[worth.choice] <= min(each.values()) + 1e-12)
    for value, sample in ((worth.evpi, today), (worth.evpi_remade, again), (worth.holds, holds)):
        # The library's own worlds are few where rules are made again.
        error = np.std(sample) * np.sqrt(1 / len(sample) + 1 / 256)
        assert value == pytest.approx(np.mean(sample), abs=4 * error)
    assert {part.what for part in worth.parts} == {
        "cost of 2 for 0",
        "cost of 0 for 1",
        "cost of 1 for 1",
        "the prior",
    }
    for part in worth.parts:
        assert 0 <= part.evppi <= worth.evpi + 1e-9
        assert part.evppi <= part.evppi_remade_high


def test_certainty_is_worth_nothing_where_the_verdict_doubts_a_model_and_not_the_costs():
    """It chose none, although one was cheaper on these cases; to know the costs is no remedy."""
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.3).astype(int)
    models = {f"m{j}": Decisions(np.where(rng.random(60) < 0.08, 1, 0)) for j in range(4)}
    report = evaluate(y, models, Problem([[0, Between(6.9, 7.1)], [3, 0]]), **QUICK)
    assert report.verdict.deploy is None
    assert min(system.cost.value for system in report.systems) < report.naive.cost
    worth = report.uncertainty
    assert (worth.evpi, worth.parts[0].evppi) == (pytest.approx(0, abs=1e-9),) * 2


def test_a_few_worlds_spread_over_the_distribution_of_the_prior():
    """As many would, to the error of all that are drawn: rules are remade in few worlds."""
    problem = Problem(np.eye(2), prior=[0.7, 0.3])
    unknown = unknown_of(Dirichlet([7, 3]), problem, np.array([0.7, 0.3]))
    assert unknown is not None
    beta = stats.beta(3, 7)
    above = beta.expect(lambda p: max(p - 0.3, 0.0))
    spread = np.sqrt(beta.expect(lambda p: max(p - 0.3, 0.0) ** 2) - above**2)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        alone, together = unknown.parts(rng)[-1].worlds.some(64), unknown.worlds(rng, 256)
        for worlds in (alone, together):
            mean = np.maximum(worlds.prior[:, 1] - 0.3, 0).mean()
            assert mean == pytest.approx(above, abs=4 * spread / np.sqrt(4096))


@pytest.mark.parametrize("weights", [None, np.linspace(0.5, 2, N)])
def test_rules_made_again_are_bayes_decisions_for_each_world(weights):
    problem = Problem(np.array([[0.0, 3, 35], [220, 12, 0]]), prior=PRIOR)
    cases = read_cases(Y, problem, weights, None, None)
    rows = np.stack([1 - P, P], axis=1)
    predictions = Predictions(
        "m", "posteriors", posteriors=rows, fitted=Fitted(rows[:, ::-1], None)
    )
    worlds = Worlds(RNG.normal(0, 3, (5, 2, 3)), RNG.dirichlet([8, 2], 5))
    evidence = evidence_of(cases, [predictions], posterior_prior=None, calibrator=None)
    remake = remake_of([predictions], evidence, Operation({"m": 0.5}), None, Folds(cases, seed=0))
    parts = remake.costs(worlds, ["always 0"])
    assert parts.shape == (5, 3, 50)  # worlds, rules, folds
    costs = parts.sum(axis=2)[:, 1:]
    counted = np.ones(N) if weights is None else weights
    for world, (above, prior) in enumerate(zip(*worlds, strict=True)):
        known = Problem(problem.costs + above)
        for place, (p, holds_for) in enumerate(((P, cases.shares), (1 - P, np.array(PRIOR)))):
            decided = bayes_decisions(stakes.shift_prior(p, holds_for, prior), known)
            spent = known.costs[Y, decided]
            means = [np.average(spent[k == Y], weights=counted[k == Y]) for k in (0, 1)]
            assert costs[world, place] == pytest.approx(0.5 + float(prior @ means))


@pytest.mark.slow
def test_costs_of_cases_weights_and_running_costs_take_part():
    weights, amount = RNG.uniform(0.5, 2, N), RNG.lognormal(3, 1, N)
    problem = Problem([[0, Between(1, 9)], ["amount", 0]])
    options: Any = {"data": {"amount": amount}, "weights": weights, "running_costs": {"a": 0.3}}
    report = evaluate(Y, {"a": P, "b": P**2}, problem, **options, **QUICK)
    worth = report.uncertainty
    able = [system for system in report.systems if system.candidate]
    costs = {system.name: system.cost.value for system in able}
    rate = {system.name: system.counts.values[0, 1] / system.counts.values.sum() for system in able}
    assert report.no_model is not None
    costs["no"], table = report.no_model.cost.value, report.no_model.counts.values
    rate["no"] = table[0, 1] / table.sum()
    for d in (0, 1):
        spent = np.where(Y == 0, 5.0 * d, (1 - d) * amount)
        costs[f"always {d}"] = float(weights @ spent / weights.sum())
        rate[f"always {d}"] = d * float(weights @ (Y == 0) / weights.sum())
    draws = np.linspace(1, 9, 4001)
    every = np.stack([costs[name] + rate[name] * (draws - 5) for name in costs])
    chosen = every[list(costs).index(worth.choice)]
    assert worth.evpi == pytest.approx(float((chosen - every.min(axis=0)).mean()), abs=2e-3)
    again = evaluate(Y, {"a": P, "b": P**2}, problem.at(amount=20), calibrator=None)
    assert again.uncertainty is None  # a problem with other costs has nothing left to believe


@pytest.mark.slow
def test_experts_matrices_are_worlds_of_their_own():
    a, b = np.array([[0, 1], [9.0, 0]]), np.array([[0, 5], [3.0, 0]])
    problem = Problem((a + b) / 2)
    worth = evaluate(Y, RULES, problem, uncertain=[a, Problem(b)], **QUICK).uncertainty
    names = [f"{name} (as decided)" for name in RULES] + ["always 0", "always 1"]
    codes = [np.asarray(rule.values) for rule in RULES.values()] + [0 * Y, 0 * Y + 1]
    table = np.array([[costs[Y, c].mean() for c in codes] for costs in (a, b)])
    regret = (table[:, names.index(worth.choice)] - table.min(axis=1)).mean()
    assert worth.evpi == pytest.approx(regret)
    assert worth.parts[0].what == "which expert is right"
    assert worth.parts[0].evppi == pytest.approx(regret)


# Worth with rules remade: neither the optimist's value nor the pessimist's ------------------------


def worth_of(parts: np.ndarray, n_today: int) -> Any:
    """The library's answer for what folds add to costs (D, J + R, F)."""
    names = tuple(f"rule {place}" for place in range(n_today))
    nothing = KeptDecisions(names, np.zeros((n_today, 2, 2)), np.zeros(n_today))
    rivals = Rivals(nothing, nothing)
    worlds = Worlds(np.zeros((len(parts), 2, 2)), np.full((len(parts), 2), 0.5))
    return _worth_remade(worlds, rivals, Remake(lambda *_: parts, 1), 0.95)


def chosen_and_charged(parts: np.ndarray, n_today: int, seen: Any, charged: Any) -> float:
    """In plain loops: rules are chosen by what some folds cost, and charged on others."""
    n_worlds, n_rules, _ = parts.shape
    means = [
        sum(parts[w, rule, f] for w in range(n_worlds) for f in seen) for rule in range(n_today)
    ]
    today, total = means.index(min(means)), 0.0
    for w in range(n_worlds):
        costs = [sum(parts[w, rule, f] for f in seen) for rule in range(n_rules)]
        again = costs.index(min(costs))
        total += sum(parts[w, today, f] - parts[w, again, f] for f in charged)
    return total / n_worlds * parts.shape[2] / len(charged)


def test_worth_with_rules_remade_lies_between_the_optimists_and_the_pessimists_value():
    rng = np.random.default_rng(4)
    parts, folds = rng.normal(1, 0.3, (6, 4, 8)), range(8)
    parts[:, 2:] -= 0.2  # rules that are remade are worth something
    rng = np.random.default_rng(0)
    halves = [rng.permutation(8) < 4 for _ in range(10)]
    halves += [~half for half in halves]
    high = chosen_and_charged(parts, 2, folds, folds)
    apart = [
        chosen_and_charged(parts, 2, np.flatnonzero(~half), np.flatnonzero(half)) for half in halves
    ]
    low = float(np.mean(apart))
    counts = rng.multinomial(8, np.full(8, 1 / 8), size=200)
    again = [np.repeat(np.arange(8), drawn) for drawn in counts]
    bootstrap = np.std([chosen_and_charged(parts, 2, drawn, drawn) for drawn in again])
    every = parts.sum(axis=2)
    today = int(every[:, :2].mean(axis=0).argmin())
    each = [
        np.mean([parts[w, today, f] - parts[w, every[w].argmin(), f] for w in range(6)])
        for f in folds
    ]
    error = max(np.sqrt(8 * np.var(each, ddof=1)), bootstrap)
    reach = stats.t.ppf(0.975, 7) * error
    worth = worth_of(parts, 2)
    assert low < high
    assert worth.value == pytest.approx((low + high) / 2)
    assert worth.low == pytest.approx(max(low - reach, 0))
    assert worth.high == pytest.approx(high + reach)


def test_what_is_remade_as_it_was_is_worth_nothing():
    parts = np.random.default_rng(0).normal(1, 0.1, (5, 2, 10))
    parts = np.concatenate([parts, parts - 0.0], axis=1)[:1].repeat(5, axis=0)
    worth = worth_of(parts[:, [0, 0]], 1)
    assert (worth.value, worth.low, worth.high) == (0.0, 0.0, 0.0)
    assert np.isnan(worth_of(parts[..., :1], 2).value)


def two_scores(seed: int, n_cases: int, n_models: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Calibrated posteriors of models that share much of their noise; 30 % are positive."""
    rng = np.random.default_rng(seed)
    y, models = (rng.random(n_cases) < 0.3).astype(int), {}
    shared, variance = 0.5 * rng.standard_normal(n_cases), 0.5**2 + 0.85**2
    for place in range(n_models):
        x = 1.2 * y + shared + 0.85 * rng.standard_normal(n_cases)
        models[f"m{place}"] = 1 / (1 + np.exp(-(1.2 * x - 0.72) / variance) * 7 / 3)
    return y, models


# By a million cases; rules are remade for 100 costs of a miss.
TRUE_WORTH = {(1, 4.9, 5.1): 0.00007, (1, 2.0, 8.0): 0.0154, (2, 4.5, 5.5): 0.00037}


@pytest.mark.parametrize(
    ("design", "n_sets"),
    [((1, 4.9, 5.1), 2), *(pytest.param(d, 40, marks=pytest.mark.slow) for d in TRUE_WORTH)],
)
def test_the_worth_of_knowing_is_no_positive_part_of_noise(design, n_sets):
    """It was ten to twenty times the truth with one model and a narrow range."""
    n_models, low, high = design
    problem = Problem([[0, 1], [Between(low, high), 0]])
    worths = []
    for seed in range(n_sets):
        y, models = two_scores(seed, 500, n_models)
        worths.append(evaluate(y, models, problem, **QUICK).uncertainty)
    truth, each = TRUE_WORTH[design], np.array([worth.evpi_remade for worth in worths])
    ends = np.array([[worth.evpi_remade_low, worth.evpi_remade_high] for worth in worths])
    assert ((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() >= 0.85  # two errors below 93 %
    error = (ends[:, 1] - ends[:, 0]).mean() / 2
    assert abs(each.mean() - truth) <= max(0.25 * truth, error)
    if high - low < 0.5:
        assert (ends[:, 0] == 0).mean() >= 0.9


# Files and renderings ----------------------------------------------------------------------------


def test_distributions_travel_through_toml_and_json(tmp_path, report):
    problem = Problem(COSTS, prior=PRIOR, classes=["legit", "fraud"])
    problem.to_toml(tmp_path / "p.toml")
    assert Problem.from_toml(tmp_path / "p.toml") == problem
    assert problem != Problem(problem.costs, prior=PRIOR, classes=["legit", "fraud"])
    (tmp_path / "q.toml").write_text(
        "[utilities.no]\nleave = 0\ntreat = -1\n\n"
        "[utilities.yes]\nleave = { between = [-300, -80] }\ntreat = 0\n",
        encoding="utf-8",
    )
    assert Problem.from_toml(tmp_path / "q.toml").beliefs == ((1, 0, Between(80, 300)),)
    assert Problem.from_utilities([[0, -1], [Between(-300, -80), 0]]).costs[1, 0] == 190
    again = Report.from_json(report.to_json())
    assert again == report
    assert again.problem.beliefs == report.problem.beliefs
    data = json.loads(report.to_json())
    del data["uncertainty"]
    assert Report.from_json(sealed_again(data)).uncertainty is None


def test_text_and_markdown_say_what_certainty_is_worth(report):
    text = " ".join(report.to_text().split())
    assert "Uncertain costs" in text
    assert f"is the cheapest over {100 * report.uncertainty.holds:.0f} % of what" in text
    assert "EUR per case (EVPI)" in text
    assert "## Uncertain costs" in report.to_markdown()


@pytest.mark.slow
def test_a_rule_travels_with_the_distributions_of_its_costs():
    rule = evaluate(Y, P, Problem(COSTS, prior=PRIOR), **QUICK).rule("model (as is)")
    again = stakes.Rule.from_json(rule.to_json())
    assert again.problem == rule.problem
    assert again.decide(P).tolist() == rule.decide(P).tolist()


def test_beliefs_stay_with_the_costs_that_they_are_about():
    problem = Problem(COSTS)
    assert problem.with_prior(PRIOR).beliefs == problem.beliefs
    assert problem.with_abstention(5).beliefs == problem.beliefs
    assert problem.regret().beliefs == ()


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ({"between": [300, 80]}, r"the lower one first; got \[300, 80\]. Write \[80, 300\]"),
        ({"between": [80]}, "between must hold two amounts, the lower one first; got"),
        ({"betwen": [80, 300]}, "a cost must be a number, an expression or a distribution; one is"),
        ({"distribution": "os"}, "a distribution that scipy.stats names; 'os' is none"),
        ({"distribution": "gamma"}, "a cost must have the parameters of gamma"),
        ({"distribution": "gamma", "args": ["x"]}, "parameters of a distribution must be numbers"),
        ({"distribution": "gamma", "args": 3}, "parameters of a distribution must be numbers"),
        ({"distribution": "norm", "loc": "a"}, "parameters of a distribution must be numbers"),
        (stats.gamma([1, 2]), "parameters of a distribution must be numbers"),
        (stats.cauchy(), "a distribution with a mean; that of cauchy is nan"),
    ],
)
def test_a_cost_that_is_no_distribution_is_refused(cost, message):
    with pytest.raises(InputError, match=message) as caught:
        Problem([[0, 1], [cost, 0]])
    assert caught.value.argument == "costs"


def test_a_range_upside_down_or_empty_is_refused():
    with pytest.raises(InputError, match=r"low must be below high; got 300 and 80. Write Between"):
        Between(300, 80)
    with pytest.raises(InputError, match=r"got 5 and 5. Write 5\."):
        Between(5, 5)


@pytest.mark.parametrize(
    ("uncertain", "argument", "message"),
    [
        ("high", "uncertain", "uncertain must be a list of cost matrices .* got str"),
        (np.array(3.0), "uncertain", "uncertain must be a list of cost matrices .* got"),
        ({"cost": []}, "uncertain", "must hold costs, a prior or both; it holds 'cost'"),
        ({"costs": None}, "uncertain", "uncertain must hold two matrices at least"),
        ([[[0, 1], [9, 0]]], "uncertain", "two matrices at least"),
        ([[[0, 1], [9, 0]]] * 2, "problem", "mean cost of 0 for 1 is 9, the problem says 5"),
        (Dirichlet([9, 1]), "problem", "problem must state the prior whose distribution is given"),
        ({"prior": [0.5, 0.5]}, "uncertain", "a function of a generator and a number of draws"),
    ],
)
def test_what_cannot_be_uncertain_is_refused(uncertain, argument, message):
    with pytest.raises(InputError, match=message) as caught:
        evaluate(Y, RULES, Problem([[0, 1], [5, 0]]), uncertain=uncertain, **QUICK)
    assert caught.value.argument == argument


def test_a_distribution_of_the_prior_must_have_the_stated_mean():
    problem = Problem([[0, 1], [5, 0]], prior=[0.5, 0.5])
    with pytest.raises(InputError, match=r"that is \[0.9, 0.1\], the prior \[0.5, 0.5\]"):
        evaluate(Y, RULES, problem, uncertain=Dirichlet([9, 1]), **QUICK)
    for sampler, message in (
        (lambda rng, size: rng.dirichlet([9, 1], size), r"that is about \[0.9, 0.1\], the prior"),
        (lambda: None, r"must be called as sampler\(rng, size\)"),
        (lambda rng, size: ["many"] * size, "must draw priors of shape"),
        (lambda rng, size: np.ones((size, 2)), "must draw priors of shape .* that sum to one"),
    ):
        with pytest.raises(InputError, match=message):
            evaluate(Y, RULES, problem, uncertain=sampler, **QUICK)
    with pytest.raises(InputError, match="must leave out costs where those of the problem have"):
        evaluate(Y, RULES, Problem([[0, 1], [Between(4, 6), 0]]), uncertain=[COSTS], **QUICK)


def test_priors_are_drawn_in_the_order_of_the_last_class_and_spread_over_its_shares():
    problem = Problem([[0, 1], [4, 0], [2, 2]], prior=[0.5, 0.3, 0.2])
    unknown = unknown_of(Dirichlet([50, 30, 20]), problem, np.array([0.5, 0.3, 0.2]))
    assert unknown is not None
    last = unknown._priors(np.random.default_rng(0), 40)[:, -1]
    assert (np.diff(last) >= 0).all()
    expected = stats.beta(20, 80).ppf((np.arange(40) + 0.5) / 40)
    np.testing.assert_allclose(last, expected, atol=0.02)


@pytest.mark.parametrize("n_experts", [2, 3])
def test_experts_differ_from_their_mean(n_experts):
    rng = np.random.default_rng(3)
    experts = rng.random((n_experts, 2, 3))
    shares = np.array([0.5, 0.5])
    unknown = unknown_of(list(experts), Problem(experts.mean(axis=0)), shares)
    assert unknown is not None
    (part,) = unknown.parts(rng)
    np.testing.assert_allclose(part.worlds.costs, experts - experts.mean(axis=0))


def test_no_experts_are_no_matrices():
    with pytest.raises(InputError, match=r"two matrices at least.*of all is \(0, 0, 0\)"):
        unknown_of({"costs": []}, Problem.zero_one(2), np.array([0.5, 0.5]))


def test_worlds_of_experts_are_their_matrices_about_the_mean():
    rng = np.random.default_rng(3)
    experts = rng.random((2, 2, 3))
    shares = np.array([0.5, 0.5])
    unknown = unknown_of(list(experts), Problem(experts.mean(axis=0)), shares)
    assert unknown is not None
    costs, away = unknown.worlds(rng, 6).costs, experts - experts.mean(axis=0)
    for world in costs:
        assert any(np.allclose(world, each) for each in away)
    np.testing.assert_allclose(costs.mean(axis=0), 0, atol=1e-12)


def test_a_report_of_a_version_without_intervals_of_worth_still_opens(report):
    written = json.loads(report.to_json())
    known = written["uncertainty"]
    for part in (known, *known["parts"]):
        for name in [name for name in part if name.endswith(("remade_low", "remade_high"))]:
            del part[name]
    opened = Report.from_json(sealed_again(written))
    worth = opened.uncertainty
    assert worth is not None
    assert worth.evpi == report.uncertainty.evpi
    assert np.isnan(worth.evpi_remade_low)
