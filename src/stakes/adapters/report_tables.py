"""The tables of a report as columns: for each column its type and a list of plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from stakes.inference import Measured
from stakes.report import Report
from stakes.tally import ScoreTable

Column = tuple[type, list[Any]]  # str, float or bool; missing values are None
TableRows = Iterable[Mapping[str, Any]]
TABLES: dict[str, tuple[dict[str, type], Callable[[Report], TableRows]]] = {}

_MORE = ("total", "difference")  # columns that need a volume or a baseline


def table_columns(report: Report, table: str) -> dict[str, Column]:
    """Type and values of every column of a table, whose name is one of `TABLES`."""
    header, rows = TABLES[table]
    values = list(rows(report))
    return {
        name: (kind, [_plain(row.get(name), kind) for row in values])
        for name, kind in header.items()
        if not name.startswith(_MORE) or any(name in row for row in values)
    }


def _plain(value: Any, kind: type) -> Any:
    if value is None or value != value:  # nan
        return None
    return kind(value)


def _table(name: str, **header: type) -> Callable[[Callable[[Report], TableRows]], None]:
    """Make a function that yields rows the table of this name; they may hold other entries, too."""

    def register(rows: Callable[[Report], TableRows]) -> None:
        TABLES[name] = (header, rows)

    return register


def _floats(*names: str) -> dict[str, type]:
    return dict.fromkeys(names, float)


def _ends(*names: str) -> dict[str, type]:
    return _floats(*(f"{name}{end}" for name in names for end in ("", "_low", "_high")))


def _intervals(**values: Measured | None) -> dict[str, Any]:
    known = [(name, value) for name, value in values.items() if value is not None]
    lows = {f"{name}_low": value.low for name, value in known}
    highs = {f"{name}_high": value.high for name, value in known}
    return {**{name: value.value for name, value in known}, **lows, **highs}


# Rows of each table ------------------------------------------------------------------------------


@_table(
    "systems",
    **{
        "system": str,
        "model": str,
        "rule": str,
        "threshold": float,
        "scale": str,
        "candidate": bool,
    },
    **_ends("cost", "normalized"),
    **_floats("probability_cheapest"),
    **_ends(*_MORE),
)
def _systems(report: Report) -> TableRows:
    for system in report.systems:
        names = ("cost", "normalized", *_MORE)
        intervals = _intervals(**{name: getattr(system, name) for name in names})
        plain = {name: part for name, part in vars(system).items() if name not in names}
        yield {**plain, "system": system.name, **intervals}


@_table("counts", **{"system": str, "class": str, "decision": str, "count": float})
def _counts(report: Report) -> TableRows:
    for system in report.systems:
        for label, row in zip(report.problem.classes, system.counts.values.tolist(), strict=True):
            for decision, count in zip(report.problem.decisions, row, strict=True):
                yield {"system": system.name, "class": label, "decision": decision, "count": count}


@_table("verdict", quantity=str, system=str, **_ends("value"), kind=str)
def _verdict(report: Report) -> TableRows:
    quantities = ("cost", "normalized", "saving_over_naive", "share", "saving_over_runner_up")
    others = ("difference", "beyond_margin", "total_cost", "total_saving")
    for name in (*quantities, *others):
        if (interval := getattr(report.verdict, name)) is not None:
            yield {
                "quantity": name,
                "system": report.verdict.cheapest,
                **_intervals(value=interval),
                "kind": report.verdict.kind,
            }


@_table(
    "models",
    **{"model": str, "kind": str, **_ends("auc"), "backwards": str},
    **_floats("h", "normalized_log_loss", "normalized_brier"),
    **_floats("calibration_cost", "calibration_share"),
    **{"advice": str, "n_scores": float},
)
def _models(report: Report) -> TableRows:
    for model in report.models:
        yield {**vars(model), **_intervals(auc=model.auc)}


@_table("losses", model=str, method=str, loss=float)
def _losses(report: Report) -> TableRows:
    for model in report.models:
        for method, loss in model.expected_losses:
            yield {"model": model.model, "method": method, "loss": loss}


@_table("scores", model=str, **_floats("score", "negatives", "positives"))
def _scores(report: Report) -> TableRows:
    return _points((model.model, model.table) for model in report.models)


@_table("recalibrated", model=str, **_floats("score", "negatives", "positives"))
def _recalibrated(report: Report) -> TableRows:
    return _points((model.model, model.recalibrated) for model in report.models)


def _points(tables: Iterable[tuple[str, ScoreTable | None]]) -> Iterator[Mapping[str, Any]]:
    for model, table in tables:
        if table is not None:
            for score, (first, second) in zip(table.scores, table.weights, strict=True):
                yield {"model": model, "score": score, "negatives": first, "positives": second}


_OF_BINS = {"model": str, "class": str, **_floats("low", "high", "cases", "of_class", "mean")}


@_table("class_bins", **_OF_BINS)
def _class_bins(report: Report) -> TableRows:
    return _bin_rows(report, "class_bins")


@_table("recalibrated_bins", **_OF_BINS)
def _recalibrated_bins(report: Report) -> TableRows:
    return _bin_rows(report, "recalibrated_bins")


def _bin_rows(report: Report, field: str) -> Iterator[Mapping[str, Any]]:
    for model in report.models:
        all_bins = getattr(model, field)
        if all_bins is None:
            continue
        for label, bins in zip(report.problem.classes, all_bins, strict=True):
            for place, (cases, of_class, total) in enumerate(bins.tolist()):
                yield {
                    "model": model.model,
                    "class": label,
                    "low": place / len(bins),
                    "high": (place + 1) / len(bins),
                    "cases": cases,
                    "of_class": of_class,
                    "mean": total / cases if cases else None,
                }


@_table(
    "slices",
    **{"by": str, "group": str, "n_cases": float, "system": str},
    **{**_ends("cost"), "cheapest": bool, "note": str},
)
def _slices(report: Report) -> TableRows:
    for part in report.slices:
        for each in part.costs:
            is_best = {"system": each.system, "cheapest": each.system == part.cheapest}
            yield {**vars(part), **is_best, **_intervals(cost=each.cost)}


@_table("picks", metric=str, model=str, **_ends("costs_more"), clear=bool)
def _picks(report: Report) -> TableRows:
    for pick in report.picks:
        yield {**vars(pick), **_intervals(costs_more=pick.costs_more)}


@_table("metrics", metric=str, model=str, value=float)
def _metrics(report: Report) -> TableRows:
    disagreement = report.disagreement
    if disagreement is not None:
        for metric, values in zip(disagreement.metrics, disagreement.values.tolist(), strict=True):
            for model, value in zip(disagreement.models, values, strict=True):
                yield {"metric": metric, "model": model, "value": value}


@_table(
    "margins",
    **{"what": str, **_floats("value", "low", "high"), "low_rival": str, "high_rival": str},
    **_floats("clear_low", "clear_high"),
)
def _margins(report: Report) -> TableRows:
    return map(vars, report.margins)


@_table("regions", axis=str, low=float, high=float, cheapest=str)
def _regions(report: Report) -> TableRows:
    for regions in report.regions:
        for part in regions.parts:
            names = ", ".join(map(str, part.cheapest))  # several when they tie
            yield {"axis": regions.axis, "low": part.low, "high": part.high, "cheapest": names}


@_table("flips", what=str, **_floats("value", "low", "high"), below=str, above=str)
def _flips(report: Report) -> TableRows:
    for flip in report.flips_under_limits:
        yield {**vars(flip), "below": ", ".join(flip.below), "above": ", ".join(flip.above)}


@_table("limits", system=str, limit=str, **_floats("value", "low", "high"), stands=str, price=float)
def _limits(report: Report) -> TableRows:
    for system in report.systems:
        for check in system.limits:
            yield {**vars(check), "system": system.name, "stands": check.outcome}


@_table("capacity", system=str, **_floats("capacity", "cost", "price"))
def _capacity(report: Report) -> TableRows:
    for system in report.systems:
        for check in system.limits:
            for share, cost, price in check.capacity:
                yield {"system": system.name, "capacity": share, "cost": cost, "price": price}


@_table("coverage", system=str, **_floats("coverage", "cost", "break_even"))
def _coverage(report: Report) -> TableRows:
    for share, cost, price in report.coverage:
        yield {"system": report.best.name, "coverage": share, "cost": cost, "break_even": price}


@_table(
    "unknowns",
    what=str,
    **_floats("mean", "low", "high", "evppi"),
    **_floats("evppi_remade", "evppi_remade_low", "evppi_remade_high"),
)
def _unknowns(report: Report) -> TableRows:
    return () if report.uncertainty is None else map(vars, report.uncertainty.parts)


@_table("caveats", kind=str, text=str)
def _caveats(report: Report) -> TableRows:
    return map(vars, report.caveats)


@_table("assumptions", assumption=str, value=str)
def _assumptions(report: Report) -> TableRows:
    for name, value in vars(report.assumptions).items():
        if value is not None and value != ():
            whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
            yield {"assumption": name, "value": int(value) if whole else value}
