"""Every case charged its own costs: losses of all systems, and of what needs no model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray, Label
from stakes.decide import cheapest_decisions
from stakes.evaluation.cases import Cases
from stakes.inference import LossSample
from stakes.problem import costs_of_class

NO_MODEL = "costs and prior, no model"  # the decision that each case's own costs make, blindly

_TIE = 1e-12  # of a probability

MOST_TERMS = 32  # of costs, whose sums are kept

FEW, MUCH = 10, 0.25  # so few cases are worth a word where they are so much of the cost
ALIKE = 0.75  # and where so few of the cases that cost something count: Kish's effective number


@dataclass(frozen=True, eq=False)
class Charges:
    """What every system costs in every case, above `base`, and in every cell of its table.

    The losses are those of all systems, of the decision that the costs of each case and the prior
    make without a model, and of every constant decision.
    """

    losses: LossSample
    base: float
    spent: Mapping[str, FloatArray]  # (K, M) sums of costs, class by decision
    blind: IntArray  # (n,) decisions by costs and prior alone
    sums: Mapping[str, FloatArray]  # (K, M, T) of the terms of the costs; none if too many

    def only(self, own: BoolArray) -> Charges:
        """The same of some of the cases; sums in cells stay those of all."""
        losses, part = self.losses, np.flatnonzero(own)
        return replace(
            self,
            losses=replace(
                losses,
                losses=losses.losses[:, part],
                dearest=losses.dearest[part],
                perfect=losses.perfect[part],
                reached=None if losses.reached is None else losses.reached[part],
                truth=losses.truth[part],
                weights=None if losses.weights is None else losses.weights[part],
                clusters=None if losses.clusters is None else losses.clusters[part],
            ),
        )


def charges_of(
    cases: Cases,
    decided: Mapping[str, IntArray],
    bayes: frozenset[Label] = frozenset(),
    blind: IntArray | None = None,
) -> Charges:
    """Charge all decisions, block by block; `bayes` are those that posteriors make.

    `blind` are the decisions by costs and prior alone, where limits have a say in them.
    """
    costs, problem = cases.costs, cases.problem
    assert costs is not None
    prior = np.broadcast_to(cases.prior, (len(cases.truth), problem.n_classes))
    if blind is None:
        blind = cheapest_decisions(prior, costs)
    everyone = {**decided, NO_MODEL: blind}
    constant = tuple(f"always {label}" for label in problem.decisions)
    losses = np.empty((len(everyone) + len(constant), len(cases.truth)))
    dearest, perfect, reached = np.empty((3, len(cases.truth)))
    for rows, block in costs.blocks():
        own = costs_of_class(block, cases.truth[rows])
        places = np.arange(own.shape[1])
        for out, codes in zip(losses, everyone.values(), strict=False):
            out[rows] = own[codes[rows], places]
        losses[len(everyone) :, rows] = own
        dearest[rows], perfect[rows] = own.max(axis=0), own.min(axis=0)
        reached[rows] = np.where(reachable_by_case(block), own, -np.inf).max(axis=0)
    spent = {
        name: _in_cells(cases, codes, own if cases.weights is None else own * cases.weights)
        for (name, codes), own in zip(everyone.items(), losses, strict=False)
    }
    base = float(perfect.min())
    if base != 0:
        losses -= base
        dearest, perfect, reached = dearest - base, perfect - base, reached - base
    sample = LossSample(
        names=(*everyone, *constant),
        losses=losses,
        dearest=dearest,
        perfect=perfect,
        truth=cases.truth,
        n_classes=problem.n_classes,
        prior=problem.prior,
        weights=cases.weights,
        whole=cases.whole,
        clusters=None if cases.clusters is None else cases.clusters.codes,
        unaided=1 + len(constant),
        reached=reached,
        bayes=frozenset() if problem.limits else bayes | {NO_MODEL},
    )
    return Charges(sample, base, spent, blind, _term_sums(cases, everyone))


def reachable_by_case(costs: FloatArray) -> BoolArray:
    """Whether some posterior makes each decision (M, B) the cheapest; ties count.

    `costs` are those of some cases, (K, M, B). Exact for two classes; among more, decisions stay
    that no other single one beats in every class.
    """
    size = costs.shape[1]
    reached = np.ones(costs.shape[1:], dtype=np.bool_)
    for d in range(size):
        low, high = np.zeros(costs.shape[2]), np.ones(costs.shape[2])
        for e in set(range(size)) - {d}:
            gaps = costs[:, d] - costs[:, e]
            if len(costs) > 2:
                reached[d] &= (gaps <= 0).any(axis=0)
                continue
            slope = gaps[1] - gaps[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                crossing = -gaps[0] / slope  # of the probability of the second class
            high = np.where(slope > 0, np.minimum(high, crossing), high)
            low = np.where(slope < 0, np.maximum(low, crossing), low)
            reached[d] &= (slope != 0) | (gaps[0] <= 0)
        reached[d] &= low <= high + _TIE
    return reached


def _in_cells(cases: Cases, decided: IntArray, weights: FloatArray | None) -> FloatArray:
    """Sums (K, M) of what cases weigh, class by decision; cases are counted without weights."""
    shape = cases.problem.n_classes, cases.problem.n_decisions
    cells = cases.truth * shape[1] + decided
    return np.bincount(cells, weights, shape[0] * shape[1]).astype(np.float64).reshape(shape)


def weighted_terms(cases: Cases) -> Iterator[FloatArray | None]:
    """Weight times each term of the costs, (n,); None where that is 1. Nothing if too many."""
    costs, terms = cases.costs, cases.problem.terms.names
    assert costs is not None
    if len(terms) > MOST_TERMS:
        return
    yield cases.weights
    for term in terms[1:]:
        values = costs.term(term)
        yield values if cases.weights is None else values * cases.weights


def _term_sums(cases: Cases, decided: Mapping[str, IntArray]) -> dict[str, FloatArray]:
    """Sums (K, M, T) of the terms in each cell of every table; none that are no numbers."""
    by_term = [
        [_in_cells(cases, codes, term) for codes in decided.values()]
        for term in weighted_terms(cases)
    ]
    sums = np.moveaxis(np.array(by_term), 0, -1)  # (J, K, M, T)
    return dict(zip(decided, sums, strict=True)) if sums.size and np.isfinite(sums).all() else {}


class Few(NamedTuple):
    """The share of the ten cases that count most in the cost of a system, or in its gain."""

    share: float
    of: str  # "cost" or "gain"


def few_cases(charges: Charges, name: str, prior: FloatArray | None) -> Few:
    """How much the ten cases with most at stake are to a system.

    Of the cost above the cheapest one; where some costs are below zero also of all that is paid and
    gained, the dearest and the greatest gains apart: cases that gain are no case's cost. The most
    of these. Zero where there are no more than a hundred cases, of which ten are not few, and where
    the cases of the class that has the most at stake are nearly alike: then none will cost more.
    """
    losses, own = charges.losses, charges.losses.loss(name)
    if own.size <= 10 * FEW:
        return Few(0.0, "cost")
    counts = np.ones(own.size) if losses.weights is None else losses.weights
    if prior is not None:
        mass = np.bincount(losses.truth, losses.weights, losses.n_classes)
        counts = counts * (prior / np.where(mass > 0, mass, 1.0))[losses.truth]
    found = [Few(_few_of(own * counts, own * counts, losses.truth), "cost")]
    if charges.base < 0:
        paid = (own + charges.base) * counts
        signs = (("cost", paid), ("gain", -paid))
        found += [Few(_few_of(one, np.abs(paid), losses.truth), of) for of, one in signs]
    return max(found)


def _few_of(each: FloatArray, all_of: FloatArray, truth: IntArray) -> float:
    total, kind = float(all_of.sum()), truth == truth[np.argmax(each)]
    some = each[kind & (each > 0)]
    if not total > 0 or some.sum() ** 2 >= ALIKE * some.size * (some @ some):
        return 0.0
    return float(np.partition(each, -FEW)[-FEW:].clip(0).sum()) / total
