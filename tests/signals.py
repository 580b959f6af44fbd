"""Signals at random moments: the command ends with their code, and leaves nothing behind.

``python tests/signals.py [SIGNALS] [SEED]`` runs commands on 100,000 rows, sends each a SIGINT,
SIGTERM or SIGHUP between its start and a little after its end, and fails if one ends with another
exit code than 128 and the number of the signal, or 0 where it was done; if it shows a traceback;
if a file is not whole; or if something is left behind. While Python itself starts, before the
command can handle signals, it ends by the signal.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from stakes import Problem

N = 100_000
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
OLD = '{"an": "old report"}'
NAMED = ("-p", "p.toml", "--model", "p")
TRUTH = (*NAMED, "--truth", "truth")
COMMANDS = {
    "evaluate": ("rows.csv", *TRUTH, "--replicates", "20", "--html", "a.html", "--json", "a.json"),
    "decide": ("rows.csv", *NAMED, "-o", "a.csv"),
    "calibrate": ("fit", "rows.csv", *TRUTH, "-o", "map.json"),
    "problem": ("show", "p.toml"),
    "--help": (),
}
WRITTEN = ("a.html", "a.csv", "map.json")


def prepare() -> set[str]:
    """Write the inputs into the current folder; the names of what is there then."""
    costs = [[0, 25], [180, 0]]
    Problem(costs, classes=["legit", "fraud"], decisions=["approve", "block"]).to_toml("p.toml")
    scores = [k * 7919 % 10_007 / 10_007 for k in range(N)]
    labels = ["fraud" if k % 5 < 4 * score else "legit" for k, score in enumerate(scores)]
    lines = (f"{label},{score}\n" for label, score in zip(labels, scores, strict=True))
    Path("rows.csv").write_text("truth,p\n" + "".join(lines))
    Path("spool").mkdir()
    return {path.name for path in Path().iterdir()} | {"a.json"}


def start(name: str) -> subprocess.Popen[str]:
    """The command, as a shell would start it."""
    return subprocess.Popen(
        [sys.executable, "-m", "stakes", name, *COMMANDS[name]],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(Path("spool").absolute())},
        preexec_fn=lambda: [signal.signal(number, signal.SIG_DFL) for number in SIGNALS],
    )


def handles(process: int) -> bool:
    """Whether a process has handlers for signals already."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def faults(code: int, number: int, ready: bool, told: str, inputs: set[str]) -> list[str]:
    """What is wrong after a command has ended."""
    early = code == -number and not ready
    wrong = [] if early or code in (0, 128 + number) else [f"exit code {code}"]
    if "Traceback" in told and not early:
        wrong.append("a traceback")
    report = Path("a.json").read_text()
    if report != OLD and not (report.startswith('{"schema":') and report.endswith("}")):
        wrong.append("a report that is not whole")
    rows = Path("a.csv")
    if rows.exists() and rows.read_text().count("\n") != N + 1:
        wrong.append("rows that are not whole")
    left = [path.name for path in (*Path().iterdir(), *Path("spool").iterdir())]
    return wrong + sorted(set(left) - inputs - set(WRITTEN))


def main(most: int, seed: int) -> int:
    """Send the signals, and count how the commands end."""
    rng, inputs = random.Random(seed), prepare()
    seconds, ends, wrong = {}, Counter[str](), 0
    for name in COMMANDS:
        begin = time.monotonic()
        start(name).communicate()
        seconds[name] = time.monotonic() - begin
    for _ in range(most):
        name, number = rng.choice(list(COMMANDS)), rng.choice(SIGNALS)
        for file in WRITTEN:
            Path(file).unlink(missing_ok=True)
        Path("a.json").write_text(OLD)
        command = start(name)
        time.sleep(rng.uniform(0, 1.15 * seconds[name]))
        ready = handles(command.pid)
        command.send_signal(number)
        told = command.communicate(timeout=300)[1]
        code = command.returncode
        ends["done" if code == 0 else "ended" if code == 128 + number else "as Python began"] += 1
        for fault in faults(code, number, ready, told, inputs):
            wrong += 1
            print(f"{name}, {number.name}: {fault}\n{told[-500:]}")
    print(f"{most} signals (seed {seed}): {dict(ends)}, {wrong} faults")
    return int(wrong > 0)


if __name__ == "__main__":
    numbers = [int(number) for number in sys.argv[1:3]]
    with tempfile.TemporaryDirectory(prefix="stakes-signals-") as folder:
        os.chdir(folder)
        status = main(*(numbers + [100, 0][len(numbers) :]))
        os.chdir("/")
    sys.exit(status)
