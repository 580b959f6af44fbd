"""Losses where every case has its own costs: of all systems, and of what needs no model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from stakes._arithmetic import table_of
from stakes._check import BoolArray, FloatArray, IntArray, Label
from stakes._text import always
from stakes._value import record
from stakes.decide import cheapest_decisions
from stakes.evaluation.cases import Cases
from stakes.inference import LossSample
from stakes.problem import CaseCosts, Problem, costs_of_class
from stakes.tally import Counts

NO_MODEL = "costs and prior, no model"  # the Bayes decision by the costs of each case and the prior

_TIE = 1e-12  # probabilities that differ by less are equal but for rounding

MOST_TERMS = 32  # terms of the costs, beyond which their sums are not kept

_MOST_ABSENT = 1 << 23  # costs of stand-ins for cases of absent classes: 64 MiB of doubles

# A caveat is due where so few cases carry at least this share of the cost.
TOP_CASES, LARGE_SHARE = 10, 0.25
ALIKE = 0.75  # unless Kish's effective number of cases is at least this share of their number


@record
class Charges:
    """What every system costs in every case, above `base`, and in every cell of its table.

    The losses are those of all systems, of the decision that the costs of each case and the prior
    make without a model, and of every constant decision.

    Examples
    --------
    The model misses a case of 5. Without a model, where two cases in three are of the second class,
    a decision that may cost 1 pays for all but the smallest amount:

    >>> from stakes import Problem
    >>> from stakes.evaluation import read_cases
    >>> problem = Problem([[0, 1], ["amount", 0]])
    >>> cases = read_cases([0, 1, 1], problem, None, None, None, {"amount": [0.2, 5.0, 7.0]})
    >>> charges = charges_of(cases, {"model": np.array([0, 0, 1])})
    >>> charges.losses.loss("model"), charges.blind
    (array([0., 5., 0.]), array([0, 1, 1]))
    """

    losses: LossSample
    base: float
    spent: Mapping[str, FloatArray]  # (K, M) sums of costs, class by decision
    blind: IntArray  # (n,) decisions by costs and prior alone
    costs: CaseCosts
    sums: Mapping[str, FloatArray]  # (K, M, T) of the terms of the costs; empty if too many

    def only(self, rows: IntArray) -> Charges:
        """The charges of some of the cases; sums in cells stay those of all cases.

        Parameters
        ----------
        rows : (n',) positions of these cases

        Returns
        -------
        their charges

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.evaluation import read_cases
        >>> problem = Problem([[0, 1], ["amount", 0]])
        >>> cases = read_cases([0, 1, 1], problem, None, None, None, {"amount": [3.0, 5.0, 7.0]})
        >>> charges = charges_of(cases, {"model": np.array([0, 0, 1])})
        >>> charges.only(np.array([1, 2])).losses.loss("model")
        array([5., 0.])
        """
        losses = self.losses.only(rows)
        some = self.costs.only(rows) if len(_absent(losses)) else self.costs
        return replace(self, losses=_with_absent(losses, self.base, some, self.blind[rows]))


def charges_of(
    cases: Cases,
    decided: Mapping[str, IntArray],
    bayes: frozenset[Label] = frozenset(),
    blind: IntArray | None = None,
) -> Charges:
    """Charge every case what each system's decision about it costs.

    Parameters
    ----------
    cases : the cases, whose costs differ from case to case
    decided : codes (n,) of the decisions of each system, by its name
    bayes : names of the systems that decide by posteriors
    blind : (n,) decisions by costs and prior alone; by default the cheapest ones, which is right
        unless there are limits, whose prices they need

    Returns
    -------
    losses of all systems, of the rule without a model and of every constant decision

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.evaluation import read_cases
    >>> problem = Problem([[0, 1], ["amount", 0]])
    >>> cases = read_cases([0, 1, 1], problem, None, None, None, {"amount": [3.0, 5.0, 7.0]})
    >>> charges = charges_of(cases, {"model": np.array([0, 0, 1])})
    >>> charges.losses.loss("model").tolist(), charges.spent["model"].tolist()
    ([0.0, 5.0, 0.0], [[0.0, 0.0], [5.0, 0.0]])
    """
    costs, problem = cases.costs, cases.problem
    assert costs is not None
    prior = np.broadcast_to(cases.prior, (len(cases.truth), problem.n_classes))
    if blind is None:
        blind = cheapest_decisions(prior, costs)
    everyone = {**decided, NO_MODEL: blind}
    constant = tuple(always(label) for label in problem.decisions)
    losses = np.empty((len(everyone) + len(constant), len(cases.truth)))
    costliest, perfect, reached = np.empty((3, len(cases.truth)))
    # Block by block: the costs of all cases at once are n × K × M numbers, which may not fit.
    for rows, block in costs.blocks():
        charged = costs_of_class(block, cases.truth[rows])
        places = np.arange(charged.shape[1])
        for out, codes in zip(losses, everyone.values(), strict=False):
            out[rows] = charged[codes[rows], places]
        losses[len(everyone) :, rows] = charged
        costliest[rows], perfect[rows] = charged.max(axis=0), charged.min(axis=0)
        reached[rows] = np.where(reachable_by_case(block), charged, -np.inf).max(axis=0)
    spent = {
        name: _in_cells(cases, codes, charged if cases.weights is None else charged * cases.weights)
        for (name, codes), charged in zip(everyone.items(), losses, strict=False)
    }
    # An amount that every decision costs is taken out, so that it takes no digits from differences.
    base = float(perfect.min())
    if base != 0:
        losses -= base
        costliest, perfect, reached = costliest - base, perfect - base, reached - base
    sample = LossSample(
        names=(*everyone, *constant),
        losses=losses,
        costliest=costliest,
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
    sample = _with_absent(sample, base, costs, blind)
    return Charges(sample, base, spent, blind, costs, _term_sums(cases, everyone))


def _absent(losses: LossSample) -> IntArray:
    """Positions of the classes without cases."""
    return np.flatnonzero(np.bincount(losses.truth, minlength=losses.n_classes) == 0)


def _with_absent(losses: LossSample, base: float, costs: CaseCosts, blind: IntArray) -> LossSample:
    """The losses with stand-ins for the classes that none of these cases has.

    `costs` are those of the cases, in every class, and `blind` (n,) decisions by these alone.
    """
    absent, n_constant = _absent(losses), losses.unaided - 1
    if not absent.size:
        return losses
    # With many classes the costs of all cases in each may not fit; some of the cases suffice.
    step = 1 + len(blind) * absent.size * n_constant // _MOST_ABSENT
    some = np.arange(len(blind)) % step == 0
    charged, reached = [], []
    for _, block in costs.only(some).blocks():
        charged.append(block[absent])
        reached.append(np.where(reachable_by_case(block), block[absent], -np.inf).max(axis=1))
    each = np.concatenate(charged, axis=-1) - base  # (A, M, n)
    constant = np.moveaxis(each, 1, 0)
    unaided = np.take_along_axis(constant, blind[some][None, None], axis=0)

    def column(values: FloatArray) -> FloatArray:
        return np.ascontiguousarray(values).reshape(*values.shape[:-2], -1)

    stand_ins = LossSample(
        names=losses.names[-losses.unaided :],
        losses=column(np.concatenate([unaided, constant])),
        costliest=column(each.max(axis=1)),
        perfect=column(each.min(axis=1)),
        truth=np.repeat(absent, some.sum()),
        n_classes=losses.n_classes,
        prior=losses.prior,
        weights=None if losses.weights is None else np.tile(losses.weights[some], absent.size),
        whole=losses.whole,
        clusters=None,
        unaided=losses.unaided,
        reached=column(np.concatenate(reached, axis=-1) - base),
        bayes=losses.bayes,
    )
    return replace(losses, absent=stand_ins)


def reachable_by_case(costs: FloatArray) -> BoolArray:
    """Whether some posterior makes each decision (M, B) the cheapest; ties count.

    `costs` are those of some cases, (K, M, B). This is exact for one class and for two. For more
    classes a decision is ruled out only where a single other one is cheaper in every class.
    """
    size = costs.shape[1]
    reached = np.ones(costs.shape[1:], dtype=np.bool_)
    for d in range(size):
        low, high = np.zeros(costs.shape[2]), np.ones(costs.shape[2])
        for e in set(range(size)) - {d}:
            gaps = costs[:, d] - costs[:, e]
            if len(costs) != 2:
                reached[d] &= (gaps <= 0).any(axis=0)
                continue
            slope = gaps[1] - gaps[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                crossing = -gaps[0] / slope  # P(second class) at which the two cost the same
            high = np.where(slope > 0, np.minimum(high, crossing), high)
            low = np.where(slope < 0, np.maximum(low, crossing), low)
            reached[d] &= (slope != 0) | (gaps[0] <= 0)
        reached[d] &= low <= high + _TIE
    return reached


def _in_cells(cases: Cases, decided: IntArray, weights: FloatArray | None) -> FloatArray:
    """Sums (K, M) of the weights of cases, class by decision; without weights, their number."""
    shape = cases.problem.n_classes, cases.problem.n_decisions
    return table_of(weights, [cases.truth, decided], shape)


def blind_counts(charges: Charges, problem: Problem, weights: FloatArray | None) -> Counts:
    """Weights of cases, class by the decision that costs and prior make without a model."""
    codes, shape = [charges.losses.truth, charges.blind], (problem.n_classes, problem.n_decisions)
    table = table_of(weights, codes, shape)
    return Counts(table, classes=problem.classes, decisions=problem.decisions)


def weighted_terms(cases: Cases) -> Iterator[FloatArray | None]:
    """Weight times each term of the costs, (n,); None stands for ones. Empty if too many."""
    costs, terms = cases.costs, cases.problem.terms.names
    assert costs is not None
    if len(terms) > MOST_TERMS:
        return
    yield cases.weights
    for term in terms[1:]:
        values = costs.term(term)
        yield values if cases.weights is None else values * cases.weights


def _term_sums(cases: Cases, decided: Mapping[str, IntArray]) -> dict[str, FloatArray]:
    """Sums (K, M, T) of the terms in each cell of every table; empty where a sum is not finite."""
    by_term = [
        [_in_cells(cases, codes, term) for codes in decided.values()]
        for term in weighted_terms(cases)
    ]
    # Sums that overflow are useless, and JSON cannot represent them.
    sums = np.moveaxis(np.array(by_term), 0, -1)  # (J, K, M, T)
    return dict(zip(decided, sums, strict=True)) if sums.size and np.isfinite(sums).all() else {}


class Few(NamedTuple):
    """How much of the cost of a system, or of its gain, is due to the ten largest cases."""

    share: float
    of: str  # "cost" or "gain"


def few_cases(charges: Charges, name: str, prior: FloatArray | None) -> Few:
    """How much of the cost, or of the gain, of a system is due to ten cases.

    Shares are of the cost above that of the cheapest case. Where some costs are negative, shares
    of the sum of all payments and gains are computed as well, for the largest payments and for the
    largest gains; the largest share is returned. It is zero for a hundred cases or fewer, of which
    ten are not few. It is also zero where the cases of the class of the largest amount are nearly
    alike, because new cases will then not cost much more.
    """
    losses, loss = charges.losses, charges.losses.loss(name)
    repeats = np.ones(loss.size) if losses.repeats is None else losses.repeats
    if repeats.sum() <= 10 * TOP_CASES:
        return Few(0.0, "cost")
    # Equal cases may be pooled into one row, whose weight is the sum of theirs.
    counts = 1.0 if losses.weights is None else losses.weights / repeats
    if prior is not None:
        mass = np.bincount(losses.truth, losses.weights, losses.n_classes)
        counts = counts * (prior / np.where(mass > 0, mass, 1.0))[losses.truth]
    shares = [Few(_few_of(loss * counts, loss * counts, losses.truth, repeats), "cost")]
    if charges.base < 0:
        paid = (loss + charges.base) * counts
        signs = (("cost", paid), ("gain", -paid))
        shares += [
            Few(_few_of(amounts, np.abs(paid), losses.truth, repeats), of) for of, amounts in signs
        ]
    return max(shares)


def _few_of(each: FloatArray, all_of: FloatArray, truth: IntArray, repeats: FloatArray) -> float:
    """The share of the ten largest of some amounts (n,) in the sum of others, repeats counted."""
    total, kind = float(all_of @ repeats), truth == truth[np.argmax(each)]
    costly = kind & (each > 0)
    some, times = each[costly], repeats[costly]
    # Kish's effective number of cases, (Σx)² / Σx², against their number: amounts are nearly alike.
    if not total > 0 or (some @ times) ** 2 >= ALIKE * times.sum() * (some**2 @ times):
        return 0.0
    most = (
        np.argpartition(each, -TOP_CASES)[-TOP_CASES:]
        if each.size > TOP_CASES
        else np.arange(each.size)
    )
    top = np.repeat(each[most], np.minimum(repeats[most], TOP_CASES).astype(np.intp))
    return float(np.sort(top)[-TOP_CASES:].clip(0).sum()) / total
