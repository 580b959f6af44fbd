"""A report as sections of sentences and tables, which all renderers share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from math import inf, isfinite

import numpy as np
import numpy.typing as npt

from stakes import _text
from stakes._check import FloatArray, Labels, one_number, require
from stakes.measures import cost_shares
from stakes.problem import Problem, cell_text
from stakes.render import rounding
from stakes.render.against import baseline_section
from stakes.render.flip_tables import anew_section, margin_section, region_sections, unknown_section
from stakes.render.layout import (
    NAME,
    PAGE_WIDTH,
    WIDTH,
    Section,
    Table,
    cleaned,
    few_names,
    filled,
    folded,
    middle,
    together,
    width_of,
)
from stakes.render.limit_tables import capacity_section, coverage_section, limit_section
from stakes.render.rounding import ranked
from stakes.render.systems import slice_section, system_sections
from stakes.report import Assumptions, ModelQuality, Report, System

QUALITY = "Quality of the scores"
_LARGEST_COST = 20  # most cells that are listed, where there are too many for a table
_MOST_COLUMNS = 6  # of costs that are listed
_MOST_CELLS = 2500  # of a table of classes by decisions that is written out


def four_digits(value: float | None) -> str:
    """A number with four significant digits.

    Parameters
    ----------
    value : float or None
        The number.

    Returns
    -------
    str
        Its text; a dash for None.

    Examples
    --------
    >>> four_digits(0.123456), four_digits(None)
    ('0.1235', '–')
    >>> four_digits(float("nan")), four_digits(float("inf"))
    ('undefined', '∞')
    """
    if value is None:
        return "–"
    one_number("value", value)
    return _text.number(value)


def sections(report: Report) -> Iterator[Section]:
    """The sections of a report in order.

    Parameters
    ----------
    report : the report

    Returns
    -------
    iterator of Section
        Headings, sentences and tables, each table at most as wide as the text.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p}, Problem.zero_one(2), calibrator=None)
    >>> next(sections(report)).title
    'Verdict'
    """
    require("report", report, Report)
    return _laid_out(_sections(report), report.problem, WIDTH)


def page_sections(report: Report) -> Iterator[Section]:
    """The stakes and all other sections, with tables as wide as a sheet of paper."""
    parts = chain([_stakes_section(report.problem)], _sections(report))
    return _laid_out(parts, report.problem, PAGE_WIDTH)


def stakes_sections(problem: Problem) -> Iterator[Section]:
    """The section with the costs, class by class, and the prior if one is stated.

    Parameters
    ----------
    problem : what is at stake

    Returns
    -------
    iterator of Section
        One section, or several where the table is too wide.

    Examples
    --------
    >>> [part.title for part in stakes_sections(Problem.zero_one(2))]
    ['The stakes']
    """
    return _laid_out([_stakes_section(problem)], problem, WIDTH)


def _laid_out(parts: Iterable[Section], problem: Problem, width: int) -> Iterator[Section]:
    """Sections with shortened names, and tables at most this wide."""
    for part in parts:
        yield from folded(cleaned(part, problem.unit), width)


def _stakes_section(problem: Problem) -> Section:
    """The costs in a table, or in a sentence where there are too many."""
    require("problem", problem, Problem)
    if problem.n_classes * problem.n_decisions > _MOST_CELLS:
        return _large_stakes(problem)
    labels, decisions = _names(problem)
    header: tuple[str, ...] = ("class", *decisions)
    rows = [
        (label, *(cell_text(cost, 4) for cost in row))
        for label, row in zip(labels, problem.written, strict=True)
    ]
    if problem.prior is not None:
        header = (*header, "prior")
        shares = [_text.probability(share) for share in problem.prior.tolist()]
        rows = [(*row, share) for row, share in zip(rows, shares, strict=True)]
    text = f"{_text.in_unit('Cost', problem.unit, ' in ')} of each decision, class by class."
    if problem.columns:
        text += f" Every case has its own, by its columns: {', '.join(problem.columns)}."
    if problem.limits:
        text += f" Limits: {'; '.join(map(str, problem.limits))}."
    return Section("The stakes", (text,), Table(header, tuple(rows)))


def _large_stakes(problem: Problem) -> Section:
    """A sentence in place of a table that is too large to read."""
    classes, decisions = four_digits(problem.n_classes), four_digits(problem.n_decisions)
    text = f"{classes} classes and {decisions} decisions"
    if not problem.columns:
        low, high = four_digits(float(problem.costs.min())), four_digits(float(problem.costs.max()))
        text += f", whose costs run from {low} to {_text.in_unit(high, problem.unit)}"
    return Section("The stakes", (f"{text}. They are in report.problem.",))


def _sections(report: Report) -> Iterator[Section]:
    """The sections in order, before names are shortened and tables folded."""
    yield Section("Verdict", (*report.verdict.sentences, *map(str, report.gates)))
    if report.caveats:
        listed = (f"{caveat.kind}: {caveat.text}" for caveat in report.caveats)
        yield Section("Caveats", tuple(listed))
    yield from system_sections(report)
    if report.problem.limits:
        yield limit_section(report)
        yield from filter(None, [capacity_section(report)])
    if report.baseline is not None:
        yield baseline_section(report, report.baseline)
    if report.uncertainty is not None:
        yield unknown_section(report, report.uncertainty)
    yield _money(report)
    if report.disagreement is not None and report.disagreement.metrics:
        yield _disagreement(report)
    if any(map(_scored, report.models)):
        yield _models(report)
    if any(model.expected_losses for model in report.models):
        yield _losses(report)
    if report.regions:
        yield from region_sections(report)
    yield from filter(None, [anew_section(report)])
    if report.margins:
        yield margin_section(report)
    if report.slices:
        yield slice_section(report)
    yield from filter(None, [coverage_section(report)])
    yield _assumptions(report)


def _names(problem: Problem) -> tuple[list[str], list[str]]:
    """Labels of classes and decisions, shortened for a table."""
    classes = [middle(str(label), NAME) for label in problem.classes]
    return classes, [middle(str(label), NAME) for label in problem.decisions]


def _money(report: Report) -> Section:
    """The section with counts of the cheapest system and each cell's share of its cost."""
    best = report.best
    problem = report.problem
    below = not problem.columns and problem.has_gains
    parts = _spent(best, report) if problem.columns else _charged(best, report, regret=below)
    total = float(parts.sum())
    shares = parts / total if total > 0 else np.zeros(parts.shape)
    what = "the regret, its cost above the best decision of the class" if below else "the cost"
    apart = ", running costs apart" if best.running_cost else ""
    text = f"Cases of {best.name}, class by decision, and each cell's share of {what}{apart}."
    values = best.counts.values
    if values.size <= _MOST_CELLS:
        table = _cell_table(problem, values, shares)
        if width_of(table) <= WIDTH:
            return Section("Where the money goes", (text,), table)
    table = _cell_list(problem, values, shares)
    left = np.count_nonzero(values) - len(table.rows)
    more = (f"The most expensive cells first; {left} more have cases.",) if left else ()
    return Section("Where the money goes", (text, *more), table)


def _charged(best: System, report: Report, *, regret: bool) -> FloatArray:
    """Each cell's part of the cost, or of the regret."""
    problem = report.problem.regret() if regret else report.problem
    return cost_shares(best.counts, problem.with_prior(np.array(report.assumptions.prior)))


def _spent(best: System, report: Report) -> FloatArray:
    """The same where every case has its own costs; 0 where gains make shares meaningless."""
    if best.spent is None or (best.spent < 0).any():
        return np.zeros(best.counts.values.shape)
    mass = best.counts.values.sum(axis=1)
    prior = np.array(report.assumptions.prior)
    return np.asarray(best.spent * (prior / np.where(mass > 0, mass, 1.0))[:, None])


def _cell_table(problem: Problem, counts: FloatArray, shares: FloatArray) -> Table:
    """Counts and shares, classes in rows and decisions in columns."""
    labels, decisions = _names(problem)
    rows = tuple(
        (
            label,
            *(
                f"{four_digits(n)}{_share(part)}"
                for n, part in zip(counts_of_class, parts, strict=True)
            ),
        )
        for label, counts_of_class, parts in zip(
            labels, counts.tolist(), shares.tolist(), strict=True
        )
    )
    return Table(("class", *decisions), rows)


def _cell_list(problem: Problem, counts: FloatArray, shares: FloatArray) -> Table:
    """A table of the cells with cases, the most expensive first."""
    labels, decisions = _names(problem)
    order = np.lexsort((-counts.ravel(), -shares.ravel()))
    costliest = order[counts.ravel()[order] > 0][:_LARGEST_COST].tolist()
    rows = tuple(
        (labels[k], decisions[d], four_digits(counts[k, d]), _text.part(float(shares[k, d])))
        for k, d in (divmod(int(place), counts.shape[1]) for place in costliest)
    )
    return Table(("class", "decision", "cases", "share"), rows)


def _share(part: float) -> str:
    return f" ({_text.part(part)})" if part > 0 else ""


def _disagreement(report: Report) -> Section:
    """The section with the picks of familiar metrics and what these cost."""
    disagreement = report.disagreement
    assert disagreement is not None
    costs = [
        rounding.cell(cost, rounding.cost(cost, report)) for cost in disagreement.costs.tolist()
    ]
    values = [
        [rounding.cell(value, rounding.metric(value, report)) for value in row]
        for row in disagreement.values.tolist()
    ]
    first, *values_in_line = rounding.points_aligned(zip(costs, *values, strict=True))
    rows = [("expected cost", _picks(disagreement.models, disagreement.best), "", "", *first)]
    for shown, chosen, pick in zip(values_in_line, disagreement.picks, report.picks, strict=True):
        more = rounding.cost(pick.costs_more.value, report)
        clear = rounding.clear_text(pick.clear)
        rows.append((pick.metric, _picks(disagreement.models, chosen), more, clear, *shown))
    models = [middle(str(model), NAME) for model in disagreement.models]
    table = filled(Table(("metric", "picks", "costs more", "clearly", *models), tuple(rows)))
    text = (
        "What familiar metrics say of the models, which one they pick, and what that pick costs "
        "per case above the cheapest"
    )
    judged = any(pick.clear is not None for pick in report.picks)
    text += ", and whether the data can tell." if judged else "."
    if _has_posteriors(report):
        text += " Posteriors decide for the most probable class."
    return Section("What metrics would have picked", (text,), table)


def _has_posteriors(report: Report) -> bool:
    return any(model.kind == "posteriors" for model in report.models)


def _picks(models: Labels, chosen: npt.NDArray[np.bool_]) -> str:
    return few_names((m for m, is_chosen in zip(models, chosen, strict=True) if is_chosen), NAME)


def _scored(model: ModelQuality) -> bool:
    """Whether any measure of the scores of a model is known."""
    measures = (
        model.auc,
        model.h,
        model.normalized_log_loss,
        model.normalized_brier,
        model.calibration_cost,
    )
    return any(number is not None for number in measures)


def _models(report: Report) -> Section:
    """The section with measures of the scores of each model."""
    level = _text.percent(report.assumptions.level)
    header = ("model", "AUC", level, "H", "norm. log loss", "norm. Brier", "miscalibration costs")
    models = [model for model in report.models if _scored(model)]
    areas = [rounding.triple(model.auc) for model in models]
    written = _text.measured_column(areas)
    rows = tuple(
        (
            middle(model.model, NAME),
            "–" if model.auc is None else texts[0],
            rounding.bounds_text(area, texts),
            rounding.metric(model.h, report),
            rounding.metric(model.normalized_log_loss, report),
            rounding.metric(model.normalized_brier, report),
            _wasted(model, report),
        )
        for model, area, texts in zip(models, areas, written, strict=True)
    )
    sentences = (*_advice(report), *_infinite(models))
    return Section(QUALITY, sentences, filled(Table(header, rows)))


def _infinite(models: list[ModelQuality]) -> Iterator[str]:
    """Why a log loss is infinite, where the Brier score is not."""
    names = [
        model.model
        for model in models
        if model.normalized_log_loss == inf and model.normalized_brier != inf
    ]
    if names:
        yield f"Log loss ∞: {together(names)} gave probability 0 to a class that was true."


def _advice(report: Report) -> Iterator[str]:
    """Advice on thresholds, the cheapest model first; models with the same share a sentence."""
    advice = {model.model: model.advice for model in report.models if model.advice}
    by_cost = dict.fromkeys(system.model for system in ranked(report))
    kinds: dict[str, list[str]] = {}
    for name in dict.fromkeys((*by_cost, *advice)):
        if name in advice:
            kinds.setdefault(advice[name].partition(":")[0], []).append(name)  # numbers follow it
    for first, *others in kinds.values():
        alike = f" Likewise {together(others)}." if others else ""
        yield f"{first}: {advice[first]}.{alike}"


def _wasted(model: ModelQuality, report: Report) -> str:
    """The cost of bad calibration as text; a gain is due to chance and shown as "none"."""
    wasted = model.calibration_cost
    return "none" if wasted is not None and wasted <= 0 else rounding.cost(wasted, report)


def _losses(report: Report) -> Section:
    """The section with expected losses, methods in rows and models in columns."""
    models = [model for model in report.models if model.expected_losses]
    losses = [dict(model.expected_losses) for model in models]
    methods = dict.fromkeys(name for of_model in losses for name in of_model)
    size = min(_largest(of_model.get(name) for of_model in losses) for name in methods)
    rows = tuple(
        (name, *(rounding.metric(of_model.get(name), report, size) for of_model in losses))
        for name in methods
    )
    header = ("method", *(middle(model.model, NAME) for model in models))
    text = "Expected loss over all cost proportions, by how the threshold is chosen."
    return Section("Loss of each way to set thresholds", (text,), Table(header, rows))


def _largest(values: Iterable[float | None]) -> float:
    return max((value for value in values if value is not None and isfinite(value)), default=1.0)


def _weighting(assumed: Assumptions) -> str:
    """What the number of cases is a sum of, in brackets."""
    if not assumed.weighted:
        return ""
    return " (copies of rows)" if assumed.copied else " (weighted)"


def _assumptions(report: Report) -> Section:
    """The section with the prior and everything else that was chosen or assumed."""
    assumed, labels = report.assumptions, report.problem.classes
    source = "stated" if assumed.prior_stated else "of the data"
    sentences: tuple[str, ...] = (f"Prior, {source}: {_shares(labels, assumed.prior)}.",)
    if _has_posteriors(report):
        same = np.allclose(assumed.posterior_prior, assumed.prior, rtol=1e-9, atol=0)
        shares = "this prior" if same else _shares(labels, assumed.posterior_prior)
        sentences += (f"Posteriors hold for: {shares}.",)
    sentences += (f"Calibrator: {calibrator_text(assumed)}.",)
    if columns := known_by_then(report.problem):
        sentences += (f"Decisions use: {columns}.",)
    rows = (
        ("cases", f"{four_digits(assumed.n_cases)}{_weighting(assumed)}"),
        *([] if assumed.engine in (None, "numpy") else [("rows", f"tallied by {assumed.engine}")]),
        *_operation(assumed),
        ("clusters", "none" if assumed.clusters is None else four_digits(assumed.clusters)),
        ("intervals", f"{_text.percent(assumed.level)}, profile likelihood"),
        ("random numbers", random_numbers(report)),
        ("made by", f"stakes {assumed.version}"),
    )
    return Section("Assumptions", sentences, Table(("assumption", "value"), rows))


def calibrator_text(assumed: Assumptions) -> str:
    """The calibrator in words."""
    name = assumed.calibrator or "none"
    chosen = "the map that predicts other folds best (Select)"
    return name.replace("Select()", chosen) if name.startswith("Select()") else name


def known_by_then(problem: Problem) -> str:
    """The columns that decisions use, and when they must be known; empty where there are none."""
    columns = problem.columns
    if not columns:
        return ""
    listed = ", ".join(columns[:_MOST_COLUMNS])
    more = f" and {len(columns) - _MOST_COLUMNS} more" * (len(columns) > _MOST_COLUMNS)
    named = f"column{'s' * (len(columns) > 1)} {listed}{more} of the costs"
    return f"{named}, which must be known when a decision is made"


def random_numbers(report: Report) -> str:
    """The seed, and the number of replicates if any were drawn."""
    assumed = report.assumptions
    drawn = assumed.calibrator is None and any(
        model.calibration_cost is not None for model in report.models
    )
    replicates = f"{four_digits(assumed.replicates)} replicates, " if drawn else ""
    return f"{replicates}seed {assumed.seed}"


def _operation(assumed: Assumptions) -> Iterator[tuple[str, str]]:
    """Rows about running costs and the expected number of cases."""
    if assumed.running_costs:
        each = (f"{model}: {four_digits(cost)}" for model, cost in assumed.running_costs)
        yield "running costs per case", ", ".join(each)
    if assumed.volume is not None:
        period = f" per {assumed.period}" if assumed.period else ""
        yield "volume", f"{_text.cases(assumed.volume)}{period}"


def _shares(labels: Labels, prior: tuple[float, ...]) -> str:
    shares = map(_text.probability, prior)
    return ", ".join(f"{label}: {share}" for label, share in zip(labels, shares, strict=True))
