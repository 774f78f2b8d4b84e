"""Errors of the command line: how they are printed, and their exit codes."""

from __future__ import annotations

import typer

from engine import EngineError
from engine.errors import Diverged, EntryChanged, JournalError
from ui.cli.exit_codes import ExitCode
from ui.formatting.plain_text import strip_control


class CommandError(EngineError):
    """The command line refuses a command; the message gives the reason."""


def print_error(problem: str) -> None:
    """Print an error on one line of standard error."""
    line = '; '.join(part.strip() for part in strip_control(problem).splitlines() if part.strip())
    typer.echo(f'hemicycle: {line}', err=True)


def exit_code(error: EngineError) -> ExitCode:
    """Return the exit code of a command that ended with an error."""
    match error:
        case Diverged():
            return ExitCode.FAILED
        case EntryChanged():
            return ExitCode.REFUSED
        case JournalError():
            return ExitCode.STORAGE
        case _:
            return ExitCode.REFUSED
