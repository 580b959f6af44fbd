"""Profiles of Hypothesis, the mark of the peers, and the switch that forbids skipping."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow]
settings.register_profile(
    "ci", derandomize=True, deadline=None, max_examples=60, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "dev", derandomize=False, deadline=None, max_examples=60, suppress_health_check=_SLOW_IS_FINE
)
settings.register_profile(
    "thorough", settings.get_profile("dev"), max_examples=1000, print_blob=True
)
# The default is the fixed profile, so that a run can be repeated; CI takes no other.
settings.load_profile("ci" if os.environ.get("CI") else os.environ.get("STAKES_HYPOTHESIS", "ci"))

_PEERS = Path(__file__).parent / "peers"
_NO_SKIP = os.environ.get("STAKES_NO_SKIP") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if _PEERS in item.path.parents:
            item.add_marker(pytest.mark.peers)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test is a failed one where everything that a test may need is installed."""
    report = yield
    if _NO_SKIP and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"STAKES_NO_SKIP=1 forbids skipping: {_reason(report.longrepr)}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself, as ``pytest.importorskip`` makes it do."""
    report = yield
    if _NO_SKIP and report.skipped:
        report.outcome = "failed"
        report.longrepr = f"STAKES_NO_SKIP=1 forbids skipping: {_reason(report.longrepr)}"
    return report


def _reason(longrepr: object) -> str:
    return str(longrepr[-1] if isinstance(longrepr, tuple) else longrepr)
