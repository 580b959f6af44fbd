"""What would change the verdict under a limit: another bound, or other costs, decided anew."""

from __future__ import annotations

import dataclasses
import json
from math import inf, isfinite
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import report_kinds
from stakes import Decisions, Limit, Posteriors, Problem, Report, Scores, bayes_decisions, evaluate
from stakes.decide import mean_costs
from stakes.evaluation.cases import read_cases
from stakes.evaluation.limited_rules import BoundLadder, limited_rule, other_folds
from stakes.evaluation.moved_limits import _move, _with_bound, away
from stakes.evaluation.predictions import Folds, read_predictions
from stakes.render.html import _still
from stakes.render.tables import anew_section, nearest_change
from stakes.report import BAYES, Flip, MovedNumber, flip_of
from stakes.report._flips import _moves
from tamper import sealed_again

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
        rows = Posteriors(COARSE if tied else P)
        return Folds(cases, seed=1), read_predictions("m", rows, cases, posterior_prior=None)

    folds, predictions = at(limit.bound)
    cases, number = folds.cases, folds.numbers[0]
    rows = predictions.posteriors_of(BAYES)
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
    verdict = report.verdict
    systems, unaided = set(verdict.contenders), {str(verdict.unaided)}
    return systems | unaided if verdict.saving_over_naive.low <= 0 else systems


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
    pytest.importorskip("jinja2")
    sentence = nearest_change(report)
    choice = report.verdict.cheapest
    assert sentence.startswith(f"if you decide anew, {choice} cannot be ruled out until ")
    text, page = " ".join(report.to_text().split()), report.to_html()
    assert "What would flip the verdict, if you decide anew" in text
    assert "What would flip the verdict, if today's decisions stay" in text
    assert "Priors and single costs are not moved here" in text
    assert "Nearest change:</b> if you decide anew" in page
    limit = report.flips()[0]
    assert f"1: at most 30 % of cases 30 % falls to {100 * limit.low:g} %" in text
    assert "all costs of deciding 0 100 %" in text
    assert "What is recommended may change before" in text


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
    assert Report.from_json(sealed_again(older)).flips() == ()


def test_several_limits_move_nothing_and_the_report_says_so():
    limits = [Limit.share(1, at_most=0.1), Limit.rate(0, given=1, at_most=0.5)]
    few = evaluate(Y[:200], P[:200], Problem(COSTS, limits=limits), **PLAIN)
    assert few.flips() == ()
    assert "is worked out for a single limit" in " ".join(few.to_text().split())
    assert nearest_change(few).split(",")[0] in ("if today's decisions stay", "none")


_HIGH = 1 / (1 + np.exp(0.3 * LOG_ODDS + 1.4))  # high where it should be low
WRONG = Posteriors(np.stack([1 - _HIGH, _HIGH], axis=1), classes=(0, 1))
PLACES = {"limit": (0.0, 0.04, 0.3, 1.0), "factor": (0.1, 0.5, 4.0)}


def rows_of(
    models: dict[str, Any], costs: Any, limit: Limit, level: float = 0.95, **more: Any
) -> tuple[Report, list[tuple[MovedNumber, Any, str]]]:
    """A report, and what it would ask of other values: the number, what is there, the choice."""
    asked: list[tuple[MovedNumber, Any, str]] = []

    def noted(move: MovedNumber, there: Any, choice: tuple[str, ...]) -> Flip:
        asked.append((move, there, choice[0]))
        return Flip(move.what, move.value, -inf, inf, (), ())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stakes.evaluation.moved_limits.flip_of", noted)
        problem = Problem(costs, limits=[limit], unit="EUR")
        return evaluate(Y, models, problem, level=level, **PLAIN, **more), asked


@pytest.mark.parametrize("level", [0.6, 0.95])
@pytest.mark.parametrize(
    ("models", "costs", "limit", "more"),
    [
        ({"fine": P, "few": FEW}, COSTS, Limit.rate(0, given=1, at_most=0.1), {}),
        ({"wrong": WRONG}, [[0, 1], [9, 0]], Limit.share(1, at_most=0.3), {}),
        ({"fine": P}, [[0, 1], [9, 0]], Limit.rate(1, given=1, at_least=0.9), {}),
        (
            {"wrong": WRONG},
            [[0, 3, "5 + 0.1*amount"], ["4*amount", 8, 0]],
            Limit.share(1, at_most=0.1),
            {"data": {"amount": AMOUNT}},
        ),
    ],
)
def test_the_short_cut_says_what_the_comparison_says(models, costs, limit, more, level):
    _, asked = rows_of(models, costs, limit, level, **more)
    for move, there, choice in asked:
        for value in PLACES[move.what.split(" ")[0]]:
            place = there(value)
            names = {choice, *place.possible, *models_with_rules(models), "always 0"}
            quick = {name for name in names if place.is_possible(name)}
            assert quick == set(place.possible), (move.what, value)


def models_with_rules(models: dict[str, Any]) -> list[str]:
    return [f"{model} (as is)" for model in models]


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_decisions_follow_the_factor_on_costs(factor):
    _, asked = rows_of({"m": P}, [[0, 1], [9, 0]], Limit.share(1, at_most=0.9))
    (there,) = (there for move, there, _ in asked if move.what == "factor on the costs of 0")
    exact, near = (there(value)._spent["m (as is)"] for value in (factor, factor * (1 + 1e-12)))
    np.testing.assert_allclose(exact.losses, near.losses, rtol=1e-9)


def test_a_rule_that_cannot_keep_the_limit_in_one_partition_is_no_candidate_there():
    """In some partition the map is certain that cases of class 1 are of class 0."""
    signal = report_kinds.SIGNAL + np.random.default_rng(1).normal(size=report_kinds.N)
    models = {"a": report_kinds.P, "b": 1 / (1 + np.exp(-signal))}

    def at(bound: float) -> Report:
        limited = report_kinds.AMOUNTS.with_limits([Limit.rate(2, given=1, at_least=bound)])
        return evaluate(report_kinds.Y, models, limited, data=report_kinds.DATA, seed=3)

    report, farther = at(0.9375), at(0.95)
    left_out = {system.name for system in report.systems} - {s.name for s in farther.systems}
    assert left_out == {"a (recalibrated)"}
    flip = report.flips_under_limits[0]
    assert (flip.high, flip.above) == (0.999, ("always 2",))


def test_costs_that_are_the_same_but_for_rounding_are_a_tie():
    """A model that decides as the constant decision does saves nothing, however sums are made."""
    _, asked = rows_of({"mild": 0.4 * P}, [[0, 1], [9, 0]], Limit.share(1, at_most=0.3))
    (there,) = (there for move, there, _ in asked if move.what == "factor on the costs of 0")
    place = there(0.1)
    assert place.possible == ("always 0",)
    spent = place._spent["mild (as is)"]
    assert np.array_equal(spent.losses, place._spent["always 0"].losses)
    less = spent._replace(cost=spent.cost * (1 - 1e-15))  # as another order of the sum may give
    vars(place)["_spent"] = {**place._spent, "mild (as is)": less}
    assert not place.is_possible("mild (as is)")


def test_the_card_names_what_the_verdict_names_where_no_model_is_recommended():
    report = evaluate(
        Y,
        {"wrong": WRONG},
        Problem([[0, 1], [9, 0]], limits=[Limit.share(1, at_most=0.3)]),
        **PLAIN,
    )
    assert report.verdict.deploy is None
    assert report.naive.decision == 1  # which breaks the limit
    assert "always deciding 0" in report.verdict.reason
    assert report.verdict.unaided == "always 0"
    assert nearest_change(report).startswith("if you decide anew, always 0 cannot be ruled out")
    assert Report.from_json(report.to_json()).verdict.unaided == "always 0"


def test_the_card_names_what_the_verdict_names_where_cases_have_costs_of_their_own():
    costs = [[0, 3, "5 + 0.1*amount"], ["4*amount", 8, 0]]
    report, asked = rows_of(
        {"wrong": WRONG}, costs, Limit.share(1, at_most=0.1), data={"amount": AMOUNT}
    )
    assert report.verdict.deploy is None
    assert {choice for *_, choice in asked} == {report.verdict.unaided}
    sentence = str(report.verdict.unaided).replace("always", "always deciding")
    sentence = "without a model by each case's costs" if "no model" in sentence else sentence
    assert sentence in report.verdict.reason
    flip = Flip("limit on 1", 0.1, -inf, 0.4, (), ("wrong (as is)",))
    moved = dataclasses.replace(report, flips_under_limits=(flip,))
    assert f"{report.verdict.unaided} cannot be ruled out" in nearest_change(moved)


def said_of(report: Report, *flips: Flip) -> str:
    return nearest_change(dataclasses.replace(report, flips_under_limits=flips))


def test_what_never_rules_out_the_choice_is_a_sentence_of_its_own(report):
    still = [
        Flip("limit on 1", 0.3, -inf, inf, (), ()),
        Flip("factor on the costs of 0", 1.0, -inf, inf, (), ()),
    ]
    for flips, what in (
        (still[:1], f"the limit ({report.problem.limits[0]}) never rules"),
        (still[1:], "all costs of deciding 0 never rule"),
        (still, f"the limit ({report.problem.limits[0]}) and all costs of deciding 0 never rule"),
    ):
        section = anew_section(dataclasses.replace(report, flips_under_limits=tuple(flips)))
        assert section is not None
        assert section.sentences[1] == (
            f"Moved alone within the range searched, {what} out today's choice."
        )


def test_the_nearest_change_is_that_of_the_smallest_ratio_and_is_said_in_plain_words(report):
    choice = report.verdict.cheapest
    limit = Flip("limit on 1", 0.3, 0.1, inf, ("few (as is)",), ())
    factor = Flip("factor on the costs of 0", 1.0, 0.6, inf, ("few (as is)",), ())
    still = Flip("limit on 1", 0.3, -inf, inf, (), ())
    assert said_of(report, limit, factor) == (  # 0.6 is nearer to 1 than 10 % to 30 %
        f"if you decide anew, {choice} cannot be ruled out until all costs of deciding 0 fall to "
        "60 % of today's; then few (as is). What is recommended may change before."
    )
    assert said_of(report, still, factor).endswith(" No other value of the limit changes this.")
    assert said_of(report, limit) == (
        f"if you decide anew, {choice} cannot be ruled out until the limit (1: at most 30 % of "
        "cases) falls to 10 %; then few (as is). What is recommended may change before."
    )


def test_a_limit_that_leaves_one_decision_is_not_the_headline(report):
    trivial = Flip("limit on 1", 0.3, 0.0, inf, ("always 0",), ())
    factor = Flip("factor on the costs of 0", 1.0, -inf, 9.0, (), ("few (as is)",))
    assert "costs of deciding 0 rise to 900 % of today's" in said_of(report, trivial, factor)
    assert said_of(report, trivial).startswith(
        "none, if you decide anew: no limit that is moved alone changes this within the range "
        "searched, except a limit of 0 %. "
    )


def test_a_model_whose_name_begins_as_those_of_constant_decisions_do_may_be_the_headline(report):
    """A limit of 0 % that leaves a model is news, whatever the model is called."""
    flip = Flip("limit on 1", 0.3, 0.0, inf, ("always on call (as is)",), ())
    assert "falls to 0 %; then always on call (as is)." in said_of(report, flip)


def test_the_nearest_flips_are_found_as_precisely_as_others():
    class There:
        def __init__(self, value: float) -> None:
            self.possible = ("new",) if value > 0.9856 else ("old",)

        def is_possible(self, name: str) -> bool:
            return name in self.possible

    flip = flip_of(_move("factor", 1.0, (0.1, 10.0), (0.1, 0.5)), There, ("new",))
    assert 1 - flip.low == pytest.approx(1 - 0.9856, rel=0.03)
    assert flip.below == ("old",)


def test_a_threshold_that_was_tuned_to_today_s_costs_is_the_reason_why_costs_are_not_moved():
    problem = Problem([[0, 1], [9, 0]], limits=[Limit.share(1, at_most=0.3)])
    report = evaluate(Y, {"raw": Scores(LOG_ODDS), "fine": P}, problem, **PLAIN)
    assert {flip.what for flip in report.flips()} == {"limit on 1"}
    text = " ".join(report.to_text().split())
    assert "a threshold that was tuned to today's costs cannot follow other costs" in text
    assert "too long" not in text


def test_the_page_says_that_flips_were_worked_out_only_where_they_were(report):
    assert "was worked out with them, and is listed below" in _still(report)
    without = dataclasses.replace(report, flips_under_limits=())
    assert "with them" not in _still(without)
    assert "while today's decisions stay is listed below" in _still(without)
    neither = dataclasses.replace(without, margins=())
    assert "listed below" not in _still(neither)


def test_a_value_is_rounded_away_from_the_present_one():
    assert away(0.0834, 0.05, 2) == 0.084
    assert away(-0.0834, 0.05, 1) == -0.1
    assert away(0.05, 0.05, 2) == 0.05
    assert away(911.0, 180.0, 2) == 920.0


def test_shares_beside_a_limit_end_where_more_of_the_decision_saves_nothing():
    limited = report_kinds.report_of("limited").systems[0]
    shares, _, prices = zip(*limited.limits[0].capacity, strict=True)
    wanted = bayes_decisions(report_kinds.P, report_kinds.LIMITED.with_limits(None)) == 1
    assert shares[-1] == pytest.approx(wanted.mean())  # 0.63, less than the limit times eight
    assert prices[-1] == 0
    assert max(shares) == shares[-1]


def test_numbers_move_by_growing_steps():
    report: Any = SimpleNamespace(
        problem=Problem([[0, 1], [9, 0]]), assumptions=SimpleNamespace(prior=(0.8, 0.2))
    )
    moves = [move for move, _ in _moves(report)]
    assert len(moves) == 5
    for move in moves:
        assert np.all(np.diff(move.steps) > 0)
