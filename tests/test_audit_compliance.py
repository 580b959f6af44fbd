"""Whether metrics are utilities in disguise, with witnesses."""

from __future__ import annotations

from functools import partial

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
    Witness,
    compliance,
)
from stakes.errors import InputError
from stakes.measures import (
    accuracy,
    balanced_error_rate,
    decision_rates,
    error_rate,
    expected_cost,
    f_beta,
    net_benefit,
    recall,
)
from stakes.problem import Problem


def answer(metric: Metric, shape=(2, 2), seed=11, shares=None):
    return compliance(metric, shape=shape, rng=np.random.default_rng(seed), shares=shares)


def assert_proves(witness: Witness, metric: Metric) -> None:
    """What claims.md, D6, asks of a witness, checked from the tables alone."""
    changes = []
    for pair, says_better in ((witness.better, True), (witness.worse, False)):
        first, second = pair.values
        assert (pair.values >= 0).all()
        np.testing.assert_allclose(first.sum(axis=1), second.sum(axis=1), rtol=1e-12)
        before, after = metric.goodness(pair)
        assert (after > before) == says_better
        assert after != before
        changes.append((second - first) / first.sum())
    scale = np.abs(changes[1]).max() / np.abs(changes[0]).max()
    np.testing.assert_allclose(scale * changes[0], changes[1], atol=1e-12)


def test_tables_that_would_fill_the_memory_are_refused():
    for shape in [(97, 98), (10**6, 2), (1e300, 1e300)]:
        with pytest.raises(InputError, match=r"shape must have at most 400 cells, .* Ask about"):
            answer(FAMILIAR["accuracy"], shape=shape)


# D6 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "utilities"),
    [
        ("accuracy", [[1, 0], [0, 1]]),
        ("recall", [[0, 0], [0, 1]]),
        ("specificity", [[1, 0], [0, 0]]),
    ],
)
def test_D6_compliant_metrics_reveal_their_utilities(name, utilities):
    verdict = answer(FAMILIAR[name])
    assert verdict.complies
    assert verdict.witness is None
    np.testing.assert_allclose(verdict.utilities, utilities, atol=1e-9)


@pytest.mark.parametrize(
    "name",
    ["precision", "F1", "MCC", "Fowlkes-Mallows", "balanced accuracy", "Cohen's kappa"],
)
def test_D6_other_metrics_are_refuted_by_a_witness(name):
    verdict = answer(FAMILIAR[name])
    assert not verdict.complies
    assert_proves(verdict.witness, FAMILIAR[name])


@pytest.mark.parametrize("beta", [0.5, 2, 4])
def test_D6_no_f_beta_complies(beta):
    metric = Gain(PositiveClass(partial(f_beta, beta=beta)))
    assert_proves(answer(metric).witness, metric)


def test_D6_balanced_accuracy_fails_only_across_class_shares():
    metric = FAMILIAR["balanced accuracy"]
    fixed = answer(metric, shares=[0.25, 0.75])
    np.testing.assert_allclose(fixed.utilities, [[1.0, 0.0], [0.0, 1 / 3]], atol=1e-9)
    witness = answer(metric).witness
    shares = [table.shares[0] for table in (witness.better, witness.worse)]
    assert abs(shares[0] - shares[1]).max() > 0.01


@pytest.mark.parametrize("name", ["precision", "F1", "MCC", "Fowlkes-Mallows", "Cohen's kappa"])
def test_D6_the_others_fail_on_one_test_set_already(name):
    verdict = answer(FAMILIAR[name], shares=[0.7, 0.3])
    assert_proves(verdict.witness, FAMILIAR[name])
    for pair in (verdict.witness.better, verdict.witness.worse):
        np.testing.assert_allclose(pair.shares, [[0.7, 0.3]] * 2, rtol=1e-12)


@pytest.mark.parametrize("size", [3, 4])
def test_D6_k_classes(size):
    accuracy_of_k = answer(FAMILIAR_MULTICLASS["accuracy"], shape=(size, size))
    np.testing.assert_allclose(accuracy_of_k.utilities, np.eye(size), atol=1e-9)
    for name, metric in FAMILIAR_MULTICLASS.items():
        if name != "accuracy":
            assert_proves(answer(metric, shape=(size, size)).witness, metric)


cells = st.lists(st.integers(-5, 9), min_size=6, max_size=6).filter(
    lambda costs: len(set(costs[:3])) > 1 or len(set(costs[3:])) > 1
)


@given(cells)
def test_D6_any_cost_matrix_complies_and_is_found_again(costs):
    problem = Problem(np.reshape(costs, (2, 3)))  # two classes, three decisions
    verdict = answer(Loss(partial(expected_cost, problem=problem)), shape=(2, 3))
    advantage = problem.costs.max(axis=1, keepdims=True) - problem.costs
    # The utilities are measured by differences and rounded to nine digits.
    np.testing.assert_allclose(verdict.utilities, advantage / advantage.max(), atol=2e-9)


@pytest.mark.parametrize(
    "metric",
    [
        Gain(lambda counts: np.exp(3 * accuracy(counts))),
        Gain(lambda counts: -1 / accuracy(counts)),
        Loss(lambda counts: np.sqrt(error_rate(counts))),
        Gain(lambda counts: counts.n_cases * accuracy(counts) - 17),
        Gain(lambda counts: net_benefit(counts, 0.5)),
    ],
    ids=["exponential", "inverse", "root", "scaled", "net benefit"],
)
def test_D6_monotonic_functions_of_accuracy_comply_with_its_utilities(metric):
    np.testing.assert_allclose(answer(metric).utilities, np.eye(2), atol=1e-6)


def test_D6_a_user_given_metric_is_refuted():
    metric = Gain(lambda counts: recall(counts).min(axis=-1))
    assert_proves(answer(metric).witness, metric)


def test_a_deployment_prior_makes_a_cost_depend_on_the_shares_of_the_test_set():
    """Like balanced accuracy: on one test set it is a utility, across them it reweights."""
    problem = Problem.binary(false_alarm=1, miss=3, prior=[0.9, 0.1])
    metric = Loss(partial(expected_cost, problem=problem))
    assert not answer(metric).complies
    on_one = answer(metric, shares=[0.5, 0.5])
    np.testing.assert_allclose(on_one.utilities, [[1.0, 0.0], [0.0, 1 / 3]], atol=1e-9)


# Odd metrics -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "metric",
    [
        Gain(lambda counts: np.round(accuracy(counts), 1)),
        Gain(lambda counts: np.zeros(counts.values.shape[:-2])),
        Gain(lambda counts: np.full(counts.values.shape[:-2], np.nan)),
    ],
    ids=["steps", "constant", "undefined"],
)
def test_flat_metrics_tie_what_utilities_distinguish(metric):
    verdict = answer(metric)
    assert not verdict.complies
    assert verdict.witness is None
    assert "flat or undefined" in verdict.reason


def test_a_metric_that_jumps_is_refuted_although_its_slopes_agree():
    metric = Gain(
        lambda counts: accuracy(counts) - 0.5 * (decision_rates(counts)[..., 1, 1] > 0.95)
    )
    assert_proves(answer(metric).witness, metric)


def test_a_seed_repeats_the_search():
    assert answer(FAMILIAR["MCC"]) == answer(FAMILIAR["MCC"])
    assert answer(FAMILIAR["MCC"]).witness != answer(FAMILIAR["MCC"], seed=12).witness


def test_witnesses_are_whole_cases_where_shares_are_free():
    witness = answer(FAMILIAR["F1"]).witness
    for pair in (witness.better, witness.worse):
        np.testing.assert_array_equal(pair.values, np.round(pair.values))


def test_the_problem_of_a_metric_that_has_none():
    with pytest.raises(InputError, match="the metric assumes no problem"):
        _ = answer(FAMILIAR["F1"]).problem
    assert answer(FAMILIAR["accuracy"]).problem.is_equivalent(Problem.zero_one(2))


def test_balanced_error_rate_is_a_loss_and_its_witness_is_one_of_losses():
    metric = Loss(balanced_error_rate)
    witness = answer(metric, shape=(3, 3)).witness
    assert_proves(witness, metric)
    assert witness.better_values[1] < witness.better_values[0]


# Border and print --------------------------------------------------------------------------------


def test_a_witness_prints_its_four_tables():
    verdict = answer(FAMILIAR["F1"])
    shown = repr(verdict)
    assert shown.startswith("Compliance: no, the same change of the table")
    assert repr(verdict.witness) in shown
    numbers = [int(word) for word in shown.split() if word.isdigit()]
    tables = (verdict.witness.better.values, verdict.witness.worse.values)
    assert numbers == [
        int(cell)
        for pair in tables
        for row in zip(*pair, strict=True)
        for part in row
        for cell in part
    ]
    for values in (verdict.witness.better_values, verdict.witness.worse_values):
        assert f"from {values[0]:.6g} to {values[1]:.6g}" in shown


def test_a_compliant_metric_prints_its_utilities():
    assert repr(answer(FAMILIAR["recall"])).splitlines()[1:] == ["0  0", "0  1"]
    flat = answer(Gain(lambda counts: np.zeros(counts.values.shape[:-2])))
    assert repr(flat).startswith("Compliance: no, the metric is flat")


def test_compliance_checks_its_input():
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match=r"metric must be a Metric; .*where higher"):
        compliance(accuracy, shape=(2, 2), rng=rng)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="rng must be a numpy Generator; got int 7"):
        compliance(FAMILIAR["F1"], shape=(2, 2), rng=7)  # type: ignore[arg-type]
    for shape in ((2,), (2, 1), (0, 2), (2.5, 2), (2, 2, 2)):
        with pytest.raises(InputError, match="shape must be the numbers of classes and of dec"):
            compliance(FAMILIAR["F1"], shape=shape, rng=rng)  # type: ignore[arg-type]
