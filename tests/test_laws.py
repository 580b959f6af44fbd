"""Every tally and every measure obeys the laws of its registry; see ``laws.py``."""

from __future__ import annotations

import importlib
import inspect
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stakes
import stakes.tally
from few_examples import at_most
from laws import (
    TALLIES,
    WEIGHTS,
    WHOLE_WEIGHTS,
    Law,
    Subject,
    agree,
    reordered_argument,
    repeated,
    weights_of,
)

FILES = sorted(path.stem for path in Path(__file__).parent.glob("laws_*.py"))
REGISTERS = [importlib.import_module(name) for name in FILES]
LAWS: list[Law] = [law for register in REGISTERS for law in register.LAWS]

every_law = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
every_weighable_law = pytest.mark.parametrize(
    "law", [law for law in LAWS if law.subject.weighable], ids=lambda law: law.name
)
every_law_without_a_positive_class = pytest.mark.parametrize(
    "law", [law for law in LAWS if law.moves is not None], ids=lambda law: law.name
)
every_tally = pytest.mark.parametrize(
    "subject", TALLIES, ids=lambda subject: getattr(subject, "name", subject.kind.__name__)
)
few = at_most(15)


# Nobody is left out ------------------------------------------------------------------------------


#: What rooms export for other rooms: parts of tables, and no measures of them.
PARTS = {"probability_scores", "single", "coefficients_on", "constant_sums", "term_cost"}


def is_measure_of_scores(function: Any) -> bool:
    """Whether a function of a score table makes numbers or a curve of it, rather than a table."""
    told = inspect.get_annotations(function)
    return told.get("table") == "ScoreTable" and told["return"] in MADE


MADE = ("Numbers", "FloatArray", "BoolArray | np.bool_", "Curve")
OF_SCORES = ("stakes.ranking", "stakes.scoring", "stakes.curves")


def public_functions(room: str) -> set[str]:
    """The functions, or the measures of scores, that the ``__all__`` of a room names."""
    offered = importlib.import_module(room)
    named = {name: getattr(offered, name) for name in offered.__all__ if name not in PARTS}
    measures = {name: f for name, f in named.items() if inspect.isfunction(f)}
    if room in OF_SCORES:
        measures = {name: f for name, f in measures.items() if is_measure_of_scores(f)}
    return {f"{f.__module__}.{name}" for name, f in measures.items()}


@pytest.mark.parametrize("register", REGISTERS, ids=FILES)
def test_every_public_function_of_a_room_is_in_the_registry(register: Any) -> None:
    registered = {f"{law.measure.__module__}.{law.name}" for law in LAWS}
    public = set().union(*(public_functions(room) for room in register.ROOMS))
    assert public, "a room without public functions is no room"
    assert sorted(public - registered) == []


def test_every_room_of_measures_has_a_register() -> None:
    rooms = {room for register in REGISTERS for room in register.ROOMS}
    assert {"stakes.measures", "stakes.agreement", *OF_SCORES} <= rooms


def test_every_tally_is_in_the_registry() -> None:
    offered = {getattr(stakes.tally, name) for name in stakes.tally.__all__}
    classes = {kind for kind in offered if inspect.isclass(kind)}
    tallies = {kind for kind in classes if issubclass(kind, stakes.tally.Tally)}
    concrete = {kind for kind in tallies if not inspect.isabstract(kind)}
    assert concrete == {subject.kind for subject in TALLIES}


def test_no_measure_is_registered_twice() -> None:
    names = [f"{law.measure.__module__}.{law.name}" for law in LAWS]
    assert len(names) == len(set(names))


# Tallies -----------------------------------------------------------------------------------------


def draw_cases(data: Any, subject: Subject) -> tuple[Any, list[Any]]:
    world = data.draw(subject.worlds(), label="world")
    return world, data.draw(subject.cases(world), label="cases")


@every_tally
@given(data=st.data())
def test_a_tally_is_the_plain_sum_over_cases(subject: Subject, data: Any) -> None:
    world, cases = draw_cases(data, subject)
    weights = data.draw(weights_of(cases, WEIGHTS), label="weights")
    tally = subject.tally(world, cases, weights)
    subject.same(subject.plain(tally), subject.slow(world, cases, weights))
    assert tally.n_cases == sum(weights)


@every_tally
@given(data=st.data())
def test_tallies_of_chunks_add_up_to_the_tally_of_all(subject: Subject, data: Any) -> None:
    """Halves and quarters are exact in binary, so the equality is too."""
    world = data.draw(subject.worlds())
    chunks = [data.draw(subject.cases(world), label="chunk") for _ in range(3)]
    weights = [data.draw(weights_of(chunk, WEIGHTS)) for chunk in chunks]
    first, second, third = map(subject.tally, [world] * 3, chunks, weights)
    whole = subject.tally(world, [*chain(*chunks)], [*chain(*weights)])
    subject.same((first + second) + third, whole)
    subject.same(first + (second + third), whole)
    subject.same(third + (second + first), whole)


@every_tally
@given(data=st.data())
def test_merging_fractional_weights_is_associative_to_rounding(subject: Subject, data: Any) -> None:
    world = data.draw(subject.worlds())
    chunks = [data.draw(subject.cases(world)) for _ in range(3)]
    tenths = st.integers(1, 30).map(lambda tenth: tenth / 10)
    first, second, third = (
        subject.tally(world, chunk, data.draw(weights_of(chunk, tenths))) for chunk in chunks
    )
    forwards, other = (
        subject.plain((first + second) + third),
        subject.plain(third + (second + first)),
    )
    for left, right in zip(forwards, other, strict=True):
        agree(np.array(left), np.array(right))


@every_tally
@given(data=st.data())
def test_the_order_of_the_cases_does_not_matter(subject: Subject, data: Any) -> None:
    world, cases = draw_cases(data, subject)
    weights = data.draw(weights_of(cases, WEIGHTS))
    shuffled = data.draw(st.permutations(range(len(cases))))
    again = subject.tally(world, [cases[i] for i in shuffled], [weights[i] for i in shuffled])
    subject.same(again, subject.tally(world, cases, weights))


@every_tally
@given(data=st.data())
def test_sums_of_weights_are_those_of_repeated_cases_and_no_weight_is_absence(
    subject: Subject, data: Any
) -> None:
    world, cases = draw_cases(data, subject)
    weights = data.draw(weights_of(cases, WHOLE_WEIGHTS))
    again = subject.tally(world, repeated(cases, weights))
    weighted = subject.tally(world, cases, weights)
    assert weighted.weighted == any(weight > 1 for weight in weights)
    subject.same(weighted._but(weighted=False), again)


@every_tally
@given(data=st.data())
def test_classes_in_another_order_give_the_tally_in_that_order(subject: Subject, data: Any) -> None:
    world, cases = draw_cases(data, subject)
    order = data.draw(subject.orders(world))
    renamed = subject.tally(
        subject.reordered_world(world, order), subject.reordered_cases(cases, order)
    )
    subject.same(renamed, subject.reordered_tally(subject.tally(world, cases), order))


@every_tally
@given(data=st.data())
def test_groups_are_the_tallies_of_their_own_cases(subject: Subject, data: Any) -> None:
    world, cases = draw_cases(data, subject)
    by = [data.draw(st.sampled_from(["north", "south"])) for _ in cases]
    grouped = subject.tally(world, cases, None, by)
    for index, label in enumerate(grouped.groups):
        members = [case for case, group in zip(cases, by, strict=True) if group == label]
        expected = subject.plain(subject.tally(world, members))
        subject.same(subject.plain(grouped[index]), expected)


@every_tally
@given(data=st.data())
def test_a_tally_keeps_its_contract(subject: Subject, data: Any) -> None:
    """Class weights, shares, reweighting and sums over clusters, by plain sums over cases."""
    world, cases = draw_cases(data, subject)
    weights = data.draw(weights_of(cases, WEIGHTS))
    by = [data.draw(st.sampled_from(["north", "south", "west"])) for _ in cases]
    tally, clustered = (subject.tally(world, cases, weights, part) for part in (None, by))
    names = tally.class_names
    sums = [sum(w for c, w in zip(cases, weights, strict=True) if c[0] == name) for name in names]
    assert tally.class_weights.tolist() == sums
    assert tally.leading == ()
    assert clustered.leading == (clustered.n_clusters,) == (len(clustered.groups),)
    assert clustered.size == clustered.n_clusters * clustered[0].size
    times = np.array([[data.draw(st.integers(0, 3)) for _ in clustered.groups] for _ in range(2)])
    for row, sums_of_times in zip(times, clustered.sum_clusters(times.astype(float)), strict=True):
        often = dict(zip(clustered.groups, row.tolist(), strict=True))
        counted = [w * often.get(b, 0) for w, b in zip(weights, by, strict=True)]
        if any(counted):
            subject.same(subject.plain(sums_of_times), subject.slow(world, cases, counted))
    prior = [1 / len(names)] * len(names)
    moved = tally.with_prior(prior)
    if all(sums):
        agree(moved.shares, np.array(prior))
        agree(moved.n_cases, tally.n_cases)


@every_tally
@given(data=st.data())
def test_the_cells_of_a_tally_are_its_cases(subject: Subject, data: Any) -> None:
    if not issubclass(subject.kind, stakes.tally.CellTally):
        return
    world, cases = draw_cases(data, subject)
    tally = subject.tally(world, cases, data.draw(weights_of(cases, WEIGHTS)))
    owner, cells = tally.cell_classes, tally.cell_weights
    assert (np.diff(owner) >= 0).all()
    sums = [cells[owner == k].sum() for k in range(len(tally.class_names))]
    assert sums == tally.class_weights.tolist()
    assert tally.with_cell_weights(np.array(cells)) == tally
    doubled = tally.with_cell_weights(np.stack([cells, 2 * cells]))
    assert doubled[0] == tally
    assert doubled[1] == tally + tally


# Measures ----------------------------------------------------------------------------------------


def draw_tally(data: Any, law: Law, world: Any) -> Any:
    cases = data.draw(law.subject.cases(world), label="cases")
    weighable = law.subject.weighable
    return law.subject.tally(
        world, cases, data.draw(weights_of(cases, WEIGHTS)) if weighable else None
    )


@every_law
@given(data=st.data())
def test_a_measure_agrees_with_its_slow_twin(law: Law, data: Any) -> None:
    world = data.draw(law.subject.worlds())
    tally = draw_tally(data, law, world)
    arguments = data.draw(law.arguments(world), label="arguments")
    agree(law(tally, *arguments), law.twin(law.subject.plain(tally), *arguments))


@every_law
@few
@given(data=st.data())
def test_leading_axes_are_carried_through(law: Law, data: Any) -> None:
    world = data.draw(law.subject.worlds())
    tallies = [draw_tally(data, law, world) for _ in range(4)]
    arguments = data.draw(law.arguments(world), label="arguments")
    singles = [law(tally, *arguments) for tally in tallies]
    for shape in ((4,), (2, 2)):
        batch = law(law.subject.stacked(tallies, shape), *arguments)
        assert batch.shape == (*shape, *singles[0].shape)
        agree(batch.reshape(4, *singles[0].shape), singles)


@every_weighable_law
@few
@given(data=st.data())
def test_a_measure_depends_on_the_cases_alone(law: Law, data: Any) -> None:
    """Not on their order, nor on whether a case is weighted, repeated, or merged from chunks."""
    subject = law.subject
    world, cases = draw_cases(data, subject)
    weights = data.draw(weights_of(cases, WHOLE_WEIGHTS))
    arguments = data.draw(law.arguments(world), label="arguments")
    value = law(subject.tally(world, cases, weights), *arguments)
    singles = data.draw(st.permutations(repeated(cases, weights)))
    agree(law(subject.tally(world, singles), *arguments), value)
    cut = data.draw(st.integers(0, len(singles)))
    chunks = [subject.tally(world, chunk) for chunk in (singles[:cut], singles[cut:]) if chunk]
    merged = chunks[0] if len(chunks) == 1 else chunks[0] + chunks[1]
    agree(law(merged, *arguments), value)


@every_law_without_a_positive_class
@few
@given(data=st.data())
def test_classes_in_another_order_only_move_the_values(law: Law, data: Any) -> None:
    assert law.moves is not None
    world = data.draw(law.subject.worlds())
    tally = draw_tally(data, law, world)
    arguments = data.draw(law.arguments(world), label="arguments")
    order = data.draw(law.subject.orders(world), label="order")
    renamed = [reordered_argument(argument, order) for argument in arguments]
    values = law(law.subject.reordered_tally(tally, order), *renamed)
    agree(values, law.moves(law(tally, *arguments), order))


@every_law
@settings(max_examples=3)
@given(data=st.data())
def test_a_measure_of_one_tally_is_typed_as_what_it_returns(law: Law, data: Any) -> None:
    """A number of one tally is np.float64, which `Numbers` says; numbers of classes are arrays."""
    world = data.draw(law.subject.worlds())
    arguments = data.draw(law.arguments(world), label="arguments")
    value = (law.call or law.measure)(draw_tally(data, law, world), *arguments)
    told = inspect.get_annotations(law.measure)["return"]
    assert not (isinstance(value, np.ndarray) and value.ndim == 0)
    assert {"Numbers": np.float64, "FloatArray": np.ndarray}.get(told, type(value)) is type(value)
