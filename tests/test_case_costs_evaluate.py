"""Reports on problems with columns: every number against loops over rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stakes
from stakes import Decisions, InputError, Limit, Problem, Scores, evaluate
from stakes._check import FloatArray
from stakes.evaluation import build_report, read_cases
from stakes.evaluation.evidence import NO_MODEL, Charges, _few_of, costs_of, few_cases
from stakes.evaluation.predictions import case_cost
from stakes.inference.losses import LossSample
from stakes.report import Report

PAYMENTS = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": 8, "block": 0},
    },
    unit="EUR",
)
TWO = Problem(
    {"legit": {"approve": 0, "block": 5}, "fraud": {"approve": "amount", "block": "0.1*amount"}}
)


class World:
    """Payments with amounts, and two models of different skill."""

    def __init__(self, n: int = 600, seed: int = 0, share: float = 0.15) -> None:
        rng = np.random.default_rng(seed)
        fraud = rng.random(n) < share
        self.y = np.where(fraud, "fraud", "legit")
        self.data = {"amount": rng.lognormal(4, 1, n).round(2)}
        logit = np.log(share / (1 - share))
        self.scores = {
            name: rng.normal(np.where(fraud, e, -e), np.sqrt(2 * e)) + logit
            for name, e in (("weak", 1.0), ("strong", 2.5))
        }
        self.models = {name: 1 / (1 + np.exp(-log_odds)) for name, log_odds in self.scores.items()}
        self.weights = rng.integers(0, 3, n).astype(float)
        self.clusters = rng.integers(0, 40, n)
        self.by = np.where(rng.random(n) < 0.4, "north", "south")

    def data_of(self, problem: Problem) -> dict[str, Any] | None:
        """What the costs of a problem need."""
        return self.data if problem.columns else None


def brute(world, problem, decided, weights=None, prior=None, subset=None):
    """Mean cost of decisions, of perfect ones, of each constant one, row by row."""
    costs = problem.case_costs(world.data)
    n = len(world.y)
    rows = range(n) if subset is None else np.flatnonzero(subset)
    w = np.ones(n) if weights is None else weights
    sums, mass = np.zeros((2, 2 + problem.n_decisions)), np.zeros(2)
    for i in rows:
        k = problem.classes.index(world.y[i])
        mass[k] += w[i]
        sums[k, 0] += w[i] * costs[i, k, problem.decisions.index(decided[i])]
        sums[k, 1] += w[i] * min(costs[i, k])
        sums[k, 2:] += w[i] * costs[i, k]
    shares = mass / mass.sum() if prior is None else np.asarray(prior)
    means = shares @ (sums / mass[:, None])
    return means[0], means[1], means[2:]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
def test_costs_of_a_report_are_those_of_the_rows(prior, weighted):
    world = World()
    weights = world.weights if weighted else None
    problem = PAYMENTS.with_prior(prior)
    report = evaluate(
        world.y, world.models, problem, data=world.data, weights=weights, calibrator=None
    )
    posteriors = world.models["strong"]
    decided = stakes.bayes_decisions(posteriors, PAYMENTS, data=world.data)
    cost, perfect, constant = brute(world, problem, decided, weights, prior)
    system = report.system("strong (as is)")
    assert system.cost.value == pytest.approx(cost, rel=1e-9)
    assert report.perfect_cost == pytest.approx(perfect, rel=1e-9, abs=1e-12)
    assert report.naive.cost == pytest.approx(constant.min(), rel=1e-9)
    assert report.naive.decision == problem.decisions[int(constant.argmin())]
    normalized = (cost - perfect) / (constant.min() - perfect)
    assert system.normalized.value == pytest.approx(normalized, rel=1e-9)
    assert system.normalized.low < normalized < system.normalized.high
    assert system.cost.low < cost < system.cost.high
    shares = np.array(report.assumptions.prior)
    blind = stakes.bayes_decisions(np.tile(shares, (len(world.y), 1)), PAYMENTS, data=world.data)
    alone = brute(world, problem, blind, weights, prior)[0]
    assert report.no_model is not None
    assert report.no_model.cost.value == pytest.approx(alone, rel=1e-9)
    named = min(alone, constant.min())
    saving = report.verdict.saving_over_naive.value
    assert saving == pytest.approx(named - report.verdict.cost.value, rel=1e-9)
    assert system.spent is not None
    assert system.spent.sum() == pytest.approx(
        sum(system.counts.values.sum(axis=1) * _class_costs(world, decided, weights)), rel=1e-9
    )


def _class_costs(world, decided, weights):
    return [brute(world, PAYMENTS, decided, weights, prior)[0] for prior in ([1, 0], [0, 1])]


def test_a_report_charges_an_array_of_costs_as_it_does_expressions():
    world = World()
    by_columns = evaluate(world.y, world.models, PAYMENTS, data=world.data)
    costs = PAYMENTS.case_costs(world.data)
    base = Problem(
        np.zeros((2, 3)), classes=PAYMENTS.classes, decisions=PAYMENTS.decisions, unit="EUR"
    )
    by_array = evaluate(world.y, world.models, base, case_costs=costs)
    assert by_array.problem.columns[:1] == ("cost of block for legit",)
    for system, other in zip(by_columns.systems, by_array.systems, strict=True):
        assert system.cost == other.cost
        np.testing.assert_array_equal(system.counts.values, other.counts.values)
    assert by_columns.verdict.sentences == by_array.verdict.sentences


@pytest.mark.slow
def test_costs_that_are_the_same_in_every_case_cost_what_a_constant_problem_says():
    world = World()
    same = {"amount": np.full(len(world.y), 60.0)}
    key = np.arange(len(world.y))  # without one, folds depend on what the costs of a row are
    by_case = evaluate(world.y, world.models, PAYMENTS, data=same, key=key)
    constant = evaluate(world.y, world.models, PAYMENTS.at(amount=60), key=key)
    assert [system.name for system in by_case.systems] == [
        system.name for system in constant.systems
    ]
    for system, other in zip(by_case.systems, constant.systems, strict=True):
        assert system.cost.value == pytest.approx(other.cost.value, rel=1e-9)
        assert system.normalized.value == pytest.approx(other.normalized.value, rel=1e-9)
    assert by_case.naive.cost == pytest.approx(constant.naive.cost)
    assert by_case.no_model is not None
    assert by_case.no_model.cost.value == pytest.approx(constant.naive.cost)
    assert by_case.verdict.cheapest == constant.verdict.cheapest


@pytest.mark.slow
def test_recalibrated_moved_and_tuned_systems_decide_by_the_costs_of_each_case():
    world = World()
    problem = TWO.with_prior([0.8, 0.2])
    models = {**world.models, "raw": Scores(world.scores["strong"])}
    report = evaluate(world.y, models, problem, data=world.data)
    rules = {system.name for system in report.systems}
    assert {"strong (as is)", "strong (moved)", "strong (recalibrated)"} <= rules
    tuned = report.system("raw (tuned)")
    decided = np.where(world.scores["strong"] > tuned.threshold, "block", "approve")
    cost = brute(world, problem, decided, prior=[0.8, 0.2])[0]
    assert tuned.cost.value == pytest.approx(cost, rel=1e-9)
    thresholds = np.append(-np.inf, world.scores["strong"])
    least = min(
        brute(world, problem, np.where(world.scores["strong"] > t, "block", "approve"), None,
              [0.8, 0.2])[0]
        for t in thresholds[::7]
    )  # fmt: skip
    assert cost <= least + 1e-12
    apart = evaluate(world.y, {"raw": models["raw"]}, TWO, data=world.data, calibrator=None)
    assert "raw (tuned out of fold)" in {system.name for system in apart.systems}


def test_the_mean_matrix_would_decide_otherwise():
    world = World()
    report = evaluate(world.y, world.models, PAYMENTS, data=world.data, calibrator=None)
    mean = PAYMENTS.mean(world.data)
    decided = stakes.bayes_decisions(world.models["strong"], mean)
    assert brute(world, PAYMENTS, decided)[0] > report.system("strong (as is)").cost.value


def test_a_model_that_loses_to_the_costs_alone_is_not_deployed():
    """It is still cheaper than every constant decision."""
    world = World(n=2000)
    rng = np.random.default_rng(9)
    blind = stakes.bayes_decisions(np.full(2000, 0.15), PAYMENTS, data=world.data)
    poor = np.where(rng.random(2000) < 0.3, "review", blind)
    report = evaluate(world.y, {"poor": Decisions(poor)}, PAYMENTS, data=world.data)
    assert report.no_model is not None
    assert report.no_model.cost.value < report.best.cost.value < report.naive.cost
    assert report.verdict.deploy is None
    assert "without a model" in report.verdict.reason
    assert NO_MODEL in str(report)
    assert report.verdict.unaided_cost == pytest.approx(report.no_model.cost.value)
    assert str(report.verdict).splitlines() == list(report.verdict.sentences)
    assert str(report.best).startswith(f"poor (as decided): cost {report.best.cost.value:.4g} (")


def test_slices_hold_the_costs_of_their_own_cases():
    world = World()
    report = evaluate(
        world.y, world.models, PAYMENTS, data=world.data, by=world.by, calibrator=None
    )
    decided = stakes.bayes_decisions(world.models["weak"], PAYMENTS, data=world.data)
    for part in report.slices:
        cost = brute(world, PAYMENTS, decided, subset=world.by == part.group)[0]
        costs = {entry.system: entry.cost.value for entry in part.costs}
        assert costs["weak (as is)"] == pytest.approx(cost, rel=1e-9)


def test_clusters_widen_the_intervals_of_losses():
    """Every case twice, once as it is and once with its copy named as its cluster."""
    world = World(300)
    twice = {name: np.tile(p, 2) for name, p in world.models.items()}
    data = {"amount": np.tile(world.data["amount"], 2)}
    common: dict[str, Any] = {"data": data, "calibrator": None}
    alone = evaluate(np.tile(world.y, 2), twice, PAYMENTS, **common)
    pairs = evaluate(
        np.tile(world.y, 2), twice, PAYMENTS, clusters=np.tile(np.arange(300), 2), **common
    )
    once = evaluate(world.y, world.models, PAYMENTS, data=world.data, calibrator=None)
    width = [report.best.cost.high - report.best.cost.low for report in (alone, once, pairs)]
    assert width[0] < 0.85 * width[1]
    assert width[1] <= width[2] < 1.4 * width[1]  # the most expensive cluster counts twice


def test_copies_count_as_repetitions():
    world = World(400)
    times = world.weights.astype(int)
    weighted = evaluate(
        world.y, world.models, PAYMENTS, data=world.data, copies=times, calibrator=None
    )
    repeated = evaluate(
        np.repeat(world.y, times),
        {name: np.repeat(p, times) for name, p in world.models.items()},
        PAYMENTS,
        data={"amount": np.repeat(world.data["amount"], times)},
        calibrator=None,
    )
    for system, other in zip(weighted.systems, repeated.systems, strict=True):
        for part in ("value", "low", "high"):
            assert getattr(system.cost, part) == pytest.approx(getattr(other.cost, part), rel=1e-6)
            assert getattr(system.normalized, part) == pytest.approx(
                getattr(other.normalized, part), rel=1e-4
            )


def test_rows_without_weight_need_no_part_in_the_costs():
    world = World(300)
    kept = world.weights > 0
    some = evaluate(
        world.y, world.models, PAYMENTS, data=world.data, weights=world.weights, calibrator=None
    )
    rest = evaluate(
        world.y[kept],
        {name: p[kept] for name, p in world.models.items()},
        PAYMENTS,
        data={"amount": world.data["amount"][kept]},
        weights=world.weights[kept],
        calibrator=None,
    )
    assert [system.cost for system in some.systems] == [system.cost for system in rest.systems]


def test_the_order_of_rows_and_a_cost_that_all_share_change_nothing():
    world = World(500)
    order = np.random.default_rng(1).permutation(500)
    there = evaluate(world.y, world.models, PAYMENTS, data=world.data, calibrator=None)
    back = evaluate(
        world.y[order],
        {name: p[order] for name, p in world.models.items()},
        PAYMENTS,
        data={"amount": world.data["amount"][order]},
        calibrator=None,
    )
    shifted = Problem(
        {
            "legit": {"approve": 1000, "review": 1003, "block": "1005 + 0.02*amount"},
            "fraud": {"approve": "1000 + amount", "review": 1008, "block": 1000},
        }
    )
    more = evaluate(world.y, world.models, shifted, data=world.data, calibrator=None)
    for system, other, third in zip(there.systems, back.systems, more.systems, strict=True):
        assert system.cost.high == pytest.approx(other.cost.high, rel=1e-9)
        assert system.cost.high == pytest.approx(third.cost.high - 1000, rel=1e-6)
        assert system.normalized.value == pytest.approx(third.normalized.value, rel=1e-9)


def test_a_factor_on_a_cost_flips_the_verdict_where_the_report_says():
    world = World(800, seed=4)
    report = evaluate(world.y, world.models, PAYMENTS, data=world.data, calibrator=None)
    [margin] = [margin for margin in report.margins if margin.what.endswith("review for legit")]
    assert margin.value == 1
    assert margin.high_rival is not None
    charged: list[Any] = [*report.systems, report.no_model]

    def cheapest(factor):
        spent = {system.name: system.spent.copy() for system in charged}
        for table in spent.values():
            table[0, 1] *= factor
        totals: dict[str, float] = {name: table.sum() for name, table in spent.items()}
        for d, decision in enumerate(PAYMENTS.decisions):
            losses = PAYMENTS.case_costs(world.data)[np.arange(800), (world.y == "fraud") * 1, d]
            changed = losses * np.where((world.y == "legit") & (d == 1), factor, 1)
            totals[f"always {decision}"] = changed.sum()
        return min(totals, key=totals.__getitem__)

    assert cheapest(margin.high * 0.999) == report.best.name
    assert cheapest(margin.high * 1.001) == margin.high_rival


def test_a_few_expensive_cases_are_named_with_their_share():
    world = World(2000)
    amount = world.data["amount"].copy()
    amount[np.flatnonzero(world.y == "fraud")[:3]] = 1e6
    models = {"approver": Decisions(np.full(2000, "approve")), **world.models}
    report = evaluate(world.y, {"approver": models["approver"]}, PAYMENTS, data={"amount": amount})
    [caveat] = [caveat for caveat in report.caveats if caveat.kind == "few cases carry the cost"]
    fraud = np.sort(amount[world.y == "fraud"])
    share = round(100 * fraud[-10:].sum() / fraud.sum())
    assert f"10 of the 2000 cases are {share} %" in caveat.text or share >= 99
    even = evaluate(world.y, world.models, PAYMENTS, data={"amount": np.full(2000, 50.0)})
    assert "few cases carry the cost" not in {caveat.kind for caveat in even.caveats}


def test_a_few_cases_that_gain_most_are_named_as_those_that_cost_most_are():
    rng = np.random.default_rng(2)
    y = rng.random(2000) < 0.1
    p = np.clip(0.1 + 0.6 * y + rng.normal(0, 0.15, 2000), 0.001, 0.999)
    amount = np.exp(3 + 2 * rng.normal(size=2000))
    gains = Problem([[0, 5], [0, "-amount"]], classes=[False, True])
    data = {"amount": amount}
    options: dict[str, Any] = {"calibrator": None, "replicates": 2}
    report = evaluate(y, p, gains, data=data, **options)
    [caveat] = [caveat for caveat in report.caveats if caveat.kind == "few cases carry the cost"]
    decided = np.asarray(stakes.bayes_decisions(p, gains, data=data)).astype(bool)
    gained = np.sort(amount[y & decided])
    paid = 5 * (~y & decided).sum()
    share = round(100 * gained[-10:].sum() / (gained.sum() + paid))
    assert share > 30
    assert f"10 of the 2000 cases are {share} % of the gain of {report.best.name}" in caveat.text
    even = evaluate(y, p, gains, data={"amount": np.full(2000, 50.0)}, **options)
    assert "few cases carry the cost" not in {caveat.kind for caveat in even.caveats}


@pytest.mark.parametrize("costs", [[[0, 5], ["amount", 0]], [[0, 5], [0, "-amount"]]])
def test_few_mistakes_that_cost_the_same_are_no_few_cases_that_carry_the_cost(costs):
    place = np.arange(3000)
    y = place < 60
    decided = y & (place % 2 == 0) | (place > 2990)  # 30 misses, 30 hits, a few false alarms
    problem = Problem(costs, classes=[False, True], decisions=[False, True])
    options: dict[str, Any] = {"calibrator": None, "replicates": 2}
    for amount, warned in ((np.full(3000, 500.0), False), (500 * 0.9**place, True)):
        report = evaluate(y, Decisions(decided), problem, data={"amount": amount}, **options)
        assert ("few cases carry the cost" in {caveat.kind for caveat in report.caveats}) == warned


def test_the_share_of_few_cases_in_a_slice_is_that_under_the_prior_of_the_slice():
    rng = np.random.default_rng(4)
    n = 1500
    by = np.where(np.arange(n) < 500, "north", "south")
    y = rng.random(n) < np.where(by == "north", 0.5, 0.05)
    amount = np.exp(2 * rng.normal(size=n))
    problem = Problem([["amount", 0], [3, 0]], classes=[False, True], prior=[0.9, 0.1])
    report = evaluate(y, Decisions(np.zeros(n, int)), problem, data={"amount": amount}, by=by)
    worth = np.where(y, 0.1 / y.mean(), 0.9 / (1 - y.mean()))
    for group in report.slices:
        each = np.sort((np.where(y, 3, amount) * worth)[by == group.group])
        share = 100 * each[-10:].sum() / each.sum()
        assert group.note == f"10 cases cost {round(share)} %"


def test_reports_on_costs_of_cases_survive_json_and_print():
    world = World(300)
    report = evaluate(world.y, world.models, PAYMENTS, data=world.data, by=world.by)
    assert Report.from_json(report.to_json()) == report
    for text in (report.to_text(), report.to_markdown()):
        assert "0.02*amount" in text or "5 + 0.02" in text or "amount" in text
        assert NO_MODEL in text


def test_data_of_other_cases_are_refused():
    world = World(50)
    with pytest.raises(InputError, match="data must hold the columns"):
        evaluate(world.y, world.models, PAYMENTS)
    with pytest.raises(InputError, match="y_true and data must describe the same cases"):
        evaluate(world.y, world.models, PAYMENTS, data={"amount": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"shape \(n, 2, 3\)"):
        evaluate(world.y, world.models, PAYMENTS, case_costs=np.zeros((50, 3, 2)))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(world.data, index=np.arange(50)[::-1])
    with pytest.raises(InputError, match="same index"):
        evaluate(pandas.Series(world.y), world.models, PAYMENTS, data=frame)


# Running costs and totals ------------------------------------------------------------------------


@pytest.mark.parametrize("problem", [PAYMENTS, PAYMENTS.at(amount=80).with_prior([0.9, 0.1])])
def test_running_costs_are_part_of_every_cost_of_a_model(problem):
    world = World()
    common: dict[str, Any] = {"data": world.data_of(problem), "calibrator": None}
    free = evaluate(world.y, world.models, problem, **common)
    paid = evaluate(world.y, world.models, problem, running_costs={"strong": 0.25}, **common)
    for before, after in zip(free.systems, paid.systems, strict=True):
        more = 0.25 if after.model == "strong" else 0.0
        assert after.running_cost == more
        for part in ("value", "low", "high"):
            assert getattr(after.cost, part) == pytest.approx(
                getattr(before.cost, part) + more, rel=1e-9
            )
        unit = paid.naive.cost - paid.perfect_cost
        assert after.normalized.value == pytest.approx(before.normalized.value + more / unit)
    assert paid.naive == free.naive
    unaided = min(paid.naive.cost, np.inf if paid.no_model is None else paid.no_model.cost.value)
    verdict = paid.verdict
    assert verdict.saving_over_naive.value == pytest.approx(unaided - verdict.cost.value, rel=1e-9)
    assert verdict.cost.value >= paid.best.cost.value
    assert "Running costs per case" in str(paid)
    explained = "share of the cost, running costs apart" in " ".join(str(paid).split())
    assert explained == (paid.best.model == "strong")
    assert Report.from_json(paid.to_json()) == paid


@pytest.mark.parametrize("problem", [PAYMENTS, PAYMENTS.at(amount=80)])
def test_a_model_that_costs_more_to_run_than_it_saves_is_not_deployed(problem):
    world = World()
    common: dict[str, Any] = {"data": world.data_of(problem), "calibrator": None}
    [free, paid] = [
        evaluate(
            world.y, {"strong": world.models["strong"]}, problem, running_costs=costs, **common
        )
        for costs in (None, {"strong": 50})
    ]
    assert free.verdict.model == "strong"
    assert paid.verdict.deploy is None


def test_running_costs_flip_which_of_two_models_is_the_cheapest():
    world = World(3000)
    costs = [
        evaluate(
            world.y, world.models, TWO, data=world.data, calibrator=None, running_costs=running
        )
        for running in (None, {"strong": 3.0})
    ]
    assert [report.best.model for report in costs] == ["strong", "weak"]
    [margin] = [margin for margin in costs[1].margins if margin.what.endswith("approve for fraud")]
    assert margin.value == 1


@pytest.mark.parametrize("problem", [PAYMENTS, PAYMENTS.at(amount=80)])
def test_a_volume_turns_costs_into_totals_for_people_and_machines(problem):
    world = World(2000)
    report = evaluate(
        world.y, world.models, problem, data=world.data_of(problem), calibrator=None,
        volume=250_000, period="year",
    )  # fmt: skip
    system = report.system("strong (as is)")
    assert system.total is not None
    assert report.verdict.total_saving is not None
    assert system.total.value == pytest.approx(250_000 * system.cost.value)
    assert report.verdict.total_saving.high == pytest.approx(
        250_000 * report.verdict.saving_over_naive.high
    )
    for text in (str(report), report.to_markdown()):
        assert "250,000 cases a year" in " ".join(text.split())
        assert "per year" in text
    assert Report.from_json(report.to_json()) == report
    alone = evaluate(
        world.y, world.models, problem, data=world.data_of(problem), calibrator=None, volume=10
    )
    assert "For 10 cases, it costs" in " ".join(str(alone).split())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"running_costs": {"forest": 1}}, "'forest' is none of them.* 'weak', 'strong'"),
        ({"running_costs": 3}, "running_costs must be a mapping"),
        ({"running_costs": {"weak": -1}}, r"running_costs\['weak'\]"),
        ({"running_costs": {"weak": "much"}}, r"running_costs\['weak'\]"),
        ({"volume": -5}, "volume"),
        ({"volume": 0}, "volume must be above zero"),
        ({"volume": np.inf}, "volume must be one real number that is finite and at least 0"),
        ({"period": "year"}, "period must come with a volume"),
        ({"volume": 5, "period": " "}, "period must be a word"),
        ({"volume": 5, "period": 3}, "period must be a word"),
    ],
)
def test_running_costs_and_volumes_that_make_no_sense_are_refused(options, message):
    world = World(50)
    with pytest.raises(InputError, match=message):
        evaluate(world.y, world.models, PAYMENTS, data=world.data, **options)


@pytest.mark.parametrize("spread", [0, 1])
def test_costs_of_another_number_of_cases_are_refused_by_their_name(spread):
    world = World(50)
    costs = np.ones((49, 2, 3)) + spread * np.arange(49)[:, None, None]
    with pytest.raises(InputError, match=r"case_costs .* of which there are 50; it has 49 rows"):
        evaluate(world.y, world.models, PAYMENTS, case_costs=costs)


def test_series_of_other_cases_are_refused_in_a_mapping_as_in_a_frame():
    pd = pytest.importorskip("pandas")
    world = World(50)
    y, p = pd.Series(world.y), pd.Series(world.models["weak"])
    turned = pd.DataFrame(world.data)[::-1]
    rule = stakes.Rule(PAYMENTS)
    for data in (turned, {"amount": turned["amount"]}):
        for call in (
            lambda data: evaluate(y, p, PAYMENTS, data=data, calibrator=None),
            lambda data: rule.decide(p, data=data),
            lambda data: stakes.bayes_decisions(p, PAYMENTS, data=data),
            lambda data: stakes.expected_costs(p, PAYMENTS, data=data),
            lambda data: stakes.metrics.bayes_cost(y, p, problem=PAYMENTS, data=data),
        ):
            with pytest.raises(InputError, match="same labels in another order"):
                call(data)


# The page ----------------------------------------------------------------------------------------


def test_the_page_of_costs_of_cases_moves_coefficients_and_says_that_decisions_stay():
    pytest.importorskip("jinja2")
    world = World(300)
    common: dict[str, Any] = {"data": world.data, "calibrator": None, "replicates": 20}
    page = evaluate(
        world.y, world.models, PAYMENTS, by=world.by, volume=100_000, period="day", **common
    ).to_html()
    assert "<script" in page
    assert "the decisions stay as they are made now" in page
    assert "5 + 0.02*amount" in page  # for readers without JavaScript
    assert NO_MODEL in page
    assert "100,000 cases a day" in page.replace("\u00a0", " ")
    assert "factor on the cost of approve for fraud" in page
    paid = evaluate(world.y, world.models, TWO, running_costs={"weak": 0.1}, **common)
    assert "<script" in paid.to_html()


def test_the_rule_of_a_report_decides_by_the_costs_of_each_case():
    world = World(300)
    report = evaluate(world.y, world.models, PAYMENTS, data=world.data, calibrator=None)
    decided = report.rule("strong (as is)").decide(world.models["strong"], world.data)
    expected = stakes.bayes_decisions(world.models["strong"], PAYMENTS, data=world.data)
    np.testing.assert_array_equal(decided, expected)


def test_a_constant_decision_is_named_where_the_costs_of_each_case_decide_the_same():
    y = np.repeat(["legit", "fraud"], [80, 20])
    p = np.where(y == "fraud", 0.7, 0.1)
    costs = {"legit": {"ok": 0, "block": "5 + 0*amount"}, "fraud": {"ok": 40, "block": 0}}
    text = " ".join(evaluate(y, {"m": p}, Problem(costs), data={"amount": p}).verdict.sentences)
    assert "Against always deciding block" in text


def test_what_a_model_costs_to_run_is_normalised_by_a_cost_that_is_not_known_for_sure():
    """In a rare class the cost of a blind decision varies: a known cost is no known share of it."""
    rng = np.random.default_rng(7)
    y = (rng.random(1000) < 0.02).astype(int)
    models = {"m": Decisions(y ^ (rng.random(1000) < 0.05))}
    running = {"m": 0.3}
    known = evaluate(y, models, Problem([[0, 1], [30, 0]]), running_costs=running)
    by_case = Problem([[0, "1 + 0*amount"], [30, 0]])
    report = evaluate(y, models, by_case, data={"amount": rng.random(1000)}, running_costs=running)
    share, other = known.systems[0].normalized, report.systems[0].normalized
    assert share.value == pytest.approx(other.value)
    assert (share.low, share.high) == pytest.approx((other.low, other.high), rel=0.1)


@pytest.mark.slow
def test_the_greatest_normalised_cost_has_the_unit_of_the_others(monkeypatch):
    """The best constant decision, also where deciding without a model costs something else."""
    known: list[Any] = []

    def recorded(*some: Any) -> Any:
        known.append(costs_of(*some))
        return known[-1]

    monkeypatch.setattr(build_report, "costs_of", recorded)
    world = World()
    limited = TWO.with_prior([0.7, 0.3]).with_limits([Limit.share("block", at_most=0.2)])
    evaluate(world.y, world.models, limited, data=world.data, calibrator=None)
    costs = known[0]
    assert costs.unaided == NO_MODEL
    for name in ("weak (as is)", "strong (as is)"):
        unit = (costs.cost(name).value - costs.perfect) / costs.normalized(name).value
        assert costs._span == pytest.approx(unit, rel=1e-12)


def test_a_class_that_the_prior_expects_must_have_cases_where_costs_depend_on_columns():
    problem = Problem([[0, 5], ["amount", 0]], prior=[0.9, 0.1])
    with pytest.raises(InputError, match="1 has none, so that nobody knows what it costs"):
        evaluate([0] * 50, [0.2] * 50, problem, data={"amount": np.arange(50.0)})


def test_scores_of_two_classes_are_cut_where_the_costs_of_their_cases_say():
    world = World(200)
    models = {"raw": Scores(world.scores["strong"])}
    report = evaluate(world.y, models, TWO, data=world.data, calibrator=None, replicates=10)
    assert {system.name for system in report.systems} == {"raw (tuned out of fold)", "raw (tuned)"}


def test_costs_of_single_cases_are_weighed_and_above_those_of_perfect_decisions():
    problem = Problem([[0, "a"], [5, 1]], prior=[0.75, 0.25])
    cases = read_cases([0, 0, 1], problem, [1.0, 3.0, 2.0], None, None, {"a": [4.0, 8.0, 0.0]})
    result = case_cost(cases, np.array([1, 1, 0]))
    assert result == pytest.approx(0.75 * (1 * 4 + 3 * 8) / 4 + 0.25 * (5 - 1))


def _charges(loss: FloatArray, truth: Any, weights: FloatArray, repeats: Any) -> Charges:
    sample = LossSample(
        *(("m",), loss[None], loss, 0 * loss, truth, 2, None, weights, False, None), repeats=repeats
    )
    costs = Problem([[0, "a"], ["a", 0]]).charged({"a": loss}, None)
    assert costs is not None
    return Charges(sample, 0.0, {}, truth, costs, {})


@pytest.mark.parametrize("prior", [None, np.array([0.9, 0.1])])
def test_few_cases_carry_the_same_share_whether_equal_cases_are_pooled_or_not(prior):
    rng = np.random.default_rng(0)
    loss, weights, truth = rng.lognormal(0, 1.5, 40), rng.uniform(0.5, 2, 40), np.arange(40) % 2
    repeats = rng.integers(1, 9, 40)
    rows = np.repeat(np.arange(40), repeats)
    pooled = few_cases(_charges(loss, truth, weights * repeats, repeats * 1.0), "m", prior)
    apart = few_cases(_charges(loss[rows], truth[rows], weights[rows], None), "m", prior)
    assert pooled.share == pytest.approx(apart.share, abs=1e-12)
    assert 0.2 < pooled.share < 0.4


def test_what_few_cases_cost_does_not_depend_on_the_unit():
    each, truth = np.append(np.full(200, 0.001), [5.0, 4.0]), np.zeros(202, dtype=np.intp)
    shares = [_few_of(unit * each, unit * each, truth, np.ones(202)) for unit in (1.0, 1e-6)]
    assert shares[0] > 0.9
    assert shares[1] == pytest.approx(shares[0])
