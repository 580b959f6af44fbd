"""One table of values that make slices, and the slices that every representation must give."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from stakes import Counts, Decisions, InputError, Problem, evaluate_frame

PROBLEM = Problem.binary(false_alarm=1, miss=9)
N = 60
ZONE = dt.timezone(dt.timedelta(hours=1))


def moment(hour: int, minute: int, second: float = 0, zone: dt.timezone | None = None) -> Any:
    return dt.datetime(2026, 1, 5, hour, minute, tzinfo=zone) + dt.timedelta(seconds=second)


# Values in an order that is not theirs, and their labels in order.
SLICES: dict[str, tuple[list[Any], list[Any]]] = {
    "booleans": ([True, False], [False, True]),
    "booleans, one missing": ([True, None, False], [False, True, "(missing)"]),
    "whole": ([10, 9, -1], [-1, 9, 10]),
    "whole, one missing": ([10, None, 9], [9, 10, "(missing)"]),
    "beyond 63 bits": ([2**64 - 1, 1, 2**63 + 5], [1, 2**63 + 5, 2**64 - 1]),
    "whole floats": ([10.0, 9.0, -0.0], [0, 9, 10]),
    "decimals": ([Decimal("10.00"), Decimal("9.00"), Decimal("0.00")], [0, 9, 10]),
    "dates": (
        [dt.date(2026, 1, 5), dt.date(2025, 12, 31), None],
        ["2025-12-31", "2026-01-05", "(missing)"],
    ),
    "moments": (
        [moment(12, 30, 5.5), moment(0, 0), moment(12, 30), None],
        ["2026-01-05", "2026-01-05T12:30", "2026-01-05T12:30:05.500", "(missing)"],
    ),
    "moments with a zone": (
        [moment(12, 30, 5.000001, ZONE), moment(1, 0, 0, ZONE), moment(0, 0, 0, ZONE)],
        ["2026-01-04T23:00Z", "2026-01-05T00:00Z", "2026-01-05T11:30:05.000001Z"],
    ),
    "times": ([dt.time(12, 30), dt.time(9, 5, 0, 250_000)], ["09:05:00.250", "12:30:00"]),
    "text": (
        ["Ä 10", "Ä 9", "b", "(missing)", None],
        ["(missing)", "b", "Ä 9", "Ä 10", "((missing))"],
    ),
    "text with a NUL": (["a\0b", "a"], ["a", "a\0b"]),
    "postal codes": (["01234", "1234", "00999"], ["00999", "01234", "1234"]),
}
REFUSED: dict[str, list[Any]] = {
    "fractions": [0.5, 1.0],
    "decimals": [Decimal("0.50"), Decimal("1.00")],
    "bytes": [b"a", b"b"],
    "durations": [dt.timedelta(hours=1), dt.timedelta(days=1)],
    "lists": [[1, 2], [3]],
}
LEVELS = ["low", "mid", "high"]  # categories that are in another order than their texts


def spread(values: list[Any]) -> list[Any]:
    """The values over all rows, so that each has cases of both classes."""
    return [values[(k // 2) % len(values)] for k in range(N)]


ROWS: dict[str, list[Any]] = {"y": [0, 1] * (N // 2), "did": [(k // 3) % 2 for k in range(N)]}
COLUMNS = {**ROWS, **{kind: spread(values) for kind, (values, _) in SLICES.items()}}
ASKED: dict[str, Any] = {"y_true": "y", "models": {"m": Decisions("did")}}
QUICK: dict[str, Any] = {"calibrator": None, "replicates": 2}


def expected(kind: str) -> list[tuple[Any, float, Any]]:
    """The slices of a kind of values: labels, numbers of cases and costs per case, in loops."""
    values, labels = SLICES[kind]
    order = sorted(range(len(values)), key=lambda k: _rank(kind, values[k]))
    slices = []
    for k, label in zip(order, labels, strict=True):
        mine = [row for row in range(N) if (row // 2) % len(values) == k]
        pairs = [(ROWS["y"][row], ROWS["did"][row]) for row in mine]
        cost = (9 * pairs.count((1, 0)) + pairs.count((0, 1))) / len(mine)
        slices.append((label, float(len(mine)), pytest.approx(cost, rel=1e-13)))
    return slices


def _rank(kind: str, value: Any) -> Any:
    if value is None:
        return (1, 0)
    if kind == "text":
        return (0, SLICES[kind][1].index(value))
    return (0, value)


def check_slices(frame: Any, kinds: list[str], **asked: Any) -> None:
    """The report of a frame or file has the slices of every kind of values."""
    report = evaluate_frame(frame, PROBLEM, **ASKED, by=kinds, **QUICK, **asked)
    assert shown(report) == {kind: expected(kind) for kind in kinds}


def shown(report: Any) -> dict[str | None, list[tuple[Any, float, float]]]:
    """The slices of a report, as `expected` has them."""
    slices: dict[str | None, list[tuple[Any, float, float]]] = {}
    for part in report.slices:
        (cost,) = (each.cost.value for each in part.costs)
        slices.setdefault(part.by, []).append((part.group, part.n_cases, cost))
    return slices


def check_tallies(frame: Any, kinds: list[str]) -> None:
    """Tallies of an engine have the same groups."""
    for kind in kinds:
        counts = Counts.from_frame(frame, y_true="y", decisions="did", problem=PROBLEM, by=kind)
        assert list(counts.groups or ()) == SLICES[kind][1], kind


def check_order(frame: Any, column: str, order: list[str], **asked: Any) -> None:
    report = evaluate_frame(frame, PROBLEM, **ASKED, by=column, **QUICK, **asked)
    assert [part.group for part in report.slices] == order


def check_refused(frame: Any, column: str, **asked: Any) -> None:
    told = rf"column '{column}' of .*must hold labels"
    with pytest.raises(InputError, match=told):
        evaluate_frame(frame, PROBLEM, **ASKED, by=column, **QUICK, **asked)
