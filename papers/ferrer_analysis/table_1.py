"""Table 1. Nine metrics of 21 systems; EC_1.5 as defined and as printed."""

from __future__ import annotations

import numpy as np
from ferrer_analysis.metrics import metrics, tables
from page import Page

SIZES = {"bal": (500, 500), "imb": (900, 100)}


def build(page: Page) -> None:
    """All columns, and the column that was made with another cost."""
    print_ = page.printed
    rows = print_["rows"]
    paper = dict(zip(print_["columns"], np.transpose([row[3:] for row in rows]), strict=True))
    made = [tables(SIZES[data], k12, k21) for data, k21, k12, *_ in rows]
    defined = [metrics(counts, 1.5) for counts in made]
    as_printed = np.array([metrics(counts, np.sqrt(2))["EC_1.5"] for counts in made])
    here = {name: np.array([value[name] for value in defined]) for name in paper}
    page.table(
        {
            "data": [row[0] for row in rows],
            "K21": [row[1] for row in rows],
            "K12": [row[2] for row in rows],
            **{name: [f"{v:.2f}" for v in here[name]] for name in ("EC_1", "EC_1.5")},
            "EC_√2": [f"{v:.2f}" for v in as_printed],
            "EC_1.5, printed": [f"{v:.2f}" for v in paper["EC_1.5"]],
            **{name: [f"{v:.2f}" for v in here[name]] for name in list(paper)[2:]},
        }
    )
    for name, column in paper.items():
        if name != "EC_1.5":
            page.compare(name, column, here[name], decimals=2)
    page.compare(
        "EC_1.5, miss cost 1.5",
        paper["EC_1.5"],
        here["EC_1.5"],
        decimals=2,
        misprint=print_["misprint"],
    )
    page.compare("EC_1.5, miss cost √2", paper["EC_1.5"], as_printed, decimals=2)
