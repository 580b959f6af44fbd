"""Tables of where each system wins, of what would flip the verdict, and of uncertain costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf, isfinite, isnan, log

import numpy as np

from stakes import _text
from stakes.regions import Margin, nearest_first
from stakes.render import rounding
from stakes.render.layout import NAME, Section, Table, few_names, filled, middle
from stakes.report import TUNED_APART, Flip, Report, UncertainPart, Uncertainty

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
