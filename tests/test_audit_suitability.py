"""The five properties of suitable metrics."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from stakes.agreement import (
    all_against_all,
    cramers_phi,
    determinant_mcc,
    general_f1,
    general_fowlkes_mallows,
    perfect_relabelling,
)
from stakes.audit import FAMILIAR, Gain, suitability
from stakes.audit.suitability import BOUNDED, FLIP, ONLY_PERFECT, ORDER, PERFECT_IS_ONE, _tables
from stakes.errors import InputError
from stakes.measures import accuracy, balanced_accuracy, error_rate, mcc
from stakes.tally import Counts


def answer(measure, n_classes=3, seed=4):
    return suitability(Gain(measure), n_classes=n_classes, rng=np.random.default_rng(seed))


def failing(result):
    return [name for name, holds in zip(result.properties, result.holds, strict=True) if not holds]


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize(
    "measure",
    [
        accuracy,
        mcc,
        partial(general_f1, average=1),
        partial(general_f1, average=-1),
        partial(general_fowlkes_mallows, average=1),
    ],
    ids=["accuracy", "MCC", "general F1", "harmonic F1", "Fowlkes-Mallows"],
)
def test_K10_suitable_metrics(measure, n_classes):
    result = answer(measure, n_classes)
    assert result.suitable, result
    assert not result.semi_suitable


@pytest.mark.parametrize(
    ("measure", "n_classes"),
    [(determinant_mcc, 3), (determinant_mcc, 4), (cramers_phi, 2), (cramers_phi, 3)],
)
def test_K10_semi_suitable_metrics_are_one_for_a_relabelling_too(measure, n_classes):
    result = answer(measure, n_classes)
    assert failing(result) == [ONLY_PERFECT]
    assert result.semi_suitable
    example = result.counterexamples[4]
    assert example.value == pytest.approx(1)
    assert np.diagonal(example.table.values).sum() < example.table.n_cases
    assert perfect_relabelling(example.table) is not None


def test_K10_the_determinant_of_two_classes_is_suitable():
    assert answer(determinant_mcc, 2).suitable


@pytest.mark.parametrize("measure", [accuracy, mcc])
def test_K10_the_average_of_a_suitable_metric_over_all_pairs_is_suitable(measure):
    """The theorem of section 3.2.1."""
    assert answer(partial(all_against_all, measure, average=1), 3).suitable


@pytest.mark.parametrize(
    ("measure", "fails"),
    [
        (FAMILIAR["precision"].measure, {ORDER, FLIP, ONLY_PERFECT}),
        (balanced_accuracy, {FLIP}),
        (error_rate, {PERFECT_IS_ONE, ONLY_PERFECT}),
        (lambda counts: 2 * accuracy(counts), {BOUNDED, PERFECT_IS_ONE, ONLY_PERFECT}),
        (partial(general_f1, average=np.inf), {ONLY_PERFECT}),
        (lambda counts: counts.n_cases, {BOUNDED, PERFECT_IS_ONE, ONLY_PERFECT}),
    ],
    ids=["precision", "balanced accuracy", "error rate", "doubled", "largest F1", "size"],
)
def test_K10_each_missing_property_has_a_witness(measure, fails):
    result = answer(measure)
    assert set(failing(result)) == fails
    assert not result.suitable
    assert not result.semi_suitable
    for name, example in zip(result.properties, result.counterexamples, strict=True):
        if example is None:
            continue
        value = float(Gain(measure)(example.table))
        assert value == example.value or np.isnan(value)
        table = example.table.values
        wrong = table.sum() - np.trace(table)
        if name == BOUNDED:
            assert abs(value) > 1
        elif name == PERFECT_IS_ONE:
            assert wrong == 0
            assert np.diagonal(table).min() > 0
            assert value != 1
        elif name == ONLY_PERFECT:
            assert wrong > 0
            assert value >= 1 - 1e-9
        else:
            twin = example.twin.values
            assert float(Gain(measure)(example.twin)) == pytest.approx(
                example.twin_value, nan_ok=True
            )
            assert value != pytest.approx(example.twin_value, nan_ok=True)
            if name == FLIP:
                np.testing.assert_array_equal(twin, table.T)
            else:
                assert sorted(np.diagonal(twin)) == sorted(np.diagonal(table))
                assert sorted(twin.ravel()) == sorted(table.ravel())


def test_many_classes_are_searched_too():
    result = answer(determinant_mcc, 7)
    assert result.semi_suitable
    assert answer(accuracy, 7).suitable


def test_the_answer_prints_each_property():
    lines = repr(answer(cramers_phi)).splitlines()
    assert lines[0] == "Suitability: semi-suitable"
    assert len(lines) == 7
    assert "no: 1 at" in lines[-1]
    assert "<td>yes</td>" in answer(accuracy)._repr_html_()
    assert repr(answer(accuracy)).startswith("Suitability: suitable")
    assert repr(answer(error_rate)).startswith("Suitability: neither")


def test_a_seed_repeats_the_search():
    assert answer(cramers_phi, seed=1) == answer(cramers_phi, seed=1)


@pytest.mark.parametrize("n_classes", [1, 2.5])
def test_there_are_at_least_two_whole_classes(n_classes):
    with pytest.raises(InputError, match="n_classes must be"):
        answer(accuracy, n_classes)


def test_counterexamples_are_tables():
    example = answer(error_rate).counterexamples[3]
    assert isinstance(example.table, Counts)
    assert example.twin is None


def test_bare_functions_and_seeds_are_refused():
    with pytest.raises(InputError, match=r"metric must be a Metric; .*where higher"):
        suitability(accuracy, n_classes=3, rng=np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rng must be a numpy Generator"):
        suitability(Gain(accuracy), n_classes=3, rng=0)  # type: ignore[arg-type]


def test_tables_of_a_single_case_are_the_first_counterexamples_and_empty_ones_none():
    tables = _tables(np.random.default_rng(0), 2)
    singles = [table for table in tables if table.sum() == 1]
    assert {tuple(np.argwhere(table)[0]) for table in singles} == set(np.ndindex(2, 2))
    assert (tables[0] == singles[0]).all()
    assert tables.sum(axis=(1, 2)).min() == 1
