"""No two statements of a report contradict each other."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stakes import Limit, Problem, evaluate
from stakes.evaluation.case_charges import NO_MODEL
from stakes.evaluation.running_costs import Operation
from stakes.evaluation.verdict import _Words
from stakes.inference import Clusters, Measured, profile_interval
from stakes.report import NaiveDecision
from stakes.tally import Counts


def report_on(seed, n_models, *, n=150, signal=0.3, **options):
    """Weak models of two classes, one of them rare."""
    rng = np.random.default_rng(seed)
    y = np.r_[0, 1, rng.random(n - 2) < 0.2].astype(int)
    models = {}
    for name in "abcdefgh"[:n_models]:
        p = 1 / (1 + np.exp(1.4 - signal * (2 * y - 1) - rng.normal(size=n)))
        models[name] = np.column_stack([1 - p, p])
    problem = Problem([[0, 1, 3], [9, 4, 0]])
    return evaluate(y, models, problem, calibrator=None, replicates=2, **options)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_system_costs_and_what_it_saves_add_up_to_what_not_looking_costs(seed):
    report = report_on(seed, 5)
    verdict = report.verdict
    assert verdict.cost.value > report.best.cost.value
    total = verdict.cost.value + verdict.saving_over_naive.value
    assert total == pytest.approx(report.naive.cost, rel=1e-12)


@pytest.mark.parametrize("prior", [None, [0.31, 0.69]])
def test_an_amount_that_every_case_costs_is_no_reason_for_doubt_beside_weights_and_clusters(prior):
    rng = np.random.default_rng(3)
    weights = rng.lognormal(size=(40, 2, 2)) * np.eye(2)  # each case is decided at no cost
    counts, squares = Counts(weights), 1.3 * weights**2
    plain = Problem([[0, 3], [8, 0]], prior=prior)
    shifted = Problem([[0.1, 3.1], [8.1, 0.1]], prior=prior)
    first, second = (
        profile_interval(counts, problem, squares=squares, scheme=Clusters())
        for problem in (plain, shifted)
    )
    assert second.high == pytest.approx(first.high + 0.1, rel=1e-9)


def test_a_close_call_says_what_the_most_expensive_contender_saves_too():
    y = np.tile([0, 1], 30)
    wrong = {"a": range(10), "b": range(20, 35), "c": range(14)}
    models = {
        name: np.where(np.isin(np.arange(60), [*wrong_cases]), 1 - y, y)
        for name, wrong_cases in wrong.items()
    }
    report = evaluate(y, models, Problem.zero_one(2))
    verdict = report.verdict
    share = f"{verdict.saving_over_naive.value / 0.5:.0%}".replace("%", " %")
    assert len(verdict.contenders) == 3
    assert verdict.sentences[0] == (
        "a, c or b: the data cannot tell which is the cheapest; "
        f"each of them saves about 50 % to {share} of what always deciding 0 costs."
    )


@pytest.mark.parametrize(("n_models", "seed"), [(2, 0), (30, 1)])
def test_a_close_call_promises_of_none_more_than_is_expected_of_the_recommended(n_models, seed):
    """Others saved more on these cases, by the luck that the recommended one is corrected for."""
    rng = np.random.default_rng(seed)
    y = (rng.random(600) < 0.3).astype(int)
    models = {f"m{k}": np.where(rng.random(600) < 0.25, 1 - y, y) for k in range(n_models)}
    report = evaluate(y, models, Problem.binary(false_alarm=1, miss=3, unit="EUR"))
    saved = sorted(1 - report.system(name).cost.value / report.naive.cost for name in models)
    expected = report.verdict.saving_over_naive.value / report.naive.cost
    assert len(report.verdict.contenders) == n_models
    assert expected < saved[-2]
    each = "either" if n_models == 2 else "each of them"
    ends = [f"{100 * share:.0f} %" for share in (min(saved[0], expected), expected)]
    assert report.verdict.sentences[0].endswith(
        f"; {each} saves about {' to '.join(dict.fromkeys(ends))} of what always deciding 1 costs."
    )


def test_the_runner_up_is_compared_on_these_cases_where_the_winner_was_corrected_for_the_choice():
    y = np.repeat([0, 1], 100)
    rng = np.random.default_rng(2)
    close = {name: np.where(rng.random(200) < 0.25, 1 - y, y) for name in "ab"}
    for models, corrected in ((close, True), ({"a": y, "b": 1 - y}, False)):
        sentences = evaluate(y, models, Problem.zero_one(2)).verdict.sentences
        assert any("On these cases" in sentence for sentence in sentences) is corrected
        assert ("more per case on these cases (95 %" in sentences[-1]) is corrected
        assert sentences[-1].startswith("The runner-up, ")


def close_call(saving: float, *of_systems: tuple[str, float], unaided: Any = 0) -> str:
    """The sentence about systems of these models and costs, where deciding without costs 0.9."""
    systems: Any = tuple(
        SimpleNamespace(name=f"{model} {cost}", model=model, cost=Measured(cost, 0.4, 1.1))
        for model, cost in of_systems
    )
    naive = NaiveDecision(unaided, 0.9, (unaided,))
    words = _Words(Problem.zero_one(2), 0.95, naive, list(systems), systems, blind_breaks=False)
    return words.close_call(Measured(saving, 0.1, 0.5))


def test_a_rule_of_the_winner_is_not_mistaken_for_the_other_model():
    """It saves nothing, which is no reason to say so of the other model."""
    assert close_call(0.35, ("a", 0.5), ("a", 1.0), ("b", 0.6)) == (
        "a or b: the data cannot tell which is the cheapest; either saves about 33 % to 39 % of "
        "what always deciding 0 costs."
    )


def test_what_is_saved_of_a_cost_does_not_read_as_the_cost_of_a_prior():
    assert close_call(0.4, ("a", 0.5), ("b", 0.6), unaided=NO_MODEL) == (
        "a or b: the data cannot tell which is the cheapest; either saves about 33 % to 44 % of "
        "the cost of deciding without a model by each case's costs and the prior."
    )


def test_rounding_alone_does_not_make_another_save_more_than_the_winner():
    assert close_call(0.4, ("a", 0.5), ("b", 0.5 * (1 - 1e-15))) == (
        "a or b: the data cannot tell which is the cheapest; either saves about 44 % of what "
        "always deciding 0 costs."
    )


def lucky_report():
    """The cheapest costs less than not looking does, by luck alone."""
    for seed in range(60):
        report = report_on(seed, 8, signal=0.1)
        if report.verdict.deploy is None and report.best.cost.value < report.naive.cost:
            return report
    raise AssertionError("no luck")


def test_a_verdict_against_a_system_that_was_cheap_by_luck_says_so_everywhere():
    report = lucky_report()
    none, best = report.verdict.sentences
    assert none.startswith("Deploy none of these models: expect them to cost more than always ")
    assert "but it was chosen on them, as the cheapest of 8 systems." in none
    assert "will cost about" in best
    text = " ".join(report.to_text().split())
    assert f"By the costs on these cases, where {report.best.name} is the cheapest." in text
    assert "the verdict says what to expect of it" in text


def test_a_system_that_ties_with_the_best_in_a_slice_is_no_other():
    y = [0, 1] * 40
    models = {"first": [0, 1] * 20 + [1, 0] + [0, 1] * 19, "second": y}
    groups = ["same"] * 40 + ["other"] * 40
    report = evaluate(y, models, Problem.zero_one(2), by=groups)
    assert report.best.model == "second"
    same = next(group for group in report.slices if group.group == "same")
    assert same.cheapest == report.best.name
    assert same.saving is None
    assert same.clear is None


def tied_report():
    """Two models of decisions, each as cheap on these cases as always deciding 1."""
    y, i = np.repeat([0, 1], [16, 4]), np.arange(20)
    first, second = np.where(i < 9, 0, 1), np.where((i >= 7) & (i < 16), 0, 1)
    first[16] = second[17] = 0
    problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
    return evaluate(y, {"d0": first, "d1": second}, problem)


def test_what_costs_as_much_on_these_cases_is_not_called_cheaper():
    verdict = tied_report().verdict
    assert verdict.saving_over_naive.value < 0
    assert verdict.reason == (
        "Deploy none of these models: always deciding 1 costs as little on these cases, "
        "0.8 EUR per case, and needs no model."
    )


@pytest.mark.parametrize("n_models", [1, 2])
def test_the_system_that_meets_or_breaks_a_limit_is_named_where_there_are_others(n_models):
    y = np.repeat([0, 1], [300, 120])
    free = Problem.binary(false_alarm=1, miss=9)
    models = dict(zip("ab", (np.tile([0, 1], 210), np.tile([1, 0], 210)), strict=True))
    models = {name: models[name] for name in "ab"[:n_models]}
    broken = evaluate(y, models, free.with_limits([Limit.share(1, at_most=0.05)])).verdict
    kept = evaluate(y, {**models, "a": y}, free.with_limits([Limit.share(1, at_most=0.6)])).verdict
    subject = "It" if n_models == 1 else "a (as decided)"
    assert broken.sentences[1].startswith(f"{subject} decides 1 for 50.0 % of cases (")
    assert kept.sentences[-1].startswith(f"{subject} decides 1 for 28.6 % of cases (")


def test_no_amount_and_no_bound_that_is_not_zero_reads_as_zero():
    words = _Words(Problem.zero_one(2), 0.95, NaiveDecision(0, 3.32, (0,)), [], (), False)
    best: Any = SimpleNamespace(
        name="m (as decided)", model="m", rule="as decided", cost=Measured(3.9, 1.0, 454_615.0)
    )
    more = words.at_best(best, best.cost, Measured(-0.58, -454_613.0, 3.3))
    assert "0.58 more (95 % interval −3 to 450,000); the data cannot rule out" in more
    rival = words.against_rival(best, best, Measured(0.58, -3.3, 454_613.0), here=False)
    assert "costs 0.58 more per case (95 % interval −3 to 450,000)" in rival
    saves = words.saves(best, Measured(0.14, 0.00196, 0.39))
    assert "it saves 0.14 per case (95 % interval 0.002 to 0.39), 4 % of that." in saves
    operation = Operation({}, 1e6, "year")
    total = words.totals(operation, best.cost, Measured(0.14e6, 1960, 0.39e6), deployed=True)
    assert total.endswith("and saves 140,000 (95 % interval 2000 to 390,000).")
