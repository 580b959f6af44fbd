"""Expressions that users write: parsed with Python's grammar, checked, never run as code.

Numbers, names, ``name["of"]``, + − * /, comparisons, and, or, not, and the functions min, max, abs
and where(condition, then, otherwise). Whether a part is a number or a truth value is known before
anything is computed. The same expression is evaluated on numbers, on arrays and on columns of a
frame, given the functions of each.
"""

from __future__ import annotations

import ast
import json
import operator
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain
from keyword import iskeyword
from math import isnan, nan
from typing import Any, NoReturn

import numpy as np

from stakes.errors import InputError

__all__ = ["NUMBERS", "Expression", "Functions", "Name", "column_text", "parse"]

LONGEST_TEXT = 2000  # characters
DEEPEST = 50  # parts inside each other

_TOO_DEEP = f"more than {DEEPEST} parts are joined, or lie inside each other"
_SHORTEN = "Shorten it, or compute a part of it beforehand and name that."
_REMEDIES = {  # by whether names are columns
    True: "Write it as in 5 + 0.02*amount, max(5, amount) or where(amount > 0, 5/amount, 0).",
    False: "Write it as in cost > 3 or not deployable.",
}
# A text in quotes, or a sign that other languages have, and what is written here in its place.
_FOREIGN = re.compile(r""""[^"]*"|'[^']*'|(?P<sign>=>|=<|(?<![<>=!])=(?!=)|&&|\|\|)""")
_INSTEAD = {"=>": ">=", "=<": "<=", "=": "==", "&&": "and", "||": "or"}

Functions = Mapping[str, Callable[..., Any]]

NUMBERS: Functions = {
    "min": min,
    "max": max,
    "abs": abs,
    "where": lambda condition, then, otherwise: then if condition else otherwise,
}
ARRAYS: Functions = {
    "min": lambda *parts: reduce(np.minimum, parts),
    "max": lambda *parts: reduce(np.maximum, parts),
    "abs": np.abs,
    "where": np.where,
    "not": np.logical_not,
}

_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


@dataclass(frozen=True)
class Name:
    """A name, and the name in brackets behind it, if any, that says what it belongs to."""

    name: str
    of: str | None = None

    def __str__(self) -> str:
        return self.name if self.of is None else f'{self.name}["{self.of}"]'


@dataclass(frozen=True)
class Expression:
    """An expression that was parsed and checked; equal to another when their texts are."""

    text: str
    names: tuple[Name, ...] = field(compare=False)
    _tree: ast.expr = field(compare=False, repr=False)

    def __call__(self, values: Mapping[Name, Any], functions: Functions = ARRAYS) -> Any:
        """The value of the expression, given that of every name.

        ``and`` and ``or`` of plain booleans evaluate the right side only if it is needed.

        >>> price = parse("max(5, 0.02 * amount)")
        >>> price({Name("amount"): np.array([100.0, 1000.0])})
        array([ 5., 20.])
        """
        return _value(self._tree, values, functions)

    @property
    def terms(self) -> dict[str, float]:
        """Coefficients of the terms whose sum the expression is; that of "1" is a constant.

        Terms are columns, and products, ratios and functions of them, written as expressions.

        >>> parse("5 + 0.02*amount - max(0, amount - 9)").terms
        {'1': 5.0, 'amount': 0.02, 'max(0, amount - 9)': -1.0}
        """
        return _linear(self._tree)


def parse(
    text: str,
    *,
    what: str = "the expression",
    known: Mapping[str, bool] | None = None,
    facts: frozenset[str] = frozenset(),
    truth: bool = False,
) -> Expression:
    """Parse an expression, or refuse it with the position and what was expected there.

    Parameters
    ----------
    what : what messages call it
    known : names of numbers, and whether each takes a name in brackets; None: all names are
        numbers, and ``column["odd name"]`` is the name in brackets
    facts : names that are true or false
    truth : whether the whole must be true or false, instead of a number
    """
    reader = _Reader(text, what, known, facts)
    tree = reader.tree()
    reader.require(tree, truth, 0)
    return Expression(text, tuple(dict.fromkeys(reader.names)), tree)


class _Reader:
    """Checks every part of a tree: that it is allowed there, and is a number or a truth value."""

    def __init__(
        self, text: str, what: str, known: Mapping[str, bool] | None, facts: frozenset[str]
    ) -> None:
        self.text, self.what, self.known, self.facts = text, what, known, facts
        self.names: list[Name] = []

    def tree(self) -> ast.expr:
        """Parse the text, or refuse it."""
        if not self.text.strip():
            self.fail("expected a name, a number or a parenthesis", 1)
        if len(self.text) > LONGEST_TEXT:
            self.fail(f"it has more than {LONGEST_TEXT} characters", LONGEST_TEXT + 1, _SHORTEN)
        try:
            with warnings.catch_warnings():  # about invalid escapes, in names that do not exist
                warnings.simplefilter("ignore")
                return self._as_written(ast.parse(self._line, mode="eval").body)
        except (RecursionError, MemoryError):
            self.fail(_TOO_DEEP, 1, _SHORTEN)
        except (SyntaxError, ValueError) as error:
            if "nested" in str(error):
                self.fail(_TOO_DEEP, 1, _SHORTEN)
            self._refuse_foreign_signs()
            at = (getattr(error, "offset", None) or len(self.text) + 1) + self._indent
            odd = '; odd names are written column["…"]' if self.known is None else ""
            self.fail(f"it is incomplete, or has a character without meaning{odd}", at)

    def _refuse_foreign_signs(self) -> None:
        """Say what is written in place of a sign that other languages have."""
        for match in _FOREIGN.finditer(self.text):
            if sign := match["sign"]:
                self.fail(f"{sign} has no meaning; write {_INSTEAD[sign]}", match.start() + 1)

    def _as_written(self, tree: ast.expr) -> ast.expr:
        """The tree with names as they were written: the parser replaces some of their letters."""
        line = self._line.encode()
        for node in ast.walk(tree):
            if isinstance(node, ast.Name):
                node.id = line[node.col_offset : node.end_col_offset].decode()
        return tree

    def require(self, node: ast.expr, truth: bool, depth: int) -> None:
        """Refuse a number where a truth value is needed, or the other way round."""
        if self._is_truth(node, depth + 1) != truth:
            expected = "something true or false, such as cost > 3" if truth else "a number"
            self.fail(f"expected {expected}", node)

    def _is_truth(self, node: ast.expr, depth: int) -> bool:
        """Whether a checked part is a truth value; otherwise it is a number."""
        if depth > DEEPEST:
            self.fail(_TOO_DEEP, node, _SHORTEN)
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                if not abs(value) <= sys.float_info.max:
                    self.fail("the number is too large", node)
                return False
            case ast.Name(id=name):
                return self._name(Name(name), node)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(of))):
                return self._name(Name(name, of), node)
            case ast.Subscript(
                value=ast.Name(id=name), slice=ast.Name(id=of)
            ):  # a shell ate quotes
                self.fail(f'what stands in brackets is in quotes: {name}["{of}"]', node)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=part):
                self.require(part, False, depth)
                return False
            case ast.UnaryOp(op=ast.Not(), operand=part):
                self.require(part, True, depth)
                return True
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                self.require(left, False, depth)
                self.require(right, False, depth)
                return False
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARISONS:
                self.require(left, False, depth)
                self.require(right, False, depth)
                return True
            case ast.Compare(comparators=[_, second, *_]):
                self.fail("comparisons do not chain; join two of them with and", second)
            case ast.BoolOp(values=parts):
                for part in parts:
                    self.require(part, True, depth)
                return True
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(name, args, node, depth)
        self.fail(
            "only numbers, names, + - * /, comparisons, and, or, not, min, max, abs and "
            "where have a meaning here",
            node,
        )

    def _call(self, name: str, args: list[ast.expr], node: ast.expr, depth: int) -> bool:
        """Check a call of a function; all functions give numbers."""
        wanted = {"abs": (1, 1), "where": (3, 3), "min": (2, 99), "max": (2, 99)}.get(name)
        if wanted is None:
            self.fail(f"{name!r} is no function; functions are min, max, abs and where", node)
        if not wanted[0] <= len(args) <= wanted[1]:
            self.fail(f"{name} takes {wanted[0]} arguments{' or more' * (wanted[1] > 3)}", node)
        for place, part in enumerate(args):
            self.require(part, name == "where" and place == 0, depth)
        return False

    def _name(self, name: Name, node: ast.expr) -> bool:
        """Check a name; whether it is a truth value."""
        if self.known is None:
            odd = name.of is not None and name.name != "column"
            if odd:
                self.fail('odd names are written column["…"]', node)
            self.names.append(name if name.of is None else Name(name.of))
            return False
        if name.name not in self.known and name.name not in self.facts:
            names = [*self.known, *sorted(self.facts)]
            from difflib import get_close_matches  # for messages alone

            close = "".join(get_close_matches(name.name.lower(), names, 1))
            meant = f" (did you mean {close}?)" if close else ""
            self.fail(f"{name.name!r} is not known{meant}; known are {', '.join(names)}", node)
        if name.of is not None and not self.known.get(name.name, False):
            self.fail(f"{name.name} belongs to the report as a whole, not to one model", node)
        self.names.append(name)
        return name.name in self.facts

    def fail(self, fault: str, place: ast.expr | int, remedy: str | None = None) -> NoReturn:
        """Raise an error that shows the position of the fault."""
        at = place if isinstance(place, int) else self._position(place)
        rest_of_text = repr(self.text[at - 1 :][:12]) if self.text[at - 1 :] else "the end"
        shown = self.text if len(self.text) <= 200 else f"{self.text[:100]}…"
        raise InputError(
            f"{self.what} {shown!r} cannot be read: {fault}, at position {at} ({rest_of_text}). "
            f"{remedy or _REMEDIES[self.known is None]}"
        )

    def _position(self, node: ast.expr) -> int:
        """The position at which a part begins, from 1, in characters: the parser counts bytes."""
        before = self._line.encode()[: node.col_offset].decode()
        return self._indent + len(before) + 1

    @property
    def _line(self) -> str:
        """The text on one line, every character at its place."""
        return re.sub(r"[\r\n]", " ", self.text).strip()

    @property
    def _indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


def _value(node: ast.expr, values: Mapping[Name, Any], functions: Functions) -> Any:
    """The value of a part of the tree."""

    def of(part: ast.expr) -> Any:
        return _value(part, values, functions)

    match node:
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return values[Name(name)]
        case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(of_))):
            return values[Name(of_) if name == "column" else Name(name, of_)]
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return _negated(of(part), functions)
        case ast.UnaryOp(op=op, operand=part):
            return -of(part) if isinstance(op, ast.USub) else of(part)
        case ast.BinOp(left=left, right=right):
            return _computed(node, of(left), of(right))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _COMPARISONS[type(op)](of(left), of(right))
        case ast.BoolOp(op=op, values=parts):
            return _joined(isinstance(op, ast.And), parts, of)
        case ast.Call(func=ast.Name(id=name), args=args):
            return functions[name](*map(of, args))
    raise TypeError(ast.dump(node))  # cannot happen: the reader refuses everything else


def _computed(node: ast.BinOp, left: Any, right: Any) -> Any:
    """A sum, difference, product or ratio; undefined ones of plain numbers are refused.

    Otherwise a comparison with nan would be false, and a gate that should close would stay open.
    """
    try:
        value = _ARITHMETIC[type(node.op)](left, right)
    except ZeroDivisionError:
        value = nan
    if isinstance(value, float) and isnan(value):
        raise InputError(
            f"{ast.unparse(node)} is undefined: it joins {left:g} and {right:g}. Ask first whether "
            f"it is defined, as in caveats > 0 and cost / caveats > 2."
        )
    return value


def _negated(value: Any, functions: Functions) -> Any:
    return not value if isinstance(value, bool) else functions["not"](value)


def _joined(all_of: bool, parts: list[ast.expr], of: Callable[[ast.expr], Any]) -> Any:
    """Parts joined by `and` (`all_of`) or by `or`; plain booleans are evaluated lazily."""
    value = of(parts[0])
    for part in parts[1:]:
        if isinstance(value, bool):
            if value is not all_of:
                return value
            value = of(part)
        else:
            value = value & of(part) if all_of else value | of(part)
    return value


def column_text(name: str) -> str:
    """A column in the form in which an expression names it.

    >>> column_text("amount"), column_text("loan amount")
    ('amount', 'column["loan amount"]')
    """
    plain = name.isidentifier() and name.isascii() and not iskeyword(name)
    return name if plain else f"column[{json.dumps(name, ensure_ascii=False)}]"


# Linear in what? ---------------------------------------------------------------------------------

_Terms = dict[str, float]
_SINGLE = re.compile(r'\w+|column\["([^"\\]|\\.)*"\]')  # the constant 1, or a column


def _linear(node: ast.expr) -> _Terms:
    """The coefficient of each term of a number."""
    if not any(isinstance(part, ast.Name) for part in _operands(node)):
        return _constant(node)
    match node:
        case ast.Name(id=name) | ast.Subscript(slice=ast.Constant(value=str(name))):
            return {column_text(name): 1.0}
        case ast.UnaryOp(op=op, operand=part):
            return _times(_linear(part), -1.0 if isinstance(op, ast.USub) else 1.0)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
            sign = 1.0 if isinstance(op, ast.Add) else -1.0
            return _sum(_linear(left), _times(_linear(right), sign))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            terms = _product(_linear(left), _linear(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            terms = _ratio(_linear(left), _linear(right))
        case _:
            terms = None
    return {ast.unparse(node): 1.0} if terms is None else terms


def _operands(node: ast.expr) -> Iterator[ast.AST]:
    """All parts but the names of functions."""
    if isinstance(node, ast.Call):
        return (part for child in node.args for part in _operands(child))
    parts = (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))
    return chain([node], (part for child in parts for part in _operands(child)))


def _constant(node: ast.expr) -> _Terms:
    try:
        return {"1": float(_value(node, {}, NUMBERS))}
    except InputError:  # an undefined constant is refused later, when it is evaluated on data
        return {ast.unparse(node): 1.0}


def _times(terms: _Terms, factor: float) -> _Terms:
    return {term: factor * coefficient for term, coefficient in terms.items()}


def _sum(first: _Terms, second: _Terms) -> _Terms:
    return {term: first.get(term, 0.0) + second.get(term, 0.0) for term in {**first, **second}}


def _product(first: _Terms, second: _Terms) -> _Terms | None:
    """A sum times a single term, in any order; None where both are sums."""
    if len(second) > 1:
        first, second = second, first
    if len(second) > 1:
        return None
    [(term, factor)] = second.items()
    return {
        _joined_text(factor_term, "*", term): factor * value for factor_term, value in first.items()
    }


def _ratio(first: _Terms, second: _Terms) -> _Terms | None:
    """A sum divided by a single term that is not zero."""
    [(term, factor), *further] = second.items()
    if further or factor == 0:
        return None
    return {_joined_text(divided, "/", term): value / factor for divided, value in first.items()}


def _joined_text(left: str, sign: str, right: str) -> str:
    if right == "1":
        return left
    if left == "1" and sign == "*":
        return right
    return sign.join(part if _SINGLE.fullmatch(part) else f"({part})" for part in (left, right))
