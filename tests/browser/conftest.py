"""A headless Chromium, and pages that notice every request and every word on the console."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stakes import Decisions, Problem, Report, Scores, evaluate
from stakes.calibration import Affine

ARGUMENTS = [
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run"),
]
DATA = Path(__file__).parents[2] / "src" / "stakes" / "data"


@dataclass
class Opened:
    """A page that was opened from disk, and what happened while it was open."""

    page: Any
    html: str
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    @property
    def data(self) -> dict[str, Any]:
        """The embedded tallies."""
        match = re.search(r'id="stakes-data">(.*?)</script>', self.html, flags=re.DOTALL)
        assert match is not None
        return json.loads(match[1])

    def text(self, selector: str) -> str:
        """What a reader sees, with ordinary spaces."""
        return self.page.inner_text(selector).replace("\u00a0", " ")

    def run(self, script: str, argument: object = None) -> Any:
        return self.page.evaluate(script, argument)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Opened]]:
    """Write a report as a page and open it from disk."""
    contexts = []

    def open_it(report: Report, **settings: Any) -> Opened:
        html = report.to_html(tmp_path / "report.html")
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        tab = Opened(context.new_page(), html)
        tab.page.on("request", lambda request: tab.requests.append(request.url))
        tab.page.on("console", lambda line: tab.complaints.append(f"{line.type}: {line.text}"))
        tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        tab.page.on("dialog", lambda dialog: tab.complaints.append(f"dialog: {dialog.message}"))
        tab.page.goto((tmp_path / "report.html").as_uri())
        return tab

    yield open_it
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def demo() -> Report:
    """The shipped example: two classes, three decisions, a prior that is not the data's."""
    rows = np.genfromtxt(
        DATA / "german_credit.csv", delimiter=",", names=True, dtype=None, encoding="utf-8"
    )
    names = [name for name in rows.dtype.names or () if name not in ("risk", "age")]
    problem = Problem.from_toml(DATA / "german_credit.toml")
    models = {name.replace("_", " "): rows[name] for name in names}
    by, calibrator = rows["age"], Affine()
    return evaluate(rows["risk"], models, problem, by=by, calibrator=calibrator, replicates=50)


@pytest.fixture(scope="session")
def clinic() -> Report:
    """Two classes, two decisions; posteriors in bins, raw scores, and a model that decides."""
    rng = np.random.default_rng(3)
    y = (rng.random(3000) < 0.12).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.2, -1.2), 1.55) - 2
    models = {
        "nomogram": 1 / (1 + np.exp(-log_odds)),
        "network": 1 / (1 + np.exp(-2.5 * log_odds)),
        "raw score": Scores(log_odds + rng.normal(size=y.size)),
        "the clinic": Decisions(np.where(log_odds > -1, "treat", "send home")),
    }
    problem = Problem.binary(
        false_alarm=1,
        miss=8,
        classes=["well", "ill"],
        decisions=["send home", "treat"],
        unit="EUR",
    )
    return evaluate(np.array(["well", "ill"])[y], models, problem, replicates=50)


@pytest.fixture(scope="session")
def digits() -> Report:
    """Ten classes, eleven decisions, six models, twenty slices."""
    rng = np.random.default_rng(5)
    n_cases, size = 1500, 10
    y = rng.integers(0, size, n_cases)
    costs = rng.integers(1, 9, (size, size + 1)).astype(float)
    costs[np.arange(size), np.arange(size)] = 0
    costs[:, size] = 1.5
    names = [f"digit {i}" for i in range(size)]
    problem = Problem(
        costs,
        classes=names,
        decisions=[*(f"read as {i}" for i in range(size)), "ask a person"],
        unit="ct",
    )
    models = {}
    for j, model in enumerate(["nearest neighbours", "trees", "linear", "small", "large", "old"]):
        logits = rng.normal(size=(n_cases, size)) + (1.5 + 0.4 * j) * np.eye(size)[y]
        models[model] = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    sites = np.array([f"site {i:02d}" for i in range(20)])[rng.integers(0, 20, n_cases)]
    return evaluate(np.array(names)[y], models, problem, by=sites, replicates=20)
