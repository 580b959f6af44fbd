"""What a reader needs of the page: to find, to reach, to read, to try, to share and to print it."""

from __future__ import annotations

import csv
import io
import itertools
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from page_tables import cases_of, scores_of
from stakes import Counts, Decisions, Limit, Problem, Report, Scores, evaluate, expected_cost

WIDE, PHONE = {"width": 1400, "height": 900}, {"width": 390, "height": 844}
NAMED: dict[str, Any] = {
    "classes": ["well", "ill"],
    "decisions": ["send home", "treat"],
    "unit": "EUR",
}
CLINIC = Problem.binary(false_alarm=1, miss=8, **NAMED)
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 10}


def patients(n_cases: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Log-odds of being ill, calibrated except for the prior, and who is ill."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_cases) < 0.12).astype(int)
    return np.array(["well", "ill"])[y], rng.normal(np.where(y == 1, 1.2, -1.2), 1.55) - 2, rng


def sigmoid(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds))


def clerks() -> Report:
    y, odds, rng = patients(300)
    noisy = [odds + 0.5 * i * rng.normal(size=y.size) > -1 for i in range(3)]
    decisions = [Decisions(np.where(treated, "treat", "send home")) for treated in noisy]
    models = {f"clerk {i}": decided for i, decided in enumerate(decisions)}
    return evaluate(y, models, CLINIC, **QUICK)


def raw_scores() -> Report:
    y, odds, rng = patients(400)
    models = {"A": Scores(40 * odds + 300), "B": Scores(odds + rng.normal(size=y.size))}
    return evaluate(y, models, CLINIC, **QUICK)


def many_rows() -> Report:
    """More distinct scores than the page holds, and a rare class: decisions at a sliver."""
    y, odds, _ = patients(20_000)
    models = {"nomogram": sigmoid(odds), "network": sigmoid(1.3 * odds)}
    return evaluate(y, models, Problem.binary(false_alarm=1, miss=200, **NAMED), **QUICK)


def sixty_models() -> Report:
    y, odds, rng = patients(150)
    noise = rng.normal(size=(60, y.size))
    models = {f"candidate {i:02d}": sigmoid((1 + 0.05 * i) * odds + noise[i]) for i in range(60)}
    return evaluate(y, models, CLINIC, **QUICK)


def thirty_classes() -> Report:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 30, 300)
    costs = rng.integers(1, 9, (30, 2)).astype(float)
    names = [f"kind {i}" for i in range(30)]
    problem = Problem(costs, classes=names, decisions=["keep", "send back"], unit="EUR")
    logits = rng.normal(size=(300, 30)) + 2 * np.eye(30)[y]
    posteriors = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return evaluate(np.array(names)[y], {"only": posteriors}, problem, **QUICK)


def one_model() -> Report:
    y, odds, _ = patients(300)
    return evaluate(y, sigmoid(odds), CLINIC, **QUICK)


def busy_wards() -> Report:
    """Totals, thresholds and decisions: all columns that the table of systems can have."""
    y, odds, rng = patients(1500)
    models = {
        "nomogram": sigmoid(odds),
        "network": sigmoid(2.5 * odds),
        "old score": sigmoid(odds + rng.normal(size=y.size)),
    }
    problem = Problem.binary(false_alarm=40, miss=650, **NAMED)
    return evaluate(y, models, problem, volume=20_000, period="year")


def payments(**limits: Any) -> Report:
    rng = np.random.default_rng(4)
    fraud = rng.random(300) < 0.2
    problem = Problem(
        [[0, 3, "5 + 0.02*amount"], ["amount", 8, 0]],
        classes=["legit", "fraud"],
        decisions=["approve", "review", "block"],
        unit="EUR",
        **limits,
    )
    p = np.clip(0.2 + 0.4 * fraud + 0.2 * rng.normal(size=300), 0.01, 0.99)
    y, data = np.array(problem.classes)[fraud.astype(int)], {"amount": rng.lognormal(4, 1, 300)}
    return evaluate(y, {"m": p, "m2": p**2}, problem, data=data, volume=1e6, period="year", **QUICK)


def limited() -> Report:
    """A limit on a decision, with the same costs for every case."""
    rng = np.random.default_rng(4)
    fraud = rng.random(400) < 0.2
    names = {"classes": ["legit", "fraud"], "decisions": ["approve", "review", "block"]}
    limits = [
        Limit.share("review", at_most=0.1),
        Limit.rate("approve", given="fraud", at_most=0.3),
    ]
    problem = Problem([[0, 3, 25], [180, 8, 0]], unit="EUR", limits=limits, **names)
    p = np.clip(0.2 + 0.4 * fraud + 0.2 * rng.normal(size=400), 0.01, 0.99)
    return evaluate(np.array(problem.classes)[fraud.astype(int)], {"m": p}, problem, **QUICK)


def hostile_labels() -> Report:
    """Labels that are tags, turn the direction of text, or never end."""
    y, odds, rng = patients(300)
    classes = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)> on and on and on']
    decisions = ["\u202eevil", "{{7*7}}", "</script><b>bold</b>"]
    problem = Problem([[0, 3, 9], [20, 5, 0]], classes=classes, decisions=decisions, unit="<€>")
    models = {
        "<b>": sigmoid(odds),
        "nameswithoutanyspace" * 6: sigmoid(odds + rng.normal(size=300)),
    }
    truth = np.array(classes, dtype=object)[(y == "ill").astype(int)].tolist()
    groups = np.array(["<u>a</u>", "__proto__"])[rng.integers(0, 2, 300)]
    return evaluate(truth, models, problem, by=groups, **QUICK)


MADE: dict[str, Callable[[], Report]] = {
    "hostile labels": hostile_labels,
    "decisions only": clerks,
    "raw scores": raw_scores,
    "many rows": many_rows,
    "sixty models": sixty_models,
    "thirty classes": thirty_classes,
    "one model": one_model,
    "busy wards": busy_wards,
    "case costs": payments,
    "limits": lambda: payments(limits=[Limit.share("review", at_most=0.1)]),
    "limits and one table of costs": limited,
}
REPORTS = ("demo", "clinic", "digits", *MADE)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {}


@pytest.fixture
def report_on(reports, request) -> Callable[[str], Report]:
    """A report by its name, made once."""

    def build(name: str) -> Report:
        if name not in reports:
            reports[name] = MADE[name]() if name in MADE else request.getfixturevalue(name)
        return reports[name]

    return build


@pytest.fixture
def shown(report_on, opened) -> Callable[..., Any]:
    """The page of a report, wide and light unless told otherwise."""
    return lambda name, **settings: opened(report_on(name), **{"viewport": WIDE, **settings})


# Reaching ----------------------------------------------------------------------------------------

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ALL = {"type": "tag", "values": TAGS}
AXE = """async runOnly => {
    const options = {resultTypes: ["violations"], preload: false, runOnly};
    const {violations} = await axe.run(document, options);
    return violations.map(({id, nodes}) => [id, nodes[0].html.slice(0, 120)].join(": "));
}"""


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
def test_axe_finds_no_violation(name, shown):
    axe = pytest.importorskip("axe_playwright_python")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    page = shown(name, bypass_csp=True)
    page.run("() => window.stakesPage && stakesPage.finished()")
    page.run(script)
    for viewport, scheme in itertools.product((WIDE, PHONE), ("light", "dark")):
        page.page.set_viewport_size(viewport)
        page.page.emulate_media(color_scheme=scheme)
        assert page.run(AXE, ALL) == [], (viewport, scheme)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "limits"])
def test_every_stop_of_the_tab_key_has_a_name_of_its_own_and_is_large_enough(name, shown):
    page = shown(name)
    tree = page.page.context.new_cdp_session(page.page)
    tree.send("Accessibility.enable")
    names = []
    for _ in range(200):
        page.page.keyboard.press("Tab")
        if page.run("() => document.activeElement === document.body"):
            break
        at = tree.send("Runtime.evaluate", {"expression": "document.activeElement"})["result"]
        asked = {"objectId": at["objectId"], "fetchRelatives": False}
        node = tree.send("Accessibility.getPartialAXTree", asked)["nodes"][0]
        names.append((node["role"]["value"], node.get("name", {}).get("value", "")))
    assert len(names) > 3
    assert [role for role, label in names if not label] == []
    buttons = [label for role, label in names if role == "button"]
    assert len(buttons) == len(set(buttons))
    small = """() => [...document.querySelectorAll("button, select, input, summary")]
        .filter(node => node.checkVisibility())
        .filter(node => (node.closest("label") || node).getBoundingClientRect().height < 23.9)
        .map(node => node.outerHTML.slice(0, 80))"""
    assert page.run(small) == []


LIGHT = """() => {
    const pen = document.createElement("canvas").getContext("2d");
    const light = color => {
        pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--card");
        pen.fillRect(0, 0, 1, 1);
        pen.fillStyle = color;
        pen.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const ratio = (first, second) => Math.max(first, second) / Math.min(first, second);
    const paper = light("transparent");
    const least = (selector, property) => Math.min(...[...document.querySelectorAll(selector)]
        .map(node => ratio(light(getComputedStyle(node)[property]), paper)));
    return [least("svg text:not(.band-name)", "fill"), least("path.line:not(.hull)", "stroke"),
            least(".explorer .area", "stroke")];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_in_pictures_and_lines_can_be_told_from_the_paper(scheme, shown):
    words, lines, fills = shown("demo", color_scheme=scheme).run(LIGHT)
    assert words >= 4.5
    assert lines >= 3
    assert fills >= 3


# Names that every chart writes at its lines or in the key below it.
LINES = """() => [...document.querySelectorAll("svg.chart[tabindex]")]
    .filter(node => node.checkVisibility())
    .map(node => [...node.querySelectorAll(".line-name, .key-entry > text")]
        .map(text => text.firstChild.data))"""


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["demo", "clinic", "digits", "sixty models"])
def test_every_line_of_a_chart_has_its_whole_name(name, viewport, shown, report_on):
    """At the line where there is room, else in a key below the chart; never cut."""
    page = shown(name, viewport=viewport)
    page.run("() => stakesPage.finished()")
    charts = page.run(LINES)
    assert len(charts) > (1 if name == "digits" else 3)
    assert [text for chart in charts for text in chart if "\u2026" in text] == []
    models = {model.model for model in report_on(name).models}
    systems = {system.name for system in report_on(name).systems}
    for chart in charts:
        assert set(chart) & (models | systems)
        assert len(chart) == len(set(chart))
    if name == "demo":
        assert set(charts[0]) == models | {report_on(name).best.name}
        assert "best constant decision" in charts[-1]
    overlaps = """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
        const texts = [...chart.querySelectorAll(".line-name, .key-entry > text, .axis-name")];
        const boxes = texts.map(node => node.getBoundingClientRect());
        return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b => a.left < b.right - 1
            && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4));
    }).length"""
    assert page.run(overlaps) == 0


@pytest.mark.slow
def test_the_button_that_unfolds_a_model_stands_beside_its_name(shown):
    below = """() => [...document.querySelectorAll("#systems .fold")].filter(button => {
        const name = button.closest(".name").querySelector("span").getBoundingClientRect();
        return button.getBoundingClientRect().top > name.bottom - 4;
    }).length"""
    page = shown("demo")
    assert page.page.locator("#systems .fold").count() > 3
    assert page.run(below) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["demo", "clinic", "busy wards", "raw scores", "digits", "case costs", "limits"]
)
def test_no_column_of_the_systems_is_cut_on_a_wide_screen(name, shown):
    page = shown(name)
    systems = page.page.locator("#systems")
    assert systems.evaluate("node => node.scrollWidth - node.clientWidth") <= 0
    if name == "busy wards":
        heads = page.page.locator("#systems thead th").all_inner_texts()
        assert {"per year", "decisions", "threshold"} <= set(heads)


# Finding -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", REPORTS)
def test_the_first_screen_says_which_model_and_rule_what_it_costs_how_sure_and_what_changes_it(
    name, shown, report_on
):
    page, verdict = shown(name), report_on(name).verdict
    page.run("() => window.stakesPage && stakesPage.finished()")
    card = page.page.locator(".verdict")
    assert card.bounding_box()["y"] + card.bounding_box()["height"] <= 900
    text = page.text(".verdict")
    if verdict.cheapest is not None:
        assert verdict.model in text
        assert f"{verdict.model} with " in text
        assert "of that" in text or verdict.share is None  # what it saves, as a share
    assert "per case" in text
    assert "95 %" in text
    if verdict.cheapest is not None:
        assert "saved against" in page.text(".facts")
    change = page.text(".verdict .nearest")
    assert change.startswith("Nearest change: ")
    assert "decide anew" in change or "stay" in change
    assert name != "limits" or "if you decide anew" in change
    bottom = page.page.locator(".verdict .nearest").bounding_box()
    assert bottom["y"] + bottom["height"] <= 900


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("name", ["demo", "raw scores", "decisions only"])
def test_every_rule_is_explained_where_it_stands(name, viewport, shown, report_on):
    """On the screen, without a pointer, and on paper."""
    page, best = shown(name, viewport=viewport), report_on(name).best
    rules = {system.name.rpartition(" (")[2].rstrip(")") for system in report_on(name).systems}
    assert len(rules) > (name != "decisions only")
    for media in ("screen", "print"):
        page.page.emulate_media(media=media)
        explained = [text.lower() for text in page.page.locator(".rules li").all_inner_texts()]
        assert all(any(text.startswith(rule) for text in explained) for rule in rules)
        assert all(page.page.locator(".rules li").nth(i).is_visible() for i in range(len(rules)))
        tag = best.name.rpartition(" (")[2].rstrip(")")
        assert page.text("#rule-meaning").lower().startswith(f"{tag}: ")


@pytest.mark.slow
def test_a_single_model_has_no_close_call_before_and_after_a_change(opened):
    y, odds, _ = patients(800)
    page = opened(evaluate(y, sigmoid(odds), Problem.binary(false_alarm=40, miss=650, **NAMED)))
    assert page.text("#facts").count("2 of 2") == 1
    assert page.text("#verdict-tag").endswith("its rule is close")
    page.run("() => stakesPage.set({costs: [[0, 41], [650, 0]]})")
    assert page.run("() => stakesPage.result().inference.contenders().length") == 2
    assert page.text("#verdict-tag").endswith("· its rule is close")


@pytest.mark.slow
def test_one_system_alone_has_no_chance_and_several_have_one_each(shown):
    page = shown("one model")
    assert "chance" not in page.text("#systems")
    assert "may be the cheapest" not in page.text("#facts")
    page = shown("clinic")
    assert page.text("#systems thead").count("chance of being cheapest") == 1
    assert "shrunk" not in page.text("body")


SHARES = {  # axes of probabilities, by their charts; costs and cost proportions are numbers
    "clinic": {"roc": "xy", "net-benefit": "x", "reliability": "xy", "prior-chart": "x"},
    "demo": {"cost-curve": "x", "prior-chart": "x"},
    "digits": {"class-reliability": "xy", "prior-chart": "x"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SHARES)
def test_probabilities_are_written_in_percent_at_axes_marks_and_in_tooltips(name, shown):
    page = shown(name)
    page.run("() => stakesPage.finished()")
    for chart, axes in SHARES[name].items():
        ticks = page.page.locator(f"#{chart} .tick")
        across = page.page.locator(f"#{chart} .tick[text-anchor=middle]:not(.cases + text)")
        up = page.page.locator(f"#{chart} .tick[text-anchor=end]")
        assert ticks.count() >= up.count() + across.count() > 4
        assert all(text.endswith(" %") for text in across.all_text_contents())
        assert all(text.endswith(" %") == ("y" in axes) for text in up.all_text_contents())
        for mark in page.page.locator(f"#{chart} .mark-name").all_text_contents():
            assert mark.endswith("\u00a0%")
        page.page.locator(f"#{chart} svg").focus()
        page.page.keyboard.press("ArrowRight")
        tip = page.page.locator(".tip.on")
        assert tip.locator(".tip-title").inner_text().endswith(" %")
        values = tip.locator(".tip-row b").all_inner_texts()
        assert values
        assert all(("%" in value) == ("y" in axes) for value in values if value != "undefined")
        page.page.keyboard.press("Escape")
    edges = page.page.locator("#prior-band .tick").all_text_contents()
    assert all(edge.endswith(" %") for edge in edges)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "case costs"])
def test_priors_are_written_in_percent(name, shown):
    page = shown(name)
    page.run("() => window.stakesPage && stakesPage.finished()")
    rows = page.page.locator("#flips tr, #margins tr").all_inner_texts()
    priors = [row for row in rows if row.startswith("prior of ")]
    assert priors
    assert all(row.count("%") >= 2 for row in priors)
    assert "%" in page.page.locator("#assumptions dt:text('prior') + dd").inner_text()


@pytest.mark.slow
def test_the_order_is_verdict_systems_money_explorer_then_an_appendix_with_its_contents(shown):
    page = shown("demo")
    titles = page.page.locator("h2:visible").all_inner_texts()
    wanted = [
        "What would change the verdict",
        "Cost of each system",
        "Where the money goes",
        "Try other thresholds",
    ]
    places = [titles.index(title) for title in (*wanted, "Technical appendix", "Curves")]
    assert places == sorted(places)
    assert titles[0].startswith("Verdict".upper())
    links = page.page.locator("#contents a")
    assert links.all_inner_texts() == titles[titles.index("Technical appendix") + 1 :]
    links.last.click()
    assert page.page.locator("#assumptions").bounding_box()["y"] < 900


@pytest.mark.slow
def test_a_page_without_sliders_has_the_same_order_and_contents(shown):
    page = shown("limits")
    titles = page.page.locator("h2:visible").all_inner_texts()
    wanted = ["Cost of each system", "Limits", "Where the money goes", "Technical appendix"]
    places = [titles.index(title) for title in (*wanted, "What metrics would have picked")]
    assert places == sorted(places)
    links = page.page.locator(".contents a:visible")
    assert links.all_inner_texts() == titles[titles.index("Technical appendix") + 1 :]
    links.last.click()
    assert page.page.locator("#assumptions").bounding_box()["y"] < 900
    reason = "cannot be tried here: every case has its own costs, and with 3 decisions even their"
    assert reason in page.text("main")
    page = shown("case costs")
    assert not page.page.is_visible("#explorer-section")
    assert reason in page.text("main")


@pytest.mark.slow
def test_a_threshold_tuned_on_other_cases_is_drawn_on_the_axis_of_its_score(shown):
    """It stays when the stakes move, and the page says which decisions follow and which do not."""
    page = shown("raw scores")
    best = page.run("() => stakesPage.result().best")
    assert best["way"] == "fixed"
    assert page.text("#rule-name").startswith(f"{best['name']} decides by the score of ")
    threshold = page.text("#systems tr.best").split()[-1]
    assert threshold in page.text("#rule")
    assert "thresholds tuned on these cases follow" in page.text("#following")
    assert not page.page.is_visible("#cost-curve-option")  # scores are no probabilities
    assert "all decisions stay" in shown("decisions only").text("#following")


@pytest.mark.slow
def test_more_decisions_than_colours_have_no_column_of_colours(shown):
    page = shown("digits")
    assert "decisions" not in page.text("#systems thead").split()
    hint = page.text("#flips-hint")
    assert "of all 120 numbers, the 12 that make another system as cheap soonest" in hint


@pytest.mark.slow
def test_what_would_be_empty_is_absent(shown):
    page = shown("decisions only")
    for place in ("#quality-section", "#curves-section", "#explorer-section", "#rule-figure"):
        assert not page.page.is_visible(place), place
    page = shown("raw scores")
    assert page.page.is_visible("#roc")
    assert not page.page.is_visible("#net-benefit-figure")
    assert not page.page.is_visible("#reliability-figure")


@pytest.mark.slow
def test_a_phone_keeps_the_chance_and_the_threshold(shown):
    page = shown("clinic", viewport=PHONE)
    row = page.page.locator("#systems tr.best")
    for head in ("chance", "threshold"):
        cell = row.locator(f'td[data-head*="{head}"]')
        assert cell.is_visible()
        assert "%" in cell.inner_text()


@pytest.mark.slow
def test_a_phone_shows_the_cost_of_every_slice_and_every_cell_of_a_small_table(shown):
    page = shown("demo", viewport=PHONE)
    right = "(node) => node.getBoundingClientRect().right"
    for cell in page.page.locator('#slices td[data-head="cost"], .cells .cell').all():
        assert cell.is_visible()
        assert cell.evaluate(right) < 390


@pytest.mark.slow
def test_a_phone_shows_every_cell_of_small_tables_on_a_page_without_sliders(shown):
    page = shown("limits", viewport=PHONE)
    for title in ("The stakes", "Where the money goes"):
        table = page.page.locator(f"section:has(h2:text-is('{title}')) .scroll")
        assert table.evaluate("node => node.scrollWidth - node.clientWidth") <= 0, title


@pytest.mark.slow
def test_under_limits_every_system_has_its_prices_in_one_table(shown, report_on):
    page = shown("limits and one table of costs")
    assert "continued" not in page.text("main")
    titles = page.page.locator("section:has(h2:text-is('Limits'))")
    assert titles.locator("thead th").last.inner_text() == "price"
    systems = report_on("limits and one table of costs").systems
    assert titles.locator("tbody tr").count() == 2 * len(systems)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "digits", "sixty models", "thirty classes"])
def test_paper_loses_no_column_and_nothing_covers_the_cells(name, shown):
    page = shown(name)
    page.run("() => dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print")
    page.run("() => document.body.style.width = '703px'")  # A4 without its margins
    outside = """() => [...document.querySelectorAll("td, th")].filter(node => {
        const edge = document.querySelector("main").getBoundingClientRect().right + 1;
        return node.checkVisibility() && node.getBoundingClientRect().right > edge;
    }).length"""
    assert page.run(outside) == 0
    apart = """() => {
        const [cells, list] = [".money table", ".money .costliest"].map(
            some => document.querySelector(some).getBoundingClientRect());
        const below = (first, second) => first.top >= second.bottom - 1;
        return list.left >= cells.right - 1 || below(list, cells) || below(cells, list);
    }"""
    assert page.run(apart)
    assert page.run("() => document.querySelector('style').textContent.includes('@page')")


# Pixels from the heading of a section to the end of its first picture or its second row: what
# stands in between is never parted.
HEADS = """() => [...document.querySelectorAll("section")].filter(node => node.checkVisibility())
    .map(node => {
        const first = [...node.querySelectorAll("figure svg, tbody tr:nth-child(2)")]
            .find(part => part.checkVisibility());
        const bottom = (first || node).getBoundingClientRect().bottom;
        const heading = node.querySelector("h2");
        return [bottom - heading.getBoundingClientRect().top, heading.textContent];
    })"""
KEPT = """() => [...document.querySelectorAll("*")].filter(node => node.checkVisibility()
    && getComputedStyle(node).breakInside === "avoid")
    .map(node => [node.getBoundingClientRect().height, node.outerHTML.slice(0, 60)])"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "digits", "limits", "raw scores", "sixty models"])
def test_paper_has_no_half_empty_sheets_and_waits_for_the_flips(name, shown):
    """What is kept together is at most a third of a sheet: no more than that stays empty."""
    page = shown(name)
    page.run("() => dispatchEvent(new Event('beforeprint'))")  # at once: nothing has been found yet
    page.page.emulate_media(media="print")
    page.run("() => document.body.style.width = '703px'")
    kept = page.run(KEPT)
    assert len(kept) > 10
    assert max(height for height, _ in kept) < 1017 / 3, max(kept)
    heads = [head for head in page.run(HEADS) if not head[1].startswith("Verdict")]
    assert len(heads) > 5
    assert max(heads)[0] < 0.36 * 1017, max(heads)
    if name == "demo":
        assert page.text("#nearest-flip").startswith("Nearest change: if you decide anew")
        assert page.page.locator("#flips tr, #flips p").count() > 0
        assert not page.page.is_visible("[value=kept]")


@pytest.mark.slow
def test_sixty_models_take_few_sheets_which_say_what_they_leave_out(shown):
    page = shown("sixty models")
    page.run("() => stakesPage.finished()")
    sheets = re.findall(rb"/Type\s*/Page\b", page.page.pdf(format="A4"))
    assert 4 < len(sheets) <= 8
    page.page.emulate_media(media="print")
    assert page.page.locator("#fold-note:visible").all_inner_texts() == [
        "10 of 60 models shown, the cheapest first."
    ]
    assert page.page.locator(".on-paper:visible").all_inner_texts() == [
        "30 more of this kind are on the page.",
        *2 * ["45 more are on the page and in its CSV."],
    ]


# The rule that is meant --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_band_of_decisions_has_the_axis_of_the_rule(shown):
    page = shown("clinic")
    assert "probability of ill" in page.text("#rule-name")
    assert "11.1 %" in page.text("#rule")
    page = shown("many rows")  # a false alarm costs 200 times less than a miss
    page.run("() => stakesPage.set({costs: [[0, 1], [20000, 0]]})")
    assert "0.005 %" in page.text("#rule")
    page = shown("demo")
    page.run("() => stakesPage.set({costs: [[0, 0.3, 30], [5, 0.3, 0]]})")
    assert "log-odds" in page.text("#rule-name")
    widths = page.run(
        "() => [...document.querySelectorAll('#rule rect')].map(rect => rect.width.baseVal.value)"
    )
    assert min(widths) > 0.04 * sum(widths)


# Trying thresholds -------------------------------------------------------------------------------

CUTS = "() => [...document.querySelectorAll('#explorer .cut')].map(cut => cut.ariaValueText)"


@pytest.mark.slow
def test_a_cut_moves_by_keyboard_and_its_counts_and_cost_follow(shown, report_on):
    page = shown("clinic")
    page.page.select_option("#explorer-pick", label="nomogram")
    table = next(model for model in page.data["models"] if model["name"] == "nomogram")["table"]
    cut = page.page.locator("#explorer .cut")
    cut.focus()
    for _ in range(7):
        page.page.keyboard.press("ArrowRight")
    row = page.run("() => stakesPage.tables().explorer")[2]
    threshold, cost = row[5], row[6]
    assert threshold > 1 / 9
    above = scores_of(table) > threshold
    well, ill = map(np.array, cases_of(table))
    counts = [[well[~above].sum(), well[above].sum()], [ill[~above].sum(), ill[above].sum()]]
    rows = page.run("() => stakesPage.tables().explorer")[1:]
    assert [row[3] for row in rows] == pytest.approx(np.ravel(counts))
    problem = report_on("clinic").problem
    expected = float(expected_cost(Counts(counts), Problem(problem.costs)))
    assert cost == pytest.approx(expected, rel=1e-9)
    assert f"{short(expected)} EUR per case" in page.text("#explorer-cost")
    assert page.run("() => document.activeElement.getAttribute('role')") == "slider"


def short(value: float) -> str:
    return f"{value:.3f}"


@pytest.mark.slow
def test_no_other_cut_is_cheaper_than_the_best_and_the_bayes_cut_is_that_of_the_costs(shown):
    page = shown("clinic")
    page.page.select_option("#explorer-pick", label="raw score")
    assert not page.page.is_visible("#explorer-bayes")  # no score is a probability
    cost = "() => stakesPage.tables().explorer[1][6]"
    page.page.click("#explorer-best")
    best = page.run(cost)
    page.page.locator("#explorer .cut").focus()
    page.page.keyboard.press("Home")
    for _ in range(100):
        page.page.keyboard.press("ArrowRight")
        assert page.run(cost) >= best - 1e-12
    page.page.select_option("#explorer-pick", label="network")
    page.page.click("#explorer-bayes")
    assert page.run(CUTS) == ["11.1 %"]
    page = shown("demo")
    page.page.click("#explorer-best")
    assert "as much as the best cuts" in page.text("#explorer-cost")
    assert len(page.run(CUTS)) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("base", "sentence"),
    [(0, r" 0\.0000\d+ EUR (more|less) than"), (5, r" less than 0\.001 EUR (more|less) than")],
)
def test_small_differences_are_written_without_powers_of_ten(base, sentence, opened):
    """One false alarm more costs some millionths per case; a base hides even more digits."""
    y, odds, _ = patients(3000)
    problem = Problem([[base, base + 0.01], [base + 8, base]], **NAMED)
    page = opened(evaluate(y, {"nomogram": sigmoid(odds)}, problem, **QUICK))
    page.page.locator("#explorer .cut").focus()
    sentences = []
    for _ in range(8):
        page.page.keyboard.press("ArrowLeft")
        sentences.append(page.text("#explorer-cost"))
    assert [text for text in sentences if re.search(r"\de−?\d", text)] == []
    assert any(re.search(sentence, text) for text in sentences), sentences


@pytest.mark.slow
def test_the_share_and_the_number_of_cases_of_each_decision_move_with_the_cut(shown, report_on):
    page = shown("clinic")
    assert "per 1000 cases" in page.text("#explorer-table")  # not “of”: the data are as many or not
    page.page.get_by_role("spinbutton", name="Cases per year").fill("20000")
    seen = []
    for key in ("Home", "ArrowRight", "End"):
        page.page.locator("#explorer .cut").focus()
        page.page.keyboard.press(key)
        rows = page.run("() => stakesPage.tables().explorer")[1:]
        shares = {row[2]: row[7] for row in rows}
        assert sum(shares.values()) == pytest.approx(1)
        prior = report_on("clinic").assumptions.prior
        treated = sum(prior[row[1] == "ill"] * row[4] for row in rows if row[2] == "treat")
        assert shares["treat"] == pytest.approx(treated)
        last = page.page.locator("#explorer-table tbody tr").last.inner_text().split("\t")
        assert last[0] == "of 20,000 cases per year"
        assert float(last[2].replace(",", "")) == pytest.approx(20000 * treated, rel=0.01)
        seen.append(treated)
    assert seen == sorted(seen, reverse=True)
    assert seen[0] > seen[-1]


@pytest.mark.slow
def test_under_limits_the_cuts_say_whether_they_keep_them(shown, report_on):
    """The rule stands at the limit; without it more cases are reviewed, and all costs less."""
    name = "limits and one table of costs"
    page, report = shown(name), report_on(name)
    assert "Other thresholds can be tried below" in page.text("main")
    outcomes = "() => [...document.querySelectorAll('#explorer-limits li')].map(n => n.innerText)"
    read = "() => stakesPage.tables().explorer"
    costs = []
    for button in ("Cuts of the rule", "Cuts without limits"):
        page.page.get_by_role("button", name=button).click()
        rows = page.run(read)[1:]
        counts = np.reshape([row[3] for row in rows], (2, 3))
        plain = report.problem.with_limits(None)
        costs.append(rows[0][6])
        assert costs[-1] == pytest.approx(float(expected_cost(Counts(counts), plain)), rel=1e-9)
        shares = counts[:, 1].sum() / 400, counts[1, 0] / counts[1].sum()
        reviewed, approved = (text.replace("\u00a0", " ") for text in page.run(outcomes))
        for text, share in ((reviewed, shares[0]), (approved, shares[1])):
            shown_numbers = re.findall(r"[\d.]+(?= to| %[ )])", text)
            here, low, high = map(float, shown_numbers[1:])
            assert here == pytest.approx(100 * share, rel=0.005)
            assert low < here < high
        assert reviewed.startswith("review: at most 10 % of cases; here ")
        assert reviewed.endswith(": broken.") == (button != "Cuts of the rule")
    assert costs[1] < costs[0]
    assert page.page.locator("#explorer .cut-mark text").all_text_contents().count("rule") == 2
    page.page.locator("#explorer .cut").first.focus()
    page.page.keyboard.press("End")  # all below the last cut are approved
    assert page.run(outcomes)[1].endswith("broken.")
    assert page.complaints == []


@pytest.mark.slow
def test_the_values_of_cuts_never_overlap(shown):
    page = shown("demo", viewport=PHONE)
    apart = """() => {
        const [left, right] = [...document.querySelectorAll("#explorer .mark-name")]
            .map(node => node.getBoundingClientRect());
        return left.left >= 0 && left.right <= right.left && right.right <= innerWidth;
    }"""
    for key in ("End", "Home"):  # both cuts at the same end of the axis
        for cut in (0, 1):
            page.page.locator("#explorer .cut").nth(cut).focus()
            page.page.keyboard.press(key)
        assert page.run(apart), key


@pytest.mark.slow
@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
def test_of_many_values_of_cuts_the_outermost_are_seen_or_that_of_the_cut_in_use(viewport, opened):
    y, odds, _ = patients(1500)
    steps = np.linspace(0, 10, 12)
    problem = Problem([steps, 0.3 * steps[::-1] ** 2], classes=NAMED["classes"])
    page = opened(evaluate(y, sigmoid(odds), problem, **QUICK), viewport=viewport)
    page.run("() => stakesPage.finished()")
    seen = """() => [...document.querySelectorAll("#explorer .cut")].flatMap((cut, i) => {
        const [name, line] = [".mark-name", "line"].map(part => cut.querySelector(part));
        if (getComputedStyle(name).visibility === "hidden") return [];
        const [box, at] = [name, line].map(node => node.getBoundingClientRect());
        const room = document.querySelector("#explorer svg").getBoundingClientRect();
        const inside = box.left >= room.left && box.right <= room.right;
        return [[i, inside && Math.abs(box.left + box.width / 2 - at.left) < 60]];
    })"""
    last = page.page.locator("#explorer .cut").count() - 1
    assert last > 5
    assert page.run(seen) == [[0, True], [last, True]]
    page.page.locator("#explorer .cut").nth(4).focus()
    assert page.run(seen) == [[4, True]]
    page.page.keyboard.press("ArrowRight")
    assert page.run(seen) == [[4, True]]


@pytest.mark.slow
def test_a_cut_is_dragged_and_pushes_its_neighbour(shown):
    page = shown("demo")
    first = page.page.locator("#explorer .cut path").first
    first.scroll_into_view_if_needed()
    box, room = first.bounding_box(), page.page.locator("#explorer").bounding_box()
    page.page.mouse.move(box["x"] + 8, box["y"] + 4)
    page.page.mouse.down()
    page.page.mouse.move(room["x"] + 0.95 * room["width"], box["y"] + 4, steps=4)
    page.page.mouse.up()
    low, high = (row for row in page.run("() => stakesPage.tables().explorer")[2:4])
    assert low[5] == high[5] > 0.7
    page.page.mouse.move(room["x"] + 20, box["y"] + 4)
    assert page.run("() => stakesPage.tables().explorer")[2][5] == low[5]  # it was let go
    assert page.complaints == []


# Many --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_sixty_models_fold_and_can_be_looked_for(shown):
    page = shown("sixty models")
    rows = page.page.locator("#systems tbody tr:visible .name")
    assert rows.count() == 10
    assert page.page.locator("#chips button").count() == 5
    assert len(page.run("() => stakesPage.read('roc', 0.5)")) == 5
    page.page.get_by_role("searchbox", name="find a model").fill("date 5")
    assert rows.count() == 10
    assert all("candidate 5" in text for text in rows.all_inner_texts())
    page.page.get_by_role("searchbox", name="find a model").fill("")
    page.page.get_by_role("button", name="Show all 60").click()
    assert rows.count() >= 60
    kinds = page.page.locator(".caveats dt").all_inner_texts()
    assert len(kinds) == len(set(kinds))


@pytest.mark.slow
def test_words_about_many_models_begin_with_the_choice_and_name_the_constant_decisions(
    shown, report_on
):
    page, choice = shown("sixty models"), report_on("sixty models").best.model
    page.run("() => stakesPage.finished()")
    words = page.page.locator("#prior-band .parts b").all_inner_texts()
    assert any(text.startswith(f"{choice}, ") and "other models" in text for text in words)
    assert any(re.search(r"other models or always (treat|send home)$", text) for text in words)


@pytest.mark.slow
def test_of_many_zones_words_tell_the_one_of_today_and_those_of_few_systems(opened):
    rng = np.random.default_rng(6)
    y = (rng.random(1000) < 0.3).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 1.5, size=(24, 1000)) - 0.8
    models = {f"model {i:02d}": sigmoid(odds) for i, odds in enumerate(log_odds)}
    page = opened(evaluate(y, models, Problem.binary(false_alarm=1, miss=4), **QUICK))
    page.run("() => stakesPage.finished()")
    words = page.page.locator("#proportion-band .parts li")
    assert words.count() == 3
    every = page.text("#proportion-band .hint")
    assert every.startswith("The nearest zones")
    assert int(every.removesuffix(".").split()[-1]) > 8


# Names in the bands of zones, and whether the mark of the present value crosses them.
NAMES = """() => [...document.querySelectorAll("svg.band:has(.now-mark)")].flatMap(band => {
    const mark = band.querySelector(".now-mark").getBBox();
    const now = mark.x + mark.width / 2;
    return [...band.querySelectorAll(".band-name")].map(name => {
        const box = name.getBBox();
        return [name.firstChild.data, box.x < now && now < box.x + box.width];
    });
})"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "raw scores", "sixty models"])
@pytest.mark.parametrize("viewport", [WIDE, PHONE])
def test_names_of_zones_are_whole_and_stand_beside_the_mark(name, viewport, shown):
    page = shown(name, viewport=viewport)
    page.run("() => stakesPage.finished()")
    names = page.run(NAMES)
    assert names
    assert not any(crossed for _, crossed in names), names
    assert not any("\u2026" in text for text, _ in names), names


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "hostile labels", "raw scores", "one model"])
def test_the_zone_of_today_is_what_the_verdict_says(name, shown, report_on):
    """At the prior of the report no posterior is moved, and fewer systems compete than beside."""
    page = shown(name)
    page.run("() => stakesPage.finished()")
    systems = {system.name: system.model for system in report_on(name).systems}
    now = page.run("() => stakesPage.state().prior.at(-1)")
    possible = page.run("() => stakesPage.result().inference.possible()")
    zones = page.run("() => stakesPage.tables().zones")[1:]
    over_prior = [row for row in zones if row[0] == zones[0][0]]
    (today,) = [names for _, low, high, names in over_prior if low <= now < high]
    models = {systems.get(each, each.removesuffix(" (moved)")) for each in today.split("; ")}
    assert models == {systems.get(each, each) for each in possible}


@pytest.mark.slow
def test_a_zone_of_one_model_has_the_colour_of_the_model(opened):
    """Grey stands for several. Over the prior, posteriors used as they come become moved ones."""
    y, odds, rng = patients(4000)
    models = {"good": sigmoid(odds), "poor": sigmoid(odds + 3 * rng.normal(size=y.size))}
    page = opened(evaluate(y, models, CLINIC, **QUICK))
    page.run("() => stakesPage.finished()")
    looks = page.run("""() => [...document.querySelectorAll("#prior-band .parts li")].map(
        node => [node.querySelector("b").textContent, node.querySelector("i").className])""")
    alone = {look for label, look in looks if label in ("good", "good (as is)", "good (moved)")}
    assert alone == {"block m0"}
    assert {look for label, look in looks if " or " in label} <= {"block plain"}


AT_ONCE = """() => new Promise(done => {
    window.setTimeout = () => 0; // what waits until the stakes rest never comes
    const parts = new Set();
    let nodes = 0;
    const watch = new MutationObserver(all => all.forEach(({target, addedNodes}) => {
        for (const node of addedNodes) nodes += 1 + (node.querySelectorAll?.("*").length ?? 0);
        parts.add(target.id);
    }));
    watch.observe(document.body, {childList: true, subtree: true});
    const slider = document.querySelector("#controls input[type=range]");
    slider.value = 0.4 * Number(slider.max);
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    requestAnimationFrame(() => requestAnimationFrame(() => done([nodes, [...parts]])));
})"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("sixty models", 400), ("thirty classes", 150)])
def test_a_change_makes_few_nodes_before_the_next_picture(name, most, shown):
    """How long that takes is printed by benchmarks/page.py."""
    page = shown(name)
    page.run("() => stakesPage.finished()")
    nodes, parts = page.run(AT_ONCE)
    assert page.run("() => stakesPage.result().changed")
    assert 0 < nodes < most
    assert {"verdict-changed", "facts"} <= set(parts)
    assert not {"roc", "implied", "prior-chart", "disagreement"} & set(parts)  # out of view
    assert page.page.locator("#systems tbody tr").count() < 20  # rows that are folded are not made


@pytest.mark.slow
def test_the_rules_of_a_model_unfold(shown):
    page = shown("demo")
    rows = page.page.locator("#systems tbody tr:visible .name")
    assert rows.count() == 4
    page.page.get_by_role("button", name="other rules of boosting").click()
    assert rows.count() == 6
    assert ["boosting" in text for text in rows.all_inner_texts()[:3]] == [True] * 3
    page.run("() => stakesPage.set({prior: [0.9, 0.1]})")
    assert rows.count() == 6


@pytest.mark.slow
def test_a_change_shows_what_is_in_view_first_and_all_of_it_soon(shown):
    page = shown("sixty models")
    page.page.locator("#controls input[type=range]").first.focus()
    marked = "() => document.querySelector('#implied table').dataset.old = 'yes'"
    page.run(marked)
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_function("() => document.body.classList.contains('changed')")
    page.page.wait_for_function("() => !document.querySelector('#implied table').dataset.old")
    assert page.complaints == []


# Sharing -----------------------------------------------------------------------------------------


def saved(page: Any, selector: str) -> str:
    with page.page.expect_download() as waiting:
        page.page.locator(selector).first.click()
    return Path(waiting.value.path()).read_text(encoding="utf-8")


def test_title_data_date_and_author_stand_at_the_head_as_text(demo):
    heading = {"title": "Loans <b>", "data": "German credit", "date": "May 2024", "author": "A & B"}
    html = demo.to_html(**heading)
    assert "<h1>Loans &lt;b&gt;</h1>" in html
    assert "German credit · May 2024 · A &amp; B · stakes" in html
    assert "<title>Loans &lt;b&gt;: " in html


@pytest.mark.slow
def test_the_address_keeps_the_stakes_over_a_reload_and_in_another_window(shown):
    page = shown("demo")
    page.page.get_by_role("spinbutton", name="prior of bad").fill("25")
    page.page.get_by_role("spinbutton", name="cost of grant for bad").fill("7.5")
    page.page.get_by_role("spinbutton", name="Cases per year").fill("1000")
    page.page.wait_for_function("() => /7[.]5.*1000/.test(location.hash)")
    page.page.get_by_role("link", name="Slices").click()  # a link within the page keeps them, too
    page.page.reload()
    assert page.run("() => stakesPage.state().costs[1][0]") == 7.5
    assert page.run("() => stakesPage.state().prior") == [0.75, 0.25]
    assert page.page.get_by_role("spinbutton", name="Cases per year").input_value() == "1000"
    assert page.page.locator("#verdict-changed").is_visible()
    assert "per year" in page.text("#systems thead")
    page.page.get_by_role("button", name="Reset").click()
    page.page.wait_for_function("() => location.hash === ''")


@pytest.mark.slow
@pytest.mark.parametrize(
    "hash",
    [
        "#stakes=(((0,1),(2,3)),(0.5,0.5),null)",  # of another shape
        "#stakes=(((0,0.3,1),(5,0.3,0)),(0.5,0.9),null)",  # no shares
        "#stakes=alert(1)",
        "#stakes=(((0,0.3,null),(5,0.3,0)),(0.5,0.5),null)",
    ],
)
def test_stakes_that_do_not_fit_the_page_are_ignored(hash, shown):
    page = shown("demo")
    page.page.goto(page.page.url + hash)
    page.page.reload()
    assert page.run("() => stakesPage.state()") == page.run("() => stakesPage.reported()")
    assert page.complaints == []


@pytest.mark.slow
def test_downloads_say_for_which_stakes_they_hold(shown):
    page = shown("demo")
    page.run("() => stakesPage.set({costs: [[0, 0.3, 1], [7.5, 0.3, 0]]})")
    rows = list(csv.DictReader(io.StringIO(saved(page, '[data-csv="systems"]'))))
    assert all("bad: grant 7.5, review 0.3, decline 0" in row["stakes"] for row in rows)
    assert all("bad 0.05" in row["stakes"] for row in rows)
    picture = ElementTree.fromstring(saved(page, '[data-svg="roc"]'))
    described = picture.find("{http://www.w3.org/2000/svg}desc")
    assert described is not None
    assert "grant 7.5" in (described.text or "")
    # The title of the page names what the report picked, which these stakes may not.
    pick = page.page.title().rpartition(": ")[2]
    assert pick
    for text in (*(row["stakes"] for row in rows), described.text or ""):
        assert text.startswith("What the decisions cost; stakes changed on the page; costs")
        assert pick not in text


@pytest.mark.slow
def test_the_picture_of_reliability_has_the_prior_that_moves_it(shown):
    page = shown("demo")
    page.run("() => stakesPage.set({prior: [0.5, 0.5]})")
    picture = ElementTree.fromstring(saved(page, '[data-svg="reliability"]'))
    described = picture.find("{http://www.w3.org/2000/svg}desc")
    assert described is not None
    assert "stakes changed on the page" in (described.text or "")
    assert "bad 0.5" in (described.text or "")


@pytest.mark.slow
def test_cuts_between_bins_are_called_approximate_and_those_of_the_rule_are_not(shown):
    page = shown("clinic")
    page.page.locator("#explorer-pick").select_option(label="nomogram")
    assert "≈" not in page.text("#explorer-cost")
    page.page.locator("#explorer .cut").focus()
    page.page.keyboard.press("ArrowRight")
    text = page.text("#explorer-cost")
    assert text.startswith("≈")
    assert "the page has scores in bins" in text
    page.page.locator("#explorer-bayes").click()
    assert "≈" not in page.text("#explorer-cost")


@pytest.mark.slow
def test_hundreds_of_fields_can_be_skipped_and_a_wide_table_fades(digits, opened):
    page = opened(digits)
    page.page.get_by_role("button", name="Skip these fields").focus()
    page.page.keyboard.press("Enter")
    assert page.run("() => document.activeElement.closest('.shared') !== null")
    money = page.page.locator("#money")
    page.page.set_viewport_size({"width": 600, "height": 900})
    page.page.wait_for_function("() => document.querySelector('#money.goes-on')")
    money.evaluate("node => node.scrollTo(node.scrollWidth, 0)")
    page.page.wait_for_function("() => !document.querySelector('#money.goes-on')")
    assert page.complaints == []


@pytest.mark.slow
def test_the_link_is_copied(shown):
    page = shown("demo", permissions=["clipboard-read", "clipboard-write"])
    page.run("() => stakesPage.set({prior: [0.8, 0.2]})")
    page.page.get_by_role("button", name="Copy link").click()
    page.page.wait_for_function("() => document.getElementById('copy').textContent !== 'Copy link'")
    assert "(0.8,0.2)" in page.page.url


@pytest.mark.slow
def test_the_page_of_five_models_stays_small(report_on):
    y, odds, rng = patients(3000)
    models = {f"m{i}": sigmoid(odds + 0.2 * i * rng.normal(size=y.size)) for i in range(5)}
    report = evaluate(y, models, CLINIC, **QUICK)
    assert len(report.to_html().encode()) < 400_000
