"""Evidence: the tallies from which a report is made, wherever the rows are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from math import exp, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from stakes._arithmetic import table_of
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels
from stakes._text import always, whole_percent
from stakes._value import record
from stakes.calibration import CalibrationMap
from stakes.decide import cheapest_decisions, reachable_decisions
from stakes.errors import InputError
from stakes.evaluation.cases import Cases, Operation
from stakes.evaluation.predictions import DecisionRule, Predictions
from stakes.inference import (
    LossSample,
    SampledCosts,
    WeightStrata,
    few_of_classes,
    fitting_covariance,
    loss_costs,
    refit_covariance,
    system_costs,
)
from stakes.limits import LimitCheck, costs_by_class
from stakes.problem import CaseCosts, Problem, costs_of_class
from stakes.report import (
    AS_DECIDED,
    BAYES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    Caveat,
    CurvePoints,
    DecisionSource,
    PairCounts,
    Slice,
    SliceCost,
)
from stakes.rows import Predicted
from stakes.scoring import Brier, LogLoss
from stakes.tally import Counts, JointCounts, ScoreTable

# Losses where every case has its own costs: of all systems, and of what needs no model -----------

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


# Posteriors whose columns are in another order than the classes of the problem -------------------

FLOOR = 1e-6  # a smaller probability counts as this one, so that single cases do not decide
_TINY = -700.0  # logarithm of probabilities that doubles can hold, with room
_FEWEST = 10  # cases of a class, or clusters that hold it, below which its column is not doubted
_RISK = 1e-3  # of doubting posteriors that are in order, over all orders together
_MATERIAL = 0.05  # gain in log loss of the classes whose columns change places; 5 % in probability
_BLOCK = 1 << 16  # rows at a time, so that the memory needed does not grow with the rows


class ColumnOrder(NamedTuple):
    """An order of columns that fits the classes clearly better than the one that was assumed.

    Examples
    --------
    >>> ColumnOrder((1, 0, 2), 2.3, 0.4).moved.tolist()
    [True, True, False]
    """

    columns: tuple[int, ...]  # the column that fits each class
    as_given: float  # log loss, averaged over the classes whose columns change places
    reordered: float  # the same in this order

    @property
    def moved(self) -> BoolArray:
        """Which classes have another column in this order, (K,)."""
        return np.not_equal(self.columns, np.arange(len(self.columns)))


# The variance of the sum of the mean gains of the classes that move, from the column of each class,
# its mean gain and what a case weighs in it, (K,) each.
VarianceOf = Callable[[IntArray, FloatArray, FloatArray], float]


def better_order(rows: FloatArray, cases: Cases) -> ColumnOrder | None:
    r"""The order of the columns of posteriors that fits clearly better; None where none does.

    .. math:: \max_\sigma \sum_k \mathrm{E}[\log p_{\sigma(k)} \mid k]

    Classes count alike, whatever their shares: another prior multiplies each column by a constant,
    and the sum over all columns is the same in any order. So posteriors that hold for other shares
    are not doubted, only those that mistake one class for another. The gain is clear where it
    exceeds what chance may give, by its standard error between cases, or between clusters.

    Parameters
    ----------
    rows : posteriors, (n, K)
    cases : the cases

    Returns
    -------
    the order; None where no other is clearly better

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.evaluation import read_cases
    >>> truth = np.arange(90) % 3
    >>> rows = np.eye(3)[(truth + 1) % 3] * 0.7 + 0.1
    >>> cases = read_cases(truth, Problem.zero_one(3), None, None, None)
    >>> better_order(rows, cases).columns
    (1, 2, 0)
    """
    total = cases.masses.sum(axis=0)

    def variance(columns: IntArray, means: FloatArray, shares: FloatArray) -> float:
        truth, off = cases.truth, np.empty(len(rows))
        for part in _blocks(rows):
            logs, each = log_of(rows[part]), np.arange(len(rows[part]))
            gains = logs[each, columns[truth[part]]] - logs[each, truth[part]]
            off[part] = (gains - means[truth[part]]) * shares[truth[part]]
        if cases.clusters is None:
            return float(off**2 @ _squares(cases))
        off = off if cases.weights is None else off * cases.weights
        return float((np.bincount(cases.clusters.codes, off) ** 2).sum())

    squares = (cases.masses**2).sum(axis=0)
    if cases.clusters is None:
        squares = np.bincount(cases.truth, _squares(cases), total.size)
    return clear_order(_mean_logs(rows, cases), total, squares, variance)


def _blocks(rows: FloatArray) -> Iterator[slice]:
    return (slice(start, start + _BLOCK) for start in range(0, len(rows), _BLOCK))


def log_of(rows: FloatArray) -> FloatArray:
    """Logarithms of probabilities, the least of which counts as `FLOOR`."""
    return np.asarray(np.log(np.maximum(rows, FLOOR)))


def _mean_logs(rows: FloatArray, cases: Cases) -> FloatArray:
    """Mean log probability of each column in the cases of each class, (K, K); 0 without cases."""
    size = rows.shape[1]
    sums, total = np.zeros((size, size)), np.zeros(size)
    for part in _blocks(rows):
        truth, weights = cases.truth[part], None if cases.weights is None else cases.weights[part]
        total += np.bincount(truth, weights, size)
        for column, logs in zip(sums, log_of(rows[part]).T, strict=True):
            column += np.bincount(truth, logs if weights is None else logs * weights, size)
    return sums / np.where(total > 0, total, 1.0)


def _squares(cases: Cases) -> FloatArray:
    """Squared weights of cases, (n,); a copy of a row is a case of its own."""
    if cases.weights is None:
        return np.ones(cases.truth.size)
    return cases.weights if cases.whole else cases.weights**2


def clear_order(
    table: FloatArray, masses: FloatArray, squares: FloatArray, variance: VarianceOf
) -> ColumnOrder | None:
    """The order, where it gains more than chance may give in any order.

    `table` (K, K) has the mean log probability of each column (first axis) in the cases of each
    class, `masses` (K,) the weights of the classes, and `squares` (K,) the sums of squared weights
    of cases, or of clusters. Classes of few keep their columns.
    """
    from scipy.optimize import linear_sum_assignment
    from scipy.special import stdtrit

    known = masses**2 / np.where(squares > 0, squares, 1.0)  # Kish's number of cases
    enough, k = np.flatnonzero(known >= _FEWEST), np.arange(len(table))
    columns = k.copy()
    classes, assigned = linear_sum_assignment(-table[np.ix_(enough, enough)].T)
    columns[enough[classes]] = enough[assigned]
    moved = columns != k
    if not moved.any():
        return None
    shares = np.where(moved, 1 / np.where(masses > 0, masses, 1.0), 0.0)
    error = sqrt(variance(columns, table[columns, k] - table[k, k], shares))
    # At most K^m orders move m classes.
    n_moved, freedom = int(moved.sum()), float((known[moved] - 1).sum())
    doubt = log(_RISK) - n_moved * log(len(table))
    sure = -float(stdtrit(freedom, exp(doubt))) if doubt > _TINY else sqrt(-2 * doubt)
    as_given, reordered = -table[k, k][moved].mean(), -table[columns, k][moved].mean()
    if as_given - reordered <= max(sure * error / n_moved, _MATERIAL):
        return None
    return ColumnOrder(tuple(columns.tolist()), float(as_given), float(reordered))


# Evidence: the tallies from which a report is made, wherever the rows are ------------------------
#
# `evaluate` makes it from arrays, an engine from files that do not fit into memory. Everything
# after that reads tallies only.

RULES = (LogLoss(), Brier())  # the proper scoring rules whose losses `ModelTallies` holds


def mean_losses(sums: FloatArray, masses: FloatArray) -> FloatArray:
    """Mean losses (2, K) under `RULES`, from sums (3, K) over the cases of each class.

    The last sum is the weight of cases whose class had probability 0. Their log losses are infinite
    and are not summed: 0 · inf would be nan for cases without weight.

    Parameters
    ----------
    sums : (3, K) sums of log loss, Brier score and weight of cases that were ruled out
    masses : (K,) weights of the classes

    Returns
    -------
    mean losses, (2, K); nan where a class has no weight

    Examples
    --------
    >>> mean_losses(np.array([[2.0, 0.0], [1.0, 0.5], [0.0, 1.0]]), np.array([4.0, 2.0]))
    array([[0.5 ,  inf],
           [0.25, 0.25]])
    """
    surprise = np.where(sums[2] > 0, np.inf, sums[0])
    with np.errstate(invalid="ignore"):
        return np.asarray(np.stack([surprise, sums[1]]) / masses)


@record
class JointSample:
    """The joint decisions of all systems on some cases; clusters are the leading axis, if any.

    Examples
    --------
    Three cases of two patients, with one false alarm:

    >>> y, decided, patients = [0, 0, 1], {"net": [0, 1, 1]}, ["first", "first", "second"]
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2), clusters=patients)
    >>> sample = JointSample(joint, np.array([2, 1]), None)
    >>> sample.clusters, sample.pooled.model("net").values.tolist()
    (2, [[1.0, 1.0], [0.0, 1.0]])
    """

    joint: JointCounts
    # Number of cases of each class, (K,); weights do not count cases, rows do.
    sizes: FloatArray | IntArray
    squares: FloatArray | None  # sums of squared weights, like joint.weights; None: cases
    charges: Charges | None = None  # every case's own costs, where they differ
    strata: WeightStrata | None = None  # the rows by their weight, where few weights differ
    # The weight of each cluster, where the tally has random groups of them; None: as in the tally.
    cluster_masses: FloatArray | None = None

    @property
    def design(self) -> FloatArray | WeightStrata | None:
        """What inference is told about the weights: strata, else sums of squares; None: cases."""
        return self.squares if self.strata is None else self.strata

    @property
    def whole(self) -> bool:
        """Whether the sums are numbers of cases, and not of weights."""
        return self.squares is None

    @property
    def clusters(self) -> int | None:
        """The number of clusters; None where cases were sampled one by one."""
        return len(self.masses_of_clusters) if self.joint.weights.ndim == 2 else None

    @cached_property
    def masses_of_clusters(self) -> FloatArray:
        """The weight of each cluster, also where the tally has groups of them."""
        if self.cluster_masses is not None:
            return self.cluster_masses
        return np.asarray(self.joint.weights.sum(axis=1))

    @property
    def clusters_of_classes(self) -> IntArray:
        """The number of clusters that hold cases of each class, (K,)."""
        cluster, cell = np.nonzero(self.joint.weights)
        pairs = np.unique(self.joint.cells[cell, 0] + len(self.sizes) * cluster)
        return np.bincount(pairs % len(self.sizes), minlength=len(self.sizes))

    @cached_property
    def pooled(self) -> JointCounts:
        """The tally of all clusters together."""
        return self.joint.pooled()


FEW_SOURCES = 12  # sources of decisions whose pairs are always counted

# Counts cases in bins of two sources of decisions at once, keyed by the positions of the two. The
# arguments are the sources and the edges of their scores, (B - 1,), empty where decisions are bins.
PairsOf = Callable[
    [Sequence[DecisionSource], Sequence[FloatArray]], Mapping[tuple[int, int], PairCounts]
]


@record
class ModelTallies:
    """Tallies of the predictions of one model; None where these do not allow it.

    Losses are means within each class, (2, K): log loss, and Brier score summed over classes.

    Examples
    --------
    Probabilities that are off by 0.1 in one class and by 0.2 in the other have Brier scores of
    twice 0.01 and twice 0.04:

    >>> from stakes.evaluation import Predictions, read_cases
    >>> from stakes.evaluation.tally_rows import evidence_of
    >>> cases = read_cases([0, 1], Problem.zero_one(2), None, None, None)
    >>> model = Predictions("net", "posteriors", posteriors=np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> [tallies] = evidence_of(cases, [model], posterior_prior=None, calibrator=None).models
    >>> tallies.losses[1].round(6), tallies.predicted.values.tolist()
    (array([0.02, 0.08]), [[1.0, 0.0], [0.0, 1.0]])
    """

    model: str
    kind: str
    table: ScoreTable | None = None  # of P(second class) or of raw scores, as they came
    deployed: ScoreTable | None = None  # the same for the prior of the report
    recalibrated: ScoreTable | None = None
    losses: FloatArray | None = None  # of posteriors as they came
    deployed_losses: FloatArray | None = None  # of those for the prior of the report
    moving: tuple[FloatArray, FloatArray] | None = None  # the priors from and to which they move
    predicted: Counts | None = None  # the most probable classes, or decisions that stand for them
    leads: FloatArray | None = None  # (2, K), of posteriors as they came, where there is no table
    named: bool = False  # whether the caller said which class each column belongs to
    order: ColumnOrder | None = None  # that fits clearly better, of three classes or more
    certain: bool = False  # whether all posteriors are 0 or 1
    off_sum: tuple[int, float] | None = None  # rows that did not sum to one, and the worst sum
    # Sums (E + 1, 2, T) of the terms of the costs between edges (E,) of the scores of the table
    term_sums: Callable[[FloatArray], FloatArray] | None = None
    auc_shift: float = 0.0  # what the order of the scores within the rows of the table adds
    class_bins: FloatArray | None = None  # of posteriors of many classes; see `ModelQuality`
    recalibrated_bins: FloatArray | None = None  # the same of recalibrated ones

    def table_of(self, rule: str) -> ScoreTable | None:
        """The scores of two classes by which a Bayes rule decides, for the prior of the report.

        Parameters
        ----------
        rule : the name of the rule

        Returns
        -------
        the score table; None where the model has none

        Examples
        --------
        >>> scores = ScoreTable([0.2, 0.7], [[3, 1], [1, 2]])
        >>> ModelTallies("net", "posteriors", table=scores).table_of("Bayes decisions").scores
        array([0.2, 0.7])
        """
        tables = {BAYES: self.table, MOVED: self.deployed, RECALIBRATED: self.recalibrated}
        return tables[rule]


class FoldCosts(NamedTuple):
    """What each of K fits costs on the cases of each of K folds, by system, and their weights."""

    sums: Mapping[str, FloatArray]  # (K, K)
    weights: FloatArray  # (K,)


class ColumnRank(NamedTuple):
    """How well a column of the costs tells a class from the others, and the best model at that.

    Examples
    --------
    >>> ColumnRank("loss", "fraud", 0.97, "forest", 0.81).area
    0.97
    """

    column: str
    label: Label
    area: float  # under the ROC curve, at least ½: the column may speak for the class or against it
    model: str
    best: float  # the same of the model


@record
class Evidence:
    """Everything that a report is made from.

    Examples
    --------
    >>> from stakes.evaluation import Predictions, read_cases
    >>> from stakes.evaluation.tally_rows import evidence_of
    >>> cases = read_cases([0, 0, 0, 1], Problem.zero_one(2), None, None, None)
    >>> model = Predictions("net", "decisions", decided=np.array([0, 0, 1, 1]))
    >>> evidence = evidence_of(cases, [model], posterior_prior=None, calibrator=None)
    >>> list(evidence.rules), evidence.shares
    (['net (as decided)'], array([0.75, 0.25]))
    """

    problem: Problem
    n_rows: int
    sample: JointSample
    rules: dict[str, DecisionRule]  # by the name of the system
    models: tuple[ModelTallies, ...]
    slices: tuple[
        tuple[str | None, Label, JointSample], ...
    ]  # name of the column, group, its cases
    posterior_prior: FloatArray
    weighted: bool
    calibrator: str | None = None
    partition_costs: Mapping[str, FloatArray] = field(default_factory=dict)  # of fitted rules, (P,)
    fold_costs: FoldCosts | None = None  # of models that were cross-validated
    left_out: tuple[Caveat, ...] = ()
    operation: Operation = field(default_factory=Operation)
    maps: Mapping[str, Callable[[], CalibrationMap]] = field(default_factory=dict)  # of all cases
    # What limits add to the costs (L, K, M), for posteriors of all cases by the map of a model
    repriced: Callable[[str, FloatArray], FloatArray] | None = None
    checks: Mapping[str, tuple[LimitCheck, ...]] = field(default_factory=dict)  # by system
    # What Bayes rules cost where hard cases are left undecided; see `Report.coverage`
    coverage: Mapping[str, Callable[[], CurvePoints]] = field(default_factory=dict)
    unaided: frozenset[str] | None = None  # what needs no model and keeps the limits; None: all
    pairs: PairsOf | None = None  # None with clusters, weights, limits or case costs
    whole_weights: bool = False  # whether the weights of rows are whole numbers, as of copies
    copied: bool = False  # whether rows stand for as many equal ones, not for cases by weights
    most_sources: int = FEW_SOURCES  # of decisions whose pairs are counted; more where that is fast
    column_ranks: tuple[ColumnRank, ...] = ()  # how well columns of the costs tell the classes
    # Models whose columns seem to be in another order than the classes; see `ordered_models`.
    misordered: frozenset[str] = frozenset()

    @property
    def all_misordered(self) -> bool:
        """Whether that holds for the columns of every system that could win."""
        rivals = [rule.model for rule in self.rules.values() if rule.eligible]
        return bool(self.misordered) and self.misordered.issuperset(rivals)

    @property
    def all_break(self) -> bool:
        """Whether every system that could win clearly breaks a limit."""
        rivals = [name for name, rule in self.rules.items() if rule.eligible]
        return bool(self.checks) and all(
            any(check.breaks for check in self.checks[name]) for name in rivals
        )

    @property
    def constant(self) -> Labels:
        """The constant decisions that keep the limits."""
        return tuple(d for d in self.problem.decisions if self.may_be_taken(always(d)))

    def may_be_taken(self, name: str) -> bool:
        """Whether a decision that needs no model keeps the limits.

        Parameters
        ----------
        name : a constant decision such as "always 0", or the rule by costs and prior

        Returns
        -------
        whether it does; true where there are no limits

        Examples
        --------
        >>> from stakes.evaluation import Folds, read_cases
        >>> from stakes.evaluation.predictions import read_predictions
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> from stakes.rows import Decisions
        >>> cases = read_cases([0, 0, 1], Problem.binary(false_alarm=1, miss=9), None, None, None)
        >>> options = {"posterior_prior": None, "calibrator": None}
        >>> folds, decided = Folds(cases, seed=0), Decisions([0, 0, 1])
        >>> model = read_predictions("net", decided, cases, posterior_prior=None)
        >>> evidence_of(cases, [model], **options).may_be_taken("always 0")
        True
        """
        return self.unaided is None or name in self.unaided

    def model(self, name: str) -> ModelTallies:
        """The tallies of a model.

        Parameters
        ----------
        name : the name of the model

        Returns
        -------
        its tallies

        Examples
        --------
        >>> from stakes.evaluation import Predictions, read_cases
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> cases = read_cases([0, 0, 0, 1], Problem.zero_one(2), None, None, None)
        >>> model = Predictions("net", "decisions", decided=np.array([0, 0, 1, 1]))
        >>> evidence = evidence_of(cases, [model], posterior_prior=None, calibrator=None)
        >>> evidence.model("net").kind
        'decisions'
        """
        return next(tallied for tallied in self.models if tallied.model == name)

    def systems_by_rule(self, model: str) -> dict[str, str]:
        """The systems of one model, by the name of their rule.

        Parameters
        ----------
        model : the name of the model

        Returns
        -------
        names of systems

        Examples
        --------
        >>> from stakes.evaluation import Predictions, read_cases
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> cases = read_cases([0, 0, 0, 1], Problem.zero_one(2), None, None, None)
        >>> model = Predictions("net", "decisions", decided=np.array([0, 0, 1, 1]))
        >>> evidence = evidence_of(cases, [model], posterior_prior=None, calibrator=None)
        >>> evidence.systems_by_rule("net")
        {'as decided': 'net (as decided)'}
        """
        return {rule.name: name for name, rule in self.rules.items() if rule.model == model}

    def running_costs(self, names: tuple[str, ...]) -> FloatArray:
        """What systems cost per case besides their decisions: the cost of running their model.

        Parameters
        ----------
        names : names of systems, and of decisions that need no model

        Returns
        -------
        costs (J,); zero for what needs no model

        Examples
        --------
        >>> from stakes.evaluation import Folds, read_cases
        >>> from stakes.evaluation.predictions import read_predictions
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> from stakes.rows import Decisions
        >>> problem = Problem.binary(false_alarm=1, miss=9)
        >>> cases = read_cases([0, 0, 1], problem, None, None, None)
        >>> options = {"posterior_prior": None, "calibrator": None}
        >>> folds, decided = Folds(cases, seed=0), Decisions([0, 0, 1])
        >>> model = read_predictions("net", decided, cases, posterior_prior=None)
        >>> evidence_of(cases, [model], **options).running_costs(("net (as decided)", "always 0"))
        array([0., 0.])
        """
        running = self.operation.running_costs
        models = (self.rules[name].model if name in self.rules else None for name in names)
        return np.array([0.0 if model is None else running.get(model, 0.0) for model in models])

    @cached_property
    def shares(self) -> FloatArray:
        """Class shares of the data."""
        return self.sample.pooled.shares

    @property
    def prior(self) -> FloatArray:
        """The class shares in deployment: the stated prior, else the shares of the data."""
        return self.problem.prior_or(self.shares)


# -------------------------------------------------------------------------------------------------
# Models that were fitted once for each fold of a cross-validation, and how much their fits
# differ.
#
# The cases are decided by the fits that have not seen them. What the others decide about them is
# only used to see how much the cost depends on which cases a model was fitted to.

_UNFITTED = (AS_DECIDED, BAYES, MOVED)  # rules that fit nothing to what the folds predict


@record
class CrossFitted:
    """The predictions of cross-validated models, to be passed to `evaluate` as its models.

    Attributes
    ----------
    fits : by model, what the K fits predict, each about all n cases
    folds : (n,) position of the fit that has not seen the case

    Examples
    --------
    >>> from stakes.rows import Scores
    >>> fits = {"net": [Scores(np.array([0.1, 0.2])), Scores(np.array([0.3, 0.4]))]}
    >>> CrossFitted(fits, np.array([1, 0])).out_of_fold["net"].values
    array([0.3, 0.2])
    """

    fits: Mapping[str, Sequence[Predicted]]
    folds: IntArray

    @property
    def out_of_fold(self) -> dict[str, Predicted]:
        """Predictions of each case by the fit that has not seen it."""
        cases = np.arange(self.folds.size)
        return {
            name: replace(fits[0], values=np.stack([fit.values for fit in fits])[self.folds, cases])
            for name, fits in self.fits.items()
        }

    def fold_costs(
        self, rules: Mapping[str, DecisionRule], cases: Cases, read: Callable[..., Predictions]
    ) -> FoldCosts:
        """What each fit costs on the cases of each fold, by system.

        Rules that are fitted to what the folds predict are left out: fitting has its own share in
        their intervals.

        Parameters
        ----------
        rules : by the name of the system
        cases : the cases
        read : makes `Predictions` from the name of a model and what it predicts

        Returns
        -------
        the costs, and the weights of the folds

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.evaluation import read_cases
        >>> from stakes.rows import Decisions
        >>> cases = read_cases([0, 1], Problem.zero_one(2), None, None, None)
        >>> crossed = CrossFitted({"net": [Decisions([0, 0]), Decisions([0, 1])]}, np.array([1, 0]))
        >>> def read(model, fit):
        ...     return Predictions(model, "decisions", decided=np.array(fit.values))
        >>> rules = {"net (as decided)": DecisionRule("net", "as decided")}
        >>> crossed.fold_costs(rules, cases, read).sums["net (as decided)"]
        array([[1., 0.],
               [0., 0.]])
        """
        charged, folds = costs_by_class(cases.charges, cases.truth), cases.rows(self.folds)
        rows, size, mass = np.arange(folds.size), int(self.folds.max()) + 1, cases.mass

        def summed(decided: IntArray) -> FloatArray:
            return np.asarray(np.bincount(folds, mass * charged[rows, decided], size), np.float64)

        sums = {}
        for name, rule in rules.items():
            if rule.name in _UNFITTED:
                fits = (read(rule.model, fit) for fit in self.fits[rule.model])
                sums[name] = np.stack([summed(fit.decisions(rule, cases.charges)) for fit in fits])
        return FoldCosts(sums, np.bincount(folds, mass, size).astype(np.float64))


def out_of_fold(models: Any) -> Any:
    """Predictions of each case by fits that have not seen it; others than cross-validated as is."""
    return models.out_of_fold if isinstance(models, CrossFitted) else models


def with_fold_costs(
    evidence: Evidence, models: object, cases: Cases, read: Callable[..., Predictions]
) -> Evidence:
    """The evidence, with what each fit costs on each fold if the models were cross-validated."""
    if not isinstance(models, CrossFitted):
        return evidence
    return replace(evidence, fold_costs=models.fold_costs(evidence.rules, cases, read))


def fitting_of(evidence: Evidence, size: int) -> FloatArray | None:
    """The covariance that fitting adds to the costs of all systems; zero for blind decisions."""
    rules = _by_system(evidence.partition_costs, evidence, size)
    folds = evidence.fold_costs or FoldCosts({}, np.empty(0))
    models = _by_system(folds.sums, evidence, size)
    added = np.zeros((size, size))
    if rules is not None and len(rules) > 1:
        added += fitting_covariance(rules)
    if models is not None:
        added += refit_covariance(models, folds.weights)
    return added if added.any() else None


def _by_system(costs: Mapping[str, FloatArray], evidence: Evidence, size: int) -> FloatArray | None:
    """Costs (…, J) of all systems; zero for those that have none, None if no system has any."""
    shapes = [costs[name].shape for name in evidence.rules if name in costs]
    if not shapes:
        return None
    table = np.zeros((*max(shapes), size))
    for place, name in enumerate(evidence.rules):
        if name in costs:
            table[..., place] = costs[name]
    return table


# -------------------------------------------------------------------------------------------------
# Costs of the systems of a report, with intervals; the procedures are in `stakes.inference`.


def costs_of(
    sample: JointSample, problem: Problem, evidence: Evidence, level: float
) -> SampledCosts:
    """Costs of all systems of a report on some cases, under a problem with the report's costs."""
    joint, charges, rules = sample.joint, sample.charges, evidence.rules
    names = joint.models if charges is None else charges.losses.names
    among = [name for name, rule in rules.items() if rule.eligible]
    added = evidence.running_costs(tuple(map(str, names)))
    # Rules are fitted on all cases, whatever slice they decide about.
    fitting = fitting_of(evidence, len(names)) if sample is evidence.sample else None
    if charges is not None:
        return loss_costs(
            charges.losses,
            problem,
            base=charges.base,
            level=level,
            among=among,
            unaided=None if evidence.unaided is None else tuple(evidence.unaided),
            fitting=fitting,
            added=added,
        )
    reachable = np.ones((len(rules), problem.n_decisions), dtype=np.bool_)
    # Bayes rules take only decisions that some posterior makes the cheapest, which narrows what
    # they can cost. Under limits, prices may make any decision the cheapest.
    if not evidence.problem.limits:
        bayes = [rule.name in POSTERIOR_RULES for rule in rules.values()]
        reachable[bayes] = reachable_decisions(problem)
    return system_costs(
        joint,
        problem,
        level=level,
        among=among,
        constant=None if evidence.unaided is None else evidence.constant,
        reachable=reachable,
        squares=sample.design,
        fitting=fitting,
        added=added,
    )


# Costs of all systems, group by group ------------------------------------------------------------

SMALLEST = 10  # cases of a class below which they say little about it
_FEW_CLUSTERS = 10  # like `SMALLEST`, a note on how little a group shows; caveats are stricter
_MANY_GROUPS = 20  # up to this number of groups, they may have any size
_CASES = 5  # beyond, a group must have this many cases on average
_MOST_GROUPS = 1000


def slices_of(evidence: Evidence, best: str, *, level: float) -> tuple[Slice, ...]:
    """Costs of every system in every group, from that group alone.

    `best` is the system that is the cheapest for all cases.
    """
    _refuse_measurements(evidence)
    return tuple(_slice(evidence, *group, best, level) for group in evidence.slices)


def _refuse_measurements(evidence: Evidence) -> None:
    """Refuse a column with nearly as many values as cases: it is a measurement, not a grouping."""
    for name, groups in Counter(by for by, *_ in evidence.slices).items():
        alone = groups > _MANY_GROUPS and evidence.n_rows < _CASES * groups
        if alone or groups > _MOST_GROUPS:
            column = "by" if name is None else f"by[{name!r}]"
            raise InputError(
                f"{column} must make at most {_MOST_GROUPS:,} groups, with {_CASES} cases or more "
                f"in each on average; it makes {groups:,} groups of {evidence.n_rows:,} cases. "
                f"Cut a measurement into ranges first, or name coarser groups.",
                argument="by",
            )


def _slice(
    evidence: Evidence,
    by: str | None,
    label: Label,
    sample: JointSample,
    best: str,
    level: float,
) -> Slice:
    problem = _problem_of(sample, evidence)
    costs = costs_of(sample, problem, evidence, level)
    cheapest = costs.cheapest
    if cheapest is not None and costs.more(best).value == 0:
        cheapest = best  # a tie does not make another system the cheapest
    other = cheapest not in (None, best)
    return Slice(
        by=by,
        group=label,
        n_cases=float(sample.joint.n_cases.sum()),
        cheapest=cheapest,
        saving=costs.more(best) if other else None,
        clear=best not in costs.contenders if other else None,
        costs=tuple(SliceCost(name, costs.cost(name)) for name in evidence.rules),
        note="; ".join(filter(None, _notes(sample, evidence, problem, best))) or None,
    )


def _problem_of(sample: JointSample, evidence: Evidence) -> Problem:
    """The problem with the prior of a group: its class shares, reweighted as those of all cases.

    A case of class k has the weight prior over share of that class, in every group alike. The
    costs of all groups, weighted by the sums of these weights, thus average to the overall cost.
    """
    if evidence.problem.prior is None:
        return evidence.problem
    with np.errstate(divide="ignore", invalid="ignore"):
        stands_for = np.where(evidence.shares > 0, evidence.prior / evidence.shares, 0.0)
    mass = sample.pooled.shares * stands_for
    return evidence.problem.with_prior(mass / mass.sum()) if mass.sum() > 0 else evidence.problem


def _notes(sample: JointSample, evidence: Evidence, problem: Problem, best: str) -> Iterator[str]:
    counted = np.where(evidence.prior > 0, sample.sizes, np.inf)
    yield few_of_classes(counted, evidence.problem.classes, SMALLEST)
    if sample.clusters == 1:
        yield "one cluster only: nothing is known about others"
    elif sample.clusters is not None and sample.clusters < _FEW_CLUSTERS:
        yield f"only {sample.clusters} clusters"
    if sample.charges is None:
        return
    share, of = few_cases(sample.charges, best, problem.prior)
    if share >= LARGE_SHARE:
        yield f"{TOP_CASES} cases {of} {whole_percent(share)}"
