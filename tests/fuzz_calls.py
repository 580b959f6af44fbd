"""The calls of the fuzzer: every public callable, with arguments with which it works."""

from __future__ import annotations

import importlib
import inspect
import re
import types
import typing
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from fuzz_guests import OPTIONS, guests
from fuzz_recipes import BY_NAME, BY_TYPE, CHECKS_ITSELF, NOT_FOR_USERS, report
from fuzz_recipes import special as core
from fuzz_tensors import tensors

ROOMS = (
    *("tally", "decide", "measures", "agreement", "curve", "limits", "ranking", "scoring"),
    *("conditions", "thresholds", "curves", "calibration", "rule", "inference", "regions"),
    *("audit", "simulate", "metrics", "rows", "problem", "report", "render"),
)
# Rooms that need more than the core, and what they need.
NEEDS = {"plot": "matplotlib", "displays": "matplotlib", "sklearn": "sklearn", "torch": "torch"}


@cache
def special() -> dict[str, dict[str, Any]]:
    """Arguments of single callables, where names and types do not say enough."""
    return {**core(), **guests(), **tensors()}


def rooms() -> list[str]:
    """The rooms whose dependencies are installed."""
    return [*ROOMS, *(room for room in NEEDS if find_spec(NEEDS[room]))]


def left_out() -> dict[str, str]:
    """The rooms that are not called, and why."""
    missing = {
        room: f"{need} is not installed" for room, need in NEEDS.items() if not find_spec(need)
    }
    if not find_spec("narwhals"):
        missing["adapters"] = "narwhals is not installed"
    return {**missing, "cli": "its tests run the command"}


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
        if not inspect.isclass(kind) or issubclass(kind, dict | Exception) or _is_protocol(kind):
            continue
        yield f"{room}.{name}", kind


def _exported() -> Iterator[tuple[str, str, Any]]:
    """Room, name and callable: of every room, and of the package, each once."""
    seen: set[int] = set()
    for room in [*rooms(), ""]:
        module = importlib.import_module(f"stakes.{room}".rstrip("."))
        for name in module.__all__:
            thing = getattr(module, name)
            home = getattr(thing, "__module__", "").removeprefix("stakes.")
            if not callable(thing) or id(thing) in seen or not home.startswith(room):
                continue
            seen.add(id(thing))
            yield home.partition(".")[0], name, thing


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
        for part in dir(kind):
            written = inspect.getattr_static(kind, part)
            written = getattr(written, "fn", written)  # scikit-learn's methods that may be missing
            if not inspect.isfunction(written) or not written.__module__.startswith("stakes."):
                continue
            bound = getattr(special().get(f"{name}.{part}", {}).get("self", instances[kind]), part)
            public = part in _METHODS or not part.startswith("_")
            if public and inspect.signature(bound).parameters:
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
    arguments: dict[str, Any] = {}
    positional: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            arguments |= {key: chosen[key] for key in OPTIONS if key in chosen}
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
        WHY[name] = f"{type(error).__name__}: {error}"
        return None
    return call


_UNKNOWN = object()
WHY: dict[str, str] = {}


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


def all_calls(chosen: Collection[str] = ()) -> tuple[list[Call], dict[str, str], list[str]]:
    """The calls, what is not for users and why, and what no call is known for.

    Of all rooms, or of the chosen ones.
    """
    inside: dict[str, str] = {}
    unknown: list[str] = []

    def calls_of(named: Iterator[tuple[str, Callable[..., Any]]]) -> list[Call]:
        calls = []
        for name, function in named:
            if chosen and name.partition(".")[0] not in chosen:
                continue
            why = reason(name, function)
            if why is not None:
                inside[name] = why
                continue
            call = call_of(name, function)
            unknown.append(name) if call is None else calls.append(call)
        return calls

    calls = calls_of(public())
    return [*calls, *calls_of(methods(harvest(calls)))], inside, unknown
