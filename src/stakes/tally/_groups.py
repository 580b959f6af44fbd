"""Groups: labels of the first leading axis of a tally, as ``by=`` makes them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stakes._check import Label, Labels
from stakes._value import Value
from stakes.errors import InputError

__all__ = ["Grouped", "leading_index"]


class Grouped(Value):
    """A tally whose first leading axis may have labels."""

    groups: Labels | None

    def __getitem__(self, index: Any) -> Self:
        raise TypeError  # every tally says what its leading axes are

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
