"""How often a metric ranks two classifiers in the wrong order, by simulation.

Utilities, a class share and two classifiers are drawn; the utilities and the metric say which
classifier is better; the disagreements are counted (dyrland, section 4.2). All metrics see the same
draws. `exact_misranking` computes the value for metrics that are linear at each class share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt

import numpy as np

from stakes import _check
from stakes._check import FloatArray, IntArray
from stakes._text import html_table, text_table
from stakes._value import Value, record
from stakes.audit.metric import Metric, of_each
from stakes.audit.settings import (
    ErrorSampler,
    RateSampler,
    ShareSampler,
    UtilitySampler,
    read_errors,
)
from stakes.errors import InputError
from stakes.tally import Counts

_BLOCK = 1 << 15  # pairs drawn at a time, so that memory does not depend on how many are wanted
_SLICE = 1 << 12  # pairs ranked at a time: their tables stay in the processor's cache


@record(repr=False)
class Misranking(Value):
    """How many of the pairs each criterion ranked wrongly.

    Attributes
    ----------
    names : the metrics, then the utilities with errors; Q in all
    together : (Q, Q) pairs that both criteria ranked wrongly; the diagonal has those of each
    undefined : (Q,) pairs for which the criterion was nan, which do not count as wrong
    pairs : how many were drawn

    Examples
    --------
    Of 100 pairs accuracy ranked 20 wrongly, F1 30, and 15 of these were the same:

    >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
    >>> study.wrong, round(study.difference("F1", "accuracy")[0], 6)
    (array([0.2, 0.3]), 0.1)
    """

    names: tuple[str, ...]
    together: IntArray
    undefined: IntArray
    pairs: int

    @property
    def wrong(self) -> FloatArray:
        """Share of the pairs that were ranked wrongly, (Q,)."""
        return np.asarray(np.diagonal(self.together) / self.pairs)

    @property
    def standard_errors(self) -> FloatArray:
        """Standard errors of the shares, (Q,)."""
        return np.sqrt(self.wrong * (1 - self.wrong) / self.pairs)

    def share(self, name: str) -> float:
        """Share of the pairs that one criterion ranked wrongly.

        Parameters
        ----------
        name : name of the criterion

        Returns
        -------
        the share

        Examples
        --------
        >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
        >>> study.share("F1")
        0.3
        """
        return float(self.wrong[self._position(name)])

    def difference(self, name: str, other: str) -> tuple[float, float]:
        """How much more often one criterion errs than another, with the standard error.

        Both saw the same pairs, so that the error is that of a paired difference.

        Parameters
        ----------
        name : name of the criterion
        other : name of the other

        Returns
        -------
        the difference and its standard error

        Examples
        --------
        >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
        >>> [round(number, 4) for number in study.difference("F1", "accuracy")]
        [0.1, 0.0436]
        """
        first, second = self._position(name), self._position(other, "other")
        both = self.together[first, second]
        only_first = (self.together[first, first] - both) / self.pairs
        only_second = (self.together[second, second] - both) / self.pairs
        gap = float(only_first - only_second)
        return gap, sqrt(max(float(only_first + only_second) - gap * gap, 0.0) / self.pairs)

    def columns(self) -> dict[str, list[object]]:
        """What the table shows, by column.

        Returns
        -------
        columns of equal length

        Examples
        --------
        >>> study = Misranking(("accuracy", "F1"), np.array([[20, 15], [15, 30]]), np.zeros(2), 100)
        >>> sorted(study.columns())
        ['criterion', 'standard error', 'undefined', 'wrong']
        """
        return {
            "criterion": list(self.names),
            "wrong": self.wrong.tolist(),
            "standard error": self.standard_errors.tolist(),
            "undefined": (self.undefined / self.pairs).tolist(),
        }

    def _position(self, name: str, argument: str = "name") -> int:
        return _check.one_of(argument, name, self.names, "names")

    def _table(self) -> tuple[list[object], list[list[object]]]:
        order = np.argsort(-self.wrong, kind="stable")
        rows: list[list[object]] = [
            [self.names[q], f"{self.wrong[q]:.2%}", f"{self.standard_errors[q]:.2%}"] for q in order
        ]
        return ["", "wrongly ranked", "standard error"], rows

    def __repr__(self) -> str:
        return f"Misranking of {self.pairs} pairs\n" + text_table(*self._table())

    def _repr_html_(self) -> str:
        return html_table(*self._table(), f"Misranking of {self.pairs} pairs")


def misranking(
    metrics: Mapping[str, Metric],
    *,
    utilities: UtilitySampler,
    class_share: ShareSampler,
    rates: RateSampler,
    error: Mapping[str, ErrorSampler],
    pairs: int,
    rng: np.random.Generator,
    progress: Callable[[int, int], None] | None = None,
) -> Misranking:
    r"""Share of pairs of classifiers that each metric ranks in the wrong order.

    For each pair a utility matrix U is drawn, a share of the positive class, and for both
    classifiers the rates of right decisions within each class; the pair is ranked wrongly when the
    metric and the utility yield :math:`\sum_{kd} U_{kd} C_{kd}` have differences of opposite signs.
    Ties of either are not wrong. Pairs for which the metric is undefined are not wrong either, and
    are counted separately. Reference: dyrland, section 4.2, figures 6 and 7.

    Parameters
    ----------
    metrics : name → metric; `FAMILIAR` is such a mapping
    utilities : ``(rng, n)`` → utility matrices (n, 2, 2), rows classes
    class_share : ``(rng, (n,))`` → shares of the positive class
    rates : ``(rng, (2, 2, n))`` → rates of right decisions, axes model, class, pair
    error : name → ``(rng, utilities)`` → the utilities as they were assessed; may be empty
    pairs : how many pairs to draw; memory does not grow with it
    rng : the generator that draws
    progress : called with the pairs done and the pairs wanted, after each block

    Returns
    -------
    shares of pairs, metric by metric, with their standard errors

    Examples
    --------
    >>> from stakes.audit import FAMILIAR, AssessmentError, uniform_setting
    >>> study = misranking(
    ...     {name: FAMILIAR[name] for name in ("accuracy", "precision")}, **uniform_setting(),
    ...     error={"10 % error": AssessmentError(0.1)}, pairs=20_000, rng=np.random.default_rng(7))
    >>> study.share("10 % error") < study.share("accuracy") < study.share("precision")
    True
    """
    names = tuple(map(str, metrics))
    read_errors("error", error)
    _check.labels("the names of metrics and errors", (*names, *map(str, error)))
    wanted = _check.draws("pairs", pairs, low=1)
    total = len(names) + len(error)
    together, undefined = np.zeros((total, total)), np.zeros(total, dtype=np.intp)
    for start in range(0, wanted, _BLOCK):
        size = min(_BLOCK, wanted - start)
        true = _check.floats("utilities", _drawn("utilities", utilities(rng, size), (size, 2, 2)))
        share = _drawn("class_share", class_share(rng, (size,)), (size,))
        right = _drawn("rates", rates(rng, (2, 2, size)), (2, 2, size))
        share = _check.probabilities("class_share", share)
        right = _check.probabilities("rates", right)
        assessed = [_drawn("error", assess(rng, true), (size, 2, 2)) for assess in error.values()]
        for first in range(0, size, _SLICE):
            part = slice(first, first + _SLICE)
            tables = _tables(share[part], right[..., part])
            gaps = _gaps(metrics, tables, [some[part] for some in (true, *assessed)])
            # Sums of ones in single precision are exact up to 2**24.
            wrong = (gaps[1:] * gaps[0] < 0).astype(np.float32)
            together += wrong @ wrong.T
            undefined += np.count_nonzero(np.isnan(gaps[1:]), axis=1)
        if progress is not None:
            progress(start + size, wanted)
    return Misranking._trusted(
        names=(*names, *map(str, error)),
        together=together.astype(np.intp),
        undefined=undefined,
        pairs=wanted,
    )


def _drawn(name: str, drawn: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """The draws of a sampler, if they have the requested shape."""
    remedy = "There are two classes here; wrong_picks studies problems of any shape."
    numbers = _check.returned(name, drawn, remedy)
    if numbers.shape != shape:
        raise InputError(
            f"{name} must draw an array of shape {shape}; it drew {numbers.shape}. {remedy}"
        )
    return numbers


def _tables(share: FloatArray, rates: FloatArray) -> FloatArray:
    """Tables of shares (class, decision, model, pair) from shares (n,) and rates (model, class, n).

    The pair comes last, so that metrics run along contiguous columns.
    """
    tables = np.empty((2, 2, 2, share.size))
    for k, class_share in enumerate((1 - share, share)):
        np.multiply(rates[:, k], class_share, out=tables[k, k])
        np.subtract(class_share, tables[k, k], out=tables[k, 1 - k])
    return tables


def _gaps(
    metrics: Mapping[str, Metric], tables: FloatArray, utilities: list[FloatArray]
) -> FloatArray:
    """By how much each criterion prefers the second classifier, one row for each, (1 + Q, n).

    The true utilities, first in the list, make the first row; then the metrics; then the assessed
    utilities.
    """
    size = tables.shape[-1]
    # Both models of all pairs in one tally: each metric is called once.
    counts = Counts._unlabelled(np.moveaxis(tables.reshape(2, 2, 2 * size), -1, 0))
    moved = tables[..., 1, :] - tables[..., 0, :]
    gaps = np.empty((len(metrics) + len(utilities), size))
    gaps[0] = _worth(utilities[0], moved)
    values = of_each(metrics, lambda metric: metric.goodness(counts))
    for row, goodness in enumerate(values, start=1):
        np.subtract(goodness[size:], goodness[:size], out=gaps[row])
    for row, assessed in enumerate(utilities[1:], start=1 + len(metrics)):
        gaps[row] = _worth(assessed, moved)
    return gaps


def _worth(utilities: FloatArray, moved: FloatArray) -> FloatArray:
    """The change in utility yield that a change of the tables (class, decision, pair) makes."""
    return np.asarray(np.einsum("nkd,kdn->n", utilities, moved))
