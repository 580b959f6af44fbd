"""Renderers: a report as text, Markdown, JSON or a page. They compute nothing."""
