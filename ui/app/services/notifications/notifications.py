"""Notifications: follows the journal, fills the outbox, and sends, shows and resends messages."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from engine import LocalConductor
from engine.errors import EntryChanged, JournalDamaged, JournalError, UnknownRun
from engine.journal import Fold
from engine.operations.experiments import Experiment
from engine.records import RunId, RunInfo
from engine.runtime import ACTOR
from ui.app.services.inbox import InboxItem, question_path
from ui.app.services.notifications.channels import Channels
from ui.app.services.notifications.destinations import Destination, Destinations
from ui.app.services.notifications.dispatcher import DELAYS, Dispatcher
from ui.app.services.notifications.events import (
    Notice,
    find_experiment_notices,
    find_notices,
    launch_of_schedule,
    unstarted_notice,
)
from ui.app.services.notifications.looks import EndedExperiments, UnstartedTicks
from ui.app.services.notifications.outbox import CURSOR, Outbox, OutboxMessage, message_id
from ui.app.services.schedules import Schedule, Schedules, Tick

log = logging.getLogger('hemicycle')
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 5.0
"""Minimum and maximum seconds between reads of the journal, as other processes execute runs, too."""
STEPS_PER_READ = 500
EXPERIMENT_SECONDS = 5.0
"""Seconds between looks for experiments that are over, and for schedules that started nothing."""
LATE_SECONDS, ADOPT_SECONDS = 60.0, 20.0
"""Seconds after which another server sends a killed server's messages, and between searches for them."""
MAX_FOLDS = 200
"""Maximum number of runs whose folds are cached, so that only their new steps are read."""
LOG_RETENTION = 30 * 86_400.0
"""Seconds for which sent and abandoned messages are stored."""
NO_RUN = RunId('')


class Notifications:
    """Notifies people of events in runs.

    Args:
        conductor: the conductor whose journal is followed.
        channels: the channels that send messages.
        url: the server's URL for links, without a trailing slash.
        delays: seconds between attempts.
    """

    def __init__(
        self,
        conductor: LocalConductor,
        channels: Channels,
        *,
        url: str = '',
        delays: tuple[float, ...] = DELAYS,
    ) -> None:
        self._conductor, self.url = conductor, url
        journal, clock = conductor.journal, conductor.clock
        self.destinations, self._outbox = Destinations(journal.documents, clock), Outbox(journal.documents)
        self._dispatcher = Dispatcher(self._outbox, self.destinations, channels, clock, delays)
        self._folds: OrderedDict[RunId, Fold] = OrderedDict()
        self._ended, self._unstarted = EndedExperiments(conductor), UnstartedTicks(Schedules(conductor))
        self._damaged: set[RunId] = set()
        """Runs whose steps cannot be read, skipped so that they do not block the others."""

    async def log(self, *, state: str = '', run: str = '', limit: int = 100) -> list[OutboxMessage]:
        """Return messages, latest first; `state` is `due`, `sent` or `failed`."""
        return await self._outbox.log(state=state, run=run, limit=limit)

    async def resend(self, message: str) -> OutboxMessage:
        """Send a message again, with the same id. Raises `UnknownMessage`."""
        while True:
            original = await self._outbox.get(message)
            try:
                again = await self._outbox.change(
                    replace(original, state='due', at=self._conductor.clock.now(), attempts=())
                )
            except EntryChanged:
                continue
            self._dispatcher.add([again])
            return again

    async def test(self, destination: str) -> OutboxMessage:
        """Send an empty test message. Raises `UnknownDestination`."""
        target = await self.destinations.get(destination)
        now = self._conductor.clock.now()
        notice = Notice(event='test', step=0, time=now, text='Hemicycle can send notifications here')
        message = self._message(target, NO_RUN, 'Test', notice, salt=repr(now))
        (stored,) = await self._outbox.add([message])
        self._dispatcher.add([stored])
        return stored

    async def notify_assignee(self, item: InboxItem) -> None:
        """Notify the person to whom a question was assigned."""
        if not item.assignee:
            return
        now, ask = self._conductor.clock.now(), item.ask
        notice = Notice(
            event='question.assigned',
            step=ask.step,
            time=now,
            text=f'{item.assignee}: {ask.text}',
            number=1_000,
            path=question_path(ask.id),
            data={'question': ask.id, 'digest': ask.digest, 'assignee': item.assignee, 'by': ACTOR.get()},
        )
        info = await self._conductor.info(ask.run)
        messages = [
            self._message(destination, ask.run, item.title, notice, salt=repr(now))
            for destination in await self.destinations.list()
            if destination.wants('question.assigned', item.pattern, item.tags, item.assignee)
            and _may_notify(destination, info.private, info.author, item.assignee)
        ]
        if messages:
            self._dispatcher.add(await self._outbox.add(messages))

    async def try_all(self) -> None:
        """Wait until each message made here is sent, or waits for its next attempt by a server."""
        await self._dispatcher.try_all()

    async def close(self) -> None:
        """Stop sending; the next server sends any unsent messages."""
        await self._dispatcher.close()

    async def run(self) -> None:
        """Follow the journal and send messages until cancelled."""
        try:
            with self._conductor.feed.listen() as bell:
                self._dispatcher.add(await self._retry(self._outbox.due))
                looked = searched = self._conductor.clock.now()
                while True:
                    bell.clear()
                    await self._retry(self.process_new_steps)
                    if self._conductor.clock.now() - looked >= EXPERIMENT_SECONDS:
                        looked = self._conductor.clock.now()
                        await self._retry(self.process_experiments)
                        await self._retry(self.process_schedules)
                    if self._conductor.clock.now() - searched >= ADOPT_SECONDS:
                        searched = self._conductor.clock.now()
                        await self._retry(self.adopt_overdue)
                    await self._conductor.clock.sleep(MIN_POLL_SECONDS)
                    try:
                        async with asyncio.timeout(MAX_POLL_SECONDS):
                            await bell.wait()
                    except TimeoutError:
                        continue
        finally:
            await self.close()

    async def process_new_steps(self) -> int:
        """Read new steps, store and send the messages for them; return the number of messages."""
        active = [destination for destination in await self.destinations.list() if not destination.paused]
        if not active:
            return 0
        since = min(destination.created for destination in active)
        stored = 0
        for run in await self._conductor.journal.documents.runs_beyond(CURSOR, since):
            if run in self._damaged:
                continue
            try:
                stored += await self._read_run(run, active)
            except (UnknownRun, EntryChanged):
                self._folds.pop(run, None)  # Purged, or read by another server: the next read tells.
            except JournalDamaged as error:
                self._damaged.add(run)
                log.error('no notifications of run %s: %s', run, error, extra={'run': run})
        return stored

    async def process_experiments(self) -> int:
        """Store and send the messages for experiments that are over; return the number of messages."""
        active = [destination for destination in await self.destinations.list() if not destination.paused]
        stored = 0
        for experiment in await self._ended.find() if active else ():
            if any(destination.created <= experiment.ended for destination in active):
                make = partial(self._experiment_messages, experiment, active)
                # One that failed can be resumed, and ends then.
                failed = 'failed ' if experiment.state == 'failed' else ''
                stored += await self._add_once(f'{failed}{experiment.id}', make)
            self._ended.settle(experiment)
        return stored

    async def process_schedules(self) -> int:
        """Store and send the messages for due times that started nothing; return the number of messages."""
        active = [destination for destination in await self.destinations.list() if not destination.paused]
        stored = 0
        if not active:
            return 0
        async for schedule, tick in self._unstarted.find():
            make = partial(self._schedule_messages, schedule, tick, active)
            stored += await self._add_once(f'tick {tick.id}', make)
            self._unstarted.settle(tick)
        return stored

    async def adopt_overdue(self) -> None:
        """Send overdue messages that a killed server of this database has left behind."""
        lanes: dict[str, list[OutboxMessage]] = {}
        for message in await self._outbox.due():
            lanes.setdefault(message.lane, []).append(message)
        late = self._conductor.clock.now() - LATE_SECONDS
        for lane, messages in lanes.items():
            first = min(messages, key=lambda message: message.place)  # The others wait for it.
            if first.at < late and not self._dispatcher.has_lane(lane):
                self._dispatcher.add(messages)

    async def clean_up(self) -> None:
        """Delete messages that were sent or abandoned long ago."""
        await self._outbox.clean_up(self._conductor.clock.now() - LOG_RETENTION)

    @property
    def waiting(self) -> int:
        """The number of unsent messages."""
        return self._dispatcher.waiting

    async def _retry(self, ask: Callable[[], Any]) -> Any:
        while True:
            try:
                return await ask()
            except JournalError as error:
                log.warning('notifications wait for the journal: %s', error)
                await self._conductor.clock.sleep(MAX_POLL_SECONDS)

    async def _read_run(self, run: RunId, destinations: Sequence[Destination]) -> int:
        """Read the new steps of one run."""
        journal = self._conductor.journal
        info, cursor = await journal.info(run), await self._outbox.cursor(run)
        # Steps inherited from the parent are not new.
        begin = min(max(int(cursor.rank), info.parent_at if info.parent else 0), info.seq)
        fold = self._folds.pop(run, None)
        if fold is None or fold.projection.seq < begin:
            fold = await self._conductor.fold(run, begin)
        if fold.projection.seq >= info.seq:
            self._cache_fold(run, fold)
            return 0
        messages: list[OutboxMessage] = []
        while fold.projection.seq < info.seq:
            steps = await journal.transitions(
                run, after=fold.projection.seq, until=info.seq, limit=STEPS_PER_READ
            )
            if not steps:
                break
            for notice in find_notices(self._conductor.catalog, fold, steps):
                messages += self._messages(info, notice, destinations)
        if messages or info.status.ended:
            # In one transaction, so that no message is lost or duplicated.
            reached = replace(cursor, rank=float(fold.projection.seq))
            self._dispatcher.add(await self._outbox.add(messages, reached))
        if not info.status.ended:
            self._cache_fold(run, fold)
        return len(messages)

    def _cache_fold(self, run: RunId, fold: Fold) -> None:
        self._folds[run] = fold
        while len(self._folds) > MAX_FOLDS:
            self._folds.popitem(last=False)

    def _messages(
        self, info: RunInfo, notice: Notice, destinations: Sequence[Destination]
    ) -> list[OutboxMessage]:
        data = {**notice.data, 'pattern': info.pattern, 'tags': list(info.tags)}
        described = replace(notice, data=data)
        return [
            self._message(destination, info.id, info.title or info.id, described)
            for destination in destinations
            if destination.created <= notice.time
            and destination.wants(notice.event, info.pattern, info.tags, info.author if info.private else '')
            and _may_notify(destination, info.private, info.author)
        ]

    async def _experiment_messages(
        self, experiment: Experiment, destinations: Sequence[Destination]
    ) -> list[OutboxMessage]:
        base = experiment.base
        listeners = [
            destination
            for destination in destinations
            if destination.created <= experiment.ended
            and _may_notify(destination, experiment.private, experiment.author)
        ]
        if not listeners:
            return []
        notices = await find_experiment_notices(self._conductor, experiment)
        return [
            self._message(
                destination,
                NO_RUN,
                experiment.name,
                notice,
                salt=f'{experiment.id} {notice.event} {experiment.state == "failed"}',
            )
            for destination in listeners
            for notice in notices
            if destination.wants(notice.event, base.pattern, base.tags)
        ]

    async def _schedule_messages(
        self, schedule: Schedule, tick: Tick, destinations: Sequence[Destination]
    ) -> list[OutboxMessage]:
        notice, what = unstarted_notice(schedule, tick), launch_of_schedule(schedule)
        return [
            self._message(destination, NO_RUN, schedule.name, notice, salt=tick.id)
            for destination in destinations
            if destination.created <= tick.due
            and destination.wants(notice.event, what.pattern, what.tags)
            and _may_notify(destination, what.private, schedule.author)
        ]

    async def _add_once(self, about: str, make: Callable[[], Awaitable[Sequence[OutboxMessage]]]) -> int:
        """Make, store and send messages about something, unless a server already did; return their number."""
        cursor = await self._outbox.cursor(RunId(about))
        if cursor.rank:
            return 0
        messages = await make()
        try:
            self._dispatcher.add(await self._outbox.add(messages, replace(cursor, rank=1.0)))
        except EntryChanged:
            return 0  # Another server was first.
        return len(messages)

    def _message(
        self, destination: Destination, run: RunId, title: str, notice: Notice, *, salt: str = ''
    ) -> OutboxMessage:
        redact, step, data = self._conductor.services.redact, notice.step, notice.data
        text, title = redact(notice.text), redact(title)
        path = notice.path or (f'/runs/{run}?at={step}' if run else '/inbox')
        payload = {
            'type': notice.event,
            'timestamp': datetime.fromtimestamp(notice.time, UTC).isoformat(),
            'data': {
                **({'run': run, 'title': title, 'step': step} if run else {}),
                'text': text,
                **{name: redact(value) if isinstance(value, str) else value for name, value in data.items()},
                'url': f'{self.url}{path}',
            },
        }
        return OutboxMessage(
            id=message_id(destination.id, run, step, notice.number, salt or notice.event),
            destination=destination.id,
            event=notice.event,
            run=run,
            title=title,
            step=step,
            number=notice.number,
            text=text,
            created=notice.time,
            payload=payload,
            at=self._conductor.clock.now(),
        )


def _may_notify(destination: Destination, private: bool, *people: str) -> bool:
    """Whether a destination may be notified; of what is private, only that of one of these people."""
    return not private or (destination.person != '' and destination.person in people)
