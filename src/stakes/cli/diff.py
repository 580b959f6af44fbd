"""``stakes diff``, which compares two reports, and ``stakes schema``, the schema of their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator

import click

from stakes import _text
from stakes.cli.options import read_report
from stakes.cli.output import put, show_sections
from stakes.evaluation import Changes, changes_between
from stakes.inference import Measured
from stakes.render import Section, Table, clearly, report_schema, section_text

_UNPAIRED = (
    "New less old. The reports do not say who decided what about which case: differences are "
    "unpaired. On the same cases, stakes evaluate --baseline compares more sharply."
)
_LEVELS = "The intervals of the two reports have different levels: differences have none."
_MIXED = "The problems differ, so that these costs are of different things."


@click.command(short_help="Show what changed between two reports.")
@click.argument("old", metavar="OLD.json")
@click.argument("new", metavar="NEW.json")
def diff(old: str, new: str) -> None:
    """Show what changed between two reports: problem, assumptions, verdict, costs, caveats."""
    before, after = read_report(old), read_report(new)
    level = _text.percent(after.assumptions.level)
    parts = list(_sections(changes_between(before, after), level))
    show_sections(parts, lambda: "\n".join(f"{section_text(part)}\n" for part in parts))


@click.command()
def schema() -> None:
    """Print the JSON Schema of reports."""
    put(json.dumps(report_schema(), indent=2))


def _sections(changes: Changes, level: str) -> Iterator[Section]:
    """Yield a section for everything that changed."""
    if changes.problem:
        yield Section("The problems differ", tuple(f"{text}." for text in changes.problem))
    if changes.assumptions:
        yield Section("The assumptions differ", tuple(f"{text}." for text in changes.assumptions))
    (old, new), (before, now) = changes.verdicts, changes.headings
    since = ", as before" if before == now else f"; it was: {before[0].lower()}{before[1:]}"
    if old != new and old in changes.contenders:
        since += ", and the data cannot tell which of the two is cheaper"
    yield Section("Verdict", (f"{now}{since}.",))
    if changes.costs:
        yield _costs(changes, level)
    others = (
        ("Systems that are gone", changes.gone),
        ("New systems", changes.added),
        ("Caveats that are gone", changes.caveats_gone),
        ("New caveats", changes.caveats_added),
    )
    for title, names in others:
        if names:
            yield Section(title, (", ".join(names) + ".",))


def _costs(changes: Changes, level: str) -> Section:
    """The table of costs in both reports and their differences."""
    text = (_MIXED,) * bool(changes.problem)
    known = changes.costs[0].difference is not None
    triples = [
        [_triple(part) for part in (change.old, change.new, change.difference)]
        for change in changes.costs
    ]
    columns = [_text.measured_column(list(column)) for column in zip(*triples, strict=True)]
    rows = []
    for change, was, now, gap in zip(changes.costs, *columns, strict=True):
        interval = f"{gap[1]} to {gap[2]}" if known else "–"
        value = _text.number(change.new.value - change.old.value) if not known else gap[0]
        rows.append((change.system, was[0], now[0], value, interval, clearly(change.difference)))
    header = ("system", "old cost", "new cost", "difference", level, "clearly")
    sentences = (*text, _UNPAIRED) if known else (*text, _UNPAIRED, _LEVELS)
    return Section("Cost of each system", sentences, Table(header, tuple(rows)))


def _triple(part: Measured | None) -> tuple[float, float, float]:
    missing = float("nan")
    return (missing,) * 3 if part is None else (part.value, part.low, part.high)
