"""`evaluate`, which takes rows and returns a report, if they fit into memory."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property, partial
from math import nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._check import ClusterLabels, FloatArray, Groups, IntArray
from stakes._text import always, in_unit, measured, number, percent
from stakes._value import record
from stakes.calibration import Calibrator, Select
from stakes.decide import cheapest_decisions
from stakes.errors import InputError
from stakes.evaluation.build_report import ReportOptions, report_of
from stakes.evaluation.cases import (
    Cases,
    costs_as_columns,
    frame_library,
    read_cases,
    read_models,
    refuse_misaligned,
    refuse_needless,
)
from stakes.evaluation.evidence import Evidence, costs_of, out_of_fold, with_fold_costs
from stakes.evaluation.moved_limits import MovedLimits
from stakes.evaluation.predictions import (
    Folds,
    Predictions,
    folds_of_key,
    hashed_columns,
    read_predictions,
    with_fit,
)
from stakes.evaluation.remade_decisions import remake_of
from stakes.evaluation.tally_rows import evidence_of
from stakes.inference import Measured, SampledCosts
from stakes.problem import Problem
from stakes.report import BAYES, Caveat, Report
from stakes.rows import DECISIONS, Decisions, Predicted

# -------------------------------------------------------------------------------------------------
# Columns that nobody used and whose values repeat: rows of one value may not be independent.

_FEWEST_VALUES = 100  # of a column whose rows may be clusters
_LARGEST = 0.02  # share of the rows that one value may have
_BINS = 20  # of a number, whose means are no matter of clusters
_EFFECT = 1.5  # variance of the saving, over that of independent rows, from which a caveat is due
_MOST_NAMED = 3  # other columns that the caveat lists
_SURE = 4.0  # standard errors of that by chance


class RepeatedColumn(NamedTuple):
    """A column of the sample that nobody used.

    Examples
    --------
    >>> RepeatedColumn(np.array([0, 1, 0]), None).values is None
    True
    """

    codes: IntArray  # (n,) of its values; −1 where there is none
    values: FloatArray | None  # (n,) of numbers


def design_effect(off: FloatArray, column: RepeatedColumn) -> tuple[float, float]:
    r"""Variance of a mean where rows of one value belong together, over that of independent rows.

    .. math:: \sum_c \Big(\sum_{i \in c} e_i\Big)^2 \Big/ \sum_i e_i^2

    Of a number, the means of twenty quantile bins are taken out first: that the saving depends on
    it does not make rows of one value alike. The second number is the standard error of the effect
    where values say nothing. Both are nan for columns that are no clusters: of fewer than a hundred
    values, with one in more than 2 % of the rows, or where none repeats.

    Parameters
    ----------
    off : what each row adds to the error of the mean, (n,)
    column : its values

    Returns
    -------
    the effect, and its standard error by chance

    Examples
    --------
    Two hundred customers, of ten rows that are copies of each other:

    >>> customers = np.arange(2000) % 200
    >>> off = np.where(customers % 2, 1.0, -1.0)
    >>> design_effect(off, RepeatedColumn(customers, None))[0]
    10.0
    """
    known = column.codes >= 0
    codes, n_rows = column.codes[known], column.codes.size
    sizes = np.bincount(codes).astype(np.float64)
    pairs = float(sizes @ (sizes - 1))
    if np.count_nonzero(sizes) < _FEWEST_VALUES or sizes.max() > _LARGEST * n_rows or not pairs:
        return nan, nan
    if column.values is not None:
        edges = np.unique(np.quantile(column.values[known], np.arange(1, _BINS) / _BINS))
        bins = np.searchsorted(edges, np.where(known, column.values, edges[0]), side="right")
        off = off - (np.bincount(bins, off) / np.maximum(np.bincount(bins), 1))[bins]
    total = float(off @ off)
    if not total > 0:
        return nan, nan
    within = np.bincount(codes, off[known])
    alone = off[~known]
    return float(within @ within + alone @ alone) / total, sqrt(2 * pairs) / n_rows


def repeats_caveat(
    report: Report,
    cases: Cases,
    decide: Callable[[str], IntArray],
    columns: Mapping[str, RepeatedColumn],
    growth: Callable[[str], float],
) -> Caveat | None:
    """A caveat where rows that share a value of an unused column are clearly alike.

    Parameters
    ----------
    report : the report of all rows
    cases : some of the rows, or all
    decide : what a system decides about them, (n,), by its name
    columns : columns of these rows that nobody used, by name
    growth : of a column, how many pairs of rows share a value among all rows, for each row, over
        the same among these

    Returns
    -------
    the caveat about the column of the largest design effect; None where there is none

    Examples
    --------
    Two hundred customers with ten rows each, which all have the class of their customer:

    >>> from stakes import Problem, evaluate
    >>> from stakes.evaluation import read_cases
    >>> problem, customers = Problem.binary(false_alarm=1, miss=3), np.arange(2000) % 200
    >>> truth = (customers % 3 == 0).astype(int)
    >>> report = evaluate(truth, np.where(customers % 4 == 0, 0.6, 0.1), problem, calibrator=None)
    >>> cases = read_cases(truth, problem, None, None, None)
    >>> columns = {"customer": RepeatedColumn(customers, None)}
    >>> def decide(system):
    ...     return (customers % 4 == 0).astype(int)
    >>> repeats_caveat(report, cases, decide, columns, lambda column: 1.0).kind
    'repeated values'
    """
    saving, cheapest = report.verdict.saving_over_naive, report.verdict.cheapest
    best = report.best if cheapest is None else report.system(cheapest)
    if report.verdict.unaided is None or not saving.low < saving.high:
        return None
    # A map for new cases takes a fit to all cases, which is worth it only once something is wrong.
    plain = (s for s in report.systems if (s.model, s.rule) == (best.model, BAYES))
    first = _Judged(cases, decide(next(plain, best).name), report.assumptions.level)
    if first.varies and not _large(first.errors(report.verdict.unaided), columns, growth):
        return None
    sample = _Judged(cases, decide(best.name), report.assumptions.level)
    effects = _large(sample.errors(report.verdict.unaided), columns, growth)
    if not effects:
        return None
    name = max(effects, key=effects.__getitem__)
    whole = cases.n_rows == report.assumptions.n_rows
    with_clusters = _clustered(saving, sample, columns[name].codes, effects[name], whole)
    also = [column for column in effects if column != name]
    others = f" (or of {', '.join(also[:_MOST_NAMED])})" * bool(also)
    return Caveat(
        "repeated values",
        f"Rows that share a value of {name}, a column that nobody used, are alike: the saving of "
        f"{best.name} has {number(effects[name], 2)} times the variance that independent rows "
        f"would give it. Its {percent(report.assumptions.level)} interval is "
        f"{_bounds(saving, report)} as reported, and {_bounds(with_clusters, report)} with these "
        f"clusters. If values of {name}{others} were drawn rather than single rows, pass "
        f'clusters="{name}" (--clusters {name}).',
    )


def _large(
    off: FloatArray, columns: Mapping[str, RepeatedColumn], growth: Callable[[str], float]
) -> dict[str, float]:
    """Design effects of the columns for which they are large, among all rows."""
    effects = {}
    for name, column in columns.items():
        effect, error = design_effect(off, column._replace(values=None))
        if effect - 1 > _SURE * error and column.values is not None:
            effect, error = design_effect(off, column)  # bins take longer
        if effect - 1 > _SURE * error:
            effects[name] = 1 + (effect - 1) * growth(name)
    return {name: effect for name, effect in effects.items() if effect > _EFFECT}


def _bounds(interval: Measured, report: Report) -> str:
    _, low, high = measured(interval.value, interval.low, interval.high)
    return in_unit(f"{low} to {high}", report.problem.unit)


def _clustered(
    saving: Measured, sample: _Judged, clusters: IntArray, effect: float, whole: bool
) -> Measured:
    """The interval of the saving with clusters; of more rows than the sample, by the effect."""
    if not whole:
        low, high = saving.value - saving.low, saving.high - saving.value
        return Measured(
            saving.value, saving.value - sqrt(effect) * low, saving.value + sqrt(effect) * high
        )
    alone = np.flatnonzero(clusters < 0)
    codes = clusters.copy()
    codes[alone] = clusters.max() + 1 + np.arange(alone.size)
    labels, codes = np.unique(codes, return_inverse=True)
    groups = Groups(ClusterLabels(labels.tolist()), codes)
    again = sample.with_clusters(groups).saving
    # The report may decide these cases by maps of other folds, which save somewhat less.
    shift = saving.value - again.value
    return Measured(saving.value, again.low + shift, again.high + shift)


@record
class _Judged:
    """Cases with the decisions of one system."""

    cases: Cases
    codes: IntArray
    level: float

    @cached_property
    def evidence(self) -> Evidence:
        model = Predictions("system", DECISIONS, decided=self.codes)
        return evidence_of(self.cases, [model], posterior_prior=None, calibrator=None)

    @cached_property
    def costs(self) -> SampledCosts:
        return costs_of(self.evidence.sample, self.cases.problem, self.evidence, self.level)

    @property
    def saving(self) -> Measured:
        return self.costs.expected_saving(next(iter(self.evidence.rules)))

    def with_clusters(self, clusters: Groups) -> _Judged:
        return _Judged(replace(self.cases, clusters=clusters), self.codes, self.level)

    @property
    def varies(self) -> bool:
        """Whether there are several decisions: one alone would say nothing of the others."""
        return bool((self.codes != self.codes[0]).any())

    def errors(self, unaided: str) -> FloatArray:
        """What each case adds to the error of the mean saving over what needs no model, (n,)."""
        cases, problem = self.cases, self.cases.problem
        constant = {always(label): d for d, label in enumerate(problem.decisions)}
        if unaided in constant:
            blind = np.full(self.codes.size, constant[unaided])
        else:  # by the costs of each case and the prior
            prior = np.broadcast_to(cases.prior, (self.codes.size, problem.n_classes))
            blind = cheapest_decisions(prior, cases.charges)
        saved = cases.losses(blind, cases.charges) - cases.losses(self.codes, cases.charges)
        # With a stated prior, only differences within a class are errors.
        mass = cases.mass
        strata = np.zeros_like(cases.truth) if problem.prior is None else cases.truth
        total = np.bincount(strata, mass)
        means = np.bincount(strata, mass * saved) / np.where(total > 0, total, 1.0)
        return np.asarray(mass * (saved - means[strata]))


# `evaluate`, which takes rows and returns a report, if they fit into memory ----------------------

_SHARED, _OWN = 9, 3  # class-by-decision tables in memory at the peak: shared, and per model
# What a row takes at the peak: numbers for each model, and posteriors shared and for each model.
_NUMBERS, _POSTERIORS, _OWN_POSTERIORS = 10, 2, 2
_FEW = 1 << 30  # an evaluation that needs no more bytes than this is never refused
_GROUPS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
_SELECT = Select()


def evaluate(
    y_true: object,
    models: Any,
    problem: Problem,
    *,
    weights: object = None,
    copies: object = None,
    by: object = None,
    clusters: object = None,
    posterior_prior: object = None,
    data: object = None,
    case_costs: object = None,
    running_costs: Mapping[str, float] | None = None,
    volume: float | None = None,
    period: str | None = None,
    calibrator: Calibrator | None = _SELECT,
    level: float = 0.95,
    replicates: int = 500,
    seed: int = 0,
    baseline: str | Report | None = None,
    margin: float | str | None = None,
    uncertain: object = None,
    key: object = None,
) -> Report:
    """Report what the decisions of these models cost, which to deploy, and how sure that is.

    Parameters
    ----------
    y_true : labels of the true classes, (n,)
    models : predictions of one model, or a mapping from name to predictions
        `Posteriors`, `Decisions` or `Scores`; a bare float array is posteriors, a bare array of
        ints, booleans or text is decisions. The columns of a bare array are in the order of
        ``problem.classes``. scikit-learn sorts them: write
        ``Posteriors(model.predict_proba(X), classes=model.classes_)`` to match columns by name.
    problem : what is at stake
        Every rule that decides on posteriors keeps the limits of the problem, by prices that are
        fitted on other folds. Other systems are checked against the limits, and none that clearly
        breaks one is recommended.
    weights : (n,) sampling weights: how many cases each row stands for
        Whole or not, they say nothing about how many cases were seen: each row is one, and weights
        of one value are the same as none. Up to twenty different weights are strata of a sample,
        such as the flagged cases and one in ten of the others.
    copies : (n,) whole numbers, how often each row occurred
        A row of c copies is the same as c equal rows, but that all are in one fold where maps and
        thresholds are fitted out of fold: repeat the rows where few have many copies.
    by : labels, dates, periods, intervals or categories, one per case
        The report has a slice for each value, and one for the cases without a value. Pass several
        columns as a mapping or a frame.
    clusters : labels, one per case, of what was sampled together (patients, sites)
    posterior_prior : the prior under which the posteriors hold; by default the class shares of
        the data
    data : a frame, or a mapping from column to numbers, with the columns of ``problem.columns``
        Where costs are expressions of columns, every case is decided and charged by its own costs,
        in every number of the report. Not needed where costs are numbers.
    case_costs : (n, K, M) costs of every case, in place of the costs of the problem
    running_costs : what each model costs to run, per case scored, ``{"forest": 0.02}``
        It is added to every cost of the systems of that model. By default nothing is added.
    volume, period : how many cases are decided in a period, ``volume=250_000, period="year"``
        Costs per case are then also shown as totals.
    calibrator : a calibrator of `stakes.calibration`, or None to leave posteriors as they are
        Every model that gives posteriors or scores is also shown recalibrated: each case by a map
        that was fitted on other folds. The folds are the same for all models and keep clusters
        whole. Maps hold for the class shares of the cases; posteriors are then moved to a stated
        prior. By default `Select` chooses the kind of map within the folds.
    level : confidence level of all intervals, and of the sentences that quote them
    replicates : number of simulated samples that separate the cost of bad calibration from chance,
        at most 100,000
        They are drawn for two classes where ``calibrator`` is None; intervals need none.
    seed : seed of these samples and of the folds; the report prints it
    baseline : the incumbent, with which every system is compared
        The name of a model, whose decisions are taken as they are; the name of a system; or an
        earlier report on other cases. Differences on the same cases are paired. Each interval
        covers its own pair, not all pairs at once.
    margin : how much more than the baseline `Report.is_no_worse` allows
        An amount per case, or a share of the baseline's cost such as "2%". By default none.
    uncertain : what is uncertain besides the costs that are distributions in the problem
        Experts' cost matrices, of which the problem has the mean; a distribution of the prior such
        as `stakes.inference.Dirichlet`, whose mean the problem states; or ``{"costs": …, "prior":
        …}``. ``report.uncertainty`` gives the probability that the verdict holds, and what it
        would be worth to know the uncertain numbers.
    key : (n,) whole numbers that assign cases to folds by arithmetic that every engine shares
        Cases with the same key stay in the same fold. By default folds follow from a hash of the
        cluster, or of all that is read of the case, and are dealt several times where the cases are
        few. The order of the rows never matters. Another model deals the folds anew; a key keeps
        them.

    Returns
    -------
    the report, with the verdict, its intervals, caveats and rules for new cases

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
    >>> report = evaluate(y, {"new": p, "old": [0.1] * 100}, problem)
    >>> report.verdict.deploy.name, report.system("new (as is)").cost.value
    ('new (recalibrated)', 0.25)

    scikit-learn sorts its classes, and here that reverses the columns. By name they match; a bare
    array is misread, and the report says so:

    >>> from stakes import Posteriors
    >>> problem = Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"])
    >>> y, proba = ["well", "well", "well", "ill"] * 25, [[q, 1 - q] for q in p]
    >>> report = evaluate(y, Posteriors(proba, classes=["ill", "well"]), problem)
    >>> report.verdict.model, any(note.kind == "ranks backwards" for note in report.caveats)
    ('model', False)
    >>> print(evaluate(y, proba, problem).caveats[0].kind)
    ranks backwards
    """
    refuse_needless(data, problem)
    if calibrator is not None:
        _check.require("calibrator", calibrator, Calibrator, "Write Isotonic(), or None for none.")
    if case_costs is not None:
        problem, data = costs_as_columns(y_true, problem, case_costs, data)
    cases = read_cases(y_true, problem, weights, by, clusters, data, copies)
    holds_for = _posterior_prior(posterior_prior, problem)
    named = read_models(out_of_fold(models), cases.n_rows)
    options = ReportOptions.read(
        problem,
        named,
        level=level,
        replicates=replicates,
        seed=seed,
        running_costs=running_costs,
        volume=volume,
        period=period,
        baseline=baseline,
        margin=margin,
        uncertain=uncertain,
    )
    refuse_too_large(problem, named, cases.n_rows)
    calibrator = None if _nothing_to_fit(problem, named) else calibrator
    refuse_misaligned(y_true, named, weights, by, clusters, data, copies)
    cases, came = _read(named, cases, holds_for)
    folds = Folds(cases, options.seed, hashed_columns(came), folds_of_key(key, cases, options.seed))
    predictions = [with_fit(each, folds, calibrator) for each in came]
    evidence = evidence_of(
        cases,
        predictions,
        posterior_prior=holds_for,
        calibrator=None if calibrator is None else folds.described(calibrator),
        folds=folds,
    )
    read = partial(read_predictions, cases=cases, posterior_prior=holds_for)
    return report_of(
        with_fold_costs(evidence, models, cases, read),
        options,
        library=frame_library(y_true, models),
        remake=remake_of(predictions, evidence, options.operation, holds_for, folds),
        moved_limits=MovedLimits(cases, predictions, folds),
    )


def _read(
    named: Mapping[str, Predicted], cases: Cases, holds_for: FloatArray | None
) -> tuple[Cases, list[Predictions]]:
    """The cases, and what each model predicts about them before anything is fitted.

    The search for the prices of several limits takes another way where a sum differs in its last
    digit, as it does where numbers are added in another order. With several limits, rows are
    therefore put into the order of their hashes.
    """
    came = [read_predictions(*each, cases, posterior_prior=holds_for) for each in named.items()]
    if len(cases.problem.limits) < 2:
        return cases, came
    cases = cases.in_order(np.argsort(Folds(cases, 0, hashed_columns(came)).of_rows))
    return cases, [
        read_predictions(*each, cases, posterior_prior=holds_for) for each in named.items()
    ]


def _nothing_to_fit(problem: Problem, named: Mapping[str, Predicted]) -> bool:
    """Whether there is nothing to recalibrate: one class, or decisions alone."""
    return problem.n_classes == 1 or all(isinstance(each, Decisions) for each in named.values())


def _posterior_prior(prior: object, problem: Problem) -> FloatArray | None:
    """The prior under which posteriors hold; None for the class shares of the data."""
    return None if prior is None else _check.prior("posterior_prior", prior, problem.classes)


# Memory ------------------------------------------------------------------------------------------


def needed_bytes(n_classes: int, n_decisions: int, rows: list[int]) -> int:
    """About how many bytes an evaluation takes at its peak; `rows` are the rows of each model."""
    tables = n_classes * n_decisions * (_SHARED + _OWN * len(rows))
    shared = _POSTERIORS * n_classes * max(rows, default=0)
    each = (_NUMBERS + _OWN_POSTERIORS * n_classes) * sum(rows)
    return 8 * (tables + shared + each)


def refuse_too_large(problem: Problem, models: Mapping[str, object], n_rows: int) -> None:
    """Refuse an evaluation that does not fit; the message says what would."""
    rows = [0 if isinstance(predictions, Decisions) else n_rows for predictions in models.values()]
    sizes = problem.n_classes, problem.n_decisions
    needed, available = needed_bytes(*sizes, rows), max(memory_bytes(), _FEW)
    if needed <= available:
        return
    taken = f"about {needed / 2**30:.1f} GiB, and there are {available / 2**30:.1f} GiB"
    fitting = _fitting(*sizes, rows, available)
    if fitting < 2:
        raise InputError(
            f"models and y_true must fit into memory; {len(models):,} models and {n_rows:,} cases "
            f"take {taken}. Pass fewer of either, or name a file in evaluate_frame, which reads it "
            f"in passes.",
            argument="models",
        )
    raise InputError(
        f"problem must have fewer classes than {problem.n_classes:,}: with {len(models):,} models "
        f"and {n_rows:,} cases it takes {taken}. About {fitting:,} classes would fit: merge those "
        f"that are treated alike, or pass fewer models or cases."
    )


def _fitting(n_classes: int, n_decisions: int, rows: list[int], available: int) -> int:
    """How many classes would fit, with decisions in the same proportion to classes."""

    def needed(size: int) -> int:
        return needed_bytes(size, -(-size * n_decisions // n_classes), rows)

    return bisect_right(range(n_classes), available, key=needed) - 1


def memory_bytes() -> int:
    """The memory of this machine, or as much of it as this process may use."""
    total = 1 << 62
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return total
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    total = total if limit == resource.RLIM_INFINITY else min(total, limit)
    for group in _GROUPS:  # Linux limits containers through the group of their processes
        try:
            most = group.read_text().strip()
        except OSError:  # there is none, or it is hidden
            continue
        total = min(total, int(most)) if most.isdecimal() else total
    return total
