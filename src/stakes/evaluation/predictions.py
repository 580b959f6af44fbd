"""The predictions of each model, in every form that its rules need, also refitted out of fold."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import above, table_of
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._hashing import (
    Hashes,
    distinct_hashes,
    label_hashes,
    number_hashes,
    salted,
    text_hashes,
)
from stakes._value import Value, record
from stakes.calibration import (
    CalibrationMap,
    Calibrator,
    CheckedRows,
    Select,
    hashed_folds,
    most_folds,
)
from stakes.decide import cheapest_decisions, class_ratios, moved_rows
from stakes.errors import InputError
from stakes.evaluation.cases import Cases, left_out, no_decision, no_move
from stakes.measures import expected_cost
from stakes.problem import CaseCosts, Problem
from stakes.report import AS_DECIDED, BAYES, MOVED, RECALIBRATED, TUNED, TUNED_APART, Caveat
from stakes.rows import DECISIONS, POSTERIORS, SCORES, Decisions, Predicted, Scores
from stakes.tally import Counts, ScoreTable
from stakes.thresholds import StakesTable, best_threshold, weighed

# Decision rules: what can be done with the predictions of a model --------------------------------

_TAGS = {
    AS_DECIDED: "as decided",
    BAYES: "as is",
    MOVED: "moved",
    RECALIBRATED: "recalibrated",
    TUNED: "tuned",
    TUNED_APART: "tuned out of fold",
}


@record
class DecisionRule(Value):
    """A model with a way to turn its predictions into decisions.

    Examples
    --------
    Where a miss costs nine times as much as a false alarm, one chance in ten is enough to act:

    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> [rule] = rules_of("forest", "posteriors", problem, table=None, movable=False,
    ...                   recalibrated=False, tuned_apart=False)
    >>> rule.name, rule.threshold
    ('Bayes decisions', 0.1)
    """

    model: str
    name: str
    threshold: float | None = None  # above which the second of two decisions is taken
    eligible: bool = True  # one tuned on these very cases wins only where the model has no other
    prices: tuple[float, ...] = ()  # of the limits of the problem, fitted to all cases
    added: FloatArray | None = None  # (L, K, M), what these prices add to the costs
    capacity: tuple[tuple[float, float, float], ...] = ()  # share, cost and price of other limits
    rounding_loss: float | None = None  # what it costs to decide every case without randomising


def rules_of(
    model: str,
    kind: str,
    problem: Problem,
    *,
    table: ScoreTable | None,
    stakes: StakesTable | None = None,
    movable: bool,
    recalibrated: bool,
    tuned_apart: bool,
) -> Iterator[DecisionRule]:
    """Every rule that the predictions of a model allow, the simplest first.

    A threshold that was tuned on the same cases that measure its cost is shown, but can win only
    where the model has no other rule.

    Parameters
    ----------
    model : the name of the model
    kind : "posteriors", "scores" or "decisions"
    problem : what is at stake
    table : scores of two classes; None where there are none
    stakes : scores weighted by the costs of every case, where these differ
    movable : whether posteriors can be moved to the prior of the problem
    recalibrated : whether there are recalibrated posteriors
    tuned_apart : whether there are decisions by thresholds tuned on other folds

    Yields
    ------
    the rules

    Examples
    --------
    >>> from stakes import Problem
    >>> rules = rules_of("forest", "posteriors", Problem.zero_one(3), table=None, movable=False,
    ...                  recalibrated=True, tuned_apart=False)
    >>> [rule.name for rule in rules]
    ['Bayes decisions', 'Bayes decisions, recalibrated']
    """
    if kind == DECISIONS:
        yield DecisionRule(model, AS_DECIDED)
        return
    threshold = problem.threshold if problem.is_binary and not problem.columns else None
    if kind == POSTERIORS:
        yield DecisionRule(model, BAYES, threshold)
        if movable:
            yield DecisionRule(model, MOVED, threshold)
    if recalibrated:
        yield DecisionRule(model, RECALIBRATED, threshold)
    binary = problem.is_binary
    if problem.columns:
        table, problem = (None, problem) if stakes is None else stakes
    if binary and table is not None:
        best = best_threshold(table, problem).threshold
        if not np.isnan(best):
            honest = kind == POSTERIORS or recalibrated or tuned_apart
            if tuned_apart:
                yield DecisionRule(model, TUNED_APART, float(best))
            if not problem.limits:  # the best threshold would ignore them
                yield DecisionRule(model, TUNED, float(best), eligible=not honest)


def is_turned(costs: FloatArray) -> bool:
    """Whether each of two classes is served best by the other's decision, as prices may make it.

    No threshold above which the second decision is taken says so.
    """
    (right, wrong), (miss, hit) = costs
    return bool(wrong < right and miss < hit)


def is_movable(from_prior: FloatArray, to_prior: FloatArray) -> bool:
    """Whether posteriors that hold for one prior need to be moved to another, and can be.

    Parameters
    ----------
    from_prior : (K,) the prior for which the posteriors hold
    to_prior : (K,) the prior of deployment

    Returns
    -------
    False where the two are equal, or where the first rules out a class that the second expects

    Examples
    --------
    >>> is_movable(np.array([0.5, 0.5]), np.array([0.9, 0.1]))
    True
    """
    lost = (from_prior == 0) & (to_prior > 0)
    # Shares that were summed in another order differ in their last digits, but not as priors.
    return bool(np.abs(from_prior - to_prior).max() > 1e-9 and not lost.any())


def may_name(asked: object, models: Iterable[str]) -> bool:
    """Whether a text is the name of a model, or may be that of one of its systems.

    Parameters
    ----------
    asked : what was asked for
    models : the names of the models

    Returns
    -------
    False where no report on these models has a system of that name

    Examples
    --------
    >>> [may_name(text, ["net"]) for text in ("net", "net (as is)", "net (raw)", "raw")]
    [True, True, False, False]
    """
    known = (name for model in models for name in (model, *(_named(model, rule) for rule in _TAGS)))
    return isinstance(asked, str) and asked in known


def _named(model: str, rule: str) -> str:
    return f"{model} ({_TAGS[rule]})"


def rules_by_system(rules: Iterable[DecisionRule], problem: Problem) -> dict[str, DecisionRule]:
    """Rules by the name of their system: the name of the model, and the rule in brackets.

    Parameters
    ----------
    rules : the rules of all models; at least one
    problem : what is at stake, for the message where there is no rule

    Returns
    -------
    rules by the name of their system, in the same order

    Examples
    --------
    >>> from stakes import Problem
    >>> list(rules_by_system([DecisionRule("forest", "Bayes decisions")], Problem.zero_one(2)))
    ['forest (as is)']
    """
    listed = list(rules)
    if not listed:
        raise InputError(
            "models must allow at least one decision rule; raw scores alone allow none for "
            f"{problem.n_decisions} decisions. Recalibrate them, say by isotonic regression."
        )
    systems = [_named(rule.model, rule.name) for rule in listed]
    models = dict.fromkeys(rule.model for rule in listed)
    _check.labels("the names of models with their rules", [*models, *systems])
    return dict(zip(systems, listed, strict=True))


# -------------------------------------------------------------------------------------------------
# Cross-fitting: calibration maps and thresholds are used on other folds than they are fitted
# on.
#
# All models and all rules of an evaluation share one set of partitions. Equal predictions
# therefore have equal results, and no difference between models is due to the luck of the folds.
#
# The fold of a case follows from its key, else from a hash: of its cluster, or of all that the
# report reads of the case and of its number among equal cases. The order of the rows never
# matters.

_FOLDS = KEY_FOLDS = 5
_PRIME, _FACTOR = 2**31 - 1, 48_271  # of Lehmer's generator
_FEW_CASES = 20_000  # up to here the luck of the folds matters: several partitions are averaged
_MANY_CASES = 200_000  # beyond, fits take so long that there are fewer folds
_PLENTY = 1000  # cases of the rarest class, half of which fit a map as well as four fifths do
_DEALS = 20  # how often folds are dealt again where clusters leave a class in one fold only
_SLACK = 1e-9  # of posteriors beyond 0 and 1, and of their sums


class Folds:
    """The partitions of an evaluation, made when they are first needed.

    Parameters
    ----------
    cases : the cases
    seed : of the evaluation; another seed gives other folds
    predicted : by model, what is predicted about each case, (n,) or (n, K): the hash of a case
        takes it in, and decisions by their positions
    by_key : the fold of every case by its key, (n,); None without keys

    Examples
    --------
    Twenty cases, four of them in each of five folds; few cases are divided several times:

    >>> from stakes import Problem
    >>> from stakes.evaluation import read_cases
    >>> cases = read_cases([0, 0, 1, 1] * 5, Problem.zero_one(2), None, None, None)
    >>> folds = Folds(cases, seed=0)
    >>> np.bincount(folds.numbers[0]).tolist(), len(folds.numbers)
    ([4, 4, 4, 4, 4], 5)
    """

    def __init__(
        self,
        cases: Cases,
        seed: int,
        predicted: Mapping[str, FloatArray | IntArray] | None = None,
        by_key: IntArray | None = None,
    ) -> None:
        self.cases = cases
        self._seed = seed
        self._predicted = predicted or {}
        self._by_key = by_key

    @property
    def by_key(self) -> IntArray | None:
        """The fold of every case by its key, then the only partition; None without keys."""
        return self._by_key

    @property
    def clusters(self) -> IntArray | None:
        """The cluster of every case, which stays in one fold; None without clusters."""
        return None if self.cases.clusters is None else self.cases.clusters.codes

    @cached_property
    def count(self) -> int:
        """The number of folds: five, fewer for very many cases or a rare class."""
        if self._by_key is not None:
            return int(self._by_key.max()) + 1
        n_cases = len(self.cases.truth)
        rarest = most_folds(self.cases.truth, self.clusters, self.cases.problem.n_classes)
        # Two folds need fewer fits, and with this many cases half of them fit a map as well.
        if n_cases > _FEW_CASES and rarest >= _PLENTY:
            return 2
        return min(3 if n_cases > _MANY_CASES else _FOLDS, rarest)

    @property
    def partitions(self) -> int:
        """How many times the cases are divided into folds; posteriors are averaged over these.

        With more than two classes, fits take too long to be repeated.
        """
        if self._by_key is not None:
            return 1
        few = self.cases.problem.n_classes == 2 and len(self.cases.truth) <= _FEW_CASES
        return 5 if few else 1

    @cached_property
    def numbers(self) -> tuple[IntArray, ...]:
        """The fold of every case (n,), for each partition; empty if a class is in one fold only."""
        dealt = [self._dealt(k) for k in range(self.partitions if self.count > 1 else 0)]
        return () if any(number is None for number in dealt) else tuple(dealt)  # type: ignore[arg-type]

    def _dealt(self, partition: int) -> IntArray | None:
        """The fold of every case (n,) in one partition; None where a class is in one fold only."""
        truth, clusters = self.cases.truth, self.clusters
        size = self.cases.problem.n_classes
        for deal in range(_DEALS if self._by_key is None else 1):
            number = self._by_key
            if number is None:
                hashes = self.hashes(f"partition {partition}, deal {deal}")
                number = hashed_folds(truth, self.count, hashes, clusters)
            # Every class must occur in two folds, so that it is in the fit whichever fold is left
            # out.
            seen = table_of(None, [number, truth], (self.count, size))
            if ((seen > 0).sum(axis=0) > 1).all():
                return number
        return None

    def hashes(self, purpose: str) -> Hashes:
        """Hashes of all clusters (U,), or without clusters of all cases (n,), for one purpose.

        Parameters
        ----------
        purpose : hashes for different purposes have nothing to do with each other

        Returns
        -------
        hashes, whose order is random but does not depend on the order of the rows

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.evaluation import read_cases
        >>> cases = read_cases([0, 1, 1], Problem.zero_one(2), None, None, None)
        >>> turned = read_cases([1, 1, 0], Problem.zero_one(2), None, None, None)
        >>> both = (set(Folds(each, seed=0).hashes("a draw").tolist()) for each in (cases, turned))
        >>> len(set.intersection(*both))  # also of the two equal cases
        3
        """
        return salted(self._hashes, f"seed {self._seed}, {purpose}")

    @cached_property
    def _hashes(self) -> Hashes:
        clusters = self.cases.clusters
        return self.of_rows if clusters is None else text_hashes(clusters.labels)

    @cached_property
    def of_rows(self) -> Hashes:
        """The hash of every case, (n,), which no two cases share, whether or not in clusters."""
        return distinct_hashes(partial(_column_hashes, self.cases, self._predicted))

    @property
    def scarcity(self) -> str:
        """A phrase about the class that leaves no folds: that of the fewest cases or clusters."""
        truth, together = self.cases.truth, self.clusters if self._by_key is None else self._by_key
        if together is not None:
            truth = np.unique([truth, together], axis=1)[0]
        problem = self.cases.problem
        rarest = int(np.argmin(np.bincount(truth, minlength=problem.n_classes)))
        parts = "cases" if self.clusters is None else "clusters with a case"
        return f"there are too few {parts} of {problem.classes[rarest]}"

    @property
    def hindrance(self) -> str | None:
        """Why no map can be fitted to these cases; None where one can."""
        if not self.numbers:
            return f"{self.scarcity} to fit a map on some and use it on others."
        if not self.cases.prior.all():
            return "the prior rules out a class, for which no posteriors can be fitted."
        return None

    def described(self, calibrator: Calibrator) -> str:
        """What was fitted, and on which folds, in words for the report.

        Parameters
        ----------
        calibrator : what was fitted

        Returns
        -------
        a phrase such as "Isotonic(), out of fold (5 folds)"

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.calibration import Isotonic
        >>> from stakes.evaluation import read_cases
        >>> cases = read_cases([0, 0, 1, 1] * 5, Problem.zero_one(2), None, None, None)
        >>> Folds(cases, seed=0).described(Isotonic())
        'Isotonic(), out of fold (5 folds, mean of 5 partitions)'
        """
        if self.hindrance:
            return f"{calibrator!r} could not be fitted"
        if self._by_key is not None:
            return f"{calibrator!r}, out of fold ({self.count} folds by key)"
        mean = "" if self.partitions == 1 else f", mean of {self.partitions} partitions"
        return f"{calibrator!r}, out of fold ({self.count} folds{mean})"

    def costs(self, decided: Iterable[IntArray]) -> FloatArray | None:
        """Costs of the decisions that were made in each partition, above perfect decisions.

        An amount that all decisions cost thus takes no digits from differences.

        Parameters
        ----------
        decided : for each partition the codes (n,) of the decisions

        Returns
        -------
        costs (P,) per case; None for a single partition, or where a cost is undefined

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.evaluation import read_cases
        >>> cases = read_cases([0, 0, 1, 1] * 5, Problem.zero_one(2), None, None, None)
        >>> wrong = 1 - cases.truth
        >>> Folds(cases, seed=0).costs([cases.truth, wrong])
        array([0., 1.])
        """
        if self.cases.costs is not None:
            return _defined([case_cost(self.cases, codes) for codes in decided])
        problem, cases = self.cases.problem.regret(), self.cases
        shape = problem.costs.shape
        tables = (table_of(cases.weights, [cases.truth, codes], shape) for codes in decided)
        return _defined([float(expected_cost(Counts(table), problem)) for table in tables])


def _column_hashes(
    cases: Cases, predicted: Mapping[str, FloatArray | IntArray], dropped: int
) -> Iterator[Hashes]:
    """The hashes (n,) of every column that a report reads, each with its name for a salt.

    Models, classes and decisions count by their names, so that their order does not matter. Weights
    of one value are the same as none. Groups only say in which order equal cases are numbered: who
    asks for slices has the same folds of the same scores, and the same numbers, as who does not.
    """
    problem, costs = cases.problem, cases.costs
    yield label_hashes("class", problem.classes, cases.truth)
    for model, values in predicted.items():
        if values.dtype.kind == "i":
            yield label_hashes(f"decision of {model}", problem.decisions, values.astype(np.intp))
        elif values.ndim == 1:
            yield number_hashes(f"score of {model}", values, dropped)
        else:
            for label, column in zip(problem.classes, values.T, strict=True):
                yield number_hashes(f"probability of {label} by {model}", column, dropped)
    if cases.weights is not None and np.ptp(cases.weights) > 0:
        yield number_hashes("weight", cases.weights, dropped)
    for k, d in () if costs is None else np.ndindex(*costs.shape):
        assert costs is not None
        charged = costs.cell(k, d, slice(None))
        if isinstance(charged, np.ndarray):
            salt = f"cost of {problem.decisions[d]} for {problem.classes[k]}"
            yield number_hashes(salt, charged, dropped)
    clusters = () if cases.clusters is None else ((None, cases.clusters),)
    for name, groups in () if dropped else (*cases.by, *clusters):
        yield label_hashes(f"group by {name}", groups.labels, groups.codes)


def fold_of_key(key: Any, seed: int) -> Any:
    """The fold of every key, from 0 to `KEY_FOLDS` - 1, the same in every engine.

    It uses only sums, products and remainders of whole numbers below 2**62, on which numpy, SQL and
    Spark agree. They disagree about the remainder of a negative key, so the modulus is added before
    a second remainder is taken.

    Parameters
    ----------
    key : whole numbers, or a column of an engine
    seed : of the evaluation; another seed gives other folds

    Returns
    -------
    the fold of every key, of the same kind as `key`

    Examples
    --------
    >>> fold_of_key(np.arange(-3, 7), seed=0).tolist()
    [2, 2, 2, 0, 4, 1, 0, 3, 4, 3]
    """
    start = (key % _PRIME + (_PRIME + seed % _PRIME)) % _PRIME
    mixed = (start * _FACTOR + 11) % _PRIME
    # A linear generator would give neighbouring keys a regular pattern of folds; squares break it.
    mixed = (mixed * mixed + start) % _PRIME
    mixed = (mixed * _FACTOR + 7) % _PRIME
    return (mixed * mixed + mixed) % _PRIME % KEY_FOLDS


def folds_of_key(key: object, cases: Cases, seed: int) -> IntArray | None:
    """The fold of every case with a positive weight, by its key, numbered without gaps."""
    if key is None:
        return None
    try:
        array = _check.as_array("key", key)
    except InputError:
        raise
    except ValueError:  # lists of different lengths
        array = np.array(None)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(
            f"key must hold a whole number for every case; its entries are {array.dtype}, of shape "
            f"{array.shape}. Number the cases, and fill gaps."
        )
    if array.dtype.kind == "u" and (most := int(array.max(initial=0))) >= 1 << 63:
        raise InputError(
            f"key must hold whole numbers below 2⁶³; the largest is {most}. Take half of each, or "
            f"number the cases."
        )
    _check.same_length(y_true=np.empty(cases.n_rows), key=array)
    number = used_folds(cases.rows(fold_of_key(array.astype(np.int64), seed)))
    owners = None if cases.clusters is None else cases.clusters.codes
    if owners is not None:
        # Each cluster must occur with one fold only, so that there are as many pairs as clusters.
        pairs = np.bincount(owners * KEY_FOLDS + number, minlength=1)
        if np.count_nonzero(pairs) > int(owners.max()) + 1:
            raise InputError(
                "key must be the same for all cases of a cluster, which stays in one fold; some "
                "cluster has keys of two folds. Pass the clusters themselves as key, as numbers."
            )
    return number


def used_folds(number: IntArray) -> IntArray:
    """Folds numbered from zero without gaps, leaving out those that have no cases.

    Parameters
    ----------
    number : (n,) the fold of every case, below `KEY_FOLDS`

    Returns
    -------
    the new numbers (n,)

    Examples
    --------
    >>> used_folds(np.array([4, 1, 4])).tolist()
    [1, 0, 1]
    """
    used = np.bincount(number, minlength=KEY_FOLDS) > 0
    return np.asarray((np.cumsum(used) - 1)[number], dtype=np.intp)


def _defined(costs: list[float]) -> FloatArray | None:
    return np.array(costs) if len(costs) > 1 and not np.isnan(costs).any() else None


def case_cost(cases: Cases, decided: IntArray) -> float:
    """Cost per case of decisions (n,) above perfect ones, where every case has its own costs."""
    assert cases.costs is not None
    sums = np.zeros(cases.problem.n_classes)
    for rows, charged in cases.costs.of_class(cases.truth):
        regret = charged[decided[rows], np.arange(charged.shape[1])] - charged.min(axis=0)
        weighted = regret if cases.weights is None else regret * cases.weights[rows]
        sums += np.bincount(cases.truth[rows], weighted, sums.size)
    mass = np.bincount(cases.truth, cases.weights, sums.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(np.where(cases.prior > 0, cases.prior * (sums / mass), 0.0)))


@record
class Fitted:
    """What a fitted rule predicts for cases not used to fit it, and its cost in each partition.

    Examples
    --------
    Negative scores in one class and positive ones in the other leave no errors:

    >>> from stakes import Problem
    >>> from stakes.evaluation import read_cases
    >>> cases = read_cases([0, 1] * 10, Problem.zero_one(2), None, None, None)
    >>> fitted = tuned_apart(np.array([-1.0, 1.0] * 10), Folds(cases, seed=0))
    >>> fitted.predictions[:4], fitted.costs
    (array([0, 1, 0, 1]), array([0., 0., 0., 0., 0.]))
    """

    predictions: FloatArray | IntArray  # posteriors (n, K) or decisions (n,)
    costs: FloatArray | None  # (P,)
    on_all: FitOnAll | None = None  # the map of all cases, where the rule has a map
    # Posteriors (n, K) of each partition, where prices of limits need them.
    parts: tuple[FloatArray, ...] = ()
    # The map of each fold, where there is one partition, for the class shares of the cases.
    maps: tuple[CalibrationMap, ...] = ()


@record
class FitOnAll:
    """The map of all cases, fitted when it is called; the folds were for evaluation only."""

    rows: CheckedRows
    clusters: IntArray | None
    calibrator: Calibrator
    classes: Labels

    @classmethod
    def later(cls, rows: CheckedRows, folds: Folds, calibrator: Calibrator) -> FitOnAll:
        """A fit that is made later, from copies: the caller may change the arrays until then."""
        codes = rows.codes.astype(np.min_scalar_type(rows.n_classes))  # mostly one byte a case
        copied = replace(rows, scores=_copy(rows.scores), codes=codes, weights=_copy(rows.weights))
        return cls(copied, _copy(folds.clusters), calibrator, folds.cases.problem.classes)

    def __call__(self) -> CalibrationMap:
        """Fit the map and return it."""
        everything = np.ones(len(self.rows.codes), dtype=bool)
        return self.rows.fitted(self.calibrator, everything, self.clusters).relabelled(self.classes)


def _copy(column: Any) -> Any:
    return None if column is None else np.array(column)


def recalibrated(
    model: str, scores: FloatArray, folds: Folds, calibrator: Calibrator | None, *, raw: bool
) -> tuple[Fitted | None, tuple[Caveat, ...]]:
    """Recalibrated posteriors of every case, by maps that were fitted on other folds.

    Maps are fitted for the class shares of the cases, and what they give is moved to a prior that
    the problem states: one fit serves all priors, and rare cases keep their weight in it.

    Errors of a calibrator that the user chose are raised. Where the default, `Select`, cannot fit
    any map, a caveat says so instead.

    Parameters
    ----------
    model : the name of the model
    scores : posteriors (n, K), P(second class) (n,), or raw scores (n,)
    folds : the partitions of the cases
    calibrator : what to fit; None for nothing
    raw : whether the scores are raw

    Returns
    -------
    posteriors (n, K) for the prior of the report, or None, and caveats that say why there are none

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.calibration import Isotonic
    >>> from stakes.evaluation import read_cases
    >>> cases = read_cases([0, 0, 1, 1] * 5, Problem.zero_one(2), None, None, None)
    >>> folds, scores = Folds(cases, seed=0), np.array([0.1, 0.6, 0.6, 0.7] * 5)
    >>> fitted, caveats = recalibrated("forest", scores, folds, Isotonic(), raw=False)
    >>> fitted.predictions[:4, 1].round(1).tolist(), caveats
    ([0.0, 0.5, 0.5, 1.0], ())
    """
    if calibrator is None:
        return None, ()
    reason = folds.hindrance
    if reason is None:
        try:
            return _out_of_fold(model, scores, folds, calibrator, raw), ()
        except InputError as error:
            if not isinstance(calibrator, Select):
                raise
            reason = str(error)
    return None, (left_out(model, f"it was not recalibrated: {reason}"),)


def _out_of_fold(
    model: str, scores: FloatArray, folds: Folds, calibrator: Calibrator, raw: bool
) -> Fitted:
    cases, size = folds.cases, folds.cases.problem.n_classes
    wrapped = (Scores,) if raw else ()
    taken = _finite(scores) if raw else scores
    rows = CheckedRows(taken, cases.truth, cases.weights, None, size, *wrapped)
    hashes = folds.of_rows if folds.by_key is None else None
    rows = replace(rows, folds=folds.by_key, hashes=hashes)
    try:
        maps = [rows.fold_maps(calibrator, dealt, folds.clusters) for dealt in folds.numbers]
        each = [rows.mapped(some, dealt) for some, dealt in zip(maps, folds.numbers, strict=True)]
    except InputError as error:
        if raw and not isinstance(calibrator, Select):
            raise InputError(
                f"calibrator must take raw scores, which the model {model} has; {calibrator!r} "
                f"takes probabilities. Use Select, Isotonic, Logistic or Platt."
            ) from error
        if size > 2 and not isinstance(calibrator, Select):
            raise InputError(
                f"calibrator must take posteriors of {size} classes; {calibrator!r} refuses those "
                f"of {model}: {error} Use Select, Affine, Temperature or VectorScaling.",
                argument="calibrator",
            ) from error
        raise
    for posteriors in each:
        _refuse_improbable(posteriors, calibrator, size)

    def deployed(posteriors: Any) -> FloatArray:
        rows = _of_all_classes(posteriors)
        return rows if cases.problem.prior is None else moved_rows(rows, cases.shares, cases.prior)

    # The mean over partitions depends less on the luck of any one of them.
    mean = deployed(sum(each) / len(each))
    parts = tuple(map(deployed, each)) if len(each) > 1 else ()
    costs = folds.costs(cheapest_decisions(part, cases.charges) for part in parts)
    by_partition = parts if cases.problem.limits else ()
    on_all, single = FitOnAll.later(rows, folds, calibrator), () if parts else maps[0]
    return Fitted(mean, costs, on_all, by_partition, single)


def _refuse_improbable(posteriors: FloatArray, calibrator: Calibrator, size: int) -> None:
    """Refuse what is no posterior, which a calibrator of the user may return."""
    least, most = posteriors.min(initial=0.0), posteriors.max(initial=0.0)
    off_sum = 0.0 if posteriors.ndim == 1 else np.abs(posteriors.sum(axis=1) - 1).max(initial=0.0)
    is_shaped = posteriors.shape[1:] == (size,) or (size == 2 and posteriors.ndim == 1)
    if is_shaped and -_SLACK <= least <= most <= 1 + _SLACK and off_sum <= _SLACK:
        return
    raise InputError(
        f"calibrator must give posteriors; the map of {calibrator!r} gives an array of shape "
        f"{posteriors.shape} from {least:.4g} to {most:.4g}, with sums off by {off_sum:.2g}. "
        f"Return P(second class) of two classes, or rows that sum to one."
    )


def _of_all_classes(posteriors: Any) -> FloatArray:
    """Posteriors (n, K); a map may give those of the second of two classes alone, (n,)."""
    if posteriors.ndim == 2:
        return np.asarray(posteriors)
    return np.stack([1 - posteriors, posteriors]).T  # columns are contiguous: they are read singly


def _finite(scores: FloatArray) -> FloatArray:
    """Infinite scores replaced by the next numbers beyond the finite ones.

    Ranks stay as they are, and calibrators that fit a line can use the scores.
    """
    known = scores[np.isfinite(scores)]
    if known.size == scores.size:
        return scores
    if not known.size:
        # All scores are infinite: there are at most two values, which any two numbers can rank.
        return np.sign(scores)
    low, high = np.nextafter([known.min(), known.max()], [-np.inf, np.inf])
    return np.clip(scores, low, high)


def tuned_apart(scores: FloatArray, folds: Folds) -> Fitted | None:
    """Decisions by thresholds that were chosen on the other folds.

    Parameters
    ----------
    scores : (n,) raw scores of two classes
    folds : the partitions of the cases

    Returns
    -------
    decisions (n,); None unless there are two classes and two decisions, and folds

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.evaluation import read_cases
    >>> cases = read_cases([0, 0, 1, 1] * 5, Problem.zero_one(2), None, None, None)
    >>> folds = Folds(cases, seed=0)
    >>> tuned_apart(np.array([-2.0, -1.0, 1.0, 2.0] * 5), folds).predictions[:4].tolist()
    [0, 0, 1, 1]
    """
    problem = folds.cases.problem
    if not problem.is_binary or not folds.numbers:
        return None
    each = [_tuned(scores, number, folds) for number in folds.numbers]
    # Decisions cannot be averaged over partitions as posteriors can. The first partition decides;
    # the others show how much the cost varies with the folds.
    return Fitted(each[0], folds.costs(each))


def _tuned(scores: FloatArray, number: IntArray, folds: Folds) -> IntArray:
    """Decisions by the best thresholds of the other folds, in one partition."""
    cases = folds.cases
    decided = np.zeros(len(scores), dtype=np.intp)
    for fold in range(folds.count):
        in_fold = number == fold
        decided[in_fold] = above(scores[in_fold], _best(scores, cases, ~in_fold))
    return decided


def _best(scores: FloatArray, cases: Cases, mask: BoolArray) -> float:
    """The best threshold for some of the cases; nan where there is none."""
    truth, weights = cases.truth[mask], None if cases.weights is None else cases.weights[mask]
    if cases.costs is None:
        table = ScoreTable._of_codes(truth, scores[mask], weights, cases.problem.classes)
        return best_threshold(table, cases.problem).threshold
    stakes = weighed(truth, scores[mask], weights, cases.costs.only(mask), cases.problem)
    return np.nan if stakes is None else best_threshold(*stakes).threshold


# The predictions of each model, in every form that its rules need --------------------------------


@record
class Predictions:
    """The predictions of one model; None where there are none of that kind.

    Examples
    --------
    A posterior that equals the prior moves as the prior does:

    >>> priors = np.array([0.5, 0.5]), np.array([0.9, 0.1])
    >>> rows = np.array([[0.5, 0.5]])
    >>> Predictions("net", "posteriors", posteriors=rows, moving=priors).moved.round(6)
    array([[0.9, 0.1]])
    """

    model: str
    kind: str
    posteriors: FloatArray | None = None  # (n, K), as they came
    moving: tuple[FloatArray, FloatArray] | None = None  # the priors from and to which they move
    decided: IntArray | None = None  # (n,), where the model gives decisions
    scores: FloatArray | None = None  # (n,), raw or P(second class), for two classes
    fitted: Fitted | None = None  # the rule that is fitted out of fold
    off_sum: tuple[int, float] | None = None  # rows that did not sum to one, and the worst sum
    named: bool = False  # whether the caller said which class each column belongs to
    rounding: FloatArray | None = None  # possible rounding errors of single-precision posteriors
    left_out: tuple[Caveat, ...] = ()

    @property
    def recalibrated(self) -> FloatArray | None:
        """Posteriors (n, K) by maps fitted on other folds, for the prior of the report."""
        posteriors: FloatArray | None = self._fitted(ndim=2)
        return posteriors

    @property
    def tuned_apart(self) -> IntArray | None:
        """Decisions (n,) by thresholds that were tuned on other folds."""
        decisions: IntArray | None = self._fitted(ndim=1)
        return decisions

    def _fitted(self, ndim: int) -> Any:
        """What the fitted rule predicts, if that is posteriors (2) or decisions (1)."""
        predictions = None if self.fitted is None else self.fitted.predictions
        return None if predictions is None or predictions.ndim != ndim else predictions

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """Posteriors (n, K) recalibrated in each partition, where prices of limits need them."""
        return () if self.fitted is None else self.fitted.parts

    @property
    def moved(self) -> FloatArray | None:
        """Posteriors (n, K) moved to the prior of the report, where they came for another one."""
        if self.moving is None or self.posteriors is None:
            return None
        return moved_rows(self.posteriors, *self.moving)

    def posteriors_of(self, rule: str) -> FloatArray:
        """The posteriors (n, K) by which a Bayes rule decides.

        Parameters
        ----------
        rule : the name of the rule

        Returns
        -------
        posteriors, (n, K)

        Examples
        --------
        >>> rows = np.array([[0.9, 0.1]])
        >>> Predictions("net", "posteriors", posteriors=rows).posteriors_of("as is")
        array([[0.9, 0.1]])
        """
        if rule == RECALIBRATED:
            return np.asarray(self.recalibrated)
        return np.asarray(self.moved if rule == MOVED else self.posteriors)

    def decisions(self, rule: DecisionRule, costs: FloatArray | CaseCosts) -> IntArray:
        """What the model decides by one of its rules.

        Parameters
        ----------
        rule : the rule
        costs : (K, M) costs, or those of every case

        Returns
        -------
        positions of the decisions, (n,)

        Examples
        --------
        >>> from stakes.evaluation import DecisionRule
        >>> predictions = Predictions("net", "scores", scores=np.array([0.2, 3.1]))
        >>> rule = DecisionRule("net", TUNED, threshold=1.0)
        >>> predictions.decisions(rule, np.array([[0.0, 1.0], [9.0, 0.0]]))
        array([0, 1])
        """
        if rule.name == TUNED:
            assert rule.threshold is not None
            return above(np.asarray(self.scores), rule.threshold).astype(np.intp)
        if rule.name in (AS_DECIDED, TUNED_APART):
            return np.asarray(self.decided if rule.name == AS_DECIDED else self.tuned_apart)
        if rule.name == RECALIBRATED:
            return cheapest_decisions(self.posteriors_of(RECALIBRATED), costs)
        moving = self.moving if rule.name == MOVED else None
        # Class ratios weight the costs of each class, which decides as moved posteriors would.
        ratios = None if moving is None else class_ratios(*moving)
        return cheapest_decisions(np.asarray(self.posteriors), costs, self.rounding, ratios)


def read_predictions(
    model: str, values: Predicted, cases: Cases, *, posterior_prior: FloatArray | None
) -> Predictions:
    """Check the predictions of a model; nothing is fitted to them yet."""
    name, problem = f"models[{model!r}]", cases.problem
    if isinstance(values, Decisions):
        decided = values.read(name, problem.decisions, problem.classes)
        return Predictions(model, DECISIONS, decided=cases.rows(decided))
    if isinstance(values, Scores):
        if problem.n_classes != 2:
            raise InputError(
                f"{name} must be posteriors or decisions: raw scores are for two classes, the "
                f"problem has {problem.n_classes}. State posteriors or decisions."
            )
        return Predictions(model, SCORES, scores=cases.rows(values.read(name)))
    rows, off_sum = values.normalised(name, problem.classes)
    rows = cases.rows(rows)
    moving, unmoved = _moving(model, rows, posterior_prior, cases)
    return Predictions(
        model,
        POSTERIORS,
        posteriors=rows,
        moving=moving,
        scores=rows[:, 1] if problem.n_classes == 2 else None,
        off_sum=off_sum,
        named=values.is_named,
        rounding=cases.rows(values.rounding(name, problem.classes)),
        left_out=unmoved,
    )


def with_fit(read: Predictions, folds: Folds, calibrator: Calibrator | None) -> Predictions:
    """The predictions with the rule that is fitted on other folds.

    Posteriors and scores are recalibrated where there is a calibrator; else scores get thresholds.
    """
    raw, problem = read.kind == SCORES, folds.cases.problem
    values = read.posteriors if read.scores is None else read.scores
    if values is None:
        return read
    fitted, lost = recalibrated(read.model, values, folds, calibrator, raw=raw)
    if raw and fitted is None:
        if not problem.is_binary:
            lost = (*lost, no_decision(read.model, problem))
        fitted = tuned_apart(values, folds)
    return replace(read, fitted=fitted, left_out=(*read.left_out, *lost))


def hashed_columns(predictions: Iterable[Predictions]) -> dict[str, FloatArray | IntArray]:
    """By model, what the hash of a case takes in; of two classes the second says all."""
    every = ((each, (each.scores, each.posteriors, each.decided)) for each in predictions)
    return {
        each.model: next(values for values in columns if values is not None)
        for each, columns in every
    }


def _moving(
    model: str, rows: FloatArray, from_prior: FloatArray | None, cases: Cases
) -> tuple[tuple[FloatArray, FloatArray] | None, tuple[Caveat, ...]]:
    """The priors from and to which posteriors move, None where they need not or cannot; caveats."""
    start, end = cases.shares if from_prior is None else from_prior, cases.prior
    if from_prior is not None and ((from_prior == 0) & (end > 0)).any():
        text = (
            "the prior for which its posteriors hold rules out a class that is expected here, so "
            "that they cannot be moved; they are shown as they come."
        )
        return None, (left_out(model, text),)
    if not is_movable(start, end):
        return None, ()
    if (end == 0).any() and np.isnan(moved_rows(rows, start, end)).any():
        return None, (no_move(model),)
    return (start, end), ()
