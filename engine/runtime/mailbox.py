"""Mailbox: queues one run's events and handles them one at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.errors import EngineError
from engine.records import Event

log = logging.getLogger('hemicycle')


@dataclass(frozen=True, slots=True)
class Envelope:
    """An event, and the sender waiting for its result."""

    event: Event
    answer: asyncio.Future[None] | None = None
    seen: int | None = None
    """The last step its sender knows; None if that does not matter."""

    def refuse(self, error: BaseException) -> None:
        """Report an error to the sender, if one still waits."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)


class Mailbox:
    """Handles envelopes in order. While empty it has no task: an idle run is only data.

    Args:
        handle: decides and journals the steps an envelope causes.
        turn: waits for a turn on the event loop: many runs may receive events at the same time.
    """

    __slots__ = ('_closed', '_handle', '_queue', '_task', '_turn')

    def __init__(
        self, handle: Callable[[Envelope], Awaitable[None]], turn: Callable[[], Awaitable[None]]
    ) -> None:
        self._handle, self._turn = handle, turn
        self._queue: deque[Envelope] = deque()
        self._task: asyncio.Task[None] | None = None
        self._closed: Callable[[Event], Exception] | None = None

    def post(self, event: Event) -> None:
        """Queue an event, without waiting until it is handled."""
        self._enqueue(Envelope(event))

    async def ask(self, event: Event, seen: int | None = None) -> None:
        """Post an event and wait until it is journaled; raise the reason if it is rejected."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._enqueue(Envelope(event, answer, seen))
        await answer

    @property
    def waiting(self) -> bool:
        """Whether there are unhandled envelopes."""
        return bool(self._queue)

    @property
    def is_busy(self) -> bool:
        """Whether there are envelopes waiting or being handled."""
        return self._task is not None

    async def wait_until_empty(self) -> None:
        """Wait until all events are handled."""
        while self._task:
            await asyncio.wait([self._task])

    async def close(self, reason: Callable[[Event], Exception]) -> None:
        """Drop pending and future events, and stop; their senders get the error that `reason` returns."""
        self._closed = reason
        while self._queue:
            envelope = self._queue.popleft()
            envelope.refuse(reason(envelope.event))
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _enqueue(self, envelope: Envelope) -> None:
        if self._closed:
            envelope.refuse(self._closed(envelope.event))
            return
        self._queue.append(envelope)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._queue:
                await self._turn()
                await self._deliver(self._queue.popleft())
        finally:
            self._task = None

    async def _deliver(self, envelope: Envelope) -> None:
        try:
            await self._handle(envelope)
        except Exception as error:
            if not isinstance(error, EngineError):
                log.exception('event %s was not handled', envelope.event.name)
            elif envelope.answer is None:
                log.warning('event %s was not handled: %s', envelope.event.name, error)
            envelope.refuse(error)
        except BaseException as error:
            envelope.refuse(self._closed(envelope.event) if self._closed else error)
            raise
        else:
            if envelope.answer and not envelope.answer.done():
                envelope.answer.set_result(None)
