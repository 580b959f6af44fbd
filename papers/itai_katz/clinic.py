"""Section 1.2.1. A test that is right in 99 cases of 100, and wrong in one alarm of three."""

from __future__ import annotations

from page import Page

from stakes import Counts
from stakes.measures import accuracy, precision


def build(page: Page) -> None:
    """The table of 50,000 visitors."""
    print_ = page.printed
    sick, healthy = print_["sick"], print_["visitors"] - print_["sick"]
    right = print_["accuracy"]
    counts = Counts(
        [[healthy * right, healthy * (1 - right)], [sick * (1 - right), sick * right]],
        classes=["healthy", "sick"],
        decisions=["healthy", "sick"],
    )
    rows = [(name, *row) for name, row in zip(("healthy", "sick"), counts.values, strict=True)]
    page.rows(("", "declared healthy", "declared sick"), rows, decimals=0)
    page.compare("accuracy", print_["accuracy"], accuracy(counts), decimals=2)
    page.compare("sick who are detected", print_["detected"], counts.values[1, 1], decimals=0)
    words, alarms, right = "healthy who are declared sick", counts.values[0, 1], print_["right"]
    reason = {"misprint": print_["misprint"], "right": right["false_alarms"]}
    page.compare(words, print_["false_alarms"], alarms, decimals=0, **reason)
    part, whole = print_["healthy_among_detected"]
    page.compare("healthy among the detected", part / whole, 1 - precision(counts)[1], decimals=2)
