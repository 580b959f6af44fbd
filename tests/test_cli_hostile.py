"""Names that terminals obey, files that must not be lost, truncated input: the command refuses.

Real files, and, where a process is needed, real streams and signals.
"""

from __future__ import annotations

import gzip
import io
import os
import pty
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from inspect import signature, unwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("click")
pytest.importorskip("duckdb")
pytest.importorskip("jinja2")
pytest.importorskip("pyarrow")

import pyarrow as pa
from click.testing import CliRunner, Result
from rich.console import Console

from stakes import InputError, Limit, Problem
from stakes._text import printable, text_table
from stakes.adapters.data_files import write_rows
from stakes.cli import output
from stakes.cli.commands import stakes as command
from stakes.cli.options import _KINDS, is_formula
from stakes.cli.output import refuse_other_than_page
from stakes.render import Section, Table, refuse_too_long_to_write
from stakes.report import Report
from stakes.rule import Rule

SEPARATE: Any = {"mix_stderr": False} if "mix_stderr" in signature(CliRunner).parameters else {}
COMMAND = (sys.executable, "-W", "error", "-m", "stakes")
PROBLEM = Problem(
    [[0, 25], [180, 0]], classes=["legit", "fraud"], decisions=["approve", "block"], unit="EUR"
)
ROWS = "truth,p\n" + "legit,0.05\nlegit,0.2\nfraud,0.7\nfraud,0.1\n" * 20
EVALUATE = ("-p", "p.toml", "--calibrate", "none", "--replicates", "5")
APPLY = ("-p", "p.toml", "--model", "p")
OBEYED = ["\x1b[31m", "\x9b31m", "\u202e", "\u2066", "\x07", "\r", "\x00", "\ud800"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    PROBLEM.to_toml("p.toml")
    Path("rows.csv").write_text(ROWS)
    return tmp_path


def run(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner(**SEPARATE).invoke(command, arguments, input=stdin)


def process(*arguments: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, whose streams are what the test says."""
    usual = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    return subprocess.run(
        [*COMMAND, *arguments], text=True, check=False, timeout=120, **{**usual, **streams}
    )


def refused(done: Result | subprocess.CompletedProcess[str], sentence: str) -> None:
    code = done.exit_code if isinstance(done, Result) else done.returncode
    assert (code, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"stakes: {sentence}"), done.stderr


# Terminals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", OBEYED)
def test_what_a_terminal_would_obey_is_shown_as_its_escape(sign):
    shown = printable(f"a{sign}b\tc\n")
    assert sign not in shown
    assert shown.startswith("a\\")
    assert shown.endswith("b\tc\n")
    assert "\n" not in text_table(["x"], [[f"one{sign}\nline"]]).split("\n", 1)[1]


def test_names_reach_no_terminal_as_they_are():
    Path("esc.csv").write_text(ROWS.replace("truth,p", "truth,p\x1b[31m"))
    guessed = run("evaluate", "esc.csv", *EVALUATE)
    missing = run("evaluate", "no\x1b[2Jfile.csv", *EVALUATE)
    text = Path("p.toml").read_text().replace("block", "bl\\u001b[31m\\u202eock")
    text = text.replace("bl\\u001b[31m\\u202eock =", '"bl\\u001b[31m\\u202eock" =')
    Path("esc.toml").write_text(text)
    shown = run("problem", "show", "esc.toml")
    checked = run("problem", "check", "esc.toml")
    assert (guessed.exit_code, missing.exit_code) == (0, 2)
    assert (shown.exit_code, checked.exit_code) == (0, 0), shown.stderr
    for done in (guessed, missing, shown, checked):
        assert not {"\x1b", "\u202e"} & set(done.stdout + done.stderr)
    assert "p\\x1b[31m" in guessed.stderr
    assert "bl\\x1b[31m\\u202eock" in shown.stdout


@pytest.mark.parametrize("sign", OBEYED)
def test_tables_on_a_terminal_show_names_as_their_escapes(sign):
    name, file = f"a{sign}b", io.StringIO()
    console = Console(file=file, force_terminal=True, color_system=None)
    part = Section(name, (f"It is {name}.",), Table((name, "cost"), ((name, "5"),)))
    output._show_section(console, part)
    shown = file.getvalue()
    assert sign not in shown
    assert shown.count(printable(name)) >= 3  # of a sentence, lines may end between its words


BROKEN = "block\nFORGED"


@pytest.mark.parametrize(
    "arguments",
    [
        ("problem", "show", "b.toml"),
        ("problem", "check", f"{BROKEN}.toml"),
        ("evaluate", "--replicates", "5"),
        ("evaluate", "--replicates", "5", "--markdown", "-", "--brief"),
        pytest.param(("audit",), marks=pytest.mark.slow),
        pytest.param(("evaluate", "--markdown", "-"), marks=pytest.mark.slow),
    ],
)
def test_a_line_break_in_a_name_begins_no_line(arguments):
    costs = [[0, 25, 30], [180, 0, 5]]
    names: dict[str, Any] = {"classes": ["legit", "fraud"], "unit": BROKEN}
    decisions = ["approve", "hold", BROKEN]
    if arguments[0] == "problem":
        names["limits"] = [Limit.share(BROKEN, at_most=0.5)]
    Problem(costs, **names, decisions=decisions, prior=[0.01, 0.99]).to_toml("b.toml")
    Path(f"{BROKEN}.toml").write_text(Path("b.toml").read_text())
    wide = ROWS.replace("truth,p\n", f'truth,p,"q{BROKEN}"\n').replace("0.", "0.3,0.")
    Path("b.csv").write_text(wide)
    models = ("--model", "p", "--model", f"q{BROKEN}")
    evaluate = ("b.csv", "-p", "b.toml", "--calibrate", "none", *models)
    done = run(*arguments, *(evaluate if arguments[0] != "problem" else ()))
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.startswith("FORGED")]
    assert any("FORGED" in line for line in lines)


@pytest.mark.parametrize("brief", [(), ("--brief",)])
def test_markdown_shows_controls_as_their_escapes_wherever_it_goes(brief):
    Path("b.csv").write_text(ROWS.replace("truth,p", "truth,p\u202e\x1b[31m"))
    evaluate = ("evaluate", "b.csv", *EVALUATE, *brief, "--markdown")
    for text in (run(*evaluate, "-").stdout, (run(*evaluate, "b.md"), Path("b.md").read_text())[1]):
        assert "p\\\\u202e" in text
        assert not {"\x1b", "\u202e"} & set(text)


# Sizes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--html", "--json"])
def test_a_report_that_is_too_long_to_write_is_refused_before_a_row_is_read(option, monkeypatch):
    known = unwrap(refuse_too_long_to_write).__globals__
    monkeypatch.setitem(known, "_MOST_NUMBERS", 4 * (1 + 2 * 2) - 1)
    wide = ROWS.replace("truth,p\n", "truth,p,q\n").replace("0.", ".1,0.")
    Path("rows.csv").write_text(wide + "nobody,0.5,0.5\n")
    models = ("--model", "p", "--model", "q")
    done = run("evaluate", "rows.csv", *EVALUATE, *models, option, "out")
    refused(done, "the report must have at most 19 numbers to be written; with 2 classes and 2")
    assert "Print it" in done.stderr
    assert not Path("out").exists()
    refused(run("evaluate", "rows.csv", *EVALUATE, *models), "column 'truth' of rows.csv")


@pytest.mark.parametrize("engine", ["numpy", "duckdb"])
def test_costs_that_are_too_large_are_named_as_they_were_written(engine):
    names: dict[str, Any] = {"classes": PROBLEM.classes, "decisions": PROBLEM.decisions}
    Problem([[0, 25], [9e99, 0]], **names).to_toml("p.toml")
    done = run("evaluate", "rows.csv", *EVALUATE, "--engine", engine)
    refused(done, "costs must be of a size whose squares are numbers, from 1e-100 to 1e+40; the")
    assert "the largest is 9e+99, of decision 'approve' in class 'fraud'" in done.stderr


# Files -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--html", "--json", "--markdown", "--rule-out"])
@pytest.mark.parametrize("target", ["p.toml", "rows.csv", "link.csv"])
def test_no_output_takes_the_place_of_an_input(option, target):
    os.symlink("rows.csv", "link.csv")
    before = Path(target).read_bytes()
    refused(run("evaluate", "r*.csv", *EVALUATE, option, target), f"{target} must not be an input")
    assert Path(target).read_bytes() == before


def test_decided_rows_and_maps_take_the_place_of_no_input():
    model = ("-p", "p.toml", "--model", "p")
    refused(run("decide", "rows.csv", *model, "-o", "rows.csv"), "rows.csv must not be an input")
    fit = ("calibrate", "fit", "rows.csv", *model, "-o")
    refused(run(*fit, "p.toml"), "p.toml must not be an input")
    assert run(*fit, "map.json", "--method", "platt").exit_code == 0
    apply = ("calibrate", "apply", "rows.csv", *model, "--map", "map.json", "-o")
    refused(run(*apply, "map.json"), "map.json must not be an input")


@pytest.mark.parametrize("option", ["--html", "--json", "--markdown", "--rule-out"])
def test_no_output_takes_the_place_of_the_file_behind_a_stream(option):
    log = Path("log.txt")
    log.write_text("old\n")
    with log.open("a") as stream:
        target = f"/proc/self/fd/{stream.fileno()}"
        done = run("evaluate", "rows.csv", *EVALUATE, option, target)
    refused(done, f"{target} must be a file; it is a stream, and the file behind it would be lost")
    assert log.read_text() == "old\n"


def test_decided_rows_go_to_no_stream():
    done = run("decide", "rows.csv", *APPLY, "-o", "/dev/fd/2")
    assert done.exit_code == 2
    assert "/dev/fd/2 must be a file; " in done.stderr


@pytest.mark.parametrize("arguments", [("demo",), ("evaluate", "rows.csv", *EVALUATE)])
def test_a_page_takes_the_place_of_a_page_alone(arguments):
    Path("notes.txt").write_text("what I know")
    done = run(*arguments, "--html", "notes.txt")
    refused(done, "notes.txt must be a new file or an HTML page; something else is in it, which")
    assert Path("notes.txt").read_text() == "what I know"
    for start in ("", "<!DOCTYPE html><p>", " <html>"):
        Path("page").write_text(start)
        refuse_other_than_page(Path("page"))


@pytest.mark.parametrize("option", ["--html", "--json", "--markdown", "--rule-out"])
def test_an_output_without_a_name_is_refused_by_its_option(option):
    done = run("evaluate", "rows.csv", *EVALUATE, option, "")
    refused(done, f"{option} must be the name of a file; it is empty. Name one.")


def test_a_file_that_is_replaced_keeps_its_permissions_and_its_links():
    PROBLEM.to_toml("other.toml")
    Path("other.toml").chmod(0o640)
    os.symlink("other.toml", "link.toml")
    Problem.zero_one(2).to_toml("link.toml")
    assert Path("link.toml").is_symlink()
    assert stat.S_IMODE(Path("other.toml").stat().st_mode) == 0o640
    assert Problem.from_toml("other.toml").n_classes == 2
    Path("other.toml").chmod(0o440)
    with pytest.raises(InputError, match="cannot be replaced: it is read-only"):
        PROBLEM.to_toml("other.toml")
    assert Problem.from_toml("other.toml").unit is None


def test_a_label_that_cannot_be_written_is_refused_before_anything_is_lost():
    with pytest.raises(InputError, match="half of a character"):
        Problem.zero_one(["a", "b\ud800"])
    with pytest.raises(InputError, match="unit must be a str"):
        Problem.zero_one(2, unit=5)


@pytest.mark.parametrize(
    "arguments",
    [("evaluate", "-", *EVALUATE, "--json"), ("decide", "-", "-p", "p.toml", "--model", "p", "-o")],
    ids=["evaluate", "decide"],
)
def test_what_standard_input_reads_is_not_overwritten(arguments):
    before = Path("rows.csv").read_bytes()
    with open("rows.csv", "rb") as rows:
        refused(process(*arguments, "rows.csv", stdin=rows), "rows.csv must not be an input")
    assert Path("rows.csv").read_bytes() == before


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.jsonl"])
def test_the_engine_writes_into_the_file_that_it_is_given(name):
    """A file of its own, which it would rename, could be read by others until then."""
    Path(name).touch(0o600)
    before = Path(name).stat()
    rows = iter([pa.RecordBatch.from_pydict({"p": [0.5]})])
    write_rows(Path(name), _KINDS[Path(name).suffix], rows)
    assert Path(name).stat().st_size
    assert (Path(name).stat().st_ino, Path(name).stat().st_mode) == (before.st_ino, before.st_mode)


@pytest.mark.parametrize("start", [*"=+-@\t\r\n", *"\uff1d\uff0b\uff0d\uff20"])
def test_what_a_spreadsheet_would_compute_is_a_formula(start):
    assert is_formula(f"{start}1+1")


def test_numbers_are_no_formulas():
    Problem([[0, 25], [180, 0]], classes=["legit", "fraud"], decisions=[1, -1]).to_toml("n.toml")
    decide = ("decide", "rows.csv", "-p", "n.toml", "--model", "p", "-o", "out.csv")
    for more in ((), ("--quote-formulas",)):
        done = run(*decide, *more)
        assert done.exit_code == 0
        assert "formula" not in done.stderr
        assert ",-1\n" in Path("out.csv").read_text()


def test_decisions_that_a_spreadsheet_would_compute_are_named_and_quoted():
    Problem([[0, 25], [180, 0]], classes=["legit", "fraud"], decisions=["=1+1", "ok"]).to_toml("f")
    decide = ("decide", "rows.csv", "-p", "f", "--model", "p", "-o", "out.csv")
    raw = run(*decide)
    assert "a spreadsheet will take the decision =1+1 for a formula" in raw.stderr
    assert ",=1+1\n" in Path("out.csv").read_text()
    quoted = run(*decide, "--quote-formulas")
    assert "formula" not in quoted.stderr
    assert run(*decide, "--quote-formulas", "--column", "=x").exit_code == 0
    text = Path("out.csv").read_text()
    assert text.startswith("truth,p,'=x\n")
    assert ",'=1+1\n" in text
    assert ",=1+1\n" not in text
    assert ",ok\n" in text


# Input that is torn ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (ROWS.partition("\n")[2], "bad.csv must name its columns in the first line; '0."),
        (ROWS.replace("truth,p", "truth,p,p"), "bad.csv must name every column once; 'p' appears"),
        (ROWS + "fraud,0.3,9,9\n", "bad.csv must have 2 fields in every row, as in its header; "),
        (ROWS[:60] + "\nfraud\n" + ROWS[8:], "bad.csv must have 2 fields in every row"),
        ("# by, hand\n" + ROWS.replace(",", ";"), "bad.csv must have 2 fields in every row"),
        (
            ROWS + "legit,0.1\n" * 30_000 + "fraud,1,2\n" + "legit,0.1\n" * 30_000,
            "bad.csv must have 2 fields in every row, as in its header; line 30082",
        ),
        (
            ROWS + "legit,0.1\n" * 30_000 + "fraud,zwölf\n" + "legit,0.1\n" * 30_000,
            "bad.csv must hold one kind of entry in every column; 'p' holds another in line 30082 "
            "than in the first: 'fraud,zwölf'. Correct that row.",
        ),
    ],
)
def test_rows_that_do_not_fit_their_header_are_refused_with_the_row(text, sentence):
    Path("bad.csv").write_text(text)
    refused(run("evaluate", "bad.csv", *EVALUATE), sentence)


def test_packed_files_by_another_name_and_numbers_as_text_are_named():
    Path("packed.csv").write_bytes(gzip.compress(ROWS.encode()))
    refused(run("evaluate", "packed.csv", *EVALUATE), "packed.csv must have a name that ends in .g")
    Path("text.csv").write_text(ROWS.replace("0.7", "0.7 ").replace("0.2", "inf"))
    asked = ("--truth", "truth", "--scores", "m=p")
    sentence = "column 'p' of text.csv must hold numbers; the file has them as text: in quotes, inf"
    refused(run("evaluate", "text.csv", *asked, *EVALUATE), sentence)


OPEN = "must close every quote; line 82 opens one that stays open: "
ENDS = "must end all of its lines in the same way; line 82 ends with '\\r\\n', the first with '\\n'"


@pytest.mark.parametrize("far", ["", "legit,0.1\n" * 30_000])
@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("fraud,0.3\r\n", ENDS),
        ('"fraud,0.3\n', f"{OPEN}'\"fraud,0.3'"),
        ('fraud,"0.3\n', f"{OPEN}'fraud,\"0.3'"),
    ],
)
def test_lines_that_cannot_be_told_apart_are_named(row, sentence, far):
    Path("bad.csv").write_text(ROWS + far + row + far, newline="")
    line = str(82 + far.count("\n"))
    refused(run("evaluate", "bad.csv", *EVALUATE), f"bad.csv {sentence.replace('82', line)}")


@pytest.mark.parametrize("packed", ["", ".gz", ".zst"])
def test_names_that_appear_twice_are_refused_in_every_packing(packed):
    twice = "must name every column once; 'p' appears twice"
    twins = "must name every column once; 'p' and 'P' differ by case alone. Rename one."
    row = '{"truth": "legit", "p": 0.5}\n'
    for name, text, sentence in (
        ("bad.csv", ROWS.replace("truth,p", "truth,p,p"), twice),
        ("bad.csv", ROWS.replace("truth,p", "truth,p,P"), twins),
        ("bad.jsonl", row + row.replace("}", ', "p": 0.7}'), f"{twice} in line 2. Rename one."),
        ("bad.jsonl", row + row.replace("}", ', "P": 0.7}'), twins),
    ):
        with pa.output_stream(name + packed, compression="detect") as file:
            file.write(text.encode())
        refused(run("evaluate", name + packed, *EVALUATE), f"{name}{packed} {sentence}")


def test_half_a_packed_stream_and_a_pipe_are_refused():
    packed = gzip.compress(ROWS.encode() * 50)
    done = run("evaluate", "-", *EVALUATE, stdin=packed[: len(packed) // 2])
    refused(done, "standard input cannot be read: ")
    assert "stakes-" not in done.stderr
    for torn in (packed[:20], packed[:12] + b"x" * 50):  # not one row of it can be unpacked
        refused(run("evaluate", "-", *EVALUATE, stdin=torn), "standard input cannot be unpacked: ")
    os.mkfifo("pipe.csv")
    refused(run("evaluate", "pipe.csv", *EVALUATE), "pipe.csv must be a file; it is a pipe")
    refused(run("problem", "show", "pipe.csv"), "pipe.csv must be a file; it is a folder, a pipe")


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate", "rows.csv", *EVALUATE, "--baseline", "pipe.json"),
        ("diff", "pipe.json", "pipe.json"),
        ("decide", "rows.csv", "--rule", "pipe.json", "-o", "x.csv"),
        ("decide", "rows.csv", "-p", "p.toml", "--map", "pipe.json", "-o", "x.csv"),
        ("calibrate", "apply", "rows.csv", *APPLY, "--map", "pipe.json", "-o", "x.csv"),
    ],
)
def test_no_command_waits_for_a_pipe_that_nobody_writes_to(arguments):
    os.mkfifo("pipe.json")
    writer = os.open("pipe.json", os.O_RDWR)  # whoever opens the pipe waits for what is written
    signal.alarm(60)  # who waits ends the tests, and is seen
    try:
        done = run(*arguments)
    finally:
        signal.alarm(0)
        os.close(writer)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "it is a folder, a pipe or a device" in done.stderr


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a = " + "[" * 3000 + "]" * 3000, "too deep"),
        ("a = " + "9" * 5000, "4300 digits"),
        (".".join(["a"] * 20_000) + " = 1", "too deep"),
        (f"[{' . '.join(['a'] * 20_000)}]", "too deep"),
        ("unit = 5\n[costs]\na = { x = 0, y = 1 }\nb = { x = 1, y = 0 }\n", "unit must be a str"),
    ],
)
def test_problem_files_that_break_readers_are_refused(text, fault):
    Path("odd.toml").write_text(text)
    done = run("problem", "show", "odd.toml")
    assert (done.exit_code, done.stdout) == (2, "")
    assert fault in done.stderr


def test_replicates_for_which_nobody_waits_are_refused_before_a_row_is_read():
    done = run("evaluate", "none.csv", "-p", "p.toml", "--replicates", "3000000")
    refused(done, "Invalid value for '--replicates': 3000000 is not in the range 2<=x<=100000.")


def test_a_condition_of_three_thousand_parts_is_refused():
    long = " and ".join(["cost > 1"] * 3000)
    done = run("evaluate", "rows.csv", *EVALUATE, "--fail-if", long)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "than 2000 characters" in done.stderr
    assert len(done.stderr) < 2000


# Processes ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_file_name_of_no_encoding_is_named_and_a_terminal_of_no_width_is_written_to():
    """In a real terminal: its colours are allowed, escape sequences in names are shown as text."""
    coloured, odd = "rows\x1b[31m.csv", os.fsdecode(b"ro\xffws\x1b[31m.csv")
    for name in (coloured, odd):
        shutil.copy("rows.csv", name)
    code, told = on_terminal("evaluate", coloured, *EVALUATE, COLUMNS="0")
    assert code == 0, told
    assert "Verdict" in told
    assert "rows\\x1b[31m.csv" in told
    assert "\x1b[31m.csv" not in told
    code, told = on_terminal("evaluate", odd, *EVALUATE)
    assert code == 2
    assert told.startswith("stakes: ro\\udcffws\\x1b[31m.csv must be a name that can be written as")


def on_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """The command with a terminal for all three streams: its code and what is written there."""
    ours, theirs = pty.openpty()
    streams: Any = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    started = subprocess.Popen(
        [*COMMAND, *arguments], env={**os.environ, "TERM": "xterm", **environment}, **streams
    )
    os.close(theirs)
    told = b""
    with suppress(OSError):  # Linux says so when the other end is closed
        while part := os.read(ours, 65536):
            told += part
    os.close(ours)
    return started.wait(timeout=60), told.decode(errors="replace")


# A file system of 64 KiB inside a world of its own, or, where nobody may make one, files of at most
# that size.
SMALL = """
mkdir disk
if unshare -rm true 2>/dev/null && [ -z "$AGAIN" ]; then
    rmdir disk; AGAIN=1 exec unshare -rm bash -c "$0" "$0" "$@"
fi
mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null || ulimit -f 64
cp old.html disk/out.html
"$@" >/dev/null
echo "code $?"
cmp old.html disk/out.html && echo "the old one is there"
ls -A disk
df disk | tail -1 | cut -d' ' -f1
"""


@pytest.mark.slow
def test_a_full_file_system_keeps_the_old_report_and_nothing_else():
    Path("old.html").write_text("<!DOCTYPE html>" + "the old report " * 1000)
    evaluate = ["evaluate", "rows.csv", *EVALUATE, "--html", "disk/out.html"]
    shell = ["bash", "-c", SMALL, SMALL, *COMMAND, *evaluate]
    done = subprocess.run(shell, capture_output=True, text=True, check=False, timeout=120)
    told = done.stdout.splitlines()
    assert told[:3] == ["code 2", "the old one is there", "out.html"], (done.stdout, done.stderr)
    assert len(told) == 4  # the name of the file system is the last; no part of a file is there
    last = done.stderr.splitlines()[-1]
    full = "No space left on device" if told[3] == "tmpfs" else "File too large"
    assert last == f"stakes: disk/out.html: {full}"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_streams_that_are_full_or_closed_change_no_exit_code(folder):
    with open("/dev/full", "w") as full:
        assert process("evaluate", "none.csv", *EVALUATE, stderr=full).returncode == 2
        assert process("problem", "show", "p.toml", stdout=full).returncode == 2
    shell = (
        "import os, sys; os.close({0}); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    for number, code in ((0, 2), (1, 0), (2, 0)):
        start = [sys.executable, "-c", shell.format(number), "-W", "error", "-m", "stakes"]
        arguments = ["evaluate", "-" if number == 0 else "rows.csv", *EVALUATE, "--json", "a.json"]
        done = subprocess.run([*start, *arguments], capture_output=True, check=False, text=True)
        assert done.returncode == code, (number, done.stderr)
        assert "Traceback" not in done.stderr
    assert Path("a.json").read_text().startswith("{")


def test_a_standard_input_that_can_only_be_written_to_is_named():
    with open("written.csv", "w") as file:
        done = process("evaluate", "-", *EVALUATE, stdin=file)
    refused(done, "standard input: Bad file descriptor")


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        *(
            pytest.param(arguments, marks=pytest.mark.slow)
            for arguments in (
                ("--version",),
                ("problem", "--help"),
                ("evaluate", "--help"),
                ("problem", "show", "p.toml"),
                ("schema",),
            )
        ),
    ],
)
def test_a_reader_that_closes_the_pipe_at_once_is_no_gate(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = process(*arguments, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
@pytest.mark.parametrize("arguments", [("--help",), ("--version",), ("evaluate", "--help")])
def test_help_on_a_full_disk_names_standard_output(arguments):
    with open("/dev/full", "w") as full:
        done = process(*arguments, stdout=full)
    sentence = "stakes: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, sentence)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_an_old_encoding_gets_what_stands_for_a_character(encoding):
    Problem([[0, -25], [180, 0]], classes=["legit", "fraud"]).to_toml("n.toml")
    rows = [*EVALUATE[2:], "-p", "n.toml"]
    done = process(
        "evaluate",
        "rows.csv",
        *rows,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        encoding=encoding,
    )
    assert done.returncode == 0, done.stderr
    assert "-" in done.stdout
    assert "−" not in done.stdout


@pytest.mark.parametrize("encoding", ["latin-1", pytest.param("cp1252", marks=pytest.mark.slow)])
def test_json_in_an_old_encoding_loses_no_letter(encoding):
    name = "p\u014d\u2212\U0001f9ea\xe9"
    Path("letters.csv").write_text(ROWS.replace("truth,p", f"truth,{name}"), encoding="utf-8")
    done = process(
        *("evaluate", "letters.csv", *EVALUATE, "--json", "-"),
        env={**os.environ, "PYTHONIOENCODING": encoding},
        encoding=encoding,
    )
    assert done.returncode == 0, done.stderr
    assert Report.from_json(done.stdout).models[0].model == name


@pytest.mark.slow
def test_a_page_is_in_the_encoding_that_it_states():
    done = process(
        *("evaluate", "rows.csv", *EVALUATE, "--title", "\u014d\u2212\xe9", "--html", "-"),
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert '<meta charset="utf-8">' in done.stdout
    assert "\u014d\u2212\xe9" in done.stdout


@pytest.mark.slow
def test_a_library_that_cannot_be_loaded_is_no_gate(tmp_path):
    start = (
        "import sys; sys.modules['click'] = None; from stakes import cli\n"
        "cli._GUESTS = (); cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", start], capture_output=True, check=False)
    assert done.returncode == 70
    assert done.stderr.startswith(b"stakes: stakes cannot start: ")


def catches(pid: int, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{pid}/status").read_text()
    mask = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(mask >> (number - 1) & 1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_at_any_moment_ends_it_with_its_code_and_leaves_nothing(folder, number):
    rows = "".join(f"{'fraud' if k % 3 else 'legit'},{k / 400_000}\n" for k in range(400_000))
    Path("many.csv").write_text("truth,p\n" + rows)
    spool = folder / "spool"
    spool.mkdir()
    before = sorted(path.name for path in folder.iterdir())
    arguments = ["decide", "many.csv", "-p", "p.toml", "--model", "p", "-o", "out.csv"]
    moments = random.Random(number)
    ended = 0
    for _ in range(6):
        started = subprocess.Popen(
            [*COMMAND, *arguments],
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(spool)},
            text=True,
            preexec_fn=lambda: signal.signal(
                number, signal.SIG_DFL
            ),  # nohup may surround the tests
        )
        while started.poll() is None and not catches(started.pid, signal.SIGTERM):
            time.sleep(0.005)  # before that, the signal ends Python in its own way
        time.sleep(moments.uniform(0, 1))
        started.send_signal(number)
        told = started.communicate(timeout=60)[1]
        assert started.returncode in (0, 128 + number), told
        assert "Traceback" not in told
        ended += started.returncode != 0
        if Path("out.csv").exists():  # whole, or not at all
            assert Path("out.csv").read_text().count("\n") == 400_001
            Path("out.csv").unlink()
        assert sorted(path.name for path in folder.iterdir()) == before
        assert list(spool.iterdir()) == []
    assert ended > 0


# Options -----------------------------------------------------------------------------------------

TWICE = ("--running-cost", "p=1", "--running-cost", "p=2")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (TWICE, "--running-cost must state every model once; 'p' appears twice. Leave one"),
        (("--running-cost", "p=1e300"), "--running-cost p must be one real number within"),
        (
            ("--posterior-prior", "legit=.9,fraud=.5,legit=.5"),
            "--posterior-prior must state every class once; 'legit' appears twice. Leave one",
        ),
        (("--posterior-prior", "legit=.5"), "--posterior-prior must have a share for every class"),
        (("--memory-limit", "0"), "--memory-limit must be above zero; got 0."),
        (("--level", "0.9999999999999999"), "--level must lie strictly between 0 and 1, and f"),
        (("--model", "p", "--scores", "p=p"), "--model and --scores must have a name of its own"),
        (
            ("--model", "=p"),
            "a model must be stated as NAME=COLUMN or NAME=COLUMN,COLUMN; got =p. W",
        ),
        (("--gate", "foo"), "--gate must be one of no-worse, better, or one of them with a system"),
        (
            ("--json", "x", "--markdown", "x"),
            "every format must have a file of its own; --json and",
        ),
        (("-p", "-"), "--problem must be the name of a TOML file; standard input (-) is for"),
    ],
)
def test_options_that_contradict_themselves_are_refused_by_name(options, sentence):
    done = run("evaluate", "rows.csv", *EVALUATE, *options)
    refused(done, sentence)
    assert done.stderr.rstrip().split("; ", 1)[1].count(". ") >= 1, "what was found, and a remedy"


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("", "--column must be the name of the new column; it is empty. Leave it out, or"),
        ("p\udcff", "--column must be text that can be written as UTF-8; 'p\\udcff' holds half"),
        ("TRUTH", "rows.csv must not have a column 'TRUTH' already; it has 'truth', which differs"),
        ("truth", "rows.csv must not have a column 'truth' already; it has. Name the new one"),
    ],
)
def test_a_new_column_has_a_name_of_its_own(name, sentence):
    refused(run("decide", "rows.csv", *APPLY, "--column", name, "-o", "o.csv"), sentence)
    assert not Path("o.csv").exists()


def test_the_name_of_a_column_that_a_spreadsheet_would_compute_is_told():
    done = run("decide", "rows.csv", *APPLY, "--column", "=cmd()", "-o", "o.csv")
    assert "a spreadsheet will take the name of the column, =cmd(), for a formula" in done.stderr


def test_a_file_of_another_kind_is_called_what_it_is():
    Path("rule.json").write_text('{"format": "stakes.rule"}')
    Path("map.json").write_text('{"format": "stakes.calibration"}')
    Path("report.json").write_text('{"schema": "stakes-report/2"}')
    decide = ("decide", "rows.csv", *APPLY, "-o", "o.csv", "--map")
    sentence = "rule.json must be a calibration map; it is a rule. Write one with stakes calibrate"
    refused(run(*decide, "rule.json"), sentence)
    refused(run("diff", "map.json", "map.json"), "map.json must be a report; it is a calibration")
    done = run("evaluate", "rows.csv", *EVALUATE, "--baseline", "rule.json")
    refused(done, "rule.json must be a report; it is a rule. Write one with stakes evaluate --json")
    done = run("decide", "rows.csv", "--rule", "report.json", "-o", "o.csv")
    refused(
        done, "report.json must be a rule; it is a report. Write one with stakes evaluate --rul"
    )


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (ROWS.encode("utf-16"), "bad.csv must be text in UTF-8; it is in UTF-16. Convert it first"),
        (b"", "bad.csv must hold rows; it is empty. Name a file with a line of names"),
        (b"truth,p\n", "bad.csv must hold at least one row; there are none. Pass data with rows."),
        (
            ROWS.replace(",", ";").replace("0.", "0,").encode(),
            "column 'p' of bad.csv must hold the decisions approve, block in every row; 80 of 80 "
            "rows hold something else, most often '0,",
        ),
    ],
)
def test_files_without_rows_or_with_numbers_in_another_form_have_a_remedy(content, sentence):
    Path("bad.csv").write_bytes(content)
    done = run("evaluate", "bad.csv", *EVALUATE, "--truth", "truth", "--model", "p")
    refused(done, sentence)
    assert ("The column was read as text" in done.stderr) == sentence.startswith("column")


def test_columns_of_the_other_kind_of_label_say_so():
    """In files, which are compared as text; the classes are legit and fraud."""
    costs = [[0, 9], [1, 0]]
    turned = Problem(costs, classes=PROBLEM.decisions, decisions=PROBLEM.classes)
    turned.to_toml("turned.toml")
    Path("percent.csv").write_text("truth,p,did\n" + "legit,12 %,fraud\nfraud,70 %,legit\n" * 9)
    told = [
        (
            ("turned.toml", "p"),
            "These are the problem's decisions: is this another column, or",
        ),
        (("p.toml", "did"), "These are classes; the problem decides 'approve', 'block': pass such"),
        (("p.toml", "p"), "with a decimal point in every row, percentages divided by 100."),
    ]
    for (problem, model), sentence in told:
        options = ("-p", problem, "--truth", "truth", "--model", model)
        done = run("evaluate", "percent.csv", *options)
        assert done.exit_code == 2
        assert sentence in done.stderr


def test_columns_that_do_not_sum_to_one_are_named():
    Path("two.csv").write_text("p,q\n0.5,0.9\n")
    done = run("decide", "two.csv", "-p", "p.toml", "--model", "p,q", "-o", "o.csv")
    refused(done, "rows 0 to 0 of the file (counted from 0): columns p, q of two.csv must sum to")


def test_a_rule_names_the_column_of_percentages_and_none_of_the_costs():
    problem = Problem([[0, "3 + sum"], [9, 0]], classes=["legit", "fraud"])
    Rule(problem, "posteriors").to_json("rule.json")
    Path("percent.csv").write_text("p,sum\n0.5,10\n20,30\n")
    done = run("decide", "percent.csv", "--rule", "rule.json", "--model", "p", "-o", "o.csv")
    whole = "rows 0 to 1 of the file (counted from 0): column p of percent.csv must hold"
    refused(done, f"{whole} probabilities in [0, 1]; 1 of 2 does not")
    assert "Divide percentages by 100. Raw scores are for --scores of evaluate and" in done.stderr


def test_a_problem_without_classes_is_refused_by_their_name():
    Path("none.toml").write_text("classes = []\n" + Path("p.toml").read_text().split("\n", 2)[2])
    refused(run("problem", "check", "none.toml"), "none.toml: classes must be a list of labels; it")
