"""Table 1. Three ways to decide under five cost matrices.

Ten classes: always the same decision, the most probable class, and the Bayes decision.
"""

from __future__ import annotations

import numpy as np
from ferrer_ec.parts import PARTS, TITLES, beside, beyond_rounding
from ferrer_ec.ten_classes import CLASSES, decided, five_problems, population, world
from page import SIGMAS, Page

from stakes import expected_cost


def build(page: Page) -> None:
    """The print, one simulated run and the population, side by side."""
    print_, variance, rng = (
        page.printed,
        page.paper["figure-1"]["variance"],
        np.random.default_rng(3),
    )
    ten, cases, other = world(variance, print_["first_prior"]), print_["cases"], print_["inferred"]
    sample, problems = ten.sample(cases, rng=rng), five_problems(print_, ten)
    runs = {name: decided(sample, problem) for name, problem in problems.items()}
    truth = {name: population(ten, problem, cases) for name, problem in problems.items()}
    rows, away, beyond = [], [], []
    for part, (measure, error_of) in PARTS.items():
        for name, paper in print_[part].items():
            run, here = (measure(tables[name], problems[name]) for tables in (runs, truth))
            error = error_of(truth[name], problems[name])
            page.compare(f"{part}, {name}", paper, here, standard_error=error)
            rows.append((name, part, *beside(paper, run, here, error)))
            beyond.append(beyond_rounding(paper, here, error))
            away.append(np.max(np.abs(run - here) / np.maximum(error, 1e-9)))
    page.say(f"The print, one run of {cases:,} cases, and the population with the standard error:")
    page.rows(("costs", "", *TITLES), rows)
    page.check("the run, in standard errors", f"at most {max(away):.1f} away", max(away) < SIGMAS)
    far, fewer = max(beyond), max(beyond) * np.sqrt(other["cases"] / cases)
    page.say(
        f"""Beyond rounding, the print is at most {far:.1f} standard errors from the population if
        it is a draw of {cases:,} cases, as the paper says, and {fewer:.1f} if it were one of
        {other["cases"]:,}, another reading: both pass."""
    )
    narrow, plain = world(variance**2, print_["first_prior"]), problems["C01"]
    argmax = expected_cost(population(narrow, plain, cases), plain)[1]
    words, wrong = "EC, C01, argmax, if 0.2 were the standard deviation", print_["misprint"]
    page.compare(words, print_["EC"]["C01"][1], argmax, misprint=wrong)
    naive = [p.naive for p in problems.values()]
    names = ["any" if len(n.tied) == len(CLASSES) else str(n.decision) for n in naive]
    page.claim("best naive decisions", ", ".join(names), names == print_["naive_decisions"])
