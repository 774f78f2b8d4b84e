"""Merging and Files: the work of agents."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Protocol, Unpack

from pydantic import Field

from engine.history.merging import Mergeable, MergeOptions, Pick
from engine.operations.table import Role, operation
from engine.records import (
    RunId,
)
from engine.workspace.diff import FileChange
from engine.workspace.git.merge import MergePreview
from engine.workspace.snapshots import FileVersion
from engine.workspace.testing.test_run import SuiteResult


class Merging(Protocol):
    """Merging agents' work: composing, testing, previewing, merging and sending back."""

    @operation(Role.VIEWER, by_hand='mergeable')
    async def mergeable(self, run: RunId) -> Mergeable:
        """Show what can be merged from a run, and into which branches."""

    @operation(Role.VIEWER, by_hand='list_changes')
    async def changes(self, mergeable: Mergeable, agent: str) -> list[FileChange]:
        """Return an agent's changes to its project."""

    @operation(Role.OPERATOR, by_hand='compose')
    async def compose(self, mergeable: Mergeable, picks: Sequence[Pick]) -> Mergeable:
        """Compose a result from several agents' files or changes."""

    @operation(Role.OPERATOR, by_hand='test_work')
    async def test(self, mergeable: Mergeable, agent: str) -> SuiteResult:
        """Run the run's tests on a copy of an agent's work."""

    @operation(Role.VIEWER, by_hand='preview_merge')
    async def preview(
        self,
        mergeable: Mergeable,
        agent: str = '',
        into: str = '',
        **options: Unpack[MergeOptions],
    ) -> MergePreview:
        """Preview a merge: its files, conflicts and patch."""

    @operation(Role.OPERATOR, by_hand='merge')
    async def merge(
        self,
        mergeable: Mergeable,
        preview: MergePreview,
        agent: str = '',
        *,
        message: str = '',
        **options: Unpack[MergeOptions],
    ) -> str:
        """Merge as previewed, in one commit on the branch; returns its id."""

    @operation(Role.OPERATOR, 'POST runs/{run}/merging/send-back')
    async def send_back(
        self,
        run: RunId,
        agent: Annotated[str, Field(max_length=200)],
        text: Annotated[str, Field(min_length=1, max_length=100_000)],
        *,
        new: RunId | None = None,
    ) -> RunId:
        """Fork a run from an agent's last turn, with a message that asks for more work."""


class Files(Protocol):
    """The files of agents. All raise `WorkspaceError`."""

    @operation(Role.VIEWER, by_hand='list_files list_snapshot')
    async def files(self, run: RunId, snapshot: str) -> list[FileVersion]:
        """List the files of a snapshot."""

    @operation(Role.VIEWER, by_hand='get_content')
    async def content(self, run: RunId, digest: str) -> bytes:
        """Return the content of a file or an artifact."""

    @operation(Role.VIEWER, runs=('run', 'other'), by_hand='list_changes')
    async def diff(
        self, run: RunId, before: str, after: str, *, other: RunId | None = None
    ) -> list[FileChange]:
        """List the files that differ between two snapshots; `other` is the run of `after`, if different."""

    @operation(Role.VIEWER, by_hand='get_archive')
    async def export(self, run: RunId, snapshot: str, archive: Path) -> None:
        """Write a snapshot's files to a ZIP file, omitting any that could do harm when unpacked."""
