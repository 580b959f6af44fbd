"""Decisions along the scores: the exact scores at which they change, and the same in SQL."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import Value, record

_BITS = np.int64(0x7FFFFFFFFFFFFFFF)
_HALVINGS = 6


@record
class Cuts(Value):
    """Decision k is taken up to and including ``at[k]``, the next one above it.

    Attributes
    ----------
    at : (C,) increasing scores
    decisions : (C + 1,) positions of the decisions
    low, high : the lowest and the highest score that is valid
    """

    at: FloatArray
    decisions: IntArray
    low: float
    high: float

    def __call__(self, scores: FloatArray) -> IntArray:
        """Positions of the decisions for scores (n,)."""
        return np.asarray(self.decisions[np.searchsorted(self.at, scores, side="left")])

    def to_sql(self, column: str, labels: Labels) -> str:
        """The decisions as an SQL expression; NULL for NULL, NaN and invalid scores."""
        name = '"' + column.replace('"', '""') + '"'
        _check.refuse_mixed(labels)
        texts = [_literal(labels[place]) for place in self.decisions]
        low = "" if self.low == -np.inf else f" WHEN {name} < {_number(self.low)} THEN NULL"
        stops = zip([*self.at.tolist(), self.high], texts, strict=True)
        parts = "".join(
            f" WHEN {test} THEN {text}" for stop, text in stops for test in _up_to(name, stop)
        )
        return f"CASE{low}{parts} END"


def cuts_of(decide: Callable[[FloatArray], IntArray], low: float, high: float) -> Cuts:
    """Where decisions change between two scores, by bisection over all floating-point numbers.

    The scores of each decision must form an interval, as they do where the posterior is monotone in
    the score. Then no other decision lies between two scores with the same decision.

    Parameters
    ----------
    decide : positions of the decisions for scores (n,)
    low, high : the lowest and the highest score that is valid

    Returns
    -------
    the cuts, each the highest score of its decision

    Examples
    --------
    >>> cuts = cuts_of(lambda scores: (scores > 0.25).astype(int), 0.0, 1.0)
    >>> cuts.at.tolist(), cuts.decisions.tolist()
    ([0.25], [0, 1])
    """
    bounds = _rank(np.array([low, high]))
    known = dict(zip(bounds.tolist(), decide(_score(bounds)).tolist(), strict=True))
    open_pairs = [(int(bounds[0]), int(bounds[1]))]
    borders: list[int] = []
    # Halves, not equal steps: beside a cut the decisions of several neighbours may alternate,
    # because their costs differ by rounding only; halves meet just one of these changes.
    while open_pairs:
        a, b = open_pairs.pop()
        if known[a] == known[b]:
            continue
        if b - a == 1:
            borders.append(a)
            continue
        if (a + b) // 2 not in known:
            middles = _middles(a, b, _HALVINGS)
            decided = decide(_score(np.array(middles, dtype=np.int64)))
            known.update(zip(middles, decided.tolist(), strict=True))
        open_pairs += [(a, (a + b) // 2), ((a + b) // 2, b)]
    borders.sort()
    places = [*(known[border] for border in borders), known[int(bounds[1])]]
    return Cuts._trusted(
        at=_score(np.array(borders, dtype=np.int64)),
        decisions=np.array(places, dtype=np.intp),
        low=low,
        high=high,
    )


def _middles(a: int, b: int, halvings: int) -> list[int]:
    """All places between two that so many halvings may meet: deciding them at once is cheaper."""
    if b - a == 1 or not halvings:
        return []
    middle = (a + b) // 2
    return [middle, *_middles(a, middle, halvings - 1), *_middles(middle, b, halvings - 1)]


def _rank(values: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Integers in the order of the floating-point numbers; neighbours differ by one."""
    bits = (values + 0.0).view(np.int64)  # adding zero turns −0.0 into 0.0, which is one number
    return np.where(bits >= 0, bits, -(bits & _BITS))


def _score(ranks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> FloatArray:
    """The floating-point numbers of these ranks."""
    return np.copysign(np.abs(ranks).view(np.float64), np.where(ranks < 0, -1.0, 1.0))


def _up_to(name: str, stop: float) -> tuple[str, ...]:
    """Tests of which one holds for numbers up to this one, and none for NaN.

    SQL has no literal for infinity that all databases share.
    """
    largest = _number(sys.float_info.max)
    if stop == np.inf:
        return f"{name} <= {largest}", f"1e0 / {name} = 0e0"
    return (f"{name} < -{largest}" if stop == -np.inf else f"{name} <= {_number(stop)}",)


def _number(value: float) -> str:
    """A literal of double precision; without an exponent, SQL would read a decimal number."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _literal(label: Label) -> str:
    if isinstance(label, str):
        return "'" + label.replace("'", "''") + "'"
    return str(label).upper() if isinstance(label, bool) else str(label)
