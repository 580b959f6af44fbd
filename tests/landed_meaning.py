"""What files that an earlier version wrote mean: the numbers and decisions that must stay."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from stakes import Posteriors, Problem, Report, Scores
from stakes.calibration import from_json
from stakes.rule import Rule

FOLDER = Path(__file__).parent / "data" / "landed"
_CHANCES = np.concatenate([[0.0, 1e-6, 1e-3], np.linspace(0.01, 0.99, 33), [0.999, 1.0]])
_AMOUNT = {"amount": np.geomspace(1.0, 5e3, _CHANCES.size)}


def _rows(takes: str, n_classes: int) -> Posteriors | Scores:
    """Predictions of any kind, the same each time."""
    if takes == "scores":
        return Scores(8 * _CHANCES - 4)
    rest = np.outer(1 - _CHANCES, np.arange(1, n_classes) / sum(range(1, n_classes)))
    return Posteriors(np.column_stack([rest, _CHANCES]))


def _of_rule(rule: Rule) -> dict[str, Any]:
    rows = _rows(rule.takes, rule.problem.n_classes)
    if rule.takes == "decisions":
        return {"system": rule.system, "takes": rule.takes}
    decided = rule.decide(rows, _AMOUNT if rule.problem.columns else None)
    return {"system": rule.system, "decided": [str(label) for label in decided.tolist()]}


def _of_problem(problem: Problem) -> dict[str, Any]:
    return {
        "classes": [str(label) for label in problem.classes],
        "decisions": [str(label) for label in problem.decisions],
        "costs": [list(map(str, row)) for row in problem.written],
        "prior": None if problem.prior is None else problem.prior.tolist(),
        "unit": problem.unit,
        "limits": [str(limit) for limit in problem.limits],
    }


def _of_report(report: Report) -> dict[str, Any]:
    verdict, saving = report.verdict, report.verdict.saving_over_naive
    return {
        "problem": _of_problem(report.problem),
        "deploy": verdict.cheapest,
        "sentences": list(verdict.sentences),
        "cost": [verdict.cost.value, verdict.cost.low, verdict.cost.high],
        "saving": [saving.value, saving.low, saving.high],
        "contenders": list(verdict.contenders),
        "systems": {
            system.name: [system.cost.value, system.cost.low, system.cost.high]
            for system in report.systems
        },
        "counts": {system.name: system.counts.values.tolist() for system in report.systems},
        "naive": [str(report.naive.decision), report.naive.cost],
        "caveats": [caveat.kind for caveat in report.caveats],
        "slices": [[part.name, part.costs[0].cost.value] for part in report.slices],
        "rules": {name: _of_rule(rule) for name, rule in report.rules.items()},
    }


def _of_map(path: Path) -> dict[str, Any]:
    fitted = from_json(path)
    kinds = {"logistic": 8 * _CHANCES - 4}  # of raw scores; all others take posteriors
    rows = _rows("posteriors", len(fitted.classes)).values
    scores = kinds.get(path.stem.split("_")[1], rows[:, 1] if rows.shape[1] == 2 else rows)
    return {"posteriors": fitted(scores).tolist()}


def meaning_of(path: Path) -> Any:
    """What a file means, as plain values; its kind is the first word of its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        match path.name.split("_")[0]:
            case "report":
                return _of_report(Report.from_json(path))
            case "rule":
                return _of_rule(Rule.from_json(path))
            case "map":
                return _of_map(path)
            case "problem":
                return _of_problem(Problem.from_toml(path))
    raise ValueError(path.name)


def stated() -> dict[str, Any]:
    """What every file meant when it was written, by its name."""
    text = (FOLDER / "meaning.json").read_text(encoding="utf-8")
    return dict(json.loads(text))
