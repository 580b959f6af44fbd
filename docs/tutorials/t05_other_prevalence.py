"""
The prevalence is not that of the test set
==========================================

Test sets are often balanced on purpose, or come from a clinic that sees the sick. Costs per case
depend on how common each class is, and so do the best decisions. State the shares that you expect
once the model is deployed, and everything is computed for them.
"""

import numpy as np
from matplotlib import pyplot as plt

import stakes
from stakes import Problem

rng = np.random.default_rng(7)
n = 2000
ill = rng.random(n) < 0.5
evidence = rng.normal(np.where(ill, 1.5, -1.5), np.sqrt(3))
p = 1 / (1 + np.exp(-evidence))
y_true = np.where(ill, "ill", "well")

same = Problem(
    {"well": {"wait": 0, "treat": 1}, "ill": {"wait": 9, "treat": 0}}, unit="days in hospital"
)
screening = same.with_prior({"well": 0.95, "ill": 0.05})
screening

# %%
# Half of these cases are ill; of those that will be screened, one in twenty. Here are the costs of
# the model under both:

for name, problem in (("as in these data", same), ("screening", screening)):
    report = stakes.evaluate(y_true, {"model": p}, problem, calibrator=None)
    for system in report.systems:
        print(f"{name:17} {system.name:24} {system.cost.value:.3f}")
    print(f"{name:17} always {report.naive.decision:17} {report.naive.cost:.3f}\n")

# %%
# At screening, the posteriors as they are treat far too many people: they were made for a world in
# which every second person is ill. *Moved* posteriors are corrected by Bayes' rule, which needs the
# old shares and the new ones and nothing else:

moved = stakes.shift_prior([0.5, 0.9], from_prior=[0.5, 0.5], to_prior=[0.95, 0.05])
print(moved.round(3))

# %%
# How much that saves depends on how far the share is from that of the data:

shares = np.linspace(0.01, 0.99, 99)
fig, ax = plt.subplots(layout="constrained")
for name in ("as they are", "moved"):
    costs = []
    for share in shares:
        prior = [1 - share, share]
        used = p if name == "as they are" else stakes.shift_prior(p, [0.5, 0.5], prior)
        counts = stakes.Counts.from_decisions(y_true, stakes.bayes_decisions(used, same), same)
        costs.append(float(stakes.expected_cost(counts, same.with_prior(prior))))
    ax.plot(shares, costs, label=f"posteriors {name}")
ax.plot(shares, np.minimum(9 * shares, 1 - shares), "--", color="0.6", label="no model")
ax.set(xlabel="share of ill", ylabel="days in hospital per case", ylim=(0, 1))
ax.legend()

# %%
# When nobody knows the shares
# ----------------------------
#
# With unlabelled cases from where the model will run, the shares can be estimated, as long as the
# posteriors are calibrated and only the shares have changed.

new_ill = rng.random(5000) < 0.05
new_evidence = rng.normal(np.where(new_ill, 1.5, -1.5), np.sqrt(3))
new_p = 1 / (1 + np.exp(-new_evidence))
estimate = stakes.estimate_prior(new_p, from_prior=[0.5, 0.5])
print(f"mean posterior {new_p.mean():.3f}, estimated share of ill {estimate.prior[1]:.3f}")

# %%
# The mean of the posteriors is badly off, because they hold for the old shares. The estimate is
# close to the truth, 0.05.
#
# How far may the share move before the advice changes?
# -----------------------------------------------------

report = stakes.evaluate(y_true, {"model": p}, screening, calibrator=None)
for margin in report.margins:
    if margin.what == "prior of ill":
        print(f"below {margin.low:.3f}: {margin.low_rival} is cheaper")
        print(f"above {margin.high:.3f}: {margin.high_rival} is cheaper")
