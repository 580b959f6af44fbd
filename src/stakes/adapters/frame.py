"""Evaluation of frames, and tables of reports as frames, in the user's own library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from stakes import _check
from stakes.adapters.columns import Columns
from stakes.calibration import Calibrator, Select
from stakes.errors import InputError, MissingExtraError, extra
from stakes.evaluation import LIBRARIES
from stakes.inference import Measured
from stakes.problem import Problem
from stakes.report import Report
from stakes.tally import ScoreTable

# The tables of a report as columns: for each column its type and a list of plain values ----------

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


# Evaluation of frames, and tables of reports as frames, in the user's own library ----------------

_SELECT = Select()


def evaluate_frame(
    frame: Any,
    problem: Problem,
    *,
    y_true: str,
    models: Mapping[str, Any],
    weights: str | None = None,
    copies: str | None = None,
    by: str | Sequence[str] | None = None,
    clusters: str | None = None,
    memory_limit: str | int = "2GiB",
    posterior_prior: object = None,
    running_costs: Mapping[str, float] | None = None,
    volume: float | None = None,
    period: str | None = None,
    calibrator: Calibrator | None = _SELECT,
    level: float = 0.95,
    replicates: int = 500,
    seed: int = 0,
    baseline: str | Report | None = None,
    margin: float | str | None = None,
    uncertain: object = None,
    engine: str | None = None,
    key: str | None = None,
) -> Report:
    """`stakes.evaluate` for columns of a frame or of files, named by text.

    Parameters
    ----------
    frame : a frame of pandas, Polars (eager or lazy), PyArrow, Dask or Spark, a data set of
        PyArrow, a DuckDB relation, or the path of a CSV, Parquet, JSON lines or Arrow file, a glob,
        or a list of paths
    problem : what is at stake
    y_true : the column of the true classes
    models : a mapping from the name of a model to its columns
        The name of a column, or `Posteriors`, `Decisions` or `Scores` of names. Numbers of a bare
        column are P(second class), labels are decisions; several columns are the posteriors of all
        classes in their order.
    weights, copies : the columns of the sampling weights, or of how often each row occurred, as in
        `stakes.evaluate`
    by, clusters : the columns of groups to be shown one by one (one name or several), and of what
        was sampled together
    memory_limit : the most that the needed columns of files and lazy frames may take as arrays
        Beyond it, the engine tallies the rows, and the report says what was therefore left out.
        Working on arrays takes up to ten times as much. Labels of files, and beyond the limit
        those of lazy frames, are compared as text.
    posterior_prior, running_costs, volume, period, calibrator, level, replicates, seed : as in
        `stakes.evaluate`
    baseline, margin, uncertain : as in `stakes.evaluate`
        Columns that costs depend on are those of the frame.
    engine : what tallies the rows; ``report.assumptions.engine`` says what did
        "numpy": the rows become arrays, however much memory that takes. The library of the frame
        ("pandas", "polars", "pyarrow", "duckdb", "dask" or "spark"): it tallies the rows, however
        few they are. Frames in memory may be handed to "duckdb", and files are read by "duckdb" or
        "spark". None: arrays where the columns fit the memory limit, else the engine that holds
        the rows.
    key : the column of whole numbers from which folds are made, the same in every engine and in
        memory. Rows with the same key stay in the same fold. Where there are clusters, it must be
        their column. Beyond the memory limit, recalibration and thresholds that are tuned out of
        fold need a key.

    Returns
    -------
    Report
        What the decisions cost, which system to deploy, and how certain that is.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stakes import Decisions, Problem, evaluate_frame
    >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
    >>> frame = pa.table({"y": [0, 0, 0, 1] * 25, "p": [0.02, 0.05, 0.3, 0.6] * 25})
    >>> frame = frame.append_column("old rule", pa.array([0, 1, 1, 1] * 25))
    >>> models = {"new": "p", "old": Decisions("old rule")}
    >>> report = evaluate_frame(frame, problem, y_true="y", models=models)
    >>> report.system("new (as is)").cost.value, report.system("old").cost.value
    (0.25, 0.5)
    """
    columns = Columns.read_names(y_true, models, weights, by, clusters, key, copies)
    return _report_on(
        frame,
        columns,
        problem,
        memory_limit=memory_limit,
        engine=engine,
        posterior_prior=posterior_prior,
        calibrator=calibrator,
        running_costs=running_costs,
        volume=volume,
        period=period,
        level=level,
        replicates=replicates,
        seed=seed,
        baseline=baseline,
        margin=margin,
        uncertain=uncertain,
    )


def _report_on(frame: Any, columns: Columns, problem: Problem, **options: Any) -> Report:
    from stakes.adapters.report_on import report_on

    return report_on(frame, columns, problem, **options)


def report_frame(report: Report, table: str, library: ModuleType | str | None = None) -> Any:
    """One of the tables of a report, in the order of the report.

    Parameters
    ----------
    report : the report
    table : its name, one of `report_tables.TABLES`
    library : pandas, polars or pyarrow, as the module or by name; None: that of the frames or
        series that were evaluated, or else the first of the three that is installed

    Returns
    -------
    frame
        A frame of that library.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> problem = Problem.zero_one(2, unit="errors")
    >>> report = evaluate(y, {"new": p}, problem, calibrator=None)
    >>> report_frame(report, "systems", "pyarrow").column("cost").to_pylist()
    [0.0, 0.0]
    >>> report_frame(report, "counts", "pyarrow").column("count").to_pylist()[:4]
    [75.0, 0.0, 0.0, 25.0]
    """
    _check.require("table", table, str)
    if table not in TABLES:
        near = get_close_matches(str(table), TABLES, n=1)
        remedy = f"Did you mean {near[0]!r}?" if near else "Name a library with library=."
        raise InputError(
            f"table must be one of {', '.join(TABLES)}; got {_check.described(table)}. {remedy}"
        )
    return _native(table_columns(report, table), library, report.assumptions.frame_library)


def frame_of(
    columns: Mapping[str, Any], library: ModuleType | str | None, usual: str | None
) -> Any:
    """Columns of text, booleans or numbers as a frame; nan becomes a missing value.

    Parameters
    ----------
    columns : a mapping from names to values
    library : pandas, polars or pyarrow, as the module or by name, or None
    usual : the name of the library that is used where `library` is None

    Returns
    -------
    frame
        A frame of that library.

    Examples
    --------
    >>> frame_of({"model": ["a", "b"], "cost": [0.5, float("nan")]}, "pyarrow", None).to_pydict()
    {'model': ['a', 'b'], 'cost': [0.5, None]}
    """
    typed = {name: _typed(list(values)) for name, values in columns.items()}
    return _native(typed, library, usual)


def _typed(values: list[Any]) -> tuple[type, list[Any]]:
    kinds = [kind for kind in (str, bool) if all(isinstance(value, kind) for value in values)]
    if kinds:
        return kinds[0], values
    numbers = [float(value) for value in values]
    return float, [None if number != number else number for number in numbers]  # nan is missing


def _native(
    columns: Mapping[str, tuple[type, list[Any]]],
    library: ModuleType | str | None,
    usual: str | None,
) -> Any:
    with extra("frames", "a frame of the report"):
        import narwhals.stable.v2 as nw
    types: dict[type, Any] = {str: nw.String, bool: nw.Boolean, float: nw.Float64}
    schema = {name: types[kind] for name, (kind, _) in columns.items()}
    data = {name: values for name, (_, values) in columns.items()}
    backend: Any = _named(library, usual)
    return nw.from_dict(data, schema=schema, backend=backend).to_native()


def _named(library: ModuleType | str | None, usual: str | None) -> str:
    """The name of an installed library of frames."""
    if library is None:
        tried = (usual, *LIBRARIES)
        installed = next((name for name in tried if name and find_spec(name) is not None), None)
        if installed is None:
            raise MissingExtraError(
                f"a frame of the report needs one of {', '.join(LIBRARIES)}; none of them is "
                f"installed. Install one with: pip install 'stakes[frames]'."
            )
        return installed
    name = library.__name__ if isinstance(library, ModuleType) else library
    if not isinstance(name, str) or name not in LIBRARIES:
        raise InputError(
            f"library must be one of {', '.join(LIBRARIES)}, as module or by name; got "
            f"{' '.join(repr(name).split())[:60]}. "
            f"Leave it out for that of the frames that were evaluated."
        )
    if find_spec(name) is None:
        raise MissingExtraError(
            f"library must be installed; {name} is not. Install it with: pip install {name}."
        )
    return name
