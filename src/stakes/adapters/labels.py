"""Labels of files: they match by text, and every row must have one that is known."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stakes._check import Label, Labels
from stakes.errors import InputError


@dataclass(frozen=True)
class Wanted:
    """A column of labels: all of them must be among `labels`, unless these are None."""

    column: str
    role: str  # what the labels are, in words
    labels: Labels | None = None
    may_be_missing: bool = False


def spellings(labels: Sequence[Label]) -> dict[str, int]:
    """The texts that stand for each label, and its position.

    Each label stands for itself; whole numbers are also written with a point and a nought, and
    booleans in the ways of other languages, unless that is another label.

    >>> spellings([0, 1])
    {'0': 0, '1': 1, '0.0': 0, 'false': 0, 'False': 0, '1.0': 1, 'true': 1, 'True': 1}
    """
    known = {_text(label): place for place, label in enumerate(labels)}
    for place, label in enumerate(labels):
        if isinstance(label, str):
            continue
        others = [f"{int(label)}", f"{int(label)}.0"]
        if label in (0, 1):
            others += [str(bool(label)).lower(), str(bool(label))]
        for other in others:
            known.setdefault(other, place)
    return known


def group_labels(texts: Iterable[str]) -> dict[str, Label]:
    """The texts of groups in their order, each with its label: whole numbers stay numbers.

    >>> group_labels(["10", "9"]), list(group_labels(["10.5", "9"])), list(group_labels(["b", "9"]))
    ({'9': 9, '10': 10}, ['9', '10.5'], ['9', 'b'])
    """
    known = list(texts)
    if all(re.fullmatch(r"0|-?[1-9]\d{0,17}", text) for text in known):
        return {text: int(text) for text in sorted(known, key=int)}
    numbers = all(re.fullmatch(r"-?\d+(\.\d+)?", text) for text in known)
    return {text: text for text in (sorted(known, key=float) if numbers else sorted(known))}


def refused(wanted: Wanted, source: str, others: int, n_rows: int, often: str | None) -> InputError:
    """The complaint about rows that hold other labels, or none, and the one met most often."""
    shown = "nothing" if often is None else repr(often)
    among = "" if wanted.labels is None else f" {', '.join(map(_text, wanted.labels))}"
    return InputError(
        f"column {wanted.column!r} of {source} must hold the {wanted.role}{among} in "
        f"every row; {others} of {n_rows} rows hold something "
        f"else, most often {shown}. Remove or rename these, or add them to the problem."
    )


def _text(label: Label) -> str:
    return str(label).lower() if isinstance(label, bool) else str(label)
