"""
Badly calibrated, or just weak?
===============================

A model can cost too much for two reasons. Its probabilities are wrong, which is cheap to fix; or it
cannot separate the classes, which is not. The report distinguishes the two and expresses both in
money.
"""

import numpy as np
from matplotlib import pyplot as plt

import stakes
from stakes import Problem
from stakes.calibration import Isotonic, cross_calibrate
from stakes.displays import ReliabilityDisplay

rng = np.random.default_rng(3)
n, share = 4000, 0.1
fraud = rng.random(n) < share
prior_log_odds = np.log(share / (1 - share))


def log_odds(strength: float) -> np.ndarray:
    """Calibrated log-odds of a model whose evidence has this strength."""
    return rng.normal(np.where(fraud, strength, -strength), np.sqrt(2 * strength)) + prior_log_odds


weak, strong = log_odds(1.0), log_odds(3.0)
models = {
    "weak, honest": 1 / (1 + np.exp(-weak)),
    "strong, overconfident": 1 / (1 + np.exp(-3 * strong)),
}
y_true = np.where(fraud, "fraud", "legit")
problem = Problem(
    {"legit": {"approve": 0, "block": 5}, "fraud": {"approve": 100, "block": 0}}, unit="EUR"
)

# %%
# Look first
# ----------
#
# Points on the diagonal mean that, of the cases with a probability of 30 %, 30 % are frauds.

display = ReliabilityDisplay.from_predictions(y_true, models, positive="fraud")
fig, ax = plt.subplots(layout="constrained")
display.plot(ax=ax)

# %%
# What bad calibration costs
# --------------------------

report = stakes.evaluate(y_true, models, problem)
for model in report.models:
    assert model.auc is not None
    cost = model.calibration_cost or 0.0
    print(f"{model.model:22} AUC {model.auc.value:.3f}, bad calibration costs {cost:.2f} EUR")

# %%
# The honest model is calibrated by construction: its 0.12 EUR is noise, the distance between its
# probabilities and the frequencies that 4,000 cases happen to show. The report recommends
# recalibration only where the loss is more than noise.
#
# The overconfident model ranks cases much better, yet it saves little as long as its probabilities
# are taken at face value. Every model is therefore also shown recalibrated:

for system in report.systems:
    print(f"{system.name:38} {system.cost.value:5.2f} EUR per case")

# %%
# Recalibrated, the strong model wins by far. The report says what to do:

for caveat in report.caveats:
    print(caveat.text)

# %%
# Doing it by hand
# ----------------
#
# `evaluate` recalibrates out of fold: no case is calibrated by a map that was fitted on its label.
# The same by hand:

calibrated = cross_calibrate(models["strong, overconfident"], fraud, Isotonic(), 5, rng=rng)
decided = stakes.bayes_decisions(calibrated, problem)
print(f"{stakes.metrics.expected_cost(y_true, decided, problem=problem):.2f} EUR per case")
