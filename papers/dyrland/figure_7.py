"""Figure 7. Wrong rankings against the size of the error in the utilities."""

from __future__ import annotations

import numpy as np
import style
from dyrland.pairs import METRICS, realised
from page import SIGMAS, Page

from stakes.audit import AssessmentError, gaussian_setting, misranking, uniform_setting

SDS = np.round(np.arange(0, 0.41, 0.025), 3)


def build(page: Page) -> None:
    """Two sweeps: utilities uniform on the hexagon, and normal about accuracy."""
    pairs = 60_000 if page.fast else 1_000_000
    settings = {"Uniform": uniform_setting(), "Gaussian": gaussian_setting()}
    errors = {f"{sd:g}": AssessmentError(sd) for sd in SDS}
    page.say(
        f"""Error sd as asked for and, as in the paper's axis, as it comes out; shares in %, with
        standard errors, of {pairs:,} pairs."""
    )
    columns, studies, came_out = {"error sd": list(errors)}, {}, {}
    for (name, setting), limit in zip(settings.items(), page.printed["better_up_to"], strict=True):
        rng, kind = np.random.default_rng(14), name.lower()
        study = studies[name] = misranking(METRICS, **setting, error=errors, pairs=pairs, rng=rng)
        sds = came_out[name] = np.array([realised(sd, setting["utilities"], 50_000) for sd in SDS])
        wrong, spread = study.wrong[-SDS.size :], study.standard_errors[-SDS.size :]
        columns[f"{kind}: sd after"] = [f"{sd:.3f}" for sd in sds]
        columns[f"{kind}: wrong, %"] = [
            f"{100 * w:.2f} ± {100 * s:.2f}" for w, s in zip(wrong, spread, strict=True)
        ]
        best = study.wrong[: len(METRICS)].min()
        slack = SIGMAS * np.hypot(spread[-1], study.standard_errors[len(METRICS) - 1])
        holds = np.all(wrong[sds <= limit] < best + slack)
        up_to = f"up to {np.interp(best, wrong, sds):.3f}"
        page.claim(f"{kind}: errors up to {limit} beat every metric", up_to, holds)
        fit = np.corrcoef(sds, wrong)[0, 1] ** 2
        page.claim(f"{kind}: approximately linear", f"R² = {fit:.3f}", fit > 0.97)
    page.table(columns)
    page.picture(_draw(studies, came_out), "dyrland-figure-7", __doc__)


def _draw(studies, came_out):
    figure, axes = style.panels(1, 2, width=9.5, height=3.9, sharey=True)
    for axis, (name, study) in zip(axes[0], studies.items(), strict=True):
        wrong, spread = 100 * study.wrong, 100 * study.standard_errors
        for row, (metric, level) in enumerate(zip(METRICS, wrong, strict=False)):
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
            came_out[name],
            wrong[-SDS.size :],
            4 * spread[-SDS.size :],
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
