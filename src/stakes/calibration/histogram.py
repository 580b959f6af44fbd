"""Histogram binning: the posterior of a score is the share of positives in its bin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Labels
from stakes.calibration.calibrator import Cases, CheckedCalibrator, read_score_cases, real_scores
from stakes.calibration.maps import (
    CalibrationMap,
    require_increasing,
    require_labels,
    require_shape,
)
from stakes.errors import InputError
from stakes.scoring import CutBins
from stakes.tally import ScoreTable


@dataclass(frozen=True, eq=False)
class FittedHistogram(CalibrationMap):
    """A step map: bin (low, high] between cuts, and the outer bins reach to infinity.

    Attributes
    ----------
    cuts : (B − 1,) increasing scores between the bins
    values : (B,) posteriors of the bins
    """

    kind: ClassVar[str] = "histogram"

    cuts: FloatArray
    values: FloatArray
    classes: Labels
    converged: bool = True

    def _checked(self) -> Self:
        require_labels(self.classes, 2)
        require_increasing("cuts", self.cuts)
        require_shape("values", self.values, (self.cuts.size + 1,))
        _check.probabilities("values", self.values)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """P(second class), (n,), from real or infinite scores (n,)."""
        values = real_scores(scores, self.classes)
        return np.asarray(self.values[np.searchsorted(self.cuts, values, side="left")])


@dataclass(frozen=True, eq=False)
class Histogram(CheckedCalibrator[FittedHistogram]):
    """Histogram binning: the share of positives of each bin (Zadrozny and Elkan, 2001).

    A bin without cases takes the value between its neighbours'. The map need not rise.

    Parameters
    ----------
    bins : EqualWidth (for scores in [0, 1]), EqualMass or Edges

    Examples
    --------
    >>> from stakes.scoring import EqualMass
    >>> Histogram(EqualMass(2)).fit([0.1, 0.2, 0.6, 0.9], [0, 0, 1, 0])([0.3, 0.7])
    array([0. , 0.5])
    """

    bins: CutBins

    def __post_init__(self) -> None:
        if not isinstance(self.bins, CutBins):
            raise InputError(
                f"bins must be EqualWidth, EqualMass or Edges, which can place new scores; "
                f"got {self.bins!r}. The blocks of the ROC hull are what Isotonic() fits."
            )

    _read = staticmethod(read_score_cases)

    def _fitted(self, scores: FloatArray, cases: Cases) -> FittedHistogram:
        table = ScoreTable.from_scores(cases.codes, scores, weights=cases.weights)
        cuts = self.bins.cuts(table)
        place = np.searchsorted(cuts, table.scores, side="left")
        negative, positive = (
            np.bincount(place, table.weights[:, k], minlength=cuts.size + 1) for k in (0, 1)
        )
        full = np.flatnonzero(negative + positive)
        shares = positive[full] / (negative + positive)[full]
        return FittedHistogram._trusted(
            cuts=cuts,
            # A new score may fall into a bin that had no cases: it gets the value between its
            # neighbours.
            values=np.interp(np.arange(cuts.size + 1), full, shares),
            classes=cases.classes,
            converged=True,
        )
