"""Arguments that are values of the library itself: the right kind, or a message that says so."""

from __future__ import annotations

from inspect import signature

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
    raise InputError(f"{name} must be a {kind.__name__}; got {found}. {remedy}", argument=name)


def _needs_nothing(kind: type) -> bool:
    """Whether an instance can be made without arguments."""
    needed = signature(kind).parameters.values()
    return all(one.default is not one.empty or one.kind is one.VAR_KEYWORD for one in needed)
