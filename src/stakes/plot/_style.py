"""The style of figures: one palette, quiet axes, legible at column width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from stakes._check import described
from stakes.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette (2008), safe for colour-blind readers; dashes help in black and white.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
INK, GREY = "#222222", "#9A9A9A"


def axes_for(
    ax: Axes | None, *, square: bool = False, size: tuple[float, float] | None = None
) -> Axes:
    """The Axes that were passed, or those of a new figure, whose size is in inches."""
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
    if hasattr(ax, "get_window_extent") and not isinstance(ax, type):
        return ax  # type: ignore[no-any-return]
    raise InputError(
        f"ax must be one Axes of matplotlib; got {described(ax)}. "
        f"Pass one, such as axes[0], or leave it out for a new figure.",
        argument="ax",
    )


def styles(names: Iterable[object]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each name with a colour and a dash; the first 49 pairs are all different."""
    for place, name in enumerate(names):
        turn, colour = divmod(place, len(_COLOURS))
        dash = _DASHES[(colour + turn) % len(_DASHES)]
        yield plain(name), {"color": _COLOURS[colour], "linestyle": dash, "linewidth": 1.6}


def plain(name: object) -> str:
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
    """Shorten long names while they stay different.

    Words that all long names begin or end with are removed first, as many as needed.

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
    texts = [str(name) for name in names]
    every = len(set(texts))
    for width in (room, room + 12, room + 32):
        shown = [short(text, width) for text in _without_common(texts, width)]
        if len(set(shown)) == every:
            return [plain(text) for text in shown]
    return [plain(text) for text in texts]


def _without_common(texts: list[str], room: int) -> list[str]:
    """The texts, long ones without as many of their common first and last words as needed."""
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
        ax.legend(frameon=False, fontsize="small")
    return ax
