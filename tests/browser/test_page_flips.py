"""Flips agree with the sliders, and what is sure stays sure under other stakes, as in Python."""

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

from stakes import Decisions, Problem, Report, evaluate
from stakes.inference import probability_cheapest
from stakes.report import Stakes

NEXT = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
STANDING = """() => {
    const {inference} = stakesPage.result();
    return {possible: inference.possible(), verdict: inference.verdict()};
}"""


@pytest.fixture(scope="session")
def duel() -> Report:
    """Two models that decide by themselves, one bold and one careful, and a score."""
    rng = np.random.default_rng(5)
    truth = (rng.random(4000) < 0.3).astype(int)
    score = truth * 2.0 + rng.normal(size=4000)
    models = {
        "bold": Decisions((score > 1.6).astype(int)),
        "careful": Decisions((score + 0.2 * rng.normal(size=4000) > 0.5).astype(int)),
        "score": 1 / (1 + np.exp(-(score - 1 + 1.5 * rng.normal(size=4000)))),
    }
    problem = Problem.binary(false_alarm=1, miss=1.4)
    return evaluate(truth, models, problem, calibrator=None, replicates=20)


def flips(page: Any) -> list[dict[str, Any]]:
    """The rows of the table, once all are found."""
    assert page.run("() => stakesPage.finished()")
    _, *rows = page.run("() => stakesPage.tables().flips")
    return [
        {
            **{"what": row[0], "now": row[1], "low": row[2:5], "high": row[5:8]},
            "changes": [end for end in (row[8:10], row[10:12]) if end[0] != "never"],
        }
        for row in rows
    ]


def ends(rows: list[dict[str, Any]]) -> list[tuple[dict[str, Any], float, str, list[str]]]:
    """Every flip that is listed: its row, value, recommendation and what may be the cheapest."""
    return [
        (row, row[side][0], row[side][1], row[side][2].split("; "))
        for row in rows
        for side in ("low", "high")
        if row[side][0] != "never"
    ]


def written(what: str, value: float) -> str:
    """A number as the page writes it and as a reader types it: priors in percent."""
    if not what.startswith("prior of "):
        return np.format_float_positional(value, trim="-")
    return np.format_float_positional(float(f"{100 * value:.15g}"), trim="-") + " %"


def type_value(page: Any, what: str, value: float) -> None:
    label = f"{what}, in percent" if what.startswith("prior of ") else what
    field = page.page.get_by_role("spinbutton", name=label, exact=True)
    field.fill(written(what, value).removesuffix(" %"))
    page.run(NEXT)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["demo", "clinic", "duel"])
def test_typing_a_listed_value_gives_the_listed_verdict(name, opened, request):
    report = request.getfixturevalue(name)
    page = opened(report)
    page.run("() => stakesPage.finished()")
    choice = report.verdict.cheapest
    listed = ends(flips(page))
    assert len(listed) >= 4
    shown = page.text("#flips")
    for row, value, verdict, possible in listed:
        type_value(page, row["what"], value)
        assert page.run(STANDING) == {"possible": possible, "verdict": verdict}
        assert choice not in possible
        text = page.text("#verdict-changed")
        alike = verdict.startswith("always") and page.run(
            "name => stakesPage.result().inference.isConstant(name)", choice
        )
        why = "decides the same here" if alike else "clearly costs more here"
        assert text.startswith(f"Was {choice}, now {verdict}: {choice} {why}")
        assert written(row["what"], value) in shown
        page.page.get_by_role("button", name="Reset").click()
    assert page.complaints == []


@pytest.mark.slow
@pytest.mark.parametrize("kept", [False, True])
def test_a_choice_may_be_the_cheapest_until_just_before_a_flip(kept, duel, opened):
    page = opened(duel)
    page.run("() => stakesPage.finished()")
    if kept:
        page.page.locator("[value=kept]").check()
    moved, choice = Stakes(duel), duel.verdict.cheapest
    listed = ends(flips(page))
    assert len(listed) >= 4
    for row, value, verdict, possible in listed:
        there = moved.moved(*stakes_at(duel, row["what"], value), kept=kept)
        assert list(there.possible) == possible
        assert there.verdict == verdict
        for part, stays in ((0.0, True), (0.8, True), (1.02, False)):
            at = row["now"] + part * (value - row["now"])
            if at >= 0 and (at < 1 or not row["what"].startswith("prior")):
                result = moved.moved(*stakes_at(duel, row["what"], at), kept=kept)
                assert (choice in result.possible) is stays, (row, part)


def stakes_at(report: Report, what: str, value: float) -> tuple[Any, Any]:
    """The costs and the prior with one number set; no prior where it stays that of the data."""
    costs = np.array(report.problem.costs)
    for k, label in enumerate(report.problem.classes):
        if what == f"prior of {label}":
            assert k == 1
            return costs, np.array([1 - value, value])
        for d, decision in enumerate(report.problem.decisions):
            if what == f"cost of {decision} for {label}":
                costs[k, d] = value
    return costs, None


@pytest.mark.slow
def test_kept_decisions_flip_where_the_report_says(duel, opened):
    """Beyond the clear ends of its margins, by no more than rounding away from now."""
    page = opened(duel)
    page.run("() => stakesPage.finished()")
    page.page.locator("[value=kept]").check()
    margins = {margin.what: margin for margin in duel.margins}
    clear = 0
    for row in flips(page):
        for side in ("low", "high"):
            known = getattr(margins[row["what"]], f"clear_{side}")
            if row[side][0] != "never" and np.isfinite(known):
                way = (row[side][0] - row["now"]) / (known - row["now"])
                assert 0.97 < way < 1.15, (row, known)
                clear += 1
    assert clear >= 3


@pytest.mark.slow
def test_no_flip_is_listed_where_nobody_can_go(demo, opened):
    """Costs that were not stated as gains do not become gains; one prior determines both."""
    rows = flips(opened(demo))
    assert sum(row["what"].startswith("prior") for row in rows) == 1
    assert len(rows) == demo.problem.costs.size + 1
    assert all(value >= 0 for _, value, _, _ in ends(rows))


@pytest.mark.slow
def test_a_gain_that_is_moved_to_zero_may_become_a_gain_again_in_both_tables(opened):
    """What the report states as a gain can be one: flips and margins search the same range."""
    rng = np.random.default_rng(5)
    truth = (rng.random(2000) < 0.3).astype(int)
    noise = rng.normal(size=(2, 2000))
    cuts = {"bold": noise[0] + 2 * truth > 1.6, "careful": noise[1] + 2 * truth > 0.4}
    models = {name: Decisions(taken.astype(int)) for name, taken in cuts.items()}
    page = opened(evaluate(truth, models, Problem([[0, 1], [2, -0.5]]), calibrator=None))
    page.run("() => stakesPage.set({costs: [[0, 1], [2, 0]]})")
    [flip] = [row for row in flips(page) if row["what"] == "cost of 1 for 1"]
    margins = {row[0]: row for row in page.run("() => stakesPage.tables().margins")}
    assert margins["cost of 1 for 1"][2] < 0
    assert flip["low"][0] < margins["cost of 1 for 1"][2]  # clearly so, farther than as cheap


@pytest.mark.slow
def test_where_nothing_can_be_searched_nothing_found_before_is_left(demo, absent, opened):
    """Costs that are all zero have no scale, and undefined ones no cheapest system."""
    for report, moved in (
        (demo, {"costs": [[0, 0, 0], [0, 0, 0]]}),
        (absent, {"prior": [0.5, 0.3, 0.2]}),
    ):
        page = opened(report)
        assert page.run("() => stakesPage.finished()")
        assert page.text("#prior-band")
        page.run("moved => stakesPage.set(moved)", moved)
        page.run("() => stakesPage.finished()")
        assert page.text("#prior-band") == ""
        assert page.run("() => stakesPage.tables().zones.length") == 1  # the heading
        assert not page.page.is_visible("#flips-section")
        assert not page.page.is_visible("#nearest-flip")
        assert page.complaints == []


@pytest.fixture
def absent():
    """Three classes, the last without cases; the models hardly save anything."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 500)
    logits = rng.normal(size=(500, 3))
    logits[np.arange(500), truth] += 2
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    sharper = p**1.3 / (p**1.3).sum(axis=1, keepdims=True)
    problem = Problem([[0, 1, 2], [3, 0, 1], [5, 5, 0]], classes=["a", "b", "c"])
    models = {"m": p, "sharper": sharper}
    return evaluate(np.array(["a", "b"])[truth], models, problem, calibrator=None, replicates=20)


@pytest.mark.slow
def test_the_prior_of_a_class_without_cases_flips_nothing(absent, opened):
    """Beyond zero, what models cost would be unknown: that is no other choice."""
    page = opened(absent)
    priors = {row["what"] for row in flips(page) if row["what"].startswith("prior")}
    assert priors == {"prior of a", "prior of b"}
    assert "prior of c" not in page.text("#nearest-flip")
    assert "The share of c is not moved" in page.text("#flips-hint")


@pytest.mark.slow
def test_a_call_is_not_clear_where_the_saving_is_not(absent, opened):
    page = opened(absent)
    assert absent.verdict.told_apart
    assert absent.verdict.saving_over_naive.low < 0
    assert page.text("#verdict-tag").endswith("try: not yet shown to pay")
    page.run("() => stakesPage.set({costs: [[0, 1, 2], [3, 0, 1], [5, 5.001, 0]]})")
    assert page.text("#verdict-tag").endswith("try: not yet shown to pay")
    page.run("() => stakesPage.set({costs: [[0, 2, 2], [3, 0, 1], [5, 5, 0]]})")
    assert page.text("#verdict-tag").endswith("a clear call")


def factor(what: str, now: float, then: float) -> float:
    """By how much a cost is multiplied or divided, or a share or the rest, whichever moves more."""
    pairs = [(now, then), (1 - now, 1 - then)] if what.startswith("prior of ") else [(now, then)]
    return max(np.inf if min(pair) <= 0 else max(pair) / min(pair) for pair in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["duel", "demo"])
def test_the_nearest_change_and_the_nearest_flip_stand_in_the_verdict(name, opened, request):
    """What is recommended changes at or before a flip, often as a close call."""
    report = request.getfixturevalue(name)
    page, choice = opened(report), report.verdict.cheapest
    rows = flips(page)
    changes = [
        (factor(row["what"], row["now"], at), row, at, instead)
        for row in rows
        for at, instead in row["changes"]
    ]
    _, first, at, instead = min(changes, key=lambda change: change[0])
    assert first is rows[0]
    ruled_out = [(factor(row["what"], row["now"], end), row, end) for row, end, *_ in ends(rows)]
    _, last, then = min(ruled_out, key=lambda flip: flip[0])
    text = page.text("#nearest-flip")
    assert text.startswith("Nearest change: if you decide anew, ")
    moves = rf"(rises|falls) from [\d.]+( %)? to {re.escape(written(first['what'], at))}"
    assert re.search(
        rf"{re.escape(instead)} would be recommended once the {first['what']} {moves}", text
    )
    assert ", a close call." in text
    moves = rf"(rises|falls) from [\d.]+( %)? to {re.escape(written(last['what'], then))}"
    assert re.search(
        rf" Apart from narrow ranges in between, {re.escape(choice)} cannot be ruled out until the "
        rf"{last['what']} {moves}[;,]",
        text,
    )
    times = then / last["now"]
    if last["what"].startswith("cost") and 0 < times < 0.9:
        assert f", {100 * times:.0f} % of today" in text


@pytest.mark.slow
def test_a_cost_from_zero_is_not_near_and_says_what_costs_as_much(clinic, opened):
    page = opened(clinic)
    page.run("() => stakesPage.finished()")
    rows = flips(page)
    factors = [
        min(factor(row["what"], row["now"], at) for at, _ in row["changes"])
        for row in rows
        if row["changes"]
    ]
    assert factors == sorted(factors)
    assert factors[-1] == np.inf
    assert not page.text("#nearest-flip").startswith(
        "Nearest change: if you decide anew, the cost of send home for well"
    )


@pytest.mark.slow
def test_a_cost_that_falls_to_that_of_a_decision_with_a_number_for_a_name_says_so(opened):
    y = (np.random.default_rng(0).random(400) < 0.2).astype(int)
    models = {"oracle": y.astype(float), "near": np.clip(0.98 * y + 0.01, 0, 1)}
    page = opened(evaluate(y, models, Problem.binary(false_alarm=1, miss=3), replicates=20))
    page.run("() => stakesPage.finished()")
    moved = "the cost of 1 for 0 falls from 1 to 0, as much as that of 0; then always 1."
    assert page.text("#nearest-flip").endswith(moved)


@pytest.mark.slow
def test_zones_show_no_slivers_but_the_download_has_them(demo, opened):
    page = opened(demo)
    page.run("() => stakesPage.finished()")
    zones = [row[1:3] for row in page.run("() => stakesPage.tables().zones")[1:]]
    now, widest = demo.assumptions.prior[1], max(high for _, high in zones)
    narrow = [low for low, high in zones if high - low < 0.005 * widest and not low <= now <= high]
    assert narrow
    beside = narrow[0] - 0.006 * widest
    page.run("last => stakesPage.set({prior: [1 - last, last]})", beside)
    page.run("() => stakesPage.finished()")
    shown = page.text("#prior-band .parts")
    assert ", briefly " in shown
    for low, high in re.findall(r"([\d.]+) % to ([\d.]+) %", shown):
        assert float(high) - float(low) >= 0.5 * widest or float(low) <= 100 * beside <= float(high)


@pytest.mark.slow
def test_the_zone_of_today_has_the_contenders_of_the_headline(opened):
    """Also of more models than have many joint bins."""
    rng = np.random.default_rng(3)
    y = (rng.random(600) < 0.2).astype(int)
    odds = rng.normal(np.where(y == 1, 1.2, -1.2), 1.5)
    noise = (0.2 + 0.1 * np.arange(20)[:, None]) * rng.normal(size=(20, 600))
    models = {f"m{i}": 1 / (1 + np.exp(-odds - noise[i])) for i in range(20)}
    report = evaluate(
        y, models, Problem.binary(false_alarm=1, miss=4), calibrator=None, replicates=10
    )
    page = opened(report)
    page.run("() => stakesPage.finished()")
    now = report.assumptions.prior[1]
    zones = page.run("() => stakesPage.tables().zones")[1:]
    names = next(row[3] for row in zones if row[0].startswith("prior") and row[1] <= now <= row[2])
    # Beside the present prior, posteriors are moved: these are other systems of the same models.
    zone = {name.split(" (")[0] for name in names.split("; ")}
    assert zone == {name.split(" (")[0] for name in report.verdict.contenders}
    assert 1 < len(report.verdict.contenders) < 20


@pytest.mark.slow
def test_zones_of_several_models_name_them(duel, opened):
    page = opened(duel)
    page.run("() => stakesPage.finished()")
    zones = page.run("() => stakesPage.tables().zones")
    several = [row for row in zones[1:] if "; " in row[3]]
    assert several
    assert " or " in page.text("#prior-band .parts")


@pytest.mark.slow
def test_in_the_middle_of_every_zone_may_be_the_cheapest_what_it_says(opened):
    """Of three classes, with decisions that stay; one zone lies between two points searched."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 3, 2500)
    odds = np.exp(rng.normal(size=(2500, 3)) + 2 * np.eye(3)[y])
    costs = [[0, 5, 7, 1.2], [5, 0, 8, 1.2], [7, 8, 0, 1.2]]
    problem = Problem(costs, decisions=["a", "b", "c", "ask"])
    models = {"net": odds / odds.sum(axis=1, keepdims=True)}
    page = opened(evaluate(y, models, problem, calibrator=None, replicates=10))
    page.run("() => stakesPage.finished()")
    zones = page.run("() => stakesPage.tables().zones")[1:]
    assert min(high - low for _, low, high, _ in zones) < 0.025
    for _, low, high, names in zones:
        last = (low + high) / 2
        page.run("last => stakesPage.set({prior: [(1 - last) / 2, (1 - last) / 2, last]})", last)
        assert set(page.run(STANDING)["possible"]) == set(names.split("; "))


@pytest.mark.slow
def test_running_costs_leave_zones_over_the_prior_only(opened):
    """They are in the unit of the problem; costs on an axis of proportions sum to 2."""
    y, rng = np.arange(200) % 2, np.random.default_rng(2)
    p = np.clip(0.3 + 0.4 * y + 0.2 * rng.normal(size=200), 0.01, 0.99)
    problem = Problem.binary(false_alarm=100, miss=500)
    options: dict[str, Any] = {"calibrator": None, "replicates": 10}
    for running, n_axes in (({}, 3), ({"a": 7.0}, 1)):
        page = opened(evaluate(y, {"a": p, "b": p**2}, problem, running_costs=running, **options))
        page.run("() => stakesPage.finished()")
        zones = page.run("() => stakesPage.tables().zones")
        assert len({row[0] for row in zones[1:]}) == n_axes


# How sure it is ----------------------------------------------------------------------------------

READ = """settings => settings.map(stakes => {
    stakesPage.set(stakes);
    const {inference, systems, rival} = stakesPage.result();
    const names = systems.filter(system => system.candidate).map(system => system.name);
    return {
        costs: names.map(name => [name, inference.cost(name)]),
        chances: names.map(name => inference.chance(name)),
        contenders: inference.contenders(), expected: inference.expected(),
        saving: inference.saving(), possible: inference.possible(), verdict: inference.verdict(),
        more: rival ? [rival.name, inference.more(rival.name)] : null,
    };
})"""


def draw(report: Report, rng: np.random.Generator) -> dict[str, Any]:
    """Costs of any sign with ties and zeros among them, and perhaps a prior."""
    shape = report.problem.costs.shape
    costs = rng.exponential(size=shape) * rng.choice([0, 1, 1, 1, 5, -0.3], size=shape)
    prior = np.maximum(rng.dirichlet(np.full(shape[0], rng.choice([0.3, 1.0, 5.0]))), 1e-6)
    stakes = {"costs": costs.round(rng.choice([1, 3, 9])).tolist()}
    stays = {"prior": list(report.assumptions.prior)}
    return stakes | (stays if rng.random() < 0.3 else {"prior": (prior / prior.sum()).tolist()})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed", "settings"),
    [("duel", 3, 50), ("demo", 1, 12), ("clinic", 2, 16), ("digits", 4, 2)],
)
def test_random_stakes_have_the_intervals_and_contenders_of_python(
    name, seed, settings, opened, request
):
    report = request.getfixturevalue(name)
    page, rng = opened(report), np.random.default_rng(seed)
    stakes_drawn = [{}, *(draw(report, rng) for _ in range(settings))]
    for stakes, shown in zip(stakes_drawn, page.run(READ, stakes_drawn), strict=True):
        costs = np.array(stakes.get("costs", report.problem.costs))
        prior = stakes.get("prior", report.assumptions.prior)
        there = Stakes(report).moved(costs, np.array(prior), kept=False)
        close: dict[str, Any] = {"rtol": 0, "atol": 1e-9 * max(1.0, float(np.abs(costs).max()))}
        for system, interval in shown["costs"]:
            cost = there.cost(system)
            np.testing.assert_allclose(interval, [cost.value, cost.low, cost.high], **close)
        best = there.verdict if there.saves else there.cheapest
        for part, expected in (
            ("expected", there.expected(best)),
            ("saving", there.expected_saving(best)),
        ):
            np.testing.assert_allclose(
                shown[part], [expected.value, expected.low, expected.high], **close
            )
        assert shown["contenders"] == list(there.contenders)
        assert shown["possible"] == list(there.possible)
        assert shown["verdict"] == there.verdict
        wanted = probability_cheapest(there.choice)
        np.testing.assert_allclose(shown["chances"], wanted, rtol=0, atol=1e-9)
        if shown["more"]:
            rival, more = shown["more"]
            at = there.choice.names.index(rival)
            parts = [there.choice.differences, there.choice.low, there.choice.high]
            np.testing.assert_allclose(more, [part[at] for part in parts], **close)
    assert page.complaints == []


@pytest.mark.slow
def test_after_a_change_the_page_says_what_was_and_how_sure_it_is(demo, opened):
    page = opened(demo)
    page.run("() => stakesPage.set({costs: [[0, 0.3, 1], [9, 0.3, 0]]})")
    text = page.text("#verdict-changed")
    was = demo.verdict.cheapest
    assert text.startswith((f"Was {was}, now ", f"Still {was}"))
    assert "the data cannot tell" in text
    assert "95 % interval" in text
    assert "a close call" in page.text("#verdict-tag").lower()
    assert "95 %: " in page.text("#facts")
    heads = page.text("#systems thead")
    assert "95 %" in heads
    assert "chance of being cheapest" in heads
    assert "at the stakes of the report" in page.text(".caveats")
    assert not page.page.get_by_role("img", name="approximate").count()
    page.run("() => stakesPage.set({prior: [0.9, 0.1]})")  # one map serves all priors
    assert not page.page.get_by_role("img", name="approximate").count()


@pytest.mark.slow
@pytest.mark.parametrize("design", ["clusters", "weights"])
def test_what_cannot_follow_says_so(design, opened):
    """Joint bins are for cases that count as one."""
    rng = np.random.default_rng(1)
    y = (rng.random(400) < 0.3).astype(int)
    models = {
        name: np.clip(0.3 + 0.4 * y + 0.2 * rng.normal(size=400), 0.01, 0.99) for name in "ab"
    }
    design_options: dict[str, Any] = {design: np.arange(400) // 4}
    if design == "weights":
        design_options = {design: 0.5 + rng.random(400)}
    problem = Problem.binary(false_alarm=1, miss=4)
    page = opened(evaluate(y, models, problem, calibrator=None, replicates=10, **design_options))
    page.run("() => stakesPage.set({costs: [[0, 1], [6, 0]]})")
    text = page.text("#verdict-changed")
    assert text.startswith(("Was ", "Still "))
    assert "how sure that is cannot be said from this page" in text
    assert "Deploy" not in text
    assert "not known under your stakes" in page.text("#facts")
    rows = flips(page)
    assert "by the costs on these cases alone" in page.text("#flips-hint").lower()
    for row, value, verdict, _ in ends(rows)[:3]:
        type_value(page, row["what"], value)
        assert f"now {verdict}" in page.text("#verdict-changed")
        page.run("() => stakesPage.set(stakesPage.reported())")
        page.run("() => stakesPage.set({costs: [[0, 1], [6, 0]]})")
    assert page.complaints == []
