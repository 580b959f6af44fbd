"""Metrics that rank models, and whether higher is better; models as one stack of tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from stakes import _check, agreement, measures
from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray, Labels, Numbers
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts, tallies_by_model

T = TypeVar("T")
TableMeasure = Callable[[Counts], Numbers]
#: Tables by name, joint counts, or counts whose first leading axis is the models.
ModelTables = Mapping[Any, Counts] | JointCounts | Counts
_REMEDY = (
    "Take one class of a per-class measure with PositiveClass(measure), and carry leading axes "
    "through."
)
_EACH_CLASS = "Measures such as recall do; leave PositiveClass out for one number of all classes."


@record
class Metric(Value, ABC):
    """A function of counts that ranks models; `Gain` and `Loss` say whether higher is better.

    The function takes Counts of shape (…, K, M) and gives one number for each table, (…); nan where
    it is undefined. It must carry leading axes through, as all measures of this library do.

    Examples
    --------
    A metric is called like its function; models are ranked by `goodness`:

    >>> from stakes.measures import error_rate
    >>> metric, counts = Loss(error_rate), Counts([[8, 2], [1, 9]])
    >>> float(metric(counts)), float(metric.goodness(counts))
    (0.15, -0.15)
    """

    measure: TableMeasure

    def __call__(self, counts: Counts) -> FloatArray:
        """Values of the metric, of shape (…)."""
        values = _check.returned("metric", self.measure(counts), _REMEDY)
        leading = counts.values.shape[:-2]
        if values.shape != leading:
            raise InputError(
                f"metric must give one number for each table; for tables of shape {leading} "
                f"{self.measure!r} gave {values.shape}. {_REMEDY}"
            )
        return values

    @abstractmethod
    def goodness(self, counts: Counts) -> FloatArray:
        """The metric, with its sign such that higher is better.

        Parameters
        ----------
        counts : cases by true class and decision, (…, K, M)

        Returns
        -------
        values, (…)

        Examples
        --------
        >>> from stakes.measures import accuracy
        >>> float(Gain(accuracy).goodness(Counts([[8, 2], [1, 9]])))
        0.85
        """


@record
class Gain(Metric):
    """A metric whose higher values are better.

    Parameters
    ----------
    measure : a function of `Counts`

    Examples
    --------
    >>> from stakes.measures import accuracy
    >>> float(Gain(accuracy).goodness(Counts([[8, 2], [1, 9]])))
    0.85
    """

    def goodness(self, counts: Counts) -> FloatArray:  # noqa: D102
        return self(counts)


@record
class Loss(Metric):
    """A metric whose lower values are better.

    Parameters
    ----------
    measure : a function of `Counts`

    Examples
    --------
    >>> from stakes.measures import error_rate
    >>> float(Loss(error_rate).goodness(Counts([[8, 2], [1, 9]])))
    -0.15
    """

    def goodness(self, counts: Counts) -> FloatArray:  # noqa: D102
        return -self(counts)


@record
class PositiveClass(Value):
    """The value that a per-class measure gives to the positive class, the last one.

    Parameters
    ----------
    measure : a function of `Counts` with a value for each class

    Examples
    --------
    >>> from stakes.measures import recall
    >>> float(PositiveClass(recall)(Counts([[8, 2], [1, 9]])))
    0.9
    """

    measure: TableMeasure

    def __call__(self, counts: Counts) -> FloatArray:
        """Last entry of the measure, of shape (…)."""
        values = _check.returned("metric", self.measure(counts), _EACH_CLASS)
        if not values.ndim:
            raise InputError(f"metric must give one number for each class; got one. {_EACH_CLASS}")
        return np.asarray(values[..., -1])


#: Common metrics for two classes and two decisions, by their usual names.
FAMILIAR: Mapping[str, Metric] = MappingProxyType(
    {
        "accuracy": Gain(measures.accuracy),
        "balanced accuracy": Gain(measures.balanced_accuracy),
        "precision": Gain(PositiveClass(measures.precision)),
        "recall": Gain(PositiveClass(measures.recall)),
        "specificity": Gain(PositiveClass(measures.specificity)),
        "F1": Gain(PositiveClass(partial(measures.f_beta, beta=1))),
        "MCC": Gain(measures.mcc),
        "Cohen's kappa": Gain(measures.cohen_kappa),
        "Fowlkes-Mallows": Gain(PositiveClass(measures.fowlkes_mallows)),
    }
)

#: Common metrics for any number of classes, none of which is the positive one.
FAMILIAR_MULTICLASS: Mapping[str, Metric] = MappingProxyType(
    {
        "accuracy": Gain(measures.accuracy),
        "balanced accuracy": Gain(measures.balanced_accuracy),
        "macro F1": Gain(partial(measures.macro_f_beta, beta=1)),
        "MCC": Gain(measures.mcc),
        "Cohen's kappa": Gain(measures.cohen_kappa),
        "Fowlkes-Mallows": Gain(partial(agreement.general_fowlkes_mallows, average=1)),
        "determinant MCC": Gain(agreement.determinant_mcc),
        "Cramér's phi": Gain(agreement.cramers_phi),
    }
)


def familiar_metrics(problem: Problem) -> Mapping[str, Metric]:
    """The familiar metrics that this problem allows.

    `FAMILIAR` for two classes and two decisions, `FAMILIAR_MULTICLASS` where each decision stands
    for one class, and none otherwise: a decision that stands for no class has a cost but no recall.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    name → metric

    Examples
    --------
    >>> len(familiar_metrics(Problem([[0, 3, 25], [180, 8, 0]])))
    0
    """
    _check.require("problem", problem, Problem)
    if problem.costs.shape == (2, 2):
        return FAMILIAR
    return FAMILIAR_MULTICLASS if problem.answers == problem.classes else {}


def of_each(metrics: Mapping[str, Metric], function: Callable[[Metric], T]) -> Iterator[T]:
    """The result of a function for each metric; errors show the metric's name in the mapping."""
    for name, metric in metrics.items():
        with _check.renamed(metric=f"metrics[{name!r}]"):
            value = function(metric)
        yield value


def read_model_tables(models: ModelTables) -> tuple[Labels, Counts]:
    """Names of J models and their counts, of shape (…, J, K, M).

    Two classes and two decisions match by position, whatever the decisions are called: the metrics
    then read the second decision as the positive one.
    """
    by_model = tallies_by_model(models, Counts, "Counts.from_decisions")
    names, tables = tuple(by_model), tuple(by_model.values())
    first = tables[0]
    for table in tables[1:]:
        if table.values.shape != first.values.shape:
            raise InputError(
                f"models must have tables of one shape; {names[0]!r} has {first.values.shape}, "
                f"another {table.values.shape}. Evaluate all of them on the same classes."
            )
        _check.same_names("the models", first, table)
    values = np.stack([table.values for table in tables], axis=-3)
    return names, first._but(values=values, groups=None)


def by_position(counts: Counts) -> Counts:
    """Counts for metrics of square tables: two decisions stand for the two classes."""
    if counts.values.shape[-2:] != (2, 2):
        return counts
    return Counts._unlabelled(counts.values)


def picked(goodness: FloatArray) -> BoolArray:
    """The best along the last axis, with all that tie with it; undefined is never picked."""
    return least(-goodness)
