"""One run's mailbox: events wait here and are handled one after another."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from engine.records import Event

log = logging.getLogger('hemicycle')


@dataclass(frozen=True, slots=True)
class Letter:
    """An event, and who wants to know what became of it."""

    event: Event
    answer: asyncio.Future[None] | None = None


class Mailbox:
    """Handles letters in order, one at a time. While it is empty there is no task: an idle run costs no more than data."""

    __slots__ = ('_handle', '_letters', '_task')

    def __init__(self, handle: Callable[[Letter], Awaitable[None]]) -> None:
        self._handle = handle
        self._letters: deque[Letter] = deque()
        self._task: asyncio.Task[None] | None = None

    def post(self, event: Event) -> None:
        """Put an event in, whoever it is from."""
        self._put(Letter(event))

    async def ask(self, event: Event) -> None:
        """Put an event in and wait until it has been journaled; raises what refused it."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._put(Letter(event, answer))
        await answer

    def close(self) -> None:
        """Drop what waits, and stop."""
        for letter in self._letters:
            if letter.answer and not letter.answer.done():
                letter.answer.cancel()
        self._letters.clear()
        if self._task:
            self._task.cancel()

    def _put(self, letter: Letter) -> None:
        self._letters.append(letter)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        try:
            while self._letters:
                letter = self._letters.popleft()
                try:
                    await self._handle(letter)
                except Exception as error:
                    if letter.answer is None:
                        log.exception('event %s was not handled', letter.event.name)
                    elif not letter.answer.done():
                        letter.answer.set_exception(error)
                else:
                    if letter.answer and not letter.answer.done():
                        letter.answer.set_result(None)
        finally:
            self._task = None
