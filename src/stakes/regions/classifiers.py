"""Where each classifier is the cheapest: a model together with the way its threshold is chosen.

Expected loss belongs to classifiers, not to models: a model that loses with one threshold-choice
method may win with another (hernandez-orallo, section 1 and table 2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label
from stakes.conditions import Condition
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.regions.partition import Regions, lowest
from stakes.tally import ScoreTable
from stakes.thresholds import Method

__all__ = [
    "classifier_curves",
    "classifier_regions",
    "skews_as_cost_proportions",
    "skews_as_priors",
]


def classifier_curves(
    classifiers: Mapping[Any, tuple[ScoreTable, Method]], over: Condition | type[Condition]
) -> dict[Label, Curve]:
    """Loss of each classifier at every cost proportion or skew."""
    tables = [_table(label, pair) for label, pair in classifiers.items()]
    classes = None
    for label, table in zip(classifiers, tables, strict=True):
        classes = _check.same_labels("the classes of the tables", classes, table.classes)
        if not np.allclose(table.shares, tables[0].shares, rtol=0, atol=1e-9, equal_nan=True):
            raise InputError(
                f"classifiers must be scored on the same cases; the class shares of {label!r} "
                f"differ from those of the first. Reweight both tables with with_prior."
            )
    return {label: method.loss_curve(table, over) for label, (table, method) in classifiers.items()}


def _table(label: object, pair: object) -> ScoreTable:
    """The table of one classifier, once it is a table and a method."""
    if isinstance(pair, tuple) and len(pair) == 2:
        table, method = pair
        if isinstance(table, ScoreTable) and isinstance(method, Method):
            return table
    raise InputError(
        f"classifiers must map names to a table and a method; that of {label!r} is {pair!r}. Pass "
        f"pairs such as (table, Optimal()), the method being a value and not its class."
    )


def classifier_regions(
    classifiers: Mapping[Any, tuple[ScoreTable, Method]], over: Condition | type[Condition]
) -> Regions:
    """Intervals of the cost proportion (or skew) in which each classifier is the cheapest.

    Exact: loss curves are made of pieces, and their crossings are roots.

    Parameters
    ----------
    classifiers : mapping from a name to a table and a method
    over : `CostProportions` or `Skews`

    Examples
    --------
    >>> from stakes.conditions import CostProportions
    >>> from stakes.thresholds import ScoreDriven, ScoreFixed
    >>> table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.7, 0.9])
    >>> print(classifier_regions({"at one half": (table, ScoreFixed(0.5)),
    ...                           "at the costs": (table, ScoreDriven())}, CostProportions))
    cost proportion                    cheapest
    0 to 0.35                      at the costs
    0.35 to 0.6      at one half, at the costs
    0.6 to 1                       at the costs
    """
    name = getattr(over, "__name__", type(over).__name__)
    axis = {"CostProportions": "cost proportion", "Skews": "skew"}.get(name, name)
    return lowest(classifier_curves(classifiers, over), axis=axis)


def skews_as_cost_proportions(regions: Regions, *, prior: object) -> Regions:
    r"""Regions of the skew as regions of the cost proportion at one prior.

    .. math:: c = \frac{z \pi_1}{z \pi_1 + (1 - z) \pi_0}

    Holds for methods whose threshold depends on cost and prior through the skew alone, such as
    `Optimal`: their loss at (c, π) is that at z, times a positive factor.
    """
    negative, positive = _two_shares(prior)

    def proportion(z: float) -> float:
        return float(z * positive / (z * positive + (1 - z) * negative))

    return regions.mapped(proportion, "cost proportion")


def skews_as_priors(regions: Regions, *, cost_proportion: float) -> Regions:
    r"""Regions of the skew as regions of the prior of the positive class at one cost proportion.

    .. math:: \pi_1 = \frac{(1 - z)\, c}{(1 - z)\, c + z\, (1 - c)}

    A high skew is a low prior, so that the order of the regions turns round. For the same methods
    as `skews_as_cost_proportions`.
    """
    c = _check.number("cost_proportion", cost_proportion, low=0, high=1)
    if not 0 < c < 1:
        raise InputError(f"cost_proportion must lie strictly between 0 and 1; got {c:g}.")

    def positive(z: float) -> float:
        return (1 - z) * c / ((1 - z) * c + z * (1 - c))

    return regions.mapped(positive, "prior of the positive class")


def _two_shares(prior: object) -> FloatArray:
    shares = _check.prior("prior", prior, (0, 1))
    if not (shares > 0).all():
        raise InputError(f"prior must be positive for both classes; got {shares.tolist()}.")
    return shares
