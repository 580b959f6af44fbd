"""Charts of the page: bands are Python's intervals, classes have their own, many stay quick."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from page_tables import cases_of, scores_of
from stakes import Counts, Problem, Scores, ScoreTable, evaluate, shift_prior
from stakes.decide import reachable_decisions
from stakes.inference import profile_interval, wilson_bounds, wilson_rates
from stakes.render.tables import sections
from stakes.report import RECALIBRATED, Stakes

BANDS = "([id, x]) => stakesPage.bands(id, x)"
CLOSE: dict[str, Any] = {"rtol": 0, "atol": 1e-9}
SQUARED_QUANTILE = 1.959963984540054**2  # of the normal distribution, at 97.5 %


def bands(page: Any, chart: str, x: float) -> dict[str, list[float]]:
    """Low and high end of every line of a chart at x, by the name of the line."""
    return {name: [low, high] for name, low, high, _ in page.run(BANDS, [chart, x])}


def ends(counts: np.ndarray, problem: Problem, **options: Any) -> list[float]:
    interval = profile_interval(Counts(counts), problem, **options)
    return [float(interval.low), float(interval.high)]


def embedded_table(packed: dict[str, Any]) -> ScoreTable:
    """Scores with the cases of both classes, as the page holds them."""
    return ScoreTable(scores_of(packed), np.transpose(cases_of(packed)))


def tables(page: Any, *kinds: str) -> dict[str, ScoreTable]:
    """The scores that the page holds of every model of some kinds."""
    return {
        model["name"]: embedded_table(model["table"])
        for model in page.data["models"]
        if model["table"] and model["kind"] in (kinds or ("posteriors",))
    }


def cut(table: ScoreTable, scores: np.ndarray, threshold: float) -> np.ndarray:
    """Counts of the second decision for all scores above a threshold."""
    above = scores > threshold
    return np.stack([table.weights[~above].sum(0), table.weights[above].sum(0)], axis=1)


@pytest.mark.slow
def test_bands_of_losses_and_benefits_are_the_intervals_of_python(clinic, opened):
    page = opened(clinic)
    page.page.get_by_label("thresholds taken from the probabilities").check()
    for setting in ([0.7, 0.3], list(clinic.assumptions.prior)):
        page.run("prior => stakesPage.set({prior})", setting)
        prior = setting if setting == [0.7, 0.3] else None  # else class shares are those observed
        for name, table in tables(page).items():
            scores = shift_prior(table.scores, page.data["holds_for"], setting)
            for x in (0.03, 0.2, 0.44):
                counts = cut(table, scores, x)
                loss = Problem([[0, 2 * x], [2 * (1 - x), 0]], prior=prior)
                band = bands(page, "cost-curve", x)[name]
                np.testing.assert_allclose(band, ends(counts, loss), **CLOSE)
                benefit = Problem([[0, x / (1 - x)], [0, -1]], prior=prior)
                low, high = ends(counts, benefit)
                band = bands(page, "net-benefit", x)[name]
                np.testing.assert_allclose(band, [-high, -low], **CLOSE)
    drawn = [row[0] for row in page.run(BANDS, ["net-benefit", 0.2]) if row[3]]
    assert drawn == [clinic.best.name]
    assert page.page.locator("#net-benefit path.interval").count() == 1
    assert f"95 % interval of {clinic.best.name}" in page.text("#net-benefit-note")


@pytest.mark.slow
def test_bands_over_the_prior_are_those_of_the_systems_in_both_readings(demo, opened):
    page = opened(demo)
    costs = np.array(demo.problem.costs) * [[1, 1, 1.2], [0.8, 1, 1]]
    page.run("costs => stakesPage.set({costs})", costs.tolist())
    for kept in (False, True):
        page.page.locator(f"[name=reading][value={'kept' if kept else 'anew'}]").check()
        stakes = Stakes(demo) if not kept else None
        for share in (0.03, 0.12, 0.4):
            prior = np.array([1 - share, share])
            drawn = bands(page, "prior-chart", share)
            assert drawn
            if stakes is None:
                counts = {system["name"]: system["counts"] for system in page.run(SYSTEMS)}
                problem = Problem(costs, prior=prior)
                able = reachable_decisions(problem)
                for name in set(drawn) - {system.name for system in demo.systems if fitted(system)}:
                    wanted = ends(counts[name], problem, reachable=able)
                    np.testing.assert_allclose(drawn[name], wanted, **CLOSE)
                continue
            there = stakes.moved(costs, prior, kept=False)
            for name, shown in drawn.items():
                interval = there.cost(name)
                np.testing.assert_allclose(shown, [interval.low, interval.high], **CLOSE)


SYSTEMS = "() => stakesPage.result().systems.map(({name, counts}) => ({name, counts}))"


def fitted(system: Any) -> bool:
    """Whether a part of its interval comes from a map that was fitted."""
    return "recalibrated" in system.rule


@pytest.mark.slow
def test_bands_of_three_decisions_know_which_can_be_taken(demo, opened):
    page = opened(demo)
    for name, table in tables(page).items():
        for share in (0.02, 0.11):
            problem = Problem(demo.problem.costs, prior=[1 - share, share])
            scores = shift_prior(table.scores, page.data["holds_for"], problem.prior)
            posteriors = np.stack([1 - scores, scores], axis=1)
            chosen = np.argmin(posteriors @ problem.costs, axis=1)
            counts = table.weights.T @ np.eye(3)[chosen]
            wanted = ends(counts, problem, reachable=reachable_decisions(problem))
            np.testing.assert_allclose(bands(page, "cost-curve", share)[name], wanted, **CLOSE)


@pytest.mark.slow
def test_the_band_of_a_roc_curve_holds_the_boxes_of_both_rates(clinic, opened):
    """The rates of a threshold are independent, each in an interval at the root of the level."""
    page = opened(clinic)
    for name, table in tables(page, "posteriors", "scores").items():
        cuts = [cut(table, table.scores, threshold) for threshold in (-np.inf, *table.scores)]
        intervals = [wilson_rates(Counts(counts)).interval(0.95**0.5) for counts in cuts[::-1]]
        low = np.array([interval.low[:, 1] for interval in intervals])
        high = np.array([interval.high[:, 1] for interval in intervals])
        for x in (0.003, 0.0712, 0.44, 0.97):
            lower = np.interp(x, [0, *high[:, 0]], [0, *low[:, 1]])
            upper = np.interp(x, [*low[:, 0], 1], [*high[:, 1], 1])
            np.testing.assert_allclose(bands(page, "roc", x)[name], [lower, upper], **CLOSE)
        for (alarms, hits), (most_alarms, most_hits) in zip(low[::97], high[::97], strict=True):
            assert bands(page, "roc", most_alarms - 1e-12)[name][0] <= hits + 1e-9
            assert bands(page, "roc", alarms + 1e-12)[name][1] >= most_hits - 1e-9
    assert page.page.locator("#roc path.interval").count() == 1
    note = page.text("#roc-note")
    assert f"at each threshold of {clinic.best.model}, both rates lie in it with 95 %" in note


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, [0.7, 0.3]])
def test_whiskers_of_reliability_are_the_intervals_of_python(prior, clinic, opened):
    """Wilson's interval of the share in each tenth, its odds moved with the prior."""
    page = opened(clinic)
    if prior is not None:
        page.run("prior => stakesPage.set({prior})", prior)
    best = page.run("() => stakesPage.result().best")
    packed = page.data["models"][best["model"]]
    repaired = best["way"] == "recalibrated"
    table = embedded_table(packed["recalibrated" if repaired else "table"])
    held_for = page.data["prior"] if repaired else page.data["holds_for"]
    observed, shares = table.weights.sum(0) / table.weights.sum(), prior or page.data["prior"]
    edges = [bar["high"] for bar in page.run("() => stakesPage.cases('reliability')")]
    bins: list[list[tuple[float, np.ndarray]]] = [[] for _ in edges]
    for score, cases in zip(table.scores, table.weights, strict=True):
        moved = float(shift_prior(np.array([score]), held_for, shares)[0])
        if moved <= edges[-1]:
            bins[min(9, int(10 * moved / edges[-1]))].append((moved, cases))
    expected = []
    for members in filter(None, bins):
        counts = np.sum([cases for _, cases in members], axis=0)
        ends = np.ravel(wilson_bounds(counts[1:] / counts.sum(), counts.sum(), SQUARED_QUANTILE))
        masses = [cases @ (np.array(shares) / observed) for _, cases in members]
        mean = np.average([moved for moved, _ in members], weights=masses)
        expected.append([mean, *shift_prior(ends, observed, shares)])
    whiskers = page.run("() => stakesPage.whiskers('reliability')")
    np.testing.assert_allclose(whiskers, expected, **CLOSE)
    assert page.page.locator("#reliability .whisker").count() == len(expected)
    note = page.text("#reliability-note")
    assert "whiskers: its 95 % interval" in note
    name = best["name"] if repaired else packed["name"]
    assert f"cases to which {name} gives such a probability, at most" in note


def noisy_report(**options: Any) -> Any:
    rng = np.random.default_rng(2)
    y = rng.random(200) < 0.3
    p = np.clip(0.3 + 0.3 * y + 0.2 * rng.normal(size=200), 0.01, 0.99)
    problem = Problem.binary(false_alarm=1, miss=5)
    return evaluate(y.astype(int), p, problem, calibrator=None, replicates=10, **options)


@pytest.mark.slow
def test_where_cases_come_in_clusters_there_is_no_band_and_the_charts_say_so(opened):
    page = opened(noisy_report(clusters=np.arange(200) // 4))
    assert page.page.locator("path.interval, .chart .whisker").count() == 0
    for note in ("#cost-curve-note", "#net-benefit-note", "#prior-note", "#roc-note"):
        assert "No band: cases come in clusters" in page.text(note)
    assert "No intervals: cases come in clusters" in page.text("#reliability-note")


@pytest.mark.slow
def test_where_weights_are_fractions_rates_have_no_band_and_the_charts_say_so(opened):
    page = opened(noisy_report(weights=np.linspace(0.2, 1.7, 200)))
    assert page.page.locator("#roc path.interval, #reliability .whisker").count() == 0
    assert "No band: cases have weights" in page.text("#roc-note")
    assert "No intervals: cases have weights" in page.text("#reliability-note")


@pytest.mark.slow
def test_titles_of_y_axes_name_the_unit_and_cases_stand_under_reliability(demo, clinic, opened):
    page = opened(demo)
    unit = demo.problem.unit
    for chart in ("cost-curve", "prior-chart"):
        titles = page.page.locator(f"#{chart} .axis-name").all_text_contents()
        assert f"cost per case, {unit}" in titles
    page = opened(clinic)
    bars = page.run("() => stakesPage.cases('reliability')")
    model = next(model for model in page.data["models"] if model["name"] == clinic.best.model)
    which = "recalibrated" if "recalibrated" in clinic.best.rule else "table"
    cases = [float(n) for side in ("negatives", "positives") for n in model[which][side]]
    assert sum(bar["cases"] for bar in bars) <= sum(cases)
    assert max(bar["cases"] for bar in bars) > 0.2 * sum(cases)
    foot = page.page.locator("#reliability .axis").bounding_box()["y"]
    strips = page.page.locator("#reliability .cases")
    assert all(strips.nth(i).bounding_box()["y"] > foot for i in range(strips.count()))


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["demo", "clinic"])
def test_every_dot_of_reliability_is_in_its_frame_and_no_name_covers_one(
    name, width, opened, request
):
    page = opened(request.getfixturevalue(name), viewport={"width": width, "height": 900})
    page.run("() => stakesPage.finished()")  # the search fills tables, which moves what is below
    bins = page.run("() => stakesPage.cases('reliability').filter(({cases}) => cases > 0).length")
    boxes = """selector => [...document.querySelectorAll(`#reliability ${selector}`)]
        .map(node => node.getBoundingClientRect())
        .map(({left, right, top, bottom}) => [left, right, top, bottom])"""
    dots, names = page.run(boxes, "circle.dot"), page.run(boxes, ".line-name")
    assert len(dots) == bins > 4
    highest = min(top for *_, top, _ in page.run(boxes, ".rule"))
    assert min((top + bottom) / 2 for *_, top, bottom in dots) > highest - 12
    covered = [
        (dot, name)
        for dot in dots
        for name in names
        if name[0] < (dot[0] + dot[1]) / 2 < name[1] and name[2] < (dot[2] + dot[3]) / 2 < name[3]
    ]
    assert covered == []


@pytest.mark.slow
def test_every_class_has_a_reliability_diagram_with_counts_and_intervals(digits, opened):
    page = opened(digits)
    page.page.get_by_label("Class", exact=True).select_option("digit 3")
    model = digits.models[[model.model for model in digits.models].index(digits.best.model)]
    assert digits.best.name == f"{model.model} (recalibrated)"
    cases, hits, summed = model.recalibrated_bins[3].T
    full = cases > 0
    bars = page.run("() => stakesPage.cases('class-reliability')")
    np.testing.assert_array_equal([bar["cases"] for bar in bars], cases[full])
    dots = page.run("() => stakesPage.dots('class-reliability')")
    shares = hits[full] / cases[full]
    for x, y in zip(summed[full] / cases[full], shares, strict=True):
        assert any(abs(x - a) < 1e-4 and abs(y - b) < 1e-12 for a, b in dots)
    rows = page.run("() => stakesPage.tables().reliability")
    diagram = [row for row in rows if row[0] == digits.best.name and row[1] == "digit 3"]
    low, high = wilson_bounds(shares, cases[full], SQUARED_QUANTILE)
    np.testing.assert_allclose([row[7:] for row in diagram], np.stack([low, high], 1), **CLOSE)
    titles = page.page.locator("#class-reliability .axis-name").all_text_contents()
    assert all("digit 3" in title for title in titles)
    assert page.complaints == []


@pytest.mark.slow
def test_a_recalibrated_winner_of_many_classes_is_drawn_beside_its_model(opened):
    rng, y = np.random.default_rng(4), np.arange(900) % 3
    sharp = rng.dirichlet(np.ones(3), 900) * 0.5 + 0.5 * np.eye(3)[y]
    sure = sharp**4 / (sharp**4).sum(axis=1, keepdims=True)
    models = {"sure": sure, "flat": 0.5 * sharp + 1 / 6}
    costs = [[0, 9, 2, 1], [3, 0, 9, 1], [9, 2, 0, 1]]
    problem = Problem(costs, classes=["0", "1", "2"], decisions=["0", "1", "2", "ask"])
    report = evaluate(y.astype(str), models, problem)
    assert report.best.rule == RECALIBRATED
    page = opened(report)
    page.page.get_by_label("Class", exact=True).select_option("1")
    quality = next(model for model in report.models if model.model == report.best.model)
    cases, hits, summed = np.asarray(quality.recalibrated_bins)[1].T
    full = cases > 0
    assert page.page.locator("#class-reliability .line.winner").count() == 1
    dots = np.array(page.run("() => stakesPage.dots('class-reliability')"))[: full.sum()]
    points = np.stack([summed[full] / cases[full], hits[full] / cases[full]], axis=1)
    np.testing.assert_allclose(dots, points, rtol=1e-3)  # those of the winner come first
    bars = page.run("() => stakesPage.cases('class-reliability')")
    np.testing.assert_array_equal([bar["cases"] for bar in bars], cases[full])
    note = page.page.locator("#class-reliability-note").inner_text()
    assert f"Thick: the cheapest system, {report.best.name}" in note.replace("\xa0", " ")
    saved = page.run("() => stakesPage.tables().reliability")
    lines = {*models, *(f"{name} (recalibrated)" for name in models)}
    assert {row[0] for row in saved[1:]} == lines
    assert page.complaints == []


@pytest.mark.slow
def test_what_the_classes_cost_adds_up_to_the_cost(digits, opened):
    page = opened(digits)
    costs = np.array(digits.problem.costs)
    costs[2] *= 3
    page.run("costs => stakesPage.set({costs})", costs.tolist())
    best = page.run("() => stakesPage.result().best")
    counts, prior = np.array(best["counts"]), np.array(digits.assumptions.prior)
    parts = prior * (counts * costs).sum(1) / counts.sum(1)
    assert parts.sum() == pytest.approx(best["cost"], rel=1e-12)
    names = page.page.locator("#class-costs b").all_inner_texts()
    order = [digits.problem.classes[k] for k in np.argsort(-parts, kind="stable")]
    assert names == order
    rows = page.run("() => stakesPage.tables().classes")
    shown = [row[5] for row in rows if row[0] == best["name"]]
    np.testing.assert_allclose(shown, parts, rtol=1e-12)


@pytest.mark.slow
def test_a_unit_of_several_words_stays_whole_in_a_title(opened):
    y, rng = np.arange(90) % 3, np.random.default_rng(2)
    problem = Problem(1 - np.eye(3), unit="US dollars")
    report = evaluate(y, {"m": rng.dirichlet(np.ones(3), 90)}, problem, calibrator=None)
    title = "What each class adds to the cost per case, US dollars"
    assert opened(report).text("#class-costs-name") == title


@pytest.mark.slow
def test_thresholds_are_written_on_the_page_as_in_the_text(opened):
    """Probabilities in percent, scores on their own scale, whichever way they were tuned."""
    rng = np.random.default_rng(9)
    y = (rng.random(300) < 0.3).astype(int)
    score = rng.normal(2 * y, 1.0)
    models = {"sure": 1 / (1 + np.exp(1 - score)), "raw": Scores(100 * score)}
    problem = Problem.binary(false_alarm=1, miss=3)
    report = evaluate(y, models, problem, calibrator=None, replicates=10)
    page = opened(report)
    written = {
        row[0]: row[-1].replace("\u00a0", " ")
        for section in sections(report)
        if section.title in ("Cost of each system", "Bounds") and section.table is not None
        for row in section.table.rows
    }
    heads = page.page.locator("#systems tbody th[scope=row]").all_inner_texts()
    cells = page.page.locator("#systems tbody tr td:last-child").all_inner_texts()
    shown = dict(zip(heads, cells, strict=True))
    for system in report.systems:
        cell = next(text for head, text in shown.items() if head.startswith(system.name))
        assert cell.replace("\u00a0", " ") == written[system.name]
        assert ("%" in cell) == (system.model == "sure")


WATCH = """() => {
    window.filled = [];
    const note = changes => filled.push(...changes.map(change => change.target.ariaLabel));
    new MutationObserver(note).observe(
        document.getElementById("controls"), {subtree: true, attributeFilter: ["title"]});
}"""
TOP = "() => document.querySelector('.stakes').getBoundingClientRect().top + scrollY"


@pytest.mark.slow
def test_the_first_change_fills_one_field_and_moves_nothing_by_a_fraction(digits, opened):
    """Each would have the browser lay out or paint the whole page: that is what takes its time."""
    page = opened(digits)
    page.run("() => stakesPage.finished()")
    page.run(WATCH)
    slider = page.page.locator("#controls input[type=range]").first
    slider.focus()
    before = page.run(TOP)
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_function("() => document.body.classList.contains('changed')")
    page.run("() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))")
    assert set(page.run("() => filled")) == {slider.get_attribute("aria-label")}
    assert page.run(TOP) == pytest.approx(before, abs=1e-3)
