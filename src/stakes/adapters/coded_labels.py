"""Labels in memory as codes, found by their text, as engines find them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import Label
from stakes.adapters.columns import LabelColumn, group_labels, spellings


@dataclass(frozen=True, eq=False)
class Coded:
    """A column of labels: the distinct labels, and for every row the position of its label.

    A row without a label has the position −1.
    """

    codes: npt.NDArray[np.int32]
    categories: tuple[Label, ...]

    def __len__(self) -> int:
        return len(self.codes)


class Coder:
    """Collects the codes of a column of labels, block by block; blocks are arrays of PyArrow."""

    def __init__(self, column: LabelColumn, n_rows: int) -> None:
        self.codes = np.empty(n_rows, dtype=np.int32)
        self._column = column
        self._places = {} if column.labels is None else spellings(column.labels)
        self._others: Counter[str | None] = Counter()

    def add(self, rows: slice, column: Any) -> None:
        """Encode a block of texts; those that are unknown or missing are counted."""
        encoded = column.dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        # A lookup by dictionary codes touches each distinct label once instead of every row.
        lookup = np.array([*map(self._place, texts), -1], dtype=np.int32)
        places = encoded.indices.fill_null(len(texts)).to_numpy()
        self.codes[rows] = lookup[places]
        if lookup[:-1].min(initial=0) < 0 or encoded.null_count:
            sizes = np.bincount(places, minlength=len(texts) + 1).tolist()
            self._others.update(
                {t: n for t, n, k in zip([*texts, None], sizes, lookup, strict=True) if n and k < 0}
            )

    def _place(self, text: str) -> int:
        if self._column.labels is None:
            return self._places.setdefault(text, len(self._places))
        return self._places.get(text, -1)

    def coded(self, source: str) -> Coded:
        """All rows as codes; labels that are unknown or missing are an error."""
        column = self._column
        if self._others and not column.may_be_missing:
            [(often, _)] = self._others.most_common(1)
            raise column.refused(source, self._others.total(), len(self.codes), often)
        return Coded(self.codes, tuple(self._places) if column.labels is None else column.labels)


def sorted_groups(column: Coded) -> Coded:
    """The same column with its groups sorted; rows without a group stay without one."""
    texts = list(map(str, column.categories))
    labels = group_labels(texts)
    place = {text: k for k, text in enumerate(labels)}
    codes = np.array([*map(place.__getitem__, texts), -1], dtype=np.int32)[column.codes]
    return Coded(codes, tuple(labels.values()))
