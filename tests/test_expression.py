"""Expressions that people write: read exactly, typed before use, never run as code."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes._expression import DEEPEST, LONGEST_TEXT, NUMBERS, Expression, Name, parse
from stakes.errors import InputError

KNOWN = {"cost": True, "normalized": True, "caveats": False}
FACTS = frozenset({"told_apart"})


def gate(text: str) -> Expression:
    return parse(text, what="the condition", known=KNOWN, facts=FACTS, truth=True)


class Asked(float):
    """A number that can also be asked of one model, as Python would read the same text."""

    of: dict[str, float]

    def __getitem__(self, name: str) -> float:
        return self.of[name]


numbers = st.sampled_from(["0", "1", "0.5", ".5", "2.", "1e1", "3E-1", "-1", "- 2"])
names = st.sampled_from(["cost", "normalized", "caveats", 'cost["a b"]', "normalized['c']"])
amounts = st.recursive(
    numbers | names,
    lambda part: (
        st.tuples(part, st.sampled_from(["+", "-", " * ", " + "]), part).map("".join)
        | part.map(lambda text: f"({text})")
        | st.tuples(st.sampled_from(["min", "max"]), part, part).map(
            lambda x: f"{x[0]}({x[1]}, {x[2]})"
        )
        | part.map(lambda text: f"abs({text})")
    ),
    max_leaves=4,
)
signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
comparisons = st.tuples(amounts, signs, amounts).map(" ".join)
words = st.sampled_from([" and ", " or ", "  and\t", " and not ", " or not "])


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(parts, words, parts, words, parts).map("".join)
        | st.tuples(parts, words, parts).map("".join)
        | parts.map(lambda text: f"({text})")
        | parts.map(lambda text: f" not ({text} )")
        | comparisons.map(lambda text: f"not {text}")
    )


conditions = st.recursive(comparisons | st.just("told_apart"), joined, max_leaves=8)
values = st.sampled_from([-2.0, -1.0, 0.0, 0.3, 0.5, 1.0, 2.0, 10.0])


@given(conditions, st.tuples(*[values] * 5), st.booleans())
def test_a_condition_means_what_python_would_make_of_it(text, drawn, apart):
    cost, normal, caveats, of_a, of_c = drawn
    known: dict[Name, Any] = {
        Name("cost"): cost,
        Name("normalized"): normal,
        Name("caveats"): caveats,
        Name("cost", "a b"): of_a,
        Name("normalized", "c"): of_c,
        Name("told_apart"): apart,
    }
    twins: dict[str, Any] = {"cost": Asked(cost), "normalized": Asked(normal)}
    twins["cost"].of, twins["normalized"].of = {"a b": of_a}, {"c": of_c}
    twins |= {"caveats": caveats, "told_apart": apart, "min": min, "max": max, "abs": abs}
    assert bool(gate(text)(known)) is bool(eval(text.strip(), {"__builtins__": {}}, twins))


@given(st.text(alphabet="()[]<>=!-+*/. 15ecosta,minx\"'ndr\\#\n", max_size=24))
def test_any_text_is_a_condition_or_an_input_error(text):
    told = "nothing was raised"
    read: Any = None
    try:
        read = gate(text)
    except InputError as error:
        told = str(error)
    assert isinstance(read, Expression) or "at position" in told


def test_names_are_looked_up_as_far_as_is_needed():
    known = {Name("cost"): 4.0, Name("told_apart"): False}
    assert gate("cost > 3 or caveats > 3")(known)
    assert not gate("told_apart and caveats > 3")(known)
    with pytest.raises(KeyError):
        gate("caveats > 3 or cost > 3")(known)


def test_undefined_numbers_close_no_gate_silently():
    known = {Name("cost"): float("inf"), Name("caveats"): 0.0}
    for text in ("cost - cost > 1", "1 / caveats > 1", "cost * caveats < 1"):
        with pytest.raises(InputError, match=r"is undefined: it joins .* Ask first whether"):
            gate(text)(known)
    assert gate("cost > 1 or 1 / caveats > 1")(known, NUMBERS) is True
    assert gate("abs(caveats - 1) > 2 and 1 / caveats > 1")(known, NUMBERS) is False


def test_an_expression_of_columns_is_computed_for_all_rows_at_once():
    """Slow twin: row by row, with Python's own functions."""
    cost = parse(
        'where(column["loan amount"] > 100 and not age < 30, 5 + 0.02 * age, max(1, -age))'
    )
    assert cost.names == (Name("loan amount"), Name("age"))
    loan, age = np.array([50.0, 150.0, 150.0, 101.0]), np.array([40.0, 40.0, 20.0, 30.0])
    rows = zip(age.tolist(), loan.tolist(), strict=True)
    slow = [5 + 0.02 * a if b > 100 and not a < 30 else max(1, -a) for a, b in rows]
    costs = cost({Name("loan amount"): loan, Name("age"): age})
    np.testing.assert_allclose(costs, slow)


def test_equal_texts_are_equal_expressions():
    assert parse("amount / 2") == parse("amount / 2") != parse("amount / 3")
    assert hash(parse("amount / 2")) == hash(parse("amount / 2"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected a name, a number or a parenthesis, at position 1 \(the end\)"),
        ("cost", r"expected something true or false, such as cost > 3, at position 1 \('cost'\)"),
        ("cost >", r"is incomplete, or has a character without meaning, at position 7 \(the end\)"),
        ("cost > 3 cost", r"it is incomplete, or has a character without meaning, at position 10"),
        ("1 < cost < 3", r"comparisons do not chain; join two of them with and, at position 12"),
        ("   cost > 3)", r"character without meaning, at position 12 \('\)'\)"),
        ("cost > 3)", r"character without meaning, at position 9 \('\)'\)"),
        ("cost > 3 or 4", r"expected something true or false, .*, at position 13 \('4'\)"),
        ("not cost", r"expected something true or false, .*, at position 5 \('cost'\)"),
        ("told_apart > 1", r"expected a number, at position 1 \('told_apart >"),
        ("3 > (cost > 2)", r"expected a number, at position 6"),
        ("price > 3", r"'price' is not known; known are cost, normalized, caveats, told_apart"),
        ("1 < cost[lr]", r'what stands in brackets is in quotes: cost\["lr"\], at position 5'),
        ("cost[3] > 3", r"only numbers, names, .* have a meaning here, at position 1"),
        ("COST > 3", r"'COST' is not known \(did you mean cost\?\); known are cost, norm"),
        ("costs > 3", r"'costs' is not known \(did you mean cost\?\); known are cost, nor"),
        ('1 + cost["=>"] = 3', r"= has no meaning; write ==, at position 16"),
        ("cost >= 1 or cost => 1", r"=> has no meaning; write >=, at position 19"),
        ("cost =< 1", r"=< has no meaning; write <=, at position 6"),
        ("cost > 1 && told_apart", r"&& has no meaning; write and, at position 10"),
        ("cost > 3 cost", r"Write it as in cost > 3 or not deployable\.$"),
        ("caveats['x'] > 3", r"caveats belongs to the report as a whole, .*, at position 1"),
        ("  'é' > 3", r"only numbers, names"),
        ("cost['é'] > 3 & told_apart", r"have a meaning here, at position 13"),
        ("__import__('os')", r"'__import__' is no function; functions are min, max, abs and where"),
        ("cost.real > 1", r"only numbers, names"),
        ("cost ** 2 > 1", r"only numbers, names"),
        ("(lambda: 1)() > 1", r"only numbers, names"),
        ("abs(cost, 1) > 1", r"abs takes 1 arguments"),
        ("min(cost) > 1", r"min takes 2 arguments or more"),
        ("cost > 1e999", r"the number is too large, at position 8"),
        ("cost > " + "9" * 400, r"the number is too large"),
        ("not " * 60 + "told_apart", rf"more than {DEEPEST} parts are joined, or lie inside"),
        ("(" * 400 + "cost > 1" + ")" * 400, rf"more than {DEEPEST} parts are joined"),
        ("not " * 2000 + "told_apart", rf"more than {LONGEST_TEXT} characters"),
        ("cost > 3\0", r"character without meaning"),
        ("\ud800 > 1", r"character without meaning"),
    ],
)
def test_a_mistake_is_reported_with_its_place_and_what_was_expected(text, message):
    with pytest.raises(InputError, match=message):
        gate(text)


def test_the_largest_number_is_a_number():
    assert parse("amount + 1.7976931348623157e308")({Name("amount"): 0.0}) == sys.float_info.max


def test_odd_names_of_columns_stand_in_brackets_behind_column():
    with pytest.raises(InputError, match=r'odd names are written column\["…"\]'):
        parse('frame["loan amount"] * 2')
    with pytest.raises(InputError, match="expected a number"):
        parse("amount > 3")


def test_names_keep_their_letters_although_python_would_replace_some():
    """Python reads the micro sign as the Greek letter, and ª as a."""
    micro, greek = "\u00b5", "\u03bc"
    expression = parse(f"{micro} + 2*{greek} + \u00aa")
    assert [str(name) for name in expression.names] == [micro, greek, "\u00aa"]
    values = {Name(micro): 1.0, Name(greek): 10.0, Name("\u00aa"): 100.0}
    assert expression(values) == 121.0
    named = (f'column["{name}"]' for name in (micro, greek, "\u00aa"))
    assert expression.terms == dict(zip(named, (1, 2, 1), strict=True))


def test_an_expression_may_span_lines():
    expression = parse("max(5,\n    amount)\r\n  + 1")
    assert expression({Name("amount"): 7.0}) == 8.0
    with pytest.raises(InputError, match=r"at position 10 \('\* 3"):
        parse("amount\n+ * 3")
