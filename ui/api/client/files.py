"""RemoteFiles: reads the files of agents from a server."""

from __future__ import annotations

import asyncio
from pathlib import Path

from engine.records import RunId
from engine.workspace import FileChange, FileVersion
from ui.api.client.connection import Connection


class RemoteFiles:
    """Reads the files that `Workspaces` stores for runs on a server."""

    def __init__(self, connection: Connection) -> None:
        self._ask = connection

    async def files(self, run: RunId, snapshot: str) -> list[FileVersion]:
        """Return the files of a snapshot, without their contents."""
        return await self._ask.many(FileVersion, f'runs/{run}/snapshots/{snapshot}')

    async def content(self, run: RunId, digest: str) -> bytes:
        """Return the content of a file or an artifact."""
        return (await self._ask.ask('GET', f'runs/{run}/contents/{digest}', safe=True)).content

    async def diff(
        self, run: RunId, before: str, after: str, *, other: RunId | None = None
    ) -> list[FileChange]:
        """Return the differences between two snapshots."""
        return await self._ask.many(
            FileChange, f'runs/{run}/changes', before=before, after=after, other=other
        )

    async def export(self, run: RunId, snapshot: str, archive: Path) -> None:
        """Write a snapshot's files to a ZIP file."""
        async with self._ask.stream('GET', f'runs/{run}/snapshots/{snapshot}/archive') as answer:
            with await asyncio.to_thread(archive.open, 'wb') as file:
                async for piece in answer.aiter_bytes():
                    await asyncio.to_thread(file.write, piece)
