"""Pictures draw what the values say: the lines on the axes are the columns of the curves."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.special import ndtr

from stakes import CostProportions, Counts, InputError, Problem, ScoreTable, best_threshold
from stakes.audit import FAMILIAR, HEXAGON, disagreement
from stakes.calibration import consistency_band, reliability
from stakes.curves import (
    brier_curve,
    capacity_curve,
    coverage_curve,
    decision_curve,
    detection_error_tradeoff,
    gains_curve,
    hull_curve,
    optimal_curve,
    precision_recall,
    roc_curve,
)
from stakes.measures import cost_shares
from stakes.regions import CostProportion, cheapest_regions
from stakes.scoring import HullBins

pytest.importorskip("matplotlib")
plot = pytest.importorskip("stakes.plot")

PROBLEM = Problem.binary(false_alarm=1, miss=4)


def test_only_ends_within_the_axes_have_a_height_there():
    figure, style = (pytest.importorskip(n) for n in ("matplotlib.figure", "stakes.plot._style"))
    ax = figure.Figure().subplots()
    ax.set_ylim(2, 4)
    heights = [style._fraction(ax, end) for end in (1.9, 2.0, 3.0, 4.0, 4.1)]
    np.testing.assert_array_equal(heights, [np.nan, 0, 0.5, 1, np.nan])


@pytest.fixture(scope="module")
def tables() -> dict[str, ScoreTable]:
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.3
    return {
        name: ScoreTable.from_scores(y, np.clip(rng.normal(0.2 + 0.3 * y, spread), 0, 1).round(2))
        for name, spread in (("sharp", 0.15), ("blunt", 0.3))
    }


def lines(ax) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


def test_cost_curves_are_drawn_through_their_corners(tables):
    curves = {n: brier_curve(t, CostProportions) for n, t in tables.items()}
    curves["optimal"] = optimal_curve(tables["sharp"], CostProportions)
    ax = plot.cost_curves(curves, at=PROBLEM.threshold)
    corners = curves["optimal"].columns()
    drawn = lines(ax)["optimal"]
    assert {tuple(p) for p in zip(corners["x"], corners["y"], strict=True)} <= {
        tuple(p) for p in drawn
    }
    assert ax.get_xlabel() == "cost proportion"
    assert plot.cost_curves(curves, ax=ax) is ax


def test_roc_has_hull_tangent_and_the_best_point(tables):
    best = {n: best_threshold(t, PROBLEM) for n, t in tables.items()}
    ax = plot.roc(
        {n: roc_curve(t) for n, t in tables.items()},
        hulls={n: hull_curve(t) for n, t in tables.items()},
        best=best,
    )
    rates = best["sharp"].counts.values[:, 1] / best["sharp"].counts.values.sum(axis=1)
    points = [line.get_xydata() for line in ax.get_lines() if line.get_marker() == "o"]
    assert any(np.allclose(point, rates) for point in points)


def test_precision_recall_det_and_gains(tables):
    pr = {n: precision_recall(t) for n, t in tables.items()}
    drawn = lines(plot.precision_recall(pr))["sharp"]
    np.testing.assert_array_equal(drawn[:, 0], pr["sharp"].recall)
    ax = plot.detection_error_tradeoff({n: detection_error_tradeoff(t) for n, t in tables.items()})
    percent = [float(label.get_text()) for label in ax.get_xticklabels()]
    assert percent[:2] == [0.1, 1]
    np.testing.assert_allclose(ndtr(ax.get_xticks()) * 100, percent, rtol=1e-3)
    np.testing.assert_array_equal(ax.get_xticks(), ax.get_yticks())
    assert "%" in ax.get_xlabel()
    gains = {n: gains_curve(t) for n, t in tables.items()}
    chance, first, _ = (line.get_xydata() for line in plot.gains(gains).get_lines())
    assert chance.tolist() == [[0, 0], [1, 1]]
    np.testing.assert_allclose(first[-1], [1, 1])


def test_curves_have_names_and_no_part_of_them_lies_outside_the_axes(tables):
    problem = Problem([[0, 3, 25], [180, 8, 0]], decisions=["approve", "review", "block"])
    for ax in (
        plot.cost_curves({n: brier_curve(t, CostProportions) for n, t in tables.items()}),
        plot.roc({n: roc_curve(t) for n, t in tables.items()}),
        plot.precision_recall({n: precision_recall(t) for n, t in tables.items()}),
        plot.gains({n: gains_curve(t) for n, t in tables.items()}),
        plot.capacity_curves({n: capacity_curve(t, problem, "review") for n, t in tables.items()}),
        plot.coverage_curves({n: coverage_curve(t, problem) for n, t in tables.items()}),
    ):
        assert {*tables} <= {text.get_text() for text in ax.get_legend().get_texts()}
        (low, high), (bottom, top) = ax.get_xlim(), ax.get_ylim()
        for name in tables:
            x, y = lines(ax)[name].T
            y = y[~np.isnan(y)]  # the precision of no case is undefined
            assert low <= x.min() <= x.max() <= high
            assert bottom <= y.min() <= y.max() <= top


def test_decision_curves_show_all_and_nobody(tables):
    curves = {n: decision_curve(t) for n, t in tables.items()}
    ax = plot.decision_curves(curves, threshold=0.2)
    drawn = lines(ax)
    assert {"sharp", "blunt", "all", "nobody"} <= set(drawn)
    assert (drawn["nobody"][:, 1] == 0).all()
    for name in ("sharp", "blunt", "all"):
        assert drawn[name][:, 0].max() < 1  # nothing falls or rises along the right edge


def test_capacity_and_coverage_curves_are_drawn_through_their_corners(tables):
    problem = Problem([[0, 3, 25], [180, 8, 0]], decisions=["approve", "review", "block"])
    capacity = {n: capacity_curve(t, problem, "review") for n, t in tables.items()}
    ax = plot.capacity_curves(capacity, at=0.05, unit="EUR")
    np.testing.assert_array_equal(lines(ax)["sharp"][:, 0], capacity["sharp"].cost.columns()["x"])
    assert ax.get_xlabel() == "capacity: share of review"
    assert ax.get_ylabel() == "cost per case, EUR"
    covered = {n: coverage_curve(t, problem) for n, t in tables.items()}
    drawn = lines(plot.coverage_curves(covered, at=0.9))["sharp"]
    assert drawn[-1].tolist() == [1.0, float(covered["sharp"].cost(1.0))]
    ax = plot.break_even_curves(covered, at=8, unit="EUR")
    prices = covered["sharp"].break_even_prices
    np.testing.assert_array_equal(lines(ax)["sharp"][:, 1], [prices[0], *prices])
    assert ax.get_ylabel() == "price of an abstention, EUR"


def test_reliability_with_its_band(tables):
    table = tables["sharp"]
    band = consistency_band(table, HullBins(), replicates=50, rng=np.random.default_rng(0))
    ax = plot.reliability(reliability(table, HullBins()), band=band)
    assert ax.get_xlim() == ax.get_ylim() == (-0.01, 1.01)
    assert len(ax.collections) == 2


def test_histogram_gives_every_class_its_shares():
    """A class of two in a thousand is as visible as the other."""
    y = np.arange(1000) < 2
    table = ScoreTable.from_scores(y, np.linspace(1, 0, 1000))
    ax = plot.score_histogram(table, bins=10)
    heights = [patch.get_data().values for patch in ax.patches]
    assert [np.abs(height).sum() for height in heights] == pytest.approx([1, 1])
    assert heights[0].min() >= 0
    assert heights[1].max() <= 0


def test_tables_and_maps(tables):
    counts = {n: best_threshold(t, PROBLEM).counts for n, t in tables.items()}
    table = counts["sharp"]
    ax = plot.decision_table(table, shares=cost_shares(table, PROBLEM))
    assert f"{table.values[0, 0]:g}" in ax.texts[0].get_text()
    regions = cheapest_regions(counts, CostProportion([0.5, 0.5]))
    ax = plot.regions_map(regions, at=(0.2, 0.3))
    assert len(ax.collections) == len(regions.parts)
    audit = disagreement(counts, PROBLEM, metrics=FAMILIAR)
    ax = plot.metric_disagreement(audit)
    assert len(ax.patches) == len(FAMILIAR)
    ax = plot.utility_hexagon({"mine": PROBLEM})
    assert any(np.array_equal(line.get_xydata()[:-1], HEXAGON) for line in ax.get_lines())
    assert "being right" in ax.get_xlabel()
    assert "being wrong" in ax.get_ylabel()
    x, y = PROBLEM.utility_coordinates
    assert any(np.allclose(line.get_xydata(), [[x, y]]) for line in ax.get_lines())


def narrow(square: bool):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.5, 3.5 if square else 2.6), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def drawings(tables):
    family = {f"gradient boosted {n}": t for n, t in tables.items()}
    counts = {n: best_threshold(t, PROBLEM).counts for n, t in family.items()}
    yield plot.utility_hexagon({"mine": PROBLEM}, ax=narrow(True))
    audit = disagreement(counts, PROBLEM, metrics=FAMILIAR)
    yield plot.metric_disagreement(audit, ax=narrow(False))
    det = {n: detection_error_tradeoff(t) for n, t in family.items()}
    yield plot.detection_error_tradeoff(det, ax=narrow(True))
    yield plot.decision_curves({n: decision_curve(t) for n, t in family.items()}, ax=narrow(False))
    yield plot.score_histogram(tables["sharp"], ax=narrow(False))


def test_pictures_are_legible_at_column_width(tables):
    """At 3.5 inches no text leaves the figure and no two labels of an axis touch."""
    for ax in drawings(tables):
        ax.figure.canvas.draw()
        renderer = ax.figure.canvas.get_renderer()
        whole = ax.figure.bbox
        texts = [text for text in (ax.xaxis.label, ax.yaxis.label, *ax.texts) if text.get_text()]
        for text in texts:
            box = text.get_window_extent(renderer)
            assert box.x0 >= whole.x0 - 1, text
            assert box.x1 <= whole.x1 + 1, text
            assert box.y0 >= whole.y0 - 1, text
            assert box.y1 <= whole.y1 + 1, text
        ticks = [t.get_window_extent(renderer) for t in ax.get_xticklabels() if t.get_text()]
        for left, right in pairwise(ticks):
            assert left.x1 < right.x0
        assert ax.get_position().width > 0.4


def test_no_setting_of_matplotlib_is_touched(tables):
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot.roc({n: roc_curve(t) for n, t in tables.items()}).figure.canvas.draw()
    assert dict(matplotlib.rcParams) == before
    plot.decision_table(Counts([[1, 2, 0], [0, 3, 4]])).figure.canvas.draw()


def test_names_are_text_and_no_formulas(tmp_path):
    """A dollar sign starts no formula, and a leading underscore hides no name."""
    y, p = np.arange(40) % 2, np.linspace(0.1, 0.9, 40)
    table = ScoreTable.from_scores(y, p)
    ax = plot.roc({name: roc_curve(table) for name in (r"a $\frac$ b", "_old")})
    ax.figure.savefig(tmp_path / "roc.png")
    assert len(ax.get_legend().get_texts()) >= 2


@pytest.mark.parametrize(
    "draw",
    [
        plot.break_even_curves,
        plot.capacity_curves,
        plot.cost_curves,
        plot.coverage_curves,
        plot.decision_curves,
        plot.gains,
    ],
)
def test_what_is_no_mapping_of_curves_is_refused_by_its_name(draw):
    with pytest.raises(InputError, match="curves must be a mapping from name to "):
        draw(None)
    with pytest.raises(InputError, match=r"curves\['a'\] must be .*; got int 3"):
        draw({"a": 3})


def test_no_curves_are_refused_where_the_first_says_what_is_drawn():
    for draw in (plot.capacity_curves, plot.decision_curves):
        with pytest.raises(InputError, match="curves must hold at least one"):
            draw({})


def test_longer_names_take_as_much_more_room_as_their_letters():
    style = pytest.importorskip("stakes.plot._style")
    assert style.label_width(["a" * 20]) - style.label_width(["a"]) > 1


def test_the_share_at_the_corners_of_a_skew_is_one_or_none():
    plots = pytest.importorskip("stakes.plot._figures")
    assert plots._share_at(np.array([0.0, 0.5]), 0.0).tolist() == [1.0, 1.0]
    assert plots._share_at(np.array([1.0, 0.5]), 1.0).tolist() == [0.0, 0.0]


def test_a_panel_of_reliability_has_the_same_ticks_on_both_axes():
    figure = pytest.importorskip("matplotlib.figure")
    plots = pytest.importorskip("stakes.plot._figures")
    bins, line = [np.array([0.2, 0.7])] * 5, [np.array([0.0, 1.0])] * 4
    panel = plots.ReliabilityPanel("forest", *bins, *line)
    ax = plots.reliability_panels([panel], ax=figure.Figure().subplots())
    assert ax.get_xticks().tolist() == ax.get_yticks().tolist() == [0, 0.5, 1]


# Room for names and numbers ----------------------------------------------------------------------


def boxes(figure, texts) -> list:
    """Where texts are in a figure once it is drawn; all of them lie inside it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    # Of an annotation the text alone, without its thin line.
    places = [Text.get_window_extent(text, canvas.get_renderer()) for text in texts]
    for text, place in zip(texts, places, strict=True):
        whole = figure.bbox
        assert whole.x0 <= place.x0 + 1 <= place.x1 <= whole.x1 + 1, text
        assert whole.y0 <= place.y0 + 1 <= place.y1 <= whole.y1 + 1, text
    return places


def none_overlap(places) -> bool:
    return not any(box.overlaps(two) for k, box in enumerate(places) for two in places[k + 1 :])


ORDINARY = Counts(
    [[532, 168, 0], [95, 205, 3]],
    classes=["legitimate payment", "fraudulent payment"],
    decisions=["approve at once", "send to manual review", "block and call"],
)
LONG = [f"class number {k} with a long name that has a beginning and an end" for k in range(12)]


def of_many_classes(**names) -> Counts:
    rng = np.random.default_rng(0)
    return Counts(np.diag(rng.integers(500, 99_999, 12)) + rng.integers(0, 3000, (12, 12)), **names)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    "counts",
    [ORDINARY, of_many_classes(), of_many_classes(classes=LONG, decisions=LONG)],
    ids=["ordinary names", "many classes", "long names"],
)
def test_numbers_and_names_of_a_table_have_room(counts, shared):
    shares = np.full(counts.values.shape, 1 / counts.values.size) if shared else None
    ax = plot.decision_table(counts, shares=shares)
    places = boxes(ax.figure, ax.texts)
    assert len(places) == counts.values.size
    assert none_overlap(places)
    for place, (k, d) in zip(places, np.ndindex(counts.values.shape), strict=True):
        corners = ax.transData.transform([(d - 0.5, k + 0.5), (d + 0.5, k - 0.5)])
        assert (corners[0] < place.min).all()
        assert (place.max < corners[1]).all()
    boxes(ax.figure, [*ax.get_xticklabels(), *ax.get_yticklabels()])
    across = [label.get_window_extent() for label in ax.get_xticklabels()]
    turned = ax.get_xticklabels()[0].get_rotation() == 45
    assert turned or none_overlap(across)
    assert turned == bool(counts.classes)


def test_shares_of_a_table_are_whole_percents_and_explained_once():
    ax = plot.decision_table(ORDINARY, shares=np.array([[0, 0.42, 0], [0.516, 0.06, 0.004]]))
    written = [text.get_text().split("\n") for text in ax.texts]
    assert written[1:4] == [["168", "42 %"], ["0", "0 %"], ["95", "52 %"]]
    assert ax.get_title(loc="left") == "cases, and their share of the total cost"
    assert plot.decision_table(ORDINARY).get_title(loc="left") == ""
    large = plot.decision_table(Counts([[12_345_678, 0.5], [1, 2]])).texts
    assert [text.get_text() for text in large[:2]] == ["12,345,678", "0.5"]


def test_cells_that_are_too_small_for_numbers_have_none():
    ax = plot.decision_table(of_many_classes(), shares=np.ones((12, 12)), ax=narrow(True))
    assert not ax.texts
    assert ax.get_title(loc="left") == ""
    assert plot.decision_table(ORDINARY, ax=narrow(True)).texts


def a_dozen() -> dict[str, ScoreTable]:
    rng = np.random.default_rng(3)
    y = rng.random(300) < 0.3
    return {
        f"a model with a long name, number {k}": ScoreTable.from_scores(
            y, np.clip(rng.normal(0.3 + 0.05 * k * y, 0.2), 0, 1).round(2)
        )
        for k in range(12)
    }


@pytest.mark.parametrize(
    ("draw", "curve"),
    [
        (plot.roc, roc_curve),
        (plot.precision_recall, precision_recall),
        (plot.detection_error_tradeoff, detection_error_tradeoff),
        (plot.decision_curves, decision_curve),
        (plot.gains, gains_curve),
        (plot.cost_curves, lambda table: brier_curve(table, CostProportions)),
    ],
)
def test_the_legend_of_a_dozen_lines_stands_beside_the_axes(draw, curve):
    curves = {name: curve(table) for name, table in a_dozen().items()}
    ax = draw(curves)
    legend = ax.get_legend()
    names = boxes(ax.figure, legend.get_texts())
    assert none_overlap(names)
    assert len({text.get_text() for text in legend.get_texts()}) == len(names) >= 12
    assert legend.get_window_extent().x0 >= ax.get_window_extent().x1
    assert ax.get_window_extent().width > 0.4 * ax.figure.bbox.width
    assert draw(dict(list(curves.items())[:3])).get_legend().get_window_extent().x0 < 600


@pytest.mark.parametrize("n_problems", [1, 12])
def test_names_of_neighbouring_problems_do_not_overlap(n_problems):
    problems = {
        f"problem number {k}": Problem.binary(false_alarm=1, miss=1 + k / 10)
        for k in range(n_problems)
    }
    ax = plot.utility_hexagon(problems)
    assert [text.get_text() for text in ax.texts] == ["accuracy", *problems]
    assert none_overlap(boxes(ax.figure, ax.texts))


def test_a_score_that_a_tradeoff_has_no_place_for_is_named(tables):
    perfect, constant = ScoreTable([0, 1], [[80, 0], [0, 20]]), ScoreTable([0.5], [[5, 3]])
    mixed = {"oracle": perfect, "constant": constant, **tables}
    for named in (mixed, {"oracle": perfect, "constant": constant}):
        ax = plot.detection_error_tradeoff(
            {name: detection_error_tradeoff(table) for name, table in named.items()}
        )
        assert ax.get_title(loc="left").startswith("not drawn: oracle, constant\n(at every")
        legend = ax.get_legend()
        drawn = [text.get_text() for text in legend.get_texts()] if legend else []
        assert drawn == [name for name in named if name in tables]
    ax = plot.detection_error_tradeoff(
        {"two scores": detection_error_tradeoff(ScoreTable([0, 1], [[8, 1], [1, 2]]))}
    )
    assert ax.get_lines()[0].get_marker() == "o"  # a line of one point would not be seen
