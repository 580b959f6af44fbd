"""The page in a real browser: opened from disk, moved by keyboard, with labels that attack it."""

from __future__ import annotations

import csv
import io
import shutil
import tomllib
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Between, Decisions, Problem, Scores, evaluate

TAG = "<script>alert(1)</script>"
BREAKOUT = '</script><img src=x onerror="window.broken=1">'
HOSTILE = [TAG, BREAKOUT]
ATTACKS = ['"><svg onload=alert(2)>', "</noscript></style><img src=//host.test/p>"]
MODELS = ["{{ 7*7 }}<b>", '=HYPERLINK("http://host.test")', "\u202egnp.exe"]


@pytest.fixture(scope="module")
def hostile():
    """Two classes and decisions, models, slices and a unit whose names are attacks."""
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    scores = np.clip(0.25 + 0.5 * y + 0.15 * rng.normal(size=200), 0.01, 0.99)
    problem = Problem(
        [[0, 2], [7, 0]], classes=HOSTILE, decisions=ATTACKS, unit="<i onclick=alert(3)>EUR</i>"
    )
    models = {name: np.clip(scores + 0.05 * i, 0, 1) for i, name in enumerate(MODELS)}
    groups = np.array(["<u>one</u>", "'; alert(4); '"])[rng.integers(0, 2, 200)]
    return evaluate(np.array(HOSTILE)[y], models, problem, by=groups, replicates=20)


# Opening -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "digits"])
def test_the_page_loads_from_disk_with_no_request_and_no_complaint(name, opened, request):
    page = opened(request.getfixturevalue(name))
    page.page.wait_for_timeout(100)
    assert [url.split("/")[-1] for url in page.requests] == ["report.html"]
    assert page.complaints == []
    assert page.run("() => document.body.classList.contains('live')")


@pytest.mark.slow
def test_the_policy_forbids_requests_even_to_the_page_itself(demo, opened):
    page = opened(demo)
    tried = page.run("() => fetch('https://host.test/').then(() => 'sent', () => 'blocked')")
    assert tried == "blocked"
    assert [url.split("/")[-1] for url in page.requests] == ["report.html"]
    added = """() => {
        const script = document.createElement("script");
        script.textContent = "window.broken = 1";
        document.body.append(script);
        return window.broken;
    }"""
    assert page.run(added) is None


def test_without_javascript_the_tables_are_there(demo, opened):
    page = opened(demo, java_script_enabled=False)
    text = page.text("body")
    for sentence in demo.verdict.sentences:
        assert sentence in text
    assert "Cost of each system" in text
    assert "need JavaScript" in text
    assert not page.page.locator("#controls").is_visible()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "digits"])
def test_the_verdict_has_the_same_key_figures_tag_and_rule_with_and_without_javascript(
    name, opened, request
):
    report = request.getfixturevalue(name)
    live, plain = opened(report), opened(report, java_script_enabled=False)
    for part in ("#verdict-tag", "#facts", "#rule-meaning"):
        assert live.text(part) == plain.text(part) != "", part
    assert plain.text("#nearest-flip").startswith("Nearest change: if today's decisions stay")


def test_the_verdict_is_that_of_the_report_until_something_moves(demo, opened):
    page = opened(demo)
    shown = page.page.locator("#verdict-reported")
    assert demo.verdict.sentences[0] in page.text("#verdict-reported")
    page.run("() => stakesPage.set({prior: [0.4, 0.6]})")
    assert not shown.is_visible()
    best = page.run("() => stakesPage.result().inference.expected()[0]")
    assert f"expect it to cost {best:.3f} loan margins per case" in page.text("#verdict-changed")
    page.page.get_by_role("button", name="Reset").click()
    assert shown.is_visible()
    assert page.run("() => stakesPage.state()") == page.run("() => stakesPage.reported()")


@pytest.mark.slow
def test_where_not_looking_is_cheaper_no_model_is_deployed(opened):
    """Scores that are sure and carry no information."""
    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.3).astype(int)
    models = {"coin": rng.random(300), "dice": rng.random(300)}
    problem = Problem.binary(false_alarm=1, miss=2, decisions=["pass", "stop"])
    report = evaluate(y, models, problem, calibrator=None, replicates=10)
    page = opened(report)
    assert report.verdict.saving_over_naive.value < 0
    assert "always pass" in page.page.title()
    assert "deploy none" in page.page.inner_text("#verdict-tag").lower()
    assert page.text("#money-pick option:first-child") == "the best of the models"
    assert "always pass, which needs none, costs" in page.text("#disagreement")
    page.run("() => stakesPage.set({costs: [[0, 1], [1.9, 0]]})")
    text = page.text("#verdict-changed")
    naive = page.run("() => stakesPage.result().naive.cost")
    assert text.startswith("Still always pass")
    assert "Deploy none: always deciding pass, which costs" in text
    assert f"costs {naive:.3f} per case" in text
    assert "always pass" in page.page.inner_text("#now")
    assert "always pass" in page.page.inner_text("#systems tr.best")
    assert "the best model" in page.page.inner_text("#facts")


@pytest.mark.slow
def test_where_not_looking_costs_the_same_no_model_is_deployed(demo, opened):
    page = opened(demo)
    page.run("() => stakesPage.set({costs: [[0, 9, 9], [0.001, 9, 9]]})")
    text = page.page.inner_text("#verdict-changed")
    assert ", now always grant: " in text
    assert "Deploy none: " in text
    assert "always deciding grant costs as little" in text
    assert "needs no model" in text


@pytest.mark.slow
def test_decisions_that_cannot_be_made_anew_are_not_called_bayes_decisions(digits, opened):
    """Many classes: the page holds the decisions for the stakes of the report only."""
    page = opened(digits)
    costs = digits.problem.costs + 0.25
    page.run("costs => stakesPage.set({costs})", costs.tolist())
    text = page.page.inner_text("#verdict-changed")
    assert "made for the stakes of the report would cost" in text
    assert "evaluate again" in text
    assert "Deploy" not in text
    assert "Bayes decisions" not in text
    page.run("costs => stakesPage.set({costs})", (costs * [[1] * 10 + [0]]).tolist())
    text = page.text("#verdict-changed")
    assert "always deciding ask a person, which costs 0 ct per case, is cheaper" in text
    assert "made for the stakes of the report, would cost" in text
    assert "no better" not in text


@pytest.mark.slow
def test_a_model_that_decides_by_itself_is_deployed_as_it_decides(opened):
    y = np.arange(60) % 2
    problem = Problem.binary(false_alarm=1, miss=4)
    page = opened(evaluate(y, {"clerk": Decisions(y)}, problem, replicates=10))
    page.run("() => stakesPage.set({costs: [[0, 2], [9, 0.5]]})")
    assert "Deploy clerk with its own decisions" in page.page.inner_text("#verdict-changed")


# Hostile labels ----------------------------------------------------------------------------------


def test_hostile_labels_stay_text(hostile, opened):
    page = opened(hostile)
    page.run("() => stakesPage.set({prior: [0.1, 0.9]})")
    page.page.wait_for_timeout(100)
    assert page.complaints == []
    assert [url.split("/")[-1] for url in page.requests] == ["report.html"]
    assert page.run("() => window.broken") is None
    counted = "tag => document.querySelectorAll(tag).length"
    for tag in ("img", "script[src]", "iframe", "svg[onload]", "i[onclick]", "td b b"):
        assert page.run(counted, tag) == 0, tag
    assert page.run(counted, "script") == 2
    text = page.page.inner_text("main")
    for label in (*HOSTILE, *ATTACKS, MODELS[0], "<u>one</u>", "<i onclick=alert(3)>EUR</i>"):
        assert label in text, label
    assert "49<b>" not in text
    assert "gnp.exe" in text
    assert "\u202e" not in text  # it would turn the direction of what stands behind it
    assert "\u202e" not in page.html
    assert page.data["models"][2]["name"] == MODELS[2]  # downloads have the name as it is


@pytest.mark.slow
def test_hostile_labels_stay_text_in_downloads(hostile, opened):
    page = opened(hostile)
    rows = list(csv.reader(io.StringIO(downloaded(page, '[data-csv="decisions"]'))))
    assert {row[1] for row in rows[1:]} == set(HOSTILE)
    assert {row[2] for row in rows[1:]} == set(ATTACKS)
    assert any(row[0].startswith("'=HYPERLINK") for row in rows)
    picture = ElementTree.fromstring(downloaded(page, '[data-svg="roc"]'))
    texts = {node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert MODELS[0] in texts
    assert tomllib.loads(downloaded(page, "#toml"))["classes"] == HOSTILE


def downloaded(page, selector) -> str:
    with page.page.expect_download() as waiting:
        page.page.locator(selector).first.click()
    return Path(waiting.value.path()).read_text(encoding="utf-8")


# Downloads ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_table_can_be_had(clinic, opened):
    page = opened(clinic)
    for button in page.page.locator("[data-csv]:visible").all():
        name = button.get_attribute("data-csv")
        rows = list(csv.reader(io.StringIO(downloaded(page, f'[data-csv="{name}"]'))))
        assert len(rows) > 1, name
        assert len({len(row) for row in rows}) == 1, name
    assert page.complaints == []


@pytest.mark.slow
def test_every_picture_can_be_had(clinic, opened):
    page = opened(clinic)
    for button in page.page.locator("[data-svg]:visible").all():
        name = button.get_attribute("data-svg")
        picture = ElementTree.fromstring(downloaded(page, f'[data-svg="{name}"]'))
        assert picture.tag == "{http://www.w3.org/2000/svg}svg", name
        assert "var(" not in ElementTree.tostring(picture, encoding="unicode"), name
    assert page.complaints == []


@pytest.mark.slow
def test_the_table_of_systems_is_saved_with_all_digits(clinic, opened):
    rows = list(csv.DictReader(io.StringIO(downloaded(opened(clinic), '[data-csv="systems"]'))))
    for row in rows[:-1]:
        system = clinic.system(row["system"])
        assert float(row["cost per case"]) == pytest.approx(system.cost.value, rel=1e-14)
        assert float(row["low"]) == system.cost.low


@pytest.mark.slow
def test_the_stakes_are_saved_as_a_problem_file(demo, opened, tmp_path):
    page = opened(demo)
    page.run("() => stakesPage.set({costs: [[0, 0.25, 1e-7], [4.5, -0.5, 0]], prior: [0.9, 0.1]})")
    (tmp_path / "stakes.toml").write_text(downloaded(page, "#toml"), encoding="utf-8")
    problem = Problem.from_toml(tmp_path / "stakes.toml")
    assert problem == Problem(
        [[0, 0.25, 1e-7], [4.5, -0.5, 0]],
        classes=demo.problem.classes,
        decisions=demo.problem.decisions,
        prior=[0.9, 0.1],
        unit=demo.problem.unit,
    )


@pytest.mark.slow
def test_costs_not_quite_known_are_saved_as_they_are_written_until_they_move(opened, tmp_path):
    problem = Problem([[0, 2], [Between(4, 10), 0]], unit="EUR")
    y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    models = {"new": p, "old": [0.3] * 100}
    page = opened(evaluate(y, models, problem, baseline="old", calibrator=None, replicates=10))
    assert page.complaints == []
    assert page.page.is_visible("text=Against the baseline")
    path = tmp_path / "stakes.toml"
    path.write_text(downloaded(page, "#toml"), encoding="utf-8")
    saved = Problem.from_toml(path)
    assert saved.beliefs == problem.beliefs
    assert page.page.is_visible("text=this table does not follow the sliders >> nth=0")
    page.run("() => stakesPage.set({costs: [[0, 2], [9, 0]], prior: [0.75, 0.25]})")
    assert page.page.is_visible("text=this table does not follow the sliders >> nth=0")
    path.write_text(downloaded(page, "#toml"), encoding="utf-8")
    assert Problem.from_toml(path).beliefs == ()


# Hands -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_slider_of_a_cost_works_by_keyboard(demo, opened):
    page = opened(demo)
    slider = page.page.get_by_role("slider", name="cost of grant for bad")
    before = page.run("() => stakesPage.result().naive.cost")
    slider.focus()
    for _ in range(3):
        page.page.keyboard.press("ArrowLeft")
    page.page.wait_for_function("() => document.body.classList.contains('changed')")
    cost = page.run("() => stakesPage.state().costs[1][0]")
    assert cost == pytest.approx(5 - 3 * 20 / 200)
    assert page.run("() => stakesPage.result().naive.cost") == pytest.approx(before * cost / 5)
    field = page.page.get_by_role("spinbutton", name="cost of grant for bad")
    assert float(field.input_value()) == pytest.approx(cost)
    assert "always deciding grant" in page.page.inner_text("#verdict-changed")
    assert slider.get_attribute("aria-valuetext") == "4.7 loan margins"


@pytest.mark.slow
def test_the_slider_of_the_prior_works_by_keyboard(demo, opened):
    page = opened(demo)
    slider = page.page.get_by_role("slider", name="prior of bad")
    slider.focus()
    for _ in range(10):
        page.page.keyboard.press("ArrowRight")
    prior = page.run("() => stakesPage.state().prior")
    assert prior[1] == pytest.approx(0.05 * 1.6, rel=0.05)
    assert sum(prior) == pytest.approx(1, abs=1e-15)


@pytest.mark.slow
def test_typing_a_number_recomputes_and_may_leave_the_range_of_the_slider(demo, opened):
    page = opened(demo)
    page.page.get_by_role("spinbutton", name="cost of decline for good").fill("250")
    assert page.run("() => stakesPage.state().costs[0][2]") == 250
    slider = page.page.get_by_role("slider", name="cost of decline for good")
    page.page.wait_for_function("() => document.body.classList.contains('changed')")
    assert float(slider.input_value()) == 250
    page.page.get_by_role("spinbutton", name="cost of decline for good").fill("")
    assert page.run("() => stakesPage.state().costs[0][2]") == 250


@pytest.mark.slow
def test_inputs_set_the_same_stakes_as_the_script(demo, opened):
    page = opened(demo)
    rng = np.random.default_rng(8)
    wanted = rng.uniform(0, 6, (2, 3)).round(3)
    for k, label in enumerate(demo.problem.classes):
        for d, decision in enumerate(demo.problem.decisions):
            field = page.page.get_by_role("spinbutton", name=f"cost of {decision} for {label}")
            field.fill(str(wanted[k, d]))
    page.page.get_by_role("spinbutton", name="prior of bad").fill("37")
    assert page.run("() => stakesPage.state()") == {
        "costs": wanted.tolist(),
        "prior": [1 - 0.37, 0.37],
    }
    first = page.run("() => stakesPage.result().ranked.map(({name, cost}) => [name, cost])")
    page.run("stakes => stakesPage.set(stakes)", page.run("() => stakesPage.state()"))
    assert page.run("() => stakesPage.result().ranked.map(({name, cost}) => [name, cost])") == first


@pytest.mark.slow
def test_moving_one_prior_of_many_keeps_the_proportions_of_the_others(digits, opened):
    page = opened(digits)
    before = np.array(page.run("() => stakesPage.state().prior"))
    page.page.get_by_role("spinbutton", name="prior of digit 3").fill("50")
    after = np.array(page.run("() => stakesPage.state().prior"))
    assert after[3] == 0.5
    others = np.delete(after, 3) / np.delete(before, 3)
    np.testing.assert_allclose(others, others[0])
    assert after.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.slow
def test_reset_gives_the_sliders_their_ranges_back(demo, opened):
    page = opened(demo)
    reach = "() => [...document.querySelectorAll('.slide')].map(line => [line.min, line.max])"
    before = page.run(reach)
    page.page.get_by_role("spinbutton", name="cost of decline for good").fill("2500")
    page.page.get_by_role("spinbutton", name="prior of bad").fill("99.99")
    page.page.wait_for_function("() => document.body.classList.contains('changed')")
    assert page.run(reach) != before
    page.page.get_by_role("button", name="Reset").click()
    assert page.run(reach) == before


@pytest.mark.slow
@pytest.mark.parametrize("typed", ["1e300", "-1e300"])
def test_absurd_costs_are_kept_within_reason(typed, clinic, opened):
    page = opened(clinic)
    page.page.get_by_role("spinbutton", name="cost of treat for well").fill(typed)
    page.page.wait_for_function("() => document.body.classList.contains('changed')")
    page.page.wait_for_timeout(50)
    cost = page.run("() => stakesPage.state().costs[0][1]")
    assert cost == np.clip(float(typed), -1e12, 1e12)
    assert page.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cost", "field"), [(1e9, "1e9"), (7.25e-9, "7.25e-9"), (123456789.0, "1.2346e8"), (40, "40")]
)
def test_a_long_cost_is_shown_without_needless_zeros(cost, field, clinic, opened):
    page = opened(clinic)
    page.run("cost => stakesPage.set({costs: [[0, cost], [8, 0]]})", cost)
    box = page.page.get_by_role("spinbutton", name="cost of treat for well")
    page.page.wait_for_function("box => Number(box.value) !== 1", arg=box.element_handle())
    assert box.input_value() == field


@pytest.mark.slow
def test_a_prior_is_shown_short_and_edited_whole(digits, opened):
    page = opened(digits)
    share = page.run("() => stakesPage.state().prior[3]")
    field = page.page.get_by_role("spinbutton", name="prior of digit 3")
    assert len(field.input_value()) <= 8
    assert float(field.get_attribute("title")) == pytest.approx(100 * share, rel=1e-14)
    assert page.run(
        "() => [...document.querySelectorAll('.figure')].every(box => "
        "box.scrollWidth <= box.clientWidth)"
    )
    field.focus()
    assert float(field.input_value()) == pytest.approx(100 * share, rel=1e-14)
    page.page.get_by_role("spinbutton", name="prior of digit 4").focus()
    page.page.wait_for_timeout(50)
    assert len(field.input_value()) <= 8
    assert page.run("() => stakesPage.state().prior[3]") == share


@pytest.mark.slow
def test_charts_are_read_by_keyboard(demo, opened):
    page = opened(demo)
    page.page.locator("#roc svg").focus()
    page.page.keyboard.press("ArrowRight")
    assert "false-alarm rate 52 %" in page.page.locator(".tip.on").inner_text()
    for name in ("logistic", "forest", "boosting", "naive bayes"):
        assert name in page.page.locator(".tip.on").inner_text()
    page.page.keyboard.press("Escape")
    assert page.page.locator(".tip.on").count() == 0
    assert page.page.locator("#roc .hair").count() == 0


@pytest.mark.slow
def test_exact_numbers_are_reached_by_keyboard(demo, opened):
    page = opened(demo)
    first = page.page.locator("#systems [tabindex='0']")
    assert first.count() == 1
    first.focus()
    page.page.keyboard.press("ArrowDown")
    second = page.run("() => stakesPage.result().ranked[1].cost")
    assert float(page.page.locator(".tip.on").inner_text()) == pytest.approx(second, rel=1e-14)
    page.page.keyboard.press("Escape")
    assert page.page.locator(".tip.on").count() == 0
    page.page.locator("#money [tabindex='0']").focus()
    page.page.keyboard.press("ArrowRight")
    assert "share of the cost" in page.page.locator(".tip.on").inner_text()


@pytest.mark.slow
def test_a_tooltip_shows_all_digits(demo, opened):
    page = opened(demo)
    page.page.locator("#systems tr.best td.strong").hover()
    cost = demo.system(demo.verdict.cheapest).cost.value
    shown = float(page.page.locator(".tip.on").inner_text())
    assert shown == pytest.approx(cost, rel=1e-14)


@pytest.mark.slow
def test_shares_are_those_of_the_regret_where_a_cost_is_a_gain(demo, opened):
    page = opened(demo)
    assert "share of the cost" in page.page.inner_text("#money-hint")
    page.run("() => stakesPage.set({costs: [[-2, 0.3, 1], [5, 0.3, -1]]})")
    assert "share of the regret" in page.page.inner_text("#money-hint")
    shares = page.page.locator("#money .cell b").all_inner_texts()
    parts = [float(text.removeprefix("< ").split()[0]) for text in shares if text != "–"]
    assert all(part > 0 for part in parts)
    assert sum(parts) == pytest.approx(100, abs=0.5 * len(parts))


@pytest.mark.slow
def test_models_can_be_left_out_of_the_charts(demo, opened):
    page = opened(demo)
    names = "() => stakesPage.read('roc', 0.5).map(line => line[0])"
    assert "forest" in page.run(names)
    page.page.get_by_role("button", name="forest", exact=True).click()
    assert "forest" not in page.run(names)
    page.page.keyboard.press("Enter")
    assert "forest" in page.run(names)


@pytest.mark.slow
def test_every_input_has_a_name(demo, opened):
    page = opened(demo)
    nameless = """() => [...document.querySelectorAll("input, select, button")].filter(node =>
        !node.labels?.length && !node.getAttribute("aria-label") && !node.textContent.trim()
    ).length"""
    assert page.run(nameless) == 0


# Looks -------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_many_numbers_share_one_slider(digits, opened):
    page = opened(digits)
    assert page.page.locator("input[type=range]:visible").count() == 1
    page.page.get_by_role("spinbutton", name="cost of read as 4 for digit 7").focus()
    slider = page.page.get_by_role("slider", name="cost of read as 4 for digit 7")
    slider.focus()
    page.page.keyboard.press("ArrowRight")
    old = digits.problem.costs[7, 4]
    assert page.run("() => stakesPage.state().costs[7][4]") == pytest.approx(old * 1.02)
    assert page.page.locator("#slices tbody tr").count() == 20


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_told_from_paper(scheme, demo, opened):
    """WCAG's contrast of at least 4.5 for text, of 3 for the colours of the models."""
    page = opened(demo, color_scheme=scheme)
    ratio = """([front, back]) => {
        const style = getComputedStyle(document.documentElement);
        const light = name => {
            const hex = style.getPropertyValue(name).trim();
            const [r, g, b] = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
                .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
        };
        const [one, two] = [light(front), light(back)];
        return Math.max(one, two) / Math.min(one, two);
    }"""
    for text in ("--ink", "--soft", "--accent", "--bad"):
        assert page.run(ratio, [text, "--card"]) >= 4.5, text
    assert page.run(ratio, ["--warn", "--warn-soft"]) >= 4.5
    for model in range(7):
        assert page.run(ratio, [f"--m{model}", "--card"]) >= 3, model


CONTRASTS = """() => [...document.querySelectorAll(".cell")].flatMap(cell => {
    const parts = text => text.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = text => {
        const scale = text.startsWith("color(") ? 1 : 255;
        const [r, g, b] = parts(text.replace("color(srgb", "")).map(v => v / scale)
            .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const back = light(getComputedStyle(cell).backgroundColor);
    return [...cell.children].map(node => {
        const front = light(getComputedStyle(node).color);
        return Math.max(front, back) / Math.min(front, back);
    });
})"""


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["clinic", "digits"])
def test_counts_can_be_read_in_the_hottest_cells(name, scheme, opened, request):
    page = opened(request.getfixturevalue(name), color_scheme=scheme)
    contrasts = page.run(CONTRASTS)
    assert len(contrasts) > 4
    assert min(contrasts) >= 4.5


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_keep_to_the_screen_and_to_their_ends(width, opened):
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 200)
    scores = np.clip(0.25 + 0.5 * y + 0.15 * rng.normal(size=200), 0.01, 0.99)
    problem = Problem(
        [[0, 2], [7, 0]],
        classes=["x" * 200, "y" * 200],
        decisions=["z" * 200, "w" * 200],
        unit="u" * 60,
    )
    family = "gradient boosted model of the third generation, "
    models = {f"{family}{end}": scores ** (1 + i) for i, end in enumerate(["wide", "deep"])}
    groups = np.array(["g" * 200, "h"])[rng.integers(0, 2, 200)]
    report = evaluate(np.array(problem.classes)[y], models, problem, by=groups, replicates=20)
    page = opened(report, viewport={"width": width, "height": 844})
    page.run("() => stakesPage.set({prior: [0.4, 0.6]})")
    assert page.run("() => document.documentElement.scrollWidth") <= width
    key = "() => [...document.querySelectorAll('#cost-curve .key-entry > text')]"
    assert len(set(page.run(f"{key}.map(node => node.firstChild.data)"))) == 2  # too long for lines
    assert page.page.locator(f'#systems [title="{family}deep (moved)"]').count() == 1
    assert page.complaints == []


@pytest.mark.slow
def test_a_long_name_is_shortened_between_whole_characters(opened):
    """An emoji is two units of a string, and has to stay whole."""
    page = opened(evaluate([0, 1] * 40, {"🌲" * 90: [0.2, 0.7] * 40}, Problem.zero_one(2)))
    assert "🌲…🌲" in page.text("#systems")
    assert page.run("() => document.body.innerText.isWellFormed()")


ORDER = """([selector, words]) => {
    const host = document.querySelector(selector);
    const walker = document.createTreeWalker(host, NodeFilter.SHOW_TEXT);
    const places = [];
    for (const word of words) {
        let node = walker.currentNode;
        while (!(node.data ?? "").includes(word)) node = walker.nextNode();
        const range = document.createRange();
        range.setStart(node, node.data.indexOf(word));
        range.setEnd(node, node.data.indexOf(word) + word.length);
        places.push(range.getBoundingClientRect().left);
    }
    return places;
}"""


@pytest.mark.slow
def test_numbers_beside_names_written_from_right_to_left_stay_in_place(opened):
    classes, decisions = ["سليم", "احتيال"], ["قبول", "رفض"]
    rng = np.random.default_rng(0)
    y = (rng.random(500) < 0.2).astype(int)
    odds = rng.normal(2 * y - 1, 1, (2, 500)) - 1
    models = dict(zip(["غابة", "شبكة"], 1 / (1 + np.exp(-odds)), strict=True))
    problem = Problem([[0, 1], [7, 0]], prior=[0.9, 0.1], classes=classes, decisions=decisions)
    page = opened(evaluate(np.array(classes)[y], models, problem, replicates=20))
    assert page.run("() => stakesPage.finished()")
    nodes = {
        "#assumptions div:nth-child(3) dd": [classes[0], "90", classes[1], "10", "stated"],
        "#costliest li": [classes[1], "→", decisions[0]],
        "#prior-band .parts li:last-child": ["ة", "%", "to"],
        "#verdict-reported p:nth-child(3)": ["Against", decisions[0], "which"],
    }
    for selector, words in nodes.items():
        places = page.run(ORDER, [selector, words])
        assert places == sorted(places), selector
    with page.page.expect_download() as waiting:
        page.page.click("[data-csv=systems]")
    saved = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert "غابة (as is)" in saved  # files have names only
    assert "\u2068" not in saved


# Odd reports -------------------------------------------------------------------------------------


def odd_reports():
    rng = np.random.default_rng(1)
    y = (rng.random(80) < 0.4).astype(int)
    p = np.clip(0.5 * y + 0.5 * rng.random(80), 0, 1)
    binary = Problem.binary(false_alarm=1, miss=5)
    three = Problem.zero_one(3)
    quick: dict[str, Any] = {"calibrator": None, "replicates": 10}
    yield "one model", lambda: evaluate(y, p, binary, replicates=10)
    yield (
        "a class is absent",
        lambda: evaluate([0] * 80, {"a": p, "b": p**2}, binary.with_prior([0.5, 0.5]), **quick),
    )
    yield (
        "a class has no prior",
        lambda: evaluate(y, {"a": 0.9 * p, "b": p / 2}, binary.with_prior([1, 0]), **quick),
    )
    yield (
        "utilities",
        lambda: evaluate(y, p, Problem.from_utilities([[15, -35], [-335, 165]]), **quick),
    )
    yield "one decision", lambda: evaluate(y, p, Problem([[1], [2]]), **quick)
    yield "nothing at stake", lambda: evaluate(y, p, Problem([[1, 1], [2, 2]]), **quick)
    yield (
        "fractional weights",
        lambda: evaluate(y, p, binary, weights=rng.uniform(0.5, 2, 80), **quick),
    )
    yield (
        "raw scores and decisions",
        lambda: evaluate(
            y, {"raw": Scores(20 * p - 7), "rule": Decisions(y[::-1])}, binary, **quick
        ),
    )
    yield (
        "decisions among three classes",
        lambda: evaluate(y, Decisions(y[::-1]), three.with_prior([0.4, 0.6, 0]), **quick),
    )
    yield (
        "certain and equal scores",
        lambda: evaluate(y, {"a": y.astype(float), "b": np.full(80, 0.5)}, binary, **quick),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=[] if name == "a class is absent" else [pytest.mark.slow])
        for name, make in odd_reports()
    ],
)
def test_odd_reports_open_and_move_without_complaint(make, opened):
    report = make()
    page = opened(report)
    shape = report.problem.costs.shape
    for costs in (report.problem.costs, np.zeros(shape), -np.ones(shape), np.eye(*shape)):
        page.run("costs => stakesPage.set({costs})", costs.tolist())
    for share in (0.0, 1e-9, 0.5, 1.0):
        prior = [1 - share, share, *([0.0] * (shape[0] - 2))]
        page.run("prior => stakesPage.set({prior})", prior)
    assert page.complaints == []
    assert "NaN" not in page.page.content().split("stakes-data")[0]


@pytest.mark.slow
def test_undefined_costs_put_not_looking_first_and_leave_no_section_empty(opened):
    """A class that the prior expects has no cases."""
    problem = Problem([[0, 3, 25], [180, 8, 0]], prior=[0.9, 0.1], decisions=["ok", "ask", "no"])
    page = opened(evaluate([0] * 40, [0.1, 0.3] * 20, problem, replicates=20))
    assert "deploy none" in page.text("#verdict-tag").lower()
    assert page.text("#now").split("\n")[:2] == ["cheapest now", "always ask"]
    assert page.text("#systems tbody tr:first-child th") == "always ask"
    assert page.text("#facts").endswith("undefined")  # without an interval
    assert not page.page.is_visible("#margins-section")
    assert page.complaints == []


def test_normalised_costs_are_undefined_for_all_where_nothing_can_be_gained(opened):
    """Always deciding x is perfect: 0 / 0, for perfect decisions and for itself as for a system."""
    problem = Problem([[0, 1], [0, 2]], decisions=["x", "y"])
    free = Decisions(["x"] * 60)
    page = opened(evaluate([0, 1] * 30, {"free": free}, problem, calibrator=None))
    rows = page.text("#systems tbody")
    assert (rows.count("undefined"), rows.count("0.000")) == (3, 4)  # one cost has an interval
