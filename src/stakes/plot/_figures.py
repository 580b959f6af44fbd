"""Figures of curves, of lines with bands, of tables and of maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes import _check
from stakes._arithmetic import round_above
from stakes._check import FloatArray, a_range, list_of, named_numbers, not_empty
from stakes._text import number, whole_percent
from stakes._value import Value, record
from stakes.audit import HEXAGON, Disagreement
from stakes.calibration import Band, Reliability
from stakes.curve import Curve
from stakes.curves import DecisionCurve, DetectionErrorTradeoff, PrecisionRecall
from stakes.errors import InputError
from stakes.limits import CapacityCurve, CoverageCurve
from stakes.plot._style import (
    GREY,
    INK,
    MOST_BANDS,
    SIZE,
    LineLabel,
    TableCells,
    as_text,
    axes_for,
    finish,
    label_lines,
    label_size,
    label_width,
    short,
    short_names,
    size_in_points,
    spaced,
    styles,
    text_width,
    write_note,
)
from stakes.problem import Problem
from stakes.regions import Regions
from stakes.tally import Counts, ScoreTable
from stakes.thresholds import BestThreshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Figures of curves -------------------------------------------------------------------------------

_SMOOTH = 33  # points for each piece of a quadratic or odds curve
_MARK: dict[str, Any] = {"color": GREY, "linewidth": 1, "linestyle": ":"}
_COVERAGE = "coverage: share of cases decided"


def cost_curves(
    curves: Mapping[str, Curve],
    *,
    at: float | None = None,
    x: str = "cost proportion",
    ax: Axes | None = None,
) -> Axes:
    """Draw loss over the cost proportion (or skew), one line for each model or method.

    Parameters
    ----------
    curves : curves by model
    at : cost proportion to mark
    x : label of the horizontal axis
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.conditions import CostProportions
    >>> from stakes.curves import optimal_curve
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> lines = {"forest": optimal_curve(table, CostProportions)}
    >>> cost_curves(lines, ax=Figure().subplots()).get_xlabel()
    'cost proportion'
    """
    _check.mapping_of("curves", curves, Curve)
    points = {name: curve.points(_SMOOTH) for name, curve in curves.items()}
    lines = {name: (each["x"], each["y"]) for name, each in points.items()}
    ax = _over_shares(lines, x=x, y="loss", at=at, ax=ax)
    ax.set_ylim(bottom=0)
    return ax


def capacity_curves(
    curves: Mapping[str, CapacityCurve],
    *,
    at: float | None = None,
    unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw cost per case over the share of cases that may get a decision.

    Parameters
    ----------
    curves : curves by model
    at : share to mark
    unit : unit of the costs, for the label
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.limits import capacity_curve
    >>> from stakes.problem import Problem
    >>> problem = Problem([[0, 3], [180, 8]], decisions=["approve", "review"])
    >>> curve = capacity_curve([0.01, 0.2, 0.7], problem, "review")
    >>> ax = capacity_curves({"forest": curve}, unit="EUR", ax=Figure().subplots())
    >>> ax.get_ylabel()
    'cost per case, EUR'
    """
    _check.mapping_of("curves", curves, CapacityCurve)
    _check.not_empty("curves", curves)
    corners = {name: curve.cost.columns() for name, curve in curves.items()}
    lines = {name: (each["x"], each["y"]) for name, each in corners.items()}
    decision = as_text(next(iter(curves.values())).decision)
    x, y = f"capacity: share of {decision}", _in_unit("cost per case", unit)
    return _over_shares(lines, x=x, y=y, at=at, ax=ax)


def coverage_curves(
    curves: Mapping[str, CoverageCurve],
    *,
    at: float | None = None,
    unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw cost per decided case over the share of cases that are decided.

    Parameters
    ----------
    curves : curves by model
    at : coverage to mark
    unit : unit of the costs, for the label
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.limits import coverage_curve
    >>> from stakes.problem import Problem
    >>> curve = coverage_curve([0.01, 0.2, 0.7], Problem.zero_one(2))
    >>> coverage_curves({"forest": curve}, ax=Figure().subplots()).get_ylabel()
    'cost per case'
    """
    _check.mapping_of("curves", curves, CoverageCurve)
    lines = {
        name: (curve.shares, curve.selective_cost(curve.shares)) for name, curve in curves.items()
    }
    return _over_shares(lines, x=_COVERAGE, y=_in_unit("cost per case", unit), at=at, ax=ax)


def break_even_curves(
    curves: Mapping[str, CoverageCurve],
    *,
    at: float | None = None,
    unit: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the price of an abstention at which each share of decided cases is the best.

    Parameters
    ----------
    curves : curves by model
    at : price to mark
    unit : unit of the costs, for the label
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.limits import coverage_curve
    >>> from stakes.problem import Problem
    >>> curve = coverage_curve([0.01, 0.2, 0.7], Problem.zero_one(2))
    >>> break_even_curves({"forest": curve}, unit="EUR", ax=Figure().subplots()).get_ylabel()
    'price of an abstention, EUR'
    """
    _check.mapping_of("curves", curves, CoverageCurve)
    if at is not None:
        _check.one_number("at", at)
    shares = {name: np.append(0.0, curve.shares) for name, curve in curves.items()}
    lines = {name: (shares[name], curve.break_even(shares[name])) for name, curve in curves.items()}
    price = _in_unit("price of an abstention", unit)
    ax = _over_shares(lines, x=_COVERAGE, y=price, ax=ax, drawstyle="steps-pre")
    if at is not None:
        ax.axhline(at, **_MARK)
    return ax


def _over_shares(
    lines: Mapping[str, tuple[FloatArray, FloatArray]],
    *,
    x: str,
    y: str,
    at: float | None = None,
    ax: Axes | None,
    **drawn: Any,
) -> Axes:
    """Draw lines over shares or proportions, from 0 to 1, one of which may be marked."""
    if at is not None:
        _check.one_number("at", at)
    ax = axes_for(ax, names=lines)
    for (name, style), line in zip(styles(lines), lines.values(), strict=True):
        ax.plot(*line, label=name, **style, **drawn)
    if at is not None:
        ax.axvline(at, **_MARK)
    ax.set_xlim(0, 1)
    return finish(ax, x=x, y=y, legend=True)


def _in_unit(quantity: str, unit: str | None) -> str:
    if unit is None:
        return quantity
    _check.require("unit", unit, str)
    return f"{quantity}, {as_text(unit)}" if unit else quantity


def roc(
    curves: Mapping[str, Curve],
    *,
    hulls: Mapping[str, Curve] | None = None,
    best: Mapping[str, BestThreshold] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw hit rate over false-alarm rate, with hulls and the tangents of best thresholds.

    Parameters
    ----------
    curves : curves by model
    hulls : convex hulls by model
    best : best thresholds by model, drawn with their tangents
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.curves import roc_curve
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> ax = roc({"forest": roc_curve(table)}, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'false-alarm rate'
    """
    _check.mapping_of("curves", curves, Curve)
    if hulls is not None:
        _check.mapping_of("hulls", hulls, Curve)
    if best is not None:
        _check.mapping_of("best", best, BestThreshold)
    ax = axes_for(ax, square=True, names=curves)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    for (name, style), curve in zip(styles(curves), curves.values(), strict=True):
        corners = curve.columns()
        ax.plot(corners["x"], corners["y"], label=name, **style)
        if hulls and name in hulls:
            hull = hulls[name].columns()
            ax.plot(hull["x"], hull["y"], color=style["color"], linewidth=0.8, alpha=0.6)
        if best and name in best:
            _tangent(ax, best[name], style["color"])
    ax.set_aspect("equal")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    return finish(ax, x="false-alarm rate", y="hit rate", legend=True)


def _tangent(ax: Axes, best: BestThreshold, colour: str) -> None:
    """Draw the best point and the line of equal cost through it."""
    rates = best.counts.values[:, 1] / best.counts.values.sum(axis=1)
    ax.plot(*rates, marker="o", markersize=5, color=colour)
    if np.isfinite(best.intercept):
        ax.axline(tuple(rates), slope=best.slope, color=colour, linewidth=0.8, linestyle=":")


def precision_recall(curves: Mapping[str, PrecisionRecall], *, ax: Axes | None = None) -> Axes:
    """Draw precision over recall as steps; interpolation between thresholds would be wrong.

    Parameters
    ----------
    curves : curves by model
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes import curves
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> ax = precision_recall({"forest": curves.precision_recall(table)}, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'recall'
    """
    _check.mapping_of("curves", curves, PrecisionRecall)
    ax = axes_for(ax, square=True, names=curves)
    for (name, style), curve in zip(styles(curves), curves.values(), strict=True):
        ax.plot(curve.recall, curve.precision, label=name, drawstyle="steps-post", **style)
    ax.set(xlim=(0, 1.01), ylim=(0, 1.02))
    return finish(ax, x="recall", y="precision", legend=True)


def detection_error_tradeoff(
    curves: Mapping[str, DetectionErrorTradeoff], *, ax: Axes | None = None
) -> Axes:
    """Draw miss rate over false-alarm rate, in percent on probit axes.

    These have no place for rates of 0 and 100 %. A score that has no other rates, because it is
    perfect or constant, is named above the axes.

    Parameters
    ----------
    curves : curves by model
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes import curves
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> lines = {"forest": curves.detection_error_tradeoff(table)}
    >>> len(detection_error_tradeoff(lines, ax=Figure().subplots()).lines)
    1
    """
    _check.mapping_of("curves", curves, DetectionErrorTradeoff)
    ax = axes_for(ax, square=True, names=curves)
    missing: list[str] = []
    for (name, style), curve in zip(styles(curves), curves.values(), strict=True):
        finite = np.isfinite(curve.false_alarm_probit) & np.isfinite(curve.miss_probit)
        x, y = curve.false_alarm_probit[finite], curve.miss_probit[finite]
        if x.size:
            ax.plot(x, y, label=name, marker="o" if x.size == 1 else None, **style)
        else:
            missing.append(name)
    # Percentages to mark, and the normal quantiles at which they lie.
    percent = {0.1: -3.0902, 1: -2.3263, 5: -1.6449, 20: -0.8416, 50: 0.0, 80: 0.8416, 95: 1.6449}
    labels = [f"{p:g}" for p in percent]
    ax.set_xticks(list(percent.values()), labels)
    ax.set_yticks(list(percent.values()), labels)
    if missing:
        more = [f"{len(missing) - 2} more"] if len(missing) > 2 else []
        why = "at every threshold a rate is 0 %, 100 % or undefined"
        write_note(ax, f"not drawn: {', '.join([*missing[:2], *more])}\n({why})")
    ax.grid(color=GREY, alpha=0.3, linewidth=0.5)
    return finish(ax, x="false-alarm rate, %", y="miss rate, %", legend=True)


def decision_curves(
    curves: Mapping[str, DecisionCurve],
    *,
    threshold: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw net benefit over the threshold probability, with treating all and treating nobody.

    Parameters
    ----------
    curves : curves by model
    threshold : threshold probability to mark
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.curves import decision_curve
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> ax = decision_curves({"forest": decision_curve(table)}, ax=Figure().subplots())
    >>> ax.get_xlabel()
    'threshold probability'
    """
    _check.mapping_of("curves", curves, DecisionCurve)
    _check.not_empty("curves", curves)
    if threshold is not None:
        _check.one_number("threshold", threshold)
    ax = axes_for(ax, names=[*curves, "all", "nobody"])
    first = next(iter(curves.values()))
    for (name, style), curve in zip(styles(curves), curves.values(), strict=True):
        _net_benefit(ax, curve.net_benefit, label=name, **style)
    _net_benefit(ax, first.treat_all, label="all", color=GREY, linewidth=1)
    ax.plot([0, 1], [0, 0], label="nobody", color=INK, linewidth=1)
    if threshold is not None:
        ax.axvline(threshold, **_MARK)
    top = first.prevalence
    ax.set(xlim=(0, 1), ylim=(-0.25 * top, 1.1 * top))
    return finish(ax, x="threshold probability", y="net benefit", legend=True)


def _net_benefit(ax: Axes, curve: Curve, **style: Any) -> None:
    points = curve.points(_SMOOTH)
    # At a threshold probability of one the net benefit jumps, or is −infinite.
    shown = np.isfinite(points["y"]) & (points["x"] < 1)
    ax.plot(points["x"][shown], points["y"][shown], **style)


def gains(curves: Mapping[str, Curve], *, ax: Axes | None = None) -> Axes:
    """Draw the share of positives found over the share of cases acted on.

    Parameters
    ----------
    curves : curves by model
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.curves import gains_curve
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> gains({"forest": gains_curve(table)}, ax=Figure().subplots()).get_ylabel()
    'share of positives found'
    """
    _check.mapping_of("curves", curves, Curve)
    ax = axes_for(ax, square=True, names=curves)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    for (name, style), curve in zip(styles(curves), curves.values(), strict=True):
        corners = curve.columns()
        ax.plot(corners["x"], corners["y"], label=name, **style)
    return finish(ax, x="share of cases", y="share of positives found", legend=True)


def reliability(
    curve: Reliability, *, band: Band | None = None, level: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw the observed share of positives over the score, with a band for perfect calibration.

    Parameters
    ----------
    curve : mean score and share of positives of each bin
    band : simulated shares under perfect calibration; None draws no band
    level : share of the simulated curves to cover
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes import calibration
    >>> from stakes.scoring import EqualWidth
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> curve = calibration.reliability(table, EqualWidth(2))
    >>> reliability(curve, ax=Figure().subplots()).get_xlabel()
    'score'
    """
    _check.require("curve", curve, Reliability)
    if band is not None:
        _check.require("band", band, Band)
    ax = axes_for(ax, square=True)
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    if band is not None:
        low, high = band.limits(level)
        ax.fill_between(band.scores, low, high, color="#0072B2", alpha=0.15, linewidth=0)
    ax.plot(curve.scores, curve.observed, color="#0072B2", linewidth=1.4)
    size = 6 + 60 * curve.bin_weights / curve.bin_weights.max()
    ax.scatter(curve.bin_scores, curve.bin_shares, s=size, color="#0072B2", zorder=3)
    ax.set_aspect("equal")
    ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.01))
    return finish(ax, x="score", y="observed share of positives", legend=False)


def score_histogram(table: ScoreTable, *, bins: int = 30, ax: Axes | None = None) -> Axes:
    """Draw scores of the two classes, the positives above the axis and the negatives below.

    Heights are shares within each class, so that a rare class is as visible as the other.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)
    bins : how many bars
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable([0.2, 0.6], [[3, 1], [1, 3]])
    >>> score_histogram(table, bins=5, ax=Figure().subplots()).get_xlabel()
    'score'
    """
    _check.require("table", table, ScoreTable)
    bins = _check.whole("bins", bins, low=1, high=10_000)
    _check.no_leading_axes("table", table.leading)
    ax = axes_for(ax)
    names = table.classes or ("negative", "positive")
    edges = np.histogram_bin_edges(table.scores[np.isfinite(table.scores)], bins)
    for k, sign in ((1, 1), (0, -1)):
        total = table.weights[:, k].sum() or 1.0
        heights, _ = np.histogram(table.scores, edges, weights=table.weights[:, k] / total)
        colour = "#D55E00" if k else "#0072B2"
        ax.stairs(
            sign * heights, edges, fill=True, color=colour, alpha=0.75, label=as_text(names[k])
        )
    ax.axhline(0, color=INK, linewidth=0.8)
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):g}")
    return finish(ax, x="score", y="share of the class", legend=True)


# Figures of lines with bands, of reliability diagrams, and of costs of systems -------------------

_INSIDE = 0.88, 0.82  # shares of width and height of its cell that a panel takes
_TITLE = 8.0  # size of the title of a panel, in points
_FLOOR = -0.24  # bottom of the strip of case counts below a reliability diagram that ends at 1
_WIDER, _WIDEST = 2.0, 6.0  # extra width, in points, of a line below another, and in all
_REFERENCES = (("#555555", (0, (1, 1.2))), (INK, "-"), (GREY, "-"))


@record
class BandedLine(Value):
    """A line with an optional band; reference lines are grey and belong to no model.

    Attributes
    ----------
    name : the name written beside the line
    x, y : (P,)
    low, high : (P,) limits of the band, or None
    reference : whether it is a reference line
    mark : a point to mark, such as that of the best threshold
    detail : text that follows the name beside the line
    place : position among all models, which decides the colour; None: position among these lines

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> x, y = np.array([0.0, 0.5, 1.0]), np.array([0.4, 0.2, 0.3])
    >>> line = BandedLine("forest", x, y, low=y - 0.05, high=y + 0.05, mark=(0.5, 0.2))
    >>> ax = banded_lines([line], x="threshold", y="cost", ax=Figure().subplots())
    >>> ax.get_xlabel(), ax.lines[0].get_ydata().tolist()
    ('threshold', [0.4, 0.2, 0.3])
    """

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    reference: bool = False
    mark: tuple[float, float] | None = None
    detail: str = ""
    place: int | None = None


def banded_lines(
    lines: Sequence[BandedLine],
    *,
    x: str,
    y: str,
    note: str = "",
    ylim: tuple[float | None, float | None] = (None, None),
    verticals: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw lines with bands and write their names beside them.

    More than six bands would hide each other, and none of them is drawn. Where lines coincide, the
    first is the widest, so that all of them can be seen.

    Parameters
    ----------
    lines : the lines
    x, y : labels of the axes, with units
    note : a line of small print above the axes that explains the bands
    ylim : limits of the vertical axis; None: from the data
    verticals : values of x to mark, by name
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> line = BandedLine("forest", np.array([0.0, 1.0]), np.array([0.2, 0.4]))
    >>> banded_lines([line], x="threshold", y="cost", ax=Figure().subplots()).get_ylabel()
    'cost'
    """
    list_of("lines", lines, BandedLine)
    not_empty("lines", lines)
    a_range("ylim", ylim)
    if verticals is not None:
        named_numbers("verticals", verticals)
    names = [line.name for line in lines] + list(verticals or ())
    detail = max((len(line.detail) for line in lines), default=0)
    ax = axes_for(ax, size=(4.6 + label_width(names, detail), 3.4))
    drawn = _line_styles(lines)
    bands = sum(line.low is not None for line in lines)
    for line in sorted(lines, key=lambda line: not line.reference):
        style = drawn[id(line)]
        if line.low is not None and line.high is not None and bands <= MOST_BANDS:
            ax.fill_between(
                line.x,
                line.low,
                line.high,
                color=style["color"],
                alpha=0.2 if bands < 3 else 0.1,
                linewidth=0,
                label=f"_{as_text(line.name)}",
            )
        ax.plot(line.x, line.y, label=as_text(line.name), **style)
        if line.mark is not None:
            dot = {"color": style["color"], "markeredgecolor": "white", "markersize": 6}
            ax.plot(*line.mark, marker="o", label="_mark", zorder=4, **dot)
    vertical: dict[str, Any] = {"color": INK, "linewidth": 0.9, "linestyle": (0, (1, 2))}
    for at in (verticals or {}).values():
        ax.axvline(at, label="_vertical", **vertical)
    domains = [line.x[[0, -1]] for line in lines]
    ax.set_xlim(min(domain[0] for domain in domains), max(domain[1] for domain in domains))
    ax.set_ylim(*ylim)
    finish(ax, x=x, y=y, legend=False)
    write_note(ax, note)
    labels = [
        LineLabel(line.name, drawn[id(line)], line.y[-1], float(np.mean(line.y)), line.detail)
        for line in lines
    ]
    label_lines(ax, [*labels, *(LineLabel(name, vertical) for name in verticals or ())])
    return ax


def _line_styles(lines: Sequence[BandedLine]) -> dict[int, dict[str, Any]]:
    """A style for each line, by its id; a line that later ones cover is wider than they are."""
    models = [line for line in lines if not line.reference]
    places = [k if line.place is None else line.place for k, line in enumerate(models)]
    palette = [style for _, style in styles(range(max(places, default=0) + 1))]
    by_line: dict[int, dict[str, Any]] = {}
    for k, (place, line) in enumerate(zip(places, models, strict=True)):
        covered = sum(_coincide(line, other) for other in models[k + 1 :])
        above = sum(_coincide(line, other) for other in models[:k])
        step = min(_WIDER, _WIDEST / max(covered + above, 1))
        wide = palette[place]["linewidth"] + step * covered
        by_line[id(line)] = {**palette[place], "linewidth": wide}
    greys = cycle(_REFERENCES)
    for line in lines:
        if line.reference:
            colour, dash = next(greys)
            by_line[id(line)] = {"color": colour, "linestyle": dash, "linewidth": 1.0}
    return by_line


def _coincide(line: BandedLine, other: BandedLine) -> bool:
    same = line.x.shape == other.x.shape
    return same and bool(np.allclose(line.y, other.y, rtol=1e-3, atol=1e-9, equal_nan=True))


# Panels of reliability ----------------------------------------------------------------------------


@record
class ReliabilityPanel(Value):
    """Reliability of the probabilities of one model for one class.

    Attributes
    ----------
    name : name of the model, the class, or both
    scores, shares, low, high, weights : (B,) of bins: mean score, share of positives, limits of its
        interval, and number of cases
    smooth_scores, smooth, smooth_low, smooth_high : (P,) the smooth line and its band

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> scores, shares, line = np.array([0.2, 0.7]), np.array([0.3, 0.6]), np.array([0.1, 0.9])
    >>> panel = ReliabilityPanel("forest", scores, shares, shares - 0.1, shares + 0.1,
    ...                          np.array([40, 20]), line, line, line - 0.1, line + 0.1)
    >>> reliability_panels([panel], ax=Figure().subplots()).get_xlabel()
    'predicted probability'
    """

    name: str
    scores: FloatArray
    shares: FloatArray
    low: FloatArray
    high: FloatArray
    weights: FloatArray
    smooth_scores: FloatArray
    smooth: FloatArray
    smooth_low: FloatArray
    smooth_high: FloatArray


def reliability_panels(
    panels: Sequence[ReliabilityPanel], *, note: str = "", ax: Axes | None = None
) -> Axes:
    """Draw a panel for each model and class, side by side, so that bands do not overlap.

    Dots are bins with their intervals, the line is the smooth curve with its band, and bars at the
    bottom show the number of cases in each bin; the largest number is written out. Each axis ends
    at a round number above all dots and lines; intervals may go beyond. Several panels are drawn
    inside `ax`, whose own axes are then hidden.

    Parameters
    ----------
    panels : one for each model or class
    note : a line of small print
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes that were passed or made, which hold the panels

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> bins, line = [np.array([0.2, 0.7])] * 5, [np.array([0.0, 1.0])] * 4
    >>> panel = ReliabilityPanel("forest", *bins, *line)
    >>> reliability_panels([panel], ax=Figure().subplots()).get_xlabel()
    'predicted probability'
    """
    list_of("panels", panels, ReliabilityPanel)
    not_empty("panels", panels)
    columns = min(len(panels), 5 if len(panels) > 6 else 3)
    rows = -(-len(panels) // columns)
    size = (3.6, 3.7) if len(panels) == 1 else (1.9 * columns + 0.5, 2.45 * rows + 0.4)
    ax = axes_for(ax, size=size)
    write_note(ax, note)
    ends = _ends(panels)
    x, y = "predicted probability", "observed share"
    if len(panels) == 1:
        _reliability_panel(ax, panels[0], ends, every=True)
        return finish(ax, x=x, y=y, legend=False)
    ax.set_axis_off()
    ax.title.set_visible(True)
    middle = (columns - 1) // 2  # the column below which the common label is centred
    centre = 0.5 if columns % 2 else 0.5 + 0.5 / _INSIDE[0]
    names = _titles(ax, panels, columns)
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        inset = ax.inset_axes(_box(row, column, rows, columns))
        _reliability_panel(inset, panel, ends, every=False)
        inset.set_title(names[place], fontsize=_TITLE, pad=3)
        inset.tick_params(labelsize=6.5, pad=1.5)
        below = place + columns >= len(panels)
        inset.tick_params(labelbottom=below, labelleft=column == 0)
        finish(inset, x="", y="", legend=False)
        if below and column == middle:
            inset.set_xlabel(x, x=centre, fontsize=7)
        if column == 0:
            inset.set_ylabel(y, fontsize=7)
    return ax


def _box(row: int, column: int, rows: int, columns: int) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of a panel, as fractions of the axes."""
    left, bottom = 0.25 / columns, 0.2 / rows
    width, height = (1 - left) / columns, (1 - bottom) / rows
    inside = _INSIDE[0] * width, _INSIDE[1] * height
    return left + column * width, bottom + (rows - 1 - row) * height, *inside


def _titles(ax: Axes, panels: Sequence[ReliabilityPanel], columns: int) -> list[str]:
    """Names of panels, shortened to two lines that are as wide as a panel and the gap beside it."""
    wide = _box(0, 0, 1, columns)[2] / _INSIDE[0] * size_in_points(ax)[0]
    room = max(int(wide / text_width("x", _TITLE)), 8)
    return [_in_two_lines(name, room) for name in short_names((p.name for p in panels), 2 * room)]


def _in_two_lines(name: str, room: int) -> str:
    """A name that is longer than the room, broken at the space that is nearest to its middle."""
    if len(name) <= room:
        return name
    middle = (len(name) + 1) // 2
    spaces = [k for k in range(len(name) - room - 1, room + 1) if name[k : k + 1] == " "]
    at = min(spaces, key=lambda k: abs(k - middle), default=middle)
    return f"{name[:at]}\n{name[at:].lstrip()}"


def _ends(panels: Sequence[ReliabilityPanel]) -> tuple[float, float]:
    """Where the axes of probabilities and of shares end, which is not before the former."""
    scores = _largest([p.scores for p in panels], [p.smooth_scores for p in panels])
    shares = _largest([p.shares for p in panels], [p.smooth for p in panels])
    return round_above(scores), round_above(max(scores, shares))


def _largest(*parts: list[FloatArray]) -> float:
    values = np.concatenate([values for part in parts for values in part])
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))


def _reliability_panel(
    ax: Axes, panel: ReliabilityPanel, ends: tuple[float, float], *, every: bool
) -> None:
    colour, (right, top) = "#0072B2", ends
    ax.plot([0, right], [0, right], color=GREY, linewidth=0.8, label="_diagonal")
    _count_bars(ax, panel, ends, every=every)
    ax.fill_between(
        panel.smooth_scores,
        panel.smooth_low,
        panel.smooth_high,
        color=colour,
        alpha=0.18,
        linewidth=0,
        label="_band",
    )
    ax.plot(panel.smooth_scores, panel.smooth, color=colour, linewidth=1.4, label="smooth")
    ax.vlines(panel.scores, panel.low, panel.high, color=INK, linewidth=0.8, label="_intervals")
    dots: dict[str, Any] = {"linestyle": "none", "marker": "o", "markersize": 3}
    ax.plot(panel.scores, panel.shares, color=INK, label="bins", **dots)
    ax.set_xlim(-0.02 * right, 1.02 * right)
    ax.set_ylim((_FLOOR - 0.02) * top, 1.02 * top)
    ax.set_aspect(right / top)
    ax.spines["left"].set_bounds(0, top)
    for axis, end in ((ax.xaxis, right), (ax.yaxis, top)):
        axis.set_ticks([0, end / 2, end], ["0", number(end / 2), number(end)])


def _count_bars(
    ax: Axes, panel: ReliabilityPanel, ends: tuple[float, float], *, every: bool
) -> None:
    """Draw the number of cases of each bin as bars; small panels print only the largest number."""
    (right, top), most = ends, max(panel.weights.max(initial=0.0), 1e-300)
    tops = (_FLOOR + 0.14 * panel.weights / most) * top
    style: dict[str, Any] = {"color": "#BBBBBB", "linewidth": 7 if every else 3.5}
    ax.vlines(panel.scores, _FLOOR * top, tops, label="_bin counts", **style)
    written: dict[str, Any] = {"va": "bottom", "fontsize": 5.5, "color": "#555555"}
    for k in range(panel.weights.size) if every else [int(np.argmax(panel.weights))]:
        at = panel.scores[k] if every else np.clip(panel.scores[k], 0.06 * right, 0.94 * right)
        ax.text(at, tops[k] + 0.01 * top, _count(panel.weights[k]), ha="center", **written)


def _count(cases: float) -> str:
    """A number of cases in little room: three digits in thousands or millions if it is long."""
    if cases < 1e4:
        return number(cases)
    size, letter = (1e3, "k") if cases < 1e6 else (1e6, "M")
    return f"{number(cases / size, 3)}{letter}"


# Costs of systems ---------------------------------------------------------------------------------


@record
class CostRow(Value):
    """The cost per case of a system, with its interval.

    The `best` system is written in bold; one that is not a `candidate` has an open circle.

    Parameters
    ----------
    name : name of the system
    cost : cost per case
    low : lower limit of the interval
    high : upper limit of the interval
    best : whether the system is recommended
    candidate : whether it can be recommended

    Examples
    --------
    The best system is in bold:

    >>> from matplotlib.figure import Figure
    >>> rows = [CostRow("forest", 0.4, 0.3, 0.5, best=True), CostRow("tree", 0.6, 0.5, 0.7)]
    >>> ax = cost_rows(rows, x="EUR per case", ax=Figure().subplots())
    >>> [(label.get_text(), label.get_fontweight()) for label in ax.get_yticklabels()]
    [('forest', 'bold'), ('tree', 'normal')]
    """

    name: str
    cost: float
    low: float
    high: float
    best: bool = False
    candidate: bool = True


def cost_rows(
    rows: Sequence[CostRow],
    *,
    x: str,
    note: str = "",
    references: Mapping[str, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the costs of systems, one below the other, with intervals and reference costs.

    Parameters
    ----------
    rows : systems with their costs
    x : label of the horizontal axis
    note : a line of small print
    references : costs to mark, by name
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rows = [CostRow("forest", 0.4, 0.3, 0.5, best=True), CostRow("tree", 0.6, 0.5, 0.7)]
    >>> ax = cost_rows(rows, x="EUR per case", ax=Figure().subplots())
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['forest', 'tree']
    """
    list_of("rows", rows, CostRow)
    if references is not None:
        named_numbers("references", references)
    lines = references or {}
    names = short_names([*(row.name for row in rows), *lines], 40)
    space = 0.085 * max(map(len, names), default=0)
    ax = axes_for(ax, size=(3.6 + space, 0.9 + 0.24 * len(names)))
    places = np.arange(len(names))[::-1]
    for place, (name, at), (colour, dash) in zip(
        places[len(rows) :], lines.items(), cycle(_REFERENCES)
    ):
        ax.axvline(at, color=colour, linestyle=dash, linewidth=0.9, label=f"_{as_text(name)}")
        ax.plot(at, place, marker="D", markersize=4, color=colour, label="_reference")
    for place, row in zip(places, rows, strict=False):
        colour = "#D55E00" if row.best else "#0072B2"
        ax.plot([row.low, row.high], [place] * 2, color=colour, linewidth=1.4, label="_interval")
        inside = colour if row.candidate else "white"
        dot: dict[str, Any] = {"markersize": 5, "color": colour, "markerfacecolor": inside}
        ax.plot(row.cost, place, marker="o", label="_cost", **dot)
    ax.set_yticks(places, names, fontsize=8)
    for tick, row in zip(ax.get_yticklabels(), rows, strict=False):
        tick.set_fontweight("bold" if row.best else "normal")
    ax.set_ylim(-0.7, len(names) - 0.3)
    ax.margins(x=0.08)
    write_note(ax, note)
    return finish(ax, x=x, y="", legend=False)


# Figures of tables and of maps -------------------------------------------------------------------

_SMALLER = 0.85  # of their height is left to axes once there are names beside them


def decision_table(
    counts: Counts, *, shares: FloatArray | None = None, ax: Axes | None = None
) -> Axes:
    """Draw counts by class and decision, shaded by their share of the class.

    A new figure is as large as its numbers need, up to 12 inches. Cells without enough room for
    legible numbers have none, and long names are shortened.

    Parameters
    ----------
    counts : cases by true class and decision, (K, M)
    shares : share of each cell in the total cost, (K, M), written below the counts
        As ``cost_shares(counts, problem)`` returns them.
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> counts = Counts([[8, 2, 0], [1, 3, 6]], decisions=["wait", "ask", "treat"])
    >>> decision_table(counts, ax=Figure().subplots()).get_xlabel()
    'decision'
    """
    _check.require("counts", counts, Counts)
    _check.no_leading_axes("counts", counts.leading)
    values = counts.values
    if shares is not None:
        shares = _shaped("shares", shares, values.shape)
    room = 28 if ax is None else int(size_in_points(axes_for(ax))[0] / 3 / text_width("x", SIZE))
    rows, columns = (
        short_names(labels or range(size), min(max(room, 8), 28))
        for labels, size in zip((counts.classes, counts.decisions), values.shape, strict=True)
    )
    cells = TableCells(_cell_texts(values, shares), rows, columns)
    ax = axes_for(ax, size=cells.figure)
    rates = values / np.maximum(values.sum(axis=1, keepdims=True), 1e-300)
    ax.imshow(rates, cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
    _write_cells(ax, cells, rates)
    return finish(ax, x="decision", y="true class", legend=False)


def _cell_texts(values: FloatArray, shares: FloatArray | None) -> list[list[str]]:
    """The number of cases in each cell and, below it, its share of the total cost."""
    if shares is None or not shares.sum() > 0:
        return [[number(count, 6) for count in row] for row in values]
    pairs = zip(values, shares / shares.sum(), strict=True)
    return [
        [f"{number(n, 6)}\n{whole_percent(share)}" for n, share in zip(*pair, strict=True)]
        for pair in pairs
    ]


def _write_cells(ax: Axes, cells: TableCells, rates: FloatArray) -> None:
    """Write the texts of the cells, where there is room, and the names of rows and columns."""
    cell = cells.inside(size_in_points(ax))
    size, (of_rows, of_columns) = cells.text_size(cell), cells.name_sizes(cell)
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": size}
    for (k, d), rate in np.ndenumerate(rates) if size else ():
        ax.text(d, k, cells.texts[k][d], color="white" if rate > 0.8 else INK, **style)
    if size and "\n" in cells.texts[0][0]:
        write_note(ax, "cases, and their share of the total cost")
    slanted: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    turned = slanted if cells.are_wide(cell[0]) else {}
    ax.set_yticks(range(len(cells.rows)), cells.rows, fontsize=of_rows)
    ax.set_xticks(range(len(cells.columns)), cells.columns, fontsize=of_columns, **turned)


def _shaped(name: str, values: object, shape: tuple[int | None, ...]) -> FloatArray:
    """Finite numbers of a shape, in which None is any number of one or more."""
    array = _check.squarable(name, values, ndim=len(shape))
    if any(have != (need or max(have, 1)) for have, need in zip(array.shape, shape, strict=True)):
        raise InputError(
            f"{name} must have shape ({', '.join(str(size or 'n') for size in shape)}); it has "
            f"{array.shape}. Pass one number for each cell."
        )
    return array


def metric_disagreement(table: Disagreement, *, ax: Axes | None = None) -> Axes:
    """Draw the extra cost per case of choosing a model by each metric.

    Above each bar is the model that the metric picks.

    Parameters
    ----------
    table : the picks of each metric and their costs
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.audit import FAMILIAR, disagreement
    >>> tables = {"a": Counts([[9, 1], [4, 6]]), "b": Counts([[6, 4], [1, 9]])}
    >>> table = disagreement(tables, Problem.zero_one(2), metrics=FAMILIAR)
    >>> metric_disagreement(table, ax=Figure().subplots()).get_xlabel()
    'extra cost per case'
    """
    _check.require("table", table, Disagreement)
    ax = axes_for(ax)
    regret = table.regret
    order = np.argsort(np.where(np.isnan(regret), -1, regret), kind="stable")
    names = [table.metrics[i] for i in order]
    rows = np.arange(len(names))
    ax.barh(rows - 0.22, regret[order], height=0.3, color="#D55E00")
    for place, i in enumerate(order):
        picks = short(", ".join(map(str, table.picks_of(table.metrics[i]))))
        ax.text(0, place + 0.14, f" {as_text(picks)}", va="center", fontsize="x-small", color=INK)
    ax.set_yticks(rows, names, fontsize="small")
    ax.set_ylim(-0.6, len(names) - 0.4)
    ax.set_xlim(0, 1.05 * np.nanmax(regret, initial=0.0) or 1.0)
    unit = f", {table.unit}" if table.unit else ""
    return finish(ax, x=f"extra cost per case{unit}", y="", legend=False)


def regions_map(
    regions: Regions, *, at: tuple[float, float] | None = None, ax: Axes | None = None
) -> Axes:
    """Draw which model is the cheapest, by cost proportion and share of positives.

    The comparison of fixed decisions depends on the skew alone, so that every border is a curve of
    constant skew.

    Parameters
    ----------
    regions : over the skew, as returned by ``cheapest_regions(models, CostProportion([0.5, 0.5]))``
    at : the actual cost proportion and share of positives, to mark
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from stakes.regions import CostProportion, cheapest_regions
    >>> models = {"a": Counts([[9, 1], [4, 6]]), "b": Counts([[6, 4], [1, 9]])}
    >>> regions = cheapest_regions(models, CostProportion([0.5, 0.5]))
    >>> regions_map(regions, ax=Figure().subplots()).get_ylabel()
    'share of positives'
    """
    _check.require("regions", regions, Regions)
    ax = axes_for(ax, square=True, names=regions.models)
    c = np.linspace(0, 1, 201)
    looks = zip(regions.models, styles(regions.models), strict=True)
    colours = {model: style["color"] for model, (_, style) in looks}
    labelled: set[str] = set()
    for part in regions.parts:
        name = short(", ".join(map(str, part.cheapest)))
        colour = colours.get(part.cheapest[0], GREY) if part.cheapest else GREY
        label = None if name in labelled else as_text(name)
        labelled.add(name)
        low, high = _share_at(c, part.high), _share_at(c, part.low)
        ax.fill_between(c, low, high, color=colour, alpha=0.4, linewidth=0, label=label)
    if at is not None:
        _check.a_pair("at", at)
        ax.plot(*at, marker="x", color=INK, linestyle="none")
    ax.set(xlim=(0, 1), ylim=(0, 1))
    return finish(ax, x="cost proportion", y="share of positives", legend=True)


def _share_at(c: FloatArray, skew: float) -> FloatArray:
    """The share of positives at which this cost proportion has this skew."""
    positive, negative = c * (1 - skew), (1 - c) * skew
    corner = np.full(c.shape, float(skew < 0.5))  # where every share has the same skew
    total = positive + negative
    return np.asarray(np.divide(positive, total, out=corner, where=total > 0))


def utility_hexagon(
    problems: Mapping[str, Problem], *, outline: FloatArray = HEXAGON, ax: Axes | None = None
) -> Axes:
    """Draw binary problems as points in the space of utility matrices (dyrland, figure 1).

    Parameters
    ----------
    problems : binary problems by name
    outline : corners of the set of admissible matrices, (n, 2)
    ax : axes to draw on; None makes new ones

    Returns
    -------
    the axes

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> problems = {"screening": Problem.binary(false_alarm=1, miss=9)}
    >>> len(utility_hexagon(problems, ax=Figure().subplots()).texts)
    2
    """
    _check.mapping_of("problems", problems, Problem)
    outline = _shaped("outline", outline, (None, 2))
    ax = axes_for(ax, square=True)
    closed = np.concatenate([outline, outline[:1]])
    ax.fill(*outline.T, color=GREY, alpha=0.12, linewidth=0)
    ax.plot(*closed.T, color=GREY, linewidth=1)
    ax.plot(0, 0, marker="+", color=GREY)
    points = [np.zeros(2)]
    for (_, style), problem in zip(styles(problems), problems.values(), strict=True):
        points.append(np.asarray(problem.utility_coordinates))
        ax.plot(*points[-1], marker="o", color=style["color"])
    # Names are about as long as half of the axes.
    _name_points(ax, ["accuracy", *short_names(problems, 20)], np.array(points))
    ax.set_aspect("equal")
    return finish(
        ax,
        x="being right is worth more\n← first class    second class →",
        y="being wrong hurts less\n← first class    second class →",
        legend=False,
    )


def _name_points(ax: Axes, names: Sequence[str], points: FloatArray) -> None:
    """Write names towards the middle of the axes, as far below each other as their letters need."""
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    # The names may make the axes smaller.
    size, gap = label_size(ax, len(names) / _SMALLER)
    heights = (points[:, 1] - low) / (high - low)
    apart = low + spaced(heights, gap / _SMALLER) * (high - low)
    leader = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5}
    style: dict[str, Any] = {"va": "center", "fontsize": size, "arrowprops": leader}
    for name, (x, y), height in zip(names, points.tolist(), apart, strict=True):
        side, ha = (1, "left") if x <= (left + right) / 2 else (-1, "right")
        at = x + 0.05 * side * (right - left), height
        ax.annotate(name, (x, y), xytext=at, ha=ha, **style)
