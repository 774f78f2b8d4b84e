"""The artifacts of a run's agents at a step, and their whole values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol

from engine.records import RunId, View


def artifacts_of(view: View) -> dict[tuple[str, str], Mapping[str, Any]]:
    """Return all artifacts at a step (dumps of `Artifact`), by agent path and name."""
    return {
        (path, name): artifact
        for path, agent in view.agents.items()
        for name, artifact in (agent.get('artifacts') or {}).items()
        if isinstance(artifact, Mapping)
    }


class HasContent(Protocol):
    """Reads the content of files; `Workspaces` and clients do."""

    async def content(self, run: RunId, digest: str) -> bytes:
        """Return the content of a file or an artifact. Raises `WorkspaceError`."""


async def whole_value(workspaces: HasContent, run: RunId, artifact: Mapping[str, Any]) -> Any:
    """Return the value of an artifact; of one too long to journal, from the run's contents.

    Raises:
        WorkspaceError: it is no longer kept.
    """
    if not artifact.get('kept'):
        return artifact.get('value')
    content = await workspaces.content(run, artifact['kept'])
    try:
        return json.loads(content)
    except ValueError:  # A bundle may have brought any content.
        return content.decode(errors='replace')
