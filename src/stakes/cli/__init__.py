"""The command ``stakes``: predictions and a problem file in, a report out.

The command needs the extra ``cli``. Where that is not installed, the command says so and ends with
exit code 2; this module therefore imports no optional package before it has checked for them.
"""

from __future__ import annotations

import codecs
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper
from threading import current_thread, main_thread
from types import FrameType

from stakes._files import discard_unfinished

__all__ = ["main"]

_GUESTS = ("click", "rich", "duckdb", "pyarrow")
_SIGNALS = [
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
]
_FAULT = 70  # EX_SOFTWARE in sysexits.h; exit code 1 is reserved for gates
_START, _THREAD = 1536 << 20, 80 << 20  # bytes of address space to start, and for each thread
_ASCII = {"−": "-", "–": "-", "…": "...", "≥": ">=", "≤": "<=", "×": "x", "∞": "inf", "→": "->"}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command ``stakes``, and end the process, or the thread that it is called in.

    Parameters
    ----------
    arguments : what follows ``stakes`` on a command line; without it, that of the process

    Examples
    --------
    >>> import subprocess, sys
    >>> command = [sys.executable, "-c", "from stakes.cli import main; main()", "--version"]
    >>> subprocess.run(command, capture_output=True, check=True).stdout.split()[0]
    b'stakes'
    """
    _open_streams()
    # Python lets no other thread handle signals.
    signals = _SIGNALS if current_thread() is main_thread() else []
    for number in signals:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _ended)
    _require_guests()
    _require_memory()
    try:
        front = import_module("stakes.cli.commands")
    except Exception as error:
        _print_error(f"stakes cannot start: {error or type(error).__name__}")
        os._exit(_FAULT)
    try:
        front.stakes.main(arguments, prog_name="stakes")
    finally:  # all is written; Python restores the default actions of handled signals as it ends
        for number in signals:
            signal.signal(number, signal.SIG_IGN)


def _open_streams() -> None:
    """Make sure that the standard streams are open and can print every character.

    A process may be started with standard output closed. The first file that it opens would then
    get that number, and whatever is printed would end up in the file.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error("in_ascii", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a program that calls this may have put others
            stream.reconfigure(errors="in_ascii")


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replacements for the characters that the encoding of a stream lacks."""
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(
        " " if character.isspace() else _ASCII.get(character, "?") for character in missing
    ), error.end


def _require_guests() -> None:
    """End the process where optional packages are missing."""
    missing = [name for name in _GUESTS if find_spec(name) is None]
    if missing:
        _print_error(
            f"the command needs the extra 'cli' ({', '.join(missing)} not found); install it "
            f"with: pip install 'stakes[cli]'"
        )
        sys.exit(2)


def _require_memory() -> None:
    """Refuse a limit on memory below what the libraries map before they read any rows.

    OpenBLAS, which numpy and scipy use, and the start of threads would otherwise end the process
    with an exit code of their own, or try again forever.
    """
    if not _is_limited() or _can_map(_START + _THREAD * (os.cpu_count() or 1)):
        return
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # every further thread would map memory of its own
    if not _can_map(_START):
        _print_error(
            f"the limit on memory must leave {_START >> 20} MiB for the libraries; it does not. "
            f"Raise it (ulimit -v, ulimit -d), or lift it."
        )
        sys.exit(2)


def _is_limited() -> bool:
    """Whether this process has a limit on memory; little memory in the machine is not a limit."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, RLIMIT_DATA, getrlimit
    except ImportError:  # not on Windows
        return False
    return any(getrlimit(kind)[0] != RLIM_INFINITY for kind in (RLIMIT_AS, RLIMIT_DATA))


def _can_map(size: int) -> bool:
    """Whether this process may map so many bytes more; none of them is used."""
    try:
        from mmap import ACCESS_COPY, mmap

        mmap(-1, size, access=ACCESS_COPY).close()
    except (ImportError, MemoryError, OSError):
        return False
    return True


def _print_error(text: str) -> None:
    with suppress(OSError):  # standard error is full or closed, and there is no other way to report
        os.write(2, f"stakes: {text}\n".encode())


def _ended(number: int, frame: FrameType | None) -> None:
    """Handle a signal: delete unfinished files and end at once.

    An exception raised here would pass through libraries that would report it as their own error.
    """
    discard_unfinished()
    if os.isatty(2):
        os.write(2, b"\r\x1b[2K\x1b[?25h")  # clear the progress bar, show the cursor
    if number == signal.SIGINT:
        _print_error("interrupted")
    os._exit(128 + number)
