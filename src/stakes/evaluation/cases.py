"""The cases of an evaluation: encoded truth, weights, groups and clusters, read once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from typing import Any

import numpy as np

from stakes import _check
from stakes._arithmetic import table_of
from stakes._check import LIGHTEST, BoolArray, ClusterLabels, FloatArray, Groups, IntArray, Labels
from stakes._text import in_unit, measured, percent, prose, reads_as_zero, small_amount
from stakes._value import Value, record
from stakes.decide import class_ratios
from stakes.errors import InputError
from stakes.inference import Measured
from stakes.problem import CaseCosts, Problem
from stakes.report import LEFT_OUT, Caveat
from stakes.rows import Predicted, as_predictions
from stakes.tally import MOST_CELLS, JointCounts, refuse_too_many

# -------------------------------------------------------------------------------------------------
# Sentences of a report: the numbers in them, and caveats about what is not shown of a model.


def rounded(value: float, like: Measured) -> str:
    """A number with the decimals that an interval supports, its own or that of a related number.

    A number that another interval would round to zero is written as a small amount.

    >>> wide = Measured(0.15743, 0.1418, 0.1728)
    >>> rounded(0.15743, wide), rounded(0.25, wide), rounded(0.0004, wide), rounded(0.0, wide)
    ('0.157', '0.250', '0.0004', '0')
    >>> rounded(0.00004, wide)
    'less than 0.0001'
    """
    text = measured(value, like.low, like.high)[0]
    hidden = reads_as_zero(text) and value != like.value
    return small_amount(value, like.value) if hidden else text


def money(value: float, unit: str | None, like: Measured | None = None) -> str:
    """An amount with its unit, rounded to the decimals that an interval supports, if there is one.

    >>> money(3.25, "EUR"), money(2.6817, "EUR", Measured(2.6817, 2.296, 3.112))
    ('3.25 EUR', '2.68 EUR')
    """
    return in_unit(prose(value) if like is None else rounded(value, like), unit)


def span(interval: Measured, level: float) -> str:
    """The bounds of an interval, with the decimals of its estimate.

    >>> span(Measured(0.15743, 0.1418, 0.1728), 0.95)
    '95 % interval 0.142 to 0.173'
    """
    _, low, high = measured(interval.value, interval.low, interval.high)
    return f"{percent(level)} interval {low} to {high}"


def left_out(model: str, text: str) -> Caveat:
    """The caveat that something about a model is not shown.

    Parameters
    ----------
    model : the name of the model
    text : what is not shown, and why

    Returns
    -------
    the caveat

    Examples
    --------
    >>> left_out("forest", "it was not recalibrated.").text
    'forest: it was not recalibrated.'
    """
    return Caveat(LEFT_OUT, f"{model}: {text}")


def no_move(model: str) -> Caveat:
    """The caveat about posteriors that are certain of a class which the prior excludes.

    Parameters
    ----------
    model : the name of the model

    Returns
    -------
    the caveat

    Examples
    --------
    >>> no_move("forest").kind
    'left out'
    """
    return left_out(
        model,
        "posteriors are sure of a class that the prior rules out, so that they cannot be moved to "
        "the prior; they are shown as they come.",
    )


def no_decision(model: str, problem: Problem) -> Caveat:
    """The caveat about raw scores where a single threshold does not make a decision.

    Parameters
    ----------
    model : the name of the model
    problem : what is at stake

    Returns
    -------
    the caveat

    Examples
    --------
    >>> from stakes import Problem
    >>> no_decision("forest", Problem.zero_one(3)).kind
    'left out'
    """
    return left_out(
        model,
        f"raw scores alone allow no decision among {problem.n_decisions}, so it has no cost here. "
        f"Recalibrate them, say by isotonic regression.",
    )


# The cases of an evaluation: encoded truth, weights, groups and clusters, read once --------------

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
    _check.require("problem", problem, Problem)
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


# What models cost to run, and how many cases will be decided -------------------------------------


@record
class Operation(Value):
    """Running costs of each model per case scored, and the number of cases in a period."""

    running_costs: Mapping[str, float] = field(default_factory=dict)
    volume: float | None = None
    period: str | None = None

    def total(self, cost: Measured | None) -> Measured | None:
        """A cost per case times the number of cases; None where that number is not stated."""
        if cost is None or self.volume is None:
            return None
        return Measured(*(self.volume * part for part in (cost.value, cost.low, cost.high)))


def read_operation(
    running_costs: object, volume: object, period: object, models: Collection[str]
) -> Operation:
    """Check running costs, volume and period.

    Parameters
    ----------
    running_costs, volume, period : as in `evaluate`
    models : the names of the models

    Returns
    -------
    running costs, volume and period

    Examples
    --------
    >>> read_operation({"forest": 0.02}, 250_000, "year", ["forest", "rules"]).running_costs
    {'forest': 0.02}
    """
    running = {} if running_costs is None else running_costs
    if not isinstance(running, Mapping):
        raise InputError(
            f"running_costs must be a mapping from model to cost per case; got "
            f"{type(running).__name__}. Write {{{next(iter(models), 'model')!r}: 0.02}}."
        )
    # A misspelt model would otherwise run for free.
    unknown = [name for name in running if name not in models]
    if unknown:
        raise InputError(
            f"running_costs must name models; {unknown[0]!r} is none of them. The models are "
            f"{', '.join(map(repr, models))}: write one of these names."
        )
    if period is not None and not (isinstance(period, str) and period.strip()):
        raise InputError(
            f"period must be a word such as 'year'; got {period!r}. Name the time in which the "
            f"cases come."
        )
    if period is not None and volume is None:
        raise InputError(
            f"period must come with a volume; got {period!r} alone. State the number of cases "
            f"in it, too."
        )
    return Operation(
        {
            str(name): _check.number(f"running_costs[{name!r}]", cost, low=0, high=LARGEST_COST)
            for name, cost in running.items()
        },
        None if volume is None else _volume(volume),
        None if period is None else _check.writable("period", str(period)),
    )


def _volume(value: object) -> float:
    volume = _check.number("volume", value, low=0)
    if not 0 < volume <= LARGEST_COST:
        raise InputError(
            f"volume must be above zero and at most {LARGEST_COST:g}; got {volume:g}. Leave it "
            f"out, or state how many cases will come."
        )
    return volume


# Clusters by decisions, in a table that fits into memory whatever the number of clusters ---------

_GROUPS, _FEWEST = 50_000, 100  # random groups of clusters, where a table of all would not fit


def clusters_of(cases: Cases, rows: IntArray | None) -> Groups | None:
    """The clusters of all cases, or those in which some of the rows lie, numbered from 0.

    Parameters
    ----------
    cases : the cases
    rows : positions of some; None for all

    Returns
    -------
    the clusters; None where there are none

    Examples
    --------
    >>> from stakes.evaluation import read_cases
    >>> cases = read_cases([0, 1, 1], Problem.zero_one(2), None, None, [7, 8, 9])
    >>> clusters_of(cases, np.array([0, 2])).codes
    array([0, 1])
    """
    if cases.clusters is None:
        return None
    codes = cases.clusters.codes
    if rows is not None:
        codes = np.unique(codes[rows], return_inverse=True)[1]
    return _numbered(codes, int(codes.max()) + 1)


def groups_of_clusters(clusters: Groups, columns: dict[str, Any], problem: Problem) -> Groups:
    """The clusters, or random groups of them where a table of all by decisions would not fit.

    A random group of whole clusters varies as its clusters do, so that variances stay what they are
    on average (Wolter 1985). From 50,000 groups they are known to 0.6 %.

    Parameters
    ----------
    clusters : of every row
    columns : codes of the class and of the decision of each system, (n,)
    problem : what is at stake

    Returns
    -------
    the same clusters, or groups of them

    Examples
    --------
    >>> clusters, columns = Groups(("first", "second"), np.array([0, 1, 1])), {"y_true": [0, 1, 1]}
    >>> groups_of_clusters(clusters, columns, Problem.zero_one(2)) is clusters
    True
    """
    count, names = len(clusters.labels), tuple(columns)[1:]
    possible = problem.n_classes * problem.n_decisions ** len(names)
    if count * min(possible, clusters.codes.size) <= MOST_CELLS:
        return clusters
    n_cells = len(JointCounts._of_codes(columns, names, problem, None).cells)
    if count * n_cells <= MOST_CELLS:
        return clusters
    size = min(_GROUPS, max(_FEWEST, MOST_CELLS // n_cells))
    refuse_too_many(size, n_cells, "Pass fewer models at a time.")
    return _numbered((np.random.default_rng(0).permutation(count) % size)[clusters.codes], size)


def _numbered(codes: IntArray, count: int) -> Groups:
    return Groups(ClusterLabels(range(count)), codes)
