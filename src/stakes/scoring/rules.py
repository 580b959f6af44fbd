r"""Proper scoring rules: the loss of a probability forecast once the true class is known.

A rule gives every pair of a forecast and a true class a loss :math:`S(q, k)`; lower is better. It
is proper when no forecast beats the truth: :math:`\sum_k p_k S(q, k)` is least at :math:`q = p`.
That least value is the entropy of p; what another forecast loses on top of it is its divergence.

The methods of a rule do not check their arrays; `stakes.scoring.case_scores` and
`stakes.scoring.table_scores` check data before they call them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from stakes import _check
from stakes._arithmetic import weighted_sum
from stakes._check import FloatArray, IntArray
from stakes._value import Value, record
from stakes.errors import InputError


class ScoringRule(Value, ABC):
    """A loss for every forecast and true class; subclasses are frozen dataclasses.

    Examples
    --------
    A forecast that equals the truth loses the least, whatever the proper rule:

    >>> truth = np.array([0.7, 0.3])
    >>> for rule in (Brier(), LogLoss()):
    ...     print(rule.divergence(np.array([[0.7, 0.3], [0.5, 0.5]]), truth).round(3))
    [0.   0.08]
    [0.    0.082]
    """

    @abstractmethod
    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:
        """Loss of every case: (n, K) posteriors and (n,) positions of the true classes → (n,).

        Parameters
        ----------
        posteriors : P(class) for every case, (n, K)
        codes : position of the true class, (n,)

        Returns
        -------
        losses, (n,)

        Examples
        --------
        >>> Brier().losses(np.array([[0.75, 0.25], [0.5, 0.5]]), np.array([0, 1]))
        array([0.125, 0.5  ])
        """

    def losses_by_class(self, forecasts: FloatArray) -> FloatArray:
        """Loss of every forecast under each class, (…, K) → (…, K).

        Parameters
        ----------
        forecasts : probabilities, (…, K)

        Returns
        -------
        losses, (…, K)

        Examples
        --------
        >>> Brier().losses_by_class(np.array([[0.75, 0.25]]))
        array([[0.125, 1.125]])
        """
        _check.shapes("… K", forecasts=forecasts)
        rows = forecasts.reshape(-1, forecasts.shape[-1])
        columns = [
            self.losses(rows, np.full(len(rows), k, dtype=np.intp)) for k in range(rows.shape[1])
        ]
        return np.stack(columns, axis=-1).reshape(forecasts.shape)

    def expected(self, forecasts: FloatArray, truths: FloatArray) -> FloatArray:
        r"""Expected loss :math:`\sum_k p_k S(q, k)` of forecasts q under truths p, (…, K) → (…).

        A class of true probability zero adds nothing, even where its loss would be infinite.

        Parameters
        ----------
        forecasts : probabilities, (…, K)
        truths : true probabilities, (…, K)

        Returns
        -------
        expected losses, (…)

        Examples
        --------
        >>> float(HalfBrier().expected([0.8, 0.2], [0.7, 0.3]).round(3))
        0.22
        """
        q, p = np.broadcast_arrays(forecasts, truths)
        return weighted_sum(p, self.losses_by_class(np.ascontiguousarray(q)), axis=-1)

    def entropy(self, prior: FloatArray) -> FloatArray:
        """Expected loss of a forecast that equals the truth, (…, K) → (…).

        For class shares it is the loss of forecasting the shares for every case.

        Parameters
        ----------
        prior : probabilities, (…, K)

        Returns
        -------
        expected losses, (…)

        Examples
        --------
        >>> float(HalfBrier().entropy([0.7, 0.3]).round(3))
        0.21
        """
        return self.expected(prior, prior)

    def divergence(self, forecasts: FloatArray, truths: FloatArray) -> FloatArray:
        """What forecasts lose on top of the entropy of the truths, (…, K) → (…).

        Parameters
        ----------
        forecasts : probabilities, (…, K)
        truths : true probabilities, (…, K)

        Returns
        -------
        excess losses, (…), never negative

        Examples
        --------
        >>> float(HalfBrier().divergence([0.8, 0.2], [0.7, 0.3]).round(3))
        0.01
        """
        return self.expected(forecasts, truths) - self.entropy(truths)


class SymmetricRule(ScoringRule):
    """A rule that treats all classes alike, which allows a faster formula for two classes."""

    @abstractmethod
    def losses_of_two(self, true: FloatArray, other: FloatArray) -> FloatArray:
        """Loss of every forecast of two classes.

        Parameters
        ----------
        true : probability of the true class
        other : probability of the other class

        Returns
        -------
        losses, of the same shape

        Examples
        --------
        >>> HalfBrier().losses_of_two(np.array([0.75, 0.5]), np.array([0.25, 0.5]))
        array([0.0625, 0.25  ])
        """

    def losses_by_class(self, forecasts: FloatArray) -> FloatArray:  # noqa: D102
        _check.shapes("… K", forecasts=forecasts)
        if forecasts.shape[-1] != 2:
            return super().losses_by_class(forecasts)
        first, second = np.ascontiguousarray(np.moveaxis(forecasts, -1, 0))
        pairs = self.losses_of_two(first, second), self.losses_of_two(second, first)
        return np.moveaxis(np.stack(pairs), 0, -1)


def require_rule(rule: object) -> None:
    """Refuse anything that is not a scoring rule."""
    _check.require(
        "rule", rule, ScoringRule, "Write LogLoss(), Brier() or another of stakes.scoring."
    )


def _of_true_class(posteriors: FloatArray, codes: IntArray) -> FloatArray:
    if posteriors.shape[1] == 2:  # a choice between two columns is several times as fast
        return np.where(codes == 1, posteriors[:, 1], posteriors[:, 0])
    return np.asarray(np.take_along_axis(posteriors, codes[:, None], axis=1)[:, 0])


def true_and_other(posteriors: FloatArray, codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Probabilities (n,) of the true class of two, and of the other one."""
    positive = codes == 1
    first, second = np.ascontiguousarray(posteriors.T)
    return np.where(positive, second, first), np.where(positive, first, second)


@record
class LogLoss(SymmetricRule):
    r"""Surprise at the true class, :math:`-\log_{base} q_k`; in bits for base 2.

    Infinite when the forecast rules out what happened.

    Parameters
    ----------
    base : of the logarithm

    Examples
    --------
    >>> from stakes.scoring import mean_score
    >>> mean_score([0, 1], [0.25, 0.5], LogLoss(base=2))
    0.7075
    """

    base: float = math.e

    def __post_init__(self) -> None:
        base = _check.number("base", self.base)
        if not base > 1:
            raise InputError(f"base must be above 1; got {base:g}. 2 gives bits, e gives nats.")
        self._fill({"base": base})

    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:  # noqa: D102
        _check.shapes("n K, n", posteriors=posteriors, codes=codes)
        _check.known_places("codes", codes, posteriors.shape[1])
        if posteriors.shape[1] == 2:
            return self.losses_of_two(*true_and_other(posteriors, codes))
        of_true = _of_true_class(posteriors, codes)
        return self.losses_of_two(of_true, 1 - of_true)

    def losses_of_two(self, true: FloatArray, other: FloatArray) -> FloatArray:  # noqa: D102
        _refuse_other_shapes(true, other)
        with np.errstate(divide="ignore"):
            logs = np.asarray(np.log(true))
        # Near one, the probability of what did not happen has the digits, by which the true one was
        # rounded: log(q + e) = log q + e / q, which is several times as fast as log1p.
        rounded = np.asarray(1 - true)
        rounded -= _missed(true, other)
        if rounded.any():
            rounded *= true > 0.5
            rounded /= np.maximum(true, 0.5)
            logs += rounded
        if self.base != math.e:
            logs /= math.log(self.base)
        return np.asarray(np.subtract(0.0, logs, out=logs))  # turns −0 into 0


@record
class Brier(SymmetricRule):
    r"""Squared error summed over the classes, :math:`\sum_j (q_j - [j = k])^2`, from 0 to 2.

    This is Brier's scale of 1950, and what scikit-learn's ``brier_score_loss`` gives for more than
    two classes. For two classes it is twice the score that scikit-learn, yardstick and most others
    print, which is `HalfBrier`. Reports call this one the summed Brier score.

    Examples
    --------
    >>> from stakes.scoring import mean_score
    >>> mean_score([0, 1], [0.25, 0.5], Brier())
    0.3125
    """

    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:  # noqa: D102
        _check.shapes("n K, n", posteriors=posteriors, codes=codes)
        _check.known_places("codes", codes, posteriors.shape[1])
        if posteriors.shape[1] == 2:
            return self.losses_of_two(*true_and_other(posteriors, codes))
        errors, rows = np.array(posteriors), np.arange(len(posteriors))
        of_true = errors[rows, codes]
        errors[rows, codes] = 0.0
        return np.asarray(
            np.einsum("nk,nk->n", errors, errors) + _missed(of_true, errors.sum(1)) ** 2
        )

    def losses_of_two(self, true: FloatArray, other: FloatArray) -> FloatArray:  # noqa: D102
        _refuse_other_shapes(true, other)
        losses, missed = np.asarray(other * other), _missed(true, other)
        losses += losses if missed is other else missed * missed
        return losses


def _refuse_other_shapes(true: FloatArray, other: FloatArray) -> None:
    lengths = " ".join(map(str, np.shape(true)))
    _check.shapes(f"{lengths}, {lengths}", true=true, other=other)


def _missed(of_true: FloatArray, of_others: FloatArray) -> FloatArray:
    """One minus the probability of the true class, to full precision where it is near one."""
    # 1 − 0.9999999 loses digits that the sum of the other probabilities still has.
    total, slack = np.asarray(of_true + of_others), 4 * np.finfo(np.float64).eps
    if -slack <= total.min(initial=1.0) - 1 and total.max(initial=1.0) - 1 <= slack:
        return of_others
    return np.where(np.abs(total - 1) <= slack, of_others, 1 - of_true)


@record
class HalfBrier(SymmetricRule):
    r"""Half of `Brier`, from 0 to 1; for two classes the squared error :math:`(q_1 - y)^2`.

    The Brier score of hernandez-orallo, definition 8, and of scikit-learn and yardstick for two
    classes; the one that reports print for them.

    Examples
    --------
    >>> from stakes.scoring import mean_score
    >>> mean_score([0, 1], [0.25, 0.5], HalfBrier())
    0.15625
    """

    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:  # noqa: D102
        return Brier().losses(posteriors, codes) / 2

    def losses_of_two(self, true: FloatArray, other: FloatArray) -> FloatArray:  # noqa: D102
        losses = Brier().losses_of_two(true, other)
        losses /= 2
        return losses


@record
class Spherical(ScoringRule):
    r"""One minus the cosine between forecast and outcome, :math:`1 - q_k / \|q\|`, from 0 to 1.

    Examples
    --------
    >>> from stakes.scoring import mean_score
    >>> mean_score([1, 1], [0.8, 0.5], Spherical())
    0.161
    """

    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:  # noqa: D102
        _check.shapes("n K, n", posteriors=posteriors, codes=codes)
        _check.known_places("codes", codes, posteriors.shape[1])
        length = np.sqrt(np.einsum("nk,nk->n", posteriors, posteriors))
        return np.asarray(1.0 - _of_true_class(posteriors, codes) / length)


@record
class RankedProbability(ScoringRule):
    r"""Squared error of the cumulative probabilities of ordered classes, from 0 to 1.

    .. math:: \frac{1}{K - 1} \sum_{j < K} \Big(\sum_{i \le j} q_i - [k \le j]\Big)^2

    Epstein's ranked probability score (1969) with the divisor of Murphy: probability that is far
    from the true class costs more than probability next to it. The order is that of the classes.
    For two classes it is `HalfBrier`.

    Examples
    --------
    A severe case that was called moderate is the smaller mistake:

    >>> from stakes.scoring import mean_score
    >>> mean_score([2], [[0.0, 1.0, 0.0]], RankedProbability())
    0.5
    >>> mean_score([2], [[1.0, 0.0, 0.0]], RankedProbability())
    1.0
    """

    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:  # noqa: D102
        _check.shapes("n K, n", posteriors=posteriors, codes=codes)
        below = np.cumsum(posteriors, axis=1)[:, :-1]
        errors = below - (codes[:, None] <= np.arange(below.shape[1]))
        return np.asarray(np.einsum("nk,nk->n", errors, errors) / max(below.shape[1], 1))
