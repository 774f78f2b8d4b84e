"""Messages of streams: about one run, and about the list of runs."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final

from engine import Conductor, Transition
from engine.records import Delta, JournalOutage, RunId, RunInfo, RunQuery, Status
from engine.runtime import Feed
from ui.api.wire import encode_text

MAX_CACHED_TEXTS: Final = 512
"""Number of steps whose JSON text is cached: all streams of a run send the same text."""
MAX_RUNS: Final = 100
"""Maximum number of runs in a stream of the list, newest first."""
CHECK_SECONDS: Final = 2.0
"""Seconds between checks for changes by other processes and people."""
BATCH_SECONDS: Final = 0.05
"""Seconds for which changes of the list are batched."""


@dataclass(frozen=True, slots=True)
class StreamMessage:
    """One message of a stream.

    About a run: `step` (a transition), `text` (streamed, not journaled), `reset` (the text of an attempt is
    void), `behind` (the reader was too slow: all streamed text is void, and steps follow from the journal),
    `outage`, `rest` (the step at which the run rests, before that step) and `end` (its summary). About the
    list: `run` (a summary) and `gone`.
    """

    kind: str
    data: str
    """JSON."""
    id: str = ''
    """Where to continue: the step, or the moment of the change. Empty if not journaled."""


class _Texts:
    """Cache of the JSON text of the newest steps, shared by all readers."""

    def __init__(self) -> None:
        self._cached: OrderedDict[int, tuple[Transition, str]] = OrderedDict()

    def of(self, step: Transition) -> str:
        cached = self._cached.get(id(step))
        if cached and cached[0] is step:
            return cached[1]
        text = encode_text(step)
        self._cached[id(step)] = (step, text)
        if len(self._cached) > MAX_CACHED_TEXTS:
            self._cached.popitem(last=False)
        return text


TEXTS = _Texts()


async def run_messages(conductor: Conductor, run: RunId, after: int) -> AsyncIterator[StreamMessage]:
    """Yield everything about a run after a step, until it has ended. Raises `UnknownRun`, `UnknownStep`."""
    async for item in conductor.watch(run, after=after):
        match item:
            case Transition():
                if rests := conductor.resting_step(run):
                    yield StreamMessage('rest', json.dumps({'run': run, 'at': rests}))
                yield StreamMessage('step', TEXTS.of(item), str(item.seq))
            case Delta(kind='reset', path=''):
                yield StreamMessage('behind', json.dumps({'run': run}))
            case Delta(kind='reset'):
                yield StreamMessage('reset', encode_text(item))
            case Delta():
                yield StreamMessage('text', encode_text(item))
            case JournalOutage():
                yield StreamMessage('outage', encode_text(item))
    info = await conductor.info(run)
    if info.status.ended:
        yield StreamMessage('end', encode_text(info))


async def list_messages(
    conductor: Conductor, feed: Feed, *, waiting: bool = False, since: float = 0.0
) -> AsyncIterator[StreamMessage]:
    """Yield the newest runs, then every change; with `waiting`, only runs that wait for a person."""
    status = (Status.WAITING,) if waiting else ()
    previous: dict[RunId, RunInfo] = {}
    with feed.listen() as bell:
        while not feed.closed:
            bell.clear()
            page = await conductor.runs(RunQuery(status=status, limit=MAX_RUNS))
            current = {info.id: info for info in page.runs}
            for run in previous.keys() - current.keys():
                yield StreamMessage('gone', json.dumps({'run': run}))
            for info in sorted(page.runs, key=lambda info: info.updated):
                if previous.get(info.id) != info and (previous or info.updated > since):
                    yield StreamMessage('run', encode_text(info), repr(info.updated))
            previous = current
            try:
                await asyncio.wait_for(bell.wait(), CHECK_SECONDS)
            except TimeoutError:
                continue
            await asyncio.sleep(BATCH_SECONDS)
