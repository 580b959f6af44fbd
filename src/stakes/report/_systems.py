"""What a report finds about models, systems and pairs of them; the verdict and gates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations
from math import inf, isnan, nan
from typing import Any, ClassVar, Protocol

import numpy as np

from stakes import _text
from stakes._arithmetic import least
from stakes._check import BoolArray, FloatArray, IntArray, Label, Labels, one_number, require
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference import Measured, Support, unchecked_cost_support
from stakes.limits import LimitCheck
from stakes.problem import Problem
from stakes.tally import Counts, ScoreTable
from stakes.thresholds import ByThreshold

# -------------------------------------------------------------------------------------------------
# What a report finds about models, slices and assumptions: numbers, tallies and sentences.

# Decision rules by their names in a report.
AS_DECIDED = "as decided"
BAYES = "Bayes decisions"
MOVED = "Bayes decisions, posteriors moved to the prior"
RECALIBRATED = "Bayes decisions, recalibrated"
POSTERIOR_RULES = (BAYES, MOVED, RECALIBRATED)  # that take the cheapest decision, given posteriors
TUNED_APART = "threshold tuned out of fold"
TUNED = "threshold tuned on these cases"

LEFT_OUT = "left out"  # the kind of caveat that says what a report does not show
MOST_SCORES = 1024  # scores of one model that a report holds as they are; more are pooled
MOST_BINS = 768  # into which they are pooled
FEWER_BINS = 256  # into which recalibrated scores are pooled; nothing is drawn of them

CurvePoints = tuple[tuple[float, float, float], ...]  # of a curve: share, cost, price


@record
class NaiveDecision(Value):
    """The best constant decision under the prior of the report, and those that tie with it.

    Examples
    --------
    Always deciding 1 costs 1 in three of four cases; always deciding 0 costs 9 in the fourth:

    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> naive = evaluate([0, 0, 0, 1] * 25, [0.1, 0.2, 0.3, 0.8] * 25, problem).naive
    >>> naive.decision, naive.cost
    (1, 0.75)
    """

    decision: Label
    cost: float
    tied: Labels


@record
class Baseline(Value):
    """The system that all others are compared with: the incumbent.

    Differences are pairwise: the interval of each is that of this one comparison, not adjusted for
    the number of systems, so that a further model changes no comparison of two others. `paired`
    says whether the baseline decided the same cases; a system of an earlier report did not. A
    `margin` is what "no worse" allows: an amount per case, or a share of the cost of the baseline
    if it is `relative`. `sentences` say all of this in words.

    Examples
    --------
    The old model raises one false alarm in four cases, the new one none:

    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 0, 1] * 25, {"new": [0, 0, 0, 1] * 25, "old": [0, 0, 1, 1] * 25}
    >>> report = evaluate(y, models, Problem.zero_one(2), baseline="old")
    >>> report.baseline.system, report.baseline.cost.value
    ('old (as decided)', 0.25)
    >>> report.system("new").difference.value
    -0.25
    """

    system: str
    model: str
    rule: str
    cost: Measured
    paired: bool
    margin: float
    relative: bool
    sentences: tuple[str, ...]


@record
class ModelQuality(Value):
    """How good the scores of a model are, apart from any decisions.

    Numbers that cannot be computed from the predictions are None. `backwards` is the class whose
    cases the model ranks significantly below the others; None if there is none. `calibration_cost`
    is what bad calibration costs per case: the cost of Bayes decisions by the posteriors as they
    are, minus that after recalibration. Without a calibrator it is their cost above the best
    thresholds in hindsight, minus what calibrated scores would lose in the same way.
    `calibration_share` is its share of the cost above perfect decisions. `expected_losses` maps
    each threshold-choice method to its expected loss over uniform cost proportions; `advice` says
    which of them suits these scores.

    `table` holds the scores of two classes and `recalibrated` the recalibrated ones; more than 1024
    of them are pooled into 768 and 256 bins. `n_scores` and `n_recalibrated` say how many there
    were (bins, if an engine tallied them). All numbers come from the scores, not from these bins.
    `by_threshold` says what every threshold costs, for two decisions about cases with
    their own costs. `class_bins` (K, 10, 3), for more than two classes, has for each tenth of the
    probability of a class the weight of the cases, the weight of those of the class, and the sum of
    their probabilities. `recalibrated_bins` has the same of the recalibrated probabilities, for the
    class shares of the cases.

    Examples
    --------
    Of four pairs of a negative and a positive case, one is tied and three are ranked correctly:

    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 1, 1] * 25, {"net": [0.1, 0.4, 0.4, 0.9] * 25}
    >>> quality = evaluate(y, models, Problem.zero_one(2), calibrator=None).models[0]
    >>> quality.model, quality.kind, quality.auc.value, quality.n_scores
    ('net', 'posteriors', 0.875, 3)
    """

    model: str
    kind: str
    auc: Measured | None
    backwards: Label | None
    h: float | None
    normalized_log_loss: float | None
    normalized_brier: float | None
    calibration_cost: float | None
    calibration_share: float | None
    expected_losses: tuple[tuple[str, float], ...]
    advice: str | None
    table: ScoreTable | None
    recalibrated: ScoreTable | None
    n_scores: int | None
    n_recalibrated: int | None
    by_threshold: ByThreshold | None = None
    class_bins: FloatArray | None = None
    recalibrated_bins: FloatArray | None = None

    def table_of(self, rule: str) -> ScoreTable | None:
        """The scores of two classes by which a rule of the model decides, before a prior moves.

        Parameters
        ----------
        rule : the name of the rule, as in ``report.systems``

        Returns
        -------
        the score table; None where the model has none

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> y, models = [0, 0, 1, 1] * 25, {"net": [0.1, 0.4, 0.4, 0.9] * 25}
        >>> quality = evaluate(y, models, Problem.zero_one(2), calibrator=None).models[0]
        >>> quality.table_of("Bayes decisions").scores
        array([0.1, 0.4, 0.9])
        """
        require("rule", rule, str)
        return self.recalibrated if rule == RECALIBRATED else self.table


@record
class Caveat(Value):
    """Something to know before the verdict is used, with its evidence.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> report = evaluate([0, 1] * 6, [0.4, 0.6] * 6, Problem.zero_one(2), calibrator=None)
    >>> [(caveat.kind, caveat.text.split(".")[0]) for caveat in report.caveats]
    [('tiny class', 'Cases of 0: 6'), ('tiny class', 'Cases of 1: 6')]
    """

    kind: str
    text: str


@record
class SliceCost(Value):
    """Cost per case of one system in one slice.

    Examples
    --------
    All errors are in one of two groups, in every other case:

    >>> from stakes import Problem, evaluate
    >>> y, decided = [0, 1, 0, 1] * 25, [0, 1, 0, 0] * 25
    >>> report = evaluate(y, {"net": decided}, Problem.zero_one(2), by=["a", "a", "b", "b"] * 25)
    >>> [(part.group, part.costs[0].system, part.costs[0].cost.value) for part in report.slices]
    [('a', 'net (as decided)', 0.0), ('b', 'net (as decided)', 0.5)]
    """

    system: str
    cost: Measured


@record
class Slice(Value):
    """Costs in one group of cases; `note` says so if the group is too small for conclusions.

    `by` is the name of the column that makes the groups, or None. If another system than
    `Report.best` is the cheapest here, `saving` is what it saves per case, and `clear` says whether
    the interval excludes zero; None otherwise, and where there is no interval.

    Examples
    --------
    The first model costs less in all, but misses one in three cases of the south:

    >>> from stakes import Problem, evaluate
    >>> y, sites = [1, 1, 1, 1, 0] * 40, ["north", "north", "south", "south", "south"] * 40
    >>> models = {"first": [1, 1, 0, 1, 0] * 40, "second": [0, 0, 1, 1, 0] * 40}
    >>> south = evaluate(y, models, Problem.zero_one(2), by=sites).slices[1]
    >>> south.name, south.n_cases, south.cheapest, round(south.saving.value, 3), south.clear
    ('south', 120.0, 'second (as decided)', 0.333, True)
    """

    by: str | None
    group: Label
    n_cases: float
    cheapest: str | None
    saving: Measured | None
    clear: bool | None
    costs: tuple[SliceCost, ...]
    note: str | None

    @property
    def name(self) -> str:
        """The group, after the name of its column if that has one."""
        return str(self.group) if self.by is None else f"{self.by}: {self.group}"


@record
class Pick(Value):
    """The model that a metric puts first, and what that costs per case above the cheapest model.

    The cost of a model is that of its best system. If the metric ties several models, `model` is
    the costliest of them; it is None where the metric picks none. `clear` says whether the interval
    excludes zero; it is None where the pick is as cheap as any, and where there is no interval.

    Examples
    --------
    Accuracy prefers one miss to two false alarms; here the miss costs more than both:

    >>> from stakes import Problem, evaluate
    >>> y = [0, 0, 0, 1, 1] * 40
    >>> models = {"careful": [0, 1, 1, 1, 1] * 40, "lax": [0, 0, 0, 1, 0] * 40}
    >>> pick = evaluate(y, models, Problem.binary(false_alarm=1, miss=9)).picks[0]
    >>> pick.metric, pick.model, round(pick.costs_more.value, 3), pick.clear
    ('accuracy', 'lax', 1.4, True)
    """

    metric: str
    model: str | None
    costs_more: Measured
    clear: bool | None


@record
class UncertainPart(Value):
    """One uncertain quantity, and what it would be worth to know it.

    `mean`, `low` and `high` are its mean and the bounds of its central range at the level of the
    report; nan where it is not a single number. `evppi` is the expected value per case of knowing
    it before one of the present rules is chosen; `evppi_remade` is the same if rules are made again
    once it is known, None where that was not computed, with an interval from `evppi_remade_low` to
    `evppi_remade_high`.

    Examples
    --------
    The choice is wrong by 0.1 per case with one of two experts, each as likely to be right:

    >>> from stakes import Problem, evaluate
    >>> opinions = [[[0, 1], [0.6, 0]], [[0, 1], [3.4, 0]]]
    >>> problem, y = Problem.binary(false_alarm=1, miss=2), [0, 0, 0, 1] * 25
    >>> report = evaluate(y, {"alert": [0, 0, 1, 1] * 25}, problem, uncertain=opinions)
    >>> part = report.uncertainty.parts[0]
    >>> part.what, round(part.evppi, 3)
    ('which expert is right', 0.05)
    """

    what: str
    mean: float
    low: float
    high: float
    evppi: float
    evppi_remade: float | None
    evppi_remade_low: float = nan
    evppi_remade_high: float = nan


@record
class Uncertainty(Value):
    """What uncertain costs and priors do to the verdict.

    `choice` is the recommendation of the report, a constant decision where it deploys no system.
    `holds` is the probability, over the uncertain costs and prior, that it is the cheapest;
    `cheapest` is that of each system. `evpi` is the expected regret of the choice: what it would be
    worth per case to know everything before one of the present rules is chosen. `evpi_remade` is
    the same if rules are made again once the costs are known, None where that was not computed. Its
    interval, from `evpi_remade_low` to `evpi_remade_high`, is about the cases that were drawn; nan
    in reports of earlier versions. Other costs are those on these cases. `parts`
    say the same for each unknown quantity alone, the most valuable first.

    Examples
    --------
    One expert says that a miss costs 0.6, another that it costs 3.4. At the mean of 2 the model is
    cheaper than never raising an alarm:

    >>> from stakes import Problem, evaluate
    >>> opinions = [[[0, 1], [0.6, 0]], [[0, 1], [3.4, 0]]]
    >>> problem, y = Problem.binary(false_alarm=1, miss=2), [0, 0, 0, 1] * 25
    >>> report = evaluate(y, {"alert": [0, 0, 1, 1] * 25}, problem, uncertain=opinions)
    >>> uncertainty = report.uncertainty
    >>> uncertainty.choice, uncertainty.holds, round(uncertainty.evpi, 3)
    ('alert (as decided)', 0.5, 0.05)
    """

    choice: str
    holds: float
    evpi: float
    evpi_remade: float | None
    parts: tuple[UncertainPart, ...]
    cheapest: tuple[tuple[str, float], ...]
    draws: int
    sentences: tuple[str, ...]
    evpi_remade_low: float = nan
    evpi_remade_high: float = nan


@record
class Assumptions(Value):
    """What the report assumes: what was passed, and which defaults were chosen.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> report = evaluate([0, 0, 0, 1] * 25, [0.1, 0.2, 0.3, 0.8] * 25, Problem.zero_one(2))
    >>> assumptions = report.assumptions
    >>> assumptions.n_cases, assumptions.prior, assumptions.prior_stated
    (100.0, (0.75, 0.25), False)
    >>> assumptions.level, assumptions.calibrator
    (0.95, 'Select(), out of fold (5 folds, mean of 5 partitions)')
    """

    n_cases: float
    n_rows: int
    weighted: bool
    prior: tuple[float, ...]
    prior_stated: bool
    posterior_prior: tuple[float, ...]
    calibrator: str | None
    clusters: int | None
    replicates: int
    seed: int
    level: float
    version: str
    frame_library: str | None  # that of the frames or series that were passed
    running_costs: tuple[tuple[str, float], ...] = ()  # of each model, per case scored
    volume: float | None = None  # number of cases in deployment
    period: str | None = None  # the period of that number, such as "year"
    engine: str | None = None  # that tallied the rows; "numpy" for arrays in memory
    copied: bool = False  # whether `weighted` rows occurred several times; else they have weights


# Systems, the verdict about them, and gates: whether they are better than a baseline -------------

OWN_COLUMN = "own column"  # the scale of cuts of what the model itself gives
CORRECTED = "corrected probability"  # that of cuts of recalibrated or moved probabilities


@record
class System(Value):
    """A model with a decision rule.

    `threshold` is the score above which the positive decision is taken, where there is one; with
    more than two decisions, each of `cuts` is the highest score of one decision. `decided` are the
    decisions from the lowest scores to the highest, so that a decision between two equal cuts is
    never taken; `digits` are the significant digits to which the cuts can be rounded so that they
    decide all cases of the report alike (three to 17).

    `scale` says of what they are cuts: "own column" is what the model gives, its probability of the
    second class or its raw score, so that whoever applies them to that column decides as the rule
    does. A rule that corrects these probabilities cuts the corrected ones at `corrected`. Where
    corrected probabilities do not rise with the column, the cuts are those of the "corrected
    probability", and only the rule can apply them: `Report.rule`. There are no cuts for more than
    two classes, and none where every case has its own costs. None of an earlier release named the
    scale: see `on_own_column`.

    A system that is not a `candidate` is shown but cannot be recommended: its threshold was tuned
    on these very cases, or it clearly breaks a limit. Where every case has its own costs, `spent`
    holds sums of the costs, class by decision, and `sums` those of the terms in which the costs are
    linear, ``problem.terms``, if there are not too many.

    `difference` is the cost minus that of the baseline, where one was named, and `beyond_margin`
    the cost minus what the stated margin allows; see `Baseline`. Both are intervals of this pair
    alone.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> report = evaluate([0, 0, 0, 1] * 50, [0.02, 0.05, 0.3, 0.6] * 50, problem, calibrator=None)
    >>> system = report.systems[0]
    >>> system.name, system.rule, round(system.threshold, 9), system.cost.value
    ('model (as is)', 'Bayes decisions', 0.1, 0.25)
    """

    name: str
    model: str
    rule: str
    threshold: float | None
    cuts: tuple[float, ...]
    candidate: bool
    counts: Counts
    cost: Measured
    normalized: Measured
    probability_cheapest: float
    spent: FloatArray | None = None  # (K, M) sums of costs, where every case has its own
    running_cost: float = 0.0  # of the model, per case; part of `cost`
    total: Measured | None = None  # cost of all cases of the stated volume
    sums: FloatArray | None = None  # (K, M, T) sums of the terms of the costs
    difference: Measured | None = None  # to the baseline
    beyond_margin: Measured | None = None  # cost minus that of the baseline and the margin
    limits: tuple[LimitCheck, ...] = ()  # whether it keeps each limit of the problem
    rounding_loss: float | None = None  # what it costs to keep them without randomising
    decided: Labels = ()  # decisions from the lowest scores to the highest
    corrected: tuple[float, ...] = ()  # probabilities that the threshold or the cuts become
    scale: str | None = None  # of the threshold or the cuts
    digits: int = 3  # of these that keep every decision of the report

    def __str__(self) -> str:
        parts = {"cost": self.cost, "normalised": self.normalized}
        shown = (f"{n} {p.value:.4g} ({p.low:.4g} to {p.high:.4g})" for n, p in parts.items())
        return f"{self.name}: {', '.join(shown)}"

    @property
    def breaks_limit(self) -> bool:
        """Whether it clearly breaks a limit; it is then no candidate, and passes no gate."""
        return any(check.breaks for check in self.limits)

    @property
    def changes(self) -> tuple[float, ...]:
        """Where its decisions change: the threshold or the cuts."""
        return self.cuts if self.threshold is None else (self.threshold,)

    @property
    def on_own_column(self) -> bool:
        """Whether the threshold or the cuts are those of the model's own column.

        Reports that name no scale had those of corrected probabilities.
        """
        if self.scale is None:
            return self.rule not in (MOVED, RECALIBRATED)
        return self.scale == OWN_COLUMN

    @property
    def taken(self) -> tuple[tuple[Label, float], ...]:
        """The decisions that are taken, in the order of the scores, each with its highest score."""
        parts, low = [], -inf
        for decision, high in zip(self.decided, (*self.changes, inf), strict=bool(self.decided)):
            if high > low:
                parts.append((decision, high))
                low = high
        return tuple(parts)

    def cut_text(self, cut: float) -> str:
        """A cut in writing: in percent where it is a probability by which costs decide as it is.

        Parameters
        ----------
        cut : the threshold, or one of the cuts

        Returns
        -------
        the text

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem = Problem.binary(false_alarm=1, miss=9)
        >>> report = evaluate([0, 1] * 50, [0.1, 0.8] * 50, problem, calibrator=None, replicates=20)
        >>> system = report.systems[0]
        >>> system.cut_text(system.threshold)
        '10 %'
        """
        one_number("cut", cut)
        if self.rule == BAYES or not self.on_own_column:
            return _text.probability(cut, self.digits)
        return _text.point(cut, self.digits)


def cheapest_of(systems: Iterable[System]) -> System:
    """The first of the cheapest systems; one that is not a candidate only if there is no other.

    Costs that differ only by rounding are tied. Normalised costs are compared where they are
    defined, because they do not lose precision to an amount that all decisions share.

    Parameters
    ----------
    systems : the systems to choose from; at least one

    Returns
    -------
    the system; the first of all where no cost is defined

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 50
    >>> models = {"good": [0.1, 0.8] * 50, "poor": [0.3, 0.2] * 50}
    >>> report = evaluate(y, models, problem, calibrator=None, replicates=20)
    >>> cheapest_of(report.systems).name
    'good (as is)'
    """
    listed = list(systems)
    listed = [system for system in listed if system.candidate] or listed
    costs = np.array([system.normalized.value for system in listed])
    if not np.isfinite(costs).all():
        costs = np.array([system.cost.value for system in listed])
    return listed[int(np.argmax(least(costs)))]


@record
class Verdict(Value):
    """What to deploy, and how certain that is.

    `kind` is the first word of it:

    - "deploy": the saving of a system is shown, because its whole interval lies above zero. With a
      baseline, the system is shown to cost less, or no more than the margin allows.
    - "try": a system is cheaper on these cases, but it is not shown to pay, or not shown to keep a
      limit on the rate of a class. `doubt` says which, and so does the rule of the system.
    - "none": no system is cheaper than what needs no model; or the incumbent stays, because no
      other system is shown to be better. `keep` is then its name, and None otherwise.

    `deploy` is the system to deploy, None unless the kind is "deploy". `cheapest` is the name of
    the system to deploy or to try, and `model` its model; both are None where there is neither.
    Of several rules of one model that the data cannot tell apart, and whose costs differ by less
    than 1 % of the saving, it is the simplest. `reason` is the sentence that says why.

    `cost`, `normalized` and `saving_over_naive` are those of this system, or else of the cheapest,
    that can be expected in deployment. It was chosen on the cases that measure its cost, which
    makes it look cheaper than it is, and they are corrected for that; `System.cost` is what it cost
    on these cases. The saving is compared with the decision that `Report.naive` names, or with
    `Report.no_model` where that is cheaper; it is negative where a model costs more. `share` is the
    saving as a share of that cost, None where that is not positive. `difference` is the cost less
    that of the baseline, `beyond_margin` the cost less what the margin allows above the baseline;
    both are corrected for the choice, too.

    `contenders` are the systems that are statistically indistinguishable from the cheapest, the one
    that the verdict names first; the set contains the truly cheapest system with the probability of
    the level. A system is clearly the cheapest if it is the only contender. `told_apart` says
    whether all contenders belong to one model; for a single model, whether there is only one
    contender. `runner_up` is the next system, of another model where there are several. The
    interval of `saving_over_runner_up` is simultaneous over all comparisons, so that it excludes
    zero exactly where the runner-up is not a contender. All of these are empty or None where the
    verdict names no system, and the last three where there is no other system.

    `total_cost` and `total_saving` are cost and saving for the stated volume of cases. `unaided` is
    the cheapest choice without a model: a constant decision, or the rule by the costs of each
    case; `unaided_cost` is what it costs per case, with which the saving is compared. Where
    something is not shown, `cases_to_settle` is about how many cases (clusters, where there are
    any) would show a difference of the expected size in four of five samples. `sentences` say all
    of this in words, and so does printing the verdict.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 0, 0, 1] * 50
    >>> models = {"good": [0.02, 0.05, 0.3, 0.6] * 50, "poor": [0.02, 0.3, 0.6, 0.6] * 50}
    >>> verdict = evaluate(y, models, problem, calibrator=None).verdict
    >>> verdict.cheapest, verdict.contenders, verdict.runner_up
    ('good (as is)', ('good (as is)',), 'poor (as is)')
    """

    deploy: System | None
    model: str | None
    reason: str
    cheapest: str | None
    cost: Measured
    normalized: Measured
    contenders: tuple[str, ...]
    runner_up: str | None
    saving_over_naive: Measured
    saving_over_runner_up: Measured | None
    told_apart: bool | None
    sentences: tuple[str, ...]
    total_cost: Measured | None = None
    total_saving: Measured | None = None
    unaided: str | None = None  # the cheapest choice without a model that keeps the limits
    doubt: str | None = None  # what is not shown of a system to try
    keep: str | None = None  # the incumbent, where it stays
    share: Measured | None = None  # of the cost without a model that is saved
    difference: Measured | None = None  # to the baseline, corrected for the choice
    beyond_margin: Measured | None = None  # the same beyond the margin
    cases_to_settle: float | None = None
    doubted: bool = False  # whether all posteriors seem to belong to other classes

    SHOWN: ClassVar[tuple[str, ...]] = ("kind", "heading")  # properties that JSON shows, too

    @property
    def kind(self) -> str:
        """Whether to "deploy" a system, to "try" it, or "none"."""
        if self.deploy is not None:
            return "deploy"
        return "none" if self.cheapest is None else "try"

    @property
    def choice(self) -> str | None:
        """What is done after the verdict: a system, the incumbent, or what needs no model."""
        return self.cheapest or self.keep or self.unaided

    @property
    def heading(self) -> str:
        """The verdict in a few words."""
        if self.doubt is not None:
            return f"Try {self.cheapest}: {self.doubt}"
        if self.keep is not None:
            return f"Keep {self.keep}"
        return "Deploy none" if self.cheapest is None else f"Deploy {self.cheapest}"

    @property
    def unaided_cost(self) -> float:
        """What the cheapest choice without a model costs per case.

        nan if each breaks a limit, or if the costs of models are undefined.
        """
        return nan if self.unaided is None else self.cost.value + self.saving_over_naive.value

    def __str__(self) -> str:
        return "\n".join(self.sentences)


# Gates --------------------------------------------------------------------------------------------


@record
class Gate(Value):
    """A condition on the report, such as "--gate better", and whether it passed.

    `text` says what was judged.

    Examples
    --------
    >>> str(Gate("--gate better", False, "The cost of new, less that of old, is 0.1."))
    '--gate better does not pass. The cost of new, less that of old, is 0.1.'
    """

    condition: str
    passed: bool
    text: str

    def __str__(self) -> str:
        return f"{self.condition} {'passes' if self.passed else 'does not pass'}. {self.text}"


def known_baseline(baseline: Baseline | None) -> Baseline:
    """The baseline; a report without one is refused."""
    if baseline is None:
        raise InputError(
            "baseline must be named before anything can be compared with it; this report has "
            "none. Evaluate again with baseline=, the name of a model or a system."
        )
    return baseline


def compared_system(
    name: str, systems: Sequence[System], baseline: Baseline | None
) -> System | None:
    """The system of that name; of a model, the one with the rule of the baseline or the simplest.

    It is fixed before the cases are seen: choosing the cheapest on these cases would favour it. A
    model whose systems all clearly break a limit is judged, too, and does not pass.
    """
    require("system", name, str)
    named = [system for system in systems if system.name == name]
    of_model = [system for system in systems if system.model == name]
    of_model.sort(key=lambda system: not system.candidate)
    rule = None if baseline is None else baseline.rule
    nearer = [system for system in of_model if system.candidate and system.rule == rule]
    return next(iter([*named, *nearer, *of_model]), None)


def judged_interval(system: System, baseline: Baseline | None, attribute: str) -> Measured:
    """The interval by which a gate judges a system; an undefined one is refused."""
    known = known_baseline(baseline)
    if known.paired and system.name == known.system:
        raise InputError(
            f"system must be another than the baseline, {known.system}; it is the same. Name "
            f"another system."
        )
    interval: Measured | None = getattr(system, attribute)
    if interval is None or isnan(interval.high):
        raise InputError(
            f"system must have a difference to the baseline; that of {system.name} is "
            f"undefined. Gather the cases that it needs."
        )
    return interval


# What two systems decide about the same cases, and what that costs -------------------------------


@record
class DecisionSource(Value):
    """What systems decide by: the scores of a model, its recalibrated ones, or its decisions.

    `ends` (B,) are positions in the score table of the report, each one past the last score of a
    bin. Fixed decisions have no table: `system` says whose decisions they are, and their bins are
    the decisions.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 0, 1] * 50, {"net": [0.1, 0.1, 0.3, 0.8] * 50, "old": [0, 1, 1, 1] * 50}
    >>> report = evaluate(y, models, Problem.zero_one(2), calibrator=None)
    >>> [(source.model, source.system, source.ends.tolist()) for source in report.joint.sources]
    [('net', None, [1, 2, 3]), ('old', 'old (as decided)', [])]
    """

    model: str
    recalibrated: bool
    system: str | None
    ends: IntArray


@record
class PairCounts(Value):
    """Cases of each class in each pair of bins, without empty pairs.

    `places` (C,) number the cells (class, bin of the first, bin of the second), the last one
    running fastest; `weights` (C,) are their cases.

    Examples
    --------
    Two classes and two decisions make eight cells. In cell 3 the class is 0 and both decide 1; in
    cell 7 the class is 1:

    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 0, 1] * 50, {"new": [0, 0, 1, 1] * 50, "old": [0, 1, 1, 1] * 50}
    >>> pair = evaluate(y, models, Problem.zero_one(2)).joint.pairs[0]
    >>> dict(zip(pair.places.tolist(), pair.weights.tolist()))
    {0: 50.0, 1: 50.0, 3: 50.0, 7: 50.0}
    """

    places: IntArray
    weights: FloatArray


@record
class JointBins(Value):
    """Joint counts of all pairs of sources, those of the cheapest systems.

    `pairs` are in the order of ``itertools.combinations``; `fitting` (J, J) is the covariance that
    fitting adds to the costs of the systems, at the costs and the prior of the report.

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> y, models = [0, 0, 0, 1] * 50, {"new": [0, 0, 1, 1] * 50, "old": [0, 1, 1, 1] * 50}
    >>> joint = evaluate(y, models, Problem.zero_one(2)).joint
    >>> [source.model for source in joint.sources], len(joint.pairs), joint.fitting.shape
    (['new', 'old'], 1, (2, 2))
    """

    sources: tuple[DecisionSource, ...]
    pairs: tuple[PairCounts, ...]
    fitting: FloatArray


class ReportLike(Protocol):
    """The parts of a report from which it is read under other stakes."""

    @property
    def problem(self) -> Problem: ...
    @property
    def verdict(self) -> Any: ...
    @property
    def assumptions(self) -> Any: ...
    @property
    def naive(self) -> Any: ...
    @property
    def systems(self) -> tuple[Any, ...]: ...
    @property
    def models(self) -> tuple[Any, ...]: ...
    @property
    def joint(self) -> JointBins | None: ...
    @property
    def margins(self) -> tuple[Any, ...]: ...


@record
class Decided:
    """What a system decides: counts (K, M); by score (n,) and within bins (K, B, M) if it can."""

    name: str
    model: str
    rule: str
    source: int | None  # among the joint bins
    counts: FloatArray
    table: ScoreTable | None  # that it decides by
    codes: IntArray | None  # of the scores of its table
    within: Any  # (K, B, M) shares of each bin of its source; None without one
    able: BoolArray  # (M,) decisions that it can take
    running: float
    reported: Any  # None: it does not exist at the stakes of the report


@record
class Pairs:
    """What two systems decide about the same cases."""

    report: ReportLike

    @cached_property
    def _joint(self) -> dict[tuple[int, int], FloatArray]:
        """Joint counts (K, B, B') of pairs of sources."""
        joint, problem = joint_of(self.report), self.report.problem
        sizes = [source.ends.size or problem.n_decisions for source in joint.sources]
        joint_counts = {}
        for (i, j), pair in zip(combinations(range(len(sizes)), 2), joint.pairs, strict=True):
            table = np.zeros(problem.n_classes * sizes[i] * sizes[j])
            table[pair.places] = pair.weights
            joint_counts[i, j] = table.reshape(problem.n_classes, sizes[i], sizes[j])
            joint_counts[j, i] = np.swapaxes(joint_counts[i, j], 1, 2)
        return joint_counts

    def pair(self, first: Decided, second: Decided) -> FloatArray:
        """Joint counts (K, M, M) of the decisions of two systems."""
        size = first.counts.shape[1]
        if first is second:
            return with_itself(first.counts)
        # Without joint bins, independence within classes is assumed, which widens intervals.
        if first.source is None or second.source is None:
            mass = np.maximum(first.counts.sum(axis=1), 1e-300)[:, None, None]
            return np.asarray(first.counts[:, :, None] * second.counts[:, None, :] / mass)
        if first.source == second.source and first.table is not None:
            both = np.eye(size * size)[size * np.asarray(first.codes) + second.codes]
            return np.asarray((first.table.weights.T @ both).reshape(-1, size, size))
        joint = self._joint[first.source, second.source]
        return np.asarray(np.swapaxes(first.within, 1, 2) @ joint @ second.within)

    def constant(self, d: int, counts: FloatArray) -> Decided:
        """A constant decision about cases with these counts."""
        table = np.zeros(counts.shape)
        table[:, d] = counts.sum(axis=1)
        able = np.arange(counts.shape[1]) == d
        return Decided("", "", "", None, table, None, None, None, able, 0.0, None)

    def fitting(self, some: tuple[Decided, ...], variances: FloatArray) -> FloatArray:
        """Covariance that fitting adds, scaled from that of the report.

        The ratio of its standard error to that of sampling is assumed to stay the same.
        """
        names = [system.name for system in self.report.systems]
        places = [-1 if system.reported is None else names.index(system.name) for system in some]
        before = np.array([self._before[place] if place >= 0 else 0.0 for place in places])
        ratios = np.sqrt(np.maximum(variances, 0.0) / np.where(before > 0, before, np.inf))
        fitted = joint_of(self.report).fitting[np.ix_(places, places)]
        return np.asarray(fitted * np.outer(ratios, ratios))

    @cached_property
    def _before(self) -> FloatArray:
        """The sampling variance of every system at the stakes of the report."""
        tables = np.stack([with_itself(system.counts.values) for system in self.report.systems])
        return covariance_of(tables, self.report.problem)


def joint_of(report: ReportLike) -> JointBins:
    """The joint bins of a report, which may have none."""
    if report.joint is None:
        raise InputError(
            "report must hold joint bins of its systems, which only cases that count as one and "
            "cost what their cell costs have: no clusters, no weights, no costs of "
            "their own, no limits, and rows in memory. Evaluate again under the other costs."
        )
    return report.joint


# Costs of tables ---------------------------------------------------------------------------------


def with_itself(counts: FloatArray) -> FloatArray:
    """Joint counts (K, M, M) of a system with itself."""
    return np.asarray(counts[:, :, None] * np.eye(counts.shape[1]))


def gaps_of(costs: FloatArray, factor: float) -> FloatArray:
    """Cost of one decision less a factor times that of another for every pair, (K, M²)."""
    return np.asarray((costs[:, :, None] - factor * costs[:, None, :]).reshape(len(costs), -1))


def support_of(
    tables: FloatArray, costs: FloatArray, able: BoolArray, prior: FloatArray | None
) -> Support:
    """Supports of P mean costs, from tables (P, K, Q) of cases, which may be fractional."""
    return unchecked_cost_support(Counts(tables), costs, prior, reachable=able, squares=tables)


def cost_of(counts: FloatArray, problem: Problem) -> float:
    sizes = counts.sum(axis=1)
    if problem.prior is None:
        return float(np.sum(counts * problem.costs) / sizes.sum())
    if (problem.prior[sizes == 0] > 0).any():
        return nan
    rates = counts / np.where(sizes > 0, sizes, 1.0)[:, None]
    return float(problem.prior @ np.sum(rates * problem.costs, axis=1))


def covariance_of(pairs: FloatArray, problem: Problem) -> FloatArray:
    """Covariances (…) of the errors of two mean costs, by their joint counts (…, K, M, M).

    A sample of one case adds nothing.
    """
    first, second = problem.costs[:, :, None], problem.costs[:, None, :]
    cells = (-3, -2, -1) if problem.prior is None else (-2, -1)  # of all cases, or of a class
    sizes = pairs.sum(axis=cells, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        first_mean, second_mean = (
            np.sum(pairs * costs, axis=cells, keepdims=True) / sizes for costs in (first, second)
        )
        scatter = pairs * (first - first_mean) * (second - second_mean)
        each = np.sum(scatter, axis=cells, keepdims=True) / (sizes * (sizes - 1))
    known = np.where(sizes > 1, each, 0.0).squeeze(cells)
    return np.asarray(known if problem.prior is None else known @ problem.prior**2)


def best_covariances(tables: list[FloatArray], problem: Problem) -> FloatArray:
    """Covariances of the mean cost of the best decisions with those of systems of these counts.

    Of J systems, and last the variance of the best decisions, (J + 1,); zero if the prior is known.
    """
    sizes, best = tables[0].sum(axis=1), problem.costs.min(axis=1)
    n = sizes.sum()
    if problem.prior is not None or n <= 1:
        return np.zeros(len(tables) + 1)
    totals = [*(np.sum(table * problem.costs, axis=1) for table in tables), sizes * best]
    return np.asarray(np.stack(totals) @ (best - best @ sizes / n) / (n * (n - 1)))
