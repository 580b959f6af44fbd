"""Figures of tables and of maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray
from stakes._text import number, whole_percent
from stakes.audit import HEXAGON, Disagreement
from stakes.errors import InputError
from stakes.plot._style import (
    GREY,
    INK,
    SIZE,
    as_text,
    axes_for,
    finish,
    label_size,
    short,
    short_names,
    size_in_points,
    spaced,
    styles,
    text_width,
    write_note,
)
from stakes.plot._table_cells import TableCells
from stakes.problem import Problem
from stakes.regions import Regions
from stakes.tally import Counts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
