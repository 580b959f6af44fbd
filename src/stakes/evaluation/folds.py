"""What is fitted to the cases themselves, fitted on other folds.

One set of partitions serves all models and all rules of an evaluation: equal predictions have equal
results, and differences between models are none of the luck of the folds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes.calibration import CalibrationMap, Calibrator, CheckedRows, Select, fold_numbers, spread
from stakes.decide import cheapest_decisions
from stakes.errors import InputError
from stakes.evaluation.cases import Cases
from stakes.evaluation.sentences import left_out
from stakes.measures import expected_cost
from stakes.report import Caveat
from stakes.rows import Scores
from stakes.tally import Counts, ScoreTable
from stakes.thresholds import best_threshold, weighed

_FOLDS = KEY_FOLDS = 5
_PRIME, _FACTOR = 2**31 - 1, 48_271  # of Lehmer's generator
_FEW_CASES = 20_000  # up to which the luck of the folds shows: several partitions are averaged
_MANY_CASES = 200_000  # from which each fit takes so long that there are fewer folds
_PLENTY = 1000  # cases of the rarest class, half of which fit a map as well as four fifths do
_DEALS = 20  # how often folds are dealt again where clusters leave a class in one fold only


class Folds:
    """The partitions of an evaluation, dealt when they are first needed."""

    def __init__(
        self, cases: Cases, rng: np.random.Generator, by_key: IntArray | None = None
    ) -> None:
        self.cases = cases
        self._rng = rng
        self._by_key = by_key  # the only partition, where a key states it

    @property
    def clusters(self) -> IntArray | None:
        """Clusters, which stay in one fold."""
        return None if self.cases.clusters is None else self.cases.clusters.codes

    @cached_property
    def count(self) -> int:
        """Two or three of very many cases, else five, or what the rarest class allows."""
        if self._by_key is not None:
            return int(self._by_key.max()) + 1
        n_cases = len(self.cases.truth)
        rarest = spread(self.cases.truth, self.clusters, self.cases.problem.n_classes)
        if n_cases > _FEW_CASES and rarest >= _PLENTY:
            return 2
        return min(3 if n_cases > _MANY_CASES else _FOLDS, rarest)

    @property
    def partitions(self) -> int:
        """How many times the cases are dealt; the posteriors of all times are averaged.

        For more than two classes, fits take too much time to be repeated.
        """
        if self._by_key is not None:
            return 1
        few = self.cases.problem.n_classes == 2 and len(self.cases.truth) <= _FEW_CASES
        return 5 if few else 1

    @cached_property
    def numbers(self) -> tuple[IntArray, ...]:
        """For each partition the fold of every case, (n,); none if a class is in one fold only."""
        dealt = [self._dealt() for _ in range(self.partitions if self.count > 1 else 0)]
        return () if any(number is None for number in dealt) else tuple(dealt)  # type: ignore[arg-type]

    def _dealt(self) -> IntArray | None:
        truth, clusters = self.cases.truth, self.clusters
        size = self.cases.problem.n_classes
        for _ in range(_DEALS if self._by_key is None else 1):
            number = self._by_key
            if number is None:
                number = fold_numbers(truth, self.count, clusters=clusters, rng=self._rng)
            seen = np.bincount(number * size + truth, minlength=self.count * size)
            if ((seen.reshape(self.count, size) > 0).sum(axis=0) > 1).all():
                return number
        return None

    @property
    def hindrance(self) -> str | None:
        """Why no map can be fitted to these cases, if none can."""
        if not self.numbers:
            parts = "cases" if self.clusters is None else "clusters with a case"
            return f"some class has too few {parts} to fit a map on some and use it on others."
        if not self.cases.prior.all():
            return "the prior rules out a class, for which no posteriors can be fitted."
        return None

    def described(self, calibrator: Calibrator) -> str:
        """What was fitted, and on which folds."""
        if self.hindrance:
            return f"{calibrator!r} could not be fitted"
        if self._by_key is not None:
            return f"{calibrator!r}, out of fold ({self.count} folds by key)"
        mean = "" if self.partitions == 1 else f", mean of {self.partitions} partitions"
        return f"{calibrator!r}, out of fold ({self.count} folds{mean})"

    def costs(self, decided: Iterable[IntArray]) -> FloatArray | None:
        """Costs (P,) of the decisions made in each partition; None of one, or if undefined.

        Above perfect decisions, so that what all decisions cost takes no digits from them.
        """
        if self.cases.costs is not None:
            return _defined([case_cost(self.cases, codes) for codes in decided])
        problem, cases = self.cases.problem.regret(), self.cases
        costs = []
        for codes in decided:
            cell = cases.truth * problem.n_decisions + codes
            sums = np.bincount(cell, cases.weights, problem.costs.size)
            costs.append(float(expected_cost(Counts(sums.reshape(problem.costs.shape)), problem)))
        return _defined(costs)


def fold_of_key(key: Any, seed: int) -> Any:
    """The fold, below `KEY_FOLDS`, of every key: of whole numbers, or of a column of an engine.

    Sums, products and remainders of whole numbers below 2**62, which are the same everywhere. The
    remainder is taken twice, because that of a negative number is not.

    >>> fold_of_key(np.arange(-3, 7), seed=0).tolist()
    [2, 2, 2, 0, 4, 1, 0, 3, 4, 3]
    """
    start = (key % _PRIME + (_PRIME + seed % _PRIME)) % _PRIME
    mixed = (start * _FACTOR + 11) % _PRIME
    mixed = (mixed * mixed + start) % _PRIME  # squares: neighbours shall not take turns
    mixed = (mixed * _FACTOR + 7) % _PRIME
    return (mixed * mixed + mixed) % _PRIME % KEY_FOLDS


def folds_of_key(key: object, cases: Cases, seed: int) -> IntArray | None:
    """The fold of every case that has weight, numbered from zero, by its key."""
    if key is None:
        return None
    array = np.asarray(key)
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise InputError(
            f"key must hold a whole number for every case; its entries are {array.dtype}, of shape "
            f"{array.shape}. Number the cases, and fill gaps.",
            argument="key",
        )
    _check.same_length(y_true=np.empty(cases.n_rows), key=array)
    number = used_folds(cases.rows(fold_of_key(array.astype(np.int64), seed)))
    owners = None if cases.clusters is None else cases.clusters.codes
    if owners is not None:
        pairs = np.bincount(owners * KEY_FOLDS + number, minlength=1)
        if np.count_nonzero(pairs) > int(owners.max()) + 1:
            raise InputError(
                "key must be the same for all cases of a cluster, which stays in one fold; some "
                "cluster has keys of two folds. Pass the clusters themselves as key, as numbers.",
                argument="key",
            )
    return number


def used_folds(number: IntArray) -> IntArray:
    """The folds (n,) of keys, those that have cases being numbered from zero.

    >>> used_folds(np.array([4, 1, 4])).tolist()
    [1, 0, 1]
    """
    used = np.bincount(number, minlength=KEY_FOLDS) > 0
    return np.asarray((np.cumsum(used) - 1)[number], dtype=np.intp)


def _defined(costs: list[float]) -> FloatArray | None:
    return np.array(costs) if len(costs) > 1 and not np.isnan(costs).any() else None


def case_cost(cases: Cases, decided: IntArray) -> float:
    """Cost per case of decisions (n,) above perfect ones, every case charged its own costs."""
    assert cases.costs is not None
    sums = np.zeros(cases.problem.n_classes)
    for rows, own in cases.costs.of_class(cases.truth):
        regret = own[decided[rows], np.arange(own.shape[1])] - own.min(axis=0)
        weighted = regret if cases.weights is None else regret * cases.weights[rows]
        sums += np.bincount(cases.truth[rows], weighted, sums.size)
    mass = np.bincount(cases.truth, cases.weights, sums.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sum(np.where(cases.prior > 0, cases.prior * (sums / mass), 0.0)))


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a rule that was fitted says of cases it has not seen, and its cost in each partition."""

    said: FloatArray | IntArray  # posteriors (n, K) or decisions (n,)
    costs: FloatArray | None  # (P,)
    on_all: FitOnAll | None = None  # the map of all cases, where the rule is one
    parts: tuple[
        FloatArray, ...
    ] = ()  # posteriors (n, K) of each partition, where prices need them


@dataclass(frozen=True, eq=False)
class FitOnAll:
    """The map of all cases, fitted when it is called; the folds were for evaluation only."""

    rows: CheckedRows
    clusters: IntArray | None
    calibrator: Calibrator
    classes: Labels

    @classmethod
    def later(cls, rows: CheckedRows, folds: Folds, calibrator: Calibrator) -> FitOnAll:
        """A copy of what the fit needs, because the caller's arrays may change until then."""
        codes = rows.codes.astype(np.min_scalar_type(rows.n_classes))
        kept = replace(rows, scores=np.array(rows.scores), codes=codes, weights=_copy(rows.weights))
        return cls(kept, _copy(folds.clusters), calibrator, folds.cases.problem.classes)

    def __call__(self) -> CalibrationMap:
        """Fit it."""
        everything = np.ones(len(self.rows.codes), dtype=bool)
        return self.rows.fitted(self.calibrator, everything, self.clusters).relabelled(self.classes)


def _copy(column: Any) -> Any:
    return None if column is None else np.array(column)


def recalibrated(
    model: str, scores: FloatArray, folds: Folds, calibrator: Calibrator | None, *, raw: bool
) -> tuple[Fitted | None, tuple[Caveat, ...]]:
    """Posteriors (n, K) out of fold, for the prior of the report, or why there are none.

    The scores are posteriors unless they are raw. Of a calibrator that was named, errors are
    raised; one that looks for a map by itself may find none.
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
    cases = folds.cases
    size, prior = cases.problem.n_classes, cases.problem.prior
    wrapped = (Scores,) if raw else ()
    taken = _finite(scores) if raw else scores
    rows = CheckedRows(taken, cases.truth, cases.weights, prior, size, *wrapped)
    try:
        each = [rows.out_of_fold(calibrator, dealt, folds.clusters) for dealt in folds.numbers]
    except InputError as error:
        if raw and not isinstance(calibrator, Select):
            raise InputError(
                f"calibrator must take raw scores, which the model {model} has; {calibrator!r} "
                f"takes probabilities. Use Select, Isotonic, Logistic or Platt.",
                argument="calibrator",
            ) from error
        raise
    mean = _check.posteriors("recalibrated", sum(each) / len(each), size)
    parts = each if len(each) > 1 else ()
    costs = cases.charges
    checked = [_check.posteriors("recalibrated", part, size) for part in parts]
    each_costs = folds.costs(cheapest_decisions(part, costs) for part in checked)
    kept = tuple(checked) if cases.problem.limits else ()
    return Fitted(mean, each_costs, FitOnAll.later(rows, folds, calibrator), kept)


def _finite(scores: FloatArray) -> FloatArray:
    """Infinite scores as the next numbers beyond the finite ones: lines take them, ranks stay."""
    known = scores[np.isfinite(scores)]
    if known.size == scores.size:
        return scores
    if not known.size:
        return np.sign(scores)
    low, high = np.nextafter([known.min(), known.max()], [-np.inf, np.inf])
    return np.clip(scores, low, high)


def tuned_apart(scores: FloatArray, folds: Folds) -> Fitted | None:
    """Decisions (n,) by the best threshold of the other folds, for two classes and decisions."""
    problem = folds.cases.problem
    if (problem.n_classes, problem.n_decisions) != (2, 2) or not folds.numbers:
        return None
    each = [_tuned(scores, number, folds) for number in folds.numbers]
    return Fitted(each[0], folds.costs(each))


def _tuned(scores: FloatArray, number: IntArray, folds: Folds) -> IntArray:
    """The same for the folds of one partition."""
    cases = folds.cases
    decided = np.zeros(len(scores), dtype=np.intp)
    for fold in range(folds.count):
        own = number == fold
        decided[own] = scores[own] > _best(scores, cases, ~own)
    return decided


def _best(scores: FloatArray, cases: Cases, own: BoolArray) -> float:
    """The best threshold of some cases."""
    truth, weights = cases.truth[own], None if cases.weights is None else cases.weights[own]
    if cases.costs is None:
        table = ScoreTable._of_codes(truth, scores[own], weights, cases.problem.classes)
        return best_threshold(table, cases.problem).threshold
    stakes = weighed(truth, scores[own], weights, cases.costs.only(own), cases.problem)
    return np.nan if stakes is None else best_threshold(*stakes).threshold
