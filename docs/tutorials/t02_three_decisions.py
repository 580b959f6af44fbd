"""
Three decisions for two classes
===============================

A lender can grant a loan, decline it, or have somebody review the application. Reviewing is a
decision like any other: it has a cost for good applicants and one for bad ones. Neither of the two
thresholds has to be tuned, because both follow from the costs.
"""

from importlib.resources import files

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

import stakes
from stakes import Posteriors, Problem

problem = Problem(
    {
        "good": {"grant": 0, "review": 0.3, "decline": 1},
        "bad": {"grant": 5, "review": 0.3, "decline": 0},
    },
    prior={"good": 0.95, "bad": 0.05},
    unit="loan margins",
)
problem

# %%
# The expected cost of each decision is linear in the probability of a bad risk. The cheapest
# decision is the lowest line.

p = np.linspace(0, 1, 401)
costs = stakes.expected_costs(p, problem)

fig, ax = plt.subplots(layout="constrained")
for column, name in enumerate(problem.decisions):
    ax.plot(p, costs[:, column], label=name)
ax.fill_between(p, costs.min(axis=1), color="0.9")
ax.set(xlabel="probability of a bad risk", ylabel="expected cost", ylim=(0, 1.5), xlim=(0, 1))
ax.legend()

# %%
# The decision changes where the lines cross:

decided = stakes.bayes_decisions(p, problem)
for name in problem.decisions:
    region = p[decided == name]
    print(f"{name:8} from {region.min():.2f} to {region.max():.2f}")

# %%
# Four applicants:

stakes.bayes_decisions([0.01, 0.05, 0.4, 0.9], problem).tolist()

# %%
# What are reviewers worth?
# -------------------------
#
# Evaluate the same predictions under two problems, with and without the review. The data contain
# more bad risks than the bank sees (30 % instead of 5 %); the prior of the problem corrects for it.

applicants = pd.read_csv(str(files("stakes") / "data" / "german_credit.csv"))
y, models = applicants.risk, {"logistic": Posteriors(applicants.logistic)}
without_review = Problem(
    problem.costs[:, [0, 2]],
    classes=problem.classes,
    decisions=["grant", "decline"],
    prior=problem.prior,
    unit=problem.unit,
)
for name, variant in (("with review", problem), ("without", without_review)):
    deployed = stakes.evaluate(y, models, variant).verdict.deploy
    if deployed is None:
        print(f"{name:12} no model is better than taking one decision for everybody")
    else:
        print(f"{name:12} {deployed.cost.value:.3f} {problem.unit} per applicant")

# %%
# The posteriors assume the 30 % of bad risks in the data. `evaluate` shows each model three times:
# as is, moved to the prior of the problem, and recalibrated.

report = stakes.evaluate(y, models, problem)
for system in report.systems:
    cost = system.cost
    print(f"{system.name:25} {cost.value:.3f} (95 % interval {cost.low:.3f} to {cost.high:.3f})")
