"""How sure the borders of the regions are: crossing points of redrawn tallies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._check import FloatArray, Label
from stakes._value import Value
from stakes.conditions import Condition
from stakes.errors import InputError
from stakes.inference import (
    AllCases,
    Estimate,
    JointScores,
    Scheme,
    WithinClasses,
    bootstrap,
    each,
    estimate_of,
)
from stakes.inference.schemes import checked_scheme
from stakes.measures.table import least
from stakes.problem import Problem
from stakes.regions.classifiers import classifier_regions
from stakes.regions.crossings import (
    Ends,
    as_ratio,
    prior_ends,
    proportion_ends,
    refuse_separate,
    rising_root,
    shares_of,
)
from stakes.regions.decisions import cost_proportion_regions, line_ends, prior_regions
from stakes.regions.partition import Regions
from stakes.tally import JointCounts
from stakes.thresholds import Method

__all__ = [
    "Crossing",
    "bootstrap_classifier_crossings",
    "bootstrap_cost_proportion_crossings",
    "bootstrap_cost_ratio_crossings",
    "bootstrap_prior_crossings",
    "probability_cheapest",
]


@dataclass(frozen=True, eq=False)
class Crossing(Value):
    """A border between two regions, and how sure it is.

    `below` is the cheapest model on its lower side, `above` on its upper side. Replicates in which
    the two do not cross, or cross the other way round, are nan: counted, shown and left out of the
    interval. Many of them say that one of the two may be cheaper everywhere.
    """

    below: Label
    above: Label
    at: Estimate

    def __str__(self) -> str:
        return f"{self.below} | {self.above} at {self.at}"


def bootstrap_cost_proportion_crossings(
    joint: JointCounts,
    *,
    prior: object,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> tuple[Crossing, ...]:
    """The borders of `cost_proportion_regions`, each with its interval by redraws.

    Without a scheme, within classes when a prior is stated, else over all cases.

    Examples
    --------
    >>> y = [0] * 200 + [1] * 200
    >>> careful = [0] * 120 + [1] * 270 + [0] * 10
    >>> bold = [0] * 180 + [1] * 20 + [0] * 40 + [1] * 160
    >>> joint = JointCounts.from_decisions(y, {"careful": careful, "bold": bold},
    ...                                    Problem.zero_one(2))
    >>> for crossing in bootstrap_cost_proportion_crossings(
    ...         joint, prior=None, replicates=999, rng=np.random.default_rng(0)):
    ...     print(crossing)
    careful | bold at 0.3333 (95% 0.2083 to 0.4444, 999 bootstrap tables)
    """
    return _proportion_crossings(
        joint, prior, rising_root, replicates=replicates, rng=rng, scheme=scheme
    )


def bootstrap_cost_ratio_crossings(
    joint: JointCounts,
    *,
    prior: object,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> tuple[Crossing, ...]:
    """The borders of the cost ratio false alarm : miss, each with its interval by redraws.

    Those of `bootstrap_cost_proportion_crossings` on the scale of `as_cost_ratios`.

    Examples
    --------
    >>> y = [0] * 200 + [1] * 200
    >>> careful = [0] * 120 + [1] * 270 + [0] * 10
    >>> bold = [0] * 180 + [1] * 20 + [0] * 40 + [1] * 160
    >>> joint = JointCounts.from_decisions(y, {"careful": careful, "bold": bold},
    ...                                    Problem.zero_one(2))
    >>> for crossing in bootstrap_cost_ratio_crossings(
    ...         joint, prior=None, replicates=999, rng=np.random.default_rng(0)):
    ...     print(crossing)
    careful | bold at 0.5 (95% 0.2632 to 0.8, 999 bootstrap tables)
    """
    return _proportion_crossings(
        joint,
        prior,
        lambda ends: as_ratio(rising_root(ends)),
        replicates=replicates,
        rng=rng,
        scheme=scheme,
    )


def _proportion_crossings(
    joint: JointCounts,
    prior: object,
    place: Callable[[Ends], FloatArray],
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None,
) -> tuple[Crossing, ...]:
    """The borders of the cost proportion, on the scale that places them."""
    chosen = _scheme(scheme, prior)
    shares = shares_of(joint, prior)
    return _redrawn_crossings(
        _borders(cost_proportion_regions(chosen.whole(joint), prior=prior)),
        lambda redrawn, one, two: place(proportion_ends(redrawn, one, two, shares)),
        joint,
        replicates=replicates,
        rng=rng,
        scheme=chosen,
    )


def bootstrap_prior_crossings(
    joint: JointCounts,
    problem: Problem,
    label: Label,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme = WithinClasses(),  # noqa: B008 - a frozen value without fields
) -> tuple[Crossing, ...]:
    """The borders of `prior_regions`, each with its interval by redraws within classes.

    The prior is what varies along the axis, so that the class sizes of the data say nothing.
    """
    checked_scheme(scheme)
    refuse_separate(joint)
    return _redrawn_crossings(
        _borders(prior_regions(scheme.whole(joint), problem, label)),
        lambda redrawn, *pair: rising_root(prior_ends(redrawn, problem, label, *pair)),
        joint,
        replicates=replicates,
        rng=rng,
        scheme=scheme,
    )


def _scheme(scheme: Scheme | None, prior: object) -> Scheme:
    """As `scheme_of` chooses it for a problem."""
    if scheme is not None:
        checked_scheme(scheme)
        return scheme
    return AllCases() if prior is None else WithinClasses()


def _redrawn_crossings(
    borders: list[tuple[Label, Label]],
    crossing: Callable[..., FloatArray],
    joint: JointCounts,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme,
) -> tuple[Crossing, ...]:
    """Redraw the point at which the two models of each border cost the same."""

    def measure(redrawn: JointCounts) -> FloatArray:
        return np.stack([crossing(redrawn, *pair) for pair in borders], axis=-1)

    if not borders:
        return ()
    made = bootstrap(measure, joint, replicates=replicates, rng=rng, scheme=scheme)
    return _crossings(borders, made)


def bootstrap_classifier_crossings(
    scores: JointScores,
    classifiers: Mapping[Any, tuple[Any, Method]],
    over: Condition | type[Condition],
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme = AllCases(),  # noqa: B008 - a frozen value without fields
) -> tuple[Crossing, ...]:
    """The borders of `classifier_regions` for models scored on the same cases.

    Curves may cross several times; in each redraw the nearest border between the same two
    classifiers, in the same order, is taken. A plain loop: every redraw has pieces of its own.

    Parameters
    ----------
    classifiers : mapping from a name to a model of `scores` and a method
    """

    def regions(redrawn: JointScores) -> Regions:
        pairs = {
            name: (redrawn.table(model), method) for name, (model, method) in classifiers.items()
        }
        return classifier_regions(pairs, over)

    checked_scheme(scheme)
    _refuse_pairs(scores, classifiers)
    whole = regions(scheme.whole(scores))
    borders, points = _borders(whole), whole.crossings

    def nearest(redrawn: JointScores) -> FloatArray:
        found = regions(redrawn)
        return _nearest(borders, points, _borders(found), found.crossings)

    if not borders:
        return ()
    made = bootstrap(each(nearest), scores, replicates=replicates, rng=rng, scheme=scheme)
    return _crossings(borders, made)


def _refuse_pairs(scores: object, classifiers: Mapping[Any, Any]) -> None:
    """Refuse all but scores of several models, and pairs of one of them and a method."""
    if not isinstance(scores, JointScores):
        raise InputError(
            f"scores must be JointScores; got {type(scores).__name__}. Tally the scores of all "
            f"models together with JointScores.from_scores."
        )
    for name, pair in classifiers.items():
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise InputError(
                f"classifiers must map names to a model of the scores and a method; that of "
                f"{name!r} is {pair!r}. Pass pairs such as (model, Optimal())."
            )


def probability_cheapest(
    joint: JointCounts,
    cost_proportions: npt.ArrayLike,
    *,
    prior: object,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> FloatArray:
    """Share of redraws (C, J) in which each model is the cheapest at each cost proportion.

    Ties are split; redraws in which a model is undefined are left out. Without a scheme, within
    classes when a prior is stated, else over all cases.

    Examples
    --------
    >>> y = [0] * 200 + [1] * 200
    >>> careful = [0] * 120 + [1] * 270 + [0] * 10
    >>> bold = [0] * 180 + [1] * 20 + [0] * 40 + [1] * 160
    >>> joint = JointCounts.from_decisions(y, {"careful": careful, "bold": bold},
    ...                                    Problem.zero_one(2))
    >>> probability_cheapest(joint, [0.1, 0.35, 0.9], prior=None, replicates=500,
    ...                      rng=np.random.default_rng(0)).round(1)
    array([[1. , 0. ],
           [0.4, 0.6],
           [0. , 1. ]])
    """
    at = _check.probabilities("cost_proportions", cost_proportions, ndim=1)
    shares = shares_of(joint, prior)

    def measure(redrawn: JointCounts) -> FloatArray:
        ends = [line_ends(redrawn.model(model), shares) for model in joint.models]
        lines = [start[..., None] * (1 - at) + end[..., None] * at for start, end in ends]
        losses = np.stack(lines, axis=-1)
        chosen = least(losses)
        split = chosen / np.maximum(chosen.sum(axis=-1, keepdims=True), 1)
        return np.where(np.isnan(losses).any(axis=-1, keepdims=True), np.nan, split)

    chosen = _scheme(scheme, prior)
    made = bootstrap(measure, joint, replicates=replicates, rng=rng, scheme=chosen)
    defined = np.sum(~np.isnan(made.replicates), axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(made.replicates, axis=0) / defined)


def _borders(regions: Regions) -> list[tuple[Label, Label]]:
    """The models on both sides of every border; of tied ones, one that the other side lacks."""
    borders = []
    for below, above in zip(regions.parts[:-1], regions.parts[1:], strict=True):
        lost = [m for m in below.cheapest if m not in above.cheapest] or list(below.cheapest)
        won = [m for m in above.cheapest if m not in below.cheapest] or list(above.cheapest)
        borders.append((lost[0], won[0]) if lost and won else ("", ""))
    return borders


def _nearest(
    borders: list[tuple[Label, Label]],
    points: FloatArray,
    found: list[tuple[Label, Label]],
    at: FloatArray,
) -> FloatArray:
    result = np.full(len(borders), np.nan)
    for place, (border, point) in enumerate(zip(borders, points, strict=True)):
        same = [x for x, other in zip(at, found, strict=True) if other == border]
        if same:
            result[place] = min(same, key=lambda x: abs(x - point))
    return result


def _crossings(borders: list[tuple[Label, Label]], made: Estimate) -> tuple[Crossing, ...]:
    return tuple(
        Crossing(
            below,
            above,
            estimate_of(made.value[place], made.replicates[:, place], made.intervals.along(unit)),
        )
        for place, ((below, above), unit) in enumerate(
            zip(borders, np.eye(len(borders)), strict=True)
        )
    )
