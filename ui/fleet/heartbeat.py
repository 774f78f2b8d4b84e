"""An activity's heartbeat: without it Temporal assigns the work to another worker."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final

from temporalio import activity

HEARTBEAT_SECONDS: Final = 1.0
"""Seconds between heartbeats."""


@contextlib.asynccontextmanager
async def heartbeat() -> AsyncIterator[None]:
    """Send heartbeats to Temporal while the body runs."""

    async def beat() -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(HEARTBEAT_SECONDS)

    beats = asyncio.create_task(beat(), name='heartbeat')
    try:
        yield
    finally:
        beats.cancel()
