"""The page where numbers tie: scores on a border, systems that decide blindly, priors of one."""

from __future__ import annotations

import shutil
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Decisions, Problem, Report, evaluate

pytestmark = pytest.mark.slow
NAMES: dict[str, Any] = {"classes": ["no", "yes"], "decisions": ["skip", "act", "ask"]}
ASKING = Problem([[0, 5, 1], [5, 0, 1]], **NAMES)
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 10}


def coarse(problem: Problem, **options: Any) -> Report:
    """Probabilities in tenths, so that many lie exactly where the decision changes."""
    rng = np.random.default_rng(7)
    y = (rng.random(120) < 0.35).astype(int)
    share = 0.35 + 0.3 * (y - 0.35)
    models = {
        name: np.clip(np.round(share + rng.normal(0, noise, y.size), 1), 0.1, 0.9)
        for name, noise in (("a", 0.2), ("b", 0.25))
    }
    return evaluate(np.array(["no", "yes"])[y], models, problem, **QUICK, **options)


@pytest.fixture(scope="module")
def asking() -> Report:
    return coarse(ASKING, volume=5000)


@pytest.mark.parametrize(
    "costs", [ASKING.costs.tolist(), [[0, 7, 2], [3, 0, 2]], [[0, 3, 9], [7, 0, 9]]]
)
def test_bayes_cuts_decide_about_ties_as_the_bayes_rule_does(costs, asking, opened):
    """The third decision lies between the others: at its border the one listed first is taken."""
    page = opened(asking)
    page.run("costs => stakesPage.set({costs})", costs)
    again = coarse(Problem(costs, **NAMES))
    share = page.run("() => stakesPage.state().prior[1]")
    heights = dict(page.run("share => stakesPage.read('cost-curve', share)", share))
    for model, place in (("a", "0"), ("b", "1")):
        page.page.select_option("#explorer-pick", place)
        known = again.system(f"{model} (as is)")
        rows = page.run("() => stakesPage.tables().explorer")[1:]
        counts = {(row[1], row[2]): row[3] for row in rows}
        cells = [[counts.get((k, d), 0) for d in NAMES["decisions"]] for k in NAMES["classes"]]
        assert cells == known.counts.values.tolist()
        assert rows[0][6] == pytest.approx(known.cost.value, abs=1e-12)
        assert heights[model] == pytest.approx(known.cost.value, abs=1e-12)


def test_where_every_case_is_of_one_class_the_curve_has_its_best_decision(asking, opened):
    page = opened(asking)
    assert not page.page.is_visible("#whole")  # the axis shows all priors already
    for end in (0, 1):
        heights = dict(page.run("end => stakesPage.read('cost-curve', end)", end))
        assert heights == {"best constant decision": 0, "a": 0, "b": 0}


def test_a_system_that_decides_blindly_or_nearly_so_does_not_clearly_cost_more(opened):
    problem = Problem.binary(
        false_alarm=1, miss=4, classes=["no", "yes"], decisions=["skip", "act"]
    )
    page = opened(coarse(problem))
    page.run("() => stakesPage.set({prior: [0.24, 0.76]})")
    _, low, high = page.run("() => stakesPage.result().inference.more('a (as is)')")
    assert low < 0 < high
    assert "the data cannot tell them apart" in page.text("#verdict-changed")
    page.run("() => stakesPage.set({...stakesPage.reported(), costs: [[0, -1], [4, 0]]})")
    assert "a (as is) decides the same here" in page.text("#verdict-changed")
    page.run("() => stakesPage.set({...stakesPage.reported(), prior: [1, 0]})")
    assert "a (as is) clearly costs more here" in page.text("#verdict-changed")


def test_a_volume_without_a_period_is_no_volume_of_a_year(asking, opened):
    page = opened(asking)
    assert "per year" not in page.text("body")
    assert "saved in all" in page.text("#facts").lower()
    assert page.text("label[for=volume]") == "Cases in all"


def test_a_fragment_that_is_no_address_leaves_the_page_as_it_is(asking, opened):
    page = opened(asking)
    page.page.goto(page.page.url + "#50%")
    page.page.reload()
    assert page.run("() => typeof stakesPage") == "object"
    assert page.complaints == []


@pytest.mark.parametrize("prior", [None, [2 / 3, 1 / 3]])
def test_systems_that_tie_for_the_cheapest_have_the_chances_of_python(prior, opened):
    """Three tie in different ways to decide, one of them has a twin, and one costs more."""
    y = np.array(["no"] * 40 + ["yes"] * 20)
    perfect = np.where(y == "yes", "act", "skip")
    asked = {"a": [0, 1], "b": [2, 3], "twin": [2, 3], "c": [4, 40], "worse": [*range(4, 12)]}
    models = {}
    for name, places in asked.items():
        decided = perfect.copy()
        decided[places] = "ask"
        models[name] = Decisions(decided)
    problem = Problem([[0, 5, 1], [9, 0, 1]], prior=prior, **NAMES)
    report = evaluate(y, models, problem, **QUICK)
    chances = {system.name: system.probability_cheapest for system in report.systems}
    chances = {name: chance for name, chance in chances.items() if np.isfinite(chance)}
    shown = opened(report).run(
        "names => names.map(name => stakesPage.result().inference.chance(name))", list(chances)
    )
    np.testing.assert_allclose(shown, list(chances.values()), rtol=0, atol=1e-9)
    assert len({round(chance, 12) for chance in shown}) >= 3


RINGS = [*range(6), 0], [6, 7, 8, 6], [9, 10, 11, 9], [*range(12, 18)]  # the last is a chain
ALIKE = [(0, 7), (4, 2), (6, 3), (7, 5), (5, 0), (7, 2), (6, 0), (50,)]


@pytest.mark.parametrize("asked", [[pair for ring in RINGS for pair in pairwise(ring)], ALIKE])
def test_systems_that_are_hard_to_tell_apart_have_the_chances_of_python(asked, opened):
    """Each asks about a case of another: costs and distances alone do not put them in order."""
    y = np.array(["no"] * 40 + ["yes"] * 20)
    models = {}
    for number, cases in enumerate(sorted(asked, key=lambda cases: cases[-1])):
        decided = np.where(y == "yes", "act", "skip")
        decided[list(cases)] = "ask"
        models[f"m{number}"] = Decisions(decided)
    report = evaluate(y, models, Problem([[0, 5, 1], [9, 0, 1]], **NAMES), **QUICK)
    chances = {system.name: system.probability_cheapest for system in report.systems}
    chances = {name: chance for name, chance in chances.items() if np.isfinite(chance)}
    shown = opened(report).run(
        "names => names.map(name => stakesPage.result().inference.chance(name))", list(chances)
    )
    np.testing.assert_allclose(shown, list(chances.values()), rtol=0, atol=1e-9)
    assert len(chances) == len(asked)


@pytest.fixture
def gainful():
    """Two models, and a right decision that is a gain."""
    rng = np.random.default_rng(3)
    y = (rng.random(1500) < 0.12).astype(int)
    odds = rng.normal(np.where(y == 1, 1.2, -1.2), 1.55) - 2
    noise = rng.normal(size=1500)
    models = {"A": 1 / (1 + np.exp(-odds)), "B": 1 / (1 + np.exp(-odds - noise))}
    problem = Problem([[0, 40], [650, -120]], decisions=["send home", "treat"], unit="EUR")
    return evaluate(y, models, problem, replicates=20)


def test_a_model_that_decides_the_same_here_costs_the_same_and_all_contenders_are_named(
    gainful, opened
):
    """Its other rules may be the cheapest although its own rule no longer looks at the case."""
    page = opened(gainful)
    page.run("() => stakesPage.set({prior: [0.9991, 0.0009]})")
    possible = page.run("() => stakesPage.result().inference.possible()")
    assert possible == ["A (moved)", "A (recalibrated)", "B (moved)", "always send home"]
    text = page.text("#verdict-changed")
    assert "Was A (recalibrated), now always send home" in text
    assert "the data cannot tell them apart, nor from B (moved)." in text
    assert ", decides the same." in text
    assert "would cost" not in text
    always, best = (page.text(f"#facts .fact:nth-child({i}) b") for i in (1, 2))
    assert always == best == "0.585"
