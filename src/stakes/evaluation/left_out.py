"""What a report does not show of a model, in sentences."""

from __future__ import annotations

from stakes.problem import Problem
from stakes.report import LEFT_OUT, Caveat

__all__ = ["left_out", "no_decision", "no_move"]


def left_out(model: str, text: str) -> Caveat:
    """The caveat about one model."""
    return Caveat(LEFT_OUT, f"{model}: {text}")


def no_move(model: str) -> Caveat:
    """Posteriors that are certain of what the prior excludes."""
    return left_out(
        model,
        "posteriors are sure of a class that the prior rules out, so that they cannot be moved to "
        "the prior; they are shown as they come.",
    )


def no_decision(model: str, problem: Problem) -> Caveat:
    """Raw scores, where one threshold decides nothing."""
    return left_out(
        model,
        f"raw scores alone allow no decision among {problem.n_decisions}, so it has no cost here. "
        f"Recalibrate them, say by isotonic regression.",
    )
