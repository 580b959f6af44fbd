"""Random valid reports of all kinds, small and fast: one for each seed.

Every part is drawn on its own: classes, decisions and their labels, costs (numbers, gains, ranges,
cancelling or tiny ones, columns, costs of every case), prior, limits, models (posteriors of double
or single precision, decisions, scores), weights, clusters, slices, volume, running costs, baseline
and margin, and sometimes a calibrator. `asked` has the arguments, `random_report` the report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stakes import (
    Between,
    Decisions,
    InputError,
    Limit,
    Posteriors,
    Problem,
    Report,
    Scores,
    evaluate,
)
from stakes.calibration import Isotonic

_LABELS: tuple[tuple[Any, ...], ...] = (
    (0, 1, 2, 3),
    ("well", "ill", "worse", "dead"),
    (7, -3, 10**12, 4),
    ("a b", "<b>", "é|ü", "0"),
)
_DECISIONS = (*_LABELS, ("wait", "treat", "operate", "send home"), (3, 2, 1, 0))


def random_report(seed: int) -> Report:
    """The report of a seed.

    Limits that no rule keeps, and a margin that is a share of a cost of zero or less, are refused;
    these are left out then.
    """
    y_true, models, problem, options = asked(seed)
    try:
        return evaluate(y_true, models, problem, **options)
    except InputError as error:
        if error.argument not in ("limits", "margin", "problem"):
            raise
    free, options = problem.with_limits(None), {**options, "margin": None}
    return evaluate(y_true, models, free, **options)


def asked(seed: int) -> tuple[Any, dict[str, Any], Problem, dict[str, Any]]:
    """The true classes, models, problem and options of a seed."""
    rng = np.random.default_rng([seed, 38])
    n = int(rng.integers(12, 80))
    size = int(rng.choice([1, 2, 2, 2, 2, 3, 4]))
    many = int(rng.choice([size, size, 1, 2, 3, 4]))
    classes, decisions = _names(rng, size, many)
    truth = np.concatenate([np.arange(size), rng.integers(0, size, n - size)])
    costs, options = _costs(rng, size, many, n)
    prior = rng.dirichlet(np.full(size, 3.0)) if rng.random() < 0.3 else None
    unit = [None, "EUR", "days"][rng.integers(3)]
    common = {"classes": classes, "decisions": decisions, "prior": prior, "unit": unit}
    problem = Problem(costs, **common)
    if size == many == 2 and not problem.columns:
        right, wrong = problem.costs.trace(), problem.costs[::-1].trace()
        if right > wrong:  # the second decision suits the first class
            problem = Problem([line[::-1] for line in costs], **common)
    if many > 1 and rng.random() < 0.15:
        problem = problem.with_limits(_limit(rng, problem))
    models = _models(rng, truth, problem)
    options |= _design(rng, n) | _running(rng, models) | _compared(rng, models)
    options |= {"replicates": 5, "seed": int(rng.integers(5))}
    options["calibrator"] = Isotonic() if size == 2 and rng.random() < 0.2 else None
    return np.array(classes, dtype=object)[truth].tolist(), models, problem, options


def _names(rng: np.random.Generator, size: int, many: int) -> tuple[Any, Any]:
    """Labels of the classes and of the decisions, which may be the same, or differ in type."""
    if size == 2 and rng.random() < 0.25:
        classes: tuple[Any, ...] = (False, True)
    else:
        classes = _LABELS[rng.integers(len(_LABELS))][:size]
    if many == size and rng.random() < 0.4:
        return classes, classes
    if many == 2 and rng.random() < 0.2:
        return classes, (False, True)
    return classes, _DECISIONS[rng.integers(len(_DECISIONS))][:many]


def _costs(rng: np.random.Generator, size: int, many: int, n: int) -> tuple[Any, dict[str, Any]]:
    """A table of costs of one of the kinds, and the data that it needs."""
    whole = rng.integers(0, 12, (size, many)).astype(float)
    kinds: tuple[Callable[[], tuple[Any, dict[str, Any]]], ...] = (
        lambda: (whole, {}),
        lambda: (rng.lognormal(2, 2, (size, many)), {}),
        lambda: (rng.normal(0, 5, (size, many)), {}),  # gains
        lambda: (whole * 10.0 ** rng.integers(-9, 9), {}),
        lambda: (1e6 + whole * 1e-3, {}),  # an amount that every decision costs
        lambda: (np.full((size, many), float(rng.integers(0, 3))), {}),  # nothing at stake
        lambda: (_with_range(rng, whole), {}),
        lambda: _charged(rng, whole, n),
        lambda: (whole, {"case_costs": _each(rng, size, many, n)}),
        lambda: (whole, {"case_costs": rng.choice([0.1, -0.1, 0.3, -0.3], (n, size, many))}),
    )
    return kinds[rng.integers(len(kinds))]()


def _with_range(rng: np.random.Generator, costs: Any) -> list[list[Any]]:
    table = costs.tolist()
    low = float(rng.integers(0, 5))
    table[rng.integers(len(table))][rng.integers(len(table[0]))] = Between(low, low + 7)
    return table


def _charged(rng: np.random.Generator, costs: Any, n: int) -> tuple[Any, dict[str, Any]]:
    """Costs that are expressions of one or two columns."""
    table = costs.tolist()
    written = ("amount", "5 + 0.02*amount", "fee - 0.1*amount", "max(fee, 2)", "-amount")
    for _ in range(2):
        table[rng.integers(len(table))][rng.integers(len(table[0]))] = str(rng.choice(written))
    used = "".join(str(cell) for line in table for cell in line)
    amounts = (rng.lognormal(3, 1, n), rng.integers(0, 3, n).astype(float), np.full(n, 0.1))
    data = {"amount": amounts[rng.integers(3)], "fee": rng.integers(0, 9, n).astype(float)}
    return table, {"data": {name: column for name, column in data.items() if name in used}}


def _each(rng: np.random.Generator, size: int, many: int, n: int) -> Any:
    """Costs of every case, which may be gains, cancel, or be far from zero."""
    costs = rng.normal(0, 1, (n, size, many)) * 10.0 ** rng.integers(-3, 7)
    kind = rng.integers(4)
    if kind == 1:
        costs = np.abs(costs)
    elif kind == 2:  # sums cancel but for rounding
        costs[n // 2 : 2 * (n // 2)] = -costs[: n // 2]
        costs[2 * (n // 2) :] = 0.0
    elif kind == 3:
        costs += 1e7
    return costs


def _limit(rng: np.random.Generator, problem: Problem) -> list[Limit]:
    decision = problem.decisions[rng.integers(problem.n_decisions)]
    share = float(rng.choice([0.1, 0.3, 0.6]))
    bound = {"at_most": share} if rng.random() < 0.7 else {"at_least": share / 3}
    if rng.random() < 0.3:
        within = problem.classes[rng.integers(problem.n_classes)]
        return [Limit.rate(decision, given=within, **bound)]
    return [Limit.share(decision, **bound)]


def _models(rng: np.random.Generator, truth: Any, problem: Problem) -> dict[str, Any]:
    """One to three models of any kind."""
    n, size = truth.size, problem.n_classes

    def posteriors() -> Any:
        logs = rng.normal(0, 1, (n, size)) + rng.uniform(0, 2) * np.eye(size)[truth]
        rows = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
        if rng.random() < 0.2:  # certain ones
            rows = np.eye(size)[rows.argmax(axis=1)]
        kind = np.float32 if rng.random() < 0.3 else np.float64
        if size == 2 and rng.random() < 0.5:
            return np.round(rows[:, 1], int(rng.integers(1, 9))).astype(kind)
        return Posteriors(rows.astype(kind), classes=list(problem.classes))

    def decisions() -> Any:
        codes = rng.integers(0, problem.n_decisions, n)
        return Decisions([problem.decisions[code] for code in codes])

    def scores() -> Any:
        return Scores((2.0 * truth + rng.normal(0, 1, n)).round(int(rng.integers(0, 5))))

    kinds = [posteriors, posteriors, decisions, *([scores] * (size == 2 == problem.n_decisions))]
    others = ("net <1>", "old | é")[: rng.integers(3)]
    first = {"forest": kinds[rng.integers(3)]()}  # raw scores alone allow no rule, at times
    return first | {name: kinds[rng.integers(len(kinds))]() for name in others}


def _design(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Weights, clusters, slices, and how many cases there will be."""
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        kinds = (rng.integers(1, 4, n), rng.uniform(0.1, 3, n), rng.integers(1, 9, n) / 8)
        options["weights"] = kinds[rng.integers(3)]
    if rng.random() < 0.2:
        options["clusters"] = rng.integers(0, max(n // 4, 2), n)
    if rng.random() < 0.25:
        options["by"] = {"region": np.array(["north", "south"])[rng.integers(0, 2, n)]}
    if rng.random() < 0.4:
        options["volume"] = float(rng.choice([1, 250, 1e6, 3e9]))
        options["period"] = [None, "year"][rng.integers(2)]
    if rng.random() < 0.2:
        options["level"] = float(rng.choice([0.5, 0.8, 0.99]))
    return options


def _running(rng: np.random.Generator, models: dict[str, Any]) -> dict[str, Any]:
    if rng.random() < 0.8:
        return {}
    return {"running_costs": {name: float(rng.choice([0, 0.01, 3])) for name in models}}


def _compared(rng: np.random.Generator, models: dict[str, Any]) -> dict[str, Any]:
    if rng.random() < 0.7:
        return {}
    margin = [None, 0.5, "2%"][rng.integers(3)]
    names = [name for name, model in models.items() if not isinstance(model, Scores)]
    return {"baseline": names[rng.integers(len(names))], "margin": margin}
