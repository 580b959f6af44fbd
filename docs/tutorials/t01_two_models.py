"""
Choosing between two models when mistakes cost differently
==========================================================

A bank lends money. Turning away a good applicant costs one loan margin; lending to a bad one costs
five. Two models predict the probability that an applicant is a bad risk. Which one should the bank
use, and above which probability should it decline?

The data are real: a thousand applicants of the `Statlog German credit data
<https://doi.org/10.24432/C5NC77>`_, with predictions of four models, none of which was
trained on the applicants that it predicts. The data come with the package.
"""

from importlib.resources import files

import pandas as pd
from matplotlib import pyplot as plt
from sklearn.metrics import accuracy_score

import stakes
from stakes import Problem, evaluate_frame
from stakes.displays import SystemCostsDisplay

path = files("stakes") / "data" / "german_credit.csv"
applicants = pd.read_csv(str(path))
applicants.head()

# %%
# What is at stake
# ----------------
#
# Rows are what is true, columns are what is done. A mapping says both by name, so there is no
# question which way round the table is.

problem = Problem(
    {"good": {"grant": 0, "decline": 1}, "bad": {"grant": 5, "decline": 0}},
    unit="loan margins",
)
problem

# %%
# With two decisions, the costs determine a single number: the probability above which declining is
# cheaper. It does not have to be tuned.

print(f"decline above a probability of {problem.threshold:.3f}")

# %%
# What accuracy says
# ------------------
#
# With the usual threshold of one half, this is the share of correct answers:

for name in ("logistic", "forest"):
    declined = applicants[name] > 0.5
    print(f"{name:8} {accuracy_score(applicants.risk == 'bad', declined):.3f}")

# %%
# What the decisions cost
# -----------------------

report = evaluate_frame(
    applicants, problem, y_true="risk", models={"logistic": "logistic", "forest": "forest"}
)
for sentence in report.verdict.sentences:
    print(sentence)

# %%
# The verdict names a model, a decision rule and a cost with its interval, and compares it with the
# best that can be done without a model. Here the two models are close, and the report says so
# instead of declaring a winner. Every row is a *system*: a model with a decision rule.

print(f"{'system':25} {'cost':>6}   95 % interval")
for system in report.systems:
    cost = system.cost
    print(f"{system.name:25} {cost.value:6.3f}   {cost.low:.3f} to {cost.high:.3f}")

# %%
# *As is* uses the probabilities unchanged; *recalibrated* first applies a calibration map that was
# fitted on other cases. *Tuned* uses the threshold that was best on these very cases: it looks
# cheaper than it will be, so it is shown for comparison and not recommended.
#
# Here are the same probabilities with a threshold of one half, which treats both mistakes alike:

at_half = pd.Series("grant", index=applicants.index).mask(applicants.logistic > 0.5, "decline")
cost_at_half = stakes.metrics.expected_cost(applicants.risk, at_half, problem=problem)
print(f"logistic at one half: {cost_at_half:.3f} loan margins per applicant")
print(f"logistic at {problem.threshold:.3f}:   {report.system('logistic (as is)').cost.value:.3f}")

# %%
# The threshold matters more than the choice of the model. That is common: two sensible models often
# cost about the same, while a threshold that ignores the costs is rarely a good one.
#
# All systems in one figure, with the cost of deciding without a model:

fig, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
SystemCostsDisplay.from_report(report).plot(ax=ax)
