"""The example of ``make demo`` runs as it is, quietly, and says what it is there to say."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

DEMO = Path(__file__).parents[1] / "examples" / "fraud.py"


@cache
def demo() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(DEMO)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_demo_runs_without_a_warning() -> None:
    assert demo().stderr == ""
    assert demo().returncode == 0


def test_the_demo_prints_lines_that_fit_a_terminal() -> None:
    assert max(map(len, demo().stdout.splitlines())) <= 80


def test_the_demo_shows_accuracy_preferring_the_dearer_model() -> None:
    verdict = "Accuracy prefers the specialist, the bank should prefer the generalist."
    assert verdict in demo().stdout


def test_the_demo_makes_naive_decisions_the_cluster_of_normalised_costs() -> None:
    [naive] = [line for line in demo().stdout.splitlines() if line.startswith("approve everything")]
    assert naive.split()[2:] == ["0.900", "1.000", "99.50%"]
