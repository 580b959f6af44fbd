"""The verdict: whether to deploy a system, to try it, or none of them."""

from __future__ import annotations

from dataclasses import replace
from math import isnan

import numpy as np

from stakes._text import always
from stakes.evaluation.baseline import chosen_differences, unpaired
from stakes.evaluation.case_charges import NO_MODEL
from stakes.evaluation.evidence import Evidence
from stakes.evaluation.limit_checks import limit_sentences, unkept_rate
from stakes.evaluation.verdict_words import Findings, VerdictWords, as_saving, is_corrected
from stakes.inference import Estimate, Measured, Normal, SampledCosts, cases_to_detect
from stakes.report import Baseline, NaiveDecision, System, Verdict, cheapest_of

# Rules of one model whose costs differ by less than this share of the saving are equally good.
_ALIKE = 0.01
_POWER = 0.8  # chance with which a difference is to be shown by more cases


def verdict_of(
    systems: tuple[System, ...],
    costs: SampledCosts,
    naive: NaiveDecision,
    evidence: Evidence,
    baseline: Baseline | None = None,
) -> Verdict:
    """Which system to deploy or to try, if any, and how surely it pays.

    A system is deployed where the data show what it saves: against the incumbent, if there is one,
    and else against the best decision without a model. Cost and saving are those to expect in
    deployment: corrected for the choice of the system on the cases that measure them, and of taking
    one at all. That choice goes by the costs on these cases, and is not made again.
    """
    named = {system.name: system for system in systems}
    best = named[_simplest(costs, evidence)] if costs.cheapest else cheapest_of(systems)
    unaided = _unaided(naive, costs)
    rivals = [named[str(name)] for name in costs.choice.names]
    contenders = [named[str(name)] for name in costs.choice.contenders]
    first_of_all = sorted(contenders, key=lambda system: system is not best)
    blind_breaks = evidence.unaided == frozenset()
    words = VerdictWords(
        evidence.problem,
        costs.level,
        unaided,
        rivals,
        tuple(first_of_all),
        blind_breaks,
        "cases" if evidence.sample.clusters is None else "clusters",
    )
    findings = _findings(best, costs, evidence, baseline)
    if evidence.all_break or evidence.all_misordered:
        verdict = _none(best, findings, costs, words, evidence)
    elif _stays(findings, baseline, costs, words, evidence):
        verdict = _kept(best, findings, baseline, costs, words, evidence)
    elif costs.saves or blind_breaks:
        verdict = _recommended(best, findings, baseline, costs, words, evidence)
    else:
        verdict = _none(best, findings, costs, words, evidence, baseline)
    return _completed(verdict, evidence, words)


def _simplest(costs: SampledCosts, evidence: Evidence) -> str:
    """The cheapest system, or a simpler rule of its model that is as good.

    A rule is as good where the data cannot tell the two apart and their costs differ by less than
    1 % of the saving: a map or a move of the prior then is one more thing that can go wrong.
    """
    cheapest = str(costs.cheapest)
    model, most = evidence.rules[cheapest].model, _ALIKE * costs.expected_saving(cheapest).value
    alike = (
        name
        for name, rule in evidence.rules.items()
        if rule.model == model and name in costs.contenders and costs.more(name).value < most
    )
    return next(alike, cheapest)


def _findings(
    best: System, costs: SampledCosts, evidence: Evidence, baseline: Baseline | None
) -> Findings:
    name = best.name
    expected, normalized = costs.expected(name), costs.expected_normalized(name)
    if costs.is_unaided(name):  # it makes the blind decision: the choice adds no bias
        expected, normalized = costs.cost(name), costs.normalized(name)
    saving = costs.expected_saving(name)
    # A share makes sense of a positive cost only.
    share = costs.expected_share(name) if 0 < saving.value <= costs.unaided_cost else None
    findings = Findings(expected, normalized, saving, share)
    if baseline is None:
        return findings
    difference, beyond = chosen_differences(name, expected, baseline, costs)
    better = difference.high < 0 or (baseline.margin > 0 and beyond.high <= 0)
    is_other = not (baseline.paired and name == baseline.system)
    return replace(findings, difference=difference, beyond=beyond, better=bool(better and is_other))


def _stays(
    findings: Findings,
    baseline: Baseline | None,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
) -> bool:
    """Whether the incumbent stays: unless another system is shown to be better, or no worse.

    What needs no model replaces it only where it is clearly cheaper, or cheaper than a system that
    is shown to be better. An incumbent that clearly breaks a limit does not stay.
    """
    if baseline is None or isnan(findings.expected.value) or findings.better:
        return False
    if baseline.paired and _breaks(baseline.system, evidence):
        return False
    if words.blind_breaks:
        return True
    blind = costs.unaided
    if baseline.paired:
        return not costs.difference(blind, baseline.system).high < 0
    return not unpaired(_cost_of_unaided(costs), baseline.cost).high < 0


def _breaks(name: str, evidence: Evidence) -> bool:
    return any(check.breaks for check in evidence.checks.get(name, ()))


def _cost_of_unaided(costs: SampledCosts) -> Measured:
    """What needs no model, with an interval: without a stated prior, class shares are estimates."""
    from scipy.special import ndtri

    errors, value = costs.choice.errors, costs.unaided_cost
    place = errors.names.index(costs.unaided)
    reach = float(ndtri((1 + costs.level) / 2) * np.sqrt(errors.covariance[place, place]))
    return Measured(value, value - reach, value + reach)


def _none(
    best: System,
    findings: Findings,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
    baseline: Baseline | None = None,
) -> Verdict:
    """A verdict that recommends no system."""
    if evidence.all_misordered:
        sentences: tuple[str, ...] = (words.all_misordered(),)
    elif evidence.all_break:
        limits = limit_sentences(best, evidence, costs.level, named=len(words.rivals) > 1)
        sentences = (words.all_break(), *limits)
    else:
        at_best = words.at_best(best, findings.expected, findings.saving)
        reason = words.none(best, findings.saving)
        compared = words.against_incumbent(best, findings, baseline) if findings.better else ""
        sentences = (reason, *filter(None, (at_best, compared)))
    verdict = _without_system(findings, sentences, costs, words)
    return replace(verdict, doubted=evidence.all_misordered)


def _kept(
    best: System,
    findings: Findings,
    baseline: Baseline | None,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
) -> Verdict:
    """A verdict that keeps the incumbent."""
    assert baseline is not None
    assert findings.difference is not None
    needed = None
    is_other = not (baseline.paired and best.name == baseline.system)
    if is_other:
        needed = _cases_to_settle(as_saving(findings.difference), costs.level, evidence)
    sentences = words.kept(
        best, findings, baseline, needed, is_cheapest=best.name == costs.cheapest
    )
    verdict = _without_system(findings, sentences, costs, words)
    return replace(verdict, keep=baseline.system, cases_to_settle=needed)


def _without_system(
    findings: Findings, sentences: tuple[str, ...], costs: SampledCosts, words: VerdictWords
) -> Verdict:
    return Verdict(
        deploy=None,
        model=None,
        reason=sentences[0],
        cheapest=None,
        contenders=(),
        runner_up=None,
        saving_over_runner_up=None,
        told_apart=None,
        sentences=sentences,
        unaided=None if words.blind_breaks else costs.unaided,
        **findings.compared(),
    )


def _completed(verdict: Verdict, evidence: Evidence, words: VerdictWords) -> Verdict:
    """The verdict with classes that have no cases, and cost and saving for the stated volume."""
    if unseen := words.unseen(evidence):
        first, *rest = verdict.sentences
        verdict = replace(verdict, sentences=(first, unseen, *rest))
    operation = evidence.operation
    cost, saving = map(operation.total, (verdict.cost, verdict.saving_over_naive))
    if cost is None or saving is None or isnan(cost.value):
        return verdict
    verdict = replace(verdict, total_cost=cost, total_saving=saving)
    if verdict.keep is not None:  # these are totals of another system than the incumbent
        return verdict
    totals = words.totals(operation, cost, saving, named=verdict.cheapest is not None)
    return replace(verdict, sentences=(*verdict.sentences, totals))


def _recommended(
    best: System,
    findings: Findings,
    baseline: Baseline | None,
    costs: SampledCosts,
    words: VerdictWords,
    evidence: Evidence,
) -> Verdict:
    """A verdict that deploys the best system, or tries it where something is not shown.

    Where there are several models, the runner-up is a system of another model.
    """
    others = [system for system in words.rivals if system.model != best.model or not words.several]
    others = [system for system in others if system is not best and not isnan(system.cost.value)]
    rival = cheapest_of(others) if others else None
    over_rival = None if rival is None else _more(rival.name, best.name, costs)
    # A bad incumbent does not make a system worth running that saves nothing against no model.
    better = findings.better and findings.saving.value > 0
    pays = findings.saving.low > 0 or words.blind_breaks or better
    unkept, needed = unkept_rate(best), None
    if not pays:
        needed = _cases_to_settle(findings.saving, costs.level, evidence)
    doubt = words.doubt(unkept, pays=pays)
    saves = words.saves(best, findings, needed)
    sentences = [
        words.recommend(best, findings.expected, doubt),
        saves,
        words.against_incumbent(best, findings, baseline),
        words.close_call(),
    ]
    if rival is not None and over_rival is not None:
        here = is_corrected(best, findings.expected)
        sentences.append(words.against_rival(best, rival, over_rival, here=here))
    sentences += limit_sentences(best, evidence, costs.level, named=rival is not None)
    apart = None if rival is None else not words.other_contenders(best)
    return Verdict(
        deploy=best if doubt is None else None,
        model=best.model,
        reason=saves if doubt is None else sentences[0],
        cheapest=best.name,
        contenders=tuple(system.name for system in words.contenders),
        runner_up=None if rival is None else rival.name,
        saving_over_runner_up=over_rival,
        told_apart=apart,
        sentences=tuple(sentence for sentence in sentences if sentence),
        unaided=None if words.blind_breaks else costs.unaided,
        doubt=doubt,
        cases_to_settle=needed,
        **findings.compared(),
    )


def _more(rival: str, best: str, costs: SampledCosts) -> Measured:
    """Cost of a rival above the system that the verdict names, which may be a simpler rule."""
    return costs.more(rival) if best == costs.cheapest else costs.difference(rival, best)


def _cases_to_settle(gap: Measured, level: float, evidence: Evidence) -> float | None:
    """About how many cases, or clusters, would show a saving of the expected size.

    None where nothing is expected to be saved, or the saving has no interval.
    """
    from scipy.special import ndtri

    if not (gap.value > 0 and np.isfinite(gap.low)):
        return None
    # The half of the interval on the side of zero, which more cases have to shorten.
    error = (gap.value - gap.low) / float(ndtri((1 + level) / 2))
    size = evidence.sample.clusters or float(evidence.sample.sizes.sum())
    seen = Estimate(gap.value, error, np.empty(0), Normal(), "half of the interval")
    wanted = cases_to_detect(seen, size, difference=gap.value, level=level, power=_POWER)
    return float(wanted)


def _unaided(naive: NaiveDecision, costs: SampledCosts) -> NaiveDecision:
    """The decision without a model: a constant one, or by each case's costs if that is cheaper."""
    constant = {always(decision): decision for decision in costs.problem.decisions}
    decision = constant.get(costs.unaided, NO_MODEL)
    if decision in naive.tied:
        return naive
    return NaiveDecision(decision, costs.unaided_cost, (decision,))
