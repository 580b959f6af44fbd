"""The measures of Table 1 with their standard errors, and the cells of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from ferrer_ec.ten_classes import CLASSES
from page import decimals_of

from stakes import Counts, Problem, expected_cost, normalized_cost
from stakes.inference import expected_cost_error, normalized_cost_error
from stakes.measures import abstention_rate


def abstained(counts: Counts, problem: Problem) -> np.ndarray:
    """Percentage of the cases about which the systems abstain."""
    return 100 * abstention_rate(counts, decision=problem.decisions[-1])


def abstained_error(counts: Counts, problem: Problem) -> np.ndarray:
    """Its standard error; the number of cases of each class is fixed."""
    abstaining = np.array(problem.decisions) == problem.decisions[-1]
    costs, known = np.tile(abstaining.astype(float), (problem.n_classes, 1)), problem.decisions
    once = Problem(costs, classes=CLASSES, decisions=known, prior=problem.prior)
    return 100 * expected_cost_error(counts, once)


def beside(paper: Sequence[float], *values: np.ndarray) -> list[str]:
    """Cells of a row: of each system the print, the run, and the population with its error."""
    each = zip(paper, *values, strict=True)
    cells = ((str(p), f"{r:.4f}", f"{v:.4f}" + f" ± {e:.4f}" * int(e > 0)) for p, r, v, e in each)
    return list(chain.from_iterable(cells))


def beyond_rounding(paper: Sequence[float], here: np.ndarray, error: np.ndarray) -> float:
    """How many standard errors the print is away, once it may round."""
    half = [0.5 * 10.0 ** -decimals_of(p) for p in paper]
    beyond = np.abs(np.subtract(paper, here)) - half
    return float(np.max(np.where(error > 0, beyond, 0) / np.where(error > 0, error, 1)))


PARTS = {  # the measure, and its standard error
    "EC": (expected_cost, expected_cost_error),
    "NEC": (normalized_cost, normalized_cost_error),
    "% abstained": (abstained, abstained_error),
}
SHOWN = "print", "run", "population"
TITLES = [f"{system}: {what}" for system in ("naive", "argmax", "Bayes") for what in SHOWN]
