"""Rules: what a report found to be the cheapest is carried out on new cases, and shipped."""

from __future__ import annotations

import json
import math
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stakes import (
    Counts,
    InputError,
    Posteriors,
    Problem,
    Report,
    Rule,
    Scores,
    bayes_decisions,
    evaluate,
    expected_costs,
    shift_prior,
)
from stakes.calibration import (
    Affine,
    BetaMap,
    Identity,
    Isotonic,
    Logistic,
    Select,
    Temperature,
    VectorScaling,
    from_json,
)
from stakes.rule import Rules, cuts_of

inf = math.inf

FRAUD = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    unit="EUR",
)
BINARY = Problem.binary(false_alarm=1, miss=5, classes=["no", "yes"], decisions=["wait", "act"])
THREE = Problem(
    [[0, 1, 4, 2], [6, 0, 3, 2], [9, 5, 0, 2]],
    classes=["a", "b", "c"],
    decisions=["A", "B", "C", "ask"],
)


def cases(n_cases: int = 400, seed: int = 1) -> tuple[Any, Any]:
    """True codes of two classes, and overconfident posteriors with ties."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_cases) < 0.3).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 2**0.5) - 0.8
    return y, np.round(1 / (1 + np.exp(-3 * log_odds)), 3)


def labelled(y: Any, problem: Problem) -> Any:
    return np.array(problem.classes, dtype=object)[y]


Y, P = cases()
WEIGHTS = np.arange(Y.size) % 4 / 2.0
CLUSTERS = np.arange(Y.size) // 4


def report_on(problem: Problem, predictions: Any = P, **options: Any) -> Report:
    settings = {"weights": WEIGHTS, "clusters": CLUSTERS, "replicates": 20, **options}
    return evaluate(labelled(Y, problem), {"new": predictions}, problem, **settings)


# Cuts --------------------------------------------------------------------------------------------


@given(st.lists(st.floats(allow_nan=False, max_value=1e308), max_size=6, unique=True))
@example([-inf, -5e-324, 0.0, 5e-324, 1e308])
@example([-1.7976931348623157e308])
def test_every_step_is_found_at_its_very_number(steps):
    steps = np.unique(steps)
    cuts = cuts_of(lambda scores: np.searchsorted(steps, scores, side="left"), -inf, inf)
    assert cuts.at.tolist() == steps.tolist()
    assert cuts.decisions.tolist() == list(range(steps.size + 1))
    with np.errstate(over="ignore"):  # below the lowest number
        beside = [np.nextafter(steps, inf), np.nextafter(steps, -inf)]
    scores = np.concatenate([steps, *beside, [inf]])
    assert cuts(scores).tolist() == [int(np.sum(steps < score)) for score in scores]


def test_steps_that_fall_are_found_too():
    cuts = cuts_of(lambda scores: np.where(scores > 0.25, 0, 2), 0.0, 1.0)
    assert (cuts.at.tolist(), cuts.decisions.tolist()) == ([0.25], [2, 0])


# The rule of a system decides as the system did --------------------------------------------------

PRIOR: Any = [0.9, 0.1]
NAMED = Affine().fit(P, Y).relabelled(FRAUD.classes)


@pytest.mark.parametrize("problem", [FRAUD, BINARY, FRAUD.with_prior(PRIOR)], ids=str)
@pytest.mark.parametrize("single", [False, True])
def test_rules_of_posteriors_decide_as_their_systems_did(problem, single):
    posteriors = P.astype(np.float32) if single else P
    report = report_on(problem, posteriors, calibrator=None)
    for system in report.systems:
        decided = report.rule(system.name).decide(posteriors)
        counts = Counts.from_decisions(labelled(Y, problem), decided, problem, weights=WEIGHTS)
        assert counts == system.counts, system.name
    assert len(report.systems) == 1 + (problem.prior is not None) + (problem.costs.size == 4)


def test_a_moved_rule_is_that_of_moved_posteriors():
    report = report_on(FRAUD.with_prior(PRIOR), calibrator=None, posterior_prior=[0.6, 0.4])
    rule = report.rule("new (moved)")
    assert rule.from_prior is not None
    np.testing.assert_allclose(rule.from_prior, [0.6, 0.4])
    moved = shift_prior(P, [0.6, 0.4], PRIOR)
    assert rule.decide(P).tolist() == bayes_decisions(moved, FRAUD).tolist()
    np.testing.assert_allclose(rule.expected_costs(P), expected_costs(moved, FRAUD))


@pytest.mark.parametrize("calibrator", [Select(), Isotonic(), Affine()], ids=repr)
def test_a_recalibrated_rule_has_the_map_of_all_cases(calibrator):
    problem = FRAUD.with_prior(PRIOR)
    rule = report_on(problem, calibrator=calibrator).rule("new (recalibrated)")
    options = {"classes": FRAUD.classes, "weights": WEIGHTS}
    if isinstance(calibrator, Select):
        options["clusters"] = CLUSTERS
    fitted = calibrator.fit(P, labelled(Y, problem), **options)
    assert rule.map == fitted
    new = np.linspace(0, 1, 501)
    shares = np.bincount(Y, WEIGHTS) / np.sum(WEIGHTS)
    moved = shift_prior(fitted(new), shares, PRIOR)  # the map holds for the shares of the cases
    assert rule.decide(new).tolist() == bayes_decisions(moved, FRAUD).tolist()
    np.testing.assert_allclose(rule.expected_costs(new), expected_costs(moved, FRAUD))
    assert "recalibrated by a map" in repr(rule)
    assert "moved to another prior" in repr(rule)


def test_raw_scores_decide_by_a_map_or_by_a_threshold_even_where_they_are_infinite():
    scores = np.where(P > 0.999, inf, np.where(P < 0.001, -inf, 5 * P - 2))
    mapped = report_on(FRAUD, Scores(scores), calibrator=Logistic()).rule("new")
    assert mapped.decide(Scores([-inf, -9.0, 9.0, inf])).tolist() == ["approve"] * 2 + ["block"] * 2
    tuned = report_on(BINARY, Scores(scores), calibrator=None)
    rule = tuned.rule("new (tuned out of fold)")
    assert rule.threshold == tuned.system("new (tuned out of fold)").threshold
    expected = np.where(scores > rule.threshold, "act", "wait")
    assert rule.decide(scores).tolist() == expected.tolist()
    with pytest.raises(InputError, match=r"need posteriors, and the rule of new .* takes scores"):
        rule.expected_costs(scores)


def test_rules_of_many_classes_go_by_the_names_of_columns():
    rng = np.random.default_rng(0)
    rows = rng.dirichlet([1, 1, 1], 300)
    y = labelled((rng.random((300, 1)) > rows.cumsum(axis=1)).sum(axis=1), THREE)
    sharp = rows**2 / (rows**2).sum(axis=1, keepdims=True)
    report = evaluate(y, {"net": sharp}, THREE, calibrator=VectorScaling())
    rule = report.rule("net (recalibrated)")
    fitted = VectorScaling().fit(sharp, y, classes=THREE.classes)
    assert rule.decide(sharp).tolist() == bayes_decisions(fitted(sharp), THREE).tolist()
    turned = Posteriors(sharp[:, ::-1], classes=["c", "b", "a"])
    assert rule.decide(turned).tolist() == rule.decide(sharp).tolist()
    assert (
        report.rule("net (as is)").decide(turned).tolist() == bayes_decisions(sharp, THREE).tolist()
    )
    nearly = sharp * 1.01  # as in evaluate, rows that nearly sum to one are divided by their sum
    assert (
        report.rule("net (as is)").decide(nearly).tolist() == bayes_decisions(sharp, THREE).tolist()
    )
    assert rule.cuts is None


def test_decisions_stay_as_they_are():
    decided = np.array(FRAUD.decisions)[np.arange(Y.size) % 3]
    rule = report_on(FRAUD, decided).rule("new")
    assert rule.decide(decided).tolist() == decided.tolist()
    with pytest.raises(InputError, match="predictions"):
        rule.decide(["approve", "nod"])
    with pytest.raises(InputError, match="need posteriors"):
        rule.expected_costs(decided)
    with pytest.raises(InputError, match=r"SQL needs scores on a line.* takes decisions"):
        rule.to_sql("p")
    with pytest.raises(InputError, match="column must be"):
        Rule(FRAUD).to_sql(3)  # type: ignore[arg-type]


# Which rule --------------------------------------------------------------------------------------


def test_without_a_name_it_is_the_rule_of_the_verdict():
    report = report_on(BINARY)
    assert report.verdict.deploy is not None
    assert report.rule().system == report.verdict.deploy.name
    assert report.rule() is report.rule(report.verdict.deploy.name), "made once"
    assert report.rule("new") is report.rule(report.system("new").name)
    with pytest.raises(InputError, match="none called 'old'"):
        report.rule("old")


def test_where_nothing_is_to_be_deployed_there_is_no_rule_unless_it_is_named():
    report = evaluate(labelled(Y, FRAUD), {"noise": np.full(Y.size, 0.3)}, FRAUD, calibrator=None)
    assert report.verdict.deploy is None
    with pytest.raises(InputError, match=r"the verdict is to deploy none\. Deploy none: always"):
        report.rule()
    with pytest.raises(InputError, match=r"report\.rule\('noise \(as is\)'\)"):
        report.rule()
    assert report.rule("noise").decide([0.001, 0.9]).tolist() == ["approve", "block"]


def test_sets_of_rules_are_equal_where_all_of_them_are():
    rules = report_on(BINARY, calibrator=None).rules
    name = next(iter(rules))
    assert rules == Rules(dict(rules))
    assert rules != Rules({name: rules[name].with_columns(("p",))})
    assert rules != dict(rules)


# A report carries its rules ----------------------------------------------------------------------


@pytest.mark.parametrize("ship", [pickle.dumps, Report.to_json])
def test_a_report_that_was_shipped_has_the_same_rules(ship):
    report = report_on(FRAUD.with_prior(PRIOR), calibrator=Affine())
    shipped = ship(report)
    read = pickle.loads(shipped) if isinstance(shipped, bytes) else Report.from_json(shipped)
    assert read == report
    assert list(read.rules) == [system.name for system in report.systems]
    for name, rule in report.rules.items():
        assert read.rules[name] == rule
        assert read.rule(name) == report.rule(name)


def test_a_map_does_not_follow_what_the_caller_does_to_the_arrays_afterwards():
    scores, weights = 5 * P - 2, WEIGHTS + 1
    options: dict[str, Any] = {"weights": weights, "calibrator": Isotonic()}
    kept = report_on(FRAUD, Scores(scores.copy()), **options).rule("new")
    report = report_on(FRAUD, Scores(scores), **options)
    scores[:], weights[:] = 0.0, 1.0
    assert report.rule("new") == kept


def test_where_it_was_made_is_on_the_rule():
    rule = report_on(FRAUD, seed=7, calibrator=None).rule("new (as is)")
    rule.plain()["origin"]["seed"] = 99  # the plain form is a copy
    origin = rule.origin
    assert origin is not None
    assert (origin.seed, origin.n_rows, origin.n_cases) == (7, Y.size, WEIGHTS.sum())
    assert origin.columns == ()
    assert repr(Rule(FRAUD, system="new (as is)")) == (
        "Rule of new (as is): posteriors; approve up to 0.01714, review up to 0.7333, block above"
    )
    three = Problem([[0, 3, 9], [5, 3, 1], [9, 3, 0]], decisions=["go", "ask", "stop"])
    assert repr(Rule(three)).endswith(": posteriors; go, ask, stop")
    priced = Problem({"legit": {"pay": 0, "ask": 3}, "fraud": {"pay": "amount", "ask": 3}})
    assert repr(Rule(priced)).endswith("; pay, ask, by costs of each case from amount")
    assert repr(Rule(Problem.zero_one(12))).endswith(": posteriors; 12 decisions")


# Files -------------------------------------------------------------------------------------------


@pytest.fixture
def rule() -> Rule:
    return Rule(FRAUD.with_prior(PRIOR), map=Affine().fit(P, Y).relabelled(FRAUD.classes))


def test_a_rule_is_read_back_exactly_from_its_text_and_its_file(rule, tmp_path):
    path = tmp_path / "rule.json"
    text = rule.to_json(path)
    assert path.read_text(encoding="utf-8") == text
    for source in (text, path, str(path), json.dumps(json.loads(text), indent=2)):
        assert Rule.from_json(source) == rule
    moved: dict[str, Any] = {"from_prior": [0.2, 0.8], "to_prior": PRIOR}
    thresholds = [Rule(BINARY, threshold=t) for t in (-inf, inf, 0.1)]
    for original in (*thresholds, Rule(FRAUD, **moved), Rule(FRAUD, map=rule.map, **moved)):
        assert Rule.from_json(original.to_json()) == original


def test_labels_keep_their_types_and_decisions_their_answers():
    problem = Problem(
        [[0, 1], [2, 0]], classes=[False, True], decisions=[1, 2], answers={1: False, 2: True}
    )
    read = Rule.from_json(Rule(problem).to_json())
    assert read.problem == problem
    assert [type(label) for label in read.problem.classes] == [bool, bool]


def changed(text: str, **parts: Any) -> str:
    return json.dumps({**json.loads(text), **parts})


def test_a_changed_truncated_or_newer_file_is_refused_with_its_reason(rule, tmp_path):
    path, text = tmp_path / "rule.json", rule.to_json()
    costs = {**json.loads(text)["problem"], "costs": [[0, 3, 25], [1, 8, 0]]}
    for wrong, reason in {
        text[:-40]: "source must be JSON; it is not: .* ends too early",
        changed(text, problem=costs): "it was changed since.*does not have its checksum",
        changed(text, checksum="0"): "it was changed since",
        changed(text, version=3): "must be of version 2; it is of version 3",
        changed(text, format="stakes.calibration"): "must be a rule; it is a calibration map",
    }.items():
        path.write_text(wrong, encoding="utf-8")
        for source in (wrong, path):
            with pytest.raises(InputError, match=reason):
                Rule.from_json(source)
    absent: list[Any] = [tmp_path / "none.json", "", None, 3]
    for source in absent:
        with pytest.raises(InputError, match="source must be the JSON of a rule, or the path"):
            Rule.from_json(source)


def test_sealed_parts_that_make_no_rule_are_refused_too():
    from stakes._files import sealed

    body = json.loads(Rule(FRAUD).to_json())
    del body["checksum"]
    for wrong, reason in (
        ({**body, "takes": "scores"}, "scores need a map or a threshold"),
        ({key: part for key, part in body.items() if key != "map"}, "'map' is missing"),
        ({**body, "problem": 3}, "source must be a whole rule"),
    ):
        with pytest.raises(InputError, match=reason):
            Rule.from_json(sealed(wrong))


def test_maps_have_the_same_two_doors(tmp_path):
    path = tmp_path / "map.json"
    fitted = Affine().fit(P, Y)
    text = fitted.to_json(path)
    assert from_json(path) == from_json(str(path)) == from_json(text) == fitted
    body = json.loads(text)
    with pytest.raises(InputError, match=r"text must be a calibration map.*it was changed since"):
        from_json(json.dumps({**body, "slope": 1.0}))
    with pytest.raises(InputError, match="ends too early"):
        from_json(text[:-3])
    with pytest.raises(InputError, match=r"or the path of a file.*No such file"):
        from_json(str(tmp_path / "none.json"))
    del body["checksum"]
    with pytest.raises(InputError, match=r"text must be a calibration map.*it was changed since"):
        from_json(json.dumps(body))


def test_a_file_that_cannot_be_written_whole_is_not_written(rule, tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        rule.to_json(tmp_path / "none" / "rule.json")
    assert list(tmp_path.iterdir()) == []


# Bad input ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"takes": "logits"}, "takes must be one of posteriors, scores, decisions; got 'logits'"),
        ({"takes": "scores"}, "scores need a map or a threshold"),
        ({"threshold": 0.5}, "a threshold is a number between two decisions"),
        ({"from_prior": [0.5, 0.5]}, "from_prior and to_prior must come together"),
        ({"takes": "decisions", "from_prior": PRIOR, "to_prior": PRIOR}, "decisions none of the"),
        (
            {"threshold": 0.5, "problem": BINARY, "map": NAMED.relabelled(BINARY.classes)},
            "a threshold allows neither map",
        ),
        ({"map": 3}, "map must be"),
        ({"map": Affine().fit(P, Y)}, "the classes of map"),
        ({"problem": 3}, "problem must be"),
    ],
)
def test_parts_that_make_no_rule_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        Rule(**{"problem": FRAUD, **parts})


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        ([0, 1, 1], "Pass predict_proba, not predict"),
        (["approve"], "Pass predict_proba, not predict"),
        (Scores([0.5]), "predictions must be posteriors, which the rule takes; got Scores"),
        ([0.5, math.nan], "predictions must hold probabilities"),
        ([0.5, 1.2], "predictions must hold probabilities"),
        ([[0.5, 0.2, 0.3]], "predictions"),
    ],
)
def test_predictions_of_another_kind_are_refused(predictions, message):
    with pytest.raises(InputError, match=message):
        Rule(FRAUD).decide(predictions)


# In the caller's own library ---------------------------------------------------------------------


def test_series_and_frames_are_answered_in_kind():
    pd, pl, pa = map(pytest.importorskip, ("pandas", "polars", "pyarrow"))
    rule, expected = Rule(FRAUD), ["approve", "review", "block"]
    p, index = [0.001, 0.1, 0.9], ["x", "y", "z"]
    series = rule.decide(pd.Series(p, index=index, name="p"))
    pd.testing.assert_series_equal(
        series, pd.Series(expected, index=index, name="decision"), check_dtype=False
    )
    frame = pd.DataFrame({"fraud": p, "legit": [1 - probability for probability in p]}, index=index)
    assert rule.decide(frame).to_dict() == series.to_dict()
    assert rule.decide(Posteriors(pd.Series(p))).tolist() == expected
    assert rule.decide(pl.Series("p", p)).equals(pl.Series("decision", expected))
    assert rule.decide(
        pl.DataFrame({"fraud": p, "legit": frame["legit"].to_numpy()})
    ).to_list() == (expected)
    assert rule.decide(pa.array(p)).to_pylist() == expected
    assert rule.decide(pa.chunked_array([p])).to_pylist() == expected
    assert isinstance(rule.decide(p), np.ndarray)
    with pytest.raises(InputError, match="columns must be named"):
        rule.decide(pl.LazyFrame({"p": p}))


# Costs of every case -----------------------------------------------------------------------------

PAYMENTS = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": 8, "block": 0},
    },
    unit="EUR",
)
AMOUNTS = np.random.default_rng(2).lognormal(4, 1, Y.size).round(2)
LINE = Affine().fit(P, Y).relabelled(PAYMENTS.classes)
STEEP = Logistic().fit(5 * P - 2, Y).relabelled(PAYMENTS.classes)
BEFORE: Any = [0.7, 0.3]
CHARGED: dict[str, tuple[Rule, Any, Any]] = {
    "as is": (Rule(PAYMENTS), P, P),
    "moved": (Rule(PAYMENTS, from_prior=BEFORE, to_prior=PRIOR), P, None),
    "recalibrated": (Rule(PAYMENTS, map=LINE), P, LINE(P)),
    "scores": (Rule(PAYMENTS, "scores", map=STEEP), 5 * P - 2, STEEP(5 * P - 2)),
}


@pytest.mark.parametrize("case", CHARGED)
def test_every_case_is_decided_by_its_own_costs(case):
    rule, columns, posteriors = CHARGED[case]
    if posteriors is None:
        posteriors = shift_prior(P, BEFORE, PRIOR)
    expected = [
        bayes_decisions([p], PAYMENTS.at(amount=amount))[0]
        for p, amount in zip(posteriors, AMOUNTS, strict=True)
    ]
    assert len(set(expected)) == 3
    data = {"amount": AMOUNTS, "more": P}
    assert rule.decide(columns, data).tolist() == expected
    assert rule.decide(columns, case_costs=PAYMENTS.case_costs(data)).tolist() == expected
    assert Rule.from_json(rule.to_json()).decide(columns, data).tolist() == expected
    np.testing.assert_allclose(
        rule.expected_costs(columns, data), expected_costs(posteriors, PAYMENTS, data=data)
    )
    assert rule.cuts is None
    with pytest.raises(InputError, match="charges every case its own costs"):
        rule.to_sql("p")
    with pytest.raises(
        InputError, match=r"columns that the costs depend on.* Pass data=.* case_costs=\.$"
    ):
        rule.decide(columns)
    with pytest.raises(InputError, match="data must describe the cases"):
        rule.decide(columns, {"amount": AMOUNTS[:3]})


@pytest.mark.parametrize("calibrator", [None, Isotonic()], ids=repr)
def test_rules_of_reports_with_amounts_decide_as_their_systems_did(calibrator):
    data = {"amount": AMOUNTS}
    y, models = labelled(Y, PAYMENTS), {"new": P, "raw": Scores(5 * P - 2)}
    options: dict[str, Any] = {"weights": WEIGHTS, "replicates": 2}
    report = evaluate(y, models, PAYMENTS, data=data, calibrator=calibrator, **options)
    costs = PAYMENTS.case_costs(data)
    arrays = evaluate(y, models, PAYMENTS, case_costs=costs, calibrator=calibrator, **options)
    for system in report.systems:
        rule, predictions = report.rule(system.name), models[system.model]
        decided = rule.decide(predictions, data)
        if system.name.endswith("(as is)"):
            counts = Counts.from_decisions(y, decided, PAYMENTS, weights=WEIGHTS)
            assert counts == system.counts
        assert (
            arrays.rule(system.name).decide(predictions, case_costs=costs).tolist()
            == decided.tolist()
        )
        assert rule.origin is not None
    assert Report.from_json(report.to_json()).rules == report.rules
    with pytest.raises(InputError, match="data must hold the columns that the costs depend on"):
        arrays.rule("new (as is)").decide(P)


def test_series_of_other_cases_are_refused():
    pd = pytest.importorskip("pandas")
    p, amounts = pd.Series(P), pd.DataFrame({"amount": AMOUNTS})
    assert len(Rule(PAYMENTS).decide(p, amounts)) == Y.size
    with pytest.raises(InputError, match="must have the same index"):
        Rule(PAYMENTS).decide(p, amounts.iloc[::-1])


@pytest.mark.parametrize("ends", [[0.15, 0.25], [0.3, np.nextafter(0.3, 1)], [0.0, 5e-324]])
def test_decisions_change_at_the_last_score_of_each_even_between_neighbouring_numbers(ends):
    cuts = cuts_of(lambda x: np.searchsorted(ends, x).astype(np.intp), 0.0, 1.0)
    assert cuts.at.tolist() == ends
    assert cuts.decisions.tolist() == [0, 1, 2]


def test_a_frame_without_columns_of_the_classes_is_told_how_to_name_those_that_it_has():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"amount": AMOUNTS, "p_new": P})
    rule = Rule(PAYMENTS)
    for refused in (lambda: rule.decide(frame), lambda: bayes_decisions(frame, PAYMENTS)):
        with pytest.raises(InputError, match=r"bayes_decisions and Rule\.decide take these as col"):
            refused()
    decided = rule.decide(frame, columns="p_new")
    assert decided["decision"].tolist() == rule.decide(P, {"amount": AMOUNTS}).tolist()
    named = np.array(PAYMENTS.classes)[Y]
    with pytest.raises(InputError, match=r"columns of a frame are models, pass \{name: frame\["):
        evaluate(named, {"new": frame}, PAYMENTS, data=frame)


def test_a_rule_with_a_threshold_of_minus_infinity_is_the_same_decision_for_all_scores():
    rule = Rule(BINARY, "scores", threshold=-np.inf)
    assert rule.decide([-np.inf, -1e300, 0.0, np.inf]).tolist() == ["act"] * 4
    assert rule.cuts is not None
    assert rule.cuts.at.size == 0
    assert "always act" in repr(rule)
    above = Rule(BINARY, "scores", threshold=-sys.float_info.max)
    assert above.decide([-np.inf, -1e300]).tolist() == ["wait", "act"]


@pytest.mark.parametrize("calibrator", [Affine(), BetaMap(), Identity(), Temperature()])
def test_a_map_of_probabilities_makes_no_rule_of_raw_scores(calibrator):
    y, scores = np.arange(40) % 3 == 0, np.linspace(0.01, 0.9, 40)
    fitted = calibrator.fit(scores, y)
    with pytest.raises(InputError, match=r"its map takes probabilities, for which takes is 'post"):
        Rule(Problem.binary(false_alarm=1, miss=9, classes=[False, True]), "scores", map=fitted)
