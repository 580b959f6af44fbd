"""What changed from one report to another."""

from __future__ import annotations

from collections.abc import Iterator

from stakes import _text
from stakes._value import Value, record
from stakes.evaluation.verdict import problem_differences, unpaired
from stakes.inference import Measured
from stakes.report import Assumptions, Report


@record
class CostChange(Value):
    """The cost of a system in two reports; `difference` is unpaired, new less old.

    It is None where the intervals of the two reports have different levels.
    """

    system: str
    old: Measured
    new: Measured
    difference: Measured | None


@record
class Changes(Value):
    """What changed: `problem` lists how the problems differ, and is empty where they do not.

    `verdicts` are the systems that the two reports deploy or try, None for none, and `headings`
    are the first words of the two verdicts. `costs` are those of the
    systems that both reports have, `gone` and `added` the systems that only the old or only the new
    one has. `caveats_gone` and `caveats_added` are kinds of caveats. `assumptions` lists in words
    how the assumptions of the reports differ, such as running costs, clusters and weights.
    `contenders` are the systems that may be the cheapest by the new report.

    Examples
    --------
    The old model raised a false alarm in one case of four, the new one raises none:

    >>> from stakes import Problem, evaluate
    >>> problem, y = Problem.zero_one(2), [0, 0, 0, 1] * 25
    >>> old = evaluate(y, {"net": [0, 0, 1, 1] * 25}, problem)
    >>> new = evaluate(y, {"net": [0, 0, 0, 1] * 25}, problem)
    >>> changes = changes_between(old, new)
    >>> changes.verdicts, changes.costs[0].difference.value
    ((None, 'net (as decided)'), -0.25)
    """

    problem: tuple[str, ...]
    verdicts: tuple[str | None, str | None]
    costs: tuple[CostChange, ...]
    gone: tuple[str, ...]
    added: tuple[str, ...]
    caveats_gone: tuple[str, ...]
    caveats_added: tuple[str, ...]
    assumptions: tuple[str, ...] = ()
    contenders: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()


def changes_between(old: Report, new: Report) -> Changes:
    """What changed from an old report to a new one, on other cases or on the same.

    Differences of costs are unpaired, because a report does not say which case got which decision.
    For reports on the same cases their intervals are therefore wider than those of `evaluate` with
    a baseline.

    Parameters
    ----------
    old, new : the two reports

    Returns
    -------
    the differences between problems, assumptions, verdicts, costs, systems and caveats

    Examples
    --------
    >>> from stakes import Problem, evaluate
    >>> problem, y = Problem.binary(false_alarm=1, miss=9), [0, 0, 0, 1] * 25
    >>> old, new = (
    ...     evaluate(y, [0.02, 0.05, p, 0.6] * 25, problem, calibrator=None, replicates=20)
    ...     for p in (0.3, 0.05))
    >>> changes = changes_between(old, new)
    >>> changes.problem, changes.costs[0].system, changes.costs[0].difference.value
    ((), 'model (as is)', -0.25)

    The new model would be cheaper still if it cost nothing to run:

    >>> running = evaluate(y, [0.02, 0.05, 0.05, 0.6] * 25, problem, calibrator=None,
    ...                    replicates=20, running_costs={"model": 0.1})
    >>> changes_between(new, running).assumptions
    ('running cost of model per case scored: 0 before, 0.1 now',)
    """
    before, after = ({entry.name: entry for entry in report.systems} for report in (old, new))
    # Bounds of different levels cannot be combined into an interval of either level.
    same = old.assumptions.level == new.assumptions.level
    costs = tuple(
        CostChange(
            name,
            entry.cost,
            after[name].cost,
            unpaired(after[name].cost, entry.cost) if same else None,
        )
        for name, entry in before.items()
        if name in after
    )
    kinds = [dict.fromkeys(entry.kind for entry in report.caveats) for report in (old, new)]
    return Changes(
        problem=problem_differences(old.problem, new.problem),
        verdicts=(old.verdict.cheapest, new.verdict.cheapest),
        costs=costs,
        gone=tuple(name for name in before if name not in after),
        added=tuple(name for name in after if name not in before),
        caveats_gone=tuple(kind for kind in kinds[0] if kind not in kinds[1]),
        caveats_added=tuple(kind for kind in kinds[1] if kind not in kinds[0]),
        assumptions=_assumption_differences(old, new),
        contenders=new.verdict.contenders,
        headings=(old.verdict.heading, new.verdict.heading),
    )


def _assumption_differences(old: Report, new: Report) -> tuple[str, ...]:
    """How the assumptions of two reports differ, in words; empty where they do not."""
    stated = [
        dict((*_of_cases(report), *_of_operation(report), *_of_making(report.assumptions)))
        for report in (old, new)
    ]
    unused = _without_meaning(old.assumptions, new.assumptions)
    differences = []
    for name in dict.fromkeys((*stated[0], *stated[1])):
        # Only running costs are not in both: nothing was said of those that are zero.
        before, now = (texts.get(name, "0") for texts in stated)
        if before != now and name not in unused:
            end = ";" if ", " in before else ","
            differences.append(_text.one_line(f"{name}: {before} before{end} {now} now"))
    return tuple(differences)


def _without_meaning(*both: Assumptions) -> set[str]:
    """Names of what no number of two reports depends on, and of what another line says as well."""
    meant = {
        "rows": any(assumed.weighted for assumed in both),
        "replicates": any(assumed.calibrator is None for assumed in both),
    }
    return {name for name, is_meant in meant.items() if not is_meant}


def _of_cases(report: Report) -> Iterator[tuple[str, str]]:
    """Names and texts of what a report assumes about its cases."""
    assumed = report.assumptions
    yield "cases", _text.number(assumed.n_cases, 7)
    yield "rows", _text.number(assumed.n_rows, 15)
    counted = "copies" if assumed.copied else "one for each case"
    yield "weights", counted if assumed.weighted else "none"
    yield "clusters", "none" if assumed.clusters is None else _text.number(assumed.clusters, 15)
    prior, posterior_prior = (
        _shares(report, part) for part in (assumed.prior, assumed.posterior_prior)
    )
    yield "prior in use", prior
    yield (
        "prior of the posteriors",
        "the prior in use" if posterior_prior == prior else posterior_prior,
    )


def _of_operation(report: Report) -> Iterator[tuple[str, str]]:
    """Names and texts of what a report assumes about deployment."""
    assumed, unit = report.assumptions, report.problem.unit
    for model, cost in assumed.running_costs:
        text = _text.in_unit(_text.number(cost, 15), unit if cost else None)
        yield f"running cost of {model} per case scored", text
    period = f" per {assumed.period}" if assumed.period else ""
    volume = "not stated" if assumed.volume is None else f"{_text.cases(assumed.volume)}{period}"
    yield "volume", volume


def _of_making(assumed: Assumptions) -> Iterator[tuple[str, str]]:
    """Names and texts of how the numbers of a report were made."""
    yield "calibrator", (assumed.calibrator or "none").replace("()", "")
    yield "level of the intervals", _text.probability(assumed.level)
    yield "replicates", _text.number(assumed.replicates, 15)
    yield "seed", str(assumed.seed)
    yield "rows tallied by", assumed.engine or "not known"
    yield "frames of", assumed.frame_library or "none"
    yield "version of stakes", assumed.version


def _shares(report: Report, prior: tuple[float, ...]) -> str:
    shares = zip(report.problem.classes, map(_text.probability, prior), strict=True)
    return ", ".join(f"{label} {share}" for label, share in shares)
