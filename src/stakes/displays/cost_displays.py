"""Loss over the cost proportion, for three ways of choosing the threshold."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label
from stakes.conditions import CostProportions
from stakes.displays.display import COST_PROPORTIONS, CurvesDisplay, extent
from stakes.displays.scored_cases import PointwiseMean, ScoredCases, grid_of, read_two_classes
from stakes.plot import BandedLine
from stakes.scoring import HullBins, bin_sums
from stakes.thresholds import Optimal, RateDriven


class LossDisplay(CurvesDisplay):
    """Expected loss of each model over the cost proportion, beside deciding without a model.

    At the cost proportion c a false alarm costs 2c and a miss 2(1 − c), so that the two sum to 2.
    """

    x_column, y_column = "cost_proportion", "loss"
    x_label = "cost proportion c (a false alarm costs 2c, a miss 2 − 2c)"
    y_label = "expected loss per case"

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
    ) -> Self:
        """Make the display for the loss of probabilities or scores at each cost proportion.

        Parameters
        ----------
        y_true : labels of the true classes, (n,)
        models : predictions of one model, or a mapping from name to predictions
            P(positive class), (n,), or `Posteriors`; also raw `Scores`, except for the Brier curve
        positive : label of the positive class; may be left out for labels 0/1 and booleans
        prevalence : share of positives where the models are to be used; by default that of the
            cases
        cost_proportions : increasing, within [0, 1]; by default 0, 0.01, …, 1
        weights, clusters : of the cases, as in `stakes.evaluate`
        level : confidence level of the intervals

        Returns
        -------
        LossDisplay
            The display, ready to plot.
        """
        needed = cls.probabilities
        cases = read_two_classes(
            y_true, models, positive, prevalence, weights, clusters, probabilities=needed
        )
        grid = grid_of("cost_proportions", cost_proportions, COST_PROPORTIONS, inside=False)
        level = _check.level(level)
        lines = [cls._mean(cases, name, grid, level).line(name, grid) for name in cases.scores]
        share = cases.prevalence
        blind = 2 * np.minimum(grid * (1 - share), (1 - grid) * share)
        unaided, limits = {"no model": blind}, _limits(lines, blind)
        return cls._of_lines(lines, unaided, limits, level, cases.library, cases.note)

    @classmethod
    @abstractmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        """Loss of one model with its interval."""


class CostCurveDisplay(LossDisplay):
    """The cost curve: loss of the best threshold at each cost proportion (Drummond and Holte).

    It is the lower envelope of the cost lines of all thresholds. Since the threshold is chosen on
    the cases that measure its loss, the curve is a little too low in small samples; its interval is
    that of the chosen threshold.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = CostCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"].round(3).tolist()
    [0.2, 0.25, 0.3, 0.25]
    """

    @classmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        best = Optimal().threshold(cases.table(model), grid)
        return cases.mean_at([model], best, _losses(grid), level)


class BrierCurveDisplay(LossDisplay):
    """The Brier curve: loss when the cost proportion is the threshold; the area is the Brier score.

    The distance above the cost curve is the loss due to bad calibration.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = BrierCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"][:2].round(3).tolist()
    [0.2, 0.25]
    """

    probabilities = True

    @classmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        return cases.mean_at([model], grid, _losses(grid), level)


class RateDrivenCurveDisplay(LossDisplay):
    r"""The rate-driven curve: the share 1 − c of the cases gets the positive decision.

    The area is π₀π₁(1 − 2 AUC) + 1/3. The threshold depends on all cases: with the share p of
    positives at the threshold, as isotonic regression estimates it, the loss is to first order a
    mean over cases,

    .. math:: Q(c) = 2c(1 - c) + 2\,E\{[y = 1]\,([s \le t] - c) - p\,([s \le t] - c)\}

    and has the interval of such a mean.

    Examples
    --------
    >>> y, p = [0, 0, 0, 1] * 25, [0.02, 0.35, 0.3, 0.3] * 25
    >>> display = RateDrivenCurveDisplay.from_predictions(y, p, cost_proportions=[0.2, 0.5])
    >>> display.columns()["loss"][:2].round(3).tolist()
    [0.22, 0.5]
    """

    @classmethod
    def _mean(cls, cases: ScoredCases, model: str, grid: FloatArray, level: float) -> PointwiseMean:
        table = cases.table(model)
        exact = RateDriven().loss_curve(table, CostProportions)(grid)
        threshold = RateDriven().threshold(table, grid)
        pooled = bin_sums(table, HullBins())
        # A threshold above all scores belongs to the last bin.
        at = np.searchsorted(table.scores, threshold).clip(max=table.scores.size - 1)
        share = pooled.shares[pooled.numbers[at]]
        below = np.array([1.0, 0.0]) - grid[:, None]  # by decision: negative, positive
        values = (np.array([0.0, 1.0]) - share[:, None])[..., None] * below[:, None, :]
        mean = cases.mean_at([model], threshold, 2 * values, level)
        shift = exact - mean.value  # 2c(1 − c), and the remainder of tied scores
        return PointwiseMean(exact, mean.low + shift, mean.high + shift)


def _losses(grid: FloatArray) -> FloatArray:
    """Costs (P, 2, 2) of each class and decision at cost proportions."""
    values = np.zeros((grid.size, 2, 2))
    values[:, 0, 1], values[:, 1, 0] = 2 * grid, 2 * (1 - grid)
    return values


def _limits(lines: list[BandedLine], blind: FloatArray) -> tuple[float, float]:
    """Limits of the vertical axis around all bands.

    The line of no model is included unless it would make the bands less than 1/1.7 of the height.
    """
    _, top = extent([line.high for line in lines if line.high is not None])
    return 0.0, max(1.05 * top, min(1.05 * float(blind.max()), 1.7 * top), 1e-9)
