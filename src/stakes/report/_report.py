"""Report: the results of `evaluate`, as a value.

A report holds numbers, tallies, sentences and rules. It can be printed and converted to JSON,
Markdown, HTML and frames. None of these computes anything, with one exception: where a report shows
no cuts (three classes, costs of each case), a calibration map is fitted when its rule is first used
or written. Until then the scores that it needs stay in memory; they are never written.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from stakes import _check
from stakes._text import always
from stakes._value import Value, record, remembered
from stakes.audit import Disagreement
from stakes.errors import InputError
from stakes.measures import coefficients_on, constant_sums, term_cost
from stakes.problem import Problem
from stakes.regions import Margin, Regions
from stakes.report._flips import Flip, all_flips, read_decisions, zones_of
from stakes.report._systems import (
    Assumptions,
    Baseline,
    Caveat,
    CurvePoints,
    Gate,
    JointBins,
    ModelQuality,
    NaiveDecision,
    Pick,
    Slice,
    System,
    Uncertainty,
    Verdict,
    cheapest_of,
    compared_system,
    judged_interval,
    known_baseline,
)
from stakes.rule import Rule, Rules


@record(repr=False)
class Report(Value):
    """What the decisions of several models cost, which to deploy, and how certain that is.

    It is made by `stakes.evaluate`. `naive` is the best constant decision, whose cost is the unit
    of normalised costs. Where every case has its own costs, `no_model` takes for each case the
    decision that is the cheapest by its costs and the prior; a model that costs more is not
    deployed. `coverage` says what the best system costs if the hardest cases are left undecided:
    the share that is decided, the cost per decided case, and the price of an undecided case below
    which it pays to decide still fewer. It is empty where the system has no posteriors, and under
    limits.

    Attributes
    ----------
    problem : what is at stake
    verdict : what to deploy, what it will cost, and how certain that is
    assumptions : what was passed, and which defaults were chosen
    naive : the best constant decision and its cost
    perfect_cost : cost per case of the best decision for each class
    systems : all models with all rules, with their costs and intervals
    models : how good the scores of each model are, and what its miscalibration costs
    regions : which system is the cheapest where, over the prior of each class
    margins : how far each number may move before another system costs less, decisions kept
    disagreement : how often familiar metrics would pick another model
    picks : what each of these metrics picks, and what that costs more
    caveats : what to know before the verdict is used; `Caveat.kind` groups them
    slices : costs in each group of ``by=``
    rules : what decides new cases, by the name of its system
    no_model : decisions by the costs of each case and the prior alone, where costs differ
    baseline : what `System.difference` is a difference to
    uncertainty : how much depends on uncertain costs or an uncertain prior
    coverage : of the best system, the share decided, the cost of a decided case, and the price
    joint : joint bins of what systems decide by, with which the page compares them
    flips_under_limits : what would change the verdict under a limit
    gates : conditions on the report that were checked on the command line, and their outcomes

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 0, 0, 1] * 50
    >>> report = evaluate(y, {"net": [0.02, 0.05, 0.3, 0.6] * 50}, problem, calibrator=None)
    >>> report.verdict.model, report.naive.decision, report.naive.cost
    ('net', 1, 0.75)
    >>> [system.name for system in report.systems]
    ['net (as is)', 'net (tuned)']
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
    no_model: System | None = None  # decisions by the costs of each case and the prior alone
    baseline: Baseline | None = None  # what `System.difference` is a difference to
    uncertainty: Uncertainty | None = None  # where costs or the prior are uncertain
    coverage: CurvePoints = ()  # of the best system: share decided, cost of a decided case, price
    joint: JointBins | None = None  # of what systems decide by, where each case counts as one
    flips_under_limits: tuple[Flip, ...] = ()  # of a limit and of costs, rules being priced again
    gates: tuple[Gate, ...] = ()

    @property
    def best(self) -> System:
        """The system that the verdict names; where it names none, the cheapest one."""
        named = [system for system in self.systems if system.name == self.verdict.cheapest]
        return named[0] if named else cheapest_of(self.systems)

    def system(self, name: str) -> System:
        """The system of that name, or the best one of the model of that name.

        Parameters
        ----------
        name : name of a system or of a model

        Returns
        -------
        the system

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> report.system("net").name
        'net (as is)'
        """
        return self._named("name", name)

    def _named(self, argument: str, name: str) -> System:
        _check.require(argument, name, str)
        named = [system for system in self.systems if system.name == name]
        named = named or [system for system in self.systems if system.model == name]
        if not named:
            known = ", ".join(repr(system.name) for system in self.systems)
            models = ", ".join(map(repr, dict.fromkeys(system.model for system in self.systems)))
            raise InputError(
                f"{argument} must be the name of a system or of a model; there is none called "
                f"{name!r}. The systems are {known}; the models are {models}."
            )
        return cheapest_of(named)

    def rule(self, system: str | None = None) -> Rule:
        """Everything needed to decide new cases as a system does; by default the verdict's.

        The rule of a system that the verdict is to try carries its doubt as ``rule.caution``.
        Its calibration map is fitted to all cases; folds were for evaluation only.

        Parameters
        ----------
        system : the name of a system, or of a model for its best system

        Returns
        -------
        the rule, which decides new cases

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem = Problem.binary(false_alarm=1, miss=9, decisions=["wait", "treat"])
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> report = evaluate(y, p, problem, calibrator=None)
        >>> report.rule("model (as is)").decide([0.04, 0.4])
        array(['wait', 'treat'], dtype='<U5')
        """
        verdict = self.verdict
        if system is None and verdict.cheapest is None:
            stays = "deploy none" if verdict.keep is None else f"keep {verdict.keep}"
            raise InputError(
                f"system must be named, because the verdict is to {stays}. {verdict.reason} If "
                f"you want the rule of {self.best.name} all the same, write "
                f"report.rule({self.best.name!r})."
            )
        chosen = self.best if system is None else self._named("system", system)
        if chosen.name not in self.rules:
            raise InputError(
                f"{chosen.name} must have a rule that can be made; its map could not be fitted to "
                f"all cases. Take another system.",
                argument="system",
            )
        rule = self.rules[chosen.name]
        doubt = verdict.doubt if chosen.name == verdict.cheapest else None
        if verdict.doubted:
            doubt = "the classes of its columns are in doubt"
        return rule if doubt is None else rule._but(caution=doubt)

    def flips(self, decisions: str = "remade") -> tuple[Flip, ...]:
        """Where the present choice is clearly no longer the cheapest, as one number moves.

        It stays the choice as long as nothing else is clearly cheaper: it is among the contenders,
        and no constant decision clearly costs less. A cost goes below zero only if the problem has
        negative costs, and never beyond 20 times the largest cost. With decisions kept, the flips
        are `clear_low` and `clear_high` of the `margins`. Under a limit, those of decisions that
        are made anew are what `evaluate` computed, `flips_under_limits`: of the limit itself, and
        of a factor on the costs of each decision.

        Parameters
        ----------
        decisions : "remade" if Bayes decisions follow the number that moves, as on the page of a
            report; "kept" if all decisions stay as they are, as in `margins` and `regions`

        Returns
        -------
        a flip for each cost, class by class, and for each prior; under a limit for the limit first

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem = Problem.binary(false_alarm=1, miss=9, prior=[0.75, 0.25])
        >>> report = evaluate([0, 0, 0, 1] * 50, [0.02, 0.05, 0.3, 0.6] * 50, problem,
        ...                   calibrator=None)
        >>> prior = report.flips()[-1]
        >>> prior.what, round(prior.low, 2), prior.below
        ('prior of 1', 0.02, ('always 0',))
        """
        kept = read_decisions(decisions)
        if self.verdict.doubted:  # nothing can be said of models that may have been misread
            return ()
        if self.problem.limits and not kept:
            return self.flips_under_limits
        return _flips_of_kept(self) if kept else _flips_of_remade(self)

    def zones(self, decisions: str = "remade") -> Regions:
        """What may be the cheapest over the prior of the last class.

        A region has one system where that is clearly the cheapest, and several where it is not
        clear. Borders are accurate to about 0.01.

        Parameters
        ----------
        decisions : "remade" or "kept", as in `flips`

        Returns
        -------
        the regions, from a prior of 0 to 1

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> report.zones("kept").at(0.5)
        ('net (as is)', 'always 1')
        """
        if self.verdict.doubted:
            raise InputError(
                "report must name the classes of the columns of its posteriors before zones can be "
                "drawn; these seem to belong to other classes. Write Posteriors(values, "
                "classes=model.classes_), and evaluate again.",
                argument="report",
            )
        return zones_of(self, kept=read_decisions(decisions))

    def is_better(self, system: str | None = None) -> bool:
        """Whether a system is clearly cheaper than the baseline: its whole interval is below zero.

        At a level of 95 % a system that costs as much as the baseline passes in 2.5 % of samples.
        One that clearly breaks a limit of the problem never passes, whatever it costs.

        Parameters
        ----------
        system : the name of a system, or of a model for its system with the rule of the baseline,
            judged by ``System.difference``; by default the system that the verdict deploys, judged
            by ``verdict.difference``, which allows for its choice on these cases

        Returns
        -------
        whether it is clearly cheaper; False where the verdict deploys none

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem = Problem.binary(false_alarm=1, miss=9)
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> models = {"new": p, "old": [0.3] * 100}
        >>> report = evaluate(y, models, problem, baseline="old", margin="2%", calibrator=None)
        >>> report.is_better(), report.is_no_worse("new (as is)")
        (True, True)
        """
        if system is None:
            known_baseline(self.baseline)
            gap = self.verdict.difference
            return self.verdict.kind == "deploy" and gap is not None and gap.high < 0
        judged = self.compared(system)
        high = judged_interval(judged, self.baseline, "difference").high
        return high < 0 and not judged.breaks_limit

    def is_no_worse(self, system: str | None = None) -> bool:
        """Whether a system clearly costs no more than the baseline and the margin.

        The upper bound for its cost less the baseline's and the margin is at most zero. At a level
        of 95 % a system that costs just that much passes in 2.5 % of samples. The argument is that
        of `is_better`, which has an example.

        Parameters
        ----------
        system : the name of a system or of a model; by default that of the verdict, which deploys
            no system that is not shown to be better than the baseline, or no worse

        Returns
        -------
        whether it clearly costs no more; False where the verdict deploys none

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> models = {"new": [0.1, 0.8] * 20, "old": [0.1, 0.1] * 20}
        >>> report = evaluate(y, models, problem, baseline="old", calibrator=None, replicates=20)
        >>> report.is_no_worse("new")
        True
        """
        if system is None:
            known_baseline(self.baseline)
            gaps = (self.verdict.difference, self.verdict.beyond_margin)
            shown = any(gap is not None and gap.high <= 0 for gap in gaps)
            return self.verdict.kind == "deploy" and shown
        judged = self.compared(system)
        high = judged_interval(judged, self.baseline, "beyond_margin").high
        return high <= 0 and not judged.breaks_limit

    def compared(self, system: str) -> System:
        """The system of that name; of a model, the one with the rule of the baseline.

        If it has none, it is the simplest. Choosing the cheapest on these cases would favour it.

        Parameters
        ----------
        system : name of a system or of a model

        Returns
        -------
        the system

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> models = {"new": [0.1, 0.8] * 20, "old": [0.1, 0.1] * 20}
        >>> report = evaluate(y, models, problem, baseline="old", calibrator=None, replicates=20)
        >>> report.compared("new").name
        'new (as is)'
        """
        match = compared_system(system, self.systems, self.baseline)
        return self._named("system", system) if match is None else match

    def costs_under(self, problem: Problem) -> dict[str, float]:
        """What every system would cost per case under other costs, with its present decisions.

        The costs must be linear in ``report.problem.terms``, whose sums the report holds; without a
        prior the classes have their shares of the cases. Bayes decisions for the new costs may cost
        less: evaluate again to see. Constant decisions are included.

        Parameters
        ----------
        problem : the same classes and decisions with other costs

        Returns
        -------
        name of each system → its cost per case

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> y, p, data = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25, {"amount": range(100)}
        >>> problem = Problem([[0, 5], ["amount", 0]])
        >>> report = evaluate(y, p, problem, data=data, calibrator=None)
        >>> report.costs_under(Problem([[0, 8], ["2*amount", 0]]))["always 0"]
        25.5
        """
        _check.require("problem", problem, Problem)
        for name in ("classes", "decisions"):
            ours, theirs = getattr(self.problem, name), getattr(problem, name)
            _check.same_labels(f"the {name} of report and problem", ours, theirs)
        listed = [*self.systems, *([] if self.no_model is None else [self.no_model])]
        known = not self.problem.columns or listed[0].sums is not None
        if problem.columns and not known:
            raise InputError(
                "report must hold sums of the terms of its costs; it does not: there are more than "
                "32, they are too large, or the report is an older one. Evaluate again with the "
                "other costs."
            )
        coefficients = coefficients_on(self.problem.terms.names if known else ("1",), problem)
        sums = [
            entry.counts.values[..., None] if entry.sums is None else entry.sums for entry in listed
        ]
        both = np.stack([*sums, *constant_sums(sums[0])])
        costs = np.array(term_cost(both, coefficients, problem.prior))
        costs[: len(listed)] += [entry.running_cost for entry in listed]
        names = [entry.name for entry in listed] + [always(entry) for entry in problem.decisions]
        return dict(zip(names, costs.tolist(), strict=True))

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self) -> str:
        """The report as plain text.

        Returns
        -------
        the text

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> print(report.to_text().splitlines()[0])
        The stakes
        """
        from stakes.render import to_text

        return to_text(self)

    def to_markdown(self, path: str | Path | None = None, *, brief: bool = False) -> str:
        """The report as Markdown, in full or in ten lines; with a path, also written to a file.

        Parameters
        ----------
        path : file to write; None writes none
        brief : whether to write at most ten lines

        Returns
        -------
        the Markdown

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 50
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 50}, problem, calibrator=None, replicates=20)
        >>> print(report.to_markdown(brief=True).splitlines()[0])
        ### Deploy net (as is)
        """
        from stakes.render import to_markdown

        return to_markdown(self, path, brief=brief)

    def to_json(self, path: str | Path | None = None) -> str:
        """The report as JSON with a versioned schema; with a path, also written to a file.

        Parameters
        ----------
        path : file to write; None writes none

        Returns
        -------
        the JSON

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> report.to_json()[:20]
        '{"schema": "stakes-r'
        """
        from stakes.render import to_json

        return to_json(self, path)

    @classmethod
    def from_json(cls, text: str | Path) -> Report:
        """The report from JSON that `to_json` wrote, as text or as the path of a file.

        Parameters
        ----------
        text : the JSON, or the path of a file that has it

        Returns
        -------
        the report

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> Report.from_json(report.to_json()).verdict == report.verdict
        True
        """
        from stakes.render import from_json

        with _check.renamed(source="text"):
            _check.a_path("source", text)
            return from_json(text)

    def to_html(
        self,
        path: str | Path | None = None,
        *,
        title: str = "",
        data: str = "",
        date: str = "",
        author: str = "",
    ) -> str:
        """The report as a self-contained interactive page; with a path, also written to a file.

        Parameters
        ----------
        path : file to write; None writes none
        title, data, date, author : texts for the top of the page; data is the name of the data

        Returns
        -------
        the page

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> report.to_html(title="Networks")[:15]
        '<!DOCTYPE html>'
        """
        from stakes.render import to_html

        return to_html(self, path, title=title, data=data, date=date, author=author)

    def _repr_html_(self) -> str:
        from stakes.render import to_notebook

        return to_notebook(self)

    def frame(self, table: str = "systems", *, library: Any = None) -> Any:
        """A table of the report as a frame; by default of the library that was passed in.

        Tables: systems, counts, verdict, models, losses, scores, recalibrated, class_bins,
        recalibrated_bins, slices, picks, metrics, margins, regions, flips, limits, capacity,
        coverage, unknowns, caveats and assumptions. The library is the module, or its name.

        Parameters
        ----------
        table : name of the table, such as ``"systems"``
        library : ``"pandas"``, ``"polars"`` or ``"pyarrow"``

        Returns
        -------
        the table

        Examples
        --------
        >>> from stakes import Problem, evaluate
        >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 1] * 20
        >>> report = evaluate(y, {"net": [0.1, 0.8] * 20}, problem, calibrator=None, replicates=20)
        >>> report.frame("systems", library="pyarrow")["system"].to_pylist()
        ['net (as is)', 'net (tuned)']
        """
        from stakes.adapters.frame import report_frame

        return report_frame(self, table, library)


# The search for flips takes seconds.


@remembered
def _flips_of_remade(report: Report) -> tuple[Flip, ...]:
    return all_flips(report, kept=False)


@remembered
def _flips_of_kept(report: Report) -> tuple[Flip, ...]:
    return all_flips(report, kept=True)
