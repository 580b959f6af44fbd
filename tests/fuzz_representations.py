"""Equal rows in other containers: row-level functions give equal answers and change nothing.

Each function is called with plain arrays, and then with one argument after another as a list, a
tuple, other dtypes, a read-only, strided or Fortran-ordered array, and series of pandas and Polars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from fuzz_recipes import DECIDED, POSTERIORS, PROBLEM, SCORES, Y
from stakes import Counts, ScoreTable, calibration, decide, metrics, scoring

WEIGHTS = np.arange(1, Y.size + 1) % 4 + 1.0

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "metrics.expected_cost": (
        lambda y, d, w: metrics.expected_cost(y, d, problem=PROBLEM, sample_weight=w),
        {"y": Y, "d": DECIDED, "w": WEIGHTS},
    ),
    "metrics.bayes_cost": (
        lambda y, p, w: metrics.bayes_cost(y, p, problem=PROBLEM, sample_weight=w),
        {"y": Y, "p": POSTERIORS, "w": WEIGHTS},
    ),
    "decide.bayes_decisions": (lambda p: decide.bayes_decisions(p, PROBLEM), {"p": POSTERIORS}),
    "decide.expected_costs": (lambda p: decide.expected_costs(p, PROBLEM), {"p": POSTERIORS}),
    "scoring.mean_score": (
        lambda y, p, w: scoring.mean_score(y, p, scoring.LogLoss(), weights=w),
        {"y": Y, "p": POSTERIORS, "w": WEIGHTS},
    ),
    "scoring.case_scores": (
        lambda y, p: scoring.case_scores(y, p, scoring.Brier()),
        {"y": Y, "p": SCORES},
    ),
    "Counts.from_labels": (
        lambda y, d, w: Counts.from_labels(y, d, weights=w).values,
        {"y": Y, "d": DECIDED, "w": WEIGHTS},
    ),
    "ScoreTable.from_scores": (
        lambda y, s, w: ScoreTable.from_scores(y, s, weights=w).weights,
        {"y": Y, "s": SCORES, "w": WEIGHTS},
    ),
    **{
        f"{kind.__name__}.fit": (
            lambda y, s, w, kind=kind: kind().fit(s, y, weights=w)(SCORES),
            {"y": Y, "s": SCORES, "w": WEIGHTS},
        )
        for kind in (calibration.Affine, calibration.Isotonic, calibration.BetaMap)
    },
}


def equals(array: Any) -> Iterator[tuple[str, Any]]:
    """The same numbers in other containers."""
    yield "list", array.tolist()
    yield "tuple", tuple(map(tuple, array.tolist())) if array.ndim == 2 else tuple(array.tolist())
    yield "object", array.astype(object)
    fixed = array.copy()
    fixed.setflags(write=False)
    yield "read-only", fixed
    yield "strided", np.repeat(array, 2, axis=0)[::2]
    yield "Fortran", np.asfortranarray(array)
    if array.dtype.kind == "i":
        yield from ((kind, array.astype(kind)) for kind in ("int8", "uint64", "float32", "bool"))
    elif (array == array.astype(np.int64)).all():
        yield from ((kind, array.astype(kind)) for kind in ("int16", "uint8", "float32"))
    if array.ndim == 1:
        yield from _series(array)


def _series(array: Any) -> Iterator[tuple[str, Any]]:
    try:
        import pandas as pd
        import polars as pl
    except ImportError:
        return
    yield "pandas", pd.Series(array)
    yield "polars", pl.Series("a", array)
    yield "nullable", pd.Series(array).convert_dtypes()


def differences() -> tuple[int, list[str]]:
    """How many calls were made, and which of them gave something else."""
    calls, different = 0, []
    for name, (function, arguments) in FUNCTIONS.items():
        expected = np.asarray(function(**arguments))
        for argument, array in arguments.items():
            for kind, value in equals(array):
                calls += 1
                before = array.copy()
                try:
                    answer = np.asarray(function(**{**arguments, argument: value}))
                except Exception as error:  # this is what is looked for
                    what = f"{type(error).__name__}: {error}"
                    different.append(f"{name}({argument} as {kind}): {what}")
                    continue
                if not (answer == expected).all() or answer.shape != expected.shape:
                    different.append(f"{name}({argument} as {kind}) gives something else")
                if not np.array_equal(before, array):
                    different.append(f"{name}({argument} as {kind}) changes its argument")
    return calls, different
