"""Which tests reach which lines of the source; mutants.py asks it.

``pytest --assert=plain -p mutants_map`` with ``STAKES_MUTANTS_MAP=FILE`` adds to the map what it
lacks: the source is compiled with a mark before every statement, and tests run nearly as fast as
without. (With ``sys.settrace`` they took several times as long.)
"""

from __future__ import annotations

import ast
import builtins
import importlib.machinery
import os
import pickle
import signal
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from mutants_places import SOURCE, Place, stamp

VARIANTS = 3  # of a test with parameters, that are traced; the others are said to reach the same
# Files of tests that run whole reports: they reach nearly everything, and say little of one line.
COSTLY = tuple(
    f"tests/test_{name}" for name in ("same_report", "limits_evaluate", "evaluate", "one_voice")
)
SLOW = 2  # seconds of the processor, after which a test is not for this

Lines = set[tuple[str, int]]  # files and their lines
_MARK = "__reached__"  # among the builtins, and no name of a class's own


class _Marks(ast.NodeTransformer):
    """Before every statement of a function, and in every lambda, a mark that says: reached."""

    def __init__(self, file: str) -> None:
        self.file, self.depth = file, 0

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Mark the statements of a node; a docstring has to stay first."""
        inside = isinstance(node, ast.FunctionDef | ast.Lambda)
        self.depth += inside
        super().generic_visit(node)
        if isinstance(node, ast.Lambda):
            node.body = ast.BoolOp(ast.Or(), [self._call(node.body), node.body])
        elif self.depth and not isinstance(node, ast.ClassDef):
            for _, part in ast.iter_fields(node):
                if isinstance(part, list) and part and isinstance(part[0], ast.stmt):
                    part[:] = [new for statement in part for new in self._marked(statement)]
        self.depth -= inside
        return node

    def _marked(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            return [statement]
        return [ast.Expr(self._call(statement)), statement]

    def _call(self, node: ast.stmt | ast.expr) -> ast.Call:
        place = ast.Tuple([ast.Constant(self.file), ast.Constant(node.lineno)], ast.Load())
        return ast.Call(ast.Name(_MARK, ast.Load()), [place], [])


def marked_code(file: Path) -> CodeType:
    """The code of a file of the source, with its marks."""
    tree = _Marks(str(file.relative_to(SOURCE))).visit(ast.parse(file.read_text()))
    code: CodeType = compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)
    return code


def some(items: list[pytest.Item]) -> list[pytest.Item]:
    """Examples first; of a test with parameters a few."""
    counts, some = dict[str, int](), list[pytest.Item]()
    for item in items:
        counts[stem(item.nodeid)] = count = counts.get(stem(item.nodeid), 0) + 1
        if count <= VARIANTS and not item.nodeid.startswith(COSTLY):
            some.append(item)
    return sorted(some, key=lambda item: not item.nodeid.startswith("src/"))


def _too_slow(number: int, frame: object) -> None:
    raise TimeoutError("too slow")


def stem(name: str) -> str:
    """A test without its parameters."""
    return name.partition("[")[0]


@dataclass
class Map:
    """For each line a mask of the tests that reach it; for each test its seconds, 0 if red."""

    tests: list[str]
    seconds: list[float]
    masks: dict[tuple[str, int], int]
    stamps: dict[str, str]  # of the files, when they were traced

    @classmethod
    def load(cls, file: Path) -> Map:
        """What was kept, or nothing."""
        return cls(*pickle.loads(file.read_bytes())) if file.exists() else cls([], [], {}, {})

    def save(self, file: Path) -> None:
        """Keep it."""
        file.write_bytes(pickle.dumps((self.tests, self.seconds, self.masks, self.stamps)))

    def missing(self, items: list[pytest.Item]) -> list[pytest.Item]:
        """The tests that it should have, and has not."""
        known = set(self.tests)
        return [item for item in some(items) if item.nodeid not in known]

    @cached_property
    def widths(self) -> list[int]:
        """How many lines each test reaches: few, where it is about them."""
        size = len(self.tests)
        widths = np.zeros(size, dtype=np.int64)
        for mask in self.masks.values():
            packed = np.frombuffer(mask.to_bytes(size // 8 + 1, "little"), dtype=np.uint8)
            widths += np.unpackbits(packed, bitorder="little")[:size]
        return [int(width) for width in widths]

    def reach(self, place: Place, *, widely: bool) -> list[int]:
        """The tests that reach a place, or its function.

        Where the file has changed since, and for what runs on import, those that reach the file.
        """
        exact = bool(place.span) and self.stamps.get(place.file) == stamp(place.file)
        mask, lines = 0, place.span if widely else place.lines
        for (file, line), tests in self.masks.items():
            if file == place.file and (line in lines or not exact):
                mask |= tests
        return [i for i in range(len(self.tests)) if mask >> i & 1 and self.seconds[i]]


@dataclass(eq=False)  # plugins are told apart by identity
class Mapper:
    """A plugin of pytest that runs tests with marks, and adds them to the map."""

    file: Path
    reached: Lines = field(default_factory=set)  # since the test or the shared fixture began
    fixtures: dict[str, Lines] = field(default_factory=dict)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """What a shared fixture runs belongs to every test that asks for it."""
        if fixturedef.scope == "function":
            return (yield)
        outer = set(self.reached)
        self.reached.clear()
        try:
            return (yield)
        finally:
            mine = self.fixtures.setdefault(f"{fixturedef.baseid}::{fixturedef.argname}", set())
            mine |= self.reached
            self.reached.clear()
            self.reached |= outer

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Write the map, and every minute what there is of it."""
        known = Map.load(self.file)
        items, begin = known.missing(session.items), len(known.tests)
        signal.signal(signal.SIGPROF, _too_slow)
        saved = time.monotonic()
        for place, item in enumerate(items):
            after = items[place + 1] if place + 1 < len(items) else None
            known.seconds.append(self._run(item, after))
            known.tests.append(item.nodeid)
            _note(known, begin + place, self.reached)
            if time.monotonic() > saved + 60:
                known.save(self.file)
                saved = time.monotonic()
        self._share(known, items, begin)
        known.save(self.file)
        return True

    def _run(self, item: pytest.Item, after: pytest.Item | None) -> float:
        """The seconds of one test, or 0."""
        self.reached.clear()
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        try:
            reports = runtestprotocol(item, log=False, nextitem=after)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        spent = time.process_time() - begin
        if any(not report.passed for report in reports) or spent > SLOW:
            print(f"left out: {item.nodeid}, {spent:.1f} s", file=sys.__stderr__, flush=True)
            return 0.0
        return max(spent, 1e-3)  # the clock may tick in milliseconds

    def _share(self, known: Map, items: list[pytest.Item], begin: int) -> None:
        for place, item in enumerate(items, begin):
            for name in getattr(item, "fixturenames", ()):
                for key, lines in self.fixtures.items():
                    base, _, fixture = key.rpartition("::")
                    if fixture == name and item.nodeid.startswith(base):
                        _note(known, place, lines)


def _note(known: Map, test: int, lines: Lines) -> None:
    for file, line in lines:
        known.masks[file, line] = known.masks.get((file, line), 0) | 1 << test
        if file not in known.stamps:
            known.stamps[file] = stamp(file)


def pytest_configure(config: pytest.Config) -> None:
    """As a plugin: from now on the source is compiled with marks."""
    mapper = Mapper(Path(os.environ["STAKES_MUTANTS_MAP"]))
    config.pluginmanager.register(mapper)
    setattr(builtins, _MARK, mapper.reached.add)
    read = importlib.machinery.SourceFileLoader.get_code

    def get_code(self: Any, name: str) -> CodeType | None:
        ours = self.path.startswith(str(SOURCE))
        return marked_code(Path(self.path)) if ours else read(self, name)

    importlib.machinery.SourceFileLoader.get_code = get_code  # type: ignore[method-assign, assignment]
