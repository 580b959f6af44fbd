"""How pictures look: one palette, quiet axes, legible at column width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from stakes.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart; dashes help where colours fail.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
INK, GREY = "#222222", "#9A9A9A"


def axes_for(
    ax: Axes | None, *, square: bool = False, size: tuple[float, float] | None = None
) -> Axes:
    """The Axes given, or those of a new figure that belongs to nobody else; its size is in inches.

    Whatever is no Axes is refused.
    """
    if ax is not None:
        return _checked_axes(ax)
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed. "
            "Install it with: pip install 'stakes[plot]'"
        ) from None
    size = size or ((4.2, 4.0) if square else (5.0, 3.4))
    return Figure(figsize=size, dpi=150, layout="constrained").add_subplot()


def _checked_axes(ax: Any) -> Axes:
    if hasattr(ax, "plot") and hasattr(ax, "get_window_extent"):
        return ax  # type: ignore[no-any-return]
    what = type(ax).__name__
    if hasattr(ax, "__len__"):
        what = f"{what} {ax!r}" if isinstance(ax, str) else f"{what} of {len(ax)}"
    raise InputError(
        f"ax must be one Axes of matplotlib; got {what}. "
        f"Pass one, such as axes[0], or leave it out for a new figure.",
        argument="ax",
    )


def styles(names: Iterable[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each name with a colour and a dash of its own, alike for no two of the first 49."""
    for place, name in enumerate(names):
        turn, colour = divmod(place, len(_COLOURS))
        dash = _DASHES[(colour + turn) % len(_DASHES)]
        yield plain(name), {"color": _COLOURS[colour], "linestyle": dash, "linewidth": 1.6}


def plain(name: object) -> str:
    """The text of a name as it is: no formula, and no sign that hides it from the legend."""
    text = str(name).replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text


def short(text: str, room: int = 28) -> str:
    """A long name without its middle: names of one family differ at their ends."""
    half = room // 2
    return text if len(text) <= room else f"{text[: half - 1]}…{text[-half:]}"


def short_names(names: Iterable[object], room: int = 28) -> list[str]:
    """Names that are as short as they can be while all of them differ.

    What all long ones begin or end with tells nothing, and goes first, as far as it must.

    Parameters
    ----------
    names : the names
    room : how many characters there is room for

    Returns
    -------
    names of at most that length, still different from each other

    Examples
    --------
    >>> short_names(["forest of the second year, tuned", "tree of the second year, tuned"], 24)
    ['forest of the second…', 'tree of the second…']
    """
    texts = [str(name) for name in names]
    every = len(set(texts))
    for width in (room, room + 12, room + 32):
        shown = [short(text, width) for text in _without_common(texts, width)]
        if len(set(shown)) == every:
            return [plain(text) for text in shown]
    return [plain(text) for text in texts]


def _without_common(texts: list[str], room: int) -> list[str]:
    """Long texts without words that all of them begin and end with, so many that they fit."""
    long = [text for text in texts if len(text) > room]
    if len(set(long)) < 2:
        return texts
    start = _common_words(long)
    end = _common_words([text[len(start) :][::-1] for text in long])[::-1]
    middles = {text: text[len(start) : len(text) - len(end)] for text in long}
    kept = [(some, end) for some in _fewer_words(start)]
    kept += [("", some[::-1]) for some in _fewer_words(end[::-1])]
    shown: dict[str, str] = {}
    for first, last in kept:
        before, after = "…" * (first != start), "…" * (last != end)
        for text, middle in middles.items():
            shown[text] = f"{before}{(first + middle + last).strip(' ,;:')}{after}"
        if max(map(len, shown.values())) <= room:
            break
    return [shown.get(text, text) for text in texts]


def _fewer_words(words: str) -> Iterator[str]:
    """All words, then without the first one, without the first two, …, none."""
    while words:
        yield words
        words = words[words.find(" ") + 1 :] if " " in words.rstrip() else ""
    yield ""


def _common_words(texts: list[str]) -> str:
    """What all texts begin with, up to whole words."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    size = next((k for k, (one, other) in pairs if one != other), min(len(first), len(last)))
    return first[: first.rfind(" ", 0, size) + 1]


def finish(ax: Axes, *, x: str, y: str, legend: bool) -> Axes:
    """Axis labels, no box, a legend that does not shout."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    ax.spines[["top", "right"]].set_visible(False)
    if legend:
        ax.legend(frameon=False, fontsize="small")
    return ax
