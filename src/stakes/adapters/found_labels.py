"""Labels of classes that are not known before the rows are read."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw

from stakes._check import Label, Labels
from stakes.adapters.columns import LabelColumn, group_labels, spellings, text_name
from stakes.adapters.expressions import texts_of
from stakes.adapters.sources import Lazy, Source
from stakes.errors import InputError
from stakes.tally import two_classes

_MOST_CLASSES = 10_000


def labels_found(source: Source, lazy: Lazy, column: str) -> list[str]:
    """The sorted distinct texts of a column of labels; missing labels are refused."""
    texts = lazy.select(nw.col(text_name(column)).alias("text"))
    sizes = texts.group_by("text").agg(nw.len().alias("size"))
    # One label more than allowed, and perhaps the missing one, are enough to refuse the column.
    frame = sizes.head(_MOST_CLASSES + 2).collect()
    counts = dict(zip(texts_of(frame["text"]).tolist(), frame["size"].to_list(), strict=True))
    if None in counts:
        gaps, total = int(counts[None]), source.count()
        raise LabelColumn(column, "classes").refused(source.name, gaps, total, None)
    if not counts:
        raise InputError("y_true must hold at least one case; there are none. Pass some rows.")
    if len(counts) > _MOST_CLASSES:
        raise InputError(
            f"column {column!r} of {source.name} must hold classes; it holds more than "
            f"{_MOST_CLASSES:,} labels. Name the column of the true classes.",
            argument="y_true",
        )
    return sorted(counts)


def two_classes_of(texts: Sequence[str], positive: Label | None) -> Labels | None:
    """The labels (negative, positive), as `two_classes` finds them in rows."""
    known: dict[str, Label] = dict(group_labels(texts))
    # The classes 0 and 1 may be written as 0.0 and 1.0, or as false and true.
    if positive is None or positive in (0, 1):
        either = (False, True) if isinstance(positive, bool) else (0, 1)
        places = spellings(either)
        known = {text: either[places[text]] if text in places else known[text] for text in texts}
    else:
        positive_texts = spellings([positive])
        known = {text: positive if text in positive_texts else known[text] for text in texts}
    return two_classes(list(known.values()), positive)[0]
