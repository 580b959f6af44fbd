"""Figure 1. Expected costs against MCC and F1 over all confusion matrices.

Colour: the share of positive decisions, which MCC and F1 reward and costs do not.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_analysis.metrics import metrics, tables
from page import Page, near

PAIRS = ("EC_nb", "MCC"), ("EC_1.5", "FS_1"), ("EC_1", "FS_1")


def build(page: Page) -> None:
    """All combinations of errors, for balanced and for imbalanced classes."""
    steps, clouds, straight = page.printed["steps"], {}, []
    for sizes in page.printed["class_sizes"]:
        k12, k21 = np.meshgrid(*(np.linspace(0, size, steps + 1) for size in sizes))
        value = metrics(tables(sizes, k12.ravel(), k21.ravel()), 1.5)
        clouds[f"{sizes[0]} / {sizes[1]}"] = value
        good = value["EC_1"] < 1
        straight.append([np.corrcoef(value[x][good], value[y][good])[0, 1] for x, y in PAIRS])
        p2, detected = sizes[1] / sum(sizes), value["R_*2"]
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = np.sqrt(p2 * (1 - p2) / (detected * (1 - detected)))
            gap = np.nanmax(np.abs(value["MCC"] - factor * (1 - value["EC_nb"])))
        page.claim(f"{sizes[0]} / {sizes[1]}: equation 30", near(gap), gap < 1e-9)
    page.say("Correlations over the systems that beat the naive one (EC_1 < 1):")
    names = [f"{x} and {y}" for x, y in PAIRS]
    page.table(
        {
            "classes": list(clouds),
            **{name: [f"{row[k]:.3f}" for row in straight] for k, name in enumerate(names)},
        }
    )
    page.claim(
        "MCC follows EC_nb best where the classes are balanced",
        f"{straight[0][0]:.3f}, {straight[1][0]:.3f}",
        abs(straight[0][0]) > abs(straight[1][0]),
    )
    for row, name in zip(straight, clouds, strict=True):
        page.claim(
            f"{name}: F1 follows EC_1.5 better than EC_1",
            f"{row[1]:.3f}, {row[2]:.3f}",
            abs(row[1]) > abs(row[2]),
        )
    page.picture(_draw(clouds), "ferrer-analysis-figure-1", "Six panels: " + __doc__)


def _draw(clouds):
    figure, axes = style.panels(2, 3, width=9.6, height=5.6)
    label = {
        "EC_nb": "EC$_{nb}$",
        "EC_1.5": "EC$_{1.5}$, normalised",
        "EC_1": "EC$_1$, normalised",
        "MCC": "MCC",
        "FS_1": "F1",
    }
    for row, (name, value) in zip(axes, clouds.items(), strict=True):
        for axis, (x, y) in zip(row, PAIRS, strict=True):
            cloud = axis.scatter(
                value[x],
                value[y],
                c=value["R_*2"],
                s=11,
                cmap=style.MAP,
                vmin=0,
                vmax=1,
                lw=0,
                rasterized=True,
            )
            axis.axvline(1, color=style.RED, lw=0.9, ls="--")
            axis.set(xlabel=label[x], ylabel=label[y], xlim=(-0.05, 2.02))
        row[0].set_title(f"Classes {name}")
    axes[0, 1].annotate(
        "naive", (1, 0), (3, 3), textcoords="offset points", color=style.RED, fontsize=8
    )
    figure.colorbar(cloud, ax=axes, label="$R_{*2}$, share of positive decisions", shrink=0.6)
    return figure
