"""Figures of curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.calibration import Band, Reliability
from stakes.curve import Curve
from stakes.curves import DecisionCurve, DetectionErrorTradeoff, PrecisionRecall
from stakes.limits import CapacityCurve, CoverageCurve
from stakes.plot._style import GREY, INK, as_text, axes_for, finish, styles, write_note
from stakes.tally import ScoreTable
from stakes.thresholds import BestThreshold

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
