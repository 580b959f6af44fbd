"""
A router in front of language models
====================================

A request can be answered by a small model, by a big one, or by a person. The small model costs
nearly nothing and is often wrong; a person costs four dollars and is right. A *router* reads the
request and predicts who could answer it. What is cheapest follows from the price of the tokens and
from the harm that a wrong answer does, and both differ from request to request.
"""

import numpy as np
from matplotlib import pyplot as plt

import stakes
from stakes import Limit, Problem

problem = Problem(
    {
        "easy": {"small": "2e-7*tokens", "big": "1.5e-5*tokens", "human": 4},
        "tricky": {"small": "2e-7*tokens + harm", "big": "1.5e-5*tokens", "human": 4},
        "beyond": {"small": "2e-7*tokens + harm", "big": "1.5e-5*tokens + harm", "human": 4},
    },
    unit="USD",
)
problem

# %%
# The classes say who could have answered: *easy* requests can be answered by anybody, *tricky* ones
# by the big model or a person, and those *beyond* only by a person. Decisions are not classes. Each
# request comes with its ``tokens`` and its ``harm``, the cost of a wrong answer.
#
# For one request the problem is a table of numbers:

problem.at(tokens=8_000, harm=2.5)

# %%
# Requests whose answers people have checked
# ------------------------------------------
#
# These are simulated. The router's probabilities are calibrated; a wrong answer does little harm in
# small talk and much in a dispute about a refund.

rng = np.random.default_rng(7)
n = 6_000
prior = np.array([0.70, 0.22, 0.08])
truth = rng.choice(3, size=n, p=prior)
evidence = np.log(prior) + rng.normal(0, 1.6, (n, 3)) + 2.56 * np.eye(3)[truth]
router = np.exp(evidence) / np.exp(evidence).sum(axis=1, keepdims=True)
requests = {
    "tokens": rng.lognormal(7.5, 1.0, n).round(),
    "harm": np.where(rng.random(n) < 0.8, 0.05, rng.lognormal(2.5, 1.0, n)).round(2),
}
y_true = np.array(problem.classes)[truth]

# %%
# We compare it with two policies that teams often start with: send everything to the big model, or
# everything except long requests, which go to a person.

everything_big = np.full(n, "big")
by_length = np.where(requests["tokens"] > 8_000, "human", "big")

# %%
# What does each cost?
# --------------------
#
# The router itself needs a call to a tiny model: ``running_costs`` adds the cost of that call to
# every request.

report = stakes.evaluate(
    y_true,
    {"router": router, "all big": everything_big, "by length": by_length},
    problem,
    data=requests,
    calibrator=None,
    running_costs={"router": 0.0004},
    volume=2_000_000,
    period="month",
)
for sentence in report.verdict.sentences:
    print(sentence)

# %%

print(f"{'system':28} {'USD per request':>15}")
for system in report.systems:
    print(f"{system.name:28} {system.cost.value:15.3f}")

# %%
# The verdict also compares with *deciding without a model*: by tokens and harm, with the same
# probabilities for all requests. A policy that loses to that, as both of the others do, is
# not worth using.
#
# The same probabilities, another decision
# ----------------------------------------
#
# A request that is probably easy goes to the small model when little is at stake, and to a person
# when a lot is:

rule = report.rule()
harm = [0.05, 0.5, 5, 50, 200]
decided = rule.decide(
    np.tile([0.75, 0.20, 0.05], (5, 1)), data={"tokens": [2_000] * 5, "harm": harm}
)
for amount, decision in zip(harm, decided, strict=True):
    print(f"a wrong answer costs {amount:6.2f} USD: {decision}")

# %%
# No confidence threshold can do this. The figure shows who answers at each probability of *easy*
# and each harm; four fifths of the remaining probability belong to *tricky*:

p_easy, amounts = np.linspace(0, 1, 80), np.geomspace(0.05, 500, 80)
grid_p, grid_harm = np.meshgrid(p_easy, amounts)
beliefs = np.stack([grid_p, 0.8 * (1 - grid_p), 0.2 * (1 - grid_p)], axis=-1).reshape(-1, 3)
cheapest = rule.decide(
    beliefs, data={"tokens": np.full(grid_p.size, 2_000), "harm": grid_harm.ravel()}
)
shades = np.array([problem.decisions.index(d) for d in cheapest]).reshape(grid_p.shape)
fig, ax = plt.subplots(layout="constrained")
ax.pcolormesh(p_easy, amounts, shades, cmap="Blues", vmin=-0.5, vmax=3, shading="nearest")
ax.set(yscale="log", xlabel="probability that the request is easy", ylabel="harm in USD")
for decision, position in {"small": (0.55, 0.07), "big": (0.55, 2.5), "human": (0.4, 120)}.items():
    ax.text(*position, decision)

# %%
# People are scarce
# -----------------
#
# Suppose that people can answer 1 % of the requests. The limit is part of the problem, and its
# price says what one more answer by a person is worth.

limited = problem.with_limits([Limit.share("human", at_most=0.01)])
priced = stakes.price_limits(router, limited, data=requests)
print(f"answered by people: {priced.values[0]:.1%}")
print(f"one more answer by a person saves {priced.prices[0]:.2f} USD")
