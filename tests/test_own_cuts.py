"""Cuts that a report shows are cuts of what the model gives: whoever applies them decides so."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stakes import Limit, Posteriors, Problem, Report, Scores, evaluate
from stakes._files import sealed
from stakes.calibration import Affine, BetaMap, Histogram, Identity, Isotonic, Logistic, Platt
from stakes.evaluation.verdict_words import rule_in_words
from stakes.measures import expected_cost
from stakes.report import System
from stakes.rule import Rule
from stakes.scoring import EqualMass
from stakes.tally import Counts

DATA = Path(__file__).parents[1] / "src" / "stakes" / "data"
LOANS = Problem(
    {
        "good": {"grant": 0, "review": 0.3, "decline": 1},
        "bad": {"grant": 5, "review": 0.3, "decline": 0},
    },
    prior=[0.7, 0.3],
)


def decided(system: System, scores: Sequence[float]) -> list[Any]:
    """The slow twin: each decision up to and including its cut."""
    return [
        next(
            d for d, cut in zip(system.decided, (*system.changes, np.inf), strict=True) if s <= cut
        )
        for s in scores
    ]


def printed(system: System) -> tuple[float, ...]:
    """The cuts as a reader finds them in the table and in the sentence."""
    texts = [system.cut_text(cut).replace("−", "-").replace("∞", "inf") for cut in system.changes]
    shares = [text.endswith(" %") for text in texts]
    return tuple(
        float(text.removesuffix(" %").replace(",", "")) / (100 if share else 1)
        for text, share in zip(texts, shares, strict=True)
    )


def drawn_problem(rng: np.random.Generator, *, limited: bool) -> Problem:
    """Costs of two classes and two to four decisions, in any order; often with a stated prior."""
    n_decisions = int(rng.integers(2, 5))
    at = np.sort(rng.choice(np.arange(1, 10), n_decisions, replace=False)) / 10
    costs = np.array([at**2, (1 - at) ** 2]) * np.array(
        [[rng.integers(1, 9)], [rng.integers(1, 9)]]
    )
    order = np.arange(2) if n_decisions == 2 else rng.permutation(n_decisions)
    names = [f"d{k}" for k in range(n_decisions)]
    limits = [Limit.share(names[-1], at_most=0.3)] if limited else None
    prior = [0.8, 0.2] if rng.random() < 0.5 else None
    return Problem(costs[:, order].round(2), decisions=names, prior=prior, limits=limits)


def drawn_report(
    seed: int, calibrator: Any, *, raw: bool, limited: bool = False
) -> tuple[Any, Any]:
    """A report on rounded scores, with many ties, of a model that is too sure of itself."""
    rng = np.random.default_rng([seed, raw, limited])
    y = (rng.random(400) < 0.4).astype(int)
    log_odds = rng.normal(2.4 * y - 1.2, 2.0)
    scores = (log_odds if raw else 1 / (1 + np.exp(-log_odds))).round(2)
    problem = drawn_problem(rng, limited=limited)
    model = Scores(scores) if raw else Posteriors(scores)
    return evaluate(y, {"net": model}, problem, calibrator=calibrator, replicates=10), scores


def refuse_to_differ(report: Report, scores: np.ndarray) -> int:
    """Compare cuts of the column with the rule, and printed ones on the report's own cases."""
    rng, compared = np.random.default_rng(0), 0
    for system in report.systems:
        if not (system.changes and system.on_own_column):
            continue
        finite = np.array([cut for cut in system.changes if np.isfinite(cut)])
        fresh = rng.choice(scores, 50) + rng.normal(size=50)
        if scores.min() >= 0 and scores.max() <= 1:
            fresh = rng.random(50)
        ties = [finite, np.nextafter(finite, -np.inf), np.nextafter(finite, np.inf)]
        rows = np.concatenate([scores, fresh, *ties])
        rule = report.rule(system.name)
        wrapper = Scores if rule.takes == "scores" else Posteriors
        assert decided(system, rows.tolist()) == rule.decide(wrapper(rows)).tolist(), system.name
        rounded = System._trusted(**{**vars(system), "cuts": printed(system), "threshold": None})
        places = [report.problem.decisions.index(d) for d in decided(rounded, scores.tolist())]
        by_rule = rule.decision_indices(wrapper(scores))
        if places != by_rule.tolist():  # at a score where both decisions cost the same
            costs = rule.posteriors(wrapper(scores)) @ report.problem.costs
            each = np.arange(scores.size)
            assert costs[each, places] == pytest.approx(costs[each, by_rule], abs=1e-12)
        compared += 1
    return compared


OF_SCORES = [Isotonic(), Logistic(), Platt()]
OF_POSTERIORS = [None, Isotonic(), Affine(), BetaMap(), Identity(), Platt()]


FEW = pytest.mark.parametrize("n_drawn", [2, pytest.param(30, marks=pytest.mark.slow)])


@FEW
@pytest.mark.parametrize("calibrator", OF_POSTERIORS, ids=repr)
def test_cuts_of_probabilities_decide_every_case_as_the_rule_does(calibrator, n_drawn):
    for seed in range(1, 1 + n_drawn):
        assert refuse_to_differ(*drawn_report(seed, calibrator, raw=False)) >= 1


@FEW
@pytest.mark.parametrize("calibrator", OF_SCORES, ids=repr)
def test_cuts_of_raw_scores_decide_every_case_as_the_rule_does(calibrator, n_drawn):
    for seed in range(n_drawn):
        assert refuse_to_differ(*drawn_report(seed, calibrator, raw=True)) >= 1


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("calibrator", [Affine(), pytest.param(Isotonic(), marks=pytest.mark.slow)])
def test_cuts_under_limits_decide_every_case_as_the_rule_does(calibrator, seed):
    assert refuse_to_differ(*drawn_report(seed, calibrator, raw=False, limited=True)) >= 1


def test_a_threshold_tuned_on_raw_scores_is_a_cut_of_them():
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.4).astype(int)
    scores = rng.normal(2.0 * y, size=300)
    problem = Problem.binary(false_alarm=1, miss=3)
    report = evaluate(y, {"net": Scores(scores)}, problem, calibrator=None, replicates=10)
    assert refuse_to_differ(report, scores) == 2


def test_decisions_that_alternate_by_rounding_beside_a_cut_make_one_cut():
    """Posteriors moved from these shares: the costs of neighbouring numbers differ by rounding."""
    costs = [[0, 1, 6], [12, 2, 0]]
    problem = Problem(costs, decisions=["approve", "review", "block"], prior=[0.9, 0.1])
    for positives in range(400, 600):
        shares = np.array([1 - positives / 1000, positives / 1000])
        rule = Rule(problem, from_prior=shares, to_prior=np.array([0.9, 0.1]))
        assert rule.cuts is not None
        assert rule.cuts.decisions.tolist() == [0, 1, 2]


# Where no map rises ------------------------------------------------------------------------------


def test_a_map_that_does_not_rise_has_cuts_of_the_corrected_probability_and_points_to_the_rule():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.4).astype(int)
    p = np.where(rng.random(600) < 0.9, y, 1 - y) * 0.2 + rng.random(600) * 0.8
    problem = Problem.binary(false_alarm=1, miss=3, decisions=["wait", "treat"])
    report = evaluate(y, {"net": p}, problem, calibrator=Histogram(EqualMass(5)), replicates=10)
    system = report.system("net (recalibrated)")
    assert (system.threshold, system.scale) == (0.25, "corrected probability")
    assert system.corrected == ()
    assert not system.on_own_column
    assert "25 % corrected" in report.to_text()


def test_a_map_that_falls_is_not_said_to_rise():
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.4).astype(int)
    p = 1 / (1 + np.exp(rng.normal(3 * y - 1.5)))  # probabilities of the other class
    problem = Problem.binary(false_alarm=1, miss=1, decisions=["wait", "treat"])
    report = evaluate(y, {"net": p}, problem, calibrator=Affine(), replicates=10)
    system = report.system("net (recalibrated)")
    assert system.scale == "corrected probability"
    assert rule_in_words(system, problem) == (
        "with Bayes decisions, recalibrated (by the corrected probability, as "
        "report.rule('net (recalibrated)') does: treat above 50 %)"
    )


def test_three_classes_and_costs_of_each_case_point_to_the_rule():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 900)
    sure = np.exp(4 * np.eye(3)[y] + 2 * rng.normal(size=(900, 3))) ** 3
    problem = Problem(np.where(np.eye(3), 0, [[1, 9, 1], [4, 1, 2], [1, 2, 5]]))
    three = evaluate(y, {"net": sure / sure.sum(1, keepdims=True)}, problem, replicates=10)
    amounts = rng.lognormal(size=900)
    p = 1 / (1 + np.exp(-5 * rng.normal(2.0 * (y > 0) - 1)))
    costs = Problem([[0, 1], ["amount", 0]])
    each = evaluate(y > 0, {"net": p}, costs, data={"amount": amounts}, replicates=10)
    for report in (three, each):
        assert report.verdict.deploy is not None
        assert report.verdict.deploy.name == "net (recalibrated)"
        assert report.verdict.deploy.changes == ()
        assert (
            "net with Bayes decisions, recalibrated (by the corrected probability, as "
            "report.rule('net (recalibrated)') does)" in " ".join(report.verdict.sentences)
        )


def test_a_decision_that_no_score_receives_lies_between_two_equal_cuts():
    y = np.repeat(["good", "good", "good", "bad"], 50)
    p = np.where(y == "bad", 0.9, np.tile([0.1, 0.2], 100))  # one step, from never to always
    report = evaluate(y, {"net": p}, LOANS.with_prior(None), calibrator=Isotonic(), replicates=10)
    system = report.system("net (recalibrated)")
    low, high = system.cuts
    assert 0.2 < low < high < 0.9  # the map is a line from 0 to 1 between the two scores
    coins = {"net": [0.5] * 200}
    report = evaluate(["good", "bad"] * 100, coins, LOANS, calibrator=Isotonic(), replicates=10)
    system = report.system("net (recalibrated)")
    assert [decision for decision, _ in system.taken] == ["review"]
    assert system.cuts == (-np.inf, np.inf)
    assert system.corrected == pytest.approx((0.06, 0.7))


# What cuts cost ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["recalibrated", "moved"])
def test_printed_cuts_cost_in_a_population_what_the_rule_costs(kind):
    """A model trained on half positives, too sure of itself, is deployed where 10 % are."""
    problem = Problem(
        [[0, 1, 6], [12, 2, 0]], decisions=["approve", "review", "block"], prior=[0.9, 0.1]
    )
    rng = np.random.default_rng(7)

    def draw(n_cases: int, share: float) -> tuple[np.ndarray, np.ndarray]:
        y = (rng.random(n_cases) < share).astype(int)
        sure = 2.0 if kind == "recalibrated" else 1.0
        return y, 1 / (1 + np.exp(-sure * 1.7 * rng.normal(1.7 * y - 0.85)))

    y, p = draw(2000, 0.5)
    calibrator = Affine() if kind == "recalibrated" else None
    report = evaluate(y, {"net": p}, problem, calibrator=calibrator, replicates=10)
    system = report.system(f"net ({kind})")
    y, p = draw(100_000, 0.1)

    def cost(taken: np.ndarray) -> float:
        return float(expected_cost(Counts.from_decisions(y, taken, problem), problem))

    names = np.array(problem.decisions)
    by_rule = cost(report.rule(system.name).decide(p))
    by_printed = cost(names[np.searchsorted(printed(system), p)])
    by_corrected = cost(names[np.searchsorted(system.corrected, p)])
    assert by_printed == pytest.approx(by_rule, rel=0.002)
    assert by_corrected > 1.15 * by_rule  # what earlier reports printed


# The media ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def demo() -> Report:
    """Two models of the demo, with the first as it is there."""
    options: dict[str, Any] = {"delimiter": ",", "names": True, "dtype": None, "encoding": "utf-8"}
    rows = np.genfromtxt(DATA / "german_credit.csv", **options)
    problem = Problem.from_toml(DATA / "german_credit.toml")
    models = {"boosting": rows["boosting"], "forest": rows["forest"]}
    return evaluate(rows["risk"], models, problem, replicates=10)


def test_the_data_of_the_demo_show_the_same_cuts_everywhere(demo):
    pytest.importorskip("jinja2")
    shown = "(grant where boosting is up to 0.261, review up to 0.99706, decline above; corrected "
    assert shown in " ".join(demo.verdict.sentences).replace("\u00a0", " ")
    for medium in (str(demo), demo.to_text(), demo.to_markdown(), demo.to_html()):
        plain = " ".join(medium.replace("\u00a0", " ").replace("&nbsp;", " ").split())
        assert shown in plain
        assert re.search(r"boosting \(recalibrated\).{,900}0\.261, 0\.99706", plain)
    body = json.loads(demo.to_json())
    system = next(s for s in body["systems"] if s["name"] == "boosting (recalibrated)")
    assert system["scale"] == "own column"
    assert np.round(system["cuts"], 4).tolist() == [0.2612, 0.9971]
    assert system["corrected"] == [0.06, 0.7]
    assert [round(cut, 4) for cut in demo.rule().cuts.at] == [0.2612, 0.9971]


def test_every_cut_in_json_names_its_scale(demo):
    for system in json.loads(demo.to_json())["systems"]:
        assert system["scale"] == "own column"
        assert len(system["decided"]) == len(system["cuts"]) + 1


def test_the_cuts_of_a_report_without_a_scale_are_of_corrected_probabilities(demo):
    pytest.importorskip("jinja2")
    body = json.loads(demo.to_json())
    del body["checksum"]
    listed = [*body["systems"], body["verdict"]["deploy"]]
    for system in listed:
        for name in ("scale", "corrected", "decided", "digits"):
            del system[name]
        system["cuts"] = [0.06, 0.7]
    older = Report.from_json(sealed(body))
    scales = {system.rule: system.on_own_column for system in older.systems}
    assert list(scales.values()) == [True, False, False]
    text = " ".join(older.to_text().split())
    assert "6 %, 70 % corrected" in text
    assert "<html" in older.to_html()
