"""Complaints and caveats of the library in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from stakes.cli.options import CALIBRATORS
from stakes.report import Report

_OPTIONS = {kind.__name__: name for name, kind in CALIBRATORS.items() if isinstance(kind, type)}
_FIRST = (  # what a message begins with: the name of an argument
    (r"models\[(['\"])(.+?)\1\]", r"model \2"),
    (r"posterior_prior\b", "--posterior-prior"),
    (r"y(_true)?(?= must)", "the column of the truth"),
    (r"(weights|cluster|by|replicates|seed)(?= must)", r"--\1"),
    (r"calibrator(?= must)", "--calibrate"),
)
_REMEDIES: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (
        rf"\b({'|'.join(_OPTIONS)})\(\)",
        lambda found: f"--calibrate {_OPTIONS[found[1]]}",
    ),
    (r"(?<=[Pp]ass )cluster=", "--cluster"),
    (r"which models\[(['\"])(.+?)\1\] has", r"which model \2 has"),
    (
        r"in the order of problem\.classes\? Posteriors\(values, classes=model\.classes_\) takes "
        r"them by name\.",
        "in the order of the classes in the problem file? Name one for each class with --model.",
    ),
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


def with_options(report: Report) -> Report:
    """The report with the advice of its caveats for somebody who wrote options."""
    caveats = (replace(caveat, text=in_options(caveat.text)) for caveat in report.caveats)
    return replace(report, caveats=tuple(caveats))
