"""No two statements of a report contradict each other."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from stakes import Limit, Problem, evaluate
from stakes.evaluation.cases import Operation
from stakes.evaluation.verdict_words import VerdictWords
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


def test_a_range_beside_a_saving_is_its_interval():
    """A close call once said "each of them saves about 50 % to 58 %": a range of estimates."""
    y = np.tile([0, 1], 30)
    wrong = {"a": range(10), "b": range(20, 35), "c": range(14)}
    models = {
        name: np.where(np.isin(np.arange(60), [*wrong_cases]), 1 - y, y)
        for name, wrong_cases in wrong.items()
    }
    verdict = evaluate(y, models, Problem.zero_one(2)).verdict
    share = verdict.share
    assert share is not None
    assert share.low < share.value < share.high
    assert share.value == pytest.approx(verdict.saving_over_naive.value / 0.5)
    assert len(verdict.contenders) == 3
    bounds = f"({100 * share.low:.0f} to {100 * share.high:.0f} %)"
    assert f"{100 * share.value:.0f} % {bounds} of that" in verdict.sentences[1]
    assert verdict.sentences[2] == "The data cannot tell which model is the cheapest: a, c or b."


def test_the_runner_up_is_compared_on_these_cases_where_the_winner_was_corrected_for_the_choice():
    y = np.repeat([0, 1], 100)
    rng = np.random.default_rng(2)
    close = {name: np.where(rng.random(200) < 0.25, 1 - y, y) for name in "ab"}
    for models, corrected in ((close, True), ({"a": y, "b": 1 - y}, False)):
        sentences = evaluate(y, models, Problem.zero_one(2)).verdict.sentences
        assert any("On these cases" in sentence for sentence in sentences) is corrected
        assert ("more per case on these cases (95 %" in sentences[-1]) is corrected
        assert sentences[-1].startswith("The runner-up, ")


def lucky_report():
    """The cheapest costs less than not looking does, by luck alone."""
    for seed in range(60):
        report = report_on(seed, 8, signal=0.1)
        if (
            report.verdict.saving_over_naive.value < 0
            and report.best.cost.value < report.naive.cost
        ):
            return report
    raise AssertionError("no luck")


def test_a_verdict_against_a_system_that_was_cheap_by_luck_says_so_everywhere():
    report = lucky_report()
    first, saves, *_ = report.verdict.sentences
    assert first.startswith("Try ")
    assert "but it was chosen on them, as the cheapest of 8 systems." in first
    assert "expect it to save nothing" in saves
    assert "that it was cheaper on these cases may be luck" in saves
    text = " ".join(report.to_text().split())
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
    assert verdict.saving_over_naive.value == 0
    assert verdict.reason == (
        "Deploy none: always deciding 1 costs as little, 0.8 EUR per case, and needs no model."
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
    words = VerdictWords(
        Problem.zero_one(2), 0.95, NaiveDecision(0, 3.32, (0,)), [], (), False, "cases"
    )
    best: Any = SimpleNamespace(
        name="m (as decided)", model="m", rule="as decided", cost=Measured(3.9, 1.0, 454_615.0)
    )
    more = words.at_best(best, best.cost, Measured(-0.58, -454_613.0, 3.3))
    assert "0.58 more (95 % interval −3 to 450,000); the data cannot rule out" in more
    rival = words.against_rival(best, best, Measured(0.58, -3.3, 454_613.0), here=False)
    assert "costs 0.58 more per case (95 % interval −3 to 450,000)" in rival
    expected: Any = SimpleNamespace(saving=Measured(0.14, 0.00196, 0.39), share=None)
    saves = words.saves(best, expected, None)
    assert "it saves 0.14 per case (95 % interval 0.002 to 0.39)." in saves
    operation = Operation({}, 1e6, "year")
    total = words.totals(operation, best.cost, Measured(0.14e6, 1960, 0.39e6), named=True)
    assert total.endswith("and saves 140,000 (95 % interval 2000 to 390,000).")
