"""
Content moderation with five classes
====================================

A post is fine, spam, abuse, a threat, or something that must be reported. A moderation team can
leave it, hide it, ask a moderator, or remove it and notify. There are five classes and four
decisions, and the mistakes differ greatly in cost: accuracy counts them all the same.
"""

import numpy as np
from matplotlib import pyplot as plt

import stakes
from stakes import Problem

problem = Problem(
    {
        "fine": {"leave": 0, "hide": 2, "moderator": 1, "remove": 6},
        "spam": {"leave": 1, "hide": 0, "moderator": 0.5, "remove": 0.2},
        "abuse": {"leave": 8, "hide": 1, "moderator": 0.7, "remove": 0},
        "threat": {"leave": 60, "hide": 25, "moderator": 2, "remove": 0},
        "report": {"leave": 400, "hide": 300, "moderator": 4, "remove": 0},
    },
    prior=[0.90, 0.06, 0.03, 0.008, 0.002],
    unit="EUR",
)
problem

# %%
# The prior says how common the classes are on the site. The labelled sample has many more of the
# rare ones, because it was collected that way: the rates of decisions within each class come from
# the sample, the weights of the classes from the prior.
#
# Two models
# ----------
#
# *Broad* is very good at separating spam from the rest. *Careful* is worse at that and better at
# threats. Both the posts and the models are simulated.

rng = np.random.default_rng(3)
n = 12_000
sampled = np.array([0.5, 0.2, 0.15, 0.1, 0.05])
truth = rng.choice(5, size=n, p=sampled)
y_true = np.array(problem.classes)[truth]


def posteriors(strength: list[float]) -> np.ndarray:
    """Calibrated probabilities, from evidence of a different strength for each class."""
    variance = np.asarray(strength)
    evidence = rng.normal(0, np.sqrt(variance), (n, 5)) + np.eye(5)[truth] * variance
    likelihood = np.exp(evidence - variance / 2)  # ratio of N(v, v) to N(0, v)
    weight = np.asarray(problem.prior) * likelihood
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


models = {
    "broad": posteriors([6.0, 6.0, 3.0, 1.0, 1.0]),
    "careful": posteriors([4.0, 2.5, 3.0, 8.0, 9.0]),
}

# %%
# What accuracy would pick
# ------------------------
#
# The share of posts whose most probable class is the true one, at the class shares of the site:

share = np.asarray(problem.prior)[truth] / np.bincount(truth)[truth]
for name, probabilities in models.items():
    accuracy = np.average(probabilities.argmax(axis=1) == truth, weights=share)
    print(f"{name:8} {accuracy:.3f}")

# %%
# What the decisions cost
# -----------------------
#
# ``posterior_prior`` states the class shares that the probabilities assume; here they are already
# those of the site.

report = stakes.evaluate(
    y_true, models, problem, posterior_prior=problem.prior, calibrator=None, replicates=200
)
for sentence in report.verdict.sentences:
    print(sentence)

# %%
# Where the money goes
# --------------------
#
# The cost per post of each true class and each decision. They add up to the cost of the system.

counts = report.best.counts
shares = np.asarray(problem.prior)[:, None] * stakes.measures.decision_rates(counts)
paid = shares * problem.costs
fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
left = np.zeros(len(problem.classes))
for column, decision in enumerate(problem.decisions):
    ax.barh(problem.classes, paid[:, column], left=left, label=decision)
    left = left + paid[:, column]
ax.invert_yaxis()
ax.set(xlabel="EUR per post")
ax.legend(title="decision")

# %%
# The largest part of the cost, about a third, is that of moderators who look at posts that are
# fine. That is the price of not leaving threats online, and it is worth paying: leaving everything
# would cost more than six times as much. Accuracy sees neither side of this.
#
# Which posts does a moderator see?
# ---------------------------------
#
# With four decisions there is no single threshold. A post goes to a moderator when the
# probabilities make every other decision more expensive, even if it is most probably fine:

examples = np.array(
    [
        [0.99, 0.005, 0.003, 0.001, 0.001],
        [0.96, 0.02, 0.01, 0.008, 0.002],
        [0.30, 0.68, 0.01, 0.008, 0.002],
        [0.05, 0.05, 0.85, 0.04, 0.01],
        [0.02, 0.01, 0.02, 0.05, 0.90],
    ]
)
for row, decision in zip(examples, stakes.bayes_decisions(examples, problem), strict=True):
    print(f"{', '.join(f'{c} {p:.3f}' for c, p in zip(problem.classes, row, strict=True))}")
    print(f"    {decision}")

# %%
# How many moderators does that take?

for decision, fraction in zip(problem.decisions, shares.sum(axis=0), strict=True):
    print(f"{decision:10} {fraction:6.1%} of all posts")

# %%
# If that is too much, limit the share of the decision *moderator*: moderators then see only the
# posts for which their judgement saves the most. See :doc:`the review budget <t04_review_budget>`.
