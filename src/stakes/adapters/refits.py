"""What is fitted out of fold to rows that stay in their engine, for two classes.

The engine pools the rows by score, class and fold; folds come from a key of each row. A calibrator
fits these cells, with their weights, as it fits the rows, and a threshold is tuned on them as on
the rows. What every score of every fold is decided to be goes back to the engine as an expression.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import narwhals.stable.v2 as nw
import numpy as np

from stakes._check import BoolArray, FloatArray, IntArray
from stakes.adapters.expressions import Arrays, arrays_of, first_of, grouped
from stakes.adapters.lazy import FOLD, TRUTH, WEIGHT
from stakes.adapters.model_tallies import LazyModel, Tallied
from stakes.adapters.sources import Lazy
from stakes.calibration import Calibrator, Select
from stakes.decide import cheapest_decisions
from stakes.evaluation import (
    KEY_FOLDS,
    Cases,
    Fitted,
    Folds,
    ModelTallies,
    left_out,
    recalibrated,
    tuned_apart,
    used_folds,
)
from stakes.report import RECALIBRATED, TUNED_APART, Caveat
from stakes.rows import Posteriors, Scores
from stakes.scoring import Brier, LogLoss, class_means
from stakes.tally import ScoreTable

_MOST_RUNS = 2000  # of scores with one decision, in all folds together
_BYTES = 64  # that a cell takes on its way


@dataclass(frozen=True, eq=False)
class Refit:
    """A rule of a model that was fitted out of fold, and the decision of every cell."""

    rule: str
    fitted: Fitted
    score: str
    scores: FloatArray
    folds: IntArray
    decided: IntArray

    def expression(self) -> nw.Expr:
        """The decision of every row, by its fold and score."""
        known = np.unique(self.folds).tolist()
        each = [self._of_fold(self.folds == fold) for fold in known]
        return first_of([nw.col(FOLD) == fold for fold in known[:-1]], each[:-1], each[-1])

    def _of_fold(self, own: BoolArray) -> nw.Expr:
        scores, where = np.unique(self.scores[own], return_index=True)
        ends, decided = _runs(scores, self.decided[own][where])
        score, places = nw.col(self.score), [nw.lit(int(place)) for place in decided]
        return first_of([score <= end for end in ends[:-1]], places[:-1], places[-1])

    @property
    def n_runs(self) -> int:
        """How many runs of scores have one decision."""
        order = np.lexsort((self.scores, self.folds))
        changes = np.diff(self.decided[order]) != 0
        return int(np.sum(changes | (np.diff(self.folds[order]) != 0))) + 1


def _runs(scores: FloatArray, decided: IntArray) -> tuple[list[float], list[int]]:
    """The last score of every run of scores with one decision, and the decisions."""
    ends = np.append(np.flatnonzero(np.diff(decided)), len(scores) - 1)
    return scores[ends].tolist(), decided[ends].tolist()


def refitted(
    model: LazyModel,
    rows: Lazy,
    tallied: Tallied,
    calibrator: Calibrator | None,
    shares: FloatArray,
    limit: int,
) -> tuple[Tallied, Refit | None, tuple[Caveat, ...]]:
    """The tallies with what recalibration or a tuned threshold adds, or why there is none."""
    if calibrator is None and isinstance(model.given, Posteriors):
        return tallied, None, ()
    cells = _cells(model, rows, limit)
    if cells is None:
        text = "it was not fitted out of fold: its distinct scores are beyond the limit of memory."
        return tallied, None, (left_out(model.name, text),)
    scores, raw = cells[model.score], isinstance(model.given, Scores)
    cases = Cases(
        problem=model.problem,
        n_rows=len(scores),
        kept=None,
        truth=cells[TRUTH],
        weights=cells[WEIGHT],
        by=(),
        clusters=None,
        shares=shares,
    )
    folds = Folds(cases, np.random.default_rng(0), used_folds(cells[FOLD]))
    fitted, lost = recalibrated(model.name, scores, folds, calibrator, raw=raw)
    rule, decided = RECALIBRATED, None
    if fitted is not None:
        decided = cheapest_decisions(np.asarray(fitted.said), model.problem.costs)
    elif raw and (fitted := tuned_apart(scores, folds)) is not None:
        rule, decided = TUNED_APART, np.asarray(fitted.said)
    exact = replace(tallied, bins=None, tallies=_exact(model, tallied, cases, scores, fitted, rule))
    if fitted is None or decided is None:
        return exact, None, lost
    refit = Refit(rule, fitted, model.score, scores, cells[FOLD], decided)
    if refit.n_runs > _MOST_RUNS:
        text = "it was not recalibrated: its decisions change too often along the scores."
        return tallied, None, (*lost, left_out(model.name, text))
    return exact, refit, lost


def _cells(model: LazyModel, rows: Lazy, limit: int) -> Arrays | None:
    """Weights by score, class and fold, in this order; None where there are too many."""
    sizes, most = {TRUTH: 2, FOLD: KEY_FOLDS}, limit // _BYTES
    frame = model.with_scores(rows)
    made = grouped(frame, sizes, {WEIGHT: nw.col(WEIGHT)}, more=[model.score])
    found = arrays_of(made.head(most + 1), sizes)
    if len(found[WEIGHT]) > most:
        return None
    found[model.score] = found[model.score] + 0.0
    order = np.lexsort((found[FOLD], found[TRUTH], found[model.score]))
    return {name: column[order] for name, column in found.items()}


def _exact(
    model: LazyModel,
    tallied: Tallied,
    cases: Cases,
    scores: FloatArray,
    fitted: Fitted | None,
    rule: str,
) -> ModelTallies:
    """The tallies of the distinct scores, and of the recalibrated ones where there are any."""
    made, problem = tallied.tallies, model.problem
    table = ScoreTable._of_codes(cases.truth, scores, cases.weights, problem.classes)
    made = replace(made, table=table, deployed=model.deployed(table))
    if fitted is None or rule != RECALIBRATED:
        return made
    said = np.asarray(fitted.said, dtype=np.float64)
    repaired = ScoreTable._of_codes(cases.truth, said[:, 1], cases.weights, problem.classes)
    made = replace(made, recalibrated=repaired)
    if isinstance(model.given, Posteriors):
        return made
    losses = class_means(said, cases.truth, (LogLoss(), Brier()), 2, cases.weights)[1]
    deployed = repaired if problem.prior is None else repaired.with_prior(cases.prior)
    return replace(made, deployed=deployed, deployed_losses=losses)


def why_none(calibrator: Calibrator, key: str | None, n_classes: int) -> str | None:
    """Why nothing can be recalibrated beyond memory, if nothing can."""
    start = "Recalibration was left out: the rows stay in their engine, and "
    if n_classes > 2:
        return f"{start}maps of more than two classes are fitted to rows in memory only."
    if isinstance(calibrator, Select):
        return (
            f"{start}Select chooses by single rows. Name one calibrator, say Isotonic(), and a key."
        )
    if key is None:
        return f"{start}folds come from a key then. Name a column of whole numbers, key='…'."
    return None
