"""Output of the commands: messages, progress bars, the report and complete files."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Literal, TextIO

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table as RichTable
from rich.text import Text

from stakes._files import check_target, write_whole
from stakes._text import one_line, printable
from stakes.adapters.engine_work import Advance, Watch
from stakes.errors import InputError
from stakes.render import Section, plain_spaces, sections, stakes_sections, wrapped
from stakes.report import Report
from stakes.rule import Rule

_Writer = Callable[[Report, Path | None], str]
_WRITERS: Mapping[str, _Writer] = {
    "html": Report.to_html,
    "json": Report.to_json,
    "markdown": Report.to_markdown,
}

PATIENCE = 2.0  # seconds after which work is long enough for a progress bar


def put(text: str, *, err: bool = False) -> None:
    """Print a text, with control sequences made harmless for the terminal."""
    try:
        click.echo(printable(text), err=err)
    except OSError:
        if not err:
            raise
        silence(sys.stderr)  # it is full or closed, and there is no other way to report


def put_wrapped(text: str) -> None:
    """Print a text in lines as long as those of a report."""
    console = Console()
    put(wrapped(text, console.width) if console.is_terminal else wrapped(text))


def silence(stream: TextIO) -> None:
    """Send what is still buffered for a closed stream to the null device.

    Python would otherwise try to flush it when the process ends, and fail again.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def notify(text: str) -> None:
    """Print a message on standard error, so that it does not mix with the result."""
    put(f"stakes: {' '.join(text.split())}", err=True)


class Terminal(Watch):
    """Prints messages and progress bars on standard error."""

    def says(self, text: str) -> None:
        """Print a sentence about a choice that the user did not make.

        Parameters
        ----------
        text : str
            The sentence.
        """
        notify(text)

    @contextmanager
    def working(self, what: str, n_rows: int, *, steps: bool = True) -> Iterator[Advance]:
        """A progress bar, shown on a terminal once the work has taken two seconds.

        Parameters
        ----------
        what : str
            What is being done, shown beside the bar.
        n_rows : int
            How many rows there are in all.
        steps : bool
            Whether progress will be reported in rows; otherwise the bar only shows activity.

        Yields
        ------
        callable
            Advances the bar by a number of rows, and says which pass over them comes next.
        """
        console = Console(file=sys.stderr)
        if not console.is_terminal:
            yield lambda rows, then="": None
            return
        marks = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        progress = Progress(*marks, console=console, transient=True)
        what = printable(what)
        task = progress.add_task(what, total=n_rows if steps else None)

        def advance(rows: int, then: str = "", /) -> None:
            described = f"{what}: {printable(then)}" if then else None
            # What comes next is drawn at once, even if it ends before the bar would be drawn anew.
            progress.update(task, advance=rows, description=described, refresh=bool(then))

        # Short work ends before the timer, and then no bar appears at all.
        patience = Timer(PATIENCE, progress.start)
        patience.daemon = True
        patience.start()
        try:
            yield advance
        finally:
            patience.cancel()
            patience.join()
            progress.stop()


def check_targets(
    targets: Mapping[str, str | None], beside: str | None, inputs: Sequence[str]
) -> dict[str, str]:
    """The output files by format, after a check that each can be written and none is an input.

    `beside` is one more output file that is checked with them.
    """
    chosen = {kind: path for kind, path in targets.items() if path is not None}
    if list(chosen.values()).count("-") > 1:
        raise InputError(
            "only one format can go to standard output; more than one has the name -. Give all "
            "others the name of a file."
        )
    files = {**{kind: path for kind, path in chosen.items() if path != "-"}, "rule-out": beside}
    # Resolved paths, so that two names of one file are noticed.
    paths: dict[Path, str] = {}
    for kind, path in files.items():
        if path is None:
            continue
        target = target_beside(path, inputs, f"--{kind}")
        if kind == "html":
            refuse_other_than_page(target)
        other = paths.setdefault(target.resolve(), kind)
        if other != kind:
            raise InputError(
                f"every format must have a file of its own; --{other} and --{kind} are both "
                f"{path}. Give one of them another name."
            )
    return chosen


def refuse_other_than_page(target: Path) -> None:
    """Refuse an existing file that is neither empty nor begins like an HTML page."""
    if not target.exists():
        return
    with target.open("rb") as file:
        start = file.read(512).removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if start and not start.startswith((b"<!doctype html", b"<html", b"<!--")):
        raise InputError(
            f"{target} must be a new file or an HTML page; something else is in it, which would be "
            f"lost. Name another file."
        )


def target_beside(path: str, inputs: Sequence[str], option: str = "--out") -> Path:
    """The path of an output file, which can be written and is not an input; inputs may be globs."""
    try:
        target = check_target(path)
    except InputError as error:
        raise error.renamed(option) if error.argument == "path" else error from None
    inputs_read = [
        file
        for pattern in inputs
        for file in (pattern, *glob.glob(pattern))
        if os.path.exists(file)
    ]
    lost = target.exists() and any(target.samefile(file) for file in inputs_read)
    if lost or ("-" in inputs and _is_standard_input(target)):
        raise InputError(f"{path} must not be an input, which would be lost. Name another file.")
    return target


def _is_standard_input(target: Path) -> bool:
    """Whether standard input reads this file."""
    try:
        return os.path.samestat(os.fstat(0), target.stat())
    except OSError:  # it is closed, or the file is new
        return False


def write_outputs(
    report: Report,
    targets: Mapping[str, str],
    *,
    brief: bool = False,
    heading: Mapping[str, str] | None = None,
    check: Callable[[Report], None] = lambda report: None,
) -> None:
    """Write the output files, and print the report unless one of them goes to standard output.

    What `check` raises is told before anything is printed.
    """
    writers: dict[str, _Writer] = {
        **_WRITERS,
        "html": lambda report, path: report.to_html(path, **(heading or {})),
        "markdown": partial(Report.to_markdown, brief=brief),
    }
    for kind, path in targets.items():
        if path != "-":
            writers[kind](report, Path(path))
            notify(f"wrote {path}")
    check(report)
    piped = [kind for kind, path in targets.items() if path == "-"]
    if piped:
        _pipe(piped[0], writers[piped[0]](report, None))
    else:
        print_report(report)


def write_rule(rule: Rule, path: str) -> None:
    """Write a rule as JSON or, where the name of the file ends in .sql, as an SQL expression."""
    if not is_sql(path):
        rule.to_json(path)
        return
    columns = () if rule.origin is None else rule.origin.columns
    expression = rule.to_sql(columns[-1] if columns else rule.model)
    doubt = "" if rule.caution is None else f"-- {one_line(rule.caution)}\n"
    write_whole(path, f"{doubt}{expression}\n")


def is_sql(path: str) -> bool:
    """Whether a file is to hold SQL."""
    return path.lower().endswith(".sql")


def _pipe(kind: str, text: str) -> None:
    """Print an output file, in an encoding that loses no letter of it."""
    if kind == "html":
        sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]  # as the page says
    click.echo(printable(text) if sys.stdout.isatty() else text)


def print_report(report: Report) -> None:
    """Print the report: as tables that fit the terminal, or as plain text where there is none."""
    show_sections((*stakes_sections(report.problem), *sections(report)), report.to_text)


def show_sections(parts: Iterable[Section], text: Callable[[], str]) -> None:
    """Print sections as tables that fit the terminal, or a plain text where there is none."""
    console = Console(highlight=False, width=shutil.get_terminal_size().columns)
    if not console.is_terminal:
        put(text())
        return
    for part in parts:
        _show_section(console, part)


def _show_section(console: Console, part: Section) -> None:
    """Print a section on a terminal: heading, sentences and table."""
    console.print()
    console.print(_harmless(part.title, "bold"))
    for sentence in part.sentences:
        console.print(_harmless(wrapped(sentence, console.width)))
    if part.table is not None:
        table = RichTable(box=None, pad_edge=False, header_style="dim")
        for place, head in enumerate(part.table.header):
            side: Literal["left", "right"] = "right" if place else "left"
            table.add_column(_harmless(head), justify=side, overflow="fold")
        for row in part.table.rows:
            table.add_row(*map(_harmless, row))
        console.print(table)


def _harmless(text: str, style: str = "") -> Text:
    """A text without emphasis, and with control characters shown as escapes."""
    return Text(printable(plain_spaces(text)), style=style)
