"""Figures of lines with bands, of reliability diagrams, and of costs of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes._arithmetic import round_above
from stakes._check import FloatArray, a_range, list_of, named_numbers, not_empty
from stakes._text import number
from stakes._value import Value, record
from stakes.plot._style import (
    GREY,
    INK,
    MOST_BANDS,
    LineLabel,
    as_text,
    axes_for,
    finish,
    label_lines,
    label_width,
    short_names,
    size_in_points,
    styles,
    text_width,
    write_note,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
