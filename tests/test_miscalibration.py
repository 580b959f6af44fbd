"""The cost of miscalibration without a calibrator, against a world whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from scipy.stats import binom, norm

from stakes import Problem, ScoreTable, evaluate
from stakes._check import FloatArray
from stakes.calibration import Affine, Isotonic, table_cost_of_miscalibration
from stakes.evaluation.quality import FewCases, RedrawnClasses, _drawn
from stakes.regions import decision_regions

SHARE = 0.1
TWO = Problem.binary(false_alarm=1, miss=4)
THREE = Problem([[0, 3, 25], [180, 8, 0]])
PRIORS = (None, [0.97, 0.03])


def cases(rng: np.random.Generator, n_cases: int, slope: float, shift: float):
    """Log-odds of calibrated posteriors are normal in both classes; the scores are off a line."""
    y = (rng.random(n_cases) < SHARE).astype(int)
    true = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5) + logit(SHARE)
    return y, expit(slope * true + shift)


def true_waste(problem: Problem, slope: float, shift: float, seen: float) -> float:
    """Expected cost of Bayes decisions by the scores, less that of the best thresholds.

    The evidence x is normal with means ±1 and variance 2, so that it is its own log-likelihood
    ratio. Scores are moved from the share that was seen to the prior, if there is one.
    """
    share = SHARE if problem.prior is None else problem.prior[1]
    moved = 0.0 if problem.prior is None else logit(share) - logit(seen)
    regions = decision_regions(problem)
    cuts = logit(np.asarray(regions.crossings))
    costs = problem.costs[:, [problem.decisions.index(part.cheapest[0]) for part in regions.parts]]

    def cost(thresholds) -> float:
        ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
        rates = [np.diff(norm.cdf(ends, mean, 2**0.5)) for mean in (-1, 1)]
        return (1 - share) * rates[0] @ costs[0] + share * rates[1] @ costs[1]

    decided = (cuts - shift - moved) / slope - logit(SHARE)
    return cost(decided) - cost(cuts - logit(share))


SHIFTED_DOWN = pytest.param(1.0, -2.0)
OTHERS = [
    pytest.param(*line, marks=pytest.mark.slow)
    for line in ((1.0, 0.0), (1.0, 2.0), (0.5, 0.0), (2.0, 0.0))
]


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(
    "problem",
    [pytest.param(TWO, marks=pytest.mark.slow), THREE],
    ids=["two decisions", "three decisions"],
)
@pytest.mark.parametrize(("slope", "shift"), [SHIFTED_DOWN, *OTHERS])
def test_waste_in_hindsight_agrees_with_the_truth(slope, shift, problem, prior):
    problem = problem if prior is None else problem.with_prior(prior)
    gaps = []
    for seed in range(8):
        y, scores = cases(np.random.default_rng(seed), 4000, slope, shift)
        model = evaluate(y, scores, problem, calibrator=None, replicates=200).models[0]
        assert model.calibration_cost is not None
        assert model.calibration_cost >= 0
        gaps.append(model.calibration_cost - true_waste(problem, slope, shift, y.mean()))
    noise = np.std(gaps, ddof=1) / len(gaps) ** 0.5
    least = problem.with_prior([1 - SHARE, SHARE] if prior is None else prior).naive.cost
    clipped = 4e-3 * least if slope == 1 and shift == 0 else 0.0  # noise above zero
    assert abs(np.mean(gaps)) < 3 * noise + clipped


def test_bias_in_the_large_is_not_taken_for_chance():
    """The issue's case: 0.082 was shown, where recalibration saves 0.268."""
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.1).astype(int)
    scores = expit(rng.normal(np.where(y == 1, 1, -1), 2**0.5))
    shown, saved, backwards = (
        evaluate(y, posteriors, TWO, calibrator=calibrator, replicates=200)
        .models[0]
        .calibration_cost
        or 0.0
        for posteriors, calibrator in ((scores, None), (scores, Isotonic()), (1 - scores, None))
    )
    assert shown == pytest.approx(saved, rel=0.05)
    assert backwards > shown


@pytest.mark.slow
def test_what_recalibration_loses_is_no_negative_cost():
    costs = []
    for seed in range(6):
        y, scores = cases(np.random.default_rng(seed), 200, 1.0, 0.0)
        report = evaluate(y, scores, TWO, calibrator=Isotonic(), replicates=2)
        costs.append(report.models[0].calibration_cost or 0.0)
        costs_of_both = [
            report.system(f"model ({tag})").cost.value for tag in ("as is", "recalibrated")
        ]
        assert costs[-1] == pytest.approx(max(costs_of_both[0] - costs_of_both[1], 0), abs=1e-12)
    assert min(costs) == 0


@pytest.mark.parametrize("problem", [TWO, THREE, Problem([[0, 1, 4, 9], [20, 12, 5, 0]])])
@pytest.mark.parametrize("prior", PRIORS)
def test_running_sums_find_the_best_thresholds_that_isotonic_regression_finds(problem, prior):
    rng = np.random.default_rng(5)
    problem = problem.with_prior(prior)
    for _ in range(20):
        weights = rng.integers(0, 5, (12, 2)).astype(float)
        weights[0] += 1
        table = ScoreTable(np.linspace(0.05, 0.95, 12), weights)
        redrawn = RedrawnClasses(weights.sum(axis=1), problem)
        expected = table_cost_of_miscalibration(table, problem).optimal
        assert_allclose(redrawn.best(weights[None, :, 1]), [expected], atol=1e-13)
        charged = rng.random((2, 12))
        worth = 1 / weights.sum() if prior is None else prior / weights.sum(axis=0)
        paid = (weights * worth * charged.T).sum()
        assert_allclose(
            redrawn.regrets(weights[None, :, 1], charged), [paid - expected], atol=1e-13
        )


def test_classes_of_few_cases_are_quantiles_of_the_binomial_law():
    rng = np.random.default_rng(8)
    n_cases = rng.integers(1, 7, 40).astype(float)
    posteriors = np.concatenate([[0.0, 1.0, 0.5, 1e-300], rng.random(36)])
    uniforms = rng.random((25, 40))
    positives = FewCases(n_cases, posteriors).positives(uniforms)
    for (row, cell), uniform in np.ndenumerate(uniforms):
        size, chance = n_cases[cell], posteriors[cell]
        rarer = binom.ppf(uniform, size, min(chance, 1 - chance))
        assert positives[row, cell] == (size - rarer if chance > 0.5 else rarer)


@pytest.mark.parametrize("prior", [None, [0.97, 0.03], [1, 0], [0, 1]])
@pytest.mark.parametrize(
    "scores",
    [
        [0.0, 0.2, 0.3, 0.6, 0.7, 1.0],  # certain, and right
        [1.0, 0.2, 0.3, 0.6, 0.7, 0.0],  # certain, and wrong
        [0.0, 0.0, 0.0, 1.0, 1.0, 1.0],
        [0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
        [5e-324, 0.1, 0.2, 0.3, 0.4, 1.0],
    ],
)
def test_certain_posteriors_and_priors_are_never_refused(scores, prior):
    y = np.repeat([0, 0, 0, 1, 1, 1], 5)
    for truth in (y, np.roll(y, 4)):
        posteriors = np.repeat(scores, 5)
        report = evaluate(truth, posteriors, THREE.with_prior(prior), calibrator=None, replicates=2)
        wasted = report.models[0].calibration_cost
        assert wasted is None or 0 <= wasted <= THREE.costs.max()


@pytest.mark.parametrize("problem", [TWO, THREE])
def test_waste_in_hindsight_is_that_of_the_decisions_which_were_counted(problem):
    """Single precision ties at thresholds as double does, and an offset changes no difference."""
    rng = np.random.default_rng(1)
    p = rng.choice([*decision_regions(problem).crossings, 0.1, 0.3, 0.6, 0.9], 3000)
    y = (rng.random(3000) < p**3).astype(int)
    far = Problem(problem.costs + 1e12)
    wasted = np.array(
        [
            evaluate(y, posteriors, stated, calibrator=None, replicates=5)
            .models[0]
            .calibration_cost
            for posteriors in (p, p.astype(np.float32))
            for stated in (problem, far)
        ],
        dtype=float,
    )
    assert wasted[0] > 0
    assert_allclose(wasted, wasted[0], rtol=1e-9)


def test_equal_regrets_count_as_equal_whatever_rounding_does_to_them():
    """Of 500 regrets by chance, 6 reach the one that was seen; by rounding alone 5 would."""
    rng = np.random.default_rng(1032)
    n_cases = int(rng.integers(40, 90))
    scores = rng.random(n_cases)
    y = (rng.random(n_cases) < scores**1.6).astype(int)
    y[:2] = [0, 1]
    report = evaluate(y, {"a": scores}, Problem.binary(false_alarm=1, miss=5), calibrator=None)
    assert not [caveat for caveat in report.caveats if "calibration" in caveat.text]


def test_caveats_do_not_depend_on_the_unit_of_costs():
    rng = np.random.default_rng(5)
    chance = rng.random(600)
    y, models = (rng.random(600) < chance).astype(int), {"m": chance**3}
    problems = (Problem.binary(false_alarm=unit, miss=3 * unit) for unit in (1e-3, 1e3))
    kinds = [
        {caveat.kind for caveat in evaluate(y, models, p, calibrator=Affine()).caveats}
        for p in problems
    ]
    assert kinds[0] == kinds[1]
    assert "miscalibration" in kinds[0]


@pytest.mark.parametrize("cases", [np.ones(6), np.array([3.0, 1.0, 4.0, 2.0])])
def test_classes_that_are_drawn_anew_are_those_of_the_same_cases(cases, monkeypatch):
    def drawn() -> FloatArray:
        posteriors = np.linspace(0.1, 0.8, cases.size)
        return np.concatenate(list(_drawn(cases, posteriors, 40, np.random.default_rng(2))))

    whole = drawn()
    monkeypatch.setattr("stakes.evaluation.quality._BLOCK", 3 * cases.size)
    blocks = drawn()
    np.testing.assert_array_equal(whole, blocks)  # in one piece, and three replicates at a time
    assert 0 < len(whole) <= 40
    assert ((whole >= 0) & (whole <= cases)).all()
    assert ((whole.sum(axis=1) > 0) & (whole.sum(axis=1) < cases.sum())).all()  # both classes
