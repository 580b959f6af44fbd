"""The room itself: nobody else opens it, and it says what it needs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def output(statement: str) -> str:
    command = [sys.executable, "-c", statement]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    return done.stdout + done.stderr


def test_scikit_learn_is_not_loaded_before_a_name_of_the_room_is_used():
    everything = "import sys, stakes.sklearn, stakes.evaluation, stakes.adapters, stakes.render"
    assert output(f"{everything}; print('sklearn' in sys.modules)") == "False\n"


def test_without_scikit_learn_the_message_names_the_extra():
    text = output(
        "import sys; sys.modules['sklearn'] = None; from stakes.sklearn import make_scorer"
    )
    assert "MissingExtraError: stakes.sklearn.make_scorer needs the package sklearn" in text
    assert "pip install 'stakes[sklearn]'" in text


@pytest.mark.parametrize("extra", ["sklearn", "plot"])
def test_the_lowest_version_that_is_tested_is_the_lowest_that_is_declared(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [declared] = project["project"]["optional-dependencies"][extra]
    assert declared.replace(">=", "==") + ".0" in project["dependency-groups"]["sklearn"]
