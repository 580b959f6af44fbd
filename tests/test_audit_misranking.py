"""How often metrics put two classifiers in the wrong order."""

from __future__ import annotations

import tracemalloc
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest

from stakes.audit import (
    FAMILIAR,
    AssessmentError,
    Gain,
    Loss,
    NormalUtilities,
    RisingRates,
    ShareDistribution,
    UniformShares,
    UniformUtilities,
    exact_misranking,
    gaussian_setting,
    misranking,
    uniform_setting,
)
from stakes.errors import InputError
from stakes.measures import error_rate, expected_cost
from stakes.problem import Problem

SETTINGS = {"uniform": uniform_setting, "gaussian": gaussian_setting}
COMPARED = (
    *("recall", "precision", "balanced accuracy", "MCC", "Fowlkes-Mallows", "F1", "accuracy"),
)
PAIRS = 300_000

# claims.md, D9: per cent of wrongly ranked pairs; the last is for utilities with errors of 0.11.
PRINTED = {
    "uniform": [25, 21.26, 15.8845, 11.13, 10.40, 9.75, 8.767406, 3.99],
    "gaussian": [25, 20.88, 14.5343, 8.37, 7.40, 6.55, 4.86881, 2.49],
}
EXACT = {
    ("uniform", "recall"): (25, 10),
    ("uniform", "balanced accuracy"): (15.8845, 4),
    ("uniform", "accuracy"): (8.767406, 6),
    ("gaussian", "recall"): (25, 10),
    ("gaussian", "balanced accuracy"): (14.5343, 4),
    ("gaussian", "accuracy"): (4.86881, 5),
}
# claims.md, D10: the same for utilities with errors, by their standard deviation.
ERRORS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
PRINTED_ERRORS = {
    "uniform": [2.06, 3.70, 5.10, 6.36, 7.54, 8.54],
    "gaussian": [1.13, 2.26, 3.42, 4.62, 5.76, 6.72],
}


@pytest.fixture(scope="module", params=list(SETTINGS))
def study(request):
    """One run for D9 and D10: all criteria share its draws."""
    sds = {f"error {sd}": AssessmentError(sd) for sd in (0.11, *ERRORS)}
    metrics = {name: FAMILIAR[name] for name in COMPARED}
    rng = np.random.default_rng(2023)
    setting = SETTINGS[request.param]()
    return request.param, misranking(metrics, **setting, error=sds, pairs=PAIRS, rng=rng)


def within_four_errors(actual, printed, pairs, exact=False):
    """Values that were printed from 10**6 pairs, and rounded, have errors too; exact ones do not.

    Where exact ones are among them, `exact` says which.
    """
    share = np.asarray(printed) / 100
    drawn = np.where(exact, 0.0, 1e-6)
    error = np.sqrt(share * (1 - share) * (1 / pairs + drawn))
    return np.abs(actual - share) <= 4 * error + np.where(exact, 5e-7, 5e-5)


def test_D9_all_sixteen_percentages_are_reproduced(study):
    setting, result = study
    shares = np.array([result.share(name) for name in (*COMPARED, "error 0.11")])
    exact = [(setting, name) in EXACT for name in (*COMPARED, "error 0.11")]
    close = within_four_errors(shares, PRINTED[setting], PAIRS, exact)
    assert close.all(), dict(zip(COMPARED, 100 * shares, strict=False))


def test_D10_the_table_over_the_size_of_the_error_is_reproduced(study):
    setting, result = study
    shares = np.array([result.share(f"error {sd}") for sd in ERRORS])
    assert within_four_errors(shares, PRINTED_ERRORS[setting], PAIRS).all(), 100 * shares
    assert (np.diff(shares) > 0).all()


def test_D10_utilities_with_errors_of_a_fifth_still_err_less_than_every_metric(study):
    _, result = study
    for name in COMPARED:
        gap, error = result.difference(name, "error 0.2")
        assert gap > 2 * error, name


def test_D9_standard_errors_are_those_of_shares(study):
    _, result = study
    share = result.wrong
    np.testing.assert_allclose(result.standard_errors, np.sqrt(share * (1 - share) / PAIRS))
    assert result.undefined.tolist() == [0] * len(result.names)
    assert result.columns()["wrong"] == share.tolist()


@pytest.mark.parametrize(("setting", "name"), list(EXACT))
def test_D9_linear_metrics_have_the_printed_exact_values(setting, name):
    value, digits = EXACT[setting, name]
    exact = exact_misranking(FAMILIAR[name], **SETTINGS[setting]())
    assert round(100 * exact, digits) == value


# An independent route to the same numbers: the ratio of the gaps is integrated against the
# distribution function of the cost proportion, by the tanh-sinh rule.


def tanh_sinh(low, high):
    step = np.linspace(-3.2, 3.2, 91)
    inner = np.pi / 2 * np.sinh(step)
    with np.errstate(over="ignore"):
        share = 1 / (1 + np.exp(-2 * inner))
    weight = (step[1] - step[0]) * np.pi / 4 * np.cosh(step) / np.cosh(inner) ** 2
    width = np.asarray(high - low)[..., None]
    node = np.asarray(low)[..., None] + width * share
    return np.clip(node, 1e-300, 1 - 2**-53), width * weight  # the ends have no weight to speak of


def gap_ratio_density(ratio):
    """Of |r1 - r2| over |r3 - r4|; the gaps have density (4/3)(2 - 3d + d³), d in units of ½."""
    node, weight = np.polynomial.legendre.leggauss(12)
    small = np.minimum(ratio, 1 / np.maximum(ratio, 1e-300))
    gap = (node + 1) / 2

    def density(d):
        return 4 / 3 * (2 - 3 * d + d**3)

    value = np.sum(weight / 2 * gap * density(gap) * density(small[..., None] * gap), axis=-1)
    return np.where(ratio <= 1, value, value * small**2)


def uniform_cdf(ratio):
    """Of the ratio of gains on the hexagon: areas of triangles."""
    small = np.minimum(ratio, 1 / np.maximum(ratio, 1e-300))
    below = (2 * small - small**2 / 2) / 3
    return np.where(ratio <= 1, below, 1 - below)


def gaussian_cdf(ratio):
    """The same under the normal, one strip of the hexagon after the other."""
    from scipy.special import ndtr

    sd = 1 / 3
    small = np.minimum(ratio, 1 / np.maximum(ratio, 1e-300))[..., None]
    node, weight = np.polynomial.legendre.leggauss(40)

    def normal(x):
        return np.exp(-0.5 * (x / sd) ** 2) / (sd * np.sqrt(2 * np.pi))

    def mass(small):
        y = (node + 1) / 2
        one_sign = 2 * np.sum(
            weight / 2 * normal(y) * (ndtr(1 / sd) - ndtr((1 - small + small * y) / sd)), axis=-1
        )
        far = 1 - small  # parts that sum to more than this
        x = far * (node + 1) / 2
        near = np.sum(
            far * weight / 2 * normal(x) * (ndtr((1 - x) / sd) - ndtr((far - x) / sd)), axis=-1
        )
        x = far + small * (node + 1) / 2
        rest = np.sum(small * weight / 2 * normal(x) * (ndtr((1 - x) / sd) - 0.5), axis=-1)
        return one_sign + near + rest

    below = mass(small) / (2 * mass(np.ones(1)))
    return np.where(ratio <= 1, below, 1 - below)


CDFS = {"uniform": uniform_cdf, "gaussian": gaussian_cdf}
# Where each metric, as a direction of rates, lies: the skew at which it is indifferent.
SKEWS = {"accuracy": lambda positive: 1 - positive, "balanced accuracy": lambda positive: 0.5}


def by_quadrature(setting, name):
    total = 0.0
    for low, high in ((0.0, 0.5), (0.5, 1.0)):
        shares, weights = tanh_sinh(np.array(low), np.array(high))
        for positive, weight in zip(shares, weights, strict=True):
            skew = SKEWS[name](positive)
            breaks = np.unique([0.0, 0.5, 1 - positive, skew, 1.0])
            s, inner = tanh_sinh(breaks[:-1], breaks[1:])
            ratio = s / (1 - s)
            below = CDFS[setting](ratio * positive / (1 - positive))
            density = gap_ratio_density(ratio) / (1 - s) ** 2
            middle = (breaks[:-1] + breaks[1:])[:, None] / 2
            wrong = np.where(middle > skew, 1 - below, below)
            total += 0.5 * weight * np.sum(inner * density * wrong)
    return total


@pytest.mark.parametrize("setting", list(SETTINGS))
@pytest.mark.parametrize("name", list(SKEWS))
def test_D9_exact_values_agree_with_an_independent_quadrature(setting, name):
    exact = exact_misranking(FAMILIAR[name], **SETTINGS[setting]())
    assert abs(exact - by_quadrature(setting, name)) < 1e-8


def test_exact_values_take_losses_and_cost_matrices_as_well():
    accuracy = exact_misranking(FAMILIAR["accuracy"], **uniform_setting())
    assert exact_misranking(Loss(error_rate), **uniform_setting()) == pytest.approx(
        accuracy, abs=1e-10
    )
    worst = exact_misranking(Gain(error_rate), **uniform_setting())
    assert worst == pytest.approx(1 - accuracy, abs=1e-10)


@pytest.mark.parametrize("utilities", [[[1, 0], [0, 0.3]], [[0, 1], [0, 1]], [[1, 0], [0.5, 0.2]]])
def test_exact_values_of_any_cost_matrix_agree_with_draws(utilities):
    """Also of matrices that reward mistakes in one class, or reward one class too much."""
    metric = Loss(partial(expected_cost, problem=Problem.from_utilities(utilities)))
    setting = uniform_setting()
    exact = exact_misranking(metric, **setting)
    rng = np.random.default_rng(12)
    drawn = misranking({"it": metric}, **setting, error={}, pairs=50_000, rng=rng)
    assert abs(exact - drawn.share("it")) < 4 * drawn.standard_errors[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sd", [0.3, 0.01, *(pytest.param(sd, marks=pytest.mark.slow) for sd in (0.1, 0.03, 0.001))]
)
def test_exact_values_of_narrow_beliefs_agree_with_draws(sd):
    setting: dict[str, Any] = {**uniform_setting(), "utilities": NormalUtilities(sd)}
    metrics = {name: FAMILIAR[name] for name in ("balanced accuracy", "accuracy")}
    drawn = misranking(
        metrics, **setting, error={}, pairs=60_000, rng=np.random.default_rng(round(1 / sd))
    )
    for name, metric in metrics.items():
        exact = exact_misranking(metric, **setting)
        error = np.sqrt(exact * (1 - exact) / drawn.pairs)
        assert abs(exact - drawn.share(name)) < 4 * error, name


@pytest.mark.slow
def test_exact_values_of_narrow_beliefs_tend_to_those_of_certainty():
    """Accuracy against balanced accuracy; to second order in the width, by symmetry."""
    wide, narrow, narrower = (
        exact_misranking(
            FAMILIAR["balanced accuracy"],
            **{**uniform_setting(), "utilities": NormalUtilities(sd)},  # type: ignore[arg-type]
        )
        for sd in (0.02, 1e-3, 1e-6)
    )
    assert round(wide, 6) == 0.137257
    assert round(narrow, 4) == 0.1372
    assert abs(narrow - narrower) < 1e-5


@dataclass(frozen=True, eq=False)
class SharesBetween(ShareDistribution):
    """Uniform between two shares."""

    low: float
    high: float
    told: bool  # whether the support is stated

    @property
    def support(self):
        return (self.low, self.high) if self.told else (0.0, 1.0)

    def __call__(self, rng, shape):
        return rng.uniform(self.low, self.high, shape)

    def density(self, share):
        return ((share > self.low) & (share < self.high)) / (self.high - self.low)


@pytest.mark.parametrize(("low", "high"), [(0.49, 0.5), (0.1, 0.6), (0.998, 0.999)])
def test_exact_values_of_a_narrow_class_share_agree_with_draws(low, high):
    setting: dict[str, Any] = {**uniform_setting()}
    setting["class_share"] = SharesBetween(low, high, told=True)
    metrics = {name: FAMILIAR[name] for name in ("balanced accuracy", "accuracy")}
    rng = np.random.default_rng(21)
    drawn = misranking(metrics, **setting, error={}, pairs=60_000, rng=rng)
    for name, metric in metrics.items():
        exact = exact_misranking(metric, **setting)
        assert abs(exact - drawn.share(name)) < 4 * np.sqrt(exact * (1 - exact) / drawn.pairs)


def test_densities_that_the_rule_cannot_resolve_are_refused():
    hidden: dict[str, Any] = {**uniform_setting()}
    hidden["class_share"] = SharesBetween(0.49, 0.491, told=False)
    with pytest.raises(InputError, match="the density of class_share must integrate to 1"):
        exact_misranking(FAMILIAR["accuracy"], **hidden)
    needle: dict[str, Any] = {**uniform_setting(), "utilities": NormalUtilities(1e-13)}
    with pytest.raises(InputError, match="the density of utilities must integrate to 1"):
        exact_misranking(FAMILIAR["accuracy"], **needle)
    for support in ((0.5, 0.5), (0.6, 0.4)):
        backward: dict[str, Any] = {**uniform_setting()}
        backward["class_share"] = SharesBetween(*support, told=True)
        with pytest.raises(InputError, match="must be two rising shares"):
            exact_misranking(FAMILIAR["accuracy"], **backward)


@pytest.mark.parametrize("name", ["precision", "F1", "MCC"])
def test_metrics_that_are_not_linear_have_no_exact_value(name):
    assert np.isnan(exact_misranking(FAMILIAR[name], **uniform_setting()))


@pytest.mark.parametrize("argument", ["utilities", "class_share", "rates"])
def test_exact_values_need_known_densities(argument):
    setting: dict[str, Any] = {**uniform_setting(), argument: lambda rng, shape: rng.random(shape)}
    with pytest.raises(InputError, match=f"{argument} must be a distribution with a known density"):
        exact_misranking(FAMILIAR["accuracy"], **setting)


# Slow twins and laws -----------------------------------------------------------------------------


def slow_misranking(utilities, shares, rates, metrics):
    """The steps of dyrland, section 4.2, one pair after the other."""
    wrong: dict[str, list[int]] = {name: [] for name in metrics}
    for n, positive in enumerate(shares):
        tables = []
        for model in range(2):
            table = [[0.0, 0.0], [0.0, 0.0]]
            for k, share in enumerate((1 - positive, positive)):
                table[k][k] = share * rates[model, k, n]
                table[k][1 - k] = share - table[k][k]
            tables.append(table)
        yields = [
            sum(utilities[n][k][d] * table[k][d] for k in range(2) for d in range(2))
            for table in tables
        ]
        for name, metric in metrics.items():
            first, second = (metric(table) for table in tables)
            wrong[name].append(int((second - first) * (yields[1] - yields[0]) < 0))
    return wrong


def test_misranking_counts_what_the_plain_loop_counts():
    rng = np.random.default_rng(31)
    n = 400
    utilities = UniformUtilities()(rng, n)
    shares, rates = rng.random(n), RisingRates()(rng, (2, 2, n))
    slow = slow_misranking(
        utilities.tolist(),
        shares.tolist(),
        rates,
        {
            "precision": lambda t: t[1][1] / (t[1][1] + t[0][1]),
            "specificity": lambda t: t[0][0] / (t[0][0] + t[0][1]),
            "F1": lambda t: 2 * t[1][1] / (2 * t[1][1] + t[0][1] + t[1][0]),
        },
    )
    fast = misranking(
        {name: FAMILIAR[name] for name in slow},
        utilities=lambda rng, size: utilities,
        class_share=lambda rng, shape: shares,
        rates=lambda rng, shape: rates,
        error={"none": lambda rng, true: true, "reversed": lambda rng, true: true[:, :, ::-1]},
        pairs=n,
        rng=rng,
    )
    for name, wrong in slow.items():
        assert fast.share(name) == pytest.approx(np.mean(wrong))
        for other, wrong_too in slow.items():
            gap, error = fast.difference(name, other)
            each = np.subtract(wrong, wrong_too)
            assert gap == pytest.approx(each.mean())
            assert error == pytest.approx(each.std() / np.sqrt(n))
    assert fast.share("none") == 0
    assert fast.share("reversed") == 1


def test_metrics_share_the_draws_and_differences_are_paired():
    metrics = {"first": FAMILIAR["F1"], "again": FAMILIAR["F1"], "other": FAMILIAR["accuracy"]}
    result = misranking(
        metrics, **uniform_setting(), error={}, pairs=20_000, rng=np.random.default_rng(1)
    )
    assert result.difference("first", "again") == (0, 0)
    gap, error = result.difference("first", "other")
    assert gap == pytest.approx(result.share("first") - result.share("other"))
    assert 0 < error < np.hypot(*result.standard_errors[1:])


def test_a_seed_repeats_the_study_and_memory_does_not_grow_with_the_pairs():
    def peak(pairs):
        tracemalloc.start()
        result = misranking(
            {"F1": FAMILIAR["F1"]},
            **uniform_setting(),
            error={"10 % error": AssessmentError(0.1)},
            pairs=pairs,
            rng=np.random.default_rng(9),
        )
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size, result

    small, first = peak(100_000)  # three blocks: the next is drawn before the last is let go
    large, _ = peak(400_000)
    assert large < 1.1 * small
    assert peak(100_000)[1] == first


def test_progress_is_reported_after_each_block():
    told = []
    misranking(
        {"accuracy": FAMILIAR["accuracy"]},
        **uniform_setting(),
        error={},
        pairs=70_000,
        rng=np.random.default_rng(0),
        progress=lambda done, wanted: told.append((done, wanted)),
    )
    assert told[-1] == (70_000, 70_000)
    assert [wanted for _, wanted in told] == [70_000] * len(told)
    assert len(told) > 1
    assert sorted(told) == told


def test_undefined_metrics_are_counted_and_not_called_wrong():
    result = misranking(
        {"nowhere": Gain(lambda counts: np.full(counts.values.shape[:-2], np.nan))},
        **uniform_setting(),
        error={},
        pairs=100,
        rng=np.random.default_rng(0),
    )
    assert result.undefined.tolist() == [100]
    assert result.share("nowhere") == 0


def test_pairs_of_which_one_is_undefined_are_undefined_and_the_others_count():
    def accuracy_above(counts):
        right = np.trace(counts.values, axis1=-2, axis2=-1)
        return np.where(right > 0.75, right, np.nan)

    rng = np.random.default_rng(41)
    n = 500
    utilities, shares = UniformUtilities()(rng, n), rng.random(n)
    rates = RisingRates()(rng, (2, 2, n))
    result = misranking(
        {"partly": Gain(accuracy_above), "accuracy": FAMILIAR["accuracy"]},
        utilities=lambda rng, size: utilities,
        class_share=lambda rng, shape: shares,
        rates=lambda rng, shape: rates,
        error={},
        pairs=n,
        rng=rng,
    )
    right = (1 - shares) * rates[:, 0] + shares * rates[:, 1]
    defined = (right > 0.75).all(axis=0)
    slow = slow_misranking(
        utilities.tolist(), shares.tolist(), rates, {"accuracy": lambda t: t[0][0] + t[1][1]}
    )
    assert 0 < result.undefined[0] < n
    assert result.undefined.tolist() == [np.count_nonzero(~defined), 0]
    assert result.share("partly") * n == pytest.approx(np.sum(slow["accuracy"] * defined))
    assert result.columns()["undefined"] == [np.mean(~defined), 0]


def test_misranking_checks_its_input():
    def study(metrics=FAMILIAR, error=None, pairs=10, rng=None):
        return misranking(
            metrics,
            **uniform_setting(),
            error={} if error is None else error,
            pairs=pairs,
            rng=np.random.default_rng(0) if rng is None else rng,
        )

    with pytest.raises(InputError, match="error must be a mapping from name to error; got list"):
        study(error=[AssessmentError(0.1)])
    with pytest.raises(InputError, match="error must be a mapping from name to error; got Assess"):
        study(error=AssessmentError(0.1))
    with pytest.raises(InputError, match=r"error must map names to samplers .* maps to 0\.1"):
        study(error={"10 %": 0.1})
    with pytest.raises(InputError, match="rng must be a numpy Generator; got int 3"):
        study(rng=3)
    with pytest.raises(InputError, match="pairs must be a whole number"):
        study(pairs=2.5)
    with pytest.raises(InputError, match="the names of metrics and errors"):
        study(error={"F1": AssessmentError(0.1)})
    with pytest.raises(InputError, match=r"metric must be a Metric; .*where higher"):
        exact_misranking(error_rate, **uniform_setting())  # type: ignore[arg-type]


def test_the_study_prints_its_criteria_from_worst_to_best():
    result = misranking(
        {name: FAMILIAR[name] for name in ("accuracy", "recall")},
        **uniform_setting(),
        error={},
        pairs=5000,
        rng=np.random.default_rng(0),
    )
    assert repr(result).splitlines()[2].startswith("recall")
    assert "<td>" in result._repr_html_()
    with pytest.raises(InputError, match="name must be one of"):
        result.share("kappa")


@pytest.mark.parametrize(
    ("argument", "sampler", "message"),
    [
        ("utilities", lambda rng, n: rng.random((n, 2)), "utilities must draw an array of shape"),
        ("class_share", lambda rng, shape: rng.random(3), "class_share must draw an array of"),
        ("class_share", lambda rng, shape: 2 + rng.random(shape), "class_share must hold prob"),
        ("rates", lambda rng, shape: -rng.random(shape), "rates must hold probabilities"),
    ],
)
def test_samplers_are_checked_at_the_border(argument, sampler, message):
    setting: dict[str, Any] = {**uniform_setting(), argument: sampler}
    with pytest.raises(InputError, match=message):
        misranking(
            {"accuracy": FAMILIAR["accuracy"]},
            **setting,
            error={},
            pairs=10,
            rng=np.random.default_rng(0),
        )


# Distributions -----------------------------------------------------------------------------------


def test_rates_have_the_quartiles_that_the_paper_prints():
    rates = RisingRates()(np.random.default_rng(2), (100_000,))
    quartiles = np.quantile(rates, [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quartiles, 0.5 + 0.5 * np.sqrt([0.25, 0.5, 0.75]), atol=4e-3)
    assert rates.min() >= 0.5
    assert rates.max() <= 1


def test_the_distribution_of_gap_ratios_is_that_of_drawn_gaps():
    first, second, third, fourth = RisingRates()(np.random.default_rng(3), (4, 50_000))
    ratio = np.abs(first - second) / np.abs(third - fourth)
    for bound in (0.05, 0.3, 1.0, 2.0, 20.0):
        exact = float(RisingRates().gap_ratio_cdf(np.array(bound)))
        assert abs(np.mean(ratio <= bound) - exact) < 4 * np.sqrt(exact * (1 - exact) / 50_000)


def test_shares_are_uniform():
    shares = UniformShares()(np.random.default_rng(4), (10_000,))
    assert abs(shares.mean() - 0.5) < 4 * np.sqrt(1 / 12 / 10_000)
    np.testing.assert_array_equal(UniformShares().density(np.array([0.2, 0.9])), [1, 1])


def slow_assessment(utilities, sd, rng):
    """The whole matrix resampled until it is possible, as claims.md reads dyrland."""
    while True:
        drawn = utilities + sd * rng.standard_normal(utilities.shape)
        best = utilities.argmax(axis=1)
        if (
            drawn.min() >= 0
            and drawn.max() <= 1
            and all(drawn[k, best[k]] >= drawn[k].max() for k in range(len(drawn)))
        ):
            return drawn


@pytest.mark.parametrize(
    "utilities",
    [
        [[0.7, 0.6], [0.0, 1.0]],
        [[1.0, 0.0], [0.1, 0.95]],
        [[0.2, 0.9, 1.0], [0.5, 0.0, 0.4]],
    ],
)
def test_assessed_utilities_are_distributed_as_by_drawing_again_the_whole_matrix(utilities):
    """Class by class, and folded at 0 and 1, is faster and the same."""
    true, sd, n = np.array(utilities), 0.2, 6000
    rng = np.random.default_rng(17)
    slow = np.array([slow_assessment(true, sd, rng) for _ in range(n)])
    fast = AssessmentError(sd)(rng, np.broadcast_to(true, (n, *true.shape)))
    error = np.sqrt((slow.var(axis=0) + fast.var(axis=0)) / n)
    assert (np.abs(slow.mean(axis=0) - fast.mean(axis=0)) < 4 * error).all()
    for power in (2, 3):
        plain, two = slow**power, fast**power
        spread = np.sqrt((plain.var(axis=0) + two.var(axis=0)) / n)
        assert (np.abs(plain.mean(axis=0) - two.mean(axis=0)) < 4 * spread).all()
    assert (fast[:, np.arange(len(true)), true.argmax(axis=1)] >= fast.max(axis=2)).all()


def test_errors_wider_than_the_scale_are_distributed_as_by_drawing_again():
    rng = np.random.default_rng(6)
    assessed = AssessmentError(1.5)(rng, np.broadcast_to([[0.8, 0.1]], (20_000, 1, 2)))[:, 0]
    drawn = [0.8, 0.1] + 1.5 * rng.standard_normal((200_000, 2))
    kept = drawn[(np.abs(drawn - 0.5) <= 0.5).all(axis=1) & (drawn[:, 0] >= drawn[:, 1])]
    error = np.hypot(assessed.std(axis=0) / np.sqrt(20_000), kept.std(axis=0) / np.sqrt(len(kept)))
    assert (np.abs(assessed.mean(axis=0) - kept.mean(axis=0)) < 4 * error).all()


def test_huge_errors_end_and_leave_uniform_utilities():
    """Of two uniform numbers the larger one, 2/3 in the mean, is the best one's."""
    true = np.broadcast_to([[0.7, 0.6], [0.0, 1.0]], (20_000, 2, 2))
    assessed = AssessmentError(100.0)(np.random.default_rng(6), true)
    error = assessed.std(axis=0) / np.sqrt(20_000)
    expected = np.array([[2, 1], [1, 2]]) / 3
    assert (np.abs(assessed.mean(axis=0) - expected) < 4 * error + 1e-4).all()


def test_errors_of_many_decisions_end():
    true = np.random.default_rng(1).random((3, 2, 60))
    assessed = AssessmentError(0.3)(np.random.default_rng(2), true)
    assert ((assessed >= 0) & (assessed <= 1)).all()
    np.testing.assert_array_equal(assessed.argmax(axis=-1), true.argmax(axis=-1))


def test_errors_are_for_many_matrices():
    with pytest.raises(InputError, match=r"utilities must be many matrices, .* \(2, 2\)"):
        AssessmentError(0.1)(np.random.default_rng(0), np.eye(2))


def test_no_error_leaves_the_utilities_alone():
    true = UniformUtilities()(np.random.default_rng(1), 50)
    np.testing.assert_array_equal(AssessmentError(0)(np.random.default_rng(2), true), true)


def test_errors_are_for_utilities_between_0_and_1():
    with pytest.raises(InputError, match=r"utilities must lie in \[0, 1\]"):
        AssessmentError(0.1)(np.random.default_rng(0), np.array([[[15.0, -35], [-335, 165]]]))


def test_presets_are_the_two_settings_of_the_paper():
    assert uniform_setting()["utilities"] == UniformUtilities()
    assert gaussian_setting()["utilities"] == NormalUtilities(1 / 3)
    assert uniform_setting()["rates"] == gaussian_setting()["rates"] == RisingRates()
