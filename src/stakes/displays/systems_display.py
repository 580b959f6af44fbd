"""Costs of all systems of a report, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stakes._check import require
from stakes._text import always, in_unit
from stakes._value import record
from stakes.displays.display import Display, level_text
from stakes.displays.scored_cases import towards
from stakes.evaluation import evaluate
from stakes.plot import CostRow, cost_rows
from stakes.problem import Problem
from stakes.report import Report, System

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@record(repr=False)
class SystemCostsDisplay(Display):
    """Costs per case of the systems of a report with intervals, the cheapest first.

    A system is a model with a decision rule. Vertical lines mark the best decision made without
    looking at the case, and perfect decisions. The system to deploy is in bold. An open circle
    marks a system that cannot be recommended: it was tuned on these very cases, or breaks a limit.

    Attributes
    ----------
    systems : the systems in the order of their costs
    report : the report that they come from

    Examples
    --------
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> report = evaluate([0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25, problem, calibrator=None)
    >>> display = SystemCostsDisplay.from_report(report)
    >>> [(system.name, system.cost.value) for system in display.systems]
    [('model (tuned)', 0.0), ('model (as is)', 0.25)]
    """

    systems: tuple[System, ...]
    report: Report

    @classmethod
    def from_report(cls, report: Report) -> Self:
        """Make the display for the systems of a report.

        Parameters
        ----------
        report : Report
            As `stakes.evaluate` returns it.

        Returns
        -------
        SystemCostsDisplay
            The display, ready to plot.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> report = evaluate(y, {"new": p, "old": [0.1] * 100}, problem, calibrator=None)
        >>> SystemCostsDisplay.from_report(report).columns()["cost"].tolist()
        [0.0, 0.25, 0.75, 2.25]
        """
        require("report", report, Report)
        every = [*report.systems, *([report.no_model] if report.no_model else [])]
        costs = [system.cost.value for system in every]
        order = np.argsort(np.where(np.isnan(costs), np.inf, costs), kind="stable")
        return cls(tuple(every[k] for k in order), report)

    @classmethod
    def from_predictions(cls, y_true: Any, models: Any, problem: Problem, **options: Any) -> Self:
        """Evaluate predictions, and make the display for the systems of the report.

        Parameters
        ----------
        y_true, models, problem, options : as in `stakes.evaluate`

        Returns
        -------
        SystemCostsDisplay
            The display, ready to plot.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> SystemCostsDisplay.from_predictions(
        ...     [0, 0, 0, 1] * 25, {"new": [0.02, 0.05, 0.3, 0.6] * 25}, problem, calibrator=None)
        SystemCostsDisplay of new; draw it with plot()
        """
        require("problem", problem, Problem)
        if isinstance(models, dict):
            models = {name: towards(of, problem.classes[-1]) for name, of in models.items()}
        return cls.from_report(evaluate(y_true, models, problem, **options))

    @property
    def models(self) -> tuple[str, ...]:  # type: ignore[override]
        """The model of each system."""
        return tuple(system.model for system in self.systems)

    @property
    def library(self) -> str | None:  # type: ignore[override]
        """The library of the frames or series that were evaluated."""
        return self.report.assumptions.frame_library

    @property
    def note(self) -> str:
        """The note above the figure."""
        report = self.report.assumptions
        bars = f"bars: {level_text(report.level)} intervals · {report.n_cases:.7g} cases"
        parts = []
        if any(system.name == self.report.verdict.cheapest for system in self.systems):
            parts.append(f"bold: to {self.report.verdict.kind}")
        open_circles = [system for system in self.systems if not system.candidate]
        if any(not system.breaks_limit for system in open_circles):
            parts.append("open circle: tuned on these cases")
        elif open_circles:
            parts.append("open circle: breaks a limit")
        if self.report.verdict.doubted:
            parts.append("posteriors seem to belong to other classes: name them")
        return "\n".join([bars, " · ".join(parts)] if parts else [bars])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the costs.

        Parameters
        ----------
        ax : matplotlib Axes
            Axes to draw into; None makes a new figure.

        Returns
        -------
        matplotlib Axes
            The axes that were passed or made.

        Examples
        --------
        >>> from matplotlib.figure import Figure
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> display = SystemCostsDisplay.from_predictions(
        ...     [0, 0, 0, 1] * 25, {"new": [0.02, 0.05, 0.3, 0.6] * 25}, problem, calibrator=None)
        >>> display.plot(Figure().subplots()).get_xlabel()
        'expected cost per case, EUR'
        """
        report, unit = self.report, self.report.problem.unit
        deployed = report.verdict.cheapest
        rows = [
            CostRow(
                system.name,
                system.cost.value,
                system.cost.low,
                system.cost.high,
                best=system.name == deployed,
                candidate=system.candidate,
            )
            for system in self.systems
        ]
        blind = always(report.naive.decision)
        return cost_rows(
            rows,
            x=in_unit("expected cost per case", unit, ", "),
            note=self.note,
            references={blind: report.naive.cost, "perfect decisions": report.perfect_cost},
            ax=ax,
        )

    def columns(self) -> dict[str, Any]:
        """System, model, rule, whether it is a candidate, cost, and the limits of its interval.

        Returns
        -------
        dict
            From the name of a column to its values.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> display = SystemCostsDisplay.from_predictions(
        ...     [0, 0, 0, 1] * 25, {"new": [0.02, 0.05, 0.3, 0.6] * 25}, problem, calibrator=None)
        >>> display.columns()["system"]
        ['new (tuned)', 'new (as is)']
        """
        systems = self.systems
        return {
            "system": [system.name for system in systems],
            "model": [system.model for system in systems],
            "rule": [system.rule for system in systems],
            "candidate": [system.candidate for system in systems],
            "cost": np.array([system.cost.value for system in systems]),
            "low": np.array([system.cost.low for system in systems]),
            "high": np.array([system.cost.high for system in systems]),
        }
