"""Reports, rules and maps that somebody changed: refused with `InputError`, or harmless.

``python tests/tamper.py [MUTANTS] [SEED]`` changes the JSON of real reports, rules and maps, one
place after another: another value, another type, a part that is missing, that is there twice, that
stands in another place. The checksum refuses all of them; written anew, as somebody who knows about
it would, what is read all the same must be usable to the end: every rendering, every table, every
question that can be asked of it.
"""

from __future__ import annotations

import copy
import json
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from report_kinds import KINDS, P, report_of
from stakes import InputError, Report, calibration
from stakes._files import checksum
from stakes.evaluation import changes_between
from stakes.rule import Rule

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 10**20, 10**400),
    *("", "x", "nan", "inf", "-inf", "1", "\x00", "\ud800", "</script>", "a" * 5000),
    *([], [[]], {}, [None], ["x"], [0.5], [1, [2, 3]], {"x": 1}, [["nan"]]),
)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a document of JSON."""
    items = data.items() if isinstance(data, dict) else enumerate(data)
    for key, part in items:
        yield (*path, key)
        if isinstance(part, dict | list):
            yield from places(part, (*path, key))


def at(data: Any, path: tuple[Any, ...]) -> Any:
    """What stands in a place."""
    for key in path:
        data = data[key]
    return data


_HOW = ("odd", "odd", "drop", "twice", "from elsewhere", "scaled", "near", "near")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


class Tampering:
    """Documents that differ from a given one in one place, drawn by a seed."""

    def __init__(self, data: dict[str, Any], rng: np.random.Generator) -> None:
        self.data, self.rng = data, rng
        by_shape: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
        for path in places(data):
            by_shape.setdefault(tuple(k for k in path if isinstance(k, str)), []).append(path)
        self.kinds = list(by_shape.values())  # each field is as likely, however often it occurs

    def place(self) -> tuple[Any, ...]:
        """A random place."""
        kind = self.kinds[self.rng.integers(len(self.kinds))]
        return kind[self.rng.integers(len(kind))]

    def mutant(self) -> tuple[str, str, Any]:
        """The field, what was done, and the document."""
        data, path = copy.deepcopy(self.data), self.place()
        parent, key = at(data, path[:-1]), path[-1]
        how = _HOW[self.rng.integers(len(_HOW))]
        if how == "drop":
            del parent[key]
        elif how == "twice" and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        elif how == "from elsewhere":
            parent[key] = copy.deepcopy(at(self.data, self.place()))
        elif how == "scaled" and _is_number(parent[key]):
            parent[key] *= (-1, 1e6, 1e-6, 3)[self.rng.integers(4)]
        elif how == "near" and _is_number(parent[key]):
            old, place = parent[key], int(self.rng.integers(4))
            parent[key] = (old + 1, old - 1, 1 - old, old * 1.01)[place]
            how = ("+ 1", "- 1", "1 -", "+ 1 %")[place]
        else:
            place = int(self.rng.integers(len(ODD)))
            parent[key] = copy.deepcopy(ODD[place])
            how = f"= {ODD[place]!r:.20}"
        field = ".".join(k for k in path if isinstance(k, str) and " " not in k)
        return field, f"{'.'.join(map(str, path))} {how}", data


def use_report(report: Report) -> None:
    """Everything that can be had from a report; only what it says that it lacks is refused."""
    str(report)
    report.to_html()
    report.to_markdown()
    report.to_markdown(brief=True)
    report._repr_html_()
    assert Report.from_json(report.to_json()) == report
    hash(report)
    sums = [system.sums for system in report.systems]
    if not report.problem.columns or not any(part is None for part in sums):
        _ask("costs_under", lambda: report.costs_under(report.problem))
    if report.baseline is not None:
        _ask("is_better", report.is_better)
        _ask("is_no_worse", report.is_no_worse)
    for system in report.systems:
        report.system(system.name)
        if system.name in report.rules:
            use_rule(report.rule(system.name))
    changes_between(report, report)
    _frames(report)


def _frames(report: Report) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return
    from stakes.adapters.frame import TABLES

    for table in TABLES:
        report.frame(table, library="pyarrow")


class RefusedLate(Exception):
    """A document that was read, and then could not be used."""


def _ask(what: str, question: Callable[[], object]) -> None:
    """A question that must have an answer, once the document has been read."""
    try:
        question()
    except InputError as error:
        raise RefusedLate(f"{what}: {error}") from None


def use_rule(rule: Rule) -> None:
    """Everything that can be had from a rule."""
    size = rule.problem.n_classes
    rows: dict[str, Any] = {"posteriors": P[:5] if size == 2 else np.full((5, size), 1 / size)}
    rows |= {"scores": np.linspace(-2, 2, 5), "decisions": [rule.problem.decisions[0]] * 5}
    data = {column: np.arange(1.0, 6) for column in rule.problem.columns} or None
    _ask("decide", lambda: rule.decide(rows[rule.takes], data))
    if rule.has_posteriors:
        _ask("expected_costs", lambda: rule.expected_costs(rows[rule.takes], data))
    with suppress(InputError):  # not every map can be written as SQL
        rule.to_sql("p")
    assert Rule.from_json(rule.to_json()) == rule


def use_map(fitted: calibration.CalibrationMap) -> None:
    """Everything that can be had from a map."""
    size = len(fitted.classes)
    _ask("map", lambda: fitted(P[:5] if size == 2 else np.full((5, size), 1 / size)))
    assert calibration.from_json(fitted.to_json()) == fitted


def sealed_again(body: dict[str, Any]) -> str:
    """What somebody who knows about the checksum would write."""
    content = {key: part for key, part in body.items() if key != "checksum"}
    return json.dumps({**content, "checksum": checksum(content)})


def is_read(use: Callable[[str], None], text: str) -> bool:
    """Whether a document is not refused."""
    try:
        use(text)
    except InputError:
        return False
    return True


def documents(
    kinds: Iterable[str] = tuple(KINDS),
) -> Iterator[tuple[str, dict[str, Any], Callable[[str], None]]]:
    """Names, documents, and what reads and uses the text of a changed one."""
    for name in kinds:
        report = report_of(name)
        yield (
            f"report {name}",
            json.loads(report.to_json()),
            lambda text: use_report(Report.from_json(text)),
        )
        for system in list(report.rules)[:3]:
            yield (
                f"rule {name} {system}",
                json.loads(report.rules[system].to_json()),
                lambda text: use_rule(Rule.from_json(text)),
            )
    for kind in (calibration.Affine, calibration.Isotonic, calibration.BetaMap):
        fitted = kind().fit(P, np.arange(P.size) % 3 % 2)
        yield (
            f"map {kind.__name__}",
            json.loads(fitted.to_json()),
            lambda text: use_map(calibration.from_json(text)),
        )


def run(
    mutants: int, seed: int, kinds: Iterable[str] = tuple(KINDS)
) -> tuple[Counter[str], list[str], Counter[str]]:
    """What became of the documents, what leaked, and which fields were changed without harm."""
    rng = np.random.default_rng(seed)
    every = [(name, Tampering(data, rng), use) for name, data, use in documents(kinds)]
    fates: Counter[str] = Counter()
    leaks: list[str] = []
    accepted: Counter[str] = Counter()
    for number in range(mutants):
        name, tampering, use = every[number % len(every)]
        field, what, data = tampering.mutant()
        changed = checksum(data) != checksum(tampering.data)
        fates["the same" if not changed else "refused with the old checksum"] += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                if changed and is_read(use, json.dumps(data)):
                    fates["refused with the old checksum"] -= 1
                    leaks.append(f"{name}: {what}: read in spite of its checksum")
                use(sealed_again(data))
            fates["harmless"] += 1
            accepted[f"{name.partition(' ')[0]} {field}"] += 1
        except InputError as error:
            fates["refused"] += 1
            if str(error).count(". ") + str(error).endswith(".") < 2:
                leaks.append(f"{name}: {what}: message without a remedy: {error}")
        except Exception as error:  # this is what is looked for
            fates["leaked"] += 1
            leaks.append(f"{name}: {what}: {type(error).__name__}: {error!s:.150}")
    return fates, leaks, accepted


if __name__ == "__main__":
    numbers = [int(float(argument)) for argument in sys.argv[1:]]
    mutants, seed = numbers + [20_000, 0][len(numbers) :]
    fates, leaks, accepted = run(mutants, seed)
    print("\n".join(leaks))
    print("accepted:", ", ".join(f"{field} ({times})" for field, times in accepted.most_common(60)))
    print(f"{mutants:,} changed documents (seed {seed}): {dict(fates)}")
    sys.exit(bool(leaks))
