"""The language of ``--fail-if``: names, numbers, comparisons, and, or, not, parentheses.

::

    condition   = conjunction { "or" conjunction }
    conjunction = negation { "and" negation }
    negation    = "not" negation | comparison
    comparison  = operand [ ("<" | "<=" | ">" | ">=" | "==" | "!=") operand ]
    operand     = [ "-" ] number | name [ "[" text "]" ] | "(" condition ")"

A name is a quantity or a fact; ``cost["forest"]`` is the quantity of one model. A comparison is
between numbers, and a condition is true or false: which is which is known before anything is
computed. The text is parsed, never run.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from stakes.errors import InputError

__all__ = ["Condition", "Fact", "Name", "Number", "holds", "parse"]

_DEEPEST = 50  # parentheses and nots inside each other
_SIGNS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*)
      | (?P<text>"[^"]*"|'[^']*')
      | (?P<sign><=|>=|==|!=|<|>)
      | (?P<mark>[()\[\]-])
      | (?P<end>$)
    )""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    value: float


@dataclass(frozen=True)
class Name:
    """A quantity, of the model or system named in brackets where there is one."""

    name: str
    of: str | None = None

    def __str__(self) -> str:
        return self.name if self.of is None else f'{self.name}["{self.of}"]'


@dataclass(frozen=True)
class Fact:
    """A name that is true or false by itself."""

    name: Name


@dataclass(frozen=True)
class Comparison:
    """Two numbers and the sign between them."""

    left: Number | Name
    sign: str
    right: Number | Name


@dataclass(frozen=True)
class Not:
    """The opposite of a condition."""

    part: Condition


@dataclass(frozen=True)
class Both:
    """Two conditions that must hold together."""

    left: Condition
    right: Condition


@dataclass(frozen=True)
class Either:
    """Two conditions of which one must hold."""

    left: Condition
    right: Condition


Condition = Fact | Comparison | Not | Both | Either
Node = Number | Name | Condition


def holds(condition: Condition, values: Mapping[Name, float | bool]) -> bool:
    """Whether the condition is true for these values of its names.

    Names are looked up from left to right, as far as is needed.
    """
    match condition:
        case Fact(name):
            return bool(values[name])
        case Comparison(left, sign, right):
            return _SIGNS[sign](*(_value(side, values) for side in (left, right)))
        case Not(part):
            return not holds(part, values)
        case Both(left, right):
            return holds(left, values) and holds(right, values)
        case Either(left, right):
            return holds(left, values) or holds(right, values)


def _value(side: Number | Name, values: Mapping[Name, float | bool]) -> float | bool:
    return side.value if isinstance(side, Number) else values[side]


def parse(
    text: str, *, quantities: Mapping[str, bool], facts: frozenset[str] = frozenset()
) -> Condition:
    """Read a condition.

    Parameters
    ----------
    quantities : names of numbers, and whether each may be asked of one model or system
    facts : names that are true or false

    Examples
    --------
    >>> parse("cost > 3 or not sure", quantities={"cost": True}, facts=frozenset({"sure"}))
    ... # doctest: +NORMALIZE_WHITESPACE
    Either(left=Comparison(left=Name(name='cost', of=None), sign='>', right=Number(value=3.0)),
           right=Not(part=Fact(name=Name(name='sure', of=None))))
    """
    return _Parser(text, quantities, facts).condition_to_the_end()


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int  # from 1, as people count


class _Parser:
    """Recursive descent, one method for each line of the grammar."""

    def __init__(self, text: str, quantities: Mapping[str, bool], facts: frozenset[str]) -> None:
        self._text, self._quantities, self._facts = text, quantities, facts
        self._tokens = list(self._scan())
        self._at = 0
        self._depth = 0

    def condition_to_the_end(self) -> Condition:
        node = self._condition()
        if self._next.kind == "sign":
            raise self._error("comparisons do not chain; join two of them with and")
        if self._next.kind != "end":
            raise self._error("expected and, or, or the end")
        return self._truth(node, self._tokens[0])

    def _condition(self) -> Node:
        return self._joined("or", self._conjunction, Either)

    def _conjunction(self) -> Node:
        return self._joined("and", self._negation, Both)

    def _joined(
        self, word: str, part: Callable[[], Node], made: Callable[[Condition, Condition], Condition]
    ) -> Node:
        start = self._next
        node = part()
        while self._next.text == word:
            self._take()
            left, start_of_right = self._truth(node, start), self._next
            node = made(left, self._truth(part(), start_of_right))
        return node

    def _negation(self) -> Node:
        if self._next.text != "not":
            return self._comparison()
        self._take()
        self._deeper()
        start = self._next
        node = Not(self._truth(self._negation(), start))
        self._depth -= 1
        return node

    def _comparison(self) -> Node:
        start = self._next
        left = self._operand()
        if self._next.kind != "sign":
            return left
        sign = self._take().text
        start_of_right = self._next
        right = self._operand()
        return Comparison(self._amount(left, start), sign, self._amount(right, start_of_right))

    def _operand(self) -> Node:
        token = self._next
        if token.kind == "number":
            return Number(float(self._take().text))
        if token.text == "-":
            self._take()
            return Number(-float(self._expect("number", "a number").text))
        if token.text == "(":
            return self._parenthesis()
        if token.kind == "name" and token.text not in ("and", "or", "not"):
            return self._name()
        raise self._error("expected a name, a number or a parenthesis")

    def _parenthesis(self) -> Node:
        self._take()
        self._deeper()
        node = self._condition()
        self._depth -= 1
        self._expect(")", "a closing parenthesis")
        return node

    def _name(self) -> Node:
        token = self._take()
        if token.text in self._facts:
            return Fact(Name(token.text))
        if token.text not in self._quantities:
            known = ", ".join([*self._quantities, *sorted(self._facts)])
            raise self._error(f"{token.text!r} is not known; known are {known}", token)
        if self._next.text != "[":
            return Name(token.text)
        if not self._quantities[token.text]:
            raise self._error(f"{token.text} belongs to the report as a whole, not to one model")
        self._take()
        of = self._expect("text", "a name in quotes").text[1:-1]
        self._expect("]", "a closing bracket")
        return Name(token.text, of)

    # Kinds ---------------------------------------------------------------------------------------

    def _truth(self, node: Node, start: _Token) -> Condition:
        if isinstance(node, Number | Name):
            raise self._error("expected something true or false, such as cost > 3", start)
        return node

    def _amount(self, node: Node, start: _Token) -> Number | Name:
        if not isinstance(node, Number | Name):
            raise self._error("expected a number to compare, not something true or false", start)
        return node

    # Tokens --------------------------------------------------------------------------------------

    def _scan(self) -> Iterator[_Token]:
        at = 0
        while True:
            found = _TOKEN.match(self._text, at)
            if found is None or found.lastgroup is None:
                bad = len(self._text) - len(self._text[at:].lstrip())
                raise self._error("this sign has no meaning here", _Token("", "", bad + 1))
            kind = found.lastgroup
            yield _Token(kind, found[kind], found.start(kind) + 1)
            if kind == "end":
                return
            at = found.end()

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._next
        self._at += 1
        return token

    def _expect(self, wanted: str, words: str) -> _Token:
        is_mark = self._next.kind == "mark" and self._next.text == wanted
        if not is_mark and self._next.kind != wanted:
            raise self._error(f"expected {words}")
        return self._take()

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._error(f"more than {_DEEPEST} conditions lie inside each other")

    def _error(self, what: str, token: _Token | None = None) -> InputError:
        here = self._next if token is None else token
        found = "the end" if here.kind == "end" else repr(self._text[here.position - 1 :][:12])
        return InputError(
            f"the condition {self._text!r} cannot be read: {what}, at position {here.position} "
            f"({found})."
        )
