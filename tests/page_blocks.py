"""Fenced blocks of the pages, and the commands in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCED = re.compile(r"^( *)```([^\n]*)\n(.*?)^\1```", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its page, its language and its text, without the indentation."""

    page: str
    language: str
    text: str

    @property
    def commands(self) -> list[list[str]]:
        """The words of every command of a shell block, without comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [words for line in lines if (words := shlex.split(line, comments=True))]


def blocks() -> list[Block]:
    """All blocks of all pages, except directives of Sphinx."""
    return [
        Block(page.name, language, re.sub(rf"^{indent}", "", text, flags=re.MULTILINE))
        for page in PAGES
        for indent, language, text in FENCED.findall(page.read_text(encoding="utf-8"))
        if not language.startswith("{")
    ]


def blocks_of(page: str, language: str) -> list[Block]:
    """The blocks of a page in one language; "" for commands of the shell."""
    return [block for block in blocks() if (block.page, block.language) == (page, language)]
