"""Clinical tables, live against scikit-learn, statsmodels and dcurves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import Counts, Problem, ScoreTable, measures, ranking, scoring
from stakes.metrics import clinical_table

pd = pytest.importorskip("pandas")
dcurves = pytest.importorskip("dcurves")
sk = pytest.importorskip("sklearn.metrics")
proportion = pytest.importorskip("statsmodels.stats.proportion")


def binary_cases(seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = (rng.random(240) < 0.25).astype(int)
    return y, np.clip(1 / (1 + np.exp(-(2.2 * y - 1.6 + rng.normal(size=240)))), 0.001, 0.999)


@pytest.mark.parametrize("seed", range(3))
def test_values_and_intervals_agree_with_scikit_learn_and_statsmodels(seed):
    y, p = binary_cases(seed)
    decided = (p > 0.3).astype(int)
    table = clinical_table(y, decided, Problem.from_threshold(0.3))
    (tn, fp), (fn, tp) = sk.confusion_matrix(y, decided)
    assert table["sensitivity"].value == pytest.approx(sk.recall_score(y, decided))
    assert table["PPV"].value == pytest.approx(sk.precision_score(y, decided))
    ratios = sk.class_likelihood_ratios(y, decided)
    assert (table["LR+"].value, table["LR−"].value) == pytest.approx(ratios)
    rates = {"sensitivity": (tp, tp + fn), "specificity": (tn, tn + fp)}
    rates |= {"PPV": (tp, tp + fp), "NPV": (tn, tn + fn)}
    for metric, (hits, cases) in rates.items():
        ends = proportion.proportion_confint(hits, cases, method="wilson")
        assert table[metric][3:] == pytest.approx(ends, rel=1e-9)
    for metric, hits in {"LR+": (tp, fp), "LR−": (fn, tn)}.items():
        ends = proportion.confint_proportions_2indep(
            *(hits[0], tp + fn, hits[1], tn + fp), "score", "ratio", correction=False
        )
        assert table[metric][3:] == pytest.approx(ends, rel=1e-5)


@pytest.mark.parametrize("prevalence", [None, 0.08])
def test_net_benefit_and_interventions_avoided_agree_with_dcurves(prevalence):
    y, p = binary_cases(7)
    prior = None if prevalence is None else [1 - prevalence, prevalence]
    theirs = dcurves.dca(
        data=pd.DataFrame({"y": y, "p": p}),
        outcome="y",
        modelnames=["p"],
        thresholds=[0.1, 0.2, 0.4],
        prevalence=prevalence,
    ).set_index(["model", "threshold"])
    for threshold in (0.1, 0.2, 0.4):
        table = clinical_table(
            y, (p > threshold).astype(int), Problem.from_threshold(threshold, prior=prior)
        )
        row = theirs.loc[("p", threshold)]
        assert table["net benefit"].value == pytest.approx(row["net_benefit"], abs=1e-12)
        avoided = row["net_intervention_avoided"]
        assert table["interventions avoided"].value == pytest.approx(avoided, abs=1e-12)


def test_jaccard_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    y, decided = rng.integers(0, 4, (2, 90))
    theirs = sk.jaccard_score(y, decided, average=None)
    assert measures.jaccard(Counts.from_labels(y, decided)) == pytest.approx(theirs)


@pytest.mark.parametrize("target", [0.3, 0.65, 0.9])
def test_points_of_the_precision_recall_curve_are_those_of_scikit_learn(target):
    y, p = binary_cases(2)
    right, found, _ = sk.precision_recall_curve(y, p.round(2))
    table = ScoreTable.from_scores(y, p.round(2))
    best = right[:-1][found[:-1] >= target].max()
    assert ranking.precision_at_recall(table, target) == pytest.approx(best)
    most = found[right >= target].max()
    assert ranking.recall_at_precision(table, target) == pytest.approx(most)


def test_the_ranked_probability_score_is_a_sum_of_brier_scores_of_scikit_learn():
    rng = np.random.default_rng(4)
    y, q = rng.integers(0, 4, 60), rng.dirichlet(np.ones(4), 60)
    parts = [sk.brier_score_loss(y <= j, q[:, : j + 1].sum(axis=1).clip(0, 1)) for j in range(3)]
    assert scoring.mean_score(y, q, scoring.RankedProbability()) == pytest.approx(np.mean(parts))
