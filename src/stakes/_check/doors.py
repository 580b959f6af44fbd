"""The doors of rooms: an argument that must be a problem or a tally is one.

Every public function says in its signature which of its arguments these are; `guard` reads that
once for a whole room, so that no function needs a line for it. All other arguments are checked
where they are used, because they come in many forms.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from functools import cache, wraps
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from stakes._check.kinds import require

_MADE_BY = {
    "Counts": "Counts(table) wraps a table, Counts.from_decisions makes one of rows.",
    "JointCounts": "JointCounts.from_decisions(y_true, models, problem) makes one of rows.",
    "JointScores": "JointScores.from_scores(y_true, models) makes one of rows.",
    "LossMoments": "LossMoments.from_losses(y_true, losses) makes one of rows.",
    "Problem": "Write Problem(costs), rows being classes.",
    "ScoreTable": "ScoreTable.from_scores(y_true, scores) makes one of rows.",
}

Wanted = tuple[tuple[int, str, tuple[type, ...]], ...]


def guard(room: str) -> None:
    """Check such arguments in all public functions and class methods of a room."""
    module = sys.modules[room]
    for name in module.__all__:
        found = getattr(module, name)
        if inspect.isfunction(found) and found.__module__.startswith(room):
            made = _guarded(found)
            setattr(module, name, made)
            setattr(sys.modules[found.__module__], name, made)  # where pickles look for it
        elif inspect.isclass(found) and found.__module__.startswith(room):
            for part, value in list(vars(found).items()):
                if isinstance(value, classmethod) and not part.startswith("_"):
                    setattr(found, part, classmethod(_guarded(value.__func__)))


def _guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    @cache
    def wanted() -> Wanted:  # read when it is first called, because imports may be under way
        return _wanted(function)

    @wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        for place, name, kinds in wanted():
            value = args[place] if place < len(args) else named.get(name, _ABSENT)
            if value is not _ABSENT and not isinstance(value, kinds):
                require(name, value, kinds[0], _MADE_BY[kinds[0].__name__])
        return function(*args, **named)

    return checked


_ABSENT = object()


def _wanted(function: Callable[..., Any]) -> Wanted:
    """Places and names of such parameters, and their kinds."""
    try:
        hints = get_type_hints(function)
    except NameError:  # of an import for type checkers alone
        return ()
    found = []
    for place, one in enumerate(inspect.signature(function).parameters.values()):
        kinds = _kinds(hints.get(one.name))
        if kinds and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD):
            at = sys.maxsize if one.kind is one.KEYWORD_ONLY else place
            found.append((at, one.name, kinds))
    return tuple(found)


def _kinds(hint: Any) -> tuple[type, ...]:
    """The classes of a parameter that takes problems or tallies; none where others will do."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = tuple(type(None) if part is None else part for part in parts)
    if not all(isinstance(part, type) and _is_ours(part) for part in kinds):
        return ()
    ours = tuple(part for part in kinds if part is not type(None))
    return ours and (*ours, *(part for part in kinds if part is type(None)))


def _is_ours(kind: type) -> bool:
    return kind is type(None) or (
        kind.__name__ in _MADE_BY and kind.__module__.startswith("stakes.")
    )
