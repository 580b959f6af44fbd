"""Loss over the cost proportion, for three ways of choosing the threshold, and over thresholds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label
from stakes.conditions import CostProportions
from stakes.displays.display import (
    COST_PROPORTIONS,
    CurvesDisplay,
    banded,
    checked_level,
    extent,
)
from stakes.displays.scored_cases import (
    PointwiseMean,
    ScoredCases,
    grid_of,
    read_scored,
    two_class_problem,
)
from stakes.errors import InputError
from stakes.inference import bootstrap, each, scheme_of
from stakes.plot import BandedLine
from stakes.problem import Problem
from stakes.tally import JointScores, ScoreTable
from stakes.thresholds import Optimal, RateDriven, best_threshold

_POOLED = 512  # groups of ranks that replicates are drawn of; more would not be seen
_POINTS = 201  # thresholds at which a cost is drawn


class LossDisplay(CurvesDisplay):
    """Expected loss of each model over the cost proportion, beside not looking at the case.

    At the cost proportion c a false alarm costs 2c and a miss 2(1 − c), so that the two sum to 2.
    """

    x_column, y_column = "cost_proportion", "loss"
    x_label = "cost proportion c (a false alarm costs 2c, a miss 2 − 2c)"
    y_label = "expected loss per case"

    method: ClassVar[str] = ""
    probabilities: ClassVar[bool] = False

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        *,
        positive: Label | None = None,
        prevalence: float | None = None,
        cost_proportions: object = None,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
        replicates: int = 500,
        seed: int = 0,
    ) -> Self:
        """Loss of probabilities or scores at each cost proportion.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : predictions of one model, or a mapping from name to predictions
            P(positive class), (n,), or `Posteriors`; raw `Scores` but for the Brier curve
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        prevalence : share of positives where the models are to be used; by default that of the
            cases
        cost_proportions : increasing, within [0, 1]; by default 0, 0.01, …, 1
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : of the intervals
        replicates, seed : of the bootstrap, where there is one: the rate-driven curve
        """
        problem = two_class_problem(y_true, positive, prevalence)
        needed = cls.probabilities
        cases = read_scored(
            y_true, models, problem, weights=weights, clusters=clusters, probabilities=needed
        )
        grid = grid_of("cost_proportions", cost_proportions, COST_PROPORTIONS, inside=False)
        level = checked_level(level)
        drawn = {
            "replicates": _check.whole("replicates", replicates, low=2),
            "seed": _check.whole("seed", seed, low=0),
        }
        means = {name: cls._mean(cases, name, grid, level, **drawn) for name in cases.scores}
        lines = [
            BandedLine(name, grid, mean.value, mean.low, mean.high) for name, mean in means.items()
        ]
        share = cases.prevalence
        blind = 2 * np.minimum(grid * (1 - share), (1 - grid) * share)
        no_model = BandedLine("no model", grid, blind, reference=True)
        note = banded(level, cases.note, method=cls.method.format(drawn["replicates"]))
        return cls((*lines, no_model), level, note, cases.library)

    @classmethod
    @abstractmethod
    def _mean(
        cls,
        cases: ScoredCases,
        model: str,
        grid: FloatArray,
        level: float,
        *,
        replicates: int,
        seed: int,
    ) -> PointwiseMean:
        """Loss and interval of one model."""

    def _limits(self) -> tuple[float, float]:
        _, top = extent([line.y for line in self.lines])
        bands = [line.high for line in self.lines if line.high is not None]
        return 0.0, min(1.08 * extent(bands)[1], 1.6 * top) if top > 0 else 1.0


class CostCurveDisplay(LossDisplay):
    """The cost curve: loss of the best threshold at each cost proportion (Drummond and Holte).

    The lower envelope of the cost lines of all thresholds. It was chosen on the cases that measure
    it, and is a little too low in small samples; its interval is that of the chosen threshold.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = CostCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"].round(3).tolist()
    [0.2, 0.25, 0.3, 0.25]
    """

    @classmethod
    def _mean(
        cls, cases: ScoredCases, model: str, grid: FloatArray, level: float, **_: int
    ) -> PointwiseMean:
        best = Optimal().threshold(cases.table(model), grid)
        return cases.mean_at([model], best, _losses(grid), level)


class BrierCurveDisplay(LossDisplay):
    """The Brier curve: loss when the cost proportion is the threshold; the area is the Brier score.

    What it lies above the cost curve is lost to bad calibration.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = BrierCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"][:2].round(3).tolist()
    [0.2, 0.25]
    """

    probabilities = True

    @classmethod
    def _mean(
        cls, cases: ScoredCases, model: str, grid: FloatArray, level: float, **_: int
    ) -> PointwiseMean:
        return cases.mean_at([model], grid, _losses(grid), level)


class RateDrivenCurveDisplay(LossDisplay):
    """The rate-driven curve: the share 1 − c of the cases gets the positive decision.

    The area is π₀π₁(1 − 2 AUC) + 1/3. The threshold depends on all cases, so that intervals come
    from the bootstrap, with a fixed seed.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = RateDrivenCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"][:2].round(3).tolist()
    [0.22, 0.5]
    """

    method = "{} bootstrap replicates"

    @classmethod
    def _mean(
        cls,
        cases: ScoredCases,
        model: str,
        grid: FloatArray,
        level: float,
        *,
        replicates: int,
        seed: int,
    ) -> PointwiseMean:
        prior = cases.cases.problem.prior

        def loss(table: ScoreTable) -> FloatArray:
            if prior is not None:
                table = table.with_prior(prior)
            return RateDriven().loss_curve(table, CostProportions)(grid)

        value = RateDriven().loss_curve(cases.table(model), CostProportions)(grid)
        tally = _resampled(cases, model)
        estimate = bootstrap(
            each(lambda joint: loss(joint.table(model))),
            tally,
            replicates=replicates,
            rng=np.random.default_rng(seed),
            scheme=scheme_of(tally, cases.cases.problem),
        )
        ends = estimate.interval(level)
        return PointwiseMean(value, ends.low, ends.high)


def _resampled(cases: ScoredCases, model: str) -> JointScores:
    """Ranks to be resampled: by cluster, and case by case where weights are fractional."""
    scores, rows = cases.scores[model], cases.cases
    found, ranks = np.unique(scores, return_inverse=True)
    if found.size > _POOLED:
        ranks = np.argsort(np.argsort(scores, kind="stable")) * _POOLED // scores.size
    owner: Any = None
    if rows.clusters is not None:
        owner = rows.clusters.codes
    elif not rows.whole:
        owner = np.arange(scores.size)
    return JointScores.from_scores(
        rows.truth, {model: ranks.astype(np.float64)}, weights=rows.weights, clusters=owner
    )


def _losses(grid: FloatArray) -> FloatArray:
    """Costs (P, 2, 2) of decisions at cost proportions."""
    values = np.zeros((grid.size, 2, 2))
    values[:, 0, 1], values[:, 1, 0] = 2 * grid, 2 * (1 - grid)
    return values


@dataclass(frozen=True, eq=False)
class CostByThresholdDisplay(CurvesDisplay):
    """Expected cost per case over the threshold, with the best threshold and that of Bayes.

    A dot marks the threshold that was the best on these cases, see `best_threshold`, the upright
    line the Bayes threshold, which is the best for calibrated probabilities; a dot far from it
    speaks of bad calibration, or of a flat minimum.

    Attributes
    ----------
    bayes : the Bayes threshold, nan for raw scores
    best : the best threshold of each model
    unit : of the costs
    """

    bayes: float
    best: tuple[float, ...]
    unit: str | None

    x_column, y_column = "threshold", "cost"
    x_label = "threshold of the score"

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        models: Any,
        problem: Problem,
        *,
        weights: object = None,
        clusters: object = None,
        level: float = 0.95,
    ) -> Self:
        """Cost of every threshold.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : predictions of one model, or a mapping from name to predictions
            P(second class), (n,), or `Posteriors` or raw `Scores`
        problem : of two classes and two decisions; a prior that it states is that of deployment
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : of the intervals

        Examples
        --------
        >>> problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
        >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.05, 0.3, 0.6] * 25
        >>> display = CostByThresholdDisplay.from_predictions(y, p, problem)
        >>> display.bayes, display.best
        (0.1, (0.3,))
        """
        _check.require("problem", problem, Problem, "Write Problem.binary(false_alarm=1, miss=9).")
        if (problem.n_classes, problem.n_decisions) != (2, 2):
            raise InputError(
                f"problem must have two classes and two decisions, for a threshold to decide; it "
                f"has {problem.n_classes} and {problem.n_decisions}. SystemCostsDisplay takes any.",
                argument="problem",
            )
        cases = read_scored(
            y_true, models, problem, weights=weights, clusters=clusters, probabilities=False
        )
        level = checked_level(level)
        chances = all(((s >= 0) & (s <= 1)).all() for s in cases.scores.values())
        bayes = problem.threshold if chances else float("nan")
        made = [_cost_line(cases, name, problem, chances, bayes, level) for name in cases.scores]
        lines, best = zip(*made, strict=True)
        note = banded(level, cases.note)
        return cls(lines, level, note, cases.library, bayes, best, problem.unit)

    def _y_label(self) -> str:
        return f"expected cost per case{f', {self.unit}' if self.unit else ''}"

    def _verticals(self) -> dict[str, float]:
        if not np.isfinite(self.bayes):
            return {}
        return {f"Bayes threshold {self.bayes:.3g}": self.bayes}

    def plot(self, ax: Any = None) -> Any:
        """Draw lines, bands, and the name of each model with its best threshold."""
        named = [
            BandedLine._trusted(**{**vars(line), "name": f"{line.name}, best at {best:.3g}"})
            for line, best in zip(self.lines, self.best, strict=True)
        ]
        shown = CurvesDisplay.plot
        return shown(self._trusted(**{**vars(self), "lines": tuple(named)}), ax)


def _cost_line(
    cases: ScoredCases, name: str, problem: Problem, chances: bool, bayes: float, level: float
) -> tuple[BandedLine, float]:
    """The cost at thresholds of one model, the best and that of Bayes among them."""
    table = cases.table(name)
    best = best_threshold(table, problem)
    usual = np.linspace(0, 1, _POINTS) if chances else _quantiles(cases.scores[name])
    extra = [at for at in (best.threshold, bayes) if usual[0] < at < usual[-1]]
    grid = np.unique(np.concatenate([usual, extra]))
    values = np.broadcast_to(problem.costs, (grid.size, 2, 2))
    mean = cases.mean_at([name], grid, values, level)
    at = float(np.clip(best.threshold, grid[0], grid[-1]))
    mark = None if np.isnan(best.threshold) else (at, best.cost)
    return BandedLine(name, grid, mean.value, mean.low, mean.high, mark=mark), best.threshold


def _quantiles(scores: FloatArray) -> FloatArray:
    """Thresholds along raw scores: as many between any two as there are cases."""
    finite = np.unique(scores[np.isfinite(scores)])
    if finite.size < 2:
        middle = finite[0] if finite.size else 0.0
        return np.array([middle - 1, middle, middle + 1])
    return np.unique(np.quantile(finite, np.linspace(0, 1, _POINTS)))
