"""Which metrics would have picked another model, and metrics against the yield."""

from __future__ import annotations

from functools import partial
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes.audit import (
    FAMILIAR,
    FAMILIAR_MULTICLASS,
    Gain,
    Loss,
    Metric,
    PositiveClass,
    against_yield,
    disagreement,
    familiar_metrics,
)
from stakes.errors import InputError
from stakes.evaluation import evaluate
from stakes.measures import accuracy, error_rate, expected_cost, f_beta, recall
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors
from stakes.simulate import fixed, random_confusion, rising_rates
from stakes.tally import Counts, JointCounts

# dyrland, section 0. There rows are outputs and class 0, long durability, is positive; here rows
# are classes and the positive one comes second.
A = Counts([[0.35, 0.15], [0.23, 0.27]])
B = Counts([[0.32, 0.18], [0.07, 0.43]])
FACTORY = Problem.from_utilities(
    [[165, -335], [-35, 15]], classes=["short", "long"], decisions=["high-end", "low-end"], unit="$"
)
TABLE_1 = {
    "accuracy": (0.62, 0.75),
    "balanced accuracy": (0.62, 0.75),
    "precision": (0.64, 0.70),
    "F1": (0.59, 0.77),
    "MCC": (0.24, 0.51),
    "Fowlkes-Mallows": (0.59, 0.78),
    "recall": (0.54, 0.86),
    "specificity": (0.70, 0.64),
}


def test_D1_D2_the_story_of_the_factory_is_told_by_one_call():
    told = disagreement({"A": A, "B": B}, FACTORY, metrics=FAMILIAR)
    for name, values in TABLE_1.items():
        row = told.values[told.metrics.index(name)]
        np.testing.assert_array_equal(row.round(2), values, err_msg=name)
    recommends = {name: told.picks_of(name) for name in told.metrics}
    assert [name for name, picks in recommends.items() if picks != ("B",)] == ["specificity"]
    np.testing.assert_allclose(told.costs, [-3.5, 3.5], atol=1e-12)  # A earns, B loses 3.5 $
    assert told.best.tolist() == [True, False]
    np.testing.assert_allclose(
        told.regret, [0 if name == "specificity" else 7 for name in told.metrics], atol=1e-12
    )
    assert "in $" in repr(told)
    assert repr(told).splitlines()[2].split() == ["expected", "cost", "-3.5", "3.5", "A", "0"]
    assert "<table>" in told._repr_html_()


def test_D2_the_other_gains_make_b_the_better_one():
    other = Problem.from_utilities([[165, -335], [-65, 45]])
    told = disagreement({"A": A, "B": B}, other, metrics=FAMILIAR)
    np.testing.assert_allclose(told.costs, [-4.7, -7.3], atol=1e-12)
    misled = [name for name, wrong in zip(told.metrics, told.misled, strict=True) if wrong]
    assert misled == ["specificity"]


# Slow twin ---------------------------------------------------------------------------------------

tables = st.lists(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=2, max_size=2).filter(
        lambda table: all(map(any, table))
    ),
    min_size=2,
    max_size=4,
)
costs = st.lists(
    st.lists(st.integers(-3, 9), min_size=3, max_size=3), min_size=2, max_size=2
)  # two classes, three decisions


def first_column(table):
    """A metric that may be undefined: the share of class 0 among those with decision 0."""
    column = table[0][0] + table[1][0]
    return table[0][0] / column if column else float("nan")


def first_column_of_counts(counts):
    with np.errstate(invalid="ignore"):
        return counts.values[..., 0, 0] / counts.values[..., :, 0].sum(axis=-1)


@given(tables, costs)
def test_disagreement_is_what_the_plain_loop_finds(given_tables, given_costs):
    problem = Problem(given_costs, prior=[0.75, 0.25])
    models = {f"m{j}": Counts(table) for j, table in enumerate(given_tables)}
    told = disagreement(
        models,
        problem,
        metrics={"gain": Gain(first_column_of_counts), "loss": Loss(first_column_of_counts)},
    )
    cost = [
        sum(
            share * count / sum(row) * price
            for share, row, prices in zip([0.75, 0.25], table, given_costs, strict=True)
            for count, price in zip(row, prices, strict=True)
        )
        for table in given_tables
    ]
    np.testing.assert_allclose(told.costs, cost, atol=1e-9)
    assert told.best.tolist() == [c <= min(cost) + 1e-9 for c in cost]
    for q, sign in enumerate((1, -1)):
        value = [sign * first_column(table) for table in given_tables]
        known = [v for v in value if v == v]
        picks = [bool(known) and v >= max(known) - 1e-9 for v in value]
        assert told.picks[q].tolist() == picks
        excess = [c - min(cost) for c, picked in zip(cost, picks, strict=True) if picked]
        if excess:
            np.testing.assert_allclose(told.regret[q], max(excess), atol=1e-9)
            assert told.misled[q] == (max(excess) > 1e-9)
        else:
            assert np.isnan(told.regret[q])


# Forms of models ---------------------------------------------------------------------------------


def test_joint_counts_and_stacked_counts_say_the_same_as_a_mapping():
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, 60)
    decided = {"old": rng.integers(0, 2, 60), "new": rng.integers(0, 2, 60)}
    problem = Problem.binary(false_alarm=1, miss=4)
    joint = JointCounts.from_decisions(truth, decided, problem)
    mapping = {name: joint.model(name) for name in decided}
    expected = disagreement(mapping, problem, metrics=FAMILIAR)
    assert disagreement(joint, problem, metrics=FAMILIAR) == expected
    stacked = Counts(np.stack([table.values for table in mapping.values()]))
    by_number = disagreement(stacked, problem, metrics=FAMILIAR)
    assert by_number.models == (0, 1)
    np.testing.assert_array_equal(by_number.regret, expected.regret)


def test_leading_axes_are_carried_through():
    rng = np.random.default_rng(6)
    replicates = {name: Counts(rng.integers(1, 30, (5, 4, 2, 2))) for name in "AB"}
    told = disagreement(replicates, FACTORY, metrics=FAMILIAR)
    assert told.values.shape == (5, 4, len(FAMILIAR), 2)
    result = disagreement(
        {name: table[2, 3] for name, table in replicates.items()}, FACTORY, metrics=FAMILIAR
    )
    np.testing.assert_array_equal(told.regret[2, 3], result.regret)
    np.testing.assert_array_equal(told.picks[2, 3], result.picks)
    assert repr(told) == "Disagreement of shape (5, 4) x 9 metrics x 2 models"


def test_ties_are_listed_and_cost_what_the_most_expensive_pick_costs():
    same = Counts([[40, 10], [10, 40]])
    other = Counts([[45, 5], [15, 35]])  # as accurate, but it misses more
    problem = Problem.binary(false_alarm=1, miss=9)
    metrics = {"accuracy": FAMILIAR["accuracy"]}
    told = disagreement({"a": same, "b": other, "c": same}, problem, metrics=metrics)
    assert told.picks_of("accuracy") == ("a", "b", "c")
    assert told.best.tolist() == [True, False, True]
    np.testing.assert_allclose(told.regret, [0.4])
    assert told.columns()["picks"] == ["a, c", "a, b, c"]


def test_the_cost_is_that_of_deployment_and_the_metrics_are_those_of_the_data():
    prior = [0.9, 0.1]
    told = disagreement({"A": A, "B": B}, FACTORY.with_prior(prior), metrics=FAMILIAR)
    again = disagreement({"A": A, "B": B}, FACTORY, metrics=FAMILIAR)
    np.testing.assert_array_equal(told.values, again.values)
    np.testing.assert_allclose(
        told.costs, [float(expected_cost(table.with_prior(prior), FACTORY)) for table in (A, B)]
    )


def test_nobody_is_misled_where_the_costs_are_undefined():
    """The prior expects a class that the data lack."""
    one_class = {"A": Counts([[3, 2], [0, 0]]), "B": Counts([[2, 3], [0, 0]])}
    problem = Problem.binary(false_alarm=1, miss=2, prior=[0.5, 0.5])
    metrics = {"accuracy": FAMILIAR["accuracy"], "recall": FAMILIAR["recall"]}
    told = disagreement(one_class, problem, metrics=metrics)
    assert np.isnan(told.costs).all()
    assert told.picks_of("accuracy") == ("A",)
    assert told.misled.tolist() == [False, False]
    assert np.isnan(told.regret).all()
    assert np.isnan(np.array(told.columns()["costs more"], dtype=float)).all()
    assert repr(told).splitlines()[2].split() == ["expected", "cost", "nan", "nan", "nan"]


def test_a_pick_whose_cost_alone_is_undefined_does_not_mislead():
    models = {
        "A": Counts([[3, 2], [0, 0]]),
        "B": Counts([[2, 3], [1, 4]]),
        "C": Counts([[2, 3], [4, 1]]),
    }
    problem = Problem.binary(false_alarm=1, miss=2, prior=[0.5, 0.5])
    specificity = Gain(lambda counts: -counts.values[..., 0, 1])
    told = disagreement(
        models, problem, metrics={"picks A": specificity, "picks C": Loss(PositiveClass(recall))}
    )
    assert told.best.tolist() == [False, True, False]
    assert told.picks.tolist() == [[True, False, False], [False, False, True]]
    assert told.misled.tolist() == [False, True]
    assert np.isnan(told.regret).tolist() == [True, False]


def test_only_metrics_that_were_asked_for_have_picks():
    told = disagreement({"A": A, "B": B}, FACTORY, metrics=FAMILIAR)
    with pytest.raises(InputError, match="metric must be one of"):
        told.picks_of("AUC")


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([A, B], "models must be a joint tally, a mapping"),
        (A, "models must be a joint tally, a mapping"),
        ({"A": A, "B": B.values}, "models must be a joint tally.*that of 'B' is ndarray"),
        ({"A": A, "B": Counts([[1, 2, 3]])}, "models must have tables of one shape"),
    ],
)
def test_other_forms_of_models_are_refused(models, message):
    with pytest.raises(InputError, match=message):
        disagreement(models, FACTORY, metrics=FAMILIAR)


# The report --------------------------------------------------------------------------------------


def test_the_report_keeps_a_metric_that_is_defined_for_one_model_alone():
    """As disagreement does: what is undefined is never picked. Here a model never says yes."""
    truth = np.array([0, 0, 0, 1, 1, 1, 0, 1] * 5)
    models = {
        "bold": Posteriors(np.array([0.1, 0.4, 0.6, 0.5, 0.8, 0.9, 0.2, 0.4] * 5)),
        "timid": Posteriors(np.array([0.1, 0.2, 0.1, 0.3, 0.4, 0.4, 0.2, 0.4] * 5)),
    }
    problem = Problem.binary(false_alarm=1, miss=2)
    told = evaluate(truth, models, problem, replicates=5).disagreement
    assert told is not None
    row = told.metrics.index("precision")
    assert np.isnan(told.values[row]).tolist() == [False, True]
    assert told.picks_of("precision") == ("bold",)
    assert told.regret[row] == told.excess[0]


def test_the_report_leaves_out_what_one_model_alone_has():
    """Mere decisions have no AUC, so that the AUC compares nothing."""
    truth = np.array([0, 0, 0, 1, 1, 1, 0, 1] * 5)
    models = {
        "posteriors": Posteriors(np.array([0.1, 0.4, 0.6, 0.5, 0.8, 0.9, 0.2, 0.4] * 5)),
        "decisions": Decisions(np.array([0, 0, 1, 1, 1, 1, 0, 1] * 5)),
    }
    problem = Problem.binary(false_alarm=1, miss=2)
    told = evaluate(truth, models, problem, replicates=5).disagreement
    assert told is not None
    assert "accuracy" in told.metrics
    assert not {"AUC", "log loss", "Brier score"} & set(told.metrics)


# Metrics -----------------------------------------------------------------------------------------


def test_a_metric_says_by_its_type_which_way_is_better():
    counts = Counts([[[8, 2], [1, 9]], [[5, 5], [5, 5]]])
    np.testing.assert_array_equal(
        Gain(accuracy).goodness(counts) > 0, Loss(error_rate).goodness(counts) < 0
    )
    assert Gain(accuracy) == Gain(accuracy)
    assert Gain(accuracy) != Loss(accuracy)
    with pytest.raises(TypeError):
        Metric(accuracy)  # type: ignore[abstract]


def test_bare_functions_are_refused_because_they_do_not_say_what_is_better():
    with pytest.raises(InputError, match=r"metrics\['accuracy'\] must be a Metric; .*where higher"):
        disagreement({"A": A, "B": B}, FACTORY, metrics={"accuracy": accuracy})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="metrics must be a mapping"):
        disagreement({"A": A, "B": B}, FACTORY, metrics=[Gain(accuracy)])  # type: ignore[arg-type]


def test_a_metric_gives_one_number_for_each_table():
    with pytest.raises(InputError, match=r"Take one class of a per-class measure with Positive"):
        Gain(recall)(A)


def test_familiar_metrics_fit_the_problem():
    assert familiar_metrics(FACTORY) is FAMILIAR
    assert familiar_metrics(Problem.zero_one(4)) is FAMILIAR_MULTICLASS
    assert familiar_metrics(Problem.zero_one(3).with_abstention(0.1)) == {}
    table = Counts([[9, 1, 0], [2, 8, 1], [0, 3, 7]])
    for metric in FAMILIAR_MULTICLASS.values():
        assert 0 < float(metric(table)) < 1


def test_the_registry_cannot_be_changed():
    with pytest.raises(TypeError):
        FAMILIAR["mine"] = Gain(accuracy)  # type: ignore[index]


# Against the yield -------------------------------------------------------------------------------

IDENTITY = Problem.from_utilities([[1, 0], [0, 1]])
ONE_CLASS = Problem.from_utilities([[0, 0], [0, 1]])
FIGURES = {
    name: FAMILIAR[name] for name in ("accuracy", "recall", "F1", "MCC")
}  # rows of figures 2 and 3


@pytest.fixture(scope="module", params=[0.5, 0.9], ids=["figure 2", "figure 3"])
def points(request):
    """600 random tables of one data set, as dyrland draws them."""
    drawn = random_confusion(
        1,
        600,
        share=fixed(request.param),
        correct_rates=rising_rates,
        rng=np.random.default_rng(10),
    )
    return drawn[0]


def test_D7_accuracy_and_recall_are_right_in_their_own_problem_only(points):
    for problem, right, wrong in (
        (IDENTITY, "accuracy", "recall"),
        (ONE_CLASS, "recall", "accuracy"),
    ):
        result = against_yield(points, problem, metrics=FIGURES)
        assert result.reversed_share(right) == 0
        assert result.reversed_chain(right).size == 1
        assert result.reversed_share(wrong) > 0.02
        assert result.reversed_chain(wrong).size >= 3


@pytest.mark.parametrize("problem", [IDENTITY, ONE_CLASS], ids=["identity", "one class"])
@pytest.mark.parametrize("name", ["F1", "MCC"])
def test_D7_f1_and_mcc_err_in_every_problem(points, problem, name):
    result = against_yield(points, problem, metrics=FIGURES)
    chain = result.reversed_chain(name)
    assert chain.size >= 3
    assert (np.diff(result.yields[chain]) > 0).all()
    assert (np.diff(result.values[result.metrics.index(name), chain]) < 0).all()


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=7),
)
def test_the_reversed_chain_is_the_longest_of_all_subsets(pairs):
    counts = Counts([[[9 - u, u], [9 - m, m]] for u, m in pairs])
    result = against_yield(
        counts,
        Problem.from_utilities([[0, 1], [0, 0]]),
        metrics={"m": Gain(lambda counts: counts.values[..., 1, 1])},
    )

    def reversed_order(subset):
        ordered = sorted(subset)
        return all(a[0] < b[0] and a[1] > b[1] for a, b in pairwise(ordered))

    longest = max(
        size
        for size in range(1, len(pairs) + 1)
        for subset in combinations(pairs, size)
        if reversed_order(subset)
    )
    chain = result.reversed_chain("m")
    assert len(chain) == longest
    assert reversed_order([pairs[position] for position in chain])
    opposite = sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(pairs, 2))
    if len(pairs) > 1:
        total = len(pairs) * (len(pairs) - 1) / 2
        assert result.reversed_share("m") == pytest.approx(opposite / total)


def test_losses_are_turned_before_they_are_compared():
    counts = Counts([[[8, 2], [1, 9]], [[5, 5], [5, 5]]])
    result = against_yield(counts, IDENTITY, metrics={"errors": Loss(error_rate)})
    assert result.reversed_share("errors") == 0
    np.testing.assert_allclose(result.values, [[0.15, 0.5]])


def test_what_rounding_keeps_apart_is_a_tie():
    """One accuracy by different sums: 0.1 + 0.2 is not 0.3."""
    tables = Counts([[[0.1, 0.4], [0.3, 0.2]], [[0.3, 0.2], [0.5, 0.0]], [[0.2, 0.3], [0.4, 0.1]]])
    noise = np.array([1.0, 1 + 1e-15, 1 - 1e-15])
    result = against_yield(tables, IDENTITY, metrics={"m": Gain(lambda counts: noise)})
    assert result.reversed_share("m") == 0
    assert result.reversed_chain("m").size == 1
    undefined = against_yield(
        tables, ONE_CLASS, metrics={"m": Gain(lambda counts: np.array([np.nan, np.inf, -np.inf]))}
    )
    assert undefined.reversed_chain("m").size == 2  # of the last two tables the first is worse
    with pytest.raises(InputError, match="metric must be one of"):
        result.reversed_share("n")


def test_against_yield_wants_many_tables():
    with pytest.raises(InputError, match="counts must hold many tables along one axis"):
        against_yield(A, IDENTITY, metrics=FAMILIAR)


def test_metrics_with_parameters_are_partial_functions():
    metric = Gain(PositiveClass(partial(f_beta, beta=2)))
    assert float(metric(B)) == pytest.approx(5 * 0.43 / (5 * 0.43 + 4 * 0.07 + 0.18))
