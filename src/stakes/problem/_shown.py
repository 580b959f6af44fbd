"""A problem as a table: what its text and its HTML have in common."""

from __future__ import annotations

from typing import Any

from stakes._check import FloatArray, Labels
from stakes.problem._belief import cell_text
from stakes.problem._limit import Limit


def shown_table(
    classes: Labels,
    decisions: Labels,
    costs: tuple[tuple[Any, ...], ...],
    prior: FloatArray | None,
    unit: str | None,
) -> tuple[list[object], list[list[object]], str]:
    """Header, rows and caption."""
    header: list[object] = ["", *decisions]
    pairs = zip(classes, costs, strict=True)
    rows: list[list[object]] = [[label, *map(cell_text, row)] for label, row in pairs]
    if prior is not None:
        header.append("prior")
        for row, share in zip(rows, prior, strict=True):
            row.append(f"{share:.7g}")
    in_unit = f" in {unit}" if unit else ""
    return header, rows, f"Problem: cost{in_unit} of each decision, class by class"


def listed_limits(limits: tuple[Limit, ...]) -> str:
    """The limits in one line of text; nothing where there are none."""
    return f"limits: {'; '.join(map(str, limits))}" if limits else ""
