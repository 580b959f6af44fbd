"""The command as a process: exit codes, no tracebacks, and no partial files, whatever happens."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

from stakes.adapters.data_files import connected
from stakes.cli import output

SCRIPT = Path(sys.executable).with_name("stakes")  # as it is installed, where it is
INSTALLED = (str(SCRIPT),) if SCRIPT.exists() else ("-m", "stakes")
COMMAND = (sys.executable, "-W", "error", *INSTALLED)
PROBLEM = """\
classes = ["legit", "fraud"]
decisions = ["approve", "block"]
[costs]
legit = { approve = 0, block = 25 }
fraud = { approve = 180, block = 0 }
"""
ROWS = "truth,p\n" + "legit,0.05\nlegit,0.2\nfraud,0.7\nfraud,0.1\n" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "fraud.toml").write_text(PROBLEM)
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def run(*arguments: str, cwd: Path, prefix: tuple[str, ...] = (), stdin: str | None = None):
    return subprocess.run(
        [*prefix, *COMMAND, *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


IN_A_THREAD = """
import contextlib, io, sys, threading
from stakes.cli import main

def call():
    try:
        with contextlib.redirect_stdout(printed):
            main(sys.argv[1:])
    except SystemExit as ended:
        codes.append(ended.code)

printed, codes = io.StringIO(), []
thread = threading.Thread(target=call)
thread.start()
thread.join()
print(codes, printed.getvalue())
"""


def test_a_program_can_call_the_command_in_any_thread(folder):
    arguments = ("evaluate", "rows.csv", "-p", "fraud.toml", "--replicates", "20")
    for more, code, text in (([], 0, "deploy"), (["--fail-if", "cases > 0"], 1, "")):
        ended = subprocess.run(
            [sys.executable, "-W", "error", "-c", IN_A_THREAD, *arguments, *more],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert ended.returncode == 0
        assert ended.stdout.startswith(f"[{code}]"), ended.stderr
        assert text in ended.stdout.lower()
        assert "Traceback" not in ended.stderr


@pytest.mark.slow
def test_the_exit_codes_are_those_that_the_help_states(folder):
    evaluate = ("evaluate", "rows.csv", "-p", "fraud.toml", "--replicates", "20")
    done = run(*evaluate, "--fail-if", "normalized > 5", "--html", "out.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The stakes\n")
    assert (folder / "out.html").exists()
    failed_gate = run(
        "evaluate", "-", *evaluate[2:], "--fail-if", "cost > 1", cwd=folder, stdin=ROWS
    )
    assert failed_gate.returncode == 1
    assert "cost > 1 does not pass. It holds (cost = " in failed_gate.stderr
    bad = run("evaluate", "none.csv", *evaluate[2:], cwd=folder)
    assert (bad.returncode, bad.stdout) == (2, "")
    fault = "must be a file of predictions; there is no such file. Check the name."
    assert bad.stderr == f"stakes: none.csv {fault}\n"


@pytest.mark.slow
def test_without_its_extra_the_command_names_it(tmp_path):
    """The packages of the extra are hidden, as they would be after a plain installation."""
    hide = "import sys; sys.modules.update(dict.fromkeys(('click', 'rich', 'duckdb')))"
    start = f"{hide}; from stakes.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", start], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "stakes: the command needs the extra 'cli' (click, rich, duckdb not found); install it "
        "with: pip install 'stakes[cli]'\n"
    )


@pytest.mark.slow
def test_questions_without_answers_end_it_and_leave_no_file(folder):
    done = run("problem", "new", "new.toml", cwd=folder, stdin="legit, fraud\n")
    assert done.returncode == 2
    message = "\nstakes: every question must have an answer; the input ended first.\n"
    assert done.stderr.endswith(message)
    assert not (folder / "new.toml").exists()


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None,
    reason="root may write anywhere, and cannot give that right up",
)
def test_a_read_only_folder_gets_no_part_of_a_file(folder):
    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    # Root may write anywhere, unless it gives that right up.
    prefix: tuple[str, ...] = ()
    if os.geteuid() == 0:
        prefix = (str(shutil.which("setpriv")), "--bounding-set=-all", "--inh-caps=-all")
    arguments = ("evaluate", "rows.csv", "-p", "fraud.toml", "--html", "locked/out.html")
    done = run(*arguments, cwd=folder, prefix=prefix)
    assert done.returncode == 2
    assert done.stderr == (
        "stakes: locked/out.html cannot be written: the folder locked is read-only to you.\n"
    )
    assert list(locked.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_command_leaves_nothing_behind(folder, number, code):
    """It is interrupted while it waits for more of its standard input."""
    spool = folder / "spool"
    spool.mkdir()
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "-", "-p", "fraud.toml", "--html", "out.html"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(spool)},
    )
    assert process.stdin is not None
    process.stdin.write(ROWS * 2_000)  # more than it copies at a time
    process.stdin.flush()
    deadline = time.monotonic() + 60
    while not any(map(os.path.getsize, spool.glob("*/*"))) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == code, stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    assert sorted(path.name for path in folder.iterdir()) == ["fraud.toml", "rows.csv", "spool"]
    assert list(spool.iterdir()) == []


@pytest.mark.slow
def test_an_interrupt_while_a_file_is_written_leaves_the_old_one(folder):
    """The signal arrives between the writing of the file and its being put in place."""
    (folder / "out.json").write_text("old")
    start = (
        "import os, signal, sys; from stakes.cli import main\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.argv = ['stakes', 'evaluate', 'rows.csv', '-p', 'fraud.toml', '--json', 'out.json']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", start], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 130, done.stderr
    assert (folder / "out.json").read_text() == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["fraud.toml", "out.json", "rows.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_after_the_last_line_does_not_change_the_code(folder, name):
    """It arrives while Python removes its modules and handles signals no more."""
    start = (
        "import os, signal, sys; from stakes.cli import main\n"
        "class Last:\n"
        "    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.NAME):\n"
        "        kill(process, number)\n"
        "last = Last()\n"
        "sys.argv = ['stakes', 'evaluate', 'rows.csv', '-p', 'fraud.toml', '--json', 'out.json']\n"
        "main()"
    ).replace("NAME", name)
    done = subprocess.run(
        [sys.executable, "-c", start], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "out.json").exists()


@pytest.mark.slow
def test_a_reader_that_stops_early_is_no_error(folder):
    """The report has more bytes than a pipe holds, so that writing it fails."""
    rows = (f"{'fraud' if k % 3 else 'legit'},{k / 9_000}\n" for k in range(9_000))
    (folder / "many.csv").write_text("truth,p\n" + "".join(rows))
    models = [part for name in "abcdef" for part in ("--model", f"{name}=p")]
    options = ("-p", "fraud.toml", *models, "--replicates", "2", "--json", "-")
    process = subprocess.Popen(
        [*COMMAND, "evaluate", "many.csv", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(10) == b'{"schema":'
    process.stdout.close()
    told = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 141
    assert told == b"stakes: guessed from many.csv: truth in column truth.\n"


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(folder, monkeypatch, capsys):
    from stakes.cli import output

    working = output.Terminal().working

    with working("reading", 10_000_000) as advance:
        advance(5_000_000)
    assert capsys.readouterr().err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")  # rich then takes any stream for a terminal
    with working("reading", 10_000_000) as advance:
        advance(5_000_000)
    assert capsys.readouterr().err == ""  # it ends before progress would be shown
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with working("reading [bold]", 10) as advance:
        time.sleep(0.4)
        advance(5, "pass 1 of 2")  # shown although it takes no time
        advance(5, "pass 2 of 2")
    shown = capsys.readouterr().err
    assert "reading [bold]: pass 1 of 2" in shown
    assert "reading [bold]: pass 2 of 2" in shown


def test_duckdb_draws_no_progress_bar_into_the_output():
    """Version 2 of DuckDB draws one on standard output for what takes longer than two seconds."""
    with connected() as connection:
        setting = "SELECT value FROM duckdb_settings() WHERE name = 'enable_progress_bar'"
        assert connection.sql(setting).fetchall() == [("false",)]


@pytest.mark.slow
@pytest.mark.parametrize("module", ["stakes.cli.commands", "click", "duckdb", "scipy.special"])
def test_an_interrupt_while_libraries_are_imported_is_no_traceback(folder, module):
    """The signal arrives when that module is first looked for."""
    start = (
        "import os, signal, sys; from stakes.cli import main\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['stakes', 'evaluate', 'rows.csv', '-p', 'fraud.toml', '--calibrate', 'beta']\n"
        "main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", start], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.splitlines()[-1] == "stakes: interrupted"
    assert "Traceback" not in done.stderr


# Disks that are full -----------------------------------------------------------------------------

LIMIT = 1024  # bytes that a process may write to a file


def limited(*arguments: str, cwd: Path, stdin: str | None = None):
    """Run with a limit on the size of files, which fails as a full disk does."""
    shell = f'ulimit -f {LIMIT // 1024}; exec "$@"'
    return run(*arguments, cwd=cwd, prefix=("bash", "-c", shell, "bash"), stdin=stdin)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "out.parquet",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("out.csv", "out.jsonl")),
    ],
)
def test_rows_that_do_not_fit_on_the_disk_name_the_file_and_leave_nothing(folder, name):
    rows = "".join(f"legit,{k / 9_000}\n" for k in range(9_000))
    (folder / "many.csv").write_text("truth,p\n" + rows)
    before = sorted(path.name for path in folder.iterdir())
    decide = ("decide", "many.csv", "-p", "fraud.toml", "--model", "p", "-o", name)
    done = limited(*decide, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"stakes: {name}: File too large\n"
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.slow
def test_a_report_that_does_not_fit_on_the_disk_names_the_file_and_leaves_nothing(folder):
    evaluate = ("evaluate", "rows.csv", "-p", "fraud.toml", "--replicates", "20")
    done = limited(*evaluate, "--json", "out.json", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "stakes: out.json: File too large"
    assert sorted(path.name for path in folder.iterdir()) == ["fraud.toml", "rows.csv"]
    spooled = limited("evaluate", "-", *evaluate[2:], cwd=folder, stdin=ROWS * 9)
    assert spooled.returncode == 2
    assert spooled.stderr.startswith("stakes: standard input, kept in /")
    assert spooled.stderr.endswith(": File too large\n")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_a_standard_output_that_is_full_is_named(folder):
    command = [*COMMAND, "evaluate", "rows.csv", "-p", "fraud.toml", "--replicates", "20"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:] == ["stakes: standard output: No space left on device"]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no folder without files")
def test_a_place_that_takes_no_files_is_named_as_it_was_given(folder):
    evaluate = ("evaluate", "rows.csv", "-p", "fraud.toml", "--replicates", "20")
    done = run(*evaluate, "--html", "/proc/x.html", cwd=folder)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("stakes: /proc/x.html")
    assert ".part" not in done.stderr


# Limits on memory --------------------------------------------------------------------------------


def under(kilobytes: int, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run with a limit on memory; a library that waits for more of it forever ends the test."""
    shell = f'ulimit -v {kilobytes}; exec "$@"'
    return run(*arguments, cwd=cwd, prefix=("bash", "-c", shell, "bash"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are those of Linux")
@pytest.mark.parametrize("kilobytes", [25_000, 100_000, 400_000, 1_500_000])
def test_a_limit_on_memory_below_what_libraries_need_is_refused_before_they_are_loaded(
    folder, kilobytes
):
    """Libraries would exit with 1, the code of a gate, or 127, or never come back."""
    done = under(kilobytes, "evaluate", "rows.csv", "-p", "fraud.toml", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "stakes: the limit on memory must leave 1536 MiB for the libraries; it does not. Raise it "
        "(ulimit -v, ulimit -d), or lift it.\n"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are those of Linux")
@pytest.mark.parametrize("kilobytes", [1_600_000, 1_700_000, 2_000_000, 4_000_000])
def test_any_other_limit_on_memory_gives_a_code_of_the_contract(folder, kilobytes):
    evaluate = ("evaluate", "rows.csv", "-p", "fraud.toml", "--calibrate", "none")
    done = under(kilobytes, *evaluate, "--html", "out.html", cwd=folder)
    assert done.returncode in (0, 2), done.stderr
    assert (folder / "out.html").exists() == (done.returncode == 0)
    assert "Traceback" not in done.stderr
    assert done.returncode == 0 or "memory" in done.stderr.lower()
    assert done.returncode == 0 or kilobytes < 4_000_000


def test_a_progress_bar_shows_names_as_they_are(monkeypatch):
    console_module = pytest.importorskip("rich.console")
    progress = pytest.importorskip("rich.progress")
    columns_made: list[Any] = []

    class Bar(progress.Progress):  # type: ignore[misc, name-defined]
        def __init__(self, *columns: Any, **options: Any) -> None:
            columns_made.extend(columns)
            super().__init__(*columns, **options)

    console = functools.partial(console_module.Console, force_terminal=True)
    monkeypatch.setattr(output, "Progress", Bar)
    monkeypatch.setattr(output, "Console", console)
    with output.Terminal().working("reading [red]x.csv", 3):
        shown = columns_made[0].render(SimpleNamespace(description="reading [red]x.csv"))
    assert shown.plain == "reading [red]x.csv"
