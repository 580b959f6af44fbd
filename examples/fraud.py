"""Two fraud detectors: the more accurate one costs almost twice as much.

A bank approves, reviews or blocks payments. Two models predict the probability of fraud, and both
are perfectly calibrated. The specialist recognises one kind of fraud at a glance and is blind to
all others; the generalist sees some signs of every fraud. The data are simulated, so the
probabilities are exact.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import stakes

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

CLASSES = ["legit", "fraud"]
PRIOR = [0.995, 0.005]
PAYMENTS = stakes.Problem(
    costs=[[0, 3, 25], [180, 8, 0]],
    classes=CLASSES,
    decisions=["approve", "review", "block"],
    prior=PRIOR,
    unit="EUR",
)
GUESSING = stakes.Problem.zero_one(CLASSES, prior=PRIOR)  # every mistake costs 1: the error rate


def specialist(fraud: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Probability of fraud, from a score that is much higher for half of the frauds only."""
    known = fraud & (rng.random(fraud.size) < 0.5)
    score = rng.normal(6.0 * known)
    return posterior(0.5 + 0.5 * np.exp(6.0 * score - 18.0))


def generalist(fraud: BoolArray, rng: np.random.Generator) -> FloatArray:
    """Probability of fraud, from a score that is somewhat higher for every fraud."""
    score = rng.normal(3.0 * fraud)
    return posterior(np.exp(3.0 * score - 4.5))


def posterior(likelihood_ratio: FloatArray) -> FloatArray:
    """Probability of fraud at the bank's share of frauds."""
    odds = PRIOR[1] / PRIOR[0] * likelihood_ratio
    return odds / (1 + odds)


def tally(labels: object, posteriors: FloatArray, problem: stakes.Problem) -> stakes.Counts:
    """Count the cheapest decisions within each class."""
    decided = stakes.bayes_decisions(posteriors, problem)
    return stakes.Counts.from_decisions(labels, decided, problem)


def main() -> None:
    """Decide, count, and print what it costs."""
    rng = np.random.default_rng(1884)
    fraud = np.arange(200_000) % 2 == 1
    labels = np.where(fraud, "fraud", "legit")
    models = {"specialist": specialist(fraud, rng), "generalist": generalist(fraud, rng)}
    counts = {name: tally(labels, p, PAYMENTS) for name, p in models.items()}
    guesses = {name: tally(labels, p, GUESSING) for name, p in models.items()}

    print(PAYMENTS)
    print(f"\nTwo models predict {fraud.size:,} labelled payments, half of them frauds. Every")
    print("decision is the one that its model expects to cost least.")
    for name, table in counts.items():
        print(f"\n{name}: {table}")

    naive = PAYMENTS.naive
    print("\nOnce deployed, where one payment in 200 is a fraud:\n")
    print("                    EUR per payment   normalised cost   accuracy")
    print(f"{naive.decision} everything {naive.cost:16.3f} {1:17.3f} {PRIOR[0]:10.2%}")
    cost = {name: float(stakes.expected_cost(counts[name], PAYMENTS)) for name in models}
    error = {name: float(stakes.expected_cost(guesses[name], GUESSING)) for name in models}
    for name in models:
        normalized = float(stakes.normalized_cost(counts[name], PAYMENTS))
        print(f"{name:18} {cost[name]:16.3f} {normalized:17.3f} {1 - error[name]:10.2%}")

    accurate, cheap = min(error, key=error.__getitem__), min(cost, key=cost.__getitem__)
    loss = cost[accurate] - cost[cheap]
    print(f"\nAccuracy prefers the {accurate}, the bank should prefer the {cheap}.")
    print(f"Following accuracy loses {loss:.3f} EUR per payment, {loss * 1e6:,.0f} in a million.")


if __name__ == "__main__":
    main()
