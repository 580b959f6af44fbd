"""Payments of different amounts, and reviewers who can take one in fifty.

A model gives the probability of fraud. By the costs alone every sixth payment would be reviewed;
the reviewers can take one in fifty. The limit is a price: the report says what one more review
saves, and a curve how many reviewers are worth their pay. The old rule, which reviews every large
payment, breaks the limit and cannot be recommended. The data are simulated.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import stakes
from stakes import Decisions, Limit
from stakes.limits import capacity_curve

PROBLEM = """\
unit = "EUR"

[costs.legit]
approve = 0
review = 3
block = "5 + 0.02*amount"

[costs.fraud]
approve = "amount"
review = 8
block = 0

[[limits]]
decision = "review"
at_most = 0.02
"""


def read_problem() -> stakes.Problem:
    """The problem of the text above, read as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payments.toml"
        path.write_text(PROBLEM, encoding="utf-8")
        return stakes.Problem.from_toml(path)


def main() -> None:
    """Price the limit, evaluate under it, and decide a day's batch."""
    rng = np.random.default_rng(1884)
    n, share = 10_000, 0.05
    fraud = rng.random(n) < share
    amount = rng.lognormal(4, 1.2, n).round(2)
    log_odds = rng.normal(np.where(fraud, 2, -2), 2) + np.log(share / (1 - share))
    forest, data = 1 / (1 + np.exp(-log_odds)), {"amount": amount}
    y = np.where(fraud, "fraud", "legit")
    old = Decisions(np.where(amount > 150, "review", "approve"))

    problem = read_problem()
    free = stakes.bayes_decisions(forest, problem.with_limits(None), data=data)
    print(problem)
    print(f"\nBy the costs alone, {np.mean(free == 'review'):.1%} of the payments are reviewed.")

    found = stakes.price_limits(forest, problem, data=data)
    print(f"Under the limit it is {found.values[0]:.2%}, at a price of {found.prices[0]:.2f} EUR.")

    models = {"forest": forest, "old": old}
    report = stakes.evaluate(
        y, models, problem, data=data, volume=250_000, period="year", calibrator=None
    )
    print(f"\nDeploy {report.verdict.model}:")
    for system in report.systems:
        (check,) = system.limits
        print(
            f"  {system.name:17} {system.cost.value:6.3f} EUR per payment, reviews "
            f"{check.value:6.2%}: {check.said}"
        )
    for sentence in report.verdict.sentences:
        if "at the margin" in sentence:
            print(sentence.replace("; ", ";\n"))

    curve = capacity_curve(forest, problem, "review", data=data)
    print("\ncapacity   EUR per payment   one more review saves")
    for capacity in (0.0, 0.01, 0.02, 0.05, 0.1):
        cost, price = float(curve.cost(capacity)), float(curve.price(capacity))
        print(f"{capacity:8.0%} {cost:17.3f} {price:23.2f}")

    day = slice(0, 700)
    batch = {"amount": amount[day]}
    decided = report.rule().decide(forest[day], batch, limits=[Limit.count("review", 10)])
    print(f"\nToday's batch of 700 gets {np.sum(decided == 'review')} reviews, no more.")


if __name__ == "__main__":
    main()
