"""Proper scoring rules: the loss of a probability forecast once the true class is known."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from stakes import _check
from stakes._arithmetic import ratio, weighted_sum
from stakes._check import FloatArray, IntArray, Labels
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.rows import Posteriors, frame_columns, read_posteriors
from stakes.tally import LossMoments

# Proper scoring rules: the loss of a probability forecast once the true class is known -----------
#
# A rule gives every pair of a forecast and a true class a loss S(q, k); lower is better. It is
# proper when no forecast beats the truth: Σ_k p_k S(q, k) is least at q = p. That least value is
# the entropy of p; what another forecast loses on top of it is its divergence.
#
# The methods of a rule do not check their arrays; `stakes.scoring.rules` and
# `stakes.scoring.table_scores` check data before they call them.


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


# Scores of cases: one loss per case, their mean, and the mean of forecasting the prior -----------

_BLOCK = 1 << 16  # rows at a time, so that memory stays flat


class Forecasts(NamedTuple):
    """Posteriors of cases whose classes are known."""

    classes: Labels
    truth: IntArray  # (n,) positions of the true classes
    rows: FloatArray  # (n, K), columns in the order of the classes


def class_labels(y_true: object, classes: object, size: int, *, name: str = "y_true") -> Labels:
    """The labels of the classes: those stated, else 0 … size − 1 if all labels are among these.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    classes : labels of the classes, in the order of the columns
    size : number of classes
    name : what to call the argument in messages

    Returns
    -------
    the labels

    Examples
    --------
    >>> class_labels([0, 1, 1], None, 2)
    (0, 1)
    """
    if classes is not None:
        names = _check.labels("classes", classes)
        if len(names) != size:
            raise InputError(
                f"classes must be {size} labels, one for each column; got {len(names)}. "
                f"An (n,) array is P(second class) of two."
            )
        return names
    unknown = [label for label in _check.distinct(name, y_true) if label not in range(size)]
    if unknown:
        raise InputError(
            f"classes must be stated unless the labels are 0 to {size - 1} or booleans; {name} "
            f"holds {unknown[0]!r}. Pass classes=[…] in the order of the columns; the positive "
            f"class of two is the second."
        )
    return tuple(range(size))


def column_classes(name: str, posteriors: object) -> Labels | None:
    """The classes that posteriors name themselves, as `Posteriors` and frames do.

    Parameters
    ----------
    name : what to call the argument in messages
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)

    Returns
    -------
    labels, or None where the posteriors name none

    Examples
    --------
    >>> column_classes("posteriors", [0.2, 0.7]) is None
    True
    """
    values, columns = posteriors, None
    if isinstance(values, Posteriors):
        values, columns = values.values, values.classes
    columns = frame_columns(values) if columns is None else columns
    return None if columns is None else _check.labels(f"the classes of {name}", columns)


def n_columns(name: str, posteriors: object) -> int:
    """How many classes bare posteriors have: (n, K), or (n,) for two.

    Parameters
    ----------
    name : what to call the argument in messages
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)

    Returns
    -------
    number of classes

    Examples
    --------
    >>> n_columns("posteriors", [0.2, 0.7])
    2
    """
    values = posteriors.values if isinstance(posteriors, Posteriors) else posteriors
    shape = shape_of(name, values)
    return shape[1] if len(shape) == 2 else 2


def shape_of(name: str, values: Any) -> tuple[int, ...]:
    """The shape of an array-like.

    Parameters
    ----------
    name : what to call the argument in messages
    values : the values

    Returns
    -------
    the shape

    Examples
    --------
    >>> shape_of("posteriors", [[0.2, 0.8]])
    (1, 2)
    """
    try:
        return np.shape(values)
    except ValueError:
        return _check.reals(name, values).shape  # whose message says what is wrong


def read_forecasts(
    y_true: object,
    posteriors: object,
    classes: object,
    weights: object = None,
    *,
    name: str = "posteriors",
) -> Forecasts:
    """Check labels and posteriors; columns with names are matched by name.

    Weights are only checked to be aligned with the same cases.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    name : what to call the argument in messages

    Returns
    -------
    checked labels and posteriors

    Examples
    --------
    >>> read_forecasts(["ham", "spam"], [0.25, 0.5], ["ham", "spam"]).rows.tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    _check.require("name", name, str)
    _check.aligned(**{"y_true": y_true, name: posteriors, "weights": weights})
    named = column_classes(name, posteriors)
    if named is None:
        names = class_labels(y_true, classes, n_columns(name, posteriors))
    else:
        names = named if classes is None else _check.labels("classes", classes)
    truth = _check.codes("y_true", y_true, names)
    rows = read_posteriors(name, posteriors, names)
    _check.same_length(**{"y_true": truth, name: rows})
    return Forecasts(names, truth, rows)


def case_scores(
    y_true: object, posteriors: object, rule: ScoringRule, *, classes: object = None
) -> FloatArray:
    """Loss of every case under a rule, of shape (n,).

    Parameters
    ----------
    y_true : labels, of shape (n,)
    posteriors : (n, K), one column for each class, or (n,) for P(second class) of two. The columns
        of a frame go by their names, as do those of `stakes.Posteriors` with classes: pass
        ``Posteriors(q, classes=model.classes_)`` where scikit-learn has sorted them.
    rule : the proper scoring rule
    classes : K labels in the order of the columns; may be left out for labels 0 … K − 1 and for
        posteriors that name their classes

    Returns
    -------
    loss of every case, (n,)

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> case_scores(["ham", "spam"], [0.25, 0.5], HalfBrier(), classes=["ham", "spam"])
    array([0.0625, 0.25  ])
    """
    require_rule(rule)
    forecasts = read_forecasts(y_true, posteriors, classes)
    return rule.losses(forecasts.rows, forecasts.truth)


def mean_score(
    y_true: object,
    posteriors: object,
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
) -> float:
    r"""Mean loss per case; under a prior, the mean loss to expect in deployment.

    .. math:: \sum_k \pi_k \frac{\sum_{i \in k} w_i S(q_i, k)}{\sum_{i \in k} w_i}

    Without a prior, :math:`\pi` are the class shares of the data and this is the plain weighted
    mean. A class that the prior expects but the data lack makes it nan; a class of prior zero is
    ignored. inf where a case of positive weight has an infinite loss.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    rule : the proper scoring rule
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    mean loss per case

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> y, q = [0, 0, 0, 1], [0.5, 0.5, 0.5, 0.0]
    >>> mean_score(y, q, HalfBrier()), mean_score(y, q, HalfBrier(), prior=[0.5, 0.5])
    (0.4375, 0.625)
    """
    forecasts = read_forecasts(y_true, posteriors, classes, weights)
    return expected_score(forecasts, rule, weights, prior)[0]


def expected_score(
    forecasts: Forecasts, rule: ScoringRule, weights: object, prior: object
) -> tuple[float, FloatArray]:
    """Mean loss under the prior, and the prior: the class shares of the data if None is stated.

    Parameters
    ----------
    forecasts : posteriors with their classes, as `read_forecasts` returns them
    rule : the proper scoring rule
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    the mean loss, and the class shares it was taken under

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> forecasts = read_forecasts([0, 1], [0.25, 0.5], None)
    >>> expected_score(forecasts, HalfBrier(), None, [0.5, 0.5])
    (0.15625, array([0.5, 0.5]))
    """
    require_rule(rule)
    classes, truth, rows = forecasts
    weight = _check.weights("weights", weights, len(truth))
    mass, means = class_means(rows, truth, [rule], len(classes), weight)
    shares = mass / mass.sum() if prior is None else _check.prior("prior", prior, classes)
    return float(mean_over_classes(means[0], shares)), shares


def normalized_score(
    y_true: object,
    posteriors: object,
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
    prior: object = None,
) -> float:
    r"""Mean loss divided by that of the prior-only system: below 1, the forecasts are informative.

    The prior-only system forecasts the prior (or the class shares of the data) for every case; its
    loss is the entropy of the prior under the rule. Where that is zero, the result is nan if the
    mean loss is also zero, else inf.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    posteriors : P(class) for every case, (n, K), or P(second class), (n,)
    rule : the proper scoring rule
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    mean loss over that of the class shares

    Examples
    --------
    >>> from stakes.scoring import LogLoss
    >>> normalized_score([0, 0, 0, 1], [0.25] * 4, LogLoss())
    1.0
    """
    forecasts = read_forecasts(y_true, posteriors, classes, weights)
    mean, shares = expected_score(forecasts, rule, weights, prior)
    return float(ratio(mean, rule.entropy(shares)))


def score_moments(
    y_true: object,
    forecasts: Mapping[str, object],
    rule: ScoringRule,
    *,
    classes: object = None,
    weights: object = None,
) -> LossMoments:
    """The tally of the losses of several systems, for means by class and paired differences.

    Infinite losses have no second moments and are refused; `mean_score` takes them.

    Parameters
    ----------
    y_true : true class of every case, (n,)
    forecasts : mapping from the name of a system to its posteriors
    rule : the proper scoring rule
    classes : labels of the classes, in the order of the columns
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    sums and scatter of the losses, by class

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> moments = score_moments([0, 1], {"old": [0.5, 0.5], "new": [0.1, 0.8]}, HalfBrier())
    >>> moments.mean()
    array([0.25 , 0.025])
    """
    require_rule(rule)
    if not isinstance(forecasts, Mapping) or not len(forecasts):
        evidence = "an empty one" if isinstance(forecasts, Mapping) else type(forecasts).__name__
        raise InputError(
            f"forecasts must be a mapping from names to posteriors; got {evidence}. "
            f"A single system is {{'model': posteriors}}."
        )
    arguments = {name: f"forecasts[{name!r}]" for name in forecasts}
    named = [column_classes(arguments[name], posteriors) for name, posteriors in forecasts.items()]
    names: Any = next((labels for labels in named if labels is not None), None)
    names = names if classes is None else classes
    systems = {
        name: read_forecasts(y_true, q, names, name=arguments[name])
        for name, q in forecasts.items()
    }
    losses = {name: rule.losses(system.rows, system.truth) for name, system in systems.items()}
    names = next(iter(systems.values())).classes
    return LossMoments.from_losses(y_true, losses, classes=names, weights=weights)


def class_means(
    rows: FloatArray,
    truth: IntArray,
    rules: Sequence[ScoringRule],
    n_classes: int,
    weights: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Weight (K,) of each class and its mean loss under each rule, (Q, K); nan without cases.

    Posteriors and positions of classes are not checked again; they are read block by block.

    Parameters
    ----------
    rows : checked posteriors, (n, K)
    truth : position of the true class of each case, (n,)
    rules : the scoring rules
    n_classes : number of classes, K
    weights : weight of each case, (n,); None counts each once

    Returns
    -------
    weight (K,) of each class, and its mean losses, (Q, K)

    Examples
    --------
    >>> from stakes.scoring import HalfBrier
    >>> rows = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]])
    >>> mass, means = class_means(rows, np.array([0, 0, 1]), [HalfBrier()], 2)
    >>> mass.tolist(), means.round(2).tolist()
    ([2.0, 1.0], [[0.1, 0.09]])
    """
    _check.shapes(f"n {n_classes}, n, n", rows=rows, truth=truth, weights=weights)
    mass, sums = np.zeros(n_classes), np.zeros((len(rules), n_classes))
    for start in range(0, len(rows), _BLOCK):
        block = slice(start, start + _BLOCK)
        part, codes = rows[block], truth[block]
        weight = None if weights is None else weights[block]
        if weight is not None and not weight.all():
            # A case of weight zero may have an infinite loss, and 0 · inf would be nan.
            weighted = weight > 0
            part, codes, weight = part[weighted], codes[weighted], weight[weighted]
        mass += np.bincount(codes, weights=weight, minlength=n_classes)
        pairs = true_and_other(part, codes) if n_classes == 2 else None
        for place, rule in enumerate(rules):
            if pairs is not None and isinstance(rule, SymmetricRule):
                losses = rule.losses_of_two(*pairs)
            else:
                losses = rule.losses(part, codes)
            losses = losses if weight is None else losses * weight
            sums[place] += np.bincount(codes, weights=losses, minlength=n_classes)
    with np.errstate(invalid="ignore"):
        return mass, sums / mass


def mean_over_classes(means: FloatArray, shares: FloatArray) -> FloatArray:
    """Mean loss (…) of means (…, K) within classes of these shares; share zero is ignored.

    Parameters
    ----------
    means : mean loss within each class, (…, K)
    shares : class shares, (…, K)

    Returns
    -------
    mean loss, (…)

    Examples
    --------
    >>> mean_over_classes(np.array([0.2, 0.6]), np.array([0.9, 0.1]))
    array(0.24)
    """
    _check.shapes("… k, … k", means=means, shares=shares)
    return weighted_sum(shares, np.where(shares > 0, means, 0.0), axis=-1)


# -------------------------------------------------------------------------------------------------
# Proper rules for two classes as weighted sums over cost proportions; regular ones all are.
#
# At every cost proportion c, a forecast q of the positive class leads to a decision: the positive
# one if q > c. The loss adds up what these decisions cost, with a weight on every c (Buja,
# Stuetzle and Shen, 2005; hernandez-orallo, section 4.2).

_STEPS = 10_000
_DONE = 1e-15
_UNDERFLOW = float(np.log(np.finfo(np.float64).tiny))


def incomplete_beta(x: FloatArray, complement: FloatArray, a: float, b: float) -> FloatArray:
    r"""Integral :math:`\int_0^x c^{a-1} (1-c)^{b-1} dc` for a > 0, b > −1; inf at x = 1 when b ≤ 0.

    The complement 1 − x is an argument, because the caller knows it to full precision: for b < 1
    the result depends on how close x is to one.
    """
    from scipy.special import beta, betainc

    # SciPy's regularised integral needs b > 0, and takes no complement, which matters for b < 1.
    if b >= 1:
        return np.asarray(beta(a, b) * betainc(a, b, x))
    # Below this point the continued fraction converges quickly, above it the series does.
    split = (a + 1) / (a + b + 2)
    low = x < split
    from_zero = _fraction(np.where(low, x, split), np.where(low, complement, 1 - split), a, b)
    if low.all():
        return from_zero
    from_zero[~low] += _series(complement[~low], 1 - split, a, b)
    return from_zero


def _fraction(x: FloatArray, complement: FloatArray, a: float, b: float) -> FloatArray:
    """The integral from zero to x, by Gauss's continued fraction and Lentz's recurrence."""
    front = np.ones_like(x)
    back = 1 / (1 - (a + b) * x / (a + 1))
    value = back
    for m in range(1, _STEPS):
        for factor in (
            m * (b - m) / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            back = 1 / (1 + factor * x * back)
            front = 1 + factor * x / front
            change = back * front
            value = value * change
        if np.abs(change - 1).max(initial=0.0) < _DONE:
            break
    return np.asarray(x**a * complement**b / a * value)


def _series(v: FloatArray, w: float, a: float, b: float) -> FloatArray:
    r"""The integral :math:`\int_v^w u^{b-1} (1-u)^{a-1} du`, by powers of u; v ≤ w ≤ 2/3."""
    with np.errstate(divide="ignore"):
        log_ratio = np.log(v / w)
    result = np.zeros_like(v)
    coefficient = 1.0
    for n in range(_STEPS):
        if abs(coefficient) * w**n < _DONE / 1000:
            break
        power = n + b
        # (w**power - v**power) / power, which is log(w / v) at power 0 and close to it nearby
        reach = np.expm1(power * log_ratio) / -power if power else -log_ratio
        result += coefficient * w**power * reach
        coefficient *= (n + 1 - a) / (n + 1)
    return result


class BinaryRule(ScoringRule):
    """A rule for two classes, defined by its loss for each of them.

    Examples
    --------
    The Brier score of two classes, loss by loss:

    >>> class Squared(BinaryRule):
    ...     def negative_loss(self, negative, positive):
    ...         return positive**2
    ...     def positive_loss(self, negative, positive):
    ...         return negative**2
    >>> Squared().losses(np.array([[0.5, 0.5], [0.9, 0.1]]), np.array([0, 1]))
    array([0.25, 0.81])
    """

    @abstractmethod
    def negative_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:
        """Loss when the negative class is true.

        Parameters
        ----------
        negative, positive : posteriors of both classes

        Returns
        -------
        losses, of the same shape

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> CostWeighted(Uniform()).negative_loss(np.array([0.5]), np.array([0.5]))
        array([0.25])
        """

    @abstractmethod
    def positive_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:
        """Loss when the positive class is true.

        Parameters
        ----------
        negative, positive : posteriors of both classes

        Returns
        -------
        losses, of the same shape

        Examples
        --------
        >>> from stakes.conditions import Uniform
        >>> CostWeighted(Uniform()).positive_loss(np.array([0.5]), np.array([0.5]))
        array([0.25])
        """

    def losses(self, posteriors: FloatArray, codes: IntArray) -> FloatArray:  # noqa: D102
        _check.shapes("n K, n", posteriors=posteriors, codes=codes)
        if posteriors.shape[1] != 2:
            raise InputError(
                f"rule must be one for {posteriors.shape[1]} classes; {type(self).__name__} is for "
                f"two. LogLoss, Brier and Spherical take any number of classes."
            )
        result = np.empty(len(posteriors))
        for code, loss in ((0, self.negative_loss), (1, self.positive_loss)):
            of_class = codes == code
            result[of_class] = loss(posteriors[of_class, 0], posteriors[of_class, 1])
        return result


@record
class BetaScore(BinaryRule):
    r"""The Beta family, with the weight :math:`\omega(c) = c^{\alpha-1} (1-c)^{\beta-1}`.

    .. math:: L_1 = \int_q^1 (1-c)\,\omega(c)\,dc, \qquad L_0 = \int_0^q c\,\omega(c)\,dc

    The weight is not normalised, so that parameters down to −1 (not included) make sense: log loss
    is (0, 0), boosting loss (−½, −½), `HalfBrier` divided by two is (1, 1), and large equal
    parameters, normalised, come close to the 0-1 loss. The loss is infinite for a forecast that
    rules out what happened when the parameter of that side is 0 or less. Parameters so large that
    the losses fall below the smallest number (500 each is still fine) are refused; CostWeighted of
    a Beta distribution, which is normalised, takes them.

    Parameters
    ----------
    alpha : first exponent, plus one
    beta : second exponent, plus one

    Examples
    --------
    >>> from stakes.scoring import LogLoss, mean_score
    >>> mean_score([0, 1], [0.25, 0.5], BetaScore(0, 0)), mean_score([0, 1], [0.25, 0.5], LogLoss())
    (0.4904, 0.4904)
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        from scipy.special import betaln

        alpha, beta = _check.number("alpha", self.alpha), _check.number("beta", self.beta)
        if not (alpha > -1 and beta > -1):
            raise InputError(
                f"alpha and beta must be above -1; got {alpha:g} and {beta:g}. "
                f"At -1 the loss of almost every forecast is infinite."
            )
        # The complete beta function bounds every loss of its side. Below the smallest number all
        # losses would be zero, and all forecasts equally good.
        for exponent, other in ((alpha, beta), (beta, alpha)):
            if exponent > 0 and betaln(exponent, other + 1) < _UNDERFLOW:
                raise InputError(
                    f"alpha and beta must leave losses that are numbers; with {alpha:g} and "
                    f"{beta:g} the largest is below 1e-307. The same rule, normalised, is "
                    f"CostWeighted(Beta(alpha, beta))."
                )
        self._fill({"alpha": alpha, "beta": beta})

    def negative_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return incomplete_beta(positive, negative, self.alpha + 1, self.beta)

    def positive_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return incomplete_beta(negative, positive, self.beta + 1, self.alpha)


class PartialMoments(Protocol):
    """What a rule needs of a distribution of cost proportions: its partial moments."""

    def moment(self, order: int, low: npt.ArrayLike, high: npt.ArrayLike) -> FloatArray:
        r"""Partial moment :math:`\int_{[low, high)} c^{order}\,dW(c)`, elementwise."""

    def upper_moment(self, low: npt.ArrayLike) -> FloatArray:
        r"""Partial moment :math:`\int_{[low, 1]} (1 - c)\,dW(c)`, elementwise."""


@record
class CostWeighted(BinaryRule):
    r"""Expected cost of deciding by the forecast, over a distribution W of cost proportions.

    .. math:: L_1 = 2 \int_{c \ge q} (1-c)\,dW(c), \qquad L_0 = 2 \int_{c < q} c\,dW(c)

    The factor 2 is the one of hernandez-orallo: the uniform distribution gives `HalfBrier`, and all
    weight on ½ gives the error rate of decisions at ½. The mean over cases is the expected loss of
    the score-driven method. Proper for every W, and strictly so when W spreads over all of [0, 1].

    Parameters
    ----------
    distribution : any object with partial moments, such as Uniform, Beta, Points or Mixture

    Examples
    --------
    >>> from stakes.conditions import Uniform
    >>> from stakes.scoring import mean_score
    >>> mean_score([0, 1], [0.25, 0.5], CostWeighted(Uniform()))
    0.15625
    """

    distribution: PartialMoments

    def __post_init__(self) -> None:
        try:
            mass = float(_moments(self.distribution)(0, -np.inf, np.inf))
        except (AttributeError, TypeError, ValueError):
            mass = np.nan
        if not abs(mass - 1) < 1e-6:
            raise InputError(
                f"distribution must have partial moments that add up to one, as the distributions "
                f"of stakes.conditions have; got {self.distribution!r}. "
                f"Continuous(…) makes one of a frozen SciPy distribution."
            )

    def negative_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return 2 * self.distribution.moment(1, -np.inf, positive)

    def positive_loss(self, negative: FloatArray, positive: FloatArray) -> FloatArray:  # noqa: D102
        return 2 * self.distribution.upper_moment(positive)


def _moments(distribution: Any) -> Any:
    return distribution.moment
