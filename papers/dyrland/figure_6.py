"""Figure 6. How often metrics and wrong utilities rank two classifiers in the wrong order.

Points in the second and fourth quadrants, red, are pairs that were ranked wrongly.
"""

from __future__ import annotations

import numpy as np
import style
from dyrland.differences import differences
from dyrland.pairs import CONVENTION, METRICS, nominal
from page import SIGMAS, Page

from stakes.audit import (
    AssessmentError,
    UniformUtilities,
    exact_misranking,
    misranking,
    uniform_setting,
)


def build(page: Page) -> None:
    """Shares of wrongly ranked pairs, with standard errors, and exact where that is possible."""
    print_, setting, rng = page.printed, uniform_setting(), np.random.default_rng(12)
    pairs = page.size(print_["pairs"], 100_000)
    sd, other = print_["sd"], print_["inferred"]["nominal"]
    error = AssessmentError(nominal(sd, UniformUtilities()))
    errors = {
        "wrong utilities": error,
        f"the same, sd {sd} before redrawing": AssessmentError(sd),
        f"the same, sd {other} before redrawing": AssessmentError(other),
    }
    study = misranking(METRICS, **setting, error=errors, pairs=pairs, rng=rng)
    wrong, spread = 100 * study.wrong, 100 * study.standard_errors
    known = [100 * exact_misranking(metric, **setting) for metric in METRICS.values()]
    exact = np.append(known, np.full(len(errors), np.nan))
    titles = "criterion", "wrongly ranked, %", "standard error", "exact, %"
    page.rows(titles, zip(study.names, wrong, spread, exact, strict=True), decimals=3)
    page.say(f"{CONVENTION} Here it is {error.sd:.3f} before and {sd} after.")
    last = len(METRICS) - 1
    best, (better, *_), paper = wrong[last], wrong[last + 1 :], print_["accuracy"]
    why = "the print is a draw of a million pairs"
    page.compare("accuracy, %, exact", paper, exact[last], standard_error=spread[last], why=why)
    for name, here, se in zip(errors, wrong[last + 1 :], spread[last + 1 :], strict=True):
        page.compare(f"{name}, %", print_["wrong_utilities"], here, standard_error=se)
    away = np.nanmax(np.abs(wrong - exact) / spread)
    page.check("simulated against exact, in standard errors", f"at most {away:.1f}", away < SIGMAS)
    next_ = wrong[:last].min()
    shown = f"{best:.1f} %, the next {next_:.1f} %"
    page.claim("accuracy is the best metric", shown, best < next_)
    shown = f"{better:.1f} %, not {best:.1f} %"
    page.claim("wrong utilities are better still", shown, better < best)
    seen = "Eight panels: clouds of pairs about a rising line, ever thinner up to wrong utilities."
    page.picture(_draw(*differences(error), wrong[: last + 2]), seen)


def _draw(gain, others, wrong):
    figure, axes = style.panels(2, 4, width=10.5, height=5.4, sharex=True)
    for axis, (name, other), share in zip(axes.flat, others.items(), wrong, strict=True):
        bad = gain * other < 0
        axis.scatter(
            gain[~bad], other[~bad], s=3, color=style.BLUE, alpha=0.4, lw=0, rasterized=True
        )
        axis.scatter(gain[bad], other[bad], s=6, color=style.RED, marker="^", lw=0, rasterized=True)
        axis.axhline(0, color=style.INK, lw=0.7)
        axis.axvline(0, color=style.INK, lw=0.7)
        axis.set_title(name[0].upper() + name[1:])
        axis.text(0.04, 0.93, f"{share:.1f} % wrong", transform=axis.transAxes, color=style.RED)
        reach = 1.05 * np.abs(other).max()
        axis.set(ylim=(-reach, reach), xlim=(-0.5, 0.5))
    figure.supxlabel("difference in utility yield", fontsize=9)
    figure.supylabel("difference in the metric", fontsize=9)
    return figure
