"""Change one operator, comparison or constant, and see whether a test notices.

``python tests/mutants.py [MUTANTS] [SEED] [SECONDS] [PATH …]`` (``make mutants``) draws places of
the source in proportion to the code: each place has a number that depends on the seed and on where
in its function it stands, and the smallest are taken, so that an edit elsewhere changes no draw.
Nothing is written to the source. One process imports everything and collects the quick tests once;
each mutant is a fork of it in which the code of the changed function is replaced, and which runs
the examples and tests that reach the line, the cheapest first, up to the first that fails or does
not end. (What is computed on import needs a new process.) Which tests reach which lines is traced
once. What fails must pass with unchanged code, or it says nothing: the test by itself where it
fails by itself, too, otherwise all up to it. A test that does not pass is left out, and the mutant
tried again.

``STAKES_MUTANTS_PART=1/2`` takes every second place only, for two processes side by side; a run
without it counts what they found.

The map and the results are kept in the folder ``STAKES_MUTANTS`` (default: ``stakes-mutants`` among
the temporary files), so that a run can go on later: what was noticed stays noticed until its file
changes, what survived is tried again, and what is explained is not tried. Survivors are listed:
each is a test that is missing, or a change that changes nothing; those that were studied are in
``mutants_explained.toml``, each with the reason.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import pytest
from _pytest.runner import runtestprotocol

from mutants_map import COSTLY, Map, stem
from mutants_places import SOURCE, UNCHANGED, Place, changed_code, functions, patch, places, stamp

HERE = Path(__file__).parent
ROOT = HERE.parent
KEPT = Path(os.environ.get("STAKES_MUTANTS", Path(tempfile.gettempdir()) / "stakes-mutants"))
EXPLAINED = HERE / "mutants_explained.toml"
ENOUGH = float(os.environ.get("STAKES_MUTANTS_ENOUGH", 15))  # seconds of tests for one mutant
PATIENCE = 60 + 20 * ENOUGH
_CLOCK = "the clock"  # who notices a change after which a test does not end
PART, PARTS = map(int, os.environ.get("STAKES_MUTANTS_PART", "1/1").split("/"))

# These need other environments: torch, Triton, Spark and Dask.
ELSEWHERE = ("torch/", "adapters/duck.py", "_version.py")
# Tests that read the source, run other processes or a browser, or look at the clock.
BLIND = (
    *("browser", "clusters", "coverage", "tensors"),
    *("test_structure.py", "test_language.py", "test_docs.py", "test_papers.py", "test_load.py"),
    *("test_examples.py", "test_fuzz.py", "test_tamper.py"),
    *("test_cli_process.py", "test_cli_hostile.py"),
)

# --------------------------------------------------------------------------------------- one mutant


def _chosen(known: Map, place: Place, tests: Iterable[str]) -> list[str]:
    """Tests for a mutant: those that reach its line, the same with other parameters, those that
    reach its function, and then those of whole reports; as many as there is time for.
    """
    chosen = dict.fromkeys(_ordered(known, place, known.reach(place, widely=False)))
    more = _ordered(known, place, known.reach(place, widely=True))
    for names in (tuple(chosen), more):
        chosen |= dict.fromkeys(names)
        stems = set(map(stem, names))
        chosen |= dict.fromkeys(test for test in tests if stem(test) in stems)
    chosen |= dict.fromkeys(test for file in COSTLY for test in tests if test.startswith(file))
    return [test for test in chosen if test in tests]


def _ordered(known: Map, place: Place, reach: list[int]) -> list[str]:
    """Own examples, then those that reach the fewest other lines."""

    def rank(test: int) -> tuple[bool, float]:
        mine = known.tests[test].startswith(f"src/stakes/{place.file}::")
        return not mine, known.widths[test] * (0.1 + known.seconds[test])

    ordered = sorted(reach, key=rank)
    spent = np.cumsum([known.seconds[test] for test in ordered])
    return [known.tests[test] for test in ordered[: 1 + int(np.sum(spent < ENOUGH))]]


def _forked(work: Callable[[], str], seconds: float) -> str:
    """What the work says in a fork of this process, or that it does not end."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            answer = work()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(write, answer.encode()[:4000] or b"-")
        os._exit(0)
    os.close(write)
    answer = os.read(read, 4096).decode(errors="replace") if _ends(read, child, seconds) else _CLOCK
    os.close(read)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return answer or "a crash"


def _ends(pipe: int, child: int, seconds: float) -> bool:
    """Whether a process says something before it has done nothing for so long.

    On a busy machine one that works may take any time; a limit on the processor's time ends it.
    """
    spent, idle_since = 0.0, time.monotonic()
    while not select.select([pipe], [], [], min(5, seconds))[0]:
        if (now := _processor_time(child)) > spent + 1:
            spent, idle_since = now, time.monotonic()
        elif time.monotonic() > idle_since + seconds:
            return False
    return True


def _processor_time(process: int) -> float:
    """Seconds that a process has worked; 0 where the system does not say so."""
    file = Path(f"/proc/{process}/stat")
    if not file.exists():
        return 0.0
    user, system = file.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _first_red(items: list[pytest.Item]) -> str:
    """The name of the first test that fails, or nothing once there were enough."""
    end = time.process_time() + 1.5 * ENOUGH
    for place, item in enumerate(items):
        if time.process_time() > end:
            break
        after = items[place + 1] if place + 1 < len(items) else None
        if any(report.failed for report in runtestprotocol(item, log=False, nextitem=after)):
            return item.nodeid
    return ""


def _in_fork(file: str, number: int, tests: dict[str, pytest.Item]) -> str:
    """Who notices a change in a fork of this process, or that it touches no function."""

    def work() -> str:
        resource.setrlimit(resource.RLIMIT_CPU, (int(3 * ENOUGH),) * 2)
        if not patch(file, number) and number != UNCHANGED:
            return "not found"
        return _first_red([*tests.values()])

    return _forked(work, PATIENCE).removeprefix("-")


def _in_new_process(file: str, number: int, tests: dict[str, pytest.Item]) -> str:
    """The same in a new process, for what runs on import.

    A file that pytest is told to test is compiled by pytest, unless assertions are left plain.
    """
    env = {**_environment(), "STAKES_MUTANT": f"{file}:{number}"}
    plain = ["--assert=plain", "-p", "mutants", *_options(), "-x", "-q"]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *plain, *[*tests][:25]],
            cwd=ROOT,
            env=env,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _CLOCK
    return "a new process" if done.returncode else ""


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(HERE)])}


def _options() -> list[str]:
    without = ["-p", "no:cacheprovider", "-p", "no:xdist"]
    return [*without, "-m", "not slow", f"--basetemp={KEPT}/pytest{os.getpid()}"]


def _left_out() -> list[str]:
    return [f"--ignore={HERE / path}" for path in BLIND]


if os.environ.get("STAKES_MUTANT"):  # in a new process: the file is compiled with its change
    _file, _, _number = os.environ["STAKES_MUTANT"].partition(":")
    _read = importlib.machinery.SourceFileLoader.get_code

    def _get_code(self: Any, name: str) -> CodeType | None:
        if self.path == str(SOURCE / _file):
            return changed_code(_file, int(_number))
        return _read(self, name)

    importlib.machinery.SourceFileLoader.get_code = _get_code  # type: ignore[method-assign, assignment]
    # An example alone would import its module over the function of the same name.
    importlib.import_module(".".join(["stakes", *Path(_file).parts[:-1]]))


# -------------------------------------------------------------------------------------------- a run


@dataclass
class Run:
    """Draw, try, count; a plugin of pytest, so that tests are collected once."""

    most: int
    seed: int
    seconds: float
    paths: tuple[str, ...]
    void: set[str] = field(default_factory=set)
    passing: dict[str, bool] = field(default_factory=dict)  # by itself, with unchanged code
    counts: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("noticed", "explained", "survived"), 0)
    )

    def pytest_collection(self) -> None:
        """A property that fails need not look for its smallest example."""
        from hypothesis import Phase, settings

        phases = (Phase.explicit, Phase.generate)
        quick = settings.get_profile("quick")
        settings.register_profile("mutants", quick, phases=phases, report_multiple_bugs=False)
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Instead of running the tests: the map, if it is missing, and then the mutants."""
        end = time.monotonic() + self.seconds
        tests = {item.nodeid: item for item in session.items}
        known = self._map(session)
        functions()
        done = _results()
        why = {_key(mutant): mutant["why"] for mutant in _explained()}
        with open(KEPT / "results.jsonl", "a") as out:
            for place in self._drawn():
                if time.monotonic() > end:
                    break
                name = (*place.key, place.twin, stamp(place.file))
                who = done.get(name)
                if who is None and place.key not in why:
                    begin = time.monotonic()
                    who = self._try(place, known, tests)
                    spent = round(time.monotonic() - begin, 2)
                    line = {"place": name, "who": who, "seconds": spent}
                    print(json.dumps(line, ensure_ascii=False), file=out, flush=True)
                kind = "explained" if place.key in why else "noticed" if who else "survived"
                self.counts[kind] += 1
                if kind != "noticed":
                    reason = why.get(place.key, f"SURVIVED, line {place.lines[0]}")
                    self._say(f"{place.file}  {place.function}\n    {place.change}\n    {reason}")
        total = sum(self.counts.values())
        self._say(f"{total} mutants (seed {self.seed}): {json.dumps(self.counts)[1:-1]}")
        return True

    def _drawn(self) -> list[Place]:
        every = [
            place
            for path in sorted(SOURCE.rglob("*.py"))
            if not (name := str(path.relative_to(SOURCE))).startswith(ELSEWHERE)
            and name.startswith(self.paths or ("",))
            for place in places(name)[1]
        ]
        for key in set(map(_key, _explained())) - {place.key for place in every}:
            if key[0].startswith(self.paths or ("",)):
                self._say(f"explained, but no longer there: {key}")
        drawn = sorted(every, key=lambda place: place.order(self.seed))[: self.most]
        return drawn[PART - 1 :: PARTS]

    def _map(self, session: pytest.Session) -> Map:
        """The map that was kept, with what it lacks."""
        file = KEPT / "map.pickle"
        missing = Map.load(file).missing(session.items)
        if missing:
            self._say(f"mapping {len(missing)} of {len(session.items)} tests")
            env = {**_environment(), "STAKES_MUTANTS_MAP": str(file)}
            plugin = ["--assert=plain", "-p", "mutants_map", *_options(), *_left_out(), "-q"]
            subprocess.run(
                [sys.executable, "-m", "pytest", *plugin], cwd=ROOT, env=env, check=False
            )
        return Map.load(file)

    def _try(self, place: Place, known: Map, tests: dict[str, pytest.Item]) -> str:
        """Who noticed, or nothing."""
        names = [name for name in _chosen(known, place, tests) if name not in self.void]
        way = _in_fork if place.span else _in_new_process
        while names:
            items = {name: tests[name] for name in names}
            who = way(place.file, place.number, items)
            if who == "not found":
                way = _in_new_process
                continue
            if not who or (who in names and self._alone(who, names[0], place, tests)):
                return who
            ran = list(items)[: names.index(who) + 1] if who in names else names
            if not way(place.file, UNCHANGED, {name: tests[name] for name in ran}):
                return who
            self._say(f"void: {who} fails with unchanged code, too ({place.file})")
            self.void.add(who)  # such as tests of engines whose threads a fork does not have
            names = [name for name in names if name != who] if who in names else []
        return ""

    def _alone(self, who: str, first: str, place: Place, tests: dict[str, pytest.Item]) -> bool:
        """Whether a test fails by itself with the change, and passes by itself without it."""
        only = {who: tests[who]}
        if who not in self.passing:
            self.passing[who] = not _in_fork(place.file, UNCHANGED, only)
        alone = who == first or _in_fork(place.file, place.number, only) == who
        return alone and self.passing[who]

    def _say(self, text: str) -> None:
        print(text, file=sys.__stdout__, flush=True)


def _results() -> dict[tuple[Any, ...], str]:
    """Place → who noticed it, of earlier runs; survivors are tried again."""
    file = KEPT / "results.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {tuple(result["place"]): result["who"] for result in lines if result["who"]}


def _key(mutant: dict[str, str]) -> tuple[str, str, str]:
    return mutant["file"], mutant["function"], mutant["change"]


def _explained() -> list[dict[str, str]]:
    if not EXPLAINED.exists():
        return []
    mutants: list[dict[str, str]] = tomllib.loads(EXPLAINED.read_text())["mutant"]
    return mutants


def main(arguments: list[str]) -> int:
    """Run, and fail if more than one in twenty is neither noticed nor explained."""
    numbers = [float(number) for number in arguments[:3]]
    most, seed, seconds = numbers + [300, 0, 3600][len(numbers) :]
    KEPT.mkdir(parents=True, exist_ok=True)
    run = Run(int(most), int(seed), seconds, tuple(arguments[3:]))
    os.chdir(ROOT)
    pytest.main([*_options(), "-q", *_left_out()], plugins=[run])
    return int(run.counts["survived"] > 0.05 * sum(run.counts.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
