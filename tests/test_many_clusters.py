"""More clusters than a table of them by decisions can hold are put together, at random."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from stakes import InputError, Problem, Report, evaluate
from stakes._check import IntArray
from stakes.calibration import Isotonic
from stakes.evaluation import Cases, read_cases
from stakes.evaluation.tally_rows import sample_of
from stakes.inference.sampling import Cells, cost_errors

PROBLEM = Problem.binary(false_alarm=1, miss=9)
TALLY = sys.modules["stakes.evaluation.cases"]


def patients(seed: int = 0, n_patients: int = 2000) -> tuple[IntArray, Any, IntArray]:
    """Classes, probabilities and patients of one to six rows, which resemble each other."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(n_patients), rng.integers(1, 7, n_patients))
    effect = rng.normal(size=n_patients)[owner]
    truth = (rng.normal(size=owner.size) + effect > 1.2).astype(int)
    score = 2 * truth + effect + rng.normal(size=owner.size)
    return truth, 1 / (1 + np.exp(2 - score)), owner


def report_of(limit: int, monkeypatch: Any, seed: int = 0, **options: Any) -> Report:
    truth, p, owner = patients(seed)
    monkeypatch.setattr(TALLY, "MOST_CELLS", limit)
    call = {"calibrator": None, "replicates": 2, "clusters": owner} | options
    return evaluate(truth, p, PROBLEM, **call)


def texts(report: Report) -> list[str]:
    return [caveat.text for caveat in report.caveats if caveat.kind == "groups of clusters"]


def test_too_many_clusters_are_put_together_and_the_report_says_so(monkeypatch):
    exact = report_of(1 << 26, monkeypatch)
    grouped = report_of(2000, monkeypatch)
    assert texts(exact) == []
    [text] = texts(grouped)
    assert text.startswith("A table of 2000 clusters by decisions would not fit into memory")
    assert "at random into 333 groups" in text
    assert "differ by about 4 %" in text
    assert grouped.assumptions.clusters == exact.assumptions.clusters == 2000
    for of_clusters, of_groups in zip(exact.systems, grouped.systems, strict=True):
        assert of_clusters.cost.value == of_groups.cost.value
    assert width(grouped) == pytest.approx(width(exact), rel=3 * 0.04)


def width(report: Report) -> float:
    saving = report.verdict.saving_over_naive
    return saving.high - saving.low


def sampled(cases: Cases, decided: IntArray, rows: IntArray | None = None) -> Any:
    return sample_of(cases, {"m": decided}, None, rows)


def test_variances_between_groups_are_those_between_clusters_on_average(monkeypatch):
    """Of a hundred groups, a variance has a standard error of 14 %."""
    ratios = []
    for seed in range(60):
        truth, p, owner = patients(seed, 300)
        cases, decided = read_cases(truth, PROBLEM, None, None, owner), (p > 0.1).astype(int)
        variances = []
        for limit in (1 << 26, 400):
            monkeypatch.setattr(TALLY, "MOST_CELLS", limit)
            joint = sampled(cases, decided).joint
            variances.append(cost_errors(joint, PROBLEM).covariance[0, 0])
        ratios.append(variances[1] / variances[0])
    assert np.mean(ratios) == pytest.approx(1, abs=3 * 0.14 / np.sqrt(60))
    assert 0.07 < np.std(ratios) < 0.21


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("part", [False, True])
def test_a_group_is_the_sum_of_whole_clusters(monkeypatch, weighted, part):
    truth, p, owner = patients(3, 500)
    weights = np.linspace(0.5, 2.0, truth.size) if weighted else None
    cases, decided = read_cases(truth, PROBLEM, weights, None, owner), (p > 0.5).astype(int)
    rows = np.flatnonzero(owner % 3 > 0) if part else None
    apart = sampled(cases, decided, rows)
    monkeypatch.setattr(TALLY, "MOST_CELLS", 500)
    together = sampled(cases, decided, rows)
    assert together.clusters == apart.clusters == len(apart.joint.weights)
    np.testing.assert_allclose(together.masses_of_clusters, apart.masses_of_clusters)
    assert together.joint.weights.shape == (125, 4)
    group = np.random.default_rng(0).permutation(apart.clusters) % 125
    for name in ("weights", "squares"):
        of_clusters, of_groups = (
            sample.squares if name == "squares" else sample.joint.weights
            for sample in (apart, together)
        )
        if of_clusters is None:
            assert of_groups is None
            continue
        sums = np.zeros((125, 4))
        for place, cells in zip(group.tolist(), of_clusters, strict=True):
            sums[place] += cells
        np.testing.assert_allclose(of_groups, sums)


def test_groups_do_not_depend_on_the_order_of_rows(monkeypatch):
    monkeypatch.setattr(TALLY, "MOST_CELLS", 900)
    truth, p, owner = patients(n_patients=400)
    order = np.random.default_rng(9).permutation(truth.size)
    options: dict[str, Any] = {"calibrator": None, "replicates": 2}
    first = evaluate(truth, p, PROBLEM, clusters=owner, **options)
    again = evaluate(truth[order], p[order], PROBLEM, clusters=owner[order], **options)
    assert len(texts(first)) == 1
    assert again.verdict.saving_over_naive == first.verdict.saving_over_naive


def test_how_unequal_clusters_are_is_said_of_clusters_and_not_of_groups(monkeypatch):
    truth, p, owner = patients()
    large = np.where(owner % 50 == 0, 0, owner)  # forty patients are one hospital
    monkeypatch.setattr(TALLY, "MOST_CELLS", 2000)
    report = evaluate(truth, p, PROBLEM, clusters=large, calibrator=None, replicates=2)
    [text] = [each.text for each in report.caveats if each.kind == "unequal clusters"]
    assert "the largest of 1961 holds 2 % of the cases" in text


def test_maps_and_slices_go_with_groups_of_clusters(monkeypatch):
    truth, _, owner = patients()
    report = report_of(
        2000, monkeypatch, calibrator=Isotonic(), by={"third": owner % 3}, weights=1.0 + truth
    )
    assert len(texts(report)) == 1
    assert Report.from_json(report.to_json()) == report
    assert len(report.slices) == 3


def test_a_hundred_groups_that_do_not_fit_are_refused(monkeypatch):
    truth, p, owner = patients()
    for name in ("stakes.tally.base", "stakes.evaluation.cases"):
        monkeypatch.setattr(sys.modules[name], "MOST_CELLS", 300)
    with pytest.raises(InputError, match=r"100 of them, each of \d+ numbers, take .* GB") as caught:
        evaluate(truth, p, PROBLEM, clusters=owner, calibrator=None)
    assert caught.value.remedy == "Pass fewer models at a time."


def test_sums_over_the_cases_of_a_class_are_plain_sums_in_any_order_of_cells():
    rng = np.random.default_rng(2)
    clusters, columns = rng.random((7, 5)), rng.random((5, 2))
    for classes in (np.array([0, 0, 1, 1, 3]), np.array([1, 0, 3, 0, 1])):
        cells = Cells(clusters.sum(axis=0), classes, 4, clusters=clusters)
        for k, sums in enumerate(cells.cluster_sums(columns)):
            plain = np.zeros((7, 2))
            for cell in range(5):
                if classes[cell] == k:
                    plain += clusters[:, [cell]] * columns[cell]
            np.testing.assert_allclose(sums, plain)
        by_class = cells.masses(by_class=True)
        np.testing.assert_allclose(by_class.sum(axis=1), clusters.sum(axis=1))
        assert (by_class[:, 2] == 0).all()
