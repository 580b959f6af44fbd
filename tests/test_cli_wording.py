"""Complaints of the library in the words of the command line, met where the library makes them."""

from __future__ import annotations

import numpy as np
import pytest

from stakes import InputError, Problem, Scores, evaluate, shift_prior
from stakes.calibration import BetaMap
from stakes.cli.wording import in_options, with_options

TWO = Problem.zero_one(2)
THREE = Problem([[0, 3, 25], [18, 8, 0]], decisions=["ok", "ask", "no"])
Y, P = [0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9]
COMPLAINTS = {
    "model it's one must hold probabilities in [0, 1]; 1 of 4 does not": lambda: evaluate(
        Y, {"it's one": [0.1, 0.2, 0.3, 9.0]}, TWO
    ),
    "go to evaluate and audit as --scores NAME=COLUMN; stakes calibrate turns": lambda: evaluate(
        Y, {"m": [0.1, 0.2, 0.3, 9.0]}, TWO
    ),
    "--posterior-prior must sum to one": lambda: evaluate(Y, P, TWO, posterior_prior=[0.5, 0.6]),
    "--weights must have a positive total; all 4 are zero. Leave --weights out": lambda: evaluate(
        Y, P, TWO, weights=[0.0] * 4
    ),
    "the column of the truth must hold labels among 0, 1": lambda: evaluate([0, 0, 1, 2], P, TWO),
    "State one column for each class with --model.": lambda: evaluate(
        [0, 1, 2, 2], {"m": Scores(P)}, Problem.zero_one(3)
    ),
    "raw scores alone allow none for 3 decisions. Pass a calibrator, such as --calibrate iso": (
        lambda: evaluate(Y, {"m": Scores(P)}, THREE, calibrator=None)
    ),
    "--calibrate must take raw scores, which model m has; --calibrate beta takes": lambda: evaluate(
        Y * 10, {"m": Scores(np.array(P * 10) * 9 - 4)}, TWO, calibrator=BetaMap()
    ),
    "--calibrate isotonic, --calibrate logistic or --calibrate platt.": lambda: evaluate(
        Y * 10, {"m": Scores(np.array(P * 10) * 9 - 4)}, TWO, calibrator=BetaMap()
    ),
    "--posterior-prior must be positive where the prior of the problem is": lambda: shift_prior(
        P, [1.0, 0.0], [0.5, 0.5]
    ),
}


@pytest.mark.parametrize("wanted", COMPLAINTS)
def test_arguments_are_told_as_options(wanted):
    with pytest.raises(InputError) as caught:
        COMPLAINTS[wanted]()
    told = in_options(str(caught.value))
    assert wanted in told
    for foreign in (
        "models[",
        "y_true",
        "posterior_prior",
        "ScoreTable",
        "Posteriors or Dec",
        "c()",
    ):
        assert foreign not in told


def test_the_advice_of_caveats_is_about_options():
    weights = np.tile([0.5, 1.5, 2.5, 1.0], 10)
    given = {"m": 1 - np.array(P * 10), "raw": Scores(P * 10)}
    found = evaluate(Y * 10, given, THREE, weights=weights, calibrator=None, replicates=20)
    before = " ".join(caveat.text for caveat in found.caveats)
    after = " ".join(caveat.text for caveat in with_options(found).caveats)
    for foreign, own in (
        ("Isotonic()", "--calibrate isotonic"),
        ("cluster=", "--cluster"),
        ("Posteriors(values, classes=model.classes_)", "Name one for each class with --model."),
    ):
        assert foreign in before
        assert foreign not in after
        assert own in after


def test_names_of_files_and_columns_stay_as_they_are():
    message = "column 'y_true' of models['a'].csv must hold numbers; posterior_prior is none."
    assert in_options(message) == message
