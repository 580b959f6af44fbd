"""The rules of a report, with which its systems decide new cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stakes._version import __version__
from stakes.evaluation.decision_rules import DecisionRule
from stakes.evaluation.evidence import Evidence
from stakes.report import MOVED, RECALIBRATED, TUNED, TUNED_APART
from stakes.rows import SCORES, Posteriors, Scores
from stakes.rule import Origin, Rule, Rules


def shipped_rules(evidence: Evidence, seed: int) -> Rules:
    """A rule for every system that can decide new cases; maps are fitted when they are needed."""
    origin = Origin(
        version=__version__,
        seed=seed,
        n_rows=evidence.n_rows,
        n_cases=float(evidence.sample.pooled.n_cases),
        prior=tuple(evidence.prior.tolist()),
    )
    return Rules(
        {name: _rule(name, rule, evidence, origin) for name, rule in evidence.rules.items()}
    )


def _rule(
    name: str, rule: DecisionRule, evidence: Evidence, origin: Origin
) -> Rule | Callable[[], Rule]:
    tallied = next(model for model in evidence.models if model.model == rule.model)
    common: dict[str, Any] = {
        "problem": evidence.problem,
        "takes": tallied.kind,
        "system": name,
        "model": rule.model,
        "origin": origin,
    }
    if rule.name == RECALIBRATED:
        # A fit to all cases takes time, and most reports are read without deciding new cases.
        fit = evidence.maps[rule.model]
        if rule.added is None:
            return lambda: Rule(map=fit(), **common)
        return lambda: _repriced(fit, evidence, common)
    if rule.name in (TUNED, TUNED_APART):
        return Rule(threshold=rule.threshold, **common)
    if rule.name == MOVED and tallied.moving is not None:
        from_prior, prior = tallied.moving
        return Rule(from_prior=from_prior, to_prior=prior, added=rule.added, **common)
    return Rule(added=rule.added, **common)


def _repriced(fit: Any, evidence: Evidence, common: dict[str, Any]) -> Rule:
    """The rule with the map fitted to all cases, and prices fitted to its posteriors."""
    assert evidence.repriced is not None
    # Prices are fitted to the posteriors of the map, which a rule without limits gives.
    free = {**common, "problem": evidence.problem.with_limits(None)}
    rule = Rule(map=fit(), **free)
    wrapper = Scores if rule.takes == SCORES else Posteriors
    added = evidence.repriced(rule.model, rule.posteriors(wrapper(fit.rows.scores)))
    return Rule(map=rule.map, added=added, **common)
