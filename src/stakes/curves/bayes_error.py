"""Bayes-error plots: error rates of log-likelihood ratios at every prior (Brümmer)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio
from stakes._check import FloatArray
from stakes._value import Value, record
from stakes.ranking import hull, single, weights_above
from stakes.tally import ScoreTable


@record
class BayesErrorRate(Value):
    """Error rate of Bayes decisions as a function of the log-odds of the positive class.

    Calling it with prior log-odds gives the error rate, elementwise: the positive decision is
    taken where log-likelihood ratio plus prior log-odds exceed zero.

    Attributes
    ----------
    log_likelihood_ratios : (T,) array
        Increasing; here the decisions change.
    false_alarm_rate, miss_rate : (T + 1,) arrays
        Entry j holds when ``log_likelihood_ratios[j:]`` get the positive decision; nan where the
        class is absent.

    Examples
    --------
    At even prior odds one of two negatives has a positive log-likelihood ratio, and no positive a
    negative one:

    >>> from stakes.tally import ScoreTable
    >>> rate = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0])).actual
    >>> float(rate(0.0)), float(rate.normalized(0.0))
    (0.25, 0.5)
    """

    log_likelihood_ratios: FloatArray
    false_alarm_rate: FloatArray
    miss_rate: FloatArray

    def __call__(self, prior_log_odds: npt.ArrayLike) -> FloatArray:
        """Error rate at these prior log-odds."""
        from scipy.special import expit

        log_odds = _check.reals("prior_log_odds", prior_log_odds)
        false_alarm_rate, miss_rate = self._rates(log_odds)
        return np.asarray(expit(log_odds) * miss_rate + expit(-log_odds) * false_alarm_rate)

    def normalized(self, prior_log_odds: npt.ArrayLike) -> FloatArray:
        """Error rate over that of the best constant decision: below one, the scores help.

        The normalised expected cost of ferrer-ec, eq 4, for costs and priors that make these
        odds.

        Parameters
        ----------
        prior_log_odds : log-odds of the prior

        Returns
        -------
        normalised error rates, elementwise

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
        >>> plot.actual.normalized([0.0])
        array([0.5])
        """
        log_odds = _check.reals("prior_log_odds", prior_log_odds)
        false_alarm_rate, miss_rate = self._rates(log_odds)
        # Divided by the smaller prior, one class has the factor one and the other the odds, which
        # may overflow; a rate of zero then has to stay zero.
        with np.errstate(over="ignore", invalid="ignore"):
            alarms = np.exp(np.maximum(-log_odds, 0)) * false_alarm_rate
            misses = np.exp(np.maximum(log_odds, 0)) * miss_rate
        return np.asarray(
            np.where(false_alarm_rate == 0, 0.0, alarms) + np.where(miss_rate == 0, 0.0, misses)
        )

    def _rates(self, log_odds: FloatArray) -> tuple[FloatArray, FloatArray]:
        # Posterior log-odds of zero are a tie: side="right" decides it for the negative class.
        cut = np.searchsorted(self.log_likelihood_ratios, -log_odds, side="right")
        return self.false_alarm_rate[cut], self.miss_rate[cut]


@record
class BayesErrorPlot(Value):
    """What bad calibration costs at every prior: actual error rates, and those of best thresholds.

    Attributes
    ----------
    actual : BayesErrorRate
        Of the scores, read as log-likelihood ratios.
    minimum : BayesErrorRate
        Of the best threshold at every prior, which the segments of the ROC hull give. Its largest
        value is the equal error rate on the hull.

    Examples
    --------
    Scores that rank perfectly, but are all positive: half of the decisions are wrong, none need be.

    >>> from stakes.tally import ScoreTable
    >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 0, 1, 1], [0.5, 1.0, 2.0, 3.0]))
    >>> float(plot.actual(0.0)), float(plot.minimum(0.0))
    (0.5, 0.0)
    """

    actual: BayesErrorRate
    minimum: BayesErrorRate

    @staticmethod
    def reference(prior_log_odds: npt.ArrayLike) -> FloatArray:
        """Error rate of the best constant decision, the smaller of the two priors.

        Parameters
        ----------
        prior_log_odds : log-odds of the prior

        Returns
        -------
        error rates, elementwise

        Examples
        --------
        >>> BayesErrorPlot.reference([-2, 0]).round(4).tolist()
        [0.1192, 0.5]
        """
        from scipy.special import expit

        return np.asarray(expit(-np.abs(_check.reals("prior_log_odds", prior_log_odds))))

    def columns(self, prior_log_odds: npt.ArrayLike) -> dict[str, FloatArray]:
        """All curves at these prior log-odds, plain and normalised.

        Parameters
        ----------
        prior_log_odds : log-odds of the prior

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> from stakes.tally import ScoreTable
        >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
        >>> plot.columns([0.0])["minimum"]
        array([0.25])
        """
        return {
            "prior_log_odds": _check.reals("prior_log_odds", prior_log_odds),
            "actual": self.actual(prior_log_odds),
            "minimum": self.minimum(prior_log_odds),
            "reference": self.reference(prior_log_odds),
            "actual_normalized": self.actual.normalized(prior_log_odds),
            "minimum_normalized": self.minimum.normalized(prior_log_odds),
        }


def bayes_error_plot(table: ScoreTable) -> BayesErrorPlot:
    """Error rates of Bayes decisions at every prior, for scores that are log-likelihood ratios.

    There is a step for each score instead of a grid of thresholds, so that the curves are exact at
    every prior. Class shares of the data do not matter. Where the actual curve lies clearly above
    the minimum, calibration is bad; where the normalised curve exceeds one, a constant decision is
    better. Costs shift the prior: a false alarm at cost a and a miss at cost b add log(b/a) to the
    log-odds. nan where a class is absent; Brümmer and de Villiers (2013), The BOSARIS toolkit;
    ferrer-ec, section 2.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (S, 2)

    Returns
    -------
    curves over the log-odds of the prior

    Examples
    --------
    >>> from stakes.tally import ScoreTable
    >>> plot = bayes_error_plot(ScoreTable.from_scores([0, 1, 0, 1], [-1.5, 0.2, 0.3, 3.0]))
    >>> plot.actual([-5, 0, 5]).round(4).tolist()
    [0.0067, 0.25, 0.0067]
    >>> plot.minimum([-5, 0, 5]).round(4).tolist()
    [0.0033, 0.25, 0.0033]
    """
    weights = single(table, "a Bayes-error plot")
    cuts, segments = hull(table).cuts, hull(table).segments
    totals = table.class_weights
    # The slope of a segment of the hull is the likelihood ratio of its scores. A segment with cases
    # of one class only has an infinite logarithm, which no prior outweighs.
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.log(segments / totals)
        best = relative[:, 1] - relative[:, 0]
    return BayesErrorPlot(
        actual=_rate(table.scores, weights, np.arange(len(weights) + 1)),
        minimum=_rate(best, weights, cuts),
    )


def _rate(
    log_likelihood_ratios: FloatArray, weights: FloatArray, cuts: npt.NDArray[np.intp]
) -> BayesErrorRate:
    above = weights_above(weights)
    alarms, hits = above[:, 0], above[:, 1]
    return BayesErrorRate._trusted(
        log_likelihood_ratios=log_likelihood_ratios,
        false_alarm_rate=ratio(alarms, alarms[:1])[cuts],
        miss_rate=ratio(hits[:1] - hits, hits[:1])[cuts],
    )
