"""The style of figures: one palette, quiet axes, legible at column width."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stakes._check import FloatArray, a_list, described, whole
from stakes._value import record
from stakes.errors import InputError, extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The style of figures: one palette, quiet axes, legible at column width --------------------------

# Okabe and Ito's palette (2008), safe for colour-blind readers; dashes help in black and white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
INK, GREY = "#222222", "#9A9A9A"


def axes_for(
    ax: Axes | None,
    *,
    square: bool = False,
    size: tuple[float, float] | None = None,
    names: Collection[object] = (),
) -> Axes:
    """The Axes that were passed, or those of a new figure, whose size is in inches.

    It is wider where the names of many lines will stand beside the axes.
    """
    if ax is not None:
        return _checked_axes(ax)
    with extra("plot", "a picture"):
        from matplotlib.figure import Figure
    wide, high = size or ((4.2, 4.0) if square else (5.0, 3.4))
    wide += 1.2 * label_width(names) if len(names) > MOST_BANDS else 0.0
    return Figure(figsize=(wide, high), dpi=150, layout="constrained").add_subplot()


def _checked_axes(ax: Any) -> Axes:
    if hasattr(ax, "get_window_extent") and not isinstance(ax, type):
        return ax  # type: ignore[no-any-return]
    raise InputError(
        f"ax must be one Axes of matplotlib; got {described(ax)}. "
        f"Pass one, such as axes[0], or leave it out for a new figure."
    )


def styles(names: Iterable[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each name, shortened, with a colour and a dash; the first 49 pairs are all different."""
    for place, name in enumerate(short_names(names)):
        turn, colour = divmod(place, len(_COLOURS))
        dash = _DASHES[(colour + turn) % len(_DASHES)]
        yield name, {"color": _COLOURS[colour], "linestyle": dash, "linewidth": 1.6}


def as_text(name: object) -> str:
    """A name as plain text for matplotlib.

    Dollar signs would start a formula, and a leading underscore would hide it from the legend.
    """
    text = str(name).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def short(text: str, room: int = 28) -> str:
    """A long name with its middle cut out, because similar names differ at their ends."""
    half = room // 2
    return text if len(text) <= room else f"{text[: half - 1]}…{text[-half:]}"


def short_names(names: Iterable[object], room: int = 28) -> list[str]:
    """Shorten long names, but keep them different from each other.

    Words that all long names begin or end with are removed first, as many as necessary.

    Parameters
    ----------
    names : the names
    room : number of characters that are available

    Returns
    -------
    list of str
        Names of about that length, still different from each other.

    Examples
    --------
    >>> short_names(["forest of the second year, tuned", "tree of the second year, tuned"], 24)
    ['forest of the second…', 'tree of the second…']
    """
    a_list("names", names)
    room = whole("room", room, low=1)
    texts = [str(name) for name in names]
    n_distinct = len(set(texts))
    for width in (room, room + 12, room + 32):
        shown = [short(text, width) for text in _without_common(texts, width)]
        if len(set(shown)) == n_distinct:
            return [as_text(text) for text in shown]
    return [as_text(text) for text in texts]


def _without_common(texts: list[str], room: int) -> list[str]:
    """The texts; long ones lose as many of their common first and last words as necessary."""
    long = [text for text in texts if len(text) > room]
    if len(set(long)) < 2:
        return texts
    start = _common_words(long)
    end = _common_words([text[len(start) :][::-1] for text in long])[::-1]
    middles = {text: text[len(start) : len(text) - len(end)] for text in long}
    shortened = [(some, end) for some in _fewer_words(start)]
    shortened += [("", some[::-1]) for some in _fewer_words(end[::-1])]
    shown: dict[str, str] = {}
    for first, last in shortened:
        before, after = "…" * (first != start), "…" * (last != end)
        for text, middle in middles.items():
            shown[text] = f"{before}{(first + middle + last).strip(' ,;:')}{after}"
        if max(map(len, shown.values())) <= room:
            break
    return [shown.get(text, text) for text in texts]


def _fewer_words(words: str) -> Iterator[str]:
    """Yield the text without its first 0, 1, 2, … words, down to the empty text."""
    while words:
        yield words
        words = words[words.find(" ") + 1 :] if " " in words.rstrip() else ""
    yield ""


def _common_words(texts: list[str]) -> str:
    """The whole words that all texts begin with."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    size = next((k for k, (letter, other) in pairs if letter != other), min(len(first), len(last)))
    return first[: first.rfind(" ", 0, size) + 1]


def finish(ax: Axes, *, x: str, y: str, legend: bool) -> Axes:
    """Set axis labels, remove the box, and add a small legend."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        _add_legend(ax)
    return ax


def _add_legend(ax: Axes) -> None:
    """Add a legend of what has a name; one of many names stands beside the axes."""
    names, figure = ax.get_legend_handles_labels()[1], _figure(ax)
    style: dict[str, Any] = {"frameon": False, "fontsize": SIZE}
    # Without a layout engine nothing makes room beside the axes.
    if len(names) > MOST_BANDS and figure.get_layout_engine() is not None:
        size, _ = label_size(ax, 1.1 * len(names))
        style |= {"loc": "center left", "bbox_to_anchor": (1.0, 0.5), "fontsize": size}
    if names:
        ax.legend(**style)


def write_note(ax: Axes, note: str) -> None:
    """Write a line of small print above the axes."""
    ax.set_title(note, loc="left", fontsize=7, color="#666666")


MOST_BANDS = 6  # lines that have bands; more of them would hide each other
LABEL_GID = "line label"  # gid by which tests find the texts
SIZE = 8.0  # size of labels, in points
LEAST = 4.5  # smallest size, in points, where there are many labels
_GAP = 1.4  # distance between two labels, in heights of their letters
_NEAR = 2.5  # longest distance, in gaps, for a thin line from a line to its label
_CHARACTER = 0.52  # mean width of a letter, in heights


@record
class LineLabel:
    """A name, the style of its line, the height of its end and its mean height, or nan.

    `detail` follows the name and is never shortened.
    """

    name: str
    style: dict[str, Any]
    end: float = float("nan")
    middle: float = float("nan")
    detail: str = ""


def label_width(names: Collection[object], detail: int = 0) -> float:
    """Width of a column of labels, in inches; `detail` is the number of letters after a name."""
    longest = max((len(name) for name in short_names(names)), default=0) + detail
    return (longest * _CHARACTER * SIZE + 34) / 72


def label_lines(ax: Axes, labels: Sequence[LineLabel]) -> None:
    """Write names to the right of the axes, each with a sample of its line and near its end.

    A layout engine makes room for them. A figure without one gets a legend inside the axes instead.
    """
    short = short_names(label.name for label in labels)
    names = [f"{name}{label.detail}" for name, label in zip(short, labels, strict=True)]
    if _figure(ax).get_layout_engine() is None:
        _legend(ax, names, labels)
        return
    size, gap = label_size(ax, len(labels))
    heights = np.array([_fraction(ax, label.end) for label in labels])
    targets = np.where(np.isnan(heights), 0.04, heights)
    # Where lines end at the same height, the one with the higher mean gets the higher label.
    order = np.lexsort((np.array([label.middle for label in labels]), np.round(targets / gap)))
    targets[order] = np.maximum.accumulate(targets[order] + 1e-9 * np.arange(targets.size))
    beside: dict[str, Any] = {"transform": ax.transAxes, "clip_on": False}
    for name, label, end, height in zip(names, labels, heights, spaced(targets, gap), strict=True):
        if abs(end - height) < _NEAR * gap:
            colour = label.style.get("color", GREY)
            thin: dict[str, Any] = {"color": colour, "linewidth": 0.5, "alpha": 0.7}
            ax.plot([1.0, 1.03], [end, height], label="_leader", **thin, **beside)
        sample = {**label.style, "linewidth": min(label.style.get("linewidth", 1.6), 2.2)}
        ax.plot([1.035, 1.10], [height, height], label="_sample", **sample, **beside)
        style: dict[str, Any] = {"va": "center", "fontsize": size, "color": INK, "gid": LABEL_GID}
        ax.text(1.115, height, name, transform=ax.transAxes, **style)


def label_size(ax: Axes, n_labels: float) -> tuple[float, float]:
    """Size of letters that so many labels above each other may have, and their distance.

    The size is in points, the distance a fraction of the height of the axes.
    """
    points = size_in_points(ax)[1]
    size = float(np.clip(points / (_GAP * max(n_labels, 1)), LEAST, SIZE))
    return size, _GAP * size / points


def size_in_points(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes in points, before a layout engine makes room for labels."""
    box, dpi = ax.get_window_extent(), _figure(ax).dpi
    return box.width / dpi * 72, box.height / dpi * 72


def _figure(ax: Axes) -> Any:
    return ax.figure


def text_width(text: str, size: float) -> float:
    """The usual width of a text in points; of several lines the width of the longest."""
    return max(map(len, text.split("\n"))) * _CHARACTER * size


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


def _legend(ax: Axes, names: Sequence[str], labels: Sequence[LineLabel]) -> None:
    handles = [ax.plot([], [], **label.style)[0] for label in labels]
    ax.legend(handles, names, frameon=False, fontsize=SIZE - 1)


# Sizes of the cells of a table, of their letters, and of a figure that shows all of them ---------

_LINE, _PADDING = 1.3, 0.8  # distance of lines, and the room around a text, in heights of letters
_SLANT = 0.71  # height of a text at 45 degrees, relative to its length
_SHARE = 0.77  # share of width and height of a figure that its axes have before there are labels
_SMALLEST, _LARGEST = (5.0, 3.4), (12.0, 12.0)  # width and height of a figure, in inches


@record
class TableCells:
    """Texts in the cells of a table, and names of its rows and columns, which stand beside it."""

    texts: Sequence[Sequence[str]]
    rows: Sequence[str]
    columns: Sequence[str]

    @property
    def figure(self) -> tuple[float, float]:
        """Width and height of a figure in which the texts have their usual size, in inches."""
        wide, high = self._needed
        inside = wide * len(self.columns) + _longest(self.rows), high * len(self.rows)
        below = self._below(wide)
        ends = zip((inside[0], inside[1] + below), _SMALLEST, _LARGEST, strict=True)
        width, height = (min(max(points / _SHARE / 72, low), high) for points, low, high in ends)
        return width, height

    def inside(self, axes: tuple[float, float]) -> tuple[float, float]:
        """Width and height of a cell in axes that make room for the names; all in points."""
        wide = max(axes[0] - _longest(self.rows), 1.0) / len(self.columns)
        return wide, max(axes[1] - self._below(wide), 1.0) / len(self.rows)

    def are_wide(self, wide: float) -> bool:
        """Whether some name is too wide to stand below a column."""
        return len(self.columns) > 1 and _longest(self.columns) > wide - 0.5 * SIZE

    def text_size(self, cell: tuple[float, float]) -> float:
        """Size of letters at which every text fits into a cell; zero if that is illegible."""
        needed = zip(cell, self._needed, strict=True)
        size = SIZE * min(1.0, *(room / need for room, need in needed))
        return size if size >= LEAST else 0.0

    def name_sizes(self, cell: tuple[float, float]) -> tuple[float, float]:
        """Size of letters of the names of rows and of columns, which are next to each other."""
        across = _SLANT * cell[0] if self.are_wide(cell[0]) else SIZE * _LINE
        rows, columns = (min(max(room / _LINE, LEAST), SIZE) for room in (cell[1], across))
        return rows, columns

    @property
    def _needed(self) -> tuple[float, float]:
        """Width and height of a cell that holds every text, in points."""
        texts = [text for row in self.texts for text in row]
        lines = 1 + max(text.count("\n") for text in texts)
        return _longest(texts) + _PADDING * SIZE, (_LINE * lines + _PADDING) * SIZE

    def _below(self, wide: float) -> float:
        """Height of the names of columns that stand at a slant."""
        return _SLANT * _longest(self.columns) if self.are_wide(wide) else 0.0


def _longest(texts: Sequence[str]) -> float:
    return max(text_width(text, SIZE) for text in texts)
