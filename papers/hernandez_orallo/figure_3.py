"""Figure 3. What the rate-driven method gains by knowing the majority class."""

from __future__ import annotations

import numpy as np
import style
from hernandez_orallo.models import loss, models
from page import Page

from stakes import Point, RateFixed, Skews, expected_loss

RATES = np.linspace(0, 1, 201)


def build(page: Page) -> None:
    """Loss of model A at every rate, for two skews."""
    table = models()["A"]
    curves = {}
    for skew in (0.3, 0.7):
        known = Skews(Point(skew))
        every = [float(expected_loss(table, RateFixed(1 - r), known)) for r in RATES]
        curves[skew] = every, loss(table, "rate-driven", known), loss(table, "rate-uniform", known)
    page.say(
        """Both mistakes cost the same, so that the skew z is the share of class 0 where the model
        is used: 0.3 in one panel, with class 1 the majority, and 0.7 in the other, with class 0.
        The rate is the share that is decided as class 0 when both classes are equally frequent."""
    )
    rows = [(f"{skew}", uniform, driven) for skew, (_, driven, uniform) in curves.items()]
    page.rows(("skew = share of class 0", "rate-uniform", "rate-driven"), rows, decimals=4)
    for at, uniform, driven in rows:
        saved = uniform - driven
        page.claim(f"driving the rate pays at skew {at}", f"saves {saved:.3f}", saved > 0)
    for name, some in models().items():
        saved = loss(some, "rate-uniform", Skews()) - loss(some, "rate-driven", Skews())
        paper = page.printed["saved_by_driving"]
        page.compare(f"saved over all skews, model {name}", paper, saved)
    seen = """Two panels, skews 0.3 and 0.7: the loss of A falls and rises with the rate; at the
        rate that equals the skew it is far below its mean."""
    page.picture(_draw(curves), seen)


def _draw(curves):
    figure, axes = style.panels(1, 2, width=8.4, height=3.3, sharey=True)
    for axis, (skew, (every, driven, uniform)) in zip(axes[0], curves.items(), strict=True):
        axis.plot(RATES, every, color=style.BLUE, label="every rate")
        axis.axhline(
            uniform, color=style.ORANGE, ls="--", label="rate-uniform: mean over all rates"
        )
        axis.plot(skew, driven, "o", color=style.RED, ms=7, label="rate-driven: rate = skew")
        axis.vlines(skew, driven, uniform, color=style.RED, lw=1, ls=":")
        majority = 0 if skew > 0.5 else 1
        axis.set(
            title=f"$z = \\pi_0$ = {skew}: class {majority} is the majority",
            xlabel="rate: share decided as class 0 if classes were equal",
            xlim=(0, 1),
            ylim=(0, 0.75),
        )
    axes[0, 0].set_ylabel("loss")
    axes[0, 0].legend(loc="upper left")
    return figure
