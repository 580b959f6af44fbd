"""Cases that the tests of estimators share: classes of very different sizes, ties, weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from stakes import Problem

NAMES = np.array(["none", "mild", "grave"])  # not in the order of the alphabet


@dataclass(frozen=True)
class Rows:
    X: Any
    y: Any
    weights: Any
    clusters: Any
    amount: Any


@pytest.fixture(scope="session")
def three() -> Rows:
    """240 cases of three classes, in clusters of four; features are rounded, so that many tie."""
    rng = np.random.default_rng(3)
    codes = np.repeat([0, 1, 2], [150, 60, 30])[rng.permutation(240)]
    X = (rng.standard_normal((240, 3)) + codes[:, None] * [1.0, 0.3, 0.0]).round(1)
    return Rows(
        X,
        NAMES[codes],
        rng.integers(0, 4, 240).astype(float),
        np.arange(240) // 4,
        rng.lognormal(3, 1, 240).round(2),
    )


@pytest.fixture(scope="session")
def two(three: Rows) -> Rows:
    """The same cases, ill or well."""
    y = np.where(three.y == "none", "well", "ill")
    return Rows(three.X, y, three.weights, three.clusters, three.amount)


@pytest.fixture(scope="session")
def triage() -> Problem:
    """Three classes and four decisions, one of which answers no class."""
    return Problem(
        [[0, 2, 9, 1], [4, 0, 3, 1.5], [30, 12, 0, 6]],
        classes=NAMES.tolist(),
        decisions=["home", "ward", "theatre", "ask"],
        unit="h",
    )


@pytest.fixture(scope="session")
def screening() -> Problem:
    """Two classes and two decisions; scikit-learn would sort the classes the other way round."""
    return Problem.binary(
        false_alarm=1, miss=4, classes=["well", "ill"], decisions=["wait", "treat"]
    )
