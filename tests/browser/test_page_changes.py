"""What the page says of other stakes is what its sliders show."""

from __future__ import annotations

import re
import shutil
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Decisions, Problem, Report, Scores, evaluate
from stakes.report import Stakes

NAMED: dict[str, Any] = {
    "classes": ["well", "ill"],
    "decisions": ["send home", "treat"],
    "unit": "EUR",
}
WARD = Problem.binary(false_alarm=40, miss=650, **NAMED)
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 10}
SET = """stakes => {
    stakesPage.set({...stakesPage.reported(), ...stakes});
    const {inference} = stakesPage.result();
    return {possible: inference.possible(), verdict: inference.verdict()};
}"""


def sigmoid(log_odds: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-log_odds))


def patients(n_cases: int) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(3)
    y = (rng.random(n_cases) < 0.12).astype(int)
    return np.array(["well", "ill"])[y], rng.normal(np.where(y == 1, 1.2, -1.2), 1.55) - 2, rng


@pytest.fixture(scope="module")
def clear() -> Report:
    """A good model and a poor one; the prior is that of the data."""
    y, odds, rng = patients(4000)
    models = {"good": sigmoid(odds), "poor": sigmoid(odds + 3 * rng.normal(size=y.size))}
    return evaluate(y, models, WARD, **QUICK)


@pytest.fixture(scope="module")
def raw() -> Report:
    y, odds, rng = patients(2000)
    models = {"svm": Scores(40 * odds + 300), "rank": Scores(odds + rng.normal(size=y.size))}
    return evaluate(y, models, WARD, replicates=10)


@pytest.fixture(scope="module")
def clerks() -> Report:
    """Three clerks, none of whom clearly beats treating everybody, nor is clearly beaten by it."""
    y, odds, rng = patients(1500)
    noisy = [odds + 0.5 * i * rng.normal(size=y.size) > -1 for i in range(3)]
    models = {
        f"clerk {i}": Decisions(np.where(treated, "treat", "send home"))
        for i, treated in enumerate(noisy)
    }
    return evaluate(y, models, WARD, replicates=10)


def finished(page: Any) -> Any:
    assert page.run("() => stakesPage.finished()")
    return page


def moved(report: Report, what: str, value: float) -> dict[str, Any]:
    """The stakes with one number of two classes set."""
    costs, prior = np.array(report.problem.costs), list(report.assumptions.prior)
    for k, label in enumerate(report.problem.classes):
        if what == f"prior of {label}":
            prior = [1 - value, value]
        for d, decision in enumerate(report.problem.decisions):
            if what == f"cost of {decision} for {label}":
                costs[k, d] = value
    return {"costs": costs.tolist(), "prior": prior}


@pytest.mark.parametrize("name", ["clear", pytest.param("demo", marks=pytest.mark.slow), "raw"])
def test_a_listed_change_is_the_first_value_that_is_recommended_otherwise(name, opened, request):
    report = request.getfixturevalue(name)
    page = finished(opened(report))
    choice = report.verdict.cheapest
    names = {choice, choice.replace("(as is)", "(moved)")} if name == "clear" else {choice}
    n_changes, as_before = 0, []
    for row in page.run("() => stakesPage.tables().flips")[1:]:
        for value, verdict in (row[8:10], row[10:12]):
            if value == "never":
                continue
            n_changes += 1
            assert verdict not in names
            assert page.run(SET, moved(report, row[0], value))["verdict"] == verdict
            for part in (0.3, 0.6, 0.9):
                nearer = moved(report, row[0], row[1] + part * (value - row[1]))
                as_before.append(page.run(SET, nearer)["verdict"] in names)
    assert n_changes >= 4
    assert np.mean(as_before) > 0.85  # a change that lasts for less than a step may be missed


@pytest.mark.slow
def test_the_library_finds_the_changes_of_the_page(raw, opened):
    page = finished(opened(raw))
    rows = {row[0]: row for row in page.run("() => stakesPage.tables().flips")[1:]}
    for flip in raw.flips():
        for end, verdict, shown in (
            (flip.changes_low, flip.recommended_below, rows[flip.what][8:10]),
            (flip.changes_high, flip.recommended_above, rows[flip.what][10:12]),
        ):
            if shown[0] == "never":
                assert np.isinf(end)
                continue
            # The page rounds to two digits of the distance, away from now.
            assert 0.97 < (shown[0] - flip.value) / (end - flip.value) < 1.12
            assert shown[1] == verdict


def test_the_page_without_script_says_that_a_nearer_change_is_a_close_call(clerks, opened):
    text = opened(clerks, java_script_enabled=False).text("#nearest-flip")
    assert re.search(
        r"clerk \d \(as decided\) costs as little once the prior of ill falls below [\d.]+ % "
        r"\(now 12.3 %\), a close call; always treat cannot be ruled out until it falls below ",
        text,
    )


# The same choice ---------------------------------------------------------------------------------


def test_a_moved_prior_keeps_a_model_whose_probabilities_move_along(clear, opened):
    page = finished(opened(clear))
    assert clear.verdict.cheapest == "good (as is)"
    page.run(SET, {"prior": [0.7, 0.3]})
    text = page.text("#verdict-changed")
    assert text.startswith("Still good, with its probabilities moved to this prior, clearly the")
    assert page.text("#verdict-tag").lower().endswith("a clear call")
    [prior] = [row for row in page.run("() => stakesPage.tables().flips")[1:] if "prior" in row[0]]
    for value, *_ in (prior[2:5], prior[5:8]):
        possible = page.run(SET, {"prior": [1 - value, value]})["possible"]
        assert not {"good (as is)", "good (moved)"} & set(possible)
        assert "good (as is) clearly costs more here" in page.text("#verdict-changed")


def test_another_model_is_compared_with_the_choice_as_it_would_be_moved(opened):
    y, odds, rng = patients(5000)
    models = {f"m{i}": sigmoid(odds + 0.2 * i * rng.normal(size=y.size)) for i in range(3)}
    report = evaluate(y, models, WARD, **QUICK)
    page, model = finished(opened(report)), str(report.verdict.cheapest).split(" ")[0]
    rivals = 0
    for share in np.linspace(0.2, 0.6, 41):
        standing = page.run(SET, {"prior": [1 - share, share]})
        if standing["verdict"].startswith((model, "always")):
            continue
        rivals += 1
        text = page.text("#verdict-changed")
        if f"{model} (moved)" in standing["possible"]:
            assert "clearly costs more here" not in text.split(".")[0]
            assert f"the data cannot tell it from {model} (moved)" in text or "them apart" in text
    assert rivals


def test_kept_decisions_are_those_of_the_rule_as_it_is(clear):
    [prior] = [flip for flip in clear.flips("kept") if flip.what == "prior of ill"]
    [anew] = [flip for flip in clear.flips() if flip.what == "prior of ill"]
    assert anew.low < prior.low < clear.assumptions.prior[1] < prior.high <= anew.high


# A share that is set -----------------------------------------------------------------------------


def test_a_prior_that_is_set_counts_as_known_and_the_page_says_so(clerks, demo, opened):
    page = finished(opened(clerks))
    says = "The prior that you set counts as known"
    assert "Over the prior, the share counts as known" in page.text("#regions-hint")
    page.run(SET, {"costs": [[0, 41], [650, 0]]})
    assert says not in page.text("#verdict-changed")
    page.run(SET, {"prior": [0.8766, 0.1234]})
    assert says in page.text("#verdict-changed")
    stated = finished(opened(demo))  # its prior was stated, and counted as known before
    stated.run(SET, {"prior": [0.9, 0.1]})
    assert says not in stated.text("#verdict-changed")


def test_zones_next_to_the_present_prior_are_those_of_the_sliders(clerks, opened):
    page = finished(opened(clerks))
    now = clerks.assumptions.prior[1]
    zones = [row for row in page.run("() => stakesPage.tables().zones")[1:] if "prior" in row[0]]
    assert not any(abs(end - now) < 1e-3 for row in zones for end in row[1:3])
    [names] = [row[3] for row in zones if row[1] < now < row[2]]
    for share in (now - 1e-5, now + 1e-5):
        possible = page.run(SET, {"prior": [1 - share, share]})["possible"]
        assert set(possible) == set(names.split("; "))


# What is searched again --------------------------------------------------------------------------


def test_after_a_change_what_is_searched_again_is_grey_and_says_so(clear, opened):
    page = finished(opened(clear))
    look = """() => ["#nearest-flip", "#flips", "#prior-band"].map(
        name => getComputedStyle(document.querySelector(name)).opacity)"""
    busy = """() => [...document.querySelectorAll(".busy")].map(
        node => node.checkVisibility({checkVisibilityCSS: true}) && node.textContent)"""
    assert page.run(look) == ["1", "1", "1"]
    assert page.run(busy) == [False, False]
    before = page.text("#nearest-flip")
    page.run("() => { window.laterOn = window.setTimeout; window.setTimeout = () => 0; }")
    field = page.page.get_by_role("spinbutton", name="cost of treat for well", exact=True)
    field.fill("55")
    page.run("() => new Promise(done => requestAnimationFrame(() => laterOn(done)))")
    assert page.text("#nearest-flip") == "Nearest change: still being computed."
    assert all(float(opacity) < 1 for opacity in page.run(look))
    assert page.run(busy) == ["still being computed"] * 2
    page.run("() => { window.setTimeout = window.laterOn; }")
    page.run(SET, {"costs": [[0, 56], [650, 0]]})  # the search that could not go on was replaced
    finished(page)
    assert page.run(look) == ["1", "1", "1"]
    assert page.run(busy) == [False, False]
    assert page.text("#nearest-flip") not in (before, "Nearest change: still being computed.")


# Zones -------------------------------------------------------------------------------------------


def models_of(report: Report, names: Any) -> set[str]:
    model = {system.name: system.model for system in report.systems}
    return {model.get(name, name.removesuffix(" (moved)")) for name in names}


POSSIBLE = """shares => shares.map(share => {
    stakesPage.set({...stakesPage.reported(), prior: [1 - share, share]});
    return stakesPage.result().inference.possible();
})"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "raw"])
def test_zones_agree_with_the_slider_at_each_of_its_positions(name, opened, request):
    """Elsewhere they may differ where a zone is narrower than a step of the slider."""
    report = request.getfixturevalue(name)
    page = finished(opened(report))
    zones = [row for row in page.run("() => stakesPage.tables().zones")[1:] if "prior" in row[0]]
    steps = [float(f"{100 / (1 + np.exp(7 - 0.05 * i)):.6g}") / 100 for i in range(281)]
    steps = [share for share in steps if share < zones[-1][2]]
    for share, possible in zip(steps, page.run(POSSIBLE, steps), strict=True):
        [names] = [row[3] for row in zones if row[1] < share < row[2]]
        assert models_of(report, possible) == models_of(report, names.split("; ")), share
    inside = [low + part / 20 * (high - low) for _, low, high, _ in zones for part in range(1, 20)]
    listed = [names for *_, names in zones for _ in range(19)]
    differ = sum(
        models_of(report, possible) != models_of(report, names.split("; "))
        for possible, names in zip(page.run(POSSIBLE, inside), listed, strict=True)
    )
    assert differ < 0.08 * len(inside)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "raw", "clear", "clerks"])
def test_the_ends_of_a_zone_have_few_digits_and_lie_in_it(name, opened, request):
    report = request.getfixturevalue(name)
    page = finished(opened(report))
    now, n_ends = report.assumptions.prior[1], 0
    for shift in (1, 0.4, 1.5):
        page.run(SET, {"prior": [1 - shift * now, shift * now]})
        finished(page)
        zones = [row for row in page.run("() => stakesPage.tables().zones") if "prior" in row[0]]
        for line in page.text("#prior-band .parts").split("\n"):
            [(low, high)] = re.findall(r"([\d.]+) % to ([\d.]+) %", line)
            holds = [z for z in zones if z[1] <= float(high) / 100 and float(low) / 100 <= z[2]]
            label = line.split(f" {low} %")[0]
            brief = ", briefly " in line
            assert (
                brief or len({frozenset(models_of(report, z[3].split("; "))) for z in holds}) == 1
            )
            digits = [len(text.replace(".", "").strip("0")) for text in (low, high)]
            assert max(digits) <= 3, (label, low, high)
            n_ends += 1
    assert n_ends >= 3


def test_what_is_briefly_possible_too_is_not_possible_in_the_rest_of_a_zone(demo, opened):
    page = finished(opened(demo))
    words = 0
    for share in (0.002, 0.01, 0.05, 0.2, 0.3):
        page.run(SET, {"prior": [1 - share, share]})
        finished(page)
        for line in page.text("#prior-band .parts").split("\n"):
            if ", briefly also " not in line:
                words += ", briefly " in line
                continue
            zone, brief = line.split(", briefly also ")
            label = re.split(r" [\d.]+ % to ", zone)[0]
            added = re.split(r", | or ", brief.split(", briefly ")[0])
            assert not set(added) & set(re.split(r", | or ", label))
            words += 1
    assert words


def test_one_constant_decision_is_not_grey_as_several_systems_are(clerks, opened):
    page = finished(opened(clerks))
    looks = page.run(
        """() => [...document.querySelectorAll("#prior-band .parts li")].map(line => [
            line.querySelector("b").textContent,
            getComputedStyle(line.querySelector(".block")).backgroundColor])"""
    )
    grey = {colour for label, colour in looks if " or " in label}
    always = {colour for label, colour in looks if label.startswith("always ")}
    assert grey
    assert always
    assert not grey & always


# Scores ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bins_of_scores_decide_as_in_python_at_other_priors(opened):
    y, odds, rng = patients(5000)
    models = {f"m{i}": sigmoid(odds + 0.2 * i * rng.normal(size=y.size)) for i in range(5)}
    report = evaluate(y, models, WARD, **QUICK)
    page, stakes = finished(opened(report)), Stakes(report)
    costs = """share => {
        stakesPage.set({prior: [1 - share, share]});
        const all = stakesPage.result().systems;
        return all.filter(one => one.candidate).map(one => [one.name, one.cost]);
    }"""
    for share in np.linspace(0.005, 0.6, 120):
        there = stakes.moved(WARD.costs, np.array([1 - share, share]), kept=False)
        for name, cost in page.run(costs, share):
            assert cost == pytest.approx(there.cost(name).value, abs=1e-9)


def test_the_runner_up_is_compared_on_these_cases_where_the_winner_was_corrected(opened):
    y = np.repeat([0, 1], 100)
    rng = np.random.default_rng(2)
    models = {name: np.where(rng.random(200) < 0.25, 1 - y, y) for name in "ab"}
    report = evaluate(y, models, Problem.zero_one(2), replicates=10)
    page = opened(report)
    page.run("() => { const s = stakesPage.state(); s.costs[0][1] = 1 + 1e-9; stakesPage.set(s); }")
    assert report.verdict.sentences[-1].startswith("The runner-up, ")
    assert " more per case on these cases (95 % interval " in report.verdict.sentences[-1]
    assert report.verdict.sentences[-1] in page.text("#verdict-changed")


def test_what_costs_as_much_on_these_cases_is_not_called_cheaper(opened):
    y, i = np.repeat([0, 1], [16, 4]), np.arange(20)
    first, second = np.where(i < 9, 0, 1), np.where((i >= 7) & (i < 16), 0, 1)
    first[16] = second[17] = 0
    problem = Problem.binary(false_alarm=1, miss=9)
    report = evaluate(y, {"d0": first, "d1": second}, problem, replicates=10)
    page = opened(report)
    page.run("() => stakesPage.set({costs: [[0, 2], [18, 0]]})")
    twice = evaluate(y, {"d0": first, "d1": second}, Problem([[0, 2], [18, 0]]), replicates=10)
    assert "costs as little, 1.6 per case" in twice.verdict.reason
    assert twice.verdict.reason in page.text("#verdict-changed")
