"""Complaints of the library in the words of the command line, met where the library makes them."""

from __future__ import annotations

import pytest

from stakes import InputError, Problem, Scores, evaluate, shift_prior
from stakes.cli.wording import in_options

TWO = Problem.zero_one(2)
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
    for foreign in ("models[", "y_true", "posterior_prior", "ScoreTable", "Posteriors or Dec"):
        assert foreign not in told


def test_names_of_files_and_columns_stay_as_they_are():
    message = "column 'y_true' of models['a'].csv must hold numbers; posterior_prior is none."
    assert in_options(message) == message
