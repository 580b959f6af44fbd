"""The papers, reproduced: show one item, one paper, or build the page of all.

    .venv/bin/python papers/run.py PAPER [ITEM]   show it; pictures go to build/papers
    .venv/bin/python papers/run.py --all          build papers/README.md and papers/figures

`make papers` builds the page too, and makes .venv first. Exits with 0 only if everything that must
agree with the print agrees.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
import time
import tomllib
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

try:
    import sklearn  # noqa: F401
    from page import Kind, Page, Printed, markdown_table

    import stakes  # noqa: F401
except ImportError as missing:
    if __name__ != "__main__":
        raise
    sys.exit(
        f"The papers need {missing.name}, which this Python does not have. `make papers` installs "
        "everything into .venv; afterwards `.venv/bin/python papers/run.py PAPER [ITEM]` works."
    )

PAPERS = {
    "ferrer-ec": ("figure-1", "figure-2", "table-1", "identities", "bound"),
    "ferrer-analysis": ("figure-1", "table-1"),
    "itai-katz": ("clinic", "means", "two-classes", "three-classes", "volume", "suitability"),
    "dyrland": ("table-1", "figure-1", "compliance", *(f"figure-{n}" for n in range(2, 9))),
    "hernandez-orallo": (
        *("figure-1", "figure-2", "table-1", "table-2", "table-3", "figure-3", "table-4"),
        *("table-5", "decomposition", "figure-4", "table-6"),
        *("cost-space", "h-measure", "convergence", "table-7"),
    ),
}
TEXT = (HERE / "printed.toml").read_text(encoding="utf-8")
PRINTED = tomllib.loads(TEXT, parse_float=Printed)
COUNTED = [kind.value for kind in (Kind.PRINTED, Kind.STATED, Kind.OWN)]


def script(paper: str, item: str) -> ModuleType:
    """The script of an item."""
    return importlib.import_module(f"{paper}.{item}".replace("-", "_"))


def words(paper: str, item: str) -> tuple[str, str]:
    """What the script says about the item: its title, and the paragraph below it."""
    title, _, below = (script(paper, item).__doc__ or "").partition("\n")
    return title.rstrip("."), below.strip()


def build(paper: str, item: str, *, fast: bool, pictures: Path, base: Path) -> Page:
    """Run the script of one item on a page that holds only the script's own words."""
    known = PRINTED[paper]
    page = Page(f"{paper}-{item}", known[item], known, fast=fast, pictures=pictures, base=base)
    _, below = words(paper, item)
    if below:
        page.say(below)
    script(paper, item).build(page)
    return page


def source(paper: str, item: str) -> str:
    """Where the script of an item is."""
    return f"{paper}/{item}.py".replace("-", "_")


def origin(paper: str, item: str) -> str:
    """Where an item is in the paper, how to show it, and where its script is."""
    where, path = PRINTED[paper][item]["where"], source(paper, item)
    return f"{where[0].upper()}{where[1:]}; `run.py {paper} {item}`; [`{path}`]({path})"


def show(paper: str, items: tuple[str, ...], *, fast: bool) -> bool:
    """Print items to the screen."""
    good, pictures = True, HERE.parent / "build" / "papers"
    for item in items:
        page = build(paper, item, fast=fast, pictures=pictures, base=Path.cwd())
        title, _ = words(paper, item)
        print(f"{title}\n({page.printed['where']})\n\n{page.text()}\n")
        print(f"{item}: {'agrees' if page.good else 'DOES NOT AGREE'}\n")
        good = good and page.good
    return good


def build_all(target: Path, *, fast: bool) -> bool:
    """Build the page of all papers into a folder."""
    start = time.perf_counter()
    sections, pages = [], {}
    for paper, items in PAPERS.items():
        known = PRINTED[paper]
        head = f"## {paper}: {known['title']}"
        sections.append(f"{head}\n\n{known['authors']}, {known['published']}. {known['about']}")
        for item in items:
            page = build(paper, item, fast=fast, pictures=target / "figures", base=target)
            pages[paper, item] = page
            parts = f"### {heading(paper, item)}", origin(paper, item), page.text()
            sections.append("\n\n".join(parts))
            state = "agrees" if page.good else "DOES NOT AGREE"
            print(f"{time.perf_counter() - start:6.1f} s  {paper:17} {item:14} {state}", flush=True)
    top = [PRINTED["page"]["text"].strip(), overview(pages)]
    text = "\n\n".join([*top, *sections]) + "\n"
    (target / "README.md").write_text(text, encoding="utf-8")
    return all(page.good for page in pages.values())


def overview(pages: dict[tuple[str, str], Page]) -> str:
    """One line for each item: where it is, what it shows, and how the comparisons came out."""
    titles = "paper", "item", "place", "shows", *COUNTED, "differ, with the reason", "must agree"
    rows = [row(*names, page) for names, page in pages.items()]
    return markdown_table(dict(zip(titles, zip(*rows, strict=True), strict=True)))


def row(paper: str, item: str, page: Page) -> tuple[object, ...]:
    """The line of one item in the overview."""
    place, _, shows = words(paper, item)[0].partition(". ")
    link = f"[{place}](#{anchor(heading(paper, item))})"
    good = [comparison for comparison in page.comparisons if comparison.good]
    counts = [
        sum(comparison.agrees and comparison.kind.value == kind for comparison in good)
        for kind in COUNTED
    ]
    counts += [sum(not comparison.agrees for comparison in good), len(page.comparisons) - len(good)]
    return paper, item, link, shows, *(count or "–" for count in counts)


def heading(paper: str, item: str) -> str:
    """The heading of an item on the page."""
    return f"{paper}, {words(paper, item)[0]}"


def anchor(heading: str) -> str:
    """What a heading is called in links, by the rule of GitHub and GitLab."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


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
    options = parser.parse_args()
    if options.all == (options.paper is not None):
        parser.error("name a paper or ask for --all, and not both")
    if options.into and not options.all:
        parser.error("--into goes with --all; one item's pictures go to build/papers")
    if options.all:
        build_dir = HERE.parent / "build" / "papers"
        return not build_all(
            options.into or (build_dir if options.fast else HERE), fast=options.fast
        )
    items = PAPERS[options.paper] if options.item is None else (options.item,)
    if not set(items) <= set(PAPERS[options.paper]):
        parser.error(f"items of {options.paper} are {', '.join(PAPERS[options.paper])}")
    return not show(options.paper, items, fast=options.fast)


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read this has read enough; what was not shown is not good
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
