"""Figures of tables and of maps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes.audit import HEXAGON, Disagreement
from stakes.errors import InputError
from stakes.plot._style import GREY, INK, as_text, axes_for, finish, short, styles
from stakes.problem import Problem
from stakes.regions import Regions
from stakes.tally import Counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def decision_table(
    counts: Counts, *, shares: FloatArray | None = None, ax: Axes | None = None
) -> Axes:
    """Draw counts by class and decision, shaded by their share of the class.

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
    _check.no_leading_axes("counts", counts.leading)
    values = counts.values
    if shares is not None:
        shares = _shaped("shares", shares, values.shape)
    ax = axes_for(ax)
    rates = values / np.maximum(values.sum(axis=1, keepdims=True), 1e-300)
    ax.imshow(rates, cmap="Blues", vmin=0, vmax=1.4, aspect="auto")
    for (k, d), count in np.ndenumerate(values):
        text = f"{count:.6g}"
        if shares is not None and shares.sum() > 0:
            text += f"\n{100 * shares[k, d] / shares.sum():.3g} % of cost"
        dark = rates[k, d] > 0.8
        ax.text(
            d, k, text, ha="center", va="center", color="white" if dark else INK, fontsize="small"
        )
    classes = counts.classes or tuple(range(counts.n_classes))
    decisions = counts.decisions or tuple(range(counts.n_decisions))
    ax.set_xticks(range(len(decisions)), [as_text(label) for label in decisions])
    ax.set_yticks(range(len(classes)), [as_text(label) for label in classes])
    return finish(ax, x="decision", y="true class", legend=False)


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
    ax = axes_for(ax, square=True)
    c = np.linspace(0, 1, 201)
    colours = {name: style["color"] for name, style in styles(regions.models)}
    labelled: set[str] = set()
    for part in regions.parts:
        name = ", ".join(map(str, part.cheapest))
        colour = colours.get(as_text(part.cheapest[0]), GREY) if part.cheapest else GREY
        label = None if name in labelled else as_text(name)
        labelled.add(name)
        low, high = _share_at(c, part.high), _share_at(c, part.low)
        ax.fill_between(c, low, high, color=colour, alpha=0.4, linewidth=0, label=label)
    if at is not None:
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
    outline = _shaped("outline", outline, (None, 2))
    ax = axes_for(ax, square=True)
    closed = np.concatenate([outline, outline[:1]])
    ax.fill(*outline.T, color=GREY, alpha=0.12, linewidth=0)
    ax.plot(*closed.T, color=GREY, linewidth=1)
    ax.plot(0, 0, marker="+", color=GREY)
    ax.annotate("accuracy", (0, 0), xytext=(4, 4), textcoords="offset points", fontsize="small")
    for (name, style), problem in zip(styles(problems), problems.values(), strict=True):
        point = problem.utility_coordinates
        ax.plot(*point, marker="o", color=style["color"])
        ax.annotate(name, point, xytext=(5, -10), textcoords="offset points", fontsize="small")
    ax.set_aspect("equal")
    return finish(
        ax,
        x="being right is worth more\n← first class    second class →",
        y="being wrong hurts less\n← first class    second class →",
        legend=False,
    )
