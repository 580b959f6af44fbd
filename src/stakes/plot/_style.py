"""How pictures look: one palette, quiet axes, legible at column width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import TYPE_CHECKING, Any

from stakes.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart; dashes help where colours fail.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
INK, GREY = "#222222", "#9A9A9A"


def axes_for(ax: Axes | None, *, square: bool = False) -> Axes:
    """The Axes given, or those of a new figure that belongs to nobody else."""
    if ax is not None:
        return ax
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed. "
            "Install it with: pip install 'stakes[plot]'"
        ) from None
    figure = Figure(figsize=(4.2, 4.0) if square else (5.0, 3.4), dpi=150, layout="constrained")
    return figure.add_subplot()


def styles(names: Iterable[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each name with a colour and a dash of its own."""
    for name, colour, dash in zip(names, cycle(_COLOURS), cycle(_DASHES), strict=False):
        yield plain(name), {"color": colour, "linestyle": dash, "linewidth": 1.6}


def plain(name: object) -> str:
    """The text of a name as it is: no formula, and no sign that hides it from the legend."""
    text = str(name).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def finish(ax: Axes, *, x: str, y: str, legend: bool) -> Axes:
    """Axis labels, no box, a legend that does not shout."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(frameon=False, fontsize="small")
    return ax
