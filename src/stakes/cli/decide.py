"""``stakes decide``: new predictions in, the same with the decision that each case calls for."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np
import pyarrow as pa

from stakes._check import FloatArray
from stakes.cli.columns import input_source, model_columns
from stakes.cli.options import class_shares, file_argument, problem_option, read_problem
from stakes.cli.output import said
from stakes.cli.rewriting import ShippedMap, load_map, rewrite
from stakes.decide import bayes_decisions, shift_prior
from stakes.errors import InputError


@click.command()
@file_argument
@problem_option
@click.option(
    "--model",
    required=True,
    metavar="[NAME=]COL[,COL…]",
    help="Posteriors: P(second class) of two, or one column for each class.",
)
@click.option("--map", "map_file", metavar="JSON", help="Recalibrate first, with a fitted map.")
@click.option(
    "--posterior-prior",
    metavar="CLASS=SHARE,…",
    help="The prior for which the posteriors hold; they are moved to the prior of the problem. "
    "Those of a fitted map are moved anyway, from the prior that it was fitted for.",
)
@click.option("--column", default="decision", show_default=True, help="Name of the new column.")
@click.option(
    "--out", "-o", required=True, metavar="OUT", help="CSV, Parquet or JSON lines, by its name."
)
def decide(
    files: tuple[str, ...],
    problem_file: str,
    model: str,
    map_file: str | None,
    posterior_prior: str | None,
    column: str,
    out: str,
) -> None:
    """Add to the predictions in FILE the cheapest decision for every case.

    The posteriors are used as they are, after a map or a move of the prior where one is given; take
    the rule that `stakes evaluate` found to be the cheapest.
    """
    problem = read_problem(problem_file)
    shipped = None if map_file is None else load_map(map_file, problem.classes)
    held = _prior_of_posteriors(class_shares(posterior_prior, problem), shipped)
    if posterior_prior is not None and problem.prior is None:
        raise InputError(
            f"{problem_file} must state a prior to which posteriors can be moved; it has none. Add "
            f"[prior], or leave --posterior-prior out."
        )
    now = problem.prior
    move = held is not None and now is not None and not np.array_equal(held, now)

    def decided(values: FloatArray) -> dict[str, pa.Array]:
        rows = values[:, 0] if values.shape[1] == 1 else values
        if shipped is not None:
            rows = shipped.fitted(rows)
        if move:
            rows = shift_prior(rows, held, now)
        return {column: pa.array(np.asarray(bayes_decisions(rows, problem)))}

    with input_source(files) as source:
        columns = model_columns(model, source, problem)
        n_rows = rewrite(source, columns, decided, Path(out))
    said(f"wrote {out}: {n_rows:,} rows with the column {column}")


def _prior_of_posteriors(
    stated: FloatArray | None, shipped: ShippedMap | None
) -> FloatArray | None:
    """The prior for which the posteriors hold that are decided on, as far as it is known."""
    if shipped is None or shipped.prior is None:
        return stated
    if stated is not None:
        raise InputError(
            "--posterior-prior must be left out: the map knows the prior for which its posteriors "
            "hold, and they are moved from there."
        )
    return shipped.prior
