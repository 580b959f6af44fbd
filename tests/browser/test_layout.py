"""The page fits whatever fonts its reader has: the system's, a very wide and a very narrow one."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Decisions, Problem, Scores, evaluate
from stakes.cli.evaluate import demo_report

WIDTHS = (1400, 800, 380)
FONTS = {"system": None, "wide": 1.4, "narrow": 0.65}
KNOWN = ("DejaVu Sans", "Liberation Sans", "Arial", "Helvetica", "Roboto")
LOCAL = ", ".join(f'local("{name}")' for name in KNOWN)
FORCE = """@font-face {{ font-family: {font}; src: {src}; size-adjust: {size:.0f}%; }}
* {{ font-family: {font}, sans-serif !important; }}"""
WIDTH_OF = """async family => {
    await document.fonts.load(`16px ${family}`);
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = `16px ${family}`;
    return pen.measureText("0123456789 cost per case").width;
}"""

# Boxes that are narrower than what is in them, unless they scroll or end in … with a title; words
# of pictures that leave the picture, and names in a band that leave their part of it.
OVERFLOWING = """() => {
    const shown = node => node.checkVisibility() && node.getBoundingClientRect().width > 0;
    const style = node => getComputedStyle(node);
    const scrolls = node => ["auto", "scroll"].includes(style(node).overflowX);
    const cut = node => style(node).textOverflow === "ellipsis" && node.closest("[title]");
    const name = node => [node.tagName, node.getAttribute("class"), node.textContent.slice(0, 40)];
    const boxes = [...document.querySelectorAll("body *:not(svg *)")].filter(shown)
        .filter(node => node.clientWidth > 0 && node.tagName !== "SELECT")
        .filter(node => node.scrollWidth > node.clientWidth + 1 && !scrolls(node) && !cut(node));
    const texts = [...document.querySelectorAll("svg text")].filter(shown).filter(node => {
        const [text, picture] = [node, node.ownerSVGElement].map(n => n.getBoundingClientRect());
        return text.left < picture.left - 1 || text.right > picture.right + 1;
    });
    const names = [...document.querySelectorAll(".band-name")].filter(node => {
        const part = node.previousElementSibling.getBoundingClientRect();
        return node.getBoundingClientRect().right > part.right + 1;
    });
    return [...boxes, ...texts, ...names].map(name).map(String);
}"""


# Resizing is told to the page before its next picture.
NEXT_PICTURE = """() => new Promise(
    done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"""


@pytest.fixture(scope="module")
def long_labels():
    """Two classes with long names, two models of one family, slices, costs in the thousands."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 300)
    scores = np.clip(0.25 + 0.5 * y + 0.2 * rng.normal(size=300), 0.01, 0.99)
    problem = Problem(
        [[0, 2345.67], [123456, -0.000123]],
        classes=["a payment that is what it seems to be", "antidisestablishmentarianism" * 3],
        decisions=["let it through without a look", "hand it to the people in charge"],
        unit="thousand hours of work",
    )
    family = "gradient boosted model of the third generation, "
    models = {f"{family}{end}": scores ** (1 + i) for i, end in enumerate(["wide", "deep"])}
    groups = np.array(["the first of all regions and lands", "x"])[rng.integers(0, 2, 300)]
    return evaluate(np.array(problem.classes)[y], models, problem, by=groups, replicates=20)


@pytest.fixture(scope="module")
def payments():
    """Every case has its own costs, by a column with a long name; running costs and totals."""
    rng = np.random.default_rng(4)
    fraud = rng.random(300) < 0.2
    long = "amount of the payment in the currency of the country"
    problem = Problem(
        [[0, 3, f'5 + 0.02*column["{long}"]'], [f'max(1000, column["{long}"])', 8, 0]],
        classes=["legit", "fraud"],
        decisions=["approve", "review", "block"],
        unit="EUR",
    )
    p = np.clip(0.2 + 0.4 * fraud + 0.2 * rng.normal(size=300), 0.01, 0.99)
    common: dict[str, Any] = {
        "running_costs": {"m": 12.5},
        "volume": 1e6,
        "period": "year",
        "replicates": 20,
    }
    data = {long: rng.lognormal(8, 1, 300)}
    y = np.array(problem.classes)[fraud.astype(int)]
    return evaluate(y, {"m": p}, problem, data=data, calibrator=None, **common)


@pytest.fixture(scope="module")
def machine():
    """Raw scores only."""
    rng = np.random.default_rng(4)
    y = (rng.random(600) < 0.1).astype(int)
    scores = rng.normal(2.0 * y - 1, 1.2)
    models = {"svm": Scores(100 * scores + 300), "rank": Scores(scores + rng.normal(size=600))}
    return evaluate(y, models, Problem.binary(false_alarm=5, miss=80, unit="EUR"), replicates=20)


USUAL = ("demo", "clinic", "digits", "payments")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["long_labels", *(pytest.param(name, marks=pytest.mark.slow) for name in USUAL)],
)
def test_nothing_overflows_its_box_in_any_font_at_any_width(name, opened, request):
    """Wide tables scroll inside their cards; the page itself never scrolls sideways."""
    page = opened(request.getfixturevalue(name), bypass_csp=True)
    page.run("() => stakesPage.finished()")
    for font, size in FONTS.items():
        if size is not None:
            page.page.add_style_tag(content=FORCE.format(font=font, src=LOCAL, size=100 * size))
            forced, plain = (page.run(WIDTH_OF, family) for family in (font, "sans-serif"))
            assert abs(forced / plain - 1) > 0.15  # the font is really another one
        for width in WIDTHS:
            page.page.set_viewport_size({"width": width, "height": 900})
            page.page.wait_for_function("width => innerWidth === width", arg=width)
            page.run(NEXT_PICTURE)
            assert page.run("() => document.documentElement.scrollWidth") <= width, (font, width)
            assert page.run(OVERFLOWING) == [], (font, width)
    assert page.complaints == []


# Tops of the verdict and its parts, of the controls, and of all sections and figures.
TOPS = """() => [...document.querySelectorAll(
    ".top, .verdict, #facts, #rule-figure, #nearest-flip, #controls, #systems, section, figure"
)].filter(node => node.checkVisibility()).map(node => node.getBoundingClientRect().top + scrollY)"""


# Lines of room between the last sentence of the verdict and what stands below it
GAP = """() => {
    const texts = [...document.querySelectorAll("#verdict-reported p")].filter(
        node => node.checkVisibility());
    const stack = document.querySelector(".stack");
    const bottom = node => node.getBoundingClientRect().bottom;
    return (bottom(stack) - bottom(texts.at(-1))) / parseFloat(getComputedStyle(stack).lineHeight);
}"""


# Empty room below the table of flips, in rows of it
FLIPS_GAP = """() => {
    const host = document.querySelector("#flips");
    if (!host.lastElementChild) return 0;
    const bottom = node => node.getBoundingClientRect().bottom;
    const rows = [...host.querySelectorAll("tbody tr")].map(row => row.offsetHeight);
    return (bottom(host) - bottom(host.lastElementChild)) / Math.max(...rows);
}"""


TOUCHED = ("demo", "clinic", "digits", "machine", "payments", "long_labels")
SCREENS = [(1400, "system"), (390, "system"), (1400, "wide"), (390, "narrow"), (390, "wide")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "font"),
    [(name, *screen) for name in TOUCHED for screen in SCREENS[0 if name == "demo" else 2 :]],
)
def test_nothing_jumps_at_the_first_touch_in_any_font(name, width, font, opened, request):
    """Nothing moves: not above the touched control, nor beside it, nor below it."""
    screen = {"width": width, "height": 900}
    page = opened(request.getfixturevalue(name), bypass_csp=True, viewport=screen)
    if font != "system":
        style = FORCE.format(font=font, src=LOCAL, size=100 * (FONTS[font] or 1))
        page.page.add_style_tag(content=style)
        page.run(WIDTH_OF, font)
        for pixels in (width - 1, width):  # it is laid out again
            page.page.set_viewport_size({**screen, "width": pixels})
            page.page.wait_for_function("width => innerWidth === width", arg=pixels)
            page.run(NEXT_PICTURE)
    page.run("() => stakesPage.finished()")
    page.page.locator("#controls input[type=range]").first.focus()
    before = page.run(TOPS)
    assert page.run(GAP) <= 2.5  # little empty room is kept for what a change will say
    assert page.run(FLIPS_GAP) <= (1.5 if width == 1400 else 2.5)
    page.page.keyboard.press("ArrowRight")
    page.page.wait_for_function("() => document.body.classList.contains('changed')")
    page.run("() => stakesPage.finished()")
    # Below the table of flips, which lists others, a row may take a line more in so wide a font.
    stays = 8 if (name, width, font) == ("demo", 1400, "wide") else None
    assert page.run(TOPS)[:stays] == pytest.approx(before[:stays], abs=1)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1400, 390])
def test_the_verdict_has_room_for_a_model_where_the_report_deploys_none(width, opened):
    """To deploy a model takes more sentences and figures; what stands below them stays."""
    rng = np.random.default_rng(3)
    y = (rng.random(1500) < 0.12).astype(int)
    odds = rng.normal(np.where(y == 1, 1.2, -1.2), 1.55) - 2
    names = np.array(["send home", "treat"])
    decided = [(odds + 0.6 * i * rng.normal(size=1500) > -1.4).astype(int) for i in range(4)]
    clerks = {f"clerk {i}": Decisions(names[taken]) for i, taken in enumerate(decided)}
    problem = Problem.binary(false_alarm=40, miss=650, decisions=list(names), unit="EUR")
    report = evaluate(y, clerks, problem, replicates=20)
    assert report.verdict.deploy is None
    page = opened(report, viewport={"width": width, "height": 900})
    page.run("() => stakesPage.finished()")
    tops = """() => ["#facts", "#rule-meaning", "#nearest-flip", "#controls", "#flips-section"].map(
        part => document.querySelector(part).getBoundingClientRect().top + scrollY)"""
    before = page.run(tops)
    assert page.run(GAP) < 2.5
    page.run("() => stakesPage.set({costs: [[0, 44], [650, 0]]})")
    page.run("() => stakesPage.finished()")
    assert "now clerk 0" in page.text("#verdict-changed")
    assert page.run(tops) == pytest.approx(before, abs=1)


@pytest.mark.slow
def test_on_a_phone_zones_that_are_briefly_others_break_their_lines(opened):
    """Where they end stays in one line; the names of what is briefly among them do not have to."""
    page = opened(demo_report(), viewport={"width": 390, "height": 844})
    page.run("() => stakesPage.finished()")
    assert ", briefly " in page.text("#prior-band .parts")
    right = "() => document.querySelector('#prior-band').getBoundingClientRect().right"
    rights = """() => [...document.querySelectorAll("#prior-band .parts *")].map(
        node => node.getBoundingClientRect().right)"""
    assert max(page.run(rights)) <= page.run(right) + 1
