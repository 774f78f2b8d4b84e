"""Exit codes, and which error leads to which."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperGroup

from engine import Diverged, EngineError, JournalError, Status
from ui.plain import plain


class Code(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1
    REFUSED = 2
    CANCELLED = 3
    UNFINISHED = 4
    STORAGE = 5


CODES = """Exit code: **0** done · **1** the run failed, or an audit or a comparison found a difference ·
**2** bad input, or refused · **3** cancelled · **4** let go of before its end, to be resumed · **5** the
database cannot be used"""

OF_STATUS = {Status.DONE: Code.DONE, Status.FAILED: Code.FAILED, Status.CANCELLED: Code.CANCELLED}
"""Every other status: `UNFINISHED`."""


class Refused(EngineError):
    """The command line does not do this; says why."""


class Guarded(TyperGroup):
    """The commands; an error becomes one line on standard error, and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except EngineError as error:
            complain(str(error))
            raise typer.Exit(_code(error)) from None
        except BrokenPipeError:
            raise  # Typer knows what to do: whoever read our output has had enough.
        except OSError as error:
            complain(f'{error.filename}: {error.strerror}' if error.filename else str(error))
            raise typer.Exit(Code.STORAGE) from None


def complain(problem: str) -> None:
    """Say what is wrong on standard error, in one line."""
    line = '; '.join(part.strip() for part in plain(problem).splitlines() if part.strip())
    typer.echo(f'hemicycle: {line}', err=True)


def _code(error: EngineError) -> Code:
    match error:
        case Diverged():
            return Code.FAILED
        case JournalError():
            return Code.STORAGE
        case _:
            return Code.REFUSED
