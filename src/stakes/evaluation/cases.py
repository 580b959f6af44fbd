"""The cases of an evaluation: encoded truth, weights, groups and clusters, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes.decide import label_array
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.rows import Decisions, Posteriors, Scores, as_predictions

__all__ = ["Cases", "read_cases", "read_models"]


@dataclass(frozen=True, eq=False)
class Cases:
    """What is known about the cases, whatever a model says of them."""

    problem: Problem
    truth: IntArray
    weights: FloatArray | None  # None: every case counts once
    by: Any
    cluster: Any
    shares: FloatArray

    @property
    def labels(self) -> Any:
        """True classes as labels, (n,)."""
        return label_array(self.problem.classes)[self.truth]

    def part(self, own: BoolArray) -> Cases:
        """Some of the cases; the prior of the report stays with the problem."""
        weights = None if self.weights is None else self.weights[own]
        cluster = None if self.cluster is None else np.asarray(self.cluster)[own]
        if cluster is not None and len(set(cluster.tolist())) < 2:
            cluster = None  # a single unit cannot be redrawn
        return read_cases(self.labels[own], self.problem, weights, None, cluster)

    @property
    def prior(self) -> FloatArray:
        """The class shares that count: the stated prior, else those of the data."""
        return self.shares if self.problem.prior is None else self.problem.prior

    @property
    def whole(self) -> bool:
        """Whether all weights are numbers of cases."""
        return self.weights is None or bool((self.weights == np.floor(self.weights)).all())

    @property
    def n_clusters(self) -> int | None:
        """How many units were drawn, when cases come in clusters."""
        return None if self.cluster is None else len(_check.distinct("cluster", self.cluster))


def read_cases(
    y_true: object, problem: Problem, weights: object, by: object, cluster: object
) -> Cases:
    """Encode the truth and check that everything describes the same cases."""
    truth = _check.codes("y_true", y_true, problem.classes)
    weight = None if weights is None else _check.weights("weights", weights, len(truth))
    if not len(truth):
        _check.weights("weights", None, 0)  # says that there are no cases
    for name, labels in (("by", by), ("cluster", cluster)):
        if labels is not None:
            codes = _check.codes(name, labels, _check.distinct(name, labels))
            _check.same_length(y_true=truth, **{name: codes})
    mass = np.bincount(truth, weights=weight, minlength=problem.n_classes)
    return Cases(
        problem=problem,
        truth=truth,
        weights=weight,
        by=by,
        cluster=cluster,
        shares=mass / mass.sum(),
    )


def read_models(models: Any, n_cases: int) -> dict[str, Posteriors | Decisions | Scores]:
    """Predictions by the name of their model; a single one is called "model"."""
    named: Labels | None = None
    if isinstance(models, Mapping):
        if not models:
            raise InputError("models must hold at least one model; the mapping is empty. Add one.")
        named = _check.labels("the models", models)
    given = list(models.values()) if isinstance(models, Mapping) else [models]
    names = ("model",) if named is None else tuple(str(name) for name in named)
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


def _argument(name: str, mapped: bool) -> str:
    return f"models[{name!r}]" if mapped else "models"
