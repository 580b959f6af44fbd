"""Goodness of fit for many classes: itai-katz, its numbers, its bounds and its misprints."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from stakes import InputError
from stakes.agreement import (
    all_against_all,
    association_matrix,
    cramers_phi,
    determinant_mcc,
    f1_of_negatives,
    general_f1,
    general_fowlkes_mallows,
    mean_of_four_rates,
    pairwise,
    perfect_relabelling,
    power_mean,
)
from stakes.measures import (
    accuracy,
    f_beta,
    fowlkes_mallows,
    macro_f_beta,
    mcc,
    negative_predictive_value,
    one_vs_rest,
    precision,
    recall,
    specificity,
)
from stakes.tally import Counts

#: The example of section 4, and the one of section 3.2.4.
PROGRAM = Counts([[5, 6, 2], [2, 8, 11], [8, 2, 10]])
AVOIDED = Counts([[20, 6, 0], [2, 20, 0], [12, 12, 8]])

cells = st.integers(0, 40)
orders = st.sampled_from([-np.inf, -3, -1, -0.5, -1e-6, 0, 1e-6, 0.5, 1, 2, np.inf])
inner_orders = st.sampled_from([-np.inf, -3, -1, -0.5, 0, 0.5, 1])


@st.composite
def tables(draw, *, square=True, sizes=(2, 3, 4)):
    """Tables without an empty margin."""
    rows = draw(st.sampled_from(sizes))
    columns = rows if square else draw(st.sampled_from([size for size in sizes if size != rows]))
    values = np.reshape([draw(cells) for _ in range(rows * columns)], (rows, columns))
    assume(values.sum(axis=0).all() and values.sum(axis=1).all())
    return Counts(values)


# Power means -------------------------------------------------------------------------------------


def test_K1_the_five_means_by_name():
    values = [2.0, 8.0]
    assert power_mean(values, -np.inf) == 2
    assert power_mean(values, -1) == pytest.approx(3.2)
    assert power_mean(values, 0) == pytest.approx(4)
    assert power_mean(values, 1) == 5
    assert power_mean(values, 2) == pytest.approx(np.sqrt(34))
    assert power_mean(values, np.inf) == 8


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6), st.floats(-50, 50), st.floats(0, 50))
def test_K1_it_grows_with_the_order_between_minimum_and_maximum(values, p, step):
    low, high = power_mean(values, p), power_mean(values, p + step)
    assert min(values) * (1 - 1e-12) <= low <= high * (1 + 1e-12)
    assert high <= max(values) * (1 + 1e-12)


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6), orders, st.floats(1e-2, 1e2))
def test_K1_it_is_homogeneous_and_flat_on_flat_vectors(values, p, factor):
    scaled = power_mean(np.array(values) * factor, p)
    assert scaled == pytest.approx(factor * power_mean(values, p))
    assert power_mean([factor] * 4, p) == pytest.approx(factor)


@given(
    st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6), st.sampled_from([1e-9, 1e-200, 5e-324])
)
def test_K1_it_is_continuous_where_it_becomes_geometric(values, tiny):
    for p in (-tiny, tiny):
        assert power_mean(values, p) == pytest.approx(power_mean(values, 0), rel=1e-6)


def test_K1_no_order_is_too_extreme_for_any_values():
    """On the scale of logarithms: 1e300 to the power 1000 is not formed."""
    values = [1e-300, 1.0, 1e300]
    assert power_mean(values, 1e300) == pytest.approx(1e300)
    assert power_mean(values, -1e300) == pytest.approx(1e-300)
    assert power_mean(values, 1000) == pytest.approx(1e300 * (1 / 3) ** (1 / 1000))
    assert power_mean(values, -1000) == pytest.approx(1e-300 * 3 ** (1 / 1000))
    assert power_mean(values, 0) == pytest.approx(1)
    assert power_mean([3.0, np.inf], -1) == pytest.approx(6)
    assert power_mean([3.0, np.inf], 2) == np.inf
    assert power_mean([0.0, np.inf], 0) == 0


@pytest.mark.parametrize("p", [-np.inf, -1e300, -2, -1, -1e-9, 0])
def test_K1_a_zero_gives_zero_for_every_order_up_to_0(p):
    assert power_mean([0, 5, 7], p) == 0


def test_K1_a_zero_counts_for_orders_above_0():
    assert power_mean([0, 8], 1) == 4
    assert power_mean([0, 8], 0.5) == pytest.approx(2)
    assert power_mean([0, 0], 2) == 0


@pytest.mark.parametrize("p", [-2, -1, 0, 0.5, 2, 3])
def test_K1_negative_values_have_no_mean_of_this_order(p):
    assert np.isnan(power_mean([-1, 0, 2], p))


def test_K1_negative_values_have_an_arithmetic_mean_and_extremes():
    assert power_mean([-1, 3], 1) == 1
    assert power_mean([-1, 3], -np.inf) == -1
    assert power_mean([-1, 3], np.inf) == 3


def test_K1_axes_are_free_and_no_values_have_no_mean():
    array = np.arange(1, 25, dtype=float).reshape(2, 3, 4)
    assert power_mean(array, 0, axis=1).shape == (2, 4)
    np.testing.assert_allclose(power_mean(array, 1, axis=0), array.mean(axis=0))
    assert np.isnan(power_mean(np.empty((2, 0)), 0)).all()
    assert np.isnan(power_mean([np.nan, 0], -1))


@pytest.mark.parametrize("p", [np.nan, "harmonic", None])
def test_the_order_is_a_number(p):
    with pytest.raises(InputError, match="p must be one real number"):
        power_mean([1, 2], p)


# Averages over classes ---------------------------------------------------------------------------


@given(tables())
def test_K2_general_f1_averages_the_f1_scores_and_fowlkes_mallows_their_kin(counts):
    scores, indices = f_beta(counts, 1), fowlkes_mallows(counts)
    for p in (-np.inf, -1, 0, 1, np.inf):
        assert general_f1(counts, average=p) == pytest.approx(power_mean(scores, p))
        assert general_fowlkes_mallows(counts, average=p) == pytest.approx(power_mean(indices, p))
    assert general_f1(counts, average=1) == pytest.approx(macro_f_beta(counts, 1))


@given(tables(), orders)
def test_K2_f1_never_exceeds_fowlkes_mallows(counts, average):
    """Eq 3: the harmonic mean is at most the geometric one."""
    f1 = general_f1(counts, average=average)
    assert f1 <= general_fowlkes_mallows(counts, average=average) + 1e-12
    assert 0 <= f1 <= 1 + 1e-12


@given(tables(), orders, inner_orders)
def test_K2_both_orders_are_free_and_the_inner_one_grows(counts, average, mean):
    inner = power_mean(np.stack([recall(counts), precision(counts)], axis=-1), mean)
    result = general_f1(counts, average=average, mean=mean)
    assert result == pytest.approx(power_mean(inner, average))
    assert result >= general_f1(counts, average=average, mean=-np.inf) - 1e-12


def test_K2_a_class_that_is_never_decided_has_f1_zero_as_counted():
    counts = Counts([[3, 1, 0], [1, 4, 0], [2, 2, 0]])
    assert general_f1(counts, average=1) == pytest.approx(macro_f_beta(counts, 1))
    assert general_f1(counts, average=-1) == 0
    assert np.isnan(general_fowlkes_mallows(counts, average=1))


def test_inner_means_above_the_arithmetic_one_are_refused():
    for measure in (association_matrix, determinant_mcc, mean_of_four_rates):
        with pytest.raises(InputError, match=r"mean must be an order of at most 1.*got 2"):
            measure(PROGRAM, mean=2)
    with pytest.raises(InputError, match="average must be one real number"):
        general_f1(PROGRAM, average=np.nan)


@given(tables())
def test_K3_the_f1_of_negatives_is_the_harmonic_mean_of_specificity_and_npv(counts):
    """The text says sensitivity where it means negative predictive value."""
    rates = np.stack([specificity(counts), negative_predictive_value(counts)], axis=-1)
    assume(not np.isnan(rates).any())
    np.testing.assert_allclose(f1_of_negatives(counts), power_mean(rates, -1))


@given(tables(sizes=(2,)), orders)
def test_K3_of_two_classes_it_is_the_f1_of_the_other_and_their_average_is_general_f1(counts, p):
    first, second = f_beta(counts, 1)
    np.testing.assert_allclose(f1_of_negatives(counts), [second, first])
    both = power_mean([second, f1_of_negatives(counts)[1]], p)
    assert general_f1(counts, average=p) == pytest.approx(both)


@given(tables(), inner_orders)
def test_K4_power_mean_of_sensitivity_precision_specificity_and_npv(counts, p):
    rates = [f(counts) for f in (recall, precision, specificity, negative_predictive_value)]
    expected = power_mean(np.stack(rates, axis=-1), p)
    np.testing.assert_allclose(mean_of_four_rates(counts, mean=p), expected)


@given(tables())
def test_K4_the_harmonic_one_is_known_as_p4(counts):
    """Sitarz 2023: 4 TP TN / (4 TP TN + (TP + TN)(FP + FN))."""
    cell = one_vs_rest(counts).values
    tn, fp, fn, tp = cell[:, 0, 0], cell[:, 0, 1], cell[:, 1, 0], cell[:, 1, 1]
    p4 = 4 * tp * tn / (4 * tp * tn + (tp + tn) * (fp + fn))
    np.testing.assert_allclose(mean_of_four_rates(counts, mean=-1), p4)


# The determinant ---------------------------------------------------------------------------------


def printed_program(table):
    """The program of section 4 as it runs: pandas aligns the sums of rows with the columns."""
    n = np.asarray(table, dtype=float)
    rows, columns = n.sum(axis=1), n.sum(axis=0)
    size = range(len(n))
    matrix = [[np.sqrt(n[i, j] / rows[j] * n[j, i] / columns[i]) for i in size] for j in size]
    return np.linalg.det(matrix)


def test_K5_the_determinant_of_the_example_is_not_what_the_printed_program_gives():
    assert determinant_mcc(PROGRAM) == pytest.approx(0.105283903441, abs=5e-13)
    assert printed_program(PROGRAM.values) == pytest.approx(0.0313273556, abs=5e-11)


@given(tables(square=False) | tables())
def test_K5_the_matrix_is_the_geometric_mean_of_both_conditionals(counts):
    n = counts.values
    rows, columns = n.sum(axis=1, keepdims=True), n.sum(axis=0, keepdims=True)
    matrix = association_matrix(counts, mean=0)
    np.testing.assert_allclose(matrix, np.sqrt((n / rows) * (n / columns)))
    np.testing.assert_allclose(matrix, n / np.sqrt(rows * columns))
    np.testing.assert_allclose(association_matrix(counts, mean=1), (n / rows + n / columns) / 2)


@given(tables(sizes=(2,)))
def test_K6_of_two_classes_it_is_mcc(counts):
    assert determinant_mcc(counts) == pytest.approx(mcc(counts), abs=1e-12)


@given(tables(), inner_orders)
def test_K6_it_lies_between_minus_one_and_one_for_every_mean_up_to_the_arithmetic(counts, mean):
    """Eq 9-14: the entries sum to at most n, the rows' product and the determinant to at most 1."""
    matrix = association_matrix(counts, mean=mean)
    assert matrix.sum() <= counts.n_classes + 1e-9
    assert np.prod(matrix.sum(axis=1)) <= 1 + 1e-9
    assert abs(determinant_mcc(counts, mean=mean)) <= np.prod(matrix.sum(axis=1)) + 1e-9


@given(tables(), inner_orders, st.data())
def test_K6_names_and_sides_do_not_matter(counts, mean, data):
    value = determinant_mcc(counts, mean=mean)
    order = data.draw(st.permutations(range(counts.n_classes)))
    renamed = Counts(counts.values[np.ix_(order, order)])
    assert determinant_mcc(renamed, mean=mean) == pytest.approx(value, abs=1e-12)
    assert determinant_mcc(Counts(counts.values.T), mean=mean) == pytest.approx(value, abs=1e-12)


def test_K6_the_matrix_of_eq_7_is_singular_and_that_of_eq_8_not_symmetric():
    counts = Counts([[7, 3], [2, 9]])
    of_truth, of_decisions = recall(counts), precision(counts)
    eq_7 = np.sqrt(of_truth[:, None] * of_decisions[None, :])
    assert np.linalg.det(eq_7) == pytest.approx(0, abs=1e-15)
    matrix = association_matrix(counts, mean=0)
    assert abs(matrix[0, 1] - matrix[1, 0]) > 0.05


def test_K7_a_classifier_that_avoids_a_class_spans_little():
    """Printed as 0.235, a misprint."""
    assert determinant_mcc(AVOIDED) == pytest.approx(0.225669288, abs=5e-10)
    assert accuracy(AVOIDED) == pytest.approx(48 / 80)


@pytest.mark.parametrize("table", [[[5, 0], [3, 0]], [[5, 3], [0, 0]]])
@pytest.mark.parametrize("mean", [-1, 0, 1])
def test_an_empty_margin_leaves_the_determinant_undefined(table, mean):
    assert np.isnan(determinant_mcc(Counts(table), mean=mean))
    assert np.isnan(cramers_phi(Counts(table)))


def test_undefined_tables_do_not_touch_their_neighbours():
    batch = Counts([[[5, 0], [3, 0]], [[5, 1], [1, 5]]])
    np.testing.assert_allclose(determinant_mcc(batch), [np.nan, 2 / 3])
    lost = Counts([[4, 1, 0], [1, 3, 1], [0, 0, 0]]).with_prior([0.5, 0.3, 0.2])
    assert np.isnan([determinant_mcc(lost), cramers_phi(lost), general_f1(lost, average=1)]).all()


# Cramér ------------------------------------------------------------------------------------------


def chi_squared(values):
    expected = np.outer(values.sum(axis=1), values.sum(axis=0)) / values.sum()
    return ((values - expected) ** 2 / expected).sum()


@given(tables(square=False) | tables())
def test_K8_cramers_phi_is_the_root_of_chi_squared_over_n_times_k_minus_one(counts):
    n, k = counts.n_cases, min(counts.values.shape)
    chi2 = chi_squared(counts.values)
    assert cramers_phi(counts) == pytest.approx(np.sqrt(chi2 / (n * (k - 1))), abs=1e-9)
    squares = (association_matrix(counts, mean=0) ** 2).sum()
    assert squares == pytest.approx(1 + chi2 / n)
    assert cramers_phi(Counts(counts.values.T)) == pytest.approx(cramers_phi(counts), abs=1e-9)


@given(tables(sizes=(2,)))
def test_K8_of_two_classes_it_is_the_size_of_mcc(counts):
    assert cramers_phi(counts) == pytest.approx(abs(mcc(counts)), abs=1e-9)


def test_K8_one_class_or_one_decision_has_no_association():
    assert np.isnan(cramers_phi(Counts([[3, 1, 2]])))
    assert np.isnan(cramers_phi(Counts([[3], [1]])))
    assert np.isnan(cramers_phi(Counts([[9, 1, 3, 0.5]]))), "its χ² is zero but for rounding"


# All against all ---------------------------------------------------------------------------------


def recall_of_second(counts):
    return recall(counts)[..., 1]


@given(tables(sizes=(3, 4)))
def test_K9_pairs_leave_all_other_classes_and_decisions_out(counts):
    pairs = pairwise(recall_of_second, counts)
    for i, j in itertools.permutations(range(counts.n_classes), 2):
        pair = Counts(counts.values[np.ix_([i, j], [i, j])])
        np.testing.assert_array_equal(pairs[i, j], recall_of_second(pair))
    assert np.isnan(np.diagonal(pairs)).all()


def test_K9_the_pairs_of_the_example_by_hand():
    pairs = pairwise(mcc, PROGRAM)
    by_hand = [
        28 / np.sqrt(11 * 10 * 7 * 14),
        34 / np.sqrt(7 * 18 * 13 * 12),
        58 / np.sqrt(19 * 12 * 10 * 21),
    ]
    np.testing.assert_allclose(pairs[[0, 0, 1], [1, 2, 2]], by_hand)
    np.testing.assert_allclose(pairs, pairs.T)
    average = all_against_all(mcc, PROGRAM, average=1)
    assert average == pytest.approx(np.mean(by_hand))
    smallest = all_against_all(mcc, PROGRAM, average=-np.inf)
    assert smallest == pytest.approx(min(by_hand))


def test_K9_an_undefined_pair_makes_the_average_undefined():
    counts = Counts([[5, 1, 0], [1, 5, 0], [0, 0, 6]])
    lost = Counts([[5, 1, 0], [1, 5, 0], [2, 2, 0]])
    assert all_against_all(mcc, counts, average=1) == pytest.approx((2 / 3 + 1 + 1) / 3)
    assert np.isnan(all_against_all(mcc, lost, average=1))
    np.testing.assert_array_equal(np.isnan(pairwise(mcc, lost))[0], [True, False, True])


def test_K9_negative_pairs_have_only_an_arithmetic_average_and_extremes():
    counts = Counts([[1, 5, 0], [5, 1, 0], [1, 1, 6]])
    assert pairwise(mcc, counts)[0, 1] == pytest.approx(-2 / 3)
    assert np.isfinite(all_against_all(mcc, counts, average=1))
    assert np.isnan(all_against_all(mcc, counts, average=0))


@given(tables(sizes=(3, 4)), st.data())
def test_K9_a_suitable_metric_stays_suitable(counts, data):
    """The theorem: bounded, blind to renaming and swapping, and 1 for a perfect fit alone."""
    value = all_against_all(accuracy, counts, average=1)
    assume(not np.isnan(value))
    order = data.draw(st.permutations(range(counts.n_classes)))
    renamed = Counts(counts.values[np.ix_(order, order)])
    assert all_against_all(accuracy, renamed, average=1) == pytest.approx(value)
    assert all_against_all(accuracy, Counts(counts.values.T), average=1) == pytest.approx(value)
    perfect = np.count_nonzero(counts.values) == np.count_nonzero(np.diagonal(counts.values))
    assert (value == pytest.approx(1, abs=1e-12)) == perfect
    assert 0 <= value <= 1


def test_a_metric_of_every_class_is_no_metric_of_a_pair():
    with pytest.raises(InputError, match=r"one value for every table.*Pick a class"):
        pairwise(recall, PROGRAM)


# Renaming, smoothing, the program ----------------------------------------------------------------


def test_K11_a_determinant_of_one_over_permuted_names_is_explained():
    """The example of section 3.2.4: class 1 → 2 → 3 → 1 makes every decision right."""
    counts = Counts([[0, 0, 1], [1, 0, 0], [0, 1, 0]], classes=["one", "two", "three"])
    assert determinant_mcc(counts) == pytest.approx(1)
    assert accuracy(counts) == 0
    assert perfect_relabelling(counts) == {"one": "two", "two": "three", "three": "one"}


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_K11_the_sign_is_that_of_the_permutation(order):
    values = np.zeros((4, 4))
    values[list(order), range(4)] = [3, 1, 4, 2]
    sign = np.linalg.det(np.eye(4)[list(order)])
    assert determinant_mcc(Counts(values)) == pytest.approx(sign)
    assert perfect_relabelling(Counts(values)) == dict(enumerate(order))


@given(tables())
def test_K11_there_is_a_renaming_exactly_when_the_determinant_has_size_one(counts):
    size_one = bool(abs(determinant_mcc(counts)) > 1 - 1e-9)
    relabelling = perfect_relabelling(counts)
    assert (relabelling is not None) == size_one
    if relabelling is not None:
        columns = [relabelling[j] for j in range(counts.n_classes)]
        assert counts.values[columns, range(counts.n_classes)].sum() == counts.n_cases


def test_K11_a_renaming_needs_every_class_and_every_decision():
    assert perfect_relabelling(Counts([[3, 0], [0, 0]])) is None
    assert perfect_relabelling(Counts([[3, 0], [2, 0]])) is None
    assert perfect_relabelling(Counts([[3, 0], [1, 2]])) is None
    with pytest.raises(InputError, match=r"no leading axes here; they are \(2,\).*counts\[0\]"):
        perfect_relabelling(Counts(np.ones((2, 3, 3))))


def test_K12_smoothing_makes_an_empty_margin_speak():
    """By hand, one case added to each cell of [[2, 0], [3, 0]]: (3·1 − 1·4)/√(4·5·7·2)."""
    counts = Counts([[2, 0], [3, 0]])
    assert np.isnan(determinant_mcc(counts))
    assert determinant_mcc(counts.smoothed(1)) == pytest.approx(-1 / np.sqrt(4 * 5 * 7 * 2))
    assert determinant_mcc(AVOIDED.smoothed(0)) == determinant_mcc(AVOIDED)


def test_K13_the_numbers_of_the_program():
    """Section 4; for the identity all are 1."""
    assert general_f1(PROGRAM, average=-1) == pytest.approx(0.413080895, abs=5e-10)
    assert cramers_phi(PROGRAM) == pytest.approx(0.325251300, abs=5e-10)
    identity = Counts(np.eye(4))
    assert general_f1(identity, average=-1) == pytest.approx(1)
    assert cramers_phi(identity) == pytest.approx(1)
    assert determinant_mcc(identity) == pytest.approx(1)


# Messages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "measure",
    [
        determinant_mcc,
        f1_of_negatives,
        perfect_relabelling,
        lambda counts: general_f1(counts, average=1),
        lambda counts: general_fowlkes_mallows(counts, average=1),
        lambda counts: mean_of_four_rates(counts, mean=0),
        lambda counts: pairwise(mcc, counts),
        lambda counts: all_against_all(mcc, counts, average=1),
    ],
)
def test_decisions_answer_classes_by_label_else_by_place(measure):
    with pytest.raises(InputError, match="has 2 classes and 3 decisions"):
        measure(Counts([[8, 1, 1], [2, 6, 2]]))
    classes = ["a", "b", "c"]
    table = np.array([[8, 1, 1], [2, 6, 2], [0, 1, 5]])
    plain = measure(Counts(table, classes=classes, decisions=classes))
    by_place = measure(Counts(table, classes=classes, decisions=["x", "y", "z"]))
    swapped = measure(Counts(table[:, [1, 2, 0]], classes=classes, decisions=["b", "c", "a"]))
    assert np.array_equal(plain, by_place, equal_nan=True) if plain is not None else True
    assert np.array_equal(plain, swapped, equal_nan=True) if plain is not None else True
    with pytest.raises(InputError, match="by their labels or by their places"):
        measure(Counts(table, classes=classes, decisions=["b", "x", "y"]))


def test_a_perfect_relabelling_names_the_decisions():
    counts = Counts([[0, 3], [4, 0]], classes=["well", "ill"], decisions=["wait", "treat"])
    assert perfect_relabelling(counts) == {"wait": "ill", "treat": "well"}
    swapped = Counts([[0, 3], [4, 0]], classes=["well", "ill"], decisions=["ill", "well"])
    assert perfect_relabelling(swapped) == {"ill": "ill", "well": "well"}


def test_cramers_phi_takes_decisions_of_any_number_and_name():
    counts = Counts([[8, 1, 1], [2, 6, 2]], decisions=["no", "yes", "ask"])
    assert cramers_phi(counts) == pytest.approx(np.sqrt(chi_squared(counts.values) / 20))


def test_the_mean_of_the_largest_numbers_does_not_overflow():
    assert power_mean([1e308, 1.5e308], 1) == pytest.approx(1.25e308, rel=1e-15)


def test_an_order_of_any_kind_of_number_is_that_number():
    counts = Counts([[5, 1], [2, 5]])
    expected = association_matrix(counts, mean=1)
    orders: list[Any] = [np.bool_(True), np.array(1), True]
    for order in orders:
        np.testing.assert_array_equal(association_matrix(counts, mean=order), expected)
