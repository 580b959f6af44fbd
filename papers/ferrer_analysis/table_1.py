"""Table 1. Nine metrics of 21 systems; EC_1.5 as defined and as printed."""

from __future__ import annotations

import numpy as np
from ferrer_analysis.metrics import metrics, tables
from page import Page


def build(page: Page) -> None:
    """All columns, and the column that was made with another cost."""
    print_, sizes = page.printed, page.paper["figure-1"]["class_sizes"]
    data, k21, k12, *columns = (np.array(column) for column in zip(*print_["rows"], strict=True))
    paper = dict(zip(print_["columns"], columns, strict=True))
    all_counts = [
        tables(sizes[name], *errors) for name, *errors in zip(data, k12, k21, strict=True)
    ]
    defined = [metrics(counts, 1.5) for counts in all_counts]
    as_printed = np.array([metrics(counts, np.sqrt(2))["EC_1.5"] for counts in all_counts])
    here = {name: np.array([value[name] for value in defined]) for name in paper}
    page.table(
        {
            "data": data,
            "K21": k21,
            "K12": k12,
            **{name: here[name] for name in ("EC_1", "EC_1.5")},
            "EC_√2": as_printed,
            "EC_1.5, printed": paper["EC_1.5"],
            **{name: here[name] for name in list(paper)[2:]},
        },
        decimals=2,
    )
    for name, column in paper.items():
        if name != "EC_1.5":
            page.compare(name, column, here[name], decimals=2)
    column, wrong = paper["EC_1.5"], print_["misprint"]
    page.compare("EC_1.5, miss cost 1.5", column, here["EC_1.5"], decimals=2, misprint=wrong)
    page.compare("EC_1.5, miss cost √2", column, as_printed, decimals=2)
    least = [min(1.5 * sizes[name][1], sizes[name][0]) for name in data]
    by_hand = (1.5 * k21 + k12) / least
    page.check_equal("EC_1.5 = (1.5 K21 + K12) / min(1.5 K2, K1)", here["EC_1.5"], by_hand)
