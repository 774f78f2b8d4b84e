"""Dispatcher: sends due messages, in order for each run, and retries until they are accepted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace

from engine.clock import Clock
from engine.errors import EntryChanged, JournalError
from ui.services.notifications.channels import Channels, Result
from ui.services.notifications.destinations import Destination, Destinations, UnknownDestination
from ui.services.notifications.outbox import Attempt, Message, Outbox

log = logging.getLogger('hemicycle')
DELAYS = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""Seconds between attempts, as Standard Webhooks recommends; after the last one a message is abandoned."""
AT_ONCE = 16
"""Messages sent concurrently."""
MAX_ATTEMPTS_KEPT = 20
AGAIN = 1.0
"""Seconds before the journal is tried again after a failure."""


class Dispatcher:
    """Sends messages. Those of one run to one destination are sent strictly in order.

    Args:
        outbox: where messages are stored.
        destinations: where they go.
        channels: how they get there.
        clock: the source of time.
        delays: seconds between attempts.
    """

    def __init__(
        self,
        outbox: Outbox,
        destinations: Destinations,
        channels: Channels,
        clock: Clock,
        delays: tuple[float, ...] = DELAYS,
    ) -> None:
        self._outbox, self._destinations, self._channels = outbox, destinations, channels
        self._clock, self._delays = clock, delays
        self._lanes: dict[str, list[Message]] = {}
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._asleep: set[str] = set()
        """Lanes whose first message is not due yet."""
        self._room = asyncio.Semaphore(AT_ONCE)

    def add(self, messages: Iterable[Message]) -> None:
        """Send these, too; a message with a known id replaces the known one."""
        for message in messages:
            name = message.lane
            others = [known for known in self._lanes.get(name, ()) if known.id != message.id]
            self._lanes[name] = sorted([*others, message], key=lambda one: one.place)
            if name in self._asleep:  # It may be due before the message that the lane waits for.
                self._asleep.discard(name)
                self._busy.pop(name).cancel()
            if name not in self._busy:
                self._busy[name] = asyncio.create_task(self._serve(name), name=f'notify {name}')

    def knows(self, lane: str) -> bool:
        """Whether it has messages of this lane to send."""
        return lane in self._lanes

    @property
    def waiting(self) -> int:
        """How many messages have still to be sent."""
        return sum(map(len, self._lanes.values()))

    async def idle(self) -> None:
        """Wait until nothing is left to send."""
        while self._busy:
            await asyncio.wait(self._busy.values())

    async def close(self) -> None:
        """Stop; what was not sent stays in the outbox."""
        tasks = list(self._busy.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, lane: str) -> None:
        """Send the messages of a lane until there are none."""
        while messages := self._lanes.get(lane):
            message = messages[0]
            if (wait := message.at - self._clock.now()) > 0:
                self._asleep.add(lane)
                await self._clock.sleep(wait)
                self._asleep.discard(lane)
                continue
            try:
                async with self._room:
                    settled = await self._try(message)
            except JournalError as error:
                log.warning('a notification could not be stored: %s', error)
                await self._clock.sleep(AGAIN)
                continue
            rest = [one for one in self._lanes[lane] if one.id != message.id]
            self._lanes[lane] = [settled, *rest] if settled.state == 'due' else rest
        self._lanes.pop(lane, None)
        self._busy.pop(lane, None)

    async def _try(self, message: Message) -> Message:
        """Make one attempt, and store its outcome."""
        try:
            destination = await self._destinations.get(message.destination)
        except UnknownDestination:
            await self._outbox.drop([message])
            return replace(message, state='failed')
        if destination.paused:
            # It is sent once the destination is not paused any more.
            return await self._store(replace(message, at=self._clock.now() + self._delays[0]))
        began = self._clock.now()
        result = await self._channels.send(destination, message, began)
        tried = Attempt(
            time=began, seconds=self._clock.now() - began, status=result.status, error=result.error
        )
        made = replace(message, attempts=(*message.attempts, tried)[-MAX_ATTEMPTS_KEPT:])
        if result.gone:
            await self._retire(destination)
        return await self._store(self._judge(made, result))

    def _judge(self, message: Message, result: Result) -> Message:
        now, count = self._clock.now(), len(message.attempts)
        if not result.error:
            return replace(message, state='sent', at=now)
        if result.gone or count > len(self._delays):
            return replace(message, state='failed', at=now)
        return replace(message, at=now + max(self._delays[count - 1], result.wait))

    async def _store(self, message: Message) -> Message:
        try:
            return await self._outbox.change(message)
        except EntryChanged:  # A person has resent it meanwhile.
            return await self._outbox.get(message.id)

    async def _retire(self, destination: Destination) -> None:
        """Stop sending to a receiver that has unsubscribed."""
        reason = 'it answered 410 Gone and wants no more messages'
        try:
            await self._destinations.change(destination.id, paused=True, problem=reason)
        except (EntryChanged, UnknownDestination):
            return
