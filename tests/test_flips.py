"""Where the verdict flips is a matter of the contenders, as in the verdict itself."""

import dataclasses
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import stakes
from stakes import Decisions, JointCounts, Problem, Report, evaluate
from stakes._text import always
from stakes.decide import reachable_decisions
from stakes.evaluation import evaluate_rows
from stakes.evaluation.build_report import report_of
from stakes.evaluation.evidence import fitting_of
from stakes.inference import (
    Clusters,
    Move,
    contender_exits,
    contenders,
    difference_support,
    leaving_points,
    profile_bounds,
    profile_threshold,
    selection_effect,
    system_costs,
    with_blind,
)
from stakes.regions import Margin
from stakes.render.tables import _in_words, margin_section, sections
from stakes.report import POSTERIOR_RULES, Flip
from stakes.report._flips import _moves

SEEDS = (0, 1, 2, 3, 4, 6, 7)
PROBLEM = Problem([[0, 3, 25], [18, 8, 0]], classes=["good", "bad"], decisions=["a", "b", "c"])


def tallied(*, prior=None, clusters=None, weighted=False, n=800, seed=0, of_bad=None):
    """Three systems, worse and worse, on the same cases: joint counts, problem, sums of squares."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["good", "good", "bad"], n)
    right = np.where(truth == "good", "a", "c")
    shared = rng.random(n)
    decided = {
        name: np.where(
            0.5 * shared + 0.5 * rng.random(n) < bad, rng.choice(["a", "b", "c"], n), right
        )
        for name, bad in (("first", 0.3), ("second", 0.42), ("third", 0.5))
    }
    weights = rng.lognormal(0, 0.7, n) if weighted else None
    by = None if clusters is None else rng.integers(0, clusters, n)
    if by is not None and of_bad:  # few clusters hold the second class
        by = np.where(truth == "bad", by % of_bad, by)
    joint = JointCounts.from_decisions(truth, decided, PROBLEM, weights=weights, clusters=by)
    squares = None
    if weights is not None:
        more = {"weights": weights**2, "clusters": by}
        squares = JointCounts.from_decisions(truth, decided, PROBLEM, **more)
    problem = PROBLEM if prior is None else PROBLEM.with_prior(prior)
    return joint, problem, None if squares is None else squares.weights


DESIGNS = [
    {},
    {"prior": [0.9, 0.1]},
    {"weighted": True},
    {"clusters": 60},
    {"clusters": 9, "prior": [0.8, 0.2]},
]


@pytest.mark.parametrize("design", DESIGNS, ids=str)
def test_a_choice_leaves_where_contenders_no_longer_hold_it(design):
    joint, problem, squares = tallied(**design)
    names = joint.models
    joint, reachable = with_blind(joint, problem)
    same = {"level": 0.95, "among": names, "reachable": reachable, "squares": squares}
    choice = contenders(joint, problem, **same).contenders[0]
    cells = np.eye(problem.costs.size).reshape(-1, *problem.costs.shape)
    moves = [
        Move(choice, problem.costs, cell, problem.prior, None, 0.0, side * np.inf)
        for cell in cells
        for side in (-1, 1)
    ]
    points = leaving_points(joint, moves, **same)
    assert np.isfinite(points).sum() >= 3
    for move, point in zip(moves, points, strict=True):
        if np.isfinite(point):
            stays = [
                choice in contenders(joint, _moved(move, share * point), **same).contenders
                for share in (0.9, 0.999, 1.001, 1.1)
            ]
            assert stays == [True, True, False, False]


@pytest.mark.parametrize("design", [{}, {"clusters": 60}], ids=str)
def test_a_choice_of_many_leaves_where_one_rival_would_rule_it_out_at_its_share_of_the_level(
    design, monkeypatch
):
    """Bonferroni's bound: each of two comparisons may err in half of the 5 %."""
    monkeypatch.setattr(contender_exits, "MOST_RIVALS", 2)
    joint, problem, _ = tallied(**design)
    joint, reachable = with_blind(joint, problem)
    cells = np.eye(problem.costs.size).reshape(-1, *problem.costs.shape)
    moves = [Move("first", problem.costs, cell, None, None, 0.0, np.inf) for cell in cells]

    def points(level, *names):
        return leaving_points(joint, moves, level=level, among=names, reachable=reachable)

    together = points(0.95, "first", "second", "third")
    pairs = [points(0.975, "first", rival) for rival in ("second", "third")]
    assert np.isfinite(together).sum() >= 2
    np.testing.assert_allclose(together, np.minimum(*pairs), rtol=1e-5)


@pytest.mark.parametrize("n_systems", [99, 103])
def test_a_choice_of_many_stays_as_long_as_contenders_hold_it_where_few_clusters_hold_a_class(
    n_systems,
):
    """The difference to the cheapest has about four degrees of freedom, not 27."""
    rng = np.random.default_rng(0)
    clusters = np.arange(28 * 40) // 40
    truth = np.where(clusters < 4, rng.random(clusters.size) < 0.5, False).astype(int)
    n_others = n_systems - 2
    names = ("a", "b", *(f"other {place}" for place in range(n_others)))
    alarms, misses = (0.05, 0.09, *[0.3] * n_others), (0.8, 0.15, *[0.5] * n_others)
    decided = {
        name: np.where(rng.random(truth.size) < np.where(truth, miss, alarm), 1 - truth, truth)
        for name, alarm, miss in zip(names, alarms, misses, strict=True)
    }
    problem = Problem.zero_one(2).with_prior([0.8, 0.2])
    joint = JointCounts.from_decisions(truth, decided, problem, clusters=clusters)
    costs, miss = np.array([[0.0, 1.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [1.0, 0.0]])
    for cost in (0.3, 0.6, 1.0, 10.0, 300.0):
        choice = contenders(joint, Problem(costs + cost * miss, prior=problem.prior))
        assert "a" in choice.contenders
    assert choice.errors.degrees < 5
    move = Move("a", costs, miss, problem.prior, None, start=0.3, end=300.0)
    able = np.ones((n_systems, 2), dtype=np.bool_)
    assert leaving_points(joint, [move], level=0.95, among=names, reachable=able) == [np.inf]


def test_a_choice_leaves_where_the_interval_of_its_saving_over_a_blind_decision_says_so():
    """One difference has degrees of freedom of its own, whatever the others have."""
    joint, problem, _ = tallied(clusters=20, of_bad=4)
    names = joint.models
    joint, able = with_blind(joint, problem)
    cells = np.eye(problem.costs.size).reshape(-1, *problem.costs.shape)
    moves = [Move("third", problem.costs, cell, None, None, 0.0, np.inf) for cell in cells]
    same: dict[str, Any] = {"level": 0.95, "among": names[2:], "reachable": able}
    points = leaving_points(joint, moves, blind=joint.models[len(names) :], **same)
    left = np.isfinite(points)
    assert left.any()
    pairs = [(2, place) for place in range(len(names), len(joint.models))]
    for move, point in zip(np.array(moves)[left], points[left], strict=True):
        for share, clear in ((0.999, False), (1.001, True)):
            support = difference_support(
                joint, _moved(move, share * point), pairs, reachable=able, scheme=Clusters()
            )
            low, _ = profile_bounds(support, profile_threshold(0.95, support.degrees))
            assert (low > 0).any() == clear


def _moved(move, point):
    costs = move.costs + point * move.cost_slope
    return Problem(costs, classes=PROBLEM.classes, decisions=PROBLEM.decisions, prior=move.prior)


def test_a_choice_also_leaves_where_a_blind_decision_clearly_saves():
    joint, problem, _ = tallied()
    names = joint.models
    joint, reachable = with_blind(joint, problem)
    prior = Move(
        "first",
        PROBLEM.costs,
        np.zeros((2, 3)),
        np.array([0.0, 1.0]),
        np.array([1.0, -1.0]),
        0.5,
        1.0,
    )
    blind = joint.models[-3:]
    alone, beside = (
        leaving_points(
            joint, [prior], level=0.95, among=names, blind=decisions, reachable=reachable
        )[0]
        for decisions in ((), blind)
    )
    assert 0.5 < beside < min(alone, 1.0)
    pair: dict[str, Any] = {"level": 0.95, "among": ("first", "always a"), "reachable": reachable}
    for share, stays in ((beside - 1e-3, True), (beside + 1e-3, False)):
        moved = problem.with_prior([share, 1 - share])
        assert ("first" in contenders(joint, moved, **pair).contenders) is stays


def test_a_blind_choice_leaves_where_a_stated_prior_makes_another_cheaper():
    """What blind decisions cost is then known: no doubt is left, and the end is exact."""
    joint, problem, _ = tallied(prior=[0.9, 0.1])
    names = joint.models
    joint, reachable = with_blind(joint, problem)
    cell = np.zeros((2, 3))
    cell[0, 0] = 1.0  # always a costs 1.8 and 0.9 of this, always b 3.5, always c 22.5
    moves = [
        Move("always a", problem.costs, cell, problem.prior, None, 0.0, np.inf),
        Move("always b", problem.costs, -cell, problem.prior, None, -2.0, np.inf),
    ]
    few: dict[str, Any] = {"level": 0.95, "among": ("always a", "always b"), "reachable": reachable}
    points = leaving_points(joint, moves, blind=joint.models[len(names) :], **few)
    assert points == pytest.approx([1.7 / 0.9, -1.7 / 0.9], rel=1e-5)


def test_a_move_is_followed_for_twenty_times_the_largest_cost():
    joint, problem, _ = tallied()
    names = joint.models
    joint, reachable = with_blind(joint, problem)
    cell = np.zeros((2, 3))
    cell[0, 0] = 1.0
    steps = (1, 0.2, 1e-3)  # the same move, on coarser scales of its number
    moves = [Move("first", problem.costs, step * cell, None, None, 0.0, np.inf) for step in steps]
    points = leaving_points(joint, moves, level=0.95, among=names, reachable=reachable)
    assert points[1] == pytest.approx(5 * points[0], rel=1e-5)
    assert points[1] < 20 * 25 < 1000 * points[0]
    assert points[2] == np.inf


def test_a_move_is_of_costs_or_of_the_prior():
    slopes = {"cost_slope": np.eye(2, 3), "prior_slope": np.array([1.0, -1.0])}
    match = r"prior_slope must be None or zero where costs move; it is \[1.0, -1.0\]"
    with pytest.raises(stakes.InputError, match=match):
        Move("a", PROBLEM.costs, prior=np.array([0.0, 1.0]), start=0.5, end=1.0, **slopes)


def test_a_choice_leaves_at_the_first_of_two_rivals_that_become_the_cheapest_in_turn():
    """Plain loops over a fine grid find the same points, for every system and every cost."""
    joint, problem, _ = tallied(n=300, seed=4)
    names = joint.models
    joint, reachable = with_blind(joint, problem)
    same: dict[str, Any] = {"level": 0.95, "reachable": reachable}
    cells = np.eye(6).reshape(-1, 2, 3)
    moves = [Move("third", problem.costs, cell, None, None, 0.0, 40.0) for cell in cells]
    points = leaving_points(joint, moves, among=(names[2], *joint.models[3:]), **same)
    grid = np.linspace(0.0, 40.0, 161)
    for move, point in zip(moves, points, strict=True):
        leaves = [
            "third"
            not in contenders(
                joint, _moved(move, x), among=(names[2], *joint.models[3:]), **same
            ).contenders
            for x in grid
        ]
        first = grid[np.argmax(leaves)] if any(leaves) else np.inf
        assert point == first == np.inf or first - 0.25 <= point <= first
    assert np.isfinite(points).sum() >= 2


@pytest.fixture(scope="module")
def report():
    rng = np.random.default_rng(5)
    truth = (rng.random(1500) < 0.3).astype(int)
    decided = {
        name: (truth * skill + rng.normal(size=1500) > cut).astype(int)
        for name, skill, cut in (("bold", 2.0, 1.4), ("careful", 2.0, 0.6))
    }
    problem = Problem.binary(false_alarm=1, miss=2)
    return stakes.evaluate(truth, decided, problem), truth, decided


def test_beyond_a_clear_flip_the_verdict_has_another_set_of_contenders(report):
    """The report again, with the cost moved to just before and just beyond."""
    report, truth, decided = report
    (miss,) = (margin for margin in report.margins if margin.what == "cost of 0 for 1")
    assert report.verdict.cheapest == "bold (as decided)"
    assert miss.value < miss.high < miss.clear_high < np.inf
    for factor, stays in ((0.99, True), (1.01, False)):
        problem = Problem.binary(false_alarm=1, miss=factor * miss.clear_high)
        verdict = stakes.evaluate(truth, decided, problem).verdict
        assert ("bold (as decided)" in verdict.contenders) is stays
        assert verdict.cheapest == "careful (as decided)"


def test_clear_flips_lie_beyond_ties_and_zones_hold_their_borders(report):
    report = report[0]
    for margin in report.margins:
        assert margin.clear_low <= margin.low <= margin.value <= margin.high <= margin.clear_high
    assert report.regions
    for regions in report.regions:
        assert len(regions.unclear) == len(regions.crossings) > 0
        for (low, high), border in zip(regions.unclear, regions.crossings, strict=True):
            assert low <= border <= high
            assert low < high


def test_the_text_says_up_to_where_the_data_cannot_tell(report):
    report = report[0]
    (part,) = (
        section for section in sections(report) if section.title.startswith("What would flip")
    )
    assert part.table is not None
    assert part.table.header == ("moved alone", "now", "as cheap", "clearly", "to")
    assert "Between the two the data cannot tell." in " ".join(part.sentences)
    assert stakes.Report.from_json(report.to_json()) == report


def test_where_only_points_are_known_the_tables_do_not_speak_of_what_is_clear(report):
    _, truth, decided = report
    problem = Problem.binary(false_alarm=1, miss=2)
    only_points = stakes.evaluate(truth, decided, problem, running_costs={"bold": 0.01})
    (part,) = (
        section for section in sections(only_points) if section.title.startswith("What would flip")
    )
    assert "not computed" in " ".join(part.sentences)
    assert part.table is not None
    assert part.table.header == ("moved alone", "now", "as cheap", "to")
    parts = [
        section
        for section in sections(only_points)
        if section.title.startswith("Where each system wins")
    ]
    assert all(part.table is not None and len(part.table.header) == 2 for part in parts)


def test_where_a_flip_is_unknown_so_is_where_it_would_be_clear():
    """If one class has the whole prior, nothing says how the others would share the rest."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    decided = {
        name: Decisions(np.where(rng.random(300) < share, y // 2, 1 - y // 2))
        for name, share in (("a", 0.6), ("b", 0.8))
    }
    problem = Problem([[0, 2], [1, 3], [5, 2]], prior=[1, 0, 0])
    report = evaluate(y, decided, problem, replicates=20)
    margins = {margin.what: margin for margin in report.margins}
    of_all, of_none = margins["prior of 0"], margins["prior of 1"]
    assert np.isnan([of_all.low, of_all.high, of_all.clear_low, of_all.clear_high]).all()
    assert of_none.clear_low == -np.inf
    section = margin_section(dataclasses.replace(report, margins=(of_all, of_none)))
    assert section.table is not None
    never, unknown = sorted(row[2:] for row in section.table.rows)
    assert unknown == ("–", "–", "")
    assert never == ("never", "never", "")


def test_a_close_call_between_the_rules_of_one_model_names_them():
    rng = np.random.default_rng(2)
    truth = (rng.random(150) < 0.4).astype(int)
    posteriors = 1 / (1 + np.exp(-(2 * truth - 1 + rng.normal(size=150))))
    verdict = stakes.evaluate(
        truth, {"only": posteriors}, Problem.binary(false_alarm=1, miss=2)
    ).verdict
    assert len(verdict.contenders) > 1
    rules = " or ".join(verdict.contenders)
    assert f"The data cannot tell which of these rules is the cheapest: {rules}." in (
        verdict.sentences
    )


def test_the_normalised_cost_of_the_verdict_is_corrected_as_its_cost_is():
    rng = np.random.default_rng(3)
    truth = (rng.random(300) < 0.4).astype(int)
    decided = {f"m{i}": (truth + rng.normal(size=300) > 0.5).astype(int) for i in range(5)}
    report = stakes.evaluate(truth, decided, Problem.binary(false_alarm=1, miss=2))
    verdict, best = report.verdict, report.best
    span = report.naive.cost - report.perfect_cost
    assert verdict.cost.value > best.cost.value
    expected = (verdict.cost.value - report.perfect_cost) / span
    assert verdict.normalized.value == pytest.approx(expected, rel=1e-12)
    assert verdict.normalized.low == best.normalized.low
    named = {f"{name} (as decided)": codes for name, codes in decided.items()}
    costs = system_costs(JointCounts.from_decisions(truth, named, report.problem), report.problem)
    assert verdict.unaided is not None
    on_saving = selection_effect(costs.choice, against=verdict.unaided).reach
    moved = max(verdict.cost.high - best.cost.high, on_saving) / span  # the larger of two
    assert verdict.normalized.high - best.normalized.high == pytest.approx(moved, rel=1e-9)


@pytest.mark.parametrize("unit", [1.0, 2.0**-40, 2.0**40])
def test_a_factor_flips_at_once_where_two_systems_tie(unit):
    y = np.repeat([0, 1], [60, 40])
    alarms, misses = y.copy(), y.copy()
    alarms[:9], misses[-3:] = 1, 0  # nine times 1 more, or three times 3 more
    models = {"a": Decisions(alarms), "b": Decisions(misses)}
    problem = Problem(unit * np.array([[2, 3], [5, 2]]))
    report = evaluate(y, models, problem, running_costs={"a": 0.0})
    ends = [
        (margin.low, margin.low_rival, margin.high, margin.high_rival)
        for margin in report.margins[:4]
    ]
    assert ends[0][:2] == (1, "b (as decided)")
    assert ends[1][2:] == (1, "b (as decided)")
    assert ends[2] == (1, "b (as decided)", np.inf, None)
    assert ends[3] == (-np.inf, None, 1, "b (as decided)")


def test_a_factor_on_a_cost_of_nothing_never_flips():
    """Gains are taken out of all costs and put back, which leaves rounding errors behind."""
    rng = np.random.default_rng(2)
    y = (rng.random(500) < 0.3).astype(int)
    wrong = rng.random((2, 500)) < [[0.2], [0.3]]
    models = {"a": Decisions(y ^ wrong[0]), "b": Decisions(y ^ wrong[1])}
    problem = Problem([[0, 1], ["amount", "-0.7*amount"]])
    report = evaluate(y, models, problem, data={"amount": rng.lognormal(1, 0.8, 500)},
                      weights=rng.lognormal(0, 0.5, 500))  # fmt: skip
    nothing = report.margins[0]
    assert nothing.what == "factor on the cost of 0 for 0"
    assert (nothing.low, nothing.high) == (-np.inf, np.inf)


@pytest.mark.parametrize("gain", [0.0, pytest.param(-0.5, marks=pytest.mark.slow)])
def test_no_cost_is_moved_below_zero_unless_a_gain_is_stated_and_one_prior_determines_both(gain):
    """The model is worse than treating nobody; only a reward for treating the ill would help it."""
    rng = np.random.default_rng(1)
    truth = (rng.random(400) < 0.1).astype(int)
    decided = Decisions((truth + rng.normal(size=400) > 0.4).astype(int))
    problem = Problem([[0, 3], [2, gain]])
    report = evaluate(truth, {"eager": decided}, problem, replicates=20)
    assert report.verdict.deploy is None
    listed: list[Any] = [
        report.margins,
        Report.from_json(report.to_json()).margins,
        *(report.flips(decisions) for decisions in ("remade", "kept")),
    ]
    for numbers in listed:
        assert [each.what for each in numbers if each.what.startswith("prior")] == ["prior of 1"]
        lows = {each.what: each.low for each in numbers}
        low = lows.pop("cost of 1 for 1")
        assert low < gain if gain else low == -np.inf
        if not gain:
            assert all(each == -np.inf or each >= 0 for each in lows.values())
            assert all(margin.clear_low == -np.inf or margin.clear_low >= 0 for margin in listed[0])
    assert ("below −" in report.to_text()) is bool(gain)


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["m (tuned)"], "m (tuned)"),
        (["m (tuned)", "b", "m (as is)"], "m or b"),
        (["a", "b", "c"], "a, b or c"),
        ([*"abcde"], "a, b, c, d or e"),
        ([*"abcdef"], "a, b, c, d or 2 others"),
    ],
)
def test_what_may_be_the_cheapest_is_listed_in_words(names, words):
    systems = [SimpleNamespace(name=f"m ({rule})", model="m") for rule in ("tuned", "as is")]
    report: Any = SimpleNamespace(systems=systems)
    flip = Flip("prior", 0.5, 0.1, np.inf, below=tuple(names), above=())
    assert _in_words(flip, -1, report) == words


def test_margins_and_flips_are_followed_as_far():
    """As both docstrings say: to twenty times the largest cost."""
    y = np.repeat([0, 1], [32, 8])
    wrong = {"a": 2, "b": 4}
    models = {name: np.where(np.arange(40) < size, 1, y) for name, size in wrong.items()}
    report = evaluate(y, models, Problem.binary(false_alarm=1, miss=9))
    (margin,) = (margin for margin in report.margins if margin.what == "cost of 1 for 0")
    assert margin.clear_high == np.inf
    assert {move.bounds for move, _ in _moves(report) if not move.odds} == {(0.0, 20 * 9.0)}
    assert "20 times the largest" in " ".join(str(Report.flips.__doc__).split())
    assert "20 times the largest" in " ".join(str(Margin.__doc__).split())


def test_numbers_whose_names_read_alike_keep_their_own_flips():
    """The cost of "b for c" in class "x" and that of "b" in class "c for x" are two numbers."""
    truth = ["x"] * 80 + ["c for x"] * 40
    decided = Decisions(["b"] * 70 + ["b for c"] * 10 + ["b"] * 5 + ["b for c"] * 35)
    problem = Problem([[0, 3], [5, 0]], classes=["x", "c for x"], decisions=["b", "b for c"])
    report = evaluate(truth, {"m": decided}, problem)
    whats = [margin.what for margin in report.margins]
    assert len(set(whats)) < len(whats)
    for flip, margin in zip(report.flips("kept"), report.margins, strict=True):
        assert (flip.value, flip.low, flip.high) == (
            margin.value,
            margin.clear_low,
            margin.clear_high,
        )


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_rivals_whose_costs_differ_by_rounding_alone_leave_no_margin(seed):
    """With one decision all rivals cost the same, whatever the prior and the factors on costs."""
    rng = np.random.default_rng(seed)
    y, problem = rng.integers(0, 3, 50), Problem([["amount"], ["-0.3*amount"], [0.1]])
    report = evaluate(y, {"a": Decisions(np.zeros(50, int))}, problem.with_prior([0.5, 0.3, 0.2]),
                      data={"amount": rng.lognormal(0, 1, 50)},
                      weights=rng.lognormal(0, 0.5, 50))  # fmt: skip
    assert len(report.margins) == 6
    for margin in report.margins:
        assert (margin.low, margin.high) == (-np.inf, np.inf)


def test_borders_of_regions_keep_their_digits_where_all_costs_are_large():
    """Costs of about a million that differ by some thousandths, beside fractions."""
    costs = [[1000000.003, 1000000.011], [1000000.011, 1000000.005]]
    truth = np.repeat([0, 1], [13, 8])
    decided = np.array([0] * 10 + [1] * 3 + [0] * 3 + [1] * 5)
    problem = Problem(costs, prior=[0.7, 0.3])
    regions = evaluate(truth, {"net": Decisions(decided)}, problem).regions[-1]
    assert [part.cheapest for part in regions.parts] == [
        ("always 0",),
        ("net (as decided)",),
        ("always 1",),
    ]
    # The net takes 3/13 of the first class for the second, and 3/8 the other way round.
    alarm, miss = (Fraction(b) - Fraction(a) for a, b in (costs[0], costs[1][::-1]))
    for part, (share, rest) in zip(
        regions.parts,
        ((Fraction(3, 13), Fraction(5, 8)), (Fraction(10, 13), Fraction(3, 8))),
        strict=False,
    ):
        odds = share * alarm / (rest * miss)
        assert part.high == pytest.approx(float(odds / (1 + odds)), rel=1e-12)


# The same answer by brute force ------------------------------------------------------------------


def random_report(seed, monkeypatch, **design):
    """A report on random systems, with the evidence from which it was made."""
    rng = np.random.default_rng(seed)
    shape = [(2, 2), (2, 3), (3, 2), (3, 4)][seed % 4]
    n, ties = 400, seed % 3 == 0
    truth = rng.choice(shape[0], n, p=rng.dirichlet(np.full(shape[0], 4.0)))
    costs = rng.integers(1, 6, shape).astype(float)
    np.fill_diagonal(costs, 0.0)
    prior = rng.dirichlet(np.full(shape[0], 4.0)) if design.pop("prior") else None
    models = {}
    for name, skill in (("a", 1.2), ("b", 1.0)):
        logits = skill * np.eye(shape[0])[truth] + rng.normal(size=(n, shape[0]))
        models[name] = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    if ties:
        models["twin"] = models["a"]
    models["clerk"] = Decisions(np.where(rng.random(n) < 0.8, costs.argmin(axis=1)[truth], 0))
    return watched(truth, models, Problem(costs, prior=prior), monkeypatch, **design)


def watched(truth, models, problem, monkeypatch, **options):
    """A report, and the evidence from which it was made."""
    seen = []

    def noted(evidence, *arguments, **others):
        seen.append(evidence)
        return report_of(evidence, *arguments, **others)

    monkeypatch.setattr(evaluate_rows, "report_of", noted)
    report = evaluate(truth, models, problem, replicates=10, **options)
    monkeypatch.undo()
    return report, seen[0]


def spread(table, costs, prior):
    """The sampling variance of a mean cost, in plain loops."""
    strata = [table] if prior is None else [row[None] for row in table]
    rows = [costs] if prior is None else [row[None] for row in costs]
    total = 0.0
    for k, (cases, cost) in enumerate(zip(strata, rows, strict=True)):
        n = cases.sum()
        mean = (cases * cost).sum() / n
        share = 1.0 if prior is None else prior[k]
        total += share**2 * (cases * (cost - mean) ** 2).sum() / n**2
    return total


def ruled_out(evidence, choice, costs, prior):
    """Whether a choice clearly costs too much at other stakes, where all decisions stay."""
    joint, stated = evidence.sample.joint, evidence.problem
    problem = Problem(costs, decisions=stated.decisions, classes=stated.classes, prior=prior)
    fitting, size = fitting_of(evidence, len(joint.models)), len(joint.models)
    if fitting is not None:
        tables = [joint.model(name).values for name in joint.models]
        now = np.array([spread(table, costs, prior) for table in tables])
        then = np.array([spread(table, stated.costs, stated.prior) for table in tables])
        factor = np.sqrt(np.divide(now, then, out=np.zeros(size), where=then > 0))
        fitting = fitting * np.outer(factor, factor)
    bayes = np.array([rule.name in POSTERIOR_RULES for rule in evidence.rules.values()])
    able = np.where(bayes[:, None], reachable_decisions(stated), True)
    rivals = [name for name, rule in evidence.rules.items() if rule.eligible]
    among = list(dict.fromkeys((*rivals, choice)))
    moved = system_costs(joint, problem, among=among, reachable=able, fitting=fitting)
    blind = [always(d) for d in stated.decisions if always(d) != choice]
    return choice not in moved.contenders or any(
        moved.difference(choice, name).low > 0 for name in blind
    )


def stakes_at(problem, shares, what, value):
    """Costs and prior with one number set."""
    costs = np.array(problem.costs)
    for k, label in enumerate(problem.classes):
        if what == f"prior of {label}":
            others = np.where(np.arange(len(shares)) == k, 0.0, shares)
            prior = others / others.sum() * (1 - value)
            prior[k] = value
            return costs, prior
        for d, decision in enumerate(problem.decisions):
            if what == f"cost of {decision} for {label}":
                costs[k, d] = value
    return costs, problem.prior


@pytest.mark.parametrize("seed", [5, *(pytest.param(s, marks=pytest.mark.slow) for s in SEEDS)])
@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("calibrated", [False, True])
def test_margins_and_kept_flips_are_one_answer_and_that_of_brute_force(
    seed, prior, calibrated, monkeypatch
):
    design = {} if calibrated else {"calibrator": None}
    refuse_other_than_brute_force(*random_report(seed, monkeypatch, prior=prior, **design))


def test_what_is_chosen_though_another_is_cheaper_on_these_cases_is_followed(monkeypatch):
    """The incumbent stays, because the saving of the cheapest may be luck."""
    rng = np.random.default_rng(0)
    y = (rng.random(60) < 0.3).astype(int)
    models = {f"m{j}": Decisions(np.where(rng.random(60) < 0.08, 1, 0)) for j in range(4)}
    stakes_of = Problem([[0, 7], [3, 0]])
    report, evidence = watched(y, models, stakes_of, monkeypatch, baseline="m3")
    assert report.verdict.keep == "m3 (as decided)"
    assert min(system.cost.value for system in report.systems) < report.baseline.cost.value
    assert refuse_other_than_brute_force(report, evidence) >= 2


def refuse_other_than_brute_force(report, evidence):
    """Compare clear margins and kept flips with each other and with brute force; count them."""
    problem, n_ends = evidence.problem, 0
    # Without joint bins, what is recommended along the way is not searched, which takes long.
    flips = {flip.what: flip for flip in report._but(joint=None).flips("kept")}
    assert list(flips) == [margin.what for margin in report.margins]
    verdict = report.verdict
    choice = verdict.choice
    far = 20 * problem.costs.max()
    for margin in report.margins:
        flip = flips[margin.what]
        assert (flip.low, flip.high) == (margin.clear_low, margin.clear_high)
        for end, last in ((flip.low, 0.0), (flip.high, 0.9999 if margin.is_prior else far)):
            left = np.isfinite(end)
            n_ends += left
            reach = (end if left else last) - margin.value
            # With a prior that moves, costs are those of a known prior, here and there.
            for part, out in ((0.4, False), (0.9, False), (0.999, False), (1.001, True)):
                if part < 1 or left:
                    stakes = stakes_at(
                        problem, evidence.prior, margin.what, margin.value + part * reach
                    )
                    assert ruled_out(evidence, choice, *stakes) is out, (margin.what, part)
    return n_ends


@pytest.mark.slow
def test_with_running_costs_flips_of_kept_decisions_are_searched():
    """Margins are then of factors, and say nothing of what is clear."""
    y = np.repeat([0, 1], [80, 20])
    models = {"a": np.where(np.arange(100) < 10, 1, y)}
    report = evaluate(y, models, Problem.binary(false_alarm=1, miss=9), running_costs={"a": 0.1})
    flips = {flip.what: flip for flip in report.flips("kept")}
    assert [*flips][:2] == ["cost of 0 for 0", "cost of 1 for 0"]
    assert 1 < flips["cost of 1 for 0"].high < 180


def test_flips_of_kept_decisions_need_no_joint_bins():
    y = np.repeat([0, 1], [80, 20])
    models = {"a": np.where(np.arange(100) < 10, 1, y)}
    problem = Problem.binary(false_alarm=1, miss=9)
    report = evaluate(y, models, problem, clusters=np.arange(100) // 2)
    assert report.joint is None
    for flip, margin in zip(report.flips("kept"), report.margins, strict=True):
        assert (flip.low, flip.high) == (margin.clear_low, margin.clear_high)
        assert np.isnan(flip.changes_high)
    with pytest.raises(stakes.InputError, match="must hold joint bins of its systems"):
        report.flips()


@pytest.mark.parametrize("call", ["flips", "zones"])
@pytest.mark.parametrize("decisions", ["remade", "kept"])
def test_without_a_number_for_each_cost_flips_say_what_to_read(call, decisions):
    problem = Problem({0: {"a": 0, "b": 5}, 1: {"a": "amount", "b": 0}})
    y, amounts = np.repeat([0, 1], [80, 20]), np.arange(100.0)
    models = {"m": Decisions(np.where(y == 1, "b", "a"))}
    report = evaluate(y, models, problem, data={"amount": amounts})
    match = r"its costs depend on the columns of each case: 'amount'. Read report.margins"
    with pytest.raises(stakes.InputError, match=match) as caught:
        getattr(report, call)(decisions)
    assert caught.value.argument is None


@pytest.mark.parametrize("costs", [[[0, 1, 2]], [[1, 1]], [[0, 0]]])
def test_one_class_has_no_prior_that_moves(costs):
    """Nor a warning, which would be an error here."""
    size = len(costs[0])
    models = {"m": Decisions(np.arange(60) % size)}
    report = evaluate(np.zeros(60, int), models, Problem(costs))
    for numbers in (report.margins, report._but(joint=None).flips("kept")):
        assert [each.what for each in numbers] == [f"cost of {d} for 0" for d in range(size)]
    if size < 3:  # it takes long
        assert len(report.flips()) == 2
    assert report.regions == ()
    with pytest.raises(stakes.InputError, match=r"must have two classes.* it has 0 alone"):
        report.zones()


@pytest.mark.parametrize("prior", [None, [0.5, 0.5]])
@pytest.mark.parametrize("cost", [0.0, 1.0])
def test_costs_that_are_all_the_same_flip_without_a_warning(cost, prior):
    p = np.linspace(0.1, 0.9, 60)
    problem = Problem(np.full((2, 2), cost), prior=prior)
    report = evaluate(np.arange(60) % 2, {"m": p}, problem, replicates=10)
    kept = report._but(joint=None).flips("kept")
    for margin, flip in zip(report.margins, kept, strict=True):
        assert (flip.low, flip.high) == (margin.clear_low, margin.clear_high)


# Where the choice is not the cheapest system ----------------------------------------------------


def test_a_simpler_rule_that_is_named_flips_where_a_new_evaluation_names_another():
    rng = np.random.default_rng(8)
    y = (rng.random(1000) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(2 * (rng.normal(size=1000) + 2 * y) - 2 - np.log(7 / 3))))

    def told(false_alarm: float = 1.0) -> Report:
        return evaluate(y, {"m": p}, Problem([[0, false_alarm], [3, 0]]), replicates=20)

    report = told()
    assert report.verdict.choice == "m (as is)"
    assert report.systems[1].name == "m (recalibrated)"
    assert report.systems[1].cost.value < report.systems[0].cost.value
    flip = next(flip for flip in report.flips() if flip.what == "cost of 1 for 0")
    for end, recommended in (
        (flip.changes_low, flip.recommended_below),
        (flip.changes_high, flip.recommended_above),
    ):
        inside, beyond = (end + share * (end - 1) for share in (-0.05, 1e-3))
        assert [told(inside).verdict.choice, told(beyond).verdict.choice] == [
            "m (as is)",
            recommended,
        ]
    margin = next(margin for margin in report.margins if margin.what == "cost of 1 for 0")
    (right, alarms), (missed, _) = report.system("m (as is)").counts.values
    always_none = 3 * (y == 1).sum()  # which costs as much from here on
    assert margin.high == pytest.approx((always_none - 3 * missed) / alarms, rel=1e-12)
    assert (margin.low_rival, margin.high_rival) == ("always 1", "always 0")
    assert right + alarms == (y == 0).sum()


def test_an_incumbent_that_stays_is_no_rival_of_itself_and_nothing_is_clear_before_it_is_as_cheap():
    kept = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = (rng.random(800) < 0.3).astype(int)
        models = {
            name: 1 / (1 + np.exp(-(rng.normal(size=800) + skill * y - 1)))
            for name, skill in (("old", 1.0), ("new", 1.1))
        }
        report = evaluate(
            y, models, Problem([[0, 1], [3, 0]]), baseline="old", calibrator=None, replicates=20
        )
        if report.verdict.keep is None or report.systems[0].model == report.verdict.keep:
            continue
        kept += 1
        for margin in report.margins:
            assert report.verdict.keep not in (margin.low_rival, margin.high_rival)
            assert margin.clear_low <= margin.low
            assert margin.high <= margin.clear_high
        assert all(np.isnan(flip.changes_low) for flip in report.flips("kept"))
    assert kept > 1
