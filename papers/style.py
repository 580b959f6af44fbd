"""One quiet look for all pictures: thin axes, no boxes, colours that the colour-blind can tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from cycler import cycler
from matplotlib.figure import Figure

mpl.use("Agg")

# Okabe and Ito's palette, of which everybody can distinguish any three.
BLUE, ORANGE, GREEN, RED = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY, INK = "#CC79A7", "#56B4E9", "#8A8A8A", "#222222"
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, SKY)
MAP = "cividis"

mpl.rcParams.update(
    {
        "figure.constrained_layout.use": True,
        "figure.dpi": 110,
        "savefig.dpi": 130,
        "font.size": 9,
        "font.family": "DejaVu Sans",
        "mathtext.fontset": "dejavusans",
        "axes.titlesize": 9.5,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.labelsize": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.edgecolor": GREY,
        "axes.linewidth": 0.7,
        "axes.prop_cycle": cycler(color=COLOURS),
        "axes.grid": True,
        "grid.color": "#E6E6E6",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "xtick.labelsize": 8,
        "ytick.labelsize": 8,
        "lines.linewidth": 1.6,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "legend.handlelength": 1.6,
        "svg.fonttype": "path",
        "svg.hashsalt": "stakes",  # the same picture gives the same file
    }
)


def panels(rows: int, columns: int, *, width: float = 9.0, height: float, **kind: Any) -> Any:
    """A figure and its axes, always as an array of shape (rows, columns)."""
    return plt.subplots(rows, columns, figsize=(width, height), squeeze=False, **kind)


def legend_below(axis: Any, columns: int) -> None:
    """A legend that cannot hide anything."""
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=columns, columnspacing=1.0)


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Save as SVG, dense point clouds inside as images, and forget the figure."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    figure.savefig(path, metadata={"Date": None, "Creator": None})  # which differ from run to run
    plt.close(figure)
    return path
