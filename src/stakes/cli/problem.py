"""``stakes problem``: write a problem file by answering questions, check it and show it."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click
import numpy as np

from stakes import _check
from stakes._files import check_target
from stakes._text import one_line
from stakes.cli.options import read_problem
from stakes.cli.output import notify, put, put_wrapped
from stakes.decide import reachable_decisions
from stakes.errors import InputError
from stakes.evaluation import LARGEST_COST, refuse_scale
from stakes.problem import Problem
from stakes.regions import decision_regions


@click.group(no_args_is_help=False)
def problem() -> None:
    """Write down what is at stake."""


@problem.command()
@click.argument("file")
def show(file: str) -> None:
    """Show the costs of FILE and the decisions that they lead to."""
    stakes = read_problem(file)
    put(str(stakes))
    _put_consequences(stakes)
    if stakes.limits:
        put("")
        put_wrapped(
            "These decisions leave the limits out: evaluate fits their prices to predictions."
        )


@problem.command(short_help="Say what looks odd about the problem file FILE.")
@click.argument("file")
def check(file: str) -> None:
    """Read FILE, and say what looks odd about it; exit code 2 when it cannot be used."""
    stakes = read_problem(file)
    try:
        refuse_scale(stakes)  # what evaluate would refuse
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    prior = "the prior of the data" if stakes.prior is None else "a stated prior"
    counts = f"{stakes.n_classes} classes, {stakes.n_decisions} decisions"
    put(one_line(f"{file}: {counts}, {prior}."))
    for sentence in _oddities(stakes):
        put_wrapped(one_line(f"Odd: {sentence}"))


@problem.command()
@click.argument("out")
@click.option("--force", is_flag=True, help="Replace a file that is there already.")
def new(out: str, force: bool) -> None:
    """Ask what is at stake and write the answers to the problem file OUT.

    Two classes and two decisions can do without costs: it is enough to say above which
    probability you would act. Costs are numbers here; ranges and expressions of columns are
    written into OUT afterwards.
    """
    target = check_target(out)
    if target.exists() and not force:
        raise InputError(f"{out} must be a new file; it is there already. Pass --force.")
    try:
        stakes = _ask()
    except click.Abort:
        if sys.stdin.isatty():
            raise
        put("", err=True)  # ends the line on which the question stands
        raise InputError("every question must have an answer; the input ended first.") from None
    stakes.to_toml(target)
    put(str(stakes))
    _put_consequences(stakes)
    notify(f"wrote {out}")


# What follows from a problem ---------------------------------------------------------------------


def _put_consequences(stakes: Problem) -> None:
    """Print which decision is the cheapest where, and what the costs lead to in general."""
    if stakes.n_classes == 2 and not stakes.columns:
        put(f"\n{decision_regions(stakes)}")
    for sentence in _consequences(stakes):
        put("")
        put_wrapped(sentence)


def _consequences(stakes: Problem) -> Iterator[str]:
    """Sentences about the decisions that the costs lead to."""
    if stakes.columns:
        columns = ", ".join(stakes.columns)
        yield one_line(f"Every case has its own costs, by its columns: {columns}.")
    elif stakes.prior is not None:
        naive = stakes.naive
        unit = f" {stakes.unit}" if stakes.unit else ""
        yield one_line(
            f"Without looking at the case, {naive.decision} is best and costs {naive.cost:.4g}"
            f"{unit} per case; perfect decisions would cost {stakes.perfect_cost:.4g}{unit}."
        )


def _oddities(stakes: Problem) -> Iterator[str]:
    """Sentences about what looks like a mistake in a problem."""
    for what, labels in (("classes", stakes.classes), ("decisions", stakes.decisions)):
        if "" in labels:
            yield f"one of the {what} has an empty name, which data cannot tell from a missing one."
    if stakes.columns:  # costs differ from case to case, so that nothing can be said in general
        return
    costs = stakes.costs
    for label, row in zip(stakes.classes, costs, strict=True):
        if stakes.n_decisions > 1 and np.ptp(row) == 0:
            yield f"all decisions cost the same for {label}; nothing is at stake there."
        if label in stakes.decisions and row[stakes.decisions.index(label)] > row.min():
            best = stakes.decisions[int(np.argmin(row))]
            yield f"{best} is cheaper for {label} than {label} itself."
    if costs.shape == (2, 2) and costs[0, 1] < costs[0, 0] and costs[1, 0] < costs[1, 1]:
        yield "each class is served best by the other's decision; swap the decisions."
    reachable = reachable_decisions(stakes)
    for j, decision in enumerate(stakes.decisions):
        for i, other in enumerate(stakes.decisions):
            no_better = bool((costs[:, j] >= costs[:, i]).all())
            if i != j and no_better and ((costs[:, j] > costs[:, i]).any() or i < j):
                yield f"{decision} is never cheaper than {other}, whatever the class."
                break
        else:
            if not reachable[j]:
                yield f"{decision} is never the cheapest, whatever the probabilities."
    if stakes.prior is not None and (stakes.prior == 0).any():
        absent = stakes.classes[int(np.argmin(stakes.prior))]
        yield f"the prior gives {absent} no chance, so its costs do not matter."


# Questions ---------------------------------------------------------------------------------------


def _ask() -> Problem:
    """Ask for all parts of a problem."""
    classes = _labels("Classes of a case, separated by commas; what you look for comes last")
    decisions = _labels("Decisions; those that suit a class in the order of the classes", classes)
    unit = click.prompt("Unit of the costs, say EUR", default="", show_default=False, err=True)
    two = len(classes) == len(decisions) == 2
    if two and not click.confirm("Can you say what each mistake costs?", default=True, err=True):
        question = f"Above which probability of {classes[1]} would you choose {decisions[1]}?"
        costs = Problem.from_threshold(_number(question, low=0, high=1)).costs.tolist()
    else:
        costs = [[_cost(c, d, classes, decisions) for d in decisions] for c in classes]
    return Problem(
        costs, classes=classes, decisions=decisions, prior=_prior(classes), unit=unit or None
    )


def _labels(question: str, default: list[str] | None = None) -> list[str]:
    """Ask for two or more different labels, until the answer has them."""

    def read(answer: str) -> list[str]:
        labels = [part.strip() for part in answer.split(",") if part.strip()]
        twin = next((label for label in labels if labels.count(label) > 1), None)
        if twin is not None:
            raise click.UsageError(f"names must be unique; {twin} appears twice.")
        if len(labels) < 2:
            raise click.UsageError(f"there must be two or more, as in a,b; got {answer!r}.")
        return labels

    shown = None if default is None else ", ".join(default)
    labels: list[str] = click.prompt(question, default=shown, value_proc=read, err=True)
    return labels


def _number(question: str, *, low: float, high: float, default: float | None = None) -> float:
    """Ask for a number in [low, high], until the answer is one."""

    def read(answer: object) -> float:
        try:
            return _check.number("the answer", float(str(answer)), low=low, high=high)
        except ValueError:  # InputError is a ValueError
            raise click.UsageError(
                f"the answer must be a number from {low:g} to {high:g}; got {answer!r}."
            ) from None

    return float(click.prompt(question, default=default, value_proc=read, err=True))


def _cost(label: str, decision: str, classes: list[str], decisions: list[str]) -> float:
    """Ask what a decision costs for a class; the right decision costs 0 by default."""
    suits = len(classes) == len(decisions) and classes.index(label) == decisions.index(decision)
    question = f"What does it cost to choose {decision} when the truth is {label}?"
    return _number(question, low=-LARGEST_COST, high=LARGEST_COST, default=0.0 if suits else None)


def _prior(classes: list[str]) -> list[float] | None:
    """Ask for the class shares in deployment, all but the last; None if they are unknown."""
    question = "Do you know how often each class will occur once deployed?"
    if not click.confirm(question, default=False, err=True):
        return None
    shares: list[float] = []
    for label in classes[:-1]:
        left = round(1 - sum(shares), 12)  # 1 - (0.7 + 0.2) would print as 0.10000000000000009
        shares.append(_number(f"Share of {label}", low=0, high=left))
    return [*shares, round(1 - sum(shares), 12)]
