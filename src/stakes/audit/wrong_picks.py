"""How likely a metric is to pick the wrong one of your models, given what you do not know.

Two things are unknown: the costs, for which there is a list or a sampler of plausible problems, and
the true tables of the models, for which there are replicates. A metric picks a model on the
observed tables; the pick is judged by each plausible pair of costs and tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from stakes import _check
from stakes._arithmetic import mean_defined, ratio
from stakes._check import BoolArray, FloatArray, Labels
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
from stakes.audit.misranking import ErrorSampler, read_errors
from stakes.errors import InputError
from stakes.measures import decision_rates
from stakes.problem import Problem
from stakes.tally import Counts

#: ``(rng, n)`` → n plausible problems.
ProblemSampler = Callable[["np.random.Generator", int], Sequence[Problem]]


@record(repr=False)
class WrongPicks(Value):
    """How often each criterion is wrong over plausible costs and tables, and what that costs.

    Attributes
    ----------
    criteria : Q names: the metrics, the cost matrices with errors, then "expected costs", which is
        the right criterion when the costs are uncertain
    models : J names
    picks : (Q, J) how often each criterion picks each model on the observed tables; ties are split
    wrong, wrong_errors : (Q,) probability that the pick is not the best model, and its Monte Carlo
        standard error
    wrong_if_known : (Q,) the same if each criterion saw the true tables, and not those of a small
        test set
    regret, regret_errors : (Q,) mean cost per case of the picks above the best model, and its Monte
        Carlo standard error
    draws : number of plausible pairs of costs and tables
    undefined : how many more were left out, because the cost of a model was undefined

    Examples
    --------
    In 100 cases A costs 20 + 5 × 20, B costs 40 + 20; accuracy picks A:

    >>> from stakes.audit import FAMILIAR
    >>> models = {"A": Counts([[70, 20], [5, 5]]), "B": Counts([[50, 40], [1, 9]])}
    >>> truths = {name: Counts(table.values[None]) for name, table in models.items()}
    >>> study = wrong_picks(
    ...     models, truths, [Problem.binary(false_alarm=1, miss=20)], errors={},
    ...     metrics={"accuracy": FAMILIAR["accuracy"]}, rng=np.random.default_rng(0))
    >>> study.criteria, study.wrong, study.regret.round(6)
    (('accuracy', 'expected costs'), array([1., 0.]), array([0.6, 0. ]))
    """

    criteria: tuple[str, ...]
    models: Labels
    picks: FloatArray
    wrong: FloatArray
    wrong_errors: FloatArray
    wrong_if_known: FloatArray
    regret: FloatArray
    regret_errors: FloatArray
    draws: int
    undefined: int
    unit: str | None

    def columns(self) -> dict[str, list[object]]:
        """What the table shows, by column.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> shares, errors = np.array([0.3, 0.1]), np.array([0.02, 0.01])
        >>> picks = WrongPicks(
        ...     criteria=("F1", "expected costs"), models=("A", "B"), picks=np.eye(2), wrong=shares,
        ...     wrong_errors=errors, wrong_if_known=shares, regret=shares, regret_errors=errors,
        ...     draws=1000, undefined=0, unit="EUR")
        >>> sorted(picks.columns())
        ['costs more', 'criterion', 'standard error', 'wrong', 'wrong if tables were known']
        """
        return {
            "criterion": list(self.criteria),
            "wrong": self.wrong.tolist(),
            "standard error": self.wrong_errors.tolist(),
            "wrong if tables were known": self.wrong_if_known.tolist(),
            "costs more": self.regret.tolist(),
        }

    def _table(self) -> tuple[list[object], list[list[object]], str]:
        columns = self.columns()
        rows: list[list[object]] = [
            [name, f"{wrong:.1%}", f"{error:.1%}", f"{known:.1%}", f"{cost:.4g}"]
            for name, wrong, error, known, cost in zip(*columns.values(), strict=True)
        ]
        unit = f", costs in {self.unit}" if self.unit else ""
        return ["", *list(columns)[1:]], rows, f"WrongPicks over {self.draws} worlds{unit}"

    def __repr__(self) -> str:
        return text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table())


@record
class _Costs:
    """Costs (R, K, M) and priors (R, K) of plausible problems; nan stands for class shares."""

    costs: FloatArray
    priors: FloatArray

    def of(self, tables: Counts) -> FloatArray:
        """Expected costs (R, J) of tables (R or 1, J, K, M)."""
        stated = self.priors[:, None]
        # A class of prior zero may have no cases, and 0 times nan would be nan.
        prior = np.where(np.isnan(stated), tables.shares, stated)
        rates = np.where(prior[..., None] > 0, decision_rates(tables), 0.0)
        return np.asarray(np.einsum("rjk,rjkm,rkm->rj", prior, rates, self.costs))

    def mean_of(self, tables: Counts) -> FloatArray:
        """Costs of tables (…, J, K, M), averaged over all problems, (…, J)."""
        # Expected costs are linear in prior times cost, so that the mean over problems is that of
        # one mean matrix: stated priors are part of it, others are the shares of the tables.
        floating = np.isnan(self.priors)
        stated = np.where(floating, 0.0, self.priors)[..., None]
        fixed = np.mean(stated * self.costs, axis=0)
        by_share = np.mean(np.where(floating[..., None], self.costs, 0.0), axis=0)
        weight = fixed + tables.shares[..., None] * by_share
        rates = np.where(weight != 0, decision_rates(tables), 0.0)
        return np.asarray(np.sum(weight * rates, axis=(-2, -1)))

    def assessed(self, error: ErrorSampler, rng: np.random.Generator) -> _Costs:
        """The costs as somebody assessed them, with errors relative to their span."""
        # The error samplers of the paper are defined for utilities in [0, 1]; costs are scaled to
        # it and back, so that an error of 10 % means 10 % of the span of the costs.
        top = self.costs.max(axis=(1, 2), keepdims=True)
        span = top - self.costs.min(axis=(1, 2), keepdims=True)
        scaled = np.divide(top - self.costs, span, out=np.zeros_like(self.costs), where=span > 0)
        assessed = _check.returned("errors", error(rng, scaled), "AssessmentError(sd) does.")
        if assessed.shape != scaled.shape:
            raise InputError(
                f"errors must keep the shape of the utilities, {scaled.shape}; one gave "
                f"{assessed.shape}. AssessmentError(sd) does."
            )
        return _Costs(top - span * assessed, self.priors)


def wrong_picks(
    models: ModelTables,
    truths: ModelTables,
    problems: Sequence[Problem] | ProblemSampler,
    *,
    metrics: Mapping[str, Metric],
    errors: Mapping[str, ErrorSampler],
    rng: np.random.Generator,
    weights: object = None,
) -> WrongPicks:
    """Probability that each metric, or a cost matrix with errors, picks the wrong model.

    In each draw, one of the replicates in `truths` is true and one of the problems is the right
    one; the best model has the least expected cost there. Metrics, and the costs with errors, pick
    a model on the observed tables. Where a criterion ties several models, it is wrong by the share
    of them that are not the best.

    Parameters
    ----------
    models : observed tables, by name, joint, or along the first axis
    truths : plausible true tables of the same models, with one leading axis of replicates: Counts
        (R, K, M) by name, or JointCounts with weights (R, T), which keeps models paired
    problems : plausible problems, or ``(rng, n)`` → n of them
    metrics : name → metric
    errors : name → error in the costs, such as {"10 % error": AssessmentError(0.1)}
    rng : the generator that draws
    weights : of the problems in a list; equal when None

    Returns
    -------
    probabilities, metric by metric

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, AssessmentError
    >>> rng = np.random.default_rng(3)
    >>> observed = {"A": Counts([[35, 15], [23, 27]]), "B": Counts([[32, 18], [7, 43]])}
    >>> truths = {name: Counts(rng.multinomial(100, table.values.ravel() / 100, 2000)
    ...     .reshape(-1, 2, 2)) for name, table in observed.items()}
    >>> plausible = [Problem.from_utilities([[165, -335], [-35, gain]]) for gain in (0, 15, 30)]
    >>> fate = wrong_picks(observed, truths, plausible, metrics={"F1": FAMILIAR["F1"]},
    ...     errors={"20 % error": AssessmentError(0.2)}, rng=rng)
    >>> fate.criteria
    ('F1', '20 % error', 'expected costs')
    >>> fate.wrong.round(1)
    array([0.6, 0.5, 0.4])
    """
    _check.mapping_of("metrics", metrics, Metric)
    names = tuple(map(str, metrics))
    read_errors("errors", errors)
    criteria = (*names, *map(str, errors), "expected costs")
    _check.labels("the names of metrics and errors", criteria)
    labels, observed = read_model_tables(models)
    with _check.renamed(models="truths"):
        true_labels, true = read_model_tables(truths)
    _check.same_labels("the names of truths", labels, true_labels)
    if observed.values.ndim != 3 or true.values.ndim != 4:
        raise InputError(
            f"models must have one table each, and truths one leading axis of replicates; the "
            f"tables have leading axes {observed.values.shape[:-3]} and {true.values.shape[:-3]}. "
            f"Pass replicates as Counts of shape (R, K, M)."
        )
    draws = len(true.values)
    plausible, unit = _draw_problems(problems, draws, weights, rng, observed)
    truth = plausible.of(true)
    single = observed[None]
    table, many = by_position(single), by_position(true)
    seen = [picked(some) for some in of_each(metrics, lambda metric: metric.goodness(table))]
    known = [picked(some) for some in of_each(metrics, lambda metric: metric.goodness(many))]
    for error in errors.values():
        assessed = plausible.assessed(error, rng)
        seen.append(picked(-assessed.of(single)))
        known.append(picked(-assessed.of(true)))
    seen.append(picked(-plausible.mean_of(single)))
    known.append(picked(-plausible.mean_of(true)))
    return _fate(criteria, labels, truth, seen, known, unit)


def _draw_problems(
    problems: Sequence[Problem] | ProblemSampler,
    draws: int,
    weights: object,
    rng: np.random.Generator,
    observed: Counts,
) -> tuple[_Costs, str | None]:
    """One plausible problem for every draw."""
    _check.generator(rng)
    several = problems(rng, draws) if callable(problems) else problems
    listed = list(several) if isinstance(several, list | tuple) else []
    if not listed or not all(isinstance(problem, Problem) for problem in listed):
        raise InputError(
            "problems must be a list of at least one Problem; it is not. Write [first, second]."
        )
    for problem in listed:
        if problem.costs.shape != observed.values.shape[-2:]:
            raise InputError(
                f"problems must fit the tables; one has costs {problem.costs.shape}, the tables "
                f"are {observed.values.shape[-2:]}. Rows are classes, columns are decisions."
            )
        _check.same_names("tables and problems", observed, problem)
    if callable(problems) and (len(listed) != draws or weights is not None):
        raise InputError(
            f"problems, when it is a sampler, must draw one problem for each of {draws} "
            f"replicates, all of equal weight; it drew {len(listed)}. Weights are for a list of "
            f"problems."
        )
    shares = _check.weights("weights", weights, len(listed), of="problems")
    chosen = (
        np.arange(draws)
        if callable(problems)
        else rng.choice(len(listed), size=draws, p=shares / shares.sum())
    )
    empty = np.full(observed.n_classes, np.nan)
    priors = np.array([empty if problem.prior is None else problem.prior for problem in listed])
    units = {problem.unit for problem in listed}
    costs = np.array([problem.costs for problem in listed])
    return _Costs(costs[chosen], priors[chosen]), units.pop() if len(units) == 1 else None


def _fate(
    criteria: tuple[str, ...],
    labels: Labels,
    truth: FloatArray,
    seen: list[BoolArray],
    known: list[BoolArray],
    unit: str | None,
) -> WrongPicks:
    """Judge the picks (R or 1, J) of each criterion by the true costs (R, J)."""
    defined = ~np.isnan(truth).any(axis=-1)
    if not defined.any():
        raise InputError(
            f"truths must hold a replicate in which every model has a cost; none of {defined.size} "
            f"does. Resample within classes where a prior is stated."
        )
    truth = truth[defined]
    best, excess = picked(-truth), truth - truth.min(axis=-1, keepdims=True)
    shares = np.array([np.broadcast_to(_shares(p), (defined.size, len(labels))) for p in seen])
    shares = shares[:, defined]
    wrong, regret = np.sum(shares * ~best, axis=-1), np.sum(shares * excess, axis=-1)
    known_shares = np.array([_shares(p)[defined] for p in known])
    return WrongPicks._trusted(
        criteria=criteria,
        models=labels,
        picks=shares.mean(axis=1),
        wrong=wrong.mean(axis=1),
        wrong_errors=wrong.std(axis=1) / np.sqrt(len(truth)),
        wrong_if_known=mean_defined(np.sum(known_shares * ~best, axis=-1).T),
        regret=regret.mean(axis=1),
        regret_errors=regret.std(axis=1) / np.sqrt(len(truth)),
        draws=len(truth),
        undefined=int(np.count_nonzero(~defined)),
        unit=unit,
    )


def _shares(picks: BoolArray) -> FloatArray:
    """Each pick's share among those that tie; nan where nothing could be picked."""
    return ratio(picks, picks.sum(axis=-1, keepdims=True))
