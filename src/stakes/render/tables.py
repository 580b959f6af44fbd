"""A report as sections of sentences and tables, which all renderers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from math import inf, isfinite, isnan, log

import numpy as np
import numpy.typing as npt

from stakes import _text
from stakes._check import FloatArray, Labels, one_number, require
from stakes.measures import cost_shares
from stakes.problem import Problem, cell_text
from stakes.regions import Margin, nearest_first
from stakes.render import layout as rounding
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
    ranked,
    together,
    width_of,
)
from stakes.render.system_tables import (
    baseline_section,
    capacity_section,
    coverage_section,
    limit_section,
    slice_section,
    system_sections,
)
from stakes.report import (
    TUNED_APART,
    Assumptions,
    Flip,
    ModelQuality,
    Report,
    System,
    UncertainPart,
    Uncertainty,
)

# -------------------------------------------------------------------------------------------------
# Tables of where each system wins, of what would flip the verdict, and of uncertain costs.

_NEAREST = 8  # most margins that are shown; the JSON holds all of them
_FROZEN = "with the decisions as they are made now"
_FACTOR = "factor on the "
_ANEW = "What would flip the verdict, if you decide anew"
UNKNOWN = "Uncertain costs"
_ALONE = (
    "What it would be worth per case to find out each alone, the others being at their means: "
    "before one of today's rules is chosen{remade}. By the costs on these cases."
)
_REMADE = ", and with rules made again once it is known, with its interval"
_FACTORS = (
    f"Each cost multiplied alone, {{priors}}{_FROZEN}: where another costs as little on these "
    "cases. {why}, the point at which that becomes clear is not computed."
)


def region_sections(report: Report) -> Iterator[Section]:
    """The sections with the ranges of each axis in which each system is the cheapest."""
    for regions in report.regions:
        write = _text.probability if regions.axis.startswith("prior of ") else _point
        spans = _spans([(part.low, part.high) for part in regions.parts], write)
        zones = _spans(regions.unclear, write)
        columns = [spans, [few_names(part.cheapest, NAME) for part in regions.parts]]
        header: tuple[str, ...] = (middle(regions.axis, NAME), "cheapest")
        text = "where only this number moves"
        if regions.axis.startswith("prior of ") and report.problem.n_classes > 2:
            text = "where this prior moves, and the others keep their proportions"
        if len(zones) == len(spans) - 1:  # zones are unknown where cases have costs of their own
            columns.append([*zones, ""])
            header = (*header, "cannot tell from the next")
            text = f"{text}; and where the data cannot tell it from the next"
        yield Section(
            f"Where each system wins: {regions.axis}",
            (f"The cheapest on these cases, {_FROZEN}, {text}.",),
            Table(header, tuple(zip(*columns, strict=True))),
        )


def _spans(pairs: Iterable[tuple[float, float]], write: Callable[[float], str]) -> list[str]:
    """Ranges as text; one whose ends read alike is one number."""
    return [" to ".join(dict.fromkeys(map(write, pair))) for pair in pairs]


def _point(value: float) -> str:
    return _text.point(value, 3)


def margin_section(report: Report) -> Section:
    """The section with the nearest values at which another system is as cheap."""
    nearest = nearest_first(report.margins)[:_NEAREST]
    scale = _scale(report)
    rows: Iterable[tuple[str, ...]] = [row for each in nearest for row in _flips(each, scale)]
    header: tuple[str, ...] = ("moved alone", "now", "as cheap", "clearly", "to")
    left = len(report.margins) - len(nearest)
    more = f"; {left} more are in the JSON" if left else ""
    best = report.best
    unknown = all(isnan(margin.clear_low) and isnan(margin.clear_high) for margin in report.margins)
    if unknown:
        header, rows = header[:3] + header[4:], [row[:3] + row[4:] for row in rows]
    clearly = (
        ". The point at which the data can tell is not known for these costs"
        if unknown
        else ", and where it is clear that today's choice costs more. Between the two the data "
        "cannot tell"
    )
    text = (
        f"Each number moved alone, {_FROZEN}: where another costs as little on these cases"
        f"{clearly}. The nearest first{more}."
    )
    if moves_factors(report):
        priors = "" if report.problem.limits else "or each prior moved alone, "
        by_case = "Where costs differ from case to case"
        why = by_case if report.problem.columns else "With running costs"
        text = f"{_FACTORS.format(priors=priors, why=why)} The nearest first{more}."
    if _names_none(report) and best.cost.value < report.naive.cost:
        text += f" By the costs on these cases, where {best.name} is the cheapest."
    title = "What would flip the verdict"
    title = f"{title}, if today's decisions stay" if report.problem.limits else title
    return Section(title, (text,), Table(header, tuple(rows)))


def _names_none(report: Report) -> bool:
    """Whether neither a system is recommended nor an incumbent kept."""
    return report.verdict.kind == "none" and report.verdict.keep is None


def _choice(report: Report) -> str | None:
    """What is done after the verdict; for an incumbent of an earlier report the best of these."""
    verdict, baseline = report.verdict, report.baseline
    if verdict.keep is not None and baseline is not None and not baseline.paired:
        return report.best.name
    return verdict.choice


def nearest_change(report: Report) -> str:
    """The nearest flip in a sentence: decided anew under a limit, else by today's decisions."""
    choice = _choice(report)
    flips = [place for place in _nearest_flips(report) if not _is_trivial(*place, report)]
    for flip, side in flips[:1]:
        until, then = _until(flip, side, report), _in_words(flip, side, report)
        still = any(map(_never, report.flips_under_limits[:1]))
        rest = " No other value of the limit changes this." if still else ""
        ruled_out = f"if you decide anew, {choice} cannot be ruled out until {until}; then {then}."
        return f"{ruled_out} What is recommended may change before.{rest}"
    if report.flips_under_limits:
        moved = "limit or cost" if len(report.flips_under_limits) > 1 else "limit"
        limits = [_flip_value(_end(*place)) for place in _nearest_flips(report)]
        rest = f", except a limit of {' or '.join(limits)}" if limits else ""
        anew = f"none, if you decide anew: no {moved} that is moved alone changes this within the"
        kept = _kept_change(report)
        return f"{anew} range searched{rest}. {kept[0].upper()}{kept[1:]}"
    return _kept_change(report)


def _kept_change(report: Report) -> str:
    """The nearest flip by today's decisions, in a sentence, and where the choice is ruled out."""
    for nearest in nearest_first(report.margins)[:1]:
        *_, point, clear, rival = next(_flips(nearest, _scale(report)))
        if rival:
            cost = nearest.what.removeprefix(_FACTOR)
            now = f"(now {_now(nearest)})" if cost == nearest.what else "times today's"
            moves = "falls" if point.startswith("below") else "rises"
            begin = f"if today's decisions stay, {rival} costs as little once the {cost} {moves}"
            return f"{begin} {point} {now}{_ruled_out(report, moves, point, clear)}."
    counted = zip(report.problem.classes, report.best.counts.class_weights, strict=True)
    if absent := [label for label, mass in counted if not mass]:
        absent_names = few_names(absent, NAME)
        return f"none is known, if today's decisions stay: there is no case of {absent_names}."
    return "none, if today's decisions stay: no number that is moved alone changes this."


def _ruled_out(report: Report, moves: str, point: str, clear: str) -> str:
    """Where it is clear that today's choice costs more, as the rest of a sentence."""
    best = report.best
    by_cases = _names_none(report) and best.cost.value < report.naive.cost
    choice = best.name if by_cases else _choice(report)
    if clear == point:
        return f"; then {choice} is ruled out"
    if clear == "–":
        return ""
    return f", a close call; {choice} cannot be ruled out " + (
        "however far it moves" if clear == "never" else f"until it {moves} {clear}"
    )


def anew_section(report: Report) -> Section | None:
    """The section with the values of a limit and of costs beyond which the choice is ruled out."""
    flips = report.flips_under_limits
    if not flips:
        return None
    costs = len(flips) > 1
    moved = ", or all costs of one decision multiplied by a factor" if costs else ""
    searched = ", and factors from 0.1 to 10" if costs else ""
    text = (
        f"The limit moved alone{moved}; all rules are priced anew. Today's choice cannot be ruled "
        "out until the data can tell that something else is cheaper. What is recommended may "
        f"change before. Limits from 0 to 100 % are searched{searched}. {_left_out(report)}."
    )
    rows = tuple(
        (
            middle(_moved(flip, report), NAME + 10),
            _flip_value(flip.value),
            _moves_to(flip, side),
            _in_words(flip, side, report),
        )
        for flip, side in _nearest_flips(report)
    )
    never = tuple(_never_in_words([flip for flip in flips if _never(flip)], report))
    table = Table(("moved alone", "now", "until", "then"), rows) if rows else None
    return Section(_ANEW, (text, *never), table)


def _left_out(report: Report) -> str:
    """What was not moved under a limit, and why."""
    if len(report.flips_under_limits) > 1:
        return "Priors and single costs are not moved here"
    if any(system.rule == TUNED_APART for system in report.systems):
        why = "a threshold that was tuned to today's costs cannot follow other costs"
    else:
        why = "that would take too long for so many cases"
    return f"Costs and priors are not moved: {why}"


def _nearest_flips(report: Report) -> list[tuple[Flip, int]]:
    """Flips under a limit with their side, by the ratio to the value now; ends of a limit last."""
    sides = [(flip, side) for flip in report.flips_under_limits for side in (-1, 1)]

    def distance(placed: tuple[Flip, int]) -> tuple[bool, float]:
        now, then = placed[0].value, _end(*placed)
        return _is_trivial(*placed, report), abs(log(then / now)) if now > 0 and then > 0 else inf

    return sorted((place for place in sides if isfinite(_end(*place))), key=distance)


def _end(flip: Flip, side: int) -> float:
    return flip.high if side > 0 else flip.low


def _is_trivial(flip: Flip, side: int, report: Report) -> bool:
    """Whether a limit is moved to the end of its range, and leaves nothing but one decision."""
    names = flip.above if side > 0 else flip.below
    constant = len(names) == 1 and names[0] in map(_text.always, report.problem.decisions)
    return _is_limit(flip.what) and _end(flip, side) in (0.0, 1.0) and constant


def _in_words(flip: Flip, side: int, report: Report) -> str:
    """What may be the cheapest beyond a flip: models, or one system by its whole name."""
    names = flip.above if side > 0 else flip.below
    models = {system.name: system.model for system in report.systems}
    listed_names = (
        names if len(names) == 1 else tuple(dict.fromkeys(models.get(n, n) for n in names))
    )
    texts = [middle(name, NAME) for name in listed_names]
    texts = texts if len(texts) <= 5 else [*texts[:4], f"{len(texts) - 4} others"]
    return " or ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def _never(flip: Flip) -> bool:
    return not (isfinite(flip.low) or isfinite(flip.high))


def _is_limit(what: str) -> bool:
    return what.startswith("limit on ")


def _flip_value(value: float) -> str:
    return f"{_text.number(100 * value)} %"


def _moved(flip: Flip, report: Report) -> str:
    """The limit as reports write it, or the costs of a decision."""
    if _is_limit(flip.what):
        return str(report.problem.limits[0])
    return f"all costs of deciding {flip.what.removeprefix('factor on the costs of ')}"


def _moved_in_words(flip: Flip, report: Report) -> str:
    """The same for a sentence."""
    moved = _moved(flip, report)
    return f"the limit ({moved})" if _is_limit(flip.what) else moved


def _never_in_words(flips: list[Flip], report: Report) -> Iterator[str]:
    """A sentence about what never rules out today's choice, if there is anything."""
    if not flips:
        return
    texts = [_moved_in_words(flip, report) for flip in flips]
    listed = " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
    rule = "rules" if len(flips) == 1 and _is_limit(flips[0].what) else "rule"
    yield f"Moved alone within the range searched, {listed} never {rule} out today's choice."


def _moves_to(flip: Flip, side: int) -> str:
    word = "rise" if side > 0 else "fall"
    return f"{word}{'s' if _is_limit(flip.what) else ''} to {_flip_value(_end(flip, side))}"


def _until(flip: Flip, side: int, report: Report) -> str:
    moved, moves = _moved_in_words(flip, report), _moves_to(flip, side)
    return f"{moved} {moves}" if _is_limit(flip.what) else f"{moved} {moves} of today's"


def _flips(margin: Margin, scale: float) -> Iterator[tuple[str, ...]]:
    """A row for each direction in which the verdict flips."""
    prior = margin.is_prior
    sides = (
        ("below", margin.low, margin.clear_low, margin.low_rival),
        ("above", margin.high, margin.clear_high, margin.high_rival),
    )

    def text(side: str, point: float) -> str:
        if isfinite(point):
            near = rounding.flip(point, margin.value, scale)
            return f"{side} {_text.probability(point) if prior else near}"
        return "–" if isnan(point) else "never"

    flips = [
        (text(side, point), text(side, clear), middle(str(rival), NAME))
        for side, point, clear, rival in sides
        if rival is not None
    ]
    named = (middle(margin.what, NAME + 10), _now(margin))
    nowhere = (text("", margin.low), text("", margin.clear_low), "")
    for flip in flips or [nowhere]:
        yield (*named, *flip)
        named = ("", "")


def _now(margin: Margin) -> str:
    return _text.probability(margin.value) if margin.is_prior else _text.number(margin.value)


def _scale(report: Report) -> float:
    """The largest cost, or 1 where factors move instead of costs."""
    return 1.0 if moves_factors(report) else float(np.abs(report.problem.costs).max())


def moves_factors(report: Report) -> bool:
    """Whether margins move factors, since costs are not single numbers or models cost to run."""
    return bool(report.problem.columns or report.assumptions.running_costs)


def _remade(worth: float, part: UncertainPart) -> str:
    """What it is worth to know a number where rules are made again, with the interval."""
    value = _text.number(worth, 3)
    ends = (_text.number(end, 3) for end in (part.evppi_remade_low, part.evppi_remade_high))
    return value if isnan(part.evppi_remade_low) else f"{value} ({' to '.join(ends)})"


def unknown_section(report: Report, uncertainty: Uncertainty) -> Section:
    """How likely the verdict is to hold, and what better knowledge would be worth."""
    level = _text.percent(report.assumptions.level)
    remade = uncertainty.evpi_remade is not None
    header = ("unknown", "mean", f"{level} of it", "worth knowing", *["rules remade"] * remade)
    rows = tuple(
        (
            middle(part.what, NAME + 10),
            "–" if isnan(part.mean) else _text.number(part.mean),
            "–" if isnan(part.low) else f"{_text.number(part.low)} to {_text.number(part.high)}",
            _text.number(part.evppi, 3),
            *([] if part.evppi_remade is None else [_remade(part.evppi_remade, part)]),
        )
        for part in uncertainty.parts
    )
    alone = _ALONE.format(remade=_REMADE * remade)
    return Section(UNKNOWN, (*uncertainty.sentences, alone), filled(Table(header, rows)))


# A report as sections of sentences and tables, which all renderers share -------------------------

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
