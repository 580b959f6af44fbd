"""Options that several commands share: columns, conditions, and files that are rewritten."""

from __future__ import annotations

import json
import math
import re
import sys
from ast import literal_eval
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from math import isnan
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
import pyarrow as pa

from stakes import _check, calibration
from stakes._check import FloatArray, Labels
from stakes._expression import NUMBERS, Expression, Name, parse
from stakes._files import text_of, whole_file
from stakes.adapters.checked_columns import NOT_MEANT, posterior_columns
from stakes.adapters.columns import Columns, model_argument, prediction_columns
from stakes.adapters.data_files import Format, unnamed, write_rows
from stakes.adapters.duck import FileSource, opened_files, refuse_gaps, spark_files
from stakes.adapters.frame import evaluate_frame
from stakes.adapters.report_on import count_rows, memory_size
from stakes.adapters.sources import Source
from stakes.calibration import CalibrationMap, Calibrator, from_json
from stakes.cli.output import Terminal, notify
from stakes.errors import InputError, StakesError
from stakes.evaluation import may_name
from stakes.problem import Problem
from stakes.render import refuse_too_long_to_write
from stakes.report import ModelQuality, Report, System
from stakes.rows import Predicted, Scores
from stakes.scoring import EqualMass

# The conditions on a report that ``--fail-if`` and ``--gate`` can state --------------------------


def _ends(name: str, path: str) -> dict[str, str]:
    ends = {"": "value", "_low": "low", "_high": "high"}
    return {f"{name}{end}": f"{path}.{part}" for end, part in ends.items()}


# Names of a gate, and where a system, a model or a report holds their values.
_SYSTEM = {
    **_ends("cost", "cost"),
    **_ends("normalized", "normalized"),
    "probability_cheapest": "probability_cheapest",
    **_ends("difference", "difference"),
}
_QUALITIES = ("h", "normalized_log_loss", "normalized_brier", "calibration_cost")
_MODEL = {"auc": "auc.value", **{name: name for name in _QUALITIES}}
_REPORT = {
    **_ends("saving", "verdict.saving_over_naive"),
    "saving_over_runner_up": "verdict.saving_over_runner_up.value",
    "unaided_cost": "verdict.unaided_cost",
    "naive_cost": "naive.cost",
    "perfect_cost": "perfect_cost",
    "cases": "assumptions.n_cases",
    "caveats": "caveats",
}
_FACTS = {"deployable": "verdict.deploy", "told_apart": "verdict.told_apart"}
_QUANTITIES = {**dict.fromkeys((*_SYSTEM, *_MODEL), True), **dict.fromkeys(_REPORT, False)}

EXPLAINED = f"""\
The condition of --fail-if compares names and numbers (< <= > >= == !=), or what + - * / min max abs
and where(condition, then, otherwise) make of them, and joins comparisons with and, or, not and
parentheses; the exit code is 1 when it holds:
--fail-if 'not deployable or cost > 0.9 * unaided_cost'.

\b
Of the cheapest system, or of another as in cost["forest"]:
  {", ".join(list(_SYSTEM)[:3])}, {", ".join(list(_SYSTEM)[3:6])},
  {", ".join(list(_SYSTEM)[6:7])}; and less that of --baseline:
  {", ".join(list(_SYSTEM)[7:])}
  (what it cost on these cases; saving allows for the system's choice on them as well)
Of its model, or of another as in auc["forest"]:
  {", ".join(_MODEL)}
Of the report:
  {", ".join(list(_REPORT)[:4])},
  {", ".join(list(_REPORT)[4:])}
  (saving is that against unaided_cost, the least that deciding without a model costs; where costs
  differ from case to case, that may be less than naive_cost, of the best constant decision)
True or false:
  deployable (the verdict is to deploy a system: its saving is shown)
  told_apart (all systems that may be the cheapest are of one model)

A model's name in brackets means its cheapest system. What is undefined is bad input (exit code 2),
so that no gate opens by accident, unless what comes before it settles the answer.

--gate no-worse and --gate better judge the system of the verdict against --baseline; the exit code
is 1, and --rule-out writes nothing, unless they pass. Better: it is to be deployed, and the upper
bound of its cost less that of the baseline is below 0, which allows for its choice on these cases.
No worse: it is to be deployed, which needs that it is better, or that the upper bound beyond
--margin is at most 0. --gate 'better=forest (recalibrated)' names a system that was fixed before
the cases were seen, or a model for its system with the rule of the baseline; it is judged by the
interval of its own pair, and --rule-out then writes its rule. A system that clearly breaks a limit
never passes.
"""

GATES = {"no-worse": Report.is_no_worse, "better": Report.is_better}


def read_gate(text: str, baseline: object) -> Expression:
    """Parse the condition of ``--fail-if``, so that errors show before anything is computed."""
    facts = frozenset(_FACTS)
    gate = parse(text, what="the gate", known=_QUANTITIES, facts=facts, truth=True)
    compared = [name for name in gate.names if name.name.startswith("difference")]
    if compared and baseline is None:
        raise InputError(
            f"--fail-if must come with a baseline where it asks for {compared[0]}; there is "
            f"none. Name it with --baseline.",
            argument="--fail-if",
        )
    return gate


def read_named_gate(text: str, baseline: object) -> tuple[str, str | None]:
    """The gate that ``--gate`` names and the system that it judges, or None where none is stated.

    >>> read_named_gate("better=forest (as is)", "old")
    ('better', 'forest (as is)')
    """
    name, stated, system = text.partition("=")
    if name not in GATES or (stated and not system):
        raise InputError(
            f"--gate must be one of {', '.join(GATES)}, or one of them with a system as in "
            f"no-worse=NAME; got {text}. Conditions on numbers are --fail-if.",
            argument="--gate",
        )
    if baseline is None:
        raise InputError(
            f"--gate must come with a baseline; got {text} alone. Name it with --baseline.",
            argument="--gate",
        )
    return name, system or None


Gates = tuple[Expression | None, Sequence[tuple[str, str | None]]]  # --fail-if, and each --gate


def refuse_strangers(gates: Gates, models: Collection[str]) -> None:
    """Refuse names of gates that no system of these models can have, before anything is computed.

    >>> refuse_strangers((None, [("better", "forest (as is)")]), ["forest", "old"])
    """
    for asked, name in _named(gates):
        if not may_name(name, models):
            raise InputError(
                f"{asked}, but no model or system has that name. The models are "
                f"{', '.join(models)}; a system is a model with its rule, as in "
                f"{next(iter(models))} (as is)."
            )


def refuse_missing(gates: Gates, report: Report) -> None:
    """Refuse names of systems that this report lacks, before it is printed."""
    known = [system.name for system in report.systems] + [each.model for each in report.models]
    for asked, name in _named(gates):
        if name not in known:
            raise _unknown(asked, report)


def _named(gates: Gates) -> Iterator[tuple[str, str]]:
    """Who asks, and for which model or system."""
    gate, named = gates
    for name in () if gate is None else gate.names:
        if name.of is not None:
            yield f"the gate asks for {name}", name.of
    for kind, system in named:
        if system is not None:
            yield f"--gate {kind} asks for {system}", system


def _unknown(asked: str, report: Report) -> InputError:
    known = ", ".join(system.name for system in report.systems)
    return InputError(f"{asked}, but no model or system has that name. The systems are {known}.")


def holds(gate: Expression, values: Values) -> bool:
    """Whether the condition holds; names are looked up from left to right, as far as needed."""
    return bool(gate(values, NUMBERS))


class Values(dict[Name, float | bool]):
    """The values of names in a report, looked up on first use; an undefined value is an error."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report

    def __missing__(self, name: Name) -> float | bool:
        value = _lookup(name, self._report)
        if value is None or isnan(value):
            raise InputError(
                f"the gate needs {name}, which is undefined in this report. Leave it out, or "
                f"gather the cases that it needs."
            )
        self[name] = value if isinstance(value, bool) else float(value)
        return self[name]


def _lookup(name: Name, report: Report) -> Any:
    if name.name in _SYSTEM:
        return _part(_system(name, report), _SYSTEM[name.name])
    if name.name in _MODEL:
        return _part(_model(name, report), _MODEL[name.name])
    value = _part(report, {**_REPORT, **_FACTS}[name.name])
    if name.name == "deployable":
        return value is not None
    return len(value) if name.name == "caveats" else value


def _part(value: Any, path: str) -> Any:
    """A part of a value, as in ``cost.low``; None where a part is missing."""
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def _model(name: Name, report: Report) -> ModelQuality:
    """The model of that name, or else the model of the system of that name."""
    models = {model.model: model for model in report.models}
    return models[name.of if name.of in models else _system(name, report).model]


def _system(name: Name, report: Report) -> System:
    """The system that is named, or the cheapest one, even if it is not worth deploying."""
    try:
        return report.best if name.of is None else report.system(name.of)
    except InputError:
        raise _unknown(f"the gate asks for {name}", report) from None


# The columns that the options name; those left out are guessed, and the guess is printed ---------

COLUMN_OPTIONS = ("truth", "models", "scores", "weights", "copies", "by", "clusters", "key")


def stated_columns(
    source: Source,
    problem: Problem,
    *,
    truth: str | None = None,
    models: Sequence[str] = (),
    scores: Sequence[str] = (),
    **others: Any,
) -> Columns:
    """The columns that the options name; guesses for those left out are printed."""
    pairs = [_stated_model(text, source, problem) for text in models]
    pairs += [stated_scores(text, source) for text in scores]
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"--model and --scores must have a name of its own for each model; {twin!r} "
            f"appears twice. Write another before one of the columns, as in NAME=COLUMN."
        )
    return Columns.guess(source, problem, y_true=truth, models=named, **others)


def report_on_files(
    files: Sequence[str],
    problem: Problem,
    *,
    engine: str | None = None,
    master: str | None = None,
    written: bool = False,
    gates: Gates = (None, ()),
    **options: Any,
) -> Report:
    """The report on the predictions in files.

    One too long to be `written` is refused at once, and so are `gates` that name no model.
    """
    if master is not None and engine != "spark":
        raise InputError("--master must come with --engine spark. Add it, or leave this out.")
    stated = {name: options.pop(name) for name in COLUMN_OPTIONS if name in options}
    with input_source(files, engine, master) as source:
        columns = stated_columns(source, problem, **stated)
        refuse_strangers(gates, columns.models)
        if written:
            refuse_too_long_to_write(problem, len(columns.models))
        try:
            return evaluate_frame(source, problem, **columns, **options, engine=engine)
        except InputError as error:
            # An error about a column that was only guessed should say so.
            guessed = not (stated.get("models") or stated.get("scores"))
            if guessed and error.argument in _models_named(columns.models, source.name):
                raise InputError(
                    error.complaint,
                    argument=error.argument,
                    remedy=f"{error.remedy}{NOT_MEANT}".strip(),
                ) from None
            raise


def _models_named(models: Any, source: str) -> set[str | None]:
    """The arguments that an error about one of the models can name."""
    columns = {
        f"column {c!r} of {source}" for model in models.values() for c in prediction_columns(model)
    }
    return {*columns, *map(model_argument, models)}


def input_source(
    files: Sequence[str], engine: str | None, master: str | None
) -> AbstractContextManager[Source]:
    """The files of the command line as a source of columns, read by DuckDB or Spark."""
    if engine == "spark":
        return spark_files(files, master, Terminal())
    return input_files(files)


def input_files(files: Sequence[str]) -> AbstractContextManager[FileSource]:
    """The files of the command line as a source of columns, read by DuckDB."""
    return opened_files(files, sys.stdin.buffer, Terminal())


# Models as options state them --------------------------------------------------------------------


def _stated_model(text: str, source: Source, problem: Problem) -> tuple[str, Any]:
    """The name and the columns of a model stated as NAME, NAME=COLUMN or NAME=COLUMN,COLUMN."""
    name, listed = _split(text, source)
    known = listed in source.types  # the type of a single column says what it holds
    return name, listed if known else posterior_columns(listed, source, problem)


def stated_scores(text: str, source: Source) -> tuple[str, Predicted]:
    """The name and the column of raw scores stated as COLUMN or NAME=COLUMN."""
    name, column = _split(text, source)
    return name, Scores(source.require_number(column))


def model_columns(text: str, source: Source, problem: Problem) -> tuple[str, ...]:
    """The columns of a model for a command that takes only one; its name is ignored."""
    return prediction_columns(posterior_columns(_split(text, source)[1], source, problem))


def _split(text: str, source: Source) -> tuple[str, str]:
    """The name of a model and its columns as text; without a name, the columns give it."""
    if text in source.types or "=" not in text:
        return text, text
    name, _, listed = text.partition("=")
    if not name or not listed:
        raise InputError(
            f"a model must be stated as NAME=COLUMN or NAME=COLUMN,COLUMN; got {text}. Write both, "
            f"or a column alone."
        )
    return name, listed


# Options that several commands share -------------------------------------------------------------

F = TypeVar("F", bound=Callable[..., Any])

_BINS = 20  # bins of equal mass for the histogram calibrator
CALIBRATORS: dict[str, Callable[[], Calibrator]] = {
    "select": calibration.Select,
    "affine": calibration.Affine,
    "beta": calibration.BetaMap,
    "full-affine": calibration.FullAffine,
    "histogram": lambda: calibration.Histogram(EqualMass(_BINS)),
    "isotonic": calibration.Isotonic,
    "logistic": calibration.Logistic,
    "one-vs-rest-isotonic": calibration.OneVsRestIsotonic,
    "platt": calibration.Platt,
    "temperature": calibration.Temperature,
    "vector-scaling": calibration.VectorScaling,
}
NO_CALIBRATOR = "none"
_OPTIONS = {  # arguments of the library and the options that set them
    "y_true": "--truth",
    "models": "--model",
    "weights": "--weights",
    "copies": "--copies",
    "by": "--by",
    "clusters": "--clusters",
    "memory_limit": "--memory-limit",
    "posterior_prior": "--posterior-prior",
    "from_prior": "--posterior-prior",
    "calibrator": "--calibrate",
    "running_costs": "--running-cost",
    "volume": "--volume",
    "period": "--period",
    "level": "--level",
    "replicates": "--replicates",
    "seed": "--seed",
    "baseline": "--baseline",
    "margin": "--margin",
    "system": "--gate",
    "key": "--key",
    "engine": "--engine",
}
_SET = re.compile(rf"\b({'|'.join(_OPTIONS)})=(\w*)")  # an argument in a remedy
_ACTS = {  # calls of the library in remedies, and what does the same on the command line
    "take problem.with_limits(None)": "leave the limits out of the problem file",
    "Pass raw scores as scores (Scores, or a ScoreTable), or have a calibrator turn them into "
    "probabilities.": "Raw scores are for --scores of evaluate and audit; stakes calibrate "
    "turns them into probabilities.",
}

TRUTH_HELP = "The column of the true classes; guessed if left out."
WEIGHTS = "The column of the sampling weights: how many cases each row stands for."
COPIES = "The column of whole numbers that say how often each row occurred."

file_argument = click.argument("files", metavar="FILE…", nargs=-1, required=True)
problem_option = click.option(
    "--problem",
    "-p",
    "problem_file",
    required=True,
    metavar="TOML",
    help="The problem file: what is at stake. stakes problem new writes one.",
)

by_option = click.option(
    "--by",
    multiple=True,
    metavar="COLUMN",
    help="Show the costs for each of these groups. Repeat it for several columns.",
)

seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the random numbers.",
)

out_option = click.option(
    "--out", "-o", required=True, metavar="OUT", help="CSV, Parquet or JSON lines, by its name."
)

calibrate_option = click.option(
    "--calibrate",
    type=click.Choice([*CALIBRATORS, NO_CALIBRATOR], case_sensitive=False),
    default=next(iter(CALIBRATORS)),
    show_default=True,
    metavar="METHOD",
    help=f"Show every model recalibrated, too, out of fold: by {', '.join(CALIBRATORS)}, or "
    f"{NO_CALIBRATOR}. The first one chooses among others inside the folds.",
)


def posterior_prior_option(what_follows: str) -> Callable[[F], F]:
    """The option that states the prior of the posteriors, and what follows from it."""
    text = f"The prior for which the posteriors hold; {what_follows}"
    return click.option("--posterior-prior", metavar="CLASS=SHARE,…", help=text)


def _some_memory(context: click.Context, option: click.Parameter, size: str) -> str:
    if memory_size(size) == 0:
        raise InputError(f"--memory-limit must be above zero; got {size}. 2GiB is usual.")
    return size


def memory_option(beyond: str) -> Callable[[F], F]:
    """The option that limits the memory of the rows, and what happens beyond the limit."""
    return click.option(
        "--memory-limit",
        default="2GiB",
        show_default=True,
        metavar="SIZE",
        callback=_some_memory,
        help="The most that the needed columns may take as arrays; working on them takes up to ten "
        f"times as much. {beyond}",
    )


key_option = click.option(
    "--key",
    metavar="COLUMN",
    help="A column of whole numbers that sets the folds, the same in every engine; rows with one "
    "key stay in one fold. Beyond the limit of memory, recalibration and limits on decisions need "
    "it.",
)


def prediction_options(command: F) -> F:
    """Add the options that name columns; columns left out are guessed where that is safe."""
    for option in reversed(  # the decorator that is applied last comes first in --help
        (
            click.option("--truth", metavar="COLUMN", help=TRUTH_HELP),
            click.option(
                "--model",
                "models",
                multiple=True,
                metavar="NAME=COL[,COL…]",
                help="Probabilities of a model: a column with that of the second of two classes, "
                "or a column for each class; or its decisions, a column of labels. Repeat it for "
                "several models. If left out, models are guessed where the names of columns tell "
                "(NAME_CLASS, p_NAME, NAME_prob, …).",
            ),
            click.option(
                "--scores",
                multiple=True,
                metavar="NAME=COL",
                help="Raw scores of a model for two classes, on any scale.",
            ),
            click.option("--weights", metavar="COLUMN", help=WEIGHTS),
            click.option("--copies", metavar="COLUMN", help=COPIES),
            click.option(
                "--clusters",
                metavar="COLUMN",
                help="The column that says which cases were sampled together: patients, sites.",
            ),
            memory_option(
                "Beyond it, the rows are left to the engine, and the report lists what was "
                "therefore left out. Limits on decisions then need two classes, costs that all "
                "rows share, and --key."
            ),
        )
    ):
        command = option(command)
    return command


def in_options(error: StakesError) -> str:
    """The message of an error, with options of the command in place of arguments of the library.

    >>> in_options(InputError("y_true must hold labels; 1 is none.", argument="y_true"))
    '--truth must hold labels; 1 is none.'
    >>> in_options(InputError("models['a'] must sum to one.", argument="models['a']"))
    'model a must sum to one.'
    """
    if not isinstance(error, InputError):
        return str(error)
    argument, remedy = error.argument, _remedy_in_options(error.remedy)
    if argument is None:
        name = ""
    elif argument.startswith("models["):
        name = f"model {literal_eval(argument[7:-1])}"
    elif argument.startswith("running_costs["):
        name = f"--running-cost {literal_eval(argument[14:-1])}"
    else:
        name = "--by" if argument.startswith("by[") else _OPTIONS.get(argument, argument)
    return str(error.renamed(name, remedy=remedy))


def _remedy_in_options(remedy: str) -> str:
    """A remedy that was passed by itself, with what can be done on the command line.

    >>> _remedy_in_options("Pass level=0.9, name key=, or take problem.with_limits(None).")
    'Pass --level 0.9, name --key, or leave the limits out of the problem file.'
    """
    for call, act in _ACTS.items():
        remedy = remedy.replace(call, act)
    return _SET.sub(lambda match: f"{_OPTIONS[match[1]]} {match[2]}".strip(), remedy)


def read_problem(path: str) -> Problem:
    """Read a problem file; errors name the file."""
    if path == "-":
        raise InputError(
            "--problem must be the name of a TOML file; standard input (-) is for predictions. "
            "Write the problem to a file, say with stakes problem new."
        )
    try:
        return Problem.from_toml(Path(path))
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror or error}. Check the name."
        ) from None


def read_report(path: str) -> Report:
    """Read a report from its JSON file; errors name the file."""
    if not Path(path).is_file():
        other = "it is a folder, a pipe or a device"
        why = other if Path(path).exists() else "there is no such file"
        raise InputError(
            f"{path} must be the JSON of a report; {why}. Write one with stakes evaluate --json."
        )
    try:
        return Report.from_json(Path(path))
    except InputError as error:
        raise in_file(path, error, "Write one with stakes evaluate --json.") from None


def in_file(path: str, error: InputError, remedy: str) -> InputError:
    """The error with the name of the file, and with the command that writes such files."""
    if error.argument in ("source", "text"):  # what functions call the JSON that they read
        return error.renamed(path, remedy=remedy)
    return InputError(f"{path}: {error}")


def calibrator_named(name: str) -> Calibrator | None:
    """The calibrator of that name, or None for the name "none"."""
    return None if name.lower() == NO_CALIBRATOR else CALIBRATORS[name.lower()]()


def class_shares(text: str | None, problem: Problem) -> FloatArray | None:
    """Read class shares such as ``good=0.7,bad=0.3`` into the order of the classes.

    >>> class_shares("1=0.3,0=0.7", Problem.zero_one(2))
    array([0.7, 0.3])
    """
    if text is None:
        return None
    example = _even_shares(problem)
    stated = numbers_by_name("--posterior-prior", text.split(","), ("class", "share"), example)
    if set(stated) != set(map(str, problem.classes)):
        raise InputError(
            f"--posterior-prior must have a share for every class, as in {example}; got "
            f"{text!r}. Write all classes of the problem, and no others."
        )
    shares = [stated[str(label)] for label in problem.classes]
    return _check.prior("--posterior-prior", shares, problem.classes)


def _even_shares(problem: Problem) -> str:
    """Shares that are about even, with few digits, and sum to one.

    >>> _even_shares(Problem.zero_one(3))
    '0=0.33,1=0.33,2=0.34'
    """
    parts = 10 ** (len(str(problem.n_classes)) + 1)
    shares = np.full(problem.n_classes, parts // problem.n_classes)
    shares[-1] += parts % problem.n_classes
    return written_shares(shares / parts, problem)


def written_shares(shares: FloatArray, problem: Problem) -> str:
    """Class shares in the form that `class_shares` reads, to six digits."""
    pairs = zip(problem.classes, shares.tolist(), strict=True)
    return ",".join(f"{label}={share:.6g}" for label, share in pairs)


def numbers_by_name(
    option: str, texts: Sequence[str], words: tuple[str, str], example: str
) -> dict[str, float]:
    """Numbers that are zero or more, by name, read from texts such as NAME=NUMBER.

    `words` say what a name and a number are.

    >>> numbers_by_name("--running-cost", ["new=0.02"], ("model", "cost"), "new=1")
    {'new': 0.02}
    """
    what, amount = words
    numbers: dict[str, float] = {}
    for text in texts:
        name, _, number = (part.strip() for part in text.rpartition("="))
        if name in numbers:
            raise InputError(
                f"{option} must state every {what} once; {name!r} appears twice. Leave one of "
                f"them out."
            )
        try:
            numbers[name] = float(number)
        except ValueError:
            name = ""
        if not name or not 0 <= numbers[name] < math.inf:
            raise InputError(
                f"{option} must be written as {what.upper()}={amount.upper()}, a number that is "
                f"zero or more; {text!r} is not a {amount}. Write {example}, say."
            )
    return numbers


# -------------------------------------------------------------------------------------------------
# Copies of files with new columns, written in blocks so that memory does not limit the rows.

_KINDS = {
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
}
_PREDICTIONS = ("posteriors", "scores", "predictions")  # what functions call what is read here
# A spreadsheet runs a cell that begins with one of these as a formula (OWASP, CSV injection).
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def is_formula(cell: object) -> bool:
    """Whether a spreadsheet would run this cell as a formula."""
    return isinstance(cell, str) and cell.startswith(_FORMULA)  # the number −1 is only a number


def check_column(name: str) -> None:
    """Refuse a new column without a name, or with one that no file can hold."""
    _check.writable("--column", name)
    if not name.strip():
        raise InputError(
            "--column must be the name of the new column; it is empty. Leave it out, or write one."
        )


def load_map(path: str, classes: Labels) -> tuple[CalibrationMap, FloatArray | None]:
    """A fitted map for these classes, and the prior for which its posteriors hold, if known."""
    try:
        text = text_of("source", Path(path), "a calibration map")
        # As a path: from_json would take a text without a brace for the name of a file.
        fitted = from_json(Path(path))
        stated = json.loads(text).get("prior")
        prior = None if stated is None else _check.prior("prior", stated, fitted.classes)
    except InputError as error:
        raise in_file(path, error, "Write one with stakes calibrate fit.") from None
    if fitted.classes != classes:
        raise InputError(
            f"{path} must be a map for the classes {', '.join(map(str, classes))}; it is one for "
            f"{', '.join(map(str, fitted.classes))}. Fit it again with this problem."
        )
    return fitted, prior


def rewrite(
    source: FileSource,
    columns: tuple[str, ...],
    new_columns: Callable[[FloatArray], dict[str, pa.Array]],
    target: Path,
    *,
    beside: tuple[str, ...] = (),
) -> int:
    """Write all columns and new ones; return the number of rows.

    They are computed from predictions in `columns`, and from what is `beside` these.
    """
    kind = _KINDS.get(target.suffix.lower())
    if kind is None:
        raise InputError(
            f"{target} must end in one of {', '.join(_KINDS)}; it ends in {target.suffix!r}. "
            f"Name it otherwise."
        )
    total = count_rows(source)  # first, because a connection answers one query at a time
    if invented := unnamed(source.files):
        notify(f"{source.name} has columns without a name; they are called {', '.join(invented)}")
    # From CSV to CSV the text is kept, so that numbers are not written in another form.
    verbatim = source.files.format is kind is Format.CSV
    with whole_file(target) as part, source.watch.working(f"writing {target}", total) as advance:
        blocks = _extended(source, columns, beside, new_columns, verbatim, advance)
        write_rows(part, kind, blocks)
    return total


def _extended(
    source: FileSource,
    columns: tuple[str, ...],
    beside: tuple[str, ...],
    new_columns: Callable[[FloatArray], dict[str, pa.Array]],
    verbatim: bool,
    advance: Callable[[int], None],
) -> Iterator[pa.RecordBatch]:
    """Yield the blocks of rows with their new columns; missing numbers are refused."""
    where = f"column{'s' * (len(columns) > 1)} {', '.join(columns)} of {source.name}"
    read, before = (*columns, *beside), 0
    for batch, values in source.with_numbers(read, verbatim=verbatim):
        refuse_gaps(source.name, read, values, before)
        new = _positioned(new_columns, values, before, where)
        _refuse_present(new, source)
        arrays, names = [*batch.columns, *new.values()], [*batch.schema.names, *new]
        yield pa.RecordBatch.from_arrays(arrays, names=names)
        before += len(batch)
        advance(len(batch))


def _refuse_present(new: dict[str, pa.Array], source: FileSource) -> None:
    """Refuse new columns whose names are taken; many programs ignore case."""
    for name in new:
        # Engines and spreadsheets often ignore case in the names of columns.
        twin = next((known for known in source.types if known.lower() == name.lower()), None)
        if twin is not None:
            alone = "" if twin == name else f" {twin!r}, which differs by case alone"
            raise InputError(
                f"{source.name} must not have a column {name!r} already; it has{alone}. Name the "
                f"new one with --column."
            )


def _positioned(
    new_columns: Callable[[FloatArray], dict[str, pa.Array]],
    values: FloatArray,
    before: int,
    where: str,
) -> dict[str, pa.Array]:
    """The new columns of a block; an error says which rows of the file the block holds."""
    try:
        return new_columns(values)
    except InputError as error:
        last = before + len(values)
        named = error.renamed(where) if error.argument in _PREDICTIONS else error
        raise InputError(
            f"rows {before} to {last - 1} of the file (counted from 0): {named.complaint}",
            remedy=named.remedy,
        ) from None
