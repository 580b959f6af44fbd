"""Sentences of a report: the numbers in them, and caveats about what is not shown of a model."""

from __future__ import annotations

from stakes._text import in_unit, measured, percent, prose, reads_as_zero, small_amount
from stakes.inference import Measured
from stakes.problem import Problem
from stakes.report import LEFT_OUT, Caveat


def rounded(value: float, like: Measured) -> str:
    """A number with the decimals that an interval supports, its own or that of a related number.

    A number that another interval would round to zero is written as a small amount.

    >>> wide = Measured(0.15743, 0.1418, 0.1728)
    >>> rounded(0.15743, wide), rounded(0.25, wide), rounded(0.0004, wide), rounded(0.0, wide)
    ('0.157', '0.250', '0.0004', '0')
    >>> rounded(0.00004, wide)
    'less than 0.0001'
    """
    text = measured(value, like.low, like.high)[0]
    hidden = reads_as_zero(text) and value != like.value
    return small_amount(value, like.value) if hidden else text


def money(value: float, unit: str | None, like: Measured | None = None) -> str:
    """An amount with its unit, rounded to the decimals that an interval supports, if there is one.

    >>> money(3.25, "EUR"), money(2.6817, "EUR", Measured(2.6817, 2.296, 3.112))
    ('3.25 EUR', '2.68 EUR')
    """
    return in_unit(prose(value) if like is None else rounded(value, like), unit)


def span(interval: Measured, level: float) -> str:
    """The bounds of an interval, with the decimals of its estimate.

    >>> span(Measured(0.15743, 0.1418, 0.1728), 0.95)
    '95 % interval 0.142 to 0.173'
    """
    _, low, high = measured(interval.value, interval.low, interval.high)
    return f"{percent(level)} interval {low} to {high}"


def left_out(model: str, text: str) -> Caveat:
    """The caveat that something about a model is not shown.

    Parameters
    ----------
    model : the name of the model
    text : what is not shown, and why

    Returns
    -------
    the caveat

    Examples
    --------
    >>> left_out("forest", "it was not recalibrated.").text
    'forest: it was not recalibrated.'
    """
    return Caveat(LEFT_OUT, f"{model}: {text}")


def no_move(model: str) -> Caveat:
    """The caveat about posteriors that are certain of a class which the prior excludes.

    Parameters
    ----------
    model : the name of the model

    Returns
    -------
    the caveat

    Examples
    --------
    >>> no_move("forest").kind
    'left out'
    """
    return left_out(
        model,
        "posteriors are sure of a class that the prior rules out, so that they cannot be moved to "
        "the prior; they are shown as they come.",
    )


def no_decision(model: str, problem: Problem) -> Caveat:
    """The caveat about raw scores where a single threshold does not make a decision.

    Parameters
    ----------
    model : the name of the model
    problem : what is at stake

    Returns
    -------
    the caveat

    Examples
    --------
    >>> from stakes import Problem
    >>> no_decision("forest", Problem.zero_one(3)).kind
    'left out'
    """
    return left_out(
        model,
        f"raw scores alone allow no decision among {problem.n_decisions}, so it has no cost here. "
        f"Recalibrate them, say by isotonic regression.",
    )
