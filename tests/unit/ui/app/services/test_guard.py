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
        services = guard_services(root, FixedIdentity(Caller(name, role)), record)
        assert len((await services.inbox.list()).items) == count
        if not count:
            with pytest.raises(UnknownQuestion):
                await services.inbox.answer(ask.id, 'approve', digest=ask.digest)
            with pytest.raises(UnknownQuestion):
                await services.inbox.assign(ask.id, 'Bo')


async def test_additions_are_logged_without_secrets(conductor: Conductor):
    noted: list[object] = []

    async def note(caller: Caller, path: str, *, details: object, **more: object) -> None:
        noted.append((path, details))

    services = guard_services(Services(conductor), FixedIdentity(Caller('ada', Role.ADMIN)), note)
    await services.triggers.add(Trigger(name='deploys', kind='webhook', action=Launch(pattern='pair')))
    assert noted == [('triggers.add', {'name': 'deploys'})]


async def test_refusals_are_logged_too(conductor: Conductor):
    noted: list[tuple[str, str, str]] = []

    async def note(caller: Caller, path: str, *, details: object, runs: object, refused: str = '') -> None:
        noted.append((caller.name, path, refused))

    root = Services(conductor)
    with pytest.raises(NotAllowed):
        await guard_services(root, FixedIdentity(Caller('vi', Role.VIEWER)), note).schedules.remove('x')
    with pytest.raises(UnknownSchedule):
        await guard_services(root, FixedIdentity(Caller('op', Role.OPERATOR)), note).schedules.remove('x')
    assert noted == [
        ('vi', 'schedules.remove', 'role'),
        ('op', 'schedules.remove', "there is no schedule 'x'"),
    ]


async def test_a_former_administrator_sees_no_private_questions(conductor: Conductor):
    run = await start_run(conductor, 'pair', approvals='all')
    await wait_for_questions(Inbox(conductor), 2)
    hidden = replace(await conductor.info(run), private=True, author='ada')
    conductor.journal._infos[run] = hidden  # type: ignore[attr-defined]
    bo = FixedIdentity(Caller('bo', Role.ADMIN))
    inbox = guard_services(Services(conductor), bo, record).inbox  # a page keeps it
    assert len((await inbox.list()).items) == 2
    bo.last_caller = Caller('bo', Role.VIEWER)
    assert len((await inbox.list()).items) == 0


async def test_reading_is_not_logged(conductor: Conductor):
    noted: list[str] = []

    async def note(caller: Caller, path: str, **more: object) -> None:
        noted.append(path)

    services = guard_services(Services(conductor), FixedIdentity(Caller('ada', Role.ADMIN)), note)
    await services.notifications.destinations.list()
    await services.notifications.log()
    await services.triggers.list()
    assert noted == []
