"""Which tests reach which lines of the source; mutants.py asks it."""

from __future__ import annotations

import pickle
import signal
import sys
import threading
import time
from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from mutants_places import SOURCE, Place, stamp

CALLS = 25  # calls of a function, in one test, whose lines are traced
VARIANTS = 3  # of a test with parameters, that are traced; the others are said to reach the same
# Files of tests that run whole reports: they reach nearly everything, and say little of one line.
COSTLY = tuple(
    f"tests/test_{name}" for name in ("same_report", "limits_evaluate", "evaluate", "one_voice")
)
SLOW = 2  # seconds of the processor, after which a test is not for this


class Tracer:
    """Lines of the source that run, kept by the test or the fixture that runs them."""

    def __init__(self) -> None:
        self.lines: set[tuple[int, int]] = set()
        self.calls: dict[int, int] = {}
        self.codes: dict[int, CodeType | None] = {}

    def start(self) -> None:
        """A new test or fixture."""
        self.lines, self.calls = set(), {}

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        name = id(code)
        if name not in self.codes:
            self.codes[name] = code if code.co_filename.startswith(str(SOURCE)) else None
        if self.codes[name] is None:
            return None
        self.calls[name] = self.calls.get(name, 0) + 1
        return self.line if self.calls[name] <= CALLS else None

    def line(self, frame: FrameType, event: str, arg: object) -> Any:
        """Note a line."""
        self.lines.add((id(frame.f_code), frame.f_lineno))
        return self.line


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


class Mapper:
    """Run tests with the tracer, and add them to the map."""

    def __init__(self, items: list[pytest.Item], known: Map) -> None:
        self.items, self.known, self.tracer = items, known, Tracer()
        self.fixtures: dict[str, set[tuple[int, int]]] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Generator[None, object, object]:
        """What a shared fixture runs belongs to every test that asks for it."""
        if fixturedef.scope == "function":
            return (yield)
        outer = self.tracer.lines
        self.tracer.lines = set()
        try:
            return (yield)
        finally:
            mine = self.fixtures.setdefault(f"{fixturedef.baseid}::{fixturedef.argname}", set())
            mine |= self.tracer.lines
            self.tracer.lines = outer

    def run(self, file: Path) -> None:
        """Write the map, and every minute what there is of it."""
        saved, begin = time.monotonic(), len(self.known.tests)
        threading.settrace(self.tracer)
        signal.signal(signal.SIGPROF, _too_slow)
        for place, item in enumerate(self.items):
            after = self.items[place + 1] if place + 1 < len(self.items) else None
            spent = self._trace(item, after)
            self.known.tests.append(item.nodeid)
            self.known.seconds.append(spent)
            self._note(begin + place, self.tracer.lines)
            if time.monotonic() > saved + 60:
                self.known.save(file)
                saved = time.monotonic()
        self._share(begin)
        self.known.save(file)

    def _trace(self, item: pytest.Item, after: pytest.Item | None) -> float:
        """The seconds of one test, or 0."""
        self.tracer.start()
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SLOW)
        sys.settrace(self.tracer)
        try:
            reports = runtestprotocol(item, log=False, nextitem=after)
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_PROF, 0)
        spent = time.process_time() - begin
        if any(not report.passed for report in reports) or spent > SLOW:
            print(f"left out: {item.nodeid}, {spent:.1f} s", file=sys.__stderr__, flush=True)
            return 0.0
        return spent

    def _note(self, test: int, lines: set[tuple[int, int]]) -> None:
        for name, line in lines:
            code = self.tracer.codes[name]
            assert code is not None
            file = str(Path(code.co_filename).relative_to(SOURCE))
            masks = self.known.masks
            masks[file, line] = masks.get((file, line), 0) | 1 << test
            if file not in self.known.stamps:
                self.known.stamps[file] = stamp(file)

    def _share(self, begin: int) -> None:
        for place, item in enumerate(self.items, begin):
            for name in getattr(item, "fixturenames", ()):
                for key, lines in self.fixtures.items():
                    base, _, fixture = key.rpartition("::")
                    if fixture == name and item.nodeid.startswith(base):
                        self._note(place, lines)
