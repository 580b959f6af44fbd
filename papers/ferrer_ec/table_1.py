"""Table 1. Three ways to decide under five cost matrices.

Ten classes: always the same decision, the most probable class, and the Bayes decision.
"""

from __future__ import annotations

import numpy as np
from ferrer_ec.ten_classes import CLASSES, decided, five_problems, population
from page import Page

from stakes import expected_cost, normalized_cost
from stakes.inference import expected_cost_error, normalized_cost_error
from stakes.measures import abstention_rate
from stakes.simulate import GaussianWorld


def build(page: Page) -> None:
    """Print, one simulated run and the population, cell by cell."""
    print_, variance = page.printed, page.paper["figure-1"]["variance"]
    first, cases = print_["first_prior"], print_["cases"]
    prior = np.r_[first, np.full(9, (1 - first) / 9)]
    world = GaussianWorld(range(10), variance=variance, prior=prior, classes=CLASSES)
    sample = world.sample(cases, rng=np.random.default_rng(3))
    problems = five_problems(print_, prior)
    page.say("Each cell: paper / one run of as many cases / the whole population.")
    rows = []
    for name, problem in problems.items():
        run = decided(sample, problems["C01"], problem)
        truth = population(world, problems["C01"], problem, cases)
        for part, measure, error_of in (
            ("EC", expected_cost, expected_cost_error),
            ("NEC", normalized_cost, normalized_cost_error),
        ):
            values = measure(run, problem), measure(truth, problem), error_of(truth, problem)
            rows.append((part, name, 2, *values))
        if problem.n_decisions > len(CLASSES):
            share = abstention_rate(truth)
            error = np.sqrt(share * (1 - share) / cases)
            rows.append(
                ("% abstained", name, 0, 100 * abstention_rate(run), 100 * share, 100 * error)
            )
    naive = [p.naive for p in problems.values()]
    names = ["any" if len(n.tied) == len(CLASSES) else str(n.decision) for n in naive]
    _show(page, rows)
    narrow = GaussianWorld(range(10), variance=variance**2, prior=prior, classes=CLASSES)
    truth = population(narrow, problems["C01"], problems["C01"], cases)
    _were_it_a_standard_deviation(page, expected_cost(truth, problems["C01"])[1])
    page.claim("best naive decisions", ", ".join(names), names == print_["naive_decisions"])


def _were_it_a_standard_deviation(page: Page, value: float) -> None:
    page.compare(
        "EC, C01, argmax, if 0.2 were the standard deviation",
        page.printed["EC"]["C01"][1],
        value,
        decimals=2,
        misprint=page.printed["misprint"],
    )


def _show(page: Page, rows: list) -> None:
    lines, away = [], []
    for part, name, decimals, run, truth, error in rows:
        paper, digits = page.printed[part][name], decimals + 2
        cells = [
            f"{p:.{decimals}f} / {r:.{digits}f} / {t:.{digits}f}"
            for p, r, t in zip(paper, run, truth, strict=True)
        ]
        lines.append((name, part, *cells))
        page.compare(f"{part}, {name}", paper, truth, decimals=decimals, standard_error=error)
        away.append(np.max(np.abs(run - truth) / np.maximum(error, 1e-9)))
    page.check("the run, in standard errors", f"at most {max(away):.1f} away", max(away) < 4)
    titles = "costs", "", "naive", "argmax", "Bayes"
    page.table(dict(zip(titles, zip(*lines, strict=True), strict=True)))
