"""A clean environment, profiles of Hypothesis, and the switch that forbids skipping."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# Whoever runs the tests may have any of these set, and programs that print obey them.
for _name in ("COLUMNS", "FORCE_COLOR", "LINES", "MPLBACKEND", "NO_COLOR", "TERM"):
    os.environ.pop(_name, None)

# Shells have what runs in the background ignore interrupts, and every command that a test starts
# inherits that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fixed examples, so that a run can be repeated: few for `make test`, more for `make test-all`.
settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=10)
# New examples each time.
settings.register_profile("dev", settings.get_profile("ci"), derandomize=False)
settings.register_profile(
    "thorough", settings.get_profile("dev"), max_examples=1000, print_blob=True
)
settings.load_profile(os.environ.get("STAKES_HYPOTHESIS", "quick"))

_NO_SKIP = os.environ.get("STAKES_NO_SKIP") == "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that draw examples, which `make test-slow` runs with more of them."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("drawn")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A skipped test is a failed one where everything that a test may need is installed.

    A test with the mark ``skipif`` needs something that not every operating system has.
    """
    report = yield
    permitted = hasattr(report, "wasxfail") or item.get_closest_marker("skipif") is not None
    if _NO_SKIP and report.skipped and not permitted:
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
