"""No two statements of a report contradict each other."""

import numpy as np
import pytest

from stakes import Problem, evaluate
from stakes.inference import Clusters, profile_interval
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
