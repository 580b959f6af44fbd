"""scikit-learn and SciPy agree wherever they have the same quantity.

They differ only where an undefined value is concerned: ours is nan, without a warning; theirs is 0,
or an average over the classes that happen to be there. Those differences are asserted, not skipped.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import Counts, Problem
from stakes.agreement import cramers_phi
from stakes.measures import (
    accuracy,
    balanced_accuracy,
    cohen_kappa,
    f_beta,
    likelihood_ratio_negative,
    likelihood_ratio_positive,
    macro_f_beta,
    mcc,
    precision,
    recall,
    weighted_kappa,
)

metrics = pytest.importorskip("sklearn.metrics")
exceptions = pytest.importorskip("sklearn.exceptions")

LABELS = ["ant", "bee", "cat", "dog"]


@st.composite
def labelled(draw, *, n_labels=None):
    """Rows and their counts: labels, imbalance, weights; a class may be missing on either side."""
    names = LABELS[: n_labels or draw(st.integers(2, 4))]
    size = draw(st.integers(2, 30))
    label = st.sampled_from(names + names[:1] * 3)
    y = draw(st.lists(label, min_size=size, max_size=size))
    decided = draw(st.lists(label, min_size=size, max_size=size))
    weights = draw(st.lists(st.sampled_from([0.5, 1, 2, 7]), min_size=size, max_size=size))
    return names, y, decided, weights


def all_present(counts):
    return bool(counts.values.sum(axis=0).all() and counts.values.sum(axis=1).all())


def same(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-12, equal_nan=True)


@given(labelled())
def test_the_confusion_matrix_is_the_same(rows):
    names, y, decided, weights = rows
    counts = Counts.from_labels(y, decided, labels=names, weights=weights)
    expected = metrics.confusion_matrix(y, decided, labels=names, sample_weight=weights)
    same(counts.values, expected)
    if len({*y, *decided}) > 1:  # scikit-learn warns of a single label
        plain = Counts.from_labels(y, decided)
        np.testing.assert_array_equal(plain.values, metrics.confusion_matrix(y, decided))
    same(accuracy(counts), metrics.accuracy_score(y, decided, sample_weight=weights))


@given(labelled(), st.sampled_from([0.5, 1, 2]))
def test_precision_recall_and_f_beta_are_the_same_where_0_over_0_is_set_to_nan(rows, beta):
    names, y, decided, weights = rows
    counts = Counts.from_labels(y, decided, labels=names, weights=weights)
    options = {"labels": names, "sample_weight": weights, "zero_division": np.nan}
    result = metrics.precision_recall_fscore_support(y, decided, beta=beta, **options)
    same(precision(counts), result[0])
    same(recall(counts), result[1])
    if all_present(counts):
        same(f_beta(counts, beta), result[2])
        macro = metrics.fbeta_score(y, decided, beta=beta, average="macro", **options)
        same(macro_f_beta(counts, beta), macro)


@given(labelled())
def test_mcc_and_balanced_accuracy_are_the_same(rows):
    names, y, decided, weights = rows
    counts = Counts.from_labels(y, decided, labels=names, weights=weights)
    ours = mcc(counts)
    if not np.isnan(ours):
        same(ours, metrics.matthews_corrcoef(y, decided, sample_weight=weights))
    if counts.values.sum(axis=1).all():
        theirs = metrics.balanced_accuracy_score(y, decided, sample_weight=weights)
        same(balanced_accuracy(counts), theirs)


@given(labelled())
def test_kappa_is_the_same_unweighted_linear_and_quadratic(rows):
    names, y, decided, weights = rows
    counts = Counts.from_labels(y, decided, labels=names, weights=weights)
    if np.isnan(cohen_kappa(counts)):
        return
    size = len(names)
    gap = np.abs(np.subtract.outer(range(size), range(size)))
    options = {"labels": names, "sample_weight": weights}
    same(cohen_kappa(counts), metrics.cohen_kappa_score(y, decided, **options))
    for name, costs in (("linear", gap), ("quadratic", gap**2)):
        problem = Problem(costs, classes=names)
        theirs = metrics.cohen_kappa_score(y, decided, weights=name, **options)
        same(weighted_kappa(counts, problem), theirs)


@given(labelled(n_labels=2))
def test_likelihood_ratios_are_the_same(rows):
    names, y, decided, weights = rows
    counts = Counts.from_labels(y, decided, labels=names, weights=weights)
    if (counts.values == 0).any():
        return  # scikit-learn has replacement values of its own there
    theirs = metrics.class_likelihood_ratios(y, decided, labels=names, sample_weight=weights)
    same(likelihood_ratio_positive(counts)[1], theirs[0])
    same(likelihood_ratio_negative(counts)[1], theirs[1])


@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (4, 3), (3, 3), (5, 2)])
def test_cramers_phi_is_scipys(shape):
    from scipy.stats import contingency

    table = np.random.default_rng(5).integers(1, 40, shape)
    same(cramers_phi(Counts(table)), contingency.association(table, method="cramer"))


# Where they differ -------------------------------------------------------------------------------


def test_precision_without_a_decision_is_nan_here_and_0_with_a_warning_there():
    y, decided = [0, 0, 1, 1], [0, 0, 0, 0]
    with pytest.warns(exceptions.UndefinedMetricWarning):
        theirs = metrics.precision_score(y, decided)
    assert theirs == 0
    assert np.isnan(precision(Counts.from_labels(y, decided, labels=[0, 1]))[1])


def test_recall_of_an_absent_class_is_nan_here_and_0_with_a_warning_there():
    y, decided = [0, 0, 0], [0, 1, 0]
    with pytest.warns(exceptions.UndefinedMetricWarning):
        theirs = metrics.recall_score(y, decided)
    assert theirs == 0
    assert np.isnan(recall(Counts.from_labels(y, decided, labels=[0, 1]))[1])


def test_f1_without_any_positive_is_nan_here_and_0_with_a_warning_there():
    y, decided = [0, 0, 0], [0, 0, 0]
    with pytest.warns(exceptions.UndefinedMetricWarning):
        theirs = metrics.f1_score(y, decided)
    assert theirs == 0
    assert np.isnan(f_beta(Counts.from_labels(y, decided, labels=[0, 1]), 1)[1])


def test_f1_of_a_class_on_one_side_only_is_0_on_both_sides():
    for y, decided in (([0, 0, 1], [0, 0, 0]), ([0, 0, 0], [0, 0, 1])):
        ours = f_beta(Counts.from_labels(y, decided, labels=[0, 1]), 1)[1]
        assert ours == metrics.f1_score(y, decided, zero_division=0) == 0


@pytest.mark.parametrize(
    ("y", "decided"), [([0, 0, 0, 0], [0, 1, 0, 1]), ([0, 1, 0, 1], [0, 0, 0, 0])]
)
def test_mcc_with_an_empty_margin_is_nan_here_and_0_there(y, decided):
    assert metrics.matthews_corrcoef(y, decided) == 0
    assert np.isnan(mcc(Counts.from_labels(y, decided, labels=[0, 1])))


def test_balanced_accuracy_with_an_absent_class_is_nan_here_and_an_average_of_the_others_there():
    y, decided = ["ant", "ant", "bee"], ["ant", "cat", "bee"]
    with pytest.warns(UserWarning, match="y_pred contains classes not in y_true"):
        theirs = metrics.balanced_accuracy_score(y, decided)
    assert theirs == 0.75
    assert np.isnan(balanced_accuracy(Counts.from_labels(y, decided)))
