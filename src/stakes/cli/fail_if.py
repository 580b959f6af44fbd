"""The conditions on a report that ``--fail-if`` and ``--gate`` can state."""

from __future__ import annotations

from collections.abc import Callable
from math import isnan

from stakes._expression import NUMBERS, Expression, Name, parse
from stakes.errors import InputError
from stakes.inference import Measured
from stakes.report import ModelQuality, Report, System

_SYSTEM: dict[str, Callable[[System], float | None]] = {
    "cost": lambda system: system.cost.value,
    "cost_low": lambda system: system.cost.low,
    "cost_high": lambda system: system.cost.high,
    "normalized": lambda system: system.normalized.value,
    "normalized_low": lambda system: system.normalized.low,
    "normalized_high": lambda system: system.normalized.high,
    "probability_cheapest": lambda system: system.probability_cheapest,
    "difference": lambda system: None if system.difference is None else system.difference.value,
    "difference_low": lambda system: None if system.difference is None else system.difference.low,
    "difference_high": lambda system: None if system.difference is None else system.difference.high,
}
_MODEL: dict[str, Callable[[ModelQuality], float | None]] = {
    "auc": lambda model: None if model.auc is None else model.auc.value,
    "h": lambda model: model.h,
    "normalized_log_loss": lambda model: model.normalized_log_loss,
    "normalized_brier": lambda model: model.normalized_brier,
    "calibration_cost": lambda model: model.calibration_cost,
}
_REPORT: dict[str, Callable[[Report], float | None]] = {
    "saving": lambda report: report.verdict.saving_over_naive.value,
    "saving_low": lambda report: report.verdict.saving_over_naive.low,
    "saving_high": lambda report: report.verdict.saving_over_naive.high,
    "saving_over_runner_up": lambda report: _value(report.verdict.saving_over_runner_up),
    "naive_cost": lambda report: report.naive.cost,
    "perfect_cost": lambda report: report.perfect_cost,
    "cases": lambda report: report.assumptions.n_cases,
    "caveats": lambda report: len(report.caveats),
}
_FACTS: dict[str, Callable[[Report], bool | None]] = {
    "deployable": lambda report: report.verdict.deploy is not None,
    "told_apart": lambda report: report.verdict.told_apart,
}
_QUANTITIES = {
    **dict.fromkeys(_SYSTEM, True),
    **dict.fromkeys(_MODEL, True),
    **dict.fromkeys(_REPORT, False),
}

EXPLAINED = f"""\
The condition of --fail-if compares names and numbers (< <= > >= == !=), or what + - * / min max abs
make of them, and joins comparisons with and, or, not and parentheses; the exit code is 1 when it
holds: --fail-if 'not deployable or cost > 0.9 * naive_cost'.

\b
Of the cheapest system, or of another as in cost["forest"]:
  {", ".join(list(_SYSTEM)[:3])}, {", ".join(list(_SYSTEM)[3:6])},
  {", ".join(list(_SYSTEM)[6:7])}; and less that of --baseline:
  {", ".join(list(_SYSTEM)[7:])}
Of its model, or of another as in auc["forest"]:
  {", ".join(_MODEL)}
Of the report:
  {", ".join(list(_REPORT)[:4])},
  {", ".join(list(_REPORT)[4:])},
True or false:
  deployable (some system costs less than the best decision made without looking)
  told_apart (all systems that may be the cheapest are of one model)

A model's name in brackets means its cheapest system. What is undefined is bad input (exit code 2),
so that no gate opens by accident, unless what comes before it settles the answer.

--gate no-worse and --gate better compare new systems with --baseline; the exit code is 1 unless all
of them pass. No worse: the upper bound for the cost of the system, less that of the baseline and
--margin, is at most 0. Better: the upper bound of the difference is below 0. A system that clearly
breaks a limit passes neither. Which systems are judged is fixed in advance: of every model but the
baseline's, the one with the decision rule of the baseline, or else the model's decisions as they
are. --gate 'better=forest (recalibrated)' names another. Intervals are those of each pair.
"""

GATES = {"no-worse": Report.is_no_worse, "better": Report.is_better}


def read_gate(text: str, baseline: object) -> Expression:
    """Parse the condition of ``--fail-if``, so that errors show before anything is computed."""
    facts = frozenset(_FACTS)
    gate = parse(text, what="the gate", known=_QUANTITIES, facts=facts, truth=True)
    compared = [name for name in gate.names if name.name.startswith("difference")]
    if compared and baseline is None:
        raise InputError(
            f"--fail-if must come with a baseline where it asks for {compared[0]}; there is "
            f"none. Name it with --baseline.",
            argument="--fail-if",
        )
    return gate


def read_named_gate(text: str, baseline: object) -> tuple[str, str | None]:
    """The gate that ``--gate`` names and the system that it judges, or None where none is stated.

    >>> read_named_gate("better=forest (as is)", "old")
    ('better', 'forest (as is)')
    """
    name, stated, system = text.partition("=")
    if name not in GATES or (stated and not system):
        raise InputError(
            f"--gate must be one of {', '.join(GATES)}, or one of them with a system as in "
            f"no-worse=NAME; got {text}. Conditions on numbers are --fail-if.",
            argument="--gate",
        )
    if baseline is None:
        raise InputError(
            f"--gate must come with a baseline; got {text} alone. Name it with --baseline.",
            argument="--gate",
        )
    return name, system or None


def holds(gate: Expression, values: Values) -> bool:
    """Whether the condition holds; names are looked up from left to right, as far as needed."""
    return bool(gate(values, NUMBERS))


class Values(dict[Name, float | bool]):
    """The values of names in a report, looked up on first use; an undefined value is an error."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report

    def __missing__(self, name: Name) -> float | bool:
        value = _lookup(name, self._report)
        if value is None or isnan(value):
            raise InputError(
                f"the gate needs {name}, which is undefined in this report. Leave it out, or "
                f"gather the cases that it needs."
            )
        self[name] = value if isinstance(value, bool) else float(value)
        return self[name]


def _lookup(name: Name, report: Report) -> float | bool | None:
    if name.name in _SYSTEM:
        return _SYSTEM[name.name](_system(name, report))
    if name.name in _MODEL:
        return _MODEL[name.name](_model(name, report))
    return {**_REPORT, **_FACTS}[name.name](report)


def _model(name: Name, report: Report) -> ModelQuality:
    """The model of that name, or else the model of the system of that name."""
    models = {model.model: model for model in report.models}
    return models[name.of if name.of in models else _system(name, report).model]


def _system(name: Name, report: Report) -> System:
    """The system that is named, or the cheapest one, even if it is not worth deploying."""
    try:
        return report.best if name.of is None else report.system(name.of)
    except InputError:
        known = ", ".join(system.name for system in report.systems)
        raise InputError(
            f"the gate asks for {name}, but no model or system has that name. "
            f"The systems are {known}."
        ) from None


def _value(interval: Measured | None) -> float | None:
    return None if interval is None else interval.value
