"""What would change the verdict under a limit: another bound, or other costs, decided anew."""

from __future__ import annotations

import json
from math import isfinite
from typing import Any

import numpy as np
import pytest

from stakes import Decisions, Limit, Posteriors, Problem, Report, evaluate
from stakes.decide import mean_costs
from stakes.evaluation.bound_ladder import BoundLadder, other_folds
from stakes.evaluation.cases import read_cases
from stakes.evaluation.folds import Folds
from stakes.evaluation.limited_rules import limited_rule
from stakes.evaluation.moved_limits import _with_bound, away
from stakes.evaluation.predictions import read_predictions
from stakes.render.flip_tables import nearest_change
from stakes.report import BAYES, Flip

PLAIN: dict[str, Any] = {"calibrator": None, "replicates": 20}
RNG = np.random.default_rng(5)
N = 500
Y = (RNG.random(N) < 0.15).astype(int)
LOG_ODDS = RNG.normal(np.where(Y == 1, 1.4, -1.4), 1.5) + np.log(0.15 / 0.85)
P = 1 / (1 + np.exp(-LOG_ODDS))
COARSE = np.round(P, 1).clip(0.02, 0.98)  # many cases are tied
AMOUNT = RNG.lognormal(3, 1, N)
WEIGHTS = RNG.integers(0, 4, N).astype(float)
COSTS = [[0, 3, 25], [90, 8, 0]]

DESIGNS: dict[str, tuple[Any, Limit, dict[str, Any]]] = {
    "share": (COSTS, Limit.share(1, at_most=0.1), {}),
    "share from below, prior": (
        COSTS,
        Limit.share(1, at_least=0.3),
        {"prior": [0.95, 0.05]},
    ),
    "rate, weights": (COSTS, Limit.rate(0, given=1, at_most=0.2), {"weights": WEIGHTS}),
    "rate from below": (COSTS, Limit.rate(2, given=1, at_least=0.5), {}),
    "costs of every case": (
        [[0, 3, "5 + 0.1*amount"], ["4*amount", 8, 0]],
        Limit.share(1, at_most=0.1),
        {"data": {"amount": AMOUNT}},
    ),
}


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", DESIGNS)
def test_a_ladder_decides_at_every_bound_as_a_rule_that_is_priced_there(name, tied):
    costs, limit, more = DESIGNS[name]
    problem = Problem(costs, prior=more.get("prior"), limits=[limit])

    def at(bound: float) -> tuple[Any, Any]:
        there = problem.with_limits([_with_bound(limit, bound)])
        data, weights = more.get("data"), more.get("weights")
        cases = read_cases(Y, there, weights, None, None, data)
        folds = Folds(cases, np.random.default_rng(1))
        rows = Posteriors(COARSE if tied else P)
        return folds, read_predictions(
            "m", rows, cases, posterior_prior=None, calibrator=None, folds=folds
        )

    folds, predictions = at(limit.bound)
    cases, number = folds.cases, folds.numbers[0]
    rows = predictions.believed(BAYES)
    chances = np.ones(len(rows)) if limit.given is None else rows[:, 1]
    others = other_folds(cases, number, limit)
    ladder = BoundLadder(
        mean_costs(rows, cases.charges), chances, number, others, int(limit.decision)
    )
    differ = 0
    for bound in (0.02, 0.07, 0.15, 0.4, 0.7, 1.0):
        there, moved = at(bound)
        expected = limited_rule(moved, BAYES, there).decided
        assert np.array_equal(ladder.decided(there.cases.problem.limits[0]), expected)
        differ += not np.array_equal(expected, ladder.decided(limit))
    assert differ > 0  # the bounds matter


FEW = np.where(Y == 1, np.random.default_rng(3).choice([0.02, 0.9], N, p=[0.2, 0.8]), 0.02)
OLD = Decisions((P > 0.02).astype(int))  # reviews far too much
MODELS = {"fine": P, "few": FEW, "old": OLD}  # with few reviews, few values are better


def report_at(flip: Flip | None, value: float) -> Report:
    costs, bound = np.array(COSTS, dtype=float), 0.3
    if flip is not None and flip.what.startswith("limit"):
        bound = value
    elif flip is not None:
        costs[:, int(flip.what.removeprefix("factor on the costs of "))] *= value
    problem = Problem(costs, limits=[Limit.share(1, at_most=bound)], unit="EUR")
    with pytest.MonkeyPatch.context() as patch:
        if flip is not None:  # its own flips are not asked for
            patch.setattr("stakes.evaluation.build_report.flips_under_limits", lambda *_: ())
        return evaluate(Y, MODELS, problem, **PLAIN)


@pytest.fixture(scope="module")
def report() -> Report:
    return report_at(None, 0.0)


def listed(report: Report) -> list[tuple[Flip, float, tuple[str, ...], float]]:
    """Every flip with its value, what may be the cheapest there, and its side."""
    sides = [
        (flip, value, names, side)
        for flip in report.flips()
        for value, names, side in ((flip.low, flip.below, -1.0), (flip.high, flip.above, 1.0))
    ]
    return [place for place in sides if isfinite(place[1])]


def possible(report: Report) -> set[str]:
    """What may be the cheapest, by the verdict of a report."""
    saving = report.verdict.saving_over_naive
    systems = set(report.verdict.contenders)
    return systems | {f"always {report.naive.decision}"} if saving.low <= 0 else systems


def test_evaluating_again_at_a_flip_gives_what_is_listed_there(report):
    flips = listed(report)
    assert {flip.what.split(" ")[0] for flip, *_ in flips} == {"limit", "factor"}
    flip, value, names, _ = flips[0]
    there = report_at(flip, value)
    assert flip.what == "limit on 1"
    assert report.verdict.cheapest not in possible(there)
    assert set(names) == possible(there)


@pytest.mark.slow
def test_at_every_flip_and_just_before_it_the_report_says_so_too(report):
    choice = report.verdict.cheapest
    for flip, value, names, side in listed(report):
        there = report_at(flip, value)
        assert choice not in possible(there), flip.what
        if there.verdict.deploy is not None:
            assert set(names) == possible(there)
        inside = value - side * 0.1 * abs(value - flip.value)
        assert choice in possible(report_at(flip, inside)), flip.what


def test_the_text_and_the_page_say_what_would_change_the_verdict(report):
    sentence = nearest_change(report)
    choice = report.verdict.cheapest
    assert sentence.startswith(f"if you decide anew, {choice} stays the choice until the ")
    text, page = " ".join(report.to_text().split()), report.to_html()
    assert "What would flip the verdict, if you decide anew" in text
    assert "What would flip the verdict, if today's decisions stay" in text
    assert "Priors and single costs are not moved here" in text
    assert "Nearest change:</b> if you decide anew" in page
    limit = report.flips()[0]
    assert f"limit on 1 30 % falls to {100 * limit.low:g} %" in text


def test_today_s_decisions_are_compared_with_what_keeps_the_limit_only(report):
    """Where decisions stay, so do their shares: costs may move, rivals must keep the limit."""
    rivals = {name for margin in report.margins for name in (margin.low_rival, margin.high_rival)}
    assert len(report.margins) == 6  # one for each cost, none for a prior
    assert "always 1" not in rivals
    assert "old (as decided)" not in rivals
    assert {"always 0", "always 2"} & rivals
    counts = {system.name: system.counts.values for system in report.systems}
    sizes = counts["fine (as is)"].sum(axis=1)
    for d in (0, 2):
        counts[f"always {d}"] = np.outer(sizes, np.arange(3) == d)
    costs = np.array(COSTS, dtype=float)
    for place, margin in enumerate(report.margins):
        for value, rival in ((margin.low, margin.low_rival), (margin.high, margin.high_rival)):
            if rival is not None:
                moved = costs.copy()
                moved.flat[place] = value
                total = {name: float((moved * table).sum()) for name, table in counts.items()}
                assert total[rival] == pytest.approx(total[report.best.name])


def test_flips_under_limits_travel_as_json_and_older_reports_can_be_read(report):
    text = report.to_json()
    assert Report.from_json(text) == report
    older = json.loads(text)
    del older["flips_under_limits"]
    assert Report.from_json(json.dumps(older)).flips() == ()


def test_several_limits_move_nothing_and_the_report_says_so():
    limits = [Limit.share(1, at_most=0.1), Limit.rate(0, given=1, at_most=0.5)]
    few = evaluate(Y[:200], P[:200], Problem(COSTS, limits=limits), **PLAIN)
    assert few.flips() == ()
    assert "is worked out for a single limit" in " ".join(few.to_text().split())
    assert nearest_change(few).split(",")[0] in ("if today's decisions stay", "none")


def test_a_value_is_rounded_away_from_the_present_one():
    assert away(0.0834, 0.05, 2) == 0.084
    assert away(-0.0834, 0.05, 1) == -0.1
    assert away(0.05, 0.05, 2) == 0.05
    assert away(911.0, 180.0, 2) == 920.0
