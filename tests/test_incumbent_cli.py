"""The incumbent on the command line: --baseline, --margin, --gate and what --fail-if may ask."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

from click.testing import CliRunner, Result

import stakes as library
from stakes import Between, Decisions, Limit, Problem, Report
from stakes.cli.commands import stakes as command
from stakes.cli.diff import _sections
from stakes.cli.evaluate import _compared
from stakes.evaluation import Changes, changes_between
from stakes.evaluation.changes import CostChange
from stakes.inference import Measured
from stakes.report import Assumptions
from stakes.rule import Rule

SEPARATE: Any = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
N = 300
PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    unit="EUR",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(8)
    y = (rng.random(N) < 0.2).astype(int)
    signal = rng.normal(4.0 * y - 2, 1.2)
    new = 1 / (1 + np.exp(1.4 - 2.8 * signal))
    old = np.array(PROBLEM.decisions)[np.digitize(signal + rng.normal(0, 2, N), [-1, 2])]
    PROBLEM.to_toml("fraud.toml")
    lines = ["truth,new,old"]
    pairs = zip(y, new.round(4), old, strict=True)
    lines += [f"{PROBLEM.classes[k]},{p},{d}" for k, p, d in pairs]
    Path("rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(*arguments: str) -> Result:
    return CliRunner(**SEPARATE).invoke(command, list(arguments))


def evaluate(*arguments: str) -> Result:
    asked = ("--model", "new", "--model", "old", "--calibrate", "none", "--replicates", "20")
    return run("evaluate", "rows.csv", "-p", "fraud.toml", *asked, *arguments)


def test_a_gate_ends_with_exit_code_0_or_1_and_says_what_it_judged():
    passed = evaluate("--baseline", "old", "--gate", "better", "--gate", "no-worse")
    assert passed.exit_code == 0, passed.stderr
    better, no_worse = passed.stderr.splitlines()[-2:]
    cost = r"The cost of new \(as is\), less that of old \(as decided\), is −\d\.\d+ EUR per case"
    interval = r"\(95 % interval −\d\.\d+ to −\d\.\d+\)\."
    verdict = r"The verdict: Deploy new \(as is\)\."
    bound = "The upper bound must be {} 0, and the verdict to deploy"
    passes = rf"stakes: --gate {{}} passes\. {verdict} {cost} {interval} {bound}\."
    assert re.fullmatch(passes.format("better", "below"), better)
    assert re.fullmatch(passes.format("no-worse", "at most"), no_worse)
    assert "Against the baseline" in passed.stdout


@pytest.mark.slow
def test_a_gate_that_does_not_pass_ends_with_exit_code_1():
    closed = evaluate(
        *("--baseline", "new", "--margin", "2%", "--gate", "no-worse"),
        *("--json", "report.json"),
    )
    assert closed.exit_code == 1
    assert (
        "--gate no-worse does not pass. The verdict: Keep new (as is). No system is cheaper than "
        "new (as is)."
    ) in closed.stderr
    report = Report.from_json(Path("report.json"))
    assert report.baseline is not None
    assert (report.baseline.margin, report.baseline.relative) == (0.02, True)
    wide = evaluate("--baseline", "new", "--margin", "40", "--gate", "no-worse=old (as decided)")
    assert wide.exit_code == 0, wide.stderr


def test_gate_verdict_and_rule_are_about_one_system():
    """Recalibrated, the new model is far better than as it is, which the gate used to judge."""
    rows = Path("rows.csv").read_text(encoding="utf-8").splitlines()
    squared = [line.split(",") for line in rows[1:]]
    lines = [f"{label},{float(p) ** 3:.6g},{old}" for label, p, old in squared]
    Path("rows.csv").write_text("\n".join([rows[0], *lines]) + "\n", encoding="utf-8")
    models = ("--model", "new", "--model", "old", "--baseline", "old", "--gate", "better")
    done = run("evaluate", "rows.csv", "-p", "fraud.toml", *models, "--rule-out", "rule.json")
    assert done.exit_code == 0, done.stderr
    assert "The verdict: Deploy new (recalibrated). The cost of new (recalibrated)" in done.stderr
    assert Rule.from_json(Path("rule.json")).system == "new (recalibrated)"


def test_a_closed_gate_writes_no_rule_and_says_so_everywhere():
    asked = (
        "--baseline",
        "new",
        "--gate",
        "better",
        "--fail-if",
        "cost > 0",
        "--rule-out",
        "r.json",
    )
    for fmt in ("--markdown", "--json"):
        done = evaluate(*asked, fmt, "-")
        assert done.exit_code == 1
        assert "r.json is not written: --gate better does not pass" in done.stderr
        assert not Path("r.json").exists()
        if fmt == "--markdown":
            heading = done.stdout.splitlines()[0]
            for part in ("Keep new", "--gate better does not pass", "--fail-if cost > 0 does not"):
                assert part in heading.replace("\\", "")
        else:
            gates = Report.from_json(done.stdout).gates
            assert [gate.passed for gate in gates] == [False, False]
    brief = evaluate(*asked, "--markdown", "-", "--brief").stdout.replace("\\", "")
    assert brief.startswith("### Keep new (as is) · --gate better does not pass · --fail-if")


def test_a_rule_to_try_is_written_and_says_that_it_is_not_shown_to_pay():
    lines = Path("rows.csv").read_text(encoding="utf-8").splitlines()[:16]
    Path("rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    done = run("evaluate", "rows.csv", "-p", "fraud.toml", "--model", "new", "--calibrate", "none",
               "--rule-out", "rule.json", "--markdown", "-", "--fail-if", "cost > 1e6")  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "Try new (as is): not yet shown to pay" in done.stdout
    assert "wrote rule.json: the rule of new (as is), not yet shown to pay" in done.stderr
    rule = Rule.from_json(Path("rule.json"))
    assert rule.caution == "not yet shown to pay"
    assert "(not yet shown to pay)" in repr(rule)
    closed = run("evaluate", "rows.csv", "-p", "fraud.toml", "--model", "new",
                 "--calibrate", "none", "--fail-if", "not deployable")  # fmt: skip
    assert closed.exit_code == 1


def test_gates_about_several_systems_write_no_rule():
    gates = ("--gate", "better", "--gate", "no-worse=new (as is)")
    done = evaluate("--baseline", "old", *gates, "--rule-out", "rule.json")
    assert done.exit_code == 2
    assert "--rule-out must come with gates about one system" in done.stderr


def test_a_gate_names_the_margin_and_the_side_of_zero_of_a_bound():
    problem = Problem.binary(false_alarm=1, miss=2, unit="EUR")
    models = {"a": [0, 0, 1, 1] * 25, "b": [0, 0, 0, 1] * 25, "c": [0, 1, 1, 1] * 25}
    report = library.evaluate([0, 0, 0, 1] * 25, models, problem, baseline="a", margin=0.05)
    told = _compared(report.best, report.verdict.beyond_margin, report, "no-worse")
    assert told.partition(", is ")[0] == (
        "The cost of b (as decided), less that of a (as decided) and the margin of 0.05 EUR"
    )
    near = Measured(-0.5, -1.0, 0.0000123)
    assert _compared(report.system("b"), near, report, "better") == (
        "The cost of b (as decided), less that of a (as decided), is −0.50 EUR per case "
        "(95 % interval −1.00 to 0.00001)."
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ('difference["new"] < 0', 1),
        ('difference_high["new"] >= 0', 0),
        ('difference_low["new"] > difference["new"] - 0.001', 0),
        ('cost["old"] > 1.05 * cost["new"]', 1),
        ('difference["old"] == 0 and difference < 0', 1),
    ],
)
def test_conditions_may_ask_for_differences_and_compute(condition, code):
    done = evaluate("--baseline", "old", "--fail-if", condition)
    assert done.exit_code == code, done.stderr


def test_a_condition_that_holds_shows_numbers_as_the_report_writes_them():
    done = evaluate("--baseline", "old", "--fail-if", 'difference["new"] < 0')
    assert re.search(r'It holds \(difference\["new"\] = −\d+\.\d+\)\.\n$', done.stderr)


@pytest.mark.slow
def test_what_a_gate_cannot_judge_is_bad_input():
    Path("fraud.json").write_text("costs", encoding="utf-8")
    for arguments, message in (
        (("--gate", "better"), "--gate must come with a baseline"),
        (("--baseline", "old", "--gate", "worse"), "--gate must be one of no-worse, better"),
        (("--baseline", "odl"), "--baseline must be the name of a model"),
        (("--baseline", "odl.json"), "odl.json must be the JSON of a report; there is no such"),
        (("--baseline", "fraud.json"), "fraud.json must be the JSON of a report; it is not"),
        (("--baseline", "old", "--margin", "x"), "--margin must be an amount per case"),
        (("--margin", "1"), "--margin must come with a baseline"),
        (("--baseline", "old", "--gate", "better=old"), "--gate must be another than the baseline"),
        (
            ("--baseline", "old", "--gate", "better=no"),
            "--gate better asks for no, but no model or system has that name",
        ),
        (("--fail-if", 'difference["new"] > 0'), "--fail-if must come with a baseline where it"),
        (("--brief",), "--brief must come with --markdown"),
    ):
        done = evaluate(*arguments)
        assert done.exit_code == 2, (arguments, done.stderr)
        assert message in done.stderr


@pytest.mark.slow
def test_an_earlier_report_is_a_baseline_and_a_comment_is_ten_lines():
    assert evaluate("--json", "old.json").exit_code == 0
    done = evaluate("--baseline", "old.json", "--markdown", "-", "--brief")
    assert done.exit_code == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line]
    assert len(lines) <= 10
    assert "unpaired" in lines[-1]


def test_differences_of_reports_stand_before_their_ends():
    old, new, gap = Measured(5.0, 4.0, 6.0), Measured(3.0, 2.0, 4.0), Measured(-2.0, -3.5, -0.5)
    change = CostChange("a", old, new, gap)
    headings = ("Deploy a", "Deploy a")
    changes = Changes((), ("a", "a"), (change,), (), (), (), (), headings=headings)
    table = list(_sections(changes, "95 %"))[-1].table
    assert table is not None
    assert table.rows[0][:5] == ("a", "5.0", "3.0", "−2.0", "−3.5 to −0.5")


def test_diff_says_where_what_was_deployed_may_still_be_the_cheapest():
    """In 200 cases one model errs twice and another three times, or the other way round."""
    y = np.arange(200) % 2
    two, three = (np.where(np.arange(200) < errors, 1 - y, y) for errors in (2, 3))
    problem = Problem.binary(false_alarm=1, miss=1)
    reports = [
        library.evaluate(y, {"a": a, "b": b}, problem, calibrator=None, replicates=20)
        for a, b in ((two, three), (three, two), (1 - y, two))
    ]
    told = [next(_sections(changes_between(reports[0], new), "")) for new in reports]
    assert [section.sentences[0] for section in told] == [
        "Deploy a (as decided), as before.",
        "Deploy b (as decided); it was: deploy a (as decided), and the data cannot tell which of "
        "the two is cheaper.",
        "Deploy b (as decided); it was: deploy a (as decided).",
    ]


@pytest.mark.slow
def test_diff_says_first_how_problems_differ_then_verdict_and_costs():
    assert evaluate("--json", "old.json").exit_code == 0
    same = run("diff", "old.json", "old.json")
    assert same.exit_code == 0, same.stderr
    assert "as before" in same.stdout
    assert "The problems differ" not in same.stdout
    assert "unpaired" in same.stdout
    PROBLEM.with_prior([0.9, 0.1]).to_toml("fraud.toml")
    assert evaluate("--json", "new.json", "--level", "0.9").exit_code == 0
    done = run("diff", "old.json", "new.json")
    assert done.stdout.startswith("The problems differ\n")
    assert "prior: shares of the cases before, [0.9, 0.1] now." in done.stdout
    assert "different levels" in done.stdout
    assert "New systems" in done.stdout
    missing = run("diff", "old.json", "no.json")
    assert missing.exit_code == 2
    assert "no.json must be the JSON of a report" in missing.stderr
    other = run("diff", "old.json", "fraud.toml")
    assert other.exit_code == 2
    assert "fraud.toml must be the JSON of a report; it is not" in other.stderr


def test_diff_names_every_assumption_that_differs():
    base = ("--seed", "1", "--running-cost", "old=0.5")
    assert evaluate("--json", "old.json", *base).exit_code == 0
    same = run("diff", "old.json", "old.json")
    assert "assumptions" not in same.stdout
    more = ("--running-cost", "new=0.25", "--volume", "1000", "--period", "year", "--level", "0.9")
    sampled = ("--weights", "new", "--clusters", "place")
    lines = Path("rows.csv").read_text(encoding="utf-8").splitlines()
    placed = [f"{line},{place % 10 if place else 'place'}" for place, line in enumerate(lines)]
    Path("rows.csv").write_text("\n".join(placed) + "\n", encoding="utf-8")
    done = evaluate("--json", "new.json", *more, *sampled)
    assert done.exit_code == 0, done.stderr
    shown = run("diff", "old.json", "new.json").stdout
    assert shown.startswith("The assumptions differ\n")
    for line in (
        "weights: none before, one for each case now.",
        "clusters: none before, 10 now.",
        "running cost of old per case scored: 0.5 EUR before, 0 now.",
        "running cost of new per case scored: 0 before, 0.25 EUR now.",
        "volume: not stated before, 1000 cases per year now.",
        "level of the intervals: 95 % before, 90 % now.",
        "seed: 1 before, 0 now.",
    ):
        assert f"\n{line}\n" in shown
    assert "posteriors" not in shown  # they hold for the prior in use, before and now


OTHERS: dict[str, tuple[Any, str]] = {
    "n_cases": (7.5, "cases: 100 before, 7.5 now"),
    "n_rows": (7, ""),  # the rows of reports without weights are their cases
    "weighted": (True, "weights: none before, one for each case now"),
    "copied": (True, ""),  # whether weights are copies, where there are some
    "prior": ((0.9, 0.1), "prior in use: 0 75 %, 1 25 % before; 0 90 %, 1 10 % now"),
    "prior_stated": (True, ""),  # the problems differ then
    "posterior_prior": (
        (0.9, 0.1),
        "prior of the posteriors: the prior in use before, 0 90 %, 1 10 % now",
    ),
    "calibrator": ("Isotonic()", "calibrator: none before, Isotonic now"),
    "clusters": (12, "clusters: none before, 12 now"),
    "replicates": (999, "replicates: 20 before, 999 now"),
    "seed": (4, "seed: 0 before, 4 now"),
    "level": (0.8, "level of the intervals: 95 % before, 80 % now"),
    "version": ("9", f"version of stakes: {library.__version__} before, 9 now"),
    "frame_library": ("polars", "frames of: none before, polars now"),
    "running_costs": (
        (("a\nb", 0.1),),
        "running cost of a\\nb per case scored: 0 before, 0.1 EUR now",
    ),
    "volume": (9.0, "volume: not stated before, 9 cases now"),
    "period": ("year", ""),  # nothing without a volume
    "engine": ("duckdb", "rows tallied by: numpy before, duckdb now"),
}


def test_every_assumption_has_words_for_its_change():
    assert set(OTHERS) == {field.name for field in fields(Assumptions)}
    problem = Problem.binary(false_alarm=1, miss=2, unit="EUR")
    old = library.evaluate(
        [0, 0, 0, 1] * 25, [0, 0, 1, 1] * 25, problem, calibrator=None, replicates=20
    )
    for name, (value, words) in OTHERS.items():
        new = replace(old, assumptions=replace(old.assumptions, **{name: value}))
        told = changes_between(old, new).assumptions
        assert words in told if words else not told, name


def test_the_schema_is_printed():
    assert '"const": "stakes-report/3"' in run("schema").stdout


@pytest.mark.slow
def test_an_engine_that_tallies_the_rows_compares_alike():
    runs = [evaluate("--baseline", "old", "--json", "-", *more) for more in ((), LITTLE)]
    first, second = (Report.from_json(run.stdout).system("new (as is)") for run in runs)
    assert first.difference is not None
    assert second.difference is not None
    assert second.difference.high == pytest.approx(first.difference.high)


@pytest.mark.slow
def test_an_engine_says_what_certainty_is_worth_but_makes_no_rules_again():
    table = [[0, 3, 25], [Between(20, 340), 8, 0]]
    Problem(table, classes=PROBLEM.classes, decisions=PROBLEM.decisions).to_toml("fraud.toml")
    runs = [evaluate("--json", "-", *more) for more in ((), LITTLE)]
    first, second = (Report.from_json(run.stdout).uncertainty for run in runs)
    assert first is not None
    assert second is not None
    assert second.evpi == pytest.approx(first.evpi)
    assert first.evpi_remade is not None
    assert second.evpi_remade is None


LITTLE = ("--memory-limit", "2k")


@pytest.mark.slow
def test_amounts_a_limit_and_an_incumbent_give_the_same_through_toml_and_python():
    rng = np.random.default_rng(4)
    fraud = rng.random(N) < 0.2
    truth, amount = np.where(fraud, "fraud", "legit"), rng.lognormal(4, 1, N).round(2)
    signal = rng.normal(np.where(fraud, 2, -2), 1.2)
    new = (1 / (1 + np.exp(1.4 - 2.8 * signal))).round(4)
    old = np.array(PROBLEM.decisions)[np.digitize(signal + rng.normal(0, 2, N), [-1, 2])]
    Path("amounts.toml").write_text(
        'unit = "EUR"\n[costs.legit]\napprove = 0\nreview = 3\nblock = "5 + 0.02*amount"\n'
        '[costs.fraud]\napprove = "amount"\nreview = 8\nblock = 0\n'
        '[[limits]]\ndecision = "review"\nat_most = 0.05\n',
        encoding="utf-8",
    )
    rows = zip(truth, new, old, amount, strict=True)
    lines = ["truth,new,old,amount", *(",".join(map(str, row)) for row in rows)]
    Path("amounts.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    asked = ("--model", "new", "--model", "old", "--calibrate", "none", "--replicates", "20")
    gate = ("--baseline", "old", "--margin", "2%", "--gate", "no-worse", "--json", "out.json")
    done = run("evaluate", "amounts.csv", "-p", "amounts.toml", *asked, *gate)
    assert done.exit_code in (0, 1), done.stderr
    restored = Report.from_json(Path("out.json"))
    models = {"new": new, "old": Decisions(old)}
    costs = {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": 8, "block": 0},
    }
    limits = [Limit.share("review", at_most=0.05)]
    problem = Problem(costs, unit="EUR", limits=limits)
    assert problem == Problem.from_toml("amounts.toml")
    report = library.evaluate(
        *(truth, models, problem),
        data={"amount": amount},
        baseline="old",
        margin="2%",
        calibrator=None,
        replicates=20,
    )
    for system in report.systems:
        assert restored.system(system.name).difference == system.difference
        assert restored.system(system.name).beyond_margin == system.beyond_margin
        assert restored.system(system.name).limits == system.limits
    assert report.is_no_worse() == (done.exit_code == 0)
