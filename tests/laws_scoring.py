"""Laws of ``stakes.scoring``: proper scores of tables whose scores are probabilities."""

from __future__ import annotations

import math
from itertools import product

from hypothesis import strategies as st

from laws import SCORES, Law, ScoreTableOf, divide, inf, nan
from laws_ranking import Rows, totals
from stakes import scoring

ROOMS = ("stakes.scoring",)


class ProbabilitiesOf(ScoreTableOf):
    """Tables whose scores are probabilities of the positive class."""

    case = st.sampled_from(list(product(["no", "yes"], [0.0, 0.125, 0.25, 0.5, 0.75, 1.0])))

    def reordered_tally(self, tally, order):
        """The other class has the other probability."""
        if order == (0, 1):
            return tally
        weights = tally.weights[::-1, ::-1]
        return type(tally)(1 - tally.scores[::-1], weights, classes=tally.classes[::-1])


PROBABILITIES = ProbabilitiesOf()
RULES = {"half Brier": scoring.HalfBrier(), "log loss": scoring.LogLoss()}


def surprise(q: float) -> float:
    return -math.log(q) if q > 0 else inf


LOSSES = {"half Brier": lambda q: (1 - q) ** 2, "log loss": surprise}


def mean_of(loss):
    """Mean over cases of the loss of the probability that the true class had."""

    def twin(rows: Rows) -> float:
        paid = 0.0
        for score, negative, positive in rows:
            paid += negative * loss(1 - score) if negative else 0.0
            paid += positive * loss(score) if positive else 0.0
        return divide(paid, sum(totals(rows)))

    return twin


def named_mean(rows: Rows, name: str) -> float:
    return mean_of(LOSSES[name])(rows)


def normalized(rows: Rows, name: str) -> float:
    shares = [part / sum(totals(rows)) for part in totals(rows)]
    blind = sum(share * LOSSES[name](share) for share in shares if share)
    return divide(named_mean(rows, name), blind)


def some_rule(world):
    return st.tuples(st.sampled_from(sorted(RULES)))


def by_rule(measure):
    return lambda table, name: measure(table, RULES[name])


def in_bins(edge: float, rows: Rows) -> list[Rows]:
    parts = [[row for row in rows if (row[0] > edge) == above] for above in (False, True)]
    return [part for part in parts if part]


def calibration_loss(rows: Rows, edge: float) -> float:
    total = 0.0
    for part in in_bins(edge, rows):
        mass = sum(totals(part))
        mean = sum((row[1] + row[2]) * row[0] for row in part) / mass
        total += mass * (mean - totals(part)[1] / mass) ** 2
    return divide(total, sum(totals(rows)))


def refinement_loss(rows: Rows, edge: float) -> float:
    total = 0.0
    for part in in_bins(edge, rows):
        negative, positive = totals(part)
        total += negative * positive / (negative + positive)
    return divide(total, sum(totals(rows)))


def some_edge(world):
    return st.tuples(st.sampled_from([0.125, 0.3, 0.5]))


def in_two_bins(measure):
    return lambda table, edge: measure(table, scoring.Edges([edge]))


def softplus(score: float) -> float:
    return max(score, 0.0) + math.log1p(math.exp(-abs(score)))


def cllr(rows: Rows) -> float:
    negative, positive = totals(rows)
    if not (negative and positive):
        return nan
    paid = [0.0, 0.0]
    for score, low, high in rows:
        paid[0] += low * softplus(score) if low else 0.0
        paid[1] += high * softplus(-score) if high else 0.0
    return (paid[0] / negative + paid[1] / positive) / 2 / math.log(2)


def min_cllr(rows: Rows) -> float:
    """Pool neighbours that violate the order, as PAV does, at equal prior odds."""
    negative, positive = totals(rows)
    if not (negative and positive):
        return nan
    blocks: list[list[float]] = []
    for _, low, high in rows:
        blocks.append([low / negative, high / positive])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][0] >= blocks[-1][1] * blocks[-2][0]:
            last = blocks.pop()
            blocks[-1] = [blocks[-1][0] + last[0], blocks[-1][1] + last[1]]
    return -sum(w * math.log2(w / sum(block)) for block in blocks for w in block if w) / 2


LAWS = [
    Law(scoring.cllr, SCORES, cllr),
    Law(scoring.min_cllr, SCORES, min_cllr),
    Law(scoring.brier, PROBABILITIES, mean_of(LOSSES["half Brier"])),
    Law(scoring.log_loss, PROBABILITIES, mean_of(LOSSES["log loss"])),
    Law(scoring.mean_absolute_error, PROBABILITIES, mean_of(lambda q: 1 - q)),
    Law(
        scoring.table_score,
        PROBABILITIES,
        named_mean,
        arguments=some_rule,
        call=by_rule(scoring.table_score),
    ),
    Law(
        scoring.normalized_table_score,
        PROBABILITIES,
        normalized,
        arguments=some_rule,
        call=by_rule(scoring.normalized_table_score),
    ),
    Law(
        scoring.calibration_loss,
        PROBABILITIES,
        calibration_loss,
        arguments=some_edge,
        call=in_two_bins(scoring.calibration_loss),
        moves=None,
    ),
    Law(
        scoring.refinement_loss,
        PROBABILITIES,
        refinement_loss,
        arguments=some_edge,
        call=in_two_bins(scoring.refinement_loss),
        moves=None,
    ),
]
