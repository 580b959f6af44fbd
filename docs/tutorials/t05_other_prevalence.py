"""
The prevalence differs from that of the test set
================================================

Test sets are often balanced on purpose, or come from a hospital that sees more ill people than a
screening programme does. Costs per case depend on how common each class is, and so do the best
decisions. State the class shares that you expect in deployment, and everything is computed for
them.
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

as_sampled = Problem(
    {"well": {"wait": 0, "treat": 1}, "ill": {"wait": 9, "treat": 0}}, unit="days in hospital"
)
screening = as_sampled.with_prior({"well": 0.95, "ill": 0.05})
screening

# %%
# Half of these cases are ill; among the people to be screened, one in twenty is. These are the
# costs of the model under both:

for name, problem in (("as in these data", as_sampled), ("screening", screening)):
    report = stakes.evaluate(y_true, {"model": p}, problem, calibrator=None)
    for system in report.systems:
        print(f"{name:17} {system.name:24} {system.cost.value:.3f}")
    print(f"{name:17} always {report.naive.decision:17} {report.naive.cost:.3f}\n")

# %%
# In screening, using the posteriors as they are would treat far too many people: they assume that
# every second person is ill. *Moved* posteriors are corrected by Bayes' rule, which needs nothing
# but the old and the new shares:

moved = stakes.shift_prior([0.5, 0.9], from_prior=[0.5, 0.5], to_prior=[0.95, 0.05])
print(moved.round(3))

# %%
# How much that saves depends on how far the prevalence is from that of the data:

shares = np.linspace(0.01, 0.99, 99)
fig, ax = plt.subplots(layout="constrained")
for name in ("as they are", "moved"):
    costs = []
    for share in shares:
        prior = [1 - share, share]
        posteriors = p if name == "as they are" else stakes.shift_prior(p, [0.5, 0.5], prior)
        decided = stakes.bayes_decisions(posteriors, as_sampled)
        counts = stakes.Counts.from_decisions(y_true, decided, as_sampled)
        costs.append(float(stakes.expected_cost(counts, as_sampled.with_prior(prior))))
    ax.plot(shares, costs, label=f"posteriors {name}")
ax.plot(shares, np.minimum(9 * shares, 1 - shares), "--", color="0.6", label="no model")
ax.set(xlabel="share of ill", ylabel="days in hospital per case", ylim=(0, 1))
ax.legend()

# %%
# When nobody knows the shares
# ----------------------------
#
# The shares can be estimated from unlabelled cases of the population in which the model will run,
# as long as the posteriors are calibrated and only the shares have changed.

new_ill = rng.random(5000) < 0.05
new_evidence = rng.normal(np.where(new_ill, 1.5, -1.5), np.sqrt(3))
new_p = 1 / (1 + np.exp(-new_evidence))
estimate = stakes.estimate_prior(new_p, from_prior=[0.5, 0.5])
print(f"mean posterior {new_p.mean():.3f}, estimated share of ill {estimate.prior[1]:.3f}")

# %%
# The mean of the posteriors is badly off, because they assume the old shares. The estimate is close
# to the truth, 0.05.
#
# How far can the prevalence move before the recommendation changes?
# ------------------------------------------------------------------

report = stakes.evaluate(y_true, {"model": p}, screening, calibrator=None)
for reading in ("remade", "kept"):
    (flip,) = (flip for flip in report.flips(reading) if flip.what == "prior of ill")
    print(f"decisions {reading}: from {max(flip.low, 0):.3f} to {min(flip.high, 1):.3f}")

# %%
# If decisions are made anew for every prevalence (*remade*), which is what the moved posteriors are
# for, the model stays the choice nearly everywhere. If today's decisions stay as they are (*kept*),
# it is clearly beaten by not treating anybody, or by the posteriors as they are, as soon as the
# prevalence leaves this range.
