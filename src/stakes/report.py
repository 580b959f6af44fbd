"""Report: everything that `evaluate` found out, as a value.

A report holds numbers, tallies, sentences and rules. It prints itself, and turns into JSON,
Markdown, HTML and frames; none of these computes anything, but that a calibration map is fitted
when its rule is first asked for or written. Until then the scores that it needs stay in memory;
they are never written.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import least
from stakes._check import FloatArray, Label, Labels
from stakes._value import Value
from stakes.audit import Disagreement
from stakes.errors import InputError
from stakes.limits import LimitCheck
from stakes.measures import coefficients_on, constant_sums, term_cost
from stakes.problem import Problem
from stakes.regions import Margin, Regions
from stakes.rule import Rule, Rules
from stakes.tally import Counts, ScoreTable
from stakes.thresholds import ByThreshold

__all__ = [
    "AS_DECIDED",
    "BAYES",
    "FEWER_BINS",
    "LEFT_OUT",
    "MOST_BINS",
    "MOVED",
    "POSTERIOR_RULES",
    "RECALIBRATED",
    "TUNED",
    "TUNED_APART",
    "Assumptions",
    "Caveat",
    "Interval",
    "ModelQuality",
    "NaiveDecision",
    "Pick",
    "Report",
    "Slice",
    "SliceCost",
    "System",
    "Verdict",
    "cheapest_of",
]

# Decision rules by their names in a report.
AS_DECIDED = "as decided"
BAYES = "Bayes decisions"
MOVED = "Bayes decisions, posteriors moved to the prior"
RECALIBRATED = "Bayes decisions, recalibrated"
POSTERIOR_RULES = (BAYES, MOVED, RECALIBRATED)  # that take the cheapest decision, given posteriors
TUNED_APART = "threshold tuned out of fold"
TUNED = "threshold tuned on these cases"

LEFT_OUT = "left out"  # the kind of caveat that says what a report does not show
MOST_BINS = 1024  # scores of one model that a report holds; more are pooled
FEWER_BINS = 256  # into which more recalibrated scores are pooled; nothing is drawn of them


@dataclass(frozen=True, eq=False)
class Interval(Value):
    """A number and the ends of its interval; nan where undefined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class NaiveDecision(Value):
    """The best decision made without looking, under the prior of the report."""

    decision: Label
    cost: float
    tied: Labels


@dataclass(frozen=True, eq=False)
class Verdict(Value):
    """What to deploy, and how sure one can be.

    `deploy` is the system to deploy, `model` its model and `cheapest` its name; all three are None
    where no system is cheaper than the best decision made without looking: a model that saves
    nothing is not worth running. `reason` is the sentence that says why.

    `cost`, `normalized` and `saving_over_naive` (against always taking the decision that
    `Report.naive` names, or against `Report.no_model` where that is cheaper; negative where a model
    costs more) are those of the cheapest system to expect once it is deployed: the system was
    chosen on the cases that measure its cost, which flatters it, and they are corrected for that.
    `System.cost` is what it cost on these cases.

    `contenders` are the systems that the data cannot tell from the cheapest, which is the first of
    them; the set holds the system that is truly the cheapest as often as the level says. One is
    clearly the cheapest where it is the only contender. `told_apart` says whether all contenders
    are of one model; of a single model, whether one of its rules is the only one. `runner_up` is
    the next system, of another model where there are several; `saving_over_runner_up` has an
    interval that holds for all comparisons at once, so that it leaves zero out exactly where the
    runner-up is no contender. All of these are empty or None where nothing is deployed, and the
    last three where there is no other. `total_cost` and `total_saving` are cost and saving for the
    stated volume of cases. `sentences` say it all in plain words.
    """

    deploy: System | None
    model: str | None
    reason: str
    cheapest: str | None
    cost: Interval
    normalized: Interval
    contenders: tuple[str, ...]
    runner_up: str | None
    saving_over_naive: Interval
    saving_over_runner_up: Interval | None
    told_apart: bool | None
    sentences: tuple[str, ...]
    total_cost: Interval | None = None
    total_saving: Interval | None = None


@dataclass(frozen=True, eq=False)
class Assumptions(Value):
    """What was given and what was chosen."""

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
    frame_library: str | None  # that of the frames or series that were given
    running_costs: tuple[tuple[str, float], ...] = ()  # of each model, per case scored
    volume: float | None = None  # cases to come
    period: str | None = None  # in which they come


@dataclass(frozen=True, eq=False)
class System(Value):
    """A model with a decision rule.

    `threshold` is the probability or score above which the positive decision is taken, where there
    is one; `cuts` are the probabilities of the second class at which Bayes decisions among more
    than two change. A system that is not a `candidate` is shown but cannot win: its threshold was
    tuned on these very cases. Where every case has its own costs, there is no threshold of
    probabilities, and `spent` are the sums of what was charged, class by decision; `sums` are those
    of the terms that the costs are linear in, ``problem.terms``, where there are not too many.
    """

    name: str
    model: str
    rule: str
    threshold: float | None
    cuts: tuple[float, ...]
    candidate: bool
    counts: Counts
    cost: Interval
    normalized: Interval
    probability_cheapest: float
    spent: FloatArray | None = None  # (K, M) sums of costs, where every case has its own
    running_cost: float = 0.0  # of the model, per case; part of `cost`
    total: Interval | None = None  # cost of all cases of the stated volume
    sums: FloatArray | None = None  # (K, M, T) sums of the terms of the costs
    limits: tuple[LimitCheck, ...] = ()  # how it stands to each limit of the problem
    rounding_loss: float | None = None  # what it costs to keep them and decide none by chance


def cheapest_of(systems: Iterable[System]) -> System:
    """The first of the cheapest systems; one that is no candidate only for want of any other.

    Rounding alone keeps no two apart. Normalised costs are compared where they are defined: an
    amount that all decisions share takes no digits from them. Where no cost is defined it is the
    first of all.
    """
    listed = list(systems)
    listed = [system for system in listed if system.candidate] or listed
    costs = np.array([system.normalized.value for system in listed])
    if not np.isfinite(costs).all():
        costs = np.array([system.cost.value for system in listed])
    return listed[int(np.argmax(least(costs)))]


@dataclass(frozen=True, eq=False)
class ModelQuality(Value):
    """How good the scores of a model are, whatever is done with them.

    Numbers that the predictions do not allow are None. `backwards` is the class whose cases the
    model ranks below the others, beyond noise; None if there is none. `calibration_cost` is what
    bad calibration costs per case: Bayes decisions as they come against those of recalibrated
    posteriors or, where no calibrator was asked for, against the best thresholds in hindsight,
    less what calibrated scores would lose against theirs; `calibration_share` is its share of the
    cost above perfect decisions. `expected_losses` maps each
    threshold-choice method to its expected loss over uniform cost proportions, `advice` says which
    of them these scores are good for. `table` holds the scores of two classes and `recalibrated`
    the recalibrated ones; where there are more than 1,024 of them they are pooled, into 1,024 and
    256 bins. `n_scores` and `n_recalibrated` say how many distinct ones there were (bins, where
    they never left an engine). All numbers come from the scores, not from the bins. `by_threshold`
    says what every threshold costs, for two decisions about cases that each have their own costs.
    """

    model: str
    kind: str
    auc: Interval | None
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


@dataclass(frozen=True, eq=False)
class Caveat(Value):
    """Something to know before the verdict is used, with its evidence."""

    kind: str
    text: str


@dataclass(frozen=True, eq=False)
class SliceCost(Value):
    """Cost per case of one system in one slice."""

    system: str
    cost: Interval


@dataclass(frozen=True, eq=False)
class Slice(Value):
    """The same numbers for one group of cases; `note` says when it is too small to tell.

    `by` is the name of the column that makes the groups, None where it has none. Where another
    system than `Report.best` is the cheapest here, `saving` is what it saves per case, and `clear`
    says whether the interval leaves zero out; None otherwise, and where there is no interval.
    """

    by: str | None
    group: Label
    n_cases: float
    cheapest: str | None
    saving: Interval | None
    clear: bool | None
    costs: tuple[SliceCost, ...]
    note: str | None

    @property
    def name(self) -> str:
        """The group, after the name of its column if that has one."""
        return str(self.group) if self.by is None else f"{self.by}: {self.group}"


@dataclass(frozen=True, eq=False)
class Pick(Value):
    """The model that a metric puts first, and what that costs per case above the cheapest model.

    Each model is charged with its best system; of several that the metric ties, `model` is the
    dearest, and None where the metric picks none. `clear` says whether the interval leaves zero
    out; it is None where the pick is as cheap as any, and where there is no interval.
    """

    metric: str
    model: str | None
    costs_more: Interval
    clear: bool | None


@dataclass(frozen=True, eq=False, repr=False)
class Report(Value):
    """What the decisions of several models cost, which to deploy, and how sure one can be.

    Made by `stakes.evaluate`. `naive` is the best constant decision, in whose cost normalised costs
    are counted. Where every case has its own costs, `no_model` takes for each case the decision
    that is the cheapest by its costs and the prior; a model that costs more is not deployed.
    """

    problem: Problem
    verdict: Verdict
    assumptions: Assumptions
    naive: NaiveDecision
    perfect_cost: float
    systems: tuple[System, ...]
    models: tuple[ModelQuality, ...]
    regions: tuple[Regions, ...]
    margins: tuple[Margin, ...]
    disagreement: Disagreement | None
    picks: tuple[Pick, ...]  # one for each metric of the disagreement
    caveats: tuple[Caveat, ...]
    slices: tuple[Slice, ...]
    rules: Rules  # by the name of their system
    no_model: System | None = None  # where every case has its own costs: what these decide alone

    @property
    def best(self) -> System:
        """The cheapest of the systems that may be deployed, even if not looking is cheaper."""
        return cheapest_of(self.systems)

    def system(self, name: str) -> System:
        """The system of that name, or the best one of the model of that name."""
        named = [system for system in self.systems if system.name == name]
        named = named or [system for system in self.systems if system.model == name]
        if not named:
            known = ", ".join(repr(system.name) for system in self.systems)
            models = ", ".join(map(repr, dict.fromkeys(system.model for system in self.systems)))
            raise InputError(
                f"name must be that of a system or of a model; there is none called {name!r}. "
                f"The systems are {known}; the models are {models}."
            )
        return cheapest_of(named)

    def rule(self, system: str | None = None) -> Rule:
        """Everything needed to decide new cases as a system does; by default the verdict's.

        A calibration map is that of all cases: the folds were for evaluation only. It is fitted
        when it is first asked for.

        Parameters
        ----------
        system : the name of a system, or of a model for its best system

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
        >>> report = evaluate([0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25, problem)
        >>> report.rule("model (as is)").decide([0.04, 0.4])
        array(['wait', 'treat'], dtype='<U5')
        """
        chosen = self.verdict.deploy if system is None else self.system(system)
        if chosen is None:
            raise InputError(
                f"system must be named, because the verdict is to deploy none. "
                f"{self.verdict.reason} If you want the rule of {self.best.name} all the same, "
                f"write report.rule({self.best.name!r}).",
                argument="system",
            )
        if chosen.name not in self.rules:
            raise InputError(
                f"{chosen.name} must have a rule that can be made; its map could not be fitted to "
                f"all cases. Take another system.",
                argument="system",
            )
        return self.rules[chosen.name]

    def costs_under(self, problem: Problem) -> dict[str, float]:
        """What every system would cost per case under other costs, deciding as it does now.

        The costs must be linear in ``report.problem.terms``, whose sums the report holds; without a
        prior the classes have their shares of the cases. Bayes decisions made for these costs may
        cost less: evaluate again to see. What needs no model is among the systems.

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> y, p, data = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25, {"amount": range(100)}
        >>> problem = Problem([[0, 5], ["amount", 0]])
        >>> report = evaluate(y, p, problem, data=data, calibrator=None)
        >>> report.costs_under(Problem([[0, 8], ["2*amount", 0]]))["always 0"]
        25.5
        """
        _check.require("problem", problem, Problem, "Write Problem(costs), rows being classes.")
        for name in ("classes", "decisions"):
            ours, theirs = getattr(self.problem, name), getattr(problem, name)
            _check.same_labels(f"the {name} of report and problem", ours, theirs)
        listed = [*self.systems, *([] if self.no_model is None else [self.no_model])]
        known = not self.problem.columns or listed[0].sums is not None
        if problem.columns and not known:
            raise InputError(
                "report must hold sums of the terms of its costs; it does not: there are more than "
                "32, they are too large, or the report is an older one. Evaluate again with the "
                "other costs.",
                argument="report",
            )
        coefficients = coefficients_on(self.problem.terms.names if known else ("1",), problem)
        sums = [one.counts.values[..., None] if one.sums is None else one.sums for one in listed]
        both = np.stack([*sums, *constant_sums(sums[0])])
        costs = np.array(term_cost(both, coefficients, problem.prior))
        costs[: len(listed)] += [one.running_cost for one in listed]
        names = [one.name for one in listed] + [f"always {one}" for one in problem.decisions]
        return dict(zip(names, costs.tolist(), strict=True))

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The report as plain text."""
        from stakes.render import to_text

        return to_text(self)

    def to_markdown(self, path: str | Path | None = None) -> str:
        """The report as Markdown, written to a file when a path is given."""
        from stakes.render import to_markdown

        return to_markdown(self, path)

    def to_json(self, path: str | Path | None = None) -> str:
        """The report as JSON with a versioned schema, written to a file when a path is given."""
        from stakes.render import to_json

        return to_json(self, path)

    @classmethod
    def from_json(cls, text: str | Path) -> Report:
        """The report that was written as JSON: its text, or the path of a file."""
        from stakes.render import from_json

        return from_json(text)

    def to_html(self, path: str | Path | None = None) -> str:
        """The interactive page, self-contained, written to a file when a path is given."""
        from stakes.render import to_html

        return to_html(self, path)

    def _repr_html_(self) -> str:
        from stakes.render import to_notebook

        return to_notebook(self)

    def frame(self, library: Any = None) -> Any:
        """The table of systems as a frame of a library: pandas, polars or pyarrow.

        Left out, it is the library of the frames or series that `evaluate` was given.
        """
        from stakes.adapters.frame import systems_frame

        return systems_frame(self, library)
