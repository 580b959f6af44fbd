"""Displays draw what their columns hold, and their columns are what the definitions say."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from stakes import (
    CostProportions,
    Counts,
    Decisions,
    JointCounts,
    Limit,
    Posteriors,
    Problem,
    Scores,
    ScoreTable,
    bayes_decisions,
    best_threshold,
    evaluate,
)
from stakes.calibration import reliability
from stakes.curves import brier_curve, decision_curve, optimal_curve, rate_driven_curve
from stakes.errors import InputError
from stakes.inference import Clusters, profile_interval
from stakes.limits import LimitCheck, capacity_curve, coverage_curve
from stakes.scoring import EqualMass, EqualWidth, HullBins

pytest.importorskip("matplotlib")
displays: Any = pytest.importorskip("stakes.displays")

from matplotlib import rc_context, rcdefaults  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from stakes.displays import (  # noqa: E402
    BrierCurveDisplay,
    CapacityDisplay,
    CostByThresholdDisplay,
    CostCurveDisplay,
    CoverageDisplay,
    DecisionCurveDisplay,
    InterventionsAvoidedDisplay,
    NetBenefitDifferenceDisplay,
    RateDrivenCurveDisplay,
    ReliabilityDisplay,
    SystemCostsDisplay,
)

PROBLEM = Problem.binary(false_alarm=1, miss=4, unit="EUR", decisions=["wait", "treat"])
POINTS = np.array([0.05, 0.2, 0.25, 0.5, 0.9])  # some of them are scores, too


@pytest.fixture(autouse=True)
def plain_style():
    """Other tests may have set a style for all pictures."""
    with rc_context():
        rcdefaults()
        yield


def rows(n_cases: int = 240, seed: int = 0) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Imbalanced classes, and scores with many ties."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_cases) < 0.2).astype(int)
    odds = {name: rng.normal(np.where(y, e, -e), np.sqrt(2 * e)) for name, e in SKILLS.items()}
    return y, {name: (1 / (1 + np.exp(1.4 - x))).round(2) for name, x in odds.items()}


SKILLS = {"sharp": 1.8, "blunt": 0.6}
Y, MODELS = rows()
HALVES = np.where(np.arange(Y.size) % 3, 0.5, 1.75)  # fractional weights
WARDS = np.array([f"ward {k}" for k in np.arange(Y.size) % 17])
CURVES = [
    DecisionCurveDisplay,
    InterventionsAvoidedDisplay,
    CostCurveDisplay,
    BrierCurveDisplay,
    RateDrivenCurveDisplay,
]


def curve(display: Any, name: str = "sharp") -> Any:
    [line] = [line for line in display.lines if line.name == name]
    return line


def drawn(ax: Any) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_xydata() for line in ax.get_lines()}


# Values -------------------------------------------------------------------------------------------


def rates(p: float, scores: np.ndarray, weights: np.ndarray) -> tuple[float, float, float]:
    """False-alarm rate, hit rate and share of positives, case by case."""
    sums = {(k, d): 0.0 for k in (0, 1) for d in (False, True)}
    for truth, score, weight in zip(Y, scores, weights, strict=True):
        sums[int(truth), bool(score > p)] += weight
    negatives, positives = (sums[k, False] + sums[k, True] for k in (0, 1))
    alarm, hit = sums[0, True] / negatives, sums[1, True] / positives
    return alarm, hit, positives / (positives + negatives)


@pytest.mark.parametrize("prevalence", [None, 0.03])
@pytest.mark.parametrize("weights", [None, HALVES])
def test_net_benefit_is_what_its_definition_says(prevalence, weights):
    options: dict[str, Any] = {"thresholds": POINTS, "prevalence": prevalence, "weights": weights}
    benefit = DecisionCurveDisplay.from_predictions(Y, MODELS, **options)
    avoided = InterventionsAvoidedDisplay.from_predictions(Y, MODELS, **options)
    gain = NetBenefitDifferenceDisplay.from_predictions(Y, MODELS, reference="blunt", **options)
    w = np.ones(Y.size) if weights is None else weights
    for k, p in enumerate(POINTS):
        values = {}
        for name, scores in MODELS.items():
            alarm, hit, share = rates(p, scores, w)
            share = share if prevalence is None else prevalence
            values[name] = share * hit - (1 - share) * alarm * p / (1 - p)
            spared = (1 - share) * (1 - alarm) - share * (1 - hit) * (1 - p) / p
            assert curve(benefit, name).y[k] == pytest.approx(values[name], abs=1e-12)
            assert curve(avoided, name).y[k] == pytest.approx(100 * spared, abs=1e-9)
        assert curve(gain).y[k] == pytest.approx(values["sharp"] - values["blunt"], abs=1e-12)
        everybody = share - (1 - share) * p / (1 - p)
        assert curve(benefit, "treat all").y[k] == pytest.approx(everybody, abs=1e-12)
    assert not curve(benefit, "treat none").y.any()


def test_a_prevalence_of_next_to_nothing_has_bands_in_silence():
    for prevalence in (5e-324, 1e-310):
        display = DecisionCurveDisplay.from_predictions(Y, MODELS, prevalence=prevalence)
        assert np.isfinite(curve(display).y).all()


@pytest.mark.parametrize("prevalence", [None, 0.4])
@pytest.mark.parametrize("weights", [None, HALVES])
def test_curves_are_those_of_the_library(prevalence, weights):
    table = ScoreTable.from_scores(Y, MODELS["sharp"], weights=weights)
    if prevalence is not None:
        table = table.with_prior([1 - prevalence, prevalence])
    options: dict[str, Any] = {"prevalence": prevalence, "weights": weights}
    for display, expected_curve in (
        (CostCurveDisplay, optimal_curve(table, CostProportions)),
        (BrierCurveDisplay, brier_curve(table, CostProportions)),
        (RateDrivenCurveDisplay, rate_driven_curve(table, CostProportions)),
        (DecisionCurveDisplay, decision_curve(table).net_benefit),
    ):
        line = curve(display.from_predictions(Y, MODELS, **options))
        np.testing.assert_allclose(
            line.y, expected_curve(line.x), atol=1e-12, err_msg=display.__name__
        )


def test_differences_may_be_taken_to_treating_all_and_to_treating_nobody():
    benefit = DecisionCurveDisplay.from_predictions(Y, MODELS)
    for name in ("treat all", "treat none"):
        gain = NetBenefitDifferenceDisplay.from_predictions(Y, MODELS, reference=name)
        assert gain.models == ("sharp", "blunt")
        expected = curve(benefit).y - curve(benefit, name).y
        np.testing.assert_allclose(curve(gain).y, expected, atol=1e-10)
        assert f"less that of\n{name}" in gain.plot().get_ylabel()


# Intervals ----------------------------------------------------------------------------------------

DESIGNS: list[dict[str, Any]] = [{}, {"weights": HALVES}, {"clusters": WARDS}]


def counted(decided: Any, problem: Problem, design: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The tally of decisions, and what `profile_interval` asks for besides."""
    kind: Any = JointCounts if isinstance(decided, dict) else Counts
    tally = kind.from_decisions(Y, decided, problem, **design)
    if "clusters" in design:
        return tally, {"scheme": Clusters()}
    if "weights" in design:
        squares = kind.from_decisions(Y, decided, problem, weights=HALVES**2)
        return tally, {"squares": squares.values if kind is Counts else squares.weights}
    return tally, {}


@pytest.mark.parametrize("prior", [None, [0.9, 0.1]])
@pytest.mark.parametrize("design", DESIGNS, ids=["cases", "weights", "clusters"])
def test_bands_are_intervals_of_the_profile_likelihood_point_by_point(design, prior):
    options = {**design, "thresholds": POINTS, "prevalence": None if prior is None else prior[1]}
    benefit = curve(DecisionCurveDisplay.from_predictions(Y, MODELS, level=0.9, **options))
    gain = curve(
        NetBenefitDifferenceDisplay.from_predictions(
            Y, MODELS, reference="blunt", level=0.9, **options
        )
    )
    for k, p in enumerate(POINTS):
        problem = Problem([[0, p / (1 - p)], [0, -1]], prior=prior)
        decided = {name: (scores > p).astype(int) for name, scores in MODELS.items()}
        tally, more = counted(decided["sharp"], problem, design)
        loss = profile_interval(tally, problem, 0.9, **more)
        np.testing.assert_allclose([benefit.low[k], benefit.high[k]], [-loss.high, -loss.low])
        tally, more = counted(decided, problem, design)
        loss = profile_interval(tally, problem, 0.9, **more)
        np.testing.assert_allclose([gain.low[k], gain.high[k]], [-loss.high, -loss.low])


def test_the_band_of_a_rate_knows_that_the_threshold_depends_on_all_cases():
    """Loss as a mean over cases, to first order in the share of cases below the threshold."""
    rng = np.random.default_rng(8)
    y = rng.random(200) < 0.3
    scores = rng.permutation(200) / 400 + np.where(y, 0.2, 0)
    scores += 1e-6 * np.arange(200)  # no ties
    c = np.array([0.25, 0.6])
    line = curve(RateDrivenCurveDisplay.from_predictions(y, scores, cost_proportions=c), "model")
    isotonic = reliability(ScoreTable.from_scores(y, scores), HullBins()).observed
    for k, at in enumerate(c):
        below = int(200 * at)
        p = isotonic[below - 1]
        decided = (scores > np.sort(scores)[below - 1]).astype(int)
        worth = [[(0 - p) * (1 - at), (0 - p) * (0 - at)], [(1 - p) * (1 - at), (1 - p) * (0 - at)]]
        problem = Problem(2 * np.array(worth))
        loss = profile_interval(Counts.from_decisions(y.astype(int), decided, problem), problem)
        expected = [loss.low + 2 * at * (1 - at), loss.high + 2 * at * (1 - at)]
        np.testing.assert_allclose([line.low[k], line.high[k]], expected)


@pytest.mark.parametrize("display", CURVES)
@pytest.mark.parametrize("design", DESIGNS, ids=["cases", "weights", "clusters"])
def test_bands_hold_their_line_and_are_the_same_each_time(display, design):
    first, again, wide = (
        display.from_predictions(Y, MODELS, level=level, **design) for level in (0.8, 0.8, 0.99)
    )
    assert first == again
    for line, wider in zip(first.lines, wide.lines, strict=True):
        if line.reference:
            assert line.low is None
            continue
        assert (line.low <= line.y + 1e-12).all()
        assert (line.y <= line.high + 1e-12).all()
        assert (wider.high - wider.low >= line.high - line.low - 1e-12).all()
    assert "80 % intervals, pointwise" in first.plot().get_title(loc="left")


# Pictures -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("display", CURVES)
def test_what_is_drawn_is_what_the_frame_holds(display):
    shown = display.from_predictions(Y, MODELS)
    ax = shown.plot()
    frame = shown.frame("pandas")
    x, y = shown.x_column, shown.y_column
    bands = {band.get_label(): band.get_paths()[0].vertices for band in ax.collections}
    for name, part in frame.groupby("model"):
        np.testing.assert_allclose(drawn(ax)[name], part[[x, y]].to_numpy())
        if name in shown.models:
            edges = {tuple(point) for point in bands[f"_{name}"].round(9)}
            assert {tuple(point) for point in part[[x, "low"]].to_numpy().round(9)} <= edges
            assert {tuple(point) for point in part[[x, "high"]].to_numpy().round(9)} <= edges
        else:
            assert part["low"].isna().all()
    assert ax.get_xlabel()
    assert ax.get_ylabel()


def test_a_given_axes_is_drawn_into_and_given_back():
    figure = Figure(layout="constrained")
    ax = figure.add_subplot()
    assert DecisionCurveDisplay.from_predictions(Y, MODELS).plot(ax) is ax
    plain = Figure().add_subplot()  # nobody makes room beside these axes
    BrierCurveDisplay.from_predictions(Y, MODELS).plot(ax=plain)
    legend: Any = plain.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["sharp", "blunt", "no model"]


def boxes(texts: list[Any], figure: Any) -> list[Any]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return [text.get_window_extent(canvas.get_renderer()) for text in texts]


def overlapping(parts: list[Any]) -> int:
    return sum(box.overlaps(two) for k, box in enumerate(parts) for two in parts[k + 1 :])


@pytest.mark.parametrize("display", [DecisionCurveDisplay, CostCurveDisplay])
def test_names_of_a_dozen_models_stand_beside_their_lines_and_apart(display):
    many = {
        f"a model with a name that is long, number {k}": np.clip(MODELS["sharp"] + k / 99, 0, 1)
        for k in range(12)
    }
    ax = display.from_predictions(Y, many).plot()
    labels = [text for text in ax.texts if text.get_gid() == "line label"]
    assert ax.get_legend() is None, "names stand beside the lines"
    assert len(labels) >= 13
    places = boxes(labels, ax.figure)
    assert overlapping(places) == 0
    assert all(box.y0 >= 0 and box.y1 <= ax.figure.bbox.height for box in places)
    assert all(box.x1 <= ax.figure.bbox.width for box in places)
    assert len({text.get_text() for text in labels}) == len(labels)
    styles = {(line.get_color(), line.get_linestyle()) for line in ax.get_lines()[:12]}
    assert len(styles) == 12


def test_of_lines_that_coincide_the_hidden_one_is_wider():
    same = {"first": MODELS["sharp"], "second": MODELS["sharp"], "other": MODELS["blunt"]}
    ax = BrierCurveDisplay.from_predictions(Y, same).plot()
    widths = {line.get_label(): line.get_linewidth() for line in ax.get_lines()}
    assert widths["first"] > widths["second"] == widths["other"]


def test_a_dozen_lines_that_coincide_are_no_bar():
    same = {f"model {k}": MODELS["sharp"] for k in range(12)}
    ax = BrierCurveDisplay.from_predictions(Y, same).plot()
    widths = [line.get_linewidth() for line in ax.get_lines()[1:13]]
    assert (np.diff(widths) < 0).all()
    assert widths[0] < 10


@pytest.mark.parametrize("display", CURVES)
def test_more_than_six_bands_are_not_drawn_and_the_note_says_so(display):
    many = {f"model {k}": np.clip(MODELS["sharp"] + k / 99, 0, 1) for k in range(7)}
    for n_models, drawn_bands in ((6, 6), (7, 0)):
        some = dict(list(many.items())[:n_models])
        shown = display.from_predictions(Y, some)
        ax = shown.plot()
        assert len(ax.collections) == drawn_bands
        assert ax.get_title(loc="left").startswith("no bands of more than 6 models") == (
            not drawn_bands
        )
        assert np.isfinite(shown.lines[0].low).all()


def test_a_long_reference_is_shortened_beside_the_axis():
    """Nothing sticks out of the figure, and the label names what the column names."""
    long = {f"trees with a monotone constraint and more words, fold {k}": P for k in (1, 2)}
    display = NetBenefitDifferenceDisplay.from_predictions(Y, long, reference=next(iter(long)))
    ax = display.plot()
    [box] = boxes([ax.yaxis.label], ax.figure)
    assert box.y0 >= 0
    assert box.y1 <= ax.figure.bbox.height
    labels = [text.get_text() for text in ax.texts if text.get_gid() == "line label"]
    assert labels == ["…and more words, fold 2", "…and more words, fold 1"]
    assert labels[1] in ax.get_ylabel()


def test_a_model_keeps_its_colour_when_another_is_the_reference():
    benefit = DecisionCurveDisplay.from_predictions(Y, MODELS).plot()
    gain = NetBenefitDifferenceDisplay.from_predictions(Y, MODELS, reference="sharp").plot()
    colours = [
        {line.get_label(): line.get_color() for line in ax.get_lines()}["blunt"]
        for ax in (benefit, gain)
    ]
    assert colours[0] == colours[1]


@pytest.mark.parametrize(
    ("y", "scores"),
    [([0, 1], [0.3, 0.3]), ([0, 0, 0], [0.0, 0.5, 1.0]), ([1, 1], [0.2, 0.9]), ([1], [0.4])],
)
def test_tiny_samples_are_drawn_and_not_refused(y, scores):
    for display in CURVES:
        display.from_predictions(y, np.array(scores)).plot()
    ReliabilityDisplay.from_predictions(y, np.array(scores)).plot()
    CostByThresholdDisplay.from_predictions(y, np.array(scores), PROBLEM).plot()


# Estimators and frames ----------------------------------------------------------------------------


class Classifier:
    """The least that is required of an estimator; its classes are sorted the other way round."""

    classes_ = np.array(["ill", "well"])

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        return np.column_stack([X, 1 - X])


class Machine:
    """An estimator without probabilities; its scores are for "well"."""

    classes_ = np.array(["ill", "well"])

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        return -X


HEALTH = np.where(Y == 1, "ill", "well")
ILLNESS = Problem.binary(false_alarm=1, miss=4, classes=["well", "ill"])


@pytest.mark.parametrize("display", [*CURVES, ReliabilityDisplay])
def test_an_estimator_is_what_it_predicts_by_the_names_of_its_classes(display):
    X = MODELS["sharp"]
    shown = display.from_estimator(Classifier(), X, HEALTH, positive="ill")
    assert shown == display.from_predictions(HEALTH, {"Classifier": X}, positive="ill")
    several = {"one": Classifier(), "two": Classifier()}
    assert len(set(display.from_estimator(several, X, HEALTH, positive="ill").models)) == 2


def test_a_pipeline_is_called_after_its_last_step():
    class Pipeline(Classifier):
        steps = (("scale", object()), ("model", Machine()))

    display = BrierCurveDisplay.from_estimator(Pipeline(), MODELS["sharp"], HEALTH, positive="ill")
    assert display.models == ("Machine",)


def test_scores_of_an_estimator_speak_for_the_positive_class():
    X = MODELS["sharp"]
    display = RateDrivenCurveDisplay.from_estimator(Machine(), X, HEALTH, positive="ill")
    expected = RateDrivenCurveDisplay.from_predictions(HEALTH, {"Machine": X}, positive="ill")
    assert display == expected
    by_cost = CostByThresholdDisplay.from_estimator(Machine(), X, HEALTH, ILLNESS)
    table = ScoreTable.from_scores(HEALTH, X, positive="ill")
    assert by_cost.best == (best_threshold(table, ILLNESS).threshold,)
    systems = SystemCostsDisplay.from_estimator(Machine(), X, HEALTH, ILLNESS, calibrator=None)
    assert systems.report.models[0].backwards is None


def test_frames_come_in_the_library_of_the_user():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    display = DecisionCurveDisplay.from_predictions(pandas.Series(Y), MODELS)
    assert isinstance(display.frame(), pandas.DataFrame)
    assert isinstance(display.frame("polars"), polars.DataFrame)
    frame = DecisionCurveDisplay.from_predictions(polars.Series(Y), MODELS).frame()
    assert isinstance(frame, polars.DataFrame)
    assert frame.columns == ["model", "threshold", "net_benefit", "low", "high"]
    assert frame.filter(polars.col("model") == "treat all")["low"].null_count() == 99


def test_rows_of_other_cases_are_refused():
    pandas = pytest.importorskip("pandas")
    y = pandas.Series(Y)
    with pytest.raises(InputError, match="must have the same index"):
        DecisionCurveDisplay.from_predictions(y, pandas.Series(MODELS["sharp"]).iloc[::-1])


def test_displays_are_imported_without_matplotlib_and_scikit_learn():
    code = (
        "import sys, stakes.displays; print({'sklearn', 'matplotlib', 'pandas'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# Reliability --------------------------------------------------------------------------------------


@pytest.mark.parametrize("weights", [None, HALVES])
def test_bins_hold_their_shares_and_cases(weights):
    display = ReliabilityDisplay.from_predictions(Y, MODELS, bins=EqualWidth(4), weights=weights)
    panel = display.panels[0]
    w = np.ones(Y.size) if weights is None else weights
    scores = MODELS["sharp"]
    place = 0
    for low, high in ((-1, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)):
        inside = (scores > low) & (scores <= high)
        assert panel.weights[place] == pytest.approx(w[inside].sum())
        assert panel.scores[place] == pytest.approx(np.average(scores[inside], weights=w[inside]))
        assert panel.shares[place] == pytest.approx(np.average(Y[inside], weights=w[inside]))
        assert panel.low[place] <= panel.shares[place] <= panel.high[place]
        place += 1
    assert panel.weights.size == place


def test_the_interval_of_a_bin_is_that_of_its_share():
    panel = ReliabilityDisplay.from_predictions(Y, MODELS["sharp"], bins=EqualMass(5)).panels[0]
    hits = np.round(panel.shares * panel.weights)
    for k, hit in enumerate(hits):
        counts = Counts([[panel.weights[k] - hit, hit]])
        share = profile_interval(counts, Problem([[0, 1]]))
        np.testing.assert_allclose([panel.low[k], panel.high[k]], [share.low, share.high])


@pytest.mark.parametrize("design", DESIGNS, ids=["cases", "weights", "clusters"])
def test_the_smooth_line_solves_the_equations_of_logistic_regression(design):
    """Residuals have no mean and no slope in the log-odds, up to half of each slope (Firth)."""
    y, models = rows(1500, seed=4)
    more = {name: np.resize(column, y.size) for name, column in design.items()}
    scores = models["sharp"].clip(0.01, 0.99)
    problem = displays.display.two_class_problem(y, None, None, None)
    cases = displays.display.read_scored(
        y, scores, problem, **{"weights": None, "clusters": None, **more}, probabilities=True
    ).cases
    line = displays.reliability_display.smooth_line(cases, y, scores, scores, 0.95)
    residual = (y - line.value) * more.get("weights", np.ones(y.size))
    odds = np.log(scores / (1 - scores))
    assert abs(residual.sum()) < 4 / 2
    assert abs(residual @ odds) < 4 / 2 * np.abs(odds).max()
    assert (line.low < line.value).all()
    assert (line.value < line.high).all()


def test_a_straight_line_has_the_error_that_two_slopes_have():
    """Few cases of a class: a line, whose covariance is the inverse of Fisher's information."""
    y, scores = Y[:100], MODELS["sharp"][:100].clip(0.01, 0.99)
    assert y.sum() < 40
    problem = displays.display.two_class_problem(y, None, None, None)
    cases = displays.display.read_scored(
        y, scores, problem, weights=None, clusters=None, probabilities=True
    ).cases
    at = np.array([0.1, 0.6])
    line = displays.reliability_display.smooth_line(cases, y, scores, at, 0.95)
    logit = lambda p: np.log(p / (1 - p))  # noqa: E731
    slope = np.diff(logit(line.value)) / np.diff(logit(at))
    intercept = logit(line.value[0]) - slope * logit(at[0])
    chance = 1 / (1 + np.exp(-(intercept + slope * logit(scores))))
    information = np.zeros((2, 2))
    for x, p in zip(logit(scores), chance, strict=True):
        information += p * (1 - p) * np.outer([1, x], [1, x])
    inverse = np.linalg.inv(information)
    for k, x in enumerate(logit(at)):
        error = np.sqrt([1, x] @ inverse @ [1, x])
        reach = (logit(line.high[k]) - logit(line.low[k])) / 2
        assert reach == pytest.approx(1.959964 * error, rel=1e-4)


def test_classes_that_a_threshold_separates_have_a_smooth_line_too():
    y, scores = np.repeat([0, 1], 15), np.linspace(0.02, 0.98, 30)
    panel = ReliabilityDisplay.from_predictions(y, scores).panels[0]
    assert (np.diff(panel.smooth) > 0).all()
    assert 0.2 < panel.smooth_low[-1] < panel.smooth[-1] < 1
    assert 0.8 > panel.smooth_high[0] > panel.smooth[0] > 0


def test_one_slope_alone_is_that_of_firth():
    """Two groups: Firth's shares are those of half a case more of either class."""
    y = np.array([0] * 9 + [1] * 3 + [0] * 2 + [1] * 6)
    scores = np.repeat([0.2, 0.7], [12, 8])
    problem = displays.display.two_class_problem(y, None, None, None)
    cases = displays.display.read_scored(
        y, scores, problem, weights=None, clusters=None, probabilities=True
    ).cases
    line = displays.reliability_display.smooth_line(cases, y, scores, np.array([0.2, 0.7]), 0.95)
    np.testing.assert_allclose(line.value, [3.5 / 13, 6.5 / 9], rtol=1e-6)


def many_classes() -> tuple[np.ndarray, Posteriors]:
    rng = np.random.default_rng(1)
    names = np.array([f"class {k}" for k in "jihgfedcba"])
    y = rng.integers(0, 10, 600)
    odds = rng.normal(size=(600, 10)) + 2 * np.eye(10)[y]
    shares = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    return names[y], Posteriors(shares, classes=names)


def test_ten_classes_have_a_panel_each_and_none_overlaps_another():
    y, posteriors = many_classes()
    display = ReliabilityDisplay.from_predictions(y, {"net": posteriors})
    assert display.classes == tuple(f"class {k}" for k in "jihgfedcba")
    share = np.average(y == "class j")
    panel = display.panels[0]
    assert np.average(panel.shares, weights=panel.weights) == pytest.approx(share)
    ax = display.plot()
    panels: Any = ax.child_axes
    assert [panel.get_title() for panel in panels] == list(display.classes)
    assert overlapping(boxes([panel.title for panel in panels], ax.figure)) == 0
    assert overlapping([panel.get_tightbbox() for panel in panels]) == 0
    bins = {line.get_label(): line for line in panels[3].get_lines()}["bins"]
    np.testing.assert_array_equal(bins.get_ydata(), display.panels[3].shares)
    frame = display.frame("pandas")
    part = frame[(frame["class"] == "class g") & (frame["kind"] == "bin")]
    np.testing.assert_array_equal(part["observed"], display.panels[3].shares)
    assert part["weight"].sum() == 600


def test_panels_in_a_small_place_share_the_labels_of_their_axes():
    figure = Figure(figsize=(8, 3), layout="constrained")
    axes = figure.subplots(1, 2)
    three = {**MODELS, "third": MODELS["blunt"]}
    ax = ReliabilityDisplay.from_predictions(Y, three).plot(axes[1])
    panels: Any = ax.child_axes
    assert [panel.get_xlabel() for panel in panels] == ["", "predicted probability", ""]
    texts = [panel.yaxis.label for panel in panels] + [panels[1].xaxis.label]
    assert overlapping(boxes([*texts, *panels[0].get_yticklabels()], figure)) == 0


def test_classes_that_are_numbers_are_called_classes():
    y, posteriors = many_classes()
    numbers = Posteriors(posteriors.values, classes=range(10))
    codes = [int(np.flatnonzero(np.asarray(posteriors.classes) == label)[0]) for label in y]
    display = ReliabilityDisplay.from_predictions(codes, {"net": numbers, "other": numbers})
    assert display.panels[3].name == "net: class 3"


def test_one_panel_writes_out_how_many_cases_each_bin_holds():
    display = ReliabilityDisplay.from_predictions(Y, MODELS["sharp"], bins=EqualWidth(4))
    written = [text.get_text() for text in display.plot().texts]
    assert written == [f"{count:g}" for count in display.panels[0].weights]


def rare(n_cases: int = 20_000) -> tuple[np.ndarray, np.ndarray]:
    """Calibrated probabilities, none of which exceeds 5 %."""
    rng = np.random.default_rng(2)
    p = np.clip(rng.gamma(1, 0.008, n_cases), 0, 0.045)
    return (rng.random(n_cases) < p).astype(int), p


def test_probabilities_of_a_rare_class_fill_the_axes_and_the_bins():
    y, p = rare()
    display = ReliabilityDisplay.from_predictions(y, {"first": p, "second": p / 2})
    panel = display.panels[0]
    assert panel.scores.size == 9
    tenth = np.ceil(p / 0.005).astype(int)
    np.testing.assert_allclose(panel.shares, [y[tenth == k].mean() for k in range(1, 10)])
    insets: Any = display.plot().child_axes
    for inset in insets:
        assert [label.get_text() for label in inset.get_xticklabels()] == ["0", "0.025", "0.05"]
        assert 0.05 < inset.get_xlim()[1] < 0.06
        assert inset.get_ylim()[1] == pytest.approx(inset.get_xlim()[1])
        assert drawn(inset)["_diagonal"].tolist() == [[0, 0], [0.05, 0.05]]
    stated = ReliabilityDisplay.from_predictions(y, p, bins=EqualWidth(10)).panels[0]
    assert stated.scores.size == 1
    nothing = ReliabilityDisplay.from_predictions([0, 0, 0], np.zeros(3)).plot()
    assert nothing.get_xlim()[1] == nothing.get_ylim()[1] == 1.02


def test_a_share_far_above_its_probability_is_within_the_axes():
    y = (np.arange(600) % 3 == 0).astype(int)
    ax = ReliabilityDisplay.from_predictions(y, np.linspace(0.001, 0.04, 600)).plot()
    assert ax.get_xlim()[1] == pytest.approx(0.051)
    assert ax.get_ylim()[1] == pytest.approx(0.51)
    assert ax.get_aspect() == pytest.approx(0.1)


def test_the_smooth_line_of_a_rare_class_bends_where_its_axis_shows_it():
    """Probabilities below one in a thousand are half of an axis that ends at 0.002."""
    rng = np.random.default_rng(5)
    p = rng.uniform(1e-5, 0.002, 200_000)
    y = (rng.random(p.size) < p).astype(int)
    panel = ReliabilityDisplay.from_predictions(y, p).panels[0]
    below = panel.smooth_scores < 5e-4
    assert below.sum() > 20
    assert (np.diff(panel.smooth[below]) > 0).all()


def test_many_cases_are_counted_in_plain_numbers():
    module = pytest.importorskip("stakes.plot._figures")
    counts = [module._count(n) for n in (0.5, 300, 9999, 19_811, 123_456, 999_999, 1_234_567)]
    assert counts == ["0.5", "300", "9999", "19.8k", "123k", "1000k", "1.23M"]
    y, p = rare()
    shown = ReliabilityDisplay.from_predictions(y, p, bins=EqualWidth(1)).plot()
    assert [text.get_text() for text in shown.texts] == ["20k"]


def test_titles_of_neighbouring_panels_have_two_lines_and_do_not_touch():
    names = [
        f"{kind} with all features, {how}"
        for kind in ("gradient boosting", "logistic regression", "naive Bayes")
        for how in ("calibrated", "as it is")
    ]
    for figure in (None, Figure(figsize=(9, 4.5), layout="constrained")):
        ax = None if figure is None else figure.subplots(1, 2)[1]
        ax = ReliabilityDisplay.from_predictions(Y, dict.fromkeys(names, P)).plot(ax)
        panels: Any = ax.child_axes
        titles = [panel.title for panel in panels]
        assert overlapping(boxes(titles, ax.figure)) == 0
        assert overlapping([panel.get_tightbbox() for panel in panels]) == 0
        assert len({title.get_text() for title in titles}) == 6
        assert all(title.get_text().count("\n") == 1 for title in titles)


def test_a_title_is_broken_near_its_middle():
    broken = pytest.importorskip("stakes.plot._figures")._in_two_lines
    assert broken("forest", 10) == "forest"
    assert broken("gradient boosting, calibrated", 20) == "gradient boosting,\ncalibrated"
    assert broken("a bb ccccccccccccccc", 16) == "a bb\nccccccccccccccc"
    assert broken("x" * 20, 10) == f"{'x' * 10}\n{'x' * 10}"


# Costs --------------------------------------------------------------------------------------------


def test_cost_by_threshold_marks_the_best_and_the_bayes_threshold():
    display = CostByThresholdDisplay.from_predictions(Y, MODELS, PROBLEM)
    line, [best, _] = curve(display), display.best
    assert display.bayes == PROBLEM.threshold == 0.2
    expected = best_threshold(ScoreTable.from_scores(Y, MODELS["sharp"]), PROBLEM)
    assert best == expected.threshold
    assert line.y.min() == pytest.approx(expected.cost)
    for p in (0.2, 0.55):
        alarm, hit, share = rates(p, MODELS["sharp"], np.ones(Y.size))
        cost = (1 - share) * alarm * 1 + share * (1 - hit) * 4
        [at] = np.flatnonzero(np.isclose(line.x, p))
        assert line.y[at] == pytest.approx(cost)
    ax = display.plot()
    dots: list[Any] = [line for line in ax.get_lines() if line.get_label() == "_mark"]
    marks = [dot.get_xydata()[0] for dot in dots]
    np.testing.assert_allclose(marks[0], [best, expected.cost])
    assert ax.get_ylabel() == "expected cost per case, EUR"
    assert ax.get_xlabel() == "threshold probability"
    labels = [text.get_text() for text in ax.texts if text.get_gid() == "line label"]
    assert f"sharp, best at {best:.3g}" in labels
    assert "Bayes threshold 0.2" in labels


@pytest.mark.parametrize(
    ("miss", "named"), [(4, "constant, best: always treat"), (0.1, "constant, best: always wait")]
)
def test_where_no_threshold_is_better_than_one_decision_it_is_named(miss, named):
    problem = Problem.binary(false_alarm=1, miss=miss, decisions=["wait", "treat"])
    y = np.arange(12) % 3 == 0
    display = CostByThresholdDisplay.from_predictions(y, {"constant": np.full(12, 0.3)}, problem)
    ax = display.plot()
    assert named in [text.get_text() for text in ax.texts]
    assert "_mark" not in drawn(ax)
    absent = CostByThresholdDisplay.from_predictions([0, 0], np.array([0.2, 0.4]), problem)
    assert not any("nan" in text.get_text() for text in absent.plot().texts)


def test_raw_scores_have_a_best_threshold_and_none_of_bayes():
    display = CostByThresholdDisplay.from_predictions(Y, Scores(10 * MODELS["sharp"]), PROBLEM)
    assert np.isnan(display.bayes)
    assert display.lines[0].x[-1] == 10 * MODELS["sharp"].max()
    assert "Bayes" not in "".join(text.get_text() for text in display.plot().texts)


AMOUNTS = {"amount": np.random.default_rng(4).lognormal(1, 0.8, Y.size).round(1)}
CHARGED = Problem([[0.2, "1 + 0.1*amount"], ["amount", 0.5]], unit="EUR")
MIXED = {"weights": HALVES, "clusters": WARDS}


@pytest.mark.parametrize(("design", "prior"), [({}, None), (MIXED, [0.9, 0.1])])
def test_cost_by_threshold_charges_every_case_its_own_costs(design, prior):
    problem = CHARGED if prior is None else CHARGED.with_prior(prior)
    options: dict[str, Any] = {"data": AMOUNTS, **design}
    display = CostByThresholdDisplay.from_predictions(Y, MODELS, problem, **options)
    line = curve(display)
    mass = design.get("weights", np.ones(Y.size))
    sizes = [mass[k == Y].sum() for k in (0, 1)]
    for at in (0.0, 0.1, 0.55):
        sums = [0.0, 0.0]
        for y, p, amount, w in zip(Y, MODELS["sharp"], AMOUNTS["amount"], mass, strict=True):
            alarm, miss = (1 + 0.1 * amount, 0.2) if y == 0 else (0.5, amount)
            sums[y] += w * (alarm if p > at else miss)
        cost = sum(sums) / sum(sizes)
        if prior is not None:
            cost = sum(q * s / n for q, s, n in zip(prior, sums, sizes, strict=True))
        [place] = np.flatnonzero(np.isclose(line.x, at))
        assert line.y[place] == pytest.approx(cost)
    decided = Decisions((MODELS["sharp"] > 0.55).astype(int))
    report = evaluate(
        Y, {"cut": decided, "p": MODELS["sharp"]}, problem, calibrator=None, **options
    )
    cut = report.system("cut").cost
    assert (line.low[place], line.high[place]) == pytest.approx((cut.low, cut.high))
    by_threshold: Any = next(model.by_threshold for model in report.models if model.model == "p")
    costs = by_threshold.costs(problem)
    assert (
        display.best[0]
        == by_threshold.thresholds[np.flatnonzero(np.isclose(costs, costs.min()))[-1]]
    )
    assert line.mark == pytest.approx((display.best[0], costs.min()))
    assert line.y.min() == pytest.approx(costs.min())


def test_every_case_has_a_bayes_threshold_of_its_own():
    display = CostByThresholdDisplay.from_predictions(Y, MODELS, CHARGED, data=AMOUNTS)
    assert np.isnan(display.bayes)
    ax = display.plot()
    assert "Bayes" not in "".join(text.get_text() for text in ax.texts)
    assert "every case at its own costs" in ax.get_title(loc="left")
    assert ax.get_ylabel() == "expected cost per case, EUR"


@pytest.fixture(scope="module")
def report() -> Any:
    return evaluate(Y, MODELS, PROBLEM, calibrator=None, replicates=50)


def test_costs_of_systems_are_those_of_the_report_the_cheapest_first(report):
    display = SystemCostsDisplay.from_report(report)
    frame = display.frame("pandas")
    assert (np.diff(frame["cost"]) >= 0).all()
    assert set(frame["system"]) == {system.name for system in report.systems}
    for _, row in frame.iterrows():
        cost = report.system(row["system"]).cost
        assert (row["cost"], row["low"], row["high"]) == (cost.value, cost.low, cost.high)
    ax = display.plot()
    bars = [line.get_xdata() for line in ax.get_lines() if line.get_label() == "_interval"]
    np.testing.assert_array_equal(bars, frame[["low", "high"]])
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names == [*frame["system"], f"always {report.naive.decision}", "perfect decisions"]
    [bold] = [tick for tick in ax.get_yticklabels() if tick.get_fontweight() == "bold"]
    assert bold.get_text() == report.verdict.cheapest
    assert "EUR" in ax.get_xlabel()
    assert ax.get_title(loc="left").endswith("bold: to deploy · open circle: tuned on these cases")


def test_an_open_circle_says_that_a_limit_is_broken(report):
    broken = LimitCheck(Limit.share("treat", at_most=0.1), 0.4, 0.3, 0.5)
    first, *others = (system for system in report.systems if system.candidate)
    barred = replace(first, candidate=False, limits=(broken,))
    display = SystemCostsDisplay.from_report(replace(report, systems=(*others, barred)))
    assert display.note.endswith("open circle: breaks a limit")


def test_costs_of_systems_come_from_predictions_in_one_call(report):
    display = SystemCostsDisplay.from_predictions(
        Y, MODELS, PROBLEM, calibrator=None, replicates=50
    )
    assert display.columns()["cost"].tolist() == pytest.approx(
        SystemCostsDisplay.from_report(report).columns()["cost"].tolist()
    )


# What is refused ----------------------------------------------------------------------------------

P = MODELS["sharp"]
REFUSED: list[tuple[str, Any, tuple[Any, ...], dict[str, Any]]] = [
    ("models must hold at least one model", DecisionCurveDisplay, (Y, {}), {}),
    ("models must be an array of predictions", DecisionCurveDisplay, (Y, None), {}),
    ("must hold probabilities in", DecisionCurveDisplay, (Y, 7 * P), {}),
    ("whole numbers, booleans or labels", DecisionCurveDisplay, (Y, Y), {}),
    ("these are raw scores", DecisionCurveDisplay, (Y, Scores(P)), {}),
    ("these are raw scores", BrierCurveDisplay, (Y, Scores(P)), {}),
    ("y_true and models.* must describe the same cases", CostCurveDisplay, (Y, P[1:]), {}),
    ("positive must be stated", DecisionCurveDisplay, (HEALTH, P), {}),
    ("y_true must hold two labels", DecisionCurveDisplay, ([0, 1, 2], P[:3]), {"positive": 1}),
    ("prevalence must be one real number within", CostCurveDisplay, (Y, P), {"prevalence": 3}),
    (
        "thresholds must be two or more increasing",
        DecisionCurveDisplay,
        (Y, P),
        {"thresholds": [0]},
    ),
    ("thresholds must hold real numbers", DecisionCurveDisplay, (Y, P), {"thresholds": "all"}),
    ("cost_proportions must be two or", CostCurveDisplay, (Y, P), {"cost_proportions": [0.5, 0.1]}),
    ("level must lie strictly between", RateDrivenCurveDisplay, (Y, P), {"level": 95}),
    ("clusters must hold a label", BrierCurveDisplay, (Y, P), {"clusters": [None] * Y.size}),
    ("reference must be one of", NetBenefitDifferenceDisplay, (Y, P), {"reference": "old"}),
    ("reference must be one of", NetBenefitDifferenceDisplay, (Y, P), {"reference": ["model"]}),
    ("models must be an array of predictions", CostByThresholdDisplay, (Y, PROBLEM, PROBLEM), {}),
    ("must not be called 'treat all'", DecisionCurveDisplay, (Y, {"treat all": P}), {}),
    ("bins must be a Binning", ReliabilityDisplay, (Y, P), {"bins": 10}),
    ("bins must not depend on the classes", ReliabilityDisplay, (Y, P), {"bins": HullBins()}),
    ("to be compared with shares", ReliabilityDisplay, (Y, Scores(P)), {}),
    ("problem must be a Problem", CostByThresholdDisplay, (Y, P, [[0, 1], [4, 0]]), {}),
    ("two classes and two decisions", CostByThresholdDisplay, (Y, P, Problem.zero_one(3)), {}),
    ("data must hold the columns", CostByThresholdDisplay, (Y, P, CHARGED), {}),
    ("data must have the column", CostByThresholdDisplay, (Y, P, CHARGED), {"data": {"x": Y}}),
    ("data must be left out", CostByThresholdDisplay, (Y, P, PROBLEM), {"data": AMOUNTS}),
    (
        "Nothing is at stake",
        CostByThresholdDisplay,
        (Y, P, Problem([["a", "a"], ["a", "a"]])),
        {"data": {"a": P}},
    ),
    ("problem must be a Problem", SystemCostsDisplay, (Y, P, None), {}),
]


TWO = np.column_stack([P, 1 - P])  # as scikit-learn has them: "ill", then "well"
REFUSED += [
    (r"columns of models\['model'\] must be named", kind, (HEALTH, TWO), {"positive": "ill"})
    for kind in (DecisionCurveDisplay, CostCurveDisplay, ReliabilityDisplay)
]
REFUSED += [
    ("hold a model besides the", NetBenefitDifferenceDisplay, (Y, P), {"reference": "model"}),
    ("classes must be stated", ReliabilityDisplay, (Y, np.full((Y.size, 3), 1 / 3)), {}),
]


def test_two_columns_without_names_are_taken_where_every_order_is_the_same():
    for y, positive in ((HEALTH, "well"), (Y, None), (Y == 1, None)):
        bare = DecisionCurveDisplay.from_predictions(
            y, TWO[:, ::-1] if positive is None else TWO, positive=positive
        )
        named = Posteriors(TWO, classes=["ill", "well"] if positive else [1, 0])
        assert bare == DecisionCurveDisplay.from_predictions(y, named, positive=positive)


def test_a_display_says_briefly_what_it_is():
    display = DecisionCurveDisplay.from_predictions(Y, MODELS)
    assert repr(display) == "DecisionCurveDisplay of sharp, blunt; draw it with plot()"
    many = ReliabilityDisplay.from_predictions(*many_classes())
    assert repr(many) == "ReliabilityDisplay of model; draw it with plot()"
    assert len(repr(CostCurveDisplay.from_predictions(Y, {str(k) * 30: P for k in range(9)}))) < 120


@pytest.mark.parametrize(("words", "display", "predictions", "options"), REFUSED)
def test_wrong_arguments_are_refused_in_words(words, display, predictions, options):
    with pytest.raises(InputError, match=words):
        display.from_predictions(*predictions, **options)


def test_what_is_no_report_no_estimator_and_no_axes_is_refused():
    with pytest.raises(InputError, match="report must be a Report"):
        SystemCostsDisplay.from_report({"cost": 1})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="estimator must be a fitted classifier"):
        DecisionCurveDisplay.from_estimator(Classifier, P, Y)
    with pytest.raises(InputError, match=r"estimator\['x'\] must be a fitted classifier"):
        DecisionCurveDisplay.from_estimator({"x": object()}, P, Y)

    class Regressor:
        classes_ = (0, 1)

    with pytest.raises(InputError, match="must have predict_proba or"):
        DecisionCurveDisplay.from_estimator(Regressor(), P, Y)
    display = BrierCurveDisplay.from_predictions(Y, P)
    with pytest.raises(InputError, match="ax must be one Axes of matplotlib"):
        display.plot(ax=[1, 2])  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"got str 'a'\. Pass one"):
        display.plot(ax="a")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="library must be one of"):
        display.frame("excel")
    with pytest.raises(InputError, match="library must be one of"):
        display.frame(np.zeros(2))


# Capacity -----------------------------------------------------------------------------------------

REVIEWS = Problem([[0, 2, 9, 4], [6, 0, 3, 4], [20, 8, 0, 4]], unit="EUR")


def three_classes(n_cases: int = 150) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    p = np.round(rng.dirichlet([2, 1, 0.7], n_cases), 1) + 0.05  # ties
    p /= p.sum(axis=1, keepdims=True)
    return np.array([rng.choice(3, p=row) for row in p]), p, rng.integers(1, 4, n_cases)


@pytest.mark.parametrize("prior", [None, [0.7, 0.2, 0.1]])
def test_capacities_cost_what_the_library_says(prior):
    y, p, weights = three_classes()
    problem = REVIEWS if prior is None else REVIEWS.with_prior(prior)
    points = [0, 0.1, 0.25, 0.5, 1]
    display = CapacityDisplay.from_predictions(y, p, problem, 1, capacities=points, weights=weights)
    line = curve(display, "model")
    expected = capacity_curve(p, problem, 1, y_true=y, weights=weights)
    np.testing.assert_allclose(line.y, expected.cost(points), atol=1e-12)
    assert (line.low < line.y).all()
    assert (line.y < line.high).all()
    assert line.mark == pytest.approx((expected.shares[-1], float(expected.cost(1))))


@pytest.mark.parametrize("design", DESIGNS, ids=["cases", "weights", "clusters"])
def test_where_capacity_is_no_limit_the_band_is_the_interval_of_the_cost(design):
    more: Any = {name: np.resize(column, 150) for name, column in design.items()}
    y, p, _ = three_classes()
    display = CapacityDisplay.from_predictions(y, p, REVIEWS, 1, capacities=[0.5, 1], **more)
    report = evaluate(
        y, {"model": Decisions(bayes_decisions(p, REVIEWS))}, REVIEWS, calibrator=None, **more
    )
    cost = report.systems[0].cost
    line = curve(display, "model")
    interval = [float(line.low[-1]), float(line.high[-1])]
    assert interval == pytest.approx([cost.low, cost.high], rel=1e-6)


def test_a_capacity_display_marks_the_limit_and_names_its_axes():
    limited = PROBLEM.with_limits([Limit.share("treat", at_most=0.1)])
    display = CapacityDisplay.from_predictions(Y, MODELS["sharp"], limited, "treat")
    assert display.limit == 0.1
    ax = display.plot()
    assert ax.get_xlabel() == "capacity: share of cases that may get treat"
    assert ax.get_ylabel() == "expected cost per case, EUR"
    assert any("limit 0.1" in text.get_text() for text in ax.texts)
    columns = display.columns()
    assert list(columns) == ["model", "capacity", "cost", "low", "high"]
    np.testing.assert_allclose(drawn(ax)["model"][:, 1], columns["cost"])


def test_costs_of_every_case_have_a_capacity_display():
    problem = Problem([[0, 1], ["amount", 0]])
    data = {"amount": np.linspace(1, 9, Y.size)}
    display = CapacityDisplay.from_predictions(
        Y, MODELS, problem, 1, data=data, capacities=[0, 0.1, 0.4]
    )
    expected = capacity_curve(MODELS["sharp"], problem, 1, y_true=Y, data=data)
    np.testing.assert_allclose(curve(display).y, expected.cost(curve(display).x), atol=1e-12)


@pytest.mark.parametrize(
    ("models", "decision", "message"),
    [
        (MODELS, "cure", "decision must be one of several decisions"),
        (MODELS, np.array([1, 2]), "decision must be one of several .* got ndarray"),
        (Scores(MODELS["sharp"]), "treat", "must hold posteriors, by which cases are ordered"),
        (Decisions(np.full(Y.size, "wait")), "treat", "these are decisions"),
    ],
)
def test_what_has_no_capacity_is_refused(models, decision, message):
    with pytest.raises(InputError, match=message):
        CapacityDisplay.from_predictions(Y, models, PROBLEM, decision)


def test_posteriors_that_are_certain_of_a_class_of_prior_zero_are_refused_by_their_model():
    wrong, idle = ({"sharp": np.where(k == Y, 1.0, 0.2)} for k in (0, 1))
    for make in (
        lambda models, problem: CapacityDisplay.from_predictions(Y, models, problem, "treat"),
        lambda models, problem: CoverageDisplay.from_predictions(Y, models, problem),
    ):
        with pytest.raises(InputError, match=r"models\['sharp'\] must not be certain of classes"):
            make(wrong, PROBLEM.with_prior([1, 0]))
        # Cases of that class itself do not count.
        assert np.isfinite(curve(make(idle, PROBLEM.with_prior([1, 0]))).y).all()


# Coverage -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [None, [0.7, 0.2, 0.1]])
def test_coverages_cost_what_the_library_says(prior):
    y, p, weights = three_classes()
    problem = REVIEWS if prior is None else REVIEWS.with_prior(prior)
    points = [0.1, 0.25, 0.5, 1]
    display = CoverageDisplay.from_predictions(
        y, p, problem, coverages=points, abstention=1.5, weights=weights
    )
    line = curve(display, "model")
    expected = coverage_curve(p, problem, y_true=y, weights=weights)
    np.testing.assert_allclose(line.y, expected.selective_cost(points), atol=1e-12)
    assert (line.low < line.y).all()
    assert (line.y < line.high).all()
    np.testing.assert_array_equal(display.columns()["break_even"], expected.break_even(points))
    share, cost = line.mark
    assert expected.break_even(share) <= 1.5 < expected.break_even(share + 1e-6)
    assert cost == pytest.approx(expected.selective_cost(share))


@pytest.mark.parametrize("design", DESIGNS, ids=["cases", "weights", "clusters"])
def test_where_all_cases_are_decided_the_band_is_the_interval_of_the_cost(design):
    more: Any = {name: np.resize(column, 150) for name, column in design.items()}
    y, p, _ = three_classes()
    line = curve(
        CoverageDisplay.from_predictions(y, p, REVIEWS, coverages=[0.5, 1], **more), "model"
    )
    report = evaluate(
        y, {"model": Decisions(bayes_decisions(p, REVIEWS))}, REVIEWS, calibrator=None, **more
    )
    cost = report.systems[0].cost
    assert float(line.y[-1]) == pytest.approx(cost.value)
    assert [line.low[-1], line.high[-1]] == pytest.approx([cost.low, cost.high], rel=0.05)


def test_a_coverage_display_names_its_axes_and_refuses_what_it_cannot_draw():
    ax = CoverageDisplay.from_predictions(Y, MODELS["sharp"], PROBLEM).plot()
    assert ax.get_xlabel() == "coverage: share of cases that are decided"
    assert ax.get_ylabel() == "cost per decided case, EUR"
    with pytest.raises(InputError, match="coverages must be positive"):
        CoverageDisplay.from_predictions(Y, MODELS["sharp"], PROBLEM, coverages=[0, 1])
    with pytest.raises(InputError, match="must hold posteriors"):
        CoverageDisplay.from_predictions(Y, Scores(MODELS["sharp"]), PROBLEM)


CHARGES: dict[str, Any] = {"data": {"amount": np.linspace(90, 270, 100)}}
SITES: dict[str, Any] = {"clusters": np.arange(100) % 10}


@pytest.mark.parametrize(
    ("miss", "more"),
    [
        (180, {}),
        (180, SITES),
        (180, {"weights": np.resize([0.5, 1.5], 100)}),
        ("amount", CHARGES),
        ("amount", {**CHARGES, **SITES, "weights": np.resize([0.5, 1.5], 100)}),
    ],
)
def test_bands_of_capacity_and_coverage_allow_for_a_class_without_cases(miss, more):
    """No fraud among 100 cases does not mean that there is none; the report says so, too."""
    problem, y, p = Problem([[0, 3], [miss, 8]]), np.zeros(100, int), np.linspace(0.001, 0.5, 100)
    cost = evaluate(y, {"model": p}, problem, calibrator=None, **more).system("model (as is)").cost
    assert cost.high > 2 * cost.value
    for display in (
        CapacityDisplay.from_predictions(y, p, problem, 1, capacities=[0.5, 1], **more),
        CoverageDisplay.from_predictions(y, p, problem, coverages=[0.5, 1], **more),
    ):
        line = curve(display, "model")
        assert [line.low[-1], line.high[-1]] == pytest.approx([cost.low, cost.high])


def test_equal_cases_have_the_interval_of_their_mean_cost_at_every_coverage():
    y = np.array([0, 0, 1, 1] * 10)
    p = np.array([0.3, 0.7, 0.3, 0.7, 0.3, 0.7, 0.7, 0.7] * 5)  # 1 - 0.7 is not quite 0.3
    display = CoverageDisplay.from_predictions(
        y, p, Problem.zero_one(2), abstention=0.3, coverages=[0.1, 0.5, 1]
    )
    report = evaluate(y, {"model": p}, Problem.zero_one(2), calibrator=None, replicates=20)
    line, cost = curve(display, "model"), report.best.cost
    np.testing.assert_allclose(line.y, cost.value)
    np.testing.assert_allclose(line.low, cost.low)
    np.testing.assert_allclose(line.high, cost.high)
    assert line.mark == pytest.approx((1, cost.value))
    assert [share for share, *_ in report.coverage] == [1]


def test_equal_cases_share_a_capacity_by_chance_and_so_does_the_band():
    y, problem = np.array([0, 1] * 30), Problem([[0, 3], [9, 0]])
    points = [0, 0.25, 0.5, 1]
    line = curve(
        CapacityDisplay.from_predictions(y, np.full(60, 0.5), problem, 1, capacities=points),
        "model",
    )
    np.testing.assert_allclose(line.y, [4.5 - 3 * share for share in points])
    for at, decision in ((0, 0), (3, 1)):  # the same for all cases
        alone = evaluate(y, {"m": Decisions(np.full(60, decision))}, problem, calibrator=None)
        cost = alone.systems[0].cost
        assert (line.low[at], line.high[at]) == pytest.approx((cost.low, cost.high), rel=0.05)
    assert ((line.low <= line.y) & (line.y <= line.high)).all()


def test_bands_of_coverages_stay_within_the_costs_of_decisions():
    y, p = np.array([0, 1] * 10), np.linspace(0.01, 0.99, 20)
    display = CoverageDisplay.from_predictions(np.sort(y), p, Problem.zero_one(2))
    line = curve(display, "model")
    assert line.low.min() == 0
    assert line.high.max() <= 1
    assert ((line.low <= line.y) & (line.y <= line.high)).all()


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("costs", [(1, 9), (0.3, 2.1), (0.7, 0.1)])
def test_ties_between_decisions_cost_what_the_report_says(costs, kind):
    y = np.array([0, 0, 0, 1, 1] * 6)
    p = np.resize([costs[0] / sum(costs), 0.02, 0.97], 30).astype(kind)
    problem = Problem([[0, costs[0]], [costs[1], 0]])
    line = curve(CoverageDisplay.from_predictions(y, p, problem, coverages=[0.5, 1]), "model")
    report = evaluate(y, {"model": p}, problem, calibrator=None, replicates=20)
    assert float(line.y[-1]) == pytest.approx(report.best.cost.value)
    assert report.coverage[-1][1] == pytest.approx(report.best.cost.value)


def test_the_mark_of_a_coverage_lies_within_the_coverages_drawn():
    display = CoverageDisplay.from_predictions(
        Y, MODELS["sharp"], PROBLEM, abstention=1e9, coverages=[0.5, 0.8]
    )
    assert display.lines[0].mark is None


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("cost", [0.0, 0.1])
def test_costs_that_never_differ_are_drawn_without_a_warning(cost):
    problem = Problem(np.full((2, 2), cost))
    y, p = [0, 1] * 10, np.linspace(0.1, 0.9, 20)
    low, high = CoverageDisplay.from_predictions(y, p, problem).plot().get_ylim()
    assert low < cost < high
    CapacityDisplay.from_predictions(y, p, problem, 1).plot()


def test_a_capacity_display_names_the_decision_as_the_problem_does():
    y, p = [0, 1] * 10, np.linspace(0.1, 0.9, 20)
    display = CapacityDisplay.from_predictions(y, p, Problem.zero_one(2), True)
    assert type(display.decision) is int


def test_a_spline_is_linear_beyond_its_last_knot():
    module = pytest.importorskip("stakes.displays.reliability_display")
    beyond = module._spline(np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.1, 0.3, 0.6, 0.9]))
    np.testing.assert_allclose(np.diff(beyond, 2, axis=1), 0, atol=1e-9)


def test_shares_of_ties_are_mixed_with_what_is_left():
    capacity_displays = pytest.importorskip("stakes.displays.capacity_displays")
    tied, shares = np.array([True, False]), np.array([0.25, 0.25])
    mixed = capacity_displays._mixed(tied, shares, np.array([1.0, 1.0]), np.array([3.0, 3.0]))
    assert mixed.tolist() == [2.5, 3.0]


def test_the_axis_of_costs_by_threshold_leaves_room_on_both_sides():
    displays = pytest.importorskip("stakes.displays")
    y, p = np.array([0, 1] * 20), np.linspace(0.05, 0.95, 40)
    shown = displays.CostByThresholdDisplay.from_predictions(y, p, Problem.from_threshold(0.3))
    low = min(float(np.nanmin(line.low)) for line in shown.lines)
    high = max(float(np.nanmax(line.high)) for line in shown.lines)
    assert shown.limits[0] < low < high < shown.limits[1]


def test_a_level_that_is_like_a_number_is_one():
    """Such as a scalar of Arrow, which has no text of its own kind."""

    class Scalar:
        def __float__(self) -> float:
            return 0.9

    y, models = [0, 1] * 12, {"a": np.linspace(0, 1, 24), "b": np.linspace(0.1, 0.9, 24)}
    level: Any = Scalar()
    curves = DecisionCurveDisplay.from_predictions(y, models, level=level)
    differences = NetBenefitDifferenceDisplay.from_predictions(
        y, models, reference="a", level=level
    )
    assert curves.level == differences.level == 0.9
