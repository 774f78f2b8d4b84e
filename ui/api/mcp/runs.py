"""Runs for chat agents: waiting for a run, and describing what it did and what it asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from mcp_types import CallToolResult, TextContent

from engine import Conductor, Status, Transition
from engine.records import RunId
from ui.api.wire import encode
from ui.formatting.values import result_notes

DEFAULT_WAIT: Final = 50.0
"""Seconds: clients often give up after a minute."""
MAX_WAIT: Final = 3_600.0
ReportProgress = Callable[[float, float | None, str | None], Awaitable[None]]
"""Reports progress: the number of steps, their total if known, and what happened."""


async def wait_for(
    conductor: Conductor, run: RunId, seconds: float, report: ReportProgress
) -> dict[str, Any]:
    """Follow a run until it ends, waits for a person or is paused, or time is up; then describe it."""
    info = await conductor.info(run)
    if info.status is Status.RUNNING:
        with suppress(TimeoutError):
            async with (
                asyncio.timeout(min(max(seconds, 0.0), MAX_WAIT)),
                aclosing(conductor.watch(run, after=info.seq)) as items,
            ):
                async for item in items:
                    if isinstance(item, Transition):
                        await report(item.seq, None, describe_step(item))
                        if (await conductor.info(run)).status is not Status.RUNNING:
                            break
    return await describe(conductor, run)


async def describe(conductor: Conductor, run: RunId) -> dict[str, Any]:
    """Describe a run in a few fields: its status, its answer, what it waits for."""
    info = await conductor.info(run)
    content: dict[str, Any] = {
        'run': run,
        'title': info.title,
        'pattern': info.pattern,
        'status': info.status.value,
        'step': info.seq,
        'tokens': info.usage.total,
    }
    if info.status.ended:
        outcome = await conductor.result(run)
        content |= {'answer': outcome.answer} | ({'error': outcome.error} if outcome.error else {})
        if info.status is Status.DONE and (notes := result_notes(await conductor.view(run))):
            content['notes'] = notes
    elif info.status is Status.WAITING:
        content |= {
            'waits_for': info.waiting,
            'accepts': [encode(event) for event in await conductor.accepts(run)],
        }
    else:
        content['next'] = 'It is still running: call get_run to wait for it again.'
    return content


def as_result(content: dict[str, Any]) -> CallToolResult:
    """Return what a tool has made, as structured content and as text."""
    text = json.dumps(content, ensure_ascii=False)
    return CallToolResult(
        content=[TextContent(type='text', text=text)],
        structured_content=content,
        is_error=content.get('status') == 'failed',
    )


def describe_step(step: Transition) -> str:
    """Describe a step in a few words."""
    entered = ', '.join(step.entered)
    return f'{step.event.name}: entered {entered}' if entered else step.event.name
