"""The border: what is refused, and in which words."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from decimal import Decimal
from itertools import count
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import stakes
from stakes import (
    Counts,
    InputError,
    JointCounts,
    Limit,
    LossMoments,
    Problem,
    ScoreTable,
    evaluate,
    inference,
    measures,
    ranking,
    scoring,
)
from stakes._check import mapping_of, refuse_mixed, require, shapes
from stakes._check.kinds import _MADE_BY
from stakes._check.numbers import a_label
from stakes.curves import DetectionErrorTradeoff
from stakes.evaluation.evaluate_rows import memory_bytes
from stakes.evaluation.evidence import _refuse_measurements
from stakes.inference import profile_interval
from stakes.limits import coverage_of
from stakes.thresholds import Method

TWO_BY_THREE = Problem(
    [[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"], decisions=["approve", "review", "block"]
)


def refuses(call, *fragments: str) -> None:
    """The call raises an InputError whose message holds every fragment."""
    with pytest.raises(InputError) as caught:
        call()
    for fragment in fragments:
        assert re.search(fragment, str(caught.value)), (fragment, str(caught.value))


NO_NUMBERS: dict[str, Any] = {
    "bytes": b"0.9",
    "a buffer": bytearray(b"0.9"),
    "text": np.array("0.9"),
    "complex": np.complex128(0.9),
    "half complex": np.complex64(0.9 + 3j),
}


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_float_would_parse_or_cut_is_no_number(value):
    entries = np.array([[0, None], [1, 0]], dtype=object)
    entries[0, 1] = value
    refuses(lambda: Problem(entries), "^costs must hold real numbers; got ndarray")
    refuses(lambda: Problem.binary(false_alarm=1, miss=value), "^miss must be one real number")
    refuses(lambda: stakes.agreement.power_mean([1, 2], value), "^p must be one real number")
    refuses(
        lambda: evaluate([0, 1], {"a": [0.2, 0.7]}, Problem.zero_one(2), level=value),
        "^level must be one real number",
    )


ENDLESS: dict[str, Any] = {"range": range(10**12), "no length": range(10**30), "count": count()}


@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS)
def test_labels_without_end_are_refused_before_they_fill_the_memory(endless):
    refuses(lambda: Problem.zero_one(endless), "^classes must be .*labels; ")
    refuses(lambda: Problem([[0, 1], [1, 0]], classes=endless), "^classes must be .*labels; ")
    if isinstance(endless, range):
        problem, scores = Problem.zero_one(2), [0.1, 0.2]
        refuses(lambda: ScoreTable.from_scores([0, 1], endless), "^scores must have at most ")
        refuses(lambda: stakes.evaluate(endless, scores, problem), "^y_true must have at most ")


ARRAY = np.array([[3.0, 0.0], [1.0, 2.0]])
INNER: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "rate": (inference.wilson_bounds, (ARRAY / 3, ARRAY, 3.84)),
    "threshold": (inference.wilson_bounds, (ARRAY / 3, ARRAY, 3.84)),
    "hits": (inference.ratio_of_proportions_bounds, (ARRAY, ARRAY, ARRAY)),
    "degrees": (inference.profile_threshold, (0.95, ARRAY)),
    "sums": (measures.constant_sums, (ARRAY[..., None],)),
    "coefficients": (measures.term_cost, (ARRAY[..., None], ARRAY[..., None], None)),
    "weights": (ranking.weights_above, (ARRAY,)),
    "shares": (scoring.mean_over_classes, (ARRAY[0], ARRAY[0])),
    "positive": (scoring.posterior_pairs, (ARRAY[0],)),
}


@pytest.mark.parametrize("wrong", [[0.1, 0.2], [[3, 0], [1, 2]], "x", [None], {}])
@pytest.mark.parametrize(("name", "call"), [*INNER.items(), ("weights", (ranking.hull_cuts, ()))])
def test_functions_that_take_arrays_alone_refuse_lists_by_name(name, call, wrong):
    function, arguments = call
    if arguments:
        function(*arguments)
    place = list(inspect.signature(function).parameters).index(name)
    changed = [*arguments[:place], wrong, *arguments[place + 1 :]]
    refuses(lambda: function(*changed), f"^{name} must ")


def test_signalling_nan_is_a_missing_label():
    absent = [Decimal("sNaN"), 1] * 2
    problem, scores = Problem.zero_one(2), [0.1, 0.9] * 2
    refuses(lambda: stakes.evaluate(absent, scores, problem), "y_true must hold a label", "2 of 4")
    refuses(lambda: Counts.from_decisions([0, 1] * 2, absent, problem), "must hold a label")
    refuses(lambda: stakes.evaluate([0, 1] * 2, scores, problem, clusters=absent), "are missing")


def test_every_error_is_a_value_error_and_a_stakes_error():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputError, stakes.StakesError)


@pytest.mark.parametrize(
    ("prior", "fragments"),
    [
        ([-0.1, 1.1], ("prior", r"\[0, 1\]", "2 of 2", "-0.1 at position 0")),
        ([np.nan, 1.0], ("prior", "1 of 2", "nan at position 0")),
        ([0.5, 0.6], ("prior must sum to one", "1.1", "Divide")),
        ([900, 100], ("prior must hold probabilities", "Divide by the sum")),
        (0.1, ("one probability for each class", r"write \[1 - p, p\]")),
        ([0.5, 0.5 + 1e-8], ("prior must sum to one",)),
        ([1.0], ("one probability for each of the 2 classes", "holds 1")),
        ({"legit": 1.0}, ("lacks 'fraud'",)),
        ({"legit": 0.5, "fraud": 0.5, "other": 0}, ("holds 'other'",)),
    ],
)
def test_priors_that_are_no_distribution_are_refused(prior, fragments):
    refuses(lambda: TWO_BY_THREE.with_prior(prior), *fragments)


def test_single_precision_priors_may_be_off_by_a_millionth():
    prior = np.array([0.1, 0.9], dtype=np.float32) * np.float32(1 + 4e-7)
    assert Problem.zero_one(2, prior=prior).prior is not None
    refuses(lambda: Problem.zero_one(2, prior=prior.astype(float)), "sum to one")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_costs_must_be_finite(bad):
    refuses(lambda: Problem([[0, bad], [1, 0]]), "costs", "finite", "1 of 4", r"\(0, 1\)")


def test_costs_must_be_a_table():
    refuses(lambda: Problem([0, 1]), "classes", "decisions", r"\(2,\)")
    refuses(lambda: Problem([[None, 1]]), "costs must hold")
    refuses(lambda: Problem([["a b", 1]]), r"costs\[0\]\[0\] 'a b' cannot be read")
    refuses(lambda: Problem([[1, 2], [3]]), "costs must hold real numbers")
    refuses(
        lambda: Problem([[0, 1, 2]], classes=["a", "b"]), "classes must name each of the 1 rows"
    )
    refuses(lambda: Problem({"a": {"x": 0, "y": 1}, "b": {"x": 1}}), "lacks 'y'")
    refuses(lambda: Problem({"a": 1}), "mapping from decision to cost")


def test_labels_must_be_distinct_text_or_whole_numbers():
    refuses(lambda: Problem.zero_one(["a", "a"]), "distinct", "'a' appears twice")
    refuses(lambda: Problem.zero_one([1, True]), "distinct", "1, 1.0 and True are one label")
    refuses(lambda: Problem.zero_one([0.5, 1]), "str, int or bool", "0.5")
    refuses(lambda: Problem.zero_one("ab"), "sequence of labels")


@pytest.mark.parametrize(
    ("weights", "fragments"),
    [
        ([1, -1, 1], ("weights", "zero or more", "1 of 3", "-1 at position 1")),
        ([1, np.nan, 1], ("weights", "finite", "nan at position 1")),
        ([1, np.inf, 1], ("weights", "finite", "inf at position 1")),
        ([0, 0, 0], ("weights must have a positive total", "all 3 are zero")),
        ([1, 1], ("y_true and weights", "3 rows", "has 2")),
    ],
)
def test_invalid_weights_are_refused_by_every_tally(weights, fragments):
    y = ["legit", "fraud", "legit"]
    decided = ["approve", "block", "review"]
    for make in (
        lambda: Counts.from_decisions(y, decided, TWO_BY_THREE, weights=weights),
        lambda: JointCounts.from_decisions(y, {"m": decided}, TWO_BY_THREE, weights=weights),
        lambda: ScoreTable.from_scores(y, [1, 2, 3], positive="fraud", weights=weights),
        lambda: LossMoments.from_losses(y, {"m": [1, 2, 3]}, weights=weights),
        lambda: Counts.from_labels(y, y, weights=weights),
    ):
        refuses(make, *fragments)


def test_unknown_labels_are_counted_and_shown():
    refuses(
        lambda: Counts.from_decisions(["legit", "frod", "frod"], ["block"] * 3, TWO_BY_THREE),
        "y_true",
        "'legit', 'fraud'",
        "2 of 3",
        "'frod' at position 1",
        "Rename",
    )
    refuses(lambda: Counts.from_decisions(["legit"], ["wait"], TWO_BY_THREE), "decided", "'wait'")
    refuses(
        lambda: Counts.from_decisions(["1"], [0], Problem.zero_one(2)),
        "'1' and 1 are different labels",
    )
    refuses(lambda: Counts.from_decisions([0, np.nan], [0, 1], Problem.zero_one(2)), "missing")


def test_missing_labels_are_counted_and_shown():
    for y in ([0, None, None], [0.0, np.nan, np.nan], np.array(["a", None, None], dtype=object)):
        refuses(lambda y=y: Counts.from_labels(y, [0, 1, 1]), "y_true", "2 of 3", "position 1")
    pd = pytest.importorskip("pandas")
    missing = pd.Series(["a", None, "b"], dtype="string")
    refuses(lambda: Counts.from_labels(missing, ["a", "a", "b"]), "y_true", "1 of 3", "position 1")


def test_messages_of_row_level_metrics_use_scikit_learns_names():
    zero_one = Problem.zero_one(2)
    for metric in (stakes.metrics.expected_cost, stakes.metrics.normalized_cost):
        refuses(
            lambda m=metric: m([0, 1], [0, 1], problem=zero_one, sample_weight=[-1, 1]),
            "sample_weight must hold",
        )
        refuses(lambda m=metric: m([0, 1], [0, 2], problem=zero_one), "y_pred must hold")


def test_numbers_too_large_to_count_are_refused():
    refuses(lambda: Problem([[0, 10**400], [1, 0]]), "real numbers")
    refuses(lambda: Problem.from_threshold(10**400), "one real number")
    weights = [1e308, 1e308]
    refuses(lambda: Counts.from_labels([0, 1], [0, 1], weights=weights), "total between", "is inf")
    refuses(lambda: Problem.expected([Problem.zero_one(2)], weights=[1, 2]), "problems and weights")
    for size in (2e100, 1e160, 1e308):
        heavy = "up to 1e.100, whose squares are numbers; 1 of"
        refuses(lambda size=size: Counts([[1, size], [1, 1]]), "values must hold", heavy)
        refuses(lambda size=size: ScoreTable([0.1], [[1, size]]), "weights must hold", heavy)
        cells = [[0, 0], [1, 1]], [1, size], ["m"], [0, 1], [0, 1]
        refuses(lambda cells=cells: JointCounts(*cells), "weights must hold", heavy)
    far = Counts([[1e100, 1], [1e-250, 0]])
    refuses(lambda: far.with_prior([0.5, 0.5]), "prior must be within reach of the weights")


def test_numbers_must_be_numbers():
    refuses(lambda: Counts([[1, np.nan]]), "finite", "nan")
    refuses(lambda: Counts([[np.inf, 1]]), "finite", "inf")
    refuses(lambda: Problem(np.array([["0 EUR", "1"]], dtype=object)), "cannot be read")
    refuses(lambda: Problem(np.ma.array([[0, 1.0]], mask=[[True, False]])), "real numbers")
    refuses(
        lambda: stakes.bayes_decisions([0.5], TWO_BY_THREE, case_costs=np.full((1, 2, 3), np.nan)),
        "case_costs",
        "finite",
        "6 of 6",
    )
    refuses(lambda: Problem.zero_one(2, prior=[np.inf, 0]), "prior", "inf")
    refuses(lambda: stakes.agreement.power_mean(["a"], 1), "values must hold real numbers")
    refuses(lambda: ScoreTable([0.1], [[0, 0]]).binned([0.5]), "must hold cases")


def test_lengths_that_differ_are_refused():
    refuses(
        lambda: Counts.from_decisions([0, 1], [0], Problem.zero_one(2)),
        "y_true and decided",
        "2 rows",
        "has 1",
    )
    refuses(lambda: ScoreTable.from_scores([0, 1], [0.1, 0.2, 0.3]), "y_true and scores")
    refuses(
        lambda: Counts.from_labels([0, 1], [0, 1], by=["a"]), "y_true and by", "2 rows", "has 1"
    )


def test_no_cases_at_all_are_refused():
    refuses(lambda: ScoreTable.from_scores([], []), "at least one case")
    refuses(lambda: Counts.from_decisions([], [], Problem.zero_one(2)), "at least one case")


def test_scores_must_be_ordered_numbers_and_may_be_infinite():
    refuses(lambda: ScoreTable.from_scores([0, 1], [np.nan, 1]), "scores", "1 of 2", "nan")
    table = ScoreTable.from_scores([0, 1, 1], [-np.inf, np.inf, 0])
    assert table.scores.tolist() == [-np.inf, 0, np.inf]
    refuses(lambda: ScoreTable([2, 1], [[1, 1], [1, 1]]), "increasing")
    refuses(lambda: ScoreTable([1, 2], [[1, 1]]), r"\(…, 2, 2\)", r"\(1, 2\)")


def test_the_positive_label_is_stated_unless_labels_are_zero_and_one():
    refuses(lambda: ScoreTable.from_scores(["a", "b"], [1, 2]), "positive must be stated", "'a'")
    refuses(
        lambda: ScoreTable.from_scores(["a", "b", "c"], [1, 2, 3], positive="a"),
        "two labels",
        "y_true == 'a'",
    )
    refuses(lambda: ScoreTable.from_scores(["a", "b"], [1, 2], positive="c"), "two labels", "'c'")
    assert ScoreTable.from_scores([True, False], [1, 2]).classes == (0, 1)
    assert ScoreTable.from_scores(["a", "b"], [1, 2], positive="a").classes == ("b", "a")


@pytest.mark.parametrize(
    ("posteriors", "fragments"),
    [
        ([0.5, 1.5], ("posteriors", r"\[0, 1\]", "1 of 2", "1.5 at position 1", "Scores")),
        ([0.5, np.nan], ("posteriors", "nan")),
        ([0.5, np.inf], ("posteriors", "inf")),
        ([[0.5, 0.4]], ("sum to one in every row", "0.9 at position 0")),
        ([[0.2, 0.3, 0.5]], (r"\(n, 2\)", r"\(1, 3\)")),
        ("abc", ("real numbers",)),
    ],
)
def test_invalid_posteriors_are_refused(posteriors, fragments):
    refuses(lambda: stakes.bayes_decisions(posteriors, TWO_BY_THREE), *fragments)


def test_per_case_costs_have_one_matrix_for_each_case():
    refuses(
        lambda: stakes.bayes_decisions([0.5], TWO_BY_THREE, case_costs=np.zeros((2, 2, 3))),
        "case_costs must describe the cases of the posteriors",
        "it has 2 rows",
    )
    refuses(
        lambda: stakes.metrics.expected_cost(
            ["legit"], ["block"], problem=TWO_BY_THREE, case_costs=np.zeros((1, 3, 2))
        ),
        r"\(n, 2, 3\)",
        r"\(1, 3, 2\)",
    )


def test_counts_meet_only_problems_with_their_labels():
    counts = Counts([[1, 2], [3, 4]], classes=["a", "b"])
    refuses(lambda: stakes.expected_cost(counts, Problem.zero_one(["b", "a"])), "same order")
    refuses(lambda: stakes.expected_cost(counts, TWO_BY_THREE), "2 by 2", "2 by 3")
    assert stakes.expected_cost(Counts([[1, 2], [3, 4]]), Problem.zero_one(["b", "a"])) == 0.5
    refuses(lambda: counts + Counts([[1, 2], [3, 4]], classes=["b", "a"]), "classes", "same order")
    refuses(lambda: counts + Counts([[1, 2, 3], [3, 4, 5]]), "one shape")


def test_swapped_and_bare_arguments_are_named():
    counts: Any = Counts([[5, 2], [1, 3]])
    zero_one: Any = Problem.zero_one(2)
    bare: Any = [[5, 2], [1, 3]]
    refuses(lambda: stakes.expected_cost(zero_one, counts), "counts must be Counts; got Problem")
    refuses(lambda: stakes.expected_cost(bare, zero_one), r"got list .* Counts\(table\) wraps")
    refuses(lambda: stakes.measures.accuracy(bare), "counts must be Counts; got list")


def test_counts_must_be_tables_of_numbers_that_are_zero_or_more():
    refuses(lambda: Counts([1, 2]), "classes, decisions", r"\(2,\)")
    refuses(lambda: Counts([[1, -2]]), "zero or more", "-2")
    refuses(lambda: Counts([[1, 2]], classes=["a", "b"]), "name all 1")


def test_tallies_of_different_groups_models_or_losses_do_not_merge():
    y: Any = [0, 1]
    first = Counts.from_labels(y, y, by=["x", "y"])
    refuses(lambda: first + Counts.from_labels(y, y, by=["x", "z"]), "groups")
    zero_one = Problem.zero_one(2)
    joint = JointCounts.from_decisions(y, {"m": y}, zero_one)
    refuses(lambda: joint + JointCounts.from_decisions(y, {"n": y}, zero_one), "models")
    refuses(lambda: joint.model("z"), "'m'", "'z'")
    refuses(lambda: JointCounts.from_decisions(y, y, zero_one), "mapping from model")
    moments = LossMoments.from_losses(y, {"m": y})
    refuses(lambda: moments + LossMoments.from_losses(y, {"n": y}), "names")
    refuses(lambda: moments + LossMoments.from_losses([0, 0], {"m": y}), "one shape")


def test_reversed_decisions_and_other_shapes_have_no_threshold():
    refuses(lambda: Problem([[1, 0], [0, 1]]).threshold, "Swap")
    refuses(lambda: TWO_BY_THREE.threshold, "two classes and two decisions", "2 and 3")
    refuses(lambda: Problem([[1, 0], [0, 1]]).utility_coordinates, "Swap")
    refuses(lambda: Problem([[0, 1], [0, 0.5]]).utility_coordinates, "outside the utility space")


def test_questions_that_need_a_prior_say_so():
    refuses(lambda: TWO_BY_THREE.naive, "naive needs a stated prior", "measures.naive_cost")
    refuses(lambda: TWO_BY_THREE.perfect_cost, "perfect_cost needs a stated prior")


def test_invalid_problem_files_are_refused(tmp_path):
    def file(text: str):
        path = tmp_path / "problem.toml"
        path.write_text(text)
        return lambda: Problem.from_toml(path)

    refuses(file("costs = "), "must be TOML")
    refuses(file("unit = 'EUR'"), r"\[costs\] or \[utilities\]", "neither")
    refuses(file("[costs]\na = {x = 1}\n[utilities]\na = {x = 1}"), "both")
    refuses(file("colour = 'red'\n[costs]\na = {x = 1}"), "'colour'")
    refuses(file("[costs]\na = {x = 1}\nb = {y = 1}"), "lacks 'x'")
    refuses(file("[costs]\na = {x = 'much money'}"), "'much money' cannot be read")
    refuses(file("[costs]\na = {x = true}"), "within 1e.100 of zero, or an expression", "True")
    refuses(file("[costs]\na = 1"), "class → decision → cost")
    refuses(file("[costs]"), "class → decision → cost")
    refuses(file("classes = 3\n[costs]\na = {x = 1}"), "classes must be a list")
    refuses(file("[costs]\na = {x = 1}\n[prior]\nb = 1.0"), "prior", "lacks 'a'")


# What annotations say -----------------------------------------------------------------------------


COUNTS = Counts([[3, 1], [2, 5]])
OLD = np.random.RandomState(0)  # the generators of older numpy
ANY: Any = stakes  # type checkers would refuse these calls, too


@pytest.mark.parametrize(
    ("call", "fragments"),
    [
        (lambda: ANY.auc(None), ("^table must be a ScoreTable", "from_scores")),
        (lambda: ANY.inference.p_value(3, null=0), ("^estimate must be an Estimate",)),
        (lambda: ANY.inference.holm_pairs([1]), ("^comparison must be a Comparison",)),
        (lambda: ANY.curve.Curve([0, 1], [[1]]).crossings(0), ("^other must be a Curve",)),
        (lambda: ANY.curve.Curve([0, 1], [[1]])([[1], [2, 3]]), ("^x must hold real numbers",)),
        (lambda: ANY.Uniform().cdf("a"), ("^x must hold real numbers", "Pass a list")),
        (lambda: ANY.simulate.uniform_shares(3, (2,)), ("^rng must be a numpy Generator",)),
        (lambda: ANY.simulate.uniform_shares(OLD, (2,)), ("^rng must be .* got RandomState",)),
        (lambda: ANY.audit.compliance(len, shape=(2, 2), rng=OLD), ("^metric must be a Metric",)),
        (lambda: ANY.agreement.pairwise(3, COUNTS), ("^metric must be a function",)),
        (lambda: ANY.Counts.from_decisions([0], [0], None), ("^problem must be a Problem",)),
        (lambda: ANY.Report.from_json(np.array(3.5)), ("^text must be text or a path", "path")),
        (lambda: ANY.Problem.zero_one(2).to_toml(3), ("^path must be text or a path", "pathlib")),
    ],
)
def test_an_argument_of_another_type_is_refused_by_its_name(call, fragments):
    refuses(call, *fragments)


class Elsewhere:
    """Numbers that numpy cannot read, as tensors with a gradient or on another device are."""

    def __init__(self, fault: type[Exception]) -> None:
        self.fault = fault

    def __len__(self) -> int:
        return 2

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self.fault("Can't call numpy() on Tensor that requires grad.")

    def __float__(self) -> float:
        raise self.fault("a Tensor with 2 elements cannot be converted to Scalar")


@pytest.mark.parametrize("fault", [RuntimeError, TypeError])
def test_what_numpy_cannot_read_is_refused_by_its_name_with_how_tensors_become_arrays(fault):
    two = Problem.zero_one(2)
    away: Any = Elsewhere(fault)
    told = r"must be an array, or what numpy can read as one; got Elsewhere.*\.detach\(\)"
    refuses(lambda: ScoreTable.from_scores([0, 1], away), f"^scores {told}")
    refuses(lambda: Counts.from_labels(away, [0, 1]), f"^y_true {told}")
    refuses(lambda: stakes.bayes_decisions(away, two), f"^posteriors {told}")
    refuses(lambda: stakes.evaluate([0, 1], {"a": away}, two), rf"^models\['a'\] {told}")
    refuses(lambda: stakes.evaluate([0, 1], {"a": [0.1, 0.9]}, two, key=away), f"^key {told}")
    refuses(lambda: Problem.from_threshold(away), "^p must be one real number")


def test_losses_of_no_column_are_refused():
    refuses(lambda: LossMoments.from_losses([0, 1], np.empty((2, 0))), "^losses must hold at")
    refuses(lambda: LossMoments.from_losses([0, 1], {}), "^losses must hold at least one")


def test_weights_of_tables_of_metrics_are_called_as_these_call_them():
    negative = [1, 2, -1, 1]
    refuses(
        lambda: stakes.metrics.clinical_table(
            [0, 1, 0, 1], [0, 1, 1, 1], Problem.from_threshold(0.3), sample_weight=negative
        ),
        "^sample_weight must",
    )


def test_a_unit_and_a_period_must_be_writable_and_a_volume_a_number_that_totals_can_have():
    refuses(lambda: Problem([[0, 1], [5, 0]], unit="\ud800"), "^unit must be text", "half of a")
    rows: Any = ([0, 1] * 9, [0.1, 0.8] * 9, Problem.zero_one(2))
    refuses(lambda: stakes.evaluate(*rows, volume=9, period="\udcff"), "^period must be text")
    refuses(lambda: stakes.evaluate(*rows, volume=1e308), "^volume must")


@pytest.mark.parametrize("name", ["circle", "a\0b", "nowhere/x.json"])
def test_a_path_that_cannot_be_written_is_refused_before_anything_is(name, tmp_path):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere" / "x")
    for path in (tmp_path / name, tmp_path / "dangling"):
        refuses(lambda path=path: Problem.zero_one(2).to_toml(path), "cannot be written")


def test_a_complaint_without_an_argument_stays_as_it_is():
    error = InputError("the costs must be numbers.")
    assert str(error.renamed("file.json")) == str(error)


def test_a_mistake_inside_a_function_of_the_caller_stays_what_it_is():
    def broken(counts: Counts) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        stakes.agreement.pairwise(broken, COUNTS)


def test_arguments_are_named_as_the_caller_wrote_them():
    refuses(lambda: Problem.binary(false_alarm=1, miss=np.nan), "^miss must be one real number")
    refuses(lambda: Problem.from_utilities([[]]), "^utilities must be a table")
    joint = JointCounts.from_decisions([0, 1], {"a": [0, 1]}, Problem.zero_one(2))
    refuses(lambda: stakes.inference.mcnemar(joint, "a", "x"), "^second must be one of the models")
    refuses(
        lambda: stakes.metrics.bayes_cost([0, 1], [2, 3], problem=Problem.zero_one(2)),
        r"^y_proba must hold probabilities in \[0, 1\]",
    )


def test_new_weights_of_a_table_are_checked_and_stay_the_callers():
    table = ScoreTable([0.2, 0.7], [[3, 1], [0, 2]])
    refuses(lambda: table.with_weights([[1, -1], [1, 1]]), "^weights must hold", "-1 at")
    refuses(lambda: table.with_weights(np.ones((3, 2))), r"weights must have shape \(…, 2, 2\)")
    mine = np.ones((2, 2))
    table.with_weights(mine)
    scores = stakes.tally.JointScores.from_scores([0, 1, 1], {"a": [1, 2, 3]})
    cells = scores.cell_weights.copy()
    scores.with_cell_weights(cells)
    assert mine.flags.writeable
    assert cells.flags.writeable


@pytest.mark.parametrize("size", [1e-200, 1e155])
def test_weights_whose_squares_are_no_numbers_are_refused(size):
    refuses(
        lambda: stakes.calibration.Platt().fit([1, 2, 3], [0, 1, 0], weights=[size] * 3),
        "^weights must have a total between 1e-100 and",
        "Scale them",
    )


@pytest.mark.parametrize("size", [1e-170, 1e99])
def test_the_area_under_the_hull_does_not_depend_on_the_size_of_weights(size):
    weights = np.array([[1.0, 1.0], [2.0, 1.0], [0.0, 3.0]])
    areas = [stakes.ranking.auc_of_hull(ScoreTable([1, 2, 3], weights * w)) for w in (1, size)]
    assert areas[1] == pytest.approx(areas[0], rel=1e-14)


def test_more_cases_than_can_be_counted_are_refused_by_the_bootstrap():
    counts = Counts([[1e19, 2e19], [1e19, 0]])
    rng = np.random.default_rng(0)
    refuses(
        lambda: stakes.inference.bootstrap(stakes.measures.accuracy, counts, replicates=9, rng=rng),
        "^tally must hold fewer than",
        "Scale the weights down",
    )


def test_the_brier_score_of_nearly_perfect_posteriors_keeps_its_digits():
    small = 1e-10
    rows = [[1 - small, small], [small, 1 - small]]
    score = stakes.scoring.mean_score([0, 1], rows, stakes.scoring.Brier())
    assert score == pytest.approx(2 * small**2, rel=1e-14, abs=0)


@pytest.mark.parametrize(
    ("classes", "shown"),
    [(10**5, "100,000"), (10**12, "1,000,000,000,000"), (10**12 + 1, "more than 10¹²")],
)
def test_a_table_of_costs_that_does_not_fit_is_refused_before_it_is_made(classes, shown):
    rule = "^classes must be at most 10,000"
    refuses(lambda: Problem.zero_one(classes), rule, "GiB", f"got {shown}. Merge")


@pytest.mark.parametrize("cost", [1e-300, 5e-324, 1e-101, 1e41, 9e99])
def test_costs_whose_squares_are_no_numbers_are_refused_by_evaluate_as_they_were_written(cost):
    problem = Problem([[0, cost / 2, cost / 4], [-cost, 0, 0]], decisions=["no", "ask", "yes"])
    call = lambda: stakes.evaluate([0, 1, 1], [0.1, 0.4, 0.8], problem)  # noqa: E731
    rule = "^costs must be of a size whose squares are numbers, from 1e-100 to 1e\\+40; "
    written = f"the largest is {cost:g}, of decision 'no' in class 1".replace("+", r"\+")
    refuses(call, rule, written, f"Choose a {'larger' if cost > 1 else 'smaller'} unit")


@pytest.mark.parametrize("unit", [2.0**-300, 2.0**300])
def test_shares_and_ratios_are_the_same_in_every_unit_of_costs(unit):
    """A power of two rounds nothing, so that they agree to the last digit."""
    y, first, second = ([int(k % m == 0) for k in range(48)] for m in (3, 4, 5))
    usual, other = (Problem([[0, size], [5 * size, 0]]) for size in (1.0, unit))
    joint = JointCounts.from_decisions(y, {"a": first, "b": second}, usual)
    chances = [
        stakes.inference.probability_cheapest(stakes.inference.contenders(joint, problem)).tolist()
        for problem in (usual, other)
    ]
    assert chances[0] == chances[1]
    assert 0 < min(chances[0]) < max(chances[0])
    tally = Counts.from_decisions(y, first, usual, clusters=[k % 7 for k in range(48)])
    bounds = [
        stakes.inference.profile_normalized_interval(tally, problem) for problem in (usual, other)
    ]
    assert (bounds[0].low, bounds[0].high) == (bounds[1].low, bounds[1].high)


def test_running_costs_beyond_all_others_are_evaluated_or_refused():
    y, problem = [0, 1, 1] * 9, Problem([[0, 1e-100], [1e-100, 0]])
    models = {"a": stakes.Decisions(y), "b": stakes.Decisions(y[::-1])}
    run = lambda cost: stakes.evaluate(y, models, problem, running_costs={"a": cost})  # noqa: E731
    assert run(1e40).verdict.cheapest != "a (as decided)"
    refuses(lambda: run(1e41), r"^running_costs\['a'\] must be one real number within \[0, 1e")


def test_small_costs_are_evaluated_without_a_warning_and_as_others_are():
    y, p = [0, 1] * 12, np.random.default_rng(0).random(24)
    models = {"a": p, "b": stakes.Decisions(y)}
    small, usual = (
        stakes.evaluate(y, models, Problem([[0, c], [3 * c, 0]]), calibrator=None, replicates=20)
        for c in (1e-99, 1.0)
    )
    for system, other in zip(small.systems, usual.systems, strict=True):
        assert system.cost.high == pytest.approx(other.cost.high * 1e-99, rel=1e-6)


def test_a_smooth_curve_is_that_of_one_table():
    table = ScoreTable.from_scores([0, 1, 1, 0], [0.1, 0.4, 0.3, 0.2], by=[0, 0, 1, 1])
    refuses(lambda: stakes.calibration.smooth_curve(table), "^table must have no leading axes")


@pytest.mark.parametrize("prior", [None, [0.4, 0.6]])
def test_a_class_of_next_to_no_weight_is_counted_in_silence_or_refused(prior):
    """The suite turns warnings into errors; 1e-60 of all weight is the limit."""
    rng = np.random.default_rng(0)
    y, p = np.arange(60) % 2, rng.random(60)
    problem = Problem.zero_one(2, prior=prior)
    models = {"a": p, "b": p[::-1]}
    for light in (1e-30, 1e-50, 1e-58):
        weights = np.where(y == 1, light, 1.0) * rng.uniform(0.5, 1.5, 60)
        report = evaluate(y, models, problem, weights=weights, replicates=30)
        assert report.to_json()
    weights[1] = 1e-59
    with pytest.raises(InputError, match=r"weights must be at least 1e-60 of their total, .* or z"):
        evaluate(y, models, problem, weights=weights, replicates=30)


def test_a_class_of_next_to_no_prior_has_an_interval_in_silence():
    counts = Counts([[40, 10], [0, 45]])
    ends = profile_interval(counts, Problem.zero_one(2, prior=[1 - 5e-324, 5e-324]))
    assert 0.1 < ends.low <= ends.high < 0.4


def test_arguments_that_are_missing_or_unknown_are_not_blamed_on_arrays():
    hardness, called = np.array([0.1, 0.2]), cast("Any", coverage_of)
    with pytest.raises(TypeError, match="missing 2 required positional arguments"):
        called(hardness)
    with pytest.raises(TypeError, match="unexpected keyword argument 'mas'"):
        called(hardness, hardness, mas=hardness)


@pytest.mark.parametrize(
    ("layout", "first", "second"),
    [
        ("n k, k", np.zeros((2, 3)), np.zeros(2)),
        ("n k, k", np.zeros(2), np.zeros(2)),
        ("… k, 3", np.zeros((2, 3)), np.zeros(2)),
        ("… n k, k", np.zeros(2), np.zeros(2)),
        ("K …, k", np.zeros((0, 2)), np.zeros(2)),
    ],
)
def test_arrays_whose_shapes_do_not_go_together_are_refused_by_their_names(layout, first, second):
    with pytest.raises(
        InputError, match=r"^first and second must be arrays of shapes .* first has"
    ):
        shapes(layout, first=first, second=second)


def test_arrays_whose_shapes_go_together_pass_and_none_is_left_out():
    rows = np.zeros((4, 2))
    shapes("n k, k m, n", rows=rows, costs=np.zeros((2, 3)), mass=None)
    shapes("… k, k", many=np.zeros((5, 4, 2)), one=rows[0])
    shapes("n …, n", many=rows, one=rows[:, 0])


def test_memory_is_that_of_the_limit_where_the_machine_does_not_say(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (1 << 40, 1 << 40))
    monkeypatch.delattr("os.sysconf")
    assert memory_bytes() == 1 << 40


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


@pytest.mark.parametrize("names", [(2**63, 0), (0, -(2**63) - 1), ("a", 1), (True, 1)])
def test_decisions_that_no_column_holds_are_refused(names):
    with pytest.raises(InputError, match=r"of one type to stand in a column.*Write all of them"):
        refuse_mixed(names)
    refuse_mixed((2**63 - 1, -(2**63)))


@pytest.mark.parametrize("label", ["a", 1, True, 2.0, np.int64(3), np.str_("b")])
def test_a_label_is_what_equals_itself(label):
    a_label("decision", label)
    with pytest.raises(InputError, match=r"decision must be a label.*got float nan"):
        a_label("decision", float("nan"))


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (
            lambda: TWO_BY_THREE.with_prior({"legit": 0.9, "fruad": 0.1}),
            "it holds 'fruad' and lacks 'fraud'. Write 'fraud', if that is meant.",
        ),
        (lambda: TWO_BY_THREE.with_prior({"legit": 1.0}), "it lacks 'fraud'. Add it."),
        (
            lambda: TWO_BY_THREE.with_limits(Limit.share("reviews", at_most=0.1)),
            "Write 'review', if that is meant.",
        ),
        (
            lambda: TWO_BY_THREE.with_limits([Limit.share(7, at_most=0.1)]),
            "Write one of these, such as 'approve'.",
        ),
        (
            lambda: Problem.zero_one(2).with_prior({"0": 0.5, "1": 0.5}),
            "Labels match by equality: 1 and '1' are different labels.",
        ),
        (lambda: Limit.share("review", at_most=5), "got int 5. 5 % is 0.05."),
        (lambda: Limit.share("review", at_most=500), "Pass a single such number."),
        (lambda: Problem({"a": {"x": {"between": [200, 60]}, "y": 0}}), "Write [60, 200]."),
    ],
)
def test_a_remedy_names_what_is_probably_meant(call, remedy):
    with pytest.raises(InputError) as caught:
        call()
    assert str(caught.value).endswith(remedy)


# Guests import libraries that need not be there.
ROOMS = [
    importlib.import_module(room.name)
    for room in pkgutil.iter_modules(stakes.__path__, "stakes.")
    if not re.match(r"stakes\.(_|torch|sklearn|cli)", room.name)
]
PUBLIC = {name: getattr(room, name) for room in ROOMS for name in getattr(room, "__all__", ())}


def test_an_entry_of_another_kind_is_refused_by_its_place_with_how_one_is_made():
    curves = {"a": ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])}
    refuses(
        lambda: mapping_of("curves", curves, DetectionErrorTradeoff),
        r"^curves\['a'\] must be a DetectionErrorTradeoff; got ScoreTable.* "
        r"detection_error_tradeoff\(table\) makes one\.$",
    )
    refuses(lambda: require("method", stakes.ScoreDriven, Method), r"Write ScoreDriven\(\)\.$")


def test_whatever_a_remedy_names_is_public():
    for kind, remedy in _MADE_BY.items():
        assert kind in {**PUBLIC, "str": str}
        for call in re.findall(r"([\w.]+)\(", remedy):
            owner, _, method = call.rpartition(".")
            holder = PUBLIC[owner] if owner else SimpleNamespace(**PUBLIC)
            assert callable(getattr(holder, method)), call
