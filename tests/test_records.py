"""Records are frozen dataclasses whose methods are shared instead of compiled for each class."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace

import pytest

from stakes._value import record


@record
class Shipment:
    """Two parts, with a default and a part that is not shown."""

    port: str
    crates: int = 3
    notes: list[str] = field(default_factory=list, repr=False)


@record
class Insured(Shipment):
    """A record with a parent."""

    sum_insured: float = 0.0


@record(repr=False)
class Labelled(Shipment):
    """A record that keeps its parent's text."""


@record(init=False)
class Counted:
    """A record with a constructor of its own."""

    n: int

    def __init__(self, items: tuple[str, ...]) -> None:
        object.__setattr__(self, "n", len(items))

    def __repr__(self) -> str:
        return f"{self.n} items"


@dataclass(frozen=True, eq=False)
class Twin:
    """What the standard library makes of the same parts."""

    port: str
    crates: int = 3
    notes: list[str] = field(default_factory=list, repr=False)


def test_a_record_is_built_shown_and_replaced_like_a_frozen_dataclass() -> None:
    shipment, twin = Shipment("Oslo", crates=4), Twin("Oslo", crates=4)
    assert repr(shipment) == repr(twin).replace("Twin", "Shipment")
    assert [part.name for part in fields(shipment)] == [part.name for part in fields(twin)]
    assert replace(shipment, port="Bergen").port == "Bergen"
    assert Shipment("Oslo").notes is not Shipment("Oslo").notes
    with pytest.raises(TypeError, match="port"):
        Shipment()  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["port", "crates", "weight"])
def test_a_record_refuses_what_a_frozen_dataclass_refuses_in_the_same_words(name: str) -> None:
    for change in (lambda value: setattr(value, name, 1), lambda value: delattr(value, name)):
        with pytest.raises(FrozenInstanceError) as theirs:
            change(Twin("Oslo"))
        with pytest.raises(FrozenInstanceError) as ours:
            change(Shipment("Oslo"))
        assert str(ours.value) == str(theirs.value)


def test_a_record_is_equal_to_itself_only_and_can_be_a_key() -> None:
    first, second = Shipment("Oslo"), Shipment("Oslo")
    assert first != second
    assert {first: 1, second: 2}[first] == 1


def test_copies_and_pickles_have_the_same_parts() -> None:
    shipment = Shipment("Oslo", 5, ["wet"])
    for other in (
        copy.copy(shipment),
        copy.deepcopy(shipment),
        pickle.loads(pickle.dumps(shipment)),
    ):
        assert vars(other) == vars(shipment)


def test_children_have_the_parts_of_their_parents() -> None:
    insured = Insured("Oslo", sum_insured=9.5)
    assert repr(insured) == "Insured(port='Oslo', crates=3, sum_insured=9.5)"
    with pytest.raises(FrozenInstanceError):
        insured.port = "Bergen"  # type: ignore[misc]
    assert repr(Labelled("Oslo")) == "Labelled(port='Oslo', crates=3)"


def test_a_class_keeps_the_methods_that_it_writes_itself() -> None:
    assert repr(Counted(("a", "b"))) == "2 items"


def test_a_record_that_contains_itself_can_be_shown() -> None:
    shipment = Shipment("Oslo")
    notes: list[object] = [shipment]
    outer = replace(shipment, crates=notes)  # type: ignore[arg-type]
    notes.append(outer)
    assert repr(outer).endswith("...])")
