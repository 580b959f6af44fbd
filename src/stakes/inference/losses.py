"""Intervals of mean losses: profile likelihood for costs that differ from case to case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from stakes._arithmetic import table_of
from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._value import record
from stakes.inference.likelihood import Support, combined, few_weights, stacked, stratum_of
from stakes.inference.sampling import (
    Cells,
    CostErrors,
    alike_cases,
    beyond_rounding,
    checked_added,
    checked_fitting,
    degrees_of_parts,
    design_factors,
    in_one_place,
    unseen_mistake,
    variance_between,
)

# A few hundred bins in place of a million losses: the outermost ones stay as they are ------------

_OUTER = 64  # losses on each side that are bins of their own
_INNER = 384  # bins of equal width between them
N_BINS = 2 * _OUTER + _INNER
_SAMPLE = 4096  # losses of a sample that tells where the outer ones begin


def times(values: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Values times weights; as they are where each counts once."""
    return values if weights is None else values * weights


def bin_codes(values: FloatArray, repeats: FloatArray | None = None) -> IntArray:
    """A bin for each value: the outermost have their own, those between share bins of one width."""
    n_cases = values.size if repeats is None else repeats.sum()
    if n_cases <= N_BINS:
        return np.unique(values, return_inverse=True)[1].reshape(-1)
    low, high = value_at_rank(values, _OUTER, repeats), -value_at_rank(-values, _OUTER, repeats)
    # Where all inner values are equal they share one bin.
    codes = np.full(values.size, _INNER // 2) if low == high else _even(values, low, high)
    below, above = np.flatnonzero(values < low), np.flatnonzero(values > high)
    codes[below] = _INNER + np.arange(below.size)
    codes[above] = _INNER + _OUTER + np.arange(above.size)
    return codes


def value_at_rank(values: FloatArray, place: int, repeats: FloatArray | None = None) -> float:
    """The value at a given rank near the lowest; most values are compared only once.

    A partition of all values would move each of them; a sample gives a bound below which to look.
    Values that stand for several cases are few, and they are simply sorted.
    """
    if repeats is not None:
        order = np.argsort(values, kind="stable")
        return float(values[order[np.searchsorted(np.cumsum(repeats[order]), place, side="right")]])
    sample = np.sort(values[:: 1 + values.size // _SAMPLE])
    few = values[values <= sample[min(4 * place * len(sample) // values.size + 9, len(sample) - 1)]]
    return float(np.partition(few if few.size > place else values, place)[place])


def _even(values: FloatArray, low: float, high: float) -> IntArray:
    # The small addition keeps equal losses, which rounding may separate, in the same bin.
    places = (values - low) * (_INNER / (high - low)) + 1e-9
    return np.clip(places, 0, _INNER - 1).astype(np.intp)


def bins_of(
    values: FloatArray, weights: FloatArray | None, repeats: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Means and counts of the bins that hold a case."""
    if not values.size:
        return np.zeros(1), np.zeros(1)
    codes = bin_codes(values, repeats)
    counts = np.bincount(codes, weights)
    occupied = counts > 0
    sums = np.bincount(codes, times(values, weights))
    return sums[occupied] / counts[occupied], counts[occupied].astype(np.float64)


# Intervals of mean losses: profile likelihood for costs that differ from case to case ------------
#
# The costs of a table take few known values. Losses of single cases may take as many values as
# there are cases, and the largest possible one need not be among them. The likelihood is that of
# the observed losses (Owen 1990), in at most 512 bins of which the outermost hold single cases.
# The pseudo-case of `likelihood`, which stands for a costly case that this sample happens to lack,
# is at
#
#     max(max_i l_i, min(2 max(max_i l_i, d̄), max_i d_i))
#
# with the losses l, the cost d of the costliest decision about each case, and its mean d̄ in
# the class where that is largest. For differences and for normalised losses, d is how much the
# decision about a case can change the difference: an amount that a case costs whatever is decided
# changes none of them. Twice the largest loss allows for heavy tails, where the next n cases may
# well bring more. The mean allows for rare mistakes: a sample without a single one still says what
# one would cost. ``docs/coverage.md`` says how often such intervals cover.
#
# A class without cases may have a share nonetheless. What its cases would cost is known from the
# costs that the cases of other classes would have if they were of that class: these stand-ins take
# part in d, and with clusters in the unseen mistakes of `sampling`, as in a table.
#
# Losses are (J, n): systems in rows, cases in columns.

_POOLED = "repeats", "squared"


@record
class LossSample:
    """Losses of J systems on the same cases, and how the cases were drawn.

    Attributes
    ----------
    names : J systems
    losses : (J, n)
    costliest : (n,) what the costliest decision costs each case
    perfect : (n,) what the cheapest decision costs each case
    truth : (n,) positions of the classes
    n_classes : K
    prior : (K,), or None: the shares of the cases
    weights : (n,), or None where each case counts once
    whole : whether weights are numbers of cases, as of copies
    clusters : (n,) codes, or None where cases were drawn one by one
    unaided : how many of the last systems need no predictions: what they cost each case is known
    reached : (n,) like `costliest`, among decisions that some posterior makes the cheapest
    bayes : systems that take no other decisions than these
    repeats : (n,) how many equal cases each row stands for, its weight being the sum of theirs;
        None where each row is one case
    squared : (n,) sums of the squared weights of the cases of each row; None where each row is one
        case
    absent : stand-ins for the classes without cases, with the losses of the unaided systems alone
        They are cases as if they were of such a class; None where nothing is known of such a class.

    Examples
    --------
    Each system errs once in one of two classes, and a mean weights these by the prior:

    >>> losses = np.array([[0.0, 0.0, 2.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    >>> truth, most, prior = np.array([0, 0, 1, 1]), np.full(4, 3.0), np.array([0.9, 0.1])
    >>> sample = LossSample(("a", "b"), losses, most, 0 * most, truth, 2, prior, None, True, None)
    >>> round(sample.mean(sample.loss("a")), 6), round(sample.mean(sample.loss("b")), 6)
    (0.1, 0.45)
    """

    names: Labels
    losses: FloatArray
    costliest: FloatArray
    perfect: FloatArray
    truth: IntArray
    n_classes: int
    prior: FloatArray | None
    weights: FloatArray | None
    whole: bool
    clusters: IntArray | None
    unaided: int = 0
    reached: FloatArray | None = None
    bayes: frozenset[Label] = frozenset()
    repeats: FloatArray | None = None
    squared: FloatArray | None = None
    absent: LossSample | None = None

    def only(self, part: IntArray) -> LossSample:
        """The losses of some of the cases, without stand-ins for absent classes.

        Parameters
        ----------
        part : positions of the cases

        Returns
        -------
        their losses

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.only(np.array([0, 1])).losses
        array([[0., 2.],
               [1., 0.]])
        """
        names = ("costliest", "perfect", "reached", "truth", "weights", "clusters", *_POOLED)
        columns: dict[str, Any] = {name: getattr(self, name) for name in names}
        columns = {name: None if c is None else c[part] for name, c in columns.items()}
        return replace(self, losses=self.losses[:, part], absent=None, **columns)

    def loss(self, name: Label) -> FloatArray:
        """The losses (n,) of one system.

        Parameters
        ----------
        name : name of the system

        Returns
        -------
        losses, (n,)

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.loss("b")
        array([1., 0., 0.])
        """
        return np.asarray(self.losses[self.names.index(name)])

    def most(self, name: Label) -> FloatArray:
        """The most that a system can cost each case and, behind these, each stand-in.

        Parameters
        ----------
        name : name of the system

        Returns
        -------
        the largest possible loss of each case, (n,), or of (n + A,) with A stand-ins

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.most("a")
        array([3., 3., 3.])
        """
        most = self.costliest
        if self.reached is not None and name in self.bayes:
            most = self.reached
            if name in self.names:  # a tied decision may cost this case more
                most = np.maximum(most, self.loss(name))
        return most if self.absent is None else np.append(most, self.absent.most(name))

    @cached_property
    def possible(self) -> LossSample:
        """The cases and the stand-ins together, without systems: what decisions can cost."""
        if self.absent is None:
            return self
        weights = np.append(self._weights(slice(None)), self.absent._weights(slice(None)))
        columns: dict[str, Any] = dict.fromkeys(("clusters", "reached", "absent", *_POOLED))
        for name in ("costliest", "perfect", "truth"):
            columns[name] = np.append(getattr(self, name), getattr(self.absent, name))
        empty = np.empty((0, weights.size))
        return replace(self, names=(), losses=empty, weights=weights, **columns)

    @cached_property
    def shares(self) -> FloatArray:
        """What each stratum counts, (R,): the classes under a stated prior, else all cases."""
        return np.ones(1) if self.prior is None else self.prior

    @cached_property
    def _strata(self) -> tuple[IntArray | slice, ...]:
        """The cases of each stratum."""
        if self.prior is None:
            return (slice(None),)
        return tuple(np.flatnonzero(self.truth == k) for k in range(self.n_classes))

    @cached_property
    def _masses(self) -> FloatArray:
        """The weight of each stratum, (R,)."""
        return np.array([self._weights(rows).sum() for rows in self._strata])

    def _weights(self, rows: IntArray | slice) -> FloatArray:
        if self.weights is not None:
            return self.weights[rows]
        size = self.truth.size if isinstance(rows, slice) else rows.size
        return np.ones(size)

    def _squares(self, rows: IntArray | slice) -> FloatArray:
        """Squared weights of some cases, (n,)."""
        return np.asarray(self._weights(rows) ** 2 if self.squared is None else self.squared[rows])

    # Means and their errors ----------------------------------------------------------------------

    def mean(self, values: FloatArray) -> float:
        """Mean of (n,) values per case; nan if the prior expects a class without cases.

        Parameters
        ----------
        values : (n,) a value for each case

        Returns
        -------
        the mean, under the prior if one is stated

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> round(sample.mean(sample.loss("a")), 3)
        0.667
        """
        counted = [r for r, share in enumerate(self.shares) if share > 0]
        parts = []
        for r in counted:
            rows = self._strata[r]
            with np.errstate(invalid="ignore"):
                of_class = values[rows]
                total = of_class.sum() if self.weights is None else self._weights(rows) @ of_class
                parts.append(self.shares[r] * (total / self._masses[r]))
        return float(np.sum(parts))

    def _influence(self, values: FloatArray) -> FloatArray:
        """The influence (n,) of each case on a mean, per unit of its weight."""
        influence = np.zeros(values.size)
        for share, rows, mass in zip(self.shares, self._strata, self._masses, strict=True):
            if share > 0 and mass > 0:
                # An amount that all share has no influence, but would take digits from it.
                of_class = values[rows] - values[rows][0]
                mean = (
                    of_class.mean()
                    if self.weights is None
                    else self._weights(rows) @ of_class / mass
                )
                influence[rows] = (of_class - mean) * (share / mass)
        return influence

    def errors(self, fitting: FloatArray | None, added: object = None) -> CostErrors:
        """Costs of all systems and the covariance of their errors, as `cost_errors` has them.

        Parameters
        ----------
        fitting : (J, J) covariance that fitting adds; None for none
        added : (J,) what each system costs per case besides its decisions; None for nothing

        Returns
        -------
        costs and covariances

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.errors(None).costs.round(3)
        array([0.667, 0.333])
        """
        amounts = checked_added(added, self.names)
        costs = np.array([self.mean(loss) for loss in self.losses]) + amounts
        extra = checked_fitting(fitting, len(costs))
        # The last one is that of the best decision about every case.
        influence = np.stack([self._influence(loss) for loss in (*self.losses, self.perfect)])
        if self.clusters is not None:
            degrees, covariance = self._between(influence, int(costs.argmin()))
        else:
            weights = self.weights
            if weights is not None:
                influence *= np.sqrt(weights if self.whole else self._squares(slice(None)))
            influence *= np.sqrt(self._more)
            degrees, covariance = np.inf, influence @ influence.T
        return CostErrors._trusted(
            names=self.names,
            costs=costs,
            covariance=covariance[:-1, :-1] + extra,
            degrees=degrees,
            fitting=extra,
            least=self.mean(self.perfect) + amounts,
            shared=covariance[-1],
        )

    @property
    def _more(self) -> FloatArray | float:
        """Bessel's n / (n − 1) for the stratum of each case, n its effective number of cases."""
        each = np.empty(self.truth.size)
        for rows in self._strata:
            weights = self._weights(rows)
            n = (
                weights.sum()
                if self.whole or not weights.size
                else weights.sum() ** 2 / self._squares(rows).sum()
            )
            each[rows] = n / (n - 1) if n > 1 else 0.0
        return each

    def _between(self, influence: FloatArray, base: int) -> tuple[float, FloatArray]:
        """Degrees of freedom and covariance (J, J) of clusters, leaving one out at a time.

        The degrees of freedom are the fewest that a difference to the base has.
        """
        sums, known, degrees = self._cluster_sums(influence, base)
        if not known.all():
            return 0.0, np.full((len(influence),) * 2, np.nan)
        return float(degrees[:-1].min()), np.asarray(sums @ sums.T * (1 - 1 / self._n_clusters))

    @cached_property
    def _n_clusters(self) -> int:
        assert self.clusters is not None
        return int(np.count_nonzero(np.bincount(self.clusters)))

    def _cluster_sums(
        self, influence: FloatArray, base: int | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Influence (J, G) of each cluster, strata (R,) that several hold, degrees of freedom (J,).

        The latter are those of `sampling`, of the differences to a base if there is one.
        """
        assert self.clusters is not None
        size, by_class = int(self.clusters.max()) + 1, self.prior is not None
        sums, known = np.zeros((len(influence), size)), np.ones(len(self.shares))
        parts, holders = np.zeros((len(influence), self.n_classes)), np.zeros(self.n_classes)
        masses = self._cluster_masses(size)
        for k in np.flatnonzero(self._class_mass > 0).tolist():
            r = k if by_class else 0
            if self.shares[r] == 0:
                continue
            shares = masses[r] / self._masses[r]
            known[r] = np.count_nonzero(shares) > 1
            rows = np.flatnonzero(self.truth == k)
            codes, weights = self.clusters[rows], self._weights(rows)
            parts_of = [np.bincount(codes, weights * z[rows], size) for z in influence]
            each = np.stack(parts_of) / np.where(shares < 1, 1 - shares, 1.0)
            sums += each
            reach = 1e-12 * np.array([weights @ np.abs(z[rows]) for z in influence])
            if base is not None:
                each, reach = each - each[base], reach + reach[base]
            squares = np.sum(each**2, axis=1)
            parts[:, k] = np.where(squares > reach**2, squares, 0.0)  # the rest is rounding
            holders[k] = np.count_nonzero(np.bincount(codes, weights, size))
        most = np.asarray(self._n_clusters - 1.0)
        return sums, known, degrees_of_parts(parts, holders, most, by_class=by_class)

    def _cluster_masses(self, size: int) -> list[FloatArray]:
        """The weight (G,) of every stratum in each cluster."""
        assert self.clusters is not None
        masses = [(self.clusters[rows], self._weights(rows)) for rows in self._strata]
        return [np.bincount(*each, size).astype(np.float64) for each in masses]

    def class_sums(self, name: Label) -> FloatArray:
        """Sums (K,) of the losses of one system, class by class.

        Parameters
        ----------
        name : name of the system

        Returns
        -------
        sums, (K,)

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.class_sums("a")
        array([0., 2.])
        """
        weighted = times(self.loss(name), self.weights)
        return np.bincount(self.truth, weighted, self.n_classes).astype(np.float64)

    # Likelihoods ---------------------------------------------------------------------------------

    @cached_property
    def _by_weight(self) -> tuple[FloatArray, list[LossSample]] | None:
        """The different weights, and the rows of each as a sample in which each row counts once.

        None where the likelihood of such strata is not known; see `likelihood`.
        """
        plain = self.clusters is None and self.prior is None
        if self.whole or self.weights is None or not plain:
            return None
        each = self.weights if self.repeats is None else self.weights / self.repeats
        distinct = few_weights(each)
        if distinct is None:
            return None
        stratum = stratum_of(each, distinct)
        holders = table_of(None, [stratum, self.truth], (distinct.size, self.n_classes)) > 0
        if (holders.sum(axis=0) <= 1).all():
            return None
        parts = [self.only(np.flatnonzero(stratum == h)) for h in range(distinct.size)]
        alone: dict[str, Any] = {"whole": True, "squared": None, "absent": self.absent}
        counted = [replace(part, weights=part.repeats, **alone) for part in parts]
        return distinct, counted

    @property
    def most_degrees(self) -> float:
        """The most degrees of freedom: clusters less one; inf for cases."""
        return np.inf if self.clusters is None else self._n_clusters - 1.0

    def cost_support(self, name: Label) -> Support:
        """The support of the cost of one system.

        Parameters
        ----------
        name : name of the system

        Returns
        -------
        possible losses and how often each was seen

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.cost_support("a").counts
        array([[2., 1.]])
        """
        if self._by_weight is not None:
            weights, parts = self._by_weight
            return combined([part.cost_support(name) for part in parts], weights)
        loss, perfect = self.loss(name), self.possible.perfect
        least = [perfect[rows].min(initial=np.inf) for rows in self.possible._strata]
        lowest = np.where(np.isinf(least), 0.0, least)
        reach = perfect, self.most(name)
        return self._support(loss, self._beyond(loss, reach[1]), lowest, reach)

    def costs_support(self, names: Labels) -> Support:
        """The supports of the costs of several systems, along the last leading axis.

        Parameters
        ----------
        names : names of the systems

        Returns
        -------
        possible losses and how often each was seen

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.costs_support(("a", "b")).counts.shape
        (2, 1, 2)
        """
        return stacked([self.cost_support(name) for name in names])

    def difference_support(self, first: Label, second: Label, factor: float = 1.0) -> Support:
        """The support of the cost of one system less a factor times that of another.

        Parameters
        ----------
        first, second : names of the systems
        factor : what the cost of the second is multiplied by

        Returns
        -------
        possible differences and how often each was seen

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.difference_support("a", "b").values
        array([[-1.,  0.,  2.]])
        """
        if self._by_weight is not None:
            weights, parts = self._by_weight
            alone = [part.difference_support(first, second, factor) for part in parts]
            return combined(alone, weights)
        values = self.loss(first) - factor * self.loss(second)
        (low, high), (other_low, other_high) = self._range(first), self._range(second)
        reach = low - factor * other_high, high - factor * other_low
        highest, lowest = self._beyond(values, reach[1]), -self._beyond(-values, -reach[0])
        return self._support(values, highest, lowest, reach)

    def differences(self, names: Labels, base: Label) -> Support:
        """The supports of the differences between several systems and one, along the last axis.

        Parameters
        ----------
        names : names of the systems
        base : name of the system that they are compared with

        Returns
        -------
        possible differences and how often each was seen

        Examples
        --------
        >>> losses = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
        >>> names, truth, most = ("a", "b"), np.array([0, 1, 1]), np.full(3, 3.0)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.differences(("a",), "b").values
        array([[[-1.,  0.,  2.]]])
        """
        return stacked([self.difference_support(name, base) for name in names])

    def _range(self, name: Label) -> tuple[FloatArray, FloatArray]:
        """The least and the most that a system can cost each case and each stand-in."""
        if self.names.index(name) < len(self.names) - self.unaided:
            return self.possible.perfect, self.most(name)
        loss = self.possible_loss(name)
        return loss, loss

    def possible_loss(self, name: Label) -> FloatArray:
        """The losses of an unaided system in all cases and, behind these, in each stand-in.

        Parameters
        ----------
        name : name of the system

        Returns
        -------
        losses, (n,), or (n + A,) with A stand-ins

        Examples
        --------
        >>> names, losses, most = ("always 0",), np.array([[1.0, 1.0]]), np.full(2, 3.0)
        >>> columns = names, losses, most, 0 * most
        >>> sample = LossSample(*columns, np.array([0, 0]), 2, None, None, True, None, unaided=1)
        >>> missed = replace(sample, losses=3 * losses, truth=np.array([1, 1]))
        >>> replace(sample, absent=missed).possible_loss("always 0")
        array([1., 1., 3., 3.])
        """
        loss = self.loss(name)
        return loss if self.absent is None else np.append(loss, self.absent.loss(name))

    def _beyond(self, values: FloatArray, reach: FloatArray) -> FloatArray:
        """The value of the pseudo-case in each stratum, (R,); see the docstring of this module."""
        parts = []
        typical = self.possible._typical(reach)
        for rows, mean, most in zip(self._strata, typical, self.largest(reach), strict=True):
            seen = float(values[rows].max(initial=0.0))
            parts.append(max(seen, min(2 * max(seen, mean), most)))
        return np.array(parts)

    def largest(self, reach: FloatArray) -> FloatArray:
        """The largest of what is possible in each stratum, and 0 at the least.

        Parameters
        ----------
        reach : what is possible in each case and each stand-in

        Returns
        -------
        the largest, (R,)

        Examples
        --------
        >>> losses, truth, most = np.array([[1.0, 1.0]]), np.array([0, 0]), np.array([2.0, 3.0])
        >>> names = ("a",)
        >>> sample = LossSample(names, losses, most, 0 * most, truth, 2, None, None, True, None)
        >>> sample.largest(most)
        array([3.])
        """
        return np.array([reach[rows].max(initial=0.0) for rows in self.possible._strata])

    @property
    def beyond_all(self) -> float:
        """More than any mean loss is expected to be: what the costliest case costs."""
        return float(self.possible.costliest.max(initial=0.0))

    @cached_property
    def _class_mass(self) -> FloatArray:
        """The weight of each class."""
        return np.bincount(self.truth, self.weights, self.n_classes).astype(np.float64)

    def _typical(self, reach: FloatArray) -> FloatArray:
        """The mean of the reach (n,) by class, (K,); without a prior only the largest of these."""
        sums = np.bincount(self.truth, times(reach, self.weights), self.n_classes)
        means = sums / np.where(self._class_mass > 0, self._class_mass, 1.0)
        return means if self.prior is not None else means.max(keepdims=True)

    def _support(
        self,
        values: FloatArray,
        highest: FloatArray,
        lowest: FloatArray | float,
        reach: tuple[FloatArray, FloatArray],
    ) -> Support:
        """Values in bins, stratum by stratum, with effective numbers of cases.

        `reach` is the least and the most that is possible in each case and each stand-in.
        """
        # The likelihood iterates over cells: a few hundred bins in place of a million losses.
        binned = [
            bins_of(values[rows], self._own(rows), self._repeats(rows)) for rows in self._strata
        ]
        size = max(len(means) for means, _ in binned)
        grid = np.zeros((len(binned), size))
        counts = np.zeros((len(binned), size))
        for r, (means, weights_of_bins) in enumerate(binned):
            grid[r, : len(means)], counts[r, : len(means)] = means, weights_of_bins
        (factors, degrees), shares = self._design(values, reach), self.shares
        # What was seen is possible, whatever the bounds say.
        top = np.maximum(highest, grid.max(axis=1, initial=-np.inf, where=counts > 0))
        bottom = np.minimum(lowest, grid.min(axis=1, initial=np.inf, where=counts > 0))
        return Support(
            values=grid * shares[:, None],
            counts=counts * factors[:, None],
            lowest=bottom * shares,
            highest=top * shares,
            degrees=np.asarray(degrees),
        )

    def _own(self, rows: IntArray | slice) -> FloatArray | None:
        return None if self.weights is None else self.weights[rows]

    def _repeats(self, rows: IntArray | slice) -> FloatArray | None:
        return None if self.repeats is None else self.repeats[rows]

    def _factors(self, values: FloatArray, reach: tuple[FloatArray, FloatArray]) -> FloatArray:
        return self._design(values, reach)[0]

    def _design(
        self, values: FloatArray, reach: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, float]:
        """Factors (R,) that turn weights into effective numbers of cases, and degrees of freedom.

        See `sampling`.
        """
        ones, degrees = np.ones(len(self.shares)), np.inf
        if self.clusters is None and self.whole:
            return ones, degrees
        influence, weights = self._influence(values), self._weights(slice(None))
        squares = influence**2
        plain = np.array([self._weights(rows) @ squares[rows] for rows in self._strata])
        kish, variance, known = ones, plain.sum(), ones
        if not self.whole:
            kish = np.array([self._kish(rows) for rows in self._strata])
            classes = [np.flatnonzero(self.truth == k) for k in range(self.n_classes)]
            usual = sum(self._kish(rows) * (weights[rows] @ squares[rows]) for rows in classes)
            variance = max(float(usual), float(self._squares(slice(None)) @ squares))
        if self.clusters is not None:
            sums, known, [degrees] = self._cluster_sums(influence[None])
            variance = max(variance, variance_between(sums.T, np.asarray(self.most_degrees)).item())
        unseen = self._unseen(values, squares, reach)
        return design_factors(plain, kish, np.asarray(variance), known, unseen), degrees

    def _unseen(
        self, values: FloatArray, squares: FloatArray, reach: tuple[FloatArray, FloatArray]
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """What one unseen mistake of each class adds to either variance, (K,), for each reach."""
        size, shown = np.ones(self.n_classes), np.zeros(self.n_classes)
        influence = np.zeros((len(reach), self.n_classes))
        for k in np.flatnonzero(self.possible._class_mass > 0).tolist():
            r, seen = 0 if self.prior is None else k, self._class_mass[k] > 0
            if not seen and (self.prior is not None or self.clusters is None):
                continue
            stratum = self._strata[r]
            mean = np.average(values[stratum], weights=self._weights(stratum))
            rows, share = np.flatnonzero(self.possible.truth == k), self.shares[r] / self._masses[r]
            weights = self.possible._weights(rows)
            size[k] = self._alike(values, rows) if seen else self._in_one_place
            shown[k] = weights @ squares[rows] if seen else 0.0
            for bound, out in zip(reach, influence, strict=True):
                extreme = float(np.average(bound[rows], weights=weights))
                out[k] = float(beyond_rounding(extreme - mean, extreme)) * share
        for each in influence:
            yield unseen_mistake(size, each, shown)

    def _alike(self, values: FloatArray, rows: IntArray) -> float:
        """How much cases of one class weigh that are alike: one, or those of a cluster."""
        weights, case = self._weights(rows), 1.0 if self.whole else self._kish(rows)
        if self.clusters is None:
            return case
        codes, apart = self.clusters[rows], values[rows] - np.average(values[rows], weights=weights)
        masses, sums = np.bincount(codes, weights), np.bincount(codes, weights * apart)
        plain, most = float(weights @ apart**2), float(masses @ masses / masses.sum())
        return float(alike_cases(*map(np.asarray, (case, sums @ sums, plain, most))))

    @cached_property
    def _in_one_place(self) -> float:
        """How many cases of one class come together in a cluster."""
        assert self.clusters is not None
        sizes = table_of(
            self.weights,
            [self.clusters, self.truth],
            (int(self.clusters.max()) + 1, self.n_classes),
        )
        squares = None
        if not self.whole:
            squares = table_of(self._squares(slice(None)), [self.truth], (self.n_classes,))
        classes = np.arange(self.n_classes)
        return in_one_place(Cells(sizes.sum(axis=0), classes, classes.size, squares, sizes)).item()

    def _kish(self, rows: IntArray | slice) -> float:
        weights = self._weights(rows)
        return float(self._squares(rows).sum() / weights.sum()) if weights.any() else 1.0
