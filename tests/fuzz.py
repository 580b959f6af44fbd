"""Call every public function with garbage: it answers with a value or with an `InputError`.

``python tests/fuzz.py [CALLS] [SEED] [SECONDS]`` (``make fuzz``) takes every public function,
constructor and method of the core, makes a call that works (see ``fuzz_recipes``), and then puts
strange values in the place of each argument, and, as long as there is time, of random pairs of
arguments. A leak is anything else than a value or an `InputError` that names an argument and has a
remedy: another exception, a warning, a changed argument, more than five seconds. Row-level
functions also get equal rows in other representations (lists, tuples, dtypes, frames, read-only and
strided arrays) and must give equal answers.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import os
import re
import signal
import sys
import tempfile
import time
import types
import typing
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from math import inf
from typing import Any

import numpy as np

import stakes
from fuzz_recipes import BY_NAME, BY_TYPE, CHECKS_ITSELF, NOT_FOR_USERS, N, report, special
from fuzz_representations import differences
from stakes import Counts, InputError, Problem, ScoreTable

ROOMS = (
    *("tally", "decide", "measures", "agreement", "curve", "limits", "ranking", "scoring"),
    *("conditions", "thresholds", "curves", "calibration", "rule", "inference", "regions"),
    *("audit", "simulate", "metrics", "rows", "problem", "report"),
)

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
        "negative": -np.ones(N),
        "lone surrogate": ["\ud800", "b"] * (N // 2),
        "Problem": Problem.zero_one(3),
        "Counts": Counts(np.zeros((3, 2))),
        "ScoreTable": ScoreTable.from_scores([0, 1, 1], [1, 2, 2]),
        **_frames(),
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

# The calls ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Call:
    """A callable and arguments with which it works."""

    name: str
    function: Callable[..., Any]
    arguments: dict[str, Any]
    positional: tuple[str, ...]

    def run(self, changed: dict[str, Any]) -> Any:
        """Call with some arguments changed."""
        arguments = {**self.arguments, **changed}
        first = [arguments.pop(name) for name in self.positional]
        return self.function(*first, **arguments)


_METHODS = ("__call__", "__getitem__", "__add__", "__sub__", "__mul__")
_CHECKED = re.compile(r"(FloatArray|IntArray|BoolArray|npt\.NDArray\[(Any|np\.integer)|Labels)\b")


def public_classes() -> Iterator[tuple[str, type]]:
    """Every public class of the core that can have instances, once."""
    for room, name, kind in _exported():
        if inspect.isclass(kind) and not issubclass(kind, dict) and not _is_protocol(kind):
            yield f"{room}.{name}", kind


def _exported() -> Iterator[tuple[str, str, Any]]:
    yield "evaluation", "evaluate", stakes.evaluate  # the rest of its room serves other rooms
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(f"stakes.{room}")
        for name in module.__all__:
            thing = getattr(module, name)
            home = getattr(thing, "__module__", "")
            if callable(thing) and id(thing) not in seen and home.startswith(f"stakes.{room}"):
                seen.add(id(thing))
                yield room, name, thing


def _is_protocol(kind: type) -> bool:
    return bool(getattr(kind, "_is_protocol", False)) or hasattr(kind, "_fields")


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every function, every class that people make by hand, and every class method."""
    for room, name, thing in _exported():
        if inspect.isfunction(thing):
            yield f"{room}.{name}", thing
    for name, kind in public_classes():
        if not inspect.isabstract(kind) and (name in special() or _made_by_hand(kind)):
            yield name, kind
        for part, value in vars(kind).items():
            if isinstance(value, classmethod | staticmethod) and not part.startswith("_"):
                yield f"{name}.{part}", getattr(kind, part)


def _made_by_hand(kind: type) -> bool:
    """Whether the constructor checks something; results, which functions make, do not."""
    parameters = getattr(kind, "__dataclass_params__", None)
    by_hand = parameters is None or not parameters.init
    return (by_hand and "__init__" in vars(kind)) or hasattr(kind, "__post_init__")


def methods(instances: dict[type, Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public method that takes arguments, of an instance of each public class."""
    for name, kind in public_classes():
        if kind not in instances:
            continue
        for part, value in inspect.getmembers(kind, inspect.isfunction):
            instance = special().get(f"{name}.{part}", {}).get("self", instances[kind])
            bound = getattr(instance, part)
            public = part in _METHODS or not part.startswith("_")
            static = isinstance(inspect.getattr_static(kind, part), staticmethod)
            ours = value.__module__.startswith("stakes.")
            if public and ours and not static and inspect.signature(bound).parameters:
                yield f"{name}.{part}", bound


def reason(name: str, function: Callable[..., Any]) -> str | None:
    """Why a callable is not for users, if so."""
    for key in (name, f"*.{name.rpartition('.')[2]}"):
        if key in NOT_FOR_USERS:
            return NOT_FOR_USERS[key]
    for parameter in inspect.signature(function).parameters.values():
        if name in CHECKS_ITSELF:
            return None
        if parameter.default is parameter.empty and _CHECKED.match(str(parameter.annotation)):
            return "takes arrays or labels that another room has checked"
    return None


def call_of(name: str, function: Callable[..., Any]) -> Call | None:
    """A call that works, or None."""
    hints, chosen = _hints(function), special().get(name, {})
    arguments, positional = {}, []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY or parameter.name == "self":
            positional.append(parameter.name)
        if parameter.name in chosen:
            arguments[parameter.name] = chosen[parameter.name]
        elif parameter.default is not parameter.empty:
            arguments[parameter.name] = parameter.default
        else:
            value = _value(parameter.name, hints.get(parameter.name))
            if value is _UNKNOWN:
                return None
            arguments[parameter.name] = value
    call = Call(name, function, arguments, tuple(positional))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call.run({})
    except Exception as error:  # whatever it is, this call does not work
        _WHY[name] = f"{type(error).__name__}: {error}"
        return None
    return call


_UNKNOWN = object()
_WHY: dict[str, str] = {}


def _value(name: str, hint: Any) -> Any:
    """A value for a parameter: by a type of the library, by its name, or by a plain type."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    parts = typing.get_args(hint) if union else (hint,)
    options = [part for part in parts if isinstance(part, type)]
    known = {part: BY_TYPE[part] for part in options if part in BY_TYPE}
    ours = [make for part, make in known.items() if part not in (bool, str, int, float)]
    if name in BY_NAME and not ours:
        return BY_NAME[name]
    return next(iter(ours or known.values()))() if known else _UNKNOWN


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    target = function.__init__ if inspect.isclass(function) else function
    try:
        return typing.get_type_hints(inspect.unwrap(getattr(target, "__func__", target)))
    except (NameError, TypeError):
        return {}


def harvest(calls: list[Call]) -> dict[type, Any]:
    """An instance of each public class: what calls return, and what these hold."""
    instances: dict[type, Any] = {}
    wanted = {kind for _, kind in public_classes()}

    def keep(value: Any) -> None:
        kind = type(value)
        if kind in instances or kind.__module__.partition(".")[0] != "stakes":
            return
        if kind in wanted:
            instances[kind] = value
        for field in fields(value) if is_dataclass(value) else ():
            part = getattr(value, field.name)
            for item in part if isinstance(part, tuple) else (part,):
                keep(item)

    for make in BY_TYPE.values():
        keep(make())
    keep(report())
    for kind in wanted:
        try:
            keep(kind())
        except Exception:  # it needs arguments
            continue
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            keep(call.run({}))
    return instances


def all_calls() -> tuple[list[Call], dict[str, str], list[str]]:
    """The calls, what is not for users and why, and what no call is known for."""
    inside: dict[str, str] = {}
    unknown: list[str] = []

    def calls_of(named: Iterator[tuple[str, Callable[..., Any]]]) -> list[Call]:
        calls = []
        for name, function in named:
            why = reason(name, function)
            if why is not None:
                inside[name] = why
                continue
            call = call_of(name, function)
            unknown.append(name) if call is None else calls.append(call)
        return calls

    calls = calls_of(public())
    return [*calls, *calls_of(methods(harvest(calls)))], inside, unknown


# What is wrong with an answer ---------------------------------------------------------------------


class _TooLong(BaseException):
    """A call that would go on for long."""


def _too_long(number: int, frame: object) -> None:
    raise _TooLong


def fault(call: Call, changed: dict[str, Any]) -> str | None:
    """What is wrong with how a call answers, if anything is."""
    used = {**call.arguments, **changed}
    before = copy.deepcopy({k: v for k, v in used.items() if _has_bytes(v)})
    writable = {name: used[name].flags.writeable for name in before}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        signal.setitimer(signal.ITIMER_VIRTUAL, _LONG)
        try:
            call.run(changed)
        except _TooLong:
            return f"takes more than {_LONG} s"
        except InputError as error:
            return _bad_message(str(error), call, changed)
        except OSError:
            return None if "path" in changed else "OSError"  # no such file, a file name too long
        except Warning as error:
            return f"warning {type(error).__name__}: {str(error)[:60]}"
        except Exception as error:  # this is what is looked for
            return f"{type(error).__name__}: {str(error)[:60]}"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    for name, value in before.items():
        if value.tobytes() != used[name].tobytes() or used[name].flags.writeable != writable[name]:
            return f"argument {name} was changed"
    return None


def _has_bytes(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind != "O"


def _bad_message(text: str, call: Call, changed: dict[str, Any]) -> str | None:
    """Messages name an argument of the call, or the path that it is, and end with a remedy."""
    if not text.rstrip().endswith((".", "…", "?")) or "\n\n" in text:
        return f"message without an end: {text[-60:]!r}"
    named = any(re.search(rf"\b{re.escape(name)}\b", text) for name in (*call.arguments, "data"))
    parts = (part if type(part) is list else [part] for part in changed.values())
    values = [value for part in parts for value in part]
    named |= any(isinstance(value, str) and text.startswith(f"{value} ") for value in values)
    if not named and "__" not in call.name:  # operands of + have no names
        return f"message that names no argument: {text[:70]!r}"
    if len(re.findall(r"[.…?]['\")]?(?= |$)", text)) < 2:
        return f"message without a remedy: {text[-60:]!r}"
    return None


# The run ------------------------------------------------------------------------------------------


class Leaks:
    """Calls that were made, and what they leaked."""

    def __init__(self) -> None:
        self.calls = 0
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

    def __str__(self) -> str:
        return "\n".join(
            f"{times:5}  {where}  {self.first[where]}"
            for where, times in sorted(self.times.items())
        )


def one_at_a_time(calls: list[Call], leaks: Leaks) -> None:
    """Every strange value in the place of every argument."""
    for call in calls:
        for argument in call.arguments:
            values = zoo()
            for label in values:
                if not _is_theirs(call, argument, label):
                    leaks.add(call, {argument: label}, values)


def _is_theirs(call: Call, argument: str, label: str) -> bool:
    """Whether a function of the caller is called, whose mistakes are the caller's."""
    hint = str(inspect.signature(call.function).parameters[argument].annotation)
    takes = callable(call.arguments[argument]) or "Callable" in hint or "Sampler" in hint
    return label in ("class", "function") and takes


def pairs(calls: list[Call], leaks: Leaks, most: int, seed: int, seconds: float = inf) -> None:
    """Two arguments changed at random, until there are enough calls or the time is up."""
    end = time.monotonic() + seconds
    rng = np.random.default_rng(seed)
    values = zoo()
    keys = list(values)
    some = [call for call in calls if len(call.arguments) > 1]
    while leaks.calls < most and some and time.monotonic() < end:
        call = some[rng.integers(len(some))]
        chosen = rng.choice(list(call.arguments), 2, replace=False)
        labels = {str(name): keys[rng.integers(len(keys))] for name in chosen}
        if not any(_is_theirs(call, name, label) for name, label in labels.items()):
            leaks.add(call, labels, {**values, "generator": (k for k in range(3))})


def main(most: int, seed: int, seconds: int) -> int:
    """Run the calls, and list the leaks by function and argument."""
    signal.signal(signal.SIGVTALRM, _too_long)
    os.chdir(tempfile.mkdtemp(prefix="stakes-fuzz-"))  # some of the calls write files
    calls, inside, unknown = all_calls()
    leaks, start = Leaks(), time.monotonic()
    one_at_a_time(calls, leaks)
    single = leaks.calls
    pairs(calls, leaks, most, seed, seconds - (time.monotonic() - start))
    compared, differing = differences()
    print(leaks)
    print("\n".join(differing))
    print(f"{compared} calls with equal rows in other containers, {len(differing)} differences")
    print(f"{len(inside)} callables are not for users")
    for name in unknown:
        print(f"no call is known for {name}: {_WHY.get(name, 'an argument without a recipe')}")
    total = sum(leaks.times.values())
    print(
        f"{len(calls)} callables, {leaks.calls:,} calls ({leaks.calls - single:,} with two "
        f"strange arguments), {total:,} leaks, {len(unknown)} callables "
        f"without a call (stakes {stakes.__version__}, seed {seed})"
    )
    return 1 if total or unknown or differing else 0


if __name__ == "__main__":
    numbers = [int(float(number)) for number in sys.argv[1:]]
    sys.exit(main(*(numbers + [200_000, 0, 3600][len(numbers) :])))
