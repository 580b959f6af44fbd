"""What to do about labels of a column that are none of those that it may hold."""

from __future__ import annotations

import re
from collections.abc import Collection

from stakes._check.kinds import Labels, listed

# Texts that were meant as numbers, also with a decimal comma, infinite or nan.
_NUMERIC = re.compile(r"\s*[+-]?(\d*[.,]?\d+(e[+-]?\d+)?|inf(inity)?|nan)\s*%?", re.IGNORECASE)


def reads_as_number(label: object) -> bool:
    """Whether a label is a text that was meant as a number.

    >>> [reads_as_number(label) for label in ("0.36 %", ",5", "p", 3)]
    [True, True, False, False]
    """
    return isinstance(label, str) and _NUMERIC.fullmatch(label) is not None


# What may be done about cases without a true class, wherever they come from.
UNLABELLED = (
    "Leave them out only where whether a label is there has nothing to do with the class, as with "
    "labels that nobody has read yet. Where the labels of one class come late, as those of fraud "
    "do, costs would look too low without them: wait for these labels, or evaluate an earlier "
    "period, of which all are known."
)


def for_missing(name: str) -> str:
    """What to do about labels that are missing in an argument."""
    return UNLABELLED if name in ("y_true", "y") else "Remove these cases first."


def is_blank(label: object) -> bool:
    """Whether a label is missing, or a text of nothing but blanks.

    >>> [is_blank(label) for label in (None, " ", "0", 0)]
    [True, True, False, False]
    """
    return label is None or (isinstance(label, str) and not label.strip())


def _is_among(label: object, labels: Collection[object]) -> bool:
    return any(type(each) is type(label) and each == label for each in labels)


def for_no_class(label: object, decisions: Collection[object]) -> str:
    """The remedy for what is no class but missing, or a decision; empty for anything else."""
    if is_blank(label):
        return UNLABELLED
    if not _is_among(label, decisions):
        return ""
    return (
        "These are the problem's decisions: is this another column, or are the costs transposed? "
        "Their rows are classes, their columns are decisions."
    )


def for_no_decision(label: object, decisions: Labels, classes: Collection[object]) -> str:
    """The remedy for what is no decision but a class, or a number as text; empty otherwise."""
    if _is_among(label, classes):
        return (
            f"These are classes; the problem decides {listed(decisions)}: pass such decisions, or "
            f"probabilities."
        )
    if reads_as_number(label) and not any(map(reads_as_number, decisions)):
        divided = " and divide them by 100" if "%" in str(label) else ""
        return f"These are numbers as text: convert them to float{divided}."
    return ""
