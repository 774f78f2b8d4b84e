"""Text with NUL is refused by every service that stores a person's text."""

from __future__ import annotations

import pytest

from engine import InvalidInput, LocalConductor
from engine.operations import Role
from engine.records import Launch
from ui.app.access.accounts import Accounts
from ui.app.services.notifications import Destination
from ui.app.services.notifications.destinations import Destinations
from ui.app.services.schedules import Schedule, Schedules, ScheduleSpec, Trigger, Triggers


async def test_names_with_nul_are_refused_by_all_services() -> None:
    async with LocalConductor() as conductor:
        name, action = 'a\0b', Launch(pattern='pipeline', parameters={'task': 'Compare tea and coffee'})
        spec = ScheduleSpec(cron=('0 2 * * *',))
        accounts = Accounts(conductor.journal.documents, conductor.clock)
        await accounts.add('ada', Role.ADMIN)
        hook = Destination(name=name, channel='webhook', address='https://team.example/hook')
        for work in (
            Schedules(conductor).add(Schedule(name=name, action=action, spec=spec)),
            Triggers(conductor).add(Trigger(name=name, kind='webhook', action=action)),
            Destinations(conductor.journal.documents, conductor.clock).add(hook),
            accounts.add_token('ada', name, Role.VIEWER, 1),
        ):
            with pytest.raises(InvalidInput, match='has a NUL character'):
                await work
