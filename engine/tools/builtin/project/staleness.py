"""Staleness: detects whether a command has changed files, which invalidates results based on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from engine.errors import WorkspaceOverLimit
from engine.tools.artifacts import ToolOutput
from engine.tools.protocol import ToolContext
from engine.workspace.workspace import Workspace

OUTDATED = 'test_result'
"""The artifact that depends on the files."""
IGNORED_DIRS = ('.git/', '__pycache__/', '.pytest_cache/')
"""Directories whose files do not affect tests."""


@dataclass(frozen=True, slots=True)
class StalenessCheck:
    """An agent's files before a command; read only if an artifact depends on them."""

    workspace: Workspace | None
    snapshot: str = ''

    @classmethod
    async def before(cls, context: ToolContext) -> Self:
        """Record the current state of the files."""
        if OUTDATED not in context.artifacts:
            return cls(None)
        return cls(context.files, await _snapshot(context.files))

    async def output(self, text: str) -> ToolOutput:
        """Return the command's result, dropping artifacts that depend on files it has changed."""
        changed = self.workspace is not None and await self._is_changed(self.workspace)
        return ToolOutput(text=text, drops=(OUTDATED,) if changed else ())

    async def _is_changed(self, workspace: Workspace) -> bool:
        now = await _snapshot(workspace)
        return await _digests(workspace, now, self.snapshot) != await _digests(workspace, self.snapshot, now)


async def _snapshot(workspace: Workspace) -> str:
    try:
        return await workspace.snapshot()
    except WorkspaceOverLimit:
        return ''  # Not an error: running a command is the way to get below the limit.


async def _digests(workspace: Workspace, snapshot: str, other: str) -> set[tuple[str, str]]:
    return {
        (file.path, file.digest)
        for file in await workspace.snapshot_files(snapshot, other=other)
        if not any(part in file.path for part in IGNORED_DIRS)
    }
