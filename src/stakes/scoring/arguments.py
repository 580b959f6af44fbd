"""Arguments that are values of the library itself: the right kind, or a message that says so."""

from __future__ import annotations

from inspect import signature

import numpy as np

from stakes import _check
from stakes.errors import InputError


def require(name: str, value: object, kind: type, remedy: str) -> None:
    """Refuse what is not of this kind; a class in place of its instance is told apart."""
    if isinstance(value, kind):
        return
    found = f"{type(value).__name__} {value!r}"
    if isinstance(value, type):
        found = f"the class {value.__name__}"
        if issubclass(value, kind) and _needs_nothing(value):
            remedy = f"Write {value.__name__}()."
    found = found if len(found) <= 60 else f"{found[:57]}..."
    raise InputError(f"{name} must be a {kind.__name__}; got {found}. {remedy}")


def _needs_nothing(kind: type) -> bool:
    """Whether an instance can be made without arguments."""
    needed = signature(kind).parameters.values()
    return all(one.default is not one.empty or one.kind is one.VAR_KEYWORD for one in needed)


def require_rng(rng: object) -> None:
    """Refuse what is no generator of random numbers."""
    seed = rng if isinstance(rng, int) else 0
    require("rng", rng, np.random.Generator, f"Write rng=np.random.default_rng({seed}).")


def whole(name: str, value: object, *, low: int) -> int:
    """One whole number, at least so large."""
    number = _check.number(name, value, low=low)
    if not number.is_integer():
        raise InputError(f"{name} must be a whole number; got {value!r}. Round it.")
    return int(number)
