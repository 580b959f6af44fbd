"""Tables of diagnostic tests: values by plain loops, published examples, coverage of intervals."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from laws import divide, nan
from stakes import Counts, Decisions, InputError, Problem
from stakes.inference import (
    Clusters,
    effective_counts,
    profile_threshold,
    ratio_of_proportions_bounds,
    wilson_rates,
)
from stakes.metrics import clinical_table
from stakes.metrics.metric_tables import _JOINED

WAIT_TREAT: dict[str, Any] = {"classes": ["well", "ill"], "decisions": ["wait", "treat"]}
METRICS = ["sensitivity", "specificity", "PPV", "NPV", "LR+", "LR−", "net benefit"]
METRICS += ["interventions avoided", "NNS", "NNT"]


def rows_of(table: list[list[int]]) -> tuple[list[str], list[str]]:
    cells = itertools.product(enumerate(["well", "ill"]), enumerate(["wait", "treat"]))
    cases = [(k, d) for (i, k), (j, d) in cells for _ in range(table[i][j])]
    truth, decided = zip(*cases, strict=True)
    return list(truth), list(decided)


def of_counts(table: list[list[int]], p: float, prior: Any = None, **options: Any) -> Any:
    problem = Problem.from_threshold(p, **WAIT_TREAT, prior=prior)
    return clinical_table(*rows_of(table), problem, **options)


# Values ------------------------------------------------------------------------------------------


def slow_values(cases: list[tuple[str, str, float]], p: float, prior: Any) -> list[float]:
    """Every metric from the definition, case by case."""
    tp = fp = fn = tn = 0.0
    for truth, decided, weight in cases:
        if truth == "ill" and decided == "treat":
            tp += weight
        elif truth == "ill":
            fn += weight
        elif decided == "treat":
            fp += weight
        else:
            tn += weight
    n = tp + fp + fn + tn
    healthy, ill = prior if prior is not None else (divide(tn + fp, n), divide(tp + fn, n))
    se, sp = divide(tp, tp + fn), divide(tn, tn + fp)
    if prior is None:
        ppv, npv = divide(tp, tp + fp), divide(tn, tn + fn)
    else:
        ppv = divide(ill * se, ill * se + healthy * (1 - sp))
        npv = divide(healthy * sp, healthy * sp + ill * (1 - se))
    detected = tp / n if prior is None else ill * se
    alarms = fp / n if prior is None else healthy * (1 - sp)
    spared = tn / n if prior is None else healthy * sp
    missed = fn / n if prior is None else ill * (1 - se)
    return [
        *(se, sp, ppv, npv),
        divide(se, (1 - sp) if tn + fp else nan),
        divide(1 - se, sp),
        detected - alarms * p / (1 - p),
        spared - missed * (1 - p) / p,
        divide(1.0, detected),
        divide(1.0, ppv),
    ]


case = st.tuples(
    st.sampled_from(["well", "ill"]),
    st.sampled_from(["wait", "treat"]),
    st.sampled_from([1.0, 1.0, 2.0, 0.5, 2.25, 0.0]),
)
cases_of_both = st.lists(case, min_size=1, max_size=12).map(
    lambda cases: [*cases, ("well", "wait", 1.0), ("ill", "treat", 1.0)]
)


@given(cases_of_both, st.sampled_from([0.1, 0.5, 0.8]), st.sampled_from([None, (0.7, 0.3)]))
def test_every_value_is_its_definition_and_lies_in_its_interval(cases, p, prior):
    truth, decided, weights = zip(*cases, strict=True)
    problem = Problem.from_threshold(p, **WAIT_TREAT, prior=prior)
    table = clinical_table(truth, decided, problem, sample_weight=weights)
    assert [row.metric for row in table.rows] == METRICS
    values = np.array([row.value for row in table.rows])
    assert_allclose(values, slow_values(cases, p, prior), rtol=1e-9, atol=1e-12)
    ends = np.array([[row.low, row.high] for row in table.rows]).T
    assert ((ends[0] <= values * (1 + 1e-9) + 1e-12) & (values <= ends[1] + 1e-9)).all()


def test_the_liver_scan_of_altman_and_bland():
    """BMJ 1994, 308:1552 and 309:102: 231 of 258 abnormal livers and 54 of 86 normal ones."""
    liver = [[54, 32], [27, 231]]
    here = of_counts(liver, 0.5)
    digits = {"sensitivity": 0.90, "specificity": 0.63, "PPV": 0.88, "NPV": 0.67}
    assert {metric: round(here[metric].value, 2) for metric in digits} == digits
    assert round(here["LR+"].value, 1) == 2.4
    elsewhere = of_counts(liver, 0.5, prior=[0.75, 0.25])
    assert round(elsewhere["PPV"].value, 2) == 0.45
    assert round(elsewhere["NPV"].value, 2) == 0.95
    assert elsewhere["sensitivity"] == here["sensitivity"]


def test_without_a_class_what_needs_it_is_undefined():
    table = of_counts([[5, 2], [0, 0]], 0.2)
    for metric in ("sensitivity", "LR+", "LR−"):
        assert all(math.isnan(number) for number in table[metric][2:])
    assert table["specificity"].value == pytest.approx(5 / 7)
    assert table["PPV"].value == 0
    assert table["NNS"].value == table["NNS"].high == math.inf


# Intervals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [[1.0, 0.0], [0.0, 1.0], [0.7, 0.3]])
def test_rates_and_likelihood_ratios_belong_to_the_test_at_any_prevalence(prior):
    studied, stated = of_counts([[15, 5], [0, 20]], 0.2), of_counts([[15, 5], [0, 20]], 0.2, prior)
    for metric in ("sensitivity", "specificity", "LR+", "LR−"):
        assert stated[metric] == studied[metric]
    if 0 in prior:
        assert stated["PPV"][2:] == (prior[1],) * 3
        assert stated["NPV"].low == stated["NPV"].high or math.isnan(stated["NPV"].value)


def test_a_stated_prevalence_is_named_without_cases_of_the_class_too():
    table = of_counts([[9, 1], [0, 0]], 0.2, [0.9, 0.1])
    assert table.title == "1 test, prevalence 0.1 (stated), threshold 0.2"
    assert table["specificity"].value == 0.9


def test_rates_have_the_intervals_of_wilson():
    counts = Counts([[54, 32], [27, 231]])
    ends = wilson_rates(counts).interval(0.9)
    table = of_counts([[54, 32], [27, 231]], 0.5, level=0.9)
    assert table["sensitivity"][3:] == pytest.approx((ends.low[1, 1], ends.high[1, 1]))
    assert table["specificity"][3:] == pytest.approx((ends.low[0, 0], ends.high[0, 0]))
    turned = wilson_rates(Counts(counts.values.T)).interval(0.9)
    assert table["PPV"][3:] == pytest.approx((turned.low[1, 1], turned.high[1, 1]))
    assert table["NPV"][3:] == pytest.approx((turned.low[0, 0], turned.high[0, 0]))


def test_koopmans_ratio_interval_covers_at_any_pair_of_rates():
    """Exact: every table of 20 and 30 cases with its probability, no random numbers."""
    m, n = 20, 30
    hits = np.stack(np.meshgrid(np.arange(m + 1), np.arange(n + 1), indexing="ij"), -1)
    totals = np.broadcast_to(np.array([m, n], float), hits.shape)
    low, high = ratio_of_proportions_bounds(
        hits.astype(float), totals, np.full(hits.shape[:-1], stats.norm.ppf(0.975) ** 2)
    )
    rates = [0.05, 0.2, 0.5, 0.9]
    covered = []
    for p, q in itertools.product(rates, rates):
        chance = np.outer(stats.binom.pmf(range(m + 1), m, p), stats.binom.pmf(range(n + 1), n, q))
        covered.append(np.sum(chance * ((low <= p / q) & (p / q <= high))))
    assert min(covered) > 0.92
    assert 0.945 < np.mean(covered) < 0.975


def test_the_ends_of_the_ratio_are_where_the_score_test_rejects():
    """The most likely proportions by brute force on a grid, the statistic from its definition."""
    x, m, y, n = 9, 14, 4, 33
    low, high = ratio_of_proportions_bounds(
        np.array([x, y], float), np.array([m, n], float), np.array(3.8415)
    )
    for end in (float(low), float(high)):
        grid = np.linspace(1e-6, min(1, 1 / end) - 1e-6, 400_001)
        likely = x * np.log(end * grid) + (m - x) * np.log1p(-end * grid)
        likely += y * np.log(grid) + (n - y) * np.log1p(-grid)
        q = grid[np.argmax(likely)]
        variance = end * q * (1 - end * q) / m + end**2 * q * (1 - q) / n
        assert (x / m - end * y / n) ** 2 / variance == pytest.approx(3.8415, rel=1e-3)


@pytest.mark.parametrize(("x", "m", "y", "n"), [(80, 100, 0, 1000), (20, 20, 0, 20), (1, 9, 0, 4)])
def test_without_hits_on_one_side_the_other_end_is_where_the_score_test_rejects(x, m, y, n):
    """There are no false alarms: the ratio is far above one, and no further than it is known.

    The most likely proportions are a root of a quadratic; here they are searched on a grid.
    """
    low, high = ratio_of_proportions_bounds(
        np.array([x, y], float), np.array([m, n], float), np.array(3.8415)
    )
    first = np.linspace(0, min(1, float(low)), 400_001)[1:-1]
    likely = x * np.log(first) + (m - x) * np.log1p(-first) + n * np.log1p(-first / low)
    p = first[np.argmax(likely)]
    variance = p * (1 - p) / m + low * p * (1 - p / low) / n
    assert (x / m) ** 2 / variance == pytest.approx(3.8415, rel=1e-3)
    assert high == math.inf
    turned = ratio_of_proportions_bounds(
        np.array([y, x], float), np.array([n, m], float), np.array(3.8415)
    )
    assert turned == pytest.approx((0.0, 1 / float(low)))


def test_a_sample_without_false_alarms_says_much_about_ratio_and_predictive_value():
    table = of_counts([[1000, 0], [20, 80]], 0.1, [0.9, 0.1])
    assert table["LR+"].value == math.inf
    assert table["LR+"].low > 0.7 / 0.005
    assert table["PPV"].low > 0.9


def test_without_hits_an_end_is_open():
    z = np.array(3.84)
    none = ratio_of_proportions_bounds(np.array([0.0, 5.0]), np.array([10.0, 10.0]), z)
    assert none[0] == 0
    assert 0 < none[1] < 1.5
    none = ratio_of_proportions_bounds(np.array([5.0, 0.0]), np.array([10.0, 10.0]), z)
    assert none[1] == math.inf
    assert 0.8 < none[0] < math.inf


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_weights_of_one_value_are_the_same_as_none(prior):
    problem = Problem.from_threshold(0.2, **WAIT_TREAT, prior=prior)
    truth, decided = rows_of([[30, 10], [4, 9]])
    weighted = clinical_table(truth, decided, problem, sample_weight=[2] * len(truth))
    assert weighted == clinical_table(truth, decided, problem)


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_halved_weights_tell_as_much_as_the_cases(prior):
    """Equal weights: a table of half the weight rests on the same cases."""
    problem = Problem.from_threshold(0.2, **WAIT_TREAT, prior=prior)
    truth, decided = rows_of([[30, 11], [4, 9]])
    whole = clinical_table(truth, decided, problem)
    for weight in (0.5, 2.0**-330):
        half = clinical_table(truth, decided, problem, sample_weight=[weight] * len(truth))
        for row, other in zip(half.rows, whole.rows, strict=True):
            assert row[2:] == pytest.approx(other[2:], rel=1e-6), row.metric


@pytest.mark.parametrize("prior", [None, [0.8, 0.2]])
def test_cases_that_come_twice_tell_no_more_than_once(prior):
    """Clusters of two equal cases: intervals of single cases, except for Student's t."""
    problem = Problem.from_threshold(0.2, **WAIT_TREAT, prior=prior)
    truth, decided = rows_of([[300, 110], [40, 90]])
    pairs = [*range(len(truth))] * 2
    twice = clinical_table(truth * 2, decided * 2, problem, clusters=pairs)
    once = clinical_table(truth, decided, problem)
    for row, other in zip(twice.rows, once.rows, strict=True):
        assert row.value == pytest.approx(other.value)
        assert row.high - row.low == pytest.approx(other.high - other.low, rel=0.03), row.metric


def test_sites_that_treat_both_classes_alike_leave_the_ratio_sure():
    """Site g treats g + 2 of 12 ill and as many of 12 well, or the sites of the well are turned."""
    problem, widths = Problem.from_threshold(0.2, **WAIT_TREAT), []
    for order in (range(9), range(8, -1, -1)):
        rows = [
            (label, "treat" if i < hits + 2 else "wait", site)
            for label, sites in (("ill", range(9)), ("well", order))
            for hits, site in enumerate(sites)
            for i in range(12)
        ]
        truth, decided, owner = zip(*rows, strict=True)
        table = clinical_table(truth, decided, problem, clusters=owner)
        assert table["LR+"].value == pytest.approx(1)
        widths.append(math.log(table["LR+"].high / table["LR+"].low))
    assert widths[1] > 2 * widths[0]


def test_effective_counts_of_single_cases_are_the_counts():
    counts = Counts([[5, 2], [1, 3]])
    table, degrees = effective_counts(counts, np.array([[0.0, 1.0], [0.0, 0.0]]))
    assert (table == counts.values).all()
    assert degrees == math.inf
    assert profile_threshold(0.95, degrees) == pytest.approx(3.8415, rel=1e-4)


def test_a_class_that_lies_in_one_cluster_tells_nothing_about_its_rate():
    truth, decided = rows_of([[8, 4], [3, 5]])
    problem = Problem.from_threshold(0.2, **WAIT_TREAT)
    owner = [i % 5 if label == "well" else 0 for i, label in enumerate(truth)]
    table = clinical_table(truth, decided, problem, clusters=owner)
    assert table["sensitivity"][2:] == (5 / 8, 0.0, 1.0)
    assert table["LR+"][3:] == (0.0, math.inf)
    assert table["specificity"].low > 0


# Two tests ---------------------------------------------------------------------------------------


def two_tests(seed: int, n: int = 150) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    ill = rng.random(n) < 0.3
    old = ill * 1.0 + rng.normal(size=n) > 0.8
    new = np.where(rng.random(n) < 0.5, old, ill * 1.8 + rng.normal(size=n) > 0.8)
    names = np.array(["wait", "treat"])
    return np.where(ill, "ill", "well"), names[old.astype(int)], names[new.astype(int)]


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
@pytest.mark.parametrize("weights", [None, "fractions"])
def test_differences_are_paired_and_turn_round_with_the_tests(prior, weights):
    y, old, new = two_tests(3)
    share = None if weights is None else 0.5 + np.random.default_rng(1).random(y.size)
    problem = Problem.from_threshold(0.2, **WAIT_TREAT, prior=prior)
    table = clinical_table(y, {"old": old, "new": new}, problem, sample_weight=share)
    turned = clinical_table(y, {"new": new, "old": old}, problem, sample_weight=share)
    compared = [row for row in table.rows if row.name == "new − old"]
    assert [row.metric for row in compared] == METRICS
    for row in compared:
        alone = [table[name, row.metric].value for name in ("new", "old")]
        assert row.value == pytest.approx(alone[0] - alone[1])
        assert row.low < row.value < row.high
        other = turned["old − new", row.metric]
        assert other[2:] == pytest.approx((-row.value, -row.high, -row.low), abs=1e-9)


def test_a_test_does_not_differ_from_itself():
    y, old, _ = two_tests(5)
    problem = Problem.from_threshold(0.2, **WAIT_TREAT)
    table = clinical_table(y, {"old": old, "same": old}, problem)
    for row in table.rows:
        if row.name == "same − old":
            assert row.value == 0
            assert row.low <= 0 <= row.high


@pytest.mark.parametrize("prior", [None, (0.9, 0.1)])
def test_intervals_of_two_tests_are_joined_by_their_correlation(prior):
    """The correlation by leaving out one case at a time, or one cluster; then Zou and Donner."""
    y, old, new = two_tests(3)
    problem = Problem.from_threshold(0.2, **WAIT_TREAT, prior=prior)
    owner, ones, share = np.arange(150) % 30, np.ones(150), np.linspace(0.5, 1.5, 150)

    def correlations(labels: Any, weights: Any) -> Any:
        left = []
        for kept in (labels != label for label in np.unique(labels)):
            parts = [zip(y[kept], d[kept], weights[kept], strict=True) for d in (new, old)]
            left.append([slow_values(list(part), 0.2, prior) for part in parts])
        pairs = np.moveaxis(np.array(left), -1, 0)
        return [np.asarray(np.corrcoef(pair, rowvar=False))[0, 1] for pair in pairs]

    cases = np.arange(150)
    designs = [(None, None, [cases], ones), (share, None, [cases], share)]
    for weights, clusters, labels, w in [*designs, (None, owner, [cases, owner], ones)]:
        table = clinical_table(
            y, {"old": old, "new": new}, problem, sample_weight=weights, clusters=clusters
        )
        least = np.min([correlations(label, w) for label in labels], axis=0)
        for metric in ("PPV", "NPV", "LR+", "LR−", "NNS", "NNT"):
            r = least[METRICS.index(metric)]
            a, b, row = (table[t, metric] for t in ("new", "old", "new − old"))
            up, down = a.high - a.value, b.value - b.low
            joined = math.sqrt(up**2 + down**2 - 2 * r * up * down)
            assert row.high - row.value == pytest.approx(joined, rel=0.1)


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_perfect_tests_that_agree_may_still_differ(prior):
    truth, decided = rows_of([[20, 0], [0, 20]])
    problem = Problem.from_threshold(0.2, **WAIT_TREAT, prior=prior)
    table = clinical_table(truth, {"old": decided, "new": decided}, problem)
    for metric in ("PPV", "NPV"):
        row = table["new − old", metric]
        assert row.low < 0 == row.value < row.high
        assert row.high <= 1 - table["old", metric].low


@pytest.mark.slow
@pytest.mark.parametrize(("n_ill", "n_well", "prior"), [(25, 25, 0.1), (10, 190, 0.1)])
def test_the_interval_of_a_difference_of_predictive_values_covers_for_good_tests(
    n_ill, n_well, prior
):
    """150 samples of tests that are nearly always right; the delta method held 19 % and 23 %."""
    hits, alarms = [0.02, 0.03, 0.08, 0.87], [0.962, 0.018, 0.008, 0.012]  # neither, B, A, both
    problem = Problem.from_threshold(0.2, prior=[1 - prior, prior])
    rates = np.array([[0.95, 0.90], [0.02, 0.03]])  # of A and B, among the ill and the well
    ppv = prior * rates[0] / (prior * rates[0] + (1 - prior) * rates[1])
    kept = 1 - rates
    npv = (1 - prior) * kept[1] / ((1 - prior) * kept[1] + prior * kept[0])
    rng, covered = np.random.default_rng(4), []
    for _ in range(150):
        cells = np.r_[rng.multinomial(n_well, alarms), rng.multinomial(n_ill, hits)]
        pair = np.repeat([0, 1, 2, 3] * 2, cells)
        y = np.repeat([0] * 4 + [1] * 4, cells)
        table = clinical_table(y, {"A": pair // 2, "B": pair % 2}, problem)
        rows = [table["B − A", "PPV"], table["B − A", "NPV"]]
        truth = ppv[1] - ppv[0], npv[1] - npv[0]
        covered += [[r.low <= t <= r.high for r, t in zip(rows, truth, strict=True)]]
    assert np.mean(covered, axis=0).min() >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 150)


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, [0.95, 0.05]])
@pytest.mark.parametrize("n_clusters", [None, 20])
def test_every_interval_holds_the_truth(prior, n_clusters):
    """150 samples of a binormal test; 95 % less four standard errors, for ten metrics at once."""
    n, share, p = 200, 0.2, 0.2
    se, sp, pi = stats.norm.cdf(0.4), stats.norm.cdf(0.8), share if prior is None else prior[1]
    detected, alarms, spared = pi * se, (1 - pi) * (1 - sp), (1 - pi) * sp
    truth = [se, sp, detected / (detected + alarms), spared / (spared + pi * (1 - se))]
    truth += [se / (1 - sp), (1 - se) / sp, detected - alarms / 4, spared - 4 * pi * (1 - se)]
    truth += [1 / detected, (detected + alarms) / detected]
    problem, covered = Problem.from_threshold(p, **WAIT_TREAT, prior=prior), []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        ill, noise, owner = (rng.random(n) < share).astype(int), rng.normal(size=n), None
        if n_clusters is not None:
            owner = np.arange(n) % n_clusters
            noise = 0.6 * rng.normal(size=n_clusters)[owner] + 0.8 * noise
        y = np.array(["well", "ill"])[ill]
        decided = np.array(["wait", "treat"])[(1.2 * ill + noise > 0.8).astype(int)]
        rows = clinical_table(y, decided, problem, clusters=owner).rows
        covered.append([r.low <= t <= r.high for r, t in zip(rows, truth, strict=True)])
    assert np.mean(covered, axis=0).min() >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 150)


def test_a_ratio_without_an_end_has_a_difference_without_one():
    y = ["well"] * 20 + ["ill"] * 20
    some = ["wait"] * 15 + ["treat"] * 5 + ["wait"] * 8 + ["treat"] * 12
    none = ["wait"] * 20 + ["wait"] * 8 + ["treat"] * 12
    problem = Problem.from_threshold(0.2, **WAIT_TREAT)
    table = clinical_table(y, {"old": some, "new": none}, problem)
    row = table["new − old", "LR+"]
    assert row.value == row.high == math.inf
    assert row.low == table["new", "LR+"].low - table["old", "LR+"].high
    decided = ["wait"] * 19 + ["treat"] + ["wait"] * 20
    row = clinical_table(y, {"old": some, "new": decided}, problem)["new − old", "NNS"]
    assert row.value == row.high == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_the_intervals_of_differences_cover(prior):
    """200 samples with a known truth; 95 % less three standard errors of the simulation."""
    y, old, new = two_tests(0, 400_000)
    problem = Problem.from_threshold(0.2, **WAIT_TREAT, prior=prior)
    ones = np.ones(y.size)
    values = [slow_values(list(zip(y, d, ones, strict=True)), 0.2, prior) for d in (new, old)]
    truth = np.array(values[0]) - values[1]
    covered = []
    for i in range(200):
        rows = slice(250 * i, 250 * i + 250)
        table = clinical_table(y[rows], {"old": old[rows], "new": new[rows]}, problem)
        ends = np.array([row[3:] for row in table.rows if row.name == "new − old"]).T
        covered.append((ends[0] <= truth) & (truth <= ends[1]))
    assert np.mean(covered, axis=0).min() > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 200)


# The table ---------------------------------------------------------------------------------------


def test_a_table_names_what_it_assumed_and_finds_its_rows():
    y, old, new = two_tests(3)
    problem = Problem.binary(false_alarm=1, miss=4, **WAIT_TREAT, prior=[0.9, 0.1])
    table = clinical_table(y, {"old": old, "new": new}, problem, level=0.9)
    text = repr(table).splitlines()
    assert text[0] == "2 tests, prevalence 0.1 (stated), threshold 0.2"
    assert "90% low" in text[1]
    assert table["new", "PPV"].metric == "PPV"
    assert table._repr_html_().startswith("<table")
    with pytest.raises(InputError, match=r"3 rows for 'PPV'.*'old', 'new', 'new − old'"):
        table["PPV"]
    with pytest.raises(InputError, match="0 rows for 'recall'"):
        table["recall"]


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
@pytest.mark.parametrize("clusters", [None, np.arange(100) // 4])
def test_what_a_quantity_is_measured_from_is_zero_and_so_are_its_bounds(prior, clusters):
    """Net benefit is measured from treating nobody, interventions avoided from treating all."""
    y = [0, 0, 1, 1] * 25
    tests = {"none": [0] * 100, "all": [1] * 100, "new": [0, 1, 1, 1] * 25}
    problem = Problem.from_threshold(0.1).with_prior(prior)
    rows = {
        (row.name, row.metric): (row.value, row.low, row.high)
        for row in clinical_table(y, tests, problem, clusters=clusters).rows
    }
    assert rows["none", "net benefit"] == rows["all", "interventions avoided"] == (0.0, 0.0, 0.0)
    for others in (
        ("all", "net benefit"),
        ("none", "interventions avoided"),
        ("new", "net benefit"),
    ):
        _, low, high = rows[others]
        assert low < high


def test_what_is_no_diagnostic_test_is_refused():
    three = Problem([[0, 1, 2], [9, 3, 0]])
    with pytest.raises(InputError, match="two classes and two decisions"):
        clinical_table([0, 1], [0, 2], three)
    one_sided = Problem([[0, -1], [9, 0]])
    with pytest.raises(InputError, match="threshold is -inf"):
        clinical_table([0, 1], [0, 1], one_sided)
    with pytest.raises(InputError, match="level"):
        of_counts([[1, 1], [1, 1]], 0.2, level=95)
    with pytest.raises(InputError, match="problem must be"):
        clinical_table([0, 1], [0, 1], 0.2)  # type: ignore[arg-type]


def test_messages_name_the_arguments_of_the_table():
    problem = Problem.from_threshold(0.2)
    y, d = [0, 1, 1], [0, 1, 0]
    cases: list[tuple[Any, dict[str, Any], str]] = [
        ([0.2, 0.8, 0.4], {}, r"^decisions must hold decisions; these are probabilities.*bayes_d"),
        ({"new": [0.2, 0.8, 0.4]}, {}, r"^decisions\['new'\] must hold decisions; these are prob"),
        ([0, 2, 1], {}, r"^decisions must hold labels among 0, 1"),
        (None, {}, r"^decisions must hold one label"),
        (d[:2], {}, r"^y_true and decisions must describe the same cases"),
        ({}, {}, r"^decisions must hold one test at least"),
        (d, {"sample_weight": [1]}, r"^y_true and sample_weight must describe the same"),
        (d, {"sample_weight": [-1, 1, 1]}, r"^sample_weight must hold numbers"),
        (d, {"clusters": [1, 2]}, r"^y_true and clusters must describe the same"),
        (d, {"clusters": [1, 1, 1]}, r"^clusters must be two or more; there is one"),
    ]
    for decisions, options, message in cases:
        with pytest.raises(InputError, match=message):
            clinical_table(y, decisions, problem, **options)
    assert clinical_table(y, Decisions(d), problem) == clinical_table(y, d, problem)


def test_clusters_are_asked_for_by_their_labels():
    counts = Counts.from_decisions(
        [0, 1, 1], [0, 1, 0], Problem.zero_one(2), clusters=["a", "a", "b"]
    )
    with pytest.raises(InputError, match="leading axis of clusters"):
        effective_counts(counts.sum_clusters(np.ones((1, 2)))[0], np.eye(2), scheme=Clusters())


@pytest.mark.parametrize("stated", [False, True])
@pytest.mark.parametrize(("name", "place"), [("PPV", 1), ("NPV", 0), ("LR+", 1), ("LR−", 0)])
def test_influences_are_those_of_the_cases_with_that_test_result(name, place, stated):
    """Of predictive values without a stated prevalence; else all cases count, by their class."""
    table = np.random.default_rng(0).integers(1, 9, (2, 2, 2)).astype(float)
    influence = _JOINED[name](table, 1, stated)
    assert np.sum(table * influence) == pytest.approx(0)
    other = influence[:, 1 - place]
    if name in ("PPV", "NPV") and not stated:
        assert not other.any()
        assert influence[:, place].any()
    else:
        expected = 1 / table[1].sum()  # of a case that counts among all of its class alone
        np.testing.assert_allclose(np.abs(other[1]), expected)
