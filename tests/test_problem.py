"""Problems: constructors, transformations, questions."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stakes import Between, Counts, InputError, Limit, Problem, expected_cost, normalized_cost
from stakes.measures import balanced_error_rate, error_rate, utility_yield

numbers = st.floats(-100, 100).map(lambda x: round(x, 3))


@st.composite
def shares(draw, size: int):
    raw = draw(hnp.arrays(float, size, elements=st.floats(0.01, 1)))
    return raw / raw.sum()


@st.composite
def problems(draw, least: int = 1):
    shape = (draw(st.integers(least, 4)), draw(st.integers(least, 5)))
    costs = draw(hnp.arrays(float, shape, elements=numbers))
    prior = draw(st.none() | shares(shape[0]))
    return Problem(costs, prior=prior, unit=draw(st.sampled_from([None, "EUR", 'a "unit"\n'])))


def tables(n_classes: int, n_decisions: int):
    return hnp.arrays(np.int64, (n_classes, n_decisions), elements=st.integers(1, 30)).map(Counts)


def test_a_problem_is_a_frozen_value_equal_by_content():
    first = Problem([[0, 1], [5, 0]], prior=[0.2, 0.8], unit="EUR")
    again = Problem(np.array([[0, 1], [5, 0]]), prior=(0.2, 0.8), unit="EUR")
    assert first == again
    assert hash(first) == hash(again)
    assert first != first.with_prior(None)
    assert first != Problem([[0, 1], [4, 0]], prior=[0.2, 0.8], unit="EUR")
    assert first != "problem"
    assert Problem([[0.0]]) == Problem([[-0.0]])
    assert hash(Problem([[0.0]])) == hash(Problem([[-0.0]]))
    with pytest.raises(AttributeError):
        setattr(first, "unit", "USD")  # noqa: B010
    with pytest.raises(ValueError, match="read-only"):
        first.costs[0, 0] = 1


def test_arguments_are_never_modified_and_never_shared():
    costs = np.array([[0.0, 1.0], [5.0, 0.0]])
    problem = Problem(costs)
    costs[0, 1] = 99
    assert problem.costs[0, 1] == 1
    assert costs.flags.writeable


@pytest.mark.parametrize(
    "remade", [copy.copy, copy.deepcopy, lambda v: pickle.loads(pickle.dumps(v))]
)
def test_copies_and_pickles_are_equal_and_still_read_only(remade):
    problem = remade(Problem([[0, 1, 2], [5, 0, 2]], prior=[0.2, 0.8]))
    assert problem == Problem([[0, 1, 2], [5, 0, 2]], prior=[0.2, 0.8])
    assert not problem.costs.flags.writeable


def test_the_plain_form_of_a_problem_is_not_the_problem():
    """Whoever changes the dictionary does not change the value, which others may share."""
    problem = Problem.binary(false_alarm=1, miss=9, limits=[Limit.share(1, at_most=0.3)])
    plain, code = problem.plain(), hash(problem)
    plain["limits"][0]["at_most"] = 0.7
    plain["costs"][0][0] = 5
    assert problem.limits[0].at_most == 0.3
    assert hash(problem) == code
    assert problem.plain()["costs"] == [[0, 1], [9, 0]]


def test_a_mapping_settles_orientation_and_labels_by_name():
    written = {
        "legit": {"pass": 0, "ask": 3, "stop": 25},
        "fraud": {"stop": 0, "pass": 180, "ask": 8},
    }
    problem = Problem(written)
    assert problem == Problem(
        [[0, 3, 25], [180, 8, 0]], classes=["legit", "fraud"], decisions=["pass", "ask", "stop"]
    )
    turned = Problem(written, classes=["fraud", "legit"])
    assert turned.costs.tolist() == [[180, 8, 0], [0, 3, 25]]
    assert Problem.from_utilities({"a": {"x": 1, "y": 2}}).costs.tolist() == [[-1, -2]]


SWAPPED = [
    {"well": {"treat": 1, "wait": 0}, "ill": {"wait": 9, "treat": 0}},
    {"well": {"wait": 0, "treat": 1}, "ill": {"treat": 0, "wait": 9}},
    {"well": {"treat": "1 + 0 * days", "wait": 0}, "ill": {"wait": "9 * days", "treat": 0}},
    {"well": {"treat": Between(0.5, 1.5), "wait": 0}, "ill": {"treat": 0, "wait": 9}},
    {"well": {"ill": 1, "well": 0}, "ill": {"ill": 0, "well": 9}},
    {"a": {"z": 1, "x": 0, "y": 2}, "b": {"x": 3, "y": 0, "z": 1}, "c": {"y": 5, "z": 0, "x": 9}},
]


@pytest.mark.parametrize("table", SWAPPED)
def test_rows_that_list_the_decisions_in_any_order_are_settled_by_name(table, tmp_path):
    """Each class has the decision that suits it at its own place; nothing but the order differs."""
    problem = Problem(table)
    at = problem.at(days=1) if problem.columns else problem
    assert at.costs.argmin(axis=1).tolist() == list(range(problem.n_classes))
    stated = Problem(table, decisions=problem.decisions)
    assert problem == stated
    if not any(isinstance(cost, str | Between) for row in table.values() for cost in row.values()):
        gains = {k: {d: -cost for d, cost in row.items()} for k, row in table.items()}
        assert Problem.from_utilities(gains) == problem
    lines = [
        f"{k} = {{ {', '.join(f'{d} = {_toml(c)}' for d, c in row.items())} }}"
        for k, row in table.items()
    ]
    (tmp_path / "p.toml").write_text("\n".join(["[costs]", *lines]), encoding="utf-8")
    assert Problem.from_toml(tmp_path / "p.toml") == problem
    assert Problem.of(json.loads(json.dumps(problem.plain()))) == problem


def _toml(cost: object) -> str:
    if isinstance(cost, Between):
        return f"{{ between = [{cost.low}, {cost.high}] }}"
    return json.dumps(cost)


def test_an_order_that_is_stated_or_that_suits_no_class_of_its_own_stays():
    table = {"well": {"treat": 1, "wait": 0}, "ill": {"wait": 9, "treat": 0}}
    assert Problem(table, decisions=["treat", "wait"]).decisions == ("treat", "wait")
    shared = {"well": {"treat": 0, "wait": 1}, "ill": {"wait": 9, "treat": 0}}
    assert Problem(shared).decisions == ("treat", "wait")
    tied = {"well": {"treat": 1, "wait": 1}, "ill": {"wait": 9, "treat": 0}}
    assert Problem(tied).decisions == ("treat", "wait")
    three = {"well": {"treat": 1, "ask": 2, "wait": 0}, "ill": {"wait": 9, "ask": 1, "treat": 0}}
    assert Problem(three).decisions == ("treat", "ask", "wait")


def test_the_repr_is_a_small_table_and_html_is_escaped():
    problem = Problem([[0, 1]], classes=["<script>"], decisions=["a&b", "c"], unit="<EUR>")
    assert "<script>" in repr(problem)
    html = problem._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "&lt;EUR&gt;" in html


@given(problems())
def test_problem_files_give_the_problem_back(tmp_path_factory, problem):
    path = tmp_path_factory.mktemp("problem") / "p.toml"
    problem.to_toml(path)
    assert Problem.from_toml(path) == problem


def test_problem_files_hold_any_text_and_refuse_labels_that_look_alike(tmp_path):
    problem = Problem.zero_one(["a\x7f", "\u20ac \U0001f4b6"], unit="\U0001f4b6")
    problem.to_toml(tmp_path / "p.toml")
    assert Problem.from_toml(tmp_path / "p.toml") == problem
    with pytest.raises(InputError, match="differ as text"):
        Problem.zero_one([1, "1"]).to_toml(tmp_path / "p.toml")


def test_frames_and_series_settle_labels_by_name():
    pd = pytest.importorskip("pandas")
    costs = pd.DataFrame({"stop": [25, 0], "pass": [0, 180]}, index=["legit", "fraud"])
    prior = pd.Series({"fraud": 0.1, "legit": 0.9})
    problem = Problem(costs, prior=prior)
    assert problem == Problem(
        [[0, 25], [180, 0]],
        classes=["legit", "fraud"],
        decisions=["pass", "stop"],
        prior=[0.9, 0.1],
    )
    assert problem.with_prior(pd.Series([0.9, 0.1])) == problem
    gains = Problem.from_utilities(-costs, classes=["fraud", "legit"])
    assert gains.costs.tolist() == [[0, 180], [25, 0]]
    pl = pytest.importorskip("polars")
    with pytest.raises(InputError, match="no index"):
        Problem(pl.DataFrame({"stop": [25, 0], "pass": [0, 180]}))


@pytest.mark.parametrize("labels", [(0, 1), (True, False), ("a", 'é "quoted" \\ \n'), ("1", 2)])
def test_problem_files_keep_the_type_of_labels(tmp_path, labels):
    problem = Problem([[0, 1], [5, 0]], classes=labels, prior=[0.5, 0.5])
    problem.to_toml(tmp_path / "p.toml")
    again = Problem.from_toml(tmp_path / "p.toml")
    assert again == problem
    assert list(map(type, again.classes)) == list(map(type, labels))


def test_the_problem_file_of_the_design_reads_as_written(tmp_path):
    (tmp_path / "fraud.toml").write_text(
        'unit = "EUR"\nclasses = ["legit", "fraud"]\ndecisions = ["approve", "review", "block"]\n'
        "[costs]\nlegit = { approve = 0, review = 3, block = 25 }\n"
        "fraud = { approve = 180, review = 8, block = 0 }\n[prior]\nlegit = 0.995\nfraud = 0.005\n"
    )
    assert Problem.from_toml(tmp_path / "fraud.toml") == Problem(
        [[0, 3, 25], [180, 8, 0]],
        classes=["legit", "fraud"],
        decisions=["approve", "review", "block"],
        prior=[0.995, 0.005],
        unit="EUR",
    )
    (tmp_path / "gain.toml").write_text("[utilities]\na = { x = 1, y = -2 }\n")
    assert Problem.from_toml(tmp_path / "gain.toml", unit="USD") == Problem(
        [[-1, 2]], classes=["a"], decisions=["x", "y"], unit="USD"
    )


@given(problems(), st.data())
def test_E3_utilities_are_costs_times_minus_one_and_regret_ranks_systems_alike(problem, data):
    """ferrer-ec §2: c_ij − min_j c_ij moves every system's cost by the same constant."""
    assert (
        Problem.from_utilities(problem.utilities, prior=problem.prior, unit=problem.unit) == problem
    )
    first, second = (data.draw(tables(problem.n_classes, problem.n_decisions)) for _ in range(2))
    stated = problem.with_prior(np.full(problem.n_classes, 1 / problem.n_classes))
    regret = stated.regret()
    assert (regret.costs.min(axis=1) == 0).all()
    by_cost = expected_cost(first, stated) - expected_cost(second, stated)
    by_regret = expected_cost(first, regret) - expected_cost(second, regret)
    assert by_cost == pytest.approx(by_regret, abs=1e-9)


def test_E4_decisions_need_not_be_classes():
    """ferrer-ec §2: tumour or none; operate, send home, more tests."""
    tumour = Problem(
        {
            "tumour": {"operate": 0, "send home": 100, "more tests": 5},
            "none": {"operate": 40, "send home": 0, "more tests": 5},
        }
    )
    counts = Counts([[6, 1, 3], [0, 15, 5]])
    assert expected_cost(counts, tumour) == pytest.approx((100 + 3 * 5 + 5 * 5) / 30)
    fewer = Problem([[0, 1], [1, 0], [0.5, 0.2]])  # more classes than decisions
    assert expected_cost(Counts([[2, 1], [0, 3], [4, 0]]), fewer) == pytest.approx((1 + 2) / 10)


@given(st.data(), st.integers(2, 5))
def test_E7_error_rate_and_balanced_error_rate_are_expected_costs(data, size):
    counts = data.draw(tables(size, size))
    assert expected_cost(counts, Problem.zero_one(size)) == pytest.approx(float(error_rate(counts)))
    balanced = Problem.balanced(counts.shares)
    assert balanced.prior == pytest.approx(counts.shares)
    assert expected_cost(counts, balanced) == pytest.approx(float(balanced_error_rate(counts)))
    # The stated prior matters: on other class shares it is still the balanced error rate.
    prior = data.draw(shares(size))
    assert expected_cost(counts, Problem.balanced(prior)) == pytest.approx(
        float(balanced_error_rate(counts))
    )


def test_a_balanced_problem_with_an_absent_class_is_refused():
    with pytest.raises(InputError, match="positive for every class"):
        Problem.balanced([0.5, 0.5, 0.0])


@pytest.mark.parametrize(
    ("costs", "threshold", "log_odds"),
    [
        ([[0, 1], [9, 0]], 0.1, np.log(1 / 9)),
        ([[2, 5], [7, 1]], 1 / 3, np.log(1 / 2)),
        ([[0, 0], [9, 0]], 0.0, -np.inf),
        ([[0, 1], [0, 0]], 1.0, np.inf),
        ([[0, -1], [9, 0]], -np.inf, -np.inf),
        ([[0, -1], [0, 0]], -np.inf, -np.inf),
        ([[0, 1], [0, 3]], np.inf, np.inf),
        ([[0, 0], [0, 3]], np.inf, np.inf),
        ([[1, 1], [2, 2]], np.nan, np.nan),
    ],
)
def test_E10_thresholds_of_general_two_by_two_costs(costs, threshold, log_odds):
    problem = Problem(costs)
    np.testing.assert_allclose(problem.threshold, threshold, rtol=1e-15)
    np.testing.assert_allclose(problem.log_odds_threshold, log_odds, rtol=1e-15)


@given(st.floats(0, 1))
def test_from_threshold_has_that_bayes_threshold(p):
    assert Problem.from_threshold(p).threshold == pytest.approx(p, abs=1e-15)


def test_every_constructor_takes_the_common_keywords():
    common: dict[str, Any] = {"classes": ["a", "b"], "decisions": ["x", "y"], "unit": "EUR"}
    for problem in (
        Problem.zero_one(["a", "b"], decisions=["x", "y"], unit="EUR", prior=[0.5, 0.5]),
        Problem.binary(false_alarm=1, miss=1, prior=[0.5, 0.5], **common),
        Problem.balanced([0.5, 0.5], **common),
        Problem.from_utilities([[0, 1], [1, 0]], prior=[0.5, 0.5], **common),
        Problem.from_threshold(0.5, prior=[0.5, 0.5], **common),
        Problem.detection(p_target=0.5, miss=1, false_alarm=1, **common),
        Problem.from_utility_coordinates(0, 0, prior=[0.5, 0.5], **common),
        Problem.expected([Problem.zero_one(2)], prior=[0.5, 0.5], **common),
    ):
        assert (problem.classes, problem.decisions) == (("a", "b"), ("x", "y"))
        assert problem.unit == "EUR"
        assert problem.prior is not None


def test_detection_is_nists_cost():
    problem = Problem.detection(p_target=0.01, miss=10, false_alarm=1)
    counts = Counts([[950, 50], [3, 7]])
    assert expected_cost(counts, problem) == pytest.approx(10 * 0.01 * 0.3 + 1 * 0.99 * 0.05)
    assert problem.decisions == ("reject", "accept")


def test_naive_lists_all_ties_and_takes_the_first():
    problem = Problem([[0, 3, 3], [6, 3, 3]], decisions=["a", "b", "c"], prior=[0.5, 0.5])
    assert problem.naive.decision == "a"
    assert problem.naive.tied == ("a", "b", "c")
    assert problem.naive.cost == 3
    assert problem.perfect_cost == 1.5
    nearly = Problem([[0.1 * 3, 0.3]], prior=[1.0])  # 0.1 * 3 is above 0.3 by rounding alone
    assert nearly.naive.tied == (0, 1)
    assert nearly.naive.decision == 0
    assert Problem([[0, 2], [5, 1]], prior=[0.2, 0.8]).naive.decision == 1


@given(st.data())
def test_D4_affine_change_ranks_alike(data):
    """dyrland eq 11, 12."""
    problem = data.draw(problems(least=2))
    factor, constant = data.draw(st.floats(0.1, 10)), data.draw(st.floats(-10, 10))
    moved = Problem(factor * problem.costs + constant, prior=problem.prior)
    assert moved.is_affine_of(problem)
    assert moved.is_equivalent(problem)
    flipped = Problem(-problem.costs, prior=problem.prior)
    assume(np.ptp(problem.costs) > 0.01)
    assert not flipped.is_affine_of(problem)
    scaled = problem.rescaled()
    assert scaled.utilities.min() == pytest.approx(0, abs=1e-12)
    assert scaled.utilities.max() == pytest.approx(1)
    assert scaled.is_affine_of(problem)


def test_D4_a_class_of_which_nothing_costs_anything_stays_so_on_every_scale():
    assert Problem([[0, 0], [1, 2]]).is_affine_of(Problem([[0, 0], [3, 6]]))


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_D4_costs_are_multiples_of_others_to_rounding_on_every_scale(scale):
    costs = np.array([[0, 1, 4], [5, 0, 2]])
    rounded, other = costs * (1 + 1e-10 * np.eye(2, 3)), costs * (1 + 1e-8 * np.arange(3))
    assert Problem(scale * rounded).is_affine_of(Problem(costs))
    assert Problem(costs).is_affine_of(Problem(scale * rounded))
    assert not Problem(scale * other).is_affine_of(Problem(costs))
    assert not Problem(costs).is_affine_of(Problem(scale * other))


def test_D4_equivalence_is_the_larger_relation():
    problem = Problem([[0, 1, 4], [5, 0, 2]], prior=[0.2, 0.8])
    per_class = Problem(problem.costs + np.array([[3], [-7]]), prior=[0.2, 0.8])
    assert per_class.is_equivalent(problem)
    assert not per_class.is_affine_of(problem)
    # The prior may be traded against the costs of a class.
    traded = Problem(problem.costs * [[0.2 / 0.5], [0.8 / 0.5]], prior=[0.5, 0.5])
    assert traded.is_equivalent(problem)
    assert not traded.with_prior(None).is_equivalent(problem.with_prior(None))
    assert not traded.is_equivalent(problem.with_prior(None))
    assert not Problem(problem.costs * [[2], [1]], prior=[0.2, 0.8]).is_equivalent(problem)
    assert not Problem(np.zeros((2, 3))).is_equivalent(problem.with_prior(None))
    for first, second in ((1e-10, 5e-10), (0.4e-9, 0.8e-9)):  # small costs rank systems too
        small, large = (Problem.binary(false_alarm=1, miss=miss) for miss in (first, second))
        assert not small.is_equivalent(large)
        assert not small.is_affine_of(large)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (0.3, -0.6), (-1, 0), (1, 1), (-0.5, 0.5), (0, -1)])
def test_D5_coordinates_and_their_inverse(x, y):
    problem = Problem.from_utility_coordinates(x, y)
    assert problem.utility_coordinates == pytest.approx((x, y), abs=1e-15)
    assert Problem(7 * problem.costs - 3).utility_coordinates == pytest.approx((x, y), abs=1e-14)


@pytest.mark.parametrize("tenths", range(11))
def test_D5_the_edges_of_the_hexagon_belong_to_it(tenths):
    x = tenths / 10
    for point in ((x, x - 1), (-x, 1 - x)):
        assert Problem.from_utility_coordinates(*point).utility_coordinates == pytest.approx(point)


def test_D5_the_factory_sits_at_its_point_and_the_corners_are_outside():
    factory = Problem.from_utilities(np.array([[15, -335], [-35, 165]]).T)
    assert factory.utility_coordinates == pytest.approx((0.3, -0.6))
    assert Problem.zero_one(2).utility_coordinates == (0, 0)
    for x, y in [(1, -0.5), (-0.5, 1), (1.1, 1)]:
        with pytest.raises(InputError):
            Problem.from_utility_coordinates(x, y)
    for x, y, name in [(-1.5, -0.9, "x"), (1.5, 0.9, "x"), (-0.9, -1.5, "y"), (0.9, 1.5, "y")]:
        with pytest.raises(InputError, match=rf"^{name} must be one real number within \[-1, 1\]"):
            Problem.from_utility_coordinates(x, y)


def test_D5_what_rounding_does_to_costs_is_no_reason_to_refuse_them_and_more_is():
    Problem([[1e6 * (1 + 1e-13), 1e6], [1e6, 0]]).utility_coordinates  # noqa: B018
    for scale in (1e-6, 1.0, 1e6):
        with pytest.raises(InputError, match="no more expensive than the wrong one"):
            Problem([[scale * (1 + 1e-9), scale], [scale, 0]]).utility_coordinates  # noqa: B018


FACTORY_A = Counts(np.array([[0.27, 0.15], [0.23, 0.35]]).T)  # dyrland prints outputs in rows
FACTORY_B = Counts(np.array([[0.43, 0.18], [0.07, 0.32]]).T)


@pytest.mark.parametrize(
    ("utilities", "yield_a", "yield_b"),
    [
        ([[15, -335], [-35, 165]], 3.5, -3.5),
        ([[45, -335], [-65, 165]], 4.7, 7.3),
        ([[350, 0], [300, 500]], 338.5, 331.5),
    ],
)
def test_D2_yields_of_the_two_classifiers(utilities, yield_a, yield_b):
    """dyrland eq 3–6."""
    problem = Problem.from_utilities(np.array(utilities).T)
    assert utility_yield(FACTORY_A, problem) == pytest.approx(yield_a)
    assert utility_yield(FACTORY_B, problem) == pytest.approx(yield_b)


@given(st.data())
def test_D8_the_expected_problem_gives_the_expected_cost(data):
    """dyrland eq 18, 19: several problems at once are one problem."""
    given_problems = [
        Problem(data.draw(hnp.arrays(float, (2, 3), elements=numbers)), prior=[0.3, 0.7])
        for _ in range(3)
    ]
    weights = data.draw(hnp.arrays(float, 3, elements=st.floats(0.1, 1)))
    counts = data.draw(tables(2, 3))
    mean = (
        sum(w * expected_cost(counts, p) for w, p in zip(weights, given_problems, strict=True))
        / weights.sum()
    )
    joint = Problem.expected(given_problems, weights=weights)
    assert expected_cost(counts, joint) == pytest.approx(float(mean), abs=1e-9)


def test_D8_symmetric_ignorance_gives_accuracy():
    x, y = np.meshgrid(np.linspace(-1, 1, 61), np.linspace(-1, 1, 61))
    inside = np.abs(x - y) <= 1
    ignorant = Problem.expected(
        Problem.from_utility_coordinates(a, b) for a, b in zip(x[inside], y[inside], strict=True)
    )
    assert ignorant.is_equivalent(Problem.zero_one(2))
    np.testing.assert_allclose(ignorant.utilities, [[7 / 9, 2 / 9], [2 / 9, 7 / 9]], atol=0.01)


def test_D8_problems_with_differing_priors_have_no_mean():
    first = Problem.zero_one(2, prior=[0.5, 0.5])
    for other in (Problem.zero_one(2, prior=[0.4, 0.6]), Problem.zero_one(2)):
        with pytest.raises(InputError, match="one prior"):
            Problem.expected([first, other])
    with pytest.raises(InputError, match="classes"):
        Problem.expected([Problem.zero_one(2), Problem.zero_one(["a", "b"])])
    with pytest.raises(InputError, match="at least one"):
        Problem.expected([])


def test_abstention_costs_the_same_everywhere_or_by_class():
    problem = Problem.zero_one(["a", "b"]).with_abstention({"b": 0.3, "a": 0.1}, name="ask")
    assert problem.costs[:, 2].tolist() == [0.1, 0.3]
    assert problem.decisions == ("a", "b", "ask")
    with pytest.raises(InputError, match="one for each of the 2 classes"):
        problem.with_abstention([1, 2, 3])
    with pytest.raises(InputError, match="appears twice"):
        problem.with_abstention(0.1, name="ask")


@given(problems(), st.data())
def test_E5_normalized_cost_does_not_change_with_costs_per_class_or_scale(problem, data):
    """0 is perfect and 1 is naive for any costs, also with negative ones."""
    counts = data.draw(tables(problem.n_classes, problem.n_decisions))
    moved = Problem(3 * problem.costs + np.arange(problem.n_classes)[:, None], prior=problem.prior)
    assume(np.ptp(problem.costs, axis=1).min(initial=1) > 0.1)
    np.testing.assert_allclose(
        normalized_cost(counts, moved), normalized_cost(counts, problem), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("cost", [1e101, -1e300, 1e308])
def test_costs_beyond_all_units_are_refused(cost):
    message = "costs must lie within 1e.100 of zero; the largest is .* Choose a larger unit"
    with pytest.raises(InputError, match=message):
        Problem([[0, cost], [5, 0]])
    assert Problem([[0, 1e100], [-1e100, 0]]).costs.max() == 1e100
