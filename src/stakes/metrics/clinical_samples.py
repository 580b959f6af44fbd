"""Cases that several diagnostic tests were tried on, counted together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray, Label
from stakes.errors import InputError
from stakes.inference import Clusters, profile_threshold
from stakes.metrics.metric_rows import MetricRow
from stakes.problem import Problem
from stakes.rows import Decisions
from stakes.tally import Counts, JointCounts

Bounds = tuple[FloatArray, FloatArray]
ALONE = "test"  # the name of a single test
METRICS = (
    *("sensitivity", "specificity", "PPV", "NPV", "LR+", "LR−", "net benefit"),
    *("interventions avoided", "NNS", "NNT"),
)


def metric_row(name: Label, metric: str, value: float, bounds: Bounds) -> MetricRow:
    """A row of the table; what is undefined has no interval."""
    low, high = (np.nan if np.isnan(value) else float(end) for end in bounds)
    return MetricRow(name, metric, value, low, high)


@dataclass(frozen=True)
class Sample:
    """Joint counts of the tests, and how the cases were drawn."""

    joint: JointCounts
    squares: JointCounts | None
    scheme: Clusters | None
    problem: Problem
    level: float

    @property
    def prior(self) -> FloatArray | None:
        """The prior of the problem; None where it states none."""
        return self.problem.prior

    @classmethod
    def of(
        cls,
        y_true: object,
        tests: Mapping[Any, object],
        problem: Problem,
        weights: object,
        clusters: object,
        level: float,
    ) -> Sample:
        """Read the cases, with the names of `clinical_table` in every message."""
        models = _check.labels("the tests", tests)
        names = {name: f"decisions[{name!r}]" for name in tests}
        if models == (ALONE,):
            names = {ALONE: "decisions"}
        _check.aligned(
            y_true=y_true,
            **{names[name]: column for name, column in tests.items()},
            sample_weight=weights,
            clusters=clusters,
        )
        columns = {"y_true": _check.codes("y_true", y_true, problem.classes)}
        for name, decisions in tests.items():
            columns[names[name]] = _coded(names[name], decisions, problem)
        n_cases = _check.same_length(**columns)
        mass = None if weights is None else _check.weights("sample_weight", weights, n_cases)
        _refuse_one_cluster(clusters)
        joint = JointCounts._of_codes(columns, models, problem, mass, None, clusters)
        squares = None
        if mass is not None and not np.array_equal(joint.weights, np.floor(joint.weights)):
            squares = JointCounts._of_codes(columns, models, problem, mass**2, None, clusters)
        scheme = None if clusters is None else Clusters()
        return cls(joint, squares, scheme, problem, level)

    def model(self, name: Label) -> tuple[Counts, FloatArray | None]:
        """Counts of a test, with clusters where there are some, and their squared weights."""
        squares = None if self.squares is None else self.squares.model(name).values
        return self.joint.model(name), squares

    def counts(self, name: Label) -> Counts:
        """Counts of all clusters under the stated prevalence."""
        return at_prevalence(summed(self.joint.model(name), self.scheme), self.prior)

    def threshold(self, degrees: FloatArray) -> FloatArray:
        """Square of the normal or Student's quantile."""
        return profile_threshold(self.level, degrees)


def _coded(name: str, decisions: Any, problem: Problem) -> IntArray:
    """Positions of decisions; probabilities are refused by that name."""
    values = decisions.values if isinstance(decisions, Decisions) else decisions
    array = _check.array(name, values)
    if array.dtype.kind == "f" and not np.isin(array, [0, 1]).all():
        raise InputError(
            f"{name} must hold decisions; these are probabilities or other numbers. Cut them at a "
            f"threshold, or pass probabilities through bayes_decisions first.",
            argument="decisions",
        )
    return _check.decisions(name, values, problem.decisions)


def _refuse_one_cluster(clusters: object) -> None:
    if clusters is not None and len(_check.clusters(clusters).labels) == 1:
        raise InputError(
            "clusters must be two or more; there is one, which tells nothing of how clusters "
            "differ. Leave clusters out where cases were drawn one by one.",
            argument="clusters",
        )


def summed(counts: Counts, scheme: Clusters | None) -> Counts:
    """Counts of all clusters."""
    return counts if scheme is None else scheme.whole(counts)


def at_prevalence(counts: Counts, prior: FloatArray | None) -> Counts:
    """The table under a prior, without labels: its second row and column are positive."""
    moved = counts if prior is None else counts.with_prior(prior)
    return Counts._trusted(values=moved.values, classes=None, decisions=None, groups=None)
