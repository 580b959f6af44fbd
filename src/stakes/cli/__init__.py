"""The command ``stakes``: predictions and a problem file in, a report out.

The command needs the extra ``cli``; without it, it says so and ends with exit code 2. Nothing here
imports a guest before that is known.
"""

from __future__ import annotations

import codecs
import os
import signal
import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import FrameType

from stakes._files import discard_unfinished

__all__ = ["main"]

_GUESTS = ("click", "rich", "duckdb", "pyarrow")
_FAULT = 70  # as sysexits.h has it: never to be taken for a gate, which is 1
_ASCII = {"−": "-", "–": "-", "…": "...", "≥": ">=", "≤": "<=", "×": "x", "∞": "inf", "→": "->"}


def main() -> None:
    """Run the command with the arguments of the process; does not return."""
    _open_streams()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _ended)
    _require_guests()
    try:
        front = import_module("stakes.cli.commands")
    except Exception as error:
        _said(f"stakes cannot start: {error or type(error).__name__}")
        os._exit(_FAULT)
    front.stakes.main(prog_name="stakes")


def _open_streams() -> None:
    """Streams that exist and take every character, whatever the process was started with.

    A file that is opened must never become standard output because that was closed.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free, which is this one
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    codecs.register_error("in_ascii", _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="in_ascii")  # type: ignore[union-attr]


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that an old encoding lacks."""
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(" " if one.isspace() else _ASCII.get(one, "?") for one in missing), error.end


def _require_guests() -> None:
    missing = [name for name in _GUESTS if find_spec(name) is None]
    if missing:
        _said(
            f"the command needs the extra 'cli' ({', '.join(missing)} not found); install it "
            f"with: pip install 'stakes[cli]'"
        )
        sys.exit(2)


def _said(text: str) -> None:
    with suppress(OSError):  # full or closed: there is nobody left to be told
        os.write(2, f"stakes: {text}\n".encode())


def _ended(number: int, frame: FrameType | None) -> None:
    """End at once, and leave nothing that is not finished.

    An exception would have to pass through libraries that take it for a fault of their own.
    """
    discard_unfinished()
    if os.isatty(2):
        os.write(2, b"\r\x1b[2K\x1b[?25h")  # the progress bar goes, and the cursor comes back
    if number == signal.SIGINT:
        _said("interrupted")
    os._exit(128 + number)
