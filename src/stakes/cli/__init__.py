"""The command ``stakes``: predictions and a problem file in, a report out.

The command needs the extra ``cli``; without it, it says so and ends with exit code 2. Nothing here
imports a guest before that is known.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from importlib.util import find_spec
from types import FrameType

__all__ = ["main"]

_GUESTS = ("click", "rich", "duckdb", "pyarrow")


def main() -> None:
    """Run the command with the arguments of the process; does not return."""
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # a shell may have it ignored
        signal.signal(signal.SIGINT, _interrupted)
    signal.signal(signal.SIGTERM, _ended)
    _require_guests()
    front = import_module("stakes.cli.commands")
    try:
        signal.signal(signal.SIGINT, usual)
        front.stakes.main(prog_name="stakes")
    except KeyboardInterrupt:
        _interrupted(signal.SIGINT, None)


def _require_guests() -> None:
    missing = [name for name in _GUESTS if find_spec(name) is None]
    if missing:
        print(
            f"stakes: the command needs the extra 'cli' ({', '.join(missing)} not found); install "
            f"it with: pip install 'stakes[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)


def _interrupted(number: int, frame: FrameType | None) -> None:
    """End at once: libraries that are half imported have nothing to put in order."""
    os.write(2, b"stakes: interrupted\n")
    os._exit(128 + number)


def _ended(number: int, frame: FrameType | None) -> None:
    """End in good order when told to, so that no half of a file stays behind."""
    sys.exit(128 + number)
