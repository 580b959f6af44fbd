"""
A human in the loop, and a review budget
========================================

People can review 2 % of the payments. Such a limit is part of the problem. The library finds the
cheapest rule that respects it, and says what one more review would save: the number to know before
hiring.
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
# The limit acts as a price. Add that price to the cost of a review and take the cheapest decision
# for every case as before: the reviews that remain are exactly those that are worth the most.
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
# The slope is the price. The first reviews save a lot, later ones little:

for reviewed in (0.005, 0.02, 0.05, 0.1, 0.2):
    print(f"at {reviewed:5.1%}: one more review saves {float(curve.price(reviewed)):6.2f} EUR")

# %%
# Evaluate under the limit
# ------------------------
#
# The current rule reviews every case with a probability above 5 %. It breaks the limit, so the
# report does not recommend it, however cheap it is.

current = np.where(forest > 0.05, "review", "approve")
report = stakes.evaluate(
    y_true,
    {"forest": forest, "today": current},
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
# A limit on a share holds on average. If a batch must not exceed a fixed number, say so when
# deciding:

rule = report.rule()
batch = forest[:700]
limited = rule.decide(batch, limits=[Limit.count("review", 5)])
print(f"{np.sum(rule.decide(batch) == 'review')} reviews by the rule alone")
print(f"{np.sum(limited == 'review')} with at most five")

# %%
# Not deciding at all
# -------------------
#
# "I do not know" is a decision, too. With two classes and a cost of abstaining, a case is left
# undecided when neither class is probable enough:

abstaining = Problem.zero_one(["legit", "fraud"]).with_abstention(0.1)
stakes.bayes_decisions([0.02, 0.3, 0.6, 0.95], abstaining).tolist()
