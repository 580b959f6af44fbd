"""Files appear whole or not at all, whoever writes them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stakes import InputError, _files
from stakes._files import temporary_folder, whole_file, write_whole


def test_text_is_written_with_the_permissions_of_a_new_file(tmp_path):
    write_whole(tmp_path / "out.txt", "one\ntwo\n")
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "out.txt").read_bytes() == b"one\ntwo\n"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_what_replaces_a_private_file_is_private_while_it_is_written(tmp_path):
    target = tmp_path / "out.txt"
    target.write_text("old")
    for mode in (0o600, 0o640, 0o666):
        target.chmod(mode)
        with whole_file(target) as part:
            assert stat.S_IMODE(part.stat().st_mode) | 0o022 == mode | 0o022  # less the umask
            part.write_text("new")
        assert stat.S_IMODE(target.stat().st_mode) == mode


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "out.txt"
    write_whole(target, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(target, "half \ud800")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert target.read_text() == "old"


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    done = []
    steps: dict[str, Callable[..., None]] = {"fsync": os.fsync, "replace": os.replace}

    def noted(name: str) -> Callable[..., None]:
        def step(*arguments: Any) -> None:
            done.append(name)
            steps[name](*arguments)

        return step

    for name in steps:
        monkeypatch.setattr(os, name, noted(name))
    write_whole(tmp_path / "out.txt", "all")
    assert done == ["fsync", "replace"]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="there is no folder"):
        write_whole(tmp_path / "none" / "out.txt", "")


def test_a_stream_is_refused_and_the_file_behind_it_stays(tmp_path):
    log = tmp_path / "log.txt"
    log.write_text("old\n")
    with log.open("a") as stream:
        (tmp_path / "link").symlink_to(f"/proc/self/fd/{stream.fileno()}")
        (tmp_path / "to").symlink_to(tmp_path / "link")
        names = [f"/proc/self/fd/{stream.fileno()}", f"/dev/fd/{stream.fileno()}", "/dev/stdout"]
        for name in (*names, tmp_path / "link", tmp_path / "to"):
            with pytest.raises(InputError, match=r"it is a stream|something else is there"):
                write_whole(name, "new")
    assert log.read_text() == "old\n"
    (tmp_path / "plain").symlink_to(log)
    write_whole(tmp_path / "plain", "new")
    assert log.read_text() == "new"


def test_a_temporary_folder_is_known_before_it_is_there_and_until_it_is_gone(monkeypatch):
    """A signal may come while it is made or removed; what is known then is removed."""
    make, remove = Path.mkdir, shutil.rmtree
    known = []

    def noted(step: Callable[..., None]) -> Callable[..., None]:
        def noting(path: Path, *arguments: Any, **asked: Any) -> None:
            known.append(path in _files._UNFINISHED)
            step(path, *arguments, **asked)

        return noting

    monkeypatch.setattr(Path, "mkdir", noted(make))
    monkeypatch.setattr(shutil, "rmtree", noted(remove))
    with temporary_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "rows.csv").write_text("")
        _files.discard_unfinished()
        assert not folder.exists()
    assert known == [True, True, True]
    assert folder not in _files._UNFINISHED
    with temporary_folder() as folder:
        pass
    assert not folder.exists()
