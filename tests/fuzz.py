"""Call every public function with garbage: it answers with a value or with an `InputError`.

``python tests/fuzz.py [CALLS] [SEED] [SECONDS] [ROOM …]`` (``make fuzz``) takes every public
function, constructor and method, of all rooms or of these, makes a call that works (see
``fuzz_recipes``, ``fuzz_guests`` and ``fuzz_tensors``), and then puts strange values in the place
of each argument, and, as long as there is time, of random pairs of arguments. A leak is anything
else than a value or an `InputError` that names a changed argument and has a remedy: another
exception, a warning, a changed argument, more than five seconds. Row-level functions also get equal
rows in other representations (lists, tuples, dtypes, frames, read-only and strided arrays) and must
give equal answers; callables that take functions get strange ones (see ``fuzz_functions``), and
those that take arrays which another room has checked get them in other shapes (``fuzz_shapes``).
"""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from math import inf
from typing import Any

import numpy as np

import stakes
from fuzz_calls import WHY, Call, all_calls, left_out
from fuzz_functions import strange_functions
from fuzz_guests import THEIRS
from fuzz_recipes import N
from fuzz_representations import differences
from fuzz_shapes import handed_calls, shape_leaks
from fuzz_tensors import strange_tensors
from stakes import Counts, InputError, Problem, ScoreTable

# What is put in the place of an argument ----------------------------------------------------------


class Strange:
    """Something that no function expects."""


def zoo() -> dict[str, Any]:
    """Values that have broken functions before."""
    nan = float("nan")
    return {
        "None": None,
        "object": Strange(),
        "class": Strange,
        "function": len,
        "text": "x",
        "empty text": "",
        "half a character": "p\ud800",
        "bytes": b"x",
        "nan": nan,
        "inf": float("inf"),
        "-1": -1,
        "0": 0,
        "0.5": 0.5,
        "1e308": 1e308,
        "1e155": 1e155,
        "5e-324": 5e-324,
        "2**70": 2**70,
        "10**400": 10**400,
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
        "large": np.full(N, 1e155),
        "tiny": np.full(N, 5e-324),
        "one": np.ones(1),
        "short": np.zeros(N - 1),
        "long": np.full(2 * N, 0.5),
        "row": np.full((1, N), 0.5),
        "column": np.full((N, 1), 0.5),
        "wide": np.full((N, 3), 1 / 3),
        "two by two": np.full((2, 2), 0.5),
        "negative": -np.ones(N),
        "lone surrogate": ["\ud800", "b"] * (N // 2),
        "Problem": Problem.zero_one(3),
        "Counts": Counts(np.zeros((3, 2))),
        "ScoreTable": ScoreTable.from_scores([0, 1, 1], [1, 2, 2]),
        **_frames(),
        **strange_tensors(),
    }


def _frames() -> dict[str, Any]:
    """Frames, where their libraries are installed."""
    try:
        import pandas as pd
        import polars as pl
    except ImportError:
        return {}
    columns = {"a": [0.1, 0.2, None], "b": [1, 0, 1]}
    return {
        "pandas frame": pd.DataFrame(columns),
        "polars frame": pl.DataFrame(columns),
        "lazy frame": pl.LazyFrame(columns),
        "series with NA": pd.Series([1, None] * (N // 2), dtype="Int64"),
    }


_LONG = 5  # seconds of the processor that a call may take
_OFTEN = 10  # seconds after which the run says how far it is

# What is wrong with an answer ---------------------------------------------------------------------


class _TooLong(BaseException):
    """A call that would go on for long."""


def _too_long(number: int, frame: object) -> None:
    raise _TooLong


def fault(call: Call, changed: dict[str, Any]) -> str | None:
    """What is wrong with how a call answers, if anything is."""
    used = {**call.arguments, **changed}
    before = {name: _content(value) for name, value in used.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signal.setitimer(signal.ITIMER_VIRTUAL, _LONG)
        try:
            call.run(changed)
        except _TooLong:
            return f"takes more than {_LONG} s"
        except InputError as error:
            return _bad_message(error, call, changed)
        except OSError:
            return None if "path" in changed else "OSError"  # no such file, a file name too long
        except Warning as error:
            if type(error).__name__ == "DataConversionWarning":
                return None  # scikit-learn requires it of estimators that take labels in a column
            return f"warning {type(error).__name__}: {str(error)[:60]}"
        except Exception as error:  # this is what is looked for
            return f"{type(error).__name__}: {str(error)[:60]}"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    for name, content in before.items():
        if _content(used[name]) != content:
            return f"argument {name} was changed"
    return None


def _content(value: Any) -> object:
    """What an array or a tensor holds, and whether it may be written to; None of anything else."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value.tobytes(), value.flags.writeable
    if type(value).__name__ == "Tensor" and value.device.type == "cpu" and not value.is_sparse:
        return repr(value.detach().tolist()), value.requires_grad
    return None


def _bad_message(error: InputError, call: Call, changed: dict[str, Any]) -> str | None:
    """Messages name the argument that was changed, or the path that it is, and have a remedy."""
    text = str(error)
    if not text.rstrip().endswith((".", "…", "?")) or "\n\n" in text:
        return f"message without an end: {text[-60:]!r}"
    if len(re.findall(r"[.…?]['\")]?(?= |$)", text)) < 2:
        return f"message without a remedy: {text[-60:]!r}"
    if "__" in call.name or _named(error) & _may_be_named(call, changed):
        return None  # operands of + have no names
    parts = (part if type(part) is list else [part] for part in changed.values())
    if any(isinstance(value, str) and text.startswith(f"{value} ") for p in parts for value in p):
        return None
    return f"blames {error.argument}: {text[:70]!r}"


def _named(error: InputError) -> set[str]:
    """The words of its argument (``models['a']``, ``the columns of by``), or of several."""
    return set(re.findall(r"\w+", f"{error.argument} {str(error).partition(' must ')[0]}"))


def _may_be_named(call: Call, changed: dict[str, Any]) -> set[str]:
    """What was changed; or any argument, where a changed one is fine by itself.

    Such a value disagrees with other arguments, and a message may begin with either.
    """
    labels = {"positive", "decision", "label", "frame"}  # text or numbers; a frame may be a file
    fine = any(
        _alike(value, call.arguments[name]) or (name in labels and isinstance(value, str | int))
        for name, value in changed.items()
    )
    return set(call.arguments) if fine else set(changed)


def _alike(value: object, works: object) -> bool:
    """Whether a value is of the kind of one that works."""
    kind, known = _kind(value), _kind(works)
    return kind != "function" and (
        kind == known
        or kind == {"number": "list"}.get(known)
        or (works is None and kind in ("text", "number", "list"))
    )


def _kind(value: object) -> str:
    if isinstance(value, int | float | np.number) or getattr(value, "shape", None) == ():
        return "number"
    if isinstance(value, str):
        return "text"
    if inspect.isroutine(value):
        return "function"
    is_list = isinstance(value, Iterable) and not isinstance(value, bytes | Counts | ScoreTable)
    return "list" if is_list or "Frame" in type(value).__name__ else type(value).__name__


# The run ------------------------------------------------------------------------------------------


class Leaks:
    """Calls that were made, what they leaked, and whether there is time for more."""

    def __init__(self, seconds: float = inf) -> None:
        self.calls = 0
        self._start = self._said = time.monotonic()
        self._end = self._start + seconds
        self.times: Counter[str] = Counter()
        self.first: dict[str, str] = {}

    def add(self, call: Call, labels: dict[str, str], values: dict[str, Any]) -> None:
        """Make one call."""
        self.calls += 1
        leak = fault(call, {name: values[label] for name, label in labels.items()})
        if leak:
            where = f"{call.name}({', '.join(labels)})"
            self.times[where] += 1
            self.first.setdefault(where, f"{', '.join(labels.values())}: {leak}")

    def late(self) -> bool:
        """Whether the time is up; now and then it says how far the run is."""
        now = time.monotonic()
        if now > self._said + _OFTEN:
            self._said, total = now, sum(self.times.values())
            progress = f"{now - self._start:.0f} s: {self.calls:,} calls, {total:,} leaks"
            print(progress, file=sys.stderr, flush=True)
        return now > self._end

    def __str__(self) -> str:
        return "\n".join(
            f"{times:5}  {where}  {self.first[where]}"
            for where, times in sorted(self.times.items())
        )


def one_at_a_time(calls: list[Call], leaks: Leaks, step: int = 1) -> int:
    """Every strange value in the place of every argument, or every so many of them.

    Returns the number of callables for which there was time.
    """
    for tried, call in enumerate(calls):
        for place, argument in enumerate(call.arguments):
            if leaks.late():
                return tried
            values = zoo()
            for label in list(values)[place % step :: step]:
                if not _is_theirs(call, argument, label):
                    leaks.add(call, {argument: label}, values)
    return len(calls)


def _is_theirs(call: Call, argument: str, label: str) -> bool:
    """Whether a function of the caller is called, whose mistakes are the caller's."""
    if argument in THEIRS and THEIRS[argument] in (None, label):
        return True
    parameter = inspect.signature(call.function).parameters.get(argument)
    hint = "" if parameter is None else str(parameter.annotation)
    takes = callable(call.arguments[argument]) or "Callable" in hint or "Sampler" in hint
    return label in ("class", "function") and takes


def pairs(calls: list[Call], leaks: Leaks, most: int, seed: int) -> None:
    """Two arguments changed at random, until there are enough calls or the time is up."""
    rng = np.random.default_rng(seed)
    values = zoo()
    keys = list(values)
    some = [call for call in calls if len(call.arguments) > 1]
    while leaks.calls < most and some and not leaks.late():
        call = some[rng.integers(len(some))]
        chosen = rng.choice(list(call.arguments), 2, replace=False)
        labels = {str(name): keys[rng.integers(len(keys))] for name in chosen}
        if not any(_is_theirs(call, name, label) for name, label in labels.items()):
            leaks.add(call, labels, {**values, "generator": (k for k in range(3))})


def main(chosen: list[str], most: int, seed: int, seconds: int) -> int:
    """Run the calls, and list the leaks by function and argument."""
    signal.signal(signal.SIGVTALRM, _too_long)
    leaks = Leaks(seconds)
    calls, inside, unknown = all_calls(chosen)
    asked, nonsense = strange_functions(calls, fault, late=leaks.late)
    compared, differing = (0, []) if chosen else differences()
    handed, not_shown = handed_calls(chosen)
    shaped, odd = shape_leaks(handed, fault)
    tried = one_at_a_time(calls, leaks)
    single = leaks.calls
    pairs(calls, leaks, most, seed)
    print(leaks)
    print("\n".join([*nonsense, *differing, *odd]))
    print(f"{asked:,} calls with strange functions, {len(nonsense)} leaks")
    print(f"{compared} calls with equal rows in other containers, {len(differing)} differences")
    print(
        f"{shaped:,} calls of {len(handed)} callables with arrays of other shapes, {len(odd)} leaks"
    )
    print(f"{len(inside)} callables are not for users")
    for room, why in left_out().items():
        print(f"stakes.{room} is left out: {why}")
    unknown += not_shown
    for name in unknown:
        print(f"no call is known for {name}: {WHY.get(name, 'an argument without a recipe')}")
    if tried < len(calls):
        print(f"the time was up: {len(calls) - tried} callables were not called")
    total = sum(leaks.times.values())
    print(
        f"{len(calls)} callables, {leaks.calls:,} calls ({leaks.calls - single:,} with two "
        f"strange arguments), {total:,} leaks, {len(unknown)} callables "
        f"without a call (stakes {stakes.__version__}, seed {seed})"
    )
    return 1 if total or unknown or nonsense or differing or odd else 0


if __name__ == "__main__":
    numbers = [int(float(number)) for number in sys.argv[1:4]]
    with tempfile.TemporaryDirectory(prefix="stakes-fuzz-") as folder:
        os.chdir(folder)  # some of the calls write files
        code = main(sys.argv[4:], *(numbers + [200_000, 0, 3600][len(numbers) :]))
        os.chdir("/")
    sys.exit(code)
