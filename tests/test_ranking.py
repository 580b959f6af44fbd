"""Ranks: slow twins from the definitions, laws that every rank measure obeys, and the claims."""

from __future__ import annotations

import itertools
import math
import pickle
import sys
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from scipy import stats

from stakes import ranking
from stakes._arithmetic import running_sum
from stakes._check import FloatArray
from stakes.errors import InputError
from stakes.ranking import _beyond, _walked
from stakes.tally import ScoreTable

Measure = Callable[[ScoreTable], FloatArray]
Rows = tuple[FloatArray, FloatArray, FloatArray]

# Measures of ranks, and whether they ignore the class shares.
MEASURES: dict[str, tuple[Measure, bool]] = {
    "auc": (ranking.auc, True),
    "gini": (ranking.gini, True),
    "kendall_distance": (ranking.kendall_distance, True),
    "weighted_auc": (ranking.weighted_auc, False),
    "auc_of_hull": (ranking.auc_of_hull, True),
    "partial_auc": (lambda t: ranking.partial_auc(t, max_false_alarm_rate=0.3), True),
    "standardized_partial_auc": (
        lambda t: ranking.standardized_partial_auc(t, max_false_alarm_rate=0.3),
        True,
    ),
    "average_precision": (ranking.average_precision, False),
    "equal_error_rate": (ranking.equal_error_rate, True),
    "kolmogorov_smirnov": (ranking.kolmogorov_smirnov, True),
    "sensitivity_at_specificity": (lambda t: ranking.sensitivity_at_specificity(t, 0.7), True),
    "specificity_at_sensitivity": (lambda t: ranking.specificity_at_sensitivity(t, 0.7), True),
}
every_measure = pytest.mark.parametrize("measure", [m for m, _ in MEASURES.values()], ids=MEASURES)

SCORES = (-math.inf, -2.0, -0.5, 0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 3.0, 1e300, math.inf)


def rows_with(scores: st.SearchStrategy[float], *, whole: bool = False) -> st.SearchStrategy[Rows]:
    """Cases of both classes with many ties; from balanced to ten thousand to one by weight."""
    plain = st.integers(1, 3).map(float)
    weight = plain if whole else st.one_of(plain, st.sampled_from([0.1, 0.7, 1e4, 1e-4]))
    case = st.tuples(st.integers(0, 1), scores, weight)
    both = st.tuples(scores, scores, weight).map(
        lambda first: [(0, first[0], first[2]), (1, first[1], 1.0)]
    )
    return st.tuples(both, st.lists(case, max_size=30)).map(lambda parts: columns(*parts))


def columns(*parts: list[tuple[int, float, float]]) -> Rows:
    """Classes, scores and weights of the cases, as arrays."""
    y, scores, weights = np.array([case for part in parts for case in part]).T
    return y, scores, weights


tied_rows = rows_with(st.sampled_from(SCORES))
whole_rows = rows_with(st.sampled_from(SCORES), whole=True)
probability_rows = rows_with(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.6, 0.9, 1.0]), whole=True)


def table_of(rows: Rows) -> ScoreTable:
    y, scores, weights = rows
    return ScoreTable.from_scores(y, scores, weights=weights)


def cuts_of(table: ScoreTable) -> list[tuple[Fraction, Fraction]]:
    """False-alarm and hit rate of every cut from all positive to none, in exact arithmetic."""
    negative, positive = ([Fraction(w) for w in column] for column in table.weights.T)
    return [
        (
            sum(negative[j:], Fraction(0)) / sum(negative),
            sum(positive[j:], Fraction(0)) / sum(positive),
        )
        for j in range(len(negative) + 1)
    ]


def close(value: object, wanted: object, tolerance: float = 1e-12) -> bool:
    """Equal up to rounding; nan equals nan."""
    return bool(np.allclose(value, wanted, rtol=tolerance, atol=tolerance, equal_nan=True))  # type: ignore[arg-type]


# Slow twins --------------------------------------------------------------------------------------


@given(tied_rows)
def test_auc_and_u_count_the_pairs_in_order_with_ties_as_halves(rows: Rows) -> None:
    u = pairs = 0.0
    for y_i, s_i, w_i in zip(*rows, strict=True):
        for y_j, s_j, w_j in zip(*rows, strict=True):
            if y_i == 0 and y_j == 1:
                pairs += w_i * w_j
                u += w_i * w_j * (1.0 if s_i < s_j else 0.5 if s_i == s_j else 0.0)
    table = table_of(rows)
    assert close(ranking.mann_whitney_u(table) / pairs, u / pairs)
    assert close(ranking.auc(table), u / pairs)


@given(st.integers(0, 2**32), st.integers(1, 80))
def test_u_of_counts_is_exact_for_any_number_of_scores_and_tables(seed: int, size: int) -> None:
    weights = np.random.default_rng(seed).integers(0, 9, (3, size, 2))
    u_values = ranking.mann_whitney_u(ScoreTable(range(size), weights))
    for table, value in zip(weights, u_values, strict=True):
        wins = sum(
            Fraction(2 * (i < j) + (i == j), 2) * int(table[i, 0]) * int(table[j, 1])
            for i in range(size)
            for j in range(size)
        )
        assert float(value) == float(wins)


@given(tied_rows)
def test_roc_lists_the_rates_above_every_threshold(rows: Rows) -> None:
    table = table_of(rows)
    curve = ranking.roc(table)
    y, scores, weights = rows
    for j, threshold in enumerate(curve.thresholds):
        decided = scores > threshold if j else np.ones(len(y), dtype=bool)
        for label, rate in ((0, curve.false_alarm_rate[j]), (1, curve.hit_rate[j])):
            assert close(rate, weights[decided & (y == label)].sum() / weights[y == label].sum())
    for rates in (curve.false_alarm_rate, curve.hit_rate):
        assert (rates[0], rates[-1]) == (1.0, 0.0)
        assert np.all(np.diff(rates) <= 0)


def twin_area(points: list[tuple[Fraction, Fraction]], limit: Fraction) -> Fraction:
    """Trapezia under the polyline, each cut off at the limit."""
    area = Fraction(0)
    for (right, top), (left, bottom) in itertools.pairwise(points):
        if left < limit and right > left:
            end = min(right, limit)
            height = bottom + (top - bottom) * (end - left) / (right - left)
            area += (end - left) * (bottom + height) / 2
    return area


@given(tied_rows, st.sampled_from([0.0, 0.05, 0.3, 0.5, 1.0]))
def test_partial_auc_is_the_area_under_the_polyline_up_to_the_limit(
    rows: Rows, limit: float
) -> None:
    table = table_of(rows)
    area = twin_area(cuts_of(table), Fraction(limit))
    value = ranking.partial_auc(table, max_false_alarm_rate=limit)
    assert close(value, float(area))
    if limit == 1:
        assert close(value, ranking.auc(table))


def test_standardized_partial_auc_is_one_half_for_blind_and_one_for_perfect_scores() -> None:
    blind, perfect = ScoreTable([0], [[3, 5]]), ScoreTable([0, 1], [[3, 0], [0, 5]])
    for limit in (0.1, 0.6, 1.0):
        values = [
            ranking.standardized_partial_auc(t, max_false_alarm_rate=limit)
            for t in (blind, perfect)
        ]
        assert close(values, [0.5, 1.0])
    assert np.isnan(ranking.standardized_partial_auc(perfect, max_false_alarm_rate=0))


@given(tied_rows)
def test_average_precision_adds_the_precision_at_each_step_of_recall(rows: Rows) -> None:
    table = table_of(rows)
    total, positives = 0.0, table.weights[:, 1].sum()
    for j in range(table.scores.size):
        above = table.weights[j:]
        total += table.weights[j, 1] / positives * (above[:, 1].sum() / above.sum())
    assert close(ranking.average_precision(table), total)


@given(tied_rows)
def test_equal_error_rate_lies_on_the_polyline_where_both_errors_agree(rows: Rows) -> None:
    table = table_of(rows)
    for (x1, y1), (x2, y2) in itertools.pairwise(cuts_of(table)):
        before, after = (1 - y1) - x1, (1 - y2) - x2
        if before < 0 <= after:
            share = -before / (after - before)
            wanted = x1 + share * (x2 - x1)
            assert wanted == 1 - (y1 + share * (y2 - y1))
            assert close(ranking.equal_error_rate(table), float(wanted))
            return
    raise AssertionError("the polyline runs from (1, 1) to (0, 0) and must cross")


@given(tied_rows, st.sampled_from([0.0, 0.2, 0.5, 0.7, 0.9, 1.0]))
def test_operating_points_at_a_target_are_the_best_of_all_thresholds(
    rows: Rows, target: float
) -> None:
    table = table_of(rows)
    cuts = cuts_of(table)
    nearly = Fraction(target) - Fraction(1, 10**12)
    sensitivity = max(hit for alarm, hit in cuts if 1 - alarm >= nearly)
    specificity = max(1 - alarm for alarm, hit in cuts if hit >= nearly)
    assert close(ranking.sensitivity_at_specificity(table, target), float(sensitivity))
    assert close(ranking.specificity_at_sensitivity(table, target), float(specificity))
    assert close(ranking.kolmogorov_smirnov(table), float(max(abs(h - a) for a, h in cuts)))


@pytest.mark.parametrize("target", [0.1, 0.2, 0.3, 0.6, 0.7, 0.8, 0.9])
def test_a_target_written_in_decimals_is_reached_by_the_same_share_of_ten(target: float) -> None:
    table = ScoreTable(range(10), np.ones((10, 2)))
    assert close(ranking.sensitivity_at_specificity(table, target), 1 - target)
    assert close(ranking.specificity_at_sensitivity(table, target), 1 - target)


def twin_hull_cuts(weights: FloatArray) -> list[int]:
    """A cut is a vertex unless its point lies on or below a line between two other points."""
    points = [
        (sum(map(Fraction, weights[j:, 0])), sum(map(Fraction, weights[j:, 1])))
        for j in range(len(weights) + 1)
    ]
    last = len(weights)
    vertices = []
    for j, (x, y) in enumerate(points):
        others = [p for p in points if p != (x, y)]
        below = any(
            (right[0] - left[0]) * (y - left[1]) <= (right[1] - left[1]) * (x - left[0])
            for left, right in itertools.permutations(others, 2)
            if left[0] <= x <= right[0] and left[1] <= y <= right[1]
        )
        trivial = j in (0, last)
        # Scores without weight repeat a point; the last cut of them starts with a weight.
        repeated = not trivial and (points[j + 1] == (x, y) or (x, y) in (points[0], points[-1]))
        if trivial or not (below or repeated):
            vertices.append(j)
    return vertices


@pytest.mark.parametrize("exponent", [0, 50, 62, 200])
def test_the_hull_of_whole_weights_does_not_depend_on_their_size(exponent: int) -> None:
    """From 2**53 on, sums of whole numbers are rounded; from 2**63 on, integers overflow."""
    weights = np.array([[3.0, 0.0], [1.0, 2.0], [2.0, 1.0], [2.0, 3.0], [1.0, 1.0], [0.0, 4.0]])
    assert ranking.hull_cuts(np.ldexp(weights, exponent)).tolist() == twin_hull_cuts(weights)


@given(whole_rows)
def test_hull_cuts_are_the_extreme_points_and_no_others(rows: Rows) -> None:
    weights = table_of(rows).weights
    assert ranking.hull_cuts(weights).tolist() == twin_hull_cuts(weights)


def test_scores_without_weight_are_no_vertices_of_the_hull() -> None:
    weights = np.array([[0, 0], [3, 0], [0, 0], [0, 0], [1, 2], [0, 4], [0, 0.0]])
    assert ranking.hull_cuts(weights).tolist() == twin_hull_cuts(weights) == [0, 4, 5, 7]


def test_hull_drops_points_on_a_line_exactly_even_at_a_hundred_million_cases() -> None:
    third = np.array([[1e7, 2e7], [1.0, 2.0], [2e7, 4e7]])
    assert ranking.hull_cuts(third).tolist() == [0, 3]
    bent = third + np.array([[0, 0], [0, 0], [0, 1.0]])
    assert ranking.hull_cuts(bent).tolist() == [0, 2, 3]


@given(whole_rows, st.floats(0.01, 0.99))
def test_hull_has_the_same_cuts_under_every_prior(rows: Rows, share: float) -> None:
    table = table_of(rows)
    cuts = ranking.hull_cuts(table.weights)
    assert ranking.hull_cuts(table.with_prior([1 - share, share]).weights).tolist() == cuts.tolist()


def test_points_on_a_line_stay_on_it_when_class_weights_are_fractions() -> None:
    sizes = np.array([1, 3, 7, 11, 13, 17, 19, 23])
    table = ScoreTable(range(8), np.stack([sizes, 2 * sizes], axis=1))
    for share in (0.3, 0.1, 0.017):
        deployed = table.with_prior([1 - share, share])
        assert ranking.hull_cuts(deployed.weights).tolist() == [0, 8]
        assert ranking.is_convex(deployed)


def twin_chain(weights: FloatArray) -> list[int]:
    """Monotone chain, one point at a time, on exact integers."""
    blocks: list[list[int]] = []
    for start, (negative, positive) in enumerate(weights.astype(int).tolist()):
        blocks.append([start, negative, positive])
        while len(blocks) > 1 and blocks[-2][2] * blocks[-1][1] >= blocks[-2][1] * blocks[-1][2]:
            _, negative, positive = blocks.pop()
            blocks[-1][1] += negative
            blocks[-1][2] += positive
    return [start for start, _, _ in blocks] + [len(weights)]


@pytest.mark.parametrize("piece", [1, 7, 1000, 1 << 17])
@pytest.mark.parametrize("cases", [1, 40])
def test_hull_of_many_scores_is_that_of_the_monotone_chain(
    piece: int, cases: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules[_walked.__module__], "_PIECE", piece)
    rng = np.random.default_rng(piece)
    share = np.linspace(0, 1, 3000)
    positive = rng.binomial(cases, share).astype(float)
    weights = np.stack([cases - positive, positive], axis=1)
    assert ranking.hull_cuts(weights).tolist() == twin_chain(weights)


@pytest.mark.parametrize("run", [2, 5, 64])
@pytest.mark.parametrize("kind", ["calibrated", "reversed", "blind", "with gaps", "one class"])
def test_runs_of_scores_that_are_pooled_at_once_contain_no_vertex(
    run: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hull_module = sys.modules[_walked.__module__]
    monkeypatch.setattr(hull_module, "_RUN", run)
    monkeypatch.setattr(hull_module, "_MANY", 1)
    rng = np.random.default_rng(run)
    for size in (1, 2, run, run + 1, 700, 3001):
        share = np.linspace(0, 1, size) ** 2
        share = share[::-1] if kind == "reversed" else share
        share = np.full(size, 0.3 * (kind == "blind")) if kind in ("blind", "one class") else share
        cases = rng.integers(1, 3, size)
        positive = rng.binomial(cases, share)
        weights = np.stack([cases - positive, positive], axis=1).astype(float)
        if kind == "with gaps":
            weights[rng.random(size) < 0.6] = 0.0
            occupied = np.flatnonzero(weights.any(axis=1))
            cuts = [0, *occupied[twin_chain(weights[occupied])[1:-1]], size]
        else:
            cuts = twin_chain(weights)
        assert ranking.hull_cuts(weights).tolist() == cuts


def test_a_run_of_scores_is_looked_into_only_where_its_best_corner_is_beyond_the_hull() -> None:
    sums = np.array([[4.0, 4.0, 4.0, 0.0], [0.0, 4.0, 4.0, 4.0]])
    # The second and the third run lie on one line: their corners are beyond it; the others are not.
    assert _beyond(sums).tolist() == [False, True, True, False]
    assert _beyond(sums * 2.0**25).tolist() == [True] * 4  # products might be rounded


def test_a_table_finds_its_hull_once_and_a_table_with_other_weights_finds_its_own() -> None:
    table = ScoreTable([1, 2, 3], [[3, 0], [1, 2], [2, 1]])
    assert ranking.hull(table) is ranking.hull(table)
    other = table.with_weights([[1, 0], [1, 1], [0, 1]])
    assert ranking.hull(other).segments.tolist() == [[1, 0], [1, 1], [0, 1]]
    copied = pickle.loads(pickle.dumps(table))
    assert vars(copied).keys() == set(ScoreTable.__dataclass_fields__)
    assert ranking.hull(copied) == ranking.hull(table)
    with pytest.raises(ValueError, match="read-only"):
        table.class_weights[0] = 9


def test_a_walk_drops_points_on_a_line_too() -> None:
    size = 2000
    weights = np.stack([np.arange(size, 0, -1), np.arange(1, size + 1)], axis=1).astype(float)
    # One bend among many vertices turns the sweep into a walk; pooled, it is in line with 1499.
    weights[1500:1502] = weights[1499] + [[0, 1], [0, -1]]
    cuts = ranking.hull_cuts(weights)
    assert cuts.tolist() == twin_chain(weights)
    assert not {1500, 1501} & set(cuts.tolist())


def test_a_last_score_that_swallows_the_others_one_by_one_costs_no_more_than_a_walk() -> None:
    size = 2000
    weights = np.stack([np.arange(size, 0, -1), np.arange(1, size + 1)], axis=1).astype(float)
    assert ranking.hull_cuts(weights).tolist() == list(range(size + 1))
    weights[-1] = [size**2, 1]
    cuts = ranking.hull_cuts(weights)
    assert cuts.tolist() == twin_chain(weights)
    assert 2 < cuts.size < size


@given(whole_rows)
def test_roc_hull_lists_the_roc_points_at_the_cuts(rows: Rows) -> None:
    table = table_of(rows)
    cuts, curve, hull = (
        ranking.hull_cuts(table.weights),
        ranking.roc(table),
        ranking.roc_hull(table),
    )
    assert hull.thresholds.tolist() == curve.thresholds[cuts].tolist()
    assert hull.false_alarm_rate.tolist() == curve.false_alarm_rate[cuts].tolist()
    assert hull.hit_rate.tolist() == curve.hit_rate[cuts].tolist()


@given(whole_rows)
def test_area_of_the_hull_is_the_trapezoid_sum_over_its_vertices(rows: Rows) -> None:
    table = table_of(rows)
    points = [cuts_of(table)[j] for j in twin_hull_cuts(table.weights)]
    area = ranking.auc_of_hull(table)
    assert close(area, float(twin_area(points, Fraction(1))))
    assert area >= ranking.auc(table) - 1e-15
    assert area >= 0.5 - 1e-15


def twin_isotonic(weights: FloatArray) -> list[Fraction]:
    """Min-max formula: at each score the largest left-end minimum of the means to the right."""
    negative, positive = ([Fraction(w) for w in column] for column in weights.T)

    def mean(first: int, last: int) -> Fraction:
        hits = sum(positive[first : last + 1], Fraction(0))
        return hits / (hits + sum(negative[first : last + 1]))

    size = len(weights)
    return [max(min(mean(a, b) for b in range(i, size)) for a in range(i + 1)) for i in range(size)]


@given(whole_rows)
def test_isotonic_scores_follow_the_min_max_formula(rows: Rows) -> None:
    table = table_of(rows)
    fitted = np.array([float(share) for share in twin_isotonic(table.weights)])
    pooled = ranking.isotonic(table)
    assert close(pooled.scores, np.unique(fitted.round(14)))
    for score, weights in zip(pooled.scores, pooled.weights, strict=True):
        assert weights.tolist() == table.weights[np.isclose(fitted, score)].sum(axis=0).tolist()


# Laws --------------------------------------------------------------------------------------------


def agree(first: ScoreTable, second: ScoreTable) -> bool:
    """Whether all rank measures have one value on both tables; names the first that does not."""
    for name, (measure, _) in MEASURES.items():
        assert close(measure(first), measure(second)), name
    return True


@given(tied_rows, st.integers(0, 99))
def test_order_of_rows_does_not_matter(rows: Rows, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(rows[0].size)
    assert agree(table_of((rows[0][order], rows[1][order], rows[2][order])), table_of(rows))


@given(whole_rows)
def test_a_weight_is_a_repetition(rows: Rows) -> None:
    y, scores, weights = rows
    times = weights.astype(int)
    repeated = ScoreTable.from_scores(np.repeat(y, times), np.repeat(scores, times))
    assert agree(repeated, table_of(rows))


@given(tied_rows, tied_rows)
def test_tables_of_chunks_add_up_to_the_table_of_all(first: Rows, second: Rows) -> None:
    y, scores, weights = (np.concatenate(pair) for pair in zip(first, second, strict=True))
    assert agree(table_of(first) + table_of(second), table_of((y, scores, weights)))


@given(tied_rows, tied_rows)
def test_leading_axes_are_carried(first: Rows, second: Rows) -> None:
    y, scores, weights = (np.concatenate(pair) for pair in zip(first, second, strict=True))
    by = np.repeat(["a", "b"], [first[0].size, second[0].size])
    grouped = ScoreTable.from_scores(y, scores, weights=weights, by=by)
    cube = grouped.with_weights(np.stack([grouped.weights, grouped.weights[::-1]]))
    for name, (measure, _) in MEASURES.items():
        wanted = [measure(table_of(first)), measure(table_of(second))]
        assert close(measure(grouped), wanted), name
        assert close(measure(cube), [wanted, wanted[::-1]]), name


@given(tied_rows)
def test_increasing_maps_of_the_scores_change_nothing(rows: Rows) -> None:
    y, scores, weights = rows
    mapped = np.arctan(np.sign(scores) * np.log1p(np.abs(scores))) * 3 - 1
    assert agree(table_of((y, mapped, weights)), table_of(rows))


@given(tied_rows, st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_classes_and_scores_turned_round_swap_sensitivity_and_specificity(
    rows: Rows, target: float
) -> None:
    y, scores, weights = rows
    table, turned = table_of(rows), table_of((1 - y, -scores, weights))
    for name in ("auc", "weighted_auc", "auc_of_hull", "equal_error_rate", "kolmogorov_smirnov"):
        measure, _ = MEASURES[name]
        assert close(measure(turned), measure(table)), name
    assert ranking.is_convex(turned) == ranking.is_convex(table)
    assert close(
        ranking.sensitivity_at_specificity(turned, target),
        ranking.specificity_at_sensitivity(table, target),
    )


@pytest.mark.parametrize(("measure", "ignores_shares"), MEASURES.values(), ids=MEASURES)
def test_class_shares_matter_only_where_they_are_meant_to(
    measure: Measure, ignores_shares: bool
) -> None:
    table = ScoreTable(range(5), [[4, 1], [3, 1], [1, 2], [2, 0], [1, 3]])
    deployed = table.with_prior([0.99, 0.01])
    assert close(measure(table), measure(deployed)) is ignores_shares


@given(tied_rows)
def test_scores_without_weight_do_no_harm(rows: Rows) -> None:
    table = table_of(rows)
    empty = ScoreTable([-5.0, 0.3, 7.0], np.zeros((3, 2)), classes=table.classes)
    assert agree(table + empty, table)


@every_measure
@pytest.mark.parametrize("weights", [[[3, 0]], [[3, 0], [2, 0]], [[0, 0]]])
def test_an_absent_class_makes_rank_measures_nan(
    measure: Measure, weights: list[list[int]]
) -> None:
    table = ScoreTable(range(len(weights)), weights)
    assert np.isnan(measure(table))
    with_prior = table.with_prior([0.5, 0.5])
    assert np.isnan(measure(with_prior))


@every_measure
def test_without_negatives_only_precision_is_defined(measure: Measure) -> None:
    value = measure(ScoreTable([0, 1], [[0, 3], [0, 2]]))
    assert close(value, 1.0 if measure is ranking.average_precision else np.nan)


@pytest.mark.parametrize(
    ("weights", "area", "error"),
    [([[3, 5]], 0.5, 0.5), ([[2, 0], [0, 9]], 1.0, 0.0), ([[0, 9], [2, 0]], 0.0, 1.0)],
    ids=["all tied", "perfect", "reversed"],
)
def test_blind_perfect_and_reversed_scores(
    weights: list[list[float]], area: float, error: float
) -> None:
    table = ScoreTable(range(len(weights)), weights)
    assert float(ranking.auc(table)) == area
    assert float(ranking.gini(table)) == 2 * area - 1
    assert float(ranking.equal_error_rate(table)) == error
    assert float(ranking.auc_of_hull(table)) == max(area, 0.5)


# Sums that stay exact ----------------------------------------------------------------------------


def test_no_area_exceeds_one_by_the_rounding_of_fractional_weights() -> None:
    rng = np.random.default_rng(0)
    for size in rng.integers(2, 30, 300):
        weights = rng.random((size, 2))
        weights[: size // 2, 1] = weights[size // 2 :, 0] = 0
        table = ScoreTable(np.arange(size), weights)
        assert 1 - 1e-15 < ranking.auc(table) <= 1
        assert 1 - 1e-15 < ranking.auc_of_hull(table) <= 1


def test_auc_of_fractional_weights_does_not_drift_with_the_number_of_scores() -> None:
    size = 300_000
    y = np.random.default_rng(5).integers(0, 2, size)
    whole = ScoreTable.from_scores(y, np.arange(size))
    for share in (0.3, 0.001):
        deployed = whole.with_prior([1 - share, share])
        assert close(ranking.auc(deployed), ranking.auc(whole), 4e-15)
        assert close(ranking.equal_error_rate(deployed), ranking.equal_error_rate(whole), 1e-14)


@given(st.integers(0, 2000), st.sampled_from([0.1, 1 / 3, 1.0, 7.0]))
def test_running_sums_are_those_of_exact_arithmetic_and_never_fall(
    length: int, weight: float
) -> None:
    sums = running_sum(np.full((2, length), weight))
    wanted = [math.fsum([weight] * j) for j in range(1, length + 1)]
    assert np.allclose(sums, [wanted, wanted], rtol=1e-14, atol=0)
    assert np.all(np.diff(sums, axis=-1) >= 0)
    if weight >= 1:
        assert sums[0].tolist() == wanted


@pytest.mark.parametrize("last", [0.5, 2.0**53, 1e300, math.inf])
def test_sums_that_are_not_whole_to_the_end_are_summed_anew(last: float) -> None:
    """Whole numbers are summed piece by piece, until one shows that they are not, or too many."""
    values = np.full((2, 200_000), 3.0)
    values[1, -1] = last
    wanted = 3.0 * np.arange(1, 200_001)
    sums = running_sum(values, out=np.full(values.shape, -1.0))
    assert sums[0].tolist() == wanted.tolist()
    assert sums[1].tolist() == [*wanted[:-1], wanted[-2] + last]


def test_u_is_exact_for_a_hundred_million_cases() -> None:
    table = ScoreTable([1, 2, 3], [[2e7, 1e7], [3e7 + 1, 1.0], [1, 4e7 + 3]])
    u = 2 * (2e7 + 3e7 + 1) * (4e7 + 3) + 1 * (4e7 + 3) + 2 * 2e7 + (3e7 + 1) + 2e7 * 1e7
    assert float(2 * ranking.mann_whitney_u(table)) == u


# The papers' claims ------------------------------------------------------------------------------


def loss(table: ScoreTable, cut: int, c: float) -> float:
    """Q(t; c) of hernandez-orallo, equation 3, from the weights."""
    share0, share1 = table.shares
    alarm = table.weights[cut:, 0].sum() / table.weights[:, 0].sum()
    miss = table.weights[:cut, 1].sum() / table.weights[:, 1].sum()
    return float(2 * (c * share0 * alarm + (1 - c) * share1 * miss))


def error_rate_of_bayes_decisions(calibrated: ScoreTable) -> float:
    """0-1 costs: the positive decision where the posterior exceeds one half."""
    positive = calibrated.scores > 0.5
    wrong = np.where(positive, calibrated.weights[:, 0], calibrated.weights[:, 1])
    return float(wrong.sum() / calibrated.weights.sum())


@given(whole_rows, st.floats(0.001, 0.999))
def test_E18_calibrated_bayes_decisions_err_no_more_than_the_eer_and_the_priors(
    rows: Rows, share: float
) -> None:
    table = table_of(rows)
    for deployed in (table, table.with_prior([1 - share, share])):
        error = error_rate_of_bayes_decisions(ranking.isotonic(deployed))
        on_hull = ranking.equal_error_rate(ranking.convexified(deployed))
        assert error <= min(on_hull, *deployed.shares) + 1e-12
        assert on_hull <= ranking.equal_error_rate(table) + 1e-12


@given(whole_rows)
def test_E18_eer_on_the_hull_is_the_error_rate_at_the_worst_prior(rows: Rows) -> None:
    """Brümmer et al.: the bound is attained, at the prior where both errors cost the same."""
    table = table_of(rows)
    segments = ranking.isotonic(table.with_prior([0.5, 0.5]))
    worst = max(
        error_rate_of_bayes_decisions(ranking.isotonic(table.with_prior([share, 1 - share])))
        for share in segments.scores  # the error rate bends where one segment breaks even
    )
    assert close(ranking.equal_error_rate(ranking.convexified(table)), worst, 1e-9)


def test_E18_without_calibration_the_error_rate_leaves_the_bound() -> None:
    shifted = ScoreTable([0.9, 0.99], [[90, 1], [1, 8]])  # posteriors that are far too high
    assert float(ranking.equal_error_rate(shifted)) < 0.12
    assert error_rate_of_bayes_decisions(shifted) > 0.9


def mean_absolute_error(table: ScoreTable) -> float:
    wrong = table.weights[:, 0] * table.scores + table.weights[:, 1] * (1 - table.scores)
    return float(wrong.sum() / table.n_cases)


def brier(table: ScoreTable) -> float:
    wrong = table.weights[:, 0] * table.scores**2 + table.weights[:, 1] * (1 - table.scores) ** 2
    return float(wrong.sum() / table.n_cases)


@given(whole_rows)
def test_H9_evenly_spaced_scores_tie_the_mean_absolute_error_to_auc(rows: Rows) -> None:
    table = table_of(rows)
    n = float(table.n_cases)
    term = np.prod(table.shares) * (1 - 2 * ranking.auc(table))
    assert close(mean_absolute_error(ranking.evenly_spaced(table)), 0.5 + n / (n - 1) * term)
    assert close(mean_absolute_error(ranking.midpoint_spaced(table)), 0.5 + term)


@given(st.lists(st.booleans(), min_size=2, max_size=60).filter(lambda y: 0 < sum(y) < len(y)))
def test_H9_evenly_spaced_scores_without_ties_tie_the_brier_score_to_auc(y: list[bool]) -> None:
    table = ScoreTable.from_scores(y, np.arange(len(y)) ** 3)
    n = len(y)
    term = np.prod(table.shares) * (1 - 2 * ranking.auc(table))
    wanted = (2 * n - 1) / (6 * (n - 1)) + n / (n - 1) * term
    assert close(brier(ranking.evenly_spaced(table)), wanted)


def test_H9_the_brier_score_of_many_evenly_spaced_scores_is_the_rate_driven_loss() -> None:
    rng = np.random.default_rng(3)
    y = rng.random(100_000) < np.linspace(0.05, 0.5, 100_000)
    table = ScoreTable.from_scores(y, np.arange(y.size))
    term = np.prod(table.shares) * (1 - 2 * ranking.auc(table))
    for spaced in (ranking.evenly_spaced(table), ranking.midpoint_spaced(table)):
        assert close(brier(spaced), 1 / 3 + term, 1e-5)
        assert close(mean_absolute_error(spaced), 1 / 2 + term, 1e-5)


@given(whole_rows)
def test_H9_tied_cases_share_the_mean_of_their_positions(rows: Rows) -> None:
    table = table_of(rows)
    n, before = int(table.n_cases), 0
    for score, weights in zip(ranking.evenly_spaced(table).scores, table.weights, strict=True):
        positions = np.arange(before, before + int(weights.sum())) / (n - 1)
        assert close(score, positions.mean())
        before += int(weights.sum())
    spaced = ranking.evenly_spaced(table)
    assert close(ranking.evenly_spaced(spaced).scores, spaced.scores)
    assert close(ranking.auc(spaced), ranking.auc(table))


@given(tied_rows)
def test_H11_isotonic_scores_have_the_hull_for_their_roc_curve(rows: Rows) -> None:
    table = table_of(rows)
    calibrated, hull = ranking.isotonic(table), ranking.roc_hull(table)
    curve = ranking.roc(calibrated)
    assert close(curve.false_alarm_rate, hull.false_alarm_rate)
    assert close(curve.hit_rate, hull.hit_rate)
    assert close(ranking.auc(calibrated), ranking.auc_of_hull(table))
    assert close(ranking.auc(ranking.convexified(table)), ranking.auc_of_hull(table))
    shares = calibrated.weights[:, 1] / calibrated.weights.sum(axis=1)
    assert close(calibrated.scores, shares)


@given(whole_rows, st.integers(0, 10**6))
def test_H11_no_increasing_map_beats_isotonic_in_any_proper_score(rows: Rows, seed: int) -> None:
    table = table_of(rows)
    best = ranking.isotonic(table)
    rng = np.random.default_rng(seed)
    rival = np.sort(rng.beta(0.5, 0.5, table.scores.size))
    fitted = np.repeat(best.scores, np.diff(ranking.hull_cuts(table.weights)))
    for other in (rival, fitted * 0.9 + rival * 0.1):
        moved = ScoreTable(np.arange(table.scores.size), table.weights)
        for score in (squared, logarithmic, spherical):
            assert total(score, fitted, moved.weights) <= total(score, other, moved.weights) + 1e-12


def squared(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    return p**2, (1 - p) ** 2


def logarithmic(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    with np.errstate(divide="ignore"):
        return -np.log(1 - p), -np.log(p)


def spherical(p: FloatArray) -> tuple[FloatArray, FloatArray]:
    length = np.sqrt(p**2 + (1 - p) ** 2)
    return -(1 - p) / length, -p / length


def total(
    score: Callable[[FloatArray], tuple[FloatArray, FloatArray]], p: FloatArray, weights: FloatArray
) -> float:
    negative, positive = score(p)
    parts = [
        np.where(w > 0, w, 0) * np.where(w > 0, part, 0)  # 0 × inf counts nothing
        for w, part in ((weights[:, 0], negative), (weights[:, 1], positive))
    ]
    return float(np.sum(parts) / weights.sum())


@pytest.mark.parametrize(("area", "rate_driven"), [(0.791, 0.188), (0.671, 0.248)])
def test_H13_the_rate_driven_column_of_table_2_follows_from_the_aucs(
    area: float, rate_driven: float
) -> None:
    """Tables 1 and 2: their data are not given; balanced tables with these AUCs stand in."""
    below = round(1000 * area)
    table = ScoreTable([0, 1, 2], [[below, 0], [0, 1000], [1000 - below, 0]])
    assert close(ranking.auc(table), area)
    assert close(table.shares, [0.5, 0.5])
    loss_rd = np.prod(table.shares) * (1 - 2 * ranking.auc(table)) + 1 / 3
    assert round(float(loss_rd), 3) == rate_driven


@given(whole_rows)
def test_H14_auc_is_the_wilcoxon_mann_whitney_statistic_and_somers_d(rows: Rows) -> None:
    table = table_of(rows)
    times = rows[2].astype(int)
    ranks = np.searchsorted(table.scores, np.repeat(rows[1], times))  # SciPy wants finite scores
    y = np.repeat(rows[0], times)
    u = stats.mannwhitneyu(ranks[y == 1], ranks[y == 0], method="asymptotic").statistic
    assert float(ranking.mann_whitney_u(table)) == u
    assert close(ranking.auc(table), u / (np.sum(y == 0) * np.sum(y == 1)))
    if table.scores.size > 1:  # SciPy leaves the D of a single score undefined
        assert close(ranking.gini(table), stats.somersd(y, ranks).statistic)


@given(whole_rows)
def test_H14_auc_is_one_less_kendalls_distance_to_the_perfect_ranking(rows: Rows) -> None:
    y, scores, weights = rows
    swapped = sum(
        w_i * w_j * ((s_i > s_j) + 0.5 * (s_i == s_j))
        for y_i, s_i, w_i in zip(y, scores, weights, strict=True)
        for y_j, s_j, w_j in zip(y, scores, weights, strict=True)
        if y_i < y_j
    )
    pairs = weights[y == 0].sum() * weights[y == 1].sum()
    table = table_of(rows)
    assert close(ranking.kendall_distance(table), swapped / pairs)
    assert close(ranking.auc(table), 1 - swapped / pairs)


@given(tied_rows)
def test_H14_weighted_auc_is_the_area_when_axes_are_as_long_as_the_class_shares(
    rows: Rows,
) -> None:
    table = table_of(rows)
    share0, share1 = table.shares
    curve = ranking.roc(table)
    x, y = share0 * curve.false_alarm_rate[::-1], share1 * curve.hit_rate[::-1]
    assert close(ranking.weighted_auc(table), np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))
    assert close(ranking.weighted_auc(table), share0 * share1 * ranking.auc(table))


@given(whole_rows)
def test_H19_a_model_is_convex_when_its_share_of_positives_never_falls(rows: Rows) -> None:
    table = table_of(rows)
    shares = [Fraction(p) / (Fraction(n) + Fraction(p)) for n, p in table.weights]
    convex = all(a <= b for a, b in itertools.pairwise(shares))
    assert bool(ranking.is_convex(table)) is convex
    on_hull = close(ranking.auc(table), ranking.auc_of_hull(table), 1e-14)
    assert on_hull is convex


@given(tied_rows, st.floats(0, 1))
def test_H19_convexified_tables_are_convex_and_keep_the_optimal_loss(rows: Rows, c: float) -> None:
    """hernandez-orallo, theorem 27: optimal loss is invariant under Conv."""
    table = table_of(rows)
    convex = ranking.convexified(table)
    assert ranking.is_convex(convex)
    best = min(loss(table, cut, c) for cut in range(table.scores.size + 1))
    assert close(min(loss(convex, cut, c) for cut in range(convex.scores.size + 1)), best)
    assert close(ranking.convexified(convex).scores, convex.scores)


@given(tied_rows)
def test_H19_calibration_makes_a_model_convex_and_convexifying_does_not_calibrate(
    rows: Rows,
) -> None:
    """Table 5: Conv(Cal(m)) = Cal(m), while Cal(Conv(m)) = Cal(m) differs from Conv(m)."""
    table = table_of(rows)
    calibrated = ranking.isotonic(table)
    assert ranking.is_convex(calibrated)
    assert close(ranking.convexified(calibrated).scores, calibrated.scores)
    again = ranking.isotonic(ranking.convexified(table))
    assert close(again.scores, calibrated.scores)
    assert close(again.weights, calibrated.weights)


def test_H19_convexifying_keeps_the_scale_and_the_single_scores() -> None:
    table = ScoreTable([-3, 1, 2, 50], [[5, 0], [1, 2], [2, 1], [0, 4]])
    convex = ranking.convexified(table)
    assert convex.scores.tolist() == [-3, 1.5, 50]
    assert convex.weights.tolist() == [[5, 0], [3, 3], [0, 4]]
    assert ranking.isotonic(table).scores.tolist() == [0, 0.5, 1]


@given(probability_rows)
def test_H19_brier_of_convexified_scores_is_the_decomposition_over_hull_bins(rows: Rows) -> None:
    """Section 6.2: each bin has its mean score s_b and its share of positives y_b."""
    table = table_of(rows)
    parts = 0.0
    for first, last in itertools.pairwise(ranking.hull_cuts(table.weights)):
        size = table.weights[first:last].sum(axis=1)
        s_b = size @ table.scores[first:last] / size.sum()
        y_b = table.weights[first:last, 1].sum() / size.sum()
        parts += size.sum() * ((s_b - y_b) ** 2 + y_b * (1 - y_b))
    assert close(brier(ranking.convexified(table)), parts / table.n_cases)


def test_convexified_scores_may_be_infinite() -> None:
    alike = [[1, 1], [1, 1]]
    assert ranking.convexified(ScoreTable([-np.inf, 3], alike)).scores.tolist() == [-np.inf]
    assert ranking.convexified(ScoreTable([3, np.inf], alike)).scores.tolist() == [np.inf]
    assert ranking.convexified(ScoreTable([-np.inf, np.inf], alike)).scores.tolist() == [0]
    huge = ScoreTable([1.6e308, 1.7e308], alike)
    assert 1.6e308 < float(ranking.convexified(huge).scores[0]) < 1.7e308


def test_is_convex_answers_for_every_table_of_a_stack() -> None:
    weights = np.array([[[3, 0], [1, 2], [2, 1]], [[3, 0], [0, 0], [2, 1]]])
    assert ranking.is_convex(ScoreTable([1, 2, 3], weights)).tolist() == [False, True]
    assert ranking.is_convex(ScoreTable([1, 2], [[0, 3], [0, 1]]))


# Maps keep what they should, and refuse what they must -------------------------------------------

MAPS = {
    "evenly_spaced": ranking.evenly_spaced,
    "midpoint_spaced": ranking.midpoint_spaced,
    "isotonic": ranking.isotonic,
    "convexified": ranking.convexified,
}
every_map = pytest.mark.parametrize("transform", MAPS.values(), ids=MAPS)


@every_map
@given(rows=whole_rows)
def test_maps_keep_labels_and_cases_and_drop_scores_without_weight(
    transform: Callable[[ScoreTable], ScoreTable], rows: Rows
) -> None:
    y = np.where(rows[0] == 1, "ill", "well")
    table = ScoreTable.from_scores(y, rows[1], weights=rows[2], positive="ill")
    empty = ScoreTable([-5.0, 0.3, 7.0], np.zeros((3, 2)), classes=table.classes)
    mapped = transform(table + empty)
    assert mapped == transform(table)
    assert mapped.classes == ("well", "ill")
    assert mapped.weights.sum(axis=0).tolist() == table.weights.sum(axis=0).tolist()
    assert np.all(np.diff(mapped.scores) > 0)


@every_map
def test_maps_refuse_leading_axes(transform: Callable[[ScoreTable], ScoreTable]) -> None:
    stack = ScoreTable([1, 2], np.ones((3, 2, 2)))
    with pytest.raises(InputError, match=r"no leading axes .* they are \(3,\)"):
        transform(stack)


@every_map
def test_maps_refuse_tables_without_cases(transform: Callable[[ScoreTable], ScoreTable]) -> None:
    with pytest.raises(InputError, match="none of its 1 scores has a positive weight"):
        transform(ScoreTable([1], [[0, 0]]))


def test_the_hull_of_a_stack_is_refused() -> None:
    with pytest.raises(InputError, match="where the hull is asked for"):
        ranking.roc_hull(ScoreTable([1, 2], np.ones((3, 2, 2))))


def test_evenly_spaced_refuses_fractions_and_a_single_case() -> None:
    fractions = r"whole cases .* 1 of 2 .* \[1\.0, 0\.5\] at score number 1"
    with pytest.raises(InputError, match=fractions):
        ranking.evenly_spaced(ScoreTable([1, 2], [[1, 0], [1, 0.5]]))
    with pytest.raises(InputError, match="at least two cases"):
        ranking.evenly_spaced(ScoreTable([1], [[1, 0]]))
    assert ranking.midpoint_spaced(ScoreTable([1], [[0.3, 0]])).scores.tolist() == [0.5]


def test_single_class_tables_become_zero_or_one_under_isotonic() -> None:
    assert ranking.isotonic(ScoreTable([1, 2], [[1, 0], [2, 0]])).scores.tolist() == [0]
    assert ranking.isotonic(ScoreTable([1, 2], [[0, 1], [0, 2]])).scores.tolist() == [1]


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, "half"])
def test_limits_and_targets_must_be_shares(bad: object) -> None:
    table = ScoreTable([0, 1], [[1, 0], [0, 1]])
    with pytest.raises(InputError, match=r"max_false_alarm_rate must be .* \[0, 1\]"):
        ranking.partial_auc(table, max_false_alarm_rate=bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="specificity must be"):
        ranking.sensitivity_at_specificity(table, bad)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sensitivity must be"):
        ranking.specificity_at_sensitivity(table, bad)  # type: ignore[arg-type]


def test_a_prior_for_a_class_without_cases_makes_average_precision_nan():
    only_positives = ScoreTable([0.2, 0.7], [[0, 1], [0, 2]])
    assert ranking.average_precision(only_positives) == 1
    assert np.isnan(ranking.average_precision(only_positives.with_prior([0.5, 0.5])))


def exact_hull_area(weights: np.ndarray) -> float:
    """Slow twin: the area below the upper convex hull, walked in fractions."""
    totals = [sum(map(Fraction, column)) for column in weights.T.tolist()]
    x, y, hull = Fraction(0), Fraction(0), [(Fraction(0), Fraction(0))]
    for negative, positive in weights[::-1].tolist():
        x, y = x + Fraction(negative) / totals[0], y + Fraction(positive) / totals[1]
        while len(hull) > 1:
            (x0, y0), (x1, y1) = hull[-2:]
            if (x1 - x0) * (y - y0) < (y1 - y0) * (x - x0):
                break
            hull.pop()
        hull.append((x, y))
    return float(sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(hull)))


FAR_APART = [0, 1e-300, 1e-200, 3e-200, 1.0, 5.0, 1e99, 2e99, 1e100]


@given(st.lists(st.tuples(*[st.sampled_from(FAR_APART)] * 2), min_size=2, max_size=7))
@example([(1e-200, 0), (0, 1e-200), (1e99, 0), (0, 1e99)])
@example([(2e99, 1e-300), (5, 1e-300), (0, 1), (1, 1e100), (0, 1e-200)])
def test_weights_may_be_as_far_apart_as_numbers_are(rows):
    weights = np.array(rows, dtype=float)
    assume(weights.any(axis=0).all())
    table = ScoreTable(range(len(weights)), weights)
    expected = exact_hull_area(weights)
    assert float(ranking.auc_of_hull(table)) == pytest.approx(expected, abs=1e-12)
    assert 0 <= float(ranking.auc(table)) <= expected + 1e-12


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e99])
def test_the_scale_of_the_weights_does_not_matter(scale):
    table = ScoreTable([0, 1, 2], scale * np.array([[3, 1], [2, 2], [1, 4.0]]))
    plain = ScoreTable([0, 1, 2], [[3, 1], [2, 2], [1, 4]])
    assert ranking.auc(table) == pytest.approx(float(ranking.auc(plain)))
    assert ranking.equal_error_rate(table) == pytest.approx(float(ranking.equal_error_rate(plain)))
    assert ranking.hull_cuts(table.weights).tolist() == ranking.hull_cuts(plain.weights).tolist()
    area = float(ranking.weighted_auc(plain))
    assert float(ranking.weighted_auc(table)) == pytest.approx(area)


def test_a_walk_along_the_hull_drops_what_is_straight_within_the_slack():
    blocks = np.array([[0.3, 0.4, 0.1], [0.3, 0.4, 0.2]])
    starts, pooled = _walked(np.arange(3), blocks, 1 + 1e-13)
    assert starts.tolist() == [0, 2]
    np.testing.assert_allclose(pooled, [[0.7, 0.1], [0.7, 0.2]])
