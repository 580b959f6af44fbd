"""Deploy, try or none: what has to be shown, and who stays where it is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stakes
from stakes import Decisions, InputError, JointCounts, Limit, Problem, Report, Scores
from stakes.evaluation.verdict import unkept_rate
from stakes.inference import Measured, system_costs
from stakes.limits import LimitCheck

evaluate: Any = stakes.evaluate
QUICK: Any = {"calibrator": None, "replicates": 10}
COSTS = Problem([[0, 1], [4, 0]], unit="EUR")


def useless(n_models: int, n_cases: int, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Models that decide at random, so that what they truly save is not above zero."""
    rng = np.random.default_rng([seed, n_models, n_cases])
    y = (rng.random(n_cases) < 0.2).astype(int)
    return y, {f"m{j}": (rng.random(n_cases) < 0.5).astype(int) for j in range(n_models)}


def rivals(n_models: int, n_cases: int, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Models of the same true cost; the first is the incumbent."""
    rng = np.random.default_rng([seed, n_models, n_cases])
    y = (rng.random(n_cases) < 0.2).astype(int)
    shared = rng.standard_normal(n_cases)
    signals = (1.6 * y + 0.8 * shared + 0.6 * rng.standard_normal(n_cases) for _ in range(n_models))
    return y, {f"m{j}": (signal > 0.6).astype(int) for j, signal in enumerate(signals)}


def kind_by_hand(report: Report) -> str:
    """The kind from what the report prints, in the words of its definition."""
    verdict, baseline = report.verdict, report.baseline
    saves = verdict.saving_over_naive
    shown = saves.low > 0
    if baseline is not None:
        gap, margin = verdict.difference, verdict.beyond_margin
        assert gap is not None
        assert margin is not None
        better = gap.high < 0 or (baseline.margin > 0 and margin.high <= 0)
        if not better:
            return "none"
        shown = True
    if not saves.value > 0:
        return "none"
    return "deploy" if shown else "try"


@pytest.mark.parametrize("seed", range(12))
def test_the_kind_is_what_the_intervals_of_the_report_say(seed):
    y, models = rivals(3, (60, 200, 900)[seed % 3], seed)
    more = {"baseline": "m0", "margin": (None, 0.02, "30%")[seed // 2 % 3]} if seed % 2 else {}
    report = evaluate(y, models, COSTS, **more, **QUICK)
    verdict = report.verdict
    assert verdict.kind == kind_by_hand(report)
    assert (verdict.deploy is not None) == (verdict.kind == "deploy")
    assert (verdict.doubt is not None) == (verdict.kind == "try")
    first = {"deploy": "Deploy m", "try": "Try m", "none": "Deploy none"}[verdict.kind]
    assert verdict.sentences[0].startswith("Keep m0" if verdict.keep else first)
    assert verdict.heading.startswith("Keep m0" if verdict.keep else first)


@pytest.mark.parametrize(
    ("n_models", "n_sets"), [(1, 30), pytest.param(12, 400, marks=pytest.mark.slow)]
)
def test_models_that_save_nothing_are_rarely_deployed(n_models, n_sets):
    """A report is to deploy one in 2.5 %, and it once was in half of the samples."""
    kinds = [
        evaluate(*useless(n_models, 200, seed), COSTS, **QUICK).verdict.kind
        for seed in range(n_sets)
    ]
    share = kinds.count("deploy") / n_sets
    assert share <= 0.025 + 3 * np.sqrt(0.025 * 0.975 / n_sets)


@pytest.mark.parametrize(
    ("n_models", "n_sets"), [(2, 20), pytest.param(5, 300, marks=pytest.mark.slow)]
)
def test_an_incumbent_stays_where_no_other_is_better(n_models, n_sets):
    verdicts = []
    for seed in range(n_sets):
        y, models = rivals(n_models, 300, seed)
        verdicts.append(evaluate(y, models, COSTS, baseline="m0", **QUICK).verdict)
    kept = np.mean([verdict.keep == "m0 (as decided)" for verdict in verdicts])
    assert kept >= 0.975 - 3 * np.sqrt(0.025 * 0.975 / n_sets)
    assert all(verdict.cheapest is None for verdict in verdicts if verdict.keep)


def test_what_would_settle_it_is_said_and_grows_with_the_square_of_the_doubt():
    y, models = rivals(1, 80, 6)
    verdict = evaluate(y, models, COSTS, **QUICK).verdict
    saving = verdict.saving_over_naive
    assert verdict.kind == "try"
    assert verdict.doubt == "not yet shown to pay"
    # Loops are not needed: n ((z₉₇.₅ + z₈₀) se / saving)², the lower half being z₉₇.₅ se wide.
    error = (saving.value - saving.low) / 1.959964
    assert verdict.cases_to_settle == pytest.approx(
        80 * (2.801585 * error / saving.value) ** 2, rel=0.01
    )
    assert f"about {verdict.cases_to_settle:.2g}"[:7] in verdict.sentences[1].replace(",", "")


def test_the_rule_of_a_system_to_try_carries_the_doubt():
    y, models = rivals(1, 80, 6)
    report = evaluate(y, models, COSTS, **QUICK)
    assert report.rule().caution == "not yet shown to pay"
    assert report.rules["m0 (as decided)"].caution is None
    again = Report.from_json(report.to_json())
    assert again == report
    assert again.rule().caution == "not yet shown to pay"


def test_where_the_incumbent_stays_there_is_no_rule_unless_it_is_named():
    y, models = rivals(2, 300, 1)
    report = evaluate(y, models, COSTS, baseline="m0", **QUICK)
    with pytest.raises(InputError, match=r"the verdict is to keep m0 .as decided.\. Keep m0"):
        report.rule()
    assert report.rule("m1").caution is None


def test_what_needs_no_model_replaces_an_incumbent_only_where_it_is_clearly_cheaper():
    rng = np.random.default_rng(0)
    y = (rng.random(2000) < 0.2).astype(int)
    fair, poor = rng.random(2000) < 0.02, rng.random(2000) < 0.9
    problem = Problem([[0, 1], [1, 0]])
    near = np.where(rng.random(2000) < 0.02, 1, 0) | (y & (rng.random(2000) < 0.05))
    clear = evaluate(y, {"old": poor.astype(int), "new": fair.astype(int)}, problem,
                     baseline="old", **QUICK).verdict  # fmt: skip
    assert (clear.kind, clear.keep) == ("none", None)
    assert clear.sentences[0].startswith("Deploy none: always deciding 0")
    close = evaluate(y, {"old": near, "new": poor.astype(int)}, problem, baseline="old", **QUICK)
    assert close.verdict.keep == "old (as decided)"


def test_a_rate_that_is_not_shown_to_be_kept_is_to_be_tried_and_a_workload_is_not():
    rng = np.random.default_rng(1)
    y = (rng.random(1500) < 0.1).astype(int)
    decided = np.where(y == 1, rng.random(1500) < 0.97, rng.random(1500) < 0.05).astype(int)
    rate = Limit.rate("pass", given=1, at_most=0.05)
    share = Limit.share("stop", at_most=float(decided.mean()))
    problem = Problem([[0, 1], [30, 0]], decisions=["pass", "stop"])
    tried, planned = (
        evaluate(y, Decisions(np.array(problem.decisions)[decided]), limited, **QUICK)
        for limited in (problem.with_limits([rate]), problem.with_limits([share]))
    )
    assert tried.verdict.kind == "try"
    assert "not shown to keep a limit (pass: at most 5 % of 1)" in tried.verdict.sentences[0]
    assert tried.verdict.saving_over_naive.low > 0
    assert tried.best.limits[0].outcome == planned.best.limits[0].outcome == "not shown"
    assert planned.verdict.kind == "deploy"
    assert "neither clearly kept nor clearly broken" in " ".join(planned.verdict.sentences)


@pytest.mark.parametrize(
    ("low", "high", "outcome"),
    [(0.001, 0.02, "keeps"), (0.03, 0.2, "breaks"), (0.001, 0.077, "not shown")],
)
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_limit_is_kept_or_broken_only_where_its_interval_says_so(low, high, outcome, mirrored):
    limit = Limit.rate("pass", given=1, at_most=0.025)
    check = LimitCheck(limit, 0.016, low, high)
    if mirrored:  # at least 97.5 % are stopped
        limit = Limit.rate("stop", given=1, at_least=0.975)
        check = LimitCheck(limit, 1 - 0.016, 1 - high, 1 - low)
    assert check.outcome == outcome
    system: Any = type("System", (), {"limits": (check,)})
    assert (unkept_rate(system) is None) == (outcome == "keeps")


def test_of_rules_that_are_as_good_the_simplest_is_named():
    rng = np.random.default_rng(1)
    y = (rng.random(3000) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(rng.normal(2.5 * y - 1.25, 1) * 2.5 - 0.85)))  # nearly calibrated
    report = evaluate(y, {"net": p}, COSTS)
    costs = {name: report.system(f"net ({name})").cost.value for name in ("as is", "recalibrated")}
    saving = report.naive.cost - min(costs.values())
    assert 0 < costs["as is"] - costs["recalibrated"] < 0.01 * saving
    assert report.verdict.cheapest == "net (as is)" == report.verdict.contenders[0]
    assert report.best.name == "net (as is)"
    assert report.rule().map is None


def test_a_rule_that_is_clearly_or_visibly_better_is_named_though_it_is_not_the_simplest():
    rng = np.random.default_rng(4)
    y = (rng.random(3000) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(rng.normal(2.5 * y - 1.25, 1) * 6 - 4)))  # far too sure
    assert evaluate(y, {"net": p}, COSTS).verdict.cheapest == "net (recalibrated)"


def test_a_model_of_raw_scores_can_be_tried_too():
    rng = np.random.default_rng(8)
    y = (rng.random(90) < 0.2).astype(int)
    report = evaluate(y, {"raw": Scores(rng.normal(0.8 * y))}, COSTS)
    assert report.verdict.kind in ("try", "none")
    assert report.verdict.deploy is None


def test_the_share_that_is_saved_is_undefined_where_not_looking_costs_nothing():
    y = [0, 1] * 40
    gains = evaluate(y, {"m": [0, 1] * 40}, Problem([[0, 1], [0, -5]]), **QUICK)
    assert gains.verdict.share is None
    assert isinstance(evaluate(y, {"m": [0, 1] * 40}, COSTS, **QUICK).verdict.share, Measured)


# What fresh readers found ------------------------------------------------------------------------

MISS_9 = Problem.binary(false_alarm=1, miss=9, unit="EUR")


def test_a_bad_incumbent_makes_no_system_worth_running_that_saves_nothing():
    rng = np.random.default_rng(6)
    y = (rng.random(2000) < 0.2).astype(int)
    new, old = np.where(rng.random(2000) < 0.97, 1, 0), rng.integers(0, 2, 2000)
    models = {"new": Decisions(new), "old": Decisions(old)}
    report = evaluate(y, models, MISS_9, baseline="old")
    gap = report.verdict.difference
    assert gap is not None
    assert gap.high < 0
    assert report.verdict.saving_over_naive.value <= 0
    assert report.verdict.kind == "try"
    assert (report.is_better(), report.is_no_worse()) == (False, False)


def test_an_incumbent_does_not_stay_where_another_is_shown_to_be_better():
    """Not looking is cheaper than both here, though not clearly: that is what to do."""
    rng = np.random.default_rng(29)
    y = (rng.random(3000) < 0.2).astype(int)
    new = np.where(rng.random(3000) < 0.93, 1, 0)
    new = np.where((y == 1) & (rng.random(3000) < 0.25), 1, new)
    rng.random(3000)
    old = new.copy()
    old[rng.permutation(np.flatnonzero((new == 1) & (y == 1)))[:6]] = 0
    models = {"new": Decisions(new), "old": Decisions(old)}
    verdict = evaluate(y, models, MISS_9, baseline="old").verdict
    assert (verdict.kind, verdict.keep) == ("none", None)
    assert "Against old (as decided), new (as decided) saves 0.018 EUR" in verdict.sentences[-1]


def test_a_system_that_costs_more_than_an_incumbent_which_breaks_a_limit_passes_no_gate():
    rng = np.random.default_rng(3)
    y = (rng.random(4000) < 0.2).astype(int)
    p = 1 / (1 + np.exp(-(2 * (2 * y + rng.normal(size=4000)) - 2 - np.log(4))))
    models = {"new": p, "old": Decisions((p > 0.1).astype(int))}
    limited = MISS_9.with_limits([Limit.share(1, at_most=0.25)])
    report = evaluate(y, models, limited, baseline="old", calibrator=None)
    assert report.verdict.kind == "deploy"
    assert "but old (as decided) clearly breaks a limit" in " ".join(report.verdict.sentences)
    assert "within the margin" not in " ".join(report.verdict.sentences)
    assert not report.is_no_worse()


def test_a_cut_that_lies_on_a_score_is_printed_so_that_it_decides_alike():
    rng = np.random.default_rng(0)
    levels, shares = np.array([0.05, 1 / 3, 0.8]), np.array([0.05, 0.10, 0.8])
    group = rng.integers(0, 3, 3000)
    y = (rng.random(3000) < shares[group]).astype(int)
    problem = Problem.binary(false_alarm=1, miss=2)
    report = evaluate(y, levels[group], problem, calibrator=None)
    system = report.best
    printed = float(system.cut_text(system.threshold).removesuffix(" %")) / 100
    decided = report.rule().decide(levels)
    assert decided.tolist() == (levels > printed).astype(int).tolist()


def test_copies_count_as_cases_where_it_is_said_how_many_would_settle_it():
    rng = np.random.default_rng(4)
    y = (rng.random(200) < 0.2).astype(int)
    new, copies = np.where(rng.random(200) < 0.9, 1, 0), np.full(200, 10)
    rows = np.repeat(np.arange(200), copies)
    written = evaluate(y, Decisions(new), MISS_9, copies=copies).verdict
    repeated = evaluate(y[rows], Decisions(new[rows]), MISS_9).verdict
    assert written.cases_to_settle == repeated.cases_to_settle
    assert written.cases_to_settle is None or written.cases_to_settle > 2000


def test_an_earlier_report_of_the_same_model_is_told_from_the_present_one():
    rng = np.random.default_rng(3)
    y = (rng.random(4000) < 0.2).astype(int)
    p = 1 / (1 + np.exp(-(2 * (2 * y + rng.normal(size=4000)) - 2 - np.log(4))))
    first = evaluate(y[:2000], {"net": p[:2000]}, MISS_9, calibrator=None)
    report = evaluate(y[2000:], {"net": p[2000:]}, MISS_9, baseline=first, calibrator=None)
    assert report.verdict.sentences[0] == (
        "Keep the earlier net (as is): it is not shown that net (as is) costs less."
    )
    now = [(margin.value, margin.clear_low, margin.clear_high) for margin in report.margins]
    assert all(low < value < high for value, low, high in now if np.isfinite([low, high]).any())
    report.to_text()


def test_a_simpler_rule_that_is_named_is_not_said_to_be_the_cheapest():
    rng = np.random.default_rng(21)
    y = (rng.random(800) < 0.3).astype(int)
    signal = 1.5 * y + rng.normal(size=800)
    p = 1 / (1 + np.exp(-(1.5 * signal - 1.125 + np.log(3 / 7))))
    report = evaluate(y, p, MISS_9, seed=1)
    verdict = report.verdict
    assert verdict.cheapest == "model (as is)"
    gap = report.system("model (recalibrated)").cost.value - report.best.cost.value
    assert gap < 0
    assert verdict.saving_over_runner_up.value == pytest.approx(gap)
    text = " ".join(verdict.sentences)
    assert "as one of the cheapest of 2 systems" in text
    assert "0.001 EUR less per case on these cases" in text
    kept = evaluate(y, p, MISS_9, baseline="model", seed=1).verdict
    assert kept.sentences[0].endswith("on these cases by more than 1 % of what it saves.")


def test_where_the_incumbent_stays_it_is_said_that_not_looking_is_cheaper():
    rng = np.random.default_rng(0)
    y = (rng.random(1000) < 0.2).astype(int)
    old, new = np.where(rng.random(1000) < 0.97, 1, 0), rng.integers(0, 2, 1000)
    models = {"new": Decisions(new), "old": Decisions(old)}
    verdict = evaluate(y, models, MISS_9, baseline="old").verdict
    assert verdict.keep == "old (as decided)"
    assert "not clearly less than old (as decided)" in verdict.sentences[-1]


def test_posteriors_in_doubt_have_no_flips_and_their_rules_say_so():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 600)
    rows = rng.dirichlet(np.ones(3), 600) + 3 * np.eye(3)[(y + 1) % 3]
    rows /= rows.sum(axis=1, keepdims=True)
    report = evaluate(y, rows, Problem.zero_one(3), calibrator=None)
    assert report.verdict.doubted
    assert report.flips() == report.flips("kept") == ()
    assert report.rule("model").caution == "the classes of its columns are in doubt"
    with pytest.raises(InputError, match="name the classes of the columns"):
        report.zones()
    assert Report.from_json(report.to_json()) == report


@pytest.mark.parametrize(("more", "named"), [(2, "as is"), (4, "recalibrated")])
def test_a_simpler_rule_is_as_good_up_to_one_percent_of_the_saving(more, named):
    """Of 400 positives, either rule misses 100; they save 300 errors, and 2 of these are 0.7 %."""
    y = np.repeat([0, 1], [600, 400])
    cheapest = np.concatenate([np.zeros(600), np.repeat([0, 1], [100, 300])]).astype(int)
    simpler = cheapest.copy()
    simpler[600:610] = 1  # ten that the other misses, and a few more the other way round
    simpler[990 - more :] = 0
    decided = {"as is": simpler, "recalibrated": cheapest}
    problem = Problem.zero_one(2)
    costs = system_costs(JointCounts.from_decisions(y, decided, problem), problem)
    assert costs.cheapest == "recalibrated"
    assert set(costs.contenders) == set(decided)
    assert costs.more("as is").value == pytest.approx(more / 1000)
    assert costs.simplest(["as is", "recalibrated"]) == named
