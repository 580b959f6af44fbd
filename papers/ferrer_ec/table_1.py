"""Table 1. Three ways to decide under five cost matrices.

Ten classes: always the same decision, the most probable class, and the Bayes decision.
"""

from __future__ import annotations

import numpy as np
from ferrer_ec.ten_classes import (
    CLASSES,
    abstained,
    abstained_error,
    decided,
    five_problems,
    population,
    world,
)
from page import SIGMAS, Page

from stakes import expected_cost, normalized_cost
from stakes.inference import expected_cost_error, normalized_cost_error

PARTS = {  # the measure, its standard error, and the decimals of the print
    "EC": (expected_cost, expected_cost_error, 2),
    "NEC": (normalized_cost, normalized_cost_error, 2),
    "% abstained": (abstained, abstained_error, 0),
}


def build(page: Page) -> None:
    """One simulated run, and the population beside the print."""
    print_, variance = page.printed, page.paper["figure-1"]["variance"]
    ten, cases = world(variance, print_["first_prior"]), print_["cases"]
    sample, problems = ten.sample(cases, rng=np.random.default_rng(3)), five_problems(print_, ten)
    runs = {name: decided(sample, problem) for name, problem in problems.items()}
    truth = {name: population(ten, problem, cases) for name, problem in problems.items()}
    rows, away = [], 0.0
    for part, (measure, error_of, decimals) in PARTS.items():
        for name, paper in print_[part].items():
            run, here = (measure(tables[name], problems[name]) for tables in (runs, truth))
            error = error_of(truth[name], problems[name])
            page.compare(f"{part}, {name}", paper, here, decimals=decimals, standard_error=error)
            rows.append((name, part, *run))
            away = max(away, np.max(np.abs(run - here) / np.maximum(error, 1e-9)))
    page.say(f"One run of {cases:,} cases; below, the print beside the whole population:")
    page.rows(("costs", "", "naive", "argmax", "Bayes"), rows, decimals=4)
    page.check("the run, in standard errors", f"at most {away:.1f} away", away < SIGMAS)
    narrow, plain = world(variance**2, print_["first_prior"]), problems["C01"]
    argmax = expected_cost(population(narrow, plain, cases), plain)[1]
    words, wrong = "EC, C01, argmax, if 0.2 were the standard deviation", print_["misprint"]
    page.compare(words, print_["EC"]["C01"][1], argmax, decimals=2, misprint=wrong)
    naive = [p.naive for p in problems.values()]
    names = ["any" if len(n.tied) == len(CLASSES) else str(n.decision) for n in naive]
    page.claim("best naive decisions", ", ".join(names), names == print_["naive_decisions"])
