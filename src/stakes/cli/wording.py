"""Complaints of the library in the words of the command line: options instead of arguments."""

from __future__ import annotations

import re

__all__ = ["in_options"]

_FIRST = (  # what a message begins with: the name of an argument
    (r"models\[(['\"])(.+?)\1\]", r"model \2"),
    (r"posterior_prior\b", "--posterior-prior"),
    (r"y(_true)?(?= must)", "the column of the truth"),
    (r"(weights|cluster|by|replicates|seed)(?= must)", r"--\1"),
    (r"calibrator(?= must)", "--calibrate"),
)
_REMEDIES = (
    (
        r"Raw scores belong in Scores or a ScoreTable, which accept any real number; a calibrator "
        r"turns them into probabilities\.",
        "Raw scores go to evaluate and audit as --scores NAME=COLUMN; stakes calibrate turns them "
        "into probabilities.",
    ),
    (r"Wrap them in Posteriors or Decisions\.", "State one column for each class with --model."),
    (r"Leave weights out", "Leave --weights out"),
    (
        r"from_prior must be positive where to_prior is",
        "--posterior-prior must be positive where the prior of the problem is",
    ),
)


def in_options(message: str) -> str:
    """The message for somebody who wrote options.

    >>> in_options("posterior_prior must sum to one; it sums to 1.1.")
    '--posterior-prior must sum to one; it sums to 1.1.'
    >>> in_options("models['a'] must sum to one in every row")
    'model a must sum to one in every row'
    """
    for argument, option in _FIRST:
        message = re.sub(f"^{argument}", option, message)
    for remedy, own in _REMEDIES:
        message = re.sub(remedy, own, message)
    return message
