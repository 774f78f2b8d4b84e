"""Exit codes, and the one for a run's outcome."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.records import Outcome, RunInfo


class ExitCode(IntEnum):
    """How a command ended."""

    DONE = 0
    FAILED = 1
    REFUSED = 2
    CANCELLED = 3
    UNFINISHED = 4
    STORAGE = 5
    DONE_WITH_ISSUES = 6


CODES = """Exit code: **0** done · **1** the run failed, or an audit or a comparison found a difference ·
**2** bad input, or refused · **3** cancelled · **4** released before it ended, to be resumed · **5** the
database cannot be used · **6** done, but short of what was asked for"""

OF_STATUS = {'done': ExitCode.DONE, 'failed': ExitCode.FAILED, 'cancelled': ExitCode.CANCELLED}
"""By a run's status; `UNFINISHED` for all others."""


def exit_code_of(outcome: Outcome | RunInfo) -> ExitCode:
    """Return the exit code of a command that waits for a run."""
    if outcome.done_with_issues:
        return ExitCode.DONE_WITH_ISSUES
    return OF_STATUS.get(outcome.status, ExitCode.UNFINISHED)
