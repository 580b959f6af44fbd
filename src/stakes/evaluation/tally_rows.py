"""From rows to evidence: every tally that the report needs, in one pass each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from stakes._check import BoolArray, FloatArray, IntArray, Label
from stakes.evaluation.backwards import own_class_leads
from stakes.evaluation.cases import Cases
from stakes.evaluation.charging import Charges, charges_of, weighted_terms
from stakes.evaluation.decision_rules import named, rules_of
from stakes.evaluation.evidence import RULES, Evidence, ModelTallies, Sample
from stakes.evaluation.predictions import Predictions
from stakes.report import POSTERIOR_RULES, RECALIBRATED, TUNED_APART
from stakes.rows import POSTERIORS
from stakes.scoring import class_means
from stakes.tally import Counts, JointCounts, ScoreTable
from stakes.thresholds import StakesTable, weighed


def evidence_of(
    cases: Cases,
    predictions: Sequence[Predictions],
    *,
    posterior_prior: FloatArray | None,
    calibrator: str | None,
) -> Evidence:
    """Tally the cases and what every model says of them."""
    problem = cases.problem
    models = tuple(_tallies(one, cases) for one in predictions)
    found = [
        (rule, one.decisions(rule, cases.charges).astype(np.min_scalar_type(-problem.n_decisions)))
        for one, tallied in zip(predictions, models, strict=True)
        for rule in rules_of(
            one.model,
            one.kind,
            problem,
            table=tallied.table,
            stakes=_stakes(one, cases),
            movable=one.moving is not None,
            recalibrated=one.recalibrated is not None,
            tuned_apart=one.tuned_apart is not None,
        )
    ]
    rules = named((rule for rule, _ in found), problem)
    decided = dict(zip(rules, (codes for _, codes in found), strict=True))
    bayes = frozenset(name for name, rule in rules.items() if rule.name in POSTERIOR_RULES)
    charges = None if cases.costs is None else charges_of(cases, decided, bayes)
    fitted = {one.model: one.partition_costs for one in predictions}
    return Evidence(
        problem=problem,
        n_rows=cases.n_rows,
        sample=_sample(cases, decided, charges),
        rules=rules,
        models=models,
        slices=tuple(_slices(cases, decided, charges)),
        posterior_prior=cases.shares if posterior_prior is None else posterior_prior,
        weighted=cases.weights is not None,
        calibrator=calibrator,
        partition_costs={
            name: costs
            for name, rule in rules.items()
            if rule.name in (RECALIBRATED, TUNED_APART)
            and (costs := fitted[rule.model]) is not None
        },
        left_out=tuple(caveat for one in predictions for caveat in one.left_out),
        maps={one.model: one.map_of_all for one in predictions if one.map_of_all is not None},
    )


def _stakes(one: Predictions, cases: Cases) -> StakesTable | None:
    """The scores of two classes weighed by the costs of each case, for two decisions."""
    problem = cases.problem
    binary = (problem.n_classes, problem.n_decisions) == (2, 2)
    if cases.costs is None or one.scores is None or not binary:
        return None
    return weighed(cases.truth, one.scores, cases.weights, cases.costs, problem)


def _sample(
    cases: Cases,
    decided: dict[str, IntArray],
    charges: Charges | None,
    own: BoolArray | None = None,
) -> Sample:
    """The joint decisions on all cases, or on some of them."""

    def part(column: Any) -> Any:
        return column if column is None or own is None else column[own]

    truth, weights = part(cases.truth), part(cases.weights)
    clusters = None if cases.clusters is None else part(cases.clusters.codes)
    columns = {"y_true": truth, **{name: part(codes) for name, codes in decided.items()}}
    names, problem = tuple(decided), cases.problem
    joint = JointCounts._of_codes(columns, names, problem, weights, clusters=clusters)
    charged = charges if charges is None or own is None else charges.only(own)
    if cases.whole:
        return Sample(joint, np.bincount(truth, weights, problem.n_classes), None, charged)
    squares = JointCounts._of_codes(columns, names, problem, weights**2, clusters=clusters).weights
    return Sample(joint, np.bincount(truth, None, problem.n_classes), squares, charged)


def _slices(
    cases: Cases, decided: dict[str, IntArray], charges: Charges | None
) -> Iterator[tuple[str | None, Label, Sample]]:
    for name, groups in cases.by:
        for place, label in enumerate(groups.labels):
            yield name, label, _sample(cases, decided, charges, groups.codes == place)


def _tallies(one: Predictions, cases: Cases) -> ModelTallies:
    """What one model says, tallied."""
    table = None if one.scores is None else _score_table(one.scores, cases)
    losses = None if one.posteriors is None else _losses(one.posteriors, cases)
    repaired = one.recalibrated if cases.problem.n_classes == 2 else None
    moved = one.moved if one.kind == POSTERIORS else one.recalibrated
    return ModelTallies(
        model=one.model,
        kind=one.kind,
        table=table,
        deployed=None if table is None else _deployed(table, moved, cases),
        recalibrated=None if repaired is None else _score_table(repaired[:, 1], cases),
        losses=losses,
        deployed_losses=losses if moved is None else _losses(moved, cases),
        moving=one.moving,
        predicted=_predicted(one, cases),
        leads=None
        if one.posteriors is None or table is not None
        else own_class_leads(one.posteriors, cases),
        off_sum=one.off_sum,
        term_sums=_term_sums(one, cases),
    )


def _term_sums(one: Predictions, cases: Cases) -> Callable[[FloatArray], FloatArray] | None:
    """How to sum the terms of the costs between scores, where one threshold makes two decisions."""
    scores = one.scores
    if cases.costs is None or scores is None or cases.costs.shape != (2, 2):
        return None

    def summed(edges: FloatArray) -> FloatArray:
        cells, size = 2 * np.searchsorted(edges, scores) + cases.truth, 2 * (edges.size + 1)
        sums = [np.bincount(cells, own, size) for own in weighted_terms(cases)]
        made = np.stack(sums, axis=-1) if sums else np.empty((size, 0))
        return made.astype(np.float64).reshape(edges.size + 1, 2, len(sums))

    return summed


def _losses(rows: FloatArray, cases: Cases) -> FloatArray:
    """Mean log loss and Brier score of each class, (2, K)."""
    return class_means(rows, cases.truth, RULES, cases.problem.n_classes, cases.weights)[1]


def _score_table(scores: FloatArray, cases: Cases) -> ScoreTable:
    """For each distinct score of two classes, the weight of each class."""
    return ScoreTable._of_codes(cases.truth, scores, cases.weights, cases.problem.classes)


def _deployed(table: ScoreTable, moved: FloatArray | None, cases: Cases) -> ScoreTable:
    """The table once deployed: scores and class shares for the prior of the report."""
    made = table if moved is None else _score_table(moved[:, 1], cases)
    return made if cases.problem.prior is None else made.with_prior(cases.prior)


def _predicted(one: Predictions, cases: Cases) -> Counts | None:
    """Predicted classes: the most probable ones, or decisions that answer classes."""
    place, size = cases.problem.answered, cases.problem.n_classes
    if one.posteriors is not None:
        decided: Any = _most_probable(one.posteriors)
    elif one.decided is None or place is None:
        return None
    else:
        decided = place[one.decided]
    cells = np.bincount(cases.truth * size + decided, cases.weights, size * size)
    return Counts(cells.reshape(size, size), classes=range(size), decisions=range(size))


def _most_probable(rows: FloatArray) -> npt.NDArray[Any]:
    """The first of the most probable classes; for two of them a comparison is faster."""
    return rows.argmax(axis=1) if rows.shape[1] > 2 else rows[:, 1] > rows[:, 0]
