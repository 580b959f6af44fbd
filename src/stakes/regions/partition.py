"""Which of several curves is the lowest, interval by interval, exactly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Self

import numpy as np

from stakes import _check
from stakes._check import FloatArray, Label, Labels
from stakes._text import one_line, text_table
from stakes._value import Value, record
from stakes.curve import Curve
from stakes.errors import InputError
from stakes.inference import envelopes

# What rounding may do: curves closer than this, relative to the largest value, are tied, and
# crossings closer than this, relative to the width of the domain, are one crossing.
_TIE = 1e-12


@record
class Region(Value):
    """An interval, and the models that are the cheapest throughout it (several if they tie).

    Parameters
    ----------
    low : where it begins
    high : where it ends
    cheapest : labels of the models

    Examples
    --------
    >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> first, second = lowest({"careful": careful, "bold": bold}, axis="cost proportion").parts
    >>> first.high, first.cheapest
    (0.4, ('careful',))
    >>> print(second)
    0.4 to 1: bold
    """

    low: float
    high: float
    cheapest: Labels

    def __str__(self) -> str:
        return f"{self.low:.4g} to {self.high:.4g}: {', '.join(map(str, self.cheapest))}"


@record(repr=False)
class Regions(Value):
    """The intervals of an axis, in increasing order, with the cheapest model of each.

    Attributes
    ----------
    axis : what varies, in words
    models : all models that were compared
    parts : the intervals; neighbours have different models
    unclear : for each border the zone in which the data do not show which model is cheaper; empty
        where only curves are known

    Examples
    --------
    >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> regions = lowest({"careful": careful, "bold": bold}, axis="cost proportion")
    >>> print(regions)
    cost proportion  cheapest
    0 to 0.4          careful
    0.4 to 1             bold
    >>> regions.crossings
    array([0.4])
    """

    axis: str
    models: Labels
    parts: tuple[Region, ...]
    unclear: tuple[tuple[float, float], ...] = ()

    @property
    def crossings(self) -> FloatArray:
        """Where the cheapest model changes, in increasing order."""
        return np.array([part.low for part in self.parts[1:]], dtype=np.float64)

    @property
    def never_cheapest(self) -> Labels:
        """Models that are nowhere the cheapest."""
        chosen = {label for part in self.parts for label in part.cheapest}
        return tuple(model for model in self.models if model not in chosen)

    def at(self, x: float) -> Labels:
        """The cheapest models at a point; at a crossing those of both sides.

        Parameters
        ----------
        x : a point of the axis

        Returns
        -------
        labels of the cheapest models

        Examples
        --------
        >>> from stakes.problem import Problem
        >>> from stakes.regions import decision_regions
        >>> decision_regions(Problem([[0, 3, 25], [180, 8, 0]])).at(0.5)
        (1,)
        """
        point = float(_check.reals("x", x, ndim=0))
        winners = [part.cheapest for part in self.parts if part.low <= point <= part.high]
        if not winners:
            low, high = self.parts[0].low, self.parts[-1].high
            raise InputError(
                f"x must lie in [{low:g}, {high:g}]; got {point:g}. The axis is {self.axis}."
            )
        return tuple(dict.fromkeys(label for labels in winners for label in labels))

    def of(self, model: Label) -> tuple[tuple[float, float], ...]:
        """The intervals in which this model is the cheapest.

        Parameters
        ----------
        model : label of the model

        Returns
        -------
        intervals, each a pair

        Examples
        --------
        >>> from stakes.problem import Problem
        >>> from stakes.regions import decision_regions
        >>> decision_regions(Problem.from_threshold(0.25)).of(1)
        ((0.25, 1.0),)
        """
        _check.one_of("model", model, self.models, "models")
        return tuple((part.low, part.high) for part in self.parts if model in part.cheapest)

    def mapped(self, transform: Callable[[float], float], axis: str) -> Self:
        """The same regions on another scale; the transformation must be monotone.

        Parameters
        ----------
        transform : a monotone function of the axis
        axis : name of the new axis

        Returns
        -------
        the regions

        Examples
        --------
        >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
        >>> regions = lowest({"careful": careful, "bold": bold}, axis="cost proportion")
        >>> regions.mapped(lambda c: 100 * c, "percent").crossings
        array([40.])
        """
        parts = []
        for part in self.parts:
            low, high = sorted((transform(part.low), transform(part.high)))
            parts.append(Region(low, high, part.cheapest))
        parts.sort(key=lambda part: (part.low, part.high))
        zones = (sorted(map(transform, zone)) for zone in self.unclear)
        unclear = tuple(sorted((low, high) for low, high in zones))
        return self._but(axis=axis, parts=tuple(parts), unclear=unclear)

    def columns(self) -> dict[str, list[Any]]:
        """Lower and upper limit and the cheapest models of every interval.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
        >>> lowest({"careful": careful, "bold": bold}, axis="skew").columns()["cheapest"]
        [('careful',), ('bold',)]
        """
        return {
            "low": [part.low for part in self.parts],
            "high": [part.high for part in self.parts],
            "cheapest": [part.cheapest for part in self.parts],
        }

    def __str__(self) -> str:
        rows = [
            [f"{part.low:.4g} to {part.high:.4g}", ", ".join(map(str, part.cheapest))]
            for part in self.parts
        ]
        text = text_table([self.axis, "cheapest"], rows)
        never = ", ".join(map(str, self.never_cheapest))
        return text + (f"\nnever cheapest: {one_line(never)}" if never else "")

    __repr__ = __str__


def lowest(curves: Mapping[Any, Curve], *, axis: str) -> Regions:
    """Divide the common domain into intervals, with the lowest curves in each.

    Between neighbouring crossing points no two curves change their order, so that one evaluation
    inside each interval is enough. A curve is never the lowest where it is undefined.

    Parameters
    ----------
    curves : cost along the axis, by model
    axis : name of the axis

    Returns
    -------
    intervals and the curve that is lowest in each

    Examples
    --------
    >>> careful, bold = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> lowest({"careful": careful, "bold": bold}, axis="cost proportion").crossings
    array([0.4])
    """
    _check.mapping_of("curves", curves, Curve)
    models = _check.labels("curves", curves)
    if not models:
        raise InputError("curves must hold at least one curve; the mapping is empty. Add one.")
    listed = list(curves.values())
    points = _points(listed)
    # Midpoints, not crossing points: curves tie at a crossing, and may jump there.
    middles = (points[:-1] + points[1:]) / 2
    values = np.stack([curve(middles) for curve in listed], axis=1)
    slack = _TIE * np.abs(values[~np.isnan(values)]).max(initial=0.0)
    parts: list[Region] = []
    for start, end, row in zip(points[:-1], points[1:], values, strict=True):
        least = np.min(row, where=~np.isnan(row), initial=np.inf)
        cheapest = tuple(m for m, value in zip(models, row, strict=True) if value <= least + slack)
        if parts and parts[-1].cheapest == cheapest:
            parts[-1] = Region(parts[-1].low, float(end), cheapest)
        else:
            parts.append(Region(float(start), float(end), cheapest))
    return Regions(axis, models, tuple(parts))


def _points(curves: list[Curve]) -> FloatArray:
    """The limits of the common domain, and all points between them where the lowest may change."""
    low = max(curve.domain[0] for curve in curves)
    high = min(curve.domain[1] for curve in curves)
    lines = _lines(curves)
    crossings: list[FloatArray] = []
    if lines is not None and lines.size:
        *_, corners = envelopes(*lines.T[:, None])
        crossings = [low + corners[corners < high - low]]
    elif lines is None:
        crossings = [curve.crossings(other) for curve, other in combinations(curves, 2)]
    points = np.unique(np.concatenate([[low], *crossings]))
    sliver = _TIE * (high - low)
    points = points[(points > low + sliver) & (points < high - sliver)]
    apart = np.diff(points, prepend=low) > sliver
    return np.concatenate([[low], points[apart], [high]])


def _lines(curves: list[Curve]) -> FloatArray | None:
    """Values at the start and slopes (L, 2) of curves that are straight lines on one domain.

    None for others. Lines that are undefined are left out.
    """
    pieces = [curve.coefficients for curve in curves]
    straight = all(len(piece) == 1 and not piece[:, 2:].any() for piece in pieces)
    if not straight or len({curve.domain for curve in curves}) > 1:
        return None
    lines = np.array([piece[0, :2] for piece in pieces])
    return np.asarray(lines[~np.isnan(lines).any(axis=1)])


def dominance(curves: Mapping[Any, Curve]) -> dict[Label, Labels]:
    """For each model, the models that never cost more than it and somewhere cost less.

    A dominated model is never worth choosing. A model that no single other one dominates may still
    be the cheapest nowhere, see `Regions.never_cheapest`.

    Parameters
    ----------
    curves : cost along the axis, by model

    Returns
    -------
    model → the models that dominate it

    Examples
    --------
    >>> dominance({"a": Curve([0, 1], [[0.2]]), "b": Curve([0, 1], [[0.3, -0.1]])})
    {'a': (), 'b': ('a',)}
    """
    _check.mapping_of("curves", curves, Curve)
    models = _check.labels("curves", curves)
    return {
        model: tuple(rival for rival in models if _dominates(curves[rival], curves[model]))
        for model in models
    }


def _dominates(first: Curve, second: Curve) -> bool:
    pair = lowest({"first": first, "second": second}, axis="")
    winners = {part.cheapest for part in pair.parts}
    return ("first",) in winners and ("second",) not in winners and () not in winners


# Other scales -----------------------------------------------------------------------------------


def as_cost_ratios(regions: Regions) -> Regions:
    """Regions of the cost proportion as regions of the ratio false alarm : miss, 0 to inf.

    Regions of anything else are refused.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each

    Returns
    -------
    the same regions on the axis of the ratio

    Examples
    --------
    >>> from stakes.regions import CostProportion, cheapest_regions
    >>> from stakes.tally import Counts
    >>> models = {"old": Counts([[80, 20], [3, 7]]), "new": Counts([[90, 10], [5, 5]])}
    >>> regions = cheapest_regions(models, CostProportion([0.9, 0.1]))
    >>> as_cost_ratios(regions)
    false alarm : miss  cheapest
    0 to 0.2222              old
    0.2222 to inf            new
    """
    _check.require("regions", regions, Regions)
    if regions.axis != "cost proportion":
        raise InputError(
            f"regions must be those of the cost proportion; these are of the {regions.axis}. Make "
            f"them over CostProportion(), or call skews_as_cost_proportions for skews."
        )
    return regions.mapped(lambda c: c / (1 - c) if c < 1 else np.inf, "false alarm : miss")


def skews_as_cost_proportions(regions: Regions, *, prior: object) -> Regions:
    r"""Regions of the skew as regions of the cost proportion at one prior.

    .. math:: c = \frac{z \pi_1}{z \pi_1 + (1 - z) \pi_0}

    This holds for methods whose threshold depends on costs and prior only through the skew, such
    as `Optimal`: their loss at (c, π) is a positive multiple of their loss at z.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each
    prior : class shares

    Returns
    -------
    the same regions on the other axis

    Examples
    --------
    >>> low, high = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> regions = lowest({"low": low, "high": high}, axis="skew")
    >>> skews_as_cost_proportions(regions, prior={0: 0.8, 1: 0.2}).crossings.round(3)
    array([0.143])
    """
    _check.require("regions", regions, Regions)
    negative, positive = _two_shares(prior)

    def proportion(z: float) -> float:
        return float(z * positive / (z * positive + (1 - z) * negative))

    return regions.mapped(proportion, "cost proportion")


def skews_as_priors(regions: Regions, *, cost_proportion: float) -> Regions:
    r"""Regions of the skew as regions of the prior of the positive class at one cost proportion.

    .. math:: \pi_1 = \frac{(1 - z)\, c}{(1 - z)\, c + z\, (1 - c)}

    A high skew is a low prior, so that the regions come in reverse order. This holds for the same
    methods as `skews_as_cost_proportions`.

    Parameters
    ----------
    regions : intervals of the axis and the model that wins in each
    cost_proportion : cost of a false alarm over the sum of both mistakes, c

    Returns
    -------
    the same regions on the other axis

    Examples
    --------
    >>> low, high = Curve([0, 1], [[0.1, 0.3]]), Curve([0, 1], [[0.3, -0.2]])
    >>> regions = lowest({"low": low, "high": high}, axis="skew")
    >>> skews_as_priors(regions, cost_proportion=0.1).crossings.round(3)
    array([0.143])
    """
    _check.require("regions", regions, Regions)
    c = _check.number("cost_proportion", cost_proportion, low=0, high=1)
    if not 0 < c < 1:
        raise InputError(
            f"cost_proportion must lie strictly between 0 and 1; got {c:g}. At 0 and at 1 nothing "
            f"is at stake in one class."
        )

    def positive(z: float) -> float:
        return (1 - z) * c / ((1 - z) * c + z * (1 - c))

    return regions.mapped(positive, "prior of the positive class")


def _two_shares(prior: object) -> FloatArray:
    shares = _check.prior("prior", prior, (0, 1))
    if not (shares > 0).all():
        raise InputError(f"prior must be positive for both classes; got {shares.tolist()}.")
    return shares
