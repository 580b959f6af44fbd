"""Call every public function with garbage: it answers with a value or with an `InputError`.

``python tests/fuzz.py [CALLS] [SEED]`` (``make fuzz``) takes every public callable of the core,
makes a call that works out of the names and the types of its parameters, and then puts strange
values in the place of one argument, or of two. Anything else than a value or an `InputError` is a
leak: another exception, a warning, a changed argument, more than five seconds. Callables for which
no call is known are listed, so that none is forgotten.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import signal
import sys
import typing
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import stakes
from stakes import (
    Counts,
    InputError,
    JointCounts,
    LossMoments,
    Problem,
    ScoreTable,
    calibration,
    conditions,
    inference,
    scoring,
    thresholds,
)
from stakes.tally import JointScores

ROOMS = (
    *("tally", "decide", "measures", "agreement", "ranking", "scoring", "conditions"),
    *("thresholds", "curves", "calibration", "inference", "regions", "audit", "simulate"),
    *("metrics", "rows", "problem"),
)

# What a call is made of ---------------------------------------------------------------------------

N = 24
RNG = np.random.default_rng(0)
Y = np.arange(N) % 2
SCORES = np.round(np.clip(0.3 + 0.3 * Y + RNG.normal(0, 0.2, N), 0.02, 0.98), 2)
POSTERIORS = np.stack([1 - SCORES, SCORES], axis=1)
DECIDED = (SCORES > 0.5).astype(int)
PROBLEM = Problem([[0, 1], [4, 0]], prior=[0.7, 0.3])


def by_type() -> dict[Any, Callable[[], Any]]:
    """A value of each type that parameters are annotated with."""
    return {
        Problem: lambda: PROBLEM,
        Counts: lambda: Counts.from_decisions(Y, DECIDED, PROBLEM),
        JointCounts: lambda: JointCounts.from_decisions(Y, {"a": DECIDED, "b": 1 - Y}, PROBLEM),
        ScoreTable: lambda: ScoreTable.from_scores(Y, SCORES),
        JointScores: lambda: JointScores.from_scores(Y, {"a": SCORES, "b": SCORES[::-1]}),
        LossMoments: lambda: LossMoments.from_losses(Y, {"a": SCORES, "b": 1 - SCORES}),
        np.random.Generator: lambda: np.random.default_rng(1),
        scoring.ScoringRule: scoring.Brier,
        scoring.Bins: lambda: scoring.EqualWidth(5),
        conditions.Distribution: conditions.Uniform,
        thresholds.Method: thresholds.ScoreDriven,
        calibration.Calibrator: calibration.Affine,
        inference.Estimate: lambda: inference.Estimate(
            0.3, 0.1, np.empty(0), inference.Normal(), "delta method"
        ),
        inference.Comparison: lambda: inference.delta_compare_costs(
            JointCounts.from_decisions(Y, {"a": DECIDED, "b": 1 - Y}, PROBLEM), PROBLEM
        ),
        bool: lambda: False,
        str: lambda: "a",
        int: lambda: 3,
        float: lambda: 0.5,
    }


BY_NAME: dict[str, Any] = {
    "y_true": Y,
    "y": Y,
    "scores": SCORES,
    "y_score": SCORES,
    "posteriors": POSTERIORS,
    "y_proba": POSTERIORS,
    "probabilities": POSTERIORS,
    "y_pred": DECIDED,
    "decisions": DECIDED,
    "costs": [[0, 1], [4, 0]],
    "classes": [0, 1],
    "prior": [0.6, 0.4],
    "from_prior": [0.5, 0.5],
    "to_prior": [0.6, 0.4],
    "prevalence": 0.3,
    "level": 0.9,
    "replicates": 20,
    "thresholds": [0.2, 0.5],
    "threshold": 0.5,
    "names": ("a", "b"),
    "weights": None,
    "losses": {"a": SCORES},
    "models": {"a": POSTERIORS, "b": POSTERIORS[::-1]},
    "cost_proportion": 0.3,
    "net_benefit": 0.1,
    "n_cases": 100,
    "folds": 3,
}

# What is put in its place -------------------------------------------------------------------------


class Strange:
    """Something that no function expects."""


def zoo() -> dict[str, Any]:
    """Values that have broken functions before."""
    nan = float("nan")
    values: dict[str, Any] = {
        "None": None,
        "object": Strange(),
        "class": Strange,
        "function": len,
        "text": "x",
        "empty text": "",
        "bytes": b"x",
        "nan": nan,
        "inf": float("inf"),
        "-1": -1,
        "0": 0,
        "1e308": 1e308,
        "5e-324": 5e-324,
        "2**70": 2**70,
        "True": True,
        "1+2j": 1 + 2j,
        "[]": [],
        "[[]]": [[]],
        "ragged": [[1], [2, 3]],
        "nested None": [None, 1],
        "set": {1, 2},
        "dict": {"a": 1},
        "empty dict": {},
        "generator": (k for k in range(3)),
        "0-d": np.array(0.5),
        "0-d text": np.array("a"),
        "3-d": np.zeros((2, 2, 2)),
        "empty": np.empty(0),
        "zero columns": np.empty((3, 0)),
        "nan array": np.full(N, nan),
        "inf array": np.full(N, np.inf),
        "object array": np.array([Strange()] * N),
        "text array": np.array(["a", "b"] * (N // 2)),
        "complex array": np.zeros(N, complex),
        "bool array": np.zeros(N, bool),
        "int8 array": np.zeros(N, np.int8),
        "dates": np.arange("2020-01", "2022-01", dtype="datetime64[M]"),
        "masked": np.ma.masked_array(np.arange(N), mask=np.arange(N) == 3),
        "huge": np.full(N, 1e308),
        "one": np.ones(1),
        "short": np.zeros(N - 1),
        "negative": -np.ones(N),
        "lone surrogate": ["\ud800", "b"] * (N // 2),
        "Problem": Problem.zero_one(3),
        "Counts": Counts(np.zeros((3, 2))),
        "ScoreTable": ScoreTable.from_scores([0, 1, 1], [1, 2, 2]),
    }
    return values


_LONG = 5  # seconds that a call may take

# The calls ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A callable and arguments with which it works."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    positional: tuple[str, ...]

    def run(self, changed: dict[str, Any]) -> Any:
        given = {**self.arguments, **changed}
        first = [given.pop(name) for name in self.positional]
        return self.function(*first, **given)


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function, and every class that people make by hand, once."""
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(f"stakes.{room}")
        for name in module.__all__:
            found = getattr(module, name)
            if id(found) in seen or not callable(found):
                continue
            seen.add(id(found))
            if inspect.isfunction(found):
                yield f"{room}.{name}", found
            elif inspect.isclass(found) and not inspect.isabstract(found):
                if "__init__" in vars(found) and not hasattr(found, "__dataclass_params__"):
                    yield f"{room}.{name}", found
                for part, value in vars(found).items():
                    if isinstance(value, classmethod) and not part.startswith("_"):
                        yield f"{room}.{name}.{part}", getattr(found, part)


def call_of(name: str, function: Callable[..., Any]) -> Call | None:
    """A call that works, or None."""
    types = by_type()
    hints = _hints(function)
    given, positional = {}, []
    for one in inspect.signature(function).parameters.values():
        if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL):
            continue
        if one.kind is one.POSITIONAL_ONLY:
            positional.append(one.name)
        if one.default is not one.empty:
            given[one.name] = one.default
            continue
        hint = hints.get(one.name)
        options = [part for part in (hint, *typing.get_args(hint)) if isinstance(part, type)]
        known = next((types[part] for part in options if part in types), None)
        special = hint in (bool, str, int, float, None) or known is None
        if special and one.name in BY_NAME:
            given[one.name] = BY_NAME[one.name]
        elif known is not None:
            given[one.name] = known()
        else:
            return None
    made = Call(name, function, given, tuple(positional))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made.run({})
    except Exception:  # whatever it is, this call does not work
        return None
    return made


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target = function.__init__ if inspect.isclass(function) else function
    try:
        return typing.get_type_hints(inspect.unwrap(target))
    except (NameError, TypeError):
        return {}


class _TooLong(BaseException):
    """A call that would go on for long."""


def _too_long(number: int, frame: object) -> None:
    raise _TooLong


def fault(call: Call, changed: dict[str, Any]) -> str | None:
    """What is wrong with how a call answers, if anything is."""
    before = copy.deepcopy({k: v for k, v in call.arguments.items() if isinstance(v, np.ndarray)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signal.setitimer(signal.ITIMER_REAL, _LONG)
        try:
            call.run(changed)
        except _TooLong:
            return f"takes more than {_LONG} s"
        except InputError as error:
            text = str(error)
            if not text.rstrip().endswith((".", "…", "?")) or "\n\n" in text:
                return "message without an end"
        except RecursionError:
            return "RecursionError"
        except MemoryError:
            return "MemoryError"
        except Warning as error:
            return f"warning {type(error).__name__}: {str(error)[:60]}"
        except Exception as error:  # this is what is looked for
            return f"{type(error).__name__}: {str(error)[:60]}"
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    for name, value in before.items():
        if name not in changed and not np.array_equal(value, call.arguments[name]):
            return f"argument {name} was changed"
    return None


def main(most: int, seed: int) -> int:
    """Run the calls, and list the leaks by function and argument."""
    signal.signal(signal.SIGALRM, _too_long)
    rng = np.random.default_rng(seed)
    calls, unknown = [], []
    for name, function in public():
        made = call_of(name, function)
        if made is None:
            unknown.append(name)
        else:
            calls.append(made)
    leaks: Counter[str] = Counter()
    shown: dict[str, str] = {}
    count = 0
    for call in calls:
        for argument in call.arguments:
            for label, value in zoo().items():
                count += 1
                found = fault(call, {argument: value})
                if found:
                    leaks[f"{call.name}({argument})"] += 1
                    shown.setdefault(f"{call.name}({argument})", f"{label}: {found}")
        print(call.name, count, sum(leaks.values()), file=sys.stderr, flush=True)
    keys = list(zoo())
    while count < most and calls:
        call = calls[rng.integers(len(calls))]
        if not call.arguments:
            continue
        chosen = rng.choice(list(call.arguments), min(2, len(call.arguments)), replace=False)
        picks = {str(one): keys[rng.integers(len(keys))] for one in chosen}
        values = zoo()
        count += 1
        found = fault(call, {one: values[label] for one, label in picks.items()})
        if found:
            where = f"{call.name}({', '.join(picks)})"
            leaks[where] += 1
            shown.setdefault(where, f"{', '.join(picks.values())}: {found}")
    for where, times in sorted(leaks.items()):
        print(f"{times:5}  {where}  {shown[where]}")
    print(f"{len(unknown)} callables without a known call: {', '.join(sorted(unknown))}")
    total = sum(leaks.values())
    print(f"{len(calls)} callables, {count:,} calls, {total:,} leaks (stakes {stakes.__version__})")
    return 1 if leaks else 0


if __name__ == "__main__":
    given = [int(float(one)) for one in sys.argv[1:]] + [0, 0][len(sys.argv) - 1 :]
    sys.exit(main(given[0] if len(sys.argv) > 1 else 200_000, given[1]))
