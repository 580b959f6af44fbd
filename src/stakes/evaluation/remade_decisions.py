"""Decisions remade from the rows, for other costs and priors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray
from stakes._text import always
from stakes._value import record
from stakes.decide import cheapest_decisions, class_ratios
from stakes.evaluation.beliefs import Worlds
from stakes.evaluation.cases import Cases, Operation
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.information import Remake
from stakes.evaluation.predictions import Folds, Predictions
from stakes.problem import CaseCosts

_FOLDS = 50  # parts of the cases, by which they are halved and drawn again


@record
class _Source:
    """Posteriors of a model, and the prior under which they hold; None where they do not move."""

    running: float
    rows: FloatArray
    rounding: FloatArray | None
    from_prior: FloatArray | None

    def decided(self, costs: FloatArray | CaseCosts, prior: FloatArray) -> IntArray:
        """Bayes decisions for these costs and this prior."""
        ratios = None if self.from_prior is None else class_ratios(self.from_prior, prior)
        return cheapest_decisions(self.rows, costs, self.rounding, ratios)


@record
class _Dealt:
    """Cases that are dealt into F folds, and what decisions about them cost."""

    cases: Cases
    folds: IntArray  # (n,)
    count: int

    def charged(self, decided: IntArray) -> tuple[FloatArray, FloatArray]:
        """What decisions cost by class and fold, (K, F), and their numbers, (K, M, F).

        Both are divided by the weight of the class.
        """
        cases, costs = self.cases, self.cases.charges
        shape = (cases.problem.n_classes, cases.problem.n_decisions, self.count)
        table = table_of(cases.weights, [cases.truth, decided, self.folds], shape)
        if isinstance(costs, CaseCosts):
            losses = cases.losses(decided, costs)
            weighted = losses if cases.weights is None else losses * cases.weights
            charged = table_of(weighted, [cases.truth, self.folds], (shape[0], self.count))
        else:
            charged = np.einsum("kmf,km->kf", table, costs)
        mass = np.maximum(table.sum(axis=(1, 2)), 1e-300)
        return charged / mass[:, None], table / mass[:, None, None]

    def costs(self, decided: IntArray, running: float, worlds: Worlds) -> FloatArray:
        """What the cases of every fold add to the cost of decisions that stay, (D, F)."""
        charged, table = self.charged(decided)
        above = np.einsum("dk,dkm,kmf->df", worlds.prior, worlds.costs, table)
        return np.asarray(worlds.prior @ charged + above + running / self.count)


def remake_of(
    predictions: Sequence[Predictions],
    evidence: Evidence,
    operation: Operation,
    from_prior: FloatArray | None,
    folds: Folds,
) -> Remake:
    """A function that remakes Bayes decisions for each world and returns their costs by fold.

    Each model has a column for its posteriors as they came and one for its recalibrated ones, where
    it has these. They are moved to the prior of each world. Where the prior is not drawn,
    posteriors also stay as they came, in a column of their own. Every case is charged what it would
    cost in that world. Today's decisions, and what their model costs to run, come first.
    """
    cases = folds.cases
    start = cases.shares if from_prior is None else from_prior
    running = operation.running_costs
    models = {model.model: model for model in predictions}
    constant = [always(decision) for decision in cases.problem.decisions]

    def today(name: str) -> tuple[IntArray, float]:
        if name in constant:
            return np.full(cases.truth.size, constant.index(name)), 0.0
        rule, charges = evidence.rules.get(name), evidence.sample.charges
        if rule is None:  # what needs no model, where cases have costs of their own
            assert charges is not None
            return charges.blind, 0.0
        return models[rule.model].decisions(rule, cases.charges), running.get(rule.model, 0.0)

    def remade(worlds: Worlds, names: Sequence[str]) -> FloatArray:
        dealt = _dealt(folds)
        # Where the prior is the same in all worlds, posteriors that came for it need no move.
        drawn = bool(np.abs(worlds.prior - cases.prior).max() > 0)
        sources = list(_sources(cases, predictions, running, start, drawn))
        spent = np.empty((len(worlds.prior), len(names) + len(sources), dealt.count))
        for place, name in enumerate(names):
            spent[:, place] = dealt.costs(*today(name), worlds)
        for world, (above, prior) in enumerate(zip(*worlds, strict=True)):
            costs, alone = _moved(cases.charges, above), Worlds(above[None], prior[None])
            for place, source in enumerate(sources, start=len(names)):
                decided = source.decided(costs, prior)
                spent[world, place] = dealt.costs(decided, source.running, alone)[0]
        return spent

    return Remake(remade, cases.n_rows)


def _dealt(folds: Folds) -> _Dealt:
    """Cases dealt into folds that hold as much of every class; clusters stay together."""
    cases, hashes = folds.cases, folds.hashes("worth of information")
    # Without a stated prior, how many cases each class has is chance, too.
    strata = [cases.truth] * (cases.problem.prior is not None and cases.clusters is None)
    order = np.lexsort((hashes, *strata))
    number = np.empty(hashes.size, dtype=np.intp)
    number[order] = np.arange(hashes.size) % _FOLDS
    if cases.clusters is not None:
        number = number[cases.clusters.codes]
    return _Dealt(cases, number, min(hashes.size, _FOLDS))


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
