"""Decisions remade from the rows, for other costs and priors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from stakes._check import FloatArray
from stakes._value import record
from stakes.decide import cheapest_decisions, class_ratios
from stakes.evaluation.beliefs import Worlds
from stakes.evaluation.cases import Cases
from stakes.evaluation.information import Remake
from stakes.evaluation.predictions import Predictions
from stakes.problem import CaseCosts


@record
class _Source:
    """Posteriors of a model, and the prior under which they hold; None where they do not move."""

    running: float
    rows: FloatArray
    rounding: FloatArray | None
    from_prior: FloatArray | None

    def cost(self, costs: FloatArray | CaseCosts, prior: FloatArray, cases: Cases) -> float:
        """What Bayes decisions for these costs and this prior cost per case."""
        ratios = None if self.from_prior is None else class_ratios(self.from_prior, prior)
        decided = cheapest_decisions(self.rows, costs, self.rounding, ratios)
        losses = cases.losses(decided, costs)
        weighted = losses if cases.weights is None else losses * cases.weights
        mass = np.bincount(cases.truth, cases.weights, cases.problem.n_classes)
        sums = np.bincount(cases.truth, weighted, cases.problem.n_classes)
        return self.running + float(prior @ (sums / np.where(mass > 0, mass, 1.0)))


def remake_of(
    cases: Cases,
    predictions: Sequence[Predictions],
    running: Mapping[str, float],
    from_prior: FloatArray | None,
) -> Remake:
    """A function that remakes Bayes decisions for each world and returns their costs.

    Each model has a column for its posteriors as they came and one for its recalibrated ones, where
    it has these. They are moved to the prior of each world. Where the prior is not drawn,
    posteriors also stay as they came, in a column of their own. Every case is charged what it would
    cost in that world.
    """
    start = cases.shares if from_prior is None else from_prior

    def remade(worlds: Worlds) -> FloatArray:
        # Where the prior is the same in all worlds, posteriors that came for it need no move.
        drawn = bool(np.abs(worlds.prior - cases.prior).max() > 0)
        sources = list(_sources(cases, predictions, running, start, drawn))
        spent = np.empty((len(worlds.prior), len(sources)))
        for world, (above, prior) in enumerate(zip(*worlds, strict=True)):
            costs = _moved(cases.charges, above)
            spent[world] = [source.cost(costs, prior, cases) for source in sources]
        return spent

    return Remake(remade, cases.n_rows)


def _sources(
    cases: Cases,
    predictions: Sequence[Predictions],
    running: Mapping[str, float],
    start: FloatArray,
    drawn: bool,
) -> Iterator[_Source]:
    movable = bool((start > 0).all())
    for model in predictions:
        run = running.get(model.model, 0.0)
        if model.posteriors is not None and not drawn:
            yield _Source(run, model.posteriors, model.rounding, None)
        if model.posteriors is not None and movable and (drawn or model.moving is not None):
            yield _Source(run, model.posteriors, model.rounding, start)
        if model.recalibrated is not None and not (drawn and (cases.prior == 0).any()):
            yield _Source(run, model.recalibrated, None, cases.prior if drawn else None)


def _moved(costs: FloatArray | CaseCosts, above: FloatArray) -> FloatArray | CaseCosts:
    if not isinstance(costs, CaseCosts):
        return costs + above
    if costs.array is not None or costs.constants is None:
        return replace(costs, array=np.asarray(costs.array) + above)
    # Costs are constants plus expressions of columns, which are evaluated block by block later.
    return replace(costs, constants=costs.constants + above)
