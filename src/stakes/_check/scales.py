"""Words that have an order of their own: months, days of the week, levels, sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Words of a scale, the lowest first; those between slashes share a place.
_SCALES = (
    "january/jan february/feb march/mar april/apr may june/jun july/jul august/aug "
    "september/sept/sep october/oct november/nov december/dec",
    "monday/mon tuesday/tues/tue wednesday/wed thursday/thurs/thur/thu friday/fri saturday/sat "
    "sunday/sun",
    "verylow/lowest low/lower medium/middle/mid/moderate/average high/higher veryhigh/highest",
    "tiny/xs small/s medium/m large/l huge/xl",
)
_PLACES = [
    {word: place for place, words in enumerate(scale.split()) for word in words.split("/")}
    for scale in _SCALES
]
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")


def places(texts: Sequence[str]) -> list[tuple[int, int]] | None:
    """The year in each text and its place on a scale; None unless all are words of one scale.

    >>> places(["march 2024", "feb 2025"]), places(["Very low", "medium"]), places(["low", "Mon"])
    ([(2024, 2), (2025, 1)], [(0, 0), (0, 2)], None)
    """
    years = [_YEAR.findall(text) for text in texts]
    if max(map(len, years), default=2) > 1:
        return None
    words = [re.sub(r"[\s.,'/_-]", "", _YEAR.sub("", text)).lower() for text in texts]
    scale = next((scale for scale in _PLACES if scale.keys() >= {*words}), None)
    if scale is None:
        return None
    return [
        (int(year[0]) if year else 0, scale[word]) for year, word in zip(years, words, strict=True)
    ]
