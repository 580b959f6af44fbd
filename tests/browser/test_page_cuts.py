"""The page shows cuts of what the models give, also where the stakes were moved."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stakes import Posteriors, Problem, Report, Scores, evaluate, shift_prior
from stakes._text import point
from stakes.calibration import Affine, BetaMap, Isotonic, Logistic

READ = """settings => settings.map(stakes => {
    stakesPage.set(stakes);
    return stakesPage.result().systems.map(({name, change}) => ({name, ...change}));
})"""
PRIOR = [0.85, 0.15]


def rows(*, raw: bool) -> tuple[np.ndarray, dict[str, Any]]:
    """Too sure probabilities, or raw scores on a scale of their own."""
    rng = np.random.default_rng(2)
    y = (rng.random(600) < 0.35).astype(int)
    log_odds = rng.normal(2.4 * y - 1.2, 1.8, (2, 600))
    if raw:
        return y, {"net": Scores(10 + 3 * log_odds[0]), "tree": Scores(log_odds[1].round(1))}
    shares = 1 / (1 + np.exp(-1.5 * log_odds))
    return y, {"net": Posteriors(shares[0]), "tree": Posteriors(shares[1].round(2))}


def costs(n_decisions: int, n_settings: int) -> list[list[list[float]]]:
    """Costs of two or three decisions, in the order in which the probability asks for them."""
    rng = np.random.default_rng(n_decisions)
    drawn = []
    for alarm, miss, look in rng.uniform(0.3, 3, (n_settings, 3)).round(2).tolist():
        middle = [[0.07 * alarm * look], [0.2 * miss]] if n_decisions == 3 else [[], []]
        drawn.append([[0.0, *middle[0], alarm], [miss * 3, *middle[1], 0.0]])
    return drawn


def report_of(calibrator: Any, table: list[list[float]], *, raw: bool) -> Report:
    y, models = rows(raw=raw)
    problem = Problem(table, classes=["well", "ill"], prior=PRIOR, unit="EUR")
    truth = np.array(problem.classes)[y]
    return evaluate(truth, models, problem, calibrator=calibrator, replicates=10)


def read(page: Any, settings: list[dict[str, Any]]) -> list[dict[str, dict[str, Any]]]:
    """What the page has of each system, at each of the settings."""
    return [{system["name"]: system for system in systems} for systems in page.run(READ, settings)]


def as_written(cuts: Any, digits: int) -> list[str]:
    return [point(float(cut), digits) for cut in cuts]


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("calibrator", "raw", "n_decisions"),
    [
        pytest.param(Affine(), False, 3, id="affine, three decisions"),
        pytest.param(Isotonic(), False, 2, id="isotonic, two decisions"),
        pytest.param(Affine(), False, 2, id="affine, two decisions", marks=SLOW),
        pytest.param(Isotonic(), False, 3, id="isotonic, three decisions", marks=SLOW),
        pytest.param(BetaMap(), False, 2, id="beta, two decisions", marks=SLOW),
        pytest.param(BetaMap(), False, 3, id="beta, three decisions", marks=SLOW),
        pytest.param(Isotonic(), True, 2, id="isotonic of raw scores, two decisions", marks=SLOW),
        pytest.param(Isotonic(), True, 3, id="isotonic of raw scores, three", marks=SLOW),
        pytest.param(Logistic(), True, 2, id="logistic of raw scores, two decisions"),
        pytest.param(Logistic(), True, 3, id="logistic of raw scores, three", marks=SLOW),
    ],
)
def test_cuts_at_moved_costs_are_those_of_a_report_at_these_costs(
    opened, calibrator, raw, n_decisions
):
    now, *moved = costs(n_decisions, 3)
    page = opened(report_of(calibrator, now, raw=raw))
    followed = 0
    for table, shown in zip(moved, read(page, [{"costs": table} for table in moved]), strict=True):
        again = report_of(calibrator, table, raw=raw)
        for system in again.systems:
            if "tuned" in system.name:
                continue
            there = shown[system.name]
            at = np.array(there["at"], dtype=float)
            assert there["on_column"]
            assert [again.problem.decisions[d] for d in there["decisions"]] == list(system.decided)
            bent = isinstance(calibrator, BetaMap)  # the page has points of it, with lines between
            assert at == pytest.approx(np.array(system.changes), rel=1e-4 if bent else 1e-7)
            if (at < 1 - 1e-9).all():  # doubles have no digits left of what is missing to 1
                assert there["digits"] == system.digits
                written = as_written(system.changes, system.digits)
                assert as_written(at, there["digits"]) == written
            assert there["corrected"] == pytest.approx(system.corrected)
            followed += 1
    assert followed >= 2 * (2 if raw else 6)
    assert page.complaints == []


def test_cuts_at_a_moved_prior_are_those_of_the_map_of_the_report(opened):
    (table,) = costs(2, 1)
    report = report_of(Affine(), table, raw=False)
    page = opened(report)
    prior = [0.6, 0.4]
    (shown,) = read(page, [{"prior": prior}])
    before = report.assumptions.posterior_prior
    for model in ("net", "tree"):
        p = report.problem.threshold
        assert shown[f"{model} (as is)"]["at"] == pytest.approx([p])
        (moved,) = shown[f"{model} (moved)"]["at"]
        assert shift_prior([[1 - moved, moved]], before, prior)[0, 1] == pytest.approx(p)
        (cut,) = shown[f"{model} (recalibrated)"]["at"]
        rule = report.rules[f"{model} (recalibrated)"]
        assert shift_prior(rule.posteriors([cut]), PRIOR, prior)[0, 1] == pytest.approx(p)


def test_the_verdict_the_rule_the_table_and_the_explorer_show_one_cut(opened):
    table, moved = costs(2, 2)
    report = report_of(Affine(), table, raw=False)
    page = opened(report)
    page.run("document.querySelectorAll('details').forEach(part => part.open = true)")
    for setting in (None, {"costs": moved}):
        if setting:
            page.run("stakes => stakesPage.set(stakes)", setting)
        name, at, digits, shares = page.run(
            "() => { const {best} = stakesPage.result(); "
            "return [best.name, best.change.at, best.change.digits, best.change.corrected]; }"
        )
        assert name.endswith(("(recalibrated)", "(moved)"))
        (cut,) = as_written(at, digits)
        share = f"{100 * shares[0]:.3g} %"
        verdict = "#verdict-changed" if setting else "#verdict-reported"
        for place in (verdict, "#rule", "#systems tr.best", "#explorer"):
            assert cut in page.text(place), place
        assert f"corrected probability {share}" in page.text(verdict)
        for place in ("#rule", "#systems tr.best", "#explorer"):
            assert f"{cut} ({share})" in page.text(place), place


def test_a_report_without_scales_shows_no_cut_as_one_of_the_column(opened):
    report = report_of(Affine(), costs(2, 1)[0], raw=False)
    without: dict[str, Any] = {"scale": None, "decided": (), "corrected": (), "digits": 3}
    plain = tuple(
        type(system)._trusted(**{**vars(system), **without, "threshold": report.problem.threshold})
        for system in report.systems
    )
    older = type(report)._trusted(**{**vars(report), "systems": plain})
    page = opened(older)
    assert "corrected" in page.text("#systems tr.best")
    assert page.complaints == []
