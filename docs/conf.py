"""How Sphinx builds the site: `make docs`."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import recorded  # noqa: E402  these lie beside this file
import reference_pages  # noqa: E402
from docutils import nodes  # noqa: E402
from sphinx.addnodes import pending_xref  # noqa: E402
from sphinx.ext.autodoc.mock import _MockObject  # noqa: E402
from sphinx.util.nodes import make_refnode  # noqa: E402

import stakes  # noqa: E402

project = "stakes"
author = "The stakes developers"
copyright = author
version = release = stakes.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "coverage_study", "tutorials"]
nitpicky = True
default_role = "py:obj"  # single backticks in docstrings

# Markdown -----------------------------------------------------------------------------------------
myst_heading_anchors = 3
myst_enable_extensions = ["deflist", "dollarmath", "colon_fence"]

# Docstrings ---------------------------------------------------------------------------------------
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["torch", "torchmetrics", "triton"]  # large, and only named in signatures
# What stakes.torch does with torch while it is imported: eps / 2, and Tensor | None.
for _sign in ("__truediv__", "__or__"):
    setattr(_MockObject, _sign, lambda self, other: self)
numpydoc_show_class_members = False
add_module_names = False
toc_object_entries_show_parents = "hide"

# Tutorials ----------------------------------------------------------------------------------------
# A tutorial that needs Spark runs where Spark is; elsewhere its page shows what was recorded.
NOT_RUN = () if recorded.has_spark() else recorded.NEEDS_SPARK
sphinx_gallery_conf = {
    "examples_dirs": "tutorials",
    "gallery_dirs": "gallery",
    "filename_pattern": rf"/(?!{'|'.join(NOT_RUN) or '$'})\w+\.py$",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "remove_config_comments": True,
    "ignore_repr_types": r"matplotlib",  # the picture says more than ``<Axes: …>`` below it
    "copyfile_regex": r".*\.rst",
}
suppress_warnings = ["config.cache"]

# The page -----------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "stakes"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_sidebars: dict[str, list[str]] = {"start": []}  # it has no pages below it
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
    "navigation_with_keys": False,
    "pygments_light_style": "tango",
}
copybutton_exclude = ".linenos, .gp, .go"


def link_python_name(app: Any, env: Any, node: pending_xref, content: nodes.Element) -> Any:
    """Resolve a name as a reader would; a name of another library stays plain text.

    A name of this package that does not exist is left alone, and nitpicky Sphinx complains.
    """
    if node.get("refdomain") != "py":
        return None
    domain, target = env.domains["py"], node["reftarget"].removesuffix("()")
    short = target.removeprefix("stakes.")
    known = [name for name in domain.objects if name == target or name.endswith("." + short)]
    home = f"stakes.{stakes._ROOM_OF.get(short, '')}".rsplit(".", 1 if "." in short else 0)[0]
    known.sort(key=lambda name: (not name.startswith(home), name.count("."), name))
    if known and (short in stakes._ROOM_OF or len(known) == 1 or target.startswith("stakes.")):
        entry = domain.objects[known[0]]
        at = (node.get("refdoc", env.docname), entry.docname, entry.node_id)
        return make_refnode(app.builder, *at, content, known[0])
    return None if target.startswith("stakes.") and not exists(target) else content


def exists(path: str) -> bool:
    """Whether a dotted path of this package leads somewhere."""
    thing: Any = stakes
    try:
        for part in path.split(".")[1:]:
            thing = getattr(thing, part)
    except (AttributeError, ImportError):
        return False
    return True


def link_code(app: Any, doctree: nodes.document, docname: str) -> None:
    """Link inline code that is a public name in pages of prose, which GitHub shows as code."""
    if docname.startswith(("reference/", "gallery/")):
        return
    objects = app.env.domains["py"].objects
    for literal in list(doctree.findall(nodes.literal)):
        text = literal.astext().removesuffix("()")
        path = text if text.startswith("stakes.") else f"stakes.{text}"
        if isinstance(literal.parent, nodes.reference) or path.count(".") > 2:
            continue
        name = path.removeprefix("stakes.")
        # A name at the top level, or a method of one, lives in the room that defines it.
        room = stakes._ROOM_OF.get(name.partition(".")[0], "").split(".")[0]
        full = f"stakes.{room}.{name}" if room else path
        if full not in objects:  # `decide` is both a room and a function
            full = path
        if text[:1] != "_" and full in objects and (room or text.startswith("stakes.")):
            entry = objects[full]
            at = (docname, entry.docname, entry.node_id)
            literal.replace_self(make_refnode(app.builder, *at, literal.deepcopy(), full))


def trim_blocks(app: Any, doctree: nodes.document) -> None:
    """Drop the blank line that ends a doctest in Markdown, where a fence follows at once."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext().rstrip()
        if block.rawsource == block.astext():  # else Sphinx takes it for text with markup
            block.rawsource, block[:] = text, [nodes.Text(text)]


# Pages link to what lies in the repository, so that GitHub can follow; the site has pages for it.
ON_THE_SITE = {
    r"\]\(tutorials/(\w+)\.py\)": r"](gallery/\1.rst)",
    r"\]\(tutorials\)": "](gallery/index.rst)",
    r"\]\(\.\./src/stakes/render/json\.py\)": "](reference/schema.rst)",
    r"\]\(\.\./src/stakes\)": "](reference/index.rst)",
    r"\]\(\.\./benchmarks/RESULTS\.md": "](benchmarks.md",
    r"\]\(\.\./benchmarks/GPU\.md": "](benchmarks_gpu.md",
}


def link_within_the_site(app: Any, docname: str, source: list[str]) -> None:
    """Replace links into the repository by links to the pages made of it."""
    for there, here in ON_THE_SITE.items():
        source[0] = re.sub(there, here, source[0])


def show_what_was_recorded(app: Any, docname: str, source: list[str]) -> None:
    """Add the recorded output to the page of a tutorial that did not run."""
    name = docname.removeprefix("gallery/")
    if name in NOT_RUN:
        source[0] = recorded.with_outputs(source[0], recorded.recorded(name))


def leave_out(app: Any, kind: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the methods that scikit-learn adds for metadata routing."""
    return True if name.startswith("set_") and name.endswith("_request") else None


SECTIONS = re.compile(r"^(?:Parameters|Returns)\n-+\n.*?(?=^\w[^\n]*\n---|\Z)", re.M | re.S)


def inherit_sections(
    app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Add the parameters and results of the method that a method overrides.

    An override says in its docstring what is special about it, and nothing twice.
    """
    if what != "method" or "Parameters" in lines or "Returns" in lines:
        return
    owner, method = name.rsplit(".", 1)
    bases = getattr(reference_pages.thing_at(*owner.rsplit(".", 1)), "__mro__", ())[1:]
    for base in bases:
        sections = SECTIONS.findall(inspect.getdoc(vars(base).get(method)) or "")
        if sections:
            lines += ["", *"\n".join(sections).splitlines()]
            return


def setup(app: Any) -> None:
    """Write the pages of the reference, and help Sphinx to find names."""
    reference_pages.write(HERE / "reference")
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True  # it copies files, no more
    app.connect("autodoc-skip-member", leave_out)
    app.connect("autodoc-process-docstring", inherit_sections, priority=400)  # before numpydoc
    app.connect("source-read", link_within_the_site)
    app.connect("source-read", show_what_was_recorded)
    app.connect("missing-reference", link_python_name)
    app.connect("doctree-read", trim_blocks)
    app.connect("doctree-resolved", link_code)
