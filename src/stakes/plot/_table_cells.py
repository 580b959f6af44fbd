"""Sizes of the cells of a table, of their letters, and of a figure that shows all of them."""

from __future__ import annotations

from collections.abc import Sequence

from stakes._value import record
from stakes.plot._style import LEAST, SIZE, text_width

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
