"""What tutorials printed that the build of the site cannot run.

`python docs/recorded.py t13_spark` runs a tutorial, code block by code block, and keeps what each
of them printed in docs/recorded/; a test in the environment of the tutorial runs it again and
compares. Where the site is built without Spark, the page shows the recorded text and says so.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from contextlib import redirect_stdout
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NEEDS_SPARK = ("t13_spark",)
CODE = re.compile(r"(?<=\n)\.\. code-block:: Python\n(?:    :\S+:[^\n]*\n)*\n(?:    [^\n]*\n|\n)+")
NOTE = (
    "\n.. note:: This site was built without Spark. What you see below the code was recorded when "
    "the tests of this page ran.\n"
)


def has_spark() -> bool:
    """Whether pyspark and Java are installed here."""
    return find_spec("pyspark") is not None and shutil.which("java") is not None


def code_blocks(script: str) -> list[str]:
    """The code between the comments of a tutorial; the last comment may have none below."""
    body = script.split('"""\n', 2)[2]
    parts = re.split(r"^# %%\n(?:#[^\n]*\n)*", body, flags=re.MULTILINE)
    return [part for part in parts if part.strip()]


def outputs(name: str) -> list[str]:
    """Run a tutorial, and return what each of its code blocks printed."""
    path = HERE / "tutorials" / f"{name}.py"
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for block in code_blocks(path.read_text(encoding="utf-8")):
        with redirect_stdout(StringIO()) as stream:
            exec(compile(block, str(path), "exec"), names)
        printed.append(stream.getvalue())
    return printed


def recorded(name: str) -> list[str]:
    """What the code blocks of a tutorial printed when they were recorded."""
    text: list[str] = json.loads((HERE / "recorded" / f"{name}.json").read_text(encoding="utf-8"))
    return text


def with_outputs(page: str, printed: list[str]) -> str:
    """The page of a tutorial that was not run, with a note and the output below each block."""
    parts = iter(printed)

    def followed(block: re.Match[str]) -> str:
        text = next(parts)
        lines = "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())
        shown = f".. rst-class:: sphx-glr-script-out\n\n.. code-block:: none\n\n{lines}\n"
        return f"{block[0]}\n{shown if text else ''}"

    title, rule, rest = re.split(r"^(=+\n)", CODE.sub(followed, page), maxsplit=1, flags=re.M)
    return f"{title}{rule}{NOTE}{rest}"


if __name__ == "__main__":
    for tutorial in sys.argv[1:]:
        target = HERE / "recorded" / f"{tutorial}.json"
        target.parent.mkdir(exist_ok=True)
        target.write_text(
            json.dumps(outputs(tutorial), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
