"""The cases of an evaluation: encoded truth, weights, groups and clusters, read once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import table_of
from stakes._check import LIGHTEST, BoolArray, FloatArray, Groups, IntArray, Labels
from stakes._value import record
from stakes.decide import class_ratios
from stakes.errors import InputError
from stakes.problem import CaseCosts, Problem
from stakes.rows import Predicted, as_predictions

LIBRARIES = ("pandas", "polars", "pyarrow")  # whose frames a report can be shown as

LARGEST_COST = 1e40  # squares of costs, and of their ratios to the smallest, must be finite


@record
class Cases:
    """What is known about the cases, apart from the predictions.

    Examples
    --------
    Half of these cases are ill, but in deployment only one in ten will be:

    >>> from stakes import Problem
    >>> problem = Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"], prior=[0.9, 0.1])
    >>> cases = read_cases(["well", "ill"], problem, None, None, None)
    >>> cases.shares, cases.mass
    (array([0.5, 0.5]), array([1.8, 0.2]))
    """

    problem: Problem
    n_rows: int
    # Rows with a positive weight, as booleans or positions; None: all of them. Others are left out.
    kept: BoolArray | IntArray | None
    truth: IntArray
    weights: FloatArray | None  # None: every case counts once; or copies, see `copied`
    by: tuple[tuple[str | None, Groups], ...]  # each with the name of its column, if it has one
    clusters: Groups | None
    shares: FloatArray
    costs: CaseCosts | None = None  # of every case, where they differ between cases
    copied: bool = False  # whether `weights` are numbers of equal cases, not sampling weights

    @property
    def charges(self) -> FloatArray | CaseCosts:
        """Costs (K, M) of all cases, or those of every case."""
        return self.problem.costs if self.costs is None else self.costs

    @property
    def prior(self) -> FloatArray:
        """The class shares in deployment: the stated prior, else the shares of the data."""
        return self.problem.prior_or(self.shares)

    @property
    def mass(self) -> FloatArray:
        """The weight of each case at the prior of deployment, (n,)."""
        weights = np.ones(self.truth.size) if self.weights is None else self.weights
        return np.asarray(weights * class_ratios(self.shares, self.prior)[self.truth])

    @property
    def masses(self) -> FloatArray:
        """Weight of each class in each cluster, (U, K); one row where there are no clusters."""
        size = self.problem.n_classes
        if self.clusters is None:
            return np.bincount(self.truth, self.weights, size)[None].astype(np.float64)
        codes, shape = [self.clusters.codes, self.truth], (len(self.clusters.labels), size)
        return table_of(self.weights, codes, shape)

    @property
    def whole(self) -> bool:
        """Whether cases were counted: each once, or as many copies of it as were stated."""
        return self.weights is None or self.copied

    @property
    def whole_weights(self) -> bool:
        """Whether there are weights, and all of them are whole numbers."""
        return self.weights is not None and bool((self.weights == np.floor(self.weights)).all())

    def weighed(self, mask: BoolArray) -> tuple[FloatArray, FloatArray]:
        """The weight of each selected case at the prior of deployment, and that prior.

        Parameters
        ----------
        mask : (n,) booleans

        Returns
        -------
        weights of the selected cases, and the prior (K,): by default their shares

        Examples
        --------
        >>> from stakes import Problem
        >>> problem = Problem.zero_one(2).with_prior([0.5, 0.5])
        >>> cases = read_cases([0, 0, 0, 1], problem, None, None, None)
        >>> weights, prior = cases.weighed(np.array([True, True, True, True]))
        >>> weights.round(3), prior
        (array([0.667, 0.667, 0.667, 2.   ]), array([0.5, 0.5]))
        """
        truth, size = self.truth[mask], self.problem.n_classes
        weights = np.ones(truth.size) if self.weights is None else self.weights[mask]
        sums = np.bincount(truth, weights, size)
        shares = sums / sums.sum()
        prior = self.problem.prior_or(shares)
        return weights * class_ratios(shares, prior)[truth], prior

    def losses(self, decided: IntArray, costs: FloatArray | CaseCosts) -> FloatArray:
        """What the decision about each case costs.

        Parameters
        ----------
        decided : (n,) positions of decisions
        costs : (K, M) costs of all cases, or those of every case

        Returns
        -------
        losses, (n,)

        Examples
        --------
        >>> from stakes import Problem
        >>> cases = read_cases([0, 1, 1], Problem.zero_one(2), None, None, None)
        >>> cases.losses(np.array([1, 0, 1]), np.array([[0.0, 1.0], [9.0, 0.0]]))
        array([1., 9., 0.])
        """
        if not isinstance(costs, CaseCosts):
            return np.asarray(costs[self.truth, decided])
        losses = np.empty(self.truth.size)
        for rows, charged in costs.of_class(self.truth):
            losses[rows] = charged[decided[rows], np.arange(charged.shape[1])]
        return losses

    def in_order(self, order: IntArray) -> Cases:
        """The same cases in another order, in which `rows` gives columns, too.

        Parameters
        ----------
        order : (n,) positions

        Returns
        -------
        the cases in that order

        Examples
        --------
        >>> from stakes import Problem
        >>> cases = read_cases([0, 1, 1], Problem.zero_one(2), [1, 0, 2], None, None)
        >>> cases.in_order(np.array([1, 0])).rows(np.array([0.2, 0.6, 0.9]))
        array([0.9, 0.2])
        """
        return replace(
            self,
            kept=self.rows(np.arange(self.n_rows))[order],
            truth=self.truth[order],
            weights=None if self.weights is None else self.weights[order],
            by=tuple((name, Groups(each.labels, each.codes[order])) for name, each in self.by),
            clusters=None
            if self.clusters is None
            else Groups(self.clusters.labels, self.clusters.codes[order]),
            costs=None if self.costs is None else self.costs.only(order),
        )

    def rows(self, column: Any) -> Any:
        """The rows of a column whose weight is positive.

        Parameters
        ----------
        column : an array with one row for every row of the input, or None

        Returns
        -------
        the column without the rows of weight zero; None stays None

        Examples
        --------
        >>> from stakes import Problem
        >>> cases = read_cases([0, 1, 1], Problem.zero_one(2), [1, 0, 2], None, None)
        >>> cases.rows(np.array([0.2, 0.6, 0.9]))
        array([0.2, 0.9])
        """
        return column if self.kept is None or column is None else column[self.kept]


def read_cases(
    y_true: object,
    problem: Problem,
    weights: object,
    by: object,
    clusters: object,
    data: object = None,
    copies: object = None,
) -> Cases:
    """Encode the true classes and check that everything describes the same cases.

    Parameters
    ----------
    y_true, weights, by, clusters, data, copies : as in `evaluate`
    problem : what is at stake

    Returns
    -------
    the cases, without the rows that have no weight

    Examples
    --------
    >>> from stakes import Problem
    >>> problem = Problem.binary(false_alarm=1, miss=9, classes=["well", "ill"])
    >>> cases = read_cases(["well", "ill", "well"], problem, [1, 2, 0], None, None)
    >>> cases.truth.tolist(), cases.weights.tolist(), cases.n_rows
    ([0, 1], [1.0, 2.0], 3)
    """
    refuse_scale(problem)
    columns = [] if by is None else _check.columns_of("by", by)
    truth = _check.truths("y_true", y_true, problem.classes, problem.decisions)
    if not len(truth):
        raise InputError("y_true must hold at least one case; there are none. Pass some.")
    # All rows are checked, also those of weight zero; only then are these left out.
    weight, kept = _weights(weights, copies, len(truth))
    n_rows = len(truth)
    groups = tuple(
        (
            name,
            _aligned(_check.groups(_column("by", name), column), _column("by", name), truth, kept),
        )
        for name, column in columns
    )
    owners = None
    if clusters is not None:
        owners = _aligned(_check.clusters(clusters), "clusters", truth, kept)
    truth = truth if kept is None else truth[kept]
    mass = np.bincount(truth, weights=weight, minlength=problem.n_classes)
    if problem.columns:
        refuse_unknown(mass, problem)
    return Cases(
        problem=problem,
        n_rows=n_rows,
        kept=kept,
        truth=truth,
        weights=weight,
        by=groups,
        clusters=owners,
        shares=mass / mass.sum(),
        costs=_case_costs(problem, data, n_rows, kept),
        copied=copies is not None and weight is not None,
    )


def refuse_needless(data: object, problem: Problem) -> None:
    """Refuse columns that no cost depends on: a user who passes them expects that one does.

    Parameters
    ----------
    data : columns of the cases, or None
    problem : what is at stake

    Examples
    --------
    >>> from stakes import Problem
    >>> refuse_needless({"amount": [3.0]}, Problem([[0, "amount"], [5, 0]]))  # is needed
    """
    if data is not None and not problem.columns:
        raise InputError(
            "data must be left out where the costs of the problem have no columns; all of these "
            "are numbers, the same for every case. Write the costs that differ from case to case "
            'as expressions, such as "5 + 0.02*amount".',
        )


def costs_as_columns(
    y_true: Any, problem: Problem, case_costs: Any, data: object
) -> tuple[Problem, Mapping[str, FloatArray]]:
    """The problem with columns for an array of costs, and these columns."""
    charged = problem.by_case(case_costs, data)
    rows, costs = np.shape(y_true)[:1], np.shape(case_costs)[:1]
    if rows and rows != costs:
        raise InputError(
            f"case_costs must describe the cases of y_true, of which there are {rows[0]}; it has "
            f"{costs[0]} rows. Pass one matrix for every case."
        )
    return charged


def _case_costs(
    problem: Problem, data: object, n_rows: int, kept: BoolArray | None
) -> CaseCosts | None:
    costs = problem.charged(data, None)
    if costs is None:
        return None
    if costs.n_cases != n_rows:
        raise InputError(
            f"y_true and data must describe the same cases; y_true has {n_rows} rows and data "
            f"{costs.n_cases}. Pass one row for every case.",
            argument="data",
        )
    return costs.only(kept)


def refuse_scale(problem: Problem) -> None:
    """Refuse costs so large, or so small, that their squares cannot be represented.

    Parameters
    ----------
    problem : what is at stake; costs that depend on columns are not checked

    Examples
    --------
    >>> from stakes import Problem
    >>> try:
    ...     refuse_scale(Problem.binary(false_alarm=1, miss=9e99))
    ... except InputError as error:
    ...     print(str(error).partition("; ")[2])
    the largest is 9e+99, of decision 0 in class 1. Choose a larger unit.
    """
    _check.require("problem", problem, Problem)
    if problem.columns:
        return
    sizes = np.abs(problem.costs)
    k, m = np.unravel_index(int(sizes.argmax()), sizes.shape)
    if sizes[k, m] == 0 or LIGHTEST <= sizes[k, m] <= LARGEST_COST:
        return
    raise InputError(
        f"costs must be of a size whose squares are numbers, from {LIGHTEST:g} to "
        f"{LARGEST_COST:g}; the largest is {sizes[k, m]:g}, of decision {problem.decisions[m]!r} "
        f"in class {problem.classes[k]!r}. "
        f"Choose a {'larger' if sizes[k, m] > 1 else 'smaller'} unit.",
        argument="problem",
    )


def refuse_unknown(mass: FloatArray | IntArray, problem: Problem) -> None:
    """Refuse classes without cases: their costs depend on columns that only cases have.

    Parameters
    ----------
    mass : weight of each class, (K,)
    problem : what is at stake; its costs depend on columns

    Examples
    --------
    >>> from stakes import Problem
    >>> refuse_unknown(np.array([3, 1]), Problem([[0, "amount"], [5, 0]], prior=[0.9, 0.1]))
    """
    prior = problem.prior_or(np.zeros(mass.size))
    unseen = np.flatnonzero((prior > 0) & (mass == 0))
    if unseen.size:
        raise InputError(
            f"y_true must hold cases of every class that the prior expects, where costs depend on "
            f"columns; {problem.classes[unseen[0]]!r} has none, so that nobody knows what it "
            f"costs. Add cases of it, or set its prior to zero."
        )


def _weights(
    weights: object, copies: object, n_rows: int
) -> tuple[FloatArray | None, BoolArray | None]:
    """The positive weights or copies, None where each is one, and a mask of their rows if not all.

    Weights of one value are the same as none.
    """
    refuse_both(weights, copies)
    weight = _check.sampling_weights("weights", weights, n_rows)
    if copies is not None:
        weight = _check.copies("copies", copies, n_rows)
    if weight is None:
        return None, None
    kept = weight > 0
    positive, mask = (weight, None) if kept.all() else (weight[kept], kept)
    _check.least_weight("weights", float(positive.min()), float(positive.sum()))
    return (None if (positive == 1).all() else positive), mask


def refuse_both(weights: object, copies: object) -> None:
    """Refuse weights together with copies: they say different things about the same rows.

    Parameters
    ----------
    weights, copies : as in `evaluate`

    Examples
    --------
    >>> refuse_both(None, [1, 2])  # either alone is fine
    """
    if weights is not None and copies is not None:
        raise InputError(
            "weights and copies must not both be stated: weights say how many cases a row stands "
            "for, copies how often it occurred. Pass one of them; rows that have both can be "
            "repeated with numpy.repeat.",
            argument="copies",
        )


def refuse_misaligned(
    y_true: object,
    models: Mapping[str, object],
    weights: object,
    by: object,
    clusters: object,
    data: object = None,
    copies: object = None,
) -> None:
    """Refuse series and frames whose index shows that their rows are different cases.

    Parameters
    ----------
    y_true, weights, by, clusters, data, copies : as in `evaluate`
    models : predictions by the name of their model

    Examples
    --------
    Arrays and lists have no index, so that there is nothing to refuse:

    >>> refuse_misaligned([0, 1], {"model": [0.2, 0.9]}, None, None, None)
    """
    columns = {f"models[{name!r}]": column for name, column in models.items()}
    if by is not None:
        columns |= {_column("by", name): column for name, column in _check.columns_of("by", by)}
    _check.aligned(
        y_true=y_true, weights=weights, copies=copies, clusters=clusters, data=data, **columns
    )


def _column(argument: str, name: str | None) -> str:
    return argument if name is None else f"{argument}[{name!r}]"


def _aligned(groups: Groups, name: str, truth: IntArray, kept: BoolArray | None) -> Groups:
    _check.same_length(y_true=truth, **{name: groups.codes})
    return groups.only(kept)


def read_models(models: Any, n_cases: int) -> dict[str, Predicted]:
    """Predictions by the name of their model; a single one is called "model".

    Parameters
    ----------
    models : as in `evaluate`
    n_cases : how many rows the true classes have

    Returns
    -------
    predictions by name, each in the wrapper of its kind

    Examples
    --------
    >>> predictions = read_models([0.2, 0.9], 2)
    >>> {name: type(values).__name__ for name, values in predictions.items()}
    {'model': 'Posteriors'}
    """
    named: Labels | None = None
    if isinstance(models, Mapping):
        if not models:
            raise InputError("models must hold at least one model; the mapping is empty. Add one.")
        named = _check.labels("the models", models)
    values = list(models.values()) if isinstance(models, Mapping) else [models]
    # Reports name models by text, in which 1 and "1" would be the same.
    names = [str(name) for name in named or ("model",)]
    _check.labels("the names of the models", names)
    read = {
        name: as_predictions(_argument(name, named is not None), predictions)
        for name, predictions in zip(names, values, strict=True)
    }
    for name, predictions in read.items():
        n_rows = len(predictions.values)
        if n_rows != n_cases:
            raise InputError(
                f"y_true and {_argument(name, named is not None)} must describe the same cases; "
                f"y_true has {n_cases} rows and the predictions {n_rows}. "
                f"Pass one prediction for every case.",
                argument="y_true",
            )
    return read


def frame_library(y_true: object, models: Any) -> str | None:
    """The library of the first frame or series among the arguments.

    Parameters
    ----------
    y_true : labels of the true classes
    models : predictions of one model, or a mapping from name to predictions

    Returns
    -------
    one of `LIBRARIES`; None where no argument comes from them

    Examples
    --------
    >>> print(frame_library([0, 1], {"model": [0.2, 0.9]}))
    None
    """
    arguments = [y_true, *(models.values() if isinstance(models, Mapping) else [models])]
    bare = (column.values if isinstance(column, Predicted) else column for column in arguments)
    homes = (type(column).__module__.partition(".")[0] for column in bare)
    return next((home for home in homes if home in LIBRARIES), None)


def _argument(name: str, mapped: bool) -> str:
    return f"models[{name!r}]" if mapped else "models"
