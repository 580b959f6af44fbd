"""Comparison of several models on the same cases: differences are paired."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Self

import numpy as np

from stakes import _check
from stakes._arithmetic import least, least_shares, mean_defined
from stakes._check import FloatArray, Label, Labels, Numbers
from stakes._text import text_table
from stakes._value import Value, record
from stakes.errors import InputError
from stakes.inference.bootstrap import bootstrap, estimate_of
from stakes.inference.delta import cell_covariance, joint_costs, mean_covariance
from stakes.inference.estimate import Estimate, IntervalType
from stakes.inference.intervals import Normal, Percentile
from stakes.inference.normals import student_tail
from stakes.inference.schemes import (
    AllCases,
    Scheme,
    checked_scheme,
)
from stakes.inference.tally_checks import T, refuse_weights, whole_cells
from stakes.problem import Problem
from stakes.tally import JointCounts, LossMoments

_PANEL = 128  # columns of a root that are computed before the rest of the matrix is updated


@record(repr=False)
class Comparison(Value):
    """One number for each model, and how the numbers vary together.

    Attributes
    ----------
    names : J models
    values : (J,)
    covariance : (J, J)
    replicates : (R, J) of joint replicates; R = 0 where a formula gives the covariance
    intervals : the type of the intervals of differences
    method : what made it, in words

    Examples
    --------
    >>> joint = JointCounts.from_decisions(
    ...     [0, 0, 1, 1] * 25, {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25},
    ...     Problem.zero_one(2))
    >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
    >>> print(comparison.difference("new", "old"))
    -0.25 (95% -0.3353 to -0.1647, delta method)
    """

    names: Labels
    values: FloatArray
    covariance: FloatArray
    replicates: FloatArray
    intervals: IntervalType
    method: str

    @property
    def lowest(self) -> Label:
        """The model of the lowest value; the first of those that tie."""
        if np.isnan(self.values).all():
            raise InputError("values must be defined to have a lowest; all are nan.")
        return self.names[int(np.argmax(least(self.values)))]

    def estimate(self, name: Label) -> Estimate:
        """The number of one model.

        Parameters
        ----------
        name : name of the model

        Returns
        -------
        its estimate

        Examples
        --------
        >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
        >>> print(comparison.estimate("old"))
        0.5 (95% 0.4015 to 0.5985, delta method)
        """
        return self._of(np.eye(len(self.names))[self._position(name)])

    def difference(self, first: Label, second: Label) -> Estimate:
        """First minus second, with a paired standard error and interval.

        Parameters
        ----------
        first : name of the first model
        second : name of the second model

        Returns
        -------
        the estimate of the difference

        Examples
        --------
        >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
        >>> print(comparison.difference("old", "new"))
        0.25 (95% 0.1647 to 0.3353, delta method)
        """
        unit = np.eye(len(self.names))
        position, subtracted = self._position(first, "first"), self._position(second, "second")
        return self._of(unit[position] - unit[subtracted])

    def probability_lowest(self) -> FloatArray:
        """Share of the replicates (J,) in which each model is the lowest; ties are split.

        For costs: the probability of being the cheapest. Replicates in which a model is undefined
        are left out; nan when none is left.

        Returns
        -------
        shares, (J,), which add up to 1

        Examples
        --------
        >>> joint = JointCounts.from_decisions([0, 1] * 5, {"a": [0, 1] * 5, "b": [0, 0] * 5},
        ...                                    Problem.zero_one(2))
        >>> compare_costs(joint, Problem.zero_one(2), replicates=100,
        ...               rng=np.random.default_rng(0)).probability_lowest()
        array([1., 0.])
        """
        if len(self.replicates) == 0:
            raise InputError(
                f"probabilities need replicates; this comparison has none ({self.method}). "
                f"Make it with compare_costs, or call drawn(replicates=…, rng=…)."
            )
        return mean_defined(least_shares(self.replicates))

    def drawn(self, *, replicates: int, rng: np.random.Generator) -> Self:
        """The same comparison with replicates drawn from its normal distribution.

        Parameters
        ----------
        replicates : how many replicates to draw
        rng : the generator that draws

        Returns
        -------
        the comparison with replicates

        Examples
        --------
        >>> decided = {"old": [0, 1, 1, 0] * 25, "new": [0, 0, 1, 0] * 25}
        >>> joint = JointCounts.from_decisions([0, 0, 1, 1] * 25, decided, Problem.zero_one(2))
        >>> comparison = delta_compare_costs(joint, Problem.zero_one(2))
        >>> comparison.drawn(replicates=50, rng=np.random.default_rng(0)).replicates.shape
        (50, 2)
        """
        count = _check.draws("replicates", replicates, low=2)
        _check.generator(rng)
        normal = rng.standard_normal((count, len(self.names)))
        draws = self.values + normal @ triangular_root(self.covariance).T
        method = f"{self.method}, {count} normal draws"
        parts = {"replicates": draws, "intervals": Percentile(), "method": method}
        return self._but(**parts)

    @property
    def pairs(self) -> tuple[tuple[Label, Label], ...]:
        """All pairs of models, in the order of the names."""
        return tuple(combinations(self.names, 2))

    def _of(self, contrast: FloatArray) -> Estimate:
        """The estimate of a weighted sum of the numbers, with weights (J,)."""
        intervals = self.intervals.along(contrast)
        used = contrast != 0  # an undefined model must not spoil the others
        contrast, values = contrast[used], self.values[used]
        if len(self.replicates):
            drawn = self.replicates[:, used] @ contrast
            estimate = estimate_of(np.asarray(values @ contrast), drawn, intervals)
            return estimate._but(method=self.method)
        square = contrast @ self.covariance[np.ix_(used, used)] @ contrast
        error = np.sqrt(np.maximum(square, 0.0))
        return Estimate(values @ contrast, error, np.empty(0), intervals, self.method)

    def _position(self, name: Label, argument: str = "name") -> int:
        return _check.one_of(argument, name, self.names, "models")

    def __str__(self) -> str:
        rows = []
        for name in self.names:
            interval = self.estimate(name).interval(0.95)
            parts = (self.estimate(name).value, interval.low, interval.high)
            rows.append([name, *(f"{part:.4g}" for part in parts)])
        return f"{self.method}\n{text_table(['', 'value', '95% low', 'high'], rows)}"

    __repr__ = __str__


def compare(
    measure: Callable[..., Numbers],
    tally: T,
    names: object,
    problem: Problem | None = None,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Comparison:
    """Compare anything that a measure gives for each model, by joint replicates of one tally.

    Parameters
    ----------
    measure : function of a tally (…) whose value (…, J) holds a number for each model
    tally : sums over cases, such as `Counts` or `ScoreTable`
    names : J labels of the models
    problem : what is at stake: costs, prior, labels
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : as in `bootstrap`

    Returns
    -------
    values of all models and their differences, with joint replicates

    Examples
    --------
    Areas under the ROC curve of two models on the same cases:

    >>> from stakes.tally import JointScores
    >>> from stakes.ranking import auc
    >>> scores = JointScores.from_scores([0, 0, 1, 1] * 9, {"a": [1, 2, 2, 3] * 9,
    ...                                                    "b": [1, 2, 1, 3] * 9})
    >>> areas = lambda joint: np.stack([auc(joint.table(m)) for m in "ab"], axis=-1)
    >>> compare(areas, scores, ["a", "b"], replicates=200, rng=np.random.default_rng(0)).values
    array([0.875, 0.625])
    """
    if isinstance(names, str):
        raise InputError(
            f"names must be a list of labels, one for each model; got the text {names!r}. Put it "
            f"into a list."
        )
    labels = _check.labels("names", names)
    return comparison_of(
        bootstrap(measure, tally, problem, replicates=replicates, rng=rng, scheme=scheme), labels
    )


def comparison_of(estimate: Estimate, labels: Labels) -> Comparison:
    """A comparison of models from an estimate that holds one number for each of them."""
    if estimate.value.shape != (len(labels),):
        raise InputError(
            f"measure must give one number for each of the {len(labels)} names; its shape is "
            f"{estimate.value.shape}. The models are its last axis."
        )
    # Covariances need replicates in which all models are defined.
    defined = estimate.replicates[np.isfinite(estimate.replicates).all(axis=1)]
    spread = np.full((len(labels), len(labels)), np.nan)
    if len(defined) > 1:
        spread = np.atleast_2d(np.cov(defined, rowvar=False))
    return Comparison._trusted(
        names=labels,
        values=estimate.value,
        covariance=spread,
        replicates=estimate.replicates,
        intervals=estimate.intervals,
        method=estimate.method,
    )


def compare_costs(
    joint: JointCounts,
    problem: Problem,
    *,
    replicates: int,
    rng: np.random.Generator,
    scheme: Scheme | None = None,
) -> Comparison:
    """Expected costs of all models by joint replicates of the cases that they decided about.

    Without a scheme the cases are resampled, within classes when the problem states a prior.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problem : what is at stake: costs, prior, labels
    replicates : how many replicates to draw
    rng : the generator that draws
    scheme : what was drawn at random; None takes it from the tally

    Returns
    -------
    costs of all models and their differences, with joint replicates

    Examples
    --------
    >>> y, old, new = [0, 0, 1, 1] * 25, [0, 1, 1, 0] * 25, [0, 0, 1, 0] * 25
    >>> problem = Problem.binary(false_alarm=1, miss=5, prior=[0.9, 0.1])
    >>> joint = JointCounts.from_decisions(y, {"old": old, "new": new}, problem)
    >>> comparison = compare_costs(joint, problem, replicates=500, rng=np.random.default_rng(0))
    >>> comparison.lowest, [float(share) for share in comparison.probability_lowest()]
    ('new', [0.0, 1.0])
    """
    refuse_groups(joint, scheme)
    _check.require("problem", problem, Problem)
    return compare(
        joint_costs, joint, joint.models, problem, replicates=replicates, rng=rng, scheme=scheme
    )


def delta_compare_costs(joint: JointCounts, problem: Problem) -> Comparison:
    """Expected costs of all models, with their covariances by formula.

    Parameters
    ----------
    joint : cases by true class and the decisions of all models
    problem : what is at stake: costs, prior, labels

    Returns
    -------
    costs of all models and their covariances

    Examples
    --------
    >>> from stakes.problem import Problem
    >>> from stakes.tally import JointCounts
    >>> problem = Problem.binary(false_alarm=1, miss=5)
    >>> decided = {"old": [0, 1, 0, 1], "new": [0, 0, 1, 1]}
    >>> joint = JointCounts.from_decisions([0, 0, 1, 1], decided, problem)
    >>> delta_compare_costs(joint, problem).names
    ('old', 'new')
    """
    _check.require("problem", problem, Problem)
    refuse_groups(joint, AllCases())
    whole_cells(joint)
    truth, decided = joint.cells[:, 0], joint.cells[:, 1:]
    costs = problem.costs[truth[:, None], decided]
    return _by_formula(
        joint.models, joint_costs(joint, problem), cell_covariance(joint, costs, problem.prior)
    )


def refuse_groups(joint: JointCounts, scheme: Scheme | None) -> None:
    """Refuse leading axes other than clusters: a comparison is about one set of cases."""
    _check.require("joint", joint, JointCounts)
    axes = joint.leading
    clusters = joint.has_clusters if scheme is None else checked_scheme(scheme).of_clusters
    if axes and not (clusters and len(axes) == 1):
        raise InputError(
            f"joint must have no leading axis here; its leading axes are {axes}. Compare group by "
            f"group, joint.group(label); for clusters that were drawn as a whole resample these: "
            f"compare_costs(…, scheme=Clusters())."
        )


def compare_losses(moments: LossMoments, *, prior: object) -> Comparison:
    """Mean losses (proper scores, per-case costs) with their covariances by formula.

    With a prior, it is the mean to expect in deployment; None stands for the class shares of the
    data. Losses without names are called 0, 1, …. Tallies made with weights are refused, because
    the formula would read a weight as a number of cases. For weights tally with ``clusters=`` and
    call `compare`; each case may be a cluster of its own. `mean_covariance` is the bare formula,
    which takes any weights.

    Parameters
    ----------
    moments : sums and scatter of the losses, by class
    prior : class shares, (K,) or by label; None takes those of the data

    Returns
    -------
    mean losses and their covariances

    Examples
    --------
    >>> moments = LossMoments.from_losses([0, 0, 1, 1], {"old": [0, 2, 5, 4], "new": [1, 1, 3, 3]})
    >>> print(compare_losses(moments, prior=None).difference("new", "old"))
    -0.75 (95% -1.983 to 0.4831, delta method)
    """
    _check.require("moments", moments, LossMoments)
    remedy = "Index one, or for clusters that were drawn as a whole call compare."
    _check.no_leading_axes("moments", moments.leading, remedy=remedy)
    _refuse_fractions(moments)
    shares = None if prior is None else _check.prior("prior", prior, moments.classes)
    names = moments.names or tuple(range(moments.sums.shape[-1]))
    return _by_formula(names, moments.mean(shares), mean_covariance(moments, shares))


def _by_formula(names: Labels, values: FloatArray, covariance: FloatArray) -> Comparison:
    return Comparison._trusted(
        names=names,
        values=values,
        covariance=covariance,
        replicates=np.empty((0, len(names))),
        intervals=Normal(),
        method="delta method",
    )


def _refuse_fractions(moments: LossMoments) -> None:
    """Refuse weights, as `whole_cells` does; fractions as far as class totals reveal them."""
    refuse_weights(moments, "take copies of rows, or call compare with clusters.")
    bad = np.flatnonzero(~(moments.weight == np.floor(moments.weight)))  # nan is bad too
    if bad.size:
        raise InputError(
            f"moments must hold whole cases; the weight of class {moments.classes[bad[0]]} is "
            f"{moments.weight[bad[0]]:g}. Fractional weights do not say how many cases there were: "
            f"tally with clusters=, the label of each case's cluster, and call compare. "
            f"To reweight the classes, pass prior=."
        )


def triangular_root(covariance: FloatArray) -> FloatArray:
    """The lower triangular R with R Rᵀ = covariance, which may be singular (Cholesky).

    The rows of models whose variance is undefined are nan.
    """
    known = ~np.isnan(np.diagonal(covariance))
    remaining = np.where(known[:, None] & known, covariance, 0.0)
    # numpy's Cholesky refuses singular matrices, which systems that decide alike produce.
    variances, root = np.diagonal(remaining).copy(), np.zeros(remaining.shape)
    for start in range(0, len(remaining), _PANEL):
        end = min(start + _PANEL, len(remaining))
        for j in range(start, end):
            if remaining[j, j] > 1e-12 * variances[j]:  # the rest is rounding error
                root[j:, j] = remaining[j:, j] / np.sqrt(remaining[j, j])
                remaining[j:, j:end] -= np.outer(root[j:, j], root[j:end, j])
        remaining[end:, end:] -= root[end:, start:end] @ root[end:, start:end].T
    return np.where(known[:, None], root, np.nan)


def p_value(estimate: Estimate, *, null: float) -> FloatArray:
    r"""Two-sided p-value of a normal test, :math:`2\Phi(-|\theta - \theta_0|/se)`, elementwise.

    Where clusters were resampled, Student's t takes the place of the normal distribution, as in
    `ExpandedPercentile`. nan where the standard error is zero or undefined.

    Parameters
    ----------
    estimate : an estimate with its standard error
    null : the value to test

    Returns
    -------
    p-values, elementwise

    Examples
    --------
    >>> estimate = Estimate(0.3, 0.15, np.empty(0), Normal(), "delta method")
    >>> float(p_value(estimate, null=0).round(4))
    0.0455
    """
    _check.require("estimate", estimate, Estimate)
    distance = np.abs(estimate.value - _check.number("null", null))
    undefined = np.full(distance.shape, np.nan)
    error = estimate.standard_error
    with np.errstate(over="ignore"):
        ratio = np.divide(distance, error, out=undefined, where=error > 0)
    count = estimate.intervals.effective_count(distance.shape)
    return np.asarray(2 * student_tail(count, ratio))
