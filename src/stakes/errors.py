"""The exceptions that stakes raises.

::

    Exception
    └── StakesError                  everything below, for one ``except`` clause
        ├── InputError               an argument breaks a rule; also a ``ValueError``
        └── MissingExtraError        an optional dependency is needed; also an ``ImportError``

Every message says which argument, which rule, what was found (how many, the first and where) and
what to do about it. Nothing else is raised on purpose: undefined numbers are nan, never an error.
"""

from __future__ import annotations

__all__ = ["InputError", "MissingExtraError", "StakesError"]


class StakesError(Exception):
    """Base of all exceptions of this library."""


class InputError(StakesError, ValueError):
    """An argument breaks a rule; the message names it, shows the evidence and a remedy."""


class MissingExtraError(StakesError, ImportError):
    """A feature needs an optional dependency; the message names the extra to install."""
