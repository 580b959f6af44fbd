"""``stakes decide``: adds a column with the decision for each case to a file of predictions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pyarrow as pa

from stakes import _check
from stakes._check import FloatArray
from stakes.adapters.columns import prediction_columns
from stakes.adapters.duck import FileSource
from stakes.cli.options import (
    check_column,
    class_shares,
    file_argument,
    in_file,
    input_files,
    is_formula,
    load_map,
    model_columns,
    out_option,
    posterior_prior_option,
    read_problem,
    rewrite,
    stated_scores,
)
from stakes.cli.output import notify, target_beside
from stakes.decide import bayes_decisions, shift_prior
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import DECISIONS, SCORES, WRAPPERS
from stakes.rule import Rule

# Takes predictions, (n,) or (n, K), and the columns on which costs depend, if any; returns labels.
Decide = Callable[[FloatArray, dict[str, FloatArray] | None], Any]


@click.command(short_help="Add the decision of a rule to every case in FILE.")
@file_argument
@click.option(
    "--rule", "rule_file", metavar="JSON", help="A rule, as evaluate --rule-out wrote it."
)
@click.option(
    "--problem", "-p", "problem_file", metavar="TOML", help="The problem file, if there is no rule."
)
@click.option(
    "--model",
    metavar="[NAME=]COL[,COL…]",
    help="Probabilities: a column with that of the second of two classes, or a column for each "
    "class; for a rule of raw scores, their column. A rule knows the columns it was made from.",
)
@click.option("--map", "map_file", metavar="JSON", help="Recalibrate first, with a fitted map.")
@posterior_prior_option(
    "they are moved to the prior of the problem. Those of a fitted map are moved anyway, from the "
    "prior that it was fitted for."
)
@click.option("--column", default="decision", show_default=True, help="Name of the new column.")
@out_option
@click.option(
    "--quote-formulas",
    is_flag=True,
    help="Put ' before decisions that a spreadsheet would take for a formula, and before the name "
    "of their column if it is one.",
)
def decide(
    files: tuple[str, ...],
    rule_file: str | None,
    model: str | None,
    column: str,
    out: str,
    quote_formulas: bool,
    **how: Any,
) -> None:
    """Add to the predictions in FILE the decision that a rule takes for every case.

    `stakes evaluate --rule-out` writes the rule that it found to be the cheapest. Without a rule,
    the posteriors are used as they are, after a map or a move of the prior where one is given, and
    the cheapest decision of the problem is taken.
    """
    check_column(column)
    header = _quoted([column])[0] if quote_formulas else column
    inputs = (rule_file, how["problem_file"], how["map_file"])
    target = target_beside(out, [*files, *(path for path in inputs if path is not None)])
    rule = None if rule_file is None else _read_rule(rule_file, how)
    problem, decide_rows = _of_problem(**how) if rule is None else (rule.problem, _of_rule(rule))
    _check.refuse_mixed(problem.decisions)

    with input_files(files) as source:
        columns = _columns(model, rule, source, problem)
        charged = source.require_costs(problem)
        # Single precision is passed on as such, so that thresholds and ties allow for its rounding.
        single = source.is_single(columns)

        def decided(values: FloatArray) -> dict[str, pa.Array]:
            rows, costs = np.split(values, [len(columns)], axis=1)
            rows = rows.astype(np.float32) if single else rows
            data = dict(zip(charged, costs.T, strict=True)) or None
            labels = decide_rows(rows[:, 0] if len(columns) == 1 else rows, data)
            return {header: pa.array(_quoted(labels) if quote_formulas else np.asarray(labels))}

        n_rows = rewrite(source, columns, decided, target, beside=charged)
    if not quote_formulas:
        _notify_formulas(column, problem)
    caution = "" if rule is None or rule.caution is None else f", by a rule {rule.caution}"
    notify(f"wrote {out}: {n_rows:,} rows with the column {header}{caution}")


def _notify_formulas(column: str, problem: Problem) -> None:
    """Warn about labels that a spreadsheet would take for formulas."""
    cells = [f"the decision {label}" for label in problem.decisions if is_formula(label)]
    cells += [f"the name of the column, {column},"] * is_formula(column)
    if cells:
        notify(
            f"a spreadsheet will take {' and '.join(cells)} for a formula; --quote-formulas "
            f"puts ' before it"
        )


def _quoted(labels: Any) -> list[Any]:
    """The labels, with an apostrophe before those that a spreadsheet would run as a formula."""
    return [f"'{label}" if is_formula(label) else label for label in labels]


def _columns(
    model: str | None, rule: Rule | None, source: FileSource, problem: Problem
) -> tuple[str, ...]:
    """The columns of the predictions: those that --model names, or those the rule was fitted on."""
    known = () if rule is None or rule.origin is None else rule.origin.columns
    if model is None and not known:
        raise InputError(
            "--model must name the column of the predictions; it is missing. Write --model COLUMN."
        )
    if model is None:
        return tuple(source.require_number(column) for column in known)
    if rule is not None and rule.takes == SCORES:
        return prediction_columns(stated_scores(model, source)[1])
    return model_columns(model, source, problem)


# By a rule ---------------------------------------------------------------------------------------


def _read_rule(path: str, others: dict[str, str | None]) -> Rule:
    """Read a rule; other options that say how to decide are refused beside it."""
    extra = [name for name, value in others.items() if value is not None]
    if extra:
        option = extra[0].removesuffix("_file").replace("_", "-")
        raise InputError(f"--{option} must be left out beside --rule, which says how to decide.")
    try:
        rule = Rule.from_json(Path(path))
    except InputError as error:
        raise in_file(path, error, "Write one with stakes evaluate --rule-out.") from None
    if rule.takes == DECISIONS:
        raise InputError(
            f"{path} must be a rule that decides; it is that of {rule.system}, whose decisions are "
            f"taken elsewhere. Use those decisions as they are."
        )
    return rule


def _of_rule(rule: Rule) -> Decide:
    return lambda rows, data: rule.decide(WRAPPERS[rule.takes](rows), data)


# By a problem ------------------------------------------------------------------------------------


def _of_problem(
    problem_file: str | None, map_file: str | None, posterior_prior: str | None
) -> tuple[Problem, Decide]:
    """The problem, and a function that takes its cheapest decisions.

    Posteriors are first mapped by a fitted map and moved to the prior of the problem, where the
    options ask for that.
    """
    if problem_file is None:
        raise InputError("--rule or --problem must say how to decide; both are missing. Add one.")
    problem = read_problem(problem_file)
    if problem.limits:
        raise InputError(
            f"{problem_file} must have no limits without --rule, which knows their prices; it has "
            f"{str(problem.limits[0])!r}. Write a rule with stakes evaluate --rule-out, or "
            f"leave the limits out."
        )
    fitted, from_prior = (None, None) if map_file is None else load_map(map_file, problem.classes)
    if from_prior is None:
        from_prior = class_shares(posterior_prior, problem)
    elif posterior_prior is not None:
        raise InputError(
            "--posterior-prior must be left out: the map knows the prior for which its posteriors "
            "hold, and they are moved from there."
        )
    if posterior_prior is not None and problem.prior is None:
        raise InputError(
            f"{problem_file} must state a prior to which posteriors can be moved; it has none. Add "
            f"[prior], or leave --posterior-prior out."
        )
    to_prior = problem.prior
    move = (
        from_prior is not None and to_prior is not None and not np.array_equal(from_prior, to_prior)
    )

    def decided(rows: FloatArray, data: dict[str, FloatArray] | None) -> Any:
        if fitted is not None:
            rows = fitted(rows)
        return bayes_decisions(
            shift_prior(rows, from_prior, to_prior) if move else rows, problem, data=data
        )

    return problem, decided
