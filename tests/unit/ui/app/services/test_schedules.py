"""Schedules and triggers: exactly one run per tick, despite crashes, overlaps, gaps and daylight saving."""

import asyncio
import contextlib
import json
import math
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from engine import Conductor, InvalidInput, LocalConductor, SimulatedClock, Status
from engine.host.clock import settle
from engine.journal import Journal, MemoryJournal
from engine.operations import Role
from engine.records import Launch, RunId, RunQuery
from engine.runtime import acting_as
from storage import open_journal
from tests.support.harness import PIPELINE_TASK, FakeModel, Lone, catalog
from tests.unit.ui.app.services.test_notification_outbox import Cut, CutJournal
from ui.app.access.accounts import Accounts
from ui.app.access.audit_log import AuditLog, AuditQuery
from ui.app.services.schedules import (
    BadSignature,
    Interval,
    Schedule,
    SchedulePolicy,
    Schedules,
    ScheduleSpec,
    Trigger,
    Triggers,
    UnknownSchedule,
    UnknownTrigger,
)
from ui.app.services.schedules.schedules import TICK_RETENTION

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC).timestamp()


def conductor_of(journal: Journal | None = None, *, reply: Any = 'ok', now: float = NOON) -> Conductor:
    return LocalConductor(
        journal or MemoryJournal(), catalog=catalog(FakeModel(reply), Lone), clock=SimulatedClock(now)
    )


@pytest.fixture
async def conductor() -> AsyncIterator[Conductor]:
    async with conductor_of() as conductor:
        yield conductor


def every(seconds: float = 60.0, **policy: Any) -> Schedule:
    return Schedule(
        name='Often',
        action=Launch(pattern='lone', tags=('often',)),
        spec=ScheduleSpec(intervals=(Interval(every=seconds),)),
        policy=SchedulePolicy(**policy),
    )


async def runs(conductor: Conductor) -> list[str]:
    return [info.id for info in (await conductor.runs(RunQuery(limit=1_000))).runs]


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def times(spec: ScheduleSpec, after: str, count: int) -> list[str]:
    return [datetime.fromtimestamp(time, UTC).isoformat()[:16] for time in spec.next(at(after), count)]


def test_cron_follows_its_time_zone_through_both_changes_of_the_clock():
    """Berlin skips 02:30 on 29 March 2026 and has it twice on 25 October; a daily run is due once."""
    spec = ScheduleSpec(cron=('30 2 * * *',), time_zone='Europe/Berlin')
    assert times(spec, '2026-03-28T00:00:00+00:00', 3) == [
        '2026-03-28T01:30',
        '2026-03-29T01:00',
        '2026-03-30T00:30',
    ]
    assert times(spec, '2026-10-24T00:00:00+00:00', 3) == [
        '2026-10-24T00:30',
        '2026-10-25T00:30',
        '2026-10-26T01:30',
    ]


def test_times_of_several_rules_are_merged_in_order():
    spec = ScheduleSpec(cron=('0 * * * *', '0 12 * * *'), intervals=(Interval(every=5400, offset=1800),))
    assert times(spec, '2026-03-01T11:30:00+00:00', 4) == [
        '2026-03-01T12:00', '2026-03-01T12:30', '2026-03-01T13:00', '2026-03-01T14:00',
    ]  # fmt: skip
    bounded = ScheduleSpec(
        cron=('0 * * * *',), start=at('2026-03-01T15:00:00+00:00'), end=at('2026-03-01T16:00:00+00:00')
    )
    assert times(bounded, '2026-03-01T11:30:00+00:00', 9) == ['2026-03-01T15:00', '2026-03-01T16:00']


@pytest.mark.parametrize('start', [at('9999-12-31T23:59:59+00:00'), 1e17, 1e300])
def test_a_start_in_the_far_future_is_never_due(start: float):
    """It once searched without end: a huge number stays the same with a minute added."""
    for spec in ({'cron': ('* * * * *',)}, {'intervals': (Interval(every=60),)}):
        assert ScheduleSpec(**spec, time_zone='Asia/Tokyo', start=start).next(0.0, 3) == []


@given(
    every=st.integers(1, 100_000), part=st.floats(0, 0.999), after=st.floats(0, 4e9), count=st.integers(1, 20)
)
def test_intervals_are_even_and_start_after_the_given_time(every: int, part: float, after: float, count: int):
    offset = float(int(every * part))
    times = ScheduleSpec(intervals=(Interval(every=every, offset=offset),)).next(after, count)
    assert len(times) == count and times[0] > after and times[0] - after <= every + 1e-6
    assert all(abs((item - offset) % every) < 1e-6 for item in times)
    assert [round(b - a) for a, b in pairwise(times)] == [every] * (count - 1)


@pytest.mark.parametrize(
    ('spec', 'field'),
    [({}, 'spec'), ({'cron': ('every day',)}, 'spec.cron.0'), ({'cron': ('0 0 30 2 *',)}, 'spec.cron.0'),
     ({'cron': ('* * * * *',), 'time_zone': 'Berlin'}, 'spec.time_zone'),
     ({'cron': ('* * * * *',), 'time_zone': '../etc/passwd'}, 'spec.time_zone'),
     ({'intervals': (Interval(every=0.5),)}, 'spec.intervals.0.every'),
     ({'intervals': (Interval(every=5, offset=5),)}, 'spec.intervals.0.offset'),
     ({'intervals': (Interval(every=1e300),)}, 'spec.intervals.0.every'),
     ({'intervals': (Interval(every=60),), 'start': 1e300}, 'spec.start'),
     ({'cron': ('* * * * *',), 'start': at('9999-12-31T23:59:00+00:00')}, 'spec.start'),
     ({'intervals': (Interval(every=60),), 'end': -1.0}, 'spec.end')],
)  # fmt: skip
async def test_an_invalid_spec_is_refused(conductor: Conductor, spec: dict[str, Any], field: str):
    schedule = Schedule(name='x', action=Launch(pattern='lone'), spec=ScheduleSpec(**spec))
    with pytest.raises(InvalidInput) as refused:
        await Schedules(conductor).add(schedule)
    assert list(refused.value.problems) == [field]


@pytest.mark.parametrize('seconds', [-1.0, math.inf, math.nan])
async def test_a_catchup_window_without_end_is_refused(conductor: Conductor, seconds: float):
    with pytest.raises(InvalidInput) as refused:
        await Schedules(conductor).add(every(catchup_window=seconds))
    assert list(refused.value.problems) == ['policy.catchup_window']


async def test_a_schedule_with_invalid_parameters_is_refused(conductor: Conductor):
    spec = ScheduleSpec(cron=('0 * * * *',))
    for action, field in (
        (Launch(pattern='none'), 'action.pattern'),
        (Launch(pattern='pipeline'), 'action.parameters.task'),
        (Launch(pattern='pipeline', parameters={**PIPELINE_TASK, 'x': 1}), 'action.parameters.x'),
    ):
        with pytest.raises(InvalidInput) as refused:
            await Schedules(conductor).add(Schedule(name='x', action=action, spec=spec))
        assert field in refused.value.problems


async def test_each_tick_starts_one_run(conductor: Conductor):
    schedules = Schedules(conductor)
    schedule = await schedules.add(every())
    assert list(schedule.next_times) == [NOON + 60 * number for number in range(1, 6)]
    task = asyncio.create_task(schedules.run())
    for _ in range(5):
        await conductor.clock.advance(60.0)
        await settle()
    task.cancel()
    ticks = await schedules.log(schedule.id)
    assert [tick.due for tick in ticks] == [NOON + 60 * number for number in (5, 4, 3, 2, 1)]
    assert sorted(tick.run for tick in ticks) == sorted(await runs(conductor))
    info = await conductor.info(ticks[0].run)
    assert (info.title, info.tags) == ('Often', ('often',))


@pytest.mark.parametrize(
    ('overlap', 'states'),
    [('skip', ['started', 'skipped', 'skipped']), ('buffer_one', ['started', 'buffered', 'skipped']),
     ('allow_all', ['started', 'started', 'started']), ('cancel_other', ['started', 'started', 'started'])],
)  # fmt: skip
async def test_overlap_policies_are_applied(overlap: str, states: list[str]):
    blocked = asyncio.Event()
    async with conductor_of(reply=lambda request: blocked) as conductor:
        schedules = Schedules(conductor)
        schedule = await schedules.add(every(overlap=overlap))
        for _ in range(3):
            await conductor.clock.advance(60.0)
            await schedules.check_due()
        ticks = list(reversed(await schedules.log(schedule.id)))
        assert [tick.state for tick in ticks] == states
        going = [info for info in (await conductor.runs()).runs if not info.status.ended]
        assert len(going) == (3 if overlap == 'allow_all' else 1)
        if overlap == 'cancel_other':
            assert [info.status for info in (await conductor.runs()).runs].count(Status.CANCELLED) == 2
        if overlap == 'buffer_one':
            await schedules.check_due()
            assert len(await runs(conductor)) == 1
            blocked.set()
            await conductor.result(ticks[0].run)
            await schedules.check_due()
            assert len(await runs(conductor)) == 2


async def test_missed_ticks_are_caught_up_within_the_window(conductor: Conductor):
    schedules = Schedules(conductor)
    schedule = await schedules.add(every(overlap='allow_all', catchup_window=150.0))
    await conductor.clock.advance(300.0)
    await Schedules(conductor).check_due()
    states = Counter(tick.state for tick in await schedules.log(schedule.id))
    assert states == {'missed': 2, 'started': 3}


async def test_a_paused_schedule_starts_and_catches_up_nothing(conductor: Conductor):
    schedules = Schedules(conductor)
    schedule = await schedules.add(every())
    paused = await schedules.change(schedule.id, paused=True, note='holidays')
    assert paused.next_times == ()
    await conductor.clock.advance(300.0)
    await schedules.check_due()
    await schedules.change(schedule.id, paused=False)
    await schedules.check_due()
    assert await schedules.log(schedule.id) == []
    await conductor.clock.advance(60.0)
    await schedules.check_due()
    assert len(await schedules.log(schedule.id)) == 1


async def test_a_run_names_its_schedule_or_the_person_who_started_it(conductor: Conductor):
    schedules = Schedules(conductor)
    audit = schedules.ticks.audit = AuditLog(conductor.journal.documents, conductor.clock)
    schedule = await schedules.add(every())
    await conductor.clock.advance(60.0)
    await schedules.check_due()
    (run,) = await runs(conductor)
    assert (await conductor.info(run)).author == 'schedule:Often'
    (start, *_) = await conductor.transitions(RunId(run))
    assert start.event.who == 'schedule:Often'
    with acting_as('ada'):
        tick = await schedules.run_now(schedule.id)
    assert (await conductor.info(tick.run)).author == 'ada'
    (line,) = await audit.lines(AuditQuery())  # people's own actions are logged by the guard
    assert (line.who, line.action, line.runs, line.via) == ('schedule:Often', 'start', (run,), 'schedule')


async def test_no_account_can_be_named_like_a_schedule(conductor: Conductor):
    with pytest.raises(InvalidInput):
        await Accounts(conductor.journal.documents, conductor.clock).add(
            'schedule:Often', Role.ADMIN, 'a long pass phrase'
        )


async def test_a_failure_pauses_the_schedule_if_configured():
    async with conductor_of(reply=lambda request: ValueError('broken')) as conductor:
        schedules = Schedules(conductor)
        schedule = await schedules.add(every(pause_on_failure=True))
        for _ in range(3):
            await conductor.clock.advance(60.0)
            await schedules.check_due()
            for run in await runs(conductor):
                await conductor.result(run)
        current = await schedules.get(schedule.id)
        assert current.paused and 'failed' in current.note and len(await runs(conductor)) == 1
        await schedules.change(schedule.id, paused=False)
        await conductor.clock.advance(60.0)
        await schedules.check_due()
        assert len(await runs(conductor)) == 2


async def test_a_backfill_starts_each_missing_run_once(conductor: Conductor):
    schedules = Schedules(conductor)
    schedule = await schedules.add(every())
    await conductor.clock.advance(60.0)
    await schedules.check_due()
    filled = await schedules.backfill(schedule.id, NOON - 120, NOON + 60)
    assert [tick.due - NOON for tick in filled] == [-120, -60, 0]
    assert await schedules.backfill(schedule.id, NOON - 120, NOON + 60) == []
    assert len(await runs(conductor)) == 4
    for since, until_ in ((NOON, NOON - 1), (NOON, NOON + 9e9), (0.0, NOON)):
        with pytest.raises(InvalidInput):
            await schedules.backfill(schedule.id, since, until_)
    assert (await schedules.run_now(schedule.id)).state == 'started'
    await schedules.remove(schedule.id)
    with pytest.raises(UnknownSchedule):
        await schedules.run_now(schedule.id)


async def test_two_servers_start_each_tick_once(conductor: Conductor):
    one, other = Schedules(conductor), Schedules(conductor)
    await one.add(every(overlap='allow_all'))
    await conductor.clock.advance(300.0)
    await asyncio.gather(one.check_due(), other.check_due(), one.check_due())
    assert len(await runs(conductor)) == 5


@pytest.mark.parametrize('after', [False, True])
@pytest.mark.parametrize('at_write', range(1, 8))
async def test_each_tick_has_one_run_wherever_the_process_is_killed(
    tmp_path: Path, at_write: int, after: bool
):
    journal = await open_journal(tmp_path / 'runs.db')
    async with conductor_of(journal) as conductor:
        schedule = await Schedules(conductor).add(every(overlap='allow_all'))
        await conductor.clock.advance(180.0)
        conductor.journal = CutJournal(journal, at_write, after)
        with contextlib.suppress(Cut):
            await Schedules(conductor).check_due()
        conductor.journal = journal
        schedules = Schedules(conductor)
        await schedules.check_due()
        await schedules.check_due()
        ticks = await schedules.log(schedule.id)
        assert [(tick.due - NOON, tick.state) for tick in ticks] == [
            (180, 'started'), (120, 'started'), (60, 'started'),
        ]  # fmt: skip
        assert sorted(tick.run for tick in ticks) == sorted(await runs(conductor))


async def test_a_crash_between_start_and_record_starts_no_second_run(conductor: Conductor):
    schedules = Schedules(conductor)
    schedule = await schedules.add(every())
    await conductor.clock.advance(60.0)

    async def dies(tick: Any) -> Any:
        raise Cut

    schedules.ticks.store = dies  # type: ignore[method-assign]
    with contextlib.suppress(Cut):
        await schedules.check_due()
    assert len(await runs(conductor)) == 1
    restarted = Schedules(conductor)
    await restarted.check_due()
    assert [tick.state for tick in await restarted.log(schedule.id)] == ['started'] and len(
        await runs(conductor)
    ) == 1


def hook(**fields: Any) -> Trigger:
    plain: dict[str, Any] = {
        'name': 'Issues',
        'kind': 'webhook',
        'action': Launch(pattern='pipeline'),
        'mapping': {'task': '/issue/title'},
    }
    return Trigger(**(plain | fields))


def sign(trigger: Trigger, body: str, message: str = 'msg_1', **headers: str) -> dict[str, str]:
    now = datetime.now(UTC)
    signature = Webhook(trigger.secret).sign(message, now, body)
    return {
        'webhook-id': message,
        'webhook-timestamp': str(int(now.timestamp())),
        'webhook-signature': signature,
        **headers,
    }


async def test_a_signed_webhook_starts_one_run_however_often_it_arrives(conductor: Conductor):
    triggers = Triggers(conductor)
    trigger = await triggers.add(hook())
    body = json.dumps({'issue': {'title': 'It does not print'}})
    headers = sign(trigger, body)
    ticks = await asyncio.gather(*(triggers.receive(trigger.id, headers, body.encode()) for _ in range(3)))
    assert len({tick.run for tick in ticks}) == 1
    (run,) = await runs(conductor)
    assert (await conductor.info(run)).parameters['task'] == 'It does not print'
    assert (await conductor.info(run)).author == 'trigger:Issues'
    repeated = await triggers.receive(trigger.id, headers, body.encode())
    assert repeated.run == run and len(await runs(conductor)) == 1
    assert len(await triggers.log(trigger.id)) == 1


async def test_unsigned_and_incomplete_webhooks_start_nothing(conductor: Conductor):
    triggers = Triggers(conductor)
    trigger = await triggers.add(hook())
    body = json.dumps({'issue': {}})
    good = sign(trigger, body)
    for headers, sent in (
        ({}, body),
        (good, body + ' '),
        ({**good, 'webhook-id': 'other'}, body),
        ({**good, 'webhook-timestamp': '1'}, body),
        ({**good, 'webhook-signature': 'v1,????'}, body),
        ({**good, 'webhook-signature': 'nothing'}, body),
    ):
        with pytest.raises(BadSignature):
            await triggers.receive(trigger.id, headers, sent.encode())
    with pytest.raises(InvalidInput, match='there is nothing at /issue/title'):
        await triggers.receive(trigger.id, good, body.encode())
    with pytest.raises(InvalidInput, match='must be JSON'):
        await triggers.receive(trigger.id, sign(trigger, '{'), b'{')
    await triggers.change(trigger.id, paused=True)
    with pytest.raises(UnknownTrigger):
        await triggers.receive(trigger.id, good, body.encode())
    assert await runs(conductor) == []


@pytest.mark.parametrize(
    ('fields', 'named'),
    [({'mapping': {'x': '/a'}}, 'action.parameters.x'), ({'mapping': {'task': 'a'}}, 'mapping.task'),
     ({'name': ''}, 'name'), ({'kind': 'file', 'files': 'in/*.csv'}, 'files'),
     ({'kind': 'file', 'files': '/*/in.csv'}, 'files'), ({'secret': 'whsec_'}, 'secret')],
)  # fmt: skip
async def test_an_invalid_trigger_is_refused(conductor: Conductor, fields: dict[str, Any], named: str):
    with pytest.raises(InvalidInput) as refused:
        await Triggers(conductor).add(hook(**fields))
    assert named in refused.value.problems


async def test_an_arriving_file_starts_one_run(conductor: Conductor, tmp_path: Path):
    (tmp_path / 'old.txt').write_text('was here before')
    triggers = Triggers(conductor)
    trigger = await triggers.add(hook(kind='file', files=str(tmp_path / '*.txt'), mapping={'task': '/text'}))
    file = tmp_path / 'new.txt'
    file.write_text('half')
    assert await triggers.check_folders() == []
    file.write_text('Compare tea and coffee', 'utf-8-sig')  # the file was still being written
    assert await triggers.check_folders() == []
    (tick,) = await triggers.check_folders()
    assert (await conductor.info(tick.run)).parameters['task'] == 'Compare tea and coffee'
    restarted = Triggers(conductor)
    assert [await restarted.check_folders() for _ in range(3)] == [[], [], []]
    assert await runs(conductor) == [tick.run]
    (tmp_path / 'bytes.txt').write_bytes(b'\xff\xfe')
    await restarted.check_folders()
    await restarted.check_folders()
    failed = next(record for record in await restarted.log(trigger.id) if record.state == 'failed')
    assert 'there is nothing at /text' in failed.reason


async def test_an_old_file_starts_no_second_run(conductor: Conductor, tmp_path: Path):
    triggers, schedules = Triggers(conductor), Schedules(conductor)
    (tmp_path / 'old.txt').write_text('was here before')
    trigger = await triggers.add(hook(kind='file', files=str(tmp_path / '*.txt'), mapping={'task': '/text'}))
    for name in ('stays.txt', 'goes.txt'):
        (tmp_path / name).write_text(name)
    await triggers.check_folders()
    assert len(await triggers.check_folders()) == 2
    await conductor.clock.advance(TICK_RETENTION + 1)
    (tmp_path / 'goes.txt').unlink()
    await schedules.clean_up(await triggers.retention_filter())
    assert {tick.state for tick in await triggers.ticks.list(trigger.id)} == {'started', 'seen'}
    assert len(await triggers.ticks.list(trigger.id)) == 2  # the removed file is forgotten
    restarted = Triggers(conductor)
    assert [await restarted.check_folders() for _ in range(3)] == [[], [], []]
    await triggers.remove(trigger.id)
    await schedules.clean_up(await triggers.retention_filter())
    assert await triggers.ticks.list(trigger.id) == []


async def test_known_files_are_remembered_while_their_disk_is_unmounted(conductor: Conductor, tmp_path: Path):
    triggers, schedules = Triggers(conductor), Schedules(conductor)
    trigger = await triggers.add(
        hook(kind='file', files=str(tmp_path / 'in' / '*'), mapping={'task': '/text'})
    )
    (tmp_path / 'in').mkdir()
    (tmp_path / 'in' / 'file').write_text('x')
    await triggers.check_folders()
    assert len(await triggers.check_folders()) == 1
    (tmp_path / 'in').rename(tmp_path / 'away')
    await conductor.clock.advance(TICK_RETENTION + 1)
    await schedules.clean_up(await triggers.retention_filter())
    (tmp_path / 'away').rename(tmp_path / 'in')
    assert [await triggers.check_folders() for _ in range(2)] == [[], []]
    assert len(await triggers.ticks.list(trigger.id)) == 1


async def test_a_link_among_files_is_not_followed(conductor: Conductor, tmp_path: Path):
    (tmp_path / 'secret').write_text('key')
    (tmp_path / 'in').mkdir()
    triggers = Triggers(conductor)
    await triggers.add(hook(kind='file', files=str(tmp_path / 'in' / '*'), mapping={'task': '/text'}))
    (tmp_path / 'in' / 'link').symlink_to(tmp_path / 'secret')
    assert [await triggers.check_folders() for _ in range(3)] == [[], [], []]


async def test_known_files_are_not_looked_up_again(tmp_path: Path):
    journal = MemoryJournal()
    async with conductor_of(journal) as conductor:
        triggers = Triggers(conductor)
        for number in range(20):
            (tmp_path / f'{number}').write_text('x')
        await triggers.add(hook(kind='file', files=str(tmp_path / '*'), mapping={'task': '/text'}))
        await triggers.check_folders()
        await triggers.check_folders()
        calls = 0

        async def get(kind: str, key: str) -> None:
            nonlocal calls
            calls += 1

        journal.documents.get = get  # type: ignore[method-assign]
        await triggers.check_folders()
        assert calls == 0
