"""How likely a metric is to pick the wrong one among your models."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from stakes.audit import FAMILIAR, AssessmentError, Loss, misranking, uniform_setting, wrong_picks
from stakes.audit.misranking import RisingRates
from stakes.errors import InputError
from stakes.inference import AllCases, resample
from stakes.measures import expected_cost
from stakes.problem import Problem
from stakes.tally import Counts, JointCounts

OBSERVED = {
    "A": Counts([[35, 15, 2], [23, 27, 3]]),
    "B": Counts([[32, 18, 2], [7, 43, 3]]),
    "C": Counts([[30, 12, 10], [12, 31, 10]]),
}
PLAUSIBLE = [
    Problem([[0, gain, 3], [2, 0, 1]], prior=prior)
    for gain in (1, 6, 12)
    for prior in (None, [0.9, 0.1])
]
CHEAPEST = Loss(partial(expected_cost, problem=PLAUSIBLE[2]))


def truths(size, seed=1):
    rng = np.random.default_rng(seed)
    return {
        name: Counts(
            rng.multinomial(100, table.values.ravel() / table.n_cases, size).reshape(size, 2, 3)
        )
        for name, table in OBSERVED.items()
    }


def plain_cost(table, problem):
    total = sum(map(sum, table))
    cost = 0.0
    for k, row in enumerate(table):
        share = sum(row) / total if problem.prior is None else float(problem.prior[k])
        cost += share * sum(
            count / sum(row) * price for count, price in zip(row, problem.costs[k], strict=True)
        )
    return cost


def cheapest(costs):
    """All that tie for the least cost; drawn tables of 100 cases do tie."""
    return [name for name, cost in costs.items() if cost <= min(costs.values()) + 1e-9]


def test_wrong_picks_are_what_the_plain_loop_counts():
    """One problem for every world, so that nothing is left to chance."""
    size = 60
    drawn = truths(size)
    problems = [PLAUSIBLE[r % len(PLAUSIBLE)] for r in range(size)]
    study = wrong_picks(
        OBSERVED,
        drawn,
        lambda rng, n: problems[:n],
        metrics={"cheapest": CHEAPEST},
        errors={"no error": AssessmentError(0)},
        rng=np.random.default_rng(0),
    )
    seen = {name: table.values.tolist() for name, table in OBSERVED.items()}
    in_mean = {name: sum(plain_cost(t, p) for p in problems) for name, t in seen.items()}
    by_metric = {name: plain_cost(table, PLAUSIBLE[2]) for name, table in seen.items()}
    wrong, known, regret = [0.0] * 3, [0.0] * 3, [0.0] * 3
    regrets: list[list[float]] = [[], [], []]
    for r, problem in enumerate(problems):
        true = {name: table.values[r].tolist() for name, table in drawn.items()}
        cost = {name: plain_cost(table, problem) for name, table in true.items()}
        criteria = [
            (by_metric, {name: plain_cost(table, PLAUSIBLE[2]) for name, table in true.items()}),
            ({name: plain_cost(table, problem) for name, table in seen.items()}, cost),
            (
                in_mean,
                {name: sum(plain_cost(t, p) for p in problems) for name, t in true.items()},
            ),
        ]
        for q, (observed, informed) in enumerate(criteria):
            least = min(cost.values())
            picks, informed_picks = cheapest(observed), cheapest(informed)
            wrong[q] += sum(cost[p] > least + 1e-9 for p in picks) / len(picks)
            known[q] += sum(cost[p] > least + 1e-9 for p in informed_picks) / len(informed_picks)
            regrets[q].append(sum(cost[p] - least for p in picks) / len(picks))
            regret[q] += regrets[q][-1]
    assert study.criteria == ("cheapest", "no error", "expected costs")
    np.testing.assert_allclose(study.wrong * size, wrong)
    np.testing.assert_allclose(study.wrong_if_known * size, known)
    np.testing.assert_allclose(study.regret * size, regret)
    share = study.wrong
    np.testing.assert_allclose(study.wrong_errors, np.sqrt(share * (1 - share) / size))
    np.testing.assert_allclose(
        study.regret_errors, [np.std(each) / np.sqrt(size) for each in regrets]
    )
    assert (study.regret_errors[:2] > 0).all()
    assert study.wrong_if_known[1] == 0
    assert (study.draws, study.undefined) == (size, 0)


def test_larger_errors_in_the_costs_pick_wrong_more_often():
    rng = np.random.default_rng(3)
    study = wrong_picks(
        OBSERVED,
        truths(3000),
        PLAUSIBLE,
        metrics={},
        errors={f"{sd:.0%} error": AssessmentError(sd) for sd in (0.0, 0.1, 0.2)},
        rng=rng,
    )
    assert study.criteria == ("0% error", "10% error", "20% error", "expected costs")
    assert study.wrong_if_known[0] == 0
    assert 0 < study.wrong_if_known[1] < study.wrong_if_known[2]
    assert study.regret[0] < study.regret[1] < study.regret[2]
    np.testing.assert_allclose(study.picks.sum(axis=1), 1)


@pytest.mark.slow
def test_known_tables_and_drawn_problems_are_the_study_of_the_paper():
    """Two random classifiers under random utilities: D9 in another way."""
    rng = np.random.default_rng(8)
    size = 20_000
    share, rates = rng.random(size), RisingRates()(rng, (2, 2, size))
    values = np.empty((2, size, 2, 2))
    for k, part in enumerate((1 - share, share)):
        values[:, :, k, k], values[:, :, k, 1 - k] = part * rates[:, k], part * (1 - rates[:, k])
    worlds = {name: Counts(table) for name, table in zip("AB", values, strict=True)}
    setting = uniform_setting()

    def problems(rng, n):
        return [Problem.from_utilities(matrix) for matrix in setting["utilities"](rng, n)]

    names = ("accuracy", "precision", "F1")
    metrics = {name: FAMILIAR[name] for name in names}
    errors = {"error": AssessmentError(0.11)}
    result = wrong_picks(
        {name: table[0] for name, table in worlds.items()},
        worlds,
        problems,
        metrics=metrics,
        errors=errors,
        rng=rng,
    )
    study = misranking(metrics, **setting, error=errors, pairs=100_000, rng=rng)
    for name in (*names, "error"):
        known = result.wrong_if_known[result.criteria.index(name)]
        wrong = study.share(name)
        assert abs(known - wrong) < 4 * np.sqrt(wrong * (1 - wrong) * (1 / size + 1e-5))


def test_joint_counts_keep_the_models_paired():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 200)
    right = rng.random(200) < 0.8
    decided = {"A": np.where(right, truth, 1 - truth)}
    flip = rng.random(200) < 0.02
    decided["B"] = np.where(flip, 1 - decided["A"], decided["A"])
    problem = Problem.binary(false_alarm=1, miss=2)
    joint = JointCounts.from_decisions(truth, decided, problem)
    resampled = resample(joint, AllCases(), replicates=500, rng=rng)
    study = wrong_picks(joint, resampled, [problem], metrics=FAMILIAR, errors={}, rng=rng)
    assert study.models == ("A", "B")
    assert 0 < study.wrong[-1] < 0.5
    assert "WrongPicks over 500 worlds" in repr(study)
    assert "<table>" in study._repr_html_()


def test_ties_count_by_the_share_of_picks_that_are_wrong():
    same = Counts([[40, 10], [10, 40]])
    worse = Counts([[45, 5], [15, 35]])
    problem = Problem.binary(false_alarm=1, miss=9, unit="EUR")
    models = {"a": same, "b": worse}
    worlds = {name: Counts(table.values[None]) for name, table in models.items()}
    study = wrong_picks(
        models,
        worlds,
        [problem],
        metrics={"accuracy": FAMILIAR["accuracy"]},
        errors={},
        rng=np.random.default_rng(0),
    )
    assert study.wrong.tolist() == [0.5, 0]
    np.testing.assert_allclose(study.regret, [0.2, 0])
    assert "costs in EUR" in repr(study)


def test_weights_of_the_problems_are_their_probabilities():
    problems = [Problem([[0, 1, 3], [0, 0, 1]]), Problem([[0, 0, 3], [2, 0, 1]])]

    def wrong(some, weights):
        return wrong_picks(
            OBSERVED,
            truths(40),
            some,
            metrics={},
            errors={},
            weights=weights,
            rng=np.random.default_rng(0),
        ).wrong

    np.testing.assert_array_equal(wrong(problems, [1, 0]), wrong(problems[:1], None))
    np.testing.assert_array_equal(wrong(problems, [0, 1]), wrong(problems[1:], None))
    assert not np.array_equal(wrong(problems[:1], None), wrong(problems[1:], None))


def test_worlds_that_lose_a_class_are_counted_and_left_out():
    models = {"a": Counts([[3, 1], [1, 2]]), "b": Counts([[2, 2], [0, 3]])}
    worlds = {
        "a": Counts([[[3, 1], [1, 2]], [[3, 4], [0, 0]]]),
        "b": Counts([[[2, 2], [0, 3]], [[2, 5], [0, 0]]]),
    }
    problem = Problem.binary(false_alarm=1, miss=9, prior=[0.9, 0.1])
    study = wrong_picks(
        models, worlds, [problem], metrics={}, errors={}, rng=np.random.default_rng(0)
    )
    assert (study.draws, study.undefined) == (1, 1)
    lost = {name: table[1:] for name, table in worlds.items()}
    with pytest.raises(InputError, match="truths must hold a replicate in which every model"):
        wrong_picks(models, lost, [problem], metrics={}, errors={}, rng=np.random.default_rng(0))


@pytest.mark.parametrize(
    ("models", "worlds", "problems", "message"),
    [
        (OBSERVED, OBSERVED, PLAUSIBLE, "truths one leading axis of replicates"),
        (OBSERVED, truths(2), [], "problems must be a list of at least one Problem"),
        (OBSERVED, truths(2), [Problem.zero_one(2)], "problems must fit the tables"),
        ({"X": OBSERVED["A"]}, truths(2), PLAUSIBLE, "the names of truths must be the same"),
    ],
)
def test_the_border(models, worlds, problems, message):
    with pytest.raises(InputError, match=message):
        wrong_picks(models, worlds, problems, metrics={}, errors={}, rng=np.random.default_rng(0))


def test_what_is_drawn_and_named_is_checked():
    def fate(problems=PLAUSIBLE, errors=None, rng=None, **others):
        return wrong_picks(
            OBSERVED,
            truths(4),
            problems,
            metrics={"cheapest": CHEAPEST},
            errors={} if errors is None else errors,
            rng=np.random.default_rng(0) if rng is None else rng,
            **others,
        )

    with pytest.raises(InputError, match="must draw one problem for each of 4 replicates"):
        fate(lambda rng, n: PLAUSIBLE[:1])
    with pytest.raises(InputError, match="Weights are for a list of problems"):
        fate(lambda rng, n: PLAUSIBLE[:n], weights=[1, 1, 1, 1])
    with pytest.raises(InputError, match="errors must be a mapping from name to error"):
        fate(errors=[AssessmentError(0.1)])
    with pytest.raises(InputError, match="errors must keep the shape of the utilities"):
        fate(errors={"flat": lambda rng, utilities: utilities.ravel()})
    with pytest.raises(InputError, match="the names of metrics and errors"):
        fate(errors={"cheapest": AssessmentError(0.1)})
    with pytest.raises(InputError, match="rng must be a numpy Generator"):
        fate(rng=1)
