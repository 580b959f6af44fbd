"""Decision-curve displays, live against dcurves, to more digits than it prints."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import numpy as np
import pytest

from peers import conventions as theirs
from stakes.displays import (
    DecisionCurveDisplay,
    InterventionsAvoidedDisplay,
    NetBenefitDifferenceDisplay,
)

P = np.array([0.01, 0.1, 0.15, 0.25, 0.3, 0.5, 0.77, 0.9, 0.99])
DIGITS: dict[str, Any] = {"rtol": 1e-9, "atol": 1e-9}  # pandas prints six


def shipped(name: str, outcome: str) -> tuple[Any, Any]:
    """Outcome and predicted risk of a data set of dcurves' own tutorial."""
    pandas = pytest.importorskip("pandas")
    with (files("dcurves") / "data" / name).open() as file:
        frame = pandas.read_csv(file).dropna(subset=[outcome, "cancerpredmarker"])
    return frame[outcome].to_numpy(int), frame["cancerpredmarker"].to_numpy(float)


def agree(y: Any, scores: Any, prevalence: float | None) -> None:
    peer = theirs.dcurves_table(y, scores, P, prevalence)
    options: dict[str, Any] = {"thresholds": theirs.just_below(P), "prevalence": prevalence}
    model, everybody, nobody = DecisionCurveDisplay.from_predictions(y, scores, **options).lines
    np.testing.assert_allclose(model.y, peer["model_net_benefit"], **DIGITS)
    np.testing.assert_allclose(everybody.y, peer["all_net_benefit"], **DIGITS)
    np.testing.assert_allclose(nobody.y, peer["none_net_benefit"], **DIGITS)
    avoided = InterventionsAvoidedDisplay.from_predictions(y, scores, **options).lines[0]
    np.testing.assert_allclose(avoided.y / 100, peer["interventions_avoided"], **DIGITS)
    gain = NetBenefitDifferenceDisplay.from_predictions(y, scores, reference="treat all", **options)
    difference = peer["model_net_benefit"] - peer["all_net_benefit"]
    np.testing.assert_allclose(gain.lines[0].y, difference, **DIGITS)


@pytest.mark.parametrize("prevalence", [None, 0.05, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_decision_displays_agree_with_dcurves(seed: int, prevalence: float | None) -> None:
    y, scores, _ = theirs.cases(seed, whole=True)
    agree(y, scores, prevalence)


def test_decision_displays_agree_on_the_data_of_its_tutorial() -> None:
    agree(*shipped("df_binary.csv", "cancer"), None)
    agree(*shipped("df_case_control.csv", "casecontrol"), 0.20)
