"""Time the library beside its peers and floors: ``python benchmarks/run.py [OPTION …] [ROW …]``.

Every contender runs in separate processes, on one thread, after a warm-up. Rounds of all contenders
of a row alternate, so that other work on the machine affects them alike; what counts is processor
time, which on one thread equals the wall-clock time on a quiet machine. The table shows the median
of all repetitions, the range of the middle half, and the ratio to ours. ``--peers PYTHON`` names
the interpreter of an environment in which peers live by themselves; ``make bench`` sets one up.

Every row is saved to ``results.json`` in the folder of results as soon as it is measured, so that a
run may end at any time: ``--resume`` skips the rows that this commit has already measured. ROWs
select those whose names contain one of them, ``--list`` names them all. ``--files 1e8`` adds the
rows of ``scale.py`` for a file of so many rows. ``--write`` writes ``RESULTS.md`` once all rows are
there, with the goals that are missed, by how much and why. A contender that fails, or takes longer
than ``--limit`` seconds, is reported, and the next one follows. A missed goal is no error: ratios
can be compared between machines, seconds cannot.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
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
GROWING, FILES = "growth: ", "file: "
Result = dict[str, Any]  # of one row


class FileGoal(NamedTuple):
    """The most times the scan and GiB that a task of files may take, and why it may miss them."""

    times: float
    memory: float
    why: str

    @property
    def text(self) -> str:
        """The goal in words."""
        times = f"≤ {self.times:g} × scan, " if self.times < math.inf else ""
        return f"{times}≤ {self.memory:g} GiB"


NOT_ANALYSED = "not analysed, because the goal was met before"
OF_FILES = {
    "ranks, exact": FileGoal(
        8.0,
        1.5,
        "half of it is the sort of runs of cases, two fifths the merge of their ranges with the "
        "hull of each",
    ),
    "ranks, exact, weighted": FileGoal(
        12.0,
        2.5,
        "scores and weights travel together, 16 bytes for each case, and are sorted twice, in runs "
        "and in ranges, which is most of the time; the scan does not read the weights at all",
    ),
    "ranks, bins": FileGoal(4.0, 0.35, NOT_ANALYSED),
    "report, exact": FileGoal(
        10.0,
        1.5,
        "a third is the sort of runs of cases, a quarter the merge of their ranges with the hull "
        "of each, a fifth the log loss and the Brier score of every case, and a fifth two more "
        "queries, which check all columns and count the decisions",
    ),
    "report, bins": FileGoal(math.inf, 0.5, NOT_ANALYSED),
}


def contenders(*arguments: str, limit: float = 60, python: str = sys.executable) -> Any:
    """The answer of a fresh process of ``contenders.py``, or a sentence if it fails."""
    command = [python, str(HERE / "contenders.py"), *arguments]
    source = {"PYTHONPATH": str(HERE.parent / "src")} if python == sys.executable else {}
    try:
        completed = subprocess.run(
            command,
            env={**environment(), **ONE_THREAD, **source},
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


def environment() -> dict[str, str]:
    """That of a process which keeps the modules that it compiles for those after it."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / "stakes-bench-pyc")}


def measure(row: str, names: list[str], limit: float, peers: str) -> dict[str, Result]:
    """Time and memory of each contender of a row, measured in turns."""
    timings: dict[str, Result] = {name: {"seconds": [], "peak_mib": None} for name in names}
    for _ in range(ROUNDS):
        for name, timing in timings.items():
            if "failed" in timing:
                continue
            ours = name.startswith("stakes") or name.isdecimal()
            python = sys.executable if ours else peers
            answer = contenders(row, name, str(REPETITIONS), limit=limit, python=python)
            if isinstance(answer, str):
                print(f"{row}, {name}: {answer}", file=sys.stderr, flush=True)
                timing["failed"] = answer
            else:
                timing["seconds"] += answer["seconds"]
                timing["peak_mib"] = answer["peak_mib"]
    return timings


def measure_file(task: str, size: int, folder: str) -> dict[str, Result]:
    """A task of ``scale.py``: its line of the table, or a sentence if it fails."""
    command = [sys.executable, str(HERE / "scale.py"), str(size), "--turns", "5", "--only", task]
    command += ["--folder", folder]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in completed.stdout.splitlines() if f"| {task} | " in line]
    if completed.returncode or not lines or "failed" in lines[0]:
        last = completed.stderr.strip().splitlines()[-1:] or ["no line was printed"]
        print(f"{task}: {last[0]}", file=sys.stderr, flush=True)
        return {task: {"failed": last[0]}}
    return {task: {"line": lines[0]}}


def middle(timing: Result) -> float:
    """The median of the seconds; nan for a contender that failed."""
    failed = "failed" in timing or not timing["seconds"]
    return math.nan if failed else statistics.median(timing["seconds"])


def milliseconds(seconds: float) -> str:
    """Three digits at least, and never a power of ten."""
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def lines_of(row: str, entry: Result, timings: dict[str, Result]) -> Iterator[str]:
    """The lines of the table for one row, ours first."""
    ours = middle(next(iter(timings.values())))
    goals = ", ".join(goal_text(*goal) for goal in entry["goals"])
    for place, (name, timing) in enumerate(timings.items()):
        start = f"| {'' if place else row} | {name} | "
        end = f" | {'' if place else goals} |"
        if "failed" in timing:
            yield f"{start}{timing['failed']} | | |{end}"
            continue
        low, _, high = statistics.quantiles(timing["seconds"], n=4)
        memory = "" if timing["peak_mib"] is None else f"{timing['peak_mib']:.0f}"
        ratio = f"{middle(timing) / ours:.2f}" if place else ""
        yield (
            f"{start}{milliseconds(middle(timing))} | {milliseconds(low)} to {milliseconds(high)} "
            f"| {memory} | {ratio}{end}"
        )


def growth_lines(name: str, timings: dict[str, Result]) -> Iterator[str]:
    """Milliseconds, the exponent of the growth from one size to the next, bytes for each row."""
    before: tuple[float, float] | None = None
    for size, timing in timings.items():
        if "failed" in timing:
            yield f"| {name} | {float(size):.0e} | {timing['failed']} | | |"
            continue
        rows, seconds = float(size), middle(timing)
        exponent = ""
        if before is not None:
            exponent = f"{math.log(seconds / before[1]) / math.log(rows / before[0]):.2f}"
        before = rows, seconds
        known = rows >= 1e6 and timing["peak_mib"] is not None
        memory = f"{timing['peak_mib'] * 2**20 / rows:.0f}" if known else ""
        yield f"| {name} | {rows:.0e} | {milliseconds(seconds)} | {exponent} | {memory} |"


def goal_text(kind: str, number: float, contender: str) -> str:
    """A goal in words."""
    return {
        "faster": f"≥ {number:g} × {contender}",
        "within": f"≤ {number:g} × {contender}",
        "seconds": f"≤ {number:g} s",
        "slower": f"{contender.removeprefix('stakes, ')} ≤ {number:g} × that",
    }[kind]


def missed(rows: dict[str, Result], kept: dict[str, Result]) -> Iterator[str]:
    """A sentence for every goal that is missed: by how much, and why."""
    for row, entry in rows.items():
        timings = kept[row]["timings"]
        ours = middle(next(iter(timings.values())))
        for kind, number, contender in entry["goals"]:
            theirs = ours if not contender else middle(timings[contender])
            reached = {"within": ours / theirs, "seconds": ours}.get(kind, theirs / ours)
            is_met = reached >= number if kind == "faster" else reached <= number
            if not is_met:
                shown = f"{reached:.3g}" + (" s" if kind == "seconds" else "")
                goal = goal_text(kind, number, contender)
                yield f"- **{row}**: {shown} ({goal}): {entry['why']}."
    for row, result in kept.items():
        for task, timing in result["timings"].items():
            if not row.startswith(FILES):
                continue
            if "failed" in timing:
                yield f"- **{row}**: failed: {timing['failed']}."
                continue
            *_, times, _, memory = timing["line"].strip(" |").split(" | ")
            if float(times) > OF_FILES[task].times or float(memory) > OF_FILES[task].memory:
                goal, why = OF_FILES[task].text, OF_FILES[task].why
                yield f"- **{row}**: {times} × the scan and {memory} GiB ({goal}): {why}."


def machine(peers: str) -> Result:
    """The machine, the versions and the commit that the figures were measured with."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        models = [line.split(":")[1].strip() for line in text.splitlines() if "model name" in line]
        processor = models[0] if models else processor
    ours, theirs = versions(sys.executable, PACKAGES), versions(peers, OF_PEERS)
    return {
        "commit": commit(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan,
        "machine": f"{processor}, {os.cpu_count()} cores; Python {platform.python_version()}, "
        f"{ours}; peers with {theirs}",
    }


def versions(python: str, packages: tuple[str, ...]) -> str:
    """The versions of packages in the environment of an interpreter."""
    command = [python, "-c", VERSIONS, *packages]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def commit() -> str:
    """The commit of the working tree, marked where code has changed since."""

    def told(*command: str) -> str:
        asked = ["git", "-C", str(HERE.parent), *command]
        return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()

    changed = told("status", "--porcelain", "--", "src", "benchmarks/*.py")
    return (told("rev-parse", "--short", "HEAD") or "unknown") + ("-dirty" if changed else "")


def page(kept: dict[str, Result], rows: dict[str, Result]) -> str:
    """RESULTS.md, from all rows that were measured."""
    lines = [
        "# Benchmarks",
        "",
        f"Medians of {ROUNDS * REPETITIONS} calls (fewer where calls take more than ten seconds) "
        "in milliseconds of processor time, the middle half, memory beyond the data in MiB, and "
        "the ratio to ours: above one, ours is faster. One thread each (Polars' sort as well), "
        "each contender in processes of its own, peers in an environment of their own; "
        "`make bench` repeats it.",
        "",
        *machines(kept),
        "",
        "| work | contender | ms | middle half | MiB | ratio | goal |",
        "|---|---|---|---|---|---|---|",
    ]
    for row, entry in rows.items():
        lines += lines_of(row, entry, kept[row]["timings"])
    lines += ["", "## Growth", "", "The exponent is that of the time from the size before.", ""]
    lines += ["| work | rows | ms | exponent | bytes for each row |", "|---|---|---|---|---|"]
    for row, result in kept.items():
        if row.startswith(GROWING):
            lines += growth_lines(row.removeprefix(GROWING), result["timings"])
    files = [
        f"{timing.get('line') or f'| | {task} | failed | | | | |'} {OF_FILES[task].text} |"
        for row, result in kept.items()
        if row.startswith(FILES)
        for task, timing in result["timings"].items()
    ]
    if files:
        lines += ["", "## Rows of Parquet", ""]
        lines += ["By `scale.py`: medians of five turns. The scan is DuckDB's, on all cores. Ranks"]
        lines += ["are the AUC, the hull, the best threshold and H.", ""]
        lines += ["| rows | task | s | processor s | × scan | processor × scan | GiB | goal |"]
        lines += ["|---" * 8 + "|", *files]
    lines += ["", "## Goals that are missed, by how much and why", ""]
    lines += ["The goals were set on another machine: ratios travel, seconds do not.", ""]
    lines += list(missed(rows, kept)) or ["None."]
    return "\n".join(lines) + "\n"


def machines(kept: dict[str, Result]) -> list[str]:
    """The machines and commits of all rows, each once, with their loads; a few rows are named."""
    places: dict[str, list[str]] = {}
    for row, result in kept.items():
        places.setdefault(f"{result['machine']}; commit {result['commit']}", []).append(row)
    lines = []
    for text, rows in places.items():
        loads = [kept[row]["load"] for row in rows]
        names = f"; these rows: {'; '.join(rows)}" if 2 * len(rows) < len(kept) else ""
        lines.append(f"{text}; load {min(loads):.1f} to {max(loads):.1f}{names}.")
    return lines


def options() -> argparse.Namespace:
    """What the command line asks for; peers and a folder that cannot be used are refused."""
    parser = argparse.ArgumentParser(description="Time the library beside its peers and floors.")
    parser.add_argument("rows", nargs="*", help="parts of the names of rows; all by default")
    parser.add_argument("--write", action="store_true", help="write RESULTS.md from all rows")
    parser.add_argument("--resume", action="store_true", help="skip rows that are saved already")
    parser.add_argument("--list", action="store_true", help="list the rows and end")
    parser.add_argument(
        "--limit", type=float, default=240, help="most seconds of one process; 240 by default"
    )
    parser.add_argument(
        "--files",
        type=lambda text: int(float(text)),
        action="append",
        default=[],
        metavar="ROWS",
        help="measure scale.py with a Parquet file of so many rows; may be repeated",
    )
    parser.add_argument(
        "--folder", type=Path, default=HERE, help="where results are written; here by default"
    )
    parser.add_argument(
        "--peers", default=sys.executable, help="interpreter with the peers; this one by default"
    )
    asked = parser.parse_args()
    try:
        versions(asked.peers, ("numpy",))
        asked.folder.mkdir(parents=True, exist_ok=True)
        (asked.folder / "results.json").touch()
    except (OSError, subprocess.CalledProcessError) as error:
        parser.error(str(error))
    return asked


def saved(store: Path) -> dict[str, Result]:
    """The rows that were measured before."""
    text = store.read_text("utf-8")
    return json.loads(text) if text else {}


def save(kept: dict[str, Result], store: Path) -> None:
    """Replace the saved rows, all or none."""
    partial = store.with_suffix(".part")
    partial.write_text(json.dumps(kept, indent=1), "utf-8")
    partial.replace(store)


def write(kept: dict[str, Result], rows: dict[str, Result], needed: list[str], to: Path) -> None:
    """Write the page, unless rows are missing."""
    lacking = [row for row in needed if row not in kept]
    if lacking:
        sys.exit(f"{to.name} is not written: {len(lacking)} rows are missing, first {lacking[0]!r}")
    to.write_text(page(kept, rows), "utf-8")


def main() -> None:
    """Measure, print and save the rows that are asked for, and write the page if asked to."""
    asked, known = options(), contenders()
    if isinstance(known, str):
        sys.exit(f"contenders.py {known}")
    rows, sizes = known["rows"], [str(size) for size in known["sizes"]]
    tasks = {row: entry["contenders"] for row, entry in rows.items()}
    tasks |= {f"{GROWING}{name}": sizes for name in known["growth"]}
    files = {
        f"{FILES}{size:,} rows, {task}": (task, size) for size in asked.files for task in OF_FILES
    }
    every = [*tasks, *files]
    chosen = [row for row in every if not asked.rows or any(part in row for part in asked.rows)]
    if not chosen:
        sys.exit(f"no row contains {' or '.join(map(repr, asked.rows))}; --list names them all")
    if asked.list:
        print("\n".join(chosen))
        return
    kept = saved(asked.folder / "results.json")
    with tempfile.TemporaryDirectory(prefix="stakes-bench-") as spool:
        for row in chosen:
            now = machine(asked.peers)
            if asked.resume and is_current(kept.get(row), now["commit"]):
                print(f"{row}: is saved already")
                continue
            if row in files:
                timings = measure_file(*files[row], spool)
                lines = iter([timing.get("line", "") for timing in timings.values()])
            elif row in rows:
                timings = measure(row, tasks[row], asked.limit, asked.peers)
                lines = lines_of(row, rows[row], timings)
            else:
                short = row.removeprefix(GROWING)
                timings = measure(short, tasks[row], asked.limit, asked.peers)
                lines = growth_lines(short, timings)
            kept[row] = {**now, "timings": timings}
            save(kept, asked.folder / "results.json")
            print(*lines, sep="\n", flush=True)
    if asked.write:
        write(kept, rows, every, asked.folder / "RESULTS.md")


def is_current(result: Result | None, commit: str) -> bool:
    """Whether a row was measured at this commit, and no contender failed."""
    if result is None or result["commit"] != commit:
        return False
    return not any("failed" in timing for timing in result["timings"].values())


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted: the rows before this one are saved; --resume goes on")
