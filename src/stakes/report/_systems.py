"""Systems, the verdict about them, and gates: whether they are better than a baseline."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf, isnan, nan
from typing import ClassVar

import numpy as np

from stakes import _text
from stakes._arithmetic import least
from stakes._check import FloatArray, Label, Labels, one_number, require
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference import Measured
from stakes.limits import LimitCheck
from stakes.report._findings import BAYES, MOVED, RECALIBRATED, Baseline
from stakes.tally import Counts

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
