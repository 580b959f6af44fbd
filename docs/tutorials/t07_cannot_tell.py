"""
Comparing models, and knowing when you cannot
=============================================

Compare four models on 600 cases, and one of them comes first. One of them always does. Is it
better, or was it lucky? Here the truth is known, so we can check what the report concludes.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import norm

import stakes
from stakes import Problem
from stakes.displays import SystemCostsDisplay

problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
rng = np.random.default_rng(1)
ill = (rng.random(600) < 0.2).astype(int)
skills = {"old": 1.0, "new": 1.6, "cheap": 1.5, "fancy": 1.6}
models = {
    name: (ill * skill + rng.normal(size=600) > 0.8).astype(int) for name, skill in skills.items()
}
report = stakes.evaluate(ill, models, problem)

print("model   true cost   on these cases   95 % interval")
for name, skill in skills.items():
    true = 0.2 * 9 * norm.cdf(0.8 - skill) + 0.8 * norm.sf(0.8)
    cost = report.system(name).cost
    print(f"{name:7} {true:9.2f} {cost.value:16.2f}   {cost.low:.2f} to {cost.high:.2f}")

# %%
# The same in a figure:

fig, ax = plt.subplots(figsize=(7, 2.8), layout="constrained")
SystemCostsDisplay.from_report(report).plot(ax=ax)

# %%
# *new* and *fancy* are equally good, *cheap* is a little worse, *old* is clearly worse. The report
# says what these 600 cases can show, and no more:

for sentence in report.verdict.sentences:
    print(sentence)

# %%
# Two things are worth a second look. The *contenders* are the systems that the data cannot tell
# from the cheapest:

print(report.verdict.contenders)

# %%
# Second, the cost to expect of the chosen system is higher than its cost on these cases. The best
# of four is best partly by luck, and luck does not last:

chosen = report.verdict.deploy
assert chosen is not None
print(f"on these cases {chosen.cost.value:.2f}, to expect {report.verdict.cost.value:.2f} EUR")

# %%
# More cases
# ----------
#
# With more cases the picture becomes clearer, as far as there is a difference at all:

for n in (600, 6_000, 60_000):
    y = (rng.random(n) < 0.2).astype(int)
    decided = {k: (y * s + rng.normal(size=n) > 0.8).astype(int) for k, s in skills.items()}
    contenders = stakes.evaluate(y, decided, problem).verdict.contenders
    print(f"{n:6,} cases: {', '.join(contenders)}")

# %%
# *new* and *fancy* both remain however many cases there are, because they cost the same. Choose by
# what is not in the costs: which is simpler, faster, or already in use.
#
# Against the current model
# -------------------------
#
# Often there is only one question: is the new model better than the old one? Name the old one as
# the baseline, and the report compares each system with it, case by case:

report = stakes.evaluate(ill, models, problem, baseline="old")
for name in ("new", "cheap", "fancy"):
    difference = report.system(name).difference
    assert difference is not None
    low, high = difference.low, difference.high
    print(f"{name:6} {difference.value:+.2f} EUR per case (95 %: {low:+.2f} to {high:+.2f})")
