"""The border of scoring and calibration: posteriors that name their classes, and plain mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from stakes import Problem, calibration, scoring
from stakes._check import FloatArray
from stakes.calibration import (
    Affine,
    BetaMap,
    Calibrator,
    FullAffine,
    Histogram,
    Identity,
    Isotonic,
    Logistic,
    OneVsRestIsotonic,
    Platt,
    Temperature,
    VectorScaling,
    cross_calibrate,
)
from stakes.errors import InputError
from stakes.rows import Posteriors, Scores
from stakes.scoring import Brier, EqualMass, EqualWidth, LogLoss
from stakes.tally import ScoreTable

RNG = np.random.default_rng(0)
CLASSES = ("legit", "fraud")
N = 200
FRAUD = np.clip(RNG.random(N), 0.01, 0.99)
LABELS = np.where(RNG.random(N) < FRAUD, "fraud", "legit")
RIGHT = np.stack([1 - FRAUD, FRAUD], axis=1)  # in the order of CLASSES
SORTED = RIGHT[:, ::-1]  # as scikit-learn sorts them: fraud, legit

THREE = RNG.dirichlet([1, 1, 2], N)
THIRDS = np.array(["c", "a", "b"])[(RNG.random(N)[:, None] > np.cumsum(THREE, 1)).sum(1)]


class Frame:
    """As much of a frame as is needed: columns with names."""

    def __init__(self, columns: dict[Any, Any]) -> None:
        self.columns = list(columns)
        self._columns = columns

    def __getitem__(self, name: Any) -> Any:
        return self._columns[name]


def named(rows: FloatArray, *names: str) -> dict[str, Any]:
    """The same posteriors as a wrapper and as a frame."""
    return {
        "wrapper": Posteriors(rows, classes=names),
        "frame": Frame(dict(zip(names, rows.T, strict=True))),
        "wrapped frame": Posteriors(Frame(dict(zip(names, rows.T, strict=True)))),
    }


TWO = named(SORTED, "fraud", "legit")
MANY = named(THREE[:, [1, 2, 0]], "a", "b", "c")
TAKES_POSTERIORS: tuple[Calibrator, ...] = (
    Affine(),
    BetaMap(),
    Identity(),
    Temperature(),
    VectorScaling(),
    FullAffine(),
    OneVsRestIsotonic(),
)
TAKES_SCORES: tuple[Calibrator, ...] = (Isotonic(), Logistic(), Platt(), Histogram(EqualMass(4)))

# Classes by name ---------------------------------------------------------------------------------

problem = Problem([[0, 1], [9, 0]], classes=CLASSES)
MEASURES: dict[str, Callable[..., Any]] = {
    "case scores": lambda q, **o: scoring.case_scores(LABELS, q, LogLoss(), **o).mean(),
    "mean": lambda q, **o: scoring.mean_score(LABELS, q, LogLoss(), **o),
    "normalized": lambda q, **o: scoring.normalized_score(LABELS, q, LogLoss(), **o),
    "moments": lambda q, **o: scoring.score_moments(LABELS, {"m": q}, LogLoss(), **o).mean()[0],
    "top label": lambda q, **o: float(
        calibration.calibration_error(calibration.top_label_table(LABELS, q, **o), EqualWidth(5), 1)
    ),
    "class-wise": lambda q, **o: float(
        calibration.calibration_error(calibration.class_tables(LABELS, q, **o), EqualWidth(5), 1)
    ),
    "decomposition": lambda q, **o: float(
        calibration.decompose_by_recalibration(LABELS, q, q, Brier(), **o).score
    ),
    "crossed": lambda q, **o: float(
        calibration.decompose_by_cross_calibration(
            LABELS, q, Brier(), Affine(), 3, rng=np.random.default_rng(0), **o
        ).miscalibration
    ),
}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_posteriors_that_name_their_classes_cannot_be_read_in_the_wrong_order(
    measure: Callable[..., Any],
) -> None:
    expected = measure(RIGHT, classes=CLASSES)
    for posteriors in TWO.values():
        assert measure(posteriors, classes=CLASSES) == pytest.approx(expected)
        assert measure(posteriors) == pytest.approx(expected)  # the names are stated already
    assert measure(Posteriors(RIGHT), classes=CLASSES) == pytest.approx(expected)


def test_costs_go_by_the_names_of_the_columns() -> None:
    expected = calibration.cost_of_miscalibration(LABELS, FRAUD, FRAUD, problem)
    for posteriors in TWO.values():
        cost = calibration.cost_of_miscalibration(LABELS, posteriors, posteriors, problem)
        for part in ("actual", "recalibrated", "optimal"):
            assert_allclose(getattr(cost, part), getattr(expected, part))


@pytest.mark.parametrize("calibrator", TAKES_POSTERIORS, ids=lambda c: type(c).__name__)
def test_maps_of_posteriors_go_by_names_when_fitted_and_when_called(calibrator: Calibrator) -> None:
    plain = calibrator.fit(RIGHT, LABELS, classes=CLASSES)
    for posteriors in TWO.values():
        fitted = calibrator.fit(posteriors, LABELS, classes=CLASSES)
        assert_allclose(fitted(RIGHT), plain(RIGHT), atol=1e-12)
        assert_allclose(plain(posteriors), plain(RIGHT), atol=1e-12)
        as_named = calibrator.fit(posteriors, LABELS)
        assert as_named.classes == ("fraud", "legit")
        assert_allclose(as_named(posteriors)[:, ::-1], plain(RIGHT), rtol=1e-5, atol=1e-9)
    single = plain(Posteriors(1 - FRAUD, classes=["fraud", "legit"]))  # P(legit)
    assert_allclose(single, plain(FRAUD))


@pytest.mark.parametrize("calibrator", TAKES_POSTERIORS[2:], ids=lambda c: type(c).__name__)
def test_the_same_holds_for_three_classes(calibrator: Calibrator) -> None:
    plain = calibrator.fit(THREE, THIRDS, classes=["c", "a", "b"])
    for posteriors in MANY.values():
        fitted = calibrator.fit(posteriors, THIRDS, classes=["c", "a", "b"])
        assert_allclose(fitted(posteriors), plain(THREE), rtol=1e-6, atol=1e-9)
        crossed = cross_calibrate(posteriors, THIRDS, calibrator, 3, rng=np.random.default_rng(0))
        assert crossed.shape == THREE.shape


@pytest.mark.parametrize("calibrator", TAKES_SCORES, ids=lambda c: type(c).__name__)
def test_maps_of_scores_take_the_second_class_of_named_posteriors(calibrator: Calibrator) -> None:
    plain = calibrator.fit(FRAUD, LABELS, classes=CLASSES)
    for posteriors in TWO.values():
        fitted = calibrator.fit(posteriors, LABELS, classes=CLASSES)
        assert fitted == plain
        assert_allclose(fitted(posteriors), plain(FRAUD))
    assert calibrator.fit(Scores(FRAUD), LABELS, classes=CLASSES) == plain
    with pytest.raises(InputError, match=r"column 1, P\(second class\)"):
        calibrator.fit(RIGHT, LABELS, classes=CLASSES)
    with pytest.raises(InputError, match=r"column 1, P\(second class\)"):
        plain(RIGHT)


@pytest.mark.parametrize("calibrator", [Affine(), Isotonic()])
def test_cross_calibration_goes_by_names(calibrator: Calibrator) -> None:
    options: dict[str, Any] = {"classes": CLASSES}
    plain = cross_calibrate(FRAUD, LABELS, calibrator, 4, rng=np.random.default_rng(2), **options)
    for posteriors in TWO.values():
        crossed = cross_calibrate(
            posteriors, LABELS, calibrator, 4, rng=np.random.default_rng(2), **options
        )
        assert_allclose(crossed if crossed.ndim == 1 else crossed[:, 1], plain, atol=1e-12)


def test_names_that_are_not_those_of_the_classes_are_refused() -> None:
    other = Posteriors(SORTED, classes=["fraud", "ham"])
    with pytest.raises(InputError, match="classes of posteriors"):
        scoring.mean_score(LABELS, other, LogLoss(), classes=CLASSES)
    with pytest.raises(InputError, match="classes of scores"):
        Affine().fit(other, LABELS, classes=CLASSES)
    with pytest.raises(InputError, match="y must hold labels among 'fraud', 'ham'"):
        Affine().fit(other, LABELS)
    with pytest.raises(InputError, match="classes of scores"):
        Affine().fit(RIGHT, LABELS, classes=CLASSES)(other)
    with pytest.raises(InputError, match="classes must be 2 labels"):
        BetaMap().fit(MANY["wrapper"], THIRDS)
    systems = {"one": TWO["wrapper"], "two": TWO["frame"], "three": RIGHT[:, ::-1]}
    means = scoring.score_moments(LABELS, systems, LogLoss()).mean()
    assert_allclose(means, scoring.mean_score(LABELS, RIGHT, LogLoss(), classes=CLASSES))


# Plain mistakes ----------------------------------------------------------------------------------

table = ScoreTable.from_scores(LABELS == "fraud", FRAUD)
y = (LABELS == "fraud").astype(int)
rng = np.random.default_rng(0)

cal: Any = calibration  # what types forbid is what is tried here
sco: Any = scoring
crossed: Any = cross_calibrate
MISTAKES: list[tuple[str, Callable[[], Any], str]] = [
    ("bins as a number", lambda: cal.calibration_error(table, 10, 1), "bins must be a Binning"),
    ("bins as a class", lambda: sco.calibration_loss(table, EqualWidth), "got the class EqualW"),
    ("reliability bins", lambda: cal.reliability(table, 10), "bins must be a Binning"),
    ("rows for a table", lambda: cal.decompose(y, LogLoss()), "table must be a ScoreTable"),
    ("rows for refinement", lambda: sco.refinement_loss(y, EqualWidth(2)), "table must be a S"),
    ("rows for brier", lambda: sco.brier(FRAUD), r"ScoreTable\.from_scores"),
    ("rows for the line", lambda: cal.calibration_line(FRAUD), "table must be a ScoreTable"),
    ("rows for a cost", lambda: cal.table_cost_of_miscalibration(FRAUD, problem), "table must"),
    (
        "no problem",
        lambda: cal.cost_of_miscalibration(y, FRAUD, FRAUD, [[0, 1]]),
        "problem must be a",
    ),
    (
        "no problem for a table",
        lambda: cal.table_cost_of_miscalibration(table, 5),
        "problem must be a",
    ),
    ("rule as a class", lambda: sco.mean_score(y, FRAUD, LogLoss), r"rule must be a .*LogLoss\(\)"),
    (
        "rule as text",
        lambda: sco.case_scores(y, FRAUD, "log"),
        "rule must be a ScoringRule; got str",
    ),
    ("rule of a table", lambda: sco.table_score(table, LogLoss), r"Write LogLoss\(\)"),
    ("normalised rule", lambda: sco.normalized_score(y, FRAUD, LogLoss), r"Write LogLoss\(\)"),
    ("rule of moments", lambda: sco.score_moments(y, {"a": FRAUD}, Brier), r"Write Brier\(\)"),
    ("rule of a decomposition", lambda: cal.decompose(table, LogLoss), r"Write LogLoss\(\)"),
    (
        "rows for moments",
        lambda: sco.score_moments(y, FRAUD, Brier()),
        "forecasts must be a mapping",
    ),
    ("no forecasts", lambda: sco.score_moments(y, {}, Brier()), "forecasts must be a mapping"),
    (
        "calibrator as a class",
        lambda: crossed(FRAUD, y, Isotonic, 5, rng=rng),
        r"Write Isotonic\(\)",
    ),
    (
        "rng as a seed",
        lambda: crossed(FRAUD, y, Isotonic(), 5, rng=0),
        r"rng must be a .*default_rng\(0\)",
    ),
    ("rng as None", lambda: crossed(FRAUD, y, Isotonic(), 5, rng=None), "rng must be passed"),
    (
        "rng of a band",
        lambda: cal.consistency_band(table, EqualWidth(5), replicates=9, rng=None),
        "rng must be a",
    ),
    (
        "rng of the other",
        lambda: cal.confidence_band(table, EqualWidth(5), replicates=9, rng=1),
        "rng must be a",
    ),
    (
        "half a replicate",
        lambda: cal.consistency_band(table, EqualWidth(5), replicates=2.5, rng=rng),
        "replicates must be a whole",
    ),
    (
        "no replicate",
        lambda: cal.confidence_band(table, EqualWidth(5), replicates=0, rng=rng),
        "replicates must be one",
    ),
    (
        "one column",
        lambda: crossed(FRAUD[:, None], y, Affine(), 5, rng=rng),
        "a column for each of two or more",
    ),
    ("labels without classes", lambda: Isotonic().fit(FRAUD, LABELS), "; y holds 'fraud'"),
    ("unknown label", lambda: Isotonic().fit(FRAUD, LABELS, classes=["a", "b"]), "^y must hold"),
    ("weights of y", lambda: Isotonic().fit(FRAUD, y, weights=[1, 2]), "^y and weights must"),
    ("three labels", lambda: Temperature().fit(THREE, THIRDS), "; y holds 'a'"),
    ("labels of folds", lambda: crossed(FRAUD, LABELS, Isotonic(), 5, rng=rng), "; y holds"),
    (
        "recalibrated too short",
        lambda: cal.cost_of_miscalibration(y, FRAUD, FRAUD[:3], Problem([[0, 1], [5, 0]])),
        f"y_true and recalibrated must .* has {N} rows and recalibrated has 3",
    ),
    (
        "recalibrated is no posterior",
        lambda: cal.cost_of_miscalibration(y, FRAUD, FRAUD * 3, Problem([[0, 1], [5, 0]])),
        "recalibrated must hold prob",
    ),
    (
        "recalibrated in parts",
        lambda: cal.decompose_by_recalibration(y, FRAUD, FRAUD[:3], Brier()),
        "y_true and recalibrated must",
    ),
    (
        "ragged posteriors",
        lambda: sco.mean_score([0, 1], [[0.5, 0.5], [1.0]], Brier()),
        "posteriors must hold real numbers",
    ),
    (
        "scores that are text",
        lambda: Isotonic().fit(["a", "b"], [0, 1]),
        "scores must hold real numbers",
    ),
]


@pytest.mark.parametrize(
    ("mistake", "message"), [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES]
)
def test_a_mistake_is_explained_by_argument_rule_evidence_and_remedy(
    mistake: Callable[[], Any], message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        mistake()
    assert re.search(r"; .*\. \S", str(caught.value)), "evidence after a semicolon, then a remedy"
