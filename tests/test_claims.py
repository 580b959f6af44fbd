"""The table of claims is what the tests say, and every claim has a test."""

from __future__ import annotations

import importlib.util
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest

import stakes

ROOT = Path(__file__).parents[1]


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("claims", ROOT / "docs" / "claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


claims = load_script()
TESTS: dict[str, list[str]] = claims.tests_by_claim(ROOT / "tests")


def test_the_committed_table_is_what_the_script_writes() -> None:
    committed = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert committed == claims.written(TESTS), "run: python docs/claims.py"


def test_every_claim_has_a_test() -> None:
    assert [claim for claim in claims.CLAIMS if claim not in TESTS] == []


@pytest.mark.parametrize("claim", claims.CLAIMS)
def test_every_claim_names_functions_that_exist(claim: str) -> None:
    for path in claims.FUNCTIONS[claim].split():
        attrgetter(path)(stakes)  # an AttributeError names what is missing


def test_no_test_names_a_claim_that_the_papers_do_not_make() -> None:
    assert set(TESTS) - set(claims.CLAIMS) == set()


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("test_E8_bayes_decisions_cost_least", ["E8"]),
        ("test_E5_E6_normalised_cost", ["E5", "E6"]),
        ("test_K13", ["K13"]),
        ("test_expected_cost_of_E8", []),
        ("test_E8bayes", []),
        ("test_B1_is_no_claim", []),
    ],
)
def test_ids_are_read_from_the_head_of_a_name(name: str, ids: list[str]) -> None:
    assert claims.ids_in(name) == ids
