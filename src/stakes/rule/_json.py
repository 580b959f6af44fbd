"""Problems as plain parts of JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from stakes.problem import Limit, Problem


def plain_problem(problem: Problem) -> dict[str, Any]:
    """Labels in lists, so that they keep their types; costs row by row."""
    return {
        "costs": [list(row) for row in problem.written],
        "classes": list(problem.classes),
        "decisions": list(problem.decisions),
        "prior": None if problem.prior is None else problem.prior.tolist(),
        "unit": problem.unit,
        "answers": list(problem.answers),
        **({"limits": [vars(limit) for limit in problem.limits]} if problem.limits else {}),
    }


def problem_of(parts: Mapping[str, Any]) -> Problem:
    """The problem of these parts, checked as any other."""
    pairs = zip(parts["decisions"], parts["answers"], strict=True)
    return Problem(
        parts["costs"],
        classes=parts["classes"],
        decisions=parts["decisions"],
        prior=parts["prior"],
        unit=parts["unit"],
        answers={decision: label for decision, label in pairs if label is not None},
        limits=[Limit(**limit) for limit in parts.get("limits", [])],
    )


def plain_number(value: float | None) -> float | str | None:
    """JSON has no infinities: they are text."""
    return str(value) if value is not None and math.isinf(value) else value


def number_of(value: float | str | None) -> float | None:
    """The number of such a part."""
    return None if value is None else float(value)
