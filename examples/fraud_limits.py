"""Payments of different amounts, reviewers who can take one in fifty, and a rule to be replaced.

A model predicts the probability of fraud. By the costs alone every sixth payment would be reviewed;
the reviewers can take one in fifty. The limit acts as a price: the report says what one more review
saves, and a curve shows how many reviewers are worth their pay. The incumbent blocks large payments
from new accounts; a gate, as a pull request might have, asks whether the model is clearly better. A
careless rule that reviews every large payment breaks the limit and passes no gate. The problem is
written in TOML and in Python, with the same result. The data are simulated.
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


def python_problem() -> stakes.Problem:
    """The problem in Python."""
    return stakes.Problem(
        {
            "legit": {"approve": 0, "review": 3, "block": "5 + 0.02*amount"},
            "fraud": {"approve": "amount", "review": 8, "block": 0},
        },
        unit="EUR",
        limits=[Limit.share("review", at_most=0.02)],
    )


def toml_problem() -> stakes.Problem:
    """The problem of the text above, read as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "payments.toml"
        path.write_text(PROBLEM, encoding="utf-8")
        return stakes.Problem.from_toml(path)


def main() -> None:
    """Price the limit, evaluate under it, check the gates, and decide a day's batch."""
    rng = np.random.default_rng(1884)
    n, share = 10_000, 0.05
    fraud = rng.random(n) < share
    amount = rng.lognormal(4, 1.2, n).round(2)
    log_odds = rng.normal(np.where(fraud, 2, -2), 2) + np.log(share / (1 - share))
    forest, data = 1 / (1 + np.exp(-log_odds)), {"amount": amount}
    y = np.where(fraud, "fraud", "legit")
    is_new = rng.random(n) < np.where(fraud, 0.5, 0.1)
    old = Decisions(np.where((amount > 150) & is_new, "block", "approve"))
    careless = Decisions(np.where(amount > 150, "review", "approve"))

    problem = toml_problem()
    assert problem == python_problem()
    unlimited = stakes.bayes_decisions(forest, problem.with_limits(None), data=data)
    print(problem)
    reviewed = np.mean(unlimited == "review")
    print(f"\nBy the costs alone, {reviewed:.1%} of the payments are reviewed.")

    priced = stakes.price_limits(forest, problem, data=data)
    (reviewed,), (price,) = priced.values, priced.prices
    print(f"Under the limit it is {reviewed:.2%}, at a price of {price:.2f} EUR.")

    models = {"forest": forest, "careless": careless, "old": old}
    report = stakes.evaluate(
        y,
        models,
        problem,
        data=data,
        baseline="old",
        margin="2%",
        volume=250_000,
        period="year",
        calibrator=None,
    )
    print(f"\nDeploy {report.verdict.model}:")
    for system in report.systems:
        (check,) = system.limits
        print(
            f"  {system.name:22} {system.cost.value:6.3f} EUR per payment, reviews "
            f"{check.value:6.2%}: {check.outcome}"
        )
    for sentence in report.verdict.sentences:
        if "at the margin" in sentence:
            print(sentence.replace("; ", ";\n"))

    print("\nAgainst the incumbent:")
    for name in ("forest (as is)", "careless (as decided)"):
        gap = report.system(name).difference
        assert gap is not None
        print(
            f"  {name:22} {gap.value:+.2f} EUR ({gap.low:+.2f} to {gap.high:+.2f}), "
            f"{'passes' if report.is_better(name) else 'fails'} the gate"
        )

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
