"""Prices of limits, from posteriors and a problem, and whether a system keeps them."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import BoolArray, FloatArray, IntArray, require, shapes
from stakes._text import measured, number, percent
from stakes._value import Value, record
from stakes.decide import label_array, mean_costs
from stakes.errors import InputError
from stakes.limits.deployed_cases import SHARE_ROUNDING, CountedCases, counted_cases, read_deployed
from stakes.limits.fitted_prices import DecidePriced, FittedPrices, fit_prices, loss_beyond
from stakes.problem import CaseCosts, Limit, Problem


@record
class LimitCheck(Value):
    """The share or rate of a system in deployment, with its interval, and the price of the limit.

    `price` is what one more unit of the limit saves at the margin, in the problem's unit: for a
    share, what one more case with the decision saves; for a rate, what loosening the rate by one
    saves per case. It is None where the system cannot follow a limit. `total` is what loosening the
    limit by one percentage point saves at the stated volume. If the only limit is an upper bound on
    a share, `capacity` says what other shares would cost per case on these cases.

    Examples
    --------
    >>> from stakes import Limit
    >>> check = LimitCheck(Limit.share("review", at_most=0.05), 0.08, 0.07, 0.09)
    >>> check.keeps, check.breaks, check.outcome
    (False, True, 'breaks')
    """

    limit: Limit
    value: float
    low: float
    high: float
    price: float | None = None
    total: float | None = None
    capacity: tuple[tuple[float, float, float], ...] = ()  # share, cost per case, price there

    @property
    def keeps(self) -> bool:
        """Whether the limit is clearly kept: the whole interval lies within it."""
        farthest = self.high if self.limit.sign > 0 else self.low
        return bool(self.limit.excess(farthest) <= SHARE_ROUNDING)

    @property
    def breaks(self) -> bool:
        """Whether the limit is clearly broken: the whole interval lies beyond it."""
        nearest = self.low if self.limit.sign > 0 else self.high
        return bool(self.limit.excess(nearest) > SHARE_ROUNDING)

    @property
    def outcome(self) -> str:
        """Whether it is shown that the system keeps or breaks the limit, in words."""
        if isnan(self.value):
            return "unknown"
        if self.breaks:
            return "breaks"
        return "keeps" if self.keeps else "not shown"

    @property
    def interval(self) -> tuple[str, str, str]:
        """Value, lower and upper bound in percent, with the digits that the interval supports."""
        texts = measured(100 * self.value, 100 * self.low, 100 * self.high)
        ranged = self.low < self.high and not isnan(self.value)
        return tuple(f"{text} %" for text in texts) if ranged else self._exact  # type: ignore[return-value]

    @property
    def _exact(self) -> tuple[str, str, str]:
        return percent(self.value), percent(self.low), percent(self.high)


@record(repr=False)
class PricedLimits(Value):
    """Prices of the limits of a problem, and a cheap deterministic rule that keeps them.

    Attributes
    ----------
    problem : the problem with its limits
    prices : (L,) what each limit costs at the margin, in the problem's unit
        For a share, what one more case with that decision would save; for a rate, what a rate that
        is looser by one would save per case. Zero where the limit does not bind.
    priced : the problem without limits whose Bayes decisions are the rule
        Its costs include prices. That of a single limit lies a little above its price in `prices`,
        halfway to the next case that would change, so that no case is tied; those of several may
        lie farther away, where the rule is cheaper.
    added : (L, K, M) what each limit adds to the costs of `problem`
    decisions : (n,) what the rule decides about these cases
    values : (L,) the share or rate of each limit on these cases, by their labels where they are
        known, else by their posteriors
    dual_value : cost per case of the best rule, which may randomise
    cost : cost per case of the rule, by the posteriors
    prior : (K,) the class shares at which limits are counted
    from_prior : (K,) the class shares for which the posteriors hold, if they are moved; else None

    Examples
    --------
    A review saves 10p − 1. One of these cases can be reviewed; a second review would save 2:

    >>> problem = Problem([[0, 1], [10, 1]], decisions=["pass", "review"],
    ...                   limits=[Limit.share("review", at_most=0.25)])
    >>> priced = price_limits([0.1, 0.2, 0.3, 0.4], problem)
    >>> priced.decisions.tolist(), priced.prices.round(6)
    (['pass', 'pass', 'pass', 'review'], array([2.]))
    """

    problem: Problem
    prices: FloatArray
    priced: Problem
    added: FloatArray
    decisions: npt.NDArray[Any]
    values: FloatArray
    dual_value: float
    cost: float
    prior: FloatArray
    from_prior: FloatArray | None

    @property
    def rounding_loss(self) -> float:
        """Cost per case above that of the best rule, which may randomise.

        No rule that keeps the limits by the posteriors saves more than this.
        """
        return loss_beyond(self.cost, self.dual_value)

    @property
    def kept(self) -> BoolArray:
        """Whether the rule keeps each limit on these cases, (L,)."""
        pairs = zip(self.problem.limits, self.values.tolist(), strict=True)
        return np.array([limit.excess(value) <= SHARE_ROUNDING for limit, value in pairs])

    def __repr__(self) -> str:
        unit = f" {self.problem.unit}" if self.problem.unit else ""
        lines = [
            f"  {limit}: price {number(price)}{unit}, {_met(limit, value)}"
            for limit, price, value in zip(
                self.problem.limits, self.prices.tolist(), self.values.tolist(), strict=True
            )
        ]
        loss = f"{number(self.rounding_loss)}{unit} more than the best randomised rule"
        head = f"PricedLimits: {number(self.cost)}{unit} per case, {loss}"
        return "\n".join([head, *lines])


def _met(limit: Limit, value: float) -> str:
    return f"{'met' if limit.excess(value) <= SHARE_ROUNDING else 'broken'} at {number(value)}"


def price_limits(
    posteriors: object,
    problem: Problem,
    *,
    y_true: object = None,
    data: object = None,
    weights: object = None,
    posterior_prior: object = None,
) -> PricedLimits:
    r"""Prices of the limits of a problem, and a cheap deterministic rule that keeps them.

    Costs and limits are linear in the decisions, so that the best rule takes the cheapest decision
    after a price is added to the costs. The price of a share is added to the column of its
    decision; that of a rate, divided by the prior of the class, to the cell of its class and
    decision. The prices maximise the dual

    .. math:: g(\lambda) = E \min_d \sum_k P(k \mid x)
              \Bigl(c_{kd} + \sum_l \lambda_l a_{lkd}\Bigr) - \sum_l \lambda_l b_l

    exactly for one limit, by its breakpoints, and by cutting planes for several. The rule is
    deterministic and keeps the limits on these cases, even where cases are tied. For one limit it
    is the cheapest that a price gives; for several it is the cheapest that a search found along
    lines of prices, and `rounding_loss` bounds what it misses. Limits that no rule can keep are
    refused; the message says what can be kept.

    Parameters
    ----------
    posteriors : array_like of shape (n, K), or (n,) for P(second class) of two
    problem : with limits
    y_true : labels of the true classes, (n,), optional
        The price of a single limit is then set so that it is met on the labelled cases. Several
        limits are priced by the posteriors; `values` says what they are on the labelled cases.
    data : frame, or mapping from column to numbers, with the columns that costs depend on
    weights : (n,) weights of the cases
    posterior_prior : the prior for which the posteriors hold; by default the class shares of the
        cases, by their labels or by the mean of their posteriors. Where the problem states
        another, posteriors and shares are moved to it.

    Returns
    -------
    PricedLimits

    Examples
    --------
    Reviewers can take one payment in ten:

    >>> import numpy as np
    >>> problem = Problem({"legit": {"approve": 0, "review": 3, "block": 25},
    ...                    "fraud": {"approve": 180, "review": 8, "block": 0}},
    ...                   limits=[Limit.share("review", at_most=0.1)], unit="EUR")
    >>> payments = np.linspace(0.005, 0.5, 100) ** 2
    >>> priced = price_limits(payments, problem)
    >>> priced
    PricedLimits: 9.582 EUR per case, 0 EUR more than the best randomised rule
      review: at most 10 % of cases: price 17.32 EUR, met at 0.1
    >>> from stakes import bayes_decisions
    >>> bool((bayes_decisions(payments, priced.priced) == priced.decisions).all())
    True
    """
    require("problem", problem, Problem)
    if not problem.limits:
        raise InputError(
            "problem must have limits to be priced; it has none. Write problem.with_limits([…]), "
            "or take bayes_decisions, which needs no prices."
        )
    deployed = read_deployed(posteriors, problem, y_true, data, weights, posterior_prior)

    def decide(amounts: FloatArray) -> IntArray:
        return deployed.decide(plus(deployed.costs, amounts))

    cases, fitted = priced_cases(
        problem,
        deployed.rows,
        deployed.mass,
        deployed.prior,
        deployed.costs,
        decide,
        deployed.truth,
    )
    # Where labels are known, values are those of the labelled cases: posteriors may be wrong.
    seen = cases.seen_values(fitted.decided)
    return PricedLimits._trusted(
        problem=problem,
        prices=fitted.prices,
        priced=problem.plus(fitted.added.sum(axis=0)),
        added=fitted.added,
        decisions=label_array(problem.decisions)[fitted.decided],
        values=cases.values(fitted.decided) if seen is None else seen,
        dual_value=fitted.dual_value,
        cost=fitted.cost,
        prior=deployed.prior,
        from_prior=deployed.from_prior,
    )


def priced_cases(
    problem: Problem,
    rows: FloatArray,
    mass: FloatArray,
    prior: FloatArray,
    costs: FloatArray | CaseCosts,
    decide: DecidePriced,
    truth: IntArray | None,
    start: FloatArray | None = None,
) -> tuple[CountedCases, FittedPrices]:
    """Count cases towards the limits of a problem, and fit prices; the inputs are not checked.

    Parameters
    ----------
    problem : what is at stake: costs, prior, labels
    rows : checked posteriors, (n, K)
    mass : weight of each case, (n,)
    prior : (K,) class shares at which limits are counted
    costs : costs of each decision, (K, M), or of every case
    decide : gives the decisions (n,) once amounts (K, M) are added to the costs
    truth : (n,) position of the true class of each case; None where it is not known
    start : (L,) prices to begin with

    Returns
    -------
    the counted cases and the prices

    Examples
    --------
    >>> from stakes.decide import cheapest_decisions
    >>> problem = Problem([[0, 3], [180, 8]], limits=[Limit.share(1, at_most=0.5)])
    >>> rows = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.3, 0.7]])
    >>> _, fitted = priced_cases(
    ...     problem, rows, np.ones(4), np.array([0.5, 0.5]), problem.costs,
    ...     lambda amounts: cheapest_decisions(rows, problem.costs + amounts), None)
    >>> fitted.decided.tolist(), fitted.prices.round(1).tolist()
    ([0, 0, 1, 1], [84.5])
    """
    shapes(f"n K, n, K, K {problem.n_decisions}", rows=rows, mass=mass, prior=prior, costs=costs)
    cells = np.stack(
        [limit.cells(problem.classes, problem.decisions, prior) for limit in problem.limits]
    )
    columns = np.array([problem.decisions.index(limit.decision) for limit in problem.limits])
    expected = mean_costs(rows, costs)
    cases = counted_cases(rows, mass, expected, problem.limits, cells, columns, truth)
    return cases, fit_prices(cases, cells, decide, start)


def plus(costs: FloatArray | CaseCosts, amounts: FloatArray) -> FloatArray | CaseCosts:
    """Costs, one table for all cases or one for each case, with an amount added to each cell.

    Parameters
    ----------
    costs : costs of each decision, (K, M), or of every case
    amounts : what to add to each cell, (K, M)

    Returns
    -------
    costs with the amounts

    Examples
    --------
    >>> plus(np.array([[0.0, 3.0], [9.0, 1.0]]), np.array([[0.0, 2.0], [0.0, 2.0]]))
    array([[0., 5.],
           [9., 3.]])
    """
    shapes("k m, k m", costs=costs, amounts=amounts)
    return costs.plus(amounts) if isinstance(costs, CaseCosts) else costs + amounts
