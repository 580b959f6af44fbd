"""Payments of very different amounts: the mean cost of a fraud picks the wrong model.

Two models predict the probability of fraud, and both are calibrated. One is good at detecting the
many small frauds, the other the few large ones. A single cost matrix, in which every fraud costs
the mean amount, prefers the model that finds more frauds; when each fraud is charged with its own
amount, the other model is cheaper. The data are simulated.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import stakes

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

SHARE = 0.05  # of frauds
PAYMENTS = stakes.Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": 8, "block": 0},
    },
    unit="EUR",
)


def posterior(fraud: BoolArray, evidence: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A calibrated probability, from log-odds whose mean is plus or minus the evidence."""
    noise = np.sqrt(2 * evidence) * rng.standard_normal(fraud.size)
    log_odds = np.where(fraud, evidence, -evidence) + noise + np.log(SHARE / (1 - SHARE))
    return np.asarray(1 / (1 + np.exp(-log_odds)))


def main() -> None:
    """Evaluate under the mean costs, then under the costs of each payment."""
    rng = np.random.default_rng(1884)
    n = 20_000
    fraud = rng.random(n) < SHARE
    amount = rng.lognormal(4, 1.2, n).round(2)
    small = np.where(amount < 120, 4.0, 1.0)
    large = np.where(amount < 120, 2.0, 4.0)
    models = {name: posterior(fraud, e, rng) for name, e in (("small", small), ("large", large))}
    y, data = np.where(fraud, "fraud", "legit"), {"amount": amount}

    mean = PAYMENTS.mean(data)
    by_mean = stakes.evaluate(y, models, mean, calibrator=None)
    by_amount = stakes.evaluate(y, models, PAYMENTS, data=data, calibrator=None)

    print(PAYMENTS)
    print(f"\nThe mean over {n:,} payments, of which {fraud.sum():,} are frauds:\n")
    print(mean)
    print("\n            EUR per payment, by the mean costs   by the costs of each payment")
    for name in models:
        costs = [report.system(f"{name} (as is)").cost.value for report in (by_mean, by_amount)]
        print(f"{name:10} {costs[0]:36.3f} {costs[1]:30.3f}")
    assert by_amount.no_model is not None
    no_model = by_amount.no_model.cost.value
    print(f"{'no model':10} {by_mean.naive.cost:36.3f} {no_model:30.3f}")
    chosen = [report.best.model for report in (by_mean, by_amount)]
    decided = stakes.bayes_decisions(models[chosen[0]], mean)
    paid = stakes.metrics.expected_cost(y, decided, problem=PAYMENTS, data=data)
    print(f"\nThe mean costs pick the model for {chosen[0]} frauds, the amounts the one for")
    print(f"{chosen[1]} ones. Deciding by the mean costs, the pick would really cost {paid:.3f}.")


if __name__ == "__main__":
    main()
