"""Cost as a function of the threshold, with the best and the Bayes threshold."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._arithmetic import above
from stakes._check import FloatArray
from stakes._text import always, in_unit, number
from stakes._value import record
from stakes.displays.display import CurvesDisplay, limits_around
from stakes.displays.scored_cases import PointwiseMean, ScoredCases, read_scored
from stakes.errors import InputError
from stakes.evaluation import charges_of
from stakes.inference import support_bounds
from stakes.plot import BandedLine, short_names
from stakes.problem import Problem
from stakes.thresholds import BestThreshold, best_threshold, weighed

_POINTS = 201  # thresholds at which a cost is drawn
_BLOCK = 1 << 21  # entries of (thresholds, cases) held in memory at a time


@record(repr=False)
class CostByThresholdDisplay(CurvesDisplay):
    """Expected cost per case over the threshold, with the best and the Bayes threshold.

    A dot marks the best threshold on these cases, see `best_threshold`; there is none where one
    decision about all cases is the best. The vertical line marks the Bayes threshold, which is the
    best for calibrated probabilities. A dot far from the line is a sign of bad calibration, or of a
    flat minimum. Where every case has its own costs, it also has its own Bayes threshold, and there
    is no such line; `SystemCostsDisplay` then shows what Bayes decisions cost.

    Attributes
    ----------
    bayes : the Bayes threshold; nan for raw scores and where every case has its own costs
    best : the best threshold of each model
    unit : unit of the costs

    Examples
    --------
    A false alarm costs a ninth of a miss, but these scores put all positives above 0.3:

    >>> y, p = [0, 0, 1] * 30, [0.1, 0.3, 0.6] * 30
    >>> problem = Problem.binary(false_alarm=1, miss=9)
    >>> display = CostByThresholdDisplay.from_predictions(y, p, problem)
    >>> display.bayes, display.best
    (0.1, (0.3,))
    """

    bayes: float
    best: tuple[float, ...]
    unit: str | None

    x_column, y_column = "threshold", "cost"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        problem: Problem,
        *,
        data: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Make the display for the cost at every threshold.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : predictions of one model, or a mapping from name to predictions
            P(second class), (n,), or `Posteriors` or raw `Scores`
        problem : of two classes and two decisions; a prior that it states is that of deployment
        data : frame, or mapping from column to numbers, that the costs depend on where they do
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : confidence level of the intervals

        Returns
        -------
        CostByThresholdDisplay
            The display, ready to plot.

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> display = CostByThresholdDisplay.from_predictions(y, p, problem)
        >>> display.bayes, display.best
        (0.1, (0.3,))

        A missed case costs what is at stake in it:

        >>> problem = Problem([[0, 1], ["amount", 0]], unit="EUR")
        >>> amounts = {"amount": [9, 9, 9, 0.5] * 25}
        >>> display = CostByThresholdDisplay.from_predictions(y, p, problem, data=amounts)
        >>> display.columns()["cost"][[0, -1]].tolist()
        [0.75, 0.125]
        """
        _refuse_other_problems(problem)
        cases = read_scored(
            y_true,
            models,
            problem,
            data=data,
            weights=weights,
            clusters=clusters,
            probabilities=False,
        )
        level = _check.level(level)
        chances = all(((s >= 0) & (s <= 1)).all() for s in cases.scores.values())
        bayes = problem.threshold if chances and not problem.columns else float("nan")
        lines_and_best = [_cost_line(cases, name, chances, bayes, level) for name in cases.scores]
        lines, best = zip(*lines_and_best, strict=True)
        note = cases.note + " · every case at its own costs" * bool(problem.columns)
        around, library = limits_around(lines), cases.library
        return cls._of_lines(lines, {}, around, level, library, note, bayes, best, problem.unit)

    def _x_label(self) -> str:
        chances = all(line.x[0] == 0 and line.x[-1] == 1 for line in self.lines)
        return "threshold probability" if chances else "threshold of the score"

    def _y_label(self) -> str:
        return in_unit("expected cost per case", self.unit, ", ")

    def _verticals(self) -> dict[str, float]:
        if not np.isfinite(self.bayes):
            return {}
        return {f"Bayes threshold {self.bayes:.3g}": self.bayes}


def _refuse_other_problems(problem: Problem) -> None:
    _check.require("problem", problem, Problem)
    if (problem.n_classes, problem.n_decisions) != (2, 2):
        raise InputError(
            f"problem must have two classes and two decisions, for a threshold to decide; it "
            f"has {problem.n_classes} and {problem.n_decisions}. SystemCostsDisplay takes any."
        )


def _cost_line(
    cases: ScoredCases, name: str, chances: bool, bayes: float, level: float
) -> tuple[BandedLine, float]:
    """The cost of one model on a grid with its best and the Bayes threshold, and the best."""
    best = _best(cases, name)
    usual = np.linspace(0, 1, _POINTS) if chances else _quantiles(cases.scores[name])
    # The grid contains the marked thresholds, so that dot and line meet exactly.
    extra = [at for at in (best.threshold, bayes) if usual[0] < at < usual[-1]]
    grid = np.unique(np.concatenate([usual, extra]))
    if cases.cases.costs is None:
        values = np.broadcast_to(cases.cases.problem.costs, (grid.size, 2, 2))
        mean = cases.mean_at([name], grid, values, level)
    else:
        mean = _charged_mean(cases, name, grid, level)
    return mean.line(name, grid, **_best_words(cases, name, best)), best.threshold


def _best_words(cases: ScoredCases, name: str, best: BestThreshold) -> dict[str, Any]:
    """The mark and the name of the best threshold, or the one decision that is the best."""
    if np.isnan(best.threshold):
        return {}
    taken = np.unique(above(cases.scores[name], best.threshold))
    if taken.size == 2:
        detail = f", best at {number(best.threshold, 3)}"
        return {"mark": (best.threshold, best.cost), "detail": detail}
    [decision] = short_names([cases.cases.problem.decisions[int(taken[0])]])
    return {"detail": f", best: {always(decision)}"}


def _best(cases: ScoredCases, name: str) -> BestThreshold:
    rows, problem = cases.cases, cases.cases.problem
    if rows.costs is None:
        return best_threshold(cases.table(name), problem)
    weighed_scores = weighed(rows.truth, cases.scores[name], rows.weights, rows.costs, problem)
    if weighed_scores is None:
        raise InputError(
            "problem must have decisions that cost differently in some case; here they do not. "
            "Nothing is at stake."
        )
    return best_threshold(*weighed_scores)


def _charged_mean(
    cases: ScoredCases, name: str, thresholds: FloatArray, level: float
) -> PointwiseMean:
    """Mean cost at each threshold where every case has its own costs, in blocks of thresholds."""
    scores, parts = cases.scores[name], []
    size = max(_BLOCK // scores.size, 1)
    for start in range(0, thresholds.size, size):
        some = thresholds[start : start + size]
        decided = {str(k): above(scores, at).astype(np.intp) for k, at in enumerate(some)}
        charges = charges_of(cases.cases, decided)
        losses, base = charges.losses, charges.base
        support = losses.costs_support(tuple(decided))
        means = [losses.mean(losses.loss(threshold)) for threshold in decided]
        parts.append(np.array([means, *support_bounds(support, level)]) + base)
    return PointwiseMean(*np.concatenate(parts, axis=1))


def _quantiles(scores: FloatArray) -> FloatArray:
    """Thresholds along raw scores: as many between any two as there are cases."""
    finite = np.unique(scores[np.isfinite(scores)])
    if finite.size < 2:
        middle = finite[0] if finite.size else 0.0
        return np.array([middle - 1, middle, middle + 1])
    return np.unique(np.quantile(finite, np.linspace(0, 1, _POINTS)))
