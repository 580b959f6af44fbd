"""The exceptions that stakes raises.

::

    Exception
    └── StakesError                  everything below, for one ``except`` clause
        ├── InputError               an argument breaks a rule; also a ``ValueError``
        └── MissingExtraError        an optional dependency is needed; also an ``ImportError``

Every message names the argument, the rule, the evidence (how many violate it, and the first of
them) and a remedy. Errors of the operating system, such as a full disk, are passed on. Nothing else
is raised on purpose: undefined numbers are nan and not an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["InputError", "MissingExtraError", "StakesError", "extra"]


# An argument, an option, or a part of one, such as models['a'].
_BEGINS = re.compile(r"""(--)?[a-z][\w-]*(\[('[^']*'|"[^"]*"|[^]'"]*)\]|\.\w+)*(?= must )""")


class StakesError(Exception):
    """Base of all exceptions of this library.

    Examples
    --------
    >>> from stakes import Problem
    >>> try:
    ...     Problem.binary(false_alarm=1, miss=float("nan"))
    ... except StakesError as error:
    ...     print(type(error).__name__)
    InputError
    """


class InputError(StakesError, ValueError):
    """An argument breaks a rule; the message names it, shows the evidence and a remedy.

    `argument` is the name of the argument. Where the message begins with it, `renamed` can replace
    it by the caller's own name. It need not be passed where the message is "argument must …". A
    `remedy` that is passed by itself ends the message, and a caller can replace it, too.

    Examples
    --------
    >>> error = InputError("weights must hold numbers; 3 of 9 do not.", argument="weights")
    >>> print(error.renamed("--weights"))
    --weights must hold numbers; 3 of 9 do not.
    >>> InputError("models['new'] must hold labels; it is empty. Pass some.").argument
    "models['new']"
    >>> print(InputError("costs must be numbers.", argument="data").renamed("--data"))
    costs must be numbers.
    """

    def __init__(self, message: str, *, argument: str | None = None, remedy: str = "") -> None:
        if "\n\n" in message:  # an array that is shown as evidence
            message = " ".join(message.split())
        super().__init__(f"{message} {remedy}" if remedy else message)
        self.remedy = remedy
        begins = _BEGINS.match(message) if argument is None else None
        self.argument = begins[0] if begins else argument

    @property
    def complaint(self) -> str:
        """The message without a remedy that was passed by itself."""
        return str(self).removesuffix(f" {self.remedy}")

    def renamed(
        self, name: str, *, argument: str | None = None, remedy: str | None = None
    ) -> InputError:
        """The same error with another name of the argument, if the message begins with its name.

        Parameters
        ----------
        name : the new name
        argument : what `argument` of the error becomes; None for the new name
        remedy : what replaces the remedy, where the error has one by itself; None keeps it

        Returns
        -------
        the error

        Examples
        --------
        >>> error = InputError("weights must hold numbers; 3 of 9 do not.", argument="weights")
        >>> print(error.renamed("column w"))
        column w must hold numbers; 3 of 9 do not.
        """
        message, old = self.complaint, self.argument
        if old and message.startswith(old):
            message = f"{name}{message[len(old) :]}"
        new = self.remedy and (self.remedy if remedy is None else remedy)
        return InputError(message, argument=name if argument is None else argument, remedy=new)


class MissingExtraError(StakesError, ImportError):
    """A feature needs an optional dependency; the message names the extra to install.

    Examples
    --------
    It is also an ``ImportError``:

    >>> try:
    ...     raise MissingExtraError("Drawing needs matplotlib: pip install 'stakes[plot]'.")
    ... except ImportError as error:
    ...     print(error)
    Drawing needs matplotlib: pip install 'stakes[plot]'.
    """


@contextmanager
def extra(name: str, what: str) -> Iterator[None]:
    """Import optional packages inside; where one is missing, the error names the extra.

    Parameters
    ----------
    name : the extra that installs the packages
    what : what needs them, as the first words of the message

    Returns
    -------
    a context, in which packages are imported

    Examples
    --------
    >>> with extra("plot", "a picture"):
    ...     import no_such_package
    Traceback (most recent call last):
    stakes.errors.MissingExtraError: a picture needs the package no_such_package, which is not
    installed. Install it with: pip install 'stakes[plot]'.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package == "stakes":
            raise
        raise MissingExtraError(
            f"{what} needs the package {package}, which is not installed. Install it with: "
            f"pip install 'stakes[{name}]'."
        ) from error
