"""Scratch: a folder in which a person tries tools by hand, outside any run."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.activity import Services
from engine.batch import use
from engine.dynamic.artifacts import Shelf
from engine.files.workspace import Entry
from engine.files.workspaces import Workspaces
from engine.message import ToolCall
from engine.records import RunId
from engine.tool import ToolContext

HERE = RunId('scratch')


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What came of one call."""

    text: str
    ok: bool
    seconds: float
    """How long it took."""


class Scratch:
    """Runs tools as an agent would: in the sandbox, within limits, with one folder and one set of notes.

    Args:
        services: tools, the sandbox and what may be fetched; as of the runs.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._workspaces = Workspaces()  # in a temporary folder: none of a run's
        self._store: dict[str, str] = {}
        self._shelf = Shelf()

    async def use(self, tool: str, arguments: Mapping[str, Any]) -> Tried:
        """Call a tool once; whatever goes wrong is a result too. Cancelling ends it, with its children."""
        clock, services = self._services.clock, self._services
        call = ToolCall(id=uuid.uuid4().hex[:12], name=tool, arguments=json.dumps(dict(arguments)))
        workspace = self._workspaces.of(HERE, 'you')
        await workspace.make()
        context = ToolContext(
            key=f'{HERE}:{call.id}',
            store=self._store,
            workspace=workspace,
            sandbox=services.sandbox,
            private_addresses=services.private_addresses,
            shelf=self._shelf,
        )
        started = clock.now()
        result, made = await use(services.tools, call, context)
        self._shelf.take(tool, made)
        return Tried(text=result.text, ok=result.ok, seconds=max(0.0, clock.now() - started))

    async def files(self) -> list[Entry]:
        """What is in the folder. Raises `WorkspaceError`."""
        return await self._workspaces.of(HERE, 'you').entries()

    async def empty(self) -> None:
        """Remove the folder, the notes and the artifacts; the next call begins anew."""
        self._store.clear()
        self._shelf = Shelf()
        await self._workspaces.close()
