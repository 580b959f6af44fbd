"""Checks of arguments by their annotations, for all public functions of a package at once.

The signature of every public function says which of its arguments are problems, tallies, other
values of the library, generators, functions, texts, labels or plain numbers. `guard` reads the
annotations of a whole package, so that no function needs a line for these checks. Generators and
the values that `_MADE_BY` lists are checked before a call. All other arguments are checked only
after a call has failed with an error other than `InputError`: the messages of the function itself
are more specific, and calls that succeed cost nothing. Arrays that rooms hand to each other have
shapes that only the function knows: where it fails with them, and the library itself did not make
the call, the shapes are named. Functions that pass their arguments on to another library, such as
plots, have all arguments checked before the call.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial, wraps
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import numpy.typing as npt

from stakes._check.kinds import BoolArray, FloatArray, IntArray, Labels, require
from stakes._check.numbers import generator
from stakes._check.plain_kinds import (
    a_function,
    a_label,
    a_list,
    a_pair,
    a_path,
    a_range,
    a_shape,
    a_switch,
    a_text,
    an_array,
    an_array_of_bools,
    an_array_of_integers,
    named_numbers,
    one_number,
    one_whole,
    real_numbers,
    refuse_kind,
)
from stakes.errors import InputError, StakesError

# Values of the library that are checked before a call, and how one comes by them.
_MADE_BY = {
    "Band": "consistency_band(table, bins, …) makes one.",
    "Binning": "Write EqualWidth(10), EqualMass(10) or HullBins().",
    "CalibrationMap": "Fit one with stakes.calibration.",
    "Calibrator": "Write Isotonic(), Affine() or another.",
    "Comparison": "compare_costs and related functions make one.",
    "Contenders": "contenders(joint, problem) makes one.",
    "Counts": "Counts(table) wraps a table, Counts.from_decisions makes one of rows.",
    "Curve": "cost_curve and related functions make one, as does Curve(knots, coefficients).",
    "Estimate": "bootstrap and the functions delta_… make one.",
    "JointCounts": "JointCounts.from_decisions(y_true, models, problem) makes one of rows.",
    "JointScores": "JointScores.from_scores(y_true, models) makes one of rows.",
    "LossMoments": "LossMoments.from_losses(y_true, losses) makes one of rows.",
    "Metric": "Wrap it: Gain(measure) where higher is better, Loss(measure) where lower is.",
    "Origin": "Take that of another rule, or None.",
    "PricedLimits": "Call price_limits(posteriors, problem).",
    "Problem": "Write Problem(costs), rows being classes.",
    "Regions": "cheapest_regions makes them.",
    "Report": "Write evaluate(y_true, models, problem).",
    "Rule": "Report.rule() makes one, and Rule.from_json(text) reads one.",
    "ScoreTable": "ScoreTable.from_scores(y_true, scores) makes one of rows.",
    "StraightAxis": "Write CostProportion(…), CostRatio(…) or Prior(…); on other axes curves may "
    "cross several times: call cheapest_regions.",
}
# Protocols, and the class that a message names in their place: the usual one that satisfies them.
_KNOWN_AS = {"Answering": "Problem", "Labelled": "Problem", "Moments": "Distribution"}

ArgumentCheck = Callable[[str, Any], None]
Wanted = tuple[tuple[int, str, ArgumentCheck], ...]


def guard(room: str, *, beforehand: bool = False) -> None:
    """Check the arguments of all public functions, constructors and methods of a package.

    With `beforehand`, functions check all arguments before the call, and lists and mappings must
    not be empty either.
    """
    module = sys.modules[room]
    for name in module.__all__:
        member = getattr(module, name)
        if not getattr(member, "__module__", "").startswith(room):
            continue
        if inspect.isfunction(member):
            guarded = _guarded(member, beforehand)
            setattr(module, name, guarded)
            setattr(sys.modules[member.__module__], name, guarded)  # where pickles look for it
        elif inspect.isclass(member) and not getattr(member, "_is_protocol", False):
            for kind in member.__mro__:  # methods may be defined in a base class that is not public
                if kind.__module__.startswith(room):
                    _guard_class(kind)


def _guard_class(kind: type) -> None:
    """Check the arguments of the public methods and the constructor of a class."""
    for part, value in list(vars(kind).items()):
        if part.startswith("_") and not (part == "__call__" or _is_door(kind, part)):
            continue
        if isinstance(value, classmethod | staticmethod):
            if not hasattr(value.__func__, "_guarded"):
                setattr(kind, part, type(value)(_guarded(value.__func__)))
        elif inspect.isfunction(value) and not hasattr(value, "_guarded"):
            setattr(kind, part, _guarded(value))


def _is_door(kind: type, part: str) -> bool:
    """Whether this is the constructor of a class that users call: it checks something itself."""
    parameters = getattr(kind, "__dataclass_params__", None)
    return part == "__init__" and (
        parameters is None or not parameters.init or hasattr(kind, "__post_init__")
    )


def _guarded(function: Callable[..., Any], beforehand: bool = False) -> Callable[..., Any]:
    """The function with checks of its arguments, before a call or after a failure."""
    # Annotations are resolved at the first call, because imports may not be complete here.
    wanted = partial(_wanted, function, beforehand)
    if inspect.isgeneratorfunction(function):  # its body runs later, outside the try below
        return _guarded_generator(function, wanted)

    @wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        first, then = wanted()
        _look(first, args, named)
        try:
            return function(*args, **named)
        except (StakesError, OSError, Warning):
            raise
        except Exception as error:
            _look(then, args, named)
            if isinstance(error, ValueError) and "broadcast" in str(error):
                _look_at_shapes(then, args, named)
            # A failure of a call that the library makes is a mistake in it, and looks like one.
            by_library = sys._getframe(1).f_globals.get("__name__", "").startswith("stakes.")
            began = error.__traceback__ is not None and error.__traceback__.tb_next is not None
            if began and not by_library:
                _blame_arrays(function, args, named, error)
            raise

    checked._guarded = True  # type: ignore[attr-defined]
    return checked


def _guarded_generator(
    function: Callable[..., Any], wanted: Callable[[], tuple[Wanted, Wanted]]
) -> Callable[..., Any]:
    """A generator function whose arguments are all checked when it is called."""

    @wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        for some in wanted():
            _look(some, args, named)
        return function(*args, **named)

    checked._guarded = True  # type: ignore[attr-defined]
    return checked


def _look(wanted: Wanted, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Apply checks to the arguments of a call; those that were not passed are skipped."""
    for place, name, check in wanted:
        value = args[place] if place < len(args) else named.get(name, _ABSENT)
        if value is _ABSENT:
            continue
        try:
            check(name, value)
        except InputError as error:
            raise error from None


def _look_at_shapes(wanted: Wanted, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Refuse arrays whose shapes an elementwise function cannot broadcast."""
    arguments = {
        name: args[place] if place < len(args) else named.get(name)
        for place, name, check in wanted
        if check in (real_numbers, an_array)
    }
    shapes = {name: np.shape(value) for name, value in arguments.items() if value is not None}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} has {shape}" for name, shape in shapes.items())
        raise InputError(
            f"{' and '.join(shapes)} must be numbers, or arrays whose shapes go together; "
            f"{listed}. Pass arrays of one shape.",
            argument=next(iter(shapes)),
        ) from None


def _blame_arrays(
    function: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any], error: Exception
) -> None:
    """Refuse the arrays that a function failed with, which rooms hand to each other."""
    parameters = enumerate(inspect.signature(function).parameters)
    passed = {name: args[k] if k < len(args) else named.get(name) for k, name in parameters}
    hints = _hints(function)
    shapes = {
        name: value.shape
        for name, value in passed.items()
        if isinstance(value, np.ndarray | np.generic) and _ARRAYS & set(_parts(hints.get(name)))
    }
    if shapes and isinstance(error, ValueError | IndexError | TypeError | ZeroDivisionError):
        listed = ", ".join(f"{name} has {shape}" for name, shape in shapes.items())
        what = "arrays of shapes" if len(shapes) > 1 else "an array of the shape"
        place = f"{'.'.join(function.__module__.split('.')[:2])}.{function.__qualname__}"
        raise InputError(
            f"{' and '.join(shapes)} must be {what} that {function.__name__} is made for; "
            f"{listed}. Compare them with help({place}).",
            argument=next(iter(shapes)),
        ) from error


_ABSENT = object()
_ARRAYS = {FloatArray, IntArray, BoolArray}


@cache
def _wanted(function: Callable[..., Any], filled: bool) -> tuple[Wanted, Wanted]:
    """Positions, names and checks of parameters: those checked before a call, and after a failure.

    With `filled`, all parameters are checked before.
    """
    hints = _hints(function)
    first: list[tuple[int, str, ArgumentCheck]] = []
    then: list[tuple[int, str, ArgumentCheck]] = []
    for place, parameter in enumerate(inspect.signature(function).parameters.values()):
        hint = hints.get(parameter.name)
        check = _check_of(hint, filled)
        if check and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            at = sys.maxsize if parameter.kind is parameter.KEYWORD_ONLY else place
            (first if _comes_first(hint) else then).append((at, parameter.name, check))
    return ((*first, *then), ()) if filled else (tuple(first), tuple(then))


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Annotations by parameter; names that only type checkers import count as Any."""
    unknown: dict[str, Any] = {}
    while True:
        try:
            return get_type_hints(function, localns=unknown)
        except NameError as error:
            if error.name is None or error.name in unknown:
                return {}
            unknown[error.name] = Any
        except AttributeError:
            return {}


def _parts(hint: Any) -> tuple[Any, ...]:
    """The alternatives of an annotation."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _comes_first(hint: Any) -> bool:
    """Whether an annotation names generators or values of `_MADE_BY` alone, or mappings to them."""
    parts = [get_args(p)[-1] if get_origin(p) is Mapping else p for p in _parts(hint)]
    names = {getattr(part, "__name__", "") for part in parts if part is not type(None)}
    return names <= {*_MADE_BY, "Generator"}


def _check_of(hint: Any, filled: bool = False) -> ArgumentCheck | None:
    """How an argument with this annotation is checked; None where it is not checked here."""
    parts = _parts(hint)
    some = tuple(part for part in parts if part not in (None, type(None)))
    check = real_numbers if hint == npt.ArrayLike else _plain_check(some) if some else None
    if check is None or len(some) == len(parts):
        return _filled(check) if filled and check and _is_several(some) else check

    def or_none(name: str, value: Any) -> None:
        if value is not None:
            check(name, value)

    return or_none


def _plain_check(parts: tuple[Any, ...]) -> ArgumentCheck | None:
    """The check for an annotation, as a tuple of its alternatives without None."""
    simple = {(float,): one_number, (int,): one_whole, (str,): a_text, (bool,): a_switch}
    if parts in simple:
        return simple[parts]
    if set(parts) == {str, int, bool}:
        return a_label
    if set(parts) == {str, Path}:
        return a_path
    if [getattr(part, "__name__", "") for part in parts] == ["Generator"]:
        # By name: asking for np.random here would load it whenever stakes is imported.
        return lambda name, value: generator(value)
    if all(get_origin(part) is Callable for part in parts):
        return a_function
    if parts == (tuple[int, ...],):
        return a_shape
    arrays = {FloatArray: an_array, IntArray: an_array_of_integers, BoolArray: an_array_of_bools}
    if parts and parts[0] in arrays and all(isinstance(part, type) for part in parts[1:]):
        check, others = arrays[parts[0]], parts[1:]
        if not others:
            return check
        return lambda name, value: None if isinstance(value, others) else check(name, value)
    if parts in ((Iterable[object],), (Labels,)):
        return a_list
    if len(parts) == 1 and get_origin(parts[0]) is tuple:
        return a_pair if parts[0] == tuple[float, float] else a_range
    if parts == (Mapping[str, float],):
        return named_numbers
    if len(parts) == 1 and get_origin(parts[0]) in (Sequence, Mapping):
        return _each_of(parts[0])
    return _of_ours(parts)


def _of_ours(parts: tuple[Any, ...]) -> ArgumentCheck | None:
    """A check for instances of classes of the library, protocols among them, or for subclasses."""
    classes = tuple(get_args(part)[0] for part in parts if get_origin(part) is type)
    kinds = tuple(part for part in parts if get_origin(part) is not type)
    if not kinds or not all(isinstance(kind, type) and _is_ours(kind) for kind in kinds):
        return None

    contracts = tuple(kind for kind in kinds if getattr(kind, "_is_protocol", False))
    others = tuple(kind for kind in kinds if kind not in contracts)

    def check(name: str, value: Any) -> None:
        if isinstance(value, others):  # most calls end here, so it comes first
            return
        if isinstance(value, type):
            if classes and issubclass(value, classes):
                return
        elif any(_answers(contract, value) for contract in contracts):
            return
        _refuse(name, value, kinds[0])

    return check


def _is_ours(kind: type) -> bool:
    return kind.__module__.startswith("stakes.") and not kind.__module__.startswith("stakes._")


def _answers(contract: type, value: Any) -> bool:
    """Whether a value has all public attributes of a protocol."""
    asked = {*vars(contract), *getattr(contract, "__annotations__", {})}
    return all(
        getattr(value, attribute, None) is not None
        for attribute in asked
        if attribute == "__call__" or attribute[0] != "_"
    )


def _refuse(name: str, value: Any, kind: type) -> None:
    known = _KNOWN_AS.get(kind.__name__, kind.__name__)
    require(name, value, kind, _MADE_BY.get(known) or _example(kind), known_as=known)


def _example(kind: type) -> str:
    """A remedy that names how such a value is made: by a class without arguments, or a function."""
    concrete = [subclass for subclass in _descendants(kind) if not inspect.isabstract(subclass)]
    for subclass in concrete:
        if all(p.default is not p.empty for p in inspect.signature(subclass).parameters.values()):
            return f"Pass one, such as {subclass.__name__}()."
    for call in _makers(kind):
        return f"{call} makes one."
    return f"Pass one, such as {concrete[0].__name__}(…)." if concrete else "Pass one."


def _makers(kind: type) -> Iterator[str]:
    """Calls of the public functions that make such a value of something else."""
    room = ".".join(kind.__module__.split(".")[:2])
    for name in getattr(sys.modules[room], "__all__", ()):
        function = getattr(sys.modules[room], name)
        hints = _hints(function) if inspect.isfunction(function) else {}
        returned = hints.pop("return", None)
        if returned is kind and not any(kind in (hint, *get_args(hint)) for hint in hints.values()):
            parameters = inspect.signature(function).parameters.values()
            needed = ", ".join(p.name for p in parameters if p.default is p.empty)
            yield f"{room}.{name}({needed})"


def _descendants(kind: type) -> list[type]:
    classes: list[type] = [] if getattr(kind, "_is_protocol", False) else [kind]
    children: list[type] = type.__subclasses__(kind)
    for child in children:
        classes += _descendants(child)
    return classes


def _each_of(hint: Any) -> ArgumentCheck | None:
    """A check for sequences and mappings whose values are instances of a class of the library."""
    values = get_args(hint)[-1]
    if not (isinstance(values, type) and _is_ours(values)):
        return None

    def check(name: str, value: Any) -> None:
        _each(name, value, values, get_origin(hint))

    return check


def _each(name: str, value: Any, kind: type, wanted: Any) -> None:
    """Refuse a collection of another kind, or one with a value of another class."""
    known = _KNOWN_AS.get(kind.__name__, kind.__name__)
    if wanted is Mapping:
        if not isinstance(value, Mapping):
            refuse_kind(
                name, value, f"a mapping from name to {known}", f"Write {{name: {known}, …}}."
            )
        items: dict[str, Any] = {f"{name}[{key!r}]": item for key, item in value.items()}
    else:
        if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
            refuse_kind(name, value, f"a list of {known}", "Pass a list, also of a single one.")
        items = {f"{name}[{place}]": item for place, item in enumerate(value)}
    is_contract = getattr(kind, "_is_protocol", False)
    for place, item in items.items():
        if not (_answers(kind, item) if is_contract else isinstance(item, kind)):
            _refuse(place, item, kind)


def _is_several(parts: tuple[Any, ...]) -> bool:
    return len(parts) == 1 and get_origin(parts[0]) in (Sequence, Mapping)


def _filled(check: ArgumentCheck) -> ArgumentCheck:
    """The same check, which also refuses empty values."""

    def filled(name: str, value: Any) -> None:
        check(name, value)
        if not len(value):
            raise InputError(f"{name} must hold at least one; it is empty. Add one.", argument=name)

    return filled
