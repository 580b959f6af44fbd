"""
A human in the loop, and a review budget
========================================

People can look at 2 % of the payments. A limit of this kind is part of the problem. The library
finds the cheapest rule that keeps it, and says what one more review would save: the number to know
before hiring.
"""

import numpy as np
from matplotlib import pyplot as plt

import stakes
from stakes import Limit, Problem
from stakes.limits import capacity_curve

rng = np.random.default_rng(1884)
n, share = 10_000, 0.05
fraud = rng.random(n) < share
log_odds = rng.normal(np.where(fraud, 2, -2), 2) + np.log(share / (1 - share))
forest = 1 / (1 + np.exp(-log_odds))
y_true = np.where(fraud, "fraud", "legit")

free = Problem(
    {
        "legit": {"approve": 0, "review": 3, "block": 25},
        "fraud": {"approve": 180, "review": 8, "block": 0},
    },
    unit="EUR",
)
decided = stakes.bayes_decisions(forest, free)
print(f"By the costs alone, {np.mean(decided == 'review'):.1%} of the payments would be reviewed.")

# %%
# Add the limit
# -------------

problem = free.with_limits([Limit.share("review", at_most=0.02)])
priced = stakes.price_limits(forest, problem)
print(f"reviewed: {priced.values[0]:.2%}; one more review saves {priced.prices[0]:.2f} EUR")

# %%
# The limit works like a price. Add it to the cost of a review, take the cheapest decision for every
# case as before, and exactly the reviews that are worth the most remain.
#
# How many reviewers are worth their pay?
# ---------------------------------------
#
# The cost per payment at every capacity:

curve = capacity_curve(forest, free, "review")
capacity = np.linspace(0, 0.5, 200)
fig, ax = plt.subplots(layout="constrained")
ax.plot(capacity, curve.cost(capacity))
ax.set(xlabel="share of payments that people can review", ylabel="EUR per payment")
ax.axvline(0.02, color="0.6", linestyle="--")

# %%
# The slope is the price. Early reviews save much, late ones little:

for at in (0.005, 0.02, 0.05, 0.1, 0.2):
    print(f"at {at:5.1%}: one more review saves {float(curve.price(at)):6.2f} EUR")

# %%
# Evaluate under the limit
# ------------------------
#
# The rule that runs today reviews every case above 5 %. It breaks the limit, so the report will not
# recommend it, whatever it costs.

old = np.where(forest > 0.05, "review", "approve")
report = stakes.evaluate(
    y_true,
    {"forest": forest, "today": old},
    problem,
    calibrator=None,
    volume=250_000,
    period="year",
)
for sentence in report.verdict.sentences:
    print(sentence)
print()
for caveat in report.caveats:
    print(caveat.text)

# %%
# A share holds on average. Where today's batch must not exceed a number, say so when deciding:

rule = report.rule()
batch = forest[:700]
today = rule.decide(batch, limits=[Limit.count("review", 5)])
print(f"{np.sum(rule.decide(batch) == 'review')} reviews by the rule alone")
print(f"{np.sum(today == 'review')} with at most five")

# %%
# Not deciding at all
# -------------------
#
# "I do not know" is a decision, too. With two classes and a cost for abstaining, a case is left
# undecided where neither class is probable enough:

abstaining = Problem.zero_one(["legit", "fraud"]).with_abstention(0.1)
stakes.bayes_decisions([0.02, 0.3, 0.6, 0.95], abstaining).tolist()
