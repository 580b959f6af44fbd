"""Files that are written completely or not at all, and JSON with a checksum against changes."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from stakes.errors import InputError

__all__ = [
    "TO_JSON",
    "check_target",
    "checked_path",
    "checksum",
    "discard_unfinished",
    "format_fault",
    "parsed",
    "read_text",
    "sealed",
    "temporary_folder",
    "text_of",
    "verify",
    "whole_file",
    "write_whole",
]

TO_JSON = "Pass what to_json wrote."  # the remedy for JSON that is something else
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH
_STREAM = re.compile(r"/dev/(std(in|out|err)|fd/[^/]+)|/proc/.+/fd/[^/]+")
_UNFINISHED: set[Path] = set()  # files and folders that no run may leave behind


def checked_path(path: object) -> str | os.PathLike[str]:
    """The path; what is none, and an empty text, are refused."""
    if not isinstance(path, str | os.PathLike):
        raise InputError(
            f"path must be text or a path; got {type(path).__name__}. "
            f"Pass a str or a pathlib.Path.",
            argument="path",
        )
    if not str(path):
        raise InputError("path must be the name of a file; it is empty. Name one.")
    return path


def check_target(path: str | Path) -> Path:
    """The path, after a check that it can be written: better now than after hours of work."""
    target = Path(checked_path(path))
    try:
        target.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # links in a circle, a name that no file can have
        fault = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be written: {fault}. Name another.") from None
    if _is_stream(target):
        raise InputError(
            f"{path} must be a file; it is a stream, and the file behind it would be lost. Name a "
            f"file, or redirect what is printed."
        )
    folder = (target.resolve() if target.is_symlink() else target).parent
    if target.exists() and not target.is_file():
        raise InputError(f"{path} must be a file; something else is there. Name another.")
    if target.exists() and not (target.stat().st_mode & _WRITABLE and os.access(target, os.W_OK)):
        raise InputError(f"{path} cannot be replaced: it is read-only. Name another.")
    if not folder.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {folder}. Make it first.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path} cannot be written: the folder {folder} is read-only to you.")
    return target


def _is_stream(path: Path) -> bool:
    """Whether a path, or a link that it leads to, is a stream of a process, such as /dev/stdout."""
    here = str(path)
    while True:
        folder = os.path.realpath(os.path.dirname(here))
        here = os.path.join(folder, os.path.basename(here))
        if _STREAM.fullmatch(here):
            return True
        if not os.path.islink(here):
            return False
        here = os.path.join(folder, os.readlink(here))


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """A temporary file beside the target, which replaces the target if nothing failed.

    Its bytes are flushed to the disk first, so that even a crash leaves the old file or the new
    one. The new file has the permissions of the old one; a link to the target stays a link.
    """
    import secrets

    target = check_target(path).resolve()
    stem = os.fsdecode(os.fsencode(target.name)[:200])  # names of files are limited in bytes
    part = target.with_name(f".{stem}.{secrets.token_hex(8)}.part")
    mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
    _UNFINISHED.add(part)
    try:
        # Private from the start, if the target is: others could otherwise read it until it is done.
        part.touch(0o666 if mode is None else mode, exist_ok=False)
        yield part
        if mode is not None:
            part.chmod(mode)  # touch left out what the umask forbids
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:  # it names the temporary file, or none; name the target instead
        if error.filename not in (None, str(part), str(target)):
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
    finally:
        part.unlink(missing_ok=True)
        _UNFINISHED.discard(part)


def write_whole(path: str | Path, text: str) -> None:
    """Write a text to a file, with the same line endings on every system."""
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder that is removed afterwards, even when the process is ended by a signal.

    It counts as unfinished before it is there and until it is gone: a signal may come in between.
    """
    import secrets
    import shutil
    import tempfile

    folder = Path(tempfile.gettempdir()) / f"stakes-{secrets.token_hex(8)}"
    _UNFINISHED.add(folder)
    try:
        folder.mkdir(0o700)
        yield folder
    finally:
        with suppress(FileNotFoundError):
            shutil.rmtree(folder)
        _UNFINISHED.discard(folder)


def discard_unfinished() -> None:
    """Remove unfinished files and folders, just before the process ends."""
    import shutil

    for path in _UNFINISHED:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


# JSON --------------------------------------------------------------------------------------------


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file; pipes are refused, since reading one may block forever."""
    file = Path(path)
    if file.exists() and not file.is_file():
        raise OSError("it is a folder, a pipe or a device")
    return file.read_text(encoding="utf-8")


def text_of(name: str, source: object, what: str) -> str:
    """The JSON itself, if the source begins with a brace; otherwise the content of that file."""
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    try:
        if not isinstance(source, str | os.PathLike):
            raise ValueError("it is neither text nor a path")
        if source == "":
            raise FileNotFoundError("it is empty")
        return read_text(source)
    except OSError as error:
        fault = error.strerror or str(error)
    except UnicodeDecodeError:
        fault = "it is not text in UTF-8"
    except ValueError as error:  # no path at all, or a name that no file can have
        fault = str(error)
    shown = str(source) if isinstance(source, Path) else source
    raise InputError(
        f"{name} must be the JSON of {what}, or the path of a file that can be read; "
        f"{repr(shown)[:60]} cannot: {fault}.",
        remedy=TO_JSON,
    )


def parsed(
    name: str, source: object, what: str, *, form: str, version: int, older: tuple[int, ...] = ()
) -> dict[str, Any]:
    """The object of this format and version in a text or a file; anything else is refused.

    Objects of `older` versions can still be read.
    """
    text = text_of(name, source, what)
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise InputError(
            f"{name} must be JSON; it is not: {fault}. A file that ends too early was not written "
            f"to its end.",
            remedy=TO_JSON,
        ) from None
    if not isinstance(body, dict) or body.get("format") != form:
        raise InputError(
            f"{name} must be {what}; {format_fault(body, form)}.",
            remedy=TO_JSON,
        )
    written = body.get("version")
    if written is True or written not in (version, *older):
        raise InputError(
            f"{name} must be of version {version}; it is of version {written!r}. Read it with the "
            f"release of stakes that wrote it, or make it again."
        )
    return body


def format_fault(body: object, form: str) -> str:
    """What JSON of another format is, as far as that is known.

    >>> format_fault({"format": "stakes.rule"}, "stakes.calibration"), format_fault([], "x")
    ('it is a rule', "its format is not 'x'")
    """
    stated = body if isinstance(body, dict) else {}
    if str(stated.get("schema")).startswith("stakes-report"):
        return "it is a report"
    known = {"stakes.rule": "a rule", "stakes.calibration": "a calibration map"}
    kind = known.get(str(stated.get("format")))
    return f"its format is not {form!r}" if kind is None else f"it is {kind}"


def sealed(body: Mapping[str, Any]) -> str:
    """JSON with a checksum of its content, which does not depend on order and layout."""
    return json.dumps({**body, "checksum": checksum(body)}, allow_nan=False)


def verify(name: str, body: Mapping[str, Any], what: str) -> None:
    """Refuse content that does not match its checksum."""
    content = {key: part for key, part in body.items() if key != "checksum"}
    if body.get("checksum") != checksum(content):
        raise InputError(
            f"{name} must be {what} as to_json wrote it; it was changed since, because its content "
            f"does not have its checksum. Make it again, or fetch the file again."
        )


def checksum(content: Mapping[str, Any]) -> str:
    """A checksum of the content that does not depend on the order of the entries."""
    import hashlib

    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
