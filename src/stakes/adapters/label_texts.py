"""Labels as text: what a column may hold, how labels are spelled, and rows as codes.

Labels of files and of lazy frames are compared as text, and every row must have a known label.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import Label, Labels
from stakes._value import record
from stakes.errors import InputError


@record
class LabelColumn:
    """A column of labels, and the labels that it may hold; None allows all.

    `opposite` are the decisions where it holds classes, and the classes where it holds decisions.
    """

    column: str
    role: str  # what the labels are, in words
    labels: Labels | None = None
    opposite: Labels = ()

    def refused(self, source: str, others: int, n_rows: int, often: str | None) -> InputError:
        """The error for rows that hold other labels or none, most often the label `often`."""
        shown = "nothing" if often is None else repr(often)
        hold, what = "holds" if others == 1 else "hold", f"something else, most often {shown}"
        among = "" if self.labels is None else f" {', '.join(map(_text, self.labels))}"
        column = f"column {self.column!r} of {source}"
        if self.labels is None:  # any label will do
            what = "nothing"
        if others == n_rows and often is None and self.labels is not None:
            remedy = "The column is empty: name another, or fill it in."
        elif self.role == "classes" and _check.is_blank(often):
            remedy = _check.UNLABELLED
        elif self.labels is None:
            remedy = f"Remove these rows, or fill in their {self.role}."
        elif often is not None:
            remedy = self._remedy(often, self.labels)
        else:
            remedy = "Remove these rows, or fill in their labels."
        return InputError(
            f"{column} must hold the {self.role}{among} in every row; {others} of {n_rows} rows "
            f"{hold} {what}. {remedy}",
            argument=column,
        )

    def _remedy(self, often: str, labels: Labels) -> str:
        """What to do about rows whose label is none of these."""
        opposite = spellings(self.opposite)
        if self.role != "decisions":
            advice = _check.for_no_class(often, opposite)
        elif often not in opposite and _check.reads_as_number(often):
            return (
                "The column was read as text: if it holds probabilities, write numbers with a "
                f"decimal point in every row{', percentages divided by 100' * ('%' in often)}."
            )
        else:
            advice = _check.for_no_decision(often, labels, opposite)
        return advice or "Remove or rename these, or add them to the problem."


def spellings(labels: Sequence[Label]) -> dict[str, int]:
    """The texts that a file may hold for each label, and the position of that label.

    Each label is known by its own text. An integer is also known with ``.0`` appended, and 0, 1 and
    booleans as other programs write them, unless such a text is the name of another label.

    >>> spellings([0, 1])
    {'0': 0, '1': 1, '0.0': 0, 'false': 0, 'False': 0, '1.0': 1, 'true': 1, 'True': 1}
    """
    known = {_text(label): place for place, label in enumerate(labels)}
    for place, label in enumerate(labels):
        if isinstance(label, str) or (isinstance(label, float) and not isfinite(label)):
            continue
        others = [f"{int(label)}", f"{int(label)}.0"]
        if label in (0, 1):
            others += [str(bool(label)).lower(), str(bool(label))]
        for other in others:
            known.setdefault(other, place)
    return known


def group_labels(texts: Iterable[str]) -> dict[str, Label]:
    """The texts of groups in sorted order, with their labels; integers are labels of type int.

    >>> group_labels(["10", "9"]), list(group_labels(["10.5", "9"])), list(group_labels(["b", "9"]))
    ({'9': 9, '10': 10}, ['9', '10.5'], ['9', 'b'])
    """
    known = list(texts)
    # At most 18 digits fit into 64 bits; a leading zero (a postal code) is not a number.
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", text) for text in known):
        return {text: int(text) for text in sorted(known, key=int)}
    numbers = all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in known)
    return {text: text for text in (sorted(known, key=float) if numbers else sorted(known))}


def _text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)


def shorter_times(*, dated: bool, zoned: bool) -> list[tuple[str, str]]:
    """Patterns and their replacements, which make the text of a time as short as numpy's.

    Some engines write fractions of zero, seconds of zero and midnight, others leave them out. Text
    with a time zone ends with its offset, which is removed.
    """
    zone = [(r"(Z|[+-]\d\d(:?\d\d)?)$", "")] if zoned else []
    date = [(" ", "T"), (":00$", ""), ("T00:00$", "")] if dated else []
    return [*zone, (r"\.0+$", ""), *date]


def text_name(column: str) -> str:
    """The name of the column that holds the labels of another column as text."""
    return f"_stakes_text_{column}"


# Labels in memory ---------------------------------------------------------------------------------


@record
class Coded:
    """A column of labels: the distinct labels, and for every row the position of its label.

    A row without a label has the position −1.
    """

    codes: npt.NDArray[np.int32]
    categories: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.codes)


class Coder:
    """Collects the codes of a column of known labels, block by block; blocks are those of Arrow."""

    def __init__(self, column: LabelColumn, n_rows: int) -> None:
        self.codes = np.empty(n_rows, dtype=np.int32)
        self._column = column
        self._places = spellings(column.labels or ())
        self._others: Counter[str | None] = Counter()

    def add(self, rows: slice, column: Any) -> None:
        """Encode a block of texts; those that are unknown or missing are counted."""
        encoded = column.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        # A lookup by dictionary codes touches each distinct label once instead of every row.
        lookup = np.array([*(self._places.get(text, -1) for text in texts), -1], dtype=np.int32)
        places = encoded.indices.fill_null(len(texts)).to_numpy()
        self.codes[rows] = lookup[places]
        if lookup[:-1].min(initial=0) < 0 or encoded.null_count:
            sizes = np.bincount(places, minlength=len(texts) + 1).tolist()
            self._others.update(
                {t: n for t, n, k in zip([*texts, None], sizes, lookup, strict=True) if n and k < 0}
            )

    def coded(self, source: str) -> Coded:
        """All rows as codes; labels that are unknown or missing are an error."""
        column = self._column
        if self._others:
            [(often, _)] = self._others.most_common(1)
            raise column.refused(source, self._others.total(), len(self.codes), often)
        return Coded(self.codes, column.labels or ())


class GroupCoder:
    """Collects a column of groups, block by block; blocks are arrays of PyArrow."""

    def __init__(self, argument: str) -> None:
        self._argument = argument
        self._blocks: list[Any] = []

    def add(self, column: Any) -> None:
        """Encode a block, so that each row takes four bytes; Arrow joins no codes of nothing."""
        column = column.cast("string") if column.type == "null" else column
        is_coded = hasattr(column.type, "index_type")
        self._blocks.append(column if is_coded else column.dictionary_encode())

    def coded(self, typed: Callable[[Any], Any]) -> Coded:
        """All rows as codes of their groups; `typed` gives distinct values their type."""
        import pyarrow as pa

        whole = pa.chunked_array(self._blocks).unify_dictionaries().combine_chunks()
        known = _check.groups(self._argument, typed(whole.dictionary))
        codes = np.append(known.codes, -1).astype(np.int32)
        return Coded(codes[whole.indices.fill_null(len(known.codes)).to_numpy()], known.labels)
