"""Rule: everything that is needed to decide a new case as a system does."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._arithmetic import above
from stakes._check import FloatArray, IntArray, Label
from stakes._files import parsed, sealed, verify, write_whole
from stakes._value import Value, record
from stakes.calibration import CalibrationMap, decoded_map, encoded_map
from stakes.decide import (
    cheapest_decisions,
    class_ratios,
    costs_of_cases,
    expected_costs,
    mean_costs,
    shift_prior,
)
from stakes.errors import InputError
from stakes.limits import PricedLimits, keep_counts, plus, read_counts
from stakes.problem import CaseCosts, Problem
from stakes.rows import DECISIONS, POSTERIORS, SCORES, WRAPPERS, Decisions, Posteriors, Scores
from stakes.rule._cuts import Cuts, cuts_of
from stakes.rule._rule_parts import (
    as_ruled,
    in_kind,
    number_of,
    plain_number,
    refuse_unpriced,
    refuse_unusable,
)

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
