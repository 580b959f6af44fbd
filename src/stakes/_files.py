"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from stakes.errors import InputError

__all__ = ["check_target", "whole_file", "write_whole"]


def check_target(path: str | Path) -> Path:
    """A path that can be written, known before hours of work are spent."""
    target = Path(path)
    folder = target.parent
    if target.exists() and not target.is_file():
        raise InputError(f"{path} must be a file; something else is there. Name another.")
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {folder}. Make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: the folder {folder} is read-only to you.")
    return target


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A name beside the target to write to; it takes the target's place when all went well.

    The bytes reach the disk first, so that even a crash leaves the old file or the new one.
    """
    target = check_target(path)
    part = target.with_name(f".{target.name[:200]}.{secrets.token_hex(8)}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:  # which names the file beside it, or none
        if error.filename not in (None, str(part)):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        part.unlink(missing_ok=True)


def write_whole(path: str | Path, text: str) -> None:
    """Text into a file, with the same line ends everywhere."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")
