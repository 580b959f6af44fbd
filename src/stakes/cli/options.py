"""Options that several commands share."""

from __future__ import annotations

import math
import re
from ast import literal_eval
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from stakes import _check, calibration
from stakes._check import FloatArray
from stakes.adapters.report_on import memory_size
from stakes.calibration import Calibrator
from stakes.errors import InputError, StakesError
from stakes.problem import Problem
from stakes.report import Report
from stakes.scoring import EqualMass

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
