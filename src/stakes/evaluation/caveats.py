"""What to know before the verdict is used, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes.evaluation.cases import Cases
from stakes.evaluation.systems import Predictions
from stakes.evaluation.uncertainty import Costs
from stakes.evaluation.words import money, percent, quantity
from stakes.report import Caveat, ModelQuality, System

__all__ = ["caveats_of"]

_TINY_CLASS = 10  # cases below which the rates of a class say little
_FEW_CLUSTERS = 50
_PRIOR_GAP = 0.02  # total variation between the stated prior and the shares of the data
_COSTLY = 0.05  # share of the cost that bad calibration takes before it is worth a word


def caveats_of(
    cases: Cases,
    predictions: list[Predictions],
    systems: tuple[System, ...],
    models: tuple[ModelQuality, ...],
    costs: Costs,
) -> tuple[Caveat, ...]:
    """All caveats that apply."""
    return (
        *_prior_mismatch(cases),
        *_small_classes(cases),
        *_tuned_thresholds(systems),
        *_sums(predictions),
        *_miscalibration(models, cases),
        *_sampling(cases, costs),
    )


def _prior_mismatch(cases: Cases) -> Iterator[Caveat]:
    gap = float(np.abs(cases.prior - cases.shares).sum() / 2)
    if gap > _PRIOR_GAP:
        k = int(np.argmax(np.abs(cases.prior - cases.shares)))
        yield Caveat(
            "prior mismatch",
            f"The costs hold for a prior that differs from the data: {cases.problem.classes[k]} is "
            f"{percent(cases.prior[k])} there and {percent(cases.shares[k])} of these cases. "
            f"Posteriors that hold for the shares of the data are shown as they come and moved.",
        )


def _small_classes(cases: Cases) -> Iterator[Caveat]:
    sizes = np.bincount(cases.truth, minlength=cases.problem.n_classes)
    for label, size, share in zip(cases.problem.classes, sizes, cases.prior, strict=True):
        if size == 0 and share > 0:
            yield Caveat(
                "absent class",
                f"There is no case of {label}, which the prior expects with {percent(share)}: what "
                f"decisions about it cost is unknown, and so is every expected cost.",
            )
        elif size == 0:
            yield Caveat(
                "absent class",
                f"There is no case of {label}: its costs play no part in this report.",
            )
        elif size < _TINY_CLASS:
            yield Caveat(
                "tiny class",
                f"There are only {size} cases of {label}: its rates, and the costs that hang on "
                f"them, are hardly known, and intervals are too short.",
            )


def _tuned_thresholds(systems: tuple[System, ...]) -> Iterator[Caveat]:
    winners = [system.name for system in systems if system.candidate and _tuned(system)]
    shown = [system.name for system in systems if _tuned(system)]
    if winners:
        yield Caveat(
            "tuned threshold",
            f"The threshold of {_listed(winners)} was chosen on the same cases that measure its "
            f"cost: once deployed it will cost more. Choose it on other cases, or pass a "
            f"calibrator.",
        )
    elif shown:
        yield Caveat(
            "tuned threshold",
            f"{_listed(shown)}: the threshold was chosen on the same cases, so this is a bound on "
            f"what a better threshold could bring, not a system to deploy; it cannot win.",
        )


def _tuned(system: System) -> bool:
    return system.rule.startswith("threshold tuned")


def _sums(predictions: list[Predictions]) -> Iterator[Caveat]:
    for one in predictions:
        if one.off_sum is not None:
            rows, worst = one.off_sum
            yield Caveat(
                "posteriors do not sum to one",
                f"{rows} rows of the posteriors of {one.model} do not sum to one (the worst sums "
                f"to {quantity(worst)}); they were divided by their sums.",
            )


def _miscalibration(models: tuple[ModelQuality, ...], cases: Cases) -> Iterator[Caveat]:
    for model in models:
        wasted, share = model.calibration_cost, model.calibration_share
        if wasted is not None and share is not None and share > _COSTLY:
            yield Caveat(
                "miscalibration",
                f"Bad calibration of {model.model} costs {money(wasted, cases.problem.unit)} per "
                f"case, {percent(share)} of what it costs: recalibrate it before use.",
            )


def _sampling(cases: Cases, costs: Costs) -> Iterator[Caveat]:
    if costs.undefined:
        drawn = len(costs.estimate.replicates)
        yield Caveat(
            "undefined replicates",
            f"{costs.undefined} of {drawn} redraws lost a class and were left out: intervals are "
            f"too short. State a prior, or gather cases of the rare class.",
        )
    if not cases.whole and cases.cluster is None:
        yield Caveat(
            "fractional weights",
            "Weights are fractional and do not say how many cases there were: intervals read a "
            "weight w as w cases. Pass cluster= to redraw the units that were sampled.",
        )
    clusters = cases.n_clusters
    if clusters is not None and clusters < _FEW_CLUSTERS:
        yield Caveat(
            "few clusters",
            f"There are only {clusters} clusters: intervals from redrawing them are too short.",
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names)
