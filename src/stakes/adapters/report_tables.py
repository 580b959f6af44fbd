"""The tables of a report as columns: plain values, one list for each column, and its type."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from stakes.report import Interval, Report, System

Column = tuple[type, list[Any]]  # text, numbers or booleans; what does not exist is None


def table_columns(report: Report, table: str) -> dict[str, Column]:
    """Type and values of every column of a table, whose name is one of `TABLES`."""
    header, rows = TABLES[table]
    found = list(rows(report))
    return {
        name: (kind, [_plain(row.get(name), kind) for row in found])
        for name, kind in header(report).items()
    }


def _plain(value: Any, kind: type) -> Any:
    if value is None or value != value:
        return None
    return kind(value)


def _interval(name: str, value: Interval | None) -> dict[str, Any]:
    if value is None:
        return {}
    return {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}


def _ends(*names: str) -> dict[str, type]:
    return {f"{name}{end}": float for name in names for end in ("", "_low", "_high")}


# Rows of each table ------------------------------------------------------------------------------

Rows = Iterator[Mapping[str, Any]]


_MORE = ("total", "difference")  # of systems, where a volume or a baseline was stated


def _of(system: System, name: str) -> dict[str, Any]:
    return _interval(name, getattr(system, name))


def _system_header(report: Report) -> dict[str, type]:
    header = {"system": str, "model": str, "rule": str, "threshold": float, "candidate": bool}
    header |= {**_ends("cost", "normalized"), "probability_cheapest": float}
    first = report.systems[0]
    return header | _ends(*(name for name in _MORE if getattr(first, name) is not None))


def _systems(report: Report) -> Rows:
    for one in report.systems:
        yield {
            "system": one.name,
            "model": one.model,
            "rule": one.rule,
            "threshold": one.threshold,
            "candidate": one.candidate,
            "probability_cheapest": one.probability_cheapest,
            **_interval("cost", one.cost),
            **_interval("normalized", one.normalized),
            **{end: value for name in _MORE for end, value in _of(one, name).items()},
        }


def _counts(report: Report) -> Rows:
    for one in report.systems:
        for label, row in zip(report.problem.classes, one.counts.values.tolist(), strict=True):
            for decision, count in zip(report.problem.decisions, row, strict=True):
                yield {"system": one.name, "class": label, "decision": decision, "count": count}


def _models(report: Report) -> Rows:
    for one in report.models:
        yield {**vars(one), **_interval("auc", one.auc)}


def _losses(report: Report) -> Rows:
    for one in report.models:
        for method, loss in one.expected_losses:
            yield {"model": one.model, "method": method, "loss": loss}


def _scores(report: Report) -> Rows:
    for one in report.models:
        if one.table is not None:
            points = zip(one.table.scores.tolist(), one.table.weights.tolist(), strict=True)
            for score, (negative, positive) in points:
                yield {
                    "model": one.model,
                    "score": score,
                    "negatives": negative,
                    "positives": positive,
                }


def _verdict(report: Report) -> Rows:
    verdict = report.verdict
    for name in (
        *("cost", "normalized", "saving_over_naive", "saving_over_runner_up"),
        *("total_cost", "total_saving"),
    ):
        if (found := getattr(verdict, name)) is not None:
            yield {"quantity": name, "system": verdict.cheapest, **_interval("value", found)}


def _slices(report: Report) -> Rows:
    for one in report.slices:
        for own in one.costs:
            yield {
                "by": one.by,
                "group": one.group,
                "n_cases": one.n_cases,
                "system": own.system,
                "cheapest": own.system == one.cheapest,
                "note": one.note,
                **_interval("cost", own.cost),
            }


def _picks(report: Report) -> Rows:
    for one in report.picks:
        yield {**vars(one), **_interval("costs_more", one.costs_more)}


def _metrics(report: Report) -> Rows:
    found = report.disagreement
    if found is not None:
        for metric, values in zip(found.metrics, found.values.tolist(), strict=True):
            for model, value in zip(found.models, values, strict=True):
                yield {"metric": metric, "model": model, "value": value}


def _regions(report: Report) -> Rows:
    for regions in report.regions:
        for part in regions.parts:
            names = ", ".join(map(str, part.cheapest))  # several when they tie
            yield {"axis": regions.axis, "low": part.low, "high": part.high, "cheapest": names}


def _limits(report: Report) -> Rows:
    for one in report.systems:
        for check in one.limits:
            yield {**vars(check), "system": one.name, "stands": check.said}


def _capacity(report: Report) -> Rows:
    for one in report.systems:
        for check in one.limits:
            for share, cost, price in check.capacity:
                yield {"system": one.name, "capacity": share, "cost": cost, "price": price}


def _coverage(report: Report) -> Rows:
    for share, cost, price in report.coverage:
        yield {"system": report.best.name, "coverage": share, "cost": cost, "break_even": price}


def _assumptions(report: Report) -> Rows:
    for name, value in vars(report.assumptions).items():
        if value is not None and value != ():
            yield {"assumption": name, "value": value}


def _fields(values: Callable[[Report], Iterable[Any]]) -> Callable[[Report], Rows]:
    return lambda report: (vars(one) for one in values(report))


def _always(**header: type) -> Callable[[Report], dict[str, type]]:
    return lambda report: header


_QUALITY = ("h", "normalized_log_loss", "normalized_brier", "calibration_cost", "calibration_share")

TABLES: dict[
    str, tuple[Callable[[Report], dict[str, type]], Callable[[Report], Iterable[Mapping[str, Any]]]]
] = {
    "systems": (_system_header, _systems),
    "counts": (_always(**{"system": str, "class": str, "decision": str, "count": float}), _counts),
    "verdict": (_always(quantity=str, system=str, **_ends("value")), _verdict),
    "models": (
        _always(
            model=str,
            kind=str,
            **_ends("auc"),
            backwards=str,
            **dict.fromkeys(_QUALITY, float),
            advice=str,
            n_scores=float,
        ),
        _models,
    ),
    "losses": (_always(model=str, method=str, loss=float), _losses),
    "scores": (_always(model=str, score=float, negatives=float, positives=float), _scores),
    "slices": (
        _always(
            by=str,
            group=str,
            n_cases=float,
            system=str,
            **_ends("cost"),
            cheapest=bool,
            note=str,
        ),
        _slices,
    ),
    "picks": (_always(metric=str, model=str, **_ends("costs_more"), clear=bool), _picks),
    "metrics": (_always(metric=str, model=str, value=float), _metrics),
    "margins": (
        _always(
            what=str,
            value=float,
            low=float,
            high=float,
            low_rival=str,
            high_rival=str,
            clear_low=float,
            clear_high=float,
        ),
        _fields(lambda report: report.margins),
    ),
    "regions": (_always(axis=str, low=float, high=float, cheapest=str), _regions),
    "limits": (
        _always(system=str, limit=str, value=float, low=float, high=float, stands=str, price=float),
        _limits,
    ),
    "capacity": (_always(system=str, capacity=float, cost=float, price=float), _capacity),
    "coverage": (_always(system=str, coverage=float, cost=float, break_even=float), _coverage),
    "unknowns": (
        _always(what=str, mean=float, low=float, high=float, evppi=float, evppi_remade=float),
        _fields(lambda report: () if report.uncertainty is None else report.uncertainty.parts),
    ),
    "caveats": (_always(kind=str, text=str), _fields(lambda report: report.caveats)),
    "assumptions": (_always(assumption=str, value=str), _assumptions),
}
