"""Figure 7. Wrong rankings against the size of the error in the utilities.

Wrong utilities, blue, are better than a metric until they cross its dashed line.
"""

from __future__ import annotations

import numpy as np
import style
from dyrland.pairs import CONVENTION, METRICS, sweep
from page import SIGMAS, Page

from stakes.audit import gaussian_setting, uniform_setting

SDS = np.round(np.arange(0, 0.41, 0.025), 3)


def build(page: Page) -> None:
    """Two sweeps: utilities uniform on the hexagon, and normal about accuracy."""
    print_ = page.printed
    pairs, asked = page.size((1_000_000, SDS), (250_000, SDS[::2]))
    page.say(f"Shares in %, with standard errors, of {pairs:,} pairs. {CONVENTION}")
    settings = {"Uniform": uniform_setting(), "Gaussian": gaussian_setting()}
    sweeps = {name: sweep(setting, asked, pairs) for name, setting in settings.items()}
    columns, metrics = {"error sd, asked": [f"{sd:g}" for sd in asked]}, {"metric": list(METRICS)}
    for (name, drawn), limit in zip(sweeps.items(), print_["better_up_to"], strict=True):
        kind, (at, error) = name.lower(), drawn.crossing()
        columns[f"{kind}: sd after"] = [f"{sd:.3f}" for sd in drawn.sds]
        columns[f"{kind}: wrong"] = shares(drawn.wrong, drawn.spread)
        metrics[f"{kind}: wrong"] = shares(drawn.study.wrong, drawn.study.standard_errors)[
            : len(METRICS)
        ]
        least = drawn.study.names[int(np.argmin(drawn.study.wrong[: len(METRICS)]))]
        page.claim(f"{kind}: accuracy is the best metric", least, least == "accuracy")
        wrong = print_["misprint"] if kind == "gaussian" else ""
        for words, up_to, reason in (
            (f"up to {limit}", limit, ""),
            (f"as large as {print_['as_large_as']} (section 1)", print_["as_large_as"], wrong),
            (f"almost as large as {print_['as_large_as']}", print_["inferred"]["almost"], ""),
        ):
            holds, here = at + SIGMAS * error >= up_to, f"up to {at:.3f} ± {error:.3f}"
            page.claim(f"{kind}: errors {words} beat every metric", here, holds, misprint=reason)
        fit = np.corrcoef(drawn.sds, drawn.wrong)[0, 1] ** 2
        page.claim(f"{kind}: approximately linear", f"R² = {fit:.3f}", fit > 0.97)
    page.table(columns)
    page.table(metrics)
    seen = """Two panels, uniform and Gaussian utilities: wrong rankings grow almost linearly with
        the error and cross the lines of the metrics, accuracy's first."""
    page.picture(_draw(sweeps), seen)


def shares(wrong, spread) -> list[str]:
    """Percentages with standard errors."""
    return [f"{100 * w:.2f} ± {100 * s:.2f}" for w, s in zip(wrong, spread, strict=True)]


def _draw(sweeps):
    figure, axes = style.panels(1, 2, width=9.5, height=3.9, sharey=True)
    for axis, (name, drawn) in zip(axes[0], sweeps.items(), strict=True):
        for row, (metric, level) in enumerate(zip(METRICS, 100 * drawn.study.wrong, strict=False)):
            axis.axhline(level, color=style.GREY, lw=0.8, ls="--")
            axis.text(
                0.004 + 0.075 * (row % 3),
                level,
                metric,
                va="center",
                fontsize=8,
                bbox={"fc": "white", "ec": "none", "pad": 1},
            )
        axis.errorbar(
            drawn.sds,
            100 * drawn.wrong,
            400 * drawn.spread,
            fmt="o-",
            ms=3.5,
            color=style.BLUE,
            capsize=2,
            lw=1.4,
        )
        axis.set(
            title=f"{name} utilities",
            xlabel="sd of the error in the utilities",
            xlim=(0, 0.3),
            ylim=0,
        )
        axis.grid(visible=False, axis="y")
    axes[0, 0].set_ylabel("wrongly ranked pairs, %\n(bars: 4 standard errors)")
    return figure
