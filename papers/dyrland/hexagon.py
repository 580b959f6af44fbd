"""The space of utility matrices as a background for pictures."""

from __future__ import annotations

import numpy as np
import style

from stakes.audit import HEXAGON


def outline(axis, *, title: str = "") -> None:
    """The admissible set; axes of the paper."""
    ring = np.vstack([HEXAGON, HEXAGON[:1]])
    axis.fill(*ring.T, facecolor="#F6F6F6", edgecolor=style.GREY, lw=1.0, zorder=0.5)
    axis.axhline(0, color=style.GREY, lw=0.5, zorder=0.6)
    axis.axvline(0, color=style.GREY, lw=0.5, zorder=0.6)
    axis.set(title=title, xlabel="x", ylabel="y", xlim=(-1.25, 1.25), ylim=(-1.25, 1.25))
    axis.set_aspect("equal")
    axis.grid(visible=False)


def in_lines(matrix) -> str:
    """A matrix in the paper's order, rows outputs."""
    return "\n".join("  ".join(f"{u:g}" for u in row) for row in matrix)


def in_line(matrix) -> str:
    """The same in one line."""
    return f"[{'; '.join(' '.join(f'{u:g}' for u in row) for row in matrix)}]"
