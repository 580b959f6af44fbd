"""Expected loss over a distribution of operating conditions, and Hand's H."""

from __future__ import annotations

import numpy as np

from stakes._check import Numbers, require, unwrapped
from stakes.conditions import Condition, CostProportions, Distribution
from stakes.errors import InputError
from stakes.tally import ScoreTable
from stakes.thresholds.case_losses import score_driven_losses
from stakes.thresholds.methods import Method, Optimal


def expected_loss(table: ScoreTable, method: Method, condition: Condition) -> Numbers:
    r"""Mean loss over the operating conditions, when thresholds are chosen by a method.

    .. math:: L = \int_0^1 Q(T(c); c)\,dW(c), \quad
              Q(t; c) = 2\{c\,\pi_0\,FPR(t) + (1-c)\,\pi_1\,FNR(t)\}

    With skews, the classes have equal shares. The sum is exact for every named distribution, also
    at atoms: a score equal to the threshold gets the negative decision. nan where one of the
    classes is absent. Shape (...,), the leading axes of the table; hernandez-orallo, eq 4 and 5.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    method : how thresholds are chosen, such as `ScoreDriven()`
    condition : distribution of cost proportions or skews

    Returns
    -------
    mean loss, (…)

    Examples
    --------
    If the cost proportion is the threshold, and all proportions are equally likely, the expected
    loss is the Brier score:

    >>> from stakes.conditions import CostProportions
    >>> from stakes.tally import ScoreTable
    >>> from stakes.thresholds import RateDriven, ScoreDriven
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(float(expected_loss(table, ScoreDriven(), CostProportions())), 6)
    0.158125

    If the threshold is set by the rate of positive decisions, it is 1/3 + π₀π₁(1 - 2 AUC), here
    for an AUC of 3/4:

    >>> round(float(expected_loss(table, RateDriven(), CostProportions())), 6)
    0.208333
    """
    require("method", method, Method, "Write ScoreDriven(), Optimal() or another.")
    if not isinstance(condition, Condition):
        raise InputError(
            f"condition must say what the distribution is about; got {condition!r}. "
            f"Wrap it: CostProportions(distribution) or Skews(distribution)."
        )
    return method.mean_loss(condition.population(table), condition.distribution)


def h_measure(table: ScoreTable, distribution: Distribution) -> Numbers:
    r"""Hand's H: the share of the loss of blind decisions that optimal thresholds save.

    .. math:: H = 1 - \frac{L^o}{\int_0^1 \min\{2 c \pi_0, 2 (1-c) \pi_1\}\,dW(c)}

    One for a perfect ranking, zero when the scores say nothing; higher is better. The
    distribution is over cost proportions: Hand (2009) proposed Beta(2, 2), Hand and Anagnostopoulos
    `Beta.hand` in 2012; `Beta.severity` is the default of their R package, and what reports show.
    Scores that rank in reverse are not turned round. nan where a class is absent or where blind
    decisions cost nothing. Shape (...,); hernandez-orallo, section 8.

    Parameters
    ----------
    table : distinct scores and the weight of each class at them, (…, S, 2)
    distribution : distribution of cost proportions, such as `Beta(2, 2)`

    Returns
    -------
    H, (…), between 0 and 1

    Examples
    --------
    >>> from stakes.conditions import Beta
    >>> from stakes.tally import ScoreTable
    >>> table = ScoreTable.from_scores([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> round(float(h_measure(table, Beta(2, 2))), 6)
    0.5
    """
    condition = CostProportions(distribution)
    negative, positive = np.moveaxis(table.shares, -1, 0)
    # Blind decisions are the optimal ones if all cases have the same score, the share of positives.
    alarm, miss = score_driven_losses(positive, condition.distribution)
    blind = negative * alarm + positive * miss
    undefined = np.full(blind.shape, np.nan)
    loss = expected_loss(table, Optimal(), condition)
    return unwrapped(1 - np.divide(loss, blind, out=undefined, where=blind > 0))
