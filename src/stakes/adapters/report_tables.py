"""The tables of a report as columns: for each column its type and a list of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from stakes.inference import Measured
from stakes.report import Report, System
from stakes.tally import ScoreTable

Column = tuple[type, list[Any]]  # str, float or bool; missing values are None


def table_columns(report: Report, table: str) -> dict[str, Column]:
    """Type and values of every column of a table, whose name is one of `TABLES`."""
    header, rows = TABLES[table]
    values = list(rows(report))
    return {
        name: (kind, [_plain(row.get(name), kind) for row in values])
        for name, kind in header(report).items()
    }


def _plain(value: Any, kind: type) -> Any:
    if value is None or value != value:  # nan
        return None
    return kind(value)


def _interval(name: str, value: Measured | None) -> dict[str, Any]:
    if value is None:
        return {}
    return {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}


def _ends(*names: str) -> dict[str, type]:
    return {f"{name}{end}": float for name in names for end in ("", "_low", "_high")}


# Rows of each table ------------------------------------------------------------------------------

Rows = Iterator[Mapping[str, Any]]


_MORE = ("total", "difference")  # columns that need a volume or a baseline


def _of(system: System, name: str) -> dict[str, Any]:
    return _interval(name, getattr(system, name))


def _system_header(report: Report) -> dict[str, type]:
    header = {"system": str, "model": str, "rule": str, "threshold": float, "candidate": bool}
    header |= {**_ends("cost", "normalized"), "probability_cheapest": float}
    first = report.systems[0]
    return header | _ends(*(name for name in _MORE if getattr(first, name) is not None))


def _systems(report: Report) -> Rows:
    for system in report.systems:
        yield {
            "system": system.name,
            "model": system.model,
            "rule": system.rule,
            "threshold": system.threshold,
            "candidate": system.candidate,
            "probability_cheapest": system.probability_cheapest,
            **_interval("cost", system.cost),
            **_interval("normalized", system.normalized),
            **{end: value for name in _MORE for end, value in _of(system, name).items()},
        }


def _counts(report: Report) -> Rows:
    for system in report.systems:
        for label, row in zip(report.problem.classes, system.counts.values.tolist(), strict=True):
            for decision, count in zip(report.problem.decisions, row, strict=True):
                yield {"system": system.name, "class": label, "decision": decision, "count": count}


def _models(report: Report) -> Rows:
    for model in report.models:
        yield {**vars(model), **_interval("auc", model.auc)}


def _losses(report: Report) -> Rows:
    for model in report.models:
        for method, loss in model.expected_losses:
            yield {"model": model.model, "method": method, "loss": loss}


def _scores(report: Report) -> Rows:
    return _points((model.model, model.table) for model in report.models)


def _recalibrated(report: Report) -> Rows:
    return _points((model.model, model.recalibrated) for model in report.models)


def _points(tables: Iterable[tuple[str, ScoreTable | None]]) -> Rows:
    for model, table in tables:
        if table is not None:
            points = zip(table.scores.tolist(), table.weights.tolist(), strict=True)
            for score, (negative, positive) in points:
                yield {
                    "model": model,
                    "score": score,
                    "negatives": negative,
                    "positives": positive,
                }


def _class_bins(report: Report) -> Rows:
    for model in report.models:
        if model.class_bins is not None:
            size = model.class_bins.shape[1]
            for label, bins in zip(report.problem.classes, model.class_bins.tolist(), strict=True):
                for place, (cases, of_class, total) in enumerate(bins):
                    yield {
                        "model": model.model,
                        "class": label,
                        "low": place / size,
                        "high": (place + 1) / size,
                        "cases": cases,
                        "of_class": of_class,
                        "mean": total / cases if cases else None,
                    }


def _flips(report: Report) -> Rows:
    for flip in report.flips_under_limits:
        names = {"below": ", ".join(flip.below), "above": ", ".join(flip.above)}
        yield {**vars(flip), **names}


def _verdict(report: Report) -> Rows:
    verdict = report.verdict
    for name in (
        *("cost", "normalized", "saving_over_naive", "saving_over_runner_up"),
        *("total_cost", "total_saving"),
    ):
        if (interval := getattr(verdict, name)) is not None:
            yield {"quantity": name, "system": verdict.cheapest, **_interval("value", interval)}


def _slices(report: Report) -> Rows:
    for part in report.slices:
        for system_cost in part.costs:
            yield {
                "by": part.by,
                "group": part.group,
                "n_cases": part.n_cases,
                "system": system_cost.system,
                "cheapest": system_cost.system == part.cheapest,
                "note": part.note,
                **_interval("cost", system_cost.cost),
            }


def _picks(report: Report) -> Rows:
    for pick in report.picks:
        yield {**vars(pick), **_interval("costs_more", pick.costs_more)}


def _metrics(report: Report) -> Rows:
    disagreement = report.disagreement
    if disagreement is not None:
        for metric, values in zip(disagreement.metrics, disagreement.values.tolist(), strict=True):
            for model, value in zip(disagreement.models, values, strict=True):
                yield {"metric": metric, "model": model, "value": value}


def _regions(report: Report) -> Rows:
    for regions in report.regions:
        for part in regions.parts:
            names = ", ".join(map(str, part.cheapest))  # several when they tie
            yield {"axis": regions.axis, "low": part.low, "high": part.high, "cheapest": names}


def _limits(report: Report) -> Rows:
    for system in report.systems:
        for check in system.limits:
            yield {**vars(check), "system": system.name, "stands": check.outcome}


def _capacity(report: Report) -> Rows:
    for system in report.systems:
        for check in system.limits:
            for share, cost, price in check.capacity:
                yield {"system": system.name, "capacity": share, "cost": cost, "price": price}


def _coverage(report: Report) -> Rows:
    for share, cost, price in report.coverage:
        yield {"system": report.best.name, "coverage": share, "cost": cost, "break_even": price}


def _assumptions(report: Report) -> Rows:
    for name, value in vars(report.assumptions).items():
        if value is not None and value != ():
            whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
            yield {"assumption": name, "value": int(value) if whole else value}


def _fields(values: Callable[[Report], Iterable[Any]]) -> Callable[[Report], Rows]:
    return lambda report: (vars(value) for value in values(report))


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
    "recalibrated": (
        _always(model=str, score=float, negatives=float, positives=float),
        _recalibrated,
    ),
    "class_bins": (
        _always(
            **{"model": str, "class": str},
            **dict.fromkeys(("low", "high", "cases", "of_class", "mean"), float),
        ),
        _class_bins,
    ),
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
    "flips": (
        _always(what=str, value=float, low=float, high=float, below=str, above=str),
        _flips,
    ),
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
