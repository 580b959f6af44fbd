"""Comparison of all systems with the baseline, and a report in ten lines."""

from __future__ import annotations

from stakes import _text
from stakes._check import require
from stakes.inference import Measured
from stakes.render.layout import NAME, Section, Table, middle, tied
from stakes.render.rounding import Triple, bounds_text, ranked, triple
from stakes.report import Baseline, Report, System

AGAINST = "Against the baseline"
_BRIEF_ROWS = 4


def baseline_section(report: Report, baseline: Baseline) -> Section:
    """The section with differences from the baseline, each with its own interval."""
    level = _text.percent(report.assumptions.level)
    header: tuple[str, ...] = ("system", "difference", level, "of its cost", "clearly")
    shown = [system for system in ranked(report) if _is_other(system, baseline)]
    costs: list[Triple] = [triple(system.difference) for system in shown]
    written = _text.measured_column(costs)
    rows: list[tuple[str, ...]] = [
        (
            middle(system.name, NAME),
            text[0],
            bounds_text(cost, text),
            _part(system, baseline),
            _clearly(system),
        )
        for system, cost, text in zip(shown, costs, written, strict=True)
    ]
    if baseline.margin:
        header = (*header, "no worse")
        rows = [(*row, _no_worse(system)) for row, system in zip(rows, shown, strict=True)]
    value, low, high = _text.measured(*triple(baseline.cost))
    cost = _text.in_unit(value, report.problem.unit)
    first = f"{baseline.system} costs {cost} per case ({level} interval {low} to {high})."
    return Section(AGAINST, (first, *baseline.sentences), Table(header, tuple(rows)))


def brief_sections(report: Report) -> tuple[str, str, Table, tuple[str, ...]]:
    """Heading, verdict, a small table and last lines, for a comment on a pull request."""
    baseline = report.baseline
    heading = gated_heading(report)
    level = _text.percent(report.assumptions.level)
    cost = _text.in_unit("cost per case", report.problem.unit, ", ")
    header: tuple[str, ...] = ("system", cost, level)
    systems = _in_brief(report)
    costs = [triple(system.cost) for system in systems]
    rows: list[tuple[str, ...]] = [
        (system.name, text[0], bounds_text(cost, text))
        for system, cost, text in zip(systems, costs, _text.measured_column(costs), strict=True)
    ]
    if baseline is not None:
        header = (*header, f"difference to {baseline.system}", level)
        gaps = [triple(system.difference) for system in systems]
        texts = zip(gaps, _text.measured_column(gaps), strict=True)
        more = [(text[0], bounds_text(gap, text)) for gap, text in texts]
        same = ("baseline", "")
        # The baseline has no difference to itself.
        rows = [
            (*row, *(gap_cells if _is_other(system, baseline) else same))
            for row, system, gap_cells in zip(rows, systems, more, strict=True)
        ]
    last = (*_caveat(report), _footer(report))
    verdict = tied(report.verdict.sentences[0], report.problem.unit)
    return heading, verdict, Table(header, tuple(rows)), last


def gated_heading(report: Report) -> str:
    """The first words of the verdict, and what came of each gate."""
    outcomes = (
        f"{gate.condition} {'passes' if gate.passed else 'does not pass'}" for gate in report.gates
    )
    return " · ".join([report.verdict.heading, *outcomes])


def _in_brief(report: Report) -> list[System]:
    """The best system, the baseline and other cheap ones, at most `_BRIEF_ROWS`."""
    baseline = report.baseline
    if baseline is None:
        return ranked(report)[:_BRIEF_ROWS]
    same = [system for system in report.systems if not _is_other(system, baseline)]
    named = {system.name: system for system in (report.best, *same, *ranked(report))}
    return list(named.values())[:_BRIEF_ROWS]


def _caveat(report: Report) -> tuple[str, ...]:
    if not report.caveats:
        return ()
    others = len(report.caveats) - 1
    more = f" ({others} more {'caveat' if others == 1 else 'caveats'} in the report.)"
    return (f"{report.caveats[0].kind}: {report.caveats[0].text}{more * bool(others)}",)


def _footer(report: Report) -> str:
    """The last line: cases, kind of differences, version."""
    assumptions, baseline = report.assumptions, report.baseline
    parts = [f"{_text.number(assumptions.n_cases)} cases", f"stakes {assumptions.version}"]
    if baseline is not None:
        pairs = "paired" if baseline.paired else "unpaired"
        parts.insert(1, f"differences {pairs}, each with the interval of its own pair, unadjusted")
    return "; ".join(parts) + "."


def _is_other(system: System, baseline: Baseline) -> bool:
    """Whether a system is not the baseline itself."""
    return not (baseline.paired and system.name == baseline.system)


def _part(system: System, baseline: Baseline) -> str:
    """The difference as a percentage of the baseline's cost, where that is positive."""
    if system.difference is None or not baseline.cost.value > 0:
        return "–"
    share = system.difference.value / baseline.cost.value
    return (
        f"{_text.rounded_to(100 * share, 1)} %" if abs(share) < 10 else _text.number(share) + " ×"
    )


def clearly(gap: Measured | None) -> str:
    """Whether the interval of a difference of costs excludes 0, in a word.

    Parameters
    ----------
    gap : Measured or None
        The difference with its interval.

    Returns
    -------
    str
        "cheaper", "costlier", "no", or a dash without a difference.

    Examples
    --------
    >>> clearly(Measured(-0.3, -0.5, -0.1)), clearly(Measured(-0.3, -0.7, 0.1)), clearly(None)
    ('cheaper', 'no', '–')

    Two systems that decide alike differ by nothing:

    >>> clearly(Measured(0.0, 0.0, 0.0))
    'no'
    """
    if gap is not None:
        require("gap", gap, Measured)
    if gap is None:
        return "–"
    return "cheaper" if gap.high < 0 else "costlier" if gap.low > 0 else "no"


def _clearly(system: System) -> str:
    return clearly(system.difference)


def _no_worse(system: System) -> str:
    return "yes" if system.beyond_margin is not None and system.beyond_margin.high <= 0 else "no"
