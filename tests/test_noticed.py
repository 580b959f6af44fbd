"""Small ends that `make mutants` found no test for: each fails if its constant or sign changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from report_kinds import LIMITED, P, report_of
from stakes import (
    InputError,
    JointCounts,
    Limit,
    Problem,
    Rule,
    ScoreTable,
    bayes_decisions,
    evaluate,
)
from stakes._check import FloatArray
from stakes._check.encoding import integer_range
from stakes.calibration import Affine
from stakes.calibration.calibration_errors import _radii
from stakes.calibration.calibrator import FittedIdentity
from stakes.calibration.temperature import _best_coldness
from stakes.evaluation import read_cases, read_unknown
from stakes.evaluation.case_charges import Charges, _few_of, few_cases
from stakes.evaluation.decision_rules import rules_of
from stakes.evaluation.folds import case_cost
from stakes.evaluation.joint_bins import _key
from stakes.evaluation.miscalibration import _drawn
from stakes.evaluation.slice_costs import _refuse_measurements
from stakes.inference.loss_ratios import _beyond_root
from stakes.inference.losses import LossSample
from stakes.metrics.clinical_samples import _JOINED
from stakes.ranking.hull import _walked
from stakes.regions import Margin
from stakes.render.against import _caveat, _in_brief, brief_sections
from stakes.render.flip_tables import _nearest_first
from stakes.render.layout import Table
from stakes.render.systems import _always
from stakes.render.text_formats import _table
from stakes.report._consistency import _pair_faults
from stakes.report._flips import _COST_STEPS
from stakes.rows import Scores
from stakes.scoring.rules import _missed
from stakes.tally.base import class_factors


def test_costs_of_a_single_case_are_those_of_its_matrix():
    problem, columns = Problem.zero_one(2).by_case([[[0, 3.0], [7.0, 0]]], None)
    assert (problem.costs.tolist(), columns) == ([[0, 3], [7, 0]], {})


@pytest.mark.parametrize("n_experts", [2, 3])
def test_experts_differ_from_their_mean(n_experts):
    rng = np.random.default_rng(3)
    experts = rng.random((n_experts, 2, 3))
    shares = np.array([0.5, 0.5])
    unknown = read_unknown(list(experts), Problem(experts.mean(axis=0)), shares, 0.95)
    assert unknown is not None
    (part,) = unknown.parts(rng)
    np.testing.assert_allclose(part.worlds.costs, experts - experts.mean(axis=0))


def test_groups_of_joint_counts_name_the_first_of_several_leading_axes():
    weights = np.arange(12.0).reshape(2, 3, 2)
    names: dict[str, Any] = {"models": ["a"], "classes": [0, 1], "decisions": [0, 1]}
    joint = JointCounts([[0, 0], [1, 1]], weights, groups=["n", "s"], **names)
    assert joint.weights.shape == (2, 3, 2)


def test_a_local_fit_has_two_cases_at_least_and_no_more_where_two_are_its_share():
    scores, mass = np.array([0.0, 1.0, 10.0]), np.ones(3)
    for shift in (0.0, -20.0):
        moved = scores + shift
        np.testing.assert_allclose(_radii(moved, mass, moved), [1, 1, 9], rtol=1e-12)


def test_lower_bounds_may_take_all_cases_together():
    exact = (
        Limit.share("no", at_least=0.75),
        Limit.share("yes", at_least=0.25),
        Limit.share("no", at_most=0.75),
    )
    costs = {"a": {"no": 0, "yes": 1}, "b": {"no": 4, "yes": 0}}
    assert Problem(costs, limits=exact).limits == exact


def test_a_class_that_will_not_occur_has_no_weight():
    factors = class_factors(np.array([0.0, 1.0]), np.array([30.0, 10.0]))
    assert factors.tolist() == [0.0, 4.0]


def test_moves_of_costs_are_measured_by_the_largest_cost_and_those_of_priors_are_not():
    problem = Problem([[0, 3, 100], [50, 8, 0]])
    unmoved: dict[str, Any] = {"low_rival": None, "high_rival": None, "low": -np.inf}
    costs = [Margin(f"cost {k}", 10.0, high=10.0 + 10 * (k + 1), **unmoved) for k in range(6)]
    prior = Margin("prior", 0.5, high=0.75, **unmoved)  # nearer than a fourth of the largest cost
    report: Any = SimpleNamespace(
        problem=problem, margins=(*costs, prior), assumptions=SimpleNamespace(running_costs={})
    )
    order = [margin.what for margin in _nearest_first(report)]
    assert order == ["cost 0", "cost 1", "prior", "cost 2", "cost 3", "cost 4", "cost 5"]


def test_caveats_do_not_depend_on_the_unit_of_costs():
    rng = np.random.default_rng(5)
    chance = rng.random(600)
    y, models = (rng.random(600) < chance).astype(int), {"m": chance**3}
    problems = (Problem.binary(false_alarm=unit, miss=3 * unit) for unit in (1e-3, 1e3))
    kinds = [
        {caveat.kind for caveat in evaluate(y, models, p, calibrator=Affine()).caveats}
        for p in problems
    ]
    assert kinds[0] == kinds[1]
    assert "miscalibration" in kinds[0]


@pytest.mark.parametrize(
    ("n_caveats", "end"), [(1, "first"), (2, "(1 more caveat in the report.)"), (4, "(3 more c")]
)
def test_of_several_caveats_one_is_shown_and_the_others_are_counted(n_caveats, end):
    caveats = [SimpleNamespace(kind="kind", text=text) for text in ("first", *"xyz")][:n_caveats]
    report: Any = SimpleNamespace(caveats=caveats)
    (shown,) = _caveat(report)
    assert shown.startswith("kind: first")
    assert end in shown
    assert ("more" in shown) == (n_caveats > 1)


@pytest.mark.parametrize("root", [0.6, 3.0, 4.9, 5.0, 100.0])
def test_the_end_of_a_search_lies_beyond_the_root(root):
    assert _beyond_root(lambda x: root - x, 0.5) >= root


def test_no_experts_are_no_matrices():
    with pytest.raises(InputError, match=r"two matrices at least.*of all is \(0, 0, 0\)"):
        read_unknown({"costs": []}, Problem.zero_one(2), np.array([0.5, 0.5]), 0.95)


@pytest.mark.parametrize("cases", [np.ones(6), np.array([3.0, 1.0, 4.0, 2.0])])
def test_classes_that_are_drawn_anew_are_those_of_the_same_cases(cases, monkeypatch):
    def drawn() -> FloatArray:
        posteriors = np.linspace(0.1, 0.8, cases.size)
        return np.concatenate(list(_drawn(cases, posteriors, 40, np.random.default_rng(2))))

    whole = drawn()
    monkeypatch.setattr("stakes.evaluation.miscalibration._BLOCK", 3 * cases.size)
    blocks = drawn()
    np.testing.assert_array_equal(whole, blocks)  # in one piece, and three replicates at a time
    assert 0 < len(whole) <= 40
    assert ((whole >= 0) & (whole <= cases)).all()
    assert ((whole.sum(axis=1) > 0) & (whole.sum(axis=1) < cases.sum())).all()  # both classes


@pytest.mark.parametrize(
    ("kind", "recalibrated", "tuned_apart", "eligible"),
    [
        ("posteriors", False, False, False),
        ("scores", True, False, False),
        ("scores", False, True, False),
        ("scores", False, False, True),
    ],
)
def test_a_threshold_tuned_on_its_own_cases_wins_only_where_there_is_no_other_rule(
    kind, recalibrated, tuned_apart, eligible
):
    table, problem = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]]), Problem.zero_one(2)
    known: dict[str, Any] = {"recalibrated": recalibrated, "tuned_apart": tuned_apart}
    rules = list(rules_of("m", kind, problem, table=table, movable=False, **known))
    assert rules[-1].eligible is eligible
    assert [rule.eligible for rule in rules[:-1]] == [True] * (len(rules) - 1)


def test_costs_of_single_cases_are_weighed_and_above_those_of_perfect_decisions():
    problem = Problem([[0, "a"], [5, 1]], prior=[0.75, 0.25])
    cases = read_cases([0, 0, 1], problem, [1.0, 3.0, 2.0], None, None, {"a": [4.0, 8.0, 0.0]})
    result = case_cost(cases, np.array([1, 1, 0]))
    assert result == pytest.approx(0.75 * (1 * 4 + 3 * 8) / 4 + 0.25 * (5 - 1))


def test_what_the_true_class_lacks_is_its_own_where_probabilities_do_not_sum_to_one():
    result = _missed(np.array([0.75, 1 - 1e-12]), np.array([0.125, 1e-12]))
    assert result.tolist() == [0.25, 1e-12]


def test_shares_beside_a_limit_end_where_more_of_the_decision_saves_nothing():
    limited = report_of("limited").systems[0]
    shares, _, prices = zip(*limited.limits[0].capacity, strict=True)
    wanted = bayes_decisions(P, LIMITED.with_limits(None)) == 1
    assert shares[-1] == pytest.approx(wanted.mean())  # 0.63, less than the limit times eight
    assert prices[-1] == 0
    assert max(shares) == shares[-1]


def test_tuned_systems_have_their_own_decisions_though_their_model_is_recalibrated():
    models = replace(report_of("baseline").models[0], recalibrated=ScoreTable([0.2], [[1, 1]]))
    keys = [_key(system, (models,)) for system in report_of("baseline").systems[:2]]
    assert keys == [("new", False, None), ("new", False, "new (tuned)")]


def _charges(loss: FloatArray, truth: Any, weights: FloatArray, repeats: Any) -> Charges:
    sample = LossSample(
        *(("m",), loss[None], loss, 0 * loss, truth, 2, None, weights, False, None), repeats=repeats
    )
    return Charges(sample, 0.0, {}, truth, {})


@pytest.mark.parametrize("prior", [None, np.array([0.9, 0.1])])
def test_few_cases_carry_the_same_share_whether_equal_cases_are_pooled_or_not(prior):
    rng = np.random.default_rng(0)
    loss, weights, truth = rng.lognormal(0, 1.5, 40), rng.uniform(0.5, 2, 40), np.arange(40) % 2
    repeats = rng.integers(1, 9, 40)
    rows = np.repeat(np.arange(40), repeats)
    pooled = few_cases(_charges(loss, truth, weights * repeats, repeats * 1.0), "m", prior)
    apart = few_cases(_charges(loss[rows], truth[rows], weights[rows], None), "m", prior)
    assert pooled.share == pytest.approx(apart.share, abs=1e-12)
    assert 0.2 < pooled.share < 0.4


def test_several_counts_in_a_batch_are_kept_at_the_least_cost():
    problem, q = Problem([[0, 3, 9], [9, 2, 0]]), np.array([0.04, 0.3, 0.5, 0.6, 0.8, 0.97])
    costs = np.stack([1 - q, q], axis=1) @ problem.costs
    limits = [Limit.count(1, 2, at_least=2), Limit.count(2, 1)]
    decided = Rule(problem).decide(q, limits=limits)
    every = np.array(list(product(range(3), repeat=6)))
    kept = every[((every == 1).sum(axis=1) == 2) & ((every == 2).sum(axis=1) <= 1)]
    best = costs[np.arange(6), kept].sum(axis=1).min()
    assert costs[np.arange(6), decided].sum() == pytest.approx(best)


def test_a_walk_along_the_hull_drops_what_is_straight_within_the_slack():
    blocks = np.array([[0.3, 0.4, 0.1], [0.3, 0.4, 0.2]])
    starts, pooled = _walked(np.arange(3), blocks, 1 + 1e-13)
    assert starts.tolist() == [0, 2]
    np.testing.assert_allclose(pooled, [[0.7, 0.1], [0.7, 0.2]])


def test_integers_below_zero_are_not_taken_for_large_ones():
    assert integer_range(np.array([-1, 1], dtype=np.int8)) == (-1, 1)
    assert integer_range(np.array([0, 1], dtype=np.int8)) == (0, 1)


@pytest.mark.parametrize(("costs", "told"), [([[0, 1], [3, 0]], 0), ([[0, 1, 2], [3, 1, 0]], 1)])
def test_raw_scores_are_said_to_allow_no_decision_where_one_threshold_does_not(costs, told):
    y, scores = np.array([0, 1] * 20), np.linspace(-2, 3, 40)
    models = {"raw": Scores(scores), "other": np.clip(scores / 3, 0.1, 0.9)}
    report = evaluate(y, models, Problem(costs), calibrator=None, replicates=5)
    assert sum("allow no decision" in caveat.text for caveat in report.caveats) == told


def test_numbers_up_to_a_hundred_may_be_percentages():
    with pytest.raises(InputError, match="Divide percentages by 100"):
        bayes_decisions([5.0, 10.5], Problem.zero_one(2))


def test_predictions_that_all_classes_share_keep_their_temperature():
    assert _best_coldness(np.zeros((4, 3)), np.full(4, 0.25)) == (1.0, True)


def test_a_spline_is_linear_beyond_its_last_knot():
    smooth_line = pytest.importorskip("stakes.displays.smooth_line")
    beyond = smooth_line._spline(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.1, 0.3, 0.6, 0.9]))
    np.testing.assert_allclose(np.diff(beyond, 2, axis=1), 0, atol=1e-9)


def test_shares_of_ties_are_mixed_with_what_is_left():
    capacity_displays = pytest.importorskip("stakes.displays.capacity_displays")
    tied, shares = np.array([True, False]), np.array([0.25, 0.25])
    mixed = capacity_displays._mixed(tied, shares, np.array([1.0, 1.0]), np.array([3.0, 3.0]))
    assert mixed.tolist() == [2.5, 3.0]


def test_the_axis_of_costs_by_threshold_leaves_room_on_both_sides():
    displays = pytest.importorskip("stakes.displays")
    y, p = np.array([0, 1] * 20), np.linspace(0.05, 0.95, 40)
    shown = displays.CostByThresholdDisplay.from_predictions(y, p, Problem.from_threshold(0.3))
    low = min(float(np.nanmin(line.low)) for line in shown.lines)
    high = max(float(np.nanmax(line.high)) for line in shown.lines)
    assert shown.limits[0] < low < high < shown.limits[1]


def test_longer_names_take_as_much_more_room_as_their_letters():
    style = pytest.importorskip("stakes.plot._style")
    assert style.label_width(["a" * 20]) - style.label_width(["a"]) > 1


def test_a_table_in_markdown_has_a_rule_for_every_column():
    lines = _table(Table(("system", "cost", "95 %"), (("forest", "0.4", "0.3 to 0.5"),))).split(
        "\n"
    )
    assert lines[1] == "| --- | ---: | ---: |"
    assert {line.count("|") for line in lines} == {4}


def test_a_step_that_holds_one_point_of_the_grid_ends_where_it_ends():
    """Two steps end at neighbouring points: each is found between its own two."""
    pytest.importorskip("narwhals")
    from stakes.adapters.streamed_scores import _steps

    grid, ends = np.array([0.1, 0.2, 0.3, 0.4]), np.array([0.15, 0.25])
    every = _steps(lambda x: np.searchsorted(ends, x).astype(np.intp), grid)
    steps = list(islice(every, 5))
    assert steps == [(0.15, 0), (0.25, 1)]


def test_what_few_cases_cost_does_not_depend_on_the_unit():
    each, truth = np.append(np.full(200, 0.001), [5.0, 4.0]), np.zeros(202, dtype=np.intp)
    shares = [_few_of(unit * each, unit * each, truth, np.ones(202)) for unit in (1.0, 1e-6)]
    assert shares[0] > 0.9
    assert shares[1] == pytest.approx(shares[0])


@pytest.mark.parametrize(("at_most", "note"), [(0.5, " (breaks a limit)"), (1.0, "")])
def test_a_constant_decision_that_breaks_a_limit_says_so(at_most, note):
    report: Any = SimpleNamespace(
        naive=SimpleNamespace(decision=1),
        problem=SimpleNamespace(limits=(Limit.share(1, at_most=at_most),)),
    )
    assert _always(report) == f"always 1{note}"


def test_the_brief_shows_costs_and_then_their_bounds():
    report = report_of("baseline")
    (first, *_), system = brief_sections(report)[2].rows, _in_brief(report)[0]
    assert first[0] == system.name
    assert float(first[1].replace("−", "-").replace(",", "")) == pytest.approx(
        system.cost.value, rel=0.05
    )


@pytest.mark.parametrize(
    ("groups", "n_rows", "refused"),
    [(20, 20, False), (21, 105, False), (21, 104, True), (1000, 9000, False), (1001, 10**6, True)],
)
def test_columns_with_many_values_or_few_cases_in_each_are_refused(groups, n_rows, refused):
    evidence: Any = SimpleNamespace(slices=[(None, k) for k in range(groups)], n_rows=n_rows)
    if refused:
        with pytest.raises(InputError, match=f"it makes {groups:,} groups"):
            _refuse_measurements(evidence)
    else:
        _refuse_measurements(evidence)


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize(("name", "place"), [("PPV", 1), ("NPV", 0), ("LR+", 1), ("LR−", 0)])
def test_influences_are_those_of_the_cases_with_that_test_result(name, place, stated):
    """Of predictive values without a stated prevalence; else all cases count, by their class."""
    table = np.random.default_rng(0).integers(1, 9, (2, 2, 2)).astype(float)
    influence = _JOINED[name](table, 1, stated)
    assert np.sum(table * influence) == pytest.approx(0)
    other = influence[:, 1 - place]
    if name in ("PPV", "NPV") and not stated:
        assert not other.any()
        assert influence[:, place].any()
    else:
        expected = 1 / table[1].sum()  # of a case that counts among all of its class alone
        np.testing.assert_allclose(np.abs(other[1]), expected)


def test_the_share_at_the_corners_of_a_skew_is_one_or_none():
    plots = pytest.importorskip("stakes.plot.table_plots")
    assert plots._share_at(np.array([0.0, 0.5]), 0.0).tolist() == [1.0, 1.0]
    assert plots._share_at(np.array([1.0, 0.5]), 1.0).tolist() == [0.0, 0.0]


def test_steps_along_costs_grow():
    assert np.all(np.diff(_COST_STEPS) > 0)


def test_pairs_of_a_report_may_have_fractional_weights():
    def faults(weights: list[float]) -> list[str]:
        pair: Any = SimpleNamespace(places=np.array([0, 3]), weights=np.array(weights))
        return list(_pair_faults(pair, 4))

    assert faults([0.25, 0.0]) == []
    assert "not negative" in faults([0.25, -0.1])[0]


def test_worlds_of_experts_are_their_matrices_about_the_mean():
    rng = np.random.default_rng(3)
    experts = rng.random((2, 2, 3))
    shares = np.array([0.5, 0.5])
    unknown = read_unknown(list(experts), Problem(experts.mean(axis=0)), shares, 0.95)
    assert unknown is not None
    costs, away = unknown.worlds(rng, 6).costs, experts - experts.mean(axis=0)
    for world in costs:
        assert any(np.allclose(world, each) for each in away)
    np.testing.assert_allclose(costs.mean(axis=0), 0, atol=1e-12)


def test_posteriors_moved_by_an_engine_are_those_of_numpy():
    nw = pytest.importorskip("narwhals.stable.v2")
    pl = pytest.importorskip("polars")
    from stakes.adapters.map_columns import second_class

    scores = np.array([0.0, 0.2, 0.7, 1.0])
    priors = {"from_prior": np.array([0.8, 0.2]), "to_prior": np.array([0.4, 0.6])}
    moved = FittedIdentity(**priors, classes=(0, 1), converged=True)
    frame = nw.from_native(pl.DataFrame({"p": scores}))
    moved_by_engine = frame.select(p=second_class(moved, nw.col("p")))["p"].to_numpy()
    np.testing.assert_allclose(moved_by_engine, scores * 3 / (scores * 3 + (1 - scores) / 2))


def test_a_panel_of_reliability_has_the_same_ticks_on_both_axes():
    figure = pytest.importorskip("matplotlib.figure")
    plots = pytest.importorskip("stakes.plot.band_plots")
    bins, line = [np.array([0.2, 0.7])] * 5, [np.array([0.0, 1.0])] * 4
    panel = plots.ReliabilityPanel("forest", *bins, *line)
    ax = plots.reliability_panels([panel], ax=figure.Figure().subplots())
    assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == [0, 0.5, 1]
