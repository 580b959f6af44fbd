"""Figure 1. The determinant is the volume of a parallelepiped.

Its edges are the rows of M. In the last panel no volume is above the bound, the product of the row
sums of M.
"""

from __future__ import annotations

from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
import style
from itai_katz.body import tables, volume
from mpl_toolkits.mplot3d.art3d import Poly3DCollection  # type: ignore[import-untyped]
from page import Page

from stakes import Counts
from stakes.agreement import association_matrix, determinant_mcc


def build(page: Page) -> None:
    """Bodies of four tables, and the bounds of equations 9 to 14 on random ones."""
    rng, n = np.random.default_rng(18), page.size(3000, 300)
    paper, shown = np.array(page.printed["vectors"]), tables(page.paper["three-classes"])
    bodies = {name: association_matrix(counts, mean=0) for name, counts in shown.items()}
    volumes = [volume(m) for m in bodies.values()]
    det = np.array([determinant_mcc(counts) for counts in shown.values()])
    rows = zip(shown, det, volumes, [m.sum() for m in bodies.values()], strict=True)
    page.rows(("table", "det M", "volume of the hull of the corners", "sum of M"), rows, decimals=4)
    page.equal("abs(det M) is the volume, 4 tables", np.abs(det), volumes)
    other = np.abs(np.linalg.det(paper))
    page.check_equal("so it is for the printed vectors", volume(paper), other)
    small = dict(zip(shown, volumes, strict=True))
    words = "the volume is small where the predictor disfavours a class"
    holds = small["avoids a class"] < small["good"]
    page.claim(words, f"{small['avoids a class']:.3f}, not {small['good']:.3f}", holds)
    random = Counts(rng.dirichlet(np.full(9, 0.4), n).reshape(n, 3, 3) + 1e-12)
    m, det = association_matrix(random, mean=0), determinant_mcc(random)
    most, bound = m.sum(axis=(1, 2)).max(), m.sum(axis=-1).prod(axis=-1)
    page.claim("ΣM ≤ n (eq 9 to 11)", f"at most {most:.3f}", most <= 3 + 1e-9)
    bounded = (np.abs(det) <= bound + 1e-9) & (bound <= 1 + 1e-9)
    words = "abs(det M) ≤ product of row sums ≤ 1 (eq 12 to 14)"
    page.claim(words, f"{bounded.sum()} of {n} tables", bounded.all())
    order = rng.permutation(3)
    flipped, renamed = random.values.swapaxes(1, 2), random.values[:, order][:, :, order]
    for what, values in (("truth and prediction swap", flipped), ("classes are renamed", renamed)):
        page.equal(f"the same when {what}, {n} tables", determinant_mcc(Counts(values)), det)
    panels = {f"The paper's body: {volume(paper):.3g}": paper} | {
        f"{name[0].upper() + name[1:]}: {small[name]:.3f}": m for name, m in bodies.items()
    }
    seen = """Six panels: the paper's parallelepiped, a cube for the perfect table, and flatter
        bodies for worse ones; abs(det M) of random tables below the diagonal."""
    page.picture(_draw(panels, bound, np.abs(det)), seen)


def _draw(panels, bound, det):
    figure = plt.figure(figsize=(10, 6.4))
    for k, (name, vectors) in enumerate(panels.items(), start=1):
        axis = figure.add_subplot(2, 3, k, projection="3d")
        _draw_body(axis, vectors, style.ORANGE if k == 1 else style.BLUE)
        axis.set_title(name)
        reach = 4 if k == 1 else 1.2
        axis.set(xlim=(0, reach), ylim=(0, reach), zlim=(0, reach))
        axis.view_init(22, 35)
        ticks = (0, 2, 4) if k == 1 else (0, 0.5, 1)
        axis.set(xticks=ticks, yticks=ticks, zticks=ticks)
        axis.tick_params(labelsize=7, pad=-2)
        axis.set_box_aspect((1, 1, 1), zoom=1.0)
    last = figure.add_subplot(2, 3, 6)
    last.scatter(bound, det, s=3, color=style.BLUE, alpha=0.4, lw=0, rasterized=True)
    last.plot([0, 1], [0, 1], color=style.RED, lw=0.9, ls="--")
    last.set(title="Random tables", xlabel="product of the row sums of M", ylabel="|det M|")
    return figure


def _draw_body(axis, vectors, colour):
    faces = []
    for i, j in combinations(range(3), 2):
        k = 3 - i - j
        for start in (np.zeros(3), vectors[k]):
            faces.append(
                [start, start + vectors[i], start + vectors[i] + vectors[j], start + vectors[j]]
            )
    axis.add_collection3d(
        Poly3DCollection(faces, facecolor=colour, alpha=0.25, edgecolor=style.INK, lw=0.7)
    )
    for vector in vectors:
        axis.quiver(0, 0, 0, *vector, color=style.INK, lw=1.3, arrow_length_ratio=0.08)
