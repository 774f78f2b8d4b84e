"""Files that are sent as the body of a request: kept on the disk, and a few at a time."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO

from fastapi import Request

from ui.api.problems import Refusal
from ui.web.downloads import disk_errors

ROOM = asyncio.Semaphore(2)
"""Limits the number of files that are read at the same time."""


FILE: Mapping[str, Any] = {
    'requestBody': {
        'required': True,
        'content': {'application/octet-stream': {'schema': {'type': 'string', 'format': 'binary'}}},
    }
}
"""What the OpenAPI document says of such a body."""


@asynccontextmanager
async def received(request: Request) -> AsyncIterator[BinaryIO]:
    """Yield the body of a request as a file. Raises `Refusal` while others are being read."""
    if ROOM.locked():
        raise Refusal(429, 'busy', 'other files are being imported: try again')
    async with ROOM:
        file: BinaryIO = await asyncio.to_thread(tempfile.TemporaryFile)
        try:
            with disk_errors():
                async for piece in request.stream():
                    await asyncio.to_thread(file.write, piece)
                await asyncio.to_thread(file.seek, 0)
            yield file
        finally:
            await asyncio.to_thread(file.close)
