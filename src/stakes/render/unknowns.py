"""The section on uncertain costs and priors."""

from __future__ import annotations

from math import isnan

from stakes import _text
from stakes.render.layout import NAME, Section, Table, filled, middle
from stakes.report import Report, Uncertainty

UNKNOWN = "Uncertain costs"
_ALONE = (
    "What it would be worth per case to find out each alone, the others being at their means: "
    "before one of today's rules is chosen{remade}. By the costs on these cases."
)
_REMADE = ", and with rules made again once it is known"


def unknown_section(report: Report, uncertainty: Uncertainty) -> Section:
    """How likely the verdict is to hold, and what better knowledge would be worth."""
    level = _text.percent(report.assumptions.level)
    remade = uncertainty.evpi_remade is not None
    header = ("unknown", "mean", f"{level} of it", "worth knowing", *["rules remade"] * remade)
    rows = tuple(
        (
            middle(part.what, NAME + 10),
            "–" if isnan(part.mean) else _text.number(part.mean),
            "–" if isnan(part.low) else f"{_text.number(part.low)} to {_text.number(part.high)}",
            _text.number(part.evppi, 3),
            *([] if part.evppi_remade is None else [_text.number(part.evppi_remade, 3)]),
        )
        for part in uncertainty.parts
    )
    alone = _ALONE.format(remade=_REMADE * remade)
    return Section(UNKNOWN, (*uncertainty.sentences, alone), filled(Table(header, rows)))
