"""Decision curves: net benefit over the threshold probability (Vickers and Elkin, 2006)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import running_sum
from stakes._check import FloatArray
from stakes._value import Value, record
from stakes.curve import Curve
from stakes.ranking import single
from stakes.scoring import probability_scores
from stakes.tally import ScoreTable


@record
class DecisionCurve(Value):
    """Net benefit of a model beside the two policies that need no model; higher is better.

    Attributes
    ----------
    net_benefit : Curve on [0, 1]
        Of treating the cases whose score exceeds the threshold probability.
    treat_all, treat_none : Curve
        Of treating everybody, and nobody.
    prevalence : share of positives

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = decision_curve(ScoreTable([0.1, 0.4], [[6, 1], [1, 2]]))
    >>> float(curve.net_benefit(0.2).round(3)), float(curve.treat_all(0.2).round(3))
    (0.175, 0.125)
    """

    net_benefit: Curve
    treat_all: Curve
    treat_none: Curve
    prevalence: float

    @property
    def standardized(self) -> Curve:
        """Net benefit over prevalence, the most that any model could reach: at most one.

        nan everywhere without positives.
        """
        if not self.prevalence > 0:
            return Curve.undefined(0.0, 1.0)
        return self.net_benefit * (1 / self.prevalence)

    def interventions_avoided(self, p: npt.ArrayLike) -> FloatArray:
        r"""Net interventions avoided per case, compared with treating all.

        .. math:: \frac{NB(p) - NB_{all}(p)}{p / (1 - p)}
                  = \frac{TN}{n} - \frac{FN}{n}\,\frac{1 - p}{p}

        A missed positive counts as (1 − p)/p interventions. Elementwise in the threshold
        probability p; nan outside [0, 1]. At p = 0 it is -inf with missed positives, else TN/n.

        Parameters
        ----------
        p : threshold probabilities

        Returns
        -------
        interventions per case, elementwise

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> curve = decision_curve(ScoreTable([0.1, 0.4], [[6, 1], [1, 2]]))
        >>> curve.interventions_avoided(0.2).round(3).tolist()
        0.2
        """
        points = _check.reals("p", p)
        hits, alarms = (
            _part(self.net_benefit, column)(points)
            for column in (0, 3)  # the shares TP/n and -FP/n
        )
        missed, spared = self.prevalence - hits, (1 - self.prevalence) + alarms
        # At p = 0 a missed case has an infinite price; where none is missed, nothing is paid.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            price = (1 - points) / points * missed
        return np.asarray(spared - np.where(missed == 0, 0.0, price))


def _part(curve: Curve, column: int) -> Curve:
    """One column of the coefficients as a curve of constants; nan stays nan."""
    constants = np.zeros_like(curve.coefficients)
    constants[:, 0] = curve.coefficients[:, column]
    if np.isnan(curve.coefficients).any():
        constants[:, 0] = np.nan
    return Curve._trusted(knots=curve.knots, coefficients=constants)


def decision_curve(table: ScoreTable) -> DecisionCurve:
    r"""Net benefit of acting on probabilities that exceed a threshold probability p.

    .. math:: NB(p) = \frac{TP(p)}{n} - \frac{FP(p)}{n}\,\frac{p}{1 - p}

    The curve is exact: linear in the odds between two scores, with a jump at every score; a score
    equal to p gets the negative decision. At p = 1 nobody is treated and the value is 0; that of
    treating all is -inf. The threshold p is the cost proportion, and the expected cost at costs p
    and 1 - p is
    (1 - p)(π₁ - NB(p)); ferrer-ec, eq 25 to 27. Scores must be probabilities;
    ``table.with_prior(q)`` gives the curve in deployment.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    net benefit of the model, of treating all and of treating none

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> curve = decision_curve(ScoreTable([0.1, 0.4], [[6, 1], [1, 2]]))
    >>> curve.net_benefit([0.0, 0.2, 0.4]).round(3).tolist()
    [0.3, 0.175, 0.0]
    >>> curve.treat_all(0.2).round(3).tolist()
    0.125
    """
    weights, scores = single(table, "a decision curve"), probability_scores(table)
    if not table.n_cases > 0:
        nothing = Curve.undefined(0.0, 1.0)
        return DecisionCurve(nothing, nothing, nothing, float("nan"))
    # Only scores strictly inside (0, 1) are knots; those at 0 and 1 belong to the limits.
    first, last = np.searchsorted(scores, 0.0, side="right"), scores.size - int(scores[-1] == 1)
    knots = np.concatenate([[0.0], scores[first:last], [1.0, 1.0]])
    # Sums are written where they stay: hits are constants, false alarms are linear in the odds.
    pieces = np.zeros((4, scores.size + 2))
    for k, row, cases in ((1, pieces[0], table.n_cases), (0, pieces[3], -table.n_cases)):
        running_sum(weights[::-1, k], out=row[-3::-1])
        row[:-2] /= cases
    prevalence, negative = float(pieces[0, 0]), -float(pieces[3, 0])
    return DecisionCurve(
        # The last piece, of zeros, is the point p = 1.
        net_benefit=Curve._trusted(knots=knots, coefficients=pieces[:, first : last + 2].T),
        treat_all=Curve([0.0, 1.0], [[prevalence, 0.0, 0.0, -negative]]),
        treat_none=Curve([0.0, 1.0], [[0.0]]),
        prevalence=prevalence,
    )
