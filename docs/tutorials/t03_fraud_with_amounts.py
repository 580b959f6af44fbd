"""
Fraud: when every case has its own costs
========================================

A fraud that is approved costs the amount of the payment. A payment of 9 EUR and one of 9,000 EUR
deserve different decisions at the same probability. Write costs as expressions of columns, and
each case is decided by its own costs and charged with them.
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
# The problem of one payment is a table of numbers:

problem.at(amount=120)

# %%
# Two models
# ----------
#
# Both are calibrated. One is good at the many small frauds, the other at the few large ones. The
# data are simulated, so that the truth is known.

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
# The usual way is to put the mean amount into one table:

mean = problem.mean(data)
mean

# %%
# Compare what that table says with what the amounts say:

by_mean = stakes.evaluate(y_true, models, mean, calibrator=None)
by_amount = stakes.evaluate(y_true, models, problem, data=data, calibrator=None)
print("model   by the mean amount   by the amount of each payment")
for name in models:
    costs = [r.system(f"{name} (as is)").cost.value for r in (by_mean, by_amount)]
    print(f"{name:7} {costs[0]:18.3f} {costs[1]:31.3f}")

# %%
# The two ways put different models first. With the mean, every fraud counts the same; the bank pays
# amounts.
#
# The same probability, four amounts
# ----------------------------------

rule = by_amount.rule()
amounts = [5, 30, 300, 3000]
for euros, decision in zip(amounts, rule.decide([0.05] * 4, data={"amount": amounts}), strict=True):
    print(f"{euros:5} EUR  {decision}")

# %%
# All probabilities and amounts at once. Small payments are approved at almost any probability:

probabilities, sizes = np.linspace(0, 1, 201), np.geomspace(1, 3000, 201)
grid_p, grid_amount = (grid.ravel() for grid in np.meshgrid(probabilities, sizes))
best = stakes.bayes_decision_indices(grid_p, problem, data={"amount": grid_amount})
fig, ax = plt.subplots(layout="constrained")
ax.contourf(sizes, probabilities, best.reshape(201, 201).T, levels=[-0.5, 0.5, 1.5, 2.5])
ax.set(xscale="log", xlabel="amount in EUR", ylabel="probability of fraud")
for name, place in (("approve", (2, 0.4)), ("review", (300, 0.4)), ("block", (60, 0.9))):
    ax.annotate(name, place, color="white", weight="bold")

# %%
# What a million payments a year add up to
# ----------------------------------------

yearly = stakes.evaluate(
    y_true, models, problem, data=data, calibrator=None, volume=1_000_000, period="year"
)
for sentence in yearly.verdict.sentences:
    print(sentence)

# %%
# The report is careful: with 20,000 payments, of which a thousand are frauds, the interval of the
# difference still reaches across zero. A few large frauds decide, and there are few of them.
#
# The report has a row of its own for "costs and prior, no model": deciding by the amount alone. A
# model that does not beat that row is not worth deploying.

assert yearly.no_model is not None
print(f"{yearly.no_model.cost.value:.2f} EUR per payment without a model")
