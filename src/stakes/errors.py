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

import re

__all__ = ["InputError", "MissingExtraError", "StakesError"]


_BEGINS = re.compile(r"[a-z]\w*(\[[^]]*\]|\.\w+)*(?= must )")  # an argument, or a part of one


class StakesError(Exception):
    """Base of all exceptions of this library."""


class InputError(StakesError, ValueError):
    """An argument breaks a rule; the message names it, shows the evidence and a remedy.

    `argument` is its name where the message begins with it, so that whoever gave the argument
    another name can say that name. It need not be stated where the message is "argument must …".

    >>> error = InputError("weights must hold numbers; 3 of 9 do not.", argument="weights")
    >>> print(error.renamed("--weights"))
    --weights must hold numbers; 3 of 9 do not.
    >>> InputError("models['new'] must hold labels; it is empty. Pass some.").argument
    "models['new']"
    >>> print(InputError("costs must be numbers.", argument="data").renamed("--data"))
    costs must be numbers.
    """

    def __init__(self, message: str, *, argument: str | None = None) -> None:
        if "\n\n" in message:  # an array that is shown as evidence
            message = " ".join(message.split())
        super().__init__(message)
        begins = _BEGINS.match(message) if argument is None else None
        self.argument = begins[0] if begins else argument

    def renamed(self, name: str, *, argument: str | None = None) -> InputError:
        """The same complaint under another name of the argument, where it begins with that.

        Parameters
        ----------
        name : the new name
        argument : what `argument` of the error becomes; None for the new name

        Returns
        -------
        the error

        Examples
        --------
        >>> error = InputError("weights must hold numbers; 3 of 9 do not.", argument="weights")
        >>> print(error.renamed("column w"))
        column w must hold numbers; 3 of 9 do not.
        """
        message, old = str(self), self.argument
        if old and message.startswith(old):
            message = f"{name}{message[len(old) :]}"
        return InputError(message, argument=name if argument is None else argument)


class MissingExtraError(StakesError, ImportError):
    """A feature needs an optional dependency; the message names the extra to install."""
