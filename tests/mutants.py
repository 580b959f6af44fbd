"""Change one operator, comparison or constant, and see whether a test notices.

``python tests/mutants.py [MUTANTS] [SEED] [SECONDS] [PATH …]`` (``make mutants``) draws places of the
source in proportion to the code: each place has a number that depends on the seed and on its own
text, and the smallest are taken, so that an edit elsewhere changes no draw. Nothing is written to
the source. One process imports everything and collects the quick tests once; each mutant is a fork
of it in which the code of the changed function is replaced, and which runs the examples and tests
that reach the line, the cheapest first, up to the first that fails or does not end. (What is
computed on import needs a new process.) Which tests reach which lines is traced once.

The map and the results are kept in the folder ``STAKES_MUTANTS`` (default: ``stakes-mutants`` among
the temporary files), so that a run can go on later: what was noticed stays noticed until its file
changes, what survived is tried again. Survivors are listed: each is a test that is missing, or a
change that changes nothing; those that were studied are in ``mutants_explained.toml``, with the reason.
"""

from __future__ import annotations

import ast
import gc
import hashlib
import importlib.machinery
import json
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

HERE = Path(__file__).parent
ROOT = HERE.parent
SOURCE = ROOT / "src" / "stakes"
KEPT = Path(os.environ.get("STAKES_MUTANTS", Path(tempfile.gettempdir()) / "stakes-mutants"))
EXPLAINED = HERE / "mutants_explained.toml"
ENOUGH = float(os.environ.get("STAKES_MUTANTS_ENOUGH", 15))  # seconds of tests for one mutant
VARIANTS = 3  # of a test with parameters, that are traced; the others are said to reach the same
SLOW = 6  # seconds, after which a test is not for this
CALLS = 25  # calls of a function, in one test, whose lines are traced

# These need other environments: torch, Triton, Spark and Dask.
ELSEWHERE = ("torch/", "adapters/cluster.py", "_version.py")
# Tests that read the source, run other processes or a browser, or look at the clock.
BLIND = (
    *(f"tests/{folder}" for folder in ("browser", "clusters", "coverage", "tensors")),
    *(
        f"tests/test_{name}.py"
        for name in (
            "structure language docs papers load examples cli_process cli_hostile fuzz tamper"
        ).split()
    ),
)

_SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True)
class Place:
    """One thing that can be changed: the how-manieth of its file, and how it reads."""

    file: str
    number: int
    function: str
    change: str
    lines: tuple[int, ...]
    in_function: bool
    twin: int  # the same change of the same text in the same function, counted
    kind: str  # the part that changes
    nth: int  # among those of its kind in its function

    @property
    def key(self) -> tuple[str, str, str]:
        """What explanations are found by: no line numbers."""
        return self.file, self.function, self.change

    def order(self, seed: int) -> str:
        """A number that is drawn; other names of variables do not change it."""
        drawn = (seed, self.file, self.function, self.kind, self.nth)
        return hashlib.sha256(repr(drawn).encode()).hexdigest()


@dataclass
class _Walk:
    """All nodes but annotations, decorators, texts and complaints, each with what holds it."""

    names: tuple[str, ...] = ()
    found: list[tuple[ast.AST, ast.AST, ast.stmt, tuple[str, ...], bool]] = field(
        default_factory=list
    )

    def visit(self, node: ast.AST, whole: ast.AST, statement: Any, inside: bool) -> None:
        """Go down; ``whole`` is the smallest expression around that says more than a constant."""
        names = self.names
        for name, part in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list") or isinstance(node, ast.JoinedStr):
                continue
            body = name == "body" and isinstance(node, ast.FunctionDef | ast.Lambda)
            if name == "body" and isinstance(node, ast.FunctionDef | ast.ClassDef):
                self.names = (*names, node.name)
            for child in part if isinstance(part, list) else [part]:
                if not isinstance(child, ast.AST) or isinstance(child, ast.Raise):
                    continue
                if isinstance(child, ast.keyword) and child.arg == "strict":
                    continue  # of zip: it refuses our own mistakes
                near = child if isinstance(child, ast.stmt) else statement
                plain = isinstance(child, ast.Constant | ast.UnaryOp | ast.keyword | ast.Slice)
                around = whole if plain or not isinstance(child, ast.expr | ast.stmt) else child
                self.found.append((child, around, near, self.names, inside or body))
                self.visit(child, around, near, inside or body)
            self.names = names


def _changes(node: ast.AST) -> Iterator[Callable[[], Callable[[], None]]]:
    """The changes of one node; each, called, makes the change and returns what takes it back."""
    if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _SWAPS:
        yield lambda: _set(node, "op", _SWAPS[type(node.op)]())
    elif isinstance(node, ast.Compare):
        for place, one in enumerate(node.ops):
            if type(one) in _SWAPS:
                new = [*node.ops]
                new[place] = _SWAPS[type(one)]()  # type: ignore[call-overload]
                yield lambda new=new: _set(node, "ops", new)  # type: ignore[misc]
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
        old: Any = node.value
        if isinstance(old, bool) or old + 1 != old:
            yield lambda: _set(node, "value", not old if isinstance(old, bool) else old + 1)


def _set(node: ast.AST, part: str, new: Any) -> Callable[[], None]:
    old = getattr(node, part)
    setattr(node, part, new)
    return lambda: setattr(node, part, old)


def places(file: str, only: int | None = None) -> tuple[ast.Module, list[Place]]:
    """Every place of a file; the tree is left changed at the one that is named, if any."""
    tree = ast.parse((SOURCE / file).read_text())
    walk, found, twins = _Walk(), [], dict[Any, int]()
    walk.visit(tree, tree, tree.body[0], False)
    for node, whole, near, names, inside in walk.found:
        for change in _changes(node):
            number = len(found)
            before = _words(whole)
            back = change()
            if number == only:
                return tree, found
            text = f"{before}  →  {_words(whole)}"
            back()
            key, kind = (".".join(names), text), type(node).__name__
            for one in (key, (key[0], kind, None)):
                twins[one] = twins.get(one, -1) + 1
            end = getattr(near, "end_lineno", 0) if not hasattr(near, "body") else near.lineno
            lines = (*range(node.lineno, node.end_lineno + 1), *range(near.lineno, end + 1))  # type: ignore[attr-defined]
            found.append(Place(file, number, key[0], text, lines, inside, twins[key], kind, twins[key[0], kind, None]))
    return tree, found


def _words(node: ast.AST) -> str:
    """An expression, or the first line of a statement."""
    return ast.unparse(node).strip().splitlines()[0]


def changed_code(file: str, number: int) -> CodeType:
    """The code of a file with one change."""
    tree, _ = places(file, number)
    code: CodeType = compile(tree, str(SOURCE / file), "exec", dont_inherit=True)
    return code


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def patch(file: str, number: int) -> bool:
    """Replace the code of the functions that the change touches; whether there are any."""
    new = {(one.co_qualname, one.co_firstlineno): one for one in _codes(changed_code(file, number))}
    done = False
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == str(SOURCE / file):
            code = thing.__code__
            better = new.get((code.co_qualname, code.co_firstlineno))
            if better is not None and better != code:
                thing.__code__, done = better, True
    return done


# ---------------------------------------------------------------------- which tests reach which line


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


def _some(items: list[pytest.Item]) -> list[pytest.Item]:
    """Examples first; of a test with parameters a few."""
    counts, some = dict[str, int](), []
    for one in items:
        counts[_stem(one.nodeid)] = count = counts.get(_stem(one.nodeid), 0) + 1
        if count <= VARIANTS:
            some.append(one)
    return sorted(some, key=lambda one: not one.nodeid.startswith("src/"))


def _too_slow(number: int, frame: object) -> None:
    raise TimeoutError("too slow")


def _stem(name: str) -> str:
    """A test without its parameters."""
    return name.partition("[")[0]


@dataclass
class Map:
    """For each line a mask of the tests that reach it; for each test its seconds, 0 if red."""

    tests: list[str]
    seconds: list[float]
    masks: dict[tuple[str, int], int]

    def reach(self, place: Place) -> list[int]:
        """The tests that reach a place; for what runs on import, those that reach its file."""
        mask = 0
        for (file, line), one in self.masks.items():
            if file == place.file and (not place.in_function or line in place.lines):
                mask |= one
        return [one for one in range(len(self.tests)) if mask >> one & 1 and self.seconds[one]]


class Mapper:
    """Run all tests with the tracer, and write the map."""

    def __init__(self, items: list[pytest.Item]) -> None:
        self.items, self.tracer = items, Tracer()
        self.fixtures: dict[str, set[tuple[int, int]]] = {}
        self.masks: dict[tuple[str, int], int] = {}

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
        seconds, saved = list[float](), time.monotonic()
        names = [one.nodeid for one in self.items]
        threading.settrace(self.tracer)
        signal.signal(signal.SIGALRM, _too_slow)
        for place, item in enumerate(self.items):
            after = self.items[place + 1] if place + 1 < len(self.items) else None
            seconds.append(self._trace(item, after))
            self._note(place, self.tracer.lines)
            if time.monotonic() > saved + 60:
                file.write_bytes(pickle.dumps(Map(names[: place + 1], seconds, self.masks)))
                saved = time.monotonic()
        self._share()
        file.write_bytes(pickle.dumps(Map(names, seconds, self.masks)))

    def _trace(self, item: pytest.Item, after: pytest.Item | None) -> float:
        """The seconds of one test, or 0."""
        self.tracer.start()
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_REAL, 10 * SLOW)
        sys.settrace(self.tracer)
        try:
            reports = runtestprotocol(item, log=False, nextitem=after)
        finally:
            sys.settrace(None)
            signal.setitimer(signal.ITIMER_REAL, 0)
        spent = time.process_time() - begin
        if any(not one.passed for one in reports) or spent > SLOW:
            print(f"left out: {item.nodeid}, {spent:.1f} s", file=sys.__stderr__, flush=True)
            return 0.0
        return spent

    def _note(self, test: int, lines: set[tuple[int, int]]) -> None:
        for name, line in lines:
            code = self.tracer.codes[name]
            assert code is not None
            key = (str(Path(code.co_filename).relative_to(SOURCE)), line)
            self.masks[key] = self.masks.get(key, 0) | 1 << test

    def _share(self) -> None:
        for place, item in enumerate(self.items):
            for name in getattr(item, "fixturenames", ()):
                for key, lines in self.fixtures.items():
                    base, _, fixture = key.rpartition("::")
                    if fixture == name and item.nodeid.startswith(base):
                        self._note(place, lines)


# --------------------------------------------------------------------------------------- one mutant


def _chosen(known: Map, place: Place) -> list[int]:
    """Tests for a mutant: own examples, then the cheapest, then the rest, file by file."""
    reach = known.reach(place)
    own = [one for one in reach if known.tests[one].startswith(f"src/stakes/{place.file}::")]
    rest = sorted(set(reach) - set(own), key=lambda one: known.seconds[one])
    first, later = sorted(rest[:20]), rest[20:]
    files: dict[str, list[int]] = {}
    for one in later:
        files.setdefault(known.tests[one].partition("::")[0], []).append(one)
    grouped = sorted(files.values(), key=lambda group: sum(known.seconds[one] for one in group))
    ordered = own + first + [one for group in grouped for one in sorted(group)]
    chosen, spent = [], 0.0
    for one in ordered:
        spent += known.seconds[one]
        if spent > ENOUGH and chosen:
            break
        chosen.append(one)
    return chosen


def _forked(work: Callable[[], str], seconds: float) -> str:
    """What the work says in a fork of this process, or that it does not end."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            answer = work()
        except BaseException as error:  # noqa: BLE001
            answer = f"{type(error).__name__}: {error}"
        os.write(write, answer.encode()[:4000] or b"-")
        os._exit(0)
    os.close(write)
    ready, _, _ = select.select([read], [], [], seconds)
    answer = os.read(read, 4096).decode(errors="replace") if ready else "the clock"
    os.close(read)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    os.waitpid(child, 0)
    return answer or "a crash"


def _first_red(items: list[pytest.Item]) -> str:
    """The name of the first test that fails, or nothing once there were enough."""
    end = time.process_time() + 2 * ENOUGH
    for place, item in enumerate(items):
        if time.process_time() > end:
            break
        after = items[place + 1] if place + 1 < len(items) else None
        if any(one.failed for one in runtestprotocol(item, log=False, nextitem=after)):
            return item.nodeid
    return ""


def _fresh(place: Place, tests: list[str], seconds: float) -> str:
    """The same in a new process, for what runs on import."""
    env = {**os.environ, "STAKES_MUTANT": f"{place.file}:{place.number}"}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(HERE)])
    command = [sys.executable, "-m", "pytest", "-p", "mutants", *_options(), "-x", "-q", *tests]
    try:
        done = subprocess.run(
            command, cwd=ROOT, env=env, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return "the clock"
    return "-" if not done.returncode else "a new process"


def _options() -> list[str]:
    return ["-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not slow", f"--basetemp={KEPT}/pytest"]


if os.environ.get("STAKES_MUTANT"):  # in a new process: the file is compiled with its change
    _file, _, _number = os.environ["STAKES_MUTANT"].partition(":")
    _read = importlib.machinery.SourceFileLoader.get_code

    def _get_code(self: importlib.machinery.SourceFileLoader, name: str) -> CodeType | None:
        if self.path == str(SOURCE / _file):
            return changed_code(_file, int(_number))
        return _read(self, name)

    importlib.machinery.SourceFileLoader.get_code = _get_code  # type: ignore[method-assign]


# -------------------------------------------------------------------------------------------- a run


@dataclass
class Run:
    """Draw, try, count; a plugin of pytest, so that tests are collected once."""

    most: int
    seed: int
    seconds: float
    paths: tuple[str, ...]
    counts: dict[str, int] = field(default_factory=lambda: {"noticed": 0, "explained": 0, "survived": 0})

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
        tests = {one.nodeid: one for one in session.items}
        known = self._map(session)
        out = open(KEPT / "results.jsonl", "a")  # noqa: SIM115
        done = _results()
        why = {(one["file"], one["function"], one["change"]): one["why"] for one in _explained()}
        for place in self._drawn():
            if time.monotonic() > end:
                break
            stamp = hashlib.sha256((SOURCE / place.file).read_bytes()).hexdigest()[:16]
            who = done.get((*place.key, place.twin, stamp))
            if who is None:
                begin = time.monotonic()
                who = self._try(place, known, tests)
                spent = round(time.monotonic() - begin, 2)
                line = {"place": [*place.key, place.twin, stamp], "who": who, "seconds": spent}
                print(json.dumps(line, ensure_ascii=False), file=out, flush=True)
            kind = "noticed" if who else "explained" if place.key in why else "survived"
            self.counts[kind] += 1
            if not who:
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
        for one in {(e["file"], e["function"], e["change"]) for e in _explained()} - {
            one.key for one in every
        }:
            if one[0].startswith(self.paths or ("",)):
                self._say(f"explained, but no longer there: {one}")
        return sorted(every, key=lambda one: one.order(self.seed))[: self.most]

    def _map(self, session: pytest.Session) -> Map:
        file = KEPT / "map.pickle"
        if not file.exists():
            self._say(f"tracing {len(_some(session.items))} of {len(session.items)} tests")

            def trace() -> str:
                mapper = Mapper(_some(session.items))
                session.config.pluginmanager.register(mapper)
                mapper.run(file)
                return "-"

            answer = _forked(trace, 7200)
            if answer != "-":
                raise RuntimeError(answer)
        known: Map = pickle.loads(file.read_bytes())
        return known

    def _try(self, place: Place, known: Map, tests: dict[str, pytest.Item]) -> str:
        """Who noticed, or nothing."""
        chosen = _chosen(known, place)
        names = [known.tests[one] for one in chosen if known.tests[one] in tests]
        if not names:
            return ""
        others = set(map(_stem, names))
        names += [one for one in tests if _stem(one) in others and one not in set(names)]
        patience = 60 + 10 * sum(known.seconds[one] for one in chosen)
        if place.in_function:

            def work() -> str:
                if not patch(place.file, place.number):
                    return "not found"
                return _first_red([tests[name] for name in names])

            answer = _forked(work, patience)
            if answer not in ("not found", "the clock"):
                return answer.removeprefix("-")
        return _fresh(place, names[:150], patience + 20).removeprefix("-")

    def _say(self, text: str) -> None:
        print(text, file=sys.__stdout__, flush=True)


def _results() -> dict[tuple[Any, ...], str]:
    """Place → who noticed it, of earlier runs; survivors are tried again."""
    file = KEPT / "results.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return {tuple(one["place"]): one["who"] for one in lines if one["who"]}


def _explained() -> list[dict[str, str]]:
    if not EXPLAINED.exists():
        return []
    mutants: list[dict[str, str]] = tomllib.loads(EXPLAINED.read_text())["mutant"]
    return mutants


def main(arguments: list[str]) -> int:
    """Run, and fail if more than one in twenty is neither noticed nor explained."""
    numbers = [float(one) for one in arguments[:3]]
    most, seed, seconds = numbers + [300, 0, 3600][len(numbers) :]
    KEPT.mkdir(parents=True, exist_ok=True)
    run = Run(int(most), int(seed), seconds, tuple(arguments[3:]))
    left_out = [f"--ignore={ROOT / one}" for one in BLIND]
    os.chdir(ROOT)
    pytest.main([*_options(), "-q", *left_out], plugins=[run])
    return int(run.counts["survived"] > 0.05 * sum(run.counts.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
