"""Rules that can be shipped: everything needed to decide a new case as a system does."""

from stakes.rule._cuts import cuts_of
from stakes.rule._rule import Origin, Rule
from stakes.rule._rules import Rules

__all__ = ["Origin", "Rule", "Rules", "cuts_of"]
