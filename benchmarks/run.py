"""Time the library beside its peers and floors: ``python benchmarks/run.py [OPTION …] [ROW …]``.

Every contender runs in separate processes, on one thread, after a warm-up. Rounds of all contenders
of a row alternate, so that other work on the machine affects them alike; what counts is processor
time, which on one thread equals the wall-clock time on a quiet machine. The table shows the median
of all repetitions, the range of the middle half, and the ratio to ours. ``--peers PYTHON`` names
the interpreter of an environment in which peers live by themselves; ``make bench`` sets one up.

Every row is saved to ``results.json`` in the folder of results as soon as it is measured, so that a
run may end at any time: ``--resume`` skips the rows that are already there. ROWs select those whose
names contain one of them, ``--list`` names them all. ``--write`` writes ``RESULTS.md`` from all
saved rows, also after an error, and ``--files 1e8`` adds the rows of ``scale.py`` for files
of so many rows. A contender that fails, or takes longer than ``--limit`` seconds, is reported, and
the next one follows. A missed goal is no error: ratios can be compared between machines, seconds
cannot.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MISSED = HERE / "missed.md"  # why goals are missed: written by hand, the end of RESULTS.md
ROUNDS = 2
REPETITIONS = 3  # in each round
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"), "1"
)
PACKAGES = ("numpy", "scipy", "pandas", "polars", "pyarrow")
OF_PEERS = (*PACKAGES, "scikit-learn", "hmeasure", "dcurves")
VERSIONS = """
import sys
from importlib import metadata
known = {package.name.lower(): package.version for package in metadata.distributions()}
print(*(f"{name} {known.get(name, 'missing')}" for name in sys.argv[1:]), sep=", ")
"""
GROWING, FILES = "growth: ", "rows of Parquet, "
Timing = dict[str, Any]


def contenders(*arguments: str, limit: float = 60, python: str = sys.executable) -> Any:
    """The answer of a fresh process of ``contenders.py``, or a sentence if it fails."""
    command = [python, str(HERE / "contenders.py"), *arguments]
    source = {"PYTHONPATH": str(HERE.parent / "src")} if python == sys.executable else {}
    try:
        completed = subprocess.run(
            command,
            env={**os.environ, **ONE_THREAD, **source},
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        return f"took more than {limit:g} s"
    if completed.returncode:
        code = completed.returncode
        last = completed.stderr.strip().splitlines()[-1:] or [f"exit code {code}"]
        return f"failed: {last[0]}"
    return json.loads(completed.stdout)


def measure(row: str, names: list[str], limit: float, peers: str) -> dict[str, Timing]:
    """Time and memory of each contender of a row, measured in turns."""
    ours = {name for name in names if name.startswith("stakes") or name.isdecimal()}
    timings: dict[str, Timing] = {name: {"seconds": [], "peak_mib": 0.0} for name in names}
    for _ in range(ROUNDS):
        for name in names:
            if "failed" in timings[name]:
                continue
            python = sys.executable if name in ours else peers
            answer = contenders(row, name, str(REPETITIONS), limit=limit, python=python)
            if isinstance(answer, str):
                print(f"{row}, {name}: {answer}", file=sys.stderr, flush=True)
                timings[name]["failed"] = answer
            else:
                timings[name]["seconds"] += answer["seconds"]
                timings[name]["peak_mib"] = max(timings[name]["peak_mib"], answer["peak_mib"])
    return timings


def lines_of(row: str, goal: str, timings: dict[str, Timing]) -> Iterator[str]:
    """The lines of the table for one row, ours first."""
    ours = next(iter(timings.values()))["seconds"]
    for place, (name, timing) in enumerate(timings.items()):
        start = f"| {'' if place else row} | {name} | "
        end = f" | {'' if place else goal} |"
        if not timing["seconds"]:
            yield f"{start}{timing.get('failed', '')} | | | {end}"
            continue
        middle = statistics.median(timing["seconds"])
        low, high = spread(timing["seconds"])
        ratio = f"{middle / statistics.median(ours):.2f}" if place and ours else ""
        yield (
            f"{start}{1e3 * middle:.4g} | {1e3 * low:.3g} to {1e3 * high:.3g} | "
            f"{timing['peak_mib']:.0f} | {ratio}{end}"
        )


def spread(seconds: list[float]) -> tuple[float, float]:
    """The quartiles."""
    if len(seconds) < 2:
        return seconds[0], seconds[0]
    low, _, high = statistics.quantiles(seconds, n=4)
    return low, high


def growth_lines(name: str, timings: dict[str, Timing]) -> Iterator[str]:
    """Milliseconds, the exponent of the growth from one size to the next, bytes for each row."""
    before: tuple[float, float] | None = None
    for size, timing in timings.items():
        if not timing["seconds"]:
            yield f"| {name} | {size} | {timing.get('failed', '')} | | |"
            continue
        rows, middle = float(size), statistics.median(timing["seconds"])
        exponent = ""
        if before is not None:
            exponent = f"{math.log(middle / before[1]) / math.log(rows / before[0]):.2f}"
        before = rows, middle
        memory = f"{timing['peak_mib'] * 2**20 / rows:.0f}" if rows >= 1e6 else ""
        yield f"| {name} | {rows:.0e} | {1e3 * middle:.4g} | {exponent} | {memory} |"


def machine(peers: str) -> str:
    """The machine and the versions that the figures were measured with."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        models = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
        processor = models[0] if models else processor
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    cores = f"{processor}, {os.cpu_count()} cores{load}"
    ours, theirs = versions(sys.executable, PACKAGES), versions(peers, OF_PEERS)
    return f"{cores}; Python {platform.python_version()}, {ours}; peers with {theirs}"


def versions(python: str, packages: tuple[str, ...]) -> str:
    """The versions of packages in the environment of an interpreter."""
    command = [python, "-c", VERSIONS, *packages]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def page(kept: dict[str, Any], rows: dict[str, Any]) -> str:
    """RESULTS.md, from all rows that were measured."""
    lines = [
        "# Benchmarks",
        "",
        f"Medians of {ROUNDS * REPETITIONS} calls in milliseconds of processor time, the middle "
        "half, memory beyond the data in MiB, and the ratio to ours: above one, ours is faster. "
        "One thread each, each contender in processes of its own, peers in an environment of their "
        "own; `make bench` repeats it.",
        "",
        *machines(kept),
        "",
        "| work | contender | ms | middle half | MiB | ratio | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    for row, (goal, _) in rows.items():
        if row in kept:
            lines += lines_of(row, goal, kept[row]["found"])
    lines += ["", "## Growth", "", "The exponent is that of the time from the size before.", ""]
    lines += ["| work | rows | ms | exponent | bytes for each row |", "|---|---|---|---|---|"]
    for row, result in kept.items():
        if row.startswith(GROWING):
            lines += growth_lines(row.removeprefix(GROWING), result["found"])
    files = [
        line for row, result in kept.items() if row.startswith(FILES) for line in result["lines"]
    ]
    if files:
        lines += ["", "## Rows of Parquet", "", "By `scale.py`: seconds on the clock.", ""]
        lines += ["| rows | task | s | processor s | × scan | processor × scan | GiB |"]
        lines += ["|---" * 7 + "|", *files]
    return "\n".join(lines) + "\n\n" + MISSED.read_text("utf-8")


def machines(kept: dict[str, Any]) -> list[str]:
    """The machines of all rows, each once, with the range of their loads."""
    loads: dict[str, list[float]] = {}
    for result in kept.values():
        text, load, rest = re.split(r", load ([\d.]+) at the start", result["machine"])
        loads.setdefault(text + rest, []).append(float(load))
    return [f"{text}; load {min(each)} to {max(each)}." for text, each in loads.items()]


def of_files(size: float) -> list[str]:
    """The lines of ``scale.py`` for files of this many rows."""
    command = [sys.executable, str(HERE / "scale.py"), f"{size:g}", "--turns", "5"]
    command += ["--only", "ranks", "report, exact", "report, bins"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    return [line for line in completed.stdout.splitlines() if line.startswith(f"| {size:.0e}")]


def main() -> None:
    """Measure, print and save the rows that are asked for, and write the page if asked to."""
    parser = argparse.ArgumentParser(description="Time the library beside its peers and floors.")
    parser.add_argument("rows", nargs="*", help="parts of the names of rows")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md")
    parser.add_argument("--resume", action="store_true", help="skip the rows that are saved")
    parser.add_argument("--list", action="store_true", help="list the rows")
    parser.add_argument("--limit", type=float, default=240, help="seconds for one process")
    parser.add_argument("--files", type=float, nargs="*", default=[], help="rows of Parquet files")
    parser.add_argument("--folder", type=Path, default=HERE, help="of the results")
    parser.add_argument("--peers", default=sys.executable, help="Python of the peers")
    asked = parser.parse_args()
    known = contenders()
    rows, sizes = known["rows"], [str(size) for size in known["sizes"]]
    tasks = {row: names for row, (_, names) in rows.items()}
    tasks |= {f"{GROWING}{name}": sizes for name in known["growth"]}
    tasks |= {f"{FILES}{size:.0e}": [] for size in asked.files}
    chosen = [row for row in tasks if not asked.rows or any(part in row for part in asked.rows)]
    if asked.list:
        print("\n".join(chosen))
        return
    asked.folder.mkdir(parents=True, exist_ok=True)
    store = asked.folder / "results.json"
    kept: dict[str, Any] = json.loads(store.read_text("utf-8")) if store.exists() else {}
    try:
        for row in chosen:
            if asked.resume and row in kept:
                continue
            kept[row] = {"machine": machine(asked.peers)}
            if row.startswith(FILES):
                kept[row]["lines"] = of_files(float(row.removeprefix(FILES)))
            else:
                timed = row.removeprefix(GROWING), tasks[row], asked.limit, asked.peers
                kept[row]["found"] = measure(*timed)
            store.write_text(json.dumps(kept, indent=1), "utf-8")
            shown = kept[row].get("lines") or (
                growth_lines(row, kept[row]["found"])
                if row.startswith(GROWING)
                else lines_of(row, rows[row][0], kept[row]["found"])
            )
            print("\n".join(shown), flush=True)
    finally:
        if asked.write:
            (asked.folder / "RESULTS.md").write_text(page(kept, rows), "utf-8")


if __name__ == "__main__":
    main()
