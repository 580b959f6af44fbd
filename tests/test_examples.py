"""The examples run without warnings, and print what they are meant to show."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


@cache
def example(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def demo() -> subprocess.CompletedProcess[str]:
    return example("fraud.py")


def test_the_demo_runs_without_a_warning() -> None:
    assert demo().stderr == ""
    assert demo().returncode == 0


def test_the_demo_prints_lines_that_fit_a_terminal() -> None:
    assert max(map(len, demo().stdout.splitlines())) <= 80


def test_the_demo_shows_accuracy_preferring_the_more_expensive_model() -> None:
    verdict = "Accuracy prefers the specialist, the bank should prefer the generalist."
    assert verdict in demo().stdout


def test_the_demo_makes_naive_decisions_the_unit_of_normalised_costs() -> None:
    [naive] = [line for line in demo().stdout.splitlines() if line.startswith("approve everything")]
    assert naive.split()[2:] == ["0.900", "1.000", "99.50%"]


def test_amounts_pick_another_model_than_their_mean_does() -> None:
    done = example("amounts.py")
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = " ".join(done.stdout.split())
    assert "The mean costs pick the model for small frauds, the amounts the one for large" in text


@pytest.mark.slow
def test_fraud_under_a_limit_prices_it_and_gates_what_would_replace_the_incumbent() -> None:
    done = example("fraud_limits.py")
    assert done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    text = " ".join(done.stdout.split())
    assert "Deploy forest:" in text
    assert "at the margin" in text
    assert text.count(": breaks") == 1
    against = text.partition("Against the incumbent: ")[2].partition(" capacity")[0]
    model, careless = against.split("careless (as decided)")
    assert "passes the gate" in model
    assert "-" in careless.split()[0]  # cheaper, and still
    assert "fails the gate" in careless
    assert "Today's batch of 700 gets 10 reviews, no more." in text
