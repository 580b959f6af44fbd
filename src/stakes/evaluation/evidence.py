"""Evidence: the tallies from which a report is made, wherever the rows are.

`evaluate` makes it from arrays, an engine from files that do not fit into memory. Everything after
that reads tallies only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from stakes._check import FloatArray, IntArray, Label, Labels
from stakes._text import always
from stakes._value import record
from stakes.calibration import CalibrationMap
from stakes.evaluation.case_charges import Charges
from stakes.evaluation.column_order import ColumnOrder
from stakes.evaluation.decision_rules import DecisionRule
from stakes.evaluation.running_costs import Operation
from stakes.inference import WeightStrata
from stakes.limits import LimitCheck
from stakes.problem import Problem
from stakes.report import (
    BAYES,
    MOVED,
    RECALIBRATED,
    Caveat,
    CurvePoints,
    DecisionSource,
    PairCounts,
)
from stakes.scoring import Brier, LogLoss
from stakes.tally import Counts, JointCounts, ScoreTable

RULES = (LogLoss(), Brier())  # the proper scoring rules whose losses `ModelTallies` holds


def mean_losses(sums: FloatArray, masses: FloatArray) -> FloatArray:
    """Mean losses (2, K) under `RULES`, from sums (3, K) over the cases of each class.

    The last sum is the weight of cases whose class had probability 0. Their log losses are infinite
    and are not summed: 0 · inf would be nan for cases without weight.

    Parameters
    ----------
    sums : (3, K) sums of log loss, Brier score and weight of cases that were ruled out
    masses : (K,) weights of the classes

    Returns
    -------
    mean losses, (2, K); nan where a class has no weight

    Examples
    --------
    >>> mean_losses(np.array([[2.0, 0.0], [1.0, 0.5], [0.0, 1.0]]), np.array([4.0, 2.0]))
    array([[0.5 ,  inf],
           [0.25, 0.25]])
    """
    surprise = np.where(sums[2] > 0, np.inf, sums[0])
    with np.errstate(invalid="ignore"):
        return np.asarray(np.stack([surprise, sums[1]]) / masses)


@record
class JointSample:
    """The joint decisions of all systems on some cases; clusters are the leading axis, if any.

    Examples
    --------
    Three cases of two patients, with one false alarm:

    >>> y, decided, patients = [0, 0, 1], {"net": [0, 1, 1]}, ["first", "first", "second"]
    >>> joint = JointCounts.from_decisions(y, decided, Problem.zero_one(2), clusters=patients)
    >>> sample = JointSample(joint, np.array([2, 1]), None)
    >>> sample.clusters, sample.pooled.model("net").values.tolist()
    (2, [[1.0, 1.0], [0.0, 1.0]])
    """

    joint: JointCounts
    # Number of cases of each class, (K,); weights do not count cases, rows do.
    sizes: FloatArray | IntArray
    squares: FloatArray | None  # sums of squared weights, like joint.weights; None: cases
    charges: Charges | None = None  # every case's own costs, where they differ
    strata: WeightStrata | None = None  # the rows by their weight, where few weights differ
    # The weight of each cluster, where the tally has random groups of them; None: as in the tally.
    cluster_masses: FloatArray | None = None

    @property
    def design(self) -> FloatArray | WeightStrata | None:
        """What inference is told about the weights: strata, else sums of squares; None: cases."""
        return self.squares if self.strata is None else self.strata

    @property
    def whole(self) -> bool:
        """Whether the sums are numbers of cases, and not of weights."""
        return self.squares is None

    @property
    def clusters(self) -> int | None:
        """The number of clusters; None where cases were sampled one by one."""
        return len(self.masses_of_clusters) if self.joint.weights.ndim == 2 else None

    @cached_property
    def masses_of_clusters(self) -> FloatArray:
        """The weight of each cluster, also where the tally has groups of them."""
        if self.cluster_masses is not None:
            return self.cluster_masses
        return np.asarray(self.joint.weights.sum(axis=1))

    @property
    def clusters_of_classes(self) -> IntArray:
        """The number of clusters that hold cases of each class, (K,)."""
        cluster, cell = np.nonzero(self.joint.weights)
        pairs = np.unique(self.joint.cells[cell, 0] + len(self.sizes) * cluster)
        return np.bincount(pairs % len(self.sizes), minlength=len(self.sizes))

    @cached_property
    def pooled(self) -> JointCounts:
        """The tally of all clusters together."""
        return self.joint.pooled()


FEW_SOURCES = 12  # sources of decisions whose pairs are always counted

# Counts cases in bins of two sources of decisions at once, keyed by the positions of the two. The
# arguments are the sources and the edges of their scores, (B - 1,), empty where decisions are bins.
PairsOf = Callable[
    [Sequence[DecisionSource], Sequence[FloatArray]], Mapping[tuple[int, int], PairCounts]
]


@record
class ModelTallies:
    """Tallies of the predictions of one model; None where these do not allow it.

    Losses are means within each class, (2, K): log loss, and Brier score summed over classes.

    Examples
    --------
    Probabilities that are off by 0.1 in one class and by 0.2 in the other have Brier scores of
    twice 0.01 and twice 0.04:

    >>> from stakes.evaluation import Predictions, read_cases
    >>> from stakes.evaluation.tally_rows import evidence_of
    >>> cases = read_cases([0, 1], Problem.zero_one(2), None, None, None)
    >>> model = Predictions("net", "posteriors", posteriors=np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> [tallies] = evidence_of(cases, [model], posterior_prior=None, calibrator=None).models
    >>> tallies.losses[1].round(6), tallies.predicted.values.tolist()
    (array([0.02, 0.08]), [[1.0, 0.0], [0.0, 1.0]])
    """

    model: str
    kind: str
    table: ScoreTable | None = None  # of P(second class) or of raw scores, as they came
    deployed: ScoreTable | None = None  # the same for the prior of the report
    recalibrated: ScoreTable | None = None
    losses: FloatArray | None = None  # of posteriors as they came
    deployed_losses: FloatArray | None = None  # of those for the prior of the report
    moving: tuple[FloatArray, FloatArray] | None = None  # the priors from and to which they move
    predicted: Counts | None = None  # the most probable classes, or decisions that stand for them
    leads: FloatArray | None = None  # (2, K), of posteriors as they came, where there is no table
    named: bool = False  # whether the caller said which class each column belongs to
    order: ColumnOrder | None = None  # that fits clearly better, of three classes or more
    certain: bool = False  # whether all posteriors are 0 or 1
    off_sum: tuple[int, float] | None = None  # rows that did not sum to one, and the worst sum
    # Sums (E + 1, 2, T) of the terms of the costs between edges (E,) of the scores of the table
    term_sums: Callable[[FloatArray], FloatArray] | None = None
    auc_shift: float = 0.0  # what the order of the scores within the rows of the table adds
    class_bins: FloatArray | None = None  # of posteriors of many classes; see `ModelQuality`
    recalibrated_bins: FloatArray | None = None  # the same of recalibrated ones

    def table_of(self, rule: str) -> ScoreTable | None:
        """The scores of two classes by which a Bayes rule decides, for the prior of the report.

        Parameters
        ----------
        rule : the name of the rule

        Returns
        -------
        the score table; None where the model has none

        Examples
        --------
        >>> scores = ScoreTable([0.2, 0.7], [[3, 1], [1, 2]])
        >>> ModelTallies("net", "posteriors", table=scores).table_of("Bayes decisions").scores
        array([0.2, 0.7])
        """
        tables = {BAYES: self.table, MOVED: self.deployed, RECALIBRATED: self.recalibrated}
        return tables[rule]


class FoldCosts(NamedTuple):
    """What each of K fits costs on the cases of each of K folds, by system, and their weights."""

    sums: Mapping[str, FloatArray]  # (K, K)
    weights: FloatArray  # (K,)


class ColumnRank(NamedTuple):
    """How well a column of the costs tells a class from the others, and the best model at that.

    Examples
    --------
    >>> ColumnRank("loss", "fraud", 0.97, "forest", 0.81).area
    0.97
    """

    column: str
    label: Label
    area: float  # under the ROC curve, at least ½: the column may speak for the class or against it
    model: str
    best: float  # the same of the model


@record
class Evidence:
    """Everything that a report is made from.

    Examples
    --------
    >>> from stakes.evaluation import Predictions, read_cases
    >>> from stakes.evaluation.tally_rows import evidence_of
    >>> cases = read_cases([0, 0, 0, 1], Problem.zero_one(2), None, None, None)
    >>> model = Predictions("net", "decisions", decided=np.array([0, 0, 1, 1]))
    >>> evidence = evidence_of(cases, [model], posterior_prior=None, calibrator=None)
    >>> list(evidence.rules), evidence.shares
    (['net (as decided)'], array([0.75, 0.25]))
    """

    problem: Problem
    n_rows: int
    sample: JointSample
    rules: dict[str, DecisionRule]  # by the name of the system
    models: tuple[ModelTallies, ...]
    slices: tuple[
        tuple[str | None, Label, JointSample], ...
    ]  # name of the column, group, its cases
    posterior_prior: FloatArray
    weighted: bool
    calibrator: str | None = None
    partition_costs: Mapping[str, FloatArray] = field(default_factory=dict)  # of fitted rules, (P,)
    fold_costs: FoldCosts | None = None  # of models that were cross-validated
    left_out: tuple[Caveat, ...] = ()
    operation: Operation = field(default_factory=Operation)
    maps: Mapping[str, Callable[[], CalibrationMap]] = field(default_factory=dict)  # of all cases
    # What limits add to the costs (L, K, M), for posteriors of all cases by the map of a model
    repriced: Callable[[str, FloatArray], FloatArray] | None = None
    checks: Mapping[str, tuple[LimitCheck, ...]] = field(default_factory=dict)  # by system
    # What Bayes rules cost where hard cases are left undecided; see `Report.coverage`
    coverage: Mapping[str, Callable[[], CurvePoints]] = field(default_factory=dict)
    unaided: frozenset[str] | None = None  # what needs no model and keeps the limits; None: all
    pairs: PairsOf | None = None  # None with clusters, weights, limits or case costs
    whole_weights: bool = False  # whether the weights of rows are whole numbers, as of copies
    copied: bool = False  # whether rows stand for as many equal ones, not for cases by weights
    most_sources: int = FEW_SOURCES  # of decisions whose pairs are counted; more where that is fast
    column_ranks: tuple[ColumnRank, ...] = ()  # how well columns of the costs tell the classes
    # Models whose columns seem to be in another order than the classes; see `ordered_models`.
    misordered: frozenset[str] = frozenset()

    @property
    def all_misordered(self) -> bool:
        """Whether that holds for the columns of every system that could win."""
        rivals = [rule.model for rule in self.rules.values() if rule.eligible]
        return bool(self.misordered) and self.misordered.issuperset(rivals)

    @property
    def all_break(self) -> bool:
        """Whether every system that could win clearly breaks a limit."""
        rivals = [name for name, rule in self.rules.items() if rule.eligible]
        return bool(self.checks) and all(
            any(check.breaks for check in self.checks[name]) for name in rivals
        )

    @property
    def constant(self) -> Labels:
        """The constant decisions that keep the limits."""
        return tuple(d for d in self.problem.decisions if self.may_be_taken(always(d)))

    def may_be_taken(self, name: str) -> bool:
        """Whether a decision that needs no model keeps the limits.

        Parameters
        ----------
        name : a constant decision such as "always 0", or the rule by costs and prior

        Returns
        -------
        whether it does; true where there are no limits

        Examples
        --------
        >>> from stakes.evaluation import Folds, read_cases
        >>> from stakes.evaluation.predictions import read_predictions
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> from stakes.rows import Decisions
        >>> cases = read_cases([0, 0, 1], Problem.binary(false_alarm=1, miss=9), None, None, None)
        >>> options = {"posterior_prior": None, "calibrator": None}
        >>> folds, decided = Folds(cases, seed=0), Decisions([0, 0, 1])
        >>> model = read_predictions("net", decided, cases, posterior_prior=None)
        >>> evidence_of(cases, [model], **options).may_be_taken("always 0")
        True
        """
        return self.unaided is None or name in self.unaided

    def model(self, name: str) -> ModelTallies:
        """The tallies of a model.

        Parameters
        ----------
        name : the name of the model

        Returns
        -------
        its tallies

        Examples
        --------
        >>> from stakes.evaluation import Predictions, read_cases
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> cases = read_cases([0, 0, 0, 1], Problem.zero_one(2), None, None, None)
        >>> model = Predictions("net", "decisions", decided=np.array([0, 0, 1, 1]))
        >>> evidence = evidence_of(cases, [model], posterior_prior=None, calibrator=None)
        >>> evidence.model("net").kind
        'decisions'
        """
        return next(tallied for tallied in self.models if tallied.model == name)

    def systems_by_rule(self, model: str) -> dict[str, str]:
        """The systems of one model, by the name of their rule.

        Parameters
        ----------
        model : the name of the model

        Returns
        -------
        names of systems

        Examples
        --------
        >>> from stakes.evaluation import Predictions, read_cases
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> cases = read_cases([0, 0, 0, 1], Problem.zero_one(2), None, None, None)
        >>> model = Predictions("net", "decisions", decided=np.array([0, 0, 1, 1]))
        >>> evidence = evidence_of(cases, [model], posterior_prior=None, calibrator=None)
        >>> evidence.systems_by_rule("net")
        {'as decided': 'net (as decided)'}
        """
        return {rule.name: name for name, rule in self.rules.items() if rule.model == model}

    def running_costs(self, names: tuple[str, ...]) -> FloatArray:
        """What systems cost per case besides their decisions: the cost of running their model.

        Parameters
        ----------
        names : names of systems, and of decisions that need no model

        Returns
        -------
        costs (J,); zero for what needs no model

        Examples
        --------
        >>> from stakes.evaluation import Folds, read_cases
        >>> from stakes.evaluation.predictions import read_predictions
        >>> from stakes.evaluation.tally_rows import evidence_of
        >>> from stakes.rows import Decisions
        >>> problem = Problem.binary(false_alarm=1, miss=9)
        >>> cases = read_cases([0, 0, 1], problem, None, None, None)
        >>> options = {"posterior_prior": None, "calibrator": None}
        >>> folds, decided = Folds(cases, seed=0), Decisions([0, 0, 1])
        >>> model = read_predictions("net", decided, cases, posterior_prior=None)
        >>> evidence_of(cases, [model], **options).running_costs(("net (as decided)", "always 0"))
        array([0., 0.])
        """
        running = self.operation.running_costs
        models = (self.rules[name].model if name in self.rules else None for name in names)
        return np.array([0.0 if model is None else running.get(model, 0.0) for model in models])

    @cached_property
    def shares(self) -> FloatArray:
        """Class shares of the data."""
        return self.sample.pooled.shares

    @property
    def prior(self) -> FloatArray:
        """The class shares in deployment: the stated prior, else the shares of the data."""
        return self.problem.prior_or(self.shares)
