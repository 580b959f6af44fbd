"""Names beside the ends of lines, placed so that they do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes._check import FloatArray
from stakes.plot._style import GREY, INK, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABEL = "line label"  # gid by which tests find the texts
SIZE = 8.0  # size of labels, in points
_LEAST = 4.5  # smallest size, in points, where there are many labels
_GAP = 1.4  # distance between two labels, in heights of their letters
_NEAR = 2.5  # longest distance, in gaps, for a thin line from a line to its label
_CHARACTER = 0.52  # mean width of a letter, in heights


@dataclass(frozen=True, eq=False)
class Label:
    """A name, the style of its line, the height of its end and its mean height, or nan.

    `detail` follows the name and is never shortened.
    """

    name: str
    style: dict[str, Any]
    end: float = float("nan")
    middle: float = float("nan")
    detail: str = ""


def label_width(names: Sequence[object], detail: int = 0) -> float:
    """Width of a column of labels, in inches; `detail` is the number of letters after a name."""
    longest = max((len(name) for name in short_names(names)), default=0) + detail
    return (longest * _CHARACTER * SIZE + 34) / 72


def label_lines(ax: Axes, labels: Sequence[Label]) -> None:
    """Write names to the right of the axes, each with a sample of its line and near its end.

    A layout engine makes room for them. A figure without one gets a legend inside the axes instead.
    """
    short = short_names(label.name for label in labels)
    names = [f"{name}{label.detail}" for name, label in zip(short, labels, strict=True)]
    figure: Any = ax.figure
    # Without a layout engine nothing makes room beside the axes.
    if figure.get_layout_engine() is None:
        _legend(ax, names, labels)
        return
    points = ax.get_window_extent().height / figure.dpi * 72
    size = float(np.clip(points / (_GAP * max(len(labels), 1)), _LEAST, SIZE))
    gap = _GAP * size / points
    heights = np.array([_fraction(ax, label.end) for label in labels])
    targets = np.where(np.isnan(heights), 0.04, heights)
    # Where lines end at the same height, the one with the higher mean gets the higher label.
    order = np.lexsort(([label.middle for label in labels], np.round(targets / gap)))
    targets[order] = np.maximum.accumulate(targets[order] + 1e-9 * np.arange(targets.size))
    beside: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False}
    for name, label, end, height in zip(names, labels, heights, spaced(targets, gap), strict=True):
        if abs(end - height) < _NEAR * gap:
            colour = label.style.get("color", GREY)
            thin: dict[str, Any] = {"color": colour, "linewidth": 0.5, "alpha": 0.7}
            ax.plot([1.0, 1.03], [end, height], label="_leader", **thin, **beside)
        sample = {**label.style, "linewidth": min(label.style.get("linewidth", 1.6), 2.2)}
        ax.plot([1.035, 1.10], [height, height], label="_sample", **sample, **beside)
        style: dict[str, Any] = {"va": "center", "fontsize": size, "color": INK, "gid": LABEL}
        ax.text(1.115, height, name, transform=ax.transAxes, **style)


def spaced(targets: FloatArray, gap: float) -> FloatArray:
    """Heights in [0, 1] that are closest to the targets, keep their order, and are a gap apart.

    Closest by least squares: with the gaps subtracted, this is isotonic regression.

    >>> spaced(np.array([0.5, 0.5, 0.9]), 0.2).round(2).tolist()
    [0.4, 0.6, 0.9]
    """
    from scipy.optimize import isotonic_regression

    order = np.argsort(targets, kind="stable")
    steps = gap * np.arange(targets.size)
    level = isotonic_regression(targets[order] - steps).x
    heights = np.empty(targets.size)
    heights[order] = np.clip(level, 0, max(1 - gap * (targets.size - 1), 0)) + steps
    return heights


def _fraction(ax: Axes, end: float) -> float:
    """A height in data coordinates as a fraction of the axes; nan outside them."""
    low, high = ax.get_ylim()
    share = (end - low) / (high - low)
    return float(share) if 0 <= share <= 1 else float("nan")


def _legend(ax: Axes, names: Sequence[str], labels: Sequence[Label]) -> None:
    handles = [ax.plot([], [], **label.style)[0] for label in labels]
    ax.legend(handles, names, frameon=False, fontsize=SIZE - 1)
