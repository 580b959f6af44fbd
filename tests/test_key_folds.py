"""Folds that come from a key: the same everywhere, and nothing of the order of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import InputError, Problem, evaluate
from stakes.calibration import Affine, Isotonic
from stakes.evaluation.cases import read_cases
from stakes.evaluation.predictions import KEY_FOLDS, Folds, fold_of_key

PROBLEM = Problem.binary(false_alarm=1, miss=9)
RNG = np.random.default_rng(4)
Y = (RNG.random(300) < 0.3).astype(int)
P = np.clip(0.3 + 0.3 * Y + RNG.normal(0, 0.2, 300), 0, 1).round(2)
FAST: dict[str, Any] = {"calibrator": Isotonic(), "replicates": 20}


def slow_fold(key: int, seed: int) -> int:
    """The definition, in whole numbers of any size."""
    prime, factor = 2**31 - 1, 48_271
    start = (key + seed) % prime
    mixed = (start * factor + 11) % prime
    mixed = (mixed**2 + start) % prime
    mixed = (mixed * factor + 7) % prime
    return (mixed**2 + mixed) % prime % KEY_FOLDS


def test_folds_are_those_of_the_definition_for_keys_of_any_size():
    keys = np.array([0, 1, -1, 2**31 - 1, 2**40, -(2**40), 2**63 - 1, -(2**63), 48271])
    for seed in (0, 7, 2**33):
        folds = fold_of_key(keys, seed).tolist()
        assert folds == [slow_fold(key, seed) for key in keys.tolist()]


@pytest.mark.parametrize("step", [1, 2, 5, 7, 1000])
def test_folds_of_regular_keys_are_even_and_take_no_turns(step):
    """Shares of 50,000 keys lie within five standard errors, as do those of pairs of neighbours."""
    folds = fold_of_key(np.arange(50_000) * step, seed=0)
    expected, spread = 50_000 / KEY_FOLDS, np.sqrt(50_000 * 0.2 * 0.8)
    assert np.abs(np.bincount(folds, minlength=KEY_FOLDS) - expected).max() < 5 * spread
    pairs = np.bincount(folds[:-1] * KEY_FOLDS + folds[1:], minlength=25)
    assert np.abs(pairs - 50_000 / 25).max() < 5 * np.sqrt(50_000 / 25)


@pytest.mark.slow
def test_a_key_makes_folds_that_do_not_depend_on_the_order_of_the_rows():
    key = np.arange(300) * 3
    order = RNG.permutation(300)
    report = evaluate(Y, {"m": P}, PROBLEM, key=key, **FAST)
    other = evaluate(Y[order], {"m": P[order]}, PROBLEM, key=key[order], **FAST)
    assert report.assumptions.calibrator == "Isotonic(), out of fold (5 folds by key)"
    assert report.system("m (recalibrated)").counts == other.system("m (recalibrated)").counts


def test_a_key_keeps_the_folds_where_models_come_and_go():
    def counts(models, **more):
        report = evaluate(Y, models, PROBLEM, **more, **FAST)
        return report.system("m (recalibrated)").counts

    alone, beside = {"m": P}, {"m": P, "other": P**2}
    assert counts(alone, key=np.arange(300)) == counts(beside, key=np.arange(300))
    cases = read_cases(Y, PROBLEM, None, None, None)
    first, second = (Folds(cases, 0, models).numbers for models in (alone, beside))
    assert not np.array_equal(first, second)


def test_keys_that_cannot_be_used_are_refused():
    with pytest.raises(InputError, match=r"key must hold a whole number .* are float64"):
        evaluate(Y, {"m": P}, PROBLEM, key=P, **FAST)
    with pytest.raises(InputError, match=r"key must hold a whole number .* are object"):
        evaluate(Y, {"m": P}, PROBLEM, key=[[1], [2, 3]], **FAST)
    with pytest.raises(InputError, match=r"y_true has 300 .* key .*5"):
        evaluate(Y, {"m": P}, PROBLEM, key=np.arange(5), **FAST)
    clusters = np.arange(300) % 30
    with pytest.raises(InputError, match="key must be the same for all cases of a cluster"):
        evaluate(Y, {"m": P}, PROBLEM, key=np.arange(300), clusters=clusters, **FAST)
    evaluate(Y, {"m": P}, PROBLEM, key=clusters, clusters=clusters, **FAST)


def test_keys_that_no_signed_number_holds_are_refused_as_in_frames():
    keys = np.arange(300, dtype=np.uint64) + np.uint64(2**63 - 10)
    with pytest.raises(InputError, match=r"below 2⁶³; the largest is 9223372036854776097"):
        evaluate(Y, {"a": P}, PROBLEM, key=keys, **FAST)
    small = evaluate(Y, {"a": P}, PROBLEM, key=keys - np.uint64(2**63 - 10), **FAST)
    assert small.best.cost == evaluate(Y, {"a": P}, PROBLEM, key=np.arange(300), **FAST).best.cost


# Maps for a stated prior -------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3])
def test_maps_are_fitted_for_the_shares_of_the_cases_and_moved_to_a_stated_prior(size):
    """For each fold a map of the other folds, then Bayes' rule, case by case."""
    rng = np.random.default_rng(size)
    n, key, classes = 240, np.arange(240) * 7, range(size)
    shares, prior = (np.array(parts[:size]) / sum(parts[:size]) for parts in ([1, 2, 3], [7, 1, 2]))
    y, weights = rng.choice(size, n, p=shares), rng.integers(1, 4, n) / 2
    raw = (rng.random((n, size)) + 0.7 * np.eye(size)[y]) ** 2
    posteriors = raw / raw.sum(axis=1, keepdims=True)
    costs = np.array([[0, 1, 4, 2], [6, 0, 2, 2], [9, 7, 0, 2]])[:size, : size + 1]
    report = evaluate(
        y,
        {"net": posteriors},
        Problem(costs, prior=prior),
        weights=weights,
        key=key,
        calibrator=Affine(),
        replicates=10,
    )
    masses = np.array([weights[y == k].sum() for k in classes])
    folds, lost = np.array([slow_fold(number, 0) for number in key.tolist()]), np.zeros(size)
    for fold in range(KEY_FOLDS):
        rest = folds != fold
        fitted = Affine().fit(posteriors[rest], y[rest], weights=weights[rest], classes=classes)
        for i in np.flatnonzero(~rest):
            believed = fitted(posteriors[i : i + 1])[0] * prior / (masses / masses.sum())
            lost[y[i]] += weights[i] * costs[y[i], np.argmin(believed @ costs)]
    cost = float(prior @ (lost / masses))
    assert report.system("net (recalibrated)").cost.value == pytest.approx(cost, rel=1e-12)
