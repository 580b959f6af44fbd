"""The language of --fail-if: read exactly, typed before it runs, never evaluated as Python."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stakes.cli.expression import (
    Both,
    Comparison,
    Either,
    Fact,
    Name,
    Not,
    Number,
    holds,
    parse,
)
from stakes.errors import InputError

QUANTITIES = {"cost": True, "normalized": True, "caveats": False}
FACTS = frozenset({"told_apart"})


def read(text: str) -> Any:
    return parse(text, quantities=QUANTITIES, facts=FACTS)


class Asked(float):
    """A number that can also be asked of one model, as Python would read the same text."""

    of: dict[str, float]

    def __getitem__(self, name: str) -> float:
        return self.of[name]


numbers = st.sampled_from(["0", "1", "0.5", ".5", "2.", "1e1", "3E-1", "-1", "- 2"])
names = st.sampled_from(["cost", "normalized", "caveats", 'cost["a b"]', "normalized['c']"])
operands = numbers | names
signs = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
comparisons = st.tuples(operands, signs, operands).map(" ".join)


words = st.sampled_from([" and ", " or ", "  and\t", " and not ", " or not "])


def joined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return (
        st.tuples(parts, words, parts, words, parts).map("".join)
        | st.tuples(parts, words, parts).map("".join)
        | parts.map(lambda text: f"({text})")
        | parts.map(lambda text: f" not ({text} )")
        | comparisons.map(lambda text: f"not {text}")
        | st.tuples(operands, signs, operands).map("".join)
    )


conditions = st.recursive(comparisons | st.just("told_apart"), joined, max_leaves=8)
amounts = st.sampled_from([-2.0, -1.0, 0.0, 0.3, 0.5, 1.0, 2.0, 10.0])


@given(conditions, st.tuples(*[amounts] * 5), st.booleans())
def test_a_condition_means_what_python_would_make_of_it(text, values, apart):
    cost, normal, caveats, of_a, of_c = values
    known = {
        Name("cost"): cost,
        Name("normalized"): normal,
        Name("caveats"): caveats,
        Name("cost", "a b"): of_a,
        Name("normalized", "c"): of_c,
        Name("told_apart"): apart,
    }
    twins: dict[str, Any] = {"cost": Asked(cost), "normalized": Asked(normal)}
    twins["cost"].of, twins["normalized"].of = {"a b": of_a}, {"c": of_c}
    twins |= {"caveats": caveats, "told_apart": apart}
    assert holds(read(text), known) is bool(eval(text.strip(), {"__builtins__": {}}, twins))


@given(st.text(alphabet="()[]<>=!-. 15ecosta\"'ndr", max_size=24))
def test_any_text_is_a_condition_or_an_input_error(text):
    told = "nothing was raised"
    condition: Any = None
    try:
        condition = read(text)
    except InputError as error:
        told = str(error)
    assert isinstance(condition, Fact | Comparison | Not | Both | Either) or "position" in told


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("third", [True, False])
def test_words_join_as_their_truth_table_says(first, second, third):
    values = {Name("cost"): 5.0 * first, Name("caveats"): 5.0 * second, Name("told_apart"): third}
    assert holds(read("cost > 3 and caveats > 3"), values) is (first and second)
    assert holds(read("cost > 3 or caveats > 3"), values) is (first or second)
    assert holds(read("not cost > 3"), values) is (not first)
    mixed = "cost > 3 or caveats > 3 and not told_apart"
    assert holds(read(mixed), values) is (first or (second and not third))


def test_and_binds_closer_than_or_and_not_closer_than_and():
    cost, told = Comparison(Name("cost"), ">", Number(3.0)), Fact(Name("told_apart"))
    assert read("cost > 3 or cost > 3 and told_apart") == Either(cost, Both(cost, told))
    assert read("not told_apart and cost > 3") == Both(Not(told), cost)


def test_names_are_looked_up_as_far_as_is_needed():
    values = {Name("cost"): 4.0, Name("told_apart"): False}
    assert holds(read("cost > 3 or caveats > 3"), values)
    assert not holds(read("told_apart and caveats > 3"), values)
    with pytest.raises(KeyError):
        holds(read("caveats > 3 or cost > 3"), values)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"expected a name, a number or a parenthesis, at position 1 \(the end\)"),
        ("cost", r"expected something true or false, such as cost > 3, at position 1 \('cost'\)"),
        ("cost >", r"expected a name, a number or a parenthesis, at position 7 \(the end\)"),
        ("cost > 3 cost", r"expected and, or, or the end, at position 10 \('cost'\)"),
        ("1 < cost < 3", r"comparisons do not chain; join two of them with and, at position 10"),
        ("(cost > 3", r"expected a closing parenthesis, at position 10 \(the end\)"),
        ("cost > 3)", r"expected and, or, or the end, at position 9 \('\)'\)"),
        ("cost > 3 or 4", r"expected something true or false, .*, at position 13 \('4'\)"),
        ("not cost", r"expected something true or false, .*, at position 5 \('cost'\)"),
        ("told_apart > 1", r"expected a number to compare, .*, at position 1 \('told_apart >"),
        ("3 > (cost > 2)", r"expected a number to compare, .*, at position 5"),
        ("price > 3", r"'price' is not known; known are cost, normalized, caveats, told_apart"),
        ("cost[x] > 3", r"expected a name in quotes, at position 6"),
        ("cost['x' > 3", r"expected a closing bracket, at position 10"),
        ("caveats['x'] > 3", r"caveats belongs to the report as a whole, .*, at position 8"),
        ("cost > - cost", r"expected a number, at position 10 \('cost'\)"),
        ("cost > 3 & told_apart", r"this sign has no meaning here, at position 10 \('& told_apart"),
        ("__import__('os')", r"'__import__' is not known"),
        ("cost ** 2 > 1", r"this sign has no meaning here, at position 6"),
        ("(" * 60 + "cost > 1" + ")" * 60, r"more than 50 conditions lie inside each other"),
        ("not " * 2000 + "told_apart", r"more than 50 conditions lie inside each other"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_was_expected(text, message):
    with pytest.raises(InputError, match=message):
        read(text)
