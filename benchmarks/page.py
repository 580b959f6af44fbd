"""Processor time of a change on the page, from the input to the next frame, in Chromium.

    python benchmarks/page.py

Prints the median and the slowest of twenty changes for sixty models, for sixty with recalibration
(180 systems where the prior is moved), and for thirty classes with thirty decisions. Work that the
page puts off until the sliders rest is left out. The search for what would change the verdict, in
small pieces while nothing moves, has its own time.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from playwright.sync_api import sync_playwright

from stakes import Problem, Report, evaluate

QUICK: dict[str, Any] = {"calibrator": None, "replicates": 10}
CHANGE = """i => new Promise(done => {
    const sliders = document.querySelectorAll("#controls input[type=range]");
    const slider = sliders[i % sliders.length]; // some changes take longer than others
    slider.value = Number(slider.max) * (0.3 + 0.02 * i);
    slider.dispatchEvent(new Event("input", {bubbles: true}));
    requestAnimationFrame(() => done(document.body.offsetHeight));
})"""


def sixty_models(**options: Any) -> Report:
    """A report on sixty models of two classes."""
    rng = np.random.default_rng(6)
    y = (rng.random(1000) < 0.3).astype(int)
    log_odds = rng.normal(np.where(y == 1, 1.0, -1.0), 1.5, size=(60, 1000)) - 0.8
    models = {f"model {i:02d}": 1 / (1 + np.exp(-odds)) for i, odds in enumerate(log_odds)}
    problem = Problem.binary(false_alarm=1, miss=4, unit="EUR")
    return evaluate(y, models, problem, **(options or QUICK))


def sixty_recalibrated() -> Report:
    """The same with each model recalibrated, too."""
    return sixty_models(replicates=10)


def thirty_classes() -> Report:
    """A report on thirty classes with thirty decisions."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 30, 3000)
    models = {}
    for strength, name in ((2, "small"), (3, "large")):
        odds = np.exp(rng.normal(size=(3000, 30)) + strength * np.eye(30)[y])
        models[name] = odds / odds.sum(axis=1, keepdims=True)
    return evaluate(y, models, Problem.zero_one(30), **QUICK)


def times(browser: Any, report: Report, folder: Path) -> tuple[list[float], float]:
    """Milliseconds of changes and of the search, of the page's own thread only."""
    report.to_html(folder / "report.html")
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def spent() -> float:
        metrics = session.send("Performance.getMetrics")["metrics"]
        return next(1000 * metric["value"] for metric in metrics if metric["name"] == "ThreadTime")

    page.goto((folder / "report.html").as_uri())
    start = spent()
    page.evaluate("() => stakesPage.finished()")
    searched = spent() - start
    page.evaluate("() => { window.setTimeout = () => 0; }")  # no work is put off
    milliseconds = []
    for i in range(20):
        start = spent()
        page.evaluate(CHANGE, i)
        milliseconds.append(spent() - start)
    page.close()
    return milliseconds, searched


def main() -> None:
    """Print the times."""
    makers: tuple[Callable[[], Report], ...] = (sixty_models, sixty_recalibrated, thirty_classes)
    if not shutil.which("chromium"):
        print("Chromium is not installed: nothing is measured")
        return
    with sync_playwright() as driver, tempfile.TemporaryDirectory() as folder:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--headless=new", "--no-sandbox"]
        )
        for make in makers:
            each, searched = times(browser, make(), Path(folder))
            change = f"median {median(each):.0f} ms, slowest {max(each):.0f} ms"
            print(f"{make.__name__}: {change}; search {searched / 1000:.1f} s")
        browser.close()


if __name__ == "__main__":
    main()
