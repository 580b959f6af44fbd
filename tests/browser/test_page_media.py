"""The page on paper, on a phone and in the dark: what is read there is whole, and large enough."""

from __future__ import annotations

import itertools
import shutil
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Problem, Report, evaluate

PHONE = {"width": 390, "height": 844}
A4 = 703  # pixels between the margins
FIVE_POINTS = 20 / 3  # pixels
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 10}
NAMED: dict[str, Any] = {
    "classes": ["well", "ill"],
    "decisions": ["send home", "treat"],
    "unit": "EUR",
}


def patients(n_cases: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    """Who is ill, and the log-odds of that."""
    rng = np.random.default_rng(3)
    ill = rng.random(n_cases) < 0.12
    return np.where(ill, "ill", "well"), rng.normal(np.where(ill, 1.2, -1.2), 1.55) - 2, rng


def sigmoid(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds))


@pytest.fixture(scope="module")
def wards() -> Report:
    """Five models, four of them badly calibrated, one with a long name; nine slices."""
    y, odds, rng = patients(1500)
    models = {
        f"network of ward {i}": sigmoid((3 + i) * odds + rng.normal(size=1500)) for i in range(4)
    }
    models["the ward's scoring rule of 2019"] = sigmoid(odds + rng.normal(size=1500))
    groups = np.array([f"site {i}" for i in range(9)])[rng.integers(0, 9, 1500)]
    problem = Problem.binary(false_alarm=40, miss=650, **NAMED)
    return evaluate(y, models, problem, by=groups, **QUICK)


@pytest.fixture(scope="module")
def kinds() -> Report:
    """Thirty classes by thirty decisions."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 30, 900)
    costs = rng.integers(1, 9, (30, 30)) * (1.0 - np.eye(30))
    names = [f"kind {i}" for i in range(30)]
    logits = rng.normal(size=(900, 30)) + 2 * np.eye(30)[y]
    posteriors = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    problem = Problem(costs, classes=names, unit="EUR")
    return evaluate(np.array(names)[y], {"only": posteriors}, problem, **QUICK)


@pytest.fixture(scope="module")
def crowd() -> Report:
    """Nearly two million cases, as weights."""
    y, odds, rng = patients(2000)
    models = {"nomogram": sigmoid(odds), "network": sigmoid(1.3 * odds + rng.normal(size=2000))}
    problem = Problem.binary(false_alarm=1, miss=60, **NAMED)
    return evaluate(y, models, problem, weights=np.full(2000, 970), **QUICK)


def on_paper(page: Any) -> Any:
    """The page as it is laid out on a sheet."""
    page.run("() => stakesPage.finished()")
    page.run("() => dispatchEvent(new Event('beforeprint'))")
    page.page.emulate_media(media="print")
    page.run(f"() => document.body.style.width = '{A4}px'")
    return page


# Paper -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_paper_says_how_many_caveats_it_leaves_out_and_prints_those_that_were_opened(wards, opened):
    page = on_paper(opened(wards))
    more = page.page.locator(".caveats .on-paper")
    assert more.inner_text() == "3 more of this kind are on the page."
    assert more.is_visible()
    assert not page.page.locator(".caveats summary").is_visible()
    page.run("() => { document.querySelector('.caveats details').open = true; }")
    assert page.page.locator(".caveats details li").count() == 3
    assert page.page.locator(".caveats details li").last.is_visible()
    assert not more.is_visible()
    assert not page.page.locator(".caveats summary").is_visible()


# Sizes of the letters in all cells that are printed, in pixels of the sheet.
LETTERS = """() => [...document.querySelectorAll(".scroll td, .scroll th")]
    .filter(node => node.checkVisibility() && node.textContent.trim())
    .map(node => parseFloat(getComputedStyle(node).fontSize)
        * (Number(node.closest("table").style.getPropertyValue("--shrink")) || 1))"""


@pytest.mark.slow
def test_paper_prints_no_table_that_nobody_can_read_but_its_costliest_cells(kinds, opened):
    page = on_paper(opened(kinds))
    assert min(page.run(LETTERS)) > FIVE_POINTS
    assert not page.page.is_visible("#money")
    left_out = page.page.locator(".too-wide:visible").all_inner_texts()
    assert left_out == [
        "32 columns are more than a sheet can hold: this table is on the page and in its CSV."
    ]
    assert page.page.locator("#costliest li:visible").count() == 24
    assert page.text("#class-costs-rest") == "18 more are on the page and in its CSV."
    page.run("() => dispatchEvent(new Event('afterprint'))")
    page.page.emulate_media(media="screen")
    assert page.page.is_visible("#money")
    assert page.page.locator(".too-wide").count() == 0
    assert page.page.locator("#costliest li").count() == 6


@pytest.mark.slow
def test_paper_holds_thirty_costs_of_thirty_classes_in_one_table(kinds, opened):
    page = on_paper(opened(kinds))
    widths = page.run(
        """() => [...document.querySelectorAll(".fields input")].map(
            node => [node.scrollWidth - node.clientWidth, node.getBoundingClientRect().right])"""
    )
    assert len(widths) == 30 * 31
    edge = page.run("() => document.querySelector('main').getBoundingClientRect().right")
    assert max(hidden for hidden, _ in widths) <= 0  # no number is cut off
    assert max(right for _, right in widths) <= edge + 1


# Pixels of one unit of each chart and band on the sheet: all letters in them have the same size.
SCALES = """() => [...document.querySelectorAll("svg.chart, svg.band")]
    .filter(node => node.checkVisibility() && node.viewBox.baseVal.width > 260)
    .map(node => node.getBoundingClientRect().width / node.viewBox.baseVal.width)"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "wards", "digits"])
def test_all_charts_on_paper_have_letters_of_one_size(name, opened, request):
    page = on_paper(opened(request.getfixturevalue(name)))
    scales = page.run(SCALES)
    assert len(scales) > (2 if name == "digits" else 6)
    assert min(scales) * 11 > 8
    assert max(scales) / min(scales) < 1.15


# The parts of each figure with zones: whether all of them are in one box that no sheet ends in.
ZONES = """() => [...document.querySelectorAll(".parts")].filter(node => node.checkVisibility())
    .map(node => {
        const figure = node.closest("figure");
        return [getComputedStyle(figure).breakInside, figure.querySelectorAll("svg").length > 0,
                figure.getBoundingClientRect().height];
    })"""


@pytest.mark.slow
def test_zones_in_words_stay_on_the_sheet_of_their_picture(wards, opened):
    zones = on_paper(opened(wards)).run(ZONES)
    assert len(zones) == 3
    for kept, pictured, height in zones:
        assert kept == "avoid"
        assert pictured
        assert height < 1017 / 3


# Phones ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_on_a_phone_a_long_name_leaves_no_empty_space_above_the_other_headings(wards, opened):
    page = opened(wards, viewport=PHONE)
    lines = """() => [...document.querySelectorAll("#disagreement thead, #implied thead")].map(
        node => node.getBoundingClientRect().height
            / parseFloat(getComputedStyle(node.querySelector("th")).lineHeight))"""
    heights = page.run(lines)
    assert len(heights) == 2
    assert max(heights) < 3  # two lines and the padding


@pytest.mark.slow
def test_on_a_phone_whether_a_slice_is_clear_stands_beside_the_cost_there(wards, opened):
    page = opened(wards, viewport=PHONE)
    tops = """() => [...document.querySelectorAll("#slices tr:not([hidden])")].map(
        row => ["cost", "95 %", "at", "clearly"].map(
            head => row.querySelector(`td[data-head="${head}"]:not(:empty)`))
            .map(cell => cell && cell.getBoundingClientRect().bottom))
        .filter(([, , , clearly]) => clearly)"""
    rows = page.run(tops)
    assert len(rows) > 1
    for cost, interval, at, clearly in rows:
        assert interval == pytest.approx(cost, abs=4)
        assert clearly == pytest.approx(at, abs=4)


@pytest.mark.slow
def test_on_a_phone_every_bar_of_cases_has_its_number_and_none_touches_the_next(crowd, opened):
    page = opened(crowd, viewport=PHONE)
    bars = page.run("() => stakesPage.cases('reliability').filter(({cases}) => cases > 0).length")
    boxes = page.run(
        """() => [...document.querySelectorAll("#reliability rect.cases ~ text.tick")]
            .map(node => node.getBoundingClientRect()).map(({left, right}) => [left, right])"""
    )
    assert len(boxes) == bars > 7
    assert all(right <= left for (_, right), (left, _) in itertools.pairwise(boxes))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crowd", "wards", "clinic"])
def test_labels_of_the_edges_of_zones_do_not_touch(name, opened, request):
    page = opened(request.getfixturevalue(name), viewport=PHONE)
    page.run("() => stakesPage.finished()")
    gaps = page.run(
        """() => ["prior", "proportion", "ratio"].flatMap(axis => {
            const labels = [...document.querySelectorAll(`#${axis}-band .tick`)]
                .map(node => node.getBoundingClientRect());
            return labels.slice(1).map((box, i) => box.left - labels[i].right);
        })"""
    )
    assert len(gaps) > 2
    assert min(gaps) > 7.5


# In the dark -------------------------------------------------------------------------------------

# The least ratio of the light of names in bands and of their background, and of bars and the card.
NAMES = """() => {
    const pen = document.createElement("canvas").getContext("2d");
    const card = getComputedStyle(document.documentElement).getPropertyValue("--card");
    const light = (...layers) => {
        for (const [color, opacity] of [[card, 1], ...layers]) {
            pen.globalAlpha = opacity;
            pen.fillStyle = color;
            pen.fillRect(0, 0, 1, 1);
        }
        const [r, g, b] = [...pen.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const ratio = (first, second) => Math.max(first, second) / Math.min(first, second);
    const fill = node => [getComputedStyle(node).fill, getComputedStyle(node).fillOpacity];
    const names = [...document.querySelectorAll(".band-name")].map(node => {
        const part = fill(node.previousElementSibling);
        return ratio(light(part, fill(node)), light(part));
    });
    const bars = [...document.querySelectorAll(".cases")].map(
        node => ratio(light(fill(node)), light()));
    return [Math.min(...names), Math.min(...bars)];
}"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_names_in_bands_can_be_read_and_bars_of_cases_can_be_seen(scheme, demo, opened):
    page = opened(demo, color_scheme=scheme)
    page.run("() => stakesPage.finished()")
    names, bars = page.run(NAMES)
    assert names >= 4.5
    assert bars >= 3
