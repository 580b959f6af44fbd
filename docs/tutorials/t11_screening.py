"""
A screening test, for clinicians who know dcurves and rms
=========================================================

A risk model will decide who gets a biopsy. If you have drawn decision curves with *dcurves* and
used ``val.prob`` of *rms*, you know the three questions: is the predicted risk right, at which risk
would you act, and what is the model worth there? Here are the same steps, and what comes after
them: the decision, and its cost with an interval at *your* prevalence.
"""

import numpy as np
from matplotlib import pyplot as plt

import stakes
from stakes import Problem
from stakes.displays import DecisionCurveDisplay

rng = np.random.default_rng(42)
n = 1_500
ill = rng.random(n) < 0.14
signal = rng.normal(np.where(ill, 1.0, -1.0), np.sqrt(2))
risk = 1 / (1 + np.exp(-(signal + np.log(0.14 / 0.86))))
marker = 1 / (1 + np.exp(-(2.2 * signal + rng.normal(0, 1.5, n) - 1.8)))
models = {"model": risk, "marker": marker}
y_true = np.where(ill, "cancer", "no cancer")

# %%
# Is the risk right?
# ------------------
#
# Intercept, slope, E90, Emax and ICI (its Eavg) are what ``val.prob`` prints; intervals are new.
# The test suite checks that the values agree with those of R to nine digits.

stakes.metrics.calibration_table(ill.astype(int), risk, replicates=50, rng=rng)

# %%
# The marker exaggerates. A slope below one says so:

table = stakes.metrics.calibration_table(ill.astype(int), marker, replicates=50, rng=rng)
slope = table["slope"]
print(f"slope {slope.value:.2f} ({slope.low:.2f} to {slope.high:.2f})")

# %%
# At which risk would you act?
# ----------------------------
#
# The *threshold probability* of a decision curve is a statement about costs. To do a biopsy at any
# risk above 10 % is to say that one missed cancer is as bad as nine unnecessary biopsies. The two
# statements are equivalent:

problem = Problem.from_threshold(0.1, classes=["no cancer", "cancer"], decisions=["wait", "biopsy"])
by_costs = Problem.binary(
    false_alarm=1, miss=9, classes=["no cancer", "cancer"], decisions=["wait", "biopsy"]
)
print(f"thresholds: {problem.threshold:.2f} and {by_costs.threshold:.2f}")

# %%
# What is the model worth there?
# ------------------------------
#
# The decision curve, with confidence bands. A model helps where its curve lies above *treat all*
# and *treat none*.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
display = DecisionCurveDisplay.from_predictions(
    y_true, models, positive="cancer", thresholds=np.arange(0.02, 0.5, 0.01)
)
display.plot(ax=ax)

# %%
# A curve is for readers whose threshold you do not know. In your clinic you know it. The table of
# the two tests at 10 % has the intervals that a paper needs:

tests = {name: stakes.bayes_decisions(p, problem) for name, p in models.items()}
clinical = stakes.metrics.clinical_table(y_true, tests, problem)
for row in ("sensitivity", "specificity", "PPV", "net benefit", "interventions avoided"):
    model, marker_row = clinical["model", row], clinical["marker", row]
    print(f"{row:22} {model.value:7.3f} ({model.low:.3f} to {model.high:.3f})", end="  ")
    print(f"{marker_row.value:7.3f} ({marker_row.low:.3f} to {marker_row.high:.3f})")

# %%
# Your clinic is not the study
# ----------------------------
#
# In the study 15 % had cancer; among the people whom you screen it may be 3 %. In dcurves this
# is ``prevalence=``; here the prior belongs to the problem, and everything follows it: predictive
# values, net benefit, and the decisions themselves. Fewer people now reach the same 10 %, so
# sensitivity falls and specificity rises:

screening = problem.with_prior([0.97, 0.03])
study = [1 - ill.mean(), ill.mean()]
shifted = {
    name: stakes.bayes_decisions(stakes.shift_prior(p, study, [0.97, 0.03]), problem)
    for name, p in models.items()
}
at_screening = stakes.metrics.clinical_table(y_true, shifted, screening)
for row in ("PPV", "net benefit"):
    entry = at_screening["model", row]
    print(f"{row:22} {entry.value:7.4f} ({entry.low:.4f} to {entry.high:.4f})")

# %%
# The decision
# ------------
#
# The report puts everything together: which test, at which threshold, and how certain that is.

report = stakes.evaluate(y_true, models, screening)
for sentence in report.verdict.sentences:
    print(sentence)

# %%
# ===================================  ==============================================
# dcurves and rms                      here
# ===================================  ==============================================
# ``dca(y ~ m)``, ``as_tibble()``      ``DecisionCurveDisplay``, ``display.frame()``
# ``prevalence =``                     ``prior`` of the problem
# ``net_intervention_avoided()``       ``InterventionsAvoidedDisplay``
# ``test_consequences()``              ``stakes.metrics.clinical_table``
# ``rms::val.prob``                    ``stakes.metrics.calibration_table``
# ===================================  ==============================================
