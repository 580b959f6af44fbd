"""Every system against the baseline, and a whole report in ten lines."""

from __future__ import annotations

from stakes import _text
from stakes.render.layout import NAME, Section, Table, middle, tied
from stakes.render.rounding import Triple, ends, ranked, triple
from stakes.report import Baseline, Interval, Report, System

AGAINST = "Against the baseline"
_BRIEF_ROWS = 4


def baseline_section(report: Report, baseline: Baseline) -> Section:
    """Differences to the baseline, each with the interval of its own pair."""
    level = _text.percent(report.assumptions.level)
    header: tuple[str, ...] = ("system", "difference", level, "of its cost", "clearly")
    shown = [one for one in ranked(report) if _is_other(one, baseline)]
    costs: list[Triple] = [triple(one.difference) for one in shown]
    written = _text.measured_column(costs)
    rows: list[tuple[str, ...]] = [
        (middle(one.name, NAME), text[0], ends(cost, text), _part(one, baseline), _clearly(one))
        for one, cost, text in zip(shown, costs, written, strict=True)
    ]
    if baseline.margin:
        header = (*header, "no worse")
        rows = [(*row, _no_worse(one)) for row, one in zip(rows, shown, strict=True)]
    value, low, high = _text.measured(*triple(baseline.cost))
    unit = f" {report.problem.unit}" if report.problem.unit else ""
    first = f"{baseline.system} costs {value}{unit} per case ({level} interval {low} to {high})."
    return Section(AGAINST, (first, *baseline.sentences), Table(header, tuple(rows)))


def brief_sections(report: Report) -> tuple[str, str, Table, tuple[str, ...]]:
    """Heading, verdict, a small table and last lines: a comment on a pull request."""
    deploy, baseline = report.verdict.deploy, report.baseline
    heading = f"Deploy {deploy.name}" if deploy else "Deploy no model"
    level = _text.percent(report.assumptions.level)
    unit = report.problem.unit
    in_unit = f", {unit}" if unit else ""
    header: tuple[str, ...] = ("system", f"cost per case{in_unit}", level)
    systems = _in_brief(report)
    costs = [triple(one.cost) for one in systems]
    rows: list[tuple[str, ...]] = [
        (one.name, text[0], ends(cost, text))
        for one, cost, text in zip(systems, costs, _text.measured_column(costs), strict=True)
    ]
    if baseline is not None:
        header = (*header, f"difference to {baseline.system}", level)
        gaps = [triple(one.difference) for one in systems]
        texts = zip(gaps, _text.measured_column(gaps), strict=True)
        more = [(text[0], ends(gap, text)) for gap, text in texts]
        same = ("baseline", "")
        rows = [
            (*row, *(own if _is_other(one, baseline) else same))
            for row, one, own in zip(rows, systems, more, strict=True)
        ]
    last = (*_caveat(report), _footer(report))
    return heading, tied(report.verdict.sentences[0], unit), Table(header, tuple(rows)), last


def _in_brief(report: Report) -> list[System]:
    """The best system, the challengers and the baseline, as far as there is room."""
    baseline, named = report.baseline, {report.best.name: report.best}
    if baseline is None:
        return ranked(report)[:_BRIEF_ROWS]
    own = [one for one in report.systems if not _is_other(one, baseline)]
    named |= {one.name: one for one in (*own, *report.challengers)}
    return list(named.values())[:_BRIEF_ROWS]


def _caveat(report: Report) -> tuple[str, ...]:
    if not report.caveats:
        return ()
    others = len(report.caveats) - 1
    more = f" ({others} more {'caveat' if others == 1 else 'caveats'} in the report.)"
    return (f"{report.caveats[0].kind}: {report.caveats[0].text}{more * bool(others)}",)


def _footer(report: Report) -> str:
    made, baseline = report.assumptions, report.baseline
    said = [f"{_text.number(made.n_cases)} cases", f"stakes {made.version}"]
    if baseline is not None:
        pairs = "paired" if baseline.paired else "unpaired"
        said.insert(1, f"differences {pairs}, each with the interval of its own pair, unadjusted")
        said[1:1] = _gates(report, baseline)
    return "; ".join(said) + "."


def _gates(report: Report, baseline: Baseline) -> list[str]:
    """Which challengers pass the gates."""
    margin = _text.percent(baseline.margin) if baseline.relative else _text.number(baseline.margin)
    asked = [("clearly cheaper", _clearly, "cheaper")]
    asked += [(f"clearly no worse by {margin}", _no_worse, "yes")] * bool(baseline.margin)
    kept = [one for one in report.challengers if not one.breaks_limit]
    passed = (
        (what, [one.name for one in kept if answer(one) == wanted])
        for what, answer, wanted in asked
    )
    return [f"{what}: {', '.join(names) or 'none'}" for what, names in passed]


def _is_other(one: System, baseline: Baseline) -> bool:
    """Whether a system is another than the baseline."""
    return not (baseline.paired and one.name == baseline.system)


def _part(one: System, baseline: Baseline) -> str:
    """The difference in percent of what the baseline costs, where that is above zero."""
    if one.difference is None or not baseline.cost.value > 0:
        return "–"
    share = one.difference.value / baseline.cost.value
    return f"{_text.fixed(100 * share, 1)} %" if abs(share) < 10 else _text.number(share) + " ×"


def clearly(gap: Interval | None) -> str:
    """Whether a difference of costs leaves zero out, in a word."""
    if gap is None:
        return "–"
    return "cheaper" if gap.high < 0 else "dearer" if gap.low > 0 else "no"


def _clearly(one: System) -> str:
    return clearly(one.difference)


def _no_worse(one: System) -> str:
    return "yes" if one.beyond_margin is not None and one.beyond_margin.high <= 0 else "no"
