"""Arrays of other shapes for functions that rooms hand arrays to.

Such functions trust the entries of their arrays, which another room has checked, so that the values
of the zoo are not for them; but an array of another shape is answered with an `InputError`. The
arguments that work are those of a function's own examples, as they are called there.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import warnings
from collections.abc import Callable, Collection, Iterator
from functools import wraps
from typing import Any

import numpy as np

from fuzz_calls import Call, all_calls, harvest, methods, public
from fuzz_recipes import POSTERIORS, SCORES, TALLIES, Y, grouped
from stakes.tally import CellTally

# What a message may blame beside the array: the limits of a problem, the number of folds, and the
# rule whose method is called.
_THEIR_OWN = tuple(f"blames {each}: " for each in ("limits", "folds", "rule"))
HANDED = "takes arrays or labels that another room has checked"


def shapes(array: np.ndarray) -> dict[str, Any]:
    """The array in other shapes; its entries stay what they are."""
    flat = array.reshape(-1)
    changed = {
        "0-d": flat[0] if flat.size else np.zeros((), array.dtype),
        "empty": flat[:0],
        "one entry": flat[:1],
        "flat": flat,
        "one more axis in front": array[None],
        "one more axis behind": array[..., None],
        "two more axes": array[None, ..., None],
        "no rows": array[:0] if array.ndim else flat[:0],
        "a row less": array[:-1] if array.ndim else flat[:0],
        "a column less": array[..., :-1] if array.ndim else flat[:0],
        "twice as long": np.concatenate([np.atleast_1d(array)] * 2),
        "twice as wide": np.concatenate([np.atleast_1d(array)] * 2, axis=-1),
        "the axes turned": array.T,
    }
    return {label: np.array(each) for label, each in changed.items()}


def handed_calls(chosen: Collection[str] = ()) -> tuple[list[Call], list[str]]:
    """Calls of functions that take checked arrays, and those whose examples do not call them."""
    calls, inside, _ = all_calls(chosen)
    named = dict(public()) | dict(methods(harvest(calls)))
    handed, without, by_hand = [], [], _by_hand()
    for name, why in inside.items():
        if why != HANDED or (chosen and name.partition(".")[0] not in chosen):
            continue
        known = by_hand.get(name) or _recorded(name, named[name])
        call = known or _by_name(name, named[name])
        without.append(name) if call is None else handed.append(call)
    return handed, without


def _by_hand() -> dict[str, Call]:
    """Methods that have the examples of the contract, which call them on one tally only."""
    calls = {}
    for kind in TALLIES:
        tally = grouped(kind)
        parts: dict[str, dict[str, Any]] = {"sum_clusters": {"times": np.ones((2, len(tally)))}}
        if isinstance(tally, CellTally):
            parts["with_cell_weights"] = {"weights": np.array(tally.cell_weights)}
        for part, arguments in parts.items():
            name = f"tally.{kind.__name__}.{part}"
            calls[name] = Call(name, getattr(tally, part), arguments, ())
    return calls


#: Arrays by the names of parameters, for methods that only other rooms show in examples.
_ARRAYS = {
    **dict.fromkeys(("forecasts", "posteriors"), POSTERIORS),
    "codes": np.array(Y, dtype=np.intp),
    **dict.fromkeys(("true", "other", "c", "scores"), SCORES),
    "shares": np.array([0.7, 0.3]),
    "name": "scores",
}


def _by_name(name: str, function: Callable[..., Any]) -> Call | None:
    """A call with the arrays that the parameters are named after."""
    wanted = inspect.signature(function).parameters
    if not set(wanted) <= set(_ARRAYS):
        return None
    return Call(name, function, {each: _ARRAYS[each] for each in wanted}, ())


def shape_leaks(
    calls: list[Call], fault: Callable[[Call, dict[str, Any]], str | None]
) -> tuple[int, list[str]]:
    """Every array of every call in every other shape: how many calls, and what they leaked."""
    count, leaks = 0, []
    for call in calls:
        for argument, value in call.arguments.items():
            if not isinstance(value, np.ndarray):
                continue
            for label, other in shapes(value).items():
                count += 1
                leak = fault(call, {argument: other})
                if leak and not leak.startswith(_THEIR_OWN):
                    leaks.append(f"{call.name}({argument}) {label}: {leak}")
    return count, leaks


def _recorded(name: str, function: Callable[..., Any]) -> Call | None:
    """The first call of a function in its examples, or in those of its class."""
    plain = inspect.unwrap(getattr(function, "__func__", function))
    module = importlib.import_module(plain.__module__)
    owner: Any = module
    *path, last = plain.__qualname__.split(".")
    for part in path:
        owner = getattr(owner, part)
    seen: list[Any] = []
    original = inspect.getattr_static(owner, last)
    is_class_method = isinstance(original, classmethod)

    @wraps(plain)
    def recorder(*args: Any, **named: Any) -> Any:
        value = plain(*args, **named)
        if not seen:
            seen.append(inspect.signature(plain).bind(*args, **named).arguments)
        return value

    setattr(owner, last, classmethod(recorder) if is_class_method else recorder)
    try:
        for example in _examples(plain, owner, module):
            if not seen:
                _run(example)
    finally:
        setattr(owner, last, original)
    if not seen:
        return None
    arguments = dict(seen[0])
    itself = arguments.pop("self", None)
    arguments.pop("cls", None)
    return Call(name, function if itself is None else getattr(itself, last), arguments, ())


def _examples(function: Any, owner: Any, module: Any) -> Iterator[doctest.DocTest]:
    """The examples of a function, of its class, and of classes and functions beside it."""
    finder = doctest.DocTestFinder(recurse=False)
    for thing in (function, *([owner] if inspect.isclass(owner) else ())):
        yield from finder.find(thing, thing.__name__, module=module, globs=dict(vars(module)))


def _run(example: doctest.DocTest) -> None:
    example.globs.setdefault("np", np)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        doctest.DocTestRunner(verbose=False).run(example, out=lambda text: None, clear_globs=False)
