"""Figure 1. Expected costs against MCC and F1 over all confusion matrices.

Colour: the share of positive decisions, which MCC and F1 reward and costs do not.
"""

from __future__ import annotations

import numpy as np
import style
from ferrer_analysis.metrics import metrics, tables
from page import Page, listed

PAIRS = ("EC_nb", "MCC"), ("EC_1.5", "FS_1"), ("EC_1", "FS_1")


def build(page: Page) -> None:
    """All combinations of errors, for balanced and for imbalanced classes."""
    steps, clouds, straight = page.printed["steps"], {}, []
    for sizes in page.printed["class_sizes"].values():
        name, p2 = f"{sizes[0]} / {sizes[1]}", sizes[1] / sum(sizes)
        k12, k21 = np.meshgrid(*(np.linspace(0, size, steps + 1) for size in sizes))
        value = clouds[name] = metrics(tables(sizes, k12.ravel(), k21.ravel()), 1.5)
        detected = value["R_*2"]
        some = (detected > 0) & (detected < 1)
        for words, which in (("all", some), ("better than naive, EC_1 < 1", value["EC_1"] < 1)):
            known = [which & np.isfinite(value[x] + value[y]) for x, y in PAIRS]
            each = zip(PAIRS, known, strict=True)
            linear = [np.corrcoef(value[x][k], value[y][k])[0, 1] for (x, y), k in each]
            straight.append((name, words, *linear))
        factor = np.sqrt(p2 * (1 - p2) / (detected * (1 - detected))[some])
        thirty = factor * (1 - value["EC_nb"][some])
        page.equal(f"{name}: MCC by equation 30", value["MCC"][some], thirty)
    page.say("Correlations over systems whose metrics are defined:")
    titles = "classes", "systems", *(f"{x} and {y}" for x, y in PAIRS)
    page.rows(titles, straight, decimals=3)
    mcc = [row[2] for row in straight if row[1] == "all"]
    words = "MCC follows EC_nb best where the classes are balanced"
    page.claim(words, listed(mcc, 3), mcc[0] < mcc[1] < 0)
    for name, which, _, weighted, plain in straight:
        words = f"{name}, {which}: F1 follows EC_1.5 better than EC_1"
        page.claim(words, listed([weighted, plain], 3), weighted < plain < 0)
    seen = """Six panels: MCC against EC_nb, F1 against EC_1.5 and F1 against EC_1, above for
        balanced and below for imbalanced classes; bands that widen towards the naive systems."""
    page.picture(_draw(clouds), seen)


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
