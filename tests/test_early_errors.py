"""What cannot work is refused before the work, and the message says what to do instead."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stakes.evaluation
from stakes import Decisions, InputError, Posteriors, Problem, Scores, evaluate
from stakes.calibration import Isotonic, cross_calibrate
from stakes.tally import MOST_CELLS, JointCounts, refuse_too_many

PROBLEM = Problem.binary(false_alarm=1, miss=9)
Y, P = [0, 0, 0, 1] * 25, np.array([0.02, 0.05, 0.3, 0.6] * 25)


class Forest:
    """An estimator with a length, which is that of its trees."""

    columns = 3

    def __len__(self) -> int:
        return 5

    def predict(self, X: Any) -> Any:
        raise AssertionError("nothing is predicted")


class Unfitted:
    """An estimator without a length."""

    def predict(self, X: Any) -> Any:
        raise AssertionError("nothing is predicted")


@pytest.mark.parametrize(
    ("models", "argument"),
    [
        (Forest(), "models"),
        (Unfitted(), "models"),
        ([Unfitted(), Forest()], "models"),
        ([("forest", Forest())], "models"),
        ({"good": P, "forest": Forest()}, "models['forest']"),
        ({"forest": Unfitted}, "models['forest']"),
        ({"forest": Posteriors(Forest())}, "models['forest']"),
        (Scores(Forest()), "models"),
        (Decisions(Unfitted()), "models"),
    ],
)
def test_estimators_are_no_predictions(models, argument):
    with pytest.raises(InputError, match=r"must hold predictions, .* got an estimator, ") as caught:
        evaluate(Y, models, PROBLEM)
    assert caught.value.argument == argument
    for remedy in ("estimator.predict_proba(X)", "evaluate_estimators({name: estimator}, X, y"):
        assert remedy in str(caught.value)


def test_a_column_that_is_called_predict_makes_no_estimator():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"0": 1 - P, "1": P, "predict": P})
    models = {"p": frame["predict"], "both": frame[["0", "1"]].set_axis([0, 1], axis=1)}
    report = evaluate(Y, models, PROBLEM, calibrator=None, replicates=5)
    assert report.system("p (as is)").cost == report.system("both (as is)").cost


def test_a_baseline_of_no_model_is_refused_before_anything_is_tallied(monkeypatch):
    monkeypatch.setattr(stakes.evaluation.Folds, "__init__", lambda *arguments: 1 / 0)
    names: list[Any] = ["raw", "as is", "new (raw)", 0]
    for baseline in names:
        with pytest.raises(InputError, match=r"^baseline must be the name of .* got ") as caught:
            evaluate(Y, {"new": P}, PROBLEM, baseline=baseline)
        assert "Write one of the models 'new', or a system: a model with its" in str(caught.value)


def test_a_baseline_that_has_no_system_is_a_model_all_the_same():
    problem = Problem([[0, 3, 25], [180, 8, 0]])
    options: dict[str, Any] = {"calibrator": None, "replicates": 5}
    for baseline, message in (
        ("raw", "'raw' is none here. raw: raw scores alone allow no decision among 3, .* Recal"),
        ("new (moved)", "'new .moved.' is none here. The systems are 'new .as is.'.$"),
    ):
        with pytest.raises(InputError, match=f"^baseline must be a system of .*; {message}"):
            evaluate(Y, {"new": P, "raw": Scores(9 * P)}, problem, baseline=baseline, **options)


def test_folds_that_are_drawn_need_a_generator_and_the_message_says_so_first():
    message = (
        "^rng must be passed where folds are drawn, as 5 folds are; it was left out. Write rng"
    )
    with pytest.raises(InputError, match=message) as caught:
        cross_calibrate("no scores", Y, Isotonic(), 5)
    assert caught.value.argument == "rng"
    assert cross_calibrate(P, Y, Isotonic(), np.arange(100) % 5).shape == (100,)


def test_clusters_that_are_put_together_as_the_message_says_fit():
    assert 600_000 * 120 > MOST_CELLS >= 50_000 * 1000
    with pytest.raises(InputError, match=r"600,000 of them, each of 120 numbers, take 0\.58"):
        refuse_too_many(600_000, 120)
    refuse_too_many(50_000, 1000)
    joint = JointCounts.from_decisions(
        Y, {"m": Y}, Problem.zero_one(2), clusters=np.arange(100) % 10
    )
    assert joint.leading == (10,)
