"""The border of rows: precision, order, indexes, labels, groups and what decisions answer."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pytest

import stakes
from stakes import (
    Counts,
    InputError,
    JointCounts,
    LossMoments,
    Posteriors,
    Problem,
    Report,
    ScoreTable,
    bayes_decision_indices,
    bayes_decisions,
    evaluate,
    metrics,
)
from stakes._check import rounding
from stakes.calibration import Isotonic, VectorScaling, cost_of_miscalibration, cross_calibrate
from stakes.decide import cheapest_decisions
from stakes.inference import mcnemar
from stakes.measures import likelihood_ratio_positive, net_benefit, precision, recall
from stakes.rows import Scores
from stakes.scoring import Brier, EqualMass, EqualWidth, mean_score, score_moments
from stakes.tally import JointScores
from test_border import refuses

FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"], decisions=["approve", "review", "block"]
)


# Precision ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_rounded_posteriors_decide_at_a_threshold_as_those_of_double_precision(kind):
    for hundredths in range(1, 100):
        p = hundredths / 100
        problem = Problem.binary(false_alarm=hundredths, miss=100 - hundredths)
        single = np.array([p], dtype=kind)
        below, above = np.nextafter(single, kind(0)), np.nextafter(single, kind(1))
        assert bayes_decision_indices(single, problem).tolist() == [0], p
        assert bayes_decision_indices(below, problem).tolist() == [0], p
        above = np.nextafter(above, kind(1))  # further from the threshold than half a gap
        assert bayes_decision_indices(above, problem).tolist() == [1], p
        columns = np.array([[1 - p, p]], dtype=kind)
        assert bayes_decision_indices(columns, problem).tolist() == [0], p


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_the_bound_of_rounding_holds_and_is_attained(kind):
    exact = np.append(np.random.default_rng(0).random(1000), 1 + float(np.finfo(kind).eps) / 2)
    rounded = exact.astype(kind)
    errors, bounds = np.abs(rounded - exact), rounding(rounded)
    assert bounds is not None
    assert (errors <= bounds).all()
    assert errors[-1] == bounds[-1]


def test_single_precision_changes_no_decision_that_it_can_tell():
    rng = np.random.default_rng(0)
    for costs in ([[0, 3, 25], [180, 8, 0]], [[0, 1, 1e9], [1e9, 1, 0]], [[0, 1], [1e7, 0]]):
        problem = Problem(costs)
        p = np.concatenate([rng.random(500), 10.0 ** -rng.uniform(0, 12, 500)])
        single = p.astype(np.float32)
        exact = bayes_decision_indices(single.astype(np.float64), problem)
        assert (bayes_decision_indices(single, problem) == exact).all()


def test_single_precision_decides_alike_in_a_report_in_frames_and_whatever_the_order():
    pd = pytest.importorskip("pandas")
    y, p = np.array([0, 1, 0, 1] * 30), np.array([0.2, 0.2, 0.1, 0.7] * 30)
    problem = Problem.binary(false_alarm=1, miss=4)
    frame = pd.DataFrame({1: p, 0: 1 - p}).astype(np.float32)
    both = [
        evaluate(y, posteriors, problem, calibrator=None, replicates=5).systems[0].counts
        for posteriors in (p, p.astype(np.float32), frame)
    ]
    assert both[0] == both[1] == both[2]
    swapped = Posteriors(np.column_stack([p, 1 - p]).astype(np.float32), classes=[1, 0])
    assert bayes_decisions(swapped, problem).tolist() == bayes_decisions(p, problem).tolist()


def test_single_precision_decides_alike_after_the_posteriors_moved():
    problem = Problem.binary(false_alarm=1, miss=4, prior=[0.8, 0.2])
    y, p = np.array([0, 1, 0, 1] * 30), np.array([0.3, 0.3, 0.1, 0.9] * 30)
    assert stakes.shift_prior([0.3], [0.7, 0.3], [0.8, 0.2]) == pytest.approx(problem.threshold)
    reports = [
        evaluate(y, posteriors, problem, posterior_prior=[0.7, 0.3], replicates=5)
        for posteriors in (p, p.astype(np.float32))
    ]
    moved = reports[0].systems[1].counts.values
    assert moved[0, 0] == 60  # a tie goes to the first decision
    assert [system.counts for system in reports[0].systems] == [
        system.counts for system in reports[1].systems
    ]


@pytest.mark.slow
@pytest.mark.parametrize("offset", [1e12, -1e12])
def test_what_all_decisions_cost_changes_no_decision_and_no_difference(offset):
    rng = np.random.default_rng(1)
    p, y = rng.random(2000), rng.random(2000) < 0.3
    far = Problem(FRAUD.costs + offset)
    near = Problem(FRAUD.costs - 1)  # a gain is stated, so that costs may move below zero
    assert (bayes_decision_indices(p, far) == bayes_decision_indices(p, near)).all()
    cases = np.broadcast_to(far.costs, (2000, 2, 3))
    assert (
        bayes_decision_indices(p, far, case_costs=cases) == bayes_decision_indices(p, near)
    ).all()
    assert far.with_prior([0.9, 0.1]).naive.tied == near.with_prior([0.9, 0.1]).naive.tied
    log_odds = rng.normal(np.where(y, 2, -2), 2) - 0.85  # calibrated, and the same with noise
    models = {
        "a": stakes.posteriors_from_log_odds(log_odds),
        "b": stakes.posteriors_from_log_odds(log_odds + rng.normal(0, 3, 2000)),
    }
    ours, theirs = (evaluate(y, models, problem, replicates=50) for problem in (far, near))
    for system, other in zip(ours.systems, theirs.systems, strict=True):
        assert (system.name, system.counts) == (other.name, other.counts)
        assert system.probability_cheapest == other.probability_cheapest
        assert system.cost.value - offset == pytest.approx(other.cost.value + 1, abs=1e-3)
    assert ours.verdict.cheapest == theirs.verdict.cheapest
    for part in ("value", "low", "high"):
        saved = [getattr(report.verdict.saving_over_runner_up, part) for report in (ours, theirs)]
        assert saved[0] == pytest.approx(saved[1], rel=1e-9)
    for moved, unmoved in zip(ours.margins, theirs.margins, strict=True):
        assert moved.distance == pytest.approx(unmoved.distance, rel=1e-4)


def test_what_all_decisions_cost_changes_no_decision_at_another_prior_either():
    rows, ratios = np.array([[0.9, 0.1], [0.6, 0.4]]), np.array([1 / 3, 1.0])
    costs = np.array([[0.0, 1.0], [2.0, 0.0]])  # 0.2 and 0.3, 0.8 and 0.2
    for shared in (0.0, 2.0**52):
        assert cheapest_decisions(rows, costs + shared, ratios=ratios).tolist() == [0, 1]


def test_whole_costs_are_exact_however_large():
    """Within 1e-4 of a threshold, too; costs that were rounded themselves are tied there."""
    p = np.linspace(0.2 - 1e-5, 0.2 + 1e-5, 21)
    near, far = (Problem(np.array([[0, 1], [4, 0]]) + offset) for offset in (0, 10**12))
    assert (bayes_decision_indices(p, near) == (np.arange(21) > 10)).all()
    assert (bayes_decision_indices(p, far) == bayes_decision_indices(p, near)).all()
    rounded = Problem(np.array([[0, 0.1], [0.4, 0]]) + 10**12)
    assert not bayes_decision_indices(p, rounded).any()


def test_a_decision_that_nobody_would_take_blurs_no_other():
    costs = [[0, 1, 1e15], [1, 0, 0]]
    assert bayes_decision_indices([0.49, 0.51], Problem(costs)).tolist() == [0, 1]
    assert bayes_decision_indices([[0.5, 0.5]], Problem([[0.1 * 3, 0.3], [0, 0]])).tolist() == [0]


# The order of classes ----------------------------------------------------------------------------


def test_row_level_metrics_take_the_order_of_the_columns():
    y, q = ["legit", "fraud", "legit"], np.array([[0.01, 0.99], [0.9, 0.1], [0.3, 0.7]])
    for metric in (metrics.bayes_cost, metrics.normalized_bayes_cost):
        sorted_ = metric(y, q, problem=FRAUD, classes=["fraud", "legit"])
        assert sorted_ == metric(y, q[:, ::-1], problem=FRAUD)
        assert sorted_ == metric(y, q[:, 1], problem=FRAUD, classes=np.array(["fraud", "legit"]))
        assert sorted_ != metric(y, q, problem=FRAUD)
        refuses(
            lambda m=metric: m(y, q, problem=FRAUD, classes={"fraud", "legit"}),
            "set",
            "Pass a list",
        )
        refuses(
            lambda m=metric: m(y, q, problem=FRAUD, classes=["fraud", "other"]),
            "the classes of y_proba must be those of the problem",
        )
        named = Posteriors(q, classes=["fraud", "legit"])
        refuses(
            lambda m=metric, n=named: m(y, n, problem=FRAUD, classes=["fraud", "legit"]),
            "have names already",
        )


def test_a_prior_by_position_needs_classes_that_somebody_put_in_order():
    y, losses = ["legit", "legit", "fraud"], {"m": [1.0, 2.0, 9.0]}
    moments = LossMoments.from_losses(y, losses)
    assert moments.classes == ("fraud", "legit")
    refuses(lambda: moments.mean([0.9, 0.1]), "prior must say which class", "'fraud', 'legit'")
    refuses(lambda: moments.with_prior([0.9, 0.1]), "mapping", "state the classes")
    stated = LossMoments.from_losses(y, losses, classes=["legit", "fraud"])
    assert float(stated.mean([0.9, 0.1])[0]) == pytest.approx(0.9 * 1.5 + 0.1 * 9)
    assert moments.mean({"legit": 0.9, "fraud": 0.1}) == pytest.approx(stated.mean([0.9, 0.1]))
    weighted = LossMoments.from_losses([*y, "zzz"], {"m": [1, 2, 9, 0]}, weights=[1, 1, 1, 0])
    refuses(lambda: weighted.mean([0.9, 0.1]), "prior must say")
    refuses(lambda: (moments + weighted).mean([0.9, 0.1]), "prior must say")
    in_order = LossMoments.from_losses(y, losses, classes=["fraud", "legit"])
    assert (moments + in_order).mean([0.1, 0.9]) == pytest.approx(stated.mean([0.9, 0.1]))
    numbers = LossMoments.from_losses([0, 0, 1], losses)
    assert float(numbers.mean([0.9, 0.1])[0]) == pytest.approx(0.9 * 1.5 + 0.1 * 9)
    assert LossMoments.from_losses([False, True], {"m": [1, 3]}).mean([0.5, 0.5]) == 2


def test_counts_of_labels_that_were_found_take_no_prior_by_position():
    counts = Counts.from_labels(["legit", "fraud", "legit"], ["legit", "legit", "fraud"])
    refuses(lambda: counts.with_prior([0.9, 0.1]), "prior must say which class")
    stated = Counts.from_labels(
        ["legit", "fraud", "legit"], ["legit", "legit", "fraud"], labels=["legit", "fraud"]
    )
    named = counts.with_prior({"legit": 0.9, "fraud": 0.1})
    assert np.array_equal(stated.with_prior([0.9, 0.1]).values, named.values[::-1, ::-1])


# Indexes -----------------------------------------------------------------------------------------


def misaligned_calls() -> dict[str, Any]:
    """Everything that takes several columns of rows, given two of them as series."""
    zero_one = Problem.zero_one(2)
    rng = np.random.default_rng(0)
    quick: dict[str, Any] = {"calibrator": None, "replicates": 2}
    return {
        "metrics": lambda y, p: metrics.bayes_cost(y, p, problem=zero_one),
        "metrics of decisions": lambda y, p: metrics.expected_cost(y, p > 0.5, problem=zero_one),
        "sample_weight": lambda y, p: metrics.expected_cost(
            y, np.array(y), problem=zero_one, sample_weight=p
        ),
        "Counts": lambda y, p: Counts.from_decisions(y, p > 0.5, zero_one),
        "from_labels": lambda y, p: Counts.from_labels(y, p > 0.5),
        "weights": lambda y, p: Counts.from_labels(y, np.array(y), weights=p),
        "by": lambda y, p: Counts.from_labels(y, np.array(y), by=p > 0.5),
        "JointCounts": lambda y, p: JointCounts.from_decisions(y, {"m": p > 0.5}, zero_one),
        "ScoreTable": lambda y, p: ScoreTable.from_scores(y, p),
        "LossMoments": lambda y, p: LossMoments.from_losses(y, {"m": p}),
        "JointScores": lambda y, p: JointScores.from_scores(y, {"m": p}),
        "clusters": lambda y, p: JointScores.from_scores(y, {"m": np.array(p)}, clusters=p > 0.5),
        "fit": lambda y, p: Isotonic().fit(p, y),
        "fit weights": lambda y, p: Isotonic().fit(np.array(p), y, weights=p),
        "fit columns": lambda y, p: VectorScaling().fit(
            Posteriors(p.to_frame(1).assign(**{"0": 1 - p}).rename(columns={"0": 0})), y
        ),
        "cross_calibrate": lambda y, p: cross_calibrate(p, y, Isotonic(), 2, rng=rng),
        "groups": lambda y, p: cross_calibrate(
            np.array(p), y, Isotonic(), 2, clusters=p > 0.5, rng=rng
        ),
        "miscalibration": lambda y, p: cost_of_miscalibration(y, p, np.array(p), zero_one),
        "mean_score": lambda y, p: mean_score(y, p, Brier()),
        "mean_score weights": lambda y, p: mean_score(y, np.array(p), Brier(), weights=p),
        "score_moments": lambda y, p: score_moments(y, {"m": p}, Brier()),
        "evaluate": lambda y, p: evaluate(y, p, zero_one, **quick),
        "evaluate models": lambda y, p: evaluate(
            np.array(y), {"a": Posteriors(y * 0.5), "b": p}, zero_one, **quick
        ),
        "evaluate weights": lambda y, p: evaluate(y, np.array(p), zero_one, weights=p, **quick),
        "evaluate by": lambda y, p: evaluate(
            y, np.array(p), zero_one, by={"half": p > 0.5}, **quick
        ),
        "evaluate cluster": lambda y, p: evaluate(
            y, np.array(p), zero_one, clusters=p > 0.5, **quick
        ),
    }


@pytest.mark.parametrize("name", misaligned_calls())
def test_series_with_another_index_are_refused_wherever_rows_meet(name):
    pd = pytest.importorskip("pandas")
    call = misaligned_calls()[name]
    y = pd.Series([0, 1, 1, 0, 1, 0, 0, 1], index=list("abcdefgh"))
    p = pd.Series([0.1, 0.9, 0.4, 0.6, 0.8, 0.2, 0.3, 0.7], index=list("abcdefgh"))
    call(y, p)
    call(y.reset_index(drop=True), p.reset_index(drop=True))
    call(y, p.set_axis(y.index.copy()))
    refuses(lambda: call(y, p[::-1]), "same index", "in another order", "reset_index")
    refuses(lambda: call(y, p.reset_index(drop=True)), "same index", "different labels")


# Labels ------------------------------------------------------------------------------------------


def test_labels_without_an_order_are_refused_as_classes():
    for labels in ({"a", "b"}, frozenset({"a", "b"})):
        refuses(lambda c=labels: Problem([[0, 1], [1, 0]], classes=c), "set", "Pass a list")
        refuses(
            lambda c=labels: evaluate(
                ["a", "b"], Posteriors([0.1, 0.8], c), Problem.zero_one("ab")
            ),
            "set|sequence",
        )
    assert Problem.zero_one({"a": 1, "b": 2}.keys()).classes == ("a", "b")


def test_cost_frames_lose_no_decision_and_no_class():
    pd = pytest.importorskip("pandas")
    table = [[0, 3, 25], [180, 8, 0]]
    twice = pd.DataFrame(table, index=["legit", "fraud"], columns=["approve", "block", "block"])
    refuses(lambda: Problem(twice), "columns of costs must be distinct", "'block' appears twice")
    refuses(lambda: Problem.from_utilities(twice), "columns of utilities must be distinct")
    rows = pd.DataFrame(table, index=["fraud", "fraud"], columns=["approve", "review", "block"])
    refuses(lambda: Problem(rows), "index of costs must be distinct", "'fraud' appears twice")


def test_labels_that_end_in_nul_are_refused_because_arrays_drop_it():
    refuses(lambda: Problem.zero_one(["a", "a\0"]), "NUL", "rename")
    refuses(lambda: Counts.from_labels(["a", "a\0"], ["a", "a"]), "NUL")
    plain = Problem.zero_one(["a", "b"])
    refuses(lambda: Counts.from_decisions(["a\0", "b"], ["a", "b"], plain), "y_true", "NUL")
    odd = np.array(["a\0", "b"], dtype=object)
    refuses(lambda: Counts.from_decisions(odd, ["a", "b"], plain), "none of these", "a.x00")


def test_large_whole_numbers_are_different_labels():
    big = 2**63
    y = np.array([big, big + 1, big + 2], dtype=np.uint64)
    counts = Counts.from_labels(y, y)
    assert counts.classes == (big, big + 1, big + 2)
    assert np.array_equal(counts.values, np.eye(3))
    problem = Problem.zero_one([1, big, big + 1])
    assert Counts.from_decisions(y[:2], y[:2], problem).values.diagonal().tolist() == [0, 1, 1]
    refuses(lambda: Counts.from_decisions(y, y, problem), "1 of 3", str(big + 2))
    signed = np.array([2**63 - 1], dtype=np.int64)
    refuses(lambda: Counts.from_decisions(signed, signed, problem), "none of these")
    floats = np.array([2.0**53])
    refuses(lambda: Counts.from_labels(floats, floats, labels=[2**53 + 1]), "none of these")
    assert Counts.from_labels(floats, floats, labels=[2**53]).values.tolist() == [[1.0]]


def test_masked_labels_with_nothing_masked_are_labels():
    y, p = np.ma.array([0, 1, 1, 0]), np.array([0.1, 0.9, 0.4, 0.2])
    zero_one = Problem.zero_one(2)
    assert Counts.from_labels(y, y).values.tolist() == [[2, 0], [0, 2]]
    assert Counts.from_decisions(y, y, zero_one, by=y).groups == (0, 1)
    assert ScoreTable.from_scores(y, p).n_cases == 4
    assert metrics.bayes_cost(y, p, problem=zero_one) == 0.25
    report = evaluate(y, {"p": p, "d": y}, zero_one, by=y, clusters=np.ma.arange(4), replicates=5)
    assert [group.group for group in report.slices] == [0, 1]
    hidden = np.ma.array([0, 1, 1, 0], mask=[False, True, False, False])
    refuses(lambda: Counts.from_labels(hidden, [0, 1, 1, 0]), "y_true", "1 of 4", "position 1")
    text = np.ma.array(["a", "b"], mask=[False, False])
    assert Counts.from_labels(text, text).classes == ("a", "b")


# Groups ------------------------------------------------------------------------------------------

PLACE = np.array([0, 1, 2] * 20)
TRUTH = np.array([0, 1, 1, 0, 0, 1] * 10)
CERTAINTY = np.linspace(0.05, 0.95, 60)


def slices(by: Any, **more: Any) -> list[tuple[str | None, object, float]]:
    """Name, group and size of every slice, after a journey through JSON and into text."""
    problem = Problem([[0, 1, 0.3], [4, 0, 0.3]])
    report = evaluate(TRUTH, CERTAINTY, problem, by=by, calibrator=None, replicates=5, **more)
    assert Report.from_json(report.to_json()) == report
    assert json.loads(report.to_json())["slices"][0]["group"] == report.slices[0].group
    for group in report.slices:
        assert group.name in report.to_text()
    return [(group.by, group.group, group.n_cases) for group in report.slices]


DATES = np.array(["2024-10-02", "2024-09-30", "2025-01-01"], dtype="M8[D]")


def test_groups_are_dates_in_their_order():
    expected = [(None, day, 20) for day in ("2024-09-30", "2024-10-02", "2025-01-01")]
    assert slices(DATES[PLACE]) == expected
    assert slices([DATES[k].item() for k in PLACE]) == expected
    assert slices(DATES.astype("M8[ns]")[PLACE]) == expected
    years = [date(year, 1, 1) for year in (20, 3, 1000)]
    assert [group[1] for group in slices([years[k] for k in PLACE])] == [
        "0003-01-01",
        "0020-01-01",
        "1000-01-01",
    ]


def test_groups_are_periods_intervals_and_categories_of_pandas():
    pd = pytest.importorskip("pandas")
    days = pd.Series(DATES[PLACE], name="day")
    assert slices(days.dt.to_period("M")) == [
        ("day", month, 20) for month in ("2024-09", "2024-10", "2025-01")
    ]
    assert slices(days)[0] == ("day", "2024-09-30", 20)
    assert str(slices(days.dt.tz_localize("UTC"))[0][1]).startswith("2024-09-30")
    cut = pd.cut(PLACE * 5.0, [-1, 2, 9, 10, 50])
    bounds = ["(-1, 2]", "(2, 9]", "(9, 10]"]
    assert [group[1] for group in slices(cut)] == bounds
    assert [group[1] for group in slices(pd.Series(cut))] == bounds
    assert [group[1] for group in slices(pd.arrays.IntervalArray(cut))] == bounds
    sizes = np.array(["small", "medium", "large"])[PLACE]
    order = ["small", "medium", "unused", "large"]
    for column in (pd.Categorical(sizes, order), pd.Series(pd.Categorical(sizes, order))):
        assert [group[1] for group in slices(column)] == ["small", "medium", "large"]


def test_groups_are_the_categories_of_polars_in_their_order():
    pl = pytest.importorskip("polars")
    sizes = [["small", "medium", None][k] for k in PLACE]
    column = pl.Series("size", sizes, dtype=pl.Enum(["small", "medium", "unused"]))
    assert slices(column) == [("size", group, 20) for group in ("small", "medium", "(missing)")]


def test_cases_without_a_group_are_one():
    words = np.array(["b", "a", None], dtype=object)[PLACE]
    assert slices(words) == [(None, group, 20) for group in ("a", "b", "(missing)")]
    assert slices(np.array([7.0, 3.0, np.nan])[PLACE]) == [
        (None, group, 20) for group in (3, 7, "(missing)")
    ]
    dates = DATES.copy()
    dates[0] = "NaT"
    assert [group[1] for group in slices(dates[PLACE])] == ["2024-09-30", "2025-01-01", "(missing)"]
    assert [group[1] for group in slices(np.ma.array(PLACE, mask=PLACE == 1))] == [
        0,
        2,
        "(missing)",
    ]
    taken = np.array(["(missing)", "a", None], dtype=object)[PLACE]
    assert [group[1] for group in slices(taken)] == ["(missing)", "a", "((missing))"]
    counts = Counts.from_labels(TRUTH, TRUTH, by=words)
    assert counts.groups == ("a", "b", "(missing)")
    assert (counts.n_cases == 20).all()
    pd = pytest.importorskip("pandas")
    for kind in ("string", "category", "Int64"):
        gaps = pd.Series([None if k == 2 else k for k in PLACE], dtype="Int64").astype(kind)
        assert [str(group[1]) for group in slices(gaps)] == ["0", "1", "(missing)"], kind


def test_several_columns_make_a_set_of_slices_each():
    both = {"site": np.array(["north", "south", "south"])[PLACE], "day": DATES[PLACE]}
    expected = [
        ("site", "north", 20),
        ("site", "south", 40),
        *(("day", day, 20) for day in ("2024-09-30", "2024-10-02", "2025-01-01")),
    ]
    assert slices(both) == expected
    pd = pytest.importorskip("pandas")
    assert slices(pd.DataFrame(both)) == expected
    pl = pytest.importorskip("polars")
    assert slices(pl.DataFrame(both)) == expected


def test_groups_of_cases_without_weight_are_none():
    column = np.array(["a", None, "b"], dtype=object)[PLACE]
    assert slices(column, weights=(PLACE != 1).astype(float)) == [(None, "a", 20), (None, "b", 20)]


def test_clusters_may_be_what_groups_may_be_but_not_missing():
    pd = pytest.importorskip("pandas")
    days = np.arange("2024-01-01", "2024-01-31", dtype="M8[D]").repeat(2)
    zero_one = Problem.zero_one(2)
    for clusters in (days, pd.Series(days).dt.to_period("D"), pd.Categorical(days.astype(str))):
        report = evaluate(
            TRUTH, CERTAINTY, zero_one, clusters=clusters, calibrator=None, replicates=5
        )
        assert report.assumptions.clusters == 30
    gaps = days.copy()
    gaps[3] = "NaT"

    def clustered(cluster: Any) -> None:
        evaluate(TRUTH, CERTAINTY, zero_one, clusters=cluster, calibrator=None, replicates=5)

    refuses(lambda: clustered(gaps), "clusters", "1 of 60", "position 3", "a cluster of its own")
    refuses(lambda: clustered({"a": days, "b": days}), "clusters must be one column", "there are 2")


def test_invalid_groups_are_refused_with_the_right_remedy():
    refuses(lambda: slices(CERTAINTY), "by", "0.05 is no whole number", "intervals")
    refuses(lambda: slices(np.stack([PLACE, PLACE], 1)), r"\(60, 2\)", "mapping from name")
    refuses(lambda: slices({}), "at least one column")
    refuses(lambda: slices({"a": PLACE, "b": PLACE[:3]}), r"by\['b'\]", "60 rows", "has 3")
    refuses(lambda: slices([1, "a"] * 30), "mixed types")
    pl = pytest.importorskip("polars")
    refuses(lambda: slices(pl.DataFrame({"a": PLACE}).lazy()), "by", "lazy", "Collect")


def test_a_measurement_makes_no_groups():
    fine = slices(np.arange(60) % 20)  # three cases each, but few groups
    assert len(fine) == 20
    ages = {"age": np.arange(60) // 2}
    refuses(lambda: slices(ages), r"by\['age'\]", "30 groups of 60", "ranges")
    y, p = np.arange(6000) % 2, np.full(6000, 0.5)
    many = np.arange(6000) % 1001
    refuses(lambda: evaluate(y, p, Problem.zero_one(2), by=many), "1,001 groups", "coarser")


# What decisions answer ---------------------------------------------------------------------------


def test_decisions_answer_classes_by_label_by_place_or_as_stated(tmp_path):
    table = [[0, 1], [9, 2]]
    assert Problem(table).answers == (0, 1)
    named = Problem(table, classes=["well", "ill"], decisions=["wait", "treat"])
    assert named.answers == ("well", "ill")
    assert Problem(table, classes=["a", "b"], decisions=["b", "a"]).answers == ("b", "a")
    assert Problem(table, classes=["a", "b"], decisions=["b", "x"]).answers == (None, None)
    assert Problem(table, classes=["a", "b"], decisions=["a", "x"]).answers == ("a", "b")
    assert FRAUD.answers == (None, None, None)
    assert FRAUD.answered is None
    assert named.with_abstention(0.5).answers == ("well", "ill", None)
    stated = Problem(
        FRAUD.costs,
        classes=FRAUD.classes,
        decisions=FRAUD.decisions,
        answers={"block": "fraud", "approve": "legit", "review": "fraud"},
    )
    assert stated.answered is not None
    assert stated.answered.tolist() == [0, 1, 1]
    for problem in (named, stated, FRAUD, Problem(table, answers={1: 0}), named.with_abstention(1)):
        problem.to_toml(tmp_path / "problem.toml")
        assert Problem.from_toml(tmp_path / "problem.toml") == problem
    assert Problem.expected([stated, stated]).answers == stated.answers
    assert stated.with_prior([0.5, 0.5]).regret().rescaled().answers == stated.answers


def test_invalid_answers_are_refused(tmp_path):
    table = [[0, 1], [9, 2]]
    refuses(lambda: Problem(table, answers=[0, 1]), "answers must be a mapping", "list")
    refuses(lambda: Problem(table, answers={"x": 0}), "'x' is none of the decisions")
    refuses(lambda: Problem(table, answers={0: "ill"}), "'ill' is none of the classes")
    path = tmp_path / "problem.toml"
    Problem(table, decisions=["wait", "treat"]).to_toml(path)
    text = path.read_text()
    path.write_text(text + '\n[answers]\ntreat = "2"\n')
    refuses(lambda: Problem.from_toml(path), "answers must map", "'2' is none of 0, 1")
    path.write_text('answers = "yes"\n' + text)
    refuses(lambda: Problem.from_toml(path), "answers must be a table")


def test_named_decisions_have_recall_precision_likelihood_ratios_and_net_benefit():
    problem = Problem([[0, 1], [9, 2]], classes=["well", "ill"], decisions=["wait", "treat"])
    y = ["well"] * 10 + ["ill"] * 5
    decided = ["wait"] * 8 + ["treat"] * 6 + ["wait"]
    counts = Counts.from_decisions(y, decided, problem)
    assert recall(counts).tolist() == [0.8, 0.8]
    assert precision(counts)[1] == pytest.approx(4 / 6)
    assert likelihood_ratio_positive(counts)[1] == pytest.approx(4)
    swapped = Counts(counts.values[:, ::-1], classes=("well", "ill"), decisions=("ill", "well"))
    assert recall(swapped).tolist() == [0.8, 0.8]
    assert net_benefit(swapped, 0.5) == net_benefit(counts, 0.5)


def test_a_problem_says_which_classes_the_decisions_of_a_wide_table_answer():
    answers = {"approve": "legit", "review": "fraud", "block": "fraud"}
    stated = Problem(FRAUD.costs, classes=FRAUD.classes, decisions=FRAUD.decisions, answers=answers)
    y = ["legit", "legit", "fraud", "fraud", "fraud"]
    decided = ["approve", "review", "review", "block", "approve"]
    counts = Counts.from_decisions(y, decided, stated)
    assert counts.answering(stated).values.tolist() == [[1, 1], [1, 2]]
    assert recall(counts.answering(stated)).tolist() == [1 / 2, 2 / 3]
    refuses(lambda: recall(counts), "2 classes and 3 decisions", "counts.answering")
    refuses(lambda: counts.answering(FRAUD), "every decision of counts must answer a class")
    models = {"rule": np.array(decided * 10), "other": np.array(["block"] * 50)}
    report = evaluate(y * 10, models, stated, replicates=5)
    assert report.disagreement is not None
    values = dict(zip(report.disagreement.metrics, report.disagreement.values[:, 0], strict=True))
    assert values["accuracy"] == pytest.approx(0.6)


def test_mcnemar_takes_named_decisions():
    y = ["well"] * 20
    decided = {
        "a": ["treat"] * 8 + ["wait"] * 12,
        "b": ["wait"] * 8 + ["treat"] * 3 + ["wait"] * 9,
    }
    named = Problem([[0, 1], [9, 2]], classes=["well", "ill"], decisions=["wait", "treat"])
    test = mcnemar(JointCounts.from_decisions(y, decided, named), "a", "b")
    assert [float(test.first_wrong), float(test.second_wrong)] == [8, 3]
    wide = Problem(
        [[0, 1, 1], [9, 2, 1]],
        classes=["well", "ill"],
        decisions=["wait", "treat", "ask"],
        answers={"wait": "well", "treat": "ill", "ask": "ill"},
    )
    decided["b"][-1] = "ask"
    joint = JointCounts.from_decisions(y, decided, wide)
    refuses(lambda: mcnemar(joint, "a", "b"), "decisions that answer the classes", "answers=")
    assert mcnemar(joint, "a", "b", problem=wide).second_wrong == 4
    refuses(lambda: mcnemar(joint, "a", "b", problem=FRAUD), "the classes of joint and problem")


# Remedies ----------------------------------------------------------------------------------------


def test_a_remedy_is_one():
    zero_one = Problem.zero_one(2)
    y, square = [0, 1], [[0.2, 0.8], [0.9, 0.1]]
    refuses(lambda: Counts.from_decisions(y, square, zero_one), "bayes_decisions first")
    for call in (
        lambda: Counts.from_decisions(square, y, zero_one),
        lambda: Counts.from_labels(y, y, by=square),
        lambda: evaluate(y, [0.1, 0.9], zero_one, by=square),
    ):
        with pytest.raises(InputError) as caught:
            call()
        assert "bayes_decisions" not in str(caught.value)
    uncalled: tuple[Any, ...] = (EqualWidth, EqualMass)
    for bins in uncalled:
        with pytest.raises(InputError, match=r"Write EqualWidth\(10\)"):
            stakes.calibration.calibration_error(
                ScoreTable.from_scores(y, [0.1, 0.9]), bins, order=1
            )
    with pytest.raises(InputError, match=r"Write Isotonic\(\)\."):
        cross_calibrate([0.1, 0.9], y, cast(Any, Isotonic), 2, rng=np.random.default_rng(0))


def test_a_frame_of_models_and_a_lazy_frame_are_refused_with_a_remedy():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"forest": [0.1, 0.9], "tree": [0.3, 0.6]})
    refuses(
        lambda: evaluate([0, 1], frame, Problem.zero_one(2)),
        "must be those of the problem",
        r"\{name: frame\[name\] for name in frame.columns\}",
    )
    pl = pytest.importorskip("polars")
    lazy = pl.DataFrame({"p": [0.1, 0.9]}).lazy()
    for call in (
        lambda: evaluate([0, 1], lazy, Problem.zero_one(2)),
        lambda: evaluate(lazy, [0.1, 0.9], Problem.zero_one(2)),
        lambda: evaluate([0, 1], {"m": lazy}, Problem.zero_one(2)),
        lambda: evaluate([0, 1], {"m": Posteriors(lazy)}, Problem.zero_one(2)),
        lambda: Counts.from_labels(lazy, [0, 1]),
    ):
        refuses(call, "lazy", "Collect it first")


@pytest.mark.parametrize("name", ["models", "by", "clusters", "weights", "key", "engine"])
@pytest.mark.parametrize(
    "strange", [object(), 3.5, [], np.zeros((2, 2, 2))], ids=["object", "number", "list", "array"]
)
def test_columns_and_engines_of_a_frame_are_named_by_text(name, strange):
    if name == "by" and isinstance(strange, list):
        return  # no columns
    pa = pytest.importorskip("pyarrow")
    frame = pa.table({"y": [0, 1] * 9, "p": [0.1, 0.8] * 9})
    usual = {"y_true": "y", "models": {"m": "p"}, "calibrator": None}
    refuses(
        lambda: stakes.evaluate_frame(frame, Problem.zero_one(2), **{**usual, name: strange}),
        f"^{name} must be",
    )


@pytest.mark.parametrize("render", ["to_text", "to_markdown", "to_json", "to_html"])
def test_what_is_no_report_is_not_rendered(render):
    pytest.importorskip("jinja2")
    refuses(lambda: getattr(stakes.render, render)(None), "^report must be a Report")


@pytest.mark.parametrize(("costs", "told"), [([[0, 1], [3, 0]], 0), ([[0, 1, 2], [3, 1, 0]], 1)])
def test_raw_scores_are_said_to_allow_no_decision_where_one_threshold_does_not(costs, told):
    y, scores = np.array([0, 1] * 20), np.linspace(-2, 3, 40)
    models = {"raw": Scores(scores), "other": np.clip(scores / 3, 0.1, 0.9)}
    report = evaluate(y, models, Problem(costs), calibrator=None, replicates=5)
    assert sum("allow no decision" in caveat.text for caveat in report.caveats) == told


def test_numbers_up_to_a_hundred_may_be_percentages():
    with pytest.raises(InputError, match="Divide percentages by 100"):
        bayes_decisions([5.0, 10.5], Problem.zero_one(2))


@pytest.mark.parametrize("kind", [float, np.float32, lambda x: Decimal(str(x))])
def test_objects_that_are_fractions_are_posteriors(kind):
    rng = np.random.default_rng(6)
    p, y = rng.random(80).round(3), rng.integers(0, 2, 80)
    objects = np.array([kind(x) for x in [1.0, *p[1:]]], dtype=object)
    problem = Problem.binary(false_alarm=1, miss=3)
    plain = evaluate(y, objects.astype(float), problem, calibrator=None)
    assert evaluate(y, objects, problem, calibrator=None).best.cost == plain.best.cost
    whole = np.array([1.0, 0.0] * 40, dtype=object)  # labels: 1.0 is the label 1
    assert evaluate(y, whole, problem).best.rule == "as decided"
    with pytest.raises(InputError, match="must hold a label for every case"):
        evaluate(y, np.array([Decimal("sNaN"), Decimal("0")] * 40, dtype=object), problem)


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_posteriors_in_columns_of_one_name_are_refused_with_it(library):
    guest, columns = pytest.importorskip(library), np.full((2, 2), 0.5)
    make = {
        "pandas": lambda: guest.DataFrame(columns, columns=["a", "a"]),
        "pyarrow": lambda: guest.table(list(columns), names=["a", "a"]),
    }
    refuses(
        lambda: metrics.bayes_cost([0, 1], make[library](), problem=Problem.zero_one(2)),
        "^the classes of y_proba must be distinct; 'a' appears twice .* Rename one of them",
    )


@pytest.mark.parametrize("kind", ["list", "array", "tuple"])
def test_a_column_of_whole_rows_is_refused_with_how_it_becomes_an_array(kind):
    make: Any = {"list": list, "array": np.array, "tuple": tuple}[kind]
    column, problem = np.empty(4, dtype=object), Problem.zero_one(2)
    column[:] = [make([0.2, 0.8]) for _ in range(4)]
    rule = "^models must be an array of numbers or labels; its entries are of type"
    refuses(lambda: evaluate([0, 1, 0, 1], column, problem), rule, r"np\.stack")
    # They are there, and are no labels.
    fault = "^y_true must hold labels among 0, 1; 4 of 4 are none of these, the first being"
    refuses(lambda: evaluate(column, [0.1, 0.2, 0.3, 0.4], problem), fault)


def test_a_column_of_structs_is_refused_because_its_fields_have_names():
    pl = pytest.importorskip("polars")
    fields = [{"fraud": 0.9, "legit": 0.1}, {"fraud": 0.2, "legit": 0.8}] * 4
    problem = Problem.zero_one(["legit", "fraud"])
    column, fault = pl.Series(fields), r"a column of structs.*column\.struct\.unnest\(\)"
    refuses(lambda: bayes_decisions(column, problem), "^posteriors", fault)
    refuses(lambda: evaluate(["fraud", "legit"] * 4, {"net": column}, problem), "^models", fault)
    decided = bayes_decisions(column.struct.unnest(), problem)
    assert list(decided) == ["fraud", "legit"] * 4


def test_whole_numbers_of_any_size_are_labels_as_long_as_they_can_be_written():
    y, large, endless = np.array([0, 1, 1, 0] * 5), 2**70, 10**5000
    p, sites = 0.2 + 0.6 * y, [large if k % 3 else -large for k in range(20)]
    problem, plain = Problem([[0, 1], [5, 0]], classes=[0, 2**64]), Problem.zero_one(2)
    truth = [2**64 if label else 0 for label in y]
    quick: dict[str, Any] = {"calibrator": None, "replicates": 5}
    unsigned = np.array([2**64 - 1 if label else 0 for label in y], dtype=np.uint64)
    for groups in (sites, unsigned):
        report = evaluate(truth, p, problem, by=groups, **quick)
        assert Report.from_json(report.to_json()) == report
    fault = "labels that can be written; one is a number of about 5,000 digits. Name it by a text"
    refuses(lambda: Problem(problem.costs, classes=[0, endless]), "^classes", fault)
    refuses(lambda: evaluate(y, {endless: p}, plain, **quick), "^the models", fault)
    refuses(lambda: evaluate(y, p, plain, by=[endless, 0] * 10, **quick), "^by", fault)


@pytest.mark.parametrize("settings", [{}, {"calibrator": None, "replicates": 10}])
def test_posteriors_of_a_model_are_checked_once_and_by_the_fit_of_a_map(settings, monkeypatch):
    n_cases, rng = 3000, np.random.default_rng(0)
    y = (rng.random(n_cases) < 0.3).astype(int)
    signals = rng.normal(2.0 * y - 1, 1, (2, n_cases))
    models = {"one": 1 / (1 + np.exp(-signals[0])), "two": 1 / (1 + np.exp(-2 * signals[1]))}
    problem = Problem.binary(false_alarm=1, miss=9, prior=[0.9, 0.1])
    sizes, check = [], stakes._check.posteriors

    def counted(*arguments: Any, **options: Any) -> Any:
        rows = check(*arguments, **options)
        sizes.append(len(rows))
        return rows

    monkeypatch.setattr(stakes._check, "posteriors", counted)
    evaluate(y, models, problem, **settings)
    # The map of all cases, which the cuts need, is fitted as a user would fit it.
    fits = 0 if settings else len(models)
    assert [size for size in sizes if size > n_cases / 2] == [n_cases] * (len(models) + fits)
