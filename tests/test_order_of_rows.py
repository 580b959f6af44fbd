"""The law of rows: their order never changes a report, and what hashes deal flatters nobody."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

from stakes import Problem, evaluate
from stakes._hashing import distinct_hashes, even_parts, number_hashes, text_hashes
from stakes.calibration import Isotonic, hashed_folds
from stakes.calibration.crossfit import CheckedRows
from stakes.evaluation.cases import read_cases
from stakes.evaluation.predictions import Folds
from stakes.problem import Limit
from stakes.rows import Decisions, Posteriors, Predicted, Scores

# Reports ------------------------------------------------------------------------------------------

COSTS = np.array([[0, 1, 3.0], [6, 0, 2], [9, 4, 0]])
EXPRESSIONS = {2: [[0, 1], ["amount", 0]], 3: [[0, 1, 3], ["amount", 0, 2], [9, "amount", 0]]}


class World(NamedTuple):
    """What is passed to `evaluate`; all but the problem and the options has one entry a row."""

    columns: dict[str, Any]
    problem: Problem
    options: dict[str, Any]

    def json(self, order: Any = slice(None)) -> Any:
        """The report as JSON, with rows in some order."""
        columns = {name: _taken(column, order) for name, column in self.columns.items()}
        truth, models = columns.pop("y_true"), columns.pop("models")
        report = evaluate(truth, models, self.problem, **columns, **self.options)
        written = json.loads(report.to_json())
        del written["checksum"]  # of the text, to the last digit
        worth = report.uncertainty
        return written | ({} if worth is None else {"worth": str(worth)})


def _taken(column: Any, order: Any) -> Any:
    if isinstance(column, dict):
        return {name: _taken(part, order) for name, part in column.items()}
    if isinstance(column, Predicted):
        return type(column)(np.asarray(column.values)[order])
    return column[order]


def world(kind: str, n_classes: int, n_cases: int, *, coarse: bool, seed: int = 0) -> World:
    """Two models; `kind` says what else there is, and `coarse` predictions have many equal rows."""
    rng = np.random.default_rng([seed, n_classes, n_cases, coarse])
    y = rng.choice(n_classes, n_cases, p=np.arange(n_classes, 0, -1) / math.comb(n_classes + 1, 2))
    first, second = (_posteriors(y, n_classes, signal, coarse, rng) for signal in (1.0, 0.7))
    models: dict[str, Any] = {"first": Posteriors(first), "second": Posteriors(second)}
    if "scores" in kind:
        models["first"] = Scores(np.log(first[:, 1] + 0.01))
    if "decisions" in kind:
        models["first"] = Decisions(first.argmax(axis=1))
    clusters = rng.integers(0, 30 if "few" in kind else max(20, n_cases // 8), n_cases)
    amounts = rng.integers(1, 6, n_cases) * 2.0 if coarse else rng.gamma(2.0, 5.0, n_cases)
    some: dict[str, Any] = {
        "strata": {"weights": rng.choice([1.0, 2.5, 7.0], n_cases)},
        "fractions": {"weights": rng.random(n_cases) + 0.1},
        "copies": {"copies": rng.integers(0, 4, n_cases)},
        "clusters": {"clusters": clusters},
        "slices": {
            "by": {"age": rng.choice(["<25", "≥25"], n_cases), "site": rng.integers(0, 3, n_cases)}
        },
        "amounts": {"data": {"amount": amounts}},
    }
    columns = {"y_true": y, "models": models}
    for word in kind.split():
        columns |= some.get(word, {})
    costs: Any = EXPRESSIONS[n_classes] if "amounts" in kind else COSTS[:n_classes, :n_classes]
    problem = Problem(costs, prior=np.full(n_classes, 1 / n_classes) if "prior" in kind else None)
    if "limit" in kind:
        limits = [Limit.share(1, at_most=0.3), Limit.share(2, at_most=0.2)]
        problem = problem.with_limits(limits[: 1 + ("limits" in kind)])
    options: dict[str, Any] = {"replicates": 50}
    if "uncertain" in kind:
        options["uncertain"] = np.array([0.5 * problem.costs, 1.5 * problem.costs])
    if "plain" in kind:
        options["calibrator"] = None
    return World(columns, problem, options)


def _posteriors(
    y: Any, n_classes: int, signal: float, coarse: bool, rng: np.random.Generator
) -> Any:
    odds = rng.normal(0, 0.8, (y.size, n_classes))
    odds[np.arange(y.size), y] += signal
    rows = np.exp(odds)
    rows /= rows.sum(axis=1, keepdims=True)
    if coarse:
        rows = np.round(20 * rows)
        rows /= rows.sum(axis=1, keepdims=True)
    return rows


def differences(first: Any, second: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Where two documents differ: floats by more than 1e-12, everything else at all."""
    if isinstance(first, dict) and isinstance(second, dict) and list(first) == list(second):
        for name in first:
            yield from differences(first[name], second[name], f"{place}/{name}")
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, both in enumerate(zip(first, second, strict=True)):
            yield from differences(*both, f"{place}[{number}]")
    elif isinstance(first, float) and isinstance(second, float):
        whole = place.endswith("]") and "/counts/" in place and first.is_integer()
        if not math.isclose(
            first, second, rel_tol=0 if whole else 1e-12, abs_tol=1e-12 * (not whole)
        ):
            yield place, first, second
    elif first != second:
        yield place, first, second


QUICK = [
    (2, "scores", True),
    (2, "slices strata", False),
    (2, "copies limit", True),
    (2, "few clusters amounts", False),
    (2, "plain prior", True),
    (3, "clusters fractions", True),
    (3, "amounts decisions", False),
]
KINDS = """
posteriors / scores / decisions / strata / fractions / copies / clusters / few clusters / slices /
limit / prior / amounts / uncertain / copies scores slices / strata clusters limit / prior limit /
amounts strata slices / uncertain clusters prior / plain scores / plain fractions / amounts limit
"""
KINDS_OF = {2: KINDS, 3: KINDS.replace("scores", "copies").replace("limit", "prior") + "/ limits"}
ALL = [
    (size, kind.strip(), coarse)
    for size, kinds in KINDS_OF.items()
    for kind in dict.fromkeys(kinds.split("/"))
    for coarse in (False, True)
]


@pytest.mark.parametrize(
    ("n_classes", "kind", "coarse", "n_cases"),
    [(*each, 400) for each in QUICK]
    + [
        pytest.param(*each, n_cases, marks=pytest.mark.slow)
        for each in ALL
        for n_cases in (150, 30_000)
        if "limits" not in each[1] or n_cases == 150
    ],
)
def test_the_order_of_the_rows_never_changes_a_report(n_classes, kind, coarse, n_cases):
    rows = world(kind, n_classes, n_cases, coarse=coarse)
    order = np.random.default_rng(5).permutation(n_cases)
    assert list(differences(rows.json(), rows.json(order))) == []


def test_the_order_of_models_of_classes_and_of_clusters_deals_the_same_folds():
    rows = world("clusters", 3, 60, coarse=True)
    y, models = rows.columns["y_true"], rows.columns["models"]
    names = np.array(["low", "mid", "high"])
    posteriors = {name: model.values for name, model in models.items()}

    def dealt(labels: Any, columns: list[int], predicted: Any, **more: Any) -> Any:
        cases = read_cases(names[y], Problem.zero_one(labels), None, None, **more)
        return Folds(cases, 0, {name: each[:, columns] for name, each in predicted.items()}).numbers

    first = dealt(["low", "mid", "high"], [0, 1, 2], posteriors, clusters=None)
    turned = dealt(
        ["high", "low", "mid"], [2, 0, 1], dict(reversed(posteriors.items())), clusters=None
    )
    assert np.array_equal(first, turned)


# Hashes -------------------------------------------------------------------------------------------

MASK = (1 << 64) - 1
GOLDEN_RATIO = 0x9E3779B97F4A7C15


def mixed(number: int) -> int:
    """A slow twin of the last step of SplitMix64 (Steele, Lea and Flood 2014)."""
    number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9 & MASK
    number = (number ^ number >> 27) * 0x94D049BB133111EB & MASK
    return number ^ number >> 31


def test_mixing_gives_the_published_numbers_of_splitmix64():
    """The first outputs for the seed 0, which is raised by the golden ratio before each."""
    published = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [mixed(GOLDEN_RATIO * k & MASK) for k in (1, 2, 3)] == published


def test_hashes_of_texts_and_numbers_are_those_of_a_slow_twin():
    texts = ["", "a", "ab", "ba", "Zürich \N{SNOWMAN}", "\ud800", 12, "x" * 300]
    expected = []
    for text in map(str, texts):
        each = (mixed(ord(c) + GOLDEN_RATIO * (k + 1) & MASK) for k, c in enumerate(text))
        expected.append(mixed(sum(each) & MASK))
    assert text_hashes(texts).tolist() == expected
    assert len(set(expected)) == len(texts)
    (salt,) = text_hashes(["score"]).tolist()
    numbers = np.random.default_rng(0).normal(size=70_000)
    bits = numbers.view(np.uint64)[[0, 40_000, -1]].tolist()
    for dropped in (0, 29):
        half = (1 << dropped) // 2
        twin = [mixed((number + half >> dropped) + salt & MASK) for number in bits]
        assert number_hashes("score", numbers, dropped)[[0, 40_000, -1]].tolist() == twin


def test_equal_numbers_have_equal_hashes_whatever_their_type():
    whole = np.array([0, 1, 5])
    expected = number_hashes("m", whole, 0).tolist()
    for values in (whole.astype(np.float32), whole.astype(np.int8), np.array([-0.0, 1, 5])):
        assert number_hashes("m", values, 0).tolist() == expected
    assert number_hashes("m", whole == 1, 0).tolist() == [expected[k] for k in (0, 1, 0)]
    assert number_hashes("m", np.array([0, 9, 1, 9, 5])[::2], 0).tolist() == expected
    assert not set(number_hashes("other", whole, 0).tolist()) & set(expected)


def test_digits_in_which_processors_differ_do_not_deal_folds_anew():
    """A fifth of the exponentials and half of a logistic regression's probabilities differ so."""
    rng = np.random.default_rng(0)
    y, p = np.arange(5_000) % 2, rng.random(5_000)
    cases = read_cases(y, Problem.zero_one(2), None, None, None)
    near = p * (1 + 4e-16 * rng.integers(-2, 3, p.size))
    assert (near != p).any()
    first, second = (Folds(cases, 0, {"m": each}).numbers for each in (p, near))
    assert np.array_equal(first, second)
    assert (number_hashes("m", p, 0) != number_hashes("m", near, 0)).any()


@pytest.mark.parametrize("kind", ["equal", "nearly", "both"])
def test_equal_rows_have_hashes_of_their_own_in_any_order(kind):
    """Rows that agree in single precision, too, and these each have the same one in any order."""
    rng = np.random.default_rng(1)
    numbers = np.repeat(rng.random(400), np.arange(400) % 4)
    if kind != "equal":
        numbers *= 1 + 1e-15 * (np.arange(numbers.size) % (3 if kind == "both" else 7))

    def hashed(order: Any) -> Any:
        return distinct_hashes(lambda dropped: [number_hashes("m", numbers[order], dropped)])

    hashes, order = hashed(slice(None)), rng.permutation(numbers.size)
    assert np.unique(hashes).size == hashes.size
    pairs = [set(zip(numbers.tolist(), hashes.tolist(), strict=True))]
    pairs += [set(zip(numbers[order].tolist(), hashed(order).tolist(), strict=True))]
    assert pairs[0] == pairs[1]


@pytest.mark.parametrize("clustered", [False, True])
def test_rare_classes_and_few_clusters_are_spread_evenly_and_others_by_their_hashes(clustered):
    codes = np.repeat([0, 1, 2], [9_000, 700, 7])
    hashes = number_hashes("m", np.arange(codes.size), 0)
    clusters = np.arange(codes.size) if clustered else None
    number = hashed_folds(codes, 5, hashes, clusters)
    for k in (1, 2):
        sizes = np.bincount(number[codes == k], minlength=5)
        assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(number[codes == 0], even_parts(hashes[codes == 0], 5))
    sizes = np.bincount(number)
    assert abs(sizes / sizes.mean() - 1).max() < 4 * math.sqrt(5 / codes.size)
    few = hashed_folds(np.repeat([0, 1], 5_000), 5, hashes[:900], np.arange(10_000) % 900)
    sizes = np.bincount(few[:900])
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(few[:900], few[900:1800])


def test_partitions_and_seeds_deal_folds_that_have_nothing_to_do_with_each_other():
    rows = world("posteriors", 2, 4_000, coarse=True)
    cases = read_cases(rows.columns["y_true"], Problem(COSTS[:2, :2]), None, None, None)
    numbers = [number for seed in (0, 1) for number in Folds(cases, seed).numbers]
    assert len(numbers) == 10
    for place, number in enumerate(numbers):
        for other in numbers[:place]:
            assert abs(np.mean(number == other) - 0.2) < 5 * math.sqrt(0.16 / 4_000)


def test_slices_and_single_precision_change_no_recalibrated_cost():
    """Whoever asks for slices, or stores predictions with half as many bytes, keeps the folds."""
    rows = world("posteriors", 2, 600, coarse=True)
    y, p = rows.columns["y_true"], rows.columns["models"]["first"].values[:, 1]
    no: dict[str, Any] = {}
    by: dict[str, Any] = {"by": np.random.default_rng(2).integers(0, 9, 600)}
    single = p.astype(np.float32)
    costs = [
        evaluate(y, predicted, rows.problem, **more).system("model (recalibrated)").cost
        for predicted, more in ((single.astype(float), no), (single, by), (single, no))
    ]
    assert costs[0] == costs[1] == costs[2]
    cases = read_cases(y, rows.problem, None, None, None)
    p = np.random.default_rng(3).random(600)
    single = p.astype(np.float32).astype(np.float64)
    first, second = (Folds(cases, 0, {"m": each}).numbers for each in (p, single))
    assert np.array_equal(first, second)


def test_weights_of_one_value_deal_the_folds_of_no_weights():
    y = np.arange(300) % 3 % 2
    unweighted, doubled = (
        Folds(read_cases(y, Problem.zero_one(2), weights, None, None), 0)
        for weights in (None, np.full(300, 2.5))
    )
    assert np.array_equal(unweighted.numbers, doubled.numbers)


# Nobody is flattered ------------------------------------------------------------------------------

MISS = 9.0


def scored(n_cases: int, kind: str, rng: np.random.Generator) -> tuple[Any, Any]:
    y = (rng.random(n_cases) < 0.2).astype(np.intp)
    scores = 1 / (1 + np.exp(2 - rng.normal(size=n_cases) - 1.5 * y))
    return y, scores if kind == "smooth" else np.round(100 * scores) / 100


def cost_of(posteriors: Any, y: Any) -> float:
    alarm = (1 + MISS) * posteriors > 1
    return float(np.mean(np.where(y == 1, MISS * ~alarm, alarm)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n_cases"), [("smooth", 400), ("hundred", 400), ("hundred", 2000)]
)
def test_a_recalibrated_cost_is_what_a_million_fresh_cases_cost(kind, n_cases):
    """Folds by hashes say what folds that are drawn say; equal rows in one fold do not at all."""
    fresh, at = scored(1_000_000, kind, np.random.default_rng(999))
    above: dict[str, list[float]] = {"hashed": [], "drawn": [], "together": []}
    for seed in range(150):
        rng = np.random.default_rng(seed)
        y, scores = scored(n_cases, kind, rng)
        true = cost_of(Isotonic().fit(scores, y)(at[::5]), fresh[::5])
        folds = Folds(read_cases(y, Problem.zero_one(2), None, None, None), seed, {"m": scores})
        rows = CheckedRows(scores, y, None, None, 2)
        for name, number in (
            ("hashed", folds.numbers[0]),
            ("drawn", rng.permutation(n_cases) % 5),
            ("together", even_parts(number_hashes("m", scores, 0) + number_hashes("y", y, 0), 5)),
        ):
            above[name].append(cost_of(rows.out_of_fold(Isotonic(), number, None), y) - true)
    means = {name: float(np.mean(each)) for name, each in above.items()}
    gap = np.subtract(above["hashed"], above["drawn"])
    print(kind, n_cases, means, gap.mean(), gap.std() / math.sqrt(150))
    assert abs(gap.mean()) < 4 * gap.std() / math.sqrt(gap.size)
    assert abs(means["hashed"]) < 0.02
    assert kind == "smooth" or means["together"] > 0.02
