"""The services behind the guard: questions of private runs are hidden, and what is logged."""

from dataclasses import replace

import pytest

from engine import Conductor
from engine.errors import NotAllowed
from engine.operations import Role
from engine.records import Launch
from tests.support.harness import start_run
from tests.support.identity import FixedIdentity
from tests.unit.ui.app.services.test_inbox import wait_for_questions
from ui.app.access.caller import Caller
from ui.app.services.guard import guard_services
from ui.app.services.inbox import Inbox, UnknownQuestion
from ui.app.services.schedules import Trigger, UnknownSchedule
from ui.app.services.services import Services


async def record(*args: object, **options: object) -> None:
    pass


async def test_questions_of_a_private_run_are_its_authors(conductor: Conductor):
    run = await start_run(conductor, 'pair', approvals='all')
    ask = (await wait_for_questions(Inbox(conductor), 2))[0].ask
    hidden = replace(await conductor.info(run), private=True, author='ada')
    conductor.journal._infos[run] = hidden  # type: ignore[attr-defined]
    root = Services(conductor)
    for name, role, count in (('ada', Role.OPERATOR, 2), ('bo', Role.OPERATOR, 0), ('cy', Role.ADMIN, 2)):
        caller = FixedIdentity(Caller(name, role))
        inbox = guard_services(root, caller, record).inbox  # a page keeps it
        assert len((await inbox.list()).items) == count
        if not count:
            with pytest.raises(UnknownQuestion):
                await inbox.answer(ask.id, 'approve', digest=ask.digest)
            with pytest.raises(UnknownQuestion):
                await inbox.assign(ask.id, 'Bo')
    caller.last_caller = Caller('cy', Role.VIEWER)
    assert len((await inbox.list()).items) == 0, 'they are no administrator any more'


async def test_changes_and_refusals_are_logged_without_secrets_and_reading_is_not(conductor: Conductor):
    noted: list[tuple[str, str, object, str]] = []

    async def note(caller: Caller, path: str, *, details: object, refused: str = '', **more: object) -> None:
        noted.append((caller.name, path, details, refused))

    root = Services(conductor)
    services = guard_services(root, FixedIdentity(Caller('ada', Role.ADMIN)), note)
    for read in (
        services.notifications.destinations.list,
        services.notifications.log,
        services.triggers.list,
    ):
        await read()
    assert noted == []
    await services.triggers.add(Trigger(name='deploys', kind='webhook', action=Launch(pattern='pair')))
    with pytest.raises(NotAllowed):
        await guard_services(root, FixedIdentity(Caller('vi', Role.VIEWER)), note).schedules.remove('x')
    with pytest.raises(UnknownSchedule):
        await services.schedules.remove('x')
    assert noted == [
        ('ada', 'triggers.add', {'name': 'deploys'}, ''),
        ('vi', 'schedules.remove', {'name': 'x'}, 'role'),
        ('ada', 'schedules.remove', {'name': 'x'}, "there is no schedule 'x'"),
    ]
