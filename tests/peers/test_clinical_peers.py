"""Clinical tables, live against scikit-learn, statsmodels and dcurves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import Counts, Problem, ScoreTable, measures, ranking, scoring
from stakes.calibration import smooth_curve
from stakes.metrics import calibration_table, clinical_table

pd = pytest.importorskip("pandas")
dcurves = pytest.importorskip("dcurves")
sk = pytest.importorskip("sklearn.metrics")
proportion = pytest.importorskip("statsmodels.stats.proportion")
sm = pytest.importorskip("statsmodels.api")


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
    right, recalls, _ = sk.precision_recall_curve(y, p.round(2))
    table = ScoreTable.from_scores(y, p.round(2))
    best = right[:-1][recalls[:-1] >= target].max()
    assert ranking.precision_at_recall(table, target) == pytest.approx(best)
    most = recalls[right >= target].max()
    assert ranking.recall_at_precision(table, target) == pytest.approx(most)


def test_the_ranked_probability_score_is_a_sum_of_brier_scores_of_scikit_learn():
    rng = np.random.default_rng(4)
    y, q = rng.integers(0, 4, 60), rng.dirichlet(np.ones(4), 60)
    parts = [sk.brier_score_loss(y <= j, q[:, : j + 1].sum(axis=1).clip(0, 1)) for j in range(3)]
    assert scoring.mean_score(y, q, scoring.RankedProbability()) == pytest.approx(np.mean(parts))


# Calibration -------------------------------------------------------------------------------------


def table_of(y: Any, p: Any, **options: Any) -> Any:
    return calibration_table(y, p, replicates=2, rng=np.random.default_rng(0), **options)


def test_slope_and_intercept_have_the_intervals_of_statsmodels():
    y, p = binary_cases(5)
    odds = np.log(p / (1 - p))
    table = table_of(y, p)
    fit = sm.Logit(y, sm.add_constant(odds)).fit(disp=0, tol=1e-12)
    ends = fit.conf_int()
    for place, metric in enumerate(("intercept", "slope")):
        theirs = [fit.params[place], *ends[place]]
        assert table[metric][2:] == pytest.approx(theirs, rel=1e-6)
    # In the large: the log-odds are an offset, and only the intercept is fitted.
    shift = sm.GLM(y, np.ones(y.size), offset=odds, family=sm.families.Binomial()).fit(tol=1e-12)
    theirs = [shift.params[0], *shift.conf_int()[0]]
    assert table["calibration in the large"][2:] == pytest.approx(theirs, rel=1e-6)


def test_clustered_intervals_are_the_wider_of_two_of_statsmodels_with_students_t():
    """Sandwich or curvature: of few clusters or positives the sandwich may be far too small."""
    y, p = binary_cases(6)
    owner = np.arange(y.size) % 12
    model = sm.Logit(y, sm.add_constant(np.log(p / (1 - p))))
    plain = model.fit(disp=0, tol=1e-12)
    fit = model.fit(
        disp=0, tol=1e-12, cov_type="cluster",
        cov_kwds={"groups": owner, "use_correction": False}, use_t=False,
    )  # fmt: skip
    table = table_of(y, p, clusters=owner)
    errors = np.maximum(fit.bse * np.sqrt(12 / 11), plain.bse)
    reach = 2.200985  # the quantile of t with 11 degrees of freedom
    for place, metric in enumerate(("intercept", "slope")):
        half = table[metric].high - table[metric].value
        assert half == pytest.approx(reach * errors[place], rel=1e-5)


@pytest.mark.parametrize("digits", [2, 9])
def test_the_smooth_curve_and_its_errors_are_those_of_lowess_as_val_prob_takes_them(digits):
    """R's lowess is Cleveland's code, as is that of statsmodels; val.prob: iter = 0, f = 2/3."""
    y, p = binary_cases(8)
    p = p.round(digits)
    delta = 0.01 * (p.max() - p.min())
    line = sm.nonparametric.lowess(y, p, frac=2 / 3, it=0, delta=delta)
    table = ScoreTable.from_scores(y, p)
    ours = np.interp(line[:, 0], table.scores, smooth_curve(table))
    np.testing.assert_allclose(ours, line[:, 1], atol=1e-8)
    errors = np.abs(line[:, 0] - line[:, 1])
    val_prob = table_of(y, p)
    assert val_prob["ICI"].value == pytest.approx(errors.mean(), rel=1e-6)  # Eavg of val.prob
    for metric, share in (("E50", 0.5), ("E90", 0.9), ("Emax", 1.0)):
        assert val_prob[metric].value == pytest.approx(np.quantile(errors, share), rel=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_one_vs_one_auc_is_that_of_scikit_learn(weighted):
    rng = np.random.default_rng(4)
    y, q = rng.integers(0, 4, 120), rng.dirichlet(np.ones(4), 120).round(2)
    q[:, 0] += 1 - q.sum(axis=1)
    q = np.clip(q, 0, None) / np.clip(q, 0, None).sum(axis=1, keepdims=True)
    if weighted:  # scikit-learn has no weights here: repeat the cases
        times = rng.integers(0, 3, 120)
        theirs = sk.roc_auc_score(np.repeat(y, times), np.repeat(q, times, 0), multi_class="ovo")
        assert scoring.one_vs_one_auc(y, q, weights=times) == pytest.approx(theirs)
    else:
        theirs = sk.roc_auc_score(y, q, multi_class="ovo")
        assert scoring.one_vs_one_auc(y, q) == pytest.approx(theirs)
