"""What changed from one report to another."""

from __future__ import annotations

from stakes._value import Value, record
from stakes.evaluation.baseline import problem_differences, unpaired
from stakes.inference import Measured
from stakes.report import Report


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

    `verdicts` are the systems that the two reports deploy, None for none. `costs` are those of the
    systems that both reports have, `gone` and `added` the systems that only the old or only the new
    one has. `caveats_gone` and `caveats_added` are kinds of caveats.

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
    the differences between problems, verdicts, costs, systems and caveats

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
    )
