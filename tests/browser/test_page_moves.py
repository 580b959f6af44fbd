"""What the page shows after a move is what a new evaluation says, as nearly as its note says."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("playwright.sync_api")
pytest.importorskip("jinja2")
if shutil.which("chromium") is None:
    pytest.skip("no chromium was found", allow_module_level=True)

from stakes import Problem, Report, evaluate
from stakes.calibration import Affine

DATA = Path(__file__).parents[2] / "src" / "stakes" / "data"
SHOWN = """stakes => {
    stakesPage.set({...stakesPage.reported(), ...stakes});
    return stakesPage.result().inference.saving();
}"""
MANY_FACTORS = (1 / 3, 0.5, 0.7, 1.4, 2, 3)
MANY_PRIORS = (0.01, 0.02, 0.03, 0.07, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6)
GRIDS: Any = [
    ((1 / 3,), (0, 1), (0.3,)),
    pytest.param(MANY_FACTORS, (0, 1, 2, 3), MANY_PRIORS, marks=pytest.mark.slow),
]


def credit(problem: Problem) -> Report:
    """The demo, with some costs and a prior; no resampling, of which a saving knows nothing."""
    rows = np.genfromtxt(
        DATA / "german_credit.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    names = [name for name in rows.dtype.names or () if name not in ("risk", "age")]
    models = {name.replace("_", " "): rows[name] for name in names}
    return evaluate(rows["risk"], models, problem, replicates=10)


def moves(problem: Problem, factors: Any, places: Any, priors: Any) -> Iterator[dict[str, Any]]:
    cells = np.argwhere(problem.costs > 0)
    for k, d in cells[list(places)]:
        for factor in factors:
            costs = np.array(problem.costs)
            costs[k, d] *= factor
            yield {"costs": costs.tolist()}
    for prior in priors:
        yield {"prior": [1 - prior, prior]}


@pytest.mark.parametrize(("factors", "places", "priors"), GRIDS)
def test_a_saving_after_a_move_is_that_of_a_new_evaluation(factors, places, priors, opened):
    problem = Problem.from_toml(DATA / "german_credit.toml")
    page = opened(credit(problem))
    for stakes in moves(problem, factors, places, priors):
        shown = np.array(page.run(SHOWN, stakes))
        known: Any = {"classes": problem.classes, "decisions": problem.decisions}
        costs, prior = stakes.get("costs", problem.costs), stakes.get("prior", problem.prior)
        verdict = credit(Problem(costs, prior=prior, unit=problem.unit, **known)).verdict
        saving = verdict.saving_over_naive
        gap = np.abs(shown - [saving.value, saving.low, saving.high])
        # Rules, maps and costs are those of a new evaluation; what fitting maps adds to the
        # uncertainty is carried over, and a saving is corrected by it.
        assert gap[0] <= 0.03 * verdict.unaided_cost, stakes
        assert gap.max() <= 0.05 * verdict.unaided_cost, stakes
        recalibrated = "recalibrated" in page.run("() => stakesPage.result().best.name")
        told = "carried over from the stakes of the report" in page.text("#verdict-changed")
        assert told is (recalibrated and "prior" in stakes), stakes
        if "costs" in stakes:
            assert gap[0] <= 0.01 * verdict.unaided_cost, stakes
            assert gap.max() <= 0.035 * verdict.unaided_cost, stakes
        assert "a few percent" not in page.text("body")
        # What to do is the same, unless the saving is within this gap of none.
        if abs(saving.low) > 0.05 * verdict.unaided_cost:
            assert page.run("() => stakesPage.result().verdict.kind") == verdict.kind, stakes
    assert page.complaints == []


@pytest.mark.parametrize("calibrator", [None, Affine()], ids=["as is", "recalibrated"])
def test_scores_in_bins_are_called_approximate_wherever_they_are_moved(calibrator, opened):
    rng = np.random.default_rng(0)
    y = (rng.random(3000) < 0.3).astype(int)
    p = 1 / (1 + np.exp(-(2 * y + rng.normal(size=y.size) - 1.8)))
    problem, options = Problem.binary(false_alarm=1, miss=4), {"calibrator": calibrator}
    page = opened(evaluate(y, {"net": p}, problem, replicates=10, **options))
    for costs in ([[0, 1], [6, 0]], [[0, 1], [2, 0]]):
        shown = page.run(SHOWN, {"costs": costs})
        verdict = evaluate(y, {"net": p}, Problem(costs), replicates=10, **options).verdict
        saving = verdict.saving_over_naive
        gap = np.abs(np.array(shown) - [saving.value, saving.low, saving.high])
        assert gap.max() <= 0.01 * verdict.unaided_cost
        assert "less than 1 % of what always deciding" in page.text("#verdict-changed")
    assert page.complaints == []
