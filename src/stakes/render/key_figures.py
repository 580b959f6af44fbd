"""The key figures beside the verdict of a page, and how clear the verdict is."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import NamedTuple

from stakes import _text
from stakes.inference import Measured
from stakes.render.rounding import bounds_text, ranked, triple
from stakes.report import Report


class KeyFigure(NamedTuple):
    """A number with its name above and a note below."""

    name: str
    text: str
    note: str


def clarity(report: Report) -> str:
    """How clear the choice of the model is, that of its rule, and what it saves; may be empty."""
    verdict = report.verdict
    if verdict.kind == "none":
        return "deploy none" if verdict.keep is None else f"keep {verdict.keep}"
    if verdict.doubt is not None:
        return f"try: {verdict.doubt}"
    if verdict.told_apart is None:
        return ""
    several = len(report.models) > 1
    if several and not verdict.told_apart:
        return "a close call"
    clear = "a clear model, " if several else ""
    return "a clear call" if len(verdict.contenders) == 1 else f"{clear}its rule is close"


def key_figures(report: Report) -> Iterator[KeyFigure]:
    """Cost, saving and contenders at the stakes of the report, as the page writes them."""
    verdict, n_rivals = report.verdict, len(ranked(report))
    if verdict.keep is not None and report.baseline is not None:
        cost = _in_unit(f"cost of {verdict.keep}", report)
        yield KeyFigure(cost, *_written(report.baseline.cost, report))
        gap = verdict.difference
        if gap is not None and report.best.name != verdict.keep:
            saved = Measured(-gap.value, -gap.high, -gap.low)
            name = _in_unit(f"{report.best.name} saves", report)
            yield KeyFigure(name, *_written(saved, report))
        return
    if verdict.kind == "none":
        if isfinite(verdict.unaided_cost):
            cost = _text.number(verdict.unaided_cost)
            yield KeyFigure(_in_unit(f"cost of {verdict.unaided}", report), cost, "")
        name = _in_unit("cost per case of the best model", report)
        yield KeyFigure(name, *_written(verdict.cost, report))
        return
    yield KeyFigure(_in_unit("cost per case", report), *_written(verdict.cost, report))
    if verdict.unaided is not None:
        yield _saved(report)
    if n_rivals > 1:
        note = "systems that the data cannot tell from the cheapest"
        contenders = f"{len(verdict.contenders)} of {n_rivals}"
        yield KeyFigure("may be the cheapest", contenders, note)
    if verdict.total_saving is not None and verdict.unaided is not None:
        period = report.assumptions.period
        name = f"saved {f'per {period}' if period else 'in all'}"
        yield KeyFigure(_in_unit(name, report), *_written(verdict.total_saving, report))


def _in_unit(name: str, report: Report) -> str:
    return _text.in_unit(name, report.problem.unit, ", ")


def _written(interval: Measured, report: Report) -> tuple[str, str]:
    """A number as its interval supports it, and the interval."""
    text = _text.measured(*triple(interval))
    bounds = bounds_text(triple(interval), text, missing="") if isfinite(interval.value) else ""
    return text[0], f"{_text.percent(report.assumptions.level)}: {bounds}" if bounds else ""


def _saved(report: Report) -> KeyFigure:
    """What the system of the verdict saves, as a share of the cost without a model if it is one."""
    saving, without_model = report.verdict.saving_over_naive, report.verdict.unaided_cost
    text, note = _written(saving, report)
    name = f"saved against {report.verdict.unaided}"
    if 0 < saving.value <= without_model:
        amount = " ".join(filter(None, [text, report.problem.unit, "per case"]))
        text = _text.whole_percent(saving.value / without_model)
        return KeyFigure(name, text, "\n".join(filter(None, [amount, note])))
    return KeyFigure(_in_unit(name, report), text, note)
