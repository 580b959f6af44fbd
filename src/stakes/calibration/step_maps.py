"""Maps made of steps: isotonic regression of the class on the score, and histogram binning."""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np

from stakes import _check
from stakes._check import BoolArray, FloatArray, IntArray, Labels
from stakes._value import record
from stakes.calibration.calibrator import (
    CalibrationCases,
    CalibrationMap,
    CheckedCalibrator,
    in_shape_of,
    one_score_each,
    read_posterior_cases,
    read_score_cases,
    require_increasing,
    require_rising,
    require_shape,
    require_two,
)
from stakes.errors import InputError
from stakes.rows import read_posteriors
from stakes.scoring import CutBins
from stakes.tally import ScoreTable


@record
class FittedIsotonic(CalibrationMap):
    """A non-decreasing map: constant within blocks of the fit, linear between, flat outside.

    Posteriors of the outermost blocks may be exactly 0 and 1: a new case of the other class then
    has an infinite log loss.

    Attributes
    ----------
    knots : (B,) scores at which blocks begin and end
    values : (B,) posteriors there
    below, above : posteriors of the scores −inf and inf
    """

    kind: ClassVar[str] = "isotonic"
    _monotone_of_two = True

    knots: FloatArray
    values: FloatArray
    below: float
    above: float
    classes: Labels
    converged: bool = True

    def _checked(self) -> Self:
        require_two(self.classes)
        require_increasing("knots", self.knots)
        require_shape("values", self.values, self.knots.shape)
        _check.probabilities("values", self.values)
        require_rising("values", self.values)
        for name in ("below", "above"):
            _check.number(name, getattr(self, name), low=0, high=1)
        rising = np.concatenate([[self.below], self.values, [self.above]])
        require_rising("below, values and above", rising)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """P(second class), (n,), from real or infinite scores (n,)."""
        return self._at(one_score_each(scores, self.classes))

    def _at(self, scores: FloatArray) -> FloatArray:
        if not self.knots.size:  # all scores of the fit were infinite
            return np.where(scores < 0, self.below, self.above)
        # Linear between blocks, so that the map is monotone and continuous for new scores.
        result = np.interp(scores, self.knots, self.values)
        # Between knots so close that the slope is beyond all numbers, the upper one counts.
        beyond = ~np.isfinite(result)
        if beyond.any():
            result[beyond] = self.values[np.searchsorted(self.knots, scores[beyond])]
        result[scores == -np.inf] = self.below
        result[scores == np.inf] = self.above
        return result


@record
class Isotonic(CheckedCalibrator[FittedIsotonic]):
    """Isotonic regression (PAV) on any real scores, infinities included.

    Of all non-decreasing maps the fitted one has the least value of every proper score on the data
    of the fit, and its values follow from the slopes of the ROC hull (hernandez-orallo, section
    7.2). Between blocks of the fit it is linear.

    Examples
    --------
    >>> fitted = Isotonic().fit([-2.0, 0.0, 0.5, 3.0], [0, 1, 0, 1])
    >>> fitted([-9.0, 0.0, 0.25, 0.5, 1.75, 9.0])
    array([0.  , 0.5 , 0.5 , 0.5 , 0.75, 1.  ])
    """

    _read = staticmethod(read_score_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedIsotonic:
        return fit_blocks(scores, cases.weights, cases.codes == 1, cases.classes)

    def _fit_parts(
        self, scores: object, negative: FloatArray, positive: FloatArray
    ) -> list[CalibrationMap | None]:
        # Scores are sorted once, and each part has the weights of both classes at each of them.
        values = one_score_each(scores, (0, 1))
        order = np.argsort(values)
        ordered = values[order] + 0.0  # turns −0.0 into 0.0
        first = np.flatnonzero(np.append(True, ordered[1:] > ordered[:-1]))
        hits, misses = (
            np.add.reduceat(weights[:, order], first, axis=1) for weights in (positive, negative)
        )
        mass = hits + misses
        return [
            _pooled(ordered[first[seen]], hit[seen], weight[seen], (0, 1))
            for hit, weight, seen in zip(hits, mass, mass > 0, strict=True)
        ]


def fit_blocks(
    scores: FloatArray, weights: FloatArray, positive: BoolArray, classes: Labels
) -> FittedIsotonic:
    """Pool equal scores, then adjacent violators."""
    # Counting is faster than summing weights that are all one.
    unequal = None if (weights == 1).all() else weights
    table = ScoreTable._of_codes(positive.astype(np.intp), scores, unequal, classes)
    ordered, sums = table.scores, table.weights
    return _pooled(ordered, np.ascontiguousarray(sums[:, 1]), sums[:, 0] + sums[:, 1], classes)


def _pooled(
    scores: FloatArray, hits: FloatArray, mass: FloatArray, classes: Labels
) -> FittedIsotonic:
    """Pool adjacent violators among distinct scores with these weights of positives and of all."""
    from scipy.optimize import isotonic_regression

    fitted = isotonic_regression(hits / mass, weights=mass)
    first, last = fitted.blocks[:-1], fitted.blocks[1:] - 1
    # From sums of weights, not from the means that scipy averages: shares such as 1/3 are exact.
    shares = np.add.reduceat(hits, first) / np.add.reduceat(mass, first)
    return _from_blocks(scores, first, last, np.clip(shares, 0.0, 1.0), classes)


def _from_blocks(
    scores: FloatArray,
    first: IntArray,
    last: IntArray,
    shares: FloatArray,
    classes: Labels,
) -> FittedIsotonic:
    """The map from the first and last scores of the blocks and their shares of positives."""
    shares = np.maximum.accumulate(shares)  # so that rounding cannot make the map decrease
    # Both ends of a block are knots; a block of a single score has one knot.
    ends = np.zeros(scores.size, dtype=bool)
    ends[first] = ends[last] = True
    knots, values = scores[ends], np.repeat(shares, 1 + (first < last))
    finite = np.isfinite(knots)
    return FittedIsotonic._trusted(
        knots=knots[finite],
        values=values[finite],
        below=float(shares[0]),
        above=float(shares[-1]),
        classes=classes,
        converged=True,
    )


@record
class FittedOneVsRest(CalibrationMap):
    """One non-decreasing map for each class; posteriors are their values, divided by their sum.

    Where all of them are zero, all classes are equally probable.
    """

    kind: ClassVar[str] = "one vs rest isotonic"
    _monotone_of_two = True

    maps: tuple[FittedIsotonic, ...]
    classes: Labels
    converged: bool = True

    def _checked(self) -> Self:
        size = len(self.classes)
        if len(self.maps) != size or not all(isinstance(m, FittedIsotonic) for m in self.maps):
            raise InputError(
                f"maps must be {size} isotonic maps, one for each class; these are "
                f"{[part.kind for part in self.maps]}. Fit again."
            )
        return self

    def __call__(self, scores: object) -> FloatArray:
        """Calibrated posteriors, (n,) or (n, K), from posteriors of the same shape."""
        rows = read_posteriors("scores", scores, self.classes)
        values = np.stack([part(rows[:, k]) for k, part in enumerate(self.maps)], axis=1)
        totals = values.sum(axis=1, keepdims=True)
        # Where every map gives zero, nothing is known about the case: all classes are as likely.
        values = np.where(totals > 0, values, 1.0)
        return in_shape_of(scores, values / values.sum(axis=1, keepdims=True))


@record
class OneVsRestIsotonic(CheckedCalibrator[FittedOneVsRest]):
    """`Isotonic` on every column of posteriors, its class against all others, then normalised.

    It follows any shape, class by class, but normalising may undo part of the calibration.

    Examples
    --------
    >>> q = [[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6], [0.6, 0.2, 0.2]]
    >>> OneVsRestIsotonic().fit(q, [0, 1, 2, 1])(q)[3]
    array([0., 1., 0.])
    """

    _read = staticmethod(read_posterior_cases)

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedOneVsRest:
        maps = tuple(
            fit_blocks(np.ascontiguousarray(column), cases.weights, cases.codes == k, (0, 1))
            for k, column in enumerate(scores.T)
        )
        return FittedOneVsRest._trusted(maps=maps, classes=cases.classes, converged=True)


@record
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
        require_two(self.classes)
        require_increasing("cuts", self.cuts)
        require_shape("values", self.values, (self.cuts.size + 1,))
        _check.probabilities("values", self.values)
        return self

    def __call__(self, scores: object) -> FloatArray:
        """P(second class), (n,), from real or infinite scores (n,)."""
        values = one_score_each(scores, self.classes)
        return np.asarray(self.values[np.searchsorted(self.cuts, values, side="left")])


@record
class Histogram(CheckedCalibrator[FittedHistogram]):
    """Histogram binning: the share of positives of each bin (Zadrozny and Elkan, 2001).

    A bin without cases gets a value interpolated between its neighbours. The map need not be
    monotone.

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

    def _fitted(self, scores: FloatArray, cases: CalibrationCases) -> FittedHistogram:
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
            # A new score may fall into a bin that had no cases, which is interpolated.
            values=np.interp(np.arange(cuts.size + 1), full, shares),
            classes=cases.classes,
            converged=True,
        )
