"""The rows of the benchmark: for each, what we do, what a peer does, and a floor below both.

`run.py` starts a separate process for each contender: the function draws the data, imports what it
needs and returns the call to be timed. ``python benchmarks/contenders.py ROW NAME
REPETITIONS`` prints the processor seconds of each call after a warm-up, and the peak of memory;
without arguments it lists the rows, their goals and contenders.
"""

from __future__ import annotations

import ctypes
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Call = Callable[[], Any]


class Goal(NamedTuple):
    """A number to reach: `faster` than a contender, `within` a multiple of it, or `seconds`.

    A contender is `slower` at most so many times as ours, where both are ours.
    """

    kind: str
    number: float
    contender: str = ""


class Row(NamedTuple):
    """One line of the table: the contenders by name, ours first, goals, and why one is missed."""

    contenders: dict[str, Callable[[], Call]]
    goals: tuple[Goal, ...] = ()
    why: str = ""


def _scores(n: int) -> tuple[Any, Any, Any]:
    """Labels, calibrated scores that are all distinct, and weights."""
    rng = np.random.default_rng(1)
    scores = rng.random(n)
    return (rng.random(n) < scores).astype(np.int64), scores, rng.random(n) + 0.5


def _labels(n: int, size: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, size, n)
    return y, np.where(rng.random(n) < 0.8, y, rng.integers(0, size, n))


def _text(n: int) -> tuple[Any, Any]:
    names = np.array(["approve", "block", "escalate", "review", "wait"])
    y, decided = _labels(n, len(names))
    return names[y], names[decided]


def _log_odds(scores: Any) -> Any:
    return np.log(scores) - np.log1p(-scores)


def _auc_ours(n: int, weighted: bool, odds: bool = False) -> Call:
    from stakes import ScoreTable, auc

    y, scores, weights = _scores(n)
    scores = _log_odds(scores) if odds else scores
    case_weights = weights if weighted else None
    return lambda: auc(ScoreTable.from_scores(y, scores, weights=case_weights))


def _auc_sklearn(n: int, weighted: bool, odds: bool = False) -> Call:
    from sklearn.metrics import roc_auc_score

    y, scores, weights = _scores(n)
    scores = _log_odds(scores) if odds else scores
    case_weights = weights if weighted else None
    return lambda: roc_auc_score(y, scores, sample_weight=case_weights)


def _sort_polars(n: int) -> Call:
    import polars

    series = polars.Series(_scores(n)[1])
    return lambda: series.sort()


def _sort_numpy(n: int) -> Call:
    scores = _scores(n)[1]
    return lambda: np.sort(scores)


def _many_ours(n: int) -> Call:
    import stakes
    from stakes.ranking import roc
    from stakes.scoring import brier, log_loss

    y, scores, _ = _scores(n)
    problem = stakes.Problem.binary(false_alarm=1, miss=5)
    methods = (
        stakes.ScoreFixed(0.5),
        stakes.RateFixed(0.5),
        stakes.ScoreUniform(),
        stakes.RateUniform(),
        stakes.ScoreDriven(),
        stakes.RateDriven(),
        stakes.Optimal(),
    )

    def call() -> Any:
        table = stakes.ScoreTable.from_scores(y, scores)
        return (
            [measure(table) for measure in (stakes.auc, roc, brier, log_loss)],
            stakes.best_threshold(table, problem),
            [stakes.expected_loss(table, method, stakes.CostProportions()) for method in methods],
        )

    return call


def _many_sklearn(n: int) -> Call:
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score, roc_curve

    y, scores, _ = _scores(n)
    return lambda: [f(y, scores) for f in (roc_auc_score, roc_curve, brier_score_loss, log_loss)]


def _counts_ours(y: Any, decided: Any) -> Call:
    from stakes import Counts

    return lambda: Counts.from_labels(y, decided)


def _counts_sklearn(y: Any, decided: Any) -> Call:
    from sklearn.metrics import confusion_matrix

    return lambda: confusion_matrix(y, decided)


def _bincount(n: int, size: int) -> Call:
    y, decided = _labels(n, size)
    cells = y * size + decided
    return lambda: np.bincount(cells)


def _as_objects(n: int) -> tuple[Any, Any]:
    y, decided = _text(n)
    return y.astype(object), decided.astype(object)


def _as_categories(n: int) -> tuple[Any, Any]:
    import pandas

    y, decided = _text(n)
    return pandas.Categorical(y), pandas.Categorical(decided)


def _as_polars(n: int) -> tuple[Any, Any]:
    import polars

    y, decided = _text(n)
    return polars.Series(y), polars.Series(decided)


def _as_arrow(n: int) -> tuple[Any, Any]:
    import pyarrow

    y, decided = _text(n)
    return pyarrow.array(y), pyarrow.array(decided)


def _counts_row(
    times: float, make: Callable[[], tuple[Any, Any]], why: str = "", **floors: Any
) -> Row:
    return Row(
        {
            "stakes": lambda: _counts_ours(*make()),
            "scikit-learn": lambda: _counts_sklearn(*map(np.asarray, make())),
            **floors,
        },
        (Goal("faster", times, "scikit-learn"),),
        why,
    )


def _decisions(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    posteriors = rng.standard_exponential((n, 10))  # divided by their sums: any posterior alike
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    return posteriors, rng.random((10, 11))


def _decisions_ours(n: int) -> Call:
    from stakes import Problem, bayes_decision_indices

    posteriors, costs = _decisions(n)
    problem = Problem(costs)
    return lambda: bayes_decision_indices(posteriors, problem)


def _decisions_numpy(n: int) -> Call:
    posteriors, costs = _decisions(n)
    return lambda: (posteriors @ costs).argmin(1)


def _h_ours(n: int) -> Call:
    from stakes import Beta, ScoreTable, h_measure

    y, scores, _ = _scores(n)
    return lambda: h_measure(ScoreTable.from_scores(y, scores), Beta(2, 2))


def _h_peer(n: int) -> Call:
    from hmeasure import h_score

    y, scores, _ = _scores(n)
    return lambda: h_score(y, scores)


def _net_benefit_ours(n: int) -> Call:
    from stakes import ScoreTable
    from stakes.curves import decision_curve

    y, scores, _ = _scores(n)
    grid = np.arange(0, 1, 0.01)

    def call() -> Any:
        curve = decision_curve(ScoreTable.from_scores(y, scores))
        lines = curve.net_benefit, curve.treat_all, curve.treat_none  # as dcurves does
        return [line(grid) for line in lines]

    return call


def _net_benefit_peer(n: int) -> Call:
    import pandas
    from dcurves import dca

    y, scores, _ = _scores(n)
    frame = pandas.DataFrame({"y": y, "model": scores})
    return lambda: dca(data=frame, outcome="y", modelnames=["model"])


def _band_ours(n: int, replicates: int) -> Call:
    from stakes import ScoreTable
    from stakes.inference import bootstrap
    from stakes.measures import net_benefit

    y, scores, _ = _scores(n)
    grid = np.arange(0.01, 1, 0.01)

    def call() -> Any:
        binned = ScoreTable.from_scores(y, scores).binned(grid)  # decisions at its edges are exact
        return bootstrap(
            lambda table: net_benefit(table.counts()[..., 1:-1], grid),
            binned,
            replicates=replicates,
            rng=np.random.default_rng(1),
        ).interval(0.95)

    return call


def _vector_scaling(n: int, size: int) -> Call:
    from stakes.calibration import VectorScaling

    rng = np.random.default_rng(1)
    y = rng.integers(0, size, n)
    logits = rng.normal(size=(n, size))
    logits[np.arange(n), y] += 2.0
    posteriors = np.exp(1.5 * logits)
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    return lambda: VectorScaling().fit(posteriors, y)


def _vector_scaling_row(n: int, size: int, seconds: float) -> Row:
    why = "the goal is in seconds of a faster machine"
    return Row({"stakes": lambda: _vector_scaling(n, size)}, (Goal("seconds", seconds),), why)


def _evaluate(n: int, **options: Any) -> Call:
    from stakes import Problem, evaluate

    y, scores, _ = _scores(n)
    models = {"new": scores, "old": np.sqrt(scores)}
    problem = Problem([[0, 1, 0.3], [5, 0, 0.3]])
    return lambda: evaluate(y, models, problem, **options)


def _evaluate_row(n: int, seconds: float, why: str) -> Row:
    return Row(
        {
            "stakes, calibrator=None": lambda: _evaluate(n, calibrator=None),
            "stakes, default": lambda: _evaluate(n),
        },
        (Goal("seconds", seconds), Goal("slower", 3, "stakes, default")),
        why,
    )


def _fit_ours(name: str, n: int) -> Call:
    from stakes import calibration

    y, scores, _ = _scores(n)
    return lambda: getattr(calibration, name)().fit(scores, y)


def _isotonic_sklearn(n: int) -> Call:
    from sklearn.isotonic import IsotonicRegression

    y, scores, _ = _scores(n)
    return lambda: IsotonicRegression(out_of_bounds="clip").fit(scores, y)


def _logistic_sklearn(n: int, log_odds: bool) -> Call:
    from sklearn.linear_model import LogisticRegression

    y, scores, _ = _scores(n)
    column = (np.log(scores / (1 - scores)) if log_odds else scores)[:, None]
    return lambda: LogisticRegression(C=np.inf).fit(column, y)


def _platt_sklearn(n: int) -> Call:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression

    y, scores, _ = _scores(n)
    column = scores[:, None]
    scorer = FrozenEstimator(LogisticRegression().fit(column[:1000], y[:1000]))
    fit = CalibratedClassifierCV(scorer, method="sigmoid", ensemble=False, cv=2).fit
    return lambda: fit(column, y)


_SHORT = 0.02  # seconds of warm-up, and of quick calls together
_LONG = 20.0  # seconds of repetitions from which on no further one follows


class Reported(float):
    """Seconds that a call has measured itself."""


def _import(statement: str) -> Call:
    """Time a statement in a fresh interpreter, whose modules the one before has compiled."""
    code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
    command = [sys.executable, "-c", code]
    run = partial(subprocess.run, command, check=True, capture_output=True)
    run()
    return lambda: Reported(run().stdout)


def _f1_ours(n: int) -> Call:
    from stakes import Counts
    from stakes.measures import f_beta

    y, decided = _labels(n, 2)
    return lambda: f_beta(Counts.from_labels(y, decided), 1.0)


def _f1_sklearn(n: int) -> Call:
    from sklearn.metrics import f1_score

    y, decided = _labels(n, 2)
    return lambda: f1_score(y, decided)


def _cost_ours(n: int) -> Call:
    from stakes import Problem
    from stakes.metrics import expected_cost

    y, decided = _labels(n, 2)
    problem = Problem.binary(false_alarm=1, miss=5)
    return lambda: expected_cost(y, decided, problem=problem)


def _cost_sklearn(n: int) -> Call:
    from sklearn.metrics import confusion_matrix

    y, decided = _labels(n, 2)
    costs = np.array([[0, 1], [5, 0]])
    return lambda: (confusion_matrix(y, decided) * costs).sum() / len(y)


MANY, SOME = 5_000_000, 1_000_000
ROWS: dict[str, Row] = {
    "table and AUC, 5e6 distinct scores": Row(
        {
            "stakes": lambda: _auc_ours(MANY, False),
            "scikit-learn": lambda: _auc_sklearn(MANY, False),
            "Polars' sort": lambda: _sort_polars(MANY),
            "numpy's sort": lambda: _sort_numpy(MANY),
        },
        (Goal("faster", 14, "scikit-learn"), Goal("within", 1.7, "Polars' sort")),
        "half of it is the sort (where numpy sorts long arrays slowly, a scatter into buckets, "
        "bound by the cache, is two thirds of that); the rest are single passes over 40 MB each: "
        "checks, keys, counts and pairs",
    ),
    "the same, log-odds of both signs": Row(
        {
            "stakes": lambda: _auc_ours(MANY, False, odds=True),
            "scikit-learn": lambda: _auc_sklearn(MANY, False, odds=True),
        },
    ),
    "the same, weighted": Row(
        {
            "stakes": lambda: _auc_ours(MANY, True),
            "scikit-learn": lambda: _auc_sklearn(MANY, True),
        },
        (Goal("faster", 8, "scikit-learn"),),
        "scores and weights travel together, 16 bytes for each case: a third is the scatter into "
        "buckets, a quarter the sorts of short rows, and the rest are passes over 80 MB each",
    ),
    "with ROC, Brier, log loss, threshold, seven losses": Row(
        {
            "stakes": lambda: _many_ours(MANY),
            "scikit-learn, four of these twelve": lambda: _many_sklearn(MANY),
        },
        (Goal("faster", 15, "scikit-learn, four of these twelve"),),
        "almost two fifths of the time is the table, a seventh the hull that the threshold and the "
        "optimal loss share, an eighth the ROC curve, which is 120 MB of new memory, a fifth the "
        "log loss and the Brier score, and the rest single passes; scikit-learn does only AUC, "
        "ROC, Brier score and log loss",
    ),
    "counts, 5e6 integers, 2 labels": _counts_row(
        25, lambda: _labels(MANY, 2), bincount=lambda: _bincount(MANY, 2)
    ),
    "counts, 5e6 integers, 10 labels": _counts_row(
        25, lambda: _labels(MANY, 10), bincount=lambda: _bincount(MANY, 10)
    ),
    "counts, 1e6 text": _counts_row(20, lambda: _text(SOME)),
    "counts, 1e6 objects": _counts_row(40, lambda: _as_objects(SOME)),
    "counts, 1e6 categorical": _counts_row(40, lambda: _as_categories(SOME)),
    "counts, 1e6 Polars strings": _counts_row(
        20,
        lambda: _as_polars(SOME),
        "most of it is Polars' cast of strings to categories",
    ),
    "counts, 1e6 Arrow strings": _counts_row(40, lambda: _as_arrow(SOME)),
    "Bayes decisions, 1e6 x 10 x 11": Row(
        {
            "stakes": lambda: _decisions_ours(SOME),
            "(P @ C).argmin(1)": lambda: _decisions_numpy(SOME),
        },
        (Goal("within", 1, "(P @ C).argmin(1)"),),
        "the same product, with the checks of range and sums, and ties decided beyond rounding",
    ),
    "H, 1e6": Row(
        {"stakes": lambda: _h_ours(SOME), "hmeasure": lambda: _h_peer(SOME)},
        (Goal("faster", 20, "hmeasure"),),
        "the table is three fifths of it, the hull most of the rest",
    ),
    "decision curve, 1e5": Row(
        {
            "stakes": lambda: _net_benefit_ours(100_000),
            "dcurves": lambda: _net_benefit_peer(100_000),
        },
        (Goal("faster", 60, "dcurves"),),
        "up to half of the time the operating system hands out new memory for the table and the "
        "curve, 6 MB together; of the rest, the table is two thirds and the curve one third",
    ),
    "decision curve, 1e5, with a band of 2,000 replicates": Row(
        {
            "stakes": lambda: _band_ours(100_000, 2000),
            "dcurves, no band": lambda: _net_benefit_peer(100_000),
        },
        (Goal("faster", 1, "dcurves, no band"),),
    ),
    "isotonic, 1e6": Row(
        {
            "stakes": lambda: _fit_ours("Isotonic", SOME),
            "scikit-learn": lambda: _isotonic_sklearn(SOME),
        },
        (Goal("faster", 5, "scikit-learn"),),
        "the table is half of it, and SciPy's pooling most of the rest",
    ),
    "affine map, 1e6": Row(
        {
            "stakes": lambda: _fit_ours("Affine", SOME),
            "scikit-learn": lambda: _logistic_sklearn(SOME, True),
        },
    ),
    "logistic map, 1e6": Row(
        {
            "stakes": lambda: _fit_ours("Logistic", SOME),
            "scikit-learn": lambda: _logistic_sklearn(SOME, False),
        },
    ),
    "Platt's map, 1e6": Row(
        {
            "stakes": lambda: _fit_ours("Platt", SOME),
            "scikit-learn": lambda: _platt_sklearn(SOME),
        },
    ),
    "vector scaling, 1e4 x 100": _vector_scaling_row(10_000, 100, 0.25),
    "vector scaling, 1e5 x 10": _vector_scaling_row(100_000, 10, 0.3),
    "vector scaling, 5e4 x 1000": _vector_scaling_row(50_000, 1000, 15),
    "evaluate, two models, 1e3": _evaluate_row(
        1000,
        0.05,
        "a report has since learned what would change the verdict for certain, which takes two "
        "fifths of the time: sixteen rounds of bounds and seven critical values, whose arrays are "
        "so small that the overhead of numpy's calls is most of it; a fifth are 1,000 simulated "
        "samples for miscalibration; with a calibrator, half are 550 fits, because it is chosen "
        "anew in every fold, and a quarter are bounds and critical values",
    ),
    "evaluate, two models, 1e6": _evaluate_row(
        SOME,
        0.45,
        "a third is reading and tallying; the rest are sections that the goal did not have yet: "
        "losses of every way to set thresholds, coverage, joint bins, flips, miscalibration",
    ),
    "import of evaluate": Row(
        {
            "stakes": lambda: _import("from stakes import evaluate"),
            "sklearn.metrics": lambda: _import("import sklearn.metrics"),
            "numpy": lambda: _import("import numpy"),
        },
        (Goal("within", 2.6, "numpy"),),
        "half of what is beyond numpy is the definition of some 220 frozen dataclasses, of which "
        "the methods that refuse assignment and the constructors are a third each",
    ),
    "one F1, n = 100": Row(
        {"stakes": lambda: _f1_ours(100), "scikit-learn": lambda: _f1_sklearn(100)},
        (Goal("faster", 20, "scikit-learn"),),
        "most of it is the checks of two short arrays",
    ),
    "one expected cost, n = 100": Row(
        {"stakes": lambda: _cost_ours(100), "scikit-learn": lambda: _cost_sklearn(100)},
        (Goal("faster", 10, "scikit-learn"),),
        "most of it is the checks of two short arrays",
    ),
}

GROWTH: dict[str, Callable[[int], Call]] = {
    "table and AUC": lambda n: _auc_ours(n, False),
    "table and AUC, weighted": lambda n: _auc_ours(n, True),
    "counts of integers": lambda n: _counts_ours(*_labels(n, 10)),
    "isotonic": lambda n: _fit_ours("Isotonic", n),
    "H": _h_ours,
    "ROC, scores, threshold, seven losses": _many_ours,
    "Bayes decisions": _decisions_ours,
}
SIZES = tuple(10**power for power in range(3, 9))


def timed(call: Call, repetitions: int) -> list[float]:
    """Seconds of single calls after a warm-up; quick calls are repeated within each.

    Calls that take long are repeated less often.
    """
    once = spent = 0.0
    while spent <= _SHORT:
        start = time.process_time()
        if isinstance(call(), Reported):
            return [float(call()) for _ in range(repetitions)]
        once = time.process_time() - start
        spent += once
    inner = max(1, min(1000, int(_SHORT / max(once, 1e-9))))
    seconds: list[float] = []
    while len(seconds) < repetitions and sum(seconds) < _LONG:
        start = time.process_time()
        for _ in range(inner):
            call()
        seconds.append((time.process_time() - start) / inner)
    return seconds


def peak_of(call: Call) -> float | None:
    """The most memory that one call needs beyond what is there before it, in MiB.

    Linux alone can tell: what calls before have freed is given back, and their peak is forgotten.
    """
    status = Path("/proc/self/status")
    try:
        ctypes.CDLL("libc.so.6").malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
        before = status.read_text(encoding="utf-8")
        if isinstance(call(), Reported):  # the work is done in another process
            return None
        after = status.read_text(encoding="utf-8")
    except (OSError, AttributeError):
        return None
    now, peak = (
        re.search(rf"{name}:\s*(\d+) kB", text)
        for name, text in (("VmRSS", before), ("VmHWM", after))
    )
    return (int(peak[1]) - int(now[1])) / 1024 if now and peak else None


def main(row: str, name: str, repetitions: int) -> None:
    """Print what `run.py` reads."""
    call = GROWTH[row](int(name)) if row in GROWTH else ROWS[row].contenders[name]()
    seconds = timed(call, repetitions)
    print(json.dumps({"seconds": seconds, "peak_mib": peak_of(call)}))


if __name__ == "__main__":
    if len(sys.argv) == 1:
        rows = {
            row: {"contenders": list(entry.contenders), "goals": entry.goals, "why": entry.why}
            for row, entry in ROWS.items()
        }
        print(json.dumps({"rows": rows, "growth": list(GROWTH), "sizes": SIZES}))
    else:
        main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
