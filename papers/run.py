"""The papers, reproduced: show one item, one paper, or build the page of all.

    python papers/run.py PAPER [ITEM]     show it; pictures go to build/papers
    python papers/run.py --all            build papers/README.md and papers/figures

Exits with 0 only if everything that must agree with the print agrees.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from page import Kind, Page, Printed, markdown_table  # noqa: E402

PAPERS = {
    "ferrer-ec": ("figure-1", "figure-2", "table-1", "identities", "bound"),
    "ferrer-analysis": ("figure-1", "table-1"),
    "itai-katz": ("clinic", "means", "two-classes", "three-classes", "volume", "suitability"),
    "dyrland": ("table-1", "figure-1", "compliance", *(f"figure-{n}" for n in range(2, 9))),
    "hernandez-orallo": (
        *("figure-1", "figure-2", "table-1", "table-2", "table-3", "figure-3", "table-4"),
        *("table-5", "decomposition", "figure-4", "table-6"),
        *("cost-space", "h-measure", "convergence"),
    ),
}
TEXT = (HERE / "printed.toml").read_text(encoding="utf-8")
PRINTED = tomllib.loads(TEXT, parse_float=Printed)


def build(paper: str, item: str, *, fast: bool, pictures: Path) -> Page:
    """Run the script of one item on an empty page."""
    script = importlib.import_module(f"{paper}.{item}".replace("-", "_"))
    known = PRINTED[paper]
    page = Page(printed=known[item], paper=known, fast=fast, pictures=pictures)
    script.build(page)
    return page


def title(paper: str, item: str) -> str:
    """The first line of the script: what the item is."""
    script = importlib.import_module(f"{paper}.{item}".replace("-", "_"))
    return (script.__doc__ or "").splitlines()[0].rstrip(".")


def source(paper: str, item: str) -> str:
    """Where the script of an item is."""
    return f"{paper}/{item}.py".replace("-", "_")


def show(paper: str, items: tuple[str, ...], *, fast: bool) -> bool:
    """Print items to the screen."""
    good = True
    for item in items:
        page = build(paper, item, fast=fast, pictures=HERE.parent / "build" / "papers")
        print(f"{title(paper, item)}\n({page.printed['where']})\n\n{page.text()}\n")
        print(f"{item}: {'agrees' if page.good else 'DOES NOT AGREE'}\n")
        good = good and page.good
    return good


def build_all(target: Path, *, fast: bool) -> bool:
    """Build the page of all papers into a folder."""
    start = time.perf_counter()
    sections, pages = [], {}
    for paper, items in PAPERS.items():
        about = PRINTED[paper]
        sections.append(f"## {paper}: {about['title']}\n\n{about['authors']}. {about['about']}")
        for item in items:
            page = build(paper, item, fast=fast, pictures=target / "figures")
            pages[paper, item] = page
            origin = f"{page.printed['where']}; [`{source(paper, item)}`]({source(paper, item)})"
            parts = f"### {heading(paper, item)}", origin[0].upper() + origin[1:], page.text()
            sections.append("\n\n".join(parts))
            state = "agrees" if page.good else "DOES NOT AGREE"
            print(f"{time.perf_counter() - start:6.1f} s  {paper:17} {item:14} {state}", flush=True)
    top = [PRINTED["page"]["text"].strip(), overview(pages)]
    text = "\n\n".join([*top, *sections]) + "\n"
    (target / "README.md").write_text(text, encoding="utf-8")
    return all(page.good for page in pages.values())


def overview(pages: dict[tuple[str, str], Page]) -> str:
    """One line for each item: where it is, what it shows, and how the comparisons came out."""
    rows = []
    for (paper, item), page in pages.items():
        place, _, shows = title(paper, item).partition(". ")
        agree = [
            sum(one.agrees for one in page.comparisons if one.kind is kind) or "–"
            for kind in (Kind.PRINTED, Kind.STATED, Kind.OWN)
        ]
        differ = sum(not one.agrees for one in page.comparisons) or "–"
        link = f"[{place}](#{anchor(heading(paper, item))})"
        rows.append((paper, link, shows, *agree, differ))
    titles = "paper", "item", "shows", "printed", "stated", "own checks", "differ, with the reason"
    return markdown_table(dict(zip(titles, zip(*rows, strict=True), strict=True)))


def heading(paper: str, item: str) -> str:
    """The heading of an item on the page."""
    return f"{paper}, {title(paper, item)}"


def anchor(words: str) -> str:
    """What a heading is called in links, by the rule of GitHub and GitLab."""
    return re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").splitlines()[0],
        epilog="papers and items: " + "; ".join(f"{p}: {', '.join(i)}" for p, i in PAPERS.items()),
    )
    parser.add_argument("paper", nargs="?", choices=PAPERS)
    parser.add_argument("item", nargs="?")
    parser.add_argument("--all", action="store_true", help="build the page of all papers")
    parser.add_argument("--fast", action="store_true", help="smaller simulations")
    parser.add_argument("--into", type=Path, help="folder of the page, with --all")
    given = parser.parse_args()
    if given.all:
        build_dir = HERE.parent / "build" / "papers"
        return not build_all(given.into or (build_dir if given.fast else HERE), fast=given.fast)
    if given.paper is None:
        parser.error("name a paper, or ask for --all")
    items = PAPERS[given.paper] if given.item is None else (given.item,)
    if not set(items) <= set(PAPERS[given.paper]):
        parser.error(f"items of {given.paper} are {', '.join(PAPERS[given.paper])}")
    return not show(given.paper, items, fast=given.fast)


if __name__ == "__main__":
    sys.exit(main())
