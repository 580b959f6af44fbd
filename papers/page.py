"""What an item of a paper shows: words, tables, pictures, and comparisons with the print."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import style
from matplotlib.figure import Figure

SIGMAS = 4  # how many standard errors a simulated value may be away
ROUNDING = 1e-11  # what differs from machine to machine
FEW = 5  # so many values are shown one by one


@dataclass(frozen=True)
class Comparison:
    """One printed value, or a table of them, beside what comes out here."""

    what: str
    printed: str
    here: str
    agrees: bool
    expected: bool
    why: str

    @property
    def good(self) -> bool:
        """What must agree agrees; what is known to be a misprint still differs."""
        return self.agrees == self.expected

    @property
    def verdict(self) -> str:
        """One word for the table, and the reason where there is one."""
        words = {
            (True, True): "yes",
            (False, False): "no",
            (False, True): "**NO, but it must**",
            (True, False): "**yes, but it was thought to be a misprint**",
        }[self.agrees, self.expected]
        return f"{words}: {self.why}" if self.why else words


@dataclass
class Page:
    """The page of one item; building the item fills it.

    `printed` is what the paper prints there, `paper` what it prints anywhere.
    """

    printed: Mapping[str, Any]
    paper: Mapping[str, Any]
    fast: bool
    pictures: Path
    parts: list[str] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    def say(self, words: str) -> None:
        """Add a paragraph."""
        self.parts.append(" ".join(words.split()))

    def table(
        self, columns: Mapping[str, Iterable[object]], *, decimals: int | None = None
    ) -> None:
        """Add a table, given by its columns; fractions with so many decimals."""
        self.parts.append(markdown_table(columns, decimals))

    def rows(
        self,
        titles: Sequence[str],
        rows: Iterable[Iterable[object]],
        *,
        decimals: int | None = None,
    ) -> None:
        """Add a table, given by its rows."""
        columns = dict(zip(titles, zip(*rows, strict=True), strict=True))
        self.parts.append(markdown_table(columns, decimals))

    def picture(self, figure: Figure, name: str, says: str) -> None:
        """Save a picture and show it; `says` tells it to those who cannot see it."""
        path = style.save(figure, self.pictures, name)
        self.parts.append(f"![{' '.join(says.split())}]({path.parent.name}/{path.name})")

    def compare(
        self,
        what: str,
        printed: npt.ArrayLike,
        here: npt.ArrayLike,
        *,
        decimals: int,
        standard_error: npt.ArrayLike = 0.0,
        misprint: str = "",
        why: str = "",
    ) -> None:
        """Compare printed values with values of the same shape that were computed here.

        They agree when the print is within half a unit of its last digit, and within four standard
        errors where one of both was simulated. A reason for a misprint says that they must differ.
        """
        print_, value, error = map(np.asarray, (printed, here, standard_error))
        distance = np.abs(print_ - value)
        close = distance <= 0.5 * 10.0**-decimals + SIGMAS * error + 1e-9
        shown = f"{close.size} values", f"{close.sum()} agree, {near(float(distance.max()))}"
        if close.size <= FEW:
            spread = f" ± {float(error.max()):.2g}" if error.any() else ""
            shown = listed(print_, decimals), listed(value, decimals + 2) + spread
        self._add(what, *shown, bool(close.all()), misprint, why)

    def claim(self, what: str, here: str, holds: object, *, misprint: str = "") -> None:
        """Compare a statement in the paper's words with what happens here."""
        self._add(what, "stated", here, bool(holds), misprint, "")

    def check(self, what: str, here: str, holds: object) -> None:
        """State something that must hold here and that no paper prints."""
        self._add(what, "–", here, bool(holds), "", "")

    def equal(self, what: str, left: npt.ArrayLike, right: npt.ArrayLike) -> None:
        """Claim that two things, both computed here, are the same, because the paper says so."""
        gap = largest_gap(left, right)
        self.claim(what, near(gap), gap < ROUNDING)

    def check_equal(self, what: str, left: npt.ArrayLike, right: npt.ArrayLike) -> None:
        """Check that two things, both computed here, are the same, though no paper prints it."""
        gap = largest_gap(left, right)
        self.check(what, near(gap), gap < ROUNDING)

    def _add(
        self, what: str, printed: str, here: str, agrees: bool, misprint: str, why: str
    ) -> None:
        made = Comparison(what, printed, here, agrees, not misprint, misprint or why)
        self.comparisons.append(made)

    @property
    def good(self) -> bool:
        """Whether everything that must agree does."""
        return all(one.good for one in self.comparisons)

    def text(self) -> str:
        """The page in Markdown."""
        ledger = {
            "compared": [one.what for one in self.comparisons],
            "paper": [one.printed for one in self.comparisons],
            "here": [one.here for one in self.comparisons],
            "agrees": [one.verdict for one in self.comparisons],
        }
        return "\n\n".join([*self.parts, *([markdown_table(ledger)] if self.comparisons else [])])


def largest_gap(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """The largest distance between numbers that ought to be the same; nan if one is undefined."""
    return float(np.max(np.abs(np.subtract(left, right))))


def near(gap: float) -> str:
    """How far two numbers are apart; rounding differs from machine to machine and is not shown."""
    return "to rounding" if abs(gap) < ROUNDING else f"to {abs(gap):.1g}"


def listed(values: npt.ArrayLike, decimals: int) -> str:
    """Numbers in a row, with so many decimals."""
    return ", ".join(f"{value:.{decimals}f}" for value in np.ravel(values))


def markdown_table(columns: Mapping[str, Iterable[object]], decimals: int | None = None) -> str:
    """A table whose columns are padded, so that it also reads well as plain text."""
    head = [str(name) for name in columns]
    rows = [[cell(value, decimals) for value in row] for row in zip(*columns.values(), strict=True)]
    width = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [head, ["-" * size for size in width], *rows]
    return "\n".join(
        "| " + " | ".join(text.ljust(size) for text, size in zip(line, width, strict=True)) + " |"
        for line in lines
    )


def cell(value: object, decimals: int | None) -> str:
    """One entry of a table; truth is said in words, and what is undefined is a dash."""
    plain = value.item() if isinstance(value, np.ndarray | np.generic) else value
    if isinstance(plain, bool):
        return "yes" if plain else "no"
    if isinstance(plain, float):
        digits = ".4g" if decimals is None else f".{decimals}f"
        return "–" if plain != plain else format(plain, digits)
    return str(plain)
