"""Weights are sampling weights, whole or not; copies are copies of a row."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from stakes import (
    Counts,
    Decisions,
    InputError,
    JointCounts,
    LossMoments,
    Problem,
    ScoreTable,
    evaluate,
    metrics,
)
from stakes.calibration import Affine
from stakes.inference import (
    AllCases,
    PoissonWeights,
    WeightStrata,
    WithinClasses,
    bootstrap,
    cost_support,
    delong_auc,
    delta_expected_cost,
    difference_support,
    few_weights,
    resample,
    support_bounds,
)
from stakes.inference.likelihood import StratumRule, stratum_rule
from stakes.measures import expected_cost
from stakes.tally import JointScores

PROBLEM = Problem.binary(false_alarm=2, miss=18)
FOUR: dict[str, Any] = {"replicates": 4, "rng": np.random.default_rng(0)}


def audited(seed: int, *, one_in: int = 10, n_cases: int = 4000, either: bool = True) -> Any:
    """Cases with the flags of two systems, of which the flagged and one in ten others are checked.

    Returns classes, decisions and weights of the rows, and classes and decisions of all cases.
    """
    rng = np.random.default_rng(seed)
    y = rng.random(n_cases) < 0.05
    first = rng.random(n_cases) < np.where(y, 0.6, 0.08)
    also = np.where(y, np.where(first, 0.85, 0.25), np.where(first, 0.5, 0.03))
    second = rng.random(n_cases) < also
    checked = first | second if either else first
    rest = np.flatnonzero(~checked)
    drawn = rng.choice(rest, rest.size // one_in, replace=False)
    weights = np.where(checked, 1.0, 0.0)
    weights[drawn] = rest.size / drawn.size
    rows = weights > 0
    every = y.astype(int), {"a": first.astype(int), "b": second.astype(int)}
    return (*(taken(part, rows) for part in every), weights[rows], *every)


def taken(part: Any, rows: Any) -> Any:
    return {k: v[rows] for k, v in part.items()} if isinstance(part, dict) else part[rows]


TRUTH = 0.05 * 0.4 * 18 + 0.95 * 0.08 * 2  # the cost of the first system


# An audit ----------------------------------------------------------------------------------------


def report_of(y: Any, decided: Any, **options: Any) -> Any:
    return evaluate(y, {k: Decisions(d) for k, d in decided.items()}, PROBLEM, **options)


@pytest.mark.parametrize("n_sets", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_the_cost_in_an_audit_is_covered(n_sets):
    """Read as numbers of equal rows, the weights cover in about half of the data sets."""
    covered = []
    for seed in range(n_sets):
        y, decided, weights, *_ = audited(seed)
        joint = JointCounts.from_decisions(y, decided, PROBLEM)
        strata = strata_of(joint, y, decided, weights)
        low, high = support_bounds(support_of_cost(joint, strata, "a"), 0.95)
        covered.append(low <= TRUTH <= high)
    assert np.mean(covered) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / n_sets)


def test_whole_weights_of_an_audit_give_the_intervals_of_strata_and_not_of_copies():
    y, decided, weights, y_all, decided_all = audited(1)
    whole = np.rint(weights)
    report, copied = report_of(y, decided, weights=whole), report_of(y, decided, copies=whole)
    every = report_of(y_all, decided_all)
    for system in ("a (as decided)", "b (as decided)"):
        wide, narrow, full = (r.system(system).cost for r in (report, copied, every))
        assert wide.value == pytest.approx(narrow.value)
        assert wide.high - wide.low > 1.8 * (narrow.high - narrow.low)
        assert 0.7 < (narrow.high - narrow.low) / (full.high - full.low) < 1.4
    text = next(c.text for c in report.caveats if c.kind == "whole weights")
    assert "copies=" in text
    assert not any("weights" in c.kind for c in copied.caveats)


def test_differences_in_an_audit_of_both_systems_are_as_narrow_as_with_all_labels():
    y, decided, weights, y_all, decided_all = audited(2)
    joint = JointCounts.from_decisions(y, decided, PROBLEM)
    strata = strata_of(joint, y, decided, weights)
    tally = joint.with_cell_weights(strata.weights @ strata.rows)
    narrow = difference_support(tally, PROBLEM, [(0, 1)], squares=strata).of_quantity(0)
    wide = difference_support(tally, PROBLEM, [(0, 1)], squares=strata.squares).of_quantity(0)
    full = JointCounts.from_decisions(y_all, decided_all, PROBLEM)
    known = difference_support(full, PROBLEM, [(0, 1)]).of_quantity(0)
    widths = [np.ptp(support_bounds(each, 0.95)) for each in (known, narrow, wide)]
    assert 0.9 < widths[1] / widths[0] < 1.1
    assert widths[2] > 1.5 * widths[0]


def strata_of(joint: JointCounts, y: Any, decided: Any, weights: Any) -> WeightStrata:
    """The rows by weight, in plain loops."""
    distinct = sorted(set(weights.tolist()))
    cells = [tuple(cell) for cell in joint.cells.tolist()]
    rows = np.zeros((len(distinct), len(cells)))
    for weight, *cell in zip(weights.tolist(), y.tolist(), *decided.values(), strict=True):
        rows[distinct.index(weight), cells.index(tuple(map(int, cell)))] += 1
    return WeightStrata(np.array(distinct), rows)


def support_of_cost(joint: JointCounts, strata: WeightStrata, name: str) -> Any:
    tables = joint.with_cell_weights(strata.rows).model(name).values
    counts = Counts(np.tensordot(strata.weights, tables, 1))
    return cost_support(counts, PROBLEM, squares=WeightStrata(strata.weights, tables))


# The strata, in plain loops ----------------------------------------------------------------------


def test_strata_have_the_shares_means_and_errors_of_plain_loops():
    y, decided, weights, *_ = audited(3, n_cases=600)
    weights[:5] = 3.5  # a stratum of few rows
    joint = JointCounts.from_decisions(y, decided, PROBLEM)
    support = support_of_cost(joint, strata_of(joint, y, decided, weights), "a")
    losses = [PROBLEM.costs[k, d] for k, d in zip(y, decided["a"], strict=True)]
    total = sum(weights)
    theta = sum(w * c for w, c in zip(weights, losses, strict=True)) / total
    between, shares = 0.0, []
    for weight in sorted(set(weights)):
        inside = [c for w, c in zip(weights, losses, strict=True) if w == weight]
        mean = sum(inside) / len(inside)
        between += len(inside) * weight**2 * (mean - theta) ** 2 / total**2
        shares.append(len(inside) * weight / total)
    assert float(support.mean) == pytest.approx(theta, rel=1e-12)
    assert float(support.between) == pytest.approx(between, rel=1e-12)
    assert support.counts.sum(axis=-1).tolist() == [
        np.sum(weights == w) for w in np.unique(weights)
    ]
    np.testing.assert_allclose(support.highest, 18 * np.array(shares), rtol=1e-12)
    assert support.lowest.tolist() == [0.0] * 3
    # Distances from the estimate add by their squares.
    within = [float(end) for end in support_bounds(support._but(between=np.asarray(0.0)), 0.95)]
    bounds = [float(end) for end in support_bounds(support, 0.95)]
    for end, inner in zip(bounds, within, strict=True):
        assert (end - theta) ** 2 == pytest.approx((inner - theta) ** 2 + 3.841459 * between)


def test_variances_within_and_between_strata_are_that_of_a_weighted_mean():
    """So nothing is said more surely than the rows allow, each drawn by itself."""
    y, decided, weights, *_ = audited(4)
    losses = PROBLEM.costs[y, decided["a"]]
    mean, parts = np.average(losses, weights=weights), 0.0
    for weight in np.unique(weights):
        inside = losses[weights == weight]
        parts += np.sum(weight**2 * (inside - inside.mean()) ** 2)
        parts += inside.size * weight**2 * (inside.mean() - mean) ** 2
    assert parts == pytest.approx(np.sum(weights**2 * (losses - mean) ** 2), rel=1e-12)


def test_one_stratum_is_no_stratum():
    y, decided, *_ = audited(5, n_cases=600)
    counts = Counts.from_decisions(y, decided["a"], PROBLEM)
    alone = WeightStrata(np.array([7.0]), counts.values[None])
    weighing = Counts(7 * counts.values)
    bounds = support_bounds(cost_support(weighing, PROBLEM, squares=alone), 0.95)
    plain = support_bounds(cost_support(counts, PROBLEM), 0.95)
    np.testing.assert_allclose(bounds, plain, rtol=1e-9)


def test_strata_of_one_row_or_of_one_class_are_not_taken_for_sure():
    table = np.array([[80.0, 20.0], [5.0, 15.0]])
    one_row, one_class = np.zeros((2, 2)), np.zeros((2, 2))
    one_row[0, 0], one_class[0] = 1, (30, 10)
    for heavy in (one_row, one_class):
        strata = WeightStrata(np.array([1.0, 50.0]), np.stack([table, heavy]))
        counts = Counts(np.tensordot(strata.weights, strata.rows, 1))
        low, high = support_bounds(cost_support(counts, PROBLEM, squares=strata), 0.95)
        cost = float(expected_cost(counts, PROBLEM))
        assert low < cost < high
        # Its costly cases may be missing: a few of its rows could cost 18 each.
        assert high - cost > 18 * 2 / (heavy.sum() + 3) * 50 * heavy.sum() / counts.n_cases


def test_strata_that_are_classes_leave_the_design_effect():
    rows = np.array([[[0.0, 0.0], [10.0, 40.0]], [[190.0, 10.0], [0.0, 0.0]]])
    strata = WeightStrata(np.array([1.0, 20.0]), rows)
    counts = Counts(np.tensordot(strata.weights, rows, 1))
    of_strata, of_squares = (
        support_bounds(cost_support(counts, PROBLEM, squares=squares), 0.95)
        for squares in (strata, strata.squares)
    )
    assert of_strata == of_squares


def test_few_weights_are_twenty_and_equal_up_to_rounding():
    assert few_weights(np.arange(1.0, 21.0)) is not None
    assert few_weights(np.arange(1.0, 22.0)) is None
    assert few_weights(np.array([0.1 + 0.2, 0.3, 10.0])) == pytest.approx([0.3, 10.0])


# Which decisions are possible in a stratum -------------------------------------------------------


@pytest.mark.parametrize("either", [True, False])
def test_the_rule_of_an_audit_is_found_and_allows_what_it_allows(either):
    y, decided, weights, *_ = audited(6, either=either)
    joint = JointCounts.from_decisions(y, decided, PROBLEM)
    rule = stratum_rule(strata_of(joint, y, decided, weights), joint)
    assert rule is not None
    assert rule.systems == ((0, 1) if either else (0,))
    possible = rule.possible(np.array([[0, 1]]), np.ones((2, 2), dtype=bool), 2)[:, 0]
    for stratum, first, second in itertools.product((0, 1), repeat=3):
        checked = bool(first or second) if either else bool(first)
        assert possible[stratum, first, second] == (checked == (stratum == 0))


def test_weights_by_chance_are_no_rule_and_decisions_seen_nowhere_stay_possible():
    y, decided, weights, *_ = audited(7)
    joint = JointCounts.from_decisions(y, decided, PROBLEM)
    mixed = np.random.default_rng(7).permutation(weights)
    assert stratum_rule(strata_of(joint, y, decided, mixed), joint) is None
    some = slice(0, 12)
    few = strata_of(joint, y[some], taken(decided, some), weights[some])
    assert stratum_rule(few, joint) is None
    rule = StratumRule((0,), np.array([1, -1]))
    possible = rule.possible(np.array([[0, 1]]), np.ones((2, 2), dtype=bool), 2)[:, 0]
    assert possible[:, 1].all()
    assert possible[:, 0, 0].tolist() == [False, True]


# What a tally records ----------------------------------------------------------------------------

Y, DECIDED, SCORES = [0, 0, 1, 1, 0], [0, 1, 1, 0, 1], [0.1, 0.6, 0.7, 0.3, 0.4]
TWICE: Any = {"weights": [1, 10, 10, 1, 10]}


def tallies(**weights: Any) -> list[Any]:
    return [
        Counts.from_decisions(Y, DECIDED, PROBLEM, **weights),
        Counts.from_labels(Y, DECIDED, **weights),
        JointCounts.from_decisions(Y, {"a": DECIDED}, PROBLEM, **weights),
        ScoreTable.from_scores(Y, SCORES, **weights),
        JointScores.from_scores(Y, {"a": SCORES}, **weights),
        LossMoments.from_losses(Y, {"a": SCORES}, **weights),
    ]


def test_tallies_record_weights_and_keep_the_record():
    assert [tally.weighted for tally in tallies()] == [False] * 6
    assert [tally.weighted for tally in tallies(weights=np.ones(5))] == [False] * 6
    assert [tally.weighted for tally in tallies(copies=[1, 10, 10, 1, 10])] == [False] * 6
    for weighing, plain in zip(tallies(**TWICE), tallies(), strict=True):
        prior = dict.fromkeys(weighing.class_names, 0.5)
        sums = weighing + weighing, weighing + plain, plain + weighing, weighing.with_prior(prior)
        assert all(tally.weighted for tally in (weighing, *sums))
        assert not (plain + plain).weighted
    by = ["x", "y", "x", "y", "x"]
    grouped = Counts.from_decisions(Y, DECIDED, PROBLEM, **TWICE, by=by)
    assert all(tally.weighted for tally in (grouped, grouped.pooled(), grouped.group("x")))
    _, _, joint, table, scores, _ = tallies(**TWICE)
    parts = joint.model("a"), scores.table("a"), table
    assert all(tally.weighted for tally in parts)
    assert not Counts([[90, 10], [3, 7]]).weighted


def test_copies_of_tallies_are_repeated_rows():
    times = [1, 10, 10, 1, 10]
    y, decided, scores = (np.repeat(part, times) for part in (Y, DECIDED, SCORES))
    repeated = [
        Counts.from_decisions(y, decided, PROBLEM),
        Counts.from_labels(y, decided),
        JointCounts.from_decisions(y, {"a": decided}, PROBLEM),
        ScoreTable.from_scores(y, scores),
        JointScores.from_scores(y, {"a": scores}),
    ]
    assert tallies(copies=times)[:5] == repeated
    with pytest.raises(InputError, match="weights and copies must not both"):
        Counts.from_decisions(Y, DECIDED, PROBLEM, weights=times, copies=times)


@pytest.mark.parametrize("scheme", [AllCases(), WithinClasses(), PoissonWeights()])
def test_tallies_made_of_whole_weights_are_not_resampled(scheme):
    for tally in tallies(**TWICE)[:5]:
        with pytest.raises(InputError, match=r"made with weights=.*copies="):
            resample(tally, scheme, **FOUR)
    for tally in tallies(copies=TWICE["weights"])[:5]:
        resample(tally, scheme, **FOUR)


def test_formulas_and_tables_with_intervals_refuse_whole_weights():
    counts, *_, table, _, _ = tallies(**TWICE)
    for call in (
        lambda: delta_expected_cost(counts, PROBLEM),
        lambda: bootstrap(lambda c: expected_cost(c, PROBLEM), counts, **FOUR),
        lambda: delong_auc(table),
        lambda: cost_support(counts, PROBLEM),
    ):
        with pytest.raises(InputError, match="made with weights="):
            call()


def test_tables_of_metrics_take_whole_weights_as_weights():
    rng = np.random.default_rng(8)
    y = (rng.random(400) < 0.3).astype(int)
    p = np.clip(0.3 + 0.4 * (y - 0.3) + 0.2 * rng.standard_normal(400), 0.01, 0.99).round(2)
    weights = np.where(np.arange(400) % 2, 10, 1)
    problem = Problem.from_threshold(0.3)

    def intervals(sample_weight: Any) -> Any:
        options: dict[str, Any] = {"sample_weight": sample_weight}
        rows = metrics.clinical_table(y, (p > 0.3).astype(int), problem, **options).rows
        options |= {"replicates": 20, "rng": np.random.default_rng(1)}
        rows += metrics.calibration_table(y, p, **options).rows
        return np.array([[row.value, row.low, row.high] for row in rows])

    whole, halves, none = intervals(weights), intervals(weights / 2), intervals(None)
    np.testing.assert_allclose(whole, halves, rtol=5e-3)  # windows hold whole numbers of cases
    np.testing.assert_allclose(intervals(np.full(400, 7)), none, rtol=1e-9)
    assert (np.diff(whole[:3, 1:]) > np.diff(none[:3, 1:])).all()


def test_the_record_survives_the_report_and_its_json():
    y, decided, weights, *_ = audited(9, n_cases=800)
    for options, is_weighted in (
        ({"weights": weights}, True),
        ({"copies": np.rint(weights)}, False),
    ):
        report = report_of(y, decided, **options)
        assert report.best.counts.weighted is is_weighted
        again = type(report).from_json(report.to_json())
        assert again == report
        assert again.best.counts.weighted is is_weighted


def test_copies_that_stay_in_one_fold_are_told_where_something_is_fitted_out_of_fold():
    rng = np.random.default_rng(0)
    p = rng.choice(np.arange(1, 10) / 10, 600)
    y = (rng.random(600) < p**2).astype(int)
    cells, times = np.unique(np.stack([p, y], 1), axis=0, return_counts=True)
    rows: dict[str, Any] = {"replicates": 20, "copies": times}
    for calibrator, told in ((Affine(), True), (None, False)):
        report = evaluate(
            cells[:, 1].astype(int),
            {"m": cells[:, 0]},
            Problem([[0, 1], [3, 0]]),
            calibrator=calibrator,
            **rows,
        )
        texts = [c.text for c in report.caveats if c.kind == "copies in one fold"]
        assert bool(texts) is told
        assert all("np.repeat(rows, copies)" in text for text in texts)
