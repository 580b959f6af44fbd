"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: str | Path, text: str) -> None:
    """Write beside the target, then put it in place in one step; a failure leaves nothing."""
    try:
        _write_whole(Path(path), text)
    except OSError as error:  # which names the file beside it, or none
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def _write_whole(target: Path, text: str) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    """The permissions that new files do not get; temporary files are private otherwise."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
