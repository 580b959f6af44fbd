"""The page computes what Python computes, on the tallies that it holds."""

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
from stakes import (
    Counts,
    InputError,
    Problem,
    ScoreTable,
    best_threshold,
    evaluate,
    expected_cost,
    normalized_cost,
    shift_prior,
)
from stakes._text import (
    chance,
    measured,
    measured_column,
    number,
    part,
    percent,
    probability,
    proportion,
    prose,
    small_amount,
    whole_percent,
)
from stakes.audit import FAMILIAR, Probabilities, RawScores, implied_costs
from stakes.calibration import reliability
from stakes.conditions import CostProportions
from stakes.curves import brier_curve, decision_curve, optimal_curve
from stakes.decide import bayes_decision_indices
from stakes.regions import (
    CostProportion,
    Margin,
    Prior,
    as_cost_ratios,
    cheapest_regions,
    constant_rules,
    nearest_first,
    sensitivity,
)
from stakes.scoring import HullBins

SETTINGS = 50
READ = """settings => settings.map(stakes => {
    stakesPage.set(stakes);
    const {systems, best, naive, perfect} = stakesPage.result();
    const pick = ({name, counts, cost, normalized, threshold}) =>
        ({name, counts, cost, normalized, threshold});
    const {regions, margins} = stakesPage.tables();
    return {
        systems: systems.map(pick), best: best.name, naive, perfect,
        tables: {regions, margins},
    };
})"""


def draw(shape: tuple[int, int], rng: np.random.Generator) -> dict[str, list]:
    """Costs of any sign with ties and zeros among them, and a prior that may be extreme."""
    costs = rng.exponential(size=shape) * rng.choice([0, 1, 1, 1, 5, -0.3], size=shape)
    prior = rng.dirichlet(np.full(shape[0], rng.choice([0.3, 1.0, 5.0])))
    prior = np.maximum(prior, 1e-6)
    return {"costs": costs.round(rng.choice([1, 3, 9])).tolist(), "prior": prior / prior.sum()}


def settings_for(data: dict, seed: int) -> list[dict[str, list]]:
    rng = np.random.default_rng(seed)
    shape = np.shape(data["problem"]["costs"])
    drawn = [draw(shape, rng) for _ in range(SETTINGS)]
    return [
        {"costs": setting["costs"], "prior": np.asarray(setting["prior"]).tolist()}
        for setting in drawn
    ]


def table_of(model: dict, which: str = "table") -> ScoreTable:
    return ScoreTable(scores_of(model[which]), np.transpose(cases_of(model[which])))


def counts_of(system: dict, data: dict, problem: Problem) -> np.ndarray:
    """Decisions of one system on the embedded tallies, by the library."""
    if system["way"] == "fixed":
        return np.array(system["counts"], dtype=float)
    repaired = system["way"] == "recalibrated"
    table = table_of(data["models"][system["model"]], "recalibrated" if repaired else "table")
    if system["way"] == "tuned":
        try:
            return best_threshold(table, problem).counts.values
        except InputError:  # each class is served best by the other's decision
            return np.full((2, 2), np.nan)
    scores = table.scores
    if system["way"] != "as is":
        prior = data["prior"] if repaired else data["holds_for"]
        scores = shift_prior(scores, prior, problem.prior)
    decided = bayes_decision_indices(scores, problem)
    chosen = np.eye(problem.n_decisions)[decided]
    return table.weights.T @ chosen


def problem_of(data: dict, setting: dict) -> Problem:
    named = {name: data["problem"][name] for name in ("classes", "decisions")}
    return Problem(setting["costs"], prior=setting["prior"], **named)


SLOW: dict[str, Any] = {"marks": pytest.mark.slow}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"),
    [("clinic", 12), pytest.param("demo", 11, **SLOW), pytest.param("digits", 13, **SLOW)],
)
def test_fifty_random_stakes_give_the_numbers_of_python(name, seed, opened, request):
    """Costs, decision counts and normalised costs of all systems, to 1e-9."""
    page = opened(request.getfixturevalue(name))
    data = page.data
    settings = settings_for(data, seed)
    for setting, displayed in zip(settings, page.run(READ, settings), strict=True):
        problem = problem_of(data, setting)
        known = {system["name"]: system for system in data["systems"]}
        spent = {}
        for shown in displayed["systems"]:
            counts = counts_of(known[shown["name"]], data, problem)
            cost = float(expected_cost(Counts._trusted(**bare(counts)), problem))
            normal = float(normalized_cost(Counts._trusted(**bare(counts)), problem))
            np.testing.assert_allclose(shown["counts"], counts, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(shown["cost"], cost, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(shown["normalized"], normal, rtol=1e-9, atol=1e-9)
            if known[shown["name"]]["candidate"] and not np.isnan(cost):
                spent[shown["name"]] = cost
        # Of rules of one model within 1 % of the saving the simplest is named.
        saved = displayed["naive"]["cost"] - min(spent.values())
        assert spent[displayed["best"]] <= min(spent.values()) + 0.01 * max(saved, 0) + 1e-9
        assert problem.decisions[displayed["naive"]["decision"]] == problem.naive.decision
        assert displayed["naive"]["cost"] == pytest.approx(problem.naive.cost, abs=1e-12)
        assert displayed["perfect"] == pytest.approx(problem.perfect_cost, abs=1e-12)
    assert page.complaints == []


def bare(values: np.ndarray) -> dict:
    return {"values": values, "classes": None, "decisions": None, "groups": None}


@pytest.mark.parametrize(
    "name", ["clinic", pytest.param("demo", **SLOW), pytest.param("digits", **SLOW)]
)
def test_the_page_begins_with_the_numbers_of_the_report(name, opened, request):
    """Scores are pooled so that the report's own decisions stay exactly as they were."""
    report = request.getfixturevalue(name)
    (displayed,) = opened(report).run(READ, [{}])
    for shown in displayed["systems"]:
        system = report.system(shown["name"])
        np.testing.assert_allclose(shown["counts"], system.counts.values, rtol=1e-12)
        assert shown["cost"] == pytest.approx(system.cost.value, rel=1e-12, abs=1e-12)
        assert shown["normalized"] == pytest.approx(system.normalized.value, rel=1e-12)
    assert displayed["best"] == report.verdict.cheapest
    assert {system["name"] for system in displayed["systems"]} == {
        system.name for system in report.systems
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"),
    [("demo", 21), pytest.param("clinic", 22, **SLOW), pytest.param("digits", 23, **SLOW)],
)
def test_regions_and_margins_are_those_of_python(name, seed, opened, request):
    page = opened(request.getfixturevalue(name))
    data = page.data
    candidates = {system["name"] for system in data["systems"] if system["candidate"]}
    settings = settings_for(data, seed)[:8]
    for setting, displayed in zip(settings, page.run(READ, settings), strict=True):
        problem = problem_of(data, setting)
        counts = {
            system["name"]: Counts(system["counts"])
            for system in displayed["systems"]
            if system["name"] in candidates and not np.isnan(system["cost"])
        }
        if len(counts) < len(
            [system for system in displayed["systems"] if system["name"] in candidates]
        ):
            continue
        counts.update(constant_rules(next(iter(counts.values())), problem))
        last, shown = problem.classes[-1], displayed["tables"]["regions"]
        assert_regions(shown, f"prior of {last}", cheapest_regions(counts, Prior(problem, last)))
        if problem.costs.shape == (2, 2):
            regions = cheapest_regions(counts, CostProportion(problem.prior))
            assert_regions(shown, "cost proportion", regions)
            assert_regions(shown, "false alarm : miss", as_cost_ratios(regions))
        assert_margins(displayed["tables"]["margins"], sensitivity(counts, problem))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["clinic", pytest.param("demo", **SLOW), pytest.param("digits", **SLOW)]
)
def test_regions_and_margins_begin_as_those_of_the_report(name, opened, request):
    report = request.getfixturevalue(name)
    (displayed,) = opened(report).run(READ, [{}])
    for regions in report.regions:
        assert_regions(displayed["tables"]["regions"], regions.axis, regions)
    rows = {row[0]: row[2:] for row in displayed["tables"]["margins"][1:]}
    assert set(rows) == {margin.what for margin in report.margins}
    for margin in report.margins:
        low, low_rival, high, high_rival = rows[margin.what]
        np.testing.assert_allclose([low, high], [margin.low, margin.high], rtol=1e-7, atol=1e-9)
        assert (low_rival, high_rival) == (margin.low_rival or "", margin.high_rival or "")
    winners = [row[3] for row in displayed["tables"]["regions"][1:]]
    assert any(winner.startswith("always ") for winner in winners)


def assert_regions(rows, axis, regions):
    """The same intervals, except for slivers that only rounding makes."""
    pieces = [row[1:] for row in rows if row[0] == axis and row[2] - row[1] > 1e-9]
    parts = [part for part in regions.parts if part.high - part.low > 1e-9]
    assert [row[2] for row in pieces] == ["; ".join(part.cheapest) for part in parts]
    np.testing.assert_allclose([row[0] for row in pieces], [p.low for p in parts], atol=1e-9)


def assert_margins(rows, actual):
    """The same points and the same rivals; no prior flips the verdict at zero or one."""
    shown = {row[0]: row for row in rows[1:]}
    for margin in (*actual.costs, *actual.priors):
        _, _, low, low_rival, high, high_rival = shown[margin.what]
        wanted = (margin.low, margin.high)
        np.testing.assert_allclose([low, high], wanted, rtol=1e-7, atol=1e-9)
        assert (low_rival, high_rival) == (margin.low_rival or "", margin.high_rival or "")


@pytest.mark.slow
def test_curves_are_those_of_python(clinic, opened):
    page = opened(clinic)
    data, prior = page.data, [0.7, 0.3]
    page.run("prior => stakesPage.set({prior})", prior)
    tables = {model["name"]: table_of(model) for model in data["models"] if model["table"]}
    moved = {
        name: ScoreTable(
            shift_prior(tables[name].scores, data["holds_for"], prior), tables[name].weights
        ).with_prior(prior)
        for name in ("nomogram", "network")
    }
    read = "([id, x]) => stakesPage.read(id, x).filter(line => line[1] !== null)"
    for x in (0.013, 0.2, 0.47, 0.81):
        lines = dict(page.run(read, ["cost-curve", x]))
        for name, table in tables.items():
            best = optimal_curve(table.with_prior(prior), CostProportions)
            assert lines[name] == pytest.approx(float(best(x)), abs=1e-9)
        lines = dict(page.run(read, ["net-benefit", x]))
        for name, table in moved.items():
            curve = decision_curve(table)
            assert lines[name] == pytest.approx(float(curve.net_benefit(x)), abs=1e-9)
            assert lines["act on all"] == pytest.approx(float(curve.treat_all(x)), abs=1e-9)
    for name, table in moved.items():
        result = reliability(table, HullBins())
        place = result.scores.size // 2
        lines = dict(page.run(read, ["reliability", float(result.scores[place])]))
        assert lines[name] == pytest.approx(float(result.observed[place]), abs=1e-9)
    page.page.get_by_label("thresholds taken from the probabilities").check()
    for x in (0.013, 0.2, 0.47):
        lines = dict(page.run(read, ["cost-curve", x]))
        for name, table in moved.items():
            loss = brier_curve(table, CostProportions)
            assert lines[name] == pytest.approx(float(loss(x)), abs=1e-9)


@pytest.mark.slow
def test_cost_over_the_prior_moves_the_decisions_along(demo, opened):
    page = opened(demo)
    data = page.data
    for share in (0.02, 0.11, 0.4):
        lines = dict(page.run("x => stakesPage.read('cost-curve', x)", share))
        problem = Problem(data["problem"]["costs"], prior=[1 - share, share])
        for model in data["models"]:
            system = {"way": "moved", "model": data["models"].index(model)}
            counts = Counts(counts_of(system, data, problem))
            assert lines[model["name"]] == pytest.approx(
                float(expected_cost(counts, problem)), abs=1e-9
            )


@pytest.mark.slow
def test_implied_costs_are_those_of_python(clinic, opened):
    page = opened(clinic)
    data, prior = page.data, [0.8, 0.2]
    page.run("prior => stakesPage.set({prior})", prior)
    rows = page.run("() => stakesPage.tables().implied")[1:]
    assert len(rows) == 12
    models = {model["name"]: model for model in data["models"]}
    for metric, name, threshold, low, high in rows:
        scale = Probabilities() if models[name]["kind"] == "posteriors" else RawScores()
        table = table_of(models[name]).with_prior(prior)
        optimum = implied_costs(table, FAMILIAR[metric], scale=scale).optima[0]
        assert threshold == pytest.approx(optimum.threshold)
        np.testing.assert_allclose([low, high], optimum.empirical.cost_ratio, rtol=1e-9)


@pytest.mark.slow
def test_dots_lie_on_the_roc_curve_in_whatever_order_decisions_are_listed(opened):
    """A point for every probability at which the decision changes."""
    rng = np.random.default_rng(5)
    y = (rng.random(400) < 0.3).astype(int)
    scores = 1 / (1 + np.exp(-rng.normal(2.0 * y - 2.5, 1.5)))
    truth = np.array(["legit", "fraud"])[y]
    costs = np.array([[0, 3, 25], [180, 8, 0]])
    names = np.array(["approve", "review", "block"])
    points = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        problem = Problem(costs[:, order], classes=["legit", "fraud"], decisions=names[order])
        page = opened(evaluate(truth, {"model": scores}, problem, replicates=10))
        points.append(page.run("() => stakesPage.dots('roc')"))
    counts = Counts(
        np.array(
            [
                [*np.bincount(by, minlength=3)]
                for by in (bayes_decision_indices(scores[y == k], Problem(costs)) for k in (0, 1))
            ]
        )
    )
    rates = counts.values / counts.values.sum(axis=1, keepdims=True)
    wanted = [rates[:, 1:].sum(axis=1), rates[:, 2]]
    for dots in points:
        np.testing.assert_allclose(sorted(dots, reverse=True), wanted, atol=1e-12)


@pytest.mark.slow
def test_the_nearest_margin_comes_first_by_the_factor_on_its_number(clinic, opened):
    """As Python has them: moves from a cost of zero, to which no factor leads, come last."""
    page = opened(clinic)
    rows = page.run("() => stakesPage.tables().margins")[1:]
    near = [
        Margin(what, value, low, high, below, above).log_factor
        for what, value, low, below, high, above in rows
    ]
    assert near[0] < near[-1]
    np.testing.assert_allclose(near, sorted(near), rtol=1e-12)
    wanted = [margin.what for margin in nearest_first(clinic.margins)]
    assert {what for what, *_ in rows} <= set(wanted)


@pytest.mark.slow
def test_what_metrics_cost_follows_the_stakes(demo, opened):
    page = opened(demo)
    at_first = page.run("() => stakesPage.tables().disagreement")
    shown = page.page.locator("#disagreement tbody tr td:nth-of-type(2)").all_inner_texts()
    assert shown[1:] == sorted(shown[1:], reverse=True)  # the dearest mistakes first
    wanted = demo.disagreement.columns()
    assert [row[-2].replace("; ", ", ") for row in at_first[1:]] == wanted["picks"]
    np.testing.assert_allclose([row[-1] for row in at_first[1:]], wanted["costs more"], atol=1e-9)
    page.run("() => stakesPage.set({costs: [[0, 9, 1], [1, 9, 0]], prior: [0.7, 0.3]})")
    later = page.run("() => stakesPage.tables().disagreement")
    assert [row[1:-1] for row in later[2:]] == [row[1:-1] for row in at_first[2:]]
    assert later[1][1:-2] != at_first[1][1:-2]


@pytest.mark.slow
def test_numbers_are_written_as_python_writes_them(demo, opened):
    rng = np.random.default_rng(4)
    values = (rng.normal(size=300) * 10.0 ** rng.integers(-9, 18, 300)).tolist()
    values += [0.0, 100.25, 1234.5, -1234.5, 12344.5, 9999.5, 9999.4, 1e4, 12345, 99999, 1e15]
    values += [1e-4, 0.00099995, 0.00009999, -0.0125, 123456.789, 0.5, 1e-300, 1e300]
    page = opened(demo)
    assert written(page, "short", values) == [number(value) for value in values]
    assert written(page, "plain", values) == [prose(value) for value in values]
    pairs = list(zip(values, reversed(values), strict=True))
    small = "pairs => pairs.map(([amount, cost]) => stakesPage.write.smallAmount(amount, cost))"
    assert page.run(small, pairs) == [small_amount(amount, cost) for amount, cost in pairs]
    shares = [*rng.random(50).tolist(), 0.0, 1.0, 0.0004, 0.9996, 1.13, -0.131, 12.5, 0.995]
    shares += [0.0095, 0.00949, 0.0005, 0.00049, 0.0015, *(0.01 * rng.random(30)).tolist()]
    shares += [0.01, 0.99, 0.004, 0.99999, 1e-9, 1 - 1e-9, 0.00985, 0.5, 0.125]
    for name, write in (
        ("percent", percent),
        ("wholePercent", whole_percent),
        ("partText", part),
        ("chanceText", chance),
        ("proportionText", proportion),
        ("probabilityText", probability),
    ):
        assert written(page, name, shares) == [write(share) for share in shares], name


@pytest.mark.slow
def test_intervals_round_their_numbers_as_in_python(demo, opened):
    """Values of any size, halves among them, in intervals of any width, and in none."""
    rng = np.random.default_rng(5)
    values = rng.normal(size=2000) * 10.0 ** rng.integers(-9, 14, 2000)
    ends = rng.random((2000, 2)) * 10.0 ** rng.integers(-12, 14, 2000)[:, None]
    triples = np.stack([values, values - ends[:, 0], values + ends[:, 1]], axis=-1)
    triples[::3] = np.round(triples[::3], 3)
    intervals = [
        *triples.tolist(),
        *([0, 0, 0], [0, -1, 1], [5, 5, 5], [50, -950, 1050], [49, -950, 1050], [2.5, 0, 30]),
        *([3.505, 3, 4], [1.005, 0, 3], [-0.285, -1, 1], [3505000.0, 3e6, 4e6], [8.575, 8, 9]),
        *([99996.0, 99000, 1e5], [1, 1 - 1e-13, 1 + 1e-13], [1e16, 0, 2e16], [3e-80, 0, 6e-80]),
        *([0.14, 0.00196, 0.39], [0.58, -3.3, 454613.0], [-0.14, -0.39, -1e-5], [0.1, 1e-13, 0.3]),
    ]
    page = opened(demo)
    alone = [list(measured(*interval)) for interval in intervals]
    assert written(page, "measured", intervals) == alone
    columns = [intervals[start : start + 7] for start in range(0, len(intervals), 7)]
    together = [[list(row) for row in measured_column(column)] for column in columns]
    assert written(page, "measuredColumn", columns) == together


def written(page, name, values):
    """What a function of the page makes of each of some values."""
    script = "([name, values]) => values.map(value => stakesPage.write[name](value))"
    return page.run(script, [name, values])
