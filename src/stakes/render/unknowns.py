"""What costs and priors that are not quite known do to the verdict, as a section."""

from __future__ import annotations

from math import isnan

from stakes import _text
from stakes.render.layout import NAME, Section, Table, filled, middle
from stakes.report import Report, Uncertainty

UNKNOWN = "Costs not quite known"
_ALONE = (
    "What it would be worth per case to find out each alone, the others being at their means: "
    "before one of today's rules is chosen{remade}. By the costs on these cases."
)
_REMADE = ", and with rules made again once it is known"


def unknown_section(report: Report, found: Uncertainty) -> Section:
    """Over how much of the unknown the verdict holds, and what is worth finding out."""
    level = _text.percent(report.assumptions.level)
    remade = found.evpi_remade is not None
    header = ("unknown", "mean", f"{level} of it", "worth knowing", *["rules remade"] * remade)
    rows = tuple(
        (
            middle(one.what, NAME + 10),
            "–" if isnan(one.mean) else _text.number(one.mean),
            "–" if isnan(one.low) else f"{_text.number(one.low)} to {_text.number(one.high)}",
            _text.number(one.evppi, 3),
            *([] if one.evppi_remade is None else [_text.number(one.evppi_remade, 3)]),
        )
        for one in found.parts
    )
    alone = _ALONE.format(remade=_REMADE * remade)
    return Section(UNKNOWN, (*found.sentences, alone), filled(Table(header, rows)))
