"""The outbox: each message is created once and delivered, wherever a process dies."""

import asyncio
import contextlib
import random
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine import Budget, Conductor, SimulatedClock
from engine.errors import EntryChanged
from engine.host.clock import settle
from engine.journal import Documents, Journal
from storage import open_journal
from tests.support.harness import complete_run, turns
from tests.unit.ui.app.services.test_notifications import (
    Receiver,
    conductor_of,
    hook,
    send_all,
)

pytestmark = pytest.mark.slow


async def test_two_readers_of_one_journal_create_each_message_once(conductor: Conductor):
    receiver = Receiver()
    one, other = receiver.notifications(conductor), receiver.notifications(conductor)
    await one.destinations.add(hook())
    for _ in range(5):
        await complete_run(conductor, 'lone')
    await asyncio.gather(one.process_new_steps(), other.process_new_steps())
    await asyncio.gather(one._dispatcher.wait_until_idle(), other._dispatcher.wait_until_idle())
    ids = [request.headers['webhook-id'] for request in receiver.requests]
    assert len(ids) == len(set(ids)) == 5


async def test_messages_of_a_killed_server_are_sent_by_another(monkeypatch: pytest.MonkeyPatch):
    # This interval is in real time.
    monkeypatch.setattr('ui.app.services.notifications.notifications.MAX_POLL_SECONDS', 0.0)
    clock = SimulatedClock()
    receiver = Receiver(lambda request: 503)
    async with conductor_of(clock=clock) as conductor:
        one, other = (receiver.notifications(conductor, delays=(5.0, 600.0)) for _ in range(2))
        following = asyncio.create_task(other.run())
        await settle()
        message = await one.test((await one.destinations.add(hook())).id)
        await settle()
        await clock.advance(6.0)
        assert len(receiver.requests) == 2  # The next attempt is due in 600 s.
        await one._dispatcher.close()
        receiver._answers = lambda request: 204
        for _ in range(3):
            await clock.advance(200.0)
            assert receiver.accepted == []
        for _ in range(5):
            await clock.advance(30.0)
        assert [request.headers['webhook-id'] for request in receiver.requests] == [message.id] * 3
        following.cancel()


async def test_late_messages_are_taken_over_once():
    clock = SimulatedClock()
    receiver = Receiver()
    async with conductor_of(clock=clock) as conductor:
        one, other = receiver.notifications(conductor), receiver.notifications(conductor)
        one._dispatcher._slots = asyncio.Semaphore(0)
        await one.test((await one.destinations.add(hook())).id)
        await settle()
        await clock.advance(59.0)
        await other.adopt_overdue()
        assert other.waiting == 0
        await clock.advance(2.0)
        await one.adopt_overdue()
        assert one.waiting == 1
        await other.adopt_overdue()
        await other._dispatcher.wait_until_idle()
        assert len(receiver.accepted) == 1
        await one._dispatcher.close()


class Cut(Exception):
    """The process dies here."""


class CutJournal:
    """A journal whose process dies at the nth write of documents: before it is stored, or right after."""

    def __init__(self, journal: Journal, at: int, after: bool) -> None:
        self._journal, self.documents = journal, CutDocuments(journal.documents, at, after)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)


class CutDocuments:
    def __init__(self, documents: Documents, at: int, after: bool) -> None:
        self._documents, self._left, self._after = documents, at, after

    def __getattr__(self, name: str) -> Any:
        return getattr(self._documents, name)

    async def write(self, written: Any, deleted: Any = ()) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Cut
        if self._left >= 0:
            await self._documents.write(written, deleted)
        if self._left <= 0:
            raise Cut


@pytest.mark.parametrize('after', [False, True])
@pytest.mark.parametrize('at', range(1, 9))
async def test_nothing_is_lost_wherever_the_process_is_killed(tmp_path: Path, at: int, after: bool):
    """Three runs, each with two events; the process dies at its nth write, and another one continues."""
    journal = await open_journal(tmp_path / 'runs.db')
    async with conductor_of(journal) as conductor:
        receiver = Receiver()
        await receiver.notifications(conductor).destinations.add(hook())
        runs = []
        for _ in range(3):
            runs.append(await complete_run(conductor, 'pair', budget=Budget(tokens=35), approvals='none'))
        conductor.journal = CutJournal(journal, at, after)
        first = receiver.notifications(conductor)
        with contextlib.suppress(Cut):
            await first.process_new_steps()
        await settle()
        for task in list(first._dispatcher._tasks.values()):
            task.cancel()
        await settle()
        conductor.journal = journal
        second = receiver.notifications(conductor)
        second._dispatcher.add(await second._outbox.due())
        await send_all(second)
        logged = await second.log()
        assert {record.state for record in logged} == {'sent'}
        got = defaultdict(list)
        for payload in receiver.accepted:
            got[payload['data']['run']].append((payload['data']['step'], payload['type']))
        assert set(got) == set(runs)
        for events in got.values():
            once = list(dict.fromkeys(events))
            assert once == sorted(once) and once[-1][1] in ('run.ended', 'run.failed')
            assert len(once) == len(logged) / 3


async def test_an_unreliable_receiver_gets_all_messages_in_order(tmp_path: Path):
    """Many messages to a receiver that fails half of the attempts, from a sender that is interrupted."""
    chance = random.Random(1)
    faults = (500, 503, 429, httpx.ConnectError('refused'), httpx.ReadTimeout('late'))
    receiver = Receiver(lambda request: 204 if chance.random() < 0.5 else chance.choice(faults))
    journal = await open_journal(tmp_path / 'runs.db')
    async with conductor_of(journal) as conductor:
        team = await receiver.notifications(conductor).destinations.add(hook())
        for _ in range(40):
            await complete_run(conductor, 'pair', budget=Budget(tokens=35), approvals='none')
        while True:
            sender = receiver.notifications(conductor, delays=(0.01,) * 60)
            sender._dispatcher.add(await sender._outbox.due())
            await sender.process_new_steps()
            goal = len(receiver.requests) + 60
            async for _ in turns():
                if not sender._dispatcher._tasks or len(receiver.requests) >= goal:
                    break
            for task in list(sender._dispatcher._tasks.values()):
                task.cancel()  # Interrupted at an arbitrary moment.
            await settle()
            if not await sender._outbox.due():
                break
        logged = await sender.log(limit=1_000_000)
    assert len(logged) >= 60 and {record.state for record in logged} == {'sent'}
    assert {record.destination for record in logged} == {team.id}
    got: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for payload in receiver.accepted:
        place = (payload['data']['step'], payload['type'])
        if place not in got[payload['data']['run']]:
            got[payload['data']['run']].append(place)
    assert sum(map(len, got.values())) == len(logged)
    assert all(events == sorted(events) for events in got.values())


async def test_a_message_changed_by_somebody_else_is_not_overwritten(conductor: Conductor):
    notifications = Receiver().notifications(conductor)
    message = await notifications.test((await notifications.destinations.add(hook())).id)
    with pytest.raises(EntryChanged):
        await notifications._outbox.change(replace(message, version=7))
