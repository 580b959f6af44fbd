r"""Decomposition of a mean score into miscalibration, discrimination and uncertainty.

.. math:: S = \underbrace{(S - S_{recal})}_{MCB} - \underbrace{(S_{prior} - S_{recal})}_{DSC}
          + \underbrace{S_{prior}}_{UNC}

:math:`S_{recal}` is the score after recalibration and :math:`S_{prior}` that of the prior-only
system. For two classes the recalibration is isotonic regression (CORP; Dimitriadis, Gneiting and
Jordan, 2021), which is the best non-decreasing map for every proper score at once. For many classes
it is any calibrator, held out or cross-validated.
"""

from __future__ import annotations

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio, weighted_sum
from stakes._check import FloatArray, Numbers, unwrapped
from stakes._value import Value, record
from stakes.calibration.calibrator import Calibrator
from stakes.calibration.crossfit import cross_calibrate
from stakes.scoring import (
    HullBins,
    ScoringRule,
    bin_sums,
    expected_score,
    posterior_pairs,
    read_forecasts,
    table_score,
)
from stakes.tally import ScoreTable


@record
class Decomposition(Value):
    """Parts of a mean score: score = miscalibration − discrimination + uncertainty, each (…).

    Parameters
    ----------
    score : the mean score
    miscalibration : what recalibration would save
    discrimination : what looking at the cases earns
    uncertainty : score of the class shares

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> parts = decompose(ScoreTable([0.2, 0.7], [[3, 1], [1, 2]]), HalfBrier())
    >>> float(parts.miscalibration.round(4)), float(parts.refinement.round(4))
    (0.0019, 0.2024)
    """

    score: Numbers
    miscalibration: Numbers
    discrimination: Numbers
    uncertainty: Numbers

    @property
    def miscalibration_share(self) -> Numbers:
        """Miscalibration as a share of the score, which recalibration would save; nan for 0/0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return unwrapped(self.miscalibration / self.score)

    @property
    def refinement(self) -> Numbers:
        """The score after recalibration, uncertainty − discrimination."""
        return unwrapped(self.uncertainty - self.discrimination)


def _parts(score: object, recalibrated: object, uncertainty: object) -> Decomposition:
    """The decomposition, from the scores before and after recalibration and of the prior."""
    s, r, u = (unwrapped(part) for part in (score, recalibrated, uncertainty))
    with np.errstate(invalid="ignore"):
        return Decomposition._trusted(
            score=s,
            miscalibration=unwrapped(s - r),
            discrimination=unwrapped(u - r),
            uncertainty=u,
        )


def isotonic_posteriors(table: ScoreTable) -> FloatArray:
    """The posterior that isotonic regression gives each score on the table itself, (…, S)."""
    pooled = bin_sums(table, HullBins())
    return np.take_along_axis(pooled.shares, pooled.numbers, axis=-1)


def decompose(table: ScoreTable, rule: ScoringRule) -> Decomposition:
    """Miscalibration, discrimination and uncertainty of two-class scores, by isotonic regression.

    All three are never negative, up to rounding. nan without cases; the miscalibration is inf
    where the score is.

    The map is fitted on the same cases on which it is evaluated, so that miscalibration and
    discrimination are both too large: calibrated scores show a miscalibration above zero, which
    shrinks as cases are added. For a figure without that bias use
    `decompose_by_cross_calibration`, and in the currency of a problem `cost_of_miscalibration` with
    posteriors from `cross_calibrate`.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    rule : the proper scoring rule

    Returns
    -------
    the three parts, each (…)

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> parts = decompose(ScoreTable.from_scores([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.9]), HalfBrier())
    >>> [float(part.round(4)) for part in (parts.score, parts.miscalibration, parts.discrimination)]
    [0.185, 0.06, 0.125]
    """
    score = table_score(table, rule)
    posteriors = np.nan_to_num(isotonic_posteriors(table))  # nan where a score has no cases
    losses = rule.losses_by_class(posterior_pairs(posteriors))
    after = ratio(weighted_sum(table.weights, losses, axis=(-2, -1)), table.n_cases)
    return _parts(score, after, rule.entropy(table.shares))


def decompose_by_recalibration(
    y_true: object,
    posteriors: object,
    recalibrated: object,
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
) -> Decomposition:
    """Decomposition for any number of classes, given posteriors before and after recalibration.

    The recalibrated posteriors come from a map that was fitted on other cases: held out, or from
    `cross_calibrate`. Parts may be slightly negative, because such a map is not the best for these
    cases. Under a prior, all three scores are those of the deployment, and the recalibrated
    posteriors should be fitted for it.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    recalibrated : the same posteriors after recalibration
    rule : the proper scoring rule
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    the three parts

    Examples
    --------
    >>> from stakes.scoring import Brier
    >>> before, after = [[0.9, 0.1], [0.9, 0.1]], [[0.5, 0.5], [0.5, 0.5]]
    >>> float(decompose_by_recalibration([0, 1], before, after, Brier()).miscalibration.round(9))
    0.32
    """
    before = read_forecasts(y_true, posteriors, classes, weights)
    # Weights were checked with the first forecasts; the classes of these name the columns of both.
    after = read_forecasts(y_true, recalibrated, before.classes, name="recalibrated")
    score, shares = expected_score(before, rule, weights, prior)
    return _parts(score, expected_score(after, rule, weights, prior)[0], rule.entropy(shares))


def decompose_by_cross_calibration(
    y_true: object,
    posteriors: object,
    rule: ScoringRule,
    calibrator: Calibrator,
    folds: object,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
    clusters: object = None,
    rng: np.random.Generator | None = None,
) -> Decomposition:
    """Decomposition for any number of classes, recalibrated by `cross_calibrate`.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    rule : the proper scoring rule
    calibrator : what to recalibrate with
    folds : number of folds, or labels of the fold of each case
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data
    clusters : labels, one per case, of what was sampled together
    rng : the generator that draws

    Returns
    -------
    the three parts

    Examples
    --------
    >>> from stakes.calibration import Isotonic
    >>> from stakes.scoring import HalfBrier
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(400) < 0.3
    >>> p = np.clip(0.3 + 0.3 * (y - 0.3) + rng.normal(0, 0.1, 400), 0, 1)
    >>> parts = decompose_by_cross_calibration(y, p, HalfBrier(), Isotonic(), np.arange(400) % 5)
    >>> bool(parts.discrimination > 0)
    True
    """
    with _check.renamed(scores="posteriors", y="y_true"):
        recalibrated = cross_calibrate(
            posteriors,
            y_true,
            calibrator,
            folds,
            classes=classes,
            weights=weights,
            prior=prior,
            clusters=clusters,
            rng=rng,
        )
    return decompose_by_recalibration(
        y_true, posteriors, recalibrated, rule, classes=classes, weights=weights, prior=prior
    )
