"""The group of all commands, which turns every failure into one sentence and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from stakes.cli.audit import audit
from stakes.cli.calibrate import calibrate
from stakes.cli.decide import decide
from stakes.cli.diff import diff, schema
from stakes.cli.evaluate import demo, evaluate
from stakes.cli.options import in_options
from stakes.cli.output import notify, put, silence
from stakes.cli.problem import problem
from stakes.errors import InputError, StakesError

_BAD_INPUT = 2
_FAULT = 70  # EX_SOFTWARE in sysexits.h; exit code 1 is reserved for gates
_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
_PIPE_CLOSED = 141  # 128 + SIGPIPE


class _OutputClosed(Exception):
    """Standard output was closed by its reader.

    Click would handle a BrokenPipeError itself and end with exit code 1, which is that of a gate.
    """


class _Front(click.Group):
    """A group that turns every failure into one sentence and an exit code."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run the command and end the process with its exit code."""
        # Otherwise click itself would print errors and choose exit codes.
        extra["standalone_mode"] = False
        sys.exit(self._run(*args, **extra))

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Read the arguments; ``--help`` and ``--version`` print already here."""
        with _output_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the subcommand, and flush its output while errors can still be reported."""
        with _output_errors():
            result = super().invoke(ctx)
            # A full disk or a closed pipe may show only here, when the buffer is written.
            sys.stdout.flush()
            return result

    def _run(self, *args: Any, **extra: Any) -> int:
        """Run the command, and return its exit code."""
        try:
            code = super().main(*args, **extra)
        except click.ClickException as error:
            return _fail(_told(error))
        except StakesError as error:
            return _fail(in_options(error))
        except (click.Abort, KeyboardInterrupt):
            return _fail("interrupted", _INTERRUPTED)
        except _OutputClosed:
            silence(sys.stdout)
            return _PIPE_CLOSED
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            return _fail(f"{where}{error.strerror or error}")
        except MemoryError:
            return _fail("there is not enough memory for these columns; evaluate a sample of them")
        except Exception:
            put(traceback.format_exc(), err=True)
            return _fail("this is a bug in stakes, not in your data; please report it", _FAULT)
        return code if isinstance(code, int) else 0


@contextmanager
def _output_errors() -> Iterator[None]:
    """Tell a standard output that is closed from one that is full, and name it."""
    try:
        yield
    except BrokenPipeError:
        raise _OutputClosed from None
    except OSError as error:
        if error.filename is not None:
            raise
        _refuse_lost_folder()
        silence(sys.stdout)
        raise OSError(error.errno, error.strerror or str(error), "standard output") from None


def _refuse_lost_folder() -> None:
    """Say so where the current folder was removed: errors about it name no file."""
    try:
        os.getcwd()
    except OSError:
        raise InputError(
            "the current folder must be there; it was removed. Change to another."
        ) from None


def _told(error: click.ClickException) -> str:
    """The message of click, with the commands where one of them is missing or wrong."""
    message, context = error.format_message(), getattr(error, "ctx", None)
    if context is None or not message.startswith(("Missing command", "No such command")):
        return message
    commands = " or ".join(context.command.list_commands(context))
    return f"{message.removesuffix('.')} after {context.command_path}. Write {commands}."


def _fail(sentence: str, code: int = _BAD_INPUT) -> int:
    notify(sentence)
    return code


@click.group(
    cls=_Front,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="stakes", message="%(prog)s %(version)s")
@click.pass_context
def stakes(context: click.Context) -> None:
    """What a classifier's decisions cost, which model to deploy, and how sure one can be.

    Exit codes: 0 done, 1 a gate (--fail-if, --gate) closed, 2 bad input, 70 a bug in stakes,
    128 and the number of the signal that ended it: 129 its terminal was closed, 130 Ctrl-C,
    141 nobody read its output any longer, 143 another process ended it.
    """
    if context.invoked_subcommand is None:
        put(context.get_help(), err=True)
        context.exit(_BAD_INPUT)


for command in (evaluate, diff, decide, calibrate, audit, problem, schema, demo):
    stakes.add_command(command)
