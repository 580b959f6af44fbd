"""What the page of a report holds."""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, log10
from typing import Any

import numpy as np

from stakes._check import FloatArray
from stakes.calibration import log_odds
from stakes.decide import cheapest_decisions, reachable_decisions, shift_prior
from stakes.inference import Measured
from stakes.problem import Limit
from stakes.render.layout import triple
from stakes.render.system_tables import rules_explained
from stakes.report import (
    AS_DECIDED,
    BAYES,
    MOVED,
    POSTERIOR_RULES,
    RECALIBRATED,
    TUNED,
    ModelQuality,
    Report,
    Slice,
    System,
)
from stakes.rows import POSTERIORS, Posteriors
from stakes.rule import Rule
from stakes.scoring import posterior_pairs
from stakes.tally import ScoreTable
from stakes.thresholds import ByThreshold

# -------------------------------------------------------------------------------------------------
# The calibration map of a rule as points, from which a page finds the scores of other cuts.

_REACH, _POINTS = 40.0, 2001  # of log-odds: beyond them a probability is 0 or 1 up to rounding
_STRAIGHT = 1e-9  # difference of two slopes, relative, that is only rounding


def rising_curve(rule: Rule | None) -> dict[str, Any] | None:
    """Points between which a map of two classes is a line, on scales that are named.

    Isotonic maps are lines between their knots; lines in log-odds have two points; other maps have
    so many that scores found between them are right to four digits.

    Parameters
    ----------
    rule : the rule of a system

    Returns
    -------
    the points, and whether scores and values are log-odds; None where there is no rising map

    Examples
    --------
    >>> from stakes import Problem
    >>> from stakes.calibration import Isotonic
    >>> problem, fitted = Problem.zero_one(2), Isotonic().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> curve = rising_curve(Rule(problem, map=fitted))
    >>> curve["scores"], curve["values"]
    ([0.1, 0.4, 0.6, 0.9], [0.0, 0.5, 0.5, 1.0])
    """
    if rule is None or rule.map is None or rule.cuts is None:
        return None
    curve = _curve(rule.map, rule.takes)
    if curve is None or rule.from_prior is None:
        return curve
    return {
        **curve,
        "holds_for": rule.from_prior.tolist(),
    }  # where the rule moves what the map gives


def _curve(of: Any, takes: str) -> dict[str, Any] | None:
    if of.kind == "isotonic":
        return _points(of.knots, of.values, of_odds=False, odds=False)
    if takes == POSTERIORS:
        limit = getattr(of, "limit", _REACH)
        grid = np.union1d(np.linspace(-_REACH, _REACH, _POINTS), [-limit, limit])
        shares = 1 / (1 + np.exp(-np.stack([-grid, grid], axis=1)))
        values = log_odds(of(Posteriors(shares)))
        return _points(grid, values, of_odds=True, odds=True)
    if of.kind == "logistic" and of.slope:
        ends = np.array([-_REACH, _REACH])
        return _points((ends - of.intercept) / of.slope, ends, of_odds=False, odds=True)
    return None


def _points(
    scores: FloatArray, values: FloatArray, *, of_odds: bool, odds: bool
) -> dict[str, Any] | None:
    """The points without those that lie on the line between their neighbours."""
    finite = np.isfinite(scores) & np.isfinite(values)
    scores, values = scores[finite], values[finite]
    if not scores.size or values[0] > values[-1]:
        return None
    slopes = np.diff(values) / np.diff(scores)
    bends = np.abs(np.diff(slopes)) > _STRAIGHT * (np.abs(slopes[1:]) + np.abs(slopes[:-1]))
    kept = np.concatenate([[True], bends, [True]])[: scores.size]
    return {
        "scores": _written(scores[kept]),
        "values": _written(values[kept]),
        "of_odds": of_odds,
        "odds": odds,
    }


def _written(values: FloatArray) -> list[float]:
    """To more digits than a page shows, to save room."""
    return [float(f"{value:.9g}") for value in values.tolist()]


# The data of the page: the tallies and the numbers of a report, ready for JSON -------------------

# Rules by which the page decides again when the stakes move; systems of others keep their tallies.
WAYS = {BAYES: "as is", MOVED: "moved", RECALIBRATED: "recalibrated", TUNED: "tuned"}


def page_data(report: Report) -> dict[str, Any]:
    """All that the script of the page reads; nan and infinities are left to the writer of JSON."""
    problem, assumptions = report.problem, report.assumptions
    return {
        "problem": {
            "costs": problem.terms.coefficients if problem.columns else problem.costs,
            "terms": problem.terms.names if problem.columns else None,
            "beliefs": [[k, d, belief.written] for k, d, belief in problem.beliefs],
            "classes": _texts(problem.classes),
            "decisions": _texts(problem.decisions),
            "unit": problem.unit,
        },
        "prior": assumptions.prior,
        "prior_stated": assumptions.prior_stated,
        "perfect": report.perfect_cost,
        "volume": assumptions.volume,
        "period": assumptions.period,
        "holds_for": assumptions.posterior_prior,
        "level": assumptions.level,
        "cases": max(assumptions.n_cases, assumptions.n_rows, 1),
        "as_decided": AS_DECIDED,
        "rules": _rules(report),
        "version": assumptions.version,
        "verdict": {
            "kind": report.verdict.kind,
            "system": report.verdict.cheapest,
            "doubt": report.verdict.doubt,
            "keep": report.verdict.keep,
        },
        "baseline": _baseline(report),
        "contenders": report.verdict.contenders,
        "expected": triple(report.verdict.cost),
        "normalized": triple(report.verdict.normalized),
        "saving": triple(report.verdict.saving_over_naive),
        "cheapest": [system.name for system in report.systems].index(report.best.name),
        "systems": [_system(report, *row) for row in _systems(report)],
        "no_model": None if report.no_model is None else _charged(report.no_model),
        "models": [_model(report, model) for model in report.models],
        "disagreement": _disagreement(report),
        "slice_systems": [system.name for system in report.systems],
        "slices": [_slice(report, part) for part in report.slices],
        "limits": [_limit(report, limit) for limit in problem.limits],
        "joint": _joint(report),
        "clustered": assumptions.clusters is not None,
        "weighted": report.best.counts.weighted,
    }


def _baseline(report: Report) -> dict[str, Any] | None:
    """The incumbent: its cost, and what the best system saves against it."""
    baseline, gap = report.baseline, report.verdict.difference
    if baseline is None or gap is None:
        return None
    return {
        "name": baseline.system,
        "paired": baseline.paired,
        "margin": baseline.margin,
        "relative": baseline.relative,
        "cost": triple(baseline.cost),
        "saving": triple(Measured(-gap.value, -gap.high, -gap.low)),
    }


def explorable(report: Report) -> bool:
    """Whether other thresholds can be tried on the page: by scores of two classes.

    Where every case has its own costs, two decisions can be tried, with the sums of the costs.
    """
    costed = [model for model in report.models if model.by_threshold or not report.problem.columns]
    tables = [model.table for model in costed if model.table is not None]
    return any(bool((table.weights.sum(axis=0) > 0).all()) for table in tables)


def _rules(report: Report) -> dict[str, str]:
    """What every rule means; that of moved posteriors too, which a moved prior brings in."""
    rules = {system.rule: system for system, _ in _systems(report) if system.name != system.model}
    return {rule: " ".join(rules_explained([system])) for rule, system in rules.items()}


def _joint(report: Report) -> dict[str, Any] | None:
    """Joint bins: for every pair of sources the cases of its cells; −m stands for m empty cells."""
    joint, models = report.joint, [quality.model for quality in report.models]
    if joint is None or report.problem.columns:
        return None
    packed = []
    for pair in joint.pairs:
        order = [i for i in np.argsort(pair.places) if pair.weights[i] > 0]
        gaps = 1 - np.diff(pair.places[order], prepend=-1)
        both = np.stack([gaps, pair.weights[order]], axis=1).astype(np.int64).ravel()
        packed.append(both[both != 0].tolist())
    return {
        "sources": [
            {
                "model": models.index(source.model),
                "recalibrated": source.recalibrated,
                "system": source.system,
                "ends": source.ends,
            }
            for source in joint.sources
        ],
        "pairs": packed,
        "fitting": [row[: i + 1] for i, row in enumerate(joint.fitting)],  # it is symmetric
        "reachable": reachable_decisions(report.problem.with_limits(None)),
    }


def _systems(report: Report) -> Iterator[tuple[System, bool]]:
    """All systems, and those that are added once the prior is moved away from that of the data."""
    known = {(system.model, system.rule) for system in report.systems}
    remade = report.problem.n_classes == 2 and not report.problem.columns
    movable = remade and min(report.assumptions.posterior_prior) > 0
    for system in report.systems:
        yield system, False
        if movable and WAYS.get(system.rule) == "as is" and (system.model, MOVED) not in known:
            fields = {**vars(system), "name": f"{system.model} (moved)", "rule": MOVED}
            yield System._trusted(**fields), True


def _system(report: Report, system: System, added: bool) -> dict[str, Any]:
    """A system, with how the page decides again for it."""
    place = [model.model for model in report.models].index(system.model)
    model = report.models[place]
    fixed = model.table_of(system.rule) is None or bool(report.problem.columns)
    return {
        "model": place,
        "rule": system.rule,
        "way": "fixed" if fixed else WAYS.get(system.rule, "fixed"),
        "posterior": system.rule in POSTERIOR_RULES,
        "added": added,
        "candidate": system.candidate,
        "threshold": system.threshold,
        **_known(change=_change(report, system, model)),
        "chance": system.probability_cheapest,
        "running": system.running_cost,
        **_known(prices=_prices(system)),
        **_charged(system),
    }


def _change(report: Report, system: System, model: ModelQuality) -> dict[str, Any] | None:
    """Where decisions change, of what, and with which map; None where no number decides."""
    if report.problem.n_classes != 2 or not system.changes:
        return None
    recalibrated = system.rule == RECALIBRATED and system.on_own_column
    rule = report.rules.if_fitted(system.name) if recalibrated else None
    places = [report.problem.decisions.index(label) for label in system.decided]
    known = {
        "at": _cut_short(system.changes),
        "corrected": _cut_short(system.corrected),
        "decisions": places,  # none in reports of earlier releases: they follow from the costs
        "on_column": system.on_own_column,
        "digits": system.digits,
        "percent": system.rule == BAYES or (system.rule == TUNED and model.kind == POSTERIORS),
        "curve": rising_curve(rule),
    }
    usual = {
        **{"corrected": [], "decisions": list(range(len(system.changes) + 1))},
        **{"on_column": True, "digits": 3, "percent": False, "curve": None},
    }
    return {name: part for name, part in known.items() if usual.get(name, part) != part} | {
        "at": known["at"]
    }


def _cut_short(cuts: tuple[float, ...]) -> list[float]:
    """Cuts to more digits than a page shows, to save room."""
    return [float(f"{cut:.13g}") for cut in cuts]


def _prices(system: System) -> list[float] | None:
    """The price of each limit; None without limits, or where the system cannot follow them."""
    prices = [check.price for check in system.limits if check.price is not None]
    return prices if prices and len(prices) == len(system.limits) else None


def _limit(report: Report, limit: Limit) -> dict[str, Any]:
    """A limit, with positions in place of labels."""
    problem = report.problem
    return {
        "decision": problem.decisions.index(limit.decision),
        "within": None if limit.given is None else problem.classes.index(limit.given),
        "bound": limit.bound,
        "sign": limit.sign,
        "text": str(limit),
    }


def _charged(system: System) -> dict[str, Any]:
    """What was decided, and what that cost."""
    return {
        "name": system.name,
        "counts": system.counts.values,
        **_known(sums=system.sums),
        "cost": triple(system.cost),
        "normalized": triple(system.normalized),
    }


def _model(report: Report, model: ModelQuality) -> dict[str, Any]:
    """A model, with its measures and score tables."""
    systems = [system for system in report.systems if system.model == model.model]
    repaired = [system for system in systems if system.rule == RECALIBRATED]
    others = [system for system in systems if system.rule in (BAYES, MOVED)]
    return {
        "name": model.model,
        "kind": model.kind,
        "auc": None if model.auc is None else triple(model.auc),
        "h": model.h,
        "log_loss": model.normalized_log_loss,
        "brier": model.normalized_brier,
        "wasted": model.calibration_cost,
        "losses": model.expected_losses,
        "table": _table(model.table, model.n_scores, report, others),
        "recalibrated": _table(model.recalibrated, model.n_recalibrated, report, repaired),
        **_known(
            by_threshold=None if model.by_threshold is None else _stakes(model.by_threshold),
            class_bins=_class_bins(report, model, model.class_bins),
            recalibrated_bins=_class_bins(report, model, model.recalibrated_bins),
        ),
    }


def _known(**parts: Any) -> dict[str, Any]:
    """The parts that are there; a page finds the others missing, and stays small."""
    return {name: part for name, part in parts.items() if part is not None}


_MOST_BINNED = 12  # models whose probabilities of many classes the page holds


def _class_bins(
    report: Report, model: ModelQuality, all_bins: FloatArray | None
) -> list[Any] | None:
    """Bins of the probability of each class, of the cheapest models where there are many.

    A row for each bin with cases: its number, the cases, those of the class, the mean probability.
    """
    if all_bins is None:
        return None
    by_cost = sorted(report.systems, key=lambda system: system.cost.value)
    cheapest = list(dict.fromkeys(system.model for system in by_cost if system.candidate))
    if model.model not in cheapest[:_MOST_BINNED] and len(report.models) > _MOST_BINNED:
        return None
    return [
        [
            [b, *_short(bins[b, :2], 7), float(f"{bins[b, 2] / bins[b, 0]:.4g}")]
            for b in np.flatnonzero(bins[:, 0] > 0).tolist()
        ]
        for bins in all_bins
    ]


def _disagreement(report: Report) -> dict[str, Any] | None:
    """What metrics pick, or None where there is one model."""
    disagreement = report.disagreement
    if disagreement is None or not disagreement.metrics:
        return None
    return {
        "metrics": disagreement.metrics,
        "models": _texts(disagreement.models),
        "values": disagreement.values,
        "picks": disagreement.picks,
        "more": [triple(pick.costs_more) for pick in report.picks],
        "clear": [pick.clear for pick in report.picks],
    }


def _slice(report: Report, part: Slice) -> dict[str, Any]:
    """The costs of all systems in a slice."""
    names = [system.name for system in report.systems]
    costs = {charge.system: _few(charge.cost) for charge in part.costs}
    return {
        "group": part.name,
        "cases": part.n_cases,
        "cheapest": None if part.cheapest is None else names.index(part.cheapest),
        "clear": part.clear,
        "costs": [costs[name] for name in names],
        "note": part.note,
    }


def _few(interval: Measured) -> list[float]:
    """An interval to the digits that a table of many slices can show."""
    return [float(f"{number:.9g}") for number in triple(interval)]


def _texts(labels: tuple[Any, ...]) -> list[str]:
    return [str(label) for label in labels]


# Scores ------------------------------------------------------------------------------------------


def _table(
    table: ScoreTable | None, n_scores: int | None, report: Report, systems: list[System]
) -> dict[str, Any] | None:
    """The scores that the page holds; a report pools them where there are too many."""
    if table is None or n_scores is None:
        return None
    pooled = n_scores > table.scores.size
    digits = 4 if pooled else 17  # of weights that are no whole numbers
    scores, scale = _rounded(table, report, systems, 6 if pooled else 8)
    return {
        "scores": scores,
        "scale": scale,
        "negatives": _packed(_short(table.weights[:, 0], digits)),
        "positives": _packed(_short(table.weights[:, 1], digits)),
        "binned": pooled,
    }


def _packed(cases: list[Any]) -> list[Any] | str:
    """Numbers of cases as one text of digits, where each number has a single digit."""
    few = all(isinstance(number, int) and number < 10 for number in cases)
    return "".join(map(str, cases)) if few else cases


def _rounded(
    table: ScoreTable, report: Report, systems: list[System], least: int
) -> tuple[list[Any], float | None]:
    """Scores as steps from one to the next, if these lead to the decisions of the report.

    A page decides again at other stakes: a score must not fall on the other side of a threshold
    than in Python. The steps between `least` digits of scores have fewer digits. Probabilities are
    multiplied by a power of ten, the scale, to be without leading zeros. Scores that need more than
    12 digits are written as they are, without a scale.
    """
    probabilities = bool(((table.scores >= 0) & (table.scores <= 1)).all())
    scale, most = (10.0**least, 1.0) if probabilities else (1.0, np.inf)
    for digits in (least, 12) if np.isfinite(table.scores).all() else ():
        steps = _steps(table.scores * scale, digits)
        scores = np.minimum(np.cumsum(steps) / scale, most)
        alike = all(_decides_alike(scores, table, report, system) for system in systems)
        if alike and np.unique(scores).size == scores.size:
            return steps, scale
    return list(table.scores.tolist()), None


def _steps(values: FloatArray, digits: int) -> list[Any]:
    """Steps between values, so that their sums have so many digits: errors do not add up."""
    steps, reached = [], 0.0
    for value in values.tolist():
        places = digits - 1 - floor(log10(abs(value))) if value else digits
        step = round(value - reached, places)
        steps.append(int(step) if step.is_integer() else step)
        reached += step
    return steps


def _decides_alike(scores: FloatArray, table: ScoreTable, report: Report, system: System) -> bool:
    """Whether rounded scores lead to the same counts of decisions."""
    problem, assumptions = report.problem, report.assumptions
    if problem.columns or problem.limits:
        return True  # decisions depend on more than the score
    if system.rule == MOVED:
        scores = shift_prior(scores, assumptions.posterior_prior, assumptions.prior)
    decided = cheapest_decisions(posterior_pairs(scores), problem.costs)
    chosen = np.eye(problem.n_decisions)[decided]
    return bool(np.allclose(table.weights.T @ chosen, system.counts.values, rtol=1e-12))


def _stakes(by_threshold: ByThreshold) -> dict[str, Any]:
    """Sums of the terms by score, to the digits that a page can show."""
    sums = np.reshape(_short(by_threshold.sums.ravel(), 13), by_threshold.sums.shape)
    return {"thresholds": by_threshold.thresholds, "sums": sums.tolist()}


def _short(values: FloatArray, digits: int) -> list[Any]:
    """Whole numbers as such, fractions to this many digits, to save room."""
    if (values == np.floor(values)).all() and np.isfinite(values).all():
        return [int(value) for value in values.tolist()]
    written = [float(f"{value:.{digits}g}") for value in values.tolist()]
    return [int(value) if value.is_integer() else value for value in written]
