"""The conditions on a report that ``--fail-if`` and ``--gate`` can state."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from math import isnan
from typing import Any

from stakes._expression import NUMBERS, Expression, Name, parse
from stakes.errors import InputError
from stakes.evaluation import may_name
from stakes.report import ModelQuality, Report, System


def _ends(name: str, path: str) -> dict[str, str]:
    ends = {"": "value", "_low": "low", "_high": "high"}
    return {f"{name}{end}": f"{path}.{part}" for end, part in ends.items()}


# Names of a gate, and where a system, a model or a report holds their values.
_SYSTEM = {
    **_ends("cost", "cost"),
    **_ends("normalized", "normalized"),
    "probability_cheapest": "probability_cheapest",
    **_ends("difference", "difference"),
}
_QUALITIES = ("h", "normalized_log_loss", "normalized_brier", "calibration_cost")
_MODEL = {"auc": "auc.value", **{name: name for name in _QUALITIES}}
_REPORT = {
    **_ends("saving", "verdict.saving_over_naive"),
    "saving_over_runner_up": "verdict.saving_over_runner_up.value",
    "unaided_cost": "verdict.unaided_cost",
    "naive_cost": "naive.cost",
    "perfect_cost": "perfect_cost",
    "cases": "assumptions.n_cases",
    "caveats": "caveats",
}
_FACTS = {"deployable": "verdict.deploy", "told_apart": "verdict.told_apart"}
_QUANTITIES = {**dict.fromkeys((*_SYSTEM, *_MODEL), True), **dict.fromkeys(_REPORT, False)}

EXPLAINED = f"""\
The condition of --fail-if compares names and numbers (< <= > >= == !=), or what + - * / min max abs
and where(condition, then, otherwise) make of them, and joins comparisons with and, or, not and
parentheses; the exit code is 1 when it holds:
--fail-if 'not deployable or cost > 0.9 * unaided_cost'.

\b
Of the cheapest system, or of another as in cost["forest"]:
  {", ".join(list(_SYSTEM)[:3])}, {", ".join(list(_SYSTEM)[3:6])},
  {", ".join(list(_SYSTEM)[6:7])}; and less that of --baseline:
  {", ".join(list(_SYSTEM)[7:])}
Of its model, or of another as in auc["forest"]:
  {", ".join(_MODEL)}
Of the report:
  {", ".join(list(_REPORT)[:4])},
  {", ".join(list(_REPORT)[4:])}
  (saving is that against unaided_cost, the least that deciding without a model costs; where costs
  differ from case to case, that may be less than naive_cost, of the best constant decision)
True or false:
  deployable (the verdict is to deploy a system: its saving is shown)
  told_apart (all systems that may be the cheapest are of one model)

A model's name in brackets means its cheapest system. What is undefined is bad input (exit code 2),
so that no gate opens by accident, unless what comes before it settles the answer.

--gate no-worse and --gate better judge the system of the verdict against --baseline; the exit code
is 1, and --rule-out writes nothing, unless they pass. Better: it is to be deployed, and the upper
bound of its cost less that of the baseline is below 0, which allows for its choice on these cases.
No worse: it is to be deployed, which needs that it is better, or that the upper bound beyond
--margin is at most 0. --gate 'better=forest (recalibrated)' names a system that was fixed before
the cases were seen, or a model for its system with the rule of the baseline; it is judged by the
interval of its own pair, and --rule-out then writes its rule. A system that clearly breaks a limit
never passes.
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


Gates = tuple[Expression | None, Sequence[tuple[str, str | None]]]  # --fail-if, and each --gate


def refuse_strangers(gates: Gates, models: Collection[str]) -> None:
    """Refuse names of gates that no system of these models can have, before anything is computed.

    >>> refuse_strangers((None, [("better", "forest (as is)")]), ["forest", "old"])
    """
    for asked, name in _named(gates):
        if not may_name(name, models):
            raise InputError(
                f"{asked}, but no model or system has that name. The models are "
                f"{', '.join(models)}; a system is a model with its rule, as in "
                f"{next(iter(models))} (as is)."
            )


def refuse_missing(gates: Gates, report: Report) -> None:
    """Refuse names of systems that this report lacks, before it is printed."""
    known = [system.name for system in report.systems] + [each.model for each in report.models]
    for asked, name in _named(gates):
        if name not in known:
            raise _unknown(asked, report)


def _named(gates: Gates) -> Iterator[tuple[str, str]]:
    """Who asks, and for which model or system."""
    gate, named = gates
    for name in () if gate is None else gate.names:
        if name.of is not None:
            yield f"the gate asks for {name}", name.of
    for kind, system in named:
        if system is not None:
            yield f"--gate {kind} asks for {system}", system


def _unknown(asked: str, report: Report) -> InputError:
    known = ", ".join(system.name for system in report.systems)
    return InputError(f"{asked}, but no model or system has that name. The systems are {known}.")


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


def _lookup(name: Name, report: Report) -> Any:
    if name.name in _SYSTEM:
        return _part(_system(name, report), _SYSTEM[name.name])
    if name.name in _MODEL:
        return _part(_model(name, report), _MODEL[name.name])
    value = _part(report, {**_REPORT, **_FACTS}[name.name])
    if name.name == "deployable":
        return value is not None
    return len(value) if name.name == "caveats" else value


def _part(value: Any, path: str) -> Any:
    """A part of a value, as in ``cost.low``; None where a part is missing."""
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return value


def _model(name: Name, report: Report) -> ModelQuality:
    """The model of that name, or else the model of the system of that name."""
    models = {model.model: model for model in report.models}
    return models[name.of if name.of in models else _system(name, report).model]


def _system(name: Name, report: Report) -> System:
    """The system that is named, or the cheapest one, even if it is not worth deploying."""
    try:
        return report.best if name.of is None else report.system(name.of)
    except InputError:
        raise _unknown(f"the gate asks for {name}", report) from None
