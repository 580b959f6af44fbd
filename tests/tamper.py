"""Reports, rules and maps that somebody changed: refused with `InputError`, or harmless.

``python tests/tamper.py [MUTANTS] [SEED]`` changes the JSON of real reports, rules and maps, one
place after another: another value, another type, a part that is missing, that is there twice, that
stands in another place. Whatever is read all the same must be usable to the end: every rendering,
every table, every question that can be asked of it.
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

    def mutant(self) -> tuple[str, Any]:
        """What was done, and the document."""
        data, path = copy.deepcopy(self.data), self.place()
        parent, key = at(data, path[:-1]), path[-1]
        how = ("odd", "odd", "drop", "twice", "from elsewhere", "scaled")[self.rng.integers(6)]
        if how == "drop":
            del parent[key]
        elif how == "twice" and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        elif how == "from elsewhere":
            parent[key] = copy.deepcopy(at(self.data, self.place()))
        elif how == "scaled" and isinstance(parent[key], int | float):
            parent[key] *= (-1, 1e6, 1e-6, 3)[self.rng.integers(4)]
        else:
            place = int(self.rng.integers(len(ODD)))
            parent[key] = copy.deepcopy(ODD[place])
            how = f"= {ODD[place]!r:.20}"
        return f"{'.'.join(map(str, path))} {how}", data


def use_report(report: Report) -> None:
    """Everything that can be had from a report."""
    str(report)
    report.to_html()
    report.to_markdown()
    report.to_markdown(brief=True)
    report._repr_html_()
    assert Report.from_json(report.to_json()) == report
    hash(report)
    _ask(lambda: report.costs_under(report.problem))
    _ask(report.is_better)
    _ask(report.is_no_worse)
    for system in report.systems:
        report.system(system.name)
        _ask(lambda name=system.name: use_rule(report.rule(name)))  # type: ignore[misc]
    changes_between(report, report)
    _frames(report)


def _frames(report: Report) -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return
    from stakes.adapters.report_tables import TABLES

    for table in TABLES:
        report.frame(table, library="pyarrow")


def _ask(question: Callable[[], object]) -> None:
    """A question may be refused, like one for the baseline of a report that has none."""
    with suppress(InputError):
        question()


def use_rule(rule: Rule) -> None:
    """Everything that can be had from a rule."""
    size = rule.problem.n_classes
    rows: dict[str, Any] = {"posteriors": P[:5] if size == 2 else np.full((5, size), 1 / size)}
    rows |= {"scores": np.linspace(-2, 2, 5), "decisions": [rule.problem.decisions[0]] * 5}
    _ask(lambda: rule.decide(rows[rule.takes]))
    _ask(lambda: rule.expected_costs(rows[rule.takes]))
    _ask(lambda: rule.to_sql("p"))
    assert Rule.from_json(rule.to_json()) == rule


def use_map(fitted: calibration.CalibrationMap) -> None:
    """Everything that can be had from a map."""
    size = len(fitted.classes)
    _ask(lambda: fitted(P[:5] if size == 2 else np.full((5, size), 1 / size)))
    assert calibration.from_json(fitted.to_json()) == fitted


def sealed_again(body: dict[str, Any]) -> str:
    """What somebody who knows about the checksum would write."""
    content = {key: part for key, part in body.items() if key != "checksum"}
    return json.dumps({**content, "checksum": checksum(content)})


def documents(
    kinds: Iterable[str] = tuple(KINDS),
) -> Iterator[tuple[str, dict[str, Any], Callable[[Any], None]]]:
    """Names, documents, and what reads and uses a changed one."""
    for name in kinds:
        report = report_of(name)
        yield (
            f"report {name}",
            json.loads(report.to_json()),
            lambda data: use_report(Report.from_json(json.dumps(data))),
        )
        for system in list(report.rules)[:3]:
            yield (
                f"rule {name} {system}",
                json.loads(report.rules[system].to_json()),
                lambda data: use_rule(Rule.from_json(sealed_again(data))),
            )
    for kind in (calibration.Affine, calibration.Isotonic, calibration.BetaMap):
        fitted = kind().fit(P, np.arange(P.size) % 3 % 2)
        yield (
            f"map {kind.__name__}",
            json.loads(fitted.to_json()),
            lambda data: use_map(calibration.from_json(sealed_again(data))),
        )


def run(
    mutants: int, seed: int, kinds: Iterable[str] = tuple(KINDS)
) -> tuple[Counter[str], list[str]]:
    """What became of the documents, and what leaked."""
    rng = np.random.default_rng(seed)
    every = [(name, Tampering(data, rng), use) for name, data, use in documents(kinds)]
    fates: Counter[str] = Counter()
    leaks = []
    for number in range(mutants):
        name, tampering, use = every[number % len(every)]
        what, data = tampering.mutant()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                use(data)
            fates["harmless"] += 1
        except InputError as error:
            fates["refused"] += 1
            if str(error).count(". ") + str(error).endswith(".") < 2:
                leaks.append(f"{name}: {what}: message without a remedy: {error}")
        except Exception as error:  # this is what is looked for
            fates["leaked"] += 1
            leaks.append(f"{name}: {what}: {type(error).__name__}: {error!s:.150}")
    return fates, leaks


if __name__ == "__main__":
    numbers = [int(float(argument)) for argument in sys.argv[1:]]
    mutants, seed = numbers + [20_000, 0][len(numbers) :]
    fates, leaks = run(mutants, seed)
    print("\n".join(leaks))
    print(f"{mutants:,} changed documents (seed {seed}): {dict(fates)}")
    sys.exit(bool(leaks))
