"""Metrics, costs and decisions of a two-class population at every threshold, and at a few."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import norm

from stakes import Problem, normalized_cost
from stakes.audit import FAMILIAR
from stakes.simulate import GaussianWorld

Row = npt.NDArray[np.float64]


class Curves(NamedTuple):
    """What happens at some thresholds; costs by what a miss costs."""

    at: Row
    metrics: dict[str, Row]
    costs: dict[float, Row]
    detected: Row


def curves(world: GaussianWorld, at: Sequence[float] | Row, problems: Mapping[float, Problem]):
    """F1, MCC, normalised costs and the share of positive decisions at these thresholds."""
    counts = world.threshold_counts(at)
    metrics = {name: FAMILIAR[name](counts) for name in ("F1", "MCC")}
    costs = {miss: normalized_cost(counts, problem) for miss, problem in problems.items()}
    return Curves(np.asarray(at), metrics, costs, counts.values[..., 1].sum(axis=-1))


def densities(world: GaussianWorld, at: Row) -> list[Row]:
    """Prior times density of the log-odds; equal variances make them linear in the feature."""
    low, high = world.log_odds([0.0, 1.0])
    sd = (high - low) * np.sqrt(world.variances[0])
    each = zip((low, high), world.prior, strict=True)
    return [share * norm.pdf(at, mean, sd) for mean, share in each]
