"""What every engine must do alike, for tests of those that are always there and of those that are
not: each check takes a function that makes a frame of named columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

pytest.importorskip("narwhals")

import narwhals.stable.v2 as nw

from stakes import Counts, LossMoments, Problem, ScoreTable, evaluate_frame
from stakes.adapters.columns import key_name
from stakes.adapters.sources import opened
from stakes.errors import InputError
from stakes.evaluation import fold_of_key
from stakes.tally import BitGrid

Columns = dict[str, Any]
Make = Callable[[Columns], Any]

N = 240
RNG = np.random.default_rng(16)
FRAUD = RNG.random(N) < 0.3
PROBLEM = Problem(
    [[0, 3, 25], [180, 8, 0]],
    classes=["legit", "fraud"],
    decisions=["approve", "review", "block"],
    prior=[0.9, 0.1],
)
ROWS: Columns = {
    "what": np.where(FRAUD, "fraud", "legit").tolist(),
    "did": np.array(["approve", "review", "block"])[RNG.integers(0, 3, N)].tolist(),
    "p": np.clip(0.3 + 0.4 * FRAUD + RNG.normal(0, 0.2, N), 0, 1).round(1),  # many are tied
    "loss": RNG.normal(2.0 * FRAUD, 1.0),
    "w": np.where(RNG.random(N) < 0.1, 0.0, RNG.integers(1, 40, N) / 8),
    "site": np.array(["car", "home", None], dtype=object)[RNG.integers(0, 3, N)].tolist(),
    "flag": FRAUD.tolist(),
    "one": np.where(FRAUD, 1.0, 0.0),
}
ROWS["p"][:4] = [0.0, -0.0, 0.0, -0.0]  # one score


def same(actual: Any, expected: Any) -> None:
    """Two tallies with the same labels and, up to the order of sums, the same numbers."""
    assert type(actual) is type(expected)
    for name, value in vars(expected).items():
        if isinstance(value, np.ndarray):
            assert getattr(actual, name) == pytest.approx(value, rel=1e-13, abs=1e-13), name
        else:
            assert getattr(actual, name) == value, name
            assert type(getattr(actual, name)) is type(value), name


def check_counts(make: Make) -> None:
    asked: Columns = {"y_true": "what", "decisions": "did", "problem": PROBLEM}
    frame = make(ROWS)
    plain = Counts.from_frame(frame, **asked)
    assert plain == Counts.from_decisions(ROWS["what"], ROWS["did"], PROBLEM)  # bit for bit
    extra = {"weights": ROWS["w"], "by": ROWS["site"]}
    counts = Counts.from_frame(frame, **asked, weights="w", by="site")
    same(counts, Counts.from_decisions(ROWS["what"], ROWS["did"], PROBLEM, **extra))
    assert counts.groups == ("car", "home", "(missing)")


def check_tables(make: Make) -> None:
    frame = make(ROWS)
    expected = ScoreTable.from_scores(ROWS["what"], ROWS["p"], positive="fraud")
    table = ScoreTable.from_frame(frame, y_true="what", scores="p", positive="fraud")
    assert table == expected
    assert math.copysign(1, table.scores[0]) == 1
    asked: Columns = {"y_true": "what", "scores": "p", "positive": "legit", "weights": "w"}
    options = {"positive": "legit", "weights": ROWS["w"], "by": ROWS["site"]}
    expected = ScoreTable.from_scores(ROWS["what"], ROWS["p"], **options)
    same(ScoreTable.from_frame(frame, **asked, by="site"), expected)
    for grid in (BitGrid(probabilities=True), BitGrid(probabilities=False)):  # of one score each
        same(ScoreTable.from_frame(frame, **asked, by="site", bins=grid), expected)


def check_bins_pool_what_is_fine(make: Make) -> None:
    """Scores that differ in the last bits share a bin, which has their mean."""
    scores = np.repeat([0.26, 0.51, 0.76], 8) + np.tile(np.arange(8) * 2.0**-50, 3)
    y = np.tile([0, 0, 1, 1, 1, 1, 0, 0], 3)
    frame = make({"y": y, "s": scores, "by": np.tile(["a", "b"], 12).tolist()})
    grid = BitGrid(probabilities=True)
    table = ScoreTable.from_frame(frame, y_true="y", scores="s", by="by", bins=grid)
    assert table.scores == pytest.approx(scores.reshape(3, 8).mean(axis=1), abs=1e-15)
    assert table.weights.tolist() == [[[2, 2]] * 3] * 2


def check_moments(make: Make) -> None:
    frame = make(ROWS)
    both = {"own": ROWS["loss"], "p": ROWS["p"]}
    expected = LossMoments.from_losses(ROWS["what"], both, weights=ROWS["w"], by=ROWS["site"])
    asked: Columns = {"losses": {"own": "loss", "p": "p"}, "weights": "w", "by": "site"}
    same(LossMoments.from_frame(frame, y_true="what", **asked), expected)
    stated = ["legit", "other", "fraud"]
    same(
        LossMoments.from_frame(frame, y_true="what", losses="loss", classes=stated),
        LossMoments.from_losses(ROWS["what"], {"loss": ROWS["loss"]}, classes=stated),
    )
    # An amount that all losses of a class share costs their variances no digits.
    shared = np.where(np.array(ROWS["what"]) == "fraud", 1e9, -1e7) + np.round(ROWS["loss"], 2)
    more = {**ROWS, "far": shared, "same": np.full(len(shared), 0.1)}
    moved = LossMoments.from_frame(
        make(more), y_true="what", losses=["far", "same"], weights="w", by="site"
    )
    expected = LossMoments.from_losses(
        ROWS["what"], {"far": shared, "same": more["same"]}, weights=ROWS["w"], by=ROWS["site"]
    )
    assert moved.means == pytest.approx(expected.means, rel=1e-14)
    assert moved.scatter[..., 0, 0] == pytest.approx(expected.scatter[..., 0, 0], rel=1e-9)
    assert not moved.scatter[..., 1].any()
    # Nor does one that the losses of a group share, be it large or middling.
    for amount in (40.0, 1e7):
        far = np.where(np.array(ROWS["site"]) == ROWS["site"][0], amount, 0) + ROWS["loss"]
        expected = LossMoments.from_losses(ROWS["what"], {"far": far}, by=ROWS["site"])
        of_frame = LossMoments.from_frame(
            make({**ROWS, "far": far}), y_true="what", losses="far", by="site"
        )
        assert of_frame.scatter == pytest.approx(expected.scatter, rel=1e-11)
    # Nor does a far loss of next to no weight.
    far, weights = np.array(1e9 + np.round(ROWS["loss"], 2)), np.ones(len(ROWS["loss"]))
    for amount in (0.0, 2e9):
        far[3], weights[3] = amount, 1e-40
        light = make({**ROWS, "far": far, "light": weights})
        moments = LossMoments.from_frame(light, y_true="what", losses="far", weights="light")
        expected = LossMoments.from_losses(ROWS["what"], {"far": far}, weights=weights)
        assert moments.scatter == pytest.approx(expected.scatter, rel=1e-9)


def check_labels_of_other_types(make: Make) -> None:
    """Booleans and whole numbers that are stored as fractions are labels as any other."""
    frame, expected = make(ROWS), ScoreTable.from_scores(FRAUD, ROWS["p"])
    assert ScoreTable.from_frame(frame, y_true="flag", scores="p") == expected
    assert ScoreTable.from_frame(frame, y_true="one", scores="p") == expected
    assert ScoreTable.from_frame(frame, y_true="flag", scores="p", positive=True) == expected
    by = ScoreTable.from_frame(frame, y_true="one", scores="p", by="flag")
    assert by.groups == (False, True)
    halves = make({**ROWS, "half": np.where(FRAUD, 2.5, 1.0)})
    with pytest.raises(InputError, match=r"^by \(column 'half' .*2\.5 is no whole number"):
        ScoreTable.from_frame(halves, y_true="one", scores="p", by="half")


NAMES = ('p "q"', "p'q", "p`q", "p.q", "p q", "größe", "truth", "rows", "text", "low", "a\\b")


def check_any_name_will_do(make: Make) -> None:
    """Quotes, points, blanks, other letters, and names that tallies have for their own columns."""
    frame = make({**ROWS, **dict.fromkeys(NAMES, ROWS["p"]), "weight": ROWS["w"]})
    expected = ScoreTable.from_scores(
        ROWS["what"], ROWS["p"], positive="fraud", weights=ROWS["w"], by=ROWS["site"]
    )
    in_spark = type(frame).__module__.startswith("pyspark")
    for name in NAMES:
        if in_spark and set(name) & set(".`"):
            with pytest.raises(InputError, match="a name without points and backticks"):
                ScoreTable.from_frame(frame, y_true="what", scores=name)
            continue
        asked: Columns = {"y_true": "what", "scores": name, "weights": "weight", "by": "site"}
        same(ScoreTable.from_frame(frame, **asked, positive="fraud"), expected)


MOMENTS = np.array(
    ["2026-01-05", "2026-01-05T12:30", "2026-01-05T12:30:05", "2026-01-05T00:00:05"], "M8[us]"
)


def check_times_are_labels(make: Make) -> None:
    """The same texts as in memory, however an engine writes midnight and whole seconds."""
    moments = MOMENTS[np.arange(N) % 4]
    frame = make({"what": ROWS["what"], "did": ROWS["did"], "when": moments})
    asked: Columns = {"y_true": "what", "decisions": "did", "problem": PROBLEM}
    counts = Counts.from_frame(frame, **asked, by="when")
    expected = Counts.from_decisions(ROWS["what"], ROWS["did"], PROBLEM, by=moments)
    assert counts.groups == expected.groups
    assert counts == expected
    assert (counts.groups or ())[:2] == ("2026-01-05", "2026-01-05T00:00:05")
    days = Counts.from_frame(
        make({**ROWS, "when": MOMENTS[np.zeros(N, int)]}), **asked, by="when"
    )  # pandas leaves out the hours where all are 0
    assert days.groups == ("2026-01-05",)


def check_decimals_are_numbers(make: Make) -> None:
    """Decimals as scores, as weights and as labels."""
    tenths = [Decimal(round(10 * p)) / 10 for p in ROWS["p"]]
    units = [Decimal(int(fraud)) for fraud in FRAUD]
    weights = [Decimal(int(8 * w)) / 8 for w in ROWS["w"]]
    frame = make({"y": units, "s": tenths, "w": weights})
    table = ScoreTable.from_frame(frame, y_true="y", scores="s", weights="w")
    same(table, ScoreTable.from_scores(FRAUD, ROWS["p"] + 0.0, weights=ROWS["w"]))


def check_what_is_no_label_is_refused(make: Make) -> None:
    frame = make({"y": [0, 1] * 4, "s": [0.5] * 8, "pair": [[1, 2]] * 8})
    told = r"^column 'pair' of the frame must hold labels: text, .*; its type is (List|Array)"
    with pytest.raises(InputError, match=told):
        ScoreTable.from_frame(frame, y_true="y", scores="s", by="pair")
    with pytest.raises(InputError, match=r"^column 'pair' of the frame must hold numbers"):
        ScoreTable.from_frame(frame, y_true="y", scores="pair")


def check_frames_without_rows_are_refused(make: Make) -> None:
    frame = make({"what": np.array([], dtype=str), "p": np.array([])})
    with pytest.raises(InputError, match="at least one"):
        ScoreTable.from_frame(frame, y_true="what", scores="p")
    with pytest.raises(InputError, match="at least one row"):
        evaluate_frame(frame, PROBLEM, y_true="what", models={"m": "p"})


def check_single_precision_is_summed_in_double(make: Make) -> None:
    """In single precision the sum would stand still at 2²⁴."""
    ones = np.full(N, 1.0, dtype=np.float32)
    large = ones.copy()
    large[0] = 2.0**24
    frame = make({"y": [0, 1] * (N // 2), "s": ones, "w": large})
    table = ScoreTable.from_frame(frame, y_true="y", scores="s", weights="w")
    assert table.weights.tolist() == [[2.0**24 + N // 2 - 1, N // 2]]


def check_folds_of_keys(make: Make) -> None:
    """Remainders of negative and of large numbers are the same everywhere."""
    ends = [0, -1, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, 1 - 2**63]
    keys = np.concatenate([np.arange(-100, N - 100 - len(ends)), ends])
    with opened(make({"k": keys, "place": np.arange(len(keys))})) as source:
        rows = source.lazy(["place"], [], memory=1 << 28, key="k")
        fold = fold_of_key(nw.col(key_name("k")), seed=3)
        rows_with_folds = rows.with_columns(fold.alias("fold")).sort("place").collect()
    assert rows_with_folds["fold"].to_list() == fold_of_key(keys, seed=3).tolist()


def holed(name: str, *bad: Any) -> Columns:
    values = list(ROWS[name])
    values[7 : 7 + len(bad)] = bad
    return {**ROWS, name: values}


GAPS: dict[str, tuple[Callable[..., Any], Columns, tuple[Any, ...], str]] = {
    "a class": (ScoreTable.from_frame, {"scores": "p", "positive": "fraud"}, ("what", None), "y"),
    "a score": (ScoreTable.from_frame, {"scores": "p", "positive": "fraud"}, ("p", None), "s"),
    "nan": (ScoreTable.from_frame, {"scores": "p", "positive": "fraud"}, ("p", math.nan), "s"),
    "nan, in bins": (
        ScoreTable.from_frame,
        {"scores": "p", "positive": "fraud", "bins": BitGrid(probabilities=True)},
        ("p", math.nan),
        "s",
    ),
    "no probability": (
        ScoreTable.from_frame,
        {"scores": "p", "positive": "fraud", "bins": BitGrid(probabilities=True)},
        ("p", 3.0),
        "p",
    ),
    "a decision": (
        Counts.from_frame,
        {"decisions": "did", "problem": PROBLEM},
        ("did", None, "wait"),
        "d",
    ),
    "a weight": (
        Counts.from_frame,
        {"decisions": "did", "problem": PROBLEM, "weights": "w"},
        ("w", math.nan, -1.0),
        "w",
    ),
    "a loss": (
        LossMoments.from_frame,
        {"losses": ["loss"]},
        ("loss", math.inf, math.nan),
        "l",
    ),
}
TOLD = {
    "p": r"must lie in \[0, 1\] for a grid of probabilities; they reach from 0 to 3\.",
    "y": r"^column 'what' of the frame must hold the classes in every row; 1 of 240 rows",
    "s": r"^scores \(column 'p' of the frame\) must hold numbers that can be ordered; 1 of 240 do",
    "d": r"^column 'did' of the frame must hold the decisions approve.*; 2 of 240 rows",
    "w": r"^weights \(column 'w' of the frame\) must hold finite numbers .*; 2 of 240 do not",
    "l": r"^losses\['loss'\] \(column 'loss' of the frame\) must hold finite.*; 2 of 240 do not",
}


def check_gaps_are_counted(make: Make, what: str) -> None:
    tally, asked, bad, told = GAPS[what]
    with pytest.raises(InputError, match=TOLD[told]):
        tally(make(holed(*bad)), y_true="what", **asked)


CHECKS = [
    check_counts,
    check_tables,
    check_bins_pool_what_is_fine,
    check_moments,
    check_labels_of_other_types,
    check_single_precision_is_summed_in_double,
    check_folds_of_keys,
    check_any_name_will_do,
    check_times_are_labels,
    check_frames_without_rows_are_refused,
]
TYPED_CHECKS = [check_decimals_are_numbers, check_what_is_no_label_is_refused]  # not in pandas
