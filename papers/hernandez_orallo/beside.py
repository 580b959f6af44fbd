"""Models A and B beside those of the paper, with the standard error of their difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from hernandez_orallo.models import joint_scores, models
from page import Page

from stakes import ScoreTable
from stakes.inference import bootstrap


def lead(measure: Callable[[ScoreTable], npt.ArrayLike], replicates: int) -> tuple:
    """B minus A by a measure, and its standard error when the same cases are resampled for both."""
    estimate = bootstrap(
        lambda joint: np.subtract(measure(joint.table("B")), measure(joint.table("A"))),
        joint_scores(),
        replicates=replicates,
        rng=np.random.default_rng(20),
    )
    return float(estimate.value), float(estimate.replicates.std(ddof=1))


def show_beside(page: Page, paper: Mapping[str, list], here: Mapping[str, Callable]) -> None:
    """Add a table of A and B, and say which of them leads, as chosen."""
    rows = []
    for name, measure in here.items():
        (gap, error), printed = lead(measure, page.size(1000, 100)), paper[name]
        values = (float(measure(table)) for table in models().values())
        rows.append((name, *map(str, printed), *values, f"{gap:+.3f} ± {error:.3f}"))
        what = f"B − A, {name}, has the sign of the paper's"
        theirs = printed[1] - printed[0]
        page.chosen(what, f"{theirs:+.3f}", f"{gap:+.3f} ± {error:.3f}", theirs * gap > 0)
    page.rows(("", "paper, A", "paper, B", "here, A", "here, B", "here, B − A"), rows, decimals=3)
