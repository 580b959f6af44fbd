"""Messages of the library in the words of the command line, checked where they are raised."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("click")

from stakes import InputError, Problem, Scores, evaluate, shift_prior
from stakes.calibration import BetaMap
from stakes.cli.options import class_shares, in_options

TWO = Problem.zero_one(2)
THREE = Problem([[0, 3, 25], [18, 8, 0]], decisions=["ok", "ask", "no"])
Y, P = [0, 0, 1, 1], [0.1, 0.2, 0.3, 0.9]
RAW = {"m": Scores(np.array(P * 10) * 9 - 4)}
COMPLAINTS = {
    "model it's one must hold probabilities in [0, 1]; 1 of 4 does not": lambda: evaluate(
        Y, {"it's one": [0.1, 0.2, 0.3, 9.0]}, TWO
    ),
    "--posterior-prior must sum to one": lambda: evaluate(Y, P, TWO, posterior_prior=[0.5, 0.6]),
    "--weights must have a positive total; all 4 are zero. Leave weights out": lambda: evaluate(
        Y, P, TWO, weights=[0.0] * 4
    ),
    "--weights must hold numbers that are zero or more": lambda: evaluate(
        Y, P, TWO, weights=[1.0, -1.0, 1.0, 1.0]
    ),
    "--truth must hold labels among 0, 1": lambda: evaluate([0, 0, 1, 2], P, TWO),
    "model m must be posteriors or decisions: raw scores are for two classes": lambda: evaluate(
        [0, 1, 2, 2], {"m": Scores(P)}, Problem.zero_one(3)
    ),
    "--model must allow at least one decision rule; raw scores alone allow none for 3": (
        lambda: evaluate(Y, {"m": Scores(P)}, THREE, calibrator=None)
    ),
    "--calibrate must take raw scores, which the model m has; BetaMap() takes": lambda: evaluate(
        Y * 10, RAW, TWO, calibrator=BetaMap()
    ),
    "--replicates must be one real number": lambda: evaluate(Y, P, TWO, replicates=1),
    "--posterior-prior must be positive where": lambda: shift_prior(P, [1.0, 0.0], [0.5, 0.5]),
}


@pytest.mark.parametrize("wanted", COMPLAINTS)
def test_arguments_are_named_as_options(wanted):
    with pytest.raises(InputError) as caught:
        COMPLAINTS[wanted]()
    assert str(caught.value).startswith(str(caught.value.argument))
    assert in_options(caught.value).startswith(wanted)


@pytest.mark.parametrize("n_classes", [2, 3, 7, 95])
def test_the_shares_that_a_message_shows_are_accepted(n_classes):
    problem = Problem.zero_one(n_classes)
    with pytest.raises(InputError, match="for every class, as in 0=") as caught:
        class_shares("0=1", problem)
    example = str(caught.value).partition("as in ")[2].partition(";")[0]
    shares = class_shares(example, problem)
    assert shares is not None
    assert shares.min() > 0


def test_the_advice_of_caveats_suits_arguments_and_options():
    weights = np.tile([0.5, 1.5, 2.5, 1.0], 10)
    models = {"m": 1 - np.array(P * 10), "raw": Scores(P * 10)}
    report = evaluate(Y * 10, models, THREE, weights=weights, calibrator=None, replicates=20)
    told = " ".join(caveat.text for caveat in report.caveats)
    for advice in ("say by isotonic regression", "State clusters where", "must be in the order of"):
        assert advice in told
    for foreign in ("Isotonic()", "clusters=", "problem.classes"):
        assert foreign not in told


def test_a_remedy_in_python_is_said_in_options_and_no_name_is_touched():
    text = "memory_limit must leave room for key=; it is 1."
    remedy = "Raise it, pass key= or level=0.9, or take problem.with_limits(None)."
    error = InputError(text, remedy=remedy)
    assert str(error) == f"{text} {remedy}"
    assert in_options(error) == (
        "--memory-limit must leave room for key=; it is 1. Raise it, pass --key or --level 0.9, or "
        "leave the limits out of the problem file."
    )


def test_an_earlier_report_of_another_level_is_met_by_the_option():
    earlier = evaluate(Y * 10, {"m": P * 10}, TWO, calibrator=None, replicates=20)
    with pytest.raises(InputError, match=r"Pass level=0\.95\.$") as caught:
        evaluate(Y * 10, {"m": P * 10}, TWO, calibrator=None, baseline=earlier, level=0.9)
    assert in_options(caught.value).startswith("--baseline must be a report with")
    assert in_options(caught.value).endswith("and 0.9 was asked for. Pass --level 0.95.")


def test_names_of_files_and_columns_stay_as_they_are():
    message = "column 'y_true' of models['a'].csv must hold numbers; posterior_prior is none."
    assert in_options(InputError(message)) == message
    assert in_options(InputError(message, argument="column 'y_true' of models['a'].csv")) == message


def test_a_complaint_keeps_its_argument_when_it_is_sent_to_another_process():
    import pickle

    sent = pickle.loads(pickle.dumps(InputError("by must be a column.", argument="by")))
    assert (str(sent), sent.argument) == ("by must be a column.", "by")


def test_a_remedy_that_was_passed_by_itself_can_be_replaced_and_no_other_word():
    error = InputError(
        "text must be JSON; it is not.", argument="text", remedy="Pass what x wrote."
    )
    assert str(error) == "text must be JSON; it is not. Pass what x wrote."
    assert error.complaint == "text must be JSON; it is not."
    told = error.renamed("rule.json", remedy="Write one.")
    assert (str(told), told.argument) == (
        "rule.json must be JSON; it is not. Write one.",
        "rule.json",
    )
    assert str(error.renamed("source")) == "source must be JSON; it is not. Pass what x wrote."
    bare = InputError("text must be JSON; it is not. Pass another.")
    assert str(bare.renamed("a", remedy="Write one.")) == "a must be JSON; it is not. Pass another."


@pytest.mark.parametrize(
    ("message", "argument"),
    [
        ("--level must lie in [0, 1].", "--level"),
        ("models['a]b'] must hold labels.", "models['a]b']"),
        ("by['x'].codes must be whole.", "by['x'].codes"),
        ("the models must be the same.", None),
        ("y_true and models must describe the same cases.", None),
    ],
)
def test_a_message_that_begins_with_an_argument_names_it(message, argument):
    assert InputError(message).argument == argument
