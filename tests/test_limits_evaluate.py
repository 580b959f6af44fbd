"""Reports of problems with limits: prices out of fold, shares at deployment, and the verdict."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from stakes import Decisions, InputError, Limit, Problem, Report, Scores, evaluate, price_limits
from stakes.calibration import Affine
from stakes.evaluation.cases import read_cases
from stakes.evaluation.predictions import Folds
from stakes.limits import capacity_curve, coverage_curve
from stakes.render.system_tables import capacity_section
from tamper import sealed_again

PLAIN: dict[str, Any] = {"calibrator": None, "replicates": 50}
REVIEW = Limit.share("review", at_most=0.05)
COSTS = {
    "legit": {"approve": 0, "review": 3, "block": 25},
    "fraud": {"approve": 180, "review": 8, "block": 0},
}
PAYMENTS = Problem(COSTS, unit="EUR", limits=[REVIEW])
RNG = np.random.default_rng(0)
FRAUD = RNG.random(1200) < 0.1
TRUTH = np.where(FRAUD, "fraud", "legit")
LOG_ODDS = RNG.normal(np.where(FRAUD, 2, -2), 2) + np.log(0.1 / 0.9)
P = 1 / (1 + np.exp(-LOG_ODDS))
AMOUNTS = RNG.lognormal(4, 1, 1200)
OLD = np.where(P > 0.03, "review", "approve")  # cheap, and far too many reviews


@pytest.fixture(scope="module")
def report():
    models = {"forest": P, "old": Decisions(OLD)}
    return evaluate(TRUTH, models, PAYMENTS, volume=250_000, period="year", **PLAIN)


def test_every_case_is_decided_with_prices_of_the_other_folds(report):
    """A slow twin: price the other folds on their labels, decide the cases of this one."""
    cases = read_cases(TRUTH, PAYMENTS, None, None, None)
    folds = Folds(cases, 0, {"forest": P, "old": (P > 0.03).astype(np.intp)})
    counts = np.zeros((2, 3))
    for fold in range(folds.count):
        members = folds.numbers[0] == fold
        priced = price_limits(P[~members], PAYMENTS, y_true=TRUTH[~members])
        rows = np.column_stack([1 - P[members], P[members]])
        decided = (rows @ priced.priced.costs).argmin(axis=1)
        for k, d in zip(cases.truth[members], decided, strict=True):
            counts[k, d] += 1
    assert np.array_equal(report.system("forest").counts.values, counts)


def test_the_report_has_the_share_with_its_interval_and_the_price_of_all_cases(report):
    (check,) = report.system("forest").limits
    assert check.value == pytest.approx(report.system("forest").counts.values[:, 1].sum() / 1200)
    assert check.low < 0.05 < check.high
    assert not check.breaks
    priced = price_limits(P, PAYMENTS, y_true=TRUTH)
    assert check.price == pytest.approx(priced.prices[0], abs=1e-12)
    assert check.total == pytest.approx(0.01 * 250_000 * priced.prices[0])
    assert report.system("forest").rounding_loss == pytest.approx(priced.rounding_loss, abs=1e-12)


def test_a_system_that_breaks_a_limit_is_cheaper_and_still_not_recommended(report):
    old = report.system("old")
    assert old.cost.value < report.system("forest").cost.value
    assert old.limits[0].breaks
    assert not old.candidate
    assert report.verdict.model == "forest"
    assert "old (as decided)" not in report.verdict.contenders
    (text,) = [caveat.text for caveat in report.caveats if caveat.kind == "breaks a limit"]
    assert text.startswith("old (as decided) cannot be recommended: review: at most 5 % of cases")


def test_the_verdict_compares_with_a_constant_decision_that_keeps_the_limits(report):
    """To review everything would be the cheapest without looking, and breaks the limit."""
    assert report.naive.decision == "review"
    blind = 180 * FRAUD.mean()  # approve everything
    saved = report.verdict.saving_over_naive.value
    assert saved == pytest.approx(blind - report.verdict.cost.value)
    assert any(
        "Against always deciding approve" in sentence for sentence in report.verdict.sentences
    )


def test_the_report_says_what_one_more_review_saves(report):
    price = report.system("forest").limits[0].price
    text = " ".join(report.to_text().split())
    saves = r"One more review saves [\d.]+ EUR by its probabilities, at the margin; one percentage"
    assert re.search(saves, text)
    assert f"One more review saves {price:.3g} EUR" in text.replace(" ", " ")
    assert re.search(r"2500 cases a year, is worth about \d\d,\d00 EUR a year", text)
    assert "always review (breaks a limit)" in text
    assert "Systems that break a limit" in text
    assert "Limits ======" in text
    assert "## Limits" in report.to_markdown()


def test_reports_with_limits_travel_as_json_and_older_ones_can_be_read(report):
    again = Report.from_json(report.to_json())
    assert again == report
    assert again.problem.limits == (REVIEW,)
    assert again.system("forest").limits == report.system("forest").limits
    older = json.loads(report.to_json())
    del older["problem"]["limits"]
    for system in (*older["systems"], older["verdict"]["deploy"]):
        for name in ("limits", "rounding_loss", "scale", "corrected", "decided", "digits"):
            del system[name]
    for rule in older["rules"].values():
        rule["problem"].pop("limits")
        rule.pop("added", None)
    read = Report.from_json(sealed_again(older))
    assert read.problem == PAYMENTS.with_limits(None)
    assert read.system("forest").limits == ()


def test_the_report_says_what_other_capacities_would_cost(report):
    (check,) = report.system("forest").limits
    curve = capacity_curve(P, PAYMENTS, "review", y_true=TRUTH)
    shares = [share for share, *_ in check.capacity]
    assert shares[:5] == pytest.approx([0, 0.0125, 0.025, 0.0375, 0.05])
    for share, cost, price in check.capacity:
        assert cost == pytest.approx(float(curve.cost(share)))
        assert price == pytest.approx(float(curve.price(share)))
    assert check.capacity[-1][2] == 0
    assert "Cost against capacity" in report.to_text()
    section: Any = capacity_section(report)
    assert [row[-1] for row in section.table.rows] == [f"{row[2]:.3g}" for row in check.capacity]
    assert report.coverage == ()


def test_the_page_draws_what_other_capacities_would_cost(report):
    pytest.importorskip("jinja2")
    (check,) = report.best.limits
    page = report.to_html()
    dots = page.partition('<g class="dot m0">')[2].partition("</g>")[0]
    assert dots.count("<circle") == len(check.capacity)
    assert ">limit</text>" in page


@pytest.mark.parametrize("design", ["cases", "weights and a prior", "amounts"])
def test_the_report_says_what_hard_cases_cost_and_what_leaving_them_may_cost(design):
    problem = PAYMENTS.with_limits(None)
    more: dict[str, Any] = {}
    if design == "weights and a prior":
        problem, more = problem.with_prior([0.97, 0.03]), {"weights": 1 + np.arange(1200) % 3}
    if design == "amounts":
        costs = {**COSTS, "fraud": {**COSTS["fraud"], "approve": "amount"}}
        problem, more = Problem(costs, unit="EUR"), {"data": {"amount": AMOUNTS}}
    report = evaluate(TRUTH, {"forest": P}, problem, **more, **PLAIN)
    moved = "" if problem.prior is None else ", posteriors moved to the prior"
    assert report.best.rule == f"Bayes decisions{moved}"
    curve = coverage_curve(P, problem, y_true=TRUTH, **more)
    assert len(report.coverage) == 20
    for share, cost, price in report.coverage:
        assert cost == pytest.approx(float(curve.selective_cost(share)))
        assert price == pytest.approx(float(curve.break_even(share)))
    share, cost, _ = report.coverage[-1]
    assert share == 1
    assert cost == pytest.approx(report.best.cost.value)
    assert "Cost against coverage" in report.to_text()
    assert "pays below" in report.to_text()
    assert Report.from_json(report.to_json()) == report


def test_below_the_price_of_a_coverage_it_pays_to_decide_still_fewer_and_above_it_does_not():
    """By a plain loop: the cheapest coverage for abstentions of other prices, by the posteriors."""
    y, p = [0, 0, 0, 1] * 30, [0.05, 0.1, 0.4, 0.7] * 30
    report = evaluate(y, {"m": p}, Problem.zero_one(2), **PLAIN)
    assert "Leaving the next case to somebody else" in " ".join(report.to_text().split())
    hardness = [min(probability, 1 - probability) for probability in p]
    for share, _, price in report.coverage:
        for abstention, fewer in ((price - 0.01, True), (price + 0.01, False)):
            decided = sum(cost <= abstention for cost in hardness) / len(p)
            assert (decided < share - 1e-9) is fewer
    assert [share for share, *_ in report.coverage] == pytest.approx([0.25, 0.5, 0.75, 1])


@pytest.mark.slow
def test_no_capacity_is_listed_twice():
    y, p = np.array([0, 1] * 20), np.resize(np.linspace(0.05, 0.95, 20), 40)
    problem = Problem([[0, 2, 9], [9, 2, 0]])
    need = float(capacity_curve(p, problem, 1).shares[-1])
    for factor in (0.25, 0.5, 1.5, 3, 8):
        limit = Limit.share(1, at_most=min(need / factor * (1 - 1e-15), 1.0))
        unique = evaluate(y, {"m": p}, problem.with_limits([limit]), **PLAIN)
        shares = [share for share, *_ in unique.best.limits[0].capacity]
        assert np.diff(shares).min() > 1e-6
        assert shares[-1] == pytest.approx(need)


def test_the_shipped_rule_keeps_the_limit_on_the_cases_it_was_made_of(report):
    rule = report.rule()
    decided = rule.decide(P)
    assert 0.049 < np.mean(decided == "review") <= 0.05
    assert rule.problem == PAYMENTS
    assert np.array_equal(decided, price_limits(P, PAYMENTS, y_true=TRUTH).decisions)
    assert rule.decide(P, limits=[Limit.count("review", 7)]).tolist().count("review") == 7


def test_where_every_system_breaks_a_limit_none_is_deployed():
    report = evaluate(TRUTH, {"old": Decisions(OLD)}, PAYMENTS, **PLAIN)
    assert report.verdict.deploy is None
    assert report.verdict.reason == "Deploy none: old clearly breaks a limit."
    assert report.best.name == "old (as decided)"
    with pytest.raises(InputError, match="the verdict is to deploy none"):
        report.rule()
    assert "which it clearly breaks" in " ".join(report.verdict.sentences)
    report.to_text()


def test_no_gate_opens_for_a_system_that_clearly_breaks_a_limit():
    models = {"today": Decisions(np.full(1200, "approve")), "old": Decisions(OLD), "forest": P}
    report = evaluate(TRUTH, models, PAYMENTS, baseline="today", **PLAIN)
    cheap = report.system("old (as decided)")
    assert cheap.difference is not None
    assert cheap.difference.high < 0
    assert (report.is_better("forest"), report.is_better(cheap.name)) == (True, False)
    assert report.verdict.cheapest == "forest (as is)"


@pytest.mark.slow
def test_where_no_constant_decision_keeps_the_limits_the_best_rule_is_deployed():
    limits = [
        Limit.share("review", at_most=0.4),
        Limit.share("block", at_most=0.4),
        Limit.rate("approve", given="fraud", at_most=0.4),
    ]
    report = evaluate(TRUTH, {"forest": P}, PAYMENTS.with_limits(limits), **PLAIN)
    assert report.verdict.model == "forest"
    assert "Nothing that needs no model keeps the limits." in report.verdict.sentences
    assert len(report.system("forest").limits) == 3


@pytest.mark.slow
def test_a_recalibrated_rule_is_priced_with_the_map_that_is_shipped():
    boastful = 1 / (1 + np.exp(-3 * LOG_ODDS))
    report = evaluate(TRUTH, {"boastful": boastful}, PAYMENTS, calibrator=Affine())
    system = report.system("boastful (recalibrated)")
    assert system.limits[0].low < 0.05 < system.limits[0].high
    rule = report.rule("boastful (recalibrated)")
    assert rule.map is not None
    assert 0.045 < np.mean(rule.decide(boastful) == "review") <= 0.05
    # The price is that of calibrated probabilities.
    honest = price_limits(P, PAYMENTS).prices[0]
    assert system.limits[0].price == pytest.approx(honest, rel=0.25)


@pytest.mark.slow
def test_shares_are_counted_at_the_prior_of_the_problem():
    problem = PAYMENTS.with_prior([0.99, 0.01])
    report = evaluate(TRUTH, {"forest": P}, problem, **PLAIN)
    for system in report.systems:
        rates = system.counts.values[:, 1] / system.counts.values.sum(axis=1)
        assert system.limits[0].value == pytest.approx(rates @ [0.99, 0.01])
        assert system.limits[0].low < 0.05 < system.limits[0].high or system.limits[0].price == 0
        decided = report.rule(system.name).decide(P) == "review"
        shipped = [np.mean(decided[~FRAUD]), np.mean(decided[FRAUD])] @ np.array([0.99, 0.01])
        assert shipped <= 0.05


@pytest.fixture(scope="module")
def amounts_report():
    problem = Problem(
        {
            "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
            "fraud": {"approve": "amount", "review": 8, "block": 0},
        },
        unit="EUR",
        limits=[REVIEW],
    )
    clusters = np.arange(1200) // 3
    return evaluate(
        TRUTH, {"forest": P}, problem, data={"amount": AMOUNTS}, clusters=clusters, **PLAIN
    )


def test_costs_of_every_case_are_kept_within_limits_too(amounts_report):
    for system in (amounts_report.system("forest"), amounts_report.no_model):
        (check,) = system.limits
        assert check.value == pytest.approx(system.counts.values[:, 1].sum() / 1200)
        assert not check.breaks
    assert amounts_report.verdict.model == "forest"
    rule = amounts_report.rule()
    decided = rule.decide(P, {"amount": AMOUNTS})
    assert 0.049 < np.mean(decided == "review") <= 0.05
    assert Report.from_json(amounts_report.to_json()) == amounts_report


@pytest.mark.slow
def test_fractional_weights_and_costs_of_every_case_go_together():
    problem = Problem(
        [[0, 3, "5 + 0.02*amount"], ["amount", 8, 0]], limits=[Limit.share(1, at_most=0.1)]
    )
    weights = RNG.uniform(0.5, 2, 1200)
    data = {"amount": AMOUNTS}
    report = evaluate(FRAUD.astype(int), P, problem, data=data, weights=weights, **PLAIN)
    assert report.no_model is not None
    for system in (report.best, report.no_model):
        share = system.counts.values[:, 1].sum() / weights.sum()
        assert system.limits[0].value == pytest.approx(share)
        assert system.limits[0].low < share < system.limits[0].high


def test_a_recall_floor_says_what_a_miss_is_worth():
    problem = Problem.binary(
        false_alarm=1,
        miss=2,
        classes=["well", "ill"],
        decisions=["wait", "treat"],
        limits=[Limit.rate("treat", given="ill", at_least=0.9)],
    )
    report = evaluate(np.where(FRAUD, "ill", "well"), {"test": P}, problem, **PLAIN)
    system = report.system("test")
    assert system.threshold is not None
    assert system.threshold < problem.threshold
    worth = (1 - system.threshold) / system.threshold
    sentence = " ".join(report.verdict.sentences)
    assert f"wait for ill counts {worth:.3g} times as much as treat for well" in sentence
    assert [system.name for system in report.systems] == [
        "test (as is)"
    ]  # no threshold that is unbound


@pytest.mark.slow
def test_raw_scores_without_a_calibrator_are_checked_against_the_limits():
    problem = Problem.binary(false_alarm=1, miss=9, limits=[Limit.share(1, at_most=0.02)])
    report = evaluate(FRAUD.astype(int), {"scores": Scores(LOG_ODDS)}, problem, **PLAIN)
    assert report.system("scores").limits[0].price is None
    assert report.system("scores").limits[0].breaks
    assert report.verdict.deploy is None


def test_limits_that_no_rule_keeps_are_refused():
    limits = [
        Limit.share("review", at_most=0.01),
        Limit.share("block", at_most=0.01),
        Limit.rate("approve", given="fraud", at_most=0.05),
    ]
    with pytest.raises(InputError, match="'approve: at most 5 % of fraud' cannot be kept"):
        evaluate(TRUTH, {"forest": P}, PAYMENTS.with_limits(limits), **PLAIN)


def test_prices_of_the_shipped_rule_are_those_of_the_cases_when_they_were_evaluated():
    """They are fitted when a rule is asked for; by then the caller may have changed the arrays."""
    y, p = FRAUD.astype(np.int64), P.copy()
    problem = Problem.binary(false_alarm=1, miss=4, limits=[Limit.rate(1, given=1, at_least=0.9)])
    expected = evaluate(y, {"a": p}, problem, replicates=50).rules["a (recalibrated)"].added
    report = evaluate(y, {"a": p}, problem, replicates=50)
    y[:], p[:] = 1 - y, 0.5
    assert report.rules["a (recalibrated)"].added == pytest.approx(expected, abs=0)


def test_a_rate_within_a_class_without_cases_is_unknown_and_the_verdict_says_so():
    labels = list("abc")
    limit = Limit.rate("c", given="c", at_least=0.9)
    problem = Problem(1 - np.eye(3), classes=labels, limits=[limit])
    y = np.array(["a", "b"] * 50)
    report = evaluate(y, {"m": Decisions(y)}, problem, **PLAIN)
    (check,) = report.systems[0].limits
    assert check.outcome == "unknown"
    assert check.interval == ("undefined", "0 %", "100 %")
    unknown = "Whether it decides c for at least 90 % of c is unknown: there is no case of c."
    assert unknown in report.verdict.sentences
    assert "undefined %" not in str(report)
    rows = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2]] * 50)
    with pytest.raises(InputError, match=r"the share of 'c' is zero.*Gather cases of it"):
        evaluate(y, {"m": rows}, problem, **PLAIN)


def test_limits_where_the_prior_rules_out_a_class_that_has_cases():
    """Its cases count for nothing; dividing by their mass of zero is not even tried."""
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=120)
    rows = rng.random((120, 3)) + 0.2 + 1.5 * np.eye(3)[truth]
    rows /= rows.sum(axis=1, keepdims=True)
    problem = Problem(
        [[0, 1, 1.5], [3, 1, 0], [2, 1, 4]],
        decisions=["x", "r", "z"],
        prior=[0.5, 0.5, 0],
        limits=[Limit.share("r", at_most=0.2)],
    )
    kept = truth < 2
    both = Problem(problem.costs[:2], decisions=["x", "r", "z"], limits=problem.limits)
    rows[:, 2], rows[:, :2] = 0, rows[:, :2] / rows[:, :2].sum(axis=1, keepdims=True)
    report = evaluate(truth, {"m": rows, "n": rows[::-1]}, problem, **PLAIN)
    alone = evaluate(
        truth[kept],
        {"m": rows[kept][:, :2], "n": rows[::-1][kept][:, :2]},
        both.with_prior([0.5, 0.5]),
        **PLAIN,
    )
    assert len(report.flips_under_limits) == len(alone.flips_under_limits)
