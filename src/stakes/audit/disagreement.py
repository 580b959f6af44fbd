"""Which metrics would have picked another model, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, Label, Labels
from stakes._text import html_table, text_table
from stakes._value import Value, record
from stakes.audit.metric import (
    Metric,
    ModelTables,
    by_position,
    of_each,
    picked,
    read_model_tables,
)
from stakes.measures import expected_cost
from stakes.problem import Problem


@record(repr=False)
class Disagreement(Value):
    """The value of each metric for each model, the model that it picks, and what the pick costs.

    Attributes
    ----------
    models : J names
    metrics : Q names
    costs : (…, J) expected cost per case, in the unit of the problem
    best : (…, J) the models of least cost, ties included
    values : (…, Q, J) the metrics
    picks : (…, Q, J) the models that each metric puts first, ties included

    Examples
    --------
    The second model has a better F1 and costs 1 more per case:

    >>> import numpy as np
    >>> f1 = np.array([0.7, 0.8])
    >>> table = Disagreement.of(("A", "B"), np.array([2.0, 3.0]), {"F1": (f1, f1)}, "EUR")
    >>> table.picks_of("F1"), table.regret, table.misled
    (('B',), array([1.]), array([ True]))
    """

    models: Labels
    metrics: tuple[str, ...]
    costs: FloatArray
    best: BoolArray
    values: FloatArray
    picks: BoolArray
    unit: str | None

    @classmethod
    def of(
        cls,
        models: Labels,
        costs: FloatArray,
        values: Mapping[str, tuple[FloatArray, FloatArray]],
        unit: str | None,
    ) -> Self:
        """Make the table from costs, and from the values of each metric.

        Parameters
        ----------
        models : J labels
        costs : (…, J) expected costs
        values : for each metric its values (…, J), and the same with signs such that higher is
            better
        unit : the unit of the costs, or None

        Returns
        -------
        the table

        Examples
        --------
        >>> import numpy as np
        >>> costs, f1 = np.array([2.0, 1.0]), np.array([0.8, 0.7])
        >>> print(Disagreement.of(("old", "new"), costs, {"F1": (f1, f1)}, "EUR"))
        Disagreement: cost per case in EUR, and metrics
                       old  new  picks  costs more
        expected cost    2    1    new           0
        F1             0.8  0.7    old           1
        """
        _check.shapes(f"… {len(models)}", costs=costs)
        shape = (*costs.shape[:-1], len(values), len(models))
        parts = [part for part, _ in values.values()]
        picks = [picked(goodness) for _, goodness in values.values()]
        return cls._trusted(
            models=models,
            metrics=tuple(values),
            costs=np.array(costs),  # values make their arrays read-only, not those of a caller
            best=picked(-costs),
            values=np.stack(parts, axis=-2) if parts else np.empty(shape),
            picks=np.stack(picks, axis=-2) if picks else np.empty(shape, dtype=bool),
            unit=unit,
        )

    @property
    def excess(self) -> FloatArray:
        """What each model costs per case above the best one, (…, J)."""
        least = np.where(self.best, self.costs, np.inf).min(axis=-1, keepdims=True)
        return np.where(self.best, 0.0, self.costs - np.where(np.isinf(least), np.nan, least))

    @property
    def regret(self) -> FloatArray:
        """What following each metric costs per case above the best model, (…, Q).

        Where a metric ties several models this is the costliest of them, since the metric gives no
        reason to avoid it. nan where the metric is undefined for all models, or the cost of a pick
        is undefined.
        """
        of_picks = np.where(self.picks, self.excess[..., None, :], -np.inf).max(axis=-1)
        return np.where(self.picks.any(axis=-1), of_picks, np.nan)

    @property
    def misled(self) -> BoolArray:
        """Whether a model that costs more than the best is among the picks of each metric, (…, Q).

        A model whose cost is undefined does not count: it may be the best.
        """
        return np.asarray((self.picks & (self.excess[..., None, :] > 0)).any(axis=-1))

    def picks_of(self, metric: str) -> tuple[Label, ...]:
        """The models that one metric puts first, for tables without leading axes.

        Parameters
        ----------
        metric : name of the metric

        Returns
        -------
        labels of the models

        Examples
        --------
        >>> import numpy as np
        >>> costs, f1 = np.array([2.0, 1.0]), np.array([0.8, 0.7])
        >>> table = Disagreement.of(("old", "new"), costs, {"F1": (f1, f1)}, "EUR")
        >>> table.picks_of("F1")
        ('old',)
        """
        return self._names(self.picks[_check.one_of("metric", metric, self.metrics, "metrics")])

    def columns(self) -> dict[str, list[object]]:
        """What the table shows, by column, for tables without leading axes.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> import numpy as np
        >>> costs, f1 = np.array([2.0, 1.0]), np.array([0.8, 0.7])
        >>> table = Disagreement.of(("old", "new"), costs, {"F1": (f1, f1)}, "EUR")
        >>> sorted(table.columns())
        ['costs more', 'metric', 'new', 'old', 'picks']
        """
        table: dict[str, list[object]] = {"metric": ["expected cost", *self.metrics]}
        for j, model in enumerate(self.models):
            table[str(model)] = [float(self.costs[j]), *self.values[:, j].tolist()]
        chosen = (self.best, *self.picks)
        table["picks"] = [", ".join(map(str, self._names(row))) for row in chosen]
        table["costs more"] = [0.0 if self.best.any() else float("nan"), *self.regret.tolist()]
        return table

    def _names(self, chosen: BoolArray) -> tuple[Label, ...]:
        return tuple(model for model, taken in zip(self.models, chosen, strict=True) if taken)

    def _table(self) -> tuple[list[object], list[list[object]], str]:
        columns = self.columns()
        rows = [
            [f"{cell:.4g}" if isinstance(cell, float) else cell for cell in row]
            for row in zip(*columns.values(), strict=True)
        ]
        unit = f" in {self.unit}" if self.unit else ""
        return ["", *list(columns)[1:]], rows, f"Disagreement: cost per case{unit}, and metrics"

    def __repr__(self) -> str:
        if self.costs.ndim > 1:
            return (
                f"Disagreement of shape {self.costs.shape[:-1]} x "
                f"{len(self.metrics)} metrics x {len(self.models)} models"
            )
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>" if self.costs.ndim > 1 else html_table(*self._table())


def disagreement(
    models: ModelTables, problem: Problem, *, metrics: Mapping[str, Metric]
) -> Disagreement:
    """Which metrics would have picked another model, and what that choice costs per case.

    The cost is that of deployment: the problem's prior replaces the shares of the data. The metrics
    are computed as people compute them, on the data at hand; pass ``counts.with_prior(prior)`` to
    give them the prior too. Values within 1e-12 of the best tie with it. Leading axes, such as
    replicates, are carried through. Reference: dyrland, section 0.

    Parameters
    ----------
    models : tables by name, joint counts, or counts whose first leading axis is the models
    problem : what is at stake: costs, prior, labels
    metrics : name → metric, such as `FAMILIAR` or ``familiar_metrics(problem)``

    Returns
    -------
    what each metric picks, and what that costs

    Examples
    --------
    The factory of dyrland's introduction, with "long" durability as the positive class: all metrics
    but one recommend B, which loses 3.5 $ per component where A earns 3.5 $.

    >>> from stakes.audit import FAMILIAR, disagreement
    >>> from stakes.problem import Problem
    >>> from stakes.tally import Counts
    >>> factory = Problem.from_utilities(
    ...     [[165, -335], [-35, 15]], classes=["short", "long"], unit="$")
    >>> A, B = Counts([[0.35, 0.15], [0.23, 0.27]]), Counts([[0.32, 0.18], [0.07, 0.43]])
    >>> disagreement({"A": A, "B": B}, factory, metrics=FAMILIAR)
    Disagreement: cost per case in $, and metrics
                            A       B  picks  costs more
    expected cost        -3.5     3.5      A           0
    accuracy             0.62    0.75      B           7
    balanced accuracy    0.62    0.75      B           7
    precision          0.6429  0.7049      B           7
    recall               0.54    0.86      B           7
    specificity           0.7    0.64      A           0
    F1                  0.587  0.7748      B           7
    MCC                0.2431  0.5126      B           7
    Cohen's kappa        0.24     0.5      B           7
    Fowlkes-Mallows    0.5892  0.7786      B           7
    """
    _check.mapping_of("metrics", metrics, Metric)
    names = tuple(map(str, metrics))
    labels, tables = read_model_tables(models)
    costs = np.asarray(expected_cost(tables, problem))
    plain = by_position(tables)
    values = of_each(metrics, lambda metric: (metric(plain), metric.goodness(plain)))
    return Disagreement.of(labels, costs, dict(zip(names, values, strict=True)), problem.unit)
