"""Copies of files with new columns, written in blocks so that memory does not limit the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes._files import text_of, whole_file
from stakes.adapters.data_files import Format, unnamed, write_rows
from stakes.adapters.duck import FileSource, refuse_gaps
from stakes.adapters.report_on import count_rows
from stakes.calibration import CalibrationMap, from_json
from stakes.cli.options import in_file
from stakes.cli.output import notify
from stakes.errors import InputError

_KINDS = {
    ".csv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".jsonl": Format.JSON,
    ".ndjson": Format.JSON,
}
_PREDICTIONS = ("posteriors", "scores", "predictions")  # what functions call what is read here
# A spreadsheet runs a cell that begins with one of these as a formula (OWASP, CSV injection).
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def is_formula(cell: object) -> bool:
    """Whether a spreadsheet would run this cell as a formula."""
    return isinstance(cell, str) and cell.startswith(_FORMULA)  # the number −1 is only a number


def check_column(name: str) -> None:
    """Refuse a new column without a name, or with one that no file can hold."""
    _check.writable("--column", name)
    if not name.strip():
        raise InputError(
            "--column must be the name of the new column; it is empty. Leave it out, or write one."
        )


def load_map(path: str, classes: Labels) -> tuple[CalibrationMap, FloatArray | None]:
    """A fitted map for these classes, and the prior for which its posteriors hold, if known."""
    try:
        text = text_of("source", Path(path), "a calibration map")
        # As a path: from_json would take a text without a brace for the name of a file.
        fitted = from_json(Path(path))
        stated = json.loads(text).get("prior")
        prior = None if stated is None else _check.prior("prior", stated, fitted.classes)
    except InputError as error:
        raise in_file(path, error, "Write one with stakes calibrate fit.") from None
    if fitted.classes != classes:
        raise InputError(
            f"{path} must be a map for the classes {', '.join(map(str, classes))}; it is one for "
            f"{', '.join(map(str, fitted.classes))}. Fit it again with this problem."
        )
    return fitted, prior


def rewrite(
    source: FileSource,
    columns: tuple[str, ...],
    new_columns: Callable[[FloatArray], dict[str, pa.Array]],
    target: Path,
    *,
    beside: tuple[str, ...] = (),
) -> int:
    """Write all columns and new ones; return the number of rows.

    They are computed from predictions in `columns`, and from what is `beside` these.
    """
    kind = _KINDS.get(target.suffix.lower())
    if kind is None:
        raise InputError(
            f"{target} must end in one of {', '.join(_KINDS)}; it ends in {target.suffix!r}. "
            f"Name it otherwise."
        )
    total = count_rows(source)  # first, because a connection answers one query at a time
    if invented := unnamed(source.files):
        notify(f"{source.name} has columns without a name; they are called {', '.join(invented)}")
    # From CSV to CSV the text is kept, so that numbers are not written in another form.
    verbatim = source.files.format is kind is Format.CSV
    with whole_file(target) as part, source.watch.working(f"writing {target}", total) as advance:
        blocks = _extended(source, columns, beside, new_columns, verbatim, advance)
        write_rows(part, kind, blocks)
    return total


def _extended(
    source: FileSource,
    columns: tuple[str, ...],
    beside: tuple[str, ...],
    new_columns: Callable[[FloatArray], dict[str, pa.Array]],
    verbatim: bool,
    advance: Callable[[int], None],
) -> Iterator[pa.RecordBatch]:
    """Yield the blocks of rows with their new columns; missing numbers are refused."""
    where = f"column{'s' * (len(columns) > 1)} {', '.join(columns)} of {source.name}"
    read, before = (*columns, *beside), 0
    for batch, values in source.with_numbers(read, verbatim=verbatim):
        refuse_gaps(source.name, read, values, before)
        new = _positioned(new_columns, values, before, where)
        _refuse_present(new, source)
        arrays, names = [*batch.columns, *new.values()], [*batch.schema.names, *new]
        yield pa.RecordBatch.from_arrays(arrays, names=names)
        before += len(batch)
        advance(len(batch))


def _refuse_present(new: dict[str, pa.Array], source: FileSource) -> None:
    """Refuse new columns whose names are taken; many programs ignore case."""
    for name in new:
        # Engines and spreadsheets often ignore case in the names of columns.
        twin = next((known for known in source.types if known.lower() == name.lower()), None)
        if twin is not None:
            alone = "" if twin == name else f" {twin!r}, which differs by case alone"
            raise InputError(
                f"{source.name} must not have a column {name!r} already; it has{alone}. Name the "
                f"new one with --column."
            )


def _positioned(
    new_columns: Callable[[FloatArray], dict[str, pa.Array]],
    values: FloatArray,
    before: int,
    where: str,
) -> dict[str, pa.Array]:
    """The new columns of a block; an error says which rows of the file the block holds."""
    try:
        return new_columns(values)
    except InputError as error:
        last = before + len(values)
        named = error.renamed(where) if error.argument in _PREDICTIONS else error
        raise InputError(
            f"rows {before} to {last - 1} of the file (counted from 0): {named.complaint}",
            remedy=named.remedy,
        ) from None
