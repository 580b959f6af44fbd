"""An interval is correct when simulation says that it covers.

The functions of ``docs/coverage.py`` with few samples, on settings that are quick; its full table
is ``docs/coverage.md``. Seeds are fixed, and tolerances are four binomial standard errors.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from stakes.inference import compare, cost_moments, max_t
from stakes.inference.schemes import AllCases

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_study", ROOT / "docs" / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["coverage_study"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


study = load_script()
COMMITTED = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8")


def generator(seed: int = 11) -> np.random.Generator:
    return np.random.default_rng(seed)


def tolerance(samples: int) -> float:
    """Four standard errors of a share of 0.95, in %, and half a point for n not being infinite."""
    return 400 * float(np.sqrt(0.95 * 0.05 / samples)) + 0.5


def check(found: list[tuple], samples: int, leave_out: tuple[str, ...] = ()) -> None:
    for setting, row in found:
        for kind, coverage in row.items():
            if kind not in leave_out:
                assert abs(coverage - 95) <= tolerance(samples), (setting, kind, coverage)


@pytest.mark.parametrize("prior", [None, (0.8, 0.2)])
def test_intervals_of_costs_areas_and_scores_cover(prior):
    found = list(study.single(1000, 0.5, prior, samples=400, replicates=299, rng=generator()))
    assert [setting.measure for setting, _ in found] == list(study.MEASURES[: len(found)])
    check(found, 400)


def test_intervals_of_a_rare_class_cover_when_there_are_two_hundred_of_it():
    found = list(study.single(10_000, 0.02, None, samples=400, replicates=299, rng=generator()))
    check(found, 400)


@pytest.mark.parametrize(("size", "prevalence"), [(1000, 0.5), (10_000, 0.02)])
def test_intervals_of_paired_differences_cover(size, prevalence):
    check(list(study.paired(size, prevalence, samples=400, replicates=299, rng=generator())), 400)


def test_intervals_of_units_cover_and_those_that_ignore_them_do_not():
    found = list(study.clustered(1000, 0.5, samples=120, replicates=199, rng=generator()))
    check(found, 120, leave_out=("cases, not units",))
    ignoring = [row["cases, not units"] for _, row in found]
    assert np.mean(ignoring) < 90


@pytest.mark.parametrize("count", [2, 4, 5])
def test_intervals_of_a_handful_of_units_nearly_cover(count):
    """Percentiles of so few units hold half to four fifths; Student's are short by skewness."""
    found = list(study.few(50 * count, 0.5, samples=250, replicates=199, rng=generator()))
    for setting, row in found:
        assert row["expanded"] > 95 - tolerance(250) - 4, setting
        assert row["percentile"] < 88, setting


def test_simultaneous_intervals_of_many_pairs_cover_all_at_once():
    """Four models of equal cost, whose six differences are all zero."""
    pair = study.Pair(0.5)
    rng = generator()
    held, samples = 0, 150
    for _ in range(samples):
        drawn = rng.random((300, 4)) < 0.3
        codes, weights = np.unique(drawn @ (1 << np.arange(4)), return_counts=True)
        wrong = (codes[:, None] >> np.arange(4)) & 1
        joint = study.JointCounts._trusted(
            cells=np.concatenate([np.zeros((len(codes), 1), dtype=np.intp), wrong], axis=1),
            weights=weights.astype(float),
            models=("a", "b", "c", "d"),
            classes=pair.problem.classes,
            decisions=pair.problem.decisions,
            groups=None,
        )
        comparison = compare(
            lambda j: cost_moments(j, pair.problem).mean(),
            joint,
            joint.models,
            replicates=299,
            rng=rng,
            scheme=AllCases(),
        )
        pairs = max_t(comparison, level=0.95)
        held += bool(((pairs.low <= 0) & (pairs.high >= 0)).all())
    assert abs(100 * held / samples - 95) <= tolerance(samples)


# The page ----------------------------------------------------------------------------------------


def committed_rows() -> list[list[str]]:
    lines = [line for line in COMMITTED.splitlines() if re.match(r"\| [A-Z]", line)]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]


def committed_numbers() -> list[tuple]:
    """The rows as the script has them, rounded as they are printed."""
    found = []
    for measure, design, size, prevalence, *numbers in committed_rows():
        setting = study.Setting(measure, design, int(size.replace(",", "")), float(prevalence))
        kinds = study.UNIT_KINDS if "units" in design else study.CASE_KINDS
        row = {k: float(n.strip("*")) for k, n in zip(kinds, numbers, strict=True) if n}
        found.append((setting, row))
    return found


def test_the_committed_page_is_what_the_script_writes_of_its_numbers():
    assert study.page(committed_numbers()) == COMMITTED, "run: python docs/coverage.py"


def test_the_numbers_of_the_page_come_out_again():
    ((setting, row),) = study.run(("tied", 1000, 0.5))
    assert {k: round(v, 1) for k, v in row.items()} == dict(committed_numbers())[setting]


def test_the_page_has_every_measure_at_every_size_and_prevalence():
    found = {(row[0], row[1], row[2], row[3]) for row in committed_rows()}
    for size in ("100", "1,000", "10,000"):
        for prevalence in ("0.5", "0.02"):
            for measure in study.MEASURES:
                assert (measure, "cases", size, prevalence) in found
                assert (measure, "units", size, prevalence) in found
            for design in ("paired", "paired, units"):
                assert ("EC difference", design, size, prevalence) in found
    for count in study.FEW:
        size = str(count * study.LARGE_UNIT)
        assert ("EC", f"{count} units of {study.LARGE_UNIT}", size, "0.5") in found


def test_whatever_misses_the_band_is_small_or_rare_and_listed():
    listed = COMMITTED.split("## Exceptions")[1]
    for measure, design, size, prevalence, first, *_ in committed_rows():
        if "tied" in design or not first.startswith("**"):
            continue
        few = f"units of {study.LARGE_UNIT}" in design
        assert prevalence == "0.02" or few, (measure, design, size, prevalence, first)
        assert few or size in ("100", "1,000"), (measure, design, size, prevalence, first)
        where = f"- {measure}, {design}, n = {size}, prevalence {prevalence}: {first.strip('*')} %"
        assert where in listed
