"""Tallies: reading rows, merging, reweighting, pooling."""

from __future__ import annotations

import copy
import math
import pickle
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import (
    Counts,
    InputError,
    JointCounts,
    Limit,
    LossMoments,
    Problem,
    ScoreTable,
    expected_cost,
    price_limits,
)
from stakes._value import Value
from stakes.measures import recall
from stakes.tally import JointScores, tallies_by_model
from stakes.tally.base import class_factors

PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"], decisions=["approve", "review", "block"]
)
case = st.tuples(
    st.sampled_from(PROBLEM.classes),
    st.sampled_from(PROBLEM.decisions),
    st.integers(1, 3),
    st.sampled_from([-1.0, 0.0, 0.25, 0.5, 7.0]),
)
cases = st.lists(case, min_size=1, max_size=30)


@pytest.mark.parametrize(
    "read",
    [list, tuple, np.array, lambda x: np.array(x, dtype=object)],
)
def test_labels_come_in_many_forms(read):
    y, decided = ["legit", "fraud", "legit"], ["block", "block", "approve"]
    counts = Counts.from_decisions(read(y), read(decided), PROBLEM)
    assert counts.values.tolist() == [[1, 0, 1], [0, 0, 1]]


def test_one_label_in_many_number_types():
    zero_one = Problem.zero_one(2)
    for y in (
        [1, 0],
        [1.0, 0.0],
        [True, False],
        np.array([1, 0], dtype=np.uint8),
        np.array([1, 0], dtype=object),
        np.array([1, 0], dtype=np.float32),
        [np.int64(1), False],
    ):
        assert Counts.from_decisions(y, [1, 1], zero_one).values.tolist() == [[0, 1], [0, 1]]


def test_frames_and_categoricals_come_in():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    y, decided = ["legit", "fraud", "legit"], ["block", "block", "approve"]
    expected = Counts.from_decisions(y, decided, PROBLEM)
    for series in (
        pd.Series(y),
        pd.Series(y, dtype="category"),
        pd.Categorical(y),
        pl.Series(y),
        pl.Series(y, dtype=pl.Categorical),
        pd.Series(y, dtype="string"),
    ):
        assert Counts.from_decisions(series, decided, PROBLEM) == expected
    with pytest.raises(InputError, match="one label for every case"):
        Counts.from_decisions(pd.DataFrame({"y": y}), decided, PROBLEM)
    with pytest.raises(InputError, match="1 of 2"):
        Counts.from_decisions(pd.Series(["legit", None]), decided[:2], PROBLEM)


@given(cases)
def test_counts_are_plain_sums(rows):
    y, decided, weights, _ = zip(*rows, strict=True)
    slow = [[0.0] * 3 for _ in range(2)]
    for k, d, w, _ in rows:
        slow[PROBLEM.classes.index(k)][PROBLEM.decisions.index(d)] += w
    counts = Counts.from_decisions(y, decided, PROBLEM, weights=weights)
    assert counts.values.tolist() == slow
    assert counts.n_cases == sum(weights)
    groups = ["even" if w % 2 == 0 else "odd" for w in weights]
    by_group = Counts.from_decisions(y, decided, PROBLEM, weights=weights, by=groups)
    assert by_group.groups == tuple(sorted(set(groups)))
    assert by_group.values.sum(axis=0).tolist() == slow
    for name in by_group.groups:
        members = [row for row, group in zip(rows, groups, strict=True) if group == name]
        alone = Counts.from_decisions(
            [r[0] for r in members],
            [r[1] for r in members],
            PROBLEM,
            weights=[r[2] for r in members],
        )
        # Rows of one weight count as rows, so that only the whole is known to be weighted.
        assert by_group.group(name).values.tolist() == alone.values.tolist()


@given(cases)
def test_score_tables_pool_equal_scores(rows):
    y, _, weights, scores = zip(*rows, strict=True)
    table = ScoreTable.from_scores([k == "fraud" for k in y], scores, copies=weights)
    assert table.scores.tolist() == sorted(set(scores))
    for score, (negative, positive) in zip(table.scores, table.weights, strict=True):
        assert negative == sum(w for k, _, w, s in rows if s == score and k == "legit")
        assert positive == sum(w for k, _, w, s in rows if s == score and k == "fraud")
    repeated = [row for row in rows for _ in range(row[2])]
    plain = ScoreTable.from_scores([r[0] == "fraud" for r in repeated], [r[3] for r in repeated])
    assert plain == table  # cases that count once take another road to the same table


@given(cases)
def test_counts_of_a_table_are_the_decisions_above_each_threshold(rows):
    y, _, weights, scores = zip(*rows, strict=True)
    truth = np.array([k == "fraud" for k in y])
    table = ScoreTable.from_scores(truth, scores, weights=weights)
    counts = table.counts()
    assert counts.values.shape == (table.scores.size + 1, 2, 2)
    for threshold, values in zip(table.thresholds, counts.values, strict=True):
        above = np.array(scores) > threshold
        expected = Counts.from_labels(truth, above, labels=[False, True], weights=weights)
        assert values.tolist() == expected.values.tolist()


def test_binning_keeps_the_decisions_at_every_edge_and_the_mean_score():
    rng = np.random.default_rng(0)
    y, scores = rng.random(300) < 0.2, rng.normal(size=300).round(1)
    table = ScoreTable.from_scores(y, scores)
    edges = [-1.0, 0.0, 0.3, 1.55]
    binned = table.binned(edges)
    assert binned.scores.size == 5
    for edge in edges:
        above, binned_above = table.scores > edge, binned.scores > edge
        assert (table.weights[above].sum(0) == binned.weights[binned_above].sum(0)).all()
    mean = (table.scores * table.weights.sum(1)).sum()
    assert (binned.scores * binned.weights.sum(1)).sum() == pytest.approx(mean)
    assert table.binned([]).scores.size == 1
    with pytest.raises(InputError, match="increasing"):
        table.binned([1, 0])
    with pytest.raises(InputError, match=r"table\[0\]"):
        ScoreTable(table.scores, np.stack([table.weights] * 2)).binned(edges)


@given(cases, cases)
def test_tallies_of_chunks_add_up_to_the_tally_of_all(first, second):
    def tallies(rows):
        y, decided, weights, scores = zip(*rows, strict=True)
        return (
            Counts.from_decisions(y, decided, PROBLEM, weights=weights),
            ScoreTable.from_scores([k == "fraud" for k in y], scores, weights=weights),
            JointCounts.from_decisions(
                y, {"m": decided, "n": decided[::-1]}, PROBLEM, weights=weights
            ),
        )

    y, decided, _, _ = zip(*first, *second, strict=True)
    reverse = [d for rows in (first, second) for d in [row[1] for row in rows][::-1]]
    together = tallies(first + second)
    joint = JointCounts.from_decisions(
        y, {"m": decided, "n": reverse}, PROBLEM, weights=[row[2] for row in first + second]
    )
    for tally, two, all_ in zip(
        tallies(first), tallies(second), (*together[:2], joint), strict=True
    ):
        assert tally + two == all_
        assert two + tally == all_


@given(cases)
def test_joint_counts_hold_every_models_counts(rows):
    y, decided, weights, _ = zip(*rows, strict=True)
    other = decided[1:] + decided[:1]
    joint = JointCounts.from_decisions(y, {"m": decided, "n": other}, PROBLEM, weights=weights)
    assert joint.model("m") == Counts.from_decisions(y, decided, PROBLEM, weights=weights)
    assert joint.model("n") == Counts.from_decisions(y, other, PROBLEM, weights=weights)
    assert joint.n_cases == sum(weights)
    assert len({tuple(cell) for cell in joint.cells.tolist()}) == len(joint.cells)
    assert joint.shares == pytest.approx(joint.model("m").shares)


def test_joint_counts_of_many_models_do_not_overflow():
    rng = np.random.default_rng(0)
    y = np.array(PROBLEM.classes)[rng.integers(0, 2, 50)]
    decided = {f"m{j}": np.array(PROBLEM.decisions)[rng.integers(0, 3, 50)] for j in range(45)}
    joint = JointCounts.from_decisions(y, decided, PROBLEM)
    for name in ("m0", "m44"):
        assert joint.model(name) == Counts.from_decisions(y, decided[name], PROBLEM)


@given(cases, st.floats(0.05, 0.95))
def test_with_prior_changes_shares_and_nothing_within_classes(rows, p):
    y, decided, weights, scores = zip(*rows, strict=True)
    counts = Counts.from_decisions(y, decided, PROBLEM, weights=weights)
    moved = counts.with_prior({"fraud": p, "legit": 1 - p})
    joint = JointCounts.from_decisions(y, {"m": decided}, PROBLEM, weights=weights)
    shifted = joint.with_prior([1 - p, p])
    np.testing.assert_allclose(
        expected_cost(shifted.model("m"), PROBLEM), expected_cost(moved, PROBLEM)
    )
    if len(set(y)) == 1:
        assert np.isnan(moved.values).any(axis=1).sum() == 1
        assert np.isnan(shifted.shares).all()
        only = counts.with_prior([1.0, 0.0] if y[0] == "legit" else [0.0, 1.0])
        assert only == counts
        return
    assert moved.shares == pytest.approx([1 - p, p])
    assert moved.n_cases == pytest.approx(sum(weights))
    rates = counts.values / counts.values.sum(axis=1, keepdims=True)
    assert moved.values / moved.values.sum(axis=1, keepdims=True) == pytest.approx(rates)
    table = ScoreTable.from_scores(y, scores, positive="fraud", weights=weights)
    assert table.with_prior([1 - p, p]).shares == pytest.approx([1 - p, p])
    assert shifted.model("m").values == pytest.approx(moved.values)


def test_loss_moments_are_sums_and_scatter_class_by_class():
    rng = np.random.default_rng(3)
    y, losses, weights = rng.integers(0, 3, 40), rng.normal(size=(40, 2)), rng.integers(1, 4, 40)
    moments = LossMoments.from_losses(y, losses, weights=weights)
    for k in range(3):
        rows = np.repeat(losses[y == k], weights[y == k], axis=0)
        assert moments.weight[k] == len(rows)
        assert moments.means[k] == pytest.approx(rows.mean(axis=0))
        assert moments.covariances[k] == pytest.approx(np.cov(rows.T, bias=True))
    everything = np.repeat(losses, weights, axis=0)
    assert moments.mean() == pytest.approx(everything.mean(axis=0))
    prior = [0.2, 0.5, 0.3]
    assert moments.mean(prior) == pytest.approx(prior @ moments.means)
    assert moments.with_prior(prior).mean() == pytest.approx(moments.mean(prior))
    half = LossMoments.from_losses(y[:20], losses[:20], weights=weights[:20], classes=[0, 1, 2])
    rest = LossMoments.from_losses(y[20:], losses[20:], weights=weights[20:], classes=[0, 1, 2])
    assert (half + rest).scatter == pytest.approx(moments.scatter)
    lacking = LossMoments.from_losses([0, 0], [[1.0], [2.0]], classes=[0, 1])
    assert np.isnan(lacking.mean([0.5, 0.5])).all()
    assert lacking.mean([1, 0]) == pytest.approx([1.5])


def test_smoothing_and_normalising():
    counts = Counts([[3, 0], [1, 4]], classes=["a", "b"])
    assert counts.smoothed(0.5).values.tolist() == [[3.5, 0.5], [1.5, 4.5]]
    assert counts.normalized().values.sum() == pytest.approx(1)
    assert counts.normalized().classes == ("a", "b")
    with pytest.raises(InputError, match="alpha"):
        counts.smoothed(-1)
    assert np.isnan(Counts([[0, 0]]).normalized().values).all()


def test_leading_axes_can_be_indexed_and_nothing_more():
    counts = Counts(np.arange(24).reshape(4, 2, 3))
    assert counts[1] == Counts(np.arange(6, 12).reshape(2, 3))
    assert counts[1:3].values.shape == (2, 2, 3)
    assert counts[[True, False, True, False]].values.shape == (2, 2, 3)
    assert counts[..., 1] == counts[1]
    grouped = Counts(np.arange(48).reshape(2, 4, 2, 3))
    assert grouped[..., 1].values.tolist() == grouped.values[:, 1].tolist()
    moments = LossMoments.from_losses([0, 0, 1, 1], [[1, 2]] * 4, by=["a", "b", "a", "b"])
    assert moments[..., 1] == moments[1] == moments.group("b")
    with pytest.raises(IndexError):
        counts[0, 1]
    table = ScoreTable([0.1, 0.2], np.ones((5, 2, 2)))
    assert table[2] == ScoreTable([0.1, 0.2], np.ones((2, 2)))
    with pytest.raises(IndexError):
        table[0, 0]


def test_tallies_iterate_over_their_first_leading_axis_and_add_up():
    y = [0, 1, 1]
    by_group = Counts.from_labels(y, y, by=["a", "b", "b"])
    assert len(by_group) == 2
    assert [counts.n_cases.item() for counts in by_group] == [1, 2]
    assert sum(by_group) == Counts.from_labels(y, y)
    single = Counts.from_labels(y, y)
    with pytest.raises(TypeError, match="a single Counts has no length"):
        list(single)
    masked = np.ma.array([1, 0, 1], mask=[False, True, False])
    with pytest.raises(InputError, match="1 of 3 is missing"):
        Counts.from_labels(masked, y)


def test_values_are_frozen_equal_by_content_and_survive_pickling():
    y = [0, 1, 1]
    tallies = [
        Counts.from_labels(y, y),
        ScoreTable.from_scores(y, y),
        LossMoments.from_losses(y, {"a": y}),
        JointCounts.from_decisions(y, {"m": y}, Problem.zero_one(2)),
    ]
    for value in tallies:
        again = pickle.loads(pickle.dumps(value))
        assert again == value == copy.deepcopy(value)
        assert hash(again) == hash(value)
        for part in vars(again).values():
            assert not isinstance(part, np.ndarray) or not part.flags.writeable
        assert repr(value)


def test_an_absent_class_is_unknown_in_its_own_group_and_nowhere_else():
    y, decided, group = [0, 1, 0], [0, 1, 0], ["x", "x", "y"]
    zero_one = Problem.zero_one(2)
    joint = JointCounts.from_decisions(y, {"m": decided}, zero_one, by=group)
    counts = Counts.from_decisions(y, decided, zero_one, by=group)
    by_joint = recall(joint.with_prior([0.5, 0.5]).model("m"))
    np.testing.assert_array_equal(by_joint, recall(counts.with_prior([0.5, 0.5])))
    np.testing.assert_array_equal(by_joint, [[1, 1], [1, np.nan]])


def test_grouped_tallies_merge_with_their_like_only():
    y, group = [0, 1], ["x", "y"]
    zero_one = Problem.zero_one(2)
    grouped = JointCounts.from_decisions(y, {"m": y}, zero_one, by=group)
    assert (grouped + grouped).n_cases.tolist() == [2, 2]
    assert (grouped + grouped).groups == ("x", "y")
    alone = JointCounts.from_decisions(y, {"m": y}, zero_one)
    for first, second in ((grouped, alone), (alone, grouped)):
        with pytest.raises(InputError, match="same leading axes"):
            first + second


def test_labels_groups_and_classes_of_weight_zero_are_absent():
    y, weights = ["a", "b", "c"], [1, 1, 0]
    assert Counts.from_labels(y, y, weights=weights) == Counts.from_labels(y[:2], y[:2])
    assert Counts.from_labels(y, y, weights=weights, by=y).groups == ("a", "b")
    assert LossMoments.from_losses(y, {"m": [1, 2, 3]}, weights=weights).classes == ("a", "b")
    assert Counts.from_labels(y, y, labels=y, weights=weights).n_classes == 3


def test_a_tally_never_freezes_the_array_of_its_caller():
    table = ScoreTable([0.1], [[1, 2]])
    weights = np.array([[3.0, 4.0]])
    table.with_weights(weights)
    assert weights.flags.writeable


def test_infinite_scores_are_fine_for_ranks():
    table = ScoreTable.from_scores([0, 1, 0, 1], [-np.inf, np.inf, 0.0, -0.0])
    assert table.scores.tolist() == [-np.inf, 0.0, np.inf]
    assert table.weights.tolist() == [[1, 0], [1, 1], [0, 1]]
    assert table.binned([]).scores.tolist() == [0.0]
    assert table.binned([0.0]).scores.tolist() == [-np.inf, np.inf]


# Joint counts given as tuples --------------------------------------------------------------------


def test_tuples_given_in_any_order_make_the_tally_that_rows_make():
    y, a, b = [0, 1, 1, 0, 1, 0], ["x", "y", "y", "z", "x", "x"], ["x", "x", "y", "y", "z", "x"]
    problem = Problem([[0, 1, 2], [3, 1, 0]], decisions=["x", "y", "z"])
    rows = JointCounts.from_decisions(y, {"a": a, "b": b}, problem)
    codes = [[k, *("xyz".index(d) for d in pair)] for k, *pair in zip(y, a, b, strict=True)]
    order = [4, 2, 0, 5, 1, 3]
    labels = (("a", "b"), problem.classes, problem.decisions)
    joint = JointCounts(np.array(codes)[order], np.ones(6), *labels)
    assert joint == rows
    grouped = JointCounts(codes, np.stack([np.ones(6), np.arange(6.0)]), *labels, groups=["n", "s"])
    assert grouped.group("n").weights.tolist() == rows.weights.tolist()
    assert float(grouped.group("s").n_cases) == 15


@pytest.mark.parametrize(
    ("cells", "weights", "groups", "match"),
    [
        ([[0, 0]], [1.0], None, r"cells must have shape \(T, 3\)"),
        ([[0, 0, 3]], [1.0], None, r"below 2 for the class and 3 for decisions.*column 2 is 3"),
        ([[2, 0, 0]], [1.0], None, r"tuple 0, column 0 is 2"),
        ([[0, 0.5, 0]], [1.0], None, r"column 1 is 0\.5.*from_decisions takes labels"),
        ([[0, 0, 0]], [1.0, 2.0], None, r"weights must have shape \(…, 1\)"),
        ([[0, 0, 0]], [-1.0], None, "weights"),
        ([[0, 0, 0]], [1.0], ["n"], "groups must name the first leading axis"),
    ],
)
def test_tuples_that_make_no_tally_are_refused(cells, weights, groups, match):
    with pytest.raises(InputError, match=match):
        JointCounts(cells, weights, ["a", "b"], [0, 1], ["x", "y", "z"], groups)


def test_a_class_that_will_not_occur_has_no_weight():
    factors = class_factors(np.array([0.0, 1.0]), np.array([30.0, 10.0]))
    assert factors.tolist() == [0.0, 4.0]


def test_groups_of_joint_counts_name_the_first_of_several_leading_axes():
    weights = np.arange(12.0).reshape(2, 3, 2)
    names: dict[str, Any] = {"models": ["a"], "classes": [0, 1], "decisions": [0, 1]}
    joint = JointCounts([[0, 0], [1, 1]], weights, groups=["n", "s"], **names)
    assert joint.weights.shape == (2, 3, 2)


@pytest.mark.parametrize("scores", [[0.5, 0.5], [0.7, 0.2]])
def test_scores_of_a_table_are_distinct_and_increasing(scores):
    with pytest.raises(InputError, match=r"^scores must be distinct and increasing"):
        ScoreTable(scores, [[1, 0], [0, 1]])


def test_models_are_read_alike_from_a_joint_tally_a_mapping_and_a_leading_axis():
    decided = {"a": ["approve", "block", "review"], "b": ["review", "block", "approve"]}
    joint = JointCounts.from_decisions(["legit", "fraud", "fraud"], decided, PROBLEM)
    by_model = joint.by_model()
    assert by_model == {name: joint.model(name) for name in "ab"}
    stacked = Counts._trusted(
        values=np.stack([counts.values for counts in by_model.values()]),
        classes=PROBLEM.classes,
        decisions=PROBLEM.decisions,
        groups=("a", "b"),
    )
    for models in (joint, by_model, stacked):
        assert tallies_by_model(models, Counts, "Counts.from_decisions") == by_model
    unnamed = tallies_by_model(Counts(stacked.values), Counts, "Counts.from_decisions")
    assert list(unnamed) == [0, 1]


@pytest.mark.parametrize("wrong", [{}, [1], Counts([[1, 2], [3, 4]]), None])
def test_what_holds_no_models_is_refused(wrong):
    with pytest.raises(InputError, match="models must be a joint tally, a mapping from model to C"):
        tallies_by_model(wrong, Counts, "Counts.from_decisions")


def test_models_of_another_kind_of_tally_are_refused():
    joint = JointScores.from_scores([0, 1], {"a": [0.2, 0.7]})
    with pytest.raises(InputError, match=r"that of 'a' is ScoreTable. Tally its cases with Counts"):
        tallies_by_model(joint, Counts, "Counts.from_decisions")


@dataclass(frozen=True, eq=False)
class Doubled(Value):
    """A value that remembers what it computed."""

    number: float
    name: str

    @cached_property
    def twice(self) -> float:
        """Two times the number."""
        return 2 * self.number


def test_a_value_with_another_part_keeps_the_others_and_forgets_what_it_had_computed():
    old = Doubled(3.0, "three")
    assert old.twice == 6.0
    new = old._but(number=4.0)
    assert (new.number, new.name, new.twice) == (4.0, "three", 8.0)
    assert (old.number, old.twice) == (3.0, 6.0)


# Blocks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2, 2), (3, 4)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [15, 16, 17, 50])
def test_pairs_are_counted_block_by_block(
    shape: tuple[int, int], weighted: bool, n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["stakes.tally.base"], "_BLOCK", 16)
    rng = np.random.default_rng(n)
    y, decided = rng.integers(0, shape[0], n), rng.integers(0, shape[1], n)
    weights = rng.integers(0, 9, n) / 4 if weighted else None
    problem = Problem(np.ones(shape))
    table = np.zeros(shape)
    for row in range(n):
        table[y[row], decided[row]] += 1.0 if weights is None else weights[row]
    counts = Counts.from_decisions(y, decided, problem, weights=weights)
    np.testing.assert_array_equal(counts.values, table)


def test_sums_of_weights_do_not_drift_and_do_not_depend_on_the_layout() -> None:
    n = 3_000_000
    weights = np.full(n, 0.1)
    counts = Counts.from_labels(np.arange(n) % 2, np.arange(n) % 2, weights=weights)
    np.testing.assert_allclose(np.diag(counts.values), math.fsum(weights) / 2, rtol=1e-12)
    columns = np.zeros((n, 2))
    columns[np.arange(n), np.arange(n) % 2] = 0.1
    for layout in (columns, np.asfortranarray(columns)):
        table = ScoreTable(np.arange(n) / n, layout)
        np.testing.assert_allclose(table.class_weights, math.fsum(weights) / 2, rtol=1e-14)


def test_values_with_labels_of_several_types_are_equal_by_content():
    """Arrays of objects hold addresses, and those of text have a width: neither is content."""

    def priced(decisions):
        limits = [Limit.share(decisions[1], at_most=0.5)]
        problem = Problem([[0, 1], [9, 2]], decisions=decisions, limits=limits)
        return price_limits([0.1, 0.2, 0.8, 0.9] * 5, problem)

    mixed = priced(["pass", 1])
    copied = pickle.loads(pickle.dumps(mixed))
    assert mixed.decisions.dtype == object
    assert copied == mixed
    assert hash(copied) == hash(mixed)
    assert priced(["stop", 1]) != mixed
    text = priced(["pass", "stop"])
    wide = text._but(decisions=text.decisions.astype("<U9"))
    assert wide == text
    assert hash(wide) == hash(text)
