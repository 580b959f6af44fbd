"""``stakes evaluate`` and ``stakes demo``: the report on predictions, or on the example data."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import click

from stakes import _text
from stakes._expression import Expression
from stakes.adapters.frame import evaluate_frame
from stakes.cli.options import (
    COLUMN_OPTIONS,
    EXPLAINED,
    GATES,
    Values,
    by_option,
    calibrate_option,
    calibrator_named,
    class_shares,
    file_argument,
    holds,
    key_option,
    numbers_by_name,
    posterior_prior_option,
    prediction_options,
    problem_option,
    read_gate,
    read_named_gate,
    read_problem,
    read_report,
    refuse_missing,
    report_on_files,
    seed_option,
)
from stakes.cli.output import (
    check_targets,
    is_sql,
    notify,
    print_report,
    put,
    refuse_other_than_page,
    target_beside,
    write_outputs,
    write_rule,
)
from stakes.errors import InputError
from stakes.evaluation import MOST_REPLICATES
from stakes.inference import Measured
from stakes.problem import Problem
from stakes.report import Gate, Report, System

# ``stakes demo``: a report on the example data of the package, without a network -----------------

_INTRODUCTION = """\
A thousand loan applicants, four models that give the probability of a bad risk, and three
decisions: grant the loan, have it reviewed, decline it (Statlog German credit data, Hofmann 1994,
CC BY 4.0; predictions out of fold).
"""


_DATA = "Statlog German credit data, the example that comes with stakes"


def demo_report() -> Report:
    """The report on the example predictions of the package."""
    models = {name: name for name in ("logistic", "forest", "boosting", "naive bayes")}
    with as_file(files("stakes") / "data") as folder:
        problem = read_problem(str(folder / "german_credit.toml"))
        rows = folder / "german_credit.csv"
        return evaluate_frame(rows, problem, y_true="risk", models=models, by="age")


@click.command(short_help="Evaluate the example data and write its page.")
@click.option(
    "--html", default="report.html", show_default=True, metavar="OUT", help="Where the page goes."
)
def demo(html: str) -> None:
    """Evaluate the example that comes with stakes, print the report and write its page."""
    target = target_beside(html, (), "--html")
    refuse_other_than_page(target)
    report = demo_report()
    report.to_html(target, title="German credit: what the decisions cost", data=_DATA)
    notify(f"wrote {html}")
    put(_INTRODUCTION)
    print_report(report)
    put(f"\nThe interactive report is {Path(html).resolve()}")


# ``stakes evaluate``: the report on a file of predictions ----------------------------------------

_PASSED = (
    *COLUMN_OPTIONS,
    *("memory_limit", "engine", "master", "volume", "period"),
    *("level", "replicates", "seed", "margin"),
)


@click.command(epilog=EXPLAINED, short_help="Say what decisions cost, and which model to deploy.")
@file_argument
@problem_option
@prediction_options
@by_option
@calibrate_option
@key_option
@click.option(
    "--engine",
    type=click.Choice(["numpy", "duckdb", "spark"]),
    help="What tallies the rows: numpy in memory, DuckDB, or Spark, which reads FILE itself, be it "
    "a path, a glob or a URL. By default numpy, and DuckDB beyond the limit of memory.",
)
@click.option(
    "--master",
    metavar="URL",
    help="Where Spark runs, such as local[8], yarn or spark://host:7077; by default as configured.",
)
@posterior_prior_option("by default the shares of the data.")
@click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="The confidence level of every interval.",
)
@click.option(
    "--replicates",
    type=click.IntRange(min=2, max=MOST_REPLICATES),
    default=500,
    show_default=True,
    help="Simulated samples behind the cost of miscalibration, with --calibrate none.",
)
@seed_option
@click.option(
    "--running-cost",
    "running_costs",
    multiple=True,
    metavar="MODEL=COST",
    help="What a model costs to run, per case scored. Repeat it for several models.",
)
@click.option(
    "--volume",
    type=click.FloatRange(min=0, min_open=True),
    help="How many cases there will be: costs per case are shown as totals, too.",
)
@click.option("--period", metavar="WORD", help="The time in which these cases come, such as year.")
@click.option(
    "--baseline",
    metavar="NAME",
    help="The model or system that all others are compared with, or the JSON of an earlier report.",
)
@click.option(
    "--margin",
    metavar="AMOUNT",
    help="What --gate no-worse allows above the baseline: an amount per case, or a share as in 2%.",
)
@click.option(
    "--gate",
    "gates",
    multiple=True,
    metavar="NAME[=SYSTEM]",
    help="no-worse or better: exit code 1 unless that is shown; see below.",
)
@click.option("--html", metavar="OUT", help="Write the interactive page.")
@click.option("--title", default="", metavar="TEXT", help="With --html: the title of the page.")
@click.option("--data-name", default="", metavar="TEXT", help="With --html: the name of the data.")
@click.option("--date", default="", metavar="TEXT", help="With --html: a date, shown as written.")
@click.option("--author", default="", metavar="TEXT", help="With --html: the author.")
@click.option("--json", metavar="OUT", help="Write the report as JSON; - for standard output.")
@click.option("--markdown", metavar="OUT", help="Write the report as Markdown; - for stdout.")
@click.option("--brief", is_flag=True, help="With --markdown: ten lines for a pull request.")
@click.option(
    "--rule-out",
    metavar="OUT",
    help="Write the rule of the verdict as JSON, for stakes decide --rule, or as an SQL expression "
    "if OUT ends in .sql; of a system to try, it says that it is not yet shown to pay. Where a "
    "gate closes, none is written. Where the verdict is to deploy none or to keep the baseline, "
    "there is none, and the exit code is 2.",
)
@click.option("--fail-if", metavar="EXPR", help="Exit code 1 when this holds; see below.")
def evaluate(
    files: tuple[str, ...],
    problem_file: str,
    fail_if: str | None,
    gates: tuple[str, ...],
    rule_out: str | None,
    brief: bool,
    **options: Any,
) -> int:
    """Say what the decisions of the models in FILE cost, and which to deploy.

    FILE is CSV, Parquet, JSON lines or Arrow, a glob of such files, or - for standard input. The
    rows of several files are taken together.
    """
    outputs = {kind: options[kind] for kind in ("html", "json", "markdown")}
    inputs = (*files, problem_file, options["baseline"] or problem_file)
    targets = check_targets(outputs, rule_out, inputs)
    if brief and "markdown" not in targets:
        raise InputError("--brief must come with --markdown OUT; that is missing. Add it.")
    # Options are checked before the files are read, which may take long.
    gate = None if fail_if is None else read_gate(fail_if, options["baseline"])
    named = [read_named_gate(text, options["baseline"]) for text in gates]
    _refuse_several(named, rule_out)
    problem = read_problem(problem_file)
    if rule_out is not None and is_sql(rule_out):
        _refuse_sql(problem)
    posterior_prior = class_shares(options["posterior_prior"], problem)
    stated = options["running_costs"]
    running_costs = numbers_by_name("--running-cost", stated, ("model", "cost"), "new=0.02")
    report = report_on_files(
        files,
        problem,
        written=bool({"html", "json"} & set(targets)),
        gates=(gate, named),
        posterior_prior=posterior_prior,
        calibrator=calibrator_named(options["calibrate"]),
        running_costs=running_costs,
        baseline=_baseline(options["baseline"]),
        **{name: options[name] for name in _PASSED},
    )
    undecided: InputError | None = None
    try:
        report = report._but(gates=tuple(_gates(report, named, gate, fail_if)))
    except InputError as error:  # the report is written all the same
        undecided = error
    heading = {name: options[name] for name in ("title", "date", "author")}
    heading["data"] = options["data_name"]
    check = partial(refuse_missing, (gate, named))
    write_outputs(report, targets, brief=brief, heading=heading, check=check)
    if undecided is not None:
        raise undecided
    for outcome in report.gates:
        notify(str(outcome))
    closed = [outcome for outcome in report.gates if not outcome.passed]
    if rule_out is not None and closed:
        notify(f"{rule_out} is not written: {closed[0].condition} does not pass")
    elif rule_out is not None:
        _write_rule(report, rule_out, _judged(named))
    return int(bool(closed))


def _gates(
    report: Report,
    named: list[tuple[str, str | None]],
    condition: Expression | None,
    text: str | None,
) -> Iterator[Gate]:
    """What came of every gate, with the numbers that it judged."""
    for name, system in named:
        stated = name if system is None else f"{name}={system}"
        yield Gate(f"--gate {stated}", GATES[name](report, system), _numbers(report, name, system))
    if condition is None:
        return
    values = Values(report)
    holding = holds(condition, values)
    known = ", ".join(
        f"{name} is {str(value).lower()}"
        if isinstance(value, bool)
        else f"{name} = {_text.number(value, 6)}"
        for name, value in values.items()
    )
    outcome = "It holds" if holding else "It does not hold"
    yield Gate(
        f"--fail-if {text}", not holding, f"{outcome} ({known})." if known else f"{outcome}."
    )


def _numbers(report: Report, gate: str, system: str | None) -> str:
    """The interval that a gate judges, in a sentence, and what it would need."""
    judged = report.best if system is None else report.compared(system)
    verdict = f"The verdict: {report.verdict.heading}. " if system is None else ""
    needed = "below 0" if gate == "better" else "at most 0"
    bound = f"The upper bound must be {needed}" + (", and the verdict to deploy" * (not system))
    chosen = report.verdict if system is None else judged
    interval = chosen.difference if gate == "better" else chosen.beyond_margin
    return f"{verdict}{_compared(judged, interval, report, gate)} {bound}."


def _refuse_several(named: list[tuple[str, str | None]], rule_out: str | None) -> None:
    """Refuse gates about several systems, where the rule of one is to be written."""
    systems = dict.fromkeys(system for _, system in named)
    if rule_out is not None and len(systems) > 1:
        listed = ", ".join("that of the verdict" if name is None else name for name in systems)
        raise InputError(
            f"--rule-out must come with gates about one system, whose rule it writes; these are "
            f"about {listed}. Name the same system in each, or none.",
            argument="--rule-out",
        )


def _judged(named: list[tuple[str, str | None]]) -> str | None:
    """The system that gates name, whose rule is then written; None for that of the verdict."""
    return next((system for _, system in named if system is not None), None)


def _compared(system: System, interval: Measured | None, report: Report, gate: str) -> str:
    """A sentence with the interval by which a gate judges a system."""
    baseline, unit = report.baseline, report.problem.unit
    assert baseline is not None
    if interval is None or (baseline.paired and system.name == baseline.system):
        return f"No system is cheaper than {baseline.system}."
    than = f"that of {baseline.system}"
    if gate == "no-worse":
        if baseline.relative and baseline.margin:
            than += f" and the margin of {_text.percent(baseline.margin)}"
        elif baseline.margin:
            than += f" and the margin of {_text.in_unit(_text.prose(baseline.margin), unit)}"
    value, low, high = _text.measured(interval.value, interval.low, interval.high)
    level = _text.percent(report.assumptions.level)
    broken = "; it clearly breaks a limit" * system.breaks_limit
    return (
        f"The cost of {system.name}, less {than}, is {_text.in_unit(value, unit)} per case "
        f"({level} interval {low} to {high}){broken}."
    )


def _baseline(text: str | None) -> str | Report | None:
    """The baseline: an earlier report if the text names a JSON file, otherwise the name itself."""
    if text is None or not text.lower().endswith(".json"):
        return text
    return read_report(text)


def _refuse_sql(problem: Problem) -> None:
    """Refuse SQL where a rule is no expression of one column, before anything is computed."""
    if problem.n_classes != 2 or problem.columns:
        why = (
            "charges every case its own costs"
            if problem.columns
            else f"has {problem.n_classes} class{'es' * (problem.n_classes > 1)}"
        )
        raise InputError(
            f"--rule-out must be a file of JSON here: SQL needs two classes, and costs that all "
            f"cases share; this problem {why}. Write rule.json, for stakes decide --rule."
        )


def _write_rule(report: Report, path: str, named: str | None) -> None:
    """Write the rule of the verdict's system, or of the one that a gate judged."""
    verdict = report.verdict
    if named is None and verdict.cheapest is None:
        stays = "there is none" if verdict.keep is None else f"{verdict.keep} stays"
        raise InputError(
            f"--rule-out must have a system to deploy; {stays}. {verdict.reason} In Python, "
            f"report.rule({report.best.name!r}) makes the rule of the best all the same."
        )
    rule = report.rule(None if named is None else report.compared(named).name)
    write_rule(rule, path)
    doubt = "" if rule.caution is None else f", {rule.caution}"
    notify(f"wrote {path}: the rule of {rule.system}{doubt}")
