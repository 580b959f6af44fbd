"""Follow every internal link of the built site, anchors included; `make docs` runs this.

    python docs/site_links.py docs/_build/html

Sphinx sees the links that it makes itself; this also sees those of templates, tables of tutorials
and raw HTML. A page that loads anything from a network is a fault, too.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img", "script", "source"}  # a link of another kind is followed by people only


class Page(HTMLParser):
    """The anchors of a page, and its links, each with the tag that has it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what one tag says."""
        stated = {name: value for name, value in attrs if value}
        self.anchors |= {stated[name] for name in ("id", "name") if name in stated}
        self.links += [(tag, stated[name]) for name in ("href", "src") if name in stated]


def faults(root: Path) -> list[str]:
    """Links that lead nowhere, and what would be loaded from a network."""
    files = [path for path in root.rglob("*.html") if "_static" not in path.parts]  # no templates
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in files}
    broken = {
        f"{path.relative_to(root)}: {link}"
        for path, page in pages.items()
        for tag, link in page.links
        if _is_broken(path, tag, link, pages)
    }
    return sorted(broken)


def _is_broken(path: Path, tag: str, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return tag in LOADED and parts.scheme != "data"
    goal = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if not goal.exists():
        return True
    return bool(parts.fragment) and goal in pages and parts.fragment not in pages[goal].anchors


if __name__ == "__main__":
    sys.exit("\n".join(faults(Path(sys.argv[1]).resolve())) or None)
