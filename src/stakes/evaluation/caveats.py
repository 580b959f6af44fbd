"""What to know before the verdict is used, each with its evidence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from stakes.evaluation.evidence import Evidence, ModelTallies, Sample
from stakes.evaluation.uncertainty import Costs
from stakes.evaluation.words import money, percent, quantity
from stakes.problem import Problem
from stakes.report import TUNED, Caveat, ModelQuality, System

__all__ = ["caveats_of"]

_TINY_CLASS = 10  # cases below which the rates of a class say little
_FEW_CLUSTERS = 50
_PRIOR_GAP = 0.02  # total variation between the stated prior and the shares of the data
_COSTLY = 0.05  # share of the cost that bad calibration takes before it is worth a word


def caveats_of(
    evidence: Evidence,
    systems: tuple[System, ...],
    models: tuple[ModelQuality, ...],
    costs: Costs,
) -> tuple[Caveat, ...]:
    """All caveats that apply."""
    return (
        *_prior_mismatch(evidence),
        *_small_classes(evidence),
        *_tuned_thresholds(systems),
        *_sums(evidence.models),
        *_miscalibration(models, evidence.problem),
        *_sampling(evidence.sample, costs),
        *evidence.left_out,
    )


def _prior_mismatch(evidence: Evidence) -> Iterator[Caveat]:
    prior, shares = evidence.prior, evidence.shares
    gap = float(np.abs(prior - shares).sum() / 2)
    if gap > _PRIOR_GAP:
        k = int(np.argmax(np.abs(prior - shares)))
        yield Caveat(
            "prior mismatch",
            f"The costs hold for a prior that differs from the data: {evidence.problem.classes[k]} "
            f"is {percent(prior[k])} there and {percent(shares[k])} of these cases. "
            f"Posteriors that hold for the shares of the data are shown as they come and moved.",
        )


def _small_classes(evidence: Evidence) -> Iterator[Caveat]:
    classes, sizes = evidence.problem.classes, evidence.sample.sizes
    for label, size, share in zip(classes, sizes, evidence.prior, strict=True):
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
    return system.rule == TUNED


def _sums(models: tuple[ModelTallies, ...]) -> Iterator[Caveat]:
    for one in models:
        if one.off_sum is not None:
            rows, worst = one.off_sum
            yield Caveat(
                "posteriors do not sum to one",
                f"{rows} rows of the posteriors of {one.model} do not sum to one (the worst sums "
                f"to {quantity(worst)}); they were divided by their sums.",
            )


def _miscalibration(models: tuple[ModelQuality, ...], problem: Problem) -> Iterator[Caveat]:
    for model in models:
        wasted, share = model.calibration_cost, model.calibration_share
        if wasted is not None and share is not None and share > _COSTLY:
            yield Caveat(
                "miscalibration",
                f"Bad calibration of {model.model} costs {money(wasted, problem.unit)} per "
                f"case, {percent(share)} of what it costs: recalibrate it before use.",
            )


def _sampling(sample: Sample, costs: Costs) -> Iterator[Caveat]:
    if costs.undefined:
        drawn = len(costs.estimate.replicates)
        yield Caveat(
            "undefined replicates",
            f"{costs.undefined} of {drawn} redraws lost a class and were left out: intervals are "
            f"too short. State a prior, or gather cases of the rare class.",
        )
    if not sample.whole and sample.clusters is None:
        yield Caveat(
            "fractional weights",
            "Weights are fractional and do not say how many cases there were: intervals read a "
            "weight w as w cases. Pass cluster= to redraw the units that were sampled.",
        )
    clusters = sample.clusters
    if clusters is not None and clusters < _FEW_CLUSTERS:
        yield Caveat(
            "few clusters",
            f"There are only {clusters} clusters: intervals from redrawing them are too short.",
        )


def _listed(names: list[str]) -> str:
    return ", ".join(names)
