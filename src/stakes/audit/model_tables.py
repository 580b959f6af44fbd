"""Several models as one stack of tables, and which of them a criterion picks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray, Labels
from stakes.errors import InputError
from stakes.tally import Counts, JointCounts

#: Tables by name, joint counts, or counts whose first leading axis is the models.
Models = Mapping[Any, Counts] | JointCounts | Counts


def read_models(models: Models) -> tuple[Labels, Counts]:
    """Names of J models and their counts, of shape (…, J, K, M).

    Two classes and two decisions match by position, whatever the decisions are called: the metrics
    then read the second decision as the positive one.
    """
    names, tables = _tables(models)
    first = tables[0]
    for table in tables[1:]:
        if table.values.shape != first.values.shape:
            raise InputError(
                f"models must have tables of one shape; {names[0]!r} has {first.values.shape}, "
                f"another {table.values.shape}. Evaluate all of them on the same classes."
            )
        _check.same_labels("the classes of the models", first.classes, table.classes)
        _check.same_labels("the decisions of the models", first.decisions, table.decisions)
    stacked = Counts._trusted(
        values=np.stack([table.values for table in tables], axis=-3),
        classes=first.classes,
        decisions=first.decisions,
        groups=None,
    )
    return names, stacked


def _tables(models: Models) -> tuple[Labels, list[Counts]]:
    if isinstance(models, JointCounts):
        return models.models, [models.model(name) for name in models.models]
    if isinstance(models, Counts) and models.values.ndim > 2:
        names = models.groups or tuple(range(len(models.values)))
        return names, [models[j] for j in range(len(names))]
    if not isinstance(models, Mapping) or not models:
        raise InputError(
            "models must be a mapping from name to Counts, JointCounts, or Counts whose first "
            f"leading axis is the models; got {type(models).__name__}. "
            "One model alone cannot be compared."
        )
    for name, table in models.items():
        if not isinstance(table, Counts):
            raise InputError(
                f"models must map names to Counts; {name!r} maps to {type(table).__name__}. "
                f"Tally its decisions with Counts.from_decisions first."
            )
    return _check.labels("the models", models), list(models.values())


def by_position(counts: Counts) -> Counts:
    """Counts for metrics of square tables: two decisions stand for the two classes."""
    if counts.values.shape[-2:] != (2, 2):
        return counts
    return Counts._trusted(values=counts.values, classes=None, decisions=None, groups=None)


def picked(goodness: FloatArray) -> BoolArray:
    """The best along the last axis, with all that tie with it; undefined is never picked."""
    return least(-goodness)
