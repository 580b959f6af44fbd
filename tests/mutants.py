"""Change one operator, comparison or constant, and see whether the tests of its room notice.

``python tests/mutants.py [MUTANTS] [SEED] [SECONDS] [ROOM …]`` (``make mutants``) draws mutants of
the rooms below with a seed, until there are enough or the time is up. Each is written into a copy
of the source, where the examples in its own docstrings run first, and then the quick tests of the
room. Survivors are listed: each is a test that is missing, or a change that changes nothing; those
that were looked at and change nothing are in `EQUIVALENT`, with the reason.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src"
LONG = 300  # seconds: a mutant that runs on is noticed

TESTS = {
    "_arithmetic": "test_arithmetic test_cost",
    "agreement": "test_agreement",
    "calibration": "test_calibration test_calibration_maps test_calibration_degenerate",
    "conditions": "test_conditions test_conversions",
    "curve": "test_curve test_curves test_regions",
    "curves": "test_curves test_capacity_curves",
    "decide": "test_decide",
    "limits": "test_limits test_price_limits test_rule_limits",
    "measures": "test_cost test_confusion test_confusion_grid test_clinical_tables",
    "ranking": "test_ranking test_laws",
    "regions": "test_regions",
    "rule": "test_rule test_rule_files",
    "scoring": "test_scoring",
    "tally": "test_tally test_tallies test_pooling",
    "thresholds": "test_thresholds",
}

# What was looked at and cannot be noticed: file, line of code, and why.
EQUIVALENT: dict[tuple[str, str], str] = {}

_OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
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


def places(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int]]:
    """Every node that can be changed, the name of its part, and which of several it is."""
    for node in _code(tree):
        if isinstance(node, ast.BinOp | ast.BoolOp) and type(node.op) in _OPERATORS:
            yield node, "op", 0
        elif isinstance(node, ast.Compare):
            for place, one in enumerate(node.ops):
                if type(one) in _OPERATORS:
                    yield node, "ops", place
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            yield node, "value", 0


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but annotations, decorators, texts and complaints."""
    for name, part in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list") or isinstance(tree, ast.JoinedStr):
            continue
        for node in part if isinstance(part, list) else [part]:
            if isinstance(node, ast.AST) and not isinstance(node, ast.Raise):
                yield node
                yield from _code(node)


def change(node: ast.AST, part: str, place: int) -> str:
    """Change the node, and say how."""
    if isinstance(node, ast.Constant):
        old: Any = node.value
        node.value = not old if isinstance(old, bool) else old + 1
        return f"{old} → {node.value!r}"
    old = getattr(node, part) if part == "op" else getattr(node, part)[place]
    new = _OPERATORS[type(old)]()
    if part == "op":
        setattr(node, part, new)
    else:
        getattr(node, part)[place] = new
    return f"{type(old).__name__} → {type(new).__name__}"


def files_of(room: str) -> list[Path]:
    """The files of a room."""
    folder = SOURCE / "stakes" / room
    return sorted(folder.glob("[!_]*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def mutant(path: Path, rng: np.random.Generator) -> tuple[str, str, str]:
    """The source with one change, the line that was changed, and how."""
    tree = ast.parse(path.read_text())
    found = list(places(tree))
    if not found:
        return "", "", ""
    node, part, place = found[rng.integers(len(found))]
    line = path.read_text().splitlines()[node.lineno - 1].strip()  # type: ignore[attr-defined]
    how = change(node, part, place)
    return ast.unparse(tree), line, how


def noticed(copy: Path, module: str, tests: list[str]) -> str | None:
    """What noticed the change in a copy of the source: an example, a test, the clock; or None."""
    env = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    env["OPENBLAS_NUM_THREADS"] = "1"
    examples = (
        f"import doctest, sys, importlib as i; m = i.import_module({module!r}); "
        f"sys.exit(doctest.testmod(m).failed > 0)"
    )
    files = [str(HERE / f"{name}.py") for name in tests]
    pytest = ["-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider", *files]
    for what, command in (("an example", ["-c", examples]), ("a test", pytest)):
        try:
            done = subprocess.run(
                [sys.executable, *command], env=env, capture_output=True, timeout=LONG, check=False
            )
        except subprocess.TimeoutExpired:
            return "the clock"
        if done.returncode:
            return what
    return None


def main(most: int, seed: int, seconds: int, rooms: list[str]) -> int:
    """Try mutants, and list those that nothing noticed."""
    rng, end, counts = np.random.default_rng(seed), time.monotonic() + seconds, [0, 0, 0]
    with tempfile.TemporaryDirectory(prefix="stakes-mutants-") as folder:
        copy = Path(folder)
        shutil.copytree(SOURCE / "stakes", copy / "stakes", ignore=lambda *_: ["__pycache__"])
        while sum(counts) < most and time.monotonic() < end:
            room = rooms[rng.integers(len(rooms))]
            files = files_of(room)
            path = files[rng.integers(len(files))]
            text, line, how = mutant(path, rng)
            if not text:
                continue
            name = str(path.relative_to(SOURCE))
            target = copy / name
            target.write_text(text)
            module = name.removesuffix(".py").replace("/", ".")
            who = noticed(copy, module, TESTS[room].split())
            target.write_text(path.read_text())
            known = (name, line) in EQUIVALENT
            counts[0 if who else 1 if known else 2] += 1
            if not who:
                why = EQUIVALENT.get((name, line), "SURVIVED")
                print(f"{name}: {line}  [{how}]  {why}", flush=True)
    total = sum(counts)
    print(
        f"{total} mutants (seed {seed}): {counts[0]} noticed, {counts[1]} known to change nothing, "
        f"{counts[2]} survived"
    )
    return int(counts[2] > 0.05 * total)


if __name__ == "__main__":
    numbers = [int(float(one)) for one in sys.argv[1:4]]
    most, seed, seconds = numbers + [300, 0, 3600][len(numbers) :]
    sys.exit(main(most, seed, seconds, sys.argv[4:] or sorted(TESTS)))
