"""Whether a command has changed files, so that what was found out of them before holds no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from engine.dynamic.artifacts import Given
from engine.files.workspace import Workspace
from engine.tool import ToolContext

OUTDATED = 'test_result'
"""The artifact that rests on files."""
PASSING = ('.git/', '__pycache__/', '.pytest_cache/')
"""Folders whose files no test rests on."""


@dataclass(frozen=True, slots=True)
class Stale:
    """The files of an agent as they were before a command; looked at only where something rests on them."""

    workspace: Workspace | None
    files: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    async def before(cls, context: ToolContext) -> Self:
        """As they are now."""
        if OUTDATED not in context.artifacts:
            return cls(None)
        return cls(context.files, await _files(context.files))

    async def given(self, text: str) -> Given:
        """The command's result, which drops what rested on files that it has changed."""
        changed = self.workspace is not None and await _files(self.workspace) != self.files
        return Given(text=text, drops=(OUTDATED,) if changed else ())


async def _files(workspace: Workspace) -> frozenset[tuple[str, str]]:
    snapshot = await workspace.snapshot()
    listed = await workspace.listed(snapshot)
    return frozenset(
        (file.path, file.digest) for file in listed if not any(part in file.path for part in PASSING)
    )
