"""Schedules on machines whose clock was wrong, or that do not know a stored time zone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine import InvalidInput
from engine.records import RunQuery
from tests.unit.ui.app.services.test_schedules import NOON, conductor_of, every
from ui.app.services.schedules import Schedules, ScheduleSpec


async def test_a_schedule_whose_time_zone_is_gone_is_paused_and_stops_no_other():
    async with conductor_of() as conductor:
        schedules = Schedules(conductor)
        await schedules.add(every())
        daily = replace(every(), name='Daily', spec=ScheduleSpec(cron=('* * * * *',), time_zone='Asia/Tokyo'))
        lost = await schedules.add(daily)
        entry = await conductor.journal.documents.get('schedule', lost.id)
        assert entry is not None
        stored = entry.body['schedule']
        elsewhere = {**stored, 'spec': {**stored['spec'], 'time_zone': 'Europe/Elsewhere'}}
        await conductor.journal.documents.write([replace(entry, body={**entry.body, 'schedule': elsewhere})])
        assert 'Europe/Elsewhere' in (await schedules.get(lost.id)).note
        await conductor.clock.advance(60.0)
        await schedules.check_due()
        assert [(item.name, item.paused) for item in await schedules.list()] == [
            ('Daily', True),
            ('Often', False),
        ]
        assert len((await conductor.runs(RunQuery())).runs) == 1
        with pytest.raises(InvalidInput, match='Elsewhere'):
            await schedules.change(lost.id, paused=False)


async def test_a_clock_that_was_ahead_stops_no_schedule_and_repeats_no_run():
    async with conductor_of() as conductor:
        now = NOON
        schedules = Schedules(conductor, now=lambda: now)
        schedule = await schedules.add(every(overlap='allow_all', catchup_window=30.0))
        for moment in (60, 400 * 86_400, 100, 120, 400 * 86_400, 90, 180):
            now = NOON + moment
            await schedules.check_due()
            await schedules.check_due()
        started = await schedules.ticks.list(schedule.id, state='started')
        assert [tick.due - NOON for tick in reversed(started) if tick.due < now + 1] == [60, 120, 180]
        assert [time - now for time in (await schedules.get(schedule.id)).next_times[:2]] == [60, 120]
