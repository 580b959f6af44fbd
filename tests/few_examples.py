"""Fewer examples for properties that take long."""

from __future__ import annotations

from hypothesis import settings


def at_most(examples: int) -> settings:
    """So many examples, or those of the profile where they are fewer."""
    return settings(max_examples=min(examples, settings().max_examples))
