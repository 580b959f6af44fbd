"""What a report finds about models, slices and assumptions: numbers, tallies and sentences."""

from __future__ import annotations

from math import nan

from stakes._check import FloatArray, Label, Labels, require
from stakes._value import Value, record
from stakes.inference import Measured
from stakes.tally import ScoreTable
from stakes.thresholds import ByThreshold

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
