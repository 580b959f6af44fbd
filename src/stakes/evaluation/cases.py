"""The cases of an evaluation: encoded truth, weights, groups and clusters, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Labels
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors, Scores, as_predictions

__all__ = ["Cases", "frame_library", "read_cases", "read_models"]

_LIBRARIES = ("pandas", "polars", "pyarrow")  # whose frames a report can be shown as


@dataclass(frozen=True, eq=False)
class Groups:
    """Labels of groups, and for every case the position of its own."""

    labels: Labels
    codes: IntArray


@dataclass(frozen=True, eq=False)
class Cases:
    """What is known about the cases, whatever a model says of them."""

    problem: Problem
    truth: IntArray
    weights: FloatArray | None  # None: every case counts once
    by: Groups | None
    cluster: Groups | None
    shares: FloatArray

    @property
    def prior(self) -> FloatArray:
        """The class shares that count: the stated prior, else those of the data."""
        return self.shares if self.problem.prior is None else self.problem.prior


def read_cases(
    y_true: object, problem: Problem, weights: object, by: object, cluster: object
) -> Cases:
    """Encode the truth and check that everything describes the same cases."""
    truth = _check.codes("y_true", y_true, problem.classes)
    weight = None if weights is None else _check.weights("weights", weights, len(truth))
    if not len(truth):
        _check.weights("weights", None, 0)  # says that there are no cases
    mass = np.bincount(truth, weights=weight, minlength=problem.n_classes)
    return Cases(
        problem=problem,
        truth=truth,
        weights=weight,
        by=_groups("by", by, truth),
        cluster=_groups("cluster", cluster, truth),
        shares=mass / mass.sum(),
    )


def _groups(name: str, labels: object, truth: IntArray) -> Groups | None:
    if labels is None:
        return None
    distinct = _check.distinct(name, labels)
    codes = _check.codes(name, labels, distinct)
    _check.same_length(y_true=truth, **{name: codes})
    return Groups(distinct, codes)


def read_models(models: Any, n_cases: int) -> dict[str, Posteriors | Decisions | Scores]:
    """Predictions by the name of their model; a single one is called "model"."""
    named: Labels | None = None
    if isinstance(models, Mapping):
        if not models:
            raise InputError("models must hold at least one model; the mapping is empty. Add one.")
        named = _check.labels("the models", models)
    given = list(models.values()) if isinstance(models, Mapping) else [models]
    names = [str(name) for name in named or ("model",)]
    _check.labels("the names of the models", names)
    read = {
        name: as_predictions(_argument(name, named is not None), predictions)
        for name, predictions in zip(names, given, strict=True)
    }
    for name, predictions in read.items():
        n_rows = len(predictions.values)
        if n_rows != n_cases:
            raise InputError(
                f"y_true and {_argument(name, named is not None)} must describe the same cases; "
                f"y_true has {n_cases} rows and the predictions {n_rows}. "
                f"Pass one prediction for every case."
            )
    return read


def frame_library(y_true: object, models: Any) -> str | None:
    """The library of the first frame or series that was given; None where there was none."""
    given = [y_true, *(models.values() if isinstance(models, Mapping) else [models])]
    wrappers = Posteriors | Decisions | Scores
    bare = (one.values if isinstance(one, wrappers) else one for one in given)
    homes = (type(one).__module__.partition(".")[0] for one in bare)
    return next((home for home in homes if home in _LIBRARIES), None)


def _argument(name: str, mapped: bool) -> str:
    return f"models[{name!r}]" if mapped else "models"
