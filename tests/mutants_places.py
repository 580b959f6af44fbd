"""What mutants.py can change: every operator, comparison and constant of the source."""

from __future__ import annotations

import ast
import gc
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

SOURCE = Path(__file__).parents[1] / "src" / "stakes"
UNCHANGED = -1  # instead of the number of a change

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}

_NOT_CODE = ("annotation", "returns", "decorator_list")


@dataclass(frozen=True)
class Place:
    """One thing that can be changed: the how-manieth of its file, and how it reads."""

    file: str
    number: int
    function: str
    change: str
    lines: tuple[int, ...]
    span: range  # the lines of its function; empty where it runs on import
    twin: int  # the same change of the same text in the same function, counted
    kind: str  # the part that changes
    nth: int  # among those of its kind in its function

    @property
    def key(self) -> tuple[str, str, str]:
        """What explanations are found by: no line numbers."""
        return self.file, self.function, self.change

    def order(self, seed: int) -> str:
        """A number that is drawn; other names of variables do not change it."""
        drawn = (seed, self.file, self.function, self.kind, self.nth)
        return hashlib.sha256(repr(drawn).encode()).hexdigest()


@dataclass
class _Walk:
    """All nodes but annotations, decorators, texts and complaints, each with what holds it."""

    names: tuple[str, ...] = ()
    nodes: list[tuple[ast.AST, ast.AST, ast.stmt, tuple[str, ...], range]] = field(
        default_factory=list
    )

    def visit(self, node: ast.AST, whole: ast.AST, statement: Any, span: range) -> None:
        """Go down; ``whole`` is the smallest expression around that says more than a constant."""
        names = self.names
        for name, part in ast.iter_fields(node):
            if name in _NOT_CODE or isinstance(node, ast.JoinedStr):
                continue
            inside = span
            if name == "body" and isinstance(node, ast.FunctionDef | ast.Lambda) and not span:
                inside = range(node.lineno, (node.end_lineno or 0) + 1)
            if name == "body" and isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.names = (*names, node.name)
            for child in part if isinstance(part, list) else [part]:
                if not isinstance(child, ast.AST) or isinstance(child, ast.Raise):
                    continue
                if isinstance(child, ast.keyword) and child.arg == "strict":
                    continue  # of zip: it refuses our own mistakes
                near = child if isinstance(child, ast.stmt) else statement
                plain = isinstance(child, ast.Constant | ast.UnaryOp | ast.keyword | ast.Slice)
                around = whole if plain or not isinstance(child, ast.expr | ast.stmt) else child
                self.nodes.append((child, around, near, self.names, inside))
                self.visit(child, around, near, inside)
            self.names = names


def _changes(node: ast.AST) -> Iterator[Callable[[], Callable[[], None]]]:
    """The changes of one node; each, called, makes the change and returns what takes it back."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _SWAPS:
        yield lambda: _set(node, "op", _SWAPS[type(node.op)]())
    elif isinstance(node, ast.Compare):
        for place, sign in enumerate(node.ops):
            if type(sign) in _SWAPS:
                new = [*node.ops]
                new[place] = _SWAPS[type(sign)]()  # type: ignore[call-overload]
                yield lambda new=new: _set(node, "ops", new)  # type: ignore[misc]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        old: Any = node.value
        if isinstance(old, bool) or old + 1 != old:
            yield lambda: _set(node, "value", not old if isinstance(old, bool) else old + 1)


def _set(node: ast.AST, part: str, new: Any) -> Callable[[], None]:
    old = getattr(node, part)
    setattr(node, part, new)
    return lambda: setattr(node, part, old)


def places(file: str, only: int | None = None) -> tuple[ast.Module, list[Place]]:
    """Every place of a file; the tree is left changed at the one that is named, if any."""
    tree = ast.parse((SOURCE / file).read_text())
    walk, everything, twins = _Walk(), list[Place](), dict[Any, int]()
    walk.visit(tree, tree, tree.body[0], range(0))
    for node, whole, near, names, span in walk.nodes:
        for change in _changes(node):
            number = len(everything)
            before = _words(whole)
            back = change()
            if number == only:
                return tree, everything
            text = f"{before}  →  {_words(whole)}"
            back()
            key, kind = (".".join(names), text), type(node).__name__
            for twin_key in (key, (key[0], kind, None)):
                twins[twin_key] = twins.get(twin_key, -1) + 1
            twin, nth = twins[key], twins[key[0], kind, None]
            everything.append(Place(file, number, *key, _lines(node, near), span, twin, kind, nth))
    return tree, everything


def _lines(node: Any, near: Any) -> tuple[int, ...]:
    """Those of the node and of its statement, if that is a simple one."""
    end = near.lineno if hasattr(near, "body") else near.end_lineno
    return (*range(node.lineno, node.end_lineno + 1), *range(near.lineno, end + 1))


def _words(node: ast.AST) -> str:
    """An expression, or the first line of a statement."""
    return ast.unparse(node).strip().splitlines()[0]


def changed_code(file: str, number: int) -> CodeType:
    """The code of a file with one change."""
    tree, _ = places(file, number)
    code: CodeType = compile(tree, str(SOURCE / file), "exec", dont_inherit=True)
    return code


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


@cache
def functions() -> dict[str, list[FunctionType]]:
    """The functions that are alive, by their files; found once, before there are forks."""
    alive: dict[str, list[FunctionType]] = {}
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType):
            alive.setdefault(thing.__code__.co_filename, []).append(thing)
    gc.freeze()
    return alive


def patch(file: str, number: int) -> bool:
    """Replace the code of the functions that the change touches; whether there are any."""
    changed = _codes(changed_code(file, number))
    new = {(code.co_qualname, code.co_firstlineno): code for code in changed}
    done = False
    for function in functions().get(str(SOURCE / file), ()):
        code = function.__code__
        better = new.get((code.co_qualname, code.co_firstlineno))
        if better is not None and better != code:
            function.__code__, done = better, True
    return done


def stamp(file: str) -> str:
    """Changes when a file of the source does."""
    return hashlib.sha256((SOURCE / file).read_bytes()).hexdigest()[:16]
