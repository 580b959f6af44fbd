"""A report as an interactive page: one file that opens from disk, with no server and no network."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from stakes import _text
from stakes._check import require
from stakes._expression import column_text
from stakes._files import write_whole
from stakes._text import percent, probability
from stakes.errors import extra
from stakes.inference import Measured
from stakes.problem import Problem
from stakes.render.json import plain_value, refuse_too_long
from stakes.render.layout import NAME, Section, Table, bounds_text, middle, ranked, tied, triple
from stakes.render.page.data import explorable, page_data
from stakes.render.system_tables import (
    AGAINST,
    CAPACITY,
    COVERAGE,
    has_chances,
    naive_breaks_limit,
    rules_explained,
)
from stakes.render.tables import (
    QUALITY,
    UNKNOWN,
    calibrator_text,
    four_digits,
    known_by_then,
    moves_factors,
    nearest_change,
    page_sections,
    random_numbers,
)
from stakes.report import FEWER_BINS, MOST_BINS, MOST_SCORES, Caveat, Report

# The key figures beside the verdict of a page, and how clear the verdict is ----------------------


class KeyFigure(NamedTuple):
    """A number with its name above and a note below."""

    name: str
    text: str
    note: str


def clarity(report: Report) -> str:
    """How clear the choice of the model is, that of its rule, and what it saves; may be empty."""
    verdict = report.verdict
    if verdict.kind == "none":
        return "deploy none" if verdict.keep is None else f"keep {verdict.keep}"
    if verdict.doubt is not None:
        return f"try: {verdict.doubt}"
    if verdict.told_apart is None:
        return ""
    several = len(report.models) > 1
    if several and not verdict.told_apart:
        return "a close call"
    clear = "a clear model, " if several else ""
    return "a clear call" if len(verdict.contenders) == 1 else f"{clear}its rule is close"


def key_figures(report: Report) -> Iterator[KeyFigure]:
    """Cost, saving and contenders at the stakes of the report, as the page writes them."""
    verdict, n_rivals = report.verdict, len(ranked(report))
    if verdict.keep is not None and report.baseline is not None:
        cost = _in_unit(f"cost of {verdict.keep}", report)
        yield KeyFigure(cost, *_written(report.baseline.cost, report))
        gap = verdict.difference
        if gap is not None and report.best.name != verdict.keep:
            saved = Measured(-gap.value, -gap.high, -gap.low)
            name = _in_unit(f"{report.best.name} saves", report)
            yield KeyFigure(name, *_written(saved, report))
        return
    if verdict.kind == "none":
        if isfinite(verdict.unaided_cost):
            cost = _text.number(verdict.unaided_cost)
            yield KeyFigure(_in_unit(f"cost of {verdict.unaided}", report), cost, "")
        name = _in_unit("cost per case of the best model", report)
        yield KeyFigure(name, *_written(verdict.cost, report))
        return
    yield KeyFigure(_in_unit("cost per case", report), *_written(verdict.cost, report))
    if verdict.unaided is not None:
        yield _saved(report)
    if n_rivals > 1:
        note = "systems that the data cannot tell from the cheapest"
        contenders = f"{len(verdict.contenders)} of {n_rivals}"
        yield KeyFigure("may be the cheapest", contenders, note)
    if verdict.total_saving is not None and verdict.unaided is not None:
        period = report.assumptions.period
        name = f"saved {f'per {period}' if period else 'in all'}"
        yield KeyFigure(_in_unit(name, report), *_written(verdict.total_saving, report))


def _in_unit(name: str, report: Report) -> str:
    return _text.in_unit(name, report.problem.unit, ", ")


def _written(interval: Measured, report: Report) -> tuple[str, str]:
    """A number as its interval supports it, and the interval."""
    text = _text.measured(*triple(interval))
    bounds = bounds_text(triple(interval), text, missing="") if isfinite(interval.value) else ""
    return text[0], f"{_text.percent(report.assumptions.level)}: {bounds}" if bounds else ""


def _saved(report: Report) -> KeyFigure:
    """What the system of the verdict saves, as a share of the cost without a model if it is one."""
    saving, without_model = report.verdict.saving_over_naive, report.verdict.unaided_cost
    text, note = _written(saving, report)
    name = f"saved against {report.verdict.unaided}"
    if 0 < saving.value <= without_model:
        amount = " ".join(filter(None, [text, report.problem.unit, "per case"]))
        text = _text.whole_percent(saving.value / without_model)
        return KeyFigure(name, text, "\n".join(filter(None, [amount, note])))
    return KeyFigure(_in_unit(name, report), text, note)


# -------------------------------------------------------------------------------------------------
# A report as an interactive page: one file that opens from disk, with no server and no
# network.
#
# The page holds tallies, never rows: the counts of every system and, for two classes, the scores
# of every model, from which it computes everything again when a cost or the prior is moved. Its
# parts are in the folder `page`: a template, a style sheet and plain JavaScript.

_SCRIPTS = (
    *("numbers", "cheapest", "intervals", "comparisons", "digits", "text", "charts"),
    *(
        "line_names",
        "bands",
        "own_column",
        "state",
        "pairs",
        "contenders",
        "inputs",
        "rule",
        "sections",
    ),
    *("money", "changes", "tables", "curves", "reliability", "regions", "cuts", "explorer", "fold"),
    *("paper", "schedule", "share", "choices", "flips", "flip_table", "zones", "page"),
)


# Titles of the sections for readers who decide, in order; sections in neither list are an appendix.
_FIRST = (
    *("The stakes", "What would change the verdict", "Cost of each system", "Bounds"),
    *("Systems that break a limit", "Limits", CAPACITY, AGAINST, UNKNOWN, "Where the money goes"),
)
# Sections that the script shows in its own way; without it their plain tables are shown.
_LIVE_TITLES = (
    *("Cost of each system", "Bounds", "Systems that break a limit", "Where the money goes"),
    *("What metrics would have picked", QUALITY, "Loss of each way", "Slices"),
)
_SIZES = {
    "most_scores": f"{MOST_SCORES:,}",
    "most_bins": f"{MOST_BINS:,}",
    "fewer_bins": f"{FEWER_BINS:,}",
}
_ELSEWHERE = ("Verdict", "Caveats", "Assumptions")  # these have a place of their own on the page

# Marks that change the direction of the text after them: a label must not reverse a sentence.
_TURNING = "\u200e\u200f\u202a-\u202e\u2066-\u2069"
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufefc"  # letters that are written from right to left


def to_html(
    report: Report,
    path: str | Path | None = None,
    *,
    title: str = "",
    data: str = "",
    date: str = "",
    author: str = "",
) -> str:
    """The report as an interactive page, also written to a file if a path is passed.

    Labels and names of models may hold anything: they are escaped in the text of the page and in
    the embedded data, and the content-security policy of the page forbids every request and every
    script but its own.

    Parameters
    ----------
    report : the report
    path : file to write; None writes none
    title : title of the page
    data : name of the data
    date : a date, shown as it is passed
    author : name of the author

    Returns
    -------
    str
        The page as one HTML document without external parts.

    Examples
    --------
    >>> from stakes import evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p}, Problem.zero_one(2), calibrator=None)
    >>> to_html(report, title="Loans")[:15]
    '<!DOCTYPE html>'
    """
    refuse_too_long(report)
    still = _still(report)
    parts = [_in_words_of_page(part) for part in page_sections(report)]
    page = _template().render(
        report=report,
        identity=_texts(title=title, data=data, date=date, author=author),
        sections=parts,
        first=[part for title in _FIRST for part in parts if part.title.startswith(title)],
        technical=[part for part in parts if not part.title.startswith((*_FIRST, *_ELSEWHERE))],
        number=four_digits,
        percent=percent,
        probability=probability,
        rules=rules_explained(report.systems),
        rule=rules_explained([report.best]),
        clarity=clarity(report),
        figures=list(key_figures(report)),
        has_chances=has_chances(report),
        still=still,
        nearest=nearest_change(report),
        plain_titles=(AGAINST, UNKNOWN),
        coverage=COVERAGE,
        advice=[text for part in parts if part.title == QUALITY for text in part.sentences],
        compared=any(pick.clear is not None for pick in report.picks),
        posteriors=any(model.kind == "posteriors" for model in report.models),
        calibrator=calibrator_text(report.assumptions),
        decisions_use=known_by_then(report.problem),
        random_numbers=random_numbers(report),
        wholes=_wholes(report.problem),
        factors=moves_factors(report),
        explorable=explorable(report),
        no_thresholds=_no_thresholds(report),
        data=_as_json(_data(report)) if _computed(report) else "",
        computed=_computed(report),
        live_titles=_LIVE_TITLES if _computed(report) else (),
        normalized_note=naive_breaks_limit(report),
        recommended=middle(report.verdict.choice or "", NAME),
        **_frame(),
        **_SIZES,
    )
    text: str = page.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate has no bytes
    text = _isolated(re.sub(f"[{_TURNING}]", "", text), report)
    if path is not None:
        write_whole(path, text)
    return text


def _texts(**texts: str) -> dict[str, str]:
    for name, text in texts.items():
        require(name, text, str)
    return texts


def _computed(report: Report) -> bool:
    """Whether the page has what its script needs to compute the costs of the systems."""
    return not report.problem.columns or report.systems[0].sums is not None


def _data(report: Report) -> dict[str, Any]:
    """The data of the page; under limits also what can be recommended at all."""
    if not report.problem.limits:
        return page_data(report)
    broken = [system.name for system in report.systems if system.breaks_limit]
    return {**page_data(report), "unaided": report.verdict.unaided, "broken": broken}


def _still(report: Report) -> str:
    """A sentence that says why the page has no sliders, or an empty one where it has."""
    if report.verdict.doubted:
        return (
            "The posteriors seem to belong to other classes than they are read for, so this page "
            "has no sliders. Name the classes of their columns, and evaluate again."
        )
    if report.problem.limits:
        return (
            "This problem has limits, so this page has no sliders: where a cost or the prior "
            "moves, the prices of the limits would have to be fitted again, which needs the cases. "
            f"{_flips_sentence(report)}{_thresholds_sentence(report)}"
            "Evaluate again with the other costs."
        )
    if report.problem.columns and report.systems[0].sums is None:
        return (
            "Every case has its own costs, and these have more than 32 terms, or terms too "
            "large to be summed, so this page has no sliders: what each system costs is shown for "
            "the costs as they are written, and what would change the verdict for factors on them, "
            "with the decisions as they are made now."
        )
    return ""


def _flips_sentence(report: Report) -> str:
    """Which flips were worked out under limits: with the cases, by today's decisions, or none."""
    if report.flips_under_limits:
        return "What would change the verdict was worked out with them, and is listed below. "
    if report.margins:
        return "What would change the verdict while today's decisions stay is listed below. "
    return ""


def _thresholds_sentence(report: Report) -> str:
    """Whether other thresholds can be tried under limits."""
    if explorable(report):
        return "Other thresholds can be tried below. "
    reason = _no_thresholds(report)
    return f"{reason} " if reason else ""


def _no_thresholds(report: Report) -> str:
    """Why no other thresholds can be tried although every case has its own costs, or nothing."""
    problem = report.problem
    if explorable(report) or not problem.columns:
        return ""
    if problem.n_classes > 2:
        reason = f"with {problem.n_classes} classes no single probability decides"
    elif problem.n_decisions > 2:
        reason = (
            f"with {problem.n_decisions} decisions even their order along the probability "
            "differs from case to case"
        )
    else:
        reason = "the page does not hold what the cases between two scores cost"
    return f"Other thresholds cannot be tried here: every case has its own costs, and {reason}."


def _isolated(page: str, report: Report) -> str:
    """The page with names written from right to left isolated: numbers beside them stay there."""
    from markupsafe import escape  # comes with jinja2

    problem, models = report.problem, report.models
    names = {*problem.classes, *problem.decisions, problem.unit, *(each.model for each in models)}
    texts = {re.sub(f"[{_TURNING}]", "", str(name)) for name in names}
    turned = [escape(text) for text in texts if re.search(f"[{_LEFTWARD}]", text)]
    if not turned:
        return page
    pattern = re.compile("|".join(re.escape(name) for name in sorted(turned, key=len)[::-1]))
    shown, script, rest = page.partition("<script")
    shown = re.sub("(?<=>)[^<]+", lambda part: pattern.sub("\u2068\\g<0>\u2069", part[0]), shown)
    return f"{shown}{script}{rest}"


def _in_words_of_page(part: Section) -> Section:
    """A section with the title and the heads of columns that the script writes, too."""
    title = part.title.replace("What would flip the verdict", "What would change the verdict")
    if part.table is None or not part.title.startswith("Cost of each system"):
        return replace(part, title=title)
    heads = {"chance": "chance of being cheapest", "cost per case": "cost"}
    header = tuple(heads.get(head, head) for head in part.table.header)
    return replace(part, title=title, table=Table(header, part.table.rows))


def _wholes(problem: Problem) -> list[str]:
    """The terms of the costs that are not single columns, whose parts no slider can move."""
    known = {"1", *map(column_text, problem.columns)}
    return [term for term in problem.terms.names if term not in known]


# The frame ---------------------------------------------------------------------------------------


def _part(name: str) -> str:
    return files("stakes.render").joinpath("page", name).read_text(encoding="utf-8")


@cache
def _frame() -> dict[str, str]:
    """Style sheet, script and policy, which are those of every page."""
    style = _tight(_part("page.css"))
    script = _wrapped("\n".join(_part(f"{name}.js") for name in _SCRIPTS))
    return {"style": style, "script": script, "policy": _policy(style, script)}


@cache
def _template() -> Any:
    """The template of the page, with its filters."""
    with extra("report", "the page"):
        from jinja2 import Environment, StrictUndefined, pass_context
    world = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    world.filters["tied"] = pass_context(_tied)
    world.filters["groupby_kind"] = _by_kind
    world.filters["words"] = _words
    world.filters["slug"] = lambda title: re.sub(r"\W+", "-", title.lower()).strip("-")
    return world.from_string(re.sub(r"\n\s+", "\n", _part("page.html.j2")))  # no indents


def _tied(context: Any, text: str) -> str:
    """The text, with numbers tied to the unit of the report that the page is about."""
    return tied(text, context["report"].problem.unit)


def _words(table: Table) -> list[bool]:
    """Whether each column is one of words: none of its cells begins with a number."""
    columns = ([row[place] for row in table.rows] for place in range(len(table.header)))
    return [not any(re.match(r"[−<>]?\s?[\d–]", cell) for cell in column) for column in columns]


def _by_kind(caveats: Sequence[Caveat]) -> list[tuple[str, list[Caveat]]]:
    """Caveats grouped by kind, in the order of the first of each kind."""
    kinds = dict.fromkeys(caveat.kind for caveat in caveats)
    return [(kind, [caveat for caveat in caveats if caveat.kind == kind]) for kind in kinds]


def _wrapped(script: str) -> str:
    """The script without comments, in one function scope so that no name is global."""
    script = re.sub(r"/\*\*.*?\*/|(?:^|\s)// [^\n]*$", "", script, flags=re.DOTALL | re.MULTILINE)
    script = "\n".join(map(_tight_line, re.sub(r"\n\s+", "\n", script).split("\n")))
    script = re.sub(r",\n(?=[)\]}])|;\n(?=})", "", script)  # needless before a closing bracket
    # Where a line cannot end a statement, or has ended it, the next one goes on.
    script = re.sub(r"(?<=[,;{(\[=>?:&|])\n|\n(?=[)\]}.?:&|])", "", script)
    return f'(function () {{\n"use strict";\n{script}}})();\n'


def _tight_line(line: str) -> str:
    """A line of a script without needless spaces, except inside strings and templates.

    A line is left unchanged where a quote, a regular expression or a nested template makes it
    uncertain where strings end.
    """
    if re.search(r"['/\\]", line.replace(" / ", "")) or line.count("`") not in (0, 2):
        return line
    parts = re.split(r'("[^"]*"|`[^`]*`)', line)  # every second one is a string or a template
    needless = r" *([=<>?:,;{}()\[\]&|*/]) *| ([+-]) (?=[\w(\[]|$)"  # but "a - -b" keeps its spaces
    parts[::2] = [re.sub(needless, r"\1\2", part) for part in parts[::2]]
    beside = r" ([+-])(?==)|(?<=[)\]])([+-]) (?=[\w(\[])"  # signs with a space at one side
    parts[::2] = [re.sub(beside, r"\1\2", part) for part in parts[::2]]
    return "".join(parts)


def _tight(style: str) -> str:
    """A style sheet without comments and needless spaces."""
    style = re.sub(r"/\*.*?\*/", "", style, flags=re.DOTALL)
    return re.sub(r"\s*;?\s*([{};,])\s*|(:) ", r"\1\2", style).replace(" > ", ">")


def _policy(style: str, script: str) -> str:
    """A content-security policy: no requests; one style sheet and one script, by their hashes."""
    hashes = (
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        for part in (style, script)
    )
    return (
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; "
        "base-uri 'none'; form-action 'none'".format(*hashes)
    )


def _as_json(data: object) -> str:
    """JSON in which nothing looks like a tag, an entity or the end of a script in HTML."""
    text = json.dumps(plain_value(data), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    special = rf"[<>&\u2028\u2029\ud800-\udfff{_TURNING}]"
    return re.sub(special, lambda c: f"\\u{ord(c[0]):04x}", text)
