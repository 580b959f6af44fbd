"""What a command leaves behind: text on standard output, files that are whole or not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import click
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from stakes._files import check_target
from stakes.cli.loading import said
from stakes.errors import InputError
from stakes.render.layout import plain
from stakes.render.tables import Section, sections, stakes_sections
from stakes.render.text import wrapped
from stakes.report import Report

_WRITERS: Mapping[str, Callable[[Report, Path | None], str]] = {
    "html": Report.to_html,
    "json": Report.to_json,
    "markdown": Report.to_markdown,
}


def check_targets(targets: Mapping[str, str | None]) -> dict[str, str]:
    """The files that were asked for, by format, all of which can be written."""
    asked = {kind: path for kind, path in targets.items() if path is not None}
    if list(asked.values()).count("-") > 1:
        raise InputError("only one format can go to standard output; more than one has the name -.")
    paths = [check_target(path).resolve() for path in asked.values() if path != "-"]
    if len(set(paths)) < len(paths):
        raise InputError("every format must have a file of its own; two have the same name.")
    return asked


def write(report: Report, targets: Mapping[str, str]) -> None:
    """Write the files; the report itself goes to standard output unless one of them does."""
    for kind, path in targets.items():
        if path != "-":
            _WRITERS[kind](report, Path(path))
            said(f"wrote {path}")
    piped = [kind for kind, path in targets.items() if path == "-"]
    if piped:
        click.echo(_WRITERS[piped[0]](report, None))
    else:
        show(report)


def show(report: Report) -> None:
    """The report on standard output: plain text, or tables that fit the terminal."""
    console = Console(highlight=False)
    if not console.is_terminal:
        click.echo(report.to_text())
        return
    for part in (*stakes_sections(report.problem), *sections(report)):
        _show_section(console, part)


def _show_section(console: Console, part: Section) -> None:
    console.print()
    console.print(Text(plain(part.title), style="bold"))
    for sentence in part.sentences:
        console.print(Text(wrapped(sentence, console.width)))
    if part.table is not None:
        table = RichTable(box=None, pad_edge=False, header_style="dim")
        for place, head in enumerate(part.table.header):
            side: Literal["left", "right"] = "right" if place else "left"
            table.add_column(Text(plain(head)), justify=side, overflow="fold")
        for row in part.table.rows:
            table.add_row(*(Text(plain(cell)) for cell in row))
        console.print(table)
