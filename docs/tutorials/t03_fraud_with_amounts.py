"""
Fraud: when every case has its own costs
========================================

Approving a fraud costs the amount of the payment. At the same probability of fraud, a payment of
9 EUR and one of 9,000 EUR deserve different decisions. Write the costs as expressions of columns,
and every case is decided by its own costs and charged with them.
"""

import numpy as np
from matplotlib import pyplot as plt

import stakes
from stakes import Problem

problem = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
        "fraud": {"approve": "amount", "review": 8, "block": 0},
    },
    unit="EUR",
)
problem

# %%
# For a single payment, the problem is a table of numbers:

problem.at(amount=120)

# %%
# Two models
# ----------
#
# Both are calibrated. One is good at detecting the many small frauds, the other the few large ones.
# The data are simulated, so the truth is known.

rng = np.random.default_rng(1884)
n, share = 20_000, 0.05
fraud = rng.random(n) < share
amount = rng.lognormal(4, 1.2, n).round(2)
y_true = np.where(fraud, "fraud", "legit")
data = {"amount": amount}


def posterior(evidence: np.ndarray) -> np.ndarray:
    """A calibrated probability of fraud from evidence of this strength."""
    noise = np.sqrt(2 * evidence) * rng.standard_normal(n)
    log_odds = np.where(fraud, evidence, -evidence) + noise + np.log(share / (1 - share))
    return np.asarray(1 / (1 + np.exp(-log_odds)))


small_expert = posterior(np.where(amount < 120, 4.0, 1.0))
large_expert = posterior(np.where(amount < 120, 2.0, 4.0))
models = {"small": small_expert, "large": large_expert}

# %%
# One table for all payments
# --------------------------
#
# The usual approach is to use the mean amount in a single table:

mean = problem.mean(data)
mean

# %%
# Compare the costs under that table with those under the amounts:

by_mean = stakes.evaluate(y_true, models, mean, calibrator=None)
by_amount = stakes.evaluate(y_true, models, problem, data=data, calibrator=None)
print("model   by the mean amount   by the amount of each payment")
for name in models:
    costs = [r.system(f"{name} (as is)").cost.value for r in (by_mean, by_amount)]
    print(f"{name:7} {costs[0]:18.3f} {costs[1]:31.3f}")

# %%
# The two approaches rank the models differently. Under the mean, every fraud counts the same; what
# the bank loses is the amount of each.
#
# The same probability, four amounts
# ----------------------------------

rule = by_amount.rule()
amounts = [5, 30, 300, 3000]
for euros, decision in zip(amounts, rule.decide([0.05] * 4, data={"amount": amounts}), strict=True):
    print(f"{euros:5} EUR  {decision}")

# %%
# The cheapest decision at every probability and amount. Payments of a few euros are approved even
# at even odds:

probabilities, sizes = np.linspace(0, 1, 201), np.geomspace(1, 3000, 201)
grid_p, grid_amount = (grid.ravel() for grid in np.meshgrid(probabilities, sizes))
decided = stakes.bayes_decision_indices(grid_p, problem, data={"amount": grid_amount})
fig, ax = plt.subplots(layout="constrained")
ax.contourf(sizes, probabilities, decided.reshape(201, 201).T, levels=[-0.5, 0.5, 1.5, 2.5])
ax.set(xscale="log", xlabel="amount in EUR", ylabel="probability of fraud")
for name, position in (("approve", (2, 0.4)), ("review", (300, 0.4)), ("block", (60, 0.9))):
    ax.annotate(name, position, color="white", weight="bold")

# %%
# What a million payments a year add up to
# ----------------------------------------

yearly = stakes.evaluate(
    y_true, models, problem, data=data, calibrator=None, volume=1_000_000, period="year"
)
for sentence in yearly.verdict.sentences:
    print(sentence)

# %%
# The report is cautious: with 20,000 payments, of which a thousand are frauds, the interval of the
# difference still includes zero, because it depends on a small number of large frauds.
#
# The report also has a row "costs and prior, no model", which decides by the amount alone. It is
# cheaper than the best decision that is the same for all payments, the yardstick of the normalised
# cost. The verdict compares with that row: a model must be below its normalised cost, not below 1.

assert yearly.no_model is not None
print(f"{yearly.no_model.cost.value:.2f} EUR per payment without a model")
print(f"normalised: {yearly.no_model.normalized.value:.2f}")
