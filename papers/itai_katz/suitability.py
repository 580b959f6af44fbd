"""Section 3.1. Suitable and semi-suitable metrics."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt
from page import Page

from stakes import Counts
from stakes.agreement import (
    all_against_all,
    cramers_phi,
    determinant_mcc,
    general_f1,
    general_fowlkes_mallows,
)
from stakes.audit import Gain, suitability
from stakes.measures import accuracy, mcc


def build(page: Page) -> None:
    """Five properties of each metric, tried on three classes."""
    measures: dict[str, Callable[[Counts], npt.NDArray[np.float64]]] = {
        "accuracy": accuracy,
        "general F1": partial(general_f1, average=-1),
        "general Fowlkes-Mallows": partial(general_fowlkes_mallows, average=-1),
        "all against all, MCC": partial(all_against_all, mcc, average=1),
        "Cramér's φ": cramers_phi,
        "det M": determinant_mcc,
    }
    rng = np.random.default_rng(19)
    found = {
        name: suitability(Gain(measure), n_classes=3, rng=rng) for name, measure in measures.items()
    }
    properties = next(iter(found.values())).properties
    page.table(
        {
            "metric": list(found),
            **{
                words: ["yes" if one.holds[k] else "no" for one in found.values()]
                for k, words in enumerate(properties)
            },
        }
    )
    for name, one in found.items():
        words = "suitable" if name in page.printed["suitable"] else "semi-suitable"
        holds = one.suitable if words == "suitable" else one.semi_suitable
        page.claim(f"{name} is {words}", "yes" if holds else "no", holds)
