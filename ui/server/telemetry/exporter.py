"""TraceExporter: sends the trace of each run when it ends."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence

from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from engine import Transition
from engine.errors import JournalError
from engine.history import program_version
from engine.journal import Journal
from engine.records import RunId, RunInfo
from ui.server.observed_journal import JournalObserver
from ui.server.telemetry.spans import SpanBuilder

log = logging.getLogger('hemicycle')

STEPS_PER_READ, BATCH = 1_000, 512
"""Steps read per query, and spans sent per request."""


class TraceExporter(JournalObserver):
    """Observes a journal and sends the trace of each run when it ends.

    Args:
        journal: the source of the histories.
        exporter: sends the spans; it may block, and retries where possible.
        contents: whether spans include the output of models and tools.
    """

    def __init__(self, journal: Journal, exporter: SpanExporter, *, contents: bool = False) -> None:
        self._journal, self._exporter, self._contents = journal, exporter, contents
        self._resource = Resource.create(
            {
                SERVICE_NAME: os.environ.get('OTEL_SERVICE_NAME', 'hemicycle'),
                SERVICE_VERSION: program_version(),
            }
        )
        self._turn = asyncio.Lock()
        self._sending: set[asyncio.Task[None]] = set()

    def record(self, info: RunInfo, transitions: Sequence[Transition]) -> None:
        """Send the run's trace if it has ended."""
        if info.status.ended:
            task = asyncio.create_task(self._send(info.id), name=f'trace of {info.id}')
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def close(self) -> None:
        """Finish sending, and close the connection."""
        await asyncio.gather(*self._sending)
        await asyncio.to_thread(self._exporter.shutdown)

    async def _send(self, run: RunId) -> None:
        async with self._turn:  # One run at a time: histories may be long.
            try:
                spans = await self._spans(run)
                parts = [spans[at : at + BATCH] for at in range(0, len(spans), BATCH)]
                sent = [await self._export(part) for part in parts]
            except JournalError as error:
                log.warning('run %s: its trace could not be read: %s', run, error, extra={'run': run})
                return
        if not all(sent):
            log.warning('run %s: its trace was not accepted', run, extra={'run': run})

    async def _spans(self, run: RunId) -> list[ReadableSpan]:
        info, shape = await self._journal.info(run), await self._journal.shape(run)
        builder = SpanBuilder(info, shape, self._resource, contents=self._contents)
        spans: list[ReadableSpan] = []
        after = 0
        while steps := await self._journal.transitions(run, after=after, limit=STEPS_PER_READ):
            for step in steps:
                spans.extend(builder.add(step))
            after = steps[-1].seq
            await asyncio.sleep(0)
        return [*spans, *builder.end()]

    async def _export(self, spans: Sequence[ReadableSpan]) -> bool:
        return await asyncio.to_thread(self._exporter.export, spans) is SpanExportResult.SUCCESS
