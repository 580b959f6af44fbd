"""Groups: labels of the first leading axis of a tally, as ``by=`` makes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from stakes._check import FloatArray, Label, Labels
from stakes._value import Value
from stakes.errors import InputError

__all__ = ["Grouped", "leading_index"]


class Grouped(Value):
    """A tally whose first leading axis may have labels."""

    groups: Labels | None

    def __getitem__(self, index: Any) -> Self:
        raise TypeError  # every tally says what its leading axes are

    def __iter__(self) -> Iterator[Self]:
        """The tallies along the first leading axis."""
        for place in range(len(self)):
            yield self[place]

    def __len__(self) -> int:
        sizes = np.shape(self.n_cases)
        if not sizes:
            raise TypeError(f"a single {type(self).__name__} has no length and no parts")
        return int(sizes[0])

    def __radd__(self, other: object) -> Self:
        """Let ``sum(tallies)`` start from nothing."""
        return self if other == 0 else NotImplemented

    @property
    def n_cases(self) -> FloatArray:
        """Total weight, of shape (…)."""
        raise TypeError  # every tally says where its weight is

    def group(self, label: Label) -> Self:
        """The tally of one group."""
        groups = self.groups or ()
        if label not in groups:
            raise InputError(
                f"label must be one of the groups {groups}; got {label!r}. "
                f"Groups come from by= when rows are read."
            )
        return self[groups.index(label)]


def leading_index(part: Any, trailing: int, index: Any) -> Any:
    """Index the leading axes of an array; the trailing ones cannot be reached."""
    leading, rest = part.shape[: part.ndim - trailing], part.shape[part.ndim - trailing :]
    place = np.arange(int(np.prod(leading))).reshape(leading)[index]
    return part.reshape(-1, *rest)[place]
