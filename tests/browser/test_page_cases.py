"""The page of costs of every case: coefficients move, decisions stay, and Python says the same."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Decisions, Problem, Report, Scores, evaluate
from stakes.evaluation.evidence import NO_MODEL
from stakes.render.tables import nearest_change

SETTINGS = 20
READ = """settings => settings.map(stakes => {
    stakesPage.set(stakes);
    const {systems, rivals, naive, unaided, namesModel, best} = stakesPage.result();
    const pick = ({name, cost}) => [name, cost];
    return {
        costs: Object.fromEntries([...systems, ...rivals].map(pick)),
        naive, unaided, namesModel, best: best.name,
        tables: stakesPage.tables(),
    };
})"""


def payments(problem: Problem, **options: Any) -> Report:
    rng = np.random.default_rng(6)
    fraud = rng.random(1500) < 0.12
    data = {"amount": rng.lognormal(4, 1, 1500).round(2), "hours spent": rng.integers(1, 5, 1500)}
    odds = rng.normal(np.where(fraud, 1.6, -1.6), 1.8) - 2
    models = {
        "new": 1 / (1 + np.exp(-odds)),
        "raw": Scores(odds + rng.normal(size=1500)),
        "old rule": Decisions(np.where(data["amount"] > 120, problem.decisions[-1], "approve")),
    }
    y = np.where(fraud, "fraud", "legit")
    by = np.where(rng.random(1500) < 0.5, "north", "south")
    common: dict[str, Any] = {"by": by, "replicates": 20, **options}
    return evaluate(y, models, problem, data=data if problem.columns else None, **common)


THREE = Problem(
    {
        "legit": {"approve": 0, "review": '2 * column["hours spent"]', "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": "8 + 0.1*max(20, amount)", "block": 0},
    },
    unit="EUR",
)
TWO = Problem(
    {
        "legit": {"approve": 0, "block": "5 + 0.01*amount"},
        "fraud": {"approve": "amount", "block": 1},
    },
    prior=[0.95, 0.05],
    unit="EUR",
)


@pytest.fixture(scope="module")
def three():
    """Three decisions, running costs and a volume."""
    return payments(THREE, running_costs={"new": 0.05}, volume=250_000, period="year")


@pytest.fixture(scope="module")
def two():
    """Two decisions, and a model that costs something to run."""
    return payments(TWO, running_costs={"new": 0.05})


@pytest.fixture(scope="module")
def paid():
    """The same costs for every case, and a model that costs something to run."""
    return payments(TWO.at(amount=80), running_costs={"new": 0.2, "raw": 0.01}, calibrator=None)


def settings_for(report: Report, seed: int) -> list[dict[str, Any]]:
    """Coefficients of any sign, zeros among them, where there are some; and extreme priors."""
    rng = np.random.default_rng(seed)
    written = report.problem.terms.coefficients
    expected_cells = []
    for _ in range(SETTINGS):
        drawn = rng.exponential(size=written.shape) * rng.choice([0, 1, 5, -0.3], written.shape)
        prior = np.maximum(rng.dirichlet([rng.choice([0.3, 1.0, 5.0])] * 2), 1e-6)
        prior /= prior.sum()
        expected_cells.append({"costs": np.where(np.isnan(written), 0.0, drawn), "prior": prior})
    return [{name: part.tolist() for name, part in setting.items()} for setting in expected_cells]


def problem_of(report: Report, setting: dict[str, Any]) -> Problem:
    """The problem that has these coefficients, written out."""
    terms = report.problem.terms.names
    costs = [
        [" + ".join(f"{a!r}*({t})" for a, t in zip(cell, terms, strict=True)) for cell in row]
        for row in setting["costs"]
    ]
    named: dict[str, Any] = {"classes": report.problem.classes, "prior": setting["prior"]}
    return Problem(costs, decisions=report.problem.decisions, **named)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), [("three", 1), ("two", 2)])
def test_twenty_random_coefficients_give_the_costs_of_python(name, seed, opened, request):
    report = request.getfixturevalue(name)
    page = opened(report)
    settings = settings_for(report, seed)
    for setting, displayed in zip(settings, page.run(READ, settings), strict=True):
        expected = report.costs_under(problem_of(report, setting))
        for system, cost in displayed["costs"].items():
            assert cost == pytest.approx(expected[system], rel=1e-9, abs=1e-9), system
        assert NO_MODEL in displayed["costs"]
        always = {d: expected[f"always {d}"] for d in report.problem.decisions}
        assert displayed["naive"]["cost"] == pytest.approx(min(always.values()), rel=1e-9, abs=1e-9)
        blind = min(*always.values(), expected[NO_MODEL])
        assert displayed["unaided"]["cost"] == pytest.approx(blind, rel=1e-9, abs=1e-9)
        candidates = [expected[system.name] for system in report.systems if system.candidate]
        assert displayed["namesModel"] == (min(candidates) < blind - 1e-9)
    assert page.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three", "two", "paid"])
def test_the_page_of_cases_begins_with_the_numbers_of_the_report(name, opened, request):
    report = request.getfixturevalue(name)
    page = opened(report)
    (displayed,) = page.run(READ, [{}])
    for system in (*report.systems, *filter(None, [report.no_model])):
        assert displayed["costs"][system.name] == pytest.approx(system.cost.value, rel=1e-12)
    assert displayed["best"] == report.best.name
    assert displayed["namesModel"] == (report.verdict.kind != "none")
    rows = {row[0]: row[2:] for row in displayed["tables"]["margins"][1:]}
    assert set(rows) == {margin.what for margin in report.margins}
    for margin in report.margins:
        low, low_rival, high, high_rival = rows[margin.what]
        np.testing.assert_allclose([low, high], [margin.low, margin.high], rtol=1e-7, atol=1e-9)
        assert (low_rival, high_rival) == (margin.low_rival or "", margin.high_rival or "")
    [regions] = report.regions
    shown = [row[1:] for row in displayed["tables"]["regions"][1:] if row[0] == regions.axis]
    assert [row[2] for row in shown] == ["; ".join(part.cheapest) for part in regions.parts]
    np.testing.assert_allclose([row[0] for row in shown], [p.low for p in regions.parts], atol=1e-9)
    spent = {row[0]: 0.0 for row in displayed["tables"]["decisions"][1:]}
    for row in displayed["tables"]["decisions"][1:]:
        spent[row[0]] += row[-1]
    for system in report.systems:
        assert spent[system.name] + system.running_cost == pytest.approx(
            system.cost.value, rel=1e-9
        )


@pytest.mark.slow
def test_the_cost_by_threshold_is_that_of_python(two, opened):
    page = opened(two)
    labels = page.page.locator("#cost-curve .line-name, #cost-curve .key-entry").all_text_contents()
    assert {"new", f"always {two.naive.decision}", NO_MODEL} <= set(labels)
    [model] = [model for model in two.models if model.model == "new"]
    read = "x => Object.fromEntries(stakesPage.read('cost-curve', x))"
    for setting in ({}, settings_for(two, 3)[0]):
        page.run("stakes => stakesPage.set(stakes)", setting)
        costs = model.by_threshold.costs(problem_of(two, setting) if setting else two.problem)
        lines = [page.run(read, x) for x in (0.011, 0.2, 0.47)]
        for x, line in zip((0.011, 0.2, 0.47), lines, strict=True):
            place = np.flatnonzero(model.by_threshold.thresholds <= x)[-1]
            assert line["new"] == pytest.approx(costs[place] + 0.05, rel=1e-9)
            assert "raw" not in line  # of another scale
    assert page.page.locator("#cost-curve svg").is_visible()


@pytest.mark.slow
def test_the_cost_over_the_prior_has_what_the_model_costs_to_run(opened):
    problem = THREE.at(**{"amount": 80, "hours spent": 2})
    report = payments(problem, running_costs={"new": 0.4}, calibrator=None, replicates=2)
    prior = report.assumptions.prior[1]
    shown = dict(opened(report).run("x => stakesPage.read('cost-curve', x)", prior))
    assert shown["new"] == pytest.approx(report.system("new (as is)").cost.value, rel=1e-9)


@pytest.mark.slow
def test_each_coefficient_has_a_slider_and_the_page_says_that_decisions_stay(three, opened):
    page = opened(three)
    labels = page.run("() => [...document.querySelectorAll('#controls .slide')].map(node => "
                      "node.getAttribute('aria-label'))")  # fmt: skip
    assert labels == [
        "cost of approve for legit",
        "cost of review for legit, × hours spent",
        "cost of block for legit",
        "cost of block for legit, × amount",
        "cost of approve for fraud, × amount",
        "cost of review for fraud",
        "cost of review for fraud, × max(20, amount)",
        "cost of block for fraud",
        "prior of fraud, in percent",
    ]
    assert "decisions stay as they are made now" in page.text(".stakes")
    assert "max(20, amount) moves as a whole: the numbers inside stay" in page.text(".stakes")
    assert "the printed report" not in page.text("#margins-section")  # which does not know either
    box = page.page.get_by_label("cost of block for legit, × amount").first
    box.fill("0.03")
    page.page.wait_for_timeout(60)
    changed = page.run("() => stakesPage.state().costs")
    assert changed[0][2][::2] == [5, 0.03]
    text = page.text("#verdict-changed")
    assert "for the stakes of the report would cost" in text
    assert "evaluate again with these costs" in text
    assert "for the stakes of the report" in text
    assert not page.page.locator("#rule-figure").is_visible()
    assert not page.page.locator("#implied-section").is_visible()
    perfect = page.page.locator("#systems tr", has_text="perfect decisions").locator(".unknown")
    assert set(perfect.all_inner_texts()) == {"–"}
    page.page.get_by_role("button", name="Reset").click()
    assert "normalised" in page.text("#systems")
    assert NO_MODEL in page.text("#systems")
    assert page.complaints == []


@pytest.mark.slow
def test_totals_stand_beside_the_costs_per_case(three, opened):
    page = opened(three)
    assert "per year" in page.text("#systems thead")
    best = page.run("() => stakesPage.tables().systems.find(row => row[0] !== 'system')")
    assert 250_000 * best[3] == pytest.approx(best[-1])


@pytest.mark.slow
def test_moved_coefficients_are_saved_as_a_problem_file_that_python_reads(three, opened, tmp_path):
    page = opened(three)
    setting = settings_for(three, 5)[0]
    page.run("stakes => stakesPage.set(stakes)", setting)
    path = saved(page, tmp_path)
    assert tomllib.loads(path.read_text(encoding="utf-8"))["unit"] == "EUR"
    costs = three.costs_under(Problem.from_toml(path))
    shown = page.run("() => stakesPage.result().systems.map(({name, cost}) => [name, cost])")
    for name, cost in shown:
        assert costs[name] == pytest.approx(cost, rel=1e-9)


@pytest.mark.slow
def test_stakes_that_were_not_moved_are_saved_as_they_were_written(three, two, opened, tmp_path):
    """A prior that is the data's stays the data's; factors of one are left out."""
    file = tomllib.loads(saved(opened(three), tmp_path).read_text(encoding="utf-8"))
    assert "prior" not in file
    assert file["costs"]["fraud"]["approve"] == "amount"
    assert file["costs"]["legit"]["review"] == '2*column["hours spent"]'
    assert file["costs"]["fraud"]["review"] == "8 + 0.1*(max(20, amount))"
    file = tomllib.loads(saved(opened(two), tmp_path).read_text(encoding="utf-8"))
    assert file["prior"] == {"legit": 0.95, "fraud": 0.05}


def saved(page: Any, folder: Path) -> Path:
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name="Save as TOML").click()
    waiting.value.save_as(folder / "saved.toml")
    return folder / "saved.toml"


@pytest.mark.slow
def test_other_thresholds_for_cases_with_their_own_costs_cost_what_python_says(two, opened):
    page = opened(two)
    page.page.select_option("#explorer-pick", label="new")
    by_threshold = two.models[0].by_threshold
    costs = by_threshold.costs(two.problem) + 0.05  # what it costs to run
    assert not page.page.is_visible("#explorer-bayes")  # no threshold suits all cases
    page.page.click("#explorer-best")
    assert page.run("() => stakesPage.tables().explorer")[1][6] == pytest.approx(min(costs))
    for key in ("Home", "PageUp", "PageUp", "PageUp", "ArrowRight", "End"):
        page.page.locator("#explorer .cut").focus()
        page.page.keyboard.press(key)
        row = page.run("() => stakesPage.tables().explorer")[2]
        place = np.searchsorted(by_threshold.thresholds, row[5], side="right") - 1
        assert row[6] == pytest.approx(costs[place], rel=1e-9)
    assert page.complaints == []


@pytest.mark.slow
def test_terms_that_were_not_summed_leave_the_page_still_and_it_says_why(opened):
    y, data = [0, 1] * 20, {f"x{i}": np.arange(40.0) for i in range(40)}
    problem = Problem([[0, " + ".join(data)], [9, 0]])
    report = evaluate(y, {"new": [0.2, 0.7] * 20}, problem, data=data, calibrator=None)
    page = opened(report)
    assert "more than 32 terms" in page.text("body")
    assert page.page.locator("script").count() == 0


@pytest.mark.slow
def test_without_cases_of_a_class_nothing_is_the_cheapest_once_its_prior_moves(opened):
    """Each of its cases would have costs of its own, which nobody knows."""
    rng = np.random.default_rng(0)
    y, p, data = ["legit"] * 60, 0.2 * rng.random(60), {"amount": rng.lognormal(4, 1, 60)}
    problem = TWO.with_prior(None)
    report = evaluate(y, {"new": p}, problem, data=data, volume=1e6, replicates=20)
    page = opened(report)
    unknown = nearest_change(report)
    assert unknown == "none is known, if today's decisions stay: there is no case of fraud."
    assert page.text("#now").split("\n")[:2] == ["cheapest now", "always approve"]
    assert page.text("#nearest-flip").replace("\u2019", "'") == f"Nearest change: {unknown}"
    page.run("() => stakesPage.set({prior: [0.6, 0.4]})")
    assert page.text("#now").split("\n")[:2] == ["cheapest now", "not known"]
    assert "always" not in page.text("#facts") + page.text("#systems")
    assert np.isnan(page.run("() => stakesPage.result().naive.cost"))
    assert "∞" not in page.text("#disagreement")
    assert not re.search("NaN|always undefined", page.page.content().split("stakes-data")[0])
    assert page.complaints == []


@pytest.mark.slow
def test_many_classes_have_a_field_for_every_coefficient(opened):
    """A matrix for each case: every cost is a factor on its own column."""
    rng = np.random.default_rng(2)
    y, names = np.arange(200) % 4, ["a", "b", "c", "d"]
    costs = rng.random((200, 4, 4)) * (1 - np.eye(4))
    problem = Problem.zero_one(names)
    posteriors = 0.1 + 0.6 * np.eye(4)[rng.permutation(y)]
    report = evaluate(
        np.array(names)[y], {"m": posteriors}, problem, case_costs=costs, calibrator=None
    )
    page = opened(report)
    setting = settings_for(report, 7)[0] | {"prior": [0.1, 0.2, 0.3, 0.4]}
    (displayed,) = page.run(READ, [setting])
    expected = report.costs_under(problem_of(report, setting))
    assert displayed["costs"]["m (as is)"] == pytest.approx(expected["m (as is)"], rel=1e-9)
    assert page.page.locator("#controls input[type=number]").count() == 4 * 4 + 4
    assert page.complaints == []
