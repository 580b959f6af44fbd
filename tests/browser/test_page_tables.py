"""Tables, downloads and boxes of the page: their stakes and room, and pages without sliders."""

from __future__ import annotations

import csv
import io
import re
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Decisions, Limit, Problem, Report, evaluate

WIDE, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
SVG = "{http://www.w3.org/2000/svg}"


def sigmoid(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds))


def payments(
    n_cases: int, **extra: Any
) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, Any]]:
    """Who commits fraud, two models, and the names of a problem with three decisions."""
    rng = np.random.default_rng(4)
    fraud = rng.random(n_cases) < 0.1
    odds = rng.normal(np.where(fraud, 1.6, -1.6), 1.8) - 1
    models = {"forest": sigmoid(odds), "logit": sigmoid(0.7 * odds + rng.normal(size=n_cases))}
    names = {"classes": ["legit", "fraud"], "decisions": ["approve", "review", "block"]}
    return np.array(names["classes"])[fraud.astype(int)], models, {"unit": "EUR", **names, **extra}


@pytest.fixture(scope="module")
def limited() -> Report:
    """The cheapest constant decision, always review, breaks the limit."""
    y, models, names = payments(1500, limits=[Limit.share("review", at_most=0.1)])
    return evaluate(y, models, Problem([[0, 3, 25], [180, 8, 0]], **names), replicates=20)


def by_amount(*, limited: bool) -> Report:
    limits = {"limits": [Limit.share("review", at_most=0.1)]} if limited else {}
    y, models, names = payments(1500, **limits)
    problem = Problem([[0, 3, "5 + 0.02*amount"], ["amount", 8, 0]], **names)
    data = {"amount": np.random.default_rng(5).lognormal(4, 1, y.size).round(2)}
    return evaluate(y, models, problem, data=data, volume=1e6, period="year", replicates=20)


@pytest.fixture(scope="module")
def amounts() -> Report:
    return by_amount(limited=False)


@pytest.fixture(scope="module")
def limited_amounts() -> Report:
    return by_amount(limited=True)


def downloaded(page: Any, selector: str) -> str:
    with page.page.expect_download() as waiting:
        page.page.click(selector)
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def rows_of(page: Any, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(downloaded(page, f"[data-csv={name}]"))))


# Stakes of downloads -----------------------------------------------------------------------------


def test_tables_that_stay_as_reported_carry_the_stakes_of_the_report(opened, demo):
    page = opened(demo)
    page.run("() => { const s = stakesPage.state(); s.costs[1][0] = 77; stakesPage.set(s); }")
    for name in ("quality", "slices"):
        stakes = {row["stakes"] for row in rows_of(page, name)}
        assert len(stakes) == 1
        line = stakes.pop()
        assert "stakes of the report" in line
        assert "grant 5" in line
        assert "77" not in line
    line = rows_of(page, "systems")[0]["stakes"]
    assert "stakes changed on the page" in line
    assert "grant 77" in line


def test_a_picture_that_is_saved_shows_its_stakes_below_it(opened, demo):
    page = opened(demo)
    before = page.run("() => Number(document.querySelector('#roc svg').getAttribute('height'))")
    picture = ElementTree.fromstring(downloaded(page, "[data-svg=roc]"))
    height = float(picture.get("height") or 0)
    below = [
        node.text or ""
        for node in picture.iter(f"{SVG}text")
        if before < float(node.get("y") or 0) <= height
    ]
    assert "costs in loan margins" in " ".join(below)
    assert picture.get("viewBox", "").endswith(f" {height:g}")


# Limits ------------------------------------------------------------------------------------------


def test_under_limits_the_table_has_the_constant_decision_of_the_verdict(opened, limited):
    page = opened(limited)
    assert limited.verdict.unaided == "always approve"
    table = page.text("#systems")
    assert "always approve" in table
    assert "always review (breaks a limit)" in table
    assert "normalised" not in table
    assert "Normalised costs are left out: always review" in page.text("section:has(#systems)")
    rows = {row["system"]: row for row in rows_of(page, "systems")}
    unaided = limited.verdict.unaided_cost
    assert float(rows["always approve"]["cost per case"]) == pytest.approx(unaided, rel=1e-9)
    assert "limits: review: at most 10" in rows["always approve"]["stakes"]
    best = rows[limited.best.name]
    assert float(best["cost per case"]) == pytest.approx(limited.best.cost.value, rel=1e-9)
    text = str(limited)
    assert "always approve  " in text
    assert "normalised" not in text.split("Limits\n=")[0]


@pytest.mark.parametrize("name", ["limited", "limited_amounts"])
def test_a_page_without_sliders_has_the_tables_of_one_with_them(name, opened, request):
    report = request.getfixturevalue(name)
    page = opened(report)
    assert page.complaints == []
    assert page.text("#systems tr.best").startswith(report.best.name)
    assert page.page.locator("#systems tbody tr").first.locator("svg.bar").count() == 1
    for table in ("systems", "decisions", "quality", "limits"):
        assert rows_of(page, table), table
    assert "chance of being cheapest" in page.text("#systems")
    assert "What would change the verdict" in page.text(".content")
    assert "flip" not in page.text("body")
    page.page.fill("#volume", "2000")
    page.page.wait_for_timeout(500)  # the address follows after a while
    saving = page.text("#facts .fact:last-child")
    assert saving.startswith("saved per year, EUR")
    assert "per year" in page.text("#systems")
    page.page.reload()
    assert page.page.input_value("#volume") == "2000"
    assert page.page.is_visible("#copy")


def test_a_page_without_sliders_keeps_its_tables_without_javascript(opened, limited):
    page = opened(limited, java_script_enabled=False)
    assert "always approve" in page.text("body")
    assert page.text("tr.best").startswith(limited.best.name)


def test_the_explorer_under_limits_says_why_it_counts_otherwise(opened, limited):
    assert "each fold made with cuts of its own" in opened(limited).text("#explorer-section")


# Boxes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_the_box_at_the_sliders_says_how_sure_the_choice_is(viewport, opened, demo):
    page = opened(demo, viewport=viewport)
    level, low = "95 %: ", f"{demo.verdict.cost.low:.3f}"
    words = page.text("#now")
    assert level + low in words
    size = len(demo.verdict.contenders)
    rest = " may be the cheapest" if viewport == WIDE else ""
    assert f"a close call: {size} of 12{rest}" in words
    page.run("() => { const s = stakesPage.state(); s.costs[1][0] = 6; stakesPage.set(s); }")
    assert " of 12" in page.text("#now")


@pytest.mark.slow
def test_the_box_at_the_sliders_has_the_digits_of_the_headline_and_of_its_interval(opened):
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.2).astype(int)
    odds = {name: rng.normal(r**2 * (y - 0.5), r) for name, r in (("new", 2.0), ("old", 1.5))}
    models = {name: sigmoid(sharp + np.log(0.25)) for name, sharp in odds.items()}
    page = opened(evaluate(y, models, Problem.binary(false_alarm=1e9, miss=7e9, unit="EUR")))
    for share in (None, 0.1, 0.3, 0.5):
        page.run("s => s && stakesPage.set({prior: [1 - s, s]})", share)
        amount = page.text("#now .now-cost")
        assert amount == page.text("#facts .fact:first-child b") + " EUR"
        sentences = "#verdict-reported" if share is None else "#verdict-changed"
        assert f"{amount} per case (95 %" in page.text(sentences)


@pytest.mark.parametrize("name", ["demo", "amounts"])
def test_the_box_stays_in_view_beside_any_number_of_sliders(name, opened, request):
    page = opened(request.getfixturevalue(name), viewport=WIDE)
    page.run("() => scrollTo(0, document.querySelector('.stakes').offsetTop)")
    for selector in ("#now", "#reset", "#copy"):
        box = page.page.locator(selector).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= WIDE["height"]


PLACES = """() => [...document.querySelectorAll("main section, #volume, h2, .stakes")]
    .filter(node => node.checkVisibility())
    .map(node => Math.round(node.getBoundingClientRect().top + scrollY))"""


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["demo", "clinic", "limited"])
def test_typing_the_number_of_cases_moves_nothing(name, viewport, opened, request):
    page = opened(request.getfixturevalue(name), viewport=viewport)
    page.run("() => stakesPage.finished()")
    before = page.run(PLACES)
    page.page.fill("#volume", "250000")
    page.page.wait_for_timeout(300)
    page.run("() => stakesPage.finished()")
    assert "saved per year" in page.text("#facts")
    assert page.run(PLACES) == before


def test_no_column_is_cut_where_every_case_has_its_own_costs(opened, amounts):
    page = opened(amounts, viewport=WIDE)
    cut = """() => [...document.querySelectorAll(".scroll")].filter(node => node.checkVisibility())
        .filter(node => node.scrollWidth > node.clientWidth).map(node => node.id)"""
    assert page.run(cut) == []


# Charts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chart", ["cost-curve", "net-benefit", "reliability"])
def test_charts_draw_the_recommended_system(chart, opened, demo):
    page = opened(demo)
    assert demo.best.name.endswith("(recalibrated)")
    names = [name for name, _ in page.run("id => stakesPage.read(id, 0.05)", chart)]
    assert demo.best.name in names
    assert page.page.locator(f"#{chart} path.line.winner").count() == 1


def test_the_curve_of_the_recommended_system_has_its_cost(opened, demo):
    page = opened(demo)
    prior = demo.assumptions.prior[1]
    at = dict(page.run("x => stakesPage.read('cost-curve', x)", prior))
    assert at[demo.best.name] == pytest.approx(demo.best.cost.value, rel=1e-6)


@pytest.mark.parametrize("name", ["demo", "clinic", "digits"])
def test_a_shade_is_mentioned_only_where_it_can_be_seen(name, opened, request):
    page = opened(request.getfixturevalue(name))
    for chart, note in (("cost-curve", "cost-curve-note"), ("prior-chart", "prior-note")):
        widths = page.run(
            "id => [...document.querySelectorAll(`#${id} rect.shade`)]"
            ".map(node => node.getBoundingClientRect().width)",
            chart,
        )
        assert all(width >= 3.5 for width in widths)
        words = page.run("id => document.getElementById(id).textContent.includes('Shaded')", note)
        assert words == bool(widths)


def test_the_band_of_the_rule_says_where_its_axis_begins_and_ends(opened, clinic):
    page = opened(clinic, viewport=WIDE)
    ends = page.page.locator("#rule text.end").all_text_contents()
    assert len(ends) == 2
    caption = page.text("#rule-name")
    assert f"up to {ends[1]}" in caption or ends[1] == "100 %" or "log-odds" in caption


# State -------------------------------------------------------------------------------------------


def test_the_reading_and_the_cuts_survive_a_reload(opened, demo):
    page = opened(demo)
    page.page.check("[name=reading][value=kept]")
    page.page.locator("#explorer .cut").first.press("PageUp")
    page.page.wait_for_timeout(500)  # the address follows after a while
    words = page.text("#explorer-cost")
    page.page.reload()
    assert page.page.is_checked("[name=reading][value=kept]")
    assert page.text("#explorer-cost") == words
    page.page.goto(page.page.url.replace("#stakes=", "#stakes=oops"))
    page.page.reload()
    assert page.page.is_checked("[name=reading][value=anew]")
    assert page.complaints == []


def test_paper_has_no_words_about_typing_and_as_many_slices_as_the_screen(opened):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 900)
    stores = np.array([f"store {i}" for i in range(40)])[rng.integers(0, 40, y.size)]
    odds = 2 * y - 1 + rng.normal(size=y.size)
    models = {"new": sigmoid(odds), "old": sigmoid(odds + rng.normal(size=y.size))}
    page = opened(evaluate(y, models, Problem.zero_one(2), by=stores, calibrator=None))
    page.run("() => stakesPage.finished()")
    page.run("() => dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print")
    assert "type a value" not in page.text("#flips-section")
    assert page.page.locator("#slices tbody tr:visible").count() == 15
    assert "25 more are on the page and in its CSV." in page.text("#slices-section")


# Words -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_money_table_of_four_decisions_is_not_cut_on_a_wide_screen(opened):
    y, models, _ = payments(400)
    problem = Problem([[0, 1, 2, 5], [9, 4, 3, 0]], classes=["legit", "fraud"])
    page = opened(evaluate(y, models, problem, replicates=20), viewport=WIDE)
    widths = page.run(
        "() => ['scrollWidth', 'clientWidth'].map(w => document.querySelector('#money')[w])"
    )
    assert widths[0] == widths[1]


def test_the_chances_that_are_folded_away_are_mentioned(opened, demo):
    page = opened(demo)
    assert "The systems that are folded away have" in page.text("#chance-note")


@pytest.mark.slow
@pytest.mark.parametrize(
    "problem",
    [Problem([[1, 1], [2, 2]], prior=[0.9, 0.1]), Problem([[0, 1e16], [7e16, 0]])],
    ids=["no width", "huge"],
)
def test_bounds_without_width_and_of_huge_costs_are_those_of_the_terminal(problem, opened):
    y, models, _ = payments(400)
    report = evaluate((y == "fraud").astype(int), models, problem, replicates=20)
    row = rf"^{re.escape(report.best.name)} +\S+ +(\S+ to \S+)"
    bounds = re.search(row, str(report), flags=re.MULTILINE)
    assert bounds is not None
    assert bounds[1] in opened(report).text("#systems")


@pytest.mark.slow
def test_where_every_cost_is_zero_so_are_the_bounds(opened, demo):
    page = opened(demo)
    page.run("() => stakesPage.set({costs: [[0, 0, 0], [0, 0, 0]]})")
    assert "0 to 0" in page.text("#systems tr:has(.name)")


@pytest.mark.slow
def test_a_cost_without_a_sum_has_no_shares_but_its_known_amounts(opened):
    """Nobody knows what a class costs that the prior expects and the data lack."""
    problem = Problem([[0, 1], [3, 0]], prior=[0.9, 0.1])
    report = evaluate([0] * 12, np.linspace(0, 0.6, 12), problem, calibrator=None, replicates=20)
    page = opened(report)
    part = 0.9 * report.best.counts.values[0, 1] / 12
    assert "undefined" not in page.text("#money") + page.text("#costliest")
    assert page.text("#costliest .amount") == f"{part:.2f}"
    heat = "cell => +cell.style.getPropertyValue('--heat')"
    cells = page.page.locator(".cell")
    assert [cells.nth(i).evaluate(heat) for i in range(4)] == [0, 1, 0, 0]


def test_an_unclear_constant_decision_is_not_called_cheaper_flatly(opened):
    rng = np.random.default_rng(3)
    ill = rng.random(1500) < 0.12
    odds = rng.normal(np.where(ill, 1.2, -1.2), 1.55) - 2
    noisy = [odds + 0.5 * i * rng.normal(size=ill.size) > -1 for i in range(3)]
    models = {
        f"clerk {i}": Decisions(np.where(treated, "treat", "send home"))
        for i, treated in enumerate(noisy)
    }
    problem = Problem.binary(
        false_alarm=40, miss=650, classes=["well", "ill"], decisions=["send home", "treat"]
    )
    report = evaluate(np.where(ill, "ill", "well"), models, problem, replicates=10)
    assert report.verdict.deploy is None
    assert report.verdict.saving_over_naive.high > 0
    first = report.verdict.sentences[0]
    assert "is cheaper on these cases, though not clearly" in first
    page = opened(report)
    page.run("() => { const s = stakesPage.state(); s.costs[0][1] = 40.01; stakesPage.set(s); }")
    assert "is cheaper on these cases, though not clearly" in page.text("#verdict-changed")
