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
    files: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    async def before(cls, context: ToolContext) -> Self:
        """Record the current state of the files."""
        if OUTDATED not in context.artifacts:
            return cls(None)
        return cls(context.files, await _file_digests(context.files))

    async def output(self, text: str) -> ToolOutput:
        """Return the command's result, dropping artifacts that depend on files it has changed."""
        changed = self.workspace is not None and await _file_digests(self.workspace) != self.files
        return ToolOutput(text=text, drops=(OUTDATED,) if changed else ())


async def _file_digests(workspace: Workspace) -> frozenset[tuple[str, str]]:
    try:
        snapshot = await workspace.snapshot()
    except WorkspaceOverLimit:
        return frozenset()  # Not an error: running a command is the way to get below the limit.
    listed = await workspace.snapshot_files(snapshot)
    return frozenset(
        (file.path, file.digest) for file in listed if not any(part in file.path for part in IGNORED_DIRS)
    )
