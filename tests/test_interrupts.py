"""Ctrl-C while an engine works: it ends at once, says so, and leaves nothing behind."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("narwhals")
pytest.importorskip("polars")
pytest.importorskip("pyarrow")

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.csv

from engine_reports import THREE, three_classes
from stakes import Problem, evaluate_frame
from stakes.adapters.duck import opened_files
from stakes.adapters.engine_work import Advance, Watch, interruptible
from stakes.calibration import Temperature

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
PROMPT = 10.0  # seconds, on a machine that has much else to do; the work would take longer
COMMAND = """
from stakes.cli import main, output
class Impatient:
    def __init__(self, seconds, shows):
        self.start = shows
    def cancel(self):
        pass
    def join(self):
        pass
output.Timer = Impatient
main()
"""
CALLED = """
import os, signal, sys, threading, time
import numpy as np, polars as pl
from stakes import Posteriors, Problem, evaluate_frame
frame = sys.argv[2]
if sys.argv[1] == "polars":
    rows = pl.scan_parquet(frame).with_columns(p=pl.col("p").sin().abs())
    frame = pl.concat([rows] * 3)
sent = []
def interrupt():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
threading.Timer(0.7, interrupt).start()
try:
    models = {f"m{k}": Posteriors("p") for k in range(4)}
    evaluate_frame(frame, Problem.binary(false_alarm=1, miss=9), y_true="y", models=models,
                   calibrator=None, engine=sys.argv[1], memory_limit="300MiB")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent[0])
"""


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> str:
    """Tens of millions of rows, most of them the same."""
    folder = tmp_path_factory.mktemp("rows")
    query = "SELECT (i % 3 = 0)::INT AS y, abs(sin(i * 0.618)) AS p FROM range(2000000) AS t(i)"
    duckdb.connect().execute(f"COPY ({query}) TO '{folder / 'part-0.parquet'}' (FORMAT parquet)")
    for k in range(1, 20):
        shutil.copy(folder / "part-0.parquet", folder / f"part-{k}.parquet")
    return str(folder / "part-*.parquet")


@POSIX
@pytest.mark.slow
def test_a_terminal_shows_the_pass_and_an_interrupt_ends_the_engine_at_once(many, tmp_path):
    import pty

    Problem.binary(false_alarm=1, miss=9).to_toml(tmp_path / "p.toml")
    spool = tmp_path / "spool"
    spool.mkdir()
    arguments = ["evaluate", many, "-p", str(tmp_path / "p.toml"), "--truth", "y", "--model", "p"]
    arguments += ["--engine", "duckdb", "--calibrate", "none", "--html", str(tmp_path / "r.html")]
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TMPDIR=str(spool), TERM="xterm", COLUMNS="160")
        os.execv(sys.executable, [sys.executable, "-W", "error", "-c", COMMAND, *arguments])
    shown = _read(terminal, until=b"pass 2 of 3, model p")
    time.sleep(0.3)
    pressed = time.monotonic()
    os.write(terminal, b"\x03")
    shown += _read(terminal, until=None)
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 130, shown
    assert time.monotonic() - pressed < PROMPT
    assert b"pass 1 of 3, what cannot be used" in shown
    assert b"stakes: interrupted" in shown
    assert b"Traceback" not in shown
    assert list(spool.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.toml", "spool"]


def _read(terminal: int, until: bytes | None) -> bytes:
    """What a terminal shows, up to some words or to its end."""
    shown, end = b"", time.monotonic() + 60
    while (until is None or until not in shown) and time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 1.0)
        try:
            part = os.read(terminal, 4096) if ready else None
        except OSError:  # the other side is closed
            break
        if part == b"":
            break
        shown += part or b""
    assert until is None or until in shown, shown
    return shown


@POSIX
@pytest.mark.slow
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_an_interrupt_of_a_call_is_an_interrupt_and_ends_the_engine_at_once(many, tmp_path, engine):
    done = subprocess.run(
        [sys.executable, "-c", CALLED, engine, many],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    word, seconds = done.stdout.split()
    assert word == "interrupted", done.stderr
    assert float(seconds) < PROMPT
    assert list(tmp_path.iterdir()) == []


def test_work_that_can_be_ended_gives_its_result_or_its_fault():
    asked: list[str] = []
    assert interruptible(lambda: "made", lambda: asked.append("end")) == "made"
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 / 0, lambda: asked.append("end"))
    assert asked == []


@POSIX
def test_an_interrupt_ends_the_query_and_waits_for_it():
    import signal
    import threading

    ended = threading.Event()
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: ended.wait(30), ended.set)
    assert ended.is_set()


def test_an_engine_that_fails_because_it_was_interrupted_was_interrupted():
    def cancelled() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise OSError("the job was cancelled")

    with pytest.raises(KeyboardInterrupt):
        interruptible(cancelled, None)


class Heard(Watch):
    """Writes down which passes it hears of, and which thread goes over the rows."""

    def __init__(self) -> None:
        self.passes: list[str] = []
        self.rows: list[int] = []
        self.steps: dict[str, bool] = {}

    @contextmanager
    def working(self, what: str, n_rows: int, *, steps: bool = True) -> Iterator[Advance]:
        self.steps[what] = steps

        def advance(rows: int, then: str = "", /) -> None:
            self.passes.append(then)
            self.rows.append(rows)

        yield advance


@pytest.mark.parametrize("costs", [[[0, 1], [9, 0]], [[0, 1], ["a", 0]], [[0, 1, 2], ["a", 2, 0]]])
def test_the_passes_over_the_rows_are_as_many_as_were_announced(tmp_path, costs):
    path = tmp_path / "rows.csv"
    path.write_text("y,p,a\n" + "0,0.2,3\n1,0.7,5\n0,0.6,2\n" * 20)
    watch, problem = Heard(), Problem(costs)
    asked: dict[str, Any] = {"y_true": "y", "models": {"m": "p"}, "replicates": 5}
    with opened_files([str(path)], watch=watch) as source:
        evaluate_frame(source, problem, **asked, calibrator=None, engine="duckdb")
    passes = [text.partition(",")[0] for text in watch.passes if text.startswith("pass ")]
    assert passes == [f"pass {k + 1} of {len(passes)}" for k in range(len(passes))]
    steps = zip(watch.rows, watch.passes, strict=True)
    assert [rows for rows, text in steps if text.startswith("pass ")] == [0] + [60] * (
        len(passes) - 1
    )


def test_work_that_has_no_steps_promises_none(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("y,p\n" + "0,0.2\n1,0.7\n" * 20)
    watch = Heard()
    with opened_files([str(path)], watch=watch) as source:
        evaluate_frame(source, Problem.zero_one(2), y_true="y", models={"m": "p"}, replicates=5)
    assert watch.steps["evaluating"] is False
    assert not any(watch.passes[1:])


@pytest.mark.slow
def test_every_pass_is_named_and_can_be_interrupted_also_those_that_the_report_asks_for(
    tmp_path, monkeypatch
):
    columns = three_classes(300)
    path = tmp_path / "rows.csv"
    table = pa.table({name: pa.array(column) for name, column in columns.items()})
    pyarrow.csv.write_csv(table, path)
    threads = []
    collect = nw.LazyFrame.collect

    def watched(self: Any, *arguments: Any, **asked: Any) -> Any:
        threads.append(threading.current_thread().name)
        return collect(self, *arguments, **asked)

    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    watch = Heard()
    with opened_files([str(path)], watch=watch) as source:
        models = {"m": [f"p_{k}" for k in range(3)]}
        asked: dict[str, Any] = {"y_true": "y", "models": models, "key": "k", "replicates": 20}
        evaluate_frame(source, THREE, **asked, calibrator=Temperature(), engine="duckdb")
    passes = [text for text in watch.passes if "step" not in text]
    assert passes == [
        "columns of text",
        "pass 1 of 7, what cannot be used",
        "pass 2 of 7, model m",
        "pass 3 of 7, maps of model m",
        "pass 4 of 7, model m, class by class",
        "pass 5 of 7, the decisions of all systems",
        "making the report",
        "pass 6 of 7, cost against coverage of m (recalibrated)",
        "making the report",
        "pass 7 of 7, pairs of systems",
        "making the report",
    ]
    assert "pass 3 of 7, maps of model m, step 3" in watch.passes
    assert set(threads) == {"stakes engine"}
