"""Dispatcher: sends due messages, in order per run, and retries until they are accepted."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from dataclasses import replace

from engine.errors import EntryChanged, JournalError
from engine.host.clock import Clock
from ui.app.services.notifications.channels import Channels, Result
from ui.app.services.notifications.destinations import Destination, Destinations, UnknownDestination
from ui.app.services.notifications.outbox import Attempt, Outbox, OutboxMessage

log = logging.getLogger('hemicycle')
DELAYS = (5.0, 300.0, 1_800.0, 7_200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""Seconds between attempts, as Standard Webhooks recommends; after the last, a message is abandoned."""
MAX_CONCURRENT = 16
"""Maximum number of messages sent concurrently."""
MAX_ATTEMPTS_KEPT = 20
POLL_SECONDS = 0.02
RETRY_SECONDS = 1.0
"""Seconds before the journal is retried after a failure."""


class Dispatcher:
    """Sends messages. Messages of one run to one destination are sent strictly in order.

    Args:
        outbox: the store of messages.
        destinations: the destinations of messages.
        channels: the channels that send them.
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
        self._lanes: dict[str, list[OutboxMessage]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._sleeping: set[str] = set()
        """Lanes whose first message is not yet due."""
        self._slots = asyncio.Semaphore(MAX_CONCURRENT)

    def add(self, messages: Iterable[OutboxMessage]) -> None:
        """Also send these messages; one with a known id replaces the known one."""
        for message in messages:
            name = message.lane
            others = [queued for queued in self._lanes.get(name, ()) if queued.id != message.id]
            self._lanes[name] = sorted([*others, message], key=lambda queued: queued.place)
            if name in self._sleeping:  # The new message may be due before the one the lane waits for.
                self._sleeping.discard(name)
                self._tasks.pop(name).cancel()
            if name not in self._tasks:
                self._tasks[name] = asyncio.create_task(self._send_lane(name), name=f'notify {name}')

    def has_lane(self, lane: str) -> bool:
        """Whether there are unsent messages in this lane."""
        return lane in self._lanes

    @property
    def waiting(self) -> int:
        """The number of unsent messages."""
        return sum(map(len, self._lanes.values()))

    async def wait_until_idle(self) -> None:
        """Wait until nothing is left to send."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())

    async def try_all(self) -> None:
        """Wait until each message has been tried: it is sent, or waits for its next attempt."""
        while busy := [task for lane, task in self._tasks.items() if lane not in self._sleeping]:
            await asyncio.wait(busy, timeout=POLL_SECONDS)

    async def close(self) -> None:
        """Stop; unsent messages stay in the outbox."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_lane(self, lane: str) -> None:
        """Send the messages of a lane until none are left."""
        while messages := self._lanes.get(lane):
            message = messages[0]
            if (wait := message.at - self._clock.now()) > 0:
                self._sleeping.add(lane)
                await self._clock.sleep(wait)
                self._sleeping.discard(lane)
                continue
            try:
                async with self._slots:
                    settled = await self._try(message)
            except JournalError as error:
                log.warning('a notification could not be stored: %s', error)
                await self._clock.sleep(RETRY_SECONDS)
                continue
            rest = [queued for queued in self._lanes[lane] if queued.id != message.id]
            self._lanes[lane] = [settled, *rest] if settled.state == 'due' else rest
        self._lanes.pop(lane, None)
        self._tasks.pop(lane, None)

    async def _try(self, message: OutboxMessage) -> OutboxMessage:
        """Make one attempt, and store its outcome."""
        try:
            destination = await self._destinations.get(message.destination)
        except UnknownDestination:
            await self._outbox.drop(message)
            return replace(message, state='failed')
        if destination.paused:
            # Postponed until the destination is no longer paused.
            return await self._store(replace(message, at=self._clock.now() + self._delays[0]))
        began = self._clock.now()
        result = await self._channels.send(destination, message, began)
        tried = Attempt(
            time=began, seconds=self._clock.now() - began, status=result.status, error=result.error
        )
        updated = replace(message, attempts=(*message.attempts, tried)[-MAX_ATTEMPTS_KEPT:])
        if result.gone:
            await self._pause_destination(destination)
        return await self._store(self._apply_result(updated, result))

    def _apply_result(self, message: OutboxMessage, result: Result) -> OutboxMessage:
        now, count = self._clock.now(), len(message.attempts)
        if not result.error:
            return replace(message, state='sent', at=now)
        if result.gone or count > len(self._delays):
            return replace(message, state='failed', at=now)
        return replace(message, at=now + max(self._delays[count - 1], result.wait))

    async def _store(self, message: OutboxMessage) -> OutboxMessage:
        try:
            return await self._outbox.change(message)
        except EntryChanged:  # A person has resent it in the meantime.
            return await self._outbox.get(message.id)

    async def _pause_destination(self, destination: Destination) -> None:
        """Stop sending to a receiver that has unsubscribed."""
        reason = 'it answered 410 Gone and wants no more messages'
        try:
            await self._destinations.change(destination.id, paused=True, problem=reason)
        except (EntryChanged, UnknownDestination):
            return
