"""``stakes demo``: a report on the example data of the package, without a network."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path

import click

from stakes.adapters.frame import evaluate_frame
from stakes.cli.options import read_problem
from stakes.cli.output import notify, print_report, put, refuse_other_than_page, target_beside
from stakes.report import Report

_INTRODUCTION = """\
A thousand loan applicants, four models that give the probability of a bad risk, and three
decisions: grant the loan, have it reviewed, decline it (Statlog German credit data, Hofmann 1994,
CC BY 4.0; predictions out of fold).
"""


_DATA = "Statlog German credit data, the example that comes with stakes"


def demo_report() -> Report:
    """The report on the example predictions of the package."""
    models = {name: name for name in ("logistic", "forest", "boosting", "naive bayes")}
    with as_file(files("stakes") / "data") as folder:
        problem = read_problem(str(folder / "german_credit.toml"))
        rows = folder / "german_credit.csv"
        return evaluate_frame(rows, problem, y_true="risk", models=models, by="age")


@click.command(short_help="Evaluate the example data and write its page.")
@click.option(
    "--html", default="report.html", show_default=True, metavar="OUT", help="Where the page goes."
)
def demo(html: str) -> None:
    """Evaluate the example that comes with stakes, print the report and write its page."""
    target = target_beside(html, (), "--html")
    refuse_other_than_page(target)
    report = demo_report()
    report.to_html(target, title="German credit: what the decisions cost", data=_DATA)
    notify(f"wrote {html}")
    put(_INTRODUCTION)
    print_report(report)
    put(f"\nThe interactive report is {Path(html).resolve()}")
