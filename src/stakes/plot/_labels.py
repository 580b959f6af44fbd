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

SIZE = 8.0  # of labels, in points
_LEAST = 4.5
_GAP = 1.4  # between two labels, in heights of their letters
_CHARACTER = 0.52  # mean width of a letter, in heights


@dataclass(frozen=True, eq=False)
class Label:
    """A name, the style of its line, and where the line ends; nan where it has no end in sight."""

    name: str
    style: dict[str, Any]
    end: float = float("nan")


def label_width(names: Sequence[object]) -> float:
    """What a column of labels needs beside the axes, in inches."""
    longest = max((len(name) for name in short_names(names)), default=0)
    return (longest * _CHARACTER * SIZE + 34) / 72


def label_lines(ax: Axes, labels: Sequence[Label]) -> None:
    """A column of names to the right, each with a piece of its line, as near its end as it can.

    The figure must make room for what stands beside the axes; where it does not, as one without
    a layout engine, a legend inside the axes says the same.
    """
    names = short_names(label.name for label in labels)
    if ax.get_figure(root=True).get_layout_engine() is None:
        _legend(ax, names, labels)
        return
    points = ax.get_window_extent().height / ax.get_figure(root=True).dpi * 72
    size = float(np.clip(points / (_GAP * max(len(labels), 1)), _LEAST, SIZE))
    ends = np.array([_fraction(ax, label.end) for label in labels])
    heights = spaced(np.where(np.isnan(ends), 0.04, ends), _GAP * size / points)
    for name, label, end, height in zip(names, labels, ends, heights, strict=True):
        across = {"transform": ax.transAxes, "clip_on": False}
        if not np.isnan(end):
            thin = {"color": label.style.get("color", GREY), "linewidth": 0.5, "alpha": 0.7}
            ax.plot([1.0, 1.03], [end, height], label="_leader", **thin, **across)
        sample = {**label.style, "linewidth": min(label.style.get("linewidth", 1.6), 2.2)}
        ax.plot([1.035, 1.10], [height, height], label="_sample", **sample, **across)
        ax.text(
            1.115,
            height,
            name,
            transform=ax.transAxes,
            va="center",
            fontsize=size,
            color=INK,
            gid="line label",
        )


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
