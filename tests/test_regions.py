"""Regions of cost and prior space: against dense scans, bisection and planted crossings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes import (
    Counts,
    InputError,
    JointCounts,
    Problem,
    ScoreTable,
    bayes_decisions,
    expected_cost,
)
from stakes.conditions import CostProportions, Skews
from stakes.curve import Curve
from stakes.inference import AllCases, Clusters, ExpandedPercentile, bootstrap, resample
from stakes.regions import (
    Classifiers,
    CostProportion,
    CostRatio,
    KeptDecisions,
    Margin,
    Prior,
    Region,
    Regions,
    as_cost_ratios,
    bootstrap_crossings,
    cheapest_regions,
    constant_rules,
    cost_curves,
    crossing,
    decision_regions,
    dominance,
    lowest,
    nearest_first,
    sensitivity,
    share_cheapest,
    skews_as_cost_proportions,
    skews_as_priors,
    stakes_in,
)
from stakes.regions.axes import borders_of
from stakes.tally import JointScores
from stakes.thresholds import Method, Optimal, RateDriven, ScoreDriven, ScoreFixed, ScoreUniform

SCAN = np.linspace(0, 1, 2001)


def over_methods(
    classifiers: Mapping[str, tuple[ScoreTable, Method]], over: Any
) -> tuple[dict[str, ScoreTable], Classifiers]:
    """Tables by name, and the axis on which each is used with its own method."""
    tables = {name: table for name, (table, _) in classifiers.items()}
    return tables, Classifiers({n: (n, method) for n, (_, method) in classifiers.items()}, over)


def generator(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def scanned(curves: dict[object, Curve], points: np.ndarray) -> list[set[object]]:
    """The cheapest models at every point, by looking at all of them."""
    values = np.stack([curve(points) for curve in curves.values()])
    least = values.min(axis=0)
    names = list(curves)
    return [
        {names[j] for j in range(len(names)) if values[j, i] <= least[i] + 1e-9}
        for i in range(len(points))
    ]


def agrees_with_scan(regions, curves, points):
    """Inside every region its models are among the cheapest of the scan, and nearly alone."""
    cheapest = scanned(curves, points)
    borders = np.concatenate([[points[0]], regions.crossings, [points[-1]]])
    for point, name in zip(points, cheapest, strict=True):
        at_point = set(regions.at(float(point)))
        assert at_point & name
        if np.abs(borders - point).min() > 1e-6:
            assert at_point <= name


@st.composite
def several_models(draw, n_classes: int = 2, n_decisions: int = 2):
    """Two to four models that decided about the same cases, every class among them."""
    sizes = draw(st.lists(st.integers(1, 12), min_size=n_classes, max_size=n_classes))
    models = {}
    for name in "abcd"[: draw(st.integers(2, 4))]:
        rows = []
        for size in sizes:
            cuts = sorted(
                draw(
                    st.lists(
                        st.integers(0, size), min_size=n_decisions - 1, max_size=n_decisions - 1
                    )
                )
            )
            rows.append(np.diff([0, *cuts, size]))
        models[name] = Counts(rows)
    return models


# Decisions as they are ---------------------------------------------------------------------------


@given(several_models(), st.sampled_from([None, (0.9, 0.1), (0.3, 0.7)]))
def test_regions_of_the_cost_proportion_agree_with_a_dense_scan(models, prior):
    curves = cost_curves(models, CostProportion(prior))
    regions = cheapest_regions(models, CostProportion(prior))
    agrees_with_scan(regions, curves, SCAN)
    assert regions.parts[0].low == 0.0
    assert regions.parts[-1].high == 1.0
    assert all(
        left.high == right.low and left.cheapest != right.cheapest
        for left, right in zip(regions.parts[:-1], regions.parts[1:], strict=True)
    )


@given(several_models(), st.floats(0.05, 0.95))
def test_the_loss_at_a_cost_proportion_is_twice_the_expected_cost(models, c):
    curves = cost_curves(models, CostProportion())
    problem = Problem.binary(false_alarm=c, miss=1 - c)
    for name, counts in models.items():
        assert float(curves[name](c)) == pytest.approx(2 * float(expected_cost(counts, problem)))


@given(several_models())
def test_every_crossing_is_a_tie_of_the_two_sides(models):
    curves = cost_curves(models, CostProportion())
    regions = cheapest_regions(models, CostProportion())
    for point, below, above in zip(
        regions.crossings, regions.parts[:-1], regions.parts[1:], strict=True
    ):
        first, second = curves[below.cheapest[0]](point), curves[above.cheapest[0]](point)
        assert float(first) == pytest.approx(float(second), abs=1e-12)


@given(several_models(n_classes=3, n_decisions=4), st.integers(0, 2))
def test_regions_of_a_prior_agree_with_a_dense_scan_of_the_expected_cost(models, place):
    costs = [[0, 1, 2, 5], [3, 0, 1, 5], [9, 4, 0, 5]]
    prior = np.array([0.5, 0.3, 0.2])
    problem = Problem(costs, classes=["x", "y", "z"], prior=prior)
    label = problem.classes[place]
    regions = cheapest_regions(models, Prior(problem, label))
    curves = cost_curves(models, Prior(problem, label))
    agrees_with_scan(regions, curves, SCAN[::20])
    for p in (0.0, 0.4, 1.0):
        others = np.where(np.arange(3) == place, 0.0, prior)
        moved = others / others.sum() * (1 - p) + p * (np.arange(3) == place)
        for name, counts in models.items():
            cost = float(expected_cost(counts, problem.with_prior(moved)))
            assert float(curves[name](p)) == pytest.approx(cost)


def test_without_a_stated_prior_the_other_classes_keep_the_shares_of_the_data():
    models = {"a": Counts([[6, 4], [1, 3], [2, 4]]), "b": Counts([[8, 2], [2, 2], [3, 3]])}
    problem = Problem([[0, 1], [4, 0], [3, 0]])
    free, stated = (
        cheapest_regions(models, Prior(p, 1))
        for p in (problem, problem.with_prior([0.5, 0.2, 0.3]))
    )
    np.testing.assert_allclose(free.crossings, stated.crossings)


def test_models_on_other_cases_are_refused():
    with pytest.raises(InputError, match="same cases"):
        cheapest_regions(
            {"a": Counts([[6, 4], [1, 3]]), "b": Counts([[6, 4], [1, 9]])}, CostProportion()
        )
    with pytest.raises(InputError, match="two classes and two decisions"):
        cheapest_regions({"a": Counts([[6, 4, 1], [1, 3, 1]])}, CostProportion())
    with pytest.raises(InputError, match="mapping from model"):
        cheapest_regions({}, CostProportion())
    with pytest.raises(InputError, match="one of the classes"):
        cheapest_regions({"a": Counts([[6, 4], [1, 3]])}, Prior(Problem.zero_one(2), "z"))


CAREFUL, BOLD = Counts([[60, 40], [5, 95]]), Counts([[90, 10], [20, 80]])


def test_models_of_other_labels_are_refused():
    """Regions add up classes and decisions by their place; permuted ones would be mixed up."""
    plain = Counts([[60, 40], [5, 95]], classes=["well", "ill"], decisions=["home", "treat"])
    turned = Counts([[60, 40], [5, 95]], classes=["ill", "well"], decisions=["home", "treat"])
    other = Counts([[60, 40], [5, 95]], classes=["well", "ill"], decisions=["treat", "home"])
    bare = Counts([[60, 40], [5, 95]])
    for make in (
        lambda models: cheapest_regions(models, CostProportion()),
        lambda models: sensitivity(models, Problem.zero_one(2)),
    ):
        for wrong, what in ((turned, "classes"), (other, "decisions")):
            with pytest.raises(InputError, match=f"the {what} of the models must be the same"):
                make({"bare": bare, "a": plain, "b": wrong})
    assert cheapest_regions({"a": bare, "b": plain}, CostProportion()).models == ("a", "b")
    y, score = ["x", "y", "y", "x"], [1.0, 2.0, 3.0, 4.0]
    tables = {p: (ScoreTable.from_scores(y, score, positive=p), Optimal()) for p in "xy"}
    with pytest.raises(InputError, match="the classes of the models must be the same"):
        cheapest_regions(*over_methods(tables, CostProportions))


def test_what_regions_are_made_of_is_checked():
    rows: Any = {"a": [[1, 2], [3, 4]]}
    with pytest.raises(InputError, match=r"models must be.*that of 'a' is list"):
        cheapest_regions(rows, CostProportion())
    table = ScoreTable.from_scores([0, 1], [1, 2])
    for pair in (("a", Optimal), "a", ("a",), (table, Optimal)):
        axis = Classifiers({"a": pair}, CostProportions)  # type: ignore[dict-item]
        with pytest.raises(InputError, match=r"a model and a method; that of 'a'.*Optimal\(\)"):
            cheapest_regions({"a": table}, axis)
    with pytest.raises(InputError, match=r"models must be.*ScoreTable.*that of 'a' is list"):
        cheapest_regions(rows, Classifiers({"a": ("a", Optimal())}, CostProportions))
    for wrong in (CostProportion, CostProportions, "prior"):
        with pytest.raises(InputError, match=r"axis must be an Axis; got .*CostProportion\(\)"):
            cheapest_regions({"a": CAREFUL}, wrong)  # type: ignore[arg-type]
    models: Any = {"a": Counts([[6, 4], [1, 9]]), "b": Counts([[9, 1], [3, 7]])}
    how: Any = {"replicates": 9, "rng": generator()}
    for make in (
        lambda: bootstrap_crossings(models, CostProportion(), **how),
        lambda: bootstrap_crossings(models, CostRatio(), **how),
        lambda: bootstrap_crossings(models, Prior(Problem.zero_one(2), 1), **how),
        lambda: share_cheapest(models, [0.5], prior=None, **how),
    ):
        with pytest.raises(InputError, match=r"(tally|joint) must be JointCounts; got dict"):
            make()


def test_invalid_points_and_classifiers_are_refused():
    regions = cheapest_regions({"a": Counts([[6, 4], [1, 9]])}, CostProportion())
    for wrong in ("x", None, [0.1, 0.2]):
        with pytest.raises(InputError, match="x must"):
            regions.at(wrong)  # type: ignore[arg-type]
    for outside in (1.5, np.nan):
        with pytest.raises(InputError, match=r"x must lie in \[0, 1\]"):
            regions.at(outside)
    assert as_cost_ratios(regions).at(np.inf) == ("a",)
    scores = JointScores.from_scores([0, 1, 0, 1], {"a": [1, 2, 3, 4]})
    how: Any = {"replicates": 5, "rng": generator()}
    for pair, match in (
        ("a", r"a model and a method; that of 'one' is 'a'"),
        (("a", Optimal), r"such as \('forest', Optimal\(\)\)"),
        (("z", Optimal()), "one of the models"),
    ):
        axis = Classifiers({"one": pair}, CostProportions)  # type: ignore[dict-item]
        with pytest.raises(InputError, match=match):
            bootstrap_crossings(scores, axis, **how)
    axis = Classifiers({"one": ("a", Optimal())}, CostProportions)
    with pytest.raises(InputError, match="tally must be JointScores; got ScoreTable"):
        bootstrap_crossings(scores.table("a"), axis, **how)
    with pytest.raises(InputError, match="joint must be JointCounts; got JointScores"):
        crossing(scores, "a", "b", axis)  # type: ignore[arg-type]
    joint = JointCounts.from_decisions([0, 1], {"a": [0, 1], "b": [1, 1]}, Problem.zero_one(2))
    with pytest.raises(InputError, match="may cross several times"):
        crossing(joint, "a", "b", axis)  # type: ignore[arg-type]


def test_cost_ratios_are_cost_proportions_on_another_scale():
    regions = cheapest_regions({"careful": CAREFUL, "bold": BOLD}, CostProportion())
    ratios = as_cost_ratios(regions)
    np.testing.assert_allclose(ratios.crossings, regions.crossings / (1 - regions.crossings))
    assert ratios.parts[-1].high == np.inf
    ratio = float(ratios.crossings[0])
    tie = Problem.binary(false_alarm=ratio, miss=1)
    np.testing.assert_allclose(expected_cost(CAREFUL, tie), expected_cost(BOLD, tie))


def test_only_cost_proportions_become_cost_ratios():
    problem = Problem.binary(false_alarm=1, miss=8, classes=["well", "ill"])
    priors = cheapest_regions({"careful": CAREFUL, "bold": BOLD}, Prior(problem, "ill"))
    with pytest.raises(InputError, match=r"cost proportion; these are of the prior of ill"):
        as_cost_ratios(priors)
    proportions = cheapest_regions({"careful": CAREFUL, "bold": BOLD}, CostProportion())
    with pytest.raises(InputError, match="these are of the false alarm : miss"):
        as_cost_ratios(as_cost_ratios(proportions))


def test_a_prior_by_name_goes_by_the_classes_of_the_counts():
    models = {
        name: Counts(counts.values, classes=["well", "ill"])
        for name, counts in (("careful", CAREFUL), ("bold", BOLD))
    }
    named = cheapest_regions(models, CostProportion({"ill": 0.1, "well": 0.9}))
    np.testing.assert_allclose(
        named.crossings, cheapest_regions(models, CostProportion([0.9, 0.1])).crossings
    )
    assert named.crossings[0] != cheapest_regions(models, CostProportion()).crossings[0]
    with pytest.raises(InputError, match="lacks 'well'"):
        cheapest_regions(models, CostProportion({0: 0.9, 1: 0.1}))
    joint = JointCounts.from_decisions(
        ["well", "well", "ill", "ill"],
        {"a": ["no", "yes", "yes", "yes"], "b": ["no", "no", "no", "yes"]},
        Problem([[0, 1], [1, 0]], classes=["well", "ill"], decisions=["no", "yes"]),
    )
    by_name = cheapest_regions(joint, CostProportion({"ill": 0.2, "well": 0.8}))
    assert by_name == cheapest_regions(joint, CostProportion([0.8, 0.2]))


def test_a_dominated_model_is_never_worth_choosing():
    worse = Counts([[80, 20], [25, 75]])
    models = {"bold": BOLD, "worse": worse, "careful": CAREFUL}
    regions = cheapest_regions(models, CostProportion())
    assert regions.never_cheapest == ("worse",)
    assert "never cheapest: worse" in str(regions)
    dominated = dominance(cost_curves(models, CostProportion()))
    assert dominated == {"bold": (), "worse": ("bold",), "careful": ()}


def test_a_model_may_be_never_cheapest_without_a_dominator():
    """Above the hull of two others, though neither is better everywhere."""
    models = {"a": Counts([[100, 0], [60, 40]]), "b": Counts([[40, 60], [0, 100]])}
    models["middle"] = Counts([[65, 35], [35, 65]])
    curves = cost_curves(models, CostProportion())
    assert cheapest_regions(models, CostProportion()).never_cheapest == ("middle",)
    assert dominance(curves)["middle"] == ()


def test_identical_models_tie_everywhere():
    regions = cheapest_regions({"a": BOLD, "b": BOLD, "c": CAREFUL}, CostProportion())
    assert {part.cheapest for part in regions.parts} == {("c",), ("a", "b")}
    assert regions.never_cheapest == ()
    assert dominance(cost_curves({"a": BOLD, "b": BOLD}, CostProportion())) == {
        "a": (),
        "b": (),
    }


def test_regions_answer_questions():
    regions = cheapest_regions({"careful": CAREFUL, "bold": BOLD}, CostProportion())
    assert regions.at(0.1) == ("careful",)
    assert set(regions.at(float(regions.crossings[0]))) == {"careful", "bold"}
    assert regions.of("bold") == ((regions.crossings[0], 1.0),)
    assert regions.columns()["cheapest"] == [("careful",), ("bold",)]
    assert str(regions.parts[0]) == "0 to 0.3333: careful"
    assert regions == cheapest_regions({"careful": CAREFUL, "bold": BOLD}, CostProportion())
    with pytest.raises(InputError, match=r"x must lie in \[0, 1\]"):
        regions.at(2.0)
    with pytest.raises(InputError, match="one of"):
        regions.of("z")
    with pytest.raises(InputError, match="at least one curve"):
        lowest({}, axis="x")


def test_a_class_without_cases_leaves_no_cheapest_model():
    models = {"a": Counts([[3, 1], [0, 0]]), "b": Counts([[2, 2], [0, 0]])}
    regions = cheapest_regions(models, CostProportion([0.5, 0.5]))
    assert [part.cheapest for part in regions.parts] == [()]


# Classifiers: a model and a method ---------------------------------------------------------------


@st.composite
def several_tables(draw):
    n = draw(st.integers(4, 12))
    y = [0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))]
    scores = st.lists(st.integers(0, 10).map(lambda k: k / 10), min_size=n, max_size=n)
    return [ScoreTable.from_scores(y, draw(scores)) for _ in range(2)]


METHODS = [ScoreFixed(0.45), ScoreUniform(), ScoreDriven(), RateDriven(), Optimal()]


@given(
    several_tables(),
    st.sampled_from(METHODS),
    st.sampled_from(METHODS),
    st.sampled_from([CostProportions, Skews]),
)
def test_regions_of_classifiers_agree_with_a_dense_scan(tables, first, second, over):
    classifiers = {"a": (tables[0], first), "b": (tables[1], second), "c": (tables[0], Optimal())}
    regions = cheapest_regions(*over_methods(classifiers, over))
    inner = (SCAN[::10][:-1] + 1.2345e-4)[1:-1]  # not on the jumps
    agrees_with_scan(regions, cost_curves(*over_methods(classifiers, over)), inner)


def test_the_optimal_method_is_never_more_expensive_than_another_on_the_same_table():
    table = ScoreTable.from_scores([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.6, 0.7, 0.9])
    for method in METHODS[:-1]:
        axis = Classifiers({"best": ("m", Optimal()), "other": ("m", method)}, CostProportions)
        regions = cheapest_regions({"m": table}, axis)
        assert all("best" in part.cheapest for part in regions.parts)


def test_skews_become_cost_proportions_and_priors():
    """At the same prior the optimal regions in z and in c must be the same ones."""
    rng = generator(1)
    y = (rng.random(300) < 0.3).astype(int)
    some_sure = np.where(rng.random(300) < 0.45, 4 * y, rng.normal(size=300))
    tables = {
        "some sure": ScoreTable.from_scores(y, np.round(some_sure, 1)),
        "steady": ScoreTable.from_scores(y, np.round(rng.normal(1.3 * y, 1), 1)),
    }
    classifiers = {name: (table, Optimal()) for name, table in tables.items()}
    prior = tables["steady"].shares
    in_c = cheapest_regions(*over_methods(classifiers, CostProportions))
    assert in_c.crossings.size > 0
    in_z = cheapest_regions(*over_methods(classifiers, Skews))
    moved = skews_as_cost_proportions(in_z, prior=prior)
    np.testing.assert_allclose(moved.crossings, in_c.crossings, atol=1e-9)
    assert [part.cheapest for part in moved.parts] == [part.cheapest for part in in_c.parts]
    c = 0.2
    priors = skews_as_priors(in_z, cost_proportion=c)
    for p in (0.05, 0.3, 0.8):
        z = c * (1 - p) / (c * (1 - p) + (1 - c) * p)
        assert priors.at(p) == in_z.at(z)
    with pytest.raises(InputError, match="strictly between"):
        skews_as_priors(in_z, cost_proportion=1.0)
    with pytest.raises(InputError, match="positive for both"):
        skews_as_cost_proportions(in_z, prior=[1.0, 0.0])


def test_tables_of_other_cases_are_refused():
    first, second = (ScoreTable.from_scores(y, [1, 2, 3]) for y in ([0, 0, 1], [0, 1, 1]))
    axis = Classifiers({"a": ("a", Optimal()), "b": ("b", Optimal())}, CostProportions)
    with pytest.raises(InputError, match="same cases"):
        cheapest_regions({"a": first, "b": second}, axis)


# How sure the borders are ------------------------------------------------------------------------


def planted(n: int, seed: int) -> JointCounts:
    """Models whose lines cross at a cost proportion of 1/3 in the population."""
    rng = generator(seed)
    y = (rng.random(n) < 0.5).astype(int)
    draw = rng.random((n, 2))
    careful = np.where(y == 0, draw[:, 0] < 0.4, draw[:, 0] < 0.95)
    bold = np.where(y == 0, draw[:, 1] < 0.1, draw[:, 1] < 0.8)
    return JointCounts.from_decisions(
        y, {"careful": careful.astype(int), "bold": bold.astype(int)}, Problem.zero_one(2)
    )


def test_a_planted_crossing_is_found_within_its_interval():
    (border,) = bootstrap_crossings(
        planted(2000, 1), CostProportion(), replicates=999, rng=generator()
    )
    assert (border.below, border.above) == ("careful", "bold")
    assert border.at.interval(0.95).covers(1 / 3)
    assert float(border.at.interval(0.95).width) < 0.15
    assert "careful | bold at" in str(border)


def test_the_interval_of_a_planted_crossing_covers_as_often_as_it_says():
    """All samples are one tally with a leading axis; 300 of them, 95 % ± 4 standard errors."""
    world = planted(1000, 0)
    rates = {0: (0.4, 0.1), 1: (0.95, 0.8)}
    shares = [
        0.5 * np.prod([p if d else 1 - p for p, d in zip(rates[k], cell, strict=True)])
        for k, *cell in world.cells.tolist()
    ]
    samples = generator(5).multinomial(1000, np.array(shares) / sum(shares), size=300)
    joint = world.with_cell_weights(samples.astype(float))
    estimate = bootstrap(
        lambda j: crossing(j, "careful", "bold", CostProportion()),
        joint,
        replicates=499,
        rng=generator(),
    )
    share = np.mean(estimate.interval(0.95).covers(1 / 3))
    assert abs(share - 0.95) <= 4 * np.sqrt(0.95 * 0.05 / 300)


def test_crossings_of_the_cost_ratio_are_those_of_the_proportion_on_another_scale():
    joint = planted(2000, 1)
    (ratio,) = bootstrap_crossings(joint, CostRatio(), replicates=400, rng=generator())
    (share,) = bootstrap_crossings(joint, CostProportion(), replicates=400, rng=generator())
    np.testing.assert_allclose(ratio.at.replicates, share.at.replicates / (1 - share.at.replicates))
    assert float(ratio.at.value) == pytest.approx(
        float(as_cost_ratios(cheapest_regions(joint, CostProportion())).crossings[0])
    )
    assert ratio.at.interval(0.95).covers(1 / 2)
    assert (ratio.below, ratio.above) == ("careful", "bold")
    tie = Problem.binary(false_alarm=float(crossing(joint, "careful", "bold", CostRatio())), miss=1)
    costs = [float(expected_cost(joint.model(m), tie)) for m in joint.models]
    assert costs[0] == pytest.approx(costs[1])
    same = JointCounts.from_decisions([0, 1], {"a": [0, 1], "b": [1, 0]}, Problem.zero_one(2))
    assert bootstrap_crossings(same, CostRatio(), replicates=9, rng=generator()) == ()


def of_units(n: int, seed: int) -> tuple[JointCounts, JointCounts]:
    """The planted models where five cases each are copies, with and without the unit axis."""
    world = planted(n, seed)
    rows = np.repeat(np.arange(len(world.cells)), world.weights.astype(int))
    rows = generator(seed).permutation(rows)
    y, careful, bold = (np.repeat(world.cells[rows, k], 5) for k in range(3))
    decided = {"careful": careful, "bold": bold}
    unit = np.repeat(np.arange(n), 5)
    zero_one = Problem.zero_one(2)
    return (
        JointCounts.from_decisions(y, decided, zero_one, by=unit),
        JointCounts.from_decisions(y, decided, zero_one),
    )


def test_crossings_of_clusters_are_as_unsure_as_their_number():
    """Copies add nothing: replicates of 400 units of five copies vary as those of 400 cases."""
    by_unit, pooled = of_units(400, 1)
    problem = Problem.binary(false_alarm=1, miss=8)
    for make in (
        lambda joint, **how: bootstrap_crossings(joint, CostProportion(), **how),
        lambda joint, **how: bootstrap_crossings(joint, CostRatio([0.5, 0.5]), **how),
        lambda joint, **how: bootstrap_crossings(joint, Prior(problem, 1), **how),
    ):
        (units,) = make(by_unit, replicates=600, rng=generator(), scheme=Clusters())
        (cases,) = make(pooled, replicates=600, rng=generator())
        assert float(units.at.value) == pytest.approx(float(cases.at.value))
        ratio = float(units.at.standard_error / cases.at.standard_error)
        assert ratio == pytest.approx(np.sqrt(5), rel=0.15)
        assert isinstance(units.at.intervals, ExpandedPercentile)
        assert units.at.intervals.influence.shape == (200,)


def test_the_probability_of_being_cheapest_takes_a_scheme():
    by_unit, pooled = of_units(400, 1)
    at = [float(crossing(pooled, "careful", "bold", CostProportion())) - 0.06]
    units = share_cheapest(
        by_unit, at, prior=None, replicates=800, rng=generator(), scheme=Clusters()
    )
    cases = share_cheapest(pooled, at, prior=None, replicates=800, rng=generator())
    assert cases[0, 0] > 0.97
    assert 0.75 < units[0, 0] < 0.95
    same = share_cheapest(
        pooled, at, prior=None, replicates=800, rng=generator(), scheme=AllCases()
    )
    np.testing.assert_array_equal(cases, same)


def test_a_class_in_place_of_a_scheme_is_refused():
    joint, problem = planted(100, 1), Problem.binary(false_alarm=1, miss=8)
    how: Any = {"replicates": 9, "rng": generator(), "scheme": Clusters}
    for make in (
        lambda: bootstrap_crossings(joint, CostProportion(), **how),
        lambda: bootstrap_crossings(joint, CostRatio(), **how),
        lambda: bootstrap_crossings(joint, Prior(problem, 1), **how),
        lambda: share_cheapest(joint, [0.5], prior=None, **how),
    ):
        with pytest.raises(InputError, match="scheme must be a scheme; got the class Clusters"):
            make()


@given(several_models())
def test_crossings_as_a_measure_are_those_of_the_regions(models):
    names = list(models)[:2]
    joint = as_joint(models[names[0]], models[names[1]])
    point = float(crossing(joint, "a", "b", CostProportion()))
    regions = cheapest_regions(joint, CostProportion())
    inner = [c for c in regions.crossings if 1e-9 < c < 1 - 1e-9]
    assert np.isnan(point) == (not inner)
    if inner:
        assert point == pytest.approx(inner[0])


def as_joint(first: Counts, second: Counts) -> JointCounts:
    """Any joint table with these two margins will do."""
    y, a, b = [], [], []
    for k in range(2):
        sizes = first.values[k].astype(int), second.values[k].astype(int)
        y += [k] * int(sizes[0].sum())
        a += list(np.repeat([0, 1], sizes[0]))
        b += list(np.repeat([0, 1], sizes[1]))
    return JointCounts.from_decisions(y, {"a": a, "b": b}, Problem.zero_one(2))


def test_crossings_in_the_prior_have_intervals_too():
    problem = Problem.binary(false_alarm=1, miss=8)
    (border,) = bootstrap_crossings(
        planted(4000, 2), Prior(problem, 1), replicates=500, rng=generator()
    )
    assert border.at.interval(0.99).covers(0.2)
    whole = float(crossing(planted(4000, 2), "careful", "bold", Prior(problem, 1)))
    assert float(border.at.value) == pytest.approx(whole)


def test_a_model_that_is_cheaper_everywhere_leaves_no_border():
    y = [0] * 50 + [1] * 50
    joint = JointCounts.from_decisions(y, {"a": y, "b": [1 - k for k in y]}, Problem.zero_one(2))
    assert bootstrap_crossings(joint, CostProportion(), replicates=9, rng=generator()) == ()
    assert (
        bootstrap_crossings(joint, Prior(Problem.zero_one(2), 1), replicates=9, rng=generator())
        == ()
    )


def test_replicates_without_a_crossing_are_counted():
    """Two models that hardly differ: in many replicates one of them is cheaper everywhere."""
    rng = generator()
    y = (rng.random(200) < 0.5).astype(int)
    a = np.where(rng.random(200) < 0.8, y, 1 - y)
    b = np.where(rng.random(200) < 0.8, y, 1 - y)
    joint = JointCounts.from_decisions(y, {"a": a, "b": b}, Problem.zero_one(2))
    estimate = bootstrap(
        lambda j: crossing(j, "a", "b", CostProportion()),
        joint,
        replicates=400,
        rng=generator(),
    )
    assert 0 < int(estimate.n_undefined) < 400


def slow_order(joint: JointCounts, first: str, second: str) -> float:
    """Where the first stops and the second starts being the cheaper one, by a dense scan."""
    grid = np.linspace(0, 1, 4001)
    ends = [CostProportion().endpoint_costs(joint.model(model)) for model in (first, second)]
    lines = [(1 - grid) * start + grid * end for start, end in ends]
    gap = lines[0] - lines[1]
    place = np.flatnonzero((gap[:-1] < 0) & (gap[1:] > 0) | (gap[:-1] < 0) & (gap[1:] == 0))
    inner = [grid[i] for i in place if (gap[i + 1 :] > 0).any()]
    return float(inner[0]) if inner else np.nan


def test_replicates_that_cross_the_other_way_round_are_no_replicates_of_a_border():
    """Two models that hardly differ cross in both orders, and a border is about one of them."""
    y = np.repeat([0, 1], 60)
    a = np.concatenate([np.arange(60) < 12, np.arange(60) >= 11]).astype(int)
    b = np.concatenate([np.arange(60) >= 50, np.arange(60) < 48]).astype(int)
    joint = JointCounts.from_decisions(y, {"a": a, "b": b}, Problem.zero_one(2))
    how: Any = {"replicates": 150, "scheme": AllCases()}
    (border,) = bootstrap_crossings(joint, CostProportion(), rng=generator(), **how)
    drawn = resample(joint, AllCases(), replicates=150, rng=generator())
    twins = [slow_order(drawn[r], str(border.below), str(border.above)) for r in range(150)]
    np.testing.assert_allclose(border.at.replicates, twins, atol=1 / 2000)
    either = crossing(drawn, "a", "b", CostProportion())
    assert np.isnan(either).sum() < np.isnan(twins).sum() < 150
    (ratio,) = bootstrap_crossings(joint, CostRatio(), rng=generator(), **how)
    np.testing.assert_array_equal(np.isnan(ratio.at.replicates), np.isnan(border.at.replicates))
    (prior,) = bootstrap_crossings(joint, Prior(Problem.zero_one(2), 1), rng=generator(), **how)
    both = crossing(drawn, "a", "b", Prior(Problem.zero_one(2), 1))
    assert np.isnan(both).sum() < int(prior.at.n_undefined) < 150


def test_the_probability_of_being_cheapest_follows_the_cost_proportion():
    shares = share_cheapest(
        planted(1000, 3), [0.05, 1 / 3, 0.9], prior=None, replicates=400, rng=generator()
    )
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert shares[0, 0] > 0.99
    assert 0.02 < shares[1, 0] < 0.98
    assert shares[2, 1] > 0.99


@pytest.mark.parametrize(
    ("below", "above", "border"),
    [
        (["a", "b"], ["a"], ("b", "a")),
        (["a"], ["a", "b"], ("a", "b")),
        (["a", "b"], ["b", "c"], ("a", "c")),
        ([], ["a"], ("", "")),
    ],
)
def test_a_border_is_where_one_of_several_that_tie_stops_or_begins_to_be_the_cheapest(
    below, above, border
):
    parts = Region(0.0, 0.5, tuple(below)), Region(0.5, 1.0, tuple(above))
    assert borders_of(Regions("axis", ("a", "b", "c"), parts)) == [border]


def test_borders_of_classifiers_have_intervals():
    rng = generator()
    y = (rng.random(800) < 0.5).astype(int)
    scores = {"sharp": rng.normal(y, 0.8), "flat": rng.normal(y, 0.8)}
    joint = JointScores.from_scores(y, {m: 1 / (1 + np.exp(-s)) for m, s in scores.items()})
    classifiers = {"at one half": ("sharp", ScoreFixed(0.5)), "at 0.7": ("sharp", ScoreFixed(0.7))}
    axis, how = Classifiers(classifiers, CostProportions), {"scheme": AllCases()}
    (border,) = bootstrap_crossings(joint, axis, replicates=60, rng=generator(), **how)
    table = joint.table("sharp")
    assert float(border.at.value) == cheapest_regions({"sharp": table}, axis).crossings[0]
    assert border.at.interval(0.9).covers(border.at.value)
    twins = Classifiers({"one": ("flat", Optimal()), "two": ("flat", Optimal())}, CostProportions)
    assert bootstrap_crossings(joint, twins, replicates=3, rng=generator(), **how) == ()


# What flips the verdict --------------------------------------------------------------------------


@given(
    several_models(n_classes=2, n_decisions=3),
    st.sampled_from([0, -3]).flatmap(
        lambda least: st.lists(st.integers(least, 9), min_size=6, max_size=6)
    ),
    st.sampled_from([None, (0.9, 0.1), (1.0, 0.0), (0.0, 1.0)]),
)
def test_beyond_every_margin_another_model_is_cheaper_and_before_it_none_is(models, costs, prior):
    problem = Problem(np.reshape(costs, (2, 3)), prior=prior)
    result = sensitivity(models, problem)
    margins = [*result.costs, *result.priors]
    assert [margin.what for margin in margins[6:]] == ["prior of 1"]
    least = -1e4 if min(costs) < 0 else 0.0  # costs are gains only where a gain is stated
    for place, margin in enumerate(margins):
        assert not -np.inf < margin.low <= (least if place < 6 else 0.0)
        for end, rival, sign in (
            (margin.low, margin.low_rival, -1),
            (margin.high, margin.high_rival, 1),
        ):
            if np.isnan(end):
                continue
            assert (rival is None) == np.isinf(end)
            step = sign * (1e-6 if np.isinf(end) else 1e-6 * max(1.0, abs(end)))
            outermost = max(margin.value + sign * 1e4, least)
            target = outermost if np.isinf(end) else end
            inside = moved(problem, models, place, margin.value + 0.999 * (target - margin.value))
            assert excess(models, inside, result.cheapest) <= 1e-9 * max(1.0, abs(target))
            if rival is not None:
                beyond = moved(problem, models, place, end + step)
                cost = {m: float(expected_cost(c, beyond)) for m, c in models.items()}
                assert cost[rival] <= cost[result.cheapest] + 1e-12 * max(1.0, abs(end))


def moved(problem: Problem, models: dict, place: int, value: float) -> Problem:
    """The problem with one cost, or the prior of the second class, put to a value."""
    if place < 6:
        costs = np.array(problem.costs)
        costs.flat[place] = value
        return Problem(costs, prior=problem.prior)
    share = min(max(value, 0.0), 1.0)
    return problem.with_prior([1 - share, share])


def excess(models: dict, problem: Problem, cheapest: object) -> float:
    costs = {m: float(expected_cost(c, problem)) for m, c in models.items()}
    return costs[cheapest] - min(costs.values())


def test_the_margins_of_a_hand_made_verdict():
    models = {"careful": CAREFUL, "bold": BOLD}
    margins = sensitivity(models, Problem.binary(false_alarm=1, miss=8, prior=[0.9, 0.1]))
    miss = margins.costs[2]
    assert (miss.what, miss.value) == ("cost of 0 for 1", 8.0)
    # 0.9 (0.4 − 0.1) = 0.1 (0.2 − 0.05) m, so that m = 18
    assert miss.high == pytest.approx(18)
    assert (miss.high_rival, miss.low_rival) == ("careful", None)
    assert miss.distance == pytest.approx(10)
    assert miss.rival == "careful"
    assert margins.priors[0].high == pytest.approx(0.2)
    assert margins.weakest_cost.what == "cost of 1 for 0"
    assert margins.weakest_prior.distance == pytest.approx(0.1)
    assert "flips below" in str(margins)


def test_margins_stand_by_the_factor_on_a_number_and_those_of_zero_by_the_largest_cost():
    def margin(what: str, value: float, low: float, high: float) -> Margin:
        return Margin(what, value, low, high, "other", "other")

    doubled, halved = margin("doubled", 3, -np.inf, 6), margin("halved", 50, 20, np.inf)
    rare, common = margin("prior of rare", 0.01, -1, 0.05), margin("prior of common", 0.9, -1, 0.96)
    near_zero, far_zero = margin("zero", 0, -np.inf, 4), margin("other zero", 0, -np.inf, 9)
    crossing, lost = margin("gain", 2, -1, np.inf), margin("unknown", 3, np.nan, np.nan)
    assert doubled.log_factor == pytest.approx(np.log(2))
    assert halved.log_factor == pytest.approx(np.log(2.5))
    assert rare.log_factor == pytest.approx(np.log(5))
    # The share of the other class, 0.1, falls to 0.04: that is the larger of the two factors.
    assert common.log_factor == pytest.approx(np.log(2.5))
    order = [doubled, halved, common, rare, crossing, near_zero, far_zero, lost]
    for shuffled in ([*reversed(order)], order[3:] + order[:3]):
        names = [each.what for each in nearest_first(shuffled)]
        assert set(names[1:3]) == {"halved", "prior of common"}  # equal but for rounding
        assert [names[0], *names[3:]] == [each.what for each in [doubled, *order[3:]]]


def test_rules_may_stand_among_the_models():
    problem = Problem.binary(false_alarm=1, miss=8, prior=[0.9, 0.1], decisions=["no", "yes"])
    models = {"bold": BOLD, **constant_rules(BOLD, problem)}
    margins = sensitivity(models, problem)
    assert margins.cheapest == "bold"
    assert margins.costs[2].low_rival == "always no"
    assert margins.costs[2].low == pytest.approx(0.9 * 0.1 / (0.1 * 0.8))


def test_tied_models_leave_no_margin():
    margins = sensitivity({"a": BOLD, "b": BOLD}, Problem.binary(false_alarm=1, miss=8))
    assert margins.cheapest == "a"
    assert all(np.isinf(margin.distance) for margin in margins.costs)  # they tie wherever it moves
    tie = Problem.binary(false_alarm=1, miss=2)
    at_the_tie = sensitivity({"careful": CAREFUL, "bold": BOLD}, tie)
    assert at_the_tie.costs[2].distance == pytest.approx(0, abs=1e-12)


def test_sensitivity_refuses_what_it_cannot_judge():
    absent = {"a": Counts([[3, 1], [0, 0]]), "b": Counts([[2, 2], [0, 0]])}
    with pytest.raises(InputError, match="cases of every class"):
        sensitivity(absent, Problem.binary(false_alarm=1, miss=8, prior=[0.9, 0.1]))
    ignored = sensitivity(absent, Problem.binary(false_alarm=1, miss=8, prior=[1.0, 0.0]))
    assert ignored.cheapest == "a"
    assert np.isnan(ignored.priors[0].low)
    stacked = {"a": Counts([[[3, 1], [1, 1]]] * 2)}
    with pytest.raises(InputError, match="no leading axes"):
        sensitivity(stacked, Problem.zero_one(2))


def test_of_rivals_that_arrive_together_the_one_that_goes_on_to_win_is_named():
    problem = Problem([[1, 1], [9, 2]], prior=[0.86, 0.14])
    models = {
        "m0": Counts([[5, 5], [3, 7]]),
        "m2": Counts([[5, 5], [1, 9]]),
        "m3": Counts([[5, 5], [8, 2]]),
    }
    margin = next(m for m in sensitivity(models, problem).costs if m.what == "cost of 0 for 1")
    beyond = Problem([[1, 1], [margin.low - 0.1, 2]], prior=[0.86, 0.14])
    costs = {name: float(expected_cost(counts, beyond)) for name, counts in models.items()}
    assert margin.low_rival == min(costs, key=costs.__getitem__)


def test_a_verdict_that_flips_only_where_a_prior_reaches_one_never_flips():
    models = {"a": Counts([[10, 0], [5, 5]]), "b": Counts([[10, 0], [6, 4]])}
    margins = sensitivity(models, Problem.zero_one(2, prior=[0.5, 0.5]))
    for margin in margins.priors:
        assert margin.low_rival is None
        assert margin.high_rival is None


def test_bayes_decisions_change_where_the_decision_regions_do():
    problem = Problem([[0, 3, 25], [180, 8, 0]], decisions=["approve", "review", "block"])
    regions = decision_regions(problem)
    for p in np.random.default_rng(0).random(200):
        (part,) = (part for part in regions.parts if part.low < p < part.high)
        assert bayes_decisions([p], problem)[0] == part.cheapest[0]
    with pytest.raises(InputError, match="two classes"):
        decision_regions(Problem.zero_one(3))


def test_of_rivals_that_arrive_together_the_steepest_is_named_whatever_rounding_says():
    """Once declining costs as little as granting, whoever declines more wins, the boldest most."""
    problem = Problem(
        [[0.168, 7.717, 0.223], [0.0, -0.505, -0.978]],
        decisions=["grant", "review", "decline"],
        prior=[0.3648342918781839, 0.635165708121816],
    )
    for bolder in ((31, 12, 0), (0, 31, 12), (31, 0, 31)):
        granted = {"best": 32, **{f"grants {k} ({i})": k for i, k in enumerate(bolder)}}
        models = {name: Counts([[k, 0, 700 - k], [0, 0, 300]]) for name, k in granted.items()}
        margins = sensitivity(models, problem)
        (margin,) = [margin for margin in margins.costs if margin.what == "cost of decline for 0"]
        assert margins.cheapest == "best"
        assert margin.low == pytest.approx(0.168, rel=1e-12)
        assert str(margin.low_rival).startswith("grants 0")


def test_crossings_closer_than_rounding_to_an_end_or_to_each_other_make_no_sliver():
    flat = Curve([0, 1], [[0.5]])
    near_end = {"flat": flat, "line": Curve([0, 1], [[0.5 - 1e-14, 1.0]])}
    assert [part.cheapest for part in lowest(near_end, axis="x").parts] == [("flat",)]
    at_end = {"flat": flat, "line": Curve([0, 1], [[1.5 - 1e-14, -1.0]])}
    assert [part.cheapest for part in lowest(at_end, axis="x").parts] == [("flat",)]
    bend = Curve([0, 0.5, 0.5 + 1e-13, 1], [[0.6, 0.0], [0.4, 0.0], [0.6, 0.0]])
    assert [part.cheapest for part in lowest({"a": flat, "b": bend}, axis="x").parts] == [("a",)]


def test_a_part_that_is_narrow_but_beyond_rounding_is_a_part():
    bend = Curve([0, 0.5, 0.5 + 1e-9, 1], [[0.6, 0.0], [0.4, 0.0], [0.6, 0.0]])
    parts = lowest({"a": Curve([0, 1], [[0.5]]), "b": bend}, axis="x").parts
    assert [part.cheapest for part in parts] == [("a",), ("b",), ("a",)]
    assert parts[1].high - parts[1].low == pytest.approx(1e-9, rel=1e-4)


@pytest.mark.parametrize(("low", "high", "parts"), [(0, 1000, 1), (1000, 1001, 3), (0, 0.01, 3)])
def test_a_sliver_is_one_beside_the_width_of_the_axis(low, high, parts):
    """A bend as wide as 1e-10 is nothing on an axis of a thousand, wherever the axis begins."""
    start = low + (high - low) / 2
    bend = Curve([low, start, start + 1e-10, high], [[0.6, 0.0], [0.4, 0.0], [0.6, 0.0]])
    pieces = lowest({"a": Curve([low, high], [[0.5]]), "b": bend}, axis="x").parts
    assert len(pieces) == parts


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(-9, 9)), min_size=1, max_size=12).map(
        lambda lines: [(a / 7, b / 7) for a, b in lines]
    )
)
def test_lines_that_are_nowhere_lowest_change_no_region(lines):
    """Every line takes part in the slow twin, and a curve of two pieces keeps all others in."""
    curves = {k: Curve([0, 1], [[a, b]]) for k, (a, b) in enumerate(lines)}
    lowest_parts = lowest(curves, axis="x")
    grid = np.linspace(0.0005, 0.9995, 997)
    values = np.array([[a + b * x for a, b in lines] for x in grid])
    for x, row in zip(grid, values, strict=True):
        if np.abs(lowest_parts.crossings - x).min(initial=1) > 1e-9:
            assert lowest_parts.at(x) == tuple(np.flatnonzero(row <= row.min() + 1e-12).tolist())
    high = Curve([0, 0.5, 1], [[99.0], [99.0]])
    with_all = lowest({**curves, "high": high}, axis="x")
    assert [part.cheapest for part in with_all.parts] == [
        part.cheapest for part in lowest_parts.parts
    ]
    assert with_all.crossings == pytest.approx(lowest_parts.crossings, abs=1e-12)


def test_a_class_that_will_not_occur_costs_nothing_though_it_has_no_cases():
    axis = CostProportion(None)
    only_negatives, only_positives = Counts([[60, 40], [0, 0]]), Counts([[0, 0], [5, 95]])
    np.testing.assert_allclose(axis.endpoint_costs(only_negatives), (0.0, 0.8))
    np.testing.assert_allclose(axis.endpoint_costs(only_positives), (0.1, 0.0))


def test_a_prior_may_name_the_classes_of_counts_that_do_not():
    counts = Counts([[60, 40], [5, 95]])
    named = CostProportion({0: 0.9, 1: 0.1}).endpoint_costs(counts)
    assert named == CostProportion([0.9, 0.1]).endpoint_costs(counts)


# The numbers that move, and decisions that stay --------------------------------------------------


@given(
    several_models(n_classes=3, n_decisions=2),
    st.lists(st.integers(-2, 9), min_size=6, max_size=6),
    st.lists(st.integers(1, 9), min_size=3, max_size=3),
)
def test_along_every_line_costs_are_those_of_plain_loops(models, costs, parts):
    problem, prior = Problem(np.reshape(costs, (3, 2))), np.array(parts) / sum(parts)
    kept = KeptDecisions.of(models)
    stakes = stakes_in(problem, prior)
    assert len(stakes) == 6 + 3
    for place, stake in enumerate(stakes):
        now_costs, now_prior = stake.line.at(stake.value)
        np.testing.assert_allclose(now_costs, problem.costs)
        np.testing.assert_allclose(now_prior, prior)
        curves = kept.curves(stake.line)
        for value in (0.2, 0.9):
            wanted, shares = np.array(problem.costs), prior.copy()
            if place < 6:
                wanted[place // 2, place % 2] = value
            else:
                others = [k for k in range(3) if k != stake.k]
                shares[others] *= (1 - value) / shares[others].sum()
                shares[stake.k] = value
            for name, counts in models.items():
                spent = 0.0
                for k, row in enumerate(counts.values):
                    for d, cases in enumerate(row):
                        spent += shares[k] * cases / row.sum() * wanted[k, d]
                assert float(curves[name](value)) == pytest.approx(spent, abs=1e-9)
            both = kept.costs(*stake.line.at(value))
            np.testing.assert_allclose(both, [float(curves[m](value)) for m in models], atol=1e-9)
