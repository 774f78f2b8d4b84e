"""One run's mailbox: events wait here and are handled one after another."""

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
class Letter:
    """An event, and who wants to know what became of it."""

    event: Event
    answer: asyncio.Future[None] | None = None

    def refuse(self, error: BaseException) -> None:
        """Tell the sender, if there is one who still waits, what went wrong."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)


class Mailbox:
    """Handles letters in order. While it is empty there is no task: an idle run is only data."""

    __slots__ = ('_closed', '_handle', '_letters', '_task')

    def __init__(self, handle: Callable[[Letter], Awaitable[None]]) -> None:
        self._handle = handle
        self._letters: deque[Letter] = deque()
        self._task: asyncio.Task[None] | None = None
        self._closed: Callable[[Event], Exception] | None = None

    def post(self, event: Event) -> None:
        """Put an event in, whoever it is from."""
        self._put(Letter(event))

    async def ask(self, event: Event) -> None:
        """Put an event in and wait until it has been journaled; raises what refused it."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._put(Letter(event, answer))
        await answer

    @property
    def waiting(self) -> bool:
        """Whether there are letters that have not been looked at."""
        return bool(self._letters)

    @property
    def is_busy(self) -> bool:
        """Whether there are letters, or one is being handled."""
        return self._task is not None

    async def close(self, reason: Callable[[Event], Exception]) -> None:
        """Drop what waits and what still comes, and stop; who waits for an answer gets a `reason`."""
        self._closed = reason
        while self._letters:
            letter = self._letters.popleft()
            letter.refuse(reason(letter.event))
        if self._task:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _put(self, letter: Letter) -> None:
        if self._closed:
            letter.refuse(self._closed(letter.event))
            return
        self._letters.append(letter)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._letters:
                await self._deliver(self._letters.popleft())
        finally:
            self._task = None

    async def _deliver(self, letter: Letter) -> None:
        try:
            await self._handle(letter)
        except Exception as error:
            if not isinstance(error, EngineError):
                log.exception('event %s was not handled', letter.event.name)
            elif letter.answer is None:
                log.warning('event %s was not handled: %s', letter.event.name, error)
            letter.refuse(error)
        except BaseException as error:
            letter.refuse(self._closed(letter.event) if self._closed else error)
            raise
        else:
            if letter.answer and not letter.answer.done():
                letter.answer.set_result(None)
