"""Maps as text: what `to_json` did not write is refused at the border, field by field."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import pytest

from stakes._check import FloatArray, Labels
from stakes.calibration import (
    Affine,
    BetaMap,
    CalibrationMap,
    FullAffine,
    Histogram,
    Identity,
    Isotonic,
    Logistic,
    OneVsRestIsotonic,
    Temperature,
    VectorScaling,
    from_json,
)
from stakes.errors import InputError
from stakes.scoring import EqualMass

nan, inf = math.nan, math.inf


def _fitted() -> dict[str, CalibrationMap]:
    rng = np.random.default_rng(0)
    q = rng.random(200)
    y = (rng.random(200) < q).astype(int)
    rows = rng.dirichlet([1, 1, 1], 300)
    z = (rng.random(300)[:, None] > np.cumsum(rows, axis=1)).sum(axis=1)
    two = (Isotonic(), Affine(), Logistic(), BetaMap(), Histogram(EqualMass(5)))
    many = (Identity(), Temperature(), VectorScaling(), FullAffine(), OneVsRestIsotonic())
    maps: list[CalibrationMap] = [calibrator.fit(q, y) for calibrator in two]
    maps += [calibrator.fit(rows, z) for calibrator in many]
    return {fitted.kind: fitted for fitted in maps}


MAPS = _fitted()
FIELDS = [(kind, field.name) for kind, fitted in MAPS.items() for field in fields(fitted)]
WRONG: dict[str, Any] = {
    "null": None,
    "text": "x",
    "nan": nan,
    "infinite": inf,
    "empty list": [],
    "empty object": {},
    "wrong length": [0.25],
    "a level too deep": [[0.5, 0.5], [0.5, 0.5]],
    "ragged": [[1], [2, 3]],
    "mixed": [1, "x"],
    "huge": 10**400,
    "falling": [0.9, 0.1],
    "outside": [-3.5, 5.5],
}


def body_of(kind: str) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(MAPS[kind].to_json())
    return body


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_a_field_that_cannot_be_is_refused(kind: str, field: str, wrong: Any) -> None:
    if field == "classes" and wrong == [1, "x"]:  # two labels, indeed
        wrong = ["x", "x"]
    text = json.dumps({**body_of(kind), field: wrong})
    with pytest.raises(InputError, match=r"must"):
        from_json(text)


@pytest.mark.parametrize(("kind", "field"), FIELDS)
def test_a_field_that_is_missing_is_named(kind: str, field: str) -> None:
    body = body_of(kind)
    del body[field]
    with pytest.raises(InputError, match=repr(field)):
        from_json(json.dumps(body))


@pytest.mark.parametrize(("kind", "field"), [pair for pair in FIELDS if pair[1] != "converged"])
def test_true_is_no_number_and_no_array(kind: str, field: str) -> None:
    with pytest.raises(InputError, match="must"):
        from_json(json.dumps({**body_of(kind), field: True}))
    for wrong in (1, "true", None):
        with pytest.raises(InputError, match="converged must be true or false"):
            from_json(json.dumps({**body_of(kind), "converged": wrong}))


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("affine", {"limit": 0.0}, "limit must be above zero"),
        ("affine", {"limit": -5}, "limit must be above zero"),
        ("beta", {"a": -0.5}, "a must be one real number"),
        ("temperature", {"temperature": 0.0}, "temperature must be above zero"),
        ("temperature", {"offsets": [0.0, 1.0]}, r"offsets must have shape \(3,\)"),
        ("vector", {"slopes": [1.0, 1.0]}, r"slopes must have shape \(3,\)"),
        ("full affine", {"matrix": [[1.0, 0.0], [0.0, 1.0]]}, r"matrix must have shape \(3, 3\)"),
        ("isotonic", {"knots": [0.3, 0.2], "values": [0.1, 0.2]}, "knots must be increasing"),
        ("isotonic", {"knots": [0.2, 0.3], "values": [0.4, 0.2]}, "values must not fall"),
        ("isotonic", {"knots": [0.2, 0.3], "values": [0.4, 1.2]}, "values must hold prob"),
        ("isotonic", {"knots": [0.2, 0.3]}, r"values must have shape \(2,\)"),
        ("isotonic", {"below": 0.9, "above": 0.95}, "below, values and above must not fall"),
        ("isotonic", {"below": 1.5}, "below must be one real number"),
        ("histogram", {"cuts": [0.3, 0.2, 0.5, 0.6]}, "cuts must be increasing"),
        ("histogram", {"cuts": [0.2, 0.5]}, r"values must have shape \(3,\)"),
        ("affine", {"classes": ["a", "b", "c"]}, "classes must be 2 labels"),
        ("affine", {"classes": {"a": 1, "b": 2}}, "classes must be a list of labels"),
        ("vector", {"classes": ["a", "a", "b"]}, "classes must be distinct"),
        ("vector", {"classes": ["a"]}, "classes must be 2 labels or more"),
        ("one vs rest isotonic", {"maps": [1, 2, 3]}, "must be an object"),
        ("one vs rest isotonic", {"maps": 3}, "maps must be a list"),
    ],
)
def test_each_kind_says_what_it_wants(kind: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        from_json(json.dumps({**body_of(kind), **change}))


def test_one_vs_rest_wants_an_isotonic_map_for_every_class() -> None:
    body = body_of("one vs rest isotonic")
    other = body_of("affine")
    del other["format"], other["version"], other["checksum"]
    with pytest.raises(InputError, match="maps must be 3 isotonic maps"):
        from_json(json.dumps({**body, "maps": body["maps"][:2]}))
    with pytest.raises(InputError, match="maps must be 3 isotonic maps"):
        from_json(json.dumps({**body, "maps": [*body["maps"][:2], other]}))


@pytest.mark.parametrize("text", [None, b"{}", 3, {"kind": "affine"}, ["x"]])
def test_only_text_is_read(text: Any) -> None:
    with pytest.raises(InputError, match="text must be the JSON of a calibration map, or the path"):
        from_json(text)


@pytest.mark.parametrize(
    "text", ["", "[]", "null", "nan", "{}", '"x"', "7", "[" * 100_000, '{"format": []}']
)
def test_text_of_another_shape_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="text must be"):
        from_json(text)


@pytest.mark.parametrize("kind", [None, [], {}, 1, True, "magic"])
def test_a_kind_that_nobody_knows_is_refused(kind: Any) -> None:
    with pytest.raises(InputError, match="kind must be one of"):
        from_json(json.dumps({**body_of("affine"), "kind": kind}))
    with pytest.raises(InputError, match="must be of version 1"):
        from_json(json.dumps({**body_of("affine"), "version": True}))


@pytest.mark.parametrize("kind", MAPS)
def test_what_was_written_is_read_back_exactly(kind: str) -> None:
    read = from_json(MAPS[kind].to_json())
    assert read == MAPS[kind]
    assert read.to_json() == MAPS[kind].to_json()
    for part in vars(read).values():
        assert not isinstance(part, np.ndarray) or not part.flags.writeable


def test_an_isotonic_map_of_infinite_scores_alone_has_no_knots_and_travels() -> None:
    fitted = Isotonic().fit([-inf, inf, inf], [0, 1, 0])
    assert from_json(fitted.to_json()) == fitted


def test_two_maps_may_not_share_a_kind() -> None:
    with pytest.raises(InputError, match="kind must be new; 'affine' is that of FittedAffine"):

        @dataclass(frozen=True, eq=False)
        class Thief(CalibrationMap):
            kind: ClassVar[str] = "affine"
            classes: Labels
            converged: bool

            def __call__(self, scores: object) -> FloatArray:
                return np.zeros(0)

    with pytest.raises(InputError, match="kind must be a str"):

        class Nameless(CalibrationMap):
            def __call__(self, scores: object) -> FloatArray:
                return np.zeros(0)

    assert isinstance(from_json(MAPS["affine"].to_json()), type(MAPS["affine"]))
