"""Files that an earlier version wrote still open, and mean what they meant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from landed_meaning import FOLDER, meaning_of, stated

STATED = stated()


def _same(now: Any, before: Any) -> bool:
    """Whether two plain values agree, numbers to twelve digits."""
    if isinstance(before, dict):
        return now.keys() == before.keys() and all(_same(now[k], before[k]) for k in before)
    if isinstance(before, list):
        return len(now) == len(before) and all(map(_same, now, before))
    if isinstance(before, float):
        return bool(np.isclose(now, before, rtol=1e-12, atol=1e-12, equal_nan=True))
    return bool(now == before)


@pytest.mark.parametrize("name", sorted(STATED))
def test_a_file_of_an_earlier_version_means_what_it_meant(name):
    assert _same(meaning_of(FOLDER / name), STATED[name])


def test_every_kept_file_is_compared():
    assert {path.name for path in FOLDER.iterdir()} == {*STATED, "meaning.json"}
