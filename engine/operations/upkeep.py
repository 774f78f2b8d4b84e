"""Annotating and retaining: titles, tags, notes, the trash, retention and disk usage."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Annotated, Literal, Protocol, Unpack

from pydantic import Field

from engine.history.retention import CleanupResult, DiskUsage
from engine.journal.retention_policy import ExpiredRun, Retention
from engine.operations.table import Role, operation
from engine.records import (
    MAX_NUMBER,
    Annotation,
    Note,
    RunId,
    RunInfo,
)


class Annotating(Protocol):
    """Titles, tags, notes, stars and pins. All raise `UnknownRun`; those that write, `InvalidInput`."""

    @operation(Role.OPERATOR, by_hand='annotate')
    async def annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        """Change title, tags, note, star or pin of a run."""

    @operation(Role.VIEWER, 'GET runs/{run}/notes')
    async def notes(self, run: RunId) -> list[Note]:
        """List the notes on a run's steps."""

    @operation(Role.OPERATOR, by_hand='write_note change_note')
    async def write_note(self, run: RunId, text: str, *, at: int = 0, note: int = 0) -> Note:
        """Write a note on step `at`, or change the text of note number `note`."""

    @operation(Role.OPERATOR, 'DELETE runs/{run}/notes/{note}')
    async def delete_note(self, run: RunId, note: Annotated[int, Field(ge=1, le=MAX_NUMBER)]) -> None:
        """Delete a note."""


class Retaining(Protocol):
    """The trash, the retention policy, and disk usage."""

    @operation(Role.OPERATOR, 'DELETE runs/{run}')
    async def delete(
        self,
        run: RunId,
        *,
        cancel: Annotated[bool, Field(description='Cancel it first if it has not ended.')] = False,
    ) -> None:
        """Move a run to the trash."""

    @operation(Role.OPERATOR, 'POST runs/{run}/restore')
    async def restore(self, run: RunId) -> RunInfo:
        """Restore a run from the trash."""

    @operation(Role.ADMIN, 'DELETE trash/{run}')
    async def purge(self, run: RunId) -> None:
        """Permanently delete a run in the trash, with its files."""

    @operation(Role.VIEWER, runs=('infos',), by_hand='disk_usage')
    async def disk_usage(self, infos: Iterable[RunInfo]) -> dict[RunId, DiskUsage]:
        """Show how much disk space runs use."""

    @operation(Role.ADMIN, 'POST retention/preview', logged=False)
    async def preview_cleanup(self, policy: Retention | None = None) -> list[ExpiredRun]:
        """List the runs that a policy (by default the configured one) would delete now."""

    @operation(Role.ADMIN, 'POST retention/clean-up')
    async def clean_up(self, policy: Retention | None = None) -> CleanupResult:
        """Apply a policy (by default the configured one): move runs to the trash, and purge old ones."""

    @operation(Role.VIEWER, by_hand='list_runs')
    def iter_runs(self, place: Literal['list', 'trash'] = 'list') -> AsyncIterator[RunInfo]:
        """Yield all runs that are listed, or in the trash, newest first."""
