"""What an item of a paper shows: words, tables, pictures, and comparisons with the print."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import style
from matplotlib.figure import Figure

SIGMAS = 4  # how many standard errors a simulated value may be away
ROUNDING = 1e-11  # what differs from machine to machine
FEW = 5  # so many values are shown one by one
EXACT, MOST_DIGITS = 10, 4  # decimals that a fraction has, and that are shown of it
RARE = 0.01  # a draw farther out than this is no draw
Size = TypeVar("Size")


class Printed(float):
    """A number with the digits that the paper shows."""

    text: str

    def __new__(cls, text: str) -> Printed:
        """Read the number and keep its text."""
        value = super().__new__(cls, text)
        value.text = text
        return value

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        """Copies keep the text too."""
        return (self.text,)

    def __str__(self) -> str:
        """The digits of the print."""
        return self.text


class Kind(Enum):
    """What stands beside what; only the first three are counted as agreeing or not."""

    PRINTED = "printed"  # a printed value and one that was computed here
    STATED = "stated"  # the paper's words or formula, and what happens here
    OWN = "own checks"  # no paper prints it
    PRINT = "print against print"  # two printed values; nothing was computed beside arithmetic
    CHOICE = "by choice"  # the data were chosen so that it comes out like this


@dataclass(frozen=True)
class Comparison:
    """One printed value, or a table of them, beside what comes out here."""

    what: str
    kind: Kind
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
            (True, True): "by choice" if self.kind is Kind.CHOICE else "yes",
            (False, False): "no",
            (False, True): "**NO, but it must**",
            (True, False): "**yes, but it was thought to be a misprint**",
        }[self.agrees, self.expected]
        return f"{words}: {self.why}" if self.why else words


@dataclass
class Page:
    """The page of one item; building the item fills it.

    `printed` is what the paper prints there, `paper` what it prints anywhere. A picture is saved
    into the folder `pictures` under the page's name; links to it start from the folder `base`.
    """

    name: str
    printed: Mapping[str, Any]
    paper: Mapping[str, Any]
    fast: bool
    pictures: Path
    base: Path
    sized: bool = False
    parts: list[str] = field(default_factory=list)
    comparisons: list[Comparison] = field(default_factory=list)

    def size(self, full: Size, fast: Size) -> Size:
        """The size of a simulation; an item that asks for one looks different in the fast run."""
        self.sized = True
        return fast if self.fast else full

    def say(self, words: str) -> None:
        """Add a paragraph."""
        self.parts.append(" ".join(words.split()))

    def table(
        self, columns: Mapping[str, Iterable[object]], *, decimals: int | None = None
    ) -> None:
        """Add a table, given by its columns; fractions with this many decimals."""
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

    def picture(self, figure: Figure, seen: str) -> None:
        """Save a picture and show it; `seen` describes it to those who cannot see it."""
        path = style.save(figure, self.pictures, self.name)
        link = Path(os.path.relpath(path, self.base)).as_posix()
        self.parts.append(f"![{' '.join(seen.split())}]({link})")

    def compare(
        self,
        what: str,
        printed: object,
        here: npt.ArrayLike,
        *,
        decimals: int | None = None,
        standard_error: npt.ArrayLike = 0.0,
        misprint: str = "",
        right: object = None,
        why: str = "",
        kind: Kind = Kind.PRINTED,
    ) -> None:
        """Compare printed values with values of the same shape that were computed here.

        They agree when the print is within half a unit of its last digit, and within four standard
        errors where one of both was simulated; `decimals` says which digit is the last where the
        print does not. A fraction such as "1/12" must be met exactly. A reason for a misprint says
        that they must differ; what comes out here must then be `right`, where that is known. What
        is undefined here neither agrees nor shows a misprint.
        """
        value, error = np.asarray(here, dtype=float), np.asarray(standard_error)
        print_ = np.reshape([number(value) for value in flat(printed)], value.shape)
        digits = [decimals_of(value) if decimals is None else decimals for value in flat(printed)]
        unit = np.reshape(10.0 ** -np.array(digits), value.shape)
        distance = np.abs(print_ - value)
        close = distance <= 0.5 * unit + SIGMAS * error + 1e-9
        shown = f"{close.size} values", f"{close.sum()} agree, {near(float(distance.max()))}"
        if close.size <= FEW:
            spread = f" ± {float(error.max()):.2g}" if error.any() else ""
            texts = [show(*each) for each in zip(flat(printed), digits, strict=True)]
            there = listed(value, min(max(digits), MOST_DIGITS) + 2) + spread
            if all(isinstance(value, Printed) for value in flat(here)):
                there = ", ".join(map(str, flat(here)))
            shown = ", ".join(texts), there
        wrong = misprint if np.isfinite(value).all() else ""
        ought = f"ought to be {shown[0]}" if kind is Kind.OWN else shown[0]
        self._add(what, kind, ought, shown[1], bool(close.all()), wrong, why)
        if right is not None:
            self.compare(f"{what}, corrected", right, here, decimals=decimals, kind=Kind.OWN)

    def drawn(self, what: str, printed: float, draws: npt.ArrayLike, *, misprint: str = "") -> None:
        """Compare a printed value that was drawn at random with other draws of the same kind.

        It agrees unless fewer than one draw in a hundred is as far from their median.
        """
        values = np.asarray(draws)
        same = np.mean(np.abs(values - printed) <= 0.5 * 10.0 ** -decimals_of(printed))
        away = np.abs(values - np.median(values))
        as_far = np.mean(away >= np.abs(printed - np.median(values)) - 1e-9)
        words = f"{same:.1%} of {values.size:,} draws; as far out: {as_far:.1%}"
        wrong = misprint if np.isfinite(values).all() else ""
        self._add(what, Kind.PRINTED, str(printed), words, bool(as_far >= RARE), wrong, "")

    def claim(self, what: str, here: str | None, holds: object, *, misprint: str = "") -> None:
        """Compare a statement in the paper's words with what happens here.

        Where nothing but yes or no can be shown, `here` is None.
        """
        shown = cell(bool(holds), None) if here is None else here
        self._add(what, Kind.STATED, "stated", shown, bool(holds), misprint, "")

    def chosen(self, what: str, printed: str, here: str, holds: object) -> None:
        """State an order that data were chosen to show, so that it is no evidence."""
        self._add(what, Kind.CHOICE, printed, here, bool(holds), "", "")

    def check(self, what: str, here: str, holds: object) -> None:
        """State something that must hold here and that no paper prints."""
        self._add(what, Kind.OWN, "–", here, bool(holds), "", "")

    def equal(
        self, what: str, left: npt.ArrayLike, right: npt.ArrayLike, *, misprint: str = ""
    ) -> None:
        """Claim that two things, both computed here, are the same, because the paper says so.

        A reason for a misprint says that they are not; what is undefined shows no misprint.
        """
        gap = largest_gap(left, right)
        self.claim(what, apart(gap), gap < ROUNDING, misprint=misprint if np.isfinite(gap) else "")

    def check_equal(self, what: str, left: npt.ArrayLike, right: npt.ArrayLike) -> None:
        """Check that two things, both computed here, are the same, though no paper prints it."""
        gap = largest_gap(left, right)
        self.check(what, apart(gap), gap < ROUNDING)

    def _add(
        self, what: str, kind: Kind, printed: str, here: str, agrees: bool, misprint: str, why: str
    ) -> None:
        comparison = Comparison(what, kind, printed, here, agrees, not misprint, misprint or why)
        self.comparisons.append(comparison)

    @property
    def good(self) -> bool:
        """Whether everything that must agree does."""
        return all(comparison.good for comparison in self.comparisons)

    def text(self) -> str:
        """The page in Markdown."""
        prints = [row for row in self.comparisons if row.kind is Kind.PRINT]
        others = [row for row in self.comparisons if row.kind is not Kind.PRINT]
        titles = ("compared", "paper", "here", "agrees"), (Kind.PRINT.value, "one", "other", "fit")
        ledgers = zip(titles, (others, prints), strict=True)
        return "\n\n".join([*self.parts, *(ledger(*each) for each in ledgers if each[1])])


def ledger(titles: Sequence[str], comparisons: Sequence[Comparison]) -> str:
    """A table of comparisons."""
    rows = [(row.what, row.printed, row.here, row.verdict) for row in comparisons]
    return markdown_table(dict(zip(titles, zip(*rows, strict=True), strict=True)))


def flat(values: object) -> list[Any]:
    """Printed values in a row, with their digits."""
    if isinstance(values, np.ndarray):
        return list(values.ravel())
    if isinstance(values, list | tuple):
        return [item for value in values for item in flat(value)]
    return [values]


def number(printed: Any) -> float:
    """The number of a print; fractions are printed as such."""
    return float(Fraction(printed)) if isinstance(printed, str) else float(printed)


def decimals_of(printed: Any) -> int:
    """How many decimals a print has; a fraction has all."""
    if isinstance(printed, str):
        return EXACT
    return len(str(printed).partition(".")[2])


def show(printed: Any, decimals: int) -> str:
    """A printed number with its digits."""
    return str(printed) if isinstance(printed, str | Printed | int) else f"{printed:.{decimals}f}"


def largest_gap(left: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """The largest distance between numbers that should be the same; nan if one is undefined."""
    return float(np.max(np.abs(np.subtract(left, right))))


def near(gap: float) -> str:
    """How far two numbers are apart; rounding differs from machine to machine and is not shown."""
    return "to rounding" if abs(gap) < ROUNDING else f"to {abs(gap):.1g}"


def apart(gap: float) -> str:
    """The same for numbers that should be equal."""
    return near(gap) if gap < ROUNDING else f"off by {gap:.2g}"


def listed(values: npt.ArrayLike, decimals: int) -> str:
    """Numbers in a row, with this many decimals."""
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
    if isinstance(plain, Printed):
        return plain.text
    if isinstance(plain, bool):
        return "yes" if plain else "no"
    if isinstance(plain, float):
        digits = ".4g" if decimals is None else f".{decimals}f"
        return "–" if plain != plain else format(plain, digits)
    return str(plain)
