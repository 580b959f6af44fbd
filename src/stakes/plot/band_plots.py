"""Pictures of lines with their bands, of reliability panel by panel, and of costs of systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes._check import FloatArray
from stakes._value import Value
from stakes.plot._labels import Label, label_lines, label_width
from stakes.plot._style import GREY, INK, axes_for, finish, plain, short_names, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDER = 2.0  # points by which a line that others cover is wider than they are
_REFERENCES = (("#555555", (0, (1, 1.2))), (INK, "-"), (GREY, "-"))


@dataclass(frozen=True, eq=False)
class BandedLine(Value):
    """A line, and a band around it unless that is None; a reference has no model and is grey.

    Attributes
    ----------
    name : as it stands beside the line
    x, y : (P,)
    low, high : (P,), or None
    reference : whether it is there for comparison only
    mark : the point of the line that is marked, such as that of the best threshold
    """

    name: str
    x: FloatArray
    y: FloatArray
    low: FloatArray | None = None
    high: FloatArray | None = None
    reference: bool = False
    mark: tuple[float, float] | None = None


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
    """Lines with bands and their names beside them.

    Of lines that coincide the first is the widest, so that all of them are seen.

    Parameters
    ----------
    x, y : what the axes show, with its unit
    note : a small line above the axes that says what the bands are
    ylim : ends of the vertical axis; None: by the data
    verticals : values of x that are marked, by name
    """
    names = [line.name for line in lines] + list(verticals or ())
    ax = axes_for(ax, size=(4.6 + label_width(names), 3.4))
    drawn = dict(zip(map(id, lines), _line_styles(lines), strict=True))
    bands = sum(line.low is not None for line in lines)
    for line in sorted(lines, key=lambda line: not line.reference):
        style = drawn[id(line)]
        if line.low is not None and line.high is not None:
            ax.fill_between(
                line.x,
                line.low,
                line.high,
                color=style["color"],
                alpha=0.2 if bands < 3 else 0.1,
                linewidth=0,
                label=f"_{plain(line.name)}",
            )
        ax.plot(line.x, line.y, label=plain(line.name), **style)
        if line.mark is not None:
            dot = {"color": style["color"], "markeredgecolor": "white", "markersize": 6}
            ax.plot(*line.mark, marker="o", label="_mark", zorder=4, **dot)
    upright = {"color": INK, "linewidth": 0.9, "linestyle": (0, (1, 2))}
    for at in (verticals or {}).values():
        ax.axvline(at, label="_vertical", **upright)
    ends = [line.x[[0, -1]] for line in lines]
    ax.set_xlim(min(end[0] for end in ends), max(end[1] for end in ends))
    ax.set_ylim(*ylim)
    finish(ax, x=x, y=y, legend=False)
    _say(ax, note)
    labels = [Label(line.name, drawn[id(line)], line.y[-1]) for line in lines]
    label_lines(ax, [*labels, *(Label(name, upright) for name in verticals or ())])
    return ax


def _say(ax: Axes, note: str) -> None:
    ax.set_title(note, loc="left", fontsize=7, color="#666666")


def _line_styles(lines: Sequence[BandedLine]) -> list[dict[str, Any]]:
    """A style for each line; one that later ones cover is wider than they are."""
    models = iter([style for _, style in styles(line.name for line in lines if not line.reference)])
    greys = iter(_REFERENCES * len(lines))
    made = []
    for place, line in enumerate(lines):
        if line.reference:
            colour, dash = next(greys)
            made.append({"color": colour, "linestyle": dash, "linewidth": 1.0})
            continue
        later = (other for other in lines[place + 1 :] if not other.reference)
        covered = sum(_coincide(line, other) for other in later)
        style = next(models)
        made.append({**style, "linewidth": style["linewidth"] + _WIDER * covered})
    return made


def _coincide(line: BandedLine, other: BandedLine) -> bool:
    same = line.x.shape == other.x.shape
    return same and bool(np.allclose(line.y, other.y, rtol=1e-3, atol=1e-9, equal_nan=True))


# Panels of reliability ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ReliabilityPanel(Value):
    """Reliability of the probabilities of one class, as one model says them.

    Attributes
    ----------
    name : of the model, the class, or both
    scores, shares, low, high, weights : (B,) of bins: mean score, share of positives and the ends
        of its interval, and how many cases there are
    smooth_scores, smooth, smooth_low, smooth_high : (P,) the smooth line and its band
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
    """A small picture for each model and class, side by side: bands never lie upon each other.

    Dots are bins with their intervals, the line is the smooth curve in its band, and bars at the
    bottom say how many cases each bin holds; the longest one is written out. Several panels stand
    inside `ax`, whose own axes are then hidden.
    """
    columns = min(len(panels), 5 if len(panels) > 6 else 3)
    rows = -(-len(panels) // columns)
    size = (3.6, 3.7) if len(panels) == 1 else (2.1 * columns + 0.4, 2.15 * rows + 0.5)
    ax = axes_for(ax, size=size)
    _say(ax, note)
    x, y = "predicted probability", "observed share"
    if len(panels) == 1:
        _reliability_panel(ax, panels[0])
        return finish(ax, x=x, y=y, legend=False)
    ax.set_axis_off()
    ax.title.set_visible(True)
    names = short_names((panel.name for panel in panels), 24)
    for place, panel in enumerate(panels):
        row, column = divmod(place, columns)
        inset = ax.inset_axes(_box(row, column, rows, columns))
        _reliability_panel(inset, panel)
        inset.set_title(names[place], fontsize=8, pad=3)
        inset.tick_params(labelsize=6.5, pad=1.5)
        below = place + columns >= len(panels)
        inset.tick_params(labelbottom=below, labelleft=column == 0)
        finish(inset, x=x if below else "", y=y if column == 0 else "", legend=False)
        inset.xaxis.label.set_fontsize(7)
        inset.yaxis.label.set_fontsize(7)
    return ax


def _box(row: int, column: int, rows: int, columns: int) -> tuple[float, float, float, float]:
    """Left, bottom, width and height of a panel, as parts of the axes."""
    left, bottom, gap = 0.30 / columns, 0.26 / rows, 0.12
    width, height = (1 - left) / columns, (1 - bottom) / rows
    inside = width * (1 - gap), height * (1 - 1.5 * gap)
    return left + column * width, bottom + (rows - 1 - row) * height, *inside


def _reliability_panel(ax: Axes, panel: ReliabilityPanel) -> None:
    colour = "#0072B2"
    ax.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, label="_diagonal")
    heights = 0.16 * panel.weights / max(panel.weights.max(initial=0.0), 1e-300)
    ax.vlines(panel.scores, 0, heights, color="#BBBBBB", linewidth=3, label="_bin counts")
    most = int(np.argmax(panel.weights))
    left = panel.scores[most] < 0.5
    ax.annotate(
        f"{panel.weights[most]:,.6g} cases".replace(",", "\u202f"),
        (panel.scores[most], heights[most]),
        xytext=(3 if left else -3, 0),
        textcoords="offset points",
        ha="left" if left else "right",
        va="center",
        fontsize=6,
        color="#666666",
    )
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
    ax.plot(
        panel.scores,
        panel.shares,
        color=INK,
        linestyle="none",
        marker="o",
        markersize=3,
        label="bins",
    )
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    ax.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    ax.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])


# Costs of systems ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CostRow(Value):
    """What a system costs per case, with its interval.

    The `best` is written in bold; one that is no `candidate` has an open circle.
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
    """Costs of systems, one below the other, with intervals; references are costs of no model."""
    lines = references or {}
    space = 0.085 * max((len(name) for name in short_names(row.name for row in rows)), default=0)
    ax = axes_for(ax, size=(3.6 + space, 1.5 + 0.24 * len(rows)))
    places = np.arange(len(rows))[::-1]
    for (name, at), (colour, dash) in zip(lines.items(), _REFERENCES, strict=False):
        style: dict[str, Any] = {"color": colour, "linestyle": dash, "linewidth": 1.0}
        ax.axvline(at, label=f"{plain(name)}: {at:.4g}", **style)
    for place, row in zip(places, rows, strict=True):
        colour = "#D55E00" if row.best else "#0072B2"
        ax.plot([row.low, row.high], [place] * 2, color=colour, linewidth=1.4, label="_interval")
        inside = colour if row.candidate else "white"
        dot: dict[str, Any] = {"markersize": 5, "color": colour, "markerfacecolor": inside}
        ax.plot(row.cost, place, marker="o", label="_cost", **dot)
    ax.set_yticks(places, short_names((row.name for row in rows), 40), fontsize=8)
    for tick, row in zip(ax.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if row.best else "normal")
    ax.set_ylim(-0.7, len(rows) - 0.3)
    finish(ax, x=x, y="", legend=False)
    ax.margins(x=0.08)
    _say(ax, note)
    if lines:
        ax.legend(
            frameon=False,
            fontsize=7,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.55 / (0.5 + 0.24 * len(rows))),
            ncols=2,
        )
    return ax
