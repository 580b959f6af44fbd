"""Renderers of a report as text, Markdown, JSON or a page; they compute nothing."""

from stakes.render.html import to_html
from stakes.render.json import from_json, refuse_too_long_to_write, report_schema, to_json
from stakes.render.layout import Section, Table, plain_spaces
from stakes.render.system_tables import clearly
from stakes.render.tables import four_digits, sections, stakes_sections
from stakes.render.text_formats import section_text, to_markdown, to_notebook, to_text, wrapped

__all__ = [
    "Section",
    "Table",
    "clearly",
    "four_digits",
    "from_json",
    "plain_spaces",
    "refuse_too_long_to_write",
    "report_schema",
    "section_text",
    "sections",
    "stakes_sections",
    "to_html",
    "to_json",
    "to_markdown",
    "to_notebook",
    "to_text",
    "wrapped",
]
