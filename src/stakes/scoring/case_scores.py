"""Scores of cases: one loss per case, their mean, and the mean of forecasting the prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stakes import _check
from stakes._arithmetic import ratio, weighted_sum
from stakes._check import FloatArray, IntArray, Labels
from stakes.errors import InputError
from stakes.rows import Posteriors, frame_columns, read_posteriors
from stakes.scoring.rules import ScoringRule, SymmetricRule, require_rule, true_and_other
from stakes.tally import LossMoments

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
