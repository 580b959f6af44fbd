"""Strange functions: what callers hand over answers with nonsense, at once or later, or fails.

Wherever the working call of a callable has a function among its arguments (a measure, a sampler, a
metric, a map, the method of an estimator), that function answers with something strange. What the
callable then answers is a value, or an `InputError` that names the argument; an exception of the
caller's own passes through as it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from fuzz_calls import Call
from fuzz_guests import Ready
from stakes.audit import Metric, PositiveClass


class Mine(Exception):
    """An error in a function of the caller."""


def answers() -> dict[str, Any]:
    """What functions of callers have answered before."""
    return {
        "None": None,
        "text": "x",
        "object": object(),
        "nan": float("nan"),
        "inf": float("inf"),
        "-1": -1.0,
        "2": 2.0,
        "1e308": 1e308,
        "10**400": 10**400,
        "1+2j": 1 + 2j,
        "[]": [],
        "ragged": [[1.0], [2.0, 3.0]],
        "dict": {"a": 1.0},
        "texts": np.array(["a", "b"]),
        "dates": np.arange("2020-01", "2020-03", dtype="datetime64[M]"),
        "one": np.ones(1),
        "3-d": np.zeros((2, 2, 2)),
        "long": np.full(1001, 0.5),
        "two columns": np.full((3, 2), 0.5),
        "masked": np.ma.masked_array([1.0, 2.0], mask=[True, False]),
    }


def strange(works: Any, answer: Any, after: int) -> Callable[..., Any]:
    """A function that works so many times, and then gives that answer."""
    times = 0

    def function(*arguments: Any, **named: Any) -> Any:
        nonlocal times
        times += 1
        if times <= after:
            return works(*arguments, **named)
        if answer is Mine:
            raise Mine
        return answer

    return function


Make = Callable[[Any, int], Any]


def functions_of(call: Call) -> Iterator[tuple[str, Make]]:
    """The arguments that are functions, or hold some, and how each is made strange."""
    for name, value in call.arguments.items():
        parameter = inspect.signature(call.function).parameters.get(name)
        hint = "" if parameter is None else str(parameter.annotation)
        if value is None and ("Callable" in hint or "Sampler" in hint):
            yield name, lambda answer, after: strange(None, answer, 0)
        else:
            for make in _ways(value):
                yield name, make


def _ways(value: Any) -> Iterator[Make]:
    """How a value that is a function, or holds one, is made strange."""
    if isinstance(value, Metric | PositiveClass):
        kind, measure = type(value), value.measure
        yield lambda answer, after: kind(strange(measure, answer, after))
    elif isinstance(value, Mapping) and value and all(map(_ours, value.values())):
        key, first = next(iter(value.items()))
        for make in _ways(first):
            yield partial(_with_entry, value, key, make)
    elif _has_methods(value):
        for part in ("fit", "predict", "predict_proba"):
            yield partial(_with_method, value, part)
    elif callable(value) and not isinstance(value, type) and _plain(value):
        yield lambda answer, after: strange(value, answer, after)


def _with_entry(values: Mapping[Any, Any], key: Any, make: Make, answer: Any, after: int) -> Any:
    """The same mapping with one strange entry."""
    return {**values, key: make(answer, after)}


def _ours(value: Any) -> bool:
    return callable(value) or isinstance(value, Metric | PositiveClass) or _has_methods(value)


def _plain(value: Any) -> bool:
    """Whether it stands for a function: one, or one of the samplers, which are values."""
    return inspect.isroutine(value) or type(value).__module__ == "stakes.audit.misranking"


def _has_methods(value: Any) -> bool:
    return isinstance(value, Ready) or type(value).__module__.startswith("sklearn")


def _with_method(value: Any, part: str, answer: Any, after: int) -> Any:
    """An estimator of the same kind, one method of which is strange, also once it is copied."""
    method = getattr(type(value), part)
    kind: Any = type(type(value).__name__, (type(value),), {part: strange(method, answer, after)})
    kind.__reduce__ = lambda self: (kind, ())
    new = kind()
    vars(new).update(vars(value))
    return new


def strange_functions(
    calls: list[Call],
    fault: Callable[[Call, dict[str, Any]], str | None],
    *,
    late: Callable[[], bool] = lambda: False,
) -> tuple[int, list[str]]:
    """How many calls were made with strange functions, and what they leaked."""
    count, leaks = 0, []
    for call in calls:
        if late():
            break
        for name, make in functions_of(call):
            # What estimators answer is not looked at before all of them were asked.
            times = (0,) if "estimator" in name else (0, 1, 2)
            for label, answer in {**answers(), "an error": Mine}.items():
                for after in times:
                    count += 1
                    leak = fault(call, {name: make(answer, after)})
                    if leak and not leak.startswith("Mine:"):
                        leaks.append(f"{call.name}({name} gives {label} after {after}): {leak}")
    return count, leaks
