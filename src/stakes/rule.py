"""Rules that can be shipped: everything needed to decide a new case as a system does."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._arithmetic import above
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._files import parsed, sealed, verify, write_whole
from stakes._value import Value, record
from stakes.calibration import CalibrationMap, decoded_map, encoded_map
from stakes.decide import (
    cheapest_decisions,
    class_ratios,
    costs_of_cases,
    expected_costs,
    label_array,
    mean_costs,
    shift_prior,
)
from stakes.errors import InputError
from stakes.limits import PricedLimits, keep_counts, plus, read_counts
from stakes.problem import CaseCosts, Problem
from stakes.rows import (
    DECISIONS,
    POSTERIORS,
    SCORES,
    WRAPPERS,
    Decisions,
    Posteriors,
    Predicted,
    Scores,
)

__all__ = ["Origin", "Rule", "Rules", "cuts_of"]


# Decisions along the scores: the exact scores at which they change, and the same in SQL ----------

_BITS = np.int64(0x7FFFFFFFFFFFFFFF)
_HALVINGS = 6


@record
class Cuts(Value):
    """Decision k is taken up to and including ``at[k]``, the next one above it.

    Attributes
    ----------
    at : (C,) increasing scores
    decisions : (C + 1,) positions of the decisions
    low, high : the lowest and the highest score that is valid
    """

    at: FloatArray
    decisions: IntArray
    low: float
    high: float

    def __call__(self, scores: FloatArray) -> IntArray:
        """Positions of the decisions for scores (n,)."""
        return np.asarray(self.decisions[np.searchsorted(self.at, scores, side="left")])

    def to_sql(self, column: str, labels: Labels) -> str:
        """The decisions as an SQL expression; NULL for NULL, NaN and invalid scores."""
        name = '"' + column.replace('"', '""') + '"'
        _check.refuse_mixed(labels)
        texts = [_literal(labels[place]) for place in self.decisions]
        low = "" if self.low == -np.inf else f" WHEN {name} < {_number(self.low)} THEN NULL"
        stops = zip([*self.at.tolist(), self.high], texts, strict=True)
        parts = "".join(
            f" WHEN {test} THEN {text}" for stop, text in stops for test in _up_to(name, stop)
        )
        return f"CASE{low}{parts} END"


def cuts_of(decide: Callable[[FloatArray], IntArray], low: float, high: float) -> Cuts:
    """Where decisions change between two scores, by bisection over all floating-point numbers.

    The scores of each decision must form an interval, as they do where the posterior is monotone in
    the score. Then no other decision lies between two scores with the same decision.

    Parameters
    ----------
    decide : positions of the decisions for scores (n,)
    low, high : the lowest and the highest score that is valid

    Returns
    -------
    the cuts, each the highest score of its decision

    Examples
    --------
    >>> cuts = cuts_of(lambda scores: (scores > 0.25).astype(int), 0.0, 1.0)
    >>> cuts.at.tolist(), cuts.decisions.tolist()
    ([0.25], [0, 1])
    """
    bounds = _rank(np.array([low, high]))
    known = dict(zip(bounds.tolist(), decide(_score(bounds)).tolist(), strict=True))
    open_pairs = [(int(bounds[0]), int(bounds[1]))]
    borders: list[int] = []
    # Halves, not equal steps: beside a cut the decisions of several neighbours may alternate,
    # because their costs differ by rounding only; halves meet just one of these changes.
    while open_pairs:
        a, b = open_pairs.pop()
        if known[a] == known[b]:
            continue
        if b - a == 1:
            borders.append(a)
            continue
        if (a + b) // 2 not in known:
            middles = _middles(a, b, _HALVINGS)
            decided = decide(_score(np.array(middles, dtype=np.int64)))
            known.update(zip(middles, decided.tolist(), strict=True))
        open_pairs += [(a, (a + b) // 2), ((a + b) // 2, b)]
    borders.sort()
    places = [*(known[border] for border in borders), known[int(bounds[1])]]
    return Cuts._trusted(
        at=_score(np.array(borders, dtype=np.int64)),
        decisions=np.array(places, dtype=np.intp),
        low=low,
        high=high,
    )


def _middles(a: int, b: int, halvings: int) -> list[int]:
    """All places between two that so many halvings may meet: deciding them at once is cheaper."""
    if b - a == 1 or not halvings:
        return []
    middle = (a + b) // 2
    return [middle, *_middles(a, middle, halvings - 1), *_middles(middle, b, halvings - 1)]


def _rank(values: FloatArray) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Integers in the order of the floating-point numbers; neighbours differ by one."""
    bits = (values + 0.0).view(np.int64)  # adding zero turns −0.0 into 0.0, which is one number
    return np.where(bits >= 0, bits, -(bits & _BITS))


def _score(ranks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> FloatArray:
    """The floating-point numbers of these ranks."""
    return np.copysign(np.abs(ranks).view(np.float64), np.where(ranks < 0, -1.0, 1.0))


def _up_to(name: str, stop: float) -> tuple[str, ...]:
    """Tests of which one holds for numbers up to this one, and none for NaN.

    SQL has no literal for infinity that all databases share.
    """
    largest = _number(sys.float_info.max)
    if stop == np.inf:
        return f"{name} <= {largest}", f"1e0 / {name} = 0e0"
    return (f"{name} < -{largest}" if stop == -np.inf else f"{name} <= {_number(stop)}",)


def _number(value: float) -> str:
    """A literal of double precision; without an exponent, SQL would read a decimal number."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _literal(label: Label) -> str:
    if isinstance(label, str):
        return "'" + label.replace("'", "''") + "'"
    return str(label).upper() if isinstance(label, bool) else str(label)


# The parts of a rule: whether they fit together, what they take, and numbers in JSON -------------


def refuse_unusable(
    problem: Problem, takes: str, map: Any, threshold: float | None, priors: Any
) -> None:
    """Refuse parts that do not make up a rule."""
    _check.require("problem", problem, Problem)
    if threshold is not None:
        _check.one_number("threshold", threshold)
    shape, faults = (problem.n_classes, problem.n_decisions), []
    if takes == SCORES and shape[0] != 2:
        faults.append("scores are for two classes")
    if takes == SCORES and map is None and threshold is None:
        faults.append("scores need a map or a threshold")
    if takes == SCORES and map is not None and shape[0] == 2 and not _takes_scores(map):
        faults.append("its map takes probabilities, for which takes is 'posteriors'")
    if threshold is not None and (shape != (2, 2) or np.isnan(float(threshold))):
        faults.append("a threshold is a number between two decisions about two classes")
    steps = [step is not None for step in (map, threshold, priors)]
    if any(steps) and (takes == DECISIONS or (threshold is not None and sum(steps) > 1)):
        faults.append("a threshold allows neither map nor priors, and decisions none of the three")
    if faults:
        raise InputError(
            f"a rule must be able to decide; this one takes {takes}, and {faults[0]}. Remove what "
            f"is superfluous, or add what is missing.",
            argument="takes",
        )


def _takes_scores(map: Any) -> bool:
    try:
        map(Scores(np.array([-1.0, 2.0])))
    except InputError:
        return False
    return True


def refuse_unpriced(problem: Problem, added: FloatArray | None) -> None:
    """Refuse limits without prices, and prices without their limits."""
    limits, shape = problem.limits, (problem.n_classes, problem.n_decisions)
    if added is not None and added.shape != (len(limits), *shape):
        raise InputError(
            f"added must have shape ({len(limits)}, {shape[0]}, {shape[1]}), a table for each "
            f"limit of the problem; its shape is {added.shape}. Pass what price_limits found."
        )
    if limits and added is None:
        raise InputError(
            f"a rule must have prices for the limits of its problem; {str(limits[0])!r} has none. "
            f"Write Rule.keeping(price_limits(posteriors, problem)), take report.rule(), or pass "
            f"problem.with_limits(None) and keep counts with decide(batch, limits=[…]).",
            argument="problem",
        )


def plain_number(value: float | None) -> float | str | None:
    """A number as JSON can hold it: infinities become text."""
    return str(value) if value is not None and math.isinf(value) else value


def number_of(value: float | str | None) -> float | None:
    """The number that `plain_number` wrote."""
    return None if value is None else float(value)


def as_ruled(predictions: Any, takes: str) -> Predicted:
    """The predictions as the kind that a rule takes; other kinds are refused."""
    values = predictions.values if isinstance(predictions, Predicted) else predictions
    _check.refuse_lazy("predictions", values)
    if not isinstance(predictions, Predicted):
        if takes == POSTERIORS and not hasattr(values, "columns"):
            _refuse_labels(values)
        return WRAPPERS[takes](values)
    if not isinstance(predictions, WRAPPERS[takes]):
        raise InputError(
            f"predictions must be {takes}, which the rule takes; got "
            f"{type(predictions).__name__}. Pass what the model gave when it was evaluated."
        )
    return predictions


def _refuse_labels(predictions: object) -> None:
    """Refuse labels and whole numbers, which are what ``predict`` returns, not probabilities."""
    if _check.array("predictions", predictions).dtype.kind not in "fO":
        raise InputError(
            "predictions must be posteriors, which are numbers with a fraction; these are labels "
            "or whole numbers. Pass predict_proba, not predict, or wrap them in Posteriors."
        )


def in_kind(predictions: Any, places: IntArray, decisions: Labels) -> Any:
    """Decisions as a series of the library that the predictions came from, else as an array."""
    labels = label_array(decisions)[places]
    values = predictions.values if isinstance(predictions, Predicted) else predictions
    library = type(values).__module__.partition(".")[0]
    if library == "pandas":
        kind = type(values.iloc[:, 0]) if values.ndim == 2 else type(values)
        return kind(labels, index=values.index, name="decision")
    if library in ("polars", "pyarrow"):
        _check.refuse_mixed(decisions)
    if library == "polars":
        kind = type(values.to_series(0)) if hasattr(values, "columns") else type(values)
        return kind("decision", labels)
    return sys.modules["pyarrow"].array(labels) if library == "pyarrow" else labels


# Rule: everything that is needed to decide a new case as a system does ---------------------------

_FORMAT, _VERSION, _WHAT = "stakes.rule", 1, "a rule"
_WITH_PRICES = 2  # the version of rules with prices, which earlier releases would ignore
_LARGEST = np.finfo(np.float64).max


@record
class Origin(Value):
    """Where a rule was made: the release, the seed, the cases, and the columns that were read.

    `columns` is empty where the predictions came as arrays.

    Parameters
    ----------
    version : release of the library
    seed : seed of the report
    n_rows : number of rows that were read
    n_cases : total weight of the rows
    prior : class shares
    columns : names of the columns

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> origin = evaluate(y, p, Problem.zero_one(2), calibrator=None, seed=7).rule().origin
    >>> origin.seed, origin.n_rows, origin.prior
    (7, 100, (0.75, 0.25))
    """

    version: str
    seed: int
    n_rows: int
    n_cases: float
    prior: tuple[float, ...]
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check.require("version", self.version, str, "Pass the text of a release.")
        _check.require("columns", self.columns, tuple, "Pass a tuple of names.")
        for column in self.columns:
            _check.require("columns", column, str, "Pass a tuple of names.")
        _check.whole("seed", self.seed, low=-(2**63))
        _check.whole("n_rows", self.n_rows, low=0)
        _check.number("n_cases", self.n_cases, low=0)
        _check.probabilities("prior", self.prior, ndim=1)


@record(repr=False)
class Rule(Value):
    """Everything that is needed to decide a new case as a system of a report does.

    `Report.rule` makes one; `to_json` and `from_json` ship it.

    Parameters
    ----------
    problem : what is at stake
    takes : "posteriors", "scores" or "decisions": what the model gives
    map : a fitted calibration map, whose posteriors are decided on
    from_prior, to_prior : the priors between which posteriors are moved before a decision is taken
    threshold : the second of two decisions is taken for scores above it, whatever they cost
    system, model : their names in the report
    origin : where the rule was made
    added : (L, K, M) what the price of each limit of the problem adds to the costs
    caution : what was not shown of the system when the rule was made, such as that it pays

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"],
    ...                          decisions=["wait", "treat"])
    >>> rule = Rule(problem)
    >>> rule.decide([0.05, 0.2])
    array(['wait', 'treat'], dtype='<U5')
    >>> Rule.from_json(rule.to_json()) == rule
    True
    >>> print(Rule(problem, "scores", threshold=2.5).to_sql("s")[:35])
    CASE WHEN "s" <= 2.5e0 THEN 'wait'
    """

    problem: Problem
    takes: str = POSTERIORS
    map: CalibrationMap | None = None
    from_prior: FloatArray | None = None
    to_prior: FloatArray | None = None
    threshold: float | None = None
    system: str = "rule"
    model: str = "model"
    origin: Origin | None = None
    added: FloatArray | None = None
    caution: str | None = None

    def __post_init__(self) -> None:
        _check.require("takes", self.takes, str)
        if self.takes not in WRAPPERS:
            raise InputError(
                f"takes must be one of {', '.join(WRAPPERS)}; got {self.takes!r}. Say which."
            )
        if self.map is not None:
            _check.require("map", self.map, CalibrationMap)
            _check.same_labels("the classes of map", self.problem.classes, self.map.classes)
        if (self.from_prior is None) != (self.to_prior is None):
            raise InputError("from_prior and to_prior must come together; one is missing. Add it.")
        for name in ("from_prior", "to_prior"):
            if (prior := getattr(self, name)) is not None:
                self._fill({name: _check.prior(name, prior, self.problem.classes)})
        if self.added is not None:
            self._fill({"added": _check.squarable("added", self.added, ndim=3)})
        for name in ("system", "model"):
            _check.require(name, getattr(self, name), str, "Pass its name.")
        if self.caution is not None:
            _check.require("caution", self.caution, str, "Pass a text.")
        refuse_unusable(self.problem, self.takes, self.map, self.threshold, self.from_prior)
        if self.takes != DECISIONS and self.threshold is None:
            refuse_unpriced(self.problem, self.added)

    @classmethod
    def keeping(cls, priced: PricedLimits, **names: Any) -> Self:
        """The rule that keeps the limits which `price_limits` priced.

        Parameters
        ----------
        priced : the result of `price_limits`
        names : names of the system and the model

        Returns
        -------
        Rule

        Examples
        --------
        >>> from stakes import Limit, price_limits
        >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"],
        ...                          limits=[Limit.share("treat", at_most=0.25)])
        >>> rule = Rule.keeping(price_limits([0.02, 0.2, 0.4, 0.6], problem))
        >>> rule.decide([0.3, 0.55]).tolist()
        ['wait', 'treat']
        """
        _check.require("priced", priced, PricedLimits)
        moved = priced.from_prior is not None
        return cls(
            priced.problem,
            from_prior=priced.from_prior,
            to_prior=priced.prior if moved else None,
            added=priced.added,
            **names,
        )

    # Decisions -----------------------------------------------------------------------------------

    def decide(
        self,
        predictions: object,
        data: object = None,
        *,
        case_costs: object = None,
        limits: object = None,
        columns: str | Sequence[str] | None = None,
    ) -> Any:
        """Labels of the decisions, one per case.

        Parameters
        ----------
        predictions : what the rule takes: an array, a series, a frame with a column for each class,
            or one of `Posteriors`, `Scores` and `Decisions`. A series or frame of pandas, Polars or
            PyArrow is answered in kind.
        data : frame, or mapping from column to numbers, with the columns that the costs depend on
        case_costs : (n, K, M), every case's own costs in place of the problem's
        limits : list of `Limit.count` or `Limit.share` that this batch has to keep exactly
            They replace the problem's limits on the shares of the same decisions. Cases that are
            tied are taken in the order of the batch.
        columns : names of the prediction columns of a frame, which gets one more column,
            "decision". So does a lazy frame without being read, by default from the columns that
            the rule was made from. Rows without valid predictions get a missing decision.

        Returns
        -------
        labels of decisions, (n,); where columns are named and for lazy frames, the frame with one
            more column

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
        >>> Rule(problem).decide([0.05, 0.2]).tolist()
        ['wait', 'treat']
        """
        if _check.in_columns(predictions, columns, data=data, case_costs=case_costs, limits=limits):
            return self._column(predictions, columns)
        places = self.decision_indices(predictions, data, case_costs=case_costs, limits=limits)
        return in_kind(predictions, places, self.problem.decisions)

    def _column(self, frame: object, columns: str | Sequence[str] | None) -> Any:
        from stakes.adapters.lazy_decisions import rule_column

        return rule_column(frame, self, columns)

    def decision_indices(
        self,
        predictions: object,
        data: object = None,
        *,
        case_costs: object = None,
        limits: object = None,
    ) -> IntArray:
        """Positions of the decisions, one per case.

        Parameters
        ----------
        predictions : posteriors or scores of the new cases
        data : columns that the costs name
        case_costs : costs of every case, (n, K, M)
        limits : counts to keep in this batch

        Returns
        -------
        positions of decisions, (n,)

        Examples
        --------
        >>> Rule(Problem.binary(false_alarm=1, miss=9)).decision_indices([0.05, 0.2]).tolist()
        [0, 1]
        """
        if limits is not None:
            return self._counted(predictions, data, case_costs, limits)
        wrapped_predictions = as_ruled(predictions, self.takes)
        _check.aligned(predictions=wrapped_predictions, data=data)
        if isinstance(wrapped_predictions, Decisions):
            decisions, classes = self.problem.decisions, self.problem.classes
            return wrapped_predictions.read("predictions", decisions, classes)
        rows, rounding = self._read(wrapped_predictions)
        if self.threshold is not None:
            return self._above(rows if rows.ndim == 1 else rows[:, 1])
        is_line = rows.ndim == 1 or self.map is not None
        is_line = is_line or (np.ndim(wrapped_predictions.values) == 1 and rounding is None)
        if is_line and case_costs is None and self.cuts is not None:
            return self.cuts(rows if rows.ndim == 1 else rows[:, 1])  # so that SQL says the same
        costs = costs_of_cases(rows, self.problem, data, case_costs)
        return self._cheapest(rows, self._priced(costs), rounding)

    def _counted(
        self, predictions: object, data: object, case_costs: object, limits: object
    ) -> IntArray:
        """Positions of the decisions that keep the counts of this batch."""
        rows = self._read_posteriors(predictions, data)
        bounds = read_counts(limits, self.problem.decisions, len(rows))
        counted = {self.problem.decisions[place] for place in bounds}
        costs = self._priced(costs_of_cases(rows, self.problem, data, case_costs), counted)
        return keep_counts(mean_costs(rows, costs), cheapest_decisions(rows, costs), bounds)

    def _priced(
        self, costs: FloatArray | CaseCosts, without: Collection[Label] = ()
    ) -> FloatArray | CaseCosts:
        """Costs with the prices of limits, except those on the shares of some decisions."""
        if self.added is None:
            return costs
        applies = [
            limit.given is not None or limit.decision not in without
            for limit in self.problem.limits
        ]
        return plus(costs, self.added[applies].sum(axis=0))

    def expected_costs(
        self, predictions: object, data: object = None, *, case_costs: object = None
    ) -> FloatArray:
        """Expected cost of each decision, (n, M), by the posteriors of the rule.

        Parameters
        ----------
        predictions : posteriors or scores of the new cases
        data : columns that the costs name
        case_costs : costs of every case, (n, K, M)

        Returns
        -------
        expected costs, (n, M)

        Examples
        --------
        >>> Rule(Problem.binary(false_alarm=1, miss=9)).expected_costs([0.05]).round(3).tolist()
        [[0.45, 0.95]]
        """
        rows = self._read_posteriors(predictions, data)
        return expected_costs(rows, self.problem, data=data, case_costs=case_costs)

    def posteriors(self, predictions: object) -> FloatArray:
        """Posteriors (n, K) on which decisions are based, in the order of the problem's classes.

        Parameters
        ----------
        predictions : posteriors or scores of the new cases

        Returns
        -------
        posteriors, (n, K)

        Examples
        --------
        >>> Rule(Problem.binary(false_alarm=1, miss=9)).posteriors([0.05]).tolist()
        [[0.95, 0.05]]
        """
        return self._read_posteriors(predictions)

    @property
    def has_posteriors(self) -> bool:
        """Whether the rule uses posteriors, and not raw scores or decisions."""
        return self.takes == POSTERIORS or self.map is not None

    def _read_posteriors(self, predictions: object, data: object = None) -> FloatArray:
        """Posteriors (n, K) on which decisions are based, of rules that have them."""
        wrapped_predictions = as_ruled(predictions, self.takes)
        if isinstance(wrapped_predictions, Decisions) or not self.has_posteriors:
            raise InputError(
                f"probabilities and expected costs need posteriors, and the rule of {self.system} "
                f"has none: it takes {self.takes}. Take the rule of a system that is recalibrated.",
                argument="predictions",
            )
        _check.aligned(predictions=wrapped_predictions, data=data)
        return self._posteriors(self._read(wrapped_predictions)[0])

    def _read(
        self, wrapped_predictions: Posteriors | Scores
    ) -> tuple[FloatArray, FloatArray | None]:
        """Raw scores (n,) or posteriors (n, K), and bounds on the rounding errors of the latter."""
        if isinstance(wrapped_predictions, Scores):
            return wrapped_predictions.read("predictions"), None
        rows, _ = wrapped_predictions.normalised("predictions", self.problem.classes)
        return rows, wrapped_predictions.rounding("predictions", self.problem.classes)

    @cached_property
    def cuts(self) -> Cuts | None:
        """The exact scores at which decisions change; None where no single score decides.

        They exist for two classes if the posterior is monotone in the score.
        """
        if self._off_line() is not None:
            return None
        domain = (0.0, 1.0) if self.takes == POSTERIORS else (-np.inf, np.inf)
        return cuts_of(self._of_scores if self.threshold is None else self._above, *domain)

    def to_sql(self, column: str) -> str:
        """The decision as an SQL expression of the column of scores, or of P(second class).

        It decides every number of double precision as `decide` does. It is NULL where the column is
        NULL or NaN, or where a rule that takes probabilities gets another number: `decide` refuses
        these.

        Parameters
        ----------
        column : name of the column

        Returns
        -------
        the expression

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=3, decisions=["wait", "treat"])
        >>> print(Rule(problem, "scores", threshold=2.5).to_sql("score"))
        CASE WHEN "score" <= 2.5e0 THEN 'wait' WHEN "score" <= 1.7976931348623157e+308 THEN 'treat'
        WHEN 1e0 / "score" = 0e0 THEN 'treat' END
        """
        _check.require("column", column, str, "Name the column of the scores.")
        if self.cuts is None:
            raise InputError(
                f"SQL needs scores on a line: two classes, costs that all cases share, and a map "
                f"that rises or falls with the score; the rule of {self.system} "
                f"{self._off_line()}. Use decide, or the command stakes decide for files.",
                argument="column",
            )
        return self.cuts.to_sql(column, self.problem.decisions)

    def _off_line(self) -> str | None:
        """Why a single score does not determine the decision; None if it does."""
        if self.takes == DECISIONS:
            return "takes decisions"
        if self.problem.n_classes != 2:
            return f"has {self.problem.n_classes} class{'es' * (self.problem.n_classes > 1)}"
        if self.map is not None and not self.map.monotone:
            return f"has a map of the kind {self.map.kind}"
        if self.threshold is None and self.problem.columns:
            return "charges every case its own costs"
        return None

    def _above(self, scores: FloatArray) -> IntArray:
        return above(scores, self.threshold or 0.0).astype(np.intp)

    def _of_scores(self, scores: FloatArray) -> IntArray:
        rows = scores if self.takes == SCORES else np.column_stack([1 - scores, scores])
        return self._cheapest(rows, self._priced(self.problem.costs), None)

    def _cheapest(
        self, rows: FloatArray, costs: FloatArray | CaseCosts, rounding: FloatArray | None
    ) -> IntArray:
        """The cheapest decisions for posteriors (n, K), or for raw scores (n,)."""
        if self.map is not None:
            return cheapest_decisions(self._mapped(rows), costs, None, self._ratios)
        return cheapest_decisions(rows, costs, rounding, self._ratios)

    @property
    def _ratios(self) -> FloatArray | None:
        """Ratios of the two priors; they weight the classes without moving the posteriors.

        Moved posteriors would lose digits.
        """
        if self.from_prior is None or self.to_prior is None:
            return None
        return class_ratios(self.from_prior, self.to_prior)

    def _posteriors(self, rows: FloatArray) -> FloatArray:
        """Posteriors (n, K) on which decisions are based."""
        mapped = rows if self.map is None else self._mapped(rows)
        if self.from_prior is None:
            return mapped
        return shift_prior(mapped, self.from_prior, self.to_prior)

    def _mapped(self, rows: FloatArray) -> FloatArray:
        """Posteriors (n, K) that the map makes of posteriors, or of raw scores (n,)."""
        assert self.map is not None
        size = self.problem.n_classes
        taken: FloatArray | Scores = rows
        if rows.ndim == 1:
            taken = Scores(np.clip(rows, -_LARGEST, _LARGEST))  # linear maps need finite scores
        elif size == 2:
            taken = rows[:, 1]
        return _check.posteriors("recalibrated", self.map(taken), size)

    # Shipping ------------------------------------------------------------------------------------

    def with_columns(self, columns: tuple[str, ...]) -> Self:
        """The same rule with the columns from which its predictions were read.

        Parameters
        ----------
        columns : names of the columns

        Returns
        -------
        the rule

        Examples
        --------
        >>> origin = Origin("0.2", seed=0, n_rows=9, n_cases=9.0, prior=(0.5, 0.5))
        >>> rule = Rule(Problem.binary(false_alarm=1, miss=9), origin=origin)
        >>> rule.with_columns(("p_forest",)).origin.columns
        ('p_forest',)
        """
        if self.origin is None:
            return self
        return replace(self, origin=replace(self.origin, columns=columns))

    def to_json(self, path: str | Path | None = None) -> str:
        """The rule as JSON with a checksum; with a path, also written to a file.

        Parameters
        ----------
        path : file to write; None writes none

        Returns
        -------
        the JSON

        Examples
        --------
        >>> rule = Rule(Problem.binary(false_alarm=1, miss=9))
        >>> Rule.from_json(rule.to_json()) == rule
        True
        """
        version = _VERSION if self.added is None else _WITH_PRICES
        text = sealed({"format": _FORMAT, "version": version, **self.plain()})
        if path is not None:
            write_whole(path, text)
        return text

    def plain(self) -> dict[str, Any]:
        """The rule as dicts, lists, text, numbers and None.

        Returns
        -------
        a dict that JSON can represent

        Examples
        --------
        >>> body = Rule(Problem.binary(false_alarm=1, miss=9), "scores", threshold=2.5).plain()
        >>> body["takes"], body["threshold"]
        ('scores', 2.5)
        """
        priors = {
            name: None if (prior := getattr(self, name)) is None else prior.tolist()
            for name in ("from_prior", "to_prior")
        }
        return {
            "system": self.system,
            "model": self.model,
            "takes": self.takes,
            "problem": self.problem.plain(),
            "map": None if self.map is None else encoded_map(self.map),
            **priors,
            "threshold": plain_number(self.threshold),
            "origin": None if self.origin is None else dict(vars(self.origin)),
            **({} if self.added is None else {"added": self.added.tolist()}),
            **({} if self.caution is None else {"caution": self.caution}),
        }

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """The rule that `to_json` wrote, from its text or from a file.

        JSON that was changed or truncated, or that a later release wrote, is refused.

        Parameters
        ----------
        source : the JSON, or the path of a file that has it

        Returns
        -------
        the rule

        Examples
        --------
        >>> rule = Rule(Problem.binary(false_alarm=1, miss=9))
        >>> Rule.from_json(rule.to_json()).takes
        'posteriors'
        """
        body = parsed(
            "source", source, _WHAT, form=_FORMAT, version=_WITH_PRICES, older=(_VERSION,)
        )
        verify("source", body, _WHAT)
        try:
            return cls.of(body)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            fault = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"source must be a whole rule as to_json wrote it; it is not: {fault.rstrip('.')}. "
            f"Make it again."
        )

    @classmethod
    def of(cls, body: dict[str, Any]) -> Self:
        """The rule from what `plain` returned.

        Parameters
        ----------
        body : what `plain` returned

        Returns
        -------
        the rule

        Examples
        --------
        >>> rule = Rule(Problem.binary(false_alarm=1, miss=9), "scores", threshold=2.5)
        >>> Rule.of(rule.plain()) == rule
        True
        """
        origin = body["origin"]
        lists = ("prior", "columns")
        if origin is not None:
            origin = Origin(**{**origin, **{name: tuple(origin[name]) for name in lists}})
        return cls(
            problem=Problem.of(body["problem"]),
            takes=body["takes"],
            map=None if body["map"] is None else decoded_map(body["map"]),
            from_prior=body["from_prior"],
            to_prior=body["to_prior"],
            threshold=number_of(body["threshold"]),
            system=body["system"],
            model=body["model"],
            origin=origin,
            added=body.get("added"),
            caution=body.get("caution"),
        )

    # Words ---------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        priced = "" if self.added is None else ", with prices for limits"
        caution = "" if self.caution is None else f" ({self.caution})"
        return f"Rule of {self.system}{caution}: {self._by()}{priced}{self._where()}"

    def _by(self) -> str:
        if self.takes == DECISIONS:
            return "decisions as they are"
        if self.threshold is not None:
            return f"a threshold on {self.takes}"
        steps = [self.takes]
        if self.map is not None:
            steps.append(f"recalibrated by a map of the kind {self.map.kind}")
        if self.from_prior is not None:
            steps.append("moved to another prior")
        return ", ".join(steps)

    def _where(self) -> str:
        if self.cuts is None:
            names, columns = [*map(str, self.problem.decisions)], ", ".join(self.problem.columns)
            decisions = ", ".join(names) if len(names) < 10 else f"{len(names)} decisions"
            return f"; {decisions}{f', by costs of each case from {columns}' if columns else ''}"
        names = [str(self.problem.decisions[place]) for place in self.cuts.decisions]
        pairs = zip(names[:-1], self.cuts.at.tolist(), strict=True)
        low = [f"{name} up to {cut:.4g}" for name, cut in pairs]
        return f"; {', '.join([*low, f'{names[-1]} above' if low else f'always {names[-1]}'])}"


# The rules of a report; those that need a fit are made when they are first used ------------------


class Rules(Mapping[str, Rule]):
    """Rules by the name of their system.

    The calibration map of a rule is fitted on all cases. Because that takes time, the rule is made
    when it is first used; until then the scores of its model stay in memory. A report of two
    classes uses it at once, for the cuts that it shows, unless cases have costs of their own.
    Comparing, copying or writing the rules makes all of them.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
    >>> y, models = [0, 0, 0, 1] * 25, {"net": [0.02, 0.05, 0.3, 0.6] * 25}
    >>> rules = evaluate(y, models, problem, calibrator=None).rules
    >>> list(rules), rules["net (as is)"].decide([0.05, 0.2]).tolist()
    (['net (as is)', 'net (tuned)'], ['wait', 'treat'])
    """

    def __init__(self, rules: Mapping[str, Rule | Callable[[], Rule]]) -> None:
        self._rules = dict(rules)

    def __getitem__(self, name: str) -> Rule:
        rule = self._rules[name]
        if not isinstance(rule, Rule):
            rule = self._rules[name] = rule()
        return rule

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    def fitted(self) -> dict[str, Rule]:
        """All rules that can be fitted; a map may be impossible to fit to all cases.

        Returns
        -------
        rules by the name of their system

        Examples
        --------
        >>> from stakes import Problem
        >>> rules = Rules({"forest (as is)": lambda: Rule(Problem.zero_one(2))})
        >>> rules.fitted()["forest (as is)"].decide([0.2, 0.7])
        array([0, 1])
        """
        rules = {name: self.if_fitted(name) for name in self}
        return {name: rule for name, rule in rules.items() if rule is not None}

    def if_fitted(self, name: str) -> Rule | None:
        """The rule of a system, or None where its map is impossible to fit to all cases.

        Parameters
        ----------
        name : the name of the system

        Returns
        -------
        the rule

        Examples
        --------
        >>> from stakes import Problem
        >>> rules = Rules({"forest (as is)": lambda: Rule(Problem.zero_one(2))})
        >>> rules.if_fitted("forest (as is)").decide([0.2, 0.7])
        array([0, 1])
        """
        try:
            return self[name]
        except InputError:
            return None

    def with_columns(self, columns: Mapping[str, tuple[str, ...]]) -> Rules:
        """The same rules, each with the columns from which its model was read, if known.

        Parameters
        ----------
        columns : names of columns, by model

        Returns
        -------
        the rules

        Examples
        --------
        >>> from stakes import Problem
        >>> from stakes.rule import Origin
        >>> origin = Origin("0.2", seed=0, n_rows=9, n_cases=9.0, prior=(0.5, 0.5))
        >>> rules = Rules({"rf (as is)": Rule(Problem.zero_one(2), model="rf", origin=origin)})
        >>> rules.with_columns({"rf": ("p_rf",)})["rf (as is)"].origin.columns
        ('p_rf',)
        """

        def later(rule: Rule | Callable[[], Rule]) -> Rule | Callable[[], Rule]:
            if isinstance(rule, Rule):
                return rule.with_columns(columns.get(rule.model, ()))
            return lambda: (fitted := rule()).with_columns(columns.get(fitted.model, ()))

        return Rules({name: later(rule) for name, rule in self._rules.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Rules) and self.fitted() == other.fitted()

    def __hash__(self) -> int:
        return hash(Rules)  # a hash of the content would have to fit all maps

    def __reduce__(self) -> tuple[type[Rules], tuple[dict[str, Rule]]]:
        return Rules, (self.fitted(),)  # fitted rules, so that a pickle holds no rows
