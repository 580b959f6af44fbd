"""Names beside the ends of lines, none upon another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes._check import FloatArray
from stakes.plot._style import GREY, INK, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL = "line label"  # by which tests find the texts
SIZE = 8.0  # of labels, in points
_LEAST = 4.5
_GAP = 1.4  # between two labels, in heights of their letters
_NEAR = 2.5  # gaps over which a thin line leads from the end of a line to its label
_CHARACTER = 0.52  # mean width of a letter, in heights


@dataclass(frozen=True, eq=False)
class Label:
    """A name, the style of its line, where that ends, and its mean height; nan where there is none.

    `detail` follows the name and is never shortened.
    """

    name: str
    style: dict[str, Any]
    end: float = float("nan")
    middle: float = float("nan")
    detail: str = ""


def label_width(names: Sequence[object], detail: int = 0) -> float:
    """What a column of labels needs beside the axes, in inches; details have so many letters."""
    longest = max((len(name) for name in short_names(names)), default=0) + detail
    return (longest * _CHARACTER * SIZE + 34) / 72


def label_lines(ax: Axes, labels: Sequence[Label]) -> None:
    """A column of names to the right, each with a piece of its line, as near its end as it can.

    The figure must make room for what stands beside the axes; where it does not, as one without
    a layout engine, a legend inside the axes says the same.
    """
    short = short_names(label.name for label in labels)
    names = [f"{name}{label.detail}" for name, label in zip(short, labels, strict=True)]
    figure: Any = ax.figure
    if figure.get_layout_engine() is None:
        _legend(ax, names, labels)
        return
    points = ax.get_window_extent().height / figure.dpi * 72
    size = float(np.clip(points / (_GAP * max(len(labels), 1)), _LEAST, SIZE))
    gap = _GAP * size / points
    ends = np.array([_fraction(ax, label.end) for label in labels])
    wanted = np.where(np.isnan(ends), 0.04, ends)
    # Where lines end together, the higher one has the higher label.
    order = np.lexsort(([label.middle for label in labels], np.round(wanted / gap)))
    wanted[order] = np.maximum.accumulate(wanted[order] + 1e-9 * np.arange(wanted.size))
    beside: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False}
    for name, label, end, height in zip(names, labels, ends, spaced(wanted, gap), strict=True):
        if abs(end - height) < _NEAR * gap:
            colour = label.style.get("color", GREY)
            thin: dict[str, Any] = {"color": colour, "linewidth": 0.5, "alpha": 0.7}
            ax.plot([1.0, 1.03], [end, height], label="_leader", **thin, **beside)
        sample = {**label.style, "linewidth": min(label.style.get("linewidth", 1.6), 2.2)}
        ax.plot([1.035, 1.10], [height, height], label="_sample", **sample, **beside)
        said: dict[str, Any] = {"va": "center", "fontsize": size, "color": INK, "gid": LABEL}
        ax.text(1.115, height, name, transform=ax.transAxes, **said)


def spaced(wanted: FloatArray, gap: float) -> FloatArray:
    """Heights within [0, 1], in the order of the wanted ones and near them, a gap between any two.

    Least squares: less the gaps below them, heights must not fall, which is isotonic regression.

    >>> spaced(np.array([0.5, 0.5, 0.9]), 0.2).round(2).tolist()
    [0.4, 0.6, 0.9]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(wanted.size)
    level = isotonic_regression(wanted[order] - steps).x
    heights = np.empty(wanted.size)
    heights[order] = np.clip(level, 0, max(1 - gap * (wanted.size - 1), 0)) + steps
    return heights


def _fraction(ax: Axes, end: float) -> float:
    """Where a height of the data lies within the axes; nan where outside."""
    low, high = ax.get_ylim()
    share = (end - low) / (high - low)
    return float(share) if 0 <= share <= 1 else float("nan")


def _legend(ax: Axes, names: Sequence[str], labels: Sequence[Label]) -> None:
    handles = [ax.plot([], [], **label.style)[0] for label in labels]
    ax.legend(handles, names, frameon=False, fontsize=SIZE - 1)
