"""``stakes calibrate``: fit a map from scores to posteriors, and apply it to new scores."""

from __future__ import annotations

from collections.abc import Callable

import click
import numpy as np
import pyarrow as pa

from stakes import _check
from stakes._check import FloatArray
from stakes._files import write_whole
from stakes.adapters.columns import Columns
from stakes.adapters.report_on import count_rows, memory_size
from stakes.calibration import CalibrationMap, sealed_map
from stakes.cli.options import (
    CALIBRATORS,
    TRUTH_HELP,
    WEIGHTS,
    check_column,
    file_argument,
    input_files,
    is_formula,
    load_map,
    memory_option,
    model_columns,
    out_option,
    problem_option,
    read_problem,
    rewrite,
    written_shares,
)
from stakes.cli.output import notify, target_beside
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores

_model_option = click.option(
    "--model",
    required=True,
    metavar="[NAME=]COL[,COL…]",
    help="Scores or probabilities of the second of two classes, or one column for each class.",
)


@click.group(no_args_is_help=False)
def calibrate() -> None:
    """Turn scores into calibrated probabilities."""


@calibrate.command()
@file_argument
@problem_option
@_model_option
@click.option("--truth", metavar="COLUMN", help=TRUTH_HELP)
@click.option("--weights", metavar="COLUMN", help=WEIGHTS)
@click.option(
    "--method",
    type=click.Choice(list(CALIBRATORS), case_sensitive=False),
    default=next(iter(CALIBRATORS)),
    show_default=True,
    help="The form of the map; the first one chooses among others on cases held out.",
)
@memory_option("Rows that need more are refused.")
@click.option("--out", "-o", required=True, metavar="JSON", help="Where to write the map.")
def fit(
    files: tuple[str, ...],
    problem_file: str,
    model: str,
    truth: str | None,
    weights: str | None,
    method: str,
    memory_limit: str,
    out: str,
) -> None:
    """Fit a map on the cases in FILE, whose classes are known.

    The new posteriors hold for the prior that the problem states, or else for the class shares of
    the data.
    """
    problem, target = read_problem(problem_file), target_beside(out, (*files, problem_file))
    limit = memory_size(memory_limit)
    with input_files(files) as source:
        columns = model_columns(model, source, problem)
        models = {"model": Scores(columns) if len(columns) == 1 else Posteriors(columns)}
        selection = Columns.guess(source, problem, y_true=truth, models=models, weights=weights)
        n_rows = count_rows(source)
        _refuse_large(source.name, n_rows, selection.n_bytes(problem, n_rows), limit)
        data = source.rows(selection, problem, n_rows)
    with _check.renamed(scores="--model"):
        fitted = CALIBRATORS[method.lower()]().fit(
            data.models["model"].values,
            data.y_true,
            classes=problem.classes,
            weights=data.weights,
            prior=problem.prior,
        )
    shares = np.bincount(data.y_true.codes, weights=data.weights, minlength=problem.n_classes)
    prior = problem.prior_or(shares / shares.sum())
    # One more entry than `stakes.calibration.from_json` needs.
    write_whole(target, sealed_map(fitted, {"prior": prior.tolist()}, None) + "\n")
    note = "" if fitted.converged else "; the fit was bounded, because the classes separate"
    notify(
        f"wrote {out}: a map of the kind {fitted.kind}, from {len(data.y_true):,} cases, for the "
        f"prior {written_shares(prior, problem)}{note}"
    )


def _refuse_large(source: str, n_rows: int, needed: int, limit: int) -> None:
    """Refuse rows whose columns would take more memory than the limit."""
    if needed > limit:
        raise InputError(
            f"memory_limit must leave room for the rows: the columns of the {n_rows:,} rows of "
            f"{source} need {needed:,} bytes and the limit is {limit:,}. Raise it, or take a "
            f"sample of the rows."
        )


@calibrate.command(short_help="Add calibrated posteriors to the predictions in FILE.")
@file_argument
@problem_option
@_model_option
@click.option("--map", "map_file", required=True, metavar="JSON", help="A fitted map.")
@click.option(
    "--column",
    default="calibrated",
    show_default=True,
    help="Name of the new column; for more than two classes, the prefix before _CLASS.",
)
@out_option
def apply(
    files: tuple[str, ...], problem_file: str, model: str, map_file: str, column: str, out: str
) -> None:
    """Add the calibrated posteriors of a fitted map to the predictions in FILE."""
    check_column(column)
    target = target_beside(out, (*files, problem_file, map_file))
    problem = read_problem(problem_file)
    fitted, prior = load_map(map_file, problem.classes)
    with input_files(files) as source:
        columns = model_columns(model, source, problem)
        n_rows = rewrite(source, columns, _mapped(fitted, column), target)
    if is_formula(column):
        notify(f"a spreadsheet will take the name of the column, {column}, for a formula")
    note = ""
    if prior is not None:
        note = f"; the posteriors hold for the prior {written_shares(prior, problem)}"
    notify(f"wrote {out}: {n_rows:,} rows{note}")


def _mapped(fitted: CalibrationMap, column: str) -> Callable[[FloatArray], dict[str, pa.Array]]:
    """A function from a block of scores to the columns of calibrated posteriors."""

    def new_columns(values: FloatArray) -> dict[str, pa.Array]:
        rows = fitted(values[:, 0] if values.shape[1] == 1 else values)
        if rows.ndim == 1:
            return {column: pa.array(rows)}
        pairs = zip(fitted.classes, rows.T, strict=True)
        return {f"{column}_{label}": pa.array(posteriors.copy()) for label, posteriors in pairs}

    return new_columns
